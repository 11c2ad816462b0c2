//! Reads the documents of hits.

use std::time::Instant;

use rayon::prelude::*;

use crate::document::{Document, Kind};
use crate::error::Result;
use crate::index::file_key::FileKey;
use crate::index::rank::collect::RawHit;
use crate::index::read::Reader;

/// Texts that one thread reads before it looks for more.
const CHUNK: usize = 32;

impl Reader {
    /// Returns the documents of hits, and the files they were read from.
    pub fn fetch_all(&self, hits: &[RawHit]) -> Result<Vec<(FileKey, Document)>> {
        hits.iter().map(|hit| self.fetch(hit)).collect()
    }

    /// Asks something of the text of each hit, as far as time allows; tells hits by their groups. Texts are read in the
    /// order in which they are kept, as many stand in each piece that is unpacked.
    pub fn read_each(
        &self,
        hits: &[RawHit],
        deadline: Instant,
        ask: impl Fn(&str) -> bool + Sync,
    ) -> Result<Vec<(u64, bool)>> {
        let mut hits: Vec<&RawHit> = hits.iter().collect();
        hits.sort_unstable_by_key(|hit| hit.address);
        let read = |hits: &[&RawHit]| -> Result<Vec<(u64, bool)>> {
            let in_time = hits.iter().take_while(|_| Instant::now() < deadline);
            in_time.map(|hit| Ok((hit.group, ask(&self.document(hit.address)?.text)))).collect()
        };
        let pieces = hits.par_chunks(CHUNK).map(read).collect::<Result<Vec<_>>>()?;
        Ok(pieces.concat())
    }

    /// The document of a hit, and the file it was read from.
    pub fn fetch(&self, found: &RawHit) -> Result<(FileKey, Document)> {
        let (key, mut document) = self.fetch_at(found.address)?;
        if document.kind == Kind::Title
            && let Some(Some(session)) = self.guarded(|| self.named_session(found.address))?
        {
            document.session = session;
        }
        Ok((key, document))
    }

    /// The documents just before and just behind a hit in its file, in order.
    pub fn neighbours(&self, found: &RawHit, before: usize, after: usize) -> Result<(Vec<Document>, Vec<Document>)> {
        let all = self.in_order(self.source_of(found.address)?)?;
        let Some(at) = all.iter().position(|address| *address == found.address) else {
            return Ok((Vec::new(), Vec::new()));
        };
        let behind = self.documents(&all[at.saturating_sub(before)..at])?;
        let ahead = self.documents(&all[at + 1..all.len().min(at + 1 + after)])?;
        Ok((behind, ahead))
    }
}
