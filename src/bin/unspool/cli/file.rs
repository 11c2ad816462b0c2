//! `unspool file`: lists the sessions that touched a file.

use clap::Args;
use unspool::archive::FileAnswer;
use unspool::archive::request::{FileQuestion, FileRequest};
use unspool::render;
use unspool::untrusted;

use crate::agent;
use crate::cli::filter::FilterArgs;
use crate::cli::format;
use crate::config::Config;
use crate::exit_code;
use crate::out;
use crate::pager;
use crate::refresh::RefreshArgs;

/// Show which sessions created, changed, renamed or deleted a file
///
/// PATH may be absolute, relative to this folder, a file name, the end of a path, a pattern such as 'src/**/*.rs', or a
/// folder. The effects of shell commands (mv, rm, cp, sed -i, >, git mv, git checkout, patch) are inferred from the
/// command and marked as inferred. Calls that failed or were denied are left out.
#[derive(Args, Debug)]
pub(crate) struct FileArgs {
    /// File, folder or pattern
    #[arg(value_name = "PATH")]
    path: String,

    /// Also list reads
    #[arg(long)]
    reads: bool,

    /// Also list mentions
    #[arg(long)]
    mentions: bool,

    /// List changes, reads, mentions, and calls without a recorded result
    #[arg(long)]
    all: bool,

    /// Show each change as a patch; in a pipe, as input for `git apply` or `patch -p1`
    #[arg(long)]
    diff: bool,

    #[command(flatten)]
    filter: FilterArgs,

    /// Show secrets instead of masking them
    #[arg(long)]
    reveal: bool,

    /// Print one JSON object per line and action
    #[arg(long)]
    json: bool,

    /// With --format agent, skip the first N actions
    #[arg(long, value_name = "N", requires = "format", default_value_t = 0)]
    skip: usize,

    #[command(flatten)]
    refresh: RefreshArgs,

    #[command(flatten)]
    format: format::FormatArgs,
}

pub(crate) fn run(config: &Config, args: &FileArgs) -> anyhow::Result<u8> {
    let question = FileQuestion::Actions {
        reads: args.reads || args.all,
        mentions: args.mentions || args.all,
        unconfirmed: args.all,
        diff: args.diff,
    };
    let request =
        FileRequest { path: args.path.clone(), question, filters: args.filter.filters(), reveal: args.reveal };
    if let Some(view) = args.format.view(config, Vec::new()) {
        let archive = args.refresh.open(config)?;
        let request = FileRequest { reveal: false, ..request };
        let found = agent::file(&archive, &request, args.skip, &config.context(), &view)?;
        return format::print(config, &found);
    }
    let files = match args.refresh.open(config)?.file(&request, &config.context())? {
        FileAnswer::Actions(files) => files,
        FileAnswer::Nothing(_) if args.json => return Ok(exit_code::NOTHING),
        other => return Ok(nothing(&other)),
    };
    if args.json {
        out::print(config.color, |out| render::terminal::history::actions_json(out, &files))?;
    } else if out::is_for_people(config.color) {
        pager::print(config, |out| config.screen().actions(out, &files))?;
    } else if args.diff {
        let folder = config.context().folder;
        // Not through `print`, which would remove escape sequences from the lines of a file.
        let mut patches = Vec::new();
        render::terminal::patch::patches_plain(&mut patches, &files, folder.as_deref())?;
        let text = String::from_utf8_lossy(&patches);
        out::write_all(
            if out::is_terminal() { untrusted::for_terminal(&text).into_owned() } else { text.into_owned() }.as_bytes(),
        )?;
    } else {
        out::print(config.color, |out| render::terminal::history::actions_plain(out, &files))?;
    }
    Ok(exit_code::OK)
}

/// Reports that nothing is known about a file.
pub(super) fn nothing(answer: &FileAnswer) -> u8 {
    if let FileAnswer::Nothing(note) = answer {
        out::note(&note.to_string());
    }
    exit_code::NOTHING
}
