//! `unspool sessions`: all sessions at a glance.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use unspool::archive::request::{Order, SessionsRequest};
use unspool::render::terminal::sessions as render;

use crate::cli::filter::FilterArgs;
use crate::cli::refresh::RefreshArgs;
use crate::config::Config;
use crate::exit_code;
use crate::out;
use crate::pager;

/// List all sessions, the newest first
///
/// Also those whose transcript Claude Code has deleted. Prompts are a human's; messages are prompts and answers, however
/// many lines an answer takes; tool calls are the session's own, files and tokens those of its subagents too.
/// Filters choose the sessions in which anything fits them.
#[derive(Args, Debug)]
pub(crate) struct SessionsArgs {
    /// By what to sort; all but title and project put the most first
    #[arg(long, value_parser = order(), default_value = "newest", value_name = "BY")]
    sort: Order,

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

    #[command(flatten)]
    refresh: RefreshArgs,

    #[command(flatten)]
    filter: FilterArgs,
}

/// Reads the name of an order.
fn order() -> impl TypedValueParser<Value = Order> {
    let names = PossibleValuesParser::new(Order::ALL.map(|(_, name)| name));
    names.map(|wanted| {
        Order::ALL.into_iter().find(|(_, name)| *name == wanted).map(|(order, _)| order).unwrap_or_default()
    })
}

pub(crate) fn run(config: &Config, args: &SessionsArgs) -> anyhow::Result<u8> {
    let archive = args.refresh.open(config)?;
    let request =
        SessionsRequest { filters: args.filter.filters(), order: args.sort, reverse: args.reverse, limit: args.limit };
    let answer = archive.sessions(&request, &config.context())?;
    answer.notes.iter().for_each(|note| out::note(&note.to_string()));
    let found = answer.sessions;
    if found.is_empty() {
        return Ok(exit_code::NOTHING);
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
    Ok(exit_code::OK)
}
