//! Finds secrets by the name they are assigned to: `DB_PASSWORD=…`, `"api_key": "…"`, `--token …`,
//! `Authorization: …`.

use std::ops::Range;

use crate::redact::Secret;
use crate::redact::chance::{is_password, is_random, is_stand_in, is_uuid};

/// Parts of names that usually have a secret as their value, in any case.
#[rustfmt::skip]
pub(super) const NAMES: [&str; 42] = [
    "password", "passwd", "passphrase", "pwd", "passwort", "secret", "token", "apikey", "api_key", "api-key",
    "accesskey", "access_key", "access-key", "privatekey", "private_key", "private-key", "signingkey",
    "signing_key", "encryptionkey", "encryption_key", "accountkey", "account_key", "authkey", "auth_key",
    "masterkey", "master_key", "credential", "authorization", "bearer", "auth_pass", "dbpass", "db_pass", "_pass",
    "session_key", "webhook_key", "authtoken", "encryption-key", "signing-key", "app_key", "app-key",
    "license_key", "licensekey",
];

/// Endings of names that describe a secret without being one, such as `token_count`.
#[rustfmt::skip]
const DESCRIPTIVE_ENDINGS: [&str; 26] = [
    "id", "ids", "name", "names", "url", "uri", "path", "file", "dir", "type", "arn", "count", "limit", "ttl",
    "hash", "length", "len", "size", "index", "usage", "policy", "field", "expiry", "at", "endpoint", "izer",
];

/// The number of bytes of a value that are examined.
const VALUE_CAP: usize = 2000;

const PASSWORD: &str = "password";
const SECRET: &str = "secret";

/// Reports whether `kind` is generic, so that any other kind describes the secret better.
pub(super) fn is_general(kind: &str) -> bool {
    kind == SECRET || kind == PASSWORD
}

/// Finds a secret that is assigned to the name around `part`, which is a match of [`NAMES`].
pub(super) fn find(text: &str, part: Range<usize>) -> Option<Secret> {
    let name = whole_name(text, &part);
    if describes_secret(&text[part.end..name.end]) {
        return None;
    }
    let word = text[part].to_ascii_lowercase();
    let is_password = word.contains("pass") || word == "pwd";
    let mut at = value_start(text, &name, word == "bearer")?;
    // In `token: String = "…"` the value comes after the second sign.
    for _ in 0..2 {
        let (value, quoted) = value_at(text, at)?;
        if let Some(secret) = classify(text, &value, quoted, is_password, &word) {
            return Some(secret);
        }
        let rest = &text[value.end..];
        let spaces = rest.len() - rest.trim_start_matches(' ').len();
        if quoted || !rest[spaces..].starts_with('=') {
            return None;
        }
        at = value.end + spaces + 1;
    }
    None
}

/// Decides whether the value assigned to a name is a secret. `word` is the matching part of the name, in lower case.
fn classify(text: &str, value: &Range<usize>, quoted: bool, is_pass: bool, word: &str) -> Option<Secret> {
    let content = &text[value.clone()];
    // A function call or index expression is not a literal value.
    if !quoted && text[value.end..].starts_with(['(', '[', '{']) {
        return None;
    }
    let found = |kind| Some(Secret { range: value.clone(), kind });
    let is_folder = content.starts_with(['/', '~', '.', '*']) || (word == "pwd" && content.contains('/'));
    if is_pass && !is_folder && (is_password(content) || is_random(content, 12)) {
        return found(PASSWORD);
    }
    if is_uuid(content) {
        return if matches!(word, "token" | "bearer") { None } else { found(SECRET).filter(|_| !is_stand_in(content)) };
    }
    // A secret in an environment variable or in quotes can consist of words.
    let is_chosen_secret = word == "secret" && is_password(content) && content.len() >= if quoted { 20 } else { 12 };
    let is_set = quoted || text[..value.start].ends_with('=');
    if is_chosen_secret && is_set && !content.contains(['/', '.', '_']) {
        return found(SECRET);
    }
    let min_len = if word == "authorization" { 12 } else { 16 };
    if !is_pass && !is_path(content) && is_random(content, min_len) { found(SECRET) } else { None }
}

/// Reports whether a value is a path or URL. Base64 can begin with a slash too, but a path begins with a word.
fn is_path(content: &str) -> bool {
    let first = content.strip_prefix('/').map(|rest| rest.split('/').next().unwrap_or_default());
    let is_word = |first: &str| {
        let has = |is: fn(&u8) -> bool| first.as_bytes().iter().any(is);
        !has(u8::is_ascii_uppercase) || !has(u8::is_ascii_lowercase) || !has(u8::is_ascii_digit)
    };
    content.starts_with(['.', '~']) || content.contains("://") || first.is_some_and(is_word)
}

