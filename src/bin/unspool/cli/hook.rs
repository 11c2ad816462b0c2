//! `unspool hook`: called by Claude Code when a session ends or an answer is complete.
//!
//! Claude Code waits for its hooks and shows what they say, so this one reads the event with a deadline, leaves the
//! work to a process of its own, says nothing and never fails.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use unspool::error::{Error, ErrorKind};
use unspool::transcript::settings::{self, Hook, Settings};

use crate::atomic_write;
use crate::config::{self, Config, Global};
use crate::exit_code;
use crate::out;
use crate::schedule::Tools;

/// How long an event may take to arrive. Whoever writes it may never close the pipe.
const DEADLINE: Duration = Duration::from_millis(25);
/// No event is larger.
const MOST: usize = 1 << 20;

/// Keep the index current from within Claude Code
///
/// Without a command, this is what Claude Code's SessionEnd and Stop hooks call: it reads the event from standard
/// input and starts an index run of just that transcript in the background. It takes a few milliseconds, prints
/// nothing and always succeeds.
#[derive(Args, Debug)]
pub(crate) struct HookArgs {
    #[command(subcommand)]
    command: Option<HookCommand>,
}

#[derive(Debug, Subcommand)]
enum HookCommand {
    /// Add the hooks to Claude Code's settings.json
    ///
    /// Adds two entries and changes nothing else; the file as it was is kept beside it.
    Install(EditArgs),
    /// Show whether the hooks are there
    Status(FileArgs),
    /// Take the hooks out of settings.json again
    Uninstall(EditArgs),
}

#[derive(Args, Debug)]
struct FileArgs {
    /// The settings file, instead of the one in each root
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
}

#[derive(Args, Debug)]
struct EditArgs {
    #[command(flatten)]
    file: FileArgs,

    /// Only show the file as it would be
    #[arg(long)]
    dry_run: bool,
}

impl HookArgs {
    /// Whether Claude Code is calling, not a person.
    pub(crate) fn is_event(&self) -> bool {
        self.command.is_none()
    }
}

/// Takes an event. Whatever happens, Claude Code must not notice.
pub(crate) fn take_event(global: &Global) -> u8 {
    out::hush();
    let _ = std::panic::catch_unwind(|| {
        let config = Config::new(global).ok()?;
        let transcript = read_event(DEADLINE).and_then(|event| settings::transcript_of(&event));
        start_indexing(&config, transcript.as_deref()).ok()
    });
    exit_code::OK
}

/// Reads an event from standard input; none if none comes in time.
fn read_event(deadline: Duration) -> Option<Vec<u8>> {
    let end = Instant::now() + deadline;
    let mut event = Vec::new();
    while !settings::is_whole(&event) && event.len() < MOST {
        match next_piece(end) {
            Some(piece) if !piece.is_empty() => event.extend(piece),
            _ => break,
        }
    }
    Some(event).filter(|event| !event.is_empty())
}

/// What has arrived on standard input, waiting no longer than to this moment.
#[cfg(unix)]
fn next_piece(end: Instant) -> Option<Vec<u8>> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = std::io::stdin();
    let left = end.saturating_duration_since(Instant::now());
    let timeout = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() };
    if poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&timeout)) != Ok(1) {
        return None;
    }
    let mut piece = vec![0; 64 << 10];
    let length = rustix::io::read(&stdin, &mut piece).ok()?;
    piece.truncate(length);
    Some(piece)
}

/// The same where only a thread can wait for a while.
#[cfg(not(unix))]
fn next_piece(end: Instant) -> Option<Vec<u8>> {
    let (send, arrived) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut piece = vec![0; 64 << 10];
        let length = std::io::Read::read(&mut std::io::stdin(), &mut piece).unwrap_or(0);
        piece.truncate(length);
        let _ = send.send(piece);
    });
    arrived.recv_timeout(end.saturating_duration_since(Instant::now())).ok()
}

/// Starts an index run that outlives us, of one transcript if we know which, of everything otherwise.
fn start_indexing(config: &Config, transcript: Option<&Path>) -> std::io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["index", "--quiet", "--settle", "--wait", "30"]).args(config.carried());
    if let Some(transcript) = transcript {
        command.arg("--file").arg(transcript);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Not in the way of whoever wants to remove the folder we were called in.
    if let Some(home) = config::home() {
        command.current_dir(home);
    }
    detach(&mut command);
    command.spawn().map(drop)
}

/// What ends Claude Code, or its hooks, must not end the index run.
#[cfg(unix)]
fn detach(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;
    command.process_group(0);
}

#[cfg(windows)]
fn detach(command: &mut Command) {
    use std::os::windows::process::CommandExt as _;
    const DETACHED_PROCESS: u32 = 0x8;
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
    command.creation_flags(DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP);
}

#[cfg(not(any(unix, windows)))]
fn detach(_: &mut Command) {}

pub(crate) fn run(config: &Config, args: &HookArgs) -> anyhow::Result<u8> {
    match &args.command {
        Some(HookCommand::Install(args)) => {
            let hook = hook(config)?;
            edit(config, args, |text| settings::with_hook(text, &hook), "installed in", "already in")
        }
        Some(HookCommand::Uninstall(args)) => {
            let edited = |text: &str| if text.is_empty() { Ok(String::new()) } else { settings::without_hook(text) };
            edit(config, args, edited, "removed from", "not in")
        }
        Some(HookCommand::Status(args)) => status(config, args),
        None => Ok(exit_code::OK),
    }
}

