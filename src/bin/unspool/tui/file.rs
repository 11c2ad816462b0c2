//! The File screen: who changed a file, with patches; who wrote each line; its versions.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unspool::archive::FileAnswer;
use unspool::archive::history::{Action, Blame, VersionInfo, Writer};
use unspool::error::Result;
use unspool::render::terminal::style::Screen;
use unspool::untrusted::{Untrusted, for_terminal, one_line};

use crate::tui::theme::{Theme, cut};

/// Lines of a patch that are shown.
const PATCH_LINES: usize = 40;

/// The File screen.
pub(crate) struct FileView {
    pub(crate) path: String,
    theme: Theme,
    screen: Screen,
    title: String,
    /// The lines, each with the message or session that Enter opens.
    lines: Vec<(Line<'static>, Option<String>)>,
    top: usize,
    height: usize,
}

impl FileView {
    pub(crate) fn new(path: String, theme: Theme, screen: Screen) -> Self {
        let title = "looking it up".to_string();
        Self { path, theme, screen, title, lines: Vec::new(), top: 0, height: 1 }
    }

    /// Takes an answer about the file.
    pub(crate) fn take(&mut self, answer: Result<Box<FileAnswer>>) {
        self.top = 0;
        self.lines.clear();
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
        self.lines.push((Line::from(head), Some(target.clone())));
        if let Some(prompt) = &action.prompt {
            let prompt = Span::styled(format!("  you: {}", prompt.line()), self.theme.dim());
            self.lines.push((Line::from(prompt), Some(target.clone())));
        }
        let patch = action.change.iter().flat_map(|hunk| &hunk.lines).take(PATCH_LINES);
        for text in patch {
            let style = match text.chars().next() {
                Some('+') => self.theme.added(),
                Some('-') => self.theme.removed(),
                _ => self.theme.dim(),
            };
            let shown = for_terminal(text).replace(['\t', '\n'], "    ");
            self.lines.push((Line::from(Span::styled(format!("    {shown}"), style)), Some(target.clone())));
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
            let line = Line::from(vec![
                Span::styled(format!("{:<13} {:<28} {:>5} ", time, cut(&prompt, 28), number + 1), self.theme.dim()),
                Span::styled(text, Style::new()),
            ]);
            self.lines.push((line, target));
        }
    }

    fn add_versions(&mut self, versions: &[VersionInfo]) {
        self.title = "versions, newest first; `unspool recover` writes one to a file".to_string();
        for version in versions {
            let time = self.screen.moment(version.time);
            let size = version.size.map(|(lines, bytes)| format!("{lines} lines, {bytes} bytes")).unwrap_or_default();
            let certain = if version.deleted {
                "deleted"
            } else if version.exact {
                "certain"
            } else {
                "not certain"
            };
            let text = format!(
                "{time:<13} {size:<26} {certain:<12} unspool recover {} --at {}",
                self.path,
                version.session.line()
            );
            self.lines.push((Line::from(text), Some(version.session.raw().to_string())));
        }
    }

    pub(crate) fn scroll(&mut self, by: isize) {
        let last = self.lines.len().saturating_sub(1);
        self.top = self.top.saturating_add_signed(by).min(last);
    }

    /// Returns the message or session of the line at the top.
    pub(crate) fn target(&self) -> Option<String> {
        self.lines.get(self.top).and_then(|(_, target)| target.clone())
    }

    pub(crate) fn draw(&mut self, frame: &mut Frame<'_>, area: Rect) {
        self.height = usize::from(area.height);
        let head = Line::from(vec![
            Span::styled(format!(" {} ", cut(&one_line(&self.path), usize::from(area.width) / 2)), self.theme.title()),
            Span::styled(self.title.clone(), self.theme.dim()),
        ]);
        frame.render_widget(head, Rect { height: 1.min(area.height), ..area });
        for (row, (line, _)) in self.lines.iter().skip(self.top).enumerate() {
            let y = area.y + 1 + u16::try_from(row).unwrap_or(u16::MAX / 2);
            if y >= area.bottom() {
                break;
            }
            if row == 0 {
                frame.buffer_mut().set_string(area.x, y, "▌", self.theme.key());
            }
            frame.render_widget(line, Rect { x: area.x + 1, y, width: area.width.saturating_sub(1), height: 1 });
        }
    }
}
