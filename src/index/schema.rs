//! The fields of the index, and how a [`Document`] becomes an entry in it and comes back.
//!
//! Every document keeps its text and all else that is known of it, so an index of another shape can be filled from
//! an old one when the transcript itself is long gone.

use std::sync::{Arc, LazyLock};

use tantivy::schema::{
    BytesOptions, FAST, Field, IndexRecordOption, STORED, Schema, SchemaBuilder, TextFieldIndexing, TextOptions,
};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::budget::Permit;
use super::checkpoint::{Checkpoint, FileKey};
use super::entry::{Entry, Leaf};
use super::ids::{uuid_bytes, uuid_group};
use super::sealed::{seal_checkpoint, seal_document};
use super::tokenizer::WORDS;
use crate::analysis::ANALYSIS_VERSION;
use crate::discover::SourceKind;
use crate::document::{Document, Kind, MessageKey, Role, edits_files};
use crate::error::{Error, ErrorKind};

/// The number of the index format; an older program refuses a newer index.
///
/// 1. First format.
pub(super) const FORMAT_VERSION: u32 = 1;

/// The number of the reading: raised when the same transcript would give other documents. Files read by an older
/// number are read again, a commit at a time, while search goes on.
///
/// 1. First reading.
pub const PARSER_VERSION: u32 = 1;

/// The kind under which checkpoints are kept; no document has it.
pub(super) const CHECKPOINT_KIND: &str = "file";
/// The flag of the checkpoint of a session's own transcript, if there is anything in it.
pub(super) const MAIN_FILE: &str = "main";
/// The flag of what reports a failure.
pub(super) const ERROR: &str = "error";
/// The flag of what a subagent said or was told.
pub(super) const AGENT: &str = "agent";
/// The flag of what a parent saw of a subagent.
pub(super) const SEEN: &str = "seen";
/// The flag of the checkpoint of a file with messages that no document tells of.
pub(super) const WORDLESS: &str = "wordless";
/// What stands in place of a fingerprint for a file that is gone.
pub(super) const GONE: u64 = 1;
/// What stands in place of a fingerprint for a file that is to be left alone.
pub(super) const FORGOTTEN: u64 = 2;

/// The columns of tokens: those of [`Document::usage`], then how much of the cache is kept for an hour.
pub(super) const TOKENS: [&str; 5] = ["input", "cache_write", "cache_read", "output", "cache_hour"];

/// The fields, by name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    /// The file a document was read from.
    pub(super) source: Field,
    /// The file a checkpoint is about.
    pub(super) checkpoint: Field,
    /// The beginning of the line's own id.
    pub(super) uuid: Field,
    /// Documents of equal value are one hit: parts of a message, copies of a line.
    pub(super) group: Field,
    /// Fingerprint of words that may stand more than once in a session.
    pub(super) twin: Field,
    /// Of a title: the message that tells whose it is.
    pub(super) leaf: Field,
    /// Role, kind, what it does to files, whether it is an echo, fails or goes on with another, packed; see [`class_of`].
    pub(super) class: Field,
    /// Fingerprint of the API message, where the document tells what that cost.
    pub(super) message: Field,
    /// Tokens of that message.
    pub(super) tokens: [Field; TOKENS.len()],
    /// Fingerprint of the file that a tool call changes.
    pub(super) edited: Field,
    /// Milliseconds since 1970.
    pub(super) time: Field,
    /// The line in its file, to put the documents of a file in order.
    pub(super) line: Field,
    /// Of a checkpoint: fingerprint of the file's state.
    pub(super) stat: Field,
    /// Of a checkpoint: its [`super::Card`], as JSON.
    pub(super) card: Field,
    pub(super) session: Field,
    /// Fingerprint of the session, to group by.
    pub(super) session_key: Field,
    pub(super) agent: Field,
    pub(super) via: Field,
    pub(super) role: Field,
    pub(super) kind: Field,
    pub(super) tool: Field,
    pub(super) model: Field,
    pub(super) branch: Field,
    pub(super) project: Field,
    pub(super) cwd: Field,
    /// `error` and the like.
    pub(super) flag: Field,
    /// Paths by every suffix, folded: whole, by name, and by folder through a prefix.
    pub(super) file: Field,
    /// Paths by their words.
    pub(super) path: Field,
    /// The words.
    pub(super) body: Field,
    /// All that is known of the entry; see [`super::sealed`].
    pub(super) stored: Field,
}

/// The schema.
pub(super) fn schema() -> (Schema, Fields) {
    static MADE: LazyLock<(Schema, Fields)> = LazyLock::new(make_schema);
    MADE.clone()
}

