//! Names of speakers and sessions, the same in all answers.

use crate::archive::SessionInfo;
use crate::document::{Kind, Role};
use crate::render::agent::budget::{View, cut, quoted};
use crate::untrusted::Untrusted;

/// Characters of a date.
const DATE: usize = 10;
/// Characters of a title.
const TITLE_LENGTH: usize = 120;

/// Returns a short name for the speaker.
pub(super) fn speaker(role: Role, kind: Kind) -> &'static str {
    match (role, kind) {
        (_, Kind::Compaction) => "summary",
        (_, Kind::Recap) => "recap",
        (_, Kind::Thinking) => "claude (thinking)",
        (_, Kind::Output | Kind::ToolResult) => "output",
        (_, Kind::Title) => "title",
        (_, Kind::Bad | Kind::Oversized) => "unreadable line",
        (Role::Human, _) => "user",
        (Role::Programmatic, _) => "program",
        (Role::Assistant, _) => "claude",
        (Role::Subagent, Kind::Prompt) => "task",
        (Role::Subagent, _) => "subagent",
        (Role::Tool, _) => "tool",
        (Role::Meta, _) => "claude code",
    }
}

/// Returns where and when a session took place, as parts of one line.
pub(super) fn place(view: &View, project: &Untrusted, branch: &Untrusted, times: (Option<i64>, Option<i64>)) -> String {
    let mut parts = Vec::new();
    if !project.is_empty() {
        parts.push(format!("project {}", view.name(project)));
    }
    if !branch.is_empty() {
        parts.push(format!("branch {}", view.name(branch)));
    }
    let (first, last) = (view.time(times.0), view.time(times.1));
    if times.0.is_some() && first != last {
        let is_same_day = first.get(..DATE) == last.get(..DATE);
        parts.push(format!("first {}", if is_same_day { first[DATE..].trim_start() } else { &first }));
    }
    parts.push(format!("last {last}"));
    parts.join(" · ")
}

/// Returns whether a session can be resumed, and if not, why.
pub(super) fn resumable(session: &SessionInfo) -> &'static str {
    match session {
        _ if session.can_be_resumed() && session.folder_is_missing() => "resumable: false, its folder no longer exists",
        _ if session.can_be_resumed() => "resumable: true",
        _ if session.gone => "resumable: false, transcript deleted",
        _ if session.agents_only => "resumable: false, only its subagents are known",
        _ => "resumable: false, only its prompts are known",
    }
}

/// Returns a title as a quoted line.
pub(super) fn title(view: &View, title: &Untrusted) -> String {
    let line = view.safe(&title.line());
    quoted(&cut(if line.is_empty() { "(no title)" } else { &line }, TITLE_LENGTH))
}
