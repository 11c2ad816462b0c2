//! Looks at the best candidates again: how much of the query does each hold, does it hold it word for word, what is it,
//! how new is it. All of that is answered from postings and columns; no text is read.

use std::collections::HashSet;

use rayon::prelude::*;
use tantivy::query::{EnableScoring, Query as TantivyQuery};
use tantivy::{DocAddress, Score, Term};

use crate::document::{Kind, Role};
use crate::error::Result;
use crate::index::hash_map::HashMap64;
use crate::index::rank::candidates::{corrected_sequence, is_common, phrase, term};
use crate::index::rank::collect::RawHit;
use crate::index::rank::weights::{
    AGE_HALF, AGE_SHARE, ANSWER, AS_ONE, AS_TYPED_IN_ONE, BY_NO_CHANCE, COVERED_LEAST, FILE_CHANGED, FILE_READ, HUMAN,
    IN_ORDER, LOOSE_PART, META, OTHER_FORM_COVERED, PAIRS_COMPARED, SCATTERED, TITLE, TOOL_OUTPUT, UNKNOWN_SESSION,
};

use crate::index::rank::seek::Probe;
use crate::index::rank::spelling::Corrections;
use crate::index::rank::{Factors, Search};
use crate::index::read::Reader;
use crate::index::schema::{Action, action_of, from_class};
use crate::query::{Chunk, Query, Shape};
use crate::tokenize::WHOLE_MARK;

