//! The damage flag: a file that a reader creates in the index folder when it finds damage, so that the next writer
//! checks the whole index.
//!
//! A run with nothing to do only walks over the sources and reads few bytes of the index. Comparing every file with its
//! checksum each time would make it a hundred times slower. But a search that fails to read something knows about the
//! damage, and the flag reports it. A writer that sees the flag checks every file before it adds anything. If one is
//! wrong, a new index is built; otherwise the flag is removed.
//!
//! The flag is not part of the index, so a reader may create it, and nothing depends on it. A false alarm costs one
//! check. If the flag cannot be created because the folder is read-only, the hint names a command that works without
//! it.

use std::io;
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};
use crate::fault::{self, Op};
use crate::index::disk::fs;

const FLAG: &str = ".damage-met";

/// Adds a hint for the user to an error that reports damage, and sets the flag for the next writer. Returns other
/// errors unchanged.
pub(in crate::index) fn met(path: &Path, error: Error) -> Error {
    if error.kind != ErrorKind::Damaged {
        return error;
    }
    error.hint(if set(path) {
        "run `unspool index`: it compares the index with its checksums and builds a new one if they are wrong; \
         if this happens again, run `unspool index --rebuild`"
    } else {
        "run `unspool index --rebuild`: it builds a new index and copies what only this one contains"
    })
}

/// Reports whether the flag is set.
pub(in crate::index) fn is_there(path: &Path) -> bool {
    path.join(FLAG).symlink_metadata().is_ok()
}

/// Removes the flag, after a check found every file intact.
pub(in crate::index) fn remove(path: &Path) -> Result<()> {
    let flag = path.join(FLAG);
    match fs::remove_file(&flag) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", &flag, error)),
        _ => Ok(()),
    }
}

/// Sets the flag. Returns whether it is set now.
fn set(path: &Path) -> bool {
    let flag = path.join(FLAG);
    let made = fault::point(Op::Create(&flag)).and_then(|()| fs::create_file(&flag));
    made.is_ok() || is_there(path)
}
