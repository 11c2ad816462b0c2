//! A JSON tokenizer for text that is already known to be well-formed: yields strings, keys and brackets in order.
//!
//! `serde` handles the shapes we know. This handles the others: the input of any tool, or an attachment of an unknown
//! type. It builds no tree, does not recurse (so depth costs nothing) and never fails. A lone surrogate becomes U+FFFD.
//! Text that turns out not to be JSON ends the iteration.

use std::borrow::Cow;

/// A JSON token.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Token<'a> {
    /// The key of an object member; its value comes next.
    Key(Cow<'a, str>),
    /// A string value.
    Text(Cow<'a, str>),
    /// A number, `true`, `false` or `null`, as written.
    Scalar(&'a str),
    /// `{` or `[`.
    Open(u8),
    /// `}` or `]`.
    Close(u8),
}

/// An iterator over the tokens of a JSON text.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    rest: &'a str,
}

impl<'a> Walk<'a> {
    /// Creates an iterator that begins at the start of `text`.
    pub(crate) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn skip_whitespace(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r', ',', ':']);
        let first = *self.rest.as_bytes().first()?;
        match first {
            b'{' | b'[' => {
                self.take(1);
                Some(Token::Open(first))
            }
            b'}' | b']' => {
                self.take(1);
                Some(Token::Close(first))
            }
            b'"' => {
                let length = string_length(self.rest.as_bytes())?;
                let text = unescape(&self.take(length)[1..length - 1]);
                self.skip_whitespace();
                Some(if self.rest.starts_with(':') { Token::Key(text) } else { Token::Text(text) })
            }
            _ => {
                let end = self.rest.find([',', '}', ']', ' ', '\n', '\r', '\t']).unwrap_or(self.rest.len());
                (end > 0).then(|| Token::Scalar(self.take(end)))
            }
        }
    }
}

/// Returns the length of the string at the start of `bytes`, including its quotes.
fn string_length(bytes: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Decodes the escapes of a JSON string, given without its quotes.
pub(crate) fn unescape(raw: &str) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(b'\\', raw.as_bytes()) else {
        return Cow::Borrowed(raw);
    };
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    let mut next = Some(first);
    while let Some(at) = next {
        text.push_str(&rest[..at]);
        rest = push_escape(&mut text, &rest[at + 1..]);
        next = memchr::memchr(b'\\', rest.as_bytes());
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// Decodes the escape after a backslash and returns the text that follows it.
fn push_escape<'a>(text: &mut String, rest: &'a str) -> &'a str {
    let mut chars = rest.chars();
    match chars.next() {
        Some('n') => text.push('\n'),
        Some('t') => text.push('\t'),
        Some('r') => text.push('\r'),
        Some('b') => text.push('\u{8}'),
        Some('f') => text.push('\u{c}'),
        Some('u') => return push_unicode(text, chars.as_str()),
        Some(other) => text.push(other),
        None => {}
    }
    chars.as_str()
}

/// Decodes the digits after `\u`, and a second escape if they form a surrogate pair. Returns the text that follows.
fn push_unicode<'a>(text: &mut String, rest: &'a str) -> &'a str {
    let Some(first) = hex4(rest) else {
        text.push('\u{fffd}');
        return rest;
    };
    let rest = &rest[4..];
    if let Some(c) = char::from_u32(first) {
        text.push(c);
        return rest;
    }
    let second = rest.strip_prefix("\\u").and_then(hex4).filter(|second| (0xdc00..0xe000).contains(second));
    match second {
        Some(second) if first < 0xdc00 => {
            let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            text.push(char::from_u32(code).unwrap_or('\u{fffd}'));
            &rest[6..]
        }
        _ => {
            text.push('\u{fffd}');
            rest
        }
    }
}

fn hex4(text: &str) -> Option<u32> {
    let digits = text.get(..4)?;
    digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

/// Collects every string value of a JSON text, in order, one per line.
pub(crate) fn all_text(raw: &str) -> String {
    let mut text = String::new();
    for token in Walk::new(raw) {
        if let Token::Text(value) = token
            && !value.is_empty()
        {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&value);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yields_keys_values_and_brackets() {
        let tokens: Vec<String> =
            Walk::new(r#"{"a": [1, "x\n\"y", {}], "b":null}"#).map(|t| format!("{t:?}")).collect();
        assert_eq!(
            tokens.join(" "),
            r#"Open(123) Key("a") Open(91) Scalar("1") Text("x\n\"y") Open(123) Close(125) Close(93) Key("b") Scalar("null") Close(125)"#
        );
    }

    #[test]
    fn escapes_are_decoded() {
        for (raw, text) in [
            ("plain", "plain"),
            (r"a\tb\\c\/d", "a\tb\\c/d"),
            (r"\u00e9\ud83d\ude00", "é😀"),
            (r"\ud83d lone", "\u{fffd} lone"),
            (r"\ude00\ud83d", "\u{fffd}\u{fffd}"),
            (r"\u12", "\u{fffd}12"),
        ] {
            assert_eq!(unescape(raw), text);
        }
    }

    #[test]
    fn broken_and_deep_text_is_tolerated() {
        assert_eq!(all_text("\"open"), "");
        assert_eq!(all_text(&("[".repeat(100_000) + "\"deep\"")), "deep");
    }
}
