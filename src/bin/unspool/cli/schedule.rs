//! `unspool schedule`: sets up regular runs with the system's scheduler.

use std::io::Write;

use clap::{Args, Subcommand, ValueEnum};
use unspool::error::{Error, ErrorKind};
use unspool::untrusted::one_line;

use crate::cli::backup::{BackupPace, LastBackup};
use crate::config::{self, Config};
use crate::exit_code;
use crate::out;
use crate::schedule::quoting::plain;
use crate::schedule::record::{Outcome, Record};
use crate::schedule::{Backend, Job, JobStatus, Place, Scheduler, Task, Tools, When, backup_in};

/// Update the index regularly with systemd, launchd or cron
///
/// Search updates the index automatically. A schedule makes sure that sessions are indexed before Claude Code deletes
/// them, even if you do not search for a while. On Windows, set it up by hand: schtasks /create /tn unspool /sc hourly
/// /tr "unspool index --quiet --scheduled"
#[derive(Args, Debug)]
pub(crate) struct ScheduleArgs {
    #[command(subcommand)]
    command: ScheduleCommand,
}

#[derive(Debug, Subcommand)]
enum ScheduleCommand {
    Install(InstallArgs),
    /// Show what is scheduled, and the result of the last run
    Status(StatusArgs),
    /// Remove everything from the scheduler
    Uninstall(UninstallArgs),
}

/// Set up regular runs, or change them
///
/// The runs use the roots, index and environment of this command, so that they see what you see. Installing again
/// changes only what differs. Other lines in a crontab stay unchanged, byte for byte.
#[derive(Args, Debug)]
struct InstallArgs {
    /// Update the index at this interval, such as 15m or 1h [default: 1h]
    #[arg(long, value_name = "INTERVAL", value_parser = When::every, group = "when")]
    every: Option<When>,

    /// Update the index once a day, such as at 03:00
    #[arg(long, value_name = "TIME", value_parser = When::daily, group = "when")]
    daily: Option<When>,

    /// Update the index at these times, in the scheduler's own syntax: OnCalendar= of systemd, or the five fields of
    /// cron (for launchd, only numbers and lists of numbers)
    #[arg(long, value_name = "EXPR", group = "when")]
    calendar: Option<String>,

    /// Also rebuild the index
    #[arg(long, value_name = "daily|weekly|monthly", hide_possible_values = true)]
    rebuild: Option<Pace>,

    /// Also check the index
    #[arg(long, value_name = "daily|weekly|monthly", hide_possible_values = true)]
    verify: Option<Pace>,

    /// Also write a backup of the sessions that only the index has, after an update
    #[arg(long, value_name = "daily|weekly", hide_possible_values = true)]
    backup: Option<BackupPace>,

    /// The file of the backup [default: backups/unspool-backup.jsonl.zst in the folder that contains the index]
    #[arg(long, value_name = "FILE", requires = "backup")]
    backup_file: Option<std::path::PathBuf>,

    /// Scheduler to use
    #[arg(long, value_enum, default_value_t = Backend::Auto, value_name = "NAME")]
    backend: Backend,

    /// Only show what would be written and run
    #[arg(long)]
    dry_run: bool,
}

#[derive(Args, Debug)]
struct StatusArgs {
    /// Show only this scheduler
    #[arg(long, value_enum, default_value_t = Backend::Auto, value_name = "NAME")]
    backend: Backend,

    /// Report as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
struct UninstallArgs {
    /// Remove only from this scheduler
    #[arg(long, value_enum, default_value_t = Backend::Auto, value_name = "NAME")]
    backend: Backend,

    /// Only show what would be removed and run
    #[arg(long)]
    dry_run: bool,
}

/// The frequency of long tasks.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Pace {
    Daily,
    Weekly,
    Monthly,
}

impl Pace {
    /// Returns the schedule. The caller picks a time at night, but not a full hour, when many other jobs start.
    fn at(self, hour: u8, minute: u8) -> When {
        match self {
            Self::Daily => When::Daily(hour, minute),
            Self::Weekly => When::Weekly(hour, minute),
            Self::Monthly => When::Monthly(hour, minute),
        }
    }
}

pub(crate) fn run(config: &Config, args: &ScheduleArgs) -> anyhow::Result<u8> {
    let place = place(config)?;
    match &args.command {
        ScheduleCommand::Install(args) => install(config, &place, args),
        ScheduleCommand::Status(args) => status(config, &place, args),
        ScheduleCommand::Uninstall(args) => uninstall(config, &place, args),
    }
}

fn place(config: &Config) -> anyhow::Result<Place> {
    let home = config::home().ok_or_else(|| Error::new(ErrorKind::Usage, "cannot find your home folder"))?;
    let now = jiff::Timestamp::from_millisecond(config::now())?.to_zoned(jiff::tz::TimeZone::system());
    Ok(Place {
        settings: config::settings_dir(&home),
        data: config.data_dir(),
        tools: Tools::new(config::path_folders(), config::fake_tools()),
        home,
        now,
    })
}

