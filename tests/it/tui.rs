//! The terminal UI, driven by keys in a real terminal. The name of a test begins with the line of the checklist that it
//! covers (section A4 of the notes on front ends): `a4_03` to `a4_40`. Layout is tested in
//! `src/bin/unspool/tui/tests.rs`: there, `nothing_is_cut_while_blanks_remain_beside_it` is line 10, and snapshots at
//! four widths are lines 8 and 11.

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

fn has_mark(screen: &Screen, word: &str) -> bool {
    marked(screen).iter().any(|text| text.to_lowercase().contains(word))
}

/// The title in the row that is selected.
fn selected(screen: &Screen) -> Option<String> {
    screen.rows().iter().find_map(|row| Some(row.split_once('▌')?.1.chars().take(30).collect()))
}

/// The rows without times, which differ from run to run.
fn timeless(screen: &Screen) -> String {
    Regex::new(r"\d+ ms").expect("valid").replace_all(&screen.text(), "").into_owned()
}

/// The rows without the footer.
fn rows_of_the_list(screen: &Screen) -> Vec<String> {
    let rows = screen.rows();
    rows[..rows.len() - 1].to_vec()
}

/// The folder of a `claude` that prints its folder and arguments and ends with 7.
fn fake_claude(env: &Env) -> std::path::PathBuf {
    let bin = env.path().join("bin");
    std::fs::create_dir_all(&bin).expect("made");
    program(&bin.join("claude"), "printf 'in %s with %s\\n' \"$PWD\" \"$*\"\nexit 7\n");
    bin
}

