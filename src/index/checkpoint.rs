//! Checkpoints: how far each transcript file was read, and the state of the file at that time.
//!
//! A checkpoint is stored as a document in the same commit as the text itself, so the two always agree, even after a
//! power cut.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::document::{Builder, Document, FileState};
use crate::index::file_key::{FileKey, hex, kind_code, kind_of, path_of};
use crate::index::file_summary::{self, FileSummary};
use crate::transcript::discover::{Source, SourceKind, Stat};

/// Version of the transcript reader. Raise it when the same transcript would give different documents. Files read by an
/// older version are read again, one commit at a time, while search keeps working.
///
/// 1. First version.
pub const PARSER_VERSION: u32 = 1;

/// Stored instead of the state hash for a file that no longer exists.
pub(in crate::index) const GONE: u64 = 1;
/// Stored instead of the state hash for a file that must not be read.
pub(in crate::index) const FORGOTTEN: u64 = 2;

/// The position up to which one file was read, and the state of the file at that time.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Checkpoint {
    path: String,
    /// The path's bytes in hexadecimal, if the path is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    kind: u8,
    session: String,
    agent: Option<String>,
    dev: u64,
    ino: u64,
    size: u64,
    mtime_ns: i64,
    meta_size: u64,
    meta_mtime_ns: i64,
    parser: u32,
    /// End of the last line read, as a byte offset.
    pub offset: u64,
    /// Number of complete lines read.
    pub lines: u64,
    /// Hash of the first bytes read.
    pub head: u64,
    /// Hash of the last bytes read.
    pub tail: u64,
    /// Checksum of all bytes read.
    #[serde(rename = "chain")]
    pub checksum: u32,
    /// Time since which the file no longer exists, in milliseconds since 1970.
    pub gone_since: Option<i64>,
    /// Set when the user removed the file from the index for good.
    pub forgotten: bool,
    /// Facts collected from the lines read so far.
    pub state: FileState,
}

impl Checkpoint {
    /// Reports whether the file makes its session worth listing. A transcript without any message or title does not.
    pub fn is_worth_listing(&self) -> bool {
        let state = &self.state;
        let is_empty = state.documents == 0 && state.subagents_seen.is_empty() && state.title().is_none();
        match self.source_kind() {
            SourceKind::Agent => !self.forgotten,
            SourceKind::Session => !self.forgotten && !is_empty,
            _ => false,
        }
    }

    /// Creates the checkpoint of a file that was not read yet.
    pub fn begin(source: &Source) -> Self {
        let path = source.path.to_string_lossy().into_owned();
        let path_hex = source.path.to_str().is_none().then(|| hex(source.path.as_os_str()));
        let mut checkpoint = Self {
            path,
            path_hex,
            kind: kind_code(source.kind),
            session: source.session.clone(),
            agent: source.agent.clone(),
            ..Self::default()
        };
        checkpoint.seen(source, source.stat);
        checkpoint
    }

    /// Records the current state of the file.
    pub fn seen(&mut self, source: &Source, stat: Stat) {
        (self.dev, self.ino, self.size, self.mtime_ns) = (stat.dev, stat.ino, stat.size, stat.mtime_ns);
        let meta = source.meta.as_ref().map(|(_, stat)| *stat).unwrap_or_default();
        (self.meta_size, self.meta_mtime_ns) = (meta.size, meta.mtime_ns);
        self.parser = PARSER_VERSION;
        self.gone_since = None;
    }

    /// Reports whether a file in state `stat` may be another file, or the same length with other content.
    pub fn is_rewritten_at(&self, stat: Stat) -> bool {
        let last = self.stat();
        stat.size == last.size && stat != last || (stat.dev, stat.ino) != (last.dev, last.ino)
    }

    /// Makes the next run read the whole file again.
    #[must_use]
    pub fn outdated(self) -> Self {
        Self { parser: 0, ..self }
    }

    /// Makes the next run look at the file again.
    pub fn forget_stat(&mut self) {
        (self.size, self.mtime_ns) = (0, 0);
    }

    /// Returns a forgotten checkpoint for a session without a transcript, which only the prompt history mentions. Its
    /// path is made up and lies next to that of `history`.
    pub fn forgotten_in(history: &Self, session: &str) -> Self {
        let path = history.path().with_file_name("forgotten").join(session);
        let kind = kind_code(SourceKind::Session);
        let path = path.to_string_lossy().into_owned();
        Self { path, kind, session: session.to_string(), ..Self::default() }.forgotten()
    }

    /// Creates the checkpoint of a file that no longer exists, if its own was lost with a damaged index. If the file
    /// appears again, it is read from the start.
    pub fn salvaged(path: &Path, kind: SourceKind, session: &str, agent: Option<&str>) -> Self {
        Self {
            path: path.to_string_lossy().into_owned(),
            path_hex: path.to_str().is_none().then(|| hex(path.as_os_str())),
            kind: kind_code(kind),
            session: session.to_string(),
            agent: agent.map(str::to_string),
            ..Self::default()
        }
    }

    /// The same, with what a summary of the file says.
    pub(super) fn from_summary(summary: &FileSummary, session: &str) -> Self {
        let path = summary.path();
        let stem = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
        let agent = stem.strip_prefix("agent-").filter(|_| summary.source_kind() == SourceKind::Agent);
        let state = FileState {
            project: summary.project.clone(),
            cwd: summary.project.clone(),
            branch: summary.branch.clone(),
            first: summary.first,
            last: summary.last,
            last_prompt: summary.name.clone(),
            first_prompt: summary.fallback_name.clone(),
            description: summary.description.clone(),
            ..FileState::default()
        };
        let salvaged = Self::salvaged(&path, summary.source_kind(), session, agent);
        Self { gone_since: summary.gone_since, lines: summary.lines, state, ..salvaged }
    }

