//! The terms of a segment while it is gathered: each is kept once, and has a number.
//!
//! Numbers are given in order of appearance, so common words have small ones. They are looked up in tables with open
//! addressing. A short term is all in the table; of others it has a part of the hash, and they are compared with the
//! bytes they have in one long row.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Every term once, by number; see the module's text.
#[derive(Debug)]
pub(super) struct Terms {
    /// The bytes of all terms, one behind the other, each with its field in front.
    bytes: Vec<u8>,
    /// Where each of them begins, and at last where the last one ends.
    starts: Vec<u32>,
    /// Those of one to [`SHORT`] bytes: field, length and bytes in one number, and the term's number.
    short: Table<(u64, u32)>,
    /// Others: the upper half of the hash above, the number plus one below.
    long: Table<u64>,
    /// Of short ones, those that came last: few enough to stay in the processor's cache.
    hot: Vec<(u64, u32)>,
}

/// How many short terms are kept at hand.
const HOT: usize = 1 << 12;

/// The most bytes of a short term.
const SHORT: usize = 7;

/// Slots, of which at most three in four are taken; an empty one is 0.
#[derive(Debug)]
struct Table<T> {
    slots: Vec<T>,
    taken: usize,
}

impl<T: Copy + Default + PartialEq> Table<T> {
    fn new() -> Self {
        Self { slots: vec![T::default(); 1 << 10], taken: 0 }
    }

    /// The slot that `fits`, or the empty one in which it belongs.
    #[inline(always)]
    fn find(&self, hash: u64, fits: impl Fn(T) -> bool) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if fits(slot) || slot == T::default() {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// The slot that is looked at first.
    #[inline(always)]
    fn first(&self, hash: u64) -> T {
        self.slots[hash as usize & (self.slots.len() - 1)]
    }

    /// Fills an empty slot.
    fn fill(&mut self, at: usize, slot: T, hash: impl Fn(T) -> u64) {
        self.slots[at] = slot;
        self.taken += 1;
        if self.taken * 4 > self.slots.len() * 3 {
            let larger = vec![T::default(); self.slots.len() * 2];
            let old = std::mem::replace(&mut self.slots, larger);
            for slot in old.into_iter().filter(|slot| *slot != T::default()) {
                let at = self.find(hash(slot), |_| false);
                self.slots[at] = slot;
            }
        }
    }

    fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<T>()
    }
}

/// Terms whose numbers are asked for together.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// Short ones, packed, and where the answer goes.
    short: Vec<(u64, Answer)>,
    long: Vec<Long>,
    /// The bytes of long ones.
    bytes: Vec<u8>,
    /// The numbers of words, in the order in which they were asked for, once they are [given](Terms::answer).
    pub(super) words: Vec<u32>,
    /// Those of whole identifiers.
    pub(super) wholes: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Long {
    hash: u64,
    field: u8,
    /// Where its bytes are.
    from: u32,
    to: u32,
    answer: Answer,
}

/// Where an answer goes: to which place, and whether among whole identifiers.
type Answer = (u32, bool);

impl Asked {
    /// Asks for the number of a term.
    #[inline]
    pub(super) fn push(&mut self, field: u8, term: &[u8], is_whole: bool) {
        let answer = self.place(is_whole);
        if is_short(term) {
            self.short.push((packed(field, term), answer));
        } else {
            let from = self.bytes.len() as u32;
            self.bytes.extend_from_slice(term);
            self.long.push(Long { hash: hashed(field, term), field, from, to: self.bytes.len() as u32, answer });
        }
    }

    /// Asks for the number of a word of a few letters, of which the first is the lowest byte.
    #[inline(always)]
    pub(super) fn push_short(&mut self, field: u8, letters: u64, length: usize, terms: &Terms) {
        let key = letters | head(field, length);
        let (hot, number) = terms.hot[hot_slot(key)];
        if hot == key {
            self.words.push(number);
        } else {
            let answer = self.place(false);
            self.short.push((key, answer));
        }
    }

    #[inline]
    fn place(&mut self, is_whole: bool) -> Answer {
        let answers = if is_whole { &mut self.wholes } else { &mut self.words };
        answers.push(0);
        (answers.len() as u32 - 1, is_whole)
    }

    fn give(&mut self, (place, is_whole): Answer, number: u32) {
        let answers = if is_whole { &mut self.wholes } else { &mut self.words };
        answers[place as usize] = number;
    }

    /// Asks for nothing any more.
    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.wholes.clear();
    }
}

