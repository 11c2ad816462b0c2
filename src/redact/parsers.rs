//! Finds secrets that need a parser: URLs with a password, JWTs, cookies, private keys.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::redact::chance::{is_harmless, is_random, is_stand_in, is_uuid};
use crate::redact::shape::{LINE_REACH, SECRET_REACH, URL, WIDE, at_least, at_word_start, end_of};

/// Finds the password in `scheme://user:password@host`, or a token that replaces the user name.
pub(super) fn address(text: &str, at: usize, found: &mut Vec<Range<usize>>) {
    found.extend(address_at(text, at));
}

/// Finds a PEM private key, complete or truncated.
pub(super) fn private_key(text: &str, at: usize, found: &mut Vec<Range<usize>>) {
    found.extend(private_key_at(text, at));
}

/// Finds a JWT: three to five parts, the first of which is a JSON object in base64. A last part may be empty.
pub(super) fn jwt(text: &str, at: usize, found: &mut Vec<Range<usize>>) {
    found.extend(jwt_at(text, at));
}

fn jwt_at(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    if !at_word_start(text, at) || !text[at..].starts_with("eyJ") {
        return None;
    }
    let part = |at| end_of(&[at_least(URL, 0)], bytes, at, SECRET_REACH).unwrap_or(at);
    let (mut end, mut dots) = (part(at), 0);
    let is_header_long = end - at >= 11;
    // The second part must be long, so that `eyJ….x.y` in code is not taken for a token. Flask signs with six bytes.
    let mut is_payload_long = false;
    while dots < 4 && bytes.get(end) == Some(&b'.') {
        let next = part(end + 1);
        dots += 1;
        is_payload_long |= dots == 1 && (next - end > 8 || (next - end == 7 && part(next + 1) - next > 20));
        end = next;
    }
    let is_token = is_header_long && is_payload_long && dots >= 2 && !is_stand_in(&text[at..end]);
    is_token.then_some(at..end)
}

/// Finds random values in a list of cookies: `Cookie: sid=…; theme=dark`, `cookies={"sid": "…"}`.
pub(super) fn cookies(text: &str, at: usize, found: &mut Vec<Range<usize>>) {
    let Some(mut at) = cookie_list(text, at) else { return };
    let bytes = text.as_bytes();
    while let Some(value) = cookie_value(text, at) {
        let end = end_of(&[at_least(WIDE, 0)], bytes, value, SECRET_REACH).unwrap_or(value);
        if is_random(&text[value..end], 16) || is_uuid(&text[value..end]) {
            found.push(value..end);
        }
        let rest = text[end..].trim_start_matches(is_quote);
        let Some(next) = rest.strip_prefix([';', ',']) else { return };
        at = text.len() - next.trim_start_matches(' ').len();
    }
}

/// Returns the offset of the first cookie after the word `cookie` at `at`.
fn cookie_list(text: &str, at: usize) -> Option<usize> {
    let rest = text[at + "cookie".len()..].trim_start_matches(['s', 'S']);
    let is_flag = text[..at].ends_with("--") && rest.starts_with([' ', '=']);
    let rest = rest.trim_start_matches(is_quote).trim_start_matches(' ');
    let rest = if is_flag { rest.trim_start_matches('=') } else { rest.strip_prefix([':', '='])? };
    Some(text.len() - rest.trim_start_matches([' ', '\t', '{']).trim_start_matches(is_quote).len())
}

/// Returns the offset of the value of the cookie at `at`.
fn cookie_value(text: &str, at: usize) -> Option<usize> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let name = text[at..].trim_start_matches(is_quote);
    let rest = name.trim_start_matches(is_name);
    let value = rest.trim_start_matches(is_quote).strip_prefix(['=', ':'])?;
    let has_name = (1..80).contains(&(name.len() - rest.len()));
    has_name.then_some(text.len() - value.trim_start_matches(' ').trim_start_matches(is_quote).len())
}

/// Reports whether a character is a quote or the escape before one.
fn is_quote(c: char) -> bool {
    "\"'`\\".contains(c)
}

/// Finds the password in `scheme://user:password@host`, or a token that replaces the user name.
fn address_at(text: &str, at: usize) -> Option<Range<usize>> {
    let scheme = text[..at].bytes().next_back().is_some_and(|byte| byte.is_ascii_alphanumeric());
    let start = at + "://".len();
    let rest = text.get(start..text.ceil_char_boundary((start + 2 * LINE_REACH).min(text.len()))).filter(|_| scheme)?;
    // Parsed by hand because compiling the pattern takes longer than a whole search.
    let (login, host) = rest.split_once('@')?;
    let is_host = |c: char| c.is_alphanumeric() || "_[$%{".contains(c);
    if !host.starts_with(is_host) || login.contains(|c: char| c.is_whitespace() || "/?\"'`<>\\".contains(c)) {
        return None;
    }
    let Some((user, word)) = login.split_once(':') else {
        let is_token = login.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        return (is_token && is_random(login, 20)).then(|| start..start + login.len());
    };
    if user.contains(['#', '(', ')', '{', '}', '$']) || word.is_empty() {
        return None;
    }
    let password = start + user.len() + 1..start + login.len();
    let is_variable = word.starts_with(['$', '%', '{', '[', '*', ':']);
    let is_plain = word == user || is_harmless(word) || word.bytes().all(|byte| byte == b'x');
    (!is_variable && !is_plain && !is_stand_in(word)).then_some(password)
}

/// Finds a PEM private key, complete or truncated.
fn private_key_at(text: &str, at: usize) -> Option<Range<usize>> {
    static HEAD: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----").ok());
    static TAIL: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----").ok());
    let rest = &text[at..];
    let body = HEAD.as_ref()?.find(rest)?.end();
    let near = &rest[body..rest.ceil_char_boundary((body + 5 * SECRET_REACH).min(rest.len()))];
    let end = TAIL.as_ref()?.find(near).map_or_else(|| truncated_key_len(near), |tail| tail.end());
    let longest = near[..end].split(|c: char| !c.is_ascii_alphanumeric() && !"+/=".contains(c)).map(str::len).max();
    (longest.unwrap_or(0) >= KEY_LINE).then_some(at..at + body + end)
}

/// The minimum length of a line of a key. Only the last line can be shorter.
const KEY_LINE: usize = 24;

/// Returns the length of a key whose end marker is missing.
fn truncated_key_len(text: &str) -> usize {
    let is_key = |line: &str| {
        let line = line.trim();
        line.len() < 8000 && line.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=\\:,-.".contains(&byte))
    };
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        if !is_key(line) && end > 0 {
            break;
        }
        if !is_key(line) {
            return joined_key_len(line);
        }
        end += line.len();
    }
    text[..end].trim_end().len()
}

/// Returns the length of a key whose lines were joined into one line, as in a title. Text after the key is not part of
/// it, but a last word that may be a truncated key line is.
fn joined_key_len(line: &str) -> usize {
    let (mut at, mut end) = (0, 0);
    let mut words = line.split_inclusive(char::is_whitespace).peekable();
    while let Some(word) = words.next() {
        let text = word.trim_end();
        let key = text.find(|c: char| !c.is_ascii_alphanumeric() && !"+/=\\".contains(c)).unwrap_or(text.len());
        let is_truncated = end > 0 && key > 0 && words.peek().is_none();
        let is_key = key >= KEY_LINE || is_truncated;
        if is_key {
            end = at + key;
        }
        if !text.is_empty() && (!is_key || key < text.len()) {
            break;
        }
        at += word.len();
    }
    end
}
