//! The pipeline: discover → plan → lines → events → documents → index.
//!
//! Files are read in parallel, the largest first. Each file is read in units; a unit ends with a checkpoint, and a
//! commit happens only when no unit is open, so every commit holds, of every file, exactly what its checkpoint
//! says. A run that has nothing to do opens no writer and writes nothing.

mod agents;
mod carry;
mod plan;
mod read;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use crate::discover::{Root, Scan, Source, SourceKind, discover, discover_around};
use crate::error::{Error, ErrorKind, Problem, Result};
use crate::fault;
use crate::index::{Checkpoint, FileKey, Locked, Reader, RunSize, Store, Writer};
use crate::lines::Transcript;
use agents::Agents;
use plan::{Plan, Work};

/// How much is read between two commits.
const COMMIT_EVERY: u64 = 256 << 20;
/// The same while an index is built from nothing. Each thread makes one segment of what is committed together: less would
/// make more of them, more would take more memory, and the more words there are, the longer takes each.
const COMMIT_FRESH: u64 = 2 << 30;
/// Runs with less to read than this are small.
const SMALL_RUN: u64 = 4 << 20;

/// How to bring an index up to date.
#[derive(Clone, Debug, Default)]
pub struct UpdateOptions {
    /// The time, in milliseconds since 1970.
    pub now: i64,
    /// Read everything again, into a new index.
    pub rebuild: bool,
    /// Believe it when more than half of all files have vanished.
    pub confirm: bool,
    /// How long to wait for another run to end.
    pub wait: Duration,
    /// Look only at these files, if they are known already; nothing else is checked or noted as gone. Empty for all.
    pub only: Vec<PathBuf>,
}

/// Is told how the work goes, and says when to stop.
pub trait Watch: Sync {
    /// So many files with so many bytes are to be read.
    fn planned(&self, files: usize, bytes: u64) {
        let _ = (files, bytes);
    }
    /// So many bytes more have been read.
    fn read(&self, bytes: u64) {
        let _ = bytes;
    }
    /// So many documents more have been made.
    fn documents(&self, documents: u64) {
        let _ = documents;
    }
    /// One file more is done.
    fn file_done(&self) {}
    /// Everything is read; what is left is merging and syncing.
    fn finishing(&self) {}
    /// Whether to stop at the next line, keeping what is done.
    fn stopped(&self) -> bool {
        false
    }
}

/// Tells nobody.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watch for Unwatched {}

/// What a run has done.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Files found.
    pub files: usize,
    /// Files that were as they were.
    pub unchanged: usize,
    /// Files read for the first time.
    pub new: usize,
    /// Files of which only the end was read.
    pub grown: usize,
    /// Files read again from the start.
    pub rewritten: usize,
    /// Files found under a new name.
    pub moved: usize,
    /// Files that are there no more; their documents stay.
    pub gone: usize,
    /// Files that could not be read.
    pub failed: usize,
    /// Documents added.
    pub documents: u64,
    /// Documents taken over from an older index, whose files are gone.
    pub carried: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Bytes of text in the documents added.
    pub text_bytes: u64,
    /// Lines that are no records.
    pub bad: u64,
    /// Lines too long to read.
    pub oversized: u64,
    /// Lines of unknown type.
    pub unknown: u64,
    /// Whether the run was stopped before its end.
    pub interrupted: bool,
    /// Whether a new index was built in place of a damaged or older one, and why.
    pub rebuilt: Option<String>,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// The files of which nothing could be read.
    pub unread: HashSet<FileKey>,
}

/// Brings the index up to date.
pub fn update(store: &Store, roots: &[Root], options: &UpdateOptions, watch: &dyn Watch) -> Result<Report> {
    if !options.rebuild
        && !options.only.is_empty()
        && let Some(report) = update_named(store, roots, options, watch)?
    {
        return Ok(report);
    }
    let scan = discover(roots);
    let stamp = store.stamp();
    let planned = pending(store, &scan, roots, options);
    if let Ok(Some(plan)) = &planned
        && !options.rebuild
        && plan.is_empty()
        && !plan.suspect
    {
        if plan.litter || store.has_unfinished() {
            // To lock is to tidy up. Where that cannot be had somebody is at work, or nothing can be changed.
            let _ = store.lock(Duration::ZERO);
        }
        return Ok(Report::of_scan(&scan, plan));
    }
    let locked = store.lock(options.wait)?;
    // Another run may have done it while we waited.
    let is_as_planned = stamp.is_some() && store.stamp() == stamp;
    let done = match if is_as_planned { planned } else { pending(store, &scan, roots, options) } {
        _ if options.rebuild => rebuild(&locked, &scan, roots, options, watch, "asked for"),
        Err(error) if error.kind == ErrorKind::Damaged => {
            locked.make_way()?;
            rebuild(&locked, &scan, roots, options, watch, &error.to_string())
        }
        Ok(None) if locked.has_only_relatives() => {
            rebuild(&locked, &scan, roots, options, watch, "the old one was damaged or made by another version")
        }
        Ok(None) => run(&locked, &scan, &Plan::from_scratch(&scan, &HashSet::new()), true, options, watch),
        Ok(Some(plan)) => match run(&locked, &scan, &plan, false, options, watch) {
            Err(error) if error.kind == ErrorKind::Damaged => {
                locked.make_way()?;
                rebuild(&locked, &scan, roots, options, watch, &error.to_string())
            }
            done => done,
        },
        Err(error) => Err(error),
    };
    tidied(&locked, done)
}

