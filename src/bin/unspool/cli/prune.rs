//! `unspool prune`: takes what Claude Code has deleted out of the index too.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use unspool::archive::upkeep::Removed;
use unspool::render::terminal::style::count;

use crate::config::Config;
use crate::exit_code;
use crate::out;

/// Remove sessions from the index whose transcripts Claude Code has deleted
///
/// This cannot be undone: the index is the only place that still has them.
#[derive(Args, Debug)]
pub(crate) struct PruneArgs {
    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(config: &Config, args: &PruneArgs) -> anyhow::Result<u8> {
    let planned = config.local.prunable()?;
    let what = describe(&planned);
    if planned.files.is_empty() && !args.dry_run {
        out::print(config.color, |out| writeln!(out, "nothing to remove: no indexed file is gone"))?;
        return Ok(exit_code::OK);
    }
    if args.dry_run {
        let screen = config.screen();
        out::print(config.color, |out| {
            planned.files.iter().try_for_each(|file| writeln!(out, "{}", screen.path(file)))?;
            writeln!(out, "{what} would be removed")
        })?;
        return Ok(exit_code::OK);
    }
    if !args.yes && !confirmed(&format!("Remove {what} for good?"))? {
        return Ok(exit_code::NOTHING);
    }
    let removed = config.local.prune(Duration::from_secs(5))?;
    out::print(config.color, |out| writeln!(out, "removed {}", describe(&removed)))?;
    Ok(exit_code::OK)
}

/// Says what goes.
pub(super) fn describe(removed: &Removed) -> String {
    let documents = usize::try_from(removed.documents).unwrap_or(usize::MAX);
    format!("{} with {}", count(removed.files.len(), "file"), count(documents, "document"))
}

/// Asks before something is lost; where nobody can be asked, the answer has to be in the command.
pub(super) fn confirmed(question: &str) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("this removes things for good and there is nobody to ask; repeat it with --yes");
    }
    let mut stderr = std::io::stderr().lock();
    write!(stderr, "{question} [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
