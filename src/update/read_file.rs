//! Reads what is new in one file, and adds its documents and a matching checkpoint to the index.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::document::{Builder, Document, FileState, Place, TEXT_CAP};
use crate::error::{Problem, Result};
use crate::fault;
use crate::index::{Checkpoint, FileKey};
use crate::transcript::discover::{Source, SourceKind, Stat};
use crate::transcript::lines::{Ends, Line, Transcript, read_small};
use crate::transcript::{self, AgentDescription, ParsedRecord};
use crate::update::commit_gate::{CommitGate, OpenBatch};
use crate::update::file_change::{FileChange, Start};
use crate::update::plan::Work;
use crate::update::report::{FileOutcome, Watch};

/// Lines longer than this, in bytes, are turned into documents one at a time.
const HUGE_LINE: usize = 8 << 20;
/// Bytes of lines that are read before their documents are passed to the index.
const FLUSH_BYTES: usize = 1 << 20;
/// Bytes of a file between two checkpoints. A run killed in a huge file continues from the last one.
const BATCH_BYTES: u64 = 32 << 20;
/// Longest description of a subagent that is read, in bytes.
const META_CAP: u64 = 64 << 10;

/// Reads one file. A file that cannot be read is a problem, not an error: only the index itself can fail.
pub(super) fn read_file(work: &Work, gate: &CommitGate<'_>, watch: &dyn Watch) -> Result<FileOutcome> {
    let mut transcript = match Transcript::open(&work.source.path) {
        Ok(transcript) => transcript,
        Err(error) => return Ok(FileOutcome::failed(work, &error)),
    };
    let start = match Start::decide(work, &mut transcript) {
        Ok(start) => start,
        Err(error) => return Ok(FileOutcome::failed(work, &error)),
    };
    let mut reading = FileReading::begin(work, &transcript, start, gate, watch)?;
    if let Some(session) = forgotten_session(work, gate, &mut transcript) {
        return reading.skip_forgotten(session);
    }
    let read = match work.source.kind {
        SourceKind::Spill => reading.spill(&mut transcript)?,
        _ => reading.lines(&mut transcript)?,
    };
    reading.end(read)
}

/// A file while it is read.
struct FileReading<'a> {
    work: &'a Work,
    gate: &'a CommitGate<'a>,
    watch: &'a dyn Watch,
    key: FileKey,
    how: FileChange,
    /// The state of the file when it was opened.
    stat: Stat,
    checkpoint: Checkpoint,
    ends: Ends,
    builder: Builder<'a>,
    /// Set if the index contains a checkpoint of this file already.
    replaces: bool,
    /// The open batch. Its documents are in the index without a checkpoint until the batch ends.
    batch: Option<OpenBatch<'a>>,
    batch_start: u64,
    outcome: FileOutcome,
}

impl<'a> FileReading<'a> {
    fn begin(
        work: &'a Work,
        transcript: &Transcript,
        start: Start,
        gate: &'a CommitGate<'a>,
        watch: &'a dyn Watch,
    ) -> Result<Self> {
        let Start { how, mut checkpoint, ends } = start;
        checkpoint.seen(&work.source, transcript.stat);
        let state = std::mem::take(&mut checkpoint.state);
        let source = &work.source;
        let builder = Builder::new(source.kind, &source.session, source.agent.as_deref(), state)
            .knowing(&gate.agents, gate.forgotten);
        let batch_start = checkpoint.offset;
        let mut reading = Self {
            work,
            gate,
            watch,
            key: checkpoint.key(),
            how,
            stat: transcript.stat,
            checkpoint,
            ends,
            builder,
            replaces: work.before.is_some(),
            batch: Some(gate.enter()),
            batch_start,
            outcome: FileOutcome { how: Some(how), ..FileOutcome::default() },
        };
        reading.delete_old()?;
        reading.describe();
        Ok(reading)
    }

