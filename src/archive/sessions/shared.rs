//! Finds sessions that share messages: one was forked from the other, continues it, or is contained in it.
//!
//! Claude Code copies the messages of a session into a new transcript when it is forked, and in older versions also when
//! it is resumed. Not every copy says where it comes from, so the ids of the messages decide.

use std::collections::{BTreeMap, BTreeSet};

use crate::archive::sessions::{Relation, Session, Shared};
use crate::error::Result;
use crate::index::{HashMap64, HashSet64, MessageRow, Reader, Spent};
use crate::untrusted::Untrusted;

/// Sessions with fewer messages in common are not linked.
const LEAST_SHARED: u64 = 2;
/// Maximum number of messages that are compared at once, which bounds memory.
const COMPARED_AT_ONCE: u64 = 2_000_000;

/// Sets the links between the first `shown` sessions and all others, and the tokens that earlier sessions already count.
/// `sessions` are all sessions.
pub(super) fn link(reader: &Reader, sessions: &mut [Session], shown: usize) -> Result<()> {
    let numbers: Vec<u64> = sessions.iter().map(|session| reader.session_number(session.id.raw())).collect();
    let places: HashMap64<usize> = numbers.iter().enumerate().map(|(place, number)| (*number, place)).collect();
    let is_shown = |session: u64| places.get(&session).is_some_and(|place| *place < shown);
    let shared = Overlap::find(reader, &is_shown)?;
    if shared.pairs.is_empty() {
        return Ok(());
    }
    let owner_order: Vec<_> = sessions.iter().map(owner_order).collect();
    let ids: Vec<Untrusted> = sessions.iter().map(|session| session.id.clone()).collect();
    let mut tokens = shared.tokens(reader, &|session| places.get(&session).map(|place| &owner_order[*place]))?;
    for ((one, other), messages) in &shared.pairs {
        let (Some(at), Some(other_at)) = (places.get(one), places.get(other)) else { continue };
        let count = |session: &u64| shared.sizes.get(session).copied().unwrap_or(u64::MAX);
        let is_earlier = owner_order[*other_at] < owner_order[*at];
        let names_other = |at: usize, other: usize| sessions[at].forked_from.as_ref() == Some(&ids[other]);
        let relation = match (*messages == count(one), *messages == count(other)) {
            _ if names_other(*at, *other_at) => Relation::ForkedFrom,
            _ if names_other(*other_at, *at) => Relation::ForkedInto,
            (true, true) if is_earlier => Relation::Continues,
            (true, _) => Relation::ContinuedIn,
            (false, true) => Relation::Continues,
            (false, false) if is_earlier => Relation::ForkedFrom,
            (false, false) => Relation::ForkedInto,
        };
        let session = &mut sessions[*at];
        session.shared.push(Shared { session: ids[*other_at].clone(), messages: *messages, relation });
    }
    for (session, number) in sessions.iter_mut().zip(&numbers).take(shown) {
        session.shared.sort_by(|a, b| b.messages.cmp(&a.messages).then_with(|| a.session.cmp(&b.session)));
        session.shared_tokens = tokens.remove(number).unwrap_or_default();
        name_links(session);
    }
    Ok(())
}

/// Sets the links that the transcripts themselves do not name.
fn name_links(session: &mut Session) {
    let closest = |relation| session.shared.iter().find(|shared| shared.relation == relation);
    let id = |relation| closest(relation).map(|shared| shared.session.clone());
    let (forked_from, continues, continued_in) =
        (id(Relation::ForkedFrom), id(Relation::Continues), id(Relation::ContinuedIn));
    let is_named = session.forked_from.is_some() || session.continues.is_some();
    if !is_named {
        session.continues = continues;
        session.forked_from = forked_from.filter(|_| session.continues.is_none());
    }
    session.continued_in = session.continued_in.take().or(continued_in);
}

