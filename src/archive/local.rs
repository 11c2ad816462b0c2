//! The embedded index as a [`Backend`].

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::archive::backend::Backend;
use crate::archive::backup::{self, Backup, BackupOptions, RestoreOptions, Restored};
use crate::archive::conversation::{self, ConversationAnswer};
use crate::archive::expiring_sessions::{Retention, retention};
use crate::archive::history::{self, FileAnswer};
use crate::archive::outline::{self, OutlineAnswer};
use crate::archive::removal::{self, Removed};
use crate::archive::request::{
    Context, ConversationRequest, FileRequest, OutlineRequest, SearchRequest, SessionsRequest,
};
use crate::archive::search::{self, SearchAnswer};
use crate::archive::sessions::{self, SessionsAnswer};
use crate::archive::status::{self, Status};
use crate::archive::verify::{self, Verdict};
use crate::error::{Error, ErrorKind, Result};
use crate::index::{IndexFolder, Reader};
use crate::transcript::discover::Root;
use crate::update::{UpdateOptions, Watch, update};

/// The index on this machine.
#[derive(Debug)]
pub struct Local {
    roots: Vec<Root>,
    folder: IndexFolder,
    open: Mutex<Option<Open>>,
}

/// An open index, and the commit that it shows.
#[derive(Debug)]
struct Open {
    stamp: Option<Vec<u8>>,
    reader: Arc<Reader>,
}

impl Local {
    /// Takes the folders with transcripts and the data folder. Opens nothing yet.
    pub fn new(roots: Vec<Root>, data_dir: &Path) -> Self {
        let mut roots: Vec<Root> = roots.into_iter().map(Root::canonical).collect();
        // Two spellings of one folder are one root.
        let mut seen = HashSet::new();
        roots.retain(|root| seen.insert(root.path.clone()));
        let folder = IndexFolder::new(data_dir, &roots);
        Self { roots, folder, open: Mutex::default() }
    }

    /// Returns the folders with transcripts.
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// Returns the folder of the index, which can be locked and changed.
    pub fn folder(&self) -> &IndexFolder {
        &self.folder
    }

    /// Opens the newest commit of the index, unless it is open already. Returns `None` if there is no index yet. All
    /// answers come from this commit until the next call.
    pub(crate) fn reopen(&self) -> Result<Option<Arc<Reader>>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = self.folder.stamp();
        if let Some(known) = open.as_ref().filter(|known| known.stamp == stamp) {
            return Ok(Some(known.reader.clone()));
        }
        let reader = self.folder.read()?.map(Arc::new);
        *open = reader.clone().map(|reader| Open { stamp, reader });
        Ok(reader)
    }

    /// Returns the open index. Opens it first if necessary.
    pub(crate) fn reader(&self) -> Result<Arc<Reader>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|open| open.reader.clone());
        match open {
            Some(reader) => Ok(reader),
            None => self.reopen()?.ok_or_else(no_index),
        }
    }

    /// Returns the path of the index.
    pub fn directory(&self) -> PathBuf {
        self.folder.directory()
    }

    /// Checks the index: its files against their checksums, every stored document, the documents against the checkpoints,
    /// and what was read of each transcript against the transcript. With `deep`, checks every byte of the transcripts.
    pub fn verify(&self, deep: bool) -> Result<Verdict> {
        let check = || self.folder.read()?.map(|reader| verify::verify(&reader, deep)).transpose();
        self.folder.retry_if_replaced(check)?.ok_or_else(no_index)
    }

    /// Returns what [`Self::prune`] would remove.
    pub fn prunable(&self) -> Result<Removed> {
        self.reopen()?.map(|reader| removal::gone(&reader)).transpose().map(Option::unwrap_or_default)
    }

    /// Removes the documents of deleted transcripts from the index.
    pub fn prune(&self, wait: Duration) -> Result<Removed> {
        removal::prune(&self.folder, wait)
    }

    /// Returns the whole id of the session that begins with `prefix`, and what [`Self::forget`] would remove.
    pub fn forgettable(&self, prefix: &str) -> Result<(String, Removed)> {
        removal::session_files(&*self.reader()?, prefix)
    }

    /// Removes a session and every word of it from the index, and keeps it out.
    pub fn forget(&self, session: &str, wait: Duration) -> Result<Removed> {
        removal::forget(&self.folder, session, wait)
    }

    /// Writes a backup of everything that only the index has, and of what only the existing backup has.
    pub fn backup(&self, path: &Path, all: bool, now: i64) -> Result<Backup> {
        if path.starts_with(self.directory()) {
            let message = format!("{} is in the folder of the index", path.display());
            return Err(Error::new(ErrorKind::Usage, message).hint("choose a file outside, preferably on another disk"));
        }
        let reader = self.reopen()?.ok_or_else(no_index)?;
        let roots = self.roots.iter().map(|root| root.path.to_string_lossy().into_owned()).collect();
        backup::create(&reader, path, &BackupOptions { now, all, roots })
    }

    /// Brings the index up to date, and then adds what a backup contains and the index does not.
    pub fn restore(&self, path: &Path, options: &RestoreOptions, watch: &dyn Watch) -> Result<Restored> {
        let update_options = UpdateOptions { now: options.now, wait: options.wait, ..UpdateOptions::default() };
        if update(&self.folder, &self.roots, &update_options, watch)?.interrupted {
            return Err(Error::new(ErrorKind::Interrupted, "interrupted; nothing was restored"));
        }
        backup::restore(&self.folder, path, options, watch)
    }

    /// Reports when the sessions of a root expire, if Claude Code deletes each one `days` after it was last written.
    pub fn retention(&self, status: &Status, root: &Path, days: u64, now: i64) -> Result<Retention> {
        Ok(retention(&status.scan, &self.reader()?.known()?, root, days, now))
    }
}

fn no_index() -> Error {
    Error::new(ErrorKind::Unusable, "there is no index yet").hint("run `unspool index`")
}

impl Backend for Local {
    fn search(&self, request: &SearchRequest, context: &Context) -> Result<SearchAnswer> {
        search::search(&*self.reader()?, request, context)
    }

    fn sessions(&self, request: &SessionsRequest, context: &Context) -> Result<SessionsAnswer> {
        sessions::answer(&*self.reader()?, request, context)
    }

    fn conversation(&self, request: &ConversationRequest, context: &Context) -> Result<ConversationAnswer> {
        conversation::answer(&self.reader()?, request, context)
    }

    fn outline(&self, request: &OutlineRequest) -> Result<OutlineAnswer> {
        outline::answer(&self.reader()?, request)
    }

    fn file(&self, request: &FileRequest, context: &Context) -> Result<FileAnswer> {
        history::answer(&*self.reader()?, request, context)
    }

    fn status(&self) -> Result<Status> {
        status::status(&*self.reader()?, &self.roots, self.folder.losses())
    }
}
