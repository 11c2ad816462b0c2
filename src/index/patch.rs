//! Texts kept by what is new in them.
//!
//! A session reads a file, changes it and reads it again; it runs a command until it passes. So many a text is for the
//! most part a copy of an earlier one, too far back for the store, which packs a few documents at a time, to see it.
//! Such a text is kept as a patch: what is new in it, and where in an earlier text, its base, the rest stands.
//!
//! A base is kept whole, and is of the same file and session as its patches, so that whatever takes the base out of
//! the index takes them too. A patch carries a checksum of the text it gives, so a wrong base is told from the right one.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::gather::ByPrint;
use super::numbers;

/// How far back copies are looked for, in bytes of text. (Twice as much would save 1 % more of the stored text.)
const REACH: usize = 4 << 20;
/// Shorter texts are kept whole.
const LEAST: usize = 512;
/// Two texts are compared where this many bytes of them are equal.
const WINDOW: usize = 32;
/// Of so many windows, one is remembered.
const SAMPLED: u64 = 64;
/// Remembered windows are so far apart at least: in a text that repeats itself all of them would be chosen.
const APART: usize = 16;
/// Shorter copies are not worth naming.
const COPY: usize = 40;

/// The texts of a file that were kept whole, the latest of them.
#[derive(Debug, Default)]
pub struct Past {
    session: String,
    bases: VecDeque<Base>,
    /// The number of the first of them.
    first: usize,
    bytes: usize,
    /// Where windows of them stand: in which, and where in it.
    places: ByPrint<(usize, usize)>,
    /// When there are more of them, those that are of no use any more are dropped.
    most: usize,
}

#[derive(Debug)]
struct Base {
    at: Place,
    text: Arc<String>,
}

/// Where a text stands: the bytes under which its line is found, and the number of that line, which tells it from others
/// that say they have the same id.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Place {
    pub(super) id: Vec<u8>,
    pub(super) line: u64,
}

impl Past {
    /// What to keep of a text in place of all of it, if that is much less. A text that is kept whole and can be found
    /// again, the first of its line, is remembered for those to come.
    pub(super) fn patch(&mut self, session: &str, at: Option<Place>, text: &Arc<String>) -> Option<Vec<u8>> {
        if text.len() < LEAST {
            return None;
        }
        if self.session != session {
            *self = Self { session: session.to_string(), ..Self::default() };
        }
        let windows = windows(text.as_bytes());
        let patch = self.likest(&windows).and_then(|number| self.against(number, text, &windows));
        if patch.is_none()
            && let Some(at) = at.filter(|at| self.bases.back().is_none_or(|last| last.at != *at))
        {
            self.remember(at, text, &windows);
        }
        patch
    }

    /// The earlier text that shares most with these windows, if that is a good part.
    fn likest(&self, windows: &[(u64, usize)]) -> Option<usize> {
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for (number, _) in windows.iter().filter_map(|(print, _)| self.places.get(print)) {
            *shared.entry(*number).or_default() += 1;
        }
        let (number, count) = shared.into_iter().max_by_key(|(number, count)| (*count, *number))?;
        (number >= self.first && count * 5 >= windows.len()).then_some(number)
    }

    /// Writes a text as a patch of an earlier one.
    fn against(&self, number: usize, text: &str, windows: &[(u64, usize)]) -> Option<Vec<u8>> {
        let base = self.bases.get(number - self.first)?;
        let (old, new) = (base.text.as_bytes(), text.as_bytes());
        let mut patch = vec![u8::try_from(base.at.id.len()).ok()?];
        patch.extend(&base.at.id);
        numbers::put(&mut patch, base.at.line);
        patch.extend(check(new).to_le_bytes());
        put(&mut patch, new.len());
        let mut done = 0;
        for (print, at) in windows {
            let Some((_, place)) = self.places.get(print).filter(|(of, _)| *of == number && *at >= done) else {
                continue;
            };
            let back = new[done..*at].iter().rev().zip(old[..*place].iter().rev()).take_while(|(a, b)| a == b).count();
            let (from, copied) = (at - back, place - back);
            let length = new[from..].iter().zip(&old[copied..]).take_while(|(a, b)| a == b).count();
            if length >= COPY {
                put(&mut patch, from - done);
                patch.extend(&new[done..from]);
                put(&mut patch, copied);
                put(&mut patch, length);
                done = from + length;
            }
        }
        put(&mut patch, new.len() - done);
        patch.extend(&new[done..]);
        (patch.len() * 2 < new.len()).then_some(patch)
    }