fn make_schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let fields = Fields {
        source: builder.add_text_field("source", name_options().set_fast("raw")),
        checkpoint: name_field(&mut builder, "checkpoint"),
        uuid: builder.add_bytes_field("uuid", BytesOptions::default().set_indexed()),
        group: builder.add_u64_field("group", FAST),
        twin: builder.add_u64_field("twin", FAST),
        leaf: builder.add_u64_field("leaf", FAST),
        class: builder.add_u64_field("class", FAST),
        message: builder.add_u64_field("message", FAST),
        tokens: TOKENS.map(|name| builder.add_u64_field(name, FAST)),
        edited: builder.add_u64_field("edited", FAST),
        time: builder.add_i64_field("time", FAST),
        line: builder.add_u64_field("line", FAST),
        stat: builder.add_u64_field("stat", FAST),
        card: builder.add_text_field("card", TextOptions::default().set_fast("raw")),
        session: name_field(&mut builder, "session"),
        session_key: builder.add_u64_field("session_key", FAST),
        agent: name_field(&mut builder, "agent"),
        via: name_field(&mut builder, "via"),
        role: name_field(&mut builder, "role"),
        kind: name_field(&mut builder, "kind"),
        tool: builder.add_text_field("tool", name_options().set_fast("raw")),
        model: builder.add_text_field("model", name_options().set_fast("raw")),
        branch: name_field(&mut builder, "branch"),
        project: builder.add_text_field("project", name_options().set_fast("raw")),
        cwd: name_field(&mut builder, "cwd"),
        flag: name_field(&mut builder, "flag"),
        file: name_field(&mut builder, "file"),
        path: words_field(&mut builder, "path"),
        body: words_field(&mut builder, "body"),
        stored: builder.add_bytes_field("stored", STORED),
    };
    (builder.build(), fields)
}

fn words_field(builder: &mut SchemaBuilder, name: &str) -> Field {
    let indexing =
        TextFieldIndexing::default().set_tokenizer(WORDS).set_index_option(IndexRecordOption::WithFreqsAndPositions);
    builder.add_text_field(name, TextOptions::default().set_indexing_options(indexing))
}

/// A field that is matched whole and never ranked by.
fn name_field(builder: &mut SchemaBuilder, name: &str) -> Field {
    builder.add_text_field(name, name_options())
}

fn name_options() -> TextOptions {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_index_option(IndexRecordOption::Basic)
        .set_fieldnorms(false);
    TextOptions::default().set_indexing_options(indexing)
}

/// Fingerprint of all that decides whether an index directory can be used by this program.
pub(super) fn fingerprint() -> u64 {
    static MADE: LazyLock<u64> = LazyLock::new(|| {
        let text = serde_json::to_string(&schema().0).unwrap_or_default();
        xxh3_64_with_seed(text.as_bytes(), u64::from(ANALYSIS_VERSION))
    });
    *MADE
}

impl Fields {
    /// Makes the entry of the session's name as a file has it; it can be replaced when the name changes.
    pub(super) fn title_entry(&self, key: FileKey, document: Document, permit: Arc<Permit>) -> Entry {
        let mut entry = self.entry(key, document, permit);
        entry.values.push((self.checkpoint, Leaf::Text(title_term(key))));
        entry
    }

