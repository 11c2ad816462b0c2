//! `unspool file`: which sessions touched a file.

use clap::Args;
use unspool::archive::history::{self, Here, Request, Scope};
use unspool::render;

use crate::cli::filter::FilterArgs;
use crate::cli::refresh::RefreshArgs;
use crate::config::Config;
use crate::exit_code;
use crate::out;
use crate::pager;

/// Show which sessions created, changed, renamed or deleted a file
///
/// PATH may be absolute, relative to this folder, a bare name, the tail of a path, a pattern such as 'src/**/*.rs', or
/// a folder. What a shell command does to a file (mv, rm, cp, sed -i, >, git mv, git checkout, patch) is inferred from
/// the command and marked so. Calls that failed or were denied are left out.
#[derive(Args, Debug)]
pub(crate) struct FileArgs {
    /// The file, folder or pattern
    #[arg(value_name = "PATH")]
    path: String,

    /// Also list who read it
    #[arg(long)]
    reads: bool,

    /// Also list who only mentioned it
    #[arg(long)]
    mentions: bool,

    /// List changes, reads, mentions, and calls of which no result is recorded
    #[arg(long)]
    all: bool,

    /// Show each change as a patch
    #[arg(long, conflicts_with = "json")]
    diff: bool,

    #[command(flatten)]
    filter: FilterArgs,

    /// Show secrets instead of masking them
    #[arg(long)]
    reveal: bool,

    /// One JSON object a line, for each action
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    refresh: RefreshArgs,
}

pub(crate) fn run(config: &Config, args: &FileArgs) -> anyhow::Result<u8> {
    let scope = Scope { reads: args.reads || args.all, mentions: args.mentions || args.all, unconfirmed: args.all };
    let request = Request {
        path: args.path.clone(),
        here: here(config)?,
        scope,
        diff: args.diff,
        filter: args.filter.filter(config)?,
        reveal: args.reveal,
    };
    let fresh = args.refresh.open(config)?;
    let files = history::file(&fresh.reader, &request)?;
    if files.is_empty() {
        if !args.json {
            out::note(&format!(
                "no session is known to have {} {}",
                if args.all { "named" } else { "changed" },
                args.path
            ));
        }
        return Ok(exit_code::NOTHING);
    }
    if args.json {
        out::print(config.color, |out| render::terminal::history::actions_json(out, &files))?;
    } else if out::is_for_people(config.color) {
        pager::print(config, |out| config.screen().actions(out, &files))?;
    } else if args.diff {
        out::print(config.color, |out| render::terminal::history::patches_plain(out, &files))?;
    } else {
        out::print(config.color, |out| render::terminal::history::actions_plain(out, &files))?;
    }
    Ok(exit_code::OK)
}

/// Where the user is.
pub(super) fn here(config: &Config) -> anyhow::Result<Here> {
    Ok(Here { cwd: std::env::current_dir()?.to_string_lossy().into_owned(), home: config.screen().home })
}
