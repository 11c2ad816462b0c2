//! Fault catalogue, section B: concurrent runs and searches, and files that change while they are read. B10 and B24 are
//! in `loops.rs`, B20 to B22 in `watch.rs`; `crash.rs` repeats B4 and B5 at every operation.

use std::fs::{File, FileTimes};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::env::{Env, Ran};
use crate::support::privileges::{Mount, as_nobody, give_to};
use crate::support::process::{
    can_trace, finish, guarded, pid_of, skip, start_stopped_search, tool, traced_child, under, works,
};
use crate::support::transcript::{session, user_line};

/// A session long enough to be caught while it is read. Its first and last lines contain `<word>first` and
/// `<word>last`.
fn long_session(session: &str, number: u32, word: &str) -> String {
    let filler = "the same plain words again and again ".repeat(50);
    let middle = (1..3000).map(|line| user_line(session, number + line, &filler));
    let first = user_line(session, number, &format!("{word}first"));
    first + &middle.collect::<String>() + &user_line(session, number + 3000, &format!("{word}last"))
}

/// The position of a process in a file that it has open.
fn position(pid: Pid, path: &Path) -> Option<u64> {
    let process = PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
    let open = std::fs::read_dir(process.join("fd")).ok()?.flatten();
    let file = open.into_iter().find(|entry| std::fs::read_link(entry.path()).is_ok_and(|target| target == path))?;
    let info = std::fs::read_to_string(process.join("fdinfo").join(file.file_name())).ok()?;
    info.lines().find_map(|line| line.strip_prefix("pos:"))?.trim().parse().ok()
}

/// Indexes from scratch, stops the run in the middle of a file, calls `happen`, and lets the run continue.
fn index_and_meanwhile(env: &Env, path: &Path, happen: impl Fn(Pid)) -> Ran {
    let size = std::fs::metadata(path).expect("there").len();
    for _ in 0..50 {
        let _ = std::fs::remove_dir_all(env.index_dir());
        let run = env.command().arg("index").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        let pid = pid_of(&run);
        let is_inside = || position(pid, path).is_some_and(|at| at > 0 && at < size);
        let is_over = || {
            std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()))
                .map_or(true, |stat| stat.contains(") Z "))
        };
        while !is_inside() && !is_over() {
            std::thread::yield_now();
        }
        let _ = kill_process(pid, Signal::STOP);
        // It may have finished the file before it stopped.
        let caught = is_inside();
        if caught {
            let happened = catch_unwind(AssertUnwindSafe(|| happen(pid)));
            let _ = kill_process(pid, Signal::CONT);
            let ran = guarded(run);
            happened.unwrap_or_else(|failed| resume_unwind(failed));
            return ran;
        }
        let _ = kill_process(pid, Signal::CONT);
        guarded(run);
    }
    panic!("never caught the run while it was reading");
}

fn set_mtime(path: &Path, time: SystemTime) {
    let file = File::options().append(true).open(path).expect("opened");
    file.set_times(FileTimes::new().set_modified(time)).expect("set");
}

/// A time in whole seconds since 1970.
fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

