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
