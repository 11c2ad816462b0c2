//! Index entries: documents and checkpoints as the fields and values that tantivy indexes.

use std::sync::Arc;

use tantivy::schema::document::{ReferenceValue, ReferenceValueLeaf};
use tantivy::schema::{Field, Value};

use crate::document::{Document, Kind, MessageKey, Role, edits_files};
use crate::index::checkpoint::Checkpoint;
use crate::index::file_key::FileKey;
use crate::index::schema::{
    AGENT, CHECKPOINT_KIND, ERROR, Fields, LISTED, MAIN_FILE, SEEN, WORDLESS, capped, class_of, continued_in,
    seen_term, session_key, subagent_seen, title_term,
};
use crate::index::store::ids::{uuid_bytes, uuid_group};
use crate::index::store::stored_document::{seal_checkpoint, seal_document};
use crate::index::write::memory::Permit;
use crate::transcript::discover::SourceKind;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// A value of an entry.
#[derive(Clone, Debug)]
pub(in crate::index) enum Leaf {
    Text(String),
    Name(&'static str),
    Shared(Arc<str>),
    /// The rest of a text after its first bytes.
    Tail(Arc<str>, usize),
    Bytes(Vec<u8>),
    Unsigned(u64),
    Signed(i64),
}

/// A document or checkpoint to be indexed. It carries the permit of its batch, which returns to the budget when the
/// last entry of the batch is dropped. tantivy's own queue counts documents, not bytes.
#[derive(Debug)]
pub(in crate::index) struct Entry {
    pub(in crate::index) values: Vec<(Field, Leaf)>,
    pub(in crate::index) _permit: Arc<Permit>,
}

impl tantivy::schema::document::Document for Entry {
    type Value<'a> = EntryValue<'a>;
    type FieldsValuesIter<'a> = EntryValues<'a>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        EntryValues(self.values.iter())
    }
}

/// Iterates over the values of an entry.
#[derive(Clone)]
pub(in crate::index) struct EntryValues<'a>(std::slice::Iter<'a, (Field, Leaf)>);

impl<'a> Iterator for EntryValues<'a> {
    type Item = (Field, EntryValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(field, leaf)| (*field, EntryValue(leaf)))
    }
}

/// A value of an entry, in the form that tantivy reads.
#[derive(Clone, Copy, Debug)]
pub(in crate::index) struct EntryValue<'a>(&'a Leaf);

impl<'a> Value<'a> for EntryValue<'a> {
    type ArrayIter = std::iter::Empty<Self>;
    type ObjectIter = std::iter::Empty<(&'a str, Self)>;

    fn as_value(&self) -> ReferenceValue<'a, Self> {
        ReferenceValue::Leaf(match self.0 {
            Leaf::Text(text) => ReferenceValueLeaf::Str(text),
            Leaf::Name(name) => ReferenceValueLeaf::Str(name),
            Leaf::Shared(text) => ReferenceValueLeaf::Str(text),
            Leaf::Tail(text, from) => ReferenceValueLeaf::Str(&text[*from..]),
            Leaf::Bytes(bytes) => ReferenceValueLeaf::Bytes(bytes),
            Leaf::Unsigned(number) => ReferenceValueLeaf::U64(*number),
            Leaf::Signed(number) => ReferenceValueLeaf::I64(*number),
        })
    }
}

impl Fields {
    /// Creates the entry of the session title in a file. It can be replaced when the title changes.
    pub(super) fn title_entry(&self, key: FileKey, document: Document, permit: Arc<Permit>) -> Entry {
        let mut entry = self.entry(key, document, permit);
        entry.values.push((self.checkpoint, Leaf::Text(title_term(key))));
        entry
    }

    /// Creates the entry of a document.
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
            // A copy made by the SDK is also found by the id of its original.
            if let Some(original) = &document.copied_from {
                put(self.uuid, Leaf::Bytes(uuid_bytes(original)));
            }
        }
        put(self.line, Leaf::Unsigned(document.line));
        put(self.offset, Leaf::Unsigned(document.offset));
        put(self.part, Leaf::Unsigned(document.part.into()));
        if let Some(time) = document.timestamp {
            put(self.time, Leaf::Signed(time));
        }
        if let Some(text_hash) = document.text_hash {
            put(self.text_hash, Leaf::Unsigned(text_hash));
        }
        if let Some(leaf) = &document.title_leaf {
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
        if document.seen_via_agent.is_some() {
            put(self.flag, Leaf::Name(SEEN));
        }
        if document.agent.is_some() || document.role == Role::Subagent {
            put(self.flag, Leaf::Name(AGENT));
        }
        let names = [
            (self.agent, &document.agent),
            (self.seen_via_agent, &document.seen_via_agent),
            (self.tool, &document.tool),
            (self.model, &document.model),
            (self.branch, &document.branch),
            (self.project, &document.project),
            (self.cwd, &document.cwd),
        ];
        for (field, value) in names {
            if let Some(value) = value {
                put(field, Leaf::Text(capped(value)));
            }
        }
        if let (Some(agent), Some(id)) = (&document.seen_via_agent, original_id(&document)) {
            put(self.seen_via_agent, Leaf::Text(seen_term(&document.session, agent, id)));
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

    /// Creates the entry of a checkpoint.
    pub(super) fn checkpoint_entry(&self, checkpoint: &Checkpoint, permit: Arc<Permit>) -> Entry {
        let key = checkpoint.key();
        let mut values = vec![
            (self.checkpoint, Leaf::Shared(key.text())),
            (self.kind, Leaf::Name(CHECKPOINT_KIND)),
            (self.session, Leaf::Text(checkpoint.session_id().to_string())),
            (self.session_key, Leaf::Unsigned(session_key(checkpoint.session_id()))),
            (self.group, Leaf::Unsigned(key.number())),
            // A checkpoint is never a hit. But a column with a value for every entry is read faster.
            (self.class, Leaf::Unsigned(class_of(&Document { kind: Kind::Unknown, ..Document::default() }))),
            (self.stat, Leaf::Unsigned(checkpoint.stat_key())),
            (self.summary, Leaf::Text(serde_json::to_string(&checkpoint.summary()).unwrap_or_default())),
            (self.stored, Leaf::Bytes(seal_checkpoint(checkpoint))),
        ];
        if checkpoint.source_kind() == SourceKind::Session && !checkpoint.summary().is_silent() {
            values.push((self.flag, Leaf::Name(MAIN_FILE)));
        }
        if checkpoint.is_worth_listing() {
            values.push((self.flag, Leaf::Name(LISTED)));
        }
        if let Some(session) = checkpoint.state.continued_in.as_ref().filter(|_| !checkpoint.forgotten) {
            values.push((self.flag, Leaf::Text(continued_in(session))));
        }
        if let Some(last) = checkpoint.state.last {
            values.push((self.time, Leaf::Signed(last)));
        }
        if !checkpoint.state.wordless.is_empty() {
            values.push((self.flag, Leaf::Name(WORDLESS)));
        }
        values
            .extend(checkpoint.state.subagents_seen.iter().map(|agent| (self.flag, Leaf::Text(subagent_seen(agent)))));
        Entry { values, _permit: permit }
    }
}

/// Returns the id of a document's line. A copy made by the SDK has a new id, and names the old one.
fn original_id(document: &Document) -> Option<&str> {
    let uuid = document.uuid.as_deref()?;
    Some(document.copied_from.as_deref().unwrap_or(uuid))
}

/// Returns the value that all documents of one hit share.
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

/// Returns a path in lower case, and the offsets of the suffixes that find it: one at each component.
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
    fn paths_are_found_by_every_suffix() {
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
