//! One test for each bug, named after it.

use std::io::{BufReader, Read as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::crash::scene;
use crate::faults_b::{as_nobody, finish, give_to};
use crate::oracle::{World, copy_folder};
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
    let scene = scene("rewrite");
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

/// Killed between a commit and the merge behind it: tantivy gives the first deletion of the next run the number of that
/// commit. The merge, which then came in the middle of that run, took it for done where a segment had been rid of
/// something by that commit, and texts that were no longer anywhere were found for ever.
#[test]
fn first_deletion_after_a_kill_before_a_merge() {
    let scene = scene("many segments");
    let points = scene.points();
    let committed = points.iter().position(|point| point.path.ends_with("meta.json")).expect("a commit");
    let (changed, segments) = (scene.world.file(1), |world: &World| {
        let status = world.run("", &["status", "--json"]).stdout;
        serde_json::from_str::<serde_json::Value>(&status).expect("JSON")["segments"].as_u64()
    });
    let (bytes, time) =
        (std::fs::read(&changed).expect("read"), changed.metadata().and_then(|meta| meta.modified()).expect("a time"));
    let mut many = 0;
    for number in committed..=points.len() {
        scene.restore();
        scene.run(&format!("kill@{number}"));
        many += usize::from(segments(&scene.world).is_some_and(|segments| segments > 5));
        scene.world.change(1, Vec::clear);
        scene.world.append(1, &[0]);
        assert_eq!(scene.world.index(), Ok(()));
        assert_eq!(scene.world.whole(&scene.world.data_dir()), Ok(()), "killed at {number}");
        std::fs::write(&changed, &bytes).expect("written");
        std::fs::File::options()
            .append(true)
            .open(&changed)
            .and_then(|file| file.set_modified(time))
            .expect("time set");
    }
    assert!(many > 0, "nothing was left to be merged");
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

/// A line of the prompt history.
fn history_line(session: &str, text: &str) -> String {
    format!(r#"{{"display":"{text}","timestamp":1760000000000,"project":"/home/u/x","sessionId":"{session}"}}"#) + "\n"
}

/// The history was taken for the transcript of the session it names first: that session's prompts were found by nothing,
/// and to forget it took all others with it.
#[test]
fn history_belongs_to_no_session() {
    let env = Env::new();
    let [first, second, known] = [1, 2, 3].map(session);
    env.write(format!("-home-u-x/{known}.jsonl"), user_line(&known, 1, "stays"));
    let history = history_line(&first, "a pangolin") + &history_line(&second, "an aardvark");
    std::fs::write(env.claude().join("history.jsonl"), history).expect("written");
    env.index();
    assert_eq!((env.count("pangolin"), env.count("aardvark")), (1, 1));
    assert_eq!(env.run(&["forget", &first, "--yes"]).code, 0);
    for again in [&["index"][..], &["index", "--rebuild"]] {
        assert_eq!((env.count("pangolin"), env.count("aardvark")), (0, 1), "before {again:?}");
        assert_eq!(env.run(again).code, 0);
    }
    assert_eq!((env.count("pangolin"), env.count("aardvark")), (0, 1));
    env.verify();
}

/// A link to a folder above it made every run walk through all that is there.
#[test]
fn a_link_to_above_is_not_followed() {
    let env = Env::new();
    let id = session(1);
    env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, 1, "a pangolin"));
    for (name, target) in [("-all", "/".into()), ("-up", env.claude()), ("-self", env.claude().join("projects"))] {
        std::os::unix::fs::symlink(target, env.file(name)).expect("linked");
    }
    // One to somewhere else is a project like any other.
    let elsewhere = env.path().join("elsewhere");
    let other = session(2);
    std::fs::create_dir(&elsewhere).expect("made");
    let line = user_line(&other, 2, "another pangolin");
    std::fs::write(elsewhere.join(format!("{other}.jsonl")), line).expect("written");
    std::os::unix::fs::symlink(&elsewhere, env.file("-linked")).expect("linked");
    // Within a project none is followed, and that is said.
    std::fs::create_dir(env.file(format!("-home-u-x/{id}"))).expect("made");
    std::os::unix::fs::symlink(&elsewhere, env.file(format!("-home-u-x/{id}/subagents"))).expect("linked");
    std::os::unix::fs::symlink(&elsewhere, env.file("-home-u-x/memory")).expect("linked");
    let ran = env.run(&["index"]);
    assert_eq!((ran.code, env.count("pangolin")), (3, 2), "{}", ran.stderr);
    let problems = env.problems();
    for name in ["-all", "-up", "-self", "subagents"] {
        assert!(problems.iter().any(|problem| problem.contains(name)), "{name}: {problems:?}");
    }
    assert_eq!(problems.len(), 4, "{problems:?}");
}

/// Of a session that has a transcript, prompts that stand in the history only, as one that was taken back, were found by
/// nothing.
#[test]
fn what_only_the_history_has_is_found_beside_a_transcript() {
    let env = Env::new();
    let id = session(1);
    env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, 1, "feed the numbat and 20 lines of its diet"));
    let history =
        history_line(&id, "feed the numbat [Pasted text #1 +20 lines]") + &history_line(&id, "a bilby instead");
    std::fs::write(env.claude().join("history.jsonl"), history).expect("written");
    env.index();
    let found = env.hits("numbat");
    assert_eq!(
        found.iter().map(|hit| hit["kind"].as_str()).collect::<Vec<_>>(),
        [Some("prompt")],
        "the transcript tells it"
    );
    let weaker = env.hits("numbat bilby instead");
    assert!(weaker.iter().any(|hit| hit["kind"] == "history"), "hidden by a hit with one word of three: {weaker:?}");
    let [only] = &env.hits("bilby")[..] else { panic!("not found once") };
    assert_eq!((only["kind"].as_str(), only["session_id"].as_str()), (Some("history"), Some(id.as_str())));
}

