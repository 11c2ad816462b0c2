//! `unspool mcp install`, `status` and `uninstall`: the entry of the MCP server in the lists of clients.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::env::{Env, Ran};

/// The clients, with their files below the home folder.
const FILES: [(&str, &str); 6] = [
    ("claude", ".claude.json"),
    ("codex", ".codex/config.toml"),
    ("cursor", ".cursor/mcp.json"),
    ("gemini", ".gemini/settings.json"),
    ("vscode", ".config/Code/User/mcp.json"),
    ("windsurf", ".codeium/windsurf/mcp_config.json"),
];

/// A home in which all clients have been used, and an `unspool` in `PATH`.
fn home() -> Env {
    let env = unused_home();
    for (_, file) in FILES {
        std::fs::create_dir_all(path(&env, file).parent().expect("a folder")).expect("made");
    }
    env
}

/// A home without clients, and an `unspool` in `PATH`.
fn unused_home() -> Env {
    let env = Env::new();
    std::fs::create_dir_all(env.path().join("bin")).expect("made");
    symlink(env!("CARGO_BIN_EXE_unspool"), env.path().join("bin/unspool")).expect("linked");
    env
}

fn path(env: &Env, file: &str) -> PathBuf {
    env.path().join("home").join(file)
}

fn command(env: &Env, args: &[&str]) -> Command {
    let mut command = env.command();
    command.env("PATH", format!("{}:/usr/bin:/bin", env.path().join("bin").display()));
    command.env_remove("UNSPOOL_INDEX_DIR").arg("mcp").args(args);
    command
}

fn run(env: &Env, args: &[&str]) -> Ran {
    Ran::from(command(env, args).output().expect("ran"))
}

fn succeed(env: &Env, args: &[&str]) -> String {
    let ran = run(env, args);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?} {}", ran.stdout);
    ran.stdout
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).expect("read")
}

#[test]
fn install_status_uninstall_and_again() {
    let env = home();
    let program = env.path().join("bin/unspool").to_string_lossy().into_owned();
    let lines = |what: &str, end: &str| {
        FILES.iter().map(|(name, file)| format!("{name}: {what}~/{file}{end}\n")).collect::<String>()
    };
    for _ in 0..2 {
        let ran = run(&env, &["status"]);
        assert_eq!((ran.code, ran.stdout), (1, lines("not in ", "")));
        assert_eq!(succeed(&env, &["install"]), lines("installed in ", ""));
        let server = json!({"command": program, "args": ["mcp"]});
        let typed = json!({"type": "stdio", "command": program, "args": ["mcp"]});
        for (file, key, server) in [
            (FILES[0].1, "mcpServers", &typed),
            (FILES[2].1, "mcpServers", &server),
            (FILES[3].1, "mcpServers", &server),
            (FILES[4].1, "servers", &typed),
            (FILES[5].1, "mcpServers", &server),
        ] {
            let parsed: Value = serde_json::from_str(&read(path(&env, file))).expect("JSON");
            assert_eq!(parsed, json!({key: {"unspool": server}}), "{file}");
        }
        let toml = format!("[mcp_servers.unspool]\ncommand = \"{program}\"\nargs = [\"mcp\"]\n");
        assert_eq!(read(path(&env, FILES[1].1)), toml);
        assert_eq!(succeed(&env, &["status"]), lines("", &format!(" calls {program} mcp")));
        assert_eq!(succeed(&env, &["install"]), lines("already in ", ""));
        assert_eq!(succeed(&env, &["uninstall"]), lines("removed from ", ""));
        for (_, file) in FILES {
            assert!(!path(&env, file).try_exists().expect("known"), "{file}: we created it, so it must be removed");
        }
        assert_eq!(succeed(&env, &["uninstall"]), lines("not in ", ""));
    }
}

/// Whatever the files were, and however often it is done.
#[test]
fn uninstall_restores_every_byte() {
    let env = home();
    let json = [
        "",
        "{}",
        "{ }\n",
        "{\r\n  \"a\": 1\r\n}",
        "{\"mcpServers\": {}, \"servers\": { }}",
        "{\n\t\"mcpServers\": {\n\t\t\"x\": {\"command\": \"y\",   \"args\": [ ]}\n\t},\n\t\"z\": [1,2,   3]\n}\n",
    ];
    let toml =
        ["", "model = \"o3\"", "# mine\r\na = 1\r\n", "[mcp_servers.x]\ncommand = \"y\"\n\n\n", "\n\n[a]\nb = []\n"];
    for at in 0..json.len() {
        let text = |file: &str| if file.ends_with("toml") { toml[at % toml.len()] } else { json[at] };
        for (_, file) in FILES {
            std::fs::write(path(&env, file), text(file)).expect("written");
        }
        for _ in 0..2 {
            let shown = succeed(&env, &["install", "--dry-run"]);
            for (_, file) in FILES {
                assert_eq!(read(path(&env, file)), text(file), "a dry run changes nothing");
            }
            succeed(&env, &["install"]);
            for (_, file) in FILES {
                let path = path(&env, file);
                assert!(shown.contains(&format!("# write {}\n{}", path.display(), read(&path))), "{shown}");
            }
            // Another index: the entries are replaced.
            let mut other = command(&env, &["install"]);
            let other = Ran::from(other.args(["--index-dir", "/x y"]).output().expect("ran"));
            assert_eq!((other.code, other.stderr.as_str()), (0, ""));
            assert!(succeed(&env, &["status"]).contains("--index-dir /x y mcp\n"));
            succeed(&env, &["uninstall"]);
            for (_, file) in FILES {
                assert_eq!(read(path(&env, file)), text(file), "{file}");
            }
        }
    }
}

