//! Writes one session: prompts, thoughts, tool calls, replies.

use super::facts::{Fact, Place};
use super::ink::Ink;
use super::json::{self, Obj};
use super::log::{Log, Note};
use super::names::capital;
use super::output::{self, Shell};
use super::phrases;
use super::sink::Sink;

/// The state of a session while it is written.
pub(crate) struct Session<'a> {
    pub ink: Ink<'a>,
    /// Texts of the project's files, which edits change.
    pub files: &'a mut Vec<String>,
    pub log: Log,
    pub sink: &'a mut Sink,
    /// Path of the file below `projects/`.
    pub path: String,
    /// Size at which the session ends.
    pub target: usize,
    pub flushed: usize,
    pub fact: Option<Fact>,
    /// Positions of the paths that snapshots list.
    pub tracked: Vec<usize>,
    pub prompts: usize,
    pub last_prompt: String,
    pub compacted: usize,
    /// Messages of a subagent to repeat while its call runs.
    pub echo: Option<Echo>,
    /// Lines of a subagent to write after the call that started it.
    pub inline: String,
    /// Commands that may run again.
    pub ran: Vec<Ran>,
}

/// A command and its output.
#[derive(Clone)]
pub(crate) struct Ran {
    pub shell: &'static Shell,
    pub command: String,
    pub purpose: String,
    pub output: String,
}

/// The output of a subagent, for the progress lines of its parent.
pub(crate) struct Echo {
    pub text: String,
    pub notes: Vec<Note>,
    pub agent: String,
    pub prompt: String,
}

/// A tool call and its outcome.
pub(crate) struct Call {
    pub name: String,
    pub input: String,
    /// The visible result: a JSON string or a list of blocks.
    pub result: String,
    pub error: bool,
    /// The second copy of the result, as JSON.
    pub record: Option<String>,
}

impl Call {
    pub(crate) fn new(name: &str, input: String, result: &str, record: String) -> Self {
        let mut quoted = String::with_capacity(result.len() + result.len() / 8);
        json::quote(&mut quoted, result);
        Self { name: name.into(), input, result: quoted, error: false, record: Some(record) }
    }
}

/// Number of bytes after which a part of a session is written to its file.
const PART: usize = 8 << 20;

