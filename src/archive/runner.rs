//! Runners bring the index up to date. A command line starts a child process, so that a failing writer never stops a
//! search. A server uses a thread.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use crate::archive::local::Local;
use crate::error::Result;
use crate::update::{Unwatched, UpdateOptions, update};

/// Runs the pipeline that reads transcripts into the index.
pub trait Runner: Send + Sync {
    /// Brings the index up to date. Returns true if that was done within `patience`. A run that takes longer continues
    /// in the background.
    fn run(&self, patience: Duration) -> Result<bool>;
    /// Builds the first index. Waits until it is done.
    fn run_first(&self) -> Result<()>;
}

/// Leaves the index as it is.
#[derive(Clone, Copy, Debug)]
pub struct NoRunner;

impl Runner for NoRunner {
    fn run(&self, _: Duration) -> Result<bool> {
        Ok(false)
    }

    fn run_first(&self) -> Result<()> {
        Ok(())
    }
}

/// Runs the pipeline on a thread of this process.
#[derive(Debug)]
pub struct ThreadRunner {
    local: Arc<Local>,
    /// Returns the time in milliseconds since 1970. The library itself never reads the clock.
    clock: fn() -> i64,
}

impl ThreadRunner {
    /// Updates the index of `local`.
    pub fn new(local: Arc<Local>, clock: fn() -> i64) -> Self {
        Self { local, clock }
    }
}

impl Runner for ThreadRunner {
    fn run(&self, patience: Duration) -> Result<bool> {
        let (local, now) = (self.local.clone(), (self.clock)());
        let (done, finished) = mpsc::channel();
        std::thread::spawn(move || {
            let options = UpdateOptions { now, ..UpdateOptions::default() };
            // Sending fails if `run` has stopped waiting.
            let _ = done.send(update(local.folder(), local.roots(), &options, &Unwatched));
        });
        match finished.recv_timeout(patience) {
            Ok(report) => report.map(|report| !report.interrupted),
            Err(_) => Ok(false),
        }
    }

    fn run_first(&self) -> Result<()> {
        let options =
            UpdateOptions { now: (self.clock)(), wait: Duration::from_secs(3600), ..UpdateOptions::default() };
        update(self.local.folder(), self.local.roots(), &options, &Unwatched).map(|_| ())
    }
}
