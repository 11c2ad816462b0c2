//! A piece of a conversation made ready to be shown, whatever it is shown on: homes shortened, arguments understood.

use std::borrow::Cow;

use crate::archive::conversation::{Agent, Message};
use crate::document::{Kind, Role};
use crate::transcript::{Action, action};

/// Folders to show as `~`: the user's home, and that of the session.
#[derive(Clone, Debug, Default)]
pub struct Homes(pub Vec<String>);

impl Homes {
    /// Returns a text with homes shortened.
    pub fn shorten<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.0.iter().fold(Cow::Borrowed(text), |text, home| {
            if text.contains(home.as_str()) { Cow::Owned(shortened(&text, home)) } else { text }
        })
    }
}

/// Puts `~` in place of a folder wherever its name does not go on.
fn shortened(text: &str, home: &str) -> String {
    let mut short = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(home) {
        let (before, found) = rest.split_at(at);
        let after = &found[home.len()..];
        let goes_on = after.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == '.');
        let is_inside = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        short.push_str(before);
        short.push_str(if goes_on || is_inside { home } else { "~" });
        rest = after;
    }
    short.push_str(rest);
    short
}

/// A call of a tool.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) tool: String,
    /// What it is about, in a line.
    pub(super) summary: String,
    pub(super) body: Body,
    pub(super) result: Option<Outcome>,
    pub(super) agent: Option<Agent>,
}

/// What a call carries.
#[derive(Debug)]
pub(super) enum Body {
    Nothing,
    /// A command, or arguments as they are.
    Text(String),
    /// Pieces of a file before and after.
    Changes(Vec<(String, String)>),
    /// Prose: a plan, the prompt of a subagent.
    Prose(String),
}

/// What a tool answered.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) failed: bool,
    pub(super) text: String,
}

impl Outcome {
    /// The answer in a few words.
    pub(super) fn gist(&self) -> String {
        let lines = self.text.trim().lines().count();
        let telling = |line: &&str| line.chars().any(char::is_alphanumeric);
        let first = self.text.lines().map(str::trim).find(telling).unwrap_or_default();
        match (self.failed, lines) {
            (true, _) => format!("failed: {first}"),
            (false, 0) => "nothing".to_string(),
            (false, 1) => first.to_string(),
            (false, lines) => format!("{lines} lines: {first}"),
        }
    }
}

/// Makes a call ready.
pub(super) fn call(homes: &Homes, call: &Message, result: Option<&Message>, agent: Option<&Agent>) -> Call {
    let tool = call.tool.clone().unwrap_or_else(|| "tool".to_string());
    let input = call.input.as_deref().map(|input| homes.shorten(input).into_owned());
    let doing = match &input {
        Some(input) => action(&tool, input),
        None => Action::Other { summary: homes.shorten(&call.text).into_owned() },
    };
    let (summary, body) = match doing {
        Action::Run { command } => (command.clone(), Body::Text(command)),
        Action::Edit { path, changes } => (near(homes, &path, call), Body::Changes(changes)),
        Action::Write { path, content } => (near(homes, &path, call), Body::Changes(vec![(String::new(), content)])),
        Action::Send { title, prompt } => (title, Body::Prose(prompt)),
        Action::Plan { text } => (text.lines().next().unwrap_or_default().to_string(), Body::Prose(text)),
        Action::Other { summary } => {
            let is_all = input.as_deref().is_none_or(|input| input == summary || members(input) < 2);
            (
                near(homes, &summary, call),
                if is_all { Body::Nothing } else { Body::Text(pretty(input.as_deref().unwrap_or_default())) },
            )
        }
    };
    let result = result.map(|result| Outcome { failed: result.error, text: homes.shorten(&result.text).into_owned() });
    Call { tool, summary, body, result, agent: agent.cloned() }
}

/// A path as seen from the folder the session was in.
fn near(homes: &Homes, path: &str, call: &Message) -> String {
    // The path has lost its home already.
    let folders = [&call.cwd, &call.project].into_iter().flatten().map(|folder| homes.shorten(folder));
    let inside = folders.filter_map(|folder| path.strip_prefix(&*folder)?.strip_prefix(['/', '\\'])).next();
    inside.filter(|rest| !rest.is_empty()).unwrap_or(path).to_string()
}

/// How many arguments there are.
fn members(input: &str) -> usize {
    serde_json::from_str::<serde_json::Value>(input)
        .ok()
        .and_then(|value| value.as_object().map(|all| all.len()))
        .unwrap_or(2)
}

/// JSON over several lines, to be read by people.
fn pretty(input: &str) -> String {
    let value = serde_json::from_str::<serde_json::Value>(input);
    value.ok().and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or_else(|| input.to_string())
}

/// Who speaks, in a word.
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

/// Whether a document is worth showing though Claude Code put it in: that somebody interrupted it.
pub(super) fn is_interruption(document: &Message) -> bool {
    document.kind == Kind::Notice && document.text.starts_with("[Request interrupted")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_are_shortened_where_they_end() {
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
