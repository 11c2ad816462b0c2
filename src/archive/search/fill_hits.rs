//! Turns ranked hits into the hits of an answer: grouped by session, each with a snippet.

use std::borrow::Cow;
use std::path::PathBuf;

use crate::archive::search::answer::{Hit, SessionHits};
use crate::archive::search::context;
use crate::archive::search::counterpart;
use crate::archive::search::{Group, Question, all_conditions};
use crate::archive::session_info::{Lookup, SessionInfo};
use crate::archive::snippet::Marks;
use crate::document::Document;
use crate::error::Result;
use crate::index::{FileKey, Ranked, RawHit, Reader};
use crate::redact::redact;
use crate::untrusted::Untrusted;

/// Length of a snippet, in bytes.
const SNIPPET_LENGTH: usize = 200;

/// Turns ranked hits into the hits of an answer. Looks up each file and session only once.
pub(super) struct View<'a> {
    reader: &'a Reader,
    request: &'a Question,
    marks: &'a Marks<'a>,
    known: Lookup<'a>,
}

impl<'a> View<'a> {
    pub(super) fn new(reader: &'a Reader, request: &'a Question, marks: &'a Marks<'a>) -> Self {
        Self { reader, request, marks, known: Lookup::new(reader) }
    }

    /// Returns a session and its hits.
    pub(super) fn session_hits(&mut self, ranked: &Ranked, group: &Group) -> Result<SessionHits> {
        let mut hits = Vec::new();
        let mut session = SessionInfo::default();
        for (found, (key, document)) in group.hits.iter().zip(self.reader.fetch_all(&group.hits)?) {
            if hits.is_empty() {
                session = self.known.session(&document)?;
            }
            let (before, after) = context::around(self.reader, found, &document, self.request)?;
            let (counterpart, starting_call) = match self.request.counterpart {
                true => (
                    counterpart::of(self.reader, key, &document, self.request.reveal)?,
                    counterpart::starting_call(self.reader, key, &document)?,
                ),
                false => (None, None),
            };
            let mut hit = self.hit(found, key, document, &session)?;
            hit.factors = ranked.factors(found);
            hit.weak = hit.factors.is_some_and(|factors| factors.is_weak());
            (hit.before, hit.after) = (before, after);
            (hit.counterpart, hit.agent_started_by) = (counterpart, starting_call);
            hits.push(hit);
        }
        Ok(SessionHits { session, hits, total: group.total })
    }

    fn hit(&mut self, found: &RawHit, key: FileKey, document: Document, session: &SessionInfo) -> Result<Hit> {
        let file = self.known.file(key)?;
        let (path, gone) =
            file.as_ref().map_or((PathBuf::new(), true), |file| (file.path(), file.gone_since.is_some()));
        let agent_title = file.as_ref().and_then(|file| file.description.clone()).map(Untrusted::new);
        let (also_in, earliest) = self.copies(key, &document)?;
        // Redact before cutting: half a secret no longer matches any rule.
        let shown = if self.request.reveal { Cow::Borrowed(document.text.as_str()) } else { redact(&document.text) };
        let snippet = self.marks.snippet(&shown, SNIPPET_LENGTH);
        Ok(Hit {
            uuid: document.uuid.map(Untrusted::new),
            session_id: session.id.clone(),
            also_in,
            agent: document.agent.map(Untrusted::new),
            agent_title,
            path,
            offset: document.offset,
            line: document.line,
            timestamp: earliest,
            role: document.role,
            kind: document.kind,
            tool: document.tool.map(Untrusted::new),
            files: document.files.into_iter().map(Untrusted::new).collect(),
            project: document.project.map(Untrusted::new),
            cwd: document.cwd.map(Untrusted::new),
            branch: document.branch.map(Untrusted::new),
            model: document.model.map(Untrusted::new),
            error: document.error,
            title: session.title.clone(),
            gone,
            score: found.score,
            factors: None,
            weak: false,
            snippet,
            counterpart: None,
            agent_started_by: None,
            before: Vec::new(),
            after: Vec::new(),
            resume: session.can_be_resumed().then(|| format!("unspool resume {}", session.id.raw())),
        })
    }

    /// Returns the other sessions that contain the same line, and the earliest time of all copies that the filter admits.
    fn copies(&self, key: FileKey, document: &Document) -> Result<(Vec<Untrusted>, Option<i64>)> {
        let mut sessions = Vec::new();
        let mut earliest = document.timestamp;
        let original = document.copied_from.as_deref();
        for uuid in document.uuid.as_deref().into_iter().chain(original) {
            for copy in self.reader.copies(uuid, key)? {
                let admitted =
                    copy.timestamp.filter(|time| all_conditions(self.request, &self.request.query).admits_time(*time));
                earliest = earliest.into_iter().chain(admitted).min();
                sessions.push(copy.session);
            }
        }
        sessions.retain(|session| *session != document.session);
        sessions.sort_unstable();
        sessions.dedup();
        Ok((sessions.into_iter().map(Untrusted::new).collect(), earliest))
    }
}