#[test]
fn b1_of_eight_runs_at_once_one_commits() {
    let env = Env::new();
    let id = session(1);
    env.write(format!("-p/{id}.jsonl"), long_session(&id, 1, "beins"));
    let start = || {
        env.command().args(["index", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
    };
    let runs: Vec<Child> = (0..8).map(|_| start()).collect();
    let ended: Vec<Ran> = runs.into_iter().map(guarded).collect();
    let mut new = 0;
    for ran in &ended {
        assert!(matches!(ran.code, 0 | 5), "{} {}", ran.code, ran.stderr);
        let report: Option<Value> = serde_json::from_str(&ran.stdout).ok();
        new += report.map_or(0, |report| report["new"].as_u64().expect("a number"));
    }
    assert_eq!(new, 1, "more than one run read the file");
    assert_eq!((env.count("beinsfirst"), env.count("beinslast")), (1, 1));
    env.heal();
}

#[test]
fn b1_the_second_run_names_the_first() {
    let env = Env::new();
    let id = session(1);
    let path = env.write(format!("-p/{id}.jsonl"), long_session(&id, 1, "beinszwei"));
    let first = index_and_meanwhile(&env, &path, |pid| {
        let second = env.run(&["index", "--wait", "0"]);
        assert_eq!(second.code, 5, "{}", second.stderr);
        let named = format!("pid {}", pid.as_raw_nonzero());
        assert!(second.stderr.contains(&named), "{} does not name {named}", second.stderr);
        let scheduled = env.run(&["index", "--scheduled", "--wait", "0"]);
        assert_eq!(scheduled.code, 0, "{}", scheduled.stderr);
        assert!(scheduled.stderr.contains(&named), "{}", scheduled.stderr);
        // With the time it started, to judge whether it hangs.
        assert!(second.stderr.contains("since"), "no time in: {}", second.stderr);
    });
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert_eq!(env.count("beinszweilast"), 1);
    env.heal();
}

#[test]
fn b2_searches_during_commits_see_whole_commits() {
    let env = Env::new();
    let (a, b) = (session(1), session(2));
    let done = AtomicBool::new(false);
    let add = |number: u32| {
        env.append(format!("-p/{a}.jsonl"), user_line(&a, number, "bzwei left"));
        env.append(format!("-p/{b}.jsonl"), user_line(&b, 1000 + number, "bzwei right"));
        env.index();
    };
    add(1);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut last = 0;
            while !done.load(Ordering::Relaxed) {
                // Both files grow between runs only, so every commit has the same number of lines from both.
                let hits = env.hits("bzwei");
                let left = hits.iter().filter(|hit| hit["session_id"] == a.as_str()).count();
                assert_eq!(left * 2, hits.len(), "half a commit");
                assert!(left >= last && left > 0, "an older commit");
                last = left;
                let ran = env.run(&["verify"]);
                assert_eq!(ran.code, 0, "{} {}", ran.stdout, ran.stderr);
            }
        });
        (2..32).for_each(add);
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(env.count("bzwei"), 62);
    env.heal();
}

#[test]
fn b3_a_search_survives_the_deletion_of_the_files_it_opened() {
    if !can_trace() {
        return skip("no strace");
    }
    let env = Env::new();
    let id = session(1);
    let path = env.write(format!("-p/{id}.jsonl"), user_line(&id, 1, "bdrei"));
    env.index();
    let search = start_stopped_search(&env, "bdrei");
    let pid = traced_child(&search);
    // Enough small commits to merge the first segment away and delete its files.
    let before = env.segment_files();
    for number in 2..20 {
        env.append(
            path.strip_prefix(env.claude().join("projects")).expect("inside"),
            user_line(&id, number, "bdrei more"),
        );
        env.index();
    }
    assert!(env.segment_files().iter().all(|file| !before.contains(file)), "nothing was merged away");
    kill_process(pid, Signal::CONT).expect("continued");
    let ran = guarded(search);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let summary: Value = serde_json::from_str(ran.stdout.lines().last().expect("a line")).expect("JSON");
    assert_eq!(summary["hits"], 1, "it must see the commit it opened");
    env.heal();
}

#[test]
fn b4_a_file_grows_while_it_is_read() {
    let env = Env::new();
    let (id, live) = (session(1), session(2));
    let name = format!("-p/{id}.jsonl");
    let path = env.write(&name, long_session(&id, 1, "bvier"));
    let ran = index_and_meanwhile(&env, &path, |_| env.append(&name, user_line(&id, 4000, "bvierlate")));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!((env.count("bvierlast"), env.count("bvierlate")), (1, 0), "read to the size at opening");
    env.index();
    assert_eq!((env.count("bvierfirst"), env.count("bvierlast"), env.count("bvierlate")), (1, 1, 1));
    // A live session, written in pieces that end at any byte.
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0..300 {
                let line = user_line(&live, 5000 + number, "bvierlive");
                let (start, end) = line.split_at(usize::try_from(number).expect("small"));
                env.append(format!("-p/{live}.jsonl"), start);
                std::thread::sleep(Duration::from_millis(1));
                env.append(format!("-p/{live}.jsonl"), end);
            }
        });
        while !writer.is_finished() {
            assert_eq!(env.run(&["index"]).code, 0, "an unfinished line is not a bad line");
        }
    });
    env.index();
    assert_eq!(env.count("bvierlive"), 300);
    env.heal();
}

