//! What sessions did with a file: calls and their results, brought together from the index.
//!
//! A [`ToolCall`] is one call of a tool that concerns a file, whether it stands in one transcript or, after a resume or
//! a fork, in five. Everything here comes from the index; no transcript is opened.

use std::collections::{BTreeSet, HashMap};

use crate::archive::history::path::{self, Wanted, folders_above, identity};
use crate::archive::history::{FileAction, Scope};
use crate::document::{Document, FileEffect, Kind, Touch, is_shell, normal_path, touched};
use crate::error::Result;
use crate::index::{About, FileKey, Reader, Spelling};
use crate::query::Filter;
use crate::transcript::{Call, read_call};

/// Tools that only look.
const READERS: [&str; 2] = ["Read", "NotebookRead"];
const SEEKERS: [&str; 3] = ["Grep", "Glob", "LS"];
/// Of so many files it is still asked what happened to the folders above them.
const FOLDERS_OF: usize = 20;

/// One call of a tool, with its answer.
#[derive(Clone, Debug)]
pub(super) struct ToolCall {
    /// The transcript it was read from: of several the earliest.
    pub(super) key: FileKey,
    pub(super) call: Document,
    /// The answer, and where it stands.
    pub(super) result: Option<(FileKey, Document)>,
    /// Other sessions that hold the same call.
    pub(super) also_in: Vec<String>,
    pub(super) asked: Call,
    /// What the command of a shell does.
    pub(super) touches: Vec<Touch>,
}

/// One file that a deal is about.
#[derive(Clone, Debug)]
pub(super) struct FileTouch {
    /// Which deal.
    pub(super) tool_call: usize,
    /// The file.
    pub(super) path: String,
    pub(super) what: FileAction,
    /// The other name, when it was renamed or copied.
    pub(super) other: Option<String>,
    /// Whether only a command shows it.
    pub(super) inferred: bool,
    /// Of a command: what it does to the file.
    pub(super) effect: Option<FileEffect>,
}

impl ToolCall {
    /// Whether it happened, as far as is known: yes, no, or nobody knows.
    pub(super) fn happened(&self) -> Option<bool> {
        match &self.result {
            Some((_, result)) => Some(!result.error),
            // What is no call, and what does nothing, needs no answer.
            None if self.call.kind != Kind::ToolUse || self.asked == Call::Other => Some(true),
            None => None,
        }
    }

    /// When it took effect.
    pub(super) fn time(&self) -> Option<i64> {
        let answered = self.result.as_ref().and_then(|(_, result)| result.timestamp);
        answered.max(self.call.timestamp)
    }
}

/// Finds everything done with the files that are meant.
pub(super) fn find(
    reader: &Reader,
    wanted: &Wanted,
    scope: Scope,
    filter: Option<&Filter>,
) -> Result<(Vec<ToolCall>, Vec<FileTouch>)> {
    let spellings = wanted.spellings();
    let kinds: &[Kind] = if scope.reads || scope.mentions {
        &[Kind::ToolUse, Kind::ToolResult, Kind::Attachment]
    } else {
        &[Kind::ToolUse, Kind::ToolResult]
    };
    let mut without: Vec<&str> = Vec::new();
    if !scope.reads {
        without.extend(READERS);
    }
    if !scope.mentions {
        without.extend(SEEKERS);
    }
    let about = About { spellings: &spellings, kinds, without_tools: &without, filter, ..About::default() };
    let mut tool_calls = paired(reader, reader.about(&about)?)?;
    let mut touches = shares_of(&tool_calls, 0, &|path| wanted.matches(path));
    let mut files: BTreeSet<String> = touches.iter().map(|touch| touch.path.clone()).collect();
    wanted.prefer_exact(&mut files);
    touches.retain(|touch| files.contains(&touch.path));
    let (more, of_folders) = folder_deals(reader, &files, tool_calls.len(), filter)?;
    tool_calls.extend(more);
    touches.extend(of_folders);
    touches.retain(|touch| scope.admits(touch.what));
    Ok((tool_calls, touches))
}

