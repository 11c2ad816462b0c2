//! `blame` and `why`: the author of each line of a file, and the history of one line.
//!
//! Replays the recorded history and compares its last version with the file on disk. Lines older than the first session
//! and lines changed by something unrecorded are reported as such. No author is guessed.

use std::collections::HashMap;
use std::sync::Arc;

use similar::DiffOp;

use serde::Serialize;

use crate::archive::history::Request;
use crate::archive::history::actions::{Action, View};
use crate::archive::history::recover::{Replayed, replayed};
use crate::archive::history::replay::{Change, Doubt, Version};
use crate::archive::history::text::{By, Line, Text, diff};
use crate::archive::history::timeline::Origin;
use crate::document::Kind;
use crate::error::Result;
use crate::index::Reader;
use crate::transcript::Hunk;
use crate::untrusted::Untrusted;

/// Maximum number of earlier versions in the history of a line.
const EARLIER: usize = 20;
/// Number of documents before and after a change that are searched for what the model said about it.
const NEAR: usize = 12;
/// A change with more lines than this is cut to the lines near the one asked for.
const LONG: usize = 40;
/// Lines of context around a change.
const CONTEXT: usize = 3;

/// The author of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Writer {
    /// This action: an index into [`Blame::actions`].
    Action(usize),
    /// Unknown: the line is older than the first session that saw the file.
    Before,
    /// An unrecorded change between these times.
    Outside {
        /// The last time the file was seen without it.
        after: Option<i64>,
        /// The first time the file was seen with it. `None` if that is now.
        before: Option<i64>,
    },
}

/// The lines of a file with their authors.
#[derive(Clone, Debug, Serialize)]
pub struct Blame {
    /// The file.
    pub path: Untrusted,
    /// Its lines on disk, without their newlines, each with its author.
    pub lines: Vec<(Untrusted, Writer)>,
    /// The actions that wrote them.
    pub actions: Vec<Action>,
}

/// The history of a line.
#[derive(Clone, Debug, Serialize)]
pub struct Story {
    /// The file.
    pub path: Untrusted,
    /// The line number, from 1.
    pub number: usize,
    /// Its text.
    pub text: Untrusted,
    /// Its author.
    pub writer: Writer,
    /// The action that wrote it.
    pub action: Option<Action>,
    /// The model's messages before and after that action.
    pub said: Vec<Untrusted>,
    /// The change that wrote it, as a patch.
    pub change: Vec<Hunk>,
    /// Earlier lines at the same place, newest first, each with its author and the action that wrote it.
    pub earlier: Vec<(Untrusted, Writer, Option<Action>)>,
    /// The folder in which the session ran.
    pub cwd: Option<Untrusted>,
}

/// Returns the author of each line of a file with these contents on disk.
pub(super) fn blame(reader: &Reader, request: &Request, contents: &str) -> Result<Option<Blame>> {
    let Some(replayed) = replayed(reader, request)? else { return Ok(None) };
    let mut view = View::new(reader, request.reveal);
    // The index in `blame.actions` of each step that wrote a line.
    let mut actions: Vec<Option<usize>> = vec![None; replayed.timeline.steps.len()];
    let mut blame = Blame { path: replayed.path.as_str().into(), lines: Vec::new(), actions: Vec::new() };
    let lines = replayed.lines_on_disk(contents);
    let texts = view.shown_lines(lines.iter().map(|line| line.text.as_deref().unwrap_or_default()));
    for (line, text) in lines.iter().zip(texts) {
        let writer = match line.by {
            By::Step(step) => match (actions[step], &replayed.timeline.origins[step]) {
                (Some(index), _) => Writer::Action(index),
                (None, Origin::ToolCall(tool_call)) => {
                    actions[step] = Some(blame.actions.len());
                    blame.actions.push(view.action(&tool_call.0, &tool_call.1)?);
                    Writer::Action(blame.actions.len() - 1)
                }
                (None, Origin::Backup { .. } | Origin::Suspect(_)) => Writer::Before,
            },
            other => replayed.writer(other),
        };
        blame.lines.push((text, writer));
    }
    Ok(Some(blame))
}

