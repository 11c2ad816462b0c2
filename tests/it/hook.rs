//! `unspool hook`: the command that Claude Code calls, and its installation in the settings of Claude Code.

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::env::{Env, Ran};
use crate::support::process::guarded;
use crate::support::transcript::{session, user_line};

/// Time limit: a guard against hanging, not a measurement.
const GUARD: Duration = Duration::from_secs(40);

/// A home with two sessions, both indexed and both grown since.
fn grown_home() -> (Env, PathBuf) {
    let env = Env::new();
    for number in 1..3 {
        env.write(file(number), user_line(&session(number), number, "pelican"));
    }
    env.index();
    for (number, word) in [(1, "walrus"), (2, "grebe")] {
        env.append(file(number), user_line(&session(number), number + 10, word));
    }
    let path = env.file(file(1));
    (env, path)
}

fn file(number: u32) -> String {
    format!("-home-u-x/{}.jsonl", session(number))
}

fn event(transcript: &Path) -> String {
    serde_json::json!({"session_id": session(1), "transcript_path": transcript, "cwd": "/home/u/x",
        "hook_event_name": "Stop", "stop_hook_active": false})
    .to_string()
}

fn hook(command: &mut Command) -> Child {
    let command = command.arg("hook").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("started")
}

/// Calls the hook as Claude Code does, with this standard input.
fn call(command: &mut Command, input: &[u8]) -> Ran {
    let mut child = hook(command);
    // It may end before it has read everything.
    let _ = child.stdin.take().expect("piped").write_all(input);
    guarded(child)
}

/// Waits until a condition is true.
fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < GUARD, "{what}: not within {GUARD:?}");
        std::thread::yield_now();
    }
}

fn assert_silent(ran: &Ran) {
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
}

#[test]
fn an_event_indexes_just_that_transcript() {
    let (env, path) = grown_home();
    // From a file, so that the input is complete even on a busy machine.
    std::fs::write(env.path().join("event"), event(&path)).expect("written");
    let input = std::fs::File::open(env.path().join("event")).expect("opened");
    assert_silent(&Ran::from(env.command().arg("hook").stdin(input).output().expect("ran")));
    wait_until("the new line is found", || env.count("walrus") == 1);
    assert_eq!(env.count("grebe"), 0, "no other file must be read");
    env.heal();
    assert_eq!(env.count("grebe"), 1);
}

#[test]
fn a_new_session_and_its_subagents_are_indexed_too() {
    let (env, _) = grown_home();
    let path = env.write(file(3), user_line(&session(3), 30, "a fresh heron"));
    assert_silent(&call(&mut env.command(), event(&path).as_bytes()));
    wait_until("the new session is found", || env.count("heron") == 1);
    env.append(format!("-home-u-x/{}/subagents/agent-a1.jsonl", session(3)), user_line(&session(3), 31, "its egret"));
    assert_silent(&call(&mut env.command(), event(&path).as_bytes()));
    wait_until("its subagent is found", || env.count("egret") == 1);
    env.heal();
}

#[test]
fn the_pipe_may_never_be_closed() {
    let (env, path) = grown_home();
    let mut child = hook(&mut env.command());
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(event(&path).as_bytes()).expect("written");
    assert_silent(&guarded(child));
    drop(stdin);
    wait_until("the new line is found", || env.count("walrus") == 1);
}

#[test]
fn without_an_event_everything_is_indexed() {
    let (env, _) = grown_home();
    let mut child = hook(&mut env.command());
    let stdin = child.stdin.take();
    assert_silent(&guarded(child));
    drop(stdin);
    wait_until("all new lines are found", || env.count("walrus grebe") == 2);
}

