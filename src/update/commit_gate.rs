//! Keeps commits and units apart, so that every commit holds of every file exactly what its checkpoint says.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

use crate::error::Result;
use crate::fault;
use crate::index::{Checkpoint, FileKey, Writer};
use crate::transcript::discover::{Scan, Source};
use crate::update::plan::{Plan, Work};
use crate::update::subagents::Agents;

/// Bytes that are read between two commits.
const COMMIT_EVERY: u64 = 512 << 20;

/// Many units may be open at once, or one commit be made.
pub(super) struct CommitGate<'a> {
    writer: RwLock<Writer>,
    /// Whether the index was empty at the start, so that there is nothing to be replaced.
    pub(super) fresh: bool,
    /// Subagents that have a transcript of their own.
    pub(super) agents: Agents<'a>,
    /// Transcripts that are to be read again, as those of their subagents no longer have what they had.
    reread_queue: Mutex<HashMap<FileKey, Checkpoint>>,
    /// Sessions the user wants nothing of.
    pub(super) forgotten: &'a HashSet<String>,
    /// Bytes read in all.
    read: AtomicU64,
    /// Bytes read since the last commit.
    uncommitted: AtomicU64,
    /// Whether the index has failed, so that nobody need go on.
    failed: AtomicBool,
}

/// An open unit.
pub(super) struct OpenBatch<'a>(RwLockReadGuard<'a, Writer>);

impl OpenBatch<'_> {
    pub(super) fn writer(&self) -> &Writer {
        &self.0
    }
}

impl<'a> CommitGate<'a> {
    pub(super) fn new(writer: Writer, scan: &'a Scan, plan: &'a Plan, fresh: bool) -> Self {
        let writer = RwLock::new(writer);
        let forgotten = &plan.forgotten;
        Self {
            writer,
            fresh,
            agents: Agents::new(scan),
            reread_queue: Mutex::default(),
            forgotten,
            read: AtomicU64::new(0),
            uncommitted: AtomicU64::new(0),
            failed: AtomicBool::new(false),
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    pub(super) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Notes that a transcript is to be read again.
    pub(super) fn queue_reread(&self, parent: Checkpoint) {
        self.reread_queue.lock().unwrap_or_else(PoisonError::into_inner).insert(parent.key(), parent);
    }

    /// The transcripts that are to be read again.
    pub(super) fn read_again(&self, scan: &Scan) -> Vec<Work> {
        let mut reread_queue = self.reread_queue.lock().unwrap_or_else(PoisonError::into_inner);
        let is_one = |source: &&Source| reread_queue.contains_key(&FileKey::of(&source.path));
        let sources: Vec<&Source> =
            if reread_queue.is_empty() { Vec::new() } else { scan.sources.iter().filter(is_one).collect() };
        sources.into_iter().map(|source| Work::new(source, reread_queue.remove(&FileKey::of(&source.path)))).collect()
    }

    pub(super) fn enter(&self) -> OpenBatch<'_> {
        OpenBatch(self.writer.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes that a unit of so many bytes has ended, and commits when enough has been read.
    pub(super) fn leave(&self, bytes: u64) -> Result<()> {
        self.read.fetch_add(bytes, Ordering::Relaxed);
        let waiting = self.uncommitted.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let enough = fault::batch(COMMIT_EVERY);
        if waiting < enough {
            return Ok(());
        }
        let mut writer = self.writer.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been quicker.
        if self.uncommitted.swap(0, Ordering::Relaxed) < enough {
            return Ok(());
        }
        writer.commit(false)
    }

    /// The writer, when all have left for good, and how many bytes were read.
    pub(super) fn close(self) -> (Writer, u64) {
        (self.writer.into_inner().unwrap_or_else(PoisonError::into_inner), self.read.into_inner())
    }
}
