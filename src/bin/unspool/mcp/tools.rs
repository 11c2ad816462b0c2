//! The tools with their parameters: one table, from which schemas, checks and error messages are made.

use rmcp::model::{JsonObject, ToolAnnotations};
use serde_json::{Map, Value, json};

/// The largest answer, in characters.
pub(super) const MOST_CHARS: u64 = 40_000;
/// The smallest answer, in characters.
const FEWEST_CHARS: u64 = unspool::render::agent::FEWEST as u64;

/// A tool.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    title: &'static str,
    description: &'static str,
    pub(super) parameters: &'static [Parameter],
    /// The arguments of a correct call, as JSON.
    pub(super) example: &'static str,
}

/// A parameter of a tool.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) takes: Takes,
    pub(super) is_required: bool,
    about: &'static str,
}

/// The values that a parameter takes.
#[derive(Debug)]
pub(super) enum Takes {
    Text,
    Number(u64, u64),
    Flag,
    Choice(&'static [&'static str]),
}

impl Tool {
    /// Returns the tool as clients see it.
    pub(super) fn described(&self) -> rmcp::model::Tool {
        let properties: Map<String, Value> =
            self.parameters.iter().map(|one| (one.name.to_string(), one.schema())).collect();
        let required: Vec<&str> = self.parameters.iter().filter(|one| one.is_required).map(|one| one.name).collect();
        let mut schema = JsonObject::new();
        schema.insert("type".to_string(), "object".into());
        schema.insert("properties".to_string(), properties.into());
        if !required.is_empty() {
            schema.insert("required".to_string(), required.into());
        }
        schema.insert("additionalProperties".to_string(), false.into());
        let hints = ToolAnnotations::with_title(self.title).read_only(true).destructive(false).idempotent(true);
        rmcp::model::Tool::new(self.name, self.description, schema)
            .with_title(self.title)
            .with_annotations(hints.open_world(false))
    }
}