#[test]
fn b5_a_file_is_truncated_while_it_is_read() {
    let env = Env::new();
    let (id, other) = (session(1), session(2));
    let name = format!("-p/{id}.jsonl");
    env.write(format!("-p/{other}.jsonl"), user_line(&other, 9000, "bfuenfother"));
    for (number, length) in [(1, 0), (2, 100)] {
        let word = format!("bfuenf{}", ["", "null", "rest"][number]);
        let path = env.write(&name, long_session(&id, 1, &word));
        let ran = index_and_meanwhile(&env, &path, |_| {
            File::options().write(true).open(&path).and_then(|file| file.set_len(length)).expect("truncated");
        });
        assert_eq!(ran.code, 3, "{} {}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("changed while being read") && ran.stdout.contains(&id), "{}", ran.stdout);
        assert_eq!(env.count("bfuenfother"), 1, "other files are read");
        env.index();
        assert_eq!((env.count(&format!("{word}first")), env.count(&format!("{word}last"))), (0, 0), "length {length}");
        env.verify();
        env.write(&name, user_line(&id, 9001, "bfuenfagain"));
        env.index();
        assert_eq!(env.count("bfuenfagain"), 1);
    }
    env.heal();
}

#[test]
fn b6_a_file_is_replaced_while_it_is_read() {
    let env = Env::new();
    let id = session(1);
    let name = format!("-p/{id}.jsonl");
    let path = env.write(&name, long_session(&id, 1, "bsechsold"));
    let new = env.path().join("new");
    std::fs::write(&new, user_line(&id, 1, "bsechsnew")).expect("written");
    let ran = index_and_meanwhile(&env, &path, |_| std::fs::rename(&new, &path).expect("replaced"));
    assert!(matches!(ran.code, 0 | 3), "{} {}", ran.code, ran.stderr);
    assert_eq!(env.count("bsechsoldfirst"), env.count("bsechsoldlast"), "one version, or none");
    env.index();
    assert_eq!((env.count("bsechsnew"), env.count("bsechsoldfirst"), env.count("bsechsoldlast")), (1, 0, 0));
    // The same at unknown moments: a program saves by renaming while runs go on.
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0..100 {
                let version = if number == 99 { "bsechsfinal" } else { "bsechsdraft" };
                std::fs::write(&new, user_line(&id, number, &format!("bsechssaved {version}"))).expect("written");
                std::fs::rename(&new, &path).expect("replaced");
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        while !writer.is_finished() {
            env.index();
        }
    });
    env.index();
    assert_eq!((env.count("bsechssaved"), env.count("bsechsfinal"), env.count("bsechsnew")), (1, 1, 0));
    env.heal();
}

#[test]
fn b7_files_are_deleted_during_the_run() {
    let env = Env::new();
    let ids: Vec<String> = (0..8).map(session).collect();
    for (number, id) in (0..).zip(&ids[..7]) {
        env.write(
            format!("-p/{id}.jsonl"),
            long_session(
                id,
                number * 10_000,
                &format!("bsieben{}", ["a", "b", "c", "d", "e", "f", "g"][number as usize]),
            ),
        );
    }
    // The smallest is read last: it is listed, but not opened yet.
    let small = env.write(format!("-p/{}.jsonl", ids[7]), user_line(&ids[7], 90_000, "bsiebensmall"));
    let open = env.file(format!("-p/{}.jsonl", ids[0]));
    let ran = index_and_meanwhile(&env, &open, |_| {
        std::fs::remove_file(&small).expect("removed");
        std::fs::remove_file(&open).expect("removed");
    });
    assert_eq!(ran.code, 0, "not an error: {} {}", ran.stdout, ran.stderr);
    assert_eq!((env.count("bsiebenalast"), env.count("bsiebenglast")), (1, 1));
    assert_eq!(env.hits("bsiebenalast")[0]["source_missing"], false, "this run still listed it");
    assert_eq!(env.status()["sessions_only_in_index"], 0);
    assert_eq!(env.run(&["index"]).code, 0);
    assert_eq!(env.hits("bsiebenalast")[0]["source_missing"], true, "the next run did not");
    assert!(env.status()["sessions_only_in_index"].as_u64() >= Some(1));
    env.heal();
}

