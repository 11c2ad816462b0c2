//! From a [`Query`] to the engine's query for everything that may be a hit.
//!
//! Plain words are one disjunction over words and identifiers: a hit need not hold all of them, and ranking sees to it
//! that those with more come first. Words that stand in too much of a large index select nothing, they only rank, as
//! do phrases: that is what keeps a search fast when the index grows. What is quoted, grouped or filtered must hold.

use memchr::memmem;
use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, EmptyQuery, Occur, PhraseQuery, Query as TantivyQuery,
    RegexQuery, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Score, Term};

use crate::index::rank::spelling::Corrections;
use crate::index::read::Reader;
use crate::index::read::filter::{Clause, beginning, exact};
use crate::index::schema::CHECKPOINT_KIND;
use crate::query::{Chunk, Filter, Node, Query, Shape};
use crate::tokenize::{self, WHOLE_MARK};

/// The most terms a piece of text may stand in before it stops narrowing anything down.
const PART_CAP: usize = 4096;
/// This many words stand side by side by no accident.
const TELLING: usize = 3;
/// How much all of the words side by side count, so that the longest text that holds them is looked at again.
const WORD_FOR_WORD: Score = 3.0;
/// A word in so few documents is very rare: all of them are looked at again.
const VERY_RARE: u64 = 50;
/// In a longer query, words are not tried as one.
const JOINED_CAP: usize = 12;
/// In a longer query, it does not count which words are neighbours.
const NEIGHBOURS_CAP: usize = 32;
/// A query of so many words may be a line that was copied.
const PASTED: usize = 6;
/// How many documents the words of a query may select, however large the index is.
const SELECTED: u64 = 6000;
/// Words too common to be looked for on their own.
const COMMON: [&str; 69] = [
    "a", "about", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do", "does",
    "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "just", "me", "my", "not",
    "of", "on", "or", "our", "should", "so", "some", "still", "than", "that", "the", "their", "them", "then", "there",
    "these", "they", "this", "those", "to", "was", "we", "were", "what", "when", "where", "whether", "which", "who",
    "why", "will", "with", "without", "would", "you", "your",
];

/// What must be known besides the query.
#[derive(Clone, Copy, Debug)]
pub(in crate::index) struct SearchPlan<'q> {
    pub(in crate::index) query: &'q Query,
    pub(in crate::index) filter: &'q Filter,
    pub(in crate::index) corrections: &'q Corrections,
    /// Whether plain words must all be there.
    pub(in crate::index) strict: bool,
}

/// What may be a hit, and what makes one better than another.
pub(in crate::index) struct Candidates {
    /// Matches everything that may be a hit.
    pub(in crate::index) query: Box<dyn TantivyQuery>,
    /// Adds to the score of those that match it too.
    pub(in crate::index) ranking: Vec<Box<dyn TantivyQuery>>,
    /// Matches what holds all words of the query in their order, and adds to its score.
    pub(in crate::index) in_order: Option<Box<dyn TantivyQuery>>,
    /// Matches what holds the rarest word, if that is very rare.
    pub(in crate::index) rare: Option<Box<dyn TantivyQuery>>,
}

/// Something a hit may be found by.
struct ScoringClause {
    query: Box<dyn TantivyQuery>,
    /// In how many documents it stands; none for words side by side, which one of them finds as well.
    documents: Option<u64>,
    /// The term, if it is one.
    term: Option<Term>,
    /// Whether it is a word of the query, or what is meant by one: not two of them as one, or another form.
    own: bool,
}

impl Default for ScoringClause {
    fn default() -> Self {
        Self { query: Box::new(EmptyQuery), documents: None, term: None, own: false }
    }
}

impl Reader {
    /// How many documents the plain words of a query may select. Where something else narrows them down, all of them.
    pub(in crate::index) fn budget(plan: SearchPlan<'_>) -> u64 {
        let narrowed = !plan.filter.conditions.is_empty() || !plan.query.conditions.is_empty();
        if narrowed { u64::MAX } else { SELECTED }
    }

