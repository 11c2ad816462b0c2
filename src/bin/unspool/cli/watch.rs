//! `unspool watch`: keeps the index up to date while sessions are written.

use clap::Args;

use crate::config::Config;
use crate::exit_code;
use crate::out;
use crate::progress::stop_on_signals;
use crate::watch;

/// Keep the index up to date while sessions are written
///
/// Runs until it is stopped. New messages can be found within two seconds. If the system cannot report changes (network
/// folders, too many folders), all files are scanned every few seconds. Only one watch can run at a time.
#[derive(Args, Debug)]
pub(crate) struct WatchArgs {
    /// Scan all files every few seconds instead of waiting for file events
    #[arg(long)]
    poll: bool,

    /// Print only errors and problems
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn run(config: &Config, args: &WatchArgs) -> anyhow::Result<u8> {
    let _only = config.local.folder().watch_lock()?;
    stop_on_signals();
    if !args.quiet {
        let screen = config.screen();
        let roots: Vec<String> = config.roots.iter().map(|root| screen.path(&root.path)).collect();
        out::note(&format!("watching {}; press Ctrl-C to stop", roots.join(", ")));
    }
    watch::follow(config, args.poll)?;
    Ok(exit_code::OK)
}
