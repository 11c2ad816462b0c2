//! Runs commands with a time limit, under other commands, and stopped halfway.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::support::env::{Env, Ran};

/// Time limit of a single command: a guard against hanging, not a measurement.
const GUARD: Duration = Duration::from_secs(40);

/// Reports why a test does nothing on this machine. `scripts/faults` looks for this line.
#[expect(clippy::print_stderr, reason = "belongs in the output of the test")]
pub(crate) fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
}

/// A system command, also found in the folders that only root searches.
pub(crate) fn tool(name: &str) -> Command {
    let mut command = Command::new(name);
    command.env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin").stdin(Stdio::null());
    command
}

/// Reports whether a system command succeeds. It fails where it is not installed or not allowed.
pub(crate) fn works(name: &str, args: &[&str]) -> bool {
    tool(name).args(args).output().is_ok_and(|output| output.status.success())
}

pub(crate) fn can_trace() -> bool {
    works("strace", &["-f", "-o", "/dev/null", "true"])
}

/// The binary, started by another command such as `strace`.
pub(crate) fn under(env: &Env, wrapper: &[&str]) -> Command {
    let inner = env.command();
    let mut command = Command::new(wrapper[0]);
    command.args(&wrapper[1..]).arg(inner.get_program()).env_clear().current_dir(env.path());
    inner.get_envs().for_each(|(name, value)| _ = command.env(name, value.expect("set")));
    command
}

/// Runs a command to its end, within the time limit.
pub(crate) fn finish(command: &mut Command) -> Ran {
    guarded(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started"))
}

/// Waits for the end of a process, within the time limit.
pub(crate) fn guarded(child: Child) -> Ran {
    let pid = pid_of(&child);
    let (done, ended) = std::sync::mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        if ended.recv_timeout(GUARD) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            let _ = kill_process(pid, Signal::KILL);
        }
    });
    let ran = Ran::from(child.wait_with_output().expect("ended"));
    drop(done);
    watchdog.join().expect("no panic");
    ran
}

/// The binary, started by a shell after some preparation such as `ulimit -n 64`.
pub(crate) fn in_shell(env: &Env, preparation: &str) -> Command {
    under(env, &["sh", "-c", &format!("{preparation}; exec \"$0\" \"$@\"")])
}

pub(crate) fn pid_of(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a pid")
}

/// Waits for a process, calls `happen` whenever it stops, and lets it continue. Returns its exit code.
pub(crate) fn at_each_stop(pid: Pid, happen: impl Fn()) -> Option<i32> {
    loop {
        let (_, status) = waitpid(Some(pid), WaitOptions::UNTRACED).expect("waited").expect("a state");
        if !status.stopped() {
            return status.exit_status();
        }
        happen();
        kill_process(pid, Signal::CONT).expect("continued");
    }
}

/// Starts a search that stops itself once it has opened all files of the index and has released the lock.
pub(crate) fn start_stopped_search(env: &Env, word: &str) -> Child {
    let lock = env.index_folder().join(".tantivy-meta.lock");
    let log = env.path().join("trace");
    let stop = ["-e", "trace=close", "-e", "inject=close:signal=STOP:when=1", "-P", lock.to_str().expect("UTF-8")];
    let mut command = under(env, &[&["strace", "-f", "-o", log.to_str().expect("UTF-8")], &stop[..]].concat());
    command.args(["search", "--no-refresh", "--json", "--messages", word]);
    let search = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let start = Instant::now();
    while !std::fs::read_to_string(&log).is_ok_and(|log| log.contains("stopped by SIGSTOP")) {
        assert!(start.elapsed() < GUARD, "the search did not stop");
        std::thread::sleep(Duration::from_millis(5));
    }
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", traced_child(&search).as_raw_nonzero()));
    assert!(maps.expect("read").contains(".store"), "the search has not opened the index");
    search
}

/// The process that `strace` runs.
pub(crate) fn traced_child(tracer: &Child) -> Pid {
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", tracer.id())).expect("read");
    let child = children.split_whitespace().next().expect("a child").parse().expect("a number");
    Pid::from_raw(child).expect("a pid")
}
