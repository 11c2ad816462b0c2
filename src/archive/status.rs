//! The state of the index: what it contains, what is not indexed yet, and problems.

use std::collections::HashMap;

use serde::Serialize;

use crate::document::Kind;
use crate::error::{Problem, Result};
use crate::index::{FileKey, FileSummary, Loss, Reader, Size};
use crate::transcript::discover::{Root, Scan, SourceKind};
use crate::update::{Lag, lag_and_problems};

/// The state of an index.
#[derive(Debug, Serialize)]
pub struct Status {
    /// Its size.
    pub size: Size,
    /// The number of indexed sessions with a transcript of their own.
    pub sessions: usize,
    /// The number of indexed transcripts of subagents.
    pub agents: usize,
    /// The number of indexed spilled outputs.
    pub spills: usize,
    /// The number of sessions whose transcript Claude Code has deleted.
    pub gone_sessions: usize,
    /// The number of bytes of transcripts that were read.
    pub source_bytes: u64,
    /// The amount of data that is not indexed yet.
    pub lag: Lag,
    /// The number of lines that were skipped or unknown, by type.
    pub skipped_types: Vec<(String, u64)>,
    /// The number of lines of an unknown type.
    pub unknown: u64,
    /// Files that cannot be read now, and lines that could not be read when they were indexed.
    pub problems: Vec<Problem>,
    /// Messages that were lost with a damaged index, until the user acknowledges them.
    pub losses: Vec<Loss>,
    /// The files found in the roots just now.
    #[serde(skip)]
    pub scan: Scan,
}

/// Returns the state of an index.
pub(super) fn status(reader: &Reader, roots: &[Root], losses: Vec<Loss>) -> Result<Status> {
    let (surveyed, files) = rayon::join(|| lag_and_problems(reader, roots), || reader.summaries());
    let ((lag, scan, unreadable), files) = (surveyed?, files?);
    let count = |kind| files.iter().filter(|file| file.source_kind() == kind).count();
    let is_gone = |file: &&FileSummary| file.source_kind() == SourceKind::Session && file.gone_since.is_some();
    let mut skipped: HashMap<&str, u64> = HashMap::new();
    for (kind, number) in files.iter().flat_map(|file| &file.skipped_types) {
        *skipped.entry(kind).or_default() += number;
    }
    let mut skipped_types: Vec<(String, u64)> =
        skipped.into_iter().map(|(kind, number)| (kind.to_string(), number)).collect();
    skipped_types.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let mut problems = scan.problems.clone();
    problems.extend(unreadable);
    let strange = "is not a file of the index; it is ignored";
    problems.extend(reader.strangers().into_iter().map(|path| Problem::with_path(path, strange)));
    problems.extend(bad_lines(reader, &files)?);
    Ok(Status {
        size: reader.size()?,
        sessions: count(SourceKind::Session),
        agents: count(SourceKind::Agent),
        spills: count(SourceKind::Spill),
        gone_sessions: files.iter().filter(is_gone).count(),
        source_bytes: files.iter().map(|file| file.bytes).sum(),
        lag,
        skipped_types,
        unknown: files.iter().map(|file| file.unknown).sum(),
        problems,
        losses,
        scan,
    })
}

/// Returns every line that could not be read, sorted by file and line.
fn bad_lines(reader: &Reader, files: &[FileSummary]) -> Result<Vec<Problem>> {
    let paths: HashMap<FileKey, &FileSummary> = files.iter().map(|file| (file.key(), file)).collect();
    let mut problems = Vec::new();
    for kind in [Kind::Bad, Kind::Oversized] {
        for (key, document) in reader.documents_of_kind(kind)?.into_iter().filter(|(_, document)| document.part == 0) {
            let path = paths.get(&key).map(|file| file.path()).unwrap_or_default();
            problems.push(Problem { path, line: Some(document.line), reason: document.problem.unwrap_or_default() });
        }
    }
    problems.sort_by(|a, b| a.path.cmp(&b.path).then(a.line.cmp(&b.line)));
    Ok(problems)
}
