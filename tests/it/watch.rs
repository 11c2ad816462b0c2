//! `unspool watch`: new lines are found without an index run. Also B20 to B22 and C15 of the fault catalogue.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::env::Env;
use crate::support::process::{finish, skip, under};
use crate::support::transcript::{session, user_line};

/// Time limit: a guard against hanging, not a measurement.
const GUARD: Duration = Duration::from_secs(60);

/// A watch that ends with the test.
struct Watching<'e> {
    env: &'e Env,
    child: Child,
}

impl<'e> Watching<'e> {
    fn start(env: &'e Env, args: &[&str]) -> Self {
        Self::start_with(env, env.command().arg("watch").args(args))
    }

    /// Starts a watch and waits until its first run is complete.
    fn start_with(env: &'e Env, command: &mut Command) -> Self {
        let log = File::create(Self::log_file(env)).expect("made");
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().expect("started");
        Self { env, child }
    }

    fn log_file(env: &Env) -> PathBuf {
        env.path().join("log")
    }

    fn log(&self) -> String {
        std::fs::read_to_string(Self::log_file(self.env)).expect("read")
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).expect("a pid")).expect("a pid")
    }

    fn send(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("sent");
    }

    /// Waits until a word is found this many times, without an update by the search.
    fn finds(&mut self, word: &str, times: usize) {
        let start = Instant::now();
        loop {
            let found = has_index(self.env).then(|| self.env.count(word));
            if found == Some(times) {
                return;
            }
            assert_eq!(self.child.try_wait().expect("asked"), None, "the watch has ended: {}", self.log());
            assert!(start.elapsed() < GUARD, "{word}: found {found:?} times, not {times}: {}", self.log());
        }
    }

    /// Ends it as a shutdown would, and returns its exit code.
    fn stop(mut self) -> Option<i32> {
        self.send(Signal::TERM);
        self.child.wait().expect("ended").code()
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn has_index(env: &Env) -> bool {
    env.run(&["status", "--json"]).code == 0
}

fn file(number: u32) -> String {
    format!("-home-u-x/{}.jsonl", session(number))
}

fn line(number: u32, count: u32, text: &str) -> String {
    user_line(&session(number), number * 1000 + count, text)
}

#[test]
fn each_line_of_a_live_session_is_found() {
    let env = Env::new();
    let mut watching = Watching::start(&env, &[]);
    for count in 1..6 {
        env.append(file(1), line(1, count, "pelican"));
        watching.finds("pelican", usize::try_from(count).expect("small"));
    }
    assert_eq!(watching.log(), "unspool: watching ~/.claude, ~/.config/claude; press Ctrl-C to stop\n");
    assert_eq!(watching.stop(), Some(0));
    env.verify();
}

#[test]
fn new_files_are_found_in_every_folder() {
    let env = Env::new();
    env.write(file(1), line(1, 1, "pelican"));
    let mut watching = Watching::start(&env, &["--quiet"]);
    watching.finds("pelican", 1);
    env.write(format!("-home-u-new/{}.jsonl", session(2)), line(2, 1, "heron"));
    watching.finds("heron", 1);
    env.write(format!("-home-u-new/{}/subagents/agent-a1.jsonl", session(2)), line(2, 2, "egret"));
    watching.finds("egret", 1);
    let half = line(1, 2, "a stork");
    env.append(file(1), &half[..half.len() / 2]);
    env.append(file(1), &half[half.len() / 2..]);
    watching.finds("stork", 1);
    let (from, to) = (env.file(file(1)), env.file(format!("-home-u-new/{}.jsonl", session(1))));
    std::fs::rename(from, to).expect("moved");
    env.append(format!("-home-u-new/{}.jsonl", session(1)), line(1, 3, "an ibis"));
    watching.finds("ibis", 1);
    watching.finds("pelican", 1);
    assert_eq!((watching.log().as_str(), watching.stop()), ("", Some(0)));
    env.verify();
}

#[test]
fn a_root_may_appear_later() {
    let env = Env::new();
    let root = env.path().join("later");
    let root_text = root.to_string_lossy().into_owned();
    let mut command = env.command();
    command.args(["watch", "--quiet", "--root", &root_text]);
    let watching = Watching::start_with(&env, &mut command);
    let folder = root.join("projects/-home-u-x");
    std::fs::create_dir_all(&folder).expect("made");
    std::fs::write(folder.join(format!("{}.jsonl", session(1))), line(1, 1, "pelican")).expect("written");
    let start = Instant::now();
    while env.run(&["--root", &root_text, "search", "--no-refresh", "pelican"]).code != 0 {
        assert!(start.elapsed() < GUARD, "not found: {}", watching.log());
    }
}

#[test]
fn polling_finds_new_lines_too() {
    let env = Env::new();
    let mut watching = Watching::start(&env, &["--poll", "--quiet"]);
    for count in 1..4 {
        env.append(file(1), line(1, count, "pelican"));
        watching.finds("pelican", usize::try_from(count).expect("small"));
    }
    assert_eq!((watching.log().as_str(), watching.stop()), ("", Some(0)));
}

#[test]
fn other_runs_and_a_removed_index_are_no_problem() {
    let env = Env::new();
    env.write(file(1), line(1, 1, "pelican"));
    let mut watching = Watching::start(&env, &["--quiet"]);
    watching.finds("pelican", 1);
    for count in 2..6 {
        env.append(file(1), line(1, count, "pelican"));
        env.index();
    }
    watching.finds("pelican", 5);
    std::fs::remove_dir_all(env.index_folder()).expect("removed");
    env.append(file(1), line(1, 9, "heron"));
    watching.finds("heron", 1);
    watching.finds("pelican", 5);
    drop(watching);
    env.verify();
}

/// Fifty sessions at once. `scripts/soak` measures an hour of it.
#[test]
fn b20_fifty_live_sessions() {
    let env = Env::new();
    let mut watching = Watching::start(&env, &["--quiet"]);
    for round in 1..9 {
        for number in 1..51 {
            env.append(file(number), line(number, round, "pelican"));
        }
        watching.finds("pelican", usize::try_from(round * 50).expect("small"));
    }
    drop(watching);
    let status = env.status();
    assert!(status["segments"].as_u64().is_some_and(|segments| segments < 16), "{status}");
    env.heal();
    assert_eq!(env.count("pelican"), 400);
}

/// More events than the kernel queues: the watch learns that some are lost, and looks at everything.
#[test]
fn b21_overflow() {
    let env = Env::new();
    env.write(file(1), line(1, 1, "pelican"));
    let mut watching = Watching::start(&env, &["--quiet"]);
    watching.finds("pelican", 1);
    let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap_or_default();
    let Some(limit) = limit.trim().parse::<usize>().ok().filter(|limit| *limit < 100_000) else {
        return skip("no limit of events that a test could reach");
    };
    watching.send(Signal::STOP);
    // Two names in turn, since consecutive events with the same name count as one.
    for name in [env.file("-home-u-x/noise.a"), env.file("-home-u-x/noise.b")].iter().cycle().take(limit + 100) {
        std::fs::write(name, "x").expect("written");
    }
    env.append(file(1), line(1, 2, "pelican"));
    watching.send(Signal::CONT);
    watching.finds("pelican", 2);
    assert_eq!(watching.log(), "");
}

/// A limit on watched folders, in a namespace of its own so that other processes are not affected.
#[test]
fn b21_watch_limit() {
    let env = Env::new();
    for number in 1..9 {
        env.write(format!("-home-u-{number}/{}.jsonl", session(number)), line(number, 1, "pelican"));
    }
    let script = "echo 4 > /proc/sys/user/max_inotify_watches && exec \"$@\"";
    let wrapper = ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh"];
    let can_limit = under(&env, &wrapper).arg("--version").output().is_ok_and(|output| output.status.success());
    if !can_limit {
        return skip("cannot limit the number of watches");
    }
    let mut watching = Watching::start_with(&env, under(&env, &wrapper).args(["watch", "--quiet"]));
    watching.finds("pelican", 8);
    env.append(format!("-home-u-8/{}.jsonl", session(8)), line(8, 2, "heron"));
    watching.finds("heron", 1);
    env.write(format!("-home-u-new/{}.jsonl", session(9)), line(9, 1, "egret"));
    watching.finds("egret", 1);
    let log = watching.log();
    assert_eq!(log.lines().count(), 1, "one notice: {log}");
    assert!(log.contains("scanning all files every few seconds instead"), "{log}");
}

#[test]
fn b22_two_watches() {
    let env = Env::new();
    env.write(file(1), line(1, 1, "pelican"));
    let mut first = Watching::start(&env, &["--quiet"]);
    first.finds("pelican", 1);
    let second = finish(env.command().arg("watch"));
    assert_eq!((second.code, second.stdout.as_str()), (5, ""));
    let named = format!("a watch is already running (pid {}", first.child.id());
    assert!(second.stderr.contains(&named), "{}", second.stderr);
    assert!(env.run(&["status"]).stdout.contains(&format!("watch        running (pid {}", first.child.id())));
    // A killed watch does not block the next one.
    first.send(Signal::KILL);
    first.child.wait().expect("ended");
    let mut third = Watching::start(&env, &["--quiet"]);
    env.append(file(1), line(1, 2, "heron"));
    third.finds("heron", 1);
}

#[test]
fn c15_stopped_and_continued() {
    let env = Env::new();
    env.write(file(1), line(1, 1, "pelican"));
    let mut watching = Watching::start(&env, &["--quiet"]);
    watching.finds("pelican", 1);
    watching.send(Signal::STOP);
    for number in 1..20 {
        env.append(file(number), line(number, 2, "heron"));
        env.write(format!("-home-u-{number}/{}.jsonl", session(number + 100)), line(number + 100, 3, "egret"));
    }
    watching.send(Signal::CONT);
    watching.finds("heron", 19);
    watching.finds("egret", 19);
}