#[test]
fn b8_truncated_and_refilled_to_the_same_size() {
    let env = Env::new();
    let id = session(1);
    let name = format!("-p/{id}.jsonl");
    let old = user_line(&id, 1, "bachtalt") + &user_line(&id, 2, "bachtalt");
    let new = user_line(&id, 1, "bachtneu") + &user_line(&id, 2, "bachtneu");
    assert_eq!(old.len(), new.len());
    env.write(&name, &old);
    env.index();
    // The same inode and size; only the time differs.
    let path = env.write(&name, &new);
    set_mtime(&path, at(1_800_000_000));
    let report = env.index_json();
    assert_eq!(report["rewritten"], 1, "{report}");
    assert_eq!((env.count("bachtalt"), env.count("bachtneu")), (0, 2));
    env.heal();
}

#[test]
fn b9_grown_with_the_same_mtime() {
    let env = Env::new();
    let id = session(1);
    let name = format!("-p/{id}.jsonl");
    let path = env.write(&name, user_line(&id, 1, "bneun"));
    env.index();
    let before = std::fs::metadata(&path).and_then(|meta| meta.modified()).expect("a time");
    env.append(&name, user_line(&id, 2, "bneun"));
    set_mtime(&path, before);
    let report = env.index_json();
    assert_eq!(report["grown"], 1, "only the end is read: {report}");
    assert_eq!(env.count("bneun"), 2);
    env.heal();
}

#[test]
fn b11_mtime_goes_back() {
    let env = Env::new();
    let (grown, changed) = (session(1), session(2));
    let first = env.write(format!("-p/{grown}.jsonl"), user_line(&grown, 1, "belf"));
    let second = env.write(format!("-p/{changed}.jsonl"), user_line(&changed, 2, "belfalt"));
    env.index();
    env.append(format!("-p/{grown}.jsonl"), user_line(&grown, 3, "belf"));
    env.write(format!("-p/{changed}.jsonl"), user_line(&changed, 2, "belfneu"));
    // 2001: older than everything in the index.
    [&first, &second].into_iter().for_each(|path| set_mtime(path, at(1_000_000_000)));
    env.index();
    assert_eq!((env.count("belf"), env.count("belfalt"), env.count("belfneu")), (2, 0, 1));
    // And before 1970, which some archives use for files without a time.
    env.append(format!("-p/{grown}.jsonl"), user_line(&grown, 4, "belf"));
    set_mtime(&first, SystemTime::UNIX_EPOCH - Duration::from_secs(1_000_000));
    env.index();
    assert_eq!(env.count("belf"), 3);
    env.heal();
}

