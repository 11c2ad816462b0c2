//! Fuzzing on stable Rust: mutates seeds at random and passes them to every target in `targets.rs`.
//!
//! `cargo test` tries a few thousand inputs, the same each time. `scripts/fuzz SECONDS` fuzzes each target for that
//! long, with different inputs each time. Inputs that make a target fail are saved in `found/`; every later run tries
//! them first.

mod targets;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use targets::{TARGETS, Target};

/// Number of inputs that `cargo test` tries for each target.
const SHORT: u64 = 3000;
/// Maximum time for one input. It detects hangs and is not a measurement.
const GUARD: Duration = Duration::from_secs(10);
const LONGEST: usize = 20_000;

/// Words that reach deeper into a target than random bytes.
const WORDS: [&str; 40] = [
    "{\"type\":\"user\",",
    "\"message\":{\"content\":",
    "\"uuid\":\"a\"",
    "}{",
    "\\ud83d",
    "\\u0000",
    "\u{202e}",
    "\u{1b}[",
    "]52;c;",
    "\u{feff}",
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    "1e999",
    "NaN",
    "-",
    "(",
    ")",
    " OR ",
    "NOT ",
    "\"",
    "/.*/",
    "tool:",
    "since:",
    "2d",
    "ago",
    "last ",
    "2026-02-30",
    "@9999999999999",
    "T25:61",
    "..",
    "/",
    "c:\\",
    "~",
    "*",
    "?",
    "\n",
    "null",
    "[",
    "]",
    "\u{200d}",
    "\"path_hex\":\"c3",
];

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % (limit.max(1) as u64)).expect("small")
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz").join(name)
}

fn files(folder: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("entry").path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("read")).collect()
}

/// Returns the seeds of a target: its own, and also the fixtures if it reads transcripts.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let mut seeds = files(&folder("seeds").join(name));
    if matches!(name, "line" | "document") {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/growth");
        let torn = fixtures.join("../malformed/.claude/projects/-home-dana-code-torn-all");
        let lines = files(&fixtures).into_iter().chain(files(&torn));
        seeds.extend(lines.flat_map(|file| file.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>()));
    }
    assert!(!seeds.is_empty(), "no seeds for {name}");
    seeds
}

/// Returns a seed with a few random changes.
fn changed(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        match random.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 if at < bytes.len() => bytes[at] = u8::try_from(random.below(256)).expect("a byte"),
            2 => bytes.truncate(at),
            3 => {
                let end = (at + random.below(40)).min(bytes.len());
                bytes.drain(at..end);
            }
            4 => {
                let end = (at + random.below(200)).min(bytes.len());
                let piece = bytes[at..end].repeat(1 + random.below(20));
                bytes.splice(at..at, piece);
            }
            5 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend(&other[from..]);
            }
            _ => {
                let word = WORDS[random.below(WORDS.len())].repeat(1 + random.below(3));
                bytes.splice(at..at, word.into_bytes());
            }
        }
        bytes.truncate(LONGEST);
    }
    bytes
}

/// Runs a target on an input. Saves and reports the input if the target fails.
fn tried(target: Target, bytes: &[u8]) -> Result<(), String> {
    let begun = Instant::now();
    let done = catch_unwind(AssertUnwindSafe(|| target.1(bytes)));
    let what = match done {
        Err(_) => "it panics",
        Ok(()) if begun.elapsed() > GUARD => "it hangs",
        Ok(()) => return Ok(()),
    };
    let name = folder("found").join(target.0).join(format!("{:016x}", hash_of(bytes)));
    let _ = fs::create_dir_all(name.parent().expect("a parent"));
    let _ = fs::write(&name, bytes);
    Err(format!("{}: {what} on {}", target.0, name.display()))
}

/// Returns the FNV-1a hash, which names the files in `found/`.
fn hash_of(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Returns the requested time for each target, if any.
#[expect(clippy::disallowed_methods, reason = "a switch for whoever runs the tests")]
fn seconds() -> Option<u64> {
    std::env::var("UNSPOOL_FUZZ_SECONDS").ok()?.parse().ok()
}

#[expect(clippy::print_stderr, reason = "whoever waits for this wants to know")]
fn fuzz(name: &str) {
    let target = *TARGETS.iter().find(|target| target.0 == name).expect("a target");
    let seeds = seeds(name);
    for bytes in files(&folder("found").join(name)).iter().chain(&seeds) {
        assert_eq!(tried(target, bytes), Ok(()));
    }
    let begun = Instant::now();
    let beginning = if seconds().is_some() { u64::from(std::process::id()) << 20 } else { 1 };
    let mut random = Random(beginning);
    let mut count = 0_u64;
    let goes_on = |count: u64| seconds().map_or(count < SHORT, |seconds| begun.elapsed().as_secs() < seconds);
    while goes_on(count) {
        count += 1;
        let bytes = changed(&seeds, &mut random);
        assert_eq!(tried(target, &bytes), Ok(()));
    }
    eprintln!("{name}: {count} inputs");
}

#[test]
fn fuzz_line() {
    fuzz("line");
}

#[test]
fn fuzz_document() {
    fuzz("document");
}

#[test]
fn fuzz_checkpoint() {
    fuzz("checkpoint");
}

#[test]
fn fuzz_query() {
    fuzz("query");
}

#[test]
fn fuzz_date() {
    fuzz("date");
}

#[test]
fn fuzz_terminal() {
    fuzz("terminal");
}

#[test]
fn fuzz_path() {
    fuzz("path");
}

#[test]
fn fuzz_glob() {
    fuzz("glob");
}

#[test]
fn fuzz_secret() {
    fuzz("secret");
}
