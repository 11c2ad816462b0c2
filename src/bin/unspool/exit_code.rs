//! Exit codes, and the exit code of each error.

use unspool::error::{Error, ErrorKind};

/// Success, or something was found.
pub(crate) const OK: u8 = 0;
/// Nothing was found.
pub(crate) const NOTHING: u8 = 1;
/// Wrong usage, or any other failure.
pub(crate) const FAILED: u8 = 2;
/// Done, but with problems.
pub(crate) const PROBLEMS: u8 = 3;
/// The index cannot be used.
pub(crate) const UNUSABLE: u8 = 4;
/// Another process holds the lock.
pub(crate) const BUSY: u8 = 5;
/// No space, or no permission.
pub(crate) const NO_SPACE: u8 = 6;
/// Interrupted by the user.
pub(crate) const INTERRUPTED: u8 = 130;

/// Returns the exit code for an error.
pub(crate) fn code_of(error: &anyhow::Error) -> u8 {
    let Some(known) = error.downcast_ref::<Error>() else { return FAILED };
    match known.kind {
        ErrorKind::NotFound => NOTHING,
        ErrorKind::Usage | ErrorKind::Other => FAILED,
        ErrorKind::Unusable | ErrorKind::Damaged => UNUSABLE,
        ErrorKind::Busy => BUSY,
        ErrorKind::NoSpaceOrPermission => NO_SPACE,
        ErrorKind::Interrupted => INTERRUPTED,
    }
}