/// What was done to the folders a file is in: deleting one deletes the file.
fn folder_deals(
    reader: &Reader,
    files: &BTreeSet<String>,
    first: usize,
    filter: Option<&Filter>,
) -> Result<(Vec<ToolCall>, Vec<FileTouch>)> {
    if files.is_empty() || files.len() > FOLDERS_OF {
        return Ok((Vec::new(), Vec::new()));
    }
    let folders: BTreeSet<String> = files.iter().flat_map(|file| folders_above(file)).collect();
    let spellings: Vec<Spelling> = folders
        .iter()
        .filter(|folder| folder.starts_with(['/', '~']) || path::folds_case(folder))
        .map(|folder| Spelling::Exact(folder.to_lowercase()))
        .collect();
    if spellings.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let about = About {
        spellings: &spellings,
        kinds: &[Kind::ToolUse, Kind::ToolResult],
        tools: &["Bash"],
        filter,
        ..About::default()
    };
    let tool_calls = paired(reader, reader.about(&about)?)?;
    let mut touches = Vec::new();
    for file in files {
        let above: BTreeSet<String> = folders_above(file).iter().map(|folder| identity(folder)).collect();
        for touch in shares_of(&tool_calls, first, &|path| above.contains(&identity(path))) {
            let reaches_down =
                matches!(touch.effect, Some(FileEffect::Delete | FileEffect::Restore | FileEffect::RenameTo { .. }));
            if reaches_down {
                let rest = file[touch.path.len().min(file.len())..].to_string();
                let other = touch.other.clone().map(|other| format!("{other}{rest}"));
                touches.push(FileTouch { path: file.clone(), other, ..touch });
            }
        }
    }
    Ok((tool_calls, touches))
}

/// A line's id and the call's in it: the same in all copies.
type CallName = (String, Option<String>);

/// Brings calls and results together, and copies of a call into one.
fn paired(reader: &Reader, found: Vec<(FileKey, Document)>) -> Result<Vec<ToolCall>> {
    let mut results: HashMap<(FileKey, String), Vec<Document>> = HashMap::new();
    let mut calls: HashMap<CallName, Vec<(FileKey, Document)>> = HashMap::new();
    let mut order = Vec::new();
    for (key, document) in found {
        if document.kind == Kind::ToolResult {
            let id = document.tool_use.clone().unwrap_or_default();
            results.entry((key, id)).or_default().push(document);
        } else if document.part == 0 || document.has_input {
            let line = document.copied_from.clone().or_else(|| document.uuid.clone());
            let name = (line.unwrap_or_else(|| format!("{key:?}/{}", document.offset)), document.tool_use.clone());
            let copies = calls.entry(name.clone()).or_default();
            if copies.is_empty() {
                order.push(name);
            }
            copies.push((key, document));
        }
    }
    order.iter().filter_map(|name| calls.remove(name)).map(|copies| deal_of(reader, copies, &mut results)).collect()
}

fn deal_of(
    reader: &Reader,
    copies: Vec<(FileKey, Document)>,
    results: &mut HashMap<(FileKey, String), Vec<Document>>,
) -> Result<ToolCall> {
    let mut sessions: Vec<String> = copies.iter().map(|(_, call)| call.session.clone()).collect();
    let mut answered = Vec::with_capacity(copies.len());
    for (key, call) in copies {
        let place = if answered.is_empty() { String::new() } else { path_of(reader, key)? };
        let id = call.tool_use.clone().unwrap_or_default();
        let result = results.get(&(key, id)).and_then(|found| whole_result(found, call.line));
        answered.push((key, call, result, place));
    }
    if answered.len() > 1 {
        answered[0].3 = path_of(reader, answered[0].0)?;
    }
    // The earliest copy speaks; the conversation itself rather than the copy a subagent was given of it.
    answered
        .sort_by(|a, b| (a.1.timestamp, a.1.agent.is_some(), &a.3).cmp(&(b.1.timestamp, b.1.agent.is_some(), &b.3)));
    let elsewhere = answered.iter().skip(1).find_map(|(key, _, result, _)| result.clone().map(|result| (*key, result)));
    let (key, call, result, _) = answered.swap_remove(0);
    sessions.retain(|session| *session != call.session);
    sessions.sort_unstable();
    sessions.dedup();
    let tool = call.tool.clone().unwrap_or_default();
    let asked = match call.kind {
        Kind::ToolUse => read_call(&tool, call.input.as_deref().unwrap_or_default()),
        _ if matches!(tool.as_str(), "file" | "nested_memory") => Call::Read { part: true },
        _ => Call::Other,
    };
    let touches = match &asked {
        Call::Command(command) if is_shell(&tool) => touched(command, call.cwd.as_deref()),
        _ => Vec::new(),
    };
    let result = result.map(|result| (key, result)).or(elsewhere);
    Ok(ToolCall { key, call, result, also_in: sessions, asked, touches })
}

