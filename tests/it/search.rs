//! `search`: the query language, filters, context, paging and output, for people and for programs. Also F28 of the
//! fault catalogue.

use serde_json::{Value, json};

use crate::support::env::{Env, Ran};

const A: &str = "aaaa0000-0000-4000-8000-000000000001";
const B: &str = "bbbb0000-0000-4000-8000-000000000002";
const AGENT: &str = "a1b2c3d";

/// A line of a conversation.
struct Line<'a> {
    session: &'a str,
    number: u32,
    parent: u32,
    at: &'a str,
    cwd: &'a str,
    branch: &'a str,
    agent: Option<&'a str>,
    message: Value,
}

impl Line<'_> {
    fn line(&self) -> String {
        let kind = if self.message["role"] == "assistant" { "assistant" } else { "user" };
        let parent = (self.parent > 0).then(|| uuid(self.session, self.parent));
        let mut line = json!({
            "type": kind, "uuid": uuid(self.session, self.number), "parentUuid": parent, "sessionId": self.session,
            "timestamp": self.at, "cwd": self.cwd, "gitBranch": self.branch, "version": "2.1.0",
            "isSidechain": self.agent.is_some(), "userType": "external", "message": self.message,
        });
        if let Some(agent) = self.agent {
            line["agentId"] = json!(agent);
        }
        format!("{line}\n")
    }
}

fn uuid(session: &str, number: u32) -> String {
    format!("{}-{number:04x}-4000-8000-000000000000", &session[..8])
}

fn person(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn claude(model: &str, text: &str) -> Value {
    json!({"role": "assistant", "model": model, "id": format!("msg_{text}"), "content": [{"type": "text", "text": text}]})
}

#[expect(clippy::needless_pass_by_value, reason = "made where it is given")]
fn call(tool: &str, id: &str, input: Value) -> Value {
    json!({"role": "assistant", "model": "claude-opus-4", "content": [{"type": "tool_use", "id": id, "name": tool, "input": input}]})
}

fn result(id: &str, text: &str, is_error: bool) -> Value {
    json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error}]})
}

/// Two sessions in two projects, one with a subagent and an abandoned branch.
fn world() -> Env {
    let env = Env::new();
    let a = |number, parent, at, message| {
        Line { session: A, number, parent, at, cwd: "/home/u/payments-api", branch: "main", agent: None, message }
            .line()
    };
    let text = [
        a(1, 0, "2026-10-01T10:00:00.000Z", person("the kestrel retry loop never backs off")),
        a(2, 1, "2026-10-01T10:00:10.000Z", claude("claude-opus-4", "I will look at the kestrel backoff")),
        a(
            3,
            2,
            "2026-10-01T10:00:20.000Z",
            call("Bash", "t1", json!({"command": "rm -rf build && cargo test kestrel"})),
        ),
        a(4, 3, "2026-10-01T10:00:30.000Z", result("t1", "error[E0603]: function `kestrel` is private", true)),
        a(5, 4, "2026-10-01T10:00:40.000Z", claude("claude-opus-4", "abandoned branch about kestrel wings")),
        // The user rewound and asked again.
        a(6, 4, "2026-10-01T10:01:00.000Z", claude("claude-opus-4", "made the kestrel function public")),
        a(
            7,
            6,
            "2026-10-01T10:01:10.000Z",
            call(
                "Edit",
                "t2",
                json!({"file_path": "/home/u/payments-api/src/auth/token.rs", "old_string": "fn kestrel", "new_string": "pub fn kestrel"}),
            ),
        ),
        a(8, 7, "2026-10-01T10:01:20.000Z", result("t2", "The file has been updated", false)),
        a(9, 8, "2026-10-01T10:01:30.000Z", claude("claude-opus-4", "done, the tests pass now")),
    ];
    env.write(format!("-home-u-payments-api/{A}.jsonl"), text.concat());
    let agent = Line {
        session: A,
        number: 20,
        parent: 0,
        at: "2026-10-01T10:00:15.000Z",
        cwd: "/home/u/payments-api",
        branch: "main",
        agent: Some(AGENT),
        message: claude("claude-haiku-4", "the agent saw a kestrel nest"),
    };
    env.write(format!("-home-u-payments-api/{A}/subagents/agent-{AGENT}.jsonl"), agent.line());
    let b = |number, parent, at, message| {
        Line {
            session: B,
            number,
            parent,
            at,
            cwd: "/home/u/MapMaker/core",
            branch: "feature/tiles",
            agent: None,
            message,
        }
        .line()
    };
    let text = [
        b(1, 0, "2026-11-15T09:00:00.000Z", person("draw the kestrel on the map, 検索エンジン")),
        b(2, 1, "2026-11-15T09:00:10.000Z", claude("claude-sonnet-4", "parseRetryAfter draws the kestrel tile")),
    ];
    env.write(format!("-home-u-MapMaker-core/{B}.jsonl"), text.concat());
    env.index();
    env
}

fn json_of(ran: &Ran) -> Vec<Value> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The numbers of the lines that are found, with the letter of their session, in order.
fn found(env: &Env, args: &[&str]) -> String {
    let ran = env.run(&[&["search", "--no-refresh", "--json", "--messages", "-n", "100"], args].concat());
    assert!(matches!(ran.code, 0 | 1), "{args:?}: {} {}", ran.code, ran.stderr);
    let name = |hit: &Value| {
        let id = hit["uuid"].as_str().unwrap_or("-").to_string();
        let number = id.get(9..13).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0);
        format!("{}{number}", &id[..1])
    };
    let mut found: Vec<String> = json_of(&ran).iter().filter(|line| line["type"] == "hit").map(name).collect();
    found.sort_by_key(|name| (name.chars().next(), name[1..].parse::<u32>().unwrap_or(0)));
    found.join(" ")
}

