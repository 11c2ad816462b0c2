//! Interprets a search request as typed. Decides whether operators were meant as operators or as text.

use xxhash_rust::xxh3::xxh3_64;

use crate::archive::filters;
use crate::archive::request::{Context, SearchRequest};
use crate::archive::search::Question;
use crate::archive::search::page::Cursor;
use crate::error::{Error, ErrorKind, Result};
use crate::index::{Corrections, Reader, Search, Sort};
use crate::query::{Filter, Query};

/// Default number of sessions or messages in an answer.
const LIMIT: usize = 10;
/// Default number of hits in each session.
const PER_SESSION: usize = 3;
/// Maximum number of messages before, and after, a hit.
const AROUND_CAP: usize = 200;
/// Maximum number of texts that are read to decide whether operators are text.
const DOUBT_CAP: usize = 10;
/// With at least this many words outside of them, quotes are part of a pasted line.
const BESIDE_QUOTES: usize = 3;
/// Maximum number of words that look like operators to search for.
const OPERANDS_CAP: usize = 4;

/// Interprets a request.
pub(super) fn interpret(reader: &Reader, request: &SearchRequest, context: &Context) -> Result<Question> {
    let query = query(reader, request, context)?;
    let mut filter = filters::filter(&request.filters, context)?;
    filter.meta = request.meta;
    filter.without_session = filter.without_session.filter(|id| !filters::names_session(&query.conditions, id));
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
        after: request.cursor.as_ref().map(|text| parse_cursor(text, request)).transpose()?,
        now: context.now_ms(),
        strict_names: request.strict_names,
        counterpart: request.counterpart,
        reveal: request.reveal,
    })
}

/// Parses the query of a request.
fn query(reader: &Reader, request: &SearchRequest, context: &Context) -> Result<Query> {
    let around = context.query_context();
    match (request.text.as_deref(), request.literal.as_deref()) {
        (None, None) => Ok(Query::everything()),
        // Not trimmed: blanks are to be found too.
        (text, literal) if request.fixed => {
            let words: Vec<&str> = text.into_iter().chain(literal).collect();
            Query::literal(&words.join(" "), request.ignore_case)
        }
        (None, Some(literal)) => Query::plain(literal),
        // A query that cannot be parsed is plain text if some message contains it as typed.
        (Some(text), None) => Query::parse(text, &around).or_else(|error| {
            let plain = as_text(reader, text, &Filter::default()).ok().flatten();
            plain.ok_or(error)
        }),
        (Some(text), Some(literal)) => {
            let mut query = Query::parse(text, &around)?;
            query.chunks.extend(Query::plain(literal)?.chunks);
            query.text = format!("{} {literal}", query.text);
            Ok(query)
        }
    }
}

/// Returns a hash of everything that determines the hits and their order. It is computed from the request as typed,
/// because `2d` means another time when the next page is asked for.
pub(super) fn fingerprint(request: &SearchRequest) -> u16 {
    let query = (&request.text, &request.literal, request.fixed, request.ignore_case, &request.filters);
    let all = serde_json::to_string(&(query, request.sort, request.meta, request.messages)).unwrap_or_default();
    (xxh3_64(all.as_bytes()) & 0xffff) as u16
}

/// Parses a cursor, which must come from an answer to the same request.
fn parse_cursor(cursor: &str, request: &SearchRequest) -> Result<Cursor> {
    let refused = |what: String, hint: &str| Error::new(ErrorKind::Usage, what).hint(hint);
    let parsed: Cursor =
        cursor.parse().map_err(|()| refused(format!("{cursor:?} is not a cursor"), "use one from an answer"))?;
    if !parsed.belongs_to(fingerprint(request)) {
        let hint = "repeat the search it came from, or leave the cursor out";
        return Err(refused(format!("the cursor {cursor} belongs to another search"), hint));
    }
    Ok(parsed)
}

/// Returns the query as plain words if some message contains it, or a flag in it, as typed. `rm -rf x` is then a
/// command and does not exclude `rf`.
pub(super) fn plain_reading(reader: &Reader, question: &Question) -> Result<Option<Query>> {
    let has_conditions = !question.query.conditions.is_empty();
    if question.query.doubtful && !has_conditions {
        as_text(reader, &question.query.text, &question.filter)
    } else {
        Ok(None)
    }
}

