//! Following the roots: what is written is searchable a moment later.
//!
//! The index is locked only while something new is read, so that other runs get their turn. What the system tells us
//! is a hint of where to look, never the truth: a regular look at everything finds what was missed.

mod debounce;
mod fs_events;

use std::time::{Duration, Instant};

use unspool::error::{Error, ErrorKind};
use unspool::transcript::discover::discover;
use unspool::update::{Report, UpdateOptions, Watch as _, update};

use crate::config::{self, Config};
use crate::out;
use crate::progress::Progress;
use debounce::Debounce;
use fs_events::{FsEvents, Seen};

/// The longest we are deaf to Ctrl-C, and to a root that appears.
const TICK: Duration = Duration::from_millis(500);
/// A wait that took this much longer than meant was a sleep of the machine, or of this process.
const SLEPT: Duration = Duration::from_secs(5);

/// Follows the roots until it is told to stop.
pub(crate) fn follow(config: &Config, poll: bool) -> Result<(), Error> {
    let stop = Progress::new(true);
    let mut pace = Debounce::new(Instant::now());
    let mut eyes = FsEvents::open(&config.roots, poll);
    let mut complaint = None;
    while !stop.stopped() {
        if let Some(reason) = eyes.take_notice() {
            out::note(&format!("note: {reason}; looking at everything every few seconds instead"));
        }
        let now = Instant::now();
        if let Some(only) = pace.take_due(now, eyes.is_blind()) {
            let all = only.is_empty();
            let options = UpdateOptions { now: config::now(), only, ..UpdateOptions::default() };
            let updated = update(config.local.folder(), &config.roots, &options, &stop);
            complain(&updated, &mut complaint);
            let walked = all.then(|| walk_time(config, now.elapsed(), &updated));
            pace.ended(now, Instant::now(), updated.as_ref(), walked);
        }
        wait(config, &mut eyes, &mut pace);
    }
    Ok(())
}

/// Waits for the next event or the next time to look.
fn wait(config: &Config, eyes: &mut FsEvents, pace: &mut Debounce) {
    let (begin, clock) = (Instant::now(), config::now());
    let patience = pace.until_due(begin, eyes.is_blind()).min(TICK);
    match eyes.wait(patience) {
        Some(Seen::File(path)) => pace.changed(path, Instant::now()),
        Some(Seen::Everything) => pace.everything(Instant::now()),
        // A root that was not there may be by now.
        None if eyes.find_new_roots(&config.roots) => pace.everything(Instant::now()),
        None => {}
    }
    let by_clock = Duration::from_millis(u64::try_from(config::now() - clock).unwrap_or(0));
    if has_slept(patience, begin.elapsed(), by_clock) {
        pace.everything(Instant::now());
    }
}

/// Whether a wait took much longer than meant, by either clock: one of them stands still while the machine sleeps.
fn has_slept(meant: Duration, elapsed: Duration, by_clock: Duration) -> bool {
    elapsed.max(by_clock) > meant + SLEPT
}

/// How long a look at everything takes. A run that read much says little about it, so that is measured apart.
fn walk_time(config: &Config, took: Duration, updated: &Result<Report, Error>) -> Duration {
    if updated.as_ref().is_ok_and(|report| report.bytes == 0) {
        return took;
    }
    let begin = Instant::now();
    discover(&config.roots);
    begin.elapsed()
}

/// Says what is wrong, once; another run being under way is not.
fn complain(updated: &Result<Report, Error>, last: &mut Option<String>) {
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
    fn a_sleep_shows_on_either_clock() {
        let seconds = Duration::from_secs;
        for (elapsed, by_clock, slept) in
            [(0, 0, false), (1, 1, false), (6, 6, false), (1, 3600, true), (3600, 0, true)]
        {
            assert_eq!(has_slept(seconds(1), seconds(elapsed), seconds(by_clock)), slept);
        }
    }
}
