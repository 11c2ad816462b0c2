//! `show`: the conversation as it happened, from the index alone.

use crate::support::env::Env;
use crate::support::transcript::{session, user_line, uuid};

fn fixtures() -> Env {
    let env = Env::with_fixtures("home");
    env.index();
    env
}

fn shown(env: &Env, args: &[&str]) -> String {
    let ran = env.run(&[&["show", "--no-refresh"], args].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.stdout
}

/// A line of a conversation that follows another.
fn message_line(id: &str, number: u32, parent: Option<u32>, role: &str, content: &str) -> String {
    let parent = parent.map_or("null".to_string(), |parent| format!("\"{}\"", uuid(parent)));
    let uuid = uuid(number);
    format!(
        r#"{{"parentUuid":{parent},"isSidechain":false,"cwd":"/home/u/x","sessionId":"{id}","gitBranch":"main","type":"{role}","message":{{"id":"m{number}","role":"{role}","content":{content}}},"uuid":"{uuid}","timestamp":"2026-10-01T10:{number:02}:00.000Z"}}"#
    ) + "\n"
}

#[test]
fn a_conversation_is_shown_completely() {
    let env = Env::new();
    let id = session(1);
    let lines = [
        message_line(&id, 1, None, "user", r#""why does it fail?""#),
        message_line(
            &id,
            2,
            Some(1),
            "assistant",
            r##"[{"type":"text","text":"# Plan\nI **look**:\n- first\n- then"}]"##,
        ),
        message_line(
            &id,
            3,
            Some(2),
            "assistant",
            r#"[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"cargo test -q"}}]"#,
        ),
        message_line(
            &id,
            4,
            Some(3),
            "user",
            r#"[{"type":"tool_result","tool_use_id":"t1","content":"running 2 tests\nok"}]"#,
        ),
        message_line(
            &id,
            5,
            Some(4),
            "assistant",
            r#"[{"type":"tool_use","id":"t2","name":"Edit","input":{"file_path":"/home/u/x/src/a.rs","old_string":"let a = 1;\nlet b;","new_string":"let a = 2;\nlet b;"}}]"#,
        ),
        message_line(
            &id,
            6,
            Some(5),
            "user",
            r#"[{"type":"tool_result","tool_use_id":"t2","content":"The file has been updated."}]"#,
        ),
        message_line(&id, 7, Some(6), "assistant", r#"[{"type":"thinking","thinking":"hm"}]"#),
    ];
    env.write(format!("-home-u-x/{id}.jsonl"), lines.concat());
    env.index();
    let expected = format!(
        "why does it fail?
/home/u/x · main · {id}
2026-10-01 10:01 · 6 min · 1 prompt, 5 messages, 2 tools, 1 file · {} B

── Thu 2026-10-01 ────────────────────────────────────────────────────────────────────────────────────────────

you  10:01
  why does it fail?

claude  10:02
  Plan

  I look:

  • first
  • then
  ▸ Bash cargo test -q → 2 lines: running 2 tests
  ▸ Edit src/a.rs → +1 −1
      - let a = 1;
      + let a = 2;
        let b;

claude  10:07
  ┊ hm
",
        lines.concat().len()
    );
    let expected = expected.replace(&format!("{} B", lines.concat().len()), &size(lines.concat().len()));
    assert_eq!(shown(&env, &[&id]), expected);
    let full = shown(&env, &["--tools", "full", &id]);
    assert!(full.contains("  │ running 2 tests\n    │ ok\n"), "{full}");
    let none = shown(&env, &["--tools", "none", &id]);
    assert!(!none.contains("cargo test"), "{none}");
}

fn size(bytes: usize) -> String {
    if bytes < 1000 { format!("{bytes} B") } else { format!("{:.1} kB", bytes as f64 / 1000.0) }
}

#[test]
fn messages_before_a_rewind_are_folded() {
    let env = Env::new();
    let id = session(1);
    let text = |words: &str| format!(r#"[{{"type":"text","text":"{words}"}}]"#);
    let lines = [
        message_line(&id, 1, None, "user", r#""begin""#),
        message_line(&id, 2, Some(1), "assistant", &text("begun")),
        message_line(&id, 3, Some(2), "user", r#""wrong way""#),
        message_line(&id, 4, Some(3), "assistant", &text("went wrong")),
        message_line(&id, 5, Some(2), "user", r#""right way""#),
        message_line(&id, 6, Some(5), "assistant", &text("went right")),
    ];
    // In two runs, while the file grows.
    env.write(format!("-home-u-x/{id}.jsonl"), lines[..4].concat());
    env.index();
    env.append(format!("-home-u-x/{id}.jsonl"), lines[4..].concat());
    env.index();
    let folded = shown(&env, &[&id]);
    assert!(!folded.contains("wrong way") && folded.contains("right way"), "{folded}");
    assert!(folded.contains("· abandoned branch: 2 messages, from line 3 (--branches shows it)"), "{folded}");
    assert!(shown(&env, &["--branches", &id]).contains("went wrong"));
}

#[test]
fn a_message_is_shown_with_its_neighbours() {
    let env = Env::new();
    let id = session(1);
    let lines: String = (1..=40).map(|number| user_line(&id, number, &format!("prompt {number}"))).collect();
    env.write(format!("-home-u-x/{id}.jsonl"), lines);
    env.index();
    let around = shown(&env, &[&uuid(30), "-C", "2"]);
    for number in 1..=40 {
        let is_near = (28..=32).contains(&number);
        assert_eq!(around.contains(&format!("  prompt {number}\n")), is_near, "{number}: {around}");
    }
    assert!(around.contains("· 27 messages before this") && around.contains("· 8 messages after this"), "{around}");
    assert!(around.contains("▶ you"), "{around}");
    let found = shown(&env, &[&id[..8], "-q", "\"prompt 30\"", "-C", "1"]);
    assert!(found.contains("▶ you") && found.contains("  prompt 31\n") && !found.contains("  prompt 32\n"), "{found}");
}

#[test]
fn ids_may_be_short_but_must_be_unambiguous() {
    let env = fixtures();
    assert!(shown(&env, &["05000001"]).contains("parseRetryAfter"));
    assert!(shown(&env, &["a7d31c09"]).contains("numbat-abort"), "a subagent by its id");
    let ran = env.run(&["show", "--no-refresh", "0500"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("sessions begin with \"0500\"") && ran.stderr.contains("05000001-"), "{}", ran.stderr);
    assert_eq!(env.run(&["show", "--no-refresh", "050"]).code, 2);
    assert_eq!(env.run(&["show", "--no-refresh", "ffffffff"]).code, 1);
}

#[test]
fn subagents_are_named_or_shown_where_they_were_started() {
    let env = fixtures();
    let named = shown(&env, &["05000001"]);
    assert!(named.contains("↳ agent a7d31c09be52f4466 · Survey Retry-After handling"), "{named}");
    assert!(!named.contains("numbat-abort"));
    assert!(shown(&env, &["--agents", "05000001"]).contains("numbat-abort"));
}

#[test]
fn a_deleted_session_is_shown_from_the_index() {
    let env = Env::new();
    for number in 1..6 {
        let id = session(number);
        env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, number, "the heron is back"));
    }
    env.index();
    std::fs::remove_file(env.file(format!("-home-u-x/{}.jsonl", session(2)))).expect("removed");
    env.index();
    let text = shown(&env, &[&session(2)]);
    assert!(text.contains("transcript deleted") && text.contains("the heron is back"), "{text}");
}

#[test]
fn secrets_are_masked_and_escapes_made_visible() {
    let env = Env::new();
    let id = session(1);
    let key = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, 1, &format!("use {key} \u{202e}now")));
    env.index();
    let text = shown(&env, &[&id]);
    assert!(!text.contains(&key), "must not be in the title either: {text}");
    assert!(text.contains("use [redacted: github token] ⟨U+202E⟩now"), "{text}");
    assert!(shown(&env, &["--reveal", &id]).contains(&key));
}

#[test]
fn every_fixture_can_be_shown_and_exported() {
    for home in ["home", "malformed"] {
        let env = Env::with_fixtures(home);
        env.index();
        let ids = env.run(&["sessions", "--no-refresh"]).stdout;
        for id in ids.lines().filter_map(|line| line.split('\t').next()) {
            let ran = env.run(&["show", "--no-refresh", "--agents", "--branches", "--meta", "--tools", "full", id]);
            assert_eq!(ran.code, 0, "{id}: {}", ran.stderr);
            for format in ["md", "html", "json"] {
                let ran = env.run(&["export", "--no-refresh", "--agents", "-f", format, "-o", "-", id]);
                assert_eq!(ran.code, 0, "{id}: {}", ran.stderr);
            }
        }
    }
}
