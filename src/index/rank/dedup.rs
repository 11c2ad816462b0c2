//! Reduces matches to hits: parts and copies of a message become one hit, duplicates of a prompt become none.
//!
//! This happens before anything is truncated, so counts are exact and a page of ten hits contains ten.

use std::cmp::Ordering;
use std::sync::Arc;

use tantivy::columnar::ColumnValues;
use tantivy::{DocAddress, Score};

use crate::document::{Kind, Role};
use crate::index::file_key::FileKey;
use crate::index::hash_map::{HashMap64, HashSet64};
use crate::index::rank::collect::RawHit;
use crate::index::rank::weights::SAME_PROMPT;
use crate::index::read::Reader;
use crate::index::schema::{from_class, has_text_hash};

/// Columns that are looked up only for some matches, because most matches never come near the first page.
pub(in crate::index) struct Details<'r> {
    reader: &'r Reader,
    text_hash: Vec<Arc<dyn ColumnValues<u64>>>,
    time: Vec<Arc<dyn ColumnValues<i64>>>,
}

impl<'r> Details<'r> {
    pub(in crate::index) fn of(reader: &'r Reader) -> tantivy::Result<Self> {
        let mut details = Self { reader, text_hash: Vec::new(), time: Vec::new() };
        for reader in reader.searcher.segment_readers() {
            details.text_hash.push(reader.fast_fields().u64("text_hash")?.first_or_default_col(0));
            details.time.push(reader.fast_fields().i64("time")?.first_or_default_col(i64::MAX));
        }
        Ok(details)
    }

    /// Returns the time of a document. An unknown time is `i64::MAX`, so that a known time is always earlier.
    pub(in crate::index) fn time(&self, address: DocAddress) -> i64 {
        self.time.get(address.segment_ord as usize).map_or(i64::MAX, |column| column.get_val(address.doc_id))
    }

    /// Returns the file that a hit was read from.
    fn source(&self, hit: &RawHit) -> Option<FileKey> {
        self.reader.source_key(hit.address).ok()
    }

    /// Compares hits with the same time. The conversation itself comes before a subagent's, then path and line decide.
    fn compare_locations(&self, a: &RawHit, b: &RawHit) -> Ordering {
        let is_agent = |hit: &RawHit| from_class(hit.class).0 == Role::Subagent;
        let path =
            |key: Option<FileKey>| key.and_then(|key| self.reader.summary(key).ok()?).map(|summary| summary.path());
        let (source_a, source_b) = (self.source(a), self.source(b));
        let compare_paths = || if source_a == source_b { Ordering::Equal } else { path(source_a).cmp(&path(source_b)) };
        let line = |hit: &RawHit| (self.reader.line_of(hit.address), hit.address);
        is_agent(a).cmp(&is_agent(b)).then_with(compare_paths).then_with(|| line(a).cmp(&line(b)))
    }

    /// Returns the text hash of a hit, or 0 if it has none.
    fn text_hash(&self, hit: &RawHit) -> u64 {
        let column = self.text_hash.get(hit.address.segment_ord as usize).filter(|_| has_text_hash(hit.class));
        column.map_or(0, |column| column.get_val(hit.address.doc_id))
    }
}

/// Reduces matches to hits: one for each group, none for a duplicate of another hit. Also returns the copies of each
/// group, if it has any.
///
/// A prompt that only the history contains is a hit, unless it is [`ShownElsewhere`]. With `all_history` that does not
/// matter, because the texts decide later which of the other matches are hits.
pub(in crate::index) fn dedup(
    mut matches: Vec<RawHit>,
    details: &Details<'_>,
    all_history: bool,
) -> (Vec<RawHit>, HashMap64<Vec<RawHit>>) {
    let mut copies_by_group: HashMap64<Vec<RawHit>> = HashMap64::default();
    // The score of the copy that is shown. The hit has the best score of all copies.
    let mut own_scores: HashMap64<Score> = HashMap64::default();
    let mut seen = GroupTable::with_room_for(matches.len());
    let mut shown = HashSet64::default();
    let mut duplicates: Vec<(i64, RawHit)> = Vec::new();
    let mut count = 0;
    for at in 0..matches.len() {
        let current = matches[at];
        let text_hash = details.text_hash(&current);
        if text_hash != 0 && !is_duplicate(&current) {
            shown.insert(text_hash);
        }
        match seen.find_or_insert(current.group, |index| matches[index].group, count) {
            None => {
                // Hits move to the front. The loop no longer needs the matches they overwrite.
                matches[count] = current;
                count += 1;
            }
            Some(index) => {
                let hit = matches[index];
                let known = RawHit { score: own_scores.get(&current.group).copied().unwrap_or(hit.score), ..hit };
                let is_copy = || current.session != known.session || details.source(&current) != details.source(&known);
                match copies_by_group.get_mut(&current.group) {
                    Some(copies) => copies.push(current),
                    None if is_copy() => drop(copies_by_group.insert(current.group, vec![known, current])),
                    None => {}
                }
                let first = if comes_first(&current, &known, details) { current } else { known };
                own_scores.insert(current.group, first.score);
                matches[index] = RawHit {
                    score: current.score.max(hit.score),
                    in_order: current.in_order || hit.in_order,
                    rare: current.rare || hit.rare,
                    ..first
                };
            }
        }
    }
    matches.truncate(count);
    matches.retain(|hit| {
        if is_duplicate(hit) {
            duplicates.push((details.time(hit.address), *hit));
        }
        !is_duplicate(hit)
    });
    // Of several duplicates without an original, only the first is shown.
    duplicates
        .sort_unstable_by(|(time_a, a), (time_b, b)| time_a.cmp(time_b).then_with(|| details.compare_locations(a, b)));
    let has_history = duplicates.iter().any(|(_, duplicate)| is_history(duplicate));
    let elsewhere = ShownElsewhere::by(if has_history { &matches } else { &[] });
    for (_, duplicate) in duplicates {
        let is_hit = match (is_history(&duplicate), all_history) {
            (true, true) => !shown.contains(&details.text_hash(&duplicate)),
            (true, false) => !elsewhere.shows(&duplicate) && shown.insert(details.text_hash(&duplicate)),
            (false, _) => shown.insert(details.text_hash(&duplicate)),
        };
        if is_hit {
            matches.push(duplicate);
        }
    }
    (matches, copies_by_group)
}

