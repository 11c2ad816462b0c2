//! Records the result of the latest scheduled run of each task, in a small file next to the index. The next command on
//! a terminal reports a failure.

use serde::{Deserialize, Serialize};
use unspool::archive::Local;

use crate::atomic_write;
use crate::exit_code;
use crate::out;
use crate::schedule::Task;

/// A run that started this long ago (ms), has not ended and holds no lock was killed.
const KILLED_AFTER: i64 = 60_000;

/// The latest run of a task.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct Record {
    /// The start time, in milliseconds since 1970.
    pub(crate) started: i64,
    /// The end time.
    pub(crate) ended: Option<i64>,
    /// The exit code.
    pub(crate) code: Option<u8>,
    /// The error message.
    pub(crate) message: Option<String>,
    /// The end time of the last successful run.
    pub(crate) last_ok: Option<i64>,
    /// Set once the failure has been reported to the user.
    #[serde(rename = "told")]
    reported: bool,
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Outcome {
    Running,
    Done,
    /// Stopped, for example by a shutdown. The next run continues from there.
    Stopped,
    Failed,
}

impl Record {
    pub(crate) fn read(local: &Local, task: Task) -> Option<Self> {
        let bytes = fs_err::read(path(local, task)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Writes the record. Errors are ignored, because they must not fail the run.
    fn write(&self, local: &Local, task: Task) {
        let _ = atomic_write::replace(&path(local, task), &serde_json::to_vec(self).unwrap_or_default());
    }

    /// Removes the record, when nothing is scheduled anymore.
    pub(crate) fn remove(local: &Local, task: Task) {
        let _ = fs_err::remove_file(path(local, task));
    }

    pub(crate) fn outcome(&self, now: i64, at_work: bool) -> Outcome {
        match (self.ended, self.code) {
            (Some(_), Some(exit_code::OK | exit_code::PROBLEMS)) => Outcome::Done,
            (Some(_), Some(exit_code::INTERRUPTED)) => Outcome::Stopped,
            (Some(_), _) => Outcome::Failed,
            (None, _) if at_work || now - self.started < KILLED_AFTER => Outcome::Running,
            (None, _) => Outcome::Failed,
        }
    }

    /// Describes the failure in one sentence.
    pub(crate) fn trouble(&self) -> String {
        match (&self.message, self.ended) {
            (Some(message), _) => message.clone(),
            (None, Some(_)) => format!("code {}", self.code.unwrap_or_default()),
            (None, None) => "it was killed, or the machine went down".to_string(),
        }
    }
}

fn path(local: &Local, task: Task) -> std::path::PathBuf {
    local.folder().beside(&format!("ran-{}.json", task.name()))
}

/// Runs a task for a scheduler and records the result. A run that finds the index locked leaves no record.
pub(crate) fn kept(
    local: &Local,
    task: Task,
    now: fn() -> i64,
    run: impl FnOnce() -> anyhow::Result<Option<u8>>,
) -> anyhow::Result<u8> {
    be_nice();
    let before = Record::read(local, task);
    let last_ok = before.as_ref().and_then(|before| before.last_ok);
    let started = Record { started: now(), last_ok, ..Record::default() };
    // A run that is about to find the index locked must not overwrite the record of the run that holds the lock.
    if local.folder().writer_at_work().is_none() {
        started.write(local, task);
    }
    let result = run();
    let (code, message) = match &result {
        Ok(Some(code)) => (*code, None),
        Ok(None) => {
            if let Some(before) = before {
                before.write(local, task);
            }
            return Ok(exit_code::OK);
        }
        Err(error) => (exit_code::code_of(error), Some(out::sentence(error))),
    };
    let done = matches!(code, exit_code::OK | exit_code::PROBLEMS);
    let last_ok = if done { Some(now()) } else { last_ok };
    Record { ended: Some(now()), code: Some(code), message, last_ok, ..started }.write(local, task);
    result.map(|_| code)
}

/// Reports, once, that a scheduled run has failed.
pub(crate) fn remind(local: &Local, now: i64) {
    for task in Task::ALL {
        let Some(mut record) = Record::read(local, task) else { continue };
        if !record.reported && record.outcome(now, local.folder().writer_at_work().is_some()) == Outcome::Failed {
            let name = task.name();
            out::note(&format!(
                "note: the last scheduled run ({name}) failed: {}; see `unspool schedule status`",
                record.trouble()
            ));
            record.reported = true;
            record.write(local, task);
        }
    }
}

/// Lowers the priority of this process.
fn be_nice() {
    #[cfg(unix)]
    let _ = rustix::process::setpriority_process(None, 10);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_follow_from_the_record() {
        let record = |ended, code| Record { started: 1_000, ended, code, ..Record::default() };
        for (record, at_work, expected) in [
            (record(Some(2_000), Some(0)), false, Outcome::Done),
            (record(Some(2_000), Some(3)), false, Outcome::Done),
            (record(Some(2_000), Some(130)), false, Outcome::Stopped),
            (record(Some(2_000), Some(6)), false, Outcome::Failed),
            (record(None, None), true, Outcome::Running),
            (record(None, None), false, Outcome::Failed),
        ] {
            assert_eq!(record.outcome(1_000_000, at_work), expected, "{record:?}");
        }
        assert_eq!(record(None, None).outcome(30_000, false), Outcome::Running);
    }
}
