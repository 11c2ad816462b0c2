//! When to look, and at what: soon after a change, not too often when there are many, and at everything now and then.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use unspool::error::Error;
use unspool::update::Report;

/// How long changes are gathered, so that a burst of lines is one commit.
const GATHER: Duration = Duration::from_millis(250);
/// The least time from one run to the next.
const GAP: Duration = Duration::from_millis(1000);
/// The same when only a session and its subagent write.
const SHORT_GAP: Duration = Duration::from_millis(500);
/// The same when many sessions write at once.
const LONG_GAP: Duration = Duration::from_millis(2000);
/// More files than this are found sooner by looking at everything.
const MOST_NAMED: usize = 100;
/// After a failure, the first and the longest pause.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// What has changed, and when to do something about it.
#[derive(Debug)]
pub(super) struct Debounce {
    files: BTreeSet<PathBuf>,
    all: bool,
    /// When the first of these changes was seen.
    since: Option<Instant>,
    /// No run begins before this.
    not_before: Instant,
    /// When everything is to be looked at, come what may.
    next_walk: Instant,
    /// How long the last look at everything took.
    walk: Duration,
    pause: Duration,
}

impl Debounce {
    /// Begins with a look at everything.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            files: BTreeSet::new(),
            all: true,
            since: Some(now),
            not_before: now,
            next_walk: now,
            walk: Duration::ZERO,
            pause: PAUSES.0,
        }
    }

    /// A file has changed.
    pub(super) fn changed(&mut self, path: PathBuf, now: Instant) {
        self.files.insert(path);
        self.since.get_or_insert(now);
        self.all |= self.files.len() > MOST_NAMED;
    }

    /// Something has changed, and it cannot be said what.
    pub(super) fn everything(&mut self, now: Instant) {
        self.all = true;
        self.since.get_or_insert(now);
    }

    /// How long until something is to be done.
    pub(super) fn until_due(&self, now: Instant, blind: bool) -> Duration {
        self.due(blind).saturating_duration_since(now)
    }

    fn due(&self, blind: bool) -> Instant {
        let walk = if blind { self.next_walk.min(self.not_before + self.poll()) } else { self.next_walk };
        self.since.map_or(walk, |since| walk.min(since + GATHER)).max(self.not_before)
    }

    /// Without eyes everything is looked at often, but at no more than a fiftieth of the time.
    fn poll(&self) -> Duration {
        (self.walk * 50).clamp(Duration::from_millis(500), Duration::from_secs(30))
    }

    /// With eyes it is a safety net.
    fn safety(&self) -> Duration {
        (self.walk * 500).clamp(Duration::from_secs(30), Duration::from_secs(600))
    }

    /// The files to be looked at now, none for everything; nothing if it is not time yet.
    pub(super) fn take_due(&mut self, now: Instant, blind: bool) -> Option<Vec<PathBuf>> {
        if now < self.due(blind) {
            return None;
        }
        let all = self.all || blind || now >= self.next_walk || self.files.is_empty();
        let files = std::mem::take(&mut self.files);
        self.all = false;
        self.since = None;
        Some(if all { Vec::new() } else { files.into_iter().collect() })
    }

    /// Notes how a run went.
    pub(super) fn ended(
        &mut self,
        begin: Instant,
        end: Instant,
        ran: Result<&Report, &Error>,
        walked: Option<Duration>,
    ) {
        if let Some(walk) = walked {
            self.walk = walk;
            self.next_walk = end + self.safety();
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
            3..8 => GAP,
            _ => LONG_GAP,
        };
        // However slow the disk is, most of the time is left to others.
        self.not_before = (begin + gap).max(end + (end - begin));
        // A file may have come into a new folder just before the system began to watch that.
        if report.new > 0 {
            self.next_walk = self.next_walk.min(self.not_before + GAP);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: Instant, ms: u64) -> Instant {
        start + Duration::from_millis(ms)
    }

    /// A pace after its first look, which took 10 ms.
    fn settled(start: Instant) -> Debounce {
        let mut pace = Debounce::new(start);
        assert_eq!(pace.take_due(at(start, 250), false), Some(Vec::new()), "it begins with everything");
        pace.ended(start, at(start, 10), Ok(&Report::default()), Some(Duration::from_millis(10)));
        pace
    }

    #[test]
    fn a_line_is_looked_at_soon() {
        let start = Instant::now();
        let mut pace = settled(start);
        assert_eq!(pace.take_due(at(start, 9_000), false), None);
        pace.changed("a".into(), at(start, 10_000));
        pace.changed("a".into(), at(start, 10_200));
        assert_eq!(pace.take_due(at(start, 10_249), false), None, "changes are gathered");
        assert_eq!(pace.take_due(at(start, 10_250), false), Some(vec!["a".into()]));
        assert_eq!(pace.until_due(at(start, 10_300), false), Duration::from_millis(19_710));
    }

    #[test]
    fn a_file_that_never_rests_is_read_twice_a_second() {
        let start = Instant::now();
        let mut pace = settled(start);
        let mut runs = Vec::new();
        for ms in (10_000..20_000).step_by(10) {
            pace.changed("a".into(), at(start, ms));
            if pace.take_due(at(start, ms), false).is_some() {
                runs.push(ms);
                let report = Report { grown: 1, ..Report::default() };
                pace.ended(at(start, ms), at(start, ms + 100), Ok(&report), None);
            }
        }
        assert_eq!(runs.len(), 20);
        assert!(runs.windows(2).all(|pair| pair[1] - pair[0] == 500), "{runs:?}");
    }

    #[test]
    fn many_sessions_are_read_every_two_seconds() {
        let start = Instant::now();
        let mut pace = settled(start);
        let mut runs = 0;
        for ms in (10_000..20_000).step_by(10) {
            pace.changed(format!("{}", ms % 500).into(), at(start, ms));
            if pace.take_due(at(start, ms), false).is_some() {
                runs += 1;
                let report = Report { grown: 50, ..Report::default() };
                pace.ended(at(start, ms), at(start, ms + 300), Ok(&report), None);
            }
        }
        assert_eq!(runs, 5);
    }

    #[test]
    fn a_slow_run_leaves_time_to_others() {
        let start = Instant::now();
        let mut pace = settled(start);
        pace.ended(at(start, 1_000), at(start, 9_000), Ok(&Report::default()), None);
        pace.changed("a".into(), at(start, 9_000));
        assert_eq!(pace.take_due(at(start, 16_999), false), None);
        assert!(pace.take_due(at(start, 17_000), false).is_some());
    }

    #[test]
    fn without_eyes_everything_is_looked_at_often() {
        let start = Instant::now();
        let mut pace = settled(start);
        assert_eq!(pace.take_due(at(start, 999), true), None);
        assert_eq!(pace.take_due(at(start, 1_000), true), Some(Vec::new()));
        pace.ended(at(start, 1_500), at(start, 2_500), Ok(&Report::default()), Some(Duration::from_secs(1)));
        assert_eq!(pace.take_due(at(start, 30_000), true), None, "a slow walk is done less often");
    }

    #[test]
    fn failures_are_tried_again_less_and_less_often() {
        let start = Instant::now();
        let mut pace = settled(start);
        let error = Error::new(unspool::error::ErrorKind::Other, "no");
        let mut now = at(start, 1_000);
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            pace.ended(now, now, Err(&error), None);
            assert_eq!(pace.until_due(now, false), Duration::from_secs(seconds));
            now += Duration::from_secs(seconds);
            assert_eq!(pace.take_due(now, false), Some(Vec::new()), "at everything: what was to be read is not known");
        }
    }

    #[test]
    fn too_many_names_are_everything() {
        let start = Instant::now();
        let mut pace = settled(start);
        for number in 0..=MOST_NAMED {
            pace.changed(format!("{number}").into(), at(start, 2_000));
        }
        assert_eq!(pace.take_due(at(start, 3_000), false), Some(Vec::new()));
    }
}
