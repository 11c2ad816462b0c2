//! What is to be done: which files are new, grown, changed, moved or gone. Looks at stats and checkpoints only.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use crate::error::{Problem, Result};
use crate::index::{Checkpoint, FileKey, Known, Reader};
use crate::transcript::discover::{Root, Scan, Source, SourceKind};
use crate::transcript::lines::Transcript;

/// A file to be read.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) source: Source,
    /// What was read of it before. Boxed: most files of a first run have none, and there may be a hundred thousand.
    pub(super) before: Option<Box<Checkpoint>>,
    /// The name under which it was read before, if it has a new one.
    pub(super) moved_from: Option<FileKey>,
    /// Of a subagent's transcript: whether something that a parent saw of it may be in the index.
    pub(super) was_seen: bool,
    /// Of a subagent's transcript that was read before: those that have seen something of it, and left out what it has.
    pub(super) parents: Vec<Checkpoint>,
}

/// What is to be done.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The files to be read, those with most to read first.
    pub(super) work: Vec<Work>,
    /// Files that are there no more.
    pub(super) gone: Vec<Checkpoint>,
    /// Files that are as they were.
    pub(super) unchanged: usize,
    /// What stands in the way.
    pub(super) problems: Vec<Problem>,
    /// Sessions the user wants nothing of.
    pub(super) forgotten: HashSet<String>,
    /// Whether the index has to be checked: the last run did not come to its end, or somebody has met damage.
    pub(super) suspect: bool,
    /// Whether a run that failed or was killed has left files in the index.
    pub(super) litter: bool,
}

impl Work {
    pub(super) fn new(source: &Source, before: Option<Checkpoint>) -> Self {
        let before = before.map(Box::new);
        Self { source: source.clone(), before, moved_from: None, was_seen: false, parents: Vec::new() }
    }

    /// How much there is to read, as far as can be told without opening the file.
    pub(super) fn bytes(&self) -> u64 {
        let read = self.before.as_ref().filter(|before| !before.is_outdated()).map_or(0, |before| before.offset);
        self.source.stat.size.checked_sub(read).unwrap_or(self.source.stat.size)
    }
}

impl Plan {
    /// Plans for everything, as if nothing had ever been read.
    pub(super) fn from_scratch(scan: &Scan, forgotten: &HashSet<String>) -> Self {
        let wanted = scan.sources.iter().filter(|source| !forgotten.contains(&source.session));
        let work = wanted.map(|source| Work::new(source, None)).collect();
        Self { work, forgotten: forgotten.clone(), ..Self::default() }.ordered()
    }

    /// Plans for what has changed since.
    pub(super) fn since(reader: &Reader, scan: &Scan, roots: &[Root], confirm: bool) -> Result<Self> {
        let known = reader.known()?;
        let mut plan =
            Self { forgotten: reader.forgotten_sessions()?, suspect: reader.is_suspect(), ..Self::default() };
        for source in &scan.sources {
            if known.is_current(source) || plan.forgotten.contains(&source.session) {
                plan.unchanged += 1;
            } else {
                plan.work.push(Work::new(source, reader.checkpoint(FileKey::of(&source.path))?));
            }
        }
        plan.find_families(reader)?;
        let mut vanished = vanished(reader, &known, scan)?;
        let left = plan.find_moved(&mut vanished);
        plan.pick_copy(vanished, &known, scan, roots, confirm);
        plan.read_parents_of_gone(&left, reader, scan)?;
        Ok(plan.ordered())
    }

