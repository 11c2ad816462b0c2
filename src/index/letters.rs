//! What the index cannot tell, as it knows words only: whether a text holds a query letter by letter.

use rayon::prelude::*;
use regex::{Regex, RegexBuilder};

use super::find::{Factors, Found};
use super::gather::ByPrint;
use super::reader::Reader;
use crate::query::Query;

/// How many texts are read.
const READ_CAP: usize = 64;
/// How large a compiled query may be, in bytes.
const SIZE_CAP: usize = 1 << 20;
/// How much more a text counts that holds the query as it was typed.
const AS_TYPED: f32 = 1.5;

impl Reader {
    /// Raises those hits, the best of which come first, that hold the query as it was typed.
    pub(super) fn compare_letters(&self, query: &Query, hits: &mut [Found], factors: &mut ByPrint<Factors>) {
        let Some(typed) = as_typed(query) else { return };
        let with_words = |hit: &&mut Found| factors.get(&hit.group).is_some_and(|found| found.verbatim > 1.0);
        let mut read: Vec<&mut Found> = hits.iter_mut().filter(with_words).take(READ_CAP).collect();
        // In the order in which they are kept, as several may stand in what is unpacked for one.
        read.sort_unstable_by_key(|hit| hit.address);
        let holds = |hit: &&mut Found| self.fetch(hit).is_ok_and(|(_, document)| typed.is_match(&document.text));
        let held: Vec<bool> = read.par_iter().map(holds).collect();
        let mut raised = Vec::new();
        for (hit, _) in read.into_iter().zip(held).filter(|(_, held)| *held) {
            hit.score *= AS_TYPED;
            raised.push(hit.group);
        }
        for group in raised {
            if let Some(found) = factors.get_mut(&group) {
                found.verbatim *= AS_TYPED;
            }
        }
    }
}

/// What to look for, in any case and with any white space; none where words tell all there is.
fn as_typed(query: &Query) -> Option<Regex> {
    let is_mark = |c: char| !c.is_alphanumeric() && !c.is_whitespace() && c != '"';
    let only_words = !query.text.contains(is_mark) || query.sequence().len() < 2;
    if only_words || !query.needs.is_empty() || !query.conditions.is_empty() || !query.without.is_empty() {
        return None;
    }
    let is_quoted = query.chunks.iter().any(|chunk| chunk.quoted);
    let text = if is_quoted { query.text.replace('"', "") } else { query.text.clone() };
    let words: Vec<String> = text.split_whitespace().map(regex::escape).collect();
    RegexBuilder::new(&words.join(r"\s+")).case_insensitive(true).size_limit(SIZE_CAP).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_compared_where_words_do_not_tell_all() {
        for (query, text, holds) in [
            ("let x = y;", "if so {\n    let x  =\n y; }", Some(true)),
            ("let x = y;", "let x == y;", Some(false)),
            ("display_mode", "the Display_Mode", Some(true)),
            ("display_mode", "display mode", Some(false)),
            ("\"a.b c\"", "a.b c", Some(true)),
            ("display mode", "", None),
            ("\"display mode\"", "", None),
            ("(mode)", "", None),
        ] {
            let parsed = Query::parse(query, &crate::query::Surroundings::default()).expect("a query");
            assert_eq!(as_typed(&parsed).map(|typed| typed.is_match(text)), holds, "{query}");
        }
    }
}
