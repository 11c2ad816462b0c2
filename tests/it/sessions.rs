//! `sessions` and `resume`: the list compared with the files, and the marks of unusual sessions.

use serde_json::{Value, json};

use crate::support::env::Env;
use crate::support::transcript::{session, user_line, uuid};

/// All sessions as JSON, by the first eight characters of their ids.
fn listed(env: &Env, args: &[&str]) -> Vec<Value> {
    let ran = env.run(&[&["sessions", "--no-refresh", "--json"], args].concat());
    assert!(matches!(ran.code, 0 | 1), "{} {}", ran.code, ran.stderr);
    ran.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn by_id<'v>(sessions: &'v [Value], id: &str) -> &'v Value {
    sessions
        .iter()
        .find(|session| session["session_id"].as_str().is_some_and(|found| found.starts_with(id)))
        .expect("listed")
}

fn fixtures() -> (Env, Vec<Value>) {
    let env = Env::with_fixtures("home");
    env.index();
    let sessions = listed(&env, &[]);
    (env, sessions)
}

#[test]
fn every_transcript_with_words_is_listed_once_newest_first() {
    let (_env, sessions) = fixtures();
    let ids: Vec<&str> = sessions.iter().filter_map(|session| session["session_id"].as_str()).collect();
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(ids.len(), unique.len());
    let ended: Vec<Option<&str>> = sessions.iter().map(|session| session["ended"].as_str()).collect();
    assert!(ended.windows(2).all(|pair| pair[0] >= pair[1]), "{ended:?}");
    assert!(!ids.iter().any(|id| id.starts_with("11000005")), "an empty file is not a session");
}

#[test]
fn unusual_sessions_are_marked_and_linked() {
    let (_env, sessions) = fixtures();
    let handed = by_id(&sessions, "14000001");
    let background = by_id(&sessions, "14000002");
    assert_eq!(handed["continued_in"], background["session_id"]);
    assert_eq!(background["continues"], handed["session_id"]);
    assert_eq!(background["background"], true);
    assert_eq!(by_id(&sessions, "15000002")["forked_from"], by_id(&sessions, "15000001")["session_id"]);
    let orphan = by_id(&sessions, "05000098");
    assert_eq!((&orphan["source_missing"], &orphan["agents_only"]), (&false.into(), &true.into()));
    assert_eq!(orphan["agents"].as_array().map(Vec::len), Some(1));
    assert!(sessions.iter().any(|session| session["history_only"] == true), "no session that only the history knows");
}

#[test]
fn subagents_belong_to_their_session() {
    let (env, sessions) = fixtures();
    let agents = by_id(&sessions, "05000001")["agents"].as_array().expect("agents").clone();
    assert_eq!(agents.len(), 2);
    assert!(agents.iter().any(|agent| agent["title"] == "Survey Retry-After handling"));
    let tree = env.run(&["sessions", "--no-refresh", "--tree", "--session", "05000001"]);
    assert!(tree.stdout.contains("└ a7d31c09be52f4466  Survey Retry-After handling"), "{}", tree.stdout);
}

/// A line of the assistant.
fn answer(id: &str, number: u32, message: &str, output: u64, at: &str) -> String {
    let uuid = uuid(number);
    format!(
        r#"{{"parentUuid":null,"isSidechain":false,"cwd":"/home/u/x","sessionId":"{id}","type":"assistant","message":{{"id":"{message}","role":"assistant","model":"claude-opus-4-1-20250805","content":[{{"type":"text","text":"words {number}"}}],"usage":{{"input_tokens":10,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":{output}}}}},"uuid":"{uuid}","timestamp":"{at}"}}"#
    ) + "\n"
}

#[test]
fn figures_do_not_depend_on_the_number_of_runs() {
    let env = Env::new();
    let id = session(1);
    let file = format!("-home-u-x/{id}.jsonl");
    let lines = [
        user_line(&id, 1, "first"),
        answer(&id, 2, "m1", 1, "2026-10-01T10:01:00.000Z"),
        answer(&id, 3, "m2", 4, "2026-10-01T10:02:00.000Z"),
        answer(&id, 4, "m1", 7, "2026-10-01T10:03:00.000Z"),
        answer(&id, 5, "m3", 1, "2026-10-01T12:03:00.001Z"),
    ];
    for line in &lines {
        env.append(&file, line);
        env.index();
    }
    let sessions = listed(&env, &[]);
    let found = &sessions[0];
    assert_eq!(found["tokens"], serde_json::json!({"input": 30, "cache_write": 6, "cache_read": 9, "output": 12}));
    assert_eq!((found["prompts"].as_u64(), found["messages"].as_u64()), (Some(1), Some(4)));
    assert_eq!((found["resumptions"].as_u64(), found["idle_ms"].as_u64()), (Some(1), Some(7_200_001)));
    assert_eq!(found["models"], serde_json::json!(["claude-opus-4-1-20250805"]));
    assert_eq!(found["bytes"].as_u64(), Some(lines.concat().len() as u64));
}

