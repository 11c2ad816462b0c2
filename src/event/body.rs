//! What each type of line holds, from the fields of its record.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::lenient::Text;
use super::shape::{Attachment, Entry, Progress, RawBlock, RawUsage};
use super::{Block, Body, TitleBy, Usage, parse_entry};
use crate::json::{self, Token, Walk};

pub(super) fn body_of<'a>(entry: Entry<'a>, line: &'a str) -> Body<'a> {
    let kind = entry.kind.clone().unwrap_or_default();
    match kind.as_ref() {
        "user" => user(entry),
        "assistant" => assistant(entry),
        "system" => system(entry),
        "queue-operation" => queue_operation(&entry),
        "attachment" => attachment(&entry),
        "progress" => progress(&entry),
        "custom-title" => title(TitleBy::User, entry.custom_title),
        "ai-title" => title(TitleBy::Model, entry.ai_title),
        "agent-name" => title(TitleBy::AgentName, entry.agent_name),
        "last-prompt" => title(TitleBy::LastPrompt, entry.last_prompt),
        "summary" => Body::Summary { text: entry.summary.unwrap_or_default(), leaf: entry.leaf },
        "pr-link" => link(&entry),
        "frame-link" => frame_link(entry),
        "file-history-snapshot" => Body::Snapshot { files: snapshot_files(entry.snapshot) },
        "file-history-delta" => {
            Body::Snapshot { files: entry.tracking_path.map(Cow::into_owned).into_iter().collect() }
        }
        "tag" | "worktree-state" => Body::Attachment { text: unknown_text(line), kind, file: None },
        "continued-in" => Body::Continued { session: entry.continued_in.unwrap_or_default() },
        "relocated" => Body::Moved { cwd: entry.relocated_cwd.unwrap_or_default() },
        "mode"
        | "permission-mode"
        | "bridge-session"
        | "fork-context-ref"
        | "agent-color"
        | "agent-setting"
        | "content-replacement"
        | "attribution-snapshot"
        | "atis-latch"
        | "tools-used"
        | "history-suppression"
        | "data-flow-records"
        | "data-flow-incomplete" => Body::Silent(kind),
        _ => Body::Unknown { text: unknown_text(line), kind },
    }
}

fn user(entry: Entry<'_>) -> Body<'_> {
    let mut blocks = entry.message.content;
    if blocks.is_empty() {
        blocks.extend(entry.content.map(|raw| Block::Text(text_of_value(raw))));
    }
    Body::User { blocks, origin: entry.origin.kind, meta: entry.meta, compact: entry.compact }
}

fn assistant(entry: Entry<'_>) -> Body<'_> {
    let message = entry.message;
    let RawUsage { input, cache_write, cache_read, output, cache_creation, .. } = message.usage;
    Body::Assistant {
        blocks: message.content,
        message: message.id,
        model: message.model,
        usage: Usage { input, cache_write, cache_hour: cache_creation.hour.min(cache_write), cache_read, output },
        error: entry.api_error,
    }
}

fn system(entry: Entry<'_>) -> Body<'_> {
    let mut texts = [entry.content, entry.blocks].into_iter().flatten().map(text_of_value);
    let text = texts.find(|text| !text.trim().is_empty()).unwrap_or_default();
    if text.is_empty() {
        let subtype = entry.subtype.unwrap_or_default();
        return Body::Silent(Cow::Owned(format!("system/{subtype}")));
    }
    Body::System { subtype: entry.subtype, text }
}

fn queue_operation<'a>(entry: &Entry<'a>) -> Body<'a> {
    let text = entry.content.map(text_of_value).unwrap_or_default();
    if text.is_empty() {
        let operation = entry.operation.as_deref().unwrap_or_default();
        return Body::Silent(Cow::Owned(format!("queue-operation/{operation}")));
    }
    let origin = is_task(&text).then_some(Cow::Borrowed("task"));
    Body::Queued { text, origin }
}

/// Whether what was queued is a record of a task in the background, which Claude Code put there for itself. Other JSON
/// may be what somebody pasted.
fn is_task(text: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Task {
        #[serde(rename = "task_id")]
        _id: serde::de::IgnoredAny,
        #[serde(rename = "task_type")]
        _type: serde::de::IgnoredAny,
    }
    text.trim_start().starts_with('{') && serde_json::from_str::<Task>(text).is_ok()
}

/// Attachments that only tell the model about its surroundings: lists of tools, counters, reminders.
const SILENT_ATTACHMENTS: [&str; 13] = [
    "total_tokens_reminder",
    "task_reminder",
    "todo_reminder",
    "deferred_tools_delta",
    "skill_listing",
    "mcp_instructions_delta",
    "agent_listing_delta",
    "command_permissions",
    "date_change",
    "auto_mode",
    "companion_intro",
    "hook_cancelled",
    "ultrathink_effort",
];

fn attachment<'a>(entry: &Entry<'a>) -> Body<'a> {
    let raw = entry.attachment.unwrap_or("{}");
    let found: Attachment<'a> = serde_json::from_str(raw).unwrap_or_default();
    let kind = found.kind.unwrap_or_default();
    if SILENT_ATTACHMENTS.contains(&kind.as_ref()) {
        return Body::Silent(Cow::Owned(format!("attachment/{kind}")));
    }
    if kind == "queued_command" {
        let text = found.prompt.map(text_of_value).unwrap_or_default();
        if found.mode.as_deref() == Some("bash") {
            return Body::Queued { text: Cow::Owned(format!("<bash-input>{text}</bash-input>")), origin: None };
        }
        let origin = found.origin.kind.or(found.mode.filter(|mode| mode != "prompt"));
        return Body::Queued { text, origin };
    }
    Body::Attachment {
        text: words_of(raw, &["type", "toolUseID", "hookEvent"]),
        kind,
        file: found.filename.or(found.path),
    }
}

