//! `unspool restore`: puts a backup back into the index.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use unspool::archive::backup::{RestoreOptions, Restored};
use unspool::render::terminal::style::count;
use unspool::untrusted::one_line;

use crate::cli::backup::merge;
use crate::config::{self, Config};
use crate::exit_code;
use crate::out;
use crate::progress::{Progress, stop_on_signals};

const EXAMPLES: &str = "\
Examples:
  unspool restore ~/sessions.zst             restore what the index does not have
  unspool restore --partial ~/sessions.zst   the same, from a damaged backup";

/// Add the sessions of a backup to the index
///
/// Restores what `unspool backup` wrote, except what the index has already: sessions whose transcripts exist are not
/// changed, and restoring twice is the same as restoring once. Sessions that were forgotten stay forgotten. A damaged
/// backup is refused, unless --partial is given.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RestoreArgs {
    /// The backup
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Restore the intact parts of a damaged backup, and list what is lost
    #[arg(long)]
    partial: bool,

    /// Report as one JSON object
    #[arg(long)]
    json: bool,

    /// Wait up to this long for another run to finish
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    wait: u64,
}

pub(crate) fn run(config: &Config, args: &RestoreArgs) -> anyhow::Result<u8> {
    stop_on_signals();
    let progress = Progress::new(args.json);
    let wait = Duration::from_secs(args.wait);
    let options = RestoreOptions { now: config::now(), partial: args.partial, wait };
    let restored = config.local.restore(&std::path::absolute(&args.file)?, &options, &progress);
    progress.clear();
    let restored = restored?;
    out::print(config.color, |out| {
        if args.json {
            let mut line = serde_json::json!({"schema": 1, "type": "restore"});
            merge(&mut line, &restored);
            return writeln!(out, "{line}");
        }
        in_words(&restored).iter().try_for_each(|line| writeln!(out, "{}", one_line(line)))
    })?;
    let is_whole = restored.problems.is_empty() && restored.losses.is_empty();
    Ok(if is_whole { exit_code::OK } else { exit_code::PROBLEMS })
}

fn in_words(restored: &Restored) -> Vec<String> {
    let documents = usize::try_from(restored.documents).unwrap_or(usize::MAX);
    let mut lines = vec![if restored.files == 0 {
        "nothing to restore: the index has everything in this backup".to_string()
    } else {
        format!("restored {} with {}", count(restored.files, "transcript"), count(documents, "document"))
    }];
    if restored.files > 0 && restored.unchanged > 0 {
        lines.push(format!("{} already in the index", count(restored.unchanged, "transcript")));
    }
    if restored.left_out > 0 {
        lines.push(format!(
            "left out {} of sessions that were forgotten; they stay forgotten",
            count(restored.left_out, "transcript")
        ));
    }
    if restored.forgotten > 0 {
        lines.push(format!("{} of the backup stay forgotten", count(restored.forgotten, "forgotten session")));
    }
    for session in &restored.remembered {
        lines.push(format!(
            "session {session} was forgotten in the backup, but is in the index; `unspool forget {session}` erases it"
        ));
    }
    let problems = restored.problems.iter();
    lines.extend(problems.map(|problem| format!("problem: {}: {}", problem.path.display(), problem.reason)));
    lines.extend(restored.losses.iter().map(|loss| format!("lost: {loss}")));
    lines
}
