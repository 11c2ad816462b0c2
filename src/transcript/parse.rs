//! Parses one line of a transcript into an [`Event`], without I/O.
//!
//! Duplicate data (`toolUseResult`, `originalFile`), signatures and base64 are skipped without being decoded.

use std::borrow::Cow;

use crate::transcript::block::{text_of_value, words_of};
use crate::transcript::event::{AgentDescription, Block, Body, Event, TitleBy, Usage, is_plausible, parse_timestamp};
use crate::transcript::file_record;
use crate::transcript::json::{Token, Walk};
use crate::transcript::known_keys::{AgentMeta, Attachment, Entry, HistoryEntry, Progress, RawUsage};
use crate::transcript::lenient::Text;
use crate::transcript::repair::{self, ParsedRecord};

/// Reads a line of a transcript. Calls `emit` with each [`ParsedRecord`] and its offset in the line.
pub fn read_line(bytes: &[u8], emit: &mut dyn FnMut(usize, ParsedRecord<'_>)) {
    repair::read_records(bytes, parse_entry, emit);
}

/// Reads a line of `history.jsonl`, as [`read_line`] does.
pub fn read_history_line(bytes: &[u8], emit: &mut dyn FnMut(usize, ParsedRecord<'_>)) {
    repair::read_records(bytes, parse_history, emit);
}

/// Reads the description file of a subagent.
pub fn read_agent_meta(bytes: &[u8]) -> Option<AgentDescription> {
    let meta: AgentMeta<'_> = serde_json::from_slice(bytes).ok()?;
    let owned = |text: Text<'_>| text.map(Cow::into_owned);
    let description = owned(meta.description).or(owned(meta.name));
    Some(AgentDescription { kind: owned(meta.kind), description, tool_use: owned(meta.tool_use) })
}

fn parse_entry(text: &str) -> serde_json::Result<Event<'_>> {
    let mut entry: Entry<'_> = serde_json::from_str(require_object(text)?)?;
    let fork = std::mem::take(&mut entry.forked_from);
    let unknown = text_of_unknown_keys(&mut entry);
    Ok(Event {
        uuid: entry.uuid.take(),
        parent: entry.parent.take().or(entry.logical_parent.take()),
        session: entry.session.take(),
        agent: entry.agent.take(),
        timestamp: entry.timestamp.take().and_then(|text| parse_timestamp(&text)),
        cwd: entry.cwd.take().filter(|cwd| !cwd.is_empty()),
        branch: entry.branch.take().filter(|branch| !branch.is_empty()),
        version: entry.version.take(),
        entrypoint: entry.entrypoint.take(),
        sidechain: entry.sidechain,
        background: entry.session_kind.as_deref() == Some("bg"),
        copy_of: fork.session.zip(fork.message),
        trace: file_record::trace_of(&entry.record),
        body: body_of(entry, text),
        unknown,
    })
}

/// Returns the text under unknown keys of a line and of its message. A line of unknown type keeps all its text anyway.
fn text_of_unknown_keys(entry: &mut Entry<'_>) -> String {
    if !matches!(entry.kind.as_deref(), Some("user" | "assistant" | "system" | "attachment")) {
        return String::new();
    }
    let mut parts = std::mem::take(&mut entry.extra);
    if entry.kind.as_deref() == Some("user") {
        // On other lines these keys contain progress, or the cause of a failure that the text already reports.
        parts.extend([entry.data, entry.error, entry.result].into_iter().flatten());
    }
    parts.append(&mut entry.message.extra);
    let texts = parts.into_iter().map(|part| words_of(part, &[]));
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Rejects JSON that is not an object. Other values are not records.
fn require_object(text: &str) -> serde_json::Result<&str> {
    if text.starts_with('{') { Ok(text) } else { Err(serde::de::Error::custom("not an object")) }
}

fn parse_history(text: &str) -> serde_json::Result<Event<'_>> {
    let entry: HistoryEntry<'_> = serde_json::from_str(require_object(text)?)?;
    let pasted =
        entry.pasted.map(|raw| words_of(raw, &["type", "mediaType", "contentHash", "filename"])).unwrap_or_default();
    let display = entry.display.unwrap_or_default();
    let text = if pasted.is_empty() { display } else { Cow::Owned(format!("{display}\n{pasted}")) };
    Ok(Event {
        session: entry.session,
        timestamp: i64::try_from(entry.timestamp).ok().filter(|ms| is_plausible(*ms)),
        cwd: entry.project,
        body: Body::Queued { text, origin: None },
        ..Event::default()
    })
}

fn body_of<'a>(entry: Entry<'a>, line: &'a str) -> Body<'a> {
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
    let origin = is_task_record(&text).then_some(Cow::Borrowed("task"));
    Body::Queued { text, origin }
}

/// Reports whether a queued text is a background task record that Claude Code queued for itself. Other JSON may have
/// been pasted by the user.
fn is_task_record(text: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Task {
        #[serde(rename = "task_id")]
        _id: serde::de::IgnoredAny,
        #[serde(rename = "task_type")]
        _type: serde::de::IgnoredAny,
    }
    text.trim_start().starts_with('{') && serde_json::from_str::<Task>(text).is_ok()
}

/// Attachments that only inform the model about its environment: lists of tools, counters, reminders.
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

/// Returns the keys of `trackedFileBackups`, which are the names of the files.
fn snapshot_files(snapshot: Option<&str>) -> Vec<String> {
    let mut depth = 0;
    let mut in_backups = false;
    let mut files = Vec::new();
    for token in Walk::new(snapshot.unwrap_or_default()) {
        match token {
            Token::Open(_) => depth += 1,
            Token::Close(_) => depth -= 1,
            Token::Key(key) if depth == 1 => in_backups = key == "trackedFileBackups",
            Token::Key(key) if depth == 2 && in_backups => files.push(key.into_owned()),
            _ => {}
        }
    }
    files
}

/// Returns all text of a line of unknown type, without its ids and metadata.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::repair::whole_records;

    /// Asserts that every record of a line, shown as `offset body`, is as expected.
    fn check(line: &[u8], expected: &[&str]) {
        let mut shown = Vec::new();
        read_line(line, &mut |at, reading| {
            shown.push(match reading {
                ParsedRecord::Event(event) => format!("{at} {}", show(&event.body)),
                ParsedRecord::Bad { reason, text } => {
                    format!("{at} BAD {reason} | {}", text.chars().take(20).collect::<String>())
                }
            });
        });
        assert_eq!(shown, expected, "{}", String::from_utf8_lossy(line));
    }

    fn show(body: &Body<'_>) -> String {
        match body {
            Body::User { blocks, .. } => format!("user {blocks:?}"),
            Body::Assistant { blocks, .. } => format!("assistant {blocks:?}"),
            other => format!("{other:?}"),
        }
    }

    const HI: &str = r#"{"type":"user","uuid":"u1","message":{"role":"user","content":"hi"}}"#;

    #[test]
    fn strings_and_lists_are_content() {
        check(HI.as_bytes(), &[r#"0 user [Text("hi")]"#]);
        check(
            br#"{"type":"assistant","message":{"content":[{"type":"text","text":"a"},{"type":"thinking","thinking":"b","signature":"zz"}]}}"#,
            &[r#"0 assistant [Text("a"), Thinking("b")]"#],
        );
        check(
            br#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x"},{"type":"image","source":{"data":"AAAA"}}]}]}}"#,
            &[r#"0 user [ToolResult { id: "t", text: "x\n[image]", error: false }]"#],
        );
    }

    #[test]
    fn every_shape_of_message_keeps_its_text() {
        for (message, blocks) in [
            (r#""just words""#, r#"[Text("just words")]"#),
            (r#"["a",{"type":"text","text":"b"}]"#, r#"[Text("a"), Text("b")]"#),
            (r#"{"content":["a",["b",{"type":"text","text":"c"}],7]}"#, "[Text(\"a\"), Text(\"b\\nc\")]"),
            (r#"{"content":{"type":"text","text":"a"}}"#, r#"[Text("a")]"#),
            (r#"{"content":{"note":"a"}}"#, r#"[Other { kind: "", text: "a" }]"#),
            (
                r#"{"content":[{"type":"document","title":"t","source":{"type":"text","media_type":"text/plain","data":"the words"}}]}"#,
                r#"[Media { kind: "document", text: "t\nthe words" }]"#,
            ),
            (
                r#"{"content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}]}"#,
                r#"[Media { kind: "document", text: "" }]"#,
            ),
        ] {
            check(format!(r#"{{"type":"user","message":{message}}}"#).as_bytes(), &[&format!("0 user {blocks}")]);
        }
        check(br#"{"type":"user","content":"beside"}"#, &[r#"0 user [Text("beside")]"#]);
    }

    #[test]
    fn every_result_item_keeps_its_text() {
        for (item, text) in [
            (
                r#"{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"words"}}"#,
                "file:///a\nwords",
            ),
            (r#"{"type":"resource","resource":{"uri":"file:///a","blob":"QUJD"}}"#, "file:///a"),
            (
                r#"{"type":"web_search_result","title":"t","url":"http://u","encrypted_content":"ENC","page_age":"1 day"}"#,
                "t\nhttp://u\n1 day",
            ),
            (r#"{"type":"resource_link","uri":"file:///a","name":"n","description":"d"}"#, "file:///a\nn\nd"),
            (
                r#"{"type":"search_result","source":"http://u","title":"t","content":[{"type":"text","text":"c"}]}"#,
                "http://u\nt\nc",
            ),
            (r#"{"type":"document","source":{"type":"text","data":"the words"}}"#, "[document] the words"),
            (r#"{"type":"audio","data":"QUJD","mimeType":"audio/wav"}"#, "[audio]"),
            (r#""bare""#, "bare"),
            (r#"{"type":"tool_reference","tool_name":"Grep"}"#, "Grep"),
        ] {
            let line = format!(
                r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":[{item}]}}]}}}}"#
            );
            check(
                line.as_bytes(),
                &[&format!("0 user {:?}", [Block::ToolResult { id: "t".into(), text: text.into(), error: false }])],
            );
        }
    }

    #[test]
    fn text_outside_the_message_is_kept() {
        for (line, words) in [
            (r#"{"type":"user","data":"d","error":"e","result":{"note":"r"},"message":{"content":"x"}}"#, "d\ne\nr"),
            (r#"{"type":"assistant","error":"e","message":{"content":[]}}"#, ""),
            (r#"{"type":"user","toolUseResult":{"result":"copy"},"message":{"content":"x","novel":"n"}}"#, "n"),
        ] {
            assert_eq!(parse_entry(line).expect("a record").unknown, words, "{line}");
        }
    }

    #[test]
    fn rare_types_keep_their_text() {
        check(
            br#"{"type":"tag","tag":"quarter end","sessionId":"s"}"#,
            &[r#"0 Attachment { kind: "tag", text: "quarter end", file: None }"#],
        );
        check(
            br#"{"type":"worktree-state","worktreeSession":{"worktreePath":"/w/x","worktreeBranch":"feat"},"sessionId":"s"}"#,
            &[r#"0 Attachment { kind: "worktree-state", text: "/w/x\nfeat", file: None }"#],
        );
        check(
            br#"{"type":"system","subtype":"voice_call_talk","content":"","blocks":[{"type":"text","text":"spoken"}]}"#,
            &[r#"0 System { subtype: Some("voice_call_talk"), text: "spoken" }"#],
        );
        check(
            br#"{"type":"novelty","data":"brand new","image":{"type":"base64","data":"QUJD"}}"#,
            &[r#"0 Unknown { kind: "novelty", text: "brand new" }"#],
        );
    }

    #[test]
    fn wrong_types_and_duplicate_keys_are_tolerated() {
        check(
            br#"{"type":"user","uuid":7,"timestamp":{"x":[1]},"isMeta":"no","message":{"content":"old","content":"new"},"huge":1e999}"#,
            &[r#"0 user [Text("new")]"#],
        );
        check(br#"{"type":"user","message":null}"#, &["0 user []"]);
    }

    #[test]
    fn damaged_lines_are_repaired() {
        check(b"  \r\n", &[]);
        check(format!("\u{feff}{HI}\r").as_bytes(), &[r#"3 user [Text("hi")]"#]);
        check(format!("{HI}{HI}").as_bytes(), &[r#"0 user [Text("hi")]"#, r#"68 user [Text("hi")]"#]);
        check(
            format!("{{\"type\":\"user\",\"uu{HI}").as_bytes(),
            &[r#"18 user [Text("hi")]"#, r#"0 BAD not a JSON record: EOF while parsing a string | {"type":"user","uu"#],
        );
        check(
            br#"{"type":"user","message":{"content":"a \ud83d b \ude00 \ud83d\ude00"}}"#,
            &[r#"0 user [Text("a � b � 😀")]"#],
        );
        check(b"{\"type\":\"user\",\"message\":{\"content\":\"a \x1b b \xff\"}}", &[r#"0 user [Text("a   b �")]"#]);
        check(b"\0\0\0\0", &["0 BAD 4 NUL bytes, probably from a power failure | "]);
        check(
            format!("\0\0{HI}\0").as_bytes(),
            &["0 BAD 3 NUL bytes, probably from a power failure | ", r#"2 user [Text("hi")]"#],
        );
    }

    #[test]
    fn only_complete_records_of_an_unterminated_line_count() {
        for (line, whole) in
            [("", 0), ("{\"a\":1", 0), ("{\"a\":1}", 7), (" {} {\"a\":{}}{\"b", 12), ("12", 0), ("{}x", 2)]
        {
            assert_eq!(whole_records(line.as_bytes()), whole, "{line}");
        }
    }

    #[test]
    fn non_records_are_bad() {
        check(b"garbage UNIQ", &["0 BAD not a JSON record | garbage UNIQ"]);
        check(b".344Z\"}", &["0 BAD not a JSON record | .344Z\"}"]);
        check(b"[1,2]", &["0 BAD JSON, but not a record | [1,2]"]);
        check(b"null", &["0 BAD not a JSON record | null"]);
        check(b"{\"type\":", &["0 BAD not a JSON record: EOF while parsing a value | {\"type\":"]);
    }

    #[test]
    fn unknown_types_keep_their_text() {
        check(
            br#"{"type":"novelty","uuid":"u","payload":{"note":"brand new","n":[1,"two"]}}"#,
            &[r#"0 Unknown { kind: "novelty", text: "brand new\ntwo" }"#],
        );
    }

    #[test]
    fn timestamps_out_of_range_are_none() {
        for (text, ms) in [
            ("2026-01-02T03:04:05.678Z", Some(1_767_323_045_678)),
            ("2026-01-02T04:04:05.678+01:00", Some(1_767_323_045_678)),
            ("9999-12-31T00:00:00Z", None),
            ("-1", None),
            ("yesterday", None),
        ] {
            assert_eq!(parse_timestamp(text), ms, "{text}");
        }
    }
}