/// What Claude Code announces when a command is given was found by nothing.
#[test]
fn what_a_command_announces_is_found() {
    let env = Env::new();
    let id = session(1);
    let said =
        "<command-message>init is analyzing your codebase…</command-message>\n<command-name>/init</command-name>";
    env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, 1, said));
    env.index();
    let [found] = &env.hits("analyzing codebase")[..] else { panic!("not found once") };
    assert_eq!((found["kind"].as_str(), found["title"].as_str()), (Some("notice"), Some("/init")));
}

/// A project that is a link to a disk which is not mounted just now: every run ended with 3, and its sessions were taken
/// for deleted.
#[test]
fn a_link_to_nothing_is_no_deletion() {
    let env = Env::new();
    let [here, there] = [1, 2].map(session);
    let [disk, unmounted] = ["disk", "unmounted"].map(|name| env.path().join(name));
    std::fs::create_dir_all(&disk).expect("made");
    std::fs::write(disk.join(format!("{there}.jsonl")), user_line(&there, 2, "a distant quokka")).expect("written");
    env.write(format!("-home-u-x/{here}.jsonl"), user_line(&here, 1, "a close quokka"));
    std::os::unix::fs::symlink(&disk, env.claude().join("projects/-disk")).expect("linked");
    env.index();
    std::fs::rename(&disk, &unmounted).expect("moved");
    assert_eq!(env.run(&["index"]).code, 0);
    let gone: Vec<bool> = env.hits("quokka").iter().filter_map(|hit| hit["source_missing"].as_bool()).collect();
    assert_eq!(gone, [false, false]);
    std::fs::rename(&unmounted, &disk).expect("moved");
    env.index();
    assert_eq!(env.count("quokka"), 2);
    env.verify();
}

/// Changed in the middle, without becoming longer or shorter: only both ends were compared, and the file stayed as it was
/// read for ever.
#[test]
fn another_text_of_the_same_length() {
    let env = Env::new();
    let id = session(1);
    let name = format!("-home-u-x/{id}.jsonl");
    let lines = |word: &str| -> String {
        (1..200).map(|number| user_line(&id, number, if number == 100 { word } else { "a line like others" })).collect()
    };
    env.write(&name, lines("a kowari here"));
    env.index();
    assert_eq!(env.run(&["index", "--json"]).code, 0);
    env.write(&name, lines("a potoroo too"));
    let file = std::fs::File::options().append(true).open(env.file(&name)).expect("opened");
    let time = file.metadata().and_then(|meta| meta.modified()).expect("a time") + std::time::Duration::from_secs(60);
    file.set_modified(time).expect("time set");
    assert_eq!(env.index_json()["rewritten"], 1);
    assert_eq!((env.count("kowari"), env.count("potoroo")), (0, 1));
    // Nothing but its time.
    file.set_modified(time + std::time::Duration::from_secs(60)).expect("time set");
    let report = env.index_json();
    assert_eq!((&report["unchanged"], &report["bytes"]), (&1.into(), &0.into()));
    // Another file in its place, longer and with the same ends.
    let other = env.path().join("other");
    std::fs::write(&other, lines("a bettong is") + &user_line(&id, 200, "one line more")).expect("written");
    std::fs::rename(&other, env.file(&name)).expect("replaced");
    assert_eq!(env.index_json()["rewritten"], 1);
    assert_eq!((env.count("potoroo"), env.count("bettong"), env.count("\"line more\"")), (0, 1, 1));
    // The same as it was, and longer: only what is new is read.
    std::fs::write(
        &other,
        lines("a bettong is") + &user_line(&id, 200, "one line more") + &user_line(&id, 201, "last"),
    )
    .expect("written");
    std::fs::rename(&other, env.file(&name)).expect("replaced");
    let report = env.index_json();
    assert_eq!((&report["grown"], &report["documents"]), (&1.into(), &1.into()), "{report}");
    env.verify();
}

