//! How all that is known of a document but its words is kept: what is in columns there and nowhere else, ids and numbers
//! as bytes, because as text they take half as much again, and the rest as JSON, which may grow.

use super::ids::{uuid_from, uuid_text};
use super::numbers::{put, take};
use super::schema::{CONTINUED, FAILED, TOKENS, damaged, from_class, has_twin};
use crate::document::{Document, MessageKey};
use crate::error::Result;

/// What the columns hold of a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct InColumns {
    pub(super) class: u64,
    pub(super) line: u64,
    pub(super) timestamp: Option<i64>,
    /// The fingerprint of words that may stand more than once; anything if there is none.
    pub(super) twin: u64,
    /// The API message, if tokens were asked for.
    pub(super) message: u64,
    /// In the order of [`super::schema::TOKENS`].
    pub(super) tokens: [u64; TOKENS.len()],
}

/// There is the line's own id.
const UUID: u8 = 1;
/// There is the id of the line before.
const PARENT: u8 = 1 << 1;
/// There are tokens in the columns.
const USAGE: u8 = 1 << 2;
/// There is a fingerprint of the words; since the fourth format that is in a column.
const TWIN: u8 = 1 << 3;
/// Some of it is in columns; so it is since the third format.
const COLUMNS: u8 = 1 << 4;
/// There is an API message: in the columns, if there are tokens.
const MESSAGE: u8 = 1 << 5;
/// The first byte is less than this. In the first format there was nothing in front of the JSON.
const FLAGS: u8 = 1 << 6;

/// The bytes of a [`MessageKey`].
const MESSAGE_BYTES: usize = MessageKey::BITS.div_ceil(8) as usize;

/// Packs a document.
pub(super) fn packed(mut document: Document) -> Vec<u8> {
    let ids = [&document.uuid, &document.parent].map(|id| id.as_deref().and_then(uuid_from));
    document.uuid.take_if(|_| ids[0].is_some());
    document.parent.take_if(|_| ids[1].is_some());
    let (usage, message) = (document.usage.take(), document.message.take());
    let flags =
        [(ids[0].is_some(), UUID), (ids[1].is_some(), PARENT), (usage.is_some(), USAGE), (message.is_some(), MESSAGE)];
    let mut bytes = vec![flags.into_iter().filter(|(is_set, _)| *is_set).fold(COLUMNS, |all, (_, flag)| all | flag)];
    ids.into_iter().flatten().for_each(|id| bytes.extend(id));
    put(&mut bytes, document.offset);
    if let Some(message) = message.filter(|_| usage.is_none()) {
        bytes.extend(&message.number().to_le_bytes()[..MESSAGE_BYTES]);
    }
    let rest = Document {
        offset: 0,
        line: 0,
        timestamp: None,
        role: Default::default(),
        kind: Default::default(),
        error: false,
        echo: false,
        twin: None,
        continued: false,
        cache_hour: if usage.is_some() { 0 } else { document.cache_hour },
        ..document
    };
    bytes.extend(serde_json::to_vec(&rest).unwrap_or_default());
    bytes
}

/// Unpacks a document of this format or an older one. `columns` is asked for what they hold, with or without tokens.
pub(super) fn unpacked(bytes: &[u8], columns: impl FnOnce(bool) -> Result<InColumns>) -> Result<Document> {
    let json = |bytes| serde_json::from_slice::<Document>(bytes).map_err(|error| damaged(&error));
    let Some((flags, mut rest)) = bytes.split_first().filter(|(first, _)| **first < FLAGS) else { return json(bytes) };
    let cut = || damaged(&"a stored document is cut short");
    let mut id = |flag| {
        let (id, behind) = rest.split_first_chunk().filter(|_| flags & flag != 0)?;
        rest = behind;
        Some(uuid_text(id))
    };
    let (uuid, parent) = (id(UUID), id(PARENT));
    if flags & COLUMNS == 0 {
        let document = json(rest)?;
        return Ok(Document {
            uuid: uuid.or(document.uuid.clone()),
            parent: parent.or(document.parent.clone()),
            ..document
        });
    }
    let offset = take(&mut rest).ok_or_else(cut)?;
    let mut twin = None;
    if flags & TWIN != 0 {
        let (bytes, behind) = rest.split_first_chunk().ok_or_else(cut)?;
        (twin, rest) = (Some(u64::from_le_bytes(*bytes)), behind);
    }
    let has_usage = flags & USAGE != 0;
    let mut message = None;
    if flags & MESSAGE != 0 && !has_usage {
        let (bytes, behind) = rest.split_first_chunk::<MESSAGE_BYTES>().ok_or_else(cut)?;
        let mut number = [0; size_of::<u64>()];
        number[..MESSAGE_BYTES].copy_from_slice(bytes);
        (message, rest) = (Some(MessageKey::from_number(u64::from_le_bytes(number))), behind);
    }
    let document = json(rest)?;
    let columns = columns(has_usage)?;
    let InColumns { class, line, timestamp, tokens, .. } = columns;
    if flags & MESSAGE != 0 && has_usage {
        message = Some(MessageKey::from_number(columns.message));
    }
    let [input, write, read, output, hour] = tokens;
    let (role, kind, echo) = from_class(class);
    Ok(Document {
        uuid: uuid.or(document.uuid.clone()),
        parent: parent.or(document.parent.clone()),
        offset,
        line,
        timestamp,
        role,
        kind,
        usage: has_usage.then_some([input, write, read, output]),
        cache_hour: if has_usage { hour } else { document.cache_hour },
        twin: twin.or(has_twin(class).then_some(columns.twin)),
        message: message.or(document.message),
        echo,
        error: class & FAILED != 0,
        continued: class & CONTINUED != 0,
        ..document
    })
}

