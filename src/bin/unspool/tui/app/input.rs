//! Keys, pasted text and the mouse: what they do in the state.

use super::*;
use ratatui::crossterm::event::{Event, KeyEvent, KeyEventKind, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;
use tui_input::backend::crossterm::EventHandler as _;

impl App {
    /// Takes an event of the terminal.
    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(*key),
            Event::Paste(text) => self.paste(text),
            Event::Mouse(mouse) => self.mouse(*mouse),
            _ => {}
        }
    }

    fn paste(&mut self, text: &str) {
        self.is_settled = true;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some(Overlay::Find(input)) = &mut self.overlay {
            *input = Input::new(format!("{}{text}", input.value()));
        } else if self.place() == Place::Search {
            let (before, after) = self.input.value().split_at(self.cursor_byte());
            let cursor = before.chars().count() + text.chars().count();
            self.input = Input::new(format!("{before}{text}{after}")).with_cursor(cursor);
            self.typed();
        }
    }

    fn cursor_byte(&self) -> usize {
        let value = self.input.value();
        value.char_indices().nth(self.input.cursor()).map_or(value.len(), |(at, _)| at)
    }

    fn key(&mut self, key: KeyEvent) {
        self.status_line = None;
        self.is_settled = true;
        if self.overlay.is_some() {
            return self.overlay_key(key);
        }
        match self.setup.keys.action(self.place(), key) {
            Some(what) => self.act(what),
            None if self.place() == Place::Search => {
                let before = self.input.value().to_string();
                self.input.handle_event(&Event::Key(key));
                if self.input.value() != before {
                    self.typed();
                }
            }
            None => {}
        }
    }

    fn overlay_key(&mut self, key: KeyEvent) {
        use ratatui::crossterm::event::KeyCode::{Char, Down, Enter, Esc, PageDown, PageUp, Up};
        let is_ctrl_c = key.code == Char('c') && !key.modifiers.is_empty();
        if key.code == Esc || is_ctrl_c {
            self.overlay = None;
            return;
        }
        match &mut self.overlay {
            Some(Overlay::Help(from)) => match key.code {
                Down | Char('j') => *from += 1,
                PageDown | Char(' ') => *from += 15,
                Up | Char('k') => *from = from.saturating_sub(1),
                PageUp => *from = from.saturating_sub(15),
                _ => self.overlay = None,
            },
            Some(Overlay::Menu(menu)) => {
                let chosen = match key.code {
                    Enter => menu.chosen(),
                    Char(letter) => menu.by_letter(letter),
                    _ => None,
                };
                match (key.code, chosen) {
                    (Down, _) => menu.step(1),
                    (Up, _) => menu.step(-1),
                    (_, Some(what)) => {
                        self.overlay = None;
                        self.act(what);
                    }
                    (..) => {}
                }
            }
            Some(Overlay::List { items, at, .. }) => match key.code {
                Down | Char('j') => *at = (*at + 1).min(items.len().saturating_sub(1)),
                Up | Char('k') => *at = at.saturating_sub(1),
                PageDown => *at = (*at + 10).min(items.len().saturating_sub(1)),
                PageUp => *at = at.saturating_sub(10),
                Enter => {
                    let choice = items.get(*at).map(|(_, choice)| choice.clone());
                    self.overlay = None;
                    self.choose(choice);
                }
                _ => {}
            },
            Some(Overlay::Find(input)) if key.code == Enter => {
                let text = input.value().to_string();
                self.overlay = None;
                self.find_inside(text);
            }
            Some(Overlay::Find(input)) => drop(input.handle_event(&Event::Key(key))),
            None => {}
        }
    }

    fn choose(&mut self, choice: Option<Choice>) {
        match choice {
            Some(Choice::Add(text)) => {
                let query = format!("{} {text}", self.input.value().trim_end());
                self.set_query(query.trim_start().to_string());
            }
            Some(Choice::Block(block)) => {
                if let Some(viewer) = self.open.last_mut() {
                    viewer.go_to(block);
                }
            }
            Some(Choice::Agent(id)) => self.open_id(id, Pane::Above, OpenAt::Start),
            None => {}
        }
    }

    /// Searches inside the conversation.
    fn find_inside(&mut self, text: String) {
        if text.trim().is_empty() {
            return;
        }
        self.find = Some(text);
        let Some(viewer) = self.open.last() else { return };
        let from = viewer.current();
        self.read_again(OpenAt::Find(from));
    }

    fn mouse(&mut self, mouse: MouseEvent) {
        let row = mouse.row;
        let inside = |area: Rect| area.contains(Position { x: mouse.column, y: row });
        let by = match mouse.kind {
            MouseEventKind::ScrollDown => 3,
            MouseEventKind::ScrollUp => -3,
            MouseEventKind::Down(MouseButton::Left) => 0,
            _ => return,
        };
        self.is_settled = true;
        self.status_line = None;
        if self.overlay.is_some() {
            return self.mouse_in_overlay(by);
        }
        let clicked = self.clicks.iter().find(|(area, _)| by == 0 && inside(*area)).map(|(_, what)| *what);
        if let Some(what) = clicked {
            return self.act(what);
        }
        if let Some(file) = &mut self.file {
            if by != 0 {
                file.step(by);
            } else if row > self.view_area.y && file.click(usize::from(row - self.view_area.y) - 1) {
                self.act(KeyAction::Open);
            }
            return;
        }
        if let Some(viewer) = self.open.last_mut() {
            if by != 0 {
                viewer.scroll(by);
            } else if inside(self.view_area)
                && let Some(block) = viewer.block_at_row(usize::from(row - self.view_area.y))
            {
                self.fold(block);
            }
        } else if inside(self.list_area) {
            let clicked = self.rows.get(usize::from(row - self.list_area.y)).copied();
            match (by, clicked) {
                (0, Some(entry)) if entry == self.selected => self.act(KeyAction::Open),
                (0, Some(entry)) => self.select(entry),
                (0, None) => {}
                (by, _) => self.select(self.selected.saturating_add_signed(by.signum())),
            }
        } else if let Some(viewer) = self.preview.as_mut().filter(|_| inside(self.view_area)) {
            viewer.scroll(by);
        }
    }

    /// Moves in an overlay with the wheel. A click closes it.
    fn mouse_in_overlay(&mut self, by: isize) {
        use ratatui::crossterm::event::KeyCode::{Down, Esc, Up};
        let code = match by {
            0 => Esc,
            1.. => Down,
            _ => Up,
        };
        self.overlay_key(KeyEvent::from(code));
    }
}
