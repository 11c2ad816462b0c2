//! An index that a new one replaces: readable as a whole, or damaged and salvaged from its store files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::document::Document;
use crate::error::Result;
use crate::index::checkpoint::Checkpoint;
use crate::index::file_key::FileKey;
use crate::index::read::Reader;
use crate::index::salvage::{OldFile, Salvage};

/// An index to copy from.
#[derive(Debug)]
pub struct Predecessor {
    path: PathBuf,
    contents: Contents,
}

#[derive(Debug)]
enum Contents {
    Intact(Box<Reader>),
    Salvaged(Box<Salvage>),
}

impl Predecessor {
    /// Salvages what is left of the damaged index in a folder.
    pub(in crate::index) fn salvage(path: &Path) -> Result<Self> {
        Ok(Self::of(path, Contents::Salvaged(Box::new(Salvage::open(path)?))))
    }

    /// Opens the index in a folder, if everything in it can be read.
    pub(in crate::index) fn open_intact(path: &Path) -> Option<Self> {
        let reader = Reader::open_any(path).ok()?;
        reader.check_sums().ok()?;
        Some(Self::of(path, Contents::Intact(Box::new(reader))))
    }

    fn of(path: &Path, contents: Contents) -> Self {
        Self { path: path.to_path_buf(), contents }
    }

    /// The path of the index folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns all files, sorted by path. Those without a checkpoint come last.
    pub fn files(&self) -> Result<Vec<OldFile>> {
        let of_checkpoint =
            |checkpoint: Checkpoint| OldFile { key: checkpoint.key(), checkpoint: Some(checkpoint), documents: None };
        match &self.contents {
            Contents::Intact(reader) => Ok(reader.checkpoints()?.into_iter().map(of_checkpoint).collect()),
            Contents::Salvaged(salvage) => Ok(salvage.files()),
        }
    }

    /// Returns all readable documents of a file, in order.
    pub fn documents_of(&self, key: FileKey) -> Result<Vec<Document>> {
        match &self.contents {
            Contents::Intact(reader) => reader.documents_of(key),
            Contents::Salvaged(salvage) => salvage.documents_of(key),
        }
    }

    /// Returns the sessions that the user removed from the index for good.
    pub fn forgotten_sessions(&self) -> HashSet<String> {
        match &self.contents {
            Contents::Intact(reader) => reader.forgotten_sessions().unwrap_or_default(),
            Contents::Salvaged(salvage) => salvage.forgotten_sessions(),
        }
    }

    /// Reports whether the index was damaged.
    pub fn is_salvaged(&self) -> bool {
        matches!(self.contents, Contents::Salvaged(_))
    }

    /// Reports whether files may be lost without a trace of their names.
    pub fn has_unnamed_losses(&self) -> bool {
        matches!(&self.contents, Contents::Salvaged(salvage) if salvage.has_unnamed_losses())
    }
}
