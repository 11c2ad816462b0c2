//! Copies documents from an older index into a new one, if their files no longer exist or cannot be read.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::document::{Document, Kind};
use crate::error::{Problem, Result};
use crate::index::{Checkpoint, FileKey, Loss, OldFile, Predecessor, Writer};
use crate::transcript::discover::{Root, Scan, Source, SourceKind};
use crate::transcript::layout::encoded_folder;
use crate::units::count;
use crate::update::gone_files::doubt;
use crate::update::plan::{Plan, is_same_file};
use crate::update::report::Report;

/// The state of the transcript files while documents are copied.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a> {
    pub(super) scan: &'a Scan,
    pub(super) roots: &'a [Root],
    /// Files that could not be read.
    pub(super) unread: &'a HashSet<FileKey>,
    /// Accept that more than half of all files have vanished.
    pub(super) confirm: bool,
    pub(super) now: i64,
}

/// Copies what the transcripts no longer contain, and what could not be read in this run. From a damaged old index,
/// copies whatever is readable, and returns what is lost.
pub(super) fn take_over(
    old: &[Predecessor],
    plan: &Plan,
    sources: Sources<'_>,
    writer: &Writer,
    report: &mut Report,
) -> Result<Losses> {
    let planned = plan.work.iter().map(|work| FileKey::of(&work.source.path));
    let mut done: HashSet<FileKey> = planned.filter(|key| !sources.unread.contains(key)).collect();
    let mut losses = Losses { now: sources.now, ..Losses::default() };
    for index in old {
        let files = match index.files() {
            Ok(files) => named(index, files, sources.roots, &done, &plan.forgotten),
            Err(error) => {
                report.problems.push(Problem::with_path(index.path(), format!("its sessions are lost: {error}")));
                losses.unnamed(index);
                continue;
            }
        };
        let checkpoints: Vec<Checkpoint> = files.iter().map(|file| file.checkpoint.clone()).collect();
        let moved = sources.moved(&checkpoints, plan);
        let vanished = sources.vanished(&checkpoints, &moved, report);
        for mut file in files.into_iter().filter(|file| !moved.contains(&file.checkpoint.key())) {
            let key = file.checkpoint.key();
            if done.insert(key) {
                if vanished.contains(&key) {
                    file.checkpoint = file.checkpoint.gone(sources.now);
                }
                take_over_file(index, file, &plan.forgotten, writer, report, &mut losses)?;
            }
        }
        if index.has_unnamed_losses() {
            let reason = "parts of this damaged index cannot be read; sessions that were only in them are lost";
            report.problems.push(Problem::with_path(index.path(), reason));
            losses.unnamed(index);
        }
    }
    if old.iter().any(Predecessor::has_unnamed_losses) {
        keep_forgotten(&plan.forgotten, sources, &mut done, writer)?;
    }
    Ok(losses)
}

/// Writes a checkpoint for each forgotten session, because those of the old index may be lost.
fn keep_forgotten(
    forgotten: &HashSet<String>,
    sources: Sources<'_>,
    done: &mut HashSet<FileKey>,
    writer: &Writer,
) -> Result<()> {
    let found = sources.scan.sources.iter().filter(|source| forgotten.contains(&source.session));
    let mut checkpoints: Vec<Checkpoint> = found.map(Checkpoint::begin).collect();
    let root = sources.roots.first().map(|root| root.path.clone()).unwrap_or_default();
    // The path is made up: it keeps out a session of which only the prompt history knows.
    checkpoints.extend(forgotten.iter().map(|session| {
        Checkpoint::salvaged(&root.join("forgotten").join(session), SourceKind::Session, session, None)
    }));
    for checkpoint in checkpoints {
        if done.insert(checkpoint.key()) {
            writer.checkpoint(&checkpoint.forgotten(), None, false)?;
        }
    }
    Ok(())
}

/// The messages that could not be copied from damaged indexes.
#[derive(Debug, Default)]
pub(super) struct Losses {
    pub(super) all: Vec<Loss>,
    /// The indexes that still contain what could not be copied.
    pub(super) folders: HashSet<PathBuf>,
    now: i64,
}

impl Losses {
    /// Notes that an index contained files whose names are unknown.
    fn unnamed(&mut self, index: &Predecessor) {
        let path = index.path().to_string_lossy().into_owned();
        self.all.push(Loss { path, when: self.now, ..Loss::default() });
        self.folders.insert(index.path().to_path_buf());
    }