#[cfg(test)]
mod tests {
    use super::super::schema::class_of;
    use super::*;
    use crate::document::{Kind, Role};

    impl InColumns {
        fn of(document: &Document) -> Self {
            let [input, write, read, output] = document.usage.unwrap_or_default();
            let tokens = [input, write, read, output, document.cache_hour];
            Self {
                class: class_of(document),
                line: document.line,
                timestamp: document.timestamp,
                twin: document.twin.unwrap_or(7),
                message: document.message.map_or(7, MessageKey::number),
                tokens,
            }
        }
    }

    fn same(document: &Document) {
        let columns = InColumns::of(document);
        let back = unpacked(&packed(document.clone()), |_| Ok(columns)).expect("unpacked");
        assert_eq!(back, *document);
    }

    #[test]
    fn what_is_packed_comes_back() {
        let ids = [
            "0a1b2c3d-4e5f-4000-8000-0000000000ff",
            "0A1B2C3D-4E5F-4000-8000-0000000000FF",
            "0a1b2c3d4e5f400080000000000000ff",
            "00000000-0000-0000-0000-000000000000",
            "msg-7",
            "{",
            "",
        ];
        let ids: Vec<Option<String>> = ids.into_iter().map(|id| Some(id.to_string())).chain([None]).collect();
        for uuid in &ids {
            for parent in &ids {
                same(&Document {
                    uuid: uuid.clone(),
                    parent: parent.clone(),
                    session: "s".into(),
                    ..Document::default()
                });
            }
        }
        for (role, _) in Role::ALL {
            for (kind, _) in Kind::ALL {
                same(&Document { role, kind, ..Document::default() });
            }
        }
        for number in [0, 1, 127, 128, 1 << 40, u64::MAX] {
            for timestamp in [None, Some(0), Some(-1), Some(1_763_300_000_000)] {
                for (usage, twin) in [(None, None), (Some([number, 0, 1, number]), None), (None, Some(number))] {
                    let cache_hour = number / 2;
                    let message = (number % 2 == 1).then(|| MessageKey::of(&number.to_string()));
                    same(&Document {
                        offset: number,
                        line: number,
                        timestamp,
                        usage,
                        message,
                        twin,
                        cache_hour,
                        ..Document::default()
                    });
                }
            }
        }
        for flag in 0..8 {
            let (error, echo, continued) = (flag & 1 != 0, flag & 2 != 0, flag & 4 != 0);
            same(&Document { error, echo, continued, part: flag, ..Document::default() });
        }
    }

    #[test]
    fn older_formats_are_read() {
        let none = |_| -> Result<InColumns> { panic!("these had no columns") };
        let document =
            Document { uuid: Some("x".into()), line: 7, offset: 9, kind: Kind::Prompt, ..Document::default() };
        let first = serde_json::to_vec(&document).expect("JSON");
        assert_eq!(unpacked(&first, none).expect("unpacked"), document);
        let id = [7; 16];
        let second =
            [&[UUID][..], &id, &serde_json::to_vec(&Document { uuid: None, ..document.clone() }).expect("JSON")];
        let expected = Document { uuid: Some(uuid_text(&id)), ..document };
        assert_eq!(unpacked(&second.concat(), none).expect("unpacked"), expected);
        // Until the fourth, API messages had their name, and the fingerprint of words was not only in a column.
        let third = [&[COLUMNS | TWIN, 9][..], &7_u64.to_le_bytes(), br#"{"s":"s","mi":"msg_01"}"#].concat();
        let document = Document {
            session: "s".into(),
            message: Some(MessageKey::of("msg_01")),
            twin: Some(7),
            offset: 9,
            ..Document::default()
        };
        let columns = InColumns::of(&document);
        assert_eq!(unpacked(&third, |_| Ok(columns)).expect("unpacked"), document);
    }

    #[test]
    fn damage_is_noticed() {
        let document =
            Document { message: Some(MessageKey::of("m")), uuid: Some(uuid_text(&[7; 16])), ..Document::default() };
        let bytes = packed(document.clone());
        for at in 0..bytes.len() {
            assert!(unpacked(&bytes[..at], |_| Ok(InColumns::of(&document))).is_err(), "cut at {at}");
        }
        for broken in [&b"\x03"[..], b"\x01short{}", b"\x02", b"\x7f{}", b"\x1f"] {
            assert!(unpacked(broken, |_| Ok(InColumns::of(&document))).is_err(), "{broken:?}");
        }
    }
}