#[test]
fn sessions_can_be_filtered_and_sorted() {
    let (env, all) = fixtures();
    let paper = listed(&env, &["--project", "paperplane"]);
    assert!(!paper.is_empty() && paper.len() < all.len());
    assert!(
        paper.iter().all(|session| session["project"].as_str().is_some_and(|project| project.ends_with("paperplane")))
    );
    let large = listed(&env, &["--sort", "size", "-n", "3"]);
    assert_eq!(large.len(), 3);
    assert!(large[0]["bytes"].as_u64() >= large[1]["bytes"].as_u64());
    assert_eq!(env.run(&["sessions", "--no-refresh", "--project", "nosuchplace"]).code, 1);
}

#[test]
fn a_deleted_transcript_stays_in_the_list() {
    let env = Env::new();
    for number in 1..6 {
        let id = session(number);
        env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, number, "some words"));
    }
    env.index();
    std::fs::remove_file(env.file(format!("-home-u-x/{}.jsonl", session(2)))).expect("removed");
    env.index();
    let sessions = listed(&env, &[]);
    let gone: Vec<bool> = sessions.iter().filter_map(|session| session["source_missing"].as_bool()).collect();
    assert_eq!((sessions.len(), gone.iter().filter(|gone| **gone).count()), (5, 1));
    let ran = env.run(&["resume", "--no-refresh", &session(2)]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("Claude Code has deleted its transcript"), "{}", ran.stderr);
}

#[test]
fn csv_contains_no_formulas() {
    let env = Env::new();
    let id = session(1);
    env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, 1, "=HYPERLINK(\"http://x\", \"a\")"));
    env.index();
    let ran = env.run(&["sessions", "--no-refresh", "--csv"]);
    let row = ran.stdout.lines().nth(1).expect("a row");
    assert!(row.contains(r#""'=HYPERLINK(""http://x"", ""a"")""#), "{row}");
    assert_eq!(ran.stdout.lines().next().expect("head").split(',').count(), 25);
}

#[test]
fn resume_prints_the_command_or_says_why_not() {
    let env = Env::new();
    let id = session(1);
    let folder = env.path().join("it's here");
    std::fs::create_dir_all(&folder).expect("made");
    let line = user_line(&id, 1, "words").replace("/home/u/x", folder.to_str().expect("UTF-8"));
    env.write(format!("-x/{id}.jsonl"), line);
    env.index();
    let ran = env.run(&["resume", "--print", "--fork", &id[..8]]);
    let shown = folder.to_str().expect("UTF-8").replace('\'', "'\\''");
    assert_eq!((ran.code, ran.stdout), (0, format!("cd '{shown}' && claude --resume {id} --fork-session\n")));
    let ran = env.run(&["resume", &id]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("cannot find `claude` in PATH"), "{}", ran.stderr);
    std::fs::remove_dir(&folder).expect("removed");
    let ran = env.run(&["resume", "--print", &id]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("no longer exists"), "{}", ran.stderr);
}

#[cfg(unix)]
#[test]
fn resume_becomes_claude_in_the_folder_of_the_session() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = Env::new();
    let id = session(1);
    let folder = env.path().join("work");
    let bin = env.path().join("bin");
    std::fs::create_dir_all(&folder).expect("made");
    std::fs::create_dir_all(&bin).expect("made");
    std::fs::write(bin.join("claude"), "#!/bin/sh\npwd\necho \"$@\"\nexit 7\n").expect("written");
    std::fs::set_permissions(bin.join("claude"), std::fs::Permissions::from_mode(0o755)).expect("set");
    env.write(
        format!("-x/{id}.jsonl"),
        user_line(&id, 1, "words").replace("/home/u/x", folder.to_str().expect("UTF-8")),
    );
    env.index();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let ran = env.command().env("PATH", path).args(["resume", &id]).output().expect("ran");
    let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
    let real = std::fs::canonicalize(&folder).expect("there");
    assert_eq!((ran.status.code(), printed), (Some(7), format!("{}\n--resume {id}\n", real.display())));
}

/// A prompt and an answer with tokens, both with ids made from `number`.
fn exchange(id: &str, number: u32, parent: Option<u32>) -> String {
    let uuid = |number: u32, part: char| format!("{number:08}-0000-4000-8000-00000000000{part}");
    let prompt = json!({"type": "user", "uuid": uuid(number, 'a'), "parentUuid": parent.map(|parent| uuid(parent, 'b')),
        "sessionId": id, "timestamp": format!("2026-10-01T10:{number:02}:00.000Z"), "cwd": "/w",
        "message": {"role": "user", "content": format!("question {number}")}});
    let answer = json!({"type": "assistant", "uuid": uuid(number, 'b'), "parentUuid": uuid(number, 'a'),
        "sessionId": id, "timestamp": format!("2026-10-01T10:{number:02}:30.000Z"), "cwd": "/w",
        "message": {"id": format!("m{number}"), "model": "claude-opus-4-6", "role": "assistant",
            "content": [{"type": "text", "text": format!("answer {number}")}],
            "usage": {"input_tokens": 100, "output_tokens": 10}}});
    format!("{prompt}\n{answer}\n")
}

