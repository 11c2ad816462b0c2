//! Search filters such as `role:human` or `--since 2d`. The same fields work as flags and inside a query. Pure.

use std::ops::Range;

use jiff::Zoned;

use crate::dates::{self, Edge};
use crate::document::{Kind, Role, normal_path};
use crate::error::{Error, ErrorKind, Result};

/// The filter of a search. Conditions on the same field are alternatives. Conditions on different fields must all
/// match.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Set to also find text inserted by Claude Code itself.
    pub meta: bool,
    /// A session to leave out.
    pub without_session: Option<String>,
    /// Conditions that a hit must match, or must not if `negated`.
    pub conditions: Vec<Condition>,
}

impl Filter {
    /// Reports whether there are no conditions.
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Reports whether text inserted by Claude Code itself may be found, either because it was asked for or because a
    /// condition implies it.
    pub fn finds_meta(&self) -> bool {
        let implied = |condition: &Condition| {
            !condition.negated && matches!(condition.test, Test::Role(Role::Meta) | Test::Kind(_))
        };
        self.meta || self.conditions.iter().any(implied)
    }

    /// Reports whether the conditions on the time admit this time, in milliseconds since 1970.
    pub fn admits_time(&self, time: i64) -> bool {
        self.conditions.iter().all(|condition| match condition.test {
            Test::Since(since) => (time >= since) != condition.negated,
            Test::Until(until) => (time <= until) != condition.negated,
            _ => true,
        })
    }
}

/// One condition of a filter.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The field and the value to compare.
    pub test: Test,
    /// Set if a hit must not match.
    pub negated: bool,
    /// Its byte range in the query, if it is part of one.
    pub span: Option<Range<usize>>,
}

/// The field and value of a condition. Names are stored as typed; the index resolves them to known names.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// The author.
    Role(Role),
    /// The kind of document.
    Kind(Kind),
    /// A tool.
    Tool(String),
    /// A file by path, end of a path, folder (`src/`) or glob.
    File(String),
    /// A project by name or path.
    Project(String),
    /// A working directory, including everything below it.
    Cwd(String),
    /// One of several folders, including everything below, as project or as working directory.
    Here(Vec<String>),
    /// A session by id or the beginning of its id.
    Session(String),
    /// A git branch.
    Branch(String),
    /// A model.
    Model(String),
    /// Not before this time, in milliseconds since 1970.
    Since(i64),
    /// Not after this time, in milliseconds since 1970.
    Until(i64),
    /// Reports a failure.
    Error,
    /// Written by or sent to a subagent.
    Agent,
}

/// The environment that a condition may depend on.
#[derive(Clone, Debug)]
pub struct QueryContext {
    /// The current time, and the time zone of dates.
    pub now: Zoned,
    /// The current folder.
    pub folder: Option<String>,
    /// The home folder.
    pub home: Option<String>,
}

impl Default for QueryContext {
    fn default() -> Self {
        Self { now: jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC), folder: None, home: None }
    }
}

/// The names of all fields, as in `name:value`.
pub const FIELDS: [&str; 12] =
    ["role", "kind", "tool", "file", "project", "cwd", "session", "branch", "model", "since", "until", "is"];

impl Condition {
    /// Parses the value of a field.
    pub fn parse(field: &str, value: &str, context: &QueryContext) -> Result<Self> {
        let text = value.trim();
        if text.is_empty() {
            return Err(Error::new(ErrorKind::Usage, format!("{field}: needs a value")));
        }
        let name = || text.to_string();
        let test = match field {
            "role" => Test::Role(pick(field, text, &Role::ALL)?),
            "kind" => Test::Kind(pick(field, &text.replace('-', "_"), &Kind::ALL)?),
            "tool" => Test::Tool(name()),
            "file" => Test::File(path(text, context, false)),
            "project" => Test::Project(path(text, context, true)),
            "cwd" => Test::Cwd(path(text, context, false)),
            "session" => Test::Session(name()),
            "branch" => Test::Branch(name()),
            "model" => Test::Model(name()),
            "since" | "after" => Test::Since(dates::parse(text, &context.now, Edge::Since)?),
            "until" | "before" => Test::Until(dates::parse(text, &context.now, Edge::Until)?),
            "is" => parse_is(text)?,
            _ => return Err(Error::new(ErrorKind::Usage, format!("unknown field {field}"))),
        };
        Ok(Self { test, negated: false, span: None })
    }

    /// The name of the field. Conditions with the same field are alternatives.
    pub fn field(&self) -> &'static str {
        match self.test {
            Test::Role(_) => "role",
            Test::Kind(_) => "kind",
            Test::Tool(_) => "tool",
            Test::File(_) => "file",
            Test::Project(_) => "project",
            Test::Cwd(_) => "cwd",
            Test::Here(_) => "here",
            Test::Session(_) => "session",
            Test::Branch(_) => "branch",
            Test::Model(_) => "model",
            Test::Since(_) => "since",
            Test::Until(_) => "until",
            Test::Error => "is:error",
            Test::Agent => "is:agent",
        }
    }
}

