//! Gathers what a query matches into hits: parts and copies of a message are one, echoes of a prompt are none.
//!
//! This happens while matching, before anything is cut off, so counts are exact and a page of ten holds ten.

use std::collections::hash_map::Entry as Slot;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::ColumnValues;
use tantivy::{DocAddress, DocId, Score, SegmentOrdinal, SegmentReader};

use super::schema::from_class;
use crate::document::{Kind, Role};

/// A map by numbers that are fingerprints already.
pub(super) type ByPrint<T> = HashMap<u64, T, BuildHasherDefault<Print>>;
/// A set of numbers that are fingerprints already.
pub(super) type Prints = HashSet<u64, BuildHasherDefault<Print>>;

/// Takes a fingerprint as its own hash.
#[derive(Default)]
pub(super) struct Print(u64);

impl Hasher for Print {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// A document that matches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Match {
    pub(super) address: DocAddress,
    pub(super) score: Score,
    pub(super) group: u64,
    pub(super) session: u64,
    pub(super) twin: u64,
    pub(super) class: u64,
    /// `i64::MAX` when unknown, so that a known time is always the earlier one.
    pub(super) time: i64,
}

/// Collects all matches; what Claude Code itself put in only when asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gather {
    pub(super) meta: bool,
    /// A session to be left out.
    pub(super) without: Option<u64>,
    /// How much a document of each kind counts.
    pub(super) prior: fn(u64) -> Score,
}

pub(super) struct GatherSegment {
    options: Gather,
    segment: SegmentOrdinal,
    group: Arc<dyn ColumnValues<u64>>,
    session: Arc<dyn ColumnValues<u64>>,
    twin: Arc<dyn ColumnValues<u64>>,
    class: Arc<dyn ColumnValues<u64>>,
    time: Arc<dyn ColumnValues<i64>>,
    matches: Vec<Match>,
}

impl Collector for Gather {
    type Fruit = Vec<Match>;
    type Child = GatherSegment;

    fn for_segment(&self, segment: SegmentOrdinal, reader: &SegmentReader) -> tantivy::Result<GatherSegment> {
        let columns = reader.fast_fields();
        let numbers = |name: &str| -> tantivy::Result<Arc<dyn ColumnValues<u64>>> {
            Ok(columns.u64(name)?.first_or_default_col(0))
        };
        Ok(GatherSegment {
            options: *self,
            segment,
            group: numbers("group")?,
            session: numbers("session_key")?,
            twin: numbers("twin")?,
            class: numbers("class")?,
            time: columns.i64("time")?.first_or_default_col(i64::MAX),
            matches: Vec::new(),
        })
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    fn merge_fruits(&self, fruits: Vec<Vec<Match>>) -> tantivy::Result<Vec<Match>> {
        Ok(fruits.concat())
    }
}

impl SegmentCollector for GatherSegment {
    type Fruit = Vec<Match>;

    fn collect(&mut self, doc: DocId, score: Score) {
        let class = self.class.get_val(doc);
        let (role, _, _) = from_class(class);
        if role == Role::Meta && !self.options.meta {
            return;
        }
        let session = self.session.get_val(doc);
        if self.options.without == Some(session) {
            return;
        }
        self.matches.push(Match {
            address: DocAddress::new(self.segment, doc),
            score: score * (self.options.prior)(class),
            group: self.group.get_val(doc),
            session,
            twin: self.twin.get_val(doc),
            class,
            time: self.time.get_val(doc),
        });
    }

    fn harvest(self) -> Vec<Match> {
        self.matches
    }
}

/// Folds matches into hits: one for each group, none for an echo of another.
/// `has_transcript` says whether a session is there in more than the prompt history.
/// Copies of equal age in different sessions come back apart, by group.
pub(super) fn fold(
    matches: Vec<Match>,
    mut has_transcript: impl FnMut(u64) -> bool,
) -> (Vec<Match>, ByPrint<Vec<Match>>) {
    let mut hits: ByPrint<Match> = ByPrint::with_capacity_and_hasher(matches.len(), BuildHasherDefault::default());
    let mut spoken = Prints::default();
    let mut equals: ByPrint<Vec<Match>> = ByPrint::default();
    for found in matches {
        if found.twin != 0 && !is_echo(&found) {
            spoken.insert(found.twin);
        }
        match hits.entry(found.group) {
            Slot::Vacant(slot) => {
                slot.insert(found);
            }
            Slot::Occupied(mut slot) => {
                let best = slot.get().score.max(found.score);
                if found.time == slot.get().time && found.session != slot.get().session {
                    equals.entry(found.group).or_insert_with(|| vec![*slot.get()]).push(found);
                }
                if comes_first(&found, slot.get()) {
                    slot.insert(found);
                }
                slot.get_mut().score = best;
            }
        }
    }
    let (mut echoes, mut hits): (Vec<Match>, Vec<Match>) = hits.into_values().partition(is_echo);
    // The first of several echoes speaks for the others.
    echoes.sort_unstable_by_key(|echo| (echo.time, echo.group));
    echoes.retain(|echo| {
        let (_, kind, _) = from_class(echo.class);
        !(kind == Kind::History && has_transcript(echo.session)) && spoken.insert(echo.twin)
    });
    hits.append(&mut echoes);
    (hits, equals)
}

fn is_echo(found: &Match) -> bool {
    from_class(found.class).2
}

/// Of two copies of a message the earlier one is shown; of two parts, the one that matches better.
fn comes_first(a: &Match, b: &Match) -> bool {
    if a.time != b.time {
        return a.time < b.time;
    }
    if a.session != b.session {
        // Told by their paths, for those that are shown; see `Reader::settle`.
        return a.session < b.session;
    }
    // The conversation itself, rather than the copy a subagent was given of it.
    let is_agent = |found: &Match| from_class(found.class).0 == Role::Subagent;
    if is_agent(a) != is_agent(b) {
        return is_agent(b);
    }
    a.score > b.score
}
