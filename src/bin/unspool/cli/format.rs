//! The options of commands that can answer agents.

use clap::{Args, ValueEnum};
use unspool::render::agent::{FEWEST, Next, View};

use crate::agent::{self, Found};
use crate::config::Config;
use crate::exit_code;
use crate::out;

/// Output for agents.
#[derive(Args, Clone, Debug)]
pub(crate) struct FormatArgs {
    /// Output format: agent is compact text for coding agents, as returned by `unspool mcp`
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Output")]
    format: Option<Format>,

    /// With --format agent, the maximum number of characters
    #[arg(long, value_name = "CHARS", requires = "format", value_parser = budget(), help_heading = "Output")]
    budget: Option<u64>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Compact text for coding agents
    Agent,
}

/// Characters of an answer.
const BUDGET: usize = 6000;
/// The largest answer, in characters.
const MOST: u64 = 40_000;

fn budget() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(FEWEST as u64..=MOST)
}

impl FormatArgs {
    /// Returns the way in which answers are shown, if an agent is to read them.
    pub(crate) fn view(&self, config: &Config, remarks: Vec<String>) -> Option<View> {
        let Format::Agent = self.format?;
        let budget = self.budget.and_then(|budget| usize::try_from(budget).ok()).unwrap_or(BUDGET);
        Some(agent::view(&config.context(), budget, remarks, Next::Command))
    }
}

/// Prints an answer and returns the exit code for it.
pub(crate) fn print(config: &Config, found: &Found) -> anyhow::Result<u8> {
    out::print(config.color, |out| out.write_all(found.text.as_bytes()))?;
    Ok(if found.is_something { exit_code::OK } else { exit_code::NOTHING })
}
