//! Pieces of text that came not long ago, with the numbers of their words.
//!
//! A session reads a file, changes a line and reads it again; it runs a command until it passes. So more than a third of
//! all text stands, line for line, in what came shortly before. A text is cut where its own lines say so, wherever they
//! stand, and of a piece that comes again nothing is analysed.

use std::ops::Range;

use memchr::memchr;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use super::gather::ByPrint;
use super::terms::Asked;

/// A shorter text is not cut.
pub(super) const WORTHWHILE: usize = 200;
/// A piece has no fewer bytes, unless the text ends.
const LEAST: usize = 64;
/// Of so many lines, one is the last of its piece.
const LINES: u64 = 4;
/// A longer piece ends with the next line.
const LONG: usize = 2000;
/// One that is still longer is not remembered.
const TOO_LONG: usize = 8000;
/// When so many words are remembered, others make room. Few in a debug build, so that the tests see it.
const WORDS: usize = if cfg!(debug_assertions) { 1 << 11 } else { 1 << 19 };

/// Tells a piece from all others, by chance alone.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Print {
    key: u64,
    check: u64,
}

/// The piece that a text begins with, and what is behind it.
pub(super) fn cut(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let mut from = LEAST;
    while let Some(at) = bytes.get(from..).and_then(|rest| memchr(b'\n', rest)) {
        let end = from + at;
        if end >= LONG || bytes[..end].last_chunk().is_some_and(is_last) {
            return text.split_at(end + 1);
        }
        from = end + 1;
    }
    (text, "")
}

/// Whether a line that ends like this is the last of its piece.
fn is_last(end: &[u8; 8]) -> bool {
    u64::from_le_bytes(*end).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 & (LINES - 1) == 0
}

/// The print of a piece; none if it is not worth remembering.
pub(super) fn print(field: u8, piece: &str) -> Option<Print> {
    if !(LEAST..TOO_LONG).contains(&piece.len()) {
        return None;
    }
    let print = xxh3_128_with_seed(piece.as_bytes(), u64::from(field));
    Some(Print { key: print as u64, check: (print >> 64) as u64 })
}

/// What a piece amounts to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// How many positions it takes.
    pub(super) positions: u32,
    /// How many terms it has.
    pub(super) count: u32,
}

/// Pieces that came not long ago; see the module's text.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    young: Known,
    /// What was known before the young were begun.
    old: Known,
    /// Pieces whose numbers are yet to be looked up.
    awaiting: Vec<(Print, Piece)>,
}

#[derive(Debug, Default)]
struct Known {
    pieces: ByPrint<(u64, Piece)>,
    words: Vec<u32>,
    wholes: Vec<u32>,
}

/// A piece, and where the numbers of its terms are.
#[derive(Clone, Debug)]
struct Piece {
    words: Range<u32>,
    wholes: Range<u32>,
    shape: Shape,
}

impl Pieces {
    /// Takes the numbers of a piece from memory, if it is there.
    pub(super) fn recall(&self, print: Print, asked: &mut Asked) -> Option<Shape> {
        [&self.young, &self.old].into_iter().find_map(|known| {
            let (_, piece) = known.pieces.get(&print.key).filter(|(check, _)| *check == print.check)?;
            asked.words.extend_from_slice(&known.words[in_memory(&piece.words)]);
            asked.wholes.extend_from_slice(&known.wholes[in_memory(&piece.wholes)]);
            Some(piece.shape)
        })
    }

    /// Will remember a piece when its numbers are there.
    pub(super) fn await_numbers(&mut self, print: Print, words: Range<usize>, wholes: Range<usize>, shape: Shape) {
        let [words, wholes] = [words, wholes].map(|range| range.start as u32..range.end as u32);
        self.awaiting.push((print, Piece { words, wholes, shape }));
    }

    /// Takes the numbers that are there now.
    pub(super) fn learn(&mut self, asked: &Asked) {
        for (print, piece) in self.awaiting.drain(..) {
            let Known { pieces, words, wholes } = &mut self.young;
            let words = append(words, &asked.words[in_memory(&piece.words)]);
            let wholes = append(wholes, &asked.wholes[in_memory(&piece.wholes)]);
            pieces.insert(print.key, (print.check, Piece { words, wholes, shape: piece.shape }));
        }
        if self.young.words.len() > WORDS {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.pieces.clear();
            self.young.words.clear();
            self.young.wholes.clear();
        }
    }
}

/// Appends numbers; says where they are.
fn append(all: &mut Vec<u32>, numbers: &[u32]) -> Range<u32> {
    let start = all.len() as u32;
    all.extend_from_slice(numbers);
    start..all.len() as u32
}

fn in_memory(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(mut text: &str) -> Vec<&str> {
        let mut all = Vec::new();
        while !text.is_empty() {
            let (piece, rest) = cut(text);
            all.push(piece);
            text = rest;
        }
        all
    }

    fn line(number: usize) -> String {
        format!("line {number} says {:x}\n", number * number * 7919)
    }

    #[test]
    fn pieces_are_whole_lines_and_make_up_the_text() {
        let text: String = (0..400).map(line).collect::<String>() + "the end";
        let found = pieces(&text);
        assert_eq!(found.concat(), text);
        assert!(found.len() > 20, "{}", found.len());
        for piece in &found[..found.len() - 1] {
            assert!(piece.len() >= LEAST && piece.ends_with('\n'), "{piece:?}");
        }
        let (endless, blank) = ("x".repeat(10_000), "\n".repeat(10_000));
        assert_eq!(pieces(&endless), [&endless]);
        assert!(pieces(&blank).iter().all(|piece| piece.len() <= LONG + 1));
        assert_eq!(print(0, &endless), None);
    }

    #[test]
    fn most_pieces_are_the_same_behind_a_change() {
        let lines: Vec<String> = (0..400).map(line).collect();
        let before = pieces(lines.concat().leak());
        let mut changed = lines.clone();
        changed[200] = "something else\nin its place\n".to_string();
        let after = changed.concat();
        let same = pieces(&after).iter().filter(|piece| before.contains(piece)).count();
        assert!(same + 4 > before.len(), "{same} of {}", before.len());
    }
}
