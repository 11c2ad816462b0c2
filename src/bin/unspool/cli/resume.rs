//! `unspool resume`: continues a session in Claude Code.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use unspool::archive::ResumeCommand;
use unspool::error::{Error, ErrorKind};

use crate::cli::shells::Shell;
use crate::config::{self, Config};
use crate::exit_code;
use crate::out;
use crate::refresh::RefreshArgs;

/// Continue a session in Claude Code
///
/// Runs `claude --resume` in the session's folder. Reports why if that is impossible: Claude Code has deleted the
/// transcript, the folder no longer exists, or `claude` is not installed.
#[derive(Args, Debug)]
pub(crate) struct ResumeArgs {
    /// Session, message or subagent, by id or the start of it
    #[arg(value_name = "ID")]
    id: String,

    /// Leave the session unchanged and continue in a copy
    #[arg(long)]
    fork: bool,

    /// Only print the command
    #[arg(long)]
    print: bool,

    /// Print it for zsh, bash, fish, nu or powershell [default: as in zsh and bash]
    #[arg(long, value_enum, value_name = "SHELL", hide_possible_values = true, requires = "print")]
    shell: Option<Shell>,

    #[command(flatten)]
    refresh: RefreshArgs,
}

pub(crate) fn run(config: &Config, args: &ResumeArgs) -> anyhow::Result<u8> {
    let archive = args.refresh.open(config)?;
    let (resume, notes) = archive.resume(&args.id, args.fork, &config.context())?;
    notes.iter().for_each(|note| out::note(&note.to_string()));
    if args.print {
        let syntax = args.shell.map(Shell::syntax).unwrap_or_default();
        out::print(config.color, |out| writeln!(out, "{}", resume.typed(syntax)))?;
        return Ok(exit_code::OK);
    }
    let Some(claude) = find_program("claude") else {
        let hint = format!("install Claude Code, or run this where it is installed: {}", resume.shell());
        return Err(Error::new(ErrorKind::Other, "cannot find `claude` in PATH").hint(hint).into());
    };
    start(config, &claude, &resume)
}

pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path: OsString = config::var("PATH")?;
    let extensions: &[&str] = if cfg!(windows) { &[".exe", ".cmd", ""] } else { &[""] };
    let places = std::env::split_paths(&path)
        .flat_map(|dir| extensions.iter().map(move |extension| dir.join(format!("{name}{extension}"))));
    places.into_iter().find(|place| place.is_file())
}

fn command(config: &Config, claude: &Path, resume: &ResumeCommand) -> Command {
    let mut command = Command::new(claude);
    command.args(&resume.args).args(&config.settings.resume_args).current_dir(&resume.folder);
    if let Some(dir) = &resume.config_dir {
        command.env("CLAUDE_CONFIG_DIR", dir);
    }
    command
}

/// Replaces this process with Claude Code.
#[cfg(unix)]
pub(crate) fn start(config: &Config, claude: &Path, resume: &ResumeCommand) -> anyhow::Result<u8> {
    use std::os::unix::process::CommandExt as _;
    Err(Error::io("run", claude, command(config, claude, resume).exec()).into())
}

/// Runs Claude Code and returns its exit code.
#[cfg(not(unix))]
pub(crate) fn start(config: &Config, claude: &Path, resume: &ResumeCommand) -> anyhow::Result<u8> {
    let status = command(config, claude, resume).status().map_err(|error| Error::io("run", claude, error))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(exit_code::FAILED))
}
