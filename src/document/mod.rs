//! Turns the events of one file, in order, into searchable [`Document`]s. Pure: no file access, no tantivy.
//!
//! [`Builder`] is a fold over the lines of a file. Its only memory is a [`FileState`], which is stored with the
//! checkpoint. Reading a file in ten runs therefore gives the same documents as reading it in one.

mod file_totals;
mod rewinds;
mod title_in_file;
mod inline_agents;
mod ansi;
mod tags;
mod clean;
mod shell;
mod builder;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::transcript::Trace;

pub use builder::{Builder, OwnTranscripts, Place};
pub use clean::normal_path;
pub use file_totals::{PAUSE, Totals};
pub use inline_agents::{InlineAgent, InlineAgents};
pub use shell::{FileEffect, Touch, is_shell, may_change, touched};

/// Maximum size of one document's text, in bytes. Longer texts become several documents of one message, because adding
/// a document to the index takes several times its size in memory.
pub const TEXT_CAP: usize = 256 << 10;

/// The author of a document.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Typed by a person.
    Human,
    /// Written by the model: an answer, reasoning or a summary.
    Assistant,
    /// A tool call or its result.
    Tool,
    /// Written by or sent to a subagent.
    Subagent,
    /// Sent by a program through the SDK.
    Programmatic,
    /// Inserted by Claude Code itself. Not searched unless asked for.
    #[default]
    Meta,
}

/// The kind of a document.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A prompt.
    Prompt,
    /// A prompt that is in the queue or came from it.
    Queued,
    /// A prompt from the prompt history.
    History,
    /// A slash command, or a shell command typed with `!`.
    Command,
    /// An answer of the model.
    Text,
    /// Reasoning of the model.
    Thinking,
    /// A tool call.
    ToolUse,
    /// The result of a tool call.
    ToolResult,
    /// Output of a command, or a tool result too large for the transcript.
    Output,
    /// The summary that replaced a compacted conversation.
    Compaction,
    /// A recap written by the model for a returning user.
    Recap,
    /// The name of a session.
    Title,
    /// A pull request.
    Link,
    /// Something attached to the conversation.
    Attachment,
    /// The names of the files saved before an edit.
    Snapshot,
    /// A notice by Claude Code.
    #[default]
    Notice,
    /// A line of an unknown type.
    Unknown,
    /// A line that is not a record.
    Bad,
    /// A line too long to read.
    Oversized,
}

impl Role {
    /// All roles, with the names that users type and see.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Human, "human"),
        (Self::Assistant, "assistant"),
        (Self::Tool, "tool"),
        (Self::Subagent, "subagent"),
        (Self::Programmatic, "programmatic"),
        (Self::Meta, "meta"),
    ];

    /// The name that users type and see.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(role, _)| *role == self).map_or("", |(_, name)| name)
    }
}

impl Kind {
    /// All kinds, with the names that users type and see.
    pub const ALL: [(Self, &'static str); 19] = [
        (Self::Prompt, "prompt"),
        (Self::Queued, "queued"),
        (Self::History, "history"),
        (Self::Command, "command"),
        (Self::Text, "text"),
        (Self::Thinking, "thinking"),
        (Self::ToolUse, "tool_use"),
        (Self::ToolResult, "tool_result"),
        (Self::Output, "output"),
        (Self::Compaction, "compaction"),
        (Self::Recap, "recap"),
        (Self::Title, "title"),
        (Self::Link, "link"),
        (Self::Attachment, "attachment"),
        (Self::Snapshot, "snapshot"),
        (Self::Notice, "notice"),
        (Self::Unknown, "unknown"),
        (Self::Bad, "bad"),
        (Self::Oversized, "oversized"),
    ];

    /// The name that users type and see.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

/// One searchable piece of a conversation. Everything except the text is stored next to it as JSON, so that a document
/// can be carried over into an index with another schema.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Document {
    /// The searchable text.
    #[serde(skip)]
    pub text: String,
    /// The id of the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// The id of the nearest earlier line in the conversation that is also a document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The session. For a subagent, the session that started it.
    pub session: String,
    /// The subagent's id, if one wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The folder the session was started in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The working directory at this point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The git branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The author.
    #[serde(skip_serializing_if = "is_zero")]
    pub role: Role,
    /// The kind.
    #[serde(skip_serializing_if = "is_zero")]
    pub kind: Kind,
    /// The name of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The id of the tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use: Option<String>,
    /// The arguments of the tool call, as JSON. Only they are stored: the text can be derived from them.
    #[serde(skip)]
    pub input: Option<String>,
    /// Set if the arguments are stored instead of the text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_input: bool,
    /// The files it is about, as paths normalized by [`normal_path`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The API message it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageKey>,
    /// Tokens of the whole API message: input, cache write, cache read, output. Set only on the first document of a
    /// line, and only if the previous line did not report the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<[u64; 4]>,
    /// The number of tokens written to the cache for one hour.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_hour: u64,
    /// The time, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    /// Set if it reports a failure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub error: bool,
    /// Byte offset of the record in its file.
    #[serde(skip_serializing_if = "is_zero")]
    pub offset: u64,
    /// The line in its file, counted from 1.
    #[serde(skip_serializing_if = "is_zero")]
    pub line: u64,
    /// The number of this document within its record, counted from 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub part: u32,
    /// Set if it continues the text of the previous document.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub continued: bool,
    /// For a title: the message that identifies its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title_leaf: Option<String>,
    /// For a copy made by the SDK: the id of the original line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copied_from: Option<String>,
    /// For a link: its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// For a line that could not be read: the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Hash of the text and the session. Set where a session may contain the same text more than once: in the queue,
    /// in the history, in the prompt of a subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_hash: Option<u64>,
    /// Set if another document with the same `text_hash` should be shown instead of this one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_duplicate: bool,
    /// The tool's own record about the file it worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// The subagent whose own transcript, if there is one, also contains this message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen_via_agent: Option<String>,
}

impl Document {
    /// Restores the part stored separately: the text, or the arguments it is derived from.
    #[must_use]
    pub fn with_raw(mut self, raw: String) -> Self {
        if self.has_input {
            let words =
                clean::call_text(self.tool.as_deref().unwrap_or_default(), &clean::tool_words(&raw)).to_string();
            self.text = clean::pieces(&words, TEXT_CAP).first().map(ToString::to_string).unwrap_or_default();
            self.input = Some(raw);
        } else {
            self.text = raw;
        }
        self
    }
}

fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Reports whether a tool changes the file it is given.
pub fn edits_files(tool: &str) -> bool {
    matches!(tool, "Edit" | "Write" | "MultiEdit" | "NotebookEdit")
}

/// Hash of an API message's id. It only identifies the lines of one message, and the id itself would take four times
/// the space. 44 bits are enough that no two messages of one user collide.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct MessageKey(u64);

impl MessageKey {
    /// Hashes the id of an API message.
    pub fn of(name: &str) -> Self {
        Self(xxh3_64(name.as_bytes()) >> 20)
    }

