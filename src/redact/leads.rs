//! Finds the strings that hint at a secret in one pass over a text, ignoring case.
//!
//! A search redacts about a hundred texts, each shorter than the tables of an automaton for all the strings. So the
//! first three bytes of each string set a bit in a small table, and strings are compared only where that bit is set.

use std::ops::Range;

use crate::redact::Lead;
use crate::redact::assigned;
use crate::redact::formats::FORMATS;

/// The number of leading bytes that choose a string's bit in the table. No string is shorter.
const PREFIX_LEN: usize = 3;

/// The strings to find, with the table of their prefixes.
pub(super) struct Leads {
    /// A bit set of prefixes; see [`bit_of`].
    prefixes: [u64; 1024],
    /// The same for the strings that may also begin inside a word. Most do not, which saves looking them up.
    inner_prefixes: [u64; 1024],
    /// The strings, sorted by prefix.
    words: Vec<(u32, &'static str, Lead)>,
}

impl Leads {
    pub(super) fn all() -> Self {
        let formats = FORMATS.iter().enumerate().flat_map(|(at, format)| {
            let is_inner = !format.starts_name();
            format.anchors.iter().map(move |word| (*word, is_inner, Lead::Format(at)))
        });
        let names = assigned::NAMES.iter().map(|word| (*word, true, Lead::Name));
        Self::new(formats.chain(names))
    }

    /// Each string comes with whether it may begin inside a word.
    fn new(words: impl Iterator<Item = (&'static str, bool, Lead)>) -> Self {
        let (mut prefixes, mut inner_prefixes) = ([0; 1024], [0; 1024]);
        let mut sorted = Vec::new();
        for (word, is_inner, lead) in words {
            let prefix = prefix(word.as_bytes());
            let (slot, bit) = bit_of(prefix);
            prefixes[slot] |= bit;
            inner_prefixes[slot] |= if is_inner { bit } else { 0 };
            sorted.push((prefix, word, lead));
        }
        sorted.sort_by_key(|(prefix, _, _)| *prefix);
        Self { prefixes, inner_prefixes, words: sorted }
    }

    /// Calls `found` with the range of each string in a text, in order. Skips most strings inside words that only
    /// count at the start of one.
    pub(super) fn each(&self, text: &str, mut found: impl FnMut(Range<usize>, Lead)) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(next) = self.next_candidate(&bytes[at..]) {
            at += next;
            let here = prefix(&bytes[at..]);
            let (slot, bit) = bit_of(here);
            if self.inner_prefixes[slot] & bit != 0 || !is_inside_word(bytes, at) {
                self.each_at(bytes, at, here, &mut found);
            }
            at += 1;
        }
    }

    /// Calls `found` with the range of each string that begins at `at`.
    fn each_at(&self, bytes: &[u8], at: usize, here: u32, found: &mut impl FnMut(Range<usize>, Lead)) {
        let first = self.words.partition_point(|(prefix, _, _)| *prefix < here);
        for (_, word, lead) in self.words[first..].iter().take_while(|(prefix, _, _)| *prefix == here) {
            let range = at..at + word.len();
            if bytes.get(range.clone()).is_some_and(|bytes| bytes.eq_ignore_ascii_case(word.as_bytes())) {
                found(range, *lead);
            }
        }
    }

    /// Returns the first offset where one of the strings may begin.
    fn next_candidate(&self, bytes: &[u8]) -> Option<usize> {
        bytes.windows(PREFIX_LEN).position(|bytes| {
            let (slot, bit) = bit_of(prefix(bytes));
            self.prefixes[slot] & bit != 0
        })
    }
}

/// Reports whether a letter or digit precedes `at`, other than that of an escaped line break.
#[inline]
fn is_inside_word(bytes: &[u8], at: usize) -> bool {
    let is_escape = at >= 2 && bytes[at - 2] == b'\\';
    at > 0 && bytes[at - 1].is_ascii_alphanumeric() && !is_escape
}

/// Packs the first [`PREFIX_LEN`] bytes into an integer that is the same for both cases of a letter.
#[inline]
fn prefix(bytes: &[u8]) -> u32 {
    match bytes {
        [a, b, c, ..] => u32::from_le_bytes([a | 0x20, b | 0x20, c | 0x20, 0]),
        _ => 0,
    }
}

/// Returns the slot and the bit of a prefix in the table.
#[inline]
fn bit_of(prefix: u32) -> (usize, u64) {
    let bit = prefix.wrapping_mul(0x9e37_79b1) >> 16;
    ((bit >> 6) as usize, 1 << (bit & 63))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_string_is_long_enough_and_ascii() {
        for (_, word, _) in Leads::all().words {
            assert!(word.len() >= PREFIX_LEN && word.is_ascii(), "{word}");
        }
    }

    proptest::proptest! {
        /// The same strings are found as by searching for each of them separately.
        #[test]
        fn finds_every_occurrence(text in "([a-cA-C_:/]|abc|é|Ab_|b_a){0,60}") {
            const WORDS: [&str; 6] = ["abc", "Ab_", "b_ab", "://", "aaaa", "cab"];
            let leads = Leads::new(WORDS.into_iter().enumerate().map(|(at, word)| (word, true, Lead::Format(at))));
            let mut found = Vec::new();
            leads.each(&text, |range, lead| {
                let Lead::Format(index) = lead else { return };
                found.push((range.start, index));
            });
            let occurrences = |(index, word): (usize, &str)| {
                let is_at = |at: &usize| {
                    let bytes = text.as_bytes()[*at..].get(..word.len());
                    bytes.is_some_and(|bytes| bytes.eq_ignore_ascii_case(word.as_bytes()))
                };
                (0..text.len()).filter(is_at).map(|at| (at, index)).collect::<Vec<_>>()
            };
            let mut expected: Vec<_> = WORDS.into_iter().enumerate().flat_map(occurrences).collect();
            expected.sort_unstable();
            found.sort_unstable();
            proptest::prop_assert_eq!(found, expected);
        }
    }
}
