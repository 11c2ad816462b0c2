//! Checks an index: leftovers, the damage flag, checksums, and that the files of each segment belong together.
//!
//! A checksum covers the contents of one file. So it does not notice a missing file of positions, or two files of the
//! same kind that were exchanged between segments. Here a sample of the documents is read from the store, and compared
//! with the columns, the terms, the positions and the lengths of texts.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::Postings as _;
use tantivy::schema::IndexRecordOption;
use tantivy::tokenizer::{TextAnalyzer, Token};
use tantivy::{DocAddress, DocId, DocSet as _, SegmentOrdinal, SegmentReader, Term};

use crate::document::Document;
use crate::error::Result;
use crate::index::disk::{cleanup, damage_flag};
use crate::index::errors::damaged;
use crate::index::file_key::FileKey;
use crate::index::open::{Header, check_sums};
use crate::index::read::{Reader, holding};
use crate::index::schema;
use crate::index::store::stored_document::Sealed;
use crate::index::tokenizer::WORDS;

/// Number of documents read from each segment.
const SAMPLES: u32 = 64;
/// The files of a segment, apart from its deletions.
const EXTENSIONS: [&str; 6] = ["store", "fast", "term", "idx", "pos", "fieldnorm"];
/// Longest text that is split into words, in bytes.
const MAX_TEXT: usize = 64 << 10;

impl Reader {
    /// Reports whether a writer would remove anything from the folder. Costs one directory listing.
    pub fn has_leftovers(&self) -> bool {
        let segments = self.searcher.segment_readers().iter();
        let named = segments.map(|segment| (segment.segment_id().uuid_string(), segment.delete_opstamp())).collect();
        cleanup::has_leftovers(&self.path, &named)
    }

    /// Returns the files in the folder that neither unspool nor tantivy created.
    pub fn strangers(&self) -> Vec<PathBuf> {
        cleanup::strangers(&self.path)
    }

    /// Reports whether the index must be checked before anything is added: the last run that wrote it did not finish,
    /// or the damage flag is set.
    pub fn is_suspect(&self) -> bool {
        damage_flag::is_there(&self.path) || self.last_run_failed()
    }

    /// Reports whether the run that made the last commit did not finish.
    fn last_run_failed(&self) -> bool {
        let payload = self.index.load_metas().ok().and_then(|metas| metas.payload);
        payload.and_then(|payload| serde_json::from_str::<Header>(&payload).ok()).is_some_and(|header| !header.clean)
    }

    /// Compares every file of the index with its checksum, checks that the files of each segment belong together, and
    /// reads every stored entry. A merge copies a damaged block as it is, and gives the copy a matching checksum.
    pub fn check_sums(&self) -> Result<()> {
        let check = || {
            check_sums(&self.path, &self.index)?;
            self.check_segments()?;
            self.read_all()
        };
        let checked = match catch_unwind(AssertUnwindSafe(check)) {
            Ok(checked) => checked,
            Err(_) => Err(damaged(&self.path, "one of its files cannot be read")),
        };
        checked.map_err(|error| damage_flag::met(&self.path, error))
    }

    /// Reads every stored entry.
    fn read_all(&self) -> Result<()> {
        for (ord, reader) in self.searcher.segment_readers().iter().enumerate() {
            for doc in reader.doc_ids_alive() {
                self.sealed(DocAddress::new(ord as u32, doc))?;
            }
        }
        Ok(())
    }

    /// Checks that every file of the last commit exists, and that the files of each segment belong together.
    pub(in crate::index) fn check_segments(&self) -> Result<()> {
        if self.schema != schema::schema().0 {
            return Ok(());
        }
        for ord in 0..self.searcher.segment_readers().len() as SegmentOrdinal {
            self.check_segment(ord)?;
        }
        Ok(())
    }

    /// Returns a file of a segment that does not exist. tantivy accepts it if positions are missing.
    fn missing_file(&self, segment: &str) -> Option<String> {
        let mut names = EXTENSIONS.iter().map(|extension| format!("{segment}.{extension}"));
        names.find(|name| self.path.join(name).symlink_metadata().is_err())
    }

    fn mismatch(&self, what: &str) -> crate::error::Error {
        damaged(&self.path, what)
    }

