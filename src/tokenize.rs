//! The tokenizer: splits text into search terms. Indexing, queries and highlighting all use it. Pure, one pass.
//!
//! Code and prose share one index, so an identifier must be found however people type it: `parseRetryAfter` by `parse`,
//! `retry`, `after`, and by `parseretryafter`, `parse_retry_after` and `parse-retry-after`. An identifier therefore
//! gives one term for each of its parts, each at its own position, and one more for the whole: without separators, and
//! with a mark before it. Whole identifiers are never searched as phrases, so they all have position 0, which costs no
//! space. Case and accents are folded. Scripts without blanks between words give overlapping pairs of characters.
//! Hashes, ids and other noise are kept whole instead of being split into tiny parts.

mod identifiers;

use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use identifiers::{segments, split_ascii, split_segment};

/// Increased whenever the same text gives different terms than before. Part of the index's fingerprint.
pub const ANALYSIS_VERSION: u32 = 1;

/// Maximum length of a term, in bytes. Longer ones are cut. Queries are cut the same way, so they still match.
pub const TERM_CAP: usize = 255;

/// Prefix of a whole identifier, so that it is never the same term as a plain word.
pub const WHOLE_MARK: char = '=';

/// Maximum number of consecutive underscores inside an identifier.
const JOINER_RUN: usize = 8;

/// One term of a text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Term<'a> {
    /// The folded term.
    pub text: &'a str,
    /// Byte offset of its start in the original text.
    pub from: usize,
    /// Byte offset of its end in the original text.
    pub to: usize,
    /// Its position in the sequence of words; 0 for a `whole`.
    pub position: usize,
    /// Set for a whole identifier, which is given in addition to its parts.
    pub whole: bool,
}

/// Passes every term of a text to `sink`, in order of position.
pub fn analyze(text: &str, sink: &mut impl FnMut(Term<'_>)) {
    analyze_with(text, &mut Scratch::default(), sink);
}

/// Buffers reused from text to text.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    folded: String,
    parts: Vec<Range<usize>>,
}

/// Like [`analyze`], but reuses buffers, for many texts.
pub fn analyze_with(text: &str, scratch: &mut Scratch, sink: &mut impl FnMut(Term<'_>)) {
    let mut analyzer = Analyzer { text, position: 0, scratch, sink };
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let class = BYTE_CLASSES[usize::from(*byte)];
        if class <= DIGIT {
            at = match bytes[at..].first_chunk().and_then(short_word) {
                Some((letters, length)) => analyzer.emit_short(letters, at..at + length),
                None => analyzer.emit_chunk(at),
            };
        } else if class == WIDE {
            at = analyzer.emit_wide(at);
        } else {
            at += 1;
        }
    }
}

/// Returns the terms of a text as a list, for queries: text, position, and whether it is a whole identifier.
pub fn terms(text: &str) -> Vec<(String, usize, bool)> {
    let mut terms = Vec::new();
    analyze(text, &mut |term| terms.push((term.text.to_string(), term.position, term.whole)));
    terms
}

/// Returns the only character of a term, if its script has no blanks between words. Such a term is part of other terms.
pub fn single(term: &str) -> Option<char> {
    let mut chars = term.chars();
    chars.next().filter(|c| chars.next().is_none() && is_unspaced(*c))
}

struct Analyzer<'t, 's, F> {
    text: &'t str,
    position: usize,
    scratch: &'s mut Scratch,
    sink: &'s mut F,
}

const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
/// May join two parts of an identifier.
const JOINER: u8 = 8;
/// Not part of a word.
const OUTSIDE: u8 = 16;
/// Part of a non-ASCII character.
const WIDE: u8 = 32;

/// The class of each byte, as a bit flag.
const BYTE_CLASSES: [u8; 256] = {
    let mut classes = [WIDE; 256];
    let mut byte = 0;
    while byte < 0x80 {
        classes[byte as usize] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' | b'-' => JOINER,
            _ => OUTSIDE,
        };
        byte += 1;
    }
    classes
};

