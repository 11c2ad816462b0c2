//! The part of `unspool status` about background updates: scheduled runs, a running watch, and sessions that Claude
//! Code will delete soon.

use std::path::Path;

use serde_json::{Map, Value, json};
use unspool::archive::expiring_sessions::Retention;
use unspool::archive::status::Status;
use unspool::error::Result;
use unspool::render::terminal::style::{Screen, count};
use unspool::transcript::settings::{DEFAULT_DAYS, Settings};

use crate::cli::backup::LastBackup;
use crate::config::{self, Config};
use crate::exit_code;
use crate::schedule::Task;
use crate::schedule::record::{Outcome, Record};

/// Status rows for people, and the same as JSON.
#[derive(Debug, Default)]
pub(super) struct Freshness {
    pub(super) rows: Vec<(&'static str, String)>,
    pub(super) json: Map<String, Value>,
}

pub(super) fn freshness(config: &Config, screen: &Screen, status: &Status) -> Result<Freshness> {
    let mut freshness = Freshness::default();
    freshness.add_retention(config, screen, status)?;
    freshness.add_schedule(config, screen);
    freshness.add_backup(config, screen);
    freshness.add_watch(config);
    Ok(freshness)
}

impl Freshness {
    fn add_schedule(&mut self, config: &Config, screen: &Screen) {
        let at_work = config.local.folder().writer_at_work().is_some();
        let mut runs = Vec::new();
        for task in Task::ALL {
            let Some(record) = Record::read(&config.local, task) else { continue };
            let outcome = record.outcome(config::now(), at_work);
            self.rows.push(("schedule", run_in_words(task, &record, outcome, screen)));
            let result = match outcome {
                Outcome::Running => "running",
                Outcome::Done => "ok",
                Outcome::Stopped => "stopped",
                Outcome::Failed => "failed",
            };
            let reason = (outcome == Outcome::Failed).then(|| record.trouble());
            runs.push(json!({"task": task.name(), "started_ms": record.started, "ended_ms": record.ended,
                "code": record.code, "result": result, "reason": reason, "last_ok_ms": record.last_ok}));
        }
        if runs.is_empty() {
            self.rows.push(("schedule", "no runs yet (`unspool schedule install` sets up regular runs)".to_string()));
        }
        self.json.insert("scheduled_runs".into(), Value::Array(runs));
    }
}

impl Freshness {
    /// Adds the latest backup, if there was one.
    fn add_backup(&mut self, config: &Config, screen: &Screen) {
        let Some(last) = LastBackup::read(config) else { return };
        let is_missing = !last.file.is_file();
        let missing = if is_missing { "; the file no longer exists (run `unspool backup`)" } else { "" };
        let (path, age) = (screen.path(&last.file), screen.age(last.time));
        self.rows.push(("backup", format!("{path}, {age}, {}{missing}", count(last.files, "transcript"))));
        self.json.insert(
            "backup".into(),
            json!({"path": last.file.to_string_lossy(), "time_ms": last.time, "files": last.files,
                "missing": is_missing}),
        );
    }
}

impl Freshness {
    fn add_watch(&mut self, config: &Config) {
        let watcher = config.local.folder().watcher_at_work();
        if let Some(watcher) = &watcher {
            self.rows.push(("watch", format!("running ({watcher})")));
        }
        self.json.insert("watcher".into(), watcher.into());
    }
}

impl Freshness {
    fn add_retention(&mut self, config: &Config, screen: &Screen, status: &Status) -> Result<()> {
        let mut found = Vec::new();
        let files = config.settings_files();
        for file in &files {
            let Some(folder) = file.parent() else { continue };
            let settings = fs_err::read_to_string(file).ok().and_then(|text| Settings::parse(&text).ok());
            let named = settings.and_then(|settings| settings.cleanup_period_days);
            let days = named.unwrap_or(DEFAULT_DAYS);
            let fate = config.local.retention(status, folder, days, config::now())?;
            if fate.sessions > 0 {
                let place = (files.len() > 1).then(|| screen.path(folder));
                self.rows.push(("retention", fate_in_words(&fate, days, named.is_some(), place.as_deref())));
            }
            found.push(fate_as_json(&fate, folder, days, named.is_some()));
        }
        self.json.insert("retention".into(), Value::Array(found));
        Ok(())
    }
}

fn fate_in_words(fate: &Retention, days: u64, named: bool, place: Option<&str>) -> String {
    let source = if named { "cleanupPeriodDays" } else { "its default" };
    let place = place.map(|place| format!(" in {place}")).unwrap_or_default();
    let mut text = format!(
        "Claude Code deletes sessions{place} after {} ({source}): ",
        count(usize::try_from(days).unwrap_or(usize::MAX), "day")
    );
    let first = fate.next.and_then(date);
    text += &match (fate.soon, fate.overdue, first) {
        (0, _, Some(first)) => format!("the first of {} on {first}", fate.sessions),
        (soon, 0, Some(first)) => format!("{soon} of {} within a week, the first on {first}", fate.sessions),
        (soon, overdue, _) if soon == overdue => format!("{soon} of {} at its next start", fate.sessions),
        (soon, overdue, _) => format!("{soon} of {} within a week, {overdue} at its next start", fate.sessions),
    };
    text += &match (fate.soon_unindexed, fate.unindexed) {
        (0, 0) => "; all are indexed".to_string(),
        (0, later) => format!("; these are indexed, but {} not yet", count(later, "other")),
        (soon, _) => format!("; {soon} of them not indexed yet (run `unspool index`)"),
    };
    text
}

fn date(time: i64) -> Option<String> {
    let time = jiff::Timestamp::from_millisecond(time).ok()?.to_zoned(jiff::tz::TimeZone::system());
    Some(time.strftime("%Y-%m-%d").to_string())
}

fn fate_as_json(fate: &Retention, folder: &Path, days: u64, named: bool) -> Value {
    json!({"root": folder.to_string_lossy(), "days": days, "is_default": !named, "sessions": fate.sessions,
        "overdue": fate.overdue, "within_7_days": fate.soon, "within_7_days_unindexed": fate.soon_unindexed,
        "unindexed": fate.unindexed, "next_ms": fate.next})
}

fn run_in_words(task: Task, record: &Record, outcome: Outcome, screen: &Screen) -> String {
    let which = if task == Task::Index { String::new() } else { format!(" ({})", task.name()) };
    let result = match outcome {
        Outcome::Running => "in progress".to_string(),
        Outcome::Done if record.code == Some(exit_code::PROBLEMS) => "done, with problems".to_string(),
        Outcome::Done => "ok".to_string(),
        Outcome::Stopped => "stopped early".to_string(),
        Outcome::Failed => {
            let last = record.last_ok.map_or("never".to_string(), |time| screen.age(time));
            format!("failed: {}; last success {last}", record.trouble())
        }
    };
    format!("last run{which} {}: {result}", screen.age(record.started))
}
