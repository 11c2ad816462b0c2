//! The events that Claude Code passes to hooks, and the answers to them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// An event, as far as it matters here.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
pub struct Event {
    /// The name of the event: `Stop`, `SessionStart` and so on.
    #[serde(default, rename = "hook_event_name")]
    pub name: String,
    /// The session.
    #[serde(default)]
    pub session_id: String,
    /// The transcript of the session.
    pub transcript_path: Option<PathBuf>,
    /// The current folder of the session.
    pub cwd: Option<String>,
    /// For `SessionStart`: `startup`, `resume`, `clear` or `compact`.
    pub source: Option<String>,
    /// For tool calls: the input.
    #[serde(default)]
    tool_input: ToolInput,
}

/// The input of a tool call, as far as it matters here.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
struct ToolInput {
    file_path: Option<String>,
    notebook_path: Option<String>,
}

impl Event {
    /// Parses an event. Returns `None` if it is not one.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::Deserializer::from_slice(bytes).into_iter::<Self>().next()?.ok()
    }

    /// Returns the file that a tool call is about to change.
    pub fn file(&self) -> Option<&str> {
        self.tool_input.file_path.as_deref().or(self.tool_input.notebook_path.as_deref())
    }
}

/// Reports whether an event has been received completely. The sender may never close the pipe.
pub fn is_whole(event: &[u8]) -> bool {
    let mut values = serde_json::Deserializer::from_slice(event).into_iter::<serde::de::IgnoredAny>();
    matches!(values.next(), Some(Ok(_)))
}

/// Returns the answer that adds a text to what the model sees.
pub fn answer(event: &Event, text: &str) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer<'t> {
        suppress_output: bool,
        hook_specific_output: Output<'t>,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Output<'t> {
        hook_event_name: &'t str,
        additional_context: &'t str,
    }
    let output = Output { hook_event_name: &event.name, additional_context: text };
    serde_json::to_string(&Answer { suppress_output: true, hook_specific_output: output }).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_events_are_recognized() {
        let event = br#"{"session_id":"a","transcript_path":"/x/a.jsonl","hook_event_name":"Stop"}"#;
        assert_eq!(Event::parse(event).and_then(|event| event.transcript_path), Some(PathBuf::from("/x/a.jsonl")));
        assert!(is_whole(event) && is_whole(&[event.as_slice(), b"\n"].concat()));
        for cut in 0..event.len() {
            assert!(!is_whole(&event[..cut]));
        }
        for bad in [&b""[..], b"{}", b"[1]", b"\xff\xfe", b"{\"transcript_path\":1}"] {
            assert_eq!(Event::parse(bad).and_then(|event| event.transcript_path), None);
        }
    }
}
