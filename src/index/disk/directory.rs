//! The tantivy [`Directory`] of an index, made safe against crashes and cheap in memory.
//!
//! - Everything becomes durable at one moment: when `meta.json`, which names all other files, is replaced. Just before
//!   that, all files written since the last commit and the folder are synced together, which costs a file system little
//!   more than one sync. Just after, the folder is synced again. tantivy syncs each file by itself and omits the last
//!   step, so a power cut after a commit loses the commit, or leaves an old `meta.json` whose segments are already
//!   deleted.
//! - tantivy keeps a list of the files it may remove, and rewrites it for every file it creates. Here the list is read
//!   from the folder, so it is never outdated, torn or missing.
//! - A merge reads stored text, postings and positions with plain reads, from front to back. If they were mapped, every
//!   page would count as our memory.
//! - Readers wait for tantivy's lock on `meta.json` with a deadline, and work without it if the folder is read-only.
//!   tantivy would wait forever, or fail.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tantivy::directory::error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, INDEX_WRITER_LOCK, Lock, MmapDirectory, OwnedBytes,
    TerminatingWrite, WatchCallback, WatchHandle, WritePtr,
};

use crate::fault::{self, Op};
use crate::index::disk::fs;

/// Longest wait for one of tantivy's locks. A reader waits for a writer that is replacing `meta.json`.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Extensions of files that a merge reads from front to back.
const READ_IN_PIECES: [&str; 3] = ["store", "idx", "pos"];
/// Size of the write buffer, in bytes. With large writes, Linux caches the file in units larger than pages, which a
/// search maps faster. Smaller in debug builds, so that tests see a file written in several writes.
const WRITE_BUFFER: usize = if cfg!(debug_assertions) { 8 << 10 } else { 512 << 10 };
/// Bytes read from such a file at a time.
const PIECE: usize = 256 << 10;
/// Maximum number of files that wait to be synced; each of them is open. Smaller in debug builds, so that tests reach
/// it.
const MAX_UNSYNCED: usize = if cfg!(debug_assertions) { 4 } else { 16 };
/// The file that names all other files.
pub(in crate::index) const META: &str = "meta.json";
/// tantivy's list of the files it may remove.
const LIST: &str = ".managed.json";

/// A [`Directory`] that syncs once per commit; see the module docs.
#[derive(Clone, Debug)]
pub(in crate::index) struct SafeDirectory {
    inner: MmapDirectory,
    path: PathBuf,
    writes: bool,
    /// Bytes to use instead of every store file, because those are damaged.
    placeholder: Option<OwnedBytes>,
    unsynced: Unsynced,
    trouble: Trouble,
}

/// Files that are written, but not yet synced.
type Unsynced = Arc<Mutex<Vec<(PathBuf, File)>>>;

/// The last I/O error of a failed write. tantivy's threads do not report it.
#[derive(Clone, Debug, Default)]
pub(in crate::index) struct Trouble(Arc<Mutex<Option<(io::ErrorKind, String)>>>);

impl Trouble {
    /// Returns the I/O error, if a write has failed.
    pub(in crate::index) fn cause(&self) -> Option<io::Error> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        last.map(|(kind, text)| io::Error::new(kind, text))
    }

    /// Records the error of a failed write.
    fn record<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|error| {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((error.kind(), error.to_string()));
        })
    }
}

/// A file being written. Records I/O errors in `trouble`.
struct FileWriter {
    file: Option<File>,
    path: PathBuf,
    unsynced: Unsynced,
    trouble: Trouble,
}

