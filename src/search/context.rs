//! What was said before and after a hit: along the conversation, not along the file, since a file holds abandoned
//! branches and side by side replies. Calls of tools come with their results.

use std::borrow::Cow;
use std::collections::HashSet;

use super::Request;
use crate::document::{Document, Kind, Role};
use crate::error::Result;
use crate::index::{Found, Reader};
use crate::redact::redact;
use crate::untrusted::Untrusted;

/// How many documents behind a hit are looked at for each message that is wanted.
const AHEAD: usize = 12;
/// How much of a message is given.
const LENGTH: usize = 400;

/// A message near a hit.
#[derive(Clone, Debug)]
pub struct Around {
    /// The line's id.
    pub uuid: Option<Untrusted>,
    /// Who speaks.
    pub role: Role,
    /// What it is.
    pub kind: Kind,
    /// The tool.
    pub tool: Option<Untrusted>,
    /// When, in milliseconds since 1970.
    pub timestamp: Option<i64>,
    /// The beginning of its text, white space folded.
    pub text: Untrusted,
    /// Of a call, the beginning of its result.
    pub result: Option<Untrusted>,
}

/// The messages before and after a hit, in the order they were said.
pub(super) fn around(
    reader: &Reader,
    found: &Found,
    hit: &Document,
    request: &Request,
) -> Result<(Vec<Around>, Vec<Around>)> {
    let (before, after) = request.around;
    if before == 0 && after == 0 {
        return Ok((Vec::new(), Vec::new()));
    }
    let (behind, ahead) = reader.neighbours(found, before * AHEAD + AHEAD, after * AHEAD + AHEAD)?;
    let mut earlier = chain_back(reader, hit, &behind, before)?;
    let mut later = chain_on(hit, &ahead, after);
    pair(&mut earlier, hit, &behind, request.reveal);
    pair(&mut later, hit, &ahead, request.reveal);
    Ok((
        earlier.into_iter().map(|entry| entry.shown(request.reveal)).collect(),
        later.into_iter().map(|entry| entry.shown(request.reveal)).collect(),
    ))
}

struct Entry {
    document: Document,
    result: Option<String>,
}

/// Follows the parents of a message.
fn chain_back(reader: &Reader, hit: &Document, near: &[Document], wanted: usize) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut seen = HashSet::new();
    let mut parent = hit.parent.clone();
    while let Some(uuid) = parent.take().filter(|uuid| seen.insert(uuid.clone())) {
        if entries.len() >= wanted {
            break;
        }
        let known = near.iter().find(|one| one.uuid.as_deref() == Some(&uuid) && one.part == 0).cloned();
        let Some(document) = known.or(reader.by_uuid(&uuid, &hit.session)?) else { break };
        parent.clone_from(&document.parent);
        // The call that a result answers is shown with the result.
        entries.push(Entry { document, result: None });
    }
    entries.reverse();
    Ok(entries)
}

/// Follows the children of a message; where there are several, the last one is where the conversation went on.
fn chain_on(hit: &Document, near: &[Document], wanted: usize) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut current = hit.uuid.clone();
    while let Some(uuid) = current.take() {
        if entries.len() >= wanted {
            break;
        }
        let child =
            near.iter().rfind(|one| one.parent.as_deref() == Some(&uuid) && one.part == 0 && one.agent == hit.agent);
        if let Some(document) = child {
            current.clone_from(&document.uuid);
            entries.push(Entry { document: document.clone(), result: None });
        }
    }
    entries
}

/// Puts results beside the calls they answer, instead of behind them.
fn pair(entries: &mut Vec<Entry>, hit: &Document, near: &[Document], reveal: bool) {
    let results: Vec<Document> = entries
        .iter()
        .filter(|entry| entry.document.kind == Kind::ToolResult)
        .map(|entry| entry.document.clone())
        .collect();
    let mut paired = HashSet::new();
    for entry in entries.iter_mut().filter(|entry| entry.document.kind == Kind::ToolUse) {
        let answers = |one: &&Document| {
            one.kind == Kind::ToolResult && one.tool_use.is_some() && one.tool_use == entry.document.tool_use
        };
        let result = results.iter().find(answers).or_else(|| near.iter().find(answers));
        if let Some(result) = result.filter(|result| result.uuid != hit.uuid || result.uuid.is_none()) {
            entry.result = Some(beginning(&result.text, reveal));
            paired.insert(result.uuid.clone());
        }
    }
    entries.retain(|entry| !(entry.document.kind == Kind::ToolResult && paired.contains(&entry.document.uuid)));
}

impl Entry {
    fn shown(self, reveal: bool) -> Around {
        let text = beginning(&self.document.text, reveal);
        let document = self.document;
        Around {
            uuid: document.uuid.map(Untrusted::new),
            role: document.role,
            kind: document.kind,
            tool: document.tool.map(Untrusted::new),
            timestamp: document.timestamp,
            text: text.into(),
            result: self.result.map(Untrusted::new),
        }
    }
}

/// The beginning of a text on one line, rid of secrets.
fn beginning(text: &str, reveal: bool) -> String {
    let text = if reveal { Cow::Borrowed(text) } else { redact(text) };
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.len() + word.len() > LENGTH {
            line.push('…');
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    line
}