/// Returns a query that found nothing as plain words, if its conditions or quotes may be text: `cite file:line`. A
/// pasted line with quotes in it is taken as words even if no message contains it as typed.
pub(super) fn second_reading(reader: &Reader, question: &Question) -> Result<Option<Query>> {
    let query = &question.query;
    let has_quotes = query.chunks.iter().any(|chunk| chunk.quoted);
    let was_tried = query.doubtful && query.conditions.is_empty();
    if was_tried || query.conditions.is_empty() && !has_quotes {
        return Ok(None);
    }
    let beside = query.chunks.iter().filter(|chunk| !chunk.quoted).count();
    if has_quotes && query.conditions.is_empty() && query.needs.is_empty() && beside >= BESIDE_QUOTES {
        return Ok(Query::plain(&query.text).ok());
    }
    as_text(reader, &query.text, &question.filter)
}

/// Returns a text as plain words if some message contains it, or a part of it that looks like an operator, as typed.
fn as_text(reader: &Reader, text: &str, filter: &Filter) -> Result<Option<Query>> {
    let Ok(plain) = Query::plain(text) else { return Ok(None) };
    for piece in std::iter::once(plain.text.clone()).chain(operands(&plain.text)) {
        if occurs_as_typed(reader, filter, &piece)? {
            return Ok(Some(plain));
        }
    }
    Ok(None)
}

/// Returns the parts that look like operators: words that start with a dash, each with the word before it, and words
/// with a colon inside.
fn operands(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let pairs = words.windows(2).filter(|pair| pair[1].starts_with('-') && !pair[0].starts_with('-'));
    let labels = words.iter().filter(|word| word.trim_matches(':').contains(':')).map(ToString::to_string);
    pairs.map(|pair| pair.join(" ")).chain(labels).take(OPERANDS_CAP).collect()
}

/// Reports whether some message contains a text as typed.
fn occurs_as_typed(reader: &Reader, filter: &Filter, piece: &str) -> Result<bool> {
    let Ok(plain) = Query::plain(piece) else { return Ok(false) };
    let wanted = one_line(piece);
    let Ok(phrase) = Query::quoted(&plain.sequence().join(" ")) else { return Ok(false) };
    let no_corrections = Corrections::default();
    let filter = Filter { meta: true, ..filter.clone() };
    let search = Search {
        query: &phrase,
        filter: &filter,
        corrections: &no_corrections,
        sort: Sort::Relevance,
        strict: true,
        now: 0,
    };
    for hit in reader.find(&search)?.hits().iter().take(DOUBT_CAP) {
        let (_, document) = reader.fetch(hit)?;
        // A line with a call of unspool for the same query does not count.
        let shows = |line: &str| contains_alone(&one_line(line), &wanted) && !line.contains("unspool");
        if document.text.lines().any(shows)
            || contains_alone(&one_line(&document.text), &wanted) && wanted.contains(' ')
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Reports whether a line contains a text by itself, and not as part of something longer. `**fixed**` does not contain
/// `fixed*`.
fn contains_alone(line: &str, wanted: &str) -> bool {
    let continues = |inside: Option<char>, outside: Option<char>| {
        outside.is_some_and(|c| c.is_alphanumeric() && inside.is_some_and(char::is_alphanumeric) || Some(c) == inside)
    };
    line.match_indices(wanted).any(|(at, found)| {
        !continues(found.chars().next(), line[..at].chars().next_back())
            && !continues(found.chars().next_back(), line[at + found.len()..].chars().next())
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_found_by_itself() {
        for (line, wanted, expected) in [
            ("run rm -rf x now", "rm -rf x", true),
            ("**fixed** it", "fixed*", false),
            ("ls fixed* here", "fixed*", true),
            ("undo -la", "do -la", false),
            ("a is:open b", "is:open", true),
            ("a is:opened b", "is:open", false),
        ] {
            assert_eq!(contains_alone(line, wanted), expected, "{line}: {wanted}");
        }
    }

    #[test]
    fn operands_are_found() {
        assert_eq!(operands("rm -rf x cite file:line: yes ::a"), ["rm -rf", "file:line:"]);
    }
}
