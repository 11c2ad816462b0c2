//! Errors of tantivy and of damaged files, in our words.

use std::io;
use std::path::Path;

use tantivy::TantivyError;
use tantivy::directory::error::{LockError, OpenReadError, OpenWriteError};

use crate::error::{Error, ErrorKind, kind_of_io};
use crate::index::disk::lock;

/// Something stored that cannot be read. The reader, who knows of which index it is, says what to do about it.
pub(in crate::index) fn damaged_entry(cause: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Damaged, format!("the index is damaged: {cause}"))
}

pub(in crate::index) fn damaged(path: &Path, what: &str) -> Error {
    Error::new(ErrorKind::Damaged, format!("the index in {} is damaged: {what}", path.display()))
}

/// An error while opening or reading what should be there: the index is damaged, unless the system said no.
pub(in crate::index) fn damage(path: &Path, error: &TantivyError) -> Error {
    match io_cause(error) {
        Some(cause) if kind_of_io(cause) != ErrorKind::Other => tantivy_error(path, error),
        _ => match error {
            TantivyError::LockFailure(..) => tantivy_error(path, error),
            _ => damaged(path, &short(error)),
        },
    }
}

/// Any other error of tantivy, with the system's word where there is one.
pub(in crate::index) fn tantivy_error(path: &Path, error: &TantivyError) -> Error {
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
