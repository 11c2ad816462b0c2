//! Finds the tool calls that concern a file, with their results.
//!
//! A [`ToolCall`] is one call, even if several transcripts contain it after a resume or a fork. Everything here comes from
//! the index; no transcript is opened.

use std::collections::{BTreeSet, HashMap};

use crate::archive::history::path::{self, PathPattern, folders_above, identity};
use crate::archive::history::{FileAction, Scope};
use crate::archive::tool_pairs::first_result;
use crate::document::{Document, FileEffect, Kind, Touch, is_shell, normal_path, touched};
use crate::error::Result;
use crate::index::{About, FileKey, Reader, Spelling};
use crate::query::Filter;
use crate::transcript::{Call, read_call};

/// Tools that read a file.
const READERS: [&str; 2] = ["Read", "NotebookRead"];
/// Tools that search files.
const SEARCHERS: [&str; 3] = ["Grep", "Glob", "LS"];
/// The attachment with which Claude Code tells the model that a file was changed.
pub(super) const CHANGE_NOTE: &str = "edited_text_file";
/// For more files than this, the folders above them are not looked at.
const MAX_FILES_WITH_FOLDERS: usize = 20;

/// A tool call with its result.
#[derive(Clone, Debug)]
pub(super) struct ToolCall {
    /// The transcript it was read from; of several, the earliest.
    pub(super) key: FileKey,
    pub(super) call: Document,
    /// The result, and the transcript that contains it.
    pub(super) result: Option<(FileKey, Document)>,
    /// Other sessions that contain the same call.
    pub(super) also_in: Vec<String>,
    pub(super) asked: Call,
    /// The effects of a shell command.
    pub(super) touches: Vec<Touch>,
}

/// A file that a call concerns.
#[derive(Clone, Debug)]
pub(super) struct FileTouch {
    /// The index of the call.
    pub(super) tool_call: usize,
    /// The file.
    pub(super) path: String,
    pub(super) what: FileAction,
    /// The other name, when it was renamed or copied.
    pub(super) other: Option<String>,
    /// Set if it was inferred from a shell command.
    pub(super) inferred: bool,
    /// Of a shell command: its effect on the file.
    pub(super) effect: Option<FileEffect>,
}

impl ToolCall {
    /// Reports whether the call took effect; none if that is unknown.
    pub(super) fn happened(&self) -> Option<bool> {
        match &self.result {
            Some((_, result)) => Some(!result.error),
            // An attachment, or a call that changes nothing, needs no result.
            None if self.call.kind != Kind::ToolUse || self.asked == Call::Other => Some(true),
            None => None,
        }
    }

    /// Returns the time at which it took effect.
    pub(super) fn time(&self) -> Option<i64> {
        let answered = self.result.as_ref().and_then(|(_, result)| result.timestamp);
        answered.max(self.call.timestamp)
    }
}

/// Finds everything that was done with the files of a pattern.
pub(super) fn find(
    reader: &Reader,
    pattern: &PathPattern,
    scope: Scope,
    filter: Option<&Filter>,
) -> Result<(Vec<ToolCall>, Vec<FileTouch>)> {
    let spellings = pattern.spellings();
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
        without.extend(SEARCHERS);
    }
    let about = About { spellings: &spellings, kinds, without_tools: &without, filter, ..About::default() };
    let mut tool_calls = pair(reader, reader.about(&about)?)?;
    let mut touches = touches_of(&tool_calls, 0, &|path| pattern.matches(path));
    let mut files: BTreeSet<String> = touches.iter().map(|touch| touch.path.clone()).collect();
    pattern.prefer_exact(&mut files);
    touches.retain(|touch| files.contains(&touch.path));
    let (more, of_folders) = calls_on_folders(reader, &files, tool_calls.len(), filter)?;
    tool_calls.extend(more);
    touches.extend(of_folders);
    touches.retain(|touch| scope.admits(touch.what));
    Ok((tool_calls, touches))
}

