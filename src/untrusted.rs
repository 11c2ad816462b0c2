//! Text that came out of a transcript, a file name or a query, and the only ways for it to get out again.
//!
//! Transcripts hold whatever a tool printed: escape sequences, bidirectional overrides, hidden tag characters.
//! [`Untrusted`] has no `Display`, so such text cannot reach a terminal by accident. Control characters are
//! replaced one by one; sequences are never parsed, since every parser of them has been fooled before.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

/// Text from outside that must be made safe before anybody sees it.
#[derive(Clone, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Untrusted(String);

impl Untrusted {
    /// Takes text in.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Takes a path in; bytes that are not UTF-8 become U+FFFD.
    pub fn path(path: &Path) -> Self {
        Self(path.to_string_lossy().into_owned())
    }

    /// Gives the text for programs and for further work inside the library; never print this.
    pub fn raw(&self) -> &str {
        &self.0
    }

    /// Says whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Gives the text with every dangerous character made visible; newlines and tabs stay.
    pub fn term(&self) -> Cow<'_, str> {
        for_terminal(&self.0)
    }

    /// Gives the text on one line: white space of any kind is one blank.
    pub fn line(&self) -> String {
        one_line(&self.0)
    }
}

impl<T: Into<String>> From<T> for Untrusted {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

/// Makes every dangerous character visible; newlines and tabs stay.
pub fn for_terminal(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_dangerous) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut before = ' ';
    for c in text.chars() {
        // A joiner inside an emoji is what makes it one picture.
        let joins_emoji = c == '\u{200d}' && is_pictograph(before);
        if is_dangerous(c) && !joins_emoji {
            push_visible(&mut safe, c);
        } else {
            safe.push(c);
        }
        before = c;
    }
    Cow::Owned(safe)
}

/// Folds all white space into single blanks, then makes dangerous characters visible.
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

/// Says whether a character can move, hide or recolour what the reader sees.
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

fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{fe0f}' | '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

fn push_visible(out: &mut String, c: char) {
    match c {
        // The "control pictures" block shows C0 and DEL as one glyph each.
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
    fn nothing_dangerous_gets_through() {
        for (text, shown) in [
            ("plain\n\ttext ünï 日本", "plain\n\ttext ünï 日本"),
            ("\u{1b}[31mred\u{1b}[0m", "␛[31mred␛[0m"),
            ("\u{1b}]52;c;aGk=\u{7}", "␛]52;c;aGk=␇"),
            ("a\rb\u{8}c\u{7f}", "a␍b␈c␡"),
            ("\u{9b}31m", "⟨U+009B⟩31m"),
            ("abc\u{202e}fed", "abc⟨U+202E⟩fed"),
            ("hid\u{e0041}den\u{200b}", "hid⟨U+E0041⟩den⟨U+200B⟩"),
            ("👩\u{200d}💻 a\u{200d}b", "👩\u{200d}💻 a⟨U+200D⟩b"),
        ] {
            assert_eq!(for_terminal(text), shown);
        }
    }

    #[test]
    fn one_line_folds_white_space() {
        assert_eq!(one_line("  a\n\n b\u{1b}c\t d "), "a b␛c d");
    }
}
