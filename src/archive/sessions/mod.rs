//! The list of sessions, built from the checkpoints of their files. No message text is read.

mod order;
mod shared;
mod listing;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use crate::archive::filters;
use crate::archive::note::Note;
use crate::archive::request::{Context, Order, SessionsRequest};
use crate::archive::search::unknown_name;
use crate::archive::serialize::{lossy_path, rfc3339};
use crate::archive::title::{agent_title, one_line_of, title_of};
use crate::document::{Document, FileState, InlineAgent, Totals};
use crate::error::{Error, ErrorKind, Result};
use crate::index::{Checkpoint, Reader, SessionFiles};
use crate::redact::redact;
use crate::transcript::discover::SourceKind;
use crate::untrusted::Untrusted;
use listing::Listing;
use order::sort;

/// A session and its statistics.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct Session {
    /// Its id.
    #[serde(rename = "session_id")]
    pub id: Untrusted,
    /// Its title.
    pub title: Untrusted,
    /// The folder it was started in.
    pub project: Untrusted,
    /// The folder it was in last.
    pub cwd: Untrusted,
    /// Its last git branch.
    pub branch: Untrusted,
    /// Its transcript.
    #[serde(serialize_with = "lossy_path")]
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// The time of its first message, as RFC 3339 in UTC.
    #[serde(rename = "started", serialize_with = "rfc3339")]
    #[schemars(with = "Option<String>")]
    pub first: Option<i64>,
    /// The time of its last message, as RFC 3339 in UTC.
    #[serde(rename = "ended", serialize_with = "rfc3339")]
    #[schemars(with = "Option<String>")]
    pub last: Option<i64>,
    /// The time between them, in milliseconds.
    pub length_ms: i64,
    /// The number of times that it continued after a pause of more than an hour.
    #[serde(rename = "resumptions")]
    pub pauses: u64,
    /// The total length of these pauses, in milliseconds.
    #[serde(rename = "idle_ms")]
    pub paused: i64,
    /// The number of prompts by a human.
    pub prompts: u64,
    /// The number of prompts by a human or program, and of answers of the API.
    pub messages: u64,
    /// The number of tool calls, without those of subagents.
    pub tool_uses: u64,
    /// The number of files changed, also by subagents.
    pub files_changed: usize,
    /// The models, most used first.
    pub models: Vec<Untrusted>,
    /// Tokens of the session itself: input, cache write, cache read, output.
    #[serde(serialize_with = "token_counts")]
    #[schemars(with = "TokenCounts")]
    pub tokens: [u64; 4],
    /// The part of `tokens` that belongs to messages of an earlier session. Totals leave it out.
    #[serde(serialize_with = "token_counts")]
    #[schemars(with = "TokenCounts")]
    pub shared_tokens: [u64; 4],
    /// Tokens of its subagents.
    #[serde(serialize_with = "token_counts")]
    #[schemars(with = "TokenCounts")]
    pub agent_tokens: [u64; 4],
    /// The size of its transcript and those of its subagents, in bytes.
    #[serde(rename = "bytes")]
    pub size: u64,
    /// Set if Claude Code has deleted its transcript.
    #[serde(rename = "source_missing")]
    pub gone: bool,
    /// Set if only transcripts of its subagents are known.
    pub agents_only: bool,
    /// Set if only its prompts are known, from the prompt history.
    pub history_only: bool,
    /// Set if it ran in the background.
    pub background: bool,
    /// The session it was forked from.
    pub forked_from: Option<Untrusted>,
    /// The earlier session that this one continues.
    pub continues: Option<Untrusted>,
    /// The later session that continues this one.
    pub continued_in: Option<Untrusted>,
    /// The sessions that contain some of the same messages, those with the most first.
    pub shared: Vec<Shared>,
    /// The way Claude Code was started: its entrypoint.
    pub entrypoint: Untrusted,
    /// The subagents.
    pub agents: Vec<SubAgent>,
}

