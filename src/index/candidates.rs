//! From a [`Query`] to the engine's query for everything that may be a hit.
//!
//! Plain words are one disjunction over words, identifiers and phrases: a hit need not hold all of them, and ranking
//! sees to it that those with more come first. What is quoted, grouped or filtered must hold.

use memchr::memmem;
use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, EmptyQuery, Occur, PhraseQuery, Query as TantivyQuery,
    RegexQuery, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Score, Term};

use super::correct::Corrections;
use super::filter::{Clause, beginning, exact};
use super::reader::Reader;
use super::schema::CHECKPOINT_KIND;
use crate::analysis::{self, WHOLE_MARK};
use crate::query::{Chunk, Filter, Node, Query, Shape};

/// The most terms a piece of text may stand in before it stops narrowing anything down.
const PART_CAP: usize = 4096;
/// This many words stand side by side by no accident.
const TELLING: usize = 3;
/// How much all of the words side by side count, so that the longest text that holds them is looked at again.
const WORD_FOR_WORD: Score = 3.0;
/// Words too common to be looked for on their own.
const COMMON: [&str; 40] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "can", "do", "does", "for", "from", "had", "has", "have",
    "how", "i", "in", "is", "it", "me", "my", "not", "of", "on", "or", "so", "that", "the", "this", "to", "was", "we",
    "what", "when", "with", "you", "did",
];

/// What must be known besides the query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aim<'q> {
    pub(super) query: &'q Query,
    pub(super) filter: &'q Filter,
    pub(super) corrections: &'q Corrections,
    /// Whether plain words must all be there.
    pub(super) strict: bool,
}

impl Reader {
    /// The query for everything that may be a hit.
    pub(super) fn candidates(&self, aim: Aim<'_>) -> tantivy::Result<Box<dyn TantivyQuery>> {
        let mut clauses = self.clauses(aim.filter)?;
        clauses.extend(self.clauses(&Filter { conditions: aim.query.conditions.clone(), ..Filter::default() })?);
        for need in &aim.query.needs {
            clauses.push((Occur::Must, self.node(need)?));
        }
        for unwanted in &aim.query.without {
            // Whether a pattern matches is only known after reading.
            if !matches!(unwanted, Node::Pattern(_)) {
                clauses.push((Occur::MustNot, self.node(unwanted)?));
            }
        }
        if !aim.query.chunks.is_empty() {
            let quoted = aim.query.chunks.iter().any(|chunk| chunk.quoted);
            // Where something else must be there, words only rank.
            let only_conditions = aim.query.needs.iter().all(Node::is_condition);
            let occur = if quoted || aim.strict || only_conditions { Occur::Must } else { Occur::Should };
            clauses.push((occur, self.words(aim)));
        } else if aim.query.needs.is_empty() {
            clauses.push((Occur::Must, Box::new(ConstScoreQuery::new(Box::new(AllQuery), 1.0))));
            clauses.push((Occur::MustNot, exact(self.fields.kind, CHECKPOINT_KIND)));
        }
        Ok(Box::new(BooleanQuery::new(clauses)))
    }

    /// The disjunction of all that the words may be found by.
    fn words(&self, aim: Aim<'_>) -> Box<dyn TantivyQuery> {
        let (query, body) = (aim.query, self.fields.body);
        let mut clauses: Vec<Clause> = Vec::new();
        let skip_common = query.chunks.iter().any(|chunk| chunk.quoted || !is_common(chunk));
        for chunk in &query.chunks {
            if chunk.quoted {
                clauses.push((Occur::Must, phrase(body, &chunk.terms)));
            } else if !(skip_common && is_common(chunk)) {
                let found_by = self.found_by(chunk, aim.corrections);
                if aim.strict {
                    clauses.push((Occur::Must, Box::new(BooleanQuery::union(found_by))));
                } else {
                    clauses.extend(found_by.into_iter().map(should));
                }
            }
        }
        clauses.extend(joined_words(query).into_iter().map(|whole| should(boosted(term(body, &whole), 1.0))));
        clauses.extend(neighbours(query).into_iter().map(|pair| should(boosted(phrase(body, &pair), 0.3))));
        let sequence: Vec<String> = query.sequence().into_iter().map(str::to_string).collect();
        if sequence.len() > 1 {
            let weight = if query.chunks.len() >= TELLING { WORD_FOR_WORD } else { 1.0 };
            clauses.push(should(boosted(phrase(body, &sequence), weight)));
        }
        if query.shape == Shape::Path {
            clauses.push(should(boosted(phrase(self.fields.path, &sequence), 2.0)));
        }
        Box::new(BooleanQuery::new(clauses))
    }

    /// All that a piece of the query may be found by: its parts, the whole, the parts side by side.
    fn found_by(&self, chunk: &Chunk, corrections: &Corrections) -> Vec<Box<dyn TantivyQuery>> {
        let body = self.fields.body;
        let mut clauses: Vec<Box<dyn TantivyQuery>> = Vec::new();
        for part in &chunk.terms {
            match corrections.of(part) {
                Some(others) => {
                    clauses.extend(others.iter().map(|other| boosted(term(body, &other.term), other.weight)));
                }
                None => clauses.push(term(body, part)),
            }
        }
        clauses.extend(chunk.wholes.iter().map(|whole| term(body, whole)));
        if chunk.terms.len() > 1 {
            clauses.push(phrase(body, &chunk.terms));
        }
        clauses
    }

