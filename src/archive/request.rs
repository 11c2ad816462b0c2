//! Requests to an [`Archive`](crate::archive::Archive), as they were typed. Plain values, so that a command line, a URL
//! and an agent's tool call can all be turned into them.

use jiff::Zoned;
use serde::{Deserialize, Serialize};

use crate::archive::prices::Prices;
pub use crate::index::Sort;
use crate::query::QueryContext;

/// Everything about the caller that the meaning of a request depends on. `2d`, `./x` and `here` mean something else at
/// another time or in another folder.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Context {
    /// The time, in the caller's zone. 1970 if unknown.
    pub now: Zoned,
    /// The current folder.
    pub folder: Option<String>,
    /// The home folder.
    pub home: Option<String>,
    /// The Claude Code session in which the caller runs. Answers leave it out unless it is asked for.
    pub running_session: Option<String>,
    /// The folder in which Claude Code keeps its files by default.
    pub claude_dir: Option<String>,
}

impl Context {
    /// Returns the time in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.now.timestamp().as_millisecond()
    }

    pub(crate) fn query_context(&self) -> QueryContext {
        QueryContext { now: self.now.clone(), folder: self.folder.clone(), home: self.home.clone() }
    }
}

/// Restricts an answer. Several values of one field are alternatives; different fields must all match.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Filters {
    /// `human`, `assistant`, `tool`, `subagent`, `programmatic`, `meta`.
    pub role: Vec<String>,
    /// `prompt`, `text`, `tool_use` and the other kinds.
    pub kind: Vec<String>,
    /// Tools, by name or a part of it.
    pub tool: Vec<String>,
    /// Files: a path, the end of one, a folder, a glob.
    pub file: Vec<String>,
    /// Projects: a name, a part of it, a path.
    pub project: Vec<String>,
    /// Only the caller's repository with its worktrees, or the caller's folder.
    pub here: bool,
    /// Folders: a path, or the end of one.
    pub cwd: Vec<String>,
    /// Sessions, by id or the beginning of it.
    pub session: Vec<String>,
    /// Git branches, by name or a part of it.
    pub branch: Vec<String>,
    /// Models, by name or a part of it.
    pub model: Vec<String>,
    /// The earliest time: `2d`, `yesterday`, `2026-03`.
    pub since: Option<String>,
    /// The latest time.
    pub until: Option<String>,
    /// Only messages that report a failure.
    pub errors: bool,
    /// Only messages of subagents if true, none of them if false.
    pub agents: Option<bool>,
    /// Includes the session in which the caller runs.
    pub include_current: bool,
}

/// A search.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct SearchRequest {
    /// The query, with operators.
    pub text: Option<String>,
    /// Further words, without operators.
    pub literal: Option<String>,
    /// True to find the query letter by letter.
    pub fixed: bool,
    /// With `fixed`: true to ignore case.
    pub ignore_case: bool,
    /// The messages to search.
    pub filters: Filters,
    /// True to also search text inserted by Claude Code itself: hooks, reminders, skills.
    pub meta: bool,
    /// The number of sessions, or of messages if `messages` is set. The default is 10.
    pub limit: Option<usize>,
    /// The number of hits in each session. The default is 3.
    pub per_session: Option<usize>,
    /// True for one list of messages instead of one for each session.
    pub messages: bool,
    /// The order of the hits.
    pub sort: Sort,
    /// The cursor of an earlier answer to the same request, for the next page.
    pub cursor: Option<String>,
    /// The number of messages to show before each hit.
    pub before: usize,
    /// The number of messages to show after each hit.
    pub after: usize,
    /// True to look for changes to the request that find something, if it finds nothing.
    pub suggest: bool,
    /// True to find nothing if the query has a name that occurs nowhere. Without it, hits for the other words are
    /// shown.
    pub strict_names: bool,
    /// True to add the other half of each hit: the end of the answer to a prompt, the command of an output.
    pub counterpart: bool,
    /// True to show secrets.
    pub reveal: bool,
}

/// A list of sessions.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct SessionsRequest {
    /// A session is listed if any of its messages matches these.
    pub filters: Filters,
    /// The order of the sessions.
    pub order: Order,
    /// True to reverse the order.
    pub reverse: bool,
    /// The number of sessions. The default is all.
    pub limit: Option<usize>,
    /// The last session of an earlier answer, by its whole id. Only sessions after it are listed.
    pub after: Option<String>,
}

