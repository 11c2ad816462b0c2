//! The only code that writes an index.
//!
//! A writer is opened after the lock is taken, sweeps what a killed predecessor left, and is dropped at the first
//! error: after a failed commit tantivy may publish half of what was meant. There is one way to commit, which
//! always writes the header, so that a run that was cut short can be told from one that ended well.

use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tantivy::indexer::{NoMergePolicy, UserOperation};
use tantivy::query::{BooleanQuery, Occur, Query as TantivyQuery, RangeQuery};
use tantivy::{IndexWriter, Term};

use super::budget::{Budget, Permit};
use super::checkpoint::{Checkpoint, FileKey};
use super::directory::{SafeDirectory, Trouble};
use super::entry::Entry;
use super::ids::{uuid_bytes, uuid_group};
use super::litter;
use super::mark;
use super::memory;
use super::merge::{self, Tiers};
use super::patch::Past;
use super::reader::exact;
use super::schema::{self, FORMAT_VERSION, Fields, PARSER_VERSION};
use super::segment::SegmentBuilder;
use super::{create_or_open, damage, tantivy_error};
use crate::document::Document;
use crate::error::{Error, ErrorKind, Result};

/// Text that may wait to be taken up by the index.
const IN_FLIGHT: usize = 16 << 20;
/// After so much text, freed memory is given back.
const TIDIED: usize = 64 << 20;
/// Memory in which a thread of a large run gathers a segment.
const HEAP_LARGE: usize = 56 << 20;
/// Memory in which all threads of a whole run gather the terms and columns of segments.
const HEAP_WHOLE: usize = 180 << 20;
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
    /// Whether something was taken out that is still in the files, and must not be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) erasing: bool,
}

impl Header {
    fn new(clean: bool) -> Self {
        Self {
            format: FORMAT_VERSION,
            schema: format!("{:016x}", schema::fingerprint()),
            parser: PARSER_VERSION,
            program: env!("CARGO_PKG_VERSION").to_string(),
            clean,
            erasing: false,
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
    /// Everything, into an index that is empty: nothing can be in the way of what is added.
    Whole,
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
    /// Whether what was taken out must not be in the files any more when this is at its end.
    erasing: bool,
    /// Text added since memory was last given back, in bytes.
    added: AtomicUsize,
    /// Of a whole run: segments that are being gathered and nobody is adding to just now.
    idle: Mutex<Vec<SegmentBuilder>>,
    /// Checkpoints, with the names that files give their sessions, that are yet to be written.
    waiting: Mutex<Waiting>,
    /// Of a whole run: files whose checkpoint, when it was last committed, was not the last.
    begun: Mutex<HashSet<FileKey>>,
}

type Waiting = BTreeMap<FileKey, (Checkpoint, Option<Document>)>;

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
        litter::sweep(path).map_err(|error| Error::io("list", path, error))?;
        let trouble = directory.trouble();
        let index = create_or_open(path, directory)?;
        let metas = index.load_metas().map_err(|error| damage(path, &error))?;
        let header: Option<Header> = metas.payload.as_deref().and_then(|payload| serde_json::from_str(payload).ok());
        if mark::is_there(path) || header.as_ref().is_some_and(|header| !header.clean) {
            super::check_sums(path, &index)?;
            mark::remove(path)?;
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (threads, heap) = match size {
            // In a whole run, only checkpoints that replace others come this way.
            RunSize::Small | RunSize::Whole => (1, HEAP_SMALL),
            RunSize::Large => (cores.clamp(1, 4), HEAP_LARGE * 2 / cores.clamp(2, 4)),
        };
        let options = tantivy::indexer::IndexWriterOptions::builder()
            .num_worker_threads(threads)
            .memory_budget_per_thread(heap)
            .num_merge_threads(if size == RunSize::Small { 1 } else { cores.min(2) })
            .build();
        let writer: IndexWriter<Entry> =
            index.writer_with_options(options).map_err(|error| tantivy_error(path, &error))?;
        // tantivy would give the first operation the number of the last commit: a merge that takes it for a part of that
        // commit loses a deletion.
        writer.run(Vec::new()).map_err(|error| tantivy_error(path, &error))?;
        match size {
            RunSize::Small => writer.set_merge_policy(Box::new(Tiers)),
            // Merged once, at the end, when the memory for gathering segments is free again.
            RunSize::Large | RunSize::Whole => writer.set_merge_policy(Box::new(NoMergePolicy)),
        }
        // A predecessor killed in the middle of a commit leaves files whose names the next commit would use again.
        writer.garbage_collect_files().wait().map_err(|error| {
            trouble.cause().map_or_else(|| tantivy_error(path, &error), |cause| Error::io("write", path, cause))
        })?;
        if size == RunSize::Whole {
            memory::take_apart();
        }
        let (_, fields) = schema::schema();
        Ok(Self {
            writer: WriterBox(writer),
            fields,
            budget: Budget::new(IN_FLIGHT),
            path: path.to_path_buf(),
            trouble,
            size,
            erasing: header.is_some_and(|header| header.erasing),
            added: AtomicUsize::new(0),
            idle: Mutex::default(),
            waiting: Mutex::default(),
            begun: Mutex::default(),
        })
    }

    /// Adds documents of a file, in order; `past` is what went before of the same file.
    pub fn add(&self, key: FileKey, documents: Vec<Document>, past: &mut Past) -> Result<()> {
        if self.size == RunSize::Whole {
            let entry = |document| self.fields.entry(key, document, Some(&mut *past), None);
            return self.gather(documents.into_iter().map(entry));
        }
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
            let permit = self.budget.take(size);
            batch.push(UserOperation::Add(self.fields.entry(key, document, Some(&mut *past), Some(permit))));
        }
        self.run(batch)
    }

