//! From the words of documents to rows of numbers: the way into [`Terms`] and [`Log`].
//!
//! Nearly all time of indexing goes through here, so nothing is done twice that can be remembered: a piece of text that
//! came not long ago is noted as it was then ([`Pieces`]), and so is a compound like `parseRetryAfter` with all the terms
//! it gives. What is left is looked up many words at a time.

use std::io;
use std::ops::Range;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::log::{GAP, Log};
use super::pieces::{self, Pieces, Shape};
use super::terms::{Asked, Terms};
use crate::analysis::{Scratch, Sink, Term, analyze_into};

/// Between two values of a field there is a place without a word.
const BETWEEN: u32 = 1;
/// So many words are looked up together.
const TOGETHER: usize = 128;

/// The terms of a segment and where they stand; see the module's text.
pub(super) struct Noting {
    pub(super) terms: Terms,
    pub(super) log: Log,
    /// Words that are yet to be noted.
    asked: Asked,
    /// The position at which the value at hand begins.
    base: u32,
    /// The position behind the last word.
    next: u32,
    /// How many terms the field has.
    count: u32,
    compounds: Compounds,
    pieces: Pieces,
    scratch: Scratch,
}

/// The words of a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words {
    /// How many there are; none if the field has no value.
    pub(super) count: Option<u32>,
    /// To which place they reach.
    pub(super) reach: u32,
}

impl Noting {
    /// Begins with nothing; `folder` is where a file may be made for what does not fit in memory.
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            terms: Terms::new(),
            log: Log::new(folder),
            asked: Asked::default(),
            base: 0,
            next: 0,
            count: 0,
            compounds: Compounds::new(),
            pieces: Pieces::default(),
            scratch: Scratch::default(),
        }
    }

    /// Notes the words of a field, value by value.
    pub(super) fn words<'a>(&mut self, field: u8, values: impl Iterator<Item = &'a str>) -> Words {
        (self.base, self.next, self.count) = (0, 0, 0);
        let mut count = None;
        for value in values {
            if self.base == 0 && value.len() >= pieces::WORTHWHILE {
                self.in_pieces(field, value);
            } else {
                self.analyze(field, value, 0, true);
            }
            self.note();
            self.base = self.base.max(self.next) + BETWEEN;
            count = Some(self.count);
        }
        self.log.end_words();
        Words { count, reach: self.base }
    }

    /// Notes a text piece by piece, those that are known as they were.
    fn in_pieces(&mut self, field: u8, text: &str) {
        let (mut rest, mut position) = (text, 0);
        while !rest.is_empty() {
            let (piece, behind) = pieces::cut(rest);
            rest = behind;
            position = match pieces::print(field, piece) {
                Some(print) => self.piece(field, piece, print, position),
                None => self.analyze(field, piece, position, true),
            };
            if self.asked.words.len() >= TOGETHER {
                self.note();
            }
        }
    }

    fn piece(&mut self, field: u8, piece: &str, print: pieces::Print, position: usize) -> usize {
        let (words, wholes) = (self.asked.words.len(), self.asked.wholes.len());
        if let Some(shape) = self.pieces.recall(print, &mut self.asked) {
            self.count += shape.count;
            self.next += (self.asked.words.len() - words) as u32;
            return position + shape.positions as usize;
        }
        let before = self.count;
        let behind = self.analyze(field, piece, position, false);
        let shape = Shape { positions: (behind - position) as u32, count: self.count - before };
        self.pieces.await_numbers(print, words..self.asked.words.len(), wholes..self.asked.wholes.len(), shape);
        behind
    }

    /// Takes the words of a text that begins at a position, and says at which it ends. They may be noted at any time, or
    /// must wait until the end of it.
    fn analyze(&mut self, field: u8, text: &str, position: usize, at_any_time: bool) -> usize {
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut noter = Noter { noting: self, field, at_any_time, within: None };
        let behind = analyze_into(text, position, &mut scratch, &mut noter);
        self.scratch = scratch;
        behind
    }

    /// Leaves places without a word up to a position.
    #[inline(always)]
    fn fill_up_to(&mut self, position: u32) {
        while self.next < position {
            self.asked.words.push(GAP);
            self.next += 1;
        }
    }

    /// Makes room for words at a position, and those behind it.
    #[inline(always)]
    fn words_at(&mut self, position: usize, words: u32) {
        let position = self.base + position as u32;
        self.fill_up_to(position);
        self.next = position + words;
        self.count += words;
    }

    /// Notes a term that stands for a whole value.
    pub(super) fn name(&mut self, field: u8, term: &[u8]) {
        self.log.pin(self.terms.number(field, term), 0);
    }

    /// Ends a document.
    pub(super) fn end_document(&mut self) -> io::Result<()> {
        self.log.end_document()
    }

    /// Looks up the words that are yet to be noted, and notes them.
    fn note(&mut self) {
        self.terms.answer(&mut self.asked);
        self.log.words(&self.asked.words);
        match self.base {
            0 => self.log.pin_all(&self.asked.wholes),
            base => self.asked.wholes.iter().for_each(|number| self.log.pin(*number, base)),
        }
        self.compounds.learn(&self.asked);
        self.pieces.learn(&self.asked);
        self.asked.clear();
    }

    /// Gives back the memory that only adding needs.
    pub(super) fn settle(&mut self) {
        self.terms.settle();
        self.compounds = Compounds { slots: Vec::new(), learning: Vec::new() };
        self.pieces = Pieces::default();
    }
}

