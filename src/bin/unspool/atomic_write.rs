//! Writes files atomically: to a temporary file, synced, then renamed. Used for files outside the index.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use unspool::error::Error;

/// Replaces the contents of a file. A new file is readable by its owner only; an existing one keeps its permissions. If
/// the path is a link, the file it points to is replaced.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let path = &target_of(path);
    let failed = |error| Error::io("write", path, error);
    if let Some(folder) = path.parent() {
        fs_err::create_dir_all(folder).map_err(failed)?;
    }
    let temporary = temporary_path(path);
    let _ = fs_err::remove_file(&temporary);
    let written = fs_err::OpenOptions::new().write(true).create_new(true).open(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        if let Ok(meta) = fs_err::metadata(path) {
            file.set_permissions(meta.permissions())?;
        }
        file.sync_all()
    });
    written.and_then(|()| fs_err::rename(&temporary, path)).map_err(|error| {
        let _ = fs_err::remove_file(&temporary);
        failed(error)
    })
}

/// Returns the file that a path points to, even if that file does not exist yet.
fn target_of(path: &Path) -> PathBuf {
    fs_err::canonicalize(path).or_else(|_| fs_err::read_link(path)).map_or_else(
        |_| path.to_path_buf(),
        |target| path.parent().map_or_else(|| target.clone(), |folder| folder.join(&target)),
    )
}

fn temporary_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".unspool-{}", std::process::id()));
    path.with_file_name(name)
}
