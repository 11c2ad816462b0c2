//! Translates a [`Query`] into tantivy queries: one that selects every candidate, and others that only add to the
//! score.
//!
//! Plain words become one disjunction over words and identifiers. A hit need not contain all of them; ranking puts
//! those with more first. Words in too many documents of a large index only rank and do not select, and neither do
//! phrases. That keeps a search fast as the index grows. Quoted words, groups and filters must match.

use memchr::memmem;
use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, EmptyQuery, Occur, PhraseQuery, Query as TantivyQuery,
    RegexQuery, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Score, Term};

use crate::index::rank::common_words::is_common;
use crate::index::rank::corrections::Corrections;
use crate::index::rank::weights::{
    COPIED_LINE, JOINED_CAP, MIN_WORDS_IN_ORDER, NEIGHBOURS, NEIGHBOURS_CAP, PART_CAP, PATH_OF_FILE, SELECTED,
    VERY_RARE, WORD_FOR_WORD,
};
use crate::index::read::Reader;
use crate::index::read::filter::{Clause, beginning, exact};
use crate::index::schema::CHECKPOINT_KIND;
use crate::query::{Chunk, Filter, Node, Query, Shape};
use crate::tokenize::{self, WHOLE_MARK};

/// A query with its filter and its corrections: everything that decides about candidates.
#[derive(Clone, Copy, Debug)]
pub(in crate::index) struct SearchPlan<'q> {
    pub(in crate::index) query: &'q Query,
    pub(in crate::index) filter: &'q Filter,
    pub(in crate::index) corrections: &'q Corrections,
    /// Set if a hit must contain all plain words.
    pub(in crate::index) strict: bool,
}

/// Queries that select candidates and that rank them.
pub(in crate::index) struct Candidates {
    /// Matches everything that may be a hit.
    pub(in crate::index) query: Box<dyn TantivyQuery>,
    /// Each adds to the score of the candidates that match it.
    pub(in crate::index) ranking: Vec<Box<dyn TantivyQuery>>,
    /// Matches documents with all words of the query in order, and adds to their score.
    pub(in crate::index) in_order: Option<Box<dyn TantivyQuery>>,
    /// Matches documents with the rarest word, if that word is very rare.
    pub(in crate::index) rare: Option<Box<dyn TantivyQuery>>,
}

/// A query for a word, an identifier or a phrase. It may select candidates, and adds to their score.
struct ScoringClause {
    query: Box<dyn TantivyQuery>,
    /// The number of matching documents. `None` for a phrase that only ranks, because its words already select.
    documents: Option<u64>,
    /// The term, if the clause is a single term.
    term: Option<Term>,
    /// Set for a word of the query and for its corrections. Not set for two words joined, or for another form.
    own: bool,
}

impl Default for ScoringClause {
    fn default() -> Self {
        Self { query: Box::new(EmptyQuery), documents: None, term: None, own: false }
    }
}

impl Reader {
    /// Returns the number of documents that the plain words of a query may select. There is no limit if conditions
    /// narrow the search down.
    pub(in crate::index) fn budget(plan: SearchPlan<'_>) -> u64 {
        let narrowed = !plan.filter.conditions.is_empty() || !plan.query.conditions.is_empty();
        if narrowed { u64::MAX } else { SELECTED }
    }

