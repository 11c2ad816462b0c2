//! Turns typed filters into conditions. Resolves relative folders, `here` and the running session.

use std::path::Path;

use crate::archive::here::here;
use crate::archive::note::Note;
use crate::archive::request::{Context, Filters};
use crate::error::{Error, ErrorKind, Result};
use crate::query::{Condition, Filter, Test, glob};

/// Returns the filter that typed filters mean for a caller.
pub(super) fn filter(filters: &Filters, context: &Context) -> Result<Filter> {
    let around = context.query_context();
    let mut conditions = Vec::new();
    let lists = [
        ("role", &filters.role),
        ("kind", &filters.kind),
        ("tool", &filters.tool),
        ("file", &filters.file),
        ("project", &filters.project),
        ("cwd", &filters.cwd),
        ("session", &filters.session),
        ("branch", &filters.branch),
        ("model", &filters.model),
    ];
    for (field, values) in lists {
        for value in values {
            let value = if field == "cwd" { folder(value, around.folder.as_deref()) } else { value.clone() };
            conditions.push(Condition::parse(field, &value, &around)?);
        }
    }
    for (field, value) in [("since", &filters.since), ("until", &filters.until)] {
        if let Some(value) = value {
            conditions.push(Condition::parse(field, value, &around)?);
        }
    }
    if filters.here {
        conditions.push(Test::Here(here(Path::new(around.folder.as_deref().unwrap_or(".")))).into());
    }
    if filters.errors {
        conditions.push(Test::Error.into());
    }
    if let Some(wanted) = filters.agents {
        conditions.push(Condition { negated: !wanted, ..Condition::from(Test::Agent) });
    }
    let current = context.running_session.clone().filter(|_| !filters.include_current);
    let without_session = current.filter(|id| !names_session(&conditions, id));
    Ok(Filter { meta: false, without_session, conditions })
}

/// Explains why no file matches the conditions: the name was treated as a glob. A glob that can match nothing is an
/// error. Only for answers without hits, because the name of a file may look like a glob.
pub(super) fn unmatched_patterns<'c>(conditions: impl IntoIterator<Item = &'c Condition>) -> Result<Vec<Note>> {
    let mut notes = Vec::new();
    for condition in conditions.into_iter().filter(|condition| !condition.negated) {
        let Test::File(pattern) = &condition.test else { continue };
        check_ranges(pattern)?;
        if glob::is_pattern(pattern) {
            notes.push(Note::ReadAsPattern { pattern: pattern.clone() });
        }
    }
    Ok(notes)
}

/// Fails if a pattern contains a range such as `[z-a]`, and marks it.
pub(super) fn check_ranges(pattern: &str) -> Result<()> {
    let Some(at) = glob::reversed_range(pattern) else { return Ok(()) };
    let end = pattern[at..].char_indices().nth(3).map_or(pattern.len(), |(length, _)| at + length);
    Err(Error::new(ErrorKind::Usage, "this range ends before it starts").about(pattern, at..end))
}

/// Returns the absolute path of a folder that exists relative to the current one. Returns other folders as typed.
fn folder(value: &str, current: Option<&str>) -> String {
    let existing = current.map(|current| Path::new(current).join(value)).filter(|path| path.is_dir());
    existing.map_or_else(|| value.to_string(), |path| path.to_string_lossy().into_owned())
}

/// Reports whether a condition asks for this session.
pub(super) fn names_session(conditions: &[Condition], id: &str) -> bool {
    let id = id.to_lowercase();
    let names = |test: &Test| matches!(test, Test::Session(prefix) if id.starts_with(&prefix.to_lowercase()));
    conditions.iter().any(|condition| !condition.negated && names(&condition.test))
}
