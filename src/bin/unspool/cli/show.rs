//! `unspool show`: prints a conversation.

use std::io;

use clap::{Args, ValueEnum};
use unspool::archive::conversation::Turn;
use unspool::archive::request::ConversationRequest;
use unspool::render::agent as agent_text;
use unspool::render::json;
use unspool::render::terminal::conversation::{ConversationPrinter, Tools};

use crate::agent::{self, Part};
use crate::cli::format;
use crate::config::Config;
use crate::exit_code;
use crate::out;
use crate::pager;
use crate::refresh::RefreshArgs;

/// Show a conversation
///
/// ID is the id of a session, subagent or message, or the start of it (at least four characters). A message is shown
/// within its session. Works from the index, even if Claude Code has deleted the transcript.
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Id of a session, subagent or message, or the start of one
    #[arg(value_name = "ID")]
    id: String,

    /// Start near this message
    #[arg(long, value_name = "UUID", conflicts_with = "query")]
    around: Option<String>,

    /// Start near the best match for these words, and highlight them
    #[arg(long, short = 'q', value_name = "WORDS")]
    query: Option<String>,

    /// With --around or --query, show only N messages before and after
    #[arg(long, short = 'C', value_name = "N")]
    context: Option<usize>,

    /// Level of detail for tool calls
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    tools: HowTools,

    #[command(flatten)]
    parts: PartsArgs,

    /// Also show text that Claude Code itself inserted: hooks, reminders, skills
    #[arg(long)]
    meta: bool,

    /// Show secrets instead of masking them
    #[arg(long)]
    reveal: bool,

    /// Print one JSON object per line: the session, then its messages and tool calls
    #[arg(long)]
    json: bool,

    /// With --format agent, start with this line of the transcript
    #[arg(long, value_name = "LINE", requires = "format", default_value_t = 0)]
    from: u64,

    /// With --format agent, end with this line of the transcript
    #[arg(long, value_name = "LINE", requires = "format")]
    to: Option<u64>,

    /// With --format agent, skip this many characters of that line
    #[arg(long, value_name = "CHARS", requires = "format", default_value_t = 0)]
    skip: usize,

    #[command(flatten)]
    refresh: RefreshArgs,

    #[command(flatten)]
    format: format::FormatArgs,
}

/// The options of all commands that print a conversation: what to include besides its main thread.
#[derive(Args, Debug)]
pub(crate) struct PartsArgs {
    /// Include the conversations of subagents where they were started, instead of one line each
    #[arg(long)]
    agents: bool,

    /// Include branches abandoned by a rewind
    #[arg(long)]
    branches: bool,
}

impl PartsArgs {
    /// Returns a request for these parts of a conversation.
    pub(crate) fn request(&self) -> ConversationRequest {
        ConversationRequest { abandoned: self.branches, agents: self.agents, ..ConversationRequest::default() }
    }
}

/// The level of detail for tool calls.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(crate) enum HowTools {
    /// One line per call with its result, and file changes as diffs
    #[default]
    Folded,
    /// Calls and results in full
    Full,
    /// One line per call
    Calls,
    /// No tool calls
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

/// Returns the part of the conversation that an agent asks for.
fn part(args: &ShowArgs) -> Part {
    let tools = match args.tools {
        HowTools::Folded | HowTools::Calls => agent_text::Tools::Lines,
        HowTools::Full => agent_text::Tools::Full,
        HowTools::None => agent_text::Tools::None,
    };
    Part {
        id: args.id.clone(),
        around: args.around.clone(),
        query: args.query.clone(),
        before: args.context,
        after: args.context,
        reading: agent_text::ConversationPart { tools, from: args.from, skip: args.skip, to: args.to },
    }
}

pub(crate) fn run(config: &Config, args: &ShowArgs) -> anyhow::Result<u8> {
    let archive = args.refresh.open(config)?;
    if let Some(mut view) = args.format.view(config, Vec::new()) {
        let found = agent::read(&archive, part(args), &config.context(), &mut view)?;
        return format::print(config, &found);
    }
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
