//! `unspool why`: explains the origin of one line.

use clap::Args;
use unspool::archive::FileAnswer;
use unspool::archive::request::{FileQuestion, FileRequest};
use unspool::error::{Error, ErrorKind};

use crate::agent;
use crate::cli::blame;
use crate::cli::file;
use crate::cli::format;
use crate::config::Config;
use crate::exit_code;
use crate::pager;
use crate::refresh::RefreshArgs;

/// Explain the origin of one line: the prompt, the replies, the change and earlier versions
#[derive(Args, Debug)]
pub(crate) struct WhyArgs {
    /// File and line, such as src/main.rs:42
    #[arg(value_name = "FILE:LINE")]
    place: String,

    /// Show secrets instead of masking them
    #[arg(long)]
    reveal: bool,

    #[command(flatten)]
    refresh: RefreshArgs,

    #[command(flatten)]
    format: format::FormatArgs,
}

pub(crate) fn run(config: &Config, args: &WhyArgs) -> anyhow::Result<u8> {
    let place = args.place.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse::<usize>().ok()?)));
    let Some((path, line)) = place else {
        return Err(Error::new(ErrorKind::Usage, format!("{} has no line number", args.place))
            .hint("use the form src/main.rs:42")
            .into());
    };
    let contents = blame::read(path)?;
    let lines = contents.lines().count();
    if line == 0 || line > lines {
        return Err(Error::new(ErrorKind::Usage, format!("{path} has lines 1 to {lines}, not {line}")).into());
    }
    if let Some(view) = args.format.view(config, Vec::new()) {
        let archive = args.refresh.open(config)?;
        let found = agent::why(&archive, path, line, Some(contents), &config.context(), &view)?;
        return format::print(config, &found);
    }
    let question = FileQuestion::Why { contents, line };
    let request = FileRequest { path: path.to_string(), question, reveal: args.reveal, ..FileRequest::default() };
    let story = match args.refresh.open(config)?.file(&request, &config.context())? {
        FileAnswer::Story(story) => story,
        other => return Ok(file::nothing(&other)),
    };
    pager::print(config, |out| config.screen().story(out, &story))?;
    Ok(exit_code::OK)
}
