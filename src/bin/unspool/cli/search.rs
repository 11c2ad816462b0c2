//! `unspool search`: finds sessions and messages.

use std::time::Instant;

use clap::{Args, ValueEnum};
use unspool::archive::SearchAnswer;
use unspool::archive::request::{SearchRequest, Sort};
use unspool::render::json;
use unspool::render::terminal::hits;
use unspool::render::terminal::hits::{Extras, Listing};

use crate::cli::dash_words::joined;
use crate::cli::filter::FilterArgs;
use crate::cli::refresh::RefreshArgs;
use crate::config::Config;
use crate::exit_code;
use crate::out;

/// The most results one call may ask for.
const LIMIT_CAP: usize = 10_000;

/// Find sessions and messages
///
/// Plain words just work: hits with more of them, and with rarer ones, come first. Identifiers are found whole and by
/// their parts, whatever their style: retry after, retryAfter, RETRY_AFTER.
///
/// Also: "words together", -not, this OR that, prefix*, tool:Bash, since:2d, /regex/. `unspool help query` tells all.
#[derive(Args, Debug)]
pub(crate) struct SearchArgs {
    /// What to look for
    ///
    /// May be left out where a filter says it: the newest come first.
    #[arg(value_name = "QUERY", required_unless_present_any = FilterArgs::NAMES.into_iter().chain(["text"]))]
    query: Vec<String>,

    /// Words in which nothing is an operator: `unspool search -- -rf`
    #[arg(last = true, value_name = "TEXT")]
    text: Vec<String>,

    /// Take the query as plain text, to be found letter by letter
    #[arg(long, short = 'F')]
    fixed_strings: bool,

    /// With -F, in capitals or not; words are always found in any case
    #[arg(long, short = 'i')]
    ignore_case: bool,

    /// Show the best N sessions, or with --messages the best N messages
    ///
    /// 10, unless the configuration says otherwise; -l, -c and --paths list all of them.
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,

    /// Show at most N hits of each session
    #[arg(long, short = 'm', value_name = "N")]
    max_count: Option<usize>,

    /// One list of messages instead of one for each session
    #[arg(long)]
    messages: bool,

    /// What comes first
    #[arg(long, value_enum, default_value_t, value_name = "ORDER")]
    sort: Order,

    /// Go on behind an earlier answer; it said with what
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,

    /// Also find what Claude Code itself put in: hooks, reminders, skills
    #[arg(long)]
    meta: bool,

    #[command(flatten)]
    refresh: RefreshArgs,

    #[command(flatten)]
    filter: FilterArgs,

    #[command(flatten)]
    shown: ShownArgs,
}

impl SearchArgs {
    /// The words of the query, as they were typed.
    pub(super) fn words(&self) -> String {
        joined(&self.query)
    }
}

/// How hits are shown.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
struct ShownArgs {
    /// Show N messages before each hit
    #[arg(long, short = 'B', value_name = "N")]
    before_context: Option<usize>,

    /// Show N messages after each hit
    #[arg(long, short = 'A', value_name = "N")]
    after_context: Option<usize>,

    /// Show N messages before and after each hit
    #[arg(long, short = 'C', value_name = "N")]
    context: Option<usize>,

    /// Only the ids of sessions with hits, all of them unless -n says otherwise
    #[arg(long, short = 'l', conflicts_with_all = ["count", "paths"])]
    list: bool,

    /// Only the number of hits in each session, of all sessions unless -n says otherwise
    #[arg(long, short = 'c', conflicts_with = "paths")]
    count: bool,

    /// Only the transcripts that hold hits, all of them unless -n says otherwise
    #[arg(long)]
    paths: bool,

    /// End entries of -l, -c and --paths with a zero byte, for xargs -0
    #[arg(long, short = '0')]
    null: bool,

    /// Only the exit code: 0 if something is found, 1 if not
    #[arg(long, short)]
    quiet: bool,

    /// Show keys, tokens and passwords as they are instead of masking them
    #[arg(long)]
    reveal: bool,

    /// Say why each hit stands where it does
    #[arg(long)]
    explain: bool,

