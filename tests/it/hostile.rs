//! Fault catalogue, section F: hostile text, which attacks the terminal, the program through a query, or files through
//! a path. F7 is in `export.rs`, F25 and F26 in `schedule.rs`, F28 in `search.rs` and `history.rs`, F31 in `loops.rs`,
//! F32 in `audit.rs`.

use std::fs;
use std::time::{Duration, Instant};

use unspool::untrusted::is_dangerous;

use crate::support::env::{Env, Ran};
use crate::support::privileges::is_root;
use crate::support::process::{finish, under};
use crate::support::transcript::{session, user_line};

/// Escape sequences, invisible characters, and tricks that overwrite text.
const HOSTILE: [&str; 38] = [
    "\u{1b}[31mred\u{1b}[0m",
    "\u{1b}[2J\u{1b}[H",
    "\u{1b}]0;title\u{7}",
    "\u{1b}]0;title\u{1b}\\",
    "\u{1b}]2;unterminated",
    "\u{1b}]8;;http://evil\u{1b}\\link\u{1b}]8;;\u{1b}\\",
    "\u{1b}]52;c;ZXZpbA==\u{7}",
    "\u{1b}]52;c;?\u{7}",
    "\u{1b}]1337;File=name=a:\u{7}",
    "\u{1b}P+q544e\u{1b}\\",
    "\u{1b}Pq#0;2;0;0;0\u{1b}\\",
    "\u{1b}_Gf=24;AAAA\u{1b}\\",
    "\u{1b}^private\u{1b}\\",
    "\u{1b}Xstring\u{1b}\\",
    "\u{1b}[6n",
    "\u{1b}[c",
    "\u{1b}[>c",
    "\u{1b}[21t",
    "\u{1b}[?1049h",
    "\u{1b}[?1000h",
    "\u{1b}c",
    "\u{1b}(0lqk\u{1b}(B",
    "\u{1b}#8",
    "\u{1b}[3;4r",
    "\u{1b}[1000D\u{1b}[K",
    "\u{9b}31m",
    "\u{9d}0;t\u{9c}",
    "\u{90}q\u{9c}",
    "\u{85}next\u{84}",
    "real\rfake",
    "ab\u{8}\u{8}xy",
    "bell\u{7}\u{5}\u{e}\u{f}",
    "nul\u{0}byte\u{7f}",
    "\u{202e}txt.exe\u{202c}",
    "\u{2066}iso\u{2069}\u{61c}",
    "z\u{200b}w\u{200d}j\u{2060}\u{feff}",
    "\u{e0041}\u{e0042}\u{e007f}tags",
    "line\u{2028}para\u{2029}\u{fff9}x\u{fffb}",
];

