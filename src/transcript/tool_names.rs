//! Interprets a tool call from its name and arguments, for display.

use serde_json::value::RawValue;

use crate::transcript::tool_call::{Call, Edit, read_call};

/// The action that a tool call asks for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Action {
    /// Run a command.
    Run {
        /// The command.
        command: String,
    },
    /// Replace texts in a file.
    Edit {
        /// The path of the file.
        path: String,
        /// Each text and its replacement.
        changes: Vec<(String, String)>,
    },
    /// Write a whole file.
    Write {
        /// The path of the file.
        path: String,
        /// The new contents.
        content: String,
    },
    /// Start a subagent.
    Send {
        /// A short description of its task.
        title: String,
        /// Its prompt.
        prompt: String,
    },
    /// Propose a plan.
    Plan {
        /// The plan.
        text: String,
    },
    /// Anything else.
    Other {
        /// The most informative arguments.
        summary: String,
    },
}

/// The most informative argument keys, best first.
const SUMMARY_KEYS: [&str; 22] = [
    "file_path",
    "path",
    "notebook_path",
    "pattern",
    "query",
    "url",
    "skill",
    "command",
    "description",
    "subject",
    "question",
    "taskId",
    "task_id",
    "bash_id",
    "shell_id",
    "name",
    "title",
    "prompt",
    "message",
    "relative_path",
    "filePath",
    "uri",
];

/// Interprets a tool call from the tool's name and its arguments as JSON.
pub fn action(tool: &str, input: &str) -> Action {
    let text = |key: &str| member(input, key).and_then(|raw| serde_json::from_str::<String>(raw).ok());
    let read = || match (tool, read_call(tool, input)) {
        (_, Call::Command(command)) => Some(Action::Run { command }),
        ("Edit" | "MultiEdit", Call::Edits(edits)) if !edits.contains(&Edit::default()) => {
            let changes = edits.into_iter().map(|edit| (edit.old, edit.new)).collect();
            Some(Action::Edit { path: text("file_path")?, changes })
        }
        ("Write", Call::Write(content)) => Some(Action::Write { path: text("file_path")?, content }),
        ("NotebookEdit", _) => Some(Action::Write { path: text("notebook_path")?, content: text("new_source")? }),
        ("Task" | "Agent", _) => {
            Some(Action::Send { title: text("description").unwrap_or_default(), prompt: text("prompt")? })
        }
        ("ExitPlanMode", _) => Some(Action::Plan { text: text("plan")? }),
        _ => None,
    };
    read().unwrap_or_else(|| Action::Other { summary: summary(input) })
}

/// Returns the value of a member of a JSON object, as JSON.
fn member<'a>(input: &'a str, key: &str) -> Option<&'a str> {
    let members: std::collections::HashMap<String, &'a RawValue> = serde_json::from_str(input).ok()?;
    members.get(key).map(|value| value.get())
}

/// Returns the two most informative arguments, or all of the input if none of its keys is known.
fn summary(input: &str) -> String {
    let known = SUMMARY_KEYS.iter().filter_map(|key| serde_json::from_str::<String>(member(input, key)?).ok());
    let known: Vec<String> = known.filter(|value| !value.trim().is_empty()).take(2).collect();
    if !known.is_empty() {
        return known.join("  ");
    }
    match serde_json::from_str::<serde_json::Value>(input) {
        Ok(serde_json::Value::Object(members)) if members.is_empty() => String::new(),
        Ok(serde_json::Value::String(text)) => text,
        _ => input.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_interpreted() {
        let edit = |changes: &[(&str, &str)]| Action::Edit {
            path: "/a".into(),
            changes: changes.iter().map(|(old, new)| ((*old).to_string(), (*new).to_string())).collect(),
        };
        let other = |summary: &str| Action::Other { summary: summary.into() };
        for (tool, input, expected) in [
            ("Bash", r#"{"command":"ls -l","description":"list"}"#, Action::Run { command: "ls -l".into() }),
            ("Edit", r#"{"file_path":"/a","old_string":"x","new_string":"y"}"#, edit(&[("x", "y")])),
            ("MultiEdit", r#"{"file_path":"/a","edits":[{"old_string":"x","new_string":"y"}]}"#, edit(&[("x", "y")])),
            ("Edit", r#"{"file_path":"/a"}"#, other("/a")),
            ("Grep", r#"{"pattern":"fn main","path":"/src","-n":true}"#, other("/src  fn main")),
            ("Odd", r#"{"depth":3}"#, other(r#"{"depth":3}"#)),
            ("Odd", r#""just words""#, other("just words")),
            ("Bash", "not json", other("not json")),
            ("Stop", "{}", other("")),
        ] {
            assert_eq!(action(tool, input), expected);
        }
    }
}
