//! Pages of a ranking: of sessions with their best hits, or of single hits.

use crate::archive::search::{Group, Question};
use crate::index::{HashMap64, HashSet64, Ranked};

/// The end of a page: its last entry, and the number of entries up to it. The next page has no gaps or repeats as long
/// as that entry still exists, even if new entries come before it. A place in one ranking means nothing in another, so
/// a cursor contains the hash of its request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Cursor {
    /// The key of the last session or hit.
    key: u64,
    /// The number of entries before the next page.
    place: u64,
    /// The hash of the request.
    question: u16,
}

impl Cursor {
    /// Returns the same place with the hash of the request it belongs to.
    #[must_use]
    pub(crate) fn of(self, question: u16) -> Self {
        Self { question, ..self }
    }

    /// Reports whether it is a place in the answer to a request with this hash.
    pub(crate) fn belongs_to(self, question: u16) -> bool {
        self.question == question
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:x}-{:016x}-{:04x}", self.place, self.key, self.question)
    }
}

impl std::str::FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let [place, key, question] = text.split('-').collect::<Vec<_>>().try_into().map_err(|_| ())?;
        let number = |text: &str| u64::from_str_radix(text, 16).map_err(|_| ());
        let question = number(question)?.try_into().map_err(|_| ())?;
        Ok(Self { key: number(key)?, place: number(place)?, question })
    }
}

/// One page.
pub(super) struct Page {
    pub(super) groups: Vec<Group>,
    pub(super) next: Option<Cursor>,
    pub(super) skipped: usize,
}

/// Returns the page that was asked for.
pub(super) fn cut(ranked: &mut Ranked, question: &Question) -> Page {
    if question.after.is_some() || question.limit > ranked.in_order() {
        ranked.order_all();
    }
    if question.flat { flat(ranked, question) } else { by_session(ranked, question) }
}

/// Returns a page of single hits.
fn flat(ranked: &Ranked, question: &Question) -> Page {
    let keys: Vec<u64> = ranked.hits().iter().map(|hit| hit.group).collect();
    let start = begin(&keys, question.after);
    let shown = &ranked.hits()[start..start.saturating_add(question.limit).min(keys.len())];
    let groups = shown.iter().map(|hit| Group { hits: vec![*hit], total: 1 }).collect();
    Page { groups, next: next(&keys, start + shown.len()), skipped: start }
}

/// Returns a page of sessions. Each session is ranked by its best hit.
fn by_session(ranked: &mut Ranked, question: &Question) -> Page {
    let known: HashSet64 = ranked.hits()[..ranked.in_order()].iter().map(|hit| hit.session).collect();
    if known.len() < question.limit.min(ranked.sessions) {
        ranked.order_all();
    }
    let mut seen = HashSet64::default();
    let keys: Vec<u64> = ranked.hits()[..ranked.in_order()]
        .iter()
        .map(|hit| hit.session)
        .filter(|session| seen.insert(*session))
        .collect();
    let start = begin(&keys, question.after);
    let shown = &keys[start..start.saturating_add(question.limit).min(keys.len())];
    let places: HashMap64<usize> = shown.iter().enumerate().map(|(place, key)| (*key, place)).collect();
    let mut groups: Vec<Group> = shown.iter().map(|_| Group { hits: Vec::new(), total: 0 }).collect();
    for (rank, hit) in ranked.hits().iter().enumerate() {
        if let Some(group) = places.get(&hit.session).map(|place| &mut groups[*place]) {
            group.total += 1;
            if rank < ranked.in_order() && group.hits.len() < question.per_session {
                group.hits.push(*hit);
            }
        }
    }
    let end = start + shown.len();
    let more = end < ranked.sessions;
    Page {
        groups,
        next: shown.last().filter(|_| more).map(|key| Cursor { key: *key, place: end as u64, question: 0 }),
        skipped: start,
    }
}

/// Returns the start of a page: after the last entry of the previous page, or at the old place if that entry is gone.
fn begin(keys: &[u64], after: Option<Cursor>) -> usize {
    let Some(cursor) = after else { return 0 };
    let found = keys.iter().position(|key| *key == cursor.key).map(|at| at + 1);
    found.unwrap_or_else(|| usize::try_from(cursor.place).unwrap_or(usize::MAX)).min(keys.len())
}

/// Returns the cursor of the next page, if there are more entries.
fn next(keys: &[u64], end: usize) -> Option<Cursor> {
    (end < keys.len() && end > 0).then(|| Cursor { key: keys[end - 1], place: end as u64, question: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_round_trip_as_text() {
        let cursor = Cursor { key: 0xdead_beef, place: 30, question: 7 };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for bad in ["", "x", "1-", "-1", "zz-1-1", "1-2", "1-2-3-4", "1-2-10000", "--"] {
            assert!(bad.parse::<Cursor>().is_err(), "{bad}");
        }
    }

    #[test]
    fn pages_follow_one_another() {
        let keys = [10, 11, 12, 13];
        assert_eq!(begin(&keys, None), 0);
        assert_eq!(begin(&keys, Some(Cursor { key: 11, place: 2, question: 0 })), 2);
        // A new entry came before it.
        assert_eq!(begin(&[9, 10, 11, 12], Some(Cursor { key: 11, place: 2, question: 0 })), 3);
        // The entry is gone.
        assert_eq!(begin(&keys, Some(Cursor { key: 99, place: 2, question: 0 })), 2);
    }
}
