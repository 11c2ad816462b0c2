//! A bound on the text that is on its way into the index.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Hands out shares of a fixed number of bytes and waits when none are left.
#[derive(Clone, Debug)]
pub(super) struct Budget(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    left: Mutex<usize>,
    given_back: Condvar,
    whole: usize,
}

/// A share of the budget; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Permit {
    budget: Budget,
    bytes: usize,
}

impl Budget {
    /// Makes a budget of so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        Self(Arc::new(Inner { left: Mutex::new(bytes), given_back: Condvar::new(), whole: bytes }))
    }

    /// Takes a share, waiting for it if need be. What is larger than the whole budget takes all of it.
    pub(super) fn take(&self, bytes: usize) -> Permit {
        let bytes = bytes.min(self.0.whole);
        let left = self.0.left.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left = self.0.given_back.wait_while(left, |left| *left < bytes).unwrap_or_else(PoisonError::into_inner);
        *left -= bytes;
        Permit { budget: self.clone(), bytes }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.budget.0.left.lock().unwrap_or_else(PoisonError::into_inner) += self.bytes;
        self.budget.0.given_back.notify_all();
    }
}
