//! What the transcripts of subagents hold, asked while those of their parents are read: what a parent saw of a subagent is
//! left out where the subagent's own transcript has it.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use xxhash_rust::xxh3::xxh3_64;

use crate::document::OwnTranscripts;
use crate::index::FileKey;
use crate::transcript::discover::{Scan, Source, SourceKind};
use crate::transcript::lines::Transcript;
use crate::transcript::{self, Reading};

/// The subagents that have a transcript of their own.
#[derive(Debug)]
pub(super) struct Agents<'a> {
    /// The transcripts, by the id of the subagent; those of two sessions may have the same.
    files: HashMap<&'a str, Vec<&'a Source>>,
    /// What was found in them.
    found: Mutex<HashMap<FileKey, Arc<Ids>>>,
    /// Subagents of which something was seen that their transcripts did not have when they were asked.
    behind: Mutex<HashSet<String>>,
}

/// The ids in a transcript.
#[derive(Debug, Default)]
struct Ids {
    /// The session it belongs to, as the first of its lines has it.
    session: Option<String>,
    /// Fingerprints of the ids of lines.
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
        Self { files, found: Mutex::default(), behind: Mutex::default() }
    }

    /// Whether something was seen of a subagent in this run that its transcript did not have.
    pub(super) fn is_behind(&self, agent: &str) -> bool {
        self.behind.lock().unwrap_or_else(PoisonError::into_inner).contains(agent)
    }

    fn ids_in(&self, source: &Source) -> Arc<Ids> {
        let key = FileKey::of(&source.path);
        let known = self.found.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        known.unwrap_or_else(|| {
            // What cannot be read holds nothing that could be found.
            let ids = Arc::new(ids_in(&source.path).unwrap_or_default());
            self.found.lock().unwrap_or_else(PoisonError::into_inner).insert(key, ids.clone());
            ids
        })
    }
}

impl OwnTranscripts for Agents<'_> {
    fn hold(&self, session: &str, agent: &str, uuid: &str) -> bool {
        let Some(files) = self.files.get(agent) else { return false };
        let print = xxh3_64(uuid.as_bytes());
        let holds = |source: &&Source| {
            if !source.session.is_empty() && source.session != session {
                return false;
            }
            let ids = self.ids_in(source);
            // Older files do not say by their place whose they are.
            let is_own = !source.session.is_empty() || ids.session.as_deref() == Some(session);
            is_own && ids.lines.contains(&print)
        };
        let held = files.iter().any(holds);
        if !held {
            self.behind.lock().unwrap_or_else(PoisonError::into_inner).insert(agent.to_string());
        }
        held
    }
}

/// Reads a transcript as far as it will be read for the index: of a line that is half written or no record, nothing is
/// found by its id.
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
    fn take(&mut self, reading: &Reading<'_>) {
        let Reading::Event(event) = reading else { return };
        self.lines.extend(event.uuid.as_deref().map(|uuid| xxh3_64(uuid.as_bytes())));
        if self.session.is_none() {
            self.session = event.session.as_deref().map(str::to_string);
        }
    }
}
