//! Patterns: regular expressions, and text to be found literally. Pure.
//!
//! The index contains words, not letters. So a pattern is reduced to the words and parts of words that every match must
//! contain. They narrow the search down to a few candidates, and only those are checked against the pattern.

use std::ops::Range;

use regex::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::error::{Error, ErrorKind, Result};
use crate::query::Node;
use crate::tokenize::{self, TERM_CAP};

/// Maximum number of words used to look up a literal text.
const NEEDS_CAP: usize = 64;
/// Maximum size of a compiled expression, in bytes.
const SIZE_CAP: usize = 1 << 20;

/// A pattern, and the words that every matching text must contain.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The pattern as typed.
    pub source: String,
    /// The words and parts of words that every match contains.
    pub needs: Vec<Node>,
    regex: Regex,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source && self.regex.as_str() == other.regex.as_str()
    }
}

impl Pattern {
    /// A pattern for a text to be found literally.
    pub fn literal(text: &str, any_case: bool) -> Result<Self> {
        let mut needs = needs_of(text);
        // Candidates are compared with the whole text anyway, and this many words narrow the search down enough.
        needs.truncate(NEEDS_CAP);
        Self::new(text, &regex::escape(text), any_case, needs)
    }

    /// A regular expression. Ignores case if it contains no capitals.
    pub fn regex(source: &str) -> Result<Self> {
        let any_case = !source.chars().any(char::is_uppercase);
        let parsed = ParserBuilder::new().nest_limit(50).build().parse(source);
        let hir = parsed.map_err(|error| refused(source, &error))?;
        Self::new(source, source, any_case, needs_of_expression(&hir))
    }

    fn new(source: &str, pattern: &str, any_case: bool, needs: Vec<Node>) -> Result<Self> {
        let regex = RegexBuilder::new(pattern)
            .case_insensitive(any_case)
            .multi_line(true)
            .size_limit(SIZE_CAP)
            .build()
            .map_err(|error| refused(source, &error))?;
        if needs.is_empty() {
            let what = format!("{source:?} contains nothing that can be searched for");
            return Err(Error::new(ErrorKind::Usage, what).hint("add at least two letters or digits that must match"));
        }
        Ok(Self { source: source.to_string(), needs, regex })
    }

    /// Reports whether a text contains a match.
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// Returns the byte ranges of all matches that are not empty.
    pub fn matches<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        self.regex.find_iter(text).map(|found| found.range()).filter(|range| !range.is_empty())
    }
}

/// The error for an invalid or too large expression.
fn refused(source: &str, error: &dyn std::fmt::Display) -> Error {
    let text = error.to_string();
    let reason = text.lines().rev().map(|line| line.trim().trim_start_matches("error: ")).find(|line| !line.is_empty());
    Error::new(ErrorKind::Usage, format!("cannot use the pattern {source:?}: {}", reason.unwrap_or("it is not valid")))
        .hint("use -F to search for literal text")
}

/// Returns the terms that every text containing this one must have. Words inside it are whole words. The words at its
/// ends may be parts of longer ones.
fn needs_of(text: &str) -> Vec<Node> {
    let mut needs = Vec::new();
    let mut at = 0;
    for segment in text.split(|c: char| !tokenize::is_word(c)) {
        let (from, to) = (at, at + segment.len());
        at = to + text[to..].chars().next().map_or(0, char::len_utf8);
        needs.extend(needs_of_segment(segment, from == 0, to == text.len()));
    }
    needs
}

/// Returns the terms for a run of letters and digits. A change to or from a script without blanks also separates words.
fn needs_of_segment(segment: &str, open_left: bool, open_right: bool) -> Vec<Node> {
    let mut starts = vec![0];
    let mut before = None;
    // Combining marks belong to the character before them.
    for (at, c) in segment.char_indices().filter(|(_, c)| c.is_alphanumeric()) {
        let is_unspaced = tokenize::is_unspaced(c);
        if before.replace(is_unspaced).is_some_and(|before| before != is_unspaced) {
            starts.push(at);
        }
    }
    let ends = starts.iter().skip(1).copied().chain([segment.len()]);
    let run = |(from, to): (usize, usize)| {
        needs_of_run(&segment[from..to], open_left && from == 0, open_right && to == segment.len())
    };
    starts.iter().copied().zip(ends).flat_map(run).collect()
}

/// Returns the terms for letters and digits that are all of a script with blanks, or all of one without.
///
/// At an end of the text they may be part of a longer identifier, which the tokenizer cuts at other positions. Then
/// only the identifier as a whole is certain to contain them.
fn needs_of_run(segment: &str, open_left: bool, open_right: bool) -> Vec<Node> {
    let parts: Vec<String> =
        tokenize::terms(segment).into_iter().filter(|(_, _, whole)| !whole).map(|(term, _, _)| term).collect();
    // In a script without blanks each pair is a term, even at the ends. A folded pair may be one character: `ﾃﾞ`.
    let has_pairs = segment.chars().filter(|c| tokenize::is_unspaced(*c)).count() > 1;
    if !(open_left || open_right) || has_pairs {
        return parts.into_iter().map(Node::Term).collect();
    }
    let mut text = parts.concat();
    // The index cuts longer terms. The mark before a whole identifier takes one byte.
    let is_long = text.len() >= TERM_CAP;
    text.truncate(text.floor_char_boundary(TERM_CAP - 1));
    let is_short = text.chars().count() < 2 && !text.chars().all(tokenize::is_unspaced);
    // Small letters after capitals move the cut: `DB` is db, but `DBset` is d, bset. And `Ü1` is one word, but `Ü10z`
    // is three.
    let is_mixed = !segment.is_ascii() && segment.contains(char::is_numeric) && segment.contains(char::is_alphabetic);
    let is_cut = is_long || parts.len() > 1 || is_mixed || open_right && segment.ends_with(char::is_uppercase);
    let (open_left, open_right) = if is_cut { (true, true) } else { (open_left, open_right) };
    if text.is_empty() || is_short { Vec::new() } else { vec![Node::Part { text, open_left, open_right }] }
}

