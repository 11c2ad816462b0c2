//! The history of a file: who created, changed, read it, and what it held.
//!
//! [`file()`] lists what sessions did with a file, from the index alone.

mod path;
mod text;
mod replay;
mod tool_calls;
mod timeline;
mod changes;
mod recover;
mod blame;

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::archive::note::Note;
use crate::archive::request::{Context, FileQuestion, FileRequest};
use crate::archive::scope;
use crate::archive::session_info::{Lookup, SessionInfo};
use crate::document::{Document, FileEffect, Kind, normal_path};
use crate::error::Result;
use crate::index::{FileKey, Reader, Said};
use crate::query::Filter;
use crate::redact::{redact, redact_lines};
use crate::tokenize;
use crate::transcript::discover::SourceKind;
use crate::transcript::{Call, Hunk};
use crate::untrusted::Untrusted;
pub use blame::{Blame, Story, Writer};
use blame::{blame, why};
use path::{Here, Wanted, identity, readings};
pub use recover::{Recovered, Uncertain, VersionInfo};
use recover::{recover, versions};
use timeline::StepCollector;
use tool_calls::{FileTouch, ToolCall};

/// A question about a file, interpreted.
#[derive(Clone, Debug, Default)]
struct Request {
    /// The file as the user typed it.
    path: String,
    /// The caller's folder.
    here: Here,
    /// The actions that are wanted.
    scope: Scope,
    /// Whether each change is wanted as a patch.
    diff: bool,
    /// The sessions, projects and times that count. The running session is not left out.
    filter: Filter,
    /// Whether secrets are shown in what was said and changed. Recovered contents are never masked.
    reveal: bool,
}

/// The answer to a question about a file.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileAnswer {
    /// Nothing is known.
    Nothing(Note),
    /// What was done, by file; the file of the newest action first.
    Actions(Vec<FileActions>),
    /// Who wrote each line.
    Blame(Blame),
    /// The story of a line.
    Story(Box<Story>),
    /// Recovered contents.
    Contents(Recovered),
    /// All versions of one file, the newest first.
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
    let path = || request.path.clone();
    let untouched = || FileAnswer::Nothing(Note::NothingAboutFile { path: path(), verb: "touched".to_string() });
    let unrecorded = || FileAnswer::Nothing(Note::NothingRecorded { path: path() });
    Ok(match &request.question {
        FileQuestion::Actions { reads, mentions, unconfirmed, diff } => {
            question.scope = Scope { reads: *reads, mentions: *mentions, unconfirmed: *unconfirmed };
            question.diff = *diff;
            question.filter = scope::filter(&request.filters, context)?;
            let files = file(reader, &question)?;
            let verb = if *mentions { "named" } else { "changed" }.to_string();
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
    })
}

/// Which actions are wanted, besides changes.
#[derive(Clone, Copy, Debug, Default)]
struct Scope {
    /// Reads.
    reads: bool,
    /// Mentions.
    mentions: bool,
    /// Calls of which nobody knows whether they happened.
    unconfirmed: bool,
}

/// What was done with a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    /// It was made.
    Create,
    /// Some of it was changed.
    Edit,
    /// All of it was replaced.
    Overwrite,
    /// It got another name.
    Rename,
    /// It was deleted.
    Delete,
    /// It was read.
    Read,
    /// It was named.
    Mention,
}

