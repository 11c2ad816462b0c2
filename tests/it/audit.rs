//! System calls of the program, seen by strace: files it opens for writing, removes or renames, network calls, child
//! processes, and the order of operations that makes a commit durable. Skipped where strace is missing. Also F32 of the
//! fault catalogue.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::support::env::Env;
use crate::support::process::{can_trace, finish, skip, under};
use crate::support::transcript::{session, user_line};

/// The commands, in an order that gives each of them something to do.
const COMMANDS: [&[&str]; 12] = [
    &["index"],
    &["search", "prüfung"],
    &["search", "--json", "prüfung"],
    &["status", "--problems"],
    &["verify", "--deep"],
    &["index", "--rebuild"],
    &["index", "--confirm"],
    &["prune", "--yes"],
    &["forget", "--yes", "5e550000-0000-4000-8000-000000000001"],
    &["file", "src/a.rs"],
    &["recover", "--list", "src/a.rs"],
    &["--help"],
];

fn home() -> Env {
    let env = Env::new();
    for number in 1..5 {
        let id = session(number);
        env.write(format!("-p/{id}.jsonl"), user_line(&id, number, "prüfung words") + "broken\n");
    }
    env
}

/// Runs a command and returns its system calls, and those of its children.
fn calls(env: &Env, args: &[&str]) -> Vec<String> {
    let log = env.path().join("calls");
    let wrapper = ["strace", "-f", "-y", "-qq", "-s", "300", "-e", "trace=file,desc,network,process", "-o", "calls"];
    let ran = finish(under(env, &wrapper).args(args));
    assert!(matches!(ran.code, 0 | 1 | 3), "{args:?}: {} {}", ran.code, ran.stderr);
    let text = String::from_utf8_lossy(&fs::read(log).expect("traced")).into_owned();
    text.lines().filter_map(|line| line.split_once(' ')).map(|(_, call)| call.trim().to_string()).collect()
}

fn is_change(call: &str) -> bool {
    let name = call.split('(').next().unwrap_or_default();
    let changes = [
        "unlink",
        "unlinkat",
        "rename",
        "renameat",
        "renameat2",
        "mkdir",
        "mkdirat",
        "rmdir",
        "truncate",
        "ftruncate",
        "utimensat",
        "chmod",
        "fchmod",
        "fchmodat",
        "chown",
        "fchown",
        "fchownat",
        "link",
        "linkat",
        "symlink",
        "symlinkat",
        "mknod",
        "mknodat",
        "setxattr",
        "fsetxattr",
        "fallocate",
    ];
    let opens =
        name.starts_with("open") && ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| call.contains(flag));
    changes.contains(&name) || opens
}

/// The program writes nothing outside the folder of the index, uses no network, and starts no other program.
#[test]
fn no_command_writes_or_calls_outside_its_index() {
    if !can_trace() {
        return skip("needs strace");
    }
    let env = home();
    let root = env.claude().display().to_string();
    let index = env.index_dir().display().to_string();
    for (at, args) in COMMANDS.iter().enumerate() {
        if at == 6 {
            // Gives `prune` something to do.
            fs::remove_file(env.file(format!("-p/{}.jsonl", session(3)))).expect("removed");
        }
        let calls = calls(&env, args);
        assert!(calls.len() > 20, "{args:?}: traced nothing");
        for call in &calls {
            assert!(!(is_change(call) && call.contains(&root)), "{args:?} changes a source: {call}");
            let outside =
                is_change(call) && !call.contains(&index) && !call.contains("/dev/") && !call.contains("/proc/");
            assert!(!outside, "{args:?} writes outside of its index: {call}");
            let name = call.split('(').next().unwrap_or_default();
            let network = ["connect", "bind", "listen", "sendto", "sendmsg", "socket"].contains(&name);
            assert!(!network || call.contains("AF_UNIX"), "{args:?} uses the network: {call}");
            let starts =
                name == "execve" && !call.starts_with(&format!("execve(\"{}\"", env!("CARGO_BIN_EXE_unspool")));
            assert!(!starts, "{args:?} starts another program: {call}");
        }
    }
}

