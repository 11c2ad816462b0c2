//! The terminal UI, driven by keys in a real terminal. The name of a test begins with the line of the checklist that it
//! covers (section A4 of the notes on front ends). Layout is tested in `src/bin/unspool/tui`.

use std::time::Duration;

use regex::Regex;
use rustix::process::Signal;

use crate::support::env::Env;
use crate::support::terminal::{DOWN, ENTER, ESC, Screen, TAB, Terminal, ctrl};
use crate::support::transcript::{session, user_line};

const WIDE: (u16, u16) = (120, 40);

/// The sample sessions, indexed.
fn samples() -> Env {
    let env = Env::with_fixtures("home");
    env.index();
    env
}

/// The UI with a query, when it shows the answer.
fn ui(env: &Env, query: &str) -> Terminal {
    let terminal = Terminal::start(env, WIDE, &["tui", query]);
    list(&terminal);
    if query.is_empty() {
        terminal.wait("the latest sessions are listed", |screen| selected(screen).is_some());
    } else {
        answered(&terminal);
    }
    terminal
}

fn list(terminal: &Terminal) -> Screen {
    terminal.shows("Enter open at hit")
}

/// Waits for the count of hits, which comes with an answer.
fn answered(terminal: &Terminal) -> Screen {
    let time = Regex::new(r"\d+ ms").expect("valid");
    terminal.wait("an answer has come", |screen| screen.rows().iter().any(|row| time.is_match(row)))
}

fn conversation(terminal: &Terminal) -> Screen {
    terminal.shows("m outline")
}

/// The number of the hit and of all hits, as the screen says it.
fn hit_of(screen: &Screen) -> Option<(usize, usize)> {
    let hit = Regex::new(r"hit (\d+) of (\d+)").expect("valid");
    let text = screen.text();
    let found = hit.captures(&text)?;
    Some((found[1].parse().expect("a number"), found[2].parse().expect("a number")))
}

/// Texts that are marked by more than colour.
fn marked(screen: &Screen) -> Vec<String> {
    screen.marked(|cell| cell.underline() || cell.inverse())
}

/// The title in the row that is selected.
fn selected(screen: &Screen) -> Option<String> {
    screen.rows().iter().find_map(|row| Some(row.split_once('▌')?.1.chars().take(30).collect()))
}

/// The rows without times, which differ from run to run.
fn timeless(screen: &Screen) -> String {
    Regex::new(r"\d+ ms").expect("valid").replace_all(&screen.text(), "").into_owned()
}

/// A home with one session of one prompt, indexed.
fn one_prompt(text: &str) -> Env {
    let env = Env::new();
    env.write(format!("-home-u-x/{}.jsonl", session(1)), user_line(&session(1), 1, text));
    env.index();
    env
}

#[test]
fn a4_01_enter_on_a_hit_in_a_fold_opens_it() {
    let env = samples();
    let terminal = ui(&env, "arrowlinepotto");
    terminal.keys(ENTER);
    let screen = conversation(&terminal);
    assert!(screen.has("rotterdam = false # arrowlinepotto"), "{}", screen.text());
    assert!(marked(&screen).iter().any(|text| text == "arrowlinepotto"), "{:?}", marked(&screen));
}

#[test]
fn a4_02_a_hit_in_a_subagent_opens_there_and_its_parent_is_one_key_away() {
    let env = samples();
    let terminal = ui(&env, "\"numbat-abort\"");
    terminal.keys(ENTER);
    conversation(&terminal);
    terminal.shows("numbat-abort");
    terminal.keys("P");
    let screen = terminal.hides("HTTP-date would be an error and abort");
    assert!(screen.has("Survey Retry-After handling"), "{}", screen.text());
}

#[test]
fn a4_04_folding_does_not_change_the_number_of_hits() {
    let env = samples();
    let terminal = ui(&env, "arrowlinepotto");
    terminal.keys(ENTER);
    let before = hit_of(&conversation(&terminal));
    terminal.keys("o");
    let screen = terminal.hides("rotterdam = false");
    assert!(screen.has("1 hit"), "{}", screen.text());
    assert_eq!(hit_of(&screen), before);
}