/// Gives back the room that a run has taken which did not come to its end.
fn tidied(locked: &Locked<'_>, done: Result<Report>) -> Result<Report> {
    if done.as_ref().map_or(true, |report| report.interrupted) {
        locked.tidy();
    }
    done
}

/// Reads what is new in the named files. None if that is not enough: one of them is new, moved or gone, or the index
/// itself needs attention. Whatever was named then is part of a look at everything.
fn update_named(store: &Store, roots: &[Root], options: &UpdateOptions, watch: &dyn Watch) -> Result<Option<Report>> {
    let Some(scan) = discover_around(roots, &options.only) else { return Ok(None) };
    let planned = || match store.read() {
        Ok(Some(reader)) => Plan::for_named(&reader, &scan, &options.only),
        _ => Ok(None),
    };
    let stamp = store.stamp();
    let Some(plan) = planned()? else { return Ok(None) };
    if plan.is_empty() {
        return Ok(Some(Report::of_scan(&scan, &plan)));
    }
    let locked = store.lock(options.wait)?;
    // Another run may have done it, or changed everything, while we waited.
    let is_as_planned = stamp.is_some() && store.stamp() == stamp;
    let plan = if is_as_planned { Some(plan) } else { planned()? };
    let Some(plan) = plan else { return Ok(None) };
    match tidied(&locked, run(&locked, &scan, &plan, false, options, watch)) {
        Err(error) if error.kind == ErrorKind::Damaged => Ok(None),
        done => done.map(Some),
    }
}

/// How far an index is behind.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Lag {
    /// Files to be read, or to be marked as gone.
    pub files: usize,
    /// Bytes to be read.
    pub bytes: u64,
}

/// Says how far an index is behind. Costs one walk, reads no file.
pub fn lag(reader: &Reader, roots: &[Root]) -> Result<(Lag, Scan)> {
    let scan = discover(roots);
    let plan = Plan::since(reader, &scan, roots, false)?;
    Ok((Lag { files: plan.work.len() + plan.gone.len(), bytes: plan.bytes() }, scan))
}

/// What keeps files that are yet to be read from being read, and descriptions of subagents that cannot be understood.
/// A run tells of them too, but who asks later has not seen that.
pub fn obstacles(reader: &Reader, scan: &Scan, roots: &[Root]) -> Result<Vec<Problem>> {
    let plan = Plan::since(reader, scan, roots, false)?;
    let unread = plan.work.iter().filter_map(|work| {
        let error = Transcript::open(&work.source.path).err()?;
        (error.kind() != std::io::ErrorKind::NotFound).then(|| Problem::with_path(&work.source.path, error.to_string()))
    });
    let descriptions = scan.sources.iter().filter_map(|source| read::description_of(source)?.err());
    Ok(unread.chain(descriptions).collect())
}

fn pending(store: &Store, scan: &Scan, roots: &[Root], options: &UpdateOptions) -> Result<Option<Plan>> {
    match store.read()? {
        Some(reader) => {
            let plan = Plan::since(&reader, scan, roots, options.confirm)?;
            Ok(Some(Plan { litter: reader.has_litter(), ..plan }))
        }
        None => Ok(None),
    }
}

/// Reads what is planned into the index that is there.
fn run(
    locked: &Locked<'_>,
    scan: &Scan,
    plan: &Plan,
    fresh: bool,
    options: &UpdateOptions,
    watch: &dyn Watch,
) -> Result<Report> {
    let mut report = Report::of_scan(scan, plan);
    if plan.is_empty() && !fresh && !plan.suspect {
        return Ok(report);
    }
    let size = match plan.bytes() {
        ..SMALL_RUN => RunSize::Small,
        _ if fresh => RunSize::Whole,
        _ => RunSize::Large,
    };
    let writer = locked.write(size).map_err(|error| with_need(error, plan, locked))?;
    let writer =
        read_all(writer, scan, plan, fresh, watch, &mut report).map_err(|error| with_need(error, plan, locked))?;
    if !report.interrupted {
        for before in &plan.gone {
            let gone = before.clone().gone(options.now);
            writer.checkpoint(&gone, gone.title(), true)?;
            report.gone += 1;
        }
    }
    watch.finishing();
    writer.end().map_err(|error| with_need(error, plan, locked))?;
    Ok(report)
}

