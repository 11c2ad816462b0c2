//! A transcript as the conversation that happened: in order, tool calls with their results, messages that a rewind left
//! behind folded away.
//!
//! The order and the folds are known before any text is read, so the first screen of a session of any length is there at
//! once. The rest is read while it is shown.

mod message;
mod target;
mod plan;
pub(crate) mod reading;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::archive::note::Note;
use crate::archive::request::{Context, ConversationRequest, Filters, SearchRequest};
use crate::archive::search::search;
use crate::archive::session_info::agent_title;
use crate::archive::sessions::Session;
use crate::archive::tool_pairs;
use crate::document::{Document, Kind, Role};
use crate::error::{Error, ErrorKind, Result};
use crate::index::{Checkpoint, FileKey, Reader, Step};
use crate::query::Query;
use crate::redact::redact;
use crate::transcript::discover::SourceKind;
use crate::untrusted::Untrusted;
pub use message::Message;
use plan::{Plan, Planned};
pub use reading::{Block, BlockSort, BlockText, Reading};
pub(crate) use target::resolve;
pub use target::{SHORTEST_ID, Target};

/// Documents after a call in which its result is looked for.
const AHEAD: usize = 256;
/// Documents before the first one shown that are read too, because results among those shown may belong to their calls.
const BEHIND: usize = 4 * AHEAD;
/// Bytes of text after which no further message is read ahead.
const AHEAD_BYTES: usize = 16 << 20;

/// A subagent that was sent from a conversation.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Agent {
    /// Its id.
    #[serde(rename = "agent_id")]
    pub id: String,
    /// What it was sent to do.
    pub title: String,
    /// Its answers.
    pub answers: u64,
    /// Its tool calls.
    pub tool_uses: u64,
    /// The time of its first message.
    #[serde(skip)]
    pub first: Option<i64>,
    /// Its file.
    #[serde(skip)]
    key: Option<FileKey>,
}

/// A piece of a conversation.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "one at a time, and most are the large one")]
pub enum Piece {
    /// A message.
    Message(Message),
    /// A tool call with its result.
    ToolCall {
        /// The call.
        call: Message,
        /// The result, if there is one nearby.
        result: Option<Message>,
        /// The subagent that was sent by the call.
        agent: Option<Agent>,
    },
    /// Messages of a subagent that are in its parent's file, left out.
    Inner {
        /// Their number.
        messages: usize,
    },
    /// Messages left behind by a rewind, left out.
    Abandoned {
        /// Their number.
        messages: usize,
        /// Their first line.
        from: u64,
    },
    /// Messages before the first one shown.
    Earlier {
        /// Their number.
        messages: usize,
    },
    /// Messages after the last one shown.
    Later {
        /// Their number.
        messages: usize,
    },
    /// A conversation begins that does not follow from what was said before.
    NewStart,
}

/// A piece, and how deep it is in conversations of subagents.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Turn {
    /// 0 in the session itself, 1 in its subagents, and so on.
    pub depth: usize,
    /// The piece.
    #[serde(flatten)]
    pub piece: Piece,
}

/// The answer to a question for a conversation. Its turns are read while they are shown, so the first screen of a session
/// of any length is there at once.
pub struct ConversationAnswer {
    /// The session.
    pub session: Session,
    /// The session, subagent and message that the request means.
    pub target: Target,
    /// The subagents, where the session has no transcript of its own.
    pub agents: Vec<Agent>,
    /// The words of the query, as the index knows them.
    pub marked: Vec<String>,
    /// What has to be said about it.
    pub notes: Vec<Note>,
    /// The line of the message that was asked for.
    pub place: Option<u64>,
    /// The lines of all messages, in order. Results and reasoning do not count as messages.
    pub lines: Vec<u64>,
    /// The turns, in order.
    pub turns: Box<dyn Iterator<Item = Result<Turn>> + Send>,
}

impl std::fmt::Debug for ConversationAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConversationAnswer").field("target", &self.target).finish_non_exhaustive()
    }
}

/// Messages to show before the one that was asked for.
const BEFORE: usize = 10;

