//! Snippets: the piece of a text that shows why it was found, with the matches marked. Pure.

use std::collections::HashMap;
use std::ops::Range;

use aho_corasick::AhoCorasick;
use schemars::JsonSchema;
use serde::Serialize;

use crate::index::Corrections;
use crate::query::{Pattern, Query};
use crate::tokenize::{TERM_CAP, Term, WHOLE_MARK, analyze, single};

/// A piece of a text.
#[derive(Clone, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct Snippet {
    /// The piece, with each run of white space replaced by one blank.
    pub text: String,
    /// The byte ranges of the matches in it.
    pub ranges: Vec<(usize, usize)>,
    /// Set if something was left out before it.
    #[serde(skip)]
    pub cut_before: bool,
    /// Set if something was left out after it.
    #[serde(skip)]
    pub cut_after: bool,
}

/// Marks matches in texts: terms, prefixes of terms, and patterns.
#[derive(Debug, Default)]
pub(crate) struct Marks<'q> {
    /// The terms, each with its number.
    terms: HashMap<&'q str, usize>,
    /// The lengths of the terms, one bit for each length. Most words of a text need no lookup in `terms`.
    lengths: u64,
    prefixes: Vec<String>,
    /// Finds places where a term or prefix may be. `None` if a fast search cannot find them all.
    letters: Option<AhoCorasick>,
    /// Single characters of scripts without blanks. The index has only pairs of them.
    singles: Vec<char>,
    patterns: Vec<&'q Pattern>,
}

/// Number of bytes of an identifier that the fast search looks for.
const BEGINNING: usize = 3;
/// Number of the first prefix. Terms, prefixes and single characters are numbered in different ranges; patterns are
/// numbered down from `usize::MAX`.
const FIRST_PREFIX: usize = 1 << 20;
/// Number of the first single character.
const FIRST_SINGLE: usize = 1 << 21;

/// Returns the bit for the length of a term. All long terms share one bit.
fn length_bit(term: &str) -> u64 {
    1 << term.len().min(63)
}

impl<'q> Marks<'q> {
    /// Marks the matches of a query.
    pub(crate) fn new(query: &'q Query, corrections: &'q Corrections) -> Self {
        let words = query.terms().filter(|term| single(term).is_none());
        let variants =
            words.flat_map(|term| corrections.of(term).unwrap_or_default().iter().chain(corrections.forms_of(term)));
        let corrected = variants.flat_map(|variant| variant.term.split(' '));
        let singles = query.terms().filter_map(single).collect();
        let patterns: Vec<&Pattern> = query.patterns().collect();
        // The words of a pattern would also be marked where the pattern does not match.
        let terms = if patterns.is_empty() { query.terms().chain(corrected).collect() } else { Vec::new() };
        Self::with(terms.into_iter(), query.prefixes(), singles, patterns)
    }

    /// Marks terms.
    #[cfg(test)]
    pub(crate) fn of(wanted: impl Iterator<Item = &'q str>) -> Self {
        Self::with(wanted, Vec::new(), Vec::new(), Vec::new())
    }

    fn with(
        wanted: impl Iterator<Item = &'q str>,
        prefixes: Vec<String>,
        singles: Vec<char>,
        patterns: Vec<&'q Pattern>,
    ) -> Self {
        let terms: HashMap<&str, usize> =
            wanted.enumerate().map(|(at, term)| (&term[..term.floor_char_boundary(TERM_CAP)], at)).collect();
        let lengths = terms.keys().fold(0, |lengths, term| lengths | length_bit(term));
        let letters = finder(terms.keys().copied().chain(prefixes.iter().map(String::as_str)));
        Self { terms, lengths, prefixes, letters, singles, patterns }
    }

    /// Returns the number of a term.
    fn term(&self, text: &str) -> Option<usize> {
        if self.lengths & length_bit(text) == 0 { None } else { self.terms.get(text).copied() }
    }

    /// Returns the piece of about `length` bytes that contains the most different matches.
    pub(crate) fn snippet(&self, text: &str, length: usize) -> Snippet {
        let matches = self.matches(text);
        let window = best_window(text, &matches, length);
        excerpt(text, window, &matches)
    }

    /// Returns the number of the term or prefix that matches a word.
    fn matching(&self, term: Term<'_>) -> Option<usize> {
        let prefix = || self.prefixes.iter().position(|prefix| term.text.starts_with(prefix.as_str()));
        self.term(term.text).or_else(|| prefix().map(|at| at + FIRST_PREFIX))
    }

