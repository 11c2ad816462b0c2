//! Brings the index up to date: discover → plan → lines → events → documents → index.
//!
//! Files are read in parallel, the largest first. Each file is read in batches, and each batch ends with a checkpoint.
//! A commit happens only when no batch is open, so in every commit the documents of each file match its checkpoint. A
//! run that has nothing to do opens no writer and writes nothing.

mod gone_files;
mod plan;
mod file_change;
mod report;
mod subagent_copies;
mod commit_gate;
mod read_file;
mod carry_over;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Problem, Result};
use crate::index::{IndexFolder, LockedFolder, Predecessor, Reader, RunSize, Writer};
use crate::transcript::discover::{Root, Scan, Source, SourceKind, discover, discover_around};
use crate::transcript::lines::Transcript;
use crate::units::{bytes, count};
use commit_gate::CommitGate;
use plan::{Plan, Work};
pub use report::{Report, Unwatched, Watch};

/// Runs with fewer bytes to read than this are small.
const SMALL_RUN: u64 = 4 << 20;

/// Options of an update.
#[derive(Clone, Debug, Default)]
pub struct UpdateOptions {
    /// The current time, in milliseconds since 1970.
    pub now: i64,
    /// Read everything again, into a new index.
    pub rebuild: bool,
    /// Accept that more than half of all files have vanished.
    pub confirm: bool,
    /// Longest wait for another run to end.
    pub wait: Duration,
    /// Look only at these files, if they are indexed already. No other file is checked or recorded as gone. Empty for
    /// all files.
    pub only: Vec<PathBuf>,
}

/// Brings the index up to date.
pub fn update(folder: &IndexFolder, roots: &[Root], options: &UpdateOptions, watch: &dyn Watch) -> Result<Report> {
    if !options.rebuild
        && !options.only.is_empty()
        && let Some(report) = update_named(folder, roots, options, watch)?
    {
        return Ok(report);
    }
    let scan = discover(roots);
    let run = Run { scan: &scan, roots, options, watch };
    let stamp = folder.stamp();
    let planned = run.plan(folder);
    if let Ok(Some(plan)) = &planned
        && !options.rebuild
        && plan.is_empty()
        && !plan.suspect
    {
        if plan.has_leftovers || folder.has_unfinished() {
            // Taking the lock cleans up. If it fails, another process is writing or the folder is read-only; both are
            // fine.
            let _ = folder.lock(Duration::ZERO);
        }
        return Ok(Report::of_scan(&scan, plan));
    }
    let locked = folder.lock(options.wait)?;
    // Another run may have done the work while we waited.
    let is_as_planned = stamp.is_some() && folder.stamp() == stamp;
    let planned = if is_as_planned { planned } else { run.plan(folder) };
    tidy_if_unfinished(&locked, run.carry_out(&locked, planned))
}

/// Inputs of one update run.
#[derive(Clone, Copy)]
struct Run<'a> {
    scan: &'a Scan,
    roots: &'a [Root],
    options: &'a UpdateOptions,
    watch: &'a dyn Watch,
}