/// Skills and reminders are in every session: they are found only if no message contains the words.
#[test]
fn text_inserted_by_claude_code_is_found_if_nothing_else_matches() {
    let env = Env::new();
    let line_of = |number, text: &str| {
        let (at, cwd, branch) = ("2026-10-01T10:00:00.000Z", "/home/u/x", "main");
        Line { session: A, number, parent: 0, at, cwd, branch, agent: None, message: person(text) }
    };
    let put_in = |number, text: &str| {
        let mut line: Value = serde_json::from_str(&line_of(number, text).line()).expect("JSON");
        line["isMeta"] = json!(true);
        format!("{line}\n")
    };
    let lines = [
        line_of(1, "handle the heron first, errors later").line(),
        line_of(2, "wade slowly").line(),
        put_in(3, "Vague instructions: handle errors properly, wade slowly, mind the bittern"),
    ];
    env.write(format!("-home-u-x/{A}.jsonl"), lines.concat());
    env.index();
    for (query, expected) in [
        ("handle errors properly", "a1 a3"),
        ("wade slowly", "a2"),
        ("handle", "a1"),
        ("bittern", "a3"),
        ("heron bittern", "a1"),
    ] {
        assert_eq!(found(&env, &[query]), expected, "{query}");
    }
    assert_eq!(found(&env, &["--meta", "wade slowly"]), "a2 a3");
    assert_eq!(found(&env, &["--sort", "newest", "handle errors properly"]), "a1");
}

/// Sorted by time, the parts of an identifier are not hits.
#[test]
fn sorted_by_time_an_identifier_must_match_as_a_whole() {
    let env = world();
    assert_eq!(found(&env, &["--sort", "newest", "parseRetryAfter"]), found(&env, &["-F", "parseRetryAfter"]));
}

