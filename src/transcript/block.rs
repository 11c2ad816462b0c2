//! Parses the content blocks of a message, and extracts the text of any JSON value.

use std::borrow::Cow;

use serde::de::{MapAccess, SeqAccess};
use serde_json::value::RawValue;

use crate::transcript::event::Block;
use crate::transcript::json::{self, Token, Walk};
use crate::transcript::lenient::{AnyValue, Lenient, Raw, Text, object};

object! {
    /// One block of a message.
    RawBlock {
        "type" => kind: Text<'a>,
        "text" => text: Text<'a>,
        "thinking" => thinking: Text<'a>,
        "id" => id: Text<'a>,
        "name" => name: Text<'a>,
        "tool_name" => tool_name: Text<'a>,
        "input" => input: Raw<'a>,
        "tool_use_id" => tool_use_id: Text<'a>,
        "content" => content: Raw<'a>,
        "is_error" => is_error: bool,
        "source" => source: Raw<'a>,
        "from" => from: Raw<'a>,
        "to" => to: Raw<'a>,
    }
}

/// `message.content`: a list of blocks. A string or a single block counts as a list of one.
impl<'a> Lenient<'a> for Vec<Block<'a>> {
    fn from_text(text: Cow<'a, str>) -> Self {
        vec![Block::Text(text)]
    }

    fn from_list<A: SeqAccess<'a>>(mut list: A) -> Result<Self, A::Error> {
        let mut blocks = Self::new();
        while let Some(block) = list.next_element_seed(AnyValue::<Option<Block<'a>>>::new())? {
            blocks.extend(block);
        }
        Ok(blocks)
    }

    fn from_object<A: MapAccess<'a>>(object: A) -> Result<Self, A::Error> {
        Ok(vec![block_of(RawBlock::from_object(object)?)])
    }
}

/// One item of a list of blocks: a block, or a bare string.
impl<'a> Lenient<'a> for Option<Block<'a>> {
    fn from_text(text: Cow<'a, str>) -> Self {
        Some(Block::Text(text))
    }

    fn from_list<A: SeqAccess<'a>>(mut list: A) -> Result<Self, A::Error> {
        // Read as raw JSON, not as blocks again, because lists can be nested to any depth.
        let mut texts = Vec::new();
        while let Some(raw) = list.next_element_seed(AnyValue::<Raw<'a>>::new())? {
            texts.extend(raw.map(|raw| words_of(raw, &["type"])).filter(|text| !text.is_empty()));
        }
        Ok((!texts.is_empty()).then(|| Block::Text(Cow::Owned(texts.join("\n")))))
    }

    fn from_object<A: MapAccess<'a>>(object: A) -> Result<Self, A::Error> {
        // Converted immediately because a raw block takes four times the space.
        Ok(Some(block_of(RawBlock::from_object(object)?)))
    }
}

/// Keys whose values are never readable text, at any depth: format names, fingerprints, images.
const NON_TEXT_KEYS: [&str; 8] =
    ["signature", "blob", "base64", "encrypted_content", "encrypted_index", "mimeType", "mime_type", "media_type"];
/// A `data` value longer than this that consists only of base64 characters is encoded data, not text.
const MAX_TEXT_DATA: usize = 64;

fn is_base64_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte)
}

/// Returns every string of a JSON value, one per line, except those under the keys in `except` and under
/// `NON_TEXT_KEYS`.
pub(super) fn words_of(raw: &str, except: &[&str]) -> String {
    let mut text = String::new();
    let mut key = Cow::Borrowed("");
    let mut is_base64 = false;
    for token in Walk::new(raw) {
        match token {
            Token::Open(b'{') | Token::Close(_) => is_base64 = false,
            Token::Key(name) => key = name,
            Token::Text(value) => {
                is_base64 |= key == "type" && value == "base64";
                let is_data =
                    key == "data" && (is_base64 || value.len() > MAX_TEXT_DATA && value.bytes().all(is_base64_byte));
                let is_text = !is_data && !except.contains(&key.as_ref()) && !NON_TEXT_KEYS.contains(&key.as_ref());
                if is_text && !value.is_empty() {
                    if !text.is_empty() {
                        text.push('\n');
                    }
                    text.push_str(&value);
                }
            }
            _ => {}
        }
    }
    text
}

/// Converts a raw block into a typed one, by its `type`.
pub(super) fn block_of(raw: RawBlock<'_>) -> Block<'_> {
    let kind = raw.kind.unwrap_or_default();
    match kind.as_ref() {
        "text" => Block::Text(raw.text.unwrap_or_default()),
        "thinking" => Block::Thinking(raw.thinking.unwrap_or_default()),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => Block::ToolUse {
            id: raw.id.unwrap_or_default(),
            name: raw.name.unwrap_or_default(),
            input: raw.input.unwrap_or("{}"),
        },
        _ if raw.tool_use_id.is_some() => Block::ToolResult {
            id: raw.tool_use_id.unwrap_or_default(),
            text: raw.content.map(text_of_value).unwrap_or_default(),
            error: raw.is_error,
        },
        "image" | "document" | "redacted_thinking" => {
            let text = media_text(&kind, raw.source, raw.extra);
            Block::Media { kind, text }
        }
        _ => {
            let mut text = raw.text.map(Cow::into_owned).unwrap_or_default();
            for part in [raw.from, raw.to, raw.content, raw.source].into_iter().flatten().chain(raw.extra) {
                text = format!("{text}\n{}", words_of(part, &[]));
            }
            Block::Other { kind, text: text.trim().to_string() }
        }
    }
}

/// Returns the text of a value: a string, a list of blocks, or any other JSON.
pub(super) fn text_of_value(raw: &str) -> Cow<'_, str> {
    match raw.as_bytes().first() {
        Some(b'"') => json::unescape(raw.get(1..raw.len() - 1).unwrap_or_default()),
        Some(b'[') => Cow::Owned(text_of_blocks(raw)),
        Some(b'{') => Cow::Owned(text_of_item(raw)),
        _ => Cow::Owned(json::all_text(raw)),
    }
}

fn text_of_blocks(raw: &str) -> String {
    let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(raw) else {
        return json::all_text(raw);
    };
    let parts = items.into_iter().map(|item| text_of_item(item.get()));
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Returns the text of one list item: a block of any type, or a string.
fn text_of_item(raw: &str) -> String {
    let block: RawBlock<'_> = serde_json::from_str(raw).unwrap_or_default();
    match (block.kind.as_deref(), block.text) {
        (Some("text"), Some(text)) => text.into_owned(),
        (Some("tool_reference"), None) => block.tool_name.unwrap_or_default().into_owned(),
        (Some(kind @ ("image" | "audio" | "document")), None) => {
            format!("[{kind}] {}", media_text(kind, block.source, block.extra)).trim().to_string()
        }
        _ => words_of(raw, &["type", "id", "tool_use_id"]),
    }
}

/// Returns the text of an image or document: its title, its address and, for a text document, its contents.
fn media_text<'a>(kind: &str, source: Option<&'a str>, extra: Vec<&'a str>) -> String {
    let except: &[&str] = if kind == "document" { &["type", "file_id"] } else { &["type", "file_id", "data"] };
    let parts = extra.into_iter().chain(source).map(|part| words_of(part, except));
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}
