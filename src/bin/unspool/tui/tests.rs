//! Drives the state without a terminal, on the sessions in `fixtures/home`, and looks at the screens that it draws.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use unspool::archive::request::{Context, Filters};
use unspool::archive::{Archive, Local, ThreadRunner};
use unspool::render::terminal::style::Screen;
use unspool::transcript::discover::Root;

use super::app::{App, Effect, Setup};
use super::draw;
use super::keys::Keys;
use super::theme::Theme;
use super::worker;

/// 2026-11-16T12:00:00Z
const NOW: i64 = 1_794_830_400_000;

struct Ui {
    app: App,
    archive: Archive,
    context: Context,
    _folder: tempfile::TempDir,
}

impl Ui {
    fn new(query: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/home/.claude");
        let local = Arc::new(Local::new(vec![Root { path, required: true }], folder.path()));
        let archive = Archive::new(local.clone(), Box::new(ThreadRunner::new(local, || NOW)));
        archive.freshen(&mut |_| ()).expect("an index");
        let now = jiff::Timestamp::from_millisecond(NOW).expect("a time").to_zoned(jiff::tz::TimeZone::UTC);
        let context = Context { now, ..Context::default() };
        let screen = Screen { width: 80, now: NOW, zone: jiff::tz::TimeZone::UTC, home: None, ascii: false };
        let (keys, theme) = (Keys::new(&[]), Theme { colors: true });
        let setup = Setup { keys, theme, screen, filters: Filters::default(), reveal: false, pick: None };
        let mut ui = Self { app: App::new(setup, query.to_string(), Vec::new()), archive, context, _folder: folder };
        ui.settle();
        ui
    }

    /// Answers all questions.
    fn settle(&mut self) {
        while !self.app.asks.is_empty() {
            for (number, ask) in std::mem::take(&mut self.app.asks) {
                let answer = match worker::answer(&self.archive, ask, &self.context) {
                    worker::Answer::Search(found, _) => worker::Answer::Search(found, Duration::from_millis(4)),
                    other => other,
                };
                self.app.take(number, answer);
            }
        }
    }

    fn key(&mut self, code: KeyCode) {
        self.app.event(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        self.settle();
    }

    fn keys(&mut self, text: &str) {
        text.chars().for_each(|c| self.key(KeyCode::Char(c)));
    }

    fn screen(&mut self, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
        // Twice, because the first drawing tells the views their size.
        for _ in 0..2 {
            terminal.draw(|frame| draw::draw(&mut self.app, frame)).expect("drawn");
        }
        terminal.backend().to_string()
    }
}

#[test]
fn every_width_shows_the_query_the_best_session_and_whole_keys() {
    let mut ui = Ui::new("oauth retry");
    assert!(!ui.app.entries.is_empty());
    for (width, height) in [(250, 50), (120, 40), (100, 30), (80, 24), (60, 20), (40, 12), (40, 10)] {
        let screen = ui.screen(width, height);
        assert!(screen.contains("> oauth retry"), "{width}:\n{screen}");
        assert!(screen.contains("hit"), "{width}:\n{screen}");
        assert!(screen.contains("Enter open at hit"), "{width}:\n{screen}");
    }
    assert!(ui.screen(29, 5).contains("too small"));
}

#[test]
fn enter_opens_at_the_hit_and_n_walks_all_of_them() {
    let mut ui = Ui::new("Retry-After");
    ui.screen(80, 24);
    ui.key(KeyCode::Enter);
    let screen = ui.screen(80, 24);
    assert!(screen.to_lowercase().contains("retry-after"), "{screen}");
    let total = ui.app.open[0].hits();
    assert!(total > 1 && screen.contains(&format!("of {total}")), "{screen}");
    let start = ui.app.open[0].hit.expect("opened at a hit");
    for step in 1..=total {
        ui.keys("n");
        let screen = ui.screen(80, 24);
        let number = (start + step) % total + 1;
        assert!(screen.contains(&format!("hit {number} of {total}")), "{number}: {screen}");
        assert!(screen.to_lowercase().contains("retry"), "{screen}");
    }
    // Back to the same list.
    ui.keys("q");
    assert!(ui.screen(80, 24).contains("> Retry-After"));
}

#[test]
fn nothing_found_says_what_helps() {
    let mut ui = Ui::new("project:paperplane zzzqqqxxy");
    let screen = ui.screen(80, 24);
    assert!(screen.contains("searched in all sessions") && screen.contains("F5"), "{screen}");
}

#[test]
fn an_invalid_filter_keeps_the_last_results() {
    let mut ui = Ui::new("oauth ");
    let before = ui.app.entries.len();
    ui.app.event(&Event::Paste("since:soon".to_string()));
    ui.settle();
    assert!(ui.app.query_error.is_some() && ui.app.entries.len() == before);
}

#[test]
fn a_resize_keeps_the_place() {
    let mut ui = Ui::new("Retry-After");
    ui.screen(120, 30);
    ui.key(KeyCode::Enter);
    ui.screen(120, 30);
    let block = ui.app.open[0].current();
    ui.screen(50, 30);
    ui.screen(90, 30);
    assert_eq!(ui.app.open[0].current(), block);
}

#[test]
fn actions_become_effects() {
    let mut ui = Ui::new("oauth");
    ui.app.event(&Event::Key(KeyEvent::new(KeyCode::Char('r'), KeyModifiers::CONTROL)));
    assert!(matches!(ui.app.effects.as_slice(), [Effect::Resume { fork: false, .. }]));
}

#[test]
fn late_answers_are_dropped() {
    let mut ui = Ui::new("oaut");
    ui.keys("h");
    let before = ui.app.entries.len();
    assert!(before > 0);
    let answer = worker::Answer::Search(Ok(Box::default()), Duration::ZERO);
    ui.app.take(1, answer);
    assert_eq!(ui.app.entries.len(), before);
}
