//! The history of a file, for people and for programs.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use super::json::{self, SCHEMA};
use super::text::{DIM, PERSON, Screen, TITLE, TOOL, count, cut, pad};
use crate::history::{Action, FileActions, What};
use crate::untrusted::Untrusted;

const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();

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
}

/// Writes a line of JSON for each action.
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
        timestamp: action.time.map(json::timestamp),
        added: action.added,
        removed: action.removed,
        prompt: raw(&action.prompt),
        inferred: action.inferred,
        unconfirmed: action.unconfirmed,
        title: action.session.title.raw(),
        project: action.session.project.raw(),
        source_missing: action.session.gone,
    }
}

/// Writes actions for a pipe: time, action, lines added and removed, tool, session, file, prompt, with tabs between.
pub fn actions_plain(out: &mut dyn Write, files: &[FileActions]) -> io::Result<()> {
    for action in files.iter().flat_map(|file| &file.actions) {
        let fields = [
            action.time.map(json::timestamp).unwrap_or_default(),
            action.what.name().to_string(),
            signed(action.added, '+'),
            signed(action.removed, '-'),
            line_of(&action.tool),
            action.session.id.line(),
            action.path.line(),
            line_of(&action.prompt),
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

impl Screen {
    /// Shows what was done with files: by file, by session, by prompt, the newest first. After each action comes
    /// whatever `details` writes.
    pub fn actions(
        &self,
        out: &mut dyn Write,
        files: &[FileActions],
        details: &mut dyn FnMut(&mut dyn Write, usize, usize) -> io::Result<()>,
    ) -> io::Result<()> {
        for (at, file) in files.iter().enumerate() {
            if at > 0 {
                writeln!(out)?;
            }
            let summary = summary_of(&file.actions);
            writeln!(out, "{TITLE}{}{TITLE:#}  {DIM}{summary}{DIM:#}", self.shown(&file.path))?;
            let mut before: Option<&Action> = None;
            for (index, action) in file.actions.iter().enumerate() {
                let same_session = before.is_some_and(|before| before.session.id == action.session.id);
                if !same_session {
                    writeln!(out)?;
                    self.session_line(out, &action.session)?;
                }
                if !(same_session && before.is_some_and(|before| before.prompt == action.prompt)) {
                    self.prompt_line(out, action)?;
                }
                self.action_line(out, action)?;
                details(out, at, index)?;
                before = Some(action);
            }
        }
        Ok(())
    }

    pub(super) fn prompt_line(&self, out: &mut dyn Write, action: &Action) -> io::Result<()> {
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
            notes.push(if action.what == What::Rename { format!("⇄ {other}") } else { format!("from {other}") });
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

    fn shown(&self, path: &Untrusted) -> String {
        self.path(std::path::Path::new(path.raw()))
    }
}

fn summary_of(actions: &[Action]) -> String {
    let is_change = |action: &&Action| !matches!(action.what, What::Read | What::Mention);
    let mut sessions: Vec<&str> = actions.iter().map(|action| action.session.id.raw()).collect();
    sessions.sort_unstable();
    sessions.dedup();
    let mut parts = Vec::new();
    for (number, noun) in [
        (actions.iter().filter(is_change).count(), "change"),
        (actions.iter().filter(|action| action.what == What::Read).count(), "read"),
        (actions.iter().filter(|action| action.what == What::Mention).count(), "mention"),
    ] {
        if number > 0 {
            parts.push(count(number, noun));
        }
    }
    format!("{} in {}", parts.join(", "), count(sessions.len(), "session"))
}
