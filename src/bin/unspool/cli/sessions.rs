//! `unspool sessions`: all sessions at a glance.

use clap::{Args, ValueEnum};
use unspool::render::sessions as render;
use unspool::sessions::{Order, sessions, sort};

use super::filter::FilterArgs;
use super::refresh;
use crate::config::Config;
use crate::{out, pager};

/// List all sessions, the newest first
///
/// Also those whose transcript Claude Code has deleted. Prompts are a human's; messages are prompts and answers, however
/// many lines an answer takes; tool calls are the session's own, files and tokens those of its subagents too.
/// Filters choose the sessions in which anything fits them.
#[derive(Args, Debug)]
pub(crate) struct SessionsArgs {
    /// By what to sort; all but title and project put the most first
    #[arg(long, value_enum, default_value_t, value_name = "BY")]
    sort: By,

    /// The other way round
    #[arg(long, short)]
    reverse: bool,

    /// Show at most N sessions
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,

    /// Show the subagents below their session
    #[arg(long)]
    tree: bool,

    /// One JSON object a session
    #[arg(long, conflicts_with = "csv")]
    json: bool,

    /// A table for a spreadsheet
    #[arg(long)]
    csv: bool,

    /// Answer from the index as it is, without looking for new messages first
    #[arg(long)]
    no_refresh: bool,

    #[command(flatten)]
    filter: FilterArgs,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
enum By {
    #[default]
    Newest,
    Started,
    Length,
    Prompts,
    Messages,
    Tools,
    Files,
    Agents,
    Tokens,
    Size,
    Title,
    Project,
}

impl From<By> for Order {
    fn from(by: By) -> Self {
        match by {
            By::Newest => Self::Newest,
            By::Started => Self::Started,
            By::Length => Self::Length,
            By::Prompts => Self::Prompts,
            By::Messages => Self::Messages,
            By::Tools => Self::Tools,
            By::Files => Self::Files,
            By::Agents => Self::Agents,
            By::Tokens => Self::Tokens,
            By::Size => Self::Size,
            By::Title => Self::Title,
            By::Project => Self::Project,
        }
    }
}

pub(crate) fn run(config: &Config, args: &SessionsArgs) -> anyhow::Result<u8> {
    let fresh = refresh::open(config, !args.no_refresh)?;
    let filter = args.filter.filter(config)?;
    let mut found = sessions(&fresh.reader, &filter)?;
    for name in fresh.reader.unknown_names(&filter)? {
        let near =
            if name.nearest.is_empty() { String::new() } else { format!("; near it: {}", name.nearest.join(", ")) };
        out::note(&format!("no {} is called {}{near}", name.field, name.wanted));
    }
    sort(&mut found, args.sort.into());
    if args.reverse {
        found.reverse();
    }
    found.truncate(args.limit.unwrap_or(usize::MAX));
    if found.is_empty() {
        out::note(if filter.is_empty() { "there are no sessions" } else { "no session fits" });
        return Ok(out::NOTHING);
    }
    let screen = config.screen();
    pager::print(config, |out| {
        if args.json {
            render::json(out, &found)
        } else if args.csv {
            render::csv(out, &found)
        } else if out::is_for_people(config.color) || args.tree {
            screen.sessions(out, &found, args.tree)
        } else {
            render::plain(out, &found)
        }
    })?;
    Ok(out::OK)
}