/// Opens a conversation.
pub(crate) fn answer(
    reader: &Arc<Reader>,
    request: &ConversationRequest,
    context: &Context,
) -> Result<ConversationAnswer> {
    let mut notes = Vec::new();
    let mut target = resolve(reader, &request.id)?;
    if let Some(around) = &request.around {
        let message = resolve(reader, around)?;
        target = Target { uuid: message.uuid, agent: message.agent, ..target };
    }
    let mut marked = Vec::new();
    if let Some(text) = &request.query {
        let query = Query::parse(text, &context.query_context())?;
        marked = query.terms().map(str::to_string).collect();
        match best_hit(reader, &target, text, context)? {
            Some(hit) => target = hit,
            None => notes.push(Note::NothingInSession { query: query.text }),
        }
    }
    let conversation = Conversation::open(reader, &target)?;
    let place = target.uuid.as_deref().map(|uuid| conversation.place_of(uuid)).transpose()?.flatten();
    let (before, after) = request.context.map_or((BEFORE, 0), |around| (around.max(1), around.max(1)));
    let scope = Scope {
        meta: request.meta,
        abandoned: request.abandoned,
        inner: request.agents,
        before,
        after,
        from: request.from,
        reveal: request.reveal,
    };
    let lines = conversation.plan(scope).lines();
    let agents = if conversation.file.is_none() { conversation.agents().collect() } else { Vec::new() };
    let turns = Box::new(Nested::new(&conversation, place, scope));
    let session = Session::find(reader, &target.session)?;
    Ok(ConversationAnswer { session, target, agents, marked, notes, place, lines, turns })
}

/// Returns the message of a session that matches a query best.
fn best_hit(reader: &Reader, target: &Target, query: &str, context: &Context) -> Result<Option<Target>> {
    let request = SearchRequest {
        text: Some(query.to_string()),
        filters: Filters { session: vec![target.session.clone()], include_current: true, ..Filters::default() },
        limit: Some(50),
        messages: true,
        ..SearchRequest::default()
    };
    let found = search(reader, &request, context)?;
    let raw = |text: &Option<Untrusted>| text.as_ref().map(|text| text.raw().to_string());
    let hits = found.sessions.iter().flat_map(|session| &session.hits);
    let fits = |agent: &Option<String>| target.agent.is_none() || *agent == target.agent;
    let targets = hits.map(|hit| (raw(&hit.agent), raw(&hit.uuid)));
    let best = targets.into_iter().find(|(agent, uuid)| uuid.is_some() && fits(agent));
    Ok(best.map(|(agent, uuid)| Target { session: target.session.clone(), agent, uuid }))
}

/// The parts of a conversation to show.
#[derive(Clone, Copy, Debug, Default)]
struct Scope {
    /// Include text that Claude Code itself put in.
    meta: bool,
    /// Include messages that a rewind left behind.
    abandoned: bool,
    /// Include messages of subagents.
    inner: bool,
    /// Begin this many messages before the place asked for; 0 for the beginning of the conversation.
    before: usize,
    /// End this many messages after it; 0 for the end of the conversation.
    after: usize,
    /// Begin with this line.
    from: Option<u64>,
    /// Show secrets.
    reveal: bool,
}

/// The conversation of one file.
#[derive(Debug)]
struct Conversation {
    reader: Arc<Reader>,
    /// The file; none if the session is only known from the prompt history.
    file: Option<Checkpoint>,
    steps: Vec<Step>,
    agents: Vec<Checkpoint>,
    /// Set if this is a subagent, read from the file of its parent.
    is_seen: bool,
}

