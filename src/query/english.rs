//! Distinguishes names from ordinary words of English. Pure.
//!
//! A message that answers a question may say it in other words, but it hardly ever lacks the name that the question is
//! about. So a name that occurs nowhere means that the history has no answer, and an ordinary word does not. In other
//! languages every word would look like a name, so nothing is a name there.
//!
//! Of 119 questions about a sample of real sessions, in other words than the sessions have, 3 get no answer because of
//! this; one of the 3 had found its session. Of 10 questions about what never happened, all get none.

use crate::query::prose::{connects_elsewhere, connects_in_english};
use crate::query::{Chunk, Query, Shape, inflect};
use crate::tokenize;

/// A list of words, sorted, after lines that begin with `#`.
const WORDS: &str = include_str!("english.txt");
/// The shortest word that is in the list, and the shortest name.
const SHORTEST: usize = 4;
/// The shortest name that is known by its capital.
const SHORTEST_CAPITAL: usize = 3;
/// The most words of a query that was typed. Pasted text is full of names that do not matter.
const MOST_WORDS: usize = 24;
/// Beginnings that can be put before most verbs and adjectives.
const PREFIXES: [&str; 4] = ["un", "re", "non", "pre"];
/// Punctuation of code, of paths, and of messages that programs print, which are pasted.
const CODE: &str = "(){}[]<>=;|&$#\\/@*%^~";

/// Returns the pieces of an English query that are names: words that are not in the list, and words that begin with a
/// capital inside a sentence.
pub fn names(query: &Query) -> Vec<&Chunk> {
    if !is_typed(query) || !is_english(query) {
        return Vec::new();
    }
    let capitals = capitals(&query.text);
    query.chunks.iter().filter(|chunk| is_name(chunk, &capitals)).collect()
}

/// Reports whether a word is an ordinary English one, or made from one: `undeletable`.
pub fn is_ordinary(word: &str) -> bool {
    let inner = PREFIXES.iter().find_map(|prefix| word.strip_prefix(prefix)).unwrap_or(word);
    let verb = inner.strip_suffix("able").filter(|verb| verb.len() >= SHORTEST);
    let made = verb.is_some_and(|verb| is_in_some_form(verb) || is_listed(&format!("{verb}e")));
    connects_in_english(word) || is_in_some_form(word) || is_in_some_form(inner) || made
}

fn is_in_some_form(word: &str) -> bool {
    is_listed(word) || inflect::of(word).iter().any(|form| is_listed(form))
}

/// Reports whether a query was typed as a sentence or keywords, not pasted.
fn is_typed(query: &Query) -> bool {
    let is_plain = query.shape != Shape::Path && !query.thinned && query.needs.is_empty();
    is_plain
        && query.chunks.len() <= MOST_WORDS
        && !query.text.contains(": ")
        && !query.text.contains(|c| CODE.contains(c))
}

/// Reports whether a query is English: a third of its words are, or half of them and more connect others in English
/// than in other languages. `die` and `come` do both.
fn is_english(query: &Query) -> bool {
    let words: Vec<&String> = query.chunks.iter().flat_map(|chunk| &chunk.terms).collect();
    let count = |test: fn(&str) -> bool| words.iter().filter(|word| test(word)).count();
    let (english, unclear) = (count(is_ordinary), count(|word| !is_ordinary(word) && !is_long_word(word)));
    let (foreign, all) = (count(connects_elsewhere), words.len() - unclear);
    match foreign {
        0 => english > 0 && english * 3 >= all,
        _ => english * 2 >= all && foreign <= count(connects_in_english),
    }
}

fn is_name(chunk: &Chunk, capitals: &[Vec<String>]) -> bool {
    if let [verb, not] = chunk.terms.as_slice()
        && verb.ends_with('n')
        && not == "t"
    {
        return false;
    }
    let has_name = chunk.terms.iter().any(|term| is_long_word(term) && !is_ordinary(term));
    !chunk.quoted && chunk.terms.iter().all(|term| is_word(term)) && (has_name || capitals.contains(&chunk.terms))
}

