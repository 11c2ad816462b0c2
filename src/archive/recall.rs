//! Short reminders for an agent: the last sessions of a project, and the story of a file's last change.
//!
//! Both answer without being asked a question, so they are strict: no fuzzy matches, nothing inferred, and nothing from
//! the session that is running.

use serde::Serialize;

use crate::archive::closing::closing;
use crate::archive::history::{self, Action, FileAnswer};
use crate::archive::request::{Context, FileRequest, Filters, SearchRequest, Sort};
use crate::archive::search;
use crate::archive::session_info::SessionInfo;
use crate::document::{Kind, Role};
use crate::error::Result;
use crate::index::Reader;
use crate::redact::redact;
use crate::untrusted::Untrusted;

/// The number of sessions that are recalled.
const SESSIONS: usize = 4;
/// Older sessions are not recalled.
const SINCE: &str = "30d";
/// Maximum number of characters of the end of an answer.
const ANSWER_LENGTH: usize = 400;

/// A session of the project.
#[derive(Clone, Debug, Serialize)]
pub struct RecentSession {
    /// The session.
    pub session: SessionInfo,
    /// The end of Claude's last answer in it.
    pub answer: Untrusted,
}

/// The story of a file's last change.
#[derive(Clone, Debug, Serialize)]
pub struct LastChange {
    /// The change.
    pub action: Action,
    /// The end of Claude's answer to the prompt that led to it.
    pub answer: Option<Untrusted>,
    /// The number of recorded changes of the file.
    pub changes: usize,
    /// The number of sessions that changed it.
    pub sessions: usize,
}

/// Returns the last sessions of the caller's repository or folder, newest first.
pub(super) fn recent(reader: &Reader, context: &Context) -> Result<Vec<RecentSession>> {
    let filters = Filters {
        here: true,
        since: Some(SINCE.to_string()),
        role: vec![Role::Assistant.name().to_string()],
        kind: vec![Kind::Text.name().to_string()],
        ..Filters::default()
    };
    let request = SearchRequest {
        filters,
        limit: Some(SESSIONS),
        per_session: Some(1),
        sort: Sort::Newest,
        ..SearchRequest::default()
    };
    let mut recent = Vec::new();
    for found in search::search(reader, &request, context)?.sessions {
        let last = found.hits.first().and_then(|hit| hit.uuid.as_ref());
        let Some(last) = last else { continue };
        let text = reader.by_uuid(last.raw(), found.session.id.raw())?.map(|document| document.text);
        let answer = ended(&text.unwrap_or_default());
        recent.push(RecentSession { session: found.session, answer });
    }
    Ok(recent)
}

/// Returns the last recorded change of exactly this file by another session. Returns `None` if no prompt is known that led
/// to it.
pub(super) fn last_change(reader: &Reader, path: &str, context: &Context) -> Result<Option<LastChange>> {
    let request = FileRequest { path: path.to_string(), ..FileRequest::default() };
    let FileAnswer::Actions(files) = history::answer(reader, &request, context)? else { return Ok(None) };
    let Some(file) = files.into_iter().find(|file| file.path.raw() == path) else { return Ok(None) };
    let certain: Vec<Action> =
        file.actions.into_iter().filter(|action| !action.inferred && !action.unconfirmed).collect();
    let mut sessions: Vec<&str> = certain.iter().map(|action| action.session.id.raw()).collect();
    sessions.sort_unstable();
    sessions.dedup();
    let (changes, sessions) = (certain.len(), sessions.len());
    let Some(action) = certain.into_iter().next() else { return Ok(None) };
    if action.prompt.as_ref().is_none_or(Untrusted::is_empty) {
        return Ok(None);
    }
    let answer = answer_after(reader, &action)?;
    Ok(Some(LastChange { action, answer, changes, sessions }))
}

/// Returns the end of the last text by Claude after an action and before the next prompt.
fn answer_after(reader: &Reader, action: &Action) -> Result<Option<Untrusted>> {
    let Some(file) = reader.session_summary(action.session.id.raw())? else { return Ok(None) };
    let steps = reader.outline(file.key())?;
    let after = steps.iter().skip_while(|step| step.time < action.time);
    let turn = after.take_while(|step| !(step.kind == Kind::Prompt && step.role == Role::Human));
    let last = turn.filter(|step| step.kind == Kind::Text && step.role == Role::Assistant).last();
    Ok(last.map(|step| reader.read(step)).transpose()?.map(|document| ended(&document.text)))
}

/// Returns the end of an answer, with its secrets masked.
fn ended(text: &str) -> Untrusted {
    Untrusted::new(closing(&redact(text), ANSWER_LENGTH))
}
