//! Reads the documents of hits, and the documents around them.

use std::time::Instant;

use rayon::prelude::*;

use crate::document::{Document, Kind};
use crate::error::Result;
use crate::index::file_key::FileKey;
use crate::index::rank::collect::RawHit;
use crate::index::read::Reader;
use crate::index::read::outline::Spot;
use crate::index::schema::from_class;

/// The number of texts that one thread reads at a time.
const CHUNK: usize = 32;

/// The place of a hit in the index, with the facts that are known without reading its document.
#[derive(Clone, Copy, Debug)]
pub struct HitSpot {
    /// Its file.
    pub file: FileKey,
    /// Its document.
    pub spot: Spot,
    /// The kind of document.
    pub kind: Kind,
    /// Time in milliseconds since 1970.
    pub time: Option<i64>,
}

impl Reader {
    /// Returns where hits are stored.
    pub fn spots(&self, hits: &[RawHit]) -> Result<Vec<HitSpot>> {
        let spot = |hit: &RawHit| {
            let time = Some(hit.time).filter(|time| *time != i64::MAX);
            let (_, kind, _) = from_class(hit.class);
            Ok(HitSpot { file: self.source_of(hit.address)?, spot: Spot(hit.address), kind, time })
        };
        hits.iter().map(spot).collect()
    }

    /// Returns the documents of hits, and the files they were read from.
    pub fn fetch_all(&self, hits: &[RawHit]) -> Result<Vec<(FileKey, Document)>> {
        hits.iter().map(|hit| self.fetch(hit)).collect()
    }

    /// Tests the text of each hit until the deadline. Returns the groups of the tested hits with the results. Reads
    /// texts in storage order, because many texts share one compressed block.
    pub fn read_each(
        &self,
        hits: &[RawHit],
        deadline: Instant,
        test: impl Fn(&str) -> bool + Sync,
    ) -> Result<Vec<(u64, bool)>> {
        let mut hits: Vec<&RawHit> = hits.iter().collect();
        hits.sort_unstable_by_key(|hit| hit.address);
        let read = |hits: &[&RawHit]| -> Result<Vec<(u64, bool)>> {
            let in_time = hits.iter().take_while(|_| Instant::now() < deadline);
            in_time.map(|hit| Ok((hit.group, test(&self.document(hit.address)?.text)))).collect()
        };
        let chunks = hits.par_chunks(CHUNK).map(read).collect::<Result<Vec<_>>>()?;
        Ok(chunks.concat())
    }

    /// Returns the document of a hit, and the file it was read from.
    pub fn fetch(&self, hit: &RawHit) -> Result<(FileKey, Document)> {
        let (key, mut document) = self.fetch_at(hit.address)?;
        if document.kind == Kind::Title
            && let Some(Some(session)) = self.guarded(|| self.named_session(hit.address))?
        {
            document.session = session;
        }
        Ok((key, document))
    }

    /// Returns up to `before` documents before a hit in its file and up to `after` documents after it, in order.
    pub fn neighbours(&self, hit: &RawHit, before: usize, after: usize) -> Result<(Vec<Document>, Vec<Document>)> {
        let all = self.in_order(self.source_of(hit.address)?)?;
        let Some(at) = all.iter().position(|address| *address == hit.address) else {
            return Ok((Vec::new(), Vec::new()));
        };
        let earlier = self.documents(&all[at.saturating_sub(before)..at])?;
        let later = self.documents(&all[at + 1..all.len().min(at + 1 + after)])?;
        Ok((earlier, later))
    }
}
