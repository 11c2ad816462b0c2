//! Reads the records of one line, and repairs damaged lines instead of dropping them.
//!
//! Real transcripts contain lines cut off by a crash, two records on one line, NUL blocks after a power cut, lone
//! surrogates and raw control bytes. A line is first parsed unchanged, then repaired step by step; each step fixes
//! one kind of damage. The rest becomes [`ParsedRecord::Bad`] with its text, so that it is searchable and counted.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::transcript::event::Event;

/// The result of reading a line, or a part of one.
#[derive(Debug)]
pub enum ParsedRecord<'a> {
    /// A record.
    Event(Box<Event<'a>>),
    /// Something that is not a record, with its readable text.
    Bad {
        /// The reason why it is not a record.
        reason: String,
        /// Its text, as far as it is readable.
        text: Cow<'a, str>,
    },
}

/// The number of false starts tried on one line. The limit keeps the cost of a hostile line linear.
const MAX_ATTEMPTS: usize = 32;

/// A function that parses one record from JSON text.
pub(super) type Parse = for<'a> fn(&'a str) -> serde_json::Result<Event<'a>>;

/// Reads a line and calls `emit` with every record in it and the record's offset in the line.
pub(super) fn read_records(bytes: &[u8], parse: Parse, emit: &mut dyn FnMut(usize, ParsedRecord<'_>)) {
    let (start, body) = strip_padding(bytes, emit);
    if body.is_empty() {
        return;
    }
    if let Ok(text) = std::str::from_utf8(body)
        && let Ok(event) = parse(text)
    {
        return emit(start, ParsedRecord::Event(Box::new(event)));
    }
    // Only the first repair (invalid UTF-8) changes the length, so one copy is enough and offsets are mapped back once.
    let mut repaired = String::from_utf8_lossy(body).into_owned().into_bytes();
    replace_lone_surrogates(&mut repaired);
    blank_control_bytes(&mut repaired);
    zero_bad_numbers(&mut repaired);
    let repaired = String::from_utf8(repaired).unwrap_or_default();
    let same_length = repaired.len() == body.len();
    let emit = &mut |at: usize, reading: ParsedRecord<'_>| {
        let at = if same_length { at } else { original_offset(body, at - start) + start };
        emit(at, reading);
    };
    if !split_records(&repaired, start, parse, emit) {
        emit(start, ParsedRecord::Bad { reason: reason_of(&repaired, parse), text: Cow::Borrowed(&repaired) });
    }
}

/// Maps an offset in the repaired text back to the original bytes. Each invalid sequence became one 3-byte U+FFFD.
fn original_offset(bytes: &[u8], offset: usize) -> usize {
    let (mut in_text, mut in_bytes) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid().len();
        if offset <= in_text + valid {
            break;
        }
        in_text += valid + 3;
        in_bytes += valid + chunk.invalid().len();
    }
    in_bytes + offset.saturating_sub(in_text)
}

/// Returns the length of the complete records at the start of an unterminated line. The rest may be unfinished.
pub fn whole_records(bytes: &[u8]) -> usize {
    let start = padding_len(bytes);
    let body = &bytes[start..];
    let mut records = serde_json::Deserializer::from_slice(body).into_iter::<serde::de::IgnoredAny>();
    let mut whole = 0;
    while body[whole..].trim_ascii_start().first() == Some(&b'{') && matches!(records.next(), Some(Ok(_))) {
        whole = records.byte_offset();
    }
    if whole == 0 { 0 } else { start + whole }
}

/// Strips white space, a byte-order mark and NUL bytes from both ends. Reports those NULs, and NUL blocks inside.
/// Returns the offset of the body and the body.
fn strip_padding<'a>(bytes: &'a [u8], emit: &mut dyn FnMut(usize, ParsedRecord<'_>)) -> (usize, &'a [u8]) {
    let start = padding_len(bytes);
    let body = &bytes[start..];
    let end = body.iter().rposition(|byte| !is_padding(*byte)).map_or(0, |at| at + 1);
    let body = &body[..end];
    if memchr::memchr(0, bytes).is_none() {
        return (start, body);
    }
    let outside = memchr::memchr_iter(0, bytes).count() - memchr::memchr_iter(0, body).count();
    let inside = body.split(|byte| *byte != 0).map(<[u8]>::len).filter(|run| *run >= NUL_BLOCK).sum::<usize>();
    if outside + inside > 0 {
        let reason = format!("{} NUL bytes, probably from a power failure", outside + inside);
        emit(bytes.len() - bytes.trim_ascii_start().len(), ParsedRecord::Bad { reason, text: Cow::Borrowed("") });
    }
    (start, body)
}

/// The shortest run of NULs inside a line that counts as a torn block. Shorter runs are ordinary text.
const NUL_BLOCK: usize = 16;

/// Returns the length of the byte-order mark, white space and NULs at the start of a line.
fn padding_len(bytes: &[u8]) -> usize {
    let mark = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    mark + bytes[mark..].iter().position(|byte| !is_padding(*byte)).unwrap_or(bytes.len() - mark)
}

