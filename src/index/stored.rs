//! How entries come back from the index: what the store has of them, what the columns have, and texts made whole.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use tantivy::columnar::{Column, StrColumn};
use tantivy::directory::Directory as _;
use tantivy::schema::{Field, Schema};
use tantivy::{DocAddress, DocId, SegmentOrdinal, SegmentReader, Term};

use super::blocks::{BYTES, Blocks, What, number};
use super::card::Card;
use super::checkpoint::{Checkpoint, FileKey};
use super::mark::met;
use super::pack::{self, InColumns};
use super::patch::Patch;
use super::reader::Reader;
use super::schema::{TOKENS, damaged, has_twin};
use crate::document::Document;
use crate::error::Result;

/// The columns of an API message and its tokens.
const SPENT: usize = 1 + TOKENS.len();

/// What is opened of a segment, when it is first needed.
#[derive(Default)]
pub(super) struct Opened {
    columns: OnceLock<Columns>,
    texts: OnceLock<Blocks>,
}

/// What is read of the columns for each document that is fetched.
pub(super) struct Columns {
    pub(super) group: Column<u64>,
    /// The files that documents were read from.
    source: Option<StrColumn>,
    card: Option<StrColumn>,
    class: Column<u64>,
    line: Column<u64>,
    time: Column<i64>,
    spent: OnceLock<[Column<u64>; SPENT]>,
    /// Files by their places in `source`, as far as they were looked up.
    keys: Mutex<HashMap<u64, FileKey>>,
}

impl Columns {
    fn open(reader: &SegmentReader) -> tantivy::Result<Self> {
        let fields = reader.fast_fields();
        let (group, class, line) = (fields.u64("group")?, fields.u64("class")?, fields.u64("line")?);
        let (source, card) = (fields.str("source")?, fields.str("card")?);
        Ok(Self {
            group,
            source,
            card,
            class,
            line,
            time: fields.i64("time")?,
            spent: OnceLock::new(),
            keys: Mutex::default(),
        })
    }

    /// An API message and its tokens.
    fn spent(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<[u64; SPENT]> {
        let columns = match self.spent.get() {
            Some(columns) => columns,
            None => {
                let fields = reader.fast_fields();
                let [input, write, read, output, hour] = TOKENS.map(|name| fields.u64(name));
                let opened = [fields.u64("message")?, input?, write?, read?, output?, hour?];
                self.spent.get_or_init(|| opened)
            }
        };
        Ok(columns.each_ref().map(|column| column.first(doc).unwrap_or_default()))
    }
}

impl Reader {
    pub(super) fn document(&self, address: DocAddress) -> Result<Document> {
        let stored = self.stored(address)?;
        self.told(stored.document(&self.schema, |tokens| self.in_columns(address, tokens), |patch| self.mended(patch)))
    }

    fn in_columns(&self, address: DocAddress, with_tokens: bool) -> Result<InColumns> {
        self.guarded(|| {
            let (columns, doc) = (self.columns(address.segment_ord)?, address.doc_id);
            let reader = self.searcher.segment_reader(address.segment_ord);
            let class = columns.class.first(doc).unwrap_or_default();
            let twin = has_twin(class).then(|| reader.fast_fields().u64("twin")).transpose()?;
            let [message, tokens @ ..] = if with_tokens { columns.spent(reader, doc)? } else { Default::default() };
            Ok(InColumns {
                class,
                line: columns.line.first(doc).unwrap_or_default(),
                timestamp: columns.time.first(doc),
                twin: twin.and_then(|twin| twin.first(doc)).unwrap_or_default(),
                message,
                tokens,
            })
        })
    }

    /// The text of which a patch is kept.
    pub(super) fn mended(&self, patch: &[u8]) -> Result<Vec<u8>> {
        let lost = || met(&self.path, damaged(&"what a text repeats is not there"));
        let patch = Patch::read(patch).ok_or_else(lost)?;
        let uuid = self.schema.get_field("uuid").unwrap_or(self.fields.uuid);
        for base in self.with_term(&Term::from_field_bytes(uuid, patch.base))? {
            if self.in_columns(base, false)?.line != patch.line {
                continue;
            }
            let stored = self.stored_for(What::Patched, base)?;
            if let Some(text) = stored.get(&self.schema, "raw").and_then(|raw| patch.apply(raw)) {
                return Ok(text);
            }
        }
        Err(lost())
    }

    pub(super) fn stored(&self, address: DocAddress) -> Result<Stored> {
        self.stored_for(What::Itself, address)
    }

    fn stored_for(&self, what: What, address: DocAddress) -> Result<Stored> {
        let bytes = self.guarded(|| Ok(self.texts(address.segment_ord)?.document(address.doc_id, what)?))?;
        self.told(Stored::read(bytes).ok_or_else(|| damaged(&"a stored document is not whole")))
    }

    /// The texts of a segment. tantivy has the file open already, so it is there even if a writer has removed it since.
    fn texts(&self, segment: SegmentOrdinal) -> tantivy::Result<&Blocks> {
        let slot = &self.opened[segment as usize].texts;
        if let Some(open) = slot.get() {
            return Ok(open);
        }
        let id = self.searcher.segment_reader(segment).segment_id();
        let file = self.index.directory().open_read(&PathBuf::from(format!("{}.store", id.uuid_string())))?;
        let opened = Blocks::open(&file)?;
        Ok(slot.get_or_init(|| opened))
    }

    pub(super) fn source_of(&self, address: DocAddress) -> Result<FileKey> {
        self.guarded(|| self.source_key(address))
    }

