//! The ids in a transcript, found without reading its lines.

use std::collections::HashSet;

use memchr::memmem;
use xxhash_rust::xxh3::xxh3_64;

/// The longest id that is looked for, with its key and what is around it.
const LONGEST: usize = 256;

/// The ids in a transcript.
#[derive(Debug, Default)]
pub struct Ids {
    /// The session it belongs to, as the first of its lines has it.
    pub session: Option<String>,
    /// Fingerprints of the ids of lines.
    lines: HashSet<u64>,
}

impl Ids {
    /// Looks through a piece of the transcript. The end of it, where an id may be cut in two, is left for the next piece.
    pub fn take(&mut self, bytes: &mut Vec<u8>) {
        let [uuid, session] = ["\"uuid\"", "\"sessionId\""].map(memmem::Finder::new);
        for at in uuid.find_iter(bytes) {
            self.lines.extend(value_at(&bytes[at + uuid.needle().len()..]).map(xxh3_64));
        }
        if self.session.is_none() {
            let first = session.find_iter(bytes).find_map(|at| value_at(&bytes[at + session.needle().len()..]));
            self.session = first.map(|id| String::from_utf8_lossy(id).into_owned());
        }
        bytes.drain(..bytes.len().saturating_sub(LONGEST));
    }

    /// Whether a line has this id; without one, whether any has an id.
    pub fn hold(&self, uuid: Option<&str>) -> bool {
        uuid.map_or(!self.lines.is_empty(), |uuid| self.lines.contains(&xxh3_64(uuid.as_bytes())))
    }
}

/// The string that is the value of a key, given what comes behind the key.
fn value_at(behind: &[u8]) -> Option<&[u8]> {
    let value = behind.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start().strip_prefix(b"\"")?;
    let value = &value[..value.len().min(LONGEST)];
    Some(&value[..memchr::memchr(b'"', value)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_wherever_a_piece_is_cut() {
        let text = r#"{"parentUuid":"p","sessionId":"s1","uuid":"one"}
{"uuid" : "two","sessionId":"s2","text":"\"uuid\":\"three\""}"#;
        for cut in 0..text.len() {
            let (mut ids, mut bytes) = (Ids::default(), text.as_bytes()[..cut].to_vec());
            ids.take(&mut bytes);
            bytes.extend(&text.as_bytes()[cut..]);
            ids.take(&mut bytes);
            let held = ["one", "two", "p", "three"].map(|id| ids.hold(Some(id)));
            assert_eq!((held, ids.session.as_deref()), ([true, true, false, false], Some("s1")), "{cut}");
        }
    }
}
