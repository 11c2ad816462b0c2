//! Lists the transcripts and other files to index below a set of roots.
//!
//! This is the only code that walks directories, and it opens no file. A root is a Claude Code configuration folder
//! (or its `projects` folder). Files are selected by name: `<uuid>.jsonl`, `agent-*.jsonl` in a project's root or
//! anywhere under `subagents/`, spilled outputs in `tool-results/`, and `history.jsonl`. Folders that cannot be listed
//! are recorded, so that an unreadable file is not mistaken for a deleted one.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use walkdir::WalkDir;

use crate::error::Problem;
pub use crate::transcript::layout::SourceKind;
use crate::transcript::layout::{FileRole, role_of};

/// A folder to search for transcripts.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Root {
    /// The absolute path of the folder.
    pub path: PathBuf,
    /// True if a missing folder is reported as a problem. False for the default locations, which are often missing.
    pub required: bool,
}

impl Root {
    /// Returns the root under its canonical path: absolute, without `..` and trailing slashes, with symbolic links
    /// resolved. So each folder has one index, however its path is written. A folder that does not exist is resolved as
    /// far as possible.
    #[must_use]
    pub fn canonical(self) -> Self {
        let path = std::path::absolute(&self.path).unwrap_or(self.path);
        // A canonical path on Windows has a prefix that people do not type and many programs cannot read.
        if cfg!(windows) {
            return Self { path, ..self };
        }
        let mut missing = Vec::new();
        let mut existing = path.as_path();
        loop {
            if let Ok(found) = fs_err::canonicalize(existing) {
                return Self { path: missing.iter().rev().fold(found, |path: PathBuf, name| path.join(name)), ..self };
            }
            let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else { break };
            missing.push(name.to_os_string());
            existing = parent;
        }
        Self { path, ..self }
    }
}

/// The `stat` fields that show whether a file has changed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Stat {
    /// Device number.
    pub dev: u64,
    /// Inode number; 0 on systems without inodes.
    pub ino: u64,
    /// Length in bytes.
    pub size: u64,
    /// Modification time in nanoseconds since 1970.
    pub mtime_ns: i64,
}

/// One file to index.
#[derive(Clone, Debug)]
pub struct Source {
    /// The path of the file.
    pub path: PathBuf,
    /// The kind of file.
    pub kind: SourceKind,
    /// The id of the session it belongs to, taken from the name of the file or its folder.
    pub session: String,
    /// The agent's id, for a subagent's transcript.
    pub agent: Option<String>,
    /// The state of the file when it was listed.
    pub stat: Stat,
    /// The description file next to a subagent's transcript.
    pub meta: Option<(PathBuf, Stat)>,
}

/// The result of walking all roots.
#[derive(Debug, Default)]
pub struct Scan {
    /// The files, sorted by path.
    pub sources: Vec<Source>,
    /// Files and folders that could not be read or look wrong.
    pub problems: Vec<Problem>,
    /// Folders whose contents are unknown this time. Files below them must not be treated as deleted.
    pub unlisted: Vec<PathBuf>,
    /// Skipped files, with the reason; only for diagnostics.
    pub ignored: Vec<(PathBuf, &'static str)>,
}

/// Lists all files to index below `roots`.
pub fn discover(roots: &[Root]) -> Scan {
    let mut scan = Scan::default();
    let mut seen_folders = HashSet::new();
    for root in roots {
        let projects = scan.list_root(root);
        let new_projects: Vec<PathBuf> =
            projects.into_iter().filter(|dir| is_first_visit(dir, &mut seen_folders)).collect();
        let parts: Vec<Scan> = new_projects.par_iter().map(|dir| walk_project(dir)).collect();
        parts.into_iter().for_each(|part| scan.merge(part));
    }
    scan.sources.sort_by(|a, b| a.path.cmp(&b.path));
    scan.drop_extra_hard_links();
    scan
}

/// Lists only the projects that `files` belong to. Much cheaper than [`discover`] when the changed files are known.
///
/// Returns `None` if a file is not in a project of these roots, judging by its path. Then a full scan is needed.
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
    projects.iter().for_each(|project| scan.merge(walk_project(project)));
    scan.sources.sort_by(|a, b| a.path.cmp(&b.path));
    scan.drop_extra_hard_links();
    Some(scan)
}

