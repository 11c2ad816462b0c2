//! The answer to a search: plain values that can be shown, serialized and sent. Their JSON is a contract: fields may be
//! added, never removed.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::archive::note::Note;
use crate::archive::search::match_quality::Match;
use crate::archive::serialize::{lossy_path, rfc3339};
use crate::archive::session_info::SessionInfo;
use crate::archive::snippet::Snippet;
use crate::document::{Kind, Role};
use crate::index::Factors;
use crate::untrusted::Untrusted;
use crate::update::Lag;

/// The answer to a search.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SearchAnswer {
    /// Sessions with their hits, best first. In a list of messages, each entry has one hit and a session may occur
    /// again.
    pub sessions: Vec<SessionHits>,
    /// The number of hits, shown or not.
    pub total_hits: usize,
    /// The number of sessions with hits, shown or not.
    pub total_sessions: usize,
    /// The part of the query that the best hits contain.
    #[serde(rename = "match")]
    pub matched: Match,
    /// The significant words that none of the best hits contains together with the others.
    pub missing: Vec<String>,
    /// Set if the query is a question in prose that nothing contains almost as typed. The hits are then ranked by what
    /// people and Claude said, not by what tools printed.
    pub by_said: bool,
    /// Remarks about the answer.
    pub notes: Vec<Note>,
    /// Changes to the request that find something, if nothing was found and they were asked for.
    pub suggestions: Vec<Suggestion>,
    /// The cursor of the next page, if there is one.
    pub next: Option<String>,
    /// The number of entries on the pages before this one.
    pub skipped: usize,
    /// The amount of data that is not indexed yet, if any.
    pub behind: Option<Lag>,
}

/// A session and its hits.
#[derive(Clone, Debug, Serialize)]
pub struct SessionHits {
    /// The session.
    pub session: SessionInfo,
    /// The best hits.
    pub hits: Vec<Hit>,
    /// The number of hits in this session, shown or not.
    pub total: usize,
}

/// One hit.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Hit {
    /// The id of the line in the transcript.
    pub uuid: Option<Untrusted>,
    /// The session.
    pub session_id: Untrusted,
    /// Other sessions that contain the same line.
    pub also_in: Vec<Untrusted>,
    /// The subagent that wrote it.
    #[serde(rename = "agent_id")]
    pub agent: Option<Untrusted>,
    /// The task of the subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_title: Option<Untrusted>,
    /// The transcript.
    #[serde(serialize_with = "lossy_path")]
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// The byte offset of the record in it.
    pub offset: u64,
    /// The line in it, from 1.
    pub line: u64,
    /// The time, as RFC 3339 in UTC.
    #[serde(serialize_with = "rfc3339")]
    #[schemars(with = "Option<String>")]
    pub timestamp: Option<i64>,
    /// The speaker.
    pub role: Role,
    /// The kind of message.
    pub kind: Kind,
    /// The tool.
    pub tool: Option<Untrusted>,
    /// The files that it is about.
    pub files: Vec<Untrusted>,
    /// The folder the session was started in.
    pub project: Option<Untrusted>,
    /// The folder it was in.
    pub cwd: Option<Untrusted>,
    /// The git branch.
    pub branch: Option<Untrusted>,
    /// The model.
    pub model: Option<Untrusted>,
    /// Set if it reports a failure.
    pub error: bool,
    /// The title of the session.
    pub title: Untrusted,
    /// Set if Claude Code has deleted the transcript.
    #[serde(rename = "source_missing")]
    pub gone: bool,
    /// The score. Only comparable within one answer.
    pub score: f32,
    /// The factors of the score, for hits that were scored with all of them.
    pub factors: Option<Factors>,
    /// Set if it contains little of the query.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub weak: bool,
    /// The part of its text that matches. Untrusted: it comes from a transcript.
    pub snippet: Snippet,
    /// Its other half, if it was asked for and is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counterpart: Option<Counterpart>,
    /// The id of the message whose call started the subagent, if it was asked for and is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_started_by: Option<Untrusted>,
    /// The messages before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<NearbyMessage>,
    /// The messages after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<NearbyMessage>,
    /// The command that resumes the session, if that is possible.
    pub resume: Option<String>,
}

/// The answer to a prompt that was found, or the call whose result was found.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Counterpart {
    /// The id of the line in the transcript.
    pub uuid: Option<Untrusted>,
    /// `text` for the last answer to a prompt; `tool_use` or `command` for the call whose result was found.
    pub kind: Kind,
    /// The last sentences of the answer, or the beginning of the call, on one line.
    pub text: Untrusted,
}

/// A message near a hit.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct NearbyMessage {
    /// The id of the line in the transcript.
    pub uuid: Option<Untrusted>,
    /// The time, as RFC 3339 in UTC.
    #[serde(serialize_with = "rfc3339")]
    #[schemars(with = "Option<String>")]
    pub timestamp: Option<i64>,
    /// The speaker.
    pub role: Role,
    /// The kind of message.
    pub kind: Kind,
    /// The tool.
    pub tool: Option<Untrusted>,
    /// The beginning of its text, on one line.
    pub text: Untrusted,
    /// For a tool call: the beginning of its result.
    pub result: Option<Untrusted>,
}

/// A change to a request that finds something.
#[derive(Clone, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct Suggestion {
    /// The change in words: `without since`.
    pub change: String,
    /// The new query, if it changes.
    pub query: Option<String>,
    /// The conditions to leave out, by field. `not` means the excluded words.
    pub drop: Vec<&'static str>,
    /// The option to add.
    pub add: Option<&'static str>,
    /// The number of hits it finds.
    pub hits: usize,
}
