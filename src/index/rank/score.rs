//! Rescores the best candidates by coverage of the query, verbatim matches, kind of document, and age.
//!
//! Postings and columns provide all of that. No text is read.

use std::collections::HashSet;

use rayon::prelude::*;
use tantivy::query::{EnableScoring, Query as TantivyQuery};
use tantivy::{DocAddress, Score, Term};

use crate::error::Result;
use crate::index::hash_map::HashMap64;
use crate::index::rank::candidates::{corrected_sequence, phrase, term};
use crate::index::rank::collect::RawHit;
use crate::index::rank::common_words::significant;
use crate::index::rank::corrections::Corrections;
use crate::index::rank::factors::{prior_for, recency};
use crate::index::rank::seek::Probe;
use crate::index::rank::weights::{
    AS_ONE, AS_TYPED_IN_ONE, COVERED_LEAST, IN_ORDER, LIFTED_WORDS_IN_ORDER, LOOSE_PART, OTHER_FORM_COVERED,
    PAIRS_COMPARED, SCATTERED, UNKNOWN_SESSION,
};
use crate::index::rank::{Factors, Search};
use crate::index::read::Reader;
use crate::query::{Query, Shape};
use crate::tokenize::WHOLE_MARK;

impl Reader {
    /// Raises hits that contain more of the query or contain it word for word, and slightly those that are new. Returns
    /// the factors of each score by group. Sorts the hits by address.
    pub(in crate::index) fn rescore(
        &self,
        search: &Search<'_>,
        hits: &mut [RawHit],
    ) -> tantivy::Result<HashMap64<Factors>> {
        hits.sort_unstable_by_key(|hit| hit.address);
        let addresses: Vec<DocAddress> = hits.iter().map(|hit| hit.address).collect();
        let segments = per_segment(&addresses, |part| {
            let coverage = self.coverage(search, part)?;
            Ok((coverage, self.contains_as_identifier(search, part)?, self.is_about_file(search.query, part)?))
        })?;
        let (mut coverage, mut as_identifier, mut is_about_file) = (Vec::new(), Vec::new(), Vec::new());
        for segment in segments {
            coverage.extend(segment.0);
            as_identifier.extend(segment.1);
            is_about_file.extend(segment.2);
        }
        let covered = coverage.clone();
        if !hits.iter().zip(&as_identifier).any(|(hit, as_identifier)| hit.in_order || *as_identifier) {
            let closeness = per_segment(&addresses, |part| self.closeness(search, part))?.concat();
            coverage.iter_mut().zip(closeness).for_each(|(coverage, closeness)| *coverage *= closeness);
        }
        let length = search.query.sequence().len();
        let in_order = IN_ORDER[length.min(IN_ORDER.len() - 1)];
        let is_one_chunk = search.query.chunks.len() == 1;
        // Many listings contain a path, so its order says little.
        let is_distinctive = length >= LIFTED_WORDS_IN_ORDER && search.query.shape != Shape::Path;
        let prior = prior_for(search.query);
        let mut factors = HashMap64::default();
        let title = |hit: &RawHit| if hit.is_nameless { UNKNOWN_SESSION } else { 1.0 };
        let best = hits.iter().map(|hit| hit.score * title(hit) / prior(hit.class)).fold(0.0, f32::max);
        for (index, hit) in hits.iter_mut().enumerate() {
            let kind = prior(hit.class);
            let (first_score, title) = (hit.score / kind, title(hit));
            let words = first_score * title;
            let lifted = match (is_about_file[index], hit.in_order && is_distinctive) {
                // A query that names a file wants edits to it, even inside long messages.
                (true, _) => best + words / 4.0,
                (_, true) => (words + best) / 2.0,
                _ => words,
            };
            let mut hit_factors = Factors {
                words: first_score,
                title,
                kind,
                coverage: COVERED_LEAST + (1.0 - COVERED_LEAST) * coverage[index] * coverage[index],
                verbatim: match (as_identifier[index], hit.in_order) {
                    (true, true) if is_one_chunk => in_order * AS_TYPED_IN_ONE,
                    (true, true) => in_order.max(AS_ONE),
                    (true, false) => AS_ONE,
                    (false, true) => in_order,
                    (false, false) => 1.0,
                },
                age: recency(hit.time, search.now),
                said: 1.0,
                covered: covered[index],
                ..Factors::default()
            };
            hit_factors.lift_to(lifted);
            hit.score = hit_factors.score();
            factors.insert(hit.group, hit_factors);
        }
        Ok(factors)
    }