/// `etry` and `afte` do not occur as words, but must not be corrected to `entry`.
#[test]
fn an_exact_search_is_not_corrected() {
    let env = world();
    let ran = env.run(&["search", "--no-refresh", "-F", "etryAfte"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
}

#[test]
fn a_query_that_begins_with_a_dash_is_text() {
    let env = world();
    assert_eq!(found(&env, &["- kestrel tile"]), found(&env, &["kestrel tile"]));
}

/// `--help` shows `-not` and `-tool:Bash`. Typed in a shell, they are separate arguments, but not options.
#[test]
fn words_with_a_dash_need_no_quotes() {
    let env = world();
    for (args, quoted) in [
        (&["kestrel", "-wings", "-role:human"][..], "kestrel -wings -role:human"),
        (&["kestrel", "-is:agent"], "kestrel -is:agent"),
        (&["-wings", "kestrel"], "-wings kestrel"),
        (&["rm", "-rf", "build"], "rm -rf build"),
        (&["kestrel", "--force"], "kestrel --force"),
    ] {
        assert_eq!(found(&env, args), found(&env, &[quoted]), "{args:?}");
    }
    assert_eq!(found(&env, &["rm", "-rf", "build"]), "a3");
    // After -- everything is text.
    assert_eq!(found(&env, &["--", "-rf"]), "a3");
    assert_eq!(found(&env, &["--", "-F", "-wings"]), "a5");
    assert_eq!(found(&env, &["kestrel", "-role:human", "-role:assistant", "--", "-rf"]), "a3 a4 a7 a20");
    assert_eq!(found(&env, &["-F", "-rf", "--", "build"]), "a3");
    assert_eq!(found(&env, &["-F", "-rf build"]), "a3");
    for (args, hint) in [
        (&["file", "not", "found"][..], "unspool search file not found"),
        (&["index", "out", "of", "bounds"], "unspool search index out of bounds"),
        (&["show", "me", "the", "retry"], "unspool search show me the retry"),
        (&["config", "it's", "broken"], "unspool search config 'it'\\''s' broken"),
    ] {
        let ran = env.run(args);
        let last = format!("unspool: hint: to search for these words: {hint}\n");
        assert!(ran.code == 2 && ran.stderr.ends_with(&last), "{args:?}: {}", ran.stderr);
    }
    let ran = env.run(&["search", "kestrel", "--jsn"]);
    assert!(ran.code == 2 && ran.stderr.contains("'--json'"), "{}", ran.stderr);
}

#[test]
fn filters_select_exactly() {
    let env = world();
    for (args, expected) in [
        (&["kestrel"][..], "a1 a2 a3 a4 a5 a6 a7 a20 b1 b2"),
        (&["kestrel", "--role", "human"], "a1 b1"),
        (&["kestrel", "--role", "human", "--role", "assistant"], "a1 a2 a5 a6 b1 b2"),
        (&["kestrel", "--kind", "tool_use"], "a3 a7"),
        (&["kestrel", "--tool", "bash"], "a3 a4"),
        (&["kestrel", "--tool", "Bash", "--errors"], "a4"),
        (&["kestrel", "--file", "token.rs"], "a7"),
        (&["kestrel", "--file", "src/auth/"], "a7"),
        (&["kestrel", "--file", "*.rs"], "a7"),
        (&["kestrel", "--file", "src/**/*.rs"], "a7"),
        (&["kestrel", "--file", "other.rs"], ""),
        (&["kestrel", "--project", "payments"], "a1 a2 a3 a4 a5 a6 a7 a20"),
        (&["kestrel", "-p", "core"], "b1 b2"),
        (&["kestrel", "--cwd", "/home/u/MapMaker"], "b1 b2"),
        (&["kestrel", "--cwd", "mapmaker"], "b1 b2"),
        (&["kestrel", "--cwd", "MapMaker/core/"], "b1 b2"),
        (&["kestrel cwd:core"], "b1 b2"),
        (&["kestrel", "--cwd", "Maker"], ""),
        (&["kestrel", "--cwd", "home/u/MapMaker/core/more"], ""),
        (&["kestrel", "--session", "bbbb"], "b1 b2"),
        (&["kestrel", "--branch", "tiles"], "b1 b2"),
        (&["kestrel", "--model", "haiku"], "a20"),
        (&["kestrel", "--agents"], "a20"),
        (&["kestrel", "--no-agents", "--role", "subagent"], ""),
        (&["kestrel", "--since", "2d"], "b1 b2"),
        (&["kestrel", "--until", "2026-10"], "a1 a2 a3 a4 a5 a6 a7 a20"),
        (&["kestrel", "--since", "2026-10-01T10:00:20Z", "--until", "2026-10-01T10:00:40Z"], "a3 a4 a5"),
        (&["kestrel", "--since", "2026-10", "--until", "2026-10", "--role", "tool", "--errors"], "a4"),
        (&["kestrel role:human"], "a1 b1"),
        (&["kestrel -role:human -tool:Bash"], "a2 a5 a6 a7 a20 b2"),
        (&["kestrel since:2026-11 until:yesterday"], "b1 b2"),
        (&["kestrel is:error"], "a4"),
        (&["kestrel", "since:2d", "--role", "human"], "b1"),
        (&["tool:Edit"], "a7 a8"),
        // A filter without words is a query too.
        (&["--tool", "Edit"], "a7 a8"),
        (&["--errors", "--until", "2026-10"], "a4"),
        (&["(tool:Edit OR tool:Bash) kestrel"], "a3 a4 a7"),
    ] {
        assert_eq!(found(&env, args), expected, "{args:?}");
    }
}

#[test]
fn the_query_language() {
    let env = world();
    for (query, expected) in [
        ("\"kestrel function\"", "a6"),
        ("kestrel -wings", "a1 a2 a3 a4 a6 a7 a20 b1 b2"),
        ("kestrel AND tile", "b2"),
        ("nest OR wings", "a5 a20"),
        ("(nest OR wings) AND agent", "a20"),
        ("aband*", "a5"),
        ("/E0[0-9]+/", "a4"),
        ("/kestrel (loop|retry)/", "a1"),
        ("検索", "b1"),
        ("索エ", "b1"),
        ("retry_after", "a1 b2"),
        // A command with a flag is text, if it occurs as typed.
        ("rm -rf build", "a3"),
        // A typo.
        ("kestrle wings -loop", "a2 a3 a4 a5 a6 a7 a20 b1 b2"),
    ] {
        assert_eq!(found(&env, &[query]), expected, "{query}");
    }
    assert_eq!(found(&env, &["-F", "--", "E0603]: fun"]), "a4");
    assert_eq!(found(&env, &["-F", "--", "estre"]), "a1 a2 a3 a4 a5 a6 a7 a20 b1 b2", "inside a word");
    assert_eq!(found(&env, &["-F", "--", "Kestrel"]), "", "with exact case");
    assert_eq!(found(&env, &["-F", "-i", "--", "KESTREL WINGS"]), "a5");
}

#[test]
fn an_invalid_query_is_reported_with_its_position() {
    let env = world();
    let ran = env.run(&["search", "kestrel since:soon"]);
    assert_eq!(ran.code, 2);
    let start = "unspool: error: cannot read \"soon\" as a date\n  kestrel since:soon\n          ^^^^^^^^^^\nunspool: hint: use one of";
    assert!(ran.stderr.starts_with(start), "{}", ran.stderr);
    let ran = env.run(&["search", "a \u{1b}[31m role:x"]);
    assert!(ran.code == 2 && !ran.stderr.contains('\u{1b}'), "{:?}", ran.stderr);
    for query in ["x /(/", "x role:robot", "-x", "/.*/", &"(a OR ".repeat(30), &"\"".repeat(5000)] {
        let ran = env.run(&["search", query]);
        assert_eq!(ran.code, 2, "{query}: {}", ran.stderr);
    }
}

#[test]
fn without_hits_changes_that_give_hits_are_suggested() {
    let env = world();
    for (args, hint) in [
        (
            &["search", "kestrel nest", "--role", "human", "--session", "bbbb", "--tool", "Bash"][..],
            "hint: try without any filter",
        ),
        (&["search", "tile", "--until", "2026-10"], "hint: try without until (1 hit)"),
        (&["search", "\"tile kestrel\""], "hint: try as plain words: tile kestrel (10 hits)"),
        (
            &["search", "kestrel", "--project", "paymints", "--branch", "nowhere"],
            "no branch matches \"nowhere\"; similar: main",
        ),
    ] {
        let ran = env.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{args:?}");
        assert!(ran.stderr.contains(hint), "{args:?}: {}", ran.stderr);
    }
}

/// The numbers of the lines before and after the best hit.
fn context_of(env: &Env, args: &[&str]) -> (Vec<u64>, Vec<u64>) {
    let ran = env.run(&[&["search", "--no-refresh", "--json"], args].concat());
    let hit = json_of(&ran).into_iter().next().expect("a hit");
    let ids = |side: &str| -> Vec<u64> {
        let near = hit[side].as_array().into_iter().flatten();
        near.map(|message| u64::from_str_radix(&message["uuid"].as_str().expect("an id")[9..13], 16).expect("a number"))
            .collect()
    };
    (ids("before"), ids("after"))
}

#[test]
fn context_follows_the_conversation() {
    let env = world();
    // The abandoned branch (5) is not part of it. A result comes with its call, both as one message.
    for (query, count, expected) in [
        ("\"function public\"", "1", (vec![3], vec![7])),
        ("\"function public\"", "2", (vec![2, 3], vec![7, 9])),
        ("\"function public\"", "9", (vec![1, 2, 3], vec![7, 9])),
        ("\"tests pass now\"", "2", (vec![6, 7], vec![])),
        ("\"never backs off\"", "3", (vec![], vec![2, 3, 6])),
        // A call and a result that are hits themselves.
        ("\"cargo test kestrel\"", "1", (vec![2], vec![4])),
        ("\"file has been updated\"", "1", (vec![7], vec![9])),
    ] {
        assert_eq!(context_of(&env, &["-C", count, query]), expected, "-C {count} {query}");
    }
    let ran = env.run(&["search", "--no-refresh", "--json", "-C", "2", "\"function public\""]);
    let hit = &json_of(&ran)[0];
    assert_eq!(hit["before"][1]["result"], "error[E0603]: function `kestrel` is private");
    assert_eq!(hit["after"][0]["result"], "The file has been updated");
    let ran = env.run(&["search", "--no-refresh", "-B", "1", "tests pass now"]);
    assert!(ran.stdout.contains("The file has been updated"), "{}", ran.stdout);
}

/// Patterns and paths that are too large for the automata of the engine find files nevertheless.
#[test]
fn a_pattern_may_have_many_parts() {
    let env = Env::new();
    let path = format!("/home/u/x/{}/heron-0123456789abcdefgh", "deep/".repeat(250));
    let (at, cwd, branch) = ("2026-10-01T10:00:00.000Z", "/home/u/x", "main");
    let message = call("Read", "t1", json!({ "file_path": path }));
    let prompt = Line { session: A, number: 1, parent: 0, at, cwd, branch, agent: None, message };
    env.write(format!("-p/{A}.jsonl"), prompt.line());
    env.index();
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    for (pattern, code) in
        [(&*format!("*n{}", "?".repeat(19)), 0), (&*format!("*m{}", "?".repeat(19)), 1), (folder, 0), ("[z-a]{", 2)]
    {
        let ran = env.run(&["search", "--no-refresh", "--file", pattern]);
        assert_eq!(ran.code, code, "{pattern}: {}", ran.stderr);
    }
}

/// A session with two parallel calls. Each result is given as the number of the message it follows, its call and its
/// text.
fn two_calls(results: [(u32, &str, &str); 2]) -> Env {
    let env = Env::new();
    let line_of = |number, parent, message| {
        let (at, cwd, branch) = ("2026-10-01T10:00:00.000Z", "/home/u/x", "main");
        Line { session: A, number, parent, at, cwd, branch, agent: None, message }.line()
    };
    let [first, second] = results.map(|(parent, call, text)| (parent, result(call, text, false)));
    let lines = [
        line_of(1, 0, person("count the herons")),
        line_of(2, 1, call("Bash", "t1", json!({"command": "count first"}))),
        line_of(3, 2, call("Bash", "t2", json!({"command": "count second"}))),
        line_of(4, first.0, first.1),
        line_of(5, second.0, second.1),
        line_of(6, 5, claude("claude-opus-4", "altogether a flock")),
    ];
    env.write(format!("-p/{A}.jsonl"), lines.concat());
    env.index();
    env
}

/// Parallel calls: each is followed by the next one and by its own result, where the conversation ends.
#[test]
fn context_continues_after_parallel_calls() {
    let env = two_calls([(2, "t1", "seventeen"), (3, "t2", "twenty")]);
    for (query, expected) in [
        ("herons", (vec![], vec![2, 3, 6])),
        ("flock", (vec![1, 2, 3], vec![])),
        ("\"seventeen\"", (vec![1, 2], vec![3, 6])),
    ] {
        assert_eq!(context_of(&env, &["-C", "3", query]), expected, "{query}");
    }
}

/// The same, with results that follow one another in the order of their arrival.
#[test]
fn context_shows_a_call_once_wherever_its_result_is() {
    let env = two_calls([(3, "t2", "twenty"), (4, "t1", "seventeen")]);
    for (query, expected) in [
        ("\"count second\"", (vec![1, 2], vec![4, 6])),
        ("\"count first\"", (vec![1], vec![3, 5, 6])),
        ("flock", (vec![1, 3, 2], vec![])),
    ] {
        assert_eq!(context_of(&env, &["-C", "3", query]), expected, "{query}");
    }
    let ran = env.run(&["search", "--no-refresh", "--json", "-C", "3", "\"count second\""]);
    assert_eq!(json_of(&ran)[0]["before"][1]["result"], "seventeen");
}

/// Reminders and the output of hooks do not count as context, unless they are the hit.
#[test]
fn context_consists_of_messages() {
    let env = Env::new();
    let line_of = |number, parent, message, is_meta: bool| {
        let (at, cwd, branch) = ("2026-10-01T10:00:00.000Z", "/home/u/x", "main");
        let line = Line { session: A, number, parent, at, cwd, branch, agent: None, message }.line();
        let mut line: Value = serde_json::from_str(&line).expect("a line");
        line["isMeta"] = json!(is_meta);
        format!("{line}\n")
    };
    let lines = [
        line_of(1, 0, person("a heron"), false),
        line_of(2, 1, person("mind the reeds"), true),
        line_of(3, 2, claude("claude-opus-4", "a bittern"), false),
    ];
    env.write(format!("-p/{A}.jsonl"), lines.concat());
    env.index();
    assert_eq!(context_of(&env, &["-C", "1", "bittern"]), (vec![1], vec![]));
    assert_eq!(context_of(&env, &["-C", "1", "heron"]), (vec![], vec![3]));
    assert_eq!(context_of(&env, &["-C", "1", "--role", "meta", "reeds"]), (vec![1], vec![3]));
}

/// Messages of subagents in the file of their session have no parent uuid, and are often mixed with those of others.
#[test]
fn context_of_a_subagent_in_the_file_of_its_session() {
    let env = Env::new();
    let line_of = |number: u32, agent: &str, message: Value| {
        let kind = if message["role"] == "assistant" { "assistant" } else { "user" };
        let inner =
            json!({"type": kind, "uuid": uuid(A, number), "timestamp": "2026-10-01T10:00:00.000Z", "message": message});
        let line = json!({
            "type": "progress", "uuid": uuid(A, number + 100), "parentUuid": uuid(A, number + 99), "sessionId": A,
            "timestamp": "2026-10-01T10:00:00.000Z", "cwd": "/home/u/x",
            "data": {"type": "agent_progress", "agentId": agent, "message": inner},
        });
        format!("{line}\n")
    };
    let lines = [
        line_of(1, "a1", claude("claude-haiku-4", "look for the heron")),
        line_of(2, "a1", call("Bash", "t1", json!({"command": "grep reeds"}))),
        line_of(3, "a2", claude("claude-haiku-4", "another agent altogether")),
        line_of(4, "a1", result("t1", "standing in the reeds", false)),
        line_of(5, "a1", claude("claude-haiku-4", "found the bittern")),
        line_of(6, "a2", claude("claude-haiku-4", "and on with it")),
        line_of(7, "a1", claude("claude-haiku-4", "that is all")),
    ];
    env.write(format!("-p/{A}.jsonl"), lines.concat());
    env.index();
    assert_eq!(context_of(&env, &["-C", "1", "bittern"]), (vec![2], vec![7]));
    assert_eq!(context_of(&env, &["-C", "5", "bittern"]), (vec![1, 2], vec![7]));
}

/// Two lines that name each other as their parent.
#[test]
fn a_circle_of_parents_shows_nothing_twice() {
    let env = Env::new();
    let line_of = |number, parent, text| {
        let (at, cwd, branch) = ("2026-10-01T10:00:00.000Z", "/home/u/x", "main");
        Line { session: A, number, parent, at, cwd, branch, agent: None, message: person(text) }.line()
    };
    env.write(format!("-p/{A}.jsonl"), line_of(1, 2, "the heron") + &line_of(2, 1, "the bittern"));
    env.index();
    assert_eq!(context_of(&env, &["-C", "4", "bittern"]), (vec![1], vec![]));
    assert_eq!(context_of(&env, &["-C", "4", "heron"]), (vec![2], vec![]));
}

#[test]
fn pages_have_no_gaps_and_no_repeats() {
    let env = Env::new();
    for number in 0..23 {
        let id = format!("cccc0000-0000-4000-8000-{number:012}");
        let line = json!({"type": "user", "uuid": format!("dddd0000-0000-4000-8000-{number:012}"), "sessionId": id, "timestamp": "2026-10-01T10:00:00.000Z", "message": person("wagtail")});
        env.write(format!("-p/{id}.jsonl"), format!("{line}\n"));
    }
    env.index();
    for flat in [&[][..], &["--messages"]] {
        let whole = json_of(&env.run(&[&["search", "--no-refresh", "--json", "-n", "100", "wagtail"], flat].concat()));
        let ids = |lines: &[Value]| -> Vec<String> {
            lines.iter().filter(|line| line["type"] == "hit").map(|line| line["uuid"].to_string()).collect()
        };
        let mut paged = Vec::new();
        let mut cursor = String::new();
        loop {
            let mut args = [&["search", "--no-refresh", "--json", "-n", "5", "wagtail"], flat].concat();
            if !cursor.is_empty() {
                args.extend(["--cursor", &cursor]);
            }
            let lines = json_of(&env.run(&args));
            paged.extend(ids(&lines));
            match lines.last().and_then(|summary| summary["next_cursor"].as_str()) {
                Some(next) => cursor = next.to_string(),
                None => break,
            }
        }
        assert_eq!(paged, ids(&whole));
        assert_eq!(paged.len(), 23);
    }
    let page = |args: &[&str]| env.run(&[&["search", "--no-refresh", "--json", "-n", "5"], args].concat());
    let first = json_of(&page(&["wagtail", "--since", "90d"]));
    let cursor = first.last().and_then(|summary| summary["next_cursor"].as_str()).expect("a cursor").to_string();
    // The number of hits per session makes no difference; the next page continues where the first ended.
    let second = json_of(&page(&["wagtail", "--since", "90d", "-m", "1", "--cursor", &cursor]));
    assert_eq!(second.len(), 6);
    assert!(second.iter().all(|hit| hit["type"] != "hit" || !first.contains(hit)));
    for other in [
        &["wagtail"][..],
        &["wagtails", "--since", "90d"],
        &["wagtail", "--since", "91d"],
        &["wagtail", "--since", "90d", "--role", "human"],
        &["wagtail", "--since", "90d", "--sort", "oldest"],
        &["wagtail", "--since", "90d", "--messages"],
        &["wagtail", "--since", "90d", "--meta"],
        &["wagtail", "--since", "90d", "-F"],
    ] {
        let ran = page(&[other, &["--cursor", &cursor]].concat());
        let is_refused = ran.code == 2 && ran.stderr.contains("belongs to another search");
        assert!(is_refused, "{other:?}: {} {}", ran.code, ran.stderr);
    }
    for forged in ["x", "a-ffffffffffffffff", ""] {
        assert_eq!(page(&["wagtail", "--cursor", forged]).code, 2, "{forged}");
    }
}

#[test]
fn lists_for_other_programs() {
    let env = world();
    let lines = |args: &[&str]| -> Vec<String> {
        let ran = env.run(&[&["search", "--no-refresh", "kestrel"], args].concat());
        let mut lines: Vec<String> = ran.stdout.split_terminator(['\n', '\0']).map(String::from).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&["-l"]), [A, B]);
    assert_eq!(lines(&["-l", "-0"]), [A, B]);
    assert_eq!(lines(&["-c"]), [format!("{A}\t8"), format!("{B}\t2")]);
    let paths = lines(&["--paths", "--role", "human"]);
    assert!(paths.len() == 2 && paths.iter().all(|path| std::path::Path::new(path).is_file()), "{paths:?}");
    assert_eq!(lines(&["-q"]), [""; 0]);
    assert_eq!(env.run(&["search", "-q", "kestrel"]).code, 0);
    assert_eq!(env.run(&["search", "-q", "\"zebra\""]).code, 1);
    let ran = env.run(&["search", "--no-refresh", "-m", "1", "kestrel"]);
    assert_eq!(ran.stdout.lines().count(), 2, "one hit per session");
}

/// A list that is cut silently is wrong: people see how many more there are, programs do not.
#[test]
fn lists_for_other_programs_are_complete() {
    let env = Env::new();
    for number in 0..23 {
        let id = format!("cccc0000-0000-4000-8000-{number:012}");
        let line = |part: u32, agent: bool| {
            let uuid = format!("dddd{part:04}-0000-4000-8000-{number:012}");
            let message = person(if agent { "a wagtail as the agent saw it" } else { "wagtail" });
            let mut line = json!({"type": "user", "uuid": uuid, "sessionId": id, "message": message});
            if agent {
                line["agentId"] = json!(format!("a{part}"));
                line["isSidechain"] = json!(true);
            }
            format!("{line}\n")
        };
        env.write(format!("-p/{id}.jsonl"), (0..4).map(|part| line(part, false)).collect::<String>());
        env.write(format!("-p/{id}/subagents/agent-a9.jsonl"), line(9, true));
    }
    env.index();
    let lines = |args: &[&str]| {
        let ran = env.run(&[&["search", "--no-refresh", "wagtail"], args].concat());
        ran.stdout.lines().count()
    };
    for (args, expected) in [
        (&["-l"][..], 23),
        (&["-c"], 23),
        (&["--paths"], 46),
        (&["-l", "--messages"], 23),
        (&["-l", "-n", "7"], 7),
        (&["-c", "-n", "7"], 7),
        (&["--paths", "-n", "7"], 14),
    ] {
        assert_eq!(lines(args), expected, "{args:?}");
    }
}

/// A folder name may contain escape sequences: a terminal must not get them, but a program must be able to open the
/// path.
#[test]
fn paths_are_exact_for_programs_and_harmless_on_a_terminal() {
    let env = Env::new();
    let line = json!({"type": "user", "uuid": uuid(A, 1), "sessionId": A, "message": person("wagtail")});
    let path = env.write(format!("-p\u{1b}[31m/{A}.jsonl"), format!("{line}\n"));
    let path = path.to_str().expect("UTF-8");
    env.index();
    assert_eq!(env.run(&["search", "--paths", "wagtail"]).stdout, format!("{path}\n"));
    let Some(shown) = env.on_terminal(&["search", "--paths", "wagtail"]) else { return };
    assert!(shown.contains(A) && !shown.contains('\u{1b}'), "{shown:?}");
    assert_eq!(env.on_terminal(&["search", "--paths", "-0", "wagtail"]), Some(format!("{path}\0")));
}

/// A transcript of a subagent without that of its session: nothing was deleted, and nothing can be resumed.
#[test]
fn a_session_with_only_subagents_is_marked() {
    let env = Env::new();
    let (at, cwd, branch) = ("2026-10-01T10:00:00.000Z", "/home/u/x", "main");
    let message = claude("claude-haiku-4", "a wagtail");
    let prompt = Line { session: A, number: 1, parent: 0, at, cwd, branch, agent: Some(AGENT), message };
    let path = env.write(format!("-home-u-x/{A}/subagents/agent-{AGENT}.jsonl"), prompt.line());
    env.index();
    let shown = || env.run(&["search", "-C", "1", "wagtail"]).stdout + &env.run(&["sessions", "--tree"]).stdout;
    let hit = env.hits("wagtail").pop().expect("a hit");
    assert_eq!((&hit["source_missing"], &hit["resume"]), (&json!(false), &Value::Null));
    assert!(!shown().contains("deleted") && shown().matches("subagents only").count() == 2, "{}", shown());
    let ran = env.run(&["resume", A]);
    assert!(ran.code == 1 && ran.stderr.contains("only its subagents are known"), "{}", ran.stderr);
    for number in 1..4 {
        write_session(&env, number, "something else stays");
    }
    env.index();
    std::fs::remove_file(path).expect("removed");
    env.index();
    assert_eq!(env.hits("wagtail").pop().expect("a hit")["source_missing"], true);
    assert!(shown().contains("transcript deleted"), "{}", shown());
}

/// A session with one message, in a file of its own.
fn write_session(env: &Env, number: u32, text: &str) {
    let id = format!("cccc0000-0000-4000-8000-{number:012}");
    let line = json!({"type": "user", "uuid": uuid(B, number), "sessionId": id, "message": person(text)});
    env.write(format!("-home-u-x/{id}.jsonl"), format!("{line}\n"));
}

/// Programs get the complete title; people see where it was cut.
#[test]
fn titles_are_complete_for_programs() {
    let env = Env::new();
    let title = format!("a wagtail {}at the end", "and another one ".repeat(20));
    let line = json!({"type": "custom-title", "customTitle": title, "sessionId": A});
    let prompt = json!({"type": "user", "uuid": uuid(A, 1), "sessionId": A, "message": person("what is it")});
    env.write(format!("-home-u-x/{A}.jsonl"), format!("{prompt}\n{line}\n"));
    env.index();
    assert_eq!(env.hits("what is it")[0]["title"], title);
    let listed: Value = serde_json::from_str(&env.run(&["sessions", "--json"]).stdout).expect("JSON");
    assert_eq!(listed["title"], title);
    let shown = env.run(&["search", "-C", "1", "wagtail"]).stdout;
    let head = shown.lines().next().expect("a head");
    assert!(head.contains('…') && head.chars().count() <= 120, "{shown}");
}

#[test]
fn nothing_is_wider_than_the_screen() {
    let env = Env::with_fixtures("home");
    env.index();
    std::fs::remove_dir_all(env.claude().join("projects/-home-dana-code-paperplane")).expect("removed");
    env.index();
    for columns in ["40", "50", "60", "80", "120"] {
        for query in ["retry", "race condition", "error", "agent"] {
            let mut command = env.command();
            command.args(["search", "--no-refresh", "-C", "1", query]).env("COLUMNS", columns);
            let output = command.output().expect("ran");
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let width = |line: &&str| unicode_width::UnicodeWidthStr::width(*line);
            let widest = text.lines().max_by_key(width).expect("lines");
            assert!(width(&widest) <= columns.parse().expect("a number"), "{columns} columns: {widest}");
        }
    }
}

#[test]
fn the_running_session_is_found_when_it_is_named() {
    let env = world();
    for (args, expected) in [
        (&["kestrel"][..], 8),
        (&["kestrel", "--include-current"], 10),
        (&["kestrel", "--session", B], 2),
        (&["kestrel", "--session", "BBBB"], 2),
        (&["kestrel session:bbbb"], 2),
        (&["kestrel", "--session", "aaaa"], 8),
        (&["kestrel -session:bbbb"], 8),
    ] {
        let mut command = env.command();
        command.args(["search", "--no-refresh", "--messages", "-n", "100"]).args(args);
        let ran = Ran::from(command.env("CLAUDE_CODE_SESSION_ID", B).output().expect("ran"));
        assert_eq!(ran.stdout.lines().count(), expected, "{args:?}");
    }
}

/// A relative path names the folder that exists here, even if other projects have the same name.
#[test]
fn a_relative_folder_is_the_existing_one() {
    let env = Env::new();
    let here = env.path().canonicalize().expect("a folder");
    std::fs::create_dir(here.join("repo")).expect("made");
    let line_of = |session: &str, cwd: &str| {
        let (at, branch, message) = ("2026-10-01T10:00:00.000Z", "main", person("wagtail"));
        Line { session, number: 1, parent: 0, at, cwd, branch, agent: None, message }.line()
    };
    env.write(format!("-p/{A}.jsonl"), line_of(A, here.join("repo").to_str().expect("UTF-8")));
    env.write(format!("-p/{B}.jsonl"), line_of(B, "/elsewhere/repo/src"));
    env.index();
    let found_in = |folder: &str| found(&env, &["wagtail", "--cwd", folder]);
    assert_eq!((found_in("repo").as_str(), found_in("./repo").as_str(), found_in(".").as_str()), ("a1", "a1", "a1"));
    assert_eq!((found_in("elsewhere").as_str(), found_in("repo/src").as_str()), ("b1", "b1"));
}

/// Programs get suggestions as fields, not as sentences.
#[test]
fn suggestions_name_the_option_to_change() {
    let env = world();
    for (args, key, expected) in [
        (&["tile", "--until", "2026-10"][..], "drop", json!(["until"])),
        (&["tile", "--until", "2026-10", "--errors"], "drop", json!(["is:error", "until"])),
        (&["tile", "-kestrel", "-draws"], "drop", json!(["not"])),
        (&["\"tile kestrel\""], "query", json!("tile kestrel")),
    ] {
        let ran = env.run(&[&["search", "--no-refresh", "--json"], args].concat());
        let summary = json_of(&ran).pop().expect("a summary");
        let suggestions = summary["suggestions"].as_array().expect("a list");
        assert!(suggestions.iter().any(|suggestion| suggestion[key] == expected), "{args:?}: {summary}");
    }
    let mut command = env.command();
    command.args(["search", "--no-refresh", "--json", "tile"]).env("CLAUDE_CODE_SESSION_ID", B);
    let ran = Ran::from(command.output().expect("ran"));
    let summary = json_of(&ran).pop().expect("a summary");
    assert_eq!(summary["suggestions"][0]["add"], "--include-current", "{summary}");
}

#[test]
fn hits_can_be_sorted_by_time() {
    let env = world();
    let order = |sort: &str| -> Vec<String> {
        let lines = json_of(&env.run(&["search", "--no-refresh", "--json", "--messages", "--sort", sort, "kestrel"]));
        lines.iter().filter(|line| line["type"] == "hit").map(|line| line["timestamp"].to_string()).collect()
    };
    let (newest, mut oldest) = (order("newest"), order("oldest"));
    assert!(newest.is_sorted_by(|a, b| a >= b), "{newest:?}");
    oldest.reverse();
    assert!(oldest.is_sorted_by(|a, b| a >= b), "{oldest:?}");
    // All words must match, since the order does not show how many do.
    let lines = json_of(&env.run(&["search", "--no-refresh", "--json", "--sort", "newest", "kestrel nest"]));
    assert_eq!(lines.iter().filter(|line| line["type"] == "hit").count(), 1);
}

#[test]
fn every_line_of_json_fits_its_schema() {
    let env = world();
    let schema: Value = serde_json::from_str(&env.run(&["schema"]).stdout).expect("a schema");
    for args in [
        &["kestrel", "-C", "1"][..],
        &["kestrle"],
        &["\"tile kestrel\""],
        &["kestrel", "--project", "zebra"],
        &["kestrel", "-n", "1"],
    ] {
        for line in json_of(&env.run(&[&["search", "--json"], args].concat())) {
            let kind = line["type"].as_str().expect("a type");
            let wrong = violations(&schema["$defs"][kind], &schema["$defs"], &line, kind);
            assert_eq!(wrong, [""; 0], "{line}");
        }
    }
    for line in json_of(&env.run(&["sessions", "--json"])) {
        assert_eq!(violations(&schema["$defs"]["session"], &schema["$defs"], &line, "session"), [""; 0], "{line}");
    }
}

/// Violations of a schema, for the part of JSON Schema that ours uses.
fn violations(schema: &Value, defs: &Value, value: &Value, at: &str) -> Vec<String> {
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        return violations(&defs[name], defs, value, at);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let tried = choices.iter().map(|choice| violations(choice, defs, value, at));
        return tried.min_by_key(Vec::len).unwrap_or_default();
    }
    let actual = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let allowed: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        _ => vec![actual],
    };
    let is_number = actual == "integer" && allowed.contains(&"number");
    if !(allowed.contains(&actual) || is_number) {
        return vec![format!("{at} is {actual}, not {allowed:?}")];
    }
    let mut wrong = Vec::new();
    if let Some(fields) = value.as_object() {
        let known = schema["properties"].as_object().cloned().unwrap_or_default();
        for (name, inner) in fields {
            match known.get(name) {
                Some(schema) => wrong.extend(violations(schema, defs, inner, &format!("{at}.{name}"))),
                None => wrong.push(format!("{at}.{name} is not in the schema")),
            }
        }
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let missing = required.iter().filter_map(Value::as_str).filter(|name| !fields.contains_key(*name));
        wrong.extend(missing.map(|name| format!("{at}.{name} is missing")));
    }
    for (index, inner) in value.as_array().into_iter().flatten().enumerate() {
        wrong.extend(violations(&schema["items"], defs, inner, &format!("{at}[{index}]")));
    }
    wrong
}

