//! Fault injection for the tests. Only in debug builds: in a release build every function here does nothing.
//!
//! The program calls [`point`] before every change to the disk and every read of a transcript. The points of a run are
//! counted, so that a test can stop the real binary at each of them, or make each of them fail. The plan is a text (the
//! binary reads it from `UNSPOOL_FAULT`) with these items, separated by commas:
//!
//! - `kill@N`, `panic@N`, `eio@N`, `enospc@N`: die, panic or fail at point N; with a trailing `+`, at N and every later
//!   point
//! - `line@N`: panic while parsing the Nth line
//! - `event@N`: panic when the terminal UI takes its Nth key or click
//! - `stop@N`: stop the process at point N until it is continued, so that a test can change files at that moment
//! - `hang@N`: the thread at point N never continues
//! - `record:FILE`: append every point to FILE, so that a test can work out the state after a power cut
//! - `batch:BYTES`: commit after this number of bytes, so that a small run has many commits

use std::io;
use std::path::Path;

/// The operation that is about to happen.
#[derive(Clone, Copy, Debug)]
pub enum Op<'a> {
    /// A folder is created.
    MakeFolder(&'a Path),
    /// An empty file is created.
    Create(&'a Path),
    /// Bytes are appended to a file.
    Write(&'a Path, &'a [u8]),
    /// A file is synced.
    Sync(&'a Path),
    /// A file is written under a temporary name, synced, and renamed into place.
    Put(&'a Path, &'a [u8]),
    /// A file is removed.
    Remove(&'a Path),
    /// An empty folder is removed.
    RemoveFolder(&'a Path),
    /// A file or folder is renamed.
    Rename(&'a Path, &'a Path),
    /// Two folders swap their names.
    Exchange(&'a Path, &'a Path),
    /// A folder is synced, which makes the names in it durable.
    SyncFolder(&'a Path),
    /// A file of the index is opened for reading.
    Load(&'a Path),
    /// A lock is taken.
    Lock(&'a Path),
    /// A transcript is opened or read.
    Read,
}

#[cfg(not(debug_assertions))]
mod disabled {
    use super::{Op, io};

    /// Does nothing in a release build.
    #[inline(always)]
    pub fn point(_: Op<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Does nothing in a release build.
    #[inline(always)]
    pub fn line() {}

    /// Does nothing in a release build.
    #[inline(always)]
    pub fn event() {}

    /// Returns `usual` in a release build.
    #[inline(always)]
    pub fn batch(usual: u64) -> u64 {
        usual
    }
}

#[cfg(not(debug_assertions))]
pub use disabled::{batch, event, line, point};

#[cfg(debug_assertions)]
pub use enabled::{arm, batch, event, line, point};

#[cfg(debug_assertions)]
mod enabled {
    use std::fs::File;
    use std::io::Write as _;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Mutex, OnceLock, PoisonError};

    use super::{Op, Path, io};

    static PLAN: OnceLock<Plan> = OnceLock::new();
    static POINTS: AtomicU64 = AtomicU64::new(0);
    static LINES: AtomicU64 = AtomicU64::new(0);
    static EVENTS: AtomicU64 = AtomicU64::new(0);

    /// The parsed text of [`arm`].
    #[derive(Debug, Default)]
    struct Plan {
        fault: Option<Fault>,
        record: Option<Mutex<File>>,
        batch: Option<u64>,
        line: Option<u64>,
        event: Option<u64>,
    }

    #[derive(Debug)]
    struct Fault {
        kind: Kind,
        at: u64,
        /// True if the fault also happens at every later point.
        is_lasting: bool,
    }

    #[derive(Clone, Copy, Debug)]
    enum Kind {
        Kill,
        Stop,
        Hang,
        Panic,
        Fail(io::ErrorKind),
    }

    /// Sets the plan for this process. Must be called once, before anything else. Fails if an item is unknown.
    pub fn arm(text: &str) -> Result<(), String> {
        let mut plan = Plan::default();
        for word in text.split(',') {
            plan.add(word).ok_or_else(|| format!("no such fault: {word}"))?;
        }
        PLAN.set(plan).map_err(|_| "armed twice".to_string())
    }

    impl Plan {
        /// Adds one item of the plan. Returns `None` if it is invalid.
        fn add(&mut self, word: &str) -> Option<()> {
            if let Some(file) = word.strip_prefix("record:") {
                self.record = Some(Mutex::new(File::options().append(true).create(true).open(file).ok()?));
            } else if let Some(bytes) = word.strip_prefix("batch:") {
                self.batch = Some(bytes.parse().ok()?);
            } else if let Some(number) = word.strip_prefix("line@") {
                self.line = Some(number.parse().ok()?);
            } else if let Some(number) = word.strip_prefix("event@") {
                self.event = Some(number.parse().ok()?);
            } else {
                let (kind, at) = word.split_once('@')?;
                let is_lasting = at.ends_with('+');
                self.fault =
                    Some(Fault { kind: kind_of(kind)?, at: at.trim_end_matches('+').parse().ok()?, is_lasting });
            }
            Some(())
        }
    }

    fn kind_of(name: &str) -> Option<Kind> {
        Some(match name {
            "kill" => Kind::Kill,
            "stop" => Kind::Stop,
            "hang" => Kind::Hang,
            "panic" => Kind::Panic,
            "eio" => Kind::Fail(io::ErrorKind::Other),
            "enospc" => Kind::Fail(io::ErrorKind::StorageFull),
            _ => return None,
        })
    }

    /// Counts an operation that is about to happen, and makes it fail if planned.
    pub fn point(op: Op<'_>) -> io::Result<()> {
        let Some(plan) = PLAN.get() else { return Ok(()) };
        if let Some(record) = &plan.record {
            let mut file = record.lock().unwrap_or_else(PoisonError::into_inner);
            file.write_all(&encoded(op))?;
        }
        let number = POINTS.fetch_add(1, Ordering::SeqCst) + 1;
        match &plan.fault {
            Some(fault) if number == fault.at || fault.is_lasting && number > fault.at => trigger(fault.kind, number),
            _ => Ok(()),
        }
    }

    /// Performs a planned fault.
    fn trigger(kind: Kind, number: u64) -> io::Result<()> {
        match kind {
            Kind::Kill => signal(true),
            Kind::Stop => signal(false),
            Kind::Hang => loop {
                std::thread::park();
            },
            Kind::Panic => panic!("fault at point {number}"),
            Kind::Fail(kind) => return Err(io::Error::new(kind, format!("fault at point {number}"))),
        }
        Ok(())
    }

    #[cfg(unix)]
    fn signal(is_kill: bool) {
        use rustix::process::{Signal, getpid, kill_process};
        let _ = kill_process(getpid(), if is_kill { Signal::KILL } else { Signal::STOP });
        if is_kill {
            loop {
                std::thread::park();
            }
        }
    }

    #[cfg(not(unix))]
    fn signal(_: bool) {}

    /// Counts an event that the terminal UI takes, and panics if planned.
    pub fn event() {
        let Some(event) = PLAN.get().and_then(|plan| plan.event) else { return };
        assert!(EVENTS.fetch_add(1, Ordering::SeqCst) + 1 != event, "fault at event {event}");
    }

    /// Counts a line that is about to be parsed, and panics if planned.
    pub fn line() {
        let Some(line) = PLAN.get().and_then(|plan| plan.line) else { return };
        assert!(LINES.fetch_add(1, Ordering::SeqCst) + 1 != line, "fault at line {line}");
    }

    /// Returns the number of bytes after which to commit.
    pub fn batch(usual: u64) -> u64 {
        PLAN.get().and_then(|plan| plan.batch).unwrap_or(usual)
    }

    /// Encodes a point: a letter, then two byte strings, each after its length.
    fn encoded(op: Op<'_>) -> Vec<u8> {
        let (letter, path, second): (u8, &[u8], &[u8]) = match op {
            Op::MakeFolder(path) => (b'd', bytes(path), b""),
            Op::Create(path) => (b'c', bytes(path), b""),
            Op::Write(path, data) => (b'w', bytes(path), data),
            Op::Sync(path) => (b's', bytes(path), b""),
            Op::Put(path, data) => (b'p', bytes(path), data),
            Op::Remove(path) => (b'r', bytes(path), b""),
            Op::RemoveFolder(path) => (b'R', bytes(path), b""),
            Op::Rename(from, to) => (b'm', bytes(from), bytes(to)),
            Op::Exchange(one, other) => (b'x', bytes(one), bytes(other)),
            Op::SyncFolder(path) => (b'S', bytes(path), b""),
            Op::Load(path) => (b'l', bytes(path), b""),
            Op::Lock(path) => (b'k', bytes(path), b""),
            Op::Read => (b'i', b"", b""),
        };
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(0).to_le_bytes();
        [&[letter][..], &length(path), path, &length(second), second].concat()
    }

    fn bytes(path: &Path) -> &[u8] {
        path.as_os_str().as_encoded_bytes()
    }
}
