//! Messages that were lost with damaged files of the index, recorded next to the index until the user acknowledges
//! them.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::index::disk::fs;
use crate::untrusted::one_line;

/// Messages of one transcript that were lost with damaged files of the index.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct Loss {
    /// The session. Empty if it is unknown.
    pub session: String,
    /// The transcript, which no longer exists; or the damaged index, if it is unknown which transcripts are affected.
    pub path: String,
    /// Number of messages lost. `None` if it is unknown.
    pub lost: Option<u64>,
    /// Number of messages before the damage. If `lost` is unknown, the number of messages that were kept.
    pub of: u64,
    /// Time at which the damage was repaired, in milliseconds since 1970.
    pub when: i64,
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.lost {
            Some(lost) => write!(f, "{lost} of {} messages", self.of)?,
            None => write!(f, "some messages besides the {} that were kept", self.of)?,
        }
        if !self.session.is_empty() {
            write!(f, " of session {}", one_line(&self.session))?;
        }
        write!(f, " ({})", one_line(&self.path))
    }
}

/// Reads the recorded losses. A file that cannot be read counts as empty.
pub(in crate::index) fn read(path: &Path) -> Vec<Loss> {
    let bytes = std::fs::read(path).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Adds losses to the recorded ones. A loss that is recorded already is not added again.
pub(in crate::index) fn record(path: &Path, losses: &[Loss]) -> Result<()> {
    let mut all = read(path);
    let before = all.len();
    for loss in losses {
        let is_same = |other: &Loss| (&other.path, other.lost, other.of) == (&loss.path, loss.lost, loss.of);
        if !all.iter().any(is_same) {
            all.push(loss.clone());
        }
    }
    if all.len() == before {
        return Ok(());
    }
    let text = serde_json::to_vec_pretty(&all).unwrap_or_default();
    fs::put_file(path, &text).map_err(|error| Error::io("write", path, error))
}

/// Removes the record.
pub(in crate::index) fn clear(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", path, error)),
        _ => Ok(()),
    }
}
