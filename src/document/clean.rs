//! The words of a message without the noise around them: pure functions from text to text.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};

use crate::document::ansi::strip_ansi;
use crate::document::tags;
use crate::transcript::json::{Token, Walk};

/// Runs of base64 longer than this are pictures or archives, not words.
const BASE64_RUN: usize = 1024;
/// The same for base64 that is cut into lines, as in mails and keys. Keys and certificates are shorter, and worth
/// keeping whole.
const BASE64_LINES: usize = 8 << 10;
/// How long such lines are.
const BASE64_LINE: RangeInclusive<usize> = 60..=128;

/// Tools, and sorts of attachments, that number the lines of files.
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

/// What a tool was asked to do.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ToolWords {
    /// Every string of the input, one after the other.
    pub text: String,
    /// The files and folders named as such.
    pub files: Vec<String>,
    /// The prompt for a subagent.
    pub prompt: Option<String>,
    /// The command for a shell.
    pub command: Option<String>,
}

/// Reads the words out of a tool's input, whatever its shape.
pub(super) fn tool_words(input: &str) -> ToolWords {
    let mut words = ToolWords::default();
    let mut key = String::new();
    for token in Walk::new(input) {
        match token {
            Token::Key(name) => key = name.into_owned(),
            Token::Text(value) if !value.is_empty() => words.take(&key, &value),
            _ => {}
        }
    }
    words
}

/// The words of a call. One without arguments still says that the tool was used.
pub(super) fn call_text<'w>(tool: &'w str, words: &'w ToolWords) -> &'w str {
    if words.text.trim().is_empty() { tool } else { &words.text }
}

impl ToolWords {
    fn take(&mut self, key: &str, value: &str) {
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

/// Resolves the `%3A` and the like of an address.
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

/// Cleans the text of a tool's result: no reminders behind it, escape sequences, line numbers or base64.
pub(super) fn clean_result<'t>(tool: Option<&str>, text: &'t str) -> Cow<'t, str> {
    let words = tags::parted(text, &[tags::REMINDER]).words;
    // A reminder that stands alone is all there is to know, as for a file without contents.
    let text = if words.trim().is_empty() { text } else { words };
    let text = strip_ansi(text);
    let text = chain(text, |text| strip_line_numbers(tool, text));
    chain(text, fold_base64)
}

/// Cleans a prompt.
pub(super) fn clean_prompt(text: &str) -> Cow<'_, str> {
    chain(strip_ansi(text), fold_base64)
}

/// Applies a cleaning step without copying where there is nothing to clean.
fn chain<'a>(text: Cow<'a, str>, step: impl Fn(&str) -> Cow<'_, str>) -> Cow<'a, str> {
    match text {
        Cow::Borrowed(text) => step(text),
        Cow::Owned(text) => match step(&text) {
            Cow::Borrowed(same) if same.len() == text.len() => Cow::Owned(text),
            other => Cow::Owned(other.into_owned()),
        },
    }
}

/// Takes the `  12→` or `12<TAB>` off lines that are numbered one after the other. Where the tool is none that numbers
/// its lines, a tab may stand behind anything, and an arrow behind a single number.
fn strip_line_numbers<'t>(tool: Option<&str>, text: &'t str) -> Cow<'t, str> {
    let numbers = tool.is_some_and(|tool| NUMBERING.contains(&tool));
    let (signs, least): (&[char], usize) = if numbers { (&['→', '\t'], 1) } else { (&['→'], 2) };
    if !text.lines().any(|line| line_number(line, signs).is_some()) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut run: Vec<(&str, &str)> = Vec::new();
    let mut next = 0;
    for line in text.split_inclusive('\n') {
        let found = line_number(line, signs);
        if found.is_none_or(|(number, _)| number != next) {
            end_run(&mut kept, &mut run, least);
        }
        match found {
            Some((number, rest)) => {
                run.push((line, rest));
                next = number + 1;
            }
            None => kept.push_str(line),
        }
    }
    end_run(&mut kept, &mut run, least);
    Cow::Owned(kept)
}

/// Keeps numbered lines without their numbers, or with them if they are too few to be numbered ones.
fn end_run(kept: &mut String, run: &mut Vec<(&str, &str)>, least: usize) {
    let is_numbered = run.len() >= least;
    run.drain(..).for_each(|(line, rest)| kept.push_str(if is_numbered { rest } else { line }));
}

/// The contents of a file that were read with their lines numbered without a gap, and the first number. The answer
/// may have reminders behind it, and nothing else.
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

/// The number of a line and what follows it, if one of the signs stands between them.
fn line_number<'t>(line: &'t str, signs: &[char]) -> Option<(u64, &'t str)> {
    let digits = line.trim_start_matches(' ');
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = &digits[..digits.len() - rest.len()];
    if number.len() > 9 {
        return None;
    }
    Some((number.parse().ok()?, rest.strip_prefix(signs)?))
}

/// Puts a note in place of every long run of base64.
pub(super) fn fold_base64(text: &str) -> Cow<'_, str> {
    let folded = fold_runs(text, BASE64_RUN, unbroken_run);
    chain(folded, |text| fold_runs(text, BASE64_LINES, run_of_lines))
}