fn install(config: &Config, place: &Place, args: &InstallArgs) -> anyhow::Result<u8> {
    let scheduler = args.backend.choose(place, args.dry_run)?;
    let jobs = jobs(config, place, args)?;
    let mut steps = Vec::new();
    // Jobs in another scheduler would run too.
    for other in Backend::Auto.candidates(place).iter().filter(|other| other.name() != scheduler.name()) {
        steps.extend(other.uninstall()?);
    }
    steps.extend(scheduler.install(&jobs)?);
    if steps.is_empty() {
        out::print(config.color, |out| writeln!(out, "already up to date: {}", summary(&jobs, scheduler.as_ref())))?;
        return Ok(exit_code::OK);
    }
    if args.dry_run {
        out::print(config.color, |out| steps.iter().try_for_each(|step| step.show(out)))?;
        return Ok(exit_code::OK);
    }
    steps.iter().try_for_each(crate::schedule::Step::carry_out)?;
    out::print(config.color, |out| writeln!(out, "installed: {}", summary(&jobs, scheduler.as_ref())))?;
    if let Some(advice) = scheduler.advice() {
        out::note(&format!("hint: {advice}"));
    }
    Ok(exit_code::OK)
}

fn summary(jobs: &[Job], scheduler: &dyn Scheduler) -> String {
    let backup = |job: &Job| backup_in(&job.args.join(" ")).map(|pace| format!(" (with a {pace} backup)"));
    let words = |job: &Job| format!("{} {}{}", job.task.name(), job.when.words(), backup(job).unwrap_or_default());
    let each: Vec<String> = jobs.iter().map(words).collect();
    format!("{}, by {}", each.join(", "), scheduler.name())
}

fn jobs(config: &Config, place: &Place, args: &InstallArgs) -> anyhow::Result<Vec<Job>> {
    let calendar = args.calendar.as_ref().map(|text| plain(text.as_ref())).transpose()?.map(When::Calendar);
    let when = args.every.clone().or(args.daily.clone()).or(calendar).unwrap_or(When::Every(60));
    let program = place.tools.stable_name_of(&std::env::current_exe()?);
    warn_of_passing_place(&program);
    let program = plain(program.as_os_str())?;
    let carried = config.carried().iter().map(|word| plain(word)).collect::<Result<Vec<_>, _>>()?;
    let mut env = Vec::new();
    for (name, value) in config::carried_variables() {
        env.push((plain(&name)?, plain(&value)?));
    }
    let tasks = [
        Some((Task::Index, when)),
        args.rebuild.map(|pace| (Task::Rebuild, pace.at(4, 20))),
        args.verify.map(|pace| (Task::Verify, pace.at(5, 40))),
    ];
    let backup = backup_words(config, args)?;
    let job = |(task, when): (Task, When)| {
        let backup = backup.iter().filter(|_| task == Task::Index);
        let args = task.args().iter().map(ToString::to_string).chain(backup.chain(&carried).cloned()).collect();
        Job { task, when, program: program.clone(), args, env: env.clone() }
    };
    Ok(tasks.into_iter().flatten().map(job).collect())
}

/// Returns the options of the index run that writes a backup.
fn backup_words(config: &Config, args: &InstallArgs) -> anyhow::Result<Vec<String>> {
    let Some(pace) = args.backup else { return Ok(Vec::new()) };
    let file = match &args.backup_file {
        Some(file) => std::path::absolute(file)?,
        None => config.data_dir().join("backups/unspool-backup.jsonl.zst"),
    };
    let words = ["--backup".into(), plain(file.as_os_str())?, "--backup-every".into(), pace.name().into()];
    Ok(words.into())
}

/// Warns if the program is in a folder that an upgrade or a clean-up removes.
pub(super) fn warn_of_passing_place(program: &std::path::Path) {
    let text = program.to_string_lossy();
    let temporary = ["/target/debug/", "/target/release/", "/Cellar/", "/nix/store/"];
    if temporary.iter().any(|part| text.contains(part)) {
        out::note(&format!(
            "warning: {text} may be removed; install unspool in a folder on your PATH and run this command again"
        ));
    }
}

fn uninstall(config: &Config, place: &Place, args: &UninstallArgs) -> anyhow::Result<u8> {
    let mut steps = Vec::new();
    for scheduler in args.backend.candidates(place) {
        steps.extend(scheduler.uninstall()?);
    }
    if steps.is_empty() {
        out::print(config.color, |out| writeln!(out, "nothing is scheduled"))?;
        return Ok(exit_code::OK);
    }
    if args.dry_run {
        out::print(config.color, |out| steps.iter().try_for_each(|step| step.show(out)))?;
        return Ok(exit_code::OK);
    }
    steps.iter().try_for_each(crate::schedule::Step::carry_out)?;
    Task::ALL.into_iter().for_each(|task| Record::remove(&config.local, task));
    out::print(config.color, |out| writeln!(out, "removed; nothing is scheduled now"))?;
    Ok(exit_code::OK)
}