impl FileAction {
    /// The word users know it by.
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

/// A file, and what was done with it.
#[derive(Clone, Debug, Serialize)]
pub struct FileActions {
    /// The file.
    pub path: Untrusted,
    /// What was done, the newest first.
    pub actions: Vec<Action>,
}

/// One thing done with a file.
#[derive(Clone, Debug, Serialize)]
pub struct Action {
    /// The session.
    pub session: SessionInfo,
    /// Other sessions that hold the same lines.
    pub also_in: Vec<Untrusted>,
    /// The subagent that did it.
    pub agent: Option<Untrusted>,
    /// What the subagent was sent to do.
    pub agent_title: Option<Untrusted>,
    /// The line of the call.
    pub uuid: Option<Untrusted>,
    /// The file.
    pub path: Untrusted,
    /// The file it was renamed to or from, or copied from.
    pub other: Option<Untrusted>,
    /// What was done.
    pub what: FileAction,
    /// With which tool.
    pub tool: Option<Untrusted>,
    /// When it took effect, in milliseconds since 1970.
    pub time: Option<i64>,
    /// Lines added, where known.
    pub added: Option<u64>,
    /// Lines removed, where known.
    pub removed: Option<u64>,
    /// The prompt that led to it.
    pub prompt: Option<Untrusted>,
    /// The change as a patch, where it was asked for and is known.
    pub change: Vec<Hunk>,
    /// Whether only a command shows it.
    pub inferred: bool,
    /// Whether nobody knows that it happened.
    pub unconfirmed: bool,
}

/// Lists what was done with the files that are meant; the file of the newest action first.
fn file(reader: &Reader, request: &Request) -> Result<Vec<FileActions>> {
    let mut view = View::new(reader, request.reveal);
    for wanted in readings(&request.path, &request.here) {
        let found = view.list(&wanted, request)?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// The files that are meant and were ever changed or read. What is the path of a file is not taken for a folder.
fn files_meant(reader: &Reader, request: &Request) -> Result<Vec<String>> {
    let scope = Scope { reads: true, ..Scope::default() };
    for wanted in readings(&request.path, &request.here) {
        let (tool_calls, touches) = tool_calls::find(reader, &wanted, scope, None)?;
        let happened = touches.iter().filter(|touch| tool_calls[touch.tool_call].happened() == Some(true));
        let mut files: BTreeMap<String, String> =
            happened.map(|touch| (identity(&touch.path), touch.path.clone())).collect();
        if files.values().any(|path| wanted.names(path)) {
            files.retain(|_, path| wanted.names(path));
        }
        if !files.is_empty() {
            return Ok(files.into_values().collect());
        }
    }
    Ok(Vec::new())
}

/// Looks every file and session up once.
struct View<'r> {
    reader: &'r Reader,
    known: Lookup<'r>,
    said: HashMap<FileKey, Vec<Said>>,
    reveal: bool,
}

impl<'r> View<'r> {
    fn new(reader: &'r Reader, reveal: bool) -> Self {
        Self { reader, known: Lookup::new(reader), said: HashMap::new(), reveal }
    }

    /// What was said, fit to be shown.
    fn shown(&self, text: &str) -> Untrusted {
        if self.reveal { text.into() } else { Untrusted::new(redact(text)) }
    }

    /// A change, fit to be shown.
    fn shown_change(&self, mut hunks: Vec<Hunk>) -> Vec<Hunk> {
        for hunk in hunks.iter_mut().filter(|_| !self.reveal) {
            let clean = redact_lines(hunk.lines.iter().map(|line| behind_sign(line)));
            for (line, clean) in hunk.lines.iter_mut().zip(clean) {
                line.truncate(line.len() - behind_sign(line).len());
                line.push_str(&clean);
            }
        }
        hunks
    }

    fn list(&mut self, wanted: &Wanted, request: &Request) -> Result<Vec<FileActions>> {
        let (mut tool_calls, mut touches) =
            tool_calls::find(self.reader, wanted, request.scope, Some(&request.filter))?;
        if request.scope.mentions {
            let (more, mentions) = mentions(self.reader, wanted, &request.filter, &tool_calls, &touches)?;
            tool_calls.extend(more);
            touches.extend(mentions);
        }
        touches.retain(|touch| tool_calls[touch.tool_call].happened().unwrap_or(request.scope.unconfirmed));
        let mut files: BTreeMap<String, (String, Vec<FileTouch>)> = BTreeMap::new();
        for touch in touches {
            files.entry(identity(&touch.path)).or_insert_with(|| (touch.path.clone(), Vec::new())).1.push(touch);
        }
        let mut listed = Vec::with_capacity(files.len());
        let mut gather = StepCollector::new(self.reader);
        for (path, mut touches) in files.into_values() {
            touches.sort_by_key(|touch| (tool_calls[touch.tool_call].time(), tool_calls[touch.tool_call].call.line));
            note_creations(&mut touches);
            let mut actions = Vec::with_capacity(touches.len());
            for touch in touches.iter().rev() {
                let tool_call = &tool_calls[touch.tool_call];
                let mut action = self.action(tool_call, touch)?;
                if request.diff {
                    action.change = self.shown_change(changes::change(&mut gather, tool_call, touch)?);
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
            inferred: touch.inferred,
            unconfirmed: tool_call.happened().is_none(),
        })
    }

    /// The words of the person, or the program, that led to a call.
    fn prompt(&mut self, tool_call: &ToolCall) -> Result<Option<String>> {
        let call = &tool_call.call;
        let own = self.known.file(tool_call.key)?;
        let Some(agent) = own.as_ref().filter(|file| file.source_kind() == SourceKind::Agent) else {
            return self.prompt_in(tool_call.key, call.timestamp.unwrap_or(i64::MAX), call.line);
        };
        let sent = agent.first.or(call.timestamp).unwrap_or(i64::MAX);
        let main = self.reader.session_summary(&call.session)?.filter(|file| file.source_kind() == SourceKind::Session);
        let prompt = match main {
            Some(main) => self.prompt_in(main.key(), sent, u64::MAX)?,
            None => None,
        };
        match prompt {
            Some(prompt) => Ok(Some(prompt)),
            None => Ok(self.reader.checkpoint(tool_call.key)?.and_then(|file| file.state.first_prompt)),
        }
    }

    fn prompt_in(&mut self, file: FileKey, time: i64, line: u64) -> Result<Option<String>> {
        if !self.said.contains_key(&file) {
            self.said.insert(file, self.reader.prompts_of(file)?);
        }
        let said = self.said.get(&file).map(Vec::as_slice).unwrap_or_default();
        Ok(self.reader.prompt_before(said, time, line)?.map(|prompt| prompt.text))
    }
}

/// A line of a patch without the sign in front.
fn behind_sign(line: &str) -> &str {
    line.get(1..).unwrap_or_default()
}

fn is_prompt(kind: Kind) -> bool {
    matches!(kind, Kind::Prompt | Kind::Queued | Kind::Command)
}

/// A command that writes a file nobody has heard of, or that was deleted before, makes it. Oldest first.
fn note_creations(touches: &mut [FileTouch]) {
    let mut exists = false;
    for touch in touches {
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

/// Lines added and removed, as far as the index knows.
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
            let (added, removed) = diffs.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            (Some(added), Some(removed))
        }
        _ => (None, None),
    }
}

/// Lines that are in one text and not in the other.
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

/// The file a name stands for where it was said, if only one is known there.
fn known_file(touches: &[FileTouch], said: &Document, name: String) -> String {
    let folders: Vec<String> =
        [&said.cwd, &said.project].into_iter().flatten().map(|folder| normal_path(folder, None)).collect();
    let near = |path: &str| folders.iter().any(|folder| path.starts_with(&format!("{folder}/")));
    let mut paths: Vec<&String> = touches.iter().map(|touch| &touch.path).filter(|path| near(path)).collect();
    paths.sort_unstable();
    paths.dedup();
    if let [one] = paths.as_slice() { (*one).clone() } else { name }
}

/// Messages that name a file and do nothing with it.
fn mentions(
    reader: &Reader,
    wanted: &Wanted,
    filter: &Filter,
    tool_calls: &[ToolCall],
    touches: &[FileTouch],
) -> Result<(Vec<ToolCall>, Vec<FileTouch>)> {
    let Some(name) = wanted.name() else { return Ok((Vec::new(), Vec::new())) };
    let terms: Vec<String> = tokenize::terms(name.rsplit('/').next().unwrap_or(&name))
        .into_iter()
        .filter(|(_, _, whole)| !whole)
        .map(|(term, ..)| term)
        .collect();
    let kinds = [Kind::Prompt, Kind::Queued, Kind::Command, Kind::Text, Kind::ToolUse, Kind::Compaction, Kind::Recap];
    let seen: std::collections::HashSet<&str> =
        touches.iter().filter_map(|touch| tool_calls[touch.tool_call].call.uuid.as_deref()).collect();
    let mut found = Vec::new();
    for (key, document) in reader.mentioning(&terms, &kinds, filter)? {
        let is_new = document.part == 0
            && !document.is_duplicate
            && document.uuid.as_deref().is_some_and(|uuid| !seen.contains(uuid));
        if is_new && let Some(path) = wanted.named_in(&document.text, document.cwd.as_deref()) {
            let path = known_file(touches, &document, path);
            found.push((key, path, document));
        }
    }
    let mut more: Vec<ToolCall> = Vec::new();
    let mut named = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    // Of copies the earliest speaks, whenever each was read.
    found.sort_by(|(_, _, a), (_, _, b)| {
        let order = |one: &Document| (one.timestamp, one.agent.is_some());
        order(a).cmp(&order(b)).then_with(|| (&a.session, a.line).cmp(&(&b.session, b.line)))
    });
    for (key, path, document) in found {
        let line = document.copied_from.clone().or_else(|| document.uuid.clone()).unwrap_or_default();
        if let Some(at) = places.get(&line) {
            let first: &mut ToolCall = &mut more[*at];
            if first.call.session != document.session && !first.also_in.contains(&document.session) {
                first.also_in.push(document.session);
            }
            continue;
        }
        places.insert(line, more.len());
        named.push(FileTouch {
            tool_call: tool_calls.len() + more.len(),
            path,
            what: FileAction::Mention,
            other: None,
            inferred: false,
            effect: None,
        });
        let call =
            Document { kind: if document.kind == Kind::ToolUse { Kind::Notice } else { document.kind }, ..document };
        more.push(ToolCall { key, call, result: None, also_in: Vec::new(), asked: Call::Other, touches: Vec::new() });
    }
    Ok((more, named))
}
