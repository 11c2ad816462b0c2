//! A benchmark for agents: questions about planted facts of a generated corpus, answered only through the tools.
//!
//! The script is fixed and knows no more than an agent: it has the question and the thing that the question names, in
//! backticks. It searches with the question, then with the named thing, then reads around the first two hits, and cites
//! what follows the named thing in a quoted line. The question never contains the answer. Questions about what never
//! happened look the same; half of them join two things that both occur, but never together.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::corpus::plan::{Options, generate};
use crate::support::env::Env;
use crate::support::mcp_client::{Answer, Client, WITH_HANDSHAKE};

const SIZE: u64 = 24_000_000;
const SEED: u64 = 23;
/// Questions of each class.
const PER_CLASS: usize = 16;
/// Budget of one call; four of them are 12,000 characters.
const CHARS: usize = 3000;
const CALLS: usize = 4;

/// What follows the named thing, and is asked for.
#[derive(Clone, Copy)]
enum Wanted {
    Number,
    RestOfWord,
    Words(usize),
}

struct Question {
    class: &'static str,
    text: String,
    key: String,
    wanted: Wanted,
    /// None if it never happened.
    expected: Option<String>,
}

#[test]
fn agents_find_what_happened_and_nothing_else() {
    let env = Env::new();
    let root = env.path().join("corpus");
    generate(&Options { out: root.clone(), size: SIZE, seed: SEED }).expect("a corpus");
    let root_text = root.to_str().expect("a path");
    assert!(matches!(env.run(&["index", "--root", root_text]).code, 0 | 3));
    let truth = std::fs::read_to_string(root.join(".truth.jsonl")).expect("read");
    let happened = happened(&truth);
    let never = never(&happened);
    assert!(happened.len() >= 60, "{}", happened.len());
    let mut command = env.command();
    command.args(["--root", root_text]);
    let mut client = Client::start_with(command, WITH_HANDSHAKE[1]);
    let mut figures: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let (mut right, mut wrong, mut misses) = (0, 0, String::new());
    for question in happened.iter().chain(&never) {
        assert!(
            question.expected.as_ref().is_none_or(|expected| !question.text.contains(expected)),
            "{}",
            question.text
        );
        let cited = ask(&mut client, question);
        let is_right = cited == question.expected;
        let count = figures.entry(question.class).or_default();
        *count = [count[0] + usize::from(is_right), count[1] + 1];
        if question.expected.is_some() {
            right += usize::from(is_right);
        } else {
            wrong += usize::from(!is_right);
        }
        if !is_right {
            writeln!(misses, "  {}: {:?}, not {:?}", question.text, cited, question.expected).expect("written");
        }
    }
    let mut shown = String::new();
    for (class, [right, all]) in figures {
        writeln!(shown, "{class:<20} {right} of {all}").expect("written");
    }
    let (share, false_share) = (right as f64 / happened.len() as f64, wrong as f64 / never.len() as f64);
    writeln!(shown, "right {share:.3}, false positives {false_share:.3}").expect("written");
    assert!(share >= 0.90 && false_share <= 0.02, "{shown}{misses}");
    insta::assert_snapshot!(shown, @"");
}

/// Makes questions of the planted facts.
fn happened(truth: &str) -> Vec<Question> {
    let facts = truth.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let mut found: Vec<Question> = Vec::new();
    for fact in facts {
        let query = fact["query"].as_str().expect("a text");
        let Some(question) = question(fact["class"].as_str().expect("a class"), query) else { continue };
        if found.iter().filter(|other| other.class == question.class).count() < PER_CLASS {
            found.push(question);
        }
    }
    found
}

/// Asks for the second half of a fact, and names the first.
fn question(class: &str, fact: &str) -> Option<Question> {
    let make = |class, text: String, key: &str, wanted, expected: &str| {
        Some(Question { class, text, key: key.to_string(), wanted, expected: Some(expected.to_string()) })
    };
    match class {
        "command" => {
            let (key, number) = fact.rsplit_once(' ')?;
            make("command", format!("With which number did we run `{key}`?"), key, Wanted::Number, number)
        }
        "error" => {
            let (key, rest) = fact.split_once(": code ")?;
            let number = rest.split(' ').next()?;
            make("error", format!("Which code came with the `{key}` in the output?"), key, Wanted::Number, number)
        }
        "identifier" => {
            let at = fact.find(char::is_uppercase)?;
            let (key, rest) = fact.split_at(at);
            let text = format!("What is the new name beginning with `{key}` that replaces the old helper?");
            make("decision", text, key, Wanted::RestOfWord, rest)
        }
        "path" => {
            let at = fact.rfind('/')? + 1;
            let (key, rest) = fact.split_at(at);
            make("file", format!("Which file in `{key}` was I to look at?"), key, Wanted::RestOfWord, rest)
        }
        "code" => {
            let (key, rest) = fact.split_once("(&mut self.")?;
            let name = rest.split('[').next()?;
            let text = format!("Which field of self does the line to change pass to `{key}`?");
            make("line", text, key, Wanted::RestOfWord, &format!("(&mut self.{name}"))
        }
        "phrase" => {
            let words: Vec<&str> = fact.split(' ').collect();
            let (key, rest) = (words[..3].join(" "), words[3..].join(" "));
            let text = format!("Which two words did I ask you to remember after `{key}`?");
            make("prompt", text, &key, Wanted::Words(2), &rest)
        }
        _ => None,
    }
}

