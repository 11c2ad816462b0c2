//! The launchd scheduler: one user agent per job.

use std::path::PathBuf;

use unspool::error::{Error, ErrorKind};

use crate::schedule::quoting::xml;
use crate::schedule::steps::{Failure, Step};
use crate::schedule::tools;
use crate::schedule::{Job, JobStatus, Place, Scheduler, Task, When, backup_in, text_of};

#[derive(Debug)]
pub(super) struct Launchd<'a>(pub(super) &'a Place);

impl Scheduler for Launchd<'_> {
    fn name(&self) -> &'static str {
        "launchd"
    }

    fn install(&self, jobs: &[Job]) -> Result<Vec<Step>, Error> {
        let launchctl = self.0.tools.need("launchctl")?;
        let unwanted = Task::ALL.into_iter().filter(|task| jobs.iter().all(|job| job.task != *task));
        let mut steps = self.remove(unwanted)?;
        for job in jobs {
            let (path, text) = (self.plist(job.task), self.text(job)?);
            if text_of(&path).as_ref() == Some(&text) && self.print(job.task).is_some() {
                continue;
            }
            let path_text = path.to_string_lossy().into_owned();
            steps.push(Step::Write { path, text });
            steps.push(Step::run(&launchctl, &["bootout", &target(job.task)], Failure::Ignored));
            steps.push(Step::run(&launchctl, &["enable", &target(job.task)], Failure::Ignored));
            // The old agent may take a moment to stop.
            steps.push(Step::run(&launchctl, &["bootstrap", &domain(), &path_text], Failure::Again));
        }
        Ok(steps)
    }

    fn uninstall(&self) -> Result<Vec<Step>, Error> {
        self.remove(Task::ALL.into_iter())
    }

    fn status(&self) -> Result<Vec<JobStatus>, Error> {
        Ok(Task::ALL.into_iter().filter(|task| self.plist(*task).is_file()).map(|task| self.job_status(task)).collect())
    }
}

impl Launchd<'_> {
    fn plist(&self, task: Task) -> PathBuf {
        self.0.home.join("Library/LaunchAgents").join(format!("{}.plist", label(task)))
    }

    fn log(&self, task: Task) -> PathBuf {
        self.0.home.join("Library/Logs").join(format!("unspool-{}.log", task.name()))
    }

    fn remove(&self, tasks: impl Iterator<Item = Task>) -> Result<Vec<Step>, Error> {
        let mut steps = Vec::new();
        for task in tasks.filter(|task| self.plist(*task).is_file()) {
            let launchctl = self.0.tools.need("launchctl")?;
            steps.push(Step::run(&launchctl, &["bootout", &target(task)], Failure::Ignored));
            steps.push(Step::Remove { path: self.plist(task) });
        }
        Ok(steps)
    }

    /// Returns what launchd reports about a job, or `None` if the job is not loaded.
    fn print(&self, task: Task) -> Option<String> {
        let launchctl = self.0.tools.find("launchctl")?;
        let output = tools::run(&launchctl, &["print".into(), target(task)], None).ok()?;
        output.ok().then(|| output.text())
    }

    fn text(&self, job: &Job) -> Result<String, Error> {
        let strings = |words: &mut dyn Iterator<Item = &str>| {
            words.map(|word| format!("\n        <string>{}</string>", xml(word))).collect::<String>()
        };
        let env: String = job
            .env
            .iter()
            .map(|(name, value)| format!("\n        <key>{}</key>\n        <string>{}</string>", xml(name), xml(value)))
            .collect();
        let env = if env.is_empty() {
            env
        } else {
            format!("    <key>EnvironmentVariables</key>\n    <dict>{env}\n    </dict>\n")
        };
        let log = xml(&self.log(job.task).to_string_lossy());
        Ok(format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
             <!-- Written by `unspool schedule install`; `unspool schedule uninstall` removes it. -->\n\
             <plist version=\"1.0\">\n<dict>\n    <key>Label</key>\n    <string>{}</string>\n    \
             <key>ProgramArguments</key>\n    <array>{}\n    </array>\n{env}{}    \
             <key>ProcessType</key>\n    <string>Background</string>\n    \
             <key>LowPriorityIO</key>\n    <true/>\n    <key>Nice</key>\n    <integer>10</integer>\n    \
             <key>Umask</key>\n    <integer>63</integer>\n    \
             <key>StandardOutPath</key>\n    <string>{log}</string>\n    \
             <key>StandardErrorPath</key>\n    <string>{log}</string>\n</dict>\n</plist>\n",
            label(job.task),
            strings(&mut job.command()),
            times(&job.when)?,
        ))
    }

    fn job_status(&self, task: Task) -> JobStatus {
        let text = text_of(&self.plist(task)).unwrap_or_default();
        let print = self.print(task);
        let line = |key: &str| {
            let lines = print.as_deref().unwrap_or_default().lines();
            lines.filter_map(|line| line.trim().strip_prefix(key)?.trim_start().strip_prefix("= ")).next()
        };
        let code = line("last exit code").filter(|code| !code.contains("never"));
        let number = code.and_then(|code| code.split([':', ' ']).next()?.parse::<i32>().ok());
        let result = match number {
            _ if line("state") == Some("running") => Some("running".to_string()),
            Some(0) => Some("ok".to_string()),
            Some(3) => Some("done, with problems (code 3)".to_string()),
            Some(_) => code.map(|code| format!("failed (code {code})")),
            None => None,
        };
        JobStatus {
            task: task.name().to_string(),
            when: when_in(&text),
            program: text.split_once("<array>").and_then(|(_, rest)| string_in(rest)).map(PathBuf::from),
            active: print.is_some(),
            failed: number.is_some_and(|number| number != 0 && number != 3),
            result,
            log: self.log(task).to_string_lossy().into_owned(),
            backup: backup_in(&text),
            ..JobStatus::default()
        }
    }
}