    /// Plans for what has changed in the named files, and in what belongs to their sessions. None if one of them is
    /// not known yet or not there any more, or if the index has to be checked: then everything has to be looked at.
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
        if plan.has_relatives_elsewhere(reader, scan)? {
            return Ok(None);
        }
        plan.find_families(reader)?;
        Ok(Some(plan.ordered()))
    }

    /// Whether a subagent of a session of which something is to be read has a transcript where this scan has not looked.
    fn has_relatives_elsewhere(&self, reader: &Reader, scan: &Scan) -> Result<bool> {
        let sessions: HashSet<&str> = self.work.iter().map(|work| work.source.session.as_str()).collect();
        let here: HashSet<FileKey> = scan.sources.iter().map(|source| FileKey::of(&source.path)).collect();
        for session in sessions {
            let files = reader.files_of_session(session)?;
            let is_elsewhere = |file: &Checkpoint| file.gone_since.is_none() && !here.contains(&file.key());
            if files.iter().any(|file| file.agent_id().is_some() && is_elsewhere(file)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.work.is_empty() && self.gone.is_empty()
    }

    /// How much there is to read.
    pub(super) fn bytes(&self) -> u64 {
        self.work.iter().map(Work::bytes).sum()
    }

    /// Largest first, so that none is left to the end when all others are done.
    fn ordered(mut self) -> Self {
        self.work.sort_by(|a, b| b.bytes().cmp(&a.bytes()).then_with(|| a.source.path.cmp(&b.source.path)));
        self
    }

    /// Looks up what the index has of subagents besides their transcripts, and who their parents are.
    fn find_families(&mut self, reader: &Reader) -> Result<()> {
        let is_known = |work: &&mut Work| !work.before.as_ref().is_some_and(|before| before.is_outdated());
        let agents: Vec<_> =
            self.work.iter_mut().filter(|work| work.source.kind == SourceKind::Agent).filter(is_known).collect();
        if agents.is_empty() {
            return Ok(());
        }
        for work in agents {
            let agent = work.source.agent.as_deref().unwrap_or_default();
            work.was_seen = reader.has_seen(agent)?;
            if let Some(before) = &work.before {
                work.parents = parents_of(before, agent, reader)?;
            }
        }
        Ok(())
    }

    /// What a subagent's transcript has is left out where others saw it; when that is gone, or has left them, they speak
    /// for it.
    fn read_parents_of_gone(&mut self, left: &[Checkpoint], reader: &Reader, scan: &Scan) -> Result<()> {
        let agents: Vec<_> = self.gone.iter().chain(left).filter_map(|file| Some((file, file.agent_id()?))).collect();
        if agents.is_empty() {
            return Ok(());
        }
        let mut reread_queue = BTreeMap::new();
        for (file, agent) in agents {
            reread_queue.extend(parents_of(file, agent, reader)?.into_iter().map(|parent| (parent.path(), parent)));
        }
        for source in scan.sources.iter().filter(|_| !reread_queue.is_empty()) {
            let Some(parent) = reread_queue.get(&source.path) else { continue };
            let planned = self.work.len();
            self.work.retain(|work| work.source.path != source.path);
            self.unchanged -= usize::from(self.work.len() == planned);
            self.work.push(Work::new(source, Some(parent.clone().outdated())));
        }
        Ok(())
    }

    /// Recognises files that were read before under another name, and returns those that were another session's or
    /// another subagent's under that.
    fn find_moved(&mut self, vanished: &mut Vec<Checkpoint>) -> Vec<Checkpoint> {
        let mut left = Vec::new();
        for work in self.work.iter_mut().filter(|work| work.before.is_none()) {
            if vanished.is_empty() {
                break;
            }
            if let Some(at) = vanished.iter().position(|before| is_same_file(before, &work.source)) {
                let before = vanished.swap_remove(at);
                work.moved_from = Some(before.key());
                if (before.session_id(), before.agent_id()) != (&work.source.session, work.source.agent.as_deref()) {
                    left.push(before);
                }
            }
        }
        left
    }

    /// Decides which vanished files are gone. Where we could not look, or where suspiciously much is missing, none is.
    fn pick_copy(&mut self, vanished: Vec<Checkpoint>, known: &Known, scan: &Scan, roots: &[Root], confirm: bool) {
        let (unseen, gone): (Vec<_>, Vec<_>) =
            vanished.into_iter().partition(|before| scan.is_blind_to(&before.path()));
        for root in roots.iter().filter(|root| !root.required) {
            if scan.unlisted.contains(&root.path) && unseen.iter().any(|before| before.path().starts_with(&root.path)) {
                self.problems
                    .push(Problem::with_path(&root.path, "source root is missing; what was indexed of it is kept"));
            }
        }
        match doubt(gone.len(), known.present().count(), roots).filter(|_| !confirm) {
            Some(problem) => self.problems.push(problem),
            None => self.gone = gone,
        }
    }
}

/// The transcripts that have seen something of a subagent besides its own.
fn parents_of(file: &Checkpoint, agent: &str, reader: &Reader) -> Result<Vec<Checkpoint>> {
    let mut parents = reader.files_that_saw(file.session_id(), agent)?;
    parents.retain(|parent| !parent.forgotten && parent.gone_since.is_none() && parent.key() != file.key());
    Ok(parents)
}

/// Why it is not to be believed that so many files are gone, if it is not.
pub(super) fn doubt(gone: usize, present: usize, roots: &[Root]) -> Option<Problem> {
    let reason = format!(
        "{gone} of {present} indexed files have vanished at once; they stay searchable and are not marked as deleted \
         (if this is right, run `unspool index --confirm`)"
    );
    let place = roots.first().map(|root| root.path.clone()).unwrap_or_default();
    (gone * 2 > present).then(|| Problem::with_path(place, reason))
}

/// Whether a file is one of these, or lies in the folder of a session that is.
fn belongs_to(source: &Source, named: &[PathBuf]) -> bool {
    named.iter().any(|path| source.path == *path || source.path.starts_with(path.with_extension("")))
}

/// What was there last time and is not there now.
fn vanished(reader: &Reader, known: &Known, scan: &Scan) -> Result<Vec<Checkpoint>> {
    let here: HashSet<FileKey> = scan.sources.iter().map(|source| FileKey::of(&source.path)).collect();
    let mut vanished = Vec::new();
    for key in known.present().filter(|key| !here.contains(key)) {
        vanished.extend(reader.last_checkpoint(key)?);
    }
    vanished.sort_by_key(Checkpoint::path);
    Ok(vanished)
}

pub(super) fn is_same_file(before: &Checkpoint, source: &Source) -> bool {
    if !before.may_be(source) || source.kind == SourceKind::Spill {
        return false;
    }
    let ends = Transcript::open(&source.path).and_then(|mut transcript| transcript.ends(before.offset));
    ends.is_ok_and(|mut ends| ends.fingerprint() == (before.head, before.tail)) && before.offset > 0
}