#[test]
fn f28_secrets_are_masked_unless_asked_for() {
    let env = Env::new();
    let secret = "ghp_0aBcD1eFgH2iJkL3mNoP4qRsT5uVwX6yZa7b";
    let line = json!({"type": "user", "uuid": uuid(A, 1), "sessionId": A, "timestamp": "2026-10-01T10:00:00.000Z", "message": person(&format!("use the token {secret} for kestrel"))});
    env.write(format!("-p/{A}.jsonl"), format!("{line}\n"));
    env.index();
    for args in [&["search", "kestrel"][..], &["search", "--json", "-C", "2", "kestrel"]] {
        let ran = env.run(args);
        assert!(!ran.stdout.contains("0aBcD1eFgH2i"), "{}", ran.stdout);
        assert!(ran.stdout.contains("[redacted: "), "{}", ran.stdout);
    }
    assert!(env.run(&["search", "--reveal", "kestrel"]).stdout.contains(secret));
}

#[test]
fn f28_secrets_are_masked_around_a_hit_too() {
    let env = Env::new();
    let secret = "ghp_0aBcD1eFgH2iJkL3mNoP4qRsT5uVwX6yZa7b";
    let line = |number: u32, text: &str| {
        let before = (number > 1).then(|| uuid(A, number - 1));
        let time = format!("2026-10-01T10:00:0{number}.000Z");
        json!({"type": "user", "uuid": uuid(A, number), "parentUuid": before, "sessionId": A, "timestamp": time, "message": person(text)}).to_string() + "\n"
    };
    let (before, after) = (format!("use the token {secret}"), format!("or rather {secret}"));
    env.write(format!("-p/{A}.jsonl"), line(1, &before) + &line(2, "for the kestrel") + &line(3, &after));
    env.index();
    for args in [&["search", "-C", "1", "kestrel"][..], &["search", "--json", "-C", "1", "kestrel"]] {
        let ran = env.run(args);
        assert!(!ran.stdout.contains("0aBcD1eFgH2i"), "{}", ran.stdout);
        assert!(ran.stdout.contains("[redacted: "), "{}", ran.stdout);
    }
    assert!(env.run(&["search", "--reveal", "-C", "1", "kestrel"]).stdout.contains(secret));
}