/// Takes the words of a text.
struct Noter<'a> {
    noting: &'a mut Noting,
    field: u8,
    /// Whether words may be noted before the text ends.
    at_any_time: bool,
    /// While the terms of a compound come: the slot in which it will be remembered.
    within: Option<usize>,
}

impl Noter<'_> {
    /// Not in the middle of a compound: its terms are learned together.
    #[inline(always)]
    fn note_if_many(&mut self) {
        if self.at_any_time && self.within.is_none() && self.noting.asked.words.len() >= TOGETHER {
            self.noting.note();
        }
    }
}

impl Sink for Noter<'_> {
    #[inline]
    fn term(&mut self, term: Term<'_>) {
        if term.whole {
            self.noting.count += 1;
        } else {
            self.noting.words_at(term.position, 1);
        }
        self.noting.asked.push(self.field, term.text.as_bytes(), term.whole);
        self.note_if_many();
    }

    #[inline(always)]
    fn short(&mut self, letters: u64, place: Range<usize>, position: usize) {
        self.noting.words_at(position, 1);
        self.noting.asked.push_short(self.field, letters, place.len(), &self.noting.terms);
        self.note_if_many();
    }

    fn again(&mut self, compound: &str, position: usize) -> Option<usize> {
        let slot = self.noting.compounds.slot(self.field, compound);
        let Some(&known) = self.noting.compounds.recall(slot, self.field, compound) else {
            self.within = Some(slot);
            return None;
        };
        let words = usize::from(known.count);
        self.noting.words_at(position, words as u32);
        self.noting.asked.words.extend_from_slice(&known.words[..words]);
        if known.is_whole {
            self.noting.count += 1;
            self.noting.asked.wholes.push(known.whole);
        }
        self.note_if_many();
        Some(words)
    }

    fn taken(&mut self, compound: &str, terms: usize) {
        let asked = &self.noting.asked;
        if let Some(slot) = self.within.take() {
            let words = asked.words.len() - if terms > 1 { terms - 1 } else { terms }..asked.words.len();
            let whole = (terms > 1).then(|| asked.wholes.len() - 1);
            self.noting.compounds.remember(slot, self.field, compound, whole, words);
        }
        self.note_if_many();
    }
}

/// Compounds that came not long ago, with the numbers of their terms. A new one takes the slot of an old one.
struct Compounds {
    slots: Vec<Compound>,
    /// The slots whose numbers are yet to be looked up, and where they will be.
    learning: Vec<Learning>,
}

/// What will be known of a compound: its slot, and where the numbers of the whole and of its words will be.
struct Learning {
    slot: usize,
    whole: Option<usize>,
    words: Range<usize>,
}

/// The longest compound that is remembered, in bytes, and how many words it has at most.
const LONGEST: usize = 36;
const MOST: usize = 5;
/// As many as fit into the processor's cache. Few in a debug build, so that the tests see them fought over.
const SLOTS: usize = if cfg!(debug_assertions) { 1 << 6 } else { 1 << 14 };

/// As large as what the processor fetches at once.
#[derive(Clone, Copy, Debug)]
struct Compound {
    text: [u8; LONGEST],
    length: u8,
    field: u8,
    /// How many words it has; none until their numbers are known.
    count: u8,
    /// Whether it is a term by itself too.
    is_whole: bool,
    whole: u32,
    words: [u32; MOST],
}

impl Compounds {
    fn new() -> Self {
        let none =
            Compound { text: [0; LONGEST], length: 0, field: 0, count: 0, is_whole: false, whole: 0, words: [0; MOST] };
        Self { slots: vec![none; SLOTS], learning: Vec::new() }
    }

    fn slot(&self, field: u8, compound: &str) -> usize {
        xxh3_64_with_seed(compound.as_bytes(), u64::from(field)) as usize % SLOTS
    }

    /// What is known of a compound.
    fn recall(&self, slot: usize, field: u8, compound: &str) -> Option<&Compound> {
        let known = &self.slots[slot];
        let is_it = known.count > 0
            && known.field == field
            && usize::from(known.length) == compound.len()
            && &known.text[..compound.len()] == compound.as_bytes();
        is_it.then_some(known)
    }

    /// Remembers a compound, whose terms will have their numbers there.
    fn remember(&mut self, slot: usize, field: u8, compound: &str, whole: Option<usize>, words: Range<usize>) {
        if compound.len() > LONGEST || words.len() > MOST {
            return;
        }
        let new = &mut self.slots[slot];
        new.text[..compound.len()].copy_from_slice(compound.as_bytes());
        (new.length, new.field, new.count) = (compound.len() as u8, field, 0);
        self.learning.push(Learning { slot, whole, words });
    }

    /// Takes the numbers of what is to be learned.
    fn learn(&mut self, asked: &Asked) {
        // Where two want the same slot, the later one has written its text there.
        for Learning { slot, whole, words } in self.learning.drain(..) {
            let new = &mut self.slots[slot];
            (new.count, new.is_whole) = (words.len() as u8, whole.is_some());
            new.whole = whole.map_or(0, |whole| asked.wholes[whole]);
            new.words[..words.len()].copy_from_slice(&asked.words[words]);
        }
    }
}
