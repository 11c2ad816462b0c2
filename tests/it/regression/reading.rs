//! Bugs in reading files: lines, records, links, moved and changed files, rebuilds.

use std::os::unix::fs::PermissionsExt;

use crate::support::env::Env;
use crate::support::privileges::{as_nobody, give_to};
use crate::support::process::finish;
use crate::support::transcript::{session, user_line, uuid};

/// A record was indexed before its newline arrived, then another followed on the same line. Line numbers and checksum
/// depended on when it was read.
#[test]
fn a_record_after_an_unterminated_one_is_on_the_same_line() {
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

/// The offset of a record after broken UTF-8 on its line was the offset in the repaired text, not in the file.
#[test]
fn offsets_after_broken_utf8_are_those_in_the_file() {
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

/// Several records on one line, read one at a time as they arrived, were shown in a different order.
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

/// Only the two ends of a file were compared. A change in the middle that kept the length was never read.
#[test]
fn a_change_in_the_middle_of_a_file_is_noticed() {
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
    // Only the time changes.
    file.set_modified(time + std::time::Duration::from_secs(60)).expect("time set");
    let report = env.index_json();
    assert_eq!((&report["unchanged"], &report["bytes"]), (&1.into(), &0.into()));
    // Another file replaces it, longer and with the same beginning.
    let other = env.path().join("other");
    std::fs::write(&other, lines("a bettong is") + &user_line(&id, 200, "one line more")).expect("written");
    std::fs::rename(&other, env.file(&name)).expect("replaced");
    assert_eq!(env.index_json()["rewritten"], 1);
    assert_eq!((env.count("potoroo"), env.count("bettong"), env.count("\"line more\"")), (0, 1, 1));
    // The same content, and one line more: only the new line is read.
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

/// Records of background tasks, which Claude Code queues for itself, were taken for prompts and came first. Pasted JSON
/// is a prompt.
#[test]
fn background_task_records_in_the_queue_are_not_prompts() {
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
        let describe = |hit: &serde_json::Value| format!("{} {}", hit["role"], hit["kind"]).replace('"', "");
        let mut found: Vec<String> = env.hits_with(args).iter().map(describe).collect();
        found.sort();
        found
    };
    assert_eq!(roles(&["--messages", "numbat"]), ["human prompt", "human queued"]);
    assert_eq!(roles(&["--messages", "--meta", "numbat"]), ["human prompt", "human queued", "meta notice"]);
}

/// The message that Claude Code shows when a command starts could not be found.
#[test]
fn the_announcement_of_a_command_is_found() {
    let env = Env::new();
    let id = session(1);
    let announcement =
        "<command-message>init is analyzing your codebase…</command-message>\n<command-name>/init</command-name>";
    env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, 1, announcement));
    env.index();
    let [found] = &env.hits("analyzing codebase")[..] else { panic!("expected one hit") };
    assert_eq!((found["kind"].as_str(), found["title"].as_str()), (Some("notice"), Some("/init")));
}

/// A prompt of several megabytes was counted once for each part it was split into.
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

/// Three commands reported three numbers for one index: one left out titles, another counted checkpoints.
#[test]
fn every_command_counts_the_same_documents() {
    let env = Env::with_fixtures("home");
    let indexed = env.index_json()["documents"].as_u64();
    let documents = |args: &[&str]| {
        let line: serde_json::Value = serde_json::from_str(&env.run(args).stdout).expect("JSON");
        line["documents"].as_u64()
    };
    assert_eq!((documents(&["verify", "--json"]), documents(&["status", "--json"])), (indexed, indexed));
    let rebuilt: serde_json::Value =
        serde_json::from_str(&env.run(&["index", "--rebuild", "--json"]).stdout).expect("JSON");
    assert_eq!(rebuilt["documents"].as_u64(), indexed);
}

/// A file that could not be read was reported by that run only.
#[test]
fn status_reports_what_cannot_be_read() {
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

/// A link to a parent folder made every run walk through everything below that folder.
#[test]
fn a_link_to_a_parent_folder_is_not_followed() {
    let env = Env::new();
    let id = session(1);
    env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, 1, "a pangolin"));
    for (name, target) in [("-all", "/".into()), ("-up", env.claude()), ("-self", env.claude().join("projects"))] {
        std::os::unix::fs::symlink(target, env.file(name)).expect("linked");
    }
    // A link to another folder is a project like any other.
    let elsewhere = env.path().join("elsewhere");
    let other = session(2);
    std::fs::create_dir(&elsewhere).expect("made");
    let line = user_line(&other, 2, "another pangolin");
    std::fs::write(elsewhere.join(format!("{other}.jsonl")), line).expect("written");
    std::os::unix::fs::symlink(&elsewhere, env.file("-linked")).expect("linked");
    // Inside a project no link is followed, and that is reported.
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

/// A project linked to a disk that is not mounted: every run exited with 3, and its sessions were taken for deleted.
#[test]
fn sessions_of_a_dangling_link_are_not_deleted() {
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

/// A folder that was replaced by a link was taken for deleted when the link led nowhere.
#[test]
fn a_folder_that_became_a_dangling_link_is_not_deleted() {
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

/// After a move and a rebuild, a file was taken for deleted under its old name.
#[test]
fn a_rebuild_recognizes_moved_files() {
    let env = Env::new();
    let ids = [1, 2, 3].map(session);
    for (number, id) in (1..).zip(&ids) {
        env.write(
            format!("-a/{id}.jsonl"),
            user_line(id, number, "a numbat").replace(&format!("\"uuid\":\"{}\",", uuid(number)), ""),
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

/// A rebuild lost what it could not read at that moment.
#[test]
fn a_rebuild_keeps_what_it_cannot_read() {
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

/// A rebuild took everything for deleted in a situation where a plain run would ask for confirmation.
#[test]
fn a_rebuild_does_not_take_everything_for_deleted() {
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

/// The pieces of a long message are in several segments, and `show` put them in the order of those.
#[test]
fn a_long_message_is_shown_in_order() {
    let env = Env::new();
    let id = session(1);
    let lines: Vec<String> = (0..400_000).map(|number| format!("row {number} of the long message")).collect();
    let other: String = (0..2_000).map(|number| format!("filler {number} ")).collect();
    // Another file at the same time, so that both threads of the index have work.
    for number in 2..12 {
        env.write(format!("-p/{}.jsonl", session(number)), user_line(&session(number), number, &other));
    }
    env.write(format!("-p/{id}.jsonl"), user_line(&id, 1, &lines.join("\n")));
    env.index();
    let shown = env.run(&["show", "--no-refresh", &id]).stdout;
    // The title comes first.
    let rows: Vec<&str> = shown.lines().map(str::trim).filter(|line| line.starts_with("row ")).skip(1).collect();
    assert_eq!(rows.len(), lines.len());
    let misplaced = rows.iter().zip(&lines).position(|(shown, line)| shown != line);
    assert_eq!(misplaced, None);
}