/// Returns what decides which of several sessions counts a message that all of them contain. The least one does: copies
/// keep the times of the original, but a fork names its source, and the original ended first.
fn owner_order(session: &Session) -> (Option<i64>, bool, Option<i64>, Untrusted) {
    (session.first, session.forked_from.is_some(), session.last, session.id.clone())
}

/// The messages that sessions have in common.
#[derive(Default)]
struct Overlap {
    /// The number of common messages of two sessions, in both orders if both are shown.
    pairs: BTreeMap<(u64, u64), u64>,
    /// The number of messages of each session in `pairs`.
    sizes: HashMap64<u64>,
}

impl Overlap {
    /// Compares the sessions that are shown with all others.
    fn find(reader: &Reader, is_shown: &dyn Fn(u64) -> bool) -> Result<Self> {
        let mut found = Self::default();
        let parts = reader.document_count().div_ceil(COMPARED_AT_ONCE).max(1);
        for part in 0..parts {
            found.compare(reader, is_shown, &|row| row.group % parts == part)?;
        }
        found.pairs.retain(|_, messages| *messages >= LEAST_SHARED);
        let involved: HashSet64 = found.pairs.keys().flat_map(|(one, other)| [*one, *other]).collect();
        let mut messages: HashMap64<HashSet64> = HashMap64::default();
        if !involved.is_empty() {
            reader.each_message(&mut |row| {
                if involved.contains(&row.session) {
                    messages.entry(row.session).or_default().insert(row.group);
                }
            })?;
        }
        found.sizes = messages.into_iter().map(|(session, groups)| (session, groups.len() as u64)).collect();
        Ok(found)
    }

    /// Counts the messages that two sessions have in common, among those that `is_part` selects.
    fn compare(
        &mut self,
        reader: &Reader,
        is_shown: &dyn Fn(u64) -> bool,
        is_part: &dyn Fn(&MessageRow<'_>) -> bool,
    ) -> Result<()> {
        let mut first: HashMap64<u64> = HashMap64::default();
        let mut sessions_of: HashMap64<BTreeSet<u64>> = HashMap64::default();
        reader.each_message(&mut |row| {
            if is_shown(row.session) && is_part(&row) {
                first.insert(row.group, row.session);
            }
        })?;
        reader.each_message(&mut |row| {
            if let Some(one) = first.get(&row.group).filter(|one| **one != row.session) {
                sessions_of.entry(row.group).or_default().extend([*one, row.session]);
            }
        })?;
        for sessions in sessions_of.values() {
            for one in sessions.iter().filter(|one| is_shown(**one)) {
                for other in sessions.iter().filter(|other| *other != one) {
                    *self.pairs.entry((*one, *other)).or_default() += 1;
                }
            }
        }
        Ok(())
    }

    /// Returns for each session the tokens of messages that an earlier session counts.
    fn tokens<K: Ord>(&self, reader: &Reader, order: &dyn Fn(u64) -> Option<K>) -> Result<HashMap64<[u64; 4]>> {
        let involved: HashSet64 = self.pairs.keys().flat_map(|(one, other)| [*one, *other]).collect();
        // By API message: the session that counts it, and its tokens in each session.
        let mut messages: HashMap64<BTreeMap<u64, Spent>> = HashMap64::default();
        reader.each_message(&mut |row| {
            let Some(spent) = Some(row).filter(|row| involved.contains(&row.session)).and_then(|row| row.spent())
            else {
                return;
            };
            let known = messages.entry(spent.message).or_default().entry(row.session).or_insert(spent);
            if spent.tokens[3] > known.tokens[3] {
                *known = spent;
            }
        })?;
        let mut tokens: HashMap64<[u64; 4]> = HashMap64::default();
        for sessions in messages.values().filter(|sessions| sessions.len() > 1) {
            let owner = sessions.keys().copied().min_by_key(|session| order(*session));
            for (session, spent) in sessions.iter().filter(|(session, _)| Some(**session) != owner) {
                let total = tokens.entry(*session).or_default();
                total.iter_mut().zip(spent.tokens).for_each(|(total, new)| *total += new);
            }
        }
        Ok(tokens)
    }
}
