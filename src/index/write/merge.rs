//! Chooses the segments to merge: few enough remain for fast searches, and no merge is so large that memory grows.

use std::path::{Path, PathBuf};

use tantivy::SegmentMeta;
use tantivy::index::{SegmentComponent, SegmentId};
use tantivy::indexer::{MergeCandidate, MergePolicy};

/// Largest segment that a merge makes, in documents. A merge keeps their terms and columns in memory.
const MERGED_CAP: u32 = 300_000;
/// This many bytes of distinct terms count as one document. Real sessions have a quarter of that. Merging 1 GB of
/// random words into one segment took 1.3 GB of memory.
const TERM_BYTES: u64 = 200;
/// A segment is rewritten if more than this share of it is deleted.
const DELETED_SHARE: f64 = 0.5;
/// If a large run ends with more segments than this, they are merged. Each segment costs every search about a third of
/// a millisecond. Merging the segments of 1 GB takes a sixth of the time to build them, once.
const MAX_SEGMENTS: usize = 3;
/// A merge leaves at least this many segments, as a search looks through them in parallel. With one segment instead of two,
/// a query of five words on 1 GB takes 1.3 times as long.
const PARALLEL: u32 = 2;
/// A segment this many times smaller than the largest one is not worth its own files.
const TINY_RATIO: u32 = 4;
/// Tiers of segment sizes: the upper bound, and the number of segments in the tier that triggers a merge.
const TIERS: [(u32, usize); 3] = [(4_000, 6), (20_000, 8), (MERGED_CAP, 10)];

/// Merges segments of similar size when there are too many of them, the smallest first.
#[derive(Clone, Debug)]
pub(in crate::index) struct Tiers {
    folder: PathBuf,
}

impl Tiers {
    pub(in crate::index) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf() }
    }
}

impl MergePolicy for Tiers {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let sizes = by_size(&self.folder, segments);
        let mut candidates = Vec::new();
        let mut floor = 0;
        for (ceiling, most) in TIERS {
            let tier: Vec<&(u32, &SegmentMeta)> =
                sizes.iter().filter(|(size, _)| (floor..ceiling).contains(size)).collect();
            if tier.len() >= most {
                candidates.push(MergeCandidate(fitting(&tier)));
            } else {
                let mostly_deleted = tier.iter().filter(|(_, segment)| is_mostly_deleted(segment));
                candidates.extend(mostly_deleted.map(|(_, segment)| MergeCandidate(vec![segment.id()])));
            }
            floor = ceiling;
        }
        candidates.retain(|candidate| !candidate.0.is_empty());
        candidates
    }
}

/// Chooses the merges at the end of a large run. If there are few segments, only the tiny ones are merged, or nothing.
pub(in crate::index) fn at_end(folder: &Path, segments: &[SegmentMeta]) -> Vec<Vec<SegmentId>> {
    let sizes = by_size(folder, segments);
    let tiny = tiny(&sizes);
    if segments.len() - tiny.len() > MAX_SEGMENTS {
        return groups(&sizes);
    }
    [tiny].into_iter().filter(|tiny| !tiny.is_empty()).collect()
}

/// Divides small segments into groups. Each group becomes one segment.
fn groups(sizes: &[(u32, &SegmentMeta)]) -> Vec<Vec<SegmentId>> {
    let small = || sizes.iter().filter(|(size, _)| *size <= MERGED_CAP / 2);
    let total = small().fold(0u32, |total, (size, _)| total.saturating_add(*size));
    let count = total.div_ceil(MERGED_CAP).max(PARALLEL);
    // Segments of uneven size never fill a group exactly.
    let capacity = (total / count + small().next_back().map_or(0, |(largest, _)| *largest)).min(MERGED_CAP);
    let mut groups: Vec<(u32, Vec<SegmentId>)> = Vec::new();
    for (size, segment) in small() {
        match groups.last_mut() {
            Some((filled, group)) if *filled + size <= capacity => {
                *filled += size;
                group.push(segment.id());
            }
            _ => groups.push((*size, vec![segment.id()])),
        }
    }
    groups.into_iter().map(|(_, group)| group).filter(|group| group.len() > 1).collect()
}

/// Returns segments that are tiny compared to the largest, as many as can become one.
fn tiny(sizes: &[(u32, &SegmentMeta)]) -> Vec<SegmentId> {
    let largest = sizes.last().map_or(0, |(size, _)| *size);
    fitting(&sizes.iter().filter(|(size, _)| *size <= largest / TINY_RATIO).collect::<Vec<_>>())
}

/// Returns the segments with their sizes, the smallest first.
fn by_size<'a>(folder: &Path, segments: &'a [SegmentMeta]) -> Vec<(u32, &'a SegmentMeta)> {
    let mut sizes: Vec<_> = segments.iter().map(|segment| (size(folder, segment), segment)).collect();
    sizes.sort_by_key(|(size, segment)| (*size, segment.id()));
    sizes
}

/// Returns the size of a segment: its documents, or its bytes of distinct terms divided by [`TERM_BYTES`], whichever is
/// more.
fn size(folder: &Path, segment: &SegmentMeta) -> u32 {
    let terms = folder.join(segment.relative_path(SegmentComponent::Terms));
    let bytes = std::fs::metadata(terms).map_or(0, |file| file.len());
    segment.num_docs().max(u32::try_from(bytes / TERM_BYTES).unwrap_or(u32::MAX / 2))
}

/// Returns the smallest segments of a tier that together stay below the cap.
fn fitting(tier: &[&(u32, &SegmentMeta)]) -> Vec<SegmentId> {
    let mut total = 0;
    let fits = tier.iter().take_while(|(size, _)| {
        total = u32::saturating_add(total, *size);
        total <= MERGED_CAP
    });
    let ids: Vec<_> = fits.map(|(_, segment)| segment.id()).collect();
    if ids.len() > 1 { ids } else { Vec::new() }
}

fn is_mostly_deleted(segment: &SegmentMeta) -> bool {
    f64::from(segment.num_deleted_docs()) > f64::from(segment.max_doc()) * DELETED_SHARE
}
