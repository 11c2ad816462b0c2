//! What is searchable: events of one file, in order, become [`Document`]s. Pure; no files, no tantivy.
//!
//! [`Builder`] is a fold over the lines of a file. Its whole memory is a [`FileState`], which is kept with the
//! checkpoint, so that reading a file in ten runs gives the same documents as reading it in one.

mod totals;
mod ansi;
mod tags;
mod clean;
mod shell;
mod builder;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::transcript::Trace;

pub use builder::{Builder, OwnTranscripts, Place};
pub use clean::normal_path;
pub use shell::{FileEffect, Touch, is_shell, touched};
pub use totals::{PAUSE, Tally};

/// The most text one document holds; longer texts become several documents of one message.
/// (While a document is added it costs several times its size in memory.)
pub const TEXT_CAP: usize = 256 << 10;

/// Who speaks.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A person typed it.
    Human,
    /// The model answered, thought or summed up.
    Assistant,
    /// A tool was called or has answered.
    Tool,
    /// A subagent spoke, or was spoken to.
    Subagent,
    /// A program sent it through the SDK.
    Programmatic,
    /// Claude Code itself put it in; not searched unless asked for.
    #[default]
    Meta,
}

/// What it is.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A prompt.
    Prompt,
    /// A prompt that waited in the queue, or came from it.
    Queued,
    /// A prompt of the prompt history.
    History,
    /// A slash command, or a shell command typed with `!`.
    Command,
    /// An answer.
    Text,
    /// Reasoning.
    Thinking,
    /// The call of a tool.
    ToolUse,
    /// The answer of a tool.
    ToolResult,
    /// Output of a command, or one too large for the transcript.
    Output,
    /// The summary that replaced a compacted conversation.
    Compaction,
    /// A recap written by the model for a returning user.
    Recap,
    /// The name of a session.
    Title,
    /// A pull request.
    Link,
    /// Something put beside the conversation.
    Attachment,
    /// Files as they were before an edit, by name.
    Snapshot,
    /// A notice by Claude Code.
    #[default]
    Notice,
    /// A line of a type nobody knew.
    Unknown,
    /// A line that is no record.
    Bad,
    /// A line too long to read.
    Oversized,
}

impl Role {
    /// All roles, with the words users know them by.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Human, "human"),
        (Self::Assistant, "assistant"),
        (Self::Tool, "tool"),
        (Self::Subagent, "subagent"),
        (Self::Programmatic, "programmatic"),
        (Self::Meta, "meta"),
    ];

    /// The word users know it by.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(role, _)| *role == self).map_or("", |(_, name)| name)
    }
}

impl Kind {
    /// All kinds, with the words users know them by.
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

    /// The word users know it by.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

/// One searchable piece of a conversation. All but the text is kept beside it as JSON, so that a document can be
/// taken over into an index of another shape.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Document {
    /// The words.
    #[serde(skip)]
    pub text: String,
    /// The line's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// The nearest line before it in the conversation that is a document too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The session; of a subagent, the one that sent it.
    pub session: String,
    /// The subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The folder the session was started in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The folder it was in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The git branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Who speaks.
    #[serde(skip_serializing_if = "is_zero")]
    pub role: Role,
    /// What it is.
    #[serde(skip_serializing_if = "is_zero")]
    pub kind: Kind,
    /// The tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The id of the tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use: Option<String>,
    /// The arguments of the tool call, as JSON. The words follow from them, so only they are kept.
    #[serde(skip)]
    pub input: Option<String>,
    /// Whether the arguments are kept.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_input: bool,
    /// The files it is about, in normal spelling.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The API message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageKey>,
    /// Tokens of the whole API message: input, cache write, cache read, output. Only on the first document of a
    /// line, and only where the line before did not say the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<[u64; 4]>,
    /// How many of the tokens written to the cache are kept for an hour.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_hour: u64,
    /// When, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    /// Whether it reports a failure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub error: bool,
    /// Where in its file the record begins.
    #[serde(skip_serializing_if = "is_zero")]
    pub offset: u64,
    /// The line in its file, from 1.
    #[serde(skip_serializing_if = "is_zero")]
    pub line: u64,
    /// Which piece of the record it is, from 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub part: u32,
    /// Whether it goes on with the text of the document before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub continued: bool,
    /// Of a title: the message that identifies its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title_leaf: Option<String>,
    /// Of a copy made by the SDK: the id of the original line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copied_from: Option<String>,
    /// Of a link: its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Of a line that could not be read: the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Fingerprint of the words and the session, where the same words may stand more than once in a session:
    /// in the queue, in the history, in the prompt of a subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_hash: Option<u64>,
    /// Whether another document with the same `text_hash` is to be shown rather than this one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_duplicate: bool,
    /// What the tool recorded about the file it worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// The subagent whose own transcript, if there is one, holds this message too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
}