/// Returns the history of one line. `number` counts from 1.
pub(super) fn why(reader: &Reader, request: &Request, contents: &str, number: usize) -> Result<Option<Story>> {
    let Some(replayed) = replayed(reader, request)? else { return Ok(None) };
    let lines = replayed.lines_on_disk(contents);
    let Some(line) = number.checked_sub(1).and_then(|at| lines.get(at)) else { return Ok(None) };
    let mut view = View::new(reader, request.reveal);
    let mut story = Story {
        path: replayed.path.as_str().into(),
        number,
        text: view.shown(line.text.as_deref().unwrap_or_default()),
        writer: replayed.writer(line.by),
        action: None,
        said: Vec::new(),
        change: Vec::new(),
        earlier: Vec::new(),
        cwd: None,
    };
    let By::Step(step) = line.by else { return Ok(Some(story)) };
    story.action = action_of(&mut view, &replayed, step)?;
    if let Origin::ToolCall(tool_call) = &replayed.timeline.origins[step] {
        story.cwd = tool_call.0.call.cwd.as_ref().or(tool_call.0.call.project.as_ref()).map(Untrusted::new);
        let near = reader.near(tool_call.0.key, tool_call.0.call.line, NEAR)?;
        let is_spoken = |kind| matches!(kind, Kind::Text | Kind::Thinking);
        let before = near.iter().rfind(|document| is_spoken(document.kind) && document.line <= tool_call.0.call.line);
        let after = near.iter().find(|document| is_spoken(document.kind) && document.line > tool_call.0.call.line);
        story.said = before.into_iter().chain(after).map(|document| view.shown(&document.text)).collect();
    }
    let (mut step, mut line) = (step, line.clone());
    while story.earlier.len() < EARLIER {
        let Some((before, after, at)) = replayed.around(step, &line) else { break };
        if story.change.is_empty() {
            story.change = view.shown_change(hunk_at(&before, &after, at).into_iter().collect());
        }
        let Some(old) = predecessor(&before, &after, at) else { break };
        let action = match old.by {
            By::Step(step) => action_of(&mut view, &replayed, step)?,
            _ => None,
        };
        let text = view.shown(old.text.as_deref().unwrap_or_default());
        story.earlier.push((text, replayed.writer(old.by), action));
        let By::Step(next) = old.by else { break };
        (step, line) = (next, old);
    }
    Ok(Some(story))
}

fn action_of(view: &mut View<'_>, replayed: &Replayed, step: usize) -> Result<Option<Action>> {
    match &replayed.timeline.origins[step] {
        Origin::ToolCall(tool_call) => view.action(&tool_call.0, &tool_call.1).map(Some),
        Origin::Backup { .. } | Origin::Suspect(_) => Ok(None),
    }
}

impl Replayed {
    /// Returns the lines of the file on disk, each with its author. Leaves out the empty line after the last newline.
    fn lines_on_disk(&self, contents: &str) -> Vec<Line> {
        let contents = contents.replace("\r\n", "\n");
        let last = self.versions.iter().rfind(|version| version.state.text.is_some());
        let known = last.and_then(|version| version.state.text.clone()).unwrap_or_else(|| Text::of("", By::Nobody));
        let now = By::Outside(self.timeline.steps.len());
        let mut lines = (*known.without_returns().become_contents(&contents, now).lines).clone();
        if lines.last().is_some_and(|line| line.text.as_deref() == Some("")) {
            lines.pop();
        }
        let only = self.lines_by_one_step();
        let mut texts: HashMap<Option<Arc<str>>, usize> = HashMap::new();
        lines.iter().for_each(|line| *texts.entry(line.text.clone()).or_default() += 1);
        for line in lines.iter_mut().filter(|line| matches!(line.by, By::Outside(_)) && texts[&line.text] == 1) {
            let step = line.text.as_deref().and_then(|text| only.get(text).copied().flatten());
            line.by = step.map_or(line.by, By::Step);
        }
        lines
    }

    /// Returns the lines that exactly one step wrote, each with that step; `None` if several did. Includes the lines of
    /// edits that could not be applied because of an earlier unrecorded change: the file on disk may contain them.
    fn lines_by_one_step(&self) -> HashMap<&str, Option<usize>> {
        let mut found: HashMap<&str, Option<usize>> = HashMap::new();
        let mut add = |text, step: usize| {
            found.entry(text).and_modify(|known| *known = known.filter(|known| *known == step)).or_insert(Some(step));
        };
        for version in self.versions.iter().filter(|version| !version.found && !version.possible) {
            let text = version.state.text.as_ref();
            let own = text.iter().flat_map(|text| text.lines.iter()).filter(|line| line.by == By::Step(version.step));
            own.filter_map(|line| line.text.as_deref()).for_each(|text| add(text.trim_end_matches('\r'), version.step));
            if !version.state.doubts.contains(&Doubt::NotApplied(version.step)) {
                continue;
            }
            let Some(Change::Edits(edits)) = &self.timeline.steps[version.step].change else { continue };
            for edit in edits {
                let is_new = |line: &&str| !bare_lines(&edit.old).any(|old| old == *line);
                bare_lines(&edit.new).filter(is_new).for_each(|line| add(line, version.step));
            }
        }
        // A brace or a blank line is too common to have one author.
        found.retain(|text, _| text.trim().len() > 3);
        found
    }