    /// Returns the ranges between blanks that may contain a match. No match spans a blank. A range with non-ASCII
    /// characters is always returned, because its letters may change when they are folded.
    fn candidates(&self, text: &str) -> Vec<Range<usize>> {
        let bytes = text.as_bytes();
        let Some(letters) = &self.letters else { return std::iter::once(0..text.len()).collect() };
        let found = letters.find_iter(text).map(|found| found.start());
        let mut found = found.peekable();
        // Most texts are plain ASCII. Checking that is much faster than looking at each byte.
        let not_ascii = if text.is_ascii() { &[][..] } else { bytes };
        let mut other = not_ascii.iter().enumerate().filter(|(_, byte)| !byte.is_ascii()).map(|(at, _)| at).peekable();
        let mut runs: Vec<Range<usize>> = Vec::new();
        loop {
            let at = match (found.peek(), other.peek()) {
                (Some(a), Some(b)) => *a.min(b),
                (Some(at), None) | (None, Some(at)) => *at,
                (None, None) => return runs,
            };
            let from = bytes[..at].iter().rposition(|byte| is_blank(*byte)).map_or(0, |blank| blank + 1);
            let to = bytes[at..].iter().position(|byte| is_blank(*byte)).map_or(text.len(), |blank| at + blank);
            while found.next_if(|at| *at < to).is_some() {}
            while other.next_if(|at| *at < to).is_some() {}
            runs.push(from..to);
        }
    }

    /// Returns the ranges of all matches in a text, each with the number of what matched.
    pub(crate) fn matches(&self, text: &str) -> Vec<(Range<usize>, usize)> {
        let mut matches: Vec<(Range<usize>, usize)> = Vec::new();
        for (which, pattern) in self.patterns.iter().enumerate() {
            matches.extend(pattern.matches(text).map(|range| (range, usize::MAX - which)));
        }
        if !self.terms.is_empty() || !self.prefixes.is_empty() {
            for run in self.candidates(text) {
                analyze(&text[run.clone()], &mut |term| {
                    matches
                        .extend(self.matching(term).map(|which| (run.start + term.from..run.start + term.to, which)));
                });
            }
        }
        for (which, c) in self.singles.iter().enumerate() {
            matches.extend(text.match_indices(*c).map(|(at, found)| (at..at + found.len(), which + FIRST_SINGLE)));
        }
        if !self.patterns.is_empty() || !self.singles.is_empty() {
            matches.sort_by_key(|(range, _)| range.start);
        }
        matches
    }
}

/// Returns a case-insensitive search that finds every place where one of the terms may occur, and possibly others. Of a
/// whole identifier it looks only for the first letters. Returns `None` for terms that are not ASCII.
fn finder<'a>(wanted: impl Iterator<Item = &'a str>) -> Option<AhoCorasick> {
    let mut needles = Vec::new();
    for text in wanted {
        if !text.is_ascii() || text.is_empty() {
            return None;
        }
        match text.strip_prefix(WHOLE_MARK) {
            // There may be a separator between any two letters of an identifier.
            Some(whole) => {
                let split = (1..whole.len().min(BEGINNING))
                    .flat_map(|at| ["_", "-"].map(|mark| whole[..at].to_string() + mark));
                needles.extend(split);
                needles.push(whole[..whole.len().min(BEGINNING)].to_string());
            }
            None => needles.push(text.to_string()),
        }
    }
    AhoCorasick::builder().ascii_case_insensitive(true).build(&needles).ok()
}

fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace()
}

/// Returns the range of about `length` bytes with the most different matches. The earliest range wins a tie.
fn best_window(text: &str, matches: &[(Range<usize>, usize)], length: usize) -> Range<usize> {
    let mut best = (0, 0);
    let mut from = 0;
    // The number of times each mark occurs in the range. A list is faster than a map for so few marks.
    let mut counts: Vec<(usize, usize)> = Vec::new();
    let mut different = 0;
    let mut start = 0;
    for (end, (range, which)) in matches.iter().enumerate() {
        different += usize::from(*count_of(&mut counts, *which) == 0);
        *count_of(&mut counts, *which) += 1;
        while matches[start].0.start + length < range.end && matches[start].0.start < range.start {
            let count = count_of(&mut counts, matches[start].1);
            *count -= 1;
            different -= usize::from(*count == 0);
            start += 1;
        }
        let value = (different, (end + 1 - start).min(8));
        if value > best {
            best = value;
            from = matches[start].0.start;
        }
    }
    // Some of the text before the first match gives it context.
    let from = line_or_word_start(text, from, length / 4);
    let to = word_end(text, (from + length).min(text.len()));
    from..to
}

/// Returns the count of a mark, 0 at first.
fn count_of(counts: &mut Vec<(usize, usize)>, which: usize) -> &mut usize {
    let at = counts.iter().position(|(known, _)| *known == which).unwrap_or_else(|| {
        counts.push((which, 0));
        counts.len() - 1
    });
    &mut counts[at].1
}

/// Returns the start of a line or word, up to `back` bytes before `at`.
fn line_or_word_start(text: &str, at: usize, back: usize) -> usize {
    let mut floor = at.saturating_sub(back);
    while !text.is_char_boundary(floor) {
        floor += 1;
    }
    if floor == 0 {
        return 0;
    }
    let before = &text[floor..at];
    if let Some(newline) = before.rfind('\n') {
        return floor + newline + 1;
    }
    before.split_once(char::is_whitespace).map_or(floor, |(_, rest)| at - rest.len())
}

