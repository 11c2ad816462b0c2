//! Spelling corrections and other forms of the words of a query.
//!
//! A word that is not in the index is replaced by similar words, by words that start with it, or by the same hash in
//! another length. A word that is in the index is also searched in other forms.

use std::collections::BTreeMap;

use memchr::memmem;
use rayon::prelude::*;
use tantivy::query::FuzzyTermQuery;
use tantivy::termdict::TermStreamer;
use tantivy::{SegmentReader, Term};

use crate::error::Result;
use crate::index::rank::common_words::significant;
use crate::index::rank::corrections::{Corrections, Meant, same_start};
use crate::index::rank::weights::{
    BEGINNINGS, CHARACTER_PAIRS, COMMONER, FORMS_CAP, FORMS_OF, INSIDE_CAP, LEAST_BEGINNING, LEAST_INSIDE, LEAST_PART,
    LOOKED_THROUGH, MEANT, OTHER_FORM,
};
use crate::index::read::Reader;
use crate::query::inflect;
use crate::query::names;
use crate::query::{Chunk, Node, Query, Shape};
use crate::tokenize::{self, WHOLE_MARK};

/// The character after [`WHOLE_MARK`], which ends the range of whole identifiers.
const AFTER_WHOLE_MARK: char = '>';
/// The shortest length to which people shorten hashes.
const SHORT_HASH: usize = 7;
/// The length of the longest hash.
const LONG_HASH: usize = 64;
/// Every script written without spaces starts at or after this character.
const FIRST_UNSPACED: &str = "\u{e00}";

impl Reader {
    /// Finds corrections of the words of a query that are not in the index, and other forms of those that are.
    pub fn corrections(&self, query: &Query) -> Result<Corrections> {
        if query.needs.iter().any(|need| matches!(need, Node::Pattern(_))) {
            // A pattern or a literal text is meant exactly as typed.
            return Ok(Corrections::default());
        }
        self.guarded(|| {
            let mut found = Corrections::default();
            let is_split = self.split_words(&query.chunks)?;
            for (chunk, _) in
                query.chunks.iter().zip(&is_split).filter(|(chunk, is_split)| !chunk.quoted && !**is_split)
            {
                self.correct(chunk, &mut found)?;
            }
            if let [_, .., last] = query.chunks.as_slice() {
                self.complete(last, &mut found)?;
            }
            if found.is_empty() && self.all_unknown(&query.chunks)? {
                self.find_inside(&query.chunks, &mut found)?;
            }
            if query.shape == Shape::Words && query.chunks.len() <= FORMS_CAP {
                self.find_forms(query, &mut found)?;
            }
            if !is_split.contains(&true) {
                self.judge(query, &mut found)?;
            }
            Ok(found)
        })
    }

    /// Finds out whether any significant word of a query occurs, as typed or in another form.
    fn judge(&self, query: &Query, found: &mut Corrections) -> tantivy::Result<()> {
        let is_guess = |term: &String| found.guessed.contains(term);
        let is_guessed = |chunk: &Chunk| chunk.terms.iter().chain(&chunk.wholes).any(is_guess);
        let (mut none_occurs, mut all_guessed) = (query.needs.is_empty() && found.meant.keys().all(is_guess), true);
        for chunk in significant(query) {
            let has_forms = chunk.terms.iter().any(|term| !found.forms_of(term).is_empty());
            none_occurs = none_occurs && !has_forms && self.all_unknown(std::slice::from_ref(chunk))?;
            all_guessed &= is_guessed(chunk);
        }
        found.none_occurs = none_occurs && !query.chunks.is_empty();
        found.all_guessed = found.none_occurs && all_guessed;
        Ok(())
    }

