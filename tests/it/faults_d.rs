//! Fault catalogue, section D: no space, no memory, no rights, odd terminals.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Signal, kill_process};

use crate::faults_b::{
    Mount, as_nobody, can_trace, finish, give_to, guarded, index_folder, is_root, segment_files, skip,
    start_stopped_search, status, tool, traced_child, under, works,
};
use crate::util::{Env, Ran, session, user_line};

// What the tests of this section need.

/// Text that does not compress: as many words as asked for, each of them new.
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

/// A session of about so many kilobytes of such text, with a word of its own at the end.
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

/// All files below a folder, with its folders, each by its full name.
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

/// Files of segments that no commit knows, and temporary files.
fn leftovers(env: &Env) -> Vec<PathBuf> {
    let folder = index_folder(env);
    let meta = std::fs::read_to_string(folder.join("meta.json")).expect("read").replace('-', "");
    let name = |path: &PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
    let is_temporary = |path: &PathBuf| name(path).starts_with(".tmp");
    let is_orphan = |path: &PathBuf| name(path).len() > 32 && !meta.contains(&name(path)[..32]);
    tree(&folder).into_iter().filter(|path| is_temporary(path) || is_orphan(path)).collect()
}

/// A failure that says what it is: no crash, no silence, and never the code for "nothing found".
fn is_clean_failure(ran: &Ran) -> bool {
    matches!(ran.code, 2 | 4 | 5 | 6) && ran.stderr.contains("unspool: error:")
}

/// A shell that runs the binary after some preparation.
fn after(env: &Env, preparation: &str) -> Command {
    under(env, &["sh", "-c", &format!("{preparation}; exec \"$0\" \"$@\"")])
}

fn remount(mount_point: &Path, size: &str) {
    let options = format!("remount,size={size}");
    assert!(tool("mount").args(["-o", &options]).arg(mount_point).status().expect("ran").success());
}

// The cases.

#[test]
fn d1_disk_full_with_a_commit_on_it() {
    for size in ["1m", "2m", "4m"] {
        let env = Env::new();
        let Some(_mount) = Mount::tmpfs(size, &env.index_dir()) else { return };
        write_line(&env, 1, "deinssmall");
        env.index();
        write_noisy(&env, 2, 6000, "deinslarge");
        let ran = finish(env.command().arg("index"));
        // Search works from what is there, whether it tries to bring it up to date or not.
        assert_eq!(env.count("deinssmall"), 1, "{size}");
        let found = finish(env.command().args(["search", "deinssmall"]));
        assert_eq!(found.code, 0, "{size}: {}", found.stderr);
        remount(&env.index_dir(), "200m");
        env.index();
        assert_eq!((env.count("deinssmall"), env.count("deinslarge")), (1, 1), "{size}");
        env.heal();
        assert_eq!(ran.code, 6, "{size}: {} {}", ran.stdout, ran.stderr);
        let folder = env.index_dir();
        assert!(ran.stderr.contains(folder.to_str().expect("UTF-8")), "does not say where: {}", ran.stderr);
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
    // More than may wait for the index at any time: readers must not wait for a writer that is no more.
    for number in 2..6 {
        let id = session(number);
        let lines = (0..700).map(|line| number * 1000 + line).map(|at| user_line(&id, at, &noise(u64::from(at), 900)));
        env.write(format!("-p/{id}.jsonl"), lines.collect::<String>());
    }
    // Whether they do depends on who is quicker.
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

/// The run that failed gives the room back itself, and one that was killed before it could is cleared up after by the
/// next, though that has nothing to write.
#[test]
fn d2_a_run_that_failed_gives_the_room_back() {
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
    let folder = index_folder(&env);
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
        // Somebody takes the large file away; a run with a line to read finds the place as it was.
        std::fs::remove_file(&large).expect("removed");
        env.append(format!("-p/{}.jsonl", session(1)), user_line(&session(1), 1, "dzweimore"));
        env.index();
        assert_eq!(leftovers(&env), Vec::<PathBuf>::new());
    }
    let after = bytes_below(&env.index_dir());
    // Three lines more have come in: a segment of a few kilobytes for each.
    assert!(after <= before + before / 20 + 64_000, "{before} bytes before, {after} after");
    assert_eq!(env.count("dzweifirst"), 1);
    env.heal();
    assert_eq!(codes, [6, 6, 6]);
}

/// Runs `index` while nothing can be read of one file, from some read of it on.
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
        assert_eq!(env.count(kept), 1, "a bad read removes nothing");
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

/// Three ways in which a file goes bad.
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
        segment_files(&env).into_iter().chain([index_folder(&env).join("meta.json")]).collect();
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
        std::fs::write(&file, &healthy).expect("mended");
    }
    env.heal();
}

