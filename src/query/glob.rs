//! Shell-style glob patterns for paths and names: `*` and `?` match within a path component, `**` across components,
//! and `[abc]`, `[!abc]` and `{a,b}` are alternatives. Pure.
//!
//! globset parses the patterns. They are matched as regular expressions over characters, because the terms of the index
//! are matched with the same expressions. Any text is a valid pattern: unclosed brackets are literal, and a name that
//! contains brackets can be typed as it is (`app/[slug]/page.tsx`).

use globset::GlobBuilder;
use regex::Regex;

/// Maximum length of a pattern, in bytes; as long as a path can be. Longer texts are literal.
const LONGEST: usize = 4096;

/// A compiled glob pattern.
#[derive(Clone, Debug)]
pub struct Glob {
    expression: String,
    /// `None` if the pattern is too complex. It then matches nothing.
    regex: Option<Regex>,
}

/// Reports whether a text contains any glob characters.
pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// Returns the byte offset of a range in brackets that ends before it starts, such as `[z-a]`. Such a pattern matches only
/// its own text, which is hardly ever meant.
pub fn reversed_range(pattern: &str) -> Option<usize> {
    let mut rest = pattern;
    while let Some((_, after)) = rest.split_once('[') {
        let (class, behind) = after.split_once(']')?;
        let characters: Vec<(usize, char)> = class.char_indices().collect();
        let is_reversed = |window: &&[(usize, char)]| window[1].1 == '-' && window[0].1 > window[2].1;
        if let Some(window) = characters.windows(3).find(is_reversed) {
            return Some(pattern.len() - after.len() + window[0].0);
        }
        rest = behind;
    }
    None
}

/// Translates a pattern into a regular expression. The expression must match the entire text.
pub fn expression(pattern: &str) -> String {
    translated(pattern, true)
}

impl Glob {
    /// Compiles a pattern.
    pub fn new(pattern: &str) -> Self {
        Self::compiled(translated(pattern, true))
    }

    /// Compiles a pattern in which `*` and `?` also match slashes.
    pub fn crossing(pattern: &str) -> Self {
        Self::compiled(translated(pattern, false))
    }

    fn compiled(expression: String) -> Self {
        let regex = Regex::new(&format!("^(?:{expression})$")).ok();
        Self { expression, regex }
    }

    /// Returns the pattern as a regular expression; see [`expression`].
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// Reports whether the entire text matches the pattern.
    pub fn matches(&self, text: &str) -> bool {
        self.regex.as_ref().is_some_and(|regex| regex.is_match(text))
    }

    /// Reports whether a path, or the part after one of its slashes, matches the pattern.
    pub fn matches_tail(&self, path: &str) -> bool {
        let mut starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
        starts.any(|at| self.matches(&path[at..]))
    }
}

/// Translates a pattern into a regular expression. `literal_slash` keeps `*` and `?` from matching slashes.
fn translated(pattern: &str, literal_slash: bool) -> String {
    let literal = regex_syntax::escape(pattern);
    if pattern.len() > LONGEST {
        return literal;
    }
    // globset refuses patterns with unbalanced brackets or with a reversed range such as `[z-a]`.
    let candidates = [pattern.to_string(), with_escaped(pattern, "{}"), with_escaped(pattern, "{}[]")];
    let parsed = candidates.iter().find_map(|pattern| {
        let mut glob = GlobBuilder::new(pattern);
        glob.literal_separator(literal_slash).backslash_escape(false).empty_alternates(true).allow_unclosed_class(true);
        glob.build().ok()
    });
    let Some(parsed) = parsed else { return literal };
    let expression = over_characters(parsed.regex());
    // globset treats `**` as two single stars unless it is an entire component.
    let expression = expression.replace("[^/]*[^/]*", ".*");
    if pattern.contains(['[', '{']) { format!("(?s:{expression}|{literal})") } else { format!("(?s:{expression})") }
}

/// Escapes each of the special characters by putting it into brackets.
fn with_escaped(pattern: &str, special: &str) -> String {
    pattern.chars().map(|c| if special.contains(c) { format!("[{c}]") } else { c.to_string() }).collect()
}

