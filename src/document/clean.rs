//! Cleans the text of messages: removes escape sequences, line numbers, reminders and base64, reads the arguments of
//! tools, and normalizes paths. Pure functions.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};

use crate::document::ansi::strip_ansi;
use crate::document::tags;
use crate::transcript::json::{Token, Walk};

/// Minimum length, in bytes, of a run of base64 that is folded. Such runs are images or archives, not words.
const BASE64_RUN: usize = 1024;
/// The same for base64 wrapped into lines, as in mails and keys. Keys and certificates are shorter, and worth keeping
/// whole.
const BASE64_LINES: usize = 8 << 10;
/// Length of a line of wrapped base64, in bytes.
const BASE64_LINE: RangeInclusive<usize> = 60..=128;

/// Tools and kinds of attachments that number the lines of files.
const NUMBERING: [&str; 8] =
    ["Read", "Edit", "MultiEdit", "Write", "NotebookRead", "NotebookEdit", "edited_text_file", "file"];

/// Keys of a tool's input that name a file or folder.
const PATH_KEYS: [&str; 10] = [
    "file_path",
    "path",
    "notebook_path",
    "filePath",
    "relative_path",
    "filename",
    "dir_path",
    "planFilePath",
    "scriptPath",
    "uri",
];

/// The text of a tool's input.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ToolWords {
    /// All strings of the input, one per line.
    pub text: String,
    /// The files and folders named by path arguments.
    pub files: Vec<String>,
    /// The prompt for a subagent.
    pub prompt: Option<String>,
    /// The command for a shell.
    pub command: Option<String>,
}

/// Reads all strings from a tool's input, which may be any JSON.
pub(super) fn tool_words(input: &str) -> ToolWords {
    let mut words = ToolWords::default();
    let mut key = String::new();
    for token in Walk::new(input) {
        match token {
            Token::Key(name) => key = name.into_owned(),
            Token::Text(value) if !value.is_empty() => words.add(&key, &value),
            _ => {}
        }
    }
    words
}

/// Returns the text of a tool call. Without arguments, that is the name of the tool.
pub(super) fn call_text<'w>(tool: &'w str, words: &'w ToolWords) -> &'w str {
    if words.text.trim().is_empty() { tool } else { &words.text }
}

impl ToolWords {
    /// Adds the string under a key.
    fn add(&mut self, key: &str, value: &str) {
        let is_move = matches!(key, "source" | "destination") && !value.contains('\n') && value.contains(['/', '\\']);
        if PATH_KEYS.contains(&key) || is_move || (key == "files" && value.contains(['/', '\\', '.'])) {
            self.files.push(value.strip_prefix("file://").map_or_else(|| value.to_string(), percent_decoded));
        }
        if key == "prompt" {
            self.prompt = Some(value.to_string());
        }
        if key == "command" {
            self.command = Some(value.to_string());
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&fold_base64(value));
    }
}

/// Decodes percent-encoding such as `%3A`.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match code.filter(|_| *first == b'%') {
            Some(code) => {
                bytes.push(code);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Cleans the text of a tool's result: removes reminders around it, escape sequences, line numbers and base64.
pub(super) fn clean_result<'t>(tool: Option<&str>, text: &'t str) -> Cow<'t, str> {
    let words = tags::parted(text, &[tags::REMINDER]).words;
    // A reminder on its own is the whole result, as for an empty file.
    let text = if words.trim().is_empty() { text } else { words };
    let text = strip_ansi(text);
    let text = chain(text, |text| strip_line_numbers(tool, text));
    chain(text, fold_base64)
}

/// Cleans a prompt.
pub(super) fn clean_prompt(text: &str) -> Cow<'_, str> {
    chain(strip_ansi(text), fold_base64)
}

/// Applies a cleaning step, without copying if there is nothing to clean.
fn chain<'a>(text: Cow<'a, str>, step: impl Fn(&str) -> Cow<'_, str>) -> Cow<'a, str> {
    match text {
        Cow::Borrowed(text) => step(text),
        Cow::Owned(text) => match step(&text) {
            Cow::Borrowed(same) if same.len() == text.len() => Cow::Owned(text),
            other => Cow::Owned(other.into_owned()),
        },
    }
}