/// Says how much room the work needs, when there was too little.
fn with_need(error: Error, plan: &Plan, locked: &Locked<'_>) -> Error {
    let full = [std::io::ErrorKind::StorageFull, std::io::ErrorKind::QuotaExceeded];
    if !error.io_kind().is_some_and(|kind| full.contains(&kind)) {
        return error;
    }
    // An index is about a fifth of what it was made from; merging needs it twice for a while.
    let megabytes = plan.bytes() * 2 / 5 / 1_000_000 + 20;
    let place = locked.directory();
    error.hint(format!(
        "this needs about {megabytes} MB in {}; what was committed before is safe, and the next run goes on from there",
        place.display()
    ))
}

/// Reads everything into a new index beside the old one, takes over what only the old one has, and swaps them.
fn rebuild(
    locked: &Locked<'_>,
    scan: &Scan,
    roots: &[Root],
    options: &UpdateOptions,
    watch: &dyn Watch,
    why: &str,
) -> Result<Report> {
    let (old, lost) = locked.predecessors();
    let forgotten = carry::forgotten_sessions(&old);
    let plan = Plan::from_scratch(scan, &forgotten);
    let mut report = Report { rebuilt: Some(why.to_string()), ..Report::of_scan(scan, &plan) };
    report.problems.extend(lost);
    let writer = read_all(locked.write_beside()?, scan, &plan, true, watch, &mut report)?;
    if report.interrupted {
        // Half an index is no replacement for a whole one.
        return Ok(report);
    }
    let unread = std::mem::take(&mut report.unread);
    let sources = carry::Sources { scan, roots, unread: &unread, confirm: options.confirm, now: options.now };
    carry::take_over(&old, &plan, sources, &writer, &mut report)?;
    watch.finishing();
    writer.end()?;
    locked.swap_in()?;
    Ok(report)
}

/// Reads all planned files, in parallel.
fn read_all(
    writer: Writer,
    scan: &Scan,
    plan: &Plan,
    fresh: bool,
    watch: &dyn Watch,
    report: &mut Report,
) -> Result<Writer> {
    watch.planned(plan.work.len(), plan.bytes());
    let gate = Gate::new(writer, scan, plan, fresh);
    // What has become of a subagent's transcript may concern those of its parents. At first there is nothing to become.
    let (first, then): (Vec<&Work>, Vec<&Work>) =
        plan.work.iter().partition(|work| fresh || work.source.kind == SourceKind::Agent);
    read_some(&first, &gate, watch, report)?;
    let bereft = gate.read_again(scan);
    let then = then.into_iter().filter(|work| !bereft.iter().any(|again| again.source.path == work.source.path));
    read_some(&then.chain(&bereft).collect::<Vec<_>>(), &gate, watch, report)?;
    report.interrupted |= watch.stopped();
    report.bytes = gate.read.load(Ordering::Relaxed);
    Ok(gate.writer.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn read_some(files: &[&Work], gate: &Gate<'_>, watch: &dyn Watch, report: &mut Report) -> Result<()> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::new());
    let work = || -> Result<()> {
        while let Some(work) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            if watch.stopped() || gate.failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            let outcome =
                read::read_file(work, gate, watch).inspect_err(|_| gate.failed.store(true, Ordering::Relaxed))?;
            outcomes.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
            watch.file_done();
        }
        Ok(())
    };
    let threads = readers_for(files.len());
    let results: Vec<Result<()>> = if threads == 1 { vec![work()] } else { rayon_pool(threads)?.broadcast(|_| work()) };
    results.into_iter().collect::<Result<Vec<()>>>()?;
    for outcome in outcomes.into_inner().unwrap_or_else(PoisonError::into_inner) {
        report.add(outcome);
    }
    Ok(())
}

/// More readers than this do not help: the index is what takes the time.
fn readers_for(files: usize) -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(4).min(files.max(1))
}

fn rayon_pool(threads: usize) -> Result<rayon::ThreadPool> {
    let built = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    built.map_err(|error| Error::new(ErrorKind::Other, "cannot start a thread").because(error))
}