impl Run<'_> {
    /// Plans the run, if there is an index.
    fn plan(self, folder: &IndexFolder) -> Result<Option<Plan>> {
        let Some(reader) = folder.read()? else { return Ok(None) };
        let plan = Plan::since(&reader, self.scan, self.roots, self.options.confirm)?;
        Ok(Some(Plan { has_leftovers: reader.has_leftovers(), ..plan }))
    }

    /// Carries out the plan, or builds a new index if the existing one is unusable.
    fn carry_out(self, locked: &LockedFolder<'_>, planned: Result<Option<Plan>>) -> Result<Report> {
        if self.options.rebuild {
            return self.rebuild(locked, "requested");
        }
        let done = match planned {
            Ok(Some(plan)) => self.add(locked, &plan, false),
            Ok(None) if locked.has_only_other_indexes() => {
                return self.rebuild(locked, "the old one was damaged or made by another version");
            }
            Ok(None) => self.add(locked, &Plan::from_scratch(self.scan, &HashSet::new()), true),
            Err(error) => Err(error),
        };
        match done {
            Err(error) if error.kind == ErrorKind::Damaged => {
                locked.move_damaged_aside()?;
                self.rebuild(locked, &error.to_string())
            }
            done => done,
        }
    }

    /// Reads the planned files into the existing index, or into the first one.
    fn add(self, locked: &LockedFolder<'_>, plan: &Plan, fresh: bool) -> Result<Report> {
        let mut report = Report::of_scan(self.scan, plan);
        if plan.is_empty() && !fresh && !plan.suspect {
            return Ok(report);
        }
        let size = match plan.bytes() {
            ..SMALL_RUN => RunSize::Small,
            _ => RunSize::Large,
        };
        let space_needed = |error| with_space_needed(error, plan, locked);
        let writer =
            self.read_all(locked.write(size).map_err(space_needed)?, plan, fresh, &mut report).map_err(space_needed)?;
        if !report.interrupted {
            for before in &plan.gone {
                let gone = before.clone().gone(self.options.now);
                writer.checkpoint(&gone, gone.title(), true)?;
                report.gone += 1;
            }
        }
        self.watch.finishing();
        writer.end().map_err(space_needed)?;
        // The index itself contains them too; the record matters only if it is damaged.
        let _ = locked.record_forgotten(&plan.forgotten);
        Ok(report)
    }

    /// Reads everything into a new index next to the old one, copies what only the old one has, and swaps them.
    fn rebuild(self, locked: &LockedFolder<'_>, why: &str) -> Result<Report> {
        let Self { scan, roots, options, watch } = self;
        let (old, lost) = locked.predecessors();
        let mut forgotten = carry_over::forgotten_sessions(&old);
        if old.iter().any(Predecessor::has_unnamed_losses) {
            forgotten.extend(locked.recorded_forgotten());
        }
        let plan = Plan::from_scratch(scan, &forgotten);
        let mut report = Report { rebuilt: Some(why.to_string()), ..Report::of_scan(scan, &plan) };
        report.problems.extend(lost);
        let writer = self.read_all(locked.write_beside()?, &plan, true, &mut report)?;
        if report.interrupted {
            // A partial index must not replace a complete one.
            return Ok(report);
        }
        let unread = std::mem::take(&mut report.unread);
        let sources = carry_over::Sources { scan, roots, unread: &unread, confirm: options.confirm, now: options.now };
        let losses = carry_over::take_over(&old, &plan, sources, &writer, &mut report)?;
        watch.finishing();
        writer.end()?;
        locked.record_losses(&losses.all)?;
        locked.swap_in()?;
        // What could not be copied stays where it is, in case it can be read some day.
        let is_complete = |index: &&Predecessor| !losses.folders.contains(index.path());
        old.iter().filter(is_complete).for_each(|index| locked.mark_taken_over(index.path()));
        let _ = locked.record_forgotten(&plan.forgotten);
        Ok(report)
    }

    /// Reads all planned files.
    fn read_all(self, writer: Writer, plan: &Plan, fresh: bool, report: &mut Report) -> Result<Writer> {
        self.watch.planned(plan.work.len(), plan.bytes());
        let gate = CommitGate::new(writer, self.scan, plan, fresh);
        // Subagents first: a change in a subagent's transcript may require reading the transcripts of its parents
        // again. In a new index there is no change.
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

    /// Reads files in parallel, in the given order.
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

/// Number of threads that read files. More than four do not help: indexing takes most of the time.
fn readers_for(files: usize) -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(4).min(files.max(1))
}

fn rayon_pool(threads: usize) -> Result<rayon::ThreadPool> {
    let built = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    built.map_err(|error| Error::new(ErrorKind::Other, "cannot start a thread").because(error))
}

