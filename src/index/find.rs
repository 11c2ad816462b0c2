//! From a [`Query`] to ranked hits.
//!
//! Candidates come from one disjunction over words, identifiers and phrases. The best of them are then looked at
//! again: how much of the query do they hold, do they hold it word for word. All of it is answered from postings;
//! no stored text is read before it is shown.

use std::collections::HashMap;
use std::path::PathBuf;

use tantivy::query::{BooleanQuery, BoostQuery, EnableScoring, Occur, PhraseQuery, Query as TantivyQuery, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocSet as _, Score, TERMINATED, Term};

use super::checkpoint::FileKey;
use super::gather::{ByPrint, Gather, Match, Prints, fold};
use super::reader::Reader;
use super::schema::session_key;
use crate::analysis::WHOLE_MARK;
use crate::document::{Kind, Role};
use crate::error::Result;
use crate::query::{Chunk, Query, Shape};

/// How many of the best candidates are looked at again.
const RESCORED: usize = 200;
/// Words too common to be looked for on their own.
const COMMON: [&str; 40] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "can", "do", "does", "for", "from", "had", "has", "have",
    "how", "i", "in", "is", "it", "me", "my", "not", "of", "on", "or", "so", "that", "the", "this", "to", "was", "we",
    "what", "when", "with", "you", "did",
];

/// What may be found.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Also what Claude Code itself put in.
    pub meta: bool,
    /// A session to be left out.
    pub without_session: Option<String>,
}

/// One hit.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub(super) address: DocAddress,
    /// How well it matches; only comparable within one answer.
    pub score: f32,
    /// What it shares with other copies of the same message.
    pub group: u64,
    /// The number of its session.
    pub session: u64,
    /// When.
    pub time: i64,
}

/// All hits. Ordering all of them would take longer than finding them, so only the first few are in order at first.
#[derive(Clone, Debug, Default)]
pub struct Ranked {
    hits: Vec<Found>,
    in_order: usize,
    /// How many sessions they are in.
    pub sessions: usize,
}

impl Ranked {
    /// All hits, the first of them in order.
    pub fn hits(&self) -> &[Found] {
        &self.hits
    }

    /// How many of the hits are in order, the best first.
    pub fn in_order(&self) -> usize {
        self.in_order
    }

    /// Puts all hits in order.
    pub fn order_all(&mut self) {
        self.hits[self.in_order..].sort_unstable_by(Found::by_rank);
        self.in_order = self.hits.len();
    }

    /// Keeps only some of the hits.
    pub fn retain(&mut self, keep: impl FnMut(&Found) -> bool) {
        self.order_all();
        self.hits.retain(keep);
        self.in_order = self.hits.len();
        self.sessions = self.hits.iter().map(|hit| hit.session).collect::<Prints>().len();
    }
}

impl Reader {
    /// Finds all hits of a query; equal ones have a fixed order.
    pub fn find(&self, query: &Query, filter: &Filter) -> Result<Ranked> {
        self.guarded(|| {
            let gather = Gather {
                meta: filter.meta,
                without: filter.without_session.as_deref().map(session_key),
                prior: if query.shape == Shape::Words { prior } else { no_prior },
            };
            let matches = self.searcher.search(&*self.candidates(query), &gather)?;
            let (folded, equals) = fold(matches, |session| self.has_transcript(session));
            let mut hits: Vec<Found> = folded.into_iter().map(Found::from).collect();
            let sessions = hits.iter().map(|hit| hit.session).collect::<Prints>().len();
            let in_order = hits.len().min(RESCORED);
            if in_order < hits.len() {
                hits.select_nth_unstable_by(in_order, Found::by_rank);
            }
            self.settle(&mut hits[..in_order], &equals)?;
            self.look_again(query, &mut hits[..in_order])?;
            hits[..in_order].sort_unstable_by(Found::by_rank);
            Ok(Ranked { hits, in_order, sessions })
        })
    }

