//! Renders Markdown for a terminal: bold headings, marked code, wrapped prose, unwrapped tables.

use anstyle::{AnsiColor, Style};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// A part of a line in one style.
pub(super) type Span = (Style, String);
/// A line of styled text.
pub(super) type Line = Vec<Span>;

const PLAIN: Style = Style::new();
const CODE: Style = AnsiColor::Cyan.on_default();
const DIM: Style = Style::new().dimmed();

/// Returns the Markdown extensions that are enabled, here and in exports.
pub(super) fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Longest text that is laid out as Markdown, in bytes. The layout takes several times the memory of the text.
const LONGEST: usize = 1 << 20;
/// Longest part of a line that is wrapped at once, in bytes.
const PIECE: usize = 1 << 16;

/// Lays out Markdown in lines of at most `width` columns, but a huge text as it is. The text must already be safe for a
/// terminal.
pub(super) fn markdown(text: &str, width: usize) -> Box<dyn Iterator<Item = Line> + '_> {
    if text.len() > LONGEST { Box::new(plain(text, PLAIN, width)) } else { Box::new(blocks(text, width).into_iter()) }
}

fn blocks(text: &str, width: usize) -> Vec<Line> {
    let mut page = Page { width: width.max(20), ..Page::default() };
    Parser::new_ext(text, options()).for_each(|event| page.handle(event));
    page.flush();
    while page.lines.last().is_some_and(Vec::is_empty) {
        page.lines.pop();
    }
    page.lines
}

/// Lays out text that is not Markdown. Line breaks are kept, and long lines are wrapped.
pub(super) fn plain(text: &str, style: Style, width: usize) -> impl Iterator<Item = Line> {
    let pieces = text.trim_end().split('\n').flat_map(pieces);
    pieces.flat_map(move |piece| wrap(&[(style, piece.replace('\t', "    "))], width.max(20)))
}

/// Cuts a huge line into pieces at blanks, so that not all of its screen lines are in memory at once.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = text.floor_char_boundary(PIECE);
        let at = if end == text.len() { end } else { text[..end].rfind(' ').map_or(end, |blank| blank + 1) };
        rest = Some(&text[at..]).filter(|after| !after.is_empty());
        Some(&text[..at])
    })
}

#[derive(Default)]
struct Page {
    width: usize,
    lines: Vec<Line>,
    /// The current paragraph.
    spans: Vec<Span>,
    styles: Vec<Style>,
    /// The prefixes of each line: blanks in lists, bars in quotations.
    lead: Vec<String>,
    /// The prefix of the first line of a list item.
    bullet: Option<String>,
    lists: Vec<Option<u64>>,
    code: Option<String>,
    link: Option<(String, usize)>,
    rows: Vec<Vec<Vec<Span>>>,
}

