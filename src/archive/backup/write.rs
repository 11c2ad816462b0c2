//! Writes a backup to a new file next to its final name.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::archive::backup::format::{End, Header, LineRef};
use crate::document::Document;
use crate::error::{Error, ErrorKind, Result};
use crate::fault::{self, Op};
use crate::index::Checkpoint;

/// Bytes of lines in a frame, unless a single line is longer.
const FRAME: usize = 1 << 20;
/// The compression level. Higher levels take several times as long for a few percent.
const LEVEL: i32 = 9;

/// A backup that is being written. It is removed when it is dropped before [`BackupWriter::rename`].
#[derive(Debug)]
pub(super) struct BackupWriter {
    path: PathBuf,
    file: File,
    /// Lines that are not written yet.
    frame: Vec<u8>,
    hash: Sha256,
    /// The current file, which is repeated at the start of a frame.
    current: Option<Checkpoint>,
    end: End,
    is_renamed: bool,
}

impl BackupWriter {
    /// Creates the new file. Fails if another process is writing it.
    pub(super) fn create(target: &Path, header: &Header) -> Result<Self> {
        let path = beside(target, ".new");
        let failed = |error| Error::io("create", &path, error);
        clear_leftover(&path)?;
        fault::point(Op::Create(&path)).map_err(failed)?;
        let file = private_file().open(&path).map_err(failed)?;
        // Tells other processes that this file is not a leftover. Some file systems have no locks.
        let _ = file.try_lock();
        let (end, hash) = (End::default(), Sha256::new());
        let mut writer = Self { path, file, frame: Vec::new(), hash, current: None, end, is_renamed: false };
        writer.line(&LineRef::Header(header))?;
        // A frame of its own: damage to it affects nothing else.
        writer.flush()?;
        Ok(writer)
    }

    /// Begins a file. The documents that follow belong to it.
    pub(super) fn file(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        self.flush_if_full()?;
        self.line(&LineRef::File(checkpoint))?;
        self.end.files += 1;
        self.current = Some(checkpoint.clone());
        Ok(())
    }

    /// Writes a document of the current file.
    pub(super) fn document(&mut self, document: &Document) -> Result<()> {
        if self.flush_if_full()?
            && let Some(checkpoint) = self.current.take()
        {
            self.line(&LineRef::File(&checkpoint))?;
            self.current = Some(checkpoint);
        }
        self.line(&LineRef::of(document))?;
        self.end.documents += 1;
        Ok(())
    }

    /// Writes the last line, and makes the file durable. Returns the last line.
    pub(super) fn finish(&mut self, now: i64) -> Result<End> {
        self.end.sha256 = hex(&self.hash.clone().finalize());
        let end = self.end.clone();
        self.line(&LineRef::End(&end))?;
        self.flush()?;
        // The time decides when the next backup is due.
        set_time(&self.file, now).map_err(|error| Error::io("write", &self.path, error))?;
        let synced = fault::point(Op::Sync(&self.path)).and_then(|()| self.file.sync_all());
        synced.map_err(|error| Error::io("write", &self.path, error))?;
        Ok(end)
    }

    /// The path of the new file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the old backup.
    pub(super) fn rename(mut self, target: &Path) -> Result<()> {
        let failed = |error| Error::io("put the new backup in place at", target, error);
        if !is_same_file(&self.file, &self.path) {
            return Err(busy(target));
        }
        fault::point(Op::Rename(&self.path, target)).map_err(failed)?;
        fs_err::rename(&self.path, target).map_err(failed)?;
        self.is_renamed = true;
        sync_parent(target).map_err(failed)
    }

    fn line(&mut self, line: &LineRef<'_>) -> Result<()> {
        let start = self.frame.len();
        let written = serde_json::to_writer(&mut self.frame, line);
        written.map_err(|error| Error::new(ErrorKind::Other, "cannot write a line of the backup").because(error))?;
        self.frame.push(b'\n');
        self.hash.update(&self.frame[start..]);
        Ok(())
    }

    /// Writes the frame if it is full. Returns whether it was.
    fn flush_if_full(&mut self) -> Result<bool> {
        let is_full = self.frame.len() >= FRAME;
        if is_full {
            self.flush()?;
        }
        Ok(is_full)
    }

    fn flush(&mut self) -> Result<()> {
        let compressed = compressed(&self.frame);
        let written = compressed.and_then(|bytes| {
            fault::point(Op::Write(&self.path, &bytes))?;
            self.file.write_all(&bytes)
        });
        // A single long line must not keep its memory until the end.
        self.frame = Vec::new();
        written.map_err(|error| Error::io("write", &self.path, error))
    }
}

impl Drop for BackupWriter {
    fn drop(&mut self) {
        if !self.is_renamed && is_same_file(&self.file, &self.path) {
            let _ = fs_err::remove_file(&self.path);
        }
    }
}

fn compressed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), LEVEL)?;
    encoder.include_checksum(true)?;
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Returns a path with a suffix after the whole file name.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Returns bytes in hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Sets the time at which a file was last changed.
pub(super) fn set_time(file: &File, now: i64) -> io::Result<()> {
    let since = std::time::Duration::from_millis(u64::try_from(now).unwrap_or_default());
    file.set_modified(std::time::UNIX_EPOCH + since)
}

/// Makes the names in the folder of a file durable.
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fault::point(Op::SyncFolder(folder))?;
    if cfg!(windows) { Ok(()) } else { fs_err::File::open(folder)?.sync_all() }
}

/// Removes what a killed run has left. Fails if the run is still going on.
fn clear_leftover(path: &Path) -> Result<()> {
    let failed = |error| Error::io("remove", path, error);
    match fs_err::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Ok(meta) if meta.is_file() => {}
        Ok(_) => return Err(failed(io::Error::other("it is not a file"))),
        Err(error) => return Err(failed(error)),
    }
    if let Ok(file) = File::open(path)
        && matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock))
    {
        return Err(busy(path));
    }
    fault::point(Op::Remove(path)).map_err(failed)?;
    fs_err::remove_file(path).map_err(failed)
}

fn busy(path: &Path) -> Error {
    let message = format!("another process is writing the backup {}", path.display());
    Error::new(ErrorKind::Busy, message).hint("try again when it is done")
}

fn private_file() -> std::fs::OpenOptions {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Reports whether a path still names an open file.
#[cfg(unix)]
fn is_same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let (Ok(open), Ok(named)) = (file.metadata(), fs_err::symlink_metadata(path)) else { return false };
    (open.dev(), open.ino()) == (named.dev(), named.ino())
}

#[cfg(not(unix))]
fn is_same_file(_: &File, path: &Path) -> bool {
    path.is_file()
}