/// Removes the `  12→` or `12<TAB>` from consecutively numbered lines.
///
/// The output of tools that do not number lines may contain tabs after any number, and an arrow after a single one.
/// There, only arrows count, and only on two or more consecutive lines.
fn strip_line_numbers<'t>(tool: Option<&str>, text: &'t str) -> Cow<'t, str> {
    let is_numbering = tool.is_some_and(|tool| NUMBERING.contains(&tool));
    let (signs, min_lines): (&[char], usize) = if is_numbering { (&['→', '\t'], 1) } else { (&['→'], 2) };
    if !text.lines().any(|line| line_number(line, signs).is_some()) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut run: Vec<(&str, &str)> = Vec::new();
    let mut next = 0;
    for line in text.split_inclusive('\n') {
        let found = line_number(line, signs);
        if found.is_none_or(|(number, _)| number != next) {
            end_run(&mut kept, &mut run, min_lines);
        }
        match found {
            Some((number, rest)) => {
                run.push((line, rest));
                next = number + 1;
            }
            None => kept.push_str(line),
        }
    }
    end_run(&mut kept, &mut run, min_lines);
    Cow::Owned(kept)
}

/// Appends a run of numbered lines without their numbers. Keeps the numbers if there are fewer than `min_lines`.
fn end_run(kept: &mut String, run: &mut Vec<(&str, &str)>, min_lines: usize) {
    let is_numbered = run.len() >= min_lines;
    run.drain(..).for_each(|(line, rest)| kept.push_str(if is_numbered { rest } else { line }));
}

/// Returns the first line number and the contents of a file from the result of a read, if its lines are numbered
/// without a gap. The result may have reminders around it, but nothing else.
pub(super) fn numbered(text: &str) -> Option<(u64, String)> {
    let text = tags::parted(text, &[tags::REMINDER]).words.trim_end_matches('\n');
    let mut first = None;
    let mut contents = String::with_capacity(text.len());
    for (at, line) in text.split('\n').enumerate() {
        let (number, rest) = line_number(line, &['→', '\t'])?;
        if number != *first.get_or_insert(number) + at as u64 {
            return None;
        }
        if at > 0 {
            contents.push('\n');
        }
        contents.push_str(rest);
    }
    Some((first?, contents))
}

/// Returns the number of a line and the text after it, if one of the signs separates them.
fn line_number<'t>(line: &'t str, signs: &[char]) -> Option<(u64, &'t str)> {
    let digits = line.trim_start_matches(' ');
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = &digits[..digits.len() - rest.len()];
    if number.len() > 9 {
        return None;
    }
    Some((number.parse().ok()?, rest.strip_prefix(signs)?))
}

/// Replaces every long run of base64 with a note.
pub(super) fn fold_base64(text: &str) -> Cow<'_, str> {
    let folded = fold_runs(text, BASE64_RUN, unbroken_run);
    chain(folded, |text| fold_runs(text, BASE64_LINES, run_of_lines))
}

/// Replaces each stretch of at least `min_length` bytes of base64 with a note. `run_at` returns the range of the run
/// around a position; its other argument is the lowest possible start.
fn fold_runs(text: &str, min_length: usize, run_at: fn(&[u8], usize, usize) -> Range<usize>) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut kept = String::new();
    let mut copied = 0;
    // A run of `min_length` bytes contains at least one of the probed positions, so no other bytes need a look.
    let mut probe = min_length - 1;
    while probe < bytes.len() {
        let run = run_at(bytes, copied, probe);
        if run.len() >= min_length && is_base64(&bytes[run.clone()]) {
            kept.push_str(&text[copied..run.start]);
            kept.push_str(&format!("[base64 {} bytes]", run.len()));
            copied = run.end;
        }
        probe = run.end + min_length;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    kept.push_str(&text[copied..]);
    Cow::Owned(kept)
}

/// Returns the unbroken run of base64 around a position.
fn unbroken_run(bytes: &[u8], from: usize, at: usize) -> Range<usize> {
    if !is_base64_byte(bytes[at]) {
        return at..at;
    }
    let start =
        bytes[from..at].iter().rposition(|byte| !is_base64_byte(*byte)).map_or(from, |before| from + before + 1);
    let end = bytes[at..].iter().position(|byte| !is_base64_byte(*byte)).map_or(bytes.len(), |after| at + after);
    start..end
}