    /// Deletes from the index what this reading replaces.
    fn delete_old(&mut self) -> Result<()> {
        let Some(writer) = self.batch.as_ref().map(OpenBatch::writer) else { return Ok(()) };
        if self.gate.fresh {
            return Ok(());
        }
        match self.how {
            FileChange::Grown | FileChange::SameContents | FileChange::Failed => {}
            // Documents without a checkpoint may exist if the checkpoint was lost.
            FileChange::New | FileChange::Rewritten => {
                writer.forget_documents(self.key)?;
                writer.forget_checkpoint(self.key)?;
            }
            FileChange::Moved => {
                if let Some(old) = self.work.moved_from {
                    writer.forget_documents(old)?;
                    writer.forget_checkpoint(old)?;
                }
            }
        }
        if self.how == FileChange::Rewritten {
            // Parents may have copies of messages that no longer exist here.
            for parent in &self.work.parents {
                let title = parent.title();
                let parent = parent.clone().outdated();
                writer.checkpoint(&parent, title, true)?;
                self.gate.queue_reread(parent);
            }
        }
        Ok(())
    }

    /// Records only that the file belongs to a session that the user removed from the index for good.
    fn skip_forgotten(mut self, session: String) -> Result<FileOutcome> {
        self.checkpoint.state = FileState { session: Some(session), ..FileState::default() };
        if let Some(batch) = self.batch.take() {
            batch.writer().checkpoint(&self.checkpoint.forgotten(), None, self.replaces)?;
        }
        self.gate.leave(0)?;
        Ok(FileOutcome::default())
    }

    /// Reads the description file next to the transcript. It replaces an earlier description.
    fn describe(&mut self) {
        let description = description_of(&self.work.source).transpose().unwrap_or_else(|problem| {
            self.outcome.problems.push(problem);
            None
        });
        self.builder.describe(description.unwrap_or_default());
    }

