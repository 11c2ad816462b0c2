//! Finds what there is to index below a set of roots. The only walk over directories; it opens no file.
//!
//! A root is a Claude Code configuration folder (or its `projects` folder). What counts is decided by name:
//! `<uuid>.jsonl`, `agent-*.jsonl` in a project's root or anywhere under `subagents/`, spilled outputs in
//! `tool-results/`, and `history.jsonl`. A folder that cannot be listed is remembered, so that nobody mistakes
//! "could not look" for "is not there".

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use walkdir::WalkDir;

use crate::error::Problem;

/// A folder to look in.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Root {
    /// The folder, absolute.
    pub path: PathBuf,
    /// Whether its absence is a problem; the default places may well be missing.
    pub required: bool,
}

/// What a file holds.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum SourceKind {
    /// A main transcript.
    Session,
    /// The transcript of a subagent.
    Agent,
    /// A tool output too large for the transcript.
    Spill,
    /// The prompt history, which outlives the sessions.
    History,
}

/// What `stat` says of a file: enough to know that it has not changed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Stat {
    /// Device number.
    pub dev: u64,
    /// Inode number; 0 where there is none.
    pub ino: u64,
    /// Length in bytes.
    pub size: u64,
    /// Time of last change in nanoseconds since 1970.
    pub mtime_ns: i64,
}

/// One file to index.
#[derive(Clone, Debug)]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// What it holds.
    pub kind: SourceKind,
    /// The session it belongs to, by its name or its folder's.
    pub session: String,
    /// The agent's id, for a subagent.
    pub agent: Option<String>,
    /// The file as it was when listed.
    pub stat: Stat,
    /// The description beside a subagent's transcript.
    pub meta: Option<(PathBuf, Stat)>,
}

/// What a walk over all roots brought.
#[derive(Debug, Default)]
pub struct Scan {
    /// The files, in order of their paths.
    pub sources: Vec<Source>,
    /// What could not be looked at, and oddities.
    pub problems: Vec<Problem>,
    /// Folders whose contents are unknown this time; nothing below them may be called deleted.
    pub unlisted: Vec<PathBuf>,
    /// Files passed over, with the reason; of interest only to the curious.
    pub ignored: Vec<(PathBuf, &'static str)>,
}

/// Lists everything there is to index.
pub fn discover(roots: &[Root]) -> Scan {
    let mut scan = Scan::default();
    let mut seen_folders = HashSet::new();
    for root in roots {
        let projects = scan.list_root(root);
        let fresh: Vec<PathBuf> = projects.into_iter().filter(|dir| is_new_folder(dir, &mut seen_folders)).collect();
        let parts: Vec<Scan> = fresh.par_iter().map(|dir| walk_project(dir)).collect();
        parts.into_iter().for_each(|part| scan.absorb(part));
    }
    scan.sources.sort_by(|a, b| a.path.cmp(&b.path));
    scan.drop_second_names();
    scan
}

/// Lists only the projects that these files belong to, which is much less when somebody has just told us what has
/// changed. None where a file lies in no project of these roots by its name: then only a look at everything tells.
pub fn discover_around(roots: &[Root], files: &[PathBuf]) -> Option<Scan> {
    let mut projects = BTreeSet::new();
    let mut scan = Scan::default();
    for file in files {
        let root = roots.iter().find(|root| file.starts_with(&root.path))?;
        if *file == root.path.join("history.jsonl") {
            scan.list_history(root);
            continue;
        }
        let folder = projects_folder(&root.path);
        let mut rest = file.strip_prefix(&folder).ok()?.components();
        let project = rest.next().filter(|_| rest.next().is_some())?;
        projects.insert(folder.join(project));
    }
    projects.iter().for_each(|project| scan.absorb(walk_project(project)));
    scan.sources.sort_by(|a, b| a.path.cmp(&b.path));
    scan.drop_second_names();
    Some(scan)
}

impl Scan {
    /// Says whether a path lies where this scan could not look.
    pub fn is_blind_to(&self, path: &Path) -> bool {
        self.unlisted.iter().any(|dir| path.starts_with(dir))
    }

    fn absorb(&mut self, part: Self) {
        self.sources.extend(part.sources);
        self.problems.extend(part.problems);
        self.unlisted.extend(part.unlisted);
        self.ignored.extend(part.ignored);
    }

    /// Notes the history file of a root.
    fn list_history(&mut self, root: &Root) {
        let history = root.path.join("history.jsonl");
        if let Ok(meta) = history.symlink_metadata()
            && meta.is_file()
        {
            let stat = stat_of(&meta);
            let kind = SourceKind::History;
            self.sources.push(Source { path: history, kind, session: String::new(), agent: None, stat, meta: None });
        }
    }

