//! Fault catalogue, section D: no space, no memory, no permission, failing disks, odd terminals. D3 is in `loops.rs`;
//! `crash.rs` repeats D1, D5 and D6 at every operation.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Signal, kill_process};

use crate::support::env::{Env, Ran};
use crate::support::privileges::{MemoryGroup, Mount, as_nobody, give_to, is_root};
use crate::support::process::{
    can_trace, finish, guarded, in_shell, skip, start_stopped_search, tool, traced_child, under, works,
};
use crate::support::transcript::{session, user_line};

/// Text that does not compress: random words.
fn noise(seed: u64, words: usize) -> String {
    let mut state = seed * 2 + 1;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (0..10)
            .map(|at| char::from(b'a' + u8::try_from((state >> (8 + at * 5)) % 26).expect("a letter")))
            .collect::<String>()
    };
    (0..words).map(|_| word() + " ").collect()
}

/// A session with about this many kilobytes of such text, and with a given word at the end.
fn noisy_session(number: u32, kilobytes: u32, word: &str) -> String {
    let id = session(number);
    let first = number * 100_000;
    let lines = (0..kilobytes).map(|line| user_line(&id, first + line, &noise(u64::from(first + line), 90)));
    lines.collect::<String>() + &user_line(&id, first + kilobytes, word)
}

fn write_noisy(env: &Env, number: u32, kilobytes: u32, word: &str) {
    env.write(format!("-p/{}.jsonl", session(number)), noisy_session(number, kilobytes, word));
}

fn write_line(env: &Env, number: u32, word: &str) {
    let id = session(number);
    env.write(format!("-p/{id}.jsonl"), user_line(&id, number, word));
}

/// The paths of all files and folders below a folder, and its own.
fn tree(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![folder.to_path_buf()];
    for entry in std::fs::read_dir(folder).expect("listed").map(|entry| entry.expect("entry")) {
        let below = if entry.file_type().expect("a type").is_dir() { tree(&entry.path()) } else { vec![entry.path()] };
        all.extend(below);
    }
    all
}

fn bytes_below(folder: &Path) -> u64 {
    let files = tree(folder).into_iter().map(|path| std::fs::metadata(path).expect("there"));
    files.filter(std::fs::Metadata::is_file).map(|meta| meta.len()).sum()
}

/// Segment files that no commit names, and temporary files.
fn leftovers(env: &Env) -> Vec<PathBuf> {
    let folder = env.index_folder();
    let meta = std::fs::read_to_string(folder.join("meta.json")).expect("read").replace('-', "");
    let name = |path: &PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
    let is_temporary = |path: &PathBuf| name(path).starts_with(".tmp");
    let is_orphan = |path: &PathBuf| name(path).len() > 32 && !meta.contains(&name(path)[..32]);
    tree(&folder).into_iter().filter(|path| is_temporary(path) || is_orphan(path)).collect()
}

/// Reports whether a command failed with an error message: no crash, no silence, and not the code for "nothing found".
fn is_clean_failure(ran: &Ran) -> bool {
    matches!(ran.code, 2 | 4 | 5 | 6) && ran.stderr.contains("unspool: error:")
}

fn remount(mount_point: &Path, size: &str) {
    let options = format!("remount,size={size}");
    assert!(tool("mount").args(["-o", &options]).arg(mount_point).status().expect("ran").success());
}

#[test]
fn d1_disk_full_with_a_commit_on_it() {
    for size in ["1m", "2m", "4m"] {
        let env = Env::new();
        let Some(_mount) = Mount::tmpfs(size, &env.index_dir()) else { return };
        write_line(&env, 1, "deinssmall");
        env.index();
        write_noisy(&env, 2, 6000, "deinslarge");
        let ran = finish(env.command().arg("index"));
        // A search answers from the existing index, whether it tries to update it or not.
        assert_eq!(env.count("deinssmall"), 1, "{size}");
        let found = finish(env.command().args(["search", "deinssmall"]));
        assert_eq!(found.code, 0, "{size}: {}", found.stderr);
        remount(&env.index_dir(), "200m");
        env.index();
        assert_eq!((env.count("deinssmall"), env.count("deinslarge")), (1, 1), "{size}");
        env.heal();
        assert_eq!(ran.code, 6, "{size}: {} {}", ran.stdout, ran.stderr);
        let folder = env.index_dir();
        assert!(ran.stderr.contains(folder.to_str().expect("UTF-8")), "does not name the folder: {}", ran.stderr);
        assert!(
            ran.stderr.contains("needs about") && ran.stderr.contains(" MB"),
            "does not say how much: {}",
            ran.stderr
        );
    }
}