/// Makes questions about things that never happened: one with an invented name, one that joins two real facts.
fn never(happened: &[Question]) -> Vec<Question> {
    let mut found = Vec::new();
    let letters =
        |text: &str| text.chars().map(|c| if c.is_ascii_lowercase() { turned(c) } else { c }).collect::<String>();
    for question in happened.iter().filter(|question| question.class != "prompt") {
        let key = letters(&question.key);
        let text = question.text.replace(&question.key, &key);
        found.push(Question { class: "never: invented", text, key, wanted: question.wanted, expected: None });
    }
    let commands: Vec<&Question> = happened.iter().filter(|question| question.class == "command").collect();
    for pair in commands.windows(2) {
        let program = pair[0].key.split(' ').next().expect("a program");
        let option = pair[1].key.split(' ').nth(1).expect("an option");
        let key = format!("{program} {option}");
        let text = format!("With which number did we run `{key}`?");
        found.push(Question { class: "never: joined", text, key, wanted: Wanted::Number, expected: None });
    }
    found
}

/// Returns another letter of the same kind, so that invented names can be pronounced too.
fn turned(c: char) -> char {
    let (vowels, others) = ("aeiou", "bcdfghjklmnpqrstvwxyz");
    let all = if vowels.contains(c) { vowels } else { others };
    let at = all.find(c).expect("a letter");
    all.as_bytes()[(at + 2) % all.len()] as char
}

/// Answers a question through the tools. Returns what was cited.
fn ask(client: &mut Client, question: &Question) -> Option<String> {
    let mut calls = 0;
    let mut chars = 0;
    let mut call = |tool: &str, arguments: Value| -> Answer {
        let answer = client.call(tool, &arguments);
        (calls, chars) = (calls + 1, chars + answer.text.chars().count());
        assert!(calls <= CALLS && chars <= CALLS * CHARS && !answer.is_error, "{}", answer.text);
        answer
    };
    let mut ids = Vec::new();
    for query in [question.text.replace('`', ""), question.key.clone()] {
        let answer = call("search_history", json!({"query": query, "max_chars": CHARS}));
        if let Some(cited) = cite(&answer, question) {
            return Some(cited);
        }
        ids = messages(&answer);
        if answer.text.starts_with("match: none") {
            return None;
        }
    }
    for id in ids.iter().take(2) {
        let arguments = json!({"id": id, "before": 0, "tools": "full", "max_chars": CHARS});
        if let Some(cited) = cite(&call("read_conversation", arguments), question) {
            return Some(cited);
        }
    }
    None
}

/// Returns the messages of an answer.
fn messages(answer: &Answer) -> Vec<String> {
    let own = answer.own().into_iter().filter(|line| line.starts_with("- "));
    let id = |line: &str| Some(line.split("message ").nth(1)?.split(' ').next()?.to_string());
    own.filter_map(id).collect()
}

/// Returns what follows the named thing in the quoted lines.
fn cite(answer: &Answer, question: &Question) -> Option<String> {
    for line in answer.quoted() {
        let line = line.replace(['«', '»'], "");
        for (at, _) in line.match_indices(&question.key) {
            let rest = &line[at + question.key.len()..];
            let cited = match question.wanted {
                Wanted::Number => {
                    let digits = rest.trim_start_matches(|c: char| !c.is_ascii_digit());
                    digits.chars().take_while(char::is_ascii_digit).collect::<String>()
                }
                Wanted::RestOfWord if question.class == "line" || rest.starts_with('(') => {
                    rest.split('[').next().unwrap_or_default().to_string()
                }
                Wanted::RestOfWord => rest.split(|c: char| !(c.is_alphanumeric() || c == '.')).next()?.to_string(),
                Wanted::Words(count) => rest.split_whitespace().take(count).collect::<Vec<_>>().join(" "),
            };
            if !cited.is_empty() && !cited.contains('…') {
                return Some(cited);
            }
        }
    }
    None
}
