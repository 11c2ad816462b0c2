//! The fields of the index, and how a [`Document`] becomes an entry in it and comes back.
//!
//! Every document keeps its text and all else that is known of it, so an index of another shape can be filled from
//! an old one when the transcript itself is long gone.

use std::sync::LazyLock;

use tantivy::schema::{
    BytesOptions, FAST, Field, IndexRecordOption, STORED, Schema, SchemaBuilder, TextFieldIndexing, TextOptions,
};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::document::{Document, Kind, Role, edits_files};
use crate::index::file_key::FileKey;
use crate::index::tokenizer::WORDS;
use crate::tokenize::ANALYSIS_VERSION;

/// The number of the index format; an older program refuses a newer index.
///
/// 1. First format.
pub(super) const FORMAT_VERSION: u32 = 1;

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
    pub(super) text_hash: Field,
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
    /// Of a checkpoint: its [`crate::index::FileSummary`], as JSON.
    pub(super) summary: Field,
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
    /// All that is known of the entry; see [`crate::index::store::sealed`].
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
        text_hash: builder.add_u64_field("twin", FAST),
        leaf: builder.add_u64_field("leaf", FAST),
        class: builder.add_u64_field("class", FAST),
        message: builder.add_u64_field("message", FAST),
        tokens: TOKENS.map(|name| builder.add_u64_field(name, FAST)),
        edited: builder.add_u64_field("edited", FAST),
        time: builder.add_i64_field("time", FAST),
        line: builder.add_u64_field("line", FAST),
        stat: builder.add_u64_field("stat", FAST),
        summary: builder.add_text_field("card", TextOptions::default().set_fast("raw")),
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

/// Packs what ranking and counting need of each document into one small number.
pub(super) fn class_of(document: &Document) -> u64 {
    let place = |found: Option<usize>| found.unwrap_or(0) as u64;
    let role = place(Role::ALL.iter().position(|(one, _)| *one == document.role));
    let kind = place(Kind::ALL.iter().position(|(one, _)| *one == document.kind));
    let flags = [
        (document.is_duplicate, ECHO),
        (document.error, FAILED),
        (document.continued, CONTINUED),
        (document.text_hash.is_some(), TWIN),
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
pub(super) fn has_text_hash(class: u64) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_come_back() {
        for (role, _) in Role::ALL {
            for (kind, _) in Kind::ALL {
                let document = Document { role, kind, is_duplicate: true, error: true, ..Document::default() };
                assert_eq!(from_class(class_of(&document)), (role, kind, true));
            }
        }
    }
}
