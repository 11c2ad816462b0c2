//! The history of a file: `file` lists its changes, `recover` restores its contents, `blame` and `why` name who wrote a
//! line.

use std::collections::HashMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use unspool::archive::history::Writer;
use unspool::archive::request::{Context, FileQuestion, FileRequest, Moment};
use unspool::archive::{Backend as _, FileAnswer, Local, timestamp};
use unspool::transcript::discover::Root;

use crate::support::env::Env;
use crate::support::transcript::{session, uuid};

const PATH: &str = "/home/u/x/src/a.rs";

/// Writes the transcript of a session line by line.
#[derive(Default)]
struct Session {
    number: u32,
    lines: Vec<Value>,
}

/// A clock and a source of ids that all sessions share.
#[derive(Default)]
struct Clock {
    ticks: u32,
}

impl Clock {
    fn tick(&mut self) -> u32 {
        self.ticks += 1;
        self.ticks
    }
}

/// The time of a tick.
fn time(tick: u32) -> String {
    format!("2026-10-01T{:02}:{:02}:{:02}.000Z", 10 + tick / 3600, tick / 60 % 60, tick % 60)
}

fn millis(tick: u32) -> i64 {
    time(tick).parse::<jiff::Timestamp>().expect("a time").as_millisecond()
}

impl Session {
    fn line(&mut self, tick: u32, mut value: Value) -> String {
        let line = value.as_object_mut().expect("an object");
        line.insert("uuid".into(), uuid(tick).into());
        line.insert("timestamp".into(), time(tick).into());
        line.insert("sessionId".into(), session(self.number).into());
        line.insert("cwd".into(), "/home/u/x".into());
        self.lines.push(value);
        uuid(tick)
    }

    fn prompt(&mut self, clock: &mut Clock, text: &str) {
        self.line(clock.tick(), json!({"type": "user", "message": {"role": "user", "content": text}}));
    }

    /// Writes a tool call and its result; returns the id of the line of the call and the time of the result.
    #[expect(clippy::needless_pass_by_value, reason = "made where it is given")]
    fn call(&mut self, clock: &mut Clock, tool: &str, input: Value, answer: Answer) -> (String, u32) {
        let tick = clock.tick();
        let id = format!("toolu_{tick}");
        let content = json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]);
        let call = self.line(tick, json!({"type": "assistant", "message": {"role": "assistant", "content": content}}));
        let tick = clock.tick();
        let content =
            json!([{"type": "tool_result", "tool_use_id": id, "content": answer.text, "is_error": answer.error}]);
        let mut line = json!({"type": "user", "message": {"role": "user", "content": content}});
        if let Some(record) = answer.record {
            line["toolUseResult"] = record;
        }
        self.line(tick, line);
        (call, tick)
    }

    fn file(&self) -> String {
        format!("-home-u-x/{}.jsonl", session(self.number))
    }

    fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

#[derive(Default)]
struct Answer {
    text: String,
    error: bool,
    record: Option<Value>,
}

fn ok(text: &str) -> Answer {
    Answer { text: text.to_string(), ..Answer::default() }
}

fn failed(text: &str) -> Answer {
    Answer { text: text.to_string(), error: true, record: None }
}

fn actions(env: &Env, args: &[&str]) -> Vec<String> {
    let ran = env.run(&[&["file", "--no-refresh", "--json"], args].concat());
    assert!(matches!(ran.code, 0 | 1), "{} {}", ran.code, ran.stderr);
    let show = |line: &str| {
        let action: Value = serde_json::from_str(line).expect("JSON");
        let number = |name: &str| action[name].as_u64().map_or("?".to_string(), |number| number.to_string());
        format!(
            "{} {} +{} -{} {} {}{}",
            action["action"].as_str().unwrap_or_default(),
            action["path"].as_str().unwrap_or_default(),
            number("added"),
            number("removed"),
            action["tool"].as_str().unwrap_or("-"),
            action["prompt"].as_str().unwrap_or("-"),
            if action["inferred"] == true { " (inferred)" } else { "" }
        )
    };
    ran.stdout.lines().map(show).collect()
}

/// A session with every kind of change to a file.
fn busy_session(env: &Env) -> Clock {
    let mut clock = Clock::default();
    let mut transcript = Session { number: 1, ..Session::default() };
    transcript.prompt(&mut clock, "make a module");
    let write = json!({"file_path": PATH, "content": "fn a() {}\nfn b() {}\n"});
    transcript.call(&mut clock, "Write", write, ok("File created successfully at: /home/u/x/src/a.rs"));
    transcript.prompt(&mut clock, "rename b");
    let edit = json!({"file_path": PATH, "old_string": "fn b() {}", "new_string": "fn c() {\n}"});
    transcript.call(&mut clock, "Edit", edit.clone(), ok("updated"));
    transcript.call(&mut clock, "Edit", edit, failed("String to replace not found in file."));
    transcript.call(
        &mut clock,
        "Read",
        json!({"file_path": PATH}),
        ok("     1→fn a() {}\n     2→fn c() {\n     3→}\n     4→"),
    );
    transcript.call(&mut clock, "Grep", json!({"pattern": "fn", "path": PATH}), ok("a.rs"));
    transcript.prompt(&mut clock, "now tidy src/a.rs up");
    transcript.call(&mut clock, "Bash", json!({"command": "sed -i 's/c/d/' src/a.rs && mv src/a.rs src/b.rs"}), ok(""));
    transcript.call(&mut clock, "Bash", json!({"command": "rm -rf src"}), failed("no"));
    transcript.call(&mut clock, "Bash", json!({"command": "rm -rf /home/u/x/src"}), ok(""));
    env.write(transcript.file(), transcript.text());
    env.index();
    clock
}

