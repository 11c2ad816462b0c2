//! The only code that writes an index.
//!
//! A writer is opened after the lock is taken, sweeps what a killed predecessor left, and is dropped at the first
//! error: after a failed commit tantivy may publish half of what was meant. There is one way to commit, which
//! always writes the header, so that a run that was cut short can be told from one that ended well.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tantivy::indexer::{NoMergePolicy, UserOperation};
use tantivy::{IndexWriter, Term};

use super::budget::Budget;
use super::checkpoint::{Checkpoint, FileKey};
use super::directory::{SafeDirectory, Trouble};
use super::memory;
use super::merge::{self, Tiers};
use super::patch::Past;
use super::schema::{self, Entry, FORMAT_VERSION, Fields, PARSER_VERSION};
use super::{create_or_open, damage, tantivy_error};
use crate::document::Document;
use crate::error::{Error, ErrorKind, Result};
use crate::fault::{self, Bug};

/// Text that may wait to be taken up by the index.
const IN_FLIGHT: usize = 16 << 20;
/// After so much text, freed memory is given back.
const TIDIED: usize = 64 << 20;
/// Memory in which a thread of a large run gathers a segment.
const HEAP_LARGE: usize = 56 << 20;
/// The same for a run of a few lines; tantivy wants no less than 15 MB.
const HEAP_SMALL: usize = 16 << 20;

/// How many checkpoints wait to be written side by side.
const WAITING: usize = 512;

/// What each commit says of itself.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct Header {
    pub(super) format: u32,
    pub(super) schema: String,
    pub(super) parser: u32,
    pub(super) program: String,
    /// Whether the run that made it ended well.
    pub(super) clean: bool,
}

impl Header {
    fn new(clean: bool) -> Self {
        Self {
            format: FORMAT_VERSION,
            schema: format!("{:016x}", schema::fingerprint()),
            parser: PARSER_VERSION,
            program: env!("CARGO_PKG_VERSION").to_string(),
            clean,
        }
    }
}

/// How large a run will be, as far as can be told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RunSize {
    /// A few lines: be quick.
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
    /// Text added since memory was last given back, in bytes.
    added: AtomicUsize,
    /// Checkpoints, with the names that files give their sessions, that are yet to be written.
    waiting: Mutex<BTreeMap<FileKey, (Checkpoint, Option<Document>)>>,
}

/// tantivy's writer has no `Debug`.
struct WriterBox(IndexWriter<Entry>);

impl std::fmt::Debug for WriterBox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IndexWriter")
    }
}

impl Writer {
    /// Opens the index in a folder, making it if it is not there. The caller holds the lock.
    pub(super) fn open(path: &Path, size: RunSize) -> Result<Self> {
        let directory = SafeDirectory::for_writing(path).map_err(|error| tantivy_error(path, &error.into()))?;
        sweep(path)?;
        let trouble = directory.trouble();
        let index = create_or_open(path, directory)?;
        let metas = index.load_metas().map_err(|error| damage(path, &error))?;
        let header: Option<Header> = metas.payload.as_deref().and_then(|payload| serde_json::from_str(payload).ok());
        if header.is_some_and(|header| !header.clean) {
            super::check_sums(path, &index)?;
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (threads, heap) = match size {
            RunSize::Small => (1, HEAP_SMALL),
            RunSize::Large => (cores.clamp(1, 4), HEAP_LARGE * 2 / cores.clamp(2, 4)),
        };
        let options = tantivy::indexer::IndexWriterOptions::builder()
            .num_worker_threads(threads)
            .memory_budget_per_thread(heap)
            .num_merge_threads(threads.min(2))
            .build();
        let writer: IndexWriter<Entry> =
            index.writer_with_options(options).map_err(|error| tantivy_error(path, &error))?;
        match size {
            RunSize::Small => writer.set_merge_policy(Box::new(Tiers)),
            // Merged once, at the end, when the memory for gathering segments is free again.
            RunSize::Large => writer.set_merge_policy(Box::new(NoMergePolicy)),
        }
        // A predecessor killed in the middle of a commit leaves files whose names the next commit would use again.
        if !fault::has(Bug::NoCleaning) {
            writer.garbage_collect_files().wait().map_err(|error| {
                trouble.cause().map_or_else(|| tantivy_error(path, &error), |cause| Error::io("write", path, cause))
            })?;
        }
        let (_, fields) = schema::schema();
        Ok(Self {
            writer: WriterBox(writer),
            fields,
            budget: Budget::new(IN_FLIGHT),
            path: path.to_path_buf(),
            trouble,
            size,
            added: AtomicUsize::new(0),
            waiting: Mutex::default(),
        })
    }

    /// Adds documents of a file, in order; `past` is what went before of the same file.
    pub fn add(&self, key: FileKey, documents: Vec<Document>, past: &mut Past) -> Result<()> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        for document in documents {
            // Hand over what we hold before waiting for more of the budget, or nobody could ever give it back.
            let size = document.text.len() + document.input.as_ref().map_or(0, String::len) + 1024;
            if bytes > 0 && bytes + size > IN_FLIGHT / 8 {
                self.run(std::mem::take(&mut batch))?;
                bytes = 0;
            }
            bytes += size;
            self.tidy(size);
            batch.push(UserOperation::Add(self.fields.entry(key, document, Some(&mut *past), self.budget.take(size))));
        }
        self.run(batch)
    }