fn progress<'a>(entry: &Entry<'a>) -> Body<'a> {
    let found: Progress<'a> = entry.data.and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or_default();
    let kind = found.kind.unwrap_or_default();
    match found.message.filter(|_| kind == "agent_progress").map(parse_entry) {
        Some(Ok(event)) => Body::AgentMessage { agent: found.agent, event: Box::new(event) },
        _ => Body::Silent(Cow::Owned(format!("progress/{kind}"))),
    }
}

fn title(by: TitleBy, text: Text<'_>) -> Body<'_> {
    Body::Title { by, text: text.unwrap_or_default() }
}

fn link<'a>(entry: &Entry<'a>) -> Body<'a> {
    let repository = entry.pr_repository.as_deref().unwrap_or_default();
    let text = format!("pull request #{} {repository}", entry.pr_number);
    Body::Link { url: entry.pr_url.clone().unwrap_or_default(), text }
}

fn frame_link(entry: Entry<'_>) -> Body<'_> {
    let title = entry.title.unwrap_or_default();
    let text = format!("{title} {}", entry.path.unwrap_or_default());
    Body::Link { url: entry.artifact_url.or(entry.url).unwrap_or_default(), text }
}

/// The keys of `trackedFileBackups`, which are the names of the files.
fn snapshot_files(snapshot: Option<&str>) -> Vec<String> {
    let mut depth = 0;
    let mut inside = false;
    let mut files = Vec::new();
    for token in Walk::new(snapshot.unwrap_or_default()) {
        match token {
            Token::Open(_) => depth += 1,
            Token::Close(_) => depth -= 1,
            Token::Key(key) if depth == 1 => inside = key == "trackedFileBackups",
            Token::Key(key) if depth == 2 && inside => files.push(key.into_owned()),
            _ => {}
        }
    }
    files
}

/// All words of a line of unknown type, without its ids and its envelope.
fn unknown_text(line: &str) -> String {
    words_of(
        line,
        &[
            "type",
            "uuid",
            "parentUuid",
            "sessionId",
            "session_id",
            "timestamp",
            "cwd",
            "version",
            "gitBranch",
            "userType",
        ],
    )
}

/// Keys that hold no words, wherever they stand: names of formats, fingerprints, pictures.
const WORDLESS: [&str; 8] =
    ["signature", "blob", "base64", "encrypted_content", "encrypted_index", "mimeType", "mime_type", "media_type"];
/// Data longer than this without a blank is no text.
const DATA_WORD: usize = 64;

fn is_base64_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte)
}

/// Every string of an object but those under the given keys and under keys that hold no words.
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
                    key == "data" && (is_base64 || value.len() > DATA_WORD && value.bytes().all(is_base64_byte));
                let has_words = !is_data && !except.contains(&key.as_ref()) && !WORDLESS.contains(&key.as_ref());
                if has_words && !value.is_empty() {
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
            let text = media_words(&kind, raw.source, raw.extra);
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

/// The words of a value that is a string, or a list of blocks, or anything.
fn text_of_value(raw: &str) -> Cow<'_, str> {
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

/// The words of one item of a list: a block of any type, or a string.
fn text_of_item(raw: &str) -> String {
    let block: RawBlock<'_> = serde_json::from_str(raw).unwrap_or_default();
    match (block.kind.as_deref(), block.text) {
        (Some("text"), Some(text)) => text.into_owned(),
        (Some("tool_reference"), None) => block.tool_name.unwrap_or_default().into_owned(),
        (Some(kind @ ("image" | "audio" | "document")), None) => {
            format!("[{kind}] {}", media_words(kind, block.source, block.extra)).trim().to_string()
        }
        _ => words_of(raw, &["type", "id", "tool_use_id"]),
    }
}

/// The words of a picture or document: its title, its address, and its text if it is one.
fn media_words<'a>(kind: &str, source: Option<&'a str>, extra: Vec<&'a str>) -> String {
    let except: &[&str] = if kind == "document" { &["type", "file_id"] } else { &["type", "file_id", "data"] };
    let parts = extra.into_iter().chain(source).map(|part| words_of(part, except));
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}
