//! An index open for reading: a snapshot of one commit. Works on a read-only folder.

pub(in crate::index) mod entries;
pub(in crate::index) mod filter;
pub(in crate::index) mod unknown_names;
pub(in crate::index) mod rows;
pub(in crate::index) mod checkpoints;
pub(in crate::index) mod titles_by_message;
pub(in crate::index) mod sessions;
pub(in crate::index) mod outline;
pub(in crate::index) mod by_file;
pub(in crate::index) mod catalog;
pub(in crate::index) mod damage_check;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::Serialize;
use tantivy::collector::Count;
use tantivy::postings::SegmentPostings;
use tantivy::query::{BooleanQuery, Occur, Query as TantivyQuery, TermQuery};
use tantivy::schema::{IndexRecordOption, Schema};
use tantivy::{DocAddress, DocId, DocSet as _, ReloadPolicy, Searcher, SegmentReader, TERMINATED, Term};

use crate::document::{Document, Kind};
use crate::error::Result;
use crate::index::checkpoint::Checkpoint;
use crate::index::disk::damage_flag;
use crate::index::disk::directory::SafeDirectory;
use crate::index::errors::{damage, damaged, tantivy_error};
use crate::index::file_key::FileKey;
use crate::index::hash_map::{HashMap64, HashSet64};
use crate::index::open::{empty_store, open_checked, register};
use crate::index::read::entries::Opened;
use crate::index::schema::{self, CHECKPOINT_KIND, Fields, SEEN};
use crate::index::store::ids::uuid_bytes;

/// An index open for reading.
pub struct Reader {
    pub(in crate::index) path: PathBuf,
    pub(in crate::index) index: tantivy::Index,
    pub(in crate::index) schema: Schema,
    pub(in crate::index) searcher: Searcher,
    pub(in crate::index) fields: Fields,
    /// Keys of the sessions that have a transcript.
    transcripts: OnceLock<HashSet64>,
    /// Titles that identify their session by a message, keyed by that message.
    leaves: OnceLock<HashMap64<Vec<DocAddress>>>,
    /// The parts of each segment that are opened on first use.
    pub(in crate::index) opened: Vec<Opened>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reader({})", self.path.display())
    }
}

/// The size of an index.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Size {
    /// Number of documents, not counting the checkpoints of files.
    pub documents: u64,
    /// Number of segments.
    pub segments: usize,
    /// Bytes on disk.
    pub bytes: u64,
}

impl Reader {
    /// Opens an index of the current format.
    pub(in crate::index) fn open(path: &Path) -> Result<Self> {
        let directory = SafeDirectory::open(path).map_err(|error| tantivy_error(path, &error.into()))?;
        let exists = tantivy::Index::exists(&directory).map_err(|error| damage(path, &error.into()))?;
        if !exists {
            return Err(damaged(path, "meta.json is missing"));
        }
        Self::with_index(path, open_checked(path, directory)?)
    }

    /// Opens an index of any format, to copy documents from it.
    pub(in crate::index) fn open_any(path: &Path) -> Result<Self> {
        let directory = SafeDirectory::open(path).map_err(|error| tantivy_error(path, &error.into()))?;
        let mut index = tantivy::Index::open(directory).map_err(|error| damage(path, &error))?;
        register(&mut index);
        Self::with_index(path, index)
    }

    /// Opens an index of any format without its store files. Only columns and terms can be read from it.
    pub(in crate::index) fn open_without_stores(path: &Path) -> Result<Self> {
        let empty_store = empty_store().map_err(|error| tantivy_error(path, &error))?;
        let directory = SafeDirectory::without_stores(path, empty_store);
        let directory = directory.map_err(|error| tantivy_error(path, &error.into()))?;
        let mut index = tantivy::Index::open(directory).map_err(|error| damage(path, &error))?;
        register(&mut index);
        Self::with_index(path, index)
    }

