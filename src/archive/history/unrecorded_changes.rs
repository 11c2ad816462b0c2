//! Finds what may have changed a file without a record of the change: commands that work on a whole tree, Claude Code's
//! own notes, and edits that a rewind may have undone.

use std::collections::{BTreeMap, HashSet};

use crate::archive::history::FileAction;
use crate::archive::history::path::{folders_above, identity};
use crate::archive::history::tool_calls::{FileTouch, ToolCall};
use crate::archive::tool_pairs::answers;
use crate::document::{Document, Kind, Touch, may_change, normal_path, touched};
use crate::error::Result;
use crate::index::{FileKey, Reader};
use crate::query::Filter;
use crate::tokenize;
use crate::transcript::{Call, read_call};

/// Maximum number of commands to consider. Of more, only the latest count.
const MAX_COMMANDS: usize = 200;
/// Number of documents after a call that are searched for its result.
const NEAR: usize = 16;
/// The tools that run commands.
const SHELLS: [&str; 2] = ["Bash", "PowerShell"];
/// The beginning of a command that the user ran without asking Claude.
const BY_USER: &str = "! ";

/// The beginnings of the results of tool calls that were not allowed.
const DENIALS: [&str; 5] = [
    "The user doesn't want",
    "This command requires approval",
    "<tool_use_error>",
    "Permission to use",
    "Claude requested",
];
/// Parts of single commands that may fail after they have changed some files: conflicts, and problems without a fix.
const STEPWISE: [&str; 10] = [
    "git pull",
    "git merge",
    "git rebase",
    "git stash",
    "git cherry-pick",
    "git revert",
    "git am",
    "--fix",
    "--write",
    " -A",
];

/// Something that may have changed a file.
#[derive(Clone, Debug)]
pub(super) struct Suspect {
    /// The time, in milliseconds since 1970.
    pub(super) time: i64,
    /// The session.
    pub(super) session: String,
    pub(super) what: Suspicion,
}

/// The kind of a suspect.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Suspicion {
    /// A command that may change the file.
    Command(String),
    /// Claude Code noticed that the file was changed.
    Noticed,
    /// The conversation was rewound to a point before an edit, which may have undone the edit.
    Rewound,
}

/// Returns the commands after a time that may have changed a file.
pub(super) fn commands(reader: &Reader, path: &str, since: i64) -> Result<Vec<Suspect>> {
    let above: HashSet<String> = folders_above(path).iter().map(|folder| identity(folder)).collect();
    let is_above = |cwd: &str| above.contains(&identity(&normal_path(cwd, None)));
    let mut found = Vec::new();
    for shell in SHELLS {
        found.extend(reader.calls_in(Kind::ToolUse, Some(shell), &is_above, since)?);
    }
    found.extend(reader.calls_in(Kind::Command, None, &is_above, since)?);
    let is_late = |(_, call): &(FileKey, Document)| call.timestamp.is_some_and(|time| time >= since);
    for kind in [Kind::ToolUse, Kind::Command] {
        found.extend(naming(reader, path, kind)?.into_iter().filter(is_late));
    }
    let mut seen = HashSet::new();
    found.retain(|(_, call)| {
        let is_new = seen.insert((call.uuid.clone(), call.tool_use.clone()));
        is_new && command_of(call).is_some_and(|command| may_reach(&command, call, path))
    });
    found.sort_by_key(|(key, call)| (call.timestamp, *key, call.line));
    let first = found.len().saturating_sub(MAX_COMMANDS);
    let mut suspects = Vec::new();
    for (key, call) in found.drain(first..) {
        let result = reader.near(key, call.line, NEAR)?.into_iter().find(|result| answers(result, &call));
        let command = command_of(&call).unwrap_or_default();
        // A command that failed may have done a part of its work, and one without a result all of it.
        let counts = match &result {
            Some(result) if !result.error => reaches(&command, &call, path),
            Some(result) => !was_denied(&result.text) && is_compound(&command),
            None => true,
        };
        if !counts {
            continue;
        }
        let time = result.and_then(|result| result.timestamp).max(call.timestamp).unwrap_or_default();
        suspects.push(Suspect { time, session: call.session, what: Suspicion::Command(command) });
    }
    Ok(suspects)
}

