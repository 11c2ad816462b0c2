//! Checks the index: its files against their checksums, and what was read of each transcript against the transcript.

use serde::Serialize;

use crate::error::{Problem, Result};
use crate::index::{Checkpoint, Reader};
use crate::transcript::discover::SourceKind;
use crate::transcript::lines::Transcript;

/// The result of a check of an index.
#[derive(Debug, Default, Serialize)]
pub struct Verdict {
    /// The number of files compared with their checkpoints.
    pub files: usize,
    /// The number of documents counted.
    pub documents: u64,
    /// The mismatches.
    pub problems: Vec<Problem>,
}

/// Checks an index: its files against their checksums, its documents against the checkpoints, and what was read of each
/// transcript against the transcript. With `deep`, checks every byte of the transcripts and every stored document.
pub(super) fn verify(reader: &Reader, deep: bool) -> Result<Verdict> {
    reader.check_sums()?;
    let mut verdict = Verdict::default();
    for file in reader.checkpoints()? {
        verdict.files += 1;
        let documents = reader.count_of(file.key())?;
        verdict.documents += documents;
        let title = u64::from(!file.forgotten && file.state.title().is_some());
        let expected = file.state.documents + title;
        if documents != expected {
            let reason = format!(
                "the index contains {documents} documents of it instead of {expected}; run `unspool index --rebuild`"
            );
            verdict.problems.push(Problem::with_path(file.path(), reason));
        }
        if file.gone_since.is_none() && !file.forgotten {
            verdict.problems.extend(compare(&file, deep));
        }
    }
    // Messages of subagents that were seen in a parent's transcript may be removed at any time, so no checkpoint counts
    // them.
    let seen = reader.count_seen()?;
    verdict.documents += seen;
    let (known, all) = (verdict.documents, reader.size()?.documents);
    if known != all {
        let reason =
            format!("contains {all} documents, but its files account for {known}; run `unspool index --rebuild`");
        verdict.problems.push(Problem::with_path(reader.directory(), reason));
    }
    Ok(verdict)
}

/// Compares what was read of a file with the file on disk.
fn compare(file: &Checkpoint, deep: bool) -> Option<Problem> {
    let path = file.path();
    // The next index run will handle a file that no longer exists or is shorter.
    let mut transcript = Transcript::open(&path).ok().filter(|transcript| transcript.stat.size >= file.offset)?;
    let is_same = if deep && file.source_kind() != SourceKind::Spill {
        transcript.checksum(file.offset).map(|checksum| checksum == file.checksum)
    } else if file.source_kind() == SourceKind::Spill {
        Ok(true)
    } else {
        transcript.ends(file.offset).map(|mut ends| ends.fingerprint() == (file.head, file.tail))
    };
    match is_same {
        Ok(true) => None,
        Ok(false) => Some(Problem::with_path(
            path,
            "was changed, but its size and time were not; run `touch` on it, then `unspool index`",
        )),
        Err(error) => Some(Problem::with_path(path, error.to_string())),
    }
}