#[test]
fn file_lists_what_changed_it_newest_first() {
    let env = Env::new();
    busy_session(&env);
    let expected = [
        "delete /home/u/x/src/a.rs +? -? Bash now tidy src/a.rs up (inferred)",
        "rename /home/u/x/src/a.rs +? -? Bash now tidy src/a.rs up (inferred)",
        "edit /home/u/x/src/a.rs +? -? Bash now tidy src/a.rs up (inferred)",
        "edit /home/u/x/src/a.rs +2 -1 Edit rename b",
        "create /home/u/x/src/a.rs +2 -0 Write make a module",
    ];
    for path in [PATH, "a.rs", "src/a.rs", "A.RS", "/home/u/x/src/[a].rs", "x/**/a.rs"] {
        assert_eq!(actions(&env, &[path]), expected, "{path}");
    }
    assert_eq!(actions(&env, &["/home/u/x/src"]).len(), 8, "a folder must list all its files");
    assert_eq!(actions(&env, &["b.rs"])[1], "rename /home/u/x/src/b.rs +? -? Bash now tidy src/a.rs up (inferred)");
    assert_eq!(actions(&env, &["c.rs"]), [""; 0]);
    assert_eq!(actions(&env, &[PATH, "--session", "5e55"]).len(), 5);
    assert_eq!(actions(&env, &[PATH, "--session", "0000"]).len(), 0);
    assert_eq!(actions(&env, &[PATH, "--until", "2026-10-01T10:00:03Z"]), expected[4..]);
}

#[test]
fn reads_and_mentions_are_listed_when_asked_for() {
    let env = Env::new();
    busy_session(&env);
    let words = |args: &[&str]| -> Vec<String> {
        let first = |line: String| line.split(' ').next().unwrap_or_default().to_string();
        actions(&env, args).into_iter().map(first).collect()
    };
    assert_eq!(words(&[PATH, "--reads"]), ["delete", "rename", "edit", "read", "edit", "create"]);
    let all = words(&[PATH, "--all"]);
    assert_eq!(all.iter().filter(|word| *word == "mention").count(), 2, "the search and the prompt: {all:?}");
}

#[test]
fn a_line_in_two_transcripts_is_one_action() {
    let env = Env::new();
    busy_session(&env);
    let original = std::fs::read_to_string(env.file(format!("-home-u-x/{}.jsonl", session(1)))).expect("read");
    env.write(format!("-home-u-x/{}.jsonl", session(2)), original.replace(&session(1), &session(2)));
    env.index();
    let ran = env.run(&["file", "--no-refresh", "--json", PATH]);
    assert_eq!(ran.stdout.lines().count(), 5);
    let first: Value = serde_json::from_str(ran.stdout.lines().next().expect("a line")).expect("JSON");
    assert_eq!((first["session_id"].as_str(), first["also_in"][0].as_str()), (Some(&*session(1)), Some(&*session(2))));
}

#[test]
fn changes_are_shown_as_patches() {
    let env = Env::new();
    busy_session(&env);
    let ran = env.run(&["file", "--no-refresh", "--diff", PATH]);
    assert!(ran.stdout.contains("-fn b() {}\n+fn c() {\n+}\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("+fn a() {}\n+fn b() {}\n"), "{}", ran.stdout);
}

#[test]
fn recover_goes_back_in_time_and_reports_doubts() {
    let env = Env::new();
    busy_session(&env);
    let at = |args: &[&str]| {
        let ran = env.run(&[&["recover", "--no-refresh"], args].concat());
        (ran.code, ran.stdout, ran.stderr)
    };
    let (code, text, _) = at(&["--at", "2026-10-01T10:00:03Z", PATH]);
    assert_eq!((code, text.as_str()), (0, "fn a() {}\nfn b() {}\n"));
    let (code, text, _) = at(&["--at", "2026-10-01T10:00:11Z", PATH]);
    assert_eq!((code, text.as_str()), (0, "fn a() {}\nfn c() {\n}\n"));
    let (code, text, notes) = at(&[PATH]);
    assert_eq!((code, text.as_str()), (3, "fn a() {}\nfn c() {\n}\n"), "what sed did is not recorded");
    assert!(notes.contains("not recorded") && notes.contains("deleted or renamed"), "{notes}");
    let (code, text, _) = at(&["/home/u/x/src/b.rs"]);
    assert_eq!((code, text.as_str()), (3, "fn a() {}\nfn c() {\n}\n"), "it must be followed through its old name");
    assert_eq!(at(&["nowhere.rs"]).0, 1);
    assert_eq!(at(&["--session", "ffff", PATH]).0, 2);
    assert_eq!(at(&["--before-session", "5e55", PATH]).0, 1, "there was nothing before");
}

#[test]
fn the_path_of_a_file_is_not_taken_for_a_folder() {
    let env = Env::new();
    let (mut clock, mut transcript) = (Clock::default(), Session { number: 1, ..Session::default() });
    for path in ["/home/u/x/notes", "/home/u/x/notes/today", "/home/u/y/notes/old"] {
        transcript.call(&mut clock, "Write", json!({"file_path": path, "content": path}), ok("created"));
    }
    env.write(transcript.file(), transcript.text());
    env.index();
    for (path, code, text) in [
        ("/home/u/x/notes", 0, "/home/u/x/notes"),
        ("notes/today", 0, "/home/u/x/notes/today"),
        ("x/notes", 0, "/home/u/x/notes"),
        ("/home/u/y/notes", 0, "/home/u/y/notes/old"),
        ("/home/u", 2, ""),
    ] {
        let ran = env.run(&["recover", "--no-refresh", path]);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, text), "{path} {}", ran.stderr);
    }
}

