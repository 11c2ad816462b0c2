//! A short description of a session.

use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;

use crate::archive::serialize::rfc3339;
use crate::archive::title::{one_line_of, title_of};
use crate::document::Document;
use crate::error::Result;
use crate::index::{FileKey, FileSummary, Reader};
use crate::transcript::discover::SourceKind;
use crate::untrusted::Untrusted;

/// A short description of a session.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SessionInfo {
    /// Its id.
    pub id: Untrusted,
    /// Its title.
    pub title: Untrusted,
    /// The folder it was started in.
    pub project: Untrusted,
    /// Its last git branch.
    pub branch: Untrusted,
    /// The time of its first message.
    #[serde(serialize_with = "rfc3339")]
    pub first: Option<i64>,
    /// The time of its last message.
    #[serde(serialize_with = "rfc3339")]
    pub last: Option<i64>,
    /// Set if Claude Code has deleted its transcript.
    pub gone: bool,
    /// Set if only transcripts of its subagents are known.
    pub agents_only: bool,
    /// Set if only its prompts are known, from the prompt history.
    pub history_only: bool,
}

impl SessionInfo {
    /// Reports whether Claude Code still has the transcript that it needs to resume the session.
    pub fn can_be_resumed(&self) -> bool {
        !(self.gone || self.agents_only || self.history_only)
    }

    /// Reports whether the folder it was started in is known and does not exist. Looks at the disk.
    pub fn folder_is_missing(&self) -> bool {
        let folder = self.project.raw();
        !folder.is_empty() && matches!(Path::new(folder).try_exists(), Ok(false))
    }
}

/// Looks up files and sessions in the index, each only once.
#[derive(Debug)]
pub(crate) struct Lookup<'r> {
    reader: &'r Reader,
    files: HashMap<FileKey, Option<FileSummary>>,
    sessions: HashMap<String, SessionInfo>,
}

impl<'r> Lookup<'r> {
    pub(crate) fn new(reader: &'r Reader) -> Self {
        Self { reader, files: HashMap::new(), sessions: HashMap::new() }
    }

    /// Returns the summary of a transcript, if it is in the index.
    pub(crate) fn file(&mut self, key: FileKey) -> Result<Option<FileSummary>> {
        if let Some(file) = self.files.get(&key) {
            return Ok(file.clone());
        }
        let file = self.reader.summary(key)?;
        self.files.insert(key, file.clone());
        Ok(file)
    }

    /// Returns the session that a document belongs to.
    pub(crate) fn session(&mut self, document: &Document) -> Result<SessionInfo> {
        if let Some(known) = self.sessions.get(&document.session) {
            return Ok(known.clone());
        }
        let file = main_file(self.reader, &document.session)?;
        let info = info_from(self.reader, &document.session, document, file.as_ref())?;
        if let Some(file) = file {
            self.files.insert(file.key(), Some(file));
        }
        self.sessions.insert(document.session.clone(), info.clone());
        Ok(info)
    }
}

fn main_file(reader: &Reader, session: &str) -> Result<Option<FileSummary>> {
    if session.is_empty() { Ok(None) } else { reader.session_summary(session) }
}

fn info_from(reader: &Reader, session: &str, hit: &Document, file: Option<&FileSummary>) -> Result<SessionInfo> {
    let Some(file) = file else {
        let project = hit.project.clone().unwrap_or_default();
        let title = one_line_of(&hit.text);
        return Ok(SessionInfo {
            id: session.into(),
            title,
            project: project.into(),
            first: hit.timestamp,
            last: hit.timestamp,
            history_only: true,
            ..SessionInfo::default()
        });
    };
    // A transcript with only a title does not name its folder, but those of its subagents do.
    let project = file.project.clone().or_else(|| hit.project.clone());
    Ok(SessionInfo {
        id: session.into(),
        title: one_line_of(&title_of(reader, session, file)?),
        project: project.unwrap_or_default().into(),
        branch: file.branch.clone().unwrap_or_default().into(),
        first: file.first,
        last: file.last,
        gone: file.gone_since.is_some(),
        agents_only: file.source_kind() != SourceKind::Session,
        history_only: false,
    })
}
