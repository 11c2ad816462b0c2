//! The history of a file: the sessions that created, changed or read it, and its contents over time.
//!
//! `file` lists the actions of sessions on a file from the index alone. Only patches need the transcripts.

mod path;
mod text;
mod replay;
mod tool_calls;
mod mentions;
mod unrecorded_changes;
mod timeline;
mod actions;
mod recover;
mod hunks;
mod blame;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::archive::filters;
use crate::archive::note::Note;
use crate::archive::request::{Context, FileQuestion, FileRequest};
use crate::document::FileEffect;
use crate::error::Result;
use crate::index::Reader;
use crate::query::{Filter, glob};
use crate::untrusted::Untrusted;
pub use actions::Action;
use actions::View;
pub use blame::{Blame, Story, Writer};
use blame::{blame, why};
use mentions::mentions;
use path::{Here, PathPattern, identity, path_patterns};
pub use recover::{Cause, Recovered, Uncertain, VersionInfo};
use recover::{Replayed, recover, versions};
use timeline::StepCollector;
use tool_calls::FileTouch;

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

/// Lists the actions on the requested files. The file with the newest action comes first.
fn file(reader: &Reader, request: &Request) -> Result<Vec<FileActions>> {
    let mut view = View::new(reader, request.reveal);
    for pattern in path_patterns(&request.path, &request.here) {
        let found = list(&mut view, &pattern, request)?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// Lists the actions on the files that match one reading of the path.
fn list(view: &mut View<'_>, pattern: &PathPattern, request: &Request) -> Result<Vec<FileActions>> {
    let (mut tool_calls, mut touches) = tool_calls::find(view.reader, pattern, request.scope, Some(&request.filter))?;
    if request.scope.mentions {
        let (more, mentions) = mentions(view.reader, pattern, &request.filter, &tool_calls, &touches)?;
        tool_calls.extend(more);
        touches.extend(mentions);
    }
    touches.retain(|touch| tool_calls[touch.tool_call].happened().unwrap_or(request.scope.unconfirmed));
    let mut files: BTreeMap<String, (String, Vec<FileTouch>)> = BTreeMap::new();
    for touch in touches {
        files.entry(identity(&touch.path)).or_insert_with(|| (touch.path.clone(), Vec::new())).1.push(touch);
    }
    let mut listed = Vec::with_capacity(files.len());
    let mut collector = StepCollector::new(view.reader);
    for (path, mut touches) in files.into_values() {
        touches.sort_by_key(|touch| (tool_calls[touch.tool_call].time(), tool_calls[touch.tool_call].call.line));
        note_creations(&mut touches);
        let replayed = if request.diff { Some(Replayed::of(view.reader, &path)?) } else { None };
        let mut actions = Vec::with_capacity(touches.len());
        for touch in touches.iter().rev() {
            let tool_call = &tool_calls[touch.tool_call];
            let mut action = view.action(tool_call, touch)?;
            if let Some(replayed) = &replayed {
                let patch = replayed.patch_by(tool_call, touch);
                action.exact = patch.is_some();
                let change = patch.map_or_else(|| hunks::change(&mut collector, tool_call, touch), Ok)?;
                action.change = view.shown_change(change);
            }
            actions.push(action);
        }
        listed.push(FileActions { path: path.into(), actions });
    }
    listed.sort_by_key(|file| std::cmp::Reverse(file.actions.first().and_then(|action| action.time)));
    Ok(listed)
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
