//! Finds secrets by their format. The formats themselves are in `table`.

use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

use crate::redact::Secret;
use crate::redact::chance::{is_harmless, is_random_rest, is_stand_in, is_uuid};
use crate::redact::shape::{Part, end_of, min_len, start_of};
use crate::redact::table::FORMATS;

/// A secret format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    pub(super) kind: &'static str,
    /// Every such secret contains at least one of these strings, or follows it.
    pub(super) anchors: &'static [&'static str],
    matcher: Matcher,
    /// A text with such a secret, and a text that only resembles one. See `table` for the notation.
    #[cfg(test)]
    pub(super) examples: [&'static str; 2],
}

/// The way to find the secret at an anchor.
#[derive(Clone, Copy, Debug)]
enum Matcher {
    /// A token of known shape around or after the anchor.
    Token { before: Option<Part>, after: &'static [Part], is_shown: bool, guard: Guard },
    /// A value that is assigned to a name with the anchor in it.
    Named(&'static [Part]),
    /// Group 1 of every match of a regex on the anchor's line.
    Line(&'static str),
    /// A function adds the ranges of the secrets.
    Read(fn(&str, usize, &mut Vec<Range<usize>>)),
}

/// A further condition for formats whose anchor also occurs in ordinary text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Guard {
    None,
    /// The token must look random and must not be a piece of base64.
    Random,
    /// The line must not announce a checksum.
    NotDigest,
}

/// The number of bytes examined before an anchor on its line; twice as many are examined after it.
pub(super) const LINE_REACH: usize = 200;
/// The number of bytes examined for a secret that begins at its anchor.
pub(super) const SECRET_REACH: usize = 4000;
/// The length from which the rest of a token is certainly random if it looks random.
const LONG: usize = 30;
/// The maximum number of bytes between a service's name and the sign of an assignment.
const LABEL_REACH: usize = 32;

/// The compiled regexes of [`Matcher::Line`], each compiled on first use.
static REGEXES: [OnceLock<Option<Regex>>; FORMATS.len()] = [const { OnceLock::new() }; FORMATS.len()];

impl Format {
    const fn new(kind: &'static str, anchors: &'static [&'static str], matcher: Matcher) -> Self {
        Self {
            kind,
            anchors,
            matcher,
            #[cfg(test)]
            examples: [""; 2],
        }
    }

    /// A token that begins with one of `prefixes`, in this case.
    pub(super) const fn token(kind: &'static str, prefixes: &'static [&'static str], after: &'static [Part]) -> Self {
        Self::new(kind, prefixes, Matcher::Token { before: None, after, is_shown: false, guard: Guard::None })
    }

    /// A token after one of `prefixes`, which stay visible.
    pub(super) const fn after(kind: &'static str, prefixes: &'static [&'static str], after: &'static [Part]) -> Self {
        Self::new(kind, prefixes, Matcher::Token { before: None, after, is_shown: true, guard: Guard::None })
    }

    /// A token with a fixed text in its middle or at its end.
    pub(super) const fn around(
        kind: &'static str,
        before: Part,
        middle: &'static [&'static str],
        after: &'static [Part],
    ) -> Self {
        Self::new(kind, middle, Matcher::Token { before: Some(before), after, is_shown: false, guard: Guard::None })
    }

    /// A value assigned to a name that contains one of `services`, in any case, and a word such as `key`.
    pub(super) const fn named(kind: &'static str, services: &'static [&'static str], value: &'static [Part]) -> Self {
        Self::new(kind, services, Matcher::Named(value))
    }

    /// Group 1 of a regex on a line that contains one of `words`, in any case.
    pub(super) const fn line(kind: &'static str, words: &'static [&'static str], regex: &'static str) -> Self {
        Self::new(kind, words, Matcher::Line(regex))
    }

    /// Secrets that need a parser of their own.
    pub(super) const fn read(
        kind: &'static str,
        words: &'static [&'static str],
        read: fn(&str, usize, &mut Vec<Range<usize>>),
    ) -> Self {
        Self::new(kind, words, Matcher::Read(read))
    }

    /// Restricts the format to tokens that look random.
    pub(super) const fn random(self) -> Self {
        self.guarded(Guard::Random)
    }

    /// Restricts the format to lines that do not announce a checksum.
    pub(super) const fn not_digest(self) -> Self {
        self.guarded(Guard::NotDigest)
    }

    const fn guarded(mut self, wanted: Guard) -> Self {
        if let Matcher::Token { guard, .. } = &mut self.matcher {
            *guard = wanted;
        }
        self
    }

    /// Reports whether the anchors count only at the start of a word or after an underscore.
    pub(super) const fn starts_name(&self) -> bool {
        matches!(self.matcher, Matcher::Token { before: None, .. } | Matcher::Named(_))
    }

    /// Adds the examples that the test checks.
    #[cfg_attr(not(test), expect(unused_variables, unused_mut, reason = "only tests keep the examples"))]
    pub(super) const fn like(mut self, example: &'static str, near_miss: &'static str) -> Self {
        #[cfg(test)]
        {
            self.examples = [example, near_miss];
        }
        self
    }
}

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

/// Reports whether `at` is the start of a word.
pub(super) fn at_word_start(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    match at.checked_sub(1).map(|before| bytes[before]) {
        // A word also starts after an escaped line break, as in JSON inside JSON.
        Some(b'n' | b't' | b'r') if at >= 2 && bytes[at - 2] == b'\\' => true,
        Some(before) => !before.is_ascii_alphanumeric() && before != b'_',
        None => true,
    }
}

/// Returns the line around `at` and its offset. Long lines are cut on both sides.
fn line_around(text: &str, at: usize) -> (&str, usize) {
    let floor = text.floor_char_boundary(at.saturating_sub(LINE_REACH));
    let ceiling = text.ceil_char_boundary((at + 2 * LINE_REACH).min(text.len()));
    let from = memchr::memrchr(b'\n', &text.as_bytes()[floor..at]).map_or(floor, |newline| floor + newline + 1);
    let to = memchr::memchr(b'\n', &text.as_bytes()[at..ceiling]).map_or(ceiling, |newline| at + newline);
    (&text[from..to], from)
}
