//! `unspool help`: help for a command or a topic.

use clap::Args;
use unspool::error::{Error, ErrorKind};

use crate::config::{Config, Global};
use crate::exit_code;
use crate::out;
use crate::pager;

/// The help topics: name, title and text.
pub(crate) const TOPICS: [(&str, &str, &str); 3] = [
    ("query", "query syntax", include_str!("../help/query.txt")),
    ("environment", "environment variables and files", include_str!("../help/environment.txt")),
    ("exit-codes", "meanings of the exit codes", include_str!("../help/exit-codes.txt")),
];

/// Show help for a command or a topic: query, environment, exit-codes
#[derive(Args, Debug)]
pub(crate) struct HelpArgs {
    /// A command, or one of: query, environment, exit-codes
    #[arg(value_name = "COMMAND OR TOPIC")]
    about: Vec<String>,
}

pub(crate) fn run(command: clap::Command, global: &Global, args: &HelpArgs) -> anyhow::Result<u8> {
    if let [topic] = args.about.as_slice()
        && let Some((.., text)) = TOPICS.iter().find(|(name, ..)| name == topic)
    {
        return show(global, text).map(|()| exit_code::OK);
    }
    let words = std::iter::once("unspool").chain(args.about.iter().map(String::as_str)).chain(["--help"]);
    match command.try_get_matches_from(words) {
        Err(help) if help.kind() == clap::error::ErrorKind::DisplayHelp => {
            show(global, &help.render().ansi().to_string()).map(|()| exit_code::OK)
        }
        _ => Err(unknown(&args.about.join(" ")).into()),
    }
}

/// Shows help. Works even if the configuration file is invalid or there is no home folder.
fn show(global: &Global, text: &str) -> anyhow::Result<()> {
    match Config::new(global) {
        Ok(config) => pager::print(&config, |out| out.write_all(text.as_bytes())),
        Err(_) => out::print(global.color.unwrap_or_default(), |out| out.write_all(text.as_bytes())),
    }
}

fn unknown(name: &str) -> Error {
    let topics: Vec<&str> = TOPICS.iter().map(|(name, ..)| *name).collect();
    Error::new(ErrorKind::Usage, format!("unknown command or topic {name:?}"))
        .hint(format!("`unspool help` lists the commands; topics are {}", topics.join(", ")))
}
