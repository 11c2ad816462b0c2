//! `unspool recover`: prints the contents of a file at an earlier time.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use unspool::archive::FileAnswer;
use unspool::archive::history::Recovered;
use unspool::archive::request::{FileQuestion, FileRequest, Moment};
use unspool::error::{Error, ErrorKind};
use unspool::render;
use unspool::untrusted;

use crate::cli::file;
use crate::config::Config;
use crate::exit_code;
use crate::out;
use crate::pager;
use crate::refresh::RefreshArgs;

/// Print an earlier version of a file, rebuilt from recorded sessions
///
/// Without a time, prints the last known contents. They are rebuilt from recorded writes, edits and reads, and from
/// Claude Code's own backups, even if the transcript has been deleted. Exits with 0 if every byte is certain, else with
/// 3, and reports what could not be applied and which lines are certain.
#[derive(Args, Debug)]
pub(crate) struct RecoverArgs {
    /// File: a path, or enough of its end to be unique
    #[arg(value_name = "PATH")]
    path: String,

    /// The version at this time: 2d, yesterday, 2026-03-01 14:30, …
    #[arg(long, value_name = "TIME", group = "moment")]
    at: Option<String>,

    /// The version after this session
    #[arg(long, value_name = "ID", group = "moment")]
    session: Option<String>,

    /// The version before this session first changed it
    #[arg(long, value_name = "ID", group = "moment")]
    before_session: Option<String>,

    /// Write it to a new file in this folder instead of printing it
    #[arg(long, value_name = "DIR", conflicts_with = "list")]
    out: Option<PathBuf>,

    /// List all versions, newest first
    #[arg(long)]
    list: bool,

    /// With --list, print one JSON object per line
    #[arg(long, requires = "list")]
    json: bool,

    #[command(flatten)]
    refresh: RefreshArgs,
}

pub(crate) fn run(config: &Config, args: &RecoverArgs) -> anyhow::Result<u8> {
    let question = if args.list { FileQuestion::Versions } else { FileQuestion::Contents { at: moment(args) } };
    let request = FileRequest { path: args.path.clone(), question, ..FileRequest::default() };
    let recovered = match args.refresh.open(config)?.file(&request, &config.context())? {
        FileAnswer::Contents(recovered) => recovered,
        FileAnswer::Versions { path, versions } => {
            if args.json {
                out::print(config.color, |out| render::terminal::history::versions_json(out, &path, &versions))?;
            } else {
                pager::print(config, |out| config.screen().versions(out, &path, &versions))?;
            }
            return Ok(exit_code::OK);
        }
        other => return Ok(file::nothing(&other)),
    };
    match &args.out {
        Some(folder) => {
            let written = write_to(folder, &recovered)?;
            out::note(&format!("wrote {}", written.display()));
        }
        None if out::is_terminal() => {
            pager::print(config, |out| out.write_all(untrusted::for_terminal(&recovered.contents).as_bytes()))?;
        }
        None => out::write_all(recovered.contents.as_bytes())?,
    }
    for line in config.screen().certainty(&recovered) {
        out::note(&line);
    }
    Ok(if recovered.doubts.is_empty() { exit_code::OK } else { exit_code::PROBLEMS })
}

fn moment(args: &RecoverArgs) -> Moment {
    match (&args.at, &args.session, &args.before_session) {
        (Some(at), ..) => Moment::At(at.clone()),
        (_, Some(session), _) => Moment::After(session.clone()),
        (_, _, Some(session)) => Moment::Before(session.clone()),
        _ => Moment::End,
    }
}

/// Writes to a new file in a folder. Never replaces a file, and never writes to the original path.
fn write_to(folder: &Path, recovered: &Recovered) -> anyhow::Result<PathBuf> {
    let path = recovered.path.raw();
    let name = path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("recovered");
    let name: String =
        name.chars().map(|c| if untrusted::is_dangerous(c) || c.is_control() { '_' } else { c }).collect();
    fs_err::create_dir_all(folder)?;
    let folder = fs_err::canonicalize(folder)?;
    let target = folder.join(name);
    if is_same_place(&target, Path::new(path)) {
        return Err(Error::new(ErrorKind::Usage, format!("{} is the original path of the file", target.display()))
            .hint("choose another folder with --out, then copy the file back yourself")
            .into());
    }
    let mut file = match fs_err::OpenOptions::new().write(true).create_new(true).open(&target) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(Error::new(ErrorKind::Usage, format!("{} already exists", target.display()))
                .hint("choose another folder with --out")
                .into());
        }
        opened => opened?,
    };
    file.write_all(recovered.contents.as_bytes())?;
    file.sync_all()?;
    Ok(target)
}

/// Reports whether both paths are, or would be, the same file.
fn is_same_place(target: &Path, original: &Path) -> bool {
    let folder = original.parent().and_then(|folder| fs_err::canonicalize(folder).ok());
    let resolved = folder.zip(original.file_name()).map(|(folder, name)| folder.join(name));
    target == original || resolved.is_some_and(|resolved| resolved == target)
}
