//! Types for parsed transcript lines: one line is one [`Event`].
//!
//! An event describes what a line *is*. `document` decides which parts are searchable, and under which role.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// One line of a transcript.
#[derive(Debug, Default)]
pub struct Event<'a> {
    /// The id of the line.
    pub uuid: Option<Cow<'a, str>>,
    /// The id of the line that this one follows in the conversation.
    pub parent: Option<Cow<'a, str>>,
    /// The session named in the line. The file name is more reliable.
    pub session: Option<Cow<'a, str>>,
    /// The id of the subagent that wrote the line.
    pub agent: Option<Cow<'a, str>>,
    /// The time in milliseconds since 1970.
    pub timestamp: Option<i64>,
    /// The working directory of the session.
    pub cwd: Option<Cow<'a, str>>,
    /// The git branch of that folder.
    pub branch: Option<Cow<'a, str>>,
    /// The version of Claude Code.
    pub version: Option<Cow<'a, str>>,
    /// The way Claude Code was started: `cli`, `sdk-ts`, …
    pub entrypoint: Option<Cow<'a, str>>,
    /// True if a subagent wrote the line.
    pub sidechain: bool,
    /// True if the session ran in the background.
    pub background: bool,
    /// The original message (session, uuid), if this one is a copy made by the SDK.
    pub copy_of: Option<(Cow<'a, str>, Cow<'a, str>)>,
    /// Data about a file that a tool recorded next to its result.
    pub trace: Option<Trace>,
    /// The content of the line.
    pub body: Body<'a>,
    /// The text under keys that this version does not know.
    pub unknown: String,
}

/// The content of a line, by type.
#[derive(Debug)]
pub enum Body<'a> {
    /// A line of type `user`: a prompt, or the results of tools.
    User {
        /// The blocks of the message.
        blocks: Vec<Block<'a>>,
        /// The sender, if the line names one (`human`, `peer`, `task-notification`, …).
        origin: Option<Cow<'a, str>>,
        /// True if Claude Code itself added the message.
        meta: bool,
        /// True for the summary that replaces a compacted conversation.
        compact: bool,
    },
    /// A line of type `assistant`.
    Assistant {
        /// The blocks of the message.
        blocks: Vec<Block<'a>>,
        /// The id of the API message that contains these blocks.
        message: Option<Cow<'a, str>>,
        /// The model.
        model: Option<Cow<'a, str>>,
        /// The tokens used by the API message.
        usage: Usage,
        /// True if the message reports a failed request.
        error: bool,
    },
    /// A notice, a recap, a local command.
    System {
        /// The kind of notice.
        subtype: Option<Cow<'a, str>>,
        /// Its text.
        text: Cow<'a, str>,
    },
    /// A prompt that waits in the queue until the model is ready.
    Queued {
        /// The prompt.
        text: Cow<'a, str>,
        /// The sender.
        origin: Option<Cow<'a, str>>,
    },
    /// Content attached next to the conversation.
    Attachment {
        /// The kind of attachment.
        kind: Cow<'a, str>,
        /// Its text.
        text: String,
        /// The file it is about.
        file: Option<Cow<'a, str>>,
    },
    /// A title for the session.
    Title {
        /// The author of the title.
        by: TitleBy,
        /// The title.
        text: Cow<'a, str>,
    },
    /// A title for the session that contains the message `leaf`, in any file.
    Summary {
        /// The title.
        text: Cow<'a, str>,
        /// The message that identifies the session.
        leaf: Option<Cow<'a, str>>,
    },
    /// A pull request created in the session.
    Link {
        /// Its address.
        url: Cow<'a, str>,
        /// The number and repository, for display.
        text: String,
    },
    /// The names of files that were saved before an edit. Their contents are not kept.
    Snapshot {
        /// The files.
        files: Vec<String>,
    },
    /// The session continues in another file.
    Continued {
        /// The other session.
        session: Cow<'a, str>,
    },
    /// The session moved to another folder.
    Moved {
        /// The new folder.
        cwd: Cow<'a, str>,
    },
    /// A subagent's message, recorded by its parent session.
    AgentMessage {
        /// The subagent.
        agent: Option<Cow<'a, str>>,
        /// The message.
        event: Box<Event<'a>>,
    },
    /// A known type without searchable text.
    Silent(Cow<'a, str>),
    /// An unknown type, with all its text.
    Unknown {
        /// The type.
        kind: Cow<'a, str>,
        /// Every string in the line.
        text: String,
    },
}

impl Default for Body<'_> {
    fn default() -> Self {
        Body::Silent(Cow::Borrowed(""))
    }
}

/// One block of a message.
#[derive(Debug)]
pub enum Block<'a> {
    /// Plain text.
    Text(Cow<'a, str>),
    /// The model's reasoning.
    Thinking(Cow<'a, str>),
    /// A tool call.
    ToolUse {
        /// The call's id.
        id: Cow<'a, str>,
        /// The tool.
        name: Cow<'a, str>,
        /// Its arguments, as JSON text.
        input: &'a str,
    },
    /// The result of a tool call.
    ToolResult {
        /// The call's id.
        id: Cow<'a, str>,
        /// The text of the result.
        text: Cow<'a, str>,
        /// True if the tool failed.
        error: bool,
    },
    /// An image or document, not decoded.
    Media {
        /// The block type: `image`, `document`, …
        kind: Cow<'a, str>,
        /// Its title, its address and, for a text document, its contents.
        text: String,
    },
    /// A block of another type, with all its text.
    Other {
        /// The type.
        kind: Cow<'a, str>,
        /// Every string in it that can be searched.
        text: String,
    },
}

/// The author of a session title. Later variants win over earlier ones.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TitleBy {
    /// The last prompt, used by Claude Code as a placeholder title.
    LastPrompt,
    /// The name of a team agent.
    AgentName,
    /// The model.
    Model,
    /// The user.
    User,
}

/// The tokens used by one API message.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Usage {
    /// Uncached input.
    pub input: u64,
    /// Input written to the cache.
    pub cache_write: u64,
    /// The part of `cache_write` that is cached for an hour instead of five minutes.
    pub cache_hour: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Output.
    pub output: u64,
}

/// The description file next to a subagent's transcript.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AgentDescription {
    /// The type of agent.
    pub kind: Option<String>,
    /// The agent's task, which is the best title available.
    pub description: Option<String>,
    /// The id of the tool call that started the agent.
    pub tool_use: Option<String>,
}

/// The part of a file record that the index keeps; see the docs of `file_record`.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct Trace {
    /// Hash of the contents before the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Hash of the text that was written or read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<u64>,
    /// For a read: the first line, the number of lines read, and the number of lines in the file (0 if unknown).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<[u64; 3]>,
    /// The number of lines added and removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<[u64; 2]>,
    /// True if the tool created the file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub created: bool,
    /// True if the user edited the text before the tool wrote it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub modified: bool,
}

/// Parses a timestamp into milliseconds since 1970. Returns `None` if it is invalid or outside 1970–2261.
pub(super) fn parse_timestamp(text: &str) -> Option<i64> {
    let time: jiff::Timestamp = text.parse().ok()?;
    Some(time.as_millisecond()).filter(|ms| is_plausible(*ms))
}

/// Reports whether a time in milliseconds lies in 1970–2261.
pub(super) fn is_plausible(ms: i64) -> bool {
    (1..9_190_000_000_000).contains(&ms)
}
