//! All sessions at a glance: what the checkpoints of their files say. No text is read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::archive::search::{one_line_of, title_of};
use crate::document::{Document, FileState};
use crate::error::{Error, ErrorKind, Result};
use crate::index::{Checkpoint, Reader};
use crate::query::Filter;
use crate::redact::redact;
use crate::transcript::discover::SourceKind;
use crate::untrusted::Untrusted;

/// A session and its figures.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// Its id.
    pub id: Untrusted,
    /// What it is called.
    pub title: Untrusted,
    /// The folder it was started in.
    pub project: Untrusted,
    /// The folder it was in last.
    pub cwd: Untrusted,
    /// Its last git branch.
    pub branch: Untrusted,
    /// Its transcript.
    pub path: PathBuf,
    /// When the first thing was said in it.
    pub first: Option<i64>,
    /// When the last thing was said in it.
    pub last: Option<i64>,
    /// How often somebody came back after more than an hour.
    pub pauses: u64,
    /// How long it lay idle in these pauses, in milliseconds.
    pub paused: i64,
    /// Prompts by a human.
    pub prompts: u64,
    /// Prompts by a human or program, and answers of the API.
    pub messages: u64,
    /// Calls of tools, those of subagents not included.
    pub tool_uses: u64,
    /// Files changed, by subagents too.
    pub files_changed: usize,
    /// The subagents.
    pub agents: Vec<SubAgent>,
    /// The models, the busiest first.
    pub models: Vec<Untrusted>,
    /// Tokens of the session itself: input, cache write, cache read, output.
    pub tokens: [u64; 4],
    /// Tokens of its subagents.
    pub agent_tokens: [u64; 4],
    /// Bytes of its transcript and those of its subagents.
    pub size: u64,
    /// Whether Claude Code has deleted its transcript.
    pub gone: bool,
    /// Whether no main transcript of it is known, only those of its subagents.
    pub agents_only: bool,
    /// Whether only the prompt history knows of it.
    pub history_only: bool,
    /// Whether it ran in the background.
    pub background: bool,
    /// The session it was forked from.
    pub forked_from: Option<Untrusted>,
    /// The session it went on in.
    pub continued_in: Option<Untrusted>,
    /// The session that went on in this one.
    pub continues: Option<Untrusted>,
    /// How Claude Code was started.
    pub entrypoint: Untrusted,
}

/// A subagent of a session.
#[derive(Clone, Debug, Default)]
pub struct SubAgent {
    /// Its id.
    pub id: Untrusted,
    /// What it was sent to do.
    pub title: Untrusted,
    /// Its type.
    pub kind: Untrusted,
    /// When it began.
    pub first: Option<i64>,
    /// When it ended.
    pub last: Option<i64>,
    /// Its answers.
    pub answers: u64,
    /// Its tool calls.
    pub tool_uses: u64,
    /// Its tokens.
    pub tokens: [u64; 4],
    /// Bytes of its transcript.
    pub size: u64,
}

impl Session {
    /// The session with this id.
    pub fn find(reader: &Reader, id: &str) -> Result<Self> {
        let files = reader.files_of_session(id)?;
        of_files_or_history(reader, id, &files.iter().collect::<Vec<_>>())?.ok_or_else(|| nothing_of(id))
    }

    /// From the first to the last thing said, in milliseconds.
    pub fn length(&self) -> i64 {
        self.last.zip(self.first).map_or(0, |(last, first)| last - first)
    }

    /// All tokens: of the session and its subagents.
    pub fn all_tokens(&self) -> u64 {
        self.tokens.iter().chain(&self.agent_tokens).sum()
    }
}

fn nothing_of(id: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("the index holds nothing of session {id}"))
}

/// The sessions in which anything fits a filter, the newest first.
pub fn sessions(reader: &Reader, filter: &Filter) -> Result<Vec<Session>> {
    let fitting = if filter.is_empty() { None } else { Some(reader.sessions_with(filter)?) };
    let fits = |id: &str| fitting.as_ref().is_none_or(|fitting| fitting.contains(&reader.session_number(id)));
    let files = reader.checkpoints()?;
    let mut by_session: BTreeMap<&str, Vec<&Checkpoint>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.source_kind() != SourceKind::History) {
        by_session.entry(file.session_id()).or_default().push(file);
    }
    let mut found = Vec::with_capacity(by_session.len());
    for (id, files) in by_session.into_iter().filter(|(id, _)| fits(id)) {
        found.extend(of_files_or_history(reader, id, &files)?);
    }
    let mut histories: BTreeMap<String, Vec<Document>> = BTreeMap::new();
    for prompt in reader.lone_history()?.into_iter().filter(|prompt| fits(&prompt.session)) {
        histories.entry(prompt.session.clone()).or_default().push(prompt);
    }
    for (id, prompts) in &mut histories {
        prompts.sort_by_key(|prompt| (prompt.timestamp, prompt.line));
        found.extend(of_history(id, prompts));
    }
    link(&mut found);
    found.sort_by(|a, b| b.last.cmp(&a.last).then_with(|| a.id.cmp(&b.id)));
    Ok(found)
}

