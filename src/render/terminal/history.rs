//! Renders the history of a file: actions, versions and recovered contents, as text or JSON.

use std::io::{self, Write};

use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

use crate::archive::history::{Action, Cause, FileAction, FileActions, Recovered, Uncertain, VersionInfo};
use crate::archive::timestamp;
use crate::render::json::{self, SCHEMA};
use crate::render::terminal::patch::patch;
use crate::render::terminal::style::{ADDED, DIM, PERSON, REMOVED, Screen, TITLE, TOOL, count, cut, pad};
use crate::transcript::Hunk;
use crate::untrusted::Untrusted;

/// The maximum width of a prompt in plain output. JSON contains all of it.
const PROMPT_WIDTH: usize = 200;
/// The maximum width of a command that may have changed a file.
const COMMAND_WIDTH: usize = 100;
/// The maximum number of doubts shown. Of more, the latest are.
const DOUBTS_SHOWN: usize = 8;

#[derive(Serialize)]
struct ActionLine<'a> {
    schema: u32,
    r#type: &'static str,
    session_id: &'a str,
    also_in: Vec<&'a str>,
    agent_id: Option<&'a str>,
    agent_title: Option<&'a str>,
    uuid: Option<&'a str>,
    path: &'a str,
    other_path: Option<&'a str>,
    action: &'static str,
    tool: Option<&'a str>,
    timestamp: Option<String>,
    added: Option<u64>,
    removed: Option<u64>,
    prompt: Option<&'a str>,
    inferred: bool,
    unconfirmed: bool,
    title: &'a str,
    project: &'a str,
    source_missing: bool,
    /// The change, if patches were asked for.
    #[serde(skip_serializing_if = "<[Hunk]>::is_empty")]
    patch: &'a [Hunk],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    patch_exact: bool,
}

/// Writes one line of JSON per action.
pub fn actions_json(out: &mut dyn Write, files: &[FileActions]) -> io::Result<()> {
    files.iter().flat_map(|file| &file.actions).try_for_each(|action| json::line(out, &action_line(action)))
}

fn action_line(action: &Action) -> ActionLine<'_> {
    fn raw(text: &Option<Untrusted>) -> Option<&str> {
        text.as_ref().map(Untrusted::raw)
    }
    ActionLine {
        schema: SCHEMA,
        r#type: "action",
        session_id: action.session.id.raw(),
        also_in: action.also_in.iter().map(Untrusted::raw).collect(),
        agent_id: raw(&action.agent),
        agent_title: raw(&action.agent_title),
        uuid: raw(&action.uuid),
        path: action.path.raw(),
        other_path: raw(&action.other),
        action: action.what.name(),
        tool: raw(&action.tool),
        timestamp: action.time.map(timestamp),
        added: action.added,
        removed: action.removed,
        prompt: raw(&action.prompt),
        inferred: action.inferred,
        unconfirmed: action.unconfirmed,
        title: action.session.title.raw(),
        project: action.session.project.raw(),
        source_missing: action.session.gone,
        patch: &action.change,
        patch_exact: action.exact,
    }
}

/// Writes one tab-separated line per action, for pipes: time, action, lines added, lines removed, tool, session, file
/// and the start of the prompt.
pub fn actions_plain(out: &mut dyn Write, files: &[FileActions]) -> io::Result<()> {
    for action in files.iter().flat_map(|file| &file.actions) {
        let fields = [
            action.time.map(timestamp).unwrap_or_default(),
            action.what.name().to_string(),
            signed(action.added, '+'),
            signed(action.removed, '-'),
            line_of(&action.tool),
            action.session.id.line(),
            action.path.line(),
            cut(&line_of(&action.prompt), PROMPT_WIDTH),
        ];
        writeln!(out, "{}", fields.join("\t"))?;
    }
    Ok(())
}

fn line_of(text: &Option<Untrusted>) -> String {
    text.as_ref().map(Untrusted::line).unwrap_or_default()
}

fn signed(number: Option<u64>, sign: char) -> String {
    number.map(|number| format!("{sign}{number}")).unwrap_or_default()
}

#[derive(Serialize)]
struct VersionLine<'a> {
    schema: u32,
    r#type: &'static str,
    path: &'a str,
    timestamp: String,
    session_id: &'a str,
    uuid: Option<&'a str>,
    action: &'static str,
    tool: Option<&'a str>,
    lines: Option<usize>,
    bytes: Option<usize>,
    exact: bool,
    prompt: Option<&'a str>,
}

/// Writes one line of JSON per version.
pub fn versions_json(out: &mut dyn Write, path: &Untrusted, versions: &[VersionInfo]) -> io::Result<()> {
    versions.iter().try_for_each(|version| {
        let action = version.action.as_ref();
        json::line(
            out,
            &VersionLine {
                schema: SCHEMA,
                r#type: "version",
                path: path.raw(),
                timestamp: timestamp(version.time),
                session_id: version.session.raw(),
                uuid: action.and_then(|action| action.uuid.as_ref()).map(Untrusted::raw),
                action: origin(version),
                tool: action.and_then(|action| action.tool.as_ref()).map(Untrusted::raw),
                lines: version.size.map(|(lines, _)| lines),
                bytes: version.size.map(|(_, bytes)| bytes),
                exact: version.exact,
                prompt: action.and_then(|action| action.prompt.as_ref()).map(Untrusted::raw),
            },
        )
    })
}