/// Of equal copies of a tool's answer in a session and in the transcript of its compaction, the latter was shown, or the
/// former, depending on which had been read first.
#[test]
fn copies_in_subagents_come_second() {
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

/// A session that only the history knows is called after its first prompt, however the index came about.
#[test]
fn first_prompt_of_a_session_in_the_history() {
    let env = Env::new();
    let id = session(1);
    let history = env.claude().join("history.jsonl");
    let mut lines = String::new();
    for number in 0..9 {
        lines +=
            &history_line(&id, &format!("prompt {number}")).replace("1760000000000", &format!("176000000000{number}"));
        std::fs::write(&history, &lines).expect("written");
        env.index();
        let listed = env.run(&["sessions", "--json"]).stdout;
        assert!(listed.contains(r#""title":"prompt 0""#), "{number}: {listed}");
    }
}

/// Of two names that are given by way of one message, one was taken by chance.
#[test]
fn names_by_way_of_one_message() {
    let id = session(1);
    let summary =
        |name: &str| format!(r#"{{"type":"summary","summary":"{name}","leafUuid":"{}"}}"#, crate::util::uuid(1)) + "\n";
    let titles = [[0, 1], [1, 0]].map(|order| {
        let env = Env::new();
        env.write(format!("-p/{id}.jsonl"), user_line(&id, 1, "a bandicoot"));
        env.index();
        for at in order {
            let (other, name) = [(session(2), "Bandicoots"), (session(3), "All about bandicoots")][at].clone();
            env.write(format!("-p/{other}.jsonl"), summary(name) + &user_line(&other, 10 + at as u32, "other things"));
            env.index();
        }
        env.hits("bandicoot")[0]["title"].clone()
    });
    assert_eq!(titles[0], titles[1]);
}

/// A prompt of several megabytes was counted once for each piece of it.
#[test]
fn a_huge_prompt_is_one_prompt() {
    let env = Env::new();
    let id = session(1);
    let huge = "lorem ipsum dolor sit amet ".repeat(200_000);
    env.write(format!("-p/{id}.jsonl"), user_line(&id, 1, &huge) + &user_line(&id, 2, "and another"));
    env.index();
    let listed = env.run(&["sessions", "--json"]).stdout;
    let session: serde_json::Value = serde_json::from_str(listed.lines().next().expect("a line")).expect("JSON");
    assert_eq!(session["prompts"], 2, "{session}");
}

/// What a parent saw of a subagent is left out where the subagent's own transcript has it. When that was pruned, it was
/// nowhere.
#[test]
fn what_a_parent_saw_comes_back_when_the_subagent_is_pruned() {
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

/// A prompt that one subagent was sent with and another holds among its lines: the former could speak for both, and was
/// dropped as an echo of the latter.
#[test]
fn a_prompt_that_is_an_echo_of_its_copy() {
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

/// Whether a word is kept in a file of the index, as it is or packed.
fn is_kept(folder: &Path, word: &str) -> bool {
    const PACKED: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
    let has = |bytes: &[u8], what: &[u8]| bytes.windows(what.len()).any(|part| part == what);
    let has_packed = |bytes: &[u8]| {
        let starts = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(PACKED));
        starts.into_iter().any(|at| {
            let mut text = Vec::new();
            let frame = zstd::stream::read::Decoder::new(&bytes[at..]).expect("begun").single_frame();
            let _ = BufReader::new(frame).read_to_end(&mut text);
            has(&text, word.as_bytes())
        })
    };
    let entries = std::fs::read_dir(folder).expect("listed").map(|entry| entry.expect("an entry").path());
    entries.into_iter().any(|path| {
        if path.is_dir() {
            return is_kept(&path, word);
        }
        let bytes = std::fs::read(&path).expect("read");
        has(&bytes, word.as_bytes()) || has_packed(&bytes)
    })
}

/// Killed between taking a session out and rewriting the files that hold it, its words stayed there, and no run noticed.
#[test]
fn what_was_to_be_erased_is_erased_by_the_next_run() {
    let env = Env::new();
    let [id, other] = [1, 2].map(session);
    env.write(format!("-p/{id}.jsonl"), user_line(&id, 1, "a secret wambenger"));
    env.write(format!("-p/{other}.jsonl"), user_line(&other, 2, "stays"));
    env.index();
    let before = env.path().join("before");
    copy_folder(&env.index_dir(), &before);
    let mut left = 0;
    for point in 1.. {
        std::fs::remove_dir_all(env.index_dir()).expect("removed");
        copy_folder(&before, &env.index_dir());
        let mut forget = env.command();
        forget.env("UNSPOOL_FAULT", format!("kill@{point}")).args(["forget", &id, "--yes"]);
        if forget.output().expect("ran").status.success() {
            break;
        }
        let is_out = || env.hits_with(&["wambenger"]).is_empty();
        left += u32::from(is_out() && is_kept(&env.index_dir(), "wambenger"));
        env.index();
        assert_eq!((is_out(), env.count("stays")), (!is_kept(&env.index_dir(), "wambenger"), 1), "killed at {point}");
        env.verify();
    }
    assert!(left > 0, "no kill came in between");
    assert!(!is_kept(&env.index_dir(), "wambenger"));
}

/// Looked for letter by letter, a prompt that only the history has was hidden by others of its session, which have its words
/// but not its letters.
#[test]
fn letters_that_only_the_history_has() {
    let env = Env::new();
    let id = session(1);
    let said = "then we record the backup without a word; record the backup without serials";
    env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, 1, said));
    let history = history_line(&id, "can we record the backup without serde?");
    std::fs::write(env.claude().join("history.jsonl"), history).expect("written");
    env.index();
    for (args, kinds) in [
        (&["-F", "backup without serd"][..], &["history"][..]),
        (&["/backup.without.ser[d]/"], &["history"]),
        (&["-F", "we record the b"], &["prompt"]),
        (&["-F", "can we record the b"], &["history"]),
    ] {
        let found = env.hits_with(args);
        let found: Vec<_> = found.iter().filter_map(|hit| hit["kind"].as_str()).collect();
        assert_eq!(found, kinds, "{args:?}");
    }
}

/// What a parent saw of a subagent was left out as soon as there was any transcript of it, even one without the message; and it
/// did not come back when that was cut, or went.
#[test]
fn what_a_subagent_lacks_its_parent_tells() {
    const WORDS: [&str; 4] = ["", "dunnart", "bilby", "cuscus"];
    let env = Env::new();
    let id = session(1);
    let said = |number: u32| {
        format!(
            r#"{{"type":"assistant","uuid":"{}","sessionId":"{id}","message":{{"content":[{{"type":"text","text":"{}"}}]}}}}"#,
            crate::util::uuid(number),
            WORDS[number as usize]
        )
    };
    let seen = |number| {
        format!(
            r#"{{"type":"progress","uuid":"p{number}","sessionId":"{id}","data":{{"type":"agent_progress","agentId":"late1","message":{}}}}}"#,
            said(number)
        ) + "\n"
    };
    env.write(format!("-p/{id}.jsonl"), user_line(&id, 9, "go and look") + &(1..4).map(seen).collect::<String>());
    let agent = format!("-p/{id}/subagents/agent-late1.jsonl");
    let own = |numbers: std::ops::Range<u32>| numbers.map(|number| said(number) + "\n").collect::<String>();
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

/// What a parent saw was left out, and so found by nothing, where the line of the subagent's transcript that has its id was
/// not yet written to its end, or is no record.
#[test]
fn half_a_line_of_a_subagent_holds_nothing() {
    let id = session(1);
    let said = format!(
        r#"{{"type":"assistant","uuid":"{}","sessionId":"{id}","message":{{"content":[{{"type":"text","text":"a dunnart"}}]}}}}"#,
        crate::util::uuid(7)
    );
    let seen = format!(
        r#"{{"type":"progress","uuid":"p1","sessionId":"{id}","data":{{"type":"agent_progress","agentId":"half1","message":{said}}}}}"#
    );
    for (tail, copies) in [("", 1), ("}", 1), ("}]}}", 1), ("}]}}\n", 1), ("}]}\n", 2)] {
        let env = Env::new();
        env.write(format!("-p/{id}.jsonl"), user_line(&id, 9, "go and look") + &seen + "\n");
        let begun = said.strip_suffix("}]}}").expect("its end");
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

/// Which copy of a message was shown depended on the order in which files were indexed.
#[test]
fn the_same_copy_is_shown_in_any_order() {
    let [own, fork] = [1, 9].map(session);
    // A line that stands twice in a file, and once more in another.
    let env = Env::new();
    let line = user_line(&own, 1, "a quagga");
    let more: String = (2..42).map(|number| user_line(&own, number, "nothing much")).collect();
    env.write(format!("-p/{own}.jsonl"), &line);
    env.index();
    env.append(format!("-p/{own}.jsonl"), line.clone() + &more);
    env.index();
    env.write(format!("-p/{fork}.jsonl"), (line.clone() + &line + &more).replace(&own, &fork));
    env.index();
    let [found] = &env.hits("quagga")[..] else { panic!("not one hit") };
    assert_eq!((found["session_id"].as_str(), found["offset"].as_u64()), (Some(own.as_str()), Some(0)));
    // A message of two parts, and a later fork of it.
    let words: String = (0..200).map(|number| format!("word{number} ")).collect();
    let line = format!(
        r#"{{"type":"assistant","uuid":"{}","sessionId":"{own}","timestamp":"2026-10-01T10:00:00.000Z","message":{{"content":[{{"type":"text","text":"we look at quagga {words}"}},{{"type":"tool_use","id":"t1","name":"Bash","input":{{"command":"quagga quagga"}}}}]}}}}"#,
        crate::util::uuid(7)
    );
    let later = line.replace(&own, &fork).replace("2026-10", "2026-11");
    for order in [[(&own, &line), (&fork, &later)], [(&fork, &later), (&own, &line)]] {
        let env = Env::new();
        for (session, line) in order {
            env.write(format!("-p/{session}.jsonl"), format!("{line}\n"));
            env.index();
        }
        let [found] = &env.hits("quagga")[..] else { panic!("not one hit") };
        assert_eq!(
            (found["session_id"].as_str(), found["kind"].as_str()),
            (Some(own.as_str()), Some("tool_use")),
            "{:?}",
            order.map(|(session, _)| session)
        );
    }
}

/// What a session saw of a subagent that has no transcript was found, but could not be shown.
#[test]
fn what_was_seen_of_a_subagent_is_shown() {
    let env = Env::new();
    let id = session(1);
    let seen = |number: u32, text: &str| {
        format!(
            r#"{{"type":"progress","uuid":"{}","sessionId":"{id}","data":{{"type":"agent_progress","agentId":"seen1","message":{{"type":"assistant","uuid":"{}","message":{{"content":[{{"type":"text","text":"{text}"}}]}}}}}}}}"#,
            crate::util::uuid(number),
            crate::util::uuid(number + 100),
        ) + "\n"
    };
    let other = user_line(&id, 9, "in the file of another subagent");
    env.write(format!("-p/{id}/subagents/agent-other.jsonl"), other);
    env.write(
        format!("-p/{id}.jsonl"),
        user_line(&id, 1, "go and look") + &seen(2, "a dunnart") + &user_line(&id, 3, "thanks") + &seen(4, "a bilby"),
    );
    env.index();
    let message = crate::util::uuid(104);
    for args in [
        vec!["show", &message],
        vec!["show", "seen1"],
        vec!["show", &id, "--around", &message],
        vec!["show", &id, "-q", "bilby"],
        vec!["export", "seen1", "-o", "-"],
    ] {
        let ran = env.run(&args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        // Nobody else speaks.
        let told = ["a dunnart", "a bilby", "another", "thanks"].map(|text| ran.stdout.contains(text));
        assert_eq!(told, [true, true, false, false], "{args:?}: {}", ran.stdout);
    }
    assert!(!env.run(&["status", "-v"]).stdout.contains("agent_progress"), "all of it is in the index");
}

/// A search that opened the index in the moment in which a new one took its place called it damaged.
#[test]
fn an_index_that_is_replaced_meanwhile_is_not_damaged() {
    use unspool::error::{Error, ErrorKind};
    let dir = tempfile::tempdir().expect("temporary folder");
    let store = unspool::index::IndexFolder::new(dir.path(), &[]);
    std::fs::create_dir_all(store.directory()).expect("made");
    let replaced = std::cell::Cell::new(0);
    let read = |times: u32| {
        replaced.set(0);
        store.undisturbed(|| {
            if replaced.get() == times {
                return Ok(times);
            }
            replaced.set(replaced.get() + 1);
            let state = format!("{times} {}", replaced.get());
            std::fs::write(store.directory().join("meta.json"), state).expect("written");
            Err(Error::new(ErrorKind::Damaged, "a file is not there"))
        })
    };
    for times in [0, 1, 7] {
        assert_eq!(read(times).expect("read in the end"), times);
    }
    let damaged = store.undisturbed(|| -> unspool::error::Result<()> { Err(Error::new(ErrorKind::Damaged, "it is")) });
    assert_eq!(damaged.expect_err("nobody was in the way").kind, ErrorKind::Damaged);
}

/// Where nothing was ever read, because the first run was killed say, it sounded as if nothing had the word.
#[test]
fn an_index_with_nothing_in_it_says_so() {
    let env = Env::new();
    env.index();
    let ran = env.run(&["search", "--no-refresh", "numbat"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("the index holds nothing yet"), "{}", ran.stderr);
}

/// What a subagent saw of another one was lost when the other's transcript was; and seen twice, the first went.
#[test]
fn what_a_subagent_saw_of_another_is_not_lost() {
    let env = Env::new();
    let id = session(1);
    let said = |number: u32, text: &str| {
        format!(
            r#"{{"type":"assistant","uuid":"{}","sessionId":"{id}","message":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#,
            crate::util::uuid(number)
        )
    };
    let seen = |agent: &str, said: &str| {
        format!(
            r#"{{"type":"progress","uuid":"p1","sessionId":"{id}","data":{{"type":"agent_progress","agentId":"{agent}","message":{said}}}}}"#
        ) + "\n"
    };
    let [of_other, of_itself] = [said(1, "a dunnart"), said(2, "a bilby")];
    let [one, other] = ["one", "other"].map(|name| format!("-p/{id}/subagents/agent-{name}.jsonl"));
    env.write(format!("-p/{id}.jsonl"), user_line(&id, 9, "go and look"));
    env.write(&one, user_line(&id, 8, "look") + &seen("other", &of_other) + &seen("one", &of_itself));
    env.write(&other, user_line(&id, 7, "look too") + &of_other + "\n");
    env.index();
    env.append(&one, seen("one", &of_itself));
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

/// Of copies of a message of one time, another was shown than found, and another after the next merge.
#[test]
fn the_copy_that_is_found_is_shown() {
    let [first, fork] = [1, 2].map(session);
    for order in [[&first, &fork], [&fork, &first]] {
        let env = Env::new();
        for session in order {
            env.write(format!("-p/{session}.jsonl"), user_line(session, 7, "a quagga"));
            env.write(format!("-p/{session}/subagents/agent-same.jsonl"), user_line(session, 8, "a dunnart"));
            env.index();
        }
        for id in [crate::util::uuid(7), "same".to_string()] {
            let shown = env.run(&["show", &id]).stdout;
            assert!(shown.contains(&first) && !shown.contains(&fork), "{id}: {shown}");
        }
    }
}

/// A folder that has become a link was taken for deleted once the link led to nothing.
#[test]
fn what_lay_behind_a_link_is_not_deleted() {
    let env = Env::new();
    let id = session(1);
    env.write(format!("-p/{id}.jsonl"), user_line(&id, 1, "a close quokka"));
    for folder in ["subagents", "tool-results/deep"] {
        let name = if folder == "subagents" { "agent-a1.jsonl" } else { "spill.txt" };
        env.write(format!("-p/{id}/{folder}/{name}"), user_line(&id, 2, "a distant quokka"));
    }
    env.index();
    let elsewhere = env.path().join("elsewhere");
    let index = || {
        let code = env.run(&["index"]).code;
        let found = env.hits("quokka");
        (code, found.len(), found.iter().filter(|hit| hit["source_missing"] == true).count())
    };
    for folder in ["subagents", "tool-results/deep"] {
        let place = env.file(format!("-p/{id}/{folder}"));
        std::fs::rename(&place, &elsewhere).expect("moved");
        std::os::unix::fs::symlink(&elsewhere, &place).expect("linked");
        assert_eq!(index(), (3, 3, 0), "{folder}");
        std::fs::rename(&elsewhere, env.path().join("unmounted")).expect("moved");
        assert_eq!(index(), (0, 3, 0), "{folder}");
        std::fs::remove_file(&place).expect("removed");
        std::fs::rename(env.path().join("unmounted"), &place).expect("moved back");
        assert_eq!(index(), (0, 3, 0), "{folder}");
    }
}

/// A transcript with nothing in it spoke for its session, and for good; its subagents know more.
#[test]
fn an_empty_transcript_does_not_speak_for_its_session() {
    let env = Env::new();
    let id = session(1);
    env.write(format!("-p/{id}/subagents/agent-a1.jsonl"), user_line(&id, 1, "look at the numbat"));
    env.write(format!("-p/{id}/subagents/agent-a1.meta.json"), r#"{"description":"Look at it"}"#);
    let told = || {
        let [hit] = &env.hits_with(&["numbat", "--agents"])[..] else { panic!("not found once") };
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
        assert_eq!(told(), expected, "{bytes:?}");
        let shown = env.run(&["show", &id]);
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        assert!(shown.stdout.contains("Look at it"), "{bytes:?}: {}", shown.stdout);
    }
}

/// Of the copies of a queued prompt any was shown, even one that a subagent was given.
#[test]
fn of_queued_prompts_of_one_time_the_first_is_shown() {
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

/// What a session saw of its subagent went when a subagent of another session had the same id; and it stayed when the file of
/// its own subagent came back.
#[test]
fn subagents_of_two_sessions_with_one_id() {
    let env = Env::new();
    let [id, other] = [1, 2].map(session);
    let inner = r#"{"type":"assistant","uuid":"in1","message":{"content":[{"type":"text","text":"a seen dunnart"}]}}"#;
    let progress = format!(
        r#"{{"type":"progress","uuid":"p1","sessionId":"{id}","timestamp":"2026-10-01T11:00:00.000Z","data":{{"type":"agent_progress","agentId":"late1","message":{inner}}}}}"#
    ) + "\n";
    let own = |id: &str, text| {
        let line = user_line(id, 2, text).replace(&crate::util::uuid(2), "in1");
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
    assert_eq!(seen(), 1, "beside a subagent of another session");
    env.heal();
    own(&id, "a dunnart of its own");
    env.index();
    assert_eq!(seen(), 0, "when it speaks for itself again");
    env.heal();
}

/// To forget a session once more took away what kept it out.
#[test]
fn what_is_forgotten_twice_stays_out() {
    let env = Env::new();
    let [id, other] = [1, 2].map(session);
    env.write(format!("-p/{id}.jsonl"), user_line(&id, 1, "a secret quoll"));
    env.write(format!("-p/{other}.jsonl"), user_line(&other, 2, "stays"));
    env.index();
    for _ in 0..3 {
        assert_eq!(env.run(&["forget", &id, "--yes"]).code, 0);
        env.append(format!("-p/{id}.jsonl"), user_line(&id, 3, "another quoll"));
        env.index();
        assert_eq!((env.count("quoll"), env.count("stays")), (0, 1));
    }
    env.verify();
}

/// A file that was moved, and then a rebuild: under its old name it was taken for deleted.
#[test]
fn a_rebuild_knows_what_was_moved() {
    let env = Env::new();
    let ids = [1, 2, 3].map(session);
    for (number, id) in (1..).zip(&ids) {
        env.write(
            format!("-a/{id}.jsonl"),
            user_line(id, number, "a numbat").replace(&format!("\"uuid\":\"{}\",", crate::util::uuid(number)), ""),
        );
    }
    env.index();
    for id in &ids {
        let new = env.file(format!("-b/{id}.jsonl"));
        std::fs::create_dir_all(new.parent().expect("a folder")).expect("made");
        std::fs::rename(env.file(format!("-a/{id}.jsonl")), new).expect("moved");
    }
    assert_eq!(env.run(&["index", "--rebuild"]).code, 0);
    let hits = env.hits("numbat");
    assert_eq!(hits.len(), 3, "{hits:?}");
    assert!(hits.iter().all(|hit| hit["source_missing"] == false), "{hits:?}");
    env.verify();
}

/// Which of several copies spoke depended on which had been read first, where late ones had come before early ones.
#[test]
fn copies_come_in_any_order() {
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

/// Several records on a line, read one by one as they came, were shown in another order.
#[test]
fn records_on_one_line_keep_their_order() {
    let [grown, whole] = [Env::new(), Env::new()];
    let id = session(1);
    let name = format!("-p/{id}.jsonl");
    for number in 1..20 {
        let line = user_line(&id, number, &format!("word{number:02}"));
        let line = if number % 3 > 0 { line.trim_end() } else { &line };
        grown.append(&name, line);
        grown.index();
        whole.append(&name, line);
    }
    whole.index();
    let shown = |env: &Env| env.run(&["show", &id, "--branches"]).stdout;
    assert_eq!(shown(&grown), shown(&whole));
}

/// A subagent's file at the root of a project tells only in its lines whose it is: it came back after its session had
/// been forgotten.
#[test]
fn what_is_forgotten_stays_out_whichever_file_holds_it() {
    let env = Env::new();
    let [id, other] = [1, 2].map(session);
    let agent_line =
        |number, text| user_line(&id, number, text).replacen('{', r#"{"isSidechain":true,"agentId":"12345678","#, 1);
    env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, 1, "a quoll"));
    env.write(format!("-home-u-x/{other}.jsonl"), user_line(&other, 2, "stays"));
    env.write("-home-u-x/agent-12345678.jsonl", agent_line(3, "another quoll"));
    env.index();
    assert_eq!(env.hits_with(&["quoll", "--agents"]).len(), 1);
    assert_eq!(env.run(&["forget", &id, "--yes"]).code, 0);
    env.write("-home-u-x/agent-87654321.jsonl", agent_line(4, "a third quoll").replace("12345678", "87654321"));
    let is_out = |when: &str| {
        assert_eq!(env.hits_with(&["quoll", "--meta"]).len(), 0, "{when}");
        assert!(!env.run(&["sessions", "--json"]).stdout.contains(&id), "{when}");
        assert!(!is_kept(&env.index_dir(), "quoll"), "{when}");
    };
    for again in [&["index"][..], &["index", "--rebuild"]] {
        assert_eq!(env.run(again).code, 0);
        is_out(&format!("after {again:?}"));
    }
    let _ = std::fs::create_dir(env.file("-elsewhere"));
    std::fs::rename(env.file("-home-u-x/agent-12345678.jsonl"), env.file("-elsewhere/agent-12345678.jsonl"))
        .expect("moved");
    env.append("-home-u-x/agent-87654321.jsonl", "a broken quoll\n");
    for again in [&["index"][..], &["index", "--rebuild"]] {
        assert_eq!(env.run(again).code, 0);
        is_out(&format!("moved and grown, after {again:?}"));
    }
    assert_eq!(env.count("stays"), 1);
    env.verify();
}

/// A rebuild lost what it could not read just then.
#[test]
fn rebuild_keeps_what_it_cannot_read() {
    let env = Env::new();
    let [id, other] = [1, 2].map(session);
    let name = format!("-home-u-x/{id}.jsonl");
    env.write(&name, user_line(&id, 1, "a numbat"));
    env.write(format!("-home-u-x/{other}.jsonl"), user_line(&other, 2, "stays"));
    env.index();
    let Some(mut run) = as_nobody(&env) else { return };
    let file = env.file(&name);
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o000)).expect("closed");
    let ran = finish(run.args(["index", "--rebuild"]));
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).expect("opened");
    give_to(&env, "0");
    assert_eq!(ran.code, 3, "{} {}", ran.stdout, ran.stderr);
    assert_eq!((env.count("numbat"), env.count("stays")), (1, 1));
    env.write(&name, user_line(&id, 1, "a numbat") + &user_line(&id, 3, "and a bilby"));
    assert_eq!(env.index().code, 0);
    assert_eq!((env.count("numbat"), env.count("bilby")), (1, 1));
    env.heal();
}

/// A rebuild took everything for deleted where a plain run would have been careful.
#[test]
fn rebuild_does_not_believe_that_everything_is_gone() {
    let env = Env::new();
    for number in 1..=4 {
        let id = session(number);
        env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, number, "a wombat"));
    }
    env.index();
    let aside = env.path().join("aside");
    std::fs::rename(env.claude().join("projects"), &aside).expect("moved");
    env.run(&["index", "--rebuild"]);
    let gone = |env: &Env| env.hits("wombat").iter().filter(|hit| hit["source_missing"] == true).count();
    assert_eq!((env.count("wombat"), gone(&env)), (4, 0));
    std::fs::rename(&aside, env.claude().join("projects")).expect("moved back");
    assert_eq!(env.index().code, 0);
    assert_eq!((env.count("wombat"), gone(&env)), (4, 0));
    env.heal();
}

/// One session in two folders: the file that is there, and goes on longer, speaks for it.
#[test]
fn fuller_copy_of_a_session_is_shown() {
    let env = Env::new();
    let id = session(1);
    let both = user_line(&id, 1, "first") + &user_line(&id, 2, "second");
    env.write(format!("-home-u-a/{id}.jsonl"), &both);
    // At the same moment, so that only its length tells that it goes on.
    let third = user_line(&id, 3, "third and a kowari").replace("10:00:03", "10:00:02");
    env.write(format!("-home-u-b/{id}.jsonl"), both + &third);
    env.write(format!("-home-u-b/{}.jsonl", session(2)), user_line(&session(2), 4, "stays"));
    env.index();
    assert!(env.run(&["show", &id]).stdout.contains("kowari"));
    std::fs::remove_file(env.file(format!("-home-u-a/{id}.jsonl"))).expect("removed");
    env.index();
    assert_eq!(env.hits("kowari")[0]["resume"], format!("unspool resume {id}"));
}

/// What a run could not read was told of by that run only.
#[test]
fn status_tells_what_cannot_be_read() {
    let env = Env::new();
    let id = session(1);
    env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, 1, "parent"));
    let agent = format!("-home-u-x/{id}/subagents/agent-a1.jsonl");
    env.write(&agent, user_line(&id, 2, "agent"));
    env.write(agent.replace(".jsonl", ".meta.json"), "no JSON");
    env.index();
    let problems = env.problems();
    assert!(problems.iter().any(|problem| problem.contains("agent-a1.meta.json")), "{problems:?}");
}

/// An emoji with a mark that says how to draw it left an empty place behind itself.
#[test]
fn words_behind_an_emoji_stand_beside_it() {
    let env = Env::new();
    let id = session(1);
    env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, 1, "see: \u{26a0}\u{fe0f} Potential issue here"));
    env.index();
    for query in ["\"\u{26a0}\u{fe0f} Potential issue\"", "\"see \u{26a0} potential\"", "\"Potential issue\""] {
        assert_eq!(env.count(query), 1, "{query}");
    }
}

/// A pasted line with quotes in it found nothing when what stood between them was another today.
#[test]
fn quotes_in_a_pasted_line_are_no_demand() {
    let env = Env::new();
    let id = session(1);
    let line = "expected selector 'old-badge' to return at most one element";
    env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, 1, line));
    env.index();
    let pasted = "expected selector \"x-badge of today\" to return at most one element";
    assert_eq!(env.count(pasted), 1);
    // Few words beside them: somebody means it.
    assert_eq!(env.count("selector \"x-badge of today\""), 0);
}

/// Words that were glued together, torn apart, or are the end of an identifier; an identifier with a slip.
#[test]
fn words_are_found_however_they_were_typed() {
    let env = Env::new();
    for (number, text) in
        (1..).zip(["the AppKitProvider fails", "ask the coderabbit model", "spawn a ChildProcess", "with haiku"])
    {
        let id = session(number);
        env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, number, text));
    }
    env.index();
    for (query, expected) in [("kitprovider", 1), ("codera bbit", 2), ("ChlidProcess", 3), ("withhaiku", 4)] {
        let first = env.hits_with(&[query]).first().and_then(|hit| hit["session_id"].as_str().map(str::to_string));
        assert_eq!(first, Some(session(expected)), "{query}");
    }
}