    /// The query for everything that may be a hit.
    fn candidates(&self, query: &Query) -> Box<dyn TantivyQuery> {
        let body = self.fields.body;
        let mut clauses: Vec<(Occur, Box<dyn TantivyQuery>)> = Vec::new();
        let skip_common = query.chunks.iter().any(|chunk| chunk.quoted || !is_common(chunk));
        for chunk in &query.chunks {
            if chunk.quoted {
                clauses.push((Occur::Must, phrase(body, &chunk.terms)));
            } else if !(skip_common && is_common(chunk)) {
                clauses.extend(chunk_clauses(body, chunk).into_iter().map(|clause| (Occur::Should, clause)));
            }
        }
        let should = |clause| (Occur::Should, clause);
        clauses.extend(joined_words(query).into_iter().map(|whole| should(boosted(term(body, &whole), 1.0))));
        clauses.extend(neighbours(query).into_iter().map(|pair| should(boosted(phrase(body, &pair), 0.3))));
        let sequence: Vec<String> = query.sequence().into_iter().map(str::to_string).collect();
        if sequence.len() > 1 {
            clauses.push(should(phrase(body, &sequence)));
        }
        if query.shape == Shape::Path {
            clauses.push(should(boosted(phrase(self.fields.path, &sequence), 2.0)));
        }
        Box::new(BooleanQuery::new(clauses))
    }

    /// Of copies of equal age, shows the one whose file comes first.
    fn settle(&self, hits: &mut [Found], equals: &ByPrint<Vec<Match>>) -> tantivy::Result<()> {
        let mut paths: HashMap<FileKey, PathBuf> = HashMap::new();
        for hit in hits.iter_mut() {
            let Some(copies) = equals.get(&hit.group) else { continue };
            let mut placed = Vec::with_capacity(copies.len());
            for copy in copies.iter().filter(|copy| copy.time == hit.time) {
                let key = self.source_key(copy.address)?;
                let path = match paths.get(&key) {
                    Some(path) => path.clone(),
                    None => self.checkpoint(key).ok().flatten().map(|file| file.path()).unwrap_or_default(),
                };
                paths.entry(key).or_insert_with(|| path.clone());
                placed.push((path, copy));
            }
            if let Some((_, first)) =
                placed.into_iter().min_by(|a, b| a.0.cmp(&b.0).then(a.1.address.cmp(&b.1.address)))
            {
                *hit = Found { score: hit.score, ..Found::from(*first) };
            }
        }
        Ok(())
    }

    /// Raises hits that hold more of the query, and those that hold it word for word.
    fn look_again(&self, query: &Query, hits: &mut [Found]) -> tantivy::Result<()> {
        hits.sort_unstable_by_key(|hit| hit.address);
        let addresses: Vec<DocAddress> = hits.iter().map(|hit| hit.address).collect();
        let mut held = vec![0.0; hits.len()];
        let mut whole = 0.0;
        for term in scored_terms(query) {
            let term = Term::from_field_text(self.fields.body, term);
            let weight = self.rarity(&term)?;
            whole += weight;
            for (index, found) in
                self.holding(&TermQuery::new(term, IndexRecordOption::Basic), &addresses)?.into_iter().enumerate()
            {
                held[index] += if found { weight } else { 0.0 };
            }
        }
        let sequence = query.sequence();
        let verbatim = if sequence.len() > 1 {
            let terms: Vec<String> = sequence.iter().map(ToString::to_string).collect();
            self.holding(&*phrase(self.fields.body, &terms), &addresses)?
        } else {
            vec![false; hits.len()]
        };
        for (index, hit) in hits.iter_mut().enumerate() {
            let coverage = if whole > 0.0 { held[index] / whole } else { 1.0 };
            hit.score *= (0.5 + 0.5 * coverage) * if verbatim[index] { 2.0 } else { 1.0 };
        }
        Ok(())
    }

    /// Says of each document, given in order, whether a query matches it.
    fn holding(&self, query: &dyn TantivyQuery, addresses: &[DocAddress]) -> tantivy::Result<Vec<bool>> {
        let weight = query.weight(EnableScoring::disabled_from_searcher(&self.searcher))?;
        let mut found = Vec::with_capacity(addresses.len());
        for segment in addresses.chunk_by(|a, b| a.segment_ord == b.segment_ord) {
            let reader = self.searcher.segment_reader(segment[0].segment_ord);
            let mut matching = weight.scorer(reader, 1.0)?;
            for address in segment {
                let here = if matching.doc() < address.doc_id { matching.seek(address.doc_id) } else { matching.doc() };
                found.push(here == address.doc_id && here != TERMINATED);
            }
        }
        Ok(found)
    }

    /// How much a term tells: the rarer, the more.
    fn rarity(&self, term: &Term) -> tantivy::Result<Score> {
        let documents = self.searcher.num_docs() as Score;
        let with = self.searcher.doc_freq(term)? as Score;
        Ok((1.0 + (documents - with + 0.5).max(0.0) / (with + 0.5)).ln())
    }
}

