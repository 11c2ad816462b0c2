//! A benchmark for agents: questions about facts that are planted in a generated corpus, answered only through the
//! tools.
//!
//! The script is fixed and knows no more than an agent: it has the question and the thing that the question names, in
//! backticks. It searches with the question, then with the named thing, then reads around the first two hits, and cites
//! what follows the named thing in a quoted line. The question never contains the answer. Questions about what never
//! happened look the same; half of them join two things that both occur, but never together.
//!
//! The figures are kept in `figures.txt`, which must match exactly. `UNSPOOL_BLESS=1 cargo test agent_benchmark`
//! rewrites it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::corpus::names::{capital, coin};
use crate::corpus::plan::{Options, generate};
use crate::corpus::rng::Rng;
use crate::support::env::Env;
use crate::support::figures::compare;
use crate::support::mcp_client::{Answer, Client, WITH_HANDSHAKE};
use crate::support::transcript::{long_text, session, user_line, uuid};

const SIZE: u64 = 24_000_000;
const SEED: u64 = 23;
/// Questions of each class.
const PER_CLASS: usize = 16;
/// Budget of one call; four of them are 12,000 characters.
const CHARS: usize = 3000;
const CALLS: usize = 4;
const HEADING: &str = "Questions answered right through the tools, on a generated corpus.\n\n";
/// The share of right answers to what happened, at least.
const RIGHT: f64 = 0.90;
/// The share of answers to what never happened, at most.
const FALSE: f64 = 0.02;

