//! The ids of lines: how they are looked up and compared. Most are UUIDs.

use xxhash_rust::xxh3::xxh3_64;

use crate::index::schema::capped;

/// The group of a line's id.
pub(in crate::index) fn uuid_group(uuid: &str) -> u64 {
    xxh3_64(uuid.as_bytes())
}

/// How much of a UUID is looked up; what is found is compared with all of it. The rest would only fill the list of
/// terms: among as many documents as a segment has, hardly two ids begin alike.
const UUID_BYTES: usize = 3;

/// The bytes under which a line's id is found: the beginning of a UUID, anything else as it is.
pub(in crate::index) fn uuid_bytes(uuid: &str) -> Vec<u8> {
    hex_bytes(uuid).map_or_else(|| capped(uuid).into_bytes(), |bytes| bytes[..UUID_BYTES].to_vec())
}

/// Reads the digits of a UUID, dashes left out; none if it is none.
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
    fn ids_are_bytes() {
        assert_eq!(uuid_bytes("0a1b2c3d-4e5f-4000-8000-0000000000ff"), [0x0a, 0x1b, 0x2c]);
        assert_eq!(uuid_bytes("0A1B2C3D4E5F400080000000000000ff"), [0x0a, 0x1b, 0x2c]);
        assert_eq!(uuid_bytes("msg-7"), b"msg-7");
    }
}
