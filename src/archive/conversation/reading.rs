//! A conversation as blocks that can be read in any order, for front ends that scroll and jump.
//!
//! Only the plan of the conversation is kept: what each block is and where it is stored. Texts are read when a block is
//! shown, so a session of any length opens at once.

use std::collections::HashMap;
use std::sync::Arc;

use crate::archive::conversation::open::Conversation;
use crate::archive::conversation::plan::{Plan, Planned, Scope};
use crate::archive::conversation::{Agent, Message, Piece, Target, resolve};
use crate::archive::request::ReadingRequest;
use crate::archive::sessions::Session;
use crate::archive::tool_pairs;
use crate::document::{Document, Kind, Role};
use crate::error::Result;
use crate::index::{Reader, Spot, Step};

/// Maximum length of a text that is read at first, in bytes.
const FIRST_BYTES: usize = 256 << 10;

/// A conversation whose blocks can be read in any order.
#[derive(Debug)]
pub struct OpenConversation {
    /// The session.
    pub session: Session,
    /// The session or subagent that is read, and the message that was asked for.
    pub target: Target,
    /// The title of the subagent, if this is the conversation of one.
    pub agent: Option<Agent>,
    /// The subagents of the session, by the time of their first message.
    pub agents: Vec<Agent>,
    /// The blocks, in order.
    pub blocks: Vec<Block>,
    /// The block of the message that was asked for.
    pub start: Option<usize>,
    /// Set if no message is left out.
    pub is_complete: bool,
    reader: Arc<Reader>,
    reveal: bool,
    /// The block of each document.
    places: HashMap<Spot, usize>,
}

/// The sort of a block, as far as it is known before its text is read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BlockSort {
    /// A prompt by a person or program.
    Prompt,
    /// Text of the model.
    Text,
    /// Reasoning of the model.
    Thinking,
    /// A tool call, with its result if that follows directly.
    Call,
    /// A tool result on its own, or output of a command.
    Result,
    /// Anything that Claude Code itself wrote.
    Notice,
    /// Messages that are left out.
    Fold,
}

/// A block of a conversation: a message, a tool call, or messages that are left out.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its sort.
    pub sort: BlockSort,
    /// The speaker.
    pub role: Role,
    /// Its line in the transcript, from 1.
    pub line: u64,
    /// Its time, in milliseconds since 1970.
    pub time: Option<i64>,
    /// The subagent that it started, as an index into [`OpenConversation::agents`].
    pub sent: Option<usize>,
    /// The documents: those of the message or call, then those of the result.
    steps: Vec<Step>,
    /// The number of documents before those of the result.
    own: usize,
    /// The placeholder, for messages that are left out.
    fold: Option<Piece>,
}

/// The part of a block to read.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Extent {
    /// The beginning, if the text is very long.
    #[default]
    Beginning,
    /// The beginning, but of a very long text the part with this number and what follows it.
    From(usize),
    /// Everything.
    Whole,
}

/// A block with its text.
#[derive(Clone, Debug)]
pub struct BlockText {
    /// The message or call.
    pub piece: Piece,
    /// Set if the beginning of a very long text was left out.
    pub begins_late: bool,
    /// Set if the end of a very long text was left out.
    pub is_cut: bool,
    /// Tokens of the API message: input, cache write, cache read, output.
    pub tokens: Option<[u64; 4]>,
}

