//! Files that Claude Code has deleted: finds the files that vanished since the last run, and decides whether to believe
//! it.

use std::collections::HashSet;

use crate::error::{Problem, Result};
use crate::index::{Checkpoint, FileKey, Known, Reader};
use crate::transcript::discover::{Root, Scan};

/// Returns the checkpoints of files that existed in the last run and are missing now.
pub(super) fn vanished(reader: &Reader, known: &Known, scan: &Scan) -> Result<Vec<Checkpoint>> {
    let scanned: HashSet<FileKey> = scan.sources.iter().map(|source| FileKey::of(&source.path)).collect();
    let mut vanished = Vec::new();
    for key in known.present().filter(|key| !scanned.contains(key)) {
        vanished.extend(reader.last_checkpoint(key)?);
    }
    vanished.sort_by_key(Checkpoint::path);
    Ok(vanished)
}

/// Returns the vanished files that are gone, with problems. Files in folders that could not be listed do not count. If
/// suspiciously many files are missing, none counts, unless the user has confirmed it.
pub(super) fn gone_files(
    vanished: Vec<Checkpoint>,
    known: &Known,
    scan: &Scan,
    roots: &[Root],
    confirm: bool,
) -> (Vec<Checkpoint>, Vec<Problem>) {
    let mut problems = Vec::new();
    let (not_listed, gone): (Vec<_>, Vec<_>) =
        vanished.into_iter().partition(|before| scan.is_blind_to(&before.path()));
    for root in roots.iter().filter(|root| !root.required) {
        if scan.unlisted.contains(&root.path) && not_listed.iter().any(|before| before.path().starts_with(&root.path)) {
            problems.push(Problem::with_path(&root.path, "source root is missing; its indexed sessions are kept"));
        }
    }
    match doubt(gone.len(), known.present().count(), roots).filter(|_| !confirm) {
        Some(problem) => {
            problems.push(problem);
            (Vec::new(), problems)
        }
        None => (gone, problems),
    }
}

/// Returns a problem if too many files have vanished at once to believe that they are gone.
pub(super) fn doubt(gone: usize, present: usize, roots: &[Root]) -> Option<Problem> {
    let reason = format!(
        "{gone} of {present} indexed files vanished at once; they stay searchable and are not marked as deleted \
         (if this is expected, run `unspool index --confirm`)"
    );
    let place = roots.first().map(|root| root.path.clone()).unwrap_or_default();
    (gone * 2 > present).then(|| Problem::with_path(place, reason))
}