#[test]
fn b12_the_clock_jumps_ten_years() {
    let env = Env::new();
    let id = session(1);
    let name = format!("-p/{id}.jsonl");
    let run_at = |now: &str, args: &[&str]| finish(env.command().env("UNSPOOL_NOW", now).args(args));
    for (number, now) in
        (1..).zip(["2026-11-16T12:00:00Z", "2036-11-16T12:00:00Z", "2016-11-16T12:00:00Z", "1970-01-01T00:00:00Z"])
    {
        env.append(&name, user_line(&id, number, "bzwoelf"));
        assert_eq!(run_at(now, &["index"]).code, 0, "{now}");
        assert_eq!(env.count("bzwoelf"), number as usize, "{now}");
        let found = run_at(now, &["search", "--no-refresh", "bzwoelf"]);
        assert_eq!(found.code, 0, "{now}: {}", found.stderr);
    }
    // A jump during a run: the real clock, where it can be faked.
    if works("faketime", &["2036-01-01", "true"]) {
        env.append(&name, user_line(&id, 9, "bzwoelf"));
        let mut run = under(&env, &["faketime", "-f", "-10y x100000"]);
        assert_eq!(finish(run.env_remove("UNSPOOL_NOW").arg("index")).code, 0);
        assert_eq!(env.count("bzwoelf"), 5);
    } else {
        skip("no faketime: the jump during a run");
    }
    env.heal();
}

#[test]
fn b13_mtime_in_the_future_and_in_whole_seconds() {
    let env = Env::new();
    let id = session(1);
    let name = format!("-p/{id}.jsonl");
    for number in 1..=4 {
        env.append(&name, user_line(&id, number, "bdreizehn"));
        // The year 2100, the same second each time.
        set_mtime(&env.file(&name), at(4_102_444_800));
        env.index();
        assert_eq!(env.count("bdreizehn"), number as usize);
    }
    env.heal();
}

#[test]
fn b13_a_file_system_with_times_in_whole_seconds() {
    let env = Env::new();
    let image = env.path().join("ext2");
    File::create(&image).and_then(|file| file.set_len(8 << 20)).expect("made");
    let image = image.to_str().expect("UTF-8");
    // Inodes of 128 bytes have no room for fractions of a second.
    if !works("mkfs.ext2", &["-q", "-F", "-I", "128", image]) {
        return skip("no mkfs.ext2");
    }
    let Some(_mount) = Mount::new(&["-o", "loop", image], &env.claude().join("projects")) else { return };
    let id = session(1);
    for number in 1..=8 {
        env.append(format!("-p/{id}.jsonl"), user_line(&id, number, "bdreizehnsecond"));
        env.index();
        assert_eq!(env.count("bdreizehnsecond"), number as usize);
    }
    let mtime = std::fs::metadata(env.file(format!("-p/{id}.jsonl"))).expect("there").mtime_nsec();
    assert_eq!(mtime, 0, "the file system is not what this test needs");
    env.heal();
}

#[test]
fn b14_session_moved_to_another_project() {
    let env = Env::new();
    let id = session(1);
    let from =
        env.write(format!("-home-u-old/{id}.jsonl"), user_line(&id, 1, "bvierzehn") + &user_line(&id, 2, "bvierzehn"));
    env.index();
    let to = env.file(format!("-home-u-new/{id}.jsonl"));
    std::fs::rename(&from, &to).expect("moved");
    let report = env.index_json();
    assert_eq!((&report["moved"], &report["gone"]), (&1.into(), &0.into()), "{report}");
    let hits = env.hits("bvierzehn");
    assert_eq!(hits.len(), 2);
    assert!(
        hits.iter().all(|hit| hit["path"] == to.to_str().expect("UTF-8") && hit["source_missing"] == false),
        "{hits:?}"
    );
    // Copied and deleted instead: another inode, the same text, and one line more.
    std::fs::copy(&to, &from).expect("copied");
    std::fs::remove_file(&to).expect("removed");
    env.append(format!("-home-u-old/{id}.jsonl"), user_line(&id, 3, "bvierzehn"));
    env.index();
    let hits = env.hits("bvierzehn");
    assert_eq!(hits.len(), 3);
    assert!(hits.iter().all(|hit| hit["path"] == from.to_str().expect("UTF-8")), "{hits:?}");
    let status = env.status();
    assert_eq!((&status["sessions"], &status["sessions_only_in_index"]), (&1.into(), &0.into()), "{status}");
    env.heal();
}

