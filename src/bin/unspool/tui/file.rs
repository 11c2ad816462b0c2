//! The File screen: who changed a file, with patches; who wrote each line; its versions.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr as _;
use unspool::archive::history::{Action, Blame, VersionInfo, Writer};
use unspool::archive::{FileAnswer, quoted, timestamp};
use unspool::error::Result;
use unspool::render::terminal::style::Screen;
use unspool::untrusted::{Untrusted, for_terminal, one_line};

use crate::tui::theme::{Theme, cut, cut_line, cut_start};

/// Columns of the prompt beside a line.
const PROMPT_WIDTH: usize = 28;
/// Lines of a patch that are shown.
const PATCH_LINES: usize = 40;

/// A row of the screen.
struct Row {
    line: Line<'static>,
    /// The message or session that Enter opens.
    target: Option<String>,
    /// The command that recovers this version.
    command: Option<String>,
}

impl Row {
    fn new(line: impl Into<Line<'static>>, target: Option<String>) -> Self {
        Self { line: line.into(), target, command: None }
    }
}

/// The File screen.
pub(crate) struct FileView {
    pub(crate) path: String,
    theme: Theme,
    screen: Screen,
    title: String,
    rows: Vec<Row>,
    /// The row at the top of the screen, and the one at the cursor.
    top: usize,
    at: usize,
}

impl FileView {
    pub(crate) fn new(path: String, theme: Theme, screen: Screen) -> Self {
        let title = "looking it up".to_string();
        Self { path, theme, screen, title, rows: Vec::new(), top: 0, at: 0 }
    }

    /// Takes an answer about the file.
    pub(crate) fn take(&mut self, answer: Result<Box<FileAnswer>>) {
        (self.top, self.at) = (0, 0);
        self.rows.clear();
        match answer.map(|answer| *answer) {
            Ok(FileAnswer::Actions(files)) => {
                self.title = "changes, newest first".to_string();
                for file in &files {
                    for action in &file.actions {
                        self.add_action(action);
                    }
                }
            }
            Ok(FileAnswer::Blame(blame)) => self.add_blame(&blame),
            Ok(FileAnswer::Versions { versions, .. }) => self.add_versions(&versions),
            Ok(FileAnswer::Nothing(note)) => self.title = one_line(&note.to_string()),
            Ok(_) => self.title = "nothing to show".to_string(),
            Err(error) => self.title = one_line(&error.to_string()),
        }
    }

    fn add_action(&mut self, action: &Action) {
        let target = action.uuid.as_ref().unwrap_or(&action.session.id).raw().to_string();
        let time = action.time.map(|time| self.screen.moment(time)).unwrap_or_default();
        let extent = match (action.added, action.removed) {
            (Some(added), Some(removed)) => format!("  +{added} −{removed}"),
            _ => String::new(),
        };
        let head = vec![
            Span::styled(format!("{time:<13}"), self.theme.dim()),
            Span::styled(format!("{}{extent}  ", action.what.name()), self.theme.key()),
            Span::styled(action.session.title.line(), self.theme.title()),
        ];
        self.rows.push(Row::new(head, Some(target.clone())));
        if let Some(prompt) = &action.prompt {
            let prompt = Span::styled(format!("  you: {}", prompt.line()), self.theme.dim());
            self.rows.push(Row::new(prompt, Some(target.clone())));
        }
        let patch = action.change.iter().flat_map(|hunk| &hunk.lines).take(PATCH_LINES);
        for text in patch {
            let style = match text.chars().next() {
                Some('+') => self.theme.added(),
                Some('-') => self.theme.removed(),
                _ => self.theme.dim(),
            };
            let shown = for_terminal(text).replace(['\t', '\n'], "    ");
            self.rows.push(Row::new(Span::styled(format!("    {shown}"), style), Some(target.clone())));
        }
    }

