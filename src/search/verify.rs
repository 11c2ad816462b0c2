//! What only the text itself can tell: whether a pattern matches, and whether operators were meant as text.

use std::time::{Duration, Instant};

use super::Request;
use crate::error::Result;
use crate::index::{Corrections, Prints, Ranked, Reader, Search, Sort};
use crate::query::{Filter, Query};

/// How many texts are read for a pattern, and how long that may take.
const READ_CAP: usize = 20_000;
const READ_TIME: Duration = Duration::from_secs(3);
/// So many of the best are read before the others, should that take too long.
const FIRST_READ: usize = 256;
/// How many texts are read to tell operators from text.
const DOUBT_CAP: usize = 10;
/// How many flags are looked for to tell operators from text.
const FLAGS_CAP: usize = 4;

/// Keeps the hits that match the patterns of a query, letter by letter. Says whether some could not be read in time;
/// those are left out.
pub(super) fn keep_matching(reader: &Reader, query: &Query, ranked: &mut Ranked) -> Result<bool> {
    if query.patterns().next().is_none() && query.unwanted_patterns().next().is_none() {
        return Ok(false);
    }
    let deadline = Instant::now() + READ_TIME;
    ranked.order_all();
    let mut read = Prints::default();
    let mut matching = Prints::default();
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
    if !request.query.doubtful || !request.query.conditions.is_empty() {
        return Ok(None);
    }
    let Ok(plain) = Query::plain(&request.query.text) else { return Ok(None) };
    for piece in std::iter::once(plain.text.clone()).chain(flags(&plain.text)) {
        if stands_somewhere(reader, request, &piece)? {
            return Ok(Some(plain));
        }
    }
    Ok(None)
}

/// The words with a dash in front, each with the word before it.
fn flags(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let pairs = words.windows(2).filter(|pair| pair[1].starts_with('-') && !pair[0].starts_with('-'));
    pairs.map(|pair| pair.join(" ")).take(FLAGS_CAP).collect()
}

/// Whether a piece of text stands somewhere as it was typed.
fn stands_somewhere(reader: &Reader, request: &Request, piece: &str) -> Result<bool> {
    let Ok(plain) = Query::plain(piece) else { return Ok(false) };
    let wanted = one_line(piece);
    let Ok(phrase) = Query::quoted(&plain.sequence().join(" ")) else { return Ok(false) };
    let nothing = Corrections::default();
    let filter = Filter { meta: true, ..request.filter.clone() };
    let search =
        Search { query: &phrase, filter: &filter, corrections: &nothing, sort: Sort::Relevance, strict: true, now: 0 };
    for hit in reader.find(&search)?.hits().iter().take(DOUBT_CAP) {
        let (_, document) = reader.fetch(hit)?;
        // A line that shows unspool being asked this very question does not count.
        let shows = |line: &str| one_line(line).contains(&wanted) && !line.contains("unspool");
        if document.text.lines().any(shows) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
