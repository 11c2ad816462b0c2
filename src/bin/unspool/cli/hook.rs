//! `unspool hook`: called by Claude Code when a session ends or an answer is complete.
//!
//! Claude Code waits for its hooks and shows their output. So this one reads the event with a deadline, starts a
//! separate process for the work, prints nothing and never fails.

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

/// The maximum time to wait for an event. The writer may never close the pipe.
const DEADLINE: Duration = Duration::from_millis(25);
/// The maximum size of an event.
const MOST: usize = 1 << 20;

/// Update the index from Claude Code's hooks
///
/// Without a command, this is what Claude Code's SessionEnd and Stop hooks run: it reads the event from standard input
/// and starts an index run for that transcript in the background. It takes a few milliseconds, prints nothing and
/// always succeeds.
#[derive(Args, Debug)]
pub(crate) struct HookArgs {
    #[command(subcommand)]
    command: Option<HookCommand>,
}

#[derive(Debug, Subcommand)]
enum HookCommand {
    /// Add the hooks to Claude Code's settings.json
    ///
    /// Adds two entries and changes nothing else; a backup of the file is kept next to it.
    Install(EditArgs),
    /// Show whether the hooks are installed
    Status(FileArgs),
    /// Remove the hooks from settings.json
    Uninstall(EditArgs),
}

#[derive(Args, Debug)]
struct FileArgs {
    /// Use this settings file instead of the one in each root
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
}

#[derive(Args, Debug)]
struct EditArgs {
    #[command(flatten)]
    file: FileArgs,

    /// Only show the resulting file
    #[arg(long)]
    dry_run: bool,
}

impl HookArgs {
    /// Reports whether Claude Code calls this, not a person.
    pub(crate) fn is_event(&self) -> bool {
        self.command.is_none()
    }
}

/// Handles an event. Errors are ignored, because Claude Code must not notice them.
pub(crate) fn take_event(global: &Global) -> u8 {
    out::hush();
    let _ = std::panic::catch_unwind(|| {
        let config = Config::new(global).ok()?;
        let transcript = read_event(DEADLINE).and_then(|event| settings::transcript_of(&event));
        start_indexing(&config, transcript.as_deref()).ok()
    });
    exit_code::OK
}

/// Reads an event from standard input. Returns `None` if nothing arrives in time.
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

/// Returns the next bytes from standard input, waiting until `end` at most.
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

/// The same for systems where only a thread can wait with a timeout.
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

/// Starts an index run that outlives this process: of one transcript if it is known, else of everything.
fn start_indexing(config: &Config, transcript: Option<&Path>) -> std::io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["index", "--quiet", "--settle", "--wait", "30"]).args(config.carried());
    if let Some(transcript) = transcript {
        command.arg("--file").arg(transcript);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Otherwise the run would keep the current folder from being removed.
    if let Some(home) = config::home() {
        command.current_dir(home);
    }
    detach(&mut command);
    command.spawn().map(drop)
}

/// Detaches the index run, so that a signal to Claude Code or its hooks does not stop it.
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
            let edited =
                |text: &str| if text.trim().is_empty() { Ok(text.to_string()) } else { settings::without_hook(text) };
            edit(config, args, edited, "removed from", "not in")
        }
        Some(HookCommand::Status(args)) => status(config, args),
        None => Ok(exit_code::OK),
    }
}

/// Returns the hook to write to the settings. Claude Code's environment may differ from ours, so the hook includes the
/// options for roots and index.
fn hook(config: &Config) -> anyhow::Result<Hook> {
    let program = Tools::new(config::path_folders(), None).stable_name_of(&std::env::current_exe()?);
    crate::cli::schedule::warn_of_passing_place(&program);
    let mut words = Vec::new();
    for word in std::iter::once(program.into_os_string()).chain(config.carried_if_named()) {
        words.push(word.into_string().map_err(|word| {
            Error::new(ErrorKind::Usage, format!("\"{}\" is not valid UTF-8", word.to_string_lossy()))
                .hint("use a folder with a simpler name, for example through a symbolic link")
        })?);
    }
    words.push("hook".to_string());
    Ok(Hook { program: words.remove(0), args: words })
}