    /// One JSON object a line: the hits, then a summary (`unspool schema` describes them)
    #[arg(long, conflicts_with_all = ["list", "count", "paths"])]
    json: bool,
}

impl ShownArgs {
    /// What is listed instead of hits.
    fn listing(&self) -> Option<Listing> {
        let wanted = [(self.list, Listing::Ids), (self.count, Listing::Counts), (self.paths, Listing::Paths)];
        wanted.into_iter().find(|(wanted, _)| *wanted).map(|(_, listing)| listing)
    }

    /// Returns the number of messages before and after each hit.
    fn around(&self) -> (usize, usize) {
        let both = self.context.unwrap_or(0);
        (self.before_context.unwrap_or(both), self.after_context.unwrap_or(both))
    }
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Order {
    /// The best first
    #[default]
    Relevance,
    /// The newest first
    Newest,
    /// The oldest first
    Oldest,
}

impl From<Order> for Sort {
    fn from(order: Order) -> Self {
        match order {
            Order::Relevance => Self::Relevance,
            Order::Newest => Self::Newest,
            Order::Oldest => Self::Oldest,
        }
    }
}

pub(crate) fn run(config: &Config, args: &SearchArgs) -> anyhow::Result<u8> {
    let start = Instant::now();
    let archive = args.refresh.open(config)?;
    let answer = archive.search(&request(config, args), &config.context())?;
    let elapsed_ms = start.elapsed().as_secs_f64() * 1000.0;
    let code = if answer.total_hits == 0 { exit_code::NOTHING } else { exit_code::OK };
    if args.shown.json && !args.shown.quiet {
        out::print(config.color, |out| json::search(out, &answer, elapsed_ms))?;
    } else if !args.shown.quiet {
        answer.notes.iter().for_each(|note| out::note(&note.to_string()));
        answer.suggestions.iter().for_each(|one| out::note(&format!("hint: try {}", hits::suggestion(one))));
        show(config, args, &answer, elapsed_ms)?;
    }
    // The process ends here, and the system unmaps all files at once. One by one it takes a tenth of a search.
    std::mem::forget(archive);
    Ok(code)
}

fn show(config: &Config, args: &SearchArgs, answer: &SearchAnswer, elapsed_ms: f64) -> anyhow::Result<()> {
    if answer.total_hits == 0 {
        return Ok(());
    }
    if let Some(listing) = args.shown.listing() {
        let end = if args.shown.null { 0 } else { b'\n' };
        let mut list = Vec::new();
        hits::sessions(&mut list, answer, listing, end, out::is_terminal() && !args.shown.null)?;
        return out::write_all(&list);
    }
    let extras = Extras { explain: args.shown.explain, elapsed_ms };
    let for_people = out::is_for_people(config.color) || extras.explain || args.shown.around() != (0, 0);
    out::print(config.color, |out| {
        if for_people { config.screen().search(out, answer, extras) } else { hits::plain(out, answer) }
    })
}

fn request(config: &Config, args: &SearchArgs) -> SearchRequest {
    let listing = args.shown.listing();
    // Programs get everything, unless they say how much they want.
    let (limit, per_session) = match listing {
        // One hit is enough to know that there is any.
        _ if args.shown.quiet => (1, Some(1)),
        None => (config.limit, None),
        Some(Listing::Paths) => (usize::MAX, Some(usize::MAX)),
        // A session that is only listed needs one hit.
        Some(Listing::Ids | Listing::Counts) => (usize::MAX, Some(1)),
    };
    let capped = |wanted: usize| wanted.clamp(1, LIMIT_CAP);
    let (before, after) = args.shown.around();
    SearchRequest {
        text: args.words(),
        literal: joined(&args.text),
        fixed: args.fixed_strings,
        ignore_case: args.ignore_case,
        filters: args.filter.filters(),
        meta: args.meta,
        limit: Some(args.limit.map_or(limit, capped)),
        per_session: args.max_count.map(capped).or(per_session),
        messages: args.messages && listing.is_none(),
        sort: args.sort.into(),
        cursor: args.cursor.clone(),
        before,
        after,
        suggest: !args.shown.quiet,
        reveal: args.shown.reveal,
    }
}