#[test]
fn a4_05_the_search_inside_begins_with_the_query() {
    let env = samples();
    let terminal = ui(&env, "parseRetryAfter");
    terminal.keys(ENTER);
    let before = hit_of(&conversation(&terminal));
    terminal.keys("/");
    terminal.shows(" / parseRetryAfter");
    terminal.keys(ENTER);
    let screen = terminal.hides(" / parseRetryAfter");
    assert_eq!(hit_of(&screen).map(|(_, all)| all), before.map(|(_, all)| all), "{}", screen.text());
}

#[test]
fn a4_06_back_leads_to_the_same_list() {
    let env = samples();
    let terminal = ui(&env, "cargo");
    let first = selected(&terminal.screen());
    terminal.keys(DOWN);
    let before = terminal.wait("another session is selected", |screen| selected(screen) != first);
    terminal.keys(ENTER);
    conversation(&terminal);
    terminal.keys("q");
    let after = list(&terminal);
    assert_eq!(selected(&after), selected(&before));
    assert_eq!(timeless(&after).lines().next(), timeless(&before).lines().next());
}

#[test]
fn a4_07_the_preview_shows_the_best_hit_also_in_tool_output() {
    let env = samples();
    let terminal = ui(&env, "arrowlinepotto");
    let screen = terminal.shows("hit 1 of 1");
    let marks = marked(&screen);
    assert!(marks.iter().filter(|text| *text == "arrowlinepotto").count() >= 2, "{marks:?}\n{}", screen.text());
}

#[test]
fn a4_08_a_row_shows_title_project_branch_date_and_id() {
    let env = samples();
    let screen = ui(&env, "parseRetryAfter").screen();
    for part in ["Token refresh gives up", "paperplane", "fix/oauth-429", "Mar 12", "05000001"] {
        assert!(screen.has(part), "{part}: {}", screen.text());
    }
}

#[test]
fn a4_09_dates_come_from_messages_and_not_from_files() {
    // The copies of the samples are as new as this run.
    let env = samples();
    let screen = ui(&env, "parseRetryAfter").screen();
    assert!(screen.has("Mar 12"), "{}", screen.text());
}

#[test]
fn a4_11_every_size_shows_the_list_and_the_conversation() {
    let env = samples();
    for size in [(250, 60), (120, 40), (100, 30), (80, 24), (60, 20), (40, 12), (120, 10)] {
        let terminal = Terminal::start(&env, size, &["tui", "parseRetryAfter"]);
        terminal
            .wait(&format!("the list at {size:?}"), |screen| screen.has("Token refresh") && screen.has("Enter open"));
        let footer = terminal.screen().rows().last().cloned().unwrap_or_default();
        assert!(!footer.contains('…'), "{size:?}: {footer}");
        terminal.keys(ENTER);
        let screen = terminal.wait(&format!("the conversation at {size:?}"), |screen| !screen.has("Enter open"));
        assert!(screen.has("hit ") && !marked(&screen).is_empty(), "{size:?}: {}", screen.text());
    }
}

#[test]
fn a4_12_a_window_that_is_too_small_says_so() {
    let env = samples();
    let terminal = Terminal::start(&env, (29, 5), &["tui"]);
    terminal.shows("the window is too small");
    terminal.resize(80, 24);
    terminal.shows("Enter open");
}

#[test]
fn a4_13_resizing_keeps_the_message_on_its_row() {
    let env = samples();
    let terminal = ui(&env, "arrowlinepotto");
    terminal.keys(ENTER);
    let row = conversation(&terminal).row_of("rotterdam = false");
    assert!(row.is_some());
    for columns in [80, 200, 60, 120] {
        terminal.resize(columns, 40);
        let what = format!("the hit is on row {row:?} at {columns} columns");
        terminal.wait(&what, |screen| screen.row_of("rotterdam = false") == row);
    }
}