/// Returns the lines of base64 around a position: lines of the same length, and a shorter last one.
fn run_of_lines(bytes: &[u8], from: usize, at: usize) -> Range<usize> {
    let no_run = at..at;
    let low = from.max(at.saturating_sub(*BASE64_LINE.end() + 1));
    let Some(start) = bytes[low..at].iter().rposition(|byte| *byte == b'\n').map(|before| low + before + 1) else {
        return no_run;
    };
    let Some(length) = bytes[start..].iter().take(*BASE64_LINE.end() + 2).position(|byte| *byte == b'\n') else {
        return no_run;
    };
    let is_line = |line: &[u8]| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        BASE64_LINE.contains(&line.len()) && line.iter().copied().all(is_base64_byte)
    };
    if !is_line(&bytes[start..start + length]) {
        return no_run;
    }
    let step = length + 1;
    let is_full = |at: usize| {
        bytes.get(at..at + step).is_some_and(|line| line.last() == Some(&b'\n') && is_line(&line[..length]))
    };
    let lines_before = (1..).take_while(|count| start >= from + count * step && is_full(start - count * step)).count();
    let lines_after = (0..).take_while(|count| is_full(start + count * step)).count();
    let end = start + lines_after * step;
    let rest = bytes[end..].iter().take(length).position(|byte| !is_base64_byte(*byte));
    start - lines_before * step..end + rest.unwrap_or_else(|| length.min(bytes.len() - end))
}

fn is_base64_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
}

/// Distinguishes base64 from a line of dashes or one repeated word: real data uses most of the alphabet.
fn is_base64(run: &[u8]) -> bool {
    let mut seen = [false; 256];
    run.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    seen.iter().filter(|seen| **seen).count() > 32
}

/// Cuts a long text into pieces of at most `max_length` bytes, at the end of a line if possible. Does not copy.
pub(super) fn pieces(text: &str, max_length: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.len() > max_length {
        let mut end = max_length;
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let line_end = memchr::memrchr(b'\n', &rest.as_bytes()[..end]).filter(|at| *at > max_length / 2);
        let end = line_end.map_or(end, |at| at + 1);
        pieces.push(&rest[..end]);
        rest = &rest[end..];
    }
    pieces.push(rest);
    pieces
}

