//! What can go wrong, in two sorts: an [`Error`] ends the command; a [`Problem`] is noted and the work goes on.
//!
//! Messages are lower-case, name the file they are about, and carry a hint when there is something to do next.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What sort of failure this is; front ends turn it into an exit code.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ErrorKind {
    /// The request itself cannot be understood.
    Usage,
    /// What was asked for is not there.
    NotFound,
    /// The index is foreign or of a newer version.
    Unusable,
    /// The index is damaged; a rebuild mends it.
    Damaged,
    /// Somebody else holds a lock we need.
    Busy,
    /// No space left, or no permission.
    NoSpaceOrPermission,
    /// The user asked us to stop.
    Interrupted,
    /// Anything else.
    Other,
}

/// A failure that ends the command: what happened, to which file, why, and what to do next.
#[derive(Debug)]
pub struct Error {
    /// What sort of failure this is.
    pub kind: ErrorKind,
    message: String,
    hint: Option<String>,
    part: Option<(String, std::ops::Range<usize>)>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Makes an error from a sentence without a full stop.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, part: None, source: None }
    }

    /// Makes an error of a failed file operation; the kind follows from the cause.
    pub fn io(doing: &str, path: &Path, source: io::Error) -> Self {
        let mut error = Self::new(kind_of_io(&source), format!("cannot {doing} {}", path.display()));
        error.hint = hint_of_io(&source);
        error.source = Some(Box::new(source));
        error
    }

    /// Adds what the user can do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the text it is about, and which part of that.
    #[must_use]
    pub fn about(mut self, text: &str, part: std::ops::Range<usize>) -> Self {
        self.part = Some((text.to_string(), part));
        self
    }

    /// Returns the text it is about, and which part of that.
    pub fn part(&self) -> Option<(&str, std::ops::Range<usize>)> {
        self.part.as_ref().map(|(text, part)| (text.as_str(), part.clone()))
    }

    /// Adds the underlying cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns what the system called it, where the system was the cause.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        self.source.as_ref()?.downcast_ref::<io::Error>().map(io::Error::kind)
    }

    /// Returns what the user can do about it, if anything is known.
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

/// Something that could not be read or used; it is counted and listed, never fatal.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    /// The file or folder it is about.
    pub path: PathBuf,
    /// The line in that file, counted from 1, when there is one.
    pub line: Option<u64>,
    /// What is wrong with it.
    pub reason: String,
}

impl Problem {
    /// Notes a problem with a whole file or folder.
    pub fn with_path(path: impl Into<PathBuf>, reason: impl Into<String>) -> Self {
        Self { path: path.into(), line: None, reason: reason.into() }
    }
}

/// Tells space and permission troubles from the rest.
pub fn kind_of_io(error: &io::Error) -> ErrorKind {
    match error.kind() {
        io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::NoSpaceOrPermission,
        _ => ErrorKind::Other,
    }
}

fn hint_of_io(error: &io::Error) -> Option<String> {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Some("free some space; what was committed before is safe and the next run goes on from there".into())
        }
        _ => None,
    }
}
