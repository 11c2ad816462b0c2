//! An index that is built from nothing gathers its segments in another way than a run that adds to one. Whatever the
//! number of commits, it is the same index.

use serde_json::Value;

use crate::util::{Env, Ran, session, user_line};

/// Sessions of many units, and more of one line than checkpoints wait for each other.
const LONG: u32 = 3;
const SHORT: u32 = 600;

fn sessions() -> Env {
    let env = Env::new();
    for number in 0..LONG + SHORT {
        let lines = if number < LONG { 40 } else { 1 };
        let id = session(number);
        let line = |line| user_line(&id, number * 100 + line, &format!("word{number} line{line} everywhere"));
        env.write(format!("-w-x/{id}.jsonl"), (0..lines).map(line).collect::<String>());
    }
    env
}

fn rebuild(env: &Env, fault: &str) {
    let mut command = env.command();
    command.args(["index", "--rebuild", "--quiet"]);
    if !fault.is_empty() {
        command.env("UNSPOOL_FAULT", fault);
    }
    let ran = Ran::from(command.output().expect("ran"));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

/// What can be told of an index: how much it holds, and what is found.
fn told(env: &Env) -> (Value, Vec<Vec<String>>) {
    let status: Value = serde_json::from_str(&env.run(&["status", "--json"]).stdout).expect("JSON");
    let found = |query: &&str| {
        let mut hits: Vec<String> = env.hits(query).iter().map(|hit| hit["uuid"].to_string()).collect();
        hits.sort();
        hits
    };
    let queries = ["\"word1\"", "\"word1\" -line7", "\"word444\"", "\"line39 everywhere\""];
    (status["documents"].clone(), queries.iter().map(found).collect())
}

#[test]
fn many_commits_give_the_same_index_as_one() {
    let env = sessions();
    rebuild(&env, "");
    let expected = told(&env);
    assert!(expected.1.iter().all(|hits| !hits.is_empty()), "{expected:?}");
    rebuild(&env, "batch:1500");
    env.verify();
    let next = env.index_json();
    assert_eq!((&next["unchanged"], &next["documents"]), (&(LONG + SHORT).into(), &0.into()), "{next}");
    assert_eq!(told(&env), expected);
}
