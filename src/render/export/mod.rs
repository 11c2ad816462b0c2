//! Exports a conversation to a file that can be shared: Markdown, HTML or JSON.

mod html;

use std::io::{self, Write};

use serde::Serialize;

use crate::archive::conversation::{Message, Piece, Turn};
use crate::archive::sessions::Session;
use crate::archive::timestamp;
use crate::document::{Kind, Role};
use crate::error::Result;
use crate::render::json::{SCHEMA, line};
use crate::render::message::{Body, Call, Homes, call, is_interruption, who};
use crate::render::terminal::conversation::Tools;
use crate::render::terminal::sessions::{marks, short};
use crate::render::terminal::style::{Screen, count, cut};
use crate::untrusted::{for_terminal, one_line};

/// The maximum width of a heading, in columns.
const HEADING: usize = 120;

/// The format of an export.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Form {
    /// Markdown.
    Markdown,
    /// One HTML page.
    Html,
    /// One JSON document.
    Json,
}

/// A conversation to export, and the options.
#[derive(Debug)]
pub struct Export<'a> {
    /// The time zone and other display settings.
    pub screen: &'a Screen,
    /// The session.
    pub session: &'a Session,
    /// Home folders to shorten.
    pub homes: Homes,
    /// The level of detail for tool calls.
    pub tools: Tools,
    /// The file format.
    pub form: Form,
}

/// A piece of the conversation, ready to be written.
pub(super) enum Entry {
    /// A message.
    Message { who: &'static str, markdown: bool, text: String, document: Message },
    /// A tool call.
    Call { call: Call<'static>, document: Message },
    /// A remark that is not part of the conversation.
    Remark(String),
}

impl Export<'_> {
    /// Writes a conversation.
    pub fn write(&self, out: &mut dyn Write, turns: impl Iterator<Item = Result<Turn>>) -> io::Result<()> {
        let entries = turns.filter_map(|turn| match turn {
            Ok(Turn { depth, piece }) => self.entry(piece).map(|entry| Ok((depth, entry))),
            Err(error) => Some(Err(io::Error::other(error))),
        });
        match self.form {
            Form::Markdown => self.markdown(out, entries),
            Form::Html => html::page(self, out, entries),
            Form::Json => self.json(out, entries),
        }
    }

    /// Returns a piece as an entry, or `None` if the export leaves it out.
    fn entry(&self, piece: Piece) -> Option<Entry> {
        match piece {
            Piece::Message(document) => self.message(document),
            Piece::ToolCall { call: document, result, agent } => {
                if self.tools == Tools::None {
                    return None;
                }
                let mut call = call(&self.homes, &document, result.as_ref(), agent.as_ref()).into_owned();
                if self.tools == Tools::Calls {
                    (call.body, call.result) = (Body::Nothing, None);
                }
                Some(Entry::Call { call, document })
            }
            Piece::FoldedSubagent { messages } => {
                Some(Entry::Remark(format!("subagent: {}", count(messages, "message"))))
            }
            Piece::Abandoned { messages, .. } => {
                Some(Entry::Remark(format!("abandoned branch: {}", count(messages, "message"))))
            }
            Piece::NewStart => Some(Entry::Remark("new conversation".to_string())),
            Piece::Earlier { .. } | Piece::Later { .. } => None,
        }
    }

    fn message(&self, document: Message) -> Option<Entry> {
        let text = for_terminal(&self.homes.shorten(&document.text)).trim_end().to_string();
        if is_interruption(&document) {
            return Some(Entry::Remark(text.trim_matches(['[', ']']).to_string()));
        }
        let is_result = matches!(document.kind, Kind::ToolResult | Kind::Output);
        if document.role == Role::Meta || (is_result && self.tools == Tools::None) {
            return None;
        }
        let markdown = matches!(document.kind, Kind::Text | Kind::Compaction | Kind::Recap);
        Some(Entry::Message { who: who(&document), markdown, text, document })
    }

    /// Returns the names and values shown above the conversation.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let session = self.session;
        let clean = |text: &str| one_line(&self.homes.shorten(text));
        let models: Vec<String> = session.models.iter().map(|model| model.line()).collect();
        let time = |time: Option<i64>| time.map(timestamp).unwrap_or_default();
        let mut facts = vec![
            ("session", session.id.line()),
            ("project", clean(session.project.raw())),
            ("branch", clean(session.branch.raw())),
            ("started", time(session.first)),
            ("ended", time(session.last)),
            ("models", models.join(", ")),
            ("prompts", session.prompts.to_string()),
            ("messages", session.messages.to_string()),
            ("tool calls", session.tool_uses.to_string()),
            ("tokens", short(session.all_tokens())),
            ("notes", marks(session).join(", ")),
        ];
        facts.retain(|(_, value)| !value.is_empty());
        facts
    }

