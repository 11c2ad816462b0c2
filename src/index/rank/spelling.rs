//! What is looked for besides the words of a query. For words that the index does not have: those that come nearest to
//! them, that begin so, or that are the same hash in another length. For those it has: other forms of them.

use std::collections::BTreeMap;

use memchr::memmem;
use rayon::prelude::*;
use tantivy::query::FuzzyTermQuery;
use tantivy::termdict::TermStreamer;
use tantivy::{SegmentReader, Term};

use crate::error::Result;
use crate::index::rank::weights::{
    BEGINNINGS, CHARACTER_PAIRS, COMMONER, FORMS_CAP, FORMS_OF, INSIDE_CAP, LEAST_BEGINNING, LEAST_INSIDE, LEAST_PART,
    LOOKED_THROUGH, MEANT, OTHER_FORM,
};
use crate::index::read::Reader;
use crate::query::inflect;
use crate::query::names;
use crate::query::{Chunk, Node, Query, Shape};
use crate::tokenize::{self, WHOLE_MARK};

/// The character behind the mark of whole identifiers.
const AFTER_WHOLES: char = '>';
/// The lengths to which people shorten hashes, and the length of a whole one at most.
const SHORT_HASH: usize = 7;
const LONG_HASH: usize = 64;
/// No script without blanks begins before this character.
const FIRST_UNSPACED: &str = "\u{e00}";

/// What is looked for instead of words that are nowhere, and besides those that are there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Corrections {
    meant: BTreeMap<String, Vec<Meant>>,
    forms: BTreeMap<String, Vec<Meant>>,
}

/// A word that may be meant by another.
#[derive(Clone, Debug, PartialEq)]
pub struct Meant {
    /// The word, or two that were written as one, with a blank between them.
    pub term: String,
    /// How much it counts.
    pub weight: f32,
    documents: u64,
}

impl Corrections {
    /// What may be meant by a word, the likeliest first.
    pub fn of(&self, term: &str) -> Option<&[Meant]> {
        self.meant.get(term).map(Vec::as_slice)
    }

    /// Other forms of a word: `retries` of `retry`.
    pub fn forms_of(&self, term: &str) -> &[Meant] {
        self.forms.get(term).map(Vec::as_slice).unwrap_or_default()
    }

