//! The pipeline: discover → plan → lines → events → documents → index.
//!
//! Files are read in parallel, the largest first. Each file is read in units; a unit ends with a checkpoint, and a
//! commit happens only when no unit is open, so every commit holds, of every file, exactly what its checkpoint
//! says. A run that has nothing to do opens no writer and writes nothing.

mod plan;
mod report;
mod subagents;
mod commit_gate;
mod read_file;
mod carry_over;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Problem, Result};
use crate::index::{IndexFolder, LockedFolder, Reader, RunSize, Writer};
use crate::transcript::discover::{Root, Scan, SourceKind, discover, discover_around};
use crate::transcript::lines::Transcript;
use commit_gate::CommitGate;
use plan::{Plan, Work};
pub use report::{Report, Unwatched, Watch};

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

/// Brings the index up to date.
pub fn update(store: &IndexFolder, roots: &[Root], options: &UpdateOptions, watch: &dyn Watch) -> Result<Report> {
    if !options.rebuild
        && !options.only.is_empty()
        && let Some(report) = update_named(store, roots, options, watch)?
    {
        return Ok(report);
    }
    let scan = discover(roots);
    let run = Run { scan: &scan, roots, options, watch };
    let stamp = store.stamp();
    let planned = run.plan(store);
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
    let planned = if is_as_planned { planned } else { run.plan(store) };
    tidied(&locked, run.carry_out(&locked, planned))
}

/// What a run goes by.
#[derive(Clone, Copy)]
struct Run<'a> {
    scan: &'a Scan,
    roots: &'a [Root],
    options: &'a UpdateOptions,
    watch: &'a dyn Watch,
}