/// Another session with some of the same messages.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Shared {
    /// The other session.
    #[serde(rename = "session_id")]
    pub session: Untrusted,
    /// The number of messages in both.
    pub messages: u64,
    /// The way the two belong together.
    pub relation: Relation,
}

/// The way in which a session belongs to another one with some of the same messages.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// It contains all messages of the other one.
    Continues,
    /// The other one contains all its messages.
    ContinuedIn,
    /// Both went on, and the other one is the original.
    ForkedFrom,
    /// Both went on, and this one is the original.
    ForkedInto,
}

/// A subagent of a session.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct SubAgent {
    /// Its id.
    #[serde(rename = "agent_id")]
    pub id: Untrusted,
    /// Its task.
    pub title: Untrusted,
    /// Its type.
    pub kind: Untrusted,
    /// The time of its first message, as RFC 3339 in UTC.
    #[serde(rename = "started", serialize_with = "rfc3339")]
    #[schemars(with = "Option<String>")]
    pub first: Option<i64>,
    /// The time of its last message, as RFC 3339 in UTC.
    #[serde(rename = "ended", serialize_with = "rfc3339")]
    #[schemars(with = "Option<String>")]
    pub last: Option<i64>,
    /// The number of its answers.
    pub answers: u64,
    /// The number of its tool calls.
    pub tool_uses: u64,
    /// Its tokens.
    #[serde(serialize_with = "token_counts")]
    #[schemars(with = "TokenCounts")]
    pub tokens: [u64; 4],
    /// The size of its transcript, in bytes.
    #[serde(rename = "bytes")]
    pub size: u64,
}

/// Numbers of tokens by type.
#[derive(JsonSchema, Serialize)]
struct TokenCounts {
    input: u64,
    cache_write: u64,
    cache_read: u64,
    output: u64,
}

fn token_counts<S: serde::Serializer>(tokens: &[u64; 4], to: S) -> std::result::Result<S::Ok, S::Error> {
    let [input, cache_write, cache_read, output] = *tokens;
    TokenCounts { input, cache_write, cache_read, output }.serialize(to)
}

/// The answer to a request for sessions.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SessionsAnswer {
    /// The sessions, in the order that was asked for.
    pub sessions: Vec<Session>,
    /// The number of sessions that match, listed or not.
    pub total: usize,
    /// The number of sessions before the first one listed.
    pub skipped: usize,
    /// Remarks about the answer.
    pub notes: Vec<Note>,
}

impl Session {
    /// Returns the session with this id.
    pub(crate) fn find(reader: &Reader, id: &str) -> Result<Self> {
        let files = reader.files_of_session(id)?;
        from_files_or_history(reader, id, &files.iter().collect::<Vec<_>>())?.ok_or_else(|| unknown_session(id))
    }

    /// Returns the number of all tokens of the session and its subagents, without those that an earlier session counts.
    pub fn all_tokens(&self) -> u64 {
        let all: u64 = self.tokens.iter().chain(&self.agent_tokens).sum();
        all.saturating_sub(self.shared_tokens.iter().sum())
    }
}

fn unknown_session(id: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("the index contains nothing of session {id}"))
}

/// Lists sessions.
pub(crate) fn answer(reader: &Reader, request: &SessionsRequest, context: &Context) -> Result<SessionsAnswer> {
    let filter = filters::filter(&request.filters, context)?;
    let mut listing = Listing::new(reader, &filter)?;
    let total = listing.total();
    if request.order != Order::Newest || request.reverse {
        listing.describe(usize::MAX)?;
        sort(&mut listing.sessions, request.order);
        if request.reverse {
            listing.sessions.reverse();
        }
    }
    let after = request.after.as_deref().map(|id| listing.position(id)).transpose()?.flatten();
    let skipped = after.map_or(0, |at| at + 1);
    let end = skipped.saturating_add(request.limit.unwrap_or(usize::MAX)).min(total);
    listing.describe(end)?;
    listing.link(skipped..end)?;
    let mut notes: Vec<Note> = reader.unknown_names(&filter)?.into_iter().map(unknown_name).collect();
    if total == 0 {
        notes.push(Note::NoSessions { filtered: !filter.is_empty() });
        notes.extend(filters::unmatched_patterns(&filter.conditions)?);
    }
    let sessions = listing.sessions.drain(skipped..end).collect();
    Ok(SessionsAnswer { sessions, total, skipped, notes })
}

