//! `unspool search`: finds sessions and messages.

use std::time::Instant;

use clap::{Args, ValueEnum};
use unspool::archive::search::{Cursor, Request, Response, Suggestion, as_text, search, suggestions};
use unspool::error::{Error, ErrorKind};
use unspool::index::Sort;
use unspool::query::{Filter, Query};
use unspool::render::json;
use unspool::render::terminal::hits;
use unspool::render::terminal::hits::{Extras, Listing};

use crate::cli::dash_words::joined;
use crate::cli::filter::{FilterArgs, names_session};
use crate::cli::refresh::RefreshArgs;
use crate::config::{self, Config};
use crate::exit_code;
use crate::out;

/// The most results one call may ask for.
const LIMIT_CAP: usize = 10_000;
/// The most messages around a hit.
const AROUND_CAP: usize = 200;
/// How many hits of each session are shown when nothing else is said.
const PER_SESSION: usize = 3;

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

    /// What is asked, as a number: all that decides which hits there are, and in which order. Taken from what was
    /// typed: `2d` is another time on the next page.
    fn question(&self) -> u16 {
        let text = (&self.query, &self.text, self.fixed_strings, self.ignore_case);
        let asked = format!("{text:?} {:?} {:?}", (self.sort, self.meta, self.messages), self.filter);
        (xxhash_rust::xxh3::xxh3_64(asked.as_bytes()) & 0xffff) as u16
    }

    /// Where an earlier answer to the same question ended.
    fn place(&self, cursor: &str) -> Result<Cursor, Error> {
        let refused = |what: String, hint: &str| Error::new(ErrorKind::Usage, what).hint(hint);
        let place: Cursor =
            cursor.parse().map_err(|()| refused(format!("{cursor:?} is no cursor"), "use one that an answer gave"))?;
        if !place.belongs_to(self.question()) {
            let hint = "give the query, the filters and the order of the answer it comes from, or leave it out";
            return Err(refused(format!("the cursor {cursor} belongs to another search"), hint));
        }
        Ok(place)
    }

    fn query(&self, config: &Config) -> anyhow::Result<Query> {
        let text = joined(&self.text);
        Ok(match (self.query.is_empty(), self.text.is_empty()) {
            (true, true) => Query::everything(),
            _ if self.fixed_strings => {
                let all = [self.query.as_slice(), &self.text].concat();
                Query::literal(&joined(&all), self.ignore_case)?
            }
            (true, false) => Query::plain(&text)?,
            (false, true) => parsed(config, &self.words())?,
            (false, false) => {
                let mut query = Query::parse(&self.words(), &config.surroundings())?;
                query.chunks.extend(Query::plain(&text)?.chunks);
                query.text = format!("{} {text}", query.text);
                query
            }
        })
    }
}

