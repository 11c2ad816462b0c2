//! Recognizes questions in prose: `why did the retry give up after the first answer`. Pure.
//!
//! A transcript rarely contains the question itself. Its words are spread over what people and Claude said about it,
//! and tools print the same words for other reasons.

use crate::query::{Query, Shape};

/// The fewest words of a question.
const LEAST_WORDS: usize = 4;
/// The smallest share of words that consist of letters only.
const ALPHABETIC: f32 = 0.8;
/// The smallest share of words that begin with a lower-case letter.
const LOWER_CASE: f32 = 0.6;
/// Punctuation of code, paths and commands.
const CODE: &str = "\"`(){}[]<>=;$@#|*&%^~\\/_";
/// Sequences of such punctuation.
const CODE_SEQUENCES: [&str; 3] = ["--", "::", "->"];
/// English words that connect others. Keywords do without.
const ENGLISH: &str = "a about after an and are as at be because been before but by can could did do does for from had has have how \
    i if in into is it its me my not of on or our should so some than that the their them then there these they \
    this those to until was we were what when where which while who why will with without would you your";
/// The same in Spanish, French, German, Portuguese, Italian and Russian.
const FOREIGN: &str = "cómo con cuál cuando de del donde dónde el en es esta este la las los para por porque que qué se sin una \
    avec comment dans des du est les nous où pas pour pourquoi quand quel qui sur une \
    auf aus das dem den der die ein eine für haben ich ist mit nach nicht oder und von warum wenn wie wir wo zu \
    como da em não nós os uma \
    che come di il nel non perché quando \
    в и как мы на не почему что";

/// Reports whether a query is a question in prose. Operators, quotes, filters and anything that looks like code are not.
pub fn is_prose(query: &Query) -> bool {
    let has_operators = !(query.needs.is_empty() && query.without.is_empty() && query.conditions.is_empty());
    if has_operators || query.thinned || query.shape != Shape::Words || query.chunks.iter().any(|chunk| chunk.quoted) {
        return false;
    }
    let words: Vec<&str> = query.text.split_whitespace().collect();
    if words.len() < LEAST_WORDS || looks_like_code(&query.text) || words.iter().any(|word| is_name(word)) {
        return false;
    }
    let plain: Vec<&str> =
        words.iter().map(|word| word.trim_matches(|c| matches!(c, '.' | ',' | '?' | '!' | ':'))).collect();
    let share = |fits: fn(&&&str) -> bool| plain.iter().filter(fits).count() as f32 / plain.len() as f32;
    let is_alphabetic = |word: &&&str| word.chars().all(|c| c.is_alphabetic() || c == '\'' || c == '’' || c == '-');
    let is_lower_case = |word: &&&str| word.starts_with(char::is_lowercase);
    let is_function_word = |word: &&str| connects(word, ENGLISH) || connects(word, FOREIGN);
    share(is_alphabetic) >= ALPHABETIC && share(is_lower_case) >= LOWER_CASE && plain.iter().any(is_function_word)
}

/// Reports whether a word connects others in English.
pub(super) fn connects_in_english(word: &str) -> bool {
    connects(word, ENGLISH)
}

/// Reports whether a word connects others in another language that is known.
pub(super) fn connects_elsewhere(word: &str) -> bool {
    connects(word, FOREIGN)
}

fn connects(word: &str, all: &str) -> bool {
    let word = word.to_lowercase();
    all.split(' ').any(|other| other == word)
}

fn looks_like_code(text: &str) -> bool {
    text.contains(|c| CODE.contains(c)) || CODE_SEQUENCES.iter().any(|sequence| text.contains(sequence))
}

/// Reports whether a word is an identifier, the name of a file, or a name with a colon.
fn is_name(word: &str) -> bool {
    let characters: Vec<char> = word.chars().collect();
    let is_camel_case = |pair: &[char]| pair[0].is_lowercase() && pair[1].is_uppercase();
    let is_inside = |pair: &[char]| matches!(pair[0], '.' | ':') && pair[1].is_alphanumeric();
    characters.windows(2).any(|pair| is_camel_case(pair) || is_inside(pair)) || word.ends_with(':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::QueryContext;

    #[test]
    fn questions_are_distinguished_from_keywords_and_code() {
        for (text, expected) in [
            ("why did the retry give up after the first answer", true),
            ("Where do we store the user's settings?", true),
            ("that session where we don't use docker any more", true),
            ("warum ist der Test so langsam geworden", true),
            ("почему тест на сервере не проходит", true),
            ("retry after header", false),
            ("oauth token refresh retry backoff", false),
            ("how does parseRetryAfter work in this case", false),
            ("what is in src/auth/token.rs of the project", false),
            ("why is index.ts in the build so large", false),
            ("error: the file was not found anywhere", false),
            ("the \"first answer\" of the server is wrong", false),
            ("what did we do project:shop about the cart", false),
            ("Error In The Main Loop Of Server", false),
            ("cannot read properties of undefined 12 34", false),
            ("git commit --amend for the last one", false),
            ("10 of 12 are 13 14", false),
        ] {
            let query = Query::parse(text, &QueryContext::default()).expect("a query");
            assert_eq!(is_prose(&query), expected, "{text}");
        }
    }
}
