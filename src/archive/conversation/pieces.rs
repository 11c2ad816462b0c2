//! Reads the planned messages of a conversation one after the other, each tool call with its result.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::archive::conversation::message::Message;
use crate::archive::conversation::piece::{Agent, Piece};
use crate::archive::conversation::plan::Planned;
use crate::archive::tool_pairs;
use crate::document::{Document, Kind, Role};
use crate::error::Result;
use crate::index::Reader;

/// Documents after a call in which its result is looked for.
pub(super) const AHEAD: usize = 256;
/// Bytes of text after which no further message is read ahead.
const AHEAD_BYTES: usize = 16 << 20;

/// Reads a conversation piece by piece.
#[derive(Debug)]
pub(super) struct Pieces {
    pub(super) reader: Arc<Reader>,
    pub(super) plan: VecDeque<Planned>,
    /// Documents that were read ahead to find results.
    pub(super) read: VecDeque<Ahead>,
    pub(super) agents: HashMap<u64, Vec<Agent>>,
    pub(super) begun: bool,
    /// Pieces before this line are read but not returned.
    pub(super) from: u64,
    pub(super) reveal: bool,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one of them")]
pub(super) enum Ahead {
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

fn is_new_start(document: &Document) -> bool {
    let is_turn = matches!(document.kind, Kind::Prompt | Kind::Command) && document.role != Role::Subagent;
    is_turn && document.uuid.is_some() && document.parent.is_none()
}
