//! Prices of tokens: one dated table, to which the configuration may add. A model that is not in the table has no
//! price; prices are never guessed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::archive::tokens::Tokens;

/// The date of the newest copy of the API's price list (platform.claude.com/docs/en/about-claude/pricing) that the
/// table was compared with.
pub const PRICES_OF: &str = "2026-10-10";

/// US dollars for a million tokens.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Price {
    /// Fresh input.
    pub input: f64,
    /// Input written to the cache for five minutes.
    pub cache_write: f64,
    /// Input written to the cache for an hour.
    pub cache_hour: f64,
    /// Input read from the cache.
    pub cache_read: f64,
    /// Output.
    pub output: f64,
    /// The surcharge on messages with long input.
    pub long: Option<Long>,
}

/// A surcharge on long conversations. It applies to all tokens of a message.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Long {
    /// Applies to messages with more input tokens than this, cached or not.
    pub above: u64,
    /// The factor for all input.
    pub input: f64,
    /// The factor for output.
    pub output: f64,
}

impl Price {
    /// Returns a price with the usual ratios to input: 1.25 for a cache write of five minutes, 2 for an hour, 0.1 for a
    /// cache read.
    pub const fn usual(input: f64, output: f64) -> Self {
        Self { input, cache_write: input * 1.25, cache_hour: input * 2.0, cache_read: input * 0.1, output, long: None }
    }

    /// Sets the price of a cache read.
    const fn reading(mut self, cache_read: f64) -> Self {
        self.cache_read = cache_read;
        self
    }

    /// Sets the surcharge.
    const fn long(mut self, above: u64, input: f64, output: f64) -> Self {
        self.long = Some(Long { above, input, output });
        self
    }

    /// Returns the cost of one message, in billionths of a US dollar.
    pub fn of(&self, tokens: &Tokens) -> u64 {
        let long = self.long.filter(|long| tokens.read_in() > long.above);
        let (more_in, more_out) = long.map_or((1.0, 1.0), |long| (long.input, long.output));
        let five_minutes = tokens.cache_write.saturating_sub(tokens.cache_hour);
        let input = tokens.input as f64 * self.input
            + five_minutes as f64 * self.cache_write
            + tokens.cache_hour as f64 * self.cache_hour
            + tokens.cache_read as f64 * self.cache_read;
        // One dollar for a million tokens is a thousand billionths for one token.
        ((input * more_in + tokens.output as f64 * self.output * more_out) * 1e3).round() as u64
    }
}

/// Every model with a known price, by its name without the date.
const TABLE: [(&str, Price); 24] = [
    ("claude-fable-5-1", Price::usual(10.0, 50.0).reading(0.25)),
    ("claude-mythos-5-1", Price::usual(10.0, 50.0).reading(0.25)),
    ("claude-fable-5", Price::usual(10.0, 50.0)),
    ("claude-mythos-5", Price::usual(10.0, 50.0)),
    ("claude-opus-5-5", Price::usual(4.0, 20.0).reading(0.2)),
    ("claude-opus-5", Price::usual(5.0, 25.0)),
    ("claude-opus-4-8", Price::usual(5.0, 25.0)),
    ("claude-opus-4-7", Price::usual(5.0, 25.0)),
    ("claude-opus-4-6", Price::usual(5.0, 25.0)),
    ("claude-opus-4-5", Price::usual(5.0, 25.0)),
    ("claude-opus-4-1", Price::usual(15.0, 75.0)),
    ("claude-opus-4", Price::usual(15.0, 75.0)),
    ("claude-3-opus", Price::usual(15.0, 75.0)),
    ("claude-sonnet-5-5", Price::usual(2.0, 10.0).reading(0.1)),
    ("claude-sonnet-5", Price::usual(2.0, 10.0)),
    ("claude-sonnet-4-6", Price::usual(3.0, 15.0)),
    ("claude-sonnet-4-5", Price::usual(3.0, 15.0).long(200_000, 2.0, 1.5)),
    ("claude-sonnet-4", Price::usual(3.0, 15.0).long(200_000, 2.0, 1.5)),
    ("claude-3-7-sonnet", Price::usual(3.0, 15.0)),
    ("claude-3-5-sonnet", Price::usual(3.0, 15.0)),
    ("claude-haiku-5-5", Price::usual(0.1, 0.5).long(100_000, 5.0, 5.0)),
    ("claude-haiku-4-5", Price::usual(1.0, 5.0)),
    ("claude-3-5-haiku", Price::usual(0.8, 4.0)),
    ("claude-3-haiku", Price { cache_write: 0.3, cache_hour: 0.5, ..Price::usual(0.25, 1.25).reading(0.03) }),
];

