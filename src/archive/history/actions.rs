//! The actions of sessions on a file, each with the prompt that led to it and the number of lines it changed.

use std::collections::HashMap;

use serde::Serialize;

use crate::archive::history::FileAction;
use crate::archive::history::tool_calls::{FileTouch, ToolCall};
use crate::archive::session_info::{Lookup, SessionInfo};
use crate::document::{FileEffect, Kind};
use crate::error::Result;
use crate::index::{FileKey, PromptPlace, Reader};
use crate::redact::{redact, redact_lines};
use crate::transcript::discover::SourceKind;
use crate::transcript::{Call, Hunk};
use crate::untrusted::Untrusted;

/// The time of a call may be this much before that of the prompt above it, in milliseconds.
const CLOCK_SKEW: i64 = 60_000;

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

/// Turns tool calls into [`Action`]s. Looks up each file and session only once.
pub(super) struct View<'r> {
    pub(super) reader: &'r Reader,
    known: Lookup<'r>,
    prompts: HashMap<FileKey, Vec<PromptPlace>>,
    reveal: bool,
}

impl<'r> View<'r> {
    pub(super) fn new(reader: &'r Reader, reveal: bool) -> Self {
        Self { reader, known: Lookup::new(reader), prompts: HashMap::new(), reveal }
    }

    /// Returns a text with its secrets redacted, unless they are to be revealed.
    pub(super) fn shown(&self, text: &str) -> Untrusted {
        if self.reveal { text.into() } else { Untrusted::new(redact(text)) }
    }

    /// Returns lines with secrets masked unless they are to be revealed.
    pub(super) fn shown_lines<'t>(&self, lines: impl Iterator<Item = &'t str> + Clone) -> Vec<Untrusted> {
        if self.reveal {
            return lines.map(Untrusted::new).collect();
        }
        redact_lines(lines).into_iter().map(Untrusted::new).collect()
    }

    /// Returns a patch with its secrets redacted, unless they are to be revealed.
    pub(super) fn shown_change(&self, mut hunks: Vec<Hunk>) -> Vec<Hunk> {
        for hunk in hunks.iter_mut().filter(|_| !self.reveal) {
            let clean = redact_lines(hunk.lines.iter().map(|line| after_sign(line)));
            for (line, clean) in hunk.lines.iter_mut().zip(clean) {
                line.truncate(line.len() - after_sign(line).len());
                line.push_str(&clean);
            }
        }
        hunks
    }

    pub(super) fn action(&mut self, tool_call: &ToolCall, touch: &FileTouch) -> Result<Action> {
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
