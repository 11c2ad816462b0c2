//! `unspool hook`: called by Claude Code when a session ends or an answer is complete.
//!
//! Claude Code waits for its hooks and shows their output. So this one reads the event with a deadline, starts a
//! separate process for the work, prints nothing and never fails.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use unspool::error::{Error, ErrorKind};
use unspool::transcript::settings::event::{self, Event};
use unspool::transcript::settings::{self, Hook, Settings};

use crate::cli::own_command::own_command;
use crate::cli::recall;
use crate::config::{self, Config, Global};
use crate::exit_code;
use crate::out;
use crate::shared_file::{self, Change, Entry, named, read};

/// The maximum time to wait for an event. The writer may never close the pipe.
const DEADLINE: Duration = Duration::from_millis(25);
/// The maximum size of an event.
const MOST: usize = 1 << 20;

/// Update the index from Claude Code's hooks
///
/// Without a command, handles Claude Code's SessionEnd and Stop hooks: reads the event from standard input and starts
/// an index run for that transcript in the background. Takes a few milliseconds, prints nothing and always succeeds.
#[derive(Args, Debug)]
pub(crate) struct HookArgs {
    /// Answer the event with a reminder instead of updating the index
    #[arg(long, hide = true)]
    recall: bool,

    #[command(subcommand)]
    command: Option<HookCommand>,
}

#[derive(Debug, Subcommand)]
enum HookCommand {
    /// Add the hooks to Claude Code's settings.json
    ///
    /// Adds two entries and changes nothing else; a backup of the file is kept next to it. Without --recall, hooks
    /// installed with it are removed.
    Install(InstallArgs),
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

#[derive(Args, Debug)]
struct InstallArgs {
    #[command(flatten)]
    edit: EditArgs,

    /// Also remind Claude of earlier sessions: of this project when a session starts, and of a file's last change
    /// before an edit
    ///
    /// Each reminder has at most 1 KB and comes at most once per session and file. Without a certain match
    /// within 150 ms, Claude gets none.
    #[arg(long)]
    recall: bool,
}

impl HookArgs {
    /// Reports whether Claude Code calls this, not a person.
    pub(crate) fn is_event(&self) -> bool {
        self.command.is_none()
    }
}

/// Handles an event. Errors are ignored, because Claude Code must not notice them.
pub(crate) fn take_event(global: &Global, args: &HookArgs) -> u8 {
    let start = Instant::now();
    out::hush();
    let _ = std::panic::catch_unwind(|| {
        let event = read_event(DEADLINE).and_then(|event| Event::parse(&event));
        if args.recall {
            return recall::answer(global, event?, start);
        }
        let config = Config::new(global).ok()?;
        start_indexing(&config, event.and_then(|event| event.transcript_path).as_deref()).ok()
    });
    exit_code::OK
}

/// Reads an event from standard input. Returns `None` if nothing arrives in time.
fn read_event(deadline: Duration) -> Option<Vec<u8>> {
    let end = Instant::now() + deadline;
    let mut received = Vec::new();
    while !event::is_whole(&received) && received.len() < MOST {
        match next_piece(end) {
            Some(piece) if !piece.is_empty() => received.extend(piece),
            _ => break,
        }
    }
    Some(received).filter(|received| !received.is_empty())
}

/// Returns the next bytes from standard input, waiting no later than `end`.
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
        Some(HookCommand::Install(InstallArgs { edit: args, recall })) => {
            edit(config, args, &Hooks { hook: hook(config)?, recall: *recall }, Change::Add)
        }
        Some(HookCommand::Uninstall(args)) => {
            let hook = Hook { program: String::new(), args: Vec::new() };
            edit(config, args, &Hooks { hook, recall: false }, Change::Remove)
        }
        Some(HookCommand::Status(args)) => status(config, args),
        None => Ok(exit_code::OK),
    }
}

/// Returns the hook to write to the settings. Claude Code's environment may differ from ours, so the hook includes the
/// options for roots and index.
fn hook(config: &Config) -> anyhow::Result<Hook> {
    let (program, args) = own_command(config, "hook")?;
    Ok(Hook { program, args })
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

/// Our hooks in Claude Code's settings.
struct Hooks {
    hook: Hook,
    recall: bool,
}

impl Entry for Hooks {
    fn with(&self, text: &str) -> unspool::error::Result<String> {
        settings::with_hook(text, &self.hook, self.recall)
    }

    fn without(&self, text: &str) -> unspool::error::Result<String> {
        settings::without_hook(text)
    }

    fn is_in(&self, text: &str) -> unspool::error::Result<bool> {
        Ok(!text.trim().is_empty() && !settings::installed(text)?.is_empty())
    }

    fn is_original(&self, before: &str, text: &str) -> bool {
        settings::is_original(before, text)
    }

    fn blank(&self) -> &'static str {
        settings::NEW_FILE
    }
}

fn edit(config: &Config, args: &EditArgs, hooks: &Hooks, change: Change) -> anyhow::Result<u8> {
    let screen = config.screen();
    let (done, unchanged) = match change {
        Change::Add => ("installed in", "already in"),
        Change::Remove => ("removed from", "not in"),
    };
    for path in files_of(config, &args.file)? {
        let print = |what: &str| out::print(config.color, |out| writeln!(out, "{what} {}", screen.path(&path)));
        match shared_file::plan(&path, hooks, change)? {
            None => print(unchanged)?,
            Some(planned) if args.dry_run => {
                out::print(config.color, |out| write!(out, "# write {}\n{}", path.display(), planned.new))?;
            }
            Some(planned) => {
                planned.carry_out(hooks)?;
                print(done)?;
            }
        }
    }
    Ok(exit_code::OK)
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
