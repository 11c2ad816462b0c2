//! Splits identifiers into their words: at separators, at changes of case, and between letters and digits.

use std::ops::Range;

use unicode_normalization::char::is_combining_mark;

use crate::tokenize::{BYTE_CLASSES, LOWER, UPPER};

/// The class of a character. Identifiers are cut where it changes.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Joiner,
}

/// Returns the ranges between separators.
pub(super) fn segments(text: &str, range: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = range.start;
    std::iter::from_fn(move || {
        let bytes = text.as_bytes();
        while at < range.end && matches!(bytes[at], b'_' | b'-') {
            at += 1;
        }
        let from = at;
        while at < range.end && !matches!(bytes[at], b'_' | b'-') {
            at += 1;
        }
        (from < at).then_some(from..at)
    })
}

/// Cuts a segment at changes of case and between letters and digits: `HTTPResponse2` is http, response, 2; `getURLs` is
/// get, urls.
pub(super) fn split_segment(text: &str, segment: Range<usize>, parts: &mut Vec<Range<usize>>) {
    let mut from = segment.start;
    let mut before = Class::Joiner;
    let mut before_at = segment.start;
    let mut chars = text[segment.clone()].char_indices().map(|(at, c)| (segment.start + at, c)).peekable();
    while let Some((at, c)) = chars.next() {
        if is_combining_mark(c) {
            // It belongs to the character before it, and has no case of its own.
            continue;
        }
        let class = class_of(c, before);
        let ends_word = chars.peek().is_none_or(|(_, next)| class_of(*next, class) != Class::Lower);
        if at > from {
            // In a run of capitals followed by a small letter, the last capital begins the next part.
            let cut = match (before, class) {
                (Class::Upper, Class::Lower) if before_at > from && !(c == 's' && ends_word) => Some(before_at),
                (Class::Lower, Class::Upper) => Some(at),
                (Class::Digit, now) if now != Class::Digit => Some(at),
                (was, Class::Digit) if was != Class::Digit => Some(at),
                _ => None,
            };
            if let Some(cut) = cut {
                parts.push(from..cut);
                from = cut;
            }
        }
        before = class;
        before_at = at;
    }
    parts.push(from..segment.end);
}

/// Like [`split_segment`], for ASCII text.
pub(super) fn split_ascii(bytes: &[u8], segment: Range<usize>, parts: &mut Vec<Range<usize>>) {
    let class = |at: usize| BYTE_CLASSES[usize::from(bytes[at])];
    let mut from = segment.start;
    for at in segment.start + 1..segment.end {
        let cut = match (class(at - 1), class(at)) {
            (before, now) if before == now => continue,
            // The plural of an abbreviation, such as `URLs`.
            (UPPER, LOWER)
                if bytes[at..].starts_with(b"s")
                    && at - 1 > from
                    && (at + 1 == segment.end || class(at + 1) != LOWER) =>
            {
                continue;
            }
            (UPPER, LOWER) => at - 1,
            _ => at,
        };
        if cut > from {
            parts.push(from..cut);
            from = cut;
        }
    }
    parts.push(from..segment.end);
}

/// Returns the class of a character. A combining mark has the class of the character before it.
fn class_of(c: char, before: Class) -> Class {
    if c.is_ascii() {
        return match c {
            '0'..='9' => Class::Digit,
            'A'..='Z' => Class::Upper,
            _ => Class::Lower,
        };
    }
    if c.is_numeric() {
        Class::Digit
    } else if c.is_uppercase() {
        Class::Upper
    } else if is_combining_mark(c) {
        before
    } else {
        Class::Lower
    }
}
