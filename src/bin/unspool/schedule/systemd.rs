//! The systemd scheduler: one user service and one user timer per job.
//!
//! Units use only features that a user manager always supports. `ProtectSystem=` and similar settings need user
//! namespaces, which some distributions forbid. A job without a sandbox is better than a job that fails.

use std::path::PathBuf;

use unspool::error::{Error, ErrorKind};

use crate::schedule::quoting;
use crate::schedule::steps::{Failure, Step};
use crate::schedule::tools;
use crate::schedule::{Job, JobStatus, Place, Scheduler, Task, Tools, backup_in, first_word, text_of};

#[derive(Debug)]
pub(super) struct Systemd<'a>(pub(super) &'a Place);

/// Fails if the user manager is not running, with the reason.
pub(super) fn require_running(tools: &Tools) -> Result<(), Error> {
    let systemctl = tools.need("systemctl")?;
    let output = tools::run(&systemctl, &["--user".into(), "show".into(), "--property=Version".into()], None)?;
    if output.ok() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Other, format!("the systemd user manager does not respond: {}", output.stderr))
        .hint("log in on a console or by ssh instead of with su, or use --backend cron"))
}

impl Scheduler for Systemd<'_> {
    fn name(&self) -> &'static str {
        "systemd"
    }

    fn install(&self, jobs: &[Job]) -> Result<Vec<Step>, Error> {
        jobs.iter().try_for_each(|job| self.check_time(job))?;
        let mut steps = self.remove(Task::ALL.into_iter().filter(|task| jobs.iter().all(|job| job.task != *task)))?;
        let wanted =
            jobs.iter().flat_map(|job| [(service(job.task), service_text(job)), (timer(job.task), timer_text(job))]);
        let differing = wanted.map(|(name, text)| (self.unit(&name), text));
        let writes: Vec<Step> = differing
            .filter(|(path, text)| text_of(path).as_ref() != Some(text))
            .map(|(path, text)| Step::Write { path, text })
            .collect();
        let timers: Vec<String> = jobs.iter().map(|job| timer(job.task)).collect();
        if writes.is_empty() && steps.is_empty() && timers.iter().all(|timer| self.is_on(timer)) {
            return Ok(Vec::new());
        }
        let systemctl = self.0.tools.need("systemctl")?;
        let timers = timers.iter().map(String::as_str);
        let with = |verb: &'static str| ["--user", verb].into_iter().chain(timers.clone()).collect::<Vec<_>>();
        steps.extend(writes);
        steps.push(Step::run(&systemctl, &["--user", "daemon-reload"], Failure::Matters));
        steps.push(Step::run(&systemctl, &with("enable"), Failure::Matters));
        // A running timer keeps its old times until it is restarted.
        steps.push(Step::run(&systemctl, &with("restart"), Failure::Matters));
        Ok(steps)
    }

    fn uninstall(&self) -> Result<Vec<Step>, Error> {
        let mut steps = self.remove(Task::ALL.into_iter())?;
        if !steps.is_empty() {
            let systemctl = self.0.tools.need("systemctl")?;
            steps.push(Step::run(&systemctl, &["--user", "daemon-reload"], Failure::Ignored));
        }
        Ok(steps)
    }

    fn status(&self) -> Result<Vec<JobStatus>, Error> {
        let installed = Task::ALL.into_iter().filter(|task| self.unit(&timer(*task)).is_file());
        installed.map(|task| self.job_status(task)).collect()
    }

    fn advice(&self) -> Option<&'static str> {
        Some("user timers do not run while you are logged out; `loginctl enable-linger` keeps them running")
    }
}