#[test]
fn recover_writes_only_new_files_below_the_folder() {
    let env = Env::new();
    busy_session(&env);
    let out = env.path().join("out");
    let run =
        || env.run(&["recover", "--no-refresh", "--at", "2026-10-01T10:00:03Z", "--out", &out.to_string_lossy(), PATH]);
    assert_eq!(run().code, 0);
    assert_eq!(std::fs::read_to_string(out.join("a.rs")).expect("written"), "fn a() {}\nfn b() {}\n");
    let again = run();
    assert_eq!(again.code, 2, "{}", again.stderr);
    assert!(again.stderr.contains("already exists"), "{}", again.stderr);
}

#[test]
fn versions_are_listed() {
    let env = Env::new();
    busy_session(&env);
    let ran = env.run(&["recover", "--no-refresh", "--list", "--json", PATH]);
    let show = |line: &str| {
        let version: Value = serde_json::from_str(line).expect("JSON");
        format!("{} {} {}", version["action"].as_str().unwrap_or_default(), version["lines"], version["exact"])
    };
    let shown: Vec<String> = ran.stdout.lines().map(show).collect();
    assert_eq!(shown, ["delete null false", "rename null false", "edit 3 false", "edit 3 true", "create 2 true"]);
}

#[test]
fn backups_of_claude_code_are_used() {
    let env = Env::new();
    let mut clock = Clock::default();
    let mut transcript = Session { number: 1, ..Session::default() };
    transcript.prompt(&mut clock, "change it");
    let edit = json!({"file_path": PATH, "old_string": "two", "new_string": "2"});
    let tick = clock.tick();
    transcript.lines.push(json!({"type": "file-history-snapshot", "messageId": "m", "snapshot": {"messageId": "m",
        "trackedFileBackups": {"src/a.rs": {"backupFileName": "3b1ff8b2d7b3d6ac@v1", "version": 1, "backupTime": time(tick)}},
        "timestamp": time(tick)}, "isSnapshotUpdate": false}));
    transcript.call(&mut clock, "Edit", edit, ok("updated"));
    env.write(transcript.file(), transcript.text());
    let folder = env.claude().join("file-history").join(session(1));
    std::fs::create_dir_all(&folder).expect("made");
    let name = backup_name(PATH);
    let text = env.file(transcript.file());
    let lines = std::fs::read_to_string(&text).expect("read").replace("3b1ff8b2d7b3d6ac", &name);
    std::fs::write(&text, lines).expect("written");
    std::fs::write(folder.join(format!("{name}@v1")), "one\r\ntwo\r\n").expect("written");
    env.index();
    let ran = env.run(&["recover", "--no-refresh", PATH]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "one\r\n2\r\n"), "{}", ran.stderr);
    let ran = env.run(&["recover", "--no-refresh", "--before-session", &session(1), PATH]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "one\r\ntwo\r\n"), "{}", ran.stderr);
}