    /// Returns the title, cut to the width of a heading.
    pub(super) fn heading(&self) -> String {
        cut(&self.title(), HEADING)
    }

    pub(super) fn title(&self) -> String {
        let title = one_line(&self.homes.shorten(self.session.title.raw()));
        if title.is_empty() { "(untitled)".to_string() } else { title }
    }

    /// Formats the day and time of a message.
    pub(super) fn when(&self, document: &Message) -> String {
        document
            .timestamp
            .map(|time| format!("{} {}", self.screen.day(time), self.screen.clock(time)))
            .unwrap_or_default()
    }

    fn markdown(
        &self,
        out: &mut dyn Write,
        entries: impl Iterator<Item = io::Result<(usize, Entry)>>,
    ) -> io::Result<()> {
        writeln!(out, "---")?;
        for (name, value) in self.facts() {
            writeln!(out, "{}: {}", name.replace(' ', "_"), serde_json::Value::String(value))?;
        }
        writeln!(out, "---\n\n# {}", self.heading())?;
        let mut before = String::new();
        for entry in entries {
            let (depth, entry) = entry?;
            match entry {
                Entry::Remark(text) => {
                    before.clear();
                    writeln!(out, "\n*{text}*")?;
                }
                Entry::Message { who, markdown, text, document } => {
                    self.markdown_head(out, &mut before, who, depth, &document)?;
                    match document.kind {
                        Kind::Thinking => details(out, "thinking", &quoted(&text))?,
                        Kind::ToolResult | Kind::Output => writeln!(out, "\n{}", fenced("", &text))?,
                        _ if markdown => writeln!(out, "\n{text}")?,
                        _ => writeln!(out, "\n{}", quoted(&text))?,
                    }
                }
                Entry::Call { call, document } => {
                    let speaker = if document.agent.is_some() { "agent" } else { "claude" };
                    self.markdown_head(out, &mut before, speaker, depth, &document)?;
                    markdown_call(out, &call)?;
                }
            }
        }
        Ok(())
    }

    /// Writes a heading if the speaker changes.
    fn markdown_head(
        &self,
        out: &mut dyn Write,
        before: &mut String,
        who: &str,
        depth: usize,
        document: &Message,
    ) -> io::Result<()> {
        let now = format!("{who}{depth}");
        if *before == now && !matches!(document.kind, Kind::Prompt | Kind::Queued | Kind::Command) {
            return Ok(());
        }
        *before = now;
        let mut name = who.to_string();
        name[..1].make_ascii_uppercase();
        writeln!(out, "\n{} {name} · {}", "#".repeat(2 + depth.min(3)), self.when(document))
    }

    fn json(&self, out: &mut dyn Write, entries: impl Iterator<Item = io::Result<(usize, Entry)>>) -> io::Result<()> {
        #[derive(Serialize)]
        struct Head<'a> {
            title: String,
            facts: std::collections::BTreeMap<&'a str, String>,
        }
        write!(out, "{{\"schema\":{SCHEMA},\"type\":\"export\",\"session\":")?;
        line(out, &Head { title: self.title(), facts: self.facts().into_iter().collect() })?;
        write!(out, ",\"messages\":[")?;
        let mut comma = "";
        for entry in entries {
            let (depth, entry) = entry?;
            write!(out, "{comma}\n ")?;
            comma = ",";
            line(out, &json_entry(depth, &entry))?;
        }
        writeln!(out, "]}}")
    }
}

