//! Identifies a transcript in the index: a hash of its path as the key, and the path itself in a form that JSON can
//! store.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::transcript::discover::SourceKind;

/// The key of a file in the index: a hash of the bytes of its path.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct FileKey(u64);

impl FileKey {
    /// The key of a path.
    pub fn of(path: &Path) -> Self {
        Self(xxh3_64(path.as_os_str().as_encoded_bytes()))
    }

    /// Parses a key from its term.
    pub(super) fn parse(text: &str) -> Option<Self> {
        u64::from_str_radix(text, 16).ok().map(Self)
    }

    pub(super) fn from_number(number: u64) -> Self {
        Self(number)
    }

    pub(crate) fn number(self) -> u64 {
        self.0
    }

    /// Returns the key as a term: 16 hexadecimal digits.
    pub fn text(self) -> Arc<str> {
        format!("{:016x}", self.0).into()
    }
}

/// Returns a path from its text, or from its bytes in hexadecimal if it is not UTF-8.
pub(super) fn path_of(text: &str, bytes: Option<&str>) -> PathBuf {
    bytes.and_then(unhex).unwrap_or_else(|| PathBuf::from(text))
}

pub(super) fn kind_of(code: u8) -> SourceKind {
    match code {
        0 => SourceKind::Session,
        1 => SourceKind::Agent,
        2 => SourceKind::Spill,
        _ => SourceKind::History,
    }
}

pub(super) fn kind_code(kind: SourceKind) -> u8 {
    match kind {
        SourceKind::Session => 0,
        SourceKind::Agent => 1,
        SourceKind::Spill => 2,
        SourceKind::History => 3,
    }
}

pub(super) fn hex(name: &OsStr) -> String {
    name.as_encoded_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(unix)]
fn unhex(hex: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    let bytes: Option<Vec<u8>> =
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()).collect();
    Some(PathBuf::from(std::ffi::OsString::from_vec(bytes?)))
}

#[cfg(not(unix))]
fn unhex(_: &str) -> Option<PathBuf> {
    None
}
