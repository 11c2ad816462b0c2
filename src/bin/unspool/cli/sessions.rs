//! `unspool sessions`: lists sessions.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use unspool::archive::request::{Order, SessionsRequest};
use unspool::render::terminal::sessions as render;

use crate::agent;
use crate::cli::filter::FilterArgs;
use crate::cli::format;
use crate::config::Config;
use crate::exit_code;
use crate::out;
use crate::pager;
use crate::refresh::RefreshArgs;

/// List all sessions, newest first
///
/// Includes sessions whose transcript Claude Code has deleted. Prompts are those of a human; messages are prompts and
/// answers, regardless of how many lines an answer takes; tool calls are the session's own; files and tokens include
/// those of its subagents. Filters select sessions in which any message matches.
#[derive(Args, Debug)]
pub(crate) struct SessionsArgs {
    /// Sort order; all except title and project put the largest first
    #[arg(long, value_parser = order(), default_value = "newest", value_name = "BY")]
    sort: Order,

    /// Reverse the order
    #[arg(long, short)]
    reverse: bool,

    /// Show at most N sessions
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,

    /// Show subagents below their session
    #[arg(long)]
    tree: bool,

    /// Print one JSON object per session
    #[arg(long, conflicts_with = "csv")]
    json: bool,

    /// Print comma-separated values
    #[arg(long)]
    csv: bool,

    #[command(flatten)]
    refresh: RefreshArgs,

    #[command(flatten)]
    filter: FilterArgs,

    /// With --format agent, show the page after this cursor, printed by the previous call
    #[arg(long, value_name = "CURSOR", requires = "format")]
    cursor: Option<String>,

    #[command(flatten)]
    format: format::FormatArgs,
}

/// Parses the name of a sort order.
fn order() -> impl TypedValueParser<Value = Order> {
    let names = PossibleValuesParser::new(Order::ALL.map(|(_, name)| name));
    names.map(|given| {
        Order::ALL.into_iter().find(|(_, name)| *name == given).map(|(order, _)| order).unwrap_or_default()
    })
}

pub(crate) fn run(config: &Config, args: &SessionsArgs) -> anyhow::Result<u8> {
    let archive = args.refresh.open(config)?;
    let request = SessionsRequest {
        filters: args.filter.filters(),
        order: args.sort,
        reverse: args.reverse,
        limit: args.limit,
        after: args.cursor.clone(),
    };
    if let Some(view) = args.format.view(config, Vec::new()) {
        let found = agent::sessions(&archive, &request, &config.context(), &view)?;
        return format::print(config, &found);
    }
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
