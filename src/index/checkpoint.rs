//! What was read of each file, kept as a document in the same commit as the text itself, so that the two can
//! never disagree, whenever the power goes.

use std::collections::HashMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::document::{Builder, Document, FileState};
use crate::index::file_key::{FileKey, hex, kind_code, kind_of, path_of};
use crate::index::file_summary::{self, FileSummary};
use crate::transcript::discover::{Source, SourceKind, Stat};

/// The number of the reading: raised when the same transcript would give other documents. Files read by an older
/// number are read again, a commit at a time, while search goes on.
///
/// 1. First reading.
pub const PARSER_VERSION: u32 = 1;

/// What stands in place of a fingerprint for a file that is gone.
pub(in crate::index) const GONE: u64 = 1;
/// What stands in place of a fingerprint for a file that is to be left alone.
pub(in crate::index) const FORGOTTEN: u64 = 2;

/// What was read of one file, and in which state the file was.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Checkpoint {
    path: String,
    /// The path's bytes in hexadecimal, where it is not UTF-8.
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
    /// End of the last line that was read.
    pub offset: u64,
    /// Lines read to their end.
    pub lines: u64,
    /// Fingerprint of the first bytes read.
    pub head: u64,
    /// Fingerprint of the last bytes read.
    pub tail: u64,
    /// Checksum of all bytes read.
    pub chain: u32,
    /// Since when the file is no longer there, in milliseconds since 1970.
    pub gone_since: Option<i64>,
    /// Whether the user wants nothing of it in the index, now or later.
    pub forgotten: bool,
    /// What the lines read so far say.
    pub state: FileState,
}

impl Checkpoint {
    /// Begins the record of a file nothing was read of yet.
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

    /// Notes the state in which the file was seen.
    pub fn seen(&mut self, source: &Source, stat: Stat) {
        (self.dev, self.ino, self.size, self.mtime_ns) = (stat.dev, stat.ino, stat.size, stat.mtime_ns);
        let meta = source.meta.as_ref().map(|(_, stat)| *stat).unwrap_or_default();
        (self.meta_size, self.meta_mtime_ns) = (meta.size, meta.mtime_ns);
        self.parser = PARSER_VERSION;
        self.gone_since = None;
    }

    /// Whether the file, found in this state, may be another, or of the same length and changed.
    pub fn is_rewritten_at(&self, stat: Stat) -> bool {
        let known = self.stat();
        stat.size == known.size && stat != known || (stat.dev, stat.ino) != (known.dev, known.ino)
    }

    /// Makes sure that all of the file is read again next time.
    #[must_use]
    pub fn outdated(self) -> Self {
        Self { parser: 0, ..self }
    }

    /// Makes sure that the file is looked at again next time.
    pub fn forget_stat(&mut self) {
        (self.size, self.mtime_ns) = (0, 0);
    }

    /// A mark for a session that is to be left alone and has no file of its own: only the history beside `history` names it.
    pub fn forgotten_in(history: &Self, session: &str) -> Self {
        let path = history.path().with_file_name("forgotten").join(session);
        let kind = kind_code(SourceKind::Session);
        let path = path.to_string_lossy().into_owned();
        Self { path, kind, session: session.to_string(), ..Self::default() }.forgotten()
    }

    /// Keeps of a file only that it is to be left alone.
    #[must_use]
    pub fn forgotten(self) -> Self {
        let state = FileState { session: self.state.session, ..FileState::default() };
        Self { forgotten: true, state, offset: 0, lines: 0, head: 0, tail: 0, chain: 0, ..self }
    }

    /// Notes that the file is there no more.
    #[must_use]
    pub fn gone(mut self, now: i64) -> Self {
        self.gone_since = self.gone_since.or(Some(now));
        self
    }

    /// The name that the file gives its session, as a document.
    pub fn title(&self) -> Option<Document> {
        Builder::new(self.source_kind(), self.session_id(), self.agent_id(), self.state.clone()).title()
    }

