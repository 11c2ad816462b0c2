//! Error types: an [`Error`] ends the command; a [`Problem`] is recorded and the work continues.
//!
//! Messages are lower-case, name the file they are about, and have a hint if the user can do something.

use serde::Serialize;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of an [`Error`]. Front ends turn it into an exit code.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ErrorKind {
    /// The request is invalid.
    Usage,
    /// The requested item does not exist.
    NotFound,
    /// The index was not created by unspool, or by a newer version of it.
    Unusable,
    /// The index is damaged; a rebuild repairs it.
    Damaged,
    /// Another process holds a lock that we need.
    Busy,
    /// No space left, or no permission.
    NoSpaceOrPermission,
    /// The user interrupted the command.
    Interrupted,
    /// Anything else.
    Other,
}

/// An error that ends the command, with the file, the cause and a hint.
#[derive(Debug)]
pub struct Error {
    /// The kind of error.
    pub kind: ErrorKind,
    message: String,
    hint: Option<String>,
    part: Option<(String, std::ops::Range<usize>)>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Creates an error from a sentence without a full stop.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, part: None, source: None }
    }

    /// Creates an error for a failed file operation. The kind follows from `source`.
    pub fn io(doing: &str, path: &Path, source: io::Error) -> Self {
        let mut error = Self::new(kind_of_io(&source), format!("cannot {doing} {}", path.display()));
        error.hint = hint_of_io(&source);
        error.source = Some(Box::new(source));
        error
    }

    /// Adds a hint about what the user can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the text that the error is about, and the range of the part that is wrong.
    #[must_use]
    pub fn about(mut self, text: &str, part: std::ops::Range<usize>) -> Self {
        self.part = Some((text.to_string(), part));
        self
    }

    /// Returns the text that the error is about, and the range of the part that is wrong.
    pub fn part(&self) -> Option<(&str, std::ops::Range<usize>)> {
        self.part.as_ref().map(|(text, part)| (text.as_str(), part.clone()))
    }

    /// Adds the underlying cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns the kind of the underlying I/O error, if there is one.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        self.source.as_ref()?.downcast_ref::<io::Error>().map(io::Error::kind)
    }

    /// Returns the hint about what the user can do, if there is one.
    pub fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as _)
    }
}

/// A file or line that could not be read or used. Problems are counted and listed, and are never fatal.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Problem {
    /// The file or folder it is about.
    pub path: PathBuf,
    /// The line number in that file, from 1, if known.
    pub line: Option<u64>,
    /// The description of the problem.
    pub reason: String,
}

impl Problem {
    /// Creates a problem with a whole file or folder.
    pub fn with_path(path: impl Into<PathBuf>, reason: impl Into<String>) -> Self {
        Self { path: path.into(), line: None, reason: reason.into() }
    }
}

/// Returns the error kind of an I/O error: missing space or permission, or anything else.
pub fn kind_of_io(error: &io::Error) -> ErrorKind {
    match error.kind() {
        io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::FileTooLarge
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::NoSpaceOrPermission,
        _ => ErrorKind::Other,
    }
}

fn hint_of_io(error: &io::Error) -> Option<String> {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            Some("free some space; what was indexed so far is kept, and the next run continues from there".into())
        }
        _ => None,
    }
}
