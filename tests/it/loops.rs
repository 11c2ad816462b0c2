//! Fault catalogue, section C: the real binary and the real kernel. Killed at random times (C3), power cuts (C4, C7),
//! out of memory (C9), signals (C12), closed pipes (C14); also B10, B24, D3, E2 and F31, which need the same tools.
//! Short by default; `UNSPOOL_LONG=1` repeats as often as the catalogue asks.

#![expect(clippy::zombie_processes, reason = "helpers that stop a child wait for it")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::env::{Env, Ran};
use crate::support::is_long;
use crate::support::privileges::{MemoryGroup, Mount, is_root};
use crate::support::process::{at_each_stop, finish, skip, tool, under, works};
use crate::support::scene::parse;
use crate::support::transcript::{session, user_line};
use crate::support::world::World;

/// Temporary files of an index, and files that no commit names.
fn left_over(world: &World) -> (Vec<String>, Vec<String>) {
    let folder = world.index_in(&world.data_dir()).directory();
    let meta = fs::read_to_string(folder.join("meta.json")).unwrap_or_default().replace('-', "");
    let names = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("entry").file_name());
    let names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    let orphan = |name: &&String| name.split_once('.').is_some_and(|(id, _)| id.len() == 32 && !meta.contains(id));
    let orphans = names.iter().filter(orphan).cloned().collect();
    (names.iter().filter(|name| name.starts_with(".tmp")).cloned().collect(), orphans)
}

