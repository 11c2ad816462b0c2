//! A list of servers in a TOML file, as Codex has it: a table for each server.
//!
//! Our table is added at the end and removed as lines, so that no other line changes. The result is parsed before it is
//! used.

use serde::Serialize;
use toml_edit::DocumentMut;
use unspool::error::{Error, ErrorKind, Result};

use crate::clients::json::foreign;
use crate::clients::{List, NAME, Server, State};
use crate::shared_file::Entry;

/// The key of the list.
const KEY: &str = "mcp_servers";

/// Our entry in such a list.
#[derive(Debug)]
pub(super) struct TomlList {
    pub(super) server: Server,
}

impl TomlList {
    fn added(text: &str, server: &Server) -> Result<String> {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let gap = match text {
            "" => "",
            text if text.ends_with('\n') => newline,
            _ => &newline.repeat(2),
        };
        let lines = [
            format!("[{KEY}.{NAME}]"),
            format!("command = {}", quoted(&server.program)?),
            format!("args = [{}]", server.args.iter().map(quoted).collect::<Result<Vec<_>>>()?.join(", ")),
        ];
        let with = format!("{text}{gap}{}{newline}", lines.join(newline));
        match state(&with)? {
            State::Ours(found) if found == *server => Ok(with),
            _ => Err(unknown_form()),
        }
    }
}

impl List for TomlList {
    fn state(&self, text: &str) -> Result<State> {
        state(text)
    }
}

impl Entry for TomlList {
    fn with(&self, text: &str) -> Result<String> {
        match state(text)? {
            State::Ours(server) if server == self.server => Ok(text.to_string()),
            State::Ours(_) => Self::added(&self.without(text)?, &self.server),
            State::Absent => Self::added(text, &self.server),
            State::Foreign => Err(foreign()),
        }
    }

    fn without(&self, text: &str) -> Result<String> {
        if state(text)? == State::Absent {
            return Ok(text.to_string());
        }
        let (own, below) = (format!("[{KEY}.{NAME}]"), format!("[{KEY}.{NAME}."));
        let mut kept = String::with_capacity(text.len());
        let mut is_inside = false;
        for line in text.split_inclusive('\n') {
            let start = line.trim_start();
            if start.starts_with('[') {
                let is_ours = start.starts_with(&own) || start.starts_with(&below);
                if is_ours && !is_inside && (kept.ends_with("\n\n") || kept.ends_with("\n\r\n")) {
                    // The blank line that separates it from the table before.
                    kept.truncate(kept.trim_end_matches(['\r', '\n']).len() + newline_len(&kept));
                }
                is_inside = is_ours;
            }
            if !is_inside {
                kept.push_str(line);
            }
        }
        let mut expected = parse(text)?;
        expected.get_mut(KEY).and_then(|servers| servers.as_table_like_mut()?.remove(NAME));
        let is_same = parse(&kept).is_ok_and(|kept| same_values(&kept, &expected));
        if is_same { Ok(kept) } else { Err(unknown_form()) }
    }

    fn is_in(&self, text: &str) -> Result<bool> {
        Ok(matches!(state(text)?, State::Ours(_)))
    }

    fn is_original(&self, before: &str, text: &str) -> bool {
        let Ok(State::Ours(server)) = state(text) else { return false };
        matches!(state(before), Ok(State::Absent)) && Self::added(before, &server).is_ok_and(|with| with == text)
    }

    fn blank(&self) -> &'static str {
        ""
    }
}

fn state(text: &str) -> Result<State> {
    let document = parse(text)?;
    let Some(found) = document.get(KEY).and_then(|servers| servers.get(NAME)) else { return Ok(State::Absent) };
    let program = found.get("command").and_then(|command| command.as_str());
    let args = found
        .get("args")
        .and_then(|args| args.as_array())
        .map(|args| args.iter().filter_map(|word| word.as_str().map(str::to_string)).collect::<Vec<_>>());
    let server = program.map(|program| Server { program: program.to_string(), args: args.unwrap_or_default() });
    Ok(server.filter(Server::is_ours).map_or(State::Foreign, State::Ours))
}

fn parse(text: &str) -> Result<DocumentMut> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let why = error.message().to_string();
        Error::new(ErrorKind::Other, format!("cannot parse the file: {why}")).hint("fix the file; nothing was changed")
    })
}

/// Reports whether two documents have the same keys and values. A list of servers may be missing or empty.
fn same_values(one: &DocumentMut, other: &DocumentMut) -> bool {
    fn flat(prefix: &str, table: &dyn toml_edit::TableLike, found: &mut Vec<String>) {
        for (key, item) in table.iter() {
            let name = format!("{prefix}\u{0}{key}");
            match item.as_table_like() {
                Some(table) => flat(&name, table, found),
                None => found.push(format!("{name} {}", item.to_string().trim())),
            }
        }
    }
    let values = |document: &DocumentMut| {
        let mut found = Vec::new();
        flat("", document.as_table(), &mut found);
        found.sort();
        found
    };
    values(one) == values(other)
}

/// Returns the length of the line break at the end of the last line that is not blank.
fn newline_len(text: &str) -> usize {
    let rest = &text[text.trim_end_matches(['\r', '\n']).len()..];
    if rest.starts_with("\r\n") { 2 } else { usize::from(!rest.is_empty()) }
}

/// Returns a string of TOML. JSON's strings are a part of TOML's.
fn quoted(text: &(impl Serialize + ?Sized)) -> Result<String> {
    serde_json::to_string(text).map_err(|error| Error::new(ErrorKind::Other, error.to_string()))
}

fn unknown_form() -> Error {
    Error::new(ErrorKind::Other, format!("\"{KEY}\" has an unknown form"))
        .hint("edit the file by hand; nothing was changed")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> TomlList {
        TomlList { server: Server { program: "/usr/bin/unspool".to_string(), args: vec!["mcp".to_string()] } }
    }

    #[test]
    fn the_table_is_added_and_removed_without_another_change() {
        for text in [
            "",
            "model = \"o3\"\n",
            "# mine\r\nmodel = 'o3'\r\n",
            "[mcp_servers.other]\ncommand = \"x\"\n",
            "a = 1\n\n[mcp_servers.other.env]\nK = \"[v]\"\n\n[[list]]\nb = 2\n",
        ] {
            let with = list().with(text).expect("added");
            assert!(with.starts_with(text), "{with}");
            assert_eq!(list().with(&with).expect("added"), with, "a second time changes nothing");
            assert_eq!(list().without(&with).expect("removed"), text);
            assert!(list().is_original(text, &with));
        }
    }

    #[test]
    fn what_the_user_added_to_our_table_goes_with_it() {
        let text = "a = 1\n\n[mcp_servers.unspool]\ncommand = \"/x/unspool\"\nargs = [\"mcp\"]\nenabled = false\n\n\
                    [mcp_servers.unspool.env]\nX = \"1\"\n\n[b]\nc = 1\n";
        assert_eq!(list().without(text).expect("removed"), "a = 1\n[b]\nc = 1\n");
    }

    #[test]
    fn unknown_forms_are_not_changed() {
        for text in ["mcp_servers = {}\n", "a = \n", "mcp_servers = 1\n", "mcp_servers.unspool = 1\n"] {
            assert!(list().with(text).is_err(), "{text}");
        }
        let inline = "mcp_servers = { unspool = { command = \"unspool\", args = [\"mcp\"] } }\n";
        assert!(list().without(inline).is_err());
    }
}
