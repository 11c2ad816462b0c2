//! Collects everything recorded about the contents of one file, in order: from the index, from the transcripts that
//! still exist, and from Claude Code's own backups.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::archive::history::path::{PathPattern, identity};
use crate::archive::history::replay::{Change, Known, Part, Step};
use crate::archive::history::tool_calls::{self, CHANGE_NOTE, FileTouch, ToolCall};
use crate::archive::history::unrecorded_changes::{self, Suspect, Suspicion};
use crate::archive::history::{FileAction, Scope};
use crate::archive::session_info::Lookup;
use crate::document::{Document, FileEffect, Kind};
use crate::error::Result;
use crate::index::{About, FileKey, Reader, Spelling};
use crate::transcript::lines::{Transcript, read_small};
use crate::transcript::{
    Call, Edit, Record, Trace, numbered_lines, read_changed_lines, read_record, read_saved_copies, text_fingerprint,
};

/// Maximum number of renames and copies that a file is followed back through.
const NAMES: usize = 8;
/// A read result with this many lines may have been cut, unless its record gives the length of the file.
const CUT_LINES: u64 = 2000;
/// A file with more lines than this is not assembled from partial reads.
const LINES: u64 = 2_000_000;
/// The read tool cuts lines at this length.
const CUT_LINE: usize = 2000;
/// Maximum size of a backup, in bytes. Larger ones are not read.
const BACKUP_CAP: u64 = 64 << 20;
/// Maximum number of backups of a file in one session.
const BACKUPS: usize = 200;

/// Everything recorded about the contents of a file.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    /// The steps, in order.
    pub(super) steps: Vec<Step>,
    /// The origin of each step.
    pub(super) origins: Vec<Origin>,
}

/// The place where a step is recorded.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// A tool call in a transcript.
    ToolCall(Box<(ToolCall, FileTouch)>),
    /// A backup made by a session.
    Backup {
        /// The session.
        session: String,
    },
    /// Something that may have changed the file.
    Suspect(Suspect),
}

impl Origin {
    /// Returns the session.
    pub(super) fn session(&self) -> &str {
        match self {
            Self::ToolCall(tool_call) => &tool_call.0.call.session,
            Self::Backup { session } => session,
            Self::Suspect(suspect) => &suspect.session,
        }
    }
}

impl Timeline {
    /// Collects the steps of a file.
    pub(super) fn of(reader: &Reader, path: &str) -> Result<Self> {
        let mut collector = StepCollector::new(reader);
        let mut timeline = Self::default();
        for (step, origin) in collector.steps(path, i64::MAX, NAMES)? {
            timeline.steps.push(step);
            timeline.origins.push(origin);
        }
        Ok(timeline)
    }
}

type Recorded = (Step, Origin);

/// Collects the steps of files. Opens each transcript only once.
pub(super) struct StepCollector<'r> {
    reader: &'r Reader,
    known: Lookup<'r>,
    open: HashMap<FileKey, Option<Transcript>>,
}

impl<'r> StepCollector<'r> {
    pub(super) fn new(reader: &'r Reader) -> Self {
        Self { reader, known: Lookup::new(reader), open: HashMap::new() }
    }

    /// Returns the steps of a file up to a time. Follows it back through up to `names` renames and copies.
    fn steps(&mut self, path: &str, until: i64, names: usize) -> Result<Vec<Recorded>> {
        let pattern = PathPattern::Whole(vec![path.to_string()]);
        let scope = Scope { reads: true, ..Scope::default() };
        let (tool_calls, mut touches) = tool_calls::find(self.reader, &pattern, scope, None)?;
        touches.retain(|touch| {
            let tool_call = &tool_calls[touch.tool_call];
            identity(&touch.path) == identity(path)
                && tool_call.happened() == Some(true)
                && precedes(touch, tool_call.time().unwrap_or_default(), until)
        });
        touches.sort_by_key(|touch| {
            (tool_calls[touch.tool_call].time(), tool_calls[touch.tool_call].key, tool_calls[touch.tool_call].call.line)
        });
        let mut found = self.backups(path, &tool_calls, &touches)?;
        found.extend(self.suspects(path, &tool_calls, &touches)?);
        found.retain(|(step, _)| step.time <= until);
        found.sort_by_key(|(step, _)| step.time);
        let mut recorded: Vec<Recorded> = Vec::new();
        let mut backups = found.into_iter().peekable();
        for touch in touches {
            let tool_call = tool_calls[touch.tool_call].clone();
            let time = tool_call.time().unwrap_or_default();
            while let Some(backup) = backups.next_if(|(step, _)| step.time < time) {
                recorded.push(backup);
            }
            let step = self.step(&tool_call, &touch, time)?;
            if is_note(&tool_call.call) {
                // The lines that the note shows are certain, so it must come first.
                let session = tool_call.call.session.clone();
                recorded.push(possible(Suspect { time, session, what: Suspicion::Noticed }));
            }
            let origin = Origin::ToolCall(Box::new((tool_call, touch.clone())));
            match &touch.effect {
                Some(FileEffect::RenameFrom { from } | FileEffect::Copy { from }) => {
                    // The steps of the other file come between a reset and a take, so that they end in this file.
                    recorded.push((Step { time, change: Some(Change::Reset), ..Step::default() }, origin.clone()));
                    let others = if names > 0 { self.steps(from, time, names - 1)? } else { Vec::new() };
                    recorded.extend(others.into_iter().map(|(step, origin)| (Step { of_other: true, ..step }, origin)));
                    recorded.push((Step { time, change: Some(Change::Take), ..Step::default() }, origin));
                }
                _ => recorded.extend(step.map(|step| (step, origin))),
            }
        }
        recorded.extend(backups);
        Ok(recorded)
    }

