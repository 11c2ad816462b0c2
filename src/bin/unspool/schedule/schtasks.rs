//! The Windows task scheduler: a task for each job, described in a file beside the index.
//!
//! A task cannot carry an environment; roots and index are arguments, so nothing is lost.

use std::path::PathBuf;

use unspool::error::{Error, ErrorKind};

use super::steps::{Encoding, Failure, Step, utf16};
use super::words::{self, xml};
use super::{Job, JobStatus, Place, Scheduler, Task, When, tools};

#[derive(Debug)]
pub(super) struct Schtasks<'a>(pub(super) &'a Place);

impl Scheduler for Schtasks<'_> {
    fn name(&self) -> &'static str {
        "schtasks"
    }

    fn install(&self, jobs: &[Job]) -> Result<Vec<Step>, Error> {
        let schtasks = self.0.tools.need("schtasks")?;
        let unwanted = Task::ALL.into_iter().filter(|task| jobs.iter().all(|job| job.task != *task));
        let mut steps = self.remove(unwanted)?;
        for job in jobs {
            let (path, text) = (self.file(job.task), text(job)?);
            if fs_err::read(&path).is_ok_and(|bytes| bytes == utf16(&text)) && self.query(job.task).is_some() {
                continue;
            }
            let path_text = path.to_string_lossy().into_owned();
            steps.push(Step::Write { path, text, encoding: Encoding::Utf16 });
            let create = ["/create", "/tn", &name(job.task), "/xml", &path_text, "/f"];
            steps.push(Step::run(&schtasks, &create, Failure::Matters));
        }
        Ok(steps)
    }

    fn uninstall(&self) -> Result<Vec<Step>, Error> {
        self.remove(Task::ALL.into_iter())
    }

    fn status(&self) -> Result<Vec<JobStatus>, Error> {
        Ok(Task::ALL.into_iter().filter(|task| self.file(*task).is_file()).map(|task| self.job_status(task)).collect())
    }
}

impl Schtasks<'_> {
    fn file(&self, task: Task) -> PathBuf {
        self.0.data.join(format!("task-{}.xml", task.name()))
    }

    fn remove(&self, tasks: impl Iterator<Item = Task>) -> Result<Vec<Step>, Error> {
        let mut steps = Vec::new();
        for task in tasks.filter(|task| self.file(*task).is_file()) {
            let schtasks = self.0.tools.need("schtasks")?;
            steps.push(Step::run(&schtasks, &["/delete", "/tn", &name(task), "/f"], Failure::Ignored));
            steps.push(Step::Remove { path: self.file(task) });
        }
        Ok(steps)
    }

    /// What the scheduler says of a task, column by column; the names of the columns depend on the language of the
    /// system, their order does not.
    fn query(&self, task: Task) -> Option<Vec<String>> {
        let schtasks = self.0.tools.find("schtasks")?;
        let args = ["/query", "/tn", &name(task), "/fo", "csv", "/v", "/nh"].map(str::to_string);
        let said = tools::run(&schtasks, &args, None).ok().filter(tools::Said::ok)?;
        let text = said.text();
        let row = text.lines().find(|line| line.starts_with('"'))?;
        Some(row.trim().trim_matches('"').split("\",\"").map(str::to_string).collect())
    }

    fn job_status(&self, task: Task) -> JobStatus {
        let row = self.query(task);
        let column = |at: usize| {
            let value = row.as_ref().and_then(|row| row.get(at)).map(String::as_str);
            value.filter(|value| !value.is_empty() && *value != "N/A").map(str::to_string)
        };
        let file = fs_err::read(self.file(task)).map(|bytes| from_utf16(&bytes)).unwrap_or_default();
        let between = |from: &str, to: &str| Some(file.split_once(from)?.1.split_once(to)?.0.to_string());
        // 267011: it has not run yet; 267009: it is running.
        let code = column(6).filter(|code| code != "267011");
        let failed = code.as_deref().is_some_and(|code| !matches!(code, "0" | "3" | "267009"));
        let result = code.map(|code| match code.as_str() {
            "0" => "ok".to_string(),
            "3" => "done, with problems (code 3)".to_string(),
            "267009" => "running".to_string(),
            code => format!("failed (code {code})"),
        });
        JobStatus {
            task: task.name().to_string(),
            when: between("<Description>", "</Description>").unwrap_or_default(),
            program: between("<Command>", "</Command>").map(|text| PathBuf::from(text.trim_matches('"'))),
            active: row.is_some(),
            next: column(2),
            last: result.as_ref().and_then(|_| column(5)),
            result,
            failed,
            log: format!("the history of the task {}", name(task)),
        }
    }
}

