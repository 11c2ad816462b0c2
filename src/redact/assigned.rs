//! Secrets that only their name gives away: `DB_PASSWORD=…`, `"api_key": "…"`, `--token …`, `Authorization: …`.

use std::ops::Range;

use crate::redact::Secret;
use crate::redact::chance::{is_password, is_random, is_stand_in, is_uuid};

/// Parts of names that say that a secret is assigned to them, in any case.
#[rustfmt::skip]
pub(super) const NAMES: [&str; 39] = [
    "password", "passwd", "passphrase", "pwd", "passwort", "secret", "token", "apikey", "api_key", "api-key",
    "accesskey", "access_key", "access-key", "privatekey", "private_key", "private-key", "signingkey",
    "signing_key", "encryptionkey", "encryption_key", "accountkey", "account_key", "authkey", "auth_key",
    "masterkey", "master_key", "credential", "authorization", "bearer", "auth_pass", "dbpass", "db_pass", "_pass",
    "session_key", "webhook_key", "authtoken", "encryption-key", "signing-key", "app_key",
];

/// Ends of names that speak about a secret without being one.
#[rustfmt::skip]
const ABOUT: [&str; 26] = [
    "id", "ids", "name", "names", "url", "uri", "path", "file", "dir", "type", "arn", "count", "limit", "ttl",
    "hash", "length", "len", "size", "index", "usage", "policy", "field", "expiry", "at", "endpoint", "izer",
];

/// The longest value that is looked at.
const VALUE_CAP: usize = 2000;

const PASSWORD: &str = "password";
const SECRET: &str = "secret";

/// Whether a kind says less than any other.
pub(super) fn is_general(kind: &str) -> bool {
    kind == SECRET || kind == PASSWORD
}

/// Reads on from a name: is something assigned to it, and is that a secret?
pub(super) fn find(text: &str, part: Range<usize>) -> Option<Secret> {
    let name = name_around(text, &part);
    if speaks_about(&text[part.end..name.end]) {
        return None;
    }
    let word = text[part].to_ascii_lowercase();
    let is_password = word.contains("pass") || word == "pwd";
    let mut at = behind_sign(text, &name, word == "bearer")?;
    // `token: String = "…"` has its value behind the second sign.
    for _ in 0..2 {
        let (value, quoted) = value_at(text, at)?;
        if let Some(secret) = judged(text, &value, quoted, is_password, &word) {
            return Some(secret);
        }
        let rest = &text[value.end..];
        let blank = rest.len() - rest.trim_start_matches(' ').len();
        if quoted || !rest[blank..].starts_with('=') {
            return None;
        }
        at = value.end + blank + 1;
    }
    None
}

fn judged(text: &str, value: &Range<usize>, quoted: bool, is_pass: bool, word: &str) -> Option<Secret> {
    let content = &text[value.clone()];
    // What is called is no value.
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
    // What is set as a secret in an environment, or between quotes, may be made of words.
    let is_made_up = word == "secret" && is_password(content) && content.len() >= if quoted { 20 } else { 12 };
    let is_set = quoted || text[..value.start].ends_with('=');
    if is_made_up && is_set && !content.contains(['/', '.', '_']) {
        return found(SECRET);
    }
    let least = if word == "authorization" { 12 } else { 16 };
    let is_path = content.starts_with(['/', '.', '~']) || content.contains("://");
    if !is_pass && !is_path && is_random(content, least) { found(SECRET) } else { None }
}

/// The whole name a part stands in.
fn name_around(text: &str, part: &Range<usize>) -> Range<usize> {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'-';
    let bytes = text.as_bytes();
    let before = bytes[..part.start].iter().rev().take(80).take_while(|byte| is_name(byte)).count();
    let behind = bytes[part.end..].iter().take(80).take_while(|byte| is_name(byte)).count();
    part.start - before..part.end + behind
}

/// Whether the end of a name says that it only speaks about a secret: `token_count`, `secretName`, `passwordField`.
fn speaks_about(end: &str) -> bool {
    let small = end.to_ascii_lowercase();
    let last = small.rsplit(['_', '-']).next().unwrap_or_default();
    ABOUT.contains(&last) || ABOUT.iter().any(|about| end.len() > 2 && end.ends_with(&capital(about)))
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_ascii_uppercase().to_string() + chars.as_str()).unwrap_or_default()
}

/// Where the value begins that is assigned to a name, if one is.
fn behind_sign(text: &str, name: &Range<usize>, is_scheme: bool) -> Option<usize> {
    let rest = &text[name.end..];
    let skip = |rest: &str, of: &[char]| rest.len() - rest.trim_start_matches(of).len();
    // Quotes around the name, maybe escaped, and the bracket of an index.
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
    let blank = skip(&rest[at..], &[' ', '\t']);
    let sign = skip(&rest[at + blank..], &['=', ':', '>']);
    if (1..=3).contains(&sign) && blank < 40 && !rest[at + blank..].starts_with('>') {
        at += blank + sign;
        return Some(name.end + at + skip(&rest[at..], &[' ', '\t']).min(40));
    }
    // `--token x`, `Bearer x`: a blank is enough.
    let is_flag = text[name.clone()].starts_with("--");
    ((is_flag || is_scheme) && at == 0 && blank > 0 && sign == 0).then_some(name.end + blank)
}

/// The value that begins here, without its quotes, and whether it had any.
fn value_at(text: &str, at: usize) -> Option<(Range<usize>, bool)> {
    let at = at + scheme(&text[at..]);
    let rest = &text[at..text.ceil_char_boundary((at + VALUE_CAP).min(text.len()))];
    let lead = rest.len() - rest.trim_start_matches('\\').len();
    let prefix =
        usize::from(rest[lead..].starts_with(['b', 'f', 'r', '@']) && rest[lead + 1..].starts_with(['"', '\'']));
    let open = lead + prefix;
    let quote = rest[open..].chars().next()?;
    if matches!(quote, '"' | '\'' | '`') {
        let from = open + 1;
        let inner = from + scheme(&rest[from..]);
        let end = rest[inner..].find([quote, '\n', '\\'])?;
        return Some((at + inner..at + inner + end, true));
    }
    let ends = |c: char| c.is_whitespace() || c.is_control() || "\"'`,;(){}[]<>|\\".contains(c);
    let end = rest.find(ends).unwrap_or(rest.len());
    // In `a=1&token=x&b=2` the next name ends the value; a lone `&` is part of it.
    let end = rest[..end].match_indices('&').map(|(at, _)| at).find(|at| next_is_name(&rest[at + 1..])).unwrap_or(end);
    let end = rest[..end].trim_end_matches(['.', ':', '?']).len();
    (end > 0).then_some((at..at + end, false))
}

fn next_is_name(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "_-.".contains(c));
    text.is_empty() || text.starts_with('&') || (rest.len() < text.len() && rest.starts_with('='))
}

/// How long the word is that says how somebody is authorised: `Bearer `, `Basic `.
fn scheme(text: &str) -> usize {
    let schemes = ["bearer ", "basic ", "token ", "apikey "];
    let found =
        schemes.iter().find(|word| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)));
    found.map_or(0, |word| word.len())
}