    fn with_index(path: &Path, index: tantivy::Index) -> Result<Self> {
        let opened =
            catch_unwind(AssertUnwindSafe(|| index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()));
        let reader: tantivy::IndexReader = match opened {
            Ok(reader) => reader.map_err(|error| damage(path, &error))?,
            Err(_) => return Err(damaged(path, "one of its files cannot be read")),
        };
        let (_, fields) = schema::schema();
        let searcher = reader.searcher();
        let schema = index.schema();
        let opened = searcher.segment_readers().iter().map(|_| Opened::default()).collect();
        Ok(Self {
            path: path.to_path_buf(),
            schema,
            index,
            searcher,
            fields,
            transcripts: OnceLock::new(),
            leaves: OnceLock::new(),
            opened,
        })
    }

    /// Runs a read operation. Turns any error or panic in it into an error that reports damage, and sets the damage
    /// flag.
    pub(in crate::index) fn guarded<T>(&self, read: impl FnOnce() -> tantivy::Result<T>) -> Result<T> {
        let read = match catch_unwind(AssertUnwindSafe(read)) {
            Ok(read) => read.map_err(|error| damage(&self.path, &error)),
            Err(_) => Err(damaged(&self.path, "one of its files cannot be read")),
        };
        read.map_err(|error| damage_flag::met(&self.path, error))
    }

    /// Counts the documents of a file, without copies of subagents' messages.
    pub fn count_of(&self, key: FileKey) -> Result<u64> {
        let of_file = exact(Term::from_field_text(self.fields.source, &key.text()));
        let own = BooleanQuery::new(vec![(Occur::Must, of_file), (Occur::MustNot, self.seen_query())]);
        self.guarded(|| Ok(self.searcher.search(&own, &Count)? as u64))
    }

    /// Reports whether parents' transcripts may contain messages of a subagent.
    pub fn has_seen(&self, agent: &str) -> Result<bool> {
        let term = Term::from_field_text(self.fields.seen_via_agent, agent);
        self.guarded(|| Ok(self.searcher.doc_freq(&term)? > 0))
    }

    /// Returns the files of a session that contain messages of a subagent.
    pub fn files_with_messages_of(&self, session: &str, agent: &str) -> Result<Vec<Checkpoint>> {
        let of_session = Term::from_field_text(self.fields.session, session);
        let saw = Term::from_field_text(self.fields.flag, &schema::subagent_seen(agent));
        let found = self.guarded(|| self.with_both(&of_session, &saw))?;
        found.into_iter().map(|at| self.checkpoint_at(at)).collect()
    }

    /// Counts the documents that are copies of subagents' messages in the transcripts of parents.
    pub fn count_seen(&self) -> Result<u64> {
        self.guarded(|| Ok(self.searcher.search(&*self.seen_query(), &Count)? as u64))
    }

    fn seen_query(&self) -> Box<dyn TantivyQuery> {
        exact(Term::from_field_text(self.fields.flag, SEEN))
    }

    /// Counts the documents of a file that belong to a session.
    pub fn count_in_session(&self, key: FileKey, session: &str) -> Result<u64> {
        let of_file = exact(Term::from_field_text(self.fields.source, &key.text()));
        let of_session = exact(Term::from_field_text(self.fields.session, session));
        let both = BooleanQuery::new(vec![(Occur::Must, of_file), (Occur::Must, of_session)]);
        self.guarded(|| Ok(self.searcher.search(&both, &Count)? as u64))
    }

    /// Returns all documents of a file, in order.
    pub fn documents_of(&self, key: FileKey) -> Result<Vec<Document>> {
        let source = self.schema.get_field("source").unwrap_or(self.fields.source);
        let mut documents = self.documents(&self.with_term(&Term::from_field_text(source, &key.text()))?)?;
        documents.sort_by_key(|document| (document.line, document.offset, document.part));
        Ok(documents)
    }

