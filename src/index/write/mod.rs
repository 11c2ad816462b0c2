//! Writes the index. This is the only code that does.
//!
//! A writer is opened after the lock is taken, removes what a killed run left, and is dropped at the first error: after
//! a failed commit, tantivy may publish half of the changes. There is one way to commit, and it always writes the
//! header, so that an interrupted run can be distinguished from a finished one.

pub(in crate::index) mod memory;
pub(in crate::index) mod entry;
pub(in crate::index) mod merge;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tantivy::indexer::{NoMergePolicy, UserOperation};
use tantivy::{IndexWriter, SegmentMeta, Term};

use crate::document::Document;
use crate::error::{Error, ErrorKind, Result};
use crate::index::checkpoint::Checkpoint;
use crate::index::disk::cleanup;
use crate::index::disk::damage_flag;
use crate::index::disk::directory::{SafeDirectory, Trouble};
use crate::index::errors::{damage, tantivy_error};
use crate::index::file_key::FileKey;
use crate::index::open::{Header, check_sums, create_or_open};
use crate::index::read::Reader;
use crate::index::schema::{self, Fields};
use crate::index::write::entry::Entry;
use crate::index::write::memory::{BATCH, Budget, HEAP_LARGE, HEAP_SMALL, IN_FLIGHT, Permit};
use crate::index::write::merge::Tiers;

/// Number of checkpoints that are collected before they are written together.
const MAX_WAITING: usize = 512;

/// Expected size of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RunSize {
    /// A few lines: start fast.
    Small,
    /// Many files: use all cores.
    Large,
}

/// An index open for writing.
#[derive(Debug)]
pub struct Writer {
    writer: WriterBox,
    fields: Fields,
    budget: Budget,
    path: PathBuf,
    trouble: Trouble,
    size: RunSize,
    /// Set if deleted text must be erased from the files by the end of the run.
    erasing: bool,
    /// Checkpoints to be written, each with the session title of its file.
    waiting: Mutex<Waiting>,
}

type Waiting = BTreeMap<FileKey, (Checkpoint, Option<Document>)>;

/// Wrapper, because tantivy's writer does not implement `Debug`.
struct WriterBox(IndexWriter<Entry>);

impl std::fmt::Debug for WriterBox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IndexWriter")
    }
}

impl Writer {
    /// Opens the index in a folder, creating it if it does not exist. The caller holds the lock.
    pub(in crate::index) fn open(path: &Path, size: RunSize) -> Result<Self> {
        let directory = SafeDirectory::for_writing(path).map_err(|error| tantivy_error(path, &error.into()))?;
        cleanup::sweep(path).map_err(|error| Error::io("list", path, error))?;
        let trouble = directory.trouble();
        let index = create_or_open(path, directory)?;
        let metas = index.load_metas().map_err(|error| damage(path, &error))?;
        let header: Option<Header> = metas.payload.as_deref().and_then(|payload| serde_json::from_str(payload).ok());
        if damage_flag::is_there(path) {
            Reader::open(path)?.check_sums()?;
            damage_flag::remove(path)?;
        } else if header.as_ref().is_some_and(|header| !header.clean) {
            check_sums(path, &index)?;
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (threads, heap) = match size {
            RunSize::Small => (1, HEAP_SMALL),
            RunSize::Large => (cores.clamp(1, 4), HEAP_LARGE / cores.clamp(1, 4)),
        };
        let options = tantivy::indexer::IndexWriterOptions::builder()
            .num_worker_threads(threads)
            .memory_budget_per_thread(heap)
            // Two merges at a time would take twice the memory.
            .num_merge_threads(1)
            .build();
        let writer: IndexWriter<Entry> =
            index.writer_with_options(options).map_err(|error| tantivy_error(path, &error))?;
        // tantivy would give the first operation the opstamp of the last commit. A merge that takes it for part of that
        // commit would lose a deletion.
        writer.run(Vec::new()).map_err(|error| tantivy_error(path, &error))?;
        match size {
            RunSize::Small => writer.set_merge_policy(Box::new(Tiers::new(path))),
            // Merged once at the end, when the memory for building segments is free again.
            RunSize::Large => writer.set_merge_policy(Box::new(NoMergePolicy)),
        }
        // A run killed in the middle of a commit leaves files whose names the next commit would use again.
        writer.garbage_collect_files().wait().map_err(|error| {
            trouble.cause().map_or_else(|| tantivy_error(path, &error), |cause| Error::io("write", path, cause))
        })?;
        let (_, fields) = schema::schema();
        Ok(Self {
            writer: WriterBox(writer),
            fields,
            budget: Budget::new(IN_FLIGHT),
            path: path.to_path_buf(),
            trouble,
            size,
            erasing: header.is_some_and(|header| header.erasing),
            waiting: Mutex::default(),
        })
    }

    /// Adds documents of a file, in order.
    pub fn add(&self, key: FileKey, documents: Vec<Document>) -> Result<()> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        for document in documents {
            let size = document.text.len() + document.input.as_ref().map_or(0, String::len) + 1024;
            if bytes > 0 && bytes + size > BATCH {
                self.send(key, std::mem::take(&mut batch), std::mem::take(&mut bytes))?;
            }
            bytes += size;
            batch.push(document);
        }
        self.send(key, batch, bytes)
    }

    /// Sends documents to one of tantivy's threads as soon as the budget allows.
    fn send(&self, key: FileKey, documents: Vec<Document>, bytes: usize) -> Result<()> {
        let permit = self.permit(bytes);
        let entry = |document| UserOperation::Add(self.fields.entry(key, document, permit.clone()));
        self.run(documents.into_iter().map(entry).collect())
    }

    fn permit(&self, bytes: usize) -> Arc<Permit> {
        Arc::new(self.budget.take(bytes))
    }