    fn add_blame(&mut self, blame: &Blame) {
        self.title = "who wrote each line".to_string();
        for (number, (text, writer)) in blame.lines.iter().enumerate() {
            let action = match writer {
                Writer::Action(at) => blame.actions.get(*at),
                Writer::Before | Writer::Outside { .. } => None,
            };
            let prompt = action.and_then(|action| action.prompt.as_ref()).map(Untrusted::line).unwrap_or_default();
            let time = action.and_then(|action| action.time).map(|time| self.screen.moment(time)).unwrap_or_default();
            let target = action.map(|action| action.uuid.as_ref().unwrap_or(&action.session.id).raw().to_string());
            let text = text.term().replace('\t', "    ");
            let prompt = cut(&prompt, PROMPT_WIDTH);
            let gap = " ".repeat(PROMPT_WIDTH - prompt.width());
            let line = Line::from(vec![
                Span::styled(format!("{time:<13} {prompt}{gap} {:>5} ", number + 1), self.theme.dim()),
                Span::styled(text, Style::new()),
            ]);
            self.rows.push(Row::new(line, target));
        }
    }

    fn add_versions(&mut self, versions: &[VersionInfo]) {
        self.title = "versions, newest first".to_string();
        for version in versions {
            let time = self.screen.moment(version.time);
            let size = version.size.map(|(lines, bytes)| format!("{lines} lines, {bytes} bytes")).unwrap_or_default();
            let certain = match (version.deleted, version.exact) {
                (true, _) => "deleted",
                (false, true) => "certain",
                (false, false) => "not certain",
            };
            let what = version.action.as_ref().map_or("backup", |action| action.what.name());
            let title = version.action.as_ref().map(|action| action.session.title.line()).unwrap_or_default();
            let text = format!("{time:<13} {what:<8} {size:<26} {certain:<12} {title}");
            let command = format!("unspool recover {} --at {}", quoted(&self.path), timestamp(version.time));
            let command = Some(command).filter(|_| !version.deleted);
            self.rows.push(Row { line: Line::from(text), target: Some(version.session.raw().to_string()), command });
        }
    }

    /// Moves the cursor.
    pub(crate) fn step(&mut self, by: isize) {
        self.at = self.at.saturating_add_signed(by).min(self.rows.len().saturating_sub(1));
    }

    /// Moves the cursor to a row of the screen, below the head. Reports whether it was there before.
    pub(crate) fn click(&mut self, row: usize) -> bool {
        let clicked = (self.top + row).min(self.rows.len().saturating_sub(1));
        std::mem::replace(&mut self.at, clicked) == clicked
    }

    /// Returns the message or session of the row at the cursor.
    pub(crate) fn target(&self) -> Option<String> {
        self.rows.get(self.at)?.target.clone()
    }

    /// Returns the command that recovers the version at the cursor.
    pub(crate) fn command(&self) -> Option<String> {
        self.rows.get(self.at)?.command.clone()
    }

    pub(crate) fn draw(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let height = usize::from(area.height.saturating_sub(1)).max(1);
        self.top = self.top.clamp((self.at + 1).saturating_sub(height), self.at);
        let home = self.screen.home.clone().unwrap_or_default();
        let path = match self.path.strip_prefix(&home) {
            Some(rest) if !home.is_empty() => format!("~{rest}"),
            _ => self.path.clone(),
        };
        let room = usize::from(area.width).saturating_sub(self.title.width() + 4);
        let head = Line::from(vec![
            Span::styled(format!(" {}  ", cut_start(&one_line(&path), room.max(12))), self.theme.title()),
            Span::styled(self.title.clone(), self.theme.dim()),
        ]);
        frame.render_widget(head, Rect { height: 1, ..area });
        for (y, (at, row)) in (area.y + 1..area.bottom()).zip(self.rows.iter().enumerate().skip(self.top)) {
            if at == self.at {
                frame.buffer_mut().set_string(area.x, y, "▌", self.theme.key());
            }
            let width = area.width.saturating_sub(1);
            let line = cut_line(row.line.clone(), usize::from(width));
            frame.render_widget(line, Rect { x: area.x + 1, y, width, height: 1 });
        }
    }
}
