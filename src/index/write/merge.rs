//! Chooses the segments to merge: few enough segments for fast searches, never so much at once that memory grows.

use std::path::{Path, PathBuf};

use tantivy::SegmentMeta;
use tantivy::index::{SegmentComponent, SegmentId};
use tantivy::indexer::{MergeCandidate, MergePolicy};

/// The largest segment that a merge makes, in documents: a merge keeps their words and columns in memory.
const MERGED_CAP: u32 = 300_000;
/// This many bytes of distinct words count as a document. Real sessions have a fourth of that. 1 GB of random words,
/// merged into one segment, took 1.3 GB of memory.
const TERM_BYTES: u64 = 200;
/// A segment of which more than this share is deleted is rewritten.
const DELETED_SHARE: f64 = 0.5;
/// More segments than this are merged at the end of a large run. Each costs every search about a third of a millisecond;
/// merging those of 1 GB costs a sixth of the time to build them, once.
const MANY: usize = 3;
/// A segment this many times smaller than the largest is not worth its own files.
const DWARF: u32 = 4;
/// Sizes of segments that belong together, and how many of them are one too many.
const TIERS: [(u32, usize); 3] = [(4_000, 6), (20_000, 8), (MERGED_CAP, 10)];

/// Merges segments of like size when there are too many of them, the smallest first.
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
                let worn = tier.iter().filter(|(_, segment)| is_worn(segment));
                candidates.extend(worn.map(|(_, segment)| MergeCandidate(vec![segment.id()])));
            }
            floor = ceiling;
        }
        candidates.retain(|candidate| !candidate.0.is_empty());
        candidates
    }
}

/// Chooses what to merge at the end of a large run: nothing if there are few segments, or only dwarfs.
pub(in crate::index) fn at_end(folder: &Path, segments: &[SegmentMeta]) -> Vec<Vec<SegmentId>> {
    let sizes = by_size(folder, segments);
    let dwarfs = dwarfs(&sizes);
    if segments.len() - dwarfs.len() > MANY {
        return bins(&sizes);
    }
    [dwarfs].into_iter().filter(|dwarfs| !dwarfs.is_empty()).collect()
}

/// Divides small segments into groups, each of which becomes one segment.
fn bins(sizes: &[(u32, &SegmentMeta)]) -> Vec<Vec<SegmentId>> {
    let small = || sizes.iter().filter(|(size, _)| *size <= MERGED_CAP / 2);
    let all = small().fold(0u32, |all, (size, _)| all.saturating_add(*size));
    let parts = all.div_ceil(MERGED_CAP).max(1);
    // Segments of uneven size fill no bin to the brim.
    let room = (all / parts + small().last().map_or(0, |(largest, _)| *largest)).min(MERGED_CAP);
    let mut bins: Vec<(u32, Vec<SegmentId>)> = Vec::new();
    for (size, segment) in small() {
        match bins.last_mut() {
            Some((full, bin)) if *full + size <= room => {
                *full += size;
                bin.push(segment.id());
            }
            _ => bins.push((*size, vec![segment.id()])),
        }
    }
    bins.into_iter().map(|(_, bin)| bin).filter(|bin| bin.len() > 1).collect()
}

/// Returns segments that are tiny next to the largest, as many as may become one.
fn dwarfs(sizes: &[(u32, &SegmentMeta)]) -> Vec<SegmentId> {
    let largest = sizes.last().map_or(0, |(size, _)| *size);
    fitting(&sizes.iter().filter(|(size, _)| *size <= largest / DWARF).collect::<Vec<_>>())
}

/// Returns the segments with their sizes, the smallest first.
fn by_size<'a>(folder: &Path, segments: &'a [SegmentMeta]) -> Vec<(u32, &'a SegmentMeta)> {
    let mut sizes: Vec<_> = segments.iter().map(|segment| (size(folder, segment), segment)).collect();
    sizes.sort_by_key(|(size, segment)| (*size, segment.id()));
    sizes
}

/// Returns the size of a segment in documents, or the documents that would have as many distinct words if that is more.
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

fn is_worn(segment: &SegmentMeta) -> bool {
    f64::from(segment.num_deleted_docs()) > f64::from(segment.max_doc()) * DELETED_SHARE
}
