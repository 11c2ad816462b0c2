//! Checks hits against the patterns of a query (`-F`, `/regex/`). The index cannot do that, so their texts are read.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::index::{HashSet64, Ranked, Reader};
use crate::query::Query;

/// Maximum number of texts that are read for a pattern.
const READ_CAP: usize = 20_000;
/// Maximum time for reading them.
const READ_TIME: Duration = Duration::from_secs(3);
/// Number of best hits that are read before all others, in case the time runs out.
const FIRST_READ: usize = 256;

/// Keeps the hits whose text matches the patterns of a query. Returns true if some could not be read in time; those are
/// left out.
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
        for (hit, is_match) in reader.read_each(batch, deadline, |text| matches(query, text))? {
            read.insert(hit);
            matching.extend(is_match.then_some(hit));
        }
        (rest, size) = (later, READ_CAP);
    }
    ranked.retain(|hit| matching.contains(&hit.group));
    Ok(read.len() < all)
}

fn matches(query: &Query, text: &str) -> bool {
    query.patterns().all(|pattern| pattern.is_match(text))
        && !query.unwanted_patterns().any(|pattern| pattern.is_match(text))
}