impl Conversation {
    /// Opens the conversation of a session or subagent.
    fn open(reader: &Arc<Reader>, target: &Target) -> Result<Self> {
        let mut files = reader.files_of_session(&target.session)?;
        let wanted = |file: &Checkpoint| match &target.agent {
            Some(agent) => file.agent_id() == Some(agent) && file.source_kind() == SourceKind::Agent,
            None => file.source_kind() == SourceKind::Session && !file.forgotten,
        };
        // Two folders may contain the same session. Show the file that also gives it its title.
        let all = (0..files.len()).filter(|at| wanted(&files[*at]));
        let main = all.min_by_key(|at| files[*at].summary().rank()).map(|at| files.remove(at));
        if let Some(agent) = &target.agent
            && !Self::has(reader, main.as_ref(), target.uuid.as_deref())?
            && let Some(seen) = Self::seen(reader, &files, agent)?
        {
            return Ok(seen);
        }
        files.retain(|file| file.source_kind() == SourceKind::Agent && !file.forgotten);
        let mut steps = main.as_ref().map(|file| reader.outline(file.key())).transpose()?.unwrap_or_default();
        // If the transcript is empty, its subagents or the prompt history may have something to show.
        let main = main.filter(|file| !(file.summary().is_silent() && (steps.is_empty() || !files.is_empty())));
        if main.is_none() {
            steps = reader.history_of(&target.session)?;
        }
        if main.is_none() && steps.is_empty() && files.is_empty() {
            let what = format!("the index contains nothing of session {}", target.session);
            return Err(Error::new(ErrorKind::NotFound, what));
        }
        Ok(Self { reader: reader.clone(), file: main, steps, agents: files, is_seen: false })
    }

    /// Reports whether a subagent's own transcript contains the wanted message.
    fn has(reader: &Reader, own: Option<&Checkpoint>, uuid: Option<&str>) -> Result<bool> {
        Ok(match (own, uuid) {
            (Some(own), Some(uuid)) => reader.messages_like(uuid)?.iter().any(|(key, _)| *key == own.key()),
            (own, _) => own.is_some(),
        })
    }

    /// Opens the conversation of a subagent from the transcript of its session.
    fn seen(reader: &Arc<Reader>, files: &[Checkpoint], agent: &str) -> Result<Option<Self>> {
        for file in files.iter().filter(|file| file.source_kind() == SourceKind::Session && !file.forgotten) {
            let steps = reader.outline_of_agent(file.key(), agent)?;
            if !steps.is_empty() {
                return Ok(Some(Self {
                    reader: reader.clone(),
                    file: Some(file.clone()),
                    steps,
                    agents: Vec::new(),
                    is_seen: true,
                }));
            }
        }
        Ok(None)
    }

    /// Opens the conversation of a subagent that was sent from another one.
    fn of_agent(reader: &Arc<Reader>, agent: &Agent) -> Result<Self> {
        let steps = agent.key.map(|key| reader.outline(key)).transpose()?.unwrap_or_default();
        let file = agent.key.map(|key| reader.checkpoint(key)).transpose()?.flatten();
        Ok(Self { reader: reader.clone(), file, steps, agents: Vec::new(), is_seen: false })
    }

    /// Returns the subagents of the session.
    fn agents(&self) -> impl Iterator<Item = Agent> + '_ {
        self.agents.iter().map(agent_of)
    }

    /// Returns the line of a message.
    fn place_of(&self, uuid: &str) -> Result<Option<u64>> {
        let Some(file) = &self.file else { return Ok(None) };
        let found = self.reader.messages_like(uuid)?;
        Ok(found.into_iter().find(|(key, _)| *key == file.key()).map(|(_, document)| document.line))
    }

    /// Decides which messages are shown.
    fn plan(&self, scope: Scope) -> Plan {
        let said: HashSet<u64> =
            self.steps.iter().filter(|step| step.kind == Kind::Prompt).map(|step| step.text_hash).collect();
        let inner = scope.inner || self.is_of_agent();
        let scope = Scope { inner, ..scope };
        let mut plan = Plan { scope, said, abandoned: self.abandoned(), steps: Vec::new() };
        plan.take(&self.steps);
        plan
    }

    /// Returns the pieces, from a line on or from the beginning.
    fn pieces(&self, around: Option<u64>, scope: Scope) -> Pieces {
        let mut plan = self.plan(scope);
        match scope.from {
            Some(line) => plan.skip_to(line, BEHIND),
            None => plan.cut(around),
        }
        Pieces {
            reader: self.reader.clone(),
            plan: plan.steps.into(),
            read: VecDeque::new(),
            agents: self.by_prompt(),
            begun: false,
            from: scope.from.unwrap_or(0),
            reveal: scope.reveal,
        }
    }

    /// Reports whether this is the conversation of a subagent, in its own file or in that of its parent.
    fn is_of_agent(&self) -> bool {
        self.is_seen || self.file.as_ref().is_some_and(|file| file.source_kind() == SourceKind::Agent)
    }

    /// Returns the ranges of abandoned lines, in order, without overlaps.
    fn abandoned(&self) -> Vec<(u64, u64)> {
        let mut all = self.file.as_ref().map(|file| file.state.totals.abandoned.clone()).unwrap_or_default();
        all.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for (from, to) in all {
            match merged.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => merged.push((from, to)),
            }
        }
        merged
    }

    /// Returns the subagents by the hash of their prompt.
    fn by_prompt(&self) -> HashMap<u64, Vec<Agent>> {
        let mut found: HashMap<u64, Vec<Agent>> = HashMap::new();
        for file in self.agents.iter().rev() {
            if let Some(prompt) = file.state.totals.sent_by {
                found.entry(prompt).or_default().push(agent_of(file));
            }
        }
        found
    }
}

