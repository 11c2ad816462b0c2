//! Allows a commit only between batches, so that in every commit the documents of each file match its checkpoint.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use crate::error::Result;
use crate::fault;
use crate::index::{Checkpoint, FileKey, Writer};
use crate::transcript::discover::{Scan, Source};
use crate::update::plan::{Plan, Work};
use crate::update::subagent_copies::Agents;

/// Bytes read between two commits.
const COMMIT_EVERY: u64 = 512 << 20;
/// Bytes read before the first commit of a new index, so that something can be searched soon.
const FIRST_COMMIT: u64 = 64 << 20;

/// Lets many threads add batches at once, or one thread commit.
pub(super) struct CommitGate<'a> {
    writer: RwLock<Writer>,
    /// Set if the index was empty at the start, so that there is nothing to replace.
    pub(super) fresh: bool,
    /// Subagents that have a transcript of their own.
    pub(super) agents: Agents<'a>,
    /// Transcripts to read again: those of their subagents no longer contain messages that were left out here.
    reread_queue: Mutex<HashMap<FileKey, Checkpoint>>,
    /// Sessions that the user removed from the index for good.
    pub(super) forgotten: &'a HashSet<String>,
    /// Bytes read in total.
    read: AtomicU64,
    /// Bytes read since the last commit.
    uncommitted: AtomicU64,
    /// Set at the first commit of this run.
    has_committed: AtomicBool,
    /// Held while a huge line is turned into documents, which takes several times its size in memory.
    huge_line: Mutex<()>,
    /// Set on the first index error; the other readers then stop.
    failed: AtomicBool,
}

/// A batch whose documents have no checkpoint yet. No commit happens while one is open.
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
            has_committed: AtomicBool::new(false),
            huge_line: Mutex::default(),
            failed: AtomicBool::new(false),
        }
    }

    /// Waits until no other thread processes a huge line.
    pub(super) fn one_huge_line(&self) -> MutexGuard<'_, ()> {
        self.huge_line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    pub(super) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Queues a transcript to be read again.
    pub(super) fn queue_reread(&self, parent: Checkpoint) {
        self.reread_queue.lock().unwrap_or_else(PoisonError::into_inner).insert(parent.key(), parent);
    }

    /// Returns the transcripts to be read again, and empties the queue.
    pub(super) fn read_again(&self, scan: &Scan) -> Vec<Work> {
        let mut reread_queue = self.reread_queue.lock().unwrap_or_else(PoisonError::into_inner);
        let is_queued = |source: &&Source| reread_queue.contains_key(&FileKey::of(&source.path));
        let sources: Vec<&Source> =
            if reread_queue.is_empty() { Vec::new() } else { scan.sources.iter().filter(is_queued).collect() };
        sources.into_iter().map(|source| Work::new(source, reread_queue.remove(&FileKey::of(&source.path)))).collect()
    }

    /// Opens a batch, waiting while a commit is made.
    pub(super) fn enter(&self) -> OpenBatch<'_> {
        OpenBatch(self.writer.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts the bytes of a finished batch, and commits when enough has been read.
    pub(super) fn leave(&self, bytes: u64) -> Result<()> {
        self.read.fetch_add(bytes, Ordering::Relaxed);
        let uncommitted = self.uncommitted.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let is_first = self.fresh && !self.has_committed.load(Ordering::Relaxed);
        let enough = fault::batch(if is_first { FIRST_COMMIT } else { COMMIT_EVERY });
        if uncommitted < enough {
            return Ok(());
        }
        let mut writer = self.writer.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have committed first.
        if self.uncommitted.swap(0, Ordering::Relaxed) < enough {
            return Ok(());
        }
        self.has_committed.store(true, Ordering::Relaxed);
        writer.commit(false)
    }

    /// Returns the writer, after all threads have finished, and the number of bytes read.
    pub(super) fn close(self) -> (Writer, u64) {
        (self.writer.into_inner().unwrap_or_else(PoisonError::into_inner), self.read.into_inner())
    }
}
