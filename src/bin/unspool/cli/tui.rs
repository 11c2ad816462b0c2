//! `unspool tui`: the terminal UI.

use clap::Args;
use unspool::error::{Error, ErrorKind};

use crate::cli::dash_words::joined;
use crate::cli::filter::FilterArgs;
use crate::cli::resume::{find_program, start};
use crate::config::{self, Config};
use crate::exit_code;
use crate::refresh::quiet_archive;
use crate::tui::{Ended, Options};

/// Search as you type, read conversations, resume them
///
/// `unspool` without a command does the same. The keys are in the footer and in the help (F1).
#[derive(Args, Debug)]
#[command(after_long_help = crate::tui::manual())]
pub(crate) struct TuiArgs {
    /// Words to begin with
    #[arg(value_name = "QUERY")]
    query: Vec<String>,

    /// Show keys, tokens and passwords instead of masking them
    #[arg(long)]
    reveal: bool,

    /// Do not use the mouse
    #[arg(long)]
    no_mouse: bool,

    #[command(flatten)]
    filter: FilterArgs,
}

pub(crate) fn run(config: &Config, args: &TuiArgs) -> anyhow::Result<u8> {
    if let Some(reason) = config::why_no_ui() {
        let what = format!("the terminal UI cannot start: {reason}");
        let hint = "`unspool search WORDS` prints results, `unspool show ID` a conversation";
        return Err(Error::new(ErrorKind::Usage, what).hint(hint).into());
    }
    let options = Options {
        query: joined(&args.query),
        filters: args.filter.filters(),
        reveal: args.reveal,
        mouse: !args.no_mouse && config.settings.mouse.unwrap_or(true),
        pick: None,
        claude: find_program("claude"),
    };
    end(config, crate::tui::run(config, quiet_archive(config), options)?)
}

/// Carries out what was chosen in the UI.
pub(super) fn end(config: &Config, ended: Ended) -> anyhow::Result<u8> {
    match ended {
        Ended::Quit(code) => Ok(code),
        Ended::Print(id) => {
            crate::out::write_all(format!("{id}\n").as_bytes())?;
            Ok(exit_code::OK)
        }
        Ended::Resume { claude, command } => start(config, &claude, &command),
    }
}