    /// Returns what a call shows about the contents of a file.
    fn step(&mut self, tool_call: &ToolCall, touch: &FileTouch, time: i64) -> Result<Option<Step>> {
        let step = Step { time, ..Step::default() };
        if let Some(effect) = &touch.effect {
            return Ok(Some(Step { change: Some(change_of(effect)), ..step }));
        }
        if is_note(&tool_call.call) {
            let line = self.line(tool_call.key, tool_call.call.offset)?;
            let parts = line.map(|line| parts_of(read_changed_lines(&line))).unwrap_or_default();
            return Ok(Some(Step { parts, ..step }));
        }
        let Some((key, result)) = &tool_call.result else { return Ok(None) };
        let trace = result.trace.clone().unwrap_or_default();
        Ok(match &tool_call.asked {
            Call::Read { part } => self.reading(*key, result, &trace, *part)?.map(|known| Step { time, ..known }),
            Call::Write(contents) => {
                let record = self.record(*key, result)?;
                let written = record.as_ref().and_then(|record| record.contents.clone());
                let after = written.is_none().then_some(trace.contents).flatten().map(Known::Print);
                let change = Some(Change::Write(written.unwrap_or_else(|| contents.clone())));
                Some(Step { before: before(record.as_ref(), &trace), change, after, ..step })
            }
            Call::Edits(edits) => {
                let record = self.record(*key, result)?;
                let change = Some(Change::Edits(as_recorded(edits, record.as_ref())));
                let hunks = record.as_ref().map(|record| record.patch.clone()).unwrap_or_default();
                Some(Step { before: before(record.as_ref(), &trace), change, hunks, ..step })
            }
            Call::Change => {
                let record = self.record(*key, result)?;
                let contents = record.as_ref().and_then(|record| record.contents.clone());
                let change = Some(contents.map_or(Change::Unknown, Change::Write));
                Some(Step { before: before(record.as_ref(), &trace), change, ..step })
            }
            Call::Delete => Some(Step { change: Some(Change::Delete), ..step }),
            Call::Rename { .. } | Call::Command(_) | Call::Other => None,
        })
    }

    /// Returns what a read shows: the whole file, or a part of it.
    fn reading(&mut self, key: FileKey, result: &Document, trace: &Trace, part: bool) -> Result<Option<Step>> {
        let Some([start, count, total]) = trace.lines.filter(|[_, _, total]| *total <= LINES) else { return Ok(None) };
        let from_index = trace.contents.and_then(|print| verified_text(&result.text, print));
        let text = match from_index {
            Some(text) => Some(text),
            None => self.record(key, result)?.and_then(|record| record.contents),
        };
        let Some(text) = text else { return Ok(None) };
        let may_be_cut = part || count >= CUT_LINES || text.lines().any(|line| line.len() >= CUT_LINE);
        let is_whole = start <= 1 && if total > 0 { count == total } else { !may_be_cut };
        if is_whole {
            return Ok(Some(Step { before: Some(Known::Contents(text)), ..Step::default() }));
        }
        let number = |number: u64| usize::try_from(number).unwrap_or_default();
        let part = Part { start: number(start), total: number(total), text };
        Ok(Some(Step { parts: vec![part], ..Step::default() }))
    }

