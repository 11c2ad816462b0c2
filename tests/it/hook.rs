//! `unspool hook`: what Claude Code calls, and the two lines in its settings that make it do so.

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::faults_b::guarded;
use crate::util::{Env, Ran, session, user_line};

/// No answer takes this long; it is a guard against hanging, not a measurement.
const GUARD: Duration = Duration::from_secs(40);

/// A home with two sessions, both indexed and both grown since.
fn grown() -> (Env, PathBuf) {
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

/// Calls the hook as Claude Code does, with this on its standard input.
fn call(command: &mut Command, input: &[u8]) -> Ran {
    let mut child = hook(command);
    // It may have gone before it has read everything.
    let _ = child.stdin.take().expect("piped").write_all(input);
    guarded(child)
}

/// Waits until something holds.
fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < GUARD, "{what}: not within {GUARD:?}");
        std::thread::yield_now();
    }
}

fn silent(ran: &Ran) {
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
}

#[test]
fn an_event_indexes_just_that_transcript() {
    let (env, path) = grown();
    // From a file, so that it is there at once, however busy the machine is.
    std::fs::write(env.path().join("event"), event(&path)).expect("written");
    let input = std::fs::File::open(env.path().join("event")).expect("opened");
    silent(&Ran::from(env.command().arg("hook").stdin(input).output().expect("ran")));
    until("the new line is found", || env.count("walrus") == 1);
    assert_eq!(env.count("grebe"), 0, "nothing else was read");
    env.heal();
    assert_eq!(env.count("grebe"), 1);
}

#[test]
fn a_new_session_and_its_subagents_are_indexed_too() {
    let (env, _) = grown();
    let path = env.write(file(3), user_line(&session(3), 30, "a fresh heron"));
    silent(&call(&mut env.command(), event(&path).as_bytes()));
    until("the new session is found", || env.count("heron") == 1);
    env.append(format!("-home-u-x/{}/subagents/agent-a1.jsonl", session(3)), user_line(&session(3), 31, "its egret"));
    silent(&call(&mut env.command(), event(&path).as_bytes()));
    until("its subagent is found", || env.count("egret") == 1);
    env.heal();
}

#[test]
fn the_pipe_may_never_be_closed() {
    let (env, path) = grown();
    let mut child = hook(&mut env.command());
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(event(&path).as_bytes()).expect("written");
    silent(&guarded(child));
    drop(stdin);
    until("the new line is found", || env.count("walrus") == 1);
}

#[test]
fn an_event_that_never_comes_means_a_look_at_everything() {
    let (env, _) = grown();
    let mut child = hook(&mut env.command());
    let stdin = child.stdin.take();
    silent(&guarded(child));
    drop(stdin);
    until("all new lines are found", || env.count("walrus grebe") == 2);
}

#[test]
fn whatever_happens_it_is_silent_and_ends_well() {
    let env = Env::new();
    let huge = vec![b'x'; 3 << 20];
    let missing = event(Path::new("/nowhere/x.jsonl"));
    let odd: [&[u8]; 8] =
        [b"", b"{", b"null", b"[1,2]", b"\xff\xfe\x00", b"{\"transcript_path\": 7}", missing.as_bytes(), &huge];
    for input in odd {
        silent(&call(&mut env.command(), input));
    }
    // No home, no roots, and an index that cannot be: none of it is Claude Code's business.
    silent(&call(env.command().env_remove("HOME"), b"{}"));
    silent(&call(env.command().env("UNSPOOL_INDEX_DIR", "/dev/null/x"), b"{}"));
    silent(&call(env.command().env("CLAUDE_CONFIG_DIR", "/nowhere"), b"{}"));
    // Let what was started in the background end before its home goes.
    until("all runs have ended", || running_in(env.path()) == 0);
}