/// Opens a conversation.
pub(crate) fn open(reader: &Arc<Reader>, request: &ReadingRequest) -> Result<OpenConversation> {
    let target = resolve(reader, &request.id)?;
    let conversation = Conversation::open(reader, &target)?;
    let whole = match target.agent {
        Some(_) => Conversation::open(reader, &Target { session: target.session.clone(), ..Target::default() }).ok(),
        None => None,
    };
    let mut agents: Vec<Agent> = whole.as_ref().unwrap_or(&conversation).agents().collect();
    agents.sort_by_key(|agent| agent.first);
    let agent = target.agent.as_ref().and_then(|id| agents.iter().find(|agent| agent.id == *id)).cloned();
    let blocks = blocks(&conversation, &agents, request.complete);
    let mut places = HashMap::new();
    for (at, block) in blocks.iter().enumerate() {
        places.extend(block.steps.iter().map(|step| (step.spot(), at)));
    }
    let line = target.uuid.as_deref().map(|uuid| conversation.place_of(uuid)).transpose()?.flatten();
    let start = line.and_then(|line| blocks.iter().position(|block| block.line >= line));
    let session = Session::find(reader, &target.session)?;
    Ok(OpenConversation {
        session,
        target,
        agent,
        agents,
        blocks,
        start,
        is_complete: request.complete,
        reader: reader.clone(),
        reveal: request.reveal,
        places,
    })
}

/// Returns the blocks of a conversation.
fn blocks(conversation: &Conversation, agents: &[Agent], complete: bool) -> Vec<Block> {
    let inner = complete || conversation.is_of_agent();
    let scope = Scope { meta: complete, abandoned: complete, inner, ..Scope::default() };
    let said = conversation.steps.iter().filter(|step| step.kind == Kind::Prompt).map(|step| step.text_hash);
    let mut plan = Plan { scope, said: said.collect(), abandoned: conversation.abandoned(), steps: Vec::new() };
    plan.take(&conversation.steps);
    let mut sent = HashMap::new();
    for file in conversation.agents.iter().rev() {
        let at = file.agent_id().and_then(|id| agents.iter().position(|agent| agent.id == id));
        if let (Some(prompt), Some(at)) = (file.state.totals.sent_by, at) {
            sent.entry(prompt).or_insert_with(Vec::new).push(at);
        }
    }
    let mut blocks: Vec<Block> = Vec::new();
    for planned in plan.steps {
        match planned {
            Planned::Fold(piece) => blocks.push(Block::fold(piece)),
            Planned::Read(step) => {
                if !blocks.last_mut().is_some_and(|last| last.take(step)) {
                    let at = sent.get_mut(&step.text_hash).filter(|_| step.kind == Kind::ToolUse).and_then(Vec::pop);
                    blocks.push(Block { sent: at, ..Block::of(step) });
                }
            }
        }
    }
    blocks
}

impl Block {
    fn of(step: Step) -> Self {
        let sort = match (step.kind, step.role) {
            (Kind::ToolUse, _) => BlockSort::Call,
            (Kind::ToolResult | Kind::Output, _) => BlockSort::Result,
            (Kind::Thinking, _) => BlockSort::Thinking,
            (Kind::Prompt | Kind::Queued | Kind::History | Kind::Command, Role::Meta) => BlockSort::Notice,
            (Kind::Prompt | Kind::Queued | Kind::History | Kind::Command, _) => BlockSort::Prompt,
            (Kind::Text | Kind::Recap | Kind::Compaction, _) => BlockSort::Text,
            _ => BlockSort::Notice,
        };
        Self {
            sort,
            role: step.role,
            line: step.line,
            time: step.time,
            sent: None,
            steps: vec![step],
            own: 1,
            fold: None,
        }
    }

    fn fold(piece: Piece) -> Self {
        let line = if let Piece::Abandoned { from, .. } = piece { from } else { 0 };
        Self {
            sort: BlockSort::Fold,
            role: Role::Meta,
            line,
            time: None,
            sent: None,
            steps: Vec::new(),
            own: 0,
            fold: Some(piece),
        }
    }

    /// Adds a document that continues this block: the rest of a long text, or the result that follows its call.
    fn take(&mut self, step: Step) -> bool {
        let Some(last) = self.steps.last() else { return false };
        let is_rest = step.continues(last);
        let is_result = last.kind == Kind::ToolUse && self.own == self.steps.len() && step.kind == Kind::ToolResult;
        if is_rest || is_result {
            self.own += usize::from(is_rest && self.own == self.steps.len());
            self.steps.push(step);
        }
        is_rest || is_result
    }
}