#[test]
fn c3_killed_at_random_times() {
    let world = World::new();
    let mut time = 1_u64;
    for round in 0..if is_long() { 1000 } else { 20 } {
        world.append(round % 4, &[round % 7, 0, 2]);
        world.remember();
        let mut command = world.command("batch:500", &["index", "--quiet"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
        time = time.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_micros((time >> 33) % 60_000));
        let _ = child.kill();
        let ended = child.wait().expect("ended");
        let sound = world.sound(&world.data_dir());
        assert_eq!(sound, Ok(()), "round {round}");
        if ended.success() {
            // A reported success must be true. `remember` has noted the current content of the files.
            assert_eq!(world.whole(&world.data_dir()), Ok(()), "round {round}");
        }
        let (temporary, _) = left_over(&world);
        assert!(temporary.len() <= 2, "round {round}: {temporary:?}");
    }
    // The next run that writes removes what a kill during a merge left; a run with nothing new does not.
    world.append(0, &[0]);
    world.remember();
    let ran = world.run("batch:999999999", &["index"]);
    assert!(matches!(ran.code, 0 | 3), "{} {}", ran.code, ran.stderr);
    assert_eq!(world.heals(), Ok(()));
    let (temporary, orphans) = left_over(&world);
    assert!(temporary.is_empty() && orphans.is_empty(), "{temporary:?} {orphans:?}");
}

/// The power is cut right after the run reports success: everything must be on the disk by then.
#[test]
fn c4_power_cut_after_the_end() {
    let world = World::new();
    let image = world.path().join("disk.img");
    if !is_root() || !works("mkfs.ext4", &["-V"]) {
        return skip("needs root and mkfs.ext4");
    }
    fs::File::create(&image).and_then(|file| file.set_len(48 << 20)).expect("made");
    assert!(works("mkfs.ext4", &["-q", "-F", image.to_str().expect("a path")]));
    let mounted = |image: &Path, name: &str| {
        Mount::new(&["-o", "loop", image.to_str().expect("a path")], &world.path().join(name))
    };
    let Some(_disk) = mounted(&image, "disk") else { return };
    let data = world.path().join("disk/data");
    for round in 0..if is_long() { 100 } else { 3 } {
        world.append(round % 4, &[0, 1, round % 7]);
        world.remember();
        let ran = Ran::from(world.command_in(&data, "batch:999999999", &["index", "--quiet"]).output().expect("ran"));
        assert!(matches!(ran.code, 0 | 3), "{} {}", ran.code, ran.stderr);
        // The image file contains what was synced, and nothing that is only in the page cache of the mounted disk.
        let copy = world.path().join("cut.img");
        assert!(tool("cp").arg("--sparse=always").args([&image, &copy]).status().expect("ran").success());
        let Some(_cut) = mounted(&copy, "cut") else { return };
        assert_eq!(world.whole(&world.path().join("cut/data")), Ok(()), "round {round}");
    }
}

/// Killed by the kernel for lack of memory during a merge: the next run continues, and reads nothing again.
#[test]
fn c9_out_of_memory() {
    let env = Env::new();
    let text = |number: u32| user_line(&session(number), number, &format!("cneun{number} {}", words(number, 9_000)));
    for number in 0..60 {
        env.write(format!("-p/{}.jsonl", session(number)), text(number));
    }
    let Some(group) = MemoryGroup::new("oom", 16) else { return };
    let ran = group.run(&env, &["index"]);
    assert!(matches!(ran.code, -1 | 0 | 2 | 6), "{} {}", ran.code, ran.stderr);
    env.heal();
    assert_eq!(env.index_json()["bytes"], 0);
    assert!((0..60).all(|number| env.count(&format!("\"cneun{number}\"")) == 1));
}

fn words(seed: u32, count: u32) -> String {
    (0..count).map(|at| format!("w{:x} ", (seed * 100_000 + at).wrapping_mul(2_654_435_761))).collect()
}

/// After a signal a run keeps what it has done, reports it, and ends at once.
#[test]
fn c12_interrupted() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let world = World::new();
        for file in 0..4 {
            world.append(file, &[0, 1, 2, 6, 0, 1]);
        }
        world.remember();
        let mut command = world.command("stop@25,batch:1", &["index"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
        let pid = Pid::from_child(&child);
        let code = at_each_stop(pid, || kill_process(pid, signal).expect("sent"));
        // On a busy machine the run may finish before it notices the signal.
        assert!(matches!(code, Some(130 | 0)), "{signal:?}: {code:?}");
        assert_eq!(world.sound(&world.data_dir()), Ok(()));
        assert_eq!(world.heals(), Ok(()));
    }
}

/// A signal in the middle of a huge line. A separate thread waits for signals. On a busy machine it may be late, but
/// not every time.
#[test]
fn c12_interrupted_in_a_huge_line() {
    let seen: Vec<_> = (0..8).map(|_| interrupted_in_a_huge_line()).collect();
    // It has read almost nothing of the rest of the line; each read takes a quarter of a megabyte.
    assert!(seen.iter().any(|(code, reads)| *code == Some(130) && *reads <= 2), "{seen:?}");
}

fn interrupted_in_a_huge_line() -> (Option<i32>, usize) {
    let world = World::new();
    world.append(0, &[0]);
    world.change(0, |bytes| bytes.resize(90 << 20, b'x'));
    let record = world.path().join("points");
    let mut command = world.command(&format!("stop@60,record:{}", record.display()), &["index"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    let pid = Pid::from_child(&child);
    let code = at_each_stop(pid, || kill_process(pid, Signal::TERM).expect("sent"));
    let points = parse(&fs::read(record).expect("recorded"));
    assert_eq!(points[59].letter, 'i');
    let reads = points[60..].iter().filter(|point| point.letter == 'i').count();
    // What was read before the signal is in the index.
    let reader = world.index_in(&world.data_dir()).read().expect("readable").expect("there");
    assert_eq!(reader.checkpoints().expect("checkpoints").len(), 1);
    (code, reads)
}

#[test]
fn c14_the_reader_goes_away() {
    let env = Env::new();
    let id = session(1);
    let lines: String = (0..400).map(|line| user_line(&id, line, &format!("cvierzehn {}", words(line, 60)))).collect();
    env.write(format!("-p/{id}.jsonl"), lines);
    env.index();
    for args in
        [&["search", "--messages", "-n", "400", "cvierzehn"][..], &["search", "--json", "-n", "400", "cvierzehn"]]
    {
        let mut child =
            env.command().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        let mut first = Vec::new();
        let mut pipe = BufReader::with_capacity(64, child.stdout.take().expect("piped"));
        pipe.read_until(b'\n', &mut first).expect("read");
        drop(pipe);
        let ran = Ran::from(child.wait_with_output().expect("ended"));
        assert!(!first.is_empty());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?}");
    }
    for command in ["status", "verify", "index"] {
        let mut shell = under(&env, &["sh", "-c", "\"$@\" | true", "sh"]);
        let ran = finish(shell.arg(command));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{command}");
    }
}

/// A transcript was torn by a power cut, and Claude Code continues to write after the torn line.
#[test]
fn c7_a_source_torn_by_a_power_cut() {
    let env = Env::new();
    let id = session(1);
    let name = format!("-p/{id}.jsonl");
    let half = user_line(&id, 2, "csieben torn");
    env.write(&name, user_line(&id, 1, "csieben first") + &half[..half.len() / 2]);
    env.index();
    env.append(&name, [0; 4096]);
    env.index();
    env.append(&name, "\n".to_string() + &user_line(&id, 3, "csieben behind"));
    env.heal();
    assert_eq!((env.count("\"csieben first\""), env.count("\"csieben behind\"")), (1, 1));
    assert!(env.problems().iter().any(|problem| problem.contains("NUL")), "{:?}", env.problems());
}

/// A change that keeps size and time: `index` cannot see it, `verify` does.
#[test]
fn b10_changed_without_a_trace() {
    for (line, deep) in [(0, false), (40, true)] {
        let env = Env::new();
        let id = session(1);
        let lines: String = (0..80).map(|line| user_line(&id, line, "bzehn words")).collect();
        let path = env.write(format!("-p/{id}.jsonl"), &lines);
        env.index();
        let time = fs::metadata(&path).expect("there").modified().expect("a time");
        let at = lines.match_indices("bzehn").nth(line).expect("a line").0;
        let changed = [&lines[..at], "bzehM", &lines[at + 5..]].concat();
        let file = fs::File::options().write(true).open(&path).expect("opened");
        std::os::unix::fs::FileExt::write_all_at(&file, changed.as_bytes(), 0).expect("written");
        file.set_modified(time).expect("time set");
        assert_eq!(env.index_json()["bytes"], 0);
        let found = env.run(if deep { &["verify", "--deep"] } else { &["verify"] });
        assert_eq!(found.code, 3, "{}", found.stdout);
        assert!((found.stdout + &found.stderr).contains("was changed, but its size and time were not"));
    }
}

/// A stopped run keeps its lock, and other runs report it. After it continues, it succeeds.
#[test]
fn b24_stopped_and_continued() {
    let world = World::new();
    world.append(0, &[0, 1, 2]);
    world.remember();
    let mut command = world.command("stop@30", &["index"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    let pid = Pid::from_child(&child);
    let code = at_each_stop(pid, || {
        let ran = world.run("batch:999999999", &["index", "--wait", "0"]);
        assert_eq!(ran.code, 5, "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("pid {}", pid.as_raw_nonzero())), "{}", ran.stderr);
    });
    assert_eq!(code, Some(0));
    assert_eq!(world.whole(&world.data_dir()), Ok(()));
}

#[test]
fn d3_no_inodes_left() {
    let env = Env::new();
    env.write(format!("-p/{}.jsonl", session(1)), user_line(&session(1), 1, "ddrei"));
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "mode=0700,nr_inodes=9", "tmpfs"], &env.index_dir()) else {
        return;
    };
    let ran = finish(env.command().arg("index"));
    assert_eq!(ran.code, 6, "{}", ran.stderr);
    assert!(works("mount", &["-o", "remount,nr_inodes=1000", env.index_dir().to_str().expect("a path")]));
    env.heal();
    assert_eq!(env.count("ddrei"), 1);
}

/// A reader with an open index keeps its answers while a new index replaces it.
#[test]
fn e2_a_reader_outlives_a_rebuild() {
    let world = World::new();
    world.append(0, &[0, 1]);
    world.index().expect("indexed");
    let old = world.index_in(&world.data_dir()).read().expect("readable").expect("there");
    world.append(0, &[0]);
    let ran = world.run("batch:999999999", &["index", "--rebuild"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let file = old.checkpoints().expect("checkpoints").pop().expect("a file");
    assert_eq!(old.documents_of(file.key()).expect("documents").len(), 2);
    let new = world.index_in(&world.data_dir()).read().expect("readable").expect("there");
    assert_eq!(new.documents_of(file.key()).expect("documents").len(), 3);
}

/// A forgotten session is not in any file of the index, nor in a damaged index that was set aside.
#[test]
fn f31_forgotten_for_good() {
    const WORDS: [&str; 4] = ["", "okapi", "quagga", "tapir"];
    let env = Env::new();
    for number in 1..4 {
        let id = session(number);
        let name = format!("-p/{id}.jsonl");
        env.write(
            &name,
            user_line(&id, number, &format!("zebra {}", WORDS[number as usize])) + &user_line(&id, 9, "more of it"),
        );
    }
    env.index();
    let meta = env.index_folder().join("meta.json");
    fs::write(&meta, fs::read_to_string(&meta).expect("read").replace("\"branch\"", "\"brunch\"")).expect("written");
    env.index();
    let aside = || fs::read_dir(env.index_dir()).expect("listed").map(|entry| entry.expect("entry").path());
    let aside = || aside().filter(|path| path.to_string_lossy().ends_with(".damaged")).count();
    assert_eq!(aside(), 1);
    assert_eq!(env.run(&["forget", "--yes", &session(2)]).code, 0);
    assert_eq!(aside(), 0);
    // A segment with deletions would still contain the text.
    let meta: Value = serde_json::from_slice(&fs::read(&meta).expect("read")).expect("JSON");
    let segments = meta["segments"].as_array().expect("segments");
    assert!(segments.iter().all(|segment| segment["deletes"].is_null()), "{segments:?}");
    assert_eq!((env.count("quagga"), env.count("okapi"), env.count("zebra")), (0, 1, 2));
    env.heal();
}

/// A rebuild that is interrupted leaves the index unchanged: an incomplete index must not replace a complete one.
#[test]
fn c12_interrupted_rebuild_changes_nothing() {
    let mut interrupted = 0;
    for at in [20, 25, 30, 35, 40] {
        let world = World::new();
        for file in 0..4 {
            world.append(file, &[0, 1, 2, 6, 0, 1]);
        }
        world.remember();
        assert_eq!(world.heals(), Ok(()));
        let documents = || {
            let reader = world.index_in(&world.data_dir()).read().expect("readable").expect("there");
            reader.size().expect("counted").documents
        };
        let before = documents();
        let mut command = world.command(&format!("stop@{at},batch:1"), &["index", "--rebuild"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
        let pid = Pid::from_child(&child);
        let code = at_each_stop(pid, || kill_process(pid, Signal::INT).expect("sent"));
        interrupted += usize::from(code == Some(130));
        assert_eq!(documents(), before, "stopped at {at}: {code:?}");
        assert_eq!(world.heals(), Ok(()));
    }
    assert!(interrupted > 0, "never stopped in time");
}
