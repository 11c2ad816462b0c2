//! Patterns for paths and names, as shells have them: `*` and `?` stay within a component, `**` does not, `[abc]`,
//! `[!abc]` and `{a,b}` are alternatives. Pure.
//!
//! globset reads the patterns. They are matched as regular expressions over characters, which the terms of the index can
//! be compared with too. Any text is a valid pattern: brackets that do not close are taken literally, and a name with
//! brackets in it can be typed as it is (`app/[slug]/page.tsx`).

use globset::GlobBuilder;
use regex::Regex;

/// The longest text that is read as a pattern; as long as a path can be.
const LONGEST: usize = 4096;

/// A pattern.
#[derive(Clone, Debug)]
pub struct Glob {
    expression: String,
    /// None if the pattern is too involved; it then matches nothing.
    regex: Option<Regex>,
}

/// Returns whether a text is meant as a pattern.
pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// Returns a pattern as a regular expression that is meant to match from end to end.
pub fn expression(pattern: &str) -> String {
    translated(pattern, true)
}

impl Glob {
    /// Reads a pattern.
    pub fn new(pattern: &str) -> Self {
        Self::compiled(translated(pattern, true))
    }

    /// Reads a pattern in which `*` and `?` match slashes too.
    pub fn crossing(pattern: &str) -> Self {
        Self::compiled(translated(pattern, false))
    }

    fn compiled(expression: String) -> Self {
        let regex = Regex::new(&format!("^(?:{expression})$")).ok();
        Self { expression, regex }
    }

    /// Returns the pattern as [`expression`] does.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// Returns whether a text fits the pattern.
    pub fn matches(&self, text: &str) -> bool {
        self.regex.as_ref().is_some_and(|regex| regex.is_match(text))
    }

    /// Returns whether a path, or what follows one of its slashes, fits the pattern.
    pub fn matches_tail(&self, path: &str) -> bool {
        let mut starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
        starts.any(|at| self.matches(&path[at..]))
    }
}

fn translated(pattern: &str, stays_within: bool) -> String {
    let literal = regex_syntax::escape(pattern);
    if pattern.len() > LONGEST {
        return literal;
    }
    // What globset refuses has brackets that do not pair up, or a range from z to a.
    let candidates = [pattern.to_string(), literally(pattern, "{}"), literally(pattern, "{}[]")];
    let read = candidates.iter().find_map(|pattern| {
        let mut glob = GlobBuilder::new(pattern);
        glob.literal_separator(stays_within).backslash_escape(false).empty_alternates(true).allow_unclosed_class(true);
        glob.build().ok()
    });
    let Some(read) = read else { return literal };
    let expression = over_characters(read.regex());
    // globset takes `**` for two stars unless it is a component of its own.
    let expression = expression.replace("[^/]*[^/]*", ".*");
    if pattern.contains(['[', '{']) { format!("(?s:{expression}|{literal})") } else { format!("(?s:{expression})") }
}

/// Puts each of these characters into a class of its own, in which it has no other meaning.
fn literally(pattern: &str, special: &str) -> String {
    pattern.chars().map(|c| if special.contains(c) { format!("[{c}]") } else { c.to_string() }).collect()
}

/// Turns globset's expression over bytes into one over characters: drops the flag and the anchors around it, and
/// writes characters instead of their bytes (`\xc3\xa4`).
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
            // Brackets that do not pair up, and ranges that are none, are themselves.
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
    fn stars_cross_slashes_where_they_may() {
        let glob = Glob::crossing("*/work/*");
        assert!(glob.matches("/home/u/work/x/y") && !glob.matches("/home/u/works"));
        assert!(Glob::new("b/*").matches_tail("/a/b/c") && !Glob::new("b/*").matches_tail("/ab/c"));
    }

    #[test]
    fn no_pattern_is_too_much() {
        // By trying one way after the other, this would take for ever.
        assert!(!Glob::new(&"*a".repeat(30)).matches(&"aaaaaaaaab".repeat(500)));
        for pattern in ["*".repeat(LONGEST), "?".repeat(LONGEST), "{".repeat(2000) + &"}".repeat(2000)] {
            Glob::new(&pattern).matches("a");
        }
        let long = "{".repeat(LONGEST + 1);
        assert!(Glob::new(&long).matches(&long));
    }

    /// Patterns without brackets in literal text, in which `**` is always a whole component.
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
