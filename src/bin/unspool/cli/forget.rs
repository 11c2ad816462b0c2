//! `unspool forget`: erases one session from the index.

use std::time::Duration;

use clap::Args;
use unspool::untrusted::one_line;

use crate::cli::prune::{confirmed, describe};
use crate::config::Config;
use crate::exit_code;
use crate::out;

/// Permanently erase one session from the index
///
/// Removes every word of it from the index files and keeps later runs from reading it again. The transcript itself, if
/// it still exists, is not changed.
#[derive(Args, Debug)]
pub(crate) struct ForgetArgs {
    /// Session, by id or the start of it
    #[arg(value_name = "SESSION")]
    session: String,

    /// Only show what would be removed
    #[arg(long)]
    dry_run: bool,

    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(config: &Config, args: &ForgetArgs) -> anyhow::Result<u8> {
    let (session, planned) = config.local.forgettable(&args.session)?;
    let what = format!("session {}: {}", one_line(&session), describe(&planned));
    if args.dry_run {
        out::print(config.color, |out| writeln!(out, "{what} would be removed"))?;
        return Ok(exit_code::OK);
    }
    if !args.yes && !confirmed(&format!("Permanently erase {what} from the index?"))? {
        return Ok(exit_code::NOTHING);
    }
    config.local.forget(&session, Duration::from_secs(5))?;
    out::print(config.color, |out| writeln!(out, "erased {what}"))?;
    Ok(exit_code::OK)
}
