//! The stored bytes of each entry in tantivy's document store.
//!
//! The bytes contain everything known about an entry, as text that can be read without unspool: a line with its type
//! and the key of its file, a line of JSON, and the text. So a document can be copied into an index of another format,
//! or salvaged when every other file of a segment is lost.
//!
//! The store has no checksum per document, and tantivy allocates as much as a damaged length asks for. So the value
//! ends with its length and a checksum, and both are checked before anything else is read.

use serde::Serialize;
use serde::de::DeserializeOwned;
use tantivy::directory::OwnedBytes;
use xxhash_rust::xxh3::xxh3_64;

use crate::document::Document;
use crate::error::Result;
use crate::index::checkpoint::Checkpoint;
use crate::index::errors::damaged_entry;
use crate::index::file_key::FileKey;

const DOCUMENT: &str = "document";
const CHECKPOINT: &str = "checkpoint";
/// Size of the length, and of the checksum, at the end.
const U32_BYTES: usize = size_of::<u32>();
/// Length of a file's key in hexadecimal.
const KEY_BYTES: usize = 16;
/// Length of the shortest first line: the type of a document, a space, a key and a line break.
const HEAD_BYTES: usize = DOCUMENT.len() + KEY_BYTES + 2;

/// Returns the bytes to store for a document. `raw` is its text, or the arguments of the tool call that its text is
/// derived from.
pub(in crate::index) fn seal_document(key: FileKey, document: &Document, raw: &str) -> Vec<u8> {
    seal(DOCUMENT, key, document, raw)
}

/// Returns the bytes to store for a checkpoint.
pub(in crate::index) fn seal_checkpoint(checkpoint: &Checkpoint) -> Vec<u8> {
    seal(CHECKPOINT, checkpoint.key(), checkpoint, "")
}