/// The call to be put into the settings. Claude Code's environment may differ from ours, so what was said here about
/// roots and index is said there too.
fn hook(config: &Config) -> anyhow::Result<Hook> {
    let program = Tools::new(config::path_folders()).stable_name_of(&std::env::current_exe()?);
    crate::cli::schedule::warn_of_passing_place(&program);
    let mut words = Vec::new();
    for word in std::iter::once(program.into_os_string()).chain(config.carried_if_named()) {
        words.push(word.into_string().map_err(|word| {
            Error::new(ErrorKind::Usage, format!("\"{}\" is no text", word.to_string_lossy()))
                .hint("use a folder with a plainer name, for example through a symbolic link")
        })?);
    }
    words.push("hook".to_string());
    Ok(Hook { program: words.remove(0), args: words })
}

/// The settings files to look at: those of the roots that are there.
fn files_of(config: &Config, args: &FileArgs) -> anyhow::Result<Vec<PathBuf>> {
    if let Some(file) = &args.settings {
        return Ok(vec![std::path::absolute(file)?]);
    }
    let found: Vec<PathBuf> = config.settings_files();
    if found.is_empty() {
        let message = "found no folder of Claude Code";
        return Err(Error::new(ErrorKind::Usage, message)
            .hint("name one with --root, or the file with --settings")
            .into());
    }
    Ok(found)
}

fn edit(
    config: &Config,
    args: &EditArgs,
    change: impl Fn(&str) -> unspool::error::Result<String>,
    done: &str,
    nothing: &str,
) -> anyhow::Result<u8> {
    let screen = config.screen();
    for path in files_of(config, &args.file)? {
        let old = read(&path)?;
        let new = change(&old).map_err(|error| named(&path, &error))?;
        let say = |what: &str| out::print(config.color, |out| writeln!(out, "{what} {}", screen.path(&path)));
        if new == old {
            say(nothing)?;
        } else if args.dry_run {
            out::print(config.color, |out| write!(out, "# write {}\n{new}", path.display()))?;
        } else {
            write(&path, &old, &new)?;
            say(done)?;
        }
    }
    Ok(exit_code::OK)
}

/// Replaces the file, keeping what it was; a file that we made ourselves goes again when nothing is left in it.
fn write(path: &Path, old: &str, new: &str) -> anyhow::Result<()> {
    let mut backup = path.as_os_str().to_os_string();
    backup.push(".unspool-backup");
    let backup = PathBuf::from(backup);
    if read(path)? != old {
        return Err(Error::new(ErrorKind::Other, format!("{} was changed just now", path.display()))
            .hint("try again")
            .into());
    }
    let is_ours = new.split_whitespace().collect::<String>() == "{}" && !backup.is_file();
    if is_ours {
        return Ok(fs_err::remove_file(path)?);
    }
    if !old.is_empty() {
        atomic_write::replace(&backup, old.as_bytes())?;
    }
    Ok(atomic_write::replace(path, new.as_bytes())?)
}

/// The text of a file; empty if it is not there.
fn read(path: &Path) -> anyhow::Result<String> {
    match fs_err::read(path) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|error| {
            let why = format!("cannot read {}: {error}", path.display());
            Error::new(ErrorKind::Other, why).hint("put the file right; nothing was changed").into()
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Error::io("read", path, error).into()),
    }
}

fn named(path: &Path, error: &Error) -> Error {
    Error::new(error.kind, format!("{}: {error}", path.display())).hint(error.hint_text().unwrap_or_default())
}

fn status(config: &Config, args: &FileArgs) -> anyhow::Result<u8> {
    let screen = config.screen();
    let mut code = exit_code::NOTHING;
    for path in files_of(config, args)? {
        let text = read(&path)?;
        let shown = screen.path(&path);
        if text.trim().is_empty() {
            out::print(config.color, |out| writeln!(out, "{shown}: not installed"))?;
            continue;
        }
        let installed = settings::installed(&text).map_err(|error| named(&path, &error))?;
        let off = Settings::parse(&text).ok().and_then(|settings| settings.disable_all_hooks) == Some(true);
        if installed.is_empty() {
            out::print(config.color, |out| writeln!(out, "{shown}: not installed"))?;
        }
        for hook in &installed {
            let missing = Path::new(&hook.hook.program).is_absolute() && !Path::new(&hook.hook.program).is_file();
            let trouble = match (missing, off) {
                (true, _) => " (the program is not there; run `unspool hook install` again)",
                (_, true) => " (but disableAllHooks is set)",
                _ => "",
            };
            let problem = missing || off;
            code = if problem || code == exit_code::PROBLEMS { exit_code::PROBLEMS } else { exit_code::OK };
            let line = format!("{} {}{trouble}", hook.hook.program, hook.hook.args.join(" "));
            let line = unspool::untrusted::one_line(&line);
            out::print(config.color, |out| writeln!(out, "{shown}: {} calls {line}", hook.event))?;
        }
    }
    Ok(code)
}
