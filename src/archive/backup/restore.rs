//! Restores a backup into the index, as a rebuild copies vanished sessions from an old index.
//!
//! Everything becomes visible in one commit at the end, so an interrupted run changes nothing.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::archive::backup::format::is_counted;
use crate::archive::backup::read::{Item, Survey, read, survey};
use crate::document::Document;
use crate::error::{Error, ErrorKind, Problem, Result};
use crate::index::{Checkpoint, FileKey, IndexFolder, LockedFolder, Loss, Reader, RunSize, Writer};
use crate::transcript::discover::SourceKind;
use crate::update::Watch;

/// Bytes of documents that are passed to the index together.
const BATCH: usize = 1 << 20;

/// Options of a restore.
#[derive(Clone, Debug, Default)]
pub struct RestoreOptions {
    /// The current time, in milliseconds since 1970.
    pub now: i64,
    /// Restore the intact parts of a damaged backup.
    pub partial: bool,
    /// Longest wait for another run to end.
    pub wait: Duration,
}

/// The result of restoring a backup.
#[derive(Debug, Default, Serialize)]
pub struct Restored {
    /// Number of files whose documents were added to the index.
    pub files: usize,
    /// Number of documents added, without titles that are derived from them.
    pub documents: u64,
    /// Number of files that the index contains already.
    pub unchanged: usize,
    /// Number of files that were left out, because the index must not contain their sessions.
    pub left_out: usize,
    /// Number of sessions that are forgotten in the index now, as they were in the backup.
    pub forgotten: usize,
    /// Sessions that were forgotten in the backup, but are in the index.
    pub remembered: Vec<String>,
    /// Damaged parts of the backup.
    pub problems: Vec<Problem>,
    /// Messages that were lost with the damaged parts.
    pub losses: Vec<Loss>,
}

/// Restores a backup. The index must be up to date, so that it contains every session whose transcript exists.
pub(crate) fn restore(
    folder: &IndexFolder,
    path: &Path,
    options: &RestoreOptions,
    watch: &dyn Watch,
) -> Result<Restored> {
    let locked = folder.lock(options.wait)?;
    let reader = folder.read()?.ok_or_else(|| {
        Error::new(ErrorKind::Unusable, "there is no index to restore into").hint("run `unspool index`, and try again")
    })?;
    let target = Target::of(&reader)?;
    drop(reader);
    let survey = survey(path, &target.forgotten)?;
    if !options.partial {
        survey.reading.require_intact("`unspool restore --partial` restores the parts that are intact")?;
    }
    let restore = Restore { survey: &survey, target, writer: None, current: None, done: Restored::default(), options };
    restore.run(&locked, path, watch).inspect_err(|_| locked.tidy())
}

/// The contents of the index before the restore.
struct Target {
    files: HashMap<FileKey, Known>,
    /// Transcripts that exist: their session and subagent. They may have been moved since the backup.
    present: HashSet<(String, Option<String>)>,
    forgotten: HashSet<String>,
    sessions: HashSet<String>,
}

/// The state of a file in the index.
struct Known {
    is_gone: bool,
    documents: u64,
}

impl Target {
    fn of(reader: &Reader) -> Result<Self> {
        let forgotten = reader.forgotten_sessions()?;
        let mut target = Self { files: HashMap::new(), present: HashSet::new(), forgotten, sessions: HashSet::new() };
        for file in reader.checkpoints()? {
            let is_gone = file.gone_since.is_some();
            target.files.insert(file.key(), Known { is_gone, documents: file.state.documents });
            if !file.forgotten {
                target.sessions.insert(file.session_id().to_string());
                if !is_gone {
                    target.present.extend(identity(&file));
                }
            }
        }
        Ok(target)
    }
}

/// Returns what identifies a transcript, wherever it is. Other files are identified by their paths only.
fn identity(file: &Checkpoint) -> Option<(String, Option<String>)> {
    let is_transcript = matches!(file.source_kind(), SourceKind::Session | SourceKind::Agent);
    is_transcript.then(|| (file.session_id().to_string(), file.agent_id().map(str::to_string)))
}

/// A file that is being restored.
struct Current {
    checkpoint: Checkpoint,
    replaces: bool,
    /// Number of documents, as checkpoints count them.
    counted: u64,
    batch: Vec<Document>,
    bytes: usize,
}

struct Restore<'a> {
    survey: &'a Survey,
    target: Target,
    writer: Option<Writer>,
    current: Option<Current>,
    done: Restored,
    options: &'a RestoreOptions,
}

