//! `unspool show`: a conversation as it happened.

use std::io;

use clap::{Args, ValueEnum};
use unspool::archive::conversation::Turn;
use unspool::archive::request::ConversationRequest;
use unspool::render::json;
use unspool::render::terminal::conversation::{ConversationPrinter, Tools};

use crate::cli::refresh::RefreshArgs;
use crate::config::Config;
use crate::exit_code;
use crate::out;
use crate::pager;

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

    /// One JSON object a line: the session, then its messages and tool calls
    #[arg(long)]
    json: bool,

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
    /// Returns a request for these parts of a conversation.
    pub(crate) fn request(&self) -> ConversationRequest {
        ConversationRequest { abandoned: self.branches, agents: self.agents, ..ConversationRequest::default() }
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
    let archive = args.refresh.open(config)?;
    let request = ConversationRequest {
        id: args.id.clone(),
        around: args.around.clone(),
        query: args.query.clone(),
        context: args.context,
        meta: args.meta,
        reveal: args.reveal,
        ..args.parts.request()
    };
    let answer = archive.conversation(&request, &config.context())?;
    answer.notes.iter().for_each(|note| out::note(&note.to_string()));
    if args.json {
        out::print(config.color, |out| json::conversation(out, answer))?;
        return Ok(exit_code::OK);
    }
    let screen = config.screen();
    let mut printer = ConversationPrinter::new(&screen);
    printer.tools = args.tools.into();
    printer.meta = args.meta;
    printer.pointed = answer.target.uuid.clone();
    printer.marked = answer.marked.iter().cloned().collect();
    pager::print(config, |out| {
        screen.session_head(out, &answer.session)?;
        answer.agents.iter().try_for_each(|agent| printer.agent_line(out, agent))?;
        for turn in answer.turns {
            let Turn { depth, piece } = turn.map_err(io::Error::other)?;
            printer.set_indent(depth * 4);
            printer.piece(out, &piece)?;
        }
        Ok(())
    })?;
    Ok(exit_code::OK)
}
