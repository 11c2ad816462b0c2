//! Resolves an id, or the beginning of one, to a session, a subagent or a message.

use schemars::JsonSchema;
use serde::Serialize;

use crate::document::Document;
use crate::error::{Error, ErrorKind, Result};
use crate::index::Reader;

/// Minimum length of the beginning of an id.
pub const SHORTEST_ID: usize = 4;
/// Maximum number of matches that an error lists.
const NAMED: usize = 8;

/// The meaning of an id.
#[derive(Clone, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct Target {
    /// The session.
    pub session: String,
    /// The subagent, if the id is not of the session itself.
    pub agent: Option<String>,
    /// The message, if the id is of one.
    pub uuid: Option<String>,
}

impl Target {
    /// Returns the id of the conversation: that of the subagent, or of the session.
    pub fn id(&self) -> &str {
        self.agent.as_deref().unwrap_or(&self.session)
    }
}

/// Resolves an id, or the beginning of one. Tries sessions first, then subagents, then messages.
pub(crate) fn resolve(reader: &Reader, id: &str) -> Result<Target> {
    let id = id.trim();
    let id = id.strip_suffix(".jsonl").unwrap_or(id);
    // Ids are lower case, but nothing keeps a session from having another one.
    match resolve_as_typed(reader, id) {
        Err(error) if error.kind == ErrorKind::NotFound && id != id.to_lowercase() => {
            resolve_as_typed(reader, &id.to_lowercase())
        }
        resolved => resolved,
    }
}

fn resolve_as_typed(reader: &Reader, id: &str) -> Result<Target> {
    if id.len() < SHORTEST_ID {
        let what = format!("{id:?} is too short for an id; at least {SHORTEST_ID} characters are needed");
        return Err(Error::new(ErrorKind::Usage, what).hint("`unspool sessions` lists all sessions"));
    }
    let sessions = reader.sessions_like(id)?;
    if !sessions.is_empty() {
        let session = only_match(id, "session", sessions, |session| session.clone())?;
        return Ok(Target { session, ..Target::default() });
    }
    let agents = reader.agents_like(id.strip_prefix("agent-").unwrap_or(id))?;
    if !agents.is_empty() {
        let (session, agent) = only_match(id, "agent", agents, |(_, agent)| agent.clone())?;
        return Ok(Target { session, agent: Some(agent), uuid: None });
    }
    // A message may have copies. Take a session's own before a subagent's, then the earliest, then the first by path
    // and offset.
    let mut copies = Vec::new();
    for (file, document) in reader.messages_like(id)? {
        let path = reader.summary(file)?.map(|summary| summary.path());
        let time = document.timestamp.unwrap_or(i64::MAX);
        copies.push(((document.uuid.clone(), document.agent.is_some(), time, path, document.offset), document));
    }
    copies.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut messages: Vec<Document> = copies.into_iter().map(|(_, document)| document).collect();
    messages.dedup_by_key(|document| document.uuid.clone());
    if messages.is_empty() {
        let what = format!("no session, subagent or message begins with {id:?}");
        return Err(Error::new(ErrorKind::NotFound, what).hint("`unspool sessions` lists all sessions"));
    }
    let found = only_match(id, "message", messages, |document| document.uuid.clone().unwrap_or_default())?;
    Ok(Target { session: found.session, agent: found.agent, uuid: found.uuid })
}

/// Returns the only match, or the one with exactly this id. Otherwise returns an error that lists the matches.
fn only_match<T>(id: &str, what: &str, mut found: Vec<T>, name: impl Fn(&T) -> String) -> Result<T> {
    let exact = found.iter().position(|item| name(item) == id);
    match exact {
        Some(at) => Ok(found.swap_remove(at)),
        None if found.len() == 1 => Ok(found.swap_remove(0)),
        None => {
            let names: Vec<String> = found.iter().take(NAMED).map(&name).collect();
            let more = if found.len() > NAMED { format!(", and {} more", found.len() - NAMED) } else { String::new() };
            let message = format!("{} {what}s begin with {id:?}", found.len());
            Err(Error::new(ErrorKind::Usage, message).hint(format!("one of: {}{more}", names.join(", "))))
        }
    }
}
