//! Fault catalogue, section A: memory, descriptors and disk space of a run on the largest inputs (A16, A17, A18). These
//! tests take minutes and gigabytes, and do nothing without `UNSPOOL_LONG=1`. `UNSPOOL_BIN` names another binary to
//! measure, such as a release build.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::env::Env;
use crate::support::is_long;
use crate::support::process::skip;
use crate::support::transcript::{session, user_line};

/// The promised limits; memory in megabytes.
const MEMORY: u64 = 300;
const DESCRIPTORS: usize = 64;

/// The resources that a run took.
#[derive(Debug)]
struct Measured {
    code: Option<i32>,
    report: Value,
    megabytes: u64,
    descriptors: usize,
    seconds: u64,
}

#[expect(clippy::disallowed_methods, reason = "a switch for the person who runs the tests")]
fn binary() -> PathBuf {
    std::env::var_os("UNSPOOL_BIN").map_or_else(|| env!("CARGO_BIN_EXE_unspool").into(), PathBuf::from)
}

/// Indexes with few descriptors, and measures the process until it ends. Kills it once it has read `kill_at` bytes.
fn index(env: &Env, kill_at: Option<u64>) -> Measured {
    let inner = env.command();
    let out = env.path().join("report.json");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "ulimit -n 64; exec \"$@\"", "sh"]).arg(binary()).args(["index", "--json"]).env_clear();
    inner.get_envs().for_each(|(name, value)| _ = command.env(name, value.unwrap_or_default()));
    let begun = Instant::now();
    let stdout = File::create(&out).expect("made");
    let mut child = command.stdout(stdout).stderr(Stdio::null()).spawn().expect("started");
    let process = PathBuf::from(format!("/proc/{}", child.id()));
    let (mut kilobytes, mut descriptors) = (0, 0);
    let ended = loop {
        kilobytes = number_in(&process.join("status"), "VmHWM:").unwrap_or(0).max(kilobytes);
        descriptors = fs::read_dir(process.join("fd")).map_or(0, Iterator::count).max(descriptors);
        if let Some(ended) = child.try_wait().expect("waited") {
            break ended;
        }
        if kill_at.is_some_and(|bytes| number_in(&process.join("io"), "rchar:").is_some_and(|read| read > bytes)) {
            child.kill().expect("killed");
        }
        std::thread::sleep(Duration::from_millis(3));
    };
    let report = serde_json::from_slice(&fs::read(out).expect("read")).unwrap_or_default();
    let seconds = begun.elapsed().as_secs();
    Measured { code: ended.code(), report, megabytes: kilobytes / 1024, descriptors, seconds }
}

fn number_in(file: &Path, key: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| line.strip_prefix(key))?.split_whitespace().next()?.parse().ok()
}

#[expect(clippy::print_stderr, reason = "the figures are the purpose of this test")]
fn within_bounds(what: &str, taken: &Measured) {
    eprintln!(
        "{what}: exit {:?}, {} MB, {} descriptors, {} s",
        taken.code, taken.megabytes, taken.descriptors, taken.seconds
    );
    assert!(taken.megabytes <= MEMORY && taken.descriptors <= DESCRIPTORS, "{taken:?}");
}

fn index_size(env: &Env) -> u64 {
    let folder = env.index_folder();
    fs::read_dir(folder).expect("listed").map(|entry| entry.expect("entry").metadata().expect("there").len()).sum()
}

fn writer(env: &Env, number: u32) -> BufWriter<File> {
    BufWriter::with_capacity(1 << 20, File::create(env.file(format!("-p/{}.jsonl", session(number)))).expect("made"))
}

#[test]
fn a16_line_of_a_gigabyte() {
    if !is_long() {
        return skip("needs UNSPOOL_LONG=1");
    }
    let env = Env::new();
    let mut file = writer(&env, 1);
    file.write_all(user_line(&session(1), 1, "before it").as_bytes()).expect("written");
    file.write_all(br#"{"type":"user","uuid":"x","message":{"content":""#).expect("written");
    (0..1024).for_each(|_| file.write_all(&[b'a'; 1 << 20]).expect("written"));
    file.write_all(b"\"}}\n").expect("written");
    file.write_all(user_line(&session(1), 2, "behind it").as_bytes()).expect("written");
    drop(file);
    let taken = index(&env, None);
    within_bounds("a line of 1 GB", &taken);
    assert_eq!((taken.code, &taken.report["oversized_lines"]), (Some(3), &1.into()), "{taken:?}");
    assert_eq!((env.count("before"), env.count("behind")), (1, 1));
    env.verify();
}

#[test]
fn a17_file_of_four_gigabytes() {
    if !is_long() {
        return skip("needs UNSPOOL_LONG=1");
    }
    let env = Env::new();
    let mut file = writer(&env, 1);
    let (mut size, mut lines) = (0_u64, 0_u32);
    while size < 4 << 30 {
        lines += 1;
        let text = format!("marker{lines} some plain words to be read and {:x}", lines.wrapping_mul(2_654_435_761));
        let line = user_line(&session(1), lines, &text);
        file.write_all(line.as_bytes()).expect("written");
        size += line.len() as u64;
    }
    drop(file);
    let killed = index(&env, Some(size / 2));
    within_bounds("4 GB in one file, killed at half", &killed);
    assert_eq!(killed.code, None, "{killed:?}");
    let taken = index(&env, None);
    within_bounds("the rest of it", &taken);
    assert_eq!(taken.code, Some(0), "{taken:?}");
    let read = taken.report["bytes"].as_u64().expect("a number");
    assert!(read < size * 7 / 10, "{read} of {size} bytes were read again");
    for number in [1, lines / 2, lines] {
        assert_eq!(env.count(&format!("\"marker{number}\"")), 1);
    }
    env.verify();
}

#[test]
fn a18_a_hundred_thousand_files() {
    if !is_long() {
        return skip("needs UNSPOOL_LONG=1");
    }
    let env = Env::new();
    for number in 0..100_000_u32 {
        let file = format!("-home-u-p{}/{}.jsonl", number % 10_000, session(number));
        env.write(file, user_line(&session(number), number, &format!("small file{number}")));
    }
    let taken = index(&env, None);
    within_bounds("100,000 files", &taken);
    assert_eq!((taken.code, &taken.report["new"]), (Some(0), &100_000.into()), "{taken:?}");
    let again = index(&env, None);
    within_bounds("100,000 files, unchanged", &again);
    for number in [0, 5_000, 99_999] {
        assert_eq!(env.count(&format!("\"file{number}\"")), 1);
    }
    assert!(index_size(&env) < 400 << 20, "{} bytes", index_size(&env));
    env.verify();
}
