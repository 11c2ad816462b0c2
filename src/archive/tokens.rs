//! Numbers of tokens by type, and their sums.

use serde::Serialize;

/// Numbers of tokens by type.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Tokens {
    /// Fresh input.
    pub input: u64,
    /// Input written to the cache.
    pub cache_write: u64,
    /// The part of `cache_write` that is kept for an hour instead of five minutes.
    pub cache_hour: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Output.
    pub output: u64,
}

impl Tokens {
    /// Returns all input, from the cache or not.
    pub fn read_in(&self) -> u64 {
        self.input + self.cache_write + self.cache_read
    }

    /// Returns the number of all tokens.
    pub fn total(&self) -> u64 {
        self.read_in() + self.output
    }

    /// Returns the share of the input that came from the cache, from 0 to 1.
    pub fn hit_rate(&self) -> Option<f64> {
        (self.read_in() > 0).then(|| self.cache_read as f64 / self.read_in() as f64)
    }

    pub(super) fn add(&mut self, more: &Self) {
        self.input += more.input;
        self.cache_write += more.cache_write;
        self.cache_hour += more.cache_hour;
        self.cache_read += more.cache_read;
        self.output += more.output;
    }
}
