//! Redacts secrets in a text: keys, tokens, passwords. Does no I/O.
//!
//! One pass over the text looks for a fixed list of strings that hint at a secret (`leads`). Only the text around those
//! is examined further. A text without them costs that one pass and no copy.
//!
//! The formats of keys and tokens are data: `formats` lists them, `shape` describes their characters, `format` a row of
//! the list, and `match_format` finds them. `parsers` finds what needs more than that, such as private keys. `assigned`
//! finds the values of names like `token`. `chance` distinguishes real secrets from placeholders and code.

mod chance;
mod assigned;
mod shape;
mod parsers;
mod format;
mod formats;
mod match_format;
mod leads;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use leads::Leads;

/// A secret in a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Secret {
    /// Its byte range in the text.
    pub range: Range<usize>,
    /// A short description, such as `github token`.
    pub kind: &'static str,
}

/// The rule to try where a string was found.
#[derive(Clone, Copy, Debug)]
enum Lead {
    /// An index into [`formats::FORMATS`].
    Format(usize),
    /// A part of a name that may have a secret assigned to it.
    Name,
}

static LEADS: LazyLock<Leads> = LazyLock::new(Leads::all);

/// Replaces every secret with a label such as `[redacted: github token]`. Borrows the text if there is none.
pub fn redact(text: &str) -> Cow<'_, str> {
    let secrets = secrets(text);
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut marks = Vec::new();
    Cow::Owned(replace_secrets(text, &secrets, &mut marks))
}

/// Like [`redact`], but takes the text. Copies nothing if there is no secret.
pub fn redact_owned(text: String) -> String {
    match redact(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(clean) => clean,
    }
}

/// Redacts a text with marked ranges, such as a snippet. The marks move with the text. A mark that touches a secret is
/// extended to its whole label.
pub fn redact_marked<'t>(text: &'t str, marks: &mut Vec<(usize, usize)>) -> Cow<'t, str> {
    let secrets = secrets(text);
    if secrets.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(replace_secrets(text, &secrets, marks)) }
}

/// Redacts the lines of a text, keeping their number. A secret that spans several lines is replaced in each of them.
pub fn redact_lines<'t>(lines: impl Iterator<Item = &'t str> + Clone) -> Vec<String> {
    let text = lines.clone().collect::<Vec<_>>().join("\n");
    let secrets = secrets(&text);
    let mut start = 0;
    let mut clean = |line: &str| {
        let range = start..start + line.len();
        start = range.end + 1;
        let overlapping =
            secrets.iter().filter(|secret| secret.range.start < range.end && secret.range.end > range.start);
        let within_line = overlapping.map(|secret| {
            let part = secret.range.start.max(range.start)..secret.range.end.min(range.end);
            Secret { range: part.start - range.start..part.end - range.start, kind: secret.kind }
        });
        replace_secrets(line, &within_line.collect::<Vec<_>>(), &mut Vec::new())
    };
    lines.map(&mut clean).collect()
}

/// Finds all secrets, in order and without overlaps.
pub fn secrets(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    LEADS.each(text, |range, lead| match lead {
        Lead::Format(index) => match_format::find(index, text, range, &mut found),
        Lead::Name => found.extend(assigned::find(text, range)),
    });
    merge_overlapping(found)
}

/// Merges overlapping secrets. The more specific kind wins.
fn merge_overlapping(mut found: Vec<Secret>) -> Vec<Secret> {
    found.sort_by_key(|secret| (secret.range.start, std::cmp::Reverse(secret.range.end)));
    let mut merged: Vec<Secret> = Vec::with_capacity(found.len());
    for secret in found {
        match merged.last_mut() {
            Some(last) if secret.range.start < last.range.end => {
                last.range.end = last.range.end.max(secret.range.end);
                if assigned::is_general(last.kind) {
                    last.kind = secret.kind;
                }
            }
            _ => merged.push(secret),
        }
    }
    merged
}

/// Returns the text with its secrets replaced by labels, and moves the marks to their new positions.
fn replace_secrets(text: &str, secrets: &[Secret], marks: &mut Vec<(usize, usize)>) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut copied = 0;
    // The range of each secret in the old text, and of its label in the new one.
    let mut labels: Vec<(Range<usize>, Range<usize>)> = Vec::with_capacity(secrets.len());
    for secret in secrets {
        clean.push_str(&text[copied..secret.range.start]);
        let from = clean.len();
        clean.push_str("[redacted: ");
        clean.push_str(secret.kind);
        clean.push(']');
        labels.push((secret.range.clone(), from..clean.len()));
        copied = secret.range.end;
    }
    clean.push_str(&text[copied..]);
    let new_offset = |at: usize, is_end: bool| match labels
        .iter()
        .rev()
        .find(|(old, _)| if is_end { old.start < at } else { old.start <= at })
    {
        Some((old, new)) if at < old.end || (is_end && at == old.end) => {
            if is_end {
                new.end
            } else {
                new.start
            }
        }
        Some((old, new)) => new.end + (at - old.end),
        None => at,
    };
    marks.iter_mut().for_each(|mark| *mark = (new_offset(mark.0, false), new_offset(mark.1, true)));
    marks.dedup();
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_move_with_the_text() {
        let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        let text = format!("key {token} and more");
        for (marked, shown) in [
            ("key", "[key] [redacted: github token] and more"),
            ("more", "key [redacted: github token] and [more]"),
            (&token[4..9], "key [[redacted: github token]] and more"),
        ] {
            let from = text.find(marked).expect("there");
            let mut marks = vec![(from, from + marked.len())];
            let mut clean = redact_marked(&text, &mut marks).into_owned();
            for (from, to) in marks.iter().rev() {
                clean.insert(*to, ']');
                clean.insert(*from, '[');
            }
            assert_eq!(clean, shown);
        }
    }
}
