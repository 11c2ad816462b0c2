//! From the words of documents to rows of numbers: the way into [`Terms`] and [`Log`].
//!
//! Nearly all time of indexing goes through here, so nothing is done twice that can be remembered: a text that came not
//! long ago is noted as it was then, and so is a compound like `parseRetryAfter` with all the terms it gives. What is
//! left is looked up many words at a time.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::Path;

use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128};

use super::log::Log;
use super::terms::{Asked, Terms};
use crate::analysis::{Sink, Term, analyze_into};

/// Between two values of a field there is a place without a word.
const BETWEEN: u32 = 1;
/// So many words are looked up together.
const TOGETHER: usize = 128;
/// A shorter text is analysed each time.
const REPEATED: usize = 200;

/// The terms of a segment and where they stand; see the module's text.
pub(super) struct Noting {
    pub(super) terms: Terms,
    pub(super) log: Log,
    /// Words that are yet to be noted.
    asked: Asked,
    /// The position of each, and as the lowest bit whether it is a whole identifier.
    spots: Vec<u32>,
    /// The position of the next word that follows from the order.
    next: u32,
    compounds: Compounds,
    /// Texts that were noted not long ago, by field and fingerprint: a session reads a file, and reads it again. (128 bits,
    /// so that no two texts share one by chance.)
    repeats: HashMap<(u8, u128), Repeat>,
}

/// A text that may come again.
#[derive(Debug)]
struct Repeat {
    /// Where its words were noted.
    noted: Range<usize>,
    words: Words,
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
            spots: Vec::new(),
            next: 0,
            compounds: Compounds::new(),
            repeats: HashMap::new(),
        }
    }

    /// Notes the words of a field, value by value.
    pub(super) fn words<'a>(&mut self, field: u8, mut values: impl Iterator<Item = &'a str> + Clone) -> Words {
        let only = values.clone().nth(1).is_none().then(|| values.clone().next()).flatten();
        let print = only.filter(|text| text.len() >= REPEATED).map(|text| (field, xxh3_128(text.as_bytes())));
        let known = print.and_then(|print| self.repeats.get(&print)).filter(|known| self.log.has(known.noted.start));
        if let Some(Repeat { noted, words }) = known {
            self.log.repeat(noted.clone());
            return *words;
        }
        let from = self.log.length();
        self.next = 0;
        let mut noter = Noter { noting: self, field, base: 0, end: 0, count: 0, within: None };
        let mut count = None;
        for value in &mut values {
            noter.end = noter.base;
            analyze_into(value, &mut noter);
            noter.base = noter.end + BETWEEN;
            count = Some(noter.count);
        }
        let reach = noter.base;
        self.note();
        self.log.end_words();
        let words = Words { count, reach: self.next.max(reach) };
        if let Some(print) = print {
            self.repeats.insert(print, Repeat { noted: from..self.log.length(), words });
        }
        words
    }

    /// Notes a term that stands for a whole value.
    pub(super) fn name(&mut self, field: u8, term: &[u8]) {
        self.log.pin(self.terms.number(field, term), 0);
    }

    /// Ends a document.
    pub(super) fn end_document(&mut self) -> io::Result<()> {
        if self.log.end_document()? {
            self.repeats.retain(|_, known| self.log.has(known.noted.start));
        }
        Ok(())
    }

    /// Looks up the words that are yet to be noted, and notes them.
    fn note(&mut self) {
        self.terms.answer(&mut self.asked);
        for (number, spot) in self.asked.numbers().iter().zip(self.spots.drain(..)) {
            let position = spot >> 1;
            if spot & 1 == 1 {
                self.log.pin(*number, position);
                continue;
            }
            while self.next < position {
                self.log.gap();
                self.next += 1;
            }
            self.log.word(*number);
            self.next += 1;
        }
        self.compounds.learn(self.asked.numbers());
        self.asked.clear();
    }

    /// Gives back the memory that only adding needs.
    pub(super) fn settle(&mut self) {
        self.terms.settle();
        self.compounds = Compounds { slots: Vec::new(), learning: Vec::new() };
        self.repeats = HashMap::new();
    }
}

/// Takes the words of a field.
struct Noter<'a> {
    noting: &'a mut Noting,
    field: u8,
    /// The position at which the value at hand begins, and where it ends so far.
    base: u32,
    end: u32,
    count: u32,
    /// While the terms of a compound come: the slot in which it will be remembered.
    within: Option<usize>,
}

