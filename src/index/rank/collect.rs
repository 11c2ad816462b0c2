//! Gathers what a query matches into hits: parts and copies of a message are one, echoes of a prompt are none.
//!
//! This happens while matching, before anything is cut off, so counts are exact and a page of ten holds ten.

use std::cmp::Ordering;
use std::sync::Arc;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::{Column, ColumnIndex, ColumnValues};
use tantivy::query::Weight;
use tantivy::{DocAddress, DocId, Score, SegmentOrdinal, SegmentReader};

use crate::document::{Kind, Role};
use crate::index::file_key::FileKey;
use crate::index::hash_map::{HashMap64, HashSet64};
use crate::index::rank::seek::Probe;
use crate::index::rank::weights::SAME_PROMPT;
use crate::index::read::Reader;
use crate::index::schema::{from_class, has_text_hash};

/// One hit.
#[derive(Clone, Copy, Debug)]
pub struct RawHit {
    pub(in crate::index) address: DocAddress,
    /// How well it matches; only comparable within one answer.
    pub score: f32,
    /// What it shares with other copies of the same message.
    pub group: u64,
    /// The number of its session.
    pub session: u64,
    /// When; [`i64::MAX`] if that is not known, or was not looked up yet.
    pub time: i64,
    pub(in crate::index) class: u64,
    /// Whether it holds all words of the query in their order.
    pub(in crate::index) in_order: bool,
    /// Whether it holds a word that hardly any other does.
    pub(in crate::index) rare: bool,
    /// Set on a title whose session is unknown.
    pub(in crate::index) is_nameless: bool,
}

/// Collects all matches and scores them.
pub(in crate::index) struct HitCollector {
    pub(in crate::index) wanted: Wanted,
    /// What adds to the score of a match.
    pub(in crate::index) ranking: Vec<Box<dyn Weight>>,
    /// What holds all words of the query in their order, and adds to the score.
    pub(in crate::index) in_order: Option<Box<dyn Weight>>,
    /// What holds a word that hardly any other does.
    pub(in crate::index) rare: Option<Box<dyn Weight>>,
}

/// Which matches are collected, and what they count.
#[derive(Clone, Copy, Debug)]
pub(in crate::index) struct Wanted {
    /// A session to be left out.
    pub(in crate::index) without: Option<u64>,
    /// How much a document of each kind counts.
    pub(in crate::index) prior: fn(u64) -> Score,
}

pub(in crate::index) struct SegmentHitCollector {
    wanted: Wanted,
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
        let numbers = |name: &str| -> tantivy::Result<Arc<dyn ColumnValues<u64>>> { Ok(values(columns.u64(name)?)) };
        Ok(SegmentHitCollector {
            wanted: self.wanted,
            ranking: self.ranking.iter().map(|one| Probe::new(&**one, reader)).collect::<tantivy::Result<_>>()?,
            in_order: self.in_order.as_ref().map(|one| Probe::new(&**one, reader)).transpose()?,
            rare: self.rare.as_ref().map(|one| Probe::new(&**one, reader)).transpose()?,
            segment,
            group: numbers("group")?,
            session: numbers("session_key")?,
            class: numbers("class")?,
            matches: Vec::new(),
        })
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    fn merge_fruits(&self, fruits: Vec<Vec<RawHit>>) -> tantivy::Result<Vec<RawHit>> {
        Ok(fruits
            .into_iter()
            .reduce(|one, other| {
                let (mut all, more) = if one.len() < other.len() { (other, one) } else { (one, other) };
                all.extend(more);
                all
            })
            .unwrap_or_default())
    }
}

impl SegmentCollector for SegmentHitCollector {
    type Fruit = Vec<RawHit>;

    fn collect(&mut self, doc: DocId, score: Score) {
        let class = self.class.get_val(doc);
        let session = self.session.get_val(doc);
        if self.wanted.without == Some(session) {
            return;
        }
        let in_order = self.in_order.as_mut().and_then(|words| words.score(doc));
        let rare = self.rare.as_mut().is_some_and(|word| word.matches(doc));
        let score = (score + self.added(doc) + in_order.unwrap_or(0.0)) * (self.wanted.prior)(class);
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
    /// What else is in the document, by its score.
    fn added(&mut self, doc: DocId) -> Score {
        self.ranking.iter_mut().filter_map(|one| one.score(doc)).sum()
    }
}

/// The values of a column; one that every document has is read without looking up where its value is.
fn values(column: Column<u64>) -> Arc<dyn ColumnValues<u64>> {
    match column.index {
        ColumnIndex::Full => column.values,
        _ => column.first_or_default_col(0),
    }
}

/// What is looked up only of some matches: most of them never come near the first page.
pub(in crate::index) struct Details<'r> {
    reader: &'r Reader,
    text_hash: Vec<Arc<dyn ColumnValues<u64>>>,
    time: Vec<Arc<dyn ColumnValues<i64>>>,
}