fn status(config: &Config, place: &Place, args: &StatusArgs) -> anyhow::Result<u8> {
    let mut found = Vec::new();
    for scheduler in args.backend.candidates(place) {
        let jobs = scheduler.status()?;
        found.extend(jobs.into_iter().map(|job| (scheduler.name(), job)));
    }
    let at_work = config.local.folder().writer_at_work().is_some();
    let rows: Vec<Row> =
        found.into_iter().map(|(backend, job)| Row::new(config, place, backend, job, at_work)).collect();
    let failed = rows.iter().any(|row| row.job.failed || row.missing || !row.job.active);
    out::print(config.color, |out| {
        if args.json {
            let jobs: Vec<_> = rows.iter().map(Row::json).collect();
            return writeln!(out, "{}", serde_json::json!({"schema": 1, "type": "schedule", "jobs": jobs}));
        }
        if rows.is_empty() {
            return writeln!(out, "nothing is scheduled (`unspool schedule install`)");
        }
        rows.iter().try_for_each(|row| row.show(out))
    })?;
    Ok(match rows.len() {
        0 => exit_code::NOTHING,
        _ if failed => exit_code::PROBLEMS,
        _ => exit_code::OK,
    })
}

/// A job as the system reports it, completed from our own record.
struct Row {
    backend: &'static str,
    job: JobStatus,
    /// Set if the program it starts does not exist.
    missing: bool,
    /// The error in our own record.
    trouble: Option<String>,
    /// The time and file of the latest backup.
    last_backup: Option<String>,
}

impl Row {
    fn new(config: &Config, place: &Place, backend: &'static str, mut job: JobStatus, at_work: bool) -> Self {
        let missing = job.program.as_ref().is_some_and(|program| !program.is_file());
        let task = Task::ALL.into_iter().find(|task| task.name() == job.task);
        let record = task.and_then(|task| Record::read(&config.local, task));
        let mut trouble = None;
        if let Some(record) = record {
            let outcome = record.outcome(config::now(), at_work);
            trouble = (outcome == Outcome::Failed).then(|| record.trouble());
            job.failed |= outcome == Outcome::Failed;
            job.last = job.last.or_else(|| place.clock(record.started));
            job.result = job.result.or_else(|| {
                Some(match outcome {
                    Outcome::Running => "running".to_string(),
                    Outcome::Done if record.code == Some(exit_code::PROBLEMS) => {
                        "done, with problems (code 3)".to_string()
                    }
                    Outcome::Done => "ok".to_string(),
                    Outcome::Stopped => "stopped early".to_string(),
                    Outcome::Failed => "failed".to_string(),
                })
            });
        }
        let last_backup = LastBackup::read(config).filter(|_| job.backup.is_some());
        let last_backup =
            last_backup.and_then(|last| Some(format!("{} in {}", place.clock(last.time)?, last.file.display())));
        Self { backend, job, missing, trouble, last_backup }
    }

    fn show(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let job = &self.job;
        writeln!(out, "{} by {}: {}", job.task, self.backend, one_line(&job.when))?;
        let mut row = |name: &str, value: &str| writeln!(out, "  {name:<8} {}", one_line(value));
        if !job.active {
            row("state", "not active: not loaded by the scheduler; run `unspool schedule install` again")?;
        }
        row("next", job.next.as_deref().unwrap_or("unknown (the scheduler does not report it)"))?;
        row("last", job.last.as_deref().unwrap_or("never"))?;
        if let Some(result) = &job.result {
            row("result", result)?;
        }
        if let Some(trouble) = &self.trouble {
            row("reason", trouble)?;
        }
        if let Some(pace) = job.backup {
            row("backup", &format!("{pace}, last {}", self.last_backup.as_deref().unwrap_or("never")))?;
        }
        if let Some(program) = &job.program {
            let gone = if self.missing { " no longer exists; run `unspool schedule install` again" } else { "" };
            row("program", &format!("{}{gone}", program.display()))?;
        }
        row("log", &job.log)
    }

    fn json(&self) -> serde_json::Value {
        let job = &self.job;
        serde_json::json!({
            "task": job.task, "backend": self.backend, "when": job.when, "active": job.active, "next": job.next,
            "last": job.last, "result": job.result, "failed": job.failed, "reason": self.trouble,
            "program": job.program, "program_missing": self.missing, "log": job.log,
            "backup": job.backup, "last_backup": self.last_backup,
        })
    }
}