impl Parameter {
    fn schema(&self) -> Value {
        let mut schema = match &self.takes {
            Takes::Text => json!({"type": "string"}),
            Takes::Number(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
            Takes::Flag => json!({"type": "boolean"}),
            Takes::Choice(values) => json!({"type": "string", "enum": values}),
        };
        if !self.about.is_empty() {
            schema["description"] = self.about.into();
        }
        schema
    }
}

const fn text(name: &'static str, about: &'static str) -> Parameter {
    Parameter { name, takes: Takes::Text, is_required: false, about }
}

const fn needed(name: &'static str, about: &'static str) -> Parameter {
    Parameter { name, takes: Takes::Text, is_required: true, about }
}

const fn number(name: &'static str, least: u64, most: u64, about: &'static str) -> Parameter {
    Parameter { name, takes: Takes::Number(least, most), is_required: false, about }
}

const fn flag(name: &'static str, about: &'static str) -> Parameter {
    Parameter { name, takes: Takes::Flag, is_required: false, about }
}

const fn choice(name: &'static str, values: &'static [&'static str], about: &'static str) -> Parameter {
    Parameter { name, takes: Takes::Choice(values), is_required: false, about }
}

const MAX_CHARS: Parameter = number("max_chars", FEWEST_CHARS, MOST_CHARS, "maximum length of the answer");
const PROJECT: Parameter = text("project", "name, part of it, or path");
const SINCE: Parameter = text("since", "2d, yesterday, 2026-03");
const UNTIL: Parameter = text("until", "");
const BRANCH: Parameter = text("branch", "");
const MANY: u64 = 1 << 40;

/// The kinds of text to search.
pub(super) const KINDS: [&str; 5] = ["said", "command", "output", "code", "thinking"];
/// The speakers.
const ROLES: [&str; 4] = ["human", "assistant", "tool", "subagent"];
/// The orders of sessions.
const ORDERS: [&str; 6] = ["newest", "started", "length", "prompts", "files", "tokens"];

/// All tools, in the order in which clients see them.
pub(super) const TOOLS: [Tool; 6] = [
    Tool {
        name: "search_history",
        title: "Search earlier sessions",
        description: "Use when past work may hold the answer: a decision, a fix, an error, a command, a file, who asked for what. \
            Finds sessions and messages of the user's Claude Code history by words; a question in prose works too. The \
            answer begins with the match quality (all words, some words, corrected, none) and the totals. A prompt comes \
            with the end of its answer, an output with its command.",
        parameters: &[
            text("query", "words, \"phrases\", -without, error text, a path or an id"),
            PROJECT,
            SINCE,
            UNTIL,
            choice("role", &ROLES, "the speaker"),
            choice("kind", &KINDS, ""),
            text("tool", "Bash, Edit, …"),
            text("file", "path, end of one, or glob"),
            BRANCH,
            text("session", "id"),
            number("limit", 1, 20, "sessions, default 5"),
            number("hits", 1, 10, "per session, default 2"),
            text("cursor", "from the previous page"),
            flag("include_current", "also search the calling session"),
            MAX_CHARS,
        ],
        example: r#"{"query": "oauth token refresh 429", "since": "60d"}"#,
    },
    Tool {
        name: "read_conversation",
        title: "Read a session",
        description: "Use after a search, to read what was said around a hit or a whole session. Takes any id from an answer: \
            session, subagent or message, or its beginning. If the answer was cut, its last line is the call that continues it.",
        parameters: &[
            needed("id", "session, subagent or message"),
            text("around", "message in it to begin near"),
            number("before", 0, 200, "messages before it, default 2"),
            number("after", 0, 2000, "messages after it"),
            number("from", 0, MANY, "line #N to begin with"),
            number("to", 0, MANY, "last line"),
            number("skip", 0, MANY, "characters to skip in the first line"),
            choice("tools", &["none", "lines", "full"], "tool calls; default lines"),
            MAX_CHARS,
        ],
        example: r#"{"id": "05000001", "tools": "lines"}"#,
    },
    Tool {
        name: "outline_conversation",
        title: "Outline a session",
        description: "Use to see what a long session was about before reading it: every prompt with its time, the files changed \
            after it, its subagents, and the end of the answer; then totals.",
        parameters: &[needed("id", "session or subagent"), number("from", 1, MANY, "prompt to begin with"), MAX_CHARS],
        example: r#"{"id": "05000001"}"#,
    },
    Tool {
        name: "file_history",
        title: "History of a file",
        description: "Use to learn who changed a file, when and why, or with line, why that line is there: the changes in all \
            sessions, each with its prompt, newest first.",
        parameters: &[
            needed("path", "path, end of one, or glob"),
            number("line", 1, MANY, "the history of this line"),
            flag("reads", "also list reads"),
            flag("patches", "show each change"),
            PROJECT,
            SINCE,
            UNTIL,
            number("skip", 0, MANY, "actions already shown"),
            MAX_CHARS,
        ],
        example: r#"{"path": "src/auth/token.rs", "line": 42}"#,
    },
    Tool {
        name: "recover_file",
        title: "Earlier version of a file",
        description: "Use when a file was lost or overwritten, or to see an earlier version: its text as the sessions recorded it, \
            and which lines are certain. Writes nothing; secrets are masked.",
        parameters: &[
            needed("path", "path, or end of one"),
            text("at", "time: 2d, yesterday, 2026-03-01 14:30"),
            text("session", "after this session"),
            number("skip", 0, MANY, "characters already shown"),
            MAX_CHARS,
        ],
        example: r#"{"path": "src/auth/token.rs", "at": "yesterday"}"#,
    },
    Tool {
        name: "list_sessions",
        title: "List sessions",
        description: "Use for an overview: which sessions there were in a project, on a branch, over a few days, or that touched a \
            file. One entry each, newest first.",
        parameters: &[
            PROJECT,
            SINCE,
            UNTIL,
            BRANCH,
            text("file", "path, end of one, or glob"),
            choice("order", &ORDERS, ""),
            number("limit", 1, 100, "default 20"),
            text("cursor", "from the previous page"),
            flag("include_current", "also list the calling session"),
            MAX_CHARS,
        ],
        example: r#"{"project": "paperplane", "since": "7d"}"#,
    },
];
