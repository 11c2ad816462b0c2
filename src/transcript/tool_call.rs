//! Interprets a tool call's effect on a file from its arguments.

use serde::Deserialize;
use serde_json::Value;

/// The effect that a tool call asks for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Call {
    /// Write the whole contents of a file.
    Write(String),
    /// Replace texts in a file, one after the other.
    Edits(Vec<Edit>),
    /// Change a file in a way that the arguments do not show.
    Change,
    /// Delete a file.
    Delete,
    /// Rename a file.
    Rename {
        /// The old name.
        from: String,
        /// The new name.
        to: String,
    },
    /// Read a file, or a part of it.
    Read {
        /// True if only a part of the file was requested.
        part: bool,
    },
    /// Run a command.
    Command(String),
    /// Anything else.
    Other,
}

/// A text replacement.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(default)]
pub struct Edit {
    /// The text to replace; empty to create a new file.
    #[serde(alias = "old_string", alias = "oldText", alias = "old_text", alias = "old_str")]
    pub old: String,
    /// The replacement.
    #[serde(alias = "new_string", alias = "newText", alias = "new_text", alias = "new_str")]
    pub new: String,
    /// True to replace every occurrence. Otherwise the text must occur exactly once.
    #[serde(alias = "replace_all")]
    pub all: bool,
}

/// Interprets a tool call from the tool's name and its arguments as JSON.
pub fn read_call(tool: &str, input: &str) -> Call {
    let input: Value = serde_json::from_str(input).unwrap_or_default();
    let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_string);
    match tool {
        "Edit" | "MultiEdit" => edits(&input),
        "Write" => text("content").map_or(Call::Change, Call::Write),
        "NotebookEdit" => Call::Change,
        "Read" | "NotebookRead" => {
            let part = ["offset", "limit", "pages", "view_range"]
                .iter()
                .any(|key| input.get(key).is_some_and(|value| !value.is_null()));
            Call::Read { part }
        }
        "Bash" | "PowerShell" => text("command").map_or(Call::Other, Call::Command),
        other if other.starts_with("mcp__") => mcp_call(other, &input),
        _ => Call::Other,
    }
}

/// Reads the arguments of an edit: a list of replacements, or a single one.
fn edits(input: &Value) -> Call {
    let list = input.get("edits").filter(|edits| edits.is_array()).cloned();
    let edits = match list {
        Some(list) => serde_json::from_value(list),
        None => Edit::deserialize(input).map(|edit| vec![edit]),
    };
    edits.map_or(Call::Change, Call::Edits)
}

/// Interprets a call to an unknown MCP tool. Its name suggests the effect, and its arguments may contain the details.
fn mcp_call(tool: &str, input: &Value) -> Call {
    let name = tool.rsplit("__").next().unwrap_or(tool).to_lowercase();
    let name_contains = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let text = |keys: &[&str]| keys.iter().find_map(|key| input.get(*key)?.as_str().map(str::to_string));
    if name_contains(&["directory", "folder", "_dir", "list", "search", "find", "glob", "grep"]) {
        return Call::Other;
    }
    let is_dry_run = ["dryRun", "dry_run"].iter().any(|key| input.get(*key).and_then(Value::as_bool) == Some(true));
    let is_part = name_contains(&["line", "symbol", "content", "regex", "section", "block", "cell"]);
    if is_dry_run {
        Call::Other
    } else if name_contains(&["move", "rename"]) && !is_part {
        let from = text(&["source", "from", "old_path", "oldPath", "path", "file_path"]);
        let to = text(&["destination", "to", "new_path", "newPath", "target"]);
        from.zip(to).map_or(Call::Change, |(from, to)| Call::Rename { from, to })
    } else if name_contains(&["delete", "remove", "unlink", "trash"]) && !is_part {
        Call::Delete
    } else if name_contains(&["write", "create", "save", "overwrite", "put_file"]) && !is_part {
        text(&["content", "contents", "text", "file_text"]).map_or(Call::Change, Call::Write)
    } else if name_contains(&[
        "edit", "replace", "insert", "update", "append", "patch", "modify", "delete", "remove", "rename", "write",
    ]) {
        match edits(input) {
            Call::Edits(edits) if edits.iter().all(|edit| *edit != Edit::default()) => Call::Edits(edits),
            _ => Call::Change,
        }
    } else if name_contains(&["read", "open", "view", "get_file", "getfile", "load"]) {
        Call::Read { part: true }
    } else {
        Call::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_interpreted() {
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