#[test]
fn a4_14_the_cursor_is_after_wide_characters() {
    let env = samples();
    let terminal = ui(&env, "");
    let (row, column) = terminal.screen().cursor().expect("a cursor");
    terminal.keys("한글e\u{301}");
    terminal.wait("the cursor is behind the text", |screen| screen.cursor() == Some((row, column + 5)));
}

#[test]
fn a4_15_two_chinese_characters_mark_exactly_those() {
    let env = samples();
    let terminal = ui(&env, "查询");
    let screen = terminal.wait("there are hits", |screen| screen.has("1 session"));
    let marks = marked(&screen);
    assert!(marks.iter().any(|text| text == "查询"), "{marks:?}");
    assert!(!marks.iter().any(|text| text.contains("查询") && text != "查询"), "{marks:?}");
}

#[test]
fn a4_16_control_characters_of_a_transcript_never_reach_the_terminal() {
    let env = one_prompt(
        "walrus \\u001b]0;pwned\\u0007 \\u001b[2J \\u0000 \\u202eolleh \\u009b31m \\u001b]52;c;ZXZpbA==\\u0007 walrus",
    );
    let terminal = ui(&env, "walrus");
    terminal.keys(ENTER);
    conversation(&terminal);
    terminal.shows("walrus");
    let raw = String::from_utf8_lossy(&terminal.raw()).into_owned();
    for sequence in ["\x1b]0;pwned", "\x07", "\0", "\u{202e}", "\u{9b}", "\x1b]52"] {
        assert!(!raw.contains(sequence), "{sequence:?}");
    }
}

#[test]
fn a4_17_no_hits_say_what_was_searched_and_how_to_go_on() {
    let env = samples();
    let terminal = ui(&env, "zzqqxx project:tidepool");
    terminal.shows("searched in all sessions");
    terminal.shows("searches without project:tidepool");
    terminal.keys("\x1b[15~");
    terminal.hides("project:tidepool");
}

#[test]
fn a4_18_the_first_index_is_built_while_the_ui_runs() {
    let env = Env::with_fixtures("home");
    let terminal = Terminal::start(&env, WIDE, &["tui", "parseRetryAfter"]);
    list(&terminal);
    terminal.shows("Token refresh");
}

#[test]
fn a4_19_reading_goes_on_while_another_process_writes() {
    let env = samples();
    let lock = env.index_folder();
    assert!(lock.is_dir());
    let mut writer = env.command().args(["index", "--rebuild"]).spawn().expect("started");
    let terminal = ui(&env, "parseRetryAfter");
    terminal.shows("Token refresh");
    writer.wait().expect("ended");
}

#[test]
fn a4_21_a_live_session_is_followed_only_at_its_end() {
    let env = Env::new();
    let place = format!("-home-u-x/{}.jsonl", session(1));
    let lines = (1..=60).map(|number| user_line(&session(1), number, &format!("prompt{number}x"))).collect::<String>();
    env.write(&place, lines);
    env.index();
    let terminal = ui(&env, "");
    terminal.keys(ENTER);
    conversation(&terminal);
    terminal.keys("G").shows("prompt60x");
    terminal.keys("f").shows("following");
    env.append(&place, user_line(&session(1), 61, "prompt61x"));
    terminal.shows("prompt61x");
    terminal.keys("g").shows("prompt1x");
    env.append(&place, user_line(&session(1), 62, "prompt62x"));
    env.index();
    terminal.keys(ctrl('l'));
    terminal.keys("j").keys("k");
    let screen = terminal.shows("prompt1x");
    assert!(!screen.has("prompt62x"), "{}", screen.text());
}

#[test]
fn a4_22_filters_are_completed_with_counts() {
    let env = samples();
    let terminal = ui(&env, "retry");
    terminal.keys(" project:paperp");
    terminal.wait("a completion with a count", |screen| {
        screen.rows().iter().any(|row| row.contains("Tab:") && row.contains("paperplane ("))
    });
    terminal.keys(TAB);
    terminal.shows("project:paperplane");
}

