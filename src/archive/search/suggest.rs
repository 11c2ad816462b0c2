//! Suggestions for a search that found nothing. Each one has been tried and finds something.

use crate::archive::search::answer::Suggestion;
use crate::archive::search::pattern_filter::keep_matching;
use crate::archive::search::{Question, all_conditions, similar_words};
use crate::error::Result;
use crate::index::{Corrections, Reader, Search, Sort};
use crate::query::{Condition, Filter, Query, is_prose};

/// The option that includes the running session.
const CURRENT: &str = "--include-current";

/// Number of similar words that are tried.
const SIMILAR_TRIED: usize = 3;

/// Returns the changes to a request that find something.
pub(super) fn suggestions(reader: &Reader, question: &Question) -> Result<Vec<Suggestion>> {
    let mut found = Vec::new();
    let mut attempt = |suggestion: Suggestion, query: &Query, filter: &Filter| -> Result<()> {
        let hits = count(reader, query, filter, question.strict_names)?;
        if hits > 0 {
            found.push(Suggestion { hits, ..suggestion });
        }
        Ok(())
    };
    let named = |change: &str| Suggestion { change: change.to_string(), ..Suggestion::default() };
    let (query, filter) = (&question.query, &question.filter);
    for (drop, query, filter) in with_fewer_conditions(question) {
        let what = if let [field] = drop.as_slice() { field } else { "any filter" };
        attempt(Suggestion { drop, ..named(&format!("without {what}")) }, &query, &filter)?;
    }
    for (words, other) in with_similar_words(reader, question)? {
        attempt(Suggestion { query: Some(words), ..named("a similar word") }, &other, filter)?;
    }
    if let Some((words, other)) = without_unheard_names(reader, question)? {
        attempt(Suggestion { query: Some(words), ..named("without unknown names") }, &other, filter)?;
    }
    if let Some((words, other)) = only_names(reader, question)? {
        attempt(Suggestion { query: Some(words), ..named("only the names") }, &other, filter)?;
    }
    if filter.without_session.is_some() {
        let filter = Filter { without_session: None, ..filter.clone() };
        attempt(Suggestion { add: Some(CURRENT), ..named(&format!("with {CURRENT}")) }, query, &filter)?;
    }
    if !query.without.is_empty() {
        let more = Query { without: Vec::new(), ..query.clone() };
        attempt(Suggestion { drop: vec!["not"], ..named("without leaving anything out") }, &more, filter)?;
    }
    if query.chunks.iter().any(|chunk| chunk.quoted) || !query.needs.is_empty() {
        let words = words_of(query);
        if let Ok(plain) = Query::plain(&words) {
            let plain = Query { conditions: query.conditions.clone(), ..plain };
            attempt(Suggestion { query: Some(words), ..named("as plain words") }, &plain, filter)?;
        }
    }
    Ok(found)
}

/// Returns the query with each unknown word replaced by one that occurs, in each of the ways that are likely.
fn with_similar_words(reader: &Reader, question: &Question) -> Result<Vec<(String, Query)>> {
    let query = &question.query;
    let corrections = reader.corrections(query)?;
    let has_unheard_name = question.strict_names && !reader.names_in_no_message(query, &corrections)?.is_empty();
    let is_guess = corrections.all_guessed() || has_unheard_name;
    if !is_guess || !query.needs.is_empty() || !query.conditions.is_empty() {
        return Ok(Vec::new());
    }
    let similar = similar_words(&corrections);
    let most = similar.iter().map(|(_, others)| others.len()).max().unwrap_or_default();
    let word = |typed: &str, choice: usize| {
        let lower = typed.to_lowercase();
        let known = similar.iter().find(|(word, _)| *word == lower);
        known.and_then(|(_, others)| others.get(choice).or(others.first())).cloned().unwrap_or(typed.to_string())
    };
    let texts = (0..most.min(SIMILAR_TRIED))
        .map(|choice| query.text.split_whitespace().map(|typed| word(typed, choice)).collect::<Vec<_>>().join(" "));
    let others = texts.filter(|text| *text != query.text);
    Ok(others.filter_map(|text| Query::plain(&text).ok().map(|other| (text, other))).collect())
}

/// Returns the query without names that occur nowhere. Without its name, a question in prose asks for something else.
fn without_unheard_names(reader: &Reader, question: &Question) -> Result<Option<(String, Query)>> {
    let query = &question.query;
    if !question.strict_names || is_prose(query) {
        return Ok(None);
    }
    let unheard = super::words_of(query, &reader.names_in_no_message(query, &reader.corrections(query)?)?);
    let is_heard = |typed: &&str| !unheard.iter().any(|name| typed.contains(name.as_str()));
    let text = query.text.split_whitespace().filter(is_heard).collect::<Vec<_>>().join(" ");
    Ok(Query::plain(&text).ok().filter(|_| text != query.text).map(|other| (text, other)))
}

/// Returns the names in the query, if all of them occur and there are other words too.
fn only_names(reader: &Reader, question: &Question) -> Result<Option<(String, Query)>> {
    let query = &question.query;
    let names = reader.spoken_names(query)?;
    let is_other = question.strict_names && !names.is_empty() && names.len() < query.chunks.len();
    if !is_other || !reader.names_in_no_message(query, &reader.corrections(query)?)?.is_empty() {
        return Ok(None);
    }
    let text = super::words_of(query, &names).join(" ");
    Ok(Query::plain(&text).ok().map(|other| (text, other)))
}

/// Returns the number of hits.
fn count(reader: &Reader, query: &Query, filter: &Filter, strict_names: bool) -> Result<usize> {
    let corrections: Corrections = reader.corrections(query)?;
    if strict_names && !reader.names_in_no_message(query, &corrections)?.is_empty() {
        return Ok(0);
    }
    let search = Search { query, filter, corrections: &corrections, sort: Sort::Relevance, strict: false, now: 0 };
    let mut ranked = reader.find(&search)?;
    keep_matching(reader, query, &mut ranked)?;
    Ok(ranked.hits().len())
}

/// Returns the request without the conditions on each field in turn, and without any conditions.
fn with_fewer_conditions(question: &Question) -> Vec<(Vec<&'static str>, Query, Filter)> {
    let mut fields: Vec<&'static str> =
        all_conditions(question, &question.query).conditions.iter().map(Condition::field).collect();
    fields.sort_unstable();
    fields.dedup();
    let without = |is_dropped: &dyn Fn(&Condition) -> bool| {
        let keep = |conditions: &[Condition]| conditions.iter().filter(|it| !is_dropped(it)).cloned().collect();
        let query = Query { conditions: keep(&question.query.conditions), ..question.query.clone() };
        (query, Filter { conditions: keep(&question.filter.conditions), ..question.filter.clone() })
    };
    let mut fewer = Vec::new();
    for field in &fields {
        let (query, filter) = without(&|condition| condition.field() == *field);
        fewer.push((vec![*field], query, filter));
    }
    if fields.len() > 1 {
        let (query, filter) = without(&|_| true);
        fewer.push((fields, query, filter));
    }
    fewer.retain(|(_, query, _)| query.has_words() || !query.conditions.is_empty());
    fewer
}

/// Returns the words of a query without its operators.
fn words_of(query: &Query) -> String {
    query
        .text
        .replace(['"', '(', ')', '*', '/'], " ")
        .split_whitespace()
        .filter(|word| !matches!(*word, "OR" | "AND" | "NOT"))
        .collect::<Vec<_>>()
        .join(" ")
}
