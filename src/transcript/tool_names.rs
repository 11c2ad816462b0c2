//! What a tool was asked to do, read from the arguments of its call.

use serde::Deserialize;
use serde_json::value::RawValue;

/// What a tool was asked to do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Action {
    /// To run a command.
    Run {
        /// The command.
        command: String,
    },
    /// To change pieces of a file.
    Edit {
        /// The file.
        path: String,
        /// Each piece as it was and as it is to be.
        changes: Vec<(String, String)>,
    },
    /// To write a whole file.
    Write {
        /// The file.
        path: String,
        /// What is to be in it.
        content: String,
    },
    /// To send a subagent.
    Send {
        /// What it is to do, in a few words.
        title: String,
        /// What it is told.
        prompt: String,
    },
    /// To propose a plan.
    Plan {
        /// The plan.
        text: String,
    },
    /// Anything else, in one line.
    Other {
        /// The arguments that say most.
        summary: String,
    },
}

/// The keys that say most, in the order in which they are looked for.
const TELLING: [&str; 22] = [
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

#[derive(Default, Deserialize)]
#[serde(default)]
struct Change {
    old_string: String,
    new_string: String,
}

/// Reads what a tool was asked to do, from its name and its arguments as JSON.
pub fn action(tool: &str, input: &str) -> Action {
    let text = |key: &str| member(input, key).and_then(|raw| serde_json::from_str::<String>(raw).ok());
    let read = || match tool {
        "Bash" | "PowerShell" => Some(Action::Run { command: text("command")? }),
        "Edit" | "MultiEdit" => {
            let one = || Some(vec![(text("old_string")?, text("new_string")?)]);
            let many = || {
                let changes: Vec<Change> = serde_json::from_str(member(input, "edits")?).ok()?;
                Some(changes.into_iter().map(|change| (change.old_string, change.new_string)).collect())
            };
            Some(Action::Edit { path: text("file_path")?, changes: one().or_else(many)? })
        }
        "Write" => Some(Action::Write { path: text("file_path")?, content: text("content")? }),
        "NotebookEdit" => Some(Action::Write { path: text("notebook_path")?, content: text("new_source")? }),
        "Task" | "Agent" => {
            Some(Action::Send { title: text("description").unwrap_or_default(), prompt: text("prompt")? })
        }
        "ExitPlanMode" => Some(Action::Plan { text: text("plan")? }),
        _ => None,
    };
    read().unwrap_or_else(|| Action::Other { summary: summary(input) })
}

/// The value of a member of an object, as JSON.
fn member<'a>(input: &'a str, key: &str) -> Option<&'a str> {
    let members: std::collections::HashMap<String, &'a RawValue> = serde_json::from_str(input).ok()?;
    members.get(key).map(|value| value.get())
}

/// The two arguments that say most; all of them where none is known.
fn summary(input: &str) -> String {
    let known = TELLING.iter().filter_map(|key| serde_json::from_str::<String>(member(input, key)?).ok());
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
    fn calls_are_understood() {
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
