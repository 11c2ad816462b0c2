//! Texts that are mostly copies of earlier ones are kept by what is new in them. Whatever happens to the others, each
//! comes back whole.

use std::fs;

use serde_json::Value;

use crate::util::{Env, long_text, session, user_line, uuid};

const SESSION: u32 = 1;

fn path_of(number: u32) -> String {
    format!("-w-x/{}.jsonl", session(number))
}

/// A session in which one file is read several times.
fn with_readings(count: u32) -> Env {
    let env = Env::new();
    let lines: String = (0..count).map(|number| user_line(&session(SESSION), number, &long_text(number))).collect();
    env.write(path_of(SESSION), lines);
    env.index();
    env
}

/// The texts of a session, as `export` gives them.
fn texts(env: &Env, number: u32) -> Vec<String> {
    let ran = env.run(&["export", "--no-refresh", "-f", "json", "-o", "-", &session(number)]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let exported: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let messages = exported["messages"].as_array().expect("messages");
    let texts = messages.iter().filter_map(|one| Some(one["text"].as_str()?.trim().to_string()));
    texts.filter(|text| text.contains("fn part_")).collect()
}

fn readings(numbers: impl Iterator<Item = u32>) -> Vec<String> {
    numbers.map(|number| long_text(number).trim().to_string()).collect()
}

fn store_bytes(env: &Env) -> u64 {
    let folders = fs::read_dir(env.index_dir()).expect("listed").map(|entry| entry.expect("entry").path());
    let files = folders.filter(|path| path.is_dir()).flat_map(|folder| fs::read_dir(folder).expect("listed"));
    let stores =
        files.map(|file| file.expect("entry")).filter(|file| file.path().extension().is_some_and(|ext| ext == "store"));
    stores.map(|file| file.metadata().expect("metadata").len()).sum()
}

#[test]
fn readings_come_back_whole() {
    let env = with_readings(30);
    assert!(texts(&env, SESSION) == readings(0..30));
    let varied = env.hits("\"part_2903\"");
    assert_eq!(varied.len(), 1, "a word that stands in one of them only");
    env.verify();
}

#[test]
fn they_take_little_room() {
    // More than the store packs at a time lies between two readings of the same.
    let noise = |seed: u32| -> String {
        let mut state = u64::from(seed) + 1;
        let mut word = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            format!("{:x} ", state >> 20)
        };
        (0..15_000).map(|_| word()).collect()
    };
    let size = |repeats: bool| {
        let env = Env::new();
        let lines: String = (0..8)
            .map(|number| user_line(&session(SESSION), number, &noise(if repeats { number % 2 } else { number })))
            .collect();
        env.write(path_of(SESSION), lines);
        env.index();
        store_bytes(&env)
    };
    let (repeated, different) = (size(true), size(false));
    assert!(repeated * 3 < different, "{repeated} of {different}");
}

#[test]
fn they_outlive_their_transcript_and_a_rebuild() {
    let env = with_readings(12);
    env.append(path_of(SESSION), user_line(&session(SESSION), 40, &long_text(40)));
    env.index();
    fs::remove_file(env.file(path_of(SESSION))).expect("removed");
    env.run(&["index", "--confirm"]);
    let all = readings((0..12).chain([40]));
    assert!(texts(&env, SESSION) == all);
    let ran = env.run(&["index", "--rebuild"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(texts(&env, SESSION) == all);
    env.verify();
}

#[test]
fn what_a_parent_saw_of_a_subagent_is_nobodys_base() {
    let env = Env::new();
    let seen = serde_json::to_string(&long_text(1)).expect("JSON");
    let id = uuid(77);
    let progress = format!(
        r#"{{"type":"progress","uuid":"{}","sessionId":"{}","data":{{"type":"agent_progress","agentId":"a77","message":{{"type":"assistant","uuid":"{id}","message":{{"content":[{{"type":"text","text":{seen}}}]}}}}}}}}"#,
        uuid(1),
        session(SESSION)
    );
    let said = user_line(&session(SESSION), 2, &long_text(1));
    env.write(path_of(SESSION), format!("{progress}\n{said}"));
    env.index();
    let answer = format!(
        r#"{{"type":"assistant","isSidechain":true,"agentId":"a77","sessionId":"{}","uuid":"{id}","message":{{"content":[{{"type":"text","text":{seen}}}]}}}}"#,
        session(SESSION)
    );
    env.write(format!("-w-x/{}/subagents/agent-a77.jsonl", session(SESSION)), answer + "\n");
    env.index();
    env.verify();
    assert!(texts(&env, SESSION).contains(&long_text(1).trim().to_string()));
}