fn agent_of(file: &Checkpoint) -> Agent {
    let state = &file.state;
    let title = redact(agent_title(state)).into_owned();
    let id = file.agent_id().unwrap_or_default().to_string();
    Agent {
        id,
        title,
        answers: state.totals.answers,
        tool_uses: state.totals.calls,
        first: file.summary().first,
        key: Some(file.key()),
    }
}

/// The places of the messages of a conversation, without their texts.
#[derive(Debug)]
pub(super) struct Places {
    /// The documents that the conversation shows, in order.
    pub(super) steps: Vec<Step>,
    /// The number of messages that a rewind left behind.
    pub(super) abandoned: usize,
    /// The subagents by the hash of their prompt, the first one last.
    pub(super) agents: HashMap<u64, Vec<Agent>>,
}

/// Returns the places of the messages of a conversation.
pub(super) fn places(reader: &Arc<Reader>, target: &Target) -> Result<Places> {
    let conversation = Conversation::open(reader, target)?;
    let mut places = Places { steps: Vec::new(), abandoned: 0, agents: conversation.by_prompt() };
    for planned in conversation.plan(Scope::default()).steps {
        match planned {
            Planned::Read(step) => places.steps.push(step),
            Planned::Fold(Piece::Abandoned { messages, .. }) => places.abandoned += messages,
            Planned::Fold(_) => {}
        }
    }
    Ok(places)
}

/// Reads a conversation piece by piece.
#[derive(Debug)]
struct Pieces {
    reader: Arc<Reader>,
    plan: VecDeque<Planned>,
    /// Documents that were read ahead to find results.
    read: VecDeque<Ahead>,
    agents: HashMap<u64, Vec<Agent>>,
    begun: bool,
    /// Pieces before this line are read but not returned.
    from: u64,
    reveal: bool,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one of them")]
enum Ahead {
    Document(Box<Document>),
    Fold(Piece),
}

impl Ahead {
    fn bytes(&self) -> usize {
        match self {
            Self::Document(document) => document.text.len() + document.input.as_ref().map_or(0, String::len),
            Self::Fold(_) => 0,
        }
    }
}

impl Iterator for Pieces {
    type Item = Result<Piece>;

    fn next(&mut self) -> Option<Result<Piece>> {
        loop {
            match self.next_read()? {
                Ok((line, _)) if line < self.from => {}
                piece => return Some(piece.map(|(_, piece)| piece)),
            }
        }
    }
}

impl Pieces {
    /// Returns the next piece that was planned, with its line. Folds are at the line of the message after them.
    fn next_read(&mut self) -> Option<Result<(u64, Piece)>> {
        if let Err(error) = self.read_ahead() {
            return Some(Err(error));
        }
        match self.read.pop_front()? {
            Ahead::Fold(piece) => {
                self.begun = true;
                let is_count = matches!(piece, Piece::Earlier { .. });
                Some(Ok((if is_count { self.from } else { self.next_line() }, piece)))
            }
            Ahead::Document(document) => {
                let line = document.line;
                if self.begun && is_new_start(&document) {
                    self.begun = false;
                    self.read.push_front(Ahead::Document(document));
                    return Some(Ok((line, Piece::NewStart)));
                }
                self.begun = true;
                Some(Ok((line, self.piece(*document))))
            }
        }
    }