/// A home with such text in every place that is ever shown.
fn hostile_home() -> Env {
    let env = Env::new();
    for (number, text) in (0..).zip(HOSTILE) {
        let id = session(number);
        let json = serde_json::to_string(&format!("fvier {text} behind{number}")).expect("JSON");
        let odd = serde_json::to_string(&format!("/home/u/{text}")).expect("JSON");
        let line = |kind: &str, message: &str| {
            format!(
                r#"{{"type":"{kind}","uuid":"u{number}{kind}","cwd":{odd},"gitBranch":{json},"sessionId":"{id}","version":{json},"timestamp":"2026-10-01T10:00:00.000Z","message":{{{message}}}}}"#
            ) + "\n"
        };
        let lines = line("user", &format!(r#""content":{json}"#))
            + &line(
                "assistant",
                &format!(
                    r#""id":"m","model":{json},"content":[{{"type":"text","text":{json}}},{{"type":"tool_use","id":"t","name":{json},"input":{{"file_path":{odd},"command":{json}}}}}]"#
                ),
            )
            + &line("user", &format!(r#""content":[{{"type":"tool_result","tool_use_id":"t","content":{json}}}]"#))
            + &format!(r#"{{"type":"custom-title","customTitle":{json},"sessionId":"{id}"}}"#)
            + &format!("\nfvier not a record {text}\n")
            + &format!(r#"{{"type":{json},"note":{json}}}"#)
            + "\n";
        env.write(format!("-p/{id}.jsonl"), lines);
    }
    // Names of folders and files, which appear in problems and paths.
    for (number, text) in (100..).zip(HOSTILE.iter().filter(|text| !text.contains(['/', '\0']))) {
        let id = session(number);
        let folder = env.claude().join("projects").join(format!("-p{text}"));
        fs::create_dir_all(folder.join(format!("{text}.jsonl"))).expect("made");
        let line = format!(
            r#"{{"type":"user","uuid":"n{number}","sessionId":"{id}","message":{{"content":"fvier name{number}"}}}}"#
        );
        fs::write(folder.join(format!("{id}.jsonl")), line + "\nbroken\n").expect("written");
    }
    env
}

/// Checks that an output contains nothing that can move, hide or recolour text.
fn is_harmless(what: &str, ran: &Ran) {
    for (name, text) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
        let joiner = |c: char| c == '\u{200d}';
        let bad: Vec<char> = text.chars().filter(|c| is_dangerous(*c) && !joiner(*c)).collect();
        assert!(bad.is_empty(), "{what}: {bad:?} on {name}: {text:?}");
    }
}

/// For every command that shows text.
#[test]
fn f4_f5_f6_no_control_characters_reach_a_terminal() {
    let env = hostile_home();
    let ran = env.run(&["index"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    is_harmless("index", &ran);
    is_harmless("index --json", &env.run(&["index", "--rebuild", "--json"]));
    is_harmless("index --quiet", &env.run(&["index", "--rebuild", "--quiet"]));
    for args in [
        &["search", "-n", "200", "fvier"][..],
        &["search", "--messages", "-n", "200", "fvier"],
        &["search", "--json", "-n", "200", "fvier"],
        &["status"],
        &["status", "--problems"],
        &["status", "--json"],
        &["verify", "--deep"],
    ] {
        let ran = env.run(args);
        assert!(matches!(ran.code, 0 | 3), "{args:?}: {} {}", ran.code, ran.stderr);
        assert!(!ran.stdout.is_empty(), "{args:?}");
        is_harmless(&args.join(" "), &ran);
    }
    // Each of them is still shown, in a visible form.
    let shown = env.run(&["search", "--messages", "-n", "400", "--no-refresh", "fvier"]).stdout;
    assert!(shown.contains('␛') && shown.contains("⟨U+202E⟩") && shown.contains('␈'), "{shown}");
    env.verify();
}

/// Arguments are repeated in messages, and they may have been pasted.
#[test]
fn f4_queries_and_arguments_are_harmless_in_messages() {
    let env = hostile_home();
    env.index();
    for text in HOSTILE.iter().filter(|text| !text.contains('\0')) {
        for args in [
            vec!["search", text],
            vec!["search", "--json", text],
            vec!["search", "-F", text],
            vec!["forget", text],
            vec!["--root", text, "status"],
            vec!["--index-dir", text, "search", "--no-refresh", "x"],
            vec!["--color", text, "status"],
            vec!["search", "--limit", text, "x"],
        ] {
            let ran = env.run(&args);
            // The command line parser is not ours, but what it repeats must be harmless too.
            is_harmless(&format!("{args:?}"), &ran);
        }
    }
}

/// Long runs of combining marks and wide characters.
#[test]
fn f6_endless_combining_marks_and_wide_characters() {
    let env = Env::new();
    let id = session(1);
    for (number, text) in
        (1..).zip(["a\u{301}".repeat(10_000), "界".repeat(10_000), "👩\u{200d}".repeat(5_000), "\t".repeat(9_000)])
    {
        env.append(format!("-p/{id}.jsonl"), user_line(&id, number, &format!("fsechs {text} end{number}")));
    }
    env.index();
    for columns in ["1", "40", "400"] {
        let ran = finish(env.command().env("COLUMNS", columns).args(["search", "--messages", "fsechs"]));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        is_harmless("search", &ran);
        assert!(ran.stdout.len() < 40_000, "{} bytes", ran.stdout.len());
    }
}

/// A session id is looked up, never opened as a path.
#[test]
fn f1_odd_session_ids() {
    let env = hostile_home();
    env.index();
    let long = "a".repeat(100_000);
    for id in ["../../etc/passwd", "/etc/passwd", "%2e%2e%2f", "", ".", "*", "\u{1b}[31m", &long] {
        let ran = env.run(&["forget", "--yes", id]);
        assert_eq!(ran.code, 2, "{id:?}: {} {}", ran.stdout, ran.stderr);
        is_harmless("forget", &ran);
    }
    env.verify();
}

/// Links to files outside are not followed.
#[test]
fn f2_links_are_not_followed() {
    let env = Env::new();
    let secret = env.path().join("secret.jsonl");
    let id = session(1);
    fs::write(&secret, user_line(&id, 1, "fzwei secret")).expect("written");
    std::os::unix::fs::symlink(&secret, env.file(format!("-p/{id}.jsonl"))).expect("linked");
    std::os::unix::fs::symlink("/", env.claude().join("projects/-root")).expect("linked");
    std::os::unix::fs::symlink(env.claude().join("projects"), env.claude().join("projects/-p/loop")).expect("linked");
    env.write(format!("-p/{}.jsonl", session(2)), user_line(&session(2), 2, "fzwei plain"));
    let ran = finish(env.command().args(["index"]));
    assert!(matches!(ran.code, 0 | 3), "{} {}", ran.code, ran.stderr);
    assert_eq!(env.count("fzwei"), 1);
    env.heal();
}

/// Queries that try to hang the program, or exhaust its stack or memory.
#[test]
fn f21_query_bombs() {
    let env = Env::new();
    let id = session(1);
    let lines: String = (0..200).map(|line| user_line(&id, line, &format!("a b c fbombe{line} ab abc x.y"))).collect();
    env.write(format!("-p/{id}.jsonl"), lines);
    env.index();
    let bombs = [
        "(".repeat(4000),
        ")".repeat(4000),
        format!("{}a{}", "(".repeat(2000), ")".repeat(2000)),
        format!("{}a{}", "-(".repeat(1300), ")".repeat(1300)),
        format!("{}a{}", "(a OR ".repeat(500), ")".repeat(500)),
        "NOT ".repeat(1000) + "a",
        "- ".repeat(2000),
        "-".repeat(4000) + "a",
        "a.".repeat(2000),
        "a OR ".repeat(800) + "b",
        "a AND ".repeat(700) + "b",
        "a ".repeat(2000),
        "\"".repeat(4001),
        "\\".repeat(4001),
        "\"a b\"~100000000".to_string(),
        "/.*.*.*.*.*.*.*.*a/".to_string(),
        "/(a{1,1000}){1,1000}/".to_string(),
        "/((((((((((a+)+)+)+)+)+)+)+)+)+b/".to_string(),
        format!("/{}ab{}/", "(".repeat(1000), ")".repeat(1000)),
        "/(a|aa)+$/".to_string(),
        "/\\p{L}{500}ab/".to_string(),
        "*".to_string(),
        "*a".to_string(),
        "a*".to_string(),
        "* ".repeat(1000),
        "a* ".repeat(1000),
        "[* TO *]".to_string(),
        "a:(^".to_string(),
        "tool:".repeat(800),
        "since:".to_string(),
        "since:99999999999999999999d".to_string(),
        "since:-9999999999y until:9999-99-99".to_string(),
        "a^1e308".to_string(),
        "a~NaN".to_string(),
        "\u{1b}]52;c;YQ==\u{7}".to_string(),
        "\u{202e}abc".to_string(),
        "x".repeat(1 << 20),
        "x".repeat(4096),
        "👩‍💻".repeat(300),
        "\u{fdfa}".repeat(1300),
        "a\u{301}".repeat(1300),
        "field:value ".repeat(300),
        "{".repeat(4000),
        "~".repeat(4000),
        "path:**/**/**/**/**/**/**/**/**/**/a".to_string(),
        format!("path:{}b", "*a".repeat(500)),
    ];
    for bomb in &bombs {
        for extra in [&[][..], &["-F"], &["--json"], &["--"]] {
            // 128 MB of memory in addition to mapped files, two seconds of processor time. A signal would be exit code
            // -1.
            let limits = "ulimit -t 4; ulimit -s 1024; exec \"$@\"";
            let begun = Instant::now();
            let mut command = under(&env, &["sh", "-c", limits, "sh"]);
            let ran = finish(command.args(["search", "--no-refresh"]).args(extra).arg(cut(bomb)));
            let beginning: String = bomb.chars().take(30).collect();
            assert!(matches!(ran.code, 0..=2), "{beginning:?} {extra:?}: {} {}", ran.code, ran.stderr);
            assert!(begun.elapsed() < Duration::from_secs(30), "{beginning:?} {extra:?}");
            assert!(!ran.stderr.contains("unspool crashed"), "{beginning:?} {extra:?}: {}", ran.stderr);
            is_harmless(&beginning, &ran);
        }
    }
}

/// One argument cannot be longer than 128 KB.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(120_000)]
}

/// Absurd numbers.
#[test]
fn f22_odd_limits() {
    let env = hostile_home();
    env.index();
    for number in ["0", "-1", "18446744073709551615", "18446744073709551616", "1e9", "", " ", "0x10", "99999999"] {
        for option in ["-n", "-m", "-C", "--cursor"] {
            let ran = env.run(&["search", "--no-refresh", option, number, "fvier"]);
            assert!(matches!(ran.code, 0..=2), "{option} {number:?}: {} {}", ran.code, ran.stderr);
            assert!(!ran.stderr.contains("unspool crashed"), "{option} {number:?}");
        }
        let ran = env.run(&["index", "--wait", number]);
        assert!(matches!(ran.code, 0 | 2 | 3), "--wait {number:?}: {} {}", ran.code, ran.stderr);
    }
}

/// A folder for the index that another user has prepared.
#[test]
fn f27_a_prepared_index_folder() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = Env::new();
    env.write(format!("-p/{}.jsonl", session(1)), user_line(&session(1), 1, "f27"));
    fs::create_dir(env.index_dir()).expect("made");
    fs::set_permissions(env.index_dir(), fs::Permissions::from_mode(0o777)).expect("opened up");
    let ran = env.run(&["index"]);
    assert_eq!(ran.code, 6, "{}", ran.stdout);
    assert!(ran.stderr.contains("other users can write"), "{}", ran.stderr);
    assert_eq!(fs::read_dir(env.index_dir()).expect("listed").count(), 0);
    fs::set_permissions(env.index_dir(), fs::Permissions::from_mode(0o755)).expect("closed");
    if is_root() {
        std::os::unix::fs::chown(env.index_dir(), Some(65534), Some(65534)).expect("given away");
        let ran = env.run(&["index"]);
        assert_eq!(ran.code, 6, "{}", ran.stdout);
        assert!(ran.stderr.contains("belongs to another user"), "{}", ran.stderr);
        std::os::unix::fs::chown(env.index_dir(), Some(0), Some(0)).expect("taken back");
    }
    env.heal();
    let mode = fs::metadata(env.index_dir()).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

/// Text from transcripts does not appear in messages, and no core is dumped.
#[test]
fn f29_no_text_in_messages() {
    let env = Env::new();
    let id = session(1);
    let secret = "hunter2-F29-SECRET";
    let lines =
        format!("not a record {secret}\n") + &format!(r#"{{"type":"user","message":{{"content":"{secret}"#) + "\n";
    env.write(format!("-p/{id}.jsonl"), lines);
    for args in
        [&["index"][..], &["index", "--json"], &["index", "--quiet"], &["status", "--problems"], &["verify", "--deep"]]
    {
        let ran = env.run(args);
        assert!(
            !ran.stdout.contains(secret) && !ran.stderr.contains(secret),
            "{args:?}: {} {}",
            ran.stdout,
            ran.stderr
        );
    }
    let ran = finish(env.command().env("UNSPOOL_FAULT", "panic@1").args(["search", "x"]));
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("unspool crashed") && !ran.stderr.contains("panicked"), "{}", ran.stderr);
}

/// A home with a tool call that wrote a file at this path.
fn with_written(path: &str, contents: &str) -> Env {
    let env = Env::new();
    let id = session(1);
    let (path, contents) = (serde_json::to_string(path).expect("JSON"), serde_json::to_string(contents).expect("JSON"));
    let head = format!(r#""cwd":"/home/u/x","sessionId":"{id}","timestamp":"2026-10-01T10:00:00.000Z""#);
    let call = format!(
        r#"{{"type":"assistant","uuid":"a",{head},"message":{{"id":"m","content":[{{"type":"tool_use","id":"t","name":"Write","input":{{"file_path":{path},"content":{contents}}}}}]}}}}"#
    );
    let result = format!(
        r#"{{"type":"user","uuid":"b",{head},"message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":"done"}}]}},"toolUseResult":{{"type":"create","filePath":{path},"content":{contents},"structuredPatch":[]}}}}"#
    );
    env.write(format!("-p/{id}.jsonl"), call + "\n" + &result + "\n");
    env.index();
    env
}

/// A recovered file is written below the given folder, as a new file with mode 0600, or not at all.
#[test]
fn f23_recover_stays_in_its_folder() {
    use std::os::unix::fs::PermissionsExt as _;
    for (path, name) in [
        ("/etc/cron.d/unspool-f23", "unspool-f23"),
        ("/home/u/x/../../../../f23-up.txt", "f23-up.txt"),
        ("/home/u/x/.git/hooks/pre-commit", "pre-commit"),
        ("/home/u/x/f23 \u{1b}[31m\n.txt", "f23 _[31m_.txt"),
    ] {
        let env = with_written(path, "f23 contents\n");
        let out = env.path().join("out");
        let folder = out.to_str().expect("a path");
        let ran = env.run(&["recover", "--out", folder, path]);
        assert!(matches!(ran.code, 0 | 3), "{path:?}: {} {}", ran.code, ran.stderr);
        is_harmless("recover", &ran);
        let written = out.join(name);
        assert_eq!(fs::read_to_string(&written).expect("written"), "f23 contents\n");
        assert_eq!(fs::metadata(&written).expect("there").permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(&out).expect("listed").count(), 1);
        assert!(fs::symlink_metadata(path).is_err(), "{path} was written");
        // Never over an existing file, and never through a link.
        assert_eq!(env.run(&["recover", "--out", folder, path]).code, 2);
        fs::remove_file(&written).expect("removed");
        std::os::unix::fs::symlink(env.path().join("elsewhere"), &written).expect("linked");
        assert_eq!(env.run(&["recover", "--out", folder, path]).code, 2);
        assert!(!env.path().join("elsewhere").is_file());
    }
}

/// Odd and huge contents are recovered byte by byte.
#[test]
fn f24_recover_returns_the_written_bytes() {
    let long: String = (0..60_000).map(|line| format!("line {line} of a long file\n")).collect();
    for contents in ["nul \0 escape \u{1b}[31m bidi \u{202e} no newline", "\r\n\r\n\t", &long] {
        let env = with_written("/home/u/x/f24.txt", contents);
        let ran = env.run(&["recover", "/home/u/x/f24.txt"]);
        assert!(matches!(ran.code, 0 | 3), "{} {}", ran.code, ran.stderr);
        assert!(ran.stdout == contents, "{} bytes of {}", ran.stdout.len(), contents.len());
    }
}

/// Never to the original folder, whatever name is used for it.
#[test]
fn f23_recover_never_writes_to_the_original_folder() {
    let place = tempfile::tempdir().expect("temporary folder");
    let (folder, link) = (place.path().join("work"), place.path().join("link"));
    fs::create_dir(&folder).expect("made");
    std::os::unix::fs::symlink(&folder, &link).expect("linked");
    for (was, out) in [(&folder, &folder), (&folder, &link), (&link, &folder)] {
        let path = was.join("lost.txt");
        let path = path.to_str().expect("a path");
        let env = with_written(path, "f23 contents\n");
        let ran = env.run(&["recover", "--out", out.to_str().expect("a path"), path]);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("is the original path"), "{}", ran.stderr);
        assert_eq!(fs::read_dir(&folder).expect("listed").count(), 0);
    }
}

/// A regular expression that would be huge after compilation is refused.
#[test]
fn f21_huge_expressions_are_refused() {
    for bomb in ["(kestrelx{1,200}){1,200}", "kestrel\\p{L}{500}"] {
        let refused = unspool::query::Pattern::regex(bomb).expect_err(bomb).to_string();
        assert!(refused.contains("size limit"), "{bomb}: {refused}");
    }
}
