//! Fault catalogue, section A: bad input. One bad file must never affect other files, nor one bad line the lines after
//! it. `limits.rs` has A16 to A18 with inputs of gigabytes.
//!
//! Every test puts the damage between sound lines and next to a sound file, and ends with a plain run after which the
//! index must be intact.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::env::{Env, Ran};
use crate::support::transcript::{session, user_line, uuid};

/// The most memory an index run may use, in MB.
const MEMORY: u64 = 300;

/// The file name of a session.
fn name(number: u32) -> String {
    format!("-home-u-x/{}.jsonl", session(number))
}

/// A home with a file that has the damage between two sound lines, and with a sound file next to it.
fn home_with(damage: impl AsRef<[u8]>) -> Env {
    let env = Env::new();
    let before = user_line(&session(1), 1, "soundbefore");
    let after = user_line(&session(1), 2, "soundafter");
    env.write(name(1), [before.as_bytes(), damage.as_ref(), after.as_bytes()].concat());
    env.write(name(2), user_line(&session(2), 3, "soundbeside"));
    env
}

/// Checks that the sound lines of `home_with` are found, now and after a plain run that leaves the index intact.
fn stays_sound(env: &Env) {
    let check =
        || ["soundbefore", "soundafter", "soundbeside"].iter().for_each(|word| assert_eq!(role(env, word), "human"));
    check();
    env.heal();
    check();
}

/// The only hit of a query.
fn hit(env: &Env, query: &str) -> Value {
    let mut hits = env.hits(query);
    assert_eq!(hits.len(), 1, "{}: {hits:?}", query.get(..80).unwrap_or(query));
    hits.remove(0)
}

fn role(env: &Env, query: &str) -> String {
    hit(env, query)["role"].as_str().unwrap_or_default().to_string()
}

fn snippet(env: &Env, query: &str) -> String {
    hit(env, query)["snippet"]["text"].as_str().unwrap_or_default().to_string()
}

/// The length of the file of a session.
fn length(env: &Env, number: u32) -> u64 {
    env.file(name(number)).metadata().expect("there").len()
}

/// Indexes, and expects exactly these numbers of bad and oversized lines; the exit code must show problems.
fn index_counting(env: &Env, bad: u64, oversized: u64) -> Value {
    let ran = env.run(&["index", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&report["bad_lines"], &report["oversized_lines"]), (&json!(bad), &json!(oversized)), "{report}");
    assert_eq!(ran.code, if bad + oversized > 0 { 3 } else { 0 }, "{report}");
    report
}

/// Replaces `@@` by raw bytes, which no JSON writer would write.
fn with_raw(line: &str, raw: &[u8]) -> Vec<u8> {
    let (before, after) = line.split_once("@@").expect("a placeholder");
    [before.as_bytes(), raw, after.as_bytes()].concat()
}

/// An assistant's message, with more members before it.
fn answer(number: u32, members: &str, text: &str) -> String {
    let id = uuid(number);
    format!(
        r#"{{"type":"assistant","uuid":"{id}",{members}"message":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
    ) + "\n"
}

/// Runs the binary under a shell, which may first set limits: `script` ends with `"$@"`.
fn under(env: &Env, script: &str, args: &[&str]) -> Ran {
    let binary = env.command();
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", script, "sh"]).arg(binary.get_program()).args(args).env_clear().current_dir(env.path());
    binary.get_envs().for_each(|(key, value)| {
        shell.env(key, value.unwrap_or_default());
    });
    Ran::from(shell.output().expect("ran"))
}

