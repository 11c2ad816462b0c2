//! Maps and sets of 64-bit hashes. They use the hash as it is, instead of hashing it again.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map keyed by 64-bit hashes.
pub(crate) type HashMap64<T> = HashMap<u64, T, BuildHasherDefault<IdentityHasher>>;
/// A set of 64-bit hashes.
pub(crate) type HashSet64 = HashSet<u64, BuildHasherDefault<IdentityHasher>>;

/// A hasher that returns its 64-bit input unchanged.
#[derive(Default)]
pub(crate) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}