#[test]
fn the_hook_is_silent_and_succeeds_whatever_happens() {
    let env = Env::new();
    let huge = vec![b'x'; 3 << 20];
    let missing = event(Path::new("/nowhere/x.jsonl"));
    let odd: [&[u8]; 8] =
        [b"", b"{", b"null", b"[1,2]", b"\xff\xfe\x00", b"{\"transcript_path\": 7}", missing.as_bytes(), &huge];
    for input in odd {
        assert_silent(&call(&mut env.command(), input));
    }
    // No home, no roots, an impossible index: Claude Code must not be bothered with any of it.
    assert_silent(&call(env.command().env_remove("HOME"), b"{}"));
    assert_silent(&call(env.command().env("UNSPOOL_INDEX_DIR", "/dev/null/x"), b"{}"));
    assert_silent(&call(env.command().env("CLAUDE_CONFIG_DIR", "/nowhere"), b"{}"));
    // Wait for the background process before its home is removed.
    wait_until("all runs have ended", || running_in(env.path()) == 0);
}

/// The number of processes with this folder in their environment.
fn running_in(folder: &Path) -> usize {
    let all = std::fs::read_dir("/proc").expect("listed").flatten();
    let environments = all.filter_map(|entry| std::fs::read(entry.path().join("environ")).ok());
    let folder = folder.to_string_lossy().into_owned();
    environments.filter(|environment| String::from_utf8_lossy(environment).contains(&folder)).count()
}

/// The first run stops while it has the claim, so the second one must leave the work to it.
#[test]
fn two_events_at_the_same_moment_start_one_run() {
    let (env, path) = grown_home();
    assert_silent(&call(env.command().env("UNSPOOL_FAULT", "stop@1"), event(&path).as_bytes()));
    let stopped = || stopped_in(env.path());
    wait_until("the first run stops", || stopped().is_some());
    assert_silent(&call(&mut env.command(), event(&path).as_bytes()));
    wait_until("the second run has ended", || running_in(env.path()) == 1);
    assert_eq!(env.count("walrus"), 0, "only the first run may read the transcript");
    // The event of another session does not wait for it.
    assert_silent(&call(&mut env.command(), event(&env.file(file(2))).as_bytes()));
    wait_until("the other session is found", || env.count("grebe") == 1);
    kill_process(stopped().expect("stopped"), Signal::CONT).expect("continued");
    wait_until("the new line is found", || env.count("walrus") == 1);
    wait_until("all runs have ended", || running_in(env.path()) == 0);
    let left = std::fs::read_dir(env.index_dir()).expect("listed").flatten().map(|entry| entry.file_name());
    assert_eq!(left.filter(|name| name.to_string_lossy().contains("event-")).count(), 0, "claims are removed");
    env.heal();
}

/// The stopped process with this folder in its environment.
fn stopped_in(folder: &Path) -> Option<Pid> {
    let folder = folder.to_string_lossy().into_owned();
    let all = std::fs::read_dir("/proc").expect("listed").flatten();
    let ours = all.map(|entry| entry.path()).filter(|path| {
        let environment = std::fs::read(path.join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(&folder)
    });
    let mut stopped = ours.filter(|path| {
        let state = std::fs::read_to_string(path.join("stat")).unwrap_or_default();
        state.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    });
    Pid::from_raw(stopped.next()?.file_name()?.to_str()?.parse().ok()?)
}

fn settings(env: &Env) -> PathBuf {
    env.claude().join("settings.json")
}

fn backup(env: &Env) -> PathBuf {
    env.claude().join("settings.json.unspool-backup")
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).expect("read")
}

/// The binary with an `unspool` in `PATH`, and with the default index.
fn at_home(env: &Env) -> Command {
    let bin = env.path().join("bin");
    if !bin.is_dir() {
        std::fs::create_dir_all(&bin).expect("made");
        symlink(env!("CARGO_BIN_EXE_unspool"), bin.join("unspool")).expect("linked");
    }
    let mut command = env.command();
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).env_remove("UNSPOOL_INDEX_DIR");
    command
}

fn run(env: &Env, args: &[&str]) -> Ran {
    Ran::from(at_home(env).arg("hook").args(args).output().expect("ran"))
}

fn succeed(env: &Env, args: &[&str]) -> String {
    let ran = run(env, args);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?} {}", ran.stdout);
    ran.stdout
}

