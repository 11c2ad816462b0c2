//! `unspool forget`: erases one session from the index.

use std::time::Duration;

use clap::Args;
use unspool::untrusted::one_line;

use crate::cli::prune::{confirmed, describe};
use crate::config::Config;
use crate::exit_code;
use crate::out;

/// Erase one session from the index, for good
///
/// Removes every word of it from the files of the index and keeps it out of later runs. The transcript itself, if it
/// is still there, is not touched.
#[derive(Args, Debug)]
pub(crate) struct ForgetArgs {
    /// The session's id, or the beginning of it
    #[arg(value_name = "SESSION")]
    session: String,

    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,

    /// Do not ask
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
    if !args.yes && !confirmed(&format!("Erase {what} from the index for good?"))? {
        return Ok(exit_code::NOTHING);
    }
    config.local.forget(&session, Duration::from_secs(5))?;
    out::print(config.color, |out| writeln!(out, "erased {what}"))?;
    Ok(exit_code::OK)
}
