//! `unspool resume`: goes on with a session in Claude Code.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use unspool::archive::conversation::resolve;
use unspool::archive::sessions::Session;
use unspool::error::{Error, ErrorKind};

use crate::cli::refresh::RefreshArgs;
use crate::config::{self, Config};
use crate::exit_code;
use crate::out;

/// Go on with a session in Claude Code
///
/// Runs `claude --resume` in the session's folder. Says why when that is impossible: Claude Code has deleted the
/// transcript, the folder is gone, there is no `claude`.
#[derive(Args, Debug)]
pub(crate) struct ResumeArgs {
    /// Session, or a message or subagent of it, by its id or the beginning of it
    #[arg(value_name = "ID")]
    id: String,

    /// Leave the session as it is and go on in a copy
    #[arg(long)]
    fork: bool,

    /// Only print the command
    #[arg(long)]
    print: bool,

    #[command(flatten)]
    refresh: RefreshArgs,
}

/// What is to be run, and where.
struct Plan {
    folder: PathBuf,
    config_dir: Option<PathBuf>,
    args: Vec<String>,
}

pub(crate) fn run(config: &Config, args: &ResumeArgs) -> anyhow::Result<u8> {
    let fresh = args.refresh.open(config)?;
    let target = resolve(&fresh.reader, &args.id)?;
    let session = Session::find(&fresh.reader, &target.session)?;
    if let Some(next) = &session.continued_in {
        out::note(&format!("this session went on in {}; you may want to resume that one", next.line()));
    }
    let plan = plan(&session, args.fork)?;
    if args.print {
        out::print(config.color, |out| writeln!(out, "{}", plan.shell()))?;
        return Ok(exit_code::OK);
    }
    let Some(claude) = find_program("claude") else {
        let hint = format!("install Claude Code, or run this where it is: {}", plan.shell());
        return Err(Error::new(ErrorKind::Other, "there is no `claude` in your PATH").hint(hint).into());
    };
    plan.start(&claude)
}

/// What to run for a session, or why that is impossible.
fn plan(session: &Session, fork: bool) -> Result<Plan, Error> {
    let id = session.id.raw();
    let keep = format!("`unspool show {id}` shows it, `unspool export {id}` writes it to a file");
    let impossible = |what: String| Error::new(ErrorKind::NotFound, what);
    if session.history_only {
        return Err(impossible(format!("of session {id} only its prompts are left; it cannot be resumed")).hint(keep));
    }
    if session.agents_only && !session.gone {
        let what = format!("of session {id} only subagents are known, not its own transcript; it cannot be resumed");
        return Err(impossible(what).hint(keep));
    }
    if session.gone || !matches!(session.path.try_exists(), Ok(true)) {
        let what = format!("Claude Code has deleted the transcript of session {id}; it cannot be resumed");
        return Err(impossible(what).hint(keep));
    }
    let folder = folder_of(session);
    if folder.as_os_str().is_empty() {
        return Err(impossible(format!("session {id} does not say in which folder it was")).hint(keep));
    }
    if !folder.is_dir() {
        let what = format!("the folder of session {id} is not there any more: {}", folder.display());
        return Err(
            impossible(what).hint(format!("make it again, as Claude Code looks for sessions by folder; {keep}"))
        );
    }
    let mut args = vec!["--resume".to_string(), id.to_string()];
    if fork {
        args.push("--fork-session".to_string());
    }
    Ok(Plan { folder, config_dir: foreign_root(&session.path), args })
}

/// The folder under whose name Claude Code keeps the transcript; only there will it find the session.
fn folder_of(session: &Session) -> PathBuf {
    let name = session.path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let folders = [session.cwd.raw(), session.project.raw()];
    let fitting = folders.into_iter().find(|folder| name.as_deref() == Some(&encoded(folder)));
    PathBuf::from(fitting.unwrap_or(session.project.raw()))
}

/// A folder as Claude Code spells it in a file name.
fn encoded(folder: &str) -> String {
    folder
        .encode_utf16()
        .map(|unit| u8::try_from(unit).ok().filter(u8::is_ascii_alphanumeric).map_or('-', char::from))
        .collect()
}

/// The folder Claude Code has to be told of, if the transcript is not in the usual one.
fn foreign_root(transcript: &Path) -> Option<PathBuf> {
    let root = transcript.ancestors().find(|dir| dir.file_name().is_some_and(|name| name == "projects"))?.parent()?;
    let usual = config::var("CLAUDE_CONFIG_DIR").map(PathBuf::from).or_else(|| Some(config::home()?.join(".claude")));
    (usual.as_deref() != Some(root)).then(|| root.to_path_buf())
}

fn find_program(name: &str) -> Option<PathBuf> {
    let path: OsString = config::var("PATH")?;
    let endings: &[&str] = if cfg!(windows) { &[".exe", ".cmd", ""] } else { &[""] };
    let places =
        std::env::split_paths(&path).flat_map(|dir| endings.iter().map(move |end| dir.join(format!("{name}{end}"))));
    places.into_iter().find(|place| place.is_file())
}

impl Plan {
    /// The command as one types it.
    fn shell(&self) -> String {
        let dir = self.config_dir.as_ref().map(|dir| format!("CLAUDE_CONFIG_DIR={} ", quoted(&dir.to_string_lossy())));
        let args: Vec<String> = self.args.iter().map(|arg| quoted(arg)).collect();
        format!("cd {} && {}claude {}", quoted(&self.folder.to_string_lossy()), dir.unwrap_or_default(), args.join(" "))
    }

    fn command(&self, claude: &Path) -> Command {
        let mut command = Command::new(claude);
        command.args(&self.args).current_dir(&self.folder);
        if let Some(dir) = &self.config_dir {
            command.env("CLAUDE_CONFIG_DIR", dir);
        }
        command
    }

    /// Becomes Claude Code.
    #[cfg(unix)]
    fn start(&self, claude: &Path) -> anyhow::Result<u8> {
        use std::os::unix::process::CommandExt as _;
        Err(Error::io("run", claude, self.command(claude).exec()).into())
    }

    /// Runs Claude Code and ends as it ends.
    #[cfg(not(unix))]
    fn start(&self, claude: &Path) -> anyhow::Result<u8> {
        let status = self.command(claude).status().map_err(|error| Error::io("run", claude, error))?;
        Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(exit_code::FAILED))
    }
}

/// A word as a shell reads it back.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./~:@%+=,".contains(c);
    if !word.is_empty() && !word.starts_with('~') && word.chars().all(is_plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("/home/u/x"), "/home/u/x");
        assert_eq!(quoted("/my docs/it's"), "'/my docs/it'\\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn folders_are_spelt_as_claude_code_does() {
        assert_eq!(encoded("/home/u/.claude"), "-home-u--claude");
        assert_eq!(encoded("D:\\ab한글이름"), "D--ab----");
    }
}
