//! `unspool export`: writes conversations to files that can be shared.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use unspool::archive::request::ConversationRequest;
use unspool::archive::sessions::Session;
use unspool::archive::{Archive, ConversationAnswer};
use unspool::error::{Error, ErrorKind};
use unspool::render::Homes;
use unspool::render::export::{Export, Form};

use crate::cli::show::{HowTools, PartsArgs};
use crate::config::{self, Config};
use crate::exit_code;
use crate::out;
use crate::refresh::RefreshArgs;

/// Write conversations to files that can be shared
///
/// Masks secrets and shortens the home folder to ~, but read a file before you share it: no rule finds every secret.
/// HTML is one file without scripts or external resources. Works from the index, even if Claude Code has deleted the
/// transcript.
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// Sessions or subagents, by id or the start of it
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,

    /// File format
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,

    /// Output file, or - for stdout; for several sessions, a folder
    #[arg(long, short, value_name = "FILE|DIR")]
    output: Option<PathBuf>,

    /// Replace existing files
    #[arg(long)]
    force: bool,

    /// Level of detail for tool calls
    #[arg(long, value_enum, default_value = "full", value_name = "HOW")]
    tools: HowTools,

    #[command(flatten)]
    parts: PartsArgs,

    /// Do not mask secrets and home folders
    #[arg(long)]
    reveal: bool,

    #[command(flatten)]
    refresh: RefreshArgs,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
enum Format {
    /// Markdown
    #[default]
    Md,
    /// One HTML page
    Html,
    /// One JSON document
    Json,
}

impl Format {
    fn extension(self) -> &'static str {
        match self {
            Self::Md => "md",
            Self::Html => "html",
            Self::Json => "json",
        }
    }
}

pub(crate) fn run(config: &Config, args: &ExportArgs) -> anyhow::Result<u8> {
    let archive = args.refresh.open(config)?;
    let mut written: HashMap<PathBuf, String> = HashMap::new();
    let mut code = exit_code::OK;
    for id in &args.ids {
        match export(config, args, &archive, id, &mut written) {
            // The other sessions can still be exported.
            Err(error) if args.ids.len() > 1 && is_about_id(&error) => code = code.max(out::explain(&error)),
            done => done?,
        }
    }
    Ok(code)
}

/// Reports whether an error is about the id: nothing has it, or several sessions do.
fn is_about_id(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<Error>().map(|error| error.kind);
    matches!(kind, Some(ErrorKind::NotFound | ErrorKind::Usage))
}

fn export(
    config: &Config,
    args: &ExportArgs,
    archive: &Archive,
    id: &str,
    written: &mut HashMap<PathBuf, String>,
) -> anyhow::Result<()> {
    let request = ConversationRequest { id: id.to_string(), reveal: args.reveal, ..args.parts.request() };
    let answer = archive.conversation(&request, &config.context())?;
    let target = answer.target.clone();
    let mut bytes = Vec::new();
    write(config, args, answer, &mut bytes)?;
    if args.output.as_deref() == Some(Path::new("-")) {
        return out::print(config.color, |out| out.write_all(&bytes));
    }
    let name = target.agent.as_deref().unwrap_or(&target.session);
    // The same session may be replaced, but not another one whose id starts the same.
    let short = output_path(args, short_name(name))?;
    let is_free = written.get(&short).is_none_or(|of| of == name);
    let path = if is_free { short } else { output_path(args, name)? };
    save(&path, &bytes, args.force)?;
    let shown = config.screen().path(&path);
    written.insert(path, name.to_string());
    out::print(config.color, |out| writeln!(out, "{shown}"))
}

fn write(config: &Config, args: &ExportArgs, answer: ConversationAnswer, bytes: &mut Vec<u8>) -> anyhow::Result<()> {
    let session = &answer.session;
    let homes = if args.reveal { Vec::new() } else { homes(session) };
    let form = match args.format {
        Format::Md => Form::Markdown,
        Format::Html => Form::Html,
        Format::Json => Form::Json,
    };
    let screen = config.screen();
    let export = Export { screen: &screen, session, homes: Homes(homes), tools: args.tools.into(), form };
    export.write(bytes, answer.turns).map_err(|error| match error.downcast::<Error>() {
        Ok(ours) => ours,
        Err(error) => Error::io("write", Path::new("the export"), error),
    })?;
    Ok(())
}

/// Returns the home folders to shorten: the user's, and that of the session.
fn homes(session: &Session) -> Vec<String> {
    let mut homes: Vec<String> = config::home().map(|home| home.to_string_lossy().into_owned()).into_iter().collect();
    for folder in [session.project.raw(), session.cwd.raw()] {
        let separator = if folder.contains('\\') { '\\' } else { '/' };
        let parts: Vec<&str> = folder.split(separator).collect();
        if let [lead, "home" | "Users", name, ..] = parts.as_slice()
            && !name.is_empty()
        {
            let home = [*lead, parts[1], name].join(&separator.to_string());
            // In tool arguments, which are JSON, each backslash is doubled.
            homes.push(home.replace('\\', "\\\\"));
            homes.push(home.replace('\\', "/"));
            homes.push(home);
        }
    }
    homes.retain(|home| home.len() > 1);
    homes.sort_by_key(|home| std::cmp::Reverse(home.len()));
    homes.dedup();
    homes
}

/// Returns the first part of an id.
fn short_name(id: &str) -> &str {
    id.split('-').next().filter(|first| first.len() == 8).unwrap_or(id)
}

/// Returns the path of the output file.
fn output_path(args: &ExportArgs, id: &str) -> anyhow::Result<PathBuf> {
    let id: String = id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(64).collect();
    let name = format!("session-{id}.{}", args.format.extension());
    match &args.output {
        None => Ok(PathBuf::from(name)),
        Some(dir) if dir.is_dir() || args.ids.len() > 1 => {
            fs_err::create_dir_all(dir).map_err(|error| Error::io("create", dir, error))?;
            Ok(dir.join(name))
        }
        Some(file) => Ok(file.clone()),
    }
}

/// Writes a file. Fails if it exists, unless `force` is set.
fn save(path: &Path, bytes: &[u8], force: bool) -> anyhow::Result<()> {
    let mut options = fs_err::OpenOptions::new();
    options.write(true).create(true).truncate(true).create_new(!force);
    match options.open(path).and_then(|mut file| file.write_all(bytes)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let what = format!("{} already exists", path.display());
            Err(Error::new(ErrorKind::Usage, what)
                .hint("replace it with --force, or choose another file with -o")
                .into())
        }
        Err(error) => Err(Error::io("write", path, error).into()),
        Ok(()) => Ok(()),
    }
}
