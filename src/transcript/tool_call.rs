//! What a tool was asked to do to a file, read from its arguments.

use serde::Deserialize;
use serde_json::Value;

/// What a tool was asked to do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Call {
    /// Put a file's contents.
    Write(String),
    /// Replace texts in a file, one after the other.
    Edits(Vec<Edit>),
    /// Change a file in a way that its arguments do not tell.
    Change,
    /// Delete a file.
    Delete,
    /// Give a file another name.
    Rename {
        /// The old name.
        from: String,
        /// The new name.
        to: String,
    },
    /// Read a file; from its first line to its last unless told otherwise.
    Read {
        /// Whether only a part was asked for.
        part: bool,
    },
    /// Run a command.
    Command(String),
    /// Anything else.
    Other,
}

/// A text to be replaced.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(default)]
pub struct Edit {
    /// What to look for; nothing to make a new file.
    #[serde(alias = "old_string", alias = "oldText", alias = "old_text", alias = "old_str")]
    pub old: String,
    /// What to put in its place.
    #[serde(alias = "new_string", alias = "newText", alias = "new_text", alias = "new_str")]
    pub new: String,
    /// Wherever it stands, rather than where it stands alone.
    #[serde(alias = "replace_all")]
    pub all: bool,
}

/// Reads what a tool was asked to do.
pub fn read_call(tool: &str, input: &str) -> Call {
    let input: Value = serde_json::from_str(input).unwrap_or_default();
    let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_string);
    match tool {
        "Edit" => edits(&input),
        "MultiEdit" => edits(&input),
        "Write" => text("content").map_or(Call::Change, Call::Write),
        "NotebookEdit" => Call::Change,
        "Read" | "NotebookRead" => {
            let part = ["offset", "limit", "pages", "view_range"]
                .iter()
                .any(|key| input.get(key).is_some_and(|value| !value.is_null()));
            Call::Read { part }
        }
        "Bash" | "PowerShell" => text("command").map_or(Call::Other, Call::Command),
        other if other.starts_with("mcp__") => foreign(other, &input),
        _ => Call::Other,
    }
}

fn edits(input: &Value) -> Call {
    let list = input.get("edits").filter(|edits| edits.is_array()).cloned();
    let edits = match list {
        Some(list) => serde_json::from_value(list),
        None => Edit::deserialize(input).map(|edit| vec![edit]),
    };
    edits.map_or(Call::Change, Call::Edits)
}

/// The tool of a server that nobody here knows: its name says what it does, and its arguments may say how.
fn foreign(tool: &str, input: &Value) -> Call {
    let name = tool.rsplit("__").next().unwrap_or(tool).to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let text = |keys: &[&str]| keys.iter().find_map(|key| input.get(*key)?.as_str().map(str::to_string));
    if says(&["directory", "folder", "_dir", "list", "search", "find", "glob", "grep"]) {
        return Call::Other;
    }
    let is_dry = ["dryRun", "dry_run"].iter().any(|key| input.get(*key).and_then(Value::as_bool) == Some(true));
    let is_part = says(&["line", "symbol", "content", "regex", "section", "block", "cell"]);
    if is_dry {
        Call::Other
    } else if says(&["move", "rename"]) && !is_part {
        let from = text(&["source", "from", "old_path", "oldPath", "path", "file_path"]);
        let to = text(&["destination", "to", "new_path", "newPath", "target"]);
        from.zip(to).map_or(Call::Change, |(from, to)| Call::Rename { from, to })
    } else if says(&["delete", "remove", "unlink", "trash"]) && !is_part {
        Call::Delete
    } else if says(&["write", "create", "save", "overwrite", "put_file"]) && !is_part {
        text(&["content", "contents", "text", "file_text"]).map_or(Call::Change, Call::Write)
    } else if says(&[
        "edit", "replace", "insert", "update", "append", "patch", "modify", "delete", "remove", "rename", "write",
    ]) {
        match edits(input) {
            Call::Edits(edits) if edits.iter().all(|edit| *edit != Edit::default()) => Call::Edits(edits),
            _ => Call::Change,
        }
    } else if says(&["read", "open", "view", "get_file", "getfile", "load"]) {
        Call::Read { part: true }
    } else {
        Call::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_by_their_arguments() {
        let edit = |old: &str, new: &str, all| Edit { old: old.into(), new: new.into(), all };
        for (tool, input, call) in [
            (
                "Edit",
                r#"{"file_path":"/a","old_string":"x","new_string":"y"}"#,
                Call::Edits(vec![edit("x", "y", false)]),
            ),
            (
                "Edit",
                r#"{"old_string":"x","new_string":"y","replace_all":true}"#,
                Call::Edits(vec![edit("x", "y", true)]),
            ),
            (
                "MultiEdit",
                r#"{"edits":[{"old_string":"x","new_string":"y"}]}"#,
                Call::Edits(vec![edit("x", "y", false)]),
            ),
            ("Edit", r#"{"old_string":7}"#, Call::Change),
            ("Write", r#"{"content":"x\n"}"#, Call::Write("x\n".into())),
            ("Read", r#"{"file_path":"/a"}"#, Call::Read { part: false }),
            ("Read", r#"{"file_path":"/a","limit":10}"#, Call::Read { part: true }),
            ("Grep", r#"{"path":"/a"}"#, Call::Other),
            ("mcp__filesystem__write_file", r#"{"path":"/a","content":"x"}"#, Call::Write("x".into())),
            (
                "mcp__filesystem__edit_file",
                r#"{"path":"/a","edits":[{"oldText":"x","newText":"y"}]}"#,
                Call::Edits(vec![edit("x", "y", false)]),
            ),
            ("mcp__filesystem__edit_file", r#"{"path":"/a","edits":[],"dryRun":true}"#, Call::Other),
            (
                "mcp__fs__move_file",
                r#"{"source":"/a","destination":"/b"}"#,
                Call::Rename { from: "/a".into(), to: "/b".into() },
            ),
            ("mcp__fs__create_directory", r#"{"path":"/a"}"#, Call::Other),
            ("mcp__serena__replace_symbol_body", r#"{"relative_path":"a"}"#, Call::Change),
            ("mcp__serena__find_symbol", r#"{"relative_path":"a"}"#, Call::Other),
            ("mcp__serena__delete_lines", r#"{"relative_path":"a"}"#, Call::Change),
            ("mcp__fs__delete_file", r#"{"path":"a"}"#, Call::Delete),
            ("mcp__fs__read_text_file", r#"{"path":"a"}"#, Call::Read { part: true }),
        ] {
            assert_eq!(read_call(tool, input), call, "{tool} {input}");
        }
    }
}
