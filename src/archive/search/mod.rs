//! Answers a search: hits in the context of their sessions, ranked and cut to a page.

pub mod snippet;
mod context;
mod exact;
mod hit;
mod page;
mod suggest;

use std::path::PathBuf;

use rayon::prelude::*;

use crate::archive::search::snippet::{Marks, Snippet};
use crate::document::{Kind, Role};
use crate::error::Result;
use crate::index::{Corrections, Factors, Ranked, RawHit, Reader, Search, Sort, UnknownName};
use crate::query::{Filter, Query, Shape};
use crate::tokenize::WHOLE_MARK;
use crate::untrusted::Untrusted;

pub use context::Around;
pub use exact::as_text;
use hit::View;
pub use hit::session_info;
pub(crate) use hit::{Lookup, one_line_of, title_of};
pub use page::Cursor;
pub use suggest::{Suggestion, suggestions};

/// What to look for, and how much of it to show.
#[derive(Clone, Debug)]
pub struct Request {
    /// The query.
    pub query: Query,
    /// What may be found.
    pub filter: Filter,
    /// How many sessions, or with `flat` how many hits, are wanted.
    pub limit: usize,
    /// How many hits of each session are wanted.
    pub per_session: usize,
    /// One list of hits rather than one for each session.
    pub flat: bool,
    /// In which order.
    pub sort: Sort,
    /// How many messages before and after each hit are wanted.
    pub around: (usize, usize),
    /// Where an earlier answer ended.
    pub after: Option<Cursor>,
    /// The time, in milliseconds since 1970.
    pub now: i64,
    /// Whether secrets are shown as they are.
    pub reveal: bool,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Response {
    /// Sessions with their hits, best first. In a flat answer each has one hit, and a session may come again.
    pub sessions: Vec<SessionHits>,
    /// Hits in all.
    pub total_hits: usize,
    /// Sessions in all.
    pub total_sessions: usize,
    /// Whether nothing but what Claude Code itself put in was found.
    pub only_meta: bool,
    /// Words that are nowhere, and what was looked for instead.
    pub corrections: Vec<(String, String)>,
    /// Whether nothing holds the identifier that was asked for as it is, only parts of it.
    pub scattered: bool,
    /// Whether nothing was found as it was asked for, so that quotes and conditions were taken as plain words.
    pub loosened: bool,
    /// Whether the query is a long text, of which only the words that tell most were looked for.
    pub thinned: bool,
    /// Names in the filter that mean nothing.
    pub unknown: Vec<UnknownName>,
    /// Whether too many texts would have had to be read, so that there may be more hits.
    pub incomplete: bool,
    /// Where the next page begins, if there is one.
    pub next: Option<Cursor>,
    /// How many of the hits on this page come before it, pages before it included.
    pub skipped: usize,
}

/// A session and what was found in it.
#[derive(Clone, Debug)]
pub struct SessionHits {
    /// The session.
    pub session: SessionInfo,
    /// The best hits.
    pub hits: Vec<Hit>,
    /// Hits in this session in all.
    pub total: usize,
}

/// What there is to say about a session at a glance.
#[derive(Clone, Debug, Default)]
pub struct SessionInfo {
    /// Its id.
    pub id: Untrusted,
    /// What it is called.
    pub title: Untrusted,
    /// The folder it was started in.
    pub project: Untrusted,
    /// Its last git branch.
    pub branch: Untrusted,
    /// When something was last said in it.
    pub last: Option<i64>,
    /// Whether Claude Code has deleted its transcript.
    pub gone: bool,
    /// Whether no main transcript of it is known, only those of its subagents.
    pub agents_only: bool,
    /// Whether only the prompt history knows of it.
    pub history_only: bool,
}

/// One hit.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The line's id.
    pub uuid: Option<Untrusted>,
    /// Other sessions that hold the same line.
    pub also_in: Vec<Untrusted>,
    /// The subagent, and what it was sent to do.
    pub agent: Option<Untrusted>,
    /// The subagent's title.
    pub agent_title: Option<Untrusted>,
    /// The file it was read from.
    pub path: PathBuf,
    /// Where in that file.
    pub offset: u64,
    /// The line in that file.
    pub line: u64,
    /// When, in milliseconds since 1970.
    pub timestamp: Option<i64>,
    /// Who speaks.
    pub role: Role,
    /// What it is.
    pub kind: Kind,
    /// The tool.
    pub tool: Option<Untrusted>,
    /// The files it is about.
    pub files: Vec<Untrusted>,
    /// The folder the session was started in.
    pub project: Option<Untrusted>,
    /// The folder it was in.
    pub cwd: Option<Untrusted>,
    /// The git branch.
    pub branch: Option<Untrusted>,
    /// The model.
    pub model: Option<Untrusted>,
    /// Whether it reports a failure.
    pub error: bool,
    /// Whether Claude Code has deleted the file.
    pub gone: bool,
    /// How well it matches; only comparable within one answer.
    pub score: f32,
    /// What the score is made of, for hits that were looked at closely.
    pub factors: Option<Factors>,
    /// The piece that matches; hostile text, to be shown through [`crate::untrusted`].
    pub snippet: Snippet,
    /// What was said before it.
    pub before: Vec<Around>,
    /// What was said after it.
    pub after: Vec<Around>,
}