/// The answer to a call: the first behind it, its pieces joined.
fn whole_result(found: &[Document], after: u64) -> Option<Document> {
    let line = found.iter().map(|result| result.line).filter(|line| *line >= after).min()?;
    let mut parts: Vec<&Document> = found.iter().filter(|result| result.line == line).collect();
    parts.sort_by_key(|part| part.part);
    let mut whole = (*parts.first()?).clone();
    parts[1..].iter().for_each(|part| whole.text.push_str(&part.text));
    Some(whole)
}

fn path_of(reader: &Reader, key: FileKey) -> Result<String> {
    Ok(reader.summary(key)?.map(|file| file.path().to_string_lossy().into_owned()).unwrap_or_default())
}

/// What deals do to the files that are meant.
fn shares_of(tool_calls: &[ToolCall], first: usize, is_meant: &dyn Fn(&str) -> bool) -> Vec<FileTouch> {
    let mut touches = Vec::new();
    for (at, tool_call) in tool_calls.iter().enumerate() {
        let place = first + at;
        let new_touch = |path: &str, what, other: Option<String>| FileTouch {
            tool_call: place,
            path: path.to_string(),
            what,
            other,
            inferred: false,
            effect: None,
        };
        let cwd = tool_call.call.cwd.as_deref();
        match &tool_call.asked {
            Call::Command(_) => {
                for touch in tool_call.touches.iter().filter(|touch| is_meant(&touch.path)) {
                    let (what, other) = what_of(&touch.effect);
                    touches.push(FileTouch {
                        inferred: true,
                        effect: Some(touch.effect.clone()),
                        ..new_touch(&touch.path, what, other)
                    });
                }
            }
            Call::Rename { from, to } => {
                let (from, to) = (normal_path(from, cwd), normal_path(to, cwd));
                for (path, other) in [(&from, &to), (&to, &from)] {
                    if is_meant(path) {
                        let effect = if path == &from {
                            FileEffect::RenameTo { to: Some(to.clone()) }
                        } else {
                            FileEffect::RenameFrom { from: from.clone() }
                        };
                        touches.push(FileTouch {
                            effect: Some(effect),
                            ..new_touch(path, FileAction::Rename, Some(other.clone()))
                        });
                    }
                }
            }
            asked => {
                let what = plain_what(tool_call, asked);
                let mut files: Vec<&String> = tool_call.call.files.iter().filter(|file| is_meant(file)).collect();
                files.dedup();
                touches.extend(files.into_iter().map(|file| new_touch(file, what, None)));
            }
        }
    }
    touches
}

fn what_of(effect: &FileEffect) -> (FileAction, Option<String>) {
    match effect {
        FileEffect::Write(_) | FileEffect::Restore => (FileAction::Overwrite, None),
        FileEffect::Copy { from } => (FileAction::Overwrite, Some(from.clone())),
        FileEffect::Append(_) | FileEffect::Change => (FileAction::Edit, None),
        FileEffect::RenameTo { to } => (FileAction::Rename, to.clone()),
        FileEffect::RenameFrom { from } => (FileAction::Rename, Some(from.clone())),
        FileEffect::Delete => (FileAction::Delete, None),
    }
}

fn plain_what(tool_call: &ToolCall, asked: &Call) -> FileAction {
    let result = tool_call.result.as_ref().map(|(_, result)| result);
    let trace = result.and_then(|result| result.trace.as_ref());
    match asked {
        Call::Write(_) => {
            let created = trace.is_some_and(|trace| trace.created)
                || result.is_some_and(|result| result.text.starts_with("File created"));
            if created { FileAction::Create } else { FileAction::Overwrite }
        }
        Call::Edits(edits) => {
            let makes = edits.first().is_some_and(|edit| edit.old.is_empty());
            if makes && trace.is_none_or(|trace| trace.before.is_none()) {
                FileAction::Create
            } else {
                FileAction::Edit
            }
        }
        Call::Change if tool_call.call.tool.as_deref() == Some("Write") => FileAction::Overwrite,
        Call::Change => FileAction::Edit,
        Call::Delete => FileAction::Delete,
        Call::Read { .. } => FileAction::Read,
        Call::Rename { .. } => FileAction::Rename,
        Call::Command(_) | Call::Other => FileAction::Mention,
    }
}