fn name(task: Task) -> String {
    format!("\\unspool\\{}", task.name())
}

fn from_utf16(bytes: &[u8]) -> String {
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units)
}

fn text(job: &Job) -> Result<String, Error> {
    let arguments = job.args.iter().map(|word| words::windows(word)).collect::<Vec<_>>().join(" ");
    Ok(format!(
        "<?xml version=\"1.0\" encoding=\"UTF-16\"?>\n\
         <Task version=\"1.2\" xmlns=\"http://schemas.microsoft.com/windows/2004/02/mit/task\">\n  \
         <RegistrationInfo>\n    <Description>unspool: {} {}</Description>\n  </RegistrationInfo>\n  \
         <Triggers>\n    <CalendarTrigger>\n{}    </CalendarTrigger>\n  </Triggers>\n  \
         <Principals>\n    <Principal id=\"Author\">\n      <LogonType>InteractiveToken</LogonType>\n      \
         <RunLevel>LeastPrivilege</RunLevel>\n    </Principal>\n  </Principals>\n  \
         <Settings>\n    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>\n    \
         <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>\n    \
         <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>\n    \
         <StartWhenAvailable>true</StartWhenAvailable>\n    <Hidden>true</Hidden>\n    \
         <ExecutionTimeLimit>PT1H</ExecutionTimeLimit>\n    <Priority>7</Priority>\n  </Settings>\n  \
         <Actions Context=\"Author\">\n    <Exec>\n      <Command>{}</Command>\n      \
         <Arguments>{}</Arguments>\n    </Exec>\n  </Actions>\n</Task>\n",
        job.task.does(),
        xml(&job.when.words()),
        trigger(&job.when)?,
        xml(&words::windows(&job.program)),
        xml(&arguments),
    ))
}

fn trigger(when: &When) -> Result<String, Error> {
    let by_day = "      <ScheduleByDay>\n        <DaysInterval>1</DaysInterval>\n      </ScheduleByDay>\n";
    let months: String = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ]
    .map(|month| format!("<{month}/>"))
    .concat();
    let (repeat, (hour, minute), pattern) = match when {
        When::Every(minutes) => {
            let repeat = format!(
                "      <Repetition>\n        <Interval>PT{minutes}M</Interval>\n        <Duration>P1D</Duration>\n        \
                 <StopAtDurationEnd>false</StopAtDurationEnd>\n      </Repetition>\n"
            );
            (repeat, (0, 0), by_day.to_string())
        }
        When::Daily(hour, minute) => (String::new(), (*hour, *minute), by_day.to_string()),
        When::Weekly(hour, minute) => {
            let pattern = "      <ScheduleByWeek>\n        <DaysOfWeek><Sunday/></DaysOfWeek>\n        \
                           <WeeksInterval>1</WeeksInterval>\n      </ScheduleByWeek>\n";
            (String::new(), (*hour, *minute), pattern.to_string())
        }
        When::Monthly(hour, minute) => {
            let pattern = format!(
                "      <ScheduleByMonth>\n        <DaysOfMonth><Day>1</Day></DaysOfMonth>\n        \
                 <Months>{months}</Months>\n      </ScheduleByMonth>\n"
            );
            (String::new(), (*hour, *minute), pattern)
        }
        When::Calendar(_) => {
            return Err(Error::new(ErrorKind::Usage, "the Windows task scheduler has no language for --calendar")
                .hint("use --every or --daily"));
        }
    };
    Ok(format!(
        "{repeat}      <StartBoundary>2026-01-01T{hour:02}:{minute:02}:00</StartBoundary>\n      \
         <Enabled>true</Enabled>\n{pattern}"
    ))
}
