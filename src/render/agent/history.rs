//! Renders the history of a file: its changes, the history of a line, and recovered contents.

use crate::archive::history::{Action, FileActions, Recovered, Story, Uncertain, Writer};
use crate::redact::redact;
use crate::render::agent::budget::{Page, View, count, cut, quoted};
use crate::render::agent::place::{resumable, title};
use crate::transcript::Hunk;
use crate::untrusted::Untrusted;

/// Characters of a prompt.
const PROMPT_LENGTH: usize = 200;
/// Characters of what Claude said about a change.
const SAID_LENGTH: usize = 400;
/// Lines of a patch.
const PATCH_LINES: usize = 60;
/// Ranges of lines that are listed.
const RANGES: usize = 12;
/// Earlier versions of a line.
const EARLIER: usize = 6;

impl View {
    /// Renders the actions on files, without those that were shown before.
    pub fn file_actions(&self, files: &[FileActions], skip: usize) -> String {
        let total: usize = files.iter().map(|file| file.actions.len()).sum();
        let head = format!("{} on {}, newest first", count(total, "action"), count(files.len(), "file"));
        let head = if skip > 0 { format!("{head} · {skip} shown before") } else { head };
        let mut page = Page::new(self, &[head]);
        let mut shown = 0;
        for file in files {
            let mut is_named = false;
            for action in &file.actions {
                shown += 1;
                if shown <= skip {
                    continue;
                }
                let name = match is_named {
                    false => format!("\nfile {} · {}\n", self.name(&file.path), count(file.actions.len(), "action")),
                    true => String::new(),
                };
                is_named = true;
                let text = self.action(action);
                if !page.put(&format!("{name}{text}{}", patch(self, &action.change)))
                    && !page.put(&format!("{name}{text}"))
                {
                    let left = total + 1 - shown;
                    let last = format!("{} not shown", count(left, "more action"));
                    return page.finish(&last, &[("skip", (shown - 1).into())]);
                }
            }
        }
        page.finish("read_conversation with a message id shows the change in its context", &[])
    }

    fn action(&self, action: &Action) -> String {
        let mut parts = vec![action.what.name().to_string(), self.time(action.time)];
        if let (Some(added), Some(removed)) = (action.added, action.removed) {
            parts.push(format!("+{added} -{removed}"));
        }
        parts.extend(action.other.as_ref().map(|other| format!("other file {}", self.name(other))));
        parts.extend(action.tool.iter().map(|tool| self.name(tool)));
        parts.push(format!("session {}", self.name(&action.session.id)));
        parts.extend(action.agent.iter().map(|agent| format!("subagent {}", self.name(agent))));
        parts.extend(action.uuid.iter().map(|uuid| format!("message {}", self.name(uuid))));
        if action.inferred {
            parts.push("inferred from the command".to_string());
        }
        if action.unconfirmed {
            parts.push("no result recorded, so it may not have happened".to_string());
        }
        let prompt = action.prompt.as_ref().map(|prompt| quoted(&cut(&self.safe(&prompt.line()), PROMPT_LENGTH)));
        format!("- {}\n{}", parts.join(" · "), prompt.unwrap_or_default())
    }

    /// Renders the history of a line.
    pub fn story(&self, story: &Story) -> String {
        let head = format!("line {} of {}", story.number, self.name(&story.path));
        let mut page = Page::new(self, &[head]);
        page.put(&quoted(&cut(&self.safe(&story.text.line()), PROMPT_LENGTH)));
        page.line(&self.writer(story.writer));
        if let Some(action) = &story.action {
            page.put(&self.action(action));
            page.line(&format!("of session, {}:", resumable(&action.session)));
            page.put(&title(self, &action.session.title));
        }
        if !story.said.is_empty() {
            page.line("said about it:");
            for text in &story.said {
                page.put(&quoted(&cut(&self.safe(&text.line()), SAID_LENGTH)));
            }
        }
        if !story.change.is_empty() {
            page.line("the change:");
            page.put(&patch(self, &story.change));
        }
        let mut shown = 0;
        for (text, writer, action) in story.earlier.iter().take(EARLIER) {
            let by =
                action.as_ref().map_or_else(|| format!("{}\n", self.writer(*writer)), |action| self.action(action));
            let line = quoted(&cut(&self.safe(&text.line()), PROMPT_LENGTH));
            if !page.put(&format!("before that:\n{line}{by}")) {
                break;
            }
            shown += 1;
        }
        let left = story.earlier.len() - shown;
        let last = if left > 0 { format!("{} not shown", count(left, "earlier version")) } else { String::new() };
        page.finish(&last, &[])
    }

