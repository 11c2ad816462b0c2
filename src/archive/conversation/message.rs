//! One message of a conversation, as front ends see it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::archive::serialize::rfc3339;
use crate::document::{Document, Kind, MessageKey, Role};
use crate::redact::redact_owned;
use crate::untrusted::Untrusted;

/// A message, a tool call or a tool result. Its texts are untrusted: they come from a transcript.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct Message {
    /// The id of the line in the transcript.
    pub uuid: Option<String>,
    /// The session.
    pub session_id: String,
    /// The subagent that wrote it.
    #[serde(rename = "agent_id")]
    pub agent: Option<String>,
    /// The time, as RFC 3339 in UTC.
    #[serde(serialize_with = "rfc3339")]
    #[schemars(with = "Option<String>")]
    pub timestamp: Option<i64>,
    /// The speaker.
    pub role: Role,
    /// The kind of message.
    pub kind: Kind,
    /// The model.
    pub model: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// The arguments of a tool call, as JSON text.
    pub input: Option<String>,
    /// The files that it is about.
    pub files: Vec<Untrusted>,
    /// The folder the session was started in.
    pub project: Option<String>,
    /// The folder it was in.
    pub cwd: Option<String>,
    /// Set if it reports a failure.
    pub error: bool,
    /// The line in the transcript, from 1.
    pub line: u64,
    /// The text.
    pub text: String,
    /// For a line that could not be read: the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The API message that it is a part of.
    #[serde(skip)]
    pub(crate) message: Option<MessageKey>,
}

impl Message {
    /// Converts a document. Redacts secrets unless `reveal` is set.
    pub(super) fn new(document: Document, reveal: bool) -> Self {
        let shown = |text: String| if reveal { text } else { redact_owned(text) };
        Self {
            uuid: document.uuid,
            session_id: document.session,
            agent: document.agent,
            timestamp: document.timestamp,
            role: document.role,
            kind: document.kind,
            model: document.model,
            tool: document.tool,
            input: document.input.map(shown),
            files: document.files.into_iter().map(Untrusted::new).collect(),
            project: document.project,
            cwd: document.cwd,
            error: document.error,
            line: document.line,
            text: shown(document.text),
            problem: document.problem,
            message: document.message,
        }
    }
}
