//! One test for each bug, named after it.

use crate::crash::scene;
use crate::oracle::World;
use crate::util::{Env, session, user_line};

/// A record indexed before its newline came, then another on the same line: line numbers and checksum must not
/// depend on when it was read.
#[test]
fn record_glued_behind_an_unterminated_one() {
    let env = Env::new();
    let id = session(1);
    let name = format!("-home-u-x/{id}.jsonl");
    env.write(&name, user_line(&id, 1, "first ocelot").trim_end());
    env.index();
    assert_eq!(env.count("ocelot"), 1);
    env.append(&name, user_line(&id, 2, "second ocelot") + &user_line(&id, 3, "third ocelot"));
    env.heal();
    let mut lines: Vec<u64> = env.hits("ocelot").iter().filter_map(|hit| hit["line"].as_u64()).collect();
    lines.sort_unstable();
    assert_eq!(lines, [1, 1, 2]);
}

/// The name of a session stands at line 0 of its file and must not be mistaken for the first line.
#[test]
fn title_and_first_line_keep_their_order_when_taken_over() {
    let env = Env::new();
    let id = session(1);
    let title = format!(r#"{{"type":"custom-title","customTitle":"Marmot","sessionId":"{id}"}}"#) + "\n";
    env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, 1, "a marmot") + &title);
    let other = session(2);
    env.write(format!("-home-u-x/{other}.jsonl"), user_line(&other, 2, "stays"));
    env.index();
    std::fs::remove_file(env.file(format!("-home-u-x/{id}.jsonl"))).expect("removed");
    assert_eq!(env.run(&["index", "--rebuild"]).code, 0);
    assert_eq!(env.hits("marmot").len(), 2);
    env.heal();
}

/// Killed after a commit in the middle of a file: the rest of the file was taken for read, and never was.
#[test]
fn rest_of_a_file_after_a_kill_between_two_commits() {
    let world = World::new();
    world.append(0, &[0; 20]);
    for point in 20..90 {
        let _ = std::fs::remove_dir_all(world.data_dir());
        world.run(&format!("kill@{point},batch:1"), &["index"]);
        assert_eq!(world.sound(&world.data_dir()), Ok(()));
        assert_eq!(world.heals(), Ok(()), "killed at {point}");
    }
}

/// A record behind one with broken UTF-8 on its line: its place was that in the mended text, not that in the file.
#[test]
fn place_of_a_record_behind_broken_text() {
    let env = Env::new();
    let id = session(1);
    let line = [&b"torn \xff\xfe\xff"[..], user_line(&id, 2, "behind it").as_bytes()].concat();
    let place = line.windows(14).rposition(|bytes| bytes == b"{\"parentUuid\":").expect("a record");
    env.write(format!("-home-u-x/{id}.jsonl"), &line);
    env.index();
    let hit = env.hits("behind").pop().expect("a hit");
    assert_eq!(hit["offset"], place, "{hit}");
    env.heal();
}

/// After a power cut tantivy's list of files may be older than the files; a file of deletions that was not on it was
/// in the way of every later run. There is no list any more, but such a file still comes about.
#[test]
fn file_of_deletions_that_no_commit_names() {
    let scene = scene("rewrite", "");
    let points = scene.points();
    let deletions =
        points.iter().position(|point| point.letter == 's' && point.path.to_string_lossy().ends_with(".del"));
    scene.restore();
    assert_eq!(scene.run(&format!("kill@{}", deletions.expect("deletions") + 2)).code, -1);
    let folder = scene.world.store(&scene.world.data_dir()).directory();
    let is_left = std::fs::read_dir(folder)
        .expect("listed")
        .flatten()
        .any(|entry| entry.file_name().to_string_lossy().ends_with(".del"));
    assert!(is_left, "no file of deletions");
    assert_eq!(scene.survives("a file of deletions that no commit names"), Ok(()));
}

