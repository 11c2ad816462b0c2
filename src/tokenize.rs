//! From text to terms, the same way for what is indexed, what is asked and what is highlighted. Pure, one pass.
//!
//! Code and prose share one index, so a word is what people type of it: `parseRetryAfter` is found by `parse`,
//! `retry`, `after`, by `parseretryafter`, `parse_retry_after` and `parse-retry-after`. An identifier therefore
//! gives its parts, each at a position of its own, and besides them the whole with its separators removed and a
//! mark in front. Wholes are never looked for side by side, so they all have position 0, which costs no space. Case and
//! accents are folded. Scripts without blanks give overlapping pairs of characters.
//! Hashes, ids and other noise are kept whole rather than chopped into crumbs.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Raised whenever the same text would give other terms than before; part of the index's fingerprint.
pub const ANALYSIS_VERSION: u32 = 1;

/// Longer terms are cut here; a query is cut alike, so it still finds them.
pub const TERM_CAP: usize = 255;

/// What stands in front of a whole identifier, so that it never is the same term as a plain word.
pub const WHOLE_MARK: char = '=';

/// More underscores in a row than this do not hold an identifier together.
const JOINER_RUN: usize = 8;

/// One term of a text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Term<'a> {
    /// The folded term.
    pub text: &'a str,
    /// Where it begins in the original text.
    pub from: usize,
    /// Where it ends in the original text.
    pub to: usize,
    /// Its place in the sequence of words; 0 for a `whole`.
    pub position: usize,
    /// Whether it is a whole identifier, given besides its parts.
    pub whole: bool,
}

/// Passes every term of a text to `each`, in order of position.
pub fn analyze(text: &str, each: &mut impl FnMut(Term<'_>)) {
    analyze_with(text, &mut Scratch::default(), each);
}

/// Memory that is used again from text to text.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    folded: String,
    parts: Vec<Range<usize>>,
}

/// Does what [`analyze`] does, for many texts.
pub fn analyze_with(text: &str, scratch: &mut Scratch, each: &mut impl FnMut(Term<'_>)) {
    let mut analyzer = Analyzer { text, position: 0, scratch, each };
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let sort = SORTS[usize::from(*byte)];
        if sort <= DIGIT {
            at = match bytes[at..].first_chunk().and_then(short_word) {
                Some((letters, length)) => analyzer.short(letters, at..at + length),
                None => analyzer.chunk(at),
            };
        } else if sort == WIDE {
            at = analyzer.wide(at);
        } else {
            at += 1;
        }
    }
}

/// Gives the terms of a text as a list, for queries.
pub fn terms(text: &str) -> Vec<(String, usize, bool)> {
    let mut terms = Vec::new();
    analyze(text, &mut |term| terms.push((term.text.to_string(), term.position, term.whole)));
    terms
}

/// The only character of a term, if it is of a script without blanks: such a term is a part of others.
pub fn single(term: &str) -> Option<char> {
    let mut chars = term.chars();
    chars.next().filter(|c| chars.next().is_none() && is_unspaced(*c))
}

struct Analyzer<'t, 's, F> {
    text: &'t str,
    position: usize,
    scratch: &'s mut Scratch,
    each: &'s mut F,
}

/// What kind of character decides where an identifier is cut.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Joiner,
}

const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
/// May hold two parts of an identifier together.
const JOINER: u8 = 8;
/// Belongs to no word.
const OUTSIDE: u8 = 16;
/// Part of a character beyond ASCII.
const WIDE: u8 = 32;

/// What each byte is to an identifier.
const SORTS: [u8; 256] = {
    let mut sorts = [WIDE; 256];
    let mut byte = 0;
    while byte < 0x80 {
        sorts[byte as usize] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' | b'-' => JOINER,
            _ => OUTSIDE,
        };
        byte += 1;
    }
    sorts
};