fn is_padding(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0
}

/// Replaces the escapes of lone surrogates, which a Rust string cannot contain.
fn replace_lone_surrogates(text: &mut [u8]) {
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &text[at..]) {
        at += found;
        let length = escape_length(&text[at..]);
        if length == 6 && unicode_escape(&text[at..]).is_some_and(|code| (0xd800..0xe000).contains(&code)) {
            text[at..at + 6].copy_from_slice(b"\\ufffd");
        }
        at += length;
    }
}

/// Returns the length of the escape at the start of `bytes`. A surrogate pair counts as one escape.
fn escape_length(bytes: &[u8]) -> usize {
    match (unicode_escape(bytes), bytes.get(6..).and_then(unicode_escape)) {
        (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
        (Some(_), _) => 6,
        (None, _) => 2.min(bytes.len()),
    }
}

/// Returns the code unit of the `\uXXXX` escape at the start of `bytes`.
fn unicode_escape(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Replaces each raw control byte with a space. JSON does not allow them inside strings.
fn blank_control_bytes(text: &mut [u8]) {
    text.iter_mut().filter(|byte| **byte < 0x20 || **byte == 0x7f).for_each(|byte| *byte = b' ');
}

/// Replaces numbers that overflow an `f64` with 0, and also `NaN` and `Infinity`, which JSON does not have.
fn zero_bad_numbers(text: &mut [u8]) {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'"' => at += string_length(&text[at..]),
            b'-' | b'0'..=b'9' | b'N' | b'I' => {
                let ends_word = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b':');
                let length = text[at..].iter().position(ends_word).unwrap_or(text.len() - at);
                let number = std::str::from_utf8(&text[at..at + length]).ok().and_then(|word| word.parse::<f64>().ok());
                if number.is_some_and(|number| !number.is_finite()) {
                    text[at..at + length].fill(b' ');
                    text[at] = b'0';
                }
                at += length.max(1);
            }
            _ => at += 1,
        }
    }
}

/// Returns the length of the string at the start of `text`, including its quotes. An unterminated string ends with the
/// text.
fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = text.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if text[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    text.len()
}

/// Reads the consecutive records of a line, and reports the text between them as bad. Returns false if no record
/// was found.
fn split_records(text: &str, start: usize, parse: Parse, emit: &mut dyn FnMut(usize, ParsedRecord<'_>)) -> bool {
    let mut found = Vec::new();
    let mut scraps = Vec::new();
    let mut at = 0;
    let mut attempts = MAX_ATTEMPTS;
    while at < text.len() {
        match record_at(&text[at..], parse) {
            Some(length) => {
                found.push((at, length));
                at += length;
            }
            None => {
                attempts -= 1;
                let next = if attempts == 0 { text.len() } else { next_start(text, at) };
                match scraps.last_mut() {
                    // The text between two records is one scrap, even after several false starts.
                    Some((from, length)) if *from + *length == at => *length += next - at,
                    _ => scraps.push((at, next - at)),
                }
                at = next;
            }
        }
    }
    if found.is_empty() {
        return false;
    }
    for (at, length) in found {
        if let Ok(event) = parse(&text[at..at + length]) {
            emit(start + at, ParsedRecord::Event(Box::new(event)));
        }
    }
    for (at, length) in scraps {
        let scrap = text[at..at + length].trim();
        if !scrap.is_empty() {
            let indent = length - text[at..at + length].trim_start().len();
            emit(
                start + at + indent,
                ParsedRecord::Bad { reason: reason_of(scrap, parse), text: Cow::Borrowed(scrap) },
            );
        }
    }
    true
}

/// Returns the length of the record at the start of `text`, if there is one.
fn record_at(text: &str, parse: Parse) -> Option<usize> {
    if !text.starts_with('{') {
        return None;
    }
    let raw: &RawValue = serde_json::Deserializer::from_str(text).into_iter().next()?.ok()?;
    parse(raw.get()).ok().map(|_| raw.get().len())
}

/// Returns the next offset after `at` where a record could begin. Claude Code's records begin with one of a few keys,
/// so the search stays linear for any number of braces.
fn next_start(text: &str, at: usize) -> usize {
    let rest = &text.as_bytes()[at + 1..];
    let starts = [&b"{\"type\":"[..], b"{\"parentUuid\":", b"{\"display\":", b"{\"uuid\":"];
    let found = starts.iter().filter_map(|key| memchr::memmem::find(rest, key)).min();
    found.map_or(text.len(), |found| at + 1 + found)
}

/// Explains why `text` is not a record.
fn reason_of(text: &str, parse: Parse) -> String {
    match parse(text) {
        Err(error) if text.starts_with('{') => format!("not a JSON record: {}", without_position(&error)),
        _ if text.starts_with(['[', '"']) => "JSON, but not a record".to_string(),
        _ => "not a JSON record".to_string(),
    }
}

/// Returns the parser's message without line and column, which mean nothing inside a single line.
fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.split(" at line ").next().unwrap_or_default().to_string()
}