    /// Finds corrections of a piece of a query, if it has unknown words.
    fn correct(&self, chunk: &Chunk, found: &mut Corrections) -> tantivy::Result<()> {
        // The whole may be known although its parts are not: a hash, or a plain word written as one.
        if chunk.wholes.iter().map(|whole| self.frequency(whole)).sum::<tantivy::Result<u64>>()? > 0 {
            return Ok(());
        }
        let whole = chunk.wholes.last().filter(|_| chunk.terms.len() > 1);
        if let Some(whole) = whole {
            // An unfinished identifier such as `messageTypeGro`, or one with a typo such as `ChlidProcess`.
            let mut meant = self.completions(whole)?;
            if meant.is_empty() && self.any_unknown(&chunk.terms)? {
                meant = self.similar_terms(whole, 1)?;
                if !meant.is_empty() {
                    found.guessed.insert(whole.clone());
                }
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
                None if is_hash(part) => self.hash_in_other_lengths(part)?,
                None => self.corrections_of(part, found)?,
            };
            if !meant.is_empty() {
                found.meant.insert(part.clone(), meant);
            }
        }
        Ok(())
    }

    /// Treats an unknown word at the end of a query as an unfinished word rather than as a misspelled one. Completions
    /// much rarer than the corrections are left out.
    fn complete(&self, last: &Chunk, found: &mut Corrections) -> tantivy::Result<()> {
        let [word] = last.terms.as_slice() else { return Ok(()) };
        let Some(meant) = found.meant.get_mut(word).filter(|_| word.chars().all(char::is_alphabetic)) else {
            return Ok(());
        };
        let most = meant.iter().map(|correction| correction.documents).max().unwrap_or_default();
        let completions = self.completions(word)?.into_iter().filter(|longer| longer.documents >= most / COMMONER);
        let corrections = std::mem::replace(meant, completions.collect());
        if !meant.is_empty() {
            found.guessed.remove(word);
        }
        let is_new = |correction: &Meant| !meant.iter().any(|known| known.term == correction.term);
        let corrections: Vec<Meant> = corrections.into_iter().filter(is_new).collect();
        meant.extend(corrections);
        meant.truncate(MEANT);
        Ok(())
    }

    /// Returns for each piece whether it and a neighbour are one word with a blank inside, such as `codera bbit`.
    fn split_words(&self, chunks: &[Chunk]) -> tantivy::Result<Vec<bool>> {
        let mut is_split = vec![false; chunks.len()];
        for (at, pair) in chunks.windows(2).enumerate() {
            let ([left], [right]) = (pair[0].terms.as_slice(), pair[1].terms.as_slice()) else { continue };
            let is_plain = !pair[0].quoted && !pair[1].quoted;
            if is_plain && self.any_unknown([left, right])? && self.frequency(&format!("{left}{right}"))? > 0 {
                (is_split[at], is_split[at + 1]) = (true, true);
            }
        }
        Ok(is_split)
    }

