//! Finds secrets in a text and puts a word in their place: keys, tokens, passwords. Pure.
//!
//! One pass over the text looks for the few dozen strings without which there is no secret; only around those is
//! anything looked at more closely. A text without them costs that one pass and no copy.
//!
//! Three kinds of rules: formats that give themselves away (`formats`), names that say what is assigned to them
//! (`assigned`), and how a made-up value is told from a real one (`chance`).

mod chance;
mod assigned;
mod formats;
mod leads;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use formats::FORMATS;
use leads::Leads;

/// A secret in a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Secret {
    /// Where it is, in bytes.
    pub range: Range<usize>,
    /// What it is, in a word or two.
    pub kind: &'static str,
}

/// What a string that was found may be the beginning of.
#[derive(Clone, Copy, Debug)]
enum Lead {
    Format(usize),
    Name,
}

static LEADS: LazyLock<Leads> = LazyLock::new(Leads::all);

/// Puts a word in place of every secret: `[redacted: github token]`. Borrows where there is none.
pub fn redact(text: &str) -> Cow<'_, str> {
    let secrets = secrets(text);
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut marks = Vec::new();
    Cow::Owned(without(text, &secrets, &mut marks))
}

/// The same for a text with marked ranges, such as a snippet: the marks move along, and a mark that touches a secret
/// goes over the word in its place.
pub fn redact_marked<'t>(text: &'t str, marks: &mut Vec<(usize, usize)>) -> Cow<'t, str> {
    let secrets = secrets(text);
    if secrets.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(without(text, &secrets, marks)) }
}

/// The same for the lines of a text, of which there are as many afterwards: what reaches over several goes from each.
pub fn redact_lines<'t>(lines: impl Iterator<Item = &'t str> + Clone) -> Vec<String> {
    let text = lines.clone().collect::<Vec<_>>().join("\n");
    let secrets = secrets(&text);
    let mut start = 0;
    let mut clean = |line: &str| {
        let range = start..start + line.len();
        start = range.end + 1;
        let here = secrets.iter().filter(|secret| secret.range.start < range.end && secret.range.end > range.start);
        let within = here.map(|secret| {
            let part = secret.range.start.max(range.start)..secret.range.end.min(range.end);
            Secret { range: part.start - range.start..part.end - range.start, kind: secret.kind }
        });
        without(line, &within.collect::<Vec<_>>(), &mut Vec::new())
    };
    lines.map(&mut clean).collect()
}

/// Finds all secrets, in order; no two overlap.
pub fn secrets(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    LEADS.each(text, |range, lead| match lead {
        Lead::Format(at) => FORMATS[at].find(text, range.start, &mut found),
        Lead::Name => found.extend(assigned::find(text, range)),
    });
    merged(found)
}

/// Joins what overlaps; the more telling kind names it.
fn merged(mut found: Vec<Secret>) -> Vec<Secret> {
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

/// Builds the text without its secrets and moves the marks to where they belong in it.
fn without(text: &str, secrets: &[Secret], marks: &mut Vec<(usize, usize)>) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut copied = 0;
    // Where each stretch of the old text begins and ends in the old and in the new one.
    let mut moved: Vec<(Range<usize>, Range<usize>)> = Vec::with_capacity(secrets.len());
    for secret in secrets {
        clean.push_str(&text[copied..secret.range.start]);
        let from = clean.len();
        clean.push_str("[redacted: ");
        clean.push_str(secret.kind);
        clean.push(']');
        moved.push((secret.range.clone(), from..clean.len()));
        copied = secret.range.end;
    }
    clean.push_str(&text[copied..]);
    let place = |at: usize, is_end: bool| match moved
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
    marks.iter_mut().for_each(|mark| *mark = (place(mark.0, false), place(mark.1, true)));
    marks.dedup();
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_move_along() {
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