impl FileWriter {
    fn put(&mut self, bytes: &[u8]) -> io::Result<usize> {
        fault::point(Op::Write(&self.path, bytes))?;
        self.file.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn end(&mut self) -> io::Result<()> {
        let mut unsynced = self.unsynced.lock().unwrap_or_else(PoisonError::into_inner);
        unsynced.extend(self.file.take().map(|file| (self.path.clone(), file)));
        if unsynced.len() < MAX_UNSYNCED { Ok(()) } else { sync_files(&std::mem::take(&mut *unsynced)) }
    }
}

impl Write for FileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.put(bytes);
        self.trouble.record(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TerminatingWrite for FileWriter {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        let ended = self.end();
        self.trouble.record(ended)
    }
}

/// Syncs files together: one by one, each would wait for the file system to write its journal.
fn sync_files(files: &[(PathBuf, File)]) -> io::Result<()> {
    files.iter().for_each(|(_, file)| fs::begin_writing_out(file));
    files.iter().try_for_each(|(path, file)| fault::point(Op::Sync(path)).and_then(|()| file.sync_data()))
}

impl SafeDirectory {
    /// Opens an existing folder for reading.
    pub(in crate::index) fn open(path: &Path) -> Result<Self, OpenDirectoryError> {
        Ok(Self {
            inner: MmapDirectory::open(path)?,
            path: path.to_path_buf(),
            writes: false,
            placeholder: None,
            unsynced: Unsynced::default(),
            trouble: Trouble::default(),
        })
    }

    /// Returns the record of failed writes.
    pub(in crate::index) fn trouble(&self) -> Trouble {
        self.trouble.clone()
    }

    fn check_fault(&self, path: &Path) -> Result<(), OpenReadError> {
        let loaded = fault::point(Op::Load(&self.path.join(path)));
        loaded.map_err(|error| OpenReadError::wrap_io_error(error, path.to_path_buf()))
    }

    /// Opens an existing folder for reading everything but stored documents. tantivy opens the store of each segment in
    /// any case; it gets an empty one instead.
    pub(in crate::index) fn without_stores(path: &Path, empty_store: OwnedBytes) -> Result<Self, OpenDirectoryError> {
        Ok(Self { placeholder: Some(empty_store), ..Self::open(path)? })
    }

    /// Opens an existing folder for writing.
    pub(in crate::index) fn for_writing(path: &Path) -> Result<Self, OpenDirectoryError> {
        Ok(Self { writes: true, ..Self::open(path)? })
    }

    /// Replaces `meta.json` after all files it names are durable.
    fn publish(&self, data: &[u8]) -> io::Result<()> {
        let unsynced = std::mem::take(&mut *self.unsynced.lock().unwrap_or_else(PoisonError::into_inner));
        sync_files(&unsynced)?;
        fs::sync_folder(&self.path)?;
        self.put(Path::new(META), data)?;
        fs::sync_folder(&self.path)
    }

    fn put(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        fault::point(Op::Put(&self.path.join(path), data))?;
        self.inner.atomic_write(path, data)
    }
}

/// Returns the names of all segment files in a folder.
fn segment_files(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs_err::read_dir(folder)? {
        names.extend(entry?.file_name().into_string().ok().filter(|name| is_segment_file(name)));
    }
    Ok(names)
}

/// Reports whether tantivy named a file after a segment: 32 hexadecimal digits and an extension.
pub(in crate::index) fn is_segment_file(name: &str) -> bool {
    name.split_once('.').is_some_and(|(id, _)| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

impl Directory for SafeDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.check_fault(path)?;
        if let Some(empty_store) = &self.placeholder
            && path.extension().is_some_and(|extension| extension == "store")
        {
            return Ok(Arc::new(empty_store.clone()));
        }
        let is_large = path.extension().is_some_and(|extension| READ_IN_PIECES.iter().any(|large| extension == *large));
        if !(self.writes && is_large) {
            return self.inner.get_file_handle(path);
        }
        match PlainFile::open(&self.path.join(path)) {
            Ok(file) => Ok(Arc::new(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(OpenReadError::FileDoesNotExist(path.to_path_buf()))
            }
            Err(error) => Err(OpenReadError::wrap_io_error(error, path.to_path_buf())),
        }
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        let failed = |error| DeleteError::IoError { io_error: Arc::new(error), filepath: path.to_path_buf() };
        fault::point(Op::Remove(&self.path.join(path))).map_err(failed)?;
        self.inner.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.inner.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let full_path = self.path.join(path);
        let created =
            self.trouble.record(fault::point(Op::Create(&full_path)).and_then(|()| fs::create_file(&full_path)));
        let file = created.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => OpenWriteError::FileAlreadyExists(path.to_path_buf()),
            _ => OpenWriteError::wrap_io_error(error, path.to_path_buf()),
        })?;
        let (unsynced, trouble) = (self.unsynced.clone(), self.trouble.clone());
        let writer = FileWriter { file: Some(file), path: full_path, unsynced, trouble };
        Ok(io::BufWriter::with_capacity(WRITE_BUFFER, Box::new(writer)))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.check_fault(path)?;
        if path != Path::new(LIST) {
            return self.inner.atomic_read(path);
        }
        let names = segment_files(&self.path);
        let names = names.map_err(|error| OpenReadError::wrap_io_error(error, path.to_path_buf()))?;
        Ok(serde_json::to_vec(&names).unwrap_or_default())
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        match path.to_str() {
            Some(LIST) => Ok(()),
            Some(META) => self.trouble.record(self.publish(data)),
            _ => self.trouble.record(self.put(path, data)),
        }
    }