#[test]
fn d1_disk_full_from_the_start() {
    for size in ["4k", "16k", "32k", "64k", "1m"] {
        let env = Env::new();
        let Some(_mount) = Mount::tmpfs(size, &env.index_dir()) else { return };
        write_noisy(&env, 1, 2000, "deinsstart");
        let ran = finish(env.command().arg("index"));
        let found = finish(env.command().args(["search", "--no-refresh", "deinsstart"]));
        assert!(is_clean_failure(&found) || found.code == 1, "{size}: {} {}", found.code, found.stderr);
        remount(&env.index_dir(), "200m");
        env.index();
        assert_eq!(env.count("deinsstart"), 1, "{size}");
        env.heal();
        assert_eq!(ran.code, 6, "{size}: {} {}", ran.stdout, ran.stderr);
    }
}

#[test]
fn d1_disk_full_with_much_still_to_read() {
    let env = Env::new();
    // More than the queue to the index takes: readers must not wait for a writer that has failed.
    for number in 2..6 {
        let id = session(number);
        let lines = (0..700).map(|line| number * 1000 + line).map(|at| user_line(&id, at, &noise(u64::from(at), 900)));
        env.write(format!("-p/{id}.jsonl"), lines.collect::<String>());
    }
    // It depends on timing whether they do.
    for size in ["1m", "2m", "3m", "4m"] {
        let Some(_mount) = Mount::tmpfs(size, &env.index_dir()) else { return };
        let ran = finish(env.command().arg("index"));
        assert_eq!(ran.code, 6, "{size}: {} {}", ran.stdout, ran.stderr);
    }
    (2..6).for_each(|number| std::fs::remove_file(env.file(format!("-p/{}.jsonl", session(number)))).expect("removed"));
    write_line(&env, 1, "deinsheld");
    env.heal();
    assert_eq!(env.count("deinsheld"), 1);
}

/// A run that failed removes its own files. If it was killed before it could, the next run removes them, even one that
/// has nothing to write.
#[test]
fn d2_a_failed_run_frees_the_space_it_took() {
    let env = Env::new();
    let Some(_mount) = Mount::tmpfs("3m", &env.index_dir()) else { return };
    write_noisy(&env, 1, 500, "dzweifirst");
    env.index();
    let before = bytes_below(&env.index_dir());
    write_noisy(&env, 2, 8000, "dzweilarge");
    for _ in 0..2 {
        assert_eq!(finish(env.command().arg("index")).code, 6);
        let after = bytes_below(&env.index_dir());
        assert!(after <= before + before / 20, "{before} bytes before, {after} after");
        assert_eq!(leftovers(&env), Vec::<PathBuf>::new());
    }
    std::fs::remove_file(env.file(format!("-p/{}.jsonl", session(2)))).expect("removed");
    let folder = env.index_folder();
    let left_over = ["0123456789abcdef0123456789abcdef.idx", ".tmp000001"];
    left_over.iter().for_each(|name| std::fs::write(folder.join(name), "left").expect("written"));
    let meta = || std::fs::read(folder.join("meta.json")).expect("read");
    let commit = meta();
    env.index();
    assert_eq!((leftovers(&env), meta() == commit), (Vec::new(), true));
    env.heal();
}

#[test]
fn d2_disk_full_leaves_nothing_behind() {
    let env = Env::new();
    let Some(_mount) = Mount::tmpfs("6m", &env.index_dir()) else { return };
    write_noisy(&env, 1, 500, "dzweifirst");
    env.index();
    let before = bytes_below(&env.index_dir());
    let large = env.file(format!("-p/{}.jsonl", session(2)));
    let mut codes = Vec::new();
    for _ in 0..3 {
        write_noisy(&env, 2, 8000, "dzweilarge");
        codes.push(finish(env.command().arg("index")).code);
        // The large file is removed; a run with one line to read finds the space free again.
        std::fs::remove_file(&large).expect("removed");
        env.append(format!("-p/{}.jsonl", session(1)), user_line(&session(1), 1, "dzweimore"));
        env.index();
        assert_eq!(leftovers(&env), Vec::<PathBuf>::new());
    }
    let after = bytes_below(&env.index_dir());
    // Three more lines were added, each in a segment of a few kilobytes.
    assert!(after <= before + before / 20 + 64_000, "{before} bytes before, {after} after");
    assert_eq!(env.count("dzweifirst"), 1);
    env.heal();
    assert_eq!(codes, [6, 6, 6]);
}

