//! Plans a run: finds the files that are new, changed, moved or gone, from file metadata and checkpoints.
//!
//! The `file_change` module later decides whether a changed file was appended to or rewritten.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use crate::error::{Problem, Result};
use crate::index::{Checkpoint, FileKey, Reader};
use crate::transcript::discover::{Root, Scan, Source, SourceKind};
use crate::transcript::lines::Transcript;
use crate::update::gone_files::{gone_files, vanished};

/// A file to be read.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) source: Source,
    /// The checkpoint of the last time it was read. Boxed: in a first run no file has one, and there may be a hundred
    /// thousand files.
    pub(super) before: Option<Box<Checkpoint>>,
    /// The key under which it was read before, if it was renamed.
    pub(super) moved_from: Option<FileKey>,
    /// For a subagent's transcript: set if the index may contain copies of its messages from parents' transcripts.
    pub(super) may_have_copies: bool,
    /// For a subagent's transcript that was read before: other transcripts that contain messages of the subagent.
    /// Messages that were in its own transcript are left out of them.
    pub(super) parents: Vec<Checkpoint>,
}

/// The files that a run must handle.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Files to be read, those with most bytes to read first.
    pub(super) work: Vec<Work>,
    /// Files that no longer exist.
    pub(super) gone: Vec<Checkpoint>,
    /// Number of unchanged files.
    pub(super) unchanged: usize,
    /// Problems found while planning.
    pub(super) problems: Vec<Problem>,
    /// Sessions that the user removed from the index for good.
    pub(super) forgotten: HashSet<String>,
    /// Set if the index must be checked: the last run did not finish, or the damage flag is set.
    pub(super) suspect: bool,
    /// Set if a run that failed or was killed has left files in the index folder.
    pub(super) has_leftovers: bool,
}

impl Work {
    pub(super) fn new(source: &Source, before: Option<Checkpoint>) -> Self {
        let before = before.map(Box::new);
        Self { source: source.clone(), before, moved_from: None, may_have_copies: false, parents: Vec::new() }
    }

    /// Returns the number of bytes to read, as far as it is known without opening the file.
    pub(super) fn bytes(&self) -> u64 {
        let read = self.before.as_ref().filter(|before| !before.is_outdated()).map_or(0, |before| before.offset);
        self.source.stat.size.checked_sub(read).unwrap_or(self.source.stat.size)
    }
}

impl Plan {
    /// Plans to read everything, as if nothing had ever been read.
    pub(super) fn from_scratch(scan: &Scan, forgotten: &HashSet<String>) -> Self {
        let wanted = scan.sources.iter().filter(|source| !forgotten.contains(&source.session));
        let work = wanted.map(|source| Work::new(source, None)).collect();
        Self { work, forgotten: forgotten.clone(), ..Self::default() }.ordered()
    }

    /// Plans to read everything that has changed since the last run.
    pub(super) fn since(reader: &Reader, scan: &Scan, roots: &[Root], confirm: bool) -> Result<Self> {
        let known = reader.known()?;
        let mut plan = Self { forgotten: reader.forgotten_sessions()?, ..Self::default() };
        for source in &scan.sources {
            if known.is_current(source) || plan.forgotten.contains(&source.session) {
                plan.unchanged += 1;
            } else {
                plan.work.push(Work::new(source, reader.checkpoint(FileKey::of(&source.path))?));
            }
        }
        plan.find_parents(reader)?;
        let mut vanished = vanished(reader, &known, scan)?;
        let reassigned = plan.find_moved(&mut vanished);
        let (gone, problems) = gone_files(vanished, &known, scan, roots, confirm);
        plan.gone = gone;
        plan.problems.extend(problems);
        plan.read_parents_of_gone(&reassigned, reader, scan)?;
        // Asked last, because planning may have found damage.
        plan.suspect = reader.is_suspect();
        Ok(plan.ordered())
    }

    /// Plans to read changes in the named files, and in other files of their sessions. `None` if one of them is not
    /// indexed yet or no longer exists, or if the index must be checked: then a full run has to look at everything.
    pub(super) fn for_named(reader: &Reader, scan: &Scan, named: &[PathBuf]) -> Result<Option<Self>> {
        if reader.is_suspect() || named.iter().any(|path| scan.sources.iter().all(|source| source.path != *path)) {
            return Ok(None);
        }
        let mut plan = Self { forgotten: reader.forgotten_sessions()?, ..Self::default() };
        for source in scan.sources.iter().filter(|source| belongs_to(source, named)) {
            let before = reader.checkpoint(FileKey::of(&source.path))?;
            let Some(before) = before.filter(|before| before.gone_since.is_none()) else { return Ok(None) };
            if plan.forgotten.contains(&source.session) || before.is_as(source) {
                plan.unchanged += 1;
            } else {
                plan.work.push(Work::new(source, Some(before)));
            }
        }
        if plan.has_agents_elsewhere(reader, scan)? {
            return Ok(None);
        }
        plan.find_parents(reader)?;
        Ok(Some(plan.ordered()))
    }