/// Tells each session which one went on in it.
fn link(sessions: &mut [Session]) {
    let before: BTreeMap<Untrusted, Untrusted> =
        sessions.iter().filter_map(|session| Some((session.continued_in.clone()?, session.id.clone()))).collect();
    for session in sessions {
        session.continues = before.get(&session.id).cloned();
    }
}

/// What the files of a session say of it, or else the prompt history.
fn of_files_or_history(reader: &Reader, id: &str, files: &[&Checkpoint]) -> Result<Option<Session>> {
    if let Some(session) = of_files(reader, id, files)? {
        return Ok(Some(session));
    }
    let prompts = reader.history_of(id)?.iter().map(|step| reader.read(step)).collect::<Result<Vec<_>>>()?;
    Ok(of_history(id, &prompts))
}

/// What the files of a session say of it; nothing if there is nothing worth a line.
fn of_files(reader: &Reader, id: &str, files: &[&Checkpoint]) -> Result<Option<Session>> {
    let of_kind = |kind| files.iter().copied().filter(move |file| file.source_kind() == kind && !file.forgotten);
    let agents: Vec<&Checkpoint> = of_kind(SourceKind::Agent).collect();
    let both = of_kind(SourceKind::Session).chain(agents.iter().copied());
    let speaker = both.map(|file| (file.summary(), file)).min_by_key(|(summary, _)| summary.rank());
    let Some((summary, file)) = speaker.filter(|_| !id.is_empty()) else { return Ok(None) };
    let main = Some(file).filter(|file| file.source_kind() == SourceKind::Session);
    let state = &file.state;
    let is_empty = state.documents == 0 && state.saw.is_empty() && state.title().is_none();
    if main.is_some() && agents.is_empty() && is_empty {
        return Ok(None);
    }
    let own = main.map(|file| &file.state);
    let all = || own.into_iter().chain(agents.iter().map(|file| &file.state));
    let changed: BTreeSet<u64> = all().flat_map(|state| state.tally.changed.iter().copied()).collect();
    let figure = |of: fn(&FileState) -> u64| own.map_or(0, of);
    Ok(Some(Session {
        id: id.into(),
        title: one_line_of(&redact(&title_of(reader, id, &summary)?)),
        project: state.project.clone().unwrap_or_default().into(),
        cwd: state.cwd.clone().unwrap_or_default().into(),
        branch: state.branch.clone().unwrap_or_default().into(),
        path: file.path(),
        first: all().filter_map(|state| state.first).min(),
        last: all().filter_map(|state| state.last).max(),
        pauses: figure(|state| state.tally.pauses),
        paused: own.map_or(0, |state| state.tally.paused),
        prompts: figure(|state| state.tally.human),
        messages: figure(|state| state.tally.answers + state.prompts.max(state.tally.human)),
        tool_uses: figure(|state| state.tally.calls),
        files_changed: changed.len(),
        models: models(all()),
        tokens: own.map_or([0; 4], |state| state.tally.tokens),
        agent_tokens: sum(agents.iter().filter(|agent| !is_copy(agent)).map(|agent| agent.state.tally.tokens)),
        size: main.into_iter().chain(agents.iter().copied()).map(|file| file.stat().size.max(file.offset)).sum(),
        agents: agents.into_iter().map(sub_agent).collect(),
        gone: file.gone_since.is_some(),
        agents_only: main.is_none(),
        history_only: false,
        background: state.tally.background,
        forked_from: state.forked_from.clone().filter(|from| from != id).map(Untrusted::new),
        continued_in: state.continued_in.clone().map(Untrusted::new),
        continues: None,
        entrypoint: state.entrypoint.clone().unwrap_or_default().into(),
    }))
}