    /// Notes the history file and returns the project folders of a root.
    fn list_root(&mut self, root: &Root) -> Vec<PathBuf> {
        let projects = projects_folder(&root.path);
        self.list_history(root);
        let entries = match fs_err::read_dir(&projects) {
            Ok(entries) => entries,
            Err(error) => {
                self.cannot_list_root(root, &error);
                return Vec::new();
            }
        };
        let mut folders = Vec::new();
        for entry in entries {
            let (path, is_link) = match entry {
                Ok(entry) => (entry.path(), entry.file_type().is_ok_and(|kind| kind.is_symlink())),
                Err(error) => {
                    self.problems.push(Problem::with_path(&projects, error.to_string()));
                    self.unlisted.push(projects.clone());
                    continue;
                }
            };
            match fs_err::metadata(&path) {
                Ok(meta) if meta.is_dir() && is_link && leads_above(&path, &projects) => {
                    let reason = "is a link to a folder above it, and is not followed";
                    self.problems.push(Problem::with_path(&path, reason));
                    self.unlisted.push(path);
                }
                Ok(meta) if meta.is_dir() => folders.push(path),
                Ok(_) => self.ignored.push((path, "not a project folder")),
                Err(error) => self.cannot_look_at(path, &error),
            }
        }
        folders.sort();
        folders
    }

    /// A project that is not there behind its name has just been removed, or is a link to where nothing is now: a disk
    /// that is not mounted, say.
    fn cannot_look_at(&mut self, project: PathBuf, error: &io::Error) {
        if error.kind() == io::ErrorKind::NotFound {
            self.ignored.push((project.clone(), "nothing is behind this name"));
        } else {
            self.problems.push(Problem::with_path(&project, format!("cannot be listed: {error}")));
        }
        self.unlisted.push(project);
    }

    fn cannot_list_root(&mut self, root: &Root, error: &io::Error) {
        let missing = error.kind() == io::ErrorKind::NotFound;
        if root.required || !missing {
            let reason = if missing { "source root is missing" } else { "source root cannot be read" };
            self.problems.push(Problem::with_path(&root.path, reason));
        }
        // Not only the projects: the history beside them is just as unknown.
        self.unlisted.push(root.path.clone());
    }

    /// Keeps one name of a file that has several (hard links), the first in path order.
    fn drop_second_names(&mut self) {
        let mut seen = HashSet::new();
        let ignored = &mut self.ignored;
        self.sources.retain(|source| {
            let first = source.stat.ino == 0 || seen.insert((source.stat.dev, source.stat.ino));
            if !first {
                ignored.push((source.path.clone(), "a second name of a file already listed"));
            }
            first
        });
    }
}

/// Finds the folder of projects of a root that may itself be that folder.
fn projects_folder(root: &Path) -> PathBuf {
    if root.file_name() == Some(OsStr::new("projects")) { root.to_path_buf() } else { root.join("projects") }
}

/// Says whether a link leads to where a folder is itself: with it, half a disk would be walked through every time.
fn leads_above(link: &Path, folder: &Path) -> bool {
    let real = (fs_err::canonicalize(link), fs_err::canonicalize(folder));
    matches!(real, (Ok(target), Ok(folder)) if folder.starts_with(&target))
}

/// Says whether a folder, reached by whatever name or link, is met for the first time.
fn is_new_folder(dir: &Path, seen: &mut HashSet<(u64, u64)>) -> bool {
    match fs_err::metadata(dir) {
        Ok(meta) => {
            let stat = stat_of(&meta);
            stat.ino == 0 || seen.insert((stat.dev, stat.ino))
        }
        Err(_) => true,
    }
}

fn walk_project(project: &Path) -> Scan {
    let mut scan = Scan::default();
    let mut metas = Vec::new();
    // The trailing slash makes the walk enter a project folder that is itself a link.
    let walk = WalkDir::new(project.join("")).max_depth(16).follow_links(false);
    for entry in walk.into_iter().filter_entry(|entry| !is_foreign_folder(entry)) {
        match entry {
            Ok(entry) if entry.file_type().is_dir() => scan.note_odd_folder(&entry),
            Ok(entry) => scan.note_file(project, &entry, &mut metas),
            Err(error) => scan.cannot_list(project, &error),
        }
    }
    scan.attach(metas);
    // Here, where projects are walked side by side; all of them together are then nearly in order.
    scan.sources.sort_by(|a, b| a.path.cmp(&b.path));
    scan
}

/// Skips what is no transcript by definition, without listing it.
fn is_foreign_folder(entry: &walkdir::DirEntry) -> bool {
    entry.file_type().is_dir() && entry.depth() > 0 && entry.file_name() == OsStr::new("memory")
}

impl Scan {
    fn note_odd_folder(&mut self, entry: &walkdir::DirEntry) {
        if entry.path().extension() == Some(OsStr::new("jsonl")) {
            self.problems.push(Problem::with_path(entry.path(), "a folder with the name of a transcript"));
        }
    }