#[derive(Serialize)]
struct ExportedMessage<'a> {
    r#type: &'static str,
    depth: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    who: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<&'a [(String, String)]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
}

fn json_entry(depth: usize, entry: &Entry) -> ExportedMessage<'_> {
    let blank = ExportedMessage {
        r#type: "note",
        depth,
        who: None,
        uuid: None,
        timestamp: None,
        kind: None,
        model: None,
        tool: None,
        text: "",
        changes: None,
        result: None,
        failed: false,
    };
    let time = |document: &'_ Message| document.timestamp.map(timestamp);
    match entry {
        Entry::Remark(text) => ExportedMessage { text, ..blank },
        Entry::Message { who, text, document, .. } => ExportedMessage {
            r#type: "message",
            who: Some(who),
            uuid: document.uuid.as_deref(),
            timestamp: time(document),
            kind: Some(document.kind.name()),
            model: document.model.as_deref(),
            text,
            failed: document.error,
            ..blank
        },
        Entry::Call { call, document } => {
            let (text, changes) = match &call.body {
                Body::Text(text) | Body::Prose(text) => (text.as_str(), None),
                Body::Changes(changes) => (call.summary.as_str(), Some(changes.as_slice())),
                Body::Nothing => (call.summary.as_str(), None),
            };
            ExportedMessage {
                r#type: "call",
                who: Some("claude"),
                uuid: document.uuid.as_deref(),
                timestamp: time(document),
                kind: Some(document.kind.name()),
                model: document.model.as_deref(),
                tool: Some(&call.tool),
                text,
                changes,
                result: call.result.as_ref().map(|result| result.text.as_ref()),
                failed: call.result.as_ref().is_some_and(|result| result.failed),
                ..blank
            }
        }
    }
}

fn markdown_call(out: &mut dyn Write, call: &Call<'_>) -> io::Result<()> {
    let mut inside = Vec::new();
    match &call.body {
        Body::Changes(changes) => inside.push(fenced("diff", &unified(changes))),
        Body::Text(text) => inside.push(fenced("", &for_terminal(text))),
        Body::Prose(text) => inside.push(quoted(&for_terminal(text))),
        Body::Nothing => {}
    }
    if let Some(result) = &call.result {
        let label = if result.failed { "failed:\n\n" } else { "" };
        inside.push(format!("{label}{}", fenced("", &for_terminal(&result.text))));
    }
    let summary = one_line(&call.summary);
    let summary: String = summary.chars().take(120).collect();
    let summary = format!("{} {summary}", one_line(&call.tool));
    if inside.is_empty() {
        writeln!(out, "\n- `{}`", summary.replace('`', "'"))
    } else {
        details(out, &summary, &inside.join("\n\n"))
    }
}

fn details(out: &mut dyn Write, summary: &str, inside: &str) -> io::Result<()> {
    writeln!(out, "\n<details><summary>{}</summary>\n\n{inside}\n\n</details>", html::escaped(summary))
}

/// Formats changes as in a unified diff.
pub(super) fn unified(changes: &[(String, String)]) -> String {
    let mut lines = Vec::new();
    for (old, new) in changes {
        for (mark, text) in crate::render::line_diff::diff(old, new) {
            lines.push(format!("{}{}", mark.sign(), for_terminal(text)));
        }
    }
    lines.join("\n")
}

fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("> {line}").trim_end().to_string()).collect::<Vec<_>>().join("\n")
}

/// Wraps code in fences longer than any fence inside it.
fn fenced(name: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{name}\n{}\n{fence}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_are_longer_than_those_inside() {
        assert_eq!(fenced("", "a"), "```\na\n```");
        assert_eq!(fenced("md", "```\nx\n```"), "````md\n```\nx\n```\n````");
    }
}
