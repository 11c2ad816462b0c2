//! What is told of a run, while it goes and at its end.

use std::collections::HashSet;

use crate::error::Problem;
use crate::index::FileKey;
use crate::transcript::discover::Scan;
use crate::update::plan::{Plan, Work};

/// Is told how the work goes, and says when to stop.
pub trait Watch: Sync {
    /// So many files with so many bytes are to be read.
    fn planned(&self, files: usize, bytes: u64) {
        let _ = (files, bytes);
    }
    /// So many bytes more have been read.
    fn read(&self, bytes: u64) {
        let _ = bytes;
    }
    /// So many documents more have been made.
    fn documents(&self, documents: u64) {
        let _ = documents;
    }
    /// One file more is done.
    fn file_done(&self) {}
    /// Everything is read; what is left is merging and syncing.
    fn finishing(&self) {}
    /// Whether to stop at the next line, keeping what is done.
    fn stopped(&self) -> bool {
        false
    }
}

/// Tells nobody.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watch for Unwatched {}

/// What a run has done.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Files found.
    pub files: usize,
    /// Files that were as they were.
    pub unchanged: usize,
    /// Files read for the first time.
    pub new: usize,
    /// Files of which only the end was read.
    pub grown: usize,
    /// Files read again from the start.
    pub rewritten: usize,
    /// Files found under a new name.
    pub moved: usize,
    /// Files that are there no more; their documents stay.
    pub gone: usize,
    /// Files that could not be read.
    pub failed: usize,
    /// Documents added.
    pub documents: u64,
    /// Documents taken over from an older index, whose files are gone.
    pub carried: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Bytes of text in the documents added.
    pub text_bytes: u64,
    /// Lines that are no records.
    pub bad: u64,
    /// Lines too long to read.
    pub oversized: u64,
    /// Lines of unknown type.
    pub unknown: u64,
    /// Whether the run was stopped before its end.
    pub interrupted: bool,
    /// Whether a new index was built in place of a damaged or older one, and why.
    pub rebuilt: Option<String>,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// The files of which nothing could be read.
    pub unread: HashSet<FileKey>,
}

/// How a file was read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum How {
    New,
    Grown,
    Touched,
    Rewritten,
    Moved,
    Failed,
}

/// What came of one file.
#[derive(Debug, Default)]
pub(super) struct FileOutcome {
    pub(super) how: Option<How>,
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
    /// Nothing could be read of a file; one that is there no more is no failure.
    pub(super) fn failed(work: &Work, error: &std::io::Error) -> Self {
        let unread = Some(FileKey::of(&work.source.path));
        if error.kind() == std::io::ErrorKind::NotFound {
            return Self { unread, ..Self::default() };
        }
        let problem = Problem::with_path(&work.source.path, error.to_string());
        Self { how: Some(How::Failed), problems: vec![problem], unread, ..Self::default() }
    }
}

impl Report {
    pub(super) fn of_scan(scan: &Scan, plan: &Plan) -> Self {
        let problems = scan.problems.iter().chain(&plan.problems).cloned().collect();
        Self { files: scan.sources.len(), unchanged: plan.unchanged, problems, ..Self::default() }
    }

    pub(super) fn add(&mut self, outcome: FileOutcome) {
        match outcome.how {
            Some(How::New) => self.new += 1,
            Some(How::Grown) => self.grown += 1,
            Some(How::Touched) => self.unchanged += 1,
            Some(How::Rewritten) => self.rewritten += 1,
            Some(How::Moved) => self.moved += 1,
            Some(How::Failed) => self.failed += 1,
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
