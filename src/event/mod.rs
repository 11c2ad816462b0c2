//! One line of a transcript as an [`Event`]. The only code that knows Claude Code's JSON keys; pure.
//!
//! An event says what a line *is*; what of it is searchable, and under which role, is for `document` to decide.
//! Second copies (`toolUseResult`, `originalFile`), signatures and base64 are passed over without being decoded.

mod body;
mod call;
mod known;
mod ladder;
mod lenient;
mod record;
mod shape;
mod tool;

use std::borrow::Cow;

use body::{body_of, words_of};
pub use call::{Call, Edit, read_call};
pub use ladder::{Reading, whole_records};
use lenient::Text;
pub use record::{Backup, Hunk, Record, Trace, print_of, read_backups, read_record};
use shape::{AgentMeta, Entry, HistoryEntry};
pub use tool::{Action, action};

/// One line of a transcript.
#[derive(Debug, Default)]
pub struct Event<'a> {
    /// The line's own id.
    pub uuid: Option<Cow<'a, str>>,
    /// The line it follows in the conversation.
    pub parent: Option<Cow<'a, str>>,
    /// The session the line says it belongs to; the file's name is the better witness.
    pub session: Option<Cow<'a, str>>,
    /// The subagent that wrote it.
    pub agent: Option<Cow<'a, str>>,
    /// When, in milliseconds since 1970.
    pub timestamp: Option<i64>,
    /// The folder the session was in.
    pub cwd: Option<Cow<'a, str>>,
    /// The git branch of that folder.
    pub branch: Option<Cow<'a, str>>,
    /// The version of Claude Code.
    pub version: Option<Cow<'a, str>>,
    /// How Claude Code was started: `cli`, `sdk-ts`, …
    pub entrypoint: Option<Cow<'a, str>>,
    /// Whether a subagent wrote it.
    pub sidechain: bool,
    /// Whether the session ran in the background.
    pub background: bool,
    /// The message (session, uuid) of which this one is a copy made by the SDK.
    pub copy_of: Option<(Cow<'a, str>, Cow<'a, str>)>,
    /// What a tool recorded beside its answer about a file.
    pub trace: Option<Trace>,
    /// What the line holds.
    pub body: Body<'a>,
    /// Words under keys that nobody knew when this was written.
    pub unknown: String,
}

/// What a line holds.
#[derive(Debug)]
pub enum Body<'a> {
    /// A line of type `user`: a prompt, or the results of tools.
    User {
        /// The blocks of the message.
        blocks: Vec<Block<'a>>,
        /// Who sent it, where that is said (`human`, `peer`, `task-notification`, …).
        origin: Option<Cow<'a, str>>,
        /// Whether Claude Code itself put it in.
        meta: bool,
        /// Whether it is the summary that replaces a compacted conversation.
        compact: bool,
    },
    /// A line of type `assistant`.
    Assistant {
        /// The blocks of the message.
        blocks: Vec<Block<'a>>,
        /// The API message these blocks are part of.
        message: Option<Cow<'a, str>>,
        /// The model.
        model: Option<Cow<'a, str>>,
        /// What the API message cost.
        usage: Usage,
        /// Whether it reports a failed request.
        error: bool,
    },
    /// A notice, a recap, a local command.
    System {
        /// Which sort.
        subtype: Option<Cow<'a, str>>,
        /// Its text.
        text: Cow<'a, str>,
    },
    /// A prompt that waits until the model is ready.
    Queued {
        /// The prompt.
        text: Cow<'a, str>,
        /// Who sent it.
        origin: Option<Cow<'a, str>>,
    },
    /// Something put beside the conversation.
    Attachment {
        /// Which sort.
        kind: Cow<'a, str>,
        /// Its text.
        text: String,
        /// The file it is about.
        file: Option<Cow<'a, str>>,
    },
    /// A name for the session.
    Title {
        /// Who named it.
        by: TitleBy,
        /// The name.
        text: Cow<'a, str>,
    },
    /// A name for the session that holds the message `leaf`, in whichever file that is.
    Summary {
        /// The name.
        text: Cow<'a, str>,
        /// The message that tells the session.
        leaf: Option<Cow<'a, str>>,
    },
    /// A pull request made in the session.
    Link {
        /// Its address.
        url: Cow<'a, str>,
        /// Number and repository, readable.
        text: String,
    },
    /// Files as they were before an edit, by name only.
    Snapshot {
        /// The files.
        files: Vec<String>,
    },
    /// The session went on in another file.
    Continued {
        /// The other session.
        session: Cow<'a, str>,
    },
    /// The session moved to another folder.
    Moved {
        /// The new folder.
        cwd: Cow<'a, str>,
    },
    /// A message of a subagent, seen from its parent.
    AgentMessage {
        /// The subagent.
        agent: Option<Cow<'a, str>>,
        /// The message.
        event: Box<Event<'a>>,
    },
    /// A type that is known and holds no words.
    Silent(Cow<'a, str>),
    /// A type that nobody knew when this was written, with all its words.
    Unknown {
        /// The type.
        kind: Cow<'a, str>,
        /// Every string in the line.
        text: String,
    },
}

