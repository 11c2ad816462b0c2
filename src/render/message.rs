//! Prepares messages and tool calls for display in any format: shortens home folders and parses tool arguments.

use std::borrow::Cow;

use crate::archive::conversation::{Agent, Message};
use crate::document::{Kind, Role};
use crate::transcript::{Action, action};

/// Folders shown as `~`: the user's home folder and the session's.
#[derive(Clone, Debug, Default)]
pub struct Homes(pub Vec<String>);

impl Homes {
    /// Returns the text with every home folder replaced by `~`.
    pub fn shorten<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.0.iter().fold(Cow::Borrowed(text), |text, home| {
            if text.contains(home.as_str()) { Cow::Owned(shortened(&text, home)) } else { text }
        })
    }
}

/// Replaces `home` with `~`, except where it is part of a longer name.
fn shortened(text: &str, home: &str) -> String {
    let mut short = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(home) {
        let (before, found) = rest.split_at(at);
        let after = &found[home.len()..];
        let continues = after.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == '.');
        let is_inside = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        short.push_str(before);
        short.push_str(if continues || is_inside { home } else { "~" });
        rest = after;
    }
    short.push_str(rest);
    short
}

/// A tool call, ready for display.
#[derive(Debug)]
pub(super) struct Call<'m> {
    pub(super) tool: String,
    /// A one-line summary.
    pub(super) summary: String,
    pub(super) body: Body,
    pub(super) result: Option<Outcome<'m>>,
    pub(super) agent: Option<Agent>,
}

/// The arguments of a tool call, ready for display.
#[derive(Debug)]
pub(super) enum Body {
    Nothing,
    /// A command, or the raw arguments.
    Text(String),
    /// Changed parts of a file, each before and after.
    Changes(Vec<(String, String)>),
    /// Prose: a plan, or the prompt of a subagent.
    Prose(String),
}

/// The result of a tool call.
#[derive(Debug)]
pub(super) struct Outcome<'m> {
    pub(super) failed: bool,
    pub(super) text: Cow<'m, str>,
}

impl Call<'_> {
    /// Returns the call without its borrows.
    pub(super) fn into_owned(self) -> Call<'static> {
        let owned = |result: Outcome<'_>| Outcome { failed: result.failed, text: Cow::Owned(result.text.into_owned()) };
        Call {
            tool: self.tool,
            summary: self.summary,
            body: self.body,
            result: self.result.map(owned),
            agent: self.agent,
        }
    }
}

impl Outcome<'_> {
    /// Returns a one-line summary of the result.
    pub(super) fn gist(&self) -> String {
        let lines = self.text.trim().lines().count();
        let has_words = |line: &&str| line.chars().any(char::is_alphanumeric);
        let first = self.text.lines().map(str::trim).find(has_words).unwrap_or_default();
        match (self.failed, lines) {
            (true, _) => format!("failed: {first}"),
            (false, 0) => "no output".to_string(),
            (false, 1) => first.to_string(),
            (false, lines) => format!("{lines} lines: {first}"),
        }
    }
}

/// Prepares a tool call for display.
pub(super) fn call<'m>(homes: &Homes, call: &Message, result: Option<&'m Message>, agent: Option<&Agent>) -> Call<'m> {
    let tool = call.tool.clone().unwrap_or_else(|| "tool".to_string());
    let input = call.input.as_deref().map(|input| homes.shorten(input).into_owned());
    let parsed = match &input {
        Some(input) => action(&tool, input),
        None => Action::Other { summary: homes.shorten(&call.text).into_owned() },
    };
    let (summary, body) = match parsed {
        Action::Run { command } => (command.clone(), Body::Text(command)),
        Action::Edit { path, changes } => (relative(homes, &path, call), Body::Changes(changes)),
        Action::Write { path, content } => {
            (relative(homes, &path, call), Body::Changes(vec![(String::new(), content)]))
        }
        Action::Send { title, prompt } => (title, Body::Prose(prompt)),
        Action::Plan { text } => (text.lines().next().unwrap_or_default().to_string(), Body::Prose(text)),
        Action::Other { summary } => {
            let is_all = input.as_deref().is_none_or(|input| input == summary || members(input) < 2);
            (
                relative(homes, &summary, call),
                if is_all { Body::Nothing } else { Body::Text(pretty(input.as_deref().unwrap_or_default())) },
            )
        }
    };
    let result = result.map(|result| Outcome { failed: result.error, text: homes.shorten(&result.text) });
    Call { tool, summary, body, result, agent: agent.cloned() }
}

/// Returns a path relative to the folder or project of the session, if it is inside one of them.
fn relative(homes: &Homes, path: &str, call: &Message) -> String {
    // The home folder in `path` is already shortened, so these must be too.
    let folders = [&call.cwd, &call.project].into_iter().flatten().map(|folder| homes.shorten(folder));
    let inside = folders.filter_map(|folder| path.strip_prefix(&*folder)?.strip_prefix(['/', '\\'])).next();
    inside.filter(|rest| !rest.is_empty()).unwrap_or(path).to_string()
}

/// Returns the number of arguments. Input that is not an object counts as 2, so that it is shown in full.
fn members(input: &str) -> usize {
    serde_json::from_str::<serde_json::Value>(input)
        .ok()
        .and_then(|value| value.as_object().map(|all| all.len()))
        .unwrap_or(2)
}

/// Returns JSON indented over several lines, or the input unchanged if it is not JSON.
fn pretty(input: &str) -> String {
    let value = serde_json::from_str::<serde_json::Value>(input);
    value.ok().and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or_else(|| input.to_string())
}

/// Returns a short name for the speaker.
pub(super) fn who(document: &Message) -> &'static str {
    match (document.role, document.kind) {
        (_, Kind::Compaction) => "summary",
        (_, Kind::Recap) => "recap",
        (_, Kind::Output) => "output",
        (_, Kind::ToolResult) => "result",
        (_, Kind::Link) => "link",
        (_, Kind::Bad | Kind::Oversized) => "bad line",
        (Role::Human, _) => "you",
        (Role::Programmatic, _) => "program",
        (Role::Assistant, _) => "claude",
        (Role::Subagent, _) => "agent",
        (Role::Tool, _) => "tool",
        (Role::Meta, _) => "claude code",
    }
}

/// Reports whether a message is Claude Code's notice that the user interrupted it. Other notices are hidden by default.
pub(super) fn is_interruption(document: &Message) -> bool {
    document.kind == Kind::Notice && document.text.starts_with("[Request interrupted")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_are_shortened_as_whole_names() {
        let homes = Homes(vec!["/home/dana".to_string()]);
        for (text, short) in [
            ("/home/dana/x.rs", "~/x.rs"),
            ("cd /home/dana && ls", "cd ~ && ls"),
            ("/home/danas/x", "/home/danas/x"),
            ("\"/home/dana\"", "\"~\""),
            ("/mnt/home/dana/x", "/mnt/home/dana/x"),
        ] {
            assert_eq!(homes.shorten(text), short);
        }
    }
}
