//! A few transcripts and an index of them. The program can run here, be killed, and be compared with the oracle.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use unspool::archive::Local;
use unspool::document::Kind;
use unspool::index::{Checkpoint, IndexFolder, Reader};
use unspool::transcript::discover::Root;
use unspool::update::{Unwatched, UpdateOptions, update};

use crate::support::env::Ran;
use crate::support::oracle::{Texts, expected, line_of_kind};
use crate::support::transcript::session;

/// A root folder with a few transcripts, and an index of it.
pub(crate) struct World {
    dir: tempfile::TempDir,
    clock: std::cell::Cell<u32>,
    /// Every content that a file had since the last run that finished. An interrupted run may have read any of them.
    seen: std::cell::RefCell<BTreeMap<PathBuf, Vec<Vec<u8>>>>,
}

/// A copy of the index at some time.
pub(crate) struct Snapshot {
    pub(crate) folder: PathBuf,
    seen: BTreeMap<PathBuf, Vec<Vec<u8>>>,
}

/// A description of what the index gets wrong.
pub(crate) type Mismatch = String;

impl World {
    /// An empty world; in memory if possible, since tests make a great many runs in it.
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

    pub(crate) fn index_in(&self, data_dir: &Path) -> IndexFolder {
        IndexFolder::new(data_dir, &self.roots())
    }

    /// A number that has not been used before.
    pub(crate) fn tick(&self) -> u32 {
        self.clock.set(self.clock.get() + 1);
        self.clock.get()
    }

    pub(crate) fn project(&self, name: &str) -> PathBuf {
        self.root().join("projects").join(name)
    }

