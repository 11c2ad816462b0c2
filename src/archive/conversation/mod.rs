//! A transcript as the conversation that happened: in order, calls with their results, what a rewind left behind
//! folded away.
//!
//! The order and the folds are known before any text is read, so the first screen of a session of any length is
//! there at once; the rest is read while it is shown.

mod plan;
mod target;

use std::collections::{HashMap, HashSet, VecDeque};

use crate::document::{Document, Kind, Role};
use crate::error::{Error, ErrorKind, Result};
use crate::index::{Checkpoint, FileKey, Reader, Step};
use crate::transcript::discover::SourceKind;
use plan::{Plan, Planned};
pub use target::{SHORTEST_ID, Target, resolve};

/// How far behind a call its result is looked for, in documents.
const AHEAD: usize = 256;

/// A subagent that was sent from a conversation.
#[derive(Clone, Debug)]
pub struct Agent {
    /// Its id.
    pub id: String,
    /// What it was sent to do.
    pub title: String,
    /// Its answers.
    pub answers: u64,
    /// Its tool calls.
    pub tool_uses: u64,
    /// Its file.
    pub key: FileKey,
}

/// A piece of a conversation.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one at a time, and most are the large one")]
pub enum Piece {
    /// Somebody says something.
    Said(Document),
    /// A tool is called, and what it answers.
    Call {
        /// The call.
        call: Document,
        /// The answer, if there is one nearby.
        result: Option<Document>,
        /// The subagent that was sent by the call.
        agent: Option<Agent>,
    },
    /// A subagent's messages that stand in its parent's file.
    Inner {
        /// How many.
        messages: usize,
    },
    /// Messages left behind by a rewind.
    Abandoned {
        /// How many.
        messages: usize,
        /// Their first line.
        from: u64,
    },
    /// Messages before the place where showing begins.
    Earlier {
        /// How many.
        messages: usize,
    },
    /// Messages behind the place where showing ends.
    Later {
        /// How many.
        messages: usize,
    },
    /// A conversation begins that does not follow what was said before.
    NewStart,
}

/// What is shown of a conversation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scope {
    /// Also what Claude Code itself put in.
    pub meta: bool,
    /// Also what a rewind left behind.
    pub abandoned: bool,
    /// Also what subagents say in their parent's file.
    pub inner: bool,
    /// Begin this many messages before the place asked for; 0 for the beginning of the conversation.
    pub before: usize,
    /// End this many messages behind it; 0 for the end of the conversation.
    pub after: usize,
}

/// The conversation of one file.
#[derive(Debug)]
pub struct Conversation<'r> {
    reader: &'r Reader,
    /// The file; none where only the prompt history knows of the session.
    pub file: Option<Checkpoint>,
    steps: Vec<Step>,
    agents: Vec<Checkpoint>,
    /// Whether it is what the file, which is its parent's, has of a subagent.
    is_seen: bool,
}

impl<'r> Conversation<'r> {
    /// Opens the conversation of a session or subagent.
    pub fn open(reader: &'r Reader, target: &Target) -> Result<Self> {
        let mut files = reader.files_of_session(&target.session)?;
        let wanted = |file: &Checkpoint| match &target.agent {
            Some(agent) => file.agent_id() == Some(agent) && file.source_kind() == SourceKind::Agent,
            None => file.source_kind() == SourceKind::Session && !file.forgotten,
        };
        // The same session may stand in two folders; the file that speaks for it elsewhere is shown here too.
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
        // Where a transcript says nothing, its subagents or the prompt history may.
        let main = main.filter(|file| !(file.summary().is_silent() && (steps.is_empty() || !files.is_empty())));
        if main.is_none() {
            steps = reader.history_of(&target.session)?;
        }
        if main.is_none() && steps.is_empty() && files.is_empty() {
            let what = format!("the index holds nothing of session {}", target.session);
            return Err(Error::new(ErrorKind::NotFound, what));
        }
        Ok(Self { reader, file: main, steps, agents: files, is_seen: false })
    }