    /// Returns for each document whether it is about the file that the query names.
    fn is_about_file(&self, query: &Query, addresses: &[DocAddress]) -> tantivy::Result<Vec<bool>> {
        match file_named(query).filter(|_| query.shape == Shape::Path) {
            Some(name) => self.match_each(&*term(self.fields.file, &name), addresses),
            None => Ok(vec![false; addresses.len()]),
        }
    }

    /// Reports whether a query names a known file although it does not look like a path: `Dockerfile`.
    pub fn names_file(&self, query: &Query) -> Result<bool> {
        let may_be_name = query.text.contains(['.', '_']) || query.text.contains(char::is_uppercase);
        let Some(name) = file_named(query).filter(|_| may_be_name) else { return Ok(false) };
        let term = Term::from_field_text(self.fields.file, &name);
        self.guarded(|| Ok(self.searcher.doc_freq(&term)? > 0))
    }

    /// Returns a factor for each document by the share of a long query's neighbouring words that are neighbours there
    /// too. This distinguishes a text similar to the pasted one, such as an error with other numbers, from texts that
    /// contain the same words in other places.
    fn closeness(&self, search: &Search<'_>, addresses: &[DocAddress]) -> tantivy::Result<Vec<f32>> {
        let sequence = corrected_sequence(search.query, search.corrections);
        let is_number = |text: &String| text.bytes().all(|byte| byte.is_ascii_digit());
        let pairs: Vec<&[String]> = sequence.windows(2).filter(|pair| !pair.iter().any(is_number)).collect();
        let mut found = vec![0.0; addresses.len()];
        if pairs.len() < *PAIRS_COMPARED.start() {
            return Ok(vec![1.0; addresses.len()]);
        }
        let step = pairs.len().div_ceil(*PAIRS_COMPARED.end());
        for pair in pairs.iter().step_by(step) {
            let matches = self.match_each(&*phrase(self.fields.body, pair), addresses)?;
            found.iter_mut().zip(matches).for_each(|(found, matches)| *found += f32::from(u8::from(matches)));
        }
        let compared = pairs.len().div_ceil(step) as f32;
        Ok(found.into_iter().map(|found| (SCATTERED + (1.0 - SCATTERED) * found / compared).sqrt()).collect())
    }

    /// Returns the share of the query that each document contains. Rarer words weigh more, unknown words nothing.
    pub(in crate::index) fn coverage(
        &self,
        search: &Search<'_>,
        addresses: &[DocAddress],
    ) -> tantivy::Result<Vec<f32>> {
        let mut covered = vec![0.0; addresses.len()];
        let (mut total, mut seen) = (0.0, HashSet::new());
        for chunk in significant(search.query) {
            let mut identifier = None;
            let has_phrase = match chunk.terms.len() {
                1 => vec![true; addresses.len()],
                _ => self.match_each(&*phrase(self.fields.body, &chunk.terms), addresses)?,
            };
            for text in chunk.terms.iter().filter(|text| seen.insert(text.as_str())) {
                let word = self.term_shares(std::slice::from_ref(text), search.corrections, addresses)?;
                let identifier = match &mut identifier {
                    Some(known) => known,
                    None => identifier.insert(self.term_shares(&chunk.wholes, search.corrections, addresses)?),
                };
                let Some(weight) = word.rarity.or(identifier.rarity) else { continue };
                total += weight;
                let word_shares = word.shares.iter().zip(&has_phrase);
                let word_shares = word_shares.map(|(share, phrase)| if *phrase { *share } else { *share * LOOSE_PART });
                let shares = word_shares.zip(&identifier.shares).map(|(word, identifier)| word.max(*identifier));
                covered.iter_mut().zip(shares).for_each(|(covered, share)| *covered += weight * share);
            }
        }
        Ok(covered.into_iter().map(|covered| if total > 0.0 { covered / total } else { 1.0 }).collect())
    }

