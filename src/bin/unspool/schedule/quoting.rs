//! Words on their way into unit files, crontabs and property lists: quoted where quoting is plain, refused where it is
//! not.
//!
//! `%` is a specifier in a unit and a newline in a crontab, quotes and backslashes mean something else in each of
//! them. Nobody's folder needs them; refusing is the one answer that cannot go wrong.

use std::ffi::OsStr;

use unspool::error::{Error, ErrorKind};

/// Takes a word that every scheduler can carry, or says why not.
pub(crate) fn plain(word: &OsStr) -> Result<String, Error> {
    let refuse = |why: &str| {
        let shown: String = word.to_string_lossy().chars().flat_map(char::escape_debug).take(200).collect();
        Err(Error::new(ErrorKind::Usage, format!("cannot schedule with \"{shown}\": it holds {why}"))
            .hint("use a folder with a plainer name, for example through a symbolic link"))
    };
    let Some(text) = word.to_str() else { return refuse("bytes that are no text") };
    match text.chars().find(|c| matches!(c, '%' | '"' | '\'' | '\\') || c.is_control()) {
        None => Ok(text.to_string()),
        Some('%') => refuse("a percent sign"),
        Some('"' | '\'') => refuse("a quotation mark"),
        Some('\\') => refuse("a backslash"),
        Some(_) => refuse("a control character"),
    }
}

/// A word in a systemd unit.
pub(crate) fn systemd(word: &str) -> String {
    // A dollar begins a variable, quoted or not.
    quoted(&word.replace('$', "$$"), '"')
}

/// A word for the shell that cron starts.
pub(crate) fn shell(word: &str) -> String {
    quoted(word, '\'')
}

/// Text between the tags of an XML file.
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
    fn what_cannot_be_quoted_is_refused() {
        for word in ["/a%b", "/a\"b", "/a'b", "/a\\b", "/a\nb", "/a\tb", "/a\u{7f}b", "/a\u{85}b"] {
            assert!(plain(OsStr::new(word)).is_err(), "{word:?}");
        }
        for word in ["/a b", "/a$b", "/ä/日本", "/a;b", "/a`b`", "/a#b", ""] {
            assert_eq!(plain(OsStr::new(word)).expect("plain"), word);
        }
    }

    #[test]
    fn each_language_has_its_quotes() {
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