/// A byte, eight times.
const fn eight(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// The word that these bytes begin with, folded, and its length, if it has letters or digits alone, no capital but the
/// first, and is followed by what belongs to no word. Most words are like that, and all eight bytes are looked at at once.
#[inline(always)]
fn short_word(bytes: &[u8; 8]) -> Option<(u64, usize)> {
    let first = SORTS[usize::from(bytes[0])];
    let letters = u64::from_le_bytes(*bytes) | if first == UPPER { 0x20 } else { 0 };
    let (least, most) = if first == DIGIT { (b'0', b'9') } else { (b'a', b'z') };
    // A sum has its highest bit set where the byte is no less than the one bound, or above the other.
    let low = letters & eight(0x7f);
    let fitting = (low + eight(0x80 - least)) & !(low + eight(0x7f - most)) & !letters & eight(0x80);
    let length = (fitting ^ eight(0x80)).trailing_zeros() as usize / 8;
    let ends = bytes.get(length).is_some_and(|behind| SORTS[usize::from(*behind)] == OUTSIDE);
    ends.then(|| (letters & !(u64::MAX << (length * 8)), length))
}

/// A run of letters and digits, held together by `_` or `-`.
struct Chunk {
    end: usize,
    /// Whether it is one word.
    simple: bool,
    /// What its bytes are.
    sorts: u8,
}

impl<F: FnMut(Term<'_>)> Analyzer<'_, '_, F> {
    /// Takes a short word, whose first letter is the lowest byte.
    #[inline(always)]
    fn short(&mut self, letters: u64, place: Range<usize>) -> usize {
        let Range { start: from, end: to } = place;
        let bytes = letters.to_le_bytes();
        let text = str::from_utf8(&bytes[..to - from]).unwrap_or_default();
        (self.each)(Term { text, from, to, position: self.position, whole: false });
        self.position += 1;
        to
    }

    /// Takes an identifier, word or number that begins at `start`; returns where it ends.
    fn chunk(&mut self, start: usize) -> usize {
        let Chunk { end, simple, sorts } = self.chunk_at(start);
        if simple {
            self.next(start..end, sorts);
            return end;
        }
        self.split(start, end, sorts);
        if self.scratch.parts.len() > 1 {
            self.emit(start..end, 0, true, sorts);
        }
        for index in 0..self.scratch.parts.len() {
            let part = self.scratch.parts[index].clone();
            self.next(part, sorts);
        }
        end
    }

    /// Gives the next word.
    fn next(&mut self, range: Range<usize>, sorts: u8) {
        self.position += usize::from(self.emit(range, self.position, false, sorts));
    }

    /// Finds the end of a chunk, and what is in it.
    fn chunk_at(&self, start: usize) -> Chunk {
        let bytes = self.text.as_bytes();
        let first = SORTS[usize::from(bytes[start])];
        // What stands behind the first byte: a capital in front does not make a word a compound.
        let (mut sorts, mut other) = (0, false);
        let mut at = start;
        if first != WIDE {
            at += 1;
        }
        while let Some(byte) = bytes.get(at) {
            let sort = SORTS[usize::from(*byte)];
            if sort <= DIGIT {
                sorts |= sort;
                at += 1;
            } else if sort == JOINER && self.joins(at) {
                (sorts, other) = (sorts | JOINER, true);
                at += 1;
            } else if sort == WIDE {
                let c = char_at(self.text, at);
                if is_unspaced(c) || !is_word(c) {
                    break;
                }
                sorts |= WIDE | if c.is_lowercase() { LOWER } else { 0 };
                other |= c.is_uppercase() && at > start;
                at += c.len_utf8();
            } else {
                break;
            }
        }
        let all = first | sorts;
        let mixed = all & (LOWER | UPPER) != 0 && all & DIGIT != 0
            || sorts & UPPER != 0 && (all & LOWER != 0 || first != UPPER);
        Chunk { end: at, simple: !other && !mixed, sorts: all }
    }

    /// Says whether the separator at `at` stands between two parts of one identifier.
    fn joins(&self, at: usize) -> bool {
        let rest = &self.text.as_bytes()[at + 1..];
        match (self.text.as_bytes()[at], rest.first()) {
            (b'_', Some(b'_')) => {
                rest.iter().take(JOINER_RUN).find(|byte| **byte != b'_').is_some_and(u8::is_ascii_alphanumeric)
            }
            (_, Some(byte)) if byte.is_ascii() => byte.is_ascii_alphanumeric(),
            (_, Some(_)) => is_word(char_at(self.text, at + 1)) && !is_unspaced(char_at(self.text, at + 1)),
            (_, None) => false,
        }
    }

    /// Cuts an identifier into its parts.
    fn split(&mut self, start: usize, end: usize, sorts: u8) {
        self.scratch.parts.clear();
        for segment in segments(self.text, start..end) {
            if is_noise(&self.text[segment.clone()]) {
                self.scratch.parts.push(segment);
            } else if sorts & WIDE == 0 {
                split_ascii(self.text.as_bytes(), segment, &mut self.scratch.parts);
            } else {
                split_segment(self.text, segment, &mut self.scratch.parts);
            }
        }
    }

    /// Takes what begins with a character beyond ASCII.
    fn wide(&mut self, at: usize) -> usize {
        let c = char_at(self.text, at);
        if is_unspaced(c) {
            return self.pairs(at);
        } else if is_word(c) {
            return self.chunk(at);
        }
        let end = at + c.len_utf8();
        if is_pictograph(c) {
            self.next(at..end, WIDE);
        }
        end
    }

    /// Takes a run of a script without blanks: each pair of neighbours is a term.
    fn pairs(&mut self, start: usize) -> usize {
        let mut chars = self.text[start..].char_indices().map(|(at, c)| (start + at, c)).peekable();
        let mut previous: Option<(usize, char)> = None;
        let mut end = start;
        let mut emitted = false;
        while let Some((at, c)) = chars.next_if(|(_, c)| is_unspaced(*c) || is_combining_mark(*c)) {
            end = at + c.len_utf8();
            if is_combining_mark(c) {
                continue;
            }
            if let Some((before, _)) = previous {
                self.next(before..end, WIDE);
                emitted = true;
            }
            previous = Some((at, c));
        }
        if !emitted && previous.is_some() {
            self.next(start..end, WIDE);
        }
        end
    }

    /// Gives a term, unless nothing is left of it. `sorts` says what bytes there may be in it.
    fn emit(&mut self, range: Range<usize>, position: usize, whole: bool, sorts: u8) -> bool {
        let Range { start: from, end: to } = range;
        let text = &self.text[range];
        let is_plain = text.len() < TERM_CAP && sorts & WIDE == 0;
        let is_folded = || sorts & UPPER == 0 || !text.bytes().any(|byte| byte.is_ascii_uppercase());
        if is_plain && !whole && is_folded() {
            (self.each)(Term { text, from, to, position, whole });
            return true;
        }
        self.scratch.folded.clear();
        if whole {
            self.scratch.folded.push(WHOLE_MARK);
        }
        if is_plain && sorts & JOINER == 0 {
            self.scratch.folded.push_str(text);
            self.scratch.folded.make_ascii_lowercase();
        } else if is_plain {
            self.scratch.folded.extend(
                text.bytes()
                    .filter(|byte| SORTS[usize::from(*byte)] != JOINER)
                    .map(|byte| char::from(byte.to_ascii_lowercase())),
            );
        } else {
            fold_into(text, &mut self.scratch.folded);
        }
        let is_term = self.scratch.folded.len() > usize::from(whole);
        if is_term {
            (self.each)(Term { text: &self.scratch.folded, from, to, position, whole });
        }
        is_term
    }
}

/// The stretches between separators.
fn segments(text: &str, range: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
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

/// Cuts at changes of case and between letters and digits: `HTTPResponse2` is http, response, 2; `getURLs` is get, urls.
fn split_segment(text: &str, segment: Range<usize>, parts: &mut Vec<Range<usize>>) {
    let mut from = segment.start;
    let mut before = Class::Joiner;
    let mut before_at = segment.start;
    let mut chars = text[segment.clone()].char_indices().map(|(at, c)| (segment.start + at, c)).peekable();
    while let Some((at, c)) = chars.next() {
        if is_combining_mark(c) {
            // It belongs to what it stands behind, and is no capital of its own.
            continue;
        }
        let class = class_of(c, before);
        let ends = chars.peek().is_none_or(|(_, next)| class_of(*next, class) != Class::Lower);
        if at > from {
            // In a run of capitals followed by a small letter, the last capital begins the next part.
            let cut = match (before, class) {
                (Class::Upper, Class::Lower) if before_at > from && !(c == 's' && ends) => Some(before_at),
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

/// The same where every character is a byte.
fn split_ascii(bytes: &[u8], segment: Range<usize>, parts: &mut Vec<Range<usize>>) {
    let sort = |at: usize| SORTS[usize::from(bytes[at])];
    let mut from = segment.start;
    for at in segment.start + 1..segment.end {
        let cut = match (sort(at - 1), sort(at)) {
            (before, now) if before == now => continue,
            // More than one of what is written in capitals.
            (UPPER, LOWER)
                if bytes[at..].starts_with(b"s")
                    && at - 1 > from
                    && (at + 1 == segment.end || sort(at + 1) != LOWER) =>
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

/// Tells hashes, ids and encoded data from identifiers: hexadecimal with digits and letters, or long with parts shorter
/// than words are.
fn is_noise(segment: &str) -> bool {
    let bytes = segment.as_bytes();
    if bytes.len() < 4 || !segment.is_ascii() {
        return false;
    }
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    if digits == 0 && bytes.len() < 16 {
        return false;
    }
    let one_case = !bytes.iter().any(u8::is_ascii_lowercase) || !bytes.iter().any(u8::is_ascii_uppercase);
    if one_case && digits > 0 && digits < bytes.len() && bytes.iter().all(u8::is_ascii_hexdigit) {
        return true;
    }
    // A capital and the small letters behind it are one part.
    let cuts = bytes.windows(2).filter(|pair| match (kind_of(pair[0]), kind_of(pair[1])) {
        (before, now) if before == now => false,
        (before, now) => before != 1 || now == 0,
    });
    // Encoded data hardly ever does without digits, so names without them may have short parts: `findAllByIdOrKey`.
    let least = if digits > 0 { 3 } else { 2 };
    bytes.len() >= 16 && (cuts.count() + 1) * least > bytes.len()
}

fn kind_of(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => 0,
        b'A'..=b'Z' => 1,
        _ => 2,
    }
}

/// Folds case, accents and width, and leaves separators out.
fn fold_into(text: &str, folded: &mut String) {
    for c in text.chars() {
        match c {
            '_' | '-' => {}
            c if c.is_ascii() => folded.push(c.to_ascii_lowercase()),
            // Taking a Hangul syllable apart would undo what makes it one character.
            '\u{ac00}'..='\u{d7a3}' => folded.push(c),
            c => {
                folded
                    .extend(std::iter::once(c).nfkd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase));
            }
        }
        if folded.len() >= TERM_CAP {
            let mut end = TERM_CAP;
            while !folded.is_char_boundary(end) {
                end -= 1;
            }
            folded.truncate(end);
            return;
        }
    }
}

fn char_at(text: &str, at: usize) -> char {
    text[at..].chars().next().unwrap_or(' ')
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || is_combining_mark(c)
}

/// Says whether a character is an emoji or the like.
fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{27bf}' | '\u{1f300}'..='\u{1faff}')
}

/// Says whether a character belongs to a script that puts no blanks between words.
pub fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{3100}'..='\u{318f}' | '\u{31a0}'..='\u{31bf}'
        | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3fffd}'
        | '\u{1100}'..='\u{11ff}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}'
        | '\u{e01}'..='\u{e7f}' | '\u{e80}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
        && c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows terms as `position:term`, whole identifiers in brackets.
    fn show(text: &str) -> String {
        let show = |(term, position, whole): &(String, usize, bool)| {
            if *whole { format!("{position}:[{term}]") } else { format!("{position}:{term}") }
        };
        terms(text).iter().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_and_identifiers() {
        for (text, expected) in [
            ("Fix the bug", "0:fix 1:the 2:bug"),
            ("HTTP is UP", "0:http 1:is 2:up"),
            ("parseRetryAfter", "0:[=parseretryafter] 0:parse 1:retry 2:after"),
            ("retry_after", "0:[=retryafter] 0:retry 1:after"),
            ("retry-after", "0:[=retryafter] 0:retry 1:after"),
            ("RETRY_AFTER", "0:[=retryafter] 0:retry 1:after"),
            ("HTTPResponse2", "0:[=httpresponse2] 0:http 1:response 2:2"),
            ("PRs, getURLs", "0:prs 0:[=geturls] 1:get 2:urls"),
            ("IDsOf ÄÖs", "0:[=idsof] 0:ids 1:of 2:aos"),
            ("DBset", "0:[=dbset] 0:d 1:bset"),
            ("src/auth/token.rs", "0:src 1:auth 2:token 3:rs"),
            ("foo::bar", "0:foo 1:bar"),
            ("v2.1.38", "0:[=v2] 0:v 1:2 2:1 3:38"),
            ("E0603", "0:e0603"),
            ("--dry-run", "0:[=dryrun] 0:dry 1:run"),
            ("__init__", "0:init"),
            ("a__b", "0:[=ab] 0:a 1:b"),
            ("x - y", "0:x 1:y"),
        ] {
            assert_eq!(show(text), expected, "{text}");
        }
    }

    #[test]
    fn accents_width_and_other_scripts() {
        for (text, expected) in [
            ("Café naïve", "0:cafe 1:naive"),
            ("cafe\u{301}", "0:cafe"),
            ("E\u{301}coleNormale", "0:[=ecolenormale] 0:ecole 1:normale"),
            ("Ｆｕｌｌ", "0:full"),
            ("Привет Мир", "0:привет 1:мир"),
            ("日本語", "0:日本 1:本語"),
            ("修复bug了", "0:修复 1:bug 2:了"),
            ("한국어 테스트", "0:한국 1:국어 2:테스 3:스트"),
            ("ガギ", "0:カキ"),
            ("か\u{3099}き", "0:かき"),
            ("ship it 🚀🎉", "0:ship 1:it 2:🚀 3:🎉"),
        ] {
            assert_eq!(show(text), expected, "{text}");
        }
    }

    #[test]
    fn noise_is_kept_whole() {
        for (text, expected) in [
            ("3f2a9c1", "0:3f2a9c1"),
            ("550e8400-e29b-41d4", "0:[=550e8400e29b41d4] 0:550e8400 1:e29b 2:41d4"),
            ("aB3dE9fG2hI5jK8lM1", "0:ab3de9fg2hi5jk8lm1"),
            ("sha256", "0:[=sha256] 0:sha 1:256"),
            ("FindAllByIdOrKey", "0:[=findallbyidorkey] 0:find 1:all 2:by 3:id 4:or 5:key"),
        ] {
            assert_eq!(show(text), expected, "{text}");
        }
        let long = "q".repeat(300);
        assert_eq!(terms(&long), vec![(long[..TERM_CAP].to_string(), 0, false)]);
    }

    #[test]
    fn places_are_those_of_the_original_text() {
        let mut places = Vec::new();
        analyze("naïve getToken 日本語", &mut |term| places.push((term.text.to_string(), term.from..term.to)));
        assert_eq!(
            places,
            vec![
                ("naive".into(), 0..6),
                ("=gettoken".into(), 7..15),
                ("get".into(), 7..10),
                ("token".into(), 10..15),
                ("日本".into(), 16..22),
                ("本語".into(), 19..25),
            ]
        );
    }
}
