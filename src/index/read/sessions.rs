//! Lists the sessions of an index without reading the checkpoints of all their files.

use std::cmp::Reverse;
use std::collections::HashSet;

use tantivy::columnar::Column;
use tantivy::{DocAddress, DocId, Term};

use crate::error::Result;
use crate::index::checkpoint::Checkpoint;
use crate::index::hash_map::HashMap64;
use crate::index::read::{Reader, holding};
use crate::index::schema::{CHECKPOINT_KIND, LISTED, continued_in, session_key};

/// The files of a session.
#[derive(Clone, Debug)]
pub struct SessionFiles {
    /// The number that identifies the session in hits.
    pub session: u64,
    /// The latest time in any of its files.
    pub last: Option<i64>,
    /// Set if one of its files makes it worth listing.
    pub is_listed: bool,
    checkpoints: Vec<DocAddress>,
}

impl Reader {
    /// Returns all sessions that have files, the latest first.
    pub fn sessions_by_end(&self) -> Result<Vec<SessionFiles>> {
        let mut sessions: HashMap64<SessionFiles> = HashMap64::default();
        let checkpoints = Term::from_field_text(self.fields.kind, CHECKPOINT_KIND);
        let listed = Term::from_field_text(self.fields.flag, LISTED);
        self.guarded(|| {
            for (segment, reader) in (0..).zip(self.searcher.segment_readers()) {
                let columns = reader.fast_fields();
                let (keys, times): (Column<u64>, Column<i64>) = (columns.u64("session_key")?, columns.i64("time")?);
                let listed: HashSet<DocId> = holding(reader, &listed)?.into_iter().collect();
                for doc in holding(reader, &checkpoints)? {
                    let Some(session) = keys.first(doc) else { continue };
                    let files = sessions.entry(session).or_insert_with(|| SessionFiles {
                        session,
                        last: None,
                        is_listed: false,
                        checkpoints: Vec::new(),
                    });
                    files.last = files.last.max(times.first(doc));
                    files.is_listed |= listed.contains(&doc);
                    files.checkpoints.push(DocAddress::new(segment, doc));
                }
            }
            Ok(())
        })?;
        // The prompt history has a checkpoint, but belongs to no session.
        sessions.remove(&session_key(""));
        let mut sessions: Vec<SessionFiles> = sessions.into_values().collect();
        sessions.sort_unstable_by_key(|files| (Reverse(files.last), files.session));
        Ok(sessions)
    }

    /// Returns the checkpoints of the files of a session, sorted by path.
    pub fn checkpoints_of(&self, files: &SessionFiles) -> Result<Vec<Checkpoint>> {
        let mut found = files.checkpoints.iter().map(|at| self.checkpoint_at(*at)).collect::<Result<Vec<_>>>()?;
        found.sort_by_cached_key(Checkpoint::path);
        Ok(found)
    }

    /// Returns the session whose transcript says that this one continues it.
    pub fn continued_session(&self, session: &str) -> Result<Option<String>> {
        let earlier = self.with_term(&Term::from_field_text(self.fields.flag, &continued_in(session)))?;
        let earlier = earlier.into_iter().map(|at| Ok(self.checkpoint_at(at)?.session_id().to_string()));
        Ok(earlier.collect::<Result<Vec<String>>>()?.into_iter().max())
    }
}
