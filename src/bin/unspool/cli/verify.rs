//! `unspool verify`: checks the index.

use clap::Args;
use unspool::error::{Error, ErrorKind};
use unspool::render;

use crate::config::{self, Config};
use crate::exit_code;
use crate::out;
use crate::schedule::Task;
use crate::schedule::record;

/// Check that the index is intact and matches the transcripts
///
/// Compares the index files with their checksums, reads every stored document, and compares the documents with the
/// records of what was read, and the end of each indexed file with its transcript. Changes nothing.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// Compare every indexed byte with the transcripts, not only the ends
    #[arg(long)]
    deep: bool,

    /// Report as one JSON object
    #[arg(long)]
    json: bool,

    /// For timers: print only problems; `status` shows the result
    #[arg(long)]
    scheduled: bool,
}

pub(crate) fn run(config: &Config, args: &VerifyArgs) -> anyhow::Result<u8> {
    if args.scheduled {
        return record::kept(&config.local, Task::Verify, config::now, || verify_once(config, args).map(Some));
    }
    verify_once(config, args)
}

fn verify_once(config: &Config, args: &VerifyArgs) -> anyhow::Result<u8> {
    let verdict = config.local.verify(args.deep)?;
    if args.scheduled && verdict.problems.is_empty() {
        return Ok(exit_code::OK);
    }
    out::print(config.color, |out| {
        if args.json { render::json::verdict(out, &verdict) } else { config.screen().verdict(out, &verdict) }
    })?;
    if args.scheduled {
        let found = unspool::render::terminal::style::count(verdict.problems.len(), "problem");
        return Err(Error::new(ErrorKind::Other, format!("the check found {found}"))
            .hint("run `unspool verify`")
            .into());
    }
    Ok(if verdict.problems.is_empty() { exit_code::OK } else { exit_code::PROBLEMS })
}