    /// Returns what may have changed a file since the first record of it.
    fn suspects(&mut self, path: &str, tool_calls: &[ToolCall], touches: &[FileTouch]) -> Result<Vec<Recorded>> {
        let first = touches.iter().filter_map(|touch| tool_calls[touch.tool_call].time()).min();
        let Some(first) = first else { return Ok(Vec::new()) };
        let mut found: Vec<Recorded> =
            unrecorded_changes::commands(self.reader, path, first)?.into_iter().map(possible).collect();
        found.extend(unrecorded_changes::rewinds(self.reader, tool_calls, touches)?.into_iter().map(possible));
        for (note, text) in unrecorded_changes::reminders(self.reader, path)? {
            let shown = Step { time: note.time, parts: parts_of(numbered_lines(&text)), ..Step::default() };
            found.extend([possible(note.clone()), (shown, Origin::Suspect(note))]);
        }
        Ok(found)
    }

    /// Returns the record stored with a result, if its transcript still exists.
    pub(super) fn record(&mut self, key: FileKey, result: &Document) -> Result<Option<Record>> {
        let record = self.line(key, result.offset)?.and_then(|line| read_record(&line));
        Ok(record.filter(|record| result.uuid.as_deref().is_none_or(|uuid| record.uuid == uuid)))
    }

    /// Returns the line at `offset` of a transcript, if that still exists.
    fn line(&mut self, key: FileKey, offset: u64) -> Result<Option<Vec<u8>>> {
        if !self.open.contains_key(&key) {
            let path = self.known.file(key)?.filter(|file| file.gone_since.is_none()).map(|file| file.path());
            self.open.insert(key, path.and_then(|path| Transcript::open(&path).ok()));
        }
        let Some(Some(transcript)) = self.open.get_mut(&key) else { return Ok(None) };
        let Ok(mut lines) = transcript.lines(offset, 0, <[u8]>::len) else { return Ok(None) };
        Ok(lines.next().ok().flatten().filter(|line| !line.oversized).map(|line| line.bytes.to_vec()))
    }

    /// Returns the backups that Claude Code made of a file before it changed it, sorted by time.
    fn backups(&mut self, path: &str, tool_calls: &[ToolCall], touches: &[FileTouch]) -> Result<Vec<Recorded>> {
        let mut sessions = BTreeSet::new();
        for touch in touches
            .iter()
            .filter(|touch| !touch.inferred && !matches!(touch.what, FileAction::Read | FileAction::Mention))
        {
            let tool_call = &tool_calls[touch.tool_call];
            let Some(root) = self.known.file(tool_call.key)?.and_then(|file| root_of(&file.path())) else { continue };
            let named = std::iter::once(&tool_call.call.session).chain(&tool_call.also_in);
            sessions.extend(named.map(|session| (root.clone(), session.clone())));
        }
        let mut found = Vec::new();
        let mut times = None;
        for (root, session) in sessions {
            for name in spellings(path).iter().map(|spelling| backup_name(spelling)) {
                for number in 1..=BACKUPS {
                    let file = root.join("file-history").join(&session).join(format!("{name}@v{number}"));
                    // Only the first backup may be missing. Any later gap is the end.
                    let Ok(bytes) = read_small(&file, BACKUP_CAP) else { if number > 1 { break } else { continue } };
                    if times.is_none() {
                        times = Some(self.backup_times(path)?);
                    }
                    let known =
                        times.as_ref().and_then(|times| times.get(&(session.clone(), format!("{name}@v{number}"))));
                    let Some(time) = known.copied().or_else(|| modified(&file)) else { continue };
                    let Ok(contents) = String::from_utf8(bytes) else { continue };
                    let step = Step { time, before: Some(Known::Contents(contents)), ..Step::default() };
                    found.push((step, Origin::Backup { session: session.clone() }));
                }
            }
        }
        found.sort_by_key(|(step, _)| step.time);
        Ok(found)
    }

    /// Returns the times of backups, by session and name, as recorded in the transcripts.
    fn backup_times(&mut self, path: &str) -> Result<HashMap<(String, String), i64>> {
        let spellings = [Spelling::Exact(path.to_lowercase())];
        let about = About { spellings: &spellings, kinds: &[Kind::Snapshot], ..About::default() };
        let mut times = HashMap::new();
        for (key, document) in self.reader.about(&about)? {
            let Some(line) = self.line(key, document.offset)? else { continue };
            for backup in read_saved_copies(&line) {
                if let (Some(name), Some(time)) = (backup.name, backup.time) {
                    times.entry((document.session.clone(), name)).or_insert(time);
                }
            }
        }
        Ok(times)
    }
}

