//! Answers that people cannot check themselves: the right index, the right file, the right figures, no secrets.

use std::fs;

use serde_json::{Value, json};

use crate::support::env::Env;
use crate::support::process::{finish, in_shell};
use crate::support::transcript::{session, user_line};

/// A trailing slash once made a second index: vanished sessions became invisible, and a forgotten one came back.
#[test]
fn all_spellings_of_a_root_are_one_index() {
    let env = Env::new();
    let id = session(1);
    env.write(format!("-p/{id}.jsonl"), user_line(&id, 1, "quetzal"));
    let root = env.claude();
    let link = env.path().join("link");
    std::os::unix::fs::symlink(&root, &link).expect("linked");
    let text = |path: &std::path::Path| path.to_str().expect("UTF-8").to_string();
    let spellings = [
        text(&root),
        format!("{}/", text(&root)),
        format!("{}/x/..", text(&root)),
        format!("{}/../.claude", text(&root)),
        text(&link),
        format!("{}//", text(&link)),
    ];
    fs::create_dir(root.join("x")).expect("made");
    for spelling in &spellings {
        let ran = env.run(&["search", "quetzal", "--root", spelling]);
        assert_eq!(ran.code, 0, "{spelling}: {}", ran.stderr);
    }
    let indexes = fs::read_dir(env.index_dir()).expect("listed").map(|entry| entry.expect("entry").file_name());
    let indexes: Vec<_> = indexes.filter(|name| name.to_string_lossy().starts_with("index-")).collect();
    assert_eq!(indexes.len(), 1, "{indexes:?}");
}

#[test]
fn a_session_id_with_capital_letters_is_found() {
    let env = Env::new();
    let id = "5E55AB01-0000-4000-8000-0000000000FF";
    env.write(format!("-p/{id}.jsonl"), user_line(id, 1, "capybara"));
    env.index();
    for typed in [id, "5E55AB01"] {
        assert_eq!(env.run(&["show", "--no-refresh", typed]).code, 0, "show {typed}");
        assert_eq!(env.run(&["search", "--no-refresh", "capybara", "--session", typed]).code, 0, "search {typed}");
    }
}

/// A line in which a tool writes a file, and its result.
fn written(id: &str, number: u32, path: &str, content: &str) -> String {
    let call = json!({"type": "assistant", "uuid": format!("{number:08}-0000-4000-8000-00000000000a"), "sessionId": id,
        "timestamp": format!("2026-10-01T10:00:{number:02}.000Z"), "cwd": "/w",
        "message": {"id": format!("m{number}"), "content": [
            {"type": "tool_use", "id": format!("t{number}"), "name": "Write", "input": {"file_path": path, "content": content}}]}});
    let result = json!({"type": "user", "uuid": format!("{number:08}-0000-4000-8000-00000000000b"), "sessionId": id,
        "timestamp": format!("2026-10-01T10:00:{number:02}.500Z"), "cwd": "/w",
        "message": {"content": [
            {"type": "tool_result", "tool_use_id": format!("t{number}"), "content": "File created successfully"}]},
        "toolUseResult": {"type": "create", "filePath": path, "content": content}});
    format!("{call}\n{result}\n")
}

/// Brackets in names were read as patterns, and such files were not found.
#[test]
fn a_path_that_exists_is_that_path_before_it_is_a_pattern() {
    const PATHS: [&str; 8] = [
        "/w/app/[locale]/page.tsx",
        "/w/app/l/page.tsx",
        "/w/[category]",
        "/w/c",
        "/w/a<b.ts",
        "/w/(group)/x.ts",
        "/w/{id}+1^.ts",
        "/w/what?.md",
    ];
    let env = Env::new();
    let id = session(1);
    let lines: Vec<String> = (1..).zip(PATHS).map(|(number, path)| written(&id, number, path, "one\n")).collect();
    env.write(format!("-w/{id}.jsonl"), lines.concat());
    env.index();
    for path in PATHS {
        let ran = env.run(&["file", "--no-refresh", "--json", path]);
        let found: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(found.iter().map(|line| &line["path"]).collect::<Vec<_>>(), [path], "{path}: {}", ran.stderr);
        let ran = env.run(&["recover", "--no-refresh", path]);
        assert_eq!(ran.stdout, "one\n", "{path}: {}", ran.stderr);
        let hits = env.hits_with(&["--file", path, "--kind", "tool_use", "--messages"]);
        assert_eq!(hits.len(), 1, "search --file {path}");
    }
    let ran = env.run(&["file", "--no-refresh", "--json", "app/*/page.tsx"]);
    assert_eq!(ran.stdout.lines().count(), 2, "a pattern still matches");
}