    /// Replaces the checkpoint and the session title of a file.
    ///
    /// It is written together with others, at the latest in the next commit. Reading all checkpoints is many times
    /// faster if they are stored next to each other than if they are scattered among the texts.
    pub fn checkpoint(&self, checkpoint: &Checkpoint, title: Option<Document>, replaces: bool) -> Result<()> {
        let key = checkpoint.key();
        if replaces {
            self.forget_checkpoint(key)?;
        }
        let mut waiting = self.waiting();
        waiting.insert(key, (checkpoint.clone(), title));
        let is_full = waiting.len() >= MAX_WAITING;
        drop(waiting);
        if is_full { self.write_waiting() } else { Ok(()) }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the checkpoints that are waiting.
    fn write_waiting(&self) -> Result<()> {
        let waiting = std::mem::take(&mut *self.waiting());
        let permit = self.permit(waiting.len() * 1024);
        let mut entries = Vec::new();
        for (key, (checkpoint, title)) in waiting {
            entries.push(self.fields.checkpoint_entry(&checkpoint, permit.clone()));
            entries.extend(title.map(|title| self.fields.title_entry(key, title, permit.clone())));
        }
        self.run(entries.into_iter().map(UserOperation::Add).collect())
    }

    /// Deletes the checkpoint and the session title of a file.
    pub fn forget_checkpoint(&self, key: FileKey) -> Result<()> {
        self.waiting().remove(&key);
        self.delete(Term::from_field_text(self.fields.checkpoint, &key.text()))?;
        self.delete(Term::from_field_text(self.fields.checkpoint, &schema::title_term(key)))
    }

    /// Deletes all documents of a file.
    pub fn forget_documents(&self, key: FileKey) -> Result<()> {
        self.delete(Term::from_field_text(self.fields.source, &key.text()))
    }

    /// Deletes all documents of a session, from all files.
    pub fn forget_session(&self, session: &str) -> Result<()> {
        self.write_waiting()?;
        self.delete(Term::from_field_text(self.fields.session, session))
    }

    /// Deletes the copy of a subagent's message in its parent session, after the message was found in the subagent's
    /// own transcript.
    pub fn forget_seen(&self, session: &str, agent: &str, uuid: &str) -> Result<()> {
        self.delete(Term::from_field_text(self.fields.seen_via_agent, &schema::seen_term(session, agent, uuid)))
    }

    fn delete(&self, term: Term) -> Result<()> {
        self.run(vec![UserOperation::Delete(term)])
    }

    fn run(&self, operations: Vec<UserOperation<Entry>>) -> Result<()> {
        if operations.is_empty() {
            return Ok(());
        }
        self.writer.0.run(operations).map(|_| ()).map_err(|error| self.error(&error))
    }

    /// Makes all changes so far durable and visible at once. `clean` says that the run has finished.
    pub fn commit(&mut self, clean: bool) -> Result<()> {
        self.write_waiting()?;
        let header = Header { erasing: self.erasing, ..Header::new(clean && !self.erasing) };
        let payload = serde_json::to_string(&header).unwrap_or_default();
        let committed = self.writer.0.prepare_commit().and_then(|mut prepared| {
            prepared.set_payload(&payload);
            prepared.commit()
        });
        committed.map(|_| ()).map_err(|error| self.error(&error))
    }

    /// Commits for the last time, and merges. Also erases deleted text if an earlier run could not finish that.
    pub fn end(mut self) -> Result<()> {
        if self.erasing {
            return self.commit_and_squeeze();
        }
        self.commit(true)?;
        self.finish()
    }

    /// Merges the segments of a large run, and waits for merges to end. Everything is committed already.
    fn finish(mut self) -> Result<()> {
        if self.size != RunSize::Small {
            let segments = self.writer.0.index().searchable_segment_metas().map_err(|error| self.error(&error))?;
            let groups = merge::at_end(&self.path, &segments);
            // As long as the list exists, the files of merged segments are kept.
            drop(segments);
            let merges: Vec<_> = groups.iter().map(|group| self.writer.0.merge(group)).collect();
            for merge in merges {
                merge.wait().map_err(|error| self.error(&error))?;
            }
            self.writer.0.garbage_collect_files().wait().map_err(|error| self.error(&error))?;
        }
        self.writer
            .0
            .wait_merging_threads()
            .map_err(|error| Error::new(ErrorKind::Other, "merging failed").because(error))
    }

    /// Commits, and rewrites every segment with deletions, so that no file contains deleted text. If that fails
    /// halfway, the next run completes it.
    pub fn commit_and_squeeze(mut self) -> Result<()> {
        // A merge chosen by tantivy could use up segments that we are about to rewrite.
        self.writer.0.set_merge_policy(Box::new(NoMergePolicy));
        self.erasing = true;
        self.commit(false)?;
        let segments = self.writer.0.index().searchable_segment_metas().map_err(|error| self.error(&error))?;
        let with_deletes: Vec<_> =
            segments.iter().filter(|segment| segment.has_deletes()).map(SegmentMeta::id).collect();
        // As long as the list exists, the files of rewritten segments are kept.
        drop(segments);
        for id in with_deletes {
            self.writer.0.merge(&[id]).wait().map_err(|error| self.error(&error))?;
        }
        self.writer.0.garbage_collect_files().wait().map_err(|error| self.error(&error))?;
        self.erasing = false;
        self.commit(true)?;
        self.finish()
    }

    /// Returns the I/O error of a failed write, if there is one: tantivy only knows that one of its threads has died.
    fn error(&self, error: &tantivy::TantivyError) -> Error {
        match self.trouble.cause() {
            Some(cause) => Error::io("write", &self.path, cause),
            None => tantivy_error(&self.path, error),
        }
    }
}
