//! Are the reminders worth their tokens? Measured on a generated corpus, against answers worked out from the raw lines.
//!
//! A new session edits each file that was ever changed: the reminder must name the session that changed it last, and quote
//! the prompt that led to it. Then that last session edits the file once more: the reminder must be of the session before
//! it, and there must be none if no other session changed the file. A file of another name must bring no reminder at all.
//!
//! The price of a reminder is compared with the price of asking for the same with `unspool file` and `unspool show`.
//! Whether an agent uses a reminder cannot be measured without a model, so the figures say how often it must be of use to
//! be cheaper than asking. `UNSPOOL_BLESS=1 cargo test worth` rewrites `figures.txt`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use unspool::archive::request::Context;
use unspool::archive::{Archive, Local, NoRunner};
use unspool::render::agent::recall;
use unspool::render::terminal::style::Screen;
use unspool::transcript::discover::Root;

use crate::corpus::plan::{Options, generate};
use crate::support::env::Env;
use crate::support::figures::compare;

const SIZE: u64 = 24_000_000;
const SEED: u64 = 23;
/// The most files for which the price of asking is measured.
const ASKED: usize = 40;

/// A change of a file by a tool, from the raw lines of a transcript.
#[derive(Clone, Debug)]
struct Change {
    time: String,
    session: String,
    uuid: String,
    prompt: String,
}

#[test]
fn reminders_are_right_and_worth_their_tokens() {
    let env = Env::new();
    let root = env.path().join("corpus");
    generate(&Options { out: root.clone(), size: SIZE, seed: SEED }).expect("a corpus");
    let ran = env.run(&["index", "--root", root.to_str().expect("a path")]);
    assert!(matches!(ran.code, 0 | 3), "{}", ran.stderr);
    let roots = vec![Root { path: root.clone(), required: true }];
    let archive = Archive::new(Local::new(roots, &env.index_dir()).into(), Box::new(NoRunner));
    let (mut new, mut again) = (Told::default(), Told::default());
    let (mut alone, mut unknown) = (Told::default(), Told::default());
    let (mut bytes, mut asked) = (0, Vec::new());
    let mut misses = String::new();
    for (path, changes) in &changes(&root) {
        let last = changes.iter().max_by_key(|change| &change.time).expect("a change");
        let text = reminder(&archive, path, "new");
        misses += &new.count(&text, Some(last), path);
        bytes += text.len();
        if asked.len() < ASKED {
            asked.push(price_of_asking(&env, &root, path, last));
        }
        let others = changes.iter().filter(|change| change.session != last.session);
        let before = others.max_by_key(|change| &change.time);
        let case = if before.is_some() { &mut again } else { &mut alone };
        misses += &case.count(&reminder(&archive, path, &last.session), before, path);
        unknown.count(&reminder(&archive, &format!("{path}.other"), "new"), None, path);
    }
    let report = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recall_worth.txt");
    std::fs::write(report, misses).expect("written");
    assert_eq!(unknown.told, 0, "a reminder of a file that never existed");
    let price = bytes as f64 / new.told as f64;
    let asking = asked.iter().sum::<usize>() as f64 / asked.len() as f64;
    let mut shown = String::from("Reminders before an edit, on a generated corpus: cases, told, right.\n\n");
    for (name, case) in [
        ("a new session edits a file with a history", new),
        ("its last session edits it again, another one was before", again),
        ("its last session edits it again, no other one was before", alone),
        ("a new session edits a file without a history", unknown),
    ] {
        writeln!(shown, "{name:<58} {:>4} {:>4} {:>4}", case.cases, case.told, case.right).expect("written");
    }
    writeln!(shown, "\nbytes of a reminder, on average                            {price:>5.0}").expect("written");
    writeln!(shown, "bytes of asking for the same with two commands             {asking:>5.0}").expect("written");
    writeln!(shown, "share of reminders that must be of use to pay              {:>5.2}", price / asking)
        .expect("written");
    compare(&shown, "recall/figures.txt");
}

/// The number of cases, of reminders in them, and of reminders that were right.
#[derive(Clone, Copy, Default)]
struct Told {
    cases: usize,
    told: usize,
    right: usize,
}

impl Told {
    /// Counts a case. Returns a line about it if the reminder is wrong.
    fn count(&mut self, text: &str, expected: Option<&Change>, path: &str) -> String {
        let is_right = expected.is_some_and(|change| {
            text.contains(&format!("`unspool show {}`", &change.session[..8])) && quotes(text, &change.prompt)
        });
        self.cases += 1;
        self.told += usize::from(!text.is_empty());
        self.right += usize::from(is_right);
        let is_wrong = !is_right && (expected.is_some() || !text.is_empty());
        if is_wrong { format!("{path}\n{text}expected: {expected:?}\n\n") } else { String::new() }
    }
}

