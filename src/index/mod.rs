//! The index: where it lives, in which state it is, and the two ways to open it. The only folder that names tantivy.
//!
//! There is one index for each set of roots, in a folder whose name says for which roots and in which shape it was
//! made; an index of another shape has another name, so programs of two versions never meet in one folder.

mod budget;
mod candidates;
mod card;
mod checkpoint;
mod columns;
mod correct;
mod directory;
mod disk;
mod entry;
mod files;
mod filter;
mod find;
mod gather;
mod ids;
mod letters;
mod litter;
mod lock;
mod mark;
mod merge;
mod outline;
mod probe;
mod reader;
mod rescore;
mod schema;
mod sealed;
mod stored;
mod tokenizer;
mod writer;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tantivy::directory::error::{LockError, OpenReadError, OpenWriteError};
use tantivy::store::{Compressor, ZstdCompressor};
use tantivy::{IndexSettings, TantivyError};
use xxhash_rust::xxh3::xxh3_64;

use crate::discover::Root;
use crate::error::{Error, ErrorKind, Problem, Result, kind_of_io};
pub use card::Card;
pub use checkpoint::{Checkpoint, FileKey, Known};
pub use columns::{Names, Row, RowAt, Spent};
pub use correct::{Corrections, Meant};
use directory::{META, SafeDirectory};
use disk::make_private_folder;
pub use files::{About, Said, Spelling};
pub use filter::{Listed, UnknownName};
pub use find::{Factors, Ranked, Search, Sort};
pub use gather::Found;
pub(crate) use gather::{ByPrint, Prints};
use lock::WriteLock;
pub use outline::Step;
pub use reader::{Reader, Size};
use schema::FORMAT_VERSION;
pub use schema::PARSER_VERSION;
use tokenizer::{WORDS, WordTokenizer};
use writer::Header;
pub use writer::{RunSize, Writer};

/// The compression of stored text.
const ZSTD_LEVEL: i32 = 3;
/// Bytes of stored text that are compressed together. A hit costs the decompression of one block: 160 KB blocks would make
/// the index 4 % smaller and a search 15 % slower.
const STORE_BLOCK: usize = 64 << 10;
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
pub struct Store {
    data_dir: PathBuf,
    roots_key: String,
}

/// The right to change a [`Store`].
#[derive(Debug)]
pub struct Locked<'s> {
    store: &'s Store,
    _lock: WriteLock,
}

/// The right to be the one who watches the roots of a [`Store`].
#[derive(Debug)]
pub struct WatchLock {
    _lock: WriteLock,
}

impl Store {
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
            .map_err(|error| mark::met(&path, error))
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
    pub fn lock(&self, wait: Duration) -> Result<Locked<'_>> {
        make_private_folder(&self.data_dir)?;
        let lock = WriteLock::take(&lock::lock_path(&self.data_dir, &self.roots_key), wait)?;
        let locked = Locked { store: self, _lock: lock };
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

impl Locked<'_> {
    /// The folder of the index.
    pub fn directory(&self) -> PathBuf {
        self.store.directory()
    }

    /// Opens the index for writing, making it if need be.
    pub fn write(&self, size: RunSize) -> Result<Writer> {
        let path = self.store.directory();
        make_private_folder(&path)?;
        Writer::open(&path, size).map_err(|error| mark::met(&path, error))
    }

    /// Opens a folder beside the index, to build a new one in.
    pub fn write_beside(&self) -> Result<Writer> {
        let path = self.beside();
        if path.is_dir() {
            disk::remove_folder(&path).map_err(|error| Error::io("clear", &path, error))?;
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
            disk::exchange(&beside, &path).map_err(failed)?;
        } else {
            disk::rename(&beside, &path).map_err(failed)?;
        }
        disk::sync_folder(&self.store.data_dir).map_err(failed)?;
        for old in [beside].into_iter().chain(self.store.older_shapes()) {
            if old.is_dir() {
                disk::remove_folder(&old).map_err(|error| Error::io("remove", &old, error))?;
            }
        }
        Ok(())
    }

    /// Makes way for a new index in the place of a damaged one, keeping one generation of it.
    pub fn make_way(&self) -> Result<()> {
        self.discard_aside()?;
        let aside = self.store.renamed(DAMAGED);
        disk::rename(&self.store.directory(), &aside).map_err(|error| Error::io("put aside", &aside, error))
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
        disk::remove_folder(&aside).map_err(|error| Error::io("remove", &aside, error))
    }

    /// Puts everything as the last commit has it: finishes or undoes what a killed rebuild left half done, and removes
    /// the files that a failed run has made. No writer is open.
    pub fn tidy(&self) {
        let path = self.store.directory();
        let old = self.store.renamed(REPLACED);
        if old.is_dir() {
            // The swap without an atomic exchange was cut between its two renames.
            let _ = if path.is_dir() { disk::remove_folder(&old) } else { disk::rename(&old, &path) };
        }
        for left in [self.beside()].into_iter().filter(|path| path.is_dir()).chain(self.store.replaced_shapes()) {
            let _ = disk::remove_folder(&left);
        }
        litter::clear(&path);
    }
}

/// Says whether a folder holds an index, or at least what is left of one.
fn is_index_folder(path: &Path) -> Result<bool> {
    match fs_err::read_dir(path) {
        Ok(mut entries) => {
            Ok(entries.any(|entry| entry.is_ok_and(|entry| !is_side_file(&entry.file_name().to_string_lossy()))))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io("open the index in", path, error)),
    }
}

/// Files that tantivy or we make before there is anything to find.
fn is_side_file(name: &str) -> bool {
    name.starts_with('.') || name == "CACHEDIR.TAG"
}