    /// Passes each document of a file to `visit`, in order. Only one is in memory at a time.
    pub fn each_document_of(&self, key: FileKey, visit: &mut dyn FnMut(Document) -> Result<()>) -> Result<()> {
        self.in_order(key)?.into_iter().try_for_each(|address| visit(self.document(address)?))
    }

    /// Returns all documents of a kind.
    pub fn documents_of_kind(&self, kind: Kind) -> Result<Vec<(FileKey, Document)>> {
        let mut found = Vec::new();
        for address in self.with_term(&Term::from_field_text(self.fields.kind, kind.name()))? {
            found.push((self.source_of(address)?, self.document(address)?));
        }
        found.sort_by_key(|(key, document)| (*key, document.offset, document.part));
        Ok(found)
    }

    /// Returns the copies of a line in other files than `at`. Columns identify the parts of the line in its own file,
    /// so nothing is read from the store if the line occurs in one place only.
    pub fn copies(&self, uuid: &str, at: FileKey) -> Result<Vec<Document>> {
        let mut found = self.with_term(&Term::from_field_bytes(self.fields.uuid, &uuid_bytes(uuid)))?;
        if found.len() < 2 {
            return Ok(Vec::new());
        }
        self.guarded(|| {
            let sources = found.iter().map(|address| self.source_key(*address)).collect::<tantivy::Result<Vec<_>>>()?;
            let mut elsewhere = sources.into_iter().map(|source| source != at);
            found.retain(|_| elsewhere.next().unwrap_or(true));
            Ok(())
        })?;
        let documents = self.documents(&found)?;
        let is_copy =
            |document: &Document| [&document.uuid, &document.copied_from].into_iter().flatten().any(|id| id == uuid);
        Ok(documents.into_iter().filter(is_copy).collect())
    }

    pub(in crate::index) fn fetch_at(&self, address: DocAddress) -> Result<(FileKey, Document)> {
        Ok((self.source_of(address)?, self.document(address)?))
    }

    /// Finds a line by its id, preferably in the given session.
    pub fn by_uuid(&self, uuid: &str, session: &str) -> Result<Option<Document>> {
        let found = self.with_term(&Term::from_field_bytes(self.fields.uuid, &uuid_bytes(uuid)))?;
        let mut documents = self.documents(&found)?;
        documents.retain(|document| document.uuid.as_deref() == Some(uuid));
        // Of copies in other sessions, the earliest: the result must not depend on when each file was read.
        let order = |document: &Document| {
            (document.session != session, document.timestamp, document.session.clone(), document.part)
        };
        Ok(documents.into_iter().min_by_key(order))
    }

    /// Returns the addresses of the documents of a file, in the order of its lines.
    pub(in crate::index) fn in_order(&self, key: FileKey) -> Result<Vec<DocAddress>> {
        self.guarded(|| {
            let mut placed = Vec::new();
            let term = Term::from_field_text(self.fields.source, &key.text());
            for (ord, reader) in self.searcher.segment_readers().iter().enumerate() {
                let columns = reader.fast_fields();
                let (lines, offsets, parts) = (columns.u64("line")?, columns.u64("offset")?, columns.u64("part")?);
                placed.extend(holding(reader, &term)?.into_iter().map(|doc| {
                    let place = (lines.first(doc), offsets.first(doc), parts.first(doc));
                    (place, DocAddress::new(ord as u32, doc))
                }));
            }
            placed.sort_unstable();
            Ok(placed.into_iter().map(|(_, address)| address).collect())
        })
    }

    /// Reports whether the index is empty: it has no documents and no checkpoints.
    pub fn is_blank(&self) -> bool {
        self.searcher.num_docs() == 0
    }

    /// Returns the number of documents of a session. Includes deleted ones that are still in the index files.
    pub fn documents_in(&self, session: &str) -> Result<u64> {
        self.guarded(|| self.searcher.doc_freq(&Term::from_field_text(self.fields.session, session)))
    }

    /// The path of the index folder.
    pub fn directory(&self) -> &Path {
        &self.path
    }