impl Scan {
    /// Reports whether `path` is below a folder that this scan could not list.
    pub fn is_blind_to(&self, path: &Path) -> bool {
        self.unlisted.iter().any(|dir| path.starts_with(dir))
    }

    fn merge(&mut self, part: Self) {
        self.sources.extend(part.sources);
        self.problems.extend(part.problems);
        self.unlisted.extend(part.unlisted);
        self.ignored.extend(part.ignored);
    }

    /// Adds the history file of a root.
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

    /// Adds the history file of a root and returns its project folders.
    fn list_root(&mut self, root: &Root) -> Vec<PathBuf> {
        let projects = projects_folder(&root.path);
        self.list_history(root);
        let entries = match fs_err::read_dir(&projects) {
            Ok(entries) => entries,
            Err(error) => {
                self.note_unreadable_root(root, &error);
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
                Ok(meta) if meta.is_dir() && is_link && points_to_ancestor(&path, &projects) => {
                    let reason = "is a link to a folder above it, and is not followed";
                    self.problems.push(Problem::with_path(&path, reason));
                    self.unlisted.push(path);
                }
                Ok(meta) if meta.is_dir() => folders.push(path),
                Ok(_) => self.ignored.push((path, "not a project folder")),
                Err(error) => self.note_unreadable_project(path, &error),
            }
        }
        folders.sort();
        folders
    }

    /// Records a project folder that cannot be read. If it is not found, it has just been removed, or it is a link to
    /// a missing target such as a disk that is not mounted.
    fn note_unreadable_project(&mut self, project: PathBuf, error: &io::Error) {
        if error.kind() == io::ErrorKind::NotFound {
            self.ignored.push((project.clone(), "missing, or a broken link"));
        } else {
            self.problems.push(Problem::with_path(&project, format!("cannot be listed: {error}")));
        }
        self.unlisted.push(project);
    }

    /// Records a root that cannot be listed.
    fn note_unreadable_root(&mut self, root: &Root, error: &io::Error) {
        let missing = error.kind() == io::ErrorKind::NotFound;
        if root.required || !missing {
            let reason = if missing { "source root is missing" } else { "source root cannot be read" };
            self.problems.push(Problem::with_path(&root.path, reason));
        }
        // The whole root, not only its projects: the state of its history file is unknown too.
        self.unlisted.push(root.path.clone());
    }

    /// Keeps one path of each file that has several hard links, the first in path order.
    fn drop_extra_hard_links(&mut self) {
        let mut seen = HashSet::new();
        let ignored = &mut self.ignored;
        self.sources.retain(|source| {
            let is_first = source.stat.ino == 0 || seen.insert((source.stat.dev, source.stat.ino));
            if !is_first {
                ignored.push((source.path.clone(), "a link to a file that is already indexed"));
            }
            is_first
        });
    }
}

/// Returns the `projects` folder of a root, which may be the root itself.
fn projects_folder(root: &Path) -> PathBuf {
    if root.file_name() == Some(OsStr::new("projects")) { root.to_path_buf() } else { root.join("projects") }
}

/// Reports whether `link` points to `folder` or one of its ancestors. Following it could walk half a disk each time.
fn points_to_ancestor(link: &Path, folder: &Path) -> bool {
    let real = (fs_err::canonicalize(link), fs_err::canonicalize(folder));
    matches!(real, (Ok(target), Ok(folder)) if folder.starts_with(&target))
}

/// Reports whether a folder is visited for the first time, under any name or link.
fn is_first_visit(dir: &Path, seen: &mut HashSet<(u64, u64)>) -> bool {
    match fs_err::metadata(dir) {
        Ok(meta) => {
            let stat = stat_of(&meta);
            stat.ino == 0 || seen.insert((stat.dev, stat.ino))
        }
        Err(_) => true,
    }
}