    /// Whether a subagent's own transcript has what is asked for.
    fn has(reader: &Reader, own: Option<&Checkpoint>, uuid: Option<&str>) -> Result<bool> {
        Ok(match (own, uuid) {
            (Some(own), Some(uuid)) => reader.messages_like(uuid)?.iter().any(|(key, _)| *key == own.key()),
            (own, _) => own.is_some(),
        })
    }

    /// The conversation of a subagent as it stands in the transcript of its session.
    fn seen(reader: &'r Reader, files: &[Checkpoint], agent: &str) -> Result<Option<Self>> {
        for file in files.iter().filter(|file| file.source_kind() == SourceKind::Session && !file.forgotten) {
            let steps = reader.outline_of_agent(file.key(), agent)?;
            if !steps.is_empty() {
                return Ok(Some(Self { reader, file: Some(file.clone()), steps, agents: Vec::new(), is_seen: true }));
            }
        }
        Ok(None)
    }

    /// Opens the conversation of a subagent that was sent from another one.
    pub fn of_agent(reader: &'r Reader, agent: &Agent) -> Result<Self> {
        let file = reader.checkpoint(agent.key)?;
        Ok(Self { reader, file, steps: reader.outline(agent.key)?, agents: Vec::new(), is_seen: false })
    }

    /// The subagents of the session.
    pub fn agents(&self) -> impl Iterator<Item = Agent> + '_ {
        self.agents.iter().map(agent_of)
    }

    /// Where a message stands.
    pub fn place_of(&self, uuid: &str) -> Result<Option<u64>> {
        let Some(file) = &self.file else { return Ok(None) };
        let found = self.reader.messages_like(uuid)?;
        Ok(found.into_iter().find(|(key, _)| *key == file.key()).map(|(_, document)| document.line))
    }

    /// The pieces, from a line on or from the beginning.
    pub fn pieces(&self, around: Option<u64>, scope: Scope) -> Pieces<'r> {
        let said: HashSet<u64> =
            self.steps.iter().filter(|step| step.kind == Kind::Prompt).map(|step| step.text_hash).collect();
        // In a subagent's own file nobody else speaks.
        let is_agents = self.file.as_ref().is_some_and(|file| file.source_kind() == SourceKind::Agent);
        let inner = scope.inner || is_agents || self.is_seen;
        let scope = Scope { inner, ..scope };
        let mut plan = Plan { scope, said, abandoned: self.abandoned(), steps: Vec::new() };
        plan.take(&self.steps);
        plan.cut(around);
        Pieces {
            reader: self.reader,
            plan: plan.steps.into(),
            read: VecDeque::new(),
            agents: self.by_prompt(),
            begun: false,
        }
    }

    /// The lines left behind, in order, without overlaps.
    fn abandoned(&self) -> Vec<(u64, u64)> {
        let mut all = self.file.as_ref().map(|file| file.state.tally.abandoned.clone()).unwrap_or_default();
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

    /// Subagents by the fingerprint of what they were told.
    fn by_prompt(&self) -> HashMap<u64, Vec<Agent>> {
        let mut found: HashMap<u64, Vec<Agent>> = HashMap::new();
        for file in self.agents.iter().rev() {
            if let Some(prompt) = file.state.tally.sent_by {
                found.entry(prompt).or_default().push(agent_of(file));
            }
        }
        found
    }
}

fn agent_of(file: &Checkpoint) -> Agent {
    let state = &file.state;
    let title = state.title().or(state.first_prompt.as_deref()).unwrap_or_default().to_string();
    let id = file.agent_id().unwrap_or_default().to_string();
    Agent { id, title, answers: state.tally.answers, tool_uses: state.tally.calls, key: file.key() }
}