    /// What to look for, with plain words that select no more than so many documents, or the rarest of them if even
    /// that one does.
    pub(in crate::index) fn candidates(&self, plan: SearchPlan<'_>, budget: u64) -> tantivy::Result<Candidates> {
        let query = plan.query;
        let mut clauses = self.clauses(plan.filter)?;
        clauses.extend(self.clauses(&Filter { conditions: query.conditions.clone(), ..Filter::default() })?);
        for need in &query.needs {
            clauses.push((Occur::Must, self.node(need)?));
        }
        for unwanted in &query.without {
            // Whether a pattern matches is only known after reading.
            if !matches!(unwanted, Node::Pattern(_)) {
                clauses.push((Occur::MustNot, self.node(unwanted)?));
            }
        }
        let quoted = query.chunks.iter().filter(|chunk| chunk.quoted);
        clauses.extend(quoted.clone().map(|chunk| (Occur::Must, phrase(self.fields.body, &chunk.terms))));
        let is_bound = quoted.count() > 0 || !query.needs.iter().all(Node::is_condition);
        let (mut ranking, mut rare) = (Vec::new(), None);
        if query.chunks.is_empty() {
            if query.needs.is_empty() {
                clauses.push((Occur::Must, Box::new(ConstScoreQuery::new(Box::new(AllQuery), 1.0))));
                clauses.push((Occur::MustNot, exact(self.fields.kind, CHECKPOINT_KIND)));
            }
        } else if plan.strict {
            clauses.extend(searched(query).map(|chunk| (Occur::Must, self.all_parts(chunk, plan.corrections))));
        } else if is_bound {
            // Where something else must be there, words only rank.
            ranking = queries(self.signs(plan)?);
        } else {
            let signs = self.signs(plan)?;
            rare = rarest(&signs);
            let (selecting, rest) = divide(signs, budget);
            clauses.push((Occur::Must, Box::new(BooleanQuery::union(queries(selecting)))));
            ranking = queries(rest);
        }
        for beginning in query.needs.iter().filter_map(|need| match need {
            Node::Prefix(beginning) => Some(beginning),
            _ => None,
        }) {
            ranking.extend(queries(self.signs_of_beginning(beginning)?));
        }
        Ok(Candidates {
            query: Box::new(BooleanQuery::new(clauses)),
            ranking,
            in_order: self.words_in_order(query, plan.corrections),
            rare,
        })
    }

    /// All words of the query side by side. Of several pieces in a script without blanks, each by itself: their pairs of
    /// characters are so common that what holds all pieces is told by nothing else from what holds one of them often.
    fn words_in_order(&self, query: &Query, corrections: &Corrections) -> Option<Box<dyn TantivyQuery>> {
        if query.chunks.len() > 1 && query.chunks.iter().all(is_unspaced) {
            let pieces = query.chunks.iter().map(|chunk| phrase(self.fields.body, &chunk.terms));
            return Some(Box::new(BooleanQuery::intersection(pieces.collect())));
        }
        let sequence = corrected_sequence(query, corrections);
        let weight = if query.chunks.len() >= TELLING { WORD_FOR_WORD } else { 1.0 };
        (sequence.len() > 1).then(|| boosted(phrase(self.fields.body, &sequence), weight))
    }

    /// The most common words that begin so: what holds them often ranks higher.
    fn signs_of_beginning(&self, beginning: &str) -> tantivy::Result<Vec<ScoringClause>> {
        let meant = self.completions(&beginning.to_lowercase())?;
        meant.iter().map(|one| self.sign(&one.term, one.weight)).collect()
    }

    /// All that the words may be found by.
    fn signs(&self, plan: SearchPlan<'_>) -> tantivy::Result<Vec<ScoringClause>> {
        let (query, body) = (plan.query, self.fields.body);
        let mut signs = Vec::new();
        for chunk in searched(query) {
            for part in &chunk.terms {
                self.put_signs(part, plan.corrections, &mut signs)?;
            }
            for whole in &chunk.wholes {
                self.put_signs(whole, plan.corrections, &mut signs)?;
            }
            if chunk.terms.len() > 1 {
                // Pairs of characters may all be common, and yet few texts hold them side by side.
                let documents = is_unspaced(chunk).then_some(0);
                signs.push(ScoringClause { query: phrase(body, &chunk.terms), documents, ..ScoringClause::default() });
            }
        }
        let sequence = query.sequence();
        if sequence.len() >= PASTED && !query.thinned {
            // Whoever copies a line may miss the end of a word at either end of it.
            let within: Vec<String> = sequence[1..sequence.len() - 1].iter().map(ToString::to_string).collect();
            signs.push(ScoringClause { query: phrase(body, &within), documents: Some(0), ..ScoringClause::default() });
        }
        for whole in joined_words(query) {
            signs.push(self.sign(&whole, 1.0)?);
        }
        signs.extend(
            neighbours(query)
                .iter()
                .map(|pair| ScoringClause { query: boosted(phrase(body, pair), 0.3), ..ScoringClause::default() }),
        );
        if query.shape == Shape::Path {
            let sequence: Vec<String> = query.sequence().into_iter().map(str::to_string).collect();
            // A path may be named nowhere but among the files of a document.
            let query = boosted(phrase(self.fields.path, &sequence), 2.0);
            signs.push(ScoringClause { query, documents: Some(0), ..ScoringClause::default() });
        }
        Ok(signs)
    }