/// Without the backup, because the file was changed since, only our own lines go.
#[test]
fn what_others_add_meanwhile_is_kept() {
    let env = home();
    for (file, before, insert) in [
        (FILES[2].1, "{\n  \"a\": 1\n}\n", ("\"a\": 1", "\"a\": 1,\n  \"b\": 2")),
        (FILES[1].1, "a = 1\n", ("a = 1\n", "a = 1\nb = 2\n")),
    ] {
        let path = path(&env, file);
        std::fs::write(&path, before).expect("written");
        succeed(&env, &["install"]);
        std::fs::write(&path, read(&path).replacen(insert.0, insert.1, 1)).expect("written");
        succeed(&env, &["uninstall"]);
        assert_eq!(read(&path), before.replacen(insert.0, insert.1, 1));
    }
}

#[test]
fn files_of_unknown_form_and_foreign_servers_are_not_changed() {
    let env = home();
    let foreign = "{\"mcpServers\": {\"unspool\": {\"command\": \"/bin/other\"}}}";
    for (name, file, text) in [
        ("cursor", FILES[2].1, "// mine\n{}"),
        ("cursor", FILES[2].1, "{\"mcpServers\": []}"),
        ("cursor", FILES[2].1, foreign),
        ("codex", FILES[1].1, "a = "),
        ("codex", FILES[1].1, "mcp_servers = {}\n"),
        ("codex", FILES[1].1, "[mcp_servers.unspool]\nurl = \"https://x\"\n"),
    ] {
        std::fs::write(path(&env, file), text).expect("written");
        let ran = run(&env, &["install", name]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{text}");
        assert!(ran.stderr.contains("othing was changed"), "{}", ran.stderr);
        assert_eq!(read(path(&env, file)), text);
    }
    let ran = run(&env, &["uninstall", "codex"]);
    assert_eq!((ran.code, ran.stdout), (0, "codex: not in ~/.codex/config.toml\n".to_string()));
}

#[test]
fn a_file_of_unknown_form_does_not_keep_the_others_from_their_entry() {
    let env = home();
    std::fs::write(path(&env, FILES[1].1), "a = ").expect("written");
    for (args, others) in [(&["install"], 5), (&["status"], 5), (&["uninstall"], 5)] {
        let ran = run(&env, args);
        assert_eq!((ran.code, ran.stdout.lines().count()), (2, others), "{args:?} {}", ran.stdout);
        assert!(ran.stderr.contains("config.toml: cannot parse the file"), "{}", ran.stderr);
    }
    assert_eq!(read(path(&env, FILES[1].1)), "a = ");
}

#[test]
fn only_clients_that_are_here_are_touched_unless_named() {
    let env = unused_home();
    std::fs::create_dir_all(path(&env, ".cursor")).expect("made");
    std::fs::remove_dir_all(env.claude()).expect("removed");
    assert!(succeed(&env, &["install"]).ends_with("cursor: installed in ~/.cursor/mcp.json\n"));
    assert!(
        !path(&env, ".codex").try_exists().expect("known") && !path(&env, ".claude.json").try_exists().expect("known")
    );
    let ran = run(&env, &["install", "claude-desktop"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    std::fs::remove_dir_all(path(&env, ".cursor")).expect("removed");
    let ran = run(&env, &["status"]);
    assert!(ran.stderr.contains("found no client") && ran.stderr.contains("codex"), "{}", ran.stderr);
}

/// Claude Code rewrites its file all the time, so its own command makes the change.
#[test]
fn claude_codes_own_command_is_used() {
    let env = home();
    let fake = env.path().join("bin/claude");
    let log = env.path().join("calls");
    std::fs::write(&fake, format!("#!/bin/sh\necho \"$*\" >> {}\n", log.display())).expect("written");
    std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).expect("set");
    let program = env.path().join("bin/unspool").to_string_lossy().into_owned();
    let shown = succeed(&env, &["install", "claude", "--dry-run"]);
    assert_eq!(shown, format!("# run\n{} mcp add --scope user unspool -- {program} mcp\n", fake.display()));
    assert!(!log.try_exists().expect("known"));
    succeed(&env, &["install", "claude"]);
    // The fake command changes nothing, so the file must say what the real one would have written.
    let server =
        json!({"mcpServers": {"unspool": {"type": "stdio", "command": "/old/unspool", "args": ["mcp"], "env": {}}}});
    std::fs::write(path(&env, FILES[0].1), server.to_string()).expect("written");
    let ran = run(&env, &["status", "claude"]);
    assert!(ran.code == 3 && ran.stdout.contains("(the program does not exist"), "{}", ran.stdout);
    succeed(&env, &["install", "claude"]);
    succeed(&env, &["uninstall", "claude"]);
    let (add, remove) =
        (format!("mcp add --scope user unspool -- {program} mcp\n"), "mcp remove --scope user unspool\n");
    assert_eq!(read(&log), format!("{add}{remove}{add}{remove}"));
}