    fn any_unknown<'t>(&self, terms: impl IntoIterator<Item = &'t String>) -> tantivy::Result<bool> {
        for term in terms {
            if self.frequency(term)? == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(in crate::index) fn all_unknown(&self, chunks: &[Chunk]) -> tantivy::Result<bool> {
        for term in chunks.iter().flat_map(|chunk| chunk.terms.iter().chain(&chunk.wholes)) {
            if self.frequency(term)? > 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Finds identifiers that contain a word anywhere, such as `kitprovider`. Identifiers have to be compared one by
    /// one. So this is the last resort, compares a limited number of each segment, and reads them once for all words.
    fn find_inside(&self, chunks: &[Chunk], found: &mut Corrections) -> tantivy::Result<()> {
        let words = chunks.iter().filter(|chunk| !chunk.quoted).flat_map(|chunk| &chunk.terms);
        let long = words.filter(|word| word.chars().count() >= LEAST_INSIDE);
        let finders: Vec<_> = long.take(INSIDE_CAP).map(|word| (word, memmem::Finder::new(word))).collect();
        if finders.is_empty() {
            return Ok(());
        }
        let containing = |reader: &SegmentReader| -> tantivy::Result<Vec<(String, u64)>> {
            let index = reader.inverted_index(self.fields.body)?;
            let wholes = index.terms().range().ge(WHOLE_MARK.to_string()).lt(AFTER_WHOLE_MARK.to_string());
            let (mut stream, mut left, mut identifiers) = (wholes.into_stream()?, LOOKED_THROUGH, Vec::new());
            while stream.advance() && left > 0 {
                left -= 1;
                if finders.iter().any(|(_, finder)| finder.find(stream.key()).is_some()) {
                    let term = String::from_utf8_lossy(stream.key()).into_owned();
                    identifiers.push((term, u64::from(stream.value().doc_freq)));
                }
            }
            Ok(identifiers)
        };
        let identifiers = self.in_all_segments(containing)?;
        for (word, _) in finders {
            let with_word = identifiers.iter().filter(|(term, _)| term.contains(word.as_str()));
            let meant = self.most_common(with_word.map(|(term, count)| (term.clone(), *count)).collect(), MEANT);
            if !meant.is_empty() {
                found.meant.insert(word.clone(), meant);
            }
        }
        Ok(())
    }

    /// Finds terms in all segments, in parallel. Returns each with the number of documents that contain it.
    fn in_all_segments(
        &self,
        find: impl Fn(&SegmentReader) -> tantivy::Result<Vec<(String, u64)>> + Send + Sync,
    ) -> tantivy::Result<BTreeMap<String, u64>> {
        let segments = self.searcher.segment_readers().par_iter().with_max_len(1);
        let mut all: BTreeMap<String, u64> = BTreeMap::new();
        for (term, documents) in segments.map(find).collect::<tantivy::Result<Vec<_>>>()?.into_iter().flatten() {
            *all.entry(term).or_default() += documents;
        }
        Ok(all)
    }

    /// Returns the most common terms with a beginning.
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

    /// Returns the same hash as it is written elsewhere: longer, or else shorter.
    fn hash_in_other_lengths(&self, hash: &str) -> tantivy::Result<Vec<Meant>> {
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

    /// Returns up to `most` terms, the most common first.
    fn most_common(&self, known: BTreeMap<String, u64>, most: usize) -> Vec<Meant> {
        let mut ranked: Vec<(usize, bool, u64, String)> =
            known.into_iter().map(|(term, count)| (0, false, u64::MAX - count, term)).collect();
        ranked.sort_unstable();
        ranked.truncate(most);
        self.with_weights(ranked)
    }

    /// Returns the number of documents that contain a term. Of several terms with blanks between them, the rarest
    /// counts.
    pub(in crate::index) fn frequency(&self, term: &str) -> tantivy::Result<u64> {
        let mut least = u64::MAX;
        for term in term.split(' ') {
            least = least.min(self.searcher.doc_freq(&Term::from_field_text(self.fields.body, term))?);
        }
        Ok(least)
    }

    /// Returns the terms that contain a character. For a script without blanks, the index contains pairs of characters
    /// and hardly ever single ones.
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

    /// Returns the corrections of a word: similar words, or else an identifier, longer words, or two words.
    fn corrections_of(&self, word: &str, found: &mut Corrections) -> tantivy::Result<Vec<Meant>> {
        let letters = word.chars().count();
        let is_word = word.chars().all(char::is_alphabetic);
        let max_distance = match letters {
            _ if !is_word => 0,
            0..4 => 0,
            4..8 => 1,
            8..40 => 2,
            _ => 0,
        };
        if max_distance == 0 {
            return Ok(Vec::new());
        }
        let similar = self.similar_terms(word, max_distance)?;
        if similar.is_empty() {
            // An identifier that was typed as one word, the beginning of a word, or two words.
            let whole = format!("{WHOLE_MARK}{word}");
            let identifiers = self.similar_terms(&whole, 1)?;
            let is_exact = identifiers.iter().any(|other| other.term == whole);
            if !identifiers.is_empty() && !is_exact && self.completions(&whole)?.is_empty() {
                found.guessed.insert(word.to_string());
            }
            let longer = if identifiers.is_empty() { self.completions(word)? } else { identifiers };
            return if longer.is_empty() { self.split_in_two(word) } else { Ok(longer) };
        }
        let forms = inflect::of(word);
        let is_form = similar.iter().any(|other| forms.contains(&other.term));
        // A longer word that starts with this one contains it.
        if !is_form && self.completions(word)?.is_empty() {
            found.guessed.insert(word.to_string());
        }
        Ok(similar)
    }

    /// Returns the two words that were written as one. Of all ways to split them, the one with the most common words
    /// wins.
    fn split_in_two(&self, word: &str) -> tantivy::Result<Vec<Meant>> {
        let mut known = BTreeMap::new();
        for (at, _) in word.char_indices().skip(LEAST_PART) {
            let (left, right) = word.split_at(at);
            if right.chars().count() >= LEAST_PART {
                let both = format!("{left} {right}");
                let documents = self.frequency(&both)?;
                if documents > 0 {
                    known.insert(both, documents);
                }
            }
        }
        Ok(self.most_common(known, 1))
    }

    /// Returns terms up to `max_distance` typos away. Of the same distance, terms with the same first letter come
    /// first, then more common ones. With more than one typo, the first letter must match: people hardly ever mistype
    /// the first letter and another one, and searching for that takes most of the time.
    fn similar_terms(&self, word: &str, max_distance: u8) -> tantivy::Result<Vec<Meant>> {
        let term = Term::from_field_text(self.fields.body, word);
        let one_typo = FuzzyTermQuery::new(term.clone(), 1, true).automaton()?;
        let more_typos =
            (max_distance > 1).then(|| FuzzyTermQuery::new(term, max_distance, true).automaton()).transpose()?;
        let first = word.char_indices().find(|(_, c)| *c != WHOLE_MARK).map_or(0, |(at, c)| at + c.len_utf8());
        let (start, end) = (&word[..first], format!("{}{}", &word[..first], char::MAX));
        let similar_in = |reader: &SegmentReader| -> tantivy::Result<Vec<(String, u64)>> {
            let index = reader.inverted_index(self.fields.body)?;
            let mut found = BTreeMap::new();
            let mut take = |mut stream: TermStreamer<'_, _>| {
                while stream.advance() {
                    let term = String::from_utf8_lossy(stream.key()).into_owned();
                    found.insert(term, u64::from(stream.value().doc_freq));
                }
            };
            take(index.terms().search(&one_typo).into_stream()?);
            if let Some(more_typos) = &more_typos {
                take(index.terms().search(more_typos).ge(start).lt(&end).into_stream()?);
            }
            Ok(found.into_iter().collect())
        };
        let similar = self.in_all_segments(similar_in)?;
        let unmarked = |term: &str| term.strip_prefix(WHOLE_MARK).map(str::to_string);
        let (is_whole, word) = unmarked(word).map_or((false, word.to_string()), |letters| (true, letters));
        // Identifiers correct only identifiers, and words only words. Both must consist of letters.
        let comparable = |term: &String| -> Option<String> {
            let letters = if is_whole { unmarked(term)? } else { term.clone() };
            letters.chars().all(char::is_alphabetic).then_some(letters)
        };
        let mut ranked: Vec<(usize, bool, u64, String)> = similar
            .into_iter()
            .filter_map(|(term, count)| {
                let letters = comparable(&term)?;
                Some((names::distance(&word, &letters), !same_start(&word, &letters), u64::MAX - count, term))
            })
            .collect();
        ranked.sort_unstable();
        ranked.truncate(MEANT);
        Ok(self.with_weights(ranked))
    }

    /// Turns terms into corrections with weights. A rare term must not outweigh a common one of the same distance, so
    /// all of them together count as one word. Each term comes with its distance, whether its first letter differs, and
    /// `u64::MAX` minus its number of documents.
    fn with_weights(&self, ranked: Vec<(usize, bool, u64, String)>) -> Vec<Meant> {
        let all: u64 = ranked.iter().map(|(_, _, inverse, _)| u64::MAX - inverse).sum();
        let documents = self.searcher.num_docs() as f32;
        let rarity = |count: u64| (1.0 + (documents - count as f32 + 0.5).max(0.0) / (count as f32 + 0.5)).ln();
        let rarity_of_all = rarity(all);
        let weigh = |(distance, other_start, inverse, term): (usize, bool, u64, String)| {
            let documents = u64::MAX - inverse;
            let nearness = if distance < 2 { 0.9 } else { 0.6 } * if other_start { 0.8 } else { 1.0 };
            Meant { weight: nearness * rarity_of_all / rarity(documents).max(0.1), term, documents }
        };
        ranked.into_iter().map(weigh).collect()
    }
}

/// Reports whether a word may be a hash, or the beginning of one.
fn is_hash(word: &str) -> bool {
    let has = |test: fn(&u8) -> bool| word.as_bytes().iter().any(test);
    (SHORT_HASH..=LONG_HASH).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_hexdigit())
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
}
