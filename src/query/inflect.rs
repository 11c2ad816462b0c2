//! Other forms of an English word: `retries` and `retried` of `retry`. Pure.
//!
//! Only what hardly ever is another word: endings of verbs and plurals, of words that are long enough. Whether a form
//! exists is for the index to say, so there may be nonsense among them.

/// What is left of a word without its ending has so many letters at least: `string` is no form of `str`.
const LEAST: usize = 4;

/// After these a plural ends in `es`.
const HISSING: [&str; 5] = ["s", "x", "z", "ch", "sh"];

/// The forms a word may have, without itself.
pub fn of(word: &str) -> Vec<String> {
    if word.len() < LEAST || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Vec::new();
    }
    let mut forms: Vec<String> = stems(word).iter().flat_map(|stem| inflected(stem)).collect();
    forms.sort_unstable();
    forms.dedup();
    forms.retain(|form| form != word);
    forms
}

/// What a word may be a form of, itself included.
fn stems(word: &str) -> Vec<String> {
    let mut stems = vec![word.to_string()];
    let mut put = |stem: String| {
        if stem.len() >= LEAST {
            stems.push(stem);
        }
    };
    if let Some(stem) = word.strip_suffix("ies").or_else(|| word.strip_suffix("ied")) {
        put(format!("{stem}y"));
    }
    if let Some(stem) = word.strip_suffix('s').filter(|stem| !stem.ends_with(['s', 'u', 'i'])) {
        put(stem.to_string());
    }
    if let Some(stem) = word.strip_suffix("es").filter(|stem| HISSING.iter().any(|end| stem.ends_with(end))) {
        put(stem.to_string());
    }
    for stem in [word.strip_suffix("ing"), word.strip_suffix("ed")].into_iter().flatten() {
        put(stem.to_string());
        put(format!("{stem}e"));
        if let Some(single) = undoubled(stem) {
            put(single.to_string());
        }
    }
    stems
}

/// `stopp` of `stopped` is `stop`.
fn undoubled(stem: &str) -> Option<&str> {
    let [.., before, last] = stem.as_bytes() else { return None };
    (before == last && !b"aeiousl".contains(last)).then(|| &stem[..stem.len() - 1])
}

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
    fn forms_of_a_word_find_each_other() {
        for (one, other) in [
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
            assert!(of(one).contains(&other.to_string()), "{one}: {:?}", of(one));
            assert!(of(other).contains(&one.to_string()), "{other}: {:?}", of(other));
        }
    }

    #[test]
    fn other_words_are_no_forms() {
        for (word, other) in
            [("string", "str"), ("process", "proces"), ("status", "statu"), ("sing", "s"), ("need", "ne")]
        {
            assert!(!of(word).contains(&other.to_string()), "{word}: {:?}", of(word));
        }
        assert!(of("cafés").is_empty() && of("a1b2").is_empty() && of("run").is_empty());
    }
}
