//! What the index must hold, worked out by a reader that is slow, obvious, and shares no code with the program; and a
//! world of a few files in which the program can be run, broken off, and compared with it.
//!
//! The oracle knows only the kinds of lines that [`made`] makes. For these it says, of every line of every file, at
//! which offset which text must be found.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;
use unspool::archive::upkeep::verify;
use unspool::document::Kind;
use unspool::index::{Checkpoint, IndexFolder, Reader};
use unspool::transcript::discover::Root;
use unspool::update::{Unwatched, UpdateOptions, update};

use crate::util::{Ran, long_text, session, user_line};

/// What is found at which offset of a file.
pub(crate) type Texts = BTreeSet<(u64, String)>;

/// What must be found of a file with these bytes.
pub(crate) fn expected(bytes: &[u8]) -> Texts {
    let mut found = Texts::new();
    let mut offset = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        // What has no newline yet may still be being written, unless it is whole records.
        let whole = if line.ends_with(b"\n") { line } else { &line[..length_of_records(line)] };
        found.extend(expected_of_line(whole).into_iter().map(|(at, text)| (offset + at, text)));
        offset += line.len() as u64;
    }
    found
}

/// The records of a line wherever they begin, and what stands between them.
fn expected_of_line(line: &[u8]) -> Vec<(u64, String)> {
    let mut found = Vec::new();
    let mut scrap = 0;
    let mut at = 0;
    while at < line.len() {
        if let Some((length, record)) = record_at(&line[at..]) {
            found.extend(garbage(line, scrap, at));
            found.extend(words(&record).into_iter().map(|words| (at as u64, words)));
            at += length;
            scrap = at;
        } else {
            at += 1;
        }
    }
    found.extend(garbage(line, scrap, at));
    found
}

fn garbage(line: &[u8], from: usize, to: usize) -> Option<(u64, String)> {
    let blanks = line[from..to].len() - line[from..to].trim_ascii_start().len();
    let text = String::from_utf8_lossy(line[from..to].trim_ascii()).into_owned();
    (!text.is_empty()).then(|| ((from + blanks) as u64, text))
}

/// The record that begins here, if one does, and its length: up to whichever brace makes it one.
fn record_at(bytes: &[u8]) -> Option<(usize, Value)> {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'}').map(|(at, _)| at + 1);
    let mut ends = if bytes.starts_with(b"{") { ends.collect() } else { Vec::new() }.into_iter();
    ends.find_map(|end| {
        let text = String::from_utf8_lossy(&bytes[..end]).replace("\\ud83d", "\\ufffd");
        let record: Value = serde_json::from_str(&text).ok()?;
        record.get("type").is_some().then_some((end, record))
    })
}

fn length_of_records(line: &[u8]) -> usize {
    let mut at = 0;
    while let Some((length, _)) = record_at(&line[at..]) {
        at += length;
    }
    at
}

/// The texts of a record: its message, or the results and texts in it.
fn words(record: &Value) -> Vec<String> {
    match &record["message"]["content"] {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => {
            let text = |block: &Value| block["text"].as_str().or(block["content"].as_str()).map(str::to_string);
            blocks.iter().filter_map(text).collect()
        }
        _ => Vec::new(),
    }
}

/// How many kinds of lines there are.
pub(crate) const KINDS: usize = 9;

