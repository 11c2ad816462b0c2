//! Reads the structure of files from columns alone: the documents of a file in order, and the sessions, subagents and
//! messages whose id begins with a prefix.

use std::collections::HashSet;

use tantivy::collector::DocSetCollector;
use tantivy::columnar::Column;
use tantivy::query::{AllQuery, BooleanQuery, EnableScoring, Occur, Query as _};
use tantivy::schema::Field;
use tantivy::{DocAddress, DocId, Term};

use crate::document::{Document, Kind, Role};
use crate::error::Result;
use crate::index::checkpoint::Checkpoint;
use crate::index::file_key::FileKey;
use crate::index::read::{Reader, exact, holding};
use crate::index::schema::{CHECKPOINT_KIND, CONTINUED, from_class, session_key};
use crate::index::store::ids::{uuid_beginnings, uuid_bytes, whole_uuid};
use crate::query::Filter;
use crate::transcript::discover::SourceKind;

/// The address of a document, valid only for the [`Reader`] that returned it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Spot(pub(in crate::index) DocAddress);

/// A document of a file, as far as columns describe it.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub(in crate::index) address: DocAddress,
    /// The line number in the file.
    pub line: u64,
    offset: u64,
    part: u64,
    /// Set if it continues the text of the previous document.
    is_rest: bool,
    /// The speaker.
    pub role: Role,
    /// The kind of document.
    pub kind: Kind,
    /// Hash of a text that may occur more than once in a session; 0 if there is none.
    pub text_hash: u64,
    /// Time in milliseconds since 1970.
    pub time: Option<i64>,
}

impl Step {
    /// Returns where the document is stored.
    pub fn spot(&self) -> Spot {
        Spot(self.address)
    }

    /// Reports whether the document is the next piece of the same long text.
    pub fn continues(&self, before: &Self) -> bool {
        (self.line, self.offset, self.kind) == (before.line, before.offset, before.kind) && self.is_rest
    }
}

impl Reader {
    /// Returns the documents of a file, in order.
    pub fn outline(&self, key: FileKey) -> Result<Vec<Step>> {
        let mut steps = self.steps(&Term::from_field_text(self.fields.source, &key.text()))?;
        steps.sort_unstable_by_key(|step| (step.line, step.offset, step.part, step.address));
        Ok(steps)
    }

    /// Returns the messages of a subagent in a file that is not its own transcript, in order.
    pub fn outline_of_agent(&self, key: FileKey, agent: &str) -> Result<Vec<Step>> {
        let messages = self.with_term(&Term::from_field_text(self.fields.agent, agent))?;
        let messages: HashSet<DocAddress> = messages.into_iter().collect();
        let mut steps = if messages.is_empty() { Vec::new() } else { self.outline(key)? };
        steps.retain(|step| messages.contains(&step.address));
        Ok(steps)
    }

    /// Returns the entries of a session in the prompt history, by time.
    pub fn history_of(&self, session: &str) -> Result<Vec<Step>> {
        let mut steps = self.steps(&Term::from_field_text(self.fields.session, session))?;
        steps.retain(|step| step.kind == Kind::History);
        steps.sort_unstable_by_key(|step| (step.time, step.line));
        Ok(steps)
    }

    /// Returns the entries in the prompt history of all sessions without a transcript.
    pub fn lone_history(&self) -> Result<Vec<Document>> {
        let prompts = Term::from_field_text(self.fields.kind, Kind::History.name());
        let lone = self.guarded(|| {
            let mut lone = Vec::new();
            for (segment, reader) in (0..).zip(self.searcher.segment_readers()) {
                let sessions: Column<u64> = reader.fast_fields().u64("session_key")?;
                let is_lone = |doc: &DocId| sessions.first(*doc).is_some_and(|session| !self.has_transcript(session));
                lone.extend(
                    holding(reader, &prompts)?.into_iter().filter(is_lone).map(|doc| DocAddress::new(segment, doc)),
                );
            }
            Ok(lone)
        })?;
        self.documents(&lone)
    }

