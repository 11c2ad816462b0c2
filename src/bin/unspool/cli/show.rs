//! `unspool show`: a conversation as it happened.

use std::collections::HashSet;
use std::io;

use clap::{Args, ValueEnum};
use unspool::archive::conversation::{Conversation, Nested, Scope, Target, resolve};
use unspool::archive::search::{Request, search};
use unspool::archive::sessions::Session;
use unspool::index::{Reader, Sort};
use unspool::query::{Filter, Query, Test};
use unspool::render::Redaction;
use unspool::render::terminal::conversation::{ConversationPrinter, Tools};
use unspool::untrusted::Untrusted;

use crate::cli::refresh::RefreshArgs;
use crate::config::{self, Config};
use crate::exit_code;
use crate::out;
use crate::pager;

/// How many messages are shown before the one that was asked for.
const BEFORE: usize = 10;

/// Show a conversation as it happened
///
/// ID is a session, a subagent or a message, or the beginning of its id (at least four characters). A message is shown
/// within its session. Works from the index, so also when Claude Code has deleted the transcript.
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Session, subagent or message, by its id or the beginning of it
    #[arg(value_name = "ID")]
    id: String,

    /// Begin near this message
    #[arg(long, value_name = "UUID", conflicts_with = "query")]
    around: Option<String>,

    /// Begin near what these words find best, and mark them
    #[arg(long, short = 'q', value_name = "WORDS")]
    query: Option<String>,

    /// With --around or --query: show only N messages before and after
    #[arg(long, short = 'C', value_name = "N")]
    context: Option<usize>,

    /// What to show of tool calls
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    tools: HowTools,

    #[command(flatten)]
    parts: PartsArgs,

    /// Also show what Claude Code itself put in: hooks, reminders, skills
    #[arg(long)]
    meta: bool,

    /// Show secrets instead of masking them
    #[arg(long)]
    reveal: bool,

    #[command(flatten)]
    refresh: RefreshArgs,
}

/// The options of all commands that print a conversation: what to include besides its main thread.
#[derive(Args, Debug)]
pub(crate) struct PartsArgs {
    /// Include what subagents said where they were sent, instead of naming them
    #[arg(long)]
    agents: bool,

    /// Include what was left behind by a rewind
    #[arg(long)]
    branches: bool,
}

impl PartsArgs {
    pub(crate) fn scope(&self) -> Scope {
        Scope { abandoned: self.branches, inner: self.agents, ..Scope::default() }
    }
}

/// What to show of tool calls.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(crate) enum HowTools {
    /// A line for each call and its result, and changes as changes
    #[default]
    Folded,
    /// Calls and results in full
    Full,
    /// A line for each call
    Calls,
    /// Nothing
    None,
}

impl From<HowTools> for Tools {
    fn from(how: HowTools) -> Self {
        match how {
            HowTools::Folded => Self::Folded,
            HowTools::Full => Self::Full,
            HowTools::Calls => Self::Calls,
            HowTools::None => Self::None,
        }
    }
}

pub(crate) fn run(config: &Config, args: &ShowArgs) -> anyhow::Result<u8> {
    let fresh = args.refresh.open(config)?;
    let reader = &fresh.reader;
    let mut target = resolve(reader, &args.id)?;
    if let Some(around) = &args.around {
        let message = resolve(reader, around)?;
        target = Target { uuid: message.uuid, agent: message.agent, ..target };
    }
    let query = args.query.as_deref().map(|text| Query::parse(text, &config.surroundings())).transpose()?;
    if let Some(query) = &query {
        match best_hit(reader, &target, query, config::now())? {
            Some(hit) => target = hit,
            None => out::note(&format!("nothing in this session matches {}", query.text)),
        }
    }
    let conversation = Conversation::open(reader, &target)?;
    let place = target.uuid.as_deref().map(|uuid| conversation.place_of(uuid)).transpose()?.flatten();
    let session = Session::find(reader, &target.session)?;
    let screen = config.screen();
    let mut talk = ConversationPrinter::new(&screen);
    talk.tools = args.tools.into();
    talk.veil = Redaction { reveal: args.reveal, homes: Vec::new() };
    talk.meta = args.meta;
    talk.pointed = target.uuid.clone();
    talk.marked = query.iter().flat_map(Query::terms).map(str::to_string).collect::<HashSet<_>>();
    let (before, after) = args.context.map_or((BEFORE, 0), |around| (around.max(1), around.max(1)));
    let scope = Scope { meta: args.meta, before, after, ..args.parts.scope() };
    pager::print(config, |out| {
        screen.session_head(out, &session)?;
        if conversation.file.is_none() {
            conversation.agents().try_for_each(|agent| talk.agent_line(out, &agent))?;
        }
        for found in Nested::new(&conversation, place, scope) {
            let (depth, piece) = found.map_err(io::Error::other)?;
            talk.set_indent(depth * 4);
            talk.piece(out, &piece)?;
        }
        Ok(())
    })?;
    Ok(exit_code::OK)
}

/// The message of the session that matches best.
fn best_hit(reader: &Reader, target: &Target, query: &Query, now: i64) -> unspool::error::Result<Option<Target>> {
    let conditions = vec![Test::Session(target.session.clone()).into()];
    let request = Request {
        query: query.clone(),
        filter: Filter { conditions, ..Filter::default() },
        limit: 50,
        per_session: 50,
        flat: true,
        sort: Sort::Relevance,
        around: (0, 0),
        after: None,
        now,
        reveal: false,
    };
    let found = search(reader, &request)?;
    let raw = |text: &Option<Untrusted>| text.as_ref().map(|text| text.raw().to_string());
    let hits = found.sessions.iter().flat_map(|session| &session.hits);
    let fits = |agent: &Option<String>| target.agent.is_none() || *agent == target.agent;
    let targets = hits.map(|hit| (raw(&hit.agent), raw(&hit.uuid)));
    let best = targets.into_iter().find(|(agent, uuid)| uuid.is_some() && fits(agent));
    Ok(best.map(|(agent, uuid)| Target { session: target.session.clone(), agent, uuid }))
}
