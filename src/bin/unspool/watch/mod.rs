//! `unspool watch`: updates the index whenever files below the roots change.
//!
//! The index is locked only while something new is read, so that other runs get their turn. File events are only hints:
//! a regular full scan finds what they missed.

mod debounce;
mod fs_events;

use std::time::{Duration, Instant};

use unspool::error::{Error, ErrorKind};
use unspool::transcript::discover::{Root, discover};
use unspool::update::{Report, UpdateOptions, Watch as _, update};

use crate::config::{self, Config};
use crate::out;
use crate::progress::Progress;
use debounce::Debounce;
use fs_events::{Change, FsEvents};

/// The maximum delay until Ctrl-C or a new root is noticed.
const TICK: Duration = Duration::from_millis(500);
/// A wait for a change of files. It ends without one only to look for new roots.
const LONG: Duration = Duration::from_secs(3600);
/// The time between two looks at all files, if the system cannot report changes.
const BLIND: Duration = Duration::from_secs(10);
/// A wait that takes this much longer than planned means that the machine or this process was suspended.
const SUSPENDED: Duration = Duration::from_secs(5);

/// Watches the roots until Ctrl-C.
pub(crate) fn follow(config: &Config, poll: bool) -> Result<(), Error> {
    let stop = Progress::new(true);
    let mut debounce = Debounce::new(Instant::now());
    let mut events = FsEvents::open(&config.roots, poll);
    let mut last_error = None;
    while !stop.stopped() {
        if let Some(reason) = events.take_notice() {
            out::note(&format!("note: {reason}; scanning all files every few seconds instead"));
        }
        let now = Instant::now();
        if let Some(only) = debounce.take_due(now, events.is_blind()) {
            let all = only.is_empty();
            let options = UpdateOptions { now: config::now(), only, ..UpdateOptions::default() };
            let updated = update(config.local.folder(), &config.roots, &options, &stop);
            report_error(&updated, &mut last_error);
            let scanned = all.then(|| scan_time(config, now.elapsed(), &updated));
            debounce.ended(now, Instant::now(), updated.as_ref(), scanned);
        }
        wait(config, &mut events, &mut debounce);
    }
    Ok(())
}

/// Calls back after files below the roots have changed, until that returns false. At most once in `gap`.
pub(crate) fn notice_changes(roots: &[Root], gap: Duration, changed: impl Fn() -> bool) {
    let mut events = FsEvents::open(roots, false);
    loop {
        let is_blind = events.is_blind();
        let patience = if is_blind { BLIND } else { LONG };
        if events.wait(patience).is_some() || is_blind {
            std::thread::sleep(TICK);
            while !is_blind && events.wait(Duration::ZERO).is_some() {}
            if !changed() {
                return;
            }
            std::thread::sleep(gap);
        }
        events.find_new_roots(roots);
    }
}

/// Waits for the next event or the next run.
fn wait(config: &Config, events: &mut FsEvents, debounce: &mut Debounce) {
    let (begin, clock) = (Instant::now(), config::now());
    let patience = debounce.until_due(begin, events.is_blind()).min(TICK);
    match events.wait(patience) {
        Some(Change::File(path)) => debounce.changed(path, Instant::now()),
        Some(Change::Everything) => debounce.everything(Instant::now()),
        // A root may have been created in the meantime.
        None if events.find_new_roots(&config.roots) => debounce.everything(Instant::now()),
        None => {}
    }
    let by_clock = Duration::from_millis(u64::try_from(config::now() - clock).unwrap_or(0));
    if was_suspended(patience, begin.elapsed(), by_clock) {
        debounce.everything(Instant::now());
    }
}

/// Reports whether a wait took much longer than planned by either clock. One of them stops while the machine sleeps.
fn was_suspended(planned: Duration, elapsed: Duration, by_clock: Duration) -> bool {
    elapsed.max(by_clock) > planned + SUSPENDED
}

/// Returns the duration of a full scan. If the run also read files, the scan is measured separately.
fn scan_time(config: &Config, took: Duration, updated: &Result<Report, Error>) -> Duration {
    if updated.as_ref().is_ok_and(|report| report.bytes == 0) {
        return took;
    }
    let begin = Instant::now();
    discover(&config.roots);
    begin.elapsed()
}

/// Reports an error, once. A lock held by another run is not an error.
fn report_error(updated: &Result<Report, Error>, last: &mut Option<String>) {
    match updated {
        Ok(_) => *last = None,
        Err(error) if error.kind == ErrorKind::Busy => {}
        Err(error) => {
            let message = error.to_string();
            if last.as_ref() != Some(&message) {
                out::note(&format!("error: {message}; trying again"));
            }
            *last = Some(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspension_shows_on_either_clock() {
        let seconds = Duration::from_secs;
        for (elapsed, by_clock, expected) in
            [(0, 0, false), (1, 1, false), (6, 6, false), (1, 3600, true), (3600, 0, true)]
        {
            assert_eq!(was_suspended(seconds(1), seconds(elapsed), seconds(by_clock)), expected);
        }
    }
}