impl Restore<'_> {
    fn run(mut self, locked: &LockedFolder<'_>, path: &Path, watch: &dyn Watch) -> Result<Restored> {
        let mut last = None;
        let reading = read(path, &mut |item| match item {
            Item::File(file) => {
                // A file that continues after damage.
                if last.replace(file.key()) == Some(file.key()) {
                    return Ok(());
                }
                self.end_file()?;
                if watch.stopped() {
                    return Err(Error::new(ErrorKind::Interrupted, "interrupted; nothing was restored"));
                }
                self.begin_file(*file, locked)
            }
            Item::Document(document) => self.document(*document),
        })?;
        self.end_file()?;
        if reading.found != self.survey.reading.found {
            let message = format!("{} was changed while it was read", path.display());
            return Err(Error::new(ErrorKind::Other, message).hint("try again; nothing was restored"));
        }
        watch.finishing();
        self.done.problems = reading.damage;
        self.note_lost_files(path);
        if let Some(writer) = self.writer.take() {
            writer.end()?;
        }
        locked.record_losses(&self.done.losses)?;
        // The index itself contains them too; the record matters only if it is damaged.
        let _ = locked.record_forgotten(&self.target.forgotten);
        self.done.remembered.sort();
        self.done.remembered.dedup();
        Ok(self.done)
    }

    /// Decides what to do with a file.
    fn begin_file(&mut self, file: Checkpoint, locked: &LockedFolder<'_>) -> Result<()> {
        let key = file.key();
        let known = self.target.files.get(&key);
        let session = file.session_id().to_string();
        if self.target.forgotten.contains(&session) {
            self.done.left_out += usize::from(!file.forgotten);
            return Ok(());
        }
        if file.forgotten {
            return self.forget(&file, session, locked);
        }
        let in_backup = self.survey.files.get(&key).map_or(0, |entry| entry.counted);
        let is_present = identity(&file).is_some_and(|identity| self.target.present.contains(&identity));
        let is_complete = known.is_some_and(|known| !known.is_gone || known.documents >= in_backup);
        if is_present || is_complete {
            self.done.unchanged += 1;
            return Ok(());
        }
        let replaces = known.is_some();
        let writer = self.writer(locked)?;
        if replaces {
            writer.forget_documents(key)?;
        }
        let checkpoint = file.gone(self.options.now);
        self.current = Some(Current { checkpoint, replaces, counted: 0, batch: Vec::new(), bytes: 0 });
        Ok(())
    }

    /// Keeps a session out of the index, unless the index contains it.
    fn forget(&mut self, file: &Checkpoint, session: String, locked: &LockedFolder<'_>) -> Result<()> {
        if self.target.sessions.contains(&session) {
            self.done.remembered.push(session);
            return Ok(());
        }
        self.writer(locked)?.checkpoint(&file.clone().forgotten(), None, false)?;
        self.done.forgotten += 1;
        self.target.forgotten.insert(session);
        Ok(())
    }

    fn document(&mut self, document: Document) -> Result<()> {
        let (Some(current), Some(writer)) = (&mut self.current, &self.writer) else { return Ok(()) };
        if self.target.forgotten.contains(&document.session) {
            return Ok(());
        }
        current.counted += u64::from(is_counted(&document));
        current.bytes += document.text.len() + document.input.as_ref().map_or(0, String::len) + 1024;
        current.batch.push(document);
        self.done.documents += 1;
        if current.bytes < BATCH {
            return Ok(());
        }
        current.bytes = 0;
        writer.add(current.checkpoint.key(), std::mem::take(&mut current.batch))
    }

    /// Writes the checkpoint of the current file.
    fn end_file(&mut self) -> Result<()> {
        let (Some(current), Some(writer)) = (self.current.take(), &self.writer) else { return Ok(()) };
        writer.add(current.checkpoint.key(), current.batch)?;
        let mut checkpoint = current.checkpoint;
        let expected = checkpoint.state.documents;
        if self.options.partial && current.counted < expected && !self.survey.reading.damage.is_empty() {
            self.done.losses.push(Loss {
                session: checkpoint.session_id().to_string(),
                path: checkpoint.path().to_string_lossy().into_owned(),
                lost: Some(expected - current.counted),
                of: expected,
                when: self.options.now,
            });
            // If the file appears again, it must be read from the start.
            checkpoint = checkpoint.outdated();
        }
        checkpoint.state.documents = current.counted;
        let title = checkpoint.title();
        self.done.files += 1;
        writer.checkpoint(&checkpoint, title, current.replaces)
    }

    /// Notes files that the header counts, but that were not found.
    fn note_lost_files(&mut self, path: &Path) {
        let expected = self.survey.reading.header.as_ref().map(|header| header.files);
        let found = self.survey.files.len() as u64;
        if !self.done.problems.is_empty() && expected.is_none_or(|expected| expected > found) {
            let lost =
                expected.map_or("an unknown number of files is".to_string(), |expected| match expected - found {
                    1 => "1 file is".to_string(),
                    lost => format!("{lost} files are"),
                });
            self.done.problems.push(Problem::with_path(path, format!("{lost} missing entirely")));
        }
    }

    /// Opens the index for writing when it is needed first. A backup without anything new changes nothing.
    fn writer(&mut self, locked: &LockedFolder<'_>) -> Result<&Writer> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => locked.write(RunSize::Large)?,
        };
        Ok(self.writer.insert(writer))
    }
}