    fn remember(&mut self, at: Place, text: &Arc<String>, windows: &[(u64, usize)]) {
        let number = self.first + self.bases.len();
        self.places.extend(windows.iter().map(|(print, at)| (*print, (number, *at))));
        self.bytes += text.len();
        self.bases.push_back(Base { at, text: text.clone() });
        while self.bytes > REACH {
            let Some(oldest) = self.bases.pop_front() else { break };
            self.bytes -= oldest.text.len();
            self.first += 1;
        }
        // Many of them are of texts that are there no more.
        if self.places.len() > self.most.max(2 * REACH / SAMPLED as usize) {
            let first = self.first;
            self.places.retain(|_, (number, _)| *number >= first);
            self.most = 2 * self.places.len();
        }
    }
}

/// A patch as it is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patch<'a> {
    /// The bytes under which its base is found.
    pub(super) base: &'a [u8],
    /// The line of its base.
    pub(super) line: u64,
    check: u32,
    length: usize,
    steps: &'a [u8],
}

impl<'a> Patch<'a> {
    /// Takes a patch apart; none if it is damaged.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first()?;
        let (base, mut rest) = rest.split_at_checked(usize::from(*length))?;
        let line = numbers::take(&mut rest)?;
        let (check, mut steps) = rest.split_first_chunk()?;
        let length = take(&mut steps)?;
        Some(Self { base, line, check: u32::from_le_bytes(*check), length, steps })
    }

    /// The text, if this is the base it was told by.
    pub(super) fn apply(&self, base: &[u8]) -> Option<Vec<u8>> {
        let mut steps = self.steps;
        let mut text = Vec::with_capacity(self.length.min(REACH));
        while text.len() <= self.length {
            let length = take(&mut steps)?;
            let (new, rest) = steps.split_at_checked(length)?;
            text.extend(new);
            steps = rest;
            if steps.is_empty() {
                break;
            }
            let from = take(&mut steps)?;
            let length = take(&mut steps)?;
            text.extend(base.get(from..from.checked_add(length)?)?);
        }
        (text.len() == self.length && check(&text) == self.check).then_some(text)
    }
}

fn check(text: &[u8]) -> u32 {
    (xxh3_64(text) >> 32) as u32
}

/// Some of the windows of a text, chosen by what stands in them, so that the same are chosen wherever they stand.
fn windows(text: &[u8]) -> Vec<(u64, usize)> {
    let mut chosen = Vec::with_capacity(text.len() / SAMPLED as usize + 8);
    let mut print = 0_u64;
    let mut next = WINDOW;
    for (at, byte) in text.iter().enumerate() {
        // What was added 32 bytes ago is shifted out.
        print = (print << 2).wrapping_add(GEAR[usize::from(*byte)]);
        if (print >> 40).is_multiple_of(SAMPLED) {
            choose(&mut chosen, print, at + 1, &mut next);
        }
    }
    chosen
}

/// Remembers the window that ends here, if it is far enough from the one before. (As a call that is rare, it does not
/// slow down the loop.)
#[cold]
fn choose(chosen: &mut Vec<(u64, usize)>, print: u64, end: usize, next: &mut usize) {
    if end >= *next {
        chosen.push((print, end - WINDOW));
        *next = end + APART;
    }
}

fn put(patch: &mut Vec<u8>, number: usize) {
    numbers::put(patch, number as u64);
}

fn take(steps: &mut &[u8]) -> Option<usize> {
    numbers::take(steps).and_then(|number| number.try_into().ok())
}