#[test]
fn d5_a_block_goes_bad_during_a_search() {
    if !can_trace() {
        return skip("no strace");
    }
    let (env, words) = an_index_to_damage();
    // A mapped file that cannot be read is a signal, not an error: a file cut short is the same to the kernel.
    let search = start_stopped_search(&env, words[0]);
    let pid = traced_child(&search);
    let healthy: Vec<(PathBuf, Vec<u8>)> =
        segment_files(&env).into_iter().map(|file| (file.clone(), std::fs::read(file).expect("read"))).collect();
    healthy
        .iter()
        .for_each(|(file, _)| File::options().write(true).open(file).and_then(|file| file.set_len(0)).expect("cut"));
    kill_process(pid, Signal::CONT).expect("continued");
    let ran = guarded(search);
    healthy.iter().for_each(|(file, bytes)| std::fs::write(file, bytes).expect("mended"));
    env.heal();
    assert_eq!(ran.code, 4, "{} {}", ran.stdout, ran.stderr);
    // In whatever words: that the index is at fault, and what to do about it.
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
    // Once at each point, then always: a failure that is not repeated is a failure too.
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
    assert_eq!(env.count("dsechsnew"), 1, "the same line each time");
    env.heal();
}

#[test]
fn d7_few_file_descriptors() {
    let env = Env::new();
    for number in 1..=100 {
        write_line(&env, number, "dsieben");
        // Several commits, so that there are segments to keep open.
        if number % 20 == 0 {
            let ran = finish(after(&env, "ulimit -n 64").arg("index"));
            assert_eq!(ran.code, 0, "{}", ran.stderr);
        }
    }
    let found = finish(after(&env, "ulimit -n 64").args(["search", "--no-refresh", "dsieben"]));
    assert_eq!(found.code, 0, "{}", found.stderr);
    for limit in [24, 16, 8] {
        let id = session(200);
        env.append(format!("-p/{id}.jsonl"), user_line(&id, 1000 + limit, "dsiebenfew"));
        let preparation = format!("ulimit -n {limit}");
        for args in
            [&["index"][..], &["search", "--no-refresh", "dsieben"], &["search", "dsieben"], &["verify"], &["status"]]
        {
            let ran = finish(after(&env, &preparation).args(args));
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
    let run = |kilobytes: u32, args: &[&str]| finish(after(&env, &format!("ulimit -v {kilobytes}")).args(args));
    for megabytes in [60, 120, 240, 400] {
        let ran = run(megabytes << 10, &["index"]);
        // Rust ends a program that gets no memory, and says so; too little to be loaded at all is the system's word.
        let has_said = ran.stderr.contains("memory allocation") || ran.stderr.contains("error while loading");
        assert!(ran.code == 0 || has_said || is_clean_failure(&ran), "{megabytes} MB: {} {}", ran.code, ran.stderr);
    }
    let ran = run(2 << 20, &["index"]);
    assert_eq!(ran.code, 0, "2 GB are enough: {}", ran.stderr);
    assert_eq!(run(1 << 20, &["search", "--no-refresh", "dachtspace"]).code, 0);
    env.heal();
    assert_eq!(env.count("dachtspace"), 1);
}

/// A control group with a limit on memory, for as long as this lives.
pub(crate) struct MemoryGroup(PathBuf);

impl MemoryGroup {
    pub(crate) fn new(name: &str, megabytes: u64) -> Option<Self> {
        let bytes = (megabytes << 20).to_string();
        for (parent, file) in [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")] {
            let group = Path::new(parent).join(format!("unspool-test-{}-{name}", std::process::id()));
            if Path::new(parent).join("cgroup.procs").is_file() && std::fs::create_dir(&group).is_ok() {
                let made = Self(group);
                // The file is not there where the group cannot limit memory.
                if made.0.join(file).is_file() && std::fs::write(made.0.join(file), &bytes).is_ok() {
                    return Some(made);
                }
            }
        }
        skip("cannot make a control group for memory");
        None
    }

    pub(crate) fn run(&self, env: &Env, args: &[&str]) -> Ran {
        finish(after(env, &format!("echo $$ > {}/cgroup.procs", self.0.display())).args(args))
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn d8_little_memory() {
    let env = Env::new();
    (1..=4).for_each(|number| write_noisy(&env, number, 2000, "dachtmemory"));
    // Too little: killed, or an error; and no other way to end.
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

/// Reading works, writing says why it cannot.
fn reads_but_does_not_write(env: &Env, mut command: impl FnMut() -> Command) {
    let read = [&["search", "--no-refresh", "dzehn"][..], &["search", "dzehn"], &["status"], &["verify", "--deep"]];
    for args in read {
        let ran = finish(command().args(args));
        assert_eq!(ran.code, 0, "{args:?}: {} {}", ran.stdout, ran.stderr);
    }
    let ran = finish(command().arg("index"));
    assert_eq!(ran.code, 6, "{} {}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains(env.index_dir().to_str().expect("UTF-8")), "does not say where: {}", ran.stderr);
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

/// Where a search can leave no mark for the next run, it names the way that needs none.
#[test]
fn d10_damage_on_a_read_only_mount() {
    let (env, words) = an_index_to_damage();
    let stores =
        segment_files(&env).into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "store"));
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
fn d10_the_index_belongs_to_somebody_else() {
    let env = Env::new();
    write_line(&env, 1, "dzehn");
    env.index();
    write_line(&env, 2, "dzehnmore");
    let Some(_) = as_nobody(&env) else { return };
    // Readable by all, writable by its owner; that is root, or, for a user, nobody at all.
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
    // Missing, and its parents too.
    let deep = env.path().join("a/b/c");
    let at = |place: &Path, args: &[&str]| finish(env.command().env("UNSPOOL_INDEX_DIR", place).args(args));
    assert_eq!(at(&deep, &["index"]).code, 0);
    assert_eq!(at(&deep, &["search", "delf"]).code, 0);
    assert_eq!(mode(&deep), 0o700);
    // A file is in the place of the folder, or of its parent.
    let file = env.path().join("file");
    std::fs::write(&file, "precious").expect("written");
    for place in [file.clone(), file.join("below")] {
        for args in [&["index"][..], &["search", "delf"], &["status"]] {
            let ran = at(&place, args);
            assert!(is_clean_failure(&ran), "{} {args:?}: {} {}", place.display(), ran.code, ran.stderr);
            let named = ran.stderr.contains(file.to_str().expect("UTF-8")) || args[0] != "index";
            assert!(named, "does not say where: {}", ran.stderr);
        }
    }
    assert_eq!(std::fs::read_to_string(&file).expect("read"), "precious");
    // It vanishes between two runs.
    env.index();
    std::fs::remove_dir_all(env.index_dir()).expect("removed");
    env.heal();
    assert_eq!((env.count("delf"), mode(&env.index_dir())), (1, 0o700));
}

/// The binary without a home and without a place for the index.
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
    // Either of them is enough; so is a data folder, if it is absolute.
    assert_eq!(finish(with_root().arg("--index-dir").arg(env.index_dir()).arg("index")).code, 0);
    assert_eq!(finish(with_root().env("UNSPOOL_INDEX_DIR", env.index_dir()).args(["search", "ddreizehn"])).code, 0);
    assert_eq!(finish(with_root().env("XDG_DATA_HOME", env.path().join("xdg")).arg("index")).code, 0);
    assert!(env.path().join("xdg/unspool").is_dir());
    assert_eq!(finish(with_root().env("XDG_DATA_HOME", "relative").arg("index")).code, 2);
    env.heal();
}

#[test]
fn d13_a_relative_data_folder_is_passed_over() {
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
        let run = |args: &[&str]| finish(after(&env, &format!("umask {umask}")).args(args));
        for args in [&["index"][..], &["index", "--rebuild"], &["search", "dfuenfzehn"]] {
            assert_eq!(run(args).code, 0, "{umask} {args:?}");
        }
        // Grown, gone and pruned: merges and deletes make files too.
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

/// Runs the binary on a terminal of so many columns.
fn on_terminal(env: &Env, columns: u32, variables: &[(&str, &str)], arguments: &str) -> Ran {
    let line = format!("stty cols {columns} rows 1; '{}' {arguments}", env!("CARGO_BIN_EXE_unspool"));
    let mut command = tool("script");
    command.args(["-qec", &line, "/dev/null"]).env_clear().current_dir(env.path());
    env.command().get_envs().for_each(|(name, value)| _ = command.env(name, value.expect("set")));
    finish(command.env_remove("COLUMNS").env("TERM", "xterm-256color").envs(variables.iter().copied()))
}

/// All that writes to a terminal.
const TALKERS: [&str; 8] = [
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
    for arguments in TALKERS {
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
    for arguments in TALKERS {
        for columns in [1, 0, 10_000] {
            let ran = on_terminal(&env, columns, &[], arguments);
            assert!(matches!(ran.code, 0 | 1), "{arguments}, {columns} columns: {} {}", ran.code, ran.stdout);
        }
        let dumb = on_terminal(&env, 80, &[("TERM", "dumb")], arguments);
        assert!(matches!(dumb.code, 0 | 1), "{arguments}: {} {}", dumb.code, dumb.stdout);
        assert!(!dumb.stdout.contains('\u{1b}'), "{arguments} on a dumb terminal: {:?}", dumb.stdout);
        // A bar may move the cursor under NO_COLOR, but nothing may be coloured or bold.
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
        let mut said = String::new();
        child.stderr.take().expect("piped").read_to_string(&mut said).expect("read");
        assert_eq!(child.wait().expect("ended").code(), Some(6), "{args:?}: {said}");
        assert!(said.contains("standard output"), "{args:?}: {said}");
        let closed = finish(after(&env, "exec >&-").args(args));
        assert_eq!(closed.code, 2, "{args:?}: {}", closed.stderr);
        assert!(closed.stderr.contains("standard output: it is closed"), "{args:?}: {}", closed.stderr);
        // Open both ways is how Python silences its children, and what the runtime puts in the place of a closed one.
        for silent in ["exec >/dev/null", "exec 1<>/dev/null"] {
            let ran = finish(after(&env, silent).args(args));
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
    let segments = status(&env)["segments"].as_u64().expect("a number");
    assert!(segments <= 30, "{segments} segments");
    // A segment is eight files at most, one more for what is deleted in it.
    assert!(most_files <= 30 * 9 + 10, "{most_files} files");
    assert_eq!(leftovers(&env), Vec::<PathBuf>::new());
    let (early, late) = (sizes[..50].iter().max().expect("some"), sizes[150..].iter().max().expect("some"));
    // 150 lines more, of which each takes less than a kilobyte.
    assert!(*late <= early + early / 10 + 150_000, "{early} bytes at first, {late} at the end");
    assert_eq!((env.count("dneunzehn"), env.count("dneunzehnbase")), (200, 1));
    env.heal();
}

/// A file that was rewritten, and of which only the beginning can be read: what is known of it stays.
#[test]
fn d4_a_rewritten_source_breaks_off() {
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
        assert_eq!(env.count("dvierold"), 1, "a bad read (from {from_read} on) removes nothing");
        env.index();
        assert_eq!([env.count("dvierold"), env.count("dviernew")], [0, 1]);
        env.heal();
    }
}

/// What a file held is not obeyed by a terminal; a pipe gets it byte by byte.
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

/// After a large run there is no file in the folder that the index does not name.
#[test]
fn d19_a_large_run_leaves_nothing_behind() {
    let env = Env::new();
    for number in 1..5 {
        write_noisy(&env, number, 2500, "dneunzehn");
    }
    env.index();
    let folder = crate::faults_b::index_folder(&env);
    let meta = std::fs::read_to_string(folder.join("meta.json")).expect("read").replace('-', "");
    for entry in std::fs::read_dir(&folder).expect("listed").map(|entry| entry.expect("entry")) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some((id, _)) = name.split_once('.').filter(|(id, _)| id.len() == 32) {
            assert!(meta.contains(id), "{name} is no part of the index");
        }
    }
}
