//! Sessions that `forget` once did not erase, or that came back.

use std::io::{BufReader, Read as _};
use std::path::Path;

use crate::support::env::Env;
use crate::support::transcript::{session, user_line};
use crate::support::world::copy_folder;

/// Reports whether a file of the index contains a word, plain or compressed.
fn index_contains(folder: &Path, word: &str) -> bool {
    const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
    let has = |bytes: &[u8], what: &[u8]| bytes.windows(what.len()).any(|part| part == what);
    let has_compressed = |bytes: &[u8]| {
        let starts = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(ZSTD_MAGIC));
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
            return index_contains(&path, word);
        }
        let bytes = std::fs::read(&path).expect("read");
        has(&bytes, word.as_bytes()) || has_compressed(&bytes)
    })
}

/// After a kill between removing a session and rewriting the files that contain it, its words stayed in those files,
/// and no run noticed.
#[test]
fn an_interrupted_erasure_is_completed_by_the_next_run() {
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
        left += u32::from(is_out() && index_contains(&env.index_dir(), "wambenger"));
        env.index();
        assert_eq!(
            (is_out(), env.count("stays")),
            (!index_contains(&env.index_dir(), "wambenger"), 1),
            "killed at {point}"
        );
        env.verify();
    }
    assert!(left > 0, "no kill came between the two steps");
    assert!(!index_contains(&env.index_dir(), "wambenger"));
}

/// Forgetting a session a second time removed the note that kept it out.
#[test]
fn a_session_forgotten_twice_stays_forgotten() {
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

/// A subagent file at the top of a project names its session only in its lines. It came back after its session had been
/// forgotten.
#[test]
fn a_forgotten_session_stays_forgotten_whichever_file_has_it() {
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
        assert!(!index_contains(&env.index_dir(), "quoll"), "{when}");
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
