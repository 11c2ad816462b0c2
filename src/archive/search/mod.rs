//! Answers a search: ranked hits, grouped by session and cut to a page.

mod match_quality;
mod answer;
mod page;
mod context;
mod pattern_filter;
mod counterpart;
mod fill_hits;
mod interpret;
mod suggest;

use rayon::prelude::*;

use crate::archive::filters;
use crate::archive::note::Note;
use crate::archive::request::{Context, SearchRequest};
use crate::archive::snippet::Marks;
use crate::error::Result;
use crate::index::{Corrections, Meant, Ranked, RawHit, Reader, Search, Sort, UnknownName};
use crate::query::{Chunk, Filter, Query, Shape, is_prose};
use crate::tokenize::{self, WHOLE_MARK};

pub use answer::{Counterpart, Hit, NearbyMessage, SearchAnswer, SessionHits, Suggestion};
use fill_hits::View;
pub use match_quality::Match;
use page::Cursor;

/// Out of this many significant words, a hit must lack at least two to be hardly a match.
const HARDLY: usize = 3;
/// Number of views that show the hits of an answer in parallel.
const VIEWS: usize = 16;

/// An interpreted request.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// The query.
    pub query: Query,
    /// The messages to search.
    pub filter: Filter,
    /// Maximum number of sessions, or of hits if `flat` is set.
    pub limit: usize,
    /// Maximum number of hits in each session.
    pub per_session: usize,
    /// True for one list of hits instead of one for each session.
    pub flat: bool,
    /// The order of the hits.
    pub sort: Sort,
    /// The numbers of messages to show before and after each hit.
    pub around: (usize, usize),
    /// The place where the previous page ended.
    pub after: Option<Cursor>,
    /// The time, in milliseconds since 1970.
    pub now: i64,
    /// True to find nothing if the query has a name that occurs nowhere.
    pub strict_names: bool,
    /// True to add the other half of each hit.
    pub counterpart: bool,
    /// True to show secrets.
    pub reveal: bool,
}

/// Answers a search.
pub(crate) fn search(reader: &Reader, request: &SearchRequest, context: &Context) -> Result<SearchAnswer> {
    let question = interpret::interpret(reader, request, context)?;
    let mut answer = read_both_ways(reader, &question)?;
    answer.next = answer.next.map(|cursor| cursor.of(interpret::fingerprint(request)));
    let mut found = answer.into_answer(&question);
    if found.total_hits == 0 {
        let is_explained =
            found.notes.iter().any(|note| matches!(note, Note::UnknownWord { .. } | Note::AbsentNames { .. }));
        found.notes.extend((!is_explained).then(|| Note::Nothing { query: question.query.text.clone() }));
        let conditions = all_conditions(&question, &question.query).conditions;
        found.notes.extend(filters::unmatched_patterns(&conditions)?);
        if request.suggest {
            found.suggestions = suggest::suggestions(reader, &question)?;
        }
    }
    Ok(found)
}

/// Answers a question. If nothing matches it as typed, takes its operators as text.
fn read_both_ways(reader: &Reader, question: &Question) -> Result<Found> {
    let plain = interpret::plain_reading(reader, question)?;
    let answer = answer(reader, question, plain.as_ref().unwrap_or(&question.query))?;
    if answer.total_hits > 0 || plain.is_some() {
        return Ok(answer);
    }
    match interpret::second_reading(reader, question)? {
        Some(plain) => Ok(Found { as_plain_words: true, ..self::answer(reader, question, &plain)? }),
        None => Ok(answer),
    }
}

/// An answer before its notes are written.
#[derive(Default)]
struct Found {
    sessions: Vec<SessionHits>,
    total_hits: usize,
    total_sessions: usize,
    only_meta: bool,
    corrections: Vec<(String, String)>,
    /// Words that occur nowhere, with similar ones, if no word of the query occurs.
    unknown_words: Vec<(String, Vec<String>)>,
    /// Names that occur, but not in the best hits for the query.
    names_not_in_best_hits: Vec<String>,
    /// Words that none of the best hits contains together with the others.
    missing: Vec<String>,
    /// The number of significant words in the query.
    significant: usize,
    /// Set if the hits of a question in prose were ranked by what was said.
    by_said: bool,
    parts_only: bool,
    as_plain_words: bool,
    thinned: bool,
    unknown: Vec<UnknownName>,
    incomplete: bool,
    next: Option<Cursor>,
    skipped: usize,
}

