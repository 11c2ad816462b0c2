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
}

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

impl Terms {
    pub(super) fn new() -> Self {
        Self { bytes: Vec::new(), starts: vec![0], short: Table::new(), long: Table::new() }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of a term, which it is given when it is first seen.
    #[inline]
    pub(super) fn number(&mut self, field: u8, term: &[u8]) -> u32 {
        if term.len() > SHORT || term.is_empty() {
            return self.number_of_long(field, term);
        }
        let key = packed(field, term);
        let at = self.short.find(mixed(key), |(slot, _)| slot == key);
        let (slot, number) = self.short.slots[at];
        if slot == key {
            return number;
        }
        let number = self.append(field, term);
        self.short.fill(at, (key, number), |(key, _)| mixed(key));
        number
    }

    fn number_of_long(&mut self, field: u8, term: &[u8]) -> u32 {
        let hash = hashed(field, term);
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
        self.key(number).split_first().is_some_and(|(of, rest)| *of == field && rest == term)
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
        // First by field and first byte, which takes no memory but for the answer, then within each such group. There
        // most are told apart by a few more bytes, which are looked up only once.
        let group = |number: u32| self.head(number) >> 48;
        let mut ends = vec![0; (1 << 16) + 1];
        (0..self.len() as u32).for_each(|number| ends[group(number) as usize + 1] += 1);
        (1..ends.len()).for_each(|at| ends[at] += ends[at - 1]);
        let mut order = vec![0; self.len()];
        for number in 0..self.len() as u32 {
            let end = &mut ends[group(number) as usize];
            order[*end] = number;
            *end += 1;
        }
        let mut keyed: Vec<(u64, u32)> = Vec::new();
        for group in order.chunk_by_mut(|a, b| group(*a) == group(*b)) {
            keyed.clear();
            keyed.extend(group.iter().map(|number| (self.head(*number), *number)));
            keyed.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.key(a.1).cmp(self.key(b.1))));
            group.iter_mut().zip(&keyed).for_each(|(slot, (_, number))| *slot = *number);
        }
        order
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
    bytes | (u64::from(field) << 3 | length as u64) << 56
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
            }
        }
        assert_eq!(terms.len(), known.len());
        assert_eq!(terms.sorted(), known.into_values().collect::<Vec<u32>>());
    }
}
