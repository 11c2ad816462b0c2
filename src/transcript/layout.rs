//! The layout of Claude Code's folders: which files are sessions, subagents and spilled outputs, the name of a
//! project's folder, and the root of a transcript.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The kind of file to index.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum SourceKind {
    /// A main transcript.
    Session,
    /// The transcript of a subagent.
    Agent,
    /// A tool output too large for the transcript.
    Spill,
    /// The prompt history, which outlives the sessions.
    History,
}

/// Returns the name of the folder in which Claude Code keeps the transcripts of the project `folder`.
pub fn encoded_folder(folder: &str) -> String {
    folder
        .encode_utf16()
        .map(|unit| u8::try_from(unit).ok().filter(u8::is_ascii_alphanumeric).map_or('-', char::from))
        .collect()
}

/// Returns the root of a transcript: the folder that contains its `projects` folder.
pub fn root_of(transcript: &Path) -> Option<PathBuf> {
    let projects = transcript.ancestors().find(|dir| dir.file_name().is_some_and(|name| name == "projects"))?;
    projects.parent().map(Path::to_path_buf)
}

/// The role of a file below a project folder.
pub(super) enum FileRole {
    Source { kind: SourceKind, session: String, agent: Option<String> },
    Meta,
}

/// Returns the role of a file from its path below the project folder, or `None` if it is not indexed.
pub(super) fn role_of(relative: &Path) -> Option<FileRole> {
    let name = relative.file_name()?.to_string_lossy();
    let folders: Vec<_> = relative.parent()?.iter().map(OsStr::to_string_lossy).collect();
    let session = folders.first().map(ToString::to_string).unwrap_or_default();
    let under = |folder: &str| folders.get(1).is_some_and(|second| second == folder);
    if under("tool-results") && !name.starts_with('.') {
        return Some(FileRole::Source { kind: SourceKind::Spill, session, agent: None });
    }
    let in_agent_folder = folders.is_empty() || under("subagents");
    if in_agent_folder && name.starts_with("agent-") && name.ends_with(".meta.json") {
        return Some(FileRole::Meta);
    }
    let stem = name.strip_suffix(".jsonl")?;
    match stem.strip_prefix("agent-") {
        Some(agent) if in_agent_folder && !agent.is_empty() => {
            Some(FileRole::Source { kind: SourceKind::Agent, session, agent: Some(agent.to_string()) })
        }
        None if folders.is_empty() && is_session_name(stem) => {
            Some(FileRole::Source { kind: SourceKind::Session, session: stem.to_string(), agent: None })
        }
        _ => None,
    }
}

/// Reports whether a file stem can be a session id.
///
/// Claude Code uses UUIDs, but a renamed copy is still a conversation. So only names known to be something else are
/// rejected.
fn is_session_name(stem: &str) -> bool {
    !stem.is_empty() && !stem.starts_with('.') && stem != "journal" && stem != "history"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_names_match_claude_code() {
        assert_eq!(encoded_folder("/home/u/.claude"), "-home-u--claude");
        assert_eq!(encoded_folder("D:\\ab한글이름"), "D--ab----");
    }
}