    /// The current path of a file; where it would be created, if it does not exist.
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
        self.change(file, |bytes| kinds.iter().for_each(|kind| bytes.extend(line_of_kind(*kind, file, self.tick()))));
    }

    /// Gives a file a modification time of its own: the clock of a file system is too coarse for a test.
    pub(crate) fn stamp(&self, path: &Path) {
        let time = UNIX_EPOCH + Duration::from_secs(1_700_000_000 + u64::from(self.tick()));
        fs::File::options().append(true).open(path).expect("opened").set_modified(time).expect("time set");
    }

    /// The existing files, each under one name.
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

    /// Indexes by calling the library.
    pub(crate) fn index(&self) -> Result<(), Mismatch> {
        self.remember();
        self.index_into(&self.data_dir())?;
        self.run_ended();
        Ok(())
    }

    pub(crate) fn index_into(&self, data_dir: &Path) -> Result<(), Mismatch> {
        let options =
            UpdateOptions { now: 1, confirm: true, wait: Duration::from_secs(10), ..UpdateOptions::default() };
        let done = update(&self.index_in(data_dir), &self.roots(), &options, &Unwatched);
        done.map(|_| ()).map_err(|error| format!("index failed: {error}"))
    }

    /// Copies the index, and what it may contain, to be restored later.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.remember();
        let folder = self.path().join(format!("snapshot-{}", self.tick()));
        copy_folder(&self.data_dir(), &folder);
        Snapshot { folder, seen: self.seen.borrow().clone() }
    }

    /// Goes back to a snapshot.
    pub(crate) fn restore(&self, kept: &Snapshot) {
        let _ = fs::remove_dir_all(self.data_dir());
        copy_folder(&kept.folder, &self.data_dir());
        self.seen.replace(kept.seen.clone());
    }

    /// The real binary, with a fault injected; see `src/fault.rs`.
    pub(crate) fn command(&self, fault: &str, args: &[&str]) -> Command {
        self.command_in(&self.data_dir(), fault, args)
    }

    /// The same, with another folder for the index.
    pub(crate) fn command_in(&self, data_dir: &Path, fault: &str, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unspool"));
        command.env_clear().env("UNSPOOL_FAULT", fault).env("TZ", "UTC").args(args);
        command.arg("--root").arg(self.root()).arg("--index-dir").arg(data_dir);
        command
    }

    /// Runs the real binary with a fault injected, whatever the outcome.
    pub(crate) fn run(&self, fault: &str, args: &[&str]) -> Ran {
        self.remember();
        Ran::from(self.command(fault, args).output().expect("ran"))
    }

    /// Notes the current content of all files, since a run may read it now.
    pub(crate) fn remember(&self) {
        let mut seen = self.seen.borrow_mut();
        for (path, bytes) in self.files() {
            let states = seen.entry(path).or_default();
            if states.last() != Some(&bytes) {
                states.push(bytes);
            }
        }
    }

    /// Notes that a run has finished: only the current content of existing files counts from now on.
    pub(crate) fn run_ended(&self) {
        let mut seen = self.seen.borrow_mut();
        for (path, bytes) in self.files() {
            seen.insert(path, vec![bytes]);
        }
    }

    /// Checks what must be true at any time: for each file, the index contains exactly what its checkpoint says.
    pub(crate) fn sound(&self, data_dir: &Path) -> Result<(), Mismatch> {
        let Some(reader) = self.index_in(data_dir).read().map_err(|error| format!("cannot be opened: {error}"))? else {
            return Ok(());
        };
        let verdict = Local::new(self.roots(), data_dir).verify(true).map_err(|error| format!("verify: {error}"))?;
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

    /// Compares what the index contains of a file with what the oracle reads in it up to the checkpoint. Returns the
    /// number of documents.
    fn agrees(&self, reader: &Reader, file: &Checkpoint) -> Result<u64, Mismatch> {
        let documents = reader.documents_of(file.key()).map_err(|error| format!("documents: {error}"))?;
        let indexed: Texts = documents.iter().map(|document| (document.offset, document.text.clone())).collect();
        let seen = self.seen.borrow();
        let offset = usize::try_from(file.offset).expect("small");
        let states = seen.get(&file.path()).map(Vec::as_slice).unwrap_or_default();
        let is_right = |state: &Vec<u8>| state.get(..offset).is_some_and(|bytes| expected(bytes) == indexed);
        if !states.iter().any(is_right) {
            return Err(format!("{} up to {offset}: the index contains {indexed:?}", file.path().display()));
        }
        Ok(documents.len() as u64)
    }

    /// Checks what must be true after a run that finished: the index contains everything the oracle finds, and no more.
    pub(crate) fn whole(&self, data_dir: &Path) -> Result<(), Mismatch> {
        self.sound(data_dir)?;
        let indexed = self.indexed(data_dir)?;
        let files = self.files();
        for (path, bytes) in &files {
            let expected = expected(bytes);
            let found = indexed.get(path).cloned().unwrap_or_default();
            if found != expected {
                return Err(format!("{}: {found:?} instead of {expected:?}", path.display()));
            }
        }
        match indexed.keys().find(|path| !files.contains_key(*path)) {
            Some(path) => Err(format!("{} does not exist, and is not marked as gone", path.display())),
            None => Ok(()),
        }
    }

    /// The contents of the index, of files that are not marked as gone.
    fn indexed(&self, data_dir: &Path) -> Result<BTreeMap<PathBuf, Texts>, Mismatch> {
        let Some(reader) = self.index_in(data_dir).read().map_err(|error| error.to_string())? else {
            return Ok(BTreeMap::new());
        };
        let mut indexed = BTreeMap::new();
        for file in reader.checkpoints().map_err(|error| error.to_string())? {
            if file.gone_since.is_none() {
                let documents = reader.documents_of(file.key()).map_err(|error| error.to_string())?;
                let documents = documents.into_iter().filter(|document| document.kind != Kind::Title);
                indexed.insert(file.path(), documents.map(|document| (document.offset, document.text)).collect());
            }
        }
        Ok(indexed)
    }

    /// The texts of deleted files, which only the index still contains.
    pub(crate) fn gone(&self, data_dir: &Path) -> BTreeSet<String> {
        let Some(reader) = self.index_in(data_dir).read().expect("readable") else { return BTreeSet::new() };
        let files = reader.checkpoints().expect("checkpoints").into_iter().filter(|file| file.gone_since.is_some());
        files.flat_map(|file| reader.documents_of(file.key()).expect("documents")).map(|found| found.text).collect()
    }

    /// Checks that one plain run, after whatever happened, makes the index equal to the oracle.
    pub(crate) fn heals(&self) -> Result<(), Mismatch> {
        self.index()?;
        self.whole(&self.data_dir())
    }
}

/// Overwrites a file in place, without creating a new inode.
fn write_over(path: &Path, bytes: &[u8]) {
    use std::io::Write as _;
    let mut file = fs::File::options().write(true).create(true).truncate(true).open(path).expect("opened");
    file.write_all(bytes).expect("written");
}

/// Copies a folder and everything below it, if it exists.
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