impl Systemd<'_> {
    fn unit(&self, name: &str) -> PathBuf {
        self.0.settings.join("systemd/user").join(name)
    }

    /// Checks a calendar expression with systemd itself, if `systemd-analyze` is installed.
    fn check_time(&self, job: &Job) -> Result<(), Error> {
        let Some(analyze) = self.0.tools.find("systemd-analyze") else { return Ok(()) };
        let time = job.when.systemd();
        let output = tools::run(&analyze, &["calendar".into(), time.clone()], None)?;
        if output.ok() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Usage, format!("systemd does not understand the time \"{time}\": {}", output.stderr))
            .hint("see `man systemd.time`; try it with `systemd-analyze calendar`"))
    }

    fn remove(&self, tasks: impl Iterator<Item = Task>) -> Result<Vec<Step>, Error> {
        let mut steps = Vec::new();
        for task in tasks {
            let units = [timer(task), service(task)];
            let existing: Vec<PathBuf> =
                units.iter().map(|unit| self.unit(unit)).filter(|path| path.is_file()).collect();
            if !existing.is_empty() {
                let systemctl = self.0.tools.need("systemctl")?;
                steps.push(Step::run(&systemctl, &["--user", "disable", "--now", &timer(task)], Failure::Ignored));
                steps.extend(existing.into_iter().map(|path| Step::Remove { path }));
                steps.push(Step::run(&systemctl, &["--user", "reset-failed", &service(task)], Failure::Ignored));
            }
        }
        Ok(steps)
    }

    fn ask(&self, args: &[&str]) -> Option<tools::Output> {
        let systemctl = self.0.tools.find("systemctl")?;
        let args: Vec<String> = std::iter::once("--user").chain(args.iter().copied()).map(str::to_string).collect();
        tools::run(&systemctl, &args, None).ok()
    }

    fn is_on(&self, timer: &str) -> bool {
        ["is-enabled", "is-active"].into_iter().all(|verb| self.ask(&[verb, timer]).is_some_and(|output| output.ok()))
    }

    fn job_status(&self, task: Task) -> Result<JobStatus, Error> {
        let (timer, service) = (timer(task), service(task));
        let line_of = |unit: &str, key: &str| {
            let text = text_of(&self.unit(unit)).unwrap_or_default();
            text.lines().find_map(|line| line.strip_prefix(key)).map(str::to_string)
        };
        let show = |unit: &str, properties: &str| {
            let output = self.ask(&["show", unit, "--property", properties]);
            output.map(|output| output.text()).unwrap_or_default()
        };
        let times = show(&timer, "ActiveState,NextElapseUSecRealtime,LastTriggerUSec");
        let run = show(&service, "Result,ExecMainStatus,ExecMainExitTimestamp,ActiveState");
        let of = |text: &str, key: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
            value.map(str::trim).filter(|value| !matches!(*value, "" | "n/a" | "0")).map(str::to_string)
        };
        let result = of(&run, "Result");
        let status = of(&run, "ExecMainStatus");
        let has_run = of(&run, "ExecMainExitTimestamp").is_some();
        let failed = result.as_deref().is_some_and(|result| result != "success");
        let words = match (result.as_deref(), status) {
            _ if of(&run, "ActiveState").as_deref() == Some("activating") => Some("running".to_string()),
            (Some("success"), None) if has_run => Some("ok".to_string()),
            (Some("success"), Some(code)) => Some(format!("done, with problems (code {code})")),
            (Some(result), code) if failed => {
                Some(format!("failed: {result}{}", code.map(|code| format!(" (code {code})")).unwrap_or_default()))
            }
            _ => None,
        };
        Ok(JobStatus {
            task: task.name().to_string(),
            when: line_of(&timer, "OnCalendar=").unwrap_or_default(),
            program: line_of(&service, "ExecStart=").and_then(|line| first_word(&line)),
            active: of(&times, "ActiveState").as_deref() == Some("active"),
            next: of(&times, "NextElapseUSecRealtime"),
            last: of(&times, "LastTriggerUSec"),
            result: words,
            failed,
            log: format!("journalctl --user -u {service}"),
            backup: line_of(&service, "ExecStart=").and_then(|line| backup_in(&line)),
        })
    }
}

fn service(task: Task) -> String {
    format!("unspool-{}.service", task.name())
}

fn timer(task: Task) -> String {
    format!("unspool-{}.timer", task.name())
}

const HEAD: &str = "# Written by `unspool schedule install`; `unspool schedule uninstall` removes it.\n";

fn service_text(job: &Job) -> String {
    let command = job.command().map(quoting::systemd).collect::<Vec<_>>().join(" ");
    let env: String = job.env.iter().map(|(name, value)| format!("Environment=\"{name}={value}\"\n")).collect();
    // Without `--root`, the run uses the default roots, regardless of the manager's environment.
    let usual = if job.args.iter().any(|word| word == "--root") {
        ""
    } else {
        "UnsetEnvironment=UNSPOOL_ROOTS CLAUDE_CONFIG_DIR\n"
    };
    format!(
        "{HEAD}[Unit]\nDescription=unspool: {}\n\n[Service]\nType=oneshot\nExecStart={command}\n{env}{usual}\
         SuccessExitStatus=3\nTimeoutStartSec=1h\nNice=10\nCPUSchedulingPolicy=idle\nIOSchedulingClass=idle\n\
         MemoryMax=512M\nUMask=0077\nNoNewPrivileges=yes\nRestrictAddressFamilies=AF_UNIX\n",
        job.task.does()
    )
}

fn timer_text(job: &Job) -> String {
    format!(
        "{HEAD}[Unit]\nDescription=unspool: {} {}\n\n[Timer]\nOnCalendar={}\nPersistent=true\n\n\
         [Install]\nWantedBy=timers.target\n",
        job.task.does(),
        job.when.words(),
        job.when.systemd()
    )
}