    /// Returns the share of a term that each document contains: all of it for the term itself or a correction, less for
    /// another form. Of several terms, the best one counts.
    fn term_shares(
        &self,
        terms: &[String],
        corrections: &Corrections,
        addresses: &[DocAddress],
    ) -> tantivy::Result<TermShares> {
        let mut result = TermShares { rarity: None, shares: vec![0.0; addresses.len()] };
        for text in terms {
            let corrected = corrections.of(text);
            let itself = corrected.is_none().then_some((text.as_str(), 1.0));
            let others = corrected.unwrap_or_default().iter().map(|other| (other.term.as_str(), 1.0));
            let forms = corrections.forms_of(text).iter().map(|form| (form.term.as_str(), OTHER_FORM_COVERED));
            for (word, share) in itself.into_iter().chain(others).chain(forms) {
                let documents = self.frequency(word)?;
                if documents == 0 {
                    continue;
                }
                let rarity = self.rarity(documents);
                result.rarity = Some(result.rarity.map_or(rarity, |known: f32| known.min(rarity)));
                let matches = self.match_each(&*term(self.fields.body, word), addresses)?;
                let shares = result.shares.iter_mut().zip(matches);
                shares.filter(|(_, matches)| *matches).for_each(|(known, _)| *known = known.max(share));
            }
        }
        Ok(result)
    }

    /// Returns for each document whether it contains the whole query as one identifier.
    fn contains_as_identifier(&self, search: &Search<'_>, addresses: &[DocAddress]) -> tantivy::Result<Vec<bool>> {
        let terms = search.query.sequence();
        let mut found = vec![false; addresses.len()];
        if terms.len() < 2 {
            return Ok(found);
        }
        let whole = format!("{WHOLE_MARK}{}", terms.concat());
        let corrected = search.corrections.of(&whole).unwrap_or_default().iter().map(|other| other.term.as_str());
        for identifier in std::iter::once(whole.as_str()).chain(corrected) {
            let matches = self.match_each(&*term(self.fields.body, identifier), addresses)?;
            found.iter_mut().zip(matches).for_each(|(found, matches)| *found |= matches);
        }
        Ok(found)
    }

    /// Returns for each document whether a query matches it. The addresses must be sorted.
    pub(in crate::index) fn match_each(
        &self,
        query: &dyn TantivyQuery,
        addresses: &[DocAddress],
    ) -> tantivy::Result<Vec<bool>> {
        let weight = query.weight(EnableScoring::disabled_from_searcher(&self.searcher))?;
        let mut matches = Vec::with_capacity(addresses.len());
        for segment in addresses.chunk_by(|a, b| a.segment_ord == b.segment_ord) {
            let mut probe = Probe::new(&*weight, self.searcher.segment_reader(segment[0].segment_ord))?;
            matches.extend(segment.iter().map(|address| probe.matches(address.doc_id)));
        }
        Ok(matches)
    }

    /// Returns the inverse document frequency of a term in this many documents, as BM25 computes it.
    fn rarity(&self, documents: u64) -> Score {
        let (all, documents) = (self.searcher.num_docs() as Score, documents as Score);
        (1.0 + (all - documents + 0.5).max(0.0) / (documents + 0.5)).ln()
    }
}

/// Calls `run` with the documents of each segment, in parallel. The addresses must be sorted.
fn per_segment<T: Send>(
    addresses: &[DocAddress],
    run: impl Fn(&[DocAddress]) -> tantivy::Result<T> + Send + Sync,
) -> tantivy::Result<Vec<T>> {
    let segments: Vec<_> = addresses.chunk_by(|a, b| a.segment_ord == b.segment_ord).collect();
    segments.into_par_iter().with_max_len(1).map(run).collect()
}

/// The shares of a term that documents contain.
struct TermShares {
    /// The inverse document frequency of the term. `None` if the term is unknown.
    rarity: Option<f32>,
    /// The share of the term that each document contains, from 0 to 1.
    shares: Vec<f32>,
}

/// Returns the file that a query of a single piece may name, in lower case and with slashes, as in the index.
fn file_named(query: &Query) -> Option<String> {
    let is_single = query.chunks.len() == 1 && !query.chunks[0].quoted && !query.text.contains(char::is_whitespace);
    let name = query.text.replace('\\', "/").to_lowercase();
    let name = name.strip_prefix("./").unwrap_or(&name);
    (is_single && query.needs.is_empty() && !name.is_empty()).then(|| name.to_string())
}