/// Returns the end of a word, shortly before `at`. Returns `at` if there is none near.
fn word_end(text: &str, at: usize) -> usize {
    let mut at = at;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    if at == text.len() {
        return at;
    }
    let near = text[..at].char_indices().rev().take(24).find(|(_, c)| c.is_whitespace());
    near.map_or(at, |(blank, _)| blank)
}

/// Cuts a range out of a text, folds its white space, and moves the matches to their new places.
fn excerpt(text: &str, window: Range<usize>, matches: &[(Range<usize>, usize)]) -> Snippet {
    let mut snippet = Snippet {
        cut_before: !text[..window.start].trim().is_empty(),
        cut_after: !text[window.end..].trim().is_empty(),
        ..Snippet::default()
    };
    let mut marks = matches
        .iter()
        .map(|(range, _)| range)
        .filter(|range| range.start >= window.start && range.end <= window.end)
        .peekable();
    let mut open: Option<(usize, usize)> = None;
    for (at, c) in text[window.clone()].char_indices().map(|(at, c)| (window.start + at, c)) {
        if open.is_some_and(|(_, end)| at >= end) {
            close(&mut snippet, &mut open);
        }
        while let Some(mark) = marks.next_if(|mark| mark.start <= at) {
            open = Some(match open {
                Some((start, end)) => (start, end.max(mark.end)),
                None => (snippet.text.len(), mark.end),
            });
        }
        push_folded(&mut snippet.text, c);
    }
    close(&mut snippet, &mut open);
    snippet.text.truncate(snippet.text.trim_end().len());
    snippet
}

/// Appends a character. White space becomes one blank, and none at the beginning.
fn push_folded(out: &mut String, c: char) {
    if !c.is_whitespace() {
        out.push(c);
    } else if !out.is_empty() && !out.ends_with(' ') {
        out.push(' ');
    }
}

/// Ends an open mark at the end of the snippet, and joins it to the previous one if they touch.
fn close(snippet: &mut Snippet, open: &mut Option<(usize, usize)>) {
    if let Some((start, _)) = open.take() {
        let end = snippet.text.trim_end().len();
        match snippet.ranges.last_mut() {
            Some(last) if last.1 >= start => last.1 = end,
            _ if end > start => snippet.ranges.push((start, end)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows a snippet with its marks in brackets.
    fn show(text: &str, wanted: &[&str], length: usize) -> String {
        let snippet = Marks::of(wanted.iter().copied()).snippet(text, length);
        let mut shown = snippet.text.clone();
        for (start, end) in snippet.ranges.iter().rev() {
            shown.insert(*end, ']');
            shown.insert(*start, '[');
        }
        format!("{}{shown}{}", if snippet.cut_before { "…" } else { "" }, if snippet.cut_after { "…" } else { "" })
    }

    #[test]
    fn marks_what_matched_on_the_original_text() {
        for (text, wanted, shown) in [
            ("The Retry\n\n  policy", &["retry"][..], "The [Retry] policy"),
            ("call parseRetryAfter(x)", &["parseretryafter", "parse", "retry", "after"], "call [parseRetryAfter](x)"),
            ("call parseRetryAfter(x)", &["retry"], "call parse[Retry]After(x)"),
            ("日本語の検索", &["本語", "語の"], "日[本語の]検索"),
            ("naïve café", &["cafe"], "naïve [café]"),
            ("nothing here", &["zebra"], "nothing here"),
        ] {
            assert_eq!(show(text, wanted, 80), shown);
        }
    }

    proptest::proptest! {
        /// The fast search finds the same matches as looking at every word.
        #[test]
        fn the_fast_search_misses_nothing(
            text in "([abAB]{1,2}[_-]{0,2}|[ 1é=\\n]){0,40}",
            wanted in proptest::collection::vec("=?[ab]{1,5}", 1..4),
        ) {
            let marks = Marks::of(wanted.iter().map(String::as_str));
            let thorough = Marks { letters: None, ..Marks::of(wanted.iter().map(String::as_str)) };
            proptest::prop_assert!(marks.letters.is_some());
            proptest::prop_assert_eq!(marks.matches(&text), thorough.matches(&text));
        }
    }

    #[test]
    fn multibyte_blanks_do_not_panic() {
        let text = format!("{}│\u{a0}\u{a0}├── {}│\u{3000}parser.py", "x".repeat(300), "y".repeat(30));
        assert_eq!(show(&text, &["parser"], 80), "…[parser].py");
    }

    #[test]
    fn picks_the_range_with_most_terms() {
        let text = format!("alpha {} alpha beta {}", "x ".repeat(200), "y ".repeat(200));
        let shown = show(&text, &["alpha", "beta"], 40);
        assert!(shown.contains("[alpha] [beta]"), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…'));
    }
}