/// Returns the time between two times, or 0 if one is unknown.
fn length(first: Option<i64>, last: Option<i64>) -> i64 {
    last.zip(first).map_or(0, |(last, first)| last - first)
}

/// Describes sessions from their files.
fn describe_all(reader: &Reader, all: &[SessionFiles]) -> Result<Vec<Session>> {
    let describe = |files: &SessionFiles| {
        let files = reader.checkpoints_of(files)?;
        let id = files.first().map_or("", |file| file.session_id());
        from_files_or_history(reader, id, &files.iter().collect::<Vec<_>>())
    };
    let described = all.par_iter().map(describe).collect::<Result<Vec<_>>>()?;
    Ok(described.into_iter().flatten().collect())
}

/// Describes a session from its files, or else from the prompt history.
fn from_files_or_history(reader: &Reader, id: &str, files: &[&Checkpoint]) -> Result<Option<Session>> {
    if let Some(session) = from_files(reader, id, files)? {
        return Ok(Some(session));
    }
    let prompts = reader.history_of(id)?.iter().map(|step| reader.read(step)).collect::<Result<Vec<_>>>()?;
    Ok(from_history(id, &prompts))
}

/// Describes a session from its files. Returns `None` if they contain nothing worth listing.
fn from_files(reader: &Reader, id: &str, files: &[&Checkpoint]) -> Result<Option<Session>> {
    let of_kind = |kind| files.iter().copied().filter(move |file| file.source_kind() == kind && !file.forgotten);
    let agents: Vec<&Checkpoint> = of_kind(SourceKind::Agent).collect();
    let both = of_kind(SourceKind::Session).chain(agents.iter().copied());
    let both = both.filter(|file| !agents.is_empty() || file.is_worth_listing());
    let best = both.map(|file| (file.summary(), file)).min_by_key(|(summary, _)| summary.rank());
    let Some((summary, file)) = best.filter(|_| !id.is_empty()) else { return Ok(None) };
    let main = Some(file).filter(|file| file.source_kind() == SourceKind::Session);
    let state = &file.state;
    let own = main.map(|file| &file.state);
    let all = || own.into_iter().chain(agents.iter().map(|file| &file.state));
    let changed: BTreeSet<u64> = all().flat_map(|state| state.totals.changed.iter().copied()).collect();
    let inline = || own.into_iter().flat_map(|state| &state.inline_agents.agents);
    let own_count = |of: fn(&FileState) -> u64| own.map_or(0, of);
    // A transcript with only a title does not name its folder, but those of its subagents do.
    let place = |of: fn(&FileState) -> &Option<String>| -> Untrusted {
        std::iter::once(state).chain(all()).find_map(|state| of(state).clone()).unwrap_or_default().into()
    };
    let (first, last) = (all().filter_map(|state| state.first).min(), all().filter_map(|state| state.last).max());
    Ok(Some(Session {
        id: id.into(),
        title: one_line_of(&redact(&title_of(reader, id, &summary)?)),
        project: place(|state| &state.project),
        cwd: place(|state| &state.cwd),
        branch: place(|state| &state.branch),
        path: file.path(),
        first,
        last,
        length_ms: length(first, last),
        pauses: own_count(|state| state.totals.pauses),
        paused: own.map_or(0, |state| state.totals.paused),
        prompts: own_count(|state| state.totals.human),
        messages: own_count(|state| state.totals.answers + state.prompts.max(state.totals.human)),
        tool_uses: own_count(|state| state.totals.calls),
        files_changed: changed.len(),
        models: models(all().map(|state| &state.totals).chain(inline().map(|agent| &agent.totals))),
        tokens: own.map_or([0; 4], |state| state.totals.tokens),
        shared_tokens: [0; 4],
        agent_tokens: sum(agents
            .iter()
            .filter(|agent| !is_copy(agent))
            .map(|agent| agent.state.totals.tokens)
            .chain(inline().map(|agent| agent.totals.tokens))),
        size: main.into_iter().chain(agents.iter().copied()).map(|file| file.stat().size.max(file.offset)).sum(),
        agents: agents.iter().copied().map(sub_agent).chain(inline().map(inline_agent)).collect(),
        gone: file.gone_since.is_some(),
        agents_only: main.is_none(),
        history_only: false,
        background: state.totals.background,
        forked_from: state.forked_from.clone().filter(|from| from != id).map(Untrusted::new),
        continued_in: state.continued_in.clone().map(Untrusted::new),
        continues: None,
        shared: Vec::new(),
        entrypoint: state.entrypoint.clone().unwrap_or_default().into(),
    }))
}