impl Run<'_> {
    /// What is to be done, if there is an index.
    fn plan(self, store: &IndexFolder) -> Result<Option<Plan>> {
        let Some(reader) = store.read()? else { return Ok(None) };
        let plan = Plan::since(&reader, self.scan, self.roots, self.options.confirm)?;
        Ok(Some(Plan { litter: reader.has_leftovers(), ..plan }))
    }

    /// Does what is planned, or makes a new index where the one that is there is of no use.
    fn carry_out(self, locked: &LockedFolder<'_>, planned: Result<Option<Plan>>) -> Result<Report> {
        if self.options.rebuild {
            return self.rebuild(locked, "asked for");
        }
        let done = match planned {
            Ok(Some(plan)) => self.add(locked, &plan, false),
            Ok(None) if locked.has_only_relatives() => {
                return self.rebuild(locked, "the old one was damaged or made by another version");
            }
            Ok(None) => self.add(locked, &Plan::from_scratch(self.scan, &HashSet::new()), true),
            Err(error) => Err(error),
        };
        match done {
            Err(error) if error.kind == ErrorKind::Damaged => {
                locked.make_way()?;
                self.rebuild(locked, &error.to_string())
            }
            done => done,
        }
    }

    /// Reads what is planned into the index that is there, or into the first one.
    fn add(self, locked: &LockedFolder<'_>, plan: &Plan, fresh: bool) -> Result<Report> {
        let mut report = Report::of_scan(self.scan, plan);
        if plan.is_empty() && !fresh && !plan.suspect {
            return Ok(report);
        }
        let size = match plan.bytes() {
            ..SMALL_RUN => RunSize::Small,
            _ => RunSize::Large,
        };
        let need = |error| with_need(error, plan, locked);
        let writer = self.read_all(locked.write(size).map_err(need)?, plan, fresh, &mut report).map_err(need)?;
        if !report.interrupted {
            for before in &plan.gone {
                let gone = before.clone().gone(self.options.now);
                writer.checkpoint(&gone, gone.title(), true)?;
                report.gone += 1;
            }
        }
        self.watch.finishing();
        writer.end().map_err(need)?;
        Ok(report)
    }

    /// Reads everything into a new index beside the old one, takes over what only the old one has, and swaps them.
    fn rebuild(self, locked: &LockedFolder<'_>, why: &str) -> Result<Report> {
        let Self { scan, roots, options, watch } = self;
        let (old, lost) = locked.predecessors();
        let plan = Plan::from_scratch(scan, &carry_over::forgotten_sessions(&old));
        let mut report = Report { rebuilt: Some(why.to_string()), ..Report::of_scan(scan, &plan) };
        report.problems.extend(lost);
        let writer = self.read_all(locked.write_beside()?, &plan, true, &mut report)?;
        if report.interrupted {
            // Half an index is no replacement for a whole one.
            return Ok(report);
        }
        let unread = std::mem::take(&mut report.unread);
        let sources = carry_over::Sources { scan, roots, unread: &unread, confirm: options.confirm, now: options.now };
        carry_over::take_over(&old, &plan, sources, &writer, &mut report)?;
        watch.finishing();
        writer.end()?;
        locked.swap_in()?;
        Ok(report)
    }

    /// Reads all planned files.
    fn read_all(self, writer: Writer, plan: &Plan, fresh: bool, report: &mut Report) -> Result<Writer> {
        self.watch.planned(plan.work.len(), plan.bytes());
        let gate = CommitGate::new(writer, self.scan, plan, fresh);
        // What has become of a subagent's transcript may concern those of its parents. At first there is nothing to become.
        let (first, then): (Vec<&Work>, Vec<&Work>) =
            plan.work.iter().partition(|work| fresh || work.source.kind == SourceKind::Agent);
        self.read_some(&first, &gate, report)?;
        let reread_queue = gate.read_again(self.scan);
        let then =
            then.into_iter().filter(|work| !reread_queue.iter().any(|again| again.source.path == work.source.path));
        self.read_some(&then.chain(&reread_queue).collect::<Vec<_>>(), &gate, report)?;
        report.interrupted |= self.watch.stopped();
        let (writer, bytes) = gate.close();
        report.bytes = bytes;
        Ok(writer)
    }

    /// Reads files in parallel, in their order.
    fn read_some(self, files: &[&Work], gate: &CommitGate<'_>, report: &mut Report) -> Result<()> {
        let next = AtomicUsize::new(0);
        let outcomes = Mutex::new(Vec::new());
        let work = || -> Result<()> {
            while let Some(work) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.watch.stopped() || gate.has_failed() {
                    return Ok(());
                }
                let outcome = read_file::read_file(work, gate, self.watch).inspect_err(|_| gate.fail())?;
                outcomes.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
                self.watch.file_done();
            }
            Ok(())
        };
        let threads = readers_for(files.len());
        let results: Vec<Result<()>> =
            if threads == 1 { vec![work()] } else { rayon_pool(threads)?.broadcast(|_| work()) };
        results.into_iter().collect::<Result<Vec<()>>>()?;
        for outcome in outcomes.into_inner().unwrap_or_else(PoisonError::into_inner) {
            report.add(outcome);
        }
        Ok(())
    }
}

/// More readers than this do not help: the index is what takes the time.
fn readers_for(files: usize) -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(4).min(files.max(1))
}

fn rayon_pool(threads: usize) -> Result<rayon::ThreadPool> {
    let built = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    built.map_err(|error| Error::new(ErrorKind::Other, "cannot start a thread").because(error))
}

/// Reads what is new in the named files. None if that is not enough: one of them is new, moved or gone, or the index
/// itself needs attention. Whatever was named then is part of a look at everything.
fn update_named(
    store: &IndexFolder,
    roots: &[Root],
    options: &UpdateOptions,
    watch: &dyn Watch,
) -> Result<Option<Report>> {
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
    let run = Run { scan: &scan, roots, options, watch };
    match tidied(&locked, run.add(&locked, &plan, false)) {
        Err(error) if error.kind == ErrorKind::Damaged => Ok(None),
        done => done.map(Some),
    }
}

/// Gives back the room that a run has taken which did not come to its end.
fn tidied(locked: &LockedFolder<'_>, done: Result<Report>) -> Result<Report> {
    if done.as_ref().map_or(true, |report| report.interrupted) {
        locked.tidy();
    }
    done
}

/// Says how much room the work needs, when there was too little.
fn with_need(error: Error, plan: &Plan, locked: &LockedFolder<'_>) -> Error {
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
    let descriptions = scan.sources.iter().filter_map(|source| read_file::description_of(source)?.err());
    Ok(unread.chain(descriptions).collect())
}