impl Reader {
    /// Raises hits that hold more of the query, those that hold it word for word, and a little those that are new.
    pub(in crate::index) fn rescore(
        &self,
        search: &Search<'_>,
        hits: &mut [RawHit],
    ) -> tantivy::Result<HashMap64<Factors>> {
        hits.sort_unstable_by_key(|hit| hit.address);
        let addresses: Vec<DocAddress> = hits.iter().map(|hit| hit.address).collect();
        let parts = in_parts(&addresses, |part| {
            Ok((self.coverage(search, part)?, self.as_one(search, part)?, self.is_file(search.query, part)?))
        })?;
        let (mut coverage, mut as_one, mut is_file) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            coverage.extend(part.0);
            as_one.extend(part.1);
            is_file.extend(part.2);
        }
        if !hits.iter().zip(&as_one).any(|(hit, as_one)| hit.in_order || *as_one) {
            let closeness = in_parts(&addresses, |part| self.closeness(search, part))?.concat();
            coverage.iter_mut().zip(closeness).for_each(|(covered, close)| *covered *= close);
        }
        let length = search.query.sequence().len();
        let side_by_side = IN_ORDER[length.min(IN_ORDER.len() - 1)];
        let one_piece = search.query.chunks.len() == 1;
        // A path stands in many a listing.
        let is_telling = length >= BY_NO_CHANCE && search.query.shape != Shape::Path;
        let prior = prior_for(search.query);
        let mut factors = HashMap64::default();
        let best = hits.iter().map(|hit| hit.score / prior(hit.class)).fold(0.0, f32::max);
        for (index, hit) in hits.iter_mut().enumerate() {
            let kind = prior(hit.class);
            let words = hit.score / kind;
            let lifted = match (is_file[index], hit.in_order && is_telling) {
                // A query that names a file wants edits to it, even inside long messages.
                (true, _) => best + words / 4.0,
                (_, true) => (words + best) / 2.0,
                _ => words,
            };
            let title = if hit.is_nameless { UNKNOWN_SESSION } else { 1.0 };
            let mut found = Factors {
                words: words / title,
                title,
                kind,
                coverage: COVERED_LEAST + (1.0 - COVERED_LEAST) * coverage[index] * coverage[index],
                verbatim: match (as_one[index], hit.in_order) {
                    (true, true) if one_piece => side_by_side * AS_TYPED_IN_ONE,
                    (true, true) => side_by_side.max(AS_ONE),
                    (true, false) => AS_ONE,
                    (false, true) => side_by_side,
                    (false, false) => 1.0,
                },
                age: recency(hit.time, search.now),
                ..Factors::default()
            };
            found.lift_to(lifted);
            hit.score = lifted * kind * found.coverage * found.verbatim * found.age;
            factors.insert(hit.group, found);
        }
        Ok(factors)
    }

    /// Says of each document whether it is about the very file that the query names.
    fn is_file(&self, query: &Query, addresses: &[DocAddress]) -> tantivy::Result<Vec<bool>> {
        match file_named(query).filter(|_| query.shape == Shape::Path) {
            Some(name) => self.holding(&*term(self.fields.file, &name), addresses),
            None => Ok(vec![false; addresses.len()]),
        }
    }

    /// Whether a query is the name of a known file, although it does not look like a path: `Dockerfile`.
    pub fn names_file(&self, query: &Query) -> Result<bool> {
        let is_name = query.text.contains(['.', '_']) || query.text.contains(char::is_uppercase);
        let Some(name) = file_named(query).filter(|_| is_name) else { return Ok(false) };
        let term = Term::from_field_text(self.fields.file, &name);
        self.guarded(|| Ok(self.searcher.doc_freq(&term)? > 0))
    }

    /// How much of a long query each document holds as neighbours. What is pasted from elsewhere, an error with other
    /// numbers say, is told by that from texts that hold the same words somehow.
    fn closeness(&self, search: &Search<'_>, addresses: &[DocAddress]) -> tantivy::Result<Vec<f32>> {
        let sequence = corrected_sequence(search.query, search.corrections);
        let is_number = |text: &String| text.bytes().all(|byte| byte.is_ascii_digit());
        let pairs: Vec<&[String]> = sequence.windows(2).filter(|pair| !pair.iter().any(is_number)).collect();
        let mut held = vec![0.0; addresses.len()];
        if pairs.len() < *PAIRS_COMPARED.start() {
            return Ok(vec![1.0; addresses.len()]);
        }
        let step = pairs.len().div_ceil(*PAIRS_COMPARED.end());
        for pair in pairs.iter().step_by(step) {
            let holding = self.holding(&*phrase(self.fields.body, pair), addresses)?;
            held.iter_mut().zip(holding).for_each(|(held, holds)| *held += f32::from(u8::from(holds)));
        }
        let looked = pairs.len().div_ceil(step) as f32;
        Ok(held.into_iter().map(|held| (SCATTERED + (1.0 - SCATTERED) * held / looked).sqrt()).collect())
    }

    /// How much of the query each document holds, by the weight of its words. Words that are nowhere do not count.
    fn coverage(&self, search: &Search<'_>, addresses: &[DocAddress]) -> tantivy::Result<Vec<f32>> {
        let mut held = vec![0.0; addresses.len()];
        let (mut whole, mut seen) = (0.0, HashSet::new());
        for chunk in scored_chunks(search.query) {
            let mut as_one = None;
            let together = match chunk.terms.len() {
                1 => vec![true; addresses.len()],
                _ => self.holding(&*phrase(self.fields.body, &chunk.terms), addresses)?,
            };
            for text in chunk.terms.iter().filter(|text| seen.insert(text.as_str())) {
                let by_itself = self.held(std::slice::from_ref(text), search.corrections, addresses)?;
                let as_one = match &mut as_one {
                    Some(known) => known,
                    None => as_one.insert(self.held(&chunk.wholes, search.corrections, addresses)?),
                };
                let Some(weight) = by_itself.rarity.or(as_one.rarity) else { continue };
                whole += weight;
                let by_itself = by_itself.shares.iter().zip(&together);
                let by_itself = by_itself.map(|(share, together)| if *together { *share } else { *share * LOOSE_PART });
                let shares = by_itself.zip(&as_one.shares).map(|(one, other)| one.max(*other));
                held.iter_mut().zip(shares).for_each(|(held, share)| *held += weight * share);
            }
        }
        Ok(held.into_iter().map(|held| if whole > 0.0 { held / whole } else { 1.0 }).collect())
    }

    /// How much of one of these terms each document holds, as itself, in another form, or as what is meant by it.
    fn held(&self, terms: &[String], corrections: &Corrections, addresses: &[DocAddress]) -> tantivy::Result<Held> {
        let mut held = Held { rarity: None, shares: vec![0.0; addresses.len()] };
        for text in terms {
            let meant = corrections.of(text);
            let itself = meant.is_none().then_some((text.as_str(), 1.0));
            let others = meant.unwrap_or_default().iter().map(|one| (one.term.as_str(), 1.0));
            let forms = corrections.forms_of(text).iter().map(|one| (one.term.as_str(), OTHER_FORM_COVERED));
            for (word, share) in itself.into_iter().chain(others).chain(forms) {
                let documents = self.frequency(word)?;
                if documents == 0 {
                    continue;
                }
                let rarity = self.rarity(documents);
                held.rarity = Some(held.rarity.map_or(rarity, |known: f32| known.min(rarity)));
                let holding = self.holding(&*term(self.fields.body, word), addresses)?;
                let shares = held.shares.iter_mut().zip(holding);
                shares.filter(|(_, holds)| *holds).for_each(|(known, _)| *known = known.max(share));
            }
        }
        Ok(held)
    }

    /// Says of each document whether it holds the whole query as one identifier.
    fn as_one(&self, search: &Search<'_>, addresses: &[DocAddress]) -> tantivy::Result<Vec<bool>> {
        let terms = search.query.sequence();
        let mut held = vec![false; addresses.len()];
        if terms.len() < 2 {
            return Ok(held);
        }
        let whole = format!("{WHOLE_MARK}{}", terms.concat());
        let meant = search.corrections.of(&whole).unwrap_or_default().iter().map(|one| one.term.as_str());
        for one in std::iter::once(whole.as_str()).chain(meant) {
            let holding = self.holding(&*term(self.fields.body, one), addresses)?;
            held.iter_mut().zip(holding).for_each(|(held, holds)| *held |= holds);
        }
        Ok(held)
    }

    /// Says of each document, given in order, whether a query matches it.
    fn holding(&self, query: &dyn TantivyQuery, addresses: &[DocAddress]) -> tantivy::Result<Vec<bool>> {
        let weight = query.weight(EnableScoring::disabled_from_searcher(&self.searcher))?;
        let mut found = Vec::with_capacity(addresses.len());
        for segment in addresses.chunk_by(|a, b| a.segment_ord == b.segment_ord) {
            let mut probe = Probe::new(&*weight, self.searcher.segment_reader(segment[0].segment_ord))?;
            found.extend(segment.iter().map(|address| probe.matches(address.doc_id)));
        }
        Ok(found)
    }

    /// How much a term tells that is in so many documents: the rarer, the more.
    fn rarity(&self, with: u64) -> Score {
        let (documents, with) = (self.searcher.num_docs() as Score, with as Score);
        (1.0 + (documents - with + 0.5).max(0.0) / (with + 0.5)).ln()
    }
}