    /// What a term of the query is found by: itself and other forms of it, or what is meant by it.
    fn put_signs(&self, text: &str, corrections: &Corrections, signs: &mut Vec<ScoringClause>) -> tantivy::Result<()> {
        let others = match corrections.of(text) {
            Some(others) => others,
            None => {
                signs.push(ScoringClause { own: true, ..self.sign(text, 1.0)? });
                corrections.forms_of(text)
            }
        };
        let own = corrections.of(text).is_some();
        for other in others {
            signs.push(ScoringClause { own, ..self.sign(&other.term, other.weight)? });
        }
        Ok(())
    }

    fn sign(&self, text: &str, weight: Score) -> tantivy::Result<ScoringClause> {
        let documents = self.frequency(text)?;
        let term = (!text.contains(' ')).then(|| Term::from_field_text(self.fields.body, text));
        let query = boosted(self::term(self.fields.body, text), weight);
        Ok(ScoringClause { query, documents: Some(documents), term, own: false })
    }

    /// A piece of the query that must be there as a whole: as one word, or all of its parts side by side.
    fn all_parts(&self, chunk: &Chunk, corrections: &Corrections) -> Box<dyn TantivyQuery> {
        let body = self.fields.body;
        let meant = |part: &String| match corrections.of(part) {
            Some(others) => Box::new(BooleanQuery::union(others.iter().map(|one| term(body, &one.term)).collect())),
            None => term(body, part),
        };
        let is_corrected = chunk.terms.iter().any(|part| corrections.of(part).is_some());
        let parts = match is_corrected {
            true => Box::new(BooleanQuery::intersection(chunk.terms.iter().map(meant).collect())),
            false => phrase(body, &chunk.terms),
        };
        let wholes = chunk.wholes.iter().map(|whole| term(body, whole));
        Box::new(BooleanQuery::union(wholes.chain([parts]).collect()))
    }