    /// Reads lines up to the end, or up to a read error.
    fn lines(&mut self, transcript: &mut Transcript) -> Result<io::Result<()>> {
        let watch = self.watch;
        let stop = move || watch.stopped();
        let mut lines =
            match transcript.lines(self.checkpoint.offset, self.checkpoint.checksum, transcript::whole_records) {
                Ok(lines) => lines.stopping(&stop),
                Err(error) => return Ok(Err(error)),
            };
        let mut pending = 0;
        loop {
            let line = match lines.next() {
                Ok(Some(line)) => line,
                Ok(None) => return Ok(Ok(())),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    self.outcome.cut_short = true;
                    return Ok(Ok(()));
                }
                Err(error) => return Ok(Err(error)),
            };
            // Too long to check whether it is complete: it may still be in the middle of being written.
            if !line.terminated && line.oversized {
                return Ok(Ok(()));
            }
            pending += line.bytes.len();
            let turn = (line.bytes.len() > HUGE_LINE).then(|| self.gate.one_huge_line());
            self.take(&line);
            if pending > FLUSH_BYTES {
                pending = 0;
                self.flush_documents()?;
            }
            drop(turn);
            if self.checkpoint.offset - self.batch_start > fault::batch(BATCH_BYTES) {
                self.end_batch(true)?;
            }
            if self.watch.stopped() {
                self.outcome.cut_short = true;
                return Ok(Ok(()));
            }
        }
    }

    /// Passes a line to the builder, and moves the checkpoint past it.
    fn take(&mut self, line: &Line<'_>) {
        // A record that does not end with a newline may be followed by another on the same line.
        let place = Place { offset: line.offset, line: self.checkpoint.lines + 1 };
        self.checkpoint.lines += u64::from(line.terminated);
        if line.oversized {
            self.builder.oversized(place, line.end - line.offset, line.bytes);
        } else if line.offset == 0 && (line.bytes.starts_with(b"\xff\xfe") || line.bytes.starts_with(b"\xfe\xff")) {
            self.reject_utf16(place);
        } else if !self.is_rejected() {
            self.records(place, line.bytes);
        }
        if line.oversized {
            self.ends.push(line.bytes);
        }
        self.ends.push(line.with_newline);
        (self.checkpoint.offset, self.checkpoint.checksum) = (line.end, line.checksum);
        self.watch.read(line.end - line.offset);
    }

    /// Passes the records of a line to the builder. A panic in one of them must not cost the other lines.
    fn records(&mut self, place: Place, bytes: &[u8]) {
        let builder = &mut self.builder;
        let history = self.work.source.kind == SourceKind::History;
        let read = catch_unwind(AssertUnwindSafe(|| {
            fault::line();
            let mut take_record = |at: usize, reading: ParsedRecord<'_>| {
                builder.take(Place { offset: place.offset + at as u64, line: place.line }, reading);
            };
            if history {
                transcript::read_history_line(bytes, &mut take_record);
            } else {
                transcript::read_line(bytes, &mut take_record);
            }
        }));
        if read.is_err() {
            let text = String::from_utf8_lossy(bytes);
            self.builder.take(
                place,
                ParsedRecord::Bad { reason: "unspool failed on this line; please report it".into(), text },
            );
        }
    }

    /// Rejects a file in UTF-16, which has no readable lines. Reports one problem, not one for each line.
    fn reject_utf16(&mut self, place: Place) {
        let reason = "the file is UTF-16, not UTF-8".to_string();
        self.builder.take(place, ParsedRecord::Bad { reason, text: "".into() });
        self.builder.state.skipped_types.insert(UTF16.to_string(), 1);
    }

    /// Reports whether the file was rejected because of its encoding.
    fn is_rejected(&self) -> bool {
        self.builder.state.skipped_types.contains_key(UTF16)
    }

    /// Reads a spilled tool output in parts.
    fn spill(&mut self, transcript: &mut Transcript) -> Result<io::Result<()>> {
        let mut part = 0;
        loop {
            let bytes = match transcript.read_up_to(self.checkpoint.offset, TEXT_CAP) {
                Ok(bytes) if bytes.is_empty() => return Ok(Ok(())),
                Ok(bytes) => bytes,
                Err(error) => return Ok(Err(error)),
            };
            let is_binary = part == 0 && memchr::memchr(0, &bytes[..bytes.len().min(8192)]).is_some();
            let length = if is_binary { bytes.len() } else { whole_chars(&bytes) };
            if is_binary {
                let size = transcript.stat.size;
                self.builder.spilled(0, 0, &format!("[binary output, {size} bytes]"));
                self.ends.push(&bytes);
                self.checkpoint.offset = size;
            } else {
                self.builder.spilled(self.checkpoint.offset, part, &String::from_utf8_lossy(&bytes[..length]));
                self.ends.push(&bytes[..length]);
                self.checkpoint.offset += length as u64;
            }
            part += 1;
            self.watch.read(length as u64);
            self.flush_documents()?;
            if self.watch.stopped() && self.checkpoint.offset < transcript.stat.size {
                self.outcome.cut_short = true;
                return Ok(Ok(()));
            }
        }
    }

    /// Passes the documents built so far to the index.
    fn flush_documents(&mut self) -> Result<()> {
        let documents = self.builder.documents();
        self.forget_seen(&documents)?;
        self.outcome.documents += documents.len() as u64;
        self.outcome.text_bytes += documents.iter().map(|document| document.text.len() as u64).sum::<u64>();
        self.watch.documents(documents.len() as u64);
        match &self.batch {
            Some(batch) if !documents.is_empty() => batch.writer().add(self.key, documents),
            _ => Ok(()),
        }
    }

    /// Deletes copies of a subagent's messages in parents' transcripts that this transcript, its own, now contains.
    fn forget_seen(&self, documents: &[Document]) -> Result<()> {
        let (Some(batch), Some(agent)) = (&self.batch, &self.work.source.agent) else { return Ok(()) };
        if self.gate.fresh || !(self.work.may_have_copies || self.gate.agents.lacked_message(agent)) {
            return Ok(());
        }
        let own = documents.iter().filter(|document| document.seen_via_agent.is_none());
        let mut messages: Vec<_> =
            own.filter_map(|document| Some((&document.session, document.uuid.as_ref()?))).collect();
        messages.dedup();
        messages.into_iter().try_for_each(|(session, uuid)| batch.writer().forget_seen(session, agent, uuid))
    }

    /// Ends a batch: adds the documents read, together with their checkpoint. After that, other threads may commit.
    fn end_batch(&mut self, continues: bool) -> Result<()> {
        self.flush_documents()?;
        (self.checkpoint.head, self.checkpoint.tail) = self.ends.fingerprint();
        self.checkpoint.state.clone_from(&self.builder.state);
        if continues {
            // If the run is killed now, the next one must not consider the file complete.
            self.checkpoint.forget_stat();
        }
        if let Some(batch) = self.batch.take() {
            batch.writer().checkpoint(&self.checkpoint, self.builder.title(), self.replaces)?;
        }
        self.checkpoint.state = FileState::default();
        self.replaces = true;
        self.gate.leave(self.checkpoint.offset - self.batch_start)?;
        self.batch_start = self.checkpoint.offset;
        if continues {
            self.checkpoint.seen(&self.work.source, self.stat);
            self.batch = Some(self.gate.enter());
        }
        Ok(())
    }

    /// Ends the last batch, and returns the outcome.
    fn end(mut self, read: io::Result<()>) -> Result<FileOutcome> {
        if read.is_err() || self.outcome.cut_short {
            // What was read is in the index. The next run reads the rest, so it must not consider the file unchanged.
            self.checkpoint.forget_stat();
        }
        if let Err(error) = read {
            self.outcome.how = Some(FileChange::Failed);
            let reason = if error.kind() == io::ErrorKind::UnexpectedEof {
                "changed while being read; the next run reads it again".into()
            } else {
                error.to_string()
            };
            self.outcome.problems.push(Problem::with_path(&self.work.source.path, reason));
        }
        let state = &self.builder.state;
        let before = self
            .work
            .before
            .as_ref()
            .filter(|_| matches!(self.how, FileChange::Grown | FileChange::SameContents))
            .map(|before| &before.state);
        // The session title is a document too.
        let has_title = |state: &FileState| u64::from(state.title().is_some());
        self.outcome.documents += has_title(state).saturating_sub(before.map_or(0, has_title));
        self.outcome.bad = state.bad - before.map_or(0, |before| before.bad);
        self.outcome.oversized = state.oversized - before.map_or(0, |before| before.oversized);
        self.outcome.unknown = state.unknown - before.map_or(0, |before| before.unknown);
        self.end_batch(false)?;
        Ok(self.outcome)
    }
}

