//! Claude Code's own tags around and beside what is said: what stands between them, and what is left.
//!
//! A tag counts only where Claude Code puts it: a reminder or a note of the editor before or behind the words, the tags
//! of a command around them. A tag that somebody mentions, or that a program prints, is text like any other.

use crate::document::ansi::strip_ansi;

/// What Claude Code tells the model on the side.
pub(super) const REMINDER: &str = "system-reminder";
/// What stands beside a prompt.
pub(super) const BESIDE: [&str; 3] = [REMINDER, "ide_opened_file", "ide_selection"];
/// The parts of a command.
const COMMAND: [&str; 3] = ["command-name", "command-message", "command-args"];
/// What a command printed.
const OUTPUT: [&str; 4] = ["local-command-stdout", "local-command-stderr", "bash-stdout", "bash-stderr"];
/// A message of another agent.
const PEER: [&str; 2] = ["teammate-message", "cross-session-message"];
/// A notification.
const MACHINE: [&str; 4] = ["task-notification", "agent-notification", "bash-notification", "local-command-caveat"];
/// The parts of a notification.
const NOTED: [&str; 14] = [
    "task-id",
    "tool-use-id",
    "task-type",
    "output-file",
    "status",
    "summary",
    "result",
    "usage",
    "subagent_tokens",
    "total_tokens",
    "tool_uses",
    "duration_ms",
    "note",
    "event",
];
/// How a marker begins that the user stopped the model.
const INTERRUPTED: &str = "[Request interrupted";

/// A text, and the blocks that Claude Code put before and behind it.
#[derive(Debug, PartialEq)]
pub(super) struct Parted<'t> {
    /// The text without them.
    pub words: &'t str,
    /// Each block by its tag, with what is in it.
    pub beside: Vec<(&'static str, &'t str)>,
}

/// Parts a text from the blocks before and behind it.
pub(super) fn parted<'t>(text: &'t str, tags: &[&'static str]) -> Parted<'t> {
    let mut parted = Parted { words: text, beside: Vec::new() };
    while let Some((tag, inner, rest)) = tags.iter().find_map(|tag| leading(parted.words, tag)) {
        parted.beside.push((tag, inner.trim()));
        parted.words = rest;
    }
    let before = parted.beside.len();
    while let Some((tag, inner, rest)) = tags.iter().find_map(|tag| trailing(parted.words, tag)) {
        parted.beside.push((tag, inner.trim()));
        parted.words = rest;
    }
    parted.beside[before..].reverse();
    parted
}

/// The block a text begins with. What the editor tells may have the prompt behind it on its line; what begins with a
/// reminder and goes on is somebody's question about it.
fn leading<'t>(text: &'t str, tag: &'static str) -> Option<(&'static str, &'t str, &'t str)> {
    let body = text.trim_start().strip_prefix('<')?.strip_prefix(tag)?.strip_prefix('>')?;
    let (inner, rest) = body.split_once(&*format!("</{tag}>"))?;
    let is_alone = rest.lines().next().is_none_or(|line| line.trim().is_empty());
    (is_alone || tag != REMINDER).then(|| (tag, inner, rest.trim_start_matches(['\n', '\r'])))
}

/// The block a text ends with; it begins a line.
fn trailing<'t>(text: &'t str, tag: &'static str) -> Option<(&'static str, &'t str, &'t str)> {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let body = text.trim_end().strip_suffix(&*close)?;
    let begins_line = |at: &usize| body[..*at].trim_end_matches([' ', '\t']).ends_with('\n');
    let at = body.rmatch_indices(&*open).map(|(at, _)| at).find(begins_line)?;
    let inner = &body[at + open.len()..];
    (!inner.contains(&*close))
        .then(|| (tag, inner, body[..at].trim_end_matches([' ', '\t']).trim_end_matches(['\n', '\r'])))
}

/// The file that a note of the editor is about.
pub(super) fn named_file(note: &str) -> Option<&str> {
    let line = note.lines().next()?;
    if let Some(opened) = line.strip_prefix("The user opened the file ") {
        return opened.split_once(" in the IDE").map(|(file, _)| file);
    }
    let (_, file) = line.strip_prefix("The user selected the lines ")?.split_once(" from ")?;
    Some(file.trim_end_matches(':'))
}

/// What a text between tags is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Markup {
    /// A slash command or a `!` command the user typed.
    Command,
    /// What such a command printed.
    Output,
    /// A message of another agent.
    Peer,
    /// A notification by Claude Code itself.
    Machine,
}