    fn check_segment(&self, ord: SegmentOrdinal) -> Result<()> {
        let reader = self.searcher.segment_reader(ord);
        let count = reader.max_doc();
        if count == 0 {
            return Ok(());
        }
        let name = reader.segment_id().uuid_string();
        if let Some(missing) = self.missing_file(&name) {
            return Err(self.mismatch(&format!("{missing} is missing")));
        }
        let wrong = |file: &str| self.mismatch(&format!("{name}.{file} does not belong to its segment"));
        let has_length = self.guarded(|| {
            let norms = reader.get_fieldnorms_reader(self.fields.body)?;
            let class = reader.fast_fields().u64("class")?;
            let alive = reader.alive_bitset().is_none_or(|alive| alive.bitset().max_value() == count);
            let ends = reader.get_store_reader(0)?.get_document_bytes(count).is_err();
            let lengths = [norms.num_docs() == count, class.num_docs() == count, alive, ends];
            Ok(["fieldnorm", "fast", "del", "store"].into_iter().zip(lengths))
        })?;
        if let Some((file, _)) = has_length.into_iter().find(|(_, is_right)| !is_right) {
            return Err(wrong(file));
        }
        let mut analyzer = self.index.tokenizers().get(WORDS);
        let step = (count / SAMPLES).max(1);
        for doc in (0..count).step_by(step as usize).chain([count - 1]) {
            let sealed = self.sealed(DocAddress::new(ord, doc))?;
            let found = self.guarded(|| self.disagreement(reader, ord, doc, &sealed, analyzer.as_mut()))?;
            if let Some(file) = found {
                return Err(wrong(file));
            }
        }
        Ok(())
    }

    /// Returns the kind of file that contradicts a stored entry, if there is one.
    fn disagreement(
        &self,
        reader: &SegmentReader,
        ord: SegmentOrdinal,
        doc: DocId,
        sealed: &Sealed,
        analyzer: Option<&mut TextAnalyzer>,
    ) -> tantivy::Result<Option<&'static str>> {
        let Some((key, is_checkpoint)) = sealed.head() else { return Ok(Some("store")) };
        let field = if is_checkpoint { self.fields.checkpoint } else { self.fields.source };
        let column_key = match is_checkpoint {
            true => reader.fast_fields().u64("group")?.first(doc).map(FileKey::from_number),
            false => Some(self.source_key(DocAddress::new(ord, doc))?),
        };
        if column_key != Some(key) {
            return Ok(Some("fast"));
        }
        if !reader.is_deleted(doc) && !holding(reader, &Term::from_field_text(field, &key.text()))?.contains(&doc) {
            return Ok(Some("idx"));
        }
        let (Some(analyzer), Ok(document)) = (analyzer, sealed.document()) else { return Ok(None) };
        // The text of a tool call is derived from its arguments, perhaps by another version.
        if document.has_input || document.text.len() > MAX_TEXT {
            return Ok(None);
        }
        if reader.fast_fields().u64("line")?.first(doc) != Some(document.line) {
            return Ok(Some("fast"));
        }
        self.text_disagreement(reader, doc, &document, analyzer)
    }

    /// Compares the length and the first word of a text with the files that contain them.
    fn text_disagreement(
        &self,
        reader: &SegmentReader,
        doc: DocId,
        document: &Document,
        analyzer: &mut TextAnalyzer,
    ) -> tantivy::Result<Option<&'static str>> {
        let (mut count, mut first) = (0_u32, None);
        analyzer.token_stream(&document.text).process(&mut |token: &Token| {
            count += 1;
            first.get_or_insert_with(|| token.clone());
        });
        let norms = reader.get_fieldnorms_reader(self.fields.body)?;
        if norms.fieldnorm_id(doc) != FieldNormReader::fieldnorm_to_id(count) {
            return Ok(Some("fieldnorm"));
        }
        let Some(first) = first else { return Ok(None) };
        let term = Term::from_field_text(self.fields.body, &first.text);
        let index = reader.inverted_index(self.fields.body)?;
        let Some(mut postings) = index.read_postings(&term, IndexRecordOption::WithFreqsAndPositions)? else {
            return Ok(Some("term"));
        };
        if postings.doc() > doc || postings.doc() != doc && postings.seek(doc) != doc {
            return Ok(Some("idx"));
        }
        let mut positions = Vec::new();
        postings.positions(&mut positions);
        Ok((!positions.contains(&(first.position as u32))).then_some("pos"))
    }
}
