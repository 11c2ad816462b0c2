//! Lines around the conversation: titles, summaries, snapshots, queue operations, system notes, compaction.

use super::json::{self, Obj};
use super::phrases;
use super::session::Session;

impl Session<'_> {
    /// Writes the lines before the first prompt.
    pub(crate) fn opening(&mut self) {
        if self.log.era.attachments {
            let listing = self.skill_listing();
            self.attach(&listing);
        }
        if self.ink.rng.chance(0.15) {
            self.local_command();
        }
    }

    /// Writes a slash command and its output, after the caveat that precedes them.
    fn local_command(&mut self) {
        self.log.user("Caveat: the messages below come from local commands; do not answer them unless asked.", |o| {
            o.bool("isMeta", true).end();
        });
        let name = *self.ink.rng.pick(&["model", "clear", "context", "mcp", "compact"]);
        let command = format!(
            "<command-name>/{name}</command-name>\n            <command-message>{name}</command-message>\n            <command-args></command-args>"
        );
        self.log.user(&command, |_| ());
        let output = format!(
            "<local-command-stdout>Set {name} to \u{1b}[1m{}\u{1b}[22m</local-command-stdout>",
            self.log.era.model
        );
        self.log.user(&output, |_| ());
    }

    /// Writes the snapshot and queue lines that precede a prompt.
    pub(crate) fn before_prompt(&mut self, text: &str) {
        self.snapshot();
        if self.log.era.queue && self.ink.rng.chance(0.5) {
            self.queue("enqueue", Some(text));
            self.queue("dequeue", None);
        }
    }

    /// Repeats titles and modes after a prompt, as late versions do.
    pub(crate) fn after_prompt(&mut self) {
        if !self.log.era.late {
            return;
        }
        let (session, title) = (self.log.session.clone(), self.ink.story.title.clone());
        let prompt = super::tools::cut(&self.last_prompt, 200).to_string();
        let leaf = self.log.parent.clone().unwrap_or_default();
        self.log.plain(|o| {
            o.str("type", "last-prompt")
                .str("lastPrompt", &prompt)
                .str("leafUuid", &leaf)
                .str("sessionId", &session)
                .end();
        });
        for _ in 0..self.ink.rng.range(1, 4) {
            self.title_lines(&session, &title);
        }
    }

    fn title_lines(&mut self, session: &str, title: &str) {
        self.log.plain(|o| o.str("type", "mode").str("mode", "normal").str("sessionId", session).end());
        self.log.plain(|o| {
            o.str("type", "permission-mode").str("permissionMode", "default").str("sessionId", session).end();
        });
        if session.as_bytes()[0].is_multiple_of(2) {
            self.log.plain(|o| o.str("type", "custom-title").str("customTitle", title).str("sessionId", session).end());
            self.log.plain(|o| o.str("type", "agent-name").str("agentName", title).str("sessionId", session).end());
        } else {
            self.log.plain(|o| o.str("type", "ai-title").str("aiTitle", title).str("sessionId", session).end());
        }
        let bridge = json::api_id(&mut self.log.rng, "session_01");
        self.log.plain(|o| {
            o.str("type", "bridge-session")
                .str("sessionId", session)
                .str("bridgeSessionId", &bridge)
                .num("lastSequenceNum", 0)
                .end();
        });
    }

    /// Writes a snapshot of the files changed so far, with their backups.
    fn snapshot(&mut self) {
        let id = json::uuid(&mut self.log.rng);
        let time = json::iso(self.log.now);
        let mut backups = String::from("{");
        for at in self.tracked.clone() {
            self.backup(&mut backups, at, &time);
        }
        backups.push('}');
        self.log.plain(|o| {
            o.str("type", "file-history-snapshot").str("messageId", &id).obj("snapshot", |s| {
                s.str("messageId", &id).raw("trackedFileBackups", &backups).str("timestamp", &time);
            });
            o.bool("isSnapshotUpdate", false);
        });
    }

    fn backup(&mut self, out: &mut String, at: usize, time: &str) {
        let mut name = String::new();
        json::hex(&mut self.log.rng, 16, &mut name);
        name.push_str("@v2");
        if out.len() > 1 {
            out.push(',');
        }
        json::quote(out, &self.ink.names.paths[at]);
        out.push(':');
        Obj::write(out, |o| o.str("backupFileName", &name).num("version", 2).str("backupTime", time).end());
    }

    fn queue(&mut self, operation: &str, content: Option<&str>) {
        let (time, session) = (json::iso(self.log.now), self.log.session.clone());
        self.log.plain(|o| {
            o.str("type", "queue-operation")
                .str("operation", operation)
                .str("timestamp", &time)
                .str("sessionId", &session);
            if let Some(content) = content {
                o.str("content", content);
            }
        });
    }

    /// Writes a prompt typed while the model works. Before late 2.1, no other line contains it.
    pub(crate) fn queued_prompt(&mut self) {
        if self.is_agent() {
            return;
        }
        let text = if self.ink.rng.chance(0.4) {
            self.ink.text(&["<task-notification>\n<task-id>b%h</task-id>\n<status>completed</status>\n<summary>%s</summary>\n</task-notification>"])
        } else {
            self.ink.text_in(phrases::ASIDES, |script, rng| script.sentence(rng))
        };
        self.queue("enqueue", Some(&text));
        self.log.wait(500, 30_000);
        self.queue("remove", None);
        if self.log.era.late {
            let time = json::iso(self.log.now);
            let attachment = json::object(|a| {
                a.str("type", "queued_command")
                    .str("prompt", &text)
                    .str("commandMode", "prompt")
                    .str("timestamp", &time);
            });
            self.attach(&attachment);
        }
    }

    fn system(&mut self, subtype: &str, fill: impl FnOnce(&mut Obj)) {
        self.log.entry(
            "system",
            |o| {
                o.str("subtype", subtype);
                fill(o);
            },
            |o| o.bool("isMeta", false).end(),
        );
    }

    /// Writes the notes at the end of a turn.
    pub(crate) fn turn_end(&mut self) {
        let millis = self.ink.rng.log_range(8_000, 900_000);
        if self.ink.rng.chance(0.35) {
            self.snapshot();
        }
        if self.log.era.queue && self.ink.rng.chance(0.5) {
            self.system("turn_duration", |o| o.num("durationMs", millis).end());
        }
        if self.ink.names.hooks && self.log.era.queue {
            self.stop_hooks(millis);
        }
        if self.ink.rng.chance(0.05) {
            self.api_errors();
        }
        if self.log.era.late && self.ink.rng.chance(0.1) {
            let text = self.ink.text_in(&["%S %S %S"], |script, rng| script.sentence(rng));
            self.system("away_summary", |o| o.str("content", &text).end());
        }
    }

    fn stop_hooks(&mut self, millis: usize) {
        let command = format!("sh -c 'exec {}-guard hooks stop'", self.ink.names.topic.name);
        self.system("stop_hook_summary", |o| {
            o.num("hookCount", 1)
                .one("hookInfos", |h| h.str("command", &command).num("durationMs", millis % 4000).end());
            o.raw("hookErrors", "[]")
                .bool("preventedContinuation", false)
                .str("stopReason", "")
                .bool("hasOutput", false);
        });
    }

    fn api_errors(&mut self) {
        for attempt in 1..self.ink.rng.range(2, 11) {
            self.system("api_error", |o| {
                o.str("level", "error")
                    .raw("error", "{}")
                    .num("retryInMs", 500 << attempt)
                    .num("retryAttempt", attempt)
                    .num("maxRetries", 10);
            });
        }
    }

    /// Writes a summary every two megabytes, from which the conversation continues. The old lines stay in the file.
    pub(crate) fn compact(&mut self) {
        if self.size() < (self.compacted + 1) * 2_000_000 || self.is_agent() {
            return;
        }
        self.compacted += 1;
        self.ink.new_words();
        let last = self.log.parent.take().unwrap_or_default();
        self.system("compact_boundary", |o| {
            o.str("logicalParentUuid", &last).str("content", "Conversation compacted");
            o.obj("compactMetadata", |m| m.str("trigger", "auto").num("preTokens", 167_094).end());
        });
        let mut text = String::from(
            "This session is being continued from a previous conversation that ran out of context. The summary follows.\n\n",
        );
        let length = self.ink.rng.range(5_000, 20_000);
        self.ink.markdown(&mut text, length);
        self.log.user(&text, |o| o.bool("isVisibleInTranscriptOnly", true).bool("isCompactSummary", true).end());
    }

    /// Writes the lines at the end of a session.
    pub(crate) fn closing(&mut self) {
        let leaf = self.log.parent.clone().unwrap_or_default();
        let title = self.ink.story.title.clone();
        if self.log.era.summaries && self.ink.rng.chance(0.3) {
            self.log.plain(|o| o.str("type", "summary").str("summary", &title).str("leafUuid", &leaf).end());
        }
        if self.log.era.late {
            self.after_prompt();
            if self.ink.rng.chance(0.15) {
                self.pull_request();
            }
        }
    }

    fn pull_request(&mut self) {
        let (session, time) = (self.log.session.clone(), json::iso(self.log.now));
        let (number, name) = (self.ink.rng.range(10, 2000), self.ink.names.topic.name);
        let url = format!("https://github.com/example/{name}/pull/{number}");
        self.log.plain(|o| {
            o.str("type", "pr-link").str("sessionId", &session).num("prNumber", number).str("prUrl", &url);
            o.str("prRepository", &format!("example/{name}")).str("timestamp", &time);
        });
    }
}
