//! The lines of a backup.

use serde::{Deserialize, Serialize};

use crate::document::{Document, Kind};
use crate::index::Checkpoint;

/// The name of the format, in the header.
pub(super) const NAME: &str = "unspool-backup";
/// The version of the format. Raise it when older programs must not read new backups.
pub(super) const VERSION: u32 = 1;

/// The first line.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Header {
    pub(super) format: String,
    pub(super) version: u32,
    /// The version of unspool.
    pub(super) program: String,
    /// The time it was written, as text for people.
    pub(super) created: String,
    pub(super) roots: Vec<String>,
    /// Number of files.
    pub(super) files: u64,
}

/// The last line.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub(super) struct End {
    /// Number of files. A file that continues in another frame counts once.
    pub(super) files: u64,
    /// Number of documents.
    pub(super) documents: u64,
    /// The SHA-256 of all lines before this one, in hexadecimal.
    pub(super) sha256: String,
}

/// A line, as it is read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    Header(Header),
    File(Box<Checkpoint>),
    Document(Box<StoredDocument>),
    End(End),
}

/// A line, as it is written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LineRef<'a> {
    Header(&'a Header),
    File(&'a Checkpoint),
    Document { text: &'a str, meta: &'a Document },
    End(&'a End),
}

/// A document, as it is read.
#[derive(Debug, Deserialize)]
pub(super) struct StoredDocument {
    text: String,
    meta: Document,
}

impl StoredDocument {
    pub(super) fn into_document(self) -> Document {
        self.meta.with_raw(self.text)
    }
}

impl<'a> LineRef<'a> {
    /// Returns the line of a document.
    pub(super) fn of(document: &'a Document) -> Self {
        Self::Document { text: document.input.as_ref().unwrap_or(&document.text), meta: document }
    }
}

/// Reports whether the checkpoint of a file counts a document: it is not a copy of a subagent's message.
pub(super) fn is_counted(document: &Document) -> bool {
    document.seen_via_agent.is_none()
}

/// Reports whether a document is a session title derived from the state of a file. It is not stored: it can be derived
/// again.
pub(super) fn is_derived(document: &Document) -> bool {
    document.kind == Kind::Title && document.line == 0
}
