//! Renders `blame` and `why`: the session that wrote each line of a file, as text or JSON.

use std::io::{self, Write};

use serde::Serialize;

use crate::archive::history::{Action, Blame, Story, Writer};
use crate::archive::timestamp;
use crate::render::json::{self, SCHEMA};
use crate::render::terminal::patch::patch;
use crate::render::terminal::style::{DIM, MODEL, PERSON, Screen, TITLE, cut, pad};
use crate::untrusted::{Untrusted, for_terminal};

#[derive(Serialize)]
struct BlameLine<'a> {
    schema: u32,
    r#type: &'static str,
    line: usize,
    text: &'a str,
    /// `session`, `before` or `outside`.
    writer: &'static str,
    session_id: Option<&'a str>,
    also_in: Vec<&'a str>,
    uuid: Option<&'a str>,
    action: Option<&'static str>,
    tool: Option<&'a str>,
    timestamp: Option<String>,
    prompt: Option<&'a str>,
    inferred: bool,
    changed_after: Option<String>,
    changed_before: Option<String>,
}

/// Writes one line of JSON for each of the lines `from` to `to`, counted from 1.
pub fn blame_json(out: &mut dyn Write, blame: &Blame, from: usize, to: usize) -> io::Result<()> {
    for (number, (text, writer)) in numbered(blame, from, to) {
        let action = action_of(blame, *writer);
        let (word, after, before) = match writer {
            Writer::Action(_) => ("session", None, None),
            Writer::Before => ("before", None, None),
            Writer::Outside { after, before } => ("outside", *after, *before),
        };
        json::line(
            out,
            &BlameLine {
                schema: SCHEMA,
                r#type: "line",
                line: number,
                text: text.raw(),
                writer: word,
                session_id: action.map(|action| action.session.id.raw()),
                also_in: action.map(|action| action.also_in.iter().map(Untrusted::raw).collect()).unwrap_or_default(),
                uuid: action.and_then(|action| action.uuid.as_ref()).map(Untrusted::raw),
                action: action.map(|action| action.what.name()),
                tool: action.and_then(|action| action.tool.as_ref()).map(Untrusted::raw),
                timestamp: action.and_then(|action| action.time).map(timestamp),
                prompt: action.and_then(|action| action.prompt.as_ref()).map(Untrusted::raw),
                inferred: action.is_some_and(|action| action.inferred),
                changed_after: after.map(timestamp),
                changed_before: before.map(timestamp),
            },
        )?;
    }
    Ok(())
}

fn numbered(blame: &Blame, from: usize, to: usize) -> impl Iterator<Item = (usize, &(Untrusted, Writer))> {
    let wanted = move |number: &usize| (from..=to).contains(number);
    blame.lines.iter().enumerate().map(|(at, line)| (at + 1, line)).filter(move |(number, _)| wanted(number))
}

fn action_of(blame: &Blame, writer: Writer) -> Option<&Action> {
    match writer {
        Writer::Action(at) => blame.actions.get(at),
        _ => None,
    }
}

impl Screen {
    /// Shows the lines `from` to `to` of a file, counted from 1, each with the session that wrote it.
    pub fn blame(&self, out: &mut dyn Write, blame: &Blame, from: usize, to: usize) -> io::Result<()> {
        let digits = blame.lines.len().to_string().len();
        // A third of the width for the prompt leaves enough for the code.
        let room = (self.width / 3).clamp(12, 44).saturating_sub(10);
        let mut last = None;
        for (number, (text, writer)) in numbered(blame, from, to) {
            let (id, when, prompt) = match action_of(blame, *writer) {
                Some(action) => {
                    let id: String = action.session.id.line().chars().take(8).collect();
                    let when = action.time.map(|time| self.moment(time)).unwrap_or_default();
                    (id, when, action.prompt.as_ref().map(Untrusted::line).unwrap_or_default())
                }
                None if *writer == Writer::Before => {
                    ("-".to_string(), String::new(), "no session wrote this".to_string())
                }
                None => ("~".to_string(), String::new(), "changed outside of sessions".to_string()),
            };
            // Consecutive lines by the same writer show the prompt once, like a heading.
            let prompt = if last == Some(*writer) { String::new() } else { cut(&prompt, room) };
            last = Some(*writer);
            write!(
                out,
                "{DIM}{}{DIM:#} {DIM}{}{DIM:#} {PERSON}{}{PERSON:#} ",
                pad(&id, 8),
                pad(&when, 12),
                pad(&prompt, room)
            )?;
            writeln!(out, "{DIM}{number:>digits$}){DIM:#} {}", for_terminal(text.raw()))?;
        }
        Ok(())
    }

