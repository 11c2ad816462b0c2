//! Ids of transcript lines: how they are indexed and compared. Most are UUIDs.

use xxhash_rust::xxh3::xxh3_64;

use crate::index::schema::capped;

/// Returns the group of all documents with a line id.
pub(in crate::index) fn uuid_group(uuid: &str) -> u64 {
    xxh3_64(uuid.as_bytes())
}

/// Indexed bytes of a UUID. Lookups compare the rest with the stored document. More bytes would only grow the term
/// dictionary: in a segment, two ids rarely begin the same.
const UUID_BYTES: usize = 3;

/// Returns the term of a line id: the first bytes of a UUID, or the whole text of any other id.
pub(in crate::index) fn uuid_bytes(uuid: &str) -> Vec<u8> {
    hex_bytes(uuid).map_or_else(|| capped(uuid).into_bytes(), |bytes| bytes[..UUID_BYTES].to_vec())
}

/// Parses a UUID, with or without dashes.
fn hex_bytes(text: &str) -> Option<[u8; 16]> {
    let mut digits = text.bytes().filter(|byte| *byte != b'-').map(|byte| char::from(byte).to_digit(16));
    let mut bytes = [0; 16];
    for byte in &mut bytes {
        *byte = u8::try_from(digits.next()?? << 4 | digits.next()??).ok()?;
    }
    digits.next().is_none().then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_indexed_by_their_first_bytes() {
        assert_eq!(uuid_bytes("0a1b2c3d-4e5f-4000-8000-0000000000ff"), [0x0a, 0x1b, 0x2c]);
        assert_eq!(uuid_bytes("0A1B2C3D4E5F400080000000000000ff"), [0x0a, 0x1b, 0x2c]);
        assert_eq!(uuid_bytes("msg-7"), b"msg-7");
    }
}
