//! The oracle: says what the index must contain, by a reader that is slow, obvious, and shares no code with the
//! program.
//!
//! It knows only the kinds of lines that [`line_of_kind`] makes. For each of them it says which text must be found at
//! which offset.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::transcript::{long_text, session, user_line};

/// Offsets in a file, and the text at each of them.
pub(crate) type Texts = BTreeSet<(u64, String)>;

/// The texts that must be found in a file with these bytes.
pub(crate) fn expected(bytes: &[u8]) -> Texts {
    let mut found = Texts::new();
    let mut offset = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        // A last line without a newline may be unfinished, unless it consists of complete records.
        let whole = if line.ends_with(b"\n") { line } else { &line[..length_of_records(line)] };
        found.extend(expected_of_line(whole).into_iter().map(|(at, text)| (offset + at, text)));
        offset += line.len() as u64;
    }
    found
}

/// The records of a line, wherever they begin, and the garbage between them.
fn expected_of_line(line: &[u8]) -> Vec<(u64, String)> {
    let mut found = Vec::new();
    let mut scrap = 0;
    let mut at = 0;
    while at < line.len() {
        if let Some((length, record)) = record_at(&line[at..]) {
            found.extend(garbage(line, scrap, at));
            found.extend(words(&record).into_iter().map(|words| (at as u64, words)));
            at += length;
            scrap = at;
        } else {
            at += 1;
        }
    }
    found.extend(garbage(line, scrap, at));
    found
}

fn garbage(line: &[u8], from: usize, to: usize) -> Option<(u64, String)> {
    let blanks = line[from..to].len() - line[from..to].trim_ascii_start().len();
    let text = String::from_utf8_lossy(line[from..to].trim_ascii()).into_owned();
    (!text.is_empty()).then(|| ((from + blanks) as u64, text))
}

/// The record that begins here, if there is one, and its length. It ends at the first brace that makes it valid.
fn record_at(bytes: &[u8]) -> Option<(usize, Value)> {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'}').map(|(at, _)| at + 1);
    let mut ends = if bytes.starts_with(b"{") { ends.collect() } else { Vec::new() }.into_iter();
    ends.find_map(|end| {
        let text = String::from_utf8_lossy(&bytes[..end]).replace("\\ud83d", "\\ufffd");
        let record: Value = serde_json::from_str(&text).ok()?;
        record.get("type").is_some().then_some((end, record))
    })
}

fn length_of_records(line: &[u8]) -> usize {
    let mut at = 0;
    while let Some((length, _)) = record_at(&line[at..]) {
        at += length;
    }
    at
}

/// The texts of a record: its message, or the tool results and texts in it.
fn words(record: &Value) -> Vec<String> {
    match &record["message"]["content"] {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => {
            let text = |block: &Value| block["text"].as_str().or(block["content"].as_str()).map(str::to_string);
            blocks.iter().filter_map(text).collect()
        }
        _ => Vec::new(),
    }
}

/// The number of kinds of lines.
pub(crate) const KINDS: usize = 9;

/// A line of a kind, with a text that occurs nowhere else.
pub(crate) fn line_of_kind(kind: usize, file: usize, number: u32) -> Vec<u8> {
    let session = session(u32::try_from(file).expect("small"));
    let words = format!("words of file{file} line{number}");
    let head = format!(r#""uuid":"u{file}-{number}","cwd":"/w/x","sessionId":"{session}""#);
    match kind {
        1 => format!(r#"{{"type":"assistant",{head},"message":{{"id":"m{number}","content":[{{"type":"text","text":"answer {words}"}}]}}}}"#).into_bytes(),
        2 => format!(r#"{{"type":"user",{head},"message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":"result {words}"}}]}}}}"#).into_bytes(),
        3 => format!("garbage {words}").into_bytes(),
        4 => [format!(r#"{{"type":"user",{head},"message":{{"content":"broken "#).as_bytes(), b"\xff\xfe", format!(r#" {words}"}}}}"#).as_bytes()].concat(),
        5 => format!(r#"{{"type":"user",{head},"message":{{"content":"half \ud83d {words}"}}}}"#).into_bytes(),
        6 => {
            let one = user_line(&session, number, &format!("one {words}"));
            let two = user_line(&session, number + 500_000, &format!("two {words}"));
            format!("{}{}", one.trim_end(), two.trim_end()).into_bytes()
        }
        7 => Vec::new(),
        8 => user_line(&session, number, &format!("listing {words}\n{}", long_text(number))).trim_end().into(),
        _ => user_line(&session, number, &format!("prompt {words}")).trim_end().into(),
    }
    .into_iter()
    .chain([b'\n'])
    .collect()
}