    /// Returns the queries for a search. Plain words find up to `budget` candidates. If even the rarest word is in more
    /// documents, only those are candidates.
    pub(in crate::index) fn candidates(&self, plan: SearchPlan<'_>, budget: u64) -> tantivy::Result<Candidates> {
        let query = plan.query;
        let mut clauses = self.clauses(plan.filter)?;
        clauses.extend(self.clauses(&Filter { conditions: query.conditions.clone(), ..Filter::default() })?);
        for need in &query.needs {
            clauses.push((Occur::Must, self.node(need)?));
        }
        for unwanted in &query.without {
            // Terms cannot exclude a pattern. Only reading the text shows whether it matches.
            if !matches!(unwanted, Node::Pattern(_)) {
                clauses.push((Occur::MustNot, self.node(unwanted)?));
            }
        }
        let quoted = query.chunks.iter().filter(|chunk| chunk.quoted);
        clauses.extend(quoted.clone().map(|chunk| (Occur::Must, quoted_words(self.fields.body, chunk))));
        let has_required = quoted.count() > 0 || !query.needs.iter().all(Node::is_condition);
        let (mut ranking, mut rare) = (Vec::new(), None);
        if query.chunks.is_empty() {
            if query.needs.is_empty() {
                clauses.push((Occur::Must, Box::new(ConstScoreQuery::new(Box::new(AllQuery), 1.0))));
                clauses.push((Occur::MustNot, exact(self.fields.kind, CHECKPOINT_KIND)));
            }
        } else if plan.strict {
            clauses.extend(searched(query).map(|chunk| (Occur::Must, self.all_parts(chunk, plan.corrections))));
        } else if has_required {
            // Something else already selects, so words only rank.
            ranking = queries(self.scoring_clauses(plan)?);
        } else {
            let scoring = self.scoring_clauses(plan)?;
            rare = rarest(&scoring);
            let (selecting, rest) = split_clauses(scoring, budget);
            clauses.push((Occur::Must, Box::new(BooleanQuery::union(queries(selecting)))));
            ranking = queries(rest);
        }
        for prefix in query.needs.iter().filter_map(|need| match need {
            Node::Prefix(prefix) => Some(prefix),
            _ => None,
        }) {
            ranking.extend(queries(self.prefix_clauses(prefix)?));
        }
        Ok(Candidates {
            query: Box::new(BooleanQuery::new(clauses)),
            ranking,
            in_order: self.words_in_order(query, plan.corrections),
            rare,
        })
    }

    /// Returns the query for all words as one phrase. If there are several pieces in a script without blanks, each
    /// piece is a phrase of its own and all must match. Their pairs of characters are so common that nothing else
    /// distinguishes a text with all pieces from a text that repeats one of them.
    fn words_in_order(&self, query: &Query, corrections: &Corrections) -> Option<Box<dyn TantivyQuery>> {
        if query.chunks.len() > 1 && query.chunks.iter().all(is_unspaced) {
            let phrases = query.chunks.iter().map(|chunk| phrase(self.fields.body, &chunk.terms));
            return Some(Box::new(BooleanQuery::intersection(phrases.collect())));
        }
        let sequence = corrected_sequence(query, corrections);
        let weight = if query.chunks.len() >= MIN_WORDS_IN_ORDER { WORD_FOR_WORD } else { 1.0 };
        (sequence.len() > 1).then(|| boosted(phrase(self.fields.body, &sequence), weight))
    }

    /// Returns clauses for the most common words with a prefix, so that documents with many of them rank higher.
    fn prefix_clauses(&self, prefix: &str) -> tantivy::Result<Vec<ScoringClause>> {
        let completions = self.completions(&prefix.to_lowercase())?;
        completions.iter().map(|word| self.term_clause(&word.term, word.weight)).collect()
    }

    /// Returns the clauses for the plain words of a query: terms, identifiers, phrases, and neighbouring words.
    fn scoring_clauses(&self, plan: SearchPlan<'_>) -> tantivy::Result<Vec<ScoringClause>> {
        let (query, body) = (plan.query, self.fields.body);
        let mut scoring = Vec::new();
        for chunk in searched(query) {
            for part in &chunk.terms {
                self.push_clauses(part, plan.corrections, &mut scoring)?;
            }
            for whole in &chunk.wholes {
                self.push_clauses(whole, plan.corrections, &mut scoring)?;
            }
            if chunk.terms.len() > 1 {
                // Each pair of characters may be common although few texts contain the phrase. So the phrase may
                // select, at no cost to the budget.
                let documents = is_unspaced(chunk).then_some(0);
                scoring.push(ScoringClause {
                    query: phrase(body, &chunk.terms),
                    documents,
                    ..ScoringClause::default()
                });
            }
        }
        let sequence = query.sequence();
        if sequence.len() >= COPIED_LINE && !query.thinned {
            // The first and last word of a copied line may be cut off.
            let within: Vec<String> = sequence[1..sequence.len() - 1].iter().map(ToString::to_string).collect();
            scoring.push(ScoringClause {
                query: phrase(body, &within),
                documents: Some(0),
                ..ScoringClause::default()
            });
        }
        for whole in joined_words(query) {
            scoring.push(self.term_clause(&whole, 1.0)?);
        }
        scoring.extend(
            neighbours(query).iter().map(|pair| ScoringClause {
                query: boosted(phrase(body, pair), NEIGHBOURS),
                ..ScoringClause::default()
            }),
        );
        if query.shape == Shape::Path {
            let sequence: Vec<String> = query.sequence().into_iter().map(str::to_string).collect();
            // A path may occur only among the files of a document, not in its text.
            let query = boosted(phrase(self.fields.path, &sequence), PATH_OF_FILE);
            scoring.push(ScoringClause { query, documents: Some(0), ..ScoringClause::default() });
        }
        Ok(scoring)
    }