/// Reads a conversation piece by piece.
#[derive(Debug)]
pub struct Pieces<'r> {
    reader: &'r Reader,
    plan: VecDeque<Planned>,
    /// What was read ahead, to find results.
    read: VecDeque<Ahead>,
    agents: HashMap<u64, Vec<Agent>>,
    begun: bool,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one of them")]
enum Ahead {
    Document(Box<Document>),
    Fold(Piece),
}

impl Iterator for Pieces<'_> {
    type Item = Result<Piece>;

    fn next(&mut self) -> Option<Result<Piece>> {
        if let Err(error) = self.read_ahead() {
            return Some(Err(error));
        }
        match self.read.pop_front()? {
            Ahead::Fold(piece) => {
                self.begun = true;
                Some(Ok(piece))
            }
            Ahead::Document(document) => {
                if self.begun && is_new_start(&document) {
                    self.begun = false;
                    self.read.push_front(Ahead::Document(document));
                    return Some(Ok(Piece::NewStart));
                }
                self.begun = true;
                Some(Ok(self.piece(*document)))
            }
        }
    }
}

impl Pieces<'_> {
    fn read_ahead(&mut self) -> Result<()> {
        while self.read.len() < AHEAD {
            match self.plan.pop_front() {
                None => break,
                Some(Planned::Fold(piece)) => self.read.push_back(Ahead::Fold(piece)),
                Some(Planned::Read(step)) => {
                    let document = self.reader.read(&step)?;
                    self.queue(document);
                }
            }
        }
        Ok(())
    }

    /// Puts a document behind the others; pieces of one long text become one again.
    fn queue(&mut self, document: Document) {
        if let Some(Ahead::Document(last)) = self.read.back_mut()
            && (last.line, last.kind, &last.tool_use) == (document.line, document.kind, &document.tool_use)
            && last.uuid == document.uuid
            && document.part > last.part
        {
            last.text.push_str(&document.text);
            last.part = document.part;
            return;
        }
        self.read.push_back(Ahead::Document(Box::new(document)));
    }

    fn piece(&mut self, document: Document) -> Piece {
        if document.kind != Kind::ToolUse {
            return Piece::Said(document);
        }
        let is_answer = |ahead: &Ahead| match ahead {
            Ahead::Document(later) => later.kind == Kind::ToolResult && later.tool_use == document.tool_use,
            Ahead::Fold(_) => false,
        };
        let result = match self.read.iter().position(is_answer).and_then(|at| self.read.remove(at)) {
            Some(Ahead::Document(result)) => Some(*result),
            _ => None,
        };
        let agent = document.text_hash.and_then(|prompt| self.agents.get_mut(&prompt)).and_then(Vec::pop);
        Piece::Call { call: document, result, agent }
    }
}

/// A conversation with those of its subagents where they were sent.
#[derive(Debug)]
pub struct Nested<'r> {
    reader: &'r Reader,
    scope: Scope,
    open: Vec<Pieces<'r>>,
}

impl<'r> Nested<'r> {
    /// Begins with a conversation.
    pub fn new(conversation: &Conversation<'r>, around: Option<u64>, scope: Scope) -> Self {
        Self { reader: conversation.reader, scope, open: vec![conversation.pieces(around, scope)] }
    }

    /// Goes into the conversation of a subagent, if that is wanted.
    fn enter(&mut self, piece: &Piece) -> Result<()> {
        if let Piece::Call { agent: Some(agent), .. } = piece
            && self.scope.inner
        {
            self.open.push(Conversation::of_agent(self.reader, agent)?.pieces(None, self.scope));
        }
        Ok(())
    }
}

impl Iterator for Nested<'_> {
    /// How deep, and what.
    type Item = Result<(usize, Piece)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let depth = self.open.len().checked_sub(1)?;
            match self.open[depth].next() {
                None => drop(self.open.pop()),
                Some(piece) => {
                    return Some(piece.and_then(|piece| {
                        self.enter(&piece)?;
                        Ok((depth, piece))
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
