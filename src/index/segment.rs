//! A segment while it is gathered, in place of tantivy's own way, which takes half as long again: the terms are put in order
//! by [`Inverted`], texts are packed by [`BlockWriter`], columns are written by tantivy. Terms and columns come out byte for
//! byte the same, and texts as tantivy reads them; a test holds us to it.
//!
//! Documents here have no moment at which they were added, so tantivy cannot tell whether a deletion came before them or
//! after. That is why only a run that begins with an empty index does it this way, and why even there a checkpoint
//! that replaces another does not.

use std::path::Path;

use tantivy::directory::TerminatingWrite as _;
use tantivy::fastfield::FastFieldsWriter;
use tantivy::index::SegmentComponent;
use tantivy::{Index, Segment, SegmentMeta};

use super::block_writer::{BlockWriter, put_number};
use super::blocks::BYTES;
use super::entry::Entry;
use super::inverted::Inverted;
use super::memory;
use super::merge::MERGED_CAP;
use super::schema::Fields;

/// A segment while it is gathered; see the module's text.
pub(super) struct SegmentBuilder {
    segment: Segment,
    fields: Fields,
    inverted: Inverted,
    columns: FastFieldsWriter,
    store: BlockWriter,
    /// What is stored of the document at hand.
    stored: Vec<u8>,
    /// How much memory it may take.
    heap: usize,
}

impl std::fmt::Debug for SegmentBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SegmentBuilder")
    }
}

impl SegmentBuilder {
    /// Begins a segment of an index that is in a folder.
    pub(super) fn begin(index: &Index, folder: &Path, fields: Fields, heap: usize) -> tantivy::Result<Self> {
        let (segment, schema, settings) = (index.new_segment(), index.schema(), index.settings());
        let store = BlockWriter::begin(segment.open_write(SegmentComponent::Store)?, settings.docstore_blocksize)?;
        let tokenizers = index.fast_field_tokenizer().clone();
        let columns = FastFieldsWriter::from_schema_and_tokenizer_manager(&schema, tokenizers)?;
        let inverted = Inverted::new(&schema, folder, heap);
        Ok(Self { segment, fields, inverted, columns, store, stored: Vec::new(), heap })
    }

    /// Adds a document.
    pub(super) fn add(&mut self, entry: &Entry) -> tantivy::Result<()> {
        self.inverted.add(entry, self.fields.body, self.fields.path)?;
        self.columns.add_document(entry)?;
        self.stored.clear();
        put_stored(&mut self.stored, entry, &self.fields);
        Ok(self.store.store(&self.stored)?)
    }

    /// Whether it should be ended before anything else is added.
    pub(super) fn is_full(&self) -> bool {
        self.inverted.documents() >= MERGED_CAP
            || !self.inverted.has_room()
            || self.inverted.memory() + self.columns.mem_usage() > self.heap
    }

    /// Writes what is left to be written.
    pub(super) fn end(mut self) -> tantivy::Result<SegmentMeta> {
        let documents = self.inverted.documents();
        self.store.end()?;
        self.inverted.settle();
        let mut out = self.segment.open_write(SegmentComponent::FastFields)?;
        self.columns.serialize(&mut out, None)?;
        out.terminate()?;
        drop(self.columns);
        // What is free now is needed next, but in other sizes.
        memory::give_back();
        self.inverted.write(&self.segment)?;
        Ok(self.segment.with_max_doc(documents).meta().clone())
    }
}

/// Writes what is stored of a document as tantivy does, which takes a call for each byte: how many values there are, then
/// of each the field, the type and the bytes.
fn put_stored(out: &mut Vec<u8>, entry: &Entry, fields: &Fields) {
    let values = || entry.stored(fields.stored());
    put_number(out, values().count());
    for (field, value) in values() {
        out.extend(field.field_id().to_le_bytes());
        out.push(BYTES);
        put_number(out, value.len());
        out.extend_from_slice(value);
    }
}

#[cfg(test)]
mod tests {
    use tantivy::indexer::{AddOperation, SegmentWriter};
    use tantivy::store::StoreReader;

    use super::super::schema;
    use super::super::tokenizer::{WORDS, WordTokenizer};
    use super::*;
    use crate::document::{Document, Kind};
    use crate::index::FileKey;

    const SAME: [SegmentComponent; 5] = [
        SegmentComponent::FieldNorms,
        SegmentComponent::Terms,
        SegmentComponent::Postings,
        SegmentComponent::Positions,
        SegmentComponent::FastFields,
    ];