fn reminder(archive: &Archive, path: &str, session: &str) -> String {
    let context = Context { running_session: Some(session.to_string()), ..Context::default() };
    let screen = Screen { width: 100, now: 0, zone: jiff::tz::TimeZone::UTC, home: None, ascii: false };
    let change = archive.last_change(path, &context).expect("an answer");
    change.map(|change| recall::last_change(&change, &screen)).unwrap_or_default()
}

/// Reports whether the reminder quotes the beginning of the prompt.
fn quotes(text: &str, prompt: &str) -> bool {
    let line = prompt.split_whitespace().collect::<Vec<_>>().join(" ").replace('<', "‹").replace('>', "›");
    let beginning: String = line.chars().take(40).collect();
    text.contains(&format!("Asked: {beginning}"))
}

/// The output of the commands that find the change and the answer after it.
fn price_of_asking(env: &Env, root: &Path, path: &str, change: &Change) -> usize {
    let root = root.to_str().expect("a path");
    let list = env.run(&["file", path, "--no-refresh", "--root", root]);
    let read = ["show", &change.session, "--around", &change.uuid, "-C", "5", "--no-refresh", "--root", root];
    let read = env.run(&read);
    assert_eq!((list.code, read.code), (0, 0), "{} {}", list.stderr, read.stderr);
    list.stdout.len() + read.stdout.len()
}

/// All changes of files by sessions and their subagents, from the raw lines.
fn changes(root: &Path) -> BTreeMap<String, Vec<Change>> {
    let mut found: BTreeMap<String, Vec<Change>> = BTreeMap::new();
    let mut prompts: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    // A subagent that compacts a conversation begins with a copy of it.
    let mut copied = BTreeSet::new();
    let (sessions, agents) = transcripts(&root.join("projects"));
    for file in sessions.iter().chain(&agents) {
        let text = String::from_utf8_lossy(&std::fs::read(file).expect("read")).into_owned();
        let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let mut open: BTreeMap<String, (String, Change)> = BTreeMap::new();
        let is_agent = agents.contains(file);
        let mut prompt = if is_agent { prompt_before(&lines, &prompts) } else { String::new() };
        for line in &lines {
            let text = |key: &str| line[key].as_str().unwrap_or_default().to_string();
            if !copied.insert(text("uuid")) && is_agent {
                continue;
            }
            if let Some(typed) = typed(line).filter(|_| !is_agent) {
                prompts.entry(text("sessionId")).or_default().push((text("timestamp"), typed.clone()));
                prompt = typed;
            }
            for block in line["message"]["content"].as_array().into_iter().flatten() {
                let name = block["name"].as_str().unwrap_or_default();
                if block["type"] == "tool_use"
                    && ["Edit", "Write", "MultiEdit"].contains(&name)
                    && let Some(path) = block["input"]["file_path"].as_str()
                {
                    let change = Change {
                        time: text("timestamp"),
                        session: text("sessionId"),
                        uuid: text("uuid"),
                        prompt: prompt.clone(),
                    };
                    let id = block["id"].as_str().unwrap_or_default().to_string();
                    open.insert(id, (path.to_string(), change));
                } else if block["type"] == "tool_result"
                    && block["is_error"] != true
                    && let Some((path, mut change)) = open.remove(block["tool_use_id"].as_str().unwrap_or_default())
                {
                    change.time = text("timestamp");
                    found.entry(path).or_default().push(change);
                }
            }
        }
    }
    found
}

/// Returns what a person typed, if the line is that.
fn typed(line: &Value) -> Option<String> {
    if line["type"] != "user" || line["isMeta"] == true || line["isSidechain"] == true {
        return None;
    }
    let content = &line["message"]["content"];
    let blocks = content.as_array().into_iter().flatten();
    let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
    content.as_str().map(str::to_string).or_else(|| (!texts.is_empty()).then(|| texts.join("\n")))
}

/// Returns the last prompt of its session before a subagent began.
fn prompt_before(agent: &[Value], prompts: &BTreeMap<String, Vec<(String, String)>>) -> String {
    let text = |key: &str| agent.iter().find_map(|line| line[key].as_str()).unwrap_or_default();
    let mut all = prompts.get(text("sessionId")).into_iter().flatten();
    all.rfind(|(time, _)| time.as_str() <= text("timestamp")).map(|(_, typed)| typed.clone()).unwrap_or_default()
}

/// The transcripts of sessions, and those of their subagents.
fn transcripts(projects: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let list = |folder: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    let is_transcript = |path: &PathBuf| path.extension().is_some_and(|end| end == "jsonl");
    let inside: Vec<PathBuf> = list(projects).into_iter().flat_map(|project| list(&project)).collect();
    let agents = inside.iter().flat_map(|session| list(&session.join("subagents")));
    let mut both = (inside.iter().filter(|path| is_transcript(path)).cloned().collect::<Vec<_>>(), agents.collect());
    let (sessions, agents): &mut (Vec<PathBuf>, Vec<PathBuf>) = &mut both;
    agents.retain(is_transcript);
    sessions.sort();
    agents.sort();
    both
}