/// Looks at the documents of each segment, given in order, on a thread of its own.
fn in_parts<T: Send>(
    addresses: &[DocAddress],
    look: impl Fn(&[DocAddress]) -> tantivy::Result<T> + Send + Sync,
) -> tantivy::Result<Vec<T>> {
    let parts: Vec<_> = addresses.chunk_by(|a, b| a.segment_ord == b.segment_ord).collect();
    parts.into_par_iter().with_max_len(1).map(look).collect()
}

/// What documents hold of a word.
struct Held {
    /// How much the word tells; none if it is nowhere.
    rarity: Option<f32>,
    /// How much of it each document holds.
    shares: Vec<f32>,
}

/// The file that a query of one piece names, folded as the index has it.
fn file_named(query: &Query) -> Option<String> {
    let is_one = query.chunks.len() == 1 && !query.chunks[0].quoted && !query.text.contains(char::is_whitespace);
    let name = query.text.replace('\\', "/").to_lowercase();
    let name = name.strip_prefix("./").unwrap_or(&name);
    (is_one && query.needs.is_empty() && !name.is_empty()).then(|| name.to_string())
}

/// How much a document of each class counts.
pub(in crate::index) type Prior = fn(u64) -> Score;

pub(in crate::index) fn prior_for(query: &Query) -> Prior {
    match query.shape {
        Shape::Words => by_speaker,
        Shape::Path => by_action,
        Shape::Code => by_nothing,
    }
}

/// What people typed and were answered counts for more than what tools printed.
fn by_speaker(class: u64) -> Score {
    match from_class(class) {
        (_, Kind::Title, _) => TITLE,
        (Role::Human | Role::Programmatic, _, _) => HUMAN,
        (_, Kind::Text | Kind::Compaction | Kind::Recap, _) => ANSWER,
        (_, Kind::ToolResult | Kind::Output, _) => TOOL_OUTPUT,
        (Role::Meta, _, _) => META,
        _ => 1.0,
    }
}

/// Who looks for a file mostly wants to know where it was changed.
fn by_action(class: u64) -> Score {
    let action = match action_of(class) {
        Action::Change => FILE_CHANGED,
        Action::Read => FILE_READ,
        Action::None => 1.0,
    };
    action * by_nothing(class)
}

fn by_nothing(class: u64) -> Score {
    if from_class(class).0 == Role::Meta { META } else { 1.0 }
}

fn recency(time: i64, now: i64) -> f32 {
    if time == i64::MAX || now == 0 {
        return 1.0 - AGE_SHARE;
    }
    let age = now.saturating_sub(time).max(0) as f32;
    1.0 - AGE_SHARE + AGE_SHARE * (-age / AGE_HALF).exp2()
}

/// The pieces of a query by which coverage is measured: common words only where there is nothing else.
fn scored_chunks(query: &Query) -> impl Iterator<Item = &Chunk> {
    let only_common = query.chunks.iter().all(is_common);
    query.chunks.iter().filter(move |chunk| only_common || !is_common(chunk))
}
