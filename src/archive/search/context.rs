//! What was said before and after a hit: along the conversation, not along the file, since a file holds abandoned
//! branches and side by side replies. Calls of tools come with their results.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::archive::search::Question;
use crate::archive::search::answer::Around;
use crate::document::{Document, Kind, Role};
use crate::error::Result;
use crate::index::{RawHit, Reader};
use crate::redact::redact;
use crate::untrusted::Untrusted;

/// How many documents behind a hit are looked at for each message that is wanted.
const AHEAD: usize = 12;
/// How much of a message is given.
const LENGTH: usize = 400;

/// The messages before and after a hit, in the order they were said.
pub(super) fn around(
    reader: &Reader,
    found: &RawHit,
    hit: &Document,
    request: &Question,
) -> Result<(Vec<Around>, Vec<Around>)> {
    let (before, after) = request.around;
    if before == 0 && after == 0 {
        return Ok((Vec::new(), Vec::new()));
    }
    let (behind, ahead) = reader.neighbours(found, before * AHEAD + AHEAD, after * AHEAD + AHEAD)?;
    let near: Vec<&Document> = behind.iter().chain(&ahead).collect();
    let (mut earlier, mut later) = if is_seen_from_outside(hit) {
        (beside(hit, behind.iter().rev(), before), beside(hit, ahead.iter(), after))
    } else {
        let mut earlier = chain_back(reader, hit, &near, before)?;
        let later = chain_on(hit, &mut earlier, &near, after);
        (earlier, later)
    };
    earlier.entries.reverse();
    let shown = |turns: &mut Turns| {
        turns.complete(hit, &near);
        turns.entries.drain(..).map(|entry| entry.shown(request.reveal)).collect()
    };
    Ok((shown(&mut earlier), shown(&mut later)))
}

/// Messages of a subagent that stand in its parent's file name no parent of their own: there, the order of the file is
/// that of the conversation.
fn is_seen_from_outside(document: &Document) -> bool {
    document.via.is_some() && document.parent.is_none()
}

fn beside<'d>(hit: &Document, near: impl Iterator<Item = &'d Document>, wanted: usize) -> Turns {
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

/// Follows the children of a message; where there are several, the last one is where the conversation went on.
fn chain_on(hit: &Document, earlier: &mut Turns, near: &[&Document], wanted: usize) -> Turns {
    let mut turns = Turns::around(hit, wanted);
    turns.seen.extend(earlier.seen.iter().cloned());
    let child_of = |uuid: &str, seen: &HashSet<String>| {
        let children = near.iter().copied().filter(|one| one.parent.as_deref() == Some(uuid) && one.agent == hit.agent);
        let fresh = children.filter(|one| one.part == 0 && one.uuid.as_ref().is_some_and(|id| !seen.contains(id)));
        // Of several calls at once, each but the last is followed by the next call and by its own result, where the
        // conversation does not go on.
        let (results, others): (Vec<&Document>, Vec<&Document>) = fresh.partition(|one| one.kind == Kind::ToolResult);
        others.last().or(results.last()).copied()
    };
    let mut current = hit.uuid.as_deref().and_then(|uuid| child_of(uuid, &turns.seen));
    if current.is_none() && hit.kind == Kind::ToolResult {
        current = hit.parent.as_deref().and_then(|call| child_of(call, &turns.seen));
    }
    while let Some(document) = current {
        let uuid = document.uuid.clone().unwrap_or_default();
        // The result of a call that came before the hit belongs to that.
        if !earlier.pair(document) && !turns.take(document.clone()) {
            break;
        }
        turns.seen.insert(uuid.clone());
        current = child_of(&uuid, &turns.seen);
    }
    turns
}

/// Messages in a row; a call and its result are one.
struct Turns {
    entries: Vec<Entry>,
    wanted: usize,
    /// Whether what Claude Code itself put in is wanted too.
    with_meta: bool,
    /// The ids of what was met.
    seen: HashSet<String>,
}

struct Entry {
    document: Document,
    result: Option<String>,
}

impl Turns {
    /// None yet, near a hit. Reminders and the like are only of interest to whoever looks for them.
    fn around(hit: &Document, wanted: usize) -> Self {
        let seen = hit.uuid.iter().cloned().collect();
        Self { entries: Vec::new(), wanted, with_meta: hit.role == Role::Meta, seen }
    }

    /// Takes the next message, earlier or later than those before; says whether there was room for it.
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

    /// Puts a result beside its call, or a call before its result, if that is there.
    fn pair(&mut self, document: &Document) -> bool {
        for entry in &mut self.entries {
            if answers(document, &entry.document) {
                entry.result = Some(document.text.clone());
                return true;
            }
            if answers(&entry.document, document) {
                entry.put_behind(document.clone());
                return true;
            }
        }
        false
    }

    /// Puts beside calls and results what belongs to them and stands near, though not on the way.
    fn complete(&mut self, hit: &Document, near: &[&Document]) {
        for entry in &mut self.entries {
            if let Some(result) =
                near.iter().find(|one| answers(one, &entry.document) && !answers(hit, &entry.document))
            {
                entry.result.get_or_insert_with(|| result.text.clone());
            }
            if let Some(call) = near.iter().find(|one| answers(&entry.document, one)) {
                entry.put_behind((*call).clone());
            }
        }
    }
}

/// Whether one is the result of the other.
fn answers(result: &Document, call: &Document) -> bool {
    let of_call = call.kind == Kind::ToolUse && result.kind == Kind::ToolResult;
    of_call && call.tool_use.is_some() && result.tool_use == call.tool_use
}

impl Entry {
    /// Makes a result that of its call.
    fn put_behind(&mut self, call: Document) {
        let result = std::mem::replace(&mut self.document, call);
        self.result = Some(result.text);
    }

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
            result: self.result.map(|result| beginning(&result, reveal).into()),
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