impl Noter<'_> {
    #[inline(always)]
    fn spot(&mut self, position: usize, whole: bool) {
        let position = self.base + position as u32;
        self.end = self.end.max(position + 1);
        self.count += 1;
        self.noting.spots.push(position << 1 | u32::from(whole));
    }

    /// Not in the middle of a compound: its terms are learned together.
    #[inline(always)]
    fn note_if_many(&mut self) {
        if self.noting.spots.len() >= TOGETHER {
            self.noting.note();
        }
    }
}

impl Sink for Noter<'_> {
    #[inline]
    fn term(&mut self, term: Term<'_>) {
        self.noting.asked.push(self.field, term.text.as_bytes());
        self.spot(term.position, term.whole);
        if self.within.is_none() {
            self.note_if_many();
        }
    }

    fn again(&mut self, compound: &str, position: usize) -> Option<usize> {
        let slot = self.noting.compounds.slot(self.field, compound);
        let Some(numbers) = self.noting.compounds.recall(slot, self.field, compound) else {
            self.within = Some(slot);
            return None;
        };
        numbers.iter().for_each(|number| self.noting.asked.know(*number));
        let count = numbers.len();
        let words = if count > 1 { count - 1 } else { count };
        if count > 1 {
            self.spot(0, true);
        }
        (position..position + words).for_each(|position| self.spot(position, false));
        self.note_if_many();
        Some(words)
    }

    fn taken(&mut self, compound: &str, terms: usize) {
        let from = self.noting.asked.numbers().len() - terms;
        if let Some(slot) = self.within.take() {
            self.noting.compounds.remember(slot, self.field, compound, from..from + terms);
        }
        self.note_if_many();
    }
}

/// Compounds that came not long ago, with the numbers of their terms. A new one takes the slot of an old one.
struct Compounds {
    slots: Vec<Compound>,
    /// The slots whose numbers are yet to be looked up, and where they will be.
    learning: Vec<(usize, Range<usize>)>,
}

/// The longest compound that is remembered, in bytes, and how many terms it has at most.
const LONGEST: usize = 36;
const MOST: usize = 6;
/// As many as fit into the processor's cache. Few in a debug build, so that the tests see them fought over.
const SLOTS: usize = if cfg!(debug_assertions) { 1 << 6 } else { 1 << 14 };

/// As large as what the processor fetches at once.
#[derive(Clone, Copy, Debug)]
struct Compound {
    text: [u8; LONGEST],
    length: u8,
    field: u8,
    /// How many terms it has; none until their numbers are known.
    terms: u8,
    /// The numbers of its terms; if there are several, that of the whole comes first.
    numbers: [u32; MOST],
}

impl Compounds {
    fn new() -> Self {
        let none = Compound { text: [0; LONGEST], length: 0, field: 0, terms: 0, numbers: [0; MOST] };
        Self { slots: vec![none; SLOTS], learning: Vec::new() }
    }

    fn slot(&self, field: u8, compound: &str) -> usize {
        xxh3_64_with_seed(compound.as_bytes(), u64::from(field)) as usize % SLOTS
    }

    /// The numbers of the terms of a compound.
    fn recall(&self, slot: usize, field: u8, compound: &str) -> Option<&[u32]> {
        let known = &self.slots[slot];
        let is_it = known.terms > 0
            && known.field == field
            && usize::from(known.length) == compound.len()
            && &known.text[..compound.len()] == compound.as_bytes();
        is_it.then(|| &known.numbers[..usize::from(known.terms)])
    }

    /// Remembers a compound, whose terms will have their numbers there.
    fn remember(&mut self, slot: usize, field: u8, compound: &str, numbers: Range<usize>) {
        if compound.len() > LONGEST || numbers.len() > MOST {
            return;
        }
        let new = &mut self.slots[slot];
        new.text[..compound.len()].copy_from_slice(compound.as_bytes());
        (new.length, new.field, new.terms) = (compound.len() as u8, field, 0);
        self.learning.push((slot, numbers));
    }

    /// Takes the numbers of what is to be learned.
    fn learn(&mut self, numbers: &[u32]) {
        // Where two want the same slot, the later one has written its text there.
        for (slot, range) in self.learning.drain(..) {
            let new = &mut self.slots[slot];
            new.terms = range.len() as u8;
            new.numbers[..range.len()].copy_from_slice(&numbers[range]);
        }
    }
}
