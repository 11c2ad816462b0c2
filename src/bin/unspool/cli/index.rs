//! `unspool index`: updates the index.

use std::time::{Duration, Instant};

use clap::Args;
use unspool::render;
use unspool::update::{Report, UpdateOptions, update};

use crate::claim::Claim;
use crate::cli::backup::{self, BackupPace};
use crate::config::{self, Config};
use crate::exit_code;
use crate::out;
use crate::progress::{Progress, stop_on_signals};
use crate::schedule::Task;
use crate::schedule::record;

/// Update the index
///
/// Reads only what is new; an unchanged file takes one stat call. Sessions that Claude Code has deleted stay in the
/// index. An interrupted run keeps what it has done.
#[derive(Args, Debug)]
pub(crate) struct IndexArgs {
    /// Read everything again into a new index, then replace the old one
    #[arg(long)]
    rebuild: bool,

    /// Print only errors and problems
    #[arg(long, short)]
    quiet: bool,

    /// Report as one JSON object
    #[arg(long)]
    json: bool,

    /// Confirm that more than half of the files were deleted
    #[arg(long)]
    confirm: bool,

    /// Wait up to this long for another run to finish
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    wait: u64,

    /// Read only this transcript and its subagents'; if it is new, everything is read; can be repeated
    #[arg(long, value_name = "FILE")]
    file: Vec<std::path::PathBuf>,

    /// Wait a moment first
    #[arg(long, hide = true)]
    settle: bool,

    /// For timers: not an error if another run is in progress; `status` shows the result
    #[arg(long)]
    scheduled: bool,

    /// Write a backup to this file after the run, if it is due
    #[arg(long, value_name = "FILE", requires = "backup_every")]
    backup: Option<std::path::PathBuf>,

    /// How often a backup is due
    #[arg(long, value_name = "daily|weekly", hide_possible_values = true, requires = "backup")]
    backup_every: Option<BackupPace>,
}

pub(crate) fn run(config: &Config, args: &IndexArgs) -> anyhow::Result<u8> {
    stop_on_signals();
    if args.scheduled {
        let task = if args.rebuild { Task::Rebuild } else { Task::Index };
        return record::kept(&config.local, task, config::now, || run_once(config, args));
    }
    run_once(config, args).map(|code| code.unwrap_or(exit_code::OK))
}

/// Updates the index. Returns `None` if another run holds the lock and `--scheduled` is set.
fn run_once(config: &Config, args: &IndexArgs) -> anyhow::Result<Option<u8>> {
    let start = Instant::now();
    let progress = Progress::new(args.quiet || args.json);
    let options = UpdateOptions {
        now: config::now(),
        rebuild: args.rebuild,
        confirm: args.confirm,
        wait: Duration::from_secs(args.wait),
        only: args.file.iter().map(std::path::absolute).collect::<Result<_, _>>()?,
    };
    if args.settle && !settle(config, &options.only) {
        return Ok(Some(exit_code::OK));
    }
    let updated = update(config.local.folder(), &config.roots, &options, &progress);
    progress.clear();
    let report = match updated {
        Err(error) if error.kind == unspool::error::ErrorKind::Busy && args.scheduled => {
            out::note(&error.to_string());
            return Ok(None);
        }
        updated => updated?,
    };
    let seconds = start.elapsed().as_secs_f64();
    let code = exit_code(&report);
    if args.json {
        out::print(config.color, |out| render::json::report(out, &report, seconds))?;
    } else if !args.quiet {
        out::print(config.color, |out| config.screen().report(out, &report, seconds))?;
    } else {
        report
            .problems
            .iter()
            .for_each(|problem| out::note(&format!("{}: {}", problem.path.display(), problem.reason)));
    }
    Ok(Some(code.max(back_up(config, args, &report)?)))
}

/// Waits a moment, because Claude Code may still be writing the lines that its hook reported. Returns false if another
/// run that has not started to read yet will read the same.
fn settle(config: &Config, transcripts: &[std::path::PathBuf]) -> bool {
    let claim = Claim::take(&Claim::path(|name| config.local.folder().beside(name), transcripts));
    if matches!(claim, Ok(None)) {
        return false;
    }
    std::thread::sleep(Duration::from_millis(300));
    true
}

/// Writes a backup if that was requested and is due. Returns the exit code for it.
fn back_up(config: &Config, args: &IndexArgs, report: &Report) -> anyhow::Result<u8> {
    let (Some(file), Some(pace), false) = (&args.backup, args.backup_every, report.interrupted) else {
        return Ok(exit_code::OK);
    };
    let problems = backup::write_if_due(config, file, pace)?;
    problems.iter().for_each(|problem| out::note(problem));
    Ok(if problems.is_empty() { exit_code::OK } else { exit_code::PROBLEMS })
}

fn exit_code(report: &Report) -> u8 {
    if report.interrupted {
        exit_code::INTERRUPTED
    } else if report.failed > 0 || report.bad > 0 || report.oversized > 0 || !report.problems.is_empty() {
        exit_code::PROBLEMS
    } else {
        exit_code::OK
    }
}
