//! From a request as typed to what is searched for, and whether operators were meant as operators or as text.

use xxhash_rust::xxh3::xxh3_64;

use crate::archive::request::{Context, SearchRequest};
use crate::archive::scope;
use crate::archive::search::Question;
use crate::archive::search::page::Cursor;
use crate::error::{Error, ErrorKind, Result};
use crate::index::{Corrections, Reader, Search, Sort};
use crate::query::{Filter, Query};

/// The number of sessions or messages in an answer, unless the request says otherwise.
const LIMIT: usize = 10;
/// The number of hits in each session, unless the request says otherwise.
const PER_SESSION: usize = 3;
/// The most messages around a hit.
const AROUND_CAP: usize = 200;
/// Texts that are read to decide whether operators are text.
const DOUBT_CAP: usize = 10;
/// With this many words next to them, quotes are part of a pasted line.
const BESIDE_QUOTES: usize = 3;
/// Words that look like operators that are searched for.
const OPERANDS_CAP: usize = 4;

/// Interprets a request.
pub(super) fn interpret(reader: &Reader, request: &SearchRequest, context: &Context) -> Result<Question> {
    let query = query(reader, request, context)?;
    let mut filter = scope::filter(&request.filters, context)?;
    filter.meta = request.meta;
    filter.without_session = filter.without_session.filter(|id| !scope::names_session(&query.conditions, id));
    let sort = match request.sort {
        Sort::Relevance if !query.has_words() => Sort::Newest,
        sort => sort,
    };
    Ok(Question {
        query,
        filter,
        limit: request.limit.unwrap_or(LIMIT).max(1),
        per_session: request.per_session.unwrap_or(PER_SESSION).max(1),
        flat: request.messages,
        sort,
        around: (request.before.min(AROUND_CAP), request.after.min(AROUND_CAP)),
        after: request.cursor.as_ref().map(|text| place(text, request)).transpose()?,
        now: context.now_ms(),
        reveal: request.reveal,
    })
}

fn query(reader: &Reader, request: &SearchRequest, context: &Context) -> Result<Query> {
    let around = context.surroundings();
    let (text, literal) = (request.text.trim(), request.literal.trim());
    match (text.is_empty(), literal.is_empty()) {
        (true, true) => Ok(Query::everything()),
        _ if request.fixed => Query::literal([text, literal].join(" ").trim(), request.ignore_case),
        (true, false) => Query::plain(literal),
        // A query that cannot be parsed is plain text, if it occurs somewhere as it was typed.
        (false, true) => Query::parse(text, &around).or_else(|error| {
            let plain = as_text(reader, text, &Filter::default()).ok().flatten();
            plain.ok_or(error)
        }),
        (false, false) => {
            let mut query = Query::parse(text, &around)?;
            query.chunks.extend(Query::plain(literal)?.chunks);
            query.text = format!("{} {literal}", query.text);
            Ok(query)
        }
    }
}

/// Returns a number for everything that decides which hits there are and in which order. It is computed from what was
/// typed: `2d` is another time on the next page.
pub(super) fn fingerprint(request: &SearchRequest) -> u16 {
    let asked = (&request.text, &request.literal, request.fixed, request.ignore_case, &request.filters);
    let asked = serde_json::to_string(&(asked, request.sort, request.meta, request.messages)).unwrap_or_default();
    (xxh3_64(asked.as_bytes()) & 0xffff) as u16
}

/// Reads a cursor, which must come from an answer to the same question.
fn place(cursor: &str, request: &SearchRequest) -> Result<Cursor> {
    let refused = |what: String, hint: &str| Error::new(ErrorKind::Usage, what).hint(hint);
    let place: Cursor =
        cursor.parse().map_err(|()| refused(format!("{cursor:?} is not a cursor"), "use one from an answer"))?;
    if !place.belongs_to(fingerprint(request)) {
        let hint = "give the query, the filters and the order of the answer it comes from, or leave it out";
        return Err(refused(format!("the cursor {cursor} belongs to another search"), hint));
    }
    Ok(place)
}

/// The query without operators, if it stands somewhere as it was typed, or a flag in it does: `rm -rf x` is then no
/// word less `rf`.
pub(super) fn plain_reading(reader: &Reader, question: &Question) -> Result<Option<Query>> {
    let has_conditions = !question.query.conditions.is_empty();
    if question.query.doubtful && !has_conditions {
        as_text(reader, &question.query.text, &question.filter)
    } else {
        Ok(None)
    }
}

