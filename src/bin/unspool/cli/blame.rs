//! `unspool blame`: shows the session that wrote each line of a file.

use std::path::Path;

use clap::Args;
use unspool::archive::FileAnswer;
use unspool::archive::request::{FileQuestion, FileRequest};
use unspool::error::{Error, ErrorKind};
use unspool::render;

use crate::cli::file;
use crate::config::Config;
use crate::exit_code;
use crate::out;
use crate::pager;
use crate::refresh::RefreshArgs;

/// Show which session wrote each line of a file
///
/// Replays the recorded edits and compares the result with the file on disk. `-` marks lines that no session wrote, `~`
/// marks lines that were changed outside of sessions, such as by a formatter or by hand.
#[derive(Args, Debug)]
pub(crate) struct BlameArgs {
    /// File on disk
    #[arg(value_name = "FILE")]
    file: String,

    /// Show only these lines: 10,40 or 10,+5 or 10
    #[arg(long, short = 'L', value_name = "FROM,TO")]
    lines: Option<String>,

    /// Show secrets instead of masking them
    #[arg(long)]
    reveal: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    refresh: RefreshArgs,
}

pub(crate) fn run(config: &Config, args: &BlameArgs) -> anyhow::Result<u8> {
    let contents = read(&args.file)?;
    let (from, to) = args.lines.as_deref().map_or(Ok((1, usize::MAX)), range)?;
    let question = FileQuestion::Blame { contents };
    let request = FileRequest { path: args.file.clone(), question, reveal: args.reveal, ..FileRequest::default() };
    let blame = match args.refresh.open(config)?.file(&request, &config.context())? {
        FileAnswer::Blame(blame) => blame,
        other => return Ok(file::nothing(&other)),
    };
    if args.json {
        out::print(config.color, |out| render::terminal::blame::blame_json(out, &blame, from, to))?;
    } else {
        pager::print(config, |out| config.screen().blame(out, &blame, from, to))?;
    }
    Ok(exit_code::OK)
}

/// Reads a file given by the user.
pub(super) fn read(path: &str) -> anyhow::Result<String> {
    let bytes = fs_err::read(Path::new(path)).map_err(|error| {
        Error::new(ErrorKind::Usage, error.to_string()).hint("`unspool recover` restores deleted files")
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Parses `10,40`, `10,+5` or `10`.
fn range(text: &str) -> anyhow::Result<(usize, usize)> {
    let wrong = || Error::new(ErrorKind::Usage, format!("cannot read {text:?} as lines")).hint("use the form 10,40");
    let number = |text: &str| text.trim().parse::<usize>().map_err(|_| wrong());
    let (from, to) = text.split_once(',').unwrap_or((text, text));
    let from = if from.trim().is_empty() { 1 } else { number(from)? };
    let to = match to.trim().strip_prefix('+') {
        Some(count) => (from + number(count)?).saturating_sub(1),
        None if to.trim().is_empty() => usize::MAX,
        None => number(to)?,
    };
    if from == 0 || to < from { Err(wrong().into()) } else { Ok((from, to)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_git_reads_them() {
        for (text, expected) in [
            ("10,40", Some((10, 40))),
            ("10,+5", Some((10, 14))),
            ("7", Some((7, 7))),
            ("10,", Some((10, usize::MAX))),
            (",5", Some((1, 5))),
            ("0,5", None),
            ("9,5", None),
            ("x", None),
        ] {
            assert_eq!(range(text).ok(), expected, "{text}");
        }
    }
}