/// More hits than are ranked at first: the pages still contain all of them.
#[test]
fn pages_reach_beyond_the_ranked_hits() {
    let env = Env::new();
    for number in 0..260 {
        let id = format!("cccc0000-0000-4000-8000-{number:012}");
        let line = json!({"type": "user", "uuid": format!("dddd0000-0000-4000-8000-{number:012}"), "sessionId": id, "timestamp": "2026-10-01T10:00:00.000Z", "message": person("wagtail")});
        env.write(format!("-p/{id}.jsonl"), format!("{line}\n"));
    }
    env.index();
    for flat in [&[][..], &["--messages"]] {
        let mut paged = std::collections::BTreeSet::new();
        let mut cursor = String::new();
        loop {
            let mut args = [&["search", "--no-refresh", "--json", "-n", "60", "wagtail"], flat].concat();
            if !cursor.is_empty() {
                args.extend(["--cursor", &cursor]);
            }
            let lines = json_of(&env.run(&args));
            let hits = lines.iter().filter(|line| line["type"] == "hit");
            hits.for_each(|hit| assert!(paged.insert(hit["uuid"].to_string()), "twice: {hit}"));
            match lines.last().and_then(|summary| summary["next_cursor"].as_str()) {
                Some(next) => cursor = next.to_string(),
                None => break,
            }
        }
        assert_eq!(paged.len(), 260, "{flat:?}");
    }
}

