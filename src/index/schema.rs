//! The fields of the index, the index format version, and the terms and numbers derived from a [`Document`].
//!
//! Each entry also stores the whole document, so an index of another format can be filled from an old one, even if the
//! transcript no longer exists.

use std::sync::LazyLock;

use tantivy::schema::{
    BytesOptions, FAST, Field, IndexRecordOption, STORED, Schema, SchemaBuilder, TextFieldIndexing, TextOptions,
};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::document::{Document, Kind, Role, edits_files};
use crate::index::file_key::FileKey;
use crate::index::tokenizer::WORDS;
use crate::tokenize::ANALYSIS_VERSION;

/// Version of the index format. An older program refuses to use a newer index.
///
/// 1. First format.
pub(super) const FORMAT_VERSION: u32 = 1;

/// The kind of checkpoints. No document has this kind.
pub(super) const CHECKPOINT_KIND: &str = "file";
/// Flag of a session's own transcript, set on its checkpoint, unless the transcript says nothing.
pub(super) const MAIN_FILE: &str = "main";
/// Flag of a file that makes its session worth listing, set on its checkpoint.
pub(super) const LISTED: &str = "listed";
/// Flag of documents that report a failure.
pub(super) const ERROR: &str = "error";
/// Flag of documents written by or for a subagent.
pub(super) const AGENT: &str = "agent";
/// Flag of a subagent's message that was read from the transcript of a parent.
pub(super) const SEEN: &str = "seen";
/// Flag of a file with API messages that produced no document, set on its checkpoint.
pub(super) const WORDLESS: &str = "wordless";
/// The token columns: those of [`Document::usage`], then the tokens cached for an hour.
pub(super) const TOKENS: [&str; 5] = ["input", "cache_write", "cache_read", "output", "cache_hour"];

/// The fields of the index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    /// The file a document was read from.
    pub(super) source: Field,
    /// The file a checkpoint is about.
    pub(super) checkpoint: Field,
    /// The first bytes of the line's id.
    pub(super) uuid: Field,
    /// Documents with the same value are one hit: parts of a message, copies of a line.
    pub(super) group: Field,
    /// Hash of a text that may occur more than once in a session.
    pub(super) text_hash: Field,
    /// For a title: the message that identifies its session.
    pub(super) leaf: Field,
    /// Role, kind, effect on files, and flags of a document, packed; see [`class_of`].
    pub(super) class: Field,
    /// Hash of the API message, if the document has its token counts.
    pub(super) message: Field,
    /// Tokens of that message.
    pub(super) tokens: [Field; TOKENS.len()],
    /// Hash of the path of the file that a tool call changes.
    pub(super) edited: Field,
    /// Milliseconds since 1970. For a checkpoint: the latest time in the file.
    pub(super) time: Field,
    /// The line number in the file. With the next two, sorts the documents of a file: those of one line may be in
    /// several segments.
    pub(super) line: Field,
    /// The byte offset of the record in the file.
    pub(super) offset: Field,
    /// The number of the document within its record.
    pub(super) part: Field,
    /// For a checkpoint: hash of the file's state.
    pub(super) stat: Field,
    /// For a checkpoint: its [`crate::index::FileSummary`], as JSON.
    pub(super) summary: Field,
    pub(super) session: Field,
    /// Hash of the session, to group by.
    pub(super) session_key: Field,
    pub(super) agent: Field,
    /// The subagent whose message a parent's transcript contains; see [`seen_term`].
    pub(super) seen_via_agent: Field,
    pub(super) role: Field,
    pub(super) kind: Field,
    pub(super) tool: Field,
    pub(super) model: Field,
    pub(super) branch: Field,
    pub(super) project: Field,
    pub(super) cwd: Field,
    /// Flags such as [`ERROR`] and [`AGENT`].
    pub(super) flag: Field,
    /// Every suffix of each path, in lower case. Finds a whole path, a file name, or the files of a folder by prefix.
    pub(super) file: Field,
    /// Paths, split into words.
    pub(super) path: Field,
    /// The text, split into words.
    pub(super) body: Field,
    /// The whole document or checkpoint; see [`crate::index::store::stored_document`].
    pub(super) stored: Field,
}

/// Returns the schema and its fields.
pub(super) fn schema() -> (Schema, Fields) {
    static SCHEMA: LazyLock<(Schema, Fields)> = LazyLock::new(make_schema);
    SCHEMA.clone()
}