impl From<Test> for Condition {
    fn from(test: Test) -> Self {
        Self { test, negated: false, span: None }
    }
}

/// Parses the value of `is:`.
fn parse_is(text: &str) -> Result<Test> {
    match text.to_lowercase().as_str() {
        "error" | "errors" | "failed" => Ok(Test::Error),
        "agent" | "agents" | "subagent" => Ok(Test::Agent),
        _ => Err(Error::new(ErrorKind::Usage, format!("unknown filter is:{text}")).hint("use is:error or is:agent")),
    }
}

/// Returns the value with this name, synonym, or unambiguous beginning of a name.
fn pick<T: Copy>(field: &str, text: &str, all: &[(T, &str)]) -> Result<T> {
    let wanted = text.to_lowercase();
    let synonym = match (field, wanted.as_str()) {
        ("role", "user" | "me") => "human",
        ("role", "claude" | "model") => "assistant",
        ("role", "agent") => "subagent",
        ("role", "sdk") => "programmatic",
        ("kind", "answer") => "text",
        ("kind", "call") => "tool_use",
        ("kind", "result") => "tool_result",
        ("kind", "summary") => "compaction",
        _ => wanted.as_str(),
    };
    let exact = all.iter().find(|(_, name)| *name == synonym);
    let mut by_prefix = all.iter().filter(|(_, name)| name.starts_with(synonym));
    let first_two = (by_prefix.next(), by_prefix.next());
    match (exact, first_two) {
        (Some((value, _)), _) | (None, (Some((value, _)), None)) => Ok(*value),
        _ => {
            let names: Vec<&str> = all.iter().map(|(_, name)| *name).collect();
            Err(Error::new(ErrorKind::Usage, format!("unknown {field} {text:?}"))
                .hint(format!("use one of: {}", names.join(", "))))
        }
    }
}

/// Parses a path as people type it: `~/x`, `./x`, `..`, `.`, with either slash. A bare name stays a bare name. A slash
/// at the end stays unless `is_name` is set.
fn path(text: &str, context: &QueryContext, is_name: bool) -> String {
    // On Unix, a backslash is a part of a name.
    let slashed = if text.starts_with('/') { text.to_string() } else { text.replace('\\', "/") };
    let relative = [".", ".."].iter().any(|dots| slashed == *dots || slashed.starts_with(&format!("{dots}/")));
    let normal = match (slashed.strip_prefix("~/"), &context.home, &context.folder) {
        (Some(rest), Some(home), _) => normal_path(rest, Some(home)),
        (None, _, Some(folder)) if relative => normal_path(&slashed, Some(folder)),
        _ => normal_path(&slashed, None),
    };
    let is_folder = slashed.ends_with('/') && !is_name;
    if is_folder { format!("{normal}/") } else { normal }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(field: &str, value: &str) -> String {
        let context = QueryContext {
            folder: Some("/home/u/work/api".to_string()),
            home: Some("/home/u".to_string()),
            ..QueryContext::default()
        };
        match Condition::parse(field, value, &context) {
            Ok(condition) => format!("{:?}", condition.test),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn values_are_parsed_as_people_type_them() {
        for (field, value, shown) in [
            ("role", "human", "Role(Human)"),
            ("role", "User", "Role(Human)"),
            ("role", "assist", "Role(Assistant)"),
            ("role", "robot", "unknown role \"robot\""),
            ("kind", "tool-result", "Kind(ToolResult)"),
            ("kind", "think", "Kind(Thinking)"),
            ("kind", "t", "unknown kind \"t\""),
            ("file", "src/auth/token.rs", "File(\"src/auth/token.rs\")"),
            ("file", "./token.rs", "File(\"/home/u/work/api/token.rs\")"),
            ("file", "../web/x.ts", "File(\"/home/u/work/web/x.ts\")"),
            ("file", "~/x.ts", "File(\"/home/u/x.ts\")"),
            ("file", "src\\auth\\", "File(\"src/auth/\")"),
            ("project", ".", "Project(\"/home/u/work/api\")"),
            ("project", "api/", "Project(\"api\")"),
            ("cwd", "..", "Cwd(\"/home/u/work\")"),
            ("is", "error", "Error"),
            ("is", "blue", "unknown filter is:blue"),
            ("since", "@86400", "Since(86400000)"),
            ("until", "1970", "Until(31535999999)"),
            ("tool", " ", "tool: needs a value"),
            ("colour", "x", "unknown field colour"),
        ] {
            assert_eq!(show(field, value), shown, "{field}:{value}");
        }
    }
}