/// Returns the settings files: the one given, or those of the roots that exist.
fn files_of(config: &Config, args: &FileArgs) -> anyhow::Result<Vec<PathBuf>> {
    if let Some(file) = &args.settings {
        return Ok(vec![std::path::absolute(file)?]);
    }
    let found: Vec<PathBuf> = config.settings_files();
    if found.is_empty() {
        let message = "cannot find Claude Code's folder";
        return Err(Error::new(ErrorKind::Usage, message)
            .hint("specify it with --root, or the file with --settings")
            .into());
    }
    Ok(found)
}

fn edit(
    config: &Config,
    args: &EditArgs,
    change: impl Fn(&str) -> unspool::error::Result<String>,
    done: &str,
    unchanged: &str,
) -> anyhow::Result<u8> {
    let screen = config.screen();
    for path in files_of(config, &args.file)? {
        let old = read(&path)?;
        // From the file without our hooks, so that nothing is left of them.
        let base = original(&path, &old)?.unwrap_or_else(|| old.clone());
        let new = change(&base).map_err(|error| named(&path, &error))?;
        let print = |what: &str| out::print(config.color, |out| writeln!(out, "{what} {}", screen.path(&path)));
        if new == old {
            print(unchanged)?;
        } else if args.dry_run {
            out::print(config.color, |out| write!(out, "# write {}\n{new}", path.display()))?;
        } else {
            write(&path, &old, &new)?;
            print(done)?;
        }
    }
    Ok(exit_code::OK)
}

/// Replaces the file and keeps a backup: of the file before the hooks were added, if possible. A file that unspool
/// created is removed together with the hooks.
fn write(path: &Path, old: &str, new: &str) -> anyhow::Result<()> {
    let backup = backup_of(path);
    if read(path)? != old {
        return Err(Error::new(ErrorKind::Other, format!("{} was just changed by another program", path.display()))
            .hint("try again")
            .into());
    }
    let before = backup.is_file().then(|| read(&backup)).transpose()?;
    let has_original = original(path, old)?.is_some();
    if !has_original && settings::is_our_own(new, before.as_deref()) {
        return Ok(fs_err::remove_file(path)?);
    }
    let exists = path.try_exists()?;
    if exists && (!has_original || new.trim().is_empty() || settings::installed(new)?.is_empty()) {
        atomic_write::replace(&backup, old.as_bytes())?;
    } else if !exists && before.is_some_and(|before| before.trim().is_empty()) {
        // It would be taken for what this file was before.
        fs_err::remove_file(&backup)?;
    }
    Ok(atomic_write::replace(path, new.as_bytes())?)
}

/// Returns what the file was before our hooks were added to it, if the backup contains that.
fn original(path: &Path, text: &str) -> anyhow::Result<Option<String>> {
    let backup = backup_of(path);
    let before = backup.is_file().then(|| read(&backup)).transpose()?;
    Ok(before.filter(|before| settings::is_original(before, text)))
}

/// Returns the path of the backup of a settings file.
fn backup_of(path: &Path) -> PathBuf {
    let mut backup = path.as_os_str().to_os_string();
    backup.push(".unspool-backup");
    PathBuf::from(backup)
}

/// Returns the text of a file, or an empty text if it does not exist.
fn read(path: &Path) -> anyhow::Result<String> {
    match fs_err::read(path) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|error| {
            let why = format!("cannot read {}: {error}", path.display());
            Error::new(ErrorKind::Other, why).hint("fix the file; nothing was changed").into()
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
        let disabled = Settings::parse(&text).ok().and_then(|settings| settings.disable_all_hooks) == Some(true);
        if installed.is_empty() {
            out::print(config.color, |out| writeln!(out, "{shown}: not installed"))?;
        }
        for hook in &installed {
            let missing = Path::new(&hook.hook.program).is_absolute() && !Path::new(&hook.hook.program).is_file();
            let trouble = match (missing, disabled) {
                (true, _) => " (the program does not exist; run `unspool hook install` again)",
                (_, true) => " (but disableAllHooks is set)",
                _ => "",
            };
            let problem = missing || disabled;
            code = if problem || code == exit_code::PROBLEMS { exit_code::PROBLEMS } else { exit_code::OK };
            let line = format!("{} {}{trouble}", hook.hook.program, hook.hook.args.join(" "));
            let line = unspool::untrusted::one_line(&line);
            out::print(config.color, |out| writeln!(out, "{shown}: {} calls {line}", hook.event))?;
        }
    }
    Ok(code)
}