    /// Gives freed memory back now and then. In a run of hours it would grow and grow.
    fn tidy(&self, added: usize) {
        if self.added.fetch_add(added, Ordering::Relaxed) > TIDIED {
            self.added.store(0, Ordering::Relaxed);
            memory::give_back();
        }
    }

    /// Replaces what is known of a file, and the name it gives its session. It is written with others, at the latest in
    /// the next commit: side by side, all checkpoints are read in a fraction of the time that they take one by one
    /// between the texts.
    pub fn checkpoint(&self, checkpoint: &Checkpoint, title: Option<Document>, replaces: bool) -> Result<()> {
        let key = checkpoint.key();
        if replaces {
            self.forget_checkpoint(key)?;
        }
        let mut waiting = self.waiting();
        waiting.insert(key, (checkpoint.clone(), title));
        let is_full = waiting.len() >= WAITING;
        drop(waiting);
        if is_full { self.write_waiting() } else { Ok(()) }
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<FileKey, (Checkpoint, Option<Document>)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_waiting(&self) -> Result<()> {
        let waiting = std::mem::take(&mut *self.waiting());
        let permit = || self.budget.take(1024);
        let mut batch = Vec::with_capacity(waiting.len());
        for (key, (checkpoint, title)) in waiting {
            batch.push(UserOperation::Add(self.fields.checkpoint_entry(&checkpoint, permit())));
            batch.extend(title.map(|title| UserOperation::Add(self.fields.title_entry(key, title, permit()))));
        }
        if batch.is_empty() { Ok(()) } else { self.run(batch) }
    }

    /// Drops the checkpoint of a file and the name it gives its session.
    pub fn forget_checkpoint(&self, key: FileKey) -> Result<()> {
        self.waiting().remove(&key);
        self.delete(Term::from_field_text(self.fields.checkpoint, &key.text()))?;
        self.delete(Term::from_field_text(self.fields.checkpoint, &schema::title_term(key)))
    }

    /// Drops all documents of a file.
    pub fn forget_documents(&self, key: FileKey) -> Result<()> {
        self.delete(Term::from_field_text(self.fields.source, &key.text()))
    }

    /// Drops all documents of a session, in whichever file they stand.
    pub fn forget_session(&self, session: &str) -> Result<()> {
        self.write_waiting()?;
        self.delete(Term::from_field_text(self.fields.session, session))
    }

    /// Drops what a parent saw of a subagent, now that its own transcript is there.
    pub fn forget_seen_of(&self, agent: &str) -> Result<()> {
        self.delete(Term::from_field_text(self.fields.via, agent))
    }

    fn delete(&self, term: Term) -> Result<()> {
        self.run(vec![UserOperation::Delete(term)])
    }

    fn run(&self, operations: Vec<UserOperation<Entry>>) -> Result<()> {
        self.writer.0.run(operations).map(|_| ()).map_err(|error| self.error(&error))
    }

    /// Makes all that was said so far durable and visible, at once. `clean` says that the run is at its end.
    pub fn commit(&mut self, clean: bool) -> Result<()> {
        self.write_waiting()?;
        let payload = serde_json::to_string(&Header::new(clean)).unwrap_or_default();
        let committed = self.writer.0.prepare_commit().and_then(|mut prepared| {
            prepared.set_payload(&payload);
            prepared.commit()
        });
        committed.map(|_| ()).map_err(|error| self.error(&error))
    }

    /// Merges what a large run has made, and waits for merges to end. Everything is committed already.
    pub fn finish(mut self) -> Result<()> {
        if self.size == RunSize::Large {
            memory::give_back();
            // Held on to, the list would keep the files of what was merged.
            let bins =
                merge::bins(&self.writer.0.index().searchable_segment_metas().map_err(|error| self.error(&error))?);
            let merges: Vec<_> = bins.iter().map(|bin| self.writer.0.merge(bin)).collect();
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

    /// Commits, and merges all segments into one, so that nothing deleted is left in any file.
    pub fn commit_and_squeeze(mut self) -> Result<()> {
        // A merge of tantivy's own choice would take segments away from under ours.
        self.writer.0.set_merge_policy(Box::new(NoMergePolicy));
        self.commit(true)?;
        let ids = self.writer.0.index().searchable_segment_ids().map_err(|error| self.error(&error))?;
        if !ids.is_empty() {
            self.writer.0.merge(&ids).wait().map_err(|error| self.error(&error))?;
        }
        self.writer.0.garbage_collect_files().wait().map_err(|error| self.error(&error))?;
        self.finish()
    }

    /// Says what the system said, where tantivy only knows that one of its threads has died.
    fn error(&self, error: &tantivy::TantivyError) -> Error {
        match self.trouble.cause() {
            Some(cause) => Error::io("write", &self.path, cause),
            None => tantivy_error(&self.path, error),
        }
    }
}

/// Removes the temporary files of killed predecessors, which tantivy never collects, and its list of files, which an
/// older version of this program left.
fn sweep(path: &Path) -> Result<()> {
    let entries = fs_err::read_dir(path).map_err(|error| Error::io("list", path, error))?;
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.len() == 10 && name.as_encoded_bytes().starts_with(b".tmp") || name == ".managed.json" {
            let _ = super::disk::remove_file(&entry.path());
        }
    }
    Ok(())
}