/// Repeats a byte eight times.
const fn splat(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Fast path for short words: returns the word that these bytes begin with, in lowercase, and its length.
///
/// The word must consist of letters only or of digits only, may have a capital only as its first letter, and must be
/// followed by a byte that is not part of a word. Most words are like that. Checks all eight bytes at once.
#[inline(always)]
fn short_word(bytes: &[u8; 8]) -> Option<(u64, usize)> {
    let first = BYTE_CLASSES[usize::from(bytes[0])];
    let letters = u64::from_le_bytes(*bytes) | if first == UPPER { 0x20 } else { 0 };
    let (min, max) = if first == DIGIT { (b'0', b'9') } else { (b'a', b'z') };
    // The first sum sets the high bit of each byte that is at least `min`, the second of each that is above `max`.
    let low = letters & splat(0x7f);
    let in_range = (low + splat(0x80 - min)) & !(low + splat(0x7f - max)) & !letters & splat(0x80);
    let length = (in_range ^ splat(0x80)).trailing_zeros() as usize / 8;
    let is_complete = bytes.get(length).is_some_and(|next| BYTE_CLASSES[usize::from(*next)] == OUTSIDE);
    is_complete.then(|| (letters & !(u64::MAX << (length * 8)), length))
}

/// A run of letters and digits, possibly joined by `_` or `-`.
struct Chunk {
    end: usize,
    /// Set if it is a single word.
    simple: bool,
    /// The classes of its bytes.
    classes: u8,
}

impl<F: FnMut(Term<'_>)> Analyzer<'_, '_, F> {
    /// Emits a short word, whose first letter is the lowest byte. Returns its end.
    #[inline(always)]
    fn emit_short(&mut self, letters: u64, range: Range<usize>) -> usize {
        let Range { start: from, end: to } = range;
        let bytes = letters.to_le_bytes();
        let text = str::from_utf8(&bytes[..to - from]).unwrap_or_default();
        (self.sink)(Term { text, from, to, position: self.position, whole: false });
        self.position += 1;
        to
    }

    /// Emits the terms of the identifier, word or number that begins at `start`. Returns its end.
    fn emit_chunk(&mut self, start: usize) -> usize {
        let Chunk { end, simple, classes } = self.chunk_at(start);
        if simple {
            self.emit_word(start..end, classes);
            return end;
        }
        self.split(start, end, classes);
        if self.scratch.parts.len() > 1 {
            self.emit(start..end, 0, true, classes);
        }
        for index in 0..self.scratch.parts.len() {
            let part = self.scratch.parts[index].clone();
            self.emit_word(part, classes);
        }
        end
    }

    /// Emits the next word.
    fn emit_word(&mut self, range: Range<usize>, classes: u8) {
        self.position += usize::from(self.emit(range, self.position, false, classes));
    }

    /// Finds the end of a chunk, and the classes of its bytes.
    fn chunk_at(&self, start: usize) -> Chunk {
        let bytes = self.text.as_bytes();
        let first = BYTE_CLASSES[usize::from(bytes[start])];
        // Leaves out the first byte: a leading capital does not make a word an identifier.
        let (mut classes, mut is_compound) = (0, false);
        let mut at = start;
        if first != WIDE {
            at += 1;
        }
        while let Some(byte) = bytes.get(at) {
            let class = BYTE_CLASSES[usize::from(*byte)];
            if class <= DIGIT {
                classes |= class;
                at += 1;
            } else if class == JOINER && self.joins(at) {
                (classes, is_compound) = (classes | JOINER, true);
                at += 1;
            } else if class == WIDE {
                let c = char_at(self.text, at);
                if is_unspaced(c) || !is_word(c) {
                    break;
                }
                classes |= WIDE | if c.is_lowercase() { LOWER } else { 0 };
                is_compound |= c.is_uppercase() && at > start;
                at += c.len_utf8();
            } else {
                break;
            }
        }
        let all = first | classes;
        let is_mixed = all & (LOWER | UPPER) != 0 && all & DIGIT != 0
            || classes & UPPER != 0 && (all & LOWER != 0 || first != UPPER);
        Chunk { end: at, simple: !is_compound && !is_mixed, classes: all }
    }

    /// Reports whether the separator at `at` joins two parts of one identifier.
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
    fn split(&mut self, start: usize, end: usize, classes: u8) {
        self.scratch.parts.clear();
        for segment in segments(self.text, start..end) {
            if is_noise(&self.text[segment.clone()]) {
                self.scratch.parts.push(segment);
            } else if classes & WIDE == 0 {
                split_ascii(self.text.as_bytes(), segment, &mut self.scratch.parts);
            } else {
                split_segment(self.text, segment, &mut self.scratch.parts);
            }
        }
    }

    /// Emits the terms of the text that begins with the non-ASCII character at `at`. Returns its end.
    fn emit_wide(&mut self, at: usize) -> usize {
        let c = char_at(self.text, at);
        if is_unspaced(c) {
            return self.emit_pairs(at);
        } else if is_word(c) {
            return self.emit_chunk(at);
        }
        let end = at + c.len_utf8();
        if is_pictograph(c) {
            self.emit_word(at..end, WIDE);
        }
        end
    }

    /// Emits each pair of adjacent characters in a run of a script without blanks. Returns the end of the run.
    fn emit_pairs(&mut self, start: usize) -> usize {
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
                self.emit_word(before..end, WIDE);
                emitted = true;
            }
            previous = Some((at, c));
        }
        if !emitted && previous.is_some() {
            self.emit_word(start..end, WIDE);
        }
        end
    }

    /// Emits a term, unless folding leaves it empty. Reports whether it emitted one. `whole` marks an identifier
    /// written as one word. `classes` is a superset of the classes of its bytes.
    fn emit(&mut self, range: Range<usize>, position: usize, whole: bool, classes: u8) -> bool {
        let Range { start: from, end: to } = range;
        let text = &self.text[range];
        let is_plain = text.len() < TERM_CAP && classes & WIDE == 0;
        let is_folded = || classes & UPPER == 0 || !text.bytes().any(|byte| byte.is_ascii_uppercase());
        if is_plain && !whole && is_folded() {
            (self.sink)(Term { text, from, to, position, whole });
            return true;
        }
        self.scratch.folded.clear();
        if whole {
            self.scratch.folded.push(WHOLE_MARK);
        }
        if is_plain && classes & JOINER == 0 {
            self.scratch.folded.push_str(text);
            self.scratch.folded.make_ascii_lowercase();
        } else if is_plain {
            self.scratch.folded.extend(
                text.bytes()
                    .filter(|byte| BYTE_CLASSES[usize::from(*byte)] != JOINER)
                    .map(|byte| char::from(byte.to_ascii_lowercase())),
            );
        } else {
            fold_into(text, &mut self.scratch.folded);
        }
        let is_term = self.scratch.folded.len() > usize::from(whole);
        if is_term {
            (self.sink)(Term { text: &self.scratch.folded, from, to, position, whole });
        }
        is_term
    }
}