    /// Returns the line of the next message.
    fn next_line(&self) -> u64 {
        let ahead = self.read.iter().find_map(|ahead| match ahead {
            Ahead::Document(document) => Some(document.line),
            Ahead::Fold(_) => None,
        });
        let planned = || {
            self.plan.iter().find_map(|planned| match planned {
                Planned::Read(step) => Some(step.line),
                Planned::Fold(_) => None,
            })
        };
        ahead.or_else(planned).unwrap_or(u64::MAX)
    }

    /// Reads at least one entry. The last one may be the beginning of a long text; all others are complete.
    fn read_ahead(&mut self) -> Result<()> {
        while self.read.len() < AHEAD {
            let before = self.read.len();
            match self.plan.pop_front() {
                None => break,
                Some(Planned::Fold(piece)) => self.read.push_back(Ahead::Fold(piece)),
                Some(Planned::Read(step)) => {
                    let document = self.reader.read(&step)?;
                    self.queue(document);
                }
            }
            let is_new = self.read.len() > before.max(1);
            if is_new && self.read.iter().map(Ahead::bytes).sum::<usize>() > AHEAD_BYTES {
                break;
            }
        }
        Ok(())
    }

    /// Appends a document. Joins the pieces of a long text.
    fn queue(&mut self, document: Document) {
        if let Some(Ahead::Document(last)) = self.read.back_mut()
            && tool_pairs::continues(&document, last)
        {
            return tool_pairs::append(last, &document);
        }
        self.read.push_back(Ahead::Document(Box::new(document)));
    }

    fn piece(&mut self, document: Document) -> Piece {
        if document.kind != Kind::ToolUse {
            return Piece::Message(Message::new(document, self.reveal));
        }
        let is_answer = |ahead: &Ahead| match ahead {
            Ahead::Document(later) => tool_pairs::answers(later, &document),
            Ahead::Fold(_) => false,
        };
        let result = match self.read.iter().position(is_answer).and_then(|at| self.read.remove(at)) {
            Some(Ahead::Document(result)) => Some(*result),
            _ => None,
        };
        let agent = document.text_hash.and_then(|prompt| self.agents.get_mut(&prompt)).and_then(Vec::pop);
        let result = result.map(|result| Message::new(result, self.reveal));
        Piece::ToolCall { call: Message::new(document, self.reveal), result, agent }
    }
}

/// A conversation that includes those of its subagents where they were sent.
#[derive(Debug)]
struct Nested {
    reader: Arc<Reader>,
    scope: Scope,
    open: Vec<Pieces>,
}

impl Nested {
    /// Starts with a conversation.
    fn new(conversation: &Conversation, around: Option<u64>, scope: Scope) -> Self {
        Self { reader: conversation.reader.clone(), scope, open: vec![conversation.pieces(around, scope)] }
    }

    /// Enters the conversation of a subagent, if that is wanted.
    fn enter(&mut self, piece: &Piece) -> Result<()> {
        if let Piece::ToolCall { agent: Some(agent), .. } = piece
            && self.scope.inner
        {
            let scope = Scope { from: None, ..self.scope };
            self.open.push(Conversation::of_agent(&self.reader, agent)?.pieces(None, scope));
        }
        Ok(())
    }
}

impl Iterator for Nested {
    type Item = Result<Turn>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let depth = self.open.len().checked_sub(1)?;
            match self.open[depth].next() {
                None => drop(self.open.pop()),
                Some(piece) => {
                    return Some(piece.and_then(|piece| {
                        self.enter(&piece)?;
                        Ok(Turn { depth, piece })
                    }));
                }
            }
        }
    }
}

fn is_new_start(document: &Document) -> bool {
    let is_turn = matches!(document.kind, Kind::Prompt | Kind::Command) && document.role != Role::Subagent;
    is_turn && document.uuid.is_some() && document.parent.is_none()
}
