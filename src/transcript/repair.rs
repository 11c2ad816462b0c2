//! From the bytes of one line to events: first as they stand, then repaired rung by rung, never dropped.
//!
//! Real transcripts hold lines cut by a crash, two records on one line, NUL blocks after a power cut, lone
//! surrogates, raw control bytes. Each rung mends one of these; what no rung can mend comes out as
//! [`Reading::Bad`] with its text, so that it is searchable and counted.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::transcript::event::Event;

/// What a line, or a part of one, turned out to be.
#[derive(Debug)]
pub enum Reading<'a> {
    /// A record.
    Event(Box<Event<'a>>),
    /// Something that is no record, with what can be read of it.
    Bad {
        /// Why it is none.
        reason: String,
        /// Its text, as far as it is text.
        text: Cow<'a, str>,
    },
}

/// How many false starts on one line are tried, so that a hostile line costs linear time.
const MOST_ATTEMPTS: usize = 32;

/// How one record is read out of JSON text.
pub(super) type Parse = for<'a> fn(&'a str) -> serde_json::Result<Event<'a>>;

/// Reads the bytes of a line and hands every record in it on, with its place in the line.
pub(super) fn read_records(bytes: &[u8], parse: Parse, each: &mut dyn FnMut(usize, Reading<'_>)) {
    let (start, body) = strip_ends(bytes, each);
    if body.is_empty() {
        return;
    }
    if let Ok(text) = std::str::from_utf8(body)
        && let Ok(event) = parse(text)
    {
        return each(start, Reading::Event(Box::new(event)));
    }
    // All repairs but the first keep the length, so that one copy is enough; for the first, places are put right.
    let mut repaired = String::from_utf8_lossy(body).into_owned().into_bytes();
    replace_lone_surrogates(&mut repaired);
    blank_control_bytes(&mut repaired);
    tame_scalars(&mut repaired);
    let repaired = String::from_utf8(repaired).unwrap_or_default();
    let same_length = repaired.len() == body.len();
    let each = &mut |at: usize, reading: Reading<'_>| {
        let at = if same_length { at } else { original(body, at - start) + start };
        each(at, reading);
    };
    if !split_records(&repaired, start, parse, each) {
        each(start, Reading::Bad { reason: reason_of(&repaired, parse), text: Cow::Borrowed(&repaired) });
    }
}

/// The place in the bytes of a place in their text, where each bad sequence has become one sign of three bytes.
fn original(bytes: &[u8], place: usize) -> usize {
    let (mut in_text, mut in_bytes) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid().len();
        if place <= in_text + valid {
            break;
        }
        in_text += valid + 3;
        in_bytes += valid + chunk.invalid().len();
    }
    in_bytes + place.saturating_sub(in_text)
}

/// Length of the whole records at the start of an unterminated line; what follows them may still be being written.
pub fn whole_records(bytes: &[u8]) -> usize {
    let start = padding(bytes);
    let body = &bytes[start..];
    let mut records = serde_json::Deserializer::from_slice(body).into_iter::<serde::de::IgnoredAny>();
    let mut whole = 0;
    while body[whole..].trim_ascii_start().first() == Some(&b'{') && matches!(records.next(), Some(Ok(_))) {
        whole = records.byte_offset();
    }
    if whole == 0 { 0 } else { start + whole }
}

/// Takes white space, a byte-order mark and NUL blocks off both ends; NUL blocks, there or inside, are reported.
fn strip_ends<'a>(bytes: &'a [u8], each: &mut dyn FnMut(usize, Reading<'_>)) -> (usize, &'a [u8]) {
    let start = padding(bytes);
    let body = &bytes[start..];
    let end = body.iter().rposition(|byte| !is_padding(*byte)).map_or(0, |at| at + 1);
    let body = &body[..end];
    if memchr::memchr(0, bytes).is_none() {
        return (start, body);
    }
    let outside = memchr::memchr_iter(0, bytes).count() - memchr::memchr_iter(0, body).count();
    let inside = body.split(|byte| *byte != 0).map(<[u8]>::len).filter(|run| *run >= NUL_BLOCK).sum::<usize>();
    if outside + inside > 0 {
        let reason = format!("{} NUL bytes, as a power cut leaves them", outside + inside);
        each(bytes.len() - bytes.trim_ascii_start().len(), Reading::Bad { reason, text: Cow::Borrowed("") });
    }
    (start, body)
}