/// Says what a text that begins with Claude Code's own tags is; gives what is inside, and what follows.
pub(super) fn markup(text: &str) -> Option<(Markup, String, &str)> {
    let text = text.trim_start();
    if let Some((words, rest)) = command(text) {
        return Some((Markup::Command, words, rest));
    }
    if let Some((words, rest)) = output(text) {
        return Some((Markup::Output, words, rest));
    }
    if text.starts_with(INTERRUPTED) {
        let end = text.find(']').map_or(text.len(), |end| end + 1);
        return Some((Markup::Machine, text[..end].to_string(), &text[end..]));
    }
    let begins = |tags: &[&str]| tags.iter().any(|tag| after_name(text, tag).is_some());
    if begins(&PEER) {
        return Some((Markup::Peer, without_tags(text, &PEER).trim().to_string(), ""));
    }
    if begins(&MACHINE) {
        let words = without_tags(&without_tags(text, &MACHINE), &NOTED);
        return Some((Markup::Machine, words.trim().to_string(), ""));
    }
    None
}

/// A command with its arguments, and what follows it.
fn command(text: &str) -> Option<(String, &str)> {
    if let Some((inner, rest)) = block(text, "bash-input") {
        return Some((format!("! {}", inner.trim()), rest));
    }
    let ([name, message, arguments], rest) = command_parts(text);
    let name = name.or(message)?;
    Some((format!("{name} {}", arguments.unwrap_or_default()).trim().to_string(), rest))
}

/// What Claude Code announced when a command was given, if that is more than its name.
pub(super) fn announced(text: &str) -> Option<&str> {
    let ([name, message, _], _) = command_parts(text);
    let is_more =
        |message: &&str| name.is_some_and(|name| name.trim_start_matches('/') != message.trim_start_matches('/'));
    message.filter(|message| !message.is_empty()).filter(is_more)
}

fn command_parts(text: &str) -> ([Option<&str>; COMMAND.len()], &str) {
    let mut parts = [None; COMMAND.len()];
    let mut rest = text;
    // Each part once: what comes again is another command.
    while let Some((at, inner, behind)) = (0..parts.len())
        .filter(|at| parts[*at].is_none())
        .find_map(|at| block(rest, COMMAND[at]).map(|(inner, behind)| (at, inner, behind)))
    {
        parts[at] = Some(inner.trim());
        rest = behind;
    }
    (parts, rest)
}

/// All that was printed, and what follows it. Output that was cut has no end.
fn output(text: &str) -> Option<(String, &str)> {
    let mut parts: Vec<&str> = Vec::new();
    let mut rest = text;
    let cut = |text| OUTPUT.iter().find_map(|tag| Some((after_name(text, tag)?.split_once('>')?.1, "")));
    while let Some((inner, behind)) = OUTPUT.iter().find_map(|tag| block(rest, tag)).or_else(|| cut(rest)) {
        parts.push(inner.trim());
        rest = behind;
    }
    if parts.is_empty() {
        return None;
    }
    parts.retain(|part| !part.is_empty());
    Some((strip_ansi(&parts.join("\n")).trim().to_string(), rest))
}

/// What is in the block a text begins with, and what follows it. The closing tag is one with nothing glued to it, if
/// there is such a one: what is inside may mention it.
fn block<'t>(text: &'t str, tag: &str) -> Option<(&'t str, &'t str)> {
    let (_, body) = after_name(text.trim_start(), tag)?.split_once('>')?;
    let close = format!("</{tag}>");
    let ends = |at: &usize| {
        let behind = body[at + close.len()..].chars().next();
        behind.is_none_or(|c| c.is_whitespace() || c == '<')
    };
    let at = body.match_indices(&*close).map(|(at, _)| at).find(ends).or_else(|| body.find(&*close))?;
    Some((&body[..at], &body[at + close.len()..]))
}

/// What follows the name of the tag a text begins with: its attributes, if any, and its end.
fn after_name<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    text.strip_prefix('<')?.strip_prefix(tag).filter(|rest| rest.starts_with(['>', ' ']))
}

/// Longer ones are no tags.
const TAG_CAP: usize = 2000;

