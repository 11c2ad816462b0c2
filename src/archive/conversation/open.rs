//! Opens the conversation of a session or of a subagent, wherever its messages are stored.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use crate::archive::conversation::piece::{Agent, Piece, Turn};
use crate::archive::conversation::pieces::{AHEAD, Pieces};
use crate::archive::conversation::plan::{Plan, Planned, Scope};
use crate::archive::conversation::target::Target;
use crate::archive::title::agent_title;
use crate::document::Kind;
use crate::error::{Error, ErrorKind, Result};
use crate::index::{Checkpoint, Reader, Step};
use crate::redact::redact;
use crate::transcript::discover::SourceKind;

/// Documents before the first one shown that are read too, because results among those shown may belong to their calls.
const BEHIND: usize = 4 * AHEAD;

/// The conversation of one file.
#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) reader: Arc<Reader>,
    /// The file; none if the session is only known from the prompt history.
    pub(super) file: Option<Checkpoint>,
    pub(super) steps: Vec<Step>,
    pub(super) agents: Vec<Checkpoint>,
    /// Set if this is a subagent, read from the file of its parent.
    is_from_parent: bool,
}

impl Conversation {
    /// Opens the conversation of a session or subagent.
    pub(super) fn open(reader: &Arc<Reader>, target: &Target) -> Result<Self> {
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
            && let Some(seen) = Self::from_parent_transcript(reader, &files, agent)?
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
        Ok(Self { reader: reader.clone(), file: main, steps, agents: files, is_from_parent: false })
    }

    /// Reports whether a subagent's own transcript contains the wanted message.
    fn has(reader: &Reader, own: Option<&Checkpoint>, uuid: Option<&str>) -> Result<bool> {
        Ok(match (own, uuid) {
            (Some(own), Some(uuid)) => reader.messages_like(uuid)?.iter().any(|(key, _)| *key == own.key()),
            (own, _) => own.is_some(),
        })
    }

    /// Opens the conversation of a subagent from the transcript of its session.
    fn from_parent_transcript(reader: &Arc<Reader>, files: &[Checkpoint], agent: &str) -> Result<Option<Self>> {
        for file in files.iter().filter(|file| file.source_kind() == SourceKind::Session && !file.forgotten) {
            let steps = reader.outline_of_agent(file.key(), agent)?;
            if !steps.is_empty() {
                return Ok(Some(Self {
                    reader: reader.clone(),
                    file: Some(file.clone()),
                    steps,
                    agents: Vec::new(),
                    is_from_parent: true,
                }));
            }
        }
        Ok(None)
    }

    /// Opens the conversation of a subagent that was sent from another one.
    fn of_agent(reader: &Arc<Reader>, agent: &Agent) -> Result<Self> {
        let steps = agent.key.map(|key| reader.outline(key)).transpose()?.unwrap_or_default();
        let file = agent.key.map(|key| reader.checkpoint(key)).transpose()?.flatten();
        Ok(Self { reader: reader.clone(), file, steps, agents: Vec::new(), is_from_parent: false })
    }

    /// Returns the subagents of the session.
    pub(super) fn agents(&self) -> impl Iterator<Item = Agent> + '_ {
        self.agents.iter().map(agent_of)
    }

    /// Returns the line of a message.
    pub(super) fn place_of(&self, uuid: &str) -> Result<Option<u64>> {
        let Some(file) = &self.file else { return Ok(None) };
        let found = self.reader.messages_like(uuid)?;
        Ok(found.into_iter().find(|(key, _)| *key == file.key()).map(|(_, document)| document.line))
    }

    /// Decides which messages are shown.
    pub(super) fn plan(&self, scope: Scope) -> Plan {
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
    pub(super) fn is_of_agent(&self) -> bool {
        self.is_from_parent || self.file.as_ref().is_some_and(|file| file.source_kind() == SourceKind::Agent)
    }

    /// Returns the ranges of abandoned lines, in order, without overlaps.
    pub(super) fn abandoned(&self) -> Vec<(u64, u64)> {
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
    pub(super) fn by_prompt(&self) -> HashMap<u64, Vec<Agent>> {
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
pub(in crate::archive) struct Places {
    /// The documents that the conversation shows, in order.
    pub(in crate::archive) steps: Vec<Step>,
    /// The number of messages abandoned by a rewind.
    pub(in crate::archive) abandoned: usize,
    /// The subagents by the hash of their prompt, the first one last.
    pub(in crate::archive) agents: HashMap<u64, Vec<Agent>>,
}

/// Returns the places of the messages of a conversation.
pub(in crate::archive) fn places(reader: &Arc<Reader>, target: &Target) -> Result<Places> {
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

/// A conversation that includes those of its subagents where they were sent.
#[derive(Debug)]
pub(super) struct Nested {
    reader: Arc<Reader>,
    scope: Scope,
    open: Vec<Pieces>,
}

impl Nested {
    /// Starts with a conversation.
    pub(super) fn new(conversation: &Conversation, around: Option<u64>, scope: Scope) -> Self {
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
