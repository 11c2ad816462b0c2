//! Reads the record of a file change that Claude Code stores next to a tool result (`toolUseResult`).
//!
//! A record contains whole files, so the index keeps only a [`Trace`] of it: line counts, and hashes of the contents.
//! The hashes prove that contents reconstructed later are correct. The full [`Record`] is read from the transcript when
//! the history of a file is requested.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::transcript::event::Trace;
use crate::transcript::json::{self, Token, Walk};
use crate::transcript::known_keys::{Attachment, Entry, RawRecord};

/// The full record of a file change, read from its line.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Record {
    /// The id of the line that contains the record.
    pub uuid: String,
    /// The whole file before the change.
    pub before: Option<String>,
    /// The text that was written or read.
    pub contents: Option<String>,
    /// The text that was replaced, and its replacement.
    pub replaced: Option<(String, String)>,
    /// For a read: the first line, the number of lines read, and the number of lines in the file.
    pub lines: Option<[u64; 3]>,
    /// The change, as a patch.
    pub patch: Vec<Hunk>,
    /// True if the user edited the text before the tool wrote it.
    pub modified: bool,
}

/// A hunk of a patch.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Hunk {
    /// The first line before the change, from 1.
    pub old_start: u64,
    /// The number of lines before the change.
    pub old_lines: u64,
    /// The first line after the change, from 1.
    pub new_start: u64,
    /// The number of lines after the change.
    pub new_lines: u64,
    /// The lines, each prefixed with `+`, `-` or a space.
    pub lines: Vec<String>,
}

/// A backup that Claude Code made of a file.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SavedCopy {
    /// The path of the file.
    pub path: String,
    /// The name of the copy; `None` if the file did not exist.
    pub name: Option<String>,
    /// The time of the backup in milliseconds since 1970.
    pub time: Option<i64>,
}

/// Extracts the part of a record that the index needs. Returns `None` if the record is not about a file.
pub(super) fn trace_of(record: &RawRecord<'_>) -> Option<Trace> {
    let file = &record.file;
    let is_about_file = record.path.is_some() || record.notebook.is_some() || file.path.is_some();
    if !is_about_file {
        return None;
    }
    let trace = Trace {
        before: before_of(record).and_then(hash_json_string),
        contents: contents_of(record).and_then(hash_json_string),
        lines: (file.lines > 0).then_some([file.start, file.lines, file.total]),
        counts: record.patch.and_then(count_changed_lines),
        created: record.kind.as_deref() == Some("create"),
        modified: record.modified,
    };
    (trace != Trace::default()).then_some(trace)
}

fn before_of<'a>(record: &RawRecord<'a>) -> Option<&'a str> {
    record.original.or(record.original_contents).or(record.original_file)
}

fn contents_of<'a>(record: &RawRecord<'a>) -> Option<&'a str> {
    record.content.or(record.file.content).or(record.updated_file)
}

/// Reads the file record from a line of a transcript.
pub fn read_record(line: &[u8]) -> Option<Record> {
    let text = String::from_utf8_lossy(line);
    let entry: Entry<'_> = serde_json::from_str(&text).ok()?;
    let record = &entry.record;
    let string = |raw: Option<&str>| raw.and_then(decode_string).map(Cow::into_owned);
    Some(Record {
        uuid: entry.uuid.as_deref().unwrap_or_default().to_string(),
        before: string(before_of(record)),
        contents: string(contents_of(record)),
        replaced: string(record.old).zip(string(record.new)),
        lines: (record.file.lines > 0).then_some([record.file.start, record.file.lines, record.file.total]),
        patch: record.patch.and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or_default(),
        modified: record.modified,
    })
}

/// Reads the lines of a changed file from the line of a transcript that reports the change. Returns each run of lines
/// with the number of its first line.
pub fn read_changed_lines(line: &[u8]) -> Vec<(usize, String)> {
    let text = String::from_utf8_lossy(line);
    let Ok(entry) = serde_json::from_str::<Entry<'_>>(&text) else { return Vec::new() };
    let attachment: Attachment<'_> =
        entry.attachment.and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or_default();
    attachment.snippet.map(|snippet| numbered_lines(&snippet)).unwrap_or_default()
}

/// Returns the numbered lines in a text, such as `12\tlet x`, without their numbers. Returns each run of consecutive
/// lines with the number of its first line.
pub fn numbered_lines(text: &str) -> Vec<(usize, String)> {
    let mut runs: Vec<(usize, usize, String)> = Vec::new();
    for line in text.lines() {
        let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        let number = line.trim_start().strip_suffix(rest).and_then(|number| number.parse::<usize>().ok());
        let shown = rest.strip_prefix('\t').or_else(|| rest.strip_prefix('→'));
        let (Some(number), Some(shown)) = (number, shown) else { continue };
        match runs.last_mut() {
            Some((_, next, run)) if *next == number => {
                run.push('\n');
                run.push_str(shown);
                *next += 1;
            }
            _ => runs.push((number, number + 1, shown.to_string())),
        }
    }
    runs.into_iter().map(|(first, _, run)| (first, run)).collect()
}

