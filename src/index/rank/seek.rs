//! Asks of documents, one after the other, whether a query matches them.
//!
//! tantivy's usual way is to go on to the next document that matches, which for words side by side means to compare all
//! their places in documents that nobody asked about.

use tantivy::query::{Scorer, Weight};
use tantivy::{DocId, Score, SeekDangerResult, SegmentReader};

/// A query, asked of the documents of one segment.
pub(in crate::index) struct Probe {
    scorer: Box<dyn Scorer>,
    /// The last document asked of, if it matches, or the first that may match.
    at: DocId,
    matches: bool,
}

impl Probe {
    pub(in crate::index) fn new(weight: &dyn Weight, reader: &SegmentReader) -> tantivy::Result<Self> {
        let (first, scorer) = weight.scorer_danger(reader, 0, 1.0)?;
        let mut probe = Self { scorer, at: 0, matches: false };
        probe.note(0, first);
        Ok(probe)
    }

    /// The score of a document, if it matches.
    pub(in crate::index) fn score(&mut self, doc: DocId) -> Option<Score> {
        self.matches(doc).then(|| self.scorer.score())
    }

    /// Whether a document matches. They come in order.
    pub(in crate::index) fn matches(&mut self, doc: DocId) -> bool {
        if self.at < doc || self.at == doc && !self.matches {
            let found = self.scorer.seek_danger(doc);
            self.note(doc, found);
        }
        self.matches && self.at == doc
    }

    fn note(&mut self, doc: DocId, found: SeekDangerResult) {
        (self.at, self.matches) = match found {
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
        /// A probe says of each document, whichever are asked about, what a search says.
        #[test]
        fn says_what_a_search_says(
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
                        let is_there = expected.contains(&tantivy::DocAddress::new(segment, doc));
                        proptest::prop_assert_eq!(probe.matches(doc), is_there, "{} of {:?}", doc, &query);
                        proptest::prop_assert_eq!(probe.score(doc).is_some(), is_there);
                    }
                }
            }
        }
    }
}