#[test]
fn install_status_uninstall_and_again() {
    let env = Env::new();
    for _ in 0..2 {
        assert_eq!(run(&env, &["status"]).stdout, "~/.claude/settings.json: not installed\n");
        assert_eq!(run(&env, &["status"]).code, 1);
        assert_eq!(succeed(&env, &["install"]), "installed in ~/.claude/settings.json\n");
        let program = env.path().join("bin/unspool");
        let program = program.to_string_lossy();
        let parsed: Value = serde_json::from_str(&read(settings(&env))).expect("JSON");
        let expected = serde_json::json!({"hooks": {
            "SessionEnd": [{"hooks": [{"type": "command", "command": program, "args": ["hook"], "timeout": 5}]}],
            "Stop": [{"hooks": [{"type": "command", "command": program, "args": ["hook"], "async": true, "timeout": 60}]}],
        }});
        assert_eq!(parsed, expected);
        assert_eq!(succeed(&env, &["install"]), "already in ~/.claude/settings.json\n");
        let status = format!(
            "~/.claude/settings.json: SessionEnd calls {program} hook\n~/.claude/settings.json: Stop calls {program} hook\n"
        );
        assert_eq!(succeed(&env, &["status"]), status);
        assert_eq!(succeed(&env, &["uninstall"]), "removed from ~/.claude/settings.json\n");
        assert!(!settings(&env).is_file(), "we created it, so it must be removed");
        assert_eq!(succeed(&env, &["uninstall"]), "not in ~/.claude/settings.json\n");
    }
}

#[test]
fn other_settings_are_not_changed() {
    let env = Env::new();
    let text = "{\n\t\"zeta\": true,\n\t\"alpha\": {\"unknown\": [1,2,   3]},\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t\
                {\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}\n\t\t]\n\t}\n}";
    // A link to a folder with dotfiles, readable for the group.
    let real = env.path().join("dotfiles.json");
    std::fs::write(&real, text).expect("written");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).expect("set");
    symlink(&real, settings(&env)).expect("linked");
    let shown = succeed(&env, &["install", "--dry-run"]);
    assert_eq!(read(&real), text);
    succeed(&env, &["install"]);
    assert_eq!(shown, format!("# write {}\n{}", settings(&env).display(), read(&real)));
    assert!(std::fs::symlink_metadata(settings(&env)).expect("there").is_symlink());
    assert_eq!(std::fs::metadata(&real).expect("there").permissions().mode() & 0o777, 0o640);
    assert_eq!(read(backup(&env)), text);
    let kept = read(&real);
    assert!(kept.starts_with("{\n\t\"zeta\": true,\n\t\"alpha\": {\"unknown\": [1,2,   3]},\n\t\"hooks\""), "{kept}");
    succeed(&env, &["uninstall"]);
    assert_eq!(read(&real), text);
}

/// Whatever the file was, and however often it is done.
#[test]
fn uninstall_restores_every_byte_of_the_settings() {
    let files: [Option<&str>; 15] = [
        None,
        Some(""),
        Some("\n"),
        Some(" \r\n\t"),
        Some("{}"),
        Some("{ }"),
        Some("{}\n"),
        Some("{\n}\n"),
        Some("{\r\n}\r\n"),
        Some("{\r\n  \"a\": 1\r\n}"),
        Some("\n\n  { \"a\" :1 , \"b\":\n[ ] }  \n\n"),
        Some("{\"hooks\": {}}"),
        Some("{\"hooks\": { \"Stop\" : [ ] } }"),
        Some("{\n  \"hooks\": {\n  }\n}"),
        None,
    ];
    let env = Env::new();
    for before in files {
        let _ = std::fs::remove_file(settings(&env));
        before.iter().for_each(|text| std::fs::write(settings(&env), text).expect("written"));
        for _ in 0..2 {
            succeed(&env, &["install"]);
            // Another index: the hooks are replaced.
            let other = at_home(&env).args(["--index-dir", "/x", "hook", "install"]).output().expect("ran");
            assert!(other.status.success());
            succeed(&env, &["uninstall"]);
            assert_eq!(std::fs::read_to_string(settings(&env)).ok().as_deref(), before);
        }
    }
}