fn program(path: &std::path::Path, script: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, format!("#!/bin/sh\n{script}")).expect("written");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("set");
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
fn a4_01_enter_typed_ahead_opens_the_best_hit_of_what_was_typed() {
    let env = samples();
    let terminal = ui(&env, "");
    terminal.keys("arrowlinepotto\r");
    conversation(&terminal);
    terminal.shows("rotterdam = false # arrowlinepotto");
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
fn a4_03_n_walks_every_hit_in_order() {
    let env = samples();
    // In titles, prompts, answers, tool output and several subagents.
    let terminal = ui(&env, "retry");
    terminal.keys(ENTER);
    let (start, all) = hit_of(&conversation(&terminal)).expect("opened at a hit");
    assert!(all > 10, "{all} hits");
    let is_at = |screen: &Screen, hit: usize| hit_of(screen) == Some((hit, all)) && has_mark(screen, "retry");
    let mut subagents = 0;
    for step in 0..all {
        let hit = (start + step) % all + 1;
        terminal.keys("n");
        let screen = terminal.wait(&format!("hit {hit} of {all} is marked"), |screen| is_at(screen, hit));
        subagents += usize::from(screen.rows()[0].contains('↳'));
        if hit == 1 {
            terminal.shows("continued at the first hit");
        }
    }
    assert!(subagents > 0, "the walk enters subagents");
    for hit in (1..start).rev() {
        terminal.keys("N");
        terminal.wait(&format!("back at hit {hit} of {all}"), |screen| is_at(screen, hit));
    }
}

#[test]
fn a4_03_n_reaches_messages_that_are_left_out_by_default() {
    let env = Env::new();
    let prompt = |number, text: &str| user_line(&session(1), number, text);
    let inside = prompt(2, "walrus in the subagent").replace("\"isSidechain\":false", "\"isSidechain\":true");
    let lines = prompt(1, "walrus begins") + &inside + &prompt(3, "walrus ends");
    env.write(format!("-home-u-x/{}.jsonl", session(1)), lines);
    env.index();
    let terminal = ui(&env, "walrus ends");
    terminal.keys(ENTER);
    let (start, all) = hit_of(&conversation(&terminal)).expect("opened at a hit");
    for step in 0..all {
        let hit = (start + step) % all + 1;
        terminal.keys("n");
        let is_at = |screen: &Screen| hit_of(screen) == Some((hit, all)) && has_mark(screen, "walrus");
        let screen = terminal.wait(&format!("hit {hit}"), is_at);
        assert!(hit != 2 || screen.has("walrus in the subagent"), "{}", screen.text());
    }
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
    terminal.wait("the cursor is in the query", |screen| screen.cursor() == Some((0, 3)));
    terminal.keys("한글e\u{301}");
    terminal.wait("the cursor is after the text", |screen| screen.cursor() == Some((0, 8)));
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
fn a4_17_each_suggestion_has_a_key() {
    let env = samples();
    let terminal = ui(&env, "arrowlinepotto project:tidepool role:human");
    let screen = terminal.shows("any filter");
    let row = screen.rows().into_iter().find(|row| row.contains("any filter")).expect("shown");
    let number = Regex::new(r"Alt-(\d)").expect("valid").captures(&row).expect("a key")[1].to_string();
    terminal.keys(ctrl('x')).shows(&format!("│ {number}  without any filter"));
    terminal.keys(ESC).hides("Actions");
    terminal.keys(format!("\x1b{number}")).shows("> arrowlinepotto  ");
    terminal.shows("Enter open at hit");
    terminal.shows("hit 1 of 1");
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
    let mut writer = env.command().args(["index", "--rebuild"]).spawn().expect("started");
    let terminal = ui(&env, "parseRetryAfter");
    terminal.shows("Token refresh");
    writer.wait().expect("ended");
}

#[test]
fn a4_19_the_status_line_says_that_another_process_has_the_index() {
    let env = one_prompt("pelican one");
    env.append(format!("-home-u-x/{}.jsonl", session(1)), user_line(&session(1), 2, "pelican two"));
    let entries = std::fs::read_dir(env.index_dir()).expect("listed").map(|entry| entry.expect("entry").path());
    let is_lock = |path: &std::path::PathBuf| path.to_string_lossy().ends_with(".lock");
    let lock = std::fs::File::open(entries.into_iter().find(is_lock).expect("a lock")).expect("opened");
    lock.lock().expect("locked");
    let terminal = ui(&env, "pelican");
    let screen = terminal.shows("index: 1 file behind");
    assert!(screen.has("1 hit"), "{}", screen.text());
}

#[test]
fn a4_20_new_messages_leave_only_a_mark() {
    let env = Env::new();
    let place = |number| format!("-home-u-x/{}.jsonl", session(number));
    for number in 1..=3 {
        env.write(place(number), user_line(&session(number), number, &format!("prompt{number}x")));
    }
    env.index();
    let terminal = ui(&env, "");
    terminal.keys(DOWN);
    let before = terminal.wait("the second session is selected", |screen| {
        selected(screen).is_some_and(|title| title.contains("prompt2x")) && screen.has("│ │ prompt2x")
    });
    env.append(place(1), user_line(&session(1), 61, "prompt61x"));
    env.write(place(4), user_line(&session(4), 62, "prompt62x"));
    let after = terminal.shows("2 new, ^L");
    assert_eq!(rows_of_the_list(&after), rows_of_the_list(&before));
    terminal.keys(ctrl('l'));
    let screen = terminal.shows("prompt62x");
    assert!(selected(&screen).is_some_and(|title| title.contains("prompt2x")), "{}", screen.text());
    assert!(!screen.has("new, ^L"), "{}", screen.text());
}

#[test]
fn a4_20_new_messages_do_not_move_a_conversation() {
    let env = Env::new();
    let place = format!("-home-u-x/{}.jsonl", session(1));
    let lines = (1..=60).map(|number| user_line(&session(1), number, &format!("prompt{number}x"))).collect::<String>();
    env.write(&place, lines);
    env.index();
    let terminal = ui(&env, "");
    terminal.keys(ENTER);
    conversation(&terminal);
    terminal.keys("}".repeat(9));
    let before = terminal.wait("the tenth prompt is at the top", |screen| screen.row_of("prompt10x") == Some(4));
    env.append(&place, user_line(&session(1), 61, "prompt61x"));
    let after = terminal.shows("1 new, ^L");
    assert_eq!(rows_of_the_list(&after), rows_of_the_list(&before));
    terminal.keys(ctrl('l')).hides("1 new, ^L");
    terminal.keys("G").shows("prompt61x");
    terminal.keys("g").shows("prompt1x");
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
fn a4_22_filters_are_dropped_one_by_one() {
    let env = samples();
    let query = "retry project:paperplane role:human since:2020";
    let terminal = ui(&env, query);
    let row = terminal.screen().rows()[1].clone();
    assert!(["project:paperplane ×", "role:human ×", "since:2020 ×"].iter().all(|chip| row.contains(chip)), "{row}");
    // By number, by a click, and the last one.
    terminal.keys("\x1b2").shows("> retry project:paperplane since:2020");
    let row = terminal.screen().rows()[1].clone();
    let before = row.split("since:2020").next().expect("a chip").chars().count();
    terminal
        .click(before, 1)
        .wait("one filter is left", |screen| screen.rows()[0].starts_with(" > retry project:paperplane  "));
    terminal.keys("\x1b[15~").wait("no filter is left", |screen| screen.rows()[0].starts_with(" > retry  "));
}

#[test]
fn a4_22_the_menu_lists_all_actions() {
    let env = samples();
    let terminal = ui(&env, "retry project:paperplane");
    terminal.keys(ctrl('x')).shows("r  resume");
    terminal.shows("1  searches without project:paperplane");
    terminal.keys("1").wait("the filter is dropped", |screen| screen.rows()[0].starts_with(" > retry  "));
    terminal.keys(ctrl('x')).shows("t  order");
    terminal.keys("t").hides("t  order");
    assert!(terminal.shows("newest").rows()[0].contains("newest"));
}

#[test]
fn a4_22_filter_options_are_text_in_the_query() {
    let env = samples();
    let terminal = Terminal::start(&env, WIDE, &["tui", "--project", "paperplane", "retry"]);
    terminal.shows("> retry project:paperplane");
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
    let env = Env::new();
    let folder = env.path().join("work");
    std::fs::create_dir_all(&folder).expect("made");
    let line = user_line(&session(1), 1, "pelican").replace("/home/u/x", folder.to_str().expect("UTF-8"));
    env.write(format!("-x/{}.jsonl", session(1)), line);
    env.index();
    let terminal = ui(&env, "pelican");
    terminal.keys(ctrl('r')).shows("`claude` is not in your PATH");
    drop(terminal);

    let bin = fake_claude(&env);
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
fn a4_27_a_deleted_transcript_opens_from_the_index_but_cannot_be_resumed() {
    let env = one_prompt("pelican with a long beak");
    let place = format!("-home-u-x/{}.jsonl", session(1));
    env.write(format!("-home-u-x/{}.jsonl", session(2)), user_line(&session(2), 2, "another one"));
    env.index();
    std::fs::remove_file(env.file(place)).expect("removed");
    env.index();
    let terminal = ui(&env, "pelican");
    let screen = terminal.shows("transcript gone, no resume");
    assert!(!screen.has("^R resume") && !screen.has("copy command"), "{}", screen.text());
    terminal.keys(ctrl('x')).shows("Actions · transcript gone, no resume");
    assert!(!terminal.screen().has("r  resume") && !terminal.screen().has("F  resume"));
    terminal.keys(ESC).hides("Actions");
    terminal.keys(ctrl('r')).shows("Claude Code has deleted its transcript");
    terminal.keys(ENTER);
    let screen = terminal.wait("the conversation", |screen| screen.has("m outline"));
    assert!(screen.has("pelican with a long beak") && screen.has("transcript gone"), "{}", screen.text());
    assert!(!screen.has("r resume"), "{}", screen.text());
    terminal.keys("F").shows("Claude Code has deleted its transcript");
}

#[test]
fn a4_28_resuming_asks_nothing_and_takes_arguments_from_the_configuration() {
    let env = Env::new();
    let folder = env.path().join("work");
    std::fs::create_dir_all(&folder).expect("made");
    let line = user_line(&session(1), 1, "pelican").replace("/home/u/x", folder.to_str().expect("UTF-8"));
    env.write(format!("-x/{}.jsonl", session(1)), line);
    env.index();
    let bin = fake_claude(&env);
    let file = env.path().join("config.toml");
    std::fs::write(&file, "resume_args = [\"--model\", \"opus\"]\n").expect("written");
    let mut command = env.command();
    command.args(["tui", "pelican"]).env("TERM", "xterm-256color").env_remove("COLUMNS");
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).env("UNSPOOL_CONFIG", &file);
    let mut terminal = Terminal::run(&command, WIDE);
    answered(&terminal);
    terminal.keys(ctrl('r'));
    assert_eq!(terminal.ends().exit_code(), 7);
    let screen = terminal.screen();
    let expected = format!("with --resume {} --model opus", session(1));
    assert!(screen.rows().concat().contains(&expected), "{}", screen.text());
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
fn a4_30_the_mouse_selects_opens_scrolls_and_folds() {
    let env = samples();
    let terminal = ui(&env, "cargo");
    let first = selected(&terminal.screen()).expect("selected");
    let row = terminal.screen().row_of(&first).expect("on the screen");
    terminal.wheel(true, 5, row);
    terminal.wait("the wheel selects", |screen| selected(screen).as_ref() != Some(&first));
    terminal.click(5, row).wait("a click selects", |screen| selected(screen).as_ref() == Some(&first));
    terminal.click(5, row);
    let opened = conversation(&terminal);
    terminal.wheel(true, 5, 10).wait("the wheel scrolls", |screen| timeless(screen) != timeless(&opened));
    drop(terminal);

    let terminal = ui(&env, "arrowlinepotto");
    terminal.keys(ENTER);
    let screen = conversation(&terminal);
    let row = screen.row_of("rotterdam = false").expect("an open fold");
    terminal.click(5, row).hides("rotterdam = false");
    drop(terminal);

    let terminal = Terminal::start(&env, WIDE, &["tui", "--no-mouse", "cargo"]);
    answered(&terminal);
    assert!(!String::from_utf8_lossy(&terminal.raw()).contains("\x1b[?1000h"));
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
fn a4_32_a_panic_restores_the_terminal_and_is_reported() {
    let env = samples();
    let mut command = env.command();
    command.args(["tui", "parseRetryAfter"]).env("TERM", "xterm-256color").env_remove("COLUMNS");
    let mut terminal = Terminal::run(command.env("UNSPOOL_FAULT", "event@1"), WIDE);
    answered(&terminal);
    assert!(terminal.screen().is_alternate());
    terminal.keys("x");
    let status = terminal.ends();
    let screen = terminal.screen();
    assert!(!screen.is_alternate() && !screen.has_modes_left() && screen.cursor().is_some(), "{}", screen.text());
    assert!(screen.has("error") && status.exit_code() != 0, "{status:?}: {}", screen.text());
    assert_eq!(terminal.left_behind(), Vec::<i32>::new());
}

#[test]
fn a4_32_a_lost_terminal_ends_the_ui() {
    let env = samples();
    let status = Terminal::lost(&env, &["tui", "parseRetryAfter"], "Token refresh");
    assert!(!status.success() && status.exit_code() == 129, "{status:?}");
}

#[test]
fn a4_33_suspending_and_editing_return_to_the_same_screen() {
    let env = samples();
    let editor = env.path().join("editor");
    program(&editor, "printf 'editing %s\\n' \"$1\"\nread -r line\n");
    let script = "set -m; \"$0\" tui parseRetryAfter; echo is stopped; read -r line; fg";
    let mut command = crate::support::process::under(&env, &["bash", "-c", script]);
    command.env("TERM", "xterm-256color").env_remove("COLUMNS").env("EDITOR", &editor);
    let terminal = Terminal::run(&command, WIDE);
    answered(&terminal);
    terminal.keys(ENTER);
    let before = conversation(&terminal);
    terminal.keys(ctrl('z'));
    assert!(!terminal.shows("is stopped").is_alternate());
    terminal.keys(ENTER);
    let after = conversation(&terminal);
    assert!(after.is_alternate());
    assert_eq!(timeless(&after), timeless(&before));
    terminal.keys("E");
    assert!(!terminal.shows("editing +").is_alternate());
    terminal.keys(ENTER);
    assert_eq!(timeless(&conversation(&terminal)), timeless(&before));
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
fn a4_36_pick_shows_secrets_only_if_asked_to() {
    let secret = "ghp_9fK2mQ7xLr4TbV8nWz3YcJ6dHs1PaE5uGo0i";
    let env = one_prompt(&format!("pelican uses {secret} today"));
    let terminal = Terminal::start(&env, WIDE, &["pick", "pelican"]);
    terminal.shows("pelican uses");
    assert!(!String::from_utf8_lossy(&terminal.raw()).contains(&secret[4..20]));
    let terminal = Terminal::start(&env, WIDE, &["pick", "--reveal", "pelican"]);
    terminal.shows(&secret[4..20]);
}

#[test]
fn a4_37_a_very_long_message_opens_at_its_end() {
    // 10 MB of output, which is read and laid out only near the hit.
    let lines: String = (0..130_000)
        .map(|line| format!("{line} ................................................................\n"))
        .collect();
    let env = Env::new();
    let call = serde_json::json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}]);
    let result = serde_json::json!([{"type": "tool_result", "tool_use_id": "t1", "content": lines + "arrowroot ends"}]);
    let lines = [("assistant", call), ("user", result)].into_iter().zip(2..).map(|((role, content), number)| {
        let uuid = crate::support::transcript::uuid(number);
        let line = serde_json::json!({
            "sessionId": session(1), "uuid": uuid, "type": role, "cwd": "/home/u/x",
            "timestamp": format!("2026-10-01T10:00:0{number}.000Z"), "message": {"role": role, "content": content},
        });
        line.to_string() + "\n"
    });
    let lines = user_line(&session(1), 1, "begin") + &lines.collect::<String>();
    env.write(format!("-home-u-x/{}.jsonl", session(1)), lines);
    env.index();
    let terminal = ui(&env, "arrowroot");
    terminal.keys(ENTER);
    conversation(&terminal);
    let screen = terminal.shows("arrowroot ends");
    assert!(has_mark(&screen, "arrowroot"), "{}", screen.text());
    terminal.keys("g").shows("O shows it");
    assert!(terminal.memory() < 400 << 20, "{} bytes", terminal.memory());
}

#[test]
fn a4_37_a_long_session_opens_at_any_place() {
    let env = Env::new();
    let text = "a line of words that fills a part of the memory\n".repeat(20);
    let lines = (1..=15_000).map(|number| user_line(&session(1), number, &format!("word{number}x {text}")));
    env.write(format!("-home-u-x/{}.jsonl", session(1)), lines.collect::<String>());
    env.index();
    let terminal = ui(&env, "word7777x");
    terminal.keys(ENTER);
    conversation(&terminal);
    terminal.shows("│ word7777x");
    terminal.keys("G").shows("│ word15000x");
    terminal.keys("g").shows("│ word1x");
    assert!(terminal.memory() < 400 << 20, "{} bytes", terminal.memory());
}

#[test]
fn a4_38_a_held_key_stops_where_it_should() {
    let env = Env::new();
    let lines = (1..=300).map(|number| user_line(&session(1), number, &format!("prompt{number}x"))).collect::<String>();
    env.write(format!("-home-u-x/{}.jsonl", session(1)), lines);
    for number in 2..=220 {
        env.write(
            format!("-home-u-x/{}.jsonl", session(number)),
            user_line(&session(number), number, &format!("title{number}y")),
        );
    }
    env.index();
    let terminal = ui(&env, "");
    terminal.keys(DOWN.repeat(150));
    terminal.wait("the 151st session is selected", |screen| {
        selected(screen).is_some_and(|title| title.contains("title71y"))
    });
    terminal.keys(ctrl('u')).keys("prompt1x").shows("300 hits, 1 session");
    terminal.keys(ENTER);
    conversation(&terminal);
    terminal.keys("g").shows("prompt1x");
    let top = terminal.screen().rows()[1..].to_vec();
    terminal.keys("j".repeat(200));
    // Each prompt has three rows: an empty one, the speaker and the text.
    terminal.wait("200 rows are scrolled", |screen| screen.row_of("prompt68x") == Some(4));
    terminal.keys("k".repeat(200));
    terminal.wait("back at the top", |screen| screen.rows()[1..top.len()] == top[..top.len() - 1]);
}

#[test]
fn a4_39_code_and_long_lines_are_readable_at_60_columns() {
    let code =
        format!("walrus\n```\nlet {} = END;\n```\n| a | b |\n|---|---|\n| cell one | cell two |\n", "x".repeat(90));
    let env = Env::new();
    let answer = serde_json::json!({
        "sessionId": session(1), "uuid": crate::support::transcript::uuid(2), "type": "assistant", "cwd": "/home/u/x",
        "timestamp": "2026-10-01T10:00:02.000Z",
        "message": {"role": "assistant", "model": "m", "content": [{"type": "text", "text": code}]},
    });
    env.write(format!("-home-u-x/{}.jsonl", session(1)), format!("{}{answer}\n", user_line(&session(1), 1, "begin")));
    env.index();
    let terminal = Terminal::start(&env, (60, 20), &["tui", "walrus"]);
    terminal.shows("begin");
    terminal.keys(ENTER);
    let screen = terminal.shows("= END;");
    assert!(screen.has("cell one") && screen.has("cell two"), "{}", screen.text());
    assert!(screen.rows().iter().all(|row| row.chars().count() <= 60), "{}", screen.text());
    terminal.keys("w").hides("= END;");
    terminal.keys("\x1b[C".repeat(8)).shows("= END;");
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