    /// Shows the origin of a line: the prompt, the replies, the change and earlier versions of the line.
    pub fn story(&self, out: &mut dyn Write, story: &Story) -> io::Result<()> {
        writeln!(out, "{TITLE}{}:{}{TITLE:#}", self.shown(&story.path), story.number)?;
        writeln!(out, "  {}", for_terminal(story.text.raw()))?;
        let Some(action) = &story.action else {
            return writeln!(out, "\n{}", self.outside_origin(story.writer));
        };
        writeln!(out)?;
        self.session_line(out, &action.session)?;
        let tool = action.tool.as_ref().map(Untrusted::line).unwrap_or_default();
        let when = action.time.map(|time| self.instant(time)).unwrap_or_default();
        let inferred = if action.inferred { ", inferred from the command" } else { "" };
        writeln!(out, "  {DIM}{} with {tool}, {when}{inferred}{DIM:#}", action.what.name())?;
        if let Some(prompt) = &action.prompt {
            writeln!(out, "\n{PERSON}you{PERSON:#}")?;
            self.excerpt(out, prompt)?;
        }
        for reply in &story.said {
            writeln!(out, "\n{MODEL}claude{MODEL:#}")?;
            self.excerpt(out, reply)?;
        }
        if !story.change.is_empty() {
            writeln!(out)?;
            patch(out, &story.change)?;
        }
        if !story.earlier.is_empty() {
            writeln!(out, "\n{TITLE}earlier{TITLE:#}")?;
        }
        for (text, writer, action) in &story.earlier {
            let author = match action {
                Some(action) => {
                    let id: String = action.session.id.line().chars().take(8).collect();
                    let when = action.time.map(|time| self.moment(time)).unwrap_or_default();
                    format!("{id} {when}")
                }
                None => self.outside_origin(*writer),
            };
            writeln!(out, "  {}  {DIM}{author}{DIM:#}", for_terminal(text.raw()))?;
        }
        writeln!(out)?;
        let id = action.session.id.line();
        let message = action.uuid.as_ref().map(|uuid| format!(" --around {}", uuid.line())).unwrap_or_default();
        writeln!(out, "{DIM}read it:{DIM:#} unspool show {id}{message}")?;
        if action.session.gone {
            return writeln!(out, "{DIM}its transcript was deleted, so it cannot be resumed{DIM:#}");
        }
        let folder = story.cwd.as_ref().map(Untrusted::line).unwrap_or_default();
        writeln!(out, "{DIM}resume it:{DIM:#} cd {} && claude --resume {id}", quoted(&folder))
    }

    /// Describes the origin of a line that no session wrote.
    fn outside_origin(&self, writer: Writer) -> String {
        match writer {
            Writer::Action(_) => String::new(),
            Writer::Before => "no session wrote this: it was in the file before the first session saw it".to_string(),
            Writer::Outside { after, before } => {
                let after = after.map(|time| format!(" after {}", self.instant(time))).unwrap_or_default();
                let before = before.map(|time| format!(" before {}", self.instant(time))).unwrap_or_default();
                format!("changed outside of sessions{after}{before}")
            }
        }
    }

    /// Writes the first lines of a message.
    fn excerpt(&self, out: &mut dyn Write, text: &Untrusted) -> io::Result<()> {
        let shown = text.term();
        let mut lines = shown.trim().lines();
        for line in lines.by_ref().take(12) {
            writeln!(out, "  {}", cut(line, self.width.saturating_sub(2)))?;
        }
        if lines.next().is_some() { writeln!(out, "  {DIM}…{DIM:#}") } else { Ok(()) }
    }
}

/// Quotes a folder for a shell, if necessary.
fn quoted(folder: &str) -> String {
    let is_plain = folder.chars().all(|c| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '~' | ':'));
    if is_plain { folder.to_string() } else { format!("'{}'", folder.replace('\'', "'\\''")) }
}
