//! Tests whether a query matches given documents of a segment.
//!
//! tantivy usually advances to the next document that matches. For a phrase, that compares all positions of its words
//! in documents that were not asked for.

use tantivy::query::{Scorer, Weight};
use tantivy::{DocId, Score, SeekDangerResult, SegmentReader};

/// A query that can be tested on the documents of one segment, in ascending order.
pub(in crate::index) struct Probe {
    scorer: Box<dyn Scorer>,
    /// The last tested document if it matched, otherwise the first document that may match.
    at: DocId,
    /// Set if `at` matches.
    is_match: bool,
}

impl Probe {
    pub(in crate::index) fn new(weight: &dyn Weight, reader: &SegmentReader) -> tantivy::Result<Self> {
        let (first, scorer) = weight.scorer_danger(reader, 0, 1.0)?;
        let mut probe = Self { scorer, at: 0, is_match: false };
        probe.record(0, first);
        Ok(probe)
    }

    /// Returns the score of a document, if it matches.
    pub(in crate::index) fn score(&mut self, doc: DocId) -> Option<Score> {
        self.matches(doc).then(|| self.scorer.score())
    }

    /// Reports whether a document matches. Documents must be passed in ascending order.
    pub(in crate::index) fn matches(&mut self, doc: DocId) -> bool {
        if self.at < doc || self.at == doc && !self.is_match {
            let result = self.scorer.seek_danger(doc);
            self.record(doc, result);
        }
        self.is_match && self.at == doc
    }

    fn record(&mut self, doc: DocId, result: SeekDangerResult) {
        (self.at, self.is_match) = match result {
            SeekDangerResult::Found => (doc, true),
            SeekDangerResult::SeekLowerBound(next) => (next, false),
        };
    }
}

#[cfg(test)]
mod tests {
    use tantivy::collector::DocSetCollector;
    use tantivy::query::{BooleanQuery, EnableScoring, PhraseQuery, Query, TermQuery};
    use tantivy::schema::{IndexRecordOption, Schema, TEXT};
    use tantivy::{Index, IndexWriter, TantivyDocument, Term};

    use super::*;

    proptest::proptest! {
        /// A probe agrees with a search about every document, whichever documents are tested.
        #[test]
        fn agrees_with_a_search(
            texts in proptest::collection::vec("([abc] ){0,5}", 1..60),
            step in 1..9_usize,
            start in 0..9_usize,
        ) {
            let mut schema = Schema::builder();
            let body = schema.add_text_field("body", TEXT);
            let index = Index::create_in_ram(schema.build());
            let mut writer: IndexWriter = index.writer_with_num_threads(1, 15_000_000).expect("a writer");
            for text in &texts {
                let mut document = TantivyDocument::new();
                document.add_text(body, text);
                writer.add_document(document).expect("added");
            }
            writer.prepare_commit().and_then(tantivy::indexer::PreparedCommit::commit).expect("committed");
            let searcher = index.reader().expect("opened").searcher();
            let term = |text: &str| Term::from_field_text(body, text);
            let phrase = || Box::new(PhraseQuery::new(vec![term("a"), term("b")]));
            let word = Box::new(TermQuery::new(term("c"), IndexRecordOption::WithFreqs));
            let queries: [Box<dyn Query>; 4] = [
                phrase(),
                Box::new(BooleanQuery::intersection(vec![phrase(), word.clone()])),
                Box::new(BooleanQuery::union(vec![phrase(), word.clone()])),
                word,
            ];
            for query in queries {
                let expected = searcher.search(&query, &DocSetCollector).expect("searched");
                let weight = query.weight(EnableScoring::enabled_from_searcher(&searcher)).expect("a weight");
                for (segment, reader) in (0..).zip(searcher.segment_readers()) {
                    let mut probe = Probe::new(&*weight, reader).expect("a probe");
                    for doc in (0..reader.max_doc()).skip(start).step_by(step) {
                        let is_expected = expected.contains(&tantivy::DocAddress::new(segment, doc));
                        proptest::prop_assert_eq!(probe.matches(doc), is_expected, "{} of {:?}", doc, &query);
                        proptest::prop_assert_eq!(probe.score(doc).is_some(), is_expected);
                    }
                }
            }
        }
    }
}
