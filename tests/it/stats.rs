//! `unspool stats`: figures compared with a slow and obvious count over the raw files, and the output.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::env::Env;
use crate::support::transcript::{session, user_line, uuid};

/// Tokens: input, cache write, cache read, output.
type Counts = [u64; 4];

/// Counts the tokens of every API message in the raw files: each message once, with the highest figures of its lines.
fn raw_count(root: &Path) -> (usize, Counts) {
    let mut messages: BTreeMap<String, Counts> = BTreeMap::new();
    for line in transcripts(root).iter().flat_map(|path| lines(path)) {
        let message = &line["message"];
        let (Some("assistant"), Some(usage)) = (line["type"].as_str(), message["usage"].as_object()) else { continue };
        let is_nothing = usage.values().all(|count| count.as_u64().is_none_or(|count| count == 0));
        if message["model"] == "<synthetic>" && is_nothing {
            continue;
        }
        let Some(id) = message["id"].as_str().or(line["uuid"].as_str()) else { continue };
        let keys = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];
        let known = messages.entry(id.to_string()).or_default();
        for (slot, key) in known.iter_mut().zip(keys) {
            *slot = (*slot).max(usage.get(key).and_then(Value::as_u64).unwrap_or(0));
        }
    }
    let sum = messages.values().fold([0; 4], |sum: Counts, message| std::array::from_fn(|at| sum[at] + message[at]));
    (messages.len(), sum)
}

fn lines(path: &Path) -> Vec<Value> {
    let bytes = std::fs::read(path).expect("read");
    bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

fn transcripts(dir: &Path) -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(dir).expect("listed").map(|entry| entry.expect("entry").path());
    let is_transcript =
        |path: &PathBuf| path.extension().is_some_and(|end| end == "jsonl") && !path.ends_with("journal.jsonl");
    entries
        .flat_map(|path| if path.is_dir() { transcripts(&path) } else { [path].into() })
        .filter(is_transcript)
        .collect()
}