    /// Adds the clauses for a term of the query: for its corrections, or else for the term and its other forms.
    fn push_clauses(
        &self,
        text: &str,
        corrections: &Corrections,
        scoring: &mut Vec<ScoringClause>,
    ) -> tantivy::Result<()> {
        let others = match corrections.of(text) {
            Some(others) => others,
            None => {
                scoring.push(ScoringClause { own: true, ..self.term_clause(text, 1.0)? });
                corrections.forms_of(text)
            }
        };
        let own = corrections.of(text).is_some();
        for other in others {
            scoring.push(ScoringClause { own, ..self.term_clause(&other.term, other.weight)? });
        }
        Ok(())
    }

    fn term_clause(&self, text: &str, weight: Score) -> tantivy::Result<ScoringClause> {
        let documents = self.frequency(text)?;
        let term = (!text.contains(' ')).then(|| Term::from_field_text(self.fields.body, text));
        let query = boosted(self::term(self.fields.body, text), weight);
        Ok(ScoringClause { query, documents: Some(documents), term, own: false })
    }

    /// Returns the query for a piece of the query that must match as a whole: as one word, or as a phrase of its parts.
    /// A phrase with a corrected part only requires all parts.
    fn all_parts(&self, chunk: &Chunk, corrections: &Corrections) -> Box<dyn TantivyQuery> {
        let body = self.fields.body;
        let corrected = |part: &String| match corrections.of(part) {
            Some(others) => Box::new(BooleanQuery::union(others.iter().map(|other| term(body, &other.term)).collect())),
            None => term(body, part),
        };
        let is_corrected = chunk.terms.iter().any(|part| corrections.of(part).is_some());
        let parts = match is_corrected {
            true => Box::new(BooleanQuery::intersection(chunk.terms.iter().map(corrected).collect())),
            false => phrase(body, &chunk.terms),
        };
        let wholes = chunk.wholes.iter().map(|whole| term(body, whole));
        Box::new(BooleanQuery::union(wholes.chain([parts]).collect()))
    }

