//! Windows above a screen: the help, lists to choose from, and a line to type.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear};
use tui_input::Input;
use unicode_width::UnicodeWidthStr as _;

use crate::tui::keys::KeyAction;
use crate::tui::theme::{Theme, cut};

/// The effect of choosing an entry of a list.
#[derive(Clone, Debug)]
pub(crate) enum Choice {
    /// Put this text at the end of the query.
    Add(String),
    /// Go to this block.
    Block(usize),
    /// Open this subagent.
    Agent(String),
}

/// A window above a screen.
pub(crate) enum Overlay {
    /// All keys, from this line on.
    Help(usize),
    /// The menu of all actions.
    Menu(Menu),
    /// A list to choose from.
    List { title: String, items: Vec<(String, Choice)>, at: usize },
    /// A search inside the conversation.
    Find(Input),
}

/// A menu of actions, each with a letter.
pub(crate) struct Menu {
    pub(crate) title: String,
    pub(crate) items: Vec<(char, String, KeyAction)>,
    pub(crate) at: usize,
}

impl Menu {
    pub(crate) fn step(&mut self, by: isize) {
        self.at = self.at.saturating_add_signed(by).min(self.items.len().saturating_sub(1));
    }

    pub(crate) fn chosen(&self) -> Option<KeyAction> {
        self.items.get(self.at).map(|(.., what)| *what)
    }

    pub(crate) fn by_letter(&self, letter: char) -> Option<KeyAction> {
        self.items.iter().find(|(other, ..)| *other == letter).map(|(.., what)| *what)
    }

    /// Returns the lines to show.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.items.iter().map(|(letter, text, _)| format!("{letter}  {text}")).collect()
    }
}

impl Overlay {
    /// Draws a window with lines, one of them chosen.
    pub(crate) fn window(
        frame: &mut Frame<'_>,
        area: Rect,
        theme: Theme,
        title: &str,
        lines: &[String],
        chosen: Option<usize>,
        from: usize,
    ) {
        let longest = lines.iter().map(|line| line.width()).chain([title.width() + 2]).max().unwrap_or(0);
        let width = area.width.saturating_sub(4).min(u16::try_from(longest + 4).unwrap_or(110)).min(110);
        let height = area.height.saturating_sub(2).min(u16::try_from(lines.len() + 2).unwrap_or(u16::MAX));
        let place = Rect {
            x: area.x + (area.width - width) / 2,
            y: area.y + (area.height.saturating_sub(height)) / 2,
            width,
            height,
        };
        frame.render_widget(Clear, place);
        frame.render_widget(
            Block::bordered().title(cut(&format!(" {title} "), usize::from(width.saturating_sub(2)))),
            place,
        );
        let rows = usize::from(height.saturating_sub(2));
        let from = match chosen {
            Some(at) => at.saturating_sub(rows.saturating_sub(1)),
            None => from.min(lines.len().saturating_sub(rows)),
        };
        for (row, (at, text)) in lines.iter().enumerate().skip(from).take(rows).enumerate() {
            let style = if chosen == Some(at) { theme.chosen() } else { ratatui::style::Style::new() };
            let text = cut(text, usize::from(width.saturating_sub(4)));
            let y = place.y + 1 + u16::try_from(row).unwrap_or(0);
            frame.render_widget(
                Line::from(Span::styled(text, style)),
                Rect { x: place.x + 2, y, width: width - 4, height: 1 },
            );
        }
    }
}
