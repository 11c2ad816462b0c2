//! A small seeded random number generator with the distributions that the corpus needs.

const RANK_BITS: usize = 16;
const RANKS: usize = 2048;

/// Zipf ranks by inverse lookup: maps a random 16-bit number to a rank below 2048.
static RANK: [u16; 1 << RANK_BITS] = rank_table();

const fn rank_table() -> [u16; 1 << RANK_BITS] {
    let mut table = [0u16; 1 << RANK_BITS];
    let mut slot = 0;
    let mut rank = 0;
    while slot < table.len() {
        // The harmonic number of 2048 is 8.2. Each rank gets at least one slot.
        let mut share = (1 << RANK_BITS) * 5 / (41 * (rank + 1)) + 1;
        while share > 0 && slot < table.len() {
            table[slot] = (rank % RANKS) as u16;
            slot += 1;
            share -= 1;
        }
        rank += 1;
    }
    table
}

/// splitmix64: one word of state, the same stream on every platform.
#[derive(Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    /// Creates a generator whose numbers depend on every part of the key.
    pub(crate) fn new(parts: &[u64]) -> Self {
        let mut rng = Self(0x51_7c_c1_b7_27_22_0a_95);
        for part in parts {
            rng.0 ^= part.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            rng.0 = rng.next();
        }
        rng
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`, or zero if `n` is zero.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// Returns a number in `low..high`.
    pub(crate) fn range(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low))
    }

    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Picks an item. Items at the front are more frequent.
    pub(crate) fn zipf<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.zipf_at(items.len())]
    }

    /// Returns a position below `n`. Small positions are more frequent.
    pub(crate) fn zipf_at(&mut self, n: usize) -> usize {
        let bits = self.next();
        let rank = RANK[bits as usize & ((1 << RANK_BITS) - 1)] as usize;
        let stride = n.div_ceil(RANKS);
        (rank * stride + (bits >> 40) as usize % stride) % n
    }

    /// Like `pick`, for lists of words.
    pub(crate) fn pick_str<'a, S: AsRef<str>>(&mut self, items: &'a [S]) -> &'a str {
        self.pick(items).as_ref()
    }

    /// Like `zipf`, for lists of words.
    pub(crate) fn zipf_str<'a, S: AsRef<str>>(&mut self, items: &'a [S]) -> &'a str {
        self.zipf(items).as_ref()
    }

    /// Returns the position of a weight, drawn in proportion to the weights.
    pub(crate) fn weighted(&mut self, weights: &[u32]) -> usize {
        let total: u32 = weights.iter().sum();
        let mut left = self.below(total as usize) as u32;
        for (index, weight) in weights.iter().enumerate() {
            if left < *weight {
                return index;
            }
            left -= weight;
        }
        weights.len() - 1
    }

    /// Returns a log-uniform number: small values are common, large ones rare.
    pub(crate) fn log_range(&mut self, low: usize, high: usize) -> usize {
        let (low, high) = (low as f64, high as f64);
        (low * (high / low).powf(self.unit())) as usize
    }

    /// Draws from a distribution given by (share, value) points, log-linear between them.
    pub(crate) fn quantile(&mut self, points: &[(f64, f64)]) -> usize {
        let at = self.unit();
        let next = points.iter().position(|p| p.0 >= at).unwrap_or(points.len() - 1).max(1);
        let (from, to) = (points[next - 1], points[next]);
        let share = (at - from.0) / (to.0 - from.0);
        (from.1 * (to.1 / from.1).powf(share.clamp(0.0, 1.0))) as usize
    }
}
