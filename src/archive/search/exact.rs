//! What only the text itself can tell: whether a pattern matches, and whether operators were meant as text.

use std::time::{Duration, Instant};

use crate::archive::search::Request;
use crate::error::Result;
use crate::index::{Corrections, HashSet64, Ranked, Reader, Search, Sort};
use crate::query::{Filter, Query};

/// How many texts are read for a pattern, and how long that may take.
const READ_CAP: usize = 20_000;
const READ_TIME: Duration = Duration::from_secs(3);
/// So many of the best are read before the others, should that take too long.
const FIRST_READ: usize = 256;
/// How many texts are read to tell operators from text.
const DOUBT_CAP: usize = 10;
/// With so many words beside them, quotes are part of a line that was pasted.
const BESIDE_QUOTES: usize = 3;
/// How many words that look like operators are looked for to tell them from text.
const OPERANDS_CAP: usize = 4;

/// Keeps the hits that match the patterns of a query, letter by letter. Says whether some could not be read in time;
/// those are left out.
pub(super) fn keep_matching(reader: &Reader, query: &Query, ranked: &mut Ranked) -> Result<bool> {
    if !query.has_patterns() {
        return Ok(false);
    }
    let deadline = Instant::now() + READ_TIME;
    ranked.order_all();
    let mut read = HashSet64::default();
    let mut matching = HashSet64::default();
    let all = ranked.hits().len();
    let mut rest = &ranked.hits()[..all.min(READ_CAP)];
    let mut size = FIRST_READ;
    while !rest.is_empty() && Instant::now() < deadline {
        let (batch, later) = rest.split_at(size.min(rest.len()));
        for (hit, fits) in reader.read_each(batch, deadline, |text| fits(query, text))? {
            read.insert(hit);
            matching.extend(fits.then_some(hit));
        }
        (rest, size) = (later, READ_CAP);
    }
    ranked.retain(|hit| matching.contains(&hit.group));
    Ok(read.len() < all)
}

fn fits(query: &Query, text: &str) -> bool {
    query.patterns().all(|pattern| pattern.is_match(text))
        && !query.unwanted_patterns().any(|pattern| pattern.is_match(text))
}

/// The query without operators, if it stands somewhere as it was typed, or a flag in it does: `rm -rf x` is then no
/// word less `rf`.
pub(super) fn plain_reading(reader: &Reader, request: &Request) -> Result<Option<Query>> {
    let has_conditions = !request.query.conditions.is_empty();
    if request.query.doubtful && !has_conditions {
        as_text(reader, &request.query.text, &request.filter)
    } else {
        Ok(None)
    }
}

/// The same for a query that finds nothing because of what is taken for conditions or quotes: `cite file:line`. A pasted
/// line with quotes in it is words, even if it stands nowhere as it is.
pub(super) fn second_reading(reader: &Reader, request: &Request) -> Result<Option<Query>> {
    let query = &request.query;
    let has_quotes = query.chunks.iter().any(|chunk| chunk.quoted);
    let is_tried = query.doubtful && query.conditions.is_empty();
    if is_tried || query.conditions.is_empty() && !has_quotes {
        return Ok(None);
    }
    let beside = query.chunks.iter().filter(|chunk| !chunk.quoted).count();
    if has_quotes && query.conditions.is_empty() && query.needs.is_empty() && beside >= BESIDE_QUOTES {
        return Ok(Query::plain(&query.text).ok());
    }
    as_text(reader, &query.text, &request.filter)
}

/// A text as plain words, if it or something in it that looks like an operator stands somewhere as it was typed.
pub fn as_text(reader: &Reader, text: &str, filter: &Filter) -> Result<Option<Query>> {
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
