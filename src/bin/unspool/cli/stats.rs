//! `unspool stats`: statistics about tokens, cost and activity.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use unspool::archive::request::StatsRequest;
use unspool::archive::stats::{By, Stats};
use unspool::archive::{Note, StatsAnswer};
use unspool::error::{Error, ErrorKind};
use unspool::render;

use crate::cli::filter::FilterArgs;
use crate::config::Config;
use crate::exit_code;
use crate::out;
use crate::refresh::RefreshArgs;

/// Show where time and tokens went
///
/// Shows tokens and estimated cost, prompts and responses, tools, models, projects, and when you work. Each API message
/// counts once, even if several lines or files repeat it. Costs follow the API price list; `[prices]` in the
/// configuration adds to it.
#[derive(Args, Debug)]
pub(crate) struct StatsArgs {
    /// Group by day, week, month, project, session, model, tool, hour or weekday
    #[arg(long, value_name = "WHAT", value_parser = parse_by)]
    by: Option<By>,

    /// Show at most N rows: the latest days, the most expensive projects
    #[arg(long, short = 'n', value_name = "N", default_value_t = 30)]
    limit: usize,

    /// Print one JSON object, with all groupings unless --by selects one
    #[arg(long, help_heading = "Output", conflicts_with_all = ["csv", "html"])]
    json: bool,

    /// Print comma-separated values, by day unless --by selects another grouping
    #[arg(long, help_heading = "Output", conflicts_with = "html")]
    csv: bool,

    /// Print one self-contained HTML page with charts
    #[arg(long, help_heading = "Output")]
    html: bool,

    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    #[command(flatten)]
    refresh: RefreshArgs,

    #[command(flatten)]
    filter: FilterArgs,
}

fn parse_by(text: &str) -> Result<By, String> {
    let known = By::ALL.iter().find(|(_, name)| *name == text.trim_end_matches('s'));
    known.map(|(by, _)| *by).ok_or_else(|| {
        format!("must be one of {}", By::ALL.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", "))
    })
}

pub(crate) fn run(config: &Config, args: &StatsArgs) -> anyhow::Result<u8> {
    if args.html && args.output.is_none() && out::is_terminal() {
        return Err(Error::new(ErrorKind::Usage, "will not print HTML to a terminal")
            .hint("write it to a file: `unspool stats --html -o stats.html`")
            .into());
    }
    let archive = args.refresh.open(config)?;
    let request = StatsRequest { filters: args.filter.filters(), prices: config.settings.prices.clone() };
    let StatsAnswer { stats, notes } = archive.stats(&request, &config.context())?;
    notes.iter().filter(|note| !args.json || **note != Note::NothingToCount).for_each(|note| {
        out::note(&note.to_string());
    });
    if stats.total.is_empty() && !args.json {
        return Ok(exit_code::NOTHING);
    }
    match &args.output {
        None => out::print(config.color, |out| write(config, args, &stats, out))?,
        Some(path) => {
            let mut bytes = Vec::new();
            write(config, args, &stats, &mut anstream::StripStream::new(&mut bytes))
                .context("cannot format the statistics")?;
            fs_err::write(path, bytes).map_err(|error| Error::io("write", path, error))?;
            out::note(&format!("wrote {}", path.display()));
        }
    }
    Ok(exit_code::OK)
}

fn write(config: &Config, args: &StatsArgs, stats: &Stats, out: &mut dyn Write) -> std::io::Result<()> {
    let screen = config.screen();
    if args.json {
        render::stats_json::json(out, stats, args.by)
    } else if args.csv {
        render::stats_json::csv(out, stats, args.by.unwrap_or(By::Day))
    } else if args.html {
        render::stats_html::html(out, stats, &screen)
    } else if let Some(by) = args.by {
        screen.groups(out, stats, by, args.limit.max(1))
    } else {
        screen.stats(out, stats)
    }
}
