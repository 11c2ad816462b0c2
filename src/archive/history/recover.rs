//! `recover`: reconstructs the contents of a file at some time from what is recorded.

use jiff::Zoned;
use serde::Serialize;

use crate::archive::history::actions::{Action, View};
use crate::archive::history::replay::{Doubt, Step, Version, replay};
use crate::archive::history::text::{Text, diff};
use crate::archive::history::timeline::{Origin, Timeline};
use crate::archive::history::unrecorded_changes::{Suspect, Suspicion};
use crate::archive::history::{Request, files_meant};
use crate::archive::request::Moment;
use crate::dates::{self, Edge};
use crate::error::{Error, ErrorKind, Result};
use crate::index::Reader;
use crate::redact::redact;
use crate::transcript::Call;
use crate::untrusted::Untrusted;

/// Recovered contents of a file.
#[derive(Clone, Debug, Serialize)]
pub struct Recovered {
    /// The path of the file.
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
    /// The ranges of lines, from 1, that are certain although there are doubts.
    pub certain: Vec<(usize, usize)>,
}

/// Something that may have changed a file without a record of the change.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A command that works on a whole folder, or a script.
    Command(Untrusted),
    /// Claude Code noticed a change.
    Noticed,
    /// The conversation was rewound to a point before an edit, which may have undone the edit.
    Rewound,
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
        /// The command, if a command changed it.
        #[serde(skip_serializing_if = "Option::is_none")]
        command: Option<Untrusted>,
    },
    /// Something may have changed it.
    Possible {
        /// The time.
        time: i64,
        /// The session.
        session: Untrusted,
        /// The possible cause.
        cause: Cause,
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
    let (chosen, later) = chosen;
    Ok(replayed.recovered(chosen, &later, matches!(moment, Moment::Before(_))))
}

/// Lists all versions of a file, newest first.
pub(super) fn versions(reader: &Reader, request: &Request) -> Result<Option<(Untrusted, Vec<VersionInfo>)>> {
    let Some(replayed) = replayed(reader, request)? else { return Ok(None) };
    let mut view = View::new(reader, request.reveal);
    let mut listed = Vec::new();
    for version in replayed.listed().into_iter().rev() {
        let step = &replayed.timeline.steps[version.step];
        let origin = &replayed.timeline.origins[version.step];
        let action = match origin {
            Origin::ToolCall(tool_call) => Some(view.action(&tool_call.0, &tool_call.1)?),
            Origin::Backup { .. } | Origin::Suspect(_) => None,
        };
        let contents = version.state.text.as_ref().and_then(Text::contents);
        listed.push(VersionInfo {
            time: step.time,
            action,
            session: origin.session().into(),
            found: version.found,
            size: contents.as_ref().map(|contents| (contents.lines().count(), contents.len())),
            exact: contents.is_some() && version.state.doubts.is_empty(),
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
    Replayed::of(reader, &path).map(Some)
}

impl Replayed {
    /// Replays the history of a file.
    pub(super) fn of(reader: &Reader, path: &str) -> Result<Self> {
        let timeline = Timeline::of(reader, path)?;
        let versions = replay(&timeline.steps);
        Ok(Self { path: path.to_string(), timeline, versions })
    }

    fn step(&self, version: &Version) -> &Step {
        &self.timeline.steps[version.step]
    }

    /// Returns the versions to list: each once, and only those of this file.
    fn listed(&self) -> Vec<&Version> {
        let mut listed: Vec<&Version> = Vec::new();
        for version in self.versions.iter().filter(|version| !version.possible && !self.step(version).of_other) {
            // A read that shows what is already known is not another version.
            let is_repeated =
                listed.last().is_some_and(|last| version.found && last.state.has_same_contents(&version.state));
            if !is_repeated {
                listed.push(version);
            }
        }
        listed
    }

    /// Returns the version at a moment. If the file was deleted then, returns the last version with contents. Also
    /// returns the later versions up to that moment, whose contents are not known.
    fn choose(&self, moment: &Moment, now: &Zoned) -> Result<Option<(usize, Vec<usize>)>> {
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
        let has_contents = |at: &usize| self.versions[*at].state.text.is_some();
        let chosen = own[..until].iter().rposition(has_contents);
        Ok(chosen.map(|at| (own[at], own[at + 1..until].to_vec())))
    }

    fn is_by(&self, at: usize, session: &str) -> bool {
        self.timeline.origins[self.versions[at].step].session().starts_with(session)
    }

    /// Returns a version. `later` are the versions after it, up to the requested moment.
    fn recovered(&self, chosen: usize, later: &[usize], is_before: bool) -> Option<Recovered> {
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
        // A deletion leaves the contents before it certain. Anything else replaced them by something unknown.
        let lost = later
            .iter()
            .take_while(|at| !self.versions[**at].state.deleted)
            .flat_map(|at| self.versions[*at].state.doubts.iter().map(|doubt| self.uncertain(*at, *doubt)));
        let is_lost = doubts.len();
        doubts.extend(lost);
        doubts.dedup();
        let next = self.versions[chosen + 1..].iter().find(|version| !self.step(version).of_other);
        let deleted = next.filter(|next| next.state.deleted).map(|next| self.step(next).time);
        let certain = if doubts.len() > is_lost || doubts.is_empty() { Vec::new() } else { text.certain_runs() };
        let written = self.versions[..=chosen].iter().rfind(|version| !version.possible).unwrap_or(version);
        Some(Recovered {
            path: self.path.as_str().into(),
            contents,
            certain: certain.into_iter().map(|run| (run.start + 1, run.end)).collect(),
            since: self.step(written).time,
            session: self.timeline.origins[written.step].session().into(),
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
                Uncertain::Unrecorded { time, session, command: command_of(&self.timeline.origins[step]) }
            }
            Doubt::Possible(step) => {
                let (time, session) = of(step);
                Uncertain::Possible { time, session, cause: cause_of(&self.timeline.origins[step]) }
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

/// Returns the shell command that changed the file.
fn command_of(origin: &Origin) -> Option<Untrusted> {
    match origin {
        Origin::ToolCall(call) => match &call.0.asked {
            Call::Command(command) => Some(redact(command).into()),
            _ => None,
        },
        _ => None,
    }
}

/// Returns what may have changed the file.
fn cause_of(origin: &Origin) -> Cause {
    match origin {
        Origin::Suspect(Suspect { what: Suspicion::Command(command), .. }) => Cause::Command(redact(command).into()),
        Origin::Suspect(Suspect { what: Suspicion::Rewound, .. }) => Cause::Rewound,
        _ => Cause::Noticed,
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
