//! Retention: sessions that Claude Code is about to delete, and those of them that are not in the index yet.

use std::path::Path;

use crate::index::Known;
use crate::transcript::discover::{Scan, Source, SourceKind};
use serde::Serialize;

const DAY: i64 = 86_400_000;
/// Number of days before a deletion from which it is reported.
pub const SOON_DAYS: i64 = 7;

/// The numbers of sessions of one root that will be deleted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Retention {
    /// All sessions.
    pub sessions: usize,
    /// Sessions that will be deleted when Claude Code next starts.
    pub overdue: usize,
    /// Sessions that will be deleted within a week, including the overdue ones.
    pub soon: usize,
    /// The time of the first deletion of a session that is not overdue, in milliseconds since 1970.
    pub next: Option<i64>,
    /// Sessions that will be deleted within a week and are not completely indexed.
    pub soon_unindexed: usize,
    /// Sessions that are not completely indexed.
    pub unindexed: usize,
}

/// Counts the sessions of a root that will be deleted, if each is deleted `days` after it was last written.
pub(super) fn retention(scan: &Scan, known: &Known, root: &Path, days: u64, now: i64) -> Retention {
    let mut retention = Retention::default();
    let lifetime = i64::try_from(days).unwrap_or(i64::MAX).saturating_mul(DAY);
    let is_session = |source: &&Source| source.kind == SourceKind::Session && source.path.starts_with(root);
    for source in scan.sources.iter().filter(is_session) {
        let due = (source.stat.mtime_ns / 1_000_000).saturating_add(lifetime);
        let indexed = known.is_current(source);
        let soon = due <= now.saturating_add(SOON_DAYS * DAY);
        retention.sessions += 1;
        retention.overdue += usize::from(due <= now);
        retention.soon += usize::from(soon);
        retention.unindexed += usize::from(!indexed);
        retention.soon_unindexed += usize::from(soon && !indexed);
        if due > now {
            retention.next = Some(retention.next.map_or(due, |next| next.min(due)));
        }
    }
    retention
}