impl<'r> Details<'r> {
    pub(in crate::index) fn of(reader: &'r Reader) -> tantivy::Result<Self> {
        let mut details = Self { reader, text_hash: Vec::new(), time: Vec::new() };
        for reader in reader.searcher.segment_readers() {
            details.text_hash.push(reader.fast_fields().u64("twin")?.first_or_default_col(0));
            details.time.push(reader.fast_fields().i64("time")?.first_or_default_col(i64::MAX));
        }
        Ok(details)
    }

    /// `i64::MAX` when unknown, so that a known time is always the earlier one.
    pub(in crate::index) fn time(&self, address: DocAddress) -> i64 {
        self.time.get(address.segment_ord as usize).map_or(i64::MAX, |column| column.get_val(address.doc_id))
    }

    /// The file it was read from.
    fn source(&self, found: &RawHit) -> Option<FileKey> {
        self.reader.source_key(found.address).ok()
    }

    /// Orders matches of one time: the conversation itself before a subagent's, then by file and line.
    fn by_place(&self, a: &RawHit, b: &RawHit) -> Ordering {
        let is_agent = |found: &RawHit| from_class(found.class).0 == Role::Subagent;
        let path =
            |key: Option<FileKey>| key.and_then(|key| self.reader.summary(key).ok()?).map(|summary| summary.path());
        let (source_a, source_b) = (self.source(a), self.source(b));
        let by_path = || if source_a == source_b { Ordering::Equal } else { path(source_a).cmp(&path(source_b)) };
        let line = |found: &RawHit| (self.reader.line_of(found.address), found.address);
        is_agent(a).cmp(&is_agent(b)).then_with(by_path).then_with(|| line(a).cmp(&line(b)))
    }

    fn text_hash(&self, found: &RawHit) -> u64 {
        let column = self.text_hash.get(found.address.segment_ord as usize).filter(|_| has_text_hash(found.class));
        column.map_or(0, |column| column.get_val(found.address.doc_id))
    }
}

/// Folds matches into hits: one for each group, none for an echo of another.
/// What only the prompt history has is a hit where it is not [`ShownElsewhere`]; with `all_history` in any case, as long as nobody knows
/// which of the others are hits.
/// Copies come back apart, by group.
pub(in crate::index) fn dedup(
    mut matches: Vec<RawHit>,
    details: &Details<'_>,
    all_history: bool,
) -> (Vec<RawHit>, HashMap64<Vec<RawHit>>) {
    let mut equals: HashMap64<Vec<RawHit>> = HashMap64::default();
    // How well the copy that is shown matches by itself; the hit has the best of all.
    let mut own: HashMap64<Score> = HashMap64::default();
    let mut seen = Seen::with_room_for(matches.len());
    let mut spoken = HashSet64::default();
    let mut echoes: Vec<(i64, RawHit)> = Vec::new();
    let mut count = 0;
    for at in 0..matches.len() {
        let found = matches[at];
        let text_hash = details.text_hash(&found);
        if text_hash != 0 && !is_echo(&found) {
            spoken.insert(text_hash);
        }
        match seen.place(found.group, |place| matches[place].group, count) {
            None => {
                // Hits move up to the front; what is behind them has been looked at.
                matches[count] = found;
                count += 1;
            }
            Some(place) => {
                let hit = matches[place];
                let known = RawHit { score: own.get(&found.group).copied().unwrap_or(hit.score), ..hit };
                let is_other = || found.session != known.session || details.source(&found) != details.source(&known);
                match equals.get_mut(&found.group) {
                    Some(copies) => copies.push(found),
                    None if is_other() => drop(equals.insert(found.group, vec![known, found])),
                    None => {}
                }
                let first = if comes_first(&found, &known, details) { found } else { known };
                own.insert(found.group, first.score);
                matches[place] = RawHit {
                    score: found.score.max(hit.score),
                    in_order: found.in_order || hit.in_order,
                    rare: found.rare || hit.rare,
                    ..first
                };
            }
        }
    }
    matches.truncate(count);
    matches.retain(|found| {
        if is_echo(found) {
            echoes.push((details.time(found.address), *found));
        }
        !is_echo(found)
    });
    // The first of several echoes speaks for the others.
    echoes.sort_unstable_by(|(time_a, a), (time_b, b)| time_a.cmp(time_b).then_with(|| details.by_place(a, b)));
    let told = ShownElsewhere::by(if echoes.iter().any(|(_, is_duplicate)| is_history(is_duplicate)) {
        &matches
    } else {
        &[]
    });
    for (_, is_duplicate) in echoes {
        let is_hit = match (is_history(&is_duplicate), all_history) {
            (true, true) => !spoken.contains(&details.text_hash(&is_duplicate)),
            (true, false) => !told.tells(&is_duplicate) && spoken.insert(details.text_hash(&is_duplicate)),
            (false, _) => spoken.insert(details.text_hash(&is_duplicate)),
        };
        if is_hit {
            matches.push(is_duplicate);
        }
    }
    (matches, equals)
}