    /// Returns the query for a part of the query that must match.
    pub(in crate::index) fn node(&self, node: &Node) -> tantivy::Result<Box<dyn TantivyQuery>> {
        let body = self.fields.body;
        Ok(match node {
            Node::Words(chunk) if chunk.quoted => quoted_words(body, chunk),
            Node::Words(chunk) => {
                let wholes = chunk.wholes.iter().map(|whole| term(body, whole));
                Box::new(BooleanQuery::union(wholes.chain([phrase(body, &chunk.terms)]).collect()))
            }
            Node::Term(text) => term(body, text),
            Node::Part { text, open_left, open_right } => self.part(text, *open_left, *open_right)?,
            Node::Prefix(text) => self.prefix(text)?,
            Node::Pattern(pattern) => self.all_of(&pattern.needs)?,
            Node::Any(nodes) => {
                Box::new(BooleanQuery::union(nodes.iter().map(|node| self.node(node)).collect::<tantivy::Result<_>>()?))
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
            // A boolean query with only exclusions matches nothing.
            clauses.push((Occur::Must, Box::new(ConstScoreQuery::new(Box::new(AllQuery), 1.0))));
        }
        Ok(Box::new(BooleanQuery::new(clauses)))
    }

    /// Returns the query for words with a prefix. If the prefix has several parts, it matches identifiers with it, and
    /// documents that contain the first parts and a word that starts with the last.
    fn prefix(&self, text: &str) -> tantivy::Result<Box<dyn TantivyQuery>> {
        let body = self.fields.body;
        let mut parts: Vec<String> =
            tokenize::terms(text).into_iter().filter(|(_, _, whole)| !whole).map(|(term, _, _)| term).collect();
        let Some(last) = parts.pop() else { return Ok(Box::new(EmptyQuery)) };
        let starts_with = |prefix: &str| -> tantivy::Result<Box<dyn TantivyQuery>> {
            Ok(Box::new(RegexQuery::from_pattern(&beginning(prefix), body)?))
        };
        if parts.is_empty() {
            return starts_with(&last);
        }
        let whole = format!("{WHOLE_MARK}{}{last}", parts.concat());
        let mut together: Vec<Box<dyn TantivyQuery>> = parts.iter().map(|part| term(body, part)).collect();
        together.push(starts_with(&last)?);
        // The index does not split a hash or a serial number.
        let unsplit = starts_with(whole.trim_start_matches(WHOLE_MARK))?;
        let together = Box::new(BooleanQuery::intersection(together));
        Ok(Box::new(BooleanQuery::union(vec![starts_with(&whole)?, unsplit, together])))
    }

    /// Returns the query for terms that contain a piece of text. Compares every term of the index, unless the piece is
    /// a prefix. Matches everything if there are too many terms.
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
        Ok(Box::new(BooleanQuery::union(found.iter().map(|text| term(body, text)).collect())))
    }
}

/// Returns the query for the rarest known word, if it is very rare.
fn rarest(clauses: &[ScoringClause]) -> Option<Box<dyn TantivyQuery>> {
    let known = clauses
        .iter()
        .filter_map(|clause| Some((clause.documents.filter(|documents| *documents > 0)?, clause.term.as_ref()?)));
    let (documents, term) = known.min_by_key(|(documents, _)| *documents)?;
    (documents <= VERY_RARE)
        .then(|| -> Box<dyn TantivyQuery> { Box::new(TermQuery::new(term.clone(), IndexRecordOption::Basic)) })
}

/// Splits clauses into those that decide which documents are candidates, and those that only add to the score. The
/// words as typed come first, then their other forms, each from the rarest on, until there are `max_documents`
/// candidates. One typed word always counts: `error message` must not only find `errorMessage`.
fn split_clauses(mut clauses: Vec<ScoringClause>, max_documents: u64) -> (Vec<ScoringClause>, Vec<ScoringClause>) {
    clauses.sort_by_key(|clause| (!clause.own, clause.documents.unwrap_or(u64::MAX)));
    let (mut selected, mut own): (u64, u64) = (0, 0);
    clauses.into_iter().partition(|clause| {
        let Some(documents) = clause.documents else { return false };
        let sum = selected.saturating_add(documents);
        let selects = sum <= max_documents || clause.own && own == 0;
        if selects {
            selected = sum;
            own += if clause.own { documents } else { 0 };
        }
        selects
    })
}

fn queries(clauses: Vec<ScoringClause>) -> Vec<Box<dyn TantivyQuery>> {
    clauses.into_iter().map(|clause| clause.query).collect()
}

/// Returns the unquoted pieces of a query to search for. Skips common words, unless there is nothing else.
fn searched(query: &Query) -> impl Iterator<Item = &Chunk> {
    let skip_common = query.chunks.iter().any(|chunk| chunk.quoted || !is_common(chunk));
    query.chunks.iter().filter(move |chunk| !(chunk.quoted || skip_common && is_common(chunk)))
}

/// Reports whether a piece of a query is in a script without blanks and consists of several pairs of characters.
fn is_unspaced(chunk: &Chunk) -> bool {
    chunk.terms.len() > 1 && chunk.terms[0].chars().next().is_some_and(tokenize::is_unspaced)
}

/// Joins two to four neighbouring words into one: `retry after` also searches for `retryAfter`.
fn joined_words(query: &Query) -> Vec<String> {
    if query.chunks.len() > JOINED_CAP {
        return Vec::new();
    }
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

/// Returns all words in order. The most likely correction replaces each misspelled word.
pub(in crate::index) fn corrected_sequence(query: &Query, corrections: &Corrections) -> Vec<String> {
    let correction = |text: &str| corrections.of(text).filter(|_| tokenize::single(text).is_none())?.first();
    let words =
        |text| correction(text).map_or(text, |word| word.term.as_str()).trim_start_matches(WHOLE_MARK).split(' ');
    query.sequence().into_iter().flat_map(words).map(str::to_string).collect()
}

/// Returns pairs of neighbouring words in the query, without pairs of two common words.
fn neighbours(query: &Query) -> Vec<Vec<String>> {
    if query.sequence().len() == 2 || query.thinned || query.chunks.len() > NEIGHBOURS_CAP {
        // The pair is the whole query, or words between the neighbours were left out.
        return Vec::new();
    }
    let unquoted: Vec<&Chunk> = query.chunks.iter().filter(|chunk| !chunk.quoted).collect();
    let pairs = unquoted.windows(2).filter(|pair| !(is_common(pair[0]) && is_common(pair[1])));
    pairs.filter_map(|pair| Some(vec![pair[0].terms.last()?.clone(), pair[1].terms.first()?.clone()])).collect()
}

/// Returns the query for a term, or for a phrase if blanks separate several terms.
pub(in crate::index) fn term(field: Field, text: &str) -> Box<dyn TantivyQuery> {
    if text.contains(' ') {
        return phrase(field, &text.split(' ').map(str::to_string).collect::<Vec<_>>());
    }
    Box::new(TermQuery::new(Term::from_field_text(field, text), IndexRecordOption::WithFreqs))
}

pub(in crate::index) fn phrase(field: Field, terms: &[String]) -> Box<dyn TantivyQuery> {
    match terms {
        [single] => term(field, single),
        many => Box::new(PhraseQuery::new(many.iter().map(|text| Term::from_field_text(field, text)).collect())),
    }
}

/// Returns a query for quoted words: one after the other, or a single word as an identifier in any case: `"wrapkey"` finds
/// `wrapKey`.
fn quoted_words(field: Field, chunk: &Chunk) -> Box<dyn TantivyQuery> {
    match chunk.terms.as_slice() {
        [_] => {
            let wholes = chunk.wholes.iter().map(|whole| term(field, whole));
            Box::new(BooleanQuery::union(wholes.chain([phrase(field, &chunk.terms)]).collect()))
        }
        terms => phrase(field, terms),
    }
}

pub(in crate::index) fn boosted(query: Box<dyn TantivyQuery>, factor: Score) -> Box<dyn TantivyQuery> {
    Box::new(BoostQuery::new(query, factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_least_one_own_word_selects() {
        let clause = |documents, own| ScoringClause { documents: Some(documents), own, ..ScoringClause::default() };
        for (clauses, selecting) in [
            // Two common words, and both joined as one.
            (&[(500, true), (700, true), (3, false)][..], &[500][..]),
            (&[(50, true), (700, true), (3, false)], &[50, 3]),
            (&[(0, true), (700, true), (3, false)], &[0, 700]),
        ] {
            let (chosen, _) =
                split_clauses(clauses.iter().map(|(documents, own)| clause(*documents, *own)).collect(), 100);
            assert_eq!(chosen.iter().filter_map(|clause| clause.documents).collect::<Vec<_>>(), selecting);
        }
    }

    #[test]
    fn rare_words_select_and_common_ones_rank() {
        for (documents, budget, selecting) in [
            (&[Some(3), Some(500), Some(20)][..], 100, &[3, 20][..]),
            (&[Some(500), Some(300)], 100, &[300]),
            (&[Some(0), Some(500), None], 100, &[0, 500]),
            (&[Some(60), Some(50)], 100, &[50]),
            (&[Some(60), Some(50)], u64::MAX, &[50, 60]),
            (&[None], 100, &[]),
        ] {
            let clause = |documents: &Option<u64>| ScoringClause {
                documents: *documents,
                own: true,
                ..ScoringClause::default()
            };
            let (chosen, rest) = split_clauses(documents.iter().map(clause).collect(), budget);
            assert_eq!(chosen.iter().filter_map(|clause| clause.documents).collect::<Vec<_>>(), selecting);
            assert_eq!(chosen.len() + rest.len(), documents.len());
        }
    }
}