    /// Notes the lost messages of a file. Returns whether there are any.
    fn note(&mut self, index: &Predecessor, file: &File, kept: u64, report: &mut Report) -> bool {
        let lost = file.documents.map(|documents| documents.saturating_sub(kept));
        if !index.is_salvaged() || lost == Some(0) {
            return false;
        }
        let session = file.checkpoint.session_id();
        let reason = match lost {
            Some(lost) => format!(
                "lost {lost} of {} with a damaged block of the index (session {session})",
                messages(lost + kept)
            ),
            None => format!(
                "{} kept, but others may be lost with a damaged block of the index (session {session})",
                messages(kept)
            ),
        };
        let path = file.checkpoint.path();
        self.all.push(Loss {
            session: session.to_string(),
            path: path.to_string_lossy().into_owned(),
            lost,
            of: lost.unwrap_or_default() + kept,
            when: self.now,
        });
        report.problems.push(Problem::with_path(path, reason));
        self.folders.insert(index.path().to_path_buf());
        true
    }
}

fn messages(number: u64) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), "message")
}

/// A file of an old index, with a name.
struct File {
    /// The key under which the old index has its documents.
    old_key: FileKey,
    checkpoint: Checkpoint,
    /// Number of documents before any damage, if it is known.
    documents: Option<u64>,
}

/// Gives each file of an old index a name: files whose checkpoints are lost get the path where Claude Code would keep
/// them, if their key confirms it, or else one in a folder `lost+found`. Leaves out those that were read in this run.
fn named(
    index: &Predecessor,
    files: Vec<OldFile>,
    roots: &[Root],
    done: &HashSet<FileKey>,
    forgotten: &HashSet<String>,
) -> Vec<File> {
    let mut named = Vec::new();
    for file in files {
        let checkpoint = match file.checkpoint {
            Some(checkpoint) => Some(checkpoint),
            None if done.contains(&file.key) => None,
            None => index.documents_of(file.key).ok().and_then(|documents| {
                let first = documents.iter().find(|document| !forgotten.contains(&document.session))?;
                Some(checkpoint_for(file.key, first, &documents, roots))
            }),
        };
        let of_checkpoint = |checkpoint| File { old_key: file.key, checkpoint, documents: file.documents };
        named.extend(checkpoint.map(of_checkpoint));
    }
    named
}

/// Creates a checkpoint for documents whose own is lost.
fn checkpoint_for(key: FileKey, first: &Document, documents: &[Document], roots: &[Root]) -> Checkpoint {
    let agent = first.agent.as_deref();
    let likely = likely_paths(first, roots).into_iter().find(|(path, _)| FileKey::of(path) == key);
    let (path, kind) = likely.unwrap_or_else(|| {
        let root = roots.first().map(|root| root.path.clone()).unwrap_or_default();
        let kind = if agent.is_some() { SourceKind::Agent } else { SourceKind::Session };
        (root.join("projects/lost+found").join(format!("{}-{}.jsonl", first.session, key.text())), kind)
    });
    let session = if kind == SourceKind::History { "" } else { first.session.as_str() };
    let agent = agent.filter(|_| kind == SourceKind::Agent);
    let mut checkpoint = Checkpoint::salvaged(&path, kind, session, agent);
    let times = || documents.iter().filter_map(|document| document.timestamp);
    let state = &mut checkpoint.state;
    (state.project, state.cwd) = (first.project.clone(), first.cwd.clone());
    (state.first, state.last) = (times().min(), times().max());
    checkpoint
}

/// Returns the paths at which Claude Code may have kept a document.
fn likely_paths(document: &Document, roots: &[Root]) -> Vec<(PathBuf, SourceKind)> {
    let session = &document.session;
    let mut paths = Vec::new();
    for root in roots {
        paths.push((root.path.join("history.jsonl"), SourceKind::History));
        for folder in [&document.project, &document.cwd].into_iter().flatten() {
            for projects in [root.path.join("projects"), root.path.clone()] {
                let project = projects.join(encoded_folder(folder));
                paths.push((project.join(format!("{session}.jsonl")), SourceKind::Session));
                if let Some(agent) = &document.agent {
                    let name = format!("agent-{agent}.jsonl");
                    paths.push((project.join(session).join("subagents").join(&name), SourceKind::Agent));
                    paths.push((project.join(&name), SourceKind::Agent));
                }
            }
        }
    }
    paths
}

