//! `unspool backup`: saves the sessions that exist only in the index to one file.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use unspool::archive::backup::Backup;
use unspool::render::terminal::style::count;
use unspool::units;
use unspool::untrusted::one_line;

use crate::atomic_write;
use crate::config::{self, Config};
use crate::exit_code;
use crate::out;
use crate::refresh::RefreshArgs;

const EXAMPLES: &str = "\
Examples:
  unspool backup ~/sessions.zst      write a backup, or update it
  zstdcat ~/sessions.zst | less      read it without unspool
  unspool restore ~/sessions.zst     put it back into an index";

/// Save the sessions that exist only in the index to one file
///
/// These are the sessions whose transcripts Claude Code has deleted. The file is zstd-compressed JSON Lines with a
/// checksum, readable without unspool, and only by you. An existing backup is updated and keeps what only it contains,
/// except sessions erased by `unspool forget`. It is replaced only after the new file was read back without errors.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BackupArgs {
    /// The backup; a new file, or an existing backup
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Include sessions whose transcripts still exist
    #[arg(long)]
    all: bool,

    /// Report as one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    refresh: RefreshArgs,
}

/// The frequency of scheduled backups.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum BackupPace {
    Daily,
    Weekly,
}

impl BackupPace {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Daily => "daily",
            Self::Weekly => "weekly",
        }
    }

    /// Returns the age in milliseconds at which a backup is due. An hour less than a day or a week: a scheduled run may
    /// start a little earlier than the last one.
    fn age(self) -> i64 {
        const HOUR: i64 = 3_600_000;
        match self {
            Self::Daily => 23 * HOUR,
            Self::Weekly => (7 * 24 - 1) * HOUR,
        }
    }
}

/// The latest backup of an index, recorded next to it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct LastBackup {
    /// The file.
    pub(crate) file: PathBuf,
    /// The time, in milliseconds since 1970.
    pub(crate) time: i64,
    /// Number of transcripts in it.
    pub(crate) files: usize,
}

impl LastBackup {
    pub(crate) fn read(config: &Config) -> Option<Self> {
        serde_json::from_slice(&fs_err::read(record_path(config)).ok()?).ok()
    }
}

fn record_path(config: &Config) -> PathBuf {
    config.local.folder().beside("backup.json")
}

pub(crate) fn run(config: &Config, args: &BackupArgs) -> anyhow::Result<u8> {
    args.refresh.open(config)?;
    let backup = write(config, &std::path::absolute(&args.file)?, args.all)?;
    out::print(config.color, |out| {
        if args.json {
            let mut line = serde_json::json!({"schema": 1, "type": "backup"});
            merge(&mut line, &backup);
            return writeln!(out, "{line}");
        }
        in_words(&backup).iter().try_for_each(|line| writeln!(out, "{}", one_line(line)))
    })?;
    Ok(if backup.problems.is_empty() { exit_code::OK } else { exit_code::PROBLEMS })
}

/// Adds the members of an answer to a JSON object.
pub(super) fn merge(line: &mut serde_json::Value, answer: &impl Serialize) {
    if let (Some(line), Ok(serde_json::Value::Object(members))) = (line.as_object_mut(), serde_json::to_value(answer)) {
        line.extend(members);
    }
}

/// Writes a backup if it is due. Returns its problems as text.
pub(super) fn write_if_due(config: &Config, file: &Path, pace: BackupPace) -> anyhow::Result<Vec<String>> {
    let file = std::path::absolute(file)?;
    let written = fs_err::metadata(&file).and_then(|meta| meta.modified()).ok();
    let written = written.and_then(|time| jiff::Timestamp::try_from(time).ok()).map(jiff::Timestamp::as_millisecond);
    // A time in the future is that of a wrong clock.
    if written.is_some_and(|written| (0..pace.age()).contains(&(config::now() - written))) {
        return Ok(Vec::new());
    }
    let backup = write(config, &file, false)?;
    Ok(backup.problems.iter().map(|problem| format!("{}: {}", problem.path.display(), problem.reason)).collect())
}

fn write(config: &Config, file: &Path, all: bool) -> anyhow::Result<Backup> {
    if let Some(folder) = file.parent() {
        fs_err::create_dir_all(folder)?;
    }
    let backup = config.local.backup(file, all, config::now())?;
    let last = LastBackup { file: backup.path.clone(), time: config::now(), files: backup.files };
    // Only for `status`; the backup itself is complete.
    let _ = atomic_write::replace(&record_path(config), &serde_json::to_vec(&last).unwrap_or_default());
    Ok(backup)
}

fn in_words(backup: &Backup) -> Vec<String> {
    let documents = usize::try_from(backup.documents).unwrap_or(usize::MAX);
    let contents = format!(
        "{} with {}, {}",
        count(backup.files, "transcript"),
        count(documents, "document"),
        units::bytes(backup.bytes)
    );
    let path = backup.path.display();
    let mut lines = vec![match (backup.written, backup.files) {
        (false, _) => format!("nothing new: {path} is intact and contains everything ({contents})"),
        (true, 0) => {
            format!("wrote {path}: empty, because every indexed transcript still exists (--all includes them)")
        }
        (true, _) => format!("wrote {path}: {contents}"),
    }];
    if backup.kept > 0 {
        lines.push(format!("kept {} that only the old backup had", count(backup.kept, "transcript")));
    }
    if backup.removed > 0 {
        lines.push(format!("removed {} of forgotten sessions", count(backup.removed, "transcript")));
    }
    let problems = backup.problems.iter();
    lines.extend(problems.map(|problem| format!("problem: {}: {}", problem.path.display(), problem.reason)));
    lines
}