    /// Makes the entry of a document.
    pub(super) fn entry(&self, key: FileKey, document: Document, permit: Arc<Permit>) -> Entry {
        let mut values = Vec::with_capacity(40);
        let mut put = |field, leaf| values.push((field, leaf));
        put(self.source, Leaf::Shared(key.text()));
        put(self.group, Leaf::Unsigned(group_of(key, &document)));
        put(self.class, Leaf::Unsigned(class_of(&document)));
        put(self.session, Leaf::Text(capped(&document.session)));
        put(self.session_key, Leaf::Unsigned(session_key(&document.session)));
        put(self.role, Leaf::Name(document.role.name()));
        put(self.kind, Leaf::Name(document.kind.name()));
        if let Some(uuid) = &document.uuid {
            put(self.uuid, Leaf::Bytes(uuid_bytes(uuid)));
            // A copy made by the SDK is found by the id of its original too.
            if let Some(original) = document.note.as_ref().filter(|_| document.kind != Kind::Title) {
                put(self.uuid, Leaf::Bytes(uuid_bytes(original)));
            }
        }
        put(self.line, Leaf::Unsigned(document.line));
        if let Some(time) = document.timestamp {
            put(self.time, Leaf::Signed(time));
        }
        if let Some(twin) = document.twin {
            put(self.twin, Leaf::Unsigned(twin));
        }
        if document.kind == Kind::Title
            && let Some(leaf) = &document.note
        {
            put(self.leaf, Leaf::Unsigned(uuid_group(leaf)));
        }
        if let Some([input, write, read, output]) = document.usage {
            let message = document.message.or(document.uuid.as_deref().map(MessageKey::of));
            put(self.message, Leaf::Unsigned(message.unwrap_or_default().number()));
            for (field, count) in self.tokens.into_iter().zip([input, write, read, output, document.cache_hour]) {
                put(field, Leaf::Unsigned(count));
            }
        }
        let edits = document.kind == Kind::ToolUse && document.tool.as_deref().is_some_and(edits_files);
        if let Some(file) = document.files.first().filter(|_| edits && !document.continued) {
            put(self.edited, Leaf::Unsigned(xxh3_64(file.as_bytes())));
        }
        if document.error {
            put(self.flag, Leaf::Name(ERROR));
        }
        if document.via.is_some() {
            put(self.flag, Leaf::Name(SEEN));
        }
        if document.agent.is_some() || document.role == Role::Subagent {
            put(self.flag, Leaf::Name(AGENT));
        }
        let named = [
            (self.agent, &document.agent),
            (self.via, &document.via),
            (self.tool, &document.tool),
            (self.model, &document.model),
            (self.branch, &document.branch),
            (self.project, &document.project),
            (self.cwd, &document.cwd),
        ];
        for (field, value) in named {
            if let Some(value) = value {
                put(field, Leaf::Text(capped(value)));
            }
        }
        if let (Some(agent), Some(id)) = (&document.via, original_id(&document)) {
            put(self.via, Leaf::Text(seen_term(&document.session, agent, id)));
        }
        for file in &document.files {
            put(self.path, Leaf::Text(file.clone()));
            let (path, starts) = suffixes(file);
            starts.into_iter().for_each(|start| put(self.file, Leaf::Tail(path.clone(), start)));
        }
        let raw = document.input.as_ref().unwrap_or(&document.text);
        put(self.stored, Leaf::Bytes(seal_document(key, &document, raw)));
        put(self.body, Leaf::Text(document.text));
        Entry { values, _permit: permit }
    }

    /// Makes the entry of a checkpoint.
    pub(super) fn checkpoint_entry(&self, checkpoint: &Checkpoint, permit: Arc<Permit>) -> Entry {
        let key = checkpoint.key();
        let mut values = vec![
            (self.checkpoint, Leaf::Shared(key.text())),
            (self.kind, Leaf::Name(CHECKPOINT_KIND)),
            (self.session, Leaf::Text(checkpoint.session_id().to_string())),
            (self.session_key, Leaf::Unsigned(session_key(checkpoint.session_id()))),
            (self.group, Leaf::Unsigned(key.number())),
            // No hit ever is a checkpoint; but a column that every document has is read faster.
            (self.class, Leaf::Unsigned(class_of(&Document { kind: Kind::Unknown, ..Document::default() }))),
            (self.stat, Leaf::Unsigned(checkpoint.stat_key())),
            (self.card, Leaf::Text(serde_json::to_string(&checkpoint.card()).unwrap_or_default())),
            (self.stored, Leaf::Bytes(seal_checkpoint(checkpoint))),
        ];
        if checkpoint.source_kind() == SourceKind::Session && !checkpoint.card().is_silent() {
            values.push((self.flag, Leaf::Name(MAIN_FILE)));
        }
        if !checkpoint.state.wordless.is_empty() {
            values.push((self.flag, Leaf::Name(WORDLESS)));
        }
        values.extend(checkpoint.state.saw.iter().map(|agent| (self.flag, Leaf::Text(saw(agent)))));
        Entry { values, _permit: permit }
    }
}

/// The flag of the checkpoint of a file with messages of a subagent that is not its own.
pub(super) fn saw(agent: &str) -> String {
    format!("saw {agent}")
}

/// Returns the term of what a session saw of a message of a subagent.
pub(super) fn seen_term(session: &str, agent: &str, uuid: &str) -> String {
    capped(&format!("{session} {agent} {uuid}"))
}

/// The term under which the name a file gives its session is found.
pub(super) fn title_term(key: FileKey) -> String {
    format!("{}t", key.text())
}

/// Something stored that cannot be read. The reader, who knows of which index it is, says what to do about it.
pub(super) fn damaged(cause: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Damaged, format!("the index is damaged: {cause}"))
}

/// Packs what ranking and counting need of each document into one small number.
pub(super) fn class_of(document: &Document) -> u64 {
    let place = |found: Option<usize>| found.unwrap_or(0) as u64;
    let role = place(Role::ALL.iter().position(|(one, _)| *one == document.role));
    let kind = place(Kind::ALL.iter().position(|(one, _)| *one == document.kind));
    let flags = [
        (document.echo, ECHO),
        (document.error, FAILED),
        (document.continued, CONTINUED),
        (document.twin.is_some(), TWIN),
    ];
    let class = action_bits(document) | (role << 5) | kind;
    flags.into_iter().filter(|(is_set, _)| *is_set).fold(class, |class, (_, flag)| class | flag)
}