/// Returns the range of the whole name that contains `part`.
fn whole_name(text: &str, part: &Range<usize>) -> Range<usize> {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'-';
    let bytes = text.as_bytes();
    let before = bytes[..part.start].iter().rev().take(80).take_while(|byte| is_name(byte)).count();
    let after = bytes[part.end..].iter().take(80).take_while(|byte| is_name(byte)).count();
    part.start - before..part.end + after
}

/// Reports whether the end of a name shows that it only describes a secret: `token_count`, `secretName`,
/// `passwordField`.
fn describes_secret(end: &str) -> bool {
    let lower = end.to_ascii_lowercase();
    let last = lower.rsplit(['_', '-']).next().unwrap_or_default();
    DESCRIPTIVE_ENDINGS.contains(&last)
        || DESCRIPTIVE_ENDINGS.iter().any(|ending| end.len() > 2 && end.ends_with(&capitalized(ending)))
}

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_ascii_uppercase().to_string() + chars.as_str()).unwrap_or_default()
}

/// Returns the offset of the value assigned to a name, if there is one. `is_scheme` is true for `Bearer`.
fn value_start(text: &str, name: &Range<usize>, is_scheme: bool) -> Option<usize> {
    let rest = &text[name.end..];
    let skip = |rest: &str, of: &[char]| rest.len() - rest.trim_start_matches(of).len();
    // Skip quotes around the name, possibly escaped, and the bracket of an index.
    let mut at = skip(rest, &['\\', '"', '\'', '`', ']', ')']).min(6);
    let is_element = text[..name.start].ends_with('<') && rest.starts_with('>');
    if is_element {
        return Some(name.end + 1);
    }
    // `<add key="ApiSecret" value="…"/>`
    if at > 0
        && let Some(inner) = rest[at..].trim_start_matches(' ').strip_prefix("value=")
    {
        return Some(name.end + rest.len() - inner.len());
    }
    let spaces = skip(&rest[at..], &[' ', '\t']);
    let sign = skip(&rest[at + spaces..], &['=', ':', '>']);
    if (1..=3).contains(&sign) && spaces < 40 && !rest[at + spaces..].starts_with('>') {
        at += spaces + sign;
        return Some(name.end + at + skip(&rest[at..], &[' ', '\t']).min(40));
    }
    // In `--token x` and `Bearer x` a space is enough.
    let is_flag = text[name.clone()].starts_with("--");
    ((is_flag || is_scheme) && at == 0 && spaces > 0 && sign == 0).then_some(name.end + spaces)
}

/// Returns the range of the value at `at`, without its quotes, and whether it was quoted.
fn value_at(text: &str, at: usize) -> Option<(Range<usize>, bool)> {
    let at = at + auth_scheme_len(&text[at..]);
    let rest = &text[at..text.ceil_char_boundary((at + VALUE_CAP).min(text.len()))];
    let lead = rest.len() - rest.trim_start_matches('\\').len();
    let prefix =
        usize::from(rest[lead..].starts_with(['b', 'f', 'r', '@']) && rest[lead + 1..].starts_with(['"', '\'']));
    let open = lead + prefix;
    let quote = rest[open..].chars().next()?;
    if matches!(quote, '"' | '\'' | '`') {
        let from = open + 1;
        let inner = from + auth_scheme_len(&rest[from..]);
        let end = rest[inner..].find([quote, '\n', '\\'])?;
        return Some((at + inner..at + inner + end, true));
    }
    let ends_value = |c: char| c.is_whitespace() || c.is_control() || "\"'`,;(){}[]<>|\\".contains(c);
    let end = rest.find(ends_value).unwrap_or(rest.len());
    // In `a=1&token=x&b=2` the next parameter ends the value. Any other `&` is part of it.
    let end = rest[..end]
        .match_indices('&')
        .map(|(at, _)| at)
        .find(|at| starts_with_parameter(&rest[at + 1..]))
        .unwrap_or(end);
    let end = rest[..end].trim_end_matches(['.', ':', '?']).len();
    (end > 0).then_some((at..at + end, false))
}

/// Reports whether the text after an `&` begins another URL parameter.
fn starts_with_parameter(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "_-.".contains(c));
    text.is_empty() || text.starts_with('&') || (rest.len() < text.len() && rest.starts_with('='))
}

/// Returns the length of the authentication scheme at the start of `text`: `Bearer `, `Basic `.
fn auth_scheme_len(text: &str) -> usize {
    let schemes = ["bearer ", "basic ", "token ", "apikey "];
    let found =
        schemes.iter().find(|word| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)));
    found.map_or(0, |word| word.len())
}
