//! Parses the XML-like tags that Claude Code puts into messages, such as `<system-reminder>` or `<command-name>`.
//!
//! A tag counts only where Claude Code puts it: reminders and editor notes before or after the text, command tags
//! around it. A tag that a user mentions, or that a program prints, is ordinary text.

use crate::document::ansi::strip_ansi;

/// Tag of a note from Claude Code to the model.
pub(super) const REMINDER: &str = "system-reminder";
/// Tags of blocks that Claude Code adds before or after a prompt.
pub(super) const BESIDE: [&str; 3] = [REMINDER, "ide_opened_file", "ide_selection"];
/// Tags of the parts of a slash command.
const COMMAND: [&str; 3] = ["command-name", "command-message", "command-args"];
/// Tags around the output of a command.
const OUTPUT: [&str; 4] = ["local-command-stdout", "local-command-stderr", "bash-stdout", "bash-stderr"];
/// Tags around a message of another agent.
const PEER: [&str; 2] = ["teammate-message", "cross-session-message"];
/// Tags around a notification.
const MACHINE: [&str; 4] = ["task-notification", "agent-notification", "bash-notification", "local-command-caveat"];
/// Tags of the parts of a notification.
const NOTIFICATION_PARTS: [&str; 14] = [
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
/// Beginning of the marker that Claude Code inserts when the user stops the model.
const INTERRUPTED: &str = "[Request interrupted";

/// A text, separated from the blocks that Claude Code put before and after it.
#[derive(Debug, PartialEq)]
pub(super) struct Parted<'t> {
    /// The text without the blocks.
    pub words: &'t str,
    /// The tag and the contents of each block.
    pub beside: Vec<(&'static str, &'t str)>,
}

/// Separates a text from the blocks before and after it.
pub(super) fn parted<'t>(text: &'t str, tags: &[&'static str]) -> Parted<'t> {
    let mut parted = Parted { words: text, beside: Vec::new() };
    while let Some((tag, inner, rest)) = tags.iter().find_map(|tag| leading(parted.words, tag)) {
        parted.beside.push((tag, inner.trim()));
        parted.words = rest;
    }
    let leading_count = parted.beside.len();
    while let Some((tag, inner, rest)) = tags.iter().find_map(|tag| trailing(parted.words, tag)) {
        parted.beside.push((tag, inner.trim()));
        parted.words = rest;
    }
    // Trailing blocks are found last to first.
    parted.beside[leading_count..].reverse();
    parted
}

/// Splits off the block that a text begins with: its tag, its contents, and the text after it.
///
/// The prompt may follow an editor note on the same line. Text that follows a reminder on the same line is a question
/// about the tag, so that is not a block.
fn leading<'t>(text: &'t str, tag: &'static str) -> Option<(&'static str, &'t str, &'t str)> {
    let body = text.trim_start().strip_prefix('<')?.strip_prefix(tag)?.strip_prefix('>')?;
    let (inner, rest) = body.split_once(&*format!("</{tag}>"))?;
    let is_alone = rest.lines().next().is_none_or(|line| line.trim().is_empty());
    (is_alone || tag != REMINDER).then(|| (tag, inner, rest.trim_start_matches(['\n', '\r'])))
}

/// Splits off the block that a text ends with: its tag, its contents, and the text before it. The block must start on a
/// line of its own.
fn trailing<'t>(text: &'t str, tag: &'static str) -> Option<(&'static str, &'t str, &'t str)> {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let body = text.trim_end().strip_suffix(&*close)?;
    let begins_line = |at: &usize| body[..*at].trim_end_matches([' ', '\t']).ends_with('\n');
    let at = body.rmatch_indices(&*open).map(|(at, _)| at).find(begins_line)?;
    let inner = &body[at + open.len()..];
    (!inner.contains(&*close))
        .then(|| (tag, inner, body[..at].trim_end_matches([' ', '\t']).trim_end_matches(['\n', '\r'])))
}

/// Returns the file that an editor note is about.
pub(super) fn named_file(note: &str) -> Option<&str> {
    let line = note.lines().next()?;
    if let Some(opened) = line.strip_prefix("The user opened the file ") {
        return opened.split_once(" in the IDE").map(|(file, _)| file);
    }
    let (_, file) = line.strip_prefix("The user selected the lines ")?.split_once(" from ")?;
    Some(file.trim_end_matches(':'))
}

/// The kind of a text between tags.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Markup {
    /// A slash command or a `!` command typed by the user.
    Command,
    /// The output of such a command.
    Output,
    /// A message of another agent.
    Peer,
    /// A notification by Claude Code itself.
    Machine,
}

/// Classifies a text that begins with Claude Code's own tags. Returns its kind, the text inside the tags, and the text
/// after them.
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
        let words = without_tags(&without_tags(text, &MACHINE), &NOTIFICATION_PARTS);
        return Some((Markup::Machine, words.trim().to_string(), ""));
    }
    None
}

/// Reads a command with its arguments. Also returns the text after it.
fn command(text: &str) -> Option<(String, &str)> {
    if let Some((inner, rest)) = block(text, "bash-input") {
        return Some((format!("! {}", inner.trim()), rest));
    }
    let ([name, message, arguments], rest) = command_parts(text);
    let name = name.or(message)?;
    Some((format!("{name} {}", arguments.unwrap_or_default()).trim().to_string(), rest))
}

