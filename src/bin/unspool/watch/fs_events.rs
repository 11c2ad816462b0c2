//! File events from the operating system for everything below the roots. If the system cannot report them, `watch` has
//! to poll.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use notify::event::{CreateKind, EventKind, ModifyKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use unspool::transcript::discover::Root;

/// A change below the roots.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Change {
    /// A file has changed.
    File(PathBuf),
    /// Something unknown has changed.
    Everything,
}

/// A message from the watching thread.
#[derive(Debug)]
enum Report {
    Change(Change),
    /// A watched folder no longer exists.
    Lost(PathBuf),
    /// The system cannot watch all folders.
    Limit(String),
}

/// The maximum number of unread events. If there are more, a full scan is better.
const WAITING: usize = 4096;

pub(super) struct FsEvents {
    watcher: Option<RecommendedWatcher>,
    events: Receiver<Report>,
    overrun: Arc<AtomicBool>,
    /// The watched folders.
    watched: BTreeSet<PathBuf>,
    /// The reason for polling, until it has been reported.
    notice: Option<String>,
}

impl FsEvents {
    /// Starts to watch the roots, unless `poll` is set.
    pub(super) fn open(roots: &[Root], poll: bool) -> Self {
        let (send, events) = sync_channel(WAITING);
        let overrun = Arc::new(AtomicBool::new(false));
        let mut this =
            Self { watcher: None, events, overrun: Arc::clone(&overrun), watched: BTreeSet::new(), notice: None };
        if poll {
            return this;
        }
        if let Some(root) = roots.iter().find(|root| is_remote(&root.path)) {
            this.notice = Some(format!("{} is on a file system that does not report changes", root.path.display()));
            return this;
        }
        match notify::recommended_watcher(move |event| forward(event, &send, &overrun)) {
            Ok(watcher) => this.watcher = Some(watcher),
            Err(error) => this.notice = Some(format!("the system cannot watch files ({error})")),
        }
        this.find_new_roots(roots);
        this
    }

    /// Reports whether there are no events, so that the caller has to poll.
    pub(super) fn is_blind(&self) -> bool {
        self.watcher.is_none()
    }

    /// Returns the reason for polling, once.
    pub(super) fn take_notice(&mut self) -> Option<String> {
        self.notice.take()
    }

    /// Starts to watch folders that did not exist before. Reports whether there were any.
    pub(super) fn find_new_roots(&mut self, roots: &[Root]) -> bool {
        let before = self.watched.len();
        for root in roots {
            // The history and the projects folder are directly in a root. All other files are below the projects.
            let projects = root.path.join("projects");
            let is_projects = root.path.file_name().is_some_and(|name| name == "projects");
            self.watch(&root.path, if is_projects { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive });
            if !is_projects {
                self.watch(&projects, RecursiveMode::Recursive);
            }
        }
        self.watched.len() > before
    }

    fn watch(&mut self, folder: &Path, mode: RecursiveMode) {
        if self.watched.contains(folder) || !folder.is_dir() {
            return;
        }
        let Some(watcher) = &mut self.watcher else { return };
        match watcher.watch(folder, mode) {
            Ok(()) => {
                self.watched.insert(folder.to_path_buf());
            }
            Err(error) => self.close(format!("the system cannot watch {} ({error})", folder.display())),
        }
    }

    fn close(&mut self, reason: String) {
        if self.watcher.take().is_some() {
            self.notice = Some(reason);
        }
    }

    /// Waits for a change.
    pub(super) fn wait(&mut self, patience: Duration) -> Option<Change> {
        if self.overrun.swap(false, Ordering::Relaxed) {
            return Some(Change::Everything);
        }
        // Without a sender, `recv_timeout` would return immediately.
        if self.watcher.is_none() {
            std::thread::sleep(patience);
            return None;
        }
        match self.events.recv_timeout(patience).ok()? {
            Report::Change(change) => Some(change),
            Report::Lost(folder) => {
                self.watched.remove(&folder);
                Some(Change::Everything)
            }
            Report::Limit(reason) => {
                self.close(reason);
                Some(Change::Everything)
            }
        }
    }
}

/// Forwards an event from the system's own thread. Most events are dropped.
fn forward(event: notify::Result<notify::Event>, send: &SyncSender<Report>, overrun: &AtomicBool) {
    let reports = match event {
        Ok(event) => reports_of(&event),
        Err(error) => vec![Report::Limit(format!("the system cannot watch all folders ({error})"))],
    };
    for report in reports {
        if let Err(TrySendError::Full(_)) = send.try_send(report) {
            overrun.store(true, Ordering::Relaxed);
        }
    }
}

fn reports_of(event: &notify::Event) -> Vec<Report> {
    if event.need_rescan() {
        return vec![Report::Change(Change::Everything)];
    }
    let relevant = event.paths.iter().filter(|path| is_relevant(path));
    match event.kind {
        // Reading files causes these too.
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => Vec::new(),
        EventKind::Create(CreateKind::Folder) => vec![Report::Change(Change::Everything)],
        EventKind::Remove(_) => event.paths.iter().map(|path| Report::Lost(path.clone())).collect(),
        EventKind::Modify(ModifyKind::Name(_)) => relevant.map(|_| Report::Change(Change::Everything)).collect(),
        _ => relevant.map(|path| Report::Change(Change::File(path.clone()))).collect(),
    }
}

/// Reports whether a path may be a file to index, or a folder.
fn is_relevant(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_string_lossy());
    let is_spill = || path.components().any(|part| part.as_os_str() == "tool-results");
    matches!(extension.as_deref(), None | Some("jsonl" | "json")) || is_spill()
}

/// Reports whether a folder is on another machine. The kernel does not know of changes made there.
#[cfg(target_os = "linux")]
fn is_remote(folder: &Path) -> bool {
    // NFS, SMB in three dialects, FUSE, 9p, AFS, Coda, Ceph, VirtualBox.
    const REMOTE: [u32; 10] = [
        0x6969,
        0x517b,
        0xff53_4d42,
        0xfe53_4d42,
        0x6573_5546,
        0x0102_1997,
        0x5346_414f,
        0x7375_7245,
        0x00c3_6400,
        0x786f_4256,
    ];
    let kind = rustix::fs::statfs(folder).map(|stat| stat.f_type);
    kind.is_ok_and(|kind| REMOTE.contains(&(kind as u32)))
}

#[cfg(not(target_os = "linux"))]
fn is_remote(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relevant_paths() {
        for (path, expected) in [
            ("/r/projects/p/a.jsonl", true),
            ("/r/projects/p/s/subagents/agent-1.meta.json", true),
            ("/r/projects/p/s/tool-results/x.txt", true),
            ("/r/projects/p/new-folder", true),
            ("/r/projects/p/memory/MEMORY.md", false),
            ("/r/history.jsonl", true),
            ("/r/settings.json.tmp", false),
        ] {
            assert_eq!(is_relevant(Path::new(path)), expected, "{path}");
        }
    }
}