impl Terms {
    pub(super) fn new() -> Self {
        let hot = vec![Default::default(); HOT];
        Self { bytes: Vec::new(), starts: vec![0], short: Table::new(), long: Table::new(), hot }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of a term, which it is given when it is first seen.
    pub(super) fn number(&mut self, field: u8, term: &[u8]) -> u32 {
        if is_short(term) {
            self.number_of_short(packed(field, term))
        } else {
            self.number_of_long(field, term, hashed(field, term))
        }
    }

    /// Looks up what is asked for.
    ///
    /// Most of the time would go into waiting for memory that is not in the processor's cache. So all that will be needed
    /// is looked at beforehand: of those looks, none has to wait for another.
    pub(super) fn answer(&mut self, asked: &mut Asked) {
        let Asked { short, long, .. } = asked;
        let seen = short.iter().fold(0, |seen, (key, _)| seen ^ self.short.first(mixed(*key)).0);
        let seen = long.iter().fold(seen, |seen, one| seen ^ self.long.first(one.hash));
        let likely = |one: &Long| {
            let slot = self.long.first(one.hash);
            let number = (slot as u32).checked_sub(1).filter(|_| slot >> 32 == one.hash >> 32)?;
            Some(self.starts[number as usize])
        };
        let seen = long.iter().filter_map(likely).fold(seen, |seen, start| seen ^ u64::from(start));
        let seen =
            long.iter().filter_map(likely).fold(seen, |seen, start| seen ^ u64::from(self.bytes[start as usize]));
        std::hint::black_box(seen);
        for at in 0..asked.short.len() {
            let (key, answer) = asked.short[at];
            let number = self.number_of_short(key);
            self.hot[hot_slot(key)] = (key, number);
            asked.give(answer, number);
        }
        for at in 0..asked.long.len() {
            let Long { hash, field, from, to, answer } = asked.long[at];
            let number = self.number_of_long(field, &asked.bytes[from as usize..to as usize], hash);
            asked.give(answer, number);
        }
        asked.short.clear();
        asked.long.clear();
        asked.bytes.clear();
    }

    #[inline]
    fn number_of_short(&mut self, key: u64) -> u32 {
        let at = self.short.find(mixed(key), |(slot, _)| slot == key);
        let (slot, number) = self.short.slots[at];
        if slot == key {
            return number;
        }
        let (field, bytes, length) = unpacked(key);
        let number = self.append(field, &bytes[..length]);
        self.short.fill(at, (key, number), |(key, _)| mixed(key));
        number
    }

    #[inline]
    fn number_of_long(&mut self, field: u8, term: &[u8], hash: u64) -> u32 {
        let is_it = |slot: u64| slot >> 32 == hash >> 32 && slot != 0 && self.is(slot as u32 - 1, field, term);
        let at = self.long.find(hash, is_it);
        if let Some(number) = (self.long.slots[at] as u32).checked_sub(1) {
            return number;
        }
        let number = self.append(field, term);
        let (bytes, starts) = (&self.bytes, &self.starts);
        self.long.fill(at, hash >> 32 << 32 | u64::from(number + 1), |slot| {
            let key = key_of(bytes, starts, slot as u32 - 1);
            hashed(key[0], &key[1..])
        });
        number
    }

    fn is(&self, number: u32, field: u8, term: &[u8]) -> bool {
        self.key(number).split_first().is_some_and(|(of, rest)| *of == field && is_same(rest, term))
    }

    fn append(&mut self, field: u8, term: &[u8]) -> u32 {
        let number = self.len() as u32;
        self.bytes.push(field);
        self.bytes.extend_from_slice(term);
        self.starts.push(self.bytes.len() as u32);
        number
    }

    /// A term with its field in front.
    fn key(&self, number: u32) -> &[u8] {
        key_of(&self.bytes, &self.starts, number)
    }

    /// The field of a term.
    pub(super) fn field(&self, number: u32) -> u8 {
        self.bytes[self.starts[number as usize] as usize]
    }

    /// The bytes of a term.
    pub(super) fn term(&self, number: u32) -> &[u8] {
        &self.key(number)[1..]
    }

    /// Says that no term will be looked up any more: the memory for it is needed for other things.
    pub(super) fn settle(&mut self) {
        (self.short, self.long) = (Table::new(), Table::new());
        self.bytes.shrink_to_fit();
        self.starts.shrink_to_fit();
    }

    /// All numbers, in the order of their fields and terms.
    pub(super) fn sorted(&self) -> Vec<u32> {
        // First by field and first byte, by counting, then within each such group. There most are told apart by a few
        // more bytes, which are at hand.
        let heads = || (0..self.len() as u32).map(|number| (self.head(number), number));
        let group = |head: u64| (head >> 48) as usize;
        let mut ends = vec![0; (1 << 16) + 1];
        heads().for_each(|(head, _)| ends[group(head) + 1] += 1);
        (1..ends.len()).for_each(|at| ends[at] += ends[at - 1]);
        let mut keyed = vec![(0, 0); self.len()];
        for (head, number) in heads() {
            let end = &mut ends[group(head)];
            keyed[*end] = (head, number);
            *end += 1;
        }
        for group in keyed.chunk_by_mut(|a, b| group(a.0) == group(b.0)) {
            group.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.key(a.1).cmp(self.key(b.1))));
        }
        keyed.into_iter().map(|(_, number)| number).collect()
    }

    /// Looks at terms that will be needed soon, so that none has to be waited for alone.
    pub(super) fn look_at(&self, numbers: &[u32]) {
        let start = |number: &u32| self.starts[*number as usize];
        std::hint::black_box(numbers.iter().fold(0, |seen, number| seen ^ start(number)));
        std::hint::black_box(numbers.iter().fold(0, |seen, number| seen ^ self.bytes[start(number) as usize]));
    }

    /// The first bytes of a key, as a number of the same order.
    fn head(&self, number: u32) -> u64 {
        let key = self.key(number);
        let mut head = [0; 8];
        let length = key.len().min(head.len());
        head[..length].copy_from_slice(&key[..length]);
        u64::from_be_bytes(head)
    }

    /// The memory they take, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity() + self.starts.capacity() * 4 + self.short.memory() + self.long.memory()
    }
}