/// Runs `index` while every read of one file fails, starting with read number `from_read`.
fn index_without(env: &Env, number: u32, from_read: u32) -> Ran {
    let path = env.file(format!("-p/{}.jsonl", session(number)));
    let inject = format!("inject=read,pread64,readv:error=EIO:when={from_read}+");
    let trace = ["strace", "-f", "-o", "/dev/null", "-e", "trace=read,pread64,readv", "-e", &inject, "-P"];
    finish(under(env, &[&trace[..], &[path.to_str().expect("UTF-8")]].concat()).arg("index"))
}

#[test]
fn d4_a_source_cannot_be_read() {
    if !can_trace() {
        return skip("no strace");
    }
    let env = Env::new();
    write_noisy(&env, 1, 500, "dviergrown");
    write_line(&env, 2, "dvierold");
    env.index();
    let add = |number: u32, word: &str| {
        env.append(format!("-p/{}.jsonl", session(number)), user_line(&session(number), 1000 + number, word));
    };
    let faults: [(u32, u32, &dyn Fn()); 4] = [
        (1, 1, &|| add(1, "dviermore")),
        (2, 1, &|| write_line(&env, 2, "dviernew")),
        (3, 1, &|| write_line(&env, 3, "dvierunread")),
        (4, 3, &|| write_noisy(&env, 4, 1500, "dvierlate")),
    ];
    for (number, from_read, change) in faults {
        change();
        write_line(&env, 10 + number, "dviergood");
        let ran = index_without(&env, number, from_read);
        assert_eq!(ran.code, 3, "{} {}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(&session(number)), "does not name the file: {}", ran.stdout);
        assert_eq!(env.count("dviergood"), number as usize, "the others are read");
        let kept = if number == 2 { "dvierold" } else { "dviergrown" };
        assert_eq!(env.count(kept), 1, "a failed read removes nothing");
        env.index();
    }
    let counts = ["dviermore", "dvierold", "dviernew", "dvierunread", "dvierlate"].map(|word| env.count(word));
    assert_eq!(counts, [1, 0, 1, 1, 1]);
    env.heal();
}

/// An index with a few segments and deleted documents, and the words to look for in it.
fn an_index_to_damage() -> (Env, [&'static str; 3]) {
    let env = Env::new();
    write_noisy(&env, 1, 200, "dfuenffirst");
    env.index();
    write_line(&env, 2, "dfuenfsecond");
    env.index();
    write_line(&env, 1, "dfuenfthird");
    env.index();
    write_noisy(&env, 3, 200, "dfuenffirst");
    env.index();
    (env, ["dfuenffirst", "dfuenfsecond", "dfuenfthird"])
}

/// Three ways to damage a file.
fn damages(healthy: &[u8]) -> [(&'static str, Vec<u8>); 3] {
    let middle = healthy.len() / 2;
    let (mut flipped, mut zeroed) = (healthy.to_vec(), healthy.to_vec());
    flipped[middle] ^= 0x10;
    zeroed[middle / 2..middle + middle / 2].fill(0);
    [("a bit flipped", flipped), ("zeros", zeroed), ("cut", healthy[..middle].to_vec())]
}

#[test]
fn d5_bad_blocks_in_files_of_the_index() {
    let (env, words) = an_index_to_damage();
    let files: BTreeSet<PathBuf> =
        env.segment_files().into_iter().chain([env.index_folder().join("meta.json")]).collect();
    assert!(files.len() > 12, "{files:?}");
    for file in files {
        let healthy = std::fs::read(&file).expect("read");
        for (how, damaged) in damages(&healthy) {
            std::fs::write(&file, &damaged).expect("damaged");
            let at = format!("{how} in {}", file.display());
            let verified = finish(env.command().arg("verify"));
            assert!(
                verified.code == 4 || damaged == healthy,
                "{at}: verify says {} {}",
                verified.code,
                verified.stdout
            );
            for word in words {
                let found = finish(env.command().args(["search", "--no-refresh", "--messages", word]));
                assert!(
                    found.code == 0 || is_clean_failure(&found),
                    "{at}: search says {} {}",
                    found.code,
                    found.stderr
                );
                assert!(found.code != 0 || found.stdout.contains(word), "{at}: {}", found.stdout);
            }
        }
        std::fs::write(&file, &healthy).expect("repaired");
    }
    env.heal();
}

#[test]
fn d5_a_block_goes_bad_during_a_search() {
    if !can_trace() {
        return skip("no strace");
    }
    let (env, words) = an_index_to_damage();
    // A read error in a mapped file is a signal, not an error code. A truncated file has the same effect.
    let search = start_stopped_search(&env, words[0]);
    let pid = traced_child(&search);
    let healthy: Vec<(PathBuf, Vec<u8>)> =
        env.segment_files().into_iter().map(|file| (file.clone(), std::fs::read(file).expect("read"))).collect();
    healthy
        .iter()
        .for_each(|(file, _)| File::options().write(true).open(file).and_then(|file| file.set_len(0)).expect("cut"));
    kill_process(pid, Signal::CONT).expect("continued");
    let ran = guarded(search);
    healthy.iter().for_each(|(file, bytes)| std::fs::write(file, bytes).expect("repaired"));
    env.heal();
    assert_eq!(ran.code, 4, "{} {}", ran.stdout, ran.stderr);
    // Whatever the wording: the index is at fault, and there is advice.
    assert!(ran.stderr.contains("the index") && ran.stderr.contains("run `unspool "), "{}", ran.stderr);
}

#[test]
fn d6_fdatasync_fails() {
    if !can_trace() {
        return skip("no strace");
    }
    let env = Env::new();
    write_line(&env, 1, "dsechsold");
    env.index();
    // Once at different points, then always: a single failure counts too.
    for when in ["1", "2", "3", "5", "8", "1+"] {
        env.append(format!("-p/{}.jsonl", session(2)), user_line(&session(2), 7, "dsechsnew"));
        let inject = format!("inject=fdatasync,fsync:error=EIO:when={when}");
        let trace = ["strace", "-f", "-o"];
        let log = env.path().join("trace");
        let command =
            [&trace[..], &[log.to_str().expect("UTF-8"), "-e", "trace=fdatasync,fsync", "-e", &inject]].concat();
        let ran = finish(under(&env, &command).arg("index"));
        let failed = std::fs::read_to_string(&log).expect("read").contains("INJECTED");
        assert!(!failed || is_clean_failure(&ran), "{when}: {} {} {}", ran.code, ran.stdout, ran.stderr);
        assert!(failed || ran.code == 0, "{when}: {}", ran.stderr);
        assert_eq!(env.count("dsechsold"), 1, "{when}");
        env.index();
        env.verify();
    }
    assert_eq!(env.count("dsechsnew"), 1, "it is the same line each time");
    env.heal();
}

#[test]
fn d7_few_file_descriptors() {
    let env = Env::new();
    for number in 1..=100 {
        write_line(&env, number, "dsieben");
        // Several commits, so that there are segments to keep open.
        if number % 20 == 0 {
            let ran = finish(in_shell(&env, "ulimit -n 64").arg("index"));
            assert_eq!(ran.code, 0, "{}", ran.stderr);
        }
    }
    let found = finish(in_shell(&env, "ulimit -n 64").args(["search", "--no-refresh", "dsieben"]));
    assert_eq!(found.code, 0, "{}", found.stderr);
    for limit in [24, 16, 8] {
        let id = session(200);
        env.append(format!("-p/{id}.jsonl"), user_line(&id, 1000 + limit, "dsiebenfew"));
        let preparation = format!("ulimit -n {limit}");
        for args in
            [&["index"][..], &["search", "--no-refresh", "dsieben"], &["search", "dsieben"], &["verify"], &["status"]]
        {
            let ran = finish(in_shell(&env, &preparation).args(args));
            assert!(ran.code == 0 || is_clean_failure(&ran), "{limit} {args:?}: {} {}", ran.code, ran.stderr);
        }
    }
    env.heal();
    assert_eq!((env.count("dsieben"), env.count("dsiebenfew")), (100, 3));
}

#[test]
fn d8_little_address_space() {
    let env = Env::new();
    write_noisy(&env, 1, 3000, "dachtspace");
    let run = |kilobytes: u32, args: &[&str]| finish(in_shell(&env, &format!("ulimit -v {kilobytes}")).args(args));
    for megabytes in [60, 120, 240, 400] {
        let ran = run(megabytes << 10, &["index"]);
        // Rust aborts with a message when an allocation fails. With too little memory to load the program, the system
        // reports it.
        let is_reported = ran.stderr.contains("memory allocation") || ran.stderr.contains("error while loading");
        assert!(ran.code == 0 || is_reported || is_clean_failure(&ran), "{megabytes} MB: {} {}", ran.code, ran.stderr);
    }
    let ran = run(2 << 20, &["index"]);
    assert_eq!(ran.code, 0, "2 GB are enough: {}", ran.stderr);
    assert_eq!(run(1 << 20, &["search", "--no-refresh", "dachtspace"]).code, 0);
    env.heal();
    assert_eq!(env.count("dachtspace"), 1);
}

#[test]
fn d8_little_memory() {
    let env = Env::new();
    (1..=4).for_each(|number| write_noisy(&env, number, 2000, "dachtmemory"));
    // Too little: killed or an error, and nothing else.
    for megabytes in [8, 24] {
        let Some(group) = MemoryGroup::new("tiny", megabytes) else { return };
        let ran = group.run(&env, &["index"]);
        assert!(matches!(ran.code, 0 | -1) || is_clean_failure(&ran), "{megabytes} MB: {} {}", ran.code, ran.stderr);
    }
    // What is promised: 300 MB to index, 128 MB to search.
    let Some(group) = MemoryGroup::new("index", 300) else { return };
    let ran = group.run(&env, &["index"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let Some(group) = MemoryGroup::new("search", 128) else { return };
    let ran = group.run(&env, &["search", "--no-refresh", "dachtmemory"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(env.count("dachtmemory"), 4);
    env.heal();
}

/// Checks that commands that only read work, and that `index` says why it cannot write.
fn reads_but_does_not_write(env: &Env, mut command: impl FnMut() -> Command) {
    let read = [&["search", "--no-refresh", "dzehn"][..], &["search", "dzehn"], &["status"], &["verify", "--deep"]];
    for args in read {
        let ran = finish(command().args(args));
        assert_eq!(ran.code, 0, "{args:?}: {} {}", ran.stdout, ran.stderr);
    }
    let ran = finish(command().arg("index"));
    assert_eq!(ran.code, 6, "{} {}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains(env.index_dir().to_str().expect("UTF-8")), "does not name the folder: {}", ran.stderr);
}

#[test]
fn d10_the_index_is_on_a_read_only_mount() {
    let env = Env::new();
    write_line(&env, 1, "dzehn");
    env.index();
    write_line(&env, 2, "dzehnmore");
    let folder = env.index_dir();
    let name = folder.to_str().expect("UTF-8").to_string();
    let Some(mount) = Mount::new(&["--bind", &name], &folder) else { return };
    assert!(works("mount", &["-o", "remount,bind,ro", &name]), "cannot mount read-only");
    reads_but_does_not_write(&env, || env.command());
    drop(mount);
    env.heal();
    assert_eq!(env.count("dzehnmore"), 1);
}

/// A search that cannot leave a damage mark for the next run advises a rebuild, which does not need the mark.
#[test]
fn d10_damage_on_a_read_only_mount() {
    let (env, words) = an_index_to_damage();
    let stores =
        env.segment_files().into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "store"));
    for store in stores {
        let mut bytes = std::fs::read(&store).expect("read");
        bytes[..20].fill(0x5a);
        std::fs::write(&store, bytes).expect("damaged");
    }
    let folder = env.index_dir();
    let name = folder.to_str().expect("UTF-8").to_string();
    let Some(mount) = Mount::new(&["--bind", &name], &folder) else { return };
    assert!(works("mount", &["-o", "remount,bind,ro", &name]), "cannot mount read-only");
    let ran = finish(env.command().args(["search", "--no-refresh", words[1]]));
    drop(mount);
    assert_eq!(ran.code, 4, "{} {}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("run `unspool index --rebuild`:"), "{}", ran.stderr);
    assert!(matches!(env.run(&["index", "--rebuild"]).code, 0 | 3));
    env.heal();
}

#[test]
fn d10_the_index_belongs_to_another_user() {
    let env = Env::new();
    write_line(&env, 1, "dzehn");
    env.index();
    write_line(&env, 2, "dzehnmore");
    let Some(_) = as_nobody(&env) else { return };
    // Readable for all, writable for no one but root.
    let open_up = |path: &Path| {
        let mode = if path.is_dir() { 0o555 } else { 0o444 };
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("set");
    };
    if is_root() {
        assert!(tool("chown").args(["-R", "0"]).arg(env.index_dir()).status().expect("ran").success());
    }
    tree(&env.index_dir()).iter().rev().for_each(|path| open_up(path));
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    reads_but_does_not_write(&env, || if is_root() { under(&env, &nobody) } else { env.command() });
    give_to(&env, "0");
    for path in tree(&env.index_dir()) {
        let mode = if path.is_dir() { 0o700 } else { 0o600 };
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("set");
    }
    env.heal();
    assert_eq!(env.count("dzehnmore"), 1);
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("there").permissions().mode() & 0o777
}

#[test]
fn d11_where_the_index_should_be() {
    let env = Env::new();
    write_line(&env, 1, "delf");
    // A missing folder, with missing parents.
    let deep = env.path().join("a/b/c");
    let at = |place: &Path, args: &[&str]| finish(env.command().env("UNSPOOL_INDEX_DIR", place).args(args));
    assert_eq!(at(&deep, &["index"]).code, 0);
    assert_eq!(at(&deep, &["search", "delf"]).code, 0);
    assert_eq!(mode(&deep), 0o700);
    // A file where the folder, or its parent, should be.
    let file = env.path().join("file");
    std::fs::write(&file, "precious").expect("written");
    for place in [file.clone(), file.join("below")] {
        for args in [&["index"][..], &["search", "delf"], &["status"]] {
            let ran = at(&place, args);
            assert!(is_clean_failure(&ran), "{} {args:?}: {} {}", place.display(), ran.code, ran.stderr);
            let named = ran.stderr.contains(file.to_str().expect("UTF-8")) || args[0] != "index";
            assert!(named, "does not name the folder: {}", ran.stderr);
        }
    }
    assert_eq!(std::fs::read_to_string(&file).expect("read"), "precious");
    // The folder is removed between two runs.
    env.index();
    std::fs::remove_dir_all(env.index_dir()).expect("removed");
    env.heal();
    assert_eq!((env.count("delf"), mode(&env.index_dir())), (1, 0o700));
}

/// The binary without a home and without a folder for the index.
fn without_home(env: &Env) -> Command {
    let mut command = env.command();
    command.env_remove("HOME").env_remove("UNSPOOL_INDEX_DIR").env("TMPDIR", "/dev/full");
    command
}

#[test]
fn d13_no_home() {
    let env = Env::new();
    write_line(&env, 1, "ddreizehn");
    let with_root = || {
        let mut command = without_home(&env);
        command.arg("--root").arg(env.claude());
        command
    };
    // The message names what to set.
    for home in [None, Some(""), Some("relative/home")] {
        let ran = finish(with_root().envs(home.map(|home| ("HOME", home))).arg("index"));
        assert_eq!(ran.code, 2, "{home:?}: {} {}", ran.stdout, ran.stderr);
        let names_both = ran.stderr.contains("--index-dir") && ran.stderr.contains("UNSPOOL_INDEX_DIR");
        assert!(names_both, "{home:?}: {}", ran.stderr);
    }
    // Either of them is enough, and so is an absolute data folder.
    assert_eq!(finish(with_root().arg("--index-dir").arg(env.index_dir()).arg("index")).code, 0);
    assert_eq!(finish(with_root().env("UNSPOOL_INDEX_DIR", env.index_dir()).args(["search", "ddreizehn"])).code, 0);
    assert_eq!(finish(with_root().env("XDG_DATA_HOME", env.path().join("xdg")).arg("index")).code, 0);
    assert!(env.path().join("xdg/unspool").is_dir());
    assert_eq!(finish(with_root().env("XDG_DATA_HOME", "relative").arg("index")).code, 2);
    env.heal();
}

#[test]
fn d13_a_relative_data_folder_is_ignored() {
    let env = Env::new();
    write_line(&env, 1, "ddreizehn");
    let home = env.path().join("home");
    let run = |args: &[&str]| finish(without_home(&env).env("HOME", &home).env("XDG_DATA_HOME", "relative").args(args));
    assert_eq!(run(&["index"]).code, 0);
    assert_eq!(run(&["search", "--no-refresh", "ddreizehn"]).code, 0);
    assert!(home.join(".local/share/unspool").is_dir() && !env.path().join("relative").is_dir());
    env.heal();
}

#[test]
fn d15_umask() {
    for umask in ["000", "077", "777"] {
        let env = Env::new();
        (1..=3).for_each(|number| write_line(&env, number, "dfuenfzehn"));
        let run = |args: &[&str]| finish(in_shell(&env, &format!("umask {umask}")).args(args));
        for args in [&["index"][..], &["index", "--rebuild"], &["search", "dfuenfzehn"]] {
            assert_eq!(run(args).code, 0, "{umask} {args:?}");
        }
        // Grown, deleted and pruned: merges and deletions create files too.
        for number in 4..=12 {
            env.append(format!("-p/{}.jsonl", session(2)), user_line(&session(2), number, "dfuenfzehn"));
            assert_eq!(run(&["index"]).code, 0, "{umask}");
        }
        std::fs::remove_file(env.file(format!("-p/{}.jsonl", session(1)))).expect("removed");
        assert_eq!(run(&["index"]).code, 0, "{umask}");
        assert_eq!(run(&["prune", "--yes"]).code, 0, "{umask}");
        for path in tree(&env.index_dir()) {
            let expected = if path.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode(&path), expected, "umask {umask}: {}", path.display());
        }
        env.heal();
    }
}

/// Runs the binary on a terminal with this many columns.
fn on_terminal(env: &Env, columns: u32, variables: &[(&str, &str)], arguments: &str) -> Ran {
    let line = format!("stty cols {columns} rows 1; '{}' {arguments}", env!("CARGO_BIN_EXE_unspool"));
    let mut command = tool("script");
    command.args(["-qec", &line, "/dev/null"]).env_clear().current_dir(env.path());
    env.command().get_envs().for_each(|(name, value)| _ = command.env(name, value.expect("set")));
    finish(command.env_remove("COLUMNS").env("TERM", "xterm-256color").envs(variables.iter().copied()))
}

/// Commands that write to a terminal.
const TERMINAL_COMMANDS: [&str; 8] = [
    "search dsechzehn",
    "search --messages dsechzehn",
    "search nothingatall",
    "status",
    "status --problems",
    "verify",
    "--help",
    "index --rebuild",
];

#[test]
fn d16_no_terminal() {
    let env = Env::new();
    write_noisy(&env, 1, 20, "dsechzehn and some words more");
    env.index();
    for arguments in TERMINAL_COMMANDS {
        let ran = env.run(&arguments.split(' ').collect::<Vec<_>>());
        assert!(matches!(ran.code, 0 | 1), "{arguments}: {} {}", ran.code, ran.stderr);
        assert!(!(ran.stdout + &ran.stderr).contains('\u{1b}'), "{arguments}");
    }
    env.heal();
}

#[test]
fn d16_terminals_of_all_kinds() {
    if !works("script", &["-qec", "stty -a", "/dev/null"]) {
        return skip("no script or stty");
    }
    let env = Env::new();
    write_noisy(&env, 1, 20, "dsechzehn and some words more");
    env.index();
    for arguments in TERMINAL_COMMANDS {
        for columns in [1, 0, 10_000] {
            let ran = on_terminal(&env, columns, &[], arguments);
            assert!(matches!(ran.code, 0 | 1), "{arguments}, {columns} columns: {} {}", ran.code, ran.stdout);
        }
        let dumb = on_terminal(&env, 80, &[("TERM", "dumb")], arguments);
        assert!(matches!(dumb.code, 0 | 1), "{arguments}: {} {}", dumb.code, dumb.stdout);
        assert!(!dumb.stdout.contains('\u{1b}'), "{arguments} on a dumb terminal: {:?}", dumb.stdout);
        // With NO_COLOR a progress bar may move the cursor, but nothing may be coloured or bold.
        let plain = on_terminal(&env, 80, &[("NO_COLOR", "1")], arguments);
        assert!(matches!(plain.code, 0 | 1), "{arguments}: {} {}", plain.code, plain.stdout);
        let coloured = ["\u{1b}[1", "\u{1b}[3", "\u{1b}[4", "\u{1b}[0m"].iter().any(|code| plain.stdout.contains(code));
        assert!(!coloured, "{arguments} without colours: {:?}", plain.stdout);
    }
    env.heal();
}

#[test]
fn d17_stdout_is_full_or_closed() {
    let env = Env::new();
    write_line(&env, 1, "dsiebzehn");
    env.index();
    let commands = [
        &["search", "dsiebzehn"][..],
        &["search", "--json", "dsiebzehn"],
        &["status"],
        &["verify"],
        &["index"],
        &["index", "--json"],
    ];
    for args in commands {
        let full = File::options().write(true).open("/dev/full").expect("opened");
        let mut child = env.command().args(args).stdout(full).stderr(Stdio::piped()).spawn().expect("started");
        let mut stderr = String::new();
        child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("read");
        assert_eq!(child.wait().expect("ended").code(), Some(6), "{args:?}: {stderr}");
        assert!(stderr.contains("standard output"), "{args:?}: {stderr}");
        let closed = finish(in_shell(&env, "exec >&-").args(args));
        assert_eq!(closed.code, 2, "{args:?}: {}", closed.stderr);
        assert!(closed.stderr.contains("standard output: it is closed"), "{args:?}: {}", closed.stderr);
        // `1<>/dev/null` is how Python silences its children, and what the Rust runtime opens in place of a closed
        // stdout.
        for silent in ["exec >/dev/null", "exec 1<>/dev/null"] {
            let ran = finish(in_shell(&env, silent).args(args));
            assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?} {silent}");
        }
    }
    env.heal();
}

#[test]
fn d19_many_small_runs() {
    const RUNS: u32 = 200;
    let env = Env::new();
    write_noisy(&env, 1, 300, "dneunzehnbase");
    env.index();
    let id = session(2);
    let (mut most_files, mut sizes) = (0, Vec::new());
    for number in 1..=RUNS {
        env.append(format!("-p/{id}.jsonl"), user_line(&id, number, "dneunzehn"));
        let ran = env.run(&["index", "--quiet"]);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "run {number}");
        most_files = most_files.max(tree(&env.index_dir()).len());
        sizes.push(bytes_below(&env.index_dir()));
    }
    let segments = env.status()["segments"].as_u64().expect("a number");
    assert!(segments <= 30, "{segments} segments");
    // A segment has at most eight files, and one more for its deletions.
    assert!(most_files <= 30 * 9 + 10, "{most_files} files");
    assert_eq!(leftovers(&env), Vec::<PathBuf>::new());
    let (early, late) = (sizes[..50].iter().max().expect("some"), sizes[150..].iter().max().expect("some"));
    // 150 more lines, each of less than a kilobyte.
    assert!(*late <= early + early / 10 + 150_000, "{early} bytes at first, {late} at the end");
    assert_eq!((env.count("dneunzehn"), env.count("dneunzehnbase")), (200, 1));
    env.heal();
}

/// A file was rewritten, and only its beginning can be read: the old content stays.
#[test]
fn d4_a_rewritten_source_fails_halfway() {
    if !can_trace() {
        return skip("no strace");
    }
    for from_read in 1..6 {
        let env = Env::new();
        write_line(&env, 2, "dvierold");
        env.index();
        write_noisy(&env, 2, 1500, "dviernew");
        let ran = index_without(&env, 2, from_read);
        assert_eq!(ran.code, 3, "{} {}", ran.stdout, ran.stderr);
        assert_eq!(env.count("dvierold"), 1, "a failed read (number {from_read} and later) removes nothing");
        env.index();
        assert_eq!([env.count("dvierold"), env.count("dviernew")], [0, 1]);
        env.heal();
    }
}

/// Escape sequences in a recovered file never reach a terminal; a pipe gets every byte.
#[test]
fn d16_a_recovered_file_on_a_terminal() {
    if !works("script", &["-qec", "stty -a", "/dev/null"]) {
        return skip("no script or stty");
    }
    let env = Env::new();
    let id = session(1);
    let head = format!(r#""cwd":"/home/u/x","sessionId":"{id}","timestamp":"2026-10-01T10:00:00.000Z""#);
    let input = r#"{"file_path":"/home/u/x/esc.txt","content":"red \u001b]0;owned\u0007 text\n"}"#;
    let call = format!(
        r#"{{"type":"assistant","uuid":"a",{head},"message":{{"id":"m","content":[{{"type":"tool_use","id":"t","name":"Write","input":{input}}}]}}}}"#
    );
    let result = format!(
        r#"{{"type":"user","uuid":"b",{head},"message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":"done"}}]}},"toolUseResult":{{"type":"create","filePath":"/home/u/x/esc.txt","content":"red \u001b]0;owned\u0007 text\n","structuredPatch":[]}}}}"#
    );
    env.write(format!("-p/{id}.jsonl"), call + "\n" + &result + "\n");
    env.index();
    let shown = on_terminal(&env, 80, &[("UNSPOOL_PAGER", "cat")], "recover --no-refresh /home/u/x/esc.txt");
    assert!(shown.stdout.contains("owned") && !shown.stdout.contains("\u{1b}]"), "{:?}", shown.stdout);
    assert!(env.run(&["recover", "--no-refresh", "/home/u/x/esc.txt"]).stdout.contains("\u{1b}]0;owned"));
}

/// After a large run the folder has no segment file that the index does not name.
#[test]
fn d19_a_large_run_leaves_nothing_behind() {
    let env = Env::new();
    for number in 1..5 {
        write_noisy(&env, number, 2500, "dneunzehn");
    }
    env.index();
    let folder = env.index_folder();
    let meta = std::fs::read_to_string(folder.join("meta.json")).expect("read").replace('-', "");
    for entry in std::fs::read_dir(&folder).expect("listed").map(|entry| entry.expect("entry")) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some((id, _)) = name.split_once('.').filter(|(id, _)| id.len() == 32) {
            assert!(meta.contains(id), "{name} is not part of the index");
        }
    }
}
