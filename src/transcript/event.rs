//! The types of what a transcript contains: one line is an [`Event`].
//!
//! An event says what a line *is*. `document` decides what of it is searchable, and under which role.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// One line of a transcript.
#[derive(Debug, Default)]
pub struct Event<'a> {
    /// The line's own id.
    pub uuid: Option<Cow<'a, str>>,
    /// The line it follows in the conversation.
    pub parent: Option<Cow<'a, str>>,
    /// The session the line says it belongs to; the file's name is the better witness.
    pub session: Option<Cow<'a, str>>,
    /// The subagent that wrote it.
    pub agent: Option<Cow<'a, str>>,
    /// When, in milliseconds since 1970.
    pub timestamp: Option<i64>,
    /// The folder the session was in.
    pub cwd: Option<Cow<'a, str>>,
    /// The git branch of that folder.
    pub branch: Option<Cow<'a, str>>,
    /// The version of Claude Code.
    pub version: Option<Cow<'a, str>>,
    /// How Claude Code was started: `cli`, `sdk-ts`, …
    pub entrypoint: Option<Cow<'a, str>>,
    /// Whether a subagent wrote it.
    pub sidechain: bool,
    /// Whether the session ran in the background.
    pub background: bool,
    /// The message (session, uuid) of which this one is a copy made by the SDK.
    pub copy_of: Option<(Cow<'a, str>, Cow<'a, str>)>,
    /// What a tool recorded beside its answer about a file.
    pub trace: Option<Trace>,
    /// What the line holds.
    pub body: Body<'a>,
    /// Words under keys that nobody knew when this was written.
    pub unknown: String,
}

/// What a line holds.
#[derive(Debug)]
pub enum Body<'a> {
    /// A line of type `user`: a prompt, or the results of tools.
    User {
        /// The blocks of the message.
        blocks: Vec<Block<'a>>,
        /// Who sent it, where that is said (`human`, `peer`, `task-notification`, …).
        origin: Option<Cow<'a, str>>,
        /// Whether Claude Code itself put it in.
        meta: bool,
        /// Whether it is the summary that replaces a compacted conversation.
        compact: bool,
    },
    /// A line of type `assistant`.
    Assistant {
        /// The blocks of the message.
        blocks: Vec<Block<'a>>,
        /// The API message these blocks are part of.
        message: Option<Cow<'a, str>>,
        /// The model.
        model: Option<Cow<'a, str>>,
        /// What the API message cost.
        usage: Usage,
        /// Whether it reports a failed request.
        error: bool,
    },
    /// A notice, a recap, a local command.
    System {
        /// Which sort.
        subtype: Option<Cow<'a, str>>,
        /// Its text.
        text: Cow<'a, str>,
    },
    /// A prompt that waits until the model is ready.
    Queued {
        /// The prompt.
        text: Cow<'a, str>,
        /// Who sent it.
        origin: Option<Cow<'a, str>>,
    },
    /// Something put beside the conversation.
    Attachment {
        /// Which sort.
        kind: Cow<'a, str>,
        /// Its text.
        text: String,
        /// The file it is about.
        file: Option<Cow<'a, str>>,
    },
    /// A name for the session.
    Title {
        /// Who named it.
        by: TitleBy,
        /// The name.
        text: Cow<'a, str>,
    },
    /// A name for the session that holds the message `leaf`, in whichever file that is.
    Summary {
        /// The name.
        text: Cow<'a, str>,
        /// The message that tells the session.
        leaf: Option<Cow<'a, str>>,
    },
    /// A pull request made in the session.
    Link {
        /// Its address.
        url: Cow<'a, str>,
        /// Number and repository, readable.
        text: String,
    },
    /// Files as they were before an edit, by name only.
    Snapshot {
        /// The files.
        files: Vec<String>,
    },
    /// The session went on in another file.
    Continued {
        /// The other session.
        session: Cow<'a, str>,
    },
    /// The session moved to another folder.
    Moved {
        /// The new folder.
        cwd: Cow<'a, str>,
    },
    /// A message of a subagent, seen from its parent.
    AgentMessage {
        /// The subagent.
        agent: Option<Cow<'a, str>>,
        /// The message.
        event: Box<Event<'a>>,
    },
    /// A type that is known and holds no words.
    Silent(Cow<'a, str>),
    /// A type that nobody knew when this was written, with all its words.
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
    /// Words.
    Text(Cow<'a, str>),
    /// The model's reasoning.
    Thinking(Cow<'a, str>),
    /// A tool is called.
    ToolUse {
        /// The call's id.
        id: Cow<'a, str>,
        /// The tool.
        name: Cow<'a, str>,
        /// Its arguments, as JSON text.
        input: &'a str,
    },
    /// A tool has answered.
    ToolResult {
        /// The call's id.
        id: Cow<'a, str>,
        /// The answer.
        text: Cow<'a, str>,
        /// Whether it failed.
        error: bool,
    },
    /// A picture or document, not decoded.
    Media {
        /// Which of them.
        kind: Cow<'a, str>,
        /// Its title, its address, its text if it is one.
        text: String,
    },
    /// A block of another type, with all its words.
    Other {
        /// The type.
        kind: Cow<'a, str>,
        /// Every string in it that is worth keeping.
        text: String,
    },
}

/// Who named a session; a later one in this list wins over an earlier one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TitleBy {
    /// The last prompt, kept by Claude Code as a stand-in.
    LastPrompt,
    /// The name of a team agent.
    AgentName,
    /// The model.
    Model,
    /// The user.
    User,
}

/// Tokens of one API message.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Usage {
    /// Fresh input.
    pub input: u64,
    /// Input written to the cache.
    pub cache_write: u64,
    /// How much of that is kept for an hour rather than five minutes.
    pub cache_hour: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Output.
    pub output: u64,
}

/// The description beside a subagent's transcript.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AgentDescription {
    /// The type of agent.
    pub kind: Option<String>,
    /// What it was sent to do: the best title it has.
    pub description: Option<String>,
    /// The tool call that sent it.
    pub tool_use: Option<String>,
}

/// What is kept of a record.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct Trace {
    /// Fingerprint of the contents before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Fingerprint of what was written or read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<u64>,
    /// Of what was read: the first line, how many lines, and how many the file has (0: unknown).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<[u64; 3]>,
    /// Lines added and removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<[u64; 2]>,
    /// Whether the file was made by it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub created: bool,
    /// Whether the user changed what the tool was about to write.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub modified: bool,
}

/// Reads a time stamp; anything that is none, or lies outside 1970–2261, counts as absent.
pub(super) fn parse_timestamp(text: &str) -> Option<i64> {
    let time: jiff::Timestamp = text.parse().ok()?;
    Some(time.as_millisecond()).filter(|ms| is_plausible(*ms))
}

pub(super) fn is_plausible(ms: i64) -> bool {
    (1..9_190_000_000_000).contains(&ms)
}
