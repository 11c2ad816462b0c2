//! The piece of a text that shows why it was found, with the matching words marked. Pure.

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
    /// The piece, all white space folded to single blanks.
    pub text: String,
    /// Where the matching words are in it, in bytes.
    pub ranges: Vec<(usize, usize)>,
    /// Set if something was left out before it.
    #[serde(skip)]
    pub cut_before: bool,
    /// Set if something was left out after it.
    #[serde(skip)]
    pub cut_after: bool,
}

/// What is marked: terms, beginnings of terms, matches of patterns.
#[derive(Debug, Default)]
pub(crate) struct Marks<'q> {
    terms: HashMap<&'q str, usize>,
    /// How long the terms are, a bit for each length: most words of a text need no closer look.
    lengths: u64,
    prefixes: Vec<String>,
    /// Finds the letters of terms and prefixes; none if that tells nothing.
    letters: Option<AhoCorasick>,
    /// Characters of scripts without blanks, where the index has pairs.
    singles: Vec<char>,
    patterns: Vec<&'q Pattern>,
}

/// How much of an identifier tells that it may be there.
const BEGINNING: usize = 3;

/// The bit that stands for the length of a term; all long ones share one.
fn bit_of_length(term: &str) -> u64 {
    1 << term.len().min(63)
}

impl<'q> Marks<'q> {
    /// Marks what a query looks for.
    pub(crate) fn new(query: &'q Query, corrections: &'q Corrections) -> Self {
        let slips = query.terms().filter(|term| single(term).is_none());
        let others =
            slips.flat_map(|term| corrections.of(term).unwrap_or_default().iter().chain(corrections.forms_of(term)));
        let corrected = others.flat_map(|other| other.term.split(' '));
        let singles = query.terms().filter_map(single).collect();
        let patterns: Vec<&Pattern> = query.patterns().collect();
        // The words of a pattern would be marked where it does not match.
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
        let lengths = terms.keys().fold(0, |lengths, term| lengths | bit_of_length(term));
        let letters = letters(terms.keys().copied().chain(prefixes.iter().map(String::as_str)));
        Self { terms, lengths, prefixes, letters, singles, patterns }
    }

    fn term(&self, text: &str) -> Option<usize> {
        if self.lengths & bit_of_length(text) == 0 { None } else { self.terms.get(text).copied() }
    }

    /// Picks the piece of at most about `length` bytes that holds most of what is marked.
    pub(crate) fn snippet(&self, text: &str, length: usize) -> Snippet {
        let matches = self.matches(text);
        let window = best_window(text, &matches, length);
        dedup(text, window, &matches)
    }

    fn which(&self, term: Term<'_>) -> Option<usize> {
        let begins = || self.prefixes.iter().position(|prefix| term.text.starts_with(prefix.as_str()));
        self.term(term.text).or_else(|| begins().map(|at| at + (1 << 20)))
    }

    /// The stretches between blanks where there may be something to mark: no word goes over a blank. Where a text is not
    /// plain ASCII its letters do not tell how it is folded.
    fn runs(&self, text: &str) -> Vec<Range<usize>> {
        let bytes = text.as_bytes();
        let Some(letters) = &self.letters else { return std::iter::once(0..text.len()).collect() };
        let found = letters.find_iter(text).map(|found| found.start());
        let mut found = found.peekable();
        // Most texts are plain ASCII, which is told in a fraction of the time that a look at each byte takes.
        let beyond = if text.is_ascii() { &[][..] } else { bytes };
        let mut other = beyond.iter().enumerate().filter(|(_, byte)| !byte.is_ascii()).map(|(at, _)| at).peekable();
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

    /// Where a text has something to mark, and which of the marks it is.
    pub(crate) fn matches(&self, text: &str) -> Vec<(Range<usize>, usize)> {
        let mut matches: Vec<(Range<usize>, usize)> = Vec::new();
        for (which, pattern) in self.patterns.iter().enumerate() {
            matches.extend(pattern.matches(text).map(|range| (range, usize::MAX - which)));
        }
        if !self.terms.is_empty() || !self.prefixes.is_empty() {
            for run in self.runs(text) {
                analyze(&text[run.clone()], &mut |term| {
                    matches.extend(self.which(term).map(|which| (run.start + term.from..run.start + term.to, which)));
                });
            }
        }
        for (which, c) in self.singles.iter().enumerate() {
            matches.extend(text.match_indices(*c).map(|(at, found)| (at..at + found.len(), which + (1 << 21))));
        }
        if !self.patterns.is_empty() || !self.singles.is_empty() {
            matches.sort_by_key(|(range, _)| range.start);
        }
        matches
    }
}

/// Finds letters, in whatever case, without which nothing wanted is there.
fn letters<'a>(wanted: impl Iterator<Item = &'a str>) -> Option<AhoCorasick> {
    let mut needed = Vec::new();
    for text in wanted {
        if !text.is_ascii() || text.is_empty() {
            return None;
        }
        match text.strip_prefix(WHOLE_MARK) {
            // There may be a separator between any two letters of an identifier.
            Some(whole) => {
                let split = (1..whole.len().min(BEGINNING))
                    .flat_map(|at| ["_", "-"].map(|mark| whole[..at].to_string() + mark));
                needed.extend(split);
                needed.push(whole[..whole.len().min(BEGINNING)].to_string());
            }
            None => needed.push(text.to_string()),
        }
    }
    AhoCorasick::builder().ascii_case_insensitive(true).build(&needed).ok()
}

fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace()
}

/// The stretch with the most different terms; the earliest of equals.
fn best_window(text: &str, matches: &[(Range<usize>, usize)], length: usize) -> Range<usize> {
    let mut best = (0, 0);
    let mut from = 0;
    // How often each mark is in the stretch. There are few of them: looking through a list is faster than a map.
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
        let worth = (different, (end + 1 - start).min(8));
        if worth > best {
            best = worth;
            from = matches[start].0.start;
        }
    }
    // Some of what stands before tells what it is about.
    let from = line_or_word_start(text, from, length / 4);
    let to = word_end(text, (from + length).min(text.len()));
    from..to
}

fn count_of(counts: &mut Vec<(usize, usize)>, which: usize) -> &mut usize {
    let at = counts.iter().position(|(known, _)| *known == which).unwrap_or_else(|| {
        counts.push((which, 0));
        counts.len() - 1
    });
    &mut counts[at].1
}

/// A good place to begin, at most `back` bytes before `at`.
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

/// Folds white space and carries the marks along.
fn dedup(text: &str, window: Range<usize>, matches: &[(Range<usize>, usize)]) -> Snippet {
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

fn push_folded(out: &mut String, c: char) {
    if !c.is_whitespace() {
        out.push(c);
    } else if !out.is_empty() && !out.ends_with(' ') {
        out.push(' ');
    }
}

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
        /// Where letters are looked for first, the same is marked as if every word was looked at.
        #[test]
        fn no_mark_is_missed(
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
    fn wide_blanks_are_no_trouble() {
        let text = format!("{}│\u{a0}\u{a0}├── {}│\u{3000}parser.py", "x".repeat(300), "y".repeat(30));
        assert_eq!(show(&text, &["parser"], 80), "…[parser].py");
    }

    #[test]
    fn picks_the_stretch_with_most_terms() {
        let text = format!("alpha {} alpha beta {}", "x ".repeat(200), "y ".repeat(200));
        let shown = show(&text, &["alpha", "beta"], 40);
        assert!(shown.contains("[alpha] [beta]"), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…'));
    }
}
