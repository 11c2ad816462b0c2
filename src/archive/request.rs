//! Questions to an [`Archive`](crate::archive::Archive), as they were typed. Plain values: a command line, a URL and a
//! tool call of an agent all become these.

use jiff::Zoned;
use serde::{Deserialize, Serialize};

use crate::archive::prices::Prices;
pub use crate::index::Sort;
use crate::query::Surroundings;

/// Everything about the caller that the words of a request depend on: `2d`, `./x` and `here` mean different things at
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
    /// The Claude Code session in which the caller runs. It is left out of answers unless it is asked for.
    pub running_session: Option<String>,
    /// The folder in which Claude Code keeps its files unless it is told otherwise.
    pub claude_dir: Option<String>,
}

impl Context {
    /// Returns the time in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.now.timestamp().as_millisecond()
    }

    pub(crate) fn surroundings(&self) -> Surroundings {
        Surroundings { now: self.now.clone(), folder: self.folder.clone(), home: self.home.clone() }
    }
}

/// Narrows an answer down. Several values of one field are alternatives; different fields must all match.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Filters {
    /// `human`, `assistant`, `tool`, `subagent`, `programmatic`, `meta`.
    pub role: Vec<String>,
    /// `prompt`, `text`, `tool_use` and the others.
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
    /// Not before: `2d`, `yesterday`, `2026-03`.
    pub since: Option<String>,
    /// Not after.
    pub until: Option<String>,
    /// Only what reports a failure.
    pub errors: bool,
    /// Only what subagents said and did, or nothing of it.
    pub agents: Option<bool>,
    /// Also the session in which the caller runs.
    pub include_current: bool,
}

/// A search.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct SearchRequest {
    /// The query, with operators.
    pub text: String,
    /// Further words, in which nothing is an operator.
    pub literal: String,
    /// Whether the query is to be found letter by letter.
    pub fixed: bool,
    /// Whether it may then be found in any case.
    pub ignore_case: bool,
    /// What may be found.
    pub filters: Filters,
    /// Whether what Claude Code itself put in may be found: hooks, reminders, skills.
    pub meta: bool,
    /// The number of sessions, or with `messages` of messages; 10 unless given.
    pub limit: Option<usize>,
    /// The number of hits in each session; 3 unless given.
    pub per_session: Option<usize>,
    /// One list of messages instead of one for each session.
    pub messages: bool,
    /// The order of the hits.
    pub sort: Sort,
    /// Where an earlier answer to the same question ended.
    pub cursor: Option<String>,
    /// The number of messages to show before each hit.
    pub before: usize,
    /// The number of messages to show after each hit.
    pub after: usize,
    /// Whether to look for a change to the request that would find something, if it finds nothing.
    pub suggest: bool,
    /// Whether to show secrets.
    pub reveal: bool,
}

/// A list of sessions.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct SessionsRequest {
    /// Sessions in which anything matches these.
    pub filters: Filters,
    /// Their order.
    pub order: Order,
    /// Whether the order is reversed.
    pub reverse: bool,
    /// The number of sessions; all unless given.
    pub limit: Option<usize>,
}

/// A conversation.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct ConversationRequest {
    /// A session, a subagent or a message, by id or the beginning of it.
    pub id: String,
    /// Begin near this message.
    pub around: Option<String>,
    /// Begin near the message that this query finds best.
    pub query: Option<String>,
    /// With `around` or `query`: the number of messages before and after.
    pub context: Option<usize>,
    /// Whether to include what Claude Code itself put in.
    pub meta: bool,
    /// Whether to include what a rewind left behind.
    pub abandoned: bool,
    /// Whether to include what subagents said, where they were sent.
    pub agents: bool,
    /// Whether to show secrets.
    pub reveal: bool,
}

/// A question about a file.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct FileRequest {
    /// The file as it was typed: a path, the tail of one, a pattern or a folder.
    pub path: String,
    /// What is asked about it.
    pub question: FileQuestion,
    /// The sessions, projects and times that count. For [`FileQuestion::Actions`] only.
    pub filters: Filters,
    /// Whether to show secrets in what was said and changed. Recovered contents are never masked.
    pub reveal: bool,
}

/// What may be asked about a file.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileQuestion {
    /// Who created, changed, renamed or deleted it.
    Actions {
        /// Also who read it.
        reads: bool,
        /// Also who mentioned it.
        mentions: bool,
        /// Also calls without a recorded result.
        unconfirmed: bool,
        /// Each change as a patch.
        diff: bool,
    },
    /// Who wrote each line.
    Blame {
        /// The file as it is now.
        contents: String,
    },
    /// The story of one line.
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

/// A point in the life of a file.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// The last that is known of it.
    #[default]
    End,
    /// A time: `2d`, `yesterday`, `2026-03-01 14:30`.
    At(String),
    /// After a session last changed it.
    After(String),
    /// Before a session first changed it.
    Before(String),
}

/// A count of what was done and what it cost.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct StatsRequest {
    /// The messages that count.
    pub filters: Filters,
    /// Prices of models besides the built-in ones.
    pub prices: Prices,
}

/// By what sessions are put in order.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The one in which something was said last comes first.
    #[default]
    Newest,
    /// The one that began last comes first.
    Started,
    /// The longest first.
    Length,
    /// The one with most prompts first.
    Prompts,
    /// The one with most messages first.
    Messages,
    /// The one with most tool calls first.
    Tools,
    /// The one that changed most files first.
    Files,
    /// The one with most subagents first.
    Agents,
    /// The one with most tokens first.
    Tokens,
    /// The largest first.
    Size,
    /// By title.
    Title,
    /// By project.
    Project,
}

impl Order {
    /// All of them, with their names.
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
