//! What the transcripts of subagents hold, asked while those of their parents are read: what a parent saw of a subagent is
//! left out where the subagent's own transcript has it.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read as _};
use std::sync::{Arc, Mutex, PoisonError};

use memchr::memmem;
use xxhash_rust::xxh3::xxh3_64;

use crate::discover::{Scan, Source, SourceKind};
use crate::document::OwnTranscripts;
use crate::index::FileKey;

/// How much of a transcript is looked through at a time.
const PIECE: usize = 1 << 20;
/// The longest id, with its key and what is around it.
const LONGEST: usize = 256;

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
            let ids = Arc::new(File::open(&source.path).and_then(ids_in).unwrap_or_default());
            self.found.lock().unwrap_or_else(PoisonError::into_inner).insert(key, ids.clone());
            ids
        })
    }
}

impl OwnTranscripts for Agents<'_> {
    fn hold(&self, session: &str, agent: &str, uuid: Option<&str>) -> bool {
        let Some(files) = self.files.get(agent) else { return false };
        let holds = |source: &&Source| {
            if !source.session.is_empty() && source.session != session {
                return false;
            }
            let ids = self.ids_in(source);
            // Older files do not say by their place whose they are.
            let is_own = !source.session.is_empty() || ids.session.as_deref() == Some(session);
            is_own && uuid.map_or(!ids.lines.is_empty(), |uuid| ids.lines.contains(&xxh3_64(uuid.as_bytes())))
        };
        let held = files.iter().any(holds);
        if !held {
            self.behind.lock().unwrap_or_else(PoisonError::into_inner).insert(agent.to_string());
        }
        held
    }
}

/// Looks for ids, without reading the lines they stand in.
fn ids_in(mut file: File) -> io::Result<Ids> {
    let [uuid, session] = ["\"uuid\"", "\"sessionId\""].map(memmem::Finder::new);
    let mut ids = Ids::default();
    let mut bytes = Vec::new();
    loop {
        let kept = bytes.len();
        file.by_ref().take(PIECE as u64).read_to_end(&mut bytes)?;
        for at in uuid.find_iter(&bytes) {
            ids.lines.extend(value_at(&bytes[at + uuid.needle().len()..]).map(xxh3_64));
        }
        if ids.session.is_none() {
            let at = session.find_iter(&bytes).find_map(|at| value_at(&bytes[at + session.needle().len()..]));
            ids.session = at.map(|id| String::from_utf8_lossy(id).into_owned());
        }
        if bytes.len() == kept {
            return Ok(ids);
        }
        // An id may be cut in two.
        bytes.drain(..bytes.len().saturating_sub(LONGEST));
    }
}

/// The string that is the value of a key, given what comes behind the key.
fn value_at(behind: &[u8]) -> Option<&[u8]> {
    let value = behind.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start().strip_prefix(b"\"")?;
    let value = &value[..value.len().min(LONGEST)];
    Some(&value[..memchr::memchr(b'"', value)?])
}
