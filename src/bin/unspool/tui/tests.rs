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
        let (keys, theme) = (Keys::new(&[]), Theme { colors: true, light: false });
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

/// Returns the screen without the quotation marks and the blanks at the end of its rows.
fn rows(screen: &str) -> String {
    screen.lines().map(|row| row.trim_matches('"').trim_end()).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_list_at_four_widths() {
    let mut ui = Ui::new("Retry-After");
    insta::assert_snapshot!(rows(&ui.screen(120, 18)), @r"
     > Retry-After                                                      here  project  all   best  20 hits, 8 sessions  4 ms
    ▌ Token refresh gives up after the f…  12 hits  Mar 12 10:06│ ↳ Survey Retry-After handling                 hit 9 of 12
    ▌   paperplane  fix/oauth-429                       05000001│
    ▌   ↳ subagent Survey Retry-After handling                  │ agent  Mar 12 10:05
    ▌   you …hough they send `Retry-After: 17`. I think parseR… │ │ Survey every HTTP client in /home/dana/code/paperplane
    ▌   ↳ Grep (?i)retry-after /home/dana/code/paperplane/src/… │ │ (src/clients/*) and report how each one treats the
      the camera jitters when the golem fa…  1 hit  Mar  1 21:11│ │ Retry-After header: ignored, seconds only, or seconds
        moss_golem  fix/jitter                          13000001│ │ and HTTP-date. Include file and line.
        you second root after a rewind: does the same trick wo… │
      After I moved the ledger into its ow…  1 hit  Feb 10 09:14│ claude  Mar 12 10:05
        paperplane  chore/split-ledger                  00000001│   ▸ Grep 2 hits  src/clients (?i)ret… → 2 lines: src/clie…
        you After I moved the ledger into its own module `carg… │   ▸ thinking: payout_bank parses u64 directly, so an HTT…
      On narrow screens the sidebar of the b…  1 hit  2025-11-29│
        notes.dana.dev  redesign                        04000001│   src/clients/fx_rates.rs:41 ignores it;
        Bash …-cli before.png after.png --threshold 0.1 Build … │   src/clients/payout_bank.rs:88 reads seconds only;
      Plan and write the database migratio…  1 hit  Feb 24 13:23│   src/auth/token.rs:22 reads HTTP-date only. Nobody
        paperplane  db/migrate-amounts                  12000001│   handles both. Note that payout_bank.rs propagates the
     Enter open at hit  ^R resume  ^X more  F1 help  Tab scope  ^Y copy command  ^T order  ^F filters
    ");
    insta::assert_snapshot!(rows(&ui.screen(80, 18)), @r"
     > Retry-After                          here  project  all   best  20 in 8  4 ms
    ▌ Token refresh gives up after the first HTTP 429 from t…  12 hits  Mar 12 10:06
    ▌   paperplane  fix/oauth-429                                           05000001
    ▌   ↳ subagent Survey Retry-After handling
    ▌   you …r, although they send `Retry-After: 17`. I think parseRetryAfter in s…
    ▌   ↳ Grep (?i)retry-after /home/dana/code/paperplane/src/clients content
      the camera jitters when the golem falls. physics at 60 H…  1 hit  Mar  1 21:11
        moss_golem  fix/jitter                                              13000001
        you second root after a rewind: does the same trick work for the particle …
      After I moved the ledger into its own module `cargo buil…  1 hit  Feb 10 09:14
    ──↳ Survey Retry-After handling─────────────────────────────────────hit 9 of 12

     agent  Mar 12 10:05
     │ Survey every HTTP client in /home/dana/code/paperplane (src/clients/*) and
     │ report how each one treats the Retry-After header: ignored, seconds only, or
     │ seconds and HTTP-date. Include file and line.

     Enter open at hit  ^R resume  ^X more  F1 help  Tab scope  ^Y copy command
    ");
    insta::assert_snapshot!(rows(&ui.screen(60, 12)), @r"
     > Retry-After                                 all   20 in 8
    ▌ Token refresh gives up after the f…  12 hits  Mar 12 10:06
    ▌   paperplane  fix/oauth-429                       05000001
    ▌   ↳ subagent Survey Retry-After handling
      the camera jitters when the golem fa…  1 hit  Mar  1 21:11
        moss_golem  fix/jitter                          13000001
        you second root after a rewind: does the same trick wo…
      After I moved the ledger into its ow…  1 hit  Feb 10 09:14
        paperplane  chore/split-ledger                  00000001
        you After I moved the ledger into its own module `carg…
      On narrow screens the sidebar of the b…  1 hit  2025-11-29
     Enter open at hit  ^R resume  ^X more  F1 help  Tab scope
    ");
    insta::assert_snapshot!(rows(&ui.screen(40, 10)), @r"
     > Retry-After             all   20 in 8
    ▌ Token refresh gives…  12  Mar 12 10:06
    ▌   paperplane  fix/oauth-429   05000001
    ▌   ↳ subagent Survey Retry-After hand…
      the camera jitters w…  1  Mar  1 21:11
        moss_golem  fix/jitter      13000001
        you second root after a rewind: do…
      After I moved the le…  1  Feb 10 09:14
        paperplane  chore/split-l…  00000001
     Enter open at hit  ^R resume  ^X more
    ");
}

#[test]
fn a_conversation_at_four_widths() {
    let mut ui = Ui::new("Retry-After");
    ui.screen(120, 18);
    ui.key(KeyCode::Enter);
    insta::assert_snapshot!(rows(&ui.screen(120, 16)), @r"
     ↳ Survey Retry-After handling  paperplane  fix/oauth-429                                                hit 9 of 12
    ▌                                                                                                                      ┃
    ▌agent  Mar 12 10:05                                                                                                   │
    ▌│ Survey every HTTP client in /home/dana/code/paperplane (src/clients/*) and report how each one treats the           │
    ▌│ Retry-After header: ignored, seconds only, or seconds and HTTP-date. Include file and line.                         █
                                                                                                                           │
     claude  Mar 12 10:05                                                                                                  │
       ▸ Grep 2 hits  src/clients (?i)retry-after → 2 lines: src/clients/fx_rates.rs:41: // Retry-After is ignored, rates …│
       ▸ thinking: payout_bank parses u64 directly, so an HTTP-date would be an error and abort the payout. Worth mention… │
                                                                                                                           │
       src/clients/fx_rates.rs:41 ignores it; src/clients/payout_bank.rs:88 reads seconds only; src/auth/token.rs:22       │
       reads HTTP-date only. Nobody handles both. Note that payout_bank.rs propagates the parse error with ?, so an        │
       HTTP-date would abort the whole payout run instead of retrying; I would treat that as a separate bug                │
       (numbat-abort).                                                                                                     │
                                                                                                                           │
     n hit  o fold  / find  ? help  q back  } prompt  r resume  t tools  m outline  y copy  s subagents
    ");
    insta::assert_snapshot!(rows(&ui.screen(80, 16)), @r"
     ↳ Survey Retry-After handling  paperplane  fix/oauth-429        hit 9 of 12
    ▌                                                                              ┃
    ▌agent  Mar 12 10:05                                                           │
    ▌│ Survey every HTTP client in /home/dana/code/paperplane (src/clients/*) and  │
    ▌│ report how each one treats the Retry-After header: ignored, seconds only,   █
    ▌│ or seconds and HTTP-date. Include file and line.                            │
                                                                                   │
     claude  Mar 12 10:05                                                          │
       ▸ Grep 2 hits  src/clients (?i)retry-after → 2 lines: src/clients/fx_rates.…│
       ▸ thinking: payout_bank parses u64 directly, so an HTTP-date would be an e… │
                                                                                   │
       src/clients/fx_rates.rs:41 ignores it; src/clients/payout_bank.rs:88 reads  │
       seconds only; src/auth/token.rs:22 reads HTTP-date only. Nobody handles     │
       both. Note that payout_bank.rs propagates the parse error with ?, so an     │
       HTTP-date would abort the whole payout run instead of retrying; I would     │
     n hit  o fold  / find  ? help  q back  } prompt  r resume  t tools  m outline
    ");
    insta::assert_snapshot!(rows(&ui.screen(60, 16)), @r"
     ↳ Survey Retry-After handling  paperplane … hit 9 of 12
    ▌                                                          ┃
    ▌agent  Mar 12 10:05                                       │
    ▌│ Survey every HTTP client in /home/dana/code/paperplane  │
    ▌│ (src/clients/*) and report how each one treats the      █
    ▌│ Retry-After header: ignored, seconds only, or seconds   │
    ▌│ and HTTP-date. Include file and line.                   │
                                                               │
     claude  Mar 12 10:05                                      │
       ▸ Grep 2 hits  src/clients (?i)ret… → 2 lines: src/clie…│
       ▸ thinking: payout_bank parses u64 directly, so an HTT… │
                                                               │
       src/clients/fx_rates.rs:41 ignores it;                  │
       src/clients/payout_bank.rs:88 reads seconds only;       │
       src/auth/token.rs:22 reads HTTP-date only. Nobody       │
     n hit  o fold  / find  ? help  q back  } prompt  r resume
    ");
    insta::assert_snapshot!(rows(&ui.screen(40, 12)), @r"
     ↳ Survey Retry-After h…   hit 9 of 12
    ▌                                      ┃
    ▌agent  Mar 12 10:05                   │
    ▌│ Survey every HTTP client in         █
    ▌│ /home/dana/code/paperplane          │
    ▌│ (src/clients/*) and report how each │
    ▌│ one treats the Retry-After header:  │
    ▌│ ignored, seconds only, or seconds   │
    ▌│ and HTTP-date. Include file and     │
    ▌│ line.                               │
                                           │
     n hit  o fold  / find  ? help  q back
    ");
}

#[test]
fn the_file_screen_at_four_widths() {
    let mut ui = Ui::new("parse_http_date");
    ui.screen(120, 18);
    ui.key(KeyCode::Enter);
    ui.keys("B");
    insta::assert_snapshot!(rows(&ui.screen(120, 14)), @r"
     /home/dana/code/paperplane/src/auth/token.rs  changes, newest first
    ▌Mar 12 10:05 edit  +1 −1  Token refresh gives up after the first HTTP 429 from the identity provider, although they se…
       you: Token refresh gives up after the first HTTP 429 from the identity provider, although they send `Retry-After: 17…
          use crate::http::{Client, Response};
          use std::time::{Duration, SystemTime};

         -const MAX_ATTEMPTS: u32 = 1;
         +const MAX_ATTEMPTS: u32 = 4;

          #[derive(Debug, thiserror::Error)]
          pub enum RefreshError {
     Mar 12 10:05 edit  +3 −0  Token refresh gives up after the first HTTP 429 from the identity provider, although they se…
       you: Token refresh gives up after the first HTTP 429 from the identity provider, although they send `Retry-After: 17…
     Enter open the session here  b who wrote each line  v versions  y copy the command that recovers it  q back
    ");
    insta::assert_snapshot!(rows(&ui.screen(80, 12)), @r"
     /home/dana/code/paperplane/src/auth/token.rs  changes, newest first
    ▌Mar 12 10:05 edit  +1 −1  Token refresh gives up after the first HTTP 429 from…
       you: Token refresh gives up after the first HTTP 429 from the identity provi…
          use crate::http::{Client, Response};
          use std::time::{Duration, SystemTime};

         -const MAX_ATTEMPTS: u32 = 1;
         +const MAX_ATTEMPTS: u32 = 4;

          #[derive(Debug, thiserror::Error)]
          pub enum RefreshError {
     Enter open the session here  b who wrote each line  v versions
    ");
    insta::assert_snapshot!(rows(&ui.screen(60, 12)), @r"
     …/code/paperplane/src/auth/token.rs  changes, newest first
    ▌Mar 12 10:05 edit  +1 −1  Token refresh gives up after the…
       you: Token refresh gives up after the first HTTP 429 fro…
          use crate::http::{Client, Response};
          use std::time::{Duration, SystemTime};

         -const MAX_ATTEMPTS: u32 = 1;
         +const MAX_ATTEMPTS: u32 = 4;

          #[derive(Debug, thiserror::Error)]
          pub enum RefreshError {
     Enter open the session here  b who wrote each line
    ");
    insta::assert_snapshot!(rows(&ui.screen(40, 10)), @r"
     …/auth/token.rs  changes, newest first
    ▌Mar 12 10:05 edit  +1 −1  Token refres…
       you: Token refresh gives up after th…
          use crate::http::{Client, Respons…
          use std::time::{Duration, SystemT…

         -const MAX_ATTEMPTS: u32 = 1;
         +const MAX_ATTEMPTS: u32 = 4;

     Enter open the session here
    ");
}

/// A4-10: what is cut fills its place.
#[test]
fn nothing_is_cut_while_blanks_remain_beside_it() {
    let mut ui = Ui::new("Retry-After");
    for (width, height) in [(250, 40), (160, 40), (120, 40), (80, 24), (60, 20), (40, 12)] {
        let screen = ui.screen(width, height);
        for pane in screen.lines().flat_map(|row| row.trim_matches('"').split('│')) {
            let is_wasted = pane.match_indices('…').any(|(at, dots)| pane[at + dots.len()..].starts_with("    "));
            assert!(!is_wasted, "{width}: {pane:?}\n{screen}");
        }
    }
}
