//! What a tool recorded beside its answer about the file it worked on: who wrote which contents over which.
//!
//! The record holds whole files, so while indexing only a [`Trace`] of it is kept: counts, and fingerprints of the
//! contents, with which contents that were put together again later can be proven. The [`Record`] itself is read
//! from the transcript when somebody asks for the history of a file.

use std::borrow::Cow;

use serde::Deserialize;
use xxhash_rust::xxh3::xxh3_64;

use crate::transcript::event::Trace;
use crate::transcript::json::{self, Token, Walk};
use crate::transcript::json_shape::{Entry, RawRecord};

/// A record, read from its line.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Record {
    /// The line it stands in.
    pub uuid: String,
    /// The whole file before.
    pub before: Option<String>,
    /// What was written or read.
    pub contents: Option<String>,
    /// The text that was replaced, and by which.
    pub replaced: Option<(String, String)>,
    /// Of what was read: the first line, how many lines, and how many the file has.
    pub lines: Option<[u64; 3]>,
    /// The change, as a patch.
    pub patch: Vec<Hunk>,
    /// Whether the user changed what the tool was about to write.
    pub modified: bool,
}

/// A piece of a patch.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct Hunk {
    /// The first line before, from 1.
    pub old_start: u64,
    /// Lines before.
    pub old_lines: u64,
    /// The first line after, from 1.
    pub new_start: u64,
    /// Lines after.
    pub new_lines: u64,
    /// The lines, each behind `+`, `-` or a blank.
    pub lines: Vec<String>,
}

/// Where a file was backed up.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Backup {
    /// The file.
    pub path: String,
    /// The name of the copy; none if there was no such file.
    pub name: Option<String>,
    /// When, in milliseconds since 1970.
    pub time: Option<i64>,
}

/// Keeps of a record what the index needs.
pub(super) fn trace_of(record: &RawRecord<'_>) -> Option<Trace> {
    let file = &record.file;
    let is_about_file = record.path.is_some() || record.notebook.is_some() || file.path.is_some();
    if !is_about_file {
        return None;
    }
    let trace = Trace {
        before: before_of(record).and_then(print_of_raw),
        contents: contents_of(record).and_then(print_of_raw),
        lines: (file.lines > 0).then_some([file.start, file.lines, file.total]),
        counts: record.patch.and_then(counts_of),
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

/// Reads the record of a line of a transcript.
pub fn read_record(line: &[u8]) -> Option<Record> {
    let text = String::from_utf8_lossy(line);
    let entry: Entry<'_> = serde_json::from_str(&text).ok()?;
    let record = &entry.record;
    let string = |raw: Option<&str>| raw.and_then(string_of).map(Cow::into_owned);
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

/// Reads which copies of files a line tells of.
pub fn read_backups(line: &[u8]) -> Vec<Backup> {
    let text = String::from_utf8_lossy(line);
    let Ok(entry) = serde_json::from_str::<Entry<'_>>(&text) else { return Vec::new() };
    let mut backups = Vec::new();
    let delta = entry.tracking_path.as_deref().map(|path| Backup { path: path.to_string(), ..Backup::default() });
    let raw = entry.snapshot.or(entry.backup).unwrap_or_default();
    let mut now: Option<Backup> = delta;
    let mut depth = 0;
    let mut inside = false;
    let mut key = Cow::Borrowed("");
    for token in Walk::new(raw) {
        match token {
            Token::Open(_) => depth += 1,
            Token::Close(_) => depth -= 1,
            Token::Key(name) if depth == 1 && entry.snapshot.is_some() => inside = name == "trackedFileBackups",
            Token::Key(name) if depth == 2 && inside => {
                backups.extend(now.replace(Backup { path: name.into_owned(), ..Backup::default() }));
            }
            Token::Key(name) => key = name,
            Token::Text(value) => match (&mut now, key.as_ref()) {
                (Some(backup), "backupFileName") => backup.name = Some(value.into_owned()),
                (Some(backup), "backupTime") => backup.time = crate::transcript::event::parse_timestamp(&value),
                _ => {}
            },
            Token::Scalar(_) => {}
        }
    }
    backups.extend(now);
    backups
}

/// Counts the lines that a patch adds and removes.
fn counts_of(patch: &str) -> Option<[u64; 2]> {
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

/// The text of a JSON string; none if it is something else.
fn string_of(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    Some(json::unescape(inner))
}

/// The fingerprint of a text, given as a JSON string. As a rule it is written in the way we would write it, and
/// need not be decoded.
fn print_of_raw(raw: &str) -> Option<u64> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    let is_usual = memchr::memmem::find(inner.as_bytes(), b"\\u").is_none()
        && memchr::memmem::find(inner.as_bytes(), b"\\/").is_none();
    Some(if is_usual { shortened(raw.as_bytes()) } else { print_of(&json::unescape(inner)) })
}

/// The fingerprint of a text.
pub fn print_of(text: &str) -> u64 {
    shortened(serde_json::to_string(text).unwrap_or_default().as_bytes())
}

/// 48 bits are enough to tell the states of one file apart, and a quarter shorter to keep.
fn shortened(bytes: &[u8]) -> u64 {
    xxh3_64(bytes) >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_do_not_depend_on_the_spelling() {
        for (raw, text) in [
            (r#""a\nb\t\"c\"""#, "a\nb\t\"c\""),
            (r#""\u00e9\/x""#, "é/x"),
            (r#""é/x""#, "é/x"),
            (r#""\u001b[0m""#, "\u{1b}[0m"),
            (r#""\u001B[0m""#, "\u{1b}[0m"),
        ] {
            assert_eq!(print_of_raw(raw), Some(print_of(text)), "{raw}");
        }
        assert_eq!(print_of_raw("null"), None);
    }

    #[test]
    fn records_are_read_whole_and_in_short() {
        let line = br#"{"uuid":"u1","type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]},"toolUseResult":{"filePath":"/a","oldString":"x","newString":"y","originalFile":"1\nx\n","structuredPatch":[{"oldStart":1,"oldLines":2,"newStart":1,"newLines":2,"lines":[" 1","-x","+y"]}],"userModified":true,"replaceAll":false}}"#;
        let record = read_record(line).expect("a record");
        assert_eq!(record.before.as_deref(), Some("1\nx\n"));
        assert_eq!(record.replaced, Some(("x".to_string(), "y".to_string())));
        assert_eq!((record.patch[0].old_start, record.patch[0].lines.len(), record.modified), (1, 3, true));
        let entry: Entry<'_> = serde_json::from_slice(line).expect("an entry");
        let trace = trace_of(&entry.record).expect("a trace");
        assert_eq!((trace.before, trace.counts), (Some(print_of("1\nx\n")), Some([1, 1])));
    }

    #[test]
    fn backups_are_named() {
        let line = br#"{"type":"file-history-snapshot","messageId":"m","snapshot":{"messageId":"m","trackedFileBackups":{"src/a.rs":{"backupFileName":"12@v2","version":2,"backupTime":"2026-02-13T18:08:48.563Z"},"/b":{"backupFileName":null,"version":1,"backupTime":"2026-02-13T18:08:48.563Z"}},"timestamp":"2026-02-13T18:08:48.563Z"}}"#;
        let backups = read_backups(line);
        assert_eq!(backups.len(), 2);
        assert_eq!((backups[0].path.as_str(), backups[0].name.as_deref()), ("src/a.rs", Some("12@v2")));
        assert_eq!(
            (backups[1].path.as_str(), backups[1].name.as_deref(), backups[1].time.is_some()),
            ("/b", None, true)
        );
    }
}
