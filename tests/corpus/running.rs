//! Lines written while tools run: progress lines in early 2.1, attachments in late 2.1.

use super::ink::standing;
use super::json::{self, Obj, object};
use super::phrases;
use super::session::{Call, Echo, Session};
use super::tools::cut;

impl Session<'_> {
    /// Writes the lines between a tool call and its result.
    pub(crate) fn while_running(&mut self, call: &Call, id: &str) {
        self.log.out.push_str(&std::mem::take(&mut self.inline));
        if let Some(echo) = self.echo.take() {
            self.repeat(&echo, id);
        }
        if !self.log.era.progress {
            return;
        }
        if self.ink.names.hooks && self.ink.rng.chance(0.75) {
            self.hook_progress("PreToolUse", &call.name, id);
        }
        let slow = if call.result.len() > 1200 { 0.25 } else { 0.075 };
        if call.name == "Bash" && self.ink.rng.chance(slow) {
            self.bash_progress(call, id);
        }
    }

    /// Writes the lines after a result.
    pub(crate) fn after_result(&mut self, call: &Call, id: &str) {
        if call.name == "Skill" {
            self.skill_body(call);
        }
        if self.ink.names.hooks && self.log.era.progress && self.ink.rng.chance(0.75) {
            self.hook_progress("PostToolUse", &call.name, id);
        }
        if self.log.era.attachments && self.ink.rng.chance(0.8) {
            self.attachment(&call.name, id);
        }
    }

    fn progress(&mut self, id: &str, tool: &str, data: impl FnOnce(&mut Obj)) {
        self.log.entry(
            "progress",
            |o| {
                o.obj("data", data).str("toolUseID", tool).str("parentToolUseID", id);
            },
            |_| (),
        );
    }

    fn hook_progress(&mut self, event: &str, tool: &str, id: &str) {
        let name = format!("{event}:{tool}");
        let command = format!("sh -c 'exec {}-guard hooks {}'", self.ink.names.topic.name, event.to_lowercase());
        self.progress(id, id, |d| {
            d.str("type", "hook_progress").str("hookEvent", event).str("hookName", &name).str("command", &command);
        });
    }

    /// Writes the progress lines of a running command, which repeat its output.
    fn bash_progress(&mut self, call: &Call, id: &str) {
        let count = self.ink.rng.log_range(2, 110);
        let output = call.result.trim_matches('"').replace("\\n", "\n");
        let mut task = String::from("b");
        json::hex(&mut self.log.rng, 8, &mut task);
        for at in 0..count {
            let full = cut(&output, (output.len() * at / count).min(4200));
            let last = full.char_indices().rev().filter(|(_, c)| *c == '\n').map(|(at, _)| at + 1).nth(5).unwrap_or(0);
            let last = &full[last..];
            self.progress(id, &format!("bash-progress-{at}"), |d| {
                d.str("type", "bash_progress")
                    .str("output", last)
                    .str("fullOutput", full)
                    .num("elapsedTimeSeconds", at + 2);
                d.num("totalLines", full.len() / 40).num("totalBytes", full.len()).str("taskId", &task);
            });
        }
    }

    /// Writes the messages of a subagent, nested in progress lines of the parent.
    fn repeat(&mut self, echo: &Echo, id: &str) {
        for (at, note) in echo.notes.iter().enumerate() {
            let message = object(|m| {
                m.str("type", if note.user { "user" } else { "assistant" })
                    .raw("message", &echo.text[note.message.clone()]);
                m.str("uuid", &note.uuid).str("timestamp", &json::iso(note.time));
            });
            let prompt = if at == 0 { &echo.prompt } else { "" };
            self.progress(id, &format!("agent_{}", echo.agent), |d| {
                d.raw("message", &message).raw("normalizedMessages", "[]").str("type", "agent_progress");
                d.str("prompt", prompt).str("agentId", &echo.agent);
            });
        }
    }

    /// Writes one of the many attachments of late versions.
    fn attachment(&mut self, tool: &str, id: &str) {
        let fill = match self.ink.rng.weighted(&[80, 49, 20, 16, 12, 9, 3, 10]) {
            0 => self.hook_success(tool, id),
            1 => object(|a| {
                a.str("type", "total_tokens_reminder")
                    .num("used", 120_411)
                    .num("total", 200_000)
                    .num("remaining", 79_589)
                    .end();
            }),
            2 => self.hook_answer(id),
            3 => object(|a| a.str("type", "task_reminder").raw("content", "[]").num("itemCount", 0).end()),
            4 => self.hook_error(tool, id),
            5 => self.hook_context(id),
            6 => self.edited_file(),
            _ => self.tool_listing(),
        };
        self.attach(&fill);
    }

    pub(crate) fn attach(&mut self, attachment: &str) {
        self.log.entry("attachment", |o| o.raw("attachment", attachment).end(), |_| ());
    }

    fn hook_success(&mut self, tool: &str, id: &str) -> String {
        let out = self.ink.text(&[
            "",
            "%s: %f\n",
            "formatted %n files in %dms\n%f\n%f\n",
            "%S\n%f:%n: %s\n%f:%n: %s\n%S\n%f:%n: %s\n",
        ]);
        let out = if self.ink.rng.chance(0.2) { standing(self.ink.names, tool, 3_000) } else { out };
        object(|a| {
            a.str("type", "hook_success").str("hookName", &format!("PostToolUse:{tool}")).str("toolUseID", id);
            a.str("hookEvent", "PostToolUse")
                .str("content", &out)
                .str("stdout", &out)
                .str("stderr", "")
                .num("exitCode", 0);
            a.str("command", "sh -c 'exec ./scripts/after-edit --quiet'").num("durationMs", out.len() * 7);
        })
    }

    fn hook_answer(&mut self, id: &str) -> String {
        let text = self.ink.text(&["{\"checked\":\"%f\",\"%c\":%n,\"note\":\"%s\"}"]);
        object(|a| {
            a.str("type", "async_hook_response")
                .str("processId", id)
                .str("hookName", "PostToolUse")
                .str("hookEvent", "PostToolUse");
            a.obj("response", |r| r.str("systemMessage", &text).end())
                .str("stdout", &text)
                .str("stderr", "")
                .num("exitCode", 0);
        })
    }

    fn hook_error(&mut self, tool: &str, id: &str) -> String {
        let text = self.ink.text(&["Failed with non-blocking status code: %e\n", "%k: command not found\n"]);
        object(|a| {
            a.str("type", "hook_non_blocking_error")
                .str("hookName", &format!("PreToolUse:{tool}"))
                .str("toolUseID", id);
            a.str("hookEvent", "PreToolUse").str("stderr", &text).str("stdout", "").num("exitCode", 1);
        })
    }

    fn hook_context(&mut self, id: &str) -> String {
        let mut text = String::new();
        self.ink.paragraph(&mut text, 500);
        object(|a| {
            a.str("type", "hook_additional_context").strs("content", &[&text]).str("hookName", "UserPromptSubmit");
            a.str("toolUseID", id).str("hookEvent", "UserPromptSubmit");
        })
    }

    fn edited_file(&mut self) -> String {
        let at = self.ink.rng.below(self.files.len());
        let path = self.ink.names.absolute(&self.ink.names.paths[at]);
        let lines = cut(&self.files[at], 9000).lines().enumerate();
        let snippet: Vec<String> = lines.map(|(at, line)| format!("{}\t{line}", at + 1)).collect();
        object(|a| a.str("type", "edited_text_file").str("filename", &path).str("snippet", &snippet.join("\n")).end())
    }

    fn tool_listing(&mut self) -> String {
        let names: Vec<String> = (0..30).map(|_| self.ink.text(&["mcp__%x__%i", "mcp__tracker__%i"])).collect();
        object(|a| {
            a.str("type", "deferred_tools_delta")
                .strs("addedNames", &names)
                .strs("addedLines", &names)
                .raw("removedNames", "[]");
        })
    }

    /// Returns the list of skills at the beginning of a late session.
    pub(crate) fn skill_listing(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..self.ink.rng.range(60, 160) {
            let line = self.ink.text(&["- %k: Use this when the user asks to %v the %t %o. %S\n", "- %t-%x: %S %S\n"]);
            text.push_str(&line);
        }
        let note = phrases::REMINDERS[0];
        object(|a| a.str("type", "skill_listing").str("content", &text).num("skillCount", 60).str("note", note).end())
    }
}
