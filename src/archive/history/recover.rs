//! The contents of a file at some time, put together from what is recorded.

use jiff::Zoned;
use serde::Serialize;

use crate::archive::history::replay::{Doubt, Step, Version, replay};
use crate::archive::history::text::{Text, diff};
use crate::archive::history::timeline::{Origin, Timeline};
use crate::archive::history::{Action, Request, View, files_meant};
use crate::archive::request::Moment;
use crate::dates::{self, Edge};
use crate::error::{Error, ErrorKind, Result};
use crate::index::Reader;
use crate::untrusted::Untrusted;

/// The contents of a file.
#[derive(Clone, Debug, Serialize)]
pub struct Recovered {
    /// The file.
    pub path: Untrusted,
    /// Its contents.
    pub contents: String,
    /// Since when it held them.
    pub since: i64,
    /// The session that shows it.
    pub session: Untrusted,
    /// When it was deleted or renamed afterwards.
    pub deleted: Option<i64>,
    /// What is not certain; nothing if every byte is.
    pub doubts: Vec<Uncertain>,
}

/// Something that is not certain about recovered contents.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Uncertain {
    /// A change could not be applied.
    NotApplied {
        /// When it was made.
        time: i64,
        /// In which session.
        session: Untrusted,
    },
    /// What a command or tool did to it is not recorded.
    Unrecorded {
        /// When it ran.
        time: i64,
        /// In which session.
        session: Untrusted,
    },
    /// Something that is not recorded has changed it.
    ChangedOutside {
        /// The last time its contents were certain.
        after: Option<i64>,
        /// When they were found changed.
        before: i64,
    },
    /// Later contents are different, though nothing is recorded in between.
    ChangedLater {
        /// When they were found.
        found: i64,
        /// Lines, from 1, that are the same in both.
        same: Vec<(usize, usize)>,
    },
    /// Lines, from 1, that are not known.
    Unknown {
        /// The first.
        from: usize,
        /// The last.
        to: usize,
    },
}

/// A version of a file.
#[derive(Clone, Debug, Serialize)]
pub struct VersionInfo {
    /// When it came to be, or was found.
    pub time: i64,
    /// What made it; none for a backup.
    pub action: Option<Action>,
    /// The session.
    pub session: Untrusted,
    /// Whether it was only found so.
    pub found: bool,
    /// Lines and bytes, if the contents are known.
    pub size: Option<(usize, usize)>,
    /// Whether every byte is certain.
    pub exact: bool,
    /// Whether the file was deleted.
    pub deleted: bool,
}

/// A file and all its versions.
pub(super) struct Replayed {
    pub(super) path: String,
    pub(super) timeline: Timeline,
    pub(super) versions: Vec<Version>,
}

/// Puts the contents of a file together.
pub(super) fn recover(reader: &Reader, request: &Request, moment: &Moment, now: &Zoned) -> Result<Option<Recovered>> {
    let Some(replayed) = replayed(reader, request)? else { return Ok(None) };
    let Some(chosen) = replayed.choose(moment, now)? else { return Ok(None) };
    Ok(replayed.recovered(chosen, matches!(moment, Moment::Before(_))))
}

/// Lists all versions of a file, the newest first.
pub(super) fn versions(reader: &Reader, request: &Request) -> Result<Option<(Untrusted, Vec<VersionInfo>)>> {
    let Some(replayed) = replayed(reader, request)? else { return Ok(None) };
    let mut view = View::new(reader, request.reveal);
    let mut listed = Vec::new();
    for (at, version) in replayed.versions.iter().enumerate().rev() {
        let step = &replayed.timeline.steps[version.step];
        let origin = &replayed.timeline.origins[version.step];
        let action = match origin {
            Origin::ToolCall(tool_call) => Some(view.action(&tool_call.0, &tool_call.1)?),
            Origin::Backup { .. } => None,
        };
        let contents = version.state.text.as_ref().and_then(Text::contents);
        listed.push(VersionInfo {
            time: step.time,
            action,
            session: origin.session().into(),
            found: version.found,
            size: contents.as_ref().map(|contents| (contents.lines().count(), contents.len())),
            exact: contents.is_some()
                && version.state.doubts.is_empty()
                && replayed.versions[at].contradicted_by.is_none(),
            deleted: version.state.deleted,
        });
    }
    Ok(Some((replayed.path.as_str().into(), listed)))
}

pub(super) fn replayed(reader: &Reader, request: &Request) -> Result<Option<Replayed>> {
    let files = files_meant(reader, request)?;
    let path = match files.as_slice() {
        [] => return Ok(None),
        [one] => one.clone(),
        many => {
            let shown: Vec<String> = many.iter().take(8).map(|path| crate::untrusted::one_line(path)).collect();
            let dots = if many.len() > 8 { ", …" } else { "" };
            return Err(Error::new(
                ErrorKind::Usage,
                format!("{} files are called so: {}{dots}", many.len(), shown.join(", ")),
            )
            .hint("give more of the path"));
        }
    };
    let timeline = Timeline::of(reader, &path)?;
    let versions = replay(&timeline.steps);
    Ok(Some(Replayed { path, timeline, versions }))
}

impl Replayed {
    fn step(&self, version: &Version) -> &Step {
        &self.timeline.steps[version.step]
    }

