//! Collects the documents that match a query, each with its score. tantivy scores each clause; the sum is the score.

use std::sync::Arc;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::{Column, ColumnIndex, ColumnValues};
use tantivy::query::Weight;
use tantivy::{DocAddress, DocId, Score, SegmentOrdinal, SegmentReader};

use crate::index::rank::seek::Probe;

/// A hit, before its document is read.
#[derive(Clone, Copy, Debug)]
pub struct RawHit {
    pub(in crate::index) address: DocAddress,
    /// The score. Comparable only within one search.
    pub score: f32,
    /// Hash that all parts and copies of a message share.
    pub group: u64,
    /// Hash of its session.
    pub session: u64,
    /// Milliseconds since 1970. [`i64::MAX`] if the time is unknown or was not looked up yet.
    pub time: i64,
    /// Role, kind and flags, packed; see `from_class`.
    pub(in crate::index) class: u64,
    /// Set if it contains all words of the query in order.
    pub(in crate::index) in_order: bool,
    /// Set if it contains a very rare word of the query.
    pub(in crate::index) rare: bool,
    /// Set on a title whose session is unknown.
    pub(in crate::index) is_nameless: bool,
}

/// Collects all matches and scores them.
pub(in crate::index) struct HitCollector {
    pub(in crate::index) filter: HitFilter,
    /// Each adds to the score of the documents that match it.
    pub(in crate::index) ranking: Vec<Box<dyn Weight>>,
    /// Matches documents with all words of the query in order, and adds to their score.
    pub(in crate::index) in_order: Option<Box<dyn Weight>>,
    /// Matches documents with a very rare word of the query.
    pub(in crate::index) rare: Option<Box<dyn Weight>>,
}

/// Restricts and weighs the collected documents.
#[derive(Clone, Copy, Debug)]
pub(in crate::index) struct HitFilter {
    /// A session to leave out.
    pub(in crate::index) without: Option<u64>,
    /// The weight of a document, by its class. Documents with weight 0 are left out.
    pub(in crate::index) prior: fn(u64) -> Score,
}

pub(in crate::index) struct SegmentHitCollector {
    filter: HitFilter,
    ranking: Vec<Probe>,
    in_order: Option<Probe>,
    rare: Option<Probe>,
    segment: SegmentOrdinal,
    group: Arc<dyn ColumnValues<u64>>,
    session: Arc<dyn ColumnValues<u64>>,
    class: Arc<dyn ColumnValues<u64>>,
    matches: Vec<RawHit>,
}

impl Collector for HitCollector {
    type Fruit = Vec<RawHit>;
    type Child = SegmentHitCollector;

    fn for_segment(&self, segment: SegmentOrdinal, reader: &SegmentReader) -> tantivy::Result<SegmentHitCollector> {
        let columns = reader.fast_fields();
        let column = |name: &str| -> tantivy::Result<Arc<dyn ColumnValues<u64>>> { Ok(values(columns.u64(name)?)) };
        Ok(SegmentHitCollector {
            filter: self.filter,
            ranking: self.ranking.iter().map(|weight| Probe::new(&**weight, reader)).collect::<tantivy::Result<_>>()?,
            in_order: self.in_order.as_ref().map(|weight| Probe::new(&**weight, reader)).transpose()?,
            rare: self.rare.as_ref().map(|weight| Probe::new(&**weight, reader)).transpose()?,
            segment,
            group: column("group")?,
            session: column("session_key")?,
            class: column("class")?,
            matches: Vec::new(),
        })
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    fn merge_fruits(&self, fruits: Vec<Vec<RawHit>>) -> tantivy::Result<Vec<RawHit>> {
        Ok(fruits
            .into_iter()
            .reduce(|a, b| {
                let (mut longer, shorter) = if a.len() < b.len() { (b, a) } else { (a, b) };
                longer.extend(shorter);
                longer
            })
            .unwrap_or_default())
    }
}

impl SegmentCollector for SegmentHitCollector {
    type Fruit = Vec<RawHit>;

    fn collect(&mut self, doc: DocId, score: Score) {
        let class = self.class.get_val(doc);
        let prior = (self.filter.prior)(class);
        if prior == 0.0 {
            return;
        }
        let session = self.session.get_val(doc);
        if self.filter.without == Some(session) {
            return;
        }
        let in_order = self.in_order.as_mut().and_then(|words| words.score(doc));
        let rare = self.rare.as_mut().is_some_and(|word| word.matches(doc));
        let score = (score + self.ranking_score(doc) + in_order.unwrap_or(0.0)) * prior;
        self.matches.push(RawHit {
            address: DocAddress::new(self.segment, doc),
            score,
            group: self.group.get_val(doc),
            session,
            class,
            time: i64::MAX,
            in_order: in_order.is_some(),
            rare,
            is_nameless: false,
        });
    }

    fn harvest(self) -> Vec<RawHit> {
        self.matches
    }
}

impl SegmentHitCollector {
    /// Returns the sum of the scores of all ranking queries that match the document.
    fn ranking_score(&mut self, doc: DocId) -> Score {
        self.ranking.iter_mut().filter_map(|probe| probe.score(doc)).sum()
    }
}

/// Returns the values of a column. If every document has a value, reading skips the lookup of its position.
fn values(column: Column<u64>) -> Arc<dyn ColumnValues<u64>> {
    match column.index {
        ColumnIndex::Full => column.values,
        _ => column.first_or_default_col(0),
    }
}