    /// The query for something that must hold.
    pub(super) fn node(&self, node: &Node) -> tantivy::Result<Box<dyn TantivyQuery>> {
        let body = self.fields.body;
        Ok(match node {
            Node::Words(chunk) if chunk.quoted => phrase(body, &chunk.terms),
            Node::Words(chunk) => {
                let wholes = chunk.wholes.iter().map(|whole| term(body, whole));
                Box::new(BooleanQuery::union(wholes.chain([phrase(body, &chunk.terms)]).collect()))
            }
            Node::Term(text) => term(body, text),
            Node::Part { text, open_left, open_right } => self.part(text, *open_left, *open_right)?,
            Node::Prefix(text) => self.prefix(text)?,
            Node::Pattern(pattern) => self.all_of(&pattern.needs)?,
            Node::Any(nodes) => {
                Box::new(BooleanQuery::union(nodes.iter().map(|one| self.node(one)).collect::<tantivy::Result<_>>()?))
            }
            Node::All(nodes) => self.all_of(nodes)?,
            Node::Not(_) => self.all_of(std::slice::from_ref(node))?,
            Node::Is(condition) => {
                let filter = Filter { conditions: vec![condition.clone()], ..Filter::default() };
                Box::new(BooleanQuery::new(self.clauses(&filter)?))
            }
        })
    }

    fn all_of(&self, nodes: &[Node]) -> tantivy::Result<Box<dyn TantivyQuery>> {
        let mut clauses: Vec<Clause> = Vec::new();
        for node in nodes {
            match node {
                Node::Not(inner) => clauses.push((Occur::MustNot, self.node(inner)?)),
                node => clauses.push((Occur::Must, self.node(node)?)),
            }
        }
        if clauses.iter().all(|(occur, _)| *occur == Occur::MustNot) {
            clauses.push((Occur::Must, Box::new(ConstScoreQuery::new(Box::new(AllQuery), 1.0))));
        }
        Ok(Box::new(BooleanQuery::new(clauses)))
    }

    /// Words with a beginning; of an identifier, its last part, or the whole of it.
    fn prefix(&self, text: &str) -> tantivy::Result<Box<dyn TantivyQuery>> {
        let body = self.fields.body;
        let mut parts: Vec<String> =
            analysis::terms(text).into_iter().filter(|(_, _, whole)| !whole).map(|(term, _, _)| term).collect();
        let Some(last) = parts.pop() else { return Ok(Box::new(EmptyQuery)) };
        let begins = |with: &str| -> tantivy::Result<Box<dyn TantivyQuery>> {
            Ok(Box::new(RegexQuery::from_pattern(&beginning(with), body)?))
        };
        if parts.is_empty() {
            return begins(&last);
        }
        let whole = format!("{WHOLE_MARK}{}{last}", parts.concat());
        let mut together: Vec<Box<dyn TantivyQuery>> = parts.iter().map(|part| term(body, part)).collect();
        together.push(begins(&last)?);
        Ok(Box::new(BooleanQuery::union(vec![begins(&whole)?, Box::new(BooleanQuery::intersection(together))])))
    }

    /// Terms that hold a piece of text. Every term of the index is looked at, unless the piece is a beginning.
    fn part(&self, text: &str, open_left: bool, open_right: bool) -> tantivy::Result<Box<dyn TantivyQuery>> {
        let body = self.fields.body;
        if !open_left {
            return Ok(Box::new(RegexQuery::from_pattern(&beginning(text), body)?));
        }
        let finder = memmem::Finder::new(text);
        let fits = |term: &[u8]| if open_right { finder.find(term).is_some() } else { term.ends_with(text.as_bytes()) };
        let mut found = std::collections::BTreeSet::new();
        for reader in self.searcher.segment_readers() {
            let index = reader.inverted_index(body)?;
            let mut stream = index.terms().stream()?;
            while stream.advance() {
                if fits(stream.key()) {
                    found.insert(String::from_utf8_lossy(stream.key()).into_owned());
                    if found.len() > PART_CAP {
                        return Ok(Box::new(ConstScoreQuery::new(Box::new(AllQuery), 1.0)));
                    }
                }
            }
        }
        if found.is_empty() {
            return Ok(Box::new(EmptyQuery));
        }
        Ok(Box::new(BooleanQuery::union(found.iter().map(|one| term(body, one)).collect())))
    }
}

/// Whether a piece of a query says nothing by itself.
pub(super) fn is_common(chunk: &Chunk) -> bool {
    chunk.terms.len() == 1 && COMMON.contains(&chunk.terms[0].as_str())
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

fn should(query: Box<dyn TantivyQuery>) -> Clause {
    (Occur::Should, query)
}

pub(super) fn term(field: Field, text: &str) -> Box<dyn TantivyQuery> {
    Box::new(TermQuery::new(Term::from_field_text(field, text), IndexRecordOption::WithFreqs))
}

pub(super) fn phrase(field: Field, terms: &[String]) -> Box<dyn TantivyQuery> {
    match terms {
        [one] => term(field, one),
        many => Box::new(PhraseQuery::new(many.iter().map(|text| Term::from_field_text(field, text)).collect())),
    }
}

fn boosted(query: Box<dyn TantivyQuery>, factor: Score) -> Box<dyn TantivyQuery> {
    Box::new(BoostQuery::new(query, factor))
}
