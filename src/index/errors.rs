//! Turns errors from tantivy, and damage found in stored data, into unspool's [`Error`].

use std::io;
use std::path::Path;

use tantivy::TantivyError;
use tantivy::directory::error::{LockError, OpenReadError, OpenWriteError};

use crate::error::{Error, ErrorKind, kind_of_io};
use crate::index::disk::lock;

/// Error for stored data that cannot be read. The reader knows the path of the index, and adds a hint.
pub(in crate::index) fn damaged_entry(cause: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Damaged, format!("the index is damaged: {cause}"))
}

/// Error for a damaged index.
pub(in crate::index) fn damaged(path: &Path, what: &str) -> Error {
    Error::new(ErrorKind::Damaged, format!("the index in {} is damaged: {what}", path.display()))
}

/// Error from opening or reading files that should exist. The index is damaged, unless the operating system refused
/// access.
pub(in crate::index) fn damage(path: &Path, error: &TantivyError) -> Error {
    match io_cause(error) {
        Some(cause) if kind_of_io(cause) != ErrorKind::Other => tantivy_error(path, error),
        _ => match error {
            TantivyError::LockFailure(..) => tantivy_error(path, error),
            _ => damaged(path, &short(error)),
        },
    }
}

/// Any other error from tantivy, with the operating system's message if there is one.
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

/// Shortens an error message to one line: tantivy's errors may quote whole files.
fn short(error: &TantivyError) -> String {
    let text = error.to_string();
    let text = text.split(" Content:").next().unwrap_or_default();
    text.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).take(160).collect()
}
