//! What an id, or the beginning of one, means.

use schemars::JsonSchema;
use serde::Serialize;

use crate::document::Document;
use crate::error::{Error, ErrorKind, Result};
use crate::index::Reader;

/// The shortest beginning of an id that is taken for one.
pub const SHORTEST_ID: usize = 4;
/// How many possible meanings of an id are named.
const NAMED: usize = 8;

/// What an id means.
#[derive(Clone, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct Target {
    /// The session.
    pub session: String,
    /// The subagent, if it is not the session itself.
    pub agent: Option<String>,
    /// The message.
    pub uuid: Option<String>,
}

/// Finds out what an id, or its beginning, means: a session, a subagent, a message.
pub(crate) fn resolve(reader: &Reader, id: &str) -> Result<Target> {
    let id = id.trim();
    let id = &id.strip_suffix(".jsonl").unwrap_or(id).to_lowercase();
    if id.len() < SHORTEST_ID {
        let what = format!("{id:?} is too short for an id; at least {SHORTEST_ID} characters are needed");
        return Err(Error::new(ErrorKind::Usage, what).hint("`unspool sessions` lists all sessions"));
    }
    let sessions = reader.sessions_like(id)?;
    if !sessions.is_empty() {
        let session = the_one(id, "session", sessions, |session| session.clone())?;
        return Ok(Target { session, ..Target::default() });
    }
    let agents = reader.agents_like(id.strip_prefix("agent-").unwrap_or(id))?;
    if !agents.is_empty() {
        let (session, agent) = the_one(id, "agent", agents, |(_, agent)| agent.clone())?;
        return Ok(Target { session, agent: Some(agent), uuid: None });
    }
    // Of the copies of a message the earliest counts, and a session's own before a subagent's; then the first by its place.
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
    let found = the_one(id, "message", messages, |document| document.uuid.clone().unwrap_or_default())?;
    Ok(Target { session: found.session, agent: found.agent, uuid: found.uuid })
}

/// The only one, or the one whose id is just this; otherwise says which there are.
fn the_one<T>(id: &str, what: &str, mut found: Vec<T>, name: impl Fn(&T) -> String) -> Result<T> {
    let exact = found.iter().position(|one| name(one) == id);
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