#[test]
fn b15_hard_links_and_symlinks() {
    let env = Env::new();
    let id = session(1);
    let path = env.write(format!("-a/{id}.jsonl"), user_line(&id, 1, "bfuenfzehn"));
    std::fs::hard_link(&path, env.file(format!("-b/{id}.jsonl"))).expect("linked");
    std::fs::hard_link(&path, env.file(format!("-a/{}.jsonl", session(2)))).expect("linked");
    symlink(&path, env.file(format!("-c/{id}.jsonl"))).expect("linked");
    // A project with two names.
    symlink(env.claude().join("projects/-a"), env.claude().join("projects/-d")).expect("linked");
    let report = env.index_json();
    assert_eq!((&report["new"], &report["documents"]), (&1.into(), &1.into()), "{report}");
    assert_eq!(env.count("bfuenfzehn"), 1);
    // The name under which it was read is removed; the file itself still exists.
    std::fs::remove_file(&path).expect("removed");
    env.index();
    let hits = env.hits("bfuenfzehn");
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0]["source_missing"], false, "{hits:?}");
    env.heal();
}

#[test]
fn b16_an_inode_is_reused() {
    let env = Env::new();
    let id = session(1);
    let name = format!("-p/{id}.jsonl");
    for letter in 'a'..='z' {
        let (old, new) = (format!("bsechzehnold{letter}"), format!("bsechzehnnew{letter}"));
        let path = env.write(&name, user_line(&id, 1, &old));
        env.index();
        let before = std::fs::metadata(&path).expect("there").ino();
        std::fs::remove_file(&path).expect("removed");
        // Longer, so that it looks like the old one grown.
        env.write(&name, user_line(&id, 1, &new) + &user_line(&id, 2, &new));
        if std::fs::metadata(&path).expect("there").ino() == before {
            let report = env.index_json();
            assert_eq!(report["rewritten"], 1, "{report}");
            assert_eq!((env.count(&old), env.count(&new)), (0, 2));
            return env.heal();
        }
    }
    skip("this file system does not reuse inodes");
}

/// Three sessions and a history, indexed.
fn a_root_with_history(word: &str) -> Env {
    let env = Env::new();
    fill_root(&env, word);
    env.index();
    env
}

fn fill_root(env: &Env, word: &str) {
    for number in 1..=3 {
        let id = session(number);
        env.write(format!("-p/{id}.jsonl"), user_line(&id, number, word));
    }
    let history = format!(
        r#"{{"display":"{word} in history","pastedContents":{{}},"timestamp":1759312800000,"project":"/home/u/x"}}"#
    );
    std::fs::write(env.claude().join("history.jsonl"), history + "\n").expect("written");
}

