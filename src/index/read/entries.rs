//! Reads single entries: documents and checkpoints from the store, file keys and file summaries from columns.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use tantivy::columnar::{Column, StrColumn};
use tantivy::store::StoreReader;
use tantivy::{DocAddress, SegmentOrdinal, SegmentReader};

use crate::document::Document;
use crate::error::Result;
use crate::index::checkpoint::Checkpoint;
use crate::index::disk::damage_flag::met;
use crate::index::errors::damaged_entry;
use crate::index::file_key::FileKey;
use crate::index::file_summary::FileSummary;
use crate::index::read::Reader;
use crate::index::store::stored_document::Sealed;

/// Decompressed blocks kept per segment. The documents of an answer are often neighbours.
const CACHED_BLOCKS: usize = 16;

/// The parts of a segment that are opened on first use.
#[derive(Default)]
pub(in crate::index) struct Opened {
    columns: OnceLock<Columns>,
    store: OnceLock<StoreReader>,
}

/// The columns read for each document that is fetched.
pub(in crate::index) struct Columns {
    pub(in crate::index) group: Column<u64>,
    /// The files that documents were read from.
    source: Option<StrColumn>,
    summary: Option<StrColumn>,
    line: Column<u64>,
    /// File keys by their ordinal in `source`, as far as they were looked up.
    keys: Mutex<HashMap<u64, FileKey>>,
}

impl Columns {
    fn open(reader: &SegmentReader) -> tantivy::Result<Self> {
        let fields = reader.fast_fields();
        let (group, line) = (fields.u64("group")?, fields.u64("line")?);
        let (source, summary) = (fields.str("source")?, fields.str("summary")?);
        Ok(Self { group, source, summary, line, keys: Mutex::default() })
    }
}

impl Reader {
    pub(in crate::index) fn document(&self, address: DocAddress) -> Result<Document> {
        let sealed = self.sealed(address)?;
        self.flag_damage(sealed.document())
    }

    pub(in crate::index) fn checkpoint_at(&self, address: DocAddress) -> Result<Checkpoint> {
        let sealed = self.sealed(address)?;
        self.flag_damage(sealed.checkpoint())
    }

    /// Returns a stored entry, after verifying its checksum.
    pub(in crate::index) fn sealed(&self, address: DocAddress) -> Result<Sealed> {
        let raw = self.guarded(|| self.store(address.segment_ord)?.get_document_bytes(address.doc_id))?;
        self.flag_damage(Sealed::open(&raw).ok_or_else(|| damaged_entry(&"a stored document has a wrong checksum")))
    }

    fn store(&self, segment: SegmentOrdinal) -> tantivy::Result<&StoreReader> {
        let slot = &self.opened[segment as usize].store;
        if let Some(store) = slot.get() {
            return Ok(store);
        }
        let opened = self.searcher.segment_reader(segment).get_store_reader(CACHED_BLOCKS)?;
        Ok(slot.get_or_init(|| opened))
    }

    pub(in crate::index) fn source_of(&self, address: DocAddress) -> Result<FileKey> {
        self.guarded(|| self.source_key(address))
    }

    pub(in crate::index) fn source_key(&self, address: DocAddress) -> tantivy::Result<FileKey> {
        let columns = self.columns(address.segment_ord)?;
        let no_file = FileKey::from_number(0);
        let Some(column) = &columns.source else { return Ok(no_file) };
        let Some(ord) = column.term_ords(address.doc_id).next() else { return Ok(no_file) };
        let cache = || columns.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = cache().get(&ord) {
            return Ok(*key);
        }
        let mut text = String::new();
        column.ord_to_str(ord, &mut text)?;
        let key = FileKey::parse(&text).unwrap_or(no_file);
        cache().insert(ord, key);
        Ok(key)
    }

    /// Returns the line number of a document, or 0 if the column cannot be read.
    pub(in crate::index) fn line_of(&self, address: DocAddress) -> u64 {
        self.columns(address.segment_ord)
            .ok()
            .and_then(|columns| columns.line.first(address.doc_id))
            .unwrap_or_default()
    }

    pub(in crate::index) fn columns(&self, segment: SegmentOrdinal) -> tantivy::Result<&Columns> {
        let slot = &self.opened[segment as usize].columns;
        if let Some(columns) = slot.get() {
            return Ok(columns);
        }
        let opened = Columns::open(self.searcher.segment_reader(segment))?;
        Ok(slot.get_or_init(|| opened))
    }

    pub(in crate::index) fn summary_at(&self, address: DocAddress) -> Result<FileSummary> {
        let mut json = String::new();
        self.guarded(|| {
            let summaries = &self.columns(address.segment_ord)?.summary;
            if let Some((summaries, ord)) = summaries
                .as_ref()
                .and_then(|summaries| summaries.term_ords(address.doc_id).next().map(|ord| (summaries, ord)))
            {
                summaries.ord_to_str(ord, &mut json)?;
            }
            Ok(())
        })?;
        self.flag_damage(serde_json::from_str(&json).map_err(|error| damaged_entry(&error)))
    }

    /// Adds a hint for the user if the entry is damaged, and sets the damage flag for the next writer.
    fn flag_damage<T>(&self, read: Result<T>) -> Result<T> {
        read.map_err(|error| met(&self.path, error))
    }
}