/// The order that makes a commit durable: every file is synced, then `meta.json` is renamed into place, then the folder
/// is synced, and only then files are removed.
#[test]
fn a_commit_is_synced_in_order() {
    if !can_trace() {
        return skip("needs strace");
    }
    let env = home();
    env.index();
    env.append(format!("-p/{}.jsonl", session(1)), user_line(&session(1), 9, "more words"));
    let calls = calls(&env, &["index"]);
    let folder = env.index_folder().display().to_string();
    let is_meta = |call: &&String| call.starts_with("rename") && call.contains("/meta.json\"");
    let put = calls.iter().rposition(|call| is_meta(&call)).expect("a commit");
    let end = |call: &str| call.split("[/").next().unwrap_or_default().to_string();
    // Segment files written before the commit and not synced by then.
    let mut unsynced = std::collections::BTreeSet::new();
    for call in &calls[..put] {
        let Some(path) = call.split_once('<').and_then(|(_, rest)| rest.split_once('>')).map(|(path, _)| path) else {
            continue;
        };
        if !path.starts_with(&folder) || path == folder || path.ends_with(".lock") {
            continue;
        }
        if call.starts_with("write(") {
            unsynced.insert(path.to_string());
        } else if call.starts_with("fdatasync(") || call.starts_with("fsync(") {
            unsynced.remove(path);
        }
    }
    assert!(unsynced.is_empty(), "not synced before the commit: {unsynced:?}");
    let synced = calls[put..].iter().position(|call| {
        (call.starts_with("fsync(") || call.starts_with("fdatasync(")) && end(call).contains(&format!("<{folder}>"))
    });
    let synced = synced.expect("the folder is synced after the commit");
    let removed = calls[put..].iter().position(|call| call.starts_with("unlink"));
    assert!(removed.is_none_or(|removed| removed > synced), "removed before the folder was synced");
}

/// With any umask, folders and files are accessible to their owner only.
#[test]
fn files_are_private_with_any_umask() {
    for umask in ["000", "022", "077"] {
        let env = home();
        let script = format!("umask {umask}; exec \"$@\"");
        for args in &COMMANDS[..8] {
            let ran = finish(under(&env, &["sh", "-c", &script, "sh"]).args(*args));
            assert!(matches!(ran.code, 0 | 1 | 3), "{args:?}: {}", ran.stderr);
            all_private(&env.index_dir(), umask);
        }
    }
}

fn all_private(path: &Path, umask: &str) {
    let meta = fs::symlink_metadata(path).expect("there");
    let mode = meta.permissions().mode() & 0o7777;
    let wanted = if meta.is_dir() { 0o700 } else { 0o600 };
    assert_eq!(mode, wanted, "{} under umask {umask}: {mode:o}", path.display());
    if meta.is_dir() {
        fs::read_dir(path).expect("listed").for_each(|entry| all_private(&entry.expect("entry").path(), umask));
    }
}

/// The parts of F32 that the source code shows; `scripts/check` looks up advisories.
#[test]
fn f32_unsafe_code_and_pinned_versions() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| fs::read_to_string(root.join(name)).expect("read");
    assert!(read("Cargo.toml").contains("unsafe_code = \"deny\""));
    assert!(read("Cargo.lock").contains("name = \"tantivy\""));
    assert!(read("scripts/check").contains("deny check advisories"));
    let mut with_unsafe = Vec::new();
    let mut folders = vec![root.join("src")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).expect("listed").map(|entry| entry.expect("entry").path()) {
            if path.is_dir() {
                folders.push(path);
            } else if fs::read_to_string(&path).expect("read").contains("unsafe {") {
                with_unsafe.push(path.file_name().expect("a name").to_string_lossy().into_owned());
            }
        }
    }
    with_unsafe.sort();
    assert_eq!(with_unsafe, ["oneshot.rs"]);
}

/// The new content of a file that is not ours is synced before it gets the name of that file.
#[test]
fn a_replaced_file_is_synced_first() {
    if !can_trace() {
        return skip("needs strace");
    }
    let env = home();
    let calls = calls(&env, &["hook", "install"]);
    let put = calls.iter().position(|call| call.starts_with("rename") && call.contains("/settings.json\""));
    let put = put.expect("settings.json is replaced");
    let synced = |call: &String| call.starts_with("fsync(") && call.contains("/settings.json.unspool-");
    assert!(calls[..put].iter().any(synced), "not synced before: {:?}", &calls[..put]);
}