impl Document {
    /// Puts back what is kept apart from the rest: the words, or the arguments they follow from.
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

/// Whether a tool changes the file it is given.
pub fn edits_files(tool: &str) -> bool {
    matches!(tool, "Edit" | "Write" | "MultiEdit" | "NotebookEdit")
}

/// The fingerprint of an API message's name: it only tells which lines are of one message, and the name takes four times
/// as much. (44 bits: enough that no two messages of one user share it.)
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct MessageKey(u64);

impl MessageKey {
    /// The fingerprint of a name.
    pub fn of(name: &str) -> Self {
        Self(xxh3_64(name.as_bytes()) >> 20)
    }

    /// A fingerprint that was a number.
    pub fn from_number(number: u64) -> Self {
        Self(number)
    }

    /// The fingerprint as a number.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// An API message of which no line has words, so that no document tells what it cost.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Wordless {
    /// The API message, or the line where that has no name.
    pub message: MessageKey,
    /// The model.
    pub model: Option<String>,
    /// Tokens: input, cache write, cache read, output.
    pub usage: [u64; 4],
    /// How many of the tokens written to the cache are kept for an hour.
    pub cache_hour: u64,
    /// When, in milliseconds since 1970.
    pub timestamp: Option<i64>,
}

/// What is remembered of a file between runs: facts about its session, and what later lines may refer to.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct FileState {
    /// The session, where the file's name does not tell it.
    pub session: Option<String>,
    /// The first folder named: what the project is called after.
    pub project: Option<String>,
    /// The last folder named.
    pub cwd: Option<String>,
    /// The last git branch named.
    pub branch: Option<String>,
    /// How Claude Code was started.
    pub entrypoint: Option<String>,
    /// The last version named.
    pub version: Option<String>,
    /// Earliest time.
    pub first: Option<i64>,
    /// Latest time.
    pub last: Option<i64>,
    /// Time of the line before.
    pub previous: Option<i64>,
    /// The name the user gave.
    pub custom_title: Option<String>,
    /// The name the model gave.
    pub ai_title: Option<String>,
    /// The name of a team agent.
    pub agent_name: Option<String>,
    /// Claude Code's own stand-in for a title.
    pub last_prompt: Option<String>,
    /// The first prompt.
    pub first_prompt: Option<String>,
    /// The first command, where there is no prompt.
    pub first_command: Option<String>,
    /// A name for some session that stands in this file.
    pub summary: Option<String>,
    /// What a subagent was sent to do.
    pub description: Option<String>,
    /// The type of a subagent.
    pub agent_type: Option<String>,
    /// The session this one went on in.
    pub continued_in: Option<String>,
    /// The session this one was copied from.
    pub forked_from: Option<String>,
    /// Lines that are no documents, and what they follow: the chain of the conversation goes through them.
    pub passed: VecDeque<(String, Option<String>)>,
    /// Calls whose results have not come yet: id, tool, files.
    pub calls: VecDeque<(String, String, Vec<String>)>,
    /// Whether the first prompt of a subagent, a copy of its parent's tool call, has been seen.
    pub prompted: bool,
    /// Fingerprints of how the last prompts begin.
    pub said: VecDeque<u64>,
    /// Prompts by a human or a program.
    pub prompts: u64,
    /// Answers of the model.
    pub answers: u64,
    /// Calls of tools.
    pub tool_uses: u64,
    /// The API message whose tokens were told last, and the tokens; most lines only repeat them.
    pub counted: Option<(MessageKey, [u64; 4], u64)>,
    /// API messages that no document tells of, so far. (Measured: nearly always the next line does.)
    pub wordless: VecDeque<Wordless>,
    /// Lines without words, and lines of unknown type, by type.
    pub passed_over: BTreeMap<String, u64>,
    /// Subagents of which it has messages; those that their own transcripts have are left out.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub saw: BTreeSet<String>,
    /// Lines of types nobody knew.
    pub unknown: u64,
    /// Lines, or parts of lines, that are no records.
    pub bad: u64,
    /// Lines too long to read.
    pub oversized: u64,
    /// Documents made so far, without what was seen of subagents, which goes when they have transcripts of their own.
    pub documents: u64,
    /// What the conversation amounts to.
    pub tally: Tally,
}

impl FileState {
    /// The best name the file itself has for its session; Claude Code's own order.
    pub fn title(&self) -> Option<&str> {
        [&self.custom_title, &self.description, &self.ai_title, &self.agent_name]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .find(|title| !title.trim().is_empty())
    }
}