    /// Restores a key from [`MessageKey::number`].
    pub fn from_number(number: u64) -> Self {
        Self(number)
    }

    /// The hash as a number.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// The cost of an API message that has no line with text, and hence no document to carry its token counts.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Wordless {
    /// The API message, or the line if the message has no id.
    pub message: MessageKey,
    /// The model.
    pub model: Option<String>,
    /// Tokens: input, cache write, cache read, output.
    pub usage: [u64; 4],
    /// The number of tokens written to the cache for one hour.
    pub cache_hour: u64,
    /// The time, in milliseconds since 1970.
    pub timestamp: Option<i64>,
}

/// State of a file kept between runs: facts about its session, and earlier lines that later lines may refer to.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct FileState {
    /// The session id, if the file name does not contain it.
    pub session: Option<String>,
    /// The first working directory; the project is named after it.
    pub project: Option<String>,
    /// The latest working directory.
    pub cwd: Option<String>,
    /// The latest git branch.
    pub branch: Option<String>,
    /// The way Claude Code was started, such as `cli` or `sdk-ts`.
    pub entrypoint: Option<String>,
    /// The latest version of Claude Code.
    pub version: Option<String>,
    /// Earliest time.
    pub first: Option<i64>,
    /// Latest time.
    pub last: Option<i64>,
    /// Time of the previous line.
    pub previous: Option<i64>,
    /// The title given by the user.
    pub custom_title: Option<String>,
    /// The title given by the model.
    pub ai_title: Option<String>,
    /// The name of a team agent.
    pub agent_name: Option<String>,
    /// The last prompt, which Claude Code shows if there is no title.
    pub last_prompt: Option<String>,
    /// The first prompt.
    pub first_prompt: Option<String>,
    /// The first command; names the session if there is no prompt.
    pub first_command: Option<String>,
    /// A session title found in this file. It may belong to another session.
    pub summary: Option<String>,
    /// The task of a subagent.
    pub description: Option<String>,
    /// The type of a subagent.
    pub agent_type: Option<String>,
    /// The session that continues this one.
    pub continued_in: Option<String>,
    /// The session this one was copied from.
    pub forked_from: Option<String>,
    /// Recent lines that made no document: the id of each, and the nearest document before it. The chain of parents
    /// goes through them.
    pub passed: VecDeque<(String, Option<String>)>,
    /// Calls whose results have not arrived yet: id, tool, files.
    pub calls: VecDeque<(String, String, Vec<String>)>,
    /// Set once the first prompt has been seen. For a subagent, that prompt is a copy of its parent's tool call.
    pub prompted: bool,
    /// Hashes of the beginnings of the last prompts.
    pub recent_prompts: VecDeque<u64>,
    /// Prompts by a human or a program.
    pub prompts: u64,
    /// Answers of the model.
    pub answers: u64,
    /// Tool calls.
    pub tool_uses: u64,
    /// The API message whose tokens were recorded last, and those tokens. Most lines only repeat them.
    pub counted: Option<(MessageKey, [u64; 4], u64)>,
    /// API messages that have no document so far. Measured: nearly always the next line makes one.
    pub wordless: VecDeque<Wordless>,
    /// The number of lines that made no document, by type.
    pub skipped_types: BTreeMap<String, u64>,
    /// Subagents with messages in this file. Messages that their own transcripts also contain are left out.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub subagents_seen: BTreeSet<String>,
    /// Lines, blocks or keys of unknown types.
    pub unknown: u64,
    /// Lines, or parts of lines, that are not records.
    pub bad: u64,
    /// Lines too long to read.
    pub oversized: u64,
    /// Documents made so far. Excludes the messages of subagents, which are dropped once those have transcripts of
    /// their own.
    pub documents: u64,
    /// Totals of the conversation.
    pub totals: Totals,
    /// Subagents whose messages are in this file and that have no file of their own.
    #[serde(skip_serializing_if = "InlineAgents::is_empty")]
    pub inline_agents: InlineAgents,
}
