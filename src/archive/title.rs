//! Chooses the title of a session or subagent.

use crate::document::FileState;
use crate::error::Result;
use crate::index::{FileSummary, Reader, brief};
use crate::redact::redact;
use crate::untrusted::Untrusted;

/// Returns the title of a session, in Claude Code's own order: a given name, the last prompt, a name given by another
/// file, the first prompt.
pub(crate) fn title_of(reader: &Reader, session: &str, file: &FileSummary) -> Result<String> {
    if let Some(name) = &file.name {
        return Ok(name.clone());
    }
    let by_leaf = reader.titles_by_leaf(session)?.pop();
    Ok(by_leaf.map(|title| brief(&title)).or_else(|| file.fallback_name.clone()).unwrap_or_default())
}

/// Returns the title of a subagent: its task, or else its prompt.
pub(super) fn agent_title(state: &FileState) -> &str {
    state.title().or(state.first_prompt.as_deref()).unwrap_or_default()
}

/// Returns the title of a session from its own file alone, for figures of all sessions at once.
pub(super) fn own_title(file: &FileSummary) -> Option<&str> {
    file.name.as_deref().or(file.fallback_name.as_deref())
}

/// Returns a title on one line, with secrets redacted. Front ends cut it to their width.
pub(crate) fn one_line_of(text: &str) -> Untrusted {
    Untrusted::new(redact(text).split_whitespace().collect::<Vec<_>>().join(" "))
}
