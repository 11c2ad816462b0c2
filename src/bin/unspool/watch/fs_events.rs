//! What the system tells of changes below the roots, as far as it can. Where it cannot, we are blind and have to look
//! for ourselves.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use notify::event::{CreateKind, EventKind, ModifyKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use unspool::transcript::discover::Root;

/// What was seen.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Seen {
    /// A file has changed.
    File(PathBuf),
    /// Something has changed.
    Everything,
}

/// What comes from the watching thread.
#[derive(Debug)]
enum Report {
    Seen(Seen),
    /// A folder that was watched is not there any more.
    Lost(PathBuf),
    /// The system cannot watch all that there is.
    Limit(String),
}

/// More than this may not wait to be heard; then a look at everything is better.
const WAITING: usize = 4096;

pub(super) struct FsEvents {
    watcher: Option<RecommendedWatcher>,
    told: Receiver<Report>,
    overrun: Arc<AtomicBool>,
    /// The folders that are watched.
    watched: BTreeSet<PathBuf>,
    /// Why we are blind, until somebody has been told.
    notice: Option<String>,
}

impl FsEvents {
    /// Opens them, unless asked not to.
    pub(super) fn open(roots: &[Root], poll: bool) -> Self {
        let (send, told) = sync_channel(WAITING);
        let overrun = Arc::new(AtomicBool::new(false));
        let mut eyes =
            Self { watcher: None, told, overrun: Arc::clone(&overrun), watched: BTreeSet::new(), notice: None };
        if poll {
            return eyes;
        }
        if let Some(root) = roots.iter().find(|root| is_remote(&root.path)) {
            eyes.notice = Some(format!("{} is on a file system that does not tell of changes", root.path.display()));
            return eyes;
        }
        match notify::recommended_watcher(move |event| tell(event, &send, &overrun)) {
            Ok(watcher) => eyes.watcher = Some(watcher),
            Err(error) => eyes.notice = Some(format!("the system cannot watch files ({error})")),
        }
        eyes.find_new_roots(roots);
        eyes
    }

    /// Whether we have to look for ourselves.
    pub(super) fn is_blind(&self) -> bool {
        self.watcher.is_none()
    }

    /// Why we are blind, once.
    pub(super) fn take_notice(&mut self) -> Option<String> {
        self.notice.take()
    }

    /// Begins to watch what was not there before; says whether there was any.
    pub(super) fn find_new_roots(&mut self, roots: &[Root]) -> bool {
        let before = self.watched.len();
        for root in roots {
            // The history and the folder of projects are directly in a root; all else is below the projects.
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

    /// Waits for something to be seen.
    pub(super) fn wait(&mut self, patience: Duration) -> Option<Seen> {
        if self.overrun.swap(false, Ordering::Relaxed) {
            return Some(Seen::Everything);
        }
        // A channel nobody can write to any more ends the wait at once.
        if self.watcher.is_none() {
            std::thread::sleep(patience);
            return None;
        }
        match self.told.recv_timeout(patience).ok()? {
            Report::Seen(seen) => Some(seen),
            Report::Lost(folder) => {
                self.watched.remove(&folder);
                Some(Seen::Everything)
            }
            Report::Limit(reason) => {
                self.close(reason);
                Some(Seen::Everything)
            }
        }
    }
}

/// Hears the system, in its own thread. Says little: most events are of no interest.
fn tell(event: notify::Result<notify::Event>, send: &SyncSender<Report>, overrun: &AtomicBool) {
    let told = match event {
        Ok(event) => understand(&event),
        Err(error) => vec![Report::Limit(format!("the system cannot watch all folders ({error})"))],
    };
    for one in told {
        if let Err(TrySendError::Full(_)) = send.try_send(one) {
            overrun.store(true, Ordering::Relaxed);
        }
    }
}

fn understand(event: &notify::Event) -> Vec<Report> {
    if event.need_rescan() {
        return vec![Report::Seen(Seen::Everything)];
    }
    let of_interest = event.paths.iter().filter(|path| may_matter(path));
    match event.kind {
        // We ourselves open files, and so does everybody else.
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => Vec::new(),
        EventKind::Create(CreateKind::Folder) => vec![Report::Seen(Seen::Everything)],
        EventKind::Remove(_) => event.paths.iter().map(|path| Report::Lost(path.clone())).collect(),
        EventKind::Modify(ModifyKind::Name(_)) => of_interest.map(|_| Report::Seen(Seen::Everything)).collect(),
        _ => of_interest.map(|path| Report::Seen(Seen::File(path.clone()))).collect(),
    }
}

/// Whether a name may be that of something to be indexed, or of a folder.
fn may_matter(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_string_lossy());
    let is_spill = || path.components().any(|part| part.as_os_str() == "tool-results");
    matches!(extension.as_deref(), None | Some("jsonl" | "json")) || is_spill()
}

/// Whether a folder is on another machine, whose changes the kernel does not hear of.
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
    fn names_that_may_matter() {
        for (path, matters) in [
            ("/r/projects/p/a.jsonl", true),
            ("/r/projects/p/s/subagents/agent-1.meta.json", true),
            ("/r/projects/p/s/tool-results/x.txt", true),
            ("/r/projects/p/new-folder", true),
            ("/r/projects/p/memory/MEMORY.md", false),
            ("/r/history.jsonl", true),
            ("/r/settings.json.tmp", false),
        ] {
            assert_eq!(may_matter(Path::new(path)), matters, "{path}");
        }
    }
}
