//! The history of a file: the sessions that created, changed or read it, and its contents over time.
//!
//! `file` lists the actions of sessions on a file from the index alone. Only patches need the transcripts.

mod path;
mod text;
mod replay;
mod tool_calls;
mod mentions;
mod suspects;
mod timeline;
mod recover;
mod changes;
mod blame;

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::archive::filters;
use crate::archive::note::Note;
use crate::archive::request::{Context, FileQuestion, FileRequest};
use crate::archive::session_info::{Lookup, SessionInfo};
use crate::document::{FileEffect, Kind};
use crate::error::Result;
use crate::index::{FileKey, PromptPlace, Reader};
use crate::query::{Filter, glob};
use crate::redact::{redact, redact_lines};
use crate::transcript::discover::SourceKind;
use crate::transcript::{Call, Hunk};
use crate::untrusted::Untrusted;
pub use blame::{Blame, Story, Writer};
use blame::{blame, why};
use mentions::mentions;
use path::{Here, PathPattern, identity, path_patterns};
pub use recover::{Cause, Recovered, Uncertain, VersionInfo};
use recover::{Replayed, recover, versions};
use timeline::StepCollector;
use tool_calls::{FileTouch, ToolCall};

/// The time of a call may be this much before that of the prompt above it, in milliseconds.
const CLOCK_SKEW: i64 = 60_000;

/// A question about a file, interpreted.
#[derive(Clone, Debug, Default)]
struct Request {
    /// The file as the user typed it.
    path: String,
    /// The caller's current folder and home.
    here: Here,
    /// The actions to list.
    scope: Scope,
    /// True to show each change as a patch.
    diff: bool,
    /// The sessions, projects and times to look at. The running session is included.
    filter: Filter,
    /// True to show secrets in messages and patches. Recovered contents are never redacted.
    reveal: bool,
}

/// The answer to a question about a file.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileAnswer {
    /// Nothing is known.
    Nothing(Note),
    /// The actions by file. The file with the newest action comes first.
    Actions(Vec<FileActions>),
    /// The author of each line.
    Blame(Blame),
    /// The history of one line.
    Story(Box<Story>),
    /// Recovered contents.
    Contents(Recovered),
    /// All versions of one file, newest first.
    Versions {
        /// The file.
        path: Untrusted,
        /// Its versions.
        versions: Vec<VersionInfo>,
    },
}

/// Answers a question about a file.
pub(crate) fn answer(reader: &Reader, request: &FileRequest, context: &Context) -> Result<FileAnswer> {
    let here = Here { cwd: context.folder.clone().unwrap_or_default(), home: context.home.clone() };
    let mut question = Request { path: request.path.clone(), here, reveal: request.reveal, ..Request::default() };
    let is_pattern = glob::is_pattern(&request.path);
    let path = || format!("{}{}", request.path, if is_pattern { " (treated as a glob)" } else { "" });
    let untouched = || FileAnswer::Nothing(Note::NothingAboutFile { path: path(), verb: "touched".to_string() });
    let unrecorded = || FileAnswer::Nothing(Note::NothingRecorded { path: path() });
    let answer = match &request.question {
        FileQuestion::Actions { reads, mentions, unconfirmed, diff } => {
            question.scope = Scope { reads: *reads, mentions: *mentions, unconfirmed: *unconfirmed };
            question.diff = *diff;
            question.filter = filters::filter(&request.filters, context)?;
            let files = file(reader, &question)?;
            let verb = if *mentions { "mentioned" } else { "changed" }.to_string();
            match files.is_empty() {
                true => FileAnswer::Nothing(Note::NothingAboutFile { path: path(), verb }),
                false => FileAnswer::Actions(files),
            }
        }
        FileQuestion::Blame { contents } => {
            blame(reader, &question, contents)?.map_or_else(untouched, FileAnswer::Blame)
        }
        FileQuestion::Why { contents, line } => {
            let story = why(reader, &question, contents, *line)?;
            story.map_or_else(untouched, |story| FileAnswer::Story(Box::new(story)))
        }
        FileQuestion::Contents { at } => {
            recover(reader, &question, at, &context.now)?.map_or_else(unrecorded, FileAnswer::Contents)
        }
        FileQuestion::Versions => versions(reader, &question)?
            .map_or_else(unrecorded, |(path, versions)| FileAnswer::Versions { path, versions }),
    };
    // Only now: a file may have this very name.
    if let FileAnswer::Nothing(_) = &answer {
        filters::check_ranges(&request.path)?;
    }
    Ok(answer)
}