/// Who names a file wants to know where it was changed, however briefly it was read elsewhere.
#[test]
fn changes_of_a_named_file_come_first() {
    let env = Env::new();
    let call = |number: u32, tool: &str, path: &str, more: &str| {
        let id = session(number);
        let block =
            format!(r#"{{"type":"tool_use","id":"t{number}","name":"{tool}","input":{{"file_path":"{path}"{more}}}}}"#);
        let line = format!(
            r#"{{"type":"assistant","uuid":"{}","sessionId":"{id}","timestamp":"2026-01-02T03:04:05Z","cwd":"/home/u/x","message":{{"role":"assistant","content":[{block}]}}}}"#,
            crate::util::uuid(number)
        );
        env.write(format!("-home-u-x/{id}.jsonl"), line + "\n");
    };
    let long = format!(r#","old_string":"a","new_string":"{}""#, "some words of a change ".repeat(40));
    call(1, "Read", "/home/u/x/Dockerfile", "");
    call(2, "Edit", "/home/u/x/Dockerfile", &long);
    call(3, "Read", "/home/u/x/src/index.ts", "");
    call(4, "Edit", "/home/u/x/src/index.ts", &long);
    call(5, "Edit", "/home/u/x/src/deck-index.ts", "");
    env.index();
    for (query, expected) in [("Dockerfile", 2), ("index.ts", 4), ("src/index.ts", 4)] {
        assert_eq!(env.hits_with(&[query])[0]["session_id"], session(expected), "{query}");
    }
}

/// An unknown last word was taken for the beginning of a word that stood in one text, when a slip of one in thousands is
/// likelier.
#[test]
fn a_slip_of_a_common_word_is_no_beginning_of_a_rare_one() {
    let env = Env::new();
    let say = |number: u32, texts: &[String]| {
        let id = session(number);
        let lines = texts.iter().zip(number * 10_000..).map(|(text, line)| user_line(&id, line, text));
        env.write(format!("-home-u-x/{id}.jsonl"), lines.collect::<String>());
    };
    say(1, &(0..2_500).map(|number| format!("please write it {number}")).collect::<Vec<_>>());
    say(2, &["it pushes what others write".to_string()]);
    say(3, &["it pushes what the witel has".to_string()]);
    env.index();
    assert_eq!(env.hits_with(&["pushes wite"])[0]["session_id"], session(2));
    assert_eq!(env.hits_with(&["pushes witel"])[0]["session_id"], session(3));
}

/// A line of code lost against a short text that has its words more often.
#[test]
fn code_as_it_was_typed_comes_first() {
    let env = Env::new();
    let code = "case load(path) do {:ok, data} -> parse(data) {:error, _} = error -> error end ";
    for (number, text) in (1..).zip([
        format!("{code}{}", "and then it goes on with something else entirely, line after line. ".repeat(60)),
        "error, error, error: an error of the error".to_string(),
        "error: _ error error".to_string(),
    ]) {
        let id = session(number);
        env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, number, &text));
    }
    env.index();
    assert_eq!(env.hits_with(&["{:error, _} = error -> error"])[0]["session_id"], session(1));
}

