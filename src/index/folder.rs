//! The folder of an index: its name, its lock, and how a new index takes the place of an old one.
//!
//! There is one index for each set of roots, in a folder whose name says for which roots and in which shape it was
//! made; an index of another shape has another name, so programs of two versions never meet in one folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, ErrorKind, Problem, Result};
use crate::index::disk::directory::{META, SafeDirectory};
use crate::index::disk::fs::{self, is_index_folder, make_private_folder};
use crate::index::disk::lock::{self, WriteLock};
use crate::index::disk::{cleanup, damage_flag};
use crate::index::open::open_checked;
use crate::index::read::Reader;
use crate::index::schema::{self, FORMAT_VERSION};
use crate::index::write::{RunSize, Writer};
use crate::transcript::discover::Root;

/// How often something is read again that others keep replacing.
const DISTURBED: usize = 100;
/// What is behind the name of an index while a new one is built to take its place,
const UNFINISHED: &str = ".new";
/// of the old one between the two renames of a swap,
const REPLACED: &str = ".old";
/// and of one that was put aside.
const DAMAGED: &str = ".damaged";

/// The place of the index for a set of roots.
#[derive(Clone, Debug)]
pub struct IndexFolder {
    data_dir: PathBuf,
    roots_key: String,
}

/// The right to change a [`IndexFolder`].
#[derive(Debug)]
pub struct LockedFolder<'s> {
    store: &'s IndexFolder,
    _lock: WriteLock,
}

/// The right to be the one who watches the roots of a [`IndexFolder`].
#[derive(Debug)]
pub struct WatchLock {
    _lock: WriteLock,
}

impl IndexFolder {
    /// Names the place; touches nothing.
    pub fn new(data_dir: &Path, roots: &[Root]) -> Self {
        let names: BTreeSet<&[u8]> = roots.iter().map(|root| root.path.as_os_str().as_encoded_bytes()).collect();
        let joined: Vec<u8> = names.into_iter().flat_map(|name| [name, b"\0"].concat()).collect();
        Self { data_dir: data_dir.to_path_buf(), roots_key: format!("{:08x}", xxh3_64(&joined) >> 32) }
    }

    /// The folder of the index.
    pub fn directory(&self) -> PathBuf {
        self.data_dir.join(format!("{}{}", self.prefix(), self.suffix()))
    }

    fn prefix(&self) -> String {
        format!("index-{FORMAT_VERSION}-{:08x}", schema::fingerprint() >> 32)
    }

    fn suffix(&self) -> String {
        format!("-{}", self.roots_key)
    }