/// A session of prompts, one line for each text.
fn monologue(env: &Env, session: &str, texts: &[&str]) {
    let line = |(at, text): (usize, &&str)| {
        let number = at as u32 + 1;
        let at = "2026-10-01T10:00:00.000Z";
        Line { session, number, parent: 0, at, cwd: "/home/u/x", branch: "main", agent: None, message: person(text) }
            .line()
    };
    env.write(format!("-home-u-x/{session}.jsonl"), texts.iter().enumerate().map(line).collect::<String>());
}

#[test]
fn pasted_text_is_found_whatever_it_contains() {
    let env = Env::new();
    let long: String = (0..90).map(|number| format!("at Object.step{number} (lib/run{number}.js) &&\n")).collect();
    let texts = [
        "please cite file:line throughout",
        "you can send after:null to get the first page",
        "/* Timeline axis styling */ .vis {",
        "cd /srv/app && mix test || true",
        "console.error(\"Failed to create streaming session:\", error);",
        "ls -la then",
        &long,
        "look at those PRs again",
        "**fixed** the margins of the page",
        "fixedly staring",
    ];
    monologue(&env, A, &texts);
    env.index();
    for (query, expected) in [
        ("cite file:line throughout", "a1"),
        ("send after:null to get", "a2"),
        ("/* Timeline axis styling */", "a3"),
        ("cd /srv/other && mix test", "a4"),
        (texts[4], "a5"),
        ("-la then", "a6"),
        (&long, "a7"),
        // A prefix search, although the text contains the letters with a star, in bold.
        ("fixed*", "a9 a10"),
    ] {
        let ran = env.run(&["search", "--no-refresh", "--json", "--messages", "-n", "100", query]);
        assert_eq!(ran.code, 0, "{query}: {}", ran.stderr);
        assert!(found(&env, &[query]).split(' ').any(|line| expected.split(' ').any(|right| right == line)), "{query}");
        let first = json_of(&ran)[0]["uuid"].as_str().unwrap_or_default().to_string();
        assert!(
            expected.split(' ').any(|right| uuid(A, right[1..].parse().expect("a number")) == first),
            "{query}: {first}"
        );
    }
    assert_eq!(found(&env, &["fixed*"]), "a9 a10");
    assert_eq!(found(&env, &["-F", "those PR"]), "a8", "a lower-case letter after capitals splits them differently");
    let refused = env.run(&["search", "--no-refresh", "kind:pod nginx"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
}

#[test]
fn words_are_found_by_parts_and_other_forms() {
    let env = Env::new();
    let long =
        format!("{}never retry after removal\n{}", "noise of a log\n".repeat(400), "noise of a log\n".repeat(400));
    let mut texts = vec![
        "commit 1d1cd9a4f0b2 broke it",
        "the messageTypeGroup was renamed",
        "the rules are disabled again",
        "class EntityProcess",
        &long,
    ];
    let about = |number: usize| match number % 3 {
        0 => format!("never removal {number} after a retry {number}"),
        _ => format!("something else {number}"),
    };
    let short: Vec<String> = (0..900).map(about).collect();
    texts.extend(short.iter().map(String::as_str));
    monologue(&env, A, &texts);
    env.index();
    for (query, first) in [
        ("1d1cd9a", 1),
        ("1d1cd9a4f0b2ffff", 1),
        ("messageTypeGro", 2),
        ("rule disabling", 3),
        ("class entitprocess", 4),
        // Among three hundred with the same words in another order.
        ("never retry after removal", 5),
    ] {
        let ran = env.run(&["search", "--no-refresh", "--json", "--messages", query]);
        assert_eq!(json_of(&ran)[0]["uuid"], json!(uuid(A, first)), "{query}: {}", ran.stderr);
    }
    let ran = env.run(&["search", "--no-refresh", "entitprocess"]);
    assert!(ran.code == 1 && ran.stderr.contains("entityprocess"), "a guess is offered, not shown: {}", ran.stderr);
    let ran = env.run(&["search", "--no-refresh", "removalAfterNever"]);
    assert!(ran.code == 0 && ran.stderr.contains("nothing contains removalAfterNever as typed"), "{}", ran.stderr);
}

#[test]
fn a_title_counts_for_the_session_it_names() {
    let env = Env::new();
    monologue(&env, A, &["what was said"]);
    let title = json!({"type": "summary", "summary": "Hedgehog winter quarters", "leafUuid": uuid(A, 1)});
    let orphan = json!({"type": "summary", "summary": "Hedgehog summer quarters", "leafUuid": uuid(A, 99)});
    env.write(format!("-home-u-x/{B}.jsonl"), format!("{title}\n{orphan}\n"));
    env.index();
    let ran = env.run(&["search", "--no-refresh", "--json", "hedgehog winter quarters"]);
    assert_eq!(json_of(&ran)[0]["session_id"], json!(A), "{}", ran.stdout);
}
