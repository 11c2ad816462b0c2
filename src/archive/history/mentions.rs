//! Finds the messages that name a file and do nothing with it.

use std::collections::{HashMap, HashSet};

use crate::archive::history::FileAction;
use crate::archive::history::path::PathPattern;
use crate::archive::history::tool_calls::{FileTouch, ToolCall};
use crate::document::{Document, Kind, normal_path};
use crate::error::Result;
use crate::index::{FileKey, Reader};
use crate::query::Filter;
use crate::tokenize;
use crate::transcript::Call;

/// Returns the file that a message means by a name: the only known file below the folder of the message, or else the
/// name as it is.
fn known_file(touches: &[FileTouch], message: &Document, name: String) -> String {
    let folders: Vec<String> =
        [&message.cwd, &message.project].into_iter().flatten().map(|folder| normal_path(folder, None)).collect();
    let near = |path: &str| folders.iter().any(|folder| path.starts_with(&format!("{folder}/")));
    let mut paths: Vec<&String> = touches.iter().map(|touch| &touch.path).filter(|path| near(path)).collect();
    paths.sort_unstable();
    paths.dedup();
    if let [path] = paths.as_slice() { (*path).clone() } else { name }
}

/// A message that names a file and does nothing with it.
struct Mention {
    key: FileKey,
    path: String,
    message: Document,
}

/// Returns the messages that name a file and do nothing with it, in the form of tool calls.
///
/// `tool_calls` and `touches` are the calls already found. The caller appends the new calls to `tool_calls`, so the
/// indexes in the new touches count on from there.
pub(super) fn mentions(
    reader: &Reader,
    pattern: &PathPattern,
    filter: &Filter,
    tool_calls: &[ToolCall],
    touches: &[FileTouch],
) -> Result<(Vec<ToolCall>, Vec<FileTouch>)> {
    // A message that touches the file is listed as that touch. It is not a mention as well.
    let touching: HashSet<&str> =
        touches.iter().filter_map(|touch| tool_calls[touch.tool_call].call.uuid.as_deref()).collect();
    let mut found = find_mentions(reader, pattern, filter, touches, &touching)?;
    // The earliest copy of a message must come first, in whatever order the copies were indexed. The conversation
    // itself goes before a subagent's copy of it.
    found.sort_by(|a, b| {
        let order = |message: &Document| (message.timestamp, message.agent.is_some());
        let (a, b) = (&a.message, &b.message);
        order(a).cmp(&order(b)).then_with(|| (&a.session, a.line).cmp(&(&b.session, b.line)))
    });
    Ok(merge_copies(found, tool_calls.len()))
}

/// Finds the messages that name a file, except those whose ids are in `touching`.
fn find_mentions(
    reader: &Reader,
    pattern: &PathPattern,
    filter: &Filter,
    touches: &[FileTouch],
    touching: &HashSet<&str>,
) -> Result<Vec<Mention>> {
    let Some(name) = pattern.name() else { return Ok(Vec::new()) };
    // The index looks for the file name only, because a message may give the path relative to any folder. Whole
    // identifiers are left out: they have no position of their own, so they cannot be part of a phrase.
    let file_name = name.rsplit('/').next().unwrap_or(&name);
    let terms: Vec<String> =
        tokenize::terms(file_name).into_iter().filter(|(_, _, whole)| !whole).map(|(term, ..)| term).collect();
    let kinds = [Kind::Prompt, Kind::Queued, Kind::Command, Kind::Text, Kind::ToolUse, Kind::Compaction, Kind::Recap];
    let mut found = Vec::new();
    for (key, message) in reader.mentioning(&terms, &kinds, filter)? {
        // A long message is several documents with one id. Only the first counts.
        let is_new = message.part == 0
            && !message.is_duplicate
            && message.uuid.as_deref().is_some_and(|uuid| !touching.contains(uuid));
        if is_new && let Some(name) = pattern.named_in(&message.text, message.cwd.as_deref()) {
            let path = known_file(touches, &message, name);
            found.push(Mention { key, path, message });
        }
    }
    Ok(found)
}

/// Turns mentions into tool calls, all copies of a message into one. The first of the copies is kept; the others only
/// add their sessions. The calls will be at index `offset` and up.
fn merge_copies(found: Vec<Mention>, offset: usize) -> (Vec<ToolCall>, Vec<FileTouch>) {
    let mut calls: Vec<ToolCall> = Vec::new();
    let mut touches = Vec::new();
    let mut index_of: HashMap<String, usize> = HashMap::new();
    for Mention { key, path, message } in found {
        // A copied line keeps its id, except in copies by the SDK, which name the original.
        let original = message.copied_from.clone().or_else(|| message.uuid.clone()).unwrap_or_default();
        if let Some(index) = index_of.get(&original) {
            let first = &mut calls[*index];
            if first.call.session != message.session && !first.also_in.contains(&message.session) {
                first.also_in.push(message.session);
            }
            continue;
        }
        index_of.insert(original, calls.len());
        touches.push(FileTouch {
            tool_call: offset + calls.len(),
            path,
            what: FileAction::Mention,
            other: None,
            inferred: false,
            effect: None,
        });
        // A tool call is confirmed by its result. A mention happened in any case, so it must not look like a call.
        let kind = if message.kind == Kind::ToolUse { Kind::Notice } else { message.kind };
        let call = Document { kind, ..message };
        calls.push(ToolCall { key, call, result: None, also_in: Vec::new(), asked: Call::Other, touches: Vec::new() });
    }
    (calls, touches)
}