/// Opens the index in a folder, or makes an empty one.
fn create_or_open(path: &Path, directory: SafeDirectory) -> Result<tantivy::Index> {
    let exists = tantivy::Index::exists(&directory).map_err(|error| damage(path, &error.into()))?;
    if exists {
        return open_checked(path, directory);
    }
    if is_index_folder(path)? {
        return Err(damaged(path, "meta.json is missing"));
    }
    let (schema, _) = schema::schema();
    let settings = IndexSettings {
        docstore_compression: Compressor::Zstd(ZstdCompressor { compression_level: Some(ZSTD_LEVEL) }),
        docstore_blocksize: STORE_BLOCK,
        // A thread for each segment costs more in switches and memory than it saves: all cores are busy already.
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    };
    let mut index = tantivy::Index::create(directory, schema, settings).map_err(|error| tantivy_error(path, &error))?;
    register(&mut index);
    Ok(index)
}

/// Opens an index and makes sure that it is one of ours, of this shape.
fn open_checked(path: &Path, directory: SafeDirectory) -> Result<tantivy::Index> {
    let foreign = || {
        let what = format!("{} holds an index that unspool did not make", path.display());
        Error::new(ErrorKind::Unusable, what).hint("move it away, or name another folder with --index-dir")
    };
    let unopened = |error| if is_foreign(path) { foreign() } else { damage(path, &error) };
    let mut index = tantivy::Index::open(directory).map_err(unopened)?;
    let metas = index.load_metas().map_err(|error| damage(path, &error))?;
    let header: Option<Header> = metas.payload.as_deref().and_then(|payload| serde_json::from_str(payload).ok());
    let unusable = |what: String, hint: &str| Err(Error::new(ErrorKind::Unusable, what).hint(hint));
    match header {
        Some(header) if header.format > FORMAT_VERSION => {
            let what = format!("the index in {} was made by a newer unspool ({})", path.display(), header.program);
            return unusable(what, "upgrade unspool, or name another folder with --index-dir");
        }
        // Made, but killed before the first commit.
        None if metas.segments.is_empty() && index.schema() == schema::schema().0 => {}
        Some(_) if index.schema() == schema::schema().0 => {}
        // Our folder by its name and our word or our fields in it, but not both.
        Some(_) => return Err(damaged(path, "its list of fields is wrong")),
        None if index.schema() == schema::schema().0 => return Err(damaged(path, "its header cannot be read")),
        None => return Err(foreign()),
    }
    register(&mut index);
    Ok(index)
}

/// Whether an index that cannot be opened, because it is packed in another way say, was made by another program: what
/// names its files can be read, and has neither our word nor our fields in it.
fn is_foreign(path: &Path) -> bool {
    let text = std::fs::read(path.join(META)).unwrap_or_default();
    let Ok(meta) = serde_json::from_slice::<serde_json::Value>(&text) else { return false };
    let has_word = meta["payload"].as_str().is_some_and(|payload| serde_json::from_str::<Header>(payload).is_ok());
    let is_ours = |field: &serde_json::Value| field["name"] == "checkpoint";
    let has_fields = |fields: &Vec<serde_json::Value>| !fields.is_empty() && !fields.iter().any(is_ours);
    !has_word && meta["segments"].is_array() && meta["schema"].as_array().is_some_and(has_fields)
}

fn register(index: &mut tantivy::Index) {
    index.tokenizers().register(WORDS, WordTokenizer::default());
}

/// Compares every file of the index with its checksum.
fn check_sums(path: &Path, index: &tantivy::Index) -> Result<()> {
    let wrong = index.validate_checksum().map_err(|error| damage(path, &error))?;
    match wrong.into_iter().min() {
        Some(file) => Err(damaged(path, &format!("{} has a wrong checksum", file.display()))),
        None => Ok(()),
    }
}

fn damaged(path: &Path, what: &str) -> Error {
    Error::new(ErrorKind::Damaged, format!("the index in {} is damaged: {what}", path.display()))
}

/// An error while opening or reading what should be there: the index is damaged, unless the system said no.
fn damage(path: &Path, error: &TantivyError) -> Error {
    match io_cause(error) {
        Some(cause) if kind_of_io(cause) != ErrorKind::Other => tantivy_error(path, error),
        _ => match error {
            TantivyError::LockFailure(..) => tantivy_error(path, error),
            _ => damaged(path, &short(error)),
        },
    }
}

/// Any other error of tantivy, with the system's word where there is one.
fn tantivy_error(path: &Path, error: &TantivyError) -> Error {
    if let TantivyError::LockFailure(LockError::LockBusy, _) = error {
        let holder = lock::holder_of(&path.join(".tantivy-meta.lock")).unwrap_or("another process".to_string());
        let message = format!("the index in {} is locked by {holder}", path.display());
        return Error::new(ErrorKind::Busy, message).hint("try again in a moment");
    }
    match io_cause(error) {
        Some(cause) => Error::io("write", path, io::Error::new(cause.kind(), cause.to_string())),
        None => Error::new(ErrorKind::Other, format!("the index in {} failed: {}", path.display(), short(error))),
    }
}

fn io_cause(error: &TantivyError) -> Option<&io::Error> {
    match error {
        TantivyError::IoError(cause) => Some(cause),
        TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, .. })
        | TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. }) => Some(io_error),
        TantivyError::LockFailure(LockError::IoError(cause), _) => Some(cause),
        _ => None,
    }
}

/// tantivy's errors may quote whole files; one line is enough.
fn short(error: &TantivyError) -> String {
    let text = error.to_string();
    let text = text.split(" Content:").next().unwrap_or_default();
    text.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).take(160).collect()
}
