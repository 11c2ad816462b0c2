//! A bound on the text that is on its way into the index.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Hands out shares of a fixed number of bytes and waits when none are left.
#[derive(Clone, Debug)]
pub(in crate::index) struct Budget(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    left: Mutex<isize>,
    given_back: Condvar,
    /// Whether somebody has waited in vain since anything was last given back.
    stuck: AtomicBool,
    whole: isize,
}

/// A share of the budget; dropping it gives it back.
#[derive(Debug)]
pub(in crate::index) struct Permit {
    budget: Budget,
    bytes: isize,
}

/// How long anybody waits. When the index is that slow, one text more does no harm; when its threads have died of a
/// full disk, nobody will ever give anything back, and adding the document is what brings the error to light.
const PATIENCE: Duration = Duration::from_secs(2);

impl Budget {
    /// Makes a budget of so many bytes.
    pub(in crate::index) fn new(bytes: usize) -> Self {
        let whole = isize::try_from(bytes).unwrap_or(isize::MAX);
        Self(Arc::new(Inner {
            left: Mutex::new(whole),
            given_back: Condvar::new(),
            stuck: AtomicBool::new(false),
            whole,
        }))
    }

    /// Takes a share, waiting a while for it if need be. What is larger than the whole budget takes all of it.
    pub(in crate::index) fn take(&self, bytes: usize) -> Permit {
        let bytes = isize::try_from(bytes).unwrap_or(isize::MAX).min(self.0.whole);
        let left = self.0.left.lock().unwrap_or_else(PoisonError::into_inner);
        let patience = if self.0.stuck.load(Ordering::Relaxed) { Duration::ZERO } else { PATIENCE };
        let waited = self.0.given_back.wait_timeout_while(left, patience, |left| *left < bytes);
        let (mut left, in_vain) = waited.unwrap_or_else(PoisonError::into_inner);
        self.0.stuck.fetch_or(in_vain.timed_out(), Ordering::Relaxed);
        *left -= bytes;
        Permit { budget: self.clone(), bytes }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.budget.0.left.lock().unwrap_or_else(PoisonError::into_inner) += self.bytes;
        self.budget.0.stuck.store(false, Ordering::Relaxed);
        self.budget.0.given_back.notify_all();
    }
}