#[test]
fn a4_23_an_invalid_filter_keeps_the_last_results() {
    let env = samples();
    let terminal = ui(&env, "parseRetryAfter");
    terminal.keys(" since:soon");
    let screen = terminal.shows("cannot read");
    assert!(screen.has("Token refresh"), "{}", screen.text());
}

#[test]
fn a4_24_the_scope_begins_at_all_and_is_in_view() {
    let env = samples();
    let terminal = ui(&env, "parseRetryAfter");
    let row = terminal.screen().rows()[0].clone();
    assert!(["here", "project", "all"].iter().all(|scope| row.contains(scope)), "{row}");
    terminal.shows("Token refresh");
}

#[test]
fn a4_25_pasted_ids_and_lines_are_found() {
    let env = samples();
    let terminal = ui(&env, "");
    terminal.keys("\x1b[200~05000001-5e55-4000-8000-000500000001\x1b[201~");
    terminal.shows("Token refresh");
    terminal.keys(ctrl('u')).keys("\x1b[200~rotterdam = false\n# arrowlinepotto\n\x1b[201~");
    let screen = terminal.shows("rotterdam = false # arrowlinepotto");
    assert!(screen.has("Enter open at hit"), "{}", screen.text());
}

#[test]
fn a4_26_resuming_runs_claude_in_the_folder_or_says_inside_why_not() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = Env::new();
    let folder = env.path().join("work");
    let bin = env.path().join("bin");
    [&folder, &bin].into_iter().for_each(|folder| std::fs::create_dir_all(folder).expect("made"));
    let line = user_line(&session(1), 1, "pelican").replace("/home/u/x", folder.to_str().expect("UTF-8"));
    env.write(format!("-x/{}.jsonl", session(1)), line);
    env.index();
    let terminal = ui(&env, "pelican");
    terminal.keys(ctrl('r')).shows("there is no `claude`");
    drop(terminal);

    let script = "#!/bin/sh\nprintf 'in %s with %s\\n' \"$PWD\" \"$*\"\nexit 7\n";
    std::fs::write(bin.join("claude"), script).expect("written");
    std::fs::set_permissions(bin.join("claude"), std::fs::Permissions::from_mode(0o755)).expect("set");
    let mut command = env.command();
    command.args(["tui", "pelican"]).env("TERM", "xterm-256color").env_remove("COLUMNS");
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let mut terminal = Terminal::run(&command, WIDE);
    answered(&terminal);
    terminal.keys(ctrl('r'));
    let status = terminal.ends();
    let screen = terminal.screen();
    let folder = std::fs::canonicalize(folder).expect("there");
    let expected = format!("in {} with --resume {}", folder.display(), session(1));
    assert!(screen.rows().concat().contains(&expected) && !screen.is_alternate(), "{}", screen.text());
    assert_eq!(status.exit_code(), 7);
}

#[test]
fn a4_29_copying_over_ssh_asks_the_terminal_and_says_so() {
    let env = one_prompt("pelican");
    let mut command = env.command();
    command.args(["tui", "pelican"]).env("TERM", "xterm-256color").env_remove("COLUMNS");
    command.env("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22").env("SSH_TTY", "/dev/pts/9");
    let terminal = Terminal::run(&command, WIDE);
    answered(&terminal);
    terminal.keys(ENTER);
    conversation(&terminal);
    terminal.keys("y").shows("cop");
    terminal.sends("\x1b]52;c;");
}