/// The lines of one API message disagree while it is streamed. The columns of two lines were mixed.
#[test]
fn the_line_with_the_most_output_gives_the_tokens_of_a_message() {
    let env = Env::new();
    let id = session(1);
    let line = |number: u32, input: u64, write: u64, output: u64| {
        let usage = json!({"input_tokens": input, "cache_creation_input_tokens": write, "output_tokens": output});
        let message =
            json!({"id": "m1", "model": "claude-x", "usage": usage, "content": [{"type": "text", "text": "said"}]});
        format!(
            "{}\n",
            json!({"type": "assistant", "uuid": format!("{number:08}-0000-4000-8000-000000000001"), "sessionId": id,
                "timestamp": format!("2026-10-01T10:00:{number:02}.000Z"), "message": message})
        )
    };
    for (name, lines) in [
        ("first", line(1, 23_428, 0, 1) + &line(2, 2_900, 20_528, 49)),
        ("last", line(1, 2_900, 20_528, 49) + &line(2, 23_428, 0, 1)),
    ] {
        env.write(format!("-p/{id}.jsonl"), lines);
        env.index();
        let ran = env.run(&["sessions", "--no-refresh", "--json"]);
        let tokens = serde_json::from_str::<Value>(&ran.stdout).expect("JSON")["tokens"].clone();
        let expected = json!({"input": 2_900, "cache_write": 20_528, "cache_read": 0, "output": 49});
        assert_eq!(tokens, expected, "sessions, {name}");
        let stats: Value = serde_json::from_str(&env.run(&["stats", "--no-refresh", "--json"]).stdout).expect("JSON");
        let total = &stats["tokens"];
        assert_eq!(
            (&total["input"], &total["cache_write"], &total["output"]),
            (&json!(2_900), &json!(20_528), &json!(49)),
            "stats, {name}: {stats}"
        );
    }
}

/// `blame` and `why` showed the file as it is, secrets included.
#[test]
fn blame_and_why_mask_secrets() {
    let env = Env::new();
    let id = session(1);
    let secret = ["ghp", "_", "0123456789abcdefghijABCDEFGHIJ123456"].concat();
    let content = format!("first\ntoken = {secret}\n");
    let file = env.file("secret.txt");
    fs::write(&file, &content).expect("written");
    let path = file.to_str().expect("UTF-8");
    env.write(format!("-w/{id}.jsonl"), written(&id, 1, path, &content));
    env.index();
    for args in [
        &["blame", "--no-refresh", path][..],
        &["blame", "--no-refresh", "--json", path],
        &["why", "--no-refresh", &format!("{path}:2")],
    ] {
        let ran = env.run(args);
        assert!(ran.code == 0 && !ran.stdout.contains(&secret), "{args:?}: {}", ran.stdout);
        let ran = env.run(&[args, &["--reveal"]].concat());
        assert!(ran.code == 0 && ran.stdout.contains(&secret), "{args:?} --reveal: {} {}", ran.stdout, ran.stderr);
    }
}