/// Keeps commits and units apart: many units may be open at once, or one commit be made.
struct Gate<'a> {
    writer: RwLock<Writer>,
    /// Whether the index was empty at the start, so that there is nothing to be replaced.
    fresh: bool,
    /// Subagents that have a transcript of their own.
    agents: Agents<'a>,
    /// Transcripts that are to be read again, as those of their subagents no longer have what they had.
    bereft: Mutex<HashMap<FileKey, Checkpoint>>,
    /// Sessions the user wants nothing of.
    forgotten: &'a HashSet<String>,
    /// Bytes read in all.
    read: AtomicU64,
    uncommitted: AtomicU64,
    failed: AtomicBool,
}

/// An open unit.
struct Unit<'a>(RwLockReadGuard<'a, Writer>);

impl Unit<'_> {
    fn writer(&self) -> &Writer {
        &self.0
    }
}

impl<'a> Gate<'a> {
    fn new(writer: Writer, scan: &'a Scan, plan: &'a Plan, fresh: bool) -> Self {
        let writer = RwLock::new(writer);
        let forgotten = &plan.forgotten;
        Self {
            writer,
            fresh,
            agents: Agents::new(scan),
            bereft: Mutex::default(),
            forgotten,
            read: AtomicU64::new(0),
            uncommitted: AtomicU64::new(0),
            failed: AtomicBool::new(false),
        }
    }

    /// The transcripts that are to be read again.
    fn read_again(&self, scan: &Scan) -> Vec<Work> {
        let mut bereft = self.bereft.lock().unwrap_or_else(PoisonError::into_inner);
        let is_one = |source: &&Source| bereft.contains_key(&FileKey::of(&source.path));
        let sources: Vec<&Source> =
            if bereft.is_empty() { Vec::new() } else { scan.sources.iter().filter(is_one).collect() };
        sources.into_iter().map(|source| Work::new(source, bereft.remove(&FileKey::of(&source.path)))).collect()
    }

    fn enter(&self) -> Unit<'_> {
        Unit(self.writer.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes that a unit of so many bytes has ended, and commits when enough has been read.
    fn leave(&self, bytes: u64) -> Result<()> {
        self.read.fetch_add(bytes, Ordering::Relaxed);
        let waiting = self.uncommitted.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let enough = fault::batch(if self.fresh { COMMIT_FRESH } else { COMMIT_EVERY });
        if waiting < enough {
            return Ok(());
        }
        let mut writer = self.writer.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been quicker.
        if self.uncommitted.swap(0, Ordering::Relaxed) < enough {
            return Ok(());
        }
        writer.commit(false)
    }
}

/// How a file was read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum How {
    New,
    Grown,
    Touched,
    Rewritten,
    Moved,
    Failed,
}

/// What came of one file.
#[derive(Debug, Default)]
struct FileOutcome {
    how: Option<How>,
    documents: u64,
    text_bytes: u64,
    bad: u64,
    oversized: u64,
    unknown: u64,
    cut_short: bool,
    problems: Vec<Problem>,
    /// The file, if nothing of it could be read.
    unread: Option<FileKey>,
}

impl FileOutcome {
    /// Nothing could be read of a file; one that is there no more is no failure.
    fn failed(work: &plan::Work, error: &std::io::Error) -> Self {
        let unread = Some(FileKey::of(&work.source.path));
        if error.kind() == std::io::ErrorKind::NotFound {
            return Self { unread, ..Self::default() };
        }
        let problem = Problem::with_path(&work.source.path, error.to_string());
        Self { how: Some(How::Failed), problems: vec![problem], unread, ..Self::default() }
    }
}

impl Report {
    fn of_scan(scan: &Scan, plan: &Plan) -> Self {
        let problems = scan.problems.iter().chain(&plan.problems).cloned().collect();
        Self { files: scan.sources.len(), unchanged: plan.unchanged, problems, ..Self::default() }
    }

    fn add(&mut self, outcome: FileOutcome) {
        match outcome.how {
            Some(How::New) => self.new += 1,
            Some(How::Grown) => self.grown += 1,
            Some(How::Touched) => self.unchanged += 1,
            Some(How::Rewritten) => self.rewritten += 1,
            Some(How::Moved) => self.moved += 1,
            Some(How::Failed) => self.failed += 1,
            None => {}
        }
        self.documents += outcome.documents;
        self.text_bytes += outcome.text_bytes;
        self.bad += outcome.bad;
        self.oversized += outcome.oversized;
        self.unknown += outcome.unknown;
        self.interrupted |= outcome.cut_short;
        self.problems.extend(outcome.problems);
        self.unread.extend(outcome.unread);
    }
}
