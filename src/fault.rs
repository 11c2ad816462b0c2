//! Faults on purpose, for the tests. Only debug builds have them: in a release every function here is empty.
//!
//! Everything the program is about to do to the disk, and every read of a transcript, passes [`point`] first. The
//! points of a run are counted, so that a test can stop the real binary at each of them, or let each of them fail.
//! What is to happen comes as text (the binary reads it from `UNSPOOL_FAULT`), several things separated by commas:
//!
//! - `kill@N`, `panic@N`, `eio@N`, `enospc@N`: at point N die, panic, or fail; with `+` behind it, from N on
//! - `line@N`: panic while the Nth line is taken apart
//! - `stop@N`: at point N stop until somebody continues us, so that a test can change things just then
//! - `record:FILE`: write down every point, so that a test can work out what a power cut would leave
//! - `batch:BYTES`: commit after so many bytes, so that a small run has many commits

use std::io;
use std::path::Path;

/// What is about to be done.
#[derive(Clone, Copy, Debug)]
pub enum Op<'a> {
    /// A folder is made.
    MakeFolder(&'a Path),
    /// A file is made, empty.
    Create(&'a Path),
    /// Bytes are written to the end of a file.
    Write(&'a Path, &'a [u8]),
    /// A file is synced.
    Sync(&'a Path),
    /// A file is written beside, synced, and renamed into place.
    Put(&'a Path, &'a [u8]),
    /// A file is removed.
    Remove(&'a Path),
    /// An empty folder is removed.
    RemoveFolder(&'a Path),
    /// A file or folder gets a new name.
    Rename(&'a Path, &'a Path),
    /// Two folders exchange their names.
    Exchange(&'a Path, &'a Path),
    /// The names in a folder are synced.
    SyncFolder(&'a Path),
    /// A file of the index is opened for reading.
    Load(&'a Path),
    /// A lock is taken.
    Lock(&'a Path),
    /// A transcript is opened or read.
    Read,
}

#[cfg(not(debug_assertions))]
mod unarmed {
    use super::{Op, io};

    /// Nothing, in a release.
    #[inline(always)]
    pub fn point(_: Op<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Nothing, in a release.
    #[inline(always)]
    pub fn line() {}

    /// The usual amount, in a release.
    #[inline(always)]
    pub fn batch(usual: u64) -> u64 {
        usual
    }
}

#[cfg(not(debug_assertions))]
pub use unarmed::{batch, line, point};

#[cfg(debug_assertions)]
pub use armed::{arm, batch, line, point};

#[cfg(debug_assertions)]
mod armed {
    use std::fs::File;
    use std::io::Write as _;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Mutex, OnceLock, PoisonError};

    use super::{Op, Path, io};

    static PLAN: OnceLock<Plan> = OnceLock::new();
    static POINTS: AtomicU64 = AtomicU64::new(0);
    static LINES: AtomicU64 = AtomicU64::new(0);

    #[derive(Debug, Default)]
    struct Plan {
        fault: Option<Fault>,
        record: Option<Mutex<File>>,
        batch: Option<u64>,
        line: Option<u64>,
    }

    #[derive(Debug)]
    struct Fault {
        kind: Kind,
        at: u64,
        lasting: bool,
    }

    #[derive(Clone, Copy, Debug)]
    enum Kind {
        Kill,
        Stop,
        Panic,
        Fail(io::ErrorKind),
    }

    /// Says once, before anything else, what is to go wrong. Says what cannot be understood.
    pub fn arm(text: &str) -> Result<(), String> {
        let mut plan = Plan::default();
        for word in text.split(',') {
            plan.take(word).ok_or_else(|| format!("no such fault: {word}"))?;
        }
        PLAN.set(plan).map_err(|_| "armed twice".to_string())
    }

    impl Plan {
        fn take(&mut self, word: &str) -> Option<()> {
            if let Some(file) = word.strip_prefix("record:") {
                self.record = Some(Mutex::new(File::options().append(true).create(true).open(file).ok()?));
            } else if let Some(bytes) = word.strip_prefix("batch:") {
                self.batch = Some(bytes.parse().ok()?);
            } else if let Some(number) = word.strip_prefix("line@") {
                self.line = Some(number.parse().ok()?);
            } else {
                let (kind, at) = word.split_once('@')?;
                let lasting = at.ends_with('+');
                self.fault = Some(Fault { kind: kind_of(kind)?, at: at.trim_end_matches('+').parse().ok()?, lasting });
            }
            Some(())
        }
    }

    fn kind_of(name: &str) -> Option<Kind> {
        Some(match name {
            "kill" => Kind::Kill,
            "stop" => Kind::Stop,
            "panic" => Kind::Panic,
            "eio" => Kind::Fail(io::ErrorKind::Other),
            "enospc" => Kind::Fail(io::ErrorKind::StorageFull),
            _ => return None,
        })
    }

    /// Counts what is about to be done, and lets it fail if that is the plan.
    pub fn point(op: Op<'_>) -> io::Result<()> {
        let Some(plan) = PLAN.get() else { return Ok(()) };
        if let Some(record) = &plan.record {
            let mut file = record.lock().unwrap_or_else(PoisonError::into_inner);
            file.write_all(&written(op))?;
        }
        let number = POINTS.fetch_add(1, Ordering::SeqCst) + 1;
        match &plan.fault {
            Some(fault) if number == fault.at || fault.lasting && number > fault.at => strike(fault.kind, number),
            _ => Ok(()),
        }
    }

    fn strike(kind: Kind, number: u64) -> io::Result<()> {
        match kind {
            Kind::Kill => signal(true),
            Kind::Stop => signal(false),
            Kind::Panic => panic!("fault at point {number}"),
            Kind::Fail(kind) => return Err(io::Error::new(kind, format!("fault at point {number}"))),
        }
        Ok(())
    }

    #[cfg(unix)]
    fn signal(deadly: bool) {
        use rustix::process::{Signal, getpid, kill_process};
        let _ = kill_process(getpid(), if deadly { Signal::KILL } else { Signal::STOP });
        if deadly {
            loop {
                std::thread::park();
            }
        }
    }

    #[cfg(not(unix))]
    fn signal(_: bool) {}

    /// Counts the lines that are taken apart, and panics at one if that is the plan.
    pub fn line() {
        let Some(line) = PLAN.get().and_then(|plan| plan.line) else { return };
        assert!(LINES.fetch_add(1, Ordering::SeqCst) + 1 != line, "fault at line {line}");
    }

    /// After how many bytes to commit.
    pub fn batch(usual: u64) -> u64 {
        PLAN.get().and_then(|plan| plan.batch).unwrap_or(usual)
    }

    /// One point as bytes: a letter, then twice a length and so many bytes.
    fn written(op: Op<'_>) -> Vec<u8> {
        let (letter, path, more): (u8, &[u8], &[u8]) = match op {
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
        [&[letter][..], &length(path), path, &length(more), more].concat()
    }

    fn bytes(path: &Path) -> &[u8] {
        path.as_os_str().as_encoded_bytes()
    }
}