/// Checks what must be true when a root cannot be read: exit code 3, a reason, and nothing is taken for deleted.
fn nothing_is_gone(env: &Env, word: &str, reason: &str) {
    let ran = env.run(&["index"]);
    assert_eq!(env.count(word), 4, "everything is still found");
    assert!(env.hits(word).iter().all(|hit| hit["source_missing"] == false), "{:#?}", env.hits(word));
    assert_eq!(env.status()["sessions_only_in_index"], 0);
    assert_eq!(ran.code, 3, "{} {}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains(reason), "{}", ran.stdout);
}

#[test]
fn b17_the_root_is_missing() {
    let env = a_root_with_history("bsiebzehna");
    let away = env.path().join("away");
    std::fs::rename(env.claude(), &away).expect("moved");
    nothing_is_gone(&env, "bsiebzehna", "source root is missing");
    std::fs::rename(&away, env.claude()).expect("moved back");
    env.heal();
}

#[test]
fn b17_the_root_is_unmounted() {
    let env = Env::new();
    let real = env.path().join("real");
    std::fs::create_dir_all(real.join("projects")).expect("made");
    let bind = ["--bind", real.to_str().expect("UTF-8")];
    let Some(mount) = Mount::new(&bind, &env.claude()) else { return };
    fill_root(&env, "bsiebzehnb");
    env.index();
    drop(mount);
    // The mount point stays, and is empty.
    std::fs::remove_dir_all(env.claude()).and_then(|()| std::fs::create_dir(env.claude())).expect("empty");
    nothing_is_gone(&env, "bsiebzehnb", "missing");
    let Some(_mount) = Mount::new(&bind, &env.claude()) else { return };
    env.heal();
}

#[test]
fn b17_the_root_is_emptied() {
    let env = a_root_with_history("bsiebzehnc");
    let away = env.path().join("away");
    std::fs::rename(env.claude(), &away).expect("moved");
    std::fs::create_dir_all(env.claude().join("projects")).expect("made");
    nothing_is_gone(&env, "bsiebzehnc", "vanished");
    std::fs::remove_dir_all(env.claude()).and_then(|()| std::fs::rename(&away, env.claude())).expect("moved back");
    env.heal();
}

#[test]
fn b18_more_than_half_of_the_files_vanish() {
    let env = Env::new();
    for number in 1..=5 {
        let id = session(number);
        env.write(format!("-p/{id}.jsonl"), user_line(&id, number, "bachtzehn"));
    }
    env.index();
    (1..=3)
        .for_each(|number| std::fs::remove_file(env.file(format!("-p/{}.jsonl", session(number)))).expect("removed"));
    for _ in 0..2 {
        let ran = env.run(&["index"]);
        assert_eq!(ran.code, 3, "{}", ran.stderr);
        assert!(ran.stdout.contains("--confirm"), "{}", ran.stdout);
        assert_eq!(env.status()["sessions_only_in_index"], 0);
    }
    // New files are read nevertheless.
    let id = session(9);
    env.write(format!("-p/{id}.jsonl"), user_line(&id, 9, "bachtzehn"));
    assert_eq!(env.run(&["index"]).code, 3);
    assert_eq!(env.count("bachtzehn"), 6);
    assert_eq!(env.run(&["index", "--confirm"]).code, 0);
    assert_eq!(env.status()["sessions_only_in_index"], 3);
    assert_eq!(env.count("bachtzehn"), 6, "marked as gone, and kept");
    env.heal();
}

#[test]
fn b19_a_folder_cannot_be_listed() {
    let env = Env::new();
    for number in 1..=4 {
        let id = session(number);
        let project = if number == 1 { "-closed" } else { "-open" };
        env.write(format!("{project}/{id}.jsonl"), user_line(&id, number, "bneunzehn"));
    }
    env.index();
    let closed = env.claude().join("projects/-closed");
    let Some(mut run) = as_nobody(&env) else { return };
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o000)).expect("closed");
    let ran = finish(run.arg("index"));
    let problems = as_nobody(&env).map(|mut command| finish(command.args(["status", "--problems"])));
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o755)).expect("opened");
    give_to(&env, "0");
    assert_eq!(ran.code, 3, "{} {}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("-closed"), "{}", ran.stdout);
    let problems = problems.expect("a command");
    assert!(problems.stdout.contains("-closed"), "{} {}", problems.stdout, problems.stderr);
    assert_eq!(env.count("bneunzehn"), 4);
    assert!(env.hits("bneunzehn").iter().all(|hit| hit["source_missing"] == false));
    assert_eq!(env.status()["sessions_only_in_index"], 0);
    env.heal();
}

#[test]
fn b23_the_lock_on_meta_json_is_held() {
    // All at the same time, since each of them waits. Each has its own index, since a run that waits for this lock has
    // the writers' lock, and the next one would name that run.
    let commands = [&["search", "--no-refresh", "bdreiundzwanzig"][..], &["search", "bdreiundzwanzig"], &["index"]];
    let started = commands.map(|args| {
        let env = Env::new();
        let id = session(1);
        env.write(format!("-p/{id}.jsonl"), user_line(&id, 1, "bdreiundzwanzig"));
        env.index();
        let lock = env.index_folder().join(".tantivy-meta.lock");
        let lock_file = File::options().write(true).create(true).truncate(false).open(&lock).expect("opened");
        lock_file.lock().expect("locked");
        let child = env.command().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        (args, env, lock_file, child)
    });
    for (args, env, lock_file, child) in started {
        let ran = guarded(child);
        assert_eq!(ran.code, 5, "{args:?}: {} {}", ran.stdout, ran.stderr);
        assert!(
            ran.stderr.contains(&format!("pid {}", std::process::id())),
            "{args:?} does not name us: {}",
            ran.stderr
        );
        drop(lock_file);
        assert_eq!(env.count("bdreiundzwanzig"), 1);
        env.heal();
    }
}