impl Page {
    fn handle(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => self.spans.push((CODE, text.into_string())),
            Event::Html(text) | Event::InlineHtml(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text);
            }
            Event::FootnoteReference(name) => self.text(&format!("[^{name}]")),
            Event::SoftBreak | Event::HardBreak => self.spans.push((PLAIN, "\n".to_string())),
            Event::Rule => {
                self.gap();
                let width = self.room();
                self.put(vec![(DIM, "─".repeat(width))]);
            }
            Event::TaskListMarker(done) => self.spans.push((PLAIN, if done { "☑ " } else { "☐ " }.to_string())),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.gap(),
            Tag::Heading { level, .. } => {
                self.gap();
                let bold = Style::new().bold();
                self.styles.push(if level <= HeadingLevel::H2 { bold.underline() } else { bold });
            }
            Tag::BlockQuote(_) => {
                self.gap();
                self.lead.push("│ ".to_string());
            }
            Tag::CodeBlock(kind) => {
                self.gap();
                self.code = Some(String::new());
                if let CodeBlockKind::Fenced(name) = kind
                    && !name.is_empty()
                {
                    self.put(vec![(DIM, format!("┌ {name}"))]);
                }
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.gap();
                }
                self.flush();
                self.lists.push(first);
            }
            Tag::Item => {
                self.flush();
                let bullet = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_string(),
                };
                self.lead.push(" ".repeat(bullet.width()));
                self.bullet = Some(bullet);
            }
            Tag::Emphasis => self.style(Style::italic),
            Tag::Strong => self.style(Style::bold),
            Tag::Strikethrough => self.style(Style::strikethrough),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some((dest_url.into_string(), self.spans.len()));
                self.style(Style::underline);
            }
            Tag::Table(_) => {
                self.gap();
                self.rows.clear();
            }
            Tag::TableHead | Tag::TableRow => self.rows.push(Vec::new()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.lead.pop();
            }
            TagEnd::CodeBlock => self.code_block(),
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
            }
            TagEnd::Item => {
                self.flush();
                self.lead.pop();
                self.bullet = None;
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.styles.pop()),
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                if let Some((address, from)) = self.link.take() {
                    let shown: String = self.spans[from..].iter().map(|(_, text)| text.as_str()).collect();
                    if !address.is_empty() && address != shown && !address.starts_with('#') {
                        self.spans.push((DIM, format!(" ({address})")));
                    }
                }
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.spans);
                if let Some(row) = self.rows.last_mut() {
                    row.push(cell);
                }
            }
            TagEnd::Table => self.table(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        match &mut self.code {
            Some(code) => code.push_str(text),
            None => self.spans.push((self.styles.last().copied().unwrap_or(PLAIN), text.to_string())),
        }
    }

    fn style(&mut self, with: fn(Style) -> Style) {
        let now = self.styles.last().copied().unwrap_or(PLAIN);
        self.styles.push(with(now));
    }

    /// Adds an empty line before a block, unless there is one already or a list item starts here.
    fn gap(&mut self) {
        self.flush();
        if self.bullet.is_none() && self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(Vec::new());
        }
    }

    fn room(&self) -> usize {
        self.width.saturating_sub(self.lead.iter().map(|lead| lead.width()).sum()).max(20)
    }

    /// Wraps the current paragraph and adds its lines.
    fn flush(&mut self) {
        let spans = std::mem::take(&mut self.spans);
        if spans.iter().all(|(_, text)| text.trim().is_empty()) {
            return;
        }
        for line in wrap(&spans, self.room()) {
            self.put(line);
        }
    }

    /// Adds a line with its prefixes.
    fn put(&mut self, line: Line) {
        let mut lead: String = self.lead.concat();
        if let Some(bullet) = self.bullet.take() {
            lead.truncate(lead.len() - lead.len().min(bullet.width()));
            lead.push_str(&bullet);
        }
        let mut whole = Vec::with_capacity(line.len() + 1);
        if !lead.is_empty() {
            whole.push((DIM, lead));
        }
        whole.extend(line);
        self.lines.push(whole);
    }

    fn code_block(&mut self) {
        let code = self.code.take().unwrap_or_default();
        for line in code.trim_end_matches('\n').split('\n') {
            self.put(vec![(DIM, "│ ".to_string()), (CODE, line.replace('\t', "    "))]);
        }
    }

    /// Lays out a table with aligned columns.
    fn table(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let width = |cell: &Vec<Span>| cell.iter().map(|(_, text)| text.width()).sum::<usize>();
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> =
            (0..columns).map(|at| rows.iter().filter_map(|row| row.get(at)).map(width).max().unwrap_or(0)).collect();
        for (number, row) in rows.into_iter().enumerate() {
            let mut line = Vec::new();
            for (cell, widest) in row.into_iter().zip(&widths) {
                let blank = widest - width(&cell);
                line.extend(
                    cell.into_iter().map(|(style, text)| (if number == 0 { style.bold() } else { style }, text)),
                );
                line.push((PLAIN, " ".repeat(blank + 2)));
            }
            self.put(line);
            if number == 0 {
                let total = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
                self.put(vec![(DIM, "─".repeat(total))]);
            }
        }
    }
}

/// Breaks spans into lines at spaces. A word longer than a line is split, and Chinese, Japanese and Korean text
/// anywhere.
fn wrap(spans: &[Span], width: usize) -> Vec<Line> {
    let mut lines = vec![Line::new()];
    let mut used = 0;
    for (style, text) in spans {
        for word in text.split_inclusive([' ', '\n']) {
            let (word, breaks) = word.strip_suffix('\n').map_or((word, false), |word| (word, true));
            let long = word.trim_end().width();
            let is_splittable = word.chars().any(|c| c.width() == Some(2));
            if used > 0 && used + long > width && !is_splittable {
                trim(&mut lines);
                lines.push(Line::new());
                used = 0;
            }
            push_word(&mut lines, &mut used, *style, word, width);
            if breaks {
                lines.push(Line::new());
                used = 0;
            }
        }
    }
    trim(&mut lines);
    lines
}

