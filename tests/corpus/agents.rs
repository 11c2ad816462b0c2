//! Subagents: the Task call, the agent's own file, and the copy of its messages in the parent.

use super::eras::Agents;
use super::ink::{Ink, standing};
use super::json::{self, object};
use super::log::Log;
use super::rng::Rng;
use super::session::{Call, Echo, Session, text_blocks};
use std::mem;

/// Measured sizes of subagent files.
const SIZES: &[(f64, f64)] = &[
    (0.0, 9_000.0),
    (0.25, 60_000.0),
    (0.5, 120_000.0),
    (0.75, 250_000.0),
    (0.9, 650_000.0),
    (0.98, 1_400_000.0),
    (1.0, 3_500_000.0),
];

/// The task given to an agent, and its report.
struct Errand {
    id: String,
    description: String,
    prompt: String,
    report: String,
}

impl Session<'_> {
    /// Gives a task to a subagent and returns the call with its report.
    pub(crate) fn delegate(&mut self) -> Call {
        let mut errand = self.errand();
        self.send(&mut errand);
        let input = object(|o| {
            o.str("description", &errand.description)
                .str("prompt", &errand.prompt)
                .str("subagent_type", "general-purpose");
        });
        let footer = format!("agentId: {} (for resuming to continue this agent's work if needed)", errand.id);
        let blocks = text_blocks(&[&errand.report, &footer]);
        let millis = self.ink.rng.log_range(9_000, 900_000);
        let report = text_blocks(&[&errand.report]);
        let record = object(|o| {
            o.str("status", "completed")
                .str("prompt", &errand.prompt)
                .str("agentId", &errand.id)
                .raw("content", &report);
            o.num("totalDurationMs", millis).num("totalTokens", millis / 7).num("totalToolUseCount", millis / 9000);
        });
        let name = if self.log.era.late { "Agent" } else { "Task" };
        Call { result: blocks.clone(), ..Call::new(name, input, "", record) }
    }

    fn errand(&mut self) -> Errand {
        let mut id = String::new();
        match self.log.era.agents {
            Agents::Root => json::hex(&mut self.log.rng, 8, &mut id),
            _ => {
                id.push('a');
                let length = if self.log.era.meta { 16 } else { 6 };
                json::hex(&mut self.log.rng, length, &mut id);
            }
        }
        let description = self.ink.text(super::phrases::TASKS);
        let mut prompt = self.ink.text(&["In %F, %v the %t %o. %S\n\n", "Repository: %F. %S %S\n\n"]);
        let length = self.ink.rng.log_range(400, 8000);
        self.ink.markdown(&mut prompt, length);
        if self.ink.rng.chance(0.6) {
            prompt.push_str("\n\n");
            prompt.push_str(&standing(self.ink.names, self.ink.rng.pick_str(&["review", "search", "report"]), 4_000));
        }
        Errand { id, description, prompt, report: String::new() }
    }

    fn send(&mut self, errand: &mut Errand) {
        if self.log.era.agents == Agents::Inline {
            return self.send_inline(errand);
        }
        let size = self.agent_size();
        let seed = self.ink.rng.next();
        let echo = self.log.era.progress;
        // For some agents, only the copy in the parent is left.
        let kept = !echo || self.ink.rng.chance(0.9);
        let size = if kept { size } else { size.min(160_000) };
        let log = self.agent_log(seed, &errand.id);
        let (text, notes, end) = self.with_agent(log, seed, size, errand, kept);
        if echo {
            self.echo = Some(Echo { text, notes, agent: errand.id.clone(), prompt: errand.prompt.clone() });
        }
        self.log.now = self.log.now.max(end);
    }

    fn agent_size(&mut self) -> usize {
        self.ink.rng.quantile(SIZES).min(self.target.max(60_000) * 2)
    }

    fn agent_log(&mut self, seed: u64, id: &str) -> Log {
        let mut log = Log::new(Rng::new(&[seed, 1]), self.log.era, self.log.session.clone(), &self.log.cwd);
        log.version.clone_from(&self.log.version);
        log.branch.clone_from(&self.log.branch);
        log.slug.clone_from(&self.log.slug);
        log.now = self.log.now;
        log.agent = Some(id.into());
        log.sidechain = true;
        log
    }

    /// Runs the agent as a separate session. Returns its text, its messages and the time of its end.
    fn with_agent(
        &mut self,
        log: Log,
        seed: u64,
        size: usize,
        errand: &mut Errand,
        kept: bool,
    ) -> (String, Vec<super::log::Note>, i64) {
        let script = self.ink.story.script;
        let mut agent = Session {
            ink: Ink::new(Rng::new(&[seed, 2]), self.ink.names, script),
            files: &mut *self.files,
            path: agent_path(&self.log, &self.ink.names.dir, &errand.id),
            target: size,
            flushed: 0,
            fact: None,
            tracked: Vec::new(),
            prompts: 1,
            last_prompt: String::new(),
            compacted: 0,
            echo: None,
            inline: String::new(),
            ran: Vec::new(),
            log,
            sink: &mut *self.sink,
        };
        errand.report = agent.work(&errand.prompt);
        if kept {
            agent.save_agent(&errand.description);
        }
        (mem::take(&mut agent.log.out), mem::take(&mut agent.log.notes), agent.log.now)
    }

    /// Performs the task and returns the report.
    fn work(&mut self, prompt: &str) -> String {
        self.log.user(prompt, |_| ());
        while self.size() < self.target {
            self.step();
        }
        self.log.new_message();
        let report = self.report();
        self.say(report.clone(), "\"end_turn\"");
        report
    }

    fn save_agent(&mut self, description: &str) {
        self.save();
        if self.log.era.meta {
            let meta = object(|o| o.str("agentType", "general-purpose").str("description", description).end());
            let path = self.path.replace(".jsonl", ".meta.json");
            self.sink.append(&path, &meta, self.log.now);
        }
    }

    /// Writes the agent's lines to the main file, as versions before 2.0 do.
    fn send_inline(&mut self, errand: &mut Errand) {
        let (parent, target) = (self.log.parent.take(), self.target);
        let before = mem::take(&mut self.log.out);
        self.log.sidechain = true;
        // The line of the call itself comes first.
        self.log.lines += 1;
        self.target = self.flushed + self.agent_size().min(target / 3);
        errand.report = self.work(&errand.prompt.clone());
        self.log.lines -= 1;
        self.inline = mem::replace(&mut self.log.out, before);
        self.log.sidechain = false;
        self.log.parent = parent;
        self.target = target;
    }

    /// Writes the file. Some files lack the final newline.
    pub(crate) fn save(&mut self) {
        if self.log.rng.chance(0.068) {
            self.log.out.pop();
        }
        self.sink.append(&self.path, &self.log.out, self.log.now);
        for (line, kind) in mem::take(&mut self.log.damage) {
            self.sink.damage(&self.path, line, kind);
        }
    }

    /// Writes the files of agents that 2.0 started in advance and never used.
    pub(crate) fn warm_up(&mut self) {
        for _ in 0..self.ink.rng.range(3, 12) {
            let mut id = String::from("a");
            json::hex(&mut self.log.rng, 6, &mut id);
            let seed = self.ink.rng.next();
            let mut log = self.agent_log(seed, &id);
            log.damage_rate = 0.0;
            log.user("Warmup", |_| ());
            log.assistant("\"end_turn\"", |b| {
                b.str("type", "text").str("text", "I'm ready. What shall I look for?").end();
            });
            let path = agent_path(&self.log, &self.ink.names.dir, &id);
            self.sink.append(&path, &log.out, log.now);
        }
    }
}

fn agent_path(log: &Log, dir: &str, id: &str) -> String {
    match log.era.agents {
        Agents::Folder => format!("{dir}/{}/subagents/agent-{id}.jsonl", log.session),
        _ => format!("{dir}/agent-{id}.jsonl"),
    }
}