/// Returns the session of a file if the user removed that session from the index for good. For a subagent's transcript
/// that lies in the folder of its project, only the lines name the session.
fn forgotten_session(work: &Work, gate: &CommitGate<'_>, transcript: &mut Transcript) -> Option<String> {
    let source = &work.source;
    if gate.forgotten.is_empty() || source.kind != SourceKind::Agent || !source.session.is_empty() {
        return None;
    }
    let mut builder = Builder::new(source.kind, "", source.agent.as_deref(), FileState::default());
    let mut lines = transcript.lines(0, 0, transcript::whole_records).ok()?;
    while builder.state.session.is_none() {
        let line = lines.next().ok()??;
        transcript::read_line(line.bytes, &mut |_, reading| builder.take(Place { offset: 0, line: 0 }, reading));
        drop(builder.documents());
    }
    builder.state.session.filter(|session| gate.forgotten.contains(session))
}

/// Reads the description file next to a subagent's transcript, if there is one.
pub(super) fn description_of(source: &Source) -> Option<std::result::Result<AgentDescription, Problem>> {
    let (path, _) = source.meta.as_ref()?;
    Some(match read_small(path, META_CAP).map(|bytes| transcript::read_agent_meta(&bytes)) {
        Ok(Some(description)) => Ok(description),
        Ok(None) => Err(Problem::with_path(path, "not a subagent description")),
        Err(error) => Err(Problem::with_path(path, error.to_string())),
    })
}

/// Key in the counts of skipped line types that marks a file in UTF-16.
const UTF16: &str = "utf-16";

/// Returns the length of the bytes without an incomplete character at the end.
fn whole_chars(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(4);
    match std::str::from_utf8(&bytes[tail..]) {
        Err(error) if error.error_len().is_none() && tail + error.valid_up_to() > 0 => tail + error.valid_up_to(),
        _ => bytes.len(),
    }
}