/// Reads new lines of the named files. `None` if that is not enough: one of them is new, moved or gone, or the index
/// must be checked. Then a full run has to look at everything.
fn update_named(
    folder: &IndexFolder,
    roots: &[Root],
    options: &UpdateOptions,
    watch: &dyn Watch,
) -> Result<Option<Report>> {
    let Some(scan) = discover_around(roots, &options.only) else { return Ok(None) };
    let planned = || match folder.read() {
        Ok(Some(reader)) => Plan::for_named(&reader, &scan, &options.only),
        _ => Ok(None),
    };
    let stamp = folder.stamp();
    let Some(plan) = planned()? else { return Ok(None) };
    if plan.is_empty() {
        return Ok(Some(Report::of_scan(&scan, &plan)));
    }
    let locked = folder.lock(options.wait)?;
    // Another run may have done the work, or changed everything, while we waited.
    let is_as_planned = stamp.is_some() && folder.stamp() == stamp;
    let plan = if is_as_planned { Some(plan) } else { planned()? };
    let Some(plan) = plan else { return Ok(None) };
    let run = Run { scan: &scan, roots, options, watch };
    match tidy_if_unfinished(&locked, run.add(&locked, &plan, false)) {
        Err(error) if error.kind == ErrorKind::Damaged => Ok(None),
        done => done.map(Some),
    }
}

/// Frees disk space used by a run that did not finish.
fn tidy_if_unfinished(locked: &LockedFolder<'_>, done: Result<Report>) -> Result<Report> {
    if done.as_ref().map_or(true, |report| report.interrupted) {
        locked.tidy();
    }
    done
}

/// Adds the required disk space to an error that reports a full disk.
fn with_space_needed(error: Error, plan: &Plan, locked: &LockedFolder<'_>) -> Error {
    let full = [std::io::ErrorKind::StorageFull, std::io::ErrorKind::QuotaExceeded];
    if !error.io_kind().is_some_and(|kind| full.contains(&kind)) {
        return error;
    }
    // An index takes about a fifth of the size of its transcripts. While merging, it temporarily takes twice that.
    let megabytes = plan.bytes() * 2 / 5 / 1_000_000 + 20;
    let place = locked.directory();
    error.hint(format!(
        "this needs about {megabytes} MB in {}; what was indexed so far is kept, and the next run continues from there",
        place.display()
    ))
}

/// Amount of data that is not indexed yet.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct Lag {
    /// Files to be read, or to be recorded as gone.
    pub files: usize,
    /// Bytes to be read.
    pub bytes: u64,
}

impl std::fmt::Display for Lag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} behind ({} to read)", count(self.files, "file"), bytes(self.bytes))
    }
}

/// Returns the amount of data that is not indexed yet. Costs one directory walk and reads no transcript.
pub fn lag(reader: &Reader, roots: &[Root]) -> Result<(Lag, Scan)> {
    let scan = discover(roots);
    let plan = Plan::since(reader, &scan, roots, false)?;
    Ok((lag_of(&plan), scan))
}

fn lag_of(plan: &Plan) -> Lag {
    Lag { files: plan.work.len() + plan.gone.len(), bytes: plan.bytes() }
}

/// Returns what [`lag`] returns, the problems that prevent files from being read, and subagent descriptions that cannot
/// be parsed. A run reports the problems too, but a later caller has not seen that report.
pub fn lag_and_problems(reader: &Reader, roots: &[Root]) -> Result<(Lag, Scan, Vec<Problem>)> {
    let scan = discover(roots);
    let plan = Plan::since(reader, &scan, roots, false)?;
    let unread = plan.work.iter().filter_map(|work| {
        let error = Transcript::open(&work.source.path).err()?;
        (error.kind() != std::io::ErrorKind::NotFound).then(|| Problem::with_path(&work.source.path, error.to_string()))
    });
    let description_problem = |source: &Source| read_file::description_of(source)?.err();
    let descriptions: Vec<Problem> = scan.sources.par_iter().filter_map(description_problem).collect();
    let problems = unread.chain(descriptions).collect();
    Ok((lag_of(&plan), scan, problems))
}
