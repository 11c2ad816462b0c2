//! New messages, and lists that replace others. Neither moves the selection unless a key asked for it.

use super::*;

impl App {
    /// Takes the result of a look for new messages. Shows them if a key asked for them, at the start, and while the
    /// first index is built. Otherwise only a mark says that there are some.
    pub(super) fn take_news(&mut self, is_done: bool, new: Option<usize>, text: &str) {
        self.freshness = one_line(text);
        let is_asked = is_done && std::mem::take(&mut self.wants_news);
        let is_settled = self.is_settled && is_done;
        self.is_settled |= is_done;
        let Some(new) = new else { return };
        if is_asked {
            self.show_news();
        } else if self.open.is_empty() && (!is_settled || self.entries.is_empty()) {
            self.list_again(if self.is_settled { Keep::Row } else { Keep::Nothing });
        } else if self.follow && self.open.last().is_some_and(Viewer::is_at_end) {
            self.read_again(OpenAt::End);
        } else {
            self.news = Some(self.news.unwrap_or(0) + new);
        }
    }

    /// Returns the mark for messages that are not shown yet.
    pub(crate) fn news_mark(&self) -> Option<String> {
        let key = self.setup.keys.first(self.place(), KeyAction::Reload);
        let what = self.news.map(|new| if new == 0 { "new output".to_string() } else { format!("{new} new") });
        what.filter(|_| !key.is_empty()).map(|what| format!("{what}, {key}"))
    }

    /// Looks for new messages and shows all of them, without leaving the place.
    pub(super) fn reload(&mut self) {
        self.effects.push(Effect::Check);
        self.wants_news = true;
        self.show_news();
    }

    fn show_news(&mut self) {
        self.news = None;
        match self.open.is_empty() {
            false => self.read_again(OpenAt::Same),
            true => self.list_again(Keep::Selection),
        }
    }

    fn list_again(&mut self, keep: Keep) {
        self.search();
        self.keep = keep;
    }

    /// Shows a new list.
    pub(super) fn list(&mut self, entries: Vec<Entry>) {
        let id = self.entries.get(self.selected).map(|entry| entry.id().to_string());
        let kept = entries.iter().position(|entry| Some(entry.id()) == id.as_deref());
        let keep = std::mem::take(&mut self.keep);
        let above = self.selected - self.top.min(self.selected);
        self.entries = entries;
        self.selected = kept.filter(|_| keep != Keep::Nothing).unwrap_or(0);
        self.top = if keep == Keep::Row { self.selected.saturating_sub(above) } else { 0 };
        let is_opening = matches!(self.opening, Some((_, Pane::Conversation, _)));
        if std::mem::take(&mut self.enters) && !self.entries.is_empty() {
            self.enter();
        } else if self.open.is_empty() && !is_opening {
            self.open_selected(Pane::Preview);
        }
    }

    pub(super) fn select(&mut self, entry: usize) {
        let last = self.entries.len().saturating_sub(1);
        let entry = entry.min(last);
        if entry != self.selected {
            self.selected = entry;
            self.open_selected(Pane::Preview);
        }
        let is_more = self.found.is_some_and(|(_, sessions, _)| sessions > self.entries.len());
        if entry == last && is_more {
            self.limit *= 2;
            self.list_again(Keep::Row);
        }
    }
}