/// The file name of a backup by Claude Code.
fn backup_name(path: &str) -> String {
    use sha2::{Digest as _, Sha256};
    Sha256::digest(path.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn blame_and_why_name_the_writer_of_each_line() {
    let env = Env::new();
    let file = env.path().join("a.rs");
    let path = file.to_string_lossy().into_owned();
    let mut clock = Clock::default();
    let mut transcript = Session { number: 1, ..Session::default() };
    transcript.prompt(&mut clock, "say hello");
    let greeting = json!([{"type": "text", "text": "I will greet the world."}]);
    transcript.line(clock.tick(), json!({"type": "assistant", "message": {"role": "assistant", "content": greeting}}));
    let edit = |old: &str, new: &str| json!({"file_path": path, "old_string": old, "new_string": new});
    let record = |before: &str| Some(json!({"filePath": path, "originalFile": before}));
    let answer = |before: &str| Answer { text: "updated".into(), error: false, record: record(before) };
    transcript.call(&mut clock, "Edit", edit("stop", "hello"), answer("start\nstop\n"));
    transcript.prompt(&mut clock, "louder");
    transcript.call(&mut clock, "Edit", edit("hello", "HELLO"), answer("start\nhello\nformatted\n"));
    env.write(transcript.file(), transcript.text());
    env.index();
    std::fs::write(&file, "start\nHELLO\nformatted\nby hand\n").expect("written");
    let ran = env.run(&["blame", "--no-refresh", "--json", &path]);
    let show = |line: &str| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        format!(
            "{} {} {}",
            line["text"].as_str().unwrap_or_default(),
            line["writer"].as_str().unwrap_or_default(),
            line["prompt"]
        )
    };
    let shown: Vec<String> = ran.stdout.lines().map(show).collect();
    assert_eq!(
        shown,
        ["start before null", "HELLO session \"louder\"", "formatted outside null", "by hand outside null"]
    );
    assert_eq!(env.run(&["blame", "--no-refresh", "--json", "-L", "2,+2", &path]).stdout.lines().count(), 2);
    let ran = env.run(&["why", "--no-refresh", &format!("{path}:2")]);
    for part in ["louder", "-hello\n+HELLO", "earlier", "stop", "claude --resume"] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    let ran = env.run(&["why", "--no-refresh", &format!("{path}:3")]);
    assert!(ran.stdout.contains("changed outside of sessions"), "{}", ran.stdout);
    assert_eq!(env.run(&["why", "--no-refresh", &format!("{path}:9")]).code, 2);
}

/// A change of a file.
#[derive(Clone, Debug)]
enum Op {
    Write { lines: usize, newline: bool },
    Replace { at: usize, lines: usize },
    Insert { at: usize, lines: usize },
    Delete { at: usize },
    ReplaceAll,
    Multi { at: usize },
    Shell { lines: usize },
    Read,
    Outside { at: usize },
    NewSession,
}

fn op() -> impl Strategy<Value = Op> {
    let at = 0..20_usize;
    prop_oneof![
        1 => (0..6_usize, any::<bool>()).prop_map(|(lines, newline)| Op::Write { lines, newline }),
        4 => (at.clone(), 1..4_usize).prop_map(|(at, lines)| Op::Replace { at, lines }),
        4 => (at.clone(), 1..4_usize).prop_map(|(at, lines)| Op::Insert { at, lines }),
        2 => at.clone().prop_map(|at| Op::Delete { at }),
        1 => Just(Op::ReplaceAll),
        1 => at.clone().prop_map(|at| Op::Multi { at }),
        1 => (0..4_usize).prop_map(|lines| Op::Shell { lines }),
        1 => Just(Op::Read),
        1 => at.prop_map(|at| Op::Outside { at }),
        1 => Just(Op::NewSession),
    ]
}

/// The amount that the tools record in addition to their results.
#[derive(Clone, Copy, Debug)]
enum Records {
    Whole,
    Patches,
    Nothing,
}

/// The maker of a line: a call, or none.
type Makers = HashMap<String, Option<String>>;

/// The real file, and what is recorded of it.
struct World {
    env: Env,
    clock: Clock,
    session: Session,
    records: Records,
    contents: Option<String>,
    makers: Makers,
    /// The content at each time, and whether everything up to then is recorded.
    states: Vec<(u32, String)>,
    drifted: bool,
    /// The first time something outside of sessions changed it.
    drifted_at: Option<u32>,
    ending: &'static str,
}

impl World {
    fn new(records: Records, ending: &'static str) -> Self {
        let session = Session { number: 1, ..Session::default() };
        let (env, clock) = (Env::new(), Clock::default());
        let (contents, makers, states) = (None, Makers::new(), Vec::new());
        Self { env, clock, session, records, contents, makers, states, drifted: false, drifted_at: None, ending }
    }

    /// Lines that have not been used before.
    fn fresh(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| format!("\tline {} \"ä\" word{}", self.clock.tick(), self.ending)).collect()
    }

    fn lines(&self) -> Vec<String> {
        self.contents.as_deref().unwrap_or_default().split('\n').map(str::to_string).collect()
    }

    fn record(&self, before: Option<&str>, after: &str) -> Option<Value> {
        let patch = json!([{"oldStart": 1, "oldLines": 0, "newStart": 1, "newLines": 0, "lines": ["+x"]}]);
        match self.records {
            Records::Whole => Some(json!({"filePath": PATH, "originalFile": before, "structuredPatch": patch})),
            Records::Patches => Some(json!({"filePath": PATH, "originalFile": null, "structuredPatch": patch})),
            Records::Nothing => None,
        }
        .map(|mut record| {
            if before.is_none() {
                record["content"] = after.into();
                record["type"] = "create".into();
            }
            record
        })
    }

    /// A call that leaves the file with new contents.
    fn change(&mut self, tool: &str, input: Value, after: String, made: &[String]) {
        let record = self.record(self.contents.as_deref(), &after).filter(|_| tool != "Bash");
        let answer = Answer { text: "updated".into(), error: false, record };
        let (call, tick) = self.session.call(&mut self.clock, tool, input, answer);
        for line in made {
            self.makers.insert(line.clone(), Some(call.clone()));
        }
        self.contents = Some(after.clone());
        self.states.push((tick, after));
    }

    fn edit(&mut self, old: &str, new: &str, made: &[String]) {
        let after = self.contents.as_deref().unwrap_or_default().replacen(old, new, 1);
        self.change("Edit", json!({"file_path": PATH, "old_string": old, "new_string": new}), after, made);
    }

    fn play(&mut self, op: &Op) {
        let lines = self.lines();
        let writable: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].contains("line")).collect();
        let pick = |at: usize| writable.get(at % writable.len().max(1)).copied();
        match op {
            Op::NewSession => {
                self.save();
                self.session = Session { number: self.session.number + 1, ..Session::default() };
            }
            Op::Write { lines, newline } => {
                let made = self.fresh(*lines);
                let text = made.join("\n") + if *newline && *lines > 0 { "\n" } else { "" };
                self.change("Write", json!({"file_path": PATH, "content": text}), text, &made);
            }
            Op::Shell { lines } => {
                let made = self.fresh(*lines);
                let text = made.iter().map(|line| format!("{line}\n")).collect::<String>();
                let command = format!("cat > src/a.rs <<'EOF'\n{text}EOF");
                self.change("Bash", json!({"command": command}), text, &made);
            }
            Op::Read => {
                let Some(text) = self.contents.clone() else { return };
                let numbered: Vec<String> =
                    text.split('\n').enumerate().map(|(at, line)| format!("{:>6}→{line}", at + 1)).collect();
                let (_, tick) =
                    self.session.call(&mut self.clock, "Read", json!({"file_path": PATH}), ok(&numbered.join("\n")));
                self.states.push((tick, text));
            }
            Op::Replace { at, lines: count } => {
                let Some(at) = pick(*at) else { return };
                let made = self.fresh(*count);
                self.edit(&lines[at], &made.join("\n"), &made);
            }
            Op::Insert { at, lines: count } => {
                let Some(at) = pick(*at) else { return };
                let made = self.fresh(*count);
                self.edit(&lines[at], &format!("{}\n{}", lines[at], made.join("\n")), &made);
            }
            Op::Delete { at } => {
                let Some(at) = pick(*at) else { return };
                let text = self.contents.clone().unwrap_or_default();
                let with_end = format!("{}\n", lines[at]);
                let gone = if text.contains(&with_end) { with_end } else { lines[at].clone() };
                let after = text.replacen(&gone, "", 1);
                self.change("Edit", json!({"file_path": PATH, "old_string": lines[at], "new_string": ""}), after, &[]);
            }
            Op::ReplaceAll => {
                let Some(text) = self.contents.clone().filter(|text| text.contains("word")) else { return };
                let word = format!("word{}", self.clock.tick());
                let after = text.replace("word", &word);
                let made: Vec<String> =
                    after.split('\n').filter(|line| !lines.iter().any(|old| old == line)).map(str::to_string).collect();
                let input = json!({"file_path": PATH, "old_string": "word", "new_string": word, "replace_all": true});
                self.change("Edit", input, after, &made);
            }
            Op::Multi { at } => {
                let Some(at) = pick(*at) else { return };
                let made = self.fresh(2);
                let text = self.contents.clone().unwrap_or_default();
                let first = text.replacen(&lines[at], &made[0], 1);
                let after = first.replacen(&made[0], &format!("{}\n{}", made[0], made[1]), 1);
                let edits = json!([{"old_string": lines[at], "new_string": made[0]},
                                   {"old_string": made[0], "new_string": format!("{}\n{}", made[0], made[1])}]);
                self.change("MultiEdit", json!({"file_path": PATH, "edits": edits}), after, &made);
            }
            Op::Outside { at } => {
                let Some(at) = pick(*at) else { return };
                let made = self.fresh(1);
                self.makers.insert(made[0].clone(), None);
                self.contents = Some(self.contents.clone().unwrap_or_default().replacen(&lines[at], &made[0], 1));
                self.drifted = true;
                let now = self.clock.tick();
                self.drifted_at.get_or_insert(now);
            }
        }
    }

    fn save(&self) {
        if !self.session.lines.is_empty() {
            self.env.write(self.session.file(), self.session.text());
        }
    }

    fn local(&self) -> Local {
        let roots: Vec<Root> = [".claude", ".config/claude"]
            .iter()
            .map(|name| Root { path: self.env.path().join("home").join(name), required: false })
            .collect();
        Local::new(roots, &self.env.index_dir())
    }

    /// Compares every state with what `recover` returns, and the maker of every line with what `blame` says.
    fn check(&self) {
        let local = self.local();
        let context = Context { folder: Some("/".into()), ..Context::default() };
        let ask = |question| {
            let request = FileRequest { path: PATH.into(), question, ..FileRequest::default() };
            local.file(&request, &context).expect("answered")
        };
        // Without a record of what the tools found, changes from outside cannot be noticed.
        let known = if matches!(self.records, Records::Whole) { u32::MAX } else { self.drifted_at.unwrap_or(u32::MAX) };
        for (tick, text) in self.states.iter().filter(|(tick, _)| *tick < known) {
            let at = Moment::At(timestamp(millis(*tick)));
            let FileAnswer::Contents(recovered) = ask(FileQuestion::Contents { at }) else { panic!("a version") };
            if recovered.doubts.is_empty() || !self.drifted {
                assert_eq!((&recovered.contents, &recovered.doubts), (text, &Vec::new()), "at {}", time(*tick));
            }
        }
        let Some(text) = self.contents.as_deref().filter(|_| !self.states.is_empty()) else { return };
        let FileAnswer::Blame(blame) = ask(FileQuestion::Blame { contents: text.to_string() }) else {
            panic!("a history")
        };
        let shown: Vec<&str> = blame.lines.iter().map(|(line, _)| line.raw()).collect();
        assert_eq!(shown, text.lines().collect::<Vec<_>>());
        for (line, writer) in &blame.lines {
            let made = match writer {
                Writer::Action(at) => blame.actions[*at].uuid.as_ref().map(|uuid| uuid.raw().to_string()),
                Writer::Before | Writer::Outside { .. } => None,
            };
            let Some(maker) = self.makers.get(&format!("{}{}", line.raw(), self.ending)) else { continue };
            // A line made on top of something unrecorded may be unknown, but is never attributed to another call.
            if made.is_some() || !self.drifted {
                assert_eq!(&made, maker, "{}", line.raw());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, max_shrink_iters: 40, ..ProptestConfig::default() })]

    /// Whatever changes a file, every state is recovered byte by byte and every line is attributed to its writer, with
    /// the transcripts and without them.
    #[test]
    fn recover_and_blame_match_any_history(
        ops in prop::collection::vec(op(), 1..30),
        records in prop_oneof![Just(Records::Whole), Just(Records::Patches), Just(Records::Nothing)],
        ending in prop_oneof![3 => Just(""), 1 => Just("\r")],
    ) {
        let mut world = World::new(records, ending);
        world.play(&Op::Write { lines: 3, newline: true });
        ops.iter().for_each(|op| world.play(op));
        world.save();
        world.env.index();
        world.check();
        std::fs::remove_dir_all(world.env.claude().join("projects/-home-u-x")).expect("removed");
        std::fs::create_dir_all(world.env.claude().join("projects/-home-u-x")).expect("made");
        world.env.index();
        world.check();
    }
}

