//! The embedded index as a [`Backend`].

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::archive::backend::Backend;
use crate::archive::conversation::{self, ConversationAnswer};
use crate::archive::history::{self, FileAnswer};
use crate::archive::request::{Context, ConversationRequest, FileRequest, SearchRequest, SessionsRequest};
use crate::archive::retention::{Retention, retention};
use crate::archive::search::{self, SearchAnswer};
use crate::archive::sessions::{self, SessionsAnswer};
use crate::archive::upkeep::{self, Removed, Status, Verdict};
use crate::error::{Error, ErrorKind, Result};
use crate::index::{IndexFolder, Reader};
use crate::transcript::discover::Root;

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
    /// Names the transcripts and the folder of the index. Opens nothing.
    pub fn new(roots: Vec<Root>, data_dir: &Path) -> Self {
        let folder = IndexFolder::new(data_dir, &roots);
        Self { roots, folder, open: Mutex::default() }
    }

    /// Returns the folders with transcripts.
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// Returns the folder of the index, and the right to change it.
    pub fn folder(&self) -> &IndexFolder {
        &self.folder
    }

    /// Opens the newest commit of the index, unless it is open already; none if there is no index yet. Until the next call,
    /// all answers come from this commit.
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

    /// Returns the open index, opening it first if need be.
    pub(crate) fn reader(&self) -> Result<Arc<Reader>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|open| open.reader.clone());
        match open {
            Some(reader) => Ok(reader),
            None => self.reopen()?.ok_or_else(no_index),
        }
    }

    /// Returns the folder of the index.
    pub fn directory(&self) -> PathBuf {
        self.folder.directory()
    }

    /// Checks an index: its files against their checksums, its documents against the checkpoints, and what was read of each
    /// transcript against the transcript; with `deep`, every byte of it and every stored document.
    pub fn verify(&self, deep: bool) -> Result<Verdict> {
        let check = || self.folder.read()?.map(|reader| upkeep::verify(&reader, deep)).transpose();
        self.folder.undisturbed(check)?.ok_or_else(no_index)
    }

    /// Returns what [`Self::prune`] would remove.
    pub fn prunable(&self) -> Result<Removed> {
        self.reopen()?.map(|reader| upkeep::gone(&reader)).transpose().map(Option::unwrap_or_default)
    }

    /// Removes everything from the index whose transcript is gone.
    pub fn prune(&self, wait: Duration) -> Result<Removed> {
        upkeep::prune(&self.folder, wait)
    }

    /// Returns the whole id of the session that begins with `prefix`, and what [`Self::forget`] would remove.
    pub fn forgettable(&self, prefix: &str) -> Result<(String, Removed)> {
        upkeep::session_files(&*self.reader()?, prefix)
    }

    /// Removes a session from the index, every word of it, and keeps it out.
    pub fn forget(&self, session: &str, wait: Duration) -> Result<Removed> {
        upkeep::forget(&self.folder, session, wait)
    }

    /// Reports what will become of the sessions of a root if Claude Code deletes each `days` after it was last written.
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

    fn file(&self, request: &FileRequest, context: &Context) -> Result<FileAnswer> {
        history::answer(&*self.reader()?, request, context)
    }

    fn status(&self) -> Result<Status> {
        upkeep::status(&*self.reader()?, &self.roots)
    }
}
