//! Turns hits into what is shown: each in its session, with a piece of its text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;

use crate::archive::search::context;
use crate::archive::search::snippet::Marks;
use crate::archive::search::{Group, Hit, Request, SessionHits, SessionInfo};
use crate::document::Document;
use crate::error::Result;
use crate::index::{FileKey, FileSummary, Ranked, RawHit, Reader};
use crate::redact::redact;
use crate::transcript::discover::SourceKind;
use crate::untrusted::Untrusted;

/// How long a snippet is, in bytes.
const SNIPPET_LENGTH: usize = 200;

/// Turns hits into what is shown, looking each file and session up once.
pub(super) struct View<'a> {
    reader: &'a Reader,
    request: &'a Request,
    marks: &'a Marks<'a>,
    known: Lookup<'a>,
}

impl<'a> View<'a> {
    pub(super) fn new(reader: &'a Reader, request: &'a Request, marks: &'a Marks<'a>) -> Self {
        Self { reader, request, marks, known: Lookup::new(reader) }
    }

    pub(super) fn session_hits(&mut self, ranked: &Ranked, group: &Group) -> Result<SessionHits> {
        let mut hits = Vec::new();
        let mut session = SessionInfo::default();
        for (found, (key, document)) in group.hits.iter().zip(self.reader.fetch_all(&group.hits)?) {
            if hits.is_empty() {
                session = self.known.session(&document)?;
            }
            let (before, after) = context::around(self.reader, found, &document, self.request)?;
            let mut hit = self.hit(found, key, document)?;
            hit.factors = ranked.factors(found);
            (hit.before, hit.after) = (before, after);
            hits.push(hit);
        }
        Ok(SessionHits { session, hits, total: group.total })
    }

    fn hit(&mut self, found: &RawHit, key: FileKey, document: Document) -> Result<Hit> {
        let file = self.known.file(key)?;
        let (path, gone) =
            file.as_ref().map_or((PathBuf::new(), true), |file| (file.path(), file.gone_since.is_some()));
        let agent_title = file.as_ref().and_then(|file| file.description.clone()).map(Untrusted::new);
        let (also_in, earliest) = self.copies(key, &document)?;
        // Masked before it is cut: half a secret looks like none.
        let shown = if self.request.reveal { Cow::Borrowed(document.text.as_str()) } else { redact(&document.text) };
        let snippet = self.marks.snippet(&shown, SNIPPET_LENGTH);
        Ok(Hit {
            uuid: document.uuid.map(Untrusted::new),
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
            gone,
            score: found.score,
            factors: None,
            snippet,
            before: Vec::new(),
            after: Vec::new(),
        })
    }

    /// The other sessions that hold the same line, and the earliest time any of them gives it.
    fn copies(&self, key: FileKey, document: &Document) -> Result<(Vec<Untrusted>, Option<i64>)> {
        let mut sessions = Vec::new();
        let mut earliest = document.timestamp;
        let original = document.copied_from.as_deref();
        for uuid in document.uuid.as_deref().into_iter().chain(original) {
            for copy in self.reader.copies(uuid, key)? {
                earliest = earliest.into_iter().chain(copy.timestamp).min();
                sessions.push(copy.session);
            }
        }
        sessions.retain(|session| *session != document.session);
        sessions.sort_unstable();
        sessions.dedup();
        Ok((sessions.into_iter().map(Untrusted::new).collect(), earliest))
    }
}

/// What is known of files and sessions, each looked up once.
#[derive(Debug)]
pub(crate) struct Lookup<'r> {
    reader: &'r Reader,
    files: HashMap<FileKey, Option<FileSummary>>,
    sessions: HashMap<String, SessionInfo>,
}

impl<'r> Lookup<'r> {
    pub(crate) fn new(reader: &'r Reader) -> Self {
        Self { reader, files: HashMap::new(), sessions: HashMap::new() }
    }

    /// What there is to say of a file.
    pub(crate) fn file(&mut self, key: FileKey) -> Result<Option<FileSummary>> {
        if let Some(file) = self.files.get(&key) {
            return Ok(file.clone());
        }
        let file = self.reader.summary(key)?;
        self.files.insert(key, file.clone());
        Ok(file)
    }

    /// The session a document belongs to.
    pub(crate) fn session(&mut self, document: &Document) -> Result<SessionInfo> {
        if let Some(known) = self.sessions.get(&document.session) {
            return Ok(known.clone());
        }
        let file = main_file(self.reader, &document.session)?;
        let info = info_from(self.reader, &document.session, document, file.as_ref())?;
        if let Some(file) = file {
            self.files.insert(file.key(), Some(file));
        }
        self.sessions.insert(document.session.clone(), info.clone());
        Ok(info)
    }
}

impl SessionInfo {
    /// Whether Claude Code still has what it needs to go on with it.
    pub fn can_be_resumed(&self) -> bool {
        !(self.gone || self.agents_only || self.history_only)
    }
}

/// Gathers what there is to say about a session from its files.
pub fn session_info(reader: &Reader, session: &str, hit: &Document) -> Result<SessionInfo> {
    info_from(reader, session, hit, main_file(reader, session)?.as_ref())
}

fn main_file(reader: &Reader, session: &str) -> Result<Option<FileSummary>> {
    if session.is_empty() { Ok(None) } else { reader.session_summary(session) }
}

fn info_from(reader: &Reader, session: &str, hit: &Document, file: Option<&FileSummary>) -> Result<SessionInfo> {
    let Some(file) = file else {
        let project = hit.project.clone().unwrap_or_default();
        let title = one_line_of(&hit.text);
        return Ok(SessionInfo {
            id: session.into(),
            title,
            project: project.into(),
            last: hit.timestamp,
            history_only: true,
            ..SessionInfo::default()
        });
    };
    Ok(SessionInfo {
        id: session.into(),
        title: one_line_of(&title_of(reader, session, file)?),
        project: file.project.clone().unwrap_or_default().into(),
        branch: file.branch.clone().unwrap_or_default().into(),
        last: file.last,
        gone: file.gone_since.is_some(),
        agents_only: file.source_kind() != SourceKind::Session,
        history_only: false,
    })
}

/// Claude Code's own order: a given name, the last prompt, a name given by another file, the first prompt.
pub(crate) fn title_of(reader: &Reader, session: &str, file: &FileSummary) -> Result<String> {
    if let Some(name) = &file.name {
        return Ok(name.clone());
    }
    let by_leaf = reader.titles_by_leaf(session)?.pop();
    Ok(by_leaf.or_else(|| file.stand_in.clone()).unwrap_or_default())
}

/// A title as a whole, on one line and rid of secrets; who shows it cuts it.
pub(crate) fn one_line_of(text: &str) -> Untrusted {
    Untrusted::new(redact(text).split_whitespace().collect::<Vec<_>>().join(" "))
}