    /// Drops everything about the file except that it must not be read.
    #[must_use]
    pub fn forgotten(self) -> Self {
        let state = FileState { session: self.state.session, ..FileState::default() };
        Self { forgotten: true, state, offset: 0, lines: 0, head: 0, tail: 0, checksum: 0, ..self }
    }

    /// Records that the file no longer exists.
    #[must_use]
    pub fn gone(mut self, now: i64) -> Self {
        self.gone_since = self.gone_since.or(Some(now));
        self
    }

    /// Returns the session title found in the file, as a document.
    pub fn title(&self) -> Option<Document> {
        Builder::new(self.source_kind(), self.session_id(), self.agent_id(), self.state.clone()).title()
    }

    /// The path of the file, even if the file no longer exists.
    pub fn path(&self) -> PathBuf {
        path_of(&self.path, self.path_hex.as_deref())
    }

    /// The file's key.
    pub fn key(&self) -> FileKey {
        FileKey::of(&self.path())
    }

    /// The kind of content in the file.
    pub fn source_kind(&self) -> SourceKind {
        kind_of(self.kind)
    }

    /// Returns the summary of the file and its session that search results show.
    pub fn summary(&self) -> FileSummary {
        let state = &self.state;
        FileSummary {
            path: self.path.clone(),
            path_hex: self.path_hex.clone(),
            kind: self.kind,
            gone_since: self.gone_since,
            name: state.name().map(file_summary::brief),
            fallback_name: state.fallback_name().map(file_summary::brief),
            description: state.description.as_deref().map(file_summary::brief),
            project: state.project.as_deref().map(file_summary::cut),
            branch: state.branch.as_deref().map(file_summary::cut),
            first: state.first,
            last: state.last,
            lines: self.lines,
            bytes: self.offset,
            skipped_types: file_summary::first_types(&state.skipped_types),
            unknown: state.unknown,
        }
    }

    /// The session the file belongs to. Empty for the prompt history, whichever session it names first.
    pub fn session_id(&self) -> &str {
        if self.source_kind() == SourceKind::History {
            return "";
        }
        if self.session.is_empty() { self.state.session.as_deref().unwrap_or_default() } else { &self.session }
    }

    /// The subagent the file belongs to, if any.
    pub fn agent_id(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// The state of the file when it was read.
    pub fn stat(&self) -> Stat {
        Stat { dev: self.dev, ino: self.ino, size: self.size, mtime_ns: self.mtime_ns }
    }

    /// Reports whether another version of the reader read the file.
    pub fn is_outdated(&self) -> bool {
        self.parser != PARSER_VERSION
    }

    /// Reports whether the description file next to it has changed.
    pub fn meta_differs(&self, source: &Source) -> bool {
        let meta = source.meta.as_ref().map(|(_, stat)| *stat).unwrap_or_default();
        (self.meta_size, self.meta_mtime_ns) != (meta.size, meta.mtime_ns)
    }

    /// Reports whether the file is unchanged since it was read.
    pub fn is_as(&self, source: &Source) -> bool {
        self.stat_key() == source_stat_key(source)
    }

    /// Reports whether `source` may be the same file under a new name.
    pub fn may_be(&self, source: &Source) -> bool {
        let same_inode = self.ino != 0 && (self.dev, self.ino) == (source.stat.dev, source.stat.ino);
        (same_inode || self.session == source.session)
            && self.kind == kind_code(source.kind)
            && self.offset <= source.stat.size
    }

    pub(super) fn stat_key(&self) -> u64 {
        if self.forgotten {
            return FORGOTTEN;
        }
        if self.gone_since.is_some() {
            return GONE;
        }
        let meta = Stat { size: self.meta_size, mtime_ns: self.meta_mtime_ns, ..Stat::default() };
        stat_key(self.stat(), meta, self.parser)
    }
}

/// The state hash of every indexed file: just enough to see which files have changed.
#[derive(Clone, Debug, Default)]
pub struct Known(pub(super) HashMap<FileKey, u64>);

impl Known {
    /// Reports whether the file is unchanged since it was last read.
    pub fn is_current(&self, source: &Source) -> bool {
        let known = self.0.get(&FileKey::of(&source.path));
        known == Some(&FORGOTTEN) || known == Some(&source_stat_key(source))
    }

    /// The keys of the files that existed in the last run.
    pub fn present(&self) -> impl Iterator<Item = FileKey> + '_ {
        self.0.iter().filter(|(_, stat)| **stat != GONE && **stat != FORGOTTEN).map(|(key, _)| *key)
    }
}

fn source_stat_key(source: &Source) -> u64 {
    let meta = source.meta.as_ref().map(|(_, stat)| *stat).unwrap_or_default();
    stat_key(source.stat, meta, PARSER_VERSION)
}

/// Hashes the state of a file. Two states have the same hash by chance about as often as a bit flips in memory.
fn stat_key(stat: Stat, meta: Stat, parser: u32) -> u64 {
    let mut bytes = Vec::with_capacity(56);
    for number in [stat.dev, stat.ino, stat.size, meta.size, u64::from(parser)] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&stat.mtime_ns.to_le_bytes());
    bytes.extend_from_slice(&meta.mtime_ns.to_le_bytes());
    xxh3_64(&bytes).max(FORGOTTEN + 1)
}