    fn writer(&self, by: By) -> Writer {
        match by {
            By::Nobody => Writer::Before,
            By::Step(step) => Writer::Action(step),
            By::Outside(step) => {
                let earlier = self.versions.iter().rfind(|version| version.step < step);
                Writer::Outside {
                    after: earlier.map(|version| self.timeline.steps[version.step].time),
                    before: self.timeline.steps.get(step).map(|step| step.time),
                }
            }
        }
    }

    /// Returns the file before and after the step that wrote a line, and the index of the line afterwards.
    fn around(&self, step: usize, line: &Line) -> Option<(Text, Text, usize)> {
        let at = self.versions.iter().position(|version| version.step == step && !version.found)?;
        let text = |version: &Version| version.state.text.clone();
        let after = text(&self.versions[at])?.without_returns();
        let before = at.checked_sub(1).and_then(|at| text(&self.versions[at])).unwrap_or_default().without_returns();
        let index = after.lines.iter().position(|other| other.by == By::Step(step) && other.text == line.text)?;
        Some((before, after, index))
    }
}

/// Returns lines without their line ends, also without a carriage return at the end of the text.
fn bare_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(|line| line.trim_end_matches('\r'))
}

fn texts(text: &Text) -> Vec<Option<&str>> {
    text.lines.iter().map(|line| line.text.as_deref()).collect()
}

/// Returns the old line that the line at `at` replaced. If there are several, returns the most similar one.
fn predecessor(before: &Text, after: &Text, at: usize) -> Option<Line> {
    let new = after.lines[at].text.as_deref()?;
    for op in diff(&texts(before), &texts(after)) {
        if let DiffOp::Replace { old_index, old_len, new_index, new_len } = op
            && (new_index..new_index + new_len).contains(&at)
        {
            // Similarity in millionths, because floats have no order.
            let similarity = |line: &&Line| {
                let ratio = similar::TextDiff::from_chars(line.text.as_deref().unwrap_or_default(), new).ratio();
                (f64::from(ratio) * 1e6) as u64
            };
            if old_len == new_len {
                return before.lines.get(old_index + at - new_index).cloned();
            }
            let old = before.lines[old_index..old_index + old_len].iter();
            return old.max_by_key(similarity).filter(|line| similarity(line) > 300_000).cloned();
        }
    }
    None
}

/// Returns the change around a line, with a few lines of context.
fn hunk_at(before: &Text, after: &Text, at: usize) -> Option<Hunk> {
    let (old_lines, new_lines) = (before.visible(), after.visible());
    let texts = |lines: &[Line]| lines.iter().map(|line| line.text.clone()).collect::<Vec<_>>();
    let ops = similar::capture_diff_slices(similar::Algorithm::Myers, &texts(old_lines), &texts(new_lines));
    let place = ops.iter().position(|op| op.tag() != similar::DiffTag::Equal && op.new_range().contains(&at))?;
    let (mut old, mut new) = (ops[place].old_range(), ops[place].new_range());
    let equal = |op: Option<&DiffOp>| op.map_or(0, |op| op.new_range().len().min(CONTEXT));
    let (mut lead, mut tail) = (equal(place.checked_sub(1).and_then(|at| ops.get(at))), equal(ops.get(place + 1)));
    if old.len() + new.len() > LONG {
        // A new file is one large change. Show only the lines near the one asked for, without context.
        new = new.start.max(at.saturating_sub(NEAR))..new.end.min(at + NEAR);
        old = old.start..old.start + old.len().min(NEAR);
        (lead, tail) = (0, 0);
    }
    let shown = |sign: char, line: &Line| format!("{sign}{}", line.text.as_deref().unwrap_or("?"));
    let mut lines: Vec<String> = new_lines[new.start - lead..new.start].iter().map(|line| shown(' ', line)).collect();
    lines.extend(old_lines[old.clone()].iter().map(|line| shown('-', line)));
    lines.extend(new_lines[new.clone()].iter().map(|line| shown('+', line)));
    lines.extend(new_lines[new.end..new.end + tail].iter().map(|line| shown(' ', line)));
    let (old_count, new_count) = (old.len() + lead + tail, new.len() + lead + tail);
    // In a patch, an empty range starts at the line before it.
    let first = |start: usize, count: usize| (start - lead + usize::from(count > 0)) as u64;
    Some(Hunk {
        old_start: first(old.start, old_count),
        old_lines: old_count as u64,
        new_start: first(new.start, new_count),
        new_lines: new_count as u64,
        lines,
    })
}
