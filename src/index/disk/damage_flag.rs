//! The mark that whoever meets damage leaves in the folder of an index, so that the next writer looks for it.
//!
//! A run with nothing to do is a walk over the sources: it reads few bytes of the index, and comparing all of them with
//! their checksums each time would make it a hundred times as long. But what a search could not read, it knows; the mark
//! is how it says so. A writer that sees one checks every file before it adds anything: if one is wrong a new index is
//! built, otherwise the mark goes. It is no part of the index, so a reader may leave it, and nothing depends on it: it
//! costs one check where it is wrong, and where none can be left, on a folder we may only read, the hint names the way
//! that needs none.

use std::io;
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};
use crate::fault::{self, Op};
use crate::index::disk::fs;

const MARK: &str = ".damage-met";

/// Says of an error that damage was met in this index, for the user and for the next writer; of any other, nothing.
pub(in crate::index) fn met(path: &Path, error: Error) -> Error {
    if error.kind != ErrorKind::Damaged {
        return error;
    }
    error.hint(if leave(path) {
        "run `unspool index`: it compares the index with its checksums and builds a new one if they are wrong; \
         should this come again, run `unspool index --rebuild`"
    } else {
        "run `unspool index --rebuild`: it builds a new index and takes over what only this one holds"
    })
}

/// Whether somebody has met damage in this index.
pub(in crate::index) fn is_there(path: &Path) -> bool {
    path.join(MARK).symlink_metadata().is_ok()
}

/// Takes the mark away: every file is as it was written.
pub(in crate::index) fn remove(path: &Path) -> Result<()> {
    let mark = path.join(MARK);
    match fs::remove_file(&mark) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", &mark, error)),
        _ => Ok(()),
    }
}

/// Leaves the mark; says whether it is there now.
fn leave(path: &Path) -> bool {
    let mark = path.join(MARK);
    let made = fault::point(Op::Create(&mark)).and_then(|()| fs::create_file(&mark));
    made.is_ok() || is_there(path)
}