/// Answers a search.
pub fn search(reader: &Reader, request: &Request) -> Result<Response> {
    let plain = exact::plain_reading(reader, request)?;
    let response = answer(reader, request, plain.as_ref().unwrap_or(&request.query))?;
    if response.total_hits > 0 || plain.is_some() {
        return Ok(response);
    }
    match exact::second_reading(reader, request)? {
        Some(plain) => Ok(Response { loosened: true, ..answer(reader, request, &plain)? }),
        None => Ok(response),
    }
}

fn answer(reader: &Reader, request: &Request, query: &Query) -> Result<Response> {
    let named_file = (query.shape != Shape::Path && reader.names_file(query)?)
        .then(|| Query { shape: Shape::Path, ..query.clone() });
    let query = named_file.as_ref().unwrap_or(query);
    let corrections = reader.corrections(query)?;
    let plan = |strict| Search {
        query,
        filter: &request.filter,
        corrections: &corrections,
        sort: request.sort,
        strict,
        now: request.now,
    };
    // In order of time, a hit with one word of five would come before those with all of them.
    let strict = request.sort != Sort::Relevance;
    let mut ranked = reader.find(&plan(strict))?;
    if strict && (ranked.hits().is_empty() || ranked.only_meta) {
        ranked = reader.find(&plan(false))?;
    }
    let incomplete = exact::keep_matching(reader, query, &mut ranked)?;
    let page = page::cut(&mut ranked, request);
    // Most of the time of a search is spent unpacking the texts that are shown.
    let marks = Marks::new(query, &corrections);
    let show = |group: &Group| View::new(reader, request, &marks).session_hits(&ranked, group);
    let sessions = page.groups.par_iter().with_max_len(1).map(show).collect::<Result<Vec<_>>>()?;
    let shown = |term: &str| term.trim_start_matches(WHOLE_MARK).to_string();
    let corrected = corrections.iter().filter_map(|(word, meant)| Some((shown(word), shown(&meant.first()?.term))));
    Ok(Response {
        sessions,
        total_hits: ranked.hits().len(),
        total_sessions: ranked.sessions,
        only_meta: ranked.only_meta,
        corrections: corrected.collect(),
        unknown: reader.unknown_names(&all_conditions(request, query))?,
        scattered: is_scattered(&ranked, query, &corrections),
        loosened: false,
        thinned: query.thinned,
        incomplete,
        next: page.next,
        skipped: page.skipped,
    })
}

/// Whether the query is one identifier that nothing holds as it is, only parts of it.
fn is_scattered(ranked: &Ranked, query: &Query, corrections: &Corrections) -> bool {
    let [chunk] = query.chunks.as_slice() else { return false };
    let is_whole = |hit: &RawHit| ranked.factors(hit).is_some_and(|found| found.verbatim > 1.0);
    let is_compound = query.needs.is_empty() && !chunk.quoted && !chunk.wholes.is_empty() && chunk.terms.len() > 1;
    is_compound
        && corrections.is_empty()
        && !ranked.hits().is_empty()
        && !ranked.hits()[..ranked.in_order()].iter().any(is_whole)
}

/// The conditions of the filter and of the query.
fn all_conditions(request: &Request, query: &Query) -> Filter {
    let conditions = request.filter.conditions.iter().chain(&query.conditions).cloned().collect();
    Filter { conditions, ..Filter::default() }
}

/// Hits that are shown together.
#[derive(Clone, Debug)]
struct Group {
    hits: Vec<RawHit>,
    total: usize,
}