/// Indexes; returns the exit code, the report, and the peak memory in MB.
fn index_measured(env: &Env) -> (Option<i32>, Value, u64) {
    let out = env.path().join("report.json");
    let stdout = std::fs::File::create(&out).expect("made");
    let mut index = env.command();
    let mut child = index.args(["index", "--json"]).stdout(stdout).stderr(Stdio::null()).spawn().expect("started");
    let file = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut most = 0;
    let ended = loop {
        // The high-water mark only rises, so the last value before the end counts.
        most = high_water(&file).unwrap_or(0).max(most);
        if let Some(ended) = child.try_wait().expect("waited") {
            break ended;
        }
        // Far beyond the limit: fail before the machine runs out of memory.
        if most > 1 << 20 {
            child.kill().expect("killed");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    (ended.code(), serde_json::from_slice(&std::fs::read(out).expect("read")).unwrap_or_default(), most / 1024)
}

fn high_water(file: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// The size of all files below a folder, in bytes.
fn size_of(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).map(|entries| entries.flatten().collect::<Vec<_>>()).unwrap_or_default();
    let size = |entry: &std::fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => size_of(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    };
    entries.iter().map(size).sum()
}

#[test]
fn a1_empty_file() {
    let env = home_with("");
    env.write(name(3), "");
    let before = index_counting(&env, 0, 0);
    assert_eq!(before["new"], 3);
    assert_eq!(env.problems(), Vec::<String>::new());
    let read = length(&env, 1) + length(&env, 2);
    assert_eq!((&env.status()["sessions"], &env.status()["source_bytes"]), (&json!(3), &json!(read)));
    assert_eq!(index_counting(&env, 0, 0)["unchanged"], 3);
    stays_sound(&env);
}

#[test]
fn a2_only_newlines_and_blanks() {
    let env = home_with("\n \n\r\n\t\n");
    env.write(name(3), "\n \n\r\n");
    let report = index_counting(&env, 0, 0);
    assert_eq!(report["documents"], 3);
    assert_eq!(env.problems(), Vec::<String>::new());
    // Blank lines count in line numbers.
    assert_eq!(hit(&env, "soundafter")["line"], 6);
    stays_sound(&env);
}

#[test]
fn a3_truncated_last_line() {
    let env = home_with("");
    let unfinished = |number| user_line(&session(number), number, &format!("größe heldback{number}"));
    // Cut after the brace, in the middle, inside a character of two bytes, and before the last brace.
    let inside = unfinished(12).find('ö').expect("there") + 1;
    let cuts = [(10, 1), (11, 100), (12, inside), (13, unfinished(13).len() - 2)];
    for (number, cut) in cuts {
        env.write(name(number), user_line(&session(number), number + 10, "whole"));
        env.append(name(number), &unfinished(number).as_bytes()[..cut]);
    }
    let read: usize = (10..14).map(|number| user_line(&session(number), number + 10, "whole").len()).sum();
    let others = length(&env, 1) + length(&env, 2);
    index_counting(&env, 0, 0);
    assert_eq!(env.status()["source_bytes"], json!(read as u64 + others));
    assert_eq!((env.count("größe"), env.count("whole")), (0, 4));
    for (number, cut) in cuts {
        env.append(name(number), &unfinished(number).as_bytes()[cut..]);
    }
    index_counting(&env, 0, 0);
    for number in 10..14 {
        assert_eq!(role(&env, &format!("\"heldback{number}\"")), "human");
    }
    stays_sound(&env);
}

#[test]
fn a4_complete_last_line_without_newline() {
    let env = home_with("");
    let last = user_line(&session(3), 10, "endsopen");
    env.write(name(3), last.trim_end());
    env.write(name(4), user_line(&session(4), 12, "endsblank").trim_end().to_string() + "  ");
    index_counting(&env, 0, 0);
    assert_eq!((env.count("endsopen"), env.count("endsblank")), (1, 1));
    env.append(name(3), "\n".to_string() + &user_line(&session(3), 11, "nextline"));
    // A writer that does not notice the missing newline continues without one.
    env.append(name(4), user_line(&session(4), 13, "nextword"));
    index_counting(&env, 0, 0);
    for word in ["endsopen", "nextline", "endsblank", "nextword"] {
        assert_eq!(role(&env, word), "human");
    }
    stays_sound(&env);
}

#[test]
fn a4_complete_last_line_after_a_byte_order_mark_or_nuls() {
    let env = home_with("");
    let line = |number, word: &str| user_line(&session(number), number, word).trim_end().to_string();
    env.write(name(10), "\u{feff}".to_string() + &line(10, "behindmark"));
    env.write(name(11), "\0\0\0\0".to_string() + &line(11, "behindnuls"));
    env.index();
    assert_eq!((role(&env, "behindmark"), role(&env, "behindnuls")), ("human".into(), "human".into()));
    stays_sound(&env);
}

#[test]
fn a5_line_that_is_not_json() {
    let env = home_with("garbage scrapword\n");
    index_counting(&env, 1, 0);
    let bad = hit(&env, "scrapword");
    assert_eq!((&bad["kind"], &bad["role"], &bad["line"]), (&json!("bad"), &json!("meta"), &json!(2)));
    let problems = env.problems();
    assert_eq!(problems.len(), 1);
    assert!(problems[0].contains(&format!("{}.jsonl:2: not a JSON record", session(1))), "{problems:?}");
    // It is counted once, and stays listed.
    index_counting(&env, 0, 0);
    assert_eq!(env.problems(), problems);
    stays_sound(&env);
}

#[test]
fn a6_invalid_utf8() {
    let env = home_with(with_raw(&user_line(&session(1), 10, "leftword @@ rightword"), b"\xff\xc3\x28\xed\xa0\x80"));
    env.index();
    assert_eq!((role(&env, "leftword"), role(&env, "rightword")), ("human".into(), "human".into()));
    assert!(snippet(&env, "leftword").contains('\u{fffd}'));
    stays_sound(&env);
}

#[test]
fn a7_lone_surrogates() {
    let line = |number, word: &str, raw: &str| {
        with_raw(&user_line(&session(1), number, &format!("{word} @@ end")), raw.as_bytes())
    };
    let lines =
        [line(10, "highhalf", "\\ud83d"), line(11, "lowhalf", "\\uDE00"), line(12, "wholepair", "\\ud83d\\ude00")];
    let env = home_with([lines.concat(), line(13, "highthenletter", "\\ud83d\\u0041")].concat());
    index_counting(&env, 0, 0);
    for (word, text) in [
        ("highhalf", "highhalf \u{fffd} end"),
        ("lowhalf", "lowhalf \u{fffd} end"),
        ("wholepair", "wholepair 😀 end"),
        ("highthenletter", "highthenletter \u{fffd}A end"),
    ] {
        assert_eq!((role(&env, word), snippet(&env, word)), ("human".into(), text.into()));
    }
    stays_sound(&env);
}

#[test]
fn a8_raw_control_bytes() {
    let env = home_with(with_raw(&user_line(&session(1), 10, "leftword @@ rightword"), b"\0\x1b[31m\x01\r\x08\x7f"));
    env.index();
    assert_eq!((role(&env, "leftword"), role(&env, "rightword")), ("human".into(), "human".into()));
    let shown = env.run(&["search", "--no-refresh", "rightword"]);
    assert!(!shown.stdout.contains(['\0', '\x1b', '\x08', '\x7f']), "{:?}", shown.stdout);
    stays_sound(&env);
}

#[test]
fn a9_nul_blocks() {
    let nuls = vec![0; 4096];
    // One block directly before a record, one on a line of its own.
    let env = home_with(&nuls);
    env.write(name(3), [&nuls[..], b"\n", user_line(&session(3), 10, "afterblock").as_bytes()].concat());
    index_counting(&env, 2, 0);
    assert_eq!(role(&env, "afterblock"), "human");
    // One at the end, after which Claude Code continues.
    env.append(name(3), &nuls);
    env.index();
    env.append(name(3), user_line(&session(3), 11, "appendedlater"));
    env.index();
    assert_eq!(role(&env, "appendedlater"), "human");
    assert_eq!(env.problems().len(), 3, "{:?}", env.problems());
    stays_sound(&env);
}

#[test]
fn a9_nul_block_in_place_of_a_newline() {
    let first = user_line(&session(1), 10, "cutword");
    let env = home_with(
        [first.trim_end().as_bytes(), &[0; 4096], user_line(&session(1), 11, "nextword").as_bytes()].concat(),
    );
    env.index();
    assert_eq!((role(&env, "cutword"), role(&env, "nextword")), ("human".into(), "human".into()));
    assert_eq!(env.problems().len(), 1, "{:?}", env.problems());
    stays_sound(&env);
}

/// A text in UTF-16 with a byte-order mark, little or big endian.
fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(bytes).collect()
}

#[test]
fn a10_byte_order_marks_and_encodings() {
    let env = home_with("");
    let lines = |number| {
        user_line(&session(number), number, &format!("topline{number}"))
            + &user_line(&session(number), number + 50, &format!("lowline{number}"))
    };
    env.write(name(10), "\u{feff}".to_string() + &lines(10));
    env.write(name(11), lines(11).replace('\n', "\r\n"));
    env.write(name(12), utf16(&lines(12), u16::to_le_bytes));
    env.write(name(13), utf16(&lines(13), u16::to_be_bytes));
    index_counting(&env, 2, 0);
    for word in ["\"topline10\"", "\"lowline10\"", "\"topline11\"", "\"lowline11\""] {
        assert_eq!(role(&env, word), "human");
    }
    // One problem per file, even when it grows.
    env.append(name(12), &utf16(&lines(14), u16::to_le_bytes)[2..]);
    env.index();
    let problems = env.problems();
    assert_eq!(problems.iter().filter(|problem| problem.contains("UTF-16")).count(), 2, "{problems:?}");
    assert_eq!(problems.len(), 2, "{problems:?}");
    stays_sound(&env);
}

#[test]
fn a11_several_objects_on_one_line() {
    let line = |number, word: &str| user_line(&session(1), number, word).trim_end().to_string();
    let pair = line(10, "firstone") + &line(11, "secondone") + "\n";
    let spaced = line(12, "thirdone") + " " + &line(13, "fourthone") + "\t" + &line(14, "fifthone") + "\n";
    let env = home_with(pair + &spaced);
    index_counting(&env, 0, 0);
    for (number, word) in (10..).zip(["firstone", "secondone", "thirdone", "fourthone", "fifthone"]) {
        assert_eq!((role(&env, word), hit(&env, word)["uuid"].clone()), ("human".into(), json!(uuid(number))));
    }
    assert!(hit(&env, "firstone")["offset"].as_u64() < hit(&env, "secondone")["offset"].as_u64());
    // A record cut by a crash, and the next one on the same line.
    env.append(name(1), line(15, "tornone")[..200].to_string() + &user_line(&session(1), 16, "sixthone"));
    index_counting(&env, 1, 0);
    assert_eq!(role(&env, "sixthone"), "human");
    stays_sound(&env);
}

#[test]
fn a12_json_that_is_not_an_object() {
    let env = home_with("[1,\"listword\"]\n17\n\"stringword\"\nnull\ntrue\n");
    index_counting(&env, 5, 0);
    assert_eq!(env.problems().len(), 5);
    for word in ["listword", "stringword"] {
        assert_eq!(hit(&env, word)["kind"], "bad");
    }
    // Without a newline such a value may be unfinished; with one it counts.
    env.append(name(2), "42");
    index_counting(&env, 0, 0);
    env.append(name(2), "\n");
    index_counting(&env, 1, 0);
    stays_sound(&env);
}

/// A word inside this many brackets.
fn nested(depth: usize, open: &str, close: &str, word: &str) -> String {
    open.repeat(depth) + "\"" + word + "\"" + &close.repeat(depth)
}

#[test]
fn a13_deep_nesting() {
    let mut lines = String::new();
    for depth in [128, 1000, 1_000_000] {
        let list = |word: &str| nested(depth, "[", "]", &format!("{word}{depth}"));
        let object = |word: &str| nested(depth, "{\"k\":", "}", &format!("{word}{depth}"));
        lines += &format!(
            "{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"tool_use\",\"name\":\"T\",\"input\":{}}}]}}}}\n",
            list("input")
        );
        lines += &format!("{{\"type\":\"novelty\",\"payload\":{}}}\n", object("novelty"));
        lines += &format!(
            "{{\"type\":\"user\",\"message\":{{\"content\":\"beside{depth}\"}},\"extra\":{}}}\n",
            object("extra")
        );
        lines += &format!("{{\"type\":\"user\",\"message\":{{\"content\":{}}}}}\n", list("content"));
        // Never closed, so never a record.
        lines += &format!("{{\"type\":\"user\",\"message\":{} \"open{depth}\"\n", "[{\"a\":".repeat(depth));
    }
    let env = home_with(lines);
    let ran = under(&env, "ulimit -s 256; exec \"$@\"", &["index"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (3, ""), "{}", ran.stdout);
    for depth in [128, 1000, 1_000_000] {
        for word in ["input", "novelty", "beside", "open"] {
            assert_eq!(env.count(&format!("\"{word}{depth}\"")), 1, "{word} {depth}");
        }
    }
    stays_sound(&env);
}

const ODD_NUMBERS: [&str; 6] =
    ["1e999", "-1e999", "123456789012345678901234567890", "-123456789012345678901234567890", "-0", "0.1e-999"];

#[test]
fn a14_odd_numbers_in_ignored_keys() {
    let lines: String = (10..)
        .zip(ODD_NUMBERS)
        .map(|(number, odd)| answer(number, &format!("\"costUSD\":{odd},"), &format!("odd{number}word")))
        .collect();
    let env = home_with(lines);
    index_counting(&env, 0, 0);
    for number in 10..10 + ODD_NUMBERS.len() {
        assert_eq!(role(&env, &format!("\"odd{number}word\"")), "assistant");
    }
    stays_sound(&env);
}

#[test]
fn a14_odd_numbers_in_keys_that_are_read() {
    let mut lines = String::new();
    for (number, odd) in (10..).step_by(10).zip(ODD_NUMBERS) {
        lines += &answer(number, &format!("\"timestamp\":{odd},"), &format!("time{number}word"));
        lines += &answer(number + 1, &format!("\"isSidechain\":{odd},"), &format!("flag{number}word"));
        let usage = format!(r#""uuid":"{}","message":{{"usage":{{"input_tokens":{odd}}},"#, uuid(number + 2));
        lines += &format!(
            "{{\"type\":\"assistant\",{usage}\"content\":[{{\"type\":\"text\",\"text\":\"usage{number}word\"}}]}}}}\n"
        );
    }
    let env = home_with(lines);
    env.index();
    for (number, odd) in (10..).step_by(10).zip(ODD_NUMBERS) {
        for word in ["time", "flag", "usage"] {
            assert_eq!(role(&env, &format!("\"{word}{number}word\"")), "assistant", "{word} {odd}");
        }
    }
    assert_eq!(env.problems(), Vec::<String>::new());
    stays_sound(&env);
}

#[test]
fn a14_not_a_number() {
    let lines: String = (10..)
        .zip(["NaN", "Infinity", "-Infinity"])
        .map(|(number, odd)| answer(number, &format!("\"costUSD\":{odd},"), &format!("odd{number}word")))
        .collect();
    let env = home_with(lines);
    env.index();
    for number in 10..13 {
        assert_eq!(role(&env, &format!("\"odd{number}word\"")), "assistant");
    }
    stays_sound(&env);
}

#[test]
fn a15_duplicate_many_and_huge_keys() {
    let keys: String = (0..100_000).map(|number| format!("\"key{number}\":\"value{number}\",")).collect();
    let huge = "k".repeat(1 << 20);
    let lines = [
        r#"{"type":"assistant","type":"user","message":{"content":"overruled"},"message":{"content":"lastone"}}"#
            .to_string()
            + "\n",
        answer(10, &keys, "amongkeys"),
        format!("{{{keys}\"type\":\"novelty\",\"note\":\"noveltyamongkeys\"}}\n"),
        answer(11, &format!("\"{huge}\":1,"), "besidehuge"),
        format!("{{\"type\":\"novelty\",\"{huge}\":\"underhuge\"}}\n"),
    ];
    let env = home_with(lines.concat());
    let (code, _, memory) = index_measured(&env);
    assert!(code == Some(0) && memory < MEMORY, "{code:?} {memory} MB");
    assert_eq!((role(&env, "lastone"), env.count("overruled")), ("human".into(), 0));
    assert_eq!((role(&env, "amongkeys"), role(&env, "besidehuge")), ("assistant".into(), "assistant".into()));
    assert_eq!((env.count("noveltyamongkeys"), env.count("underhuge")), (1, 1));
    // Also a value in the middle of many: on the line of unknown type, and under the unknown keys of the other line.
    assert_eq!(env.count("\"value50000\""), 2);
    stays_sound(&env);
}

#[test]
fn a15_many_file_names() {
    let names = (0..100_000).map(|number| format!("\"/home/u/x/{}/file{number}.rs\"", "long-folder-name/".repeat(4)));
    let names: Vec<String> = names.collect();
    let backups = names.iter().map(|name| format!("{name}:{{}}")).collect::<Vec<_>>().join(",");
    let input =
        format!("{{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"T\",\"input\":{{\"files\":[{}]}}}}", names.join(","));
    let env = home_with(format!(
        "{{\"type\":\"file-history-snapshot\",\"snapshot\":{{\"trackedFileBackups\":{{{backups}}}}}}}\n\
         {{\"type\":\"assistant\",\"message\":{{\"content\":[{input}]}}}}\n"
    ));
    let (code, _, memory) = index_measured(&env);
    assert!(code == Some(0) && memory < MEMORY, "{code:?} {memory} MB");
    assert_eq!(env.hits_with(&["--messages", "--meta", "\"file99999.rs\""]).len(), 2);
    stays_sound(&env);
}

#[test]
fn a16_huge_lines() {
    let filler = "lorem ipsum dolor sit amet ";
    let long = |word: &str, size: usize| {
        user_line(&session(1), 10, &format!("{word}start {} {word}end", filler.repeat(size / filler.len())))
    };
    let over = long("over", 70_000_000);
    let env =
        home_with([over.as_str(), &user_line(&session(1), 11, "betweenhuge"), &long("under", 20_000_000)].concat());
    let (code, _, memory) = index_measured(&env);
    assert_eq!(code, Some(3));
    assert!(memory < MEMORY, "{memory} MB");
    let oversized = hit(&env, "overstart");
    assert_eq!((&oversized["kind"], &oversized["line"]), (&json!("oversized"), &json!(2)));
    assert_eq!(env.count("overend"), 0);
    let problems = env.problems();
    assert!(problems.len() == 1 && problems[0].contains(&format!("line of {} bytes", over.len())), "{problems:?}");
    for word in ["betweenhuge", "understart", "underend"] {
        assert_eq!(role(&env, word), "human");
    }
    // The start of the file, including the skipped line, is recognized by its fingerprint.
    let more = user_line(&session(1), 12, "lateraddition");
    env.append(name(1), &more);
    let report = index_counting(&env, 0, 0);
    assert_eq!((&report["bytes"], &report["grown"]), (&json!(more.len()), &json!(1)), "{report}");
    assert_eq!(role(&env, "lateraddition"), "human");
    stays_sound(&env);
}

#[test]
fn a16_huge_line_that_needs_cleaning() {
    // Just below the limit, so it is read completely. Each step of the processing may need a copy.
    let text = "lorem \\u0041 ipsum ".repeat(62_000_000 / 19);
    let line = |start: &str| user_line(&session(1), 10, "brokenhuge @@").replace("@@", &format!("{start} {text}"));
    let reminder = line("<system-reminder>x</system-reminder> \\u001b[1m").into_bytes();
    for line in [reminder, with_raw(&line("@@\\ud800"), b"\xff\x01")] {
        let env = home_with(line);
        let (_, _, memory) = index_measured(&env);
        assert_eq!(role(&env, "brokenhuge"), "human");
        assert!(memory < MEMORY, "{memory} MB");
        stays_sound(&env);
    }
}

#[test]
fn a16_huge_line_of_many_blocks() {
    let blocks = vec![r#"{"type":"text","text":"a"}"#; 400_000].join(",") + r#",{"type":"text","text":"lastblock"}"#;
    let env = home_with(format!("{{\"type\":\"assistant\",\"message\":{{\"content\":[{blocks}]}}}}\n"));
    let (code, _, memory) = index_measured(&env);
    assert!(code == Some(0) && memory < MEMORY, "{code:?} {memory} MB");
    assert_eq!(role(&env, "lastblock"), "assistant");
    stays_sound(&env);
}

#[test]
fn a16_huge_lines_of_one_character() {
    // Each character makes the parser look ahead for another one, which does not come.
    let signs =
        ["<a ", "_", "-", "<", "\\u001b[", "\\u001b]", "{", "\\\"", "<system-reminder>", "a__", "\\ud800", "\u{301}"];
    let mut lines = String::new();
    for (number, sign) in (10..).zip(signs) {
        let run = sign.repeat(3_000_000 / sign.len());
        lines +=
            &user_line(&session(1), number, "@@").replace("@@", &format!("<local-command-stdout>sign{number} x{run}"));
    }
    let env = home_with(lines);
    let ran = under(&env, "exec timeout -s KILL 20 \"$@\"", &["index"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    (10..).zip(signs).for_each(|(number, sign)| assert_eq!(env.count(&format!("\"sign{number}\"")), 1, "{sign}"));
    stays_sound(&env);
}

/// Reports whether an index has a commit that is not empty.
fn has_commit(dir: &Path) -> bool {
    find(dir, &|name| name == "meta.json").is_some_and(|meta| {
        let read = std::fs::read(meta).unwrap_or_default();
        serde_json::from_slice::<Value>(&read)
            .is_ok_and(|meta| meta["segments"].as_array().is_some_and(|segments| !segments.is_empty()))
    })
}

/// The first file below a folder whose name is wanted.
fn find(dir: &Path, wanted: &dyn Fn(&str) -> bool) -> Option<PathBuf> {
    let entries = std::fs::read_dir(dir).ok()?.flatten().collect::<Vec<_>>();
    let here = entries.iter().find(|entry| wanted(&entry.file_name().to_string_lossy())).map(std::fs::DirEntry::path);
    here.or_else(|| entries.iter().find_map(|entry| find(&entry.path(), wanted)))
}

/// Starts an index run and kills it as soon as it has written a part of the index.
fn kill_midway(env: &Env) {
    let mut child = env.command().arg("index").stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    let deadline = Instant::now() + Duration::from_secs(20);
    let has_begun = || find(&env.index_dir(), &|name| name.ends_with(".store")).is_some();
    while !has_begun() && child.try_wait().expect("waited").is_none() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("killed");
    child.wait().expect("ended");
}

#[test]
fn a17_huge_file_killed_in_the_middle() {
    let env = home_with("");
    let mut lines = String::with_capacity(101 << 20);
    let mut count = 0;
    while lines.len() < 100 << 20 {
        count += 1;
        lines += &user_line(&session(3), count + 10, &format!("marker{count} {}", "plain words ".repeat(30)));
    }
    env.write(name(3), &lines);
    let size: u64 = (1..4).map(|number| length(&env, number)).sum();
    kill_midway(&env);
    let committed = has_commit(&env.index_dir());
    // What was committed is not read again.
    let (code, report, memory) = index_measured(&env);
    let bytes = report["bytes"].as_u64().expect("a number");
    assert!(code == Some(0) && memory < MEMORY, "{report} {memory} MB");
    assert!(if committed { bytes < size } else { bytes == size }, "{bytes} of {size}, {committed}");
    assert_eq!(env.status()["source_bytes"], size);
    for number in [1, count / 2, count] {
        assert_eq!(env.count(&format!("\"marker{number}\"")), 1);
    }
    let found = env.run(&["search", "--no-refresh", "--json", "-n", "1", "marker"]).stdout;
    assert!(found.contains(&format!("\"hits\":{count},")), "{count} {:?}", found.lines().last());
    stays_sound(&env);
}

#[test]
fn a18_many_files_and_few_descriptors() {
    let env = home_with("");
    for number in 0..3000 {
        let file = format!("-home-u-p{}/{}.jsonl", number % 300, session(number + 10));
        env.write(file, user_line(&session(number + 10), number + 10, &format!("small file{number}")));
    }
    let script = "ulimit -n 64; exec \"$@\"";
    let ran = under(&env, script, &["index"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    assert_eq!(env.status()["sessions"], 3002);
    for number in [0, 1, 299, 300, 1500, 2999] {
        assert_eq!(env.count(&format!("\"file{number}\"")), 1);
    }
    let found = under(&env, script, &["search", "--json", "--messages", "small"]);
    assert_eq!(found.code, 0, "{}", found.stderr);
    assert!(found.stdout.lines().last().is_some_and(|summary| summary.contains("\"hits\":3000,")));
    stays_sound(&env);
}

/// Text of this length that looks like an encoded picture, different for each seed.
fn base64(length: usize, mut seed: u64) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let next = |_| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(alphabet[(seed >> 58) as usize])
    };
    (0..length).map(next).collect()
}

/// Indexes these lines; they may add only a twentieth of their size to the index.
fn index_grows_little(env: &Env, lines: &[String]) {
    env.index();
    let before = size_of(&env.index_dir());
    env.write(name(3), lines.concat());
    env.index();
    let (grown, written) = (size_of(&env.index_dir()) - before, length(env, 3));
    assert!(grown * 20 < written, "{grown} bytes for {written}");
}

#[test]
fn a19_base64_images() {
    let env = home_with("");
    let image = |seed| {
        let data = base64(8 << 20, seed);
        format!(
            r#"{{"type":"image","source":{{"type":"base64","data":"{data}"}}}},{{"type":"text","text":"image{seed}"}}"#
        )
    };
    let user = |content: String| format!("{{\"type\":\"user\",\"message\":{{\"content\":{content}}}}}\n");
    let lines = [
        user(format!("[{}]", image(1))),
        user(format!(r#"[{{"type":"tool_result","tool_use_id":"t","content":[{}]}}]"#, image(2))),
        user("\"image3\"".into()).replace("}}", &format!("}},\"toolUseResult\":[{}]}}", image(9))),
        user(format!("\"image4 data:image/png;base64,{} behind4\"", base64(8 << 20, 4))),
        answer(10, "", &format!("image5 {} behind5", base64(8 << 20, 5))),
    ];
    index_grows_little(&env, &lines);
    for word in ["image1", "image2", "image3", "image4", "behind4", "image5", "behind5"] {
        assert_eq!(env.count(&format!("\"{word}\"")), 1, "{word}");
    }
    stays_sound(&env);
}

#[test]
fn a19_base64_in_any_place() {
    let env = home_with("");
    let data = |seed| format!("place{seed} {} behind{seed}", base64(1 << 20, seed));
    let blocks = |block: String| format!("{{\"type\":\"assistant\",\"message\":{{\"content\":[{block}]}}}}\n");
    let lines = [
        blocks(format!(r#"{{"type":"thinking","thinking":"{}"}}"#, data(1))),
        blocks(format!(r#"{{"type":"tool_use","id":"t","name":"T","input":{{"x":"{}"}}}}"#, data(2))),
        blocks(format!(r#"{{"type":"hologram","text":"{}"}}"#, data(3))),
        format!("{{\"type\":\"novelty\",\"note\":\"{}\"}}\n", data(4)),
        format!("{{\"type\":\"system\",\"content\":\"{}\"}}\n", data(5)),
        format!("{{\"type\":\"attachment\",\"attachment\":{{\"type\":\"file\",\"content\":\"{}\"}}}}\n", data(6)),
        format!("{{\"type\":\"user\",\"message\":{{\"content\":\"{}\n", data(7)),
    ];
    index_grows_little(&env, &lines);
    for number in 1..8 {
        assert_eq!(env.count(&format!("\"place{number}\"")), 1, "{number}");
        assert_eq!(env.count(&format!("\"behind{number}\"")), 1, "{number}");
    }
    stays_sound(&env);
}

#[test]
fn a19_base64_in_lines() {
    let env = home_with("");
    let wrapped = |seed| {
        let data = base64(1 << 20, seed);
        let lines: Vec<&str> = (0..data.len()).step_by(76).map(|at| &data[at..data.len().min(at + 76)]).collect();
        lines.join("\\n")
    };
    let lines = [
        answer(10, "", &format!("place1\\n{}\\nbehind1", wrapped(1))),
        format!("{{\"type\":\"user\",\"message\":{{\"content\":\"place2\\n{}\\nbehind2\"}}}}\n", wrapped(2)),
    ];
    index_grows_little(&env, &lines);
    for word in ["place1", "behind1", "place2", "behind2"] {
        assert_eq!(env.count(&format!("\"{word}\"")), 1, "{word}");
    }
    stays_sound(&env);
}

#[test]
fn a20_long_tokens() {
    let env = home_with("");
    // Lower case only: not taken for base64, and not split into parts.
    let token = |length: usize| -> String {
        let letters = |at: usize| char::from(b'a' + u8::try_from((at * at + length) % 26).unwrap_or(0));
        (0..length).map(letters).collect()
    };
    let lengths = [41, 64, 255, 300, 70_000];
    let lines: String = (10..)
        .zip(lengths)
        .map(|(number, length)| user_line(&session(3), number, &format!("before {} behind{length}", token(length))))
        .collect();
    env.write(name(3), lines);
    index_counting(&env, 0, 0);
    for (number, length) in (10..).zip(lengths) {
        let beginning = &token(length)[..length.min(255)];
        assert_eq!(hit(&env, beginning)["uuid"], json!(uuid(number)), "{length}");
        assert_eq!(env.count(&format!("\"behind{length}\"")), 1);
    }
    assert_eq!(hit(&env, &token(300))["uuid"], json!(uuid(13)));
    // An identifier that the index stores with a prefix, and so with one letter less.
    for length in 253..258 {
        let mixed = format!("Qtok{length}{}", "abcdeFgh".repeat(40))[..length].to_string();
        env.append(name(3), user_line(&session(3), 1_000 + length as u32, &mixed));
        index_counting(&env, 0, 0);
        assert_eq!(env.hits_with(&["-F", &mixed]).len(), 1, "{length}");
    }
    stays_sound(&env);
}

#[test]
fn a20_a_word_and_an_identifier_with_the_same_term() {
    // The same term as a word, as a whole identifier and as a part of one: its positions are not in order.
    let env = home_with(user_line(
        &session(1),
        10,
        "the retryafter header, retryAfter field, __retryafter-again__ retry_after",
    ));
    index_counting(&env, 0, 0);
    for query in
        ["retryafter", "retryAfter", "\"the retryafter header\"", "\"retry after field\"", "\"retryafter again\""]
    {
        assert_eq!(hit(&env, query)["uuid"], json!(uuid(10)), "{query}");
    }
    stays_sound(&env);
}

#[test]
fn a21_unknown_types() {
    let env = home_with(concat!(
        "{\"uuid\":\"u1\",\"note\":\"typelessword\"}\n",
        "{\"type\":\"novelty\",\"payload\":{\"notes\":[\"noveltyword\",{\"x\":\"innerword\"}]}}\n",
        "{\"type\":7,\"note\":\"numberedword\"}\n",
        "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"hologram\",\"text\":\"hologramword\"},{\"type\":\"text\",\"text\":\"plainword\"}]}}\n",
    ));
    let report = index_counting(&env, 0, 0);
    assert_eq!(report["unknown_lines"], 4);
    assert_eq!(env.status()["unknown_lines"], 4);
    for word in ["typelessword", "noveltyword", "innerword", "numberedword", "hologramword"] {
        assert_eq!(hit(&env, word)["kind"], "unknown", "{word}");
    }
    assert_eq!(role(&env, "plainword"), "assistant");
    stays_sound(&env);
}

#[test]
fn a21_future_fields_of_a_line() {
    let env = home_with(
        r#"{"type":"user","message":{"content":"promptword","mood":"moodword"},"newField":{"x":["fieldword"]}}"#
            .to_string()
            + "\n",
    );
    index_counting(&env, 0, 0);
    assert_eq!(role(&env, "promptword"), "human");
    for word in ["fieldword", "moodword"] {
        assert_eq!(env.count(word), 1, "{word}");
    }
    stays_sound(&env);
}

#[test]
fn a21_future_blocks() {
    let blocks =
        r#"{"type":"hologram","caption":"captionword","scene":{"x":["sceneword"]}},{"type":"text","text":"textword"}"#;
    let env = home_with(format!("{{\"type\":\"assistant\",\"message\":{{\"content\":[{blocks}]}}}}\n"));
    assert_eq!(index_counting(&env, 0, 0)["unknown_lines"], 1);
    assert_eq!(role(&env, "textword"), "assistant");
    for word in ["captionword", "sceneword"] {
        assert_eq!(env.count(word), 1, "{word}");
    }
    stays_sound(&env);
}

#[test]
fn a22_odd_timestamps() {
    let env = home_with("");
    let odd = [
        "",
        "\"timestamp\":1767323045678,",
        "\"timestamp\":\"9999-12-31T00:00:00Z\",",
        "\"timestamp\":\"-1\",",
        "\"timestamp\":-1,",
        "\"timestamp\":\"garbage\",",
        "\"timestamp\":\"\",",
        "\"timestamp\":null,",
        "\"timestamp\":{\"t\":1},",
        "\"timestamp\":\"1969-07-20T20:17:00Z\",",
        "\"timestamp\":\"2026-13-45T99:99:99Z\",",
    ];
    // Each in a file of its own, so that it cannot get the time of a neighbouring line.
    for (number, members) in (10..).zip(odd) {
        env.write(name(number), answer(number, members, &format!("odd{number}time")));
    }
    index_counting(&env, 0, 0);
    for (number, members) in (10..).zip(odd) {
        let found = hit(&env, &format!("\"odd{number}time\""));
        assert_eq!((&found["timestamp"], &found["uuid"]), (&Value::Null, &json!(uuid(number))), "{members}");
    }
    // They must not break the list on the screen either.
    let shown = env.run(&["search", "--no-refresh", "time"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert_eq!(env.problems(), Vec::<String>::new());
    stays_sound(&env);
}

#[test]
fn a23_times_out_of_order() {
    let times = [
        "2026-10-01T10:00:00.000Z",
        "2026-09-30T11:00:00.000Z",
        "2026-10-01T09:59:59.000Z",
        "2026-10-02T00:00:00.000Z",
        "2026-09-30T11:00:00.000Z",
    ];
    let lines: Vec<String> = (10..)
        .zip(times)
        .map(|(number, time)| answer(number, &format!("\"timestamp\":\"{time}\","), "sameword"))
        .collect();
    let env = home_with(lines.concat());
    index_counting(&env, 0, 0);
    let mut hits = env.hits("sameword");
    hits.sort_by_key(|hit| hit["offset"].as_u64());
    assert_eq!(hits.len(), times.len());
    for (at, hit) in hits.iter().enumerate() {
        let number = u32::try_from(at).expect("small");
        assert_eq!(
            (&hit["uuid"], &hit["line"], &hit["timestamp"]),
            (&json!(uuid(10 + number)), &json!(2 + number), &json!(times[at]))
        );
    }
    stays_sound(&env);
}

#[test]
fn a24_same_uuid_twice_in_a_file() {
    let block: String = (10..13).map(|number| user_line(&session(1), number, &format!("blockword{number}"))).collect();
    let env = home_with(block.clone() + &user_line(&session(1), 20, "betweenblocks") + &block);
    let report = index_counting(&env, 0, 0);
    assert_eq!(report["documents"], 3 + 3 + 1 + 3);
    assert_eq!(env.count("blockword"), 3);
    for number in 10..13 {
        let found = hit(&env, &format!("\"blockword{number}\""));
        assert_eq!((&found["uuid"], &found["also_in"]), (&json!(uuid(number)), &json!([])));
    }
    stays_sound(&env);
}

#[test]
fn a25_same_uuid_in_seven_files() {
    let env = home_with("");
    for fork in 10..17 {
        // The copy in the fourth file is the oldest.
        let day = if fork == 13 { "2026-09-01T" } else { "2026-10-01T" };
        let lines: String =
            (20..24).map(|number| user_line(&session(fork), number, &format!("forked message{number}"))).collect();
        env.write(name(fork), lines.replace("2026-10-01T", day));
    }
    assert_eq!(index_counting(&env, 0, 0)["documents"], 3 + 7 * 4);
    let found = env.run(&["search", "--no-refresh", "--json", "--messages", "-n", "1", "forked"]);
    let lines: Vec<Value> = found.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((lines.len(), &lines[1]["hits"]), (2, &json!(4)));
    let hit = hit(&env, "\"message22\"");
    assert_eq!((&hit["session_id"], &hit["timestamp"]), (&json!(session(13)), &json!("2026-09-01T10:00:22.000Z")));
    let others: Vec<String> = [10, 11, 12, 14, 15, 16].map(session).to_vec();
    assert_eq!(hit["also_in"], json!(others));
    stays_sound(&env);
}

#[test]
fn a25_any_of_seven_files_is_enough() {
    for kept in [10, 13, 16] {
        let env = home_with("");
        for fork in 10..17 {
            env.write(
                name(fork),
                user_line(&session(fork), 20, "forkedword") + &user_line(&session(fork), 21, "otherword"),
            );
        }
        env.index();
        (10..17)
            .filter(|fork| *fork != kept)
            .for_each(|fork| std::fs::remove_file(env.file(name(fork))).expect("removed"));
        assert_eq!(env.run(&["index", "--confirm"]).code, 0);
        assert_eq!(env.run(&["prune", "--yes"]).code, 0);
        let found = hit(&env, "forkedword");
        assert_eq!((&found["session_id"], &found["also_in"]), (&json!(session(kept)), &json!([])));
        assert_eq!(env.status()["sessions"], 3);
        stays_sound(&env);
    }
}

#[test]
fn a26_odd_parents() {
    let parent =
        |number, parent: &str| answer(number, &format!("\"parentUuid\":{parent},"), &format!("link{number}word"));
    let id = |number| format!("\"{}\"", uuid(number));
    let silent =
        |number, parent: &str| format!("{{\"type\":\"mode\",\"uuid\":\"{}\",\"parentUuid\":{parent}}}\n", uuid(number));
    let mut lines = parent(10, &id(999_999))
        + &parent(11, &id(11))
        + &parent(12, &id(13))
        + &parent(13, &id(12))
        + &answer(14, "", "link14word");
    // Lines without text as links of the chain: one is its own parent, others form a circle.
    lines += &(silent(20, &id(20))
        + &parent(15, &id(20))
        + &silent(21, &id(22))
        + &silent(22, &id(21))
        + &parent(16, &id(22)));
    for number in 1000..21_000 {
        lines += &parent(number, &id(number - 1));
    }
    let env = home_with(lines);
    assert_eq!(index_counting(&env, 0, 0)["documents"], 3 + 7 + 20_000);
    for number in (10..17).chain([1000, 11_000, 20_999]) {
        assert_eq!(hit(&env, &format!("\"link{number}word\""))["uuid"], json!(uuid(number)));
    }
    stays_sound(&env);
}

#[test]
fn a27_odd_file_names() {
    let env = home_with("");
    let longest = [&b"p/"[..], &b"n".repeat(249), b".jsonl"].concat();
    // The first two differ only in bytes that are not UTF-8.
    let first: [&[u8]; 3] = [b"p/a\xff\n\x1b[31m.jsonl", b"p/a\xfe\n\x1b[31m.jsonl", b"p/100%n%s%2e.jsonl"];
    let names = [first, [b"p/\xe2\x80\xae\xc2\x9b.jsonl", b"-\xff\x1b[2J\n/p.jsonl", &longest]].concat();
    for (number, file) in (10..).zip(names) {
        let bytes = user_line(&session(number), number, &format!("name{number}word")) + "badline\n";
        env.write(OsStr::from_bytes(file), bytes);
    }
    index_counting(&env, 6, 0);
    for number in 10..16 {
        assert_eq!(hit(&env, &format!("\"name{number}word\""))["uuid"], json!(uuid(number)));
    }
    assert_eq!(env.problems().len(), 6, "{:?}", env.problems());
    for args in ["status --problems", "status --json", "search --no-refresh word", "search --json word"] {
        let shown = env.run(&args.split(' ').collect::<Vec<_>>());
        let text = shown.stdout + &shown.stderr;
        assert!(!text.contains(['\x1b', '\u{9b}', '\u{202e}']), "{args} {text:?}");
    }
    assert_eq!(env.index_json()["unchanged"], 8);
    stays_sound(&env);
}

#[test]
fn a28_files_that_are_not_transcripts() {
    let env = home_with("");
    let id = session(3);
    let names = [
        format!("{id}.jsonl~"),
        format!("{id}.jsonl.gz"),
        format!(".{id}.jsonl.swp"),
        format!(".{id}.jsonl"),
        format!("{id}.jsonl.bak"),
        format!("{id}.JSONL.tmp"),
        "notes.txt".into(),
        "4913".into(),
    ];
    for name in &names {
        env.write(Path::new("-home-u-x").join(name), user_line(&id, 10, "foreignword"));
    }
    let report = index_counting(&env, 0, 0);
    assert_eq!((&report["files"], &report["problems"]), (&json!(2), &json!([])));
    assert_eq!(env.count("foreignword"), 0);
    let verbose = env.run(&["status", "--verbose"]).stdout;
    let others = [&["status"][..], &["status", "--problems"], &["index"]].map(|args| env.run(args).stdout).concat();
    for name in &names {
        assert!(verbose.contains(&format!("/{name}: ")), "{name} {verbose}");
        assert!(!others.contains(&format!("/{name}")), "{name} {others}");
    }
    stays_sound(&env);
}

#[test]
fn a29_files_that_are_not_regular() {
    let env = home_with("");
    let fifo = |path: PathBuf| assert!(Command::new("mkfifo").arg(path).status().expect("ran").success());
    fifo(env.file(name(3)));
    fifo(env.file(format!("-home-u-x/{}/subagents/agent-a1.meta.json", session(1))));
    fifo(env.file(format!("-home-u-x/{}/tool-results/b1.txt", session(1))));
    fifo(env.claude().join("history.jsonl"));
    let _socket = std::os::unix::net::UnixListener::bind(env.file("-home-u-x/s.jsonl")).expect("bound");
    // Creating a device needs root.
    let mut device = Command::new("mknod");
    let _ = device.arg(env.file("-home-u-x/zero.jsonl")).args(["c", "1", "5"]).stderr(Stdio::null()).status();
    for (link, target) in [("v", "/proc/version"), ("m", "/proc/kmsg"), ("z", "/dev/zero"), ("self", "/proc/self/mem")]
    {
        std::os::unix::fs::symlink(target, env.file(format!("-home-u-x/{link}.jsonl"))).expect("linked");
    }
    for args in [&["index", "--json"][..], &["search", "soundbefore"], &["status", "--verbose"], &["verify", "--deep"]]
    {
        let ran = under(&env, "exec timeout -s KILL 20 \"$@\"", args);
        assert_eq!(ran.code, 0, "{args:?} {}", ran.stderr);
    }
    assert_eq!(env.index_json()["files"], 2);
    let verbose = env.run(&["status", "--verbose"]).stdout;
    assert!(
        verbose.contains("s.jsonl: not a regular file") && verbose.contains("v.jsonl: not a regular file"),
        "{verbose}"
    );
    stays_sound(&env);
}

#[test]
fn a30_folders_in_place_of_files_and_files_in_place_of_folders() {
    let env = home_with("");
    // A folder with the name of a transcript, containing one; files where project and agent folders should be.
    env.write(format!("{}/inner.txt", name(3)), "x");
    env.write("stray.jsonl", user_line(&session(4), 10, "strayword"));
    env.write("straytext", "x");
    env.write(format!("-home-u-x/{}/subagents", session(1)), "x");
    env.write(format!("-home-u-x/{}/tool-results", session(2)), "x");
    std::fs::create_dir_all(env.claude().join("history.jsonl")).expect("made");
    let ran = env.run(&["index"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let problems = env.problems();
    assert!(
        problems.len() == 1
            && problems[0].contains(&format!("{}.jsonl: a folder with the name of a transcript", session(3))),
        "{problems:?}"
    );
    let verbose = env.run(&["status", "--verbose"]).stdout;
    for reason in [
        "stray.jsonl: not a project folder",
        "straytext: not a project folder",
        "subagents: not a transcript",
        "tool-results: not a transcript",
    ] {
        assert!(verbose.contains(reason), "{reason} {verbose}");
    }
    stays_sound(&env);
}

#[test]
fn a30_a_file_in_place_of_the_projects_folder() {
    let env = home_with("");
    env.index();
    let projects = env.claude().join("projects");
    let aside = env.path().join("aside");
    std::fs::rename(&projects, &aside).expect("moved");
    std::fs::write(&projects, "x").expect("written");
    assert_eq!(env.run(&["index"]).code, 3);
    assert!(
        env.problems().iter().any(|problem| problem.contains("source root cannot be read")),
        "{:?}",
        env.problems()
    );
    // What could not be listed is not taken for deleted.
    assert_eq!((env.status()["sessions_only_in_index"].as_u64(), env.count("soundbefore")), (Some(0), 1));
    std::fs::remove_file(&projects).expect("removed");
    std::fs::rename(&aside, &projects).expect("moved back");
    assert_eq!(env.run(&["index"]).code, 0);
    stays_sound(&env);
}

/// A line of a subagent.
fn agent_line(agent: &str, number: u32, text: &str) -> String {
    user_line(&session(1), number, text)
        .replace("\"isSidechain\":false", &format!("\"isSidechain\":true,\"agentId\":\"{agent}\""))
}

#[test]
fn a31_subagents_and_sidechains() {
    let sidechain = user_line(&session(1), 9, "sidechainword").replace("\"isSidechain\":false", "\"isSidechain\":true");
    let env = home_with(sidechain);
    let folder = format!("-home-u-x/{}/subagents", session(1));
    for number in 0..1700 {
        // Older versions wrote to the project folder; newer ones to a folder that may have subfolders.
        let place = [folder.as_str(), "-home-u-x", &format!("{folder}/workflows/w1")][number as usize % 3].to_string();
        env.write(
            format!("{place}/agent-a{number:04}.jsonl"),
            agent_line(&format!("a{number:04}"), number + 10, &format!("errand task{number}")),
        );
    }
    env.write(format!("{folder}/agent-a0000.meta.json"), r#"{"agentType":"Explore","description":"described errand"}"#);
    index_counting(&env, 0, 0);
    let state = env.status();
    assert_eq!((&state["sessions"], &state["agents"], &state["behind"]["files"]), (&json!(2), &json!(1700), &json!(0)));
    for number in [0, 1, 2, 849, 1697, 1698, 1699] {
        let found = hit(&env, &format!("\"task{number}\""));
        let linked = (found["session_id"].clone(), found["agent_id"].clone(), found["role"].clone());
        assert_eq!(linked, (json!(session(1)), json!(format!("a{number:04}")), json!("subagent")));
    }
    assert_eq!((role(&env, "sidechainword"), role(&env, "described")), ("subagent".into(), "subagent".into()));
    // For the user all of it is one session.
    let found = env.run(&["search", "--no-refresh", "--json", "errand"]).stdout;
    let summary: Value = serde_json::from_str(found.lines().last().expect("a summary")).expect("JSON");
    assert_eq!((&summary["sessions"], &summary["hits"]), (&json!(1), &json!(1701)));
    stays_sound(&env);
}

/// The description of a subagent is read only up to the length limit.
#[test]
fn a31_a_huge_description() {
    let env = home_with(String::new());
    let folder = format!("-home-u-x/{}/subagents", session(1));
    env.write(format!("{folder}/agent-a1.jsonl"), agent_line("a1", 10, "errand"));
    let padding = "x".repeat(1 << 20);
    env.write(format!("{folder}/agent-a1.meta.json"), format!(r#"{{"description":"described","pad":"{padding}"}}"#));
    let report = env.index_json();
    assert!(report["problems"].to_string().contains("not a subagent description"), "{report}");
    assert_eq!((env.count("described"), env.count("errand")), (0, 1));
}

/// The last line may be too long to be read, and still unfinished.
#[test]
fn a16_a_huge_unfinished_line() {
    let env = home_with("");
    let whole = user_line(&session(2), 10, &"lorem ipsum ".repeat(6_000_000));
    let (first, rest) = whole.split_at(whole.len() - 1000);
    env.append(name(2), first);
    index_counting(&env, 0, 0);
    env.append(name(2), rest.to_string() + &user_line(&session(2), 11, "behindhuge"));
    index_counting(&env, 0, 1);
    assert_eq!(env.count("behindhuge"), 1);
    stays_sound(&env);
}

/// A tool output in a file of its own is cut between characters. A binary one is listed, but not read.
#[test]
fn a19_spilled_outputs() {
    let env = home_with("");
    let folder = format!("-home-u-x/{}/tool-results", session(1));
    let mut text = "a ".repeat((256 << 10) / 2);
    text.replace_range((256 << 10) - 1.., "äspillbehind");
    env.write(format!("{folder}/b1.txt"), &text);
    env.write(format!("{folder}/b2.txt"), b"\x7fELF\0\0 spillbinary");
    env.index();
    assert_eq!((env.count("äspillbehind"), env.count("spillbinary")), (1, 0));
    assert_eq!(hit(&env, "\"binary output\"")["kind"], "output");
}

/// What a parent saw of a subagent is replaced when the subagent's own transcript appears.
#[test]
fn a31_a_subagent_whose_transcript_appears_later() {
    let env = home_with("");
    let inner = r#"{"type":"assistant","uuid":"in1","message":{"content":[{"type":"text","text":"seenbyparent"}]}}"#;
    let id = session(1);
    env.append(
        name(1),
        format!(r#"{{"type":"progress","uuid":"p1","sessionId":"{id}","timestamp":"2026-10-01T11:00:00.000Z","data":{{"type":"agent_progress","agentId":"late1","message":{inner}}}}}"#) + "\n",
    );
    env.index();
    assert_eq!(env.count("seenbyparent"), 1);
    env.verify();
    let own = inner.replacen('{', r#"{"isSidechain":true,"agentId":"late1","#, 1).replace("seenbyparent", "saiditself");
    env.write(format!("-home-u-x/{id}/subagents/agent-late1.jsonl"), own + "\n");
    env.index();
    assert_eq!((env.count("seenbyparent"), env.count("saiditself")), (0, 1), "the same as if both were read at once");
    env.verify();
}
