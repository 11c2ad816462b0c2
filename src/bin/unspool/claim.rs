//! A lock that lets only one index run start for events at the same moment.
//!
//! Claude Code may call our hook twice for one event: once for the plugin and once for its settings. The run that has
//! the lock releases it before it reads anything. So it reads everything that the other events reported.

use std::fs::File;
use std::path::{Path, PathBuf};

use unspool::error::Error;
use unspool::fault::{self, Op};
use xxhash_rust::xxh3::xxh3_64;

/// The lock of one run, held until it is dropped. The kernel releases it when the process ends.
#[derive(Debug)]
pub(crate) struct Claim {
    path: PathBuf,
    _file: File,
}

impl Claim {
    /// Returns the lock file of a run that reads only these transcripts.
    pub(crate) fn path(beside: impl Fn(&str) -> PathBuf, transcripts: &[PathBuf]) -> PathBuf {
        let names: Vec<u8> =
            transcripts.iter().flat_map(|path| [path.as_os_str().as_encoded_bytes(), b"\0"].concat()).collect();
        beside(&format!("event-{:08x}.lock", xxh3_64(&names) >> 32))
    }

    /// Takes the lock. Returns `None` if another process has it.
    pub(crate) fn take(path: &Path) -> Result<Option<Self>, Error> {
        let failed = |error| Error::io("lock", path, error);
        if let Some(folder) = path.parent() {
            fs_err::create_dir_all(folder).map_err(failed)?;
        }
        let open = fs_err::OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let file = open.map_err(failed)?.into_parts().0;
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => return Ok(None),
            Err(std::fs::TryLockError::Error(error)) => return Err(failed(error)),
        }
        fault::point(Op::Lock(path)).map_err(failed)?;
        Ok(Some(Self { path: path.to_path_buf(), _file: file }))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // A process that has already opened the file can still lock it. That only means one more run.
        let _ = fs_err::remove_file(&self.path);
    }
}
