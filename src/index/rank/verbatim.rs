//! Raises hits whose texts contain the query letter by letter, punctuation included.
//!
//! The index only knows words, so this has to read texts.

use memchr::memchr2_iter;
use rayon::prelude::*;

use crate::index::hash_map::HashMap64;
use crate::index::rank::Factors;
use crate::index::rank::collect::RawHit;
use crate::index::rank::weights::{AS_TYPED, READ_CAP};
use crate::index::read::Reader;
use crate::query::{Query, Shape};

impl Reader {
    /// Raises hits that contain the query as typed. Expects the best hits first, because only the first few are read.
    pub(in crate::index) fn boost_verbatim(
        &self,
        query: &Query,
        hits: &mut [RawHit],
        factors: &mut HashMap64<Factors>,
    ) {
        let Some(typed) = as_typed(query) else { return };
        let has_all_words = |hit: &&mut RawHit| factors.get(&hit.group).is_some_and(|factors| factors.verbatim > 1.0);
        let mut to_read: Vec<&mut RawHit> = hits.iter_mut().filter(has_all_words).take(READ_CAP).collect();
        // Read in storage order, because several texts may share one compressed block.
        to_read.sort_unstable_by_key(|hit| hit.address);
        let contains_typed = |hit: &&mut RawHit| self.fetch(hit).is_ok_and(|(_, document)| typed.is_in(&document.text));
        let confirmed: Vec<bool> = to_read.par_iter().map(contains_typed).collect();
        let best = factors.values().map(|factors| factors.lifted).fold(0.0, f32::max);
        for (hit, _) in to_read.into_iter().zip(confirmed).filter(|(_, is_confirmed)| *is_confirmed) {
            let Some(factors) = factors.get_mut(&hit.group) else { continue };
            factors.verbatim *= AS_TYPED;
            // More than one identifier hardly ever matches letter by letter by chance. So this hit comes before texts
            // that only contain the words more often. Paths are excluded, because many listings contain them.
            if query.shape != Shape::Path && query.chunks.len() > 1 {
                factors.lift_to((factors.lifted + 2.0 * best) / 3.0);
            }
            hit.score = factors.score();
        }
    }
}

/// The query as typed, to be compared letter by letter. Not a regular expression, because compiling one would take
/// longer than searching for it.
#[derive(Debug)]
struct Typed {
    /// Lower-case letters, each with the gap before it.
    letters: Vec<(Gap, char)>,
}

/// White space between two letters. Required between words, optional around punctuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    None,
    Optional,
    Required,
}

/// Returns the text to compare. `None` if the query has operators, or if it has no punctuation and the index already
/// answers it.
fn as_typed(query: &Query) -> Option<Typed> {
    let is_punctuation = |c: char| !c.is_alphanumeric() && !c.is_whitespace() && c != '"';
    let only_words = !query.text.contains(is_punctuation) || query.sequence().len() < 2;
    if only_words || !query.needs.is_empty() || !query.conditions.is_empty() || !query.without.is_empty() {
        return None;
    }
    let is_quoted = query.chunks.iter().any(|chunk| chunk.quoted);
    Some(Typed::new(&if is_quoted { query.text.replace('"', "") } else { query.text.clone() }))
}

impl Typed {
    fn new(text: &str) -> Self {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let mut letters = Vec::new();
        let mut previous: Option<char> = None;
        let mut after_blank = false;
        for c in text.chars() {
            if c.is_whitespace() {
                after_blank = true;
                continue;
            }
            let gap = match previous {
                Some(previous) if !(is_word(previous) && is_word(c)) => Gap::Optional,
                Some(_) if after_blank => Gap::Required,
                _ => Gap::None,
            };
            letters.push((gap, lower(c)));
            (previous, after_blank) = (Some(c), false);
        }
        Self { letters }
    }

    /// Reports whether a text contains it, ignoring case and the amount of white space.
    fn is_in(&self, text: &str) -> bool {
        match self.letters.first() {
            Some((_, first)) if first.is_ascii() => {
                let (lower, upper) = (*first as u8, first.to_ascii_uppercase() as u8);
                memchr2_iter(lower, upper, text.as_bytes()).any(|at| self.is_prefix_of(&text[at..]))
            }
            _ => text.char_indices().any(|(at, _)| self.is_prefix_of(&text[at..])),
        }
    }

    fn is_prefix_of(&self, text: &str) -> bool {
        let mut rest = text.chars();
        self.letters.iter().all(|(gap, letter)| {
            let mut blanks = 0;
            let mut next = rest.next();
            while *gap != Gap::None && next.is_some_and(char::is_whitespace) {
                blanks += 1;
                next = rest.next();
            }
            (*gap != Gap::Required || blanks > 0) && next.is_some_and(|c| lower(c) == *letter)
        })
    }
}

/// Returns the lower-case form of a character. One such as `İ`, whose lower case only starts with an ASCII letter, is
/// returned unchanged.
fn lower(c: char) -> char {
    c.to_lowercase().next().filter(|lower| lower.is_ascii() == c.is_ascii()).unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_letters_if_the_query_is_more_than_words() {
        for (query, text, expected) in [
            ("let x = y;", "if so {\n    let x  =\n y; }", Some(true)),
            ("let x = y;", "let x == y;", Some(false)),
            ("of( a,b )[ 0]", "size of(a, b)[0]", Some(true)),
            ("of(a, b)", "of(ab)", Some(false)),
            ("of (a b)", "of(a\tb)", Some(true)),
            ("of (a b)", "of(ab)", Some(false)),
            ("display_mode", "the Display_Mode", Some(true)),
            ("display_mode", "display mode", Some(false)),
            ("\"a.b c\"", "a.b c", Some(true)),
            ("Größe_neu", "die GRÖSSE_NEU, GRÖßE_NEU", Some(true)),
            ("_größe x", "_GRÖSSE X", Some(false)),
            ("Écran.x", "l'éCRAN . X", Some(true)),
            ("测试.x", "一测试.X", Some(true)),
            ("İz.x", "the İz.x", Some(true)),
            ("a.a.b", "a.a.a.b", Some(true)),
            ("a.b", "a. ", Some(false)),
            ("display mode", "", None),
            ("\"display mode\"", "", None),
            ("(mode)", "", None),
        ] {
            let parsed = Query::parse(query, &crate::query::QueryContext::default()).expect("a query");
            assert_eq!(as_typed(&parsed).map(|typed| typed.is_in(text)), expected, "{query}");
        }
    }
}