impl Session<'_> {
    pub(crate) fn size(&self) -> usize {
        self.flushed + self.log.out.len()
    }

    pub(crate) fn is_agent(&self) -> bool {
        self.log.sidechain
    }

    /// Writes a whole main session.
    pub(crate) fn run(&mut self) {
        self.opening();
        while self.size() < self.target {
            self.turn();
        }
        self.closing();
    }

    /// Writes one prompt and the work that follows it.
    pub(crate) fn turn(&mut self) {
        self.prompt();
        for _ in 0..self.ink.rng.log_range(2, 36) {
            self.step();
            if self.size() >= self.target {
                break;
            }
            if self.log.era.queue && self.ink.rng.chance(0.02) {
                self.queued_prompt();
            }
        }
        self.final_reply();
        self.turn_end();
        self.compact();
        self.flush();
    }

    fn flush(&mut self) {
        if self.log.out.len() > PART {
            self.sink.append(&self.path, &self.log.out, self.log.now);
            self.flushed += self.log.out.len();
            self.log.out.clear();
        }
    }

    fn prompt(&mut self) {
        self.log.wait(5_000, 1_800_000);
        let text = self.prompt_text();
        self.log.prompt = json::uuid(&mut self.log.rng);
        self.before_prompt(&text);
        let late = self.log.era.late;
        let uuid = self.log.user(&text, |o| {
            if late {
                o.str("permissionMode", "default").obj("origin", |k| k.str("kind", "human").end());
            }
        });
        self.settle(Place::Prompt, &text, &uuid);
        self.sink.history(&text, self.log.now, &self.log.cwd, &self.log.session);
        self.last_prompt = text;
        self.prompts += 1;
        self.after_prompt();
        if self.target > 600_000 && self.ink.rng.chance(0.016) {
            self.image();
        }
    }

    /// Returns the text of a prompt, sometimes with a pasted log.
    fn prompt_text(&mut self) -> String {
        let mut text = if self.prompts == 0 && self.ink.story.script.is_none() {
            format!("{}. ", self.ink.story.title)
        } else {
            String::new()
        };
        let ask = self.ink.text_in(phrases::PROMPTS, |script, rng| script.sentence(rng) + &script.sentence(rng));
        text.push_str(&ask);
        if self.ink.rng.chance(0.22) {
            let length = self.ink.rng.log_range(200, if self.target > 900_000 { 40_000 } else { 6_000 });
            text.push_str("\n\n");
            text.push_str(&output::paste(&mut self.ink, length));
        }
        self.plant(Place::Prompt, &mut text);
        text
    }

    /// Adds the planted fact if it belongs here.
    pub(crate) fn plant(&mut self, place: Place, text: &mut String) {
        if let Some(fact) = self.fact.as_ref().filter(|fact| fact.place == place) {
            text.push(' ');
            text.push_str(&fact.sentence);
        }
    }

    /// Records the planted fact after the line that contains it is written.
    fn settle(&mut self, place: Place, written: &str, uuid: &str) {
        if let Some(fact) = self.fact.take_if(|fact| fact.place == place && written.contains(&fact.query)) {
            self.sink.fact(&self.log.session, uuid, fact.class, &fact.query);
        }
    }

    /// Writes a line with a pasted screenshot.
    fn image(&mut self) {
        let mut data = String::from("iVBORw0KGgo");
        let length = self.ink.rng.log_range(80_000, 900_000);
        json::base64(&mut self.log.rng, length, &mut data);
        self.log.entry(
            "user",
            |o| {
                o.obj("message", |m| {
                    m.str("role", "user").one("content", |b| {
                        b.str("type", "image").obj("source", |s| {
                            s.str("type", "base64").str("media_type", "image/png").str("data", &data);
                        });
                    });
                });
            },
            |_| (),
        );
    }

    /// Writes a tool call, sometimes after a thought and a text.
    pub(crate) fn step(&mut self) {
        self.log.new_message();
        if self.ink.rng.chance(0.27) {
            self.think();
        }
        if self.ink.rng.chance(0.44) {
            let text = self.ink.text_in(phrases::LEADS, |script, rng| script.sentence(rng));
            self.say(text, "null");
        }
        let call = self.call();
        self.emit(&call);
    }

    fn think(&mut self) {
        let mut thought = String::new();
        if !self.ink.rng.chance(self.log.era.blank_thoughts) {
            thought = self.ink.text_in(phrases::THOUGHTS, |script, rng| script.sentence(rng));
            if self.ink.rng.chance(0.17) {
                let length = self.ink.rng.log_range(200, 6000);
                thought.push_str("\n\n");
                self.ink.paragraph(&mut thought, length);
            }
        }
        let mut signature = String::from("Eu");
        let length =
            self.log.rng.quantile(&[(0.0, 250.0), (0.5, 500.0), (0.9, 2600.0), (0.99, 13_000.0), (1.0, 35_000.0)]);
        json::base64(&mut self.log.rng, length, &mut signature);
        self.log.assistant("null", |b| {
            b.str("type", "thinking").str("thinking", &thought).str("signature", &signature);
        });
    }

    /// Writes a line of assistant text.
    pub(crate) fn say(&mut self, mut text: String, stop: &str) -> String {
        self.plant(Place::Reply, &mut text);
        let uuid = self.log.assistant(stop, |b| {
            b.str("type", "text").str("text", &text);
        });
        self.settle(Place::Reply, &text, &uuid);
        uuid
    }

    fn final_reply(&mut self) {
        self.log.new_message();
        let mut text = String::new();
        let length = self.ink.rng.log_range(100, 4_600);
        self.ink.markdown(&mut text, length);
        self.say(text, "\"end_turn\"");
    }

    /// Returns the report of a subagent.
    pub(crate) fn report(&mut self) -> String {
        let mut text = capital(&self.ink.story.title);
        text.push_str("\n\n");
        let length = self.ink.rng.log_range(1_200, 16_000);
        self.ink.markdown(&mut text, length);
        text
    }

    /// Writes a call, the lines that follow while it runs, and its result.
    pub(crate) fn emit(&mut self, call: &Call) {
        let id = json::api_id(&mut self.log.rng, "toolu_01");
        let late = self.log.era.late;
        let source = self.log.assistant("\"tool_use\"", |b| {
            b.str("type", "tool_use").str("id", &id).str("name", &call.name).raw("input", &call.input);
            if late {
                b.obj("caller", |c| c.str("type", "direct").end());
            }
        });
        self.settle(Place::Command, &call.input, &source);
        if self.ink.rng.chance(0.002) {
            return; // interrupted: no result
        }
        self.while_running(call, &id);
        let quiet = self.is_agent() && !self.log.era.inline() && self.ink.rng.chance(0.85);
        let record = call.record.as_deref().filter(|_| !quiet);
        let uuid = self.log.result(&id, &call.result, call.error, record, &source);
        self.settle(Place::Output, &call.result, &uuid);
        self.after_result(call, &id);
    }
}

/// Returns the list of blocks of a result that is not a plain string.
pub(crate) fn text_blocks(texts: &[&str]) -> String {
    let blocks: Vec<String> =
        texts.iter().map(|text| json::object(|o: &mut Obj| o.str("type", "text").str("text", text).end())).collect();
    format!("[{}]", blocks.join(","))
}
