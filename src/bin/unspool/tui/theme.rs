//! Styles of the UI, and text cut to the width of its place. Hits are bold and underlined, so that they are seen without
//! colours as well.

use std::ops::Range;

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;
use unspool::render::blocks;

/// The styles of the UI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Theme {
    /// False with `NO_COLOR`.
    pub(crate) colors: bool,
    /// Set if the background is light.
    pub(crate) light: bool,
}

impl Theme {
    fn fg(self, color: Color) -> Style {
        let color = match color {
            // Hardly legible on white.
            Color::Yellow if self.light => Color::Magenta,
            Color::Cyan if self.light => Color::Blue,
            other => other,
        };
        if self.colors { Style::new().fg(color) } else { Style::new() }
    }

    pub(crate) fn hit(self) -> Style {
        self.fg(Color::Yellow).add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
    }

    pub(crate) fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(crate) fn title(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(crate) fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub(crate) fn key(self) -> Style {
        self.fg(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    pub(crate) fn bad(self) -> Style {
        self.fg(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub(crate) fn added(self) -> Style {
        self.fg(Color::Green)
    }

    pub(crate) fn removed(self) -> Style {
        self.fg(Color::Red)
    }

    /// Returns the style of a span that the library laid out.
    fn of(self, style: blocks::Style) -> Style {
        let mut found = match style.get_fg_color() {
            Some(blocks::Color::Ansi(color)) => self.fg(named(color)),
            _ => Style::new(),
        };
        let effects = style.get_effects();
        for (effect, modifier) in [
            (blocks::Effects::BOLD, Modifier::BOLD),
            (blocks::Effects::DIMMED, Modifier::DIM),
            (blocks::Effects::ITALIC, Modifier::ITALIC),
            (blocks::Effects::UNDERLINE, Modifier::UNDERLINED),
            (blocks::Effects::STRIKETHROUGH, Modifier::CROSSED_OUT),
        ] {
            if effects.contains(effect) {
                found = found.add_modifier(modifier);
            }
        }
        found
    }

    /// Returns a line with ranges of its text marked as hits.
    pub(crate) fn line(self, spans: &[(blocks::Style, String)], marks: &[Range<usize>]) -> Line<'static> {
        let styled: Vec<(Style, &str)> = spans.iter().map(|(style, text)| (self.of(*style), text.as_str())).collect();
        self.marked(&styled, marks)
    }

    /// Returns a line of styled texts with ranges of the whole text marked as hits.
    pub(crate) fn marked(self, spans: &[(Style, &str)], marks: &[Range<usize>]) -> Line<'static> {
        let mut line = Vec::new();
        let mut at = 0;
        for (style, text) in spans {
            let mut rest = *text;
            while !rest.is_empty() {
                let inside = marks.iter().find(|range| range.contains(&at));
                let next = marks.iter().map(|range| range.start).filter(|from| *from > at).min().unwrap_or(usize::MAX);
                let stop = inside.map_or(next, |range| range.end).min(at + rest.len());
                let (piece, after) = rest.split_at(rest.ceil_char_boundary(stop - at).max(1).min(rest.len()));
                let shown = if inside.is_some() { self.hit() } else { *style };
                line.push(Span::styled(piece.to_string(), shown));
                at += piece.len();
                rest = after;
            }
        }
        Line::from(line)
    }
}

fn named(color: blocks::AnsiColor) -> Color {
    match color {
        blocks::AnsiColor::Red | blocks::AnsiColor::BrightRed => Color::Red,
        blocks::AnsiColor::Green | blocks::AnsiColor::BrightGreen => Color::Green,
        blocks::AnsiColor::Yellow | blocks::AnsiColor::BrightYellow => Color::Yellow,
        blocks::AnsiColor::Blue | blocks::AnsiColor::BrightBlue => Color::Blue,
        blocks::AnsiColor::Magenta | blocks::AnsiColor::BrightMagenta => Color::Magenta,
        blocks::AnsiColor::Cyan | blocks::AnsiColor::BrightCyan => Color::Cyan,
        _ => Color::Reset,
    }
}

/// Cuts a line to a number of columns.
pub(crate) fn cut_line(line: Line<'static>, width: usize) -> Line<'static> {
    if line.width() <= width {
        return line;
    }
    let mut left = width;
    let mut kept = Line::default();
    for span in line.spans {
        let is_last = span.width() > left;
        // A span that fits exactly still needs room for the ellipsis of what follows.
        let text =
            if is_last || span.width() < left { cut(&span.content, left) } else { cut(&(span.content + "  "), left) };
        left = left.saturating_sub(text.width());
        kept.push_span(Span::styled(text, span.style));
        if left == 0 {
            break;
        }
    }
    kept
}

/// Cuts a text to a number of columns, and keeps its end.
pub(crate) fn cut_start(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_string();
    }
    let mut start = text.len();
    let mut used = 1;
    for (at, letter) in text.grapheme_indices(true).rev() {
        used += letter.width();
        if used > width {
            break;
        }
        start = at;
    }
    format!("…{}", &text[start..])
}

/// Cuts a text to a number of columns. What is cut off is replaced by an ellipsis.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_string();
    }
    let mut kept = String::new();
    let mut used = 0;
    for letter in text.graphemes(true) {
        if used + letter.width() + 1 > width {
            break;
        }
        used += letter.width();
        kept.push_str(letter);
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_whole_letters() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("汉字汉", 4), "汉…");
        assert_eq!(cut("e\u{301}e\u{301}e", 2), "e\u{301}…");
        assert_eq!(cut_start("/a/bcd", 4), "…bcd");
        assert_eq!(cut_start("汉字汉", 4), "…汉");
    }

    #[test]
    fn lines_are_cut_in_any_span() {
        let line = |width| cut_line(Line::from(vec![Span::raw("abc"), Span::raw("def")]), width).to_string();
        assert_eq!([line(6), line(5), line(4), line(3), line(2)], ["abcdef", "abcd…", "abc…", "ab…", "a…"]);
    }
}
