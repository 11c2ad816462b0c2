//! Finds the strings without which there is no secret, in any case, in one pass.
//!
//! A search masks some hundred texts, each shorter than the tables of an automaton for all the strings; so the first
//! three bytes of each are a bit in a small table, and only where that bit is set is anything compared.

use std::ops::Range;

use crate::redact::Lead;
use crate::redact::assigned;
use crate::redact::formats::FORMATS;

/// How many bytes of a string have their bit; none is shorter.
const BEGINNING: usize = 3;
/// The strings, and where they may begin.
pub(super) struct Leads {
    begins: [u64; 1024],
    /// In order of their beginnings.
    words: Vec<(u32, &'static str, Lead)>,
}

impl Leads {
    pub(super) fn all() -> Self {
        let formats = FORMATS
            .iter()
            .enumerate()
            .flat_map(|(at, rule)| rule.anchors.iter().map(move |word| (*word, Lead::Format(at))));
        let names = assigned::NAMES.iter().map(|word| (*word, Lead::Name));
        Self::of(formats.chain(names))
    }

    fn of(words: impl Iterator<Item = (&'static str, Lead)>) -> Self {
        let mut words: Vec<_> = words.map(|(word, lead)| (beginning(word.as_bytes()), word, lead)).collect();
        words.sort_by_key(|(beginning, _, _)| *beginning);
        let mut begins = [0; 1024];
        for (beginning, _, _) in &words {
            let (slot, bit) = place(*beginning);
            begins[slot] |= bit;
        }
        Self { begins, words }
    }

    /// Says of each string in a text where it is, in order.
    pub(super) fn each(&self, text: &str, mut found: impl FnMut(Range<usize>, Lead)) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(next) = self.next(&bytes[at..]) {
            at += next;
            let here = beginning(&bytes[at..]);
            let first = self.words.partition_point(|(beginning, _, _)| *beginning < here);
            for (_, word, lead) in self.words[first..].iter().take_while(|(beginning, _, _)| *beginning == here) {
                let range = at..at + word.len();
                if bytes.get(range.clone()).is_some_and(|bytes| bytes.eq_ignore_ascii_case(word.as_bytes())) {
                    found(range, *lead);
                }
            }
            at += 1;
        }
    }

    /// The first place where one of the strings may begin.
    fn next(&self, bytes: &[u8]) -> Option<usize> {
        bytes.windows(BEGINNING).position(|bytes| {
            let (slot, bit) = place(beginning(bytes));
            self.begins[slot] & bit != 0
        })
    }
}

/// The first bytes, letters in either case alike.
#[inline]
fn beginning(bytes: &[u8]) -> u32 {
    match bytes {
        [a, b, c, ..] => u32::from_le_bytes([a | 0x20, b | 0x20, c | 0x20, 0]),
        _ => 0,
    }
}

/// Where the bit of a beginning is.
#[inline]
fn place(beginning: u32) -> (usize, u64) {
    let bit = beginning.wrapping_mul(0x9e37_79b1) >> 16;
    ((bit >> 6) as usize, 1 << (bit & 63))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_string_is_long_enough_and_ascii() {
        for (_, word, _) in Leads::all().words {
            assert!(word.len() >= BEGINNING && word.is_ascii(), "{word}");
        }
    }

    proptest::proptest! {
        /// The same strings are found as by looking for each in turn.
        #[test]
        fn none_is_missed(text in "([a-cA-C_:/]|abc|é|Ab_|b_a){0,60}") {
            const WORDS: [&str; 6] = ["abc", "Ab_", "b_ab", "://", "aaaa", "cab"];
            let leads = Leads::of(WORDS.into_iter().enumerate().map(|(at, word)| (word, Lead::Format(at))));
            let mut found = Vec::new();
            leads.each(&text, |range, lead| {
                let Lead::Format(which) = lead else { return };
                found.push((range.start, which));
            });
            let here = |(which, word): (usize, &str)| {
                let at = |at: &usize| text.as_bytes()[*at..].get(..word.len()).is_some_and(|here| here.eq_ignore_ascii_case(word.as_bytes()));
                (0..text.len()).filter(at).map(|at| (at, which)).collect::<Vec<_>>()
            };
            let mut slowly: Vec<_> = WORDS.into_iter().enumerate().flat_map(here).collect();
            slowly.sort_unstable();
            found.sort_unstable();
            proptest::prop_assert_eq!(found, slowly);
        }
    }
}
