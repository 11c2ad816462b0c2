//! Finds secrets by their format. The formats themselves are in `formats`.

use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

use crate::redact::Secret;
use crate::redact::chance::{is_harmless, is_random_rest, is_stand_in, is_uuid};
use crate::redact::format::{Format, Guard, Matcher};
use crate::redact::formats::FORMATS;
use crate::redact::shape::{LINE_REACH, Part, SECRET_REACH, at_word_start, end_of, min_len, start_of};

/// The length from which the rest of a token is certainly random if it looks random.
const LONG: usize = 30;
/// The maximum number of bytes between a service's name and the sign of an assignment.
const LABEL_REACH: usize = 32;

/// The compiled regexes of [`Matcher::Line`], each compiled on first use.
static REGEXES: [OnceLock<Option<Regex>>; FORMATS.len()] = [const { OnceLock::new() }; FORMATS.len()];

/// Adds the secrets of the format `index` at the given anchor to `found`.
pub(super) fn find(index: usize, text: &str, anchor: Range<usize>, found: &mut Vec<Secret>) {
    let format = &FORMATS[index];
    let mut ranges = Vec::new();
    match format.matcher {
        Matcher::Token { .. } => ranges.extend(token_at(format, text, anchor)),
        Matcher::Named(value) => ranges.extend(named_value(value, text, anchor)),
        Matcher::Line(regex) => {
            if let Some(regex) = REGEXES[index].get_or_init(|| Regex::new(regex).ok()) {
                matches_on_line(regex, text, anchor.start, &mut ranges);
            }
        }
        Matcher::Read(read) => read(text, anchor.start, &mut ranges),
    }
    found.extend(ranges.into_iter().map(|range| Secret { range, kind: format.kind }));
}

/// Returns the range of the token at an anchor.
fn token_at(format: &Format, text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
    let Matcher::Token { before, after, is_shown, guard } = format.matcher else { return None };
    // Anchors are found in any case, but tokens have only one.
    if before.is_none() && !at_word_start(text, anchor.start) || !format.anchors.contains(&&text[anchor.clone()]) {
        return None;
    }
    let bytes = text.as_bytes();
    let start = before.map_or(Some(anchor.start), |run| start_of(run, bytes, anchor.start))?;
    let end = end_of(after, bytes, anchor.end, SECRET_REACH)?;
    let body = if before.is_some() { &text[start..end] } else { &text[anchor.end..end] };
    // A placeholder after a whole random token is not a part of it.
    let shortest = text.get(anchor.end..anchor.end + min_len(after)).filter(|shortest| shortest.len() >= LONG);
    let is_secret = (!is_stand_in(body) || shortest.is_some_and(is_random_rest))
        && match guard {
            Guard::None => true,
            Guard::Random => is_random_rest(body) && !is_uuid(body) && !is_inside_base64(bytes, start, end),
            Guard::NotDigest => !announces_digest(text, start),
        };
    is_secret.then_some(if is_shown { anchor.end } else { start }..end)
}

/// Reports whether a token is a piece of a longer base64 text.
fn is_inside_base64(bytes: &[u8], start: usize, end: usize) -> bool {
    let is_base64 = |byte: Option<&u8>| byte.is_some_and(|byte| b"+/".contains(byte));
    is_base64(start.checked_sub(1).and_then(|at| bytes.get(at))) || is_base64(bytes.get(end))
}

/// Reports whether the line before `at` says that a checksum follows.
fn announces_digest(text: &str, at: usize) -> bool {
    let (line, from) = line_around(text, at);
    let before = line[..at - from].to_ascii_lowercase();
    ["checksum", "hash", "digest", "sha1", "sha256", "md5", "etag", "integrity"]
        .iter()
        .any(|word| before.contains(word))
}

/// Returns the range of the value assigned to a name that contains a service's name and a word for a secret:
/// `HEROKU_API_KEY=…`, `Postmark server token: …`.
fn named_value(value: &[Part], text: &str, service: Range<usize>) -> Option<Range<usize>> {
    const WORDS: [&str; 9] = ["key", "token", "secret", "pat", "pass", "auth", "cred", "license", "login"];
    let bytes = text.as_bytes();
    let is_label = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-. ".contains(*byte);
    let end = service.end + bytes[service.end..].iter().take(LABEL_REACH).take_while(is_label).count();
    let label = text[service.start..end].trim_end().to_ascii_lowercase();
    let is_name = WORDS.iter().any(|word| label.contains(word)) && !label.ends_with("id") && !label.ends_with("url");
    let is_quote = |c: char| "\"'`\\]".contains(c);
    let rest = text[end..].trim_start_matches(is_quote).trim_start_matches(' ');
    let sign = rest.len() - rest.trim_start_matches(['=', ':', '>']).len();
    if !is_name || !(1..=3).contains(&sign) {
        return None;
    }
    let rest = rest[sign..].trim_start_matches([' ', '\t']).trim_start_matches(is_quote);
    let start = text.len() - rest.len();
    let end = end_of(value, bytes, start, SECRET_REACH)?;
    let content = &text[start..end];
    (is_random_rest(content) || (is_uuid(content) && !is_stand_in(content))).then_some(start..end)
}

/// Adds group 1 of every match on the line of `at`.
fn matches_on_line(regex: &Regex, text: &str, at: usize, found: &mut Vec<Range<usize>>) {
    let (line, from) = line_around(text, at);
    let groups = regex.captures_iter(line).filter_map(|groups| groups.get(1));
    let secrets = groups.filter(|secret| !is_stand_in(secret.as_str()) && !is_harmless(secret.as_str()));
    found.extend(secrets.map(|secret| from + secret.start()..from + secret.end()));
}

/// Returns the line around `at` and its offset. Long lines are cut on both sides.
fn line_around(text: &str, at: usize) -> (&str, usize) {
    let floor = text.floor_char_boundary(at.saturating_sub(LINE_REACH));
    let ceiling = text.ceil_char_boundary((at + 2 * LINE_REACH).min(text.len()));
    let from = memchr::memrchr(b'\n', &text.as_bytes()[floor..at]).map_or(floor, |newline| floor + newline + 1);
    let to = memchr::memchr(b'\n', &text.as_bytes()[at..ceiling]).map_or(ceiling, |newline| at + newline);
    (&text[from..to], from)
}