/// Finds what was done to the folders that contain the files: deleting a folder deletes its files.
fn calls_on_folders(
    reader: &Reader,
    files: &BTreeSet<String>,
    first: usize,
    filter: Option<&Filter>,
) -> Result<(Vec<ToolCall>, Vec<FileTouch>)> {
    if files.is_empty() || files.len() > MAX_FILES_WITH_FOLDERS {
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
    let tool_calls = pair(reader, reader.about(&about)?)?;
    let mut touches = Vec::new();
    for file in files {
        let above: BTreeSet<String> = folders_above(file).iter().map(|folder| identity(folder)).collect();
        for touch in touches_of(&tool_calls, first, &|path| above.contains(&identity(path))) {
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

/// The id of a line and of the call in it, which are the same in all copies.
type CallId = (String, Option<String>);

/// Pairs calls with their results, and combines copies of the same call.
fn pair(reader: &Reader, found: Vec<(FileKey, Document)>) -> Result<Vec<ToolCall>> {
    let mut results: HashMap<(FileKey, String), Vec<Document>> = HashMap::new();
    let mut calls: HashMap<CallId, Vec<(FileKey, Document)>> = HashMap::new();
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
    order
        .iter()
        .filter_map(|name| calls.remove(name))
        .map(|copies| tool_call_of(reader, copies, &mut results))
        .collect()
}

fn tool_call_of(
    reader: &Reader,
    copies: Vec<(FileKey, Document)>,
    results: &mut HashMap<(FileKey, String), Vec<Document>>,
) -> Result<ToolCall> {
    let mut sessions: Vec<String> = copies.iter().map(|(_, call)| call.session.clone()).collect();
    let mut answered = Vec::with_capacity(copies.len());
    for (key, call) in copies {
        let place = if answered.is_empty() { String::new() } else { path_of(reader, key)? };
        let id = call.tool_use.clone().unwrap_or_default();
        let result = results.get(&(key, id)).and_then(|found| first_result(found, &call));
        answered.push((key, call, result, place));
    }
    if answered.len() > 1 {
        answered[0].3 = path_of(reader, answered[0].0)?;
    }
    // Show the earliest copy, and the conversation itself rather than the copy that a subagent was given.
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
        _ if matches!(tool.as_str(), "file" | "nested_memory" | CHANGE_NOTE) => Call::Read { part: true },
        _ => Call::Other,
    };
    let touches = match &asked {
        Call::Command(command) if is_shell(&tool) => touched(command, call.cwd.as_deref()),
        _ => Vec::new(),
    };
    let result = result.map(|result| (key, result)).or(elsewhere);
    Ok(ToolCall { key, call, result, also_in: sessions, asked, touches })
}

fn path_of(reader: &Reader, key: FileKey) -> Result<String> {
    Ok(reader.summary(key)?.map(|file| file.path().to_string_lossy().into_owned()).unwrap_or_default())
}

/// Returns what calls do to the files of a pattern.
fn touches_of(tool_calls: &[ToolCall], first: usize, is_wanted: &dyn Fn(&str) -> bool) -> Vec<FileTouch> {
    let mut touches = Vec::new();
    for (at, tool_call) in tool_calls.iter().enumerate() {
        let index = first + at;
        let new_touch = |path: &str, what, other: Option<String>| FileTouch {
            tool_call: index,
            path: path.to_string(),
            what,
            other,
            inferred: false,
            effect: None,
        };
        let cwd = tool_call.call.cwd.as_deref();
        match &tool_call.asked {
            Call::Command(_) => {
                for touch in tool_call.touches.iter().filter(|touch| is_wanted(&touch.path)) {
                    let (what, other) = action_of(&touch.effect);
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
                    if is_wanted(path) {
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
                let what = action_of_call(tool_call, asked);
                let mut files: Vec<&String> = tool_call.call.files.iter().filter(|file| is_wanted(file)).collect();
                files.dedup();
                touches.extend(files.into_iter().map(|file| new_touch(file, what, None)));
            }
        }
    }
    touches
}

/// Returns the action that an effect is, and the other file it involves.
fn action_of(effect: &FileEffect) -> (FileAction, Option<String>) {
    match effect {
        FileEffect::Write(_) | FileEffect::Restore => (FileAction::Overwrite, None),
        FileEffect::Copy { from } => (FileAction::Overwrite, Some(from.clone())),
        FileEffect::Append(_) | FileEffect::Change => (FileAction::Edit, None),
        FileEffect::RenameTo { to } => (FileAction::Rename, to.clone()),
        FileEffect::RenameFrom { from } => (FileAction::Rename, Some(from.clone())),
        FileEffect::Delete => (FileAction::Delete, None),
    }
}

/// Returns the action of a call that names its file.
fn action_of_call(tool_call: &ToolCall, asked: &Call) -> FileAction {
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
