//! Decides when `watch` updates the index and which files it reads: soon after a change, less often if there are many
//! changes, and everything from time to time.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use unspool::error::Error;
use unspool::update::Report;

/// The time to collect changes, so that a burst of lines becomes one commit.
const GATHER: Duration = Duration::from_millis(250);
/// The minimum time between the starts of two runs.
const GAP: Duration = Duration::from_millis(1000);
/// The same if at most two files changed: a session and its subagent.
const SHORT_GAP: Duration = Duration::from_millis(500);
/// With more changed files than this, a full scan is faster.
const MOST_NAMED: usize = 100;
/// The first and the longest pause after a failure.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Changes that are not indexed yet, and the time of the next run.
#[derive(Debug)]
pub(super) struct Debounce {
    files: BTreeSet<PathBuf>,
    all: bool,
    /// The time of the first of these changes.
    since: Option<Instant>,
    /// The earliest start of the next run.
    not_before: Instant,
    /// The time of the next full scan.
    next_scan: Instant,
    /// The duration of the last full scan.
    scan: Duration,
    pause: Duration,
}

impl Debounce {
    /// Starts with a full scan.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            files: BTreeSet::new(),
            all: true,
            since: Some(now),
            not_before: now,
            next_scan: now,
            scan: Duration::ZERO,
            pause: PAUSES.0,
        }
    }

    /// Records that a file has changed.
    pub(super) fn changed(&mut self, path: PathBuf, now: Instant) {
        self.files.insert(path);
        self.since.get_or_insert(now);
        self.all |= self.files.len() > MOST_NAMED;
    }

    /// Records that something unknown has changed.
    pub(super) fn everything(&mut self, now: Instant) {
        self.all = true;
        self.since.get_or_insert(now);
    }

    /// Returns the time until the next run.
    pub(super) fn until_due(&self, now: Instant, blind: bool) -> Duration {
        self.due(blind).saturating_duration_since(now)
    }

    fn due(&self, blind: bool) -> Instant {
        let scan = if blind { self.next_scan.min(self.not_before + self.poll()) } else { self.next_scan };
        self.since.map_or(scan, |since| scan.min(since + GATHER)).max(self.not_before)
    }

    /// Returns the interval of full scans without file events. Scans take at most a fiftieth of the time.
    fn poll(&self) -> Duration {
        (self.scan * 50).clamp(Duration::from_millis(500), Duration::from_secs(30))
    }

    /// Returns the interval of full scans with file events, where they are only a safety net.
    fn safety(&self) -> Duration {
        (self.scan * 500).clamp(Duration::from_secs(30), Duration::from_secs(600))
    }

    /// Returns the files to read now, an empty list for everything, or `None` if it is too early.
    pub(super) fn take_due(&mut self, now: Instant, blind: bool) -> Option<Vec<PathBuf>> {
        if now < self.due(blind) {
            return None;
        }
        let all = self.all || blind || now >= self.next_scan || self.files.is_empty();
        let files = std::mem::take(&mut self.files);
        self.all = false;
        self.since = None;
        Some(if all { Vec::new() } else { files.into_iter().collect() })
    }

    /// Records the result of a run.
    pub(super) fn ended(
        &mut self,
        begin: Instant,
        end: Instant,
        ran: Result<&Report, &Error>,
        scanned: Option<Duration>,
    ) {
        if let Some(scan) = scanned {
            self.scan = scan;
            self.next_scan = end + self.safety();
        }
        let Ok(report) = ran else {
            self.everything(end);
            self.not_before = end + self.pause;
            self.pause = (self.pause * 2).min(PAUSES.1);
            return;
        };
        self.pause = PAUSES.0;
        let read = report.new + report.grown + report.rewritten + report.moved;
        let gap = match read {
            0..=2 => SHORT_GAP,
            _ => GAP,
        };
        // Leaves some time to other processes, even on a slow disk. A longer pause would add to the time until a line is
        // found, exactly when the machine is busy.
        self.not_before = (begin + gap).max(end + (end - begin) / 4);
        // A file may have been created in a new folder just before the system started to watch that folder.
        if report.new > 0 {
            self.next_scan = self.next_scan.min(self.not_before + GAP);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: Instant, ms: u64) -> Instant {
        start + Duration::from_millis(ms)
    }

    /// A [`Debounce`] after its first scan, which took 10 ms.
    fn settled(start: Instant) -> Debounce {
        let mut debounce = Debounce::new(start);
        assert_eq!(debounce.take_due(at(start, 250), false), Some(Vec::new()), "it starts with a full scan");
        debounce.ended(start, at(start, 10), Ok(&Report::default()), Some(Duration::from_millis(10)));
        debounce
    }

    #[test]
    fn a_new_line_is_read_soon() {
        let start = Instant::now();
        let mut debounce = settled(start);
        assert_eq!(debounce.take_due(at(start, 9_000), false), None);
        debounce.changed("a".into(), at(start, 10_000));
        debounce.changed("a".into(), at(start, 10_200));
        assert_eq!(debounce.take_due(at(start, 10_249), false), None, "changes are collected");
        assert_eq!(debounce.take_due(at(start, 10_250), false), Some(vec!["a".into()]));
        assert_eq!(debounce.until_due(at(start, 10_300), false), Duration::from_millis(19_710));
    }

    #[test]
    fn a_constantly_changing_file_is_read_twice_a_second() {
        let start = Instant::now();
        let mut debounce = settled(start);
        let mut runs = Vec::new();
        for ms in (10_000..20_000).step_by(10) {
            debounce.changed("a".into(), at(start, ms));
            if debounce.take_due(at(start, ms), false).is_some() {
                runs.push(ms);
                let report = Report { grown: 1, ..Report::default() };
                debounce.ended(at(start, ms), at(start, ms + 100), Ok(&report), None);
            }
        }
        assert_eq!(runs.len(), 20);
        assert!(runs.windows(2).all(|pair| pair[1] - pair[0] == 500), "{runs:?}");
    }

    #[test]
    fn many_sessions_are_read_every_second() {
        let start = Instant::now();
        let mut debounce = settled(start);
        let mut runs = 0;
        for ms in (10_000..20_000).step_by(10) {
            debounce.changed(format!("{}", ms % 500).into(), at(start, ms));
            if debounce.take_due(at(start, ms), false).is_some() {
                runs += 1;
                let report = Report { grown: 50, ..Report::default() };
                debounce.ended(at(start, ms), at(start, ms + 300), Ok(&report), None);
            }
        }
        assert_eq!(runs, 10);
    }

    #[test]
    fn a_slow_run_delays_the_next_one() {
        let start = Instant::now();
        let mut debounce = settled(start);
        debounce.ended(at(start, 1_000), at(start, 9_000), Ok(&Report::default()), None);
        debounce.changed("a".into(), at(start, 9_000));
        assert_eq!(debounce.take_due(at(start, 10_999), false), None);
        assert!(debounce.take_due(at(start, 11_000), false).is_some());
    }

    #[test]
    fn without_events_everything_is_scanned_often() {
        let start = Instant::now();
        let mut debounce = settled(start);
        assert_eq!(debounce.take_due(at(start, 999), true), None);
        assert_eq!(debounce.take_due(at(start, 1_000), true), Some(Vec::new()));
        debounce.ended(at(start, 1_500), at(start, 2_500), Ok(&Report::default()), Some(Duration::from_secs(1)));
        assert_eq!(debounce.take_due(at(start, 30_000), true), None, "a slow scan runs less often");
    }

    #[test]
    fn pauses_grow_after_failures() {
        let start = Instant::now();
        let mut debounce = settled(start);
        let error = Error::new(unspool::error::ErrorKind::Other, "no");
        let mut now = at(start, 1_000);
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            debounce.ended(now, now, Err(&error), None);
            assert_eq!(debounce.until_due(now, false), Duration::from_secs(seconds));
            now += Duration::from_secs(seconds);
            assert_eq!(
                debounce.take_due(now, false),
                Some(Vec::new()),
                "everything, because the files to read are unknown"
            );
        }
    }

    #[test]
    fn too_many_files_cause_a_full_scan() {
        let start = Instant::now();
        let mut debounce = settled(start);
        for number in 0..=MOST_NAMED {
            debounce.changed(format!("{number}").into(), at(start, 2_000));
        }
        assert_eq!(debounce.take_due(at(start, 3_000), false), Some(Vec::new()));
    }
}
