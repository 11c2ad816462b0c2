//! Generates other forms of an English word, such as `retries` and `retried` for `retry`. Pure.
//!
//! Covers only endings that rarely lead to a different word: verb endings and plurals of words that are long enough.
//! Some forms are not real words. That does no harm, because the index decides which forms exist.

/// Minimum length of a stem. `string` is not a form of `str`.
const MIN_STEM: usize = 4;

/// Endings after which a plural takes `es`.
const SIBILANTS: [&str; 5] = ["s", "x", "z", "ch", "sh"];

/// Returns the possible forms of a word, without the word itself.
pub fn of(word: &str) -> Vec<String> {
    if word.len() < MIN_STEM || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Vec::new();
    }
    let mut forms: Vec<String> = stems(word).iter().flat_map(|stem| inflected(stem)).collect();
    forms.sort_unstable();
    forms.dedup();
    forms.retain(|form| form != word);
    forms
}

/// Returns the stems that a word may be a form of, including itself.
fn stems(word: &str) -> Vec<String> {
    let mut stems = vec![word.to_string()];
    let mut add = |stem: String| {
        if stem.len() >= MIN_STEM {
            stems.push(stem);
        }
    };
    if let Some(stem) = word.strip_suffix("ies").or_else(|| word.strip_suffix("ied")) {
        add(format!("{stem}y"));
    }
    if let Some(stem) = word.strip_suffix('s').filter(|stem| !stem.ends_with(['s', 'u', 'i'])) {
        add(stem.to_string());
    }
    if let Some(stem) = word.strip_suffix("es").filter(|stem| SIBILANTS.iter().any(|end| stem.ends_with(end))) {
        add(stem.to_string());
    }
    for stem in [word.strip_suffix("ing"), word.strip_suffix("ed")].into_iter().flatten() {
        add(stem.to_string());
        add(format!("{stem}e"));
        if let Some(single) = undoubled(stem) {
            add(single.to_string());
        }
    }
    stems
}

/// Removes a doubled last consonant: `stopp`, from `stopped`, becomes `stop`.
fn undoubled(stem: &str) -> Option<&str> {
    let [.., before, last] = stem.as_bytes() else { return None };
    (before == last && !b"aeiousl".contains(last)).then(|| &stem[..stem.len() - 1])
}

/// Returns all forms of a stem, including the stem itself.
fn inflected(stem: &str) -> Vec<String> {
    let with = |ending: &str| format!("{stem}{ending}");
    let mut forms = vec![stem.to_string()];
    if let Some(bare) = stem.strip_suffix('e') {
        forms.extend([with("s"), with("d"), format!("{bare}ing")]);
    } else if let Some(bare) = stem.strip_suffix('y').filter(|bare| !bare.ends_with(['a', 'e', 'o', 'u'])) {
        forms.extend([format!("{bare}ies"), format!("{bare}ied"), with("ing")]);
    } else {
        forms.extend([with("s"), with("es"), with("ed"), with("ing")]);
        if let [.., vowel, last] = stem.as_bytes()
            && b"aeiou".contains(vowel)
            && !b"aeiouwxy".contains(last)
        {
            let last = char::from(*last);
            forms.extend([format!("{stem}{last}ed"), format!("{stem}{last}ing")]);
        }
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_match_each_other() {
        for (word, other) in [
            ("retry", "retries"),
            ("retry", "retried"),
            ("disable", "disabled"),
            ("disabling", "disable"),
            ("rendering", "rendered"),
            ("stop", "stopped"),
            ("stopping", "stops"),
            ("match", "matches"),
            ("margin", "margins"),
            ("index", "indexes"),
            ("caching", "caches"),
        ] {
            assert!(of(word).contains(&other.to_string()), "{word}: {:?}", of(word));
            assert!(of(other).contains(&word.to_string()), "{other}: {:?}", of(other));
        }
    }

    #[test]
    fn different_words_are_not_forms() {
        for (word, other) in
            [("string", "str"), ("process", "proces"), ("status", "statu"), ("sing", "s"), ("need", "ne")]
        {
            assert!(!of(word).contains(&other.to_string()), "{word}: {:?}", of(word));
        }
        assert!(of("cafés").is_empty() && of("a1b2").is_empty() && of("run").is_empty());
    }
}