impl OpenConversation {
    /// Reads a block.
    pub fn read(&self, at: usize, extent: Extent) -> Result<BlockText> {
        let of = |piece| BlockText { piece, begins_late: false, is_cut: false, tokens: None };
        let Some(block) = self.blocks.get(at) else { return Ok(of(Piece::NewStart)) };
        if let Some(piece) = &block.fold {
            return Ok(of(piece.clone()));
        }
        let (own, result) = block.steps.split_at(block.own);
        let limit = if extent == Extent::Whole { usize::MAX } else { FIRST_BYTES };
        let skipped = if let Extent::From(part) = extent { part } else { 0 };
        let in_result = skipped.saturating_sub(own.len());
        let in_own = if skipped < own.len() { skipped } else { 0 };
        let (own, own_cut) = self.joined(&own[in_own..], limit)?;
        let Some(own) = own else { return Ok(of(Piece::NewStart)) };
        let (result, result_cut) = self.joined(&result[in_result.min(result.len())..], limit)?;
        let tokens = own.usage;
        let piece = if own.kind == Kind::ToolUse {
            // A result that belongs to another call is shown on its own, without claiming that it is this call's.
            let result = result.filter(|result| tool_pairs::answers(result, &own) || own.tool_use.is_none());
            let agent = block.sent.and_then(|at| self.agents.get(at)).cloned();
            let result = result.map(|result| Message::new(result, self.reveal));
            Piece::ToolCall { call: Message::new(own, self.reveal), result, agent }
        } else {
            Piece::Message(Message::new(own, self.reveal))
        };
        Ok(BlockText { piece, begins_late: in_own + in_result > 0, is_cut: own_cut || result_cut, tokens })
    }

    /// Reads the documents of one text and joins them, up to a limit.
    fn joined(&self, steps: &[Step], limit: usize) -> Result<(Option<Document>, bool)> {
        let mut whole: Option<Document> = None;
        for step in steps {
            match &mut whole {
                Some(whole) if whole.text.len() >= limit => return Ok((Some(std::mem::take(whole)), true)),
                Some(whole) => tool_pairs::append(whole, &self.reader.read(step)?),
                None => whole = Some(self.reader.read(step)?),
            }
        }
        Ok((whole, false))
    }

    /// Returns the commit that the conversation is read from.
    pub(crate) fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Returns the block that contains a document.
    pub(crate) fn block_at(&self, spot: Spot) -> Option<usize> {
        self.places.get(&spot).copied()
    }

    /// Returns the number of a document in its block: the part of a very long text that it is.
    pub(crate) fn part_of(&self, spot: Spot) -> Option<usize> {
        let block = self.blocks.get(self.block_at(spot)?)?;
        block.steps.iter().position(|step| step.spot() == spot)
    }

    /// Returns the block of a message of a kind on a line of the transcript.
    pub fn block_of(&self, line: u64, kind: Kind) -> Option<usize> {
        (0..self.blocks.len()).find(|at| self.is_in(*at, line, kind))
    }

    /// Reports whether a block contains a message of a kind on a line of the transcript.
    pub fn is_in(&self, block: usize, line: u64, kind: Kind) -> bool {
        self.blocks[block].steps.iter().any(|step| step.line == line && step.kind == kind)
    }

    /// Returns the first block on or after a line of the transcript.
    pub fn block_from(&self, line: u64) -> Option<usize> {
        self.blocks.iter().position(|block| block.line >= line && block.fold.is_none())
    }

    /// Returns the last block at or before a time; the first one if there is none.
    pub fn last_block_before(&self, time: Option<i64>) -> usize {
        self.blocks.iter().rposition(|block| block.time.is_some() && block.time <= time).unwrap_or(0)
    }
}
