//! Ids of transcript lines: how they are indexed and compared. Most are UUIDs.

use xxhash_rust::xxh3::xxh3_64;

use crate::index::schema::capped;

/// Returns the group of all documents with a line id.
pub(in crate::index) fn uuid_group(uuid: &str) -> u64 {
    xxh3_64(uuid.as_bytes())
}

/// Indexed bytes of a UUID itself, which find it by its beginning. Lookups compare the rest with the stored document.
const UUID_BYTES: usize = 3;
/// Indexed bytes of the hash of a UUID. They keep ids apart that begin the same, such as those that a program has
/// numbered. More bytes would only grow the term dictionary.
const HASH_BYTES: usize = 2;

/// Returns the term of a line id: the first bytes and a hash of a UUID, or the whole text of any other id.
pub(in crate::index) fn uuid_bytes(uuid: &str) -> Vec<u8> {
    let Some(bytes) = hex_bytes(uuid) else { return capped(uuid).into_bytes() };
    let hash = xxh3_64(&bytes).to_le_bytes();
    [&bytes[..UUID_BYTES], &hash[..HASH_BYTES]].concat()
}

/// Returns the term of a line id if `beginning` is a whole UUID.
pub(in crate::index) fn whole_uuid(beginning: &str) -> Option<Vec<u8>> {
    hex_bytes(beginning).map(|_| uuid_bytes(beginning))
}

/// Returns the first and the last possible beginning of the terms of ids that begin with hexadecimal digits.
pub(in crate::index) fn uuid_beginnings(digits: &str) -> (Vec<u8>, Vec<u8>) {
    let fill = |with: &str| uuid_bytes(&format!("{digits}{}", with.repeat(32 - digits.len())))[..UUID_BYTES].to_vec();
    (fill("0"), fill("f"))
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
    fn uuids_are_indexed_by_their_first_bytes_and_a_hash() {
        let id = uuid_bytes("0a1b2c3d-4e5f-4000-8000-0000000000ff");
        assert_eq!(id[..3], [0x0a, 0x1b, 0x2c]);
        assert_eq!(uuid_bytes("0A1B2C3D4E5F400080000000000000ff"), id);
        assert_ne!(uuid_bytes("0a1b2c3d-4e5f-4000-8000-0000000000fe"), id);
        assert_eq!(uuid_bytes("msg-7"), b"msg-7");
        assert_eq!(uuid_beginnings("0a1b2"), (vec![0x0a, 0x1b, 0x20], vec![0x0a, 0x1b, 0x2f]));
    }
}
