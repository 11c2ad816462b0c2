//! The checkpoint and the summary of each indexed file.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;
use tantivy::{DocAddress, Term};

use crate::error::Result;
use crate::index::checkpoint::{Checkpoint, FORGOTTEN, Known};
use crate::index::file_key::FileKey;
use crate::index::file_summary::FileSummary;
use crate::index::read::{Reader, holding};
use crate::index::schema::{CHECKPOINT_KIND, MAIN_FILE};

/// Number of checkpoints that a thread reads at a time.
const CHUNK: usize = 32;

impl Reader {
    /// Returns the state hash of every indexed file.
    pub fn known(&self) -> Result<Known> {
        self.guarded(|| {
            let mut known = HashMap::new();
            let checkpoints = Term::from_field_text(self.fields.kind, CHECKPOINT_KIND);
            for reader in self.searcher.segment_readers() {
                let keys = reader.fast_fields().u64("group")?;
                let stats = reader.fast_fields().u64("stat")?;
                for doc in holding(reader, &checkpoints)? {
                    if let (Some(key), Some(stat)) = (keys.first(doc), stats.first(doc)) {
                        // Two checkpoints of one file contradict each other, so the file counts as never read.
                        known.entry(FileKey::from_number(key)).and_modify(|known| *known = 0).or_insert(stat);
                    }
                }
            }
            Ok(Known(known))
        })
    }

    /// Returns the checkpoint of a file. `None` if it was not read, or if its checkpoint is damaged or not unique.
    pub fn checkpoint(&self, key: FileKey) -> Result<Option<Checkpoint>> {
        let found = self.with_term(&Term::from_field_text(self.fields.checkpoint, &key.text()))?;
        match found.as_slice() {
            [address] => Ok(self.checkpoint_at(*address).ok()),
            _ => Ok(None),
        }
    }

    /// Returns the checkpoint of a file that can no longer be read. If several contradict each other, returns the one
    /// that covers most of the file.
    pub fn last_checkpoint(&self, key: FileKey) -> Result<Option<Checkpoint>> {
        let found = self.with_term(&Term::from_field_text(self.fields.checkpoint, &key.text()))?;
        let read = found.into_iter().filter_map(|address| self.checkpoint_at(address).ok());
        Ok(read.max_by_key(|checkpoint| (checkpoint.offset, checkpoint.state.documents)))
    }

    /// Returns the checkpoints of all files, sorted by path.
    pub fn checkpoints(&self) -> Result<Vec<Checkpoint>> {
        let kind = self.schema.get_field("kind").unwrap_or(self.fields.kind);
        let addresses = self.with_term(&Term::from_field_text(kind, CHECKPOINT_KIND))?;
        let read = |chunk: &[DocAddress]| chunk.iter().map(|at| self.checkpoint_at(*at)).collect::<Result<Vec<_>>>();
        let chunks = addresses.par_chunks(CHUNK).map(read).collect::<Result<Vec<_>>>()?;
        let mut all: Vec<Checkpoint> = chunks.into_iter().flatten().collect();
        all.sort_by_cached_key(Checkpoint::path);
        Ok(all)
    }

    /// Returns the summary of a file. `None` if it was not read, or if its checkpoint is not unique.
    pub fn summary(&self, key: FileKey) -> Result<Option<FileSummary>> {
        let found = self.with_term(&Term::from_field_text(self.fields.checkpoint, &key.text()))?;
        match found.as_slice() {
            [address] => self.summary_at(*address).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns the summary that represents a session: that of its own transcript, or of another of its files if it has
    /// none.
    pub fn session_summary(&self, session: &str) -> Result<Option<FileSummary>> {
        let of_session = Term::from_field_text(self.fields.session, session);
        let main = Term::from_field_text(self.fields.flag, MAIN_FILE);
        let any = Term::from_field_text(self.fields.kind, CHECKPOINT_KIND);
        for term in [main, any] {
            let found = self.guarded(|| self.with_both(&of_session, &term))?;
            if !found.is_empty() {
                let summaries = found.into_iter().map(|at| self.summary_at(at)).collect::<Result<Vec<_>>>()?;
                return Ok(summaries.into_iter().min_by_key(FileSummary::rank));
            }
        }
        Ok(None)
    }

    /// Returns the sessions that the user removed from the index for good.
    pub fn forgotten_sessions(&self) -> Result<HashSet<String>> {
        let known = self.known()?;
        let mut sessions = HashSet::new();
        for (key, _) in known.0.iter().filter(|(_, stat)| **stat == FORGOTTEN) {
            for address in self.with_term(&Term::from_field_text(self.fields.checkpoint, &key.text()))? {
                sessions.insert(self.checkpoint_at(address)?.session_id().to_string());
            }
        }
        Ok(sessions)
    }
}