impl Default for Body<'_> {
    fn default() -> Self {
        Body::Silent(Cow::Borrowed(""))
    }
}

/// One block of a message.
#[derive(Debug)]
pub enum Block<'a> {
    /// Words.
    Text(Cow<'a, str>),
    /// The model's reasoning.
    Thinking(Cow<'a, str>),
    /// A tool is called.
    ToolUse {
        /// The call's id.
        id: Cow<'a, str>,
        /// The tool.
        name: Cow<'a, str>,
        /// Its arguments, as JSON text.
        input: &'a str,
    },
    /// A tool has answered.
    ToolResult {
        /// The call's id.
        id: Cow<'a, str>,
        /// The answer.
        text: Cow<'a, str>,
        /// Whether it failed.
        error: bool,
    },
    /// A picture or document, not decoded.
    Media {
        /// Which of them.
        kind: Cow<'a, str>,
        /// Its title, its address, its text if it is one.
        text: String,
    },
    /// A block of another type, with all its words.
    Other {
        /// The type.
        kind: Cow<'a, str>,
        /// Every string in it that is worth keeping.
        text: String,
    },
}

/// Who named a session; a later one in this list wins over an earlier one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TitleBy {
    /// The last prompt, kept by Claude Code as a stand-in.
    LastPrompt,
    /// The name of a team agent.
    AgentName,
    /// The model.
    Model,
    /// The user.
    User,
}

/// Tokens of one API message.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Usage {
    /// Fresh input.
    pub input: u64,
    /// Input written to the cache.
    pub cache_write: u64,
    /// How much of that is kept for an hour rather than five minutes.
    pub cache_hour: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Output.
    pub output: u64,
}

/// The description beside a subagent's transcript.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AgentDescription {
    /// The type of agent.
    pub kind: Option<String>,
    /// What it was sent to do: the best title it has.
    pub description: Option<String>,
    /// The tool call that sent it.
    pub tool_use: Option<String>,
}

/// Reads a line of a transcript; see [`Reading`].
pub fn read_line(bytes: &[u8], each: &mut dyn FnMut(usize, Reading<'_>)) {
    ladder::climb(bytes, parse_entry, each);
}

/// Reads a line of `history.jsonl`.
pub fn read_history_line(bytes: &[u8], each: &mut dyn FnMut(usize, Reading<'_>)) {
    ladder::climb(bytes, parse_history, each);
}

/// Reads the description of a subagent.
pub fn read_agent_meta(bytes: &[u8]) -> Option<AgentDescription> {
    let meta: AgentMeta<'_> = serde_json::from_slice(bytes).ok()?;
    let owned = |text: Text<'_>| text.map(Cow::into_owned);
    let description = owned(meta.description).or(owned(meta.name));
    Some(AgentDescription { kind: owned(meta.kind), description, tool_use: owned(meta.tool_use) })
}

fn parse_entry(text: &str) -> serde_json::Result<Event<'_>> {
    let mut entry: Entry<'_> = serde_json::from_str(only_object(text)?)?;
    let fork = std::mem::take(&mut entry.forked_from);
    let unknown = unknown_words(&mut entry);
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
        trace: record::trace_of(&entry.record),
        body: body_of(entry, text),
        unknown,
    })
}

