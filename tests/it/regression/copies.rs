//! The same message in several files: which copy is found and shown once depended on chance.

use crate::support::env::Env;
use crate::support::transcript::{session, user_line, uuid};

/// Which copy of a message was shown depended on the order in which files were indexed.
#[test]
fn the_same_copy_is_shown_in_any_order_of_indexing() {
    let [own, fork] = [1, 9].map(session);
    // A line that occurs twice in a file, and once more in another.
    let env = Env::new();
    let line = user_line(&own, 1, "a quagga");
    let more: String = (2..42).map(|number| user_line(&own, number, "nothing much")).collect();
    env.write(format!("-p/{own}.jsonl"), &line);
    env.index();
    env.append(format!("-p/{own}.jsonl"), line.clone() + &more);
    env.index();
    env.write(format!("-p/{fork}.jsonl"), (line.clone() + &line + &more).replace(&own, &fork));
    env.index();
    let [found] = &env.hits("quagga")[..] else { panic!("expected one hit") };
    assert_eq!((found["session_id"].as_str(), found["offset"].as_u64()), (Some(own.as_str()), Some(0)));
    // A message with two parts, and a later fork of it.
    let words: String = (0..200).map(|number| format!("word{number} ")).collect();
    let line = format!(
        r#"{{"type":"assistant","uuid":"{}","sessionId":"{own}","timestamp":"2026-10-01T10:00:00.000Z","message":{{"content":[{{"type":"text","text":"we look at quagga {words}"}},{{"type":"tool_use","id":"t1","name":"Bash","input":{{"command":"quagga quagga"}}}}]}}}}"#,
        uuid(7)
    );
    let later = line.replace(&own, &fork).replace("2026-10", "2026-11");
    for order in [[(&own, &line), (&fork, &later)], [(&fork, &later), (&own, &line)]] {
        let env = Env::new();
        for (session, line) in order {
            env.write(format!("-p/{session}.jsonl"), format!("{line}\n"));
            env.index();
        }
        let [found] = &env.hits("quagga")[..] else { panic!("expected one hit") };
        assert_eq!(
            (found["session_id"].as_str(), found["kind"].as_str()),
            (Some(own.as_str()), Some("tool_use")),
            "{:?}",
            order.map(|(session, _)| session)
        );
    }
}

