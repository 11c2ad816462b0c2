//! The names that a filter can have, with counts, for front ends that complete what is typed.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::archive::request::NamesRequest;
use crate::error::Result;
use crate::index::{Listed, Reader};
use crate::transcript::discover::SourceKind;
use crate::untrusted::Untrusted;

/// Default number of names.
const LIMIT: usize = 20;

/// A name that a filter can have.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct NameCount {
    /// The name.
    pub name: Untrusted,
    /// The number of sessions, for projects and branches; otherwise the number of messages.
    pub count: u64,
}

/// Returns the names of a field that contain what was typed, the most frequent first. Those that begin with it come
/// before others.
pub(super) fn answer(reader: &Reader, request: &NamesRequest) -> Result<Vec<NameCount>> {
    let mut all: Vec<(String, u64)> = match request.field.as_str() {
        "project" => of_files(reader, |project, _| project.rsplit(['/', '\\']).find(|part| !part.is_empty()))?,
        "branch" => of_files(reader, |_, branch| Some(branch))?,
        "tool" => reader.counted(Listed::Tool)?,
        "model" => reader.counted(Listed::Model)?,
        "role" => reader.counted(Listed::Role)?,
        "kind" => reader.counted(Listed::Kind)?,
        _ => Vec::new(),
    };
    let typed = request.typed.to_lowercase();
    all.retain(|(name, count)| *count > 0 && name.to_lowercase().contains(&typed));
    all.sort_by(|(a, many), (b, fewer)| {
        let is_inside = |name: &str| !name.to_lowercase().starts_with(&typed);
        (is_inside(a), fewer, a).cmp(&(is_inside(b), many, b))
    });
    all.truncate(request.limit.unwrap_or(LIMIT));
    Ok(all.into_iter().map(|(name, count)| NameCount { name: name.into(), count }).collect())
}

/// Counts sessions by a name that comes from the project and the branch of their files.
fn of_files(reader: &Reader, name: impl for<'n> Fn(&'n str, &'n str) -> Option<&'n str>) -> Result<Vec<(String, u64)>> {
    let mut counts: HashMap<String, u64> = HashMap::new();
    for file in reader.checkpoints()? {
        let summary = file.summary();
        if file.source_kind() != SourceKind::Session || file.forgotten {
            continue;
        }
        let (project, branch) = (summary.project.unwrap_or_default(), summary.branch.unwrap_or_default());
        if let Some(name) = name(&project, &branch).filter(|name| !name.is_empty()) {
            *counts.entry(name.to_string()).or_default() += 1;
        }
    }
    Ok(counts.into_iter().collect())
}