    /// Returns the documents with a term, in no particular order.
    fn steps(&self, term: &Term) -> Result<Vec<Step>> {
        self.guarded(|| {
            let mut steps = Vec::new();
            for (segment, reader) in (0..).zip(self.searcher.segment_readers()) {
                let docs = holding(reader, term)?;
                // To open columns takes longer than to look up a term.
                if docs.is_empty() {
                    continue;
                }
                let columns = reader.fast_fields();
                let (lines, classes): (Column<u64>, Column<u64>) = (columns.u64("line")?, columns.u64("class")?);
                let (offsets, parts) = (columns.u64("offset")?, columns.u64("part")?);
                let (text_hashes, times) = (columns.u64("text_hash")?, columns.i64("time")?);
                for doc in docs {
                    let Some(class) = classes.first(doc) else { continue };
                    let (role, kind, _) = from_class(class);
                    let address = DocAddress::new(segment, doc);
                    let (line, text_hash) = (lines.first(doc).unwrap_or(0), text_hashes.first(doc).unwrap_or(0));
                    let (offset, part) = (offsets.first(doc).unwrap_or(0), parts.first(doc).unwrap_or(0));
                    let is_rest = class & CONTINUED != 0;
                    let time = times.first(doc);
                    steps.push(Step { address, line, offset, part, is_rest, role, kind, text_hash, time });
                }
            }
            Ok(steps)
        })
    }

    /// Reads the document of a step.
    pub fn read(&self, step: &Step) -> Result<Document> {
        self.document(step.address)
    }

    /// Returns the checkpoints of all files of a session: its own transcript, its subagents, its spilled outputs.
    pub fn files_of_session(&self, session: &str) -> Result<Vec<Checkpoint>> {
        let name = |field, text: &str| exact(Term::from_field_text(field, text));
        let both = BooleanQuery::new(vec![
            (Occur::Must, name(self.fields.kind, CHECKPOINT_KIND)),
            (Occur::Must, name(self.fields.session, session)),
        ]);
        let addresses = self.guarded(|| self.searcher.search(&both, &DocSetCollector))?;
        let mut found = addresses.into_iter().map(|at| self.checkpoint_at(at)).collect::<Result<Vec<_>>>()?;
        found.sort_by_key(Checkpoint::path);
        Ok(found)
    }

    /// Returns the keys of the sessions with a document that passes a filter.
    pub fn sessions_with(&self, filter: &Filter) -> Result<HashSet<u64>> {
        self.guarded(|| {
            let mut clauses = self.clauses(filter)?;
            clauses.push((Occur::Must, Box::new(AllQuery)));
            let query = BooleanQuery::new(clauses);
            let weight = query.weight(EnableScoring::disabled_from_searcher(&self.searcher))?;
            let mut sessions = HashSet::new();
            for reader in self.searcher.segment_readers() {
                let keys = reader.fast_fields().u64("session_key")?;
                weight.for_each_no_score(reader, &mut |docs| {
                    sessions
                        .extend(docs.iter().filter(|doc| !reader.is_deleted(**doc)).filter_map(|doc| keys.first(*doc)));
                })?;
            }
            Ok(sessions)
        })
    }

    /// Returns the sessions whose id begins with a prefix.
    pub fn sessions_like(&self, beginning: &str) -> Result<Vec<String>> {
        let mut found =
            self.terms_between(self.fields.session, beginning.as_bytes(), &prefix_end(beginning.as_bytes()))?;
        // A term stays in its file for a while after its last document was deleted.
        found.retain(|session| {
            self.with_term(&Term::from_field_text(self.fields.session, session)).is_ok_and(|all| !all.is_empty())
        });
        Ok(found)
    }

