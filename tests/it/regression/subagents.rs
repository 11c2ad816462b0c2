//! Bugs between a session and its subagents. A session records what it saw of a subagent. Where the transcript of the
//! subagent has the same messages, the copies in the session are left out.

use crate::support::env::Env;
use crate::support::transcript::{session, user_line, uuid};

/// After the subagent was pruned, what the parent had seen of it was not found any more.
#[test]
fn a_pruned_subagent_gives_back_what_the_parent_saw() {
    let env = Env::new();
    let id = session(1);
    let inner = r#"{"type":"assistant","uuid":"in1","message":{"content":[{"type":"text","text":"a seen dunnart"}]}}"#;
    let progress = format!(
        r#"{{"type":"progress","uuid":"p1","sessionId":"{id}","timestamp":"2026-10-01T11:00:00.000Z","data":{{"type":"agent_progress","agentId":"late1","message":{inner}}}}}"#
    ) + "\n";
    env.write(format!("-p/{id}.jsonl"), user_line(&id, 1, "go and look") + &progress);
    let agent = format!("-p/{id}/subagents/agent-late1.jsonl");
    let own = user_line(&id, 2, "a dunnart of its own").replacen('{', r#"{"isSidechain":true,"agentId":"late1","#, 1);
    let same = inner.replacen('{', &format!(r#"{{"isSidechain":true,"agentId":"late1","sessionId":"{id}","#), 1);
    env.write(&agent, own.replace("a dunnart", "something") + &same + "\n");
    env.index();
    let found = || env.hits_with(&["dunnart", "--agents"]).len();
    assert_eq!(found(), 1);
    std::fs::remove_file(env.file(&agent)).expect("removed");
    env.index();
    assert_eq!(env.run(&["prune", "--yes"]).code, 0);
    env.index();
    assert_eq!(found(), 1);
    assert_eq!(env.hits_with(&["\"seen dunnart\"", "--agents"]).len(), 1);
    env.verify();
}

/// Any transcript of a subagent, even one without the message, hid the parent's copy. The copy did not come back when
/// the transcript was cut or deleted.
#[test]
fn messages_missing_in_a_subagent_are_found_in_its_parent() {
    const WORDS: [&str; 4] = ["", "dunnart", "bilby", "cuscus"];
    let env = Env::new();
    let id = session(1);
    let message = |number: u32| {
        format!(
            r#"{{"type":"assistant","uuid":"{}","sessionId":"{id}","message":{{"content":[{{"type":"text","text":"{}"}}]}}}}"#,
            uuid(number),
            WORDS[number as usize]
        )
    };
    let seen = |number| {
        format!(
            r#"{{"type":"progress","uuid":"p{number}","sessionId":"{id}","data":{{"type":"agent_progress","agentId":"late1","message":{}}}}}"#,
            message(number)
        ) + "\n"
    };
    env.write(format!("-p/{id}.jsonl"), user_line(&id, 9, "go and look") + &(1..4).map(seen).collect::<String>());
    let agent = format!("-p/{id}/subagents/agent-late1.jsonl");
    let own = |numbers: std::ops::Range<u32>| numbers.map(|number| message(number) + "\n").collect::<String>();
    let nothing = "\0".repeat(64);
    for transcript in [
        None,
        Some(own(1..2)),
        Some(own(1..4)),
        Some(own(1..3)),
        Some(own(2..4)),
        Some(String::new()),
        Some(own(1..4)),
        Some(nothing),
        None,
        Some(own(1..4)),
        None,
    ] {
        match &transcript {
            Some(text) => drop(env.write(&agent, text)),
            None => drop(std::fs::remove_file(env.file(&agent))),
        }
        assert!(matches!(env.run(&["index", "--confirm"]).code, 0 | 3));
        let found: Vec<usize> = WORDS[1..].iter().map(|word| env.hits_with(&[word, "--agents"]).len()).collect();
        assert_eq!(found, [1, 1, 1], "{transcript:?}");
        env.verify();
    }
}

/// The parent's copy was hidden, and so not found, when the line with that id in the subagent's transcript was
/// unfinished or not a record.
#[test]
fn an_unfinished_line_of_a_subagent_hides_nothing() {
    let id = session(1);
    let message = format!(
        r#"{{"type":"assistant","uuid":"{}","sessionId":"{id}","message":{{"content":[{{"type":"text","text":"a dunnart"}}]}}}}"#,
        uuid(7)
    );
    let seen = format!(
        r#"{{"type":"progress","uuid":"p1","sessionId":"{id}","data":{{"type":"agent_progress","agentId":"half1","message":{message}}}}}"#
    );
    for (tail, copies) in [("", 1), ("}", 1), ("}]}}", 1), ("}]}}\n", 1), ("}]}\n", 2)] {
        let env = Env::new();
        env.write(format!("-p/{id}.jsonl"), user_line(&id, 9, "go and look") + &seen + "\n");
        let begun = message.strip_suffix("}]}}").expect("its end");
        env.write(
            format!("-p/{id}/subagents/agent-half1.jsonl"),
            format!("{}{begun}{tail}", user_line(&id, 8, "look")),
        );
        env.run(&["index"]);
        let found = env.hits_with(&["dunnart", "--agents", "--meta"]);
        assert_eq!(found.len(), copies, "{tail:?}: {found:?}");
        assert!(found.iter().any(|hit| hit["kind"] == "text"), "{tail:?}: {found:?}");
        env.verify();
    }
}

/// What a session saw of a subagent without a transcript was found, but could not be shown.
#[test]
fn a_subagent_without_a_transcript_can_be_shown() {
    let env = Env::new();
    let id = session(1);
    let seen = |number: u32, text: &str| {
        format!(
            r#"{{"type":"progress","uuid":"{}","sessionId":"{id}","data":{{"type":"agent_progress","agentId":"seen1","message":{{"type":"assistant","uuid":"{}","message":{{"content":[{{"type":"text","text":"{text}"}}]}}}}}}}}"#,
            uuid(number),
            uuid(number + 100),
        ) + "\n"
    };
    let other = user_line(&id, 9, "in the file of another subagent");
    env.write(format!("-p/{id}/subagents/agent-other.jsonl"), other);
    env.write(
        format!("-p/{id}.jsonl"),
        user_line(&id, 1, "go and look") + &seen(2, "a dunnart") + &user_line(&id, 3, "thanks") + &seen(4, "a bilby"),
    );
    env.index();
    let message = uuid(104);
    for args in [
        vec!["show", &message],
        vec!["show", "seen1"],
        vec!["show", &id, "--around", &message],
        vec!["show", &id, "-q", "bilby"],
        vec!["export", "seen1", "-o", "-"],
    ] {
        let ran = env.run(&args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        // No other messages are shown.
        let shown = ["a dunnart", "a bilby", "another", "thanks"].map(|text| ran.stdout.contains(text));
        assert_eq!(shown, [true, true, false, false], "{args:?}: {}", ran.stdout);
    }
    assert!(!env.run(&["status", "-v"]).stdout.contains("agent_progress"), "everything is in the index");
}

/// What a subagent saw of another one was lost together with the other's transcript. If it was seen twice, the first
/// copy disappeared.
#[test]
fn what_a_subagent_saw_of_another_is_kept() {
    let env = Env::new();
    let id = session(1);
    let message = |number: u32, text: &str| {
        format!(
            r#"{{"type":"assistant","uuid":"{}","sessionId":"{id}","message":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#,
            uuid(number)
        )
    };
    let seen = |agent: &str, message: &str| {
        format!(
            r#"{{"type":"progress","uuid":"p1","sessionId":"{id}","data":{{"type":"agent_progress","agentId":"{agent}","message":{message}}}}}"#
        ) + "\n"
    };
    let [of_other, of_itself] = [message(1, "a dunnart"), message(2, "a bilby")];
    let [first, other] = ["one", "other"].map(|name| format!("-p/{id}/subagents/agent-{name}.jsonl"));
    env.write(format!("-p/{id}.jsonl"), user_line(&id, 9, "go and look"));
    env.write(&first, user_line(&id, 8, "look") + &seen("other", &of_other) + &seen("one", &of_itself));
    env.write(&other, user_line(&id, 7, "look too") + &of_other + "\n");
    env.index();
    env.append(&first, seen("one", &of_itself));
    for transcript in [None, Some(user_line(&id, 7, "look too")), Some(String::new())] {
        if let Some(text) = &transcript {
            env.write(&other, text);
        }
        assert!(matches!(env.run(&["index", "--confirm"]).code, 0 | 3));
        assert_eq!(env.hits_with(&["dunnart", "--agents"]).len(), 1, "{transcript:?}");
        let bilbies = env.hits_with(&["bilby", "--agents"]);
        assert_eq!(bilbies.iter().map(|hit| hit["line"].as_u64()).collect::<Vec<_>>(), [Some(3)], "{transcript:?}");
        env.verify();
    }
}

/// What a session saw of its subagent disappeared when a subagent of another session had the same id. It stayed when
/// the file of its own subagent came back.
#[test]
fn subagents_of_two_sessions_may_share_an_id() {
    let env = Env::new();
    let [id, other] = [1, 2].map(session);
    let inner = r#"{"type":"assistant","uuid":"in1","message":{"content":[{"type":"text","text":"a seen dunnart"}]}}"#;
    let progress = format!(
        r#"{{"type":"progress","uuid":"p1","sessionId":"{id}","timestamp":"2026-10-01T11:00:00.000Z","data":{{"type":"agent_progress","agentId":"late1","message":{inner}}}}}"#
    ) + "\n";
    let own = |id: &str, text| {
        let line = user_line(id, 2, text).replace(&uuid(2), "in1");
        let line = line.replacen('{', r#"{"isSidechain":true,"agentId":"late1","#, 1);
        env.write(format!("-p/{id}/subagents/agent-late1.jsonl"), line)
    };
    let seen = || env.hits_with(&["\"seen dunnart\"", "--agents"]).len();
    let path = own(&id, "a dunnart of its own");
    env.write(format!("-p/{other}.jsonl"), user_line(&other, 3, "stays"));
    env.index();
    std::fs::remove_file(&path).expect("removed");
    env.index();
    env.write(format!("-p/{id}.jsonl"), user_line(&id, 1, "go and look") + &progress);
    env.index();
    assert_eq!(seen(), 1);
    own(&other, "of another session");
    env.index();
    assert_eq!(seen(), 1, "with a subagent of another session");
    env.heal();
    own(&id, "a dunnart of its own");
    env.index();
    assert_eq!(seen(), 0, "when its own transcript is back");
    env.heal();
}

/// An empty transcript determined title and project of its session for good, although its subagents know more.
#[test]
fn an_empty_transcript_does_not_describe_its_session() {
    let env = Env::new();
    let id = session(1);
    env.write(format!("-p/{id}/subagents/agent-a1.jsonl"), user_line(&id, 1, "look at the numbat"));
    env.write(format!("-p/{id}/subagents/agent-a1.meta.json"), r#"{"description":"Look at it"}"#);
    let described = || {
        let [hit] = &env.hits_with(&["numbat", "--agents"])[..] else { panic!("expected one hit") };
        let listed = env.run(&["sessions", "--json"]).stdout;
        let session: serde_json::Value = serde_json::from_str(listed.lines().next().expect("a line")).expect("JSON");
        let text = |of: &serde_json::Value, key: &str| of[key].as_str().unwrap_or_default().to_string();
        [text(hit, "title"), text(hit, "project"), text(&session, "title"), text(&session, "project")]
    };
    let expected = ["Look at it", "/home/u/x", "Look at it", "/home/u/x"];
    let snapshot = r#"{"type":"file-history-snapshot","messageId":"m","snapshot":{"trackedFileBackups":{"a.rs":{}}}}"#;
    for bytes in [None, Some(""), Some(r#"{"type":"user","uui"#), Some("\n\n"), Some(snapshot), None] {
        let main = format!("-p/{id}.jsonl");
        match bytes {
            Some(bytes) => drop(env.write(&main, bytes)),
            None => drop(std::fs::remove_file(env.file(&main))),
        }
        env.run(&["index", "--confirm"]);
        assert_eq!(described(), expected, "{bytes:?}");
        let shown = env.run(&["show", &id]);
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        assert!(shown.stdout.contains("Look at it"), "{bytes:?}: {}", shown.stdout);
    }
}