    /// The version at a moment; the last with any contents if the file was deleted then.
    fn choose(&self, moment: &Moment, now: &Zoned) -> Result<Option<usize>> {
        let is_own = |at: &usize| !self.step(&self.versions[*at]).of_other;
        let own: Vec<usize> = (0..self.versions.len()).filter(is_own).collect();
        let until = match moment {
            Moment::End => own.len(),
            Moment::At(time) => {
                let time = instant(time, now)?;
                own.partition_point(|at| self.step(&self.versions[*at]).time <= time)
            }
            Moment::After(session) => {
                let last = own.iter().rposition(|at| self.is_by(*at, session));
                last.map(|last| last + 1).ok_or_else(|| unknown_session(session))?
            }
            Moment::Before(session) => {
                let is_change = |at: &usize| self.is_by(*at, session) && !self.versions[*at].found;
                own.iter().position(is_change).ok_or_else(|| unknown_session(session))?
            }
        };
        let held = |at: &&usize| self.versions[**at].state.text.is_some();
        Ok(own[..until].iter().rev().find(held).copied())
    }

    fn is_by(&self, at: usize, session: &str) -> bool {
        self.timeline.origins[self.versions[at].step].session().starts_with(session)
    }

    fn recovered(&self, chosen: usize, is_before: bool) -> Option<Recovered> {
        let version = &self.versions[chosen];
        let text = version.state.text.as_ref()?;
        let contents = text.contents().unwrap_or_else(|| with_marks(text));
        let mut doubts: Vec<Uncertain> =
            version.state.doubts.iter().map(|doubt| self.uncertain(chosen, *doubt)).collect();
        doubts.extend(text.holes().into_iter().map(|hole| Uncertain::Unknown { from: hole.start + 1, to: hole.end }));
        if let Some(later) = version.contradicted_by.filter(|_| !is_before) {
            let found = self.timeline.steps[later].time;
            doubts.push(Uncertain::ChangedLater { found, same: self.same_lines(chosen, later, text) });
        }
        let next = self.versions[chosen + 1..].iter().find(|version| !self.step(version).of_other);
        let deleted = next.filter(|next| next.state.deleted).map(|next| self.step(next).time);
        Some(Recovered {
            path: self.path.as_str().into(),
            contents,
            since: self.step(version).time,
            session: self.timeline.origins[version.step].session().into(),
            deleted,
            doubts,
        })
    }

    fn uncertain(&self, chosen: usize, doubt: Doubt) -> Uncertain {
        let of = |step: usize| (self.timeline.steps[step].time, Untrusted::new(self.timeline.origins[step].session()));
        match doubt {
            Doubt::NotApplied(step) => {
                let (time, session) = of(step);
                Uncertain::NotApplied { time, session }
            }
            Doubt::Unrecorded(step) => {
                let (time, session) = of(step);
                Uncertain::Unrecorded { time, session }
            }
            Doubt::Outside(step) => {
                let certain = |version: &&Version| version.step < step && version.state.doubts.is_empty();
                let after = self.versions[..chosen].iter().rev().find(certain).map(|version| self.step(version).time);
                Uncertain::ChangedOutside { after, before: self.timeline.steps[step].time }
            }
        }
    }

    /// The lines that are the same in what was found later.
    fn same_lines(&self, chosen: usize, later: usize, text: &Text) -> Vec<(usize, usize)> {
        let found = self.versions[chosen + 1..].iter().find(|version| version.step == later && version.found);
        let Some(found) = found.and_then(|found| found.state.text.as_ref()) else { return Vec::new() };
        let lines = |text: &Text| text.lines.iter().map(|line| line.text.clone()).collect::<Vec<_>>();
        let (old, new) = (lines(text), lines(found));
        let old: Vec<Option<&str>> = old.iter().map(|line| line.as_deref()).collect();
        let new: Vec<Option<&str>> = new.iter().map(|line| line.as_deref()).collect();
        let equal = |op: similar::DiffOp| match op {
            similar::DiffOp::Equal { old_index, len, .. } => Some((old_index + 1, old_index + len)),
            _ => None,
        };
        diff(&old, &new).into_iter().filter_map(equal).collect()
    }
}

/// Known lines, with a mark in place of those that are not.
fn with_marks(text: &Text) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut at = 0;
    for hole in text.holes() {
        lines.extend(text.lines[at..hole.start].iter().filter_map(|line| line.text.as_deref().map(str::to_string)));
        lines.push(format!("[unspool: lines {}-{} are not recorded]", hole.start + 1, hole.end));
        at = hole.end;
    }
    lines.extend(text.lines[at..].iter().filter_map(|line| line.text.as_deref().map(str::to_string)));
    lines.join("\n")
}

fn unknown_session(session: &str) -> Error {
    Error::new(ErrorKind::Usage, format!("no session {} has changed this file", crate::untrusted::one_line(session)))
        .hint("`unspool recover --list PATH` shows the sessions that have")
}

/// Reads a time. A time of day means that instant, a day or month its end.
fn instant(text: &str, now: &Zoned) -> Result<i64> {
    if let Ok(exact) = text.trim().parse::<jiff::Timestamp>() {
        return Ok(exact.as_millisecond());
    }
    let edge = if text.contains([':', '@']) { Edge::Since } else { Edge::Until };
    dates::parse(text, now, edge)
}