/// Fewer NULs than this inside a line are somebody's text, not a torn block.
const NUL_BLOCK: usize = 16;

/// How much at the start of a line is no text.
fn padding(bytes: &[u8]) -> usize {
    let mark = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    mark + bytes[mark..].iter().position(|byte| !is_padding(*byte)).unwrap_or(bytes.len() - mark)
}

fn is_padding(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0
}

/// Replaces escapes of one half of a surrogate pair, which no string can hold.
fn replace_lone_surrogates(text: &mut [u8]) {
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &text[at..]) {
        at += found;
        let length = escape_length(&text[at..]);
        if length == 6 && half(&text[at..]).is_some_and(|code| (0xd800..0xe000).contains(&code)) {
            text[at..at + 6].copy_from_slice(b"\\ufffd");
        }
        at += length;
    }
}

/// Length of the escape at the start: a pair of surrogates is one escape.
fn escape_length(bytes: &[u8]) -> usize {
    match (half(bytes), bytes.get(6..).and_then(half)) {
        (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
        (Some(_), _) => 6,
        (None, _) => 2.min(bytes.len()),
    }
}

/// The code of the `\uXXXX` escape at the start.
fn half(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Puts a blank for each raw control byte, which JSON does not allow inside strings.
fn blank_control_bytes(text: &mut [u8]) {
    text.iter_mut().filter(|byte| **byte < 0x20 || **byte == 0x7f).for_each(|byte| *byte = b' ');
}

/// Puts 0 for every number that no machine number can hold, and for `NaN` and `Infinity`, which JSON does not have.
fn tame_scalars(text: &mut [u8]) {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'"' => at += string_length(&text[at..]),
            b'-' | b'0'..=b'9' | b'N' | b'I' => {
                let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b':');
                let length = text[at..].iter().position(ends).unwrap_or(text.len() - at);
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

/// Length of the string at the start, quotes included; to the end of the text if it does not end.
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

/// Reads the records that stand one after the other on the line, passing over what is none in between.
/// Says whether there was any.
fn split_records(text: &str, start: usize, parse: Parse, each: &mut dyn FnMut(usize, Reading<'_>)) -> bool {
    let mut found = Vec::new();
    let mut scraps = Vec::new();
    let mut at = 0;
    let mut attempts = MOST_ATTEMPTS;
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
                    // What stands between two records is one scrap, however often a record seemed to begin in it.
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
            each(start + at, Reading::Event(Box::new(event)));
        }
    }
    for (at, length) in scraps {
        let scrap = text[at..at + length].trim();
        if !scrap.is_empty() {
            let blanks = length - text[at..at + length].trim_start().len();
            each(start + at + blanks, Reading::Bad { reason: reason_of(scrap, parse), text: Cow::Borrowed(scrap) });
        }
    }
    true
}

/// Length of the record that begins here, if one does.
fn record_at(text: &str, parse: Parse) -> Option<usize> {
    if !text.starts_with('{') {
        return None;
    }
    let raw: &RawValue = serde_json::Deserializer::from_str(text).into_iter().next()?.ok()?;
    parse(raw.get()).ok().map(|_| raw.get().len())
}

/// The next place behind `at` where a record could begin. Claude Code's records begin with one of a few keys,
/// which keeps the search linear however many braces a line has.
fn next_start(text: &str, at: usize) -> usize {
    let behind = &text.as_bytes()[at + 1..];
    let starts = [&b"{\"type\":"[..], b"{\"parentUuid\":", b"{\"display\":", b"{\"uuid\":"];
    let found = starts.iter().filter_map(|key| memchr::memmem::find(behind, key)).min();
    found.map_or(text.len(), |found| at + 1 + found)
}

fn reason_of(text: &str, parse: Parse) -> String {
    match parse(text) {
        Err(error) if text.starts_with('{') => format!("not a JSON record: {}", without_place(&error)),
        _ if text.starts_with(['[', '"']) => "JSON, but not a record".to_string(),
        _ => "not a JSON record".to_string(),
    }
}

/// The parser's complaint without its line and column, which count inside a single line.
fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.split(" at line ").next().unwrap_or_default().to_string()
}
