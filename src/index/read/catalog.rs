//! Lists the files of an index from its columns and terms alone, for an index whose store files are damaged.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use tantivy::columnar::StrColumn;
use tantivy::{DocId, Term};

use crate::error::Result;
use crate::index::checkpoint::FORGOTTEN;
use crate::index::file_key::FileKey;
use crate::index::file_summary::FileSummary;
use crate::index::read::{Reader, holding};
use crate::index::schema::{CHECKPOINT_KIND, session_key, title_term};

/// A file, as the columns of an index describe it.
#[derive(Clone, Debug)]
pub(in crate::index) struct CatalogEntry {
    pub(in crate::index) key: FileKey,
    pub(in crate::index) summary: FileSummary,
    /// The session of the file. Empty if it is unknown.
    pub(in crate::index) session: String,
    /// Set if the user removed the file from the index for good.
    pub(in crate::index) is_forgotten: bool,
    /// Number of documents, without copies of subagents' messages and without the title of the session.
    pub(in crate::index) documents: u64,
}

impl Reader {
    /// Lists all files without reading the store.
    pub(in crate::index) fn catalog(&self) -> Result<Vec<CatalogEntry>> {
        let mut entries = self.guarded(|| self.catalog_entries())?;
        for entry in &mut entries {
            let title = Term::from_field_text(self.fields.checkpoint, &title_term(entry.key));
            let titles = self.with_term(&title)?.len() as u64;
            entry.documents = self.count_of(entry.key)?.saturating_sub(titles);
        }
        Ok(entries)
    }

    /// Returns the summaries of all files.
    pub fn summaries(&self) -> Result<Vec<FileSummary>> {
        Ok(self.guarded(|| self.catalog_entries())?.into_iter().map(|entry| entry.summary).collect())
    }

    /// Returns the id of each session and the summary that represents it, by the key of the session.
    pub fn session_summaries(&self) -> Result<HashMap<u64, (String, FileSummary)>> {
        let mut sessions: HashMap<u64, (String, FileSummary)> = HashMap::new();
        for entry in self.guarded(|| self.catalog_entries())? {
            let found = (entry.session, entry.summary);
            match sessions.entry(session_key(&found.0)) {
                Entry::Vacant(slot) => drop(slot.insert(found)),
                Entry::Occupied(mut known) if found.1.rank() < known.get().1.rank() => drop(known.insert(found)),
                Entry::Occupied(_) => {}
            }
        }
        Ok(sessions)
    }

    fn catalog_entries(&self) -> tantivy::Result<Vec<CatalogEntry>> {
        let sessions = self.session_names()?;
        let checkpoints = Term::from_field_text(self.fields.kind, CHECKPOINT_KIND);
        let mut entries = Vec::new();
        for reader in self.searcher.segment_readers() {
            let columns = reader.fast_fields();
            let (keys, stats) = (columns.u64("group")?, columns.u64("stat")?);
            let (session_keys, summaries) = (columns.u64("session_key")?, columns.str("summary")?);
            let Some(summaries) = summaries else { continue };
            for (doc, summary) in summaries_in(&summaries, holding(reader, &checkpoints)?)? {
                // A summary that does not belong to the key is damaged.
                if keys.first(doc) != Some(summary.key().number()) {
                    continue;
                }
                let session = session_keys.first(doc).and_then(|key| sessions.get(&key)).cloned().unwrap_or_default();
                let is_forgotten = stats.first(doc) == Some(FORGOTTEN);
                entries.push(CatalogEntry { key: summary.key(), summary, session, is_forgotten, documents: 0 });
            }
        }
        Ok(entries)
    }

    /// Returns the ids of all sessions, by the hash that columns contain.
    fn session_names(&self) -> tantivy::Result<HashMap<u64, String>> {
        let mut names = HashMap::new();
        for reader in self.searcher.segment_readers() {
            let index = reader.inverted_index(self.fields.session)?;
            let mut terms = index.terms().stream()?;
            while terms.advance() {
                let name = String::from_utf8_lossy(terms.key()).into_owned();
                names.insert(session_key(&name), name);
            }
        }
        Ok(names)
    }
}

/// Returns the summaries of documents that have a readable one. Reads them in the order of the column's dictionary: to
/// look up one at a time takes ten times as long.
fn summaries_in(column: &StrColumn, docs: Vec<DocId>) -> tantivy::Result<Vec<(DocId, FileSummary)>> {
    let ordinal = |doc: DocId| column.term_ords(doc).next().map(|ordinal| (ordinal, doc));
    let mut places: Vec<(u64, DocId)> = docs.into_iter().filter_map(ordinal).collect();
    places.sort_unstable();
    let ordinals: Vec<u64> = places.iter().map(|(ordinal, _)| *ordinal).collect();
    let mut next = places.into_iter();
    let mut found = Vec::with_capacity(ordinals.len());
    column.dictionary().sorted_ords_to_term_cb(&ordinals, |json| {
        let doc = next.next().map(|(_, doc)| doc);
        found.extend(doc.zip(serde_json::from_slice(json).ok()));
    })?;
    Ok(found)
}
