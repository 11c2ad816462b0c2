//! Adds the answer to a prompt that was found, and the call to a result that was found. People search for the words of
//! a question, but want its answer. An output is of little use without its command, nor is what a subagent found
//! without the call that started it.

use std::borrow::Cow;

use crate::archive::closing::closing;
use crate::archive::search::answer::Counterpart;
use crate::archive::tool_pairs::answers;
use crate::document::{Document, Kind, Role};
use crate::error::Result;
use crate::index::{FileKey, Reader, Step};
use crate::redact::redact;
use crate::untrusted::Untrusted;

/// Maximum number of characters of an answer or a command.
const LENGTH: usize = 300;
/// Documents before a result in which its call is looked for.
const CALL_DISTANCE: usize = 256;

/// Returns the other half of a hit, if it has one.
pub(super) fn of(reader: &Reader, file: FileKey, hit: &Document, reveal: bool) -> Result<Option<Counterpart>> {
    match hit.kind {
        Kind::Prompt | Kind::Queued | Kind::Command => answer_to(reader, file, hit, reveal),
        Kind::ToolResult | Kind::Output => call_of(reader, file, hit, reveal),
        _ => Ok(None),
    }
}

/// Returns the id of the message whose call started the subagent of a hit.
pub(super) fn starting_call(reader: &Reader, file: FileKey, hit: &Document) -> Result<Option<Untrusted>> {
    let own = hit.agent.as_ref().map(|_| reader.checkpoint(file)).transpose()?.flatten();
    let Some(prompt) = own.and_then(|own| own.state.totals.sent_by) else { return Ok(None) };
    let Some(parent) = reader.session_summary(&hit.session)? else { return Ok(None) };
    let steps = reader.outline(parent.key())?;
    let call = steps.iter().find(|step| step.kind == Kind::ToolUse && step.text_hash == prompt);
    let call = call.map(|step| reader.read(step)).transpose()?;
    Ok(call.and_then(|call| call.uuid).map(Untrusted::new))
}

/// Returns the end of the last answer to a prompt.
fn answer_to(reader: &Reader, file: FileKey, hit: &Document, reveal: bool) -> Result<Option<Counterpart>> {
    let steps = reader.outline(file)?;
    let first = steps.partition_point(|step| step.line <= hit.line);
    let is_prompt = |step: &Step| matches!(step.kind, Kind::Prompt | Kind::Command) && step.role == hit.role;
    let turn = steps[first..].iter().take_while(|step| !is_prompt(step));
    let voice = if hit.role == Role::Subagent { Role::Subagent } else { Role::Assistant };
    let Some(last) = turn.filter(|step| step.kind == Kind::Text && step.role == voice).last() else { return Ok(None) };
    let answer = reader.read(last)?;
    let text = closing(&shown(&answer.text, reveal), LENGTH);
    Ok(Some(Counterpart { uuid: answer.uuid.map(Untrusted::new), kind: Kind::Text, text: text.into() }))
}

/// Returns the call whose result was found.
fn call_of(reader: &Reader, file: FileKey, hit: &Document, reveal: bool) -> Result<Option<Counterpart>> {
    let steps = reader.outline(file)?;
    let end = steps.partition_point(|step| step.line < hit.line);
    for step in steps[..end].iter().rev().take(CALL_DISTANCE) {
        if !matches!(step.kind, Kind::ToolUse | Kind::Command) {
            continue;
        }
        let call = reader.read(step)?;
        // The user's own commands have no id; their output follows them.
        let is_command = call.kind == Kind::Command && call.uuid.is_some() && call.uuid == hit.parent;
        if answers(hit, &call) || is_command {
            let (kind, text) = (call.kind, beginning(&shown(&call.text, reveal)));
            return Ok(Some(Counterpart { uuid: call.uuid.map(Untrusted::new), kind, text: text.into() }));
        }
    }
    Ok(None)
}

fn shown(text: &str, reveal: bool) -> Cow<'_, str> {
    if reveal { Cow::Borrowed(text) } else { redact(text) }
}

/// Returns the beginning of a text on one line.
fn beginning(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