/// All sessions by their ids, after indexing them.
fn indexed_by_id(env: &Env) -> Vec<Value> {
    env.index();
    let mut rows = listed(env, &[]);
    rows.sort_by_key(|row| row["session_id"].as_str().map(str::to_string));
    rows
}

/// Sessions with the same messages were not linked, and their tokens counted twice.
#[test]
fn sessions_that_share_messages_are_linked_and_their_tokens_count_once() {
    let env = Env::new();
    let [original, fork, continued] = [session(1), session(2), session(3)];
    let lines = |id: &str, numbers: &[u32]| -> String {
        let parents = std::iter::once(None).chain(numbers.iter().map(|number| Some(*number)));
        numbers.iter().zip(parents).map(|(number, parent)| exchange(id, *number, parent)).collect()
    };
    env.write(format!("-w/{original}.jsonl"), lines(&original, &[1, 2, 3, 4]));
    env.write(format!("-w/{fork}.jsonl"), lines(&fork, &[1, 2, 3, 15, 16]));
    env.write(format!("-w/{continued}.jsonl"), lines(&continued, &[1, 2, 3, 4, 27]));
    let rows = indexed_by_id(&env);
    let net = |row: &Value| row["tokens"]["input"].as_u64().zip(row["shared_tokens"]["input"].as_u64());
    let net: Vec<_> = rows.iter().map(|row| net(row).map(|(all, shared)| all - shared)).collect();
    assert_eq!(net, [Some(400), Some(200), Some(100)], "{rows:#?}");
    let shared = |row: &Value| {
        let shown = |other: &Value| format!("{} {} {}", other["session_id"], other["messages"], other["relation"]);
        row["shared"].as_array().expect("a list").iter().map(shown).collect::<Vec<_>>().join("; ").replace('"', "")
    };
    assert_eq!(shared(&rows[0]), format!("{continued} 8 continued_in; {fork} 6 forked_into"));
    assert_eq!(shared(&rows[1]), format!("{original} 6 forked_from; {continued} 6 forked_into"));
    assert_eq!(shared(&rows[2]), format!("{original} 8 continues; {fork} 6 forked_from"));
    let id = |row: &Value, key: &str| row[key].as_str().map(str::to_string);
    assert_eq!((id(&rows[0], "continued_in"), id(&rows[1], "forked_from")), (Some(continued), Some(original.clone())));
    assert_eq!(id(&rows[2], "continues"), Some(original));
    let stats: Value = serde_json::from_str(&env.run(&["stats", "--json"]).stdout).expect("JSON");
    assert_eq!(stats["tokens"]["input"], 700, "{stats}");
}

/// Claude Code 1 wrote the messages of subagents into the file of the session. They counted as the session's own.
#[test]
fn subagents_inside_the_file_of_their_session_count_as_subagents() {
    let env = Env::new();
    let id = session(1);
    let sidechain = |lines: String| lines.replace("\"type\":", "\"isSidechain\":true,\"type\":");
    // Two subagents at the same time, after the first answer.
    let inner: [String; 2] = [5, 6].map(|number| sidechain(exchange(&id, number, None)));
    let more = sidechain(exchange(&id, 7, Some(5)));
    env.write(
        format!("-w/{id}.jsonl"),
        [exchange(&id, 1, None), inner.concat(), more, exchange(&id, 8, Some(1))].concat(),
    );
    let rows = indexed_by_id(&env);
    let [row] = rows.as_slice() else { panic!("{rows:#?}") };
    assert_eq!((&row["tokens"]["input"], &row["agent_tokens"]["input"]), (&200.into(), &300.into()), "{row:#}");
    let agents = row["agents"].as_array().expect("a list");
    let shown: Vec<_> = agents.iter().map(|agent| (agent["title"].as_str(), agent["answers"].as_u64())).collect();
    assert_eq!(shown, [(Some("question 5"), Some(2)), (Some("question 6"), Some(1))], "{row:#}");
    assert_eq!((&row["prompts"], &row["messages"]), (&2.into(), &4.into()), "{row:#}");
    let shown = env.run(&["show", "--no-refresh", agents[1]["agent_id"].as_str().expect("an id"), "--agents"]);
    assert!(shown.code == 0 && shown.stdout.contains("question 6"), "{}", shown.stdout);
}

/// A transcript with only a title next to subagents had no project.
#[test]
fn a_session_with_only_a_title_gets_the_project_of_its_subagents() {
    let env = Env::new();
    let id = session(1);
    let title = json!({"type": "summary", "summary": "A title", "leafUuid": "nowhere"});
    env.write(format!("-w/{id}.jsonl"), format!("{title}\n"));
    let agent = exchange(&id, 1, None).replace("\"type\":", "\"isSidechain\":true,\"agentId\":\"a1\",\"type\":");
    env.write(format!("-w/{id}/subagents/agent-a1.jsonl"), agent);
    assert_eq!(indexed_by_id(&env)[0]["project"], "/w");
}
