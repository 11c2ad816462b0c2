//! Answers a search: hits in the context of their sessions, ranked and cut to a page.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use crate::discover::SourceKind;
use crate::document::{Document, Kind, Role};
use crate::error::Result;
use crate::index::{Checkpoint, FileKey, Filter, Found, Ranked, Reader};
use crate::query::Query;
use crate::snippet::{Snippet, snippet};
use crate::untrusted::Untrusted;

/// How many hits are checked letter by letter when the text is to be found just as it is.
const CHECKED_CAP: usize = 2000;
/// How long a snippet is, in bytes.
const SNIPPET_LENGTH: usize = 200;

/// What to look for, and how much of it to show.
#[derive(Clone, Debug)]
pub struct Request {
    /// The query.
    pub query: Query,
    /// What may be found.
    pub filter: Filter,
    /// How many sessions, or with `flat` how many hits, are wanted.
    pub limit: usize,
    /// How many hits of each session are wanted.
    pub per_session: usize,
    /// One list of hits rather than one for each session.
    pub flat: bool,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Response {
    /// Sessions with their hits, best first. In a flat answer each has one hit, and a session may come again.
    pub sessions: Vec<SessionHits>,
    /// Hits in all.
    pub total_hits: usize,
    /// Sessions in all.
    pub total_sessions: usize,
    /// Whether nothing but what Claude Code itself put in was found.
    pub only_meta: bool,
}

/// A session and what was found in it.
#[derive(Clone, Debug)]
pub struct SessionHits {
    /// The session.
    pub session: SessionInfo,
    /// The best hits.
    pub hits: Vec<Hit>,
    /// Hits in this session in all.
    pub total: usize,
}

/// What there is to say about a session at a glance.
#[derive(Clone, Debug, Default)]
pub struct SessionInfo {
    /// Its id.
    pub id: Untrusted,
    /// What it is called.
    pub title: Untrusted,
    /// The folder it was started in.
    pub project: Untrusted,
    /// Its last git branch.
    pub branch: Untrusted,
    /// When something was last said in it.
    pub last: Option<i64>,
    /// Whether Claude Code has deleted its transcript.
    pub gone: bool,
    /// Whether only the prompt history knows of it.
    pub history_only: bool,
}

/// One hit.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The line's id.
    pub uuid: Option<Untrusted>,
    /// Other sessions that hold the same line.
    pub also_in: Vec<Untrusted>,
    /// The subagent, and what it was sent to do.
    pub agent: Option<Untrusted>,
    /// The subagent's title.
    pub agent_title: Option<Untrusted>,
    /// The file it was read from.
    pub path: PathBuf,
    /// Where in that file.
    pub offset: u64,
    /// The line in that file.
    pub line: u64,
    /// When, in milliseconds since 1970.
    pub timestamp: Option<i64>,
    /// Who speaks.
    pub role: Role,
    /// What it is.
    pub kind: Kind,
    /// The tool.
    pub tool: Option<Untrusted>,
    /// The files it is about.
    pub files: Vec<Untrusted>,
    /// The folder the session was started in.
    pub project: Option<Untrusted>,
    /// The folder it was in.
    pub cwd: Option<Untrusted>,
    /// The git branch.
    pub branch: Option<Untrusted>,
    /// The model.
    pub model: Option<Untrusted>,
    /// Whether it reports a failure.
    pub error: bool,
    /// Whether Claude Code has deleted the file.
    pub gone: bool,
    /// How well it matches; only comparable within one answer.
    pub score: f32,
    /// The piece that matches; hostile text, to be shown through [`crate::untrusted`].
    pub snippet: Snippet,
}

/// Answers a search.
pub fn search(reader: &Reader, request: &Request) -> Result<Response> {
    let mut ranked = reader.find(&request.query, &request.filter)?;
    let mut only_meta = false;
    if ranked.hits().is_empty() && !request.filter.meta {
        let filter = Filter { meta: true, ..request.filter.clone() };
        ranked = reader.find(&request.query, &filter)?;
        only_meta = !ranked.hits().is_empty();
    }
    if request.query.literal {
        keep_verbatim(reader, &request.query, &mut ranked)?;
    }
    let groups = if request.flat { one_each(&mut ranked, request.limit) } else { by_session(&mut ranked, request) };
    let mut view = View { reader, request, files: HashMap::new(), sessions: HashMap::new() };
    let sessions = groups.into_iter().map(|(hits, total)| view.session_hits(&hits, total)).collect::<Result<_>>()?;
    Ok(Response { sessions, total_hits: ranked.hits().len(), total_sessions: ranked.sessions, only_meta })
}

fn one_each(ranked: &mut Ranked, limit: usize) -> Vec<(Vec<Found>, usize)> {
    if limit > ranked.in_order() {
        ranked.order_all();
    }
    ranked.hits().iter().take(limit).map(|hit| (vec![*hit], 1)).collect()
}