/// Something else changed the file between two records: its content in between is not certain, with the transcript and
/// without it.
#[test]
fn a_change_from_outside_is_reported() {
    let env = Env::new();
    let mut clock = Clock::default();
    let mut transcript = Session { number: 1, ..Session::default() };
    transcript.prompt(&mut clock, "make it");
    let record = json!({"type": "create", "filePath": PATH, "content": "one\ntwo\n", "structuredPatch": []});
    let write = json!({"file_path": PATH, "content": "one\ntwo\n"});
    transcript.call(&mut clock, "Write", write, Answer { record: Some(record), ..ok("done") });
    transcript.prompt(&mut clock, "change it");
    let edit = json!({"file_path": PATH, "old_string": "two", "new_string": "2"});
    let record = json!({"filePath": PATH, "oldString": "two", "newString": "2", "originalFile": "zero\ntwo\n",
        "structuredPatch": [], "userModified": false, "replaceAll": false});
    transcript.call(&mut clock, "Edit", edit, Answer { record: Some(record), ..ok("done") });
    let path = env.write(transcript.file(), transcript.text());
    env.index();
    let recover = |args: &[&str]| env.run(&[&["recover", "--no-refresh"], args].concat());
    let meanwhile = recover(&["--at", "2026-10-01T10:00:04Z", PATH]);
    assert_eq!((meanwhile.code, meanwhile.stdout.as_str()), (3, "one\ntwo\n"), "{}", meanwhile.stderr);
    let last = recover(&[PATH]);
    assert_eq!((last.code, last.stdout.as_str()), (0, "zero\n2\n"), "{}", last.stderr);
    std::fs::remove_file(path).expect("removed");
    env.run(&["index", "--confirm"]);
    let meanwhile = recover(&["--at", "2026-10-01T10:00:04Z", PATH]);
    assert_eq!((meanwhile.code, meanwhile.stdout.as_str()), (3, "one\ntwo\n"), "{}", meanwhile.stderr);
    let last = recover(&[PATH]);
    assert_eq!(last.code, 3, "only a fingerprint of what was found is left: {} {}", last.stdout, last.stderr);
}