    /// Words that are nowhere, and what was taken for them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[Meant])> {
        let slips = self.meant.iter().filter(|(term, _)| tokenize::single(term).is_none());
        slips.map(|(term, meant)| (term.as_str(), meant.as_slice()))
    }

    /// Whether nothing was corrected.
    pub fn is_empty(&self) -> bool {
        self.meant.is_empty()
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
            let mut found = Corrections::default();
            let is_torn = self.torn(&query.chunks)?;
            for (chunk, _) in query.chunks.iter().zip(is_torn).filter(|(chunk, is_torn)| !chunk.quoted && !is_torn) {
                self.correct(chunk, &mut found)?;
            }
            if let [_, .., last] = query.chunks.as_slice() {
                self.complete(last, &mut found)?;
            }
            if found.is_empty() && self.are_all_unknown(&query.chunks)? {
                self.find_inside(&query.chunks, &mut found)?;
            }
            if query.shape == Shape::Words && query.chunks.len() <= FORMS_CAP {
                self.find_forms(query, &mut found)?;
            }
            Ok(found)
        })
    }

    fn correct(&self, chunk: &Chunk, found: &mut Corrections) -> tantivy::Result<()> {
        // The whole may be known although its parts are not: a hash, a plain word written as one.
        if chunk.wholes.iter().map(|whole| self.frequency(whole)).sum::<tantivy::Result<u64>>()? > 0 {
            return Ok(());
        }
        let whole = chunk.wholes.last().filter(|_| chunk.terms.len() > 1);
        if let Some(whole) = whole {
            // Half of an identifier: `messageTypeGro`, or one with a slip: `ChlidProcess`.
            let mut meant = self.completions(whole)?;
            if meant.is_empty() && self.are_some_unknown(&chunk.terms)? {
                meant = self.spelled_alike(whole, 1)?;
            }
            if !meant.is_empty() {
                found.meant.insert(whole.clone(), meant);
                return Ok(());
            }
        }
        for part in &chunk.terms {
            let meant = match tokenize::single(part) {
                Some(c) => self.pairs_with(c)?,
                None if self.frequency(part)? > 0 => continue,
                None if is_hash(part) => self.same_hash(part)?,
                None => self.meant_by(part)?,
            };
            if !meant.is_empty() {
                found.meant.insert(part.clone(), meant);
            }
        }
        Ok(())
    }

    /// Takes an unknown word at the end of a query for the beginning of one, rather than for a slip, unless that would be a
    /// word that hardly anything holds.
    fn complete(&self, last: &Chunk, found: &mut Corrections) -> tantivy::Result<()> {
        let [word] = last.terms.as_slice() else { return Ok(()) };
        let Some(meant) = found.meant.get_mut(word).filter(|_| word.chars().all(char::is_alphabetic)) else {
            return Ok(());
        };
        let most = meant.iter().map(|slip| slip.documents).max().unwrap_or_default();
        let longer = self.completions(word)?.into_iter().filter(|longer| longer.documents >= most / COMMONER);
        let slips = std::mem::replace(meant, longer.collect());
        let is_new = |slip: &Meant| !meant.iter().any(|one| one.term == slip.term);
        let slips: Vec<Meant> = slips.into_iter().filter(is_new).collect();
        meant.extend(slips);
        meant.truncate(MEANT);
        Ok(())
    }

    /// Of each piece, whether it and a neighbour are one word with a blank inside: `codera bbit`.
    fn torn(&self, chunks: &[Chunk]) -> tantivy::Result<Vec<bool>> {
        let mut torn = vec![false; chunks.len()];
        for (at, pair) in chunks.windows(2).enumerate() {
            let ([one], [other]) = (pair[0].terms.as_slice(), pair[1].terms.as_slice()) else { continue };
            let is_plain = !pair[0].quoted && !pair[1].quoted;
            if is_plain && self.are_some_unknown([one, other])? && self.frequency(&format!("{one}{other}"))? > 0 {
                (torn[at], torn[at + 1]) = (true, true);
            }
        }
        Ok(torn)
    }

    fn are_some_unknown<'t>(&self, terms: impl IntoIterator<Item = &'t String>) -> tantivy::Result<bool> {
        for term in terms {
            if self.frequency(term)? == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn are_all_unknown(&self, chunks: &[Chunk]) -> tantivy::Result<bool> {
        for term in chunks.iter().flat_map(|chunk| chunk.terms.iter().chain(&chunk.wholes)) {
            if self.frequency(term)? > 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Looks for identifiers that have a word somewhere inside: `kitprovider`. They have to be looked through one by one, so
    /// this is the last resort, no more than so many of each segment are, and once for all words.
    fn find_inside(&self, chunks: &[Chunk], found: &mut Corrections) -> tantivy::Result<()> {
        let words = chunks.iter().filter(|chunk| !chunk.quoted).flat_map(|chunk| &chunk.terms);
        let long = words.filter(|word| word.chars().count() >= LEAST_INSIDE);
        let finders: Vec<_> = long.take(INSIDE_CAP).map(|word| (word, memmem::Finder::new(word))).collect();
        if finders.is_empty() {
            return Ok(());
        }
        let holding = |reader: &SegmentReader| -> tantivy::Result<Vec<(String, u64)>> {
            let index = reader.inverted_index(self.fields.body)?;
            let wholes = index.terms().range().ge(WHOLE_MARK.to_string()).lt(AFTER_WHOLES.to_string());
            let (mut stream, mut left, mut holding) = (wholes.into_stream()?, LOOKED_THROUGH, Vec::new());
            while stream.advance() && left > 0 {
                left -= 1;
                if finders.iter().any(|(_, finder)| finder.find(stream.key()).is_some()) {
                    let term = String::from_utf8_lossy(stream.key()).into_owned();
                    holding.push((term, u64::from(stream.value().doc_freq)));
                }
            }
            Ok(holding)
        };
        let holding = self.in_all_segments(holding)?;
        for (word, _) in finders {
            let with_it = holding.iter().filter(|(term, _)| term.contains(word.as_str()));
            let meant = self.most_common(with_it.map(|(term, count)| (term.clone(), *count)).collect(), MEANT);
            if !meant.is_empty() {
                found.meant.insert(word.clone(), meant);
            }
        }
        Ok(())
    }

    /// Looks for terms in all segments, side by side; says in how many documents each stands.
    fn in_all_segments(
        &self,
        look: impl Fn(&SegmentReader) -> tantivy::Result<Vec<(String, u64)>> + Send + Sync,
    ) -> tantivy::Result<BTreeMap<String, u64>> {
        let segments = self.searcher.segment_readers().par_iter().with_max_len(1);
        let mut all: BTreeMap<String, u64> = BTreeMap::new();
        for (term, documents) in segments.map(look).collect::<tantivy::Result<Vec<_>>>()?.into_iter().flatten() {
            *all.entry(term).or_default() += documents;
        }
        Ok(all)
    }

    /// Terms that begin so, the most common ones.
    pub(in crate::index) fn completions(&self, beginning: &str) -> tantivy::Result<Vec<Meant>> {
        if beginning.chars().count() < LEAST_BEGINNING {
            return Ok(Vec::new());
        }
        let mut known: BTreeMap<String, u64> = BTreeMap::new();
        for reader in self.searcher.segment_readers() {
            let index = reader.inverted_index(self.fields.body)?;
            let mut stream = index.terms().range().ge(beginning).into_stream()?;
            let mut seen = 0;
            while stream.advance() && stream.key().starts_with(beginning.as_bytes()) && seen < BEGINNINGS {
                let term = String::from_utf8_lossy(stream.key()).into_owned();
                *known.entry(term).or_default() += u64::from(stream.value().doc_freq);
                seen += 1;
            }
        }
        Ok(self.most_common(known, MEANT))
    }

    /// The same hash as it is written elsewhere: longer, or shorter.
    fn same_hash(&self, hash: &str) -> tantivy::Result<Vec<Meant>> {
        let longer = self.completions(hash)?;
        if !longer.is_empty() {
            return Ok(longer);
        }
        let mut known = BTreeMap::new();
        for length in SHORT_HASH..hash.len() {
            let documents = self.frequency(&hash[..length])?;
            if documents > 0 {
                known.insert(hash[..length].to_string(), documents);
            }
        }
        Ok(self.most_common(known, MEANT))
    }

    /// Finds other forms of the plain words of a query.
    fn find_forms(&self, query: &Query, found: &mut Corrections) -> tantivy::Result<()> {
        for chunk in query.chunks.iter().filter(|chunk| !chunk.quoted) {
            let [word] = chunk.terms.as_slice() else { continue };
            let is_done = found.meant.contains_key(word) || found.forms.contains_key(word);
            if is_done || self.frequency(word)? > FORMS_OF {
                continue;
            }
            let mut known = BTreeMap::new();
            for form in inflect::of(word) {
                let documents = self.frequency(&form)?;
                if documents > 0 {
                    known.insert(form, documents);
                }
            }
            let mut forms = self.most_common(known, MEANT);
            forms.iter_mut().for_each(|form| form.weight *= OTHER_FORM);
            if !forms.is_empty() {
                found.forms.insert(word.clone(), forms);
            }
        }
        Ok(())
    }

    fn most_common(&self, known: BTreeMap<String, u64>, most: usize) -> Vec<Meant> {
        let mut ranked: Vec<(usize, bool, u64, String)> =
            known.into_iter().map(|(term, count)| (0, false, u64::MAX - count, term)).collect();
        ranked.sort_unstable();
        ranked.truncate(most);
        self.weighed(ranked)
    }

    /// In how many documents a term stands; of several with blanks between them, the rarest.
    pub(in crate::index) fn frequency(&self, term: &str) -> tantivy::Result<u64> {
        let mut least = u64::MAX;
        for term in term.split(' ') {
            least = least.min(self.searcher.doc_freq(&Term::from_field_text(self.fields.body, term))?);
        }
        Ok(least)
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
        Ok(self.most_common(pairs, CHARACTER_PAIRS))
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
        let near = self.spelled_alike(word, furthest)?;
        if near.is_empty() {
            // An identifier that was typed as one word, the beginning of a word, or two words.
            let as_one = self.spelled_alike(&format!("{WHOLE_MARK}{word}"), 1)?;
            let longer = if as_one.is_empty() { self.completions(word)? } else { as_one };
            return if longer.is_empty() { self.two_in(word) } else { Ok(longer) };
        }
        Ok(near)
    }

    /// Two words that were written as one, of all ways to part them the one with the most common words.
    fn two_in(&self, word: &str) -> tantivy::Result<Vec<Meant>> {
        let mut known = BTreeMap::new();
        for (at, _) in word.char_indices().skip(LEAST_PART) {
            let (one, other) = word.split_at(at);
            if other.chars().count() >= LEAST_PART {
                let both = format!("{one} {other}");
                let documents = self.frequency(&both)?;
                if documents > 0 {
                    known.insert(both, documents);
                }
            }
        }
        Ok(self.most_common(known, 1))
    }

    /// Terms at most so many letters away: of equal distance those that begin alike, then the more common ones. Hardly
    /// anybody mistakes the first letter and another one, and to look for that takes most of the time.
    fn spelled_alike(&self, word: &str, furthest: u8) -> tantivy::Result<Vec<Meant>> {
        let term = Term::from_field_text(self.fields.body, word);
        let nearest = FuzzyTermQuery::new(term.clone(), 1, true).automaton()?;
        let near = (furthest > 1).then(|| FuzzyTermQuery::new(term, furthest, true).automaton()).transpose()?;
        let first = word.char_indices().find(|(_, c)| *c != WHOLE_MARK).map_or(0, |(at, c)| at + c.len_utf8());
        let (start, behind) = (&word[..first], format!("{}{}", &word[..first], char::MAX));
        let near_in = |reader: &SegmentReader| -> tantivy::Result<Vec<(String, u64)>> {
            let index = reader.inverted_index(self.fields.body)?;
            let mut found = BTreeMap::new();
            let mut take = |mut stream: TermStreamer<'_, _>| {
                while stream.advance() {
                    let term = String::from_utf8_lossy(stream.key()).into_owned();
                    found.insert(term, u64::from(stream.value().doc_freq));
                }
            };
            take(index.terms().search(&nearest).into_stream()?);
            if let Some(near) = &near {
                take(index.terms().search(near).ge(start).lt(&behind).into_stream()?);
            }
            Ok(found.into_iter().collect())
        };
        let near = self.in_all_segments(near_in)?;
        let letters_of = |term: &str| term.strip_prefix(WHOLE_MARK).map(str::to_string);
        let (is_whole, word) = letters_of(word).map_or((false, word.to_string()), |letters| (true, letters));
        let alike = |term: &String| -> Option<String> {
            let letters = if is_whole { letters_of(term)? } else { term.clone() };
            letters.chars().all(char::is_alphabetic).then_some(letters)
        };
        let mut ranked: Vec<(usize, bool, u64, String)> = near
            .into_iter()
            .filter_map(|(term, count)| {
                let letters = alike(&term)?;
                Some((names::distance(&word, &letters), !same_start(&word, &letters), u64::MAX - count, term))
            })
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

/// Whether a word may be a hash, or the beginning of one.
fn is_hash(word: &str) -> bool {
    let has = |test: fn(&u8) -> bool| word.as_bytes().iter().any(test);
    (SHORT_HASH..=LONG_HASH).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_hexdigit())
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
}
