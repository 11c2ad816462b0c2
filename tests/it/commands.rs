//! Output and exit codes of the commands, for people and for programs.

use serde_json::Value;

use crate::support::env::{Env, Ran};
use crate::support::transcript::{session, user_line, uuid};

/// A home with two small sessions, indexed.
fn small_home() -> Env {
    let env = Env::new();
    let first = session(1);
    env.write(
        format!("-home-u-x/{first}.jsonl"),
        [
            user_line(&first, 1, "why does parseRetryAfter ignore the header?"),
            user_line(&first, 2, "the pelican is back"),
            format!(r#"{{"type":"custom-title","customTitle":"Retry-After header","sessionId":"{first}"}}"#) + "\n",
        ]
        .concat(),
    );
    let second = session(2);
    env.write(format!("-home-u-x/{second}.jsonl"), user_line(&second, 3, "rename the pelican"));
    env.index();
    env
}

#[test]
fn index_reports_what_it_did() {
    let env = small_home();
    let ran = env.run(&["index"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.starts_with("indexed 2 files (2 unchanged): 0 documents from 0 B in "), "{}", ran.stdout);
    assert_eq!(env.run(&["index", "--quiet"]).stdout, "");
    let report = env.index_json();
    assert_eq!((report["schema"].as_u64(), report["type"].as_str()), (Some(1), Some("index")));
    assert_eq!(
        (report["files"].as_u64(), report["unchanged"].as_u64(), report["bytes"].as_u64()),
        (Some(2), Some(2), Some(0))
    );
}

#[test]
fn search_prints_lines_for_a_pipe() {
    let env = small_home();
    let ran = env.run(&["search", "parse retry after"]);
    let expected = format!(
        "{}\t2026-10-01T10:00:01.000Z\tyou\t/home/u/x\twhy does parseRetryAfter ignore the header?\n",
        session(1)
    );
    assert_eq!((ran.code, ran.stdout), (0, expected + &title_line()));
}

/// The title of the first session is a hit too.
fn title_line() -> String {
    format!("{}\t2026-10-01T10:00:02.000Z\ttitle\t/home/u/x\tRetry-After header\n", session(1))
}

#[test]
fn search_prints_everything_as_json() {
    let env = small_home();
    let ran = env.run(&["search", "--json", "header?"]);
    let lines: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let hit = lines.iter().find(|line| line["kind"] == "prompt").expect("the prompt");
    let expected = serde_json::json!({
        "schema": 1, "type": "hit", "uuid": uuid(1), "session_id": session(1), "also_in": [], "agent_id": null,
        "path": env.claude().join(format!("projects/-home-u-x/{}.jsonl", session(1))), "offset": 0, "line": 1,
        "timestamp": "2026-10-01T10:00:01.000Z", "role": "human", "kind": "prompt", "tool": null, "files": [],
        "project": "/home/u/x", "cwd": "/home/u/x", "branch": "main", "model": null, "error": false,
        "title": "Retry-After header", "source_missing": false, "score": hit["score"],
        "factors": hit["factors"], "resume": format!("unspool resume {}", session(1)),
        "snippet": {"text": "why does parseRetryAfter ignore the header?", "ranges": [[36, 42]]},
    });
    assert_eq!(hit, &expected);
    let summary = lines.last().expect("a summary");
    assert_eq!(
        (summary["type"].as_str(), summary["hits"].as_u64(), summary["sessions"].as_u64()),
        (Some("summary"), Some(2), Some(1))
    );
}

/// `| less -R` and fzf need the same output as a terminal.
#[test]
fn forced_colours_come_with_the_screen_layout() {
    let env = small_home();
    let forced = |args: &[&str]| {
        let output = env.command().env("CLICOLOR_FORCE", "1").args(args).output().expect("ran");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let timeless = |text: String| text.split(" (").next().map(String::from);
    for args in [&["search", "pelican"][..], &["sessions"], &["file", "x.rs", "--mentions"]] {
        let asked = env.run(&[&["--color", "always"], args].concat()).stdout;
        assert_eq!(timeless(asked.clone()), timeless(forced(args)), "{args:?}");
        assert_eq!(asked.is_empty(), args[0] == "file", "{args:?}");
        assert!(asked.is_empty() || (asked.contains("\u{1b}[") && !asked.contains('\t')), "{asked:?}");
        // No colour codes without text between them.
        assert!(!asked.contains("\u{1b}[2m\u{1b}[0m"), "{asked:?}");
        let never = env.run(&[&["--color", "never"], args].concat()).stdout;
        assert!(!never.contains('\u{1b}'), "{never:?}");
    }
    assert!(!env.run(&["search", "--json", "--color", "always", "pelican"]).stdout.contains('\u{1b}'));
}

#[test]
fn a_missing_root_is_reported() {
    let env = small_home();
    let is_reported = |ran: &Ran| ran.stderr.contains(".claude does not exist; using the existing index");
    assert!(!is_reported(&env.run(&["search", "pelican"])));
    std::fs::rename(env.claude(), env.path().join("away")).expect("moved");
    for args in [&["search", "pelican"][..], &["search", "--no-refresh", "pelican"]] {
        let ran = env.run(args);
        assert!(ran.code == 0 && ran.stdout.lines().count() == 2 && is_reported(&ran), "{args:?}: {}", ran.stderr);
    }
    let ran = env.run(&["--root", "nowhere", "search", "pelican"]);
    assert!(ran.stderr.contains("folder ") && ran.stderr.contains("nowhere does not exist\n"), "{}", ran.stderr);
}

#[test]
fn errors_are_json_for_programs_and_a_sentence_for_people() {
    let env = small_home();
    for (args, code, message) in [
        (&["search", "x", "since:soon"][..], 2, "cannot read \"soon\" as a date"),
        (&["search", "x", "--cursor", "y"], 2, "\"y\" is not a cursor"),
        (&["search", "x", "-n", "many"], 2, "invalid value 'many' for '--limit <N>': invalid digit found in string"),
        (&["sessions", "--sort", "x"], 2, "invalid value 'x' for '--sort <BY>'"),
    ] {
        let ran = env.run(&[args, &["--json"]].concat());
        let error: Value = serde_json::from_str(&ran.stderr).expect(&ran.stderr);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{args:?}");
        assert_eq!((&error["type"], &error["exit_code"]), (&Value::from("error"), &Value::from(code)), "{error}");
        assert!(error["message"].as_str().is_some_and(|text| text.starts_with(message)), "{error}");
        let ran = env.run(args);
        let start = format!("unspool: error: {message}");
        assert!(ran.code == code && ran.stderr.starts_with(&start), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn words_without_a_command_are_a_search_and_no_hit_exits_with_1() {
    let env = small_home();
    assert_eq!(env.run(&["pelican"]).stdout.lines().count(), 2);
    let ran = env.run(&["zebra"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (1, "", "unspool: nothing found for zebra\n"));
}

#[test]
fn literal_text_must_match_exactly() {
    let env = small_home();
    assert_eq!(env.hits_with(&["-F", "RetryAfter ignore"]).len(), 1);
    assert_eq!(env.hits_with(&["-F", "retry after ignore"]).len(), 0);
    assert_eq!(env.hits_with(&["retry after ignore"]).len(), 2);
}

#[test]
fn limits_count_sessions_or_messages() {
    let env = small_home();
    assert_eq!(env.hits_with(&["-n", "1", "pelican"]).len(), 1);
    assert_eq!(env.hits_with(&["--messages", "-n", "1", "pelican"]).len(), 1);
    assert_eq!(env.hits_with(&["--messages", "-n", "0", "pelican"]).len(), 1);
    assert_eq!(env.run(&["search", "-n", "-1", "pelican"]).code, 2);
}

#[test]
fn search_updates_the_index_first() {
    let env = small_home();
    env.append(format!("-home-u-x/{}.jsonl", session(2)), user_line(&session(2), 9, "a fresh walrus"));
    assert_eq!(env.count("walrus"), 0, "--no-refresh answers from the index as it is");
    assert_eq!(env.run(&["search", "walrus"]).code, 0);
    assert_eq!(env.count("walrus"), 1);
}

#[test]
fn the_first_search_creates_the_index() {
    let env = Env::with_fixtures("home");
    let ran = env.run(&["search", "parseRetryAfter"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("there is no index yet"), "{}", ran.stderr);
    assert!(!ran.stdout.is_empty());
}

#[test]
fn each_set_of_roots_has_its_own_index() {
    let env = small_home();
    let other = Env::with_fixtures("home");
    let root = other.claude();
    let root = root.to_str().expect("UTF-8");
    assert_eq!(env.run(&["--root", root, "index", "--quiet"]).code & !3, 0);
    assert_eq!(env.count("pelican"), 2, "the other roots are in another index");
    assert_eq!(env.run(&["--root", root, "search", "--no-refresh", "pelican"]).code, 1);
}

#[test]
fn deleted_sessions_stay_until_pruned() {
    let env = small_home();
    for number in 3..6 {
        let id = session(number);
        env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, 10 + number, "a filler"));
    }
    env.index();
    std::fs::remove_file(env.file(format!("-home-u-x/{}.jsonl", session(2)))).expect("removed");
    assert_eq!(env.index_json()["gone"], 1);
    let hits = env.hits("rename the pelican");
    let gone: Vec<&Value> = hits.iter().filter(|hit| hit["source_missing"] == true).collect();
    assert_eq!(gone.len(), 1);
    assert_eq!(env.run(&["prune"]).code, 2, "there is no terminal to ask");
    assert!(env.run(&["prune", "--dry-run"]).stdout.contains("1 file with 1 document would be removed"));
    assert_eq!(env.run(&["prune", "--yes"]).code, 0);
    assert_eq!(env.hits("rename").len(), 0);
    env.heal();
}

#[test]
fn a_forgotten_session_is_erased_from_every_file_and_stays_out() {
    let env = small_home();
    env.append(format!("-home-u-x/{}.jsonl", session(1)), user_line(&session(1), 20, "my secret is hunter2token"));
    env.index();
    assert_eq!(env.count("hunter2token"), 1);
    assert_eq!(env.run(&["forget", "--yes", &session(1)]).code, 0);
    for file in walk(&env.index_dir()) {
        let bytes = std::fs::read(&file).expect("read");
        assert!(!bytes.windows(7).any(|word| word == b"hunter2"), "{}", file.display());
    }
    env.append(format!("-home-u-x/{}.jsonl", session(1)), user_line(&session(1), 21, "and again hunter2token"));
    env.heal();
    let ran = env.run(&["index", "--rebuild"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(env.count("hunter2token"), 0);
    assert_eq!(env.count("pelican"), 1);
    env.heal();
}

fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).expect("listed").map(|entry| entry.expect("entry").path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn no_escape_sequence_reaches_the_reader() {
    let env = Env::new();
    let id = session(1);
    let nasty = "walrus \u{1b}]52;c;aGk=\u{7} \u{9b}31m \u{202e}desrever\u{202c} \u{e0041} tail";
    env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, 1, nasty));
    env.index();
    for args in [&["search", "walrus"][..], &["search", "--json", "walrus"], &["search", "\u{1b}[31mnothing"]] {
        let ran = env.run(args);
        let printed = ran.stdout + &ran.stderr;
        let bad = printed.chars().find(|c| unspool::untrusted::is_dangerous(*c));
        assert_eq!(bad, None, "{args:?}: {printed:?}");
    }
}

#[test]
fn a_closed_pipe_is_not_a_failure() {
    let env = small_home();
    let script = format!("set -o pipefail; {} pelican | head -c 1 >/dev/null", env!("CARGO_BIN_EXE_unspool"));
    let mut command = std::process::Command::new("bash");
    command
        .args(["-c", &script])
        .env_clear()
        .env("HOME", env.path().join("home"))
        .env("UNSPOOL_INDEX_DIR", env.index_dir());
    let output = command.env("PATH", "/usr/bin:/bin").output().expect("ran");
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