    fn writer(&self, writer: Writer) -> String {
        match writer {
            Writer::Action(_) => "written by:".to_string(),
            Writer::Before => {
                "older than the first session that saw the file; nobody recorded who wrote it".to_string()
            }
            Writer::Outside { after, before } => format!(
                "written outside the recorded sessions, between {} and {}",
                self.time(after),
                before.map_or_else(|| "now".to_string(), |before| self.time(Some(before)))
            ),
        }
    }

    /// Renders recovered contents, without the characters that were shown before. Secrets are masked.
    pub fn recovered(&self, recovered: &Recovered, skip: usize) -> String {
        let contents = redact(&recovered.contents);
        let is_masked = contents != recovered.contents;
        let safe = self.safe(&contents);
        let length = safe.chars().count();
        let certain = if recovered.doubts.is_empty() { "certain: every line" } else { "certain: not every line" };
        let mut head = vec![
            format!(
                "file {} · as of {} · session {}",
                self.name(&recovered.path),
                self.time(Some(recovered.since)),
                self.name(&recovered.session)
            ),
            format!("{certain} · {}", count(contents.lines().count(), "line")),
        ];
        if !recovered.doubts.is_empty() {
            let doubts = count(recovered.doubts.len(), "doubt");
            let last = recovered.doubts.last().map(|doubt| self.doubt(doubt)).unwrap_or_default();
            head.push(format!("{doubts}; the last: {last}"));
            head.push(format!("certain lines: {}", ranges(&recovered.certain)));
        }
        head.extend(recovered.deleted.map(|time| format!("deleted or renamed at {}", self.time(Some(time)))));
        if is_masked {
            head.push("secrets are masked here; `unspool recover` prints the exact contents".to_string());
        }
        if skip > 0 {
            head.push(format!("{skip} of {length} characters were shown before"));
        }
        let mut page = Page::new(self, &head);
        let rest: String = safe.chars().skip(skip).collect();
        let end = skip + page.quote_part(&rest);
        if end < length {
            return page.finish(&format!("{end} of {length} characters shown"), &[("skip", end.into())]);
        }
        page.finish("end of the file", &[])
    }

    fn doubt(&self, doubt: &Uncertain) -> String {
        let at =
            |time: &i64, session: &Untrusted| format!("{} (session {})", self.time(Some(*time)), self.name(session));
        match doubt {
            Uncertain::NotApplied { time, session } => format!("a change at {} did not fit", at(time, session)),
            Uncertain::Unrecorded { time, session, .. } => format!("a command at {} changed it", at(time, session)),
            Uncertain::Possible { time, session, .. } => format!("a command at {} may have", at(time, session)),
            Uncertain::ChangedOutside { before, .. } => {
                format!("something else had changed it by {}", self.time(Some(*before)))
            }
            Uncertain::ChangedLater { found, .. } => format!("it was different at {}", self.time(Some(*found))),
            Uncertain::Unknown { from, to } => format!("lines {from} to {to} are unknown"),
        }
    }
}

/// Returns a patch as quoted lines.
fn patch(view: &View, hunks: &[Hunk]) -> String {
    let all: Vec<String> = hunks
        .iter()
        .flat_map(|hunk| {
            let place = format!("@@ -{},{} +{},{} @@", hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines);
            std::iter::once(place).chain(hunk.lines.iter().map(|line| line.replace('\n', " ")))
        })
        .collect();
    if all.is_empty() {
        return String::new();
    }
    let more = all.len().saturating_sub(PATCH_LINES);
    let shown = all.into_iter().take(PATCH_LINES).collect::<Vec<_>>().join("\n");
    let rest = if more > 0 { format!("({} of the patch not shown)\n", count(more, "line")) } else { String::new() };
    format!("{}{rest}", quoted(&view.safe(&shown)))
}

fn ranges(ranges: &[(usize, usize)]) -> String {
    if ranges.is_empty() {
        return "none".to_string();
    }
    let shown = ranges.iter().take(RANGES).map(|(from, to)| format!("{from}-{to}")).collect::<Vec<_>>().join(", ");
    if ranges.len() > RANGES { format!("{shown}, …") } else { shown }
}
