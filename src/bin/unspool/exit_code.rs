//! The exit codes, and which error has which.

use unspool::error::{Error, ErrorKind};

/// Everything went well, or something was found.
pub(crate) const OK: u8 = 0;
/// Nothing was found.
pub(crate) const NOTHING: u8 = 1;
/// The command was wrong, or something else failed.
pub(crate) const FAILED: u8 = 2;
/// The work is done, but some of it could not be.
pub(crate) const PROBLEMS: u8 = 3;
/// The index cannot be used.
pub(crate) const UNUSABLE: u8 = 4;
/// Somebody else is at it.
pub(crate) const BUSY: u8 = 5;
/// No space, or no permission.
pub(crate) const NO_SPACE: u8 = 6;
/// Stopped by the user.
pub(crate) const INTERRUPTED: u8 = 130;

/// The exit code for an error.
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
