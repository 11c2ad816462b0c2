//! A list of servers in a JSON file, as most clients have it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use unspool::error::{Error, ErrorKind, Result};
use unspool::json_edit::{self, Style};

use crate::clients::{List, NAME, Server, State};
use crate::shared_file::Entry;

/// A file without any servers.
const NEW_FILE: &str = "{\n}\n";

/// Our entry in such a list.
#[derive(Debug)]
pub(super) struct JsonList {
    /// The key of the list.
    pub(super) key: &'static str,
    /// True if each server has a type.
    pub(super) is_typed: bool,
    pub(super) server: Server,
}

/// A server in the list.
#[derive(Deserialize, Serialize)]
struct JsonServer {
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    command: String,
    #[serde(default)]
    args: Vec<String>,
}

impl JsonList {
    fn entry(&self, server: &Server) -> JsonServer {
        let kind = self.is_typed.then(|| "stdio".to_string());
        JsonServer { kind, command: server.program.clone(), args: server.args.clone() }
    }

    fn added(&self, text: &str, server: &Server) -> Result<String> {
        let text = if text.trim().is_empty() { NEW_FILE } else { text };
        let style = Style::of(text);
        let root = root(text)?;
        let entry = self.entry(server);
        let unknown = || unknown_form(self.key);
        let Some(servers) = member(text, root.clone(), self.key).ok_or_else(unknown)? else {
            let value = style.write(&BTreeMap::from([(NAME, entry)]), 1).ok_or_else(unknown)?;
            return json_edit::with_member(text, root, self.key, &value, &style, 0).ok_or_else(unknown);
        };
        let value = style.write(&entry, 2).ok_or_else(unknown)?;
        json_edit::with_member(text, servers, NAME, &value, &style, 1).ok_or_else(unknown)
    }
}

impl List for JsonList {
    fn state(&self, text: &str) -> Result<State> {
        if text.trim().is_empty() {
            return Ok(State::Absent);
        }
        let unknown = || unknown_form(self.key);
        let Some(servers) = member(text, root(text)?, self.key).ok_or_else(unknown)? else { return Ok(State::Absent) };
        let Some(range) = member(text, servers, NAME).ok_or_else(unknown)? else { return Ok(State::Absent) };
        let found = serde_json::from_str::<JsonServer>(&text[range]).ok();
        let server = found.map(|found| Server { program: found.command, args: found.args });
        Ok(server.filter(|found| found.is_ours() || *found == self.server).map_or(State::Foreign, State::Ours))
    }
}

impl Entry for JsonList {
    fn with(&self, text: &str) -> Result<String> {
        match self.state(text)? {
            State::Ours(server) if server == self.server => Ok(text.to_string()),
            State::Ours(_) => self.added(&self.without(text)?, &self.server),
            State::Absent => self.added(text, &self.server),
            State::Foreign => Err(foreign()),
        }
    }

    fn without(&self, text: &str) -> Result<String> {
        if !self.is_in(text)? {
            return Ok(text.to_string());
        }
        let unknown = || unknown_form(self.key);
        let root = root(text)?;
        let servers = member(text, root.clone(), self.key).ok_or_else(unknown)?.ok_or_else(unknown)?;
        let is_only = json_edit::members(text, servers.clone()).is_some_and(|servers| servers.len() == 1);
        let removed = match is_only {
            true => json_edit::without_member(text, root, self.key),
            false => json_edit::without_member(text, servers, NAME),
        };
        removed.ok_or_else(unknown)
    }

    fn is_in(&self, text: &str) -> Result<bool> {
        Ok(matches!(self.state(text)?, State::Ours(_)))
    }

    fn is_original(&self, before: &str, text: &str) -> bool {
        let Ok(State::Ours(server)) = self.state(text) else { return false };
        matches!(self.state(before), Ok(State::Absent)) && self.added(before, &server).is_ok_and(|with| with == text)
    }

    fn blank(&self) -> &'static str {
        NEW_FILE
    }
}

fn root(text: &str) -> Result<std::ops::Range<usize>> {
    json_edit::whole(text).map_err(|error| {
        Error::new(ErrorKind::Other, format!("cannot parse the file: {error}"))
            .hint("comments are not supported; add the server by hand. Nothing was changed")
    })
}

/// Returns the range of a member's value. Returns `None` if this is not an object.
fn member(text: &str, object: std::ops::Range<usize>, name: &str) -> Option<Option<std::ops::Range<usize>>> {
    // If a key appears twice, the last one counts, as in JavaScript.
    let members = json_edit::members(text, object)?;
    Some(members.into_iter().rfind(|(key, _)| key == name).map(|(_, range)| range))
}

fn unknown_form(key: &str) -> Error {
    Error::new(ErrorKind::Other, format!("\"{key}\" has an unknown form"))
        .hint("add the server by hand; nothing was changed")
}

/// The error for another server with our name.
pub(super) fn foreign() -> Error {
    Error::new(ErrorKind::Usage, format!("it has another server with the name \"{NAME}\""))
        .hint("remove or rename that one first; nothing was changed")
}