/// Returns the terms that every match of an expression must contain.
fn needs_of_expression(hir: &Hir) -> Vec<Node> {
    match hir.kind() {
        HirKind::Concat(parts) => needs_of_sequence(parts),
        HirKind::Alternation(branches) => {
            let branches: Vec<Vec<Node>> = branches.iter().map(needs_of_expression).collect();
            if branches.iter().any(Vec::is_empty) {
                return Vec::new();
            }
            vec![Node::Any(branches.into_iter().map(Node::All).collect())]
        }
        HirKind::Repetition(repetition) if repetition.min > 0 => needs_of_expression(&repetition.sub),
        HirKind::Capture(capture) => needs_of_expression(&capture.sub),
        _ => literal_text(hir).map(|text| needs_of(&text)).unwrap_or_default(),
    }
}

/// Returns the terms for a sequence. Adjacent literal pieces are joined into one text.
fn needs_of_sequence(parts: &[Hir]) -> Vec<Node> {
    let mut needs = Vec::new();
    let mut text = String::new();
    for part in parts {
        if let Some(piece) = literal_text(part) {
            text += &piece;
            continue;
        }
        needs.extend(needs_of(&std::mem::take(&mut text)));
        needs.extend(needs_of_expression(part));
    }
    needs.extend(needs_of(&text));
    needs
}

/// Returns the only text that an expression matches, if there is only one. Upper and lower case count as the same.
fn literal_text(hir: &Hir) -> Option<String> {
    match hir.kind() {
        HirKind::Literal(literal) => String::from_utf8(literal.0.to_vec()).ok(),
        HirKind::Class(Class::Unicode(class)) => {
            let mut letters = class.iter().flat_map(|range| (range.start()..=range.end()).take(5));
            let first = letters.next()?.to_lowercase().next()?;
            let is_one_letter = letters.take(5).all(|letter| letter.to_lowercase().next() == Some(first));
            is_one_letter.then(|| first.to_string())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows terms, with `~` where more characters may precede or follow.
    fn show(needs: &[Node]) -> String {
        let show_need = |need: &Node| match need {
            Node::Term(term) => term.clone(),
            Node::Part { text, open_left, open_right } => {
                format!("{}{text}{}", if *open_left { "~" } else { "" }, if *open_right { "~" } else { "" })
            }
            Node::Any(branches) => format!(
                "({})",
                branches.iter().map(|branch| show(std::slice::from_ref(branch))).collect::<Vec<_>>().join("|")
            ),
            Node::All(all) => show(all),
            other => format!("{other:?}"),
        };
        needs.iter().map(show_need).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn literal_text_needs_its_words() {
        for (text, needs) in [
            ("retry", "~retry~"),
            ("(retry)", "retry"),
            ("error[E0603]: private", "~error e0603 private~"),
            ("andleReq", "~andlereq~"),
            ("E0", "~e0~"),
            (" handleRequest(", "handle request"),
            ("検索語", "検索 索語"),
            ("telemetry墁", "~telemetry 墁~"),
            ("語def", "~語 def~"),
            ("ooBar検索 xy", "~oobar~ 検索 xy~"),
            (" a検b ", "a 検 b"),
            ("ﾃﾞｰﾀ", "テ ー ータ"),
            ("語ｶﾞ", "語カ カ"),
            ("b的Ü1", "的 ~u1~"),
            ("用Ａ１", "~用 ~a1~"),
            ("a=1", ""),
            ("those PR", "~those ~pr~"),
            ("let max_retries = 3;", "~let max retries 3"),
        ] {
            assert_eq!(show(&needs_of(text)), needs, "{text}");
        }
    }

    #[test]
    fn expressions_need_their_fixed_parts() {
        for (source, needs) in [
            ("retry.*after", "~retry~ ~after~"),
            ("(get|set)Token", "(~get~|~set~) ~token~"),
            ("colou?r", "~colo~ ~r~"),
            ("(?i)retry", "~retry~"),
            (r"fn \w+_test\(", "~fn test"),
            (r"timeout: \d{3,}ms", "~timeout ~ms~"),
        ] {
            let pattern = Pattern::regex(source).expect(source);
            assert_eq!(show(&pattern.needs).replace("~r~", "").trim(), needs.replace("~r~", "").trim(), "{source}");
        }
    }

    #[test]
    fn patterns_without_words_are_refused() {
        for source in [".*", "", "(", "[a-z]+", "a{1000}{1000}", "x|"] {
            assert!(Pattern::regex(source).is_err(), "{source}");
        }
        assert!(Pattern::literal("?!", false).is_err());
    }

    #[test]
    fn lowercase_patterns_ignore_case() {
        assert!(Pattern::regex("retry").expect("valid").is_match("RETRY"));
        assert!(!Pattern::regex("Retry").expect("valid").is_match("retry"));
        assert!(!Pattern::literal("retry", false).expect("valid").is_match("RETRY"));
        assert!(Pattern::literal("retry", true).expect("valid").is_match("RETRY"));
    }
}
