//! `unspool search`: finds sessions and messages.

use std::time::Instant;

use clap::Args;
use unspool::index::Filter;
use unspool::query::Query;
use unspool::render;
use unspool::search::{Request, search};

use super::refresh;
use crate::config::{self, Config};
use crate::out;

/// The most results one call may ask for.
const LIMIT_CAP: usize = 1000;

/// Find sessions and messages
///
/// Plain words just work: hits with more of them, and with rarer ones, come first. "Quoted words" must stand together.
/// Identifiers are found whole and by their parts, whatever their style: retry after, retryAfter, RETRY_AFTER.
#[derive(Args, Debug)]
pub(crate) struct SearchArgs {
    /// What to look for
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,

    /// Take the query as plain text, to be found letter by letter
    #[arg(long, short = 'F')]
    fixed_strings: bool,

    /// Show the best N sessions, or with --messages the best N messages
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    limit: usize,

    /// One list of messages instead of one for each session
    #[arg(long)]
    messages: bool,

    /// Also find what Claude Code itself put in: hooks, reminders, skills
    #[arg(long)]
    meta: bool,

    /// One JSON object a line: the hits, then a summary
    #[arg(long)]
    json: bool,

    /// Answer from the index as it is, without looking for new messages first
    #[arg(long)]
    no_refresh: bool,

    /// Also search the Claude Code session this command runs in
    #[arg(long)]
    include_current: bool,
}

pub(crate) fn run(config: &Config, args: &SearchArgs) -> anyhow::Result<u8> {
    let start = Instant::now();
    let request = request(args)?;
    let fresh = refresh::open(config, !args.no_refresh)?;
    let response = search(&fresh.reader, &request)?;
    let elapsed = start.elapsed().as_secs_f64() * 1000.0;
    if response.total_hits == 0 {
        if args.json {
            out::print(config.color, |out| render::json::search(out, &response, elapsed, fresh.behind))?;
        } else {
            out::note(&format!("nothing found for {}", request.query.text));
        }
        return Ok(out::NOTHING);
    }
    if response.only_meta {
        out::note("found only in what Claude Code itself put in (hooks, reminders, skills)");
    }
    out::print(config.color, |out| {
        if args.json {
            render::json::search(out, &response, elapsed, fresh.behind)
        } else if out::is_terminal() {
            config.screen().search(out, &response, elapsed)
        } else {
            render::text::plain(out, &response)
        }
    })?;
    Ok(out::OK)
}

fn request(args: &SearchArgs) -> anyhow::Result<Request> {
    let text = args.query.join(" ");
    let query = if args.fixed_strings { Query::literal(&text)? } else { Query::parse(&text)? };
    let current = config::var("CLAUDE_CODE_SESSION_ID").filter(|_| !args.include_current);
    let filter = Filter { meta: args.meta, without_session: current.map(|id| id.to_string_lossy().into_owned()) };
    let limit = args.limit.clamp(1, LIMIT_CAP);
    Ok(Request { query, filter, limit, per_session: 3, flat: args.messages })
}