fn command_of(call: &Document) -> Option<String> {
    if call.kind == Kind::Command {
        return call.text.strip_prefix(BY_USER).map(str::to_string);
    }
    let shell = call.tool.as_deref().filter(|tool| SHELLS.contains(tool))?;
    match read_call(shell, call.input.as_deref()?) {
        // In PowerShell a backslash separates folders. The commands are interpreted as Bash, where it quotes.
        Call::Command(command) if shell == "PowerShell" => Some(command.replace('\\', "/")),
        Call::Command(command) => Some(command),
        _ => None,
    }
}

/// Reports whether a tool call did not run because it was not allowed.
fn was_denied(result: &str) -> bool {
    DENIALS.iter().any(|denial| result.trim_start().starts_with(denial))
}

/// Reports whether a command line has several commands, of which only one may have failed, or is one that works on
/// several files and may fail after some of them.
fn is_compound(command: &str) -> bool {
    command.trim().contains(['&', ';', '|', '\n']) || STEPWISE.iter().any(|part| command.contains(part))
}

/// Reports whether a command changes a file, or may change it.
fn may_reach(command: &str, call: &Document, path: &str) -> bool {
    let cwd = call.cwd.as_deref().map(|cwd| identity(&normal_path(cwd, None)));
    let (path, touches) = (identity(path), touched(command, cwd.as_deref()));
    let changes =
        |touch: &Touch| path.strip_prefix(&touch.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    touches.iter().any(changes) || reaches(command, call, &path)
}

fn reaches(command: &str, call: &Document, path: &str) -> bool {
    let (path, cwd) = (identity(path), call.cwd.as_deref().map(|cwd| identity(&normal_path(cwd, None))));
    may_change(command, cwd.as_deref()).iter().any(|reach| reach.includes(&path))
}

/// Returns the documents of a kind whose text contains the name of a file.
fn naming(reader: &Reader, path: &str, kind: Kind) -> Result<Vec<(FileKey, Document)>> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let terms: Vec<String> =
        tokenize::terms(name).into_iter().filter(|(_, _, whole)| !whole).map(|(term, ..)| term).collect();
    reader.mentioning(&terms, &[kind], &Filter { meta: true, ..Filter::default() })
}

/// Returns the reminders of older versions of Claude Code that a file was changed, each with its text.
pub(super) fn reminders(reader: &Reader, path: &str) -> Result<Vec<(Suspect, String)>> {
    let mut found = Vec::new();
    for (_, note) in naming(reader, path, Kind::Notice)? {
        let first = note.text.lines().next().unwrap_or_default();
        let named = first.trim().strip_prefix("Note: ").and_then(|rest| rest.split_once(" was modified"));
        let Some((named, _)) = named else { continue };
        if identity(&normal_path(named, note.cwd.as_deref())) == identity(path) && !note.is_duplicate {
            let time = note.timestamp.unwrap_or_default();
            found.push((Suspect { time, session: note.session, what: Suspicion::Noticed }, note.text));
        }
    }
    Ok(found)
}

/// Returns the rewinds that may have undone changes of a file.
pub(super) fn rewinds(reader: &Reader, tool_calls: &[ToolCall], touches: &[FileTouch]) -> Result<Vec<Suspect>> {
    // The lines at which the conversation went on, with the session.
    let mut turns: BTreeMap<(FileKey, u64), String> = BTreeMap::new();
    for touch in touches.iter().filter(|touch| !matches!(touch.what, FileAction::Read | FileAction::Mention)) {
        let ToolCall { key, call, .. } = &tool_calls[touch.tool_call];
        let abandoned = reader.checkpoint(*key)?.map(|file| file.state.totals.abandoned).unwrap_or_default();
        let ends = abandoned.iter().filter(|(from, to)| (*from..*to).contains(&call.line)).map(|(_, to)| *to);
        turns.extend(ends.map(|end| ((*key, end), call.session.clone())));
    }
    let mut suspects = Vec::new();
    for ((key, line), session) in turns {
        let turn = reader.near(key, line, 2)?.into_iter().find(|document| document.line >= line);
        if let Some(time) = turn.and_then(|turn| turn.timestamp) {
            suspects.push(Suspect { time, session, what: Suspicion::Rewound });
        }
    }
    Ok(suspects)
}