    /// Does nothing: everything is synced when `meta.json` is replaced.
    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        if lock.filepath == INDEX_WRITER_LOCK.filepath {
            // Our own lock already makes us the only writer. But a child process started while this lock was last held
            // may keep the file open a moment longer.
            return retry_lock(|| self.inner.acquire_lock(lock));
        }
        let file = match lock_file(&self.path.join(&lock.filepath)) {
            Ok(Some(file)) => file,
            // A read-only folder has no writer to be protected from.
            Ok(None) => return Ok(DirectoryLock::from(Box::new(()))),
            Err(error) => return Err(LockError::wrap_io_error(error)),
        };
        wait_for(&file)?;
        Ok(DirectoryLock::from(Box::new(file)))
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.inner.watch(callback)
    }
}

/// A file that is read in pieces instead of being mapped.
#[derive(Debug)]
struct PlainFile {
    opened: Mutex<(File, Piece)>,
    length: usize,
}

/// The bytes read last. A merge asks for many small ranges, each after the one before.
#[derive(Debug)]
struct Piece {
    start: usize,
    bytes: Arc<[u8]>,
}

impl PlainFile {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        Ok(Self { opened: Mutex::new((file, Piece { start: 0, bytes: Arc::new([]) })), length })
    }
}

impl tantivy::HasLen for PlainFile {
    fn len(&self) -> usize {
        self.length
    }
}

impl FileHandle for PlainFile {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, piece) = &mut *opened;
        if range.start < piece.start || range.end > piece.start + piece.bytes.len() {
            let end = range.end.max(self.length.min(range.start + PIECE));
            let mut bytes = vec![0; end - range.start];
            file.seek(SeekFrom::Start(range.start as u64))?;
            file.read_exact(&mut bytes)?;
            if range.len() > PIECE {
                return Ok(OwnedBytes::new(bytes));
            }
            *piece = Piece { start: range.start, bytes: bytes.into() };
        }
        let from = range.start - piece.start;
        Ok(OwnedBytes::new(piece.bytes.clone()).slice(from..from + range.len()))
    }
}

/// Opens a lock file. Returns `None` if it neither exists nor can be created.
fn lock_file(path: &Path) -> io::Result<Option<File>> {
    match fs_err::OpenOptions::new().write(true).create(true).truncate(false).open(path) {
        Ok(file) => Ok(Some(file.into_parts().0)),
        Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => {
            Ok(File::open(path).ok())
        }
        Err(error) => Err(error),
    }
}

fn wait_for(file: &File) -> Result<(), LockError> {
    retry_lock(|| match file.try_lock() {
        Ok(()) => Ok(()),
        Err(std::fs::TryLockError::WouldBlock) => Err(LockError::LockBusy),
        // Opened read-only, or the file system has no locks: continue without the lock.
        Err(std::fs::TryLockError::Error(_)) => Ok(()),
    })
}

/// Calls `lock` until it succeeds, for at most [`LOCK_WAIT`].
fn retry_lock<T>(lock: impl Fn() -> Result<T, LockError>) -> Result<T, LockError> {
    let deadline = Instant::now() + LOCK_WAIT;
    loop {
        match lock() {
            Err(LockError::LockBusy) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
            done => return done,
        }
    }
}