fn stats(env: &Env, args: &[&str]) -> Value {
    let ran = env.run(&[&["stats", "--no-refresh", "--json"], args].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    serde_json::from_str(&ran.stdout).expect("JSON")
}

fn tokens(value: &Value) -> Counts {
    ["input", "cache_write", "cache_read", "output"].map(|key| value["tokens"][key].as_u64().expect("a count"))
}

/// A line of the assistant with one block.
fn answer(number: u32, message: &str, usage: Counts, block: &str) -> String {
    let [input, write, read, output] = usage;
    format!(
        r#"{{"type":"assistant","uuid":"{}","sessionId":"x","cwd":"/home/u/x","timestamp":"2026-10-01T10:00:{:02}.000Z","requestId":"r","message":{{"id":"{message}","model":"claude-opus-4-6","content":[{block}],"usage":{{"input_tokens":{input},"cache_creation_input_tokens":{write},"cache_creation":{{"ephemeral_1h_input_tokens":{write},"ephemeral_5m_input_tokens":0}},"cache_read_input_tokens":{read},"output_tokens":{output}}}}}}}"#,
        uuid(number),
        number % 60,
    ) + "\n"
}

const TEXT: &str = r#"{"type":"text","text":"an answer"}"#;
const SILENT: &str = r#"{"type":"thinking","thinking":"","signature":"abc"}"#;

#[test]
fn figures_of_the_fixtures_agree_with_the_raw_files_to_the_token() {
    let env = Env::with_fixtures("home");
    env.index();
    let found = stats(&env, &[]);
    let (messages, counted) = raw_count(&env.claude().join("projects"));
    assert_eq!((found["responses"].as_u64(), tokens(&found)), (Some(messages as u64), counted));
    for by in ["day", "week", "month", "project", "session", "model", "hour", "weekday"] {
        let groups = found["by"][by].as_array().expect("groups");
        let add = |sum: Counts, group: Counts| std::array::from_fn(|at| sum[at] + group[at]);
        assert_eq!(groups.iter().map(tokens).fold([0; 4], add), counted, "by {by}");
        assert_eq!(stats(&env, &["--by", by])["by"][by], found["by"][by], "by {by}");
    }
}

#[test]
fn a_repeated_message_counts_once_with_its_highest_figures() {
    let env = Env::new();
    let own = [
        user_line(&session(1), 1, "go"),
        // Without text, and then twice with growing output: one message.
        answer(2, "msg_a", [3, 100, 50, 1], SILENT),
        answer(3, "msg_a", [3, 100, 50, 1], TEXT),
        answer(4, "msg_a", [3, 100, 50, 70], r#"{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"a.rs"}}"#),
        // Never any text: nothing in the index but the count.
        answer(5, "msg_b", [7, 0, 200, 9], SILENT),
        // Two calls in one line.
        answer(6, "msg_c", [1, 1, 1, 1], r#"{"type":"tool_use","id":"t2","name":"Edit","input":{"file_path":"a.rs","old_string":"x","new_string":"y"}},{"type":"tool_use","id":"t3","name":"Edit","input":{"file_path":"a.rs","old_string":"y","new_string":"z"}}"#),
    ]
    .concat();
    env.write(format!("-home-u-x/{}.jsonl", session(1)), &own);
    // A fork contains all of it once more, and continues.
    let fork = own + &answer(7, "msg_d", [1000, 0, 0, 2], TEXT);
    env.write(format!("-home-u-x/{}.jsonl", session(2)), &fork);
    env.index();
    let found = stats(&env, &[]);
    let (messages, counted) = raw_count(&env.claude().join("projects"));
    assert_eq!((messages, counted), (4, [1011, 101, 251, 82]));
    assert_eq!((found["responses"].as_u64(), tokens(&found)), (Some(4), counted));
    assert_eq!(found["cache_write_1h"], 101);
    assert_eq!((&found["prompts"], &found["tool_calls"]), (&1.into(), &3.into()));
    assert_eq!(found["files"][0]["edits"], 2);
    assert_eq!(found["files"][0]["path"], "/home/u/x/a.rs");
    // 1,011 input at $5, 101 written for an hour at $10, 251 read at $0.50, 82 output at $25 a million.
    let expected = (1011.0 * 5.0 + 101.0 * 10.0 + 251.0 * 0.5 + 82.0 * 25.0) / 1e6;
    assert!((found["cost_usd"].as_f64().expect("a cost") - expected).abs() < 1e-12);
}

#[test]
fn reading_in_steps_gives_the_same_figures() {
    let all = [
        answer(2, "msg_a", [3, 100, 50, 1], SILENT),
        answer(3, "msg_a", [3, 100, 50, 1], TEXT),
        answer(4, "msg_a", [3, 100, 50, 70], TEXT),
        answer(5, "msg_b", [7, 0, 200, 9], SILENT),
    ];
    let (whole, steps) = (Env::new(), Env::new());
    whole.write(format!("-home-u-x/{}.jsonl", session(1)), all.concat());
    whole.index();
    for line in &all {
        steps.append(format!("-home-u-x/{}.jsonl", session(1)), line);
        steps.index();
    }
    assert_eq!(stats(&whole, &[]), stats(&steps, &[]));
    assert_eq!(tokens(&stats(&steps, &[])), [10, 100, 250, 79]);
}

#[test]
fn a_model_without_a_price_has_tokens_and_no_cost() {
    let env = Env::new();
    let line = answer(2, "msg_a", [3, 0, 0, 1], TEXT).replace("claude-opus-4-6", "glm-4.7");
    env.write(format!("-home-u-x/{}.jsonl", session(1)), line);
    env.index();
    let found = stats(&env, &[]);
    assert_eq!((&found["cost_usd"], &found["unpriced_tokens"]), (&Value::Null, &4.into()));
    let shown = env.run(&["stats", "--no-refresh"]).stdout;
    assert!(shown.contains("cost      ?  estimated from API prices of"), "{shown}");
    assert!(shown.contains("4 tokens unpriced"), "{shown}");
}

#[test]
fn days_and_hours_are_in_the_local_time_zone() {
    let env = Env::new();
    let line = user_line(&session(1), 1, "late").replace("2026-10-01T10", "2026-10-01T23");
    env.write(format!("-home-u-x/{}.jsonl", session(1)), line);
    env.index();
    for (zone, day, hour) in [("UTC", "2026-10-01", 23), ("Europe/Berlin", "2026-10-02", 1)] {
        let output = env.command().args(["stats", "--no-refresh", "--json"]).env("TZ", zone).output().expect("ran");
        let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!((&found["by"]["day"][0]["key"], &found["by"]["hour"][hour]["prompts"]), (&day.into(), &1.into()));
    }
}

#[test]
fn filters_restrict_the_figures() {
    let env = Env::new();
    let read = r#"{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"a.rs"}}"#;
    let first = [
        user_line(&session(1), 1, "go"),
        answer(2, "msg_a", [1, 0, 0, 1], TEXT),
        answer(3, "msg_b", [10, 0, 0, 1], read),
    ];
    let two = [answer(4, "msg_c", [100, 0, 0, 1], TEXT), answer(5, "msg_d", [1000, 0, 0, 1], SILENT)];
    env.write(format!("-home-u-x/{}.jsonl", session(1)), first.concat());
    let two =
        two.concat().replace("/home/u/x", "/home/u/y").replace("opus-4-6", "sonnet-4-6").replace("10-01T", "10-02T");
    env.write(format!("-home-u-y/{}.jsonl", session(2)), two);
    env.index();
    let input = |args: &[&str]| tokens(&stats(&env, args))[0];
    assert_eq!(input(&[]), 1111);
    assert_eq!(input(&["--project", "x"]), 11);
    assert_eq!(input(&["--project", "/home/u/y"]), 1100);
    assert_eq!(input(&["--model", "sonnet"]), 1100);
    assert_eq!(input(&["--session", &session(2)]), 1100);
    assert_eq!(input(&["--since", "2026-10-02"]), 1100);
    assert_eq!(input(&["--until", "2026-10-01"]), 11);
    assert_eq!(input(&["--no-agents"]), 1111);
    let ran = env.run(&["stats", "--no-refresh", "--json", "--tool", "Read"]);
    let found: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&found["tool_calls"], tokens(&found)), (&1.into(), [0; 4]));
    assert_eq!(ran.stderr, "unspool: this filter selects parts of messages, so tokens are not counted\n");
    let ran = env.run(&["stats", "--no-refresh", "--project", "zebra"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("no project matches \"zebra\""), "{}", ran.stderr);
}

#[test]
fn turns_last_from_the_prompt_to_the_last_answer() {
    let env = Env::new();
    let lines = [
        user_line(&session(1), 0, "first"),
        answer(10, "msg_a", [1, 0, 0, 1], TEXT),
        user_line(&session(1), 20, "second"),
        answer(25, "msg_b", [1, 0, 0, 1], TEXT),
        answer(50, "msg_c", [1, 0, 0, 1], TEXT),
        user_line(&session(1), 55, "never answered"),
    ];
    env.write(format!("-home-u-x/{}.jsonl", session(1)), lines.concat());
    env.index();
    let turns = &stats(&env, &[])["turns"];
    assert_eq!(
        (&turns["count"], &turns["median_seconds"], &turns["longest_seconds"]),
        (&2.into(), &10.0.into(), &30.0.into())
    );
}

#[test]
fn csv_has_a_row_for_each_group() {
    let env = Env::new();
    env.write(
        format!("-home-u-x/{}.jsonl", session(1)),
        user_line(&session(1), 1, "=go") + &answer(2, "m", [3, 4, 5, 6], TEXT),
    );
    env.index();
    let csv = |by: &str| env.run(&["stats", "--no-refresh", "--csv", "--by", by]).stdout;
    let head = "prompts,responses,tool_calls,tool_errors,input,cache_write,cache_read,output,cost_usd,unpriced_tokens";
    assert_eq!(csv("day"), format!("day,{head}\n2026-10-01,1,1,0,0,3,4,5,6,0.000208,0\n"));
    let row = format!("{},'=go,/home/u/x,1,1,0,0,3,4,5,6,0.000208,0\n", session(1));
    assert_eq!(csv("session"), format!("session,title,project,{head}\n{row}"));
    assert_eq!(csv("tool"), "tool,calls,errors\n");
}

#[test]
fn the_page_is_self_contained_and_escapes_everything() {
    let env = Env::new();
    let nasty = r"<script>alert(1)</script>\u001b[31m".replace('\\', "\\\\");
    let lines = user_line(&session(1), 1, &nasty).replace("/home/u/x", "/home/u/<img src=x onerror=alert(1)>");
    env.write(format!("-home-u-x/{}.jsonl", session(1)), lines + &answer(2, "m", [3, 4, 5, 6], TEXT));
    env.index();
    let page = env.path().join("page.html");
    let ran = env.run(&["stats", "--no-refresh", "--html", "-o", page.to_str().expect("UTF-8")]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let html = std::fs::read_to_string(page).expect("written");
    for bad in ["<script", "<img", "http://", "https://", "\u{1b}", "src="] {
        let found = html.match_indices(bad).next().map(|(at, _)| &html[at.saturating_sub(40)..at + 20]);
        assert!(found.is_none_or(|found| bad == "src=" && found.contains("&lt;img")), "{bad}: {found:?}");
    }
    assert!(html.starts_with("<!doctype html>") && html.contains("</html>"));
}

#[test]
fn an_empty_result_is_reported() {
    let env = Env::new();
    env.index();
    let ran = env.run(&["stats", "--no-refresh"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.ends_with("unspool: nothing to count: no message matches\n"), "{}", ran.stderr);
    assert_eq!(env.run(&["stats", "--by", "colour"]).code, 2);
}

#[test]
fn the_screen_fits_eighty_columns_with_and_without_utf8() {
    let env = Env::with_fixtures("home");
    env.index();
    for locale in ["en_GB.UTF-8", "C"] {
        for by in ["", "--by=day", "--by=project", "--by=session", "--by=model", "--by=tool", "--by=hour"] {
            let mut command = env.command();
            command.args(["stats", "--no-refresh"]).args(Some(by).filter(|by| !by.is_empty()));
            let output = command.env("LANG", locale).env("COLUMNS", "80").output().expect("ran");
            let text = String::from_utf8(output.stdout).expect("UTF-8");
            assert!(!text.is_empty());
            let long = text.lines().find(|line| line.chars().count() > 80);
            assert_eq!(long, None, "{by}");
            let blocks = text.chars().find(|c| ('\u{2580}'..='\u{259f}').contains(c));
            assert!(locale != "C" || blocks.is_none(), "{by}: {blocks:?}");
        }
    }
}