    fn cannot_list(&mut self, project: &Path, error: &walkdir::Error) {
        let path = error.path().unwrap_or(project);
        let vanished = error.io_error().is_some_and(|cause| cause.kind() == io::ErrorKind::NotFound);
        if !vanished {
            let cause = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
            self.problems.push(Problem::with_path(path, format!("cannot be listed: {cause}")));
        }
        self.unlisted.push(path.to_path_buf());
    }

    /// Notes a link to a folder where transcripts may be, or were until now; says whether it is one. Only whole projects
    /// may lie elsewhere: more links would be more ways to walk in circles.
    fn note_linked_folder(&mut self, entry: &walkdir::DirEntry) -> bool {
        let path = entry.path().to_path_buf();
        match fs_err::metadata(&path) {
            Ok(meta) if !meta.is_dir() => return false,
            _ if entry.file_name() == OsStr::new("memory") => return false,
            Ok(_) => self.problems.push(Problem::with_path(&path, "is a link to a folder, and is not followed")),
            Err(_) => self.ignored.push((path.clone(), "nothing is behind this name")),
        }
        self.unlisted.push(path);
        true
    }

    fn note_file(&mut self, project: &Path, entry: &walkdir::DirEntry, metas: &mut Vec<(PathBuf, Stat)>) {
        let relative = entry.path().strip_prefix(project).unwrap_or(entry.path());
        if entry.path_is_symlink() && self.note_linked_folder(entry) {
            return;
        }
        let Some(role) = role_of(relative) else {
            self.ignored.push((entry.path().to_path_buf(), "not a transcript"));
            return;
        };
        if !entry.file_type().is_file() {
            self.ignored.push((entry.path().to_path_buf(), "not a regular file"));
            return;
        }
        let stat = match entry.metadata() {
            Ok(meta) => stat_of(&meta),
            // Deleted between listing and asking: a later scan will tell.
            Err(error) => return self.cannot_list(project, &error),
        };
        match role {
            Role::Meta => metas.push((entry.path().to_path_buf(), stat)),
            Role::Source { kind, session, agent } => {
                let path = entry.path().to_path_buf();
                self.sources.push(Source { path, kind, session, agent, stat, meta: None });
            }
        }
    }

    fn attach(&mut self, metas: Vec<(PathBuf, Stat)>) {
        let describes = |(path, stat): (PathBuf, Stat)| (path.with_extension("").with_extension("jsonl"), (path, stat));
        let mut metas: HashMap<PathBuf, (PathBuf, Stat)> = metas.into_iter().map(describes).collect();
        for source in self.sources.iter_mut().filter(|source| source.kind == SourceKind::Agent) {
            source.meta = metas.remove(&source.path);
        }
    }
}

enum Role {
    Source { kind: SourceKind, session: String, agent: Option<String> },
    Meta,
}

/// Decides by its place and name what a file below a project folder is.
fn role_of(relative: &Path) -> Option<Role> {
    let name = relative.file_name()?.to_string_lossy();
    let folders: Vec<_> = relative.parent()?.iter().map(OsStr::to_string_lossy).collect();
    let session = folders.first().map(ToString::to_string).unwrap_or_default();
    let under = |folder: &str| folders.get(1).is_some_and(|second| second == folder);
    if under("tool-results") && !name.starts_with('.') {
        return Some(Role::Source { kind: SourceKind::Spill, session, agent: None });
    }
    let in_agent_place = folders.is_empty() || under("subagents");
    if in_agent_place && name.starts_with("agent-") && name.ends_with(".meta.json") {
        return Some(Role::Meta);
    }
    let stem = name.strip_suffix(".jsonl")?;
    match stem.strip_prefix("agent-") {
        Some(agent) if in_agent_place && !agent.is_empty() => {
            Some(Role::Source { kind: SourceKind::Agent, session, agent: Some(agent.to_string()) })
        }
        None if folders.is_empty() && is_session_name(stem) => {
            Some(Role::Source { kind: SourceKind::Session, session: stem.to_string(), agent: None })
        }
        _ => None,
    }
}

/// Says whether a file stem can be a session's id. Claude Code uses UUIDs; a renamed copy is still somebody's
/// conversation, so only the names that are known to be something else are refused.
fn is_session_name(stem: &str) -> bool {
    !stem.is_empty() && !stem.starts_with('.') && stem != "journal" && stem != "history"
}

/// Reads what identifies a state of a file.
#[cfg(unix)]
pub fn stat_of(meta: &std::fs::Metadata) -> Stat {
    use std::os::unix::fs::MetadataExt as _;
    let mtime_ns = meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec());
    Stat { dev: meta.dev(), ino: meta.ino(), size: meta.size(), mtime_ns }
}

/// Reads what identifies a state of a file.
#[cfg(not(unix))]
pub fn stat_of(meta: &std::fs::Metadata) -> Stat {
    let since = meta.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let mtime_ns = since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX));
    Stat { dev: 0, ino: 0, size: meta.len(), mtime_ns }
}
