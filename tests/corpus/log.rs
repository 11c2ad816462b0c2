//! Writes the lines of one session file: envelopes, messages, and occasionally a damaged line.

use super::eras::Era;
use super::json::{self, Obj};
use super::rng::Rng;
use std::mem;
use std::ops::Range;

/// Measured share of damaged lines.
const DAMAGE: f64 = 0.00005;

/// The position of a message in a log, for copies of it in another file.
pub(crate) struct Note {
    pub user: bool,
    pub message: Range<usize>,
    pub uuid: String,
    pub time: i64,
}

/// The state of one session file.
pub(crate) struct Log {
    pub out: String,
    pub rng: Rng,
    pub era: &'static Era,
    pub version: String,
    pub session: String,
    pub agent: Option<String>,
    pub sidechain: bool,
    pub cwd: String,
    pub branch: String,
    pub slug: String,
    pub background: bool,
    pub parent: Option<String>,
    pub now: i64,
    pub lines: usize,
    /// Probability of damage at each line.
    pub damage_rate: f64,
    /// Line number and kind of each damaged line.
    pub damage: Vec<(usize, &'static str)>,
    pub notes: Vec<Note>,
    pub prompt: String,
    message: String,
    request: String,
}

impl Log {
    pub(crate) fn new(mut rng: Rng, era: &'static Era, session: String, cwd: &str) -> Self {
        let version = era.version(&mut rng);
        let now = era.start(&mut rng);
        let (prompt, message, request) = (json::uuid(&mut rng), String::new(), String::new());
        let mut log = Self {
            out: String::new(),
            era,
            version,
            session,
            agent: None,
            sidechain: false,
            cwd: cwd.into(),
            branch: String::from("main"),
            slug: String::new(),
            background: false,
            parent: None,
            now,
            lines: 0,
            damage_rate: DAMAGE,
            damage: Vec::new(),
            notes: Vec::new(),
            prompt,
            message,
            request,
            rng,
        };
        log.new_message();
        log
    }

    /// Starts a new API message. The following assistant lines share its id.
    pub(crate) fn new_message(&mut self) {
        self.message = json::api_id(&mut self.rng, "msg_01");
        self.request = json::api_id(&mut self.rng, "req_011C");
    }

    /// Advances the clock by a random number of milliseconds.
    pub(crate) fn wait(&mut self, low: usize, high: usize) {
        self.now += self.rng.log_range(low, high) as i64;
    }

    /// Returns the timestamp of a line. A few are out of order.
    fn stamp(&mut self) -> String {
        let back = if self.rng.chance(0.02) { self.rng.range(100, 4000) as i64 } else { 0 };
        json::iso(self.now - back)
    }

    /// Writes a line of the conversation chain. `body` writes the message, and `extras` the fields after the time.
    pub(crate) fn entry(&mut self, kind: &str, body: impl FnOnce(&mut Obj), extras: impl FnOnce(&mut Obj)) -> String {
        self.wait(40, 6000);
        let uuid = json::uuid(&mut self.rng);
        let time = self.stamp();
        let mut out = mem::take(&mut self.out);
        Obj::write(&mut out, |o| {
            self.head(o, kind);
            body(o);
            if kind == "assistant" {
                o.str("type", kind);
            }
            o.str("uuid", &uuid).str("timestamp", &time);
            extras(o);
            self.tail(o);
        });
        self.out = out;
        self.parent = Some(uuid.clone());
        self.end_line();
        uuid
    }

    fn head(&self, o: &mut Obj, kind: &str) {
        match &self.parent {
            Some(parent) => o.str("parentUuid", parent),
            None => o.raw("parentUuid", "null"),
        };
        o.bool("isSidechain", self.sidechain);
        if !self.era.late {
            self.place(o);
        }
        if let Some(agent) = &self.agent {
            o.str("agentId", agent);
        }
        if self.era.late && kind == "user" {
            o.str("promptId", &self.prompt);
        }
        if kind != "assistant" {
            o.str("type", kind);
        }
    }

    fn tail(&self, o: &mut Obj) {
        if self.era.late {
            self.place(o);
        }
    }

    /// Writes the fields that every line of a session has.
    fn place(&self, o: &mut Obj) {
        o.str("userType", "external");
        if self.era.late {
            o.str("entrypoint", "cli");
        }
        o.str("cwd", &self.cwd).str("sessionId", &self.session);
        if self.era.blank_thoughts > 0.8 {
            o.str("session_id", &self.session);
        }
        o.str("version", &self.version);
        if self.era.branch {
            o.str("gitBranch", &self.branch);
        }
        if !self.slug.is_empty() {
            o.str("slug", &self.slug);
        }
        if self.background {
            o.str("sessionKind", "bg");
        }
    }

    /// Writes a line outside the chain: titles, snapshots, queue operations.
    pub(crate) fn plain(&mut self, fill: impl FnOnce(&mut Obj)) {
        Obj::write(&mut self.out, fill);
        self.end_line();
    }