fn is_word(term: &str) -> bool {
    term.chars().all(char::is_alphabetic)
}

fn is_long_word(term: &str) -> bool {
    is_word(term) && term.chars().count() >= SHORTEST
}

/// Returns the words that begin with a capital though no sentence begins with them. None if most words do.
fn capitals(text: &str) -> Vec<Vec<String>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_capital = |word: &&str| word.starts_with(char::is_uppercase);
    if words.iter().filter(|word| is_capital(word)).count() * 2 > words.len() {
        return Vec::new();
    }
    let inside = words.windows(2).filter(|pair| !pair[0].ends_with(['.', '!', '?', ':'])).map(|pair| pair[1]);
    let long = inside.filter(|word| is_capital(word) && word.chars().count() >= SHORTEST_CAPITAL);
    let parts = |word: &str| tokenize::terms(word).into_iter().filter(|(_, _, is_whole)| !is_whole);
    long.map(|word| parts(word).map(|(term, _, _)| term).collect()).collect()
}

/// Reports whether a word is in the list.
fn is_listed(word: &str) -> bool {
    let (mut from, mut to) = (0, WORDS.len());
    while from < to {
        let middle = usize::midpoint(from, to);
        let start = WORDS[..middle].rfind('\n').map_or(0, |at| at + 1);
        let end = WORDS[middle..].find('\n').map_or(WORDS.len(), |at| middle + at);
        match WORDS[start..end].cmp(word) {
            std::cmp::Ordering::Equal => return true,
            std::cmp::Ordering::Less => from = end + 1,
            std::cmp::Ordering::Greater => to = start,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::QueryContext;

    #[test]
    fn the_list_is_sorted() {
        let words: Vec<&str> = WORDS.lines().filter(|word| !word.starts_with('#')).collect();
        assert!(words.is_sorted());
        for word in words.iter().step_by(97).chain([&words[words.len() - 1]]) {
            assert!(is_listed(word), "{word}");
        }
    }

    #[test]
    fn ordinary_words_are_known_in_all_their_forms() {
        for word in [
            "when",
            "retries",
            "decided",
            "coloured",
            "purposely",
            "folks",
            "the",
            "caching",
            "undeletable",
            "reindexed",
        ] {
            assert!(is_ordinary(word), "{word}");
        }
        for word in ["kafka", "zorbulon", "kubernetes", "", "\u{e9}t\u{e9}", "zzzz"] {
            assert!(!is_ordinary(word), "{word}");
        }
    }

    #[test]
    fn names_are_found_in_english_questions() {
        for (text, expected) in [
            ("when did we add kafka to the build", "kafka"),
            ("why did we use Phoenix for the page", "phoenix"),
            ("What does the ranovi cache use?", "ranovi"),
            ("what did FluxCapacitorError come from", "flux capacitor error"),
            ("kafka migration", "kafka"),
            ("redis cluster failover", "redis, failover"),
            ("what did Bob say about it", "bob"),
            ("why did the worker die after kafka came", "kafka"),
            ("when did we add `kafka`?", "kafka"),
            ("error: could not compile kafka", ""),
            ("let held = kafka_lock(&mut self);", ""),
            ("why doesn't the well-known retry work", ""),
            ("why couldn't we fix Kafka's offset", "kafka s"),
            ("Phoenix was chosen because. Nightly builds failed", ""),
            ("Error In The Main Loop Of Server", ""),
            ("docker kafka nginx", ""),
            ("warum wurde der Dienst gewechselt", ""),
            ("was hat den Dienst so langsam gemacht", ""),
            ("when did we use \"kafka streams\"", ""),
            ("what is in src/kafka/token.rs of the project", ""),
            ("where did run 4f9a2c17 of gpt5 stop", ""),
        ] {
            let query = Query::parse(text, &QueryContext::default()).expect("a query");
            let found: Vec<String> = names(&query).iter().map(|chunk| chunk.terms.join(" ")).collect();
            assert_eq!(found.join(", "), expected, "{text}");
        }
    }
}
