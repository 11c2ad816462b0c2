//! Opens the archive for a command, and updates its index first if that is fast.
//!
//! A child process, `unspool index`, does the writing, so that a search never holds the write lock and never fails
//! because of a write.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use unspool::archive::request::SearchRequest;
use unspool::archive::{Archive, Note, Runner, SearchAnswer};
use unspool::error::{Error, ErrorKind, Result};

use crate::config::Config;
use crate::exit_code;
use crate::out;

/// The option of all commands that answer from the index: do not update it first.
#[derive(Args, Debug)]
pub(crate) struct RefreshArgs {
    /// Use the index as it is, without reading new messages first
    #[arg(long)]
    no_refresh: bool,
}

impl RefreshArgs {
    /// Opens the archive. Updates its index first, unless that would take long or `--no-refresh` is set.
    pub(crate) fn open(&self, config: &Config) -> Result<Archive> {
        let archive = archive(config);
        if self.no_refresh {
            archive.reopen(&mut report())?;
        } else {
            archive.freshen(&mut report())?;
        }
        Ok(archive)
    }

    /// Opens the archive in the same way and searches it.
    pub(crate) fn search(&self, config: &Config, request: &SearchRequest) -> Result<(Archive, SearchAnswer)> {
        let archive = archive(config);
        let answer = if self.no_refresh {
            archive.reopen(&mut report())?;
            archive.search(request, &config.context())?
        } else {
            archive.freshen_and_search(request, &config.context(), &mut report())?
        };
        Ok((archive, answer))
    }
}

/// Prints notes.
fn report() -> impl FnMut(Note) {
    |note| out::note(&note.to_string())
}

/// Returns the archive without updating its index.
pub(crate) fn archive(config: &Config) -> Archive {
    Archive::new(config.local.clone(), Box::new(ChildProcess { args: index_args(config), is_quiet: false }))
}

/// Returns the archive for a front end that owns the terminal: nothing is printed while the index is updated.
pub(crate) fn quiet_archive(config: &Config) -> Archive {
    Archive::new(config.local.clone(), Box::new(ChildProcess { args: index_args(config), is_quiet: true }))
}

/// Runs `unspool index` as a child process.
struct ChildProcess {
    args: Vec<std::ffi::OsString>,
    is_quiet: bool,
}

impl ChildProcess {
    fn command(&self) -> Result<Command> {
        let program = std::env::current_exe().map_err(|error| Error::new(ErrorKind::Other, error.to_string()))?;
        let mut command = Command::new(program);
        command.arg("index").args(&self.args);
        Ok(command)
    }
}

impl Runner for ChildProcess {
    fn run(&self, patience: Duration) -> Result<bool> {
        let mut command = self.command()?;
        command.args(["--quiet", "--wait", "0"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(mut child) = command.spawn() else { return Ok(false) };
        let deadline = Instant::now() + patience;
        let mut pause = Duration::from_millis(1);
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(matches!(status.code(), Some(0 | 3))),
                Ok(None) if Instant::now() <= deadline => {}
                // The child continues in the background. The next search will find its work done. A server waits for it
                // on a thread, because a process that nobody waits for stays in the list of processes.
                Ok(None) | Err(_) => {
                    std::thread::spawn(move || child.wait());
                    return Ok(false);
                }
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }

    fn run_first(&self) -> Result<()> {
        let mut command = self.command()?;
        command.stdout(Stdio::null());
        if self.is_quiet {
            command.arg("--quiet").stdin(Stdio::null()).stderr(Stdio::null());
        }
        let status = command.status();
        let status =
            status.map_err(|error| Error::new(ErrorKind::Other, format!("cannot run unspool index: {error}")))?;
        if status.code() == Some(i32::from(exit_code::INTERRUPTED)) {
            return Err(Error::new(ErrorKind::Interrupted, "interrupted while indexing"));
        }
        Ok(())
    }
}

fn index_args(config: &Config) -> Vec<std::ffi::OsString> {
    let mut args = Vec::new();
    if config.roots.iter().any(|root| root.required) {
        for root in &config.roots {
            args.extend(["--root".into(), root.path.clone().into_os_string()]);
        }
    }
    if let Some(dir) = config.local.directory().parent() {
        args.extend(["--index-dir".into(), dir.as_os_str().to_os_string()]);
    }
    args
}