    /// Returns the size of the index.
    pub fn size(&self) -> Result<Size> {
        let checkpoints = self.with_term(&Term::from_field_text(self.fields.kind, CHECKPOINT_KIND))?.len() as u64;
        let entries = fs_err::read_dir(&self.path).into_iter().flatten().flatten();
        let bytes = entries.filter_map(|entry| entry.metadata().ok()).map(|meta| meta.len()).sum();
        let documents = self.searcher.num_docs().saturating_sub(checkpoints);
        Ok(Size { documents, segments: self.searcher.segment_readers().len(), bytes })
    }

    /// Reports whether a session has a transcript, and is not only in the prompt history.
    pub(in crate::index) fn has_transcript(&self, session: u64) -> bool {
        self.transcripts.get_or_init(|| self.sessions_with_transcripts().unwrap_or_default()).contains(&session)
    }

    fn sessions_with_transcripts(&self) -> Result<HashSet64> {
        self.guarded(|| {
            let mut sessions = HashSet64::default();
            let checkpoints = Term::from_field_text(self.fields.kind, CHECKPOINT_KIND);
            for reader in self.searcher.segment_readers() {
                let keys = reader.fast_fields().u64("session_key")?;
                sessions.extend(holding(reader, &checkpoints)?.into_iter().filter_map(|doc| keys.first(doc)));
            }
            // The prompt history has a checkpoint, but belongs to no session.
            sessions.remove(&schema::session_key(""));
            Ok(sessions)
        })
    }

    /// Returns the entries that contain a term.
    pub(in crate::index) fn with_term(&self, term: &Term) -> Result<Vec<DocAddress>> {
        self.guarded(|| {
            let mut found = Vec::new();
            for (ord, reader) in self.searcher.segment_readers().iter().enumerate() {
                found.extend(holding(reader, term)?.into_iter().map(|doc| DocAddress::new(ord as u32, doc)));
            }
            Ok(found)
        })
    }

    /// Returns the entries that contain both terms.
    fn with_both(&self, first: &Term, second: &Term) -> tantivy::Result<Vec<DocAddress>> {
        let mut found = Vec::new();
        for (ord, reader) in self.searcher.segment_readers().iter().enumerate() {
            let (Some(mut first), Some(mut second)) = (postings(reader, first)?, postings(reader, second)?) else {
                continue;
            };
            let mut doc = first.doc();
            while doc != TERMINATED {
                let candidate = if second.doc() < doc { second.seek(doc) } else { second.doc() };
                if candidate == doc && !reader.is_deleted(doc) {
                    found.push(DocAddress::new(ord as u32, doc));
                }
                doc = if candidate > doc { first.seek(candidate) } else { first.advance() };
            }
        }
        Ok(found)
    }

    pub(in crate::index) fn documents(&self, addresses: &[DocAddress]) -> Result<Vec<Document>> {
        addresses.iter().map(|address| self.document(*address)).collect()
    }
}

/// Returns the entries of a segment that contain a term, in order. Much faster than a query if there are few of them,
/// as for an id, or if they are only counted by file.
pub(in crate::index) fn holding(reader: &SegmentReader, term: &Term) -> tantivy::Result<Vec<DocId>> {
    let mut found = Vec::new();
    let Some(mut docs) = postings(reader, term)? else { return Ok(found) };
    while docs.doc() != TERMINATED {
        if !reader.is_deleted(docs.doc()) {
            found.push(docs.doc());
        }
        docs.advance();
    }
    Ok(found)
}

fn postings(reader: &SegmentReader, term: &Term) -> tantivy::Result<Option<SegmentPostings>> {
    Ok(reader.inverted_index(term.field())?.read_postings(term, IndexRecordOption::Basic)?)
}

pub(in crate::index) fn exact(term: Term) -> Box<dyn TantivyQuery> {
    Box::new(TermQuery::new(term, IndexRecordOption::Basic))
}