/// Converts globset's expression over bytes into one over characters. Removes its flag and anchors, and replaces
/// escaped bytes (`\xc3\xa4`) with the characters they encode.
fn over_characters(expression: &str) -> String {
    let inner = expression.strip_prefix("(?-u)^").and_then(|rest| rest.strip_suffix('$')).unwrap_or(expression);
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((before, after)) = rest.split_once('\\') {
        bytes.extend_from_slice(before.as_bytes());
        let byte = after.strip_prefix('x').and_then(|hex| u8::from_str_radix(hex.get(..2)?, 16).ok());
        let length = if byte.is_some() { "x00".len() } else { after.chars().next().map_or(0, char::len_utf8) };
        match byte {
            Some(byte) => bytes.push(byte),
            None => bytes.extend([b"\\", &after.as_bytes()[..length]].concat()),
        }
        rest = &after[length..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        for (pattern, text, expected) in [
            ("*.rs", "a.rs", true),
            ("*.rs", "src/a.rs", false),
            ("src/**/x.rs", "src/x.rs", true),
            ("src/**/x.rs", "src/a/b/x.rs", true),
            ("src/**", "src/a/b", true),
            ("src/**.ts", "src/a/b.ts", true),
            ("a**b", "a/x/b", true),
            ("a?.{ts,tsx}", "ab.tsx", true),
            ("a?.{ts,tsx}", "a/.ts", false),
            ("a{,.b}", "a", true),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("ä?[ö-ü]*", "äßüß", true),
            ("?", "日", true),
            ("a\\x*", "a\\xc3", true),
            // Unbalanced brackets and invalid ranges are literal.
            ("a{b*", "a{bc", true),
            ("a}b*", "a}bc", true),
            ("a[0*", "a[0-9", true),
            ("[z-a]*", "[z-a]b", true),
            ("[", "[", true),
            ("app/[slug]/page.tsx", "app/[slug]/page.tsx", true),
            ("app/[slug]/page.tsx", "app/s/page.tsx", true),
            ("{x}.rs", "{x}.rs", true),
        ] {
            assert_eq!(Glob::new(pattern).matches(text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn reversed_ranges_are_found() {
        for (pattern, expected) in [
            ("[z-a].tsx", Some(1)),
            ("src/[a-c]/x[9-0]", Some(12)),
            ("[a-z].tsx", None),
            ("app/[slug]/page.tsx", None),
            ("a[b", None),
            ("[!-]", None),
        ] {
            assert_eq!(reversed_range(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn stars_match_slashes_only_in_crossing_globs() {
        let glob = Glob::crossing("*/work/*");
        assert!(glob.matches("/home/u/work/x/y") && !glob.matches("/home/u/works"));
        assert!(Glob::new("b/*").matches_tail("/a/b/c") && !Glob::new("b/*").matches_tail("/ab/c"));
    }

    #[test]
    fn no_pattern_is_too_expensive() {
        // A backtracking matcher would never finish.
        assert!(!Glob::new(&"*a".repeat(30)).matches(&"aaaaaaaaab".repeat(500)));
        for pattern in ["*".repeat(LONGEST), "?".repeat(LONGEST), "{".repeat(2000) + &"}".repeat(2000)] {
            Glob::new(&pattern).matches("a");
        }
        let long = "{".repeat(LONGEST + 1);
        assert!(Glob::new(&long).matches(&long));
    }

    /// Generates patterns without literal brackets, in which `**` is always an entire component.
    fn pattern() -> impl Strategy<Value = String> {
        let part = "(a|b|\\.|,|-|\\\\|\\*|\\?|\\[ab\\]|\\[!a\\]|\\[a-c\\]|\\{a,b\\}|\\{\\*b,c\\?,\\}){1,3}";
        let part = part.prop_filter("two stars", |part: &String| !part.contains("**"));
        let component = prop_oneof![4 => part, 1 => Just("**".to_string())];
        prop::collection::vec(component, 1..4).prop_map(|parts| parts.join("/"))
    }

    proptest! {
        #[test]
        fn agrees_with_globset(pattern in pattern(), text in "[abc.,/\\\\-]{0,6}") {
            let mut glob = GlobBuilder::new(&pattern);
            glob.literal_separator(true).backslash_escape(false).empty_alternates(true);
            let expected = glob.build().expect("valid").compile_matcher().is_match(&text) || text == pattern;
            prop_assert_eq!(Glob::new(&pattern).matches(&text), expected);
        }

        #[test]
        fn any_text_is_a_pattern(pattern in "[ab*?\\[\\]{},!/\\\\^ä-]{0,12}", text in "[abä/]{0,6}") {
            let glob = Glob::new(&pattern);
            prop_assert!(glob.regex.is_some());
            glob.matches(&text);
            prop_assert!(is_pattern(&pattern) || glob.matches(&pattern));
        }
    }
}