/// The best score of each session's hits outside the prompt history. If it comes near the score of a prompt in the
/// history, that hit is likely the same prompt. The session shows it better, because it includes pasted text.
pub(in crate::index) struct ShownElsewhere(HashMap64<Score>);

impl ShownElsewhere {
    /// Collects the best scores of all sessions among the hits.
    pub(in crate::index) fn by(hits: &[RawHit]) -> Self {
        let mut best: HashMap64<Score> = HashMap64::default();
        for hit in hits.iter().filter(|hit| !is_history(hit)) {
            let best = best.entry(hit.session).or_default();
            *best = best.max(hit.score);
        }
        Self(best)
    }

    /// Reports whether a hit is a prompt of the history that another hit of its session shows.
    pub(in crate::index) fn shows(&self, hit: &RawHit) -> bool {
        is_history(hit) && self.0.get(&hit.session).is_some_and(|best| *best >= hit.score * SAME_PROMPT)
    }
}

fn is_history(hit: &RawHit) -> bool {
    from_class(hit.class).1 == Kind::History
}

/// Hash table from a group to the index of its hit. A tenth of the size of a map that contains the matches themselves.
struct GroupTable {
    slots: Vec<u32>,
    mask: usize,
}

impl GroupTable {
    fn with_room_for(count: usize) -> Self {
        let size = (count * 2).next_power_of_two().max(16);
        Self { slots: vec![u32::MAX; size], mask: size - 1 }
    }

    /// Returns the index of a known group. A new group gets the index `next`, and the result is `None`.
    fn find_or_insert(&mut self, group: u64, group_at: impl Fn(usize) -> u64, next: usize) -> Option<usize> {
        // A group is a hash already, so its low bits select the slot.
        let mut slot = group as usize & self.mask;
        loop {
            match self.slots[slot] {
                u32::MAX => {
                    self.slots[slot] = next as u32;
                    return None;
                }
                index if group_at(index as usize) == group => return Some(index as usize),
                _ => slot = (slot + 1) & self.mask,
            }
        }
    }
}

fn is_duplicate(hit: &RawHit) -> bool {
    from_class(hit.class).2
}

/// Reports whether `a` is shown rather than `b`: of two copies of a message the earlier one, of two parts the one that
/// matches better.
fn comes_first(a: &RawHit, b: &RawHit, details: &Details<'_>) -> bool {
    // Duplicates are removed later. If a duplicate were shown instead of its copy, both would be lost.
    if is_duplicate(a) != is_duplicate(b) {
        return is_duplicate(b);
    }
    let is_meta = |hit: &RawHit| from_class(hit.class).0 == Role::Meta;
    if is_meta(a) != is_meta(b) {
        return is_meta(b);
    }
    let (time_a, time_b) = (details.time(a.address), details.time(b.address));
    if time_a != time_b {
        return time_a < time_b;
    }
    if a.session != b.session {
        // Arbitrary but fixed. `Reader::pick_copy` compares the paths of the hits that are shown.
        return a.session < b.session;
    }
    // Prefer the conversation itself to the copy that a subagent was given.
    let is_agent = |hit: &RawHit| from_class(hit.class).0 == Role::Subagent;
    if is_agent(a) != is_agent(b) {
        return is_agent(b);
    }
    let (source_a, source_b) = (details.source(a), details.source(b));
    if source_a != source_b {
        return source_a < source_b;
    }
    // A line that was written twice, or parts with the same score: compare lines first, because the order in the index
    // may change with every merge.
    let line = |hit: &RawHit| (details.reader.line_of(hit.address), hit.address);
    if a.score == b.score { line(a) < line(b) } else { a.score > b.score }
}
