//! The folder of an index: its name, its locks, and how a rebuilt index replaces the old one.
//!
//! Each set of roots has its own index. The name of the folder contains hashes of the roots and of the index format, so
//! two versions of unspool with different formats never share a folder.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, ErrorKind, Problem, Result};
use crate::fault::{self, Op};
use crate::index::disk::directory::{META, SafeDirectory, is_segment_file};
use crate::index::disk::fs::{self, is_index_folder, make_private_folder};
use crate::index::disk::lock::{self, WriteLock};
use crate::index::disk::{cleanup, damage_flag};
use crate::index::losses::{self, Loss};
use crate::index::open::open_checked;
use crate::index::predecessor::Predecessor;
use crate::index::read::Reader;
use crate::index::schema::{self, FORMAT_VERSION};
use crate::index::write::{RunSize, Writer};
use crate::transcript::discover::Root;

/// Maximum number of retries of a read that fails because other processes keep replacing the index.
const MAX_RETRIES: usize = 100;
/// Suffix of a new index that is still being built.
const UNFINISHED: &str = ".new";
/// Suffix of the old index between the two renames of a swap.
const REPLACED: &str = ".old";
/// Suffix of a damaged index that is kept as a backup.
const DAMAGED: &str = ".damaged";
/// A file in a damaged index that was kept: everything in it was copied into a new index.
const TAKEN_OVER: &str = ".taken-over";
/// The name of the record of losses, next to the index.
const LOSSES: &str = "lost.json";
/// The name of the list of forgotten sessions, next to the index. It is used if the index is too damaged to contain
/// them.
const FORGOTTEN: &str = "forgotten.json";

/// The location of the index for a set of roots.
#[derive(Clone, Debug)]
pub struct IndexFolder {
    data_dir: PathBuf,
    roots_key: String,
}

/// An [`IndexFolder`] with its write lock held.
#[derive(Debug)]
pub struct LockedFolder<'s> {
    folder: &'s IndexFolder,
    _lock: WriteLock,
}

/// Held by the single process that watches the roots of an [`IndexFolder`].
#[derive(Debug)]
pub struct WatchLock {
    _lock: WriteLock,
}

impl IndexFolder {
    /// Computes the location. Does not touch the disk.
    pub fn new(data_dir: &Path, roots: &[Root]) -> Self {
        let names: BTreeSet<&[u8]> = roots.iter().map(|root| root.path.as_os_str().as_encoded_bytes()).collect();
        let joined: Vec<u8> = names.into_iter().flat_map(|name| [name, b"\0"].concat()).collect();
        Self { data_dir: data_dir.to_path_buf(), roots_key: format!("{:08x}", xxh3_64(&joined) >> 32) }
    }

    /// The path of the index folder.
    pub fn directory(&self) -> PathBuf {
        self.data_dir.join(format!("{}{}", self.prefix(), self.suffix()))
    }

    fn prefix(&self) -> String {
        format!("index-{FORMAT_VERSION}-{:08x}", schema::fingerprint() >> 32)
    }

    fn suffix(&self) -> String {
        format!("-{}", self.roots_key)
    }

