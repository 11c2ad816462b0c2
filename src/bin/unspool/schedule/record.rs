//! What became of the latest scheduled run of each task: a small file beside the index, so that a failure in the
//! background is seen by whoever next looks.

use serde::{Deserialize, Serialize};
use unspool::archive::Local;

use crate::atomic_write;
use crate::exit_code;
use crate::out;
use crate::schedule::Task;

/// A run that began this long ago, has not ended and holds no lock was cut off.
const CUT_OFF_AFTER: i64 = 60_000;

/// The latest run of a task.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct Record {
    /// When it began, in milliseconds since 1970.
    pub(crate) started: i64,
    /// When it ended.
    pub(crate) ended: Option<i64>,
    /// Its exit code.
    pub(crate) code: Option<u8>,
    /// What went wrong.
    pub(crate) message: Option<String>,
    /// When a run last ended well.
    pub(crate) last_ok: Option<i64>,
    /// Whether somebody has been told that it failed.
    told: bool,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Outcome {
    Running,
    Done,
    /// Stopped, by a shutdown for instance; the next run goes on from there.
    Stopped,
    Failed,
}

impl Record {
    pub(crate) fn read(local: &Local, task: Task) -> Option<Self> {
        let bytes = fs_err::read(path(local, task)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Failing to keep the record must not fail the run.
    fn write(&self, local: &Local, task: Task) {
        let _ = atomic_write::replace(&path(local, task), &serde_json::to_vec(self).unwrap_or_default());
    }

    /// Drops what is known, when nothing is scheduled any more.
    pub(crate) fn remove(local: &Local, task: Task) {
        let _ = fs_err::remove_file(path(local, task));
    }

    pub(crate) fn outcome(&self, now: i64, at_work: bool) -> Outcome {
        match (self.ended, self.code) {
            (Some(_), Some(exit_code::OK | exit_code::PROBLEMS)) => Outcome::Done,
            (Some(_), Some(exit_code::INTERRUPTED)) => Outcome::Stopped,
            (Some(_), _) => Outcome::Failed,
            (None, _) if at_work || now - self.started < CUT_OFF_AFTER => Outcome::Running,
            (None, _) => Outcome::Failed,
        }
    }

    /// What went wrong, in one sentence.
    pub(crate) fn trouble(&self) -> String {
        match (&self.message, self.ended) {
            (Some(message), _) => message.clone(),
            (None, Some(_)) => format!("code {}", self.code.unwrap_or_default()),
            (None, None) => "it was cut off (killed, or the machine went down)".to_string(),
        }
    }
}

fn path(local: &Local, task: Task) -> std::path::PathBuf {
    local.folder().beside(&format!("ran-{}.json", task.name()))
}

/// Runs a task for a scheduler and keeps what becomes of it. A run that finds another at work leaves no trace.
pub(crate) fn kept(
    local: &Local,
    task: Task,
    now: fn() -> i64,
    run: impl FnOnce() -> anyhow::Result<Option<u8>>,
) -> anyhow::Result<u8> {
    be_nice();
    let before = Record::read(local, task);
    let last_ok = before.as_ref().and_then(|before| before.last_ok);
    let begun = Record { started: now(), last_ok, ..Record::default() };
    // A run that is about to find the index locked must not cover up the one that holds it.
    if local.folder().writer_at_work().is_none() {
        begun.write(local, task);
    }
    let ran = run();
    let (code, message) = match &ran {
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
    Record { ended: Some(now()), code: Some(code), message, last_ok, ..begun }.write(local, task);
    ran.map(|_| code)
}

/// Tells a person, once, that a scheduled run has failed.
pub(crate) fn remind(local: &Local, now: i64) {
    for task in Task::ALL {
        let Some(mut record) = Record::read(local, task) else { continue };
        if !record.told && record.outcome(now, local.folder().writer_at_work().is_some()) == Outcome::Failed {
            let name = task.name();
            out::note(&format!(
                "note: the last scheduled run ({name}) failed: {}; see `unspool schedule status`",
                record.trouble()
            ));
            record.told = true;
            record.write(local, task);
        }
    }
}

/// Lets everybody else go first.
fn be_nice() {
    #[cfg(unix)]
    let _ = rustix::process::setpriority_process(None, 10);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_run_ended() {
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