/// The same for a query that finds nothing because of what is taken for conditions or quotes: `cite file:line`. A pasted
/// line with quotes in it is words, even if it stands nowhere as it is.
pub(super) fn second_reading(reader: &Reader, question: &Question) -> Result<Option<Query>> {
    let query = &question.query;
    let has_quotes = query.chunks.iter().any(|chunk| chunk.quoted);
    let is_tried = query.doubtful && query.conditions.is_empty();
    if is_tried || query.conditions.is_empty() && !has_quotes {
        return Ok(None);
    }
    let beside = query.chunks.iter().filter(|chunk| !chunk.quoted).count();
    if has_quotes && query.conditions.is_empty() && query.needs.is_empty() && beside >= BESIDE_QUOTES {
        return Ok(Query::plain(&query.text).ok());
    }
    as_text(reader, &query.text, &question.filter)
}

/// A text as plain words, if it or something in it that looks like an operator stands somewhere as it was typed.
fn as_text(reader: &Reader, text: &str, filter: &Filter) -> Result<Option<Query>> {
    let Ok(plain) = Query::plain(text) else { return Ok(None) };
    for piece in std::iter::once(plain.text.clone()).chain(operands(&plain.text)) {
        if stands_somewhere(reader, filter, &piece)? {
            return Ok(Some(plain));
        }
    }
    Ok(None)
}

/// What looks like an operator: words with a dash in front, each with the word before it, and words with a colon inside.
fn operands(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let pairs = words.windows(2).filter(|pair| pair[1].starts_with('-') && !pair[0].starts_with('-'));
    let labels = words.iter().filter(|word| word.trim_matches(':').contains(':')).map(ToString::to_string);
    pairs.map(|pair| pair.join(" ")).chain(labels).take(OPERANDS_CAP).collect()
}

/// Whether a piece of text stands somewhere as it was typed.
fn stands_somewhere(reader: &Reader, filter: &Filter, piece: &str) -> Result<bool> {
    let Ok(plain) = Query::plain(piece) else { return Ok(false) };
    let wanted = one_line(piece);
    let Ok(phrase) = Query::quoted(&plain.sequence().join(" ")) else { return Ok(false) };
    let nothing = Corrections::default();
    let filter = Filter { meta: true, ..filter.clone() };
    let search =
        Search { query: &phrase, filter: &filter, corrections: &nothing, sort: Sort::Relevance, strict: true, now: 0 };
    for hit in reader.find(&search)?.hits().iter().take(DOUBT_CAP) {
        let (_, document) = reader.fetch(hit)?;
        // A line that shows unspool being asked this very question does not count.
        let shows = |line: &str| stands_in(&one_line(line), &wanted) && !line.contains("unspool");
        if document.text.lines().any(shows) || stands_in(&one_line(&document.text), &wanted) && wanted.contains(' ') {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a text stands in a line by itself: `fixed*` does not stand in `**fixed**`.
fn stands_in(line: &str, wanted: &str) -> bool {
    let goes_on = |inside: Option<char>, beside: Option<char>| {
        beside.is_some_and(|c| c.is_alphanumeric() && inside.is_some_and(char::is_alphanumeric) || Some(c) == inside)
    };
    line.match_indices(wanted).any(|(at, found)| {
        !goes_on(found.chars().next(), line[..at].chars().next_back())
            && !goes_on(found.chars().next_back(), line[at + found.len()..].chars().next())
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stands_by_itself() {
        for (line, wanted, stands) in [
            ("run rm -rf x now", "rm -rf x", true),
            ("**fixed** it", "fixed*", false),
            ("ls fixed* here", "fixed*", true),
            ("undo -la", "do -la", false),
            ("a is:open b", "is:open", true),
            ("a is:opened b", "is:open", false),
        ] {
            assert_eq!(stands_in(line, wanted), stands, "{line}: {wanted}");
        }
    }

    #[test]
    fn operands_are_found() {
        assert_eq!(operands("rm -rf x cite file:line: yes ::a"), ["rm -rf", "file:line:"]);
    }
}