    /// Words of all sorts, some of them in nearly every document.
    const WORDS_SEEN: [&str; 24] = [
        "the",
        "the",
        "a",
        "of",
        "parseRetryAfter",
        "retry_after",
        "--dry-run",
        "src/auth/token.rs",
        "foo::bar",
        "E0603",
        "v2.1.38",
        "3f2a9c1",
        "日本語のテスト",
        "修复bug了",
        "naïve",
        "Ｆｕｌｌ",
        // Words of which nothing is left leave their place empty.
        "\u{301}\u{301}",
        "\u{301} \u{302}",
        "🚀🎉",
        "__init__",
        "HTTPResponse2",
        "\u{ac00}\u{ac01}",
        "....",
        "aB3dE9fG2hI5jK8lM1",
    ];

    fn documents() -> Vec<Document> {
        let mut state = 7_u64;
        let mut random = move |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let (mut earlier, mut oldest) = (String::new(), String::new());
        let document = |number: usize| {
            let words = random(90);
            let mut word = || match random(30) {
                rare if rare >= WORDS_SEEN.len() => format!("rare{}", random(5_000)),
                common => WORDS_SEEN[common].to_string(),
            };
            let mut text = (0..words).map(|_| word()).collect::<Vec<_>>().join(" ");
            if number == 11 {
                // More places than are put in order at a time.
                text += &" the the end_of".repeat(30_000);
            }
            match number % 9 {
                // Texts that come again at once, soon, and when they are long forgotten.
                3 => earlier = text.clone(),
                4 | 8 => text.clone_from(&earlier),
                5 if number < 9 => oldest = text.clone(),
                5 => text.clone_from(&oldest),
                _ => {}
            }
            let files =
                (0..random(4)).map(|one| format!("/home/u/snake_case/{}/camelCase{one}.rs", number % 7)).collect();
            Document {
                text,
                files,
                uuid: (!number.is_multiple_of(5)).then(|| format!("{number:08x}-0000-4000-8000-{number:012x}")),
                session: format!("session-{}", number / 50),
                project: Some("/home/u".to_string()),
                tool: number.is_multiple_of(3).then(|| "Edit".to_string()),
                kind: if number.is_multiple_of(3) { Kind::ToolUse } else { Kind::Text },
                line: number as u64,
                timestamp: (!number.is_multiple_of(4)).then_some(number as i64 * 1000),
                ..Document::default()
            }
        };
        (0..1_500).map(document).collect()
    }

    #[test]
    fn segments_are_those_that_tantivy_makes() {
        let (schema, fields) = schema::schema();
        let index = Index::create_in_ram(schema);
        index.tokenizers().register(WORDS, WordTokenizer);
        let folder = tempfile::tempdir().expect("folder");
        let mut ours = SegmentBuilder::begin(&index, folder.path(), fields, 1 << 30).expect("begun");
        let theirs = index.new_segment();
        let mut writer = SegmentWriter::for_segment(256 << 20, theirs.clone()).expect("begun");
        for document in documents() {
            let entry = || fields.entry(FileKey::from_number(7), document.clone(), None, None);
            ours.add(&entry()).expect("added");
            writer.add_document(AddOperation { opstamp: 0, document: entry() }).expect("added");
        }
        writer.finalize().expect("written");
        let ours = index.segment(ours.end().expect("written"));
        for component in SAME {
            let read =
                |segment: &Segment| segment.open_read(component.clone()).expect("there").read_bytes().expect("read");
            assert!(read(&ours).as_slice() == read(&theirs).as_slice(), "{component:?}");
        }
        let texts = |segment: &Segment| {
            StoreReader::open(segment.open_read(SegmentComponent::Store).expect("there"), 1).expect("opened")
        };
        let (ours, theirs) = (texts(&ours), texts(&theirs));
        for doc in 0..1_500 {
            let read = |texts: &StoreReader| texts.get_document_bytes(doc).expect("read");
            assert!(read(&ours).as_slice() == read(&theirs).as_slice(), "{doc}");
        }
    }

    #[test]
    fn a_segment_is_full_when_it_takes_too_much_memory() {
        let (schema, fields) = schema::schema();
        let index = Index::create_in_ram(schema);
        let folder = tempfile::tempdir().expect("folder");
        let mut builder = SegmentBuilder::begin(&index, folder.path(), fields, 8 << 20).expect("begun");
        let mut is_room_for = |document: &Document| {
            builder.add(&fields.entry(FileKey::from_number(7), document.clone(), None, None)).expect("added");
            !builder.is_full()
        };
        let added = documents().iter().cycle().take(100_000).take_while(|document| is_room_for(document)).count();
        assert!((100..90_000).contains(&added), "{added}");
    }
}