/// Returns the message that Claude Code showed for a command, if it is more than the command's name.
pub(super) fn announced(text: &str) -> Option<&str> {
    let ([name, message, _], _) = command_parts(text);
    let is_more =
        |message: &&str| name.is_some_and(|name| name.trim_start_matches('/') != message.trim_start_matches('/'));
    message.filter(|message| !message.is_empty()).filter(is_more)
}

/// Reads the parts of a command in the order of [`COMMAND`]. Also returns the text after them.
fn command_parts(text: &str) -> ([Option<&str>; COMMAND.len()], &str) {
    let mut parts = [None; COMMAND.len()];
    let mut rest = text;
    // Each part occurs once: a repeated part belongs to the next command.
    while let Some((at, inner, after)) = (0..parts.len())
        .filter(|at| parts[*at].is_none())
        .find_map(|at| block(rest, COMMAND[at]).map(|(inner, after)| (at, inner, after)))
    {
        parts[at] = Some(inner.trim());
        rest = after;
    }
    (parts, rest)
}

/// Reads the output of a command. Also returns the text after it. Truncated output has no closing tag.
fn output(text: &str) -> Option<(String, &str)> {
    let mut parts: Vec<&str> = Vec::new();
    let mut rest = text;
    let unclosed = |text| OUTPUT.iter().find_map(|tag| Some((after_name(text, tag)?.split_once('>')?.1, "")));
    while let Some((inner, after)) = OUTPUT.iter().find_map(|tag| block(rest, tag)).or_else(|| unclosed(rest)) {
        parts.push(inner.trim());
        rest = after;
    }
    if parts.is_empty() {
        return None;
    }
    parts.retain(|part| !part.is_empty());
    Some((strip_ansi(&parts.join("\n")).trim().to_string(), rest))
}

/// Reads the block that a text begins with. Returns its contents and the text after it.
///
/// Prefers a closing tag followed by white space, by another tag or by nothing: the contents may mention the tag.
fn block<'t>(text: &'t str, tag: &str) -> Option<(&'t str, &'t str)> {
    let (_, body) = after_name(text.trim_start(), tag)?.split_once('>')?;
    let close = format!("</{tag}>");
    let is_detached = |at: &usize| {
        let next = body[at + close.len()..].chars().next();
        next.is_none_or(|c| c.is_whitespace() || c == '<')
    };
    let at = body.match_indices(&*close).map(|(at, _)| at).find(is_detached).or_else(|| body.find(&*close))?;
    Some((&body[..at], &body[at + close.len()..]))
}

/// Returns the text after the name of the opening tag that a text begins with: any attributes, and the `>`.
fn after_name<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    text.strip_prefix('<')?.strip_prefix(tag).filter(|rest| rest.starts_with(['>', ' ']))
}

/// Maximum length of a tag's attributes, in bytes. Anything longer is not a tag.
const TAG_CAP: usize = 2000;

/// Replaces each of these tags with a space. Keeps attributes, which name the sender and the subject.
fn without_tags(text: &str, tags: &[&str]) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        let closed = tags.iter().find_map(|tag| rest.strip_prefix("</")?.strip_prefix(tag)?.strip_prefix('>'));
        let opened = tags.iter().find_map(|tag| {
            let tail = after_name(rest, tag)?;
            let end = tail[..tail.floor_char_boundary(TAG_CAP)].find('>')?;
            Some((&tail[..end], &tail[end + 1..]))
        });
        let (words, after) = match (closed, opened) {
            (Some(after), _) => (" ", after),
            (None, Some(("", after))) => (" ", after),
            (None, Some((attributes, after))) => {
                kept.push_str(attributes);
                (" ", after)
            }
            (None, None) => rest.split_at(1),
        };
        kept.push_str(words);
        rest = after;
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_inside_the_text_are_text() {
        let unchanged = |text: &str| assert_eq!(parted(text, &BESIDE), Parted { words: text, beside: Vec::new() });
        for tag in BESIDE {
            unchanged(&format!("I see <{tag}> in my output, why? Please fix X"));
            unchanged(&format!("<{tag}> is all I see"));
            unchanged(&format!("why does `<{tag}>x</{tag}>` stand here?"));
            unchanged(&format!("the <{tag}> tag\nand much later </{tag}>"));
            unchanged(&format!("the <{tag}> tag\nand much later </{tag}> and more"));
            unchanged(&format!("a\n<{tag}>\nb\n</{tag}>\nc"));
            unchanged(&format!("</{tag}>"));
        }
        unchanged("<system-reminder>x</system-reminder> what is that?");
    }

    #[test]
    fn blocks_before_and_after_are_separated() {
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
    fn editor_notes_name_their_file() {
        for (note, file) in [
            ("The user opened the file /a b/c.rs in the IDE. This may or may not be related.", Some("/a b/c.rs")),
            ("The user selected the lines 9 to 12 from D:\\x\\y.md:\nfoo from bar", Some("D:\\x\\y.md")),
            ("something new", None),
        ] {
            assert_eq!(named_file(note), file, "{note}");
        }
    }

    #[test]
    fn command_messages_count_only_if_more_than_the_name() {
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
    fn markup_is_classified() {
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