/// Messages and changes are masked; recovered contents are not.
#[test]
fn f28_secrets_are_masked_in_the_history_of_a_file() {
    let env = Env::new();
    let id = session(1);
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let key = format!(
        "-----BEGIN RSA PRIVATE KEY-----\n{}-----END RSA PRIVATE KEY-----\n",
        "MIIEowIBAAKCAQEAx7YqMIIEowIBAAKCAQEAx7Yq\n".repeat(9)
    );
    let contents = format!("a = 1\ntoken = \"{token}\"\n{key}");
    let line = |number: u32, role: &str, content: Value| {
        let line = serde_json::json!({
            "parentUuid": null, "cwd": env.path(), "sessionId": id, "type": role, "uuid": uuid(number),
            "message": {"id": format!("m{number}"), "role": role, "content": content},
            "timestamp": format!("2026-10-01T10:{number:02}:00.000Z"),
        });
        line.to_string() + "\n"
    };
    let path = env.path().join("conf.toml");
    std::fs::write(&path, &contents).expect("written");
    let call = serde_json::json!([{"type": "tool_use", "id": "t1", "name": "Write",
        "input": {"file_path": path, "content": contents}}]);
    let result = serde_json::json!([{"type": "tool_result", "tool_use_id": "t1", "content": "File created"}]);
    let lines = [
        line(1, "user", format!("put {token} into conf.toml").into()),
        line(2, "assistant", serde_json::json!([{"type": "text", "text": format!("I write {token}")}])),
        line(3, "assistant", call),
        line(4, "user", result),
    ];
    env.write(format!("-x/{id}.jsonl"), lines.concat());
    env.index();
    let path = path.to_str().expect("UTF-8");
    let place = format!("{path}:1");
    for (args, masked) in [
        (&["file", path][..], true),
        (&["file", "--json", path], true),
        (&["file", "--diff", path], true),
        (&["recover", "--list", path], true),
        (&["why", &place], true),
        (&["file", "--reveal", path], false),
        (&["file", "--reveal", "--diff", path], false),
        (&["why", "--reveal", &place], false),
        (&["recover", path], false),
    ] {
        let ran = env.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stdout.contains(&token), !masked, "{args:?}: {}", ran.stdout);
        assert!(!masked || !ran.stdout.contains("MIIEowIBAAKCAQEAx7Yq"), "{args:?}: {}", ran.stdout);
        assert!(!masked || ran.stdout.contains("[redacted: github token]"), "{args:?}: {}", ran.stdout);
    }
    let patch = env.run(&["file", "--diff", path]).stdout;
    assert_eq!(patch.lines().filter(|line| line.starts_with('+') && !line.starts_with("+++")).count(), 13, "{patch}");
    assert_eq!(env.run(&["recover", path]).stdout, contents);
}