fn key_of<'a>(bytes: &'a [u8], starts: &[u32], number: u32) -> &'a [u8] {
    let at = number as usize;
    &bytes[starts[at] as usize..starts[at + 1] as usize]
}

fn hashed(field: u8, term: &[u8]) -> u64 {
    xxh3_64_with_seed(term, u64::from(field))
}

/// Whether two long terms are the same. (The usual way is a call of a function that is made for longer texts.)
#[inline(always)]
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let eight = |bytes: &[u8; 8]| u64::from_ne_bytes(*bytes);
    match (one.last_chunk(), other.last_chunk()) {
        (Some(last), Some(others_last)) if one.len() == other.len() => {
            let (one, other) = (one.as_chunks::<8>().0, other.as_chunks::<8>().0);
            eight(last) == eight(others_last) && one.iter().zip(other).all(|(one, other)| eight(one) == eight(other))
        }
        _ => one == other,
    }
}

#[inline(always)]
fn is_short(term: &[u8]) -> bool {
    (1..=SHORT).contains(&term.len())
}

/// A short term as a number that no other has, and that is not 0. Its field is less than 32.
#[inline(always)]
fn packed(field: u8, term: &[u8]) -> u64 {
    let length = term.len();
    let bytes = match (term.first_chunk(), term.last_chunk()) {
        // Two parts that overlap: where they do, they are equal.
        (Some(low), Some(high)) => {
            u64::from(u32::from_le_bytes(*low)) | u64::from(u32::from_le_bytes(*high)) << ((length - 4) * 8)
        }
        _ => term.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)),
    };
    bytes | head(field, length)
}

/// What a packed term has above its bytes.
#[inline(always)]
fn head(field: u8, length: usize) -> u64 {
    (u64::from(field) << 3 | length as u64) << 56
}

#[inline(always)]
fn hot_slot(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize % HOT
}

/// The field, bytes and length of a packed term.
fn unpacked(key: u64) -> (u8, [u8; 8], usize) {
    let head = (key >> 56) as u8;
    (head >> 3, key.to_le_bytes(), usize::from(head & 7))
}

/// Spreads a packed term over all bits.
#[inline(always)]
fn mixed(key: u64) -> u64 {
    let product = u128::from(key ^ 0x9e37_79b9_7f4a_7c15) * 0xd1b5_4a32_d192_ed03_u128;
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn each_term_has_one_number_and_all_come_in_order() {
        let mut terms = Terms::new();
        let (mut asked, mut expected) = (Asked::default(), [vec![], vec![]]);
        let mut known: BTreeMap<(u8, Vec<u8>), u32> = BTreeMap::new();
        for round in 0..3_u32 {
            for one in 0..20_000_u32 {
                // Long, short, empty, with equal beginnings, and the same bytes in several fields.
                let text = match one % 5 {
                    0 => format!("{one}"),
                    1 => format!("the-same-beginning-{}", one % 977),
                    2 => "x".repeat((one % 300) as usize),
                    3 => format!("a\0{}", one % 7),
                    _ => String::new(),
                };
                let (field, term) = ((one % 3) as u8, text.into_bytes());
                let number = terms.number(field, &term);
                let first = *known.entry((field, term.clone())).or_insert(number);
                assert_eq!(number, first, "round {round}");
                assert_eq!((terms.field(number), terms.term(number)), (field, &term[..]));
                let is_whole = one % 4 == 0;
                match term.first_chunk::<8>() {
                    None if one % 2 == 0 && !is_whole && !term.is_empty() => {
                        let letters = term.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
                        asked.push_short(field, letters, term.len(), &terms);
                    }
                    _ => asked.push(field, &term, is_whole),
                }
                expected[usize::from(is_whole)].push(number);
                if expected[0].len() > 100 {
                    terms.answer(&mut asked);
                    assert_eq!([&asked.words[..], &asked.wholes[..]], expected);
                    asked.clear();
                    expected = [vec![], vec![]];
                }
            }
        }
        assert_eq!(terms.len(), known.len());
        assert_eq!(terms.sorted(), known.into_values().collect::<Vec<u32>>());
    }
}