/// Reports whether a document is a note of Claude Code that a file was changed.
fn is_note(document: &Document) -> bool {
    document.kind == Kind::Attachment && document.tool.as_deref() == Some(CHANGE_NOTE)
}

/// Returns the step of something that may have changed a file.
fn possible(suspect: Suspect) -> Recorded {
    (Step { time: suspect.time, change: Some(Change::Possible), ..Step::default() }, Origin::Suspect(suspect))
}

fn parts_of(runs: Vec<(usize, String)>) -> Vec<Part> {
    runs.into_iter().map(|(start, text)| Part { start, total: 0, text }).collect()
}

/// Reports whether a touch came before the file was renamed or copied at `until`. One command may change a file and
/// then rename it, so other touches at the same time count too.
fn precedes(touch: &FileTouch, time: i64, until: i64) -> bool {
    let removes = matches!(touch.effect, Some(FileEffect::RenameTo { .. } | FileEffect::Delete));
    time < until || (time == until && !removes)
}

/// Returns the change that a command makes to the contents of a file.
fn change_of(effect: &FileEffect) -> Change {
    match effect {
        FileEffect::Write(Some(text)) => Change::Write(text.clone()),
        FileEffect::Append(Some(text)) => Change::Append(text.clone()),
        FileEffect::Write(None) => Change::Lost,
        FileEffect::Append(None) | FileEffect::Change | FileEffect::Restore => Change::Unknown,
        FileEffect::Delete | FileEffect::RenameTo { .. } => Change::Delete,
        FileEffect::RenameFrom { .. } | FileEffect::Copy { .. } => Change::Take,
    }
}

/// Returns what is known of the contents before a change: the contents themselves, or else their hash.
fn before(record: Option<&Record>, trace: &Trace) -> Option<Known> {
    let recorded = record.and_then(|record| record.before.clone()).map(Known::Contents);
    recorded.or_else(|| trace.before.map(Known::Print))
}

/// Returns the edits as they were applied. A recorded edit takes precedence over the arguments of the call.
fn as_recorded(edits: &[Edit], record: Option<&Record>) -> Vec<Edit> {
    match (edits, record.and_then(|record| record.replaced.clone())) {
        ([edit], Some((old, new))) => vec![Edit { old, new, all: edit.all }],
        _ => edits.to_vec(),
    }
}

/// Returns the text of a file as the index has it, if its hash matches. A reminder that was removed after it may have
/// left a newline.
fn verified_text(text: &str, print: u64) -> Option<String> {
    let candidates = [Some(text), text.strip_suffix('\n')];
    candidates.into_iter().flatten().find(|text| text_fingerprint(text) == print).map(str::to_string)
}

/// Returns the folder that contains `projects` and `file-history`.
fn root_of(transcript: &Path) -> Option<PathBuf> {
    let projects = transcript.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "projects"))?;
    projects.parent().map(Path::to_path_buf)
}

/// Returns the spellings under which a file may have been backed up.
fn spellings(path: &str) -> Vec<String> {
    let mut spellings = vec![path.to_string()];
    if crate::archive::history::path::folds_case(path) {
        let upper = format!("{}{}", path[..1].to_uppercase(), &path[1..]);
        spellings.extend([path.replace('/', "\\"), upper.replace('/', "\\"), upper]);
    }
    spellings
}

/// Returns the name of a file's backups, without their number.
fn backup_name(path: &str) -> String {
    let digest = Sha256::digest(path.as_bytes());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the modification time of a file, in milliseconds since 1970.
fn modified(path: &Path) -> Option<i64> {
    let time = fs_err::metadata(path).ok()?.modified().ok()?;
    let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backups_are_named_after_the_path() {
        assert_eq!(backup_name("/home/u/x.rs").len(), 16);
        assert_eq!(spellings("d:/w/x.cs"), ["d:/w/x.cs", "d:\\w\\x.cs", "D:\\w\\x.cs", "D:/w/x.cs"]);
    }

    #[test]
    fn text_from_the_index_must_match_its_hash() {
        assert_eq!(verified_text("a\n", text_fingerprint("a\n")).as_deref(), Some("a\n"));
        assert_eq!(verified_text("a\n\n", text_fingerprint("a\n")).as_deref(), Some("a\n"));
        assert_eq!(verified_text("a", text_fingerprint("b")), None);
    }
}