impl Found {
    fn into_answer(self, question: &Question) -> SearchAnswer {
        let query = &question.query;
        let matched = self.match_quality();
        let mut missing = self.missing.clone();
        if matched == Match::Corrected {
            missing.extend(self.corrections.iter().map(|(word, _)| word.clone()));
        }
        let mut notes: Vec<Note> = self.unknown.into_iter().map(unknown_name).collect();
        notes.extend(self.corrections.into_iter().map(|(word, meant)| Note::Corrected { word, meant }));
        notes.extend(self.unknown_words.into_iter().map(|(word, similar)| Note::UnknownWord { word, similar }));
        // A question in prose hardly ever has an answer with all its words.
        let is_unexplained = matched == Match::Some && !self.by_said && !self.parts_only && !self.thinned;
        let (lacking, of) = (self.missing.len(), self.significant);
        let is_hardly = question.strict_names && of >= HARDLY && lacking * HARDLY >= of * (HARDLY - 1);
        let others = [
            (is_hardly, Note::HardlyAMatch { found: of.saturating_sub(lacking), of }),
            (!self.names_not_in_best_hits.is_empty(), Note::AbsentNames { names: self.names_not_in_best_hits }),
            (self.as_plain_words, Note::AsPlainWords),
            (is_unexplained, Note::SomeWords { missing: self.missing.clone() }),
            (self.parts_only, Note::PartsOnly { query: query.text.clone() }),
            (self.thinned, Note::LongText { words: query.chunks.len() }),
            (self.only_meta, Note::OnlyMeta),
            (self.incomplete, Note::Incomplete),
        ];
        notes.extend(others.into_iter().filter(|(applies, _)| *applies).map(|(_, note)| note));
        SearchAnswer {
            sessions: self.sessions,
            total_hits: self.total_hits,
            total_sessions: self.total_sessions,
            matched,
            missing,
            by_said: self.by_said,
            notes,
            suggestions: Vec::new(),
            next: self.next.map(|cursor| cursor.to_string()),
            skipped: self.skipped,
            behind: None,
        }
    }
}

/// Returns all hits of a search, oldest first, and the query and corrections that mark them in texts.
pub(crate) fn all_hits(
    reader: &Reader,
    request: &SearchRequest,
    context: &Context,
) -> Result<(Ranked, Query, Corrections)> {
    let question = Question { sort: Sort::Oldest, ..interpret::interpret(reader, request, context)? };
    let plain = interpret::plain_reading(reader, &question)?;
    let first = plain.clone().unwrap_or_else(|| question.query.clone());
    let found = hits_of(reader, &question, first)?;
    if !found.0.hits().is_empty() || plain.is_some() {
        return Ok(found);
    }
    match interpret::second_reading(reader, &question)? {
        Some(second) => hits_of(reader, &question, second),
        None => Ok(found),
    }
}

/// Returns all hits of one reading of a query, in the order of the question.
fn hits_of(reader: &Reader, question: &Question, query: Query) -> Result<(Ranked, Query, Corrections)> {
    let is_path = query.shape != Shape::Path && reader.names_file(&query)?;
    let query = if is_path { Query { shape: Shape::Path, ..query } } else { query };
    let corrections = reader.corrections(&query)?;
    let search = Search {
        query: &query,
        filter: &question.filter,
        corrections: &corrections,
        sort: question.sort,
        strict: corrections.all_guessed(),
        now: question.now,
    };
    let mut ranked = reader.find(&search)?;
    pattern_filter::keep_matching(reader, &query, &mut ranked)?;
    ranked.order_all();
    Ok((ranked, query, corrections))
}

/// Returns the note for a name that matches nothing.
pub(crate) fn unknown_name(unknown: UnknownName) -> Note {
    Note::UnknownName { field: unknown.field.to_string(), name: unknown.wanted, nearest: unknown.nearest }
}

/// Answers a question, with one interpretation of its query.
fn answer(reader: &Reader, question: &Question, query: &Query) -> Result<Found> {
    let named_file = (query.shape != Shape::Path && reader.names_file(query)?)
        .then(|| Query { shape: Shape::Path, ..query.clone() });
    let query = named_file.as_ref().unwrap_or(query);
    let corrections = reader.corrections(query)?;
    if question.strict_names {
        let names = words_of(query, &reader.names_in_no_message(query, &corrections)?);
        if !names.is_empty() {
            let unknown_words = names.iter().map(|name| (name.clone(), Vec::new())).collect();
            return Ok(Found { unknown_words, ..without_names(reader, question, query, names)? });
        }
    }
    let search = Search {
        query,
        filter: &question.filter,
        corrections: &corrections,
        sort: question.sort,
        strict: false,
        now: question.now,
    };
    let mut ranked = rank(reader, &search)?;
    let by_said = may_rank_said(&search) && reader.rank_said(&search, &mut ranked)?;
    let incomplete = pattern_filter::keep_matching(reader, query, &mut ranked)?;
    if question.strict_names && !ranked.hits().is_empty() {
        let names = words_of(query, &reader.names_not_in_best_hits(&search, &ranked)?);
        if !names.is_empty() {
            return Ok(Found {
                names_not_in_best_hits: names.clone(),
                ..without_names(reader, question, query, names)?
            });
        }
    }
    let page = page::cut(&mut ranked, question);
    // In parallel, because decompressing the texts to show takes most of the time of a search.
    let marks = Marks::new(query, &corrections);
    // One view for several groups, because each looks up the sessions and files that it shows.
    let per_view = page.groups.len().div_ceil(VIEWS).max(1);
    let show = |groups: &[Group]| -> Result<Vec<SessionHits>> {
        let mut view = View::new(reader, question, &marks);
        groups.iter().map(|group| view.session_hits(&ranked, group)).collect()
    };
    let shown: Result<Vec<_>> = page.groups.par_chunks(per_view).with_max_len(1).map(show).collect();
    let found = Found {
        sessions: shown?.into_iter().flatten().collect(),
        total_hits: ranked.hits().len(),
        total_sessions: ranked.sessions,
        only_meta: ranked.only_meta,
        unknown: reader.unknown_names(&all_conditions(question, query))?,
        parts_only: has_parts_only(&ranked, query, &corrections),
        by_said,
        thinned: query.thinned,
        incomplete,
        next: page.next,
        skipped: page.skipped,
        ..Found::default()
    };
    let similar = similar_words(&corrections);
    if ranked.hits().is_empty() {
        let missing = words_of(query, &reader.unknown_pieces(query)?);
        let unknown_words = if corrections.none_occurs() { similar } else { Vec::new() };
        return Ok(Found { unknown_words, missing, ..found });
    }
    let corrections = similar.into_iter().filter_map(|(word, similar)| Some((word, similar.into_iter().next()?)));
    let missing = words_of(query, &reader.missing_pieces(&search, &ranked)?);
    let significant = reader.significant_pieces(query);
    Ok(Found { corrections: corrections.collect(), missing, significant, ..found })
}