#[test]
fn settings_that_cannot_be_parsed_are_not_changed() {
    let env = Env::new();
    for text in [&b"{\"a\": 1,}"[..], b"// mine\n{}", b"[]", b"{\"hooks\": []}", b"\xff"] {
        std::fs::write(settings(&env), text).expect("written");
        for args in [["install"], ["uninstall"], ["status"]] {
            let ran = run(&env, &args);
            assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?} {text:?}");
            assert!(
                ran.stderr.contains("settings.json") && ran.stderr.contains("nothing was changed"),
                "{}",
                ran.stderr
            );
        }
        assert_eq!(std::fs::read(settings(&env)).expect("read"), text);
        assert!(!backup(&env).is_file());
    }
}

#[test]
fn status_reports_why_the_hook_has_no_effect() {
    let env = Env::new();
    std::fs::write(settings(&env), "{\"disableAllHooks\": true}").expect("written");
    succeed(&env, &["install"]);
    let ran = run(&env, &["status"]);
    assert_eq!(ran.code, 3);
    assert!(ran.stdout.contains("(but disableAllHooks is set)"), "{}", ran.stdout);
    let text = read(settings(&env)).replace("/bin/unspool", "/gone/unspool");
    std::fs::write(settings(&env), text).expect("written");
    let ran = run(&env, &["status"]);
    assert!(ran.stdout.contains("(the program does not exist; run `unspool hook install` again)"), "{}", ran.stdout);
    succeed(&env, &["install"]);
    assert!(!read(settings(&env)).contains("/gone/"));
}

#[test]
fn roots_and_index_are_passed_on_to_the_installed_hook() {
    let env = Env::new();
    let other = env.path().join("other");
    std::fs::create_dir_all(&other).expect("made");
    let ran =
        at_home(&env).arg("--root").arg(&other).args(["hook", "install"]).env("UNSPOOL_INDEX_DIR", "/x y").output();
    assert!(ran.expect("ran").status.success());
    assert!(!settings(&env).is_file());
    let parsed: Value = serde_json::from_str(&read(other.join("settings.json"))).expect("JSON");
    let expected = serde_json::json!(["--root", other, "--index-dir", "/x y", "hook"]);
    assert_eq!(parsed["hooks"]["Stop"][0]["hooks"][0]["args"], expected);
}

#[test]
fn the_installed_command_works() {
    let (env, path) = grown_home();
    succeed(&env, &["install"]);
    assert!(at_home(&env).arg("index").output().expect("ran").status.success());
    let count = |word: &str| {
        let ran = at_home(&env).args(["search", "--no-refresh", word]).output().expect("ran");
        String::from_utf8_lossy(&ran.stdout).lines().count()
    };
    env.append(file(1), user_line(&session(1), 40, "an albatross"));
    let parsed: Value = serde_json::from_str(&read(settings(&env))).expect("JSON");
    let call_for = |name: &str| parsed["hooks"][name][0]["hooks"][0].clone();
    let entry = call_for("SessionEnd");
    let mut command = Command::new(entry["command"].as_str().expect("a program"));
    command.env_clear().env("HOME", env.path().join("home")).current_dir(env.path());
    command.args(entry["args"].as_array().expect("arguments").iter().map(|word| word.as_str().expect("text")));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("started");
    child.stdin.take().expect("piped").write_all(event(&path).as_bytes()).expect("written");
    assert_silent(&guarded(child));
    wait_until("the new line is found", || count("albatross") == 1);
}

/// Warnings about the configuration are for people, not for Claude Code.
#[test]
fn the_hook_does_not_warn_about_the_configuration() {
    let env = Env::new();
    let file = env.path().join("odd.toml");
    std::fs::write(&file, "colour = \"never\"\n").expect("written");
    assert_silent(&call(env.command().env("UNSPOOL_CONFIG", &file), b"{}"));
    wait_until("all runs have ended", || running_in(env.path()) == 0);
}
