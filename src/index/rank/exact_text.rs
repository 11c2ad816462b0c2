//! What the index cannot tell, as it knows words only: whether a text holds a query letter by letter.

use memchr::memchr2_iter;
use rayon::prelude::*;

use crate::index::hash_map::HashMap64;
use crate::index::rank::Factors;
use crate::index::rank::collect::RawHit;
use crate::index::rank::weights::{AS_TYPED, READ_CAP};

use crate::index::read::Reader;
use crate::query::{Query, Shape};

impl Reader {
    /// Raises those hits, the best of which come first, that hold the query as it was typed.
    pub(in crate::index) fn boost_verbatim(
        &self,
        query: &Query,
        hits: &mut [RawHit],
        factors: &mut HashMap64<Factors>,
    ) {
        let Some(typed) = as_typed(query) else { return };
        let with_words = |hit: &&mut RawHit| factors.get(&hit.group).is_some_and(|found| found.verbatim > 1.0);
        let mut read: Vec<&mut RawHit> = hits.iter_mut().filter(with_words).take(READ_CAP).collect();
        // In the order in which they are kept, as several may stand in what is unpacked for one.
        read.sort_unstable_by_key(|hit| hit.address);
        let holds = |hit: &&mut RawHit| self.fetch(hit).is_ok_and(|(_, document)| typed.is_in(&document.text));
        let held: Vec<bool> = read.par_iter().map(holds).collect();
        let best = factors.values().map(|found| found.lifted).fold(0.0, f32::max);
        for (hit, _) in read.into_iter().zip(held).filter(|(_, held)| *held) {
            let Some(found) = factors.get_mut(&hit.group) else { continue };
            let before = (found.lifted * found.verbatim).max(f32::MIN_POSITIVE);
            found.verbatim *= AS_TYPED;
            // More than an identifier hardly ever stands there by chance: what has the words more often, but not so, comes
            // behind. A path stands in many a listing.
            if query.shape != Shape::Path && query.chunks.len() > 1 {
                found.lift_to((found.lifted + 2.0 * best) / 3.0);
            }
            hit.score *= found.lifted * found.verbatim / before;
        }
    }
}

/// What was typed, letter by letter. A regular expression would take longer to make than to be looked for.
#[derive(Debug)]
struct Typed {
    /// In lower case, each with what stands before it.
    letters: Vec<(Gap, char)>,
}

/// What stands between two letters: white space between words, around all else there may be some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    None,
    Any,
    Blank,
}

/// What to look for; none where words tell all there is.
fn as_typed(query: &Query) -> Option<Typed> {
    let is_mark = |c: char| !c.is_alphanumeric() && !c.is_whitespace() && c != '"';
    let only_words = !query.text.contains(is_mark) || query.sequence().len() < 2;
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
        let mut before: Option<char> = None;
        let mut blank = false;
        for c in text.chars() {
            if c.is_whitespace() {
                blank = true;
                continue;
            }
            let gap = match before {
                Some(before) if !(is_word(before) && is_word(c)) => Gap::Any,
                Some(_) if blank => Gap::Blank,
                _ => Gap::None,
            };
            letters.push((gap, lower(c)));
            (before, blank) = (Some(c), false);
        }
        Self { letters }
    }

    /// Whether a text holds it, in any case and with any white space.
    fn is_in(&self, text: &str) -> bool {
        match self.letters.first() {
            Some((_, first)) if first.is_ascii() => {
                let (small, capital) = (*first as u8, first.to_ascii_uppercase() as u8);
                memchr2_iter(small, capital, text.as_bytes()).any(|at| self.begins(&text[at..]))
            }
            _ => text.char_indices().any(|(at, _)| self.begins(&text[at..])),
        }
    }

    fn begins(&self, text: &str) -> bool {
        let mut rest = text.chars();
        self.letters.iter().all(|(gap, letter)| {
            let mut blanks = 0;
            let mut next = rest.next();
            while *gap != Gap::None && next.is_some_and(char::is_whitespace) {
                blanks += 1;
                next = rest.next();
            }
            (*gap != Gap::Blank || blanks > 0) && next.is_some_and(|c| lower(c) == *letter)
        })
    }
}

/// In lower case. What only begins with a letter of ASCII then, `İ` say, stays itself.
fn lower(c: char) -> char {
    c.to_lowercase().next().filter(|small| small.is_ascii() == c.is_ascii()).unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_compared_where_words_do_not_tell_all() {
        for (query, text, holds) in [
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
            let parsed = Query::parse(query, &crate::query::Surroundings::default()).expect("a query");
            assert_eq!(as_typed(&parsed).map(|typed| typed.is_in(text)), holds, "{query}");
        }
    }
}