    /// Writes a user line with plain text.
    pub(crate) fn user(&mut self, text: &str, extras: impl FnOnce(&mut Obj)) -> String {
        let start = self.out.len();
        let uuid = self.entry(
            "user",
            |o| {
                o.obj("message", |m| {
                    m.str("role", "user").str("content", text);
                });
            },
            extras,
        );
        self.note(true, start, &uuid);
        uuid
    }

    /// Writes an assistant line with one block.
    pub(crate) fn assistant(&mut self, stop: &str, block: impl FnOnce(&mut Obj)) -> String {
        let (id, request, model) = (self.message.clone(), self.request.clone(), self.era.model);
        let usage = self.usage();
        let start = self.out.len();
        let uuid = self.entry(
            "assistant",
            |o| {
                o.obj("message", |m| {
                    m.str("model", model).str("id", &id).str("type", "message").str("role", "assistant");
                    m.one("content", block);
                    m.raw("stop_reason", stop).raw("stop_sequence", "null").raw("usage", &usage);
                });
                o.str("requestId", &request);
            },
            |_| (),
        );
        self.note(false, start, &uuid);
        uuid
    }

    fn usage(&mut self) -> String {
        let (new, old) = (self.rng.log_range(100, 20_000), self.rng.log_range(10_000, 160_000));
        let answer = self.rng.log_range(1, 2000);
        json::object(|u| {
            u.num("input_tokens", answer % 9)
                .num("cache_creation_input_tokens", new)
                .num("cache_read_input_tokens", old);
            u.obj("cache_creation", |c| {
                c.num("ephemeral_5m_input_tokens", new).num("ephemeral_1h_input_tokens", 0);
            });
            u.num("output_tokens", answer).str("service_tier", "standard");
        })
    }

    /// Writes a tool result, with the second copy that Claude Code adds to the line.
    pub(crate) fn result(
        &mut self,
        id: &str,
        content: &str,
        error: bool,
        record: Option<&str>,
        source: &str,
    ) -> String {
        let start = self.out.len();
        let modern = !self.era.inline();
        let uuid = self.entry(
            "user",
            |o| {
                o.obj("message", |m| {
                    m.str("role", "user").one("content", |b| {
                        b.str("tool_use_id", id).str("type", "tool_result").raw("content", content);
                        if error || modern {
                            b.bool("is_error", error);
                        }
                    });
                });
            },
            |o| {
                if let Some(record) = record {
                    o.raw("toolUseResult", record);
                }
                if modern {
                    o.str("sourceToolAssistantUUID", source);
                }
            },
        );
        self.note(true, start, &uuid);
        uuid
    }

    /// Records the position of the message in the last line.
    fn note(&mut self, user: bool, line: usize, uuid: &str) {
        if self.agent.is_none() || self.notes.len() >= 100 {
            return;
        }
        let text = &self.out[line..];
        let (Some(from), Some(to)) =
            (text.find("\"message\":"), text.find(if user { ",\"uuid\":" } else { ",\"requestId\":" }))
        else {
            return;
        };
        self.notes.push(Note { user, message: line + from + 10..line + to, uuid: uuid.into(), time: self.now });
    }

    pub(crate) fn end_line(&mut self) {
        self.out.push('\n');
        self.lines += 1;
        if self.rng.chance(self.damage_rate) {
            self.damage();
        }
    }

    /// Adds one of the kinds of damage found in real files.
    fn damage(&mut self) {
        match self.rng.weighted(&[15, 6, 2, 1]) {
            0 => self.torn_head(),
            1 => self.two_objects(),
            2 => self.zero_line(),
            _ => self.lone_surrogate(),
        }
    }

    fn bad_line(&mut self, kind: &'static str) {
        self.damage.push((self.lines, kind));
    }

    fn torn_head(&mut self) {
        let tail = format!(".{:03}Z\"}}\n", self.rng.below(1000));
        self.out.push_str(&tail);
        self.lines += 1;
        self.bad_line("torn-head");
    }

    fn two_objects(&mut self) {
        self.out.pop();
        let leaf = json::uuid(&mut self.rng);
        Obj::write(&mut self.out, |o| {
            o.str("type", "summary").str("summary", "Glued record").str("leafUuid", &leaf);
        });
        self.out.push('\n');
        self.bad_line("two-objects");
    }

    fn zero_line(&mut self) {
        let length = self.rng.range(1000, 3500);
        self.out.extend(std::iter::repeat_n('\0', length));
        self.out.push('\n');
        self.lines += 1;
        self.bad_line("zeros");
    }

    fn lone_surrogate(&mut self) {
        let uuid = json::uuid(&mut self.rng);
        let time = json::iso(self.now);
        Obj::write(&mut self.out, |o| {
            o.str("type", "user").str("sessionId", &self.session).str("uuid", &uuid).str("timestamp", &time);
            o.raw("message", "{\"role\":\"user\",\"content\":\"cut in the middle of a smile \\ud83d\"}");
        });
        self.out.push('\n');
        self.lines += 1;
        self.bad_line("lone-surrogate");
    }
}
