//! Finds the words of a query that the best hits do not contain.

use crate::error::Result;
use crate::index::rank::candidates::term;
use crate::index::rank::collect::RawHit;
use crate::index::rank::common_words::significant;
use crate::index::rank::corrections::Corrections;
use crate::index::rank::weights::TOP_HITS;
use crate::index::rank::{Ranked, Search};
use crate::index::read::Reader;
use crate::index::read::filter::Listed;
use crate::query::english::names;
use crate::query::{Chunk, Query};

impl Reader {
    /// Returns the significant pieces of the query that are missing in the one of the best hits that contains the most of
    /// them. Another form of a word, or a correction of it, counts as the word. Every hit of a pattern is complete.
    pub fn missing_pieces<'q>(&self, search: &Search<'q>, ranked: &Ranked) -> Result<Vec<&'q Chunk>> {
        if search.query.has_patterns() {
            return Ok(Vec::new());
        }
        let mut fewest: Option<Vec<&Chunk>> = None;
        for hit in &ranked.hits()[..ranked.in_order().min(TOP_HITS)] {
            let missing = self.guarded(|| self.missing_in(search, hit))?;
            if missing.is_empty() {
                return Ok(missing);
            }
            if fewest.as_ref().is_none_or(|fewest| missing.len() < fewest.len()) {
                fewest = Some(missing);
            }
        }
        Ok(fewest.unwrap_or_default())
    }

    /// Returns the number of significant pieces of a query.
    pub fn significant_pieces(&self, query: &Query) -> usize {
        significant(query).count()
    }

    /// Returns the significant pieces of a query that occur nowhere.
    pub fn unknown_pieces<'q>(&self, query: &'q Query) -> Result<Vec<&'q Chunk>> {
        let mut unknown = Vec::new();
        for chunk in significant(query) {
            if self.guarded(|| self.all_unknown(std::slice::from_ref(chunk)))? {
                unknown.push(chunk);
            }
        }
        Ok(unknown)
    }

    /// Returns the names in a query, but not those of a project or branch: hardly a message in it repeats them.
    pub fn spoken_names<'q>(&self, query: &'q Query) -> Result<Vec<&'q Chunk>> {
        let mut names = names(query);
        if names.is_empty() {
            return Ok(names);
        }
        for place in [self.names(Listed::Project)?, self.names(Listed::Branch)?].concat() {
            let place = place.to_lowercase();
            names.retain(|name| !name.terms.iter().all(|term| place.contains(term.as_str())));
        }
        Ok(names)
    }

    /// Returns the names in a query that occur nowhere, not even misspelled by one letter.
    pub fn names_in_no_message<'q>(&self, query: &'q Query, corrections: &Corrections) -> Result<Vec<&'q Chunk>> {
        let mut unheard = Vec::new();
        for chunk in self.spoken_names(query)? {
            if self.guarded(|| self.is_unheard(chunk, corrections))? {
                unheard.push(chunk);
            }
        }
        Ok(unheard)
    }

    /// Returns the names in a query, if none of the best hits contains any of them.
    pub fn names_not_in_best_hits<'q>(&self, search: &Search<'q>, ranked: &Ranked) -> Result<Vec<&'q Chunk>> {
        let names = self.spoken_names(search.query)?;
        let best = &ranked.hits()[..ranked.in_order().min(TOP_HITS)];
        for (hit, name) in best.iter().flat_map(|hit| names.iter().map(move |name| (hit, name))) {
            if self.guarded(|| self.has(name, search, hit))? {
                return Ok(Vec::new());
            }
        }
        Ok(names)
    }

    /// Reports whether some part of a name occurs nowhere.
    fn is_unheard(&self, name: &Chunk, corrections: &Corrections) -> tantivy::Result<bool> {
        for whole in &name.wholes {
            if corrections.is_certain(whole) || self.frequency(whole)? > 0 {
                return Ok(false);
            }
        }
        for term in &name.terms {
            let is_known = corrections.is_certain(term) || !corrections.forms_of(term).is_empty();
            if !is_known && self.frequency(term)? == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn missing_in<'q>(&self, search: &Search<'q>, hit: &RawHit) -> tantivy::Result<Vec<&'q Chunk>> {
        let mut missing = Vec::new();
        for chunk in significant(search.query) {
            if !self.has(chunk, search, hit)? {
                missing.push(chunk);
            }
        }
        Ok(missing)
    }

    /// Reports whether a hit contains a piece of the query.
    fn has(&self, chunk: &Chunk, search: &Search<'_>, hit: &RawHit) -> tantivy::Result<bool> {
        let has_whole = self.has_any(chunk.wholes.iter().map(String::as_str), search, hit)?;
        Ok(has_whole || self.has_all(&chunk.terms, search, hit)?)
    }

    fn has_all(&self, terms: &[String], search: &Search<'_>, hit: &RawHit) -> tantivy::Result<bool> {
        for term in terms {
            if !self.has_any([term.as_str()], search, hit)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reports whether a hit contains one of the terms, a correction or another form of it.
    fn has_any<'t>(
        &self,
        terms: impl IntoIterator<Item = &'t str>,
        search: &Search<'_>,
        hit: &RawHit,
    ) -> tantivy::Result<bool> {
        for text in terms {
            let others =
                search.corrections.of(text).unwrap_or_default().iter().chain(search.corrections.forms_of(text));
            for form in std::iter::once(text).chain(others.map(|other| other.term.as_str())) {
                let is_in = |field| self.match_each(&*term(field, form), &[hit.address]);
                if is_in(self.fields.body)?[0] {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
