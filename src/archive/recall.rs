//! Short reminders for an agent: the last sessions of a project, and the last change of a file.
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
use crate::index::{Reader, Step};
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
    pub answer: Option<Untrusted>,
}

/// The last change of a file, with the answer to its prompt.
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

/// Returns the last sessions of the caller's repository or folder that a person took part in, newest first.
pub(super) fn recent(reader: &Reader, context: &Context) -> Result<Vec<RecentSession>> {
    let filters = Filters {
        here: true,
        since: Some(SINCE.to_string()),
        role: vec![Role::Human.name().to_string()],
        kind: vec![Kind::Prompt.name().to_string()],
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
        let answer = last_text(reader, found.session.id.raw(), i64::MIN, false)?;
        recent.push(RecentSession { session: found.session, answer });
    }
    Ok(recent)
}

/// Returns the last recorded change of exactly this file by another session. Returns `None` if no prompt is known that
/// led to it.
pub(super) fn last_change(reader: &Reader, path: &str, context: &Context) -> Result<Option<LastChange>> {
    let request = FileRequest { path: path.to_string(), ..FileRequest::default() };
    let FileAnswer::Actions(files) = history::answer(reader, &request, context)? else { return Ok(None) };
    let Some(file) = files.into_iter().find(|file| file.path.raw() == path) else { return Ok(None) };
    let is_other = |action: &Action| context.running_session.as_deref() != Some(action.session.id.raw());
    let certain: Vec<Action> =
        file.actions.into_iter().filter(|action| !action.inferred && !action.unconfirmed && is_other(action)).collect();
    let mut sessions: Vec<&str> = certain.iter().map(|action| action.session.id.raw()).collect();
    sessions.sort_unstable();
    sessions.dedup();
    let (changes, sessions) = (certain.len(), sessions.len());
    let Some(action) = certain.into_iter().next() else { return Ok(None) };
    if action.prompt.as_ref().is_none_or(Untrusted::is_empty) {
        return Ok(None);
    }
    let answer = last_text(reader, action.session.id.raw(), action.time.unwrap_or(i64::MIN), true)?;
    Ok(Some(LastChange { action, answer, changes, sessions }))
}

/// Returns the end of Claude's last text in a session after a time, or only of those before the next prompt.
fn last_text(reader: &Reader, session: &str, after: i64, before_prompt: bool) -> Result<Option<Untrusted>> {
    let Some(file) = reader.session_summary(session)? else { return Ok(None) };
    let steps = reader.outline(file.key())?;
    let is_prompt = |step: &Step| step.kind == Kind::Prompt && step.role == Role::Human;
    let texts = steps
        .iter()
        .skip_while(|step| step.time.is_none_or(|time| time < after))
        .take_while(|step| !(before_prompt && is_prompt(step)))
        .filter(|step| step.kind == Kind::Text && step.role == Role::Assistant);
    let last = texts.last().map(|step| reader.read(step)).transpose()?;
    Ok(last.map(|document| Untrusted::new(closing(&redact(&document.text), ANSWER_LENGTH))))
}
