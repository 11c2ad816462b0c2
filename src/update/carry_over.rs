//! Copies documents from an older index into a new one, if their files no longer exist or cannot be read.

use std::collections::HashSet;

use crate::document::{Document, Kind};
use crate::error::{Problem, Result};
use crate::index::{Checkpoint, FileKey, Reader, Writer};
use crate::transcript::discover::{Root, Scan, Source};
use crate::update::plan::{Plan, doubt, is_same_file};
use crate::update::report::Report;

/// The state of the transcript files while documents are copied.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a> {
    pub(super) scan: &'a Scan,
    pub(super) roots: &'a [Root],
    /// Files that could not be read.
    pub(super) unread: &'a HashSet<FileKey>,
    /// Accept that more than half of all files have vanished.
    pub(super) confirm: bool,
    pub(super) now: i64,
}

/// Copies what the transcripts no longer contain, and what could not be read in this run. From a damaged old index,
/// copies whatever is readable.
pub(super) fn take_over(
    old: &[Reader],
    plan: &Plan,
    sources: Sources<'_>,
    writer: &Writer,
    report: &mut Report,
) -> Result<()> {
    let planned = plan.work.iter().map(|work| FileKey::of(&work.source.path));
    let mut done: HashSet<FileKey> = planned.filter(|key| !sources.unread.contains(key)).collect();
    for reader in old {
        let checkpoints = match reader.checkpoints() {
            Ok(checkpoints) => checkpoints,
            Err(error) => {
                report.problems.push(Problem::with_path(
                    "older index",
                    format!("sessions that only it contains are lost: {error}"),
                ));
                continue;
            }
        };
        let moved = sources.moved(&checkpoints, plan);
        let checkpoints: Vec<Checkpoint> =
            checkpoints.into_iter().filter(|checkpoint| !moved.contains(&checkpoint.key())).collect();
        let vanished = sources.vanished(&checkpoints, report);
        for checkpoint in checkpoints {
            if done.insert(checkpoint.key()) {
                let is_gone = vanished.contains(&checkpoint.key());
                let kept = if is_gone { checkpoint.gone(sources.now) } else { checkpoint };
                take_over_file(reader, kept, writer, report)?;
            }
        }
    }
    Ok(())
}

impl Sources<'_> {
    /// Returns the files that were read in this run under another name.
    fn moved(&self, checkpoints: &[Checkpoint], plan: &Plan) -> HashSet<FileKey> {
        let scanned: HashSet<FileKey> = self.scan.sources.iter().map(|source| FileKey::of(&source.path)).collect();
        let known: HashSet<FileKey> = checkpoints.iter().map(Checkpoint::key).collect();
        let read = plan.work.iter().map(|work| &work.source);
        let is_new = |key: FileKey| !known.contains(&key) && !self.unread.contains(&key);
        let mut new: Vec<&Source> = read.filter(|source| is_new(FileKey::of(&source.path))).collect();
        let is_missing =
            |file: &&Checkpoint| file.gone_since.is_none() && !file.forgotten && !scanned.contains(&file.key());
        let mut moved = HashSet::new();
        for file in checkpoints.iter().filter(is_missing) {
            if let Some(at) = new.iter().position(|source| is_same_file(file, source)) {
                new.swap_remove(at);
                moved.insert(file.key());
            }
        }
        moved
    }

    /// Returns the files that no longer exist. Files in folders that could not be listed do not count. If suspiciously
    /// many files are missing, none counts.
    fn vanished(&self, checkpoints: &[Checkpoint], report: &mut Report) -> HashSet<FileKey> {
        let scanned: HashSet<FileKey> = self.scan.sources.iter().map(|source| FileKey::of(&source.path)).collect();
        let present: Vec<&Checkpoint> =
            checkpoints.iter().filter(|file| file.gone_since.is_none() && !file.forgotten).collect();
        let is_gone = |file: &&&Checkpoint| !scanned.contains(&file.key()) && !self.scan.is_blind_to(&file.path());
        let gone: HashSet<FileKey> = present.iter().filter(is_gone).map(|file| file.key()).collect();
        match doubt(gone.len(), present.len(), self.roots).filter(|_| !self.confirm) {
            Some(problem) => {
                report.problems.push(problem);
                HashSet::new()
            }
            None => gone,
        }
    }
}

fn take_over_file(reader: &Reader, mut checkpoint: Checkpoint, writer: &Writer, report: &mut Report) -> Result<()> {
    let documents = match reader.documents_of(checkpoint.key()) {
        Ok(documents) => documents,
        Err(error) => {
            report.problems.push(Problem::with_path(checkpoint.path(), format!("its text is lost: {error}")));
            return Ok(());
        }
    };
    let documents: Vec<Document> = documents.into_iter().filter(|document| !is_state_title(document)).collect();
    if checkpoint.gone_since.is_none() && !checkpoint.forgotten {
        // If the file appears again, it must be read.
        checkpoint.forget_stat();
    }
    let title = checkpoint.title();
    report.carried += documents.len() as u64 + u64::from(title.is_some());
    // The count in a damaged index may be wrong; the number of copied documents is known.
    checkpoint.state.documents = documents.iter().filter(|document| document.via.is_none()).count() as u64;
    writer.add(checkpoint.key(), documents)?;
    writer.checkpoint(&checkpoint, title, false)
}

/// Returns the sessions that the user removed from the index for good.
pub(super) fn forgotten_sessions(old: &[Reader]) -> HashSet<String> {
    old.iter().filter_map(|reader| reader.forgotten_sessions().ok()).flatten().collect()
}

/// Reports whether a document is a session title derived from the state of a file, not read from a line.
fn is_state_title(document: &Document) -> bool {
    document.kind == Kind::Title && document.line == 0
}