/// Gathers hits by session; a session stands where its best hit stands.
fn by_session(ranked: &mut Ranked, request: &Request) -> Vec<(Vec<Found>, usize)> {
    let sessions: HashSet<u64> = ranked.hits()[..ranked.in_order()].iter().map(|hit| hit.session).collect();
    if sessions.len() < request.limit.min(ranked.sessions) {
        ranked.order_all();
    }
    let mut places: HashMap<u64, usize> = HashMap::new();
    let mut groups: Vec<(Vec<Found>, usize)> = Vec::new();
    for (rank, hit) in ranked.hits().iter().enumerate() {
        if rank < ranked.in_order() && groups.len() < request.limit && !places.contains_key(&hit.session) {
            places.insert(hit.session, groups.len());
            groups.push((Vec::new(), 0));
        }
        if let Some((kept, total)) = places.get(&hit.session).and_then(|place| groups.get_mut(*place)) {
            *total += 1;
            if rank < ranked.in_order() && kept.len() < request.per_session {
                kept.push(*hit);
            }
        }
    }
    groups
}

/// Keeps the hits that hold the text letter by letter.
fn keep_verbatim(reader: &Reader, query: &Query, ranked: &mut Ranked) -> Result<()> {
    let wanted = &query.text;
    let mut checked = 0;
    let mut failed = None;
    ranked.retain(|hit| {
        checked += 1;
        if checked > CHECKED_CAP || failed.is_some() {
            return true;
        }
        match reader.fetch(hit) {
            Ok((_, document)) => document.text.contains(wanted),
            Err(error) => {
                failed = Some(error);
                true
            }
        }
    });
    failed.map_or(Ok(()), Err)
}

/// Turns hits into what is shown, looking each file and session up once.
struct View<'a> {
    reader: &'a Reader,
    request: &'a Request,
    files: HashMap<FileKey, Option<Checkpoint>>,
    sessions: HashMap<String, SessionInfo>,
}

impl View<'_> {
    fn session_hits(&mut self, found: &[Found], total: usize) -> Result<SessionHits> {
        let mut hits = Vec::new();
        let mut session = SessionInfo::default();
        for found in found {
            let (key, document) = self.reader.fetch(found)?;
            if hits.is_empty() {
                session = self.session(&document)?;
            }
            hits.push(self.hit(found, key, document)?);
        }
        Ok(SessionHits { session, hits, total })
    }

    fn hit(&mut self, found: &Found, key: FileKey, document: Document) -> Result<Hit> {
        let file = self.file(key)?;
        let (path, gone) =
            file.as_ref().map_or((PathBuf::new(), true), |file| (file.path(), file.gone_since.is_some()));
        let agent_title = file.as_ref().and_then(|file| file.state.description.clone()).map(Untrusted::new);
        let (also_in, earliest) = self.copies(&document)?;
        let snippet = snippet(&document.text, self.request.query.terms(), SNIPPET_LENGTH);
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
            snippet,
        })
    }

    /// The other sessions that hold the same line, and the earliest time any of them gives it.
    fn copies(&self, document: &Document) -> Result<(Vec<Untrusted>, Option<i64>)> {
        let mut sessions = Vec::new();
        let mut earliest = document.timestamp;
        let original = document.note.as_deref().filter(|_| document.kind != Kind::Title);
        for uuid in document.uuid.as_deref().into_iter().chain(original) {
            for copy in self.reader.copies(uuid)? {
                earliest = earliest.into_iter().chain(copy.timestamp).min();
                sessions.push(copy.session);
            }
        }
        sessions.retain(|session| *session != document.session);
        sessions.sort_unstable();
        sessions.dedup();
        Ok((sessions.into_iter().map(Untrusted::new).collect(), earliest))
    }

    fn file(&mut self, key: FileKey) -> Result<Option<Checkpoint>> {
        if let Some(file) = self.files.get(&key) {
            return Ok(file.clone());
        }
        let file = self.reader.checkpoint(key)?;
        self.files.insert(key, file.clone());
        Ok(file)
    }

    fn session(&mut self, document: &Document) -> Result<SessionInfo> {
        if let Some(known) = self.sessions.get(&document.session) {
            return Ok(known.clone());
        }
        let info = session_info(self.reader, &document.session, document)?;
        self.sessions.insert(document.session.clone(), info.clone());
        Ok(info)
    }
}

/// Gathers what there is to say about a session from its files.
fn session_info(reader: &Reader, session: &str, hit: &Document) -> Result<SessionInfo> {
    let file = if session.is_empty() { None } else { reader.file_of_session(session)? };
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
    let is_main = file.source_kind() == SourceKind::Session;
    let state = &file.state;
    Ok(SessionInfo {
        id: session.into(),
        title: one_line_of(&title_of(reader, session, &file)?),
        project: state.project.clone().unwrap_or_default().into(),
        branch: state.branch.clone().unwrap_or_default().into(),
        last: state.last,
        gone: !is_main || file.gone_since.is_some(),
        history_only: false,
    })
}

/// Claude Code's own order: a given name, the last prompt, a name given by another file, the first prompt.
fn title_of(reader: &Reader, session: &str, file: &Checkpoint) -> Result<String> {
    let state = &file.state;
    if let Some(title) = state.title().or(state.last_prompt.as_deref()) {
        return Ok(title.to_string());
    }
    let by_leaf = reader.titles_by_leaf(session)?.pop();
    let stand_ins = [&state.first_prompt, &state.first_command, &state.summary];
    Ok(by_leaf.or_else(|| stand_ins.into_iter().flatten().next().cloned()).unwrap_or_default())
}

fn one_line_of(text: &str) -> Untrusted {
    Untrusted::new(text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(120).collect::<String>())
}