/// A command whose result is not recorded may have done its work.
#[test]
fn a_command_without_a_result_may_have_changed_the_file() {
    let env = created_then(&[("sed -i s/one/1/ src/a.rs", true)]);
    let path = env.file(Session { number: 1, ..Session::default() }.file());
    let text = std::fs::read_to_string(&path).expect("read");
    let unfinished = text.trim_end().rsplit_once('\n').expect("lines").0.to_string() + "\n";
    std::fs::write(&path, unfinished).expect("written");
    env.index();
    let ran = env.run(&["recover", "--no-refresh", PATH]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, "one\ntwo\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("sed -i s/one/1/"), "{}", ran.stderr);
}

/// A session that creates [`PATH`] at 10:00:03 and then runs commands.
fn created_then(commands: &[(&str, bool)]) -> Env {
    let env = Env::new();
    let (mut clock, mut transcript) = (Clock::default(), Session { number: 1, ..Session::default() });
    transcript.prompt(&mut clock, "make it");
    let write = json!({"file_path": PATH, "content": "one\ntwo\n"});
    transcript.call(&mut clock, "Write", write, ok("File created successfully"));
    for (command, works) in commands {
        let answer = if *works { ok("") } else { failed("Exit code 1") };
        transcript.call(&mut clock, "Bash", json!({"command": command}), answer);
    }
    env.write(transcript.file(), transcript.text());
    env.index();
    env
}

#[test]
fn recover_reports_commands_that_may_have_changed_the_file() {
    for (command, works, code, part) in [
        ("cargo fmt", true, 3, "cargo fmt"),
        ("cargo fmt", false, 0, ""),
        ("cargo fmt && cargo test", false, 3, "cargo fmt"),
        ("sed -i s/one/1/ src/a.rs && cargo test", false, 3, "sed -i"),
        ("sed -i s/one/1/ src/a.rs", false, 0, ""),
        ("git stash pop", false, 3, "git stash"),
        ("cargo fmt --check", true, 0, ""),
        ("cd /elsewhere && cargo fmt", true, 0, ""),
        ("git stash", true, 3, "git stash"),
        ("git status", true, 0, ""),
        ("grep -rl one src | xargs sed -i 's/one/1/'", true, 3, "xargs"),
        ("python3 -c \"open('src/a.rs','w').write('x')\"", true, 3, "python3"),
        ("make > src/a.rs", true, 3, "not recorded"),
        ("cp other.rs src/a.rs", true, 3, "not recorded"),
        ("mv other.rs src/a.rs", true, 3, "not recorded"),
        ("make | tee src/a.rs", true, 3, "not recorded"),
        ("dd if=x of=src/a.rs", true, 3, "not recorded"),
        ("rm src/a.rs", true, 0, "deleted or renamed"),
    ] {
        let env = created_then(&[(command, works)]);
        let ran = env.run(&["recover", "--no-refresh", PATH]);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, "one\ntwo\n"), "{command}: {}", ran.stderr);
        assert!(ran.stderr.contains(part), "{command}: {}", ran.stderr);
        assert_eq!(ran.stderr.contains("every byte is recorded"), code == 0, "{command}: {}", ran.stderr);
        let before = env.run(&["recover", "--no-refresh", "--at", "2026-10-01T10:00:03Z", PATH]);
        assert_eq!((before.code, before.stdout.as_str()), (0, "one\ntwo\n"), "{command}: {}", before.stderr);
    }
}

#[test]
fn recover_uses_the_notes_of_claude_code_about_changes() {
    let env = Env::new();
    let (mut clock, mut transcript) = (Clock::default(), Session { number: 1, ..Session::default() });
    let write = json!({"file_path": PATH, "content": "one\ntwo\nthree\nfour\n"});
    transcript.call(&mut clock, "Write", write, ok("File created successfully"));
    let note = json!({"type": "edited_text_file", "filename": PATH, "snippet": "2\t2\n3\tthree"});
    transcript.line(clock.tick(), json!({"type": "attachment", "attachment": note}));
    env.write(transcript.file(), transcript.text());
    env.index();
    let ran = env.run(&["recover", "--no-refresh", PATH]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, "one\n2\nthree\nfour\n"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("Claude Code noticed") && ran.stderr.contains("lines 2-3 are certain"),
        "{}",
        ran.stderr
    );
}

