//! Quotes words for unit files, crontabs and property lists. Words that are hard to quote are refused.
//!
//! `%` is a specifier in a unit and a newline in a crontab. Quotes and backslashes differ between the formats. Folder
//! names rarely contain them, and refusing them is always safe.

use std::ffi::OsStr;

use unspool::error::{Error, ErrorKind};

/// Returns a word as text, or an error if not every scheduler can represent it.
pub(crate) fn plain(word: &OsStr) -> Result<String, Error> {
    let refuse = |why: &str| {
        let shown: String = word.to_string_lossy().chars().flat_map(char::escape_debug).take(200).collect();
        Err(Error::new(ErrorKind::Usage, format!("cannot schedule with \"{shown}\": it contains {why}"))
            .hint("use a folder with a simpler name, for example through a symbolic link"))
    };
    let Some(text) = word.to_str() else { return refuse("bytes that are not valid UTF-8") };
    match text.chars().find(|c| matches!(c, '%' | '"' | '\'' | '\\') || c.is_control()) {
        None => Ok(text.to_string()),
        Some('%') => refuse("a percent sign"),
        Some('"' | '\'') => refuse("a quotation mark"),
        Some('\\') => refuse("a backslash"),
        Some(_) => refuse("a control character"),
    }
}

/// Quotes a word for a systemd unit.
pub(crate) fn systemd(word: &str) -> String {
    // A dollar sign starts a variable, even inside quotes.
    quoted(&word.replace('$', "$$"), '"')
}

/// Quotes a word for the shell that cron starts.
pub(crate) fn shell(word: &str) -> String {
    quoted(word, '\'')
}

/// Escapes text for XML.
pub(crate) fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn quoted(word: &str, quote: char) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@".contains(c);
    if !word.is_empty() && word.chars().all(is_bare) { word.to_string() } else { format!("{quote}{word}{quote}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_hard_to_quote_are_refused() {
        for word in ["/a%b", "/a\"b", "/a'b", "/a\\b", "/a\nb", "/a\tb", "/a\u{7f}b", "/a\u{85}b"] {
            assert!(plain(OsStr::new(word)).is_err(), "{word:?}");
        }
        for word in ["/a b", "/a$b", "/ä/日本", "/a;b", "/a`b`", "/a#b", ""] {
            assert_eq!(plain(OsStr::new(word)).expect("plain"), word);
        }
    }

    #[test]
    fn each_format_has_its_quotes() {
        for (word, unit, sh) in [
            ("/a/b-c.d", "/a/b-c.d", "/a/b-c.d"),
            ("/a b", "\"/a b\"", "'/a b'"),
            ("/a$b", "\"/a$$b\"", "'/a$b'"),
            ("/a;b#c`d`", "\"/a;b#c`d`\"", "'/a;b#c`d`'"),
            ("", "\"\"", "''"),
        ] {
            assert_eq!((systemd(word).as_str(), shell(word).as_str()), (unit, sh));
        }
    }
}