    /// A file beside the index, for what front ends want to keep of it.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.data_dir.join(format!(".unspool-{}.{name}", self.roots_key))
    }

    /// Opens the index for reading; none if there is none yet. Writes nothing.
    pub fn read(&self) -> Result<Option<Reader>> {
        let path = self.directory();
        self.undisturbed(|| if is_index_folder(&path)? { Reader::open(&path).map(Some) } else { Ok(None) })
            .map_err(|error| damage_flag::met(&path, error))
    }

    /// Reads something, and once more where it seemed damaged because another state of the index was put in its place
    /// meanwhile: of that one, other files have to be read.
    pub fn undisturbed<T>(&self, read: impl Fn() -> Result<T>) -> Result<T> {
        let mut before = self.stamp();
        for _ in 0..DISTURBED {
            match read() {
                Err(error) if error.kind == ErrorKind::Damaged => {
                    let now = self.stamp();
                    if now == before {
                        return Err(error);
                    }
                    before = now;
                }
                done => return done,
            }
        }
        read()
    }

    /// What tells one state of the index from another: no two commits name the same files.
    pub fn stamp(&self) -> Option<Vec<u8>> {
        std::fs::read(self.directory().join("meta.json")).ok()
    }

    /// Says who is writing the index just now, if anybody is.
    pub fn writer_at_work(&self) -> Option<String> {
        WriteLock::holder(&lock::lock_path(&self.data_dir, &self.roots_key))
    }

    /// Takes the right to be the one who watches the roots. The kernel frees it with its holder.
    pub fn watch_lock(&self) -> Result<WatchLock> {
        make_private_folder(&self.data_dir)?;
        match WriteLock::take(&self.beside("watch.lock"), Duration::ZERO) {
            Ok(lock) => Ok(WatchLock { _lock: lock }),
            Err(error) if error.kind == ErrorKind::Busy => {
                let holder = self.watcher_at_work().unwrap_or("another process".to_string());
                Err(Error::new(ErrorKind::Busy, format!("a watch is already running ({holder})"))
                    .hint("there is nothing more to do: it keeps this index current"))
            }
            Err(error) => Err(error),
        }
    }

    /// Says who is watching the roots just now, if anybody is.
    pub fn watcher_at_work(&self) -> Option<String> {
        WriteLock::holder(&self.beside("watch.lock"))
    }

    /// Takes the right to write, waiting a while for whoever has it.
    pub fn lock(&self, wait: Duration) -> Result<LockedFolder<'_>> {
        make_private_folder(&self.data_dir)?;
        let lock = WriteLock::take(&lock::lock_path(&self.data_dir, &self.roots_key), wait)?;
        let locked = LockedFolder { store: self, _lock: lock };
        locked.tidy();
        Ok(locked)
    }

    /// Indexes of other shapes for the same roots.
    fn older_shapes(&self) -> Vec<PathBuf> {
        let is_plain = |path: &PathBuf| path.to_string_lossy().ends_with(&self.suffix());
        self.relatives().into_iter().filter(is_plain).collect()
    }

    /// Of those, the ones that this index was made from, as it was written since. A swap removes them, unless it is killed.
    fn replaced_shapes(&self) -> Vec<PathBuf> {
        let written = |path: &Path| std::fs::metadata(path.join(META)).and_then(|meta| meta.modified()).ok();
        let Some(own) = written(&self.directory()) else { return Vec::new() };
        let is_before = |path: &PathBuf| written(path).is_none_or(|theirs| theirs <= own);
        self.older_shapes().into_iter().filter(is_before).collect()
    }

    /// Whether a rebuild that was killed has left something beside the index.
    pub fn has_unfinished(&self) -> bool {
        [UNFINISHED, REPLACED].iter().any(|mark| self.renamed(mark).is_dir()) || !self.replaced_shapes().is_empty()
    }

    fn renamed(&self, mark: &str) -> PathBuf {
        let mut name = self.directory().into_os_string();
        name.push(mark);
        PathBuf::from(name)
    }

    /// Other folders of indexes for the same roots: older shapes, and damaged ones put aside.
    fn relatives(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs_err::read_dir(&self.data_dir) else { return Vec::new() };
        let own = self.directory();
        let mut found: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| *path != own)
            .filter(|path| {
                path.file_name().is_some_and(|name| {
                    let name = name.to_string_lossy();
                    name.starts_with("index-") && name.contains(&self.suffix())
                })
            })
            .collect();
        found.sort();
        found
    }
}