#[test]
fn a_mistyped_command_suggests_the_right_one() {
    let env = Env::new();
    let id = session(1);
    env.write(format!("-p/{id}.jsonl"), user_line(&id, 1, "okapi"));
    env.index();
    for (args, command) in [
        (&["sesions"][..], Some("sessions")),
        (&["sesions", "--tree"], Some("sessions")),
        (&["verfiy"], Some("verify")),
        (&["recvoer"], Some("recover")),
        (&["okapi"], None),
        (&["show", "me"], None),
        (&["sesions", "okapi"], None),
        (&["sesions", "--json"], None),
        (&["sesions", "-q"], None),
    ] {
        let ran = env.run(args);
        let hint = command.map(|command| format!("did you mean `unspool {command}`?"));
        assert_eq!(ran.stderr.contains("did you mean `unspool"), hint.is_some(), "{args:?}: {}", ran.stderr);
        assert!(hint.is_none_or(|hint| ran.stderr.contains(&hint)), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn quotes_ignore_case_like_everything_else() {
    let env = Env::new();
    let id = session(1);
    env.write(
        format!("-p/{id}.jsonl"),
        user_line(&id, 1, "call wrapKey here") + &user_line(&id, 2, "an UNWRAP_ALL there"),
    );
    env.index();
    for query in ["\"wrapkey\"", "\"wrapKey\"", "\"WRAPKEY\"", "\"call wrapkey\" OR \"wrapkey\"", "\"unwrapall\""] {
        assert_eq!(env.count(query), 1, "{query}");
    }
    assert_eq!(env.count("\"wrap\" \"nothing\""), 0);
}

/// The limit for the size of files once killed the process.
#[test]
fn a_limit_for_the_size_of_files_is_like_a_full_disk() {
    let env = Env::new();
    let id = session(1);
    let lines: String = (1..200).map(|number| user_line(&id, number, &format!("word{number} ").repeat(200))).collect();
    env.write(format!("-p/{id}.jsonl"), lines);
    let ran = finish(in_shell(&env, "ulimit -f 8").arg("index"));
    assert_eq!(ran.code, 6, "{}", ran.stderr);
    env.heal();
    assert_eq!(env.count("word"), 199);
}

/// A file name in a transcript may contain anything.
#[test]
fn a_recovered_file_has_no_control_characters_in_its_name() {
    let env = Env::new();
    let id = session(1);
    env.write(format!("-w/{id}.jsonl"), written(&id, 1, "/w/a\u{1b}[2Jb\u{202e}.txt", "one\n"));
    env.index();
    let folder = env.path().join("out");
    let ran = env.run(&["recover", "--no-refresh", "/w/*.txt", "--out", folder.to_str().expect("UTF-8")]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let names: Vec<_> = fs::read_dir(&folder).expect("listed").map(|entry| entry.expect("entry").file_name()).collect();
    assert_eq!(names, ["a_[2Jb_.txt"]);
}

/// Moving interpretation into the library once made an empty query list everything, and trimmed the text of `-F`.
#[test]
fn a_query_is_taken_as_it_was_typed() {
    let env = Env::new();
    let id = session(1);
    env.write(format!("-p/{id}.jsonl"), user_line(&id, 1, "an error here") + &user_line(&id, 2, "anerror"));
    env.index();
    for args in [&[""][..], &[" "], &["", "--role", "human"], &["--", ""]] {
        assert_eq!(env.run(&[&["search", "--no-refresh"], args].concat()).code, 2, "{args:?}");
    }
    assert_eq!(env.hits_with(&["-F", " error", "--messages"]).len(), 1);
    assert_eq!(env.hits_with(&["-F", "error", "--messages"]).len(), 2);
}

/// A word that occurs nowhere was replaced by a similar one, and the hits for that were shown with exit 0.
#[test]
fn a_word_that_occurs_nowhere_finds_nothing_and_similar_words_are_offered() {
    let env = Env::new();
    let id = session(1);
    env.write(format!("-p/{id}.jsonl"), user_line(&id, 1, "the oauth token expired before parseRetryAfter"));
    env.index();
    for query in ["oauht", "oauht gazrbage", "oauht \"tokne oauht\""] {
        let ran = env.run(&["search", "--no-refresh", query]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{query}");
        assert!(ran.stderr.contains("nothing contains oauht; similar words: oauth"), "{query}: {}", ran.stderr);
    }
    // Several misspelled words that occur together when corrected are hardly a coincidence.
    let ran = env.run(&["search", "--no-refresh", "tokne oauht"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("no match for oauht"), "{}", ran.stderr);
    assert!(env.run(&["search", "--no-refresh", "oauht"]).stderr.contains("oauth (1 hit)"));
    // Another word of the query occurs, or the word is a part or another form of one that does.
    for query in ["oauht expired", "parseRetryAf", "expir", "retryafter", "tokens"] {
        let ran = env.run(&["search", "--no-refresh", query]);
        assert_eq!(ran.code, 0, "{query}: {}", ran.stderr);
    }
}

/// A copy of a message in another session gave a hit a time before `--since`.
#[test]
fn since_never_shows_the_earlier_time_of_a_copy() {
    let env = Env::new();
    let line = |id: &str, day: u32| {
        json!({"type": "user", "uuid": "00000001-0000-4000-8000-00000000000a", "sessionId": id, "cwd": "/w",
            "timestamp": format!("2026-10-{day:02}T10:00:00.000Z"), "message": {"content": "the axolotl"}})
    };
    for (number, day) in [(1, 1), (2, 20)] {
        let id = session(number);
        env.write(format!("-w/{id}.jsonl"), format!("{}\n", line(&id, day)));
    }
    let time = |args: &[&str]| {
        let ran = env.run(&[&["search", "--json", "axolotl"], args].concat());
        let hit: Value = serde_json::from_str(ran.stdout.lines().next().expect("a hit")).expect("JSON");
        hit["timestamp"].as_str().expect("a time").to_string()
    };
    assert!(time(&[]).starts_with("2026-10-01"));
    assert!(time(&["--since", "2026-10-10"]).starts_with("2026-10-20"));
}

#[test]
fn a_queued_slash_command_is_not_a_prompt() {
    let env = Env::new();
    let id = session(1);
    let queued = |text: &str| {
        let line = json!({"type": "queue-operation", "operation": "enqueue", "sessionId": id, "content": text,
            "timestamp": "2026-10-01T10:00:05.000Z"});
        format!("{line}\n")
    };
    env.write(
        format!("-w/{id}.jsonl"),
        [user_line(&id, 1, "start"), queued("/clear"), queued("/tmp/x is full"), queued("go on")].concat(),
    );
    let row: Value = serde_json::from_str(&env.run(&["sessions", "--json"]).stdout).expect("JSON");
    assert_eq!(row["prompts"], 3, "{row}");
    assert_eq!(env.count("clear kind:command"), 1);
}
