//! Regular runs, left to the system's own scheduler: systemd, launchd or cron.
//!
//! A scheduler turns jobs into steps (files to write, programs to run) and reads back what has become of them. It
//! compares what is there with what is wanted: no difference, no steps, so a second install changes nothing.

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

/// What can be left to a scheduler.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Task {
    /// Bring the index up to date.
    Index,
    /// Build the index anew.
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
            Self::Index => "bring the index up to date",
            Self::Rebuild => "build the index anew",
            Self::Verify => "check the index",
        }
    }

    /// The command, without what leads it to the roots and the index.
    pub(crate) fn args(self) -> &'static [&'static str] {
        match self {
            Self::Index => &["index", "--quiet", "--scheduled"],
            // A run that is under way when its hour comes is worth waiting for: the next chance is a week away.
            Self::Rebuild => &["index", "--quiet", "--scheduled", "--rebuild", "--wait", "900"],
            Self::Verify => &["verify", "--scheduled"],
        }
    }
}

/// A task, its time, and all it needs to be run from nowhere. All words are plain.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) task: Task,
    pub(crate) when: When,
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
}

impl Job {
    /// Program and arguments.
    fn command(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.program.as_str()).chain(self.args.iter().map(String::as_str))
    }
}

/// Where schedulers keep their things, and what the time is.
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
    /// A time in milliseconds since 1970, as systemd writes it.
    pub(crate) fn clock(&self, time: i64) -> Option<String> {
        let time = jiff::Timestamp::from_millisecond(time).ok()?.to_zoned(self.now.time_zone().clone());
        Some(clock(&time))
    }
}

fn clock(time: &jiff::Zoned) -> String {
    time.strftime("%a %Y-%m-%d %H:%M:%S %Z").to_string()
}

/// How a job is, by the system's own records.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobStatus {
    pub(crate) task: String,
    /// When it runs, in the scheduler's words.
    pub(crate) when: String,
    /// The program it starts, where that can be read back.
    pub(crate) program: Option<PathBuf>,
    /// Whether the scheduler knows of it; a file alone runs nothing.
    pub(crate) active: bool,
    pub(crate) next: Option<String>,
    pub(crate) last: Option<String>,
    pub(crate) result: Option<String>,
    pub(crate) failed: bool,
    /// Where to read what its runs said.
    pub(crate) log: String,
}

/// A scheduler of the system.
pub(crate) trait Scheduler {
    /// What it is called.
    fn name(&self) -> &'static str;
    /// What has to be done so that these jobs, and no others of ours, run. Nothing if they do already.
    fn install(&self, jobs: &[Job]) -> Result<Vec<Step>, Error>;
    /// What has to be done so that none of our jobs runs. Nothing if none does.
    fn uninstall(&self) -> Result<Vec<Step>, Error>;
    /// Our jobs as they are.
    fn status(&self) -> Result<Vec<JobStatus>, Error>;
    /// What the user should know after an install.
    fn advice(&self) -> Option<&'static str> {
        None
    }
}

/// The schedulers there are.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
pub(crate) enum Backend {
    /// What suits this system
    Auto,
    /// systemd user timers
    Systemd,
    /// launchd agents of macOS
    Launchd,
    /// The user's crontab
    Cron,
}

impl Backend {
    const REAL: [Self; 3] = [Self::Systemd, Self::Launchd, Self::Cron];

    /// The scheduler to install with. To be shown what would be done, it need not be there.
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
                    return Err(Error::new(ErrorKind::Other, format!("found no scheduler: {error}, and no crontab"))
                        .hint("install cron, or start `unspool watch` with your session"));
                }
            },
            named => named,
        };
        if backend == Self::Systemd && !dry_run {
            systemd::require_running(&place.tools)?;
        }
        Ok(backend.of(place))
    }

    /// All schedulers that may hold something of ours.
    pub(crate) fn candidates(self, place: &Place) -> Vec<Box<dyn Scheduler + '_>> {
        let wanted = Self::REAL.into_iter().filter(|backend| matches!(self, Self::Auto) || self == *backend);
        wanted.map(|backend| backend.of(place)).collect()
    }

    fn of(self, place: &Place) -> Box<dyn Scheduler + '_> {
        match self {
            Self::Auto | Self::Systemd => Box::new(systemd::Systemd(place)),
            Self::Launchd => Box::new(launchd::Launchd(place)),
            Self::Cron => Box::new(cron::Cron(place)),
        }
    }
}

/// The text of a file; none if it is not there.
fn text_of(path: &std::path::Path) -> Option<String> {
    fs_err::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The first word of a command line of our own making.
fn first_word(line: &str) -> Option<PathBuf> {
    let line = line.trim();
    let word = match line.chars().next()? {
        quote @ ('"' | '\'') => line[1..].split(quote).next()?,
        _ => line.split(' ').next()?,
    };
    Some(PathBuf::from(OsStr::new(&word.replace("$$", "$"))))
}
