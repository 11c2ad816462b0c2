//! The messages before and after a hit. They follow the conversation and not the file, because a file also contains
//! abandoned branches and parallel replies. Tool calls come with their results.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::archive::search::Question;
use crate::archive::search::answer::NearbyMessage;
use crate::archive::tool_pairs::answers;
use crate::document::{Document, Kind, Role};
use crate::error::Result;
use crate::index::{RawHit, Reader};
use crate::redact::redact;
use crate::untrusted::Untrusted;

/// Documents that are read for each message that is wanted.
const AHEAD: usize = 12;
/// Bytes of a message that are shown.
const LENGTH: usize = 400;

/// Returns the messages before and after a hit, in the order of the conversation.
pub(super) fn around(
    reader: &Reader,
    found: &RawHit,
    hit: &Document,
    question: &Question,
) -> Result<(Vec<NearbyMessage>, Vec<NearbyMessage>)> {
    let (before, after) = question.around;
    if before == 0 && after == 0 {
        return Ok((Vec::new(), Vec::new()));
    }
    let (before_hit, after_hit) = reader.neighbours(found, before * AHEAD + AHEAD, after * AHEAD + AHEAD)?;
    let near: Vec<&Document> = before_hit.iter().chain(&after_hit).collect();
    let (mut earlier, mut later) = if is_seen_from_outside(hit) {
        (in_file_order(hit, before_hit.iter().rev(), before), in_file_order(hit, after_hit.iter(), after))
    } else {
        let mut earlier = chain_back(reader, hit, &near, before)?;
        let later = chain_on(hit, &mut earlier, &near, after);
        (earlier, later)
    };
    earlier.entries.reverse();
    let shown = |turns: &mut Turns| {
        turns.complete(hit, &near);
        turns.entries.drain(..).map(|entry| entry.into_nearby(question.reveal)).collect()
    };
    Ok((shown(&mut earlier), shown(&mut later)))
}

/// Reports whether this is a message of a subagent in the file of its parent. Such messages name no parent of their own, and
/// the order of the file is that of the conversation.
fn is_seen_from_outside(document: &Document) -> bool {
    document.seen_via_agent.is_some() && document.parent.is_none()
}

/// Takes messages of the same subagent in the order of the file.
fn in_file_order<'d>(hit: &Document, near: impl Iterator<Item = &'d Document>, wanted: usize) -> Turns {
    let mut turns = Turns::around(hit, wanted);
    let same = near.filter(|one| is_seen_from_outside(one) && one.agent == hit.agent && one.part == 0);
    for document in same.filter(|one| one.uuid != hit.uuid) {
        if !turns.take(document.clone()) {
            break;
        }
    }
    turns
}

/// Follows the parents of a message.
fn chain_back(reader: &Reader, hit: &Document, near: &[&Document], wanted: usize) -> Result<Turns> {
    let mut turns = Turns::around(hit, wanted);
    let mut parent = hit.parent.clone();
    while let Some(uuid) = parent.take().filter(|uuid| turns.seen.insert(uuid.clone())) {
        let known = near.iter().find(|one| one.uuid.as_deref() == Some(&uuid) && one.part == 0).copied().cloned();
        let Some(document) = known.or(reader.by_uuid(&uuid, &hit.session)?) else { break };
        parent.clone_from(&document.parent);
        if !turns.take(document) {
            break;
        }
    }
    Ok(turns)
}

/// Follows the children of a message. Of several, the conversation continues with the last one.
fn chain_on(hit: &Document, earlier: &mut Turns, near: &[&Document], wanted: usize) -> Turns {
    let mut turns = Turns::around(hit, wanted);
    turns.seen.extend(earlier.seen.iter().cloned());
    let child_of = |uuid: &str, seen: &HashSet<String>| {
        let children = near.iter().copied().filter(|one| one.parent.as_deref() == Some(uuid) && one.agent == hit.agent);
        let fresh = children.filter(|one| one.part == 0 && one.uuid.as_ref().is_some_and(|id| !seen.contains(id)));
        // Each of several parallel calls has the next call and its own result as children. The conversation continues with
        // the next call.
        let (results, others): (Vec<&Document>, Vec<&Document>) = fresh.partition(|one| one.kind == Kind::ToolResult);
        others.last().or(results.last()).copied()
    };
    let mut current = hit.uuid.as_deref().and_then(|uuid| child_of(uuid, &turns.seen));
    if current.is_none() && hit.kind == Kind::ToolResult {
        current = hit.parent.as_deref().and_then(|call| child_of(call, &turns.seen));
    }
    while let Some(document) = current {
        let uuid = document.uuid.clone().unwrap_or_default();
        // The result of a call before the hit belongs to that call.
        if !earlier.pair(document) && !turns.take(document.clone()) {
            break;
        }
        turns.seen.insert(uuid.clone());
        current = child_of(&uuid, &turns.seen);
    }
    turns
}

/// Consecutive messages. A call and its result count as one.
struct Turns {
    entries: Vec<Entry>,
    wanted: usize,
    /// Set if text that Claude Code itself inserted is wanted too.
    with_meta: bool,
    /// The ids of all messages met so far.
    seen: HashSet<String>,
}

struct Entry {
    document: Document,
    result: Option<String>,
}

impl Turns {
    /// Starts next to a hit. Reminders and the like are only shown around hits of their own kind.
    fn around(hit: &Document, wanted: usize) -> Self {
        let seen = hit.uuid.iter().cloned().collect();
        Self { entries: Vec::new(), wanted, with_meta: hit.role == Role::Meta, seen }
    }

    /// Adds the next message, in the direction away from the hit. Returns false if there are enough.
    fn take(&mut self, document: Document) -> bool {
        if self.pair(&document) || document.role == Role::Meta && !self.with_meta {
            return true;
        }
        let has_room = self.entries.len() < self.wanted;
        if has_room {
            self.entries.push(Entry { document, result: None });
        }
        has_room
    }

    /// Adds a result to its call, or a call to its result, if the other one is there already.
    fn pair(&mut self, document: &Document) -> bool {
        for entry in &mut self.entries {
            if answers(document, &entry.document) {
                entry.result = Some(document.text.clone());
                return true;
            }
            if answers(&entry.document, document) {
                entry.set_call(document.clone());
                return true;
            }
        }
        false
    }

    /// Adds results and calls that are near but not on the path of parents and children.
    fn complete(&mut self, hit: &Document, near: &[&Document]) {
        for entry in &mut self.entries {
            if let Some(result) =
                near.iter().find(|one| answers(one, &entry.document) && !answers(hit, &entry.document))
            {
                entry.result.get_or_insert_with(|| result.text.clone());
            }
            if let Some(call) = near.iter().find(|one| answers(&entry.document, one)) {
                entry.set_call((*call).clone());
            }
        }
    }
}

impl Entry {
    /// Turns the entry of a result into that of its call.
    fn set_call(&mut self, call: Document) {
        let result = std::mem::replace(&mut self.document, call);
        self.result = Some(result.text);
    }

    fn into_nearby(self, reveal: bool) -> NearbyMessage {
        let text = beginning(&self.document.text, reveal);
        let document = self.document;
        NearbyMessage {
            uuid: document.uuid.map(Untrusted::new),
            role: document.role,
            kind: document.kind,
            tool: document.tool.map(Untrusted::new),
            timestamp: document.timestamp,
            text: text.into(),
            result: self.result.map(|result| beginning(&result, reveal).into()),
        }
    }
}

/// Returns the beginning of a text on one line, with secrets masked.
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