/// A session without a transcript of its own is called after one of its subagents. Which one depended on the order in
/// which they were read, and could be one that had nothing to say.
#[test]
fn title_of_a_session_without_a_transcript() {
    let id = session(1);
    let line = |agent: &str, number: u32, text: &str| {
        let agent = format!(r#""isSidechain":true,"agentId":"{agent}""#);
        user_line(&id, number, text).replacen(r#""isSidechain":false"#, &agent, 1)
    };
    let agents =
        [("a0000001", 1, "Warmup"), ("a0000002", 3, "the later axolotl"), ("a0000003", 2, "the first axolotl")];
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for order in orders {
        let env = Env::new();
        for at in order {
            let (agent, number, text) = agents[at];
            env.write(format!("-home-u-x/agent-{agent}.jsonl"), line(agent, number, text));
            env.index();
        }
        let hits = env.hits("axolotl");
        assert!(!hits.is_empty() && hits.iter().all(|hit| hit["title"] == "the first axolotl"), "{order:?}: {hits:?}");
        let listed = env.run(&["sessions", "--json"]).stdout;
        assert!(listed.contains(r#""title":"the first axolotl""#), "{order:?}: {listed}");
    }
}

/// What Claude Code queues for itself, a record of a task in the background, was taken for a prompt and came first. JSON
/// that somebody pasted is a prompt.
#[test]
fn records_of_tasks_in_the_queue_are_no_prompts() {
    let env = Env::new();
    let id = session(1);
    let queued = |text: &str| {
        let text = serde_json::to_string(text).expect("JSON");
        format!(
            r#"{{"type":"queue-operation","operation":"enqueue","timestamp":"2026-10-01T10:00:00.000Z","sessionId":"{id}","content":{text}}}"#
        ) + "\n"
    };
    let task = r#"{"task_id":"b640b25","tool_use_id":"toolu_1","description":"Push numbat","task_type":"local_bash"}"#;
    let lines = [user_line(&id, 1, "about a numbat"), queued(task), queued(r#"{"numbat": "pasted"}"#)];
    env.write(format!("-home-u-x/{id}.jsonl"), lines.concat());
    env.index();
    let roles = |args: &[&str]| {
        let said = |hit: &serde_json::Value| format!("{} {}", hit["role"], hit["kind"]).replace('"', "");
        let mut found: Vec<String> = env.hits_with(args).iter().map(said).collect();
        found.sort();
        found
    };
    assert_eq!(roles(&["--messages", "numbat"]), ["human prompt", "human queued"]);
    assert_eq!(roles(&["--messages", "--meta", "numbat"]), ["human prompt", "human queued", "meta notice"]);
}

/// A title was cut first and masked then: of a private key, the end was gone by which it is told. The same for the last
/// prompt, which Claude Code itself puts on one line and cuts.
#[test]
fn private_key_in_a_title() {
    let key = (0..20).map(|at| format!("MIIEowIBAAKCAQEA7bq{at:02}KpVxTzR3nQwEyU5oIaS8dFgHjKlZxCvBnM1q2W3e4R5t6"));
    let lines: Vec<String> = key.collect();
    let whole = format!("quoll -----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", lines.join("\n"));
    let cut: String = whole.replace('\n', " ").chars().take(200).collect();
    let id = session(1);
    let last =
        |id: &str, text: &str| format!(r#"{{"type":"last-prompt","lastPrompt":"{text}","sessionId":"{id}"}}"#) + "\n";
    let first_prompt = user_line(&id, 1, &whole);
    let last_prompt = user_line(&id, 1, "quoll") + &last(&id, &cut);
    for text in [first_prompt, last_prompt] {
        let env = Env::new();
        env.write(format!("-home-u-x/{id}.jsonl"), text);
        env.index();
        let title = env.hits("quoll")[0]["title"].to_string();
        assert_eq!(title, r#""quoll [redacted: private key]""#);
        for args in [&["sessions", "--json"][..], &["stats", "--by", "session"], &["show", &id]] {
            let said = env.run(args).stdout;
            assert!(!said.contains("MIIE"), "{args:?}: {said}");
        }
    }
}

/// Three commands gave three numbers for one index: titles were left out here, checkpoints counted there.
#[test]
fn every_command_counts_the_same_documents() {
    let env = Env::with_fixtures("home");
    let indexed = env.index_json()["documents"].as_u64();
    let said = |args: &[&str]| {
        let line: serde_json::Value = serde_json::from_str(&env.run(args).stdout).expect("JSON");
        line["documents"].as_u64()
    };
    assert_eq!((said(&["verify", "--json"]), said(&["status", "--json"])), (indexed, indexed));
    let rebuilt: serde_json::Value =
        serde_json::from_str(&env.run(&["index", "--rebuild", "--json"]).stdout).expect("JSON");
    assert_eq!(rebuilt["documents"].as_u64(), indexed);
}