#[test]
fn a4_31_pick_prints_the_id_and_esc_gives_130() {
    let env = samples();
    let script = "id=$(\"$0\" pick parseRetryAfter); printf 'chosen <%s> %s\\n' \"$id\" $?";
    for (keys, expected) in [(ENTER, "chosen <05000001-5e55-4000-8000-000500000001> 0"), (ESC, "chosen <> 130")] {
        let mut command = crate::support::process::under(&env, &["sh", "-c", script]);
        command.env("TERM", "xterm-256color").env_remove("COLUMNS");
        let mut terminal = Terminal::run(&command, WIDE);
        terminal.shows("Token refresh");
        // Esc clears the query first, and leaves then.
        if keys == ESC {
            terminal.keys(ctrl('u')).hides("> parseRetryAfter");
        }
        terminal.keys(keys);
        terminal.ends();
        let screen = terminal.screen();
        assert!(screen.has(expected), "{}", screen.text());
        assert!(!screen.is_alternate() && !screen.has_modes_left());
    }
}

#[test]
fn a4_32_signals_restore_the_terminal_and_leave_nothing_behind() {
    let env = samples();
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let mut terminal = ui(&env, "parseRetryAfter");
        assert!(terminal.screen().is_alternate());
        terminal.signal(signal);
        let status = terminal.ends();
        let screen = terminal.screen();
        assert!(!screen.is_alternate() && !screen.has_modes_left() && screen.cursor().is_some(), "{signal:?}");
        assert!(status.exit_code() == code || status.signal().is_some(), "{signal:?}: {status:?}");
        assert_eq!(terminal.left_behind(), Vec::<i32>::new(), "{signal:?}");
    }
}

#[test]
fn a4_34_without_colours_hits_are_still_marked() {
    let env = samples();
    let mut command = env.command();
    command.args(["tui", "parseRetryAfter"]).env("TERM", "xterm-256color").env("NO_COLOR", "1").env_remove("COLUMNS");
    let terminal = Terminal::run(&command, WIDE);
    let screen = terminal.shows("Token refresh");
    let plain = vt100::Color::Default;
    assert_eq!(screen.marked(|cell| cell.fgcolor() != plain || cell.bgcolor() != plain), Vec::<String>::new());
    assert!(marked(&screen).iter().any(|text| text.to_lowercase().contains("retry")), "{:?}", marked(&screen));
}

#[test]
fn a4_35_no_ui_without_a_usable_terminal_or_inside_claude_code() {
    let env = samples();
    for (name, value) in [("TERM", "dumb"), ("CLAUDECODE", "1")] {
        let mut command = env.command();
        command.args(["tui", "x"]).env("TERM", "xterm-256color").env(name, value);
        let mut terminal = Terminal::run(&command, WIDE);
        let status = terminal.ends();
        let screen = terminal.screen();
        assert!(status.exit_code() != 0 && screen.has("unspool search"), "{name}: {}", screen.text());
        assert!(!String::from_utf8_lossy(&terminal.raw()).contains("\x1b[?1049h"), "{name}");
    }
    let ran = env.run(&["tui", "x"]);
    assert!(ran.code != 0 && ran.stderr.contains("unspool search"), "{}", ran.stderr);
}

#[test]
fn a4_36_secrets_are_masked_everywhere() {
    let secret = "ghp_9fK2mQ7xLr4TbV8nWz3YcJ6dHs1PaE5uGo0i";
    let env = one_prompt(&format!("pelican uses {secret} today"));
    let terminal = ui(&env, "pelican");
    terminal.keys(ENTER);
    conversation(&terminal);
    terminal.shows("pelican");
    assert!(!String::from_utf8_lossy(&terminal.raw()).contains(&secret[4..20]));
}

#[test]
fn a4_40_an_idle_screen_takes_no_processor_time() {
    let env = samples();
    let terminal = ui(&env, "parseRetryAfter");
    terminal.shows("hit ");
    // The check for new messages at the start may still run: until five looks in a row are the same.
    let (mut before, mut same) = (terminal.ticks(), 0);
    for _ in 0..40 {
        std::thread::sleep(Duration::from_millis(500));
        let now = terminal.ticks();
        same = if now == before { same + 1 } else { 0 };
        if same == 5 {
            assert_eq!(terminal.state(), 'S');
            return;
        }
        before = now;
    }
    panic!("the screen is never idle");
}