/// The built-in prices, and those from the configuration.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Prices {
    own: BTreeMap<String, Price>,
}

impl Prices {
    /// Sets the price of a model. It takes precedence over the table.
    pub fn set(&mut self, model: &str, price: Price) {
        self.own.insert(model.to_string(), price);
    }

    /// Returns the price of a model. Accepts the name as it is in transcripts, and without provider, date or version.
    pub fn find(&self, model: &str) -> Option<Price> {
        let own = |name: &str| self.own.get(name).copied();
        let name = plain_name(model);
        own(model).or_else(|| own(name)).or_else(|| {
            let name = name.strip_suffix("-0").unwrap_or(name);
            TABLE.iter().find(|(known, _)| *known == name).map(|(_, price)| *price)
        })
    }
}

/// Returns a model's name without the provider before it and the date or version after it.
fn plain_name(model: &str) -> &str {
    let name = model.find("claude-").map_or(model, |at| &model[at..]);
    let name = name.split(['[', '@', ':']).next().unwrap_or(name);
    let name = name.strip_suffix("-latest").unwrap_or(name);
    let is_version = |tail: &str| {
        tail.strip_prefix('v').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let is_date = |tail: &str| tail.len() == 8 && tail.bytes().all(|byte| byte.is_ascii_digit());
    let cut = |name: &'_ str, is_tail: &dyn Fn(&str) -> bool| match name.rsplit_once('-') {
        Some((head, tail)) if is_tail(tail) => head.len(),
        _ => name.len(),
    };
    let name = &name[..cut(name, &is_version)];
    &name[..cut(name, &is_date)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_found_by_all_their_names() {
        let prices = Prices::default();
        for (model, input) in [
            ("claude-opus-4-5-20251101", Some(5.0)),
            ("claude-opus-4-20250514", Some(15.0)),
            ("claude-opus-4-0", Some(15.0)),
            ("claude-opus-4-6[1m]", Some(5.0)),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", Some(3.0)),
            ("anthropic/claude-sonnet-4-6", Some(3.0)),
            ("claude-haiku-4-5@20251001", Some(1.0)),
            ("claude-3-5-haiku-latest", Some(0.8)),
            ("claude-3-7-sonnet-20250219", Some(3.0)),
            ("claude-opus-5-5", Some(4.0)),
            ("claude-opus-5", Some(5.0)),
            ("claude-opus-9", None),
            ("claude-opus-5-7", None),
            ("glm-4.7", None),
            ("", None),
        ] {
            assert_eq!(prices.find(model).map(|price| price.input), input, "{model}");
        }
    }

    #[test]
    fn configured_prices_take_precedence() {
        let mut prices = Prices::default();
        prices.set("glm-4.7", Price::usual(0.6, 2.2));
        prices.set("claude-opus-4-6", Price::usual(1.0, 1.0));
        assert_eq!(prices.find("glm-4.7"), Some(Price::usual(0.6, 2.2)));
        assert_eq!(prices.find("claude-opus-4-6-20260205"), Some(Price::usual(1.0, 1.0)));
    }

    #[test]
    fn every_type_of_token_has_its_price() {
        let price = Price::usual(10.0, 50.0);
        let million = 1_000_000;
        let tokens = Tokens {
            input: million,
            cache_write: 3 * million,
            cache_hour: million,
            cache_read: million,
            output: million,
        };
        let dollar = 1_000_000_000;
        assert_eq!(price.of(&tokens), (10 + 25 + 20 + 1 + 50) * dollar);
        let long = price.long(200_000, 2.0, 1.5);
        assert_eq!(long.of(&tokens), (2 * (10 + 25 + 20 + 1) + 75) * dollar);
        let short = Tokens { cache_read: 200_000, ..Tokens::default() };
        assert_eq!(long.of(&short), dollar / 5);
    }
}