/// The actions to list besides changes.
#[derive(Clone, Copy, Debug, Default)]
struct Scope {
    /// Reads.
    reads: bool,
    /// Mentions.
    mentions: bool,
    /// Calls without a recorded result, which may not have happened.
    unconfirmed: bool,
}

/// The kind of action on a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    /// It was created.
    Create,
    /// A part of it was changed.
    Edit,
    /// All of it was replaced.
    Overwrite,
    /// It was renamed.
    Rename,
    /// It was deleted.
    Delete,
    /// It was read.
    Read,
    /// It was mentioned.
    Mention,
}

impl FileAction {
    /// Returns the name that users see.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Edit => "edit",
            Self::Overwrite => "overwrite",
            Self::Rename => "rename",
            Self::Delete => "delete",
            Self::Read => "read",
            Self::Mention => "mention",
        }
    }
}

impl Scope {
    fn admits(self, what: FileAction) -> bool {
        match what {
            FileAction::Read => self.reads,
            FileAction::Mention => self.mentions,
            _ => true,
        }
    }
}

/// A file and the actions on it.
#[derive(Clone, Debug, Serialize)]
pub struct FileActions {
    /// The file.
    pub path: Untrusted,
    /// The actions, newest first.
    pub actions: Vec<Action>,
}

/// One action on a file.
#[derive(Clone, Debug, Serialize)]
pub struct Action {
    /// The session.
    pub session: SessionInfo,
    /// Other sessions that contain the same line.
    pub also_in: Vec<Untrusted>,
    /// The subagent that did it.
    pub agent: Option<Untrusted>,
    /// The task of the subagent.
    pub agent_title: Option<Untrusted>,
    /// The id of the transcript line with the call.
    pub uuid: Option<Untrusted>,
    /// The file.
    pub path: Untrusted,
    /// The file it was renamed to or from, or copied from.
    pub other: Option<Untrusted>,
    /// The kind of action.
    pub what: FileAction,
    /// The tool.
    pub tool: Option<Untrusted>,
    /// The time it took effect, in milliseconds since 1970.
    pub time: Option<i64>,
    /// The number of lines added, if known.
    pub added: Option<u64>,
    /// The number of lines removed, if known.
    pub removed: Option<u64>,
    /// The prompt that led to it.
    pub prompt: Option<Untrusted>,
    /// The change as a patch, if it was asked for and is known.
    pub change: Vec<Hunk>,
    /// True if that patch has the exact lines and line numbers of the whole file, so that it can be applied.
    pub exact: bool,
    /// True if it was inferred from a shell command.
    pub inferred: bool,
    /// True if no result is recorded, so it may not have happened.
    pub unconfirmed: bool,
}

