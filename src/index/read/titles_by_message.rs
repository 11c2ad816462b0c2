//! Titles that name a message instead of a session.

use tantivy::{DocAddress, Term};

use crate::document::Kind;
use crate::error::Result;
use crate::index::hash_map::HashMap64;
use crate::index::read::{Reader, holding};

impl Reader {
    /// Returns titles that other files give to a session by naming a message that the session has too. The latest comes
    /// last, regardless of the position in the index.
    pub fn titles_by_leaf(&self, session: &str) -> Result<Vec<String>> {
        let leaves = match self.leaves.get() {
            Some(leaves) => leaves,
            None => {
                let found = self.find_leaves()?;
                self.leaves.get_or_init(|| found)
            }
        };
        if leaves.is_empty() {
            return Ok(Vec::new());
        }
        let mut found = self.guarded(|| {
            let mut found = Vec::new();
            let term = Term::from_field_text(self.fields.session, session);
            for (ord, reader) in self.searcher.segment_readers().iter().enumerate() {
                let groups = &self.columns(ord as u32)?.group;
                let titles_of = |doc| groups.first(doc).and_then(|group| leaves.get(&group));
                found.extend(holding(reader, &term)?.into_iter().filter_map(titles_of).flatten());
            }
            Ok(found)
        })?;
        found.sort_unstable();
        found.dedup();
        let mut titles = self.documents(&found)?;
        titles.sort_by(|a, b| (a.timestamp, a.line, &a.text).cmp(&(b.timestamp, b.line, &b.text)));
        Ok(titles.into_iter().map(|document| document.text).collect())
    }

    /// Returns the session of a title that identifies its session by a message. The outer `None` means that the title
    /// does not name a message, the inner one that the message is unknown.
    pub(in crate::index) fn named_session(&self, address: DocAddress) -> tantivy::Result<Option<Option<String>>> {
        let column = self.searcher.segment_reader(address.segment_ord).fast_fields().u64("leaf")?;
        if column.first(address.doc_id).is_none() {
            return Ok(None);
        }
        let leaf = self.document(address).ok().and_then(|title| title.title_leaf.map(|leaf| (leaf, title.session)));
        let line = leaf.and_then(|(leaf, session)| self.by_uuid(&leaf, &session).ok().flatten());
        Ok(Some(line.map(|line| line.session)))
    }

    /// Finds all titles that identify their session by a message, keyed by that message.
    fn find_leaves(&self) -> Result<HashMap64<Vec<DocAddress>>> {
        let titles = self.with_term(&Term::from_field_text(self.fields.kind, Kind::Title.name()))?;
        self.guarded(|| {
            let mut leaves: HashMap64<Vec<DocAddress>> = HashMap64::default();
            for segment in titles.chunk_by(|a, b| a.segment_ord == b.segment_ord) {
                let column = self.searcher.segment_reader(segment[0].segment_ord).fast_fields().u64("leaf")?;
                for (leaf, at) in segment.iter().filter_map(|at| Some((column.first(at.doc_id)?, *at))) {
                    leaves.entry(leaf).or_default().push(at);
                }
            }
            Ok(leaves)
        })
    }
}
