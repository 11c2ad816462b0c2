//! Titles of sessions that were wrong, or revealed a secret.

use crate::support::env::Env;
use crate::support::transcript::{session, user_line, uuid};

/// The title of a session is stored at line 0 of its file and was mistaken for the first line in a rebuild.
#[test]
fn a_title_is_not_mistaken_for_the_first_line() {
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

/// A session without a transcript is named after one of its subagents. Which one depended on the order of reading, and
/// it could be one without content.
#[test]
fn a_session_without_a_transcript_is_named_after_its_first_subagent() {
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

/// When two titles pointed at the same message, one was chosen by chance.
#[test]
fn two_titles_for_one_message_give_the_same_title_in_any_order() {
    let id = session(1);
    let summary = |name: &str| format!(r#"{{"type":"summary","summary":"{name}","leafUuid":"{}"}}"#, uuid(1)) + "\n";
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

/// A title was cut before it was masked, so that the end by which a private key is recognized was missing. The same
/// happened to the last prompt, which Claude Code itself puts on one line and cuts.
#[test]
fn a_private_key_in_a_title_is_masked() {
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
            let output = env.run(args).stdout;
            assert!(!output.contains("MIIE"), "{args:?}: {output}");
        }
    }
}