/// Lists the files of one project folder.
fn walk_project(project: &Path) -> Scan {
    let mut scan = Scan::default();
    let mut metas = Vec::new();
    // The trailing slash makes the walk enter a project folder that is itself a link.
    let walk = WalkDir::new(project.join("")).max_depth(16).follow_links(false);
    for entry in walk.into_iter().filter_entry(|entry| !is_memory_folder(entry)) {
        match entry {
            Ok(entry) if entry.file_type().is_dir() => scan.check_folder_name(&entry),
            Ok(entry) => scan.note_file(project, &entry, &mut metas),
            Err(error) => scan.note_walk_error(project, &error),
        }
    }
    scan.attach_metas(metas);
    // Sorted here because projects are walked in parallel; the final sort then gets nearly sorted input.
    scan.sources.sort_by(|a, b| a.path.cmp(&b.path));
    scan
}

/// Reports whether a folder is `memory`, which never contains transcripts and is not listed.
fn is_memory_folder(entry: &walkdir::DirEntry) -> bool {
    entry.file_type().is_dir() && entry.depth() > 0 && entry.file_name() == OsStr::new("memory")
}

impl Scan {
    /// Reports a folder that has the name of a transcript.
    fn check_folder_name(&mut self, entry: &walkdir::DirEntry) {
        if entry.path().extension() == Some(OsStr::new("jsonl")) {
            self.problems.push(Problem::with_path(entry.path(), "a folder with the name of a transcript"));
        }
    }

    /// Records a path that the walk could not list. A path that no longer exists is not reported as a problem.
    fn note_walk_error(&mut self, project: &Path, error: &walkdir::Error) {
        let path = error.path().unwrap_or(project);
        let vanished = error.io_error().is_some_and(|cause| cause.kind() == io::ErrorKind::NotFound);
        if !vanished {
            let cause = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
            self.problems.push(Problem::with_path(path, format!("cannot be listed: {cause}")));
        }
        self.unlisted.push(path.to_path_buf());
    }

    /// Records a link that is not followed: one to a folder, or one whose target is missing and may have been a folder.
    /// Returns false if the entry is not such a link.
    ///
    /// Only links to whole projects are followed. Following more links would add ways to walk in circles.
    fn note_linked_folder(&mut self, entry: &walkdir::DirEntry) -> bool {
        let path = entry.path().to_path_buf();
        match fs_err::metadata(&path) {
            Ok(meta) if !meta.is_dir() => return false,
            _ if entry.file_name() == OsStr::new("memory") => return false,
            Ok(_) => self.problems.push(Problem::with_path(&path, "a link to a folder, which is not followed")),
            Err(_) => self.ignored.push((path.clone(), "a broken link")),
        }
        self.unlisted.push(path);
        true
    }

    /// Adds a file if its name shows that it is to be indexed. Description files are collected in `metas`.
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
            // Deleted after it was listed; a later scan will show it.
            Err(error) => return self.note_walk_error(project, &error),
        };
        match role {
            FileRole::Meta => metas.push((entry.path().to_path_buf(), stat)),
            FileRole::Source { kind, session, agent } => {
                let path = entry.path().to_path_buf();
                self.sources.push(Source { path, kind, session, agent, stat, meta: None });
            }
        }
    }

    /// Assigns the description files to the transcripts they describe.
    fn attach_metas(&mut self, metas: Vec<(PathBuf, Stat)>) {
        let by_transcript =
            |(path, stat): (PathBuf, Stat)| (path.with_extension("").with_extension("jsonl"), (path, stat));
        let mut metas: HashMap<PathBuf, (PathBuf, Stat)> = metas.into_iter().map(by_transcript).collect();
        for source in self.sources.iter_mut().filter(|source| source.kind == SourceKind::Agent) {
            source.meta = metas.remove(&source.path);
        }
    }
}

/// Extracts the fields that identify a file's state.
#[cfg(unix)]
pub fn stat_of(meta: &std::fs::Metadata) -> Stat {
    use std::os::unix::fs::MetadataExt as _;
    let mtime_ns = meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec());
    Stat { dev: meta.dev(), ino: meta.ino(), size: meta.size(), mtime_ns }
}

/// Extracts the fields that identify a file's state.
#[cfg(not(unix))]
pub fn stat_of(meta: &std::fs::Metadata) -> Stat {
    let since = meta.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let mtime_ns = since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX));
    Stat { dev: 0, ino: 0, size: meta.len(), mtime_ns }
}
