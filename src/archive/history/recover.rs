//! `recover`: reconstructs the contents of a file at some time from what is recorded.

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

/// Recovered contents of a file.
#[derive(Clone, Debug, Serialize)]
pub struct Recovered {
    /// The file.
    pub path: Untrusted,
    /// Its contents.
    pub contents: String,
    /// The time since which it had them, in milliseconds since 1970.
    pub since: i64,
    /// The session that wrote or read them.
    pub session: Untrusted,
    /// The time at which it was deleted or renamed afterwards.
    pub deleted: Option<i64>,
    /// The uncertainties. Empty if every byte is certain.
    pub doubts: Vec<Uncertain>,
}

/// Something that is not certain about recovered contents.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Uncertain {
    /// A change could not be applied.
    NotApplied {
        /// The time of the change.
        time: i64,
        /// The session.
        session: Untrusted,
    },
    /// A command or tool changed it, and the change is not recorded.
    Unrecorded {
        /// The time it ran.
        time: i64,
        /// The session.
        session: Untrusted,
    },
    /// Something outside the recorded sessions changed it.
    ChangedOutside {
        /// The last time its contents were certain.
        after: Option<i64>,
        /// The time at which they were found changed.
        before: i64,
    },
    /// Later contents are different, though nothing is recorded in between.
    ChangedLater {
        /// The time at which the later contents were found.
        found: i64,
        /// The ranges of lines, from 1, that are the same in both.
        same: Vec<(usize, usize)>,
    },
    /// A range of lines, from 1, is unknown.
    Unknown {
        /// The first line.
        from: usize,
        /// The last line.
        to: usize,
    },
}

/// A version of a file.
#[derive(Clone, Debug, Serialize)]
pub struct VersionInfo {
    /// The time at which it was written or found.
    pub time: i64,
    /// The action that wrote or found it. `None` for a backup.
    pub action: Option<Action>,
    /// The session.
    pub session: Untrusted,
    /// True if the action found this version and did not write it.
    pub found: bool,
    /// The numbers of lines and bytes, if the contents are known.
    pub size: Option<(usize, usize)>,
    /// True if every byte is certain.
    pub exact: bool,
    /// True if the file was deleted.
    pub deleted: bool,
}

/// A file and all its versions.
pub(super) struct Replayed {
    pub(super) path: String,
    pub(super) timeline: Timeline,
    pub(super) versions: Vec<Version>,
}

/// Reconstructs the contents of a file at a moment.
pub(super) fn recover(reader: &Reader, request: &Request, moment: &Moment, now: &Zoned) -> Result<Option<Recovered>> {
    let Some(replayed) = replayed(reader, request)? else { return Ok(None) };
    let Some(chosen) = replayed.choose(moment, now)? else { return Ok(None) };
    Ok(replayed.recovered(chosen, matches!(moment, Moment::Before(_))))
}

/// Lists all versions of a file, newest first.
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

/// Replays the history of the requested file. Fails if several files match.
pub(super) fn replayed(reader: &Reader, request: &Request) -> Result<Option<Replayed>> {
    let files = files_meant(reader, request)?;
    let path = match files.as_slice() {
        [] => return Ok(None),
        [path] => path.clone(),
        many => {
            let shown: Vec<String> = many.iter().take(8).map(|path| crate::untrusted::one_line(path)).collect();
            let dots = if many.len() > 8 { ", …" } else { "" };
            return Err(Error::new(
                ErrorKind::Usage,
                format!("{} files match: {}{dots}", many.len(), shown.join(", ")),
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

    /// Returns the version at a moment. If the file was deleted then, returns the last version with contents.
    fn choose(&self, moment: &Moment, now: &Zoned) -> Result<Option<usize>> {
        // Versions of a file that this one was renamed or copied from do not count.
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
        let has_contents = |at: &&usize| self.versions[**at].state.text.is_some();
        Ok(own[..until].iter().rev().find(has_contents).copied())
    }

    fn is_by(&self, at: usize, session: &str) -> bool {
        self.timeline.origins[self.versions[at].step].session().starts_with(session)
    }

    fn recovered(&self, chosen: usize, is_before: bool) -> Option<Recovered> {
        let version = &self.versions[chosen];
        let text = version.state.text.as_ref()?;
        let contents = text.contents().unwrap_or_else(|| with_markers(text));
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

    /// Returns the ranges of lines that are the same in the contents found later.
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

/// Returns the known lines, with a marker in place of each range of unknown lines.
fn with_markers(text: &Text) -> String {
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

/// Parses a time. A time of day means that instant. A day or a month means its end.
fn instant(text: &str, now: &Zoned) -> Result<i64> {
    if let Ok(exact) = text.trim().parse::<jiff::Timestamp>() {
        return Ok(exact.as_millisecond());
    }
    let edge = if text.contains([':', '@']) { Edge::Since } else { Edge::Until };
    dates::parse(text, now, edge)
}
