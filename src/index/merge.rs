//! Which segments are merged: few enough that a search stays quick, never so much at once that memory grows.

use tantivy::SegmentMeta;
use tantivy::index::SegmentId;
use tantivy::indexer::{MergeCandidate, MergePolicy};

/// The most documents one merge makes into a segment: their words and columns are in memory meanwhile.
pub(super) const MERGED_CAP: u32 = 300_000;
/// A segment of which more than this share is deleted is rewritten.
const DELETED_SHARE: f64 = 0.5;
/// More segments than this are merged at the end of a large run. Each costs every search about a third of a millisecond;
/// merging those of 1 GB costs a sixth of the time to build them, once.
const MANY: usize = 3;
/// A segment with so many times fewer documents than the largest is not worth its own files.
const DWARF: u32 = 4;
/// Sizes of segments that belong together, and how many of them are one too many.
const TIERS: [(u32, usize); 3] = [(4_000, 6), (20_000, 8), (MERGED_CAP, 10)];

/// Merges segments of like size when there are too many of them, the smallest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tiers;

impl MergePolicy for Tiers {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let sizes = by_size(segments);
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

/// Chooses as many small segments at a time as may become one.
fn bins(segments: &[SegmentMeta]) -> Vec<Vec<SegmentId>> {
    let mut small: Vec<&SegmentMeta> = segments.iter().filter(|segment| segment.num_docs() <= MERGED_CAP / 2).collect();
    small.sort_by_key(|segment| (segment.num_docs(), segment.id()));
    let all: u32 = small.iter().map(|segment| segment.num_docs()).sum();
    let parts = all.div_ceil(MERGED_CAP).max(1);
    // Segments of uneven size fill no bin to the brim.
    let room = (all / parts + small.last().map_or(0, |largest| largest.num_docs())).min(MERGED_CAP);
    let mut bins: Vec<(u32, Vec<SegmentId>)> = Vec::new();
    for segment in small {
        match bins.last_mut() {
            Some((size, bin)) if *size + segment.num_docs() <= room => {
                *size += segment.num_docs();
                bin.push(segment.id());
            }
            _ => bins.push((segment.num_docs(), vec![segment.id()])),
        }
    }
    bins.into_iter().map(|(_, bin)| bin).filter(|bin| bin.len() > 1).collect()
}

/// Chooses what to merge at the end of a large run: nothing if there are few segments, or only dwarfs.
pub(super) fn at_end(segments: &[SegmentMeta]) -> Vec<Vec<SegmentId>> {
    let dwarfs = dwarfs(segments);
    if segments.len() - dwarfs.len() > MANY {
        return bins(segments);
    }
    [dwarfs].into_iter().filter(|dwarfs| !dwarfs.is_empty()).collect()
}

/// Returns segments that are tiny next to the largest, as many as may become one.
fn dwarfs(segments: &[SegmentMeta]) -> Vec<SegmentId> {
    let sizes = by_size(segments);
    let largest = sizes.last().map_or(0, |(size, _)| *size);
    fitting(&sizes.iter().filter(|(size, _)| *size <= largest / DWARF).collect::<Vec<_>>())
}

fn by_size(segments: &[SegmentMeta]) -> Vec<(u32, &SegmentMeta)> {
    let mut sizes: Vec<_> = segments.iter().map(|segment| (segment.num_docs(), segment)).collect();
    sizes.sort_by_key(|(size, segment)| (*size, segment.id()));
    sizes
}

/// The smallest segments of a tier that together stay below the cap.
fn fitting(tier: &[&(u32, &SegmentMeta)]) -> Vec<SegmentId> {
    let mut total = 0;
    let fits = tier.iter().take_while(|(size, _)| {
        total += size;
        total <= MERGED_CAP
    });
    let ids: Vec<_> = fits.map(|(_, segment)| segment.id()).collect();
    if ids.len() > 1 { ids } else { Vec::new() }
}

fn is_worn(segment: &SegmentMeta) -> bool {
    f64::from(segment.num_deleted_docs()) > f64::from(segment.max_doc()) * DELETED_SHARE
}