/// Which prompts of the history their sessions tell better, with what was pasted: something else of the session comes near
/// them.
pub(in crate::index) struct ShownElsewhere(HashMap64<Score>);

impl ShownElsewhere {
    pub(in crate::index) fn by(hits: &[RawHit]) -> Self {
        let mut best: HashMap64<Score> = HashMap64::default();
        for found in hits.iter().filter(|found| !is_history(found)) {
            let best = best.entry(found.session).or_default();
            *best = best.max(found.score);
        }
        Self(best)
    }

    pub(in crate::index) fn tells(&self, found: &RawHit) -> bool {
        is_history(found) && self.0.get(&found.session).is_some_and(|best| *best >= found.score * SAME_PROMPT)
    }
}

fn is_history(found: &RawHit) -> bool {
    from_class(found.class).1 == Kind::History
}

/// Where groups were seen first: a table of places, a tenth of the size of a map that holds the matches themselves.
struct Seen {
    places: Vec<u32>,
    mask: usize,
}

impl Seen {
    fn with_room_for(count: usize) -> Self {
        let size = (count * 2).next_power_of_two().max(16);
        Self { places: vec![u32::MAX; size], mask: size - 1 }
    }

    /// The place where a group was seen before, or none, and then it is `next`.
    fn place(&mut self, group: u64, group_at: impl Fn(usize) -> u64, next: usize) -> Option<usize> {
        // A group is a fingerprint, so its low bits are as good as any hash.
        let mut slot = group as usize & self.mask;
        loop {
            match self.places[slot] {
                u32::MAX => {
                    self.places[slot] = next as u32;
                    return None;
                }
                place if group_at(place as usize) == group => return Some(place as usize),
                _ => slot = (slot + 1) & self.mask,
            }
        }
    }
}

fn is_echo(found: &RawHit) -> bool {
    from_class(found.class).2
}

/// Of two copies of a message the earlier one is shown; of two parts, the one that matches better.
fn comes_first(a: &RawHit, b: &RawHit, details: &Details<'_>) -> bool {
    // An echo is none of a copy of itself: it would be dropped with it.
    if is_echo(a) != is_echo(b) {
        return is_echo(b);
    }
    let is_meta = |found: &RawHit| from_class(found.class).0 == Role::Meta;
    if is_meta(a) != is_meta(b) {
        return is_meta(b);
    }
    let (time_a, time_b) = (details.time(a.address), details.time(b.address));
    if time_a != time_b {
        return time_a < time_b;
    }
    if a.session != b.session {
        // Told by their paths, for those that are shown; see `Reader::pick_copy`.
        return a.session < b.session;
    }
    // The conversation itself, rather than the copy a subagent was given of it.
    let is_agent = |found: &RawHit| from_class(found.class).0 == Role::Subagent;
    if is_agent(a) != is_agent(b) {
        return is_agent(b);
    }
    let (source_a, source_b) = (details.source(a), details.source(b));
    if source_a != source_b {
        return source_a < source_b;
    }
    // A line that was written again, or parts that match as well: the order in the index may change with every merge.
    let place = |found: &RawHit| (details.reader.line_of(found.address), found.address);
    if a.score == b.score { place(a) < place(b) } else { a.score > b.score }
}