/// A conversation.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct ConversationRequest {
    /// A session, a subagent or a message, by id or the beginning of it.
    pub id: String,
    /// A message to begin near.
    pub around: Option<String>,
    /// A query. The conversation begins near its best match.
    pub query: Option<String>,
    /// With `around` or `query`: the number of messages before and after.
    pub context: Option<usize>,
    /// The line of the transcript to begin with. Takes precedence over `around` and `query`.
    pub from: Option<u64>,
    /// True to include text inserted by Claude Code itself.
    pub meta: bool,
    /// True to include messages abandoned by a rewind.
    pub abandoned: bool,
    /// True to include the messages of subagents, at the place where each subagent was started.
    pub agents: bool,
    /// True to show secrets.
    pub reveal: bool,
}

/// An outline of a conversation.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct OutlineRequest {
    /// A session or a subagent, or a message of one, by id or the beginning of it.
    pub id: String,
    /// True to show secrets.
    pub reveal: bool,
}

/// A conversation to read in any order.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct ReadingRequest {
    /// A session, a subagent or a message, by id or the beginning of it.
    pub id: String,
    /// True to include everything: messages abandoned by a rewind, those of subagents in the same transcript, and what
    /// Claude Code itself inserted.
    pub complete: bool,
    /// True to show secrets.
    pub reveal: bool,
}

/// A request for the names that a filter can have.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct NamesRequest {
    /// The field: `project`, `branch`, `tool`, `model`, `role`, `kind`.
    pub field: String,
    /// The part of the name that was typed.
    pub typed: String,
    /// The number of names. The default is 20.
    pub limit: Option<usize>,
}

/// A request about a file.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct FileRequest {
    /// The file as it was typed: a path, the tail of one, a pattern or a folder.
    pub path: String,
    /// The question about it.
    pub question: FileQuestion,
    /// The sessions, projects and times to look at. Used by [`FileQuestion::Actions`] only.
    pub filters: Filters,
    /// True to show secrets in messages and patches. Recovered contents are never redacted.
    pub reveal: bool,
}

/// A question about a file.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileQuestion {
    /// The actions that created, changed, renamed or deleted it.
    Actions {
        /// Includes reads.
        reads: bool,
        /// Includes mentions.
        mentions: bool,
        /// Includes calls without a recorded result.
        unconfirmed: bool,
        /// Shows each change as a patch.
        diff: bool,
    },
    /// The author of each line.
    Blame {
        /// The file as it is now.
        contents: String,
    },
    /// The history of one line.
    Why {
        /// The file as it is now.
        contents: String,
        /// The line, from 1.
        line: usize,
    },
    /// Its contents at some time.
    Contents {
        /// The time.
        at: Moment,
    },
    /// All its versions.
    Versions,
}

impl Default for FileQuestion {
    fn default() -> Self {
        Self::Actions { reads: false, mentions: false, unconfirmed: false, diff: false }
    }
}

/// A time in the history of a file.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// The last known version.
    #[default]
    End,
    /// A time: `2d`, `yesterday`, `2026-03-01 14:30`.
    At(String),
    /// After the last change by a session.
    After(String),
    /// Before the first change by a session.
    Before(String),
}

/// Statistics on usage and cost.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct StatsRequest {
    /// The messages to count.
    pub filters: Filters,
    /// Prices of models, in addition to the built-in ones.
    pub prices: Prices,
}

/// The order of sessions.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// By the time of the last message, newest first.
    #[default]
    Newest,
    /// By the time of the first message, newest first.
    Started,
    /// By duration, longest first.
    Length,
    /// By the number of prompts, most first.
    Prompts,
    /// By the number of messages, most first.
    Messages,
    /// By the number of tool calls, most first.
    Tools,
    /// By the number of changed files, most first.
    Files,
    /// By the number of subagents, most first.
    Agents,
    /// By the number of tokens, most first.
    Tokens,
    /// By size, largest first.
    Size,
    /// By title.
    Title,
    /// By project.
    Project,
}

impl Order {
    /// All orders, with their names.
    pub const ALL: [(Self, &'static str); 12] = [
        (Self::Newest, "newest"),
        (Self::Started, "started"),
        (Self::Length, "length"),
        (Self::Prompts, "prompts"),
        (Self::Messages, "messages"),
        (Self::Tools, "tools"),
        (Self::Files, "files"),
        (Self::Agents, "agents"),
        (Self::Tokens, "tokens"),
        (Self::Size, "size"),
        (Self::Title, "title"),
        (Self::Project, "project"),
    ];
}