/// A random number for each byte.
const GEAR: [u64; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        // The finisher of splitmix64.
        let mut number = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        table[at] = number ^ (number >> 31);
        at += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(count: usize, seed: u64) -> String {
        (0..count).map(|line| format!("line {line} says {:x}\n", xxh3_64(&[line as u8, seed as u8]))).collect()
    }

    fn place(id: &[u8]) -> Place {
        Place { id: id.to_vec(), line: 300 }
    }

    fn patched(past: &mut Past, id: &[u8], text: &str) -> Option<Vec<u8>> {
        past.patch("s", Some(place(id)), &Arc::new(text.to_string()))
    }

    #[test]
    fn a_text_read_again_is_a_patch_of_the_first() {
        let mut past = Past::default();
        let first = lines(100, 1);
        assert_eq!(patched(&mut past, b"one", &first), None);
        assert_eq!(patched(&mut past, b"two", &lines(100, 2)), None);
        let changed = first.replace("line 50 ", "line fifty ") + "and one more\n";
        for again in [&first, &changed] {
            let bytes = patched(&mut past, b"three", again).expect("a patch");
            assert!(bytes.len() < 120, "{}", bytes.len());
            let patch = Patch::read(&bytes).expect("whole");
            assert_eq!(patch.base, b"one");
            assert_eq!(patch.apply(first.as_bytes()).as_deref(), Some(again.as_bytes()));
            assert_eq!(patch.apply(lines(100, 2).as_bytes()), None, "another text is not its base");
        }
    }

    #[test]
    fn what_cannot_be_found_is_no_base() {
        let text = Arc::new(lines(100, 1));
        let mut past = Past::default();
        assert_eq!(past.patch("s", None, &text), None);
        assert_eq!(past.patch("s", Some(place(b"one")), &text), None, "the first had no id");
        assert!(past.patch("s", None, &text).is_some());
        assert_eq!(
            past.patch("t", Some(place(b"two")), &text),
            None,
            "another session may be forgotten without this one"
        );
    }

    #[test]
    fn memory_is_bounded() {
        let mut past = Past::default();
        for number in 0..2_000_u32 {
            patched(&mut past, &number.to_le_bytes(), &lines(200, u64::from(number)));
            patched(&mut past, &number.to_le_bytes(), &"x".repeat(10_000));
        }
        assert!(past.bytes <= REACH && past.places.len() <= 2 * REACH / APART, "{} {}", past.bytes, past.places.len());
        assert_eq!(past.bytes, past.bases.iter().map(|base| base.text.len()).sum::<usize>());
    }

    #[test]
    fn damage_is_noticed() {
        let first = lines(100, 1);
        let mut past = Past::default();
        patched(&mut past, b"one", &first);
        let bytes = patched(&mut past, b"two", &(first.clone() + "more")).expect("a patch");
        for at in 0..bytes.len() {
            assert!(Patch::read(&bytes[..at]).and_then(|patch| patch.apply(first.as_bytes())).is_none(), "cut at {at}");
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                let text = Patch::read(&flipped).filter(|patch| patch.base == b"one" && patch.line == 300);
                assert_eq!(text.and_then(|patch| patch.apply(first.as_bytes())), None, "bit {bit} of byte {at}");
            }
        }
    }

    proptest! {
        /// Texts made of the same few pieces come back byte for byte, whatever was kept of them.
        #[test]
        fn every_text_comes_back(texts in proptest::collection::vec(
            proptest::collection::vec((0_usize..6, 0_usize..600, 0_usize..900), 1..6), 1..12)) {
            let pieces: Vec<String> = (0..6).map(|seed| lines(50, seed)).collect();
            let mut past = Past::default();
            let mut whole: HashMap<Vec<u8>, String> = HashMap::new();
            for (number, parts) in texts.iter().enumerate() {
                let text: String =
                    parts.iter().map(|(piece, from, length)| &pieces[*piece][*from..(*from + *length).min(pieces[*piece].len())]).collect();
                let id = vec![number as u8];
                match patched(&mut past, &id, &text) {
                    None => drop(whole.insert(id, text)),
                    Some(bytes) => {
                        let patch = Patch::read(&bytes).expect("whole");
                        let base = &whole[patch.base];
                        prop_assert_eq!(patch.apply(base.as_bytes()), Some(text.into_bytes()));
                    }
                }
            }
        }
    }
}