fn make_schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let fields = Fields {
        source: builder.add_text_field("source", name_options().set_fast("raw")),
        checkpoint: name_field(&mut builder, "checkpoint"),
        uuid: builder.add_bytes_field("uuid", BytesOptions::default().set_indexed()),
        group: builder.add_u64_field("group", FAST),
        text_hash: builder.add_u64_field("text_hash", FAST),
        leaf: builder.add_u64_field("leaf", FAST),
        class: builder.add_u64_field("class", FAST),
        message: builder.add_u64_field("message", FAST),
        tokens: TOKENS.map(|name| builder.add_u64_field(name, FAST)),
        edited: builder.add_u64_field("edited", FAST),
        time: builder.add_i64_field("time", FAST),
        line: builder.add_u64_field("line", FAST),
        offset: builder.add_u64_field("offset", FAST),
        part: builder.add_u64_field("part", FAST),
        stat: builder.add_u64_field("stat", FAST),
        summary: builder.add_text_field("summary", TextOptions::default().set_fast("raw")),
        session: name_field(&mut builder, "session"),
        session_key: builder.add_u64_field("session_key", FAST),
        agent: name_field(&mut builder, "agent"),
        seen_via_agent: name_field(&mut builder, "seen_via_agent"),
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

/// Adds a field that is matched as a whole and never affects the score.
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

/// Hash of everything that decides whether this program can use an index folder.
pub(super) fn fingerprint() -> u64 {
    static FINGERPRINT: LazyLock<u64> = LazyLock::new(|| {
        let text = serde_json::to_string(&schema().0).unwrap_or_default();
        xxh3_64_with_seed(text.as_bytes(), u64::from(ANALYSIS_VERSION))
    });
    *FINGERPRINT
}

/// Flag of a file that contains messages of a subagent whose transcript it is not, set on its checkpoint.
pub(super) fn subagent_seen(agent: &str) -> String {
    format!("saw {agent}")
}

/// Flag of a transcript that says that another session continues it, set on its checkpoint.
pub(super) fn continued_in(session: &str) -> String {
    format!("continued in {session}")
}

/// Returns the term that finds a subagent's message in the transcript of its parent session.
pub(super) fn seen_term(session: &str, agent: &str, uuid: &str) -> String {
    capped(&format!("{session} {agent} {uuid}"))
}

/// Returns the term that finds the session title of a file.
pub(super) fn title_term(key: FileKey) -> String {
    format!("{}t", key.text())
}

/// Packs everything that ranking and counting need to know about a document into one small number.
pub(super) fn class_of(document: &Document) -> u64 {
    let index = |found: Option<usize>| found.unwrap_or(0) as u64;
    let role = index(Role::ALL.iter().position(|(role, _)| *role == document.role));
    let kind = index(Kind::ALL.iter().position(|(kind, _)| *kind == document.kind));
    let flags = [
        (document.is_duplicate, DUPLICATE),
        (document.error, FAILED),
        (document.continued, CONTINUED),
        (document.text_hash.is_some(), HAS_TEXT_HASH),
    ];
    let class = action_bits(document) | (role << 5) | kind;
    flags.into_iter().filter(|(is_set, _)| *is_set).fold(class, |class, (_, flag)| class | flag)
}

/// Bit in a class: another document with the same text hash is shown instead.
const DUPLICATE: u64 = 1 << 8;
/// Bit in a class: the document reports a failure.
pub(super) const FAILED: u64 = 1 << 11;
/// Bit in a class: the document continues the text of the one before it.
pub(super) const CONTINUED: u64 = 1 << 12;

/// Unpacks the role, the kind, and whether the document is a duplicate.
pub(super) fn from_class(class: u64) -> (Role, Kind, bool) {
    let role = Role::ALL.get(((class >> 5) & 7) as usize).map_or(Role::Meta, |(role, _)| *role);
    let kind = Kind::ALL.get((class & 31) as usize).map_or(Kind::Unknown, |(kind, _)| *kind);
    (role, kind, class & DUPLICATE != 0)
}

/// Effect of a tool call on the files it names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Action {
    /// No effect, or none known.
    None,
    /// Reads them.
    Read,
    /// Changes them.
    Change,
}

/// Unpacks the effect of a tool call.
pub(super) fn action_of(class: u64) -> Action {
    match (class >> 9) & 3 {
        1 => Action::Read,
        2 => Action::Change,
        _ => Action::None,
    }
}

/// Reports whether the document has a text hash, because its text may occur more than once in the session.
pub(super) fn has_text_hash(class: u64) -> bool {
    class & HAS_TEXT_HASH != 0
}

/// Bit in a class: the document has a text hash.
const HAS_TEXT_HASH: u64 = 1 << 13;

fn action_bits(document: &Document) -> u64 {
    let action: u64 = match document.tool.as_deref() {
        Some(tool) if document.kind == Kind::ToolUse && edits_files(tool) => 2,
        Some("Read") if document.kind == Kind::ToolUse => 1,
        _ => 0,
    };
    action << 9
}

/// Returns the number by which documents of a session are grouped. 44 bits are enough that no two sessions of a user
/// collide, and take a third less space on disk.
pub(super) fn session_key(session: &str) -> u64 {
    xxh3_64(session.as_bytes()) >> 20
}

/// Longest name that is indexed, in bytes.
const TERM_BYTES: usize = 2000;

/// Truncates a term. tantivy limits their length; no legitimate term comes near the limit.
pub(super) fn capped(text: &str) -> String {
    text[..text.floor_char_boundary(TERM_BYTES)].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn role_kind_and_duplicate_survive_packing() {
        for (role, _) in Role::ALL {
            for (kind, _) in Kind::ALL {
                let document = Document { role, kind, is_duplicate: true, error: true, ..Document::default() };
                assert_eq!(from_class(class_of(&document)), (role, kind, true));
            }
        }
    }
}