/// Returns an answer without hits, because these names are missing.
fn without_names(reader: &Reader, question: &Question, query: &Query, missing: Vec<String>) -> Result<Found> {
    let unknown = reader.unknown_names(&all_conditions(question, query))?;
    Ok(Found { missing, unknown, ..Found::default() })
}

/// Finds and ranks the hits of a search.
fn rank(reader: &Reader, search: &Search<'_>) -> Result<Ranked> {
    let strict = Search { strict: true, ..*search };
    if search.corrections.none_occurs() {
        // Several misspelled words that occur together when corrected are hardly a coincidence.
        let are_misspelled = search.query.chunks.len() > 1 && search.corrections.all_guessed();
        return if are_misspelled { reader.find(&strict) } else { Ok(Ranked::default()) };
    }
    if search.sort == Sort::Relevance {
        return reader.find(search);
    }
    // Sorted by time, a hit with one word of five would come before hits with all five.
    let ranked = reader.find(&strict)?;
    if ranked.hits().is_empty() || ranked.only_meta { reader.find(search) } else { Ok(ranked) }
}

/// Reports whether a search may be ranked by what was said: it is a question in prose and nothing else.
fn may_rank_said(search: &Search<'_>) -> bool {
    let is_narrowed = !search.filter.conditions.is_empty() || search.filter.finds_meta();
    search.sort == Sort::Relevance && !is_narrowed && !search.corrections.none_occurs() && is_prose(search.query)
}

/// Returns pieces of a query as they were typed.
fn words_of(query: &Query, pieces: &[&Chunk]) -> Vec<String> {
    let parts = |text: &str| -> Vec<String> {
        tokenize::terms(text).into_iter().filter(|(_, _, is_whole)| !is_whole).map(|(term, _, _)| term).collect()
    };
    let typed = |chunk: &&Chunk| {
        let word = query.text.split_whitespace().find(|word| parts(word) == chunk.terms);
        word.map_or_else(|| chunk.terms.join(" "), |word| word.trim_matches(['"', '.', ',', '?', '!']).to_string())
    };
    pieces.iter().map(typed).collect()
}

/// Returns each corrected word and the words that replace it, the most likely first.
fn similar_words(corrections: &Corrections) -> Vec<(String, Vec<String>)> {
    let plain = |term: &str| term.trim_start_matches(WHOLE_MARK).to_string();
    let replaced =
        |(word, meant): (&str, &[Meant])| (plain(word), meant.iter().map(|other| plain(&other.term)).collect());
    corrections.iter().map(replaced).collect()
}

/// Reports whether the query is one identifier and the hits contain only parts of it.
fn has_parts_only(ranked: &Ranked, query: &Query, corrections: &Corrections) -> bool {
    let [chunk] = query.chunks.as_slice() else { return false };
    let is_whole = |hit: &RawHit| ranked.factors(hit).is_some_and(|found| found.verbatim > 1.0);
    let is_compound = query.needs.is_empty() && !chunk.quoted && !chunk.wholes.is_empty() && chunk.terms.len() > 1;
    is_compound
        && corrections.is_empty()
        && !ranked.hits().is_empty()
        && !ranked.hits()[..ranked.in_order()].iter().any(is_whole)
}

/// Returns the conditions of the filter and of the query.
fn all_conditions(question: &Question, query: &Query) -> Filter {
    let conditions = question.filter.conditions.iter().chain(&query.conditions).cloned().collect();
    Filter { conditions, ..Filter::default() }
}

/// Hits that are shown together, and the number of all hits in their session.
#[derive(Clone, Debug)]
struct Group {
    hits: Vec<RawHit>,
    total: usize,
}