/// Normalizes a path: forward slashes, lowercase drive letter, no `.` and `..`, absolute if `cwd` is known.
pub fn normal_path(path: &str, cwd: Option<&str>) -> String {
    let path = path.trim();
    // The URL of a Windows file has a slash before its drive letter.
    let is_drive = |path: &str| path.as_bytes().get(1) == Some(&b':');
    let path = with_forward_slashes(path.strip_prefix('/').filter(|rest| is_drive(rest)).unwrap_or(path));
    let is_absolute = path.starts_with(['/', '~']) || path.as_bytes().get(1) == Some(&b':');
    let whole = match cwd {
        Some(cwd) if !is_absolute => format!("{}/{path}", with_forward_slashes(cwd)),
        _ => path,
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            // The root has no parent.
            ".." if parts.is_empty() && whole.starts_with('/') || is_drive_alone(&parts) => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    let lead = if whole.starts_with('/') { "/" } else { "" };
    format!("{lead}{}", parts.join("/"))
}

fn is_drive_alone(parts: &[&str]) -> bool {
    matches!(parts, [drive] if drive.len() == 2 && drive.ends_with(':'))
}

/// Converts a path to forward slashes and a lowercase drive letter: on Windows either slash and either case name the
/// same folder.
fn with_forward_slashes(path: &str) -> String {
    let drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    let windows = drive || path.starts_with("\\\\");
    let mut path = if windows || !path.contains('/') { path.replace('\\', "/") } else { path.to_string() };
    if drive {
        path[..1].make_ascii_lowercase();
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pseudo-random base64 of `count` lines, each of `length` characters.
    fn lines_of_base64(count: usize, length: usize, end: &str) -> String {
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut seed: u64 = 7;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(alphabet[(seed >> 58) as usize])
        };
        (0..count).map(|_| (0..length).map(|_| next()).collect::<String>() + end).collect()
    }

    #[test]
    fn base64_in_lines_is_folded() {
        for (count, length, end) in [(120, 76, "\n"), (200, 64, "\r\n"), (90, 128, "\n"), (9000, 60, "\n")] {
            let run = lines_of_base64(count, length, end);
            for rest in ["", "QUJD", "QUI="] {
                let text = format!("before it\n{run}{rest}\nbehind é it");
                let note = format!("before it\n[base64 {} bytes]\nbehind é it", run.len() + rest.len());
                assert_eq!(fold_base64(&text), note, "{count} {length}");
            }
            let twice = format!("a\n{run}\n\nb\n{run}c d");
            assert_eq!(fold_base64(&twice).matches("[base64").count(), 2, "{count} {length}");
        }
    }

    #[test]
    fn lines_that_are_not_base64_stay() {
        let key = lines_of_base64(30, 64, "\n");
        let rule = format!("{}\n", "-".repeat(76)).repeat(200);
        let hashes = lines_of_base64(300, 64, "\n").replace(|c: char| !c.is_ascii_hexdigit(), "0").to_lowercase();
        let paths: String =
            (0..300).map(|n| format!("src/{}/component_number-{n}/Button\n", "nested/".repeat(6 + n % 3))).collect();
        for text in [key, rule, hashes, paths] {
            assert_eq!(fold_base64(&text), text);
        }
    }

    #[test]
    fn results_are_cleaned() {
        for (tool, text, clean) in [
            ("Bash", "plain", "plain"),
            ("Read", "     1→fn main() {\n     2→}\n", "fn main() {\n}\n"),
            ("Read", "7\tlet x;\n8\t\n", "let x;\n\n"),
            ("Read", "1\t7310042\tAlice", "7310042\tAlice"),
            ("Edit", "Here it is:\n     9→a\n    10→b\n", "Here it is:\na\nb\n"),
            ("edited_text_file", "/a.rs\n9\ta\n10\tb\n...\n20\tc", "/a.rs\na\nb\n...\nc"),
            ("Grep", "     9→a\n    10→b\n", "a\nb\n"),
            ("Bash", "7310042\tAlice\n7310043\tBob", "7310042\tAlice\n7310043\tBob"),
            ("Bash", "7→8 of them\n9→3", "7→8 of them\n9→3"),
            ("", "1\tone\n2\ttwo", "1\tone\n2\ttwo"),
            ("Bash", "12 monkeys\n3 more", "12 monkeys\n3 more"),
            ("Bash", "out\n<system-reminder>\nbe good\n</system-reminder>", "out"),
            ("Read", "1\tx\n\n<system-reminder>a</system-reminder>\n<system-reminder>b</system-reminder>\n", "x"),
            ("Read", "<system-reminder>empty</system-reminder>", "<system-reminder>empty</system-reminder>"),
            ("Bash", "a<system-reminder>x</system-reminder>b", "a<system-reminder>x</system-reminder>b"),
            ("Bash", "\u{1b}[1;31merror\u{1b}[0m: \u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\", "error: link"),
        ] {
            assert_eq!(clean_result(Some(tool), text), clean, "{tool} {text}");
        }
    }

    #[test]
    fn contents_are_read_from_numbered_lines() {
        for (text, contents) in [
            ("     1→a\n     2→", Some((1, "a\n"))),
            ("7\ta\n8\tb", Some((7, "a\nb"))),
            ("1\ta\n2\t\n\n<system-reminder>x</system-reminder>\n", Some((1, "a\n"))),
            ("1\ta <system-reminder>\n2\tb", Some((1, "a <system-reminder>\nb"))),
            ("1\ta\n3\tb", None),
            ("plain", None),
        ] {
            assert_eq!(numbered(text), contents.map(|(first, text)| (first, text.to_string())), "{text:?}");
        }
    }

    #[test]
    fn base64_is_folded_and_dashes_stay() {
        let data: String = (0u8..=255).cycle().filter(u8::is_ascii_alphanumeric).map(char::from).take(2000).collect();
        assert_eq!(fold_base64(&format!("see {data} end")), "see [base64 2000 bytes] end");
        let rule = "-".repeat(3000);
        assert_eq!(fold_base64(&rule), rule);
    }

    #[test]
    fn text_and_files_are_read_from_tool_input() {
        let words = tool_words(r#"{"file_path":"/a/b.rs","edits":[{"old_string":"x","new_string":"y\nz"}],"n":3}"#);
        assert_eq!(words.text, "/a/b.rs\nx\ny\nz");
        assert_eq!(words.files, ["/a/b.rs"]);
        assert_eq!(tool_words(r#""just a string""#).text, "just a string");
    }

    #[test]
    fn paths_are_normalized() {
        for (path, cwd, normal) in [
            ("/a/./b/../c.rs", None, "/a/c.rs"),
            ("src/x.rs", Some("/home/u/p"), "/home/u/p/src/x.rs"),
            ("D:\\Work\\x.cs", None, "d:/Work/x.cs"),
            ("x.cs", Some("D:\\Work"), "d:/Work/x.cs"),
            ("~/notes.md", Some("/x"), "~/notes.md"),
            ("../../up", None, "../../up"),
        ] {
            assert_eq!(normal_path(path, cwd), normal);
        }
    }

    #[test]
    fn pieces_cut_at_lines_and_characters() {
        assert_eq!(pieces("short", 10), ["short"]);
        assert_eq!(pieces("aaaaaa\nbbbbbb\ncc", 10), ["aaaaaa\n", "bbbbbb\ncc"]);
        assert_eq!(pieces("äöüäöü", 5), ["äö", "üä", "öü"]);
    }
}