fn label(task: Task) -> String {
    format!("dev.unspool.{}", task.name())
}

fn domain() -> String {
    #[cfg(unix)]
    let user = rustix::process::getuid().as_raw();
    #[cfg(not(unix))]
    let user = 0;
    format!("gui/{user}")
}

fn target(task: Task) -> String {
    format!("{}/{}", domain(), label(task))
}

/// Returns the schedule as keys of a property list.
fn times(when: &When) -> Result<String, Error> {
    if let When::Every(minutes) = when {
        let seconds = minutes * 60;
        return Ok(format!(
            "    <key>StartInterval</key>\n    <integer>{seconds}</integer>\n    <key>RunAtLoad</key>\n    <true/>\n"
        ));
    }
    let entries = combinations(&when.cron()?).ok_or_else(|| {
        Error::new(ErrorKind::Usage, format!("launchd does not support ranges, steps or names: {}", when.words()))
            .hint("list the numbers, such as \"0,30 3 * * 1,2\", or use --every or --daily")
    })?;
    let dict = |entry: &Vec<(&str, u8)>| {
        let keys: String =
            entry.iter().map(|(key, value)| format!("<key>{key}</key><integer>{value}</integer>")).collect();
        format!("\n        <dict>{keys}</dict>")
    };
    let dicts: String = entries.iter().map(dict).collect();
    Ok(format!("    <key>StartCalendarInterval</key>\n    <array>{dicts}\n    </array>\n"))
}

/// Returns every combination of the values in cron's five fields. A missing key matches any value. Returns `None` if a
/// field is neither `*` nor a list of numbers.
fn combinations(time: &str) -> Option<Vec<Vec<(&'static str, u8)>>> {
    let mut fields = Vec::new();
    for (key, field) in ["Minute", "Hour", "Day", "Month", "Weekday"].into_iter().zip(time.split(' ')) {
        if field != "*" {
            fields.push((key, field.split(',').map(|value| value.parse().ok()).collect::<Option<Vec<u8>>>()?));
        }
    }
    let all_without = |left_out: &str| {
        fields.iter().filter(|(key, _)| *key != left_out).fold(vec![Vec::new()], |entries, (key, values)| {
            let with = |entry: &Vec<_>, value: &u8| [entry.as_slice(), &[(*key, *value)]].concat();
            entries.iter().flat_map(|entry| values.iter().map(move |value| with(entry, value))).collect()
        })
    };
    let names = |name: &str| fields.iter().any(|(key, _)| *key == name);
    if names("Day") && names("Weekday") {
        // For cron, it is enough if either of them matches.
        return Some([all_without("Weekday"), all_without("Day")].concat());
    }
    Some(all_without(""))
}

/// Returns the schedule in a property list that unspool wrote.
fn when_in(text: &str) -> String {
    let between = |from: &str, to: &str| Some(text.split_once(from)?.1.split_once(to)?.0.trim().to_string());
    let every = between("<key>StartInterval</key>", "</integer>");
    match every.and_then(|every| every.strip_prefix("<integer>")?.parse::<u32>().ok()) {
        Some(seconds) => When::Every(seconds / 60).words(),
        None => {
            let dicts = between("<key>StartCalendarInterval</key>", "</array>").unwrap_or_default();
            let plain = dicts.replace("<key>", " ").replace("</key><integer>", " ").replace("</integer>", "");
            let entries = plain.lines().filter_map(|line| line.trim().strip_prefix("<dict>")?.strip_suffix("</dict>"));
            entries.map(|entry| entry.trim().to_lowercase()).collect::<Vec<_>>().join("; ")
        }
    }
}

fn string_in(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("<string>")?;
    let (value, _) = rest.split_once("</string>")?;
    Some(value.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_are_spelled_out() {
        for (text, expected) in [
            ("0 3 * * *", vec![vec![("Minute", 0), ("Hour", 3)]]),
            ("0 3 * * 0", vec![vec![("Minute", 0), ("Hour", 3), ("Weekday", 0)]]),
            ("0,30 3 * * *", vec![vec![("Minute", 0), ("Hour", 3)], vec![("Minute", 30), ("Hour", 3)]]),
            ("* * * * *", vec![vec![]]),
            (
                "5 4 1 * 1",
                vec![vec![("Minute", 5), ("Hour", 4), ("Day", 1)], vec![("Minute", 5), ("Hour", 4), ("Weekday", 1)]],
            ),
        ] {
            assert_eq!(combinations(text), Some(expected), "{text}");
        }
        for text in ["0-30 3 * * *", "*/5 * * * *", "0 3 * * mon"] {
            assert!(times(&When::Calendar(text.into())).is_err(), "{text}");
        }
    }
}
