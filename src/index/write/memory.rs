//! The memory of a run that writes: how much text may wait to be indexed, and what tantivy may use.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Bytes of text that may wait to be indexed. Each text is in memory twice: as terms, and as the stored document.
pub(super) const IN_FLIGHT: usize = 8 << 20;
/// Bytes of text that are sent to one of tantivy's threads together.
pub(super) const BATCH: usize = 1 << 20;
/// Memory in which all threads of a large run together build segments.
pub(super) const HEAP_LARGE: usize = 64 << 20;
/// The same for a small run. tantivy requires at least 15 MB.
pub(super) const HEAP_SMALL: usize = 16 << 20;

/// Hands out permits for a fixed number of bytes, and blocks when none are left.
#[derive(Clone, Debug)]
pub(in crate::index) struct Budget(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    left: Mutex<isize>,
    returned: Condvar,
    /// Set when a wait has timed out and no permit was returned since.
    stuck: AtomicBool,
    total: isize,
}

/// A share of the budget. Dropping it returns it.
#[derive(Debug)]
pub(in crate::index) struct Permit {
    budget: Budget,
    bytes: isize,
}

/// Longest wait for a permit. If the index is that slow, one more text does no harm. If its threads have died of a full
/// disk, no permit is ever returned, and adding the document is what reports the error.
const MAX_WAIT: Duration = Duration::from_secs(2);

impl Budget {
    /// Creates a budget of `bytes`.
    pub(in crate::index) fn new(bytes: usize) -> Self {
        let total = isize::try_from(bytes).unwrap_or(isize::MAX);
        Self(Arc::new(Inner {
            left: Mutex::new(total),
            returned: Condvar::new(),
            stuck: AtomicBool::new(false),
            total,
        }))
    }

    /// Takes a permit, waiting up to [`MAX_WAIT`] for it. A request larger than the budget takes all of it.
    pub(in crate::index) fn take(&self, bytes: usize) -> Permit {
        let bytes = isize::try_from(bytes).unwrap_or(isize::MAX).min(self.0.total);
        let left = self.0.left.lock().unwrap_or_else(PoisonError::into_inner);
        let max_wait = if self.0.stuck.load(Ordering::Relaxed) { Duration::ZERO } else { MAX_WAIT };
        let waited = self.0.returned.wait_timeout_while(left, max_wait, |left| *left < bytes);
        let (mut left, wait) = waited.unwrap_or_else(PoisonError::into_inner);
        self.0.stuck.fetch_or(wait.timed_out(), Ordering::Relaxed);
        *left -= bytes;
        Permit { budget: self.clone(), bytes }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.budget.0.left.lock().unwrap_or_else(PoisonError::into_inner) += self.bytes;
        self.budget.0.stuck.store(false, Ordering::Relaxed);
        self.budget.0.returned.notify_all();
    }
}