impl LockedFolder<'_> {
    /// The folder of the index.
    pub fn directory(&self) -> PathBuf {
        self.store.directory()
    }

    /// Opens the index for writing, making it if need be.
    pub fn write(&self, size: RunSize) -> Result<Writer> {
        let path = self.store.directory();
        make_private_folder(&path)?;
        Writer::open(&path, size).map_err(|error| damage_flag::met(&path, error))
    }

    /// Opens a folder beside the index, to build a new one in.
    pub fn write_beside(&self) -> Result<Writer> {
        let path = self.beside();
        if path.is_dir() {
            fs::remove_folder(&path).map_err(|error| Error::io("clear", &path, error))?;
        }
        make_private_folder(&path)?;
        Writer::open(&path, RunSize::Large)
    }

    fn beside(&self) -> PathBuf {
        self.store.renamed(UNFINISHED)
    }

    /// Puts the index built beside in the place of the old one. Until the rename the old one is used, after it the
    /// new one; a reader that has the old one open keeps it.
    pub fn swap_in(&self) -> Result<()> {
        let (path, beside) = (self.store.directory(), self.beside());
        let failed = |error| Error::io("put the new index in place at", &path, error);
        if path.is_dir() {
            fs::exchange(&beside, &path).map_err(failed)?;
        } else {
            fs::rename(&beside, &path).map_err(failed)?;
        }
        fs::sync_folder(&self.store.data_dir).map_err(failed)?;
        for old in [beside].into_iter().chain(self.store.older_shapes()) {
            if old.is_dir() {
                fs::remove_folder(&old).map_err(|error| Error::io("remove", &old, error))?;
            }
        }
        Ok(())
    }

    /// Makes way for a new index in the place of a damaged one, keeping one generation of it.
    pub fn make_way(&self) -> Result<()> {
        self.discard_aside()?;
        let aside = self.store.renamed(DAMAGED);
        fs::rename(&self.store.directory(), &aside).map_err(|error| Error::io("put aside", &aside, error))
    }

    /// Older indexes for the same roots that can still be read: what the sources no longer hold is taken from them.
    /// Those that cannot are named, with what is lost with them.
    pub fn predecessors(&self) -> (Vec<Reader>, Vec<Problem>) {
        let own = self.store.directory();
        let candidates = std::iter::once(own).chain(self.store.relatives());
        let mut readers = Vec::new();
        let mut problems = Vec::new();
        for path in candidates
            .filter(|path| !path.to_string_lossy().ends_with(UNFINISHED) && is_index_folder(path).unwrap_or(true))
        {
            match Reader::open_any(&path) {
                Ok(reader) => readers.push(reader),
                Err(error) => {
                    let reason = format!("sessions that only this index held are lost ({error}); it is kept as it is");
                    problems.push(Problem::with_path(path, reason));
                }
            }
        }
        (readers, problems)
    }

    /// Whether there is no index of this shape, but another to be taken over: of an older shape, or one put aside by a
    /// rebuild that did not come to its end.
    pub fn has_only_relatives(&self) -> bool {
        let is_index = |path: &PathBuf| is_index_folder(path).unwrap_or(true);
        !is_index(&self.store.directory()) && self.store.relatives().iter().any(is_index)
    }

    /// Removes what was put aside: it holds text that the user wants gone.
    pub fn discard_aside(&self) -> Result<()> {
        let aside = self.store.renamed(DAMAGED);
        if !aside.is_dir() {
            return Ok(());
        }
        fs::remove_folder(&aside).map_err(|error| Error::io("remove", &aside, error))
    }

    /// Puts everything as the last commit has it: finishes or undoes what a killed rebuild left half done, and removes
    /// the files that a failed run has made. No writer is open.
    pub fn tidy(&self) {
        let path = self.store.directory();
        let old = self.store.renamed(REPLACED);
        if old.is_dir() {
            // The swap without an atomic exchange was cut between its two renames.
            let _ = if path.is_dir() { fs::remove_folder(&old) } else { fs::rename(&old, &path) };
        }
        for left in [self.beside()].into_iter().filter(|path| path.is_dir()).chain(self.store.replaced_shapes()) {
            let _ = fs::remove_folder(&left);
        }
        clear(&path);
    }
}

/// Removes everything that the last commit does not name. The caller holds the lock, and no writer is open. What cannot
/// be removed now is left to the next run.
fn clear(path: &Path) {
    let Ok(directory) = SafeDirectory::for_writing(path) else { return };
    // Without a commit we cannot know which files belong to the index.
    if !tantivy::Index::exists(&directory).unwrap_or(false) {
        return;
    }
    // Nor can we for an index that is not ours.
    let Ok(mut index) = open_checked(path, directory) else { return };
    cleanup::clear(path, &mut index);
}