/// Returns the beginning of a session's id.
fn short_id(session: &Untrusted) -> String {
    session.line().chars().take(8).collect()
}

/// Returns the origin of a version: the action that wrote it, `found` or `backup`.
fn origin(version: &VersionInfo) -> &'static str {
    match &version.action {
        None => "backup",
        Some(_) if version.found => "found",
        Some(action) => action.what.name(),
    }
}

impl Screen {
    /// Lists the versions of a file.
    pub fn versions(&self, out: &mut dyn Write, path: &Untrusted, versions: &[VersionInfo]) -> io::Result<()> {
        let known = count(versions.len(), "version");
        writeln!(out, "{TITLE}{}{TITLE:#}  {DIM}{known}, newest first{DIM:#}", self.shown(path))?;
        for version in versions {
            let size = match version.size {
                Some((lines, bytes)) => {
                    format!(
                        "{} lines, {}",
                        crate::render::terminal::style::thousands(lines as u64),
                        crate::render::terminal::style::bytes(bytes as u64)
                    )
                }
                None if version.deleted => "deleted".to_string(),
                None => "incomplete".to_string(),
            };
            let id: String = version.session.line().chars().take(8).collect();
            let doubt = if version.exact || version.deleted { "" } else { "  uncertain" };
            let prompt = version.action.as_ref().and_then(|action| action.prompt.as_ref());
            let room = self.width.saturating_sub(70).max(20);
            let prompt = prompt.map(|prompt| cut(&prompt.line(), room)).unwrap_or_default();
            writeln!(
                out,
                "  {DIM}{}{DIM:#}  {:<9}  {:<22}  {DIM}{id}{DIM:#}  {PERSON}{prompt}{PERSON:#}{REMOVED}{doubt}{REMOVED:#}",
                self.instant(version.time),
                origin(version),
                size
            )?;
        }
        Ok(())
    }

    /// Returns sentences that say how certain recovered contents are.
    pub fn certainty(&self, recovered: &Recovered) -> Vec<String> {
        let mut lines = vec![format!(
            "{} as of {}, session {}{}",
            self.shown(&recovered.path),
            self.instant(recovered.since),
            short_id(&recovered.session),
            if recovered.doubts.is_empty() { ": every byte is recorded" } else { ": NOT certain" }
        )];
        if let Some(deleted) = recovered.deleted {
            lines.push(format!("it was deleted or renamed at {}", self.instant(deleted)));
        }
        let hidden = recovered.doubts.len().saturating_sub(DOUBTS_SHOWN);
        if hidden > 0 {
            lines.push(format!("{hidden} earlier doubts are not shown"));
        }
        lines.extend(recovered.doubts.iter().skip(hidden).map(|doubt| self.doubt(doubt)));
        let is_partial = !recovered.doubts.iter().any(|doubt| matches!(doubt, Uncertain::ChangedLater { .. }));
        if !recovered.doubts.is_empty() && is_partial {
            lines.push(match recovered.certain.as_slice() {
                [] => "no line is certain".to_string(),
                certain => format!("lines {} are certain, the others are not", ranges(certain)),
            });
        }
        lines
    }

    fn doubt(&self, doubt: &Uncertain) -> String {
        let when = |time: i64| self.instant(time);
        match doubt {
            Uncertain::NotApplied { time, session } => {
                format!("the change at {} (session {}) could not be applied", when(*time), short_id(session))
            }
            Uncertain::Unrecorded { time, session, command } => {
                let id = short_id(session);
                let shown = command.as_ref().map(|command| format!(": {}", cut(&command.line(), COMMAND_WIDTH)));
                let shown = shown.unwrap_or_default();
                format!("a command at {} (session {id}) made a change that is not recorded{shown}", when(*time))
            }
            Uncertain::Possible { time, session, cause } => {
                let place = format!("at {} (session {})", when(*time), short_id(session));
                match cause {
                    Cause::Command(command) => {
                        format!("a command {place} may have changed it: {}", cut(&command.line(), COMMAND_WIDTH))
                    }
                    Cause::Noticed => format!("Claude Code noticed {place} that it had been changed"),
                    Cause::Rewound => format!("the conversation was rewound {place}, which may have undone an edit"),
                }
            }
            Uncertain::ChangedOutside { after, before } => {
                let after = after.map(|after| format!("after {} and ", when(after))).unwrap_or_default();
                format!("an unrecorded change was made {after}before {}", when(*before))
            }
            Uncertain::ChangedLater { found, same } => {
                let certain =
                    if same.is_empty() { String::new() } else { format!("; lines {} are certain", ranges(same)) };
                format!("an unrecorded change was made before {}{certain}", when(*found))
            }
            Uncertain::Unknown { from, to } => format!("lines {from}-{to} are not recorded"),
        }
    }

