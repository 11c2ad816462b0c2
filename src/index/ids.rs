//! The ids of lines: how they are looked up, compared and kept. Most are UUIDs.

use xxhash_rust::xxh3::xxh3_64;

use super::schema::capped;

/// The group of a line's id.
pub(super) fn uuid_group(uuid: &str) -> u64 {
    xxh3_64(uuid.as_bytes())
}

/// How much of a UUID is looked up; what is found is compared with all of it. The rest would only fill the list of
/// terms: hardly two ids of a user begin alike.
const UUID_BYTES: usize = 5;

/// The bytes under which a line's id is found: the beginning of a UUID, anything else as it is.
pub(super) fn uuid_bytes(uuid: &str) -> Vec<u8> {
    let whole = hex_bytes(uuid).filter(|bytes| bytes.len() == 16);
    whole.map_or_else(|| capped(uuid).into_bytes(), |bytes| bytes[..UUID_BYTES].to_vec())
}

/// The bytes of a UUID that is written as they are.
pub(super) fn uuid_from(text: &str) -> Option<[u8; 16]> {
    let bytes: [u8; 16] = hex_bytes(text)?.try_into().ok()?;
    (uuid_text(&bytes) == text).then_some(bytes)
}

pub(super) fn uuid_text(bytes: &[u8; 16]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.extend([byte >> 4, byte & 15].map(|digit| char::from(DIGITS[usize::from(digit)])));
    }
    text
}

/// Reads hexadecimal digits, dashes left out.
fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    digits.chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_bytes() {
        assert_eq!(uuid_bytes("0a1b2c3d-4e5f-4000-8000-0000000000ff"), [0x0a, 0x1b, 0x2c, 0x3d, 0x4e]);
        assert_eq!(uuid_bytes("0A1B2C3D4E5F400080000000000000ff"), [0x0a, 0x1b, 0x2c, 0x3d, 0x4e]);
        assert_eq!(uuid_bytes("msg-7"), b"msg-7");
    }
}
