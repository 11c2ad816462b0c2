//! Renders a list of sessions.

use serde_json::Value;

use crate::archive::SessionsAnswer;
use crate::archive::sessions::Session;
use crate::render::agent::budget::{Page, View, count};
use crate::render::agent::place::{place, title};

impl View {
    /// Renders a list of sessions, as many as fit.
    pub fn session_list(&self, answer: &SessionsAnswer) -> String {
        let first = answer.skipped + 1;
        let mut head = vec![match answer.total {
            0 => "0 sessions".to_string(),
            total => format!("{} · from number {first}", count(total, "session")),
        }];
        head.extend(answer.notes.iter().take(3).map(|note| format!("note: {note}")));
        let mut page = Page::new(self, &head);
        let mut last = None;
        let mut shown = 0;
        for session in &answer.sessions {
            if !page.put(&self.session(session)) {
                break;
            }
            (shown, last) = (shown + 1, Some(&session.id));
        }
        let left = answer.total.saturating_sub(answer.skipped + shown);
        match last {
            Some(last) if left > 0 => {
                let text = format!("{} not shown", count(left, "more session"));
                page.finish(&text, &[("cursor", Value::from(last.raw()))])
            }
            _ => page.finish("", &[]),
        }
    }

    fn session(&self, session: &Session) -> String {
        let mut parts =
            vec![self.name(&session.id), place(self, &session.project, &session.branch, (session.first, session.last))];
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        parts.push(count(number(session.prompts), "prompt"));
        if session.files_changed > 0 {
            parts.push(format!("{} changed", count(session.files_changed, "file")));
        }
        if !session.agents.is_empty() {
            parts.push(count(session.agents.len(), "subagent"));
        }
        if session.gone || session.agents_only || session.history_only {
            parts.push("resumable: false".to_string());
        }
        format!("{}\n{}", parts.join(" · "), title(self, &session.title))
    }
}