const ECHO: u64 = 1 << 8;
/// The flag of a document that reports a failure, in its class.
pub(super) const FAILED: u64 = 1 << 11;
/// The flag of a document that goes on with the text of the one before, in its class.
pub(super) const CONTINUED: u64 = 1 << 12;

/// Unpacks role, kind and echo.
pub(super) fn from_class(class: u64) -> (Role, Kind, bool) {
    let role = Role::ALL.get(((class >> 5) & 7) as usize).map_or(Role::Meta, |(role, _)| *role);
    let kind = Kind::ALL.get((class & 31) as usize).map_or(Kind::Unknown, |(kind, _)| *kind);
    (role, kind, class & ECHO != 0)
}

/// What a call does to the files it names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Action {
    /// Nothing, or nothing known.
    None,
    /// Reads them.
    Read,
    /// Changes them.
    Change,
}

/// Unpacks what a call does.
pub(super) fn action_of(class: u64) -> Action {
    match (class >> 9) & 3 {
        1 => Action::Read,
        2 => Action::Change,
        _ => Action::None,
    }
}

/// Whether the words may stand more than once in the session.
pub(super) fn has_twin(class: u64) -> bool {
    class & TWIN != 0
}

const TWIN: u64 = 1 << 13;

fn action_bits(document: &Document) -> u64 {
    let action: u64 = match document.tool.as_deref() {
        Some(tool) if document.kind == Kind::ToolUse && edits_files(tool) => 2,
        Some("Read") if document.kind == Kind::ToolUse => 1,
        _ => 0,
    };
    action << 9
}

/// Returns the id of a document's line. A copy made by the SDK has a new id and names the old one.
fn original_id(document: &Document) -> Option<&str> {
    let uuid = document.uuid.as_deref()?;
    Some(document.note.as_deref().filter(|_| document.kind != Kind::Title).unwrap_or(uuid))
}

/// What documents must share to be one hit.
fn group_of(key: FileKey, document: &Document) -> u64 {
    match (original_id(document), document.kind) {
        (Some(uuid), _) => uuid_group(uuid),
        (None, Kind::Output) => xxh3_64_with_seed(b"output", key.number()),
        (None, Kind::Link | Kind::Title) => {
            xxh3_64_with_seed(document.text.as_bytes(), xxh3_64(document.session.as_bytes()))
        }
        (None, _) => xxh3_64_with_seed(&document.offset.to_le_bytes(), key.number()),
    }
}

/// The number under which documents of a session are gathered.
/// (44 bits: enough that no two sessions of one user share it, and a third less on disk.)
pub(super) fn session_key(session: &str) -> u64 {
    xxh3_64(session.as_bytes()) >> 20
}

/// The longest name that is indexed, in bytes.
const TERM_BYTES: usize = 2000;

/// Terms have a limit in tantivy; nothing legitimate comes near it.
pub(super) fn capped(text: &str) -> String {
    text[..text.floor_char_boundary(TERM_BYTES)].to_string()
}

/// A path folded in case, and where the tails of it begin under which it is found: at each component.
fn suffixes(path: &str) -> (Arc<str>, Vec<usize>) {
    let path: Arc<str> = capped(&path.to_lowercase()).into();
    let root = path.len() - path.trim_start_matches('/').len();
    let components = path[root..].match_indices('/').map(|(at, _)| root + at + 1);
    let starts = std::iter::once(root).chain(components).filter(|start| *start < path.len());
    let whole = (root > 0).then_some(0);
    let starts = starts.chain(whole).collect();
    (path, starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_come_back() {
        for (role, _) in Role::ALL {
            for (kind, _) in Kind::ALL {
                let document = Document { role, kind, echo: true, error: true, ..Document::default() };
                assert_eq!(from_class(class_of(&document)), (role, kind, true));
            }
        }
    }

    #[test]
    fn paths_are_found_by_every_tail() {
        let tails = |path: &str| {
            let (path, starts) = suffixes(path);
            starts.into_iter().map(|start| path[start..].to_string()).collect::<Vec<_>>()
        };
        assert_eq!(tails("/Home/u/x.rs"), ["home/u/x.rs", "u/x.rs", "x.rs", "/home/u/x.rs"]);
        assert_eq!(tails("d:/w/x.cs"), ["d:/w/x.cs", "w/x.cs", "x.cs"]);
        assert_eq!(tails("/a/"), ["a/", "/a/"]);
        assert_eq!(tails("/"), ["/"]);
        assert_eq!(tails(""), Vec::<String>::new());
    }
}