/// A line of some kind, with words of its own.
pub(crate) fn made(kind: usize, file: usize, number: u32) -> Vec<u8> {
    let session = session(u32::try_from(file).expect("small"));
    let words = format!("words of file{file} line{number}");
    let head = format!(r#""uuid":"u{file}-{number}","cwd":"/w/x","sessionId":"{session}""#);
    match kind {
        1 => format!(r#"{{"type":"assistant",{head},"message":{{"id":"m{number}","content":[{{"type":"text","text":"answer {words}"}}]}}}}"#).into_bytes(),
        2 => format!(r#"{{"type":"user",{head},"message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":"result {words}"}}]}}}}"#).into_bytes(),
        3 => format!("garbage {words}").into_bytes(),
        4 => [format!(r#"{{"type":"user",{head},"message":{{"content":"broken "#).as_bytes(), b"\xff\xfe", format!(r#" {words}"}}}}"#).as_bytes()].concat(),
        5 => format!(r#"{{"type":"user",{head},"message":{{"content":"half \ud83d {words}"}}}}"#).into_bytes(),
        6 => {
            let one = user_line(&session, number, &format!("one {words}"));
            let two = user_line(&session, number + 500_000, &format!("two {words}"));
            format!("{}{}", one.trim_end(), two.trim_end()).into_bytes()
        }
        7 => Vec::new(),
        8 => user_line(&session, number, &format!("listing {words}\n{}", long_text(number))).trim_end().into(),
        _ => user_line(&session, number, &format!("prompt {words}")).trim_end().into(),
    }
    .into_iter()
    .chain([b'\n'])
    .collect()
}

/// A root with a few files, and an index of it.
pub(crate) struct World {
    dir: tempfile::TempDir,
    clock: std::cell::Cell<u32>,
    /// Every state in which a file could have been read since the last run that came to its end.
    seen: std::cell::RefCell<BTreeMap<PathBuf, Vec<Vec<u8>>>>,
}

/// An index as it was at some time.
pub(crate) struct Kept {
    pub(crate) folder: PathBuf,
    seen: BTreeMap<PathBuf, Vec<Vec<u8>>>,
}

/// What does not hold.
pub(crate) type Wrong = String;

impl World {
    /// An empty one; in memory where that is possible, as a great many runs are made in it.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("temporary folder");
        for project in ["a", "b"] {
            fs::create_dir_all(dir.path().join("root/projects").join(project)).expect("made");
        }
        Self { dir, clock: 1.into(), seen: BTreeMap::new().into() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path().join("root")
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.path().join("data")
    }

    fn roots(&self) -> Vec<Root> {
        vec![Root { path: self.root(), required: true }]
    }

    pub(crate) fn store(&self, data_dir: &Path) -> IndexFolder {
        IndexFolder::new(data_dir, &self.roots())
    }

    /// A number that was not used before.
    pub(crate) fn tick(&self) -> u32 {
        self.clock.set(self.clock.get() + 1);
        self.clock.get()
    }

    pub(crate) fn project(&self, name: &str) -> PathBuf {
        self.root().join("projects").join(name)
    }

    /// Where a file is now; where it would be made, if it is nowhere.
    pub(crate) fn file(&self, file: usize) -> PathBuf {
        let name = format!("{}.jsonl", session(u32::try_from(file).expect("small")));
        let places = ["a", "b"].map(|project| self.project(project).join(&name));
        places.iter().find(|path| path.is_file()).unwrap_or(&places[0]).clone()
    }

    /// Changes the bytes of a file in place.
    pub(crate) fn change(&self, file: usize, change: impl FnOnce(&mut Vec<u8>)) {
        let path = self.file(file);
        let mut bytes = fs::read(&path).unwrap_or_default();
        change(&mut bytes);
        write_over(&path, &bytes);
        self.stamp(&path);
    }

    /// Appends lines of these kinds.
    pub(crate) fn append(&self, file: usize, kinds: &[usize]) {
        self.change(file, |bytes| kinds.iter().for_each(|kind| bytes.extend(made(*kind, file, self.tick()))));
    }

    /// Gives a file a time of its own: the clock of a file system is too coarse for a test.
    pub(crate) fn stamp(&self, path: &Path) {
        let time = UNIX_EPOCH + Duration::from_secs(1_700_000_000 + u64::from(self.tick()));
        fs::File::options().append(true).open(path).expect("opened").set_modified(time).expect("time set");
    }

    /// The files that are there, one name of each.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        use std::os::unix::fs::MetadataExt as _;
        let mut files = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for project in ["a", "b"] {
            let entries = fs::read_dir(self.project(project)).expect("listed");
            let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("entry").path()).collect();
            paths.sort();
            for path in paths {
                if seen.insert(fs::metadata(&path).expect("stat").ino()) {
                    files.insert(path.clone(), fs::read(&path).expect("read"));
                }
            }
        }
        files
    }

    /// Runs the library to its end.
    pub(crate) fn index(&self) -> Result<(), Wrong> {
        self.remember();
        self.index_into(&self.data_dir())?;
        self.pick_copy();
        Ok(())
    }

    pub(crate) fn index_into(&self, data_dir: &Path) -> Result<(), Wrong> {
        let options =
            UpdateOptions { now: 1, confirm: true, wait: Duration::from_secs(10), ..UpdateOptions::default() };
        let done = update(&self.store(data_dir), &self.roots(), &options, &Unwatched);
        done.map(|_| ()).map_err(|error| format!("index failed: {error}"))
    }

    /// Keeps the index as it is now, and what it may hold, to begin again from there.
    pub(crate) fn keep(&self) -> Kept {
        self.remember();
        let folder = self.path().join(format!("kept-{}", self.tick()));
        copy_folder(&self.data_dir(), &folder);
        Kept { folder, seen: self.seen.borrow().clone() }
    }

    /// Begins again from there.
    pub(crate) fn restore(&self, kept: &Kept) {
        let _ = fs::remove_dir_all(self.data_dir());
        copy_folder(&kept.folder, &self.data_dir());
        self.seen.replace(kept.seen.clone());
    }

    /// The real binary, with a fault in it.
    pub(crate) fn command(&self, fault: &str, args: &[&str]) -> Command {
        self.command_in(&self.data_dir(), fault, args)
    }

    /// The same, with another place for the index.
    pub(crate) fn command_in(&self, data_dir: &Path, fault: &str, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unspool"));
        command.env_clear().env("UNSPOOL_FAULT", fault).env("TZ", "UTC").args(args);
        command.arg("--root").arg(self.root()).arg("--index-dir").arg(data_dir);
        command
    }

    /// Runs the real binary with a fault in it, whatever comes of it.
    pub(crate) fn run(&self, fault: &str, args: &[&str]) -> Ran {
        self.remember();
        Ran::from(self.command(fault, args).output().expect("ran"))
    }

    /// Notes in which state the files are, as a run may read them now.
    pub(crate) fn remember(&self) {
        let mut seen = self.seen.borrow_mut();
        for (path, bytes) in self.files() {
            let states = seen.entry(path).or_default();
            if states.last() != Some(&bytes) {
                states.push(bytes);
            }
        }
    }

    /// A run has come to its end: of the files that are there, only what they hold now counts.
    pub(crate) fn pick_copy(&self) {
        let mut seen = self.seen.borrow_mut();
        for (path, bytes) in self.files() {
            seen.insert(path, vec![bytes]);
        }
    }

    /// What must hold at any time: of each file the index holds exactly what its checkpoint says.
    pub(crate) fn sound(&self, data_dir: &Path) -> Result<(), Wrong> {
        let Some(reader) = self.store(data_dir).read().map_err(|error| format!("cannot be opened: {error}"))? else {
            return Ok(());
        };
        let verdict = verify(&reader, true).map_err(|error| format!("verify: {error}"))?;
        let files = reader.checkpoints().map_err(|error| format!("checkpoints: {error}"))?;
        let mut documents = 0;
        for file in &files {
            documents += self.agrees(&reader, file)?;
        }
        let all = reader.size().map_err(|error| format!("size: {error}"))?.documents;
        if verdict.files != files.len() || all != documents {
            return Err(format!("{all} documents in the index, {documents} by its checkpoints"));
        }
        Ok(())
    }

    /// Compares what the index holds of a file with what the oracle reads in it up to the checkpoint.
    fn agrees(&self, reader: &Reader, file: &Checkpoint) -> Result<u64, Wrong> {
        let documents = reader.documents_of(file.key()).map_err(|error| format!("documents: {error}"))?;
        let held: Texts = documents.iter().map(|document| (document.offset, document.text.clone())).collect();
        let seen = self.seen.borrow();
        let offset = usize::try_from(file.offset).expect("small");
        let states = seen.get(&file.path()).map(Vec::as_slice).unwrap_or_default();
        let is_right = |state: &Vec<u8>| state.get(..offset).is_some_and(|bytes| expected(bytes) == held);
        if !states.iter().any(is_right) {
            return Err(format!("{} up to {offset}: the index holds {held:?}", file.path().display()));
        }
        Ok(documents.len() as u64)
    }

    /// What must hold after a run that came to its end: everything the oracle finds is in the index, and no more.
    pub(crate) fn whole(&self, data_dir: &Path) -> Result<(), Wrong> {
        self.sound(data_dir)?;
        let held = self.held(data_dir)?;
        let files = self.files();
        for (path, bytes) in &files {
            let expected = expected(bytes);
            let found = held.get(path).cloned().unwrap_or_default();
            if found != expected {
                return Err(format!("{}: {found:?} instead of {expected:?}", path.display()));
            }
        }
        match held.keys().find(|path| !files.contains_key(*path)) {
            Some(path) => Err(format!("{} is not there, and not marked as gone", path.display())),
            None => Ok(()),
        }
    }

    /// What the index holds of files that are there.
    fn held(&self, data_dir: &Path) -> Result<BTreeMap<PathBuf, Texts>, Wrong> {
        let Some(reader) = self.store(data_dir).read().map_err(|error| error.to_string())? else {
            return Ok(BTreeMap::new());
        };
        let mut held = BTreeMap::new();
        for file in reader.checkpoints().map_err(|error| error.to_string())? {
            if file.gone_since.is_none() {
                let documents = reader.documents_of(file.key()).map_err(|error| error.to_string())?;
                let documents = documents.into_iter().filter(|document| document.kind != Kind::Title);
                held.insert(file.path(), documents.map(|document| (document.offset, document.text)).collect());
            }
        }
        Ok(held)
    }

    /// The texts of files that are gone, which only the index still has.
    pub(crate) fn gone(&self, data_dir: &Path) -> BTreeSet<String> {
        let Some(reader) = self.store(data_dir).read().expect("readable") else { return BTreeSet::new() };
        let files = reader.checkpoints().expect("checkpoints").into_iter().filter(|file| file.gone_since.is_some());
        files.flat_map(|file| reader.documents_of(file.key()).expect("documents")).map(|found| found.text).collect()
    }

    /// One plain run, after whatever happened, makes the index equal to the oracle.
    pub(crate) fn heals(&self) -> Result<(), Wrong> {
        self.index()?;
        self.whole(&self.data_dir())
    }
}

/// Writes without making a new file.
fn write_over(path: &Path, bytes: &[u8]) {
    use std::io::Write as _;
    let mut file = fs::File::options().write(true).create(true).truncate(true).open(path).expect("opened");
    file.write_all(bytes).expect("written");
}

/// Copies a folder and all below it, if it is there.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    if !from.is_dir() {
        return;
    }
    fs::create_dir_all(to).expect("made");
    fs::set_permissions(to, PermissionsExt::from_mode(0o700)).expect("made private");
    for entry in fs::read_dir(from).expect("listed").map(|entry| entry.expect("entry")) {
        let target = to.join(entry.file_name());
        if entry.file_type().expect("type").is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copied");
        }
    }
}

/// Whether whoever runs the tests has the time for the long ones.
#[expect(clippy::disallowed_methods, reason = "a switch for whoever runs the tests")]
pub(crate) fn is_long() -> bool {
    std::env::var_os("UNSPOOL_LONG").is_some()
}

/// The oracle itself, on bytes whose reading is plain to see.
#[test]
fn oracle_reads_what_anybody_would() {
    let text = br#"garbage one

{"type":"user","message":{"content":"two"}}
{"type":"user","message":{"content":"three"}}{"type":"user","message":{"cont"#;
    let found: Vec<(u64, String)> = expected(text).into_iter().collect();
    assert_eq!(found, [(0, "garbage one".into()), (13, "two".into()), (57, "three".into())]);
}

/// All kinds of lines, in one run.
#[test]
fn index_equals_the_oracle() {
    let world = World::new();
    for file in 0..3 {
        world.append(file, &[0, 1, 2, 3, 4, 5, 6, 7, 0]);
    }
    assert_eq!(world.heals(), Ok(()));
}
