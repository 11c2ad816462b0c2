//! Slips of the finger: words the index does not have, and the words that come nearest to them.

use std::collections::BTreeMap;

use rayon::prelude::*;
use tantivy::query::FuzzyTermQuery;
use tantivy::{SegmentReader, Term};

use super::reader::Reader;
use crate::analysis;
use crate::error::Result;
use crate::query::{Node, Query, names};

/// How many words may be meant by one.
const MEANT: usize = 4;
/// How many pairs of characters may be looked for in place of one character.
const PAIRS: usize = 64;
/// No script without blanks begins before this character.
const FIRST_UNSPACED: &str = "\u{e00}";

/// What is looked for instead of words that are nowhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Corrections(BTreeMap<String, Vec<Meant>>);

/// A word that may be meant by another.
#[derive(Clone, Debug, PartialEq)]
pub struct Meant {
    /// The word.
    pub term: String,
    /// How much it counts.
    pub weight: f32,
    documents: u64,
}

impl Corrections {
    /// What may be meant by a word, the likeliest first.
    pub fn of(&self, term: &str) -> Option<&[Meant]> {
        self.0.get(term).map(Vec::as_slice)
    }

    /// Words that are nowhere, and what was taken for them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[Meant])> {
        let slips = self.0.iter().filter(|(term, _)| analysis::single(term).is_none());
        slips.map(|(term, meant)| (term.as_str(), meant.as_slice()))
    }

    /// Whether nothing was corrected.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Reader {
    /// Looks for what is meant by the words of a query that the index does not have.
    pub fn corrections(&self, query: &Query) -> Result<Corrections> {
        if query.needs.iter().any(|need| matches!(need, Node::Pattern(_))) {
            // What is to be found letter by letter is meant as it is.
            return Ok(Corrections::default());
        }
        self.guarded(|| {
            let mut found = BTreeMap::new();
            let open = query.chunks.iter().filter(|chunk| !chunk.quoted);
            for chunk in open {
                // The whole may be known although its parts are not: a hash, a plain word written as one.
                if chunk.wholes.iter().map(|whole| self.frequency(whole)).sum::<tantivy::Result<u64>>()? > 0 {
                    continue;
                }
                for part in &chunk.terms {
                    if let Some(c) = analysis::single(part) {
                        found.insert(part.clone(), self.pairs_with(c)?);
                    } else if self.frequency(part)? == 0 {
                        let meant = self.meant_by(part)?;
                        if !meant.is_empty() {
                            found.insert(part.clone(), meant);
                        }
                    }
                }
            }
            Ok(Corrections(found))
        })
    }

    fn frequency(&self, term: &str) -> tantivy::Result<u64> {
        self.searcher.doc_freq(&Term::from_field_text(self.fields.body, term))
    }

    /// The terms a character stands in. In a script without blanks the index has pairs, hardly ever single characters.
    fn pairs_with(&self, c: char) -> tantivy::Result<Vec<Meant>> {
        let mut pairs: BTreeMap<String, u64> = BTreeMap::new();
        for reader in self.searcher.segment_readers() {
            let index = reader.inverted_index(self.fields.body)?;
            let mut stream = index.terms().range().ge(FIRST_UNSPACED).into_stream()?;
            while stream.advance() {
                let pair = std::str::from_utf8(stream.key()).unwrap_or_default();
                if pair.contains(c) && pair.chars().count() <= 2 {
                    *pairs.entry(pair.to_string()).or_default() += u64::from(stream.value().doc_freq);
                }
            }
        }
        let mut ranked: Vec<(usize, bool, u64, String)> =
            pairs.into_iter().map(|(pair, count)| (0, false, u64::MAX - count, pair)).collect();
        ranked.sort_unstable();
        ranked.truncate(PAIRS);
        Ok(self.weighed(ranked))
    }

    /// The words nearest to one: of equal distance those that begin alike, then the more common ones.
    fn meant_by(&self, word: &str) -> tantivy::Result<Vec<Meant>> {
        let letters = word.chars().count();
        let is_word = word.chars().all(char::is_alphabetic);
        let furthest = match letters {
            _ if !is_word => 0,
            0..4 => 0,
            4..8 => 1,
            8..40 => 2,
            _ => 0,
        };
        if furthest == 0 {
            return Ok(Vec::new());
        }
        let term = Term::from_field_text(self.fields.body, word);
        let automaton = FuzzyTermQuery::new(term, furthest, true).automaton()?;
        let near_in = |reader: &SegmentReader| -> tantivy::Result<Vec<(String, u64)>> {
            let index = reader.inverted_index(self.fields.body)?;
            let mut stream = index.terms().search(&automaton).into_stream()?;
            let mut near = Vec::new();
            while stream.advance() {
                near.push((String::from_utf8_lossy(stream.key()).into_owned(), u64::from(stream.value().doc_freq)));
            }
            Ok(near)
        };
        let segments = self.searcher.segment_readers().par_iter().with_max_len(1);
        let mut near: BTreeMap<String, u64> = BTreeMap::new();
        for (found, documents) in segments.map(near_in).collect::<tantivy::Result<Vec<_>>>()?.into_iter().flatten() {
            *near.entry(found).or_default() += documents;
        }
        let mut ranked: Vec<(usize, bool, u64, String)> = near
            .into_iter()
            .filter(|(term, _)| term.chars().all(char::is_alphabetic))
            .map(|(term, count)| (names::distance(word, &term), !same_start(word, &term), u64::MAX - count, term))
            .collect();
        ranked.sort_unstable();
        ranked.truncate(MEANT);
        Ok(self.weighed(ranked))
    }

    /// A rare word must not outweigh a common one that is as near: all count as if they were one word.
    fn weighed(&self, ranked: Vec<(usize, bool, u64, String)>) -> Vec<Meant> {
        let all: u64 = ranked.iter().map(|(_, _, inverse, _)| u64::MAX - inverse).sum();
        let documents = self.searcher.num_docs() as f32;
        let rarity = |count: u64| (1.0 + (documents - count as f32 + 0.5).max(0.0) / (count as f32 + 0.5)).ln();
        let together = rarity(all);
        let weigh = |(distance, other_start, inverse, term): (usize, bool, u64, String)| {
            let documents = u64::MAX - inverse;
            let nearness = if distance < 2 { 0.9 } else { 0.6 } * if other_start { 0.8 } else { 1.0 };
            Meant { weight: nearness * together / rarity(documents).max(0.1), term, documents }
        };
        ranked.into_iter().map(weigh).collect()
    }
}

fn same_start(a: &str, b: &str) -> bool {
    a.chars().next() == b.chars().next()
}