    /// The query for something that must hold.
    pub(in crate::index) fn node(&self, node: &Node) -> tantivy::Result<Box<dyn TantivyQuery>> {
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
            tokenize::terms(text).into_iter().filter(|(_, _, whole)| !whole).map(|(term, _, _)| term).collect();
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
        // A hash or a serial number is not taken apart.
        let unbroken = begins(whole.trim_start_matches(WHOLE_MARK))?;
        let together = Box::new(BooleanQuery::intersection(together));
        Ok(Box::new(BooleanQuery::union(vec![begins(&whole)?, unbroken, together])))
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

/// The rarest word that is there at all, if it is very rare.
fn rarest(signs: &[ScoringClause]) -> Option<Box<dyn TantivyQuery>> {
    let known =
        signs.iter().filter_map(|sign| Some((sign.documents.filter(|documents| *documents > 0)?, sign.term.as_ref()?)));
    let (documents, term) = known.min_by_key(|(documents, _)| *documents)?;
    (documents <= VERY_RARE)
        .then(|| -> Box<dyn TantivyQuery> { Box::new(TermQuery::new(term.clone(), IndexRecordOption::Basic)) })
}

/// Parts signs into those that select, the rarest first, and those that only rank. A word of the query's own selects in any
/// case: `error message` is not only what holds `errorMessage`.
fn divide(mut signs: Vec<ScoringClause>, budget: u64) -> (Vec<ScoringClause>, Vec<ScoringClause>) {
    signs.sort_by_key(|sign| (!sign.own, sign.documents.unwrap_or(u64::MAX)));
    let (mut selected, mut own): (u64, u64) = (0, 0);
    signs.into_iter().partition(|sign| {
        let Some(documents) = sign.documents else { return false };
        let sum = selected.saturating_add(documents);
        let selects = sum <= budget || sign.own && own == 0;
        if selects {
            selected = sum;
            own += if sign.own { documents } else { 0 };
        }
        selects
    })
}

fn queries(signs: Vec<ScoringClause>) -> Vec<Box<dyn TantivyQuery>> {
    signs.into_iter().map(|sign| sign.query).collect()
}

/// The pieces of a query that are looked for: common words only where there is nothing else.
fn searched(query: &Query) -> impl Iterator<Item = &Chunk> {
    let skip_common = query.chunks.iter().any(|chunk| chunk.quoted || !is_common(chunk));
    query.chunks.iter().filter(move |chunk| !(chunk.quoted || skip_common && is_common(chunk)))
}

/// Whether a piece of a query is several pairs of characters of a script without blanks.
fn is_unspaced(chunk: &Chunk) -> bool {
    chunk.terms.len() > 1 && chunk.terms[0].chars().next().is_some_and(tokenize::is_unspaced)
}

/// Whether a piece of a query says nothing by itself.
pub(in crate::index) fn is_common(chunk: &Chunk) -> bool {
    chunk.terms.len() == 1 && COMMON.contains(&chunk.terms[0].as_str())
}

/// Neighbouring words written as one: `retry after` also looks for `retryAfter`.
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

/// All words in order, each slip as what is most likely meant by it.
pub(in crate::index) fn corrected_sequence(query: &Query, corrections: &Corrections) -> Vec<String> {
    let meant = |text: &str| corrections.of(text).filter(|_| tokenize::single(text).is_none())?.first();
    let words = |text| meant(text).map_or(text, |one| one.term.as_str()).trim_start_matches(WHOLE_MARK).split(' ');
    query.sequence().into_iter().flat_map(words).map(str::to_string).collect()
}

/// Pairs of words that stand side by side in the query, but not two common ones.
fn neighbours(query: &Query) -> Vec<Vec<String>> {
    if query.sequence().len() == 2 || query.thinned || query.chunks.len() > NEIGHBOURS_CAP {
        // The whole query is the pair, or what were neighbours are none any more.
        return Vec::new();
    }
    let open: Vec<&Chunk> = query.chunks.iter().filter(|chunk| !chunk.quoted).collect();
    let pairs = open.windows(2).filter(|pair| !(is_common(pair[0]) && is_common(pair[1])));
    pairs.filter_map(|pair| Some(vec![pair[0].terms.last()?.clone(), pair[1].terms.first()?.clone()])).collect()
}

/// What holds a term, or several with blanks between them side by side.
pub(in crate::index) fn term(field: Field, text: &str) -> Box<dyn TantivyQuery> {
    if text.contains(' ') {
        return phrase(field, &text.split(' ').map(str::to_string).collect::<Vec<_>>());
    }
    Box::new(TermQuery::new(Term::from_field_text(field, text), IndexRecordOption::WithFreqs))
}

pub(in crate::index) fn phrase(field: Field, terms: &[String]) -> Box<dyn TantivyQuery> {
    match terms {
        [one] => term(field, one),
        many => Box::new(PhraseQuery::new(many.iter().map(|text| Term::from_field_text(field, text)).collect())),
    }
}

fn boosted(query: Box<dyn TantivyQuery>, factor: Score) -> Box<dyn TantivyQuery> {
    Box::new(BoostQuery::new(query, factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_of_the_query_selects_in_any_case() {
        let sign = |documents, own| ScoringClause { documents: Some(documents), own, ..ScoringClause::default() };
        for (signs, selecting) in [
            // Two words, both common, and what holds them as one.
            (&[(500, true), (700, true), (3, false)][..], &[500][..]),
            (&[(50, true), (700, true), (3, false)], &[50, 3]),
            (&[(0, true), (700, true), (3, false)], &[0, 700]),
        ] {
            let (chosen, _) = divide(signs.iter().map(|(documents, own)| sign(*documents, *own)).collect(), 100);
            assert_eq!(chosen.iter().filter_map(|sign| sign.documents).collect::<Vec<_>>(), selecting);
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
            let sign = |documents: &Option<u64>| ScoringClause {
                documents: *documents,
                own: true,
                ..ScoringClause::default()
            };
            let (chosen, rest) = divide(documents.iter().map(sign).collect(), budget);
            assert_eq!(chosen.iter().filter_map(|sign| sign.documents).collect::<Vec<_>>(), selecting);
            assert_eq!(chosen.len() + rest.len(), documents.len());
        }
    }
}
