//! `unspool prune`: removes from the index the sessions that Claude Code has deleted.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use unspool::archive::removal::Removed;
use unspool::render::terminal::style::count;

use crate::config::Config;
use crate::exit_code;
use crate::out;

/// Remove sessions whose transcripts Claude Code has deleted
///
/// This cannot be undone: the index has the only copy.
#[derive(Args, Debug)]
pub(crate) struct PruneArgs {
    /// Only show what would be removed
    #[arg(long)]
    dry_run: bool,

    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(config: &Config, args: &PruneArgs) -> anyhow::Result<u8> {
    let planned = config.local.prunable()?;
    let what = describe(&planned);
    if planned.files.is_empty() && !args.dry_run {
        out::print(config.color, |out| writeln!(out, "nothing to remove: all indexed files still exist"))?;
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
    if !args.yes && !confirmed(&format!("Permanently remove {what}?"))? {
        return Ok(exit_code::NOTHING);
    }
    let removed = config.local.prune(Duration::from_secs(5))?;
    out::print(config.color, |out| writeln!(out, "removed {}", describe(&removed)))?;
    Ok(exit_code::OK)
}

/// Describes what is removed.
pub(super) fn describe(removed: &Removed) -> String {
    let documents = usize::try_from(removed.documents).unwrap_or(usize::MAX);
    format!("{} with {}", count(removed.files.len(), "file"), count(documents, "document"))
}

/// Asks for confirmation. Fails without a terminal, where `--yes` is required.
pub(super) fn confirmed(question: &str) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("this removes data permanently, and there is no terminal to confirm on; run it again with --yes");
    }
    let mut stderr = std::io::stderr().lock();
    write!(stderr, "{question} [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
