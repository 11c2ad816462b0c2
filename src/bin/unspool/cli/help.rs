//! `unspool help`: help for a command, and topics that belong to no command.

use clap::Args;
use unspool::error::{Error, ErrorKind};

use crate::out::{self, Color};

/// The topics: name, what it is about, text.
pub(crate) const TOPICS: [(&str, &str, &str); 3] = [
    ("query", "what a query may hold", include_str!("../help/query.txt")),
    ("environment", "variables and files", include_str!("../help/environment.txt")),
    ("exit-codes", "what the exit code says", include_str!("../help/exit-codes.txt")),
];

/// Show help for a command or a topic: query, environment, exit-codes
#[derive(Args, Debug)]
pub(crate) struct HelpArgs {
    /// A command, or one of query, environment, exit-codes
    #[arg(value_name = "COMMAND OR TOPIC")]
    about: Vec<String>,
}

pub(crate) fn run(mut command: clap::Command, color: Color, args: &HelpArgs) -> anyhow::Result<u8> {
    if let [topic] = args.about.as_slice()
        && let Some((.., text)) = TOPICS.iter().find(|(name, ..)| name == topic)
    {
        out::print(color, |out| out.write_all(text.as_bytes()))?;
        return Ok(out::OK);
    }
    command.build();
    let mut found = &mut command;
    for name in &args.about {
        found = found.find_subcommand_mut(name).ok_or_else(|| unknown(name))?;
    }
    let help = found.render_long_help();
    out::print(color, |out| write!(out, "{}", help.ansi()))?;
    Ok(out::OK)
}

fn unknown(name: &str) -> Error {
    let topics: Vec<&str> = TOPICS.iter().map(|(name, ..)| *name).collect();
    Error::new(ErrorKind::Usage, format!("there is no command or topic {name:?}"))
        .hint(format!("`unspool help` lists the commands; topics are {}", topics.join(", ")))
}