    /// Formats a time to the second, in the user's time zone.
    pub(in crate::render) fn instant(&self, time: i64) -> String {
        let zoned = jiff::Timestamp::from_millisecond(time).map(|time| time.to_zoned(self.zone.clone()));
        zoned.map(|time| time.strftime("%Y-%m-%d %H:%M:%S").to_string()).unwrap_or_default()
    }

    /// Shows actions on files, grouped by file, session and prompt, newest first.
    pub fn actions(&self, out: &mut dyn Write, files: &[FileActions]) -> io::Result<()> {
        for (at, file) in files.iter().enumerate() {
            if at > 0 {
                writeln!(out)?;
            }
            let summary = summary_of(&file.actions);
            let path = self.shown(&file.path);
            let fits = path.width() + 2 + summary.width() <= self.width;
            let between = if fits { "  " } else { "\n  " };
            writeln!(out, "{TITLE}{path}{TITLE:#}{between}{DIM}{summary}{DIM:#}")?;
            let mut before: Option<&Action> = None;
            for action in &file.actions {
                let same_session = before.is_some_and(|before| before.session.id == action.session.id);
                if !same_session {
                    writeln!(out)?;
                    self.session_line(out, &action.session)?;
                }
                if !(same_session && before.is_some_and(|before| before.prompt == action.prompt)) {
                    self.prompt_line(out, action)?;
                }
                self.action_line(out, action)?;
                patch(out, &action.change)?;
                before = Some(action);
            }
        }
        Ok(())
    }

    pub(in crate::render) fn prompt_line(&self, out: &mut dyn Write, action: &Action) -> io::Result<()> {
        match &action.prompt {
            Some(prompt) => {
                let prompt = cut(&prompt.line(), self.width.saturating_sub(4));
                writeln!(out, "  {PERSON}> {prompt}{PERSON:#}")
            }
            None => Ok(()),
        }
    }

    fn action_line(&self, out: &mut dyn Write, action: &Action) -> io::Result<()> {
        let when = pad(&action.time.map(|time| self.moment(time)).unwrap_or_default(), 12);
        let (added, removed) = (signed(action.added, '+'), signed(action.removed, '-'));
        let tool = cut(&line_of(&action.tool), 24);
        write!(
            out,
            "    {DIM}{when}{DIM:#}  {:<9}  {ADDED}{added:>5}{ADDED:#} {REMOVED}{removed:>5}{REMOVED:#}  {TOOL}{tool}{TOOL:#}",
            action.what.name()
        )?;
        let notes = self.notes(action);
        let room = self.width.saturating_sub(46 + tool.chars().count()).max(20);
        if notes.is_empty() { writeln!(out) } else { writeln!(out, "  {DIM}{}{DIM:#}", cut(&notes, room)) }
    }

    fn notes(&self, action: &Action) -> String {
        let mut notes = Vec::new();
        if let Some(other) = &action.other {
            let other = self.shown(other);
            notes.push(if action.what == FileAction::Rename {
                format!("⇄ {other}")
            } else {
                format!("from {other}")
            });
        }
        if action.inferred {
            notes.push("inferred".to_string());
        }
        if action.unconfirmed {
            notes.push("unconfirmed: no result recorded".to_string());
        }
        if action.agent.is_some() {
            let title = line_of(&action.agent_title);
            notes.push(if title.is_empty() { "agent".to_string() } else { format!("agent: {}", cut(&title, 30)) });
        }
        if !action.also_in.is_empty() {
            let ids: Vec<String> =
                action.also_in.iter().take(3).map(|id| id.line().chars().take(8).collect()).collect();
            notes.push(format!("also in {}{}", ids.join(", "), if action.also_in.len() > 3 { ", …" } else { "" }));
        }
        notes.join(" · ")
    }

    pub(in crate::render) fn shown(&self, path: &Untrusted) -> String {
        self.path(std::path::Path::new(path.raw()))
    }
}

/// Formats up to 12 ranges of lines, such as `1-3, 7`.
fn ranges(ranges: &[(usize, usize)]) -> String {
    let shown =
        ranges.iter().take(12).map(|(from, to)| if from == to { from.to_string() } else { format!("{from}-{to}") });
    let dots = if ranges.len() > 12 { ", …" } else { "" };
    format!("{}{dots}", shown.collect::<Vec<_>>().join(", "))
}

fn summary_of(actions: &[Action]) -> String {
    let is_change = |action: &&Action| !matches!(action.what, FileAction::Read | FileAction::Mention);
    let mut sessions: Vec<&str> = actions.iter().map(|action| action.session.id.raw()).collect();
    sessions.sort_unstable();
    sessions.dedup();
    let mut parts = Vec::new();
    for (number, noun) in [
        (actions.iter().filter(is_change).count(), "change"),
        (actions.iter().filter(|action| action.what == FileAction::Read).count(), "read"),
        (actions.iter().filter(|action| action.what == FileAction::Mention).count(), "mention"),
    ] {
        if number > 0 {
            parts.push(count(number, noun));
        }
    }
    format!("{} in {}", parts.join(", "), count(sessions.len(), "session"))
}
