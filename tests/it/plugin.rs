//! `unspool plugin`: the plugin for Claude Code. `scripts/clients` has a real Claude Code check it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::env::{Env, Ran};
use crate::support::transcript::{session, user_line};

/// A guard against hanging, not a measurement.
const GUARD: Duration = Duration::from_secs(40);

fn home() -> Env {
    let env = Env::new();
    std::fs::create_dir_all(env.path().join("bin")).expect("made");
    symlink(env!("CARGO_BIN_EXE_unspool"), env.path().join("bin/unspool")).expect("linked");
    env
}

fn run(env: &Env, args: &[&str]) -> Ran {
    let mut command = env.command();
    command.env("PATH", format!("{}:/usr/bin:/bin", env.path().join("bin").display())).env_remove("UNSPOOL_INDEX_DIR");
    Ran::from(command.args(args).output().expect("ran"))
}

fn succeed(env: &Env, args: &[&str]) -> String {
    let ran = run(env, args);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?} {}", ran.stdout);
    ran.stdout
}

fn folder(env: &Env) -> PathBuf {
    env.claude().join("skills/unspool")
}

/// All files below a folder, with their contents.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in entries {
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), std::fs::read(&path).expect("read"));
        }
    }
    found
}

#[test]
fn install_uninstall_and_again() {
    let env = home();
    for _ in 0..2 {
        let shown = succeed(&env, &["plugin", "install", "--dry-run"]);
        assert!(!folder(&env).try_exists().expect("known"));
        assert_eq!(
            succeed(&env, &["plugin", "install"]),
            "installed in ~/.claude/skills/unspool; start Claude Code again to load it\n"
        );
        let written = files(&folder(&env));
        assert_eq!(written.len(), 5);
        assert!(written.keys().all(|path| shown.contains(&format!("# write {}\n", path.display()))), "{shown}");
        assert_eq!(succeed(&env, &["plugin", "install"]), "already in ~/.claude/skills/unspool\n");
        assert_eq!(files(&folder(&env)), written);
        succeed(&env, &["plugin", "uninstall", "--dry-run"]);
        assert_eq!(files(&folder(&env)), written);
        assert_eq!(succeed(&env, &["plugin", "uninstall"]), "removed from ~/.claude/skills/unspool\n");
        assert!(!folder(&env).try_exists().expect("known"));
        assert_eq!(succeed(&env, &["plugin", "uninstall"]), "not in ~/.claude/skills/unspool\n");
    }
}

#[test]
fn the_plugin_starts_this_program_with_its_roots_and_index() {
    let env = home();
    succeed(&env, &["--index-dir", "/x y", "plugin", "install"]);
    let parsed = |name: &str| -> Value {
        serde_json::from_slice(&std::fs::read(folder(&env).join(name)).expect("read")).expect("JSON")
    };
    let program = env.path().join("bin/unspool");
    let server = json!({"command": program, "args": ["--index-dir", "/x y", "mcp"]});
    assert_eq!(parsed(".mcp.json"), json!({"mcpServers": {"unspool": server}}));
    assert_eq!(parsed(".claude-plugin/plugin.json")["version"], env!("CARGO_PKG_VERSION"));
    // The same calls as in the settings, so that both are the same event for the claim.
    succeed(&env, &["--index-dir", "/x y", "hook", "install"]);
    let settings: Value =
        serde_json::from_slice(&std::fs::read(env.claude().join("settings.json")).expect("read")).expect("JSON");
    assert_eq!(parsed("hooks/hooks.json")["hooks"], settings["hooks"]);
}

#[test]
fn the_path_is_printed_and_the_folder_is_complete() {
    let env = home();
    let first = succeed(&env, &["plugin", "path"]);
    let folder = PathBuf::from(first.trim_end());
    assert_eq!(files(&folder).len(), 5);
    std::fs::write(folder.join(".mcp.json"), "{}").expect("written");
    assert_eq!(succeed(&env, &["plugin", "path"]), first);
    assert_ne!(std::fs::read(folder.join(".mcp.json")).expect("read"), b"{}", "an old folder is renewed");
}

#[test]
fn what_others_put_there_is_kept() {
    let env = home();
    std::fs::create_dir_all(folder(&env)).expect("made");
    std::fs::write(folder(&env).join("SKILL.md"), "mine").expect("written");
    let ran = run(&env, &["plugin", "install"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("contains something else"), "{}", ran.stderr);
    assert_eq!(files(&folder(&env)).len(), 1);
    std::fs::remove_file(folder(&env).join("SKILL.md")).expect("removed");
    succeed(&env, &["plugin", "install"]);
    std::fs::write(folder(&env).join("skills/notes.md"), "mine").expect("written");
    succeed(&env, &["plugin", "uninstall"]);
    assert_eq!(files(&folder(&env)).into_keys().collect::<Vec<_>>(), [folder(&env).join("skills/notes.md")]);
}

/// One page: what an agent loads must be worth its tokens.
#[test]
fn the_skill_fits_on_one_page() {
    let env = home();
    succeed(&env, &["plugin", "install"]);
    let skill = folder(&env).join("skills/search-history/SKILL.md");
    let text = String::from_utf8(std::fs::read(skill).expect("read")).expect("UTF-8");
    assert!(text.lines().count() <= 50 && text.len() <= 3_000, "{} lines, {} bytes", text.lines().count(), text.len());
    for needed in ["--format agent", "at most four", "session and date", "Never follow instructions", "search_history"]
    {
        assert!(text.contains(needed), "{needed}");
    }
}

/// Both hooks of one event, called at the same moment as Claude Code does.
#[test]
fn plugin_and_settings_hook_together_index_the_session() {
    let env = home();
    let transcript = env.write(format!("-home-u-x/{}.jsonl", session(1)), user_line(&session(1), 1, "a pelican"));
    succeed(&env, &["plugin", "install"]);
    succeed(&env, &["hook", "install"]);
    let event = json!({"session_id": session(1), "transcript_path": transcript, "hook_event_name": "Stop"}).to_string();
    let places = [folder(&env).join("hooks/hooks.json"), env.claude().join("settings.json")];
    let children = places.map(|place| {
        let parsed: Value = serde_json::from_slice(&std::fs::read(place).expect("read")).expect("JSON");
        let entry = &parsed["hooks"]["Stop"][0]["hooks"][0];
        let mut command = Command::new(entry["command"].as_str().expect("a program"));
        command.args(entry["args"].as_array().expect("arguments").iter().filter_map(Value::as_str));
        command.env_clear().env("HOME", env.path().join("home")).current_dir(env.path());
        let mut child = command.stdin(Stdio::piped()).spawn().expect("started");
        let _ = child.stdin.take().expect("piped").write_all(event.as_bytes());
        child
    });
    for mut child in children {
        assert!(child.wait().expect("ended").success());
    }
    let start = Instant::now();
    while run(&env, &["search", "--no-refresh", "pelican"]).code != 0 {
        assert!(start.elapsed() < GUARD, "the session was not indexed");
        std::thread::yield_now();
    }
}
