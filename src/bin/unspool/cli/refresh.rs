//! Brings the index up to date before a search, when that is cheap.
//!
//! The walk that tells what is new happens here; writing is left to a child process, `unspool index`, so that a
//! search never holds a writer and never dies of one.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use unspool::index::Reader;
use unspool::render::terminal::style::behind;
use unspool::update::{Lag, lag};

use crate::config::Config;
use crate::exit_code;
use crate::out;

/// More than this is not read while somebody waits for an answer.
const CHEAP: u64 = 64 << 20;
/// How long a search waits for the index.
const PATIENCE: Duration = Duration::from_secs(3);

/// The option of all commands that answer from the index: do not bring it up to date first.
#[derive(Args, Debug)]
pub(crate) struct RefreshArgs {
    /// Answer from the index as it is, without looking for new messages first
    #[arg(long)]
    no_refresh: bool,
}

impl RefreshArgs {
    /// Opens the index, bringing it up to date first unless that would take long or is not wanted.
    pub(crate) fn open(&self, config: &Config) -> anyhow::Result<Fresh> {
        open(config, !self.no_refresh)
    }
}

/// An index to search in, and how far it is behind.
#[derive(Debug)]
pub(crate) struct Fresh {
    pub(crate) reader: Reader,
    pub(crate) behind: Option<Lag>,
}

fn open(config: &Config, refresh: bool) -> anyhow::Result<Fresh> {
    let Some(reader) = config.store.read()? else {
        return first_time(config, refresh);
    };
    missing_roots(config, "; answering from the index as it is");
    if !refresh {
        if reader.is_blank() {
            out::note("the index holds nothing yet; `unspool index` reads all sessions");
        }
        return Ok(Fresh { reader, behind: None });
    }
    let (before, _) = lag(&reader, &config.roots)?;
    if before == Lag::default() {
        return Ok(Fresh { reader, behind: None });
    }
    if before.bytes > CHEAP || !run_index(config, PATIENCE)? {
        out::note(&format!(
            "the index is {}; answering from it as it is (`unspool index` brings it up to date)",
            behind(before)
        ));
        return Ok(Fresh { reader, behind: Some(before) });
    }
    let reader = config.store.read()?.unwrap_or(reader);
    Ok(Fresh { reader, behind: None })
}

/// Says which folders are not there, and what comes of it: nothing new will be found.
fn missing_roots(config: &Config, so: &str) {
    let missing = |path: &Path| matches!(path.try_exists(), Ok(false));
    let all_missing = config.roots.iter().all(|root| missing(&root.path));
    // Of the usual places, one is enough.
    for root in config.roots.iter().filter(|root| (root.required || all_missing) && missing(&root.path)) {
        out::note(&format!("there is no folder {}{so}", root.path.display()));
    }
}

/// There is no index yet: make one, however long it takes, and let the user watch.
fn first_time(config: &Config, refresh: bool) -> anyhow::Result<Fresh> {
    if refresh {
        out::note("there is no index yet; reading all sessions once");
        missing_roots(config, "");
        let status = index_command(config)?.stdout(Stdio::null()).status()?;
        if status.code() == Some(i32::from(exit_code::INTERRUPTED)) {
            return Err(unspool::error::Error::new(
                unspool::error::ErrorKind::Interrupted,
                "interrupted while indexing",
            )
            .into());
        }
    }
    match config.store.read()? {
        Some(reader) => Ok(Fresh { reader, behind: None }),
        None => Err(unspool::error::Error::new(unspool::error::ErrorKind::Unusable, "there is no index")
            .hint("run `unspool index`")
            .into()),
    }
}

/// Runs `unspool index` beside us; says whether it ended well within the time.
fn run_index(config: &Config, patience: Duration) -> anyhow::Result<bool> {
    let mut command = index_command(config)?;
    command.args(["--quiet", "--wait", "0"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return Ok(false) };
    let deadline = Instant::now() + patience;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(matches!(status.code(), Some(0 | 3)));
        }
        if Instant::now() > deadline {
            // It goes on by itself; the next search will find its work done.
            return Ok(false);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

fn index_command(config: &Config) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("index");
    if config.roots.iter().any(|root| root.required) {
        config.roots.iter().for_each(|root| {
            command.arg("--root").arg(&root.path);
        });
    }
    if let Some(dir) = config.store.directory().parent() {
        command.arg("--index-dir").arg(dir);
    }
    Ok(command)
}
