//! Renders the answer to a search.

use serde_json::Value;

use crate::archive::search::{Hit, Match, SessionHits};
use crate::archive::snippet::Snippet;
use crate::archive::{Note, SearchAnswer};
use crate::document::Kind;
use crate::render::agent::budget::{Page, View, count, cut, quoted};
use crate::render::agent::place::{place, resumable, speaker, title};

/// Longest plain word that is not marked.
const UNMARKED: usize = 3;
/// Longest task of a subagent, in characters.
const TASK_LENGTH: usize = 160;
/// Words that are listed as missing.
const MISSING: usize = 10;

impl View {
    /// Renders the answer to a search. Returns the text and the number of sessions in it. If that is less than the answer
    /// has, the caller should ask again for that many, so that the cursor of the next page is right.
    pub fn search(&self, answer: &SearchAnswer) -> (String, usize) {
        let mut page = Page::new(self, &head(answer));
        if answer.matched == Match::None {
            let hints: Vec<String> = answer.suggestions.iter().take(3).map(suggestion).collect();
            let hint = match answer.behind {
                Some(_) => "hint: the index has not read everything yet; ask again in a minute".to_string(),
                None if hints.is_empty() => {
                    "hint: nothing in the indexed sessions matches; say so, or try other words for the same thing"
                        .to_string()
                }
                None => format!("hint: try {}", hints.join("; or ")),
            };
            return (page.finish(&hint, &[]), 0);
        }
        let mut shown = 0;
        for found in &answer.sessions {
            let hits: Vec<String> = found.hits.iter().map(|hit| self.hit(hit)).collect();
            let top = self.session_head(found);
            let whole = format!("{top}{}", hits.concat());
            if !page.put(&whole) {
                if shown == 0 {
                    page.put(&top);
                    page.put(hits.first().map_or("", String::as_str));
                    shown = 1;
                }
                break;
            }
            shown += 1;
        }
        let cursor = answer.next.as_ref().map(|cursor| ("cursor", Value::from(cursor.as_str())));
        let rest = answer.total_sessions.saturating_sub(answer.skipped + shown);
        let last = match cursor {
            Some(_) => format!("{} not shown", count(rest, "more session")),
            None => "read_conversation takes any id above; quote session and date".to_string(),
        };
        (page.finish(&last, cursor.as_slice()), shown)
    }

    fn session_head(&self, found: &SessionHits) -> String {
        let session = &found.session;
        let hits = count(found.total, "hit");
        let place = place(self, &session.project, &session.branch, (session.first, session.last));
        let id = self.name(&session.id);
        format!("\nsession {id} · {place} · {hits} · {}\n{}", resumable(session), title(self, &session.title))
    }

    fn hit(&self, hit: &Hit) -> String {
        let mut parts = vec![speaker(hit.role, hit.kind).to_string()];
        parts.extend(hit.tool.iter().map(|tool| self.name(tool)));
        parts.push(self.time(hit.timestamp));
        parts.extend(hit.uuid.iter().map(|uuid| format!("message {}", self.name(uuid))));
        if let Some(agent) = &hit.agent {
            let call = hit.agent_started_by.as_ref().map(|call| format!(", started by message {}", self.name(call)));
            parts.push(format!("in subagent {} of this session{}", self.name(agent), call.unwrap_or_default()));
        }
        if hit.error {
            parts.push("failed".to_string());
        }
        if hit.weak {
            parts.push("weak match".to_string());
        }
        let mut text = format!("- {}\n", parts.join(" · "));
        if let Some(task) = hit.agent.as_ref().and(hit.agent_title.as_ref()) {
            text += &quoted(&cut(&format!("(task of the subagent: {})", self.safe(&task.line())), TASK_LENGTH));
        }
        text += &quoted(&self.snippet(&hit.snippet));
        if let Some(other) = &hit.counterpart {
            let what = if other.kind == Kind::Text { "end of the answer" } else { "the call" };
            let id = other.uuid.as_ref().map(|uuid| format!(", message {}", self.name(uuid))).unwrap_or_default();
            text += &format!("  {what}{id}:\n{}", quoted(&self.safe(&other.text.line())));
        }
        text
    }

    /// Returns a snippet with its matches in guillemets.
    fn snippet(&self, snippet: &Snippet) -> String {
        let mut text = String::new();
        let mut end = 0;
        for (from, to) in snippet.ranges.iter().copied().filter(|(from, to)| from < to) {
            if from < end || to > snippet.text.len() {
                continue;
            }
            text += &snippet.text[end..from];
            let word = &snippet.text[from..to];
            // Marks around "the" and "is" cost characters without helping.
            let is_common = word.len() <= UNMARKED && word.chars().all(|c| c.is_ascii_alphabetic());
            text += &if is_common { word.to_string() } else { format!("«{word}»") };
            end = to;
        }
        text += &snippet.text[end..];
        let text = text.replace('\n', " ");
        let (before, after) = (if snippet.cut_before { "… " } else { "" }, if snippet.cut_after { " …" } else { "" });
        self.safe(&format!("{before}{text}{after}"))
    }
}

fn head(answer: &SearchAnswer) -> Vec<String> {
    let quality = match answer.matched {
        Match::None => "none",
        Match::Some => "some words",
        Match::Corrected => "corrected",
        Match::All => "all words",
    };
    let first = answer.skipped + 1;
    let shown = match answer.total_sessions {
        0 => String::new(),
        total => format!(" in {} · from session {first}", count(total, "session")),
    };
    let mut head = vec![format!("match: {quality} · {}{shown}", count(answer.total_hits, "hit"))];
    if !answer.missing.is_empty() {
        let words = answer.missing.iter().take(MISSING).map(|word| cut(word, 40)).collect::<Vec<_>>().join(", ");
        head.push(format!("missing: {words}"));
    }
    if answer.by_said {
        head.push("ranked as a question: by what was said, not by what tools printed".to_string());
    }
    // The missing words are listed already.
    let notes = answer.notes.iter().filter(|note| !matches!(note, Note::SomeWords { .. }));
    head.extend(notes.take(3).map(|note| format!("note: {note}")));
    head
}

fn suggestion(other: &crate::archive::search::Suggestion) -> String {
    let query = other.query.as_ref().map(|query| format!(": {}", cut(query, 60))).unwrap_or_default();
    format!("{}{query} ({})", other.change, count(other.hits, "hit"))
}