    /// Returns the subagents whose id begins with a prefix, each with its session. If several sessions have that
    /// subagent, the one with the subagent's own transcript is preferred, then one whose file still exists, then the
    /// first by path.
    pub fn agents_like(&self, beginning: &str) -> Result<Vec<(String, String)>> {
        let mut found = Vec::new();
        for agent in self.terms_between(self.fields.agent, beginning.as_bytes(), &prefix_end(beginning.as_bytes()))? {
            let mut files = HashSet::new();
            for address in self.with_term(&Term::from_field_text(self.fields.agent, &agent))? {
                files.insert(self.source_of(address)?);
            }
            let files = files.into_iter().map(|key| self.checkpoint(key)).collect::<Result<Vec<_>>>()?;
            let order =
                |file: &Checkpoint| (file.source_kind() != SourceKind::Agent, file.gone_since.is_some(), file.path());
            let first = files.into_iter().flatten().min_by_key(order);
            found.extend(first.map(|file| (file.session_id().to_string(), agent)));
        }
        Ok(found)
    }

    /// Returns a limited number of messages whose id begins with a prefix, each with the file it was read from.
    pub fn messages_like(&self, beginning: &str) -> Result<Vec<(FileKey, Document)>> {
        const MAX_RESULTS: usize = 50;
        // Bounds the work if thousands of ids begin the same.
        const MAX_READ: usize = 2000;
        let keys = match whole_uuid(beginning) {
            Some(key) => vec![key],
            None => {
                let (from, to) = uuid_range(beginning);
                self.keys_between(self.fields.uuid, &from, &to)?
            }
        };
        let mut found: Vec<(FileKey, Document)> = Vec::new();
        for key in keys.into_iter().take(MAX_READ) {
            let addresses = self.with_term(&Term::from_field_bytes(self.fields.uuid, &key))?;
            for address in addresses.into_iter().take(MAX_RESULTS) {
                let document = self.document(address)?;
                let matches = document.uuid.as_deref().is_some_and(|uuid| uuid.starts_with(beginning));
                if matches && document.part == 0 {
                    found.push((self.source_of(address)?, document));
                }
            }
            if found.len() >= MAX_RESULTS {
                break;
            }
        }
        Ok(found)
    }

    /// Returns the number that identifies a session in hits.
    pub fn session_number(&self, session: &str) -> u64 {
        session_key(session)
    }

    fn terms_between(&self, field: Field, from: &[u8], to: &[u8]) -> Result<Vec<String>> {
        let keys = self.keys_between(field, from, to)?;
        Ok(keys.into_iter().filter_map(|key| String::from_utf8(key).ok()).collect())
    }

    /// Returns the terms of a field from `from` up to, but not including, `to`, in order.
    fn keys_between(&self, field: Field, from: &[u8], to: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.guarded(|| {
            let mut keys = Vec::new();
            for reader in self.searcher.segment_readers() {
                let index = reader.inverted_index(field)?;
                let mut stream = index.terms().range().ge(from).lt(to).into_stream()?;
                while stream.advance() {
                    keys.push(stream.key().to_vec());
                }
            }
            keys.sort_unstable();
            keys.dedup();
            Ok(keys)
        })
    }
}

/// Returns the first byte string after all those that begin with `beginning`.
fn prefix_end(beginning: &[u8]) -> Vec<u8> {
    let mut end = beginning.to_vec();
    while end.pop_if(|last| *last == u8::MAX).is_some() {}
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}

/// Returns the range of terms for line ids that begin with `beginning`.
fn uuid_range(beginning: &str) -> (Vec<u8>, Vec<u8>) {
    let digits: String = beginning.chars().filter(|c| *c != '-').collect();
    if digits.len() > 32 || !digits.chars().all(|c| c.is_ascii_hexdigit()) {
        let whole = uuid_bytes(beginning);
        let end = prefix_end(&whole);
        return (whole, end);
    }
    let (first, mut end) = uuid_beginnings(&digits);
    // After all hashes.
    end.extend([u8::MAX; 3]);
    (first, end)
}
