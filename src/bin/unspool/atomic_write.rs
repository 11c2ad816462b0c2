//! Writing files outside the index: aside, synced, then renamed, so that there is always a whole one.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use unspool::error::Error;

/// Puts bytes in the place of a file, or makes it, readable by its owner only. An old file keeps its permissions,
/// and where the name is a link, the file it leads to is replaced.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let path = &target_of(path);
    let failed = |error| Error::io("write", path, error);
    if let Some(folder) = path.parent() {
        fs_err::create_dir_all(folder).map_err(failed)?;
    }
    let aside = aside(path);
    let _ = fs_err::remove_file(&aside);
    let written = fs_err::OpenOptions::new().write(true).create_new(true).open(&aside).and_then(|mut file| {
        file.write_all(bytes)?;
        if let Ok(meta) = fs_err::metadata(path) {
            file.set_permissions(meta.permissions())?;
        }
        file.sync_all()
    });
    written.and_then(|()| fs_err::rename(&aside, path)).map_err(|error| {
        let _ = fs_err::remove_file(&aside);
        failed(error)
    })
}

/// The file a name leads to, also where that file is not there yet.
fn target_of(path: &Path) -> PathBuf {
    fs_err::canonicalize(path).or_else(|_| fs_err::read_link(path)).map_or_else(
        |_| path.to_path_buf(),
        |target| path.parent().map_or_else(|| target.clone(), |folder| folder.join(&target)),
    )
}

fn aside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".unspool-{}", std::process::id()));
    path.with_file_name(name)
}