impl From<Match> for Found {
    fn from(hit: Match) -> Self {
        Self { address: hit.address, score: hit.score, group: hit.group, session: hit.session, time: hit.time }
    }
}

impl Found {
    /// The better score first, then the newer, then a fixed order.
    fn by_rank(&self, other: &Self) -> std::cmp::Ordering {
        let newest = |hit: &Self| if hit.time == i64::MAX { i64::MIN } else { hit.time };
        other
            .score
            .total_cmp(&self.score)
            .then_with(|| newest(other).cmp(&newest(self)))
            .then_with(|| self.group.cmp(&other.group))
    }
}

/// What people typed and were answered counts for more than what tools printed.
fn prior(role: Role, kind: Kind) -> Score {
    match (role, kind) {
        (_, Kind::Title) => 1.5,
        (Role::Human | Role::Programmatic, _) => 1.3,
        (_, Kind::Text | Kind::Compaction | Kind::Recap) => 1.2,
        (_, Kind::ToolResult | Kind::Output) => 0.8,
        (Role::Meta, _) => 0.6,
        _ => 1.0,
    }
}

fn no_prior(role: Role, _: Kind) -> Score {
    if role == Role::Meta { 0.6 } else { 1.0 }
}

fn is_common(chunk: &Chunk) -> bool {
    chunk.terms.len() == 1 && COMMON.contains(&chunk.terms[0].as_str())
}

/// The terms by which coverage is measured: identifiers by their parts.
fn scored_terms(query: &Query) -> Vec<&str> {
    let mut terms: Vec<&str> = query
        .chunks
        .iter()
        .filter(|chunk| !is_common(chunk))
        .flat_map(|chunk| &chunk.terms)
        .map(String::as_str)
        .collect();
    if terms.is_empty() {
        terms = query.sequence();
    }
    terms.sort_unstable();
    terms.dedup();
    terms
}

fn chunk_clauses(field: Field, chunk: &Chunk) -> Vec<Box<dyn TantivyQuery>> {
    let mut clauses: Vec<Box<dyn TantivyQuery>> = chunk.terms.iter().map(|part| term(field, part)).collect();
    clauses.extend(chunk.wholes.iter().map(|whole| term(field, whole)));
    if chunk.terms.len() > 1 {
        clauses.push(phrase(field, &chunk.terms));
    }
    clauses
}

/// Neighbouring words written as one: `retry after` also looks for `retryAfter`.
fn joined_words(query: &Query) -> Vec<String> {
    let plain: Vec<Option<&str>> = query
        .chunks
        .iter()
        .map(|chunk| (!chunk.quoted && chunk.terms.len() == 1).then(|| chunk.terms[0].as_str()))
        .collect();
    let mut joined = Vec::new();
    for length in 2..=4 {
        for window in plain.windows(length) {
            let words: Option<Vec<&str>> = window.iter().copied().collect();
            let word = words.map(|words| words.concat()).filter(|word| word.len() >= 4);
            joined.extend(word.iter().map(|word| format!("{WHOLE_MARK}{word}")));
            joined.extend(word);
        }
    }
    joined
}

/// Pairs of words that stand side by side in the query, but not two common ones.
fn neighbours(query: &Query) -> Vec<Vec<String>> {
    if query.sequence().len() == 2 {
        // The whole query is the pair.
        return Vec::new();
    }
    let open: Vec<&Chunk> = query.chunks.iter().filter(|chunk| !chunk.quoted).collect();
    let pairs = open.windows(2).filter(|pair| !(is_common(pair[0]) && is_common(pair[1])));
    pairs.filter_map(|pair| Some(vec![pair[0].terms.last()?.clone(), pair[1].terms.first()?.clone()])).collect()
}

fn term(field: Field, text: &str) -> Box<dyn TantivyQuery> {
    Box::new(TermQuery::new(Term::from_field_text(field, text), IndexRecordOption::WithFreqs))
}

fn phrase(field: Field, terms: &[String]) -> Box<dyn TantivyQuery> {
    match terms {
        [one] => term(field, one),
        many => Box::new(PhraseQuery::new(many.iter().map(|text| Term::from_field_text(field, text)).collect())),
    }
}

fn boosted(query: Box<dyn TantivyQuery>, factor: Score) -> Box<dyn TantivyQuery> {
    Box::new(BoostQuery::new(query, factor))
}
