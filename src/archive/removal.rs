//! Permanent removal from the index: `forget` removes a session and keeps it out, `prune` removes what Claude Code has
//! deleted.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::document::Kind;
use crate::error::{Error, ErrorKind, Result};
use crate::index::{Checkpoint, FileKey, IndexFolder, LockedFolder, Reader, RunSize};
use crate::transcript::discover::SourceKind;

/// The result of a removal from an index.
#[derive(Debug, Default, Serialize)]
pub struct Removed {
    /// The files whose documents were removed.
    pub files: Vec<PathBuf>,
    /// The number of documents that were removed.
    pub documents: u64,
}

/// Returns the files that Claude Code has deleted, so that only the index has them.
pub(super) fn gone(reader: &Reader) -> Result<Removed> {
    let mut removed = Removed::default();
    for file in reader.checkpoints()?.into_iter().filter(|file| file.gone_since.is_some() && !file.forgotten) {
        removed.documents += reader.count_of(file.key())?;
        removed.files.push(file.path());
    }
    Ok(removed)
}

/// Removes the documents of deleted files from the index.
pub(super) fn prune(store: &IndexFolder, wait: Duration) -> Result<Removed> {
    let locked = store.lock(wait)?;
    prune_locked(store, &locked).inspect_err(|_| locked.tidy())
}

fn prune_locked(store: &IndexFolder, locked: &LockedFolder<'_>) -> Result<Removed> {
    let Some(reader) = store.read()? else { return Ok(Removed::default()) };
    let removed = gone(&reader)?;
    if removed.files.is_empty() {
        return Ok(removed);
    }
    let writer = locked.write(RunSize::Small)?;
    for file in &removed.files {
        let key = FileKey::of(file);
        writer.forget_documents(key)?;
        writer.forget_checkpoint(key)?;
    }
    writer.commit_and_squeeze()?;
    locked.discard_aside()?;
    Ok(removed)
}

/// Returns the id of the only session that begins with `prefix`, and its files.
pub(super) fn session_files(reader: &Reader, prefix: &str) -> Result<(String, Removed)> {
    let files = reader.checkpoints()?;
    let in_history = reader.documents_of_kind(Kind::History)?;
    let known = files.iter().map(Checkpoint::session_id);
    let known = known.chain(in_history.iter().map(|(_, document)| document.session.as_str()));
    let mut ids: Vec<&str> = known.filter(|id| !id.is_empty() && id.starts_with(prefix)).collect();
    ids.sort_unstable();
    ids.dedup();
    let id = match ids.as_slice() {
        [id] => (*id).to_string(),
        [] => return Err(Error::new(ErrorKind::Usage, format!("no session begins with \"{prefix}\""))),
        many if many.contains(&prefix) => prefix.to_string(),
        many => {
            return Err(Error::new(ErrorKind::Usage, format!("{} sessions begin with \"{prefix}\"", many.len()))
                .hint("give more of the id"));
        }
    };
    let of_history = in_history.iter().filter(|(_, document)| document.session == id).count();
    let mut removed = Removed { documents: of_history as u64, ..Removed::default() };
    for file in files.into_iter().filter(|file| file.session_id() == id && !file.forgotten) {
        removed.documents += reader.count_of(file.key())?;
        removed.files.push(file.path());
    }
    Ok((id, removed))
}

/// Removes a session from the index, including its text in the index files, and keeps it out.
pub(super) fn forget(store: &IndexFolder, session: &str, wait: Duration) -> Result<Removed> {
    let locked = store.lock(wait)?;
    forget_locked(store, &locked, session).inspect_err(|_| locked.tidy())
}

fn forget_locked(store: &IndexFolder, locked: &LockedFolder<'_>, session: &str) -> Result<Removed> {
    let reader = store.read()?.ok_or_else(|| Error::new(ErrorKind::Unusable, "there is no index yet"))?;
    let (_, removed) = session_files(&reader, session)?;
    let writer = locked.write(RunSize::Small)?;
    writer.forget_session(session)?;
    // Include files that were forgotten before: `forget_session` has also removed the checkpoints that keep them out.
    for file in reader.checkpoints()?.into_iter().filter(|file| file.session_id() == session) {
        writer.forget_documents(file.key())?;
        writer.checkpoint(&file.forgotten(), None, true)?;
    }
    for mut history in reader.checkpoints()?.into_iter().filter(|file| file.source_kind() == SourceKind::History) {
        if removed.files.is_empty() {
            writer.checkpoint(&Checkpoint::forgotten_in(&history, session), None, true)?;
        }
        history.state.documents -= reader.count_in_session(history.key(), session)?;
        writer.checkpoint(&history, None, true)?;
    }
    // Recorded first: if the index is damaged later, this still keeps the session out.
    locked.record_forgotten(&HashSet::from([session.to_string()]))?;
    writer.commit_and_squeeze()?;
    locked.discard_aside()?;
    Ok(removed)
}
