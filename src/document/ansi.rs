//! Removes terminal escape sequences.

use std::borrow::Cow;

/// Removes terminal escape sequences from a text.
pub(super) fn strip_ansi(text: &str) -> Cow<'_, str> {
    if memchr::memchr(0x1b, text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(0x1b, rest.as_bytes()) {
        kept.push_str(&rest[..at]);
        rest = after_escape(&rest[at + 1..]);
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// Returns the text after an escape sequence. `rest` starts right after its ESC.
fn after_escape(rest: &str) -> &str {
    let mut chars = rest.chars();
    match chars.next() {
        Some('[') => {
            let body = chars.as_str();
            let end = body.find(|c: char| ('\u{40}'..='\u{7e}').contains(&c) || c == '\n');
            end.map_or("", |end| body[end..].strip_prefix(|c: char| c != '\n').unwrap_or(&body[end..]))
        }
        Some(']' | 'P' | '_' | '^') => {
            let body = chars.as_str();
            match body.find(['\u{7}', '\u{1b}', '\n']) {
                Some(end) => {
                    body[end..].strip_prefix("\u{1b}\\").or(body[end..].strip_prefix('\u{7}')).unwrap_or(&body[end..])
                }
                None => "",
            }
        }
        Some('(' | ')' | '#' | '%') => {
            chars.next();
            chars.as_str()
        }
        Some('\n') | None => rest,
        Some(_) => chars.as_str(),
    }
}
