//! Sets up regular runs with the system's own scheduler: systemd, launchd or cron.
//!
//! A scheduler turns jobs into steps (files to write, programs to run) and reads back their state. It compares the
//! current state with the requested one and returns only the differences, so a second install changes nothing.

pub(crate) mod record;
pub(crate) mod tools;
mod when;
pub(crate) mod quoting;
pub(crate) mod steps;
mod cron;
mod launchd;
mod systemd;

use std::ffi::OsStr;
use std::path::PathBuf;

use unspool::error::{Error, ErrorKind};

pub(crate) use steps::Step;
pub(crate) use tools::Tools;
pub(crate) use when::When;

/// A task that a scheduler can run.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Task {
    /// Update the index.
    Index,
    /// Rebuild the index.
    Rebuild,
    /// Check the index.
    Verify,
}

impl Task {
    pub(crate) const ALL: [Self; 3] = [Self::Index, Self::Rebuild, Self::Verify];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Rebuild => "rebuild",
            Self::Verify => "verify",
        }
    }

    pub(crate) fn does(self) -> &'static str {
        match self {
            Self::Index => "update the index",
            Self::Rebuild => "rebuild the index",
            Self::Verify => "check the index",
        }
    }

    /// Returns the arguments, without the options for roots and index.
    pub(crate) fn args(self) -> &'static [&'static str] {
        match self {
            Self::Index => &["index", "--quiet", "--scheduled"],
            // Wait for a run that is in progress: the next chance may be a month away.
            Self::Rebuild => &["index", "--quiet", "--scheduled", "--rebuild", "--wait", "900"],
            Self::Verify => &["verify", "--scheduled"],
        }
    }
}

/// A task, its schedule, and everything it needs to run in any environment. All words have passed
/// [`quoting::plain`].
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) task: Task,
    pub(crate) when: When,
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
}

impl Job {
    /// Returns the program and its arguments.
    fn command(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.program.as_str()).chain(self.args.iter().map(String::as_str))
    }
}

/// The folders of the schedulers, and the current time.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) home: PathBuf,
    /// The folder of the user's settings, usually `~/.config`.
    pub(crate) settings: PathBuf,
    /// The folder of the index.
    pub(crate) data: PathBuf,
    pub(crate) tools: Tools,
    pub(crate) now: jiff::Zoned,
}

impl Place {
    /// Formats a time in milliseconds since 1970 as systemd does.
    pub(crate) fn clock(&self, time: i64) -> Option<String> {
        let time = jiff::Timestamp::from_millisecond(time).ok()?.to_zoned(self.now.time_zone().clone());
        Some(clock(&time))
    }
}

fn clock(time: &jiff::Zoned) -> String {
    time.strftime("%a %Y-%m-%d %H:%M:%S %Z").to_string()
}

/// The state of a job, as the system reports it.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobStatus {
    pub(crate) task: String,
    /// The schedule, in the scheduler's syntax.
    pub(crate) when: String,
    /// The program it starts, if known.
    pub(crate) program: Option<PathBuf>,
    /// Set if the scheduler has loaded the job. A file alone runs nothing.
    pub(crate) active: bool,
    pub(crate) next: Option<String>,
    pub(crate) last: Option<String>,
    pub(crate) result: Option<String>,
    pub(crate) failed: bool,
    /// The place where the output of its runs can be read.
    pub(crate) log: String,
    /// The frequency of its backups, if it writes any.
    pub(crate) backup: Option<&'static str>,
}

/// A scheduler of the system.
pub(crate) trait Scheduler {
    /// Returns the name of the scheduler.
    fn name(&self) -> &'static str;
    /// Returns the steps that install exactly these jobs. Empty if they are installed already.
    fn install(&self, jobs: &[Job]) -> Result<Vec<Step>, Error>;
    /// Returns the steps that remove all our jobs. Empty if there are none.
    fn uninstall(&self) -> Result<Vec<Step>, Error>;
    /// Returns the state of our jobs.
    fn status(&self) -> Result<Vec<JobStatus>, Error>;
    /// Returns advice for the user after an install.
    fn advice(&self) -> Option<&'static str> {
        None
    }
}

/// The supported schedulers.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
pub(crate) enum Backend {
    /// The best one for this system
    Auto,
    /// systemd user timers
    Systemd,
    /// launchd agents (macOS)
    Launchd,
    /// The user's crontab
    Cron,
}

impl Backend {
    const REAL: [Self; 3] = [Self::Systemd, Self::Launchd, Self::Cron];

    /// Returns the scheduler to install with. For a dry run, it does not have to be running.
    pub(crate) fn choose(self, place: &Place, dry_run: bool) -> Result<Box<dyn Scheduler + '_>, Error> {
        let backend = match self {
            Self::Auto if cfg!(target_os = "macos") => Self::Launchd,
            Self::Auto if cfg!(windows) => {
                return Err(Error::new(ErrorKind::Other, "the Windows task scheduler has to be set up by hand").hint(
                    "run `schtasks /create /tn unspool /sc hourly /tr \"unspool index --quiet --scheduled\"`; \
                     `schtasks /delete /tn unspool` undoes it",
                ));
            }
            Self::Auto => match systemd::require_running(&place.tools) {
                Ok(()) => Self::Systemd,
                Err(_) if place.tools.find("crontab").is_some() => Self::Cron,
                Err(error) => {
                    return Err(Error::new(
                        ErrorKind::Other,
                        format!("no scheduler found: {error}, and there is no crontab"),
                    )
                    .hint("install cron, or start `unspool watch` when you log in"));
                }
            },
            named => named,
        };
        if backend == Self::Systemd && !dry_run {
            systemd::require_running(&place.tools)?;
        }
        Ok(backend.of(place))
    }

    /// Returns all schedulers that may contain jobs of ours.
    pub(crate) fn candidates(self, place: &Place) -> Vec<Box<dyn Scheduler + '_>> {
        let backends = Self::REAL.into_iter().filter(|backend| matches!(self, Self::Auto) || self == *backend);
        backends.map(|backend| backend.of(place)).collect()
    }

    fn of(self, place: &Place) -> Box<dyn Scheduler + '_> {
        match self {
            Self::Auto | Self::Systemd => Box::new(systemd::Systemd(place)),
            Self::Launchd => Box::new(launchd::Launchd(place)),
            Self::Cron => Box::new(cron::Cron(place)),
        }
    }
}

/// Returns the text of a file, if it can be read.
fn text_of(path: &std::path::Path) -> Option<String> {
    fs_err::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns how often a command that unspool wrote makes a backup, in any scheduler's syntax.
pub(crate) fn backup_in(command: &str) -> Option<&'static str> {
    let (_, rest) = command.split_once("--backup-every")?;
    let names = ["daily", "weekly"].into_iter();
    names.filter_map(|name| Some((rest.find(name)?, name))).min().map(|(_, name)| name)
}

/// Returns the first word of a command line that unspool wrote.
fn first_word(line: &str) -> Option<PathBuf> {
    let line = line.trim();
    let word = match line.chars().next()? {
        quote @ ('"' | '\'') => line[1..].split(quote).next()?,
        _ => line.split(' ').next()?,
    };
    Some(PathBuf::from(OsStr::new(&word.replace("$$", "$"))))
}
