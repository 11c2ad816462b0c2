//! `unspool search`: searches sessions and messages.

use std::time::Instant;

use clap::{Args, ValueEnum};
use unspool::archive::SearchAnswer;
use unspool::archive::request::{SearchRequest, Sort};
use unspool::render::json;
use unspool::render::terminal::hits;
use unspool::render::terminal::hits::{Extras, Listing};

use crate::agent;
use crate::cli::dash_words::joined;
use crate::cli::filter::FilterArgs;
use crate::cli::format;
use crate::config::Config;
use crate::exit_code;
use crate::out;
use crate::refresh::RefreshArgs;

/// The maximum number of results per call.
const LIMIT_CAP: usize = 10_000;

/// Search sessions and messages
///
/// Plain words just work: messages that match more words, and rarer ones, come first. Identifiers match as a whole and
/// by their parts, in any style: retry after, retryAfter, RETRY_AFTER.
///
/// Also: "exact phrase", -not, this OR that, prefix*, tool:Bash, since:2d, /regex/. See `unspool help query`.
#[derive(Args, Debug)]
pub(crate) struct SearchArgs {
    /// Words to search for
    ///
    /// Optional with a filter; the newest messages then come first.
    #[arg(value_name = "QUERY", required_unless_present_any = FilterArgs::NAMES.into_iter().chain(["text"]))]
    query: Vec<String>,

    /// Words without operators: `unspool search -- -rf`
    #[arg(last = true, value_name = "TEXT")]
    text: Vec<String>,

    /// Treat the query as literal text
    #[arg(long, short = 'F')]
    fixed_strings: bool,

    /// With -F, ignore case; words always match in any case
    #[arg(long, short = 'i')]
    ignore_case: bool,

    /// Show the best N sessions, or with --messages the best N messages
    ///
    /// The default is 10, or as configured; -l, -c and --paths list all.
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,

    /// Show at most N hits per session
    #[arg(long, short = 'm', value_name = "N")]
    max_count: Option<usize>,

    /// Show one list of messages instead of grouping them by session
    #[arg(long)]
    messages: bool,

    /// Sort order
    #[arg(long, value_enum, default_value_t, value_name = "ORDER")]
    sort: Order,

    /// Show the page after this cursor, printed by the previous search
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,

    /// Also search text that Claude Code itself inserted: hooks, reminders, skills
    #[arg(long)]
    meta: bool,

    #[command(flatten)]
    refresh: RefreshArgs,

    #[command(flatten)]
    filter: FilterArgs,

    #[command(flatten)]
    shown: ShownArgs,

    #[command(flatten)]
    format: format::FormatArgs,
}

impl SearchArgs {
    /// Reports whether people read the answer, so that notes about it are printed.
    pub(super) fn shows_notes(&self) -> bool {
        !self.shown.json && !self.shown.quiet
    }

    /// Returns the words of the query, as typed.
    pub(super) fn words(&self) -> String {
        joined(&self.query)
    }
}

/// Output options.
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

    /// Print only the ids of sessions with hits; all of them unless -n is given
    #[arg(long, short = 'l', conflicts_with_all = ["count", "paths"])]
    list: bool,

    /// Print only the number of hits per session; all sessions unless -n is given
    #[arg(long, short = 'c', conflicts_with = "paths")]
    count: bool,

    /// Print only the paths of transcripts with hits; all of them unless -n is given
    #[arg(long)]
    paths: bool,

    /// End entries of -l, -c and --paths with a NUL byte, for xargs -0
    #[arg(long, short = '0')]
    null: bool,

    /// Print nothing; exit with 0 if something is found, 1 if not
    #[arg(long, short)]
    quiet: bool,

    /// Show keys, tokens and passwords instead of masking them
    #[arg(long)]
    reveal: bool,

    /// Explain the score of each hit
    #[arg(long)]
    explain: bool,

    /// Print one JSON object per line: the hits, then a summary (see `unspool schema`)
    #[arg(long, conflicts_with_all = ["list", "count", "paths"])]
    json: bool,
}

impl ShownArgs {
    /// Returns the kind of list to print instead of hits.
    fn listing(&self) -> Option<Listing> {
        let options = [(self.list, Listing::Ids), (self.count, Listing::Counts), (self.paths, Listing::Paths)];
        options.into_iter().find(|(is_set, _)| *is_set).map(|(_, listing)| listing)
    }

    /// Returns the number of messages before and after each hit.
    fn around(&self) -> (usize, usize) {
        let both = self.context.unwrap_or(0);
        (self.before_context.unwrap_or(both), self.after_context.unwrap_or(both))
    }
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Order {
    /// Best first
    #[default]
    Relevance,
    /// Newest first
    Newest,
    /// Oldest first
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
    if let Some(view) = args
        .format
        .view(config, agent::left_out(&config.context(), args.filter.include_current()).into_iter().collect())
    {
        let archive = args.refresh.open(config)?;
        let request = SearchRequest { strict_names: true, counterpart: true, ..request(config, args) };
        let found = agent::search(&archive, &request, &config.context(), &view)?;
        return format::print(config, &found);
    }
    let start = Instant::now();
    let (archive, answer) = args.refresh.search(config, &request(config, args))?;
    let elapsed_ms = start.elapsed().as_secs_f64() * 1000.0;
    let code = if answer.total_hits == 0 { exit_code::NOTHING } else { exit_code::OK };
    if args.shown.json && !args.shown.quiet {
        out::print(config.color, |out| json::search(out, &answer, elapsed_ms))?;
    } else if !args.shown.quiet {
        answer.notes.iter().for_each(|note| out::note(&note.to_string()));
        answer.suggestions.iter().for_each(|other| out::note(&format!("hint: try {}", hits::suggestion(other))));
        show(config, args, &answer, elapsed_ms)?;
    }
    // The process ends here, and the system unmaps all files at once. Unmapping each takes a tenth of a search.
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
    // Lists are for programs, so they are complete by default.
    let (limit, per_session) = match listing {
        // One hit decides the exit code.
        _ if args.shown.quiet => (1, Some(1)),
        None => (config.limit, None),
        Some(Listing::Paths) => (usize::MAX, Some(usize::MAX)),
        // A listed session needs one hit.
        Some(Listing::Ids | Listing::Counts) => (usize::MAX, Some(1)),
    };
    let capped = |number: usize| number.clamp(1, LIMIT_CAP);
    let (before, after) = args.shown.around();
    SearchRequest {
        text: (!args.query.is_empty()).then(|| args.words()),
        literal: (!args.text.is_empty()).then(|| joined(&args.text)),
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
        strict_names: false,
        counterpart: false,
        reveal: args.shown.reveal,
    }
}
