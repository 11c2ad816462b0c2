//! Sanitizes untrusted text from transcripts, file names and queries before it is shown on a terminal.
//!
//! Transcripts contain anything that a tool printed: escape sequences, bidirectional overrides, hidden tag characters.
//! [`Untrusted`] has no `Display`, so such text cannot reach a terminal by accident. Control characters are replaced
//! one by one. Escape sequences are never parsed, because every parser for them has been fooled before.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Text from outside that must be sanitized before it is shown.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Untrusted(String);

impl Untrusted {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Wraps a path. Bytes that are not UTF-8 become U+FFFD.
    pub fn path(path: &Path) -> Self {
        Self(path.to_string_lossy().into_owned())
    }

    /// Returns the unsanitized text, for other programs and for use inside the library. Never print it.
    pub fn raw(&self) -> &str {
        &self.0
    }

    /// Reports whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the text with every dangerous character made visible. Newlines and tabs are kept.
    pub fn term(&self) -> Cow<'_, str> {
        for_terminal(&self.0)
    }

    /// Returns the sanitized text on one line, with runs of white space replaced by one space.
    pub fn line(&self) -> String {
        one_line(&self.0)
    }
}

impl<T: Into<String>> From<T> for Untrusted {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

/// Makes every dangerous character visible. Newlines and tabs are kept; the line ends of Windows become newlines.
pub fn for_terminal(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_dangerous) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut previous = ' ';
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == '\r' && rest.as_str().starts_with('\n') {
            continue;
        }
        // A joiner inside an emoji is harmless: it combines the parts into one image.
        let joins_emoji = c == '\u{200d}' && is_pictograph(previous);
        if is_dangerous(c) && !joins_emoji {
            push_visible(&mut safe, c);
        } else {
            safe.push(c);
        }
        previous = c;
    }
    Cow::Owned(safe)
}

/// Replaces runs of white space with single spaces, then makes dangerous characters visible.
pub fn one_line(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
    }
    match for_terminal(&folded) {
        Cow::Borrowed(_) => folded,
        Cow::Owned(safe) => safe,
    }
}

/// Reports whether a character can move, hide or recolour the visible text.
pub fn is_dangerous(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        '\u{ad}' | '\u{61c}' | '\u{180e}' => true,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' => true,
        '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

/// Reports whether a character can come before a joiner in an emoji.
fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{fe0f}' | '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// Appends a visible replacement for a dangerous character.
fn push_visible(out: &mut String, c: char) {
    match c {
        // The Unicode block "Control Pictures" has one glyph for each C0 control and for DEL.
        '\u{0}'..='\u{1f}' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('␦')),
        '\u{7f}' => out.push('␡'),
        _ => {
            let _ = write!(out, "⟨U+{:04X}⟩", c as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dangerous_characters_are_made_visible() {
        for (text, shown) in [
            ("plain\n\ttext ünï 日本", "plain\n\ttext ünï 日本"),
            ("\u{1b}[31mred\u{1b}[0m", "␛[31mred␛[0m"),
            ("\u{1b}]52;c;aGk=\u{7}", "␛]52;c;aGk=␇"),
            ("a\rb\u{8}c\u{7f}", "a␍b␈c␡"),
            ("a\r\nb\r\r\n", "a\nb␍\n"),
            ("\u{9b}31m", "⟨U+009B⟩31m"),
            ("abc\u{202e}fed", "abc⟨U+202E⟩fed"),
            ("hid\u{e0041}den\u{200b}", "hid⟨U+E0041⟩den⟨U+200B⟩"),
            ("👩\u{200d}💻 a\u{200d}b", "👩\u{200d}💻 a⟨U+200D⟩b"),
        ] {
            assert_eq!(for_terminal(text), shown);
        }
    }

    #[test]
    fn one_line_collapses_white_space() {
        assert_eq!(one_line("  a\n\n b\u{1b}c\t d "), "a b␛c d");
    }
}
