//! Maintenance of the index: its status, integrity checks, and permanent removal of sessions.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::document::Kind;
use crate::error::{Error, ErrorKind, Problem, Result};
use crate::index::{Checkpoint, FileKey, IndexFolder, LockedFolder, Loss, Reader, RunSize, Size};
use crate::transcript::discover::{Root, Scan, SourceKind};
use crate::transcript::lines::Transcript;
use crate::update::{Lag, lag, obstacles};

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
    let (lag, scan) = lag(reader, roots)?;
    let files = reader.checkpoints()?;
    let count = |kind| files.iter().filter(|file| file.source_kind() == kind).count();
    let is_gone = |file: &&Checkpoint| file.source_kind() == SourceKind::Session && file.gone_since.is_some();
    let mut skipped: HashMap<&str, u64> = HashMap::new();
    for (kind, number) in files.iter().flat_map(|file| &file.state.skipped_types) {
        *skipped.entry(kind).or_default() += number;
    }
    let mut skipped_types: Vec<(String, u64)> =
        skipped.into_iter().map(|(kind, number)| (kind.to_string(), number)).collect();
    skipped_types.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let mut problems = scan.problems.clone();
    problems.extend(obstacles(reader, &scan, roots)?);
    let strange = "is not a file of the index; it is ignored";
    problems.extend(reader.strangers().into_iter().map(|path| Problem::with_path(path, strange)));
    problems.extend(bad_lines(reader, &files)?);
    Ok(Status {
        size: reader.size()?,
        sessions: count(SourceKind::Session),
        agents: count(SourceKind::Agent),
        spills: count(SourceKind::Spill),
        gone_sessions: files.iter().filter(is_gone).count(),
        source_bytes: files.iter().map(|file| file.offset).sum(),
        lag,
        skipped_types,
        unknown: files.iter().map(|file| file.state.unknown).sum(),
        problems,
        losses,
        scan,
    })
}