/// Reads a query. What cannot be understood is plain text, if it stands somewhere as it was typed.
fn parsed(config: &Config, text: &str) -> Result<Query, Error> {
    Query::parse(text, &config.surroundings()).or_else(|error| {
        let reader = config.store.read().ok().flatten();
        let plain = reader.and_then(|reader| as_text(&reader, text, &Filter::default()).ok().flatten());
        plain.ok_or(error)
    })
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

pub(crate) fn run(config: &Config, args: &SearchArgs) -> anyhow::Result<u8> {
    let start = Instant::now();
    let request = request(config, args)?;
    let fresh = args.refresh.open(config)?;
    let mut response = search(&fresh.reader, &request)?;
    response.next = response.next.map(|cursor| cursor.of(args.question()));
    let nothing = response.total_hits == 0;
    let instead = if nothing && !args.shown.quiet { suggestions(&fresh.reader, &request)? } else { Vec::new() };
    let elapsed_ms = start.elapsed().as_secs_f64() * 1000.0;
    if args.shown.json && !args.shown.quiet {
        out::print(config.color, |out| json::search(out, &response, &instead, elapsed_ms, fresh.behind))?;
    } else if !args.shown.quiet {
        notes(&request, &response, &instead);
        show(config, args, &response, elapsed_ms)?;
    }
    // The process ends here, and the system unmaps all files at once. One by one it takes a tenth of a search.
    std::mem::forget(fresh);
    Ok(if nothing { exit_code::NOTHING } else { exit_code::OK })
}

fn show(config: &Config, args: &SearchArgs, response: &Response, elapsed_ms: f64) -> anyhow::Result<()> {
    if response.total_hits == 0 {
        return Ok(());
    }
    if let Some(listing) = args.shown.listing() {
        let end = if args.shown.null { 0 } else { b'\n' };
        let mut list = Vec::new();
        hits::sessions(&mut list, response, listing, end, out::is_terminal() && !args.shown.null)?;
        return out::write_all(&list);
    }
    let extras = Extras { explain: args.shown.explain, elapsed_ms };
    let for_people = out::is_for_people(config.color) || extras.explain || has_context(args);
    out::print(config.color, |out| {
        if for_people { config.screen().search(out, response, extras) } else { hits::plain(out, response) }
    })
}

fn has_context(args: &SearchArgs) -> bool {
    around(&args.shown) != (0, 0)
}

/// What has to be said about an answer, beside the answer.
fn notes(request: &Request, response: &Response, instead: &[Suggestion]) {
    for unknown in &response.unknown {
        let nearest = match unknown.nearest.is_empty() {
            true => String::new(),
            false => format!("; known are {}", unknown.nearest.join(", ")),
        };
        out::note(&format!("there is no {} like {:?}{nearest}", unknown.field, unknown.wanted));
    }
    for (word, meant) in &response.corrections {
        out::note(&format!("{word} is nowhere; looking for {meant}"));
    }
    if response.loosened && response.total_hits > 0 {
        out::note("nothing holds that as it is; looking for the words of it");
    }
    if response.scattered {
        out::note(&format!("nothing holds {} as it is; these hold parts of it", request.query.text));
    }
    if response.thinned && request.query.needs.is_empty() {
        let count = request.query.chunks.len();
        out::note(&format!("a long text: looking for the {count} words of it that tell most"));
    }
    if response.only_meta {
        out::note("found only in what Claude Code itself put in (hooks, reminders, skills)");
    }
    if response.incomplete {
        out::note("too many texts to read for this pattern; there may be more hits: add a word or a filter");
    }
    if response.total_hits == 0 {
        let what = if request.query.text.is_empty() { String::new() } else { format!(" for {}", request.query.text) };
        out::note(&format!("nothing found{what}"));
        instead.iter().for_each(|one| out::note(&format!("hint: try {}", hits::suggestion(one))));
    }
}

fn request(config: &Config, args: &SearchArgs) -> anyhow::Result<Request> {
    let query = args.query(config)?;
    let mut filter = args.filter.filter(config)?;
    filter.meta = args.meta;
    filter.without_session = filter.without_session.filter(|id| !names_session(&query.conditions, id));
    let after = args.cursor.as_ref().map(|text| args.place(text)).transpose()?;
    // What another program reads is whole, unless it says how much it wants.
    let listing = args.shown.listing();
    let (limit, per_session) = match listing {
        // Whether there is any.
        _ if args.shown.quiet => (1, 1),
        None => (config.limit, PER_SESSION),
        Some(Listing::Paths) => (usize::MAX, usize::MAX),
        // A session that is only listed needs no more than one.
        Some(Listing::Ids | Listing::Counts) => (usize::MAX, 1),
    };
    let by_time = matches!(args.sort, Order::Newest | Order::Oldest) || !query.has_words();
    Ok(Request {
        sort: match args.sort {
            Order::Oldest => Sort::Oldest,
            _ if by_time => Sort::Newest,
            _ => Sort::Relevance,
        },
        query,
        filter,
        limit: args.limit.map_or(limit, |limit| limit.clamp(1, LIMIT_CAP)),
        per_session: args.max_count.map_or(per_session, |count| count.clamp(1, LIMIT_CAP)),
        flat: args.messages && listing.is_none(),
        around: around(&args.shown),
        after,
        now: config::now(),
        reveal: args.shown.reveal,
    })
}

fn around(args: &ShownArgs) -> (usize, usize) {
    let both = args.context.unwrap_or(0);
    let of = |side: Option<usize>| side.unwrap_or(both).min(AROUND_CAP);
    (of(args.before_context), of(args.after_context))
}
