//! File system operations on index folders: create, rename, exchange, sync, remove.
//!
//! Every change to the disk that is not a tantivy file goes through here. Each one passes a fault injection point of
//! [`fault`] first, and is synced if other steps rely on it.

use std::io;
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};
use crate::fault::{self, Op};

/// Creates a folder that only its owner can read. Refuses an existing folder that another user could have prepared.
pub(in crate::index) fn make_private_folder(path: &Path) -> Result<()> {
    let failed = |error| Error::io("create", path, error);
    match fs_err::symlink_metadata(path) {
        Ok(_) => keep_private(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                make_folders(parent).map_err(failed)?;
            }
            make_folder(path).map_err(failed)?;
            keep_private(path)
        }
        Err(error) => Err(failed(error)),
    }
}

/// Creates the missing folders of a path. Each name is durable only after its parent folder is synced.
fn make_folders(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_folders(parent)?;
    }
    make_folder(path)
}

fn make_folder(path: &Path) -> io::Result<()> {
    fault::point(Op::MakeFolder(path))?;
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
        Ok(()) => path.parent().map_or(Ok(()), sync_folder),
    }
}

#[cfg(unix)]
fn keep_private(path: &Path) -> Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let failed = |error| Error::io("create", path, error);
    let meta = fs_err::metadata(path).map_err(failed)?;
    if !meta.is_dir() {
        return Err(failed(io::Error::from(io::ErrorKind::NotADirectory)));
    }
    let refuse = |why: &str, hint: &str| {
        let message = format!("refusing to keep the index in {}: {why}", path.display());
        Err(Error::new(ErrorKind::NoSpaceOrPermission, message).hint(hint))
    };
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return refuse("the folder belongs to another user", "choose a folder of your own with --index-dir");
    }
    if meta.mode() & 0o022 != 0 {
        return refuse(
            "other users can write to the folder",
            "run `chmod go-w` on it, or choose another with --index-dir",
        );
    }
    if meta.mode() & 0o077 != 0 {
        fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn keep_private(_: &Path) -> Result<()> {
    Ok(())
}

/// Creates a file that only its owner can read. The caller passes the fault injection point.
pub(in crate::index) fn create_file(path: &Path) -> io::Result<std::fs::File> {
    new_private_file().open(path)
}

fn new_private_file() -> std::fs::OpenOptions {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes the system start writing a small file to disk, without waiting for it.
///
/// Linux allocates disk blocks only at that point. Files that have theirs share the next journal write, so the syncs
/// that follow wait less. Large files are not worth it: their written pages would be dropped from the cache, and the
/// next merge would read them again.
pub(in crate::index) fn begin_writing_out(file: &std::fs::File) {
    const SMALL: u64 = 1 << 20;
    #[cfg(target_os = "linux")]
    if file.metadata().is_ok_and(|meta| meta.len() < SMALL) {
        let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, SMALL);
}

/// Makes the names in a folder durable.
pub(in crate::index) fn sync_folder(path: &Path) -> io::Result<()> {
    fault::point(Op::SyncFolder(path))?;
    if cfg!(windows) { Ok(()) } else { fs_err::File::open(path)?.sync_all() }
}

/// Renames a folder.
pub(in crate::index) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fault::point(Op::Rename(from, to))?;
    fs_err::rename(from, to)
}

/// Exchanges two folders: atomically if the system supports it, otherwise with two renames.
pub(in crate::index) fn exchange(new: &Path, current: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        fault::point(Op::Exchange(new, current))?;
        if renameat_with(CWD, new, CWD, current, RenameFlags::EXCHANGE).is_ok() {
            return Ok(());
        }
    }
    let mut old = current.as_os_str().to_owned();
    old.push(".old");
    rename(current, Path::new(&old))?;
    rename(new, current)?;
    remove_folder(Path::new(&old))
}

/// Replaces a small file at once: it has either the old or the new contents. Only its owner can read it.
pub(in crate::index) fn put_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::io::Write as _;
    fault::point(Op::Put(path, bytes))?;
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    let temporary = Path::new(&name);
    let _ = std::fs::remove_file(temporary);
    let mut file = create_file(temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs_err::rename(temporary, path)
}

/// Removes a file.
pub(in crate::index) fn remove_file(path: &Path) -> io::Result<()> {
    fault::point(Op::Remove(path))?;
    fs_err::remove_file(path)
}

/// Removes a folder and its contents. `meta.json` goes first, so that an interrupted removal leaves a folder that is no
/// longer an index.
pub(in crate::index) fn remove_folder(path: &Path) -> io::Result<()> {
    let meta = path.join("meta.json");
    if meta.is_file() {
        remove_file(&meta)?;
    }
    for entry in fs_err::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_folder(&entry.path())?;
        } else {
            remove_file(&entry.path())?;
        }
    }
    fault::point(Op::RemoveFolder(path))?;
    fs_err::remove_dir(path)
}

/// Reports whether a folder contains an index, or the remains of one.
pub(in crate::index) fn is_index_folder(path: &Path) -> Result<bool> {
    match fs_err::read_dir(path) {
        Ok(mut entries) => {
            Ok(entries.any(|entry| entry.is_ok_and(|entry| !is_side_file(&entry.file_name().to_string_lossy()))))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io("open the index in", path, error)),
    }
}

/// Reports whether unspool or tantivy creates a file of this name before the index has any contents.
pub(in crate::index) fn is_side_file(name: &str) -> bool {
    name.starts_with('.') || name == "CACHEDIR.TAG"
}
