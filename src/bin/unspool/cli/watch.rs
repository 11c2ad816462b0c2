//! `unspool watch`: keeps the index current while sessions are written.

use clap::Args;

use crate::config::Config;
use crate::exit_code;
use crate::out;
use crate::progress::stop_on_signals;
use crate::watch;

/// Keep the index current while sessions are written
///
/// Follows the roots until it is stopped: what is written can be found within two seconds. Where the system cannot
/// tell of changes (network folders, too many folders) it looks for itself every few seconds. There can be only one.
#[derive(Args, Debug)]
pub(crate) struct WatchArgs {
    /// Look every few seconds instead of waiting to be told of changes
    #[arg(long)]
    poll: bool,

    /// Say nothing unless something is wrong
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn run(config: &Config, args: &WatchArgs) -> anyhow::Result<u8> {
    let _only = config.local.folder().watch_lock()?;
    stop_on_signals();
    if !args.quiet {
        let screen = config.screen();
        let roots: Vec<String> = config.roots.iter().map(|root| screen.path(&root.path)).collect();
        out::note(&format!("watching {}; Ctrl-C ends it", roots.join(", ")));
    }
    watch::follow(config, args.poll)?;
    Ok(exit_code::OK)
}