/// What follows the named thing, and is asked for.
#[derive(Clone, Copy)]
enum Wanted {
    Number,
    /// The word after this one.
    After(&'static str),
}

struct Question {
    class: &'static str,
    text: String,
    /// The invented name in it.
    name: String,
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
    let happened = planted(&root);
    let root_text = root.to_str().expect("a path");
    assert!(matches!(env.run(&["index", "--root", root_text]).code, 0 | 3));
    let never = never(&happened);
    assert!(happened.len() >= 60, "{}", happened.len());
    let mut command = env.command();
    command.args(["--root", root_text]);
    let mut client = Client::start_with(command, WITH_HANDSHAKE[1]);
    let mut figures: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let (mut right, mut wrong, mut misses) = (0, 0, String::new());
    let mut spent = Spent::default();
    for question in happened.iter().chain(&never) {
        assert!(
            question.expected.as_ref().is_none_or(|expected| !question.text.contains(expected)),
            "{}",
            question.text
        );
        let cited = ask(&mut client, question, &mut spent);
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
    let mean = |sum: usize| sum as f64 / (happened.len() + never.len()) as f64;
    // Rounded, because remarks about the index depend on how busy the machine is.
    let hundreds = (mean(spent.chars) / 100.0).round() * 100.0;
    writeln!(shown, "{:.1} calls and about {hundreds:.0} characters a question", mean(spent.calls)).expect("written");
    writeln!(shown, "{} of {} searches without a match", spent.empty, spent.searches).expect("written");
    let report = Path::new(env!("CARGO_TARGET_TMPDIR")).join("agent_benchmark.txt");
    std::fs::write(report, format!("{shown}{misses}")).expect("written");
    assert!(share >= RIGHT && false_share <= FALSE, "{shown}{misses}");
    compare(&format!("{HEADING}{shown}{misses}"), "agent_benchmark/figures.txt");
}

/// Calls and characters of all questions.
#[derive(Default)]
struct Spent {
    calls: usize,
    chars: usize,
    searches: usize,
    /// Searches that found nothing.
    empty: usize,
}

/// Plants facts in sessions of their own, and makes a question of each.
fn planted(root: &Path) -> Vec<Question> {
    let folder = root.join("projects/-home-u-x");
    std::fs::create_dir_all(&folder).expect("made");
    let mut rng = Rng::new(&[SEED]);
    let mut questions = Vec::new();
    for number in 0..PER_CLASS * 5 {
        let (name, answer) = (coin(&mut rng, 3), coin(&mut rng, 3));
        let code = 1000 + (number * 7919) % 9000;
        let (class, asked, fact, text, key, wanted, expected) = match number % 5 {
            0 => (
                "decision",
                format!("Which store fits the {name} cache, and why?"),
                format!("We decided that the {name} cache uses {answer} from now on."),
                format!("What does the `{name} cache` use since we decided on it?"),
                format!("{name} cache"),
                Wanted::After("uses"),
                answer,
            ),
            1 => (
                "fix",
                format!("The tests stop with {}Error, please find out what is wrong.", capital(&name)),
                format!("Fixed: the {}Error came from {answer} being closed too early.", capital(&name)),
                format!("What did the `{}Error` come from?", capital(&name)),
                format!("{}Error", capital(&name)),
                Wanted::After("came from"),
                answer,
            ),
            2 => (
                "command",
                "Run the migration once more.".to_string(),
                format!("{name}ctl --{answer} {code}"),
                format!("With which number did we run `{name}ctl --{answer}`?"),
                format!("{name}ctl --{answer}"),
                Wanted::Number,
                code.to_string(),
            ),
            3 => (
                "file",
                format!("Where does the {name} limit come from?"),
                format!("The {name} limit is set in src/{answer}.rs and nowhere else."),
                format!("In which file is the `{name} limit` set?"),
                format!("{name} limit"),
                Wanted::After("set in"),
                format!("src/{answer}.rs"),
            ),
            _ => (
                "line",
                "The borrow checker complains again.".to_string(),
                format!("The line to change is `let held = {name}_lock(&mut self.{answer})?;`."),
                format!("Which field of self does the line to change pass to `{name}_lock`?"),
                format!("{name}_lock"),
                Wanted::After("(&mut"),
                format!("self.{answer}"),
            ),
        };
        let lines = session_of(number, &asked, &fact, class == "command");
        std::fs::write(folder.join(format!("{}.jsonl", session(id_of(number)))), lines).expect("written");
        questions.push(Question { class, text, name, key, wanted, expected: Some(expected) });
    }
    questions
}

fn id_of(number: usize) -> u32 {
    5000 + u32::try_from(number).expect("small")
}

/// Writes a session of three turns. The fact is in the second answer: at its end, or before much other text.
fn session_of(number: usize, asked: &str, fact: &str, is_command: bool) -> String {
    let (id, first) = (session(id_of(number)), 1_000_000 + id_of(number) * 10);
    let filler = long_text(id_of(number));
    let told = if number.is_multiple_of(2) { format!("{filler}\n{fact}") } else { format!("{fact}\n\n{filler}") };
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let answer = if is_command {
        json!([{"type": "tool_use", "id": format!("t{number}"), "name": "Bash", "input": {"command": fact}}])
    } else {
        text(&told)
    };
    let line = |at: u32, content: &Value| {
        let message =
            json!({"id": format!("m{number}-{at}"), "role": "assistant", "model": "opus", "content": content});
        let line = json!({"type": "assistant", "isSidechain": false, "cwd": "/home/u/x", "sessionId": id,
            "message": message, "uuid": uuid(first + at), "parentUuid": uuid(first + at - 1),
            "timestamp": format!("2026-10-02T10:{:02}:00.000Z", number % 60)});
        format!("{line}\n")
    };
    [
        user_line(&id, first, "Good morning, where did we stop?"),
        line(1, &text("We stopped at the failing tests.")),
        user_line(&id, first + 2, asked),
        line(3, &answer),
        user_line(&id, first + 4, "thanks, go on with the next one"),
        line(5, &text("All done for today.")),
    ]
    .concat()
}

/// Makes questions about things that never happened: one with an invented name, one that joins two real facts.
fn never(happened: &[Question]) -> Vec<Question> {
    let mut found = Vec::new();
    for question in happened {
        let name: String = question.name.chars().map(turned).collect();
        let renamed =
            |text: &str| text.replace(&question.name, &name).replace(&capital(&question.name), &capital(&name));
        let (text, key) = (renamed(&question.text), renamed(&question.key));
        found.push(Question { class: "never: invented", text, name, key, wanted: question.wanted, expected: None });
    }
    let mut join = |text: String, key: String, name: &str, wanted| {
        found.push(Question { class: "never: joined", text, name: name.to_string(), key, wanted, expected: None });
    };
    let of_class = |class| happened.iter().filter(move |question| question.class == class);
    for (one, two) in of_class("command").zip(of_class("command").skip(1)) {
        let option = two.key.split(' ').nth(1).expect("an option");
        let key = format!("{}ctl {option}", one.name);
        join(format!("With which number did we run `{key}`?"), key, &one.name, Wanted::Number);
    }
    for question in of_class("file") {
        let key = format!("{} cache", question.name);
        let text = format!("What does the `{key}` use since we decided on it?");
        join(text, key, &question.name, Wanted::After("uses"));
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
fn ask(client: &mut Client, question: &Question, spent: &mut Spent) -> Option<String> {
    let (calls, chars) = (spent.calls, spent.chars);
    let mut call = |tool: &str, arguments: Value| -> Answer {
        let answer = client.call(tool, &arguments);
        (spent.calls, spent.chars) = (spent.calls + 1, spent.chars + answer.text.chars().count());
        spent.searches += usize::from(tool == "search_history");
        spent.empty += usize::from(answer.text.starts_with("match: none"));
        let is_within_limits = spent.calls - calls <= CALLS && spent.chars - chars <= CALLS * CHARS;
        assert!(is_within_limits && !answer.is_error, "{}", answer.text);
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
                Wanted::After(word) => {
                    let Some((_, after)) = rest.split_once(word) else { continue };
                    let cited = after.split_whitespace().next().unwrap_or_default();
                    cited.trim_end_matches(|c: char| !c.is_alphanumeric()).to_string()
                }
            };
            if !cited.is_empty() {
                return Some(cited);
            }
        }
    }
    None
}