impl Sources<'_> {
    /// Returns the files that were read in this run under another name.
    fn moved(&self, checkpoints: &[Checkpoint], plan: &Plan) -> HashSet<FileKey> {
        let scanned: HashSet<FileKey> = self.scan.sources.iter().map(|source| FileKey::of(&source.path)).collect();
        let known: HashSet<FileKey> = checkpoints.iter().map(Checkpoint::key).collect();
        let read = plan.work.iter().map(|work| &work.source);
        let is_new = |key: FileKey| !known.contains(&key) && !self.unread.contains(&key);
        let mut new: Vec<&Source> = read.filter(|source| is_new(FileKey::of(&source.path))).collect();
        let is_missing =
            |file: &&Checkpoint| file.gone_since.is_none() && !file.forgotten && !scanned.contains(&file.key());
        let mut moved = HashSet::new();
        for file in checkpoints.iter().filter(is_missing) {
            if let Some(at) = new.iter().position(|source| is_same_file(file, source)) {
                new.swap_remove(at);
                moved.insert(file.key());
            }
        }
        moved
    }

    /// Returns the files that no longer exist. Files in folders that could not be listed do not count. If suspiciously
    /// many files are missing, none counts.
    fn vanished(&self, checkpoints: &[Checkpoint], moved: &HashSet<FileKey>, report: &mut Report) -> HashSet<FileKey> {
        let scanned: HashSet<FileKey> = self.scan.sources.iter().map(|source| FileKey::of(&source.path)).collect();
        let present: Vec<&Checkpoint> =
            checkpoints.iter().filter(|file| file.gone_since.is_none() && !file.forgotten).collect();
        let present: Vec<&Checkpoint> = present.into_iter().filter(|file| !moved.contains(&file.key())).collect();
        let is_gone = |file: &&&Checkpoint| !scanned.contains(&file.key()) && !self.scan.is_blind_to(&file.path());
        let gone: HashSet<FileKey> = present.iter().filter(is_gone).map(|file| file.key()).collect();
        match doubt(gone.len(), present.len(), self.roots).filter(|_| !self.confirm) {
            Some(problem) => {
                report.problems.push(problem);
                HashSet::new()
            }
            None => gone,
        }
    }
}

fn take_over_file(
    index: &Predecessor,
    file: File,
    forgotten: &HashSet<String>,
    writer: &Writer,
    report: &mut Report,
    losses: &mut Losses,
) -> Result<()> {
    let mut documents = index.documents_of(file.old_key).unwrap_or_else(|error| {
        report.problems.push(Problem::with_path(file.checkpoint.path(), format!("its text is lost: {error}")));
        Vec::new()
    });
    documents.retain(|document| !is_state_title(document) && !forgotten.contains(&document.session));
    if file.checkpoint.forgotten || forgotten.contains(file.checkpoint.session_id()) {
        return writer.checkpoint(&file.checkpoint.forgotten(), None, false);
    }
    let kept = documents.iter().filter(|document| document.seen_via_agent.is_none()).count() as u64;
    let is_incomplete = losses.note(index, &file, kept, report);
    let mut checkpoint = file.checkpoint;
    if checkpoint.gone_since.is_none() {
        // If the file appears again, it must be read.
        checkpoint.forget_stat();
    }
    if is_incomplete {
        checkpoint = checkpoint.outdated();
    }
    let title = checkpoint.title();
    report.carried += documents.len() as u64 + u64::from(title.is_some());
    // The count in a damaged index may be wrong; the number of copied documents is known.
    checkpoint.state.documents = kept;
    writer.add(checkpoint.key(), documents)?;
    writer.checkpoint(&checkpoint, title, false)
}

/// Returns the sessions that the user removed from the index for good.
pub(super) fn forgotten_sessions(old: &[Predecessor]) -> HashSet<String> {
    old.iter().flat_map(Predecessor::forgotten_sessions).collect()
}

/// Reports whether a document is a session title derived from the state of a file, not read from a line.
fn is_state_title(document: &Document) -> bool {
    document.kind == Kind::Title && document.line == 0
}