#[test]
fn an_edit_on_a_branch_that_was_rewound_is_not_certain() {
    let env = Env::new();
    let (mut clock, mut transcript) = (Clock::default(), Session { number: 1, ..Session::default() });
    let turn = |transcript: &mut Session, clock: &mut Clock, parent: &str, text: &str| {
        let message = json!({"role": "user", "content": text});
        transcript.line(clock.tick(), json!({"type": "user", "parentUuid": parent, "message": message}))
    };
    let start = turn(&mut transcript, &mut clock, "0", "begin");
    turn(&mut transcript, &mut clock, &start, "make it");
    let write = json!({"file_path": PATH, "content": "one\n"});
    transcript.call(&mut clock, "Write", write, ok("File created successfully"));
    turn(&mut transcript, &mut clock, &start, "no, something else");
    env.write(transcript.file(), transcript.text());
    env.index();
    let ran = env.run(&["recover", "--no-refresh", PATH]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, "one\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("rewound"), "{}", ran.stderr);
}

/// `git apply` accepts the patches one after the other, with tabs and without a final newline.
#[test]
fn patches_can_be_applied() {
    if std::process::Command::new("git").arg("--version").output().is_err() {
        return;
    }
    let env = Env::new();
    let (mut clock, mut transcript) = (Clock::default(), Session { number: 1, ..Session::default() });
    transcript.prompt(&mut clock, "make it");
    let write = json!({"file_path": PATH, "content": "fn a() {\n\tone();\n}\n"});
    transcript.call(&mut clock, "Write", write, ok("File created successfully"));
    let edit = |old: &str, new: &str| json!({"file_path": PATH, "old_string": old, "new_string": new});
    let patch = json!([{"oldStart": 1, "oldLines": 3, "newStart": 1, "newLines": 4,
        "lines": [" fn a() {", "   one();", "+  two();", " }"]}]);
    let record = json!({"filePath": PATH, "originalFile": null, "structuredPatch": patch});
    transcript.call(
        &mut clock,
        "Edit",
        edit("one();", "one();\n\ttwo();"),
        Answer { record: Some(record), ..ok("done") },
    );
    transcript.call(&mut clock, "Edit", edit("}\n", "}"), ok("done"));
    env.write(transcript.file(), transcript.text());
    env.index();
    let patches = env.run(&["file", "--no-refresh", "--diff", PATH]);
    assert!(patches.stdout.contains("--- /dev/null\n+++ b/src/a.rs\n@@ -0,0 +1,3 @@\n"), "{}", patches.stdout);
    let folder = env.path().join("applied");
    std::fs::create_dir_all(&folder).expect("made");
    // `git apply` takes several changes of one file in one input only as several runs.
    for (number, patch) in patches.stdout.split("# ").filter(|patch| patch.contains("diff --git")).enumerate() {
        let file = folder.join(format!("{number}.patch"));
        std::fs::write(&file, patch.split_once('\n').expect("a heading").1).expect("written");
        let mut git = std::process::Command::new("git");
        let ran = git.args(["apply", "--whitespace=nowarn"]).arg(&file).current_dir(&folder).output().expect("started");
        assert!(ran.status.success(), "{} {patch}", String::from_utf8_lossy(&ran.stderr));
    }
    let applied = std::fs::read_to_string(folder.join("src/a.rs")).expect("applied");
    assert_eq!(applied, "fn a() {\n\tone();\n\ttwo();\n}");
    let lines = env.run(&["file", "--no-refresh", "--json", "--diff", PATH]).stdout;
    let newest: Value = serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON");
    assert_eq!((&newest["patch_exact"], newest["patch"].as_array().map(Vec::len)), (&json!(true), Some(1)), "{lines}");
}

#[test]
fn why_shows_the_hunk_of_a_created_file() {
    let env = Env::new();
    let path = env.path().join("new.rs").to_string_lossy().into_owned();
    let (mut clock, mut transcript) = (Clock::default(), Session { number: 1, ..Session::default() });
    transcript.prompt(&mut clock, "make it");
    transcript.call(&mut clock, "Write", json!({"file_path": path, "content": "one\ntwo\n"}), ok("File created"));
    let part = json!({"type": "text", "file": {"filePath": path, "content": "two", "numLines": 1, "startLine": 2, "totalLines": 3}});
    for _ in 0..2 {
        let read = json!({"file_path": path, "offset": 2, "limit": 1});
        transcript.call(&mut clock, "Read", read, Answer { record: Some(part.clone()), ..ok("     2→two") });
    }
    env.write(transcript.file(), transcript.text());
    env.index();
    std::fs::write(&path, "one\ntwo\n").expect("written");
    let ran = env.run(&["why", "--no-refresh", &format!("{path}:2")]);
    assert!(ran.stdout.contains("@@ -0,0 +1,2 @@\n+one\n+two\n"), "{}", ran.stdout);
    let versions = env.run(&["recover", "--no-refresh", "--list", "--json", &path]).stdout;
    assert_eq!(versions.lines().count(), 1, "{versions}");
}

#[test]
fn a_wrong_pattern_is_a_usage_error() {
    let env = created_then(&[]);
    for command in [&["file"][..], &["recover"], &["sessions", "--file"], &["search", "x", "--file"]] {
        let ran = env.run(&[command, &["[z-a].tsx", "--no-refresh"]].concat());
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("[z-a].tsx\n") && ran.stderr.contains("^^^"), "{}", ran.stderr);
        let ran = env.run(&[command, &["b*.tsx", "--no-refresh"]].concat());
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains("treated as a glob"), "{}", ran.stderr);
    }
    for name in ["a<b.ts", "a(b.ts", "a{b.ts", "a+b.ts", "a^b.ts", "a]b.ts", "a[b.ts"] {
        for args in
            [&["file", name][..], &["recover", name], &["sessions", "--file", name], &["search", "x", "--file", name]]
        {
            assert_eq!(env.run(&[args, &["--no-refresh"]].concat()).code, 1, "{args:?}");
        }
    }
}