/// Puts a note in place of the runs that are long enough; `run_at` tells where the run around a place begins and ends.
fn fold_runs(text: &str, least: usize, run_at: fn(&[u8], usize, usize) -> Range<usize>) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut kept = String::new();
    let mut copied = 0;
    // A long run covers one of every so many bytes, so only those need to be looked at first.
    let mut probe = least - 1;
    while probe < bytes.len() {
        let run = run_at(bytes, copied, probe);
        if run.len() >= least && is_base64(&bytes[run.clone()]) {
            kept.push_str(&text[copied..run.start]);
            kept.push_str(&format!("[base64 {} bytes]", run.len()));
            copied = run.end;
        }
        probe = run.end + least;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    kept.push_str(&text[copied..]);
    Cow::Owned(kept)
}

/// The run of base64 around a place, without a break.
fn unbroken_run(bytes: &[u8], from: usize, at: usize) -> Range<usize> {
    if !is_base64_byte(bytes[at]) {
        return at..at;
    }
    let start =
        bytes[from..at].iter().rposition(|byte| !is_base64_byte(*byte)).map_or(from, |before| from + before + 1);
    let end = bytes[at..].iter().position(|byte| !is_base64_byte(*byte)).map_or(bytes.len(), |behind| at + behind);
    start..end
}

/// The lines of base64 around a place, all of one length, and the shorter one at their end.
fn run_of_lines(bytes: &[u8], from: usize, at: usize) -> Range<usize> {
    let nothing = at..at;
    let near = from.max(at.saturating_sub(*BASE64_LINE.end() + 1));
    let Some(start) = bytes[near..at].iter().rposition(|byte| *byte == b'\n').map(|before| near + before + 1) else {
        return nothing;
    };
    let Some(length) = bytes[start..].iter().take(*BASE64_LINE.end() + 2).position(|byte| *byte == b'\n') else {
        return nothing;
    };
    let is_line = |line: &[u8]| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        BASE64_LINE.contains(&line.len()) && line.iter().copied().all(is_base64_byte)
    };
    if !is_line(&bytes[start..start + length]) {
        return nothing;
    }
    let step = length + 1;
    let is_full = |at: usize| {
        bytes.get(at..at + step).is_some_and(|line| line.last() == Some(&b'\n') && is_line(&line[..length]))
    };
    let before = (1..).take_while(|count| start >= from + count * step && is_full(start - count * step)).count();
    let behind = (0..).take_while(|count| is_full(start + count * step)).count();
    let end = start + behind * step;
    let rest = bytes[end..].iter().take(length).position(|byte| !is_base64_byte(*byte));
    start - before * step..end + rest.unwrap_or_else(|| length.min(bytes.len() - end))
}

fn is_base64_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
}

/// Tells base64 from a rule of dashes or one word repeated: real data uses most of the alphabet.
fn is_base64(run: &[u8]) -> bool {
    let mut seen = [false; 256];
    run.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    seen.iter().filter(|seen| **seen).count() > 32
}

/// Cuts a long text into pieces, at the end of a line where there is one, without copying.
pub(super) fn pieces(text: &str, most: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.len() > most {
        let mut end = most;
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let line_end = memchr::memrchr(b'\n', &rest.as_bytes()[..end]).filter(|at| *at > most / 2);
        let end = line_end.map_or(end, |at| at + 1);
        pieces.push(&rest[..end]);
        rest = &rest[end..];
    }
    pieces.push(rest);
    pieces
}

/// Gives a path one spelling: forward slashes, small drive letter, no `.` and `..`, absolute where `cwd` is known.
pub fn normal_path(path: &str, cwd: Option<&str>) -> String {
    let path = path.trim();
    // An address of a Windows file has a slash before its drive.
    let is_drive = |path: &str| path.as_bytes().get(1) == Some(&b':');
    let path = forward(path.strip_prefix('/').filter(|rest| is_drive(rest)).unwrap_or(path));
    let is_absolute = path.starts_with(['/', '~']) || path.as_bytes().get(1) == Some(&b':');
    let whole = match cwd {
        Some(cwd) if !is_absolute => format!("{}/{path}", forward(cwd)),
        _ => path,
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            // Above the top there is nothing.
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

/// Windows spells the same folder with either slash and either case of the drive.
fn forward(path: &str) -> String {
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

    /// Base64 of a number of lines, each of a length.
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
    fn what_is_no_base64_in_lines_stays() {
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
    fn results_lose_their_noise() {
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
    fn numbered_lines_are_contents() {
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
    fn base64_becomes_a_note_and_rules_stay() {
        let data: String = (0u8..=255).cycle().filter(u8::is_ascii_alphanumeric).map(char::from).take(2000).collect();
        assert_eq!(fold_base64(&format!("see {data} end")), "see [base64 2000 bytes] end");
        let rule = "-".repeat(3000);
        assert_eq!(fold_base64(&rule), rule);
    }

    #[test]
    fn tool_input_gives_words_and_files() {
        let words = tool_words(r#"{"file_path":"/a/b.rs","edits":[{"old_string":"x","new_string":"y\nz"}],"n":3}"#);
        assert_eq!(words.text, "/a/b.rs\nx\ny\nz");
        assert_eq!(words.files, ["/a/b.rs"]);
        assert_eq!(tool_words(r#""just a string""#).text, "just a string");
    }

    #[test]
    fn paths_have_one_spelling() {
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