/// Reports whether a segment is a hash, an id or encoded data rather than an identifier: hexadecimal with both digits
/// and letters, or long and made of parts that are too short for words.
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
    // A capital and the small letters after it are one part.
    let cuts = bytes.windows(2).filter(|pair| match (kind_of(pair[0]), kind_of(pair[1])) {
        (before, now) if before == now => false,
        (before, now) => before != 1 || now == 0,
    });
    // Encoded data nearly always contains digits, so names without digits may have short parts: `findAllByIdOrKey`.
    let min_average = if digits > 0 { 3 } else { 2 };
    bytes.len() >= 16 && (cuts.count() + 1) * min_average > bytes.len()
}

/// Returns 0 for a digit, 1 for a capital, and 2 for any other byte.
fn kind_of(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => 0,
        b'A'..=b'Z' => 1,
        _ => 2,
    }
}

/// Appends a text with case, accents and width folded and separators removed.
fn fold_into(text: &str, folded: &mut String) {
    for c in text.chars() {
        match c {
            '_' | '-' => {}
            c if c.is_ascii() => folded.push(c.to_ascii_lowercase()),
            // NFKD would decompose a Hangul syllable into several characters.
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

/// Reports whether a character is part of a word.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || is_combining_mark(c)
}

/// Reports whether a character is an emoji or a similar symbol.
fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{27bf}' | '\u{1f300}'..='\u{1faff}')
}

/// Reports whether a character belongs to a script without blanks between words.
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
    fn offsets_refer_to_the_original_text() {
        let mut offsets = Vec::new();
        analyze("naïve getToken 日本語", &mut |term| offsets.push((term.text.to_string(), term.from..term.to)));
        assert_eq!(
            offsets,
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