/// Looked for letter by letter, a word beside one character of a script without blanks was not found: only pairs were looked
/// up, or the two as one word.
#[test]
fn words_beside_a_single_character() {
    let env = Env::new();
    for (number, text) in
        (1..).zip(["the telemetry墁 value", "in 日本語def alone", "a retry_after検索flag", "mix ก่าขx of"])
    {
        let id = session(number);
        env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, number, text));
    }
    env.index();
    for (number, literals) in (1..).zip([
        &["telemetry墁", "metry墁 v", "墁 val"][..],
        &["語def", "語de", "本語de", "n 日", "日本語def"],
        &["after検", "ter検索fl", "索fla", "y_after検"],
        &["ก่าขx", "่าข", "ขx of"],
    ]) {
        for literal in literals {
            let found = env.hits_with(&["-F", literal]);
            let found: Vec<_> = found.iter().filter_map(|hit| hit["session_id"].as_str()).collect();
            assert_eq!(found, [session(number)], "{literal}");
        }
    }
}

/// Of a line that was written again, the copy that was shown depended on which segments had been merged.
#[test]
fn a_line_that_was_written_again() {
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
        let [hit] = &env.hits("mulgara")[..] else { panic!("not found once") };
        assert_eq!(hit["line"], 1, "after run {number}");
    }
}