    pub(super) fn source_key(&self, address: DocAddress) -> tantivy::Result<FileKey> {
        let columns = self.columns(address.segment_ord)?;
        let nowhere = FileKey::from_number(0);
        let Some(column) = &columns.source else { return Ok(nowhere) };
        let Some(ord) = column.term_ords(address.doc_id).next() else { return Ok(nowhere) };
        let known = || columns.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = known().get(&ord) {
            return Ok(*key);
        }
        let mut text = String::new();
        column.ord_to_str(ord, &mut text)?;
        let key = FileKey::parse(&text).unwrap_or(nowhere);
        known().insert(ord, key);
        Ok(key)
    }

    /// The line that a document is of; the first, if that cannot be told.
    pub(super) fn line_of(&self, address: DocAddress) -> u64 {
        self.columns(address.segment_ord)
            .ok()
            .and_then(|columns| columns.line.first(address.doc_id))
            .unwrap_or_default()
    }

    pub(super) fn columns(&self, segment: SegmentOrdinal) -> tantivy::Result<&Columns> {
        let slot = &self.opened[segment as usize].columns;
        if let Some(known) = slot.get() {
            return Ok(known);
        }
        let opened = Columns::open(self.searcher.segment_reader(segment))?;
        Ok(slot.get_or_init(|| opened))
    }

    pub(super) fn card_at(&self, address: DocAddress) -> Result<Card> {
        let mut json = String::new();
        self.guarded(|| {
            let cards = &self.columns(address.segment_ord)?.card;
            if let Some((cards, ord)) =
                cards.as_ref().and_then(|cards| cards.term_ords(address.doc_id).next().map(|ord| (cards, ord)))
            {
                cards.ord_to_str(ord, &mut json)?;
            }
            Ok(())
        })?;
        self.told(serde_json::from_str(&json).map_err(|error| damaged(&error)))
    }

    pub(super) fn checkpoint_at(&self, address: DocAddress) -> Result<Checkpoint> {
        let stored = self.stored(address)?;
        self.told(stored.checkpoint(&self.schema))
    }

    /// Lets the user and the next writer know if what was read was damaged.
    fn told<T>(&self, read: Result<T>) -> Result<T> {
        read.map_err(|error| met(&self.path, error))
    }
}

/// What the store has of an entry. It is taken apart here rather than by tantivy, which believes a damaged length and
/// asks for that much memory.
#[derive(Debug)]
pub(super) struct Stored {
    bytes: Vec<u8>,
    values: Vec<(Field, Range<usize>)>,
}

impl Stored {
    /// Takes an entry apart: how many values, then of each the field, the type, the length and the bytes.
    pub(super) fn read(bytes: Vec<u8>) -> Option<Self> {
        let mut rest = bytes.as_slice();
        let mut values = Vec::new();
        for _ in 0..number(&mut rest)? {
            let (field, behind) = rest.split_first_chunk()?;
            rest = behind.strip_prefix(&[BYTES])?;
            let length = usize::try_from(number(&mut rest)?).ok()?;
            let start = bytes.len() - rest.len();
            rest = rest.get(length..)?;
            values.push((Field::from_field_id(u32::from_le_bytes(*field)), start..start + length));
        }
        Some(Self { bytes, values })
    }

    /// Takes a value, by its name, so that it works on an index of an older shape too.
    pub(super) fn get(&self, schema: &Schema, name: &str) -> Option<&[u8]> {
        let field = schema.get_field(name).ok()?;
        self.values.iter().find(|(of, _)| *of == field).map(|(_, range)| &self.bytes[range.clone()])
    }

    fn must_have(&self, schema: &Schema, name: &str) -> Result<&[u8]> {
        self.get(schema, name).ok_or_else(|| damaged(&"a stored document is not whole"))
    }

    /// The document; `columns` are its values in them, and `mend` makes a patch whole.
    pub(super) fn document(
        &self,
        schema: &Schema,
        columns: impl FnOnce(bool) -> Result<InColumns>,
        mend: impl FnOnce(&[u8]) -> Result<Vec<u8>>,
    ) -> Result<Document> {
        let document = pack::unpacked(self.must_have(schema, "meta")?, columns)?;
        let raw = match self.get(schema, "patch") {
            Some(patch) => mend(patch)?,
            None => self.must_have(schema, "raw")?.to_vec(),
        };
        let raw = String::from_utf8(raw).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Ok(document.with_raw(raw))
    }

    /// The checkpoint.
    pub(super) fn checkpoint(&self, schema: &Schema) -> Result<Checkpoint> {
        serde_json::from_slice(self.must_have(schema, "meta")?).map_err(|error| damaged(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_length_is_not_believed() {
        let entry = [&[0x81, 9, 0, 0, 0, BYTES, 0x83][..], b"abc"].concat();
        let stored = Stored::read(entry.clone()).expect("whole");
        let values = stored.values.iter().map(|(field, range)| (field.field_id(), &stored.bytes[range.clone()]));
        assert_eq!(values.collect::<Vec<_>>(), [(9, &b"abc"[..])]);
        let huge = [0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0xff];
        for damaged in [[&huge[..], &entry[1..]].concat(), [&entry[..6], &huge, b"abc"].concat(), vec![0x7f; 20]] {
            assert!(Stored::read(damaged).is_none());
        }
        for cut in 0..entry.len() {
            assert!(Stored::read(entry[..cut].to_vec()).is_none(), "{cut}");
        }
    }
}
