//! All sessions that match a filter, described as far as needed. The checkpoint of a file is large, so the newest sessions
//! are listed without reading those of the others.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::archive::sessions::{Session, describe_all, from_history, shared};
use crate::document::Document;
use crate::error::Result;
use crate::index::{Reader, SessionFiles};
use crate::query::Filter;
use crate::untrusted::Untrusted;

/// Number of sessions that are described at a time, at least.
const BATCH: usize = 16;

/// The sessions that match a filter, the newest first.
pub(super) struct Listing<'r> {
    reader: &'r Reader,
    /// Sessions that are described.
    pub(super) sessions: Vec<Session>,
    /// The files of all others, the newest first.
    rest: Vec<SessionFiles>,
}

impl<'r> Listing<'r> {
    pub(super) fn new(reader: &'r Reader, filter: &Filter) -> Result<Self> {
        let matching = if filter.is_empty() { None } else { Some(reader.sessions_with(filter)?) };
        let matches = |session: u64| matching.as_ref().is_none_or(|sessions| sessions.contains(&session));
        let files = reader.sessions_by_end()?.into_iter().filter(|files| matches(files.session));
        let (rest, doubtful): (Vec<_>, Vec<_>) = files.partition(|files| files.is_listed);
        let mut sessions = describe_all(reader, &doubtful)?;
        let mut histories: BTreeMap<String, Vec<Document>> = BTreeMap::new();
        for prompt in reader.lone_history()? {
            if matches(reader.session_number(&prompt.session)) {
                histories.entry(prompt.session.clone()).or_default().push(prompt);
            }
        }
        for (id, prompts) in &mut histories {
            prompts.sort_by_key(|prompt| (prompt.timestamp, prompt.line));
            sessions.extend(from_history(id, prompts));
        }
        let mut listing = Self { reader, sessions, rest };
        listing.sort();
        Ok(listing)
    }

    /// Returns the number of sessions.
    pub(super) fn total(&self) -> usize {
        self.sessions.len() + self.rest.len()
    }

    /// Describes sessions until the first `count` are known.
    pub(super) fn describe(&mut self, count: usize) -> Result<()> {
        while let Some(next) = self.rest.first() {
            // A session can end before the last of its files, if that is a copy of its transcript.
            let known = self.sessions.iter().take_while(|session| session.last > next.last).count();
            if known >= count {
                break;
            }
            let batch = (count - known).max(BATCH).min(self.rest.len());
            let batch: Vec<SessionFiles> = self.rest.drain(..batch).collect();
            self.sessions.extend(describe_all(self.reader, &batch)?);
            self.sort();
        }
        Ok(())
    }

    fn sort(&mut self) {
        self.sessions.sort_by(|a, b| b.last.cmp(&a.last).then_with(|| a.id.cmp(&b.id)));
    }

    /// Returns the position of a session.
    pub(super) fn position(&mut self, id: &str) -> Result<Option<usize>> {
        let mut known = BATCH;
        loop {
            self.describe(known)?;
            let end = if self.rest.is_empty() { self.sessions.len() } else { known };
            let at = self.sessions[..end].iter().position(|session| session.id.raw() == id);
            if at.is_some() || self.rest.is_empty() {
                return Ok(at);
            }
            known *= 2;
        }
    }

    /// Sets the links between some of the sessions and all others.
    pub(super) fn link(&mut self, shown: Range<usize>) -> Result<()> {
        for session in &mut self.sessions[shown.clone()] {
            session.continues = self.reader.continued_session(session.id.raw())?.map(Untrusted::new);
        }
        shared::link(self.reader, &mut self.sessions, shown, &self.rest)
    }
}
