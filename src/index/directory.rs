//! The folder of the index, made safe where tantivy's own is not.
//!
//! - After `meta.json` is renamed into place the folder is synced, before anything else happens. tantivy leaves
//!   that out, and a power cut after a commit then loses the commit, or leaves an old `meta.json` whose segments
//!   are already deleted.
//! - Readers ask for tantivy's lock on `meta.json` with a deadline, and do without it where the folder is
//!   read-only; tantivy would wait for ever, or fail.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tantivy::directory::error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, INDEX_WRITER_LOCK, Lock, MmapDirectory, WatchCallback, WatchHandle, WritePtr,
};

/// How long a reader waits for a writer that is just replacing `meta.json`.
const META_LOCK_WAIT: Duration = Duration::from_secs(5);

/// See the module's text.
#[derive(Clone, Debug)]
pub(super) struct SafeDirectory {
    inner: MmapDirectory,
    path: PathBuf,
}

impl SafeDirectory {
    /// Opens a folder that exists.
    pub(super) fn open(path: &Path) -> Result<Self, OpenDirectoryError> {
        Ok(Self { inner: MmapDirectory::open(path)?, path: path.to_path_buf() })
    }
}

impl Directory for SafeDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.inner.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.inner.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.inner.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.inner.open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.inner.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.inner.atomic_write(path, data)?;
        if path == Path::new("meta.json") { self.inner.sync_directory() } else { Ok(()) }
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.inner.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        if lock.filepath == INDEX_WRITER_LOCK.filepath {
            return self.inner.acquire_lock(lock);
        }
        let file = match lock_file(&self.path.join(&lock.filepath)) {
            Ok(Some(file)) => file,
            // A folder nobody can write to has no writer to be protected from.
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

/// Opens the lock's file, to be locked; none where it neither exists nor can be made.
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
    let deadline = Instant::now() + META_LOCK_WAIT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(std::fs::TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(std::fs::TryLockError::WouldBlock) => return Err(LockError::LockBusy),
            // Opened for reading only, or a file system without locks: go on without.
            Err(std::fs::TryLockError::Error(_)) => return Ok(()),
        }
    }
}