    /// Adds entries to a segment that nobody else is adding to, or to a new one.
    fn gather(&self, entries: impl Iterator<Item = Entry>) -> Result<()> {
        let mut builder = self.idle().pop();
        for entry in entries {
            if let Some(full) = builder.take_if(|builder| builder.is_full()) {
                self.take_up(full)?;
            }
            let added = match &mut builder {
                Some(builder) => builder.add(&entry),
                None => self.begin_segment().and_then(|begun| builder.insert(begun).add(&entry)),
            };
            added.map_err(|error| self.error(&error))?;
        }
        self.idle().extend(builder);
        Ok(())
    }

    fn idle(&self) -> MutexGuard<'_, Vec<SegmentBuilder>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin_segment(&self) -> tantivy::Result<SegmentBuilder> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).clamp(2, 4);
        SegmentBuilder::begin(self.writer.0.index(), &self.path, self.fields, HEAP_WHOLE / threads)
    }

    /// Ends a segment and hands it to the index.
    fn take_up(&self, builder: SegmentBuilder) -> Result<()> {
        let taken_up = builder.end().and_then(|segment| self.writer.0.add_segment(segment));
        memory::give_back();
        taken_up.map_err(|error| self.error(&error))
    }

    /// Ends all segments that are being gathered, side by side.
    fn take_up_all(&self) -> Result<()> {
        let builders = std::mem::take(&mut *self.idle());
        std::thread::scope(|scope| {
            let ending: Vec<_> = builders.into_iter().map(|builder| scope.spawn(|| self.take_up(builder))).collect();
            let panicked = |_| Err(Error::new(ErrorKind::Other, "a thread that writes a segment has died"));
            ending.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(panicked))
        })
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
        if is_full { self.write_waiting(false) } else { Ok(()) }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begun(&self) -> MutexGuard<'_, HashSet<FileKey>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes checkpoints. Those of a whole run that others will follow are left until the commit.
    ///
    /// In a whole run they are gathered with the documents, but for those that replace one that is committed already:
    /// tantivy knows what was deleted before they came, a segment of ours does not.
    fn write_waiting(&self, commits: bool) -> Result<()> {
        let is_whole = self.size == RunSize::Whole;
        let is_due = |checkpoint: &Checkpoint| commits || !is_whole || checkpoint.is_last();
        let waiting: Vec<_> = self.waiting().extract_if(.., |_, (checkpoint, _)| is_due(checkpoint)).collect();
        let begun = self.begun().clone();
        let (gathered, others): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|(key, _)| is_whole && !begun.contains(key));
        if commits && is_whole {
            let unfinished = gathered.iter().chain(&others).filter(|(_, (checkpoint, _))| !checkpoint.is_last());
            *self.begun() = begun.into_iter().chain(unfinished.map(|(key, _)| *key)).collect();
        }
        let entries = |(key, (checkpoint, title)): (FileKey, (Checkpoint, Option<Document>)),
                       permit: &dyn Fn() -> Option<Permit>| {
            let title = title.map(|title| self.fields.title_entry(key, title, permit()));
            [Some(self.fields.checkpoint_entry(&checkpoint, permit())), title].into_iter().flatten()
        };
        if !gathered.is_empty() {
            self.gather(gathered.into_iter().flat_map(|one| entries(one, &|| None)))?;
        }
        let permit = || Some(self.budget.take(1024));
        let batch: Vec<_> = others.into_iter().flat_map(|one| entries(one, &permit)).map(UserOperation::Add).collect();
        if batch.is_empty() { Ok(()) } else { self.run(batch) }
    }

    /// Drops the checkpoint of a file and the name it gives its session.
    pub fn forget_checkpoint(&self, key: FileKey) -> Result<()> {
        let was_waiting = self.waiting().remove(&key).is_some();
        if self.size == RunSize::Whole && was_waiting && !self.begun().contains(&key) {
            return Ok(());
        }
        if self.size == RunSize::Whole {
            self.begun().insert(key);
        }
        self.delete(Term::from_field_text(self.fields.checkpoint, &key.text()))?;
        self.delete(Term::from_field_text(self.fields.checkpoint, &schema::title_term(key)))
    }

    /// Drops all documents of a file.
    pub fn forget_documents(&self, key: FileKey) -> Result<()> {
        self.delete_documents(Term::from_field_text(self.fields.source, &key.text()))
    }

    /// Drops all documents of a session, in whichever file they stand.
    pub fn forget_session(&self, session: &str) -> Result<()> {
        self.write_waiting(true)?;
        self.delete_documents(Term::from_field_text(self.fields.session, session))
    }

    /// Drops what a session saw of a message of its subagent, now that the subagent's own transcript has it.
    pub fn forget_seen(&self, session: &str, agent: &str, uuid: &str) -> Result<()> {
        let terms = [
            Term::from_field_bytes(self.fields.uuid, &uuid_bytes(uuid)),
            Term::from_field_text(self.fields.via, agent),
            Term::from_field_text(self.fields.session, session),
        ];
        // Terms have only the beginning of an id.
        let group = Bound::Included(Term::from_field_u64(self.fields.group, uuid_group(uuid)));
        let group: Box<dyn TantivyQuery> = Box::new(RangeQuery::new(group.clone(), group));
        let all = terms.map(exact).into_iter().chain([group]).map(|query| (Occur::Must, query)).collect();
        let all = Box::new(BooleanQuery::new(all));
        self.writer.0.delete_query(all).map(|_| ()).map_err(|error| self.error(&error))
    }

    /// Drops documents that were added before. In a whole run there is nothing to drop, and no telling what was before.
    fn delete_documents(&self, term: Term) -> Result<()> {
        debug_assert!(self.size != RunSize::Whole, "a whole run deletes no documents");
        self.delete(term)
    }

    fn delete(&self, term: Term) -> Result<()> {
        self.run(vec![UserOperation::Delete(term)])
    }

    fn run(&self, operations: Vec<UserOperation<Entry>>) -> Result<()> {
        self.writer.0.run(operations).map(|_| ()).map_err(|error| self.error(&error))
    }

    /// Makes all that was said so far durable and visible, at once. `clean` says that the run is at its end.
    pub fn commit(&mut self, clean: bool) -> Result<()> {
        self.write_waiting(true)?;
        self.take_up_all()?;
        let header = Header { erasing: self.erasing, ..Header::new(clean && !self.erasing) };
        let payload = serde_json::to_string(&header).unwrap_or_default();
        let committed = self.writer.0.prepare_commit().and_then(|mut prepared| {
            prepared.set_payload(&payload);
            prepared.commit()
        });
        committed.map(|_| ()).map_err(|error| self.error(&error))
    }

    /// Commits for the last time, and does what is left to do: also what a predecessor had to leave that was to erase
    /// something.
    pub fn end(mut self) -> Result<()> {
        if self.erasing {
            return self.commit_and_squeeze();
        }
        self.commit(true)?;
        self.finish()
    }

    /// Merges what a large run has made, and waits for merges to end. Everything is committed already.
    fn finish(mut self) -> Result<()> {
        if self.size != RunSize::Small {
            memory::give_back();
            let segments = self.writer.0.index().searchable_segment_metas().map_err(|error| self.error(&error))?;
            let bins = if self.size == RunSize::Whole { merge::of_whole(&segments) } else { merge::bins(&segments) };
            // Held on to, the list would keep the files of what was merged.
            drop(segments);
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

    /// Commits, and merges all segments into one, so that nothing deleted is left in any file. If that fails halfway, the
    /// next run does it.
    pub fn commit_and_squeeze(mut self) -> Result<()> {
        // A merge of tantivy's own choice would take segments away from under ours.
        self.writer.0.set_merge_policy(Box::new(NoMergePolicy));
        self.erasing = true;
        self.commit(false)?;
        let ids = self.writer.0.index().searchable_segment_ids().map_err(|error| self.error(&error))?;
        if !ids.is_empty() {
            self.writer.0.merge(&ids).wait().map_err(|error| self.error(&error))?;
        }
        self.writer.0.garbage_collect_files().wait().map_err(|error| self.error(&error))?;
        self.erasing = false;
        self.commit(true)?;
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
