//! Finds sessions that share messages: one was forked from the other, continues it, or is contained in it.
//!
//! Claude Code copies the messages of a session into a new transcript when it is forked, and in older versions also
//! when it is resumed. Not every copy says where it comes from, so the ids of the messages decide.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::archive::sessions::{Relation, Session, Shared, describe_all};
use crate::error::Result;
use crate::index::{HashMap64, HashSet64, Reader, SessionFiles, Spent};
use crate::untrusted::Untrusted;

/// Sessions with fewer messages in common are not linked.
const LEAST_SHARED: u64 = 2;
/// Maximum number of messages that are compared at once, which bounds memory.
const COMPARED_AT_ONCE: u64 = 2_000_000;

/// Sets the links between the sessions that are shown and all others, and the tokens that earlier sessions already
/// count. `rest` are the files of the sessions that are not described.
pub(super) fn link(
    reader: &Reader,
    sessions: &mut [Session],
    shown: Range<usize>,
    rest: &[SessionFiles],
) -> Result<()> {
    let ids: HashMap64<String> = sessions[shown.clone()]
        .iter()
        .map(|session| (reader.session_number(session.id.raw()), session.id.raw().to_string()))
        .collect();
    let mut shared = Overlap::find(reader, &ids)?;
    if shared.pairs.is_empty() {
        return Ok(());
    }
    let involved: HashSet64 = shared.pairs.keys().flat_map(|(one, other)| [*one, *other]).collect();
    let rest: Vec<SessionFiles> = rest.iter().filter(|files| involved.contains(&files.session)).cloned().collect();
    let described = describe_all(reader, &rest)?;
    let all = sessions.iter().chain(&described).map(|session| (reader.session_number(session.id.raw()), session));
    let all: HashMap64<Brief> = all
        .filter(|(number, _)| involved.contains(number))
        .map(|(number, session)| (number, Brief::of(session)))
        .collect();
    shared.measure(reader, &all)?;
    let mut tokens = shared.tokens(reader, &all)?;
    for session in &mut sessions[shown] {
        let number = reader.session_number(session.id.raw());
        session.shared_tokens = tokens.remove(&number).unwrap_or_default();
        let Some(one) = all.get(&number) else { continue };
        for ((_, other), messages) in shared.pairs.range((number, 0)..=(number, u64::MAX)) {
            let Some(other_one) = all.get(other) else { continue };
            let count = |session: &u64| shared.sizes.get(session).copied().unwrap_or(u64::MAX);
            let is_earlier = other_one.order() < one.order();
            let relation = match (*messages == count(&number), *messages == count(other)) {
                _ if one.forked_from.as_ref() == Some(&other_one.id) => Relation::ForkedFrom,
                _ if other_one.forked_from.as_ref() == Some(&one.id) => Relation::ForkedInto,
                (true, true) if is_earlier => Relation::Continues,
                (true, _) => Relation::ContinuedIn,
                (false, true) => Relation::Continues,
                (false, false) if is_earlier => Relation::ForkedFrom,
                (false, false) => Relation::ForkedInto,
            };
            session.shared.push(Shared { session: other_one.id.clone(), messages: *messages, relation });
        }
        session.shared.sort_by(|a, b| b.messages.cmp(&a.messages).then_with(|| a.session.cmp(&b.session)));
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

/// The fields of a session that decide its links to others.
struct Brief {
    id: Untrusted,
    first: Option<i64>,
    last: Option<i64>,
    forked_from: Option<Untrusted>,
}

impl Brief {
    fn of(session: &Session) -> Self {
        let Session { id, first, last, forked_from, .. } = session;
        Self { id: id.clone(), first: *first, last: *last, forked_from: forked_from.clone() }
    }

    /// Sort key among sessions that contain the same message; the least one counts it. Copies keep the times of the
    /// original, but a fork names its source, and the original ended first.
    fn order(&self) -> impl Ord + '_ {
        (self.first, self.forked_from.is_some(), self.last, &self.id)
    }
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
    /// Compares the sessions that are shown, given with their ids, with all others.
    fn find(reader: &Reader, shown: &HashMap64<String>) -> Result<Self> {
        let mut found = Self::default();
        let sizes = shown.values().map(|id| reader.documents_in(id)).collect::<Result<Vec<_>>>()?;
        let parts = sizes.iter().sum::<u64>().div_ceil(COMPARED_AT_ONCE).max(1);
        for part in 0..parts {
            found.compare(reader, shown, &|group| group % parts == part)?;
        }
        found.pairs.retain(|_, messages| *messages >= LEAST_SHARED);
        Ok(found)
    }

    /// Counts the messages of the sessions involved.
    fn measure(&mut self, reader: &Reader, all: &HashMap64<Brief>) -> Result<()> {
        for (number, session) in all {
            let mut messages = HashSet64::default();
            reader.each_message_of(session.id.raw(), &mut |row| {
                messages.insert(row.group);
            })?;
            self.sizes.insert(*number, messages.len() as u64);
        }
        Ok(())
    }

    /// Counts the messages that two sessions have in common, among those that `is_part` selects.
    fn compare(&mut self, reader: &Reader, shown: &HashMap64<String>, is_part: &dyn Fn(u64) -> bool) -> Result<()> {
        let mut first: HashMap64<u64> = HashMap64::default();
        let mut sessions_of: HashMap64<BTreeSet<u64>> = HashMap64::default();
        let is_shown = |session: u64| shown.contains_key(&session);
        for id in shown.values() {
            reader.each_message_of(id, &mut |row| {
                if is_part(row.group) {
                    first.insert(row.group, row.session);
                }
            })?;
        }
        reader.each_message_in(&|group| first.contains_key(&group), &mut |row| {
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
    fn tokens(&self, reader: &Reader, all: &HashMap64<Brief>) -> Result<HashMap64<[u64; 4]>> {
        // By API message: the session that counts it, and its tokens in each session.
        let mut messages: HashMap64<BTreeMap<u64, Spent>> = HashMap64::default();
        for session in all.values() {
            reader.each_message_of(session.id.raw(), &mut |row| {
                let Some(spent) = row.spent() else { return };
                let known = messages.entry(spent.message).or_default().entry(row.session).or_insert(spent);
                if spent.tokens[3] > known.tokens[3] {
                    *known = spent;
                }
            })?;
        }
        let mut tokens: HashMap64<[u64; 4]> = HashMap64::default();
        for sessions in messages.values().filter(|sessions| sessions.len() > 1) {
            let owner = sessions.keys().copied().min_by_key(|session| all.get(session).map(Brief::order));
            for (session, spent) in sessions.iter().filter(|(session, _)| Some(**session) != owner) {
                let total = tokens.entry(*session).or_default();
                total.iter_mut().zip(spent.tokens).for_each(|(total, new)| *total += new);
            }
        }
        Ok(tokens)
    }
}
