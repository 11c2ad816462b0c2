//! Looks up messages in the subagents' own transcripts while the transcripts of their parents are read. A subagent's
//! message in a parent's transcript is left out if the subagent's own transcript contains it.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use xxhash_rust::xxh3::xxh3_64;

use crate::document::OwnTranscripts;
use crate::index::FileKey;
use crate::transcript::discover::{Scan, Source, SourceKind};
use crate::transcript::lines::Transcript;
use crate::transcript::{self, ParsedRecord};

/// The subagents that have a transcript of their own.
#[derive(Debug)]
pub(super) struct Agents<'a> {
    /// The transcripts, by the id of the subagent. Subagents of two sessions may have the same id.
    files: HashMap<&'a str, Vec<&'a Source>>,
    /// The ids in each transcript that was read so far.
    found: Mutex<HashMap<FileKey, Arc<Ids>>>,
    /// Subagents with messages in a parent's transcript that their own transcript did not contain when it was read.
    incomplete: Mutex<HashSet<String>>,
}

/// The ids in a transcript.
#[derive(Debug, Default)]
struct Ids {
    /// The session it belongs to, from its first line.
    session: Option<String>,
    /// Hashes of the line ids.
    lines: HashSet<u64>,
}

impl<'a> Agents<'a> {
    pub(super) fn new(scan: &'a Scan) -> Self {
        let mut files: HashMap<&str, Vec<&Source>> = HashMap::new();
        for source in scan.sources.iter().filter(|source| source.kind == SourceKind::Agent) {
            if let Some(agent) = &source.agent {
                files.entry(agent).or_default().push(source);
            }
        }
        Self { files, found: Mutex::default(), incomplete: Mutex::default() }
    }

    /// Reports whether this run found a message of a subagent that its own transcript did not contain.
    pub(super) fn lacked_message(&self, agent: &str) -> bool {
        self.incomplete.lock().unwrap_or_else(PoisonError::into_inner).contains(agent)
    }

    fn ids_in(&self, source: &Source) -> Arc<Ids> {
        let key = FileKey::of(&source.path);
        let cached = self.found.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        cached.unwrap_or_else(|| {
            // A transcript that cannot be read contains no ids.
            let ids = Arc::new(ids_in(&source.path).unwrap_or_default());
            self.found.lock().unwrap_or_else(PoisonError::into_inner).insert(key, ids.clone());
            ids
        })
    }
}

impl OwnTranscripts for Agents<'_> {
    fn hold(&self, session: &str, agent: &str, uuid: &str) -> bool {
        let Some(files) = self.files.get(agent) else { return false };
        let hash = xxh3_64(uuid.as_bytes());
        let contains = |source: &&Source| {
            if !source.session.is_empty() && source.session != session {
                return false;
            }
            let ids = self.ids_in(source);
            // The path of an older file does not show its session.
            let is_own = !source.session.is_empty() || ids.session.as_deref() == Some(session);
            is_own && ids.lines.contains(&hash)
        };
        let is_contained = files.iter().any(contains);
        if !is_contained {
            self.incomplete.lock().unwrap_or_else(PoisonError::into_inner).insert(agent.to_string());
        }
        is_contained
    }
}

/// Reads the ids in a transcript, up to the point where the index will read it: a line that is incomplete or not a
/// record has no id.
fn ids_in(path: &Path) -> io::Result<Ids> {
    let mut transcript = Transcript::open(path)?;
    let mut lines = transcript.lines(0, 0, transcript::whole_records)?;
    let mut ids = Ids::default();
    while let Some(line) = lines.next()? {
        if !line.oversized {
            transcript::read_line(line.bytes, &mut |_, reading| ids.take(&reading));
        }
    }
    Ok(ids)
}

impl Ids {
    fn take(&mut self, reading: &ParsedRecord<'_>) {
        let ParsedRecord::Event(event) = reading else { return };
        self.lines.extend(event.uuid.as_deref().map(|uuid| xxh3_64(uuid.as_bytes())));
        if self.session.is_none() {
            self.session = event.session.as_deref().map(str::to_string);
        }
    }
}