/// The words under unknown keys of a line and of its message. A line of unknown type gives all its words anyway.
fn unknown_words(entry: &mut Entry<'_>) -> String {
    if !matches!(entry.kind.as_deref(), Some("user" | "assistant" | "system" | "attachment")) {
        return String::new();
    }
    let mut parts = std::mem::take(&mut entry.extra);
    if entry.kind.as_deref() == Some("user") {
        // On other lines these are progress, and the causes of failures that the text tells.
        parts.extend([entry.data, entry.error, entry.result].into_iter().flatten());
    }
    parts.append(&mut entry.message.extra);
    let words = parts.into_iter().map(|part| words_of(part, &[]));
    words.filter(|words| !words.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Lets only objects through: every other JSON value is no record.
fn only_object(text: &str) -> serde_json::Result<&str> {
    if text.starts_with('{') { Ok(text) } else { Err(serde::de::Error::custom("not an object")) }
}

fn parse_history(text: &str) -> serde_json::Result<Event<'_>> {
    let entry: HistoryEntry<'_> = serde_json::from_str(only_object(text)?)?;
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

/// Reads a time stamp; anything that is none, or lies outside 1970–2261, counts as absent.
fn parse_timestamp(text: &str) -> Option<i64> {
    let time: jiff::Timestamp = text.parse().ok()?;
    Some(time.as_millisecond()).filter(|ms| is_plausible(*ms))
}

fn is_plausible(ms: i64) -> bool {
    (1..9_190_000_000_000).contains(&ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows every record of a line as `offset body`.
    fn check(line: &[u8], expected: &[&str]) {
        let mut shown = Vec::new();
        read_line(line, &mut |at, reading| {
            shown.push(match reading {
                Reading::Event(event) => format!("{at} {}", show(&event.body)),
                Reading::Bad { reason, text } => {
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
    fn no_shape_of_a_message_loses_words() {
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
    fn no_item_of_a_result_loses_words() {
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
    fn words_beside_a_message_are_kept() {
        for (line, words) in [
            (r#"{"type":"user","data":"d","error":"e","result":{"note":"r"},"message":{"content":"x"}}"#, "d\ne\nr"),
            (r#"{"type":"assistant","error":"e","message":{"content":[]}}"#, ""),
            (r#"{"type":"user","toolUseResult":{"result":"copy"},"message":{"content":"x","novel":"n"}}"#, "n"),
        ] {
            assert_eq!(parse_entry(line).expect("a record").unknown, words, "{line}");
        }
    }

    #[test]
    fn rare_types_keep_their_words() {
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
    fn odd_types_and_double_keys_cost_nothing() {
        check(
            br#"{"type":"user","uuid":7,"timestamp":{"x":[1]},"isMeta":"no","message":{"content":"old","content":"new"},"huge":1e999}"#,
            &[r#"0 user [Text("new")]"#],
        );
        check(br#"{"type":"user","message":null}"#, &["0 user []"]);
    }

    #[test]
    fn the_ladder_mends_what_it_can() {
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
        check(b"\0\0\0\0", &["0 BAD 4 NUL bytes, as a power cut leaves them | "]);
        check(
            format!("\0\0{HI}\0").as_bytes(),
            &["0 BAD 3 NUL bytes, as a power cut leaves them | ", r#"2 user [Text("hi")]"#],
        );
    }

    #[test]
    fn of_an_unterminated_line_only_whole_records_count() {
        for (line, whole) in
            [("", 0), ("{\"a\":1", 0), ("{\"a\":1}", 7), (" {} {\"a\":{}}{\"b", 12), ("12", 0), ("{}x", 2)]
        {
            assert_eq!(whole_records(line.as_bytes()), whole, "{line}");
        }
    }

    #[test]
    fn what_is_no_record_is_bad() {
        check(b"garbage UNIQ", &["0 BAD not a JSON record | garbage UNIQ"]);
        check(b".344Z\"}", &["0 BAD not a JSON record | .344Z\"}"]);
        check(b"[1,2]", &["0 BAD JSON, but not a record | [1,2]"]);
        check(b"null", &["0 BAD not a JSON record | null"]);
        check(b"{\"type\":", &["0 BAD not a JSON record: EOF while parsing a value | {\"type\":"]);
    }

    #[test]
    fn unknown_types_keep_their_words() {
        check(
            br#"{"type":"novelty","uuid":"u","payload":{"note":"brand new","n":[1,"two"]}}"#,
            &[r#"0 Unknown { kind: "novelty", text: "brand new\ntwo" }"#],
        );
    }

    #[test]
    fn time_stamps_out_of_range_are_absent() {
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