/// A session of which only prompts are left.
fn of_history(id: &str, prompts: &[Document]) -> Option<Session> {
    let first = prompts.first().filter(|_| !id.is_empty())?;
    Some(Session {
        id: id.into(),
        title: one_line_of(&redact(&first.text)),
        project: first.project.clone().unwrap_or_default().into(),
        first: prompts.iter().filter_map(|prompt| prompt.timestamp).min(),
        last: prompts.iter().filter_map(|prompt| prompt.timestamp).max(),
        prompts: prompts.len() as u64,
        messages: prompts.len() as u64,
        gone: true,
        history_only: true,
        ..Session::default()
    })
}

fn sub_agent(file: &Checkpoint) -> SubAgent {
    let state = &file.state;
    let title = state.title().or(state.first_prompt.as_deref()).unwrap_or_default();
    SubAgent {
        id: file.agent_id().unwrap_or_default().into(),
        title: one_line_of(&redact(title)),
        kind: state.agent_type.clone().unwrap_or_default().into(),
        first: state.first,
        last: state.last,
        answers: state.tally.answers,
        tool_uses: state.tally.calls,
        tokens: if is_copy(file) { [0; 4] } else { state.tally.tokens },
        size: file.stat().size,
    }
}

/// Whether a subagent's transcript is a copy of its parent's with little added: its tokens were counted there.
fn is_copy(agent: &Checkpoint) -> bool {
    agent.agent_id().is_some_and(|id| id.starts_with("acompact") || id.starts_with("aside_question"))
}

fn models<'s>(states: impl Iterator<Item = &'s FileState>) -> Vec<Untrusted> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (model, number) in states.flat_map(|state| &state.tally.models) {
        *counts.entry(model).or_default() += number;
    }
    let mut models: Vec<(&str, u64)> = counts.into_iter().collect();
    models.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    models.into_iter().map(|(model, _)| model.into()).collect()
}

fn sum(of: impl Iterator<Item = [u64; 4]>) -> [u64; 4] {
    of.fold([0; 4], |mut total, one| {
        total.iter_mut().zip(one).for_each(|(total, one)| *total += one);
        total
    })
}

/// By what sessions are put in order.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Order {
    /// The one in which something was said last comes first.
    #[default]
    Newest,
    /// The one that began last comes first.
    Started,
    /// The longest first.
    Length,
    /// The one with most prompts first.
    Prompts,
    /// The one with most messages first.
    Messages,
    /// The one with most tool calls first.
    Tools,
    /// The one that changed most files first.
    Files,
    /// The one with most subagents first.
    Agents,
    /// The one with most tokens first.
    Tokens,
    /// The largest first.
    Size,
    /// By title.
    Title,
    /// By project.
    Project,
}

impl Order {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); 12] = [
        (Self::Newest, "newest"),
        (Self::Started, "started"),
        (Self::Length, "length"),
        (Self::Prompts, "prompts"),
        (Self::Messages, "messages"),
        (Self::Tools, "tools"),
        (Self::Files, "files"),
        (Self::Agents, "agents"),
        (Self::Tokens, "tokens"),
        (Self::Size, "size"),
        (Self::Title, "title"),
        (Self::Project, "project"),
    ];
}

/// Puts sessions in order; equal ones stay as they were.
pub fn sort(sessions: &mut [Session], order: Order) {
    let most = |number: u64| std::cmp::Reverse(i128::from(number));
    match order {
        Order::Newest => sessions.sort_by_key(|session| std::cmp::Reverse(session.last)),
        Order::Started => sessions.sort_by_key(|session| std::cmp::Reverse(session.first)),
        Order::Length => sessions.sort_by_key(|session| std::cmp::Reverse(session.length())),
        Order::Prompts => sessions.sort_by_key(|session| most(session.prompts)),
        Order::Messages => sessions.sort_by_key(|session| most(session.messages)),
        Order::Tools => sessions.sort_by_key(|session| most(session.tool_uses)),
        Order::Files => sessions.sort_by_key(|session| most(session.files_changed as u64)),
        Order::Agents => sessions.sort_by_key(|session| most(session.agents.len() as u64)),
        Order::Tokens => sessions.sort_by_key(|session| most(session.all_tokens())),
        Order::Size => sessions.sort_by_key(|session| most(session.size)),
        Order::Title => sessions.sort_by_key(|session| session.title.raw().to_lowercase()),
        Order::Project => sessions.sort_by_key(|session| session.project.raw().to_lowercase()),
    }
}