/// Describes a session from the prompt history, if only its prompts are left.
fn from_history(id: &str, prompts: &[Document]) -> Option<Session> {
    let first = prompts.first().filter(|_| !id.is_empty())?;
    let times = || prompts.iter().filter_map(|prompt| prompt.timestamp);
    Some(Session {
        id: id.into(),
        title: one_line_of(&redact(&first.text)),
        project: first.project.clone().unwrap_or_default().into(),
        first: times().min(),
        last: times().max(),
        length_ms: length(times().min(), times().max()),
        prompts: prompts.len() as u64,
        messages: prompts.len() as u64,
        gone: true,
        history_only: true,
        ..Session::default()
    })
}

fn sub_agent(file: &Checkpoint) -> SubAgent {
    let state = &file.state;
    let title = agent_title(state);
    SubAgent {
        id: file.agent_id().unwrap_or_default().into(),
        title: one_line_of(title),
        kind: state.agent_type.clone().unwrap_or_default().into(),
        first: state.first,
        last: state.last,
        answers: state.totals.answers,
        tool_uses: state.totals.calls,
        tokens: if is_copy(file) { [0; 4] } else { state.totals.tokens },
        size: file.stat().size,
    }
}

/// Describes a subagent without a file of its own. Its id is that of its first message, which `show` takes.
fn inline_agent(agent: &InlineAgent) -> SubAgent {
    SubAgent {
        id: agent.first_message.as_str().into(),
        title: one_line_of(&agent.title),
        kind: Untrusted::default(),
        first: agent.first,
        last: agent.last,
        answers: agent.totals.answers,
        tool_uses: agent.totals.calls,
        tokens: agent.totals.tokens,
        size: 0,
    }
}

/// Reports whether a subagent's transcript is a copy of its parent's with little added. Its tokens are already counted
/// in the parent.
fn is_copy(agent: &Checkpoint) -> bool {
    agent.agent_id().is_some_and(|id| id.starts_with("acompact") || id.starts_with("aside_question"))
}

/// Returns the models, most used first.
fn models<'s>(totals: impl Iterator<Item = &'s Totals>) -> Vec<Untrusted> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (model, number) in totals.flat_map(|totals| &totals.models) {
        *counts.entry(model).or_default() += number;
    }
    let mut models: Vec<(&str, u64)> = counts.into_iter().collect();
    models.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    models.into_iter().map(|(model, _)| model.into()).collect()
}

fn sum(counts: impl Iterator<Item = [u64; 4]>) -> [u64; 4] {
    counts.fold([0; 4], |mut total, count| {
        total.iter_mut().zip(count).for_each(|(total, count)| *total += count);
        total
    })
}