/// A tool result in a session and in the transcript of its compaction: which one was shown depended on which was read
/// first.
#[test]
fn a_copy_in_the_session_comes_before_one_in_its_compaction() {
    let id = session(1);
    let answer = |number: u32| {
        let line = user_line(&id, number, "@@");
        let result = r#"[{"type":"tool_result","tool_use_id":"t1","content":"a wombat"}]"#;
        line.replace(r#""@@""#, result)
    };
    let parent: String = (1..4).map(answer).collect();
    let copy = parent.replace("{\"parentUuid\"", "{\"isSidechain\":true,\"agentId\":\"acompact-1\",\"parentUuid\"");
    let files = [(format!("-p/{id}.jsonl"), parent), (format!("-p/{id}/subagents/agent-acompact-1.jsonl"), copy)];
    for order in [[0, 1], [1, 0]] {
        let env = Env::new();
        for at in order {
            env.write(&files[at].0, &files[at].1);
            env.index();
        }
        let hits = env.hits_with(&["wombat", "--messages"]);
        assert_eq!(hits.iter().filter(|hit| hit["agent_id"].is_null()).count(), 3, "{hits:?}");
    }
}

/// Which of several copies was shown depended on the order of reading, when later copies were read before earlier ones.
#[test]
fn the_earliest_copy_wins_in_any_order_of_indexing() {
    let id = session(1);
    let copy = |agent: Option<&str>, second: &str| {
        let result = r#"[{"type":"tool_result","tool_use_id":"t1","content":"a wombat"}]"#;
        let line = user_line(&id, 1, "@@").replace(r#""@@""#, result).replace("10:00:01", &format!("10:00:{second}"));
        match agent {
            Some(agent) => user_line(&id, 9, "go") + &line.replacen('{', &format!(r#"{{"agentId":"{agent}","#), 1),
            None => line,
        }
    };
    let agent = |name: &str| format!("-p/{id}/subagents/agent-{name}.jsonl");
    let files = [
        (agent("acompact-1"), copy(Some("acompact-1"), "01")),
        (agent("acompact-2"), copy(Some("acompact-2"), "05")),
        (agent("acompact-3"), copy(Some("acompact-3"), "05")),
        (format!("-p/{id}.jsonl"), copy(None, "01")),
    ];
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 2, 0, 3], [2, 1, 3, 0], [1, 3, 2, 0]] {
        let env = Env::new();
        for at in order {
            env.write(&files[at].0, &files[at].1);
            env.index();
        }
        let hits = env.hits_with(&["wombat", "--messages"]);
        assert_eq!(hits.iter().map(|hit| hit["agent_id"].is_null()).collect::<Vec<_>>(), [true], "{order:?}");
    }
}

/// Among copies with the same time, `show` chose a different one than `search`, and yet another after the next merge.
#[test]
fn the_copy_that_is_found_is_the_one_shown() {
    let [first, fork] = [1, 2].map(session);
    for order in [[&first, &fork], [&fork, &first]] {
        let env = Env::new();
        for session in order {
            env.write(format!("-p/{session}.jsonl"), user_line(session, 7, "a quagga"));
            env.write(format!("-p/{session}/subagents/agent-same.jsonl"), user_line(session, 8, "a dunnart"));
            env.index();
        }
        for id in [uuid(7), "same".to_string()] {
            let shown = env.run(&["show", &id]).stdout;
            assert!(shown.contains(&first) && !shown.contains(&fork), "{id}: {shown}");
        }
    }
}

/// Any copy of a queued prompt was shown, even one that was given to a subagent.
#[test]
fn the_first_copy_of_a_queued_prompt_is_shown() {
    let env = Env::new();
    let id = session(1);
    let queued = |number: u32| {
        format!(
            r#"{{"type":"queue-operation","operation":"enqueue","timestamp":"2026-10-01T10:00:{number:02}.000Z","sessionId":"{id}","content":"a potoroo {number}"}}"#
        ) + "\n"
    };
    let all: String = (0..20).map(queued).collect();
    env.write(format!("-p/{id}.jsonl"), all.repeat(2));
    env.write(format!("-p/{id}/subagents/agent-acompact-1.jsonl"), &all);
    env.index();
    let mut lines: Vec<_> = env
        .hits_with(&["potoroo", "--messages", "-n", "100"])
        .iter()
        .map(|hit| (hit["line"].as_u64(), hit["agent_id"].clone()))
        .collect();
    lines.sort_by_key(|(line, _)| *line);
    let first: Vec<_> = (1..=20).map(|line| (Some(line), serde_json::Value::Null)).collect();
    assert_eq!(lines, first);
}

/// One subagent started with a prompt that another one contains among its lines. The first could represent both, but
/// was dropped as a duplicate of the second.
#[test]
fn a_prompt_is_not_dropped_as_a_duplicate_of_its_copy() {
    for number in 1..9 {
        let env = Env::new();
        let id = session(number);
        let line = |agent: &str, number, text| {
            user_line(&id, number, text).replacen('{', &format!(r#"{{"agentId":"{agent}","#), 1)
        };
        let of = |agent: &str| [line(agent, 1, "first the quokka"), line(agent, 2, "then the numbat")];
        env.write(format!("-p/{id}/subagents/agent-acompact-1.jsonl"), of("acompact-1").concat());
        env.write(format!("-p/{id}/subagents/agent-acompact-2.jsonl"), &of("acompact-2")[1]);
        env.index();
        let found = |word| env.hits_with(&["--messages", "--meta", "-F", word]).len();
        assert_eq!((found("quokka"), found("numbat")), (1, 1), "{id}");
    }
}

/// When a line was written twice, the copy that was shown depended on which segments had been merged.
#[test]
fn the_first_of_two_equal_lines_is_shown_after_any_merge() {
    let env = Env::new();
    let [id, other] = [1, 2].map(session);
    let line = user_line(&id, 1, "a lone mulgara");
    env.write(format!("-home-u-x/{id}.jsonl"), &line);
    env.write(format!("-home-u-x/{other}.jsonl"), user_line(&other, 2, "stays"));
    env.index();
    for number in 3..30 {
        env.append(format!("-home-u-x/{other}.jsonl"), user_line(&other, number, "more of it"));
        if number % 9 == 4 {
            env.append(format!("-home-u-x/{id}.jsonl"), user_line(&id, number + 100, "between") + &line);
        }
        env.index();
        let [hit] = &env.hits("mulgara")[..] else { panic!("expected one hit") };
        assert_eq!(hit["line"], 1, "after run {number}");
    }
}

/// One session in two folders: the file that still exists and is longer represents it.
#[test]
fn the_longer_copy_of_a_session_is_shown() {
    let env = Env::new();
    let id = session(1);
    let both = user_line(&id, 1, "first") + &user_line(&id, 2, "second");
    env.write(format!("-home-u-a/{id}.jsonl"), &both);
    // With the same time, so that only its length shows that it is longer.
    let third = user_line(&id, 3, "third and a kowari").replace("10:00:03", "10:00:02");
    env.write(format!("-home-u-b/{id}.jsonl"), both + &third);
    env.write(format!("-home-u-b/{}.jsonl", session(2)), user_line(&session(2), 4, "stays"));
    env.index();
    assert!(env.run(&["show", &id]).stdout.contains("kowari"));
    std::fs::remove_file(env.file(format!("-home-u-a/{id}.jsonl"))).expect("removed");
    env.index();
    assert_eq!(env.hits("kowari")[0]["resume"], format!("unspool resume {id}"));
}