/// The same for runs that are given the file, as the hook does.
#[test]
fn b1_of_eight_runs_for_one_file_one_commits() {
    let env = Env::new();
    let id = session(1);
    let name = format!("-p/{id}.jsonl");
    let path = env.write(&name, user_line(&id, 9000, "beinsnamed"));
    env.index();
    env.append(&name, long_session(&id, 1, "beinsnamed"));
    let start = || {
        let mut command = env.command();
        command.args(["index", "--json", "--wait", "30", "--file"]).arg(&path);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
    };
    let runs: Vec<Child> = (0..8).map(|_| start()).collect();
    let mut grown = 0;
    for ran in runs.into_iter().map(guarded) {
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        grown += report["grown"].as_u64().expect("a number");
    }
    assert_eq!(grown, 1, "more than one run read the new lines");
    env.verify();
}

/// A file is replaced by a link, a pipe or a folder after it was listed and before it is opened.
#[test]
fn b6_a_file_becomes_something_else_before_it_is_opened() {
    type TurnInto = fn(&Path, &Path);
    let others: [(&str, TurnInto); 3] = [
        ("a link", |path, elsewhere| symlink(elsewhere, path).expect("linked")),
        ("a pipe", |path, _| assert!(tool("mkfifo").arg(path).status().expect("ran").success())),
        ("a folder", |path, _| std::fs::create_dir(path).expect("made")),
    ];
    for (what, turn_into) in others {
        for number in 1..40 {
            let env = Env::new();
            let id = session(1);
            let path = env.write(format!("-p/{id}.jsonl"), user_line(&id, 1, "bsechsown"));
            let elsewhere = env.path().join("elsewhere.jsonl");
            std::fs::write(&elsewhere, user_line(&id, 2, "bsechselsewhere")).expect("written");
            let mut command = env.command();
            command.env("UNSPOOL_FAULT", format!("stop@{number}")).arg("index");
            let run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
            let pid = pid_of(&run);
            let state = || {
                let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
                stat.rsplit(") ").next().unwrap_or("Z").chars().next().unwrap_or('Z')
            };
            while !matches!(state(), 'T' | 'Z') {
                std::thread::sleep(Duration::from_millis(1));
            }
            if state() == 'T' {
                std::fs::remove_file(&path).expect("removed");
                turn_into(&path, &elsewhere);
                kill_process(pid, Signal::CONT).expect("continued");
            }
            let ran = guarded(run);
            assert!(matches!(ran.code, 0 | 3), "{what} at {number}: {} {}", ran.code, ran.stderr);
            assert_eq!(env.count("bsechselsewhere"), 0, "{what} at {number}");
        }
    }
}

/// A different file of the same session in another folder: the content of the first one stays.
#[test]
fn b16_another_file_of_the_same_session() {
    let env = Env::new();
    let id = session(1);
    env.write(format!("-other/{}.jsonl", session(2)), user_line(&session(2), 5, "bsechzehnbeside"));
    env.write(format!("-other/{}.jsonl", session(3)), user_line(&session(3), 6, "bsechzehnbeside"));
    let old = env.write(format!("-p/{id}.jsonl"), user_line(&id, 1, "bsechzehnold"));
    env.index();
    std::fs::remove_file(old).expect("removed");
    env.write(format!("-q/{id}.jsonl"), user_line(&id, 2, "bsechzehnnew and so many words more"));
    env.index();
    assert_eq!((env.count("bsechzehnold"), env.count("bsechzehnnew")), (1, 1));
    env.heal();
}
