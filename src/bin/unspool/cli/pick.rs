//! `unspool pick`: chooses a session in the terminal UI and prints its id.

use clap::Args;
use unspool::error::{Error, ErrorKind};

use crate::cli::dash_words::joined;
use crate::cli::filter::FilterArgs;
use crate::cli::tui::end;
use crate::config::{self, Config};
use crate::refresh::quiet_archive;
use crate::tui::Options;

/// Choose a session and print its id: ID=$(unspool pick)
///
/// Draws on the terminal, not on the standard output. Esc leaves with exit code 130 and prints nothing.
#[derive(Args, Debug)]
pub(crate) struct PickArgs {
    /// Words to begin with
    #[arg(value_name = "QUERY")]
    query: Vec<String>,

    /// Print the id of the message that was found instead of the session
    #[arg(long)]
    message: bool,

    /// Show keys, tokens and passwords instead of masking them
    #[arg(long)]
    reveal: bool,

    /// Do not use the mouse
    #[arg(long)]
    no_mouse: bool,

    #[command(flatten)]
    filter: FilterArgs,
}

pub(crate) fn run(config: &Config, args: &PickArgs) -> anyhow::Result<u8> {
    if let Some(reason) = config::why_no_picker() {
        let what = format!("the picker cannot start: {reason}");
        return Err(Error::new(ErrorKind::Usage, what)
            .hint("`unspool search -l WORDS` prints the ids of sessions")
            .into());
    }
    let options = Options {
        query: joined(&args.query),
        filters: args.filter.filters(),
        reveal: args.reveal,
        mouse: !args.no_mouse && config.settings.mouse.unwrap_or(true),
        pick: Some(args.message),
        claude: None,
    };
    end(config, crate::tui::run(config, quiet_archive(config), options)?)
}