/// How many processes were told of a folder by their environment.
fn running_in(folder: &Path) -> usize {
    let all = std::fs::read_dir("/proc").expect("listed").flatten();
    let environments = all.filter_map(|entry| std::fs::read(entry.path().join("environ")).ok());
    let folder = folder.to_string_lossy().into_owned();
    environments.filter(|environment| String::from_utf8_lossy(environment).contains(&folder)).count()
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

/// With an `unspool` in `PATH`, and the usual index.
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

fn well(env: &Env, args: &[&str]) -> String {
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
        assert_eq!(well(&env, &["install"]), "installed in ~/.claude/settings.json\n");
        let program = env.path().join("bin/unspool");
        let program = program.to_string_lossy();
        let parsed: Value = serde_json::from_str(&read(settings(&env))).expect("JSON");
        let expected = serde_json::json!({"hooks": {
            "SessionEnd": [{"hooks": [{"type": "command", "command": program, "args": ["hook"], "timeout": 5}]}],
            "Stop": [{"hooks": [{"type": "command", "command": program, "args": ["hook"], "async": true, "timeout": 60}]}],
        }});
        assert_eq!(parsed, expected);
        assert_eq!(well(&env, &["install"]), "already in ~/.claude/settings.json\n");
        let status = format!(
            "~/.claude/settings.json: SessionEnd calls {program} hook\n~/.claude/settings.json: Stop calls {program} hook\n"
        );
        assert_eq!(well(&env, &["status"]), status);
        assert_eq!(well(&env, &["uninstall"]), "removed from ~/.claude/settings.json\n");
        assert!(!settings(&env).is_file(), "we made it, so it goes");
        assert_eq!(well(&env, &["uninstall"]), "not in ~/.claude/settings.json\n");
    }
}

#[test]
fn the_settings_of_others_stay_as_they_are() {
    let env = Env::new();
    let text = "{\n\t\"zeta\": true,\n\t\"alpha\": {\"unknown\": [1,2,   3]},\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t\
                {\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}\n\t\t]\n\t}\n}";
    // A link into a folder of dotfiles, readable by the group.
    let real = env.path().join("dotfiles.json");
    std::fs::write(&real, text).expect("written");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).expect("set");
    symlink(&real, settings(&env)).expect("linked");
    let shown = well(&env, &["install", "--dry-run"]);
    assert_eq!(read(&real), text);
    well(&env, &["install"]);
    assert_eq!(shown, format!("# write {}\n{}", settings(&env).display(), read(&real)));
    assert!(std::fs::symlink_metadata(settings(&env)).expect("there").is_symlink());
    assert_eq!(std::fs::metadata(&real).expect("there").permissions().mode() & 0o777, 0o640);
    assert_eq!(read(backup(&env)), text);
    let kept = read(&real);
    assert!(kept.starts_with("{\n\t\"zeta\": true,\n\t\"alpha\": {\"unknown\": [1,2,   3]},\n\t\"hooks\""), "{kept}");
    well(&env, &["uninstall"]);
    assert_eq!(read(&real), text);
}

#[test]
fn settings_that_are_not_understood_are_left_alone() {
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
fn status_knows_why_nothing_would_happen() {
    let env = Env::new();
    std::fs::write(settings(&env), "{\"disableAllHooks\": true}").expect("written");
    well(&env, &["install"]);
    let ran = run(&env, &["status"]);
    assert_eq!(ran.code, 3);
    assert!(ran.stdout.contains("(but disableAllHooks is set)"), "{}", ran.stdout);
    let text = read(settings(&env)).replace("/bin/unspool", "/gone/unspool");
    std::fs::write(settings(&env), text).expect("written");
    let ran = run(&env, &["status"]);
    assert!(ran.stdout.contains("(the program is not there; run `unspool hook install` again)"), "{}", ran.stdout);
    well(&env, &["install"]);
    assert!(!read(settings(&env)).contains("/gone/"));
}

#[test]
fn what_was_said_about_roots_and_index_is_said_to_claude_code_too() {
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
fn what_the_settings_name_really_works() {
    let (env, path) = grown();
    well(&env, &["install"]);
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
    silent(&guarded(child));
    until("the new line is found", || count("albatross") == 1);
}

/// What the configuration has to complain about is for people, not for Claude Code.
#[test]
fn an_odd_configuration_is_no_noise() {
    let env = Env::new();
    let file = env.path().join("odd.toml");
    std::fs::write(&file, "colour = \"never\"\n").expect("written");
    silent(&call(env.command().env("UNSPOOL_CONFIG", &file), b"{}"));
    until("all runs have ended", || running_in(env.path()) == 0);
}