/// Reads which copies of files Claude Code saved before it changed them, as a `file-history-snapshot` or
/// `file-history-delta` line lists them.
pub fn read_saved_copies(line: &[u8]) -> Vec<SavedCopy> {
    let text = String::from_utf8_lossy(line);
    let Ok(entry) = serde_json::from_str::<Entry<'_>>(&text) else { return Vec::new() };
    let mut backups = Vec::new();
    let delta = entry.tracking_path.as_deref().map(|path| SavedCopy { path: path.to_string(), ..SavedCopy::default() });
    let raw = entry.snapshot.or(entry.backup).unwrap_or_default();
    let mut current: Option<SavedCopy> = delta;
    let mut depth = 0;
    let mut in_backups = false;
    let mut key = Cow::Borrowed("");
    for token in Walk::new(raw) {
        match token {
            Token::Open(_) => depth += 1,
            Token::Close(_) => depth -= 1,
            Token::Key(name) if depth == 1 && entry.snapshot.is_some() => in_backups = name == "trackedFileBackups",
            Token::Key(name) if depth == 2 && in_backups => {
                backups.extend(current.replace(SavedCopy { path: name.into_owned(), ..SavedCopy::default() }));
            }
            Token::Key(name) => key = name,
            Token::Text(value) => match (&mut current, key.as_ref()) {
                (Some(backup), "backupFileName") => backup.name = Some(value.into_owned()),
                (Some(backup), "backupTime") => backup.time = crate::transcript::event::parse_timestamp(&value),
                _ => {}
            },
            Token::Scalar(_) => {}
        }
    }
    backups.extend(current);
    backups
}

/// Counts the lines that a patch adds and removes.
fn count_changed_lines(patch: &str) -> Option<[u64; 2]> {
    let mut counts = [0, 0];
    let mut any = false;
    for token in Walk::new(patch) {
        if let Token::Text(line) = token {
            any = true;
            counts[0] += u64::from(line.starts_with('+'));
            counts[1] += u64::from(line.starts_with('-'));
        }
    }
    any.then_some(counts)
}

/// Decodes a JSON string. Returns `None` for any other JSON value.
fn decode_string(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    Some(json::unescape(inner))
}

/// Hashes a text given as a JSON string. The result equals [`text_fingerprint`] of the decoded text.
///
/// Most strings are escaped the way `serde_json` would escape them, so they need not be decoded.
fn hash_json_string(raw: &str) -> Option<u64> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    let is_canonical = memchr::memmem::find(inner.as_bytes(), b"\\u").is_none()
        && memchr::memmem::find(inner.as_bytes(), b"\\/").is_none();
    Some(if is_canonical { hash48(raw.as_bytes()) } else { text_fingerprint(&json::unescape(inner)) })
}

/// Hashes a text: 48 bits of the hash of its JSON form.
pub fn text_fingerprint(text: &str) -> u64 {
    hash48(serde_json::to_string(text).unwrap_or_default().as_bytes())
}

/// Hashes bytes to 48 bits. That is enough to distinguish the versions of one file, and takes a quarter less space.
fn hash48(bytes: &[u8]) -> u64 {
    xxh3_64(bytes) >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_do_not_depend_on_escaping() {
        for (raw, text) in [
            (r#""a\nb\t\"c\"""#, "a\nb\t\"c\""),
            (r#""\u00e9\/x""#, "é/x"),
            (r#""é/x""#, "é/x"),
            (r#""\u001b[0m""#, "\u{1b}[0m"),
            (r#""\u001B[0m""#, "\u{1b}[0m"),
        ] {
            assert_eq!(hash_json_string(raw), Some(text_fingerprint(text)), "{raw}");
        }
        assert_eq!(hash_json_string("null"), None);
    }

    #[test]
    fn numbered_lines_are_read() {
        let text = "9\ta\n10\t\tb\n...\n   20→c\nplain";
        assert_eq!(numbered_lines(text), [(9, "a\n\tb".to_string()), (20, "c".to_string())]);
        let line =
            br#"{"type":"attachment","attachment":{"type":"edited_text_file","filename":"/a","snippet":"1\tx\n2\ty"}}"#;
        assert_eq!(read_changed_lines(line), [(1, "x\ny".to_string())]);
    }

    #[test]
    fn records_and_traces_are_read() {
        let line = br#"{"uuid":"u1","type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]},"toolUseResult":{"filePath":"/a","oldString":"x","newString":"y","originalFile":"1\nx\n","structuredPatch":[{"oldStart":1,"oldLines":2,"newStart":1,"newLines":2,"lines":[" 1","-x","+y"]}],"userModified":true,"replaceAll":false}}"#;
        let record = read_record(line).expect("a record");
        assert_eq!(record.before.as_deref(), Some("1\nx\n"));
        assert_eq!(record.replaced, Some(("x".to_string(), "y".to_string())));
        assert_eq!((record.patch[0].old_start, record.patch[0].lines.len(), record.modified), (1, 3, true));
        let entry: Entry<'_> = serde_json::from_slice(line).expect("an entry");
        let trace = trace_of(&entry.record).expect("a trace");
        assert_eq!((trace.before, trace.counts), (Some(text_fingerprint("1\nx\n")), Some([1, 1])));
    }

    #[test]
    fn backups_are_listed() {
        let line = br#"{"type":"file-history-snapshot","messageId":"m","snapshot":{"messageId":"m","trackedFileBackups":{"src/a.rs":{"backupFileName":"12@v2","version":2,"backupTime":"2026-02-13T18:08:48.563Z"},"/b":{"backupFileName":null,"version":1,"backupTime":"2026-02-13T18:08:48.563Z"}},"timestamp":"2026-02-13T18:08:48.563Z"}}"#;
        let backups = read_saved_copies(line);
        assert_eq!(backups.len(), 2);
        assert_eq!((backups[0].path.as_str(), backups[0].name.as_deref()), ("src/a.rs", Some("12@v2")));
        assert_eq!(
            (backups[1].path.as_str(), backups[1].name.as_deref(), backups[1].time.is_some()),
            ("/b", None, true)
        );
    }
}