    /// The path of a file next to the index, in which front ends keep data of their own.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.data_dir.join(format!(".unspool-{}.{name}", self.roots_key))
    }

    /// Returns the messages that were lost with damaged files of the index, until they are acknowledged.
    pub fn losses(&self) -> Vec<Loss> {
        losses::read(&self.beside(LOSSES))
    }

    /// Forgets the losses recorded so far, after the user has seen them.
    pub fn acknowledge_losses(&self) -> Result<()> {
        losses::clear(&self.beside(LOSSES))
    }

    /// Opens the index for reading, or returns `None` if there is none yet. Writes nothing except the damage flag.
    pub fn read(&self) -> Result<Option<Reader>> {
        let path = self.directory();
        self.retry_if_replaced(|| if is_index_folder(&path)? { Reader::open(&path).map(Some) } else { Ok(None) })
            .map_err(|error| damage_flag::met(&path, error))
    }

    /// Runs `read`, and retries when it reports damage because another process replaced the index meanwhile: a new
    /// commit consists of other files.
    pub fn retry_if_replaced<T>(&self, read: impl Fn() -> Result<T>) -> Result<T> {
        let mut before = self.stamp();
        for _ in 0..MAX_RETRIES {
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

    /// Identifies the current commit: no two commits name the same files.
    pub fn stamp(&self) -> Option<Vec<u8>> {
        std::fs::read(self.directory().join("meta.json")).ok()
    }

    /// Describes the process that is writing the index, if there is one.
    pub fn writer_at_work(&self) -> Option<String> {
        WriteLock::holder(&lock::lock_path(&self.data_dir, &self.roots_key))
    }

    /// Takes the lock for watching the roots. The kernel releases it when the process ends.
    pub fn watch_lock(&self) -> Result<WatchLock> {
        make_private_folder(&self.data_dir)?;
        match WriteLock::take(&self.beside("watch.lock"), Duration::ZERO) {
            Ok(lock) => Ok(WatchLock { _lock: lock }),
            Err(error) if error.kind == ErrorKind::Busy => {
                let holder = self.watcher_at_work().unwrap_or("another process".to_string());
                Err(Error::new(ErrorKind::Busy, format!("a watch is already running ({holder})"))
                    .hint("nothing more to do: it keeps this index up to date"))
            }
            Err(error) => Err(error),
        }
    }

    /// Describes the process that is watching the roots, if there is one.
    pub fn watcher_at_work(&self) -> Option<String> {
        WriteLock::holder(&self.beside("watch.lock"))
    }

    /// Takes the write lock, waiting up to `wait` for another process to release it, and cleans up.
    pub fn lock(&self, wait: Duration) -> Result<LockedFolder<'_>> {
        make_private_folder(&self.data_dir)?;
        let lock = WriteLock::take(&lock::lock_path(&self.data_dir, &self.roots_key), wait)?;
        let locked = LockedFolder { folder: self, _lock: lock };
        locked.tidy();
        Ok(locked)
    }

    /// Indexes of other formats for the same roots.
    fn other_formats(&self) -> Vec<PathBuf> {
        let is_plain = |path: &PathBuf| path.to_string_lossy().ends_with(&self.suffix());
        self.related_folders().into_iter().filter(is_plain).collect()
    }

    /// Indexes of other formats that this index replaces, because it was written after them. A swap removes them,
    /// unless it is killed.
    fn replaced_formats(&self) -> Vec<PathBuf> {
        let written = |path: &Path| std::fs::metadata(path.join(META)).and_then(|meta| meta.modified()).ok();
        let Some(own) = written(&self.directory()) else { return Vec::new() };
        let is_older = |path: &PathBuf| written(path).is_none_or(|theirs| theirs <= own);
        self.other_formats().into_iter().filter(is_older).collect()
    }

    /// Reports whether a killed rebuild has left anything next to the index.
    pub fn has_unfinished(&self) -> bool {
        [UNFINISHED, REPLACED].iter().any(|suffix| self.with_suffix(suffix).is_dir())
            || !self.replaced_formats().is_empty()
    }

    fn with_suffix(&self, suffix: &str) -> PathBuf {
        let mut name = self.directory().into_os_string();
        name.push(suffix);
        PathBuf::from(name)
    }

    /// Other index folders for the same roots: other formats, and damaged indexes that were kept.
    fn related_folders(&self) -> Vec<PathBuf> {
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
    /// The path of the index folder.
    pub fn directory(&self) -> PathBuf {
        self.folder.directory()
    }

    /// Opens the index for writing, creating it if needed.
    pub fn write(&self, size: RunSize) -> Result<Writer> {
        let path = self.folder.directory();
        make_private_folder(&path)?;
        Writer::open(&path, size).map_err(|error| damage_flag::met(&path, error))
    }

    /// Opens an empty folder next to the index, to build a new index in.
    pub fn write_beside(&self) -> Result<Writer> {
        let path = self.unfinished_path();
        if path.is_dir() {
            fs::remove_folder(&path).map_err(|error| Error::io("clear", &path, error))?;
        }
        make_private_folder(&path)?;
        Writer::open(&path, RunSize::Large)
    }

    fn unfinished_path(&self) -> PathBuf {
        self.folder.with_suffix(UNFINISHED)
    }

    /// Replaces the old index with the one built next to it. The old index is used until the rename, the new one after
    /// it. A reader that has the old one open keeps it.
    pub fn swap_in(&self) -> Result<()> {
        let (path, unfinished) = (self.folder.directory(), self.unfinished_path());
        let failed = |error| Error::io("put the new index in place at", &path, error);
        if path.is_dir() {
            fs::exchange(&unfinished, &path).map_err(failed)?;
        } else {
            fs::rename(&unfinished, &path).map_err(failed)?;
        }
        fs::sync_folder(&self.folder.data_dir).map_err(failed)?;
        // After an exchange, the old index has the name of the unfinished one.
        for old in [unfinished].into_iter().chain(self.folder.other_formats()) {
            if old.is_dir() {
                fs::remove_folder(&old).map_err(|error| Error::io("remove", &old, error))?;
            }
        }
        Ok(())
    }

    /// Moves a damaged index aside, so that a new one can be built.
    pub fn move_damaged_aside(&self) -> Result<()> {
        self.set_aside(&self.folder.directory()).map(|_| ())
    }

    /// Moves a damaged index aside, and returns its new path. Of indexes that were moved aside before, removes only one
    /// whose contents were copied.
    fn set_aside(&self, path: &Path) -> Result<PathBuf> {
        let aside = |number: usize| {
            let mut name = path.as_os_str().to_owned();
            name.push(DAMAGED);
            if number > 1 {
                name.push(format!("-{number}"));
            }
            PathBuf::from(name)
        };
        let mut number = 1;
        while aside(number).symlink_metadata().is_ok() {
            let taken = aside(number);
            if taken.join(TAKEN_OVER).is_file() {
                fs::remove_folder(&taken).map_err(|error| Error::io("remove", &taken, error))?;
                break;
            }
            number += 1;
        }
        let aside = aside(number);
        fs::rename(path, &aside).map_err(|error| Error::io("put aside", &aside, error))?;
        Ok(aside)
    }

    /// Opens all indexes for the same roots, to recover what the transcripts no longer contain. Salvages damaged ones,
    /// after moving them aside. Reports a problem for each unreadable one, because its contents may be lost.
    pub fn predecessors(&self) -> (Vec<Predecessor>, Vec<Problem>) {
        let own = self.folder.directory();
        let is_index = |path: &Path| is_index_folder(path).unwrap_or(true);
        // If there is no other index, even a copied one may be all that is left.
        let has_own = is_index(&own);
        let is_wanted = |path: &PathBuf| {
            !path.to_string_lossy().ends_with(UNFINISHED)
                && is_index(path)
                && !(has_own && path.join(TAKEN_OVER).is_file())
        };
        let mut related: Vec<PathBuf> = self.folder.related_folders();
        // A later index contains what was copied from an earlier one.
        related.sort_by_cached_key(|path| Reverse(last_written(path)));
        let candidates: Vec<PathBuf> = std::iter::once(own).chain(related).filter(is_wanted).collect();
        let mut found = Vec::new();
        let mut problems = Vec::new();
        for path in candidates {
            match self.predecessor(&path) {
                Ok(predecessor) => found.push(predecessor),
                Err(error) => {
                    let reason =
                        format!("sessions that only this index contained are lost ({error}); it is kept as it is");
                    problems.push(Problem::with_path(path, reason));
                }
            }
        }
        (found, problems)
    }

    fn predecessor(&self, path: &Path) -> Result<Predecessor> {
        match Predecessor::open_intact(path) {
            Some(intact) => Ok(intact),
            None if is_aside(path) => Predecessor::salvage(path),
            // The swap would remove it.
            None => Predecessor::salvage(&self.set_aside(path)?),
        }
    }

    /// Records messages that were lost, so that `status` reports them until they are acknowledged.
    pub fn record_losses(&self, losses: &[Loss]) -> Result<()> {
        losses::record(&self.folder.beside(LOSSES), losses)
    }

    /// Returns the sessions that were recorded as removed from the index for good.
    pub fn recorded_forgotten(&self) -> HashSet<String> {
        let bytes = std::fs::read(self.folder.beside(FORGOTTEN)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Records the sessions that the user removed from the index for good, in addition to those recorded before.
    pub fn record_forgotten(&self, sessions: &HashSet<String>) -> Result<()> {
        let recorded = self.recorded_forgotten();
        if sessions.is_subset(&recorded) {
            return Ok(());
        }
        let path = self.folder.beside(FORGOTTEN);
        let all: BTreeSet<&String> = recorded.union(sessions).collect();
        let text = serde_json::to_vec_pretty(&all).unwrap_or_default();
        fs::put_file(&path, &text).map_err(|error| Error::io("write", &path, error))
    }

    /// Notes that everything in a damaged index was copied into a new one, so that it may be removed when the next one
    /// is moved aside.
    pub fn mark_taken_over(&self, path: &Path) {
        if is_aside(path) && path.is_dir() {
            let mark = path.join(TAKEN_OVER);
            // Without the mark it is kept longer.
            let _ = fault::point(Op::Create(&mark)).and_then(|()| fs::create_file(&mark));
        }
    }

    /// Reports whether there is no index of this format, but another one to copy from: of another format, or moved
    /// aside by a rebuild that did not finish.
    pub fn has_only_other_indexes(&self) -> bool {
        let is_index = |path: &PathBuf| is_index_folder(path).unwrap_or(true);
        !is_index(&self.folder.directory()) && self.folder.related_folders().iter().any(is_index)
    }

    /// Removes all damaged indexes that were kept: they contain text that the user wants gone.
    pub fn discard_aside(&self) -> Result<()> {
        for aside in self.folder.related_folders().into_iter().filter(|path| is_aside(path) && path.is_dir()) {
            fs::remove_folder(&aside).map_err(|error| Error::io("remove", &aside, error))?;
        }
        Ok(())
    }

    /// Restores the state of the last commit: completes or undoes a rebuild that was killed, and removes the files of a
    /// failed run. No writer may be open.
    pub fn tidy(&self) {
        let path = self.folder.directory();
        let old = self.folder.with_suffix(REPLACED);
        if old.is_dir() {
            // Without an atomic exchange, the swap was cut off between its two renames.
            let _ = if path.is_dir() { fs::remove_folder(&old) } else { fs::rename(&old, &path) };
        }
        for leftover in
            [self.unfinished_path()].into_iter().filter(|path| path.is_dir()).chain(self.folder.replaced_formats())
        {
            let _ = fs::remove_folder(&leftover);
        }
        remove_leftovers(&path);
    }
}

/// Returns the time at which a segment file was last written in a folder.
fn last_written(path: &Path) -> Option<SystemTime> {
    let files = fs_err::read_dir(path).ok()?.flatten();
    let files = files.filter(|file| is_segment_file(&file.file_name().to_string_lossy()));
    files.filter_map(|file| file.metadata().ok()?.modified().ok()).max()
}

/// Reports whether a folder contains a damaged index that was moved aside.
fn is_aside(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(DAMAGED))
}

/// Removes everything that the last commit does not name. The caller holds the lock, and no writer is open. Files that
/// cannot be removed now are left for the next run.
fn remove_leftovers(path: &Path) {
    let Ok(directory) = SafeDirectory::for_writing(path) else { return };
    // Without a commit we cannot know which files belong to the index.
    if !tantivy::Index::exists(&directory).unwrap_or(false) {
        return;
    }
    // The same applies to an index that unspool did not create.
    let Ok(mut index) = open_checked(path, directory) else { return };
    cleanup::clear(path, &mut index);
}