    /// Reports whether any session in the plan has a subagent whose transcript this scan did not cover.
    fn has_agents_elsewhere(&self, reader: &Reader, scan: &Scan) -> Result<bool> {
        let sessions: HashSet<&str> = self.work.iter().map(|work| work.source.session.as_str()).collect();
        let scanned: HashSet<FileKey> = scan.sources.iter().map(|source| FileKey::of(&source.path)).collect();
        for session in sessions {
            let files = reader.files_of_session(session)?;
            let is_elsewhere = |file: &Checkpoint| file.gone_since.is_none() && !scanned.contains(&file.key());
            if files.iter().any(|file| file.agent_id().is_some() && is_elsewhere(file)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reports whether there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.work.is_empty() && self.gone.is_empty()
    }

    /// Returns the number of bytes to read.
    pub(super) fn bytes(&self) -> u64 {
        self.work.iter().map(Work::bytes).sum()
    }

    /// Sorts the largest files first, so that no thread is left with a large one at the end.
    fn ordered(mut self) -> Self {
        self.work.sort_by(|a, b| b.bytes().cmp(&a.bytes()).then_with(|| a.source.path.cmp(&b.source.path)));
        self
    }

    /// For each subagent's transcript in the plan, looks up its parents, and whether the index has copies of its
    /// messages.
    fn find_parents(&mut self, reader: &Reader) -> Result<()> {
        let is_known = |work: &&mut Work| !work.before.as_ref().is_some_and(|before| before.is_outdated());
        let agents: Vec<_> =
            self.work.iter_mut().filter(|work| work.source.kind == SourceKind::Agent).filter(is_known).collect();
        if agents.is_empty() {
            return Ok(());
        }
        for work in agents {
            let agent = work.source.agent.as_deref().unwrap_or_default();
            work.may_have_copies = reader.has_seen(agent)?;
            if let Some(before) = &work.before {
                work.parents = parents_of(before, agent, reader)?;
            }
        }
        Ok(())
    }

    /// Plans to read again the transcripts that contain copies of a subagent's messages, if its own transcript is gone
    /// or now belongs to another session or subagent (`reassigned`). While its own transcript was there, the copies
    /// were left out.
    fn read_parents_of_gone(&mut self, reassigned: &[Checkpoint], reader: &Reader, scan: &Scan) -> Result<()> {
        let agents: Vec<_> =
            self.gone.iter().chain(reassigned).filter_map(|file| Some((file, file.agent_id()?))).collect();
        if agents.is_empty() {
            return Ok(());
        }
        let mut parents = BTreeMap::new();
        for (file, agent) in agents {
            parents.extend(parents_of(file, agent, reader)?.into_iter().map(|parent| (parent.path(), parent)));
        }
        for source in scan.sources.iter().filter(|_| !parents.is_empty()) {
            let Some(parent) = parents.get(&source.path) else { continue };
            let planned = self.work.len();
            self.work.retain(|work| work.source.path != source.path);
            // A parent that was not planned was counted as unchanged.
            self.unchanged -= usize::from(self.work.len() == planned);
            self.work.push(Work::new(source, Some(parent.clone().outdated())));
        }
        Ok(())
    }

    /// Finds files that were read before under another name. Returns the old checkpoints of those that belonged to
    /// another session or subagent then.
    fn find_moved(&mut self, vanished: &mut Vec<Checkpoint>) -> Vec<Checkpoint> {
        let mut reassigned = Vec::new();
        for work in self.work.iter_mut().filter(|work| work.before.is_none()) {
            if vanished.is_empty() {
                break;
            }
            if let Some(at) = vanished.iter().position(|before| is_same_file(before, &work.source)) {
                let before = vanished.swap_remove(at);
                work.moved_from = Some(before.key());
                if (before.session_id(), before.agent_id()) != (&work.source.session, work.source.agent.as_deref()) {
                    reassigned.push(before);
                }
            }
        }
        reassigned
    }
}

/// Returns the other transcripts that contain messages of a subagent.
fn parents_of(file: &Checkpoint, agent: &str, reader: &Reader) -> Result<Vec<Checkpoint>> {
    let mut parents = reader.files_with_messages_of(file.session_id(), agent)?;
    parents.retain(|parent| !parent.forgotten && parent.gone_since.is_none() && parent.key() != file.key());
    Ok(parents)
}

/// Reports whether a file is one of `named`, or lies in the folder of one of these sessions.
fn belongs_to(source: &Source, named: &[PathBuf]) -> bool {
    named.iter().any(|path| source.path == *path || source.path.starts_with(path.with_extension("")))
}

/// Reports whether a file that was read before is this one under a new name: both ends of what was read must match.
pub(super) fn is_same_file(before: &Checkpoint, source: &Source) -> bool {
    if !before.may_be(source) || source.kind == SourceKind::Spill {
        return false;
    }
    let ends = Transcript::open(&source.path).and_then(|mut transcript| transcript.ends(before.offset));
    ends.is_ok_and(|mut ends| ends.fingerprint() == (before.head, before.tail)) && before.offset > 0
}