/// Lists the actions on the requested files. The file with the newest action comes first.
fn file(reader: &Reader, request: &Request) -> Result<Vec<FileActions>> {
    let mut view = View::new(reader, request.reveal);
    for pattern in path_patterns(&request.path, &request.here) {
        let found = view.list(&pattern, request)?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// Returns the requested files that were ever changed or read. If the path names a file, files below it do not count.
fn files_meant(reader: &Reader, request: &Request) -> Result<Vec<String>> {
    let scope = Scope { reads: true, ..Scope::default() };
    for pattern in path_patterns(&request.path, &request.here) {
        let (tool_calls, touches) = tool_calls::find(reader, &pattern, scope, None)?;
        let happened = touches.iter().filter(|touch| tool_calls[touch.tool_call].happened() == Some(true));
        let mut files: BTreeMap<String, String> =
            happened.map(|touch| (identity(&touch.path), touch.path.clone())).collect();
        if files.values().any(|path| pattern.names(path)) {
            files.retain(|_, path| pattern.names(path));
        }
        if !files.is_empty() {
            return Ok(files.into_values().collect());
        }
    }
    Ok(Vec::new())
}

/// Turns tool calls into [`Action`]s. Looks up each file and session only once.
struct View<'r> {
    reader: &'r Reader,
    known: Lookup<'r>,
    prompts: HashMap<FileKey, Vec<PromptPlace>>,
    reveal: bool,
}

impl<'r> View<'r> {
    fn new(reader: &'r Reader, reveal: bool) -> Self {
        Self { reader, known: Lookup::new(reader), prompts: HashMap::new(), reveal }
    }

    /// Returns a text with its secrets redacted, unless they are to be revealed.
    fn shown(&self, text: &str) -> Untrusted {
        if self.reveal { text.into() } else { Untrusted::new(redact(text)) }
    }

    /// Returns lines with secrets masked unless they are to be revealed.
    fn shown_lines<'t>(&self, lines: impl Iterator<Item = &'t str> + Clone) -> Vec<Untrusted> {
        if self.reveal {
            return lines.map(Untrusted::new).collect();
        }
        redact_lines(lines).into_iter().map(Untrusted::new).collect()
    }

    /// Returns a patch with its secrets redacted, unless they are to be revealed.
    fn shown_change(&self, mut hunks: Vec<Hunk>) -> Vec<Hunk> {
        for hunk in hunks.iter_mut().filter(|_| !self.reveal) {
            let clean = redact_lines(hunk.lines.iter().map(|line| after_sign(line)));
            for (line, clean) in hunk.lines.iter_mut().zip(clean) {
                line.truncate(line.len() - after_sign(line).len());
                line.push_str(&clean);
            }
        }
        hunks
    }

    /// Lists the actions on the files that match one reading of the path.
    fn list(&mut self, pattern: &PathPattern, request: &Request) -> Result<Vec<FileActions>> {
        let (mut tool_calls, mut touches) =
            tool_calls::find(self.reader, pattern, request.scope, Some(&request.filter))?;
        if request.scope.mentions {
            let (more, mentions) = mentions(self.reader, pattern, &request.filter, &tool_calls, &touches)?;
            tool_calls.extend(more);
            touches.extend(mentions);
        }
        touches.retain(|touch| tool_calls[touch.tool_call].happened().unwrap_or(request.scope.unconfirmed));
        let mut files: BTreeMap<String, (String, Vec<FileTouch>)> = BTreeMap::new();
        for touch in touches {
            files.entry(identity(&touch.path)).or_insert_with(|| (touch.path.clone(), Vec::new())).1.push(touch);
        }
        let mut listed = Vec::with_capacity(files.len());
        let mut collector = StepCollector::new(self.reader);
        for (path, mut touches) in files.into_values() {
            touches.sort_by_key(|touch| (tool_calls[touch.tool_call].time(), tool_calls[touch.tool_call].call.line));
            note_creations(&mut touches);
            let replayed = if request.diff { Some(Replayed::of(self.reader, &path)?) } else { None };
            let mut actions = Vec::with_capacity(touches.len());
            for touch in touches.iter().rev() {
                let tool_call = &tool_calls[touch.tool_call];
                let mut action = self.action(tool_call, touch)?;
                if let Some(replayed) = &replayed {
                    let patch = replayed.patch_by(tool_call, touch);
                    action.exact = patch.is_some();
                    let change = patch.map_or_else(|| changes::change(&mut collector, tool_call, touch), Ok)?;
                    action.change = self.shown_change(change);
                }
                actions.push(action);
            }
            listed.push(FileActions { path: path.into(), actions });
        }
        listed.sort_by_key(|file| std::cmp::Reverse(file.actions.first().and_then(|action| action.time)));
        Ok(listed)
    }

    fn action(&mut self, tool_call: &ToolCall, touch: &FileTouch) -> Result<Action> {
        let call = &tool_call.call;
        let agent_title = match &call.agent {
            Some(_) => self.known.file(tool_call.key)?.and_then(|file| file.description),
            None => None,
        };
        let (added, removed) = counts(tool_call, touch);
        let prompt = if is_prompt(call.kind) { Some(call.text.clone()) } else { self.prompt(tool_call)? };
        Ok(Action {
            session: self.known.session(call)?,
            also_in: tool_call.also_in.iter().map(Untrusted::new).collect(),
            agent: call.agent.as_ref().map(Untrusted::new),
            agent_title: agent_title.map(Untrusted::new),
            uuid: call.uuid.as_ref().map(Untrusted::new),
            path: touch.path.as_str().into(),
            other: touch.other.as_ref().map(Untrusted::new),
            what: touch.what,
            tool: call.tool.as_ref().map(Untrusted::new),
            time: tool_call.time(),
            added,
            removed,
            prompt: prompt.map(|prompt| self.shown(prompt.trim())),
            change: Vec::new(),
            exact: false,
            inferred: touch.inferred,
            unconfirmed: tool_call.happened().is_none(),
        })
    }

    /// Returns the prompt by a person or a program that led to a call.
    fn prompt(&mut self, tool_call: &ToolCall) -> Result<Option<String>> {
        let call = &tool_call.call;
        let own = self.known.file(tool_call.key)?;
        let Some(agent) = own.as_ref().filter(|file| file.source_kind() == SourceKind::Agent) else {
            let time = call.timestamp.map_or(i64::MAX, |time| time.saturating_add(CLOCK_SKEW));
            return self.prompt_in(tool_call.key, time, call.line);
        };
        // A subagent has no prompts by a person. The prompt that led to it is in its parent's transcript.
        let started = agent.first.or(call.timestamp).unwrap_or(i64::MAX);
        let main = self.reader.session_summary(&call.session)?.filter(|file| file.source_kind() == SourceKind::Session);
        let prompt = match main {
            Some(main) => self.prompt_in(main.key(), started, u64::MAX)?,
            None => None,
        };
        match prompt {
            Some(prompt) => Ok(Some(prompt)),
            None => Ok(self.reader.checkpoint(tool_call.key)?.and_then(|file| file.state.first_prompt)),
        }
    }

    /// Returns the last prompt of a transcript before a time and a line.
    fn prompt_in(&mut self, file: FileKey, time: i64, line: u64) -> Result<Option<String>> {
        if !self.prompts.contains_key(&file) {
            self.prompts.insert(file, self.reader.prompts_of(file)?);
        }
        let prompts = self.prompts.get(&file).map(Vec::as_slice).unwrap_or_default();
        Ok(self.reader.prompt_before(prompts, time, line)?.map(|prompt| prompt.text))
    }
}