/// Breaks a line that is longer than `width`, such as one of code, at any character. What frames it is repeated.
pub(super) fn broken(line: Line, width: usize) -> Vec<Line> {
    if line.iter().map(|(_, text)| text.width()).sum::<usize>() <= width {
        return vec![line];
    }
    let is_frame = |(_, text): &&Span| text.chars().all(|c| [' ', '│', '┊'].contains(&c));
    let frame: Line = line.iter().take_while(is_frame).cloned().collect();
    let room = width.saturating_sub(frame.iter().map(|(_, text)| text.width()).sum()).max(8);
    let (mut lines, mut used) = (vec![Line::new()], 0);
    for (style, text) in &line[frame.len()..] {
        push_word(&mut lines, &mut used, *style, text, room);
    }
    lines.into_iter().map(|rest| frame.iter().cloned().chain(rest).collect()).collect()
}

/// Removes trailing spaces from the last line.
fn trim(lines: &mut [Line]) {
    if let Some((_, text)) = lines.last_mut().and_then(|line| line.last_mut()) {
        text.truncate(text.trim_end_matches(' ').len());
    }
}

fn push_word(lines: &mut Vec<Line>, used: &mut usize, style: Style, word: &str, width: usize) {
    let mut piece = String::new();
    for c in word.chars() {
        let wide = c.width().unwrap_or(0);
        if *used + wide > width && c != ' ' {
            push_span(lines, style, std::mem::take(&mut piece));
            lines.push(Line::new());
            *used = 0;
        }
        piece.push(c);
        *used += wide;
    }
    push_span(lines, style, piece);
}

fn push_span(lines: &mut [Line], style: Style, text: String) {
    if let Some(line) = lines.last_mut().filter(|_| !text.is_empty()) {
        match line.last_mut().filter(|(last, _)| *last == style) {
            Some((_, before)) => before.push_str(&text),
            None => line.push((style, text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str, width: usize) -> String {
        let line = |line: &Line| line.iter().map(|(_, text)| text.as_str()).collect::<String>().trim_end().to_string();
        markdown(text, width).map(|laid_out| line(&laid_out)).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_huge_line_is_cut_at_blanks_and_nothing_is_lost() {
        for line in ["word ".repeat(PIECE), "é".repeat(PIECE), String::new(), "short".to_string()] {
            let found: Vec<&str> = pieces(&line).collect();
            assert_eq!(found.concat(), line);
            assert!(found.iter().all(|piece| piece.len() <= PIECE));
            let at_blanks = found.iter().rev().skip(1).all(|piece| piece.ends_with(' '));
            assert!(at_blanks || !line.contains(' '));
        }
    }

    #[test]
    fn blocks_are_laid_out() {
        for (text, shown) in [
            ("# Title\ntext", "Title\n\ntext"),
            ("one two three four five six", "one two three four\nfive six"),
            ("- a\n- b\n  - c\n- d", "• a\n• b\n  • c\n• d"),
            ("1. a\n2. b", "1. a\n2. b"),
            ("x\n\n```rust\nfn main() {}\n```\ny", "x\n\n┌ rust\n│ fn main() {}\n\ny"),
            ("> said\n> more", "│ said\n│ more"),
            ("see [docs](https://x.y)", "see docs\n(https://x.y)"),
            ("| a | b |\n|---|---|\n| long cell | 2 |", "a          b\n────────────\nlong cell  2"),
            ("line\nline", "line\nline"),
            ("a <b> c", "a <b> c"),
            ("- [x] done", "• ☑ done"),
        ] {
            assert_eq!(show(text, 20), shown, "{text}");
        }
    }

    #[test]
    fn chinese_fills_the_line() {
        assert_eq!(
            show("就是 N+1 问题每条记录都会触发两次额外查询", 20),
            "就是 N+1 问题每条记\n录都会触发两次额外查\n询"
        );
        assert_eq!(show("wait for the sidecar containers", 20), "wait for the sidecar\ncontainers");
    }

    #[test]
    fn a_long_line_is_broken_with_its_frame() {
        let line = |text: &str| vec![(DIM, "  │ ".to_string()), (CODE, text.to_string())];
        let broken = |text: &str| broken(line(text), 14).into_iter().map(|line| line[1].1.clone()).collect::<Vec<_>>();
        assert_eq!(broken("short"), ["short"]);
        assert_eq!(broken("one two three four"), ["one two th", "ree four"]);
        assert_eq!(broken("汉字汉字汉字"), ["汉字汉字汉", "字"]);
    }

    #[test]
    fn a_huge_text_is_shown_as_it_is() {
        let text = format!("# Title\n{}", "line\n".repeat(LONGEST / 5));
        assert!(show(&text, 20).starts_with("# Title\nline\n"));
    }
}