fn seal(kind: &str, key: FileKey, meta: &impl Serialize, text: &str) -> Vec<u8> {
    // The metadata of a document is 300 to 500 bytes long.
    let mut bytes = Vec::with_capacity(text.len() + 512);
    bytes.extend_from_slice(kind.as_bytes());
    bytes.push(b' ');
    bytes.extend_from_slice(key.text().as_bytes());
    bytes.push(b'\n');
    // Writing to memory cannot fail, and all keys of these types are strings.
    let _ = serde_json::to_writer(&mut bytes, meta);
    bytes.push(b'\n');
    bytes.extend_from_slice(text.as_bytes());
    let (length, sum) = (u32::try_from(bytes.len()).unwrap_or(u32::MAX), checksum(&bytes));
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

fn checksum(bytes: &[u8]) -> u32 {
    xxh3_64(bytes) as u32
}

/// Reads a number at an offset; 0 if there are too few bytes.
fn number_at(bytes: &[u8], at: usize) -> u32 {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk::<U32_BYTES>());
    found.map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// Reports whether bytes begin like an entry: with a type and the key of a file.
fn is_head(bytes: &[u8]) -> bool {
    let rest = [DOCUMENT, CHECKPOINT].iter().find_map(|kind| bytes.strip_prefix(kind.as_bytes())?.strip_prefix(b" "));
    let is_key = |rest: &[u8]| rest[..KEY_BYTES].iter().all(u8::is_ascii_hexdigit) && rest[KEY_BYTES] == b'\n';
    rest.is_some_and(|rest| rest.len() > KEY_BYTES && is_key(rest))
}

/// A stored entry whose checksum was verified.
#[derive(Debug)]
pub(in crate::index) struct Sealed {
    bytes: OwnedBytes,
}

impl Sealed {
    /// Verifies the raw bytes of a document in the store. The only stored value is at their end. Returns `None` if they
    /// are damaged.
    pub(in crate::index) fn open(raw: &OwnedBytes) -> Option<Self> {
        let (rest, sum) = raw.split_last_chunk::<U32_BYTES>()?;
        let (rest, length) = rest.split_last_chunk::<U32_BYTES>()?;
        let start = rest.len().checked_sub(u32::from_le_bytes(*length) as usize)?;
        let is_intact = checksum(&rest[start..]) == u32::from_le_bytes(*sum);
        is_intact.then(|| Self { bytes: raw.slice(start..rest.len()) })
    }

    /// Finds all intact entries in a block of a store, in order. Does not rely on tantivy's layout of the block, which
    /// damage may have changed.
    ///
    /// Searches backwards from the end: each entry ends with its length. So a text that looks like an entry is skipped
    /// together with the entry that contains it.
    pub(in crate::index) fn find_all(block: &OwnedBytes) -> Vec<Self> {
        let mut found = Vec::new();
        let mut next_end = block.len().checked_sub(2 * U32_BYTES);
        while let Some(end) = next_end.filter(|end| *end >= HEAD_BYTES) {
            let start = end.checked_sub(number_at(block, end) as usize);
            let is_entry = |start: &usize| {
                is_head(&block[*start..end]) && checksum(&block[*start..end]) == number_at(block, end + U32_BYTES)
            };
            next_end = match start.filter(is_entry) {
                Some(start) => {
                    found.push(Self { bytes: block.slice(start..end) });
                    start.checked_sub(2 * U32_BYTES)
                }
                None => Some(end - 1),
            };
        }
        found.reverse();
        found
    }

    /// Returns the key of the entry's file, and whether the entry is a checkpoint.
    pub(in crate::index) fn head(&self) -> Option<(FileKey, bool)> {
        let (kind, key) = self.parts()?.0.split_once(' ')?;
        Some((FileKey::parse(key)?, kind == CHECKPOINT))
    }

    /// Splits the value into its type and key, its JSON, and its text.
    fn parts(&self) -> Option<(&str, &[u8], &[u8])> {
        let mut lines = self.bytes.splitn(3, |byte| *byte == b'\n');
        Some((std::str::from_utf8(lines.next()?).ok()?, lines.next()?, lines.next()?))
    }

    fn read<T: DeserializeOwned>(&self, kind: &str) -> Result<(T, &[u8])> {
        let has_kind = |(head, _, _): &(&str, &[u8], &[u8])| head.split(' ').next() == Some(kind);
        let (_, json, text) = self
            .parts()
            .filter(has_kind)
            .ok_or_else(|| damaged_entry(&format!("a stored {kind} has the wrong type")))?;
        Ok((serde_json::from_slice(json).map_err(|error| damaged_entry(&error))?, text))
    }

    /// Returns the document.
    pub(in crate::index) fn document(&self) -> Result<Document> {
        let (document, raw): (Document, _) = self.read(DOCUMENT)?;
        Ok(document.with_raw(String::from_utf8_lossy(raw).into_owned()))
    }

    /// Returns the checkpoint.
    pub(in crate::index) fn checkpoint(&self) -> Result<Checkpoint> {
        self.read(CHECKPOINT).map(|(checkpoint, _)| checkpoint)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::document::{Kind, MessageKey, Role};

    /// Prepends a header, as tantivy does.
    fn stored(value: &[u8]) -> OwnedBytes {
        OwnedBytes::new([b"header\n", value].concat())
    }

    fn full_document() -> Document {
        Document {
            uuid: Some("0a1b2c3d-4e5f-4000-8000-0000000000ff".into()),
            session: "s".into(),
            role: Role::Tool,
            kind: Kind::ToolResult,
            usage: Some([1, 2, 3, u64::MAX]),
            message: Some(MessageKey::of("msg_01")),
            timestamp: Some(-1),
            line: 7,
            offset: 1 << 40,
            text_hash: Some(u64::MAX),
            is_duplicate: true,
            error: true,
            continued: true,
            text: "one\ntwo \u{1f600}\n".into(),
            ..Document::default()
        }
    }

    #[test]
    fn a_document_survives_a_round_trip() {
        let document = full_document();
        let value = seal_document(FileKey::of(Path::new("/x")), &document, &document.text);
        let sealed = Sealed::open(&stored(&value)).expect("intact");
        assert_eq!(sealed.document().expect("a document"), document);
        assert!(sealed.checkpoint().is_err(), "a document is not a checkpoint");
    }

    #[test]
    fn a_stored_document_can_be_read_without_unspool() {
        let document = Document { session: "s".into(), line: 3, ..Document::default() };
        let value = seal_document(FileKey::of(Path::new("/x")), &document, "Hello\nworld");
        let text = String::from_utf8_lossy(&value[..value.len() - 2 * U32_BYTES]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines, ["document 96a6a1b94791dd48", r#"{"session":"s","line":3}"#, "Hello", "world"]);
    }

    #[test]
    fn intact_entries_are_found_among_damage() {
        let key = FileKey::of(Path::new("/x"));
        let document = |text: &str| seal_document(key, &Document { text: text.into(), ..Document::default() }, text);
        // A text that contains what looks like an entry, apart from its last bytes, which are not text.
        let quoted = document(&String::from_utf8_lossy(&document("inner")));
        let mut damaged = document("damaged");
        damaged[40] ^= 1;
        let block = [b"\x01\0".as_slice(), &document("first"), &damaged, b"\xff", &quoted, &[0; 12]].concat();
        let found = Sealed::find_all(&OwnedBytes::new(block));
        let texts: Vec<String> = found.iter().map(|entry| entry.document().expect("a document").text).collect();
        assert_eq!((texts.len(), texts[0].as_str(), texts[1].contains("inner")), (2, "first", true), "{texts:?}");
        assert_eq!(found[0].head(), Some((key, false)));
    }

    #[test]
    fn every_damaged_byte_is_noticed() {
        let document = full_document();
        let value = seal_document(FileKey::of(Path::new("/x")), &document, &document.text);
        for at in 0..value.len() {
            assert!(Sealed::open(&stored(&value[..at])).is_none(), "cut at {at}");
            for bit in 0..8 {
                let mut flipped = value.clone();
                flipped[at] ^= 1 << bit;
                assert!(Sealed::open(&stored(&flipped)).is_none(), "bit {bit} of byte {at}");
            }
        }
    }
}
