//! `unspool status`: shows the state of the index.

use clap::Args;
use unspool::render;

use crate::cli::status_background;
use crate::config::Config;
use crate::exit_code;
use crate::out;
use crate::refresh::archive;

/// Show the state of the index, and what could not be read
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {
    /// List every file and line that could not be read
    #[arg(long)]
    problems: bool,

    /// Stop reporting messages that were lost with a damaged index
    #[arg(long)]
    acknowledge: bool,

    /// Report as one JSON object
    #[arg(long)]
    json: bool,

    /// Also list ignored files, and the types of skipped lines
    #[arg(long, short)]
    verbose: bool,
}

pub(crate) fn run(config: &Config, args: &StatusArgs) -> anyhow::Result<u8> {
    let status = archive(config).status()?;
    let index = config.local.directory();
    let roots: Vec<String> = config.roots.iter().map(|root| root.path.to_string_lossy().into_owned()).collect();
    let screen = config.screen();
    let freshness = status_background::freshness(config, &screen, &status)?;
    out::print(config.color, |out| {
        if args.json {
            return render::json::status(out, &index, &status, &freshness.json);
        }
        if args.problems {
            return screen.problems(out, &status.problems);
        }
        screen.status(out, &index, &roots, &status)?;
        status.losses.iter().try_for_each(|loss| screen.row(out, "lost", &loss.to_string()))?;
        freshness.rows.iter().try_for_each(|(name, value)| screen.row(out, name, value))?;
        if let Some(holder) = config.local.folder().writer_at_work() {
            writeln!(out, "an index run is in progress ({holder})")?;
        }
        if args.verbose {
            for (kind, number) in &status.skipped_types {
                writeln!(out, "skipped      {number:>9} × {}", unspool::untrusted::one_line(kind))?;
            }
            for (path, reason) in &status.scan.ignored {
                writeln!(out, "ignored      {}: {reason}", screen.path(path))?;
            }
        }
        Ok(())
    })?;
    if args.acknowledge {
        config.local.folder().acknowledge_losses()?;
    } else if !status.losses.is_empty() {
        out::note("these messages were lost with a damaged index; `unspool status --acknowledge` stops reporting them");
    }
    Ok(exit_code::OK)
}
