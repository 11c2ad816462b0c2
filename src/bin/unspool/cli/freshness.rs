//! What `unspool status` says about staying current: regular runs.

use serde_json::{Map, Value, json};
use unspool::render::text::Screen;

use crate::config::{self, Config};
use crate::out;
use crate::schedule::Task;
use crate::schedule::record::{Outcome, Record};

/// A few rows for people, and the same for programs.
#[derive(Debug, Default)]
pub(super) struct Freshness {
    pub(super) rows: Vec<(&'static str, String)>,
    pub(super) json: Map<String, Value>,
}

pub(super) fn freshness(config: &Config, screen: &Screen) -> Freshness {
    let mut freshness = Freshness::default();
    freshness.add_schedule(config, screen);
    freshness
}

impl Freshness {
    fn add_schedule(&mut self, config: &Config, screen: &Screen) {
        let at_work = config.store.writer_at_work().is_some();
        let mut runs = Vec::new();
        for task in Task::ALL {
            let Some(record) = Record::read(&config.store, task) else { continue };
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
            self.rows.push(("schedule", "no run yet (`unspool schedule install` sets up regular runs)".to_string()));
        }
        self.json.insert("scheduled_runs".into(), Value::Array(runs));
    }
}

fn run_in_words(task: Task, record: &Record, outcome: Outcome, screen: &Screen) -> String {
    let which = if task == Task::Index { String::new() } else { format!(" ({})", task.name()) };
    let result = match outcome {
        Outcome::Running => "under way".to_string(),
        Outcome::Done if record.code == Some(out::PROBLEMS) => "done, with problems".to_string(),
        Outcome::Done => "ok".to_string(),
        Outcome::Stopped => "stopped before its end".to_string(),
        Outcome::Failed => {
            let last = record.last_ok.map_or("never".to_string(), |time| screen.age(time));
            format!("failed: {}; last success {last}", record.trouble())
        }
    };
    format!("last run{which} {}: {result}", screen.age(record.started))
}
