//! Renders the outline of a conversation.

use crate::archive::OutlineAnswer;
use crate::archive::outline::PromptOutline;
use crate::render::agent::budget::{Page, View, count, quoted};
use crate::render::agent::place::{place, speaker, title};
use crate::untrusted::Untrusted;

/// Files and subagents that are listed for a prompt.
const LISTED: usize = 6;

impl View {
    /// Renders an outline, from a prompt on.
    pub fn outline(&self, answer: &OutlineAnswer, from: usize) -> String {
        let mut page = Page::new(self, &self.outline_head(answer));
        page.put(&title(self, &answer.session.title));
        for prompt in answer.prompts.iter().filter(|prompt| prompt.number >= from) {
            if !page.put(&self.prompt(prompt)) {
                let left = answer.prompts.len() + 1 - prompt.number;
                return page
                    .finish(&format!("{} not shown", count(left, "more prompt")), &[("from", prompt.number.into())]);
            }
        }
        page.finish("read_conversation with an id and \"from\": LINE reads what is after #LINE", &[])
    }

    fn outline_head(&self, answer: &OutlineAnswer) -> Vec<String> {
        let session = &answer.session;
        let place = place(self, &session.project, &session.branch, (session.first, session.last));
        let mut head = vec![format!("session {} · {place}", self.name(&session.id))];
        if let Some(agent) = &answer.target.agent {
            head.push(format!("this is subagent {} of that session", self.name(&Untrusted::from(agent.as_str()))));
        }
        let totals = &answer.totals;
        let mut parts = vec![
            count(totals.prompts, "prompt"),
            count(totals.answers, "answer"),
            count(totals.tool_uses, "tool call"),
            format!("{} changed", count(totals.files, "file")),
            count(session.agents.len(), "subagent"),
        ];
        if totals.abandoned > 0 {
            parts.push(format!("{} on abandoned branches", totals.abandoned));
        }
        head.push(parts.join(" · "));
        head
    }

    fn prompt(&self, prompt: &PromptOutline) -> String {
        let id = prompt.uuid.as_ref().map(|uuid| format!(" · {}", self.name(uuid))).unwrap_or_default();
        let calls = match prompt.tool_uses {
            0 => String::new(),
            number => format!(" · {}", count(number, "tool call")),
        };
        let who = speaker(prompt.role, prompt.kind);
        let time = self.time(prompt.timestamp);
        let mut text = format!("{}. #{} {who} · {time}{id}{calls}\n", prompt.number, prompt.line);
        let more = if prompt.is_cut { "…" } else { "" };
        text += &quoted(&format!("{}{more}", self.safe(prompt.text.raw())));
        if !prompt.files.is_empty() {
            let names: Vec<String> = prompt.files.iter().take(LISTED).map(|file| self.name(file)).collect();
            let more = prompt.files.len().saturating_sub(LISTED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            text += &format!("  changed: {}{more}\n", names.join(", "));
        }
        for agent in prompt.agents.iter().take(LISTED) {
            let id = self.name(&agent.id.as_str().into());
            text += &format!("  started subagent {id}:\n{}", title(self, &agent.title.as_str().into()));
        }
        if let Some(answer) = &prompt.answer {
            let id = prompt.answer_uuid.as_ref().map(|uuid| format!(" · {}", self.name(uuid))).unwrap_or_default();
            text += &format!("  end of the answer{id}:\n{}", quoted(&self.safe(&answer.line())));
        }
        text
    }
}
