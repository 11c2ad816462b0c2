//! How long Claude Code keeps sessions, and whether those it is about to delete are safe in the index.

use std::path::Path;

use crate::index::Known;
use crate::transcript::discover::{Scan, Source, SourceKind};

const DAY: i64 = 86_400_000;
/// What goes within this time is worth a word.
pub const SOON_DAYS: i64 = 7;

/// What will become of the sessions of one root.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Retention {
    /// Sessions that are there.
    pub sessions: usize,
    /// Of these, those that go when Claude Code next starts.
    pub overdue: usize,
    /// Those that go within a week, the overdue ones among them.
    pub soon: usize,
    /// When the first of the others goes, in milliseconds since 1970.
    pub next: Option<i64>,
    /// Of those that go within a week, those that are not wholly in the index.
    pub soon_unindexed: usize,
    /// Of all, those that are not wholly in the index.
    pub unindexed: usize,
}

/// Says what will become of the sessions of a root, if each is deleted so many days after it was last written.
pub(super) fn retention(scan: &Scan, known: &Known, root: &Path, days: u64, now: i64) -> Retention {
    let mut found = Retention::default();
    let kept = i64::try_from(days).unwrap_or(i64::MAX).saturating_mul(DAY);
    let is_session = |source: &&Source| source.kind == SourceKind::Session && source.path.starts_with(root);
    for source in scan.sources.iter().filter(is_session) {
        let due = (source.stat.mtime_ns / 1_000_000).saturating_add(kept);
        let indexed = known.is_current(source);
        let soon = due <= now.saturating_add(SOON_DAYS * DAY);
        found.sessions += 1;
        found.overdue += usize::from(due <= now);
        found.soon += usize::from(soon);
        found.unindexed += usize::from(!indexed);
        found.soon_unindexed += usize::from(soon && !indexed);
        if due > now {
            found.next = Some(found.next.map_or(due, |next| next.min(due)));
        }
    }
    found
}