/// Returns every line that could not be read, sorted by file and line.
fn bad_lines(reader: &Reader, files: &[Checkpoint]) -> Result<Vec<Problem>> {
    let paths: HashMap<FileKey, &Checkpoint> = files.iter().map(|file| (file.key(), file)).collect();
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

/// The result of a check of an index.
#[derive(Debug, Default, Serialize)]
pub struct Verdict {
    /// The number of files compared with their checkpoints.
    pub files: usize,
    /// The number of documents counted.
    pub documents: u64,
    /// The mismatches.
    pub problems: Vec<Problem>,
}

/// Checks an index: its files against their checksums, its documents against the checkpoints, and what was read of each
/// transcript against the transcript. With `deep`, checks every byte of the transcripts and every stored document.
pub(super) fn verify(reader: &Reader, deep: bool) -> Result<Verdict> {
    reader.check_sums()?;
    let mut verdict = Verdict::default();
    for file in reader.checkpoints()? {
        verdict.files += 1;
        let documents = reader.count_of(file.key())?;
        verdict.documents += documents;
        let title = u64::from(!file.forgotten && file.state.title().is_some());
        let expected = file.state.documents + title;
        if documents != expected {
            let reason = format!(
                "the index contains {documents} documents of it instead of {expected}; run `unspool index --rebuild`"
            );
            verdict.problems.push(Problem::with_path(file.path(), reason));
        }
        if file.gone_since.is_none() && !file.forgotten {
            verdict.problems.extend(compare(&file, deep));
        }
    }
    // Messages of subagents that were seen in a parent's transcript may be removed at any time, so no checkpoint counts
    // them.
    let seen = reader.count_seen()?;
    verdict.documents += seen;
    let (known, all) = (verdict.documents, reader.size()?.documents);
    if known != all {
        let reason =
            format!("contains {all} documents, but its files account for {known}; run `unspool index --rebuild`");
        verdict.problems.push(Problem::with_path(reader.directory(), reason));
    }
    Ok(verdict)
}

/// Compares what was read of a file with the file on disk.
fn compare(file: &Checkpoint, deep: bool) -> Option<Problem> {
    let path = file.path();
    // The next index run will handle a file that no longer exists or is shorter.
    let mut transcript = Transcript::open(&path).ok().filter(|transcript| transcript.stat.size >= file.offset)?;
    let is_same = if deep && file.source_kind() != SourceKind::Spill {
        transcript.checksum(file.offset).map(|checksum| checksum == file.checksum)
    } else if file.source_kind() == SourceKind::Spill {
        Ok(true)
    } else {
        transcript.ends(file.offset).map(|mut ends| ends.fingerprint() == (file.head, file.tail))
    };
    match is_same {
        Ok(true) => None,
        Ok(false) => Some(Problem::with_path(
            path,
            "was changed, but its size and time were not; run `touch` on it, then `unspool index`",
        )),
        Err(error) => Some(Problem::with_path(path, error.to_string())),
    }
}

/// The result of a removal from an index.
#[derive(Debug, Default, Serialize)]
pub struct Removed {
    /// The files whose documents were removed.
    pub files: Vec<PathBuf>,
    /// The number of documents that were removed.
    pub documents: u64,
}

/// Returns the files that Claude Code has deleted, so that only the index has them.
pub(super) fn gone(reader: &Reader) -> Result<Removed> {
    let mut removed = Removed::default();
    for file in reader.checkpoints()?.into_iter().filter(|file| file.gone_since.is_some() && !file.forgotten) {
        removed.documents += reader.count_of(file.key())?;
        removed.files.push(file.path());
    }
    Ok(removed)
}

/// Removes the documents of deleted files from the index.
pub(super) fn prune(store: &IndexFolder, wait: Duration) -> Result<Removed> {
    let locked = store.lock(wait)?;
    prune_locked(store, &locked).inspect_err(|_| locked.tidy())
}

fn prune_locked(store: &IndexFolder, locked: &LockedFolder<'_>) -> Result<Removed> {
    let Some(reader) = store.read()? else { return Ok(Removed::default()) };
    let removed = gone(&reader)?;
    if removed.files.is_empty() {
        return Ok(removed);
    }
    let writer = locked.write(RunSize::Small)?;
    for file in &removed.files {
        let key = FileKey::of(file);
        writer.forget_documents(key)?;
        writer.forget_checkpoint(key)?;
    }
    writer.commit_and_squeeze()?;
    locked.discard_aside()?;
    Ok(removed)
}

/// Returns the id of the only session that begins with `prefix`, and its files.
pub(super) fn session_files(reader: &Reader, prefix: &str) -> Result<(String, Removed)> {
    let files = reader.checkpoints()?;
    let in_history = reader.documents_of_kind(Kind::History)?;
    let known = files.iter().map(Checkpoint::session_id);
    let known = known.chain(in_history.iter().map(|(_, document)| document.session.as_str()));
    let mut ids: Vec<&str> = known.filter(|id| !id.is_empty() && id.starts_with(prefix)).collect();
    ids.sort_unstable();
    ids.dedup();
    let id = match ids.as_slice() {
        [id] => (*id).to_string(),
        [] => return Err(Error::new(ErrorKind::Usage, format!("no session begins with \"{prefix}\""))),
        many if many.contains(&prefix) => prefix.to_string(),
        many => {
            return Err(Error::new(ErrorKind::Usage, format!("{} sessions begin with \"{prefix}\"", many.len()))
                .hint("give more of the id"));
        }
    };
    let of_history = in_history.iter().filter(|(_, document)| document.session == id).count();
    let mut removed = Removed { documents: of_history as u64, ..Removed::default() };
    for file in files.into_iter().filter(|file| file.session_id() == id && !file.forgotten) {
        removed.documents += reader.count_of(file.key())?;
        removed.files.push(file.path());
    }
    Ok((id, removed))
}

/// Removes a session from the index, including its text in the index files, and keeps it out.
pub(super) fn forget(store: &IndexFolder, session: &str, wait: Duration) -> Result<Removed> {
    let locked = store.lock(wait)?;
    forget_locked(store, &locked, session).inspect_err(|_| locked.tidy())
}

fn forget_locked(store: &IndexFolder, locked: &LockedFolder<'_>, session: &str) -> Result<Removed> {
    let reader = store.read()?.ok_or_else(|| Error::new(ErrorKind::Unusable, "there is no index yet"))?;
    let (_, removed) = session_files(&reader, session)?;
    let writer = locked.write(RunSize::Small)?;
    writer.forget_session(session)?;
    // Include files that were forgotten before: `forget_session` has also removed the checkpoints that keep them out.
    for file in reader.checkpoints()?.into_iter().filter(|file| file.session_id() == session) {
        writer.forget_documents(file.key())?;
        writer.checkpoint(&file.forgotten(), None, true)?;
    }
    for mut history in reader.checkpoints()?.into_iter().filter(|file| file.source_kind() == SourceKind::History) {
        if removed.files.is_empty() {
            writer.checkpoint(&Checkpoint::forgotten_in(&history, session), None, true)?;
        }
        history.state.documents -= reader.count_in_session(history.key(), session)?;
        writer.checkpoint(&history, None, true)?;
    }
    // Recorded first: if the index is damaged later, this still keeps the session out.
    locked.record_forgotten(&HashSet::from([session.to_string()]))?;
    writer.commit_and_squeeze()?;
    locked.discard_aside()?;
    Ok(removed)
}
