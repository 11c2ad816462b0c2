//! Answers a search: ranked hits, grouped by session and cut to a page.

mod answer;
mod page;
mod context;
mod exact;
mod hit;
mod interpret;
mod suggest;

use rayon::prelude::*;

use crate::archive::note::Note;
use crate::archive::request::{Context, SearchRequest};
use crate::archive::scope;
use crate::archive::snippet::Marks;
use crate::error::Result;
use crate::index::{Corrections, Meant, Ranked, RawHit, Reader, Search, Sort, UnknownName};
use crate::query::{Filter, Query, Shape};
use crate::tokenize::WHOLE_MARK;

pub use answer::{Around, Hit, SearchAnswer, SessionHits, Suggestion};
use hit::View;
use page::Cursor;

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
        let is_explained = found.notes.iter().any(|note| matches!(note, Note::UnknownWord { .. }));
        found.notes.extend((!is_explained).then(|| Note::Nothing { query: question.query.text.clone() }));
        let conditions = all_conditions(&question, &question.query).conditions;
        found.notes.extend(scope::unmatched_patterns(&conditions)?);
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
    nowhere: Vec<(String, Vec<String>)>,
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
        let mut notes: Vec<Note> = self.unknown.into_iter().map(unknown_name).collect();
        notes.extend(self.corrections.into_iter().map(|(word, meant)| Note::Corrected { word, meant }));
        notes.extend(self.nowhere.into_iter().map(|(word, similar)| Note::UnknownWord { word, similar }));
        let others = [
            (self.as_plain_words, Note::AsPlainWords),
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
            notes,
            suggestions: Vec::new(),
            next: self.next.map(|cursor| cursor.to_string()),
            skipped: self.skipped,
            behind: None,
        }
    }
}

/// Returns the note for a name that matches nothing.
pub(crate) fn unknown_name(unknown: UnknownName) -> Note {
    Note::UnknownName { field: unknown.field.to_string(), name: unknown.wanted, nearest: unknown.nearest }
}

/// Answers a question with one reading of its query.
fn answer(reader: &Reader, question: &Question, query: &Query) -> Result<Found> {
    let named_file = (query.shape != Shape::Path && reader.names_file(query)?)
        .then(|| Query { shape: Shape::Path, ..query.clone() });
    let query = named_file.as_ref().unwrap_or(query);
    let corrections = reader.corrections(query)?;
    if corrections.all_guessed() {
        let unknown = reader.unknown_names(&all_conditions(question, query))?;
        return Ok(Found { nowhere: similar_words(&corrections), unknown, ..Found::default() });
    }
    let plan = |strict| Search {
        query,
        filter: &question.filter,
        corrections: &corrections,
        sort: question.sort,
        strict,
        now: question.now,
    };
    // Sorted by time, a hit with one word of five would come before hits with all five.
    let strict = question.sort != Sort::Relevance;
    let mut ranked = reader.find(&plan(strict))?;
    if strict && (ranked.hits().is_empty() || ranked.only_meta) {
        ranked = reader.find(&plan(false))?;
    }
    let incomplete = exact::keep_matching(reader, query, &mut ranked)?;
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
    let sessions = shown?.into_iter().flatten().collect();
    let corrected = similar_words(&corrections).into_iter();
    let corrected = corrected.filter_map(|(word, similar)| Some((word, similar.into_iter().next()?)));
    Ok(Found {
        sessions,
        total_hits: ranked.hits().len(),
        total_sessions: ranked.sessions,
        only_meta: ranked.only_meta,
        corrections: corrected.collect(),
        unknown: reader.unknown_names(&all_conditions(question, query))?,
        nowhere: Vec::new(),
        parts_only: has_parts_only(&ranked, query, &corrections),
        as_plain_words: false,
        thinned: query.thinned,
        incomplete,
        next: page.next,
        skipped: page.skipped,
    })
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
