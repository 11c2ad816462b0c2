//! The pieces of a conversation: messages, tool calls, folds.

use schemars::JsonSchema;
use serde::Serialize;

use crate::archive::conversation::message::Message;
use crate::index::FileKey;

/// A subagent that was started in a conversation.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Agent {
    /// Its id.
    #[serde(rename = "agent_id")]
    pub id: String,
    /// Its task.
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
    pub(super) key: Option<FileKey>,
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
        /// The subagent that the call started.
        agent: Option<Agent>,
    },
    /// Messages of a subagent that are in its parent's file, left out.
    #[serde(rename = "inner")]
    FoldedSubagent {
        /// Their number.
        messages: usize,
    },
    /// Messages abandoned by a rewind, left out.
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
