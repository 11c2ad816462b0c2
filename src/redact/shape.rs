//! Describes the characters of a secret as data: which alphabet, how many, which fixed text between them.
//!
//! Read by hand rather than by a regex, because compiling a pattern takes longer than redacting a whole text.

/// A set of ASCII characters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alphabet(u128);

/// A part of a secret.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// A run of characters, as long as possible, with its minimum and maximum length.
    Run(Alphabet, usize, usize),
    /// A fixed text.
    Text(&'static str),
    /// Parts that may be missing.
    Optional(&'static [Self]),
}

pub(super) const DIGIT: Alphabet = Alphabet::of("09", "");
pub(super) const HEX: Alphabet = Alphabet::of("09af", "");
pub(super) const ANY_HEX: Alphabet = Alphabet::of("09afAF", "");
pub(super) const UUID: Alphabet = Alphabet::of("09afAF", "-");
pub(super) const UPPER: Alphabet = Alphabet::of("09AZ", "");
pub(super) const LOWER: Alphabet = Alphabet::of("09az", "");
pub(super) const BASE32: Alphabet = Alphabet::of("27az", "");
pub(super) const WORD: Alphabet = Alphabet::of("09AZaz", "");
pub(super) const IDENT: Alphabet = Alphabet::of("09AZaz", "_");
pub(super) const URL: Alphabet = Alphabet::of("09AZaz", "_-");
pub(super) const BASE64: Alphabet = Alphabet::of("09AZaz", "+/=");
pub(super) const DOTTED: Alphabet = Alphabet::of("09AZaz", "_-.=");
pub(super) const TILDE: Alphabet = Alphabet::of("09AZaz", "_-.~");
pub(super) const PLUS: Alphabet = Alphabet::of("09AZaz", "_+/=");
pub(super) const PERCENT: Alphabet = Alphabet::of("09AZaz", "_-.+/%");
/// The characters of a comma-separated list of tokens.
pub(super) const LIST: Alphabet = Alphabet::of("09AZaz", "+/=,_-");
/// Every character that the tokens of any issuer contain.
pub(super) const WIDE: Alphabet = Alphabet::of("09AZaz", "_-.=+/%~:");
/// The characters of Django's `SECRET_KEY`.
pub(super) const DJANGO: Alphabet = Alphabet::of("09AZaz", "!@#$%^&*(-_=+)");

impl Alphabet {
    /// Returns the set of the given ranges, each written as its first and last character, and of single characters.
    const fn of(ranges: &str, others: &str) -> Self {
        let (ranges, others) = (ranges.as_bytes(), others.as_bytes());
        let mut set = 0;
        let mut at = 0;
        while at < ranges.len() {
            let mut byte = ranges[at];
            while byte <= ranges[at + 1] {
                set |= 1 << byte;
                byte += 1;
            }
            at += 2;
        }
        at = 0;
        while at < others.len() {
            set |= 1 << others[at];
            at += 1;
        }
        Self(set)
    }

    fn contains(self, byte: u8) -> bool {
        byte < 128 && self.0 >> byte & 1 == 1
    }
}

/// A run of exactly `len` characters. No letter or digit may follow it.
pub(super) const fn exactly(alphabet: Alphabet, len: usize) -> Part {
    Part::Run(alphabet, len, len)
}

/// A run of `min` to `max` characters. No letter or digit may follow it.
pub(super) const fn between(alphabet: Alphabet, min: usize, max: usize) -> Part {
    Part::Run(alphabet, min, max)
}

/// A run of `min` or more characters.
pub(super) const fn at_least(alphabet: Alphabet, min: usize) -> Part {
    Part::Run(alphabet, min, usize::MAX)
}

/// Returns the end of the parts that begin at `at`. Reads up to `reach` bytes of each run.
pub(super) fn end_of(parts: &[Part], bytes: &[u8], at: usize, reach: usize) -> Option<usize> {
    let end = parts.iter().try_fold(at, |at, part| match part {
        Part::Run(alphabet, min, max) => {
            let len =
                bytes.get(at..)?.iter().take(reach.min(*max)).take_while(|byte| alphabet.contains(**byte)).count();
            (len >= *min).then_some(at + len)
        }
        Part::Text(text) => bytes.get(at..)?.starts_with(text.as_bytes()).then_some(at + text.len()),
        Part::Optional(parts) => Some(end_of(parts, bytes, at, reach).unwrap_or(at)),
    })?;
    let is_limited = matches!(parts.last(), Some(Part::Run(_, _, max)) if *max < usize::MAX);
    let continues = bytes.get(end).is_some_and(|byte| IDENT.contains(*byte));
    (!is_limited || !continues).then_some(end)
}

/// Returns the minimum length of the parts.
pub(super) fn min_len(parts: &[Part]) -> usize {
    let len = |part: &Part| match part {
        Part::Run(_, min, _) => *min,
        Part::Text(text) => text.len(),
        Part::Optional(_) => 0,
    };
    parts.iter().map(len).sum()
}

/// Returns the start of the run that ends at `end`.
pub(super) fn start_of(run: Part, bytes: &[u8], end: usize) -> Option<usize> {
    let Part::Run(alphabet, min, max) = run else { return None };
    let len =
        bytes[..end].iter().rev().take(max.saturating_add(1)).take_while(|byte| alphabet.contains(**byte)).count();
    (min..=max).contains(&len).then_some(end - len)
}

/// The number of bytes examined before an anchor on its line; twice as many are examined after it.
pub(super) const LINE_REACH: usize = 200;
/// The number of bytes examined for a secret that begins at its anchor.
pub(super) const SECRET_REACH: usize = 4000;

/// Reports whether `at` is the start of a word.
pub(super) fn at_word_start(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    match at.checked_sub(1).map(|before| bytes[before]) {
        // A word also starts after an escaped line break, as in JSON inside JSON.
        Some(b'n' | b't' | b'r') if at >= 2 && bytes[at - 2] == b'\\' => true,
        Some(before) => !before.is_ascii_alphanumeric() && before != b'_',
        None => true,
    }
}