/// Puts a blank in place of each of these tags. Attributes stay: they say who speaks, and of what.
fn without_tags(text: &str, tags: &[&str]) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        let closed = tags.iter().find_map(|tag| rest.strip_prefix("</")?.strip_prefix(tag)?.strip_prefix('>'));
        let opened = tags.iter().find_map(|tag| {
            let near = after_name(rest, tag)?;
            let end = near[..near.floor_char_boundary(TAG_CAP)].find('>')?;
            Some((&near[..end], &near[end + 1..]))
        });
        let (words, behind) = match (closed, opened) {
            (Some(behind), _) => (" ", behind),
            (None, Some(("", behind))) => (" ", behind),
            (None, Some((attributes, behind))) => {
                kept.push_str(attributes);
                (" ", behind)
            }
            (None, None) => rest.split_at(1),
        };
        kept.push_str(words);
        rest = behind;
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_before_and_behind_is_beside() {
        let whole = |text: &str| assert_eq!(parted(text, &BESIDE), Parted { words: text, beside: Vec::new() });
        for tag in BESIDE {
            whole(&format!("I see <{tag}> in my output, why? Please fix X"));
            whole(&format!("<{tag}> is all I see"));
            whole(&format!("why does `<{tag}>x</{tag}>` stand here?"));
            whole(&format!("the <{tag}> tag\nand much later </{tag}>"));
            whole(&format!("the <{tag}> tag\nand much later </{tag}> and more"));
            whole(&format!("a\n<{tag}>\nb\n</{tag}>\nc"));
            whole(&format!("</{tag}>"));
        }
        whole("<system-reminder>x</system-reminder> what is that?");
    }

    #[test]
    fn what_is_beside_is_parted() {
        for (text, words, beside) in [
            ("<ide_opened_file>/a</ide_opened_file>\nfix it", "fix it", &[("ide_opened_file", "/a")][..]),
            ("<ide_selection>x</ide_selection> fix it", " fix it", &[("ide_selection", "x")]),
            ("a\n\n<system-reminder>\nb\n</system-reminder>\n", "a", &[("system-reminder", "b")]),
            (
                "<ide_selection>x</ide_selection>\nfix <b>\n<system-reminder>1</system-reminder>\n<system-reminder>2</system-reminder>",
                "fix <b>",
                &[("ide_selection", "x"), ("system-reminder", "1"), ("system-reminder", "2")],
            ),
            (
                "see <system-reminder> here\n<system-reminder>of <system-reminder></system-reminder>",
                "see <system-reminder> here",
                &[("system-reminder", "of <system-reminder>")],
            ),
        ] {
            assert_eq!(parted(text, &BESIDE), Parted { words, beside: beside.to_vec() }, "{text}");
        }
    }

    #[test]
    fn notes_of_the_editor_name_their_file() {
        for (note, file) in [
            ("The user opened the file /a b/c.rs in the IDE. This may or may not be related.", Some("/a b/c.rs")),
            ("The user selected the lines 9 to 12 from D:\\x\\y.md:\nfoo from bar", Some("D:\\x\\y.md")),
            ("something new", None),
        ] {
            assert_eq!(named_file(note), file, "{note}");
        }
    }

    #[test]
    fn what_a_command_announces_is_more_than_its_name() {
        for (message, expected) in
            [("init", None), ("/init", None), ("", None), ("init is reading…", Some("init is reading…"))]
        {
            let text = format!("<command-message>{message}</command-message>\n<command-name>/init</command-name>");
            assert_eq!(announced(&text), expected, "{message}");
        }
        assert_eq!(announced("<command-message>alone</command-message>"), None);
        assert_eq!(announced("plain"), None);
    }

    #[test]
    fn markup_is_told_apart() {
        for (text, expected) in [
            (
                "<command-name>/model</command-name>\n<command-message>model</command-message>\n<command-args>opus</command-args>",
                "Command /model opus|",
            ),
            ("<command-name>/x</command-name><command-args>a</command-args>\nmore words", "Command /x a|\nmore words"),
            (
                "<command-name>/x</command-name><command-name>/y</command-name>",
                "Command /x|<command-name>/y</command-name>",
            ),
            ("<bash-input>ls -l</bash-input>", "Command ! ls -l|"),
            (
                "<bash-input>ls</bash-input><bash-stdout>a.rs</bash-stdout>",
                "Command ! ls|<bash-stdout>a.rs</bash-stdout>",
            ),
            ("<local-command-stdout>Set \u{1b}[1mx\u{1b}[0m</local-command-stdout>", "Output Set x|"),
            (
                "<bash-stdout>self = <test.Test object at 0x109>\n<div class=\"x\"></bash-stdout><bash-stderr>bad</bash-stderr>",
                "Output self = <test.Test object at 0x109>\n<div class=\"x\">\nbad|",
            ),
            ("<bash-stdout>`</bash-stdout>` is</bash-stdout>\nfix it", "Output `</bash-stdout>` is|\nfix it"),
            ("<bash-stdout>cut <p>", "Output cut <p>|"),
            (
                "<task-notification><task-id>7</task-id> made <p class=\"x\"></task-notification>\nseen",
                "Machine 7  made <p class=\"x\"> \nseen|",
            ),
            (
                "<teammate-message teammate_id=\"lead\">look at <Foo bar></teammate-message>",
                "Peer teammate_id=\"lead\" look at <Foo bar>|",
            ),
            ("[Request interrupted by user]", "Machine [Request interrupted by user]|"),
            (
                "[Request interrupted by user for tool use]\nno, the other",
                "Machine [Request interrupted by user for tool use]|\nno, the other",
            ),
        ] {
            let found = markup(text).map(|(kind, words, rest)| format!("{kind:?} {words}|{rest}"));
            assert_eq!(found.as_deref(), Some(expected), "{text}");
        }
        for text in
            ["plain <b>prompt</b>", "<command-name> is what I see", "<bash-input>", "<command-args>x</command-args>"]
        {
            assert_eq!(markup(text), None, "{text}");
        }
    }
}
