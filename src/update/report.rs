//! Progress of a run while it goes on, and its report at the end.

use std::collections::HashSet;

use crate::error::Problem;
use crate::index::FileKey;
use crate::transcript::discover::Scan;
use crate::update::file_change::FileChange;
use crate::update::plan::{Plan, Work};

/// Receives progress, and can stop the run.
pub trait Watch: Sync {
    /// Called once with the number of files and bytes to read.
    fn planned(&self, files: usize, bytes: u64) {
        let _ = (files, bytes);
    }
    /// Called when this many more bytes have been read.
    fn read(&self, bytes: u64) {
        let _ = bytes;
    }
    /// Called when this many more documents have been created.
    fn documents(&self, documents: u64) {
        let _ = documents;
    }
    /// Called when a file is done.
    fn file_done(&self) {}
    /// Called when everything is read; only merging and syncing remain.
    fn finishing(&self) {}
    /// Reports whether to stop at the next line. What is done is kept.
    fn stopped(&self) -> bool {
        false
    }
}

/// Ignores all progress, and never stops the run.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watch for Unwatched {}

/// The results of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Files found.
    pub files: usize,
    /// Files that have not changed.
    pub unchanged: usize,
    /// Files read for the first time.
    pub new: usize,
    /// Files that were only read from where the last run ended.
    pub grown: usize,
    /// Files read again from the start.
    pub rewritten: usize,
    /// Files found under a new name.
    pub moved: usize,
    /// Files that no longer exist; their documents are kept.
    pub gone: usize,
    /// Files that could not be read.
    pub failed: usize,
    /// Documents added.
    pub documents: u64,
    /// Documents copied from an older index, because their files no longer exist or could not be read.
    pub carried: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Bytes of text in the documents added.
    pub text_bytes: u64,
    /// Lines that are not records.
    pub bad: u64,
    /// Lines too long to read.
    pub oversized: u64,
    /// Lines of unknown type.
    pub unknown: u64,
    /// Set if the run was stopped before its end.
    pub interrupted: bool,
    /// The reason, if a new index was built to replace a damaged or older one.
    pub rebuilt: Option<String>,
    /// Problems with files that could not be read.
    pub problems: Vec<Problem>,
    /// Files of which nothing could be read.
    pub unread: HashSet<FileKey>,
}

/// The result of reading one file.
#[derive(Debug, Default)]
pub(super) struct FileOutcome {
    pub(super) how: Option<FileChange>,
    pub(super) documents: u64,
    pub(super) text_bytes: u64,
    pub(super) bad: u64,
    pub(super) oversized: u64,
    pub(super) unknown: u64,
    pub(super) cut_short: bool,
    pub(super) problems: Vec<Problem>,
    /// The file, if nothing of it could be read.
    pub(super) unread: Option<FileKey>,
}

impl FileOutcome {
    /// Returns the outcome of a file that could not be read. A file that no longer exists is not a failure.
    pub(super) fn failed(work: &Work, error: &std::io::Error) -> Self {
        let unread = Some(FileKey::of(&work.source.path));
        if error.kind() == std::io::ErrorKind::NotFound {
            return Self { unread, ..Self::default() };
        }
        let problem = Problem::with_path(&work.source.path, error.to_string());
        Self { how: Some(FileChange::Failed), problems: vec![problem], unread, ..Self::default() }
    }
}

impl Report {
    pub(super) fn of_scan(scan: &Scan, plan: &Plan) -> Self {
        let problems = scan.problems.iter().chain(&plan.problems).cloned().collect();
        Self { files: scan.sources.len(), unchanged: plan.unchanged, problems, ..Self::default() }
    }

    pub(super) fn add(&mut self, outcome: FileOutcome) {
        match outcome.how {
            Some(FileChange::New) => self.new += 1,
            Some(FileChange::Grown) => self.grown += 1,
            Some(FileChange::SameContents) => self.unchanged += 1,
            Some(FileChange::Rewritten) => self.rewritten += 1,
            Some(FileChange::Moved) => self.moved += 1,
            Some(FileChange::Failed) => self.failed += 1,
            None => {}
        }
        self.documents += outcome.documents;
        self.text_bytes += outcome.text_bytes;
        self.bad += outcome.bad;
        self.oversized += outcome.oversized;
        self.unknown += outcome.unknown;
        self.interrupted |= outcome.cut_short;
        self.problems.extend(outcome.problems);
        self.unread.extend(outcome.unread);
    }
}