/// Returns a line of a patch without its leading sign.
fn after_sign(line: &str) -> &str {
    line.get(1..).unwrap_or_default()
}

fn is_prompt(kind: Kind) -> bool {
    matches!(kind, Kind::Prompt | Kind::Queued | Kind::Command)
}

/// Turns overwrites into creations where a command wrote a file that was not known or was deleted before. `touches`
/// must be sorted, oldest first.
fn note_creations(touches: &mut [FileTouch]) {
    let mut exists = false;
    for touch in touches {
        // A file restored from version control existed before, even if no session touched it.
        if touch.inferred
            && touch.what == FileAction::Overwrite
            && !exists
            && !matches!(touch.effect, Some(FileEffect::Restore))
        {
            touch.what = FileAction::Create;
        }
        exists = match (touch.what, &touch.effect) {
            (FileAction::Delete, _) | (FileAction::Rename, Some(FileEffect::RenameTo { .. })) => false,
            (FileAction::Mention, _) => exists,
            _ => true,
        };
    }
}

/// Returns the numbers of lines added and removed, as far as the index knows them.
fn counts(tool_call: &ToolCall, touch: &FileTouch) -> (Option<u64>, Option<u64>) {
    let trace = tool_call.result.as_ref().and_then(|(_, result)| result.trace.as_ref());
    if let Some([added, removed]) = trace.and_then(|trace| trace.counts) {
        return (Some(added), Some(removed));
    }
    let lines = |text: &str| Some(text.lines().count() as u64);
    match (&tool_call.asked, &touch.effect) {
        (_, Some(FileEffect::Write(Some(text)))) => (lines(text), (touch.what == FileAction::Create).then_some(0)),
        (_, Some(FileEffect::Append(Some(text)))) => (lines(text), Some(0)),
        (Call::Write(text), _) if touch.what == FileAction::Create => (lines(text), Some(0)),
        (Call::Write(_), _) if trace.is_some_and(|trace| trace.before.is_some() && trace.before == trace.contents) => {
            (Some(0), Some(0))
        }
        (Call::Write(text), _) => (lines(text), None),
        (Call::Edits(edits), _) => {
            let diffs = edits.iter().map(|edit| changed_lines(&edit.old, &edit.new));
            let (added, removed) = diffs.fold((0, 0), |sum, diff| (sum.0 + diff.0, sum.1 + diff.1));
            (Some(added), Some(removed))
        }
        _ => (None, None),
    }
}

/// Returns the numbers of lines added and removed between two texts.
fn changed_lines(old: &str, new: &str) -> (u64, u64) {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let mut counts = (0, 0);
    for change in similar::TextDiff::from_slices(&old, &new).iter_all_changes() {
        match change.tag() {
            similar::ChangeTag::Insert => counts.0 += 1,
            similar::ChangeTag::Delete => counts.1 += 1,
            similar::ChangeTag::Equal => {}
        }
    }
    counts
}