    /// Where the file is, or was.
    pub fn path(&self) -> PathBuf {
        path_of(&self.path, self.path_hex.as_deref())
    }

    /// The file's key.
    pub fn key(&self) -> FileKey {
        FileKey::of(&self.path())
    }

    /// What the file holds.
    pub fn source_kind(&self) -> SourceKind {
        kind_of(self.kind)
    }

    /// What an answer says of the file and its session.
    pub fn summary(&self) -> FileSummary {
        let state = &self.state;
        let stand_ins = [&state.first_prompt, &state.first_command, &state.summary];
        FileSummary {
            path: self.path.clone(),
            path_hex: self.path_hex.clone(),
            kind: self.kind,
            gone_since: self.gone_since,
            name: state.title().or(state.last_prompt.as_deref()).map(file_summary::brief),
            stand_in: stand_ins.into_iter().flatten().next().map(|text| file_summary::brief(text)),
            description: state.description.as_deref().map(file_summary::brief),
            project: state.project.as_deref().map(file_summary::cut),
            branch: state.branch.as_deref().map(file_summary::cut),
            first: state.first,
            last: state.last,
            lines: self.lines,
        }
    }

    /// The session the file belongs to. The history belongs to none, whichever it names first.
    pub fn session_id(&self) -> &str {
        if self.source_kind() == SourceKind::History {
            return "";
        }
        if self.session.is_empty() { self.state.session.as_deref().unwrap_or_default() } else { &self.session }
    }

    /// The subagent the file belongs to.
    pub fn agent_id(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// The file as it was when it was read.
    pub fn stat(&self) -> Stat {
        Stat { dev: self.dev, ino: self.ino, size: self.size, mtime_ns: self.mtime_ns }
    }

    /// Whether an older program read it.
    pub fn is_outdated(&self) -> bool {
        self.parser != PARSER_VERSION
    }

    /// Whether the description beside it has changed.
    pub fn meta_differs(&self, source: &Source) -> bool {
        let meta = source.meta.as_ref().map(|(_, stat)| *stat).unwrap_or_default();
        (self.meta_size, self.meta_mtime_ns) != (meta.size, meta.mtime_ns)
    }

    /// Whether a file is just as it was when it was read.
    pub fn is_as(&self, source: &Source) -> bool {
        self.stat_key() == source_stat_key(source)
    }

    /// Whether it may be the same file under a new name.
    pub fn may_be(&self, source: &Source) -> bool {
        let same_place = self.ino != 0 && (self.dev, self.ino) == (source.stat.dev, source.stat.ino);
        (same_place || self.session == source.session)
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

/// What the index knows of all files, as little as tells which have changed.
#[derive(Clone, Debug, Default)]
pub struct Known(pub(super) HashMap<FileKey, u64>);

impl Known {
    /// Whether a file is just as it was when it was last read.
    pub fn is_current(&self, source: &Source) -> bool {
        let known = self.0.get(&FileKey::of(&source.path));
        known == Some(&FORGOTTEN) || known == Some(&source_stat_key(source))
    }

    /// The files that were there last time, by their keys.
    pub fn present(&self) -> impl Iterator<Item = FileKey> + '_ {
        self.0.iter().filter(|(_, stat)| **stat != GONE && **stat != FORGOTTEN).map(|(key, _)| *key)
    }
}

fn source_stat_key(source: &Source) -> u64 {
    let meta = source.meta.as_ref().map(|(_, stat)| *stat).unwrap_or_default();
    stat_key(source.stat, meta, PARSER_VERSION)
}

/// One number for the state of a file. That two states share it by chance is as likely as a bit flip.
fn stat_key(stat: Stat, meta: Stat, parser: u32) -> u64 {
    let mut bytes = Vec::with_capacity(56);
    for number in [stat.dev, stat.ino, stat.size, meta.size, u64::from(parser)] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&stat.mtime_ns.to_le_bytes());
    bytes.extend_from_slice(&meta.mtime_ns.to_le_bytes());
    xxh3_64(&bytes).max(FORGOTTEN + 1)
}
