//! A session with all of its files: agents, copies, forks, leftovers.

use super::cjk::Script;
use super::copies;
use super::eras::{Agents, Era};
use super::facts;
use super::ink::Ink;
use super::json;
use super::log::Log;
use super::names::Names;
use super::rng::Rng;
use super::session::Session;
use super::sink::Sink;
use super::topics::SLUG;

/// Measured sizes of main files. The few larger than 4 MB are planned separately.
const SIZES: &[(f64, f64)] = &[
    (0.0, 2_500.0),
    (0.1, 16_000.0),
    (0.25, 70_000.0),
    (0.5, 200_000.0),
    (0.75, 560_000.0),
    (0.87, 1_900_000.0),
    (0.95, 2_900_000.0),
    (0.99, 3_800_000.0),
    (1.0, 4_180_000.0),
];

/// Measured share of bytes in lines that are copies of others.
const COPIED: f64 = 0.031;

/// How a session is repeated in other files.
#[derive(Clone, Copy, PartialEq)]
enum Repeat {
    Never,
    /// 1.0: the whole history again, with new times.
    Resume,
    /// Late 2.1: the history again, with its original times.
    Fork,
    /// 2.1: the history in the file of an agent that summarizes it.
    Compact,
}

/// A project and the [`Sink`] for its sessions.
pub(crate) struct Family<'a> {
    pub rng: Rng,
    pub names: &'a Names,
    pub files: &'a mut Vec<String>,
    pub sink: &'a mut Sink,
    /// Title and last uuid of earlier sessions, for summaries.
    pub leaves: Vec<(String, String)>,
}

impl Family<'_> {
    /// Draws the size of the next ordinary session.
    pub(crate) fn size(&mut self) -> usize {
        self.rng.quantile(SIZES)
    }

    /// Writes one session and all of its files.
    pub(crate) fn write(&mut self, era: &'static Era, size: usize) {
        let repeat = self.repeat_kind(era, size);
        let summaries = self.summaries(era);
        let mut session = self.session(era, size);
        let plain = repeat == Repeat::Never;
        if plain && session.ink.rng.chance(0.17) {
            session.fact = Some(facts::invent(&mut session.ink));
        }
        // The main file of an orphan was deleted, but its agents are left.
        let orphan = plain && era.agents == Agents::Folder && session.fact.is_none() && session.ink.rng.chance(0.06);
        session.log.lines += summaries.lines().count();
        session.log.out = summaries;
        session.run();
        if era.agents == Agents::Root && session.ink.rng.chance(0.8) {
            session.warm_up();
        }
        let leaf = (session.ink.story.title.clone(), session.log.parent.clone().unwrap_or_default());
        if !orphan {
            finish(session, repeat);
        }
        self.leaves.push(leaf);
        self.leftovers(era);
    }

    fn repeat_kind(&mut self, era: &Era, size: usize) -> Repeat {
        let enough = self.sink.copied as f64 > COPIED * self.sink.total as f64;
        if enough || !(40_000..=4_500_000).contains(&size) {
            return Repeat::Never;
        }
        match era.agents {
            Agents::Inline if self.rng.chance(0.4) => Repeat::Resume,
            Agents::Folder if era.late && self.rng.chance(0.4) => Repeat::Fork,
            Agents::Folder if size > 1_000_000 && self.rng.chance(0.3) => Repeat::Compact,
            _ => Repeat::Never,
        }
    }

    fn session(&mut self, era: &'static Era, size: usize) -> Session<'_> {
        let seed = self.rng.next();
        let id = json::uuid(&mut self.rng);
        let script = self.rng.chance(0.03).then(|| Script::draw(&mut self.rng));
        let mut log = Log::new(Rng::new(&[seed, 1]), era, id, &self.names.root);
        log.branch = self.rng.zipf(&self.names.branches).clone();
        if !era.inline() && !era.late {
            log.slug = SLUG.iter().map(|part| *self.rng.pick(part)).collect::<Vec<_>>().join("-");
        }
        open(Ink::new(Rng::new(&[seed, 2]), self.names, script), self.files, log, self.sink, size)
    }

    /// Returns titles of earlier sessions, for the beginning of a file. Many refer to lines that do not exist.
    fn summaries(&mut self, era: &Era) -> String {
        let mut out = String::new();
        if !era.summaries || !self.rng.chance(0.3) {
            return out;
        }
        for _ in 0..self.rng.range(1, 6) {
            let lost = (String::from("Earlier work on the project"), json::uuid(&mut self.rng));
            let known = !self.leaves.is_empty() && self.rng.chance(0.6);
            let (title, leaf) = if known { self.rng.pick(&self.leaves) } else { &lost };
            json::Obj::write(&mut out, |o| o.str("type", "summary").str("summary", title).str("leafUuid", leaf).end());
            out.push('\n');
        }
        out
    }

    /// Sometimes writes a file without a conversation.
    fn leftovers(&mut self, era: &Era) {
        if !self.rng.chance(0.04) {
            return;
        }
        let (name, id) = (json::uuid(&mut self.rng), json::uuid(&mut self.rng));
        let time = era.start(&mut self.rng);
        let text = json::object(|o| {
            o.str("type", "file-history-snapshot").str("messageId", &id);
            o.obj("snapshot", |s| {
                s.str("messageId", &id).raw("trackedFileBackups", "{}").str("timestamp", &json::iso(time)).end();
            });
        });
        let text = if self.rng.chance(0.7) { text + "\n" } else { self.summaries(&super::eras::ERAS[0]) };
        self.sink.append(&format!("{}/{name}.jsonl", self.names.dir), &text, time);
    }
}

/// Creates a session that is ready to run.
fn open<'a>(ink: Ink<'a>, files: &'a mut Vec<String>, log: Log, sink: &'a mut Sink, target: usize) -> Session<'a> {
    let path = format!("{}/{}.jsonl", ink.names.dir, log.session);
    Session {
        ink,
        files,
        log,
        sink,
        path,
        target,
        flushed: 0,
        fact: None,
        tracked: Vec::new(),
        prompts: 0,
        last_prompt: String::new(),
        compacted: 0,
        echo: None,
        inline: String::new(),
        ran: Vec::new(),
    }
}

/// Saves the session, then its copies.
fn finish(mut session: Session, repeat: Repeat) {
    let text = session.log.out.clone();
    if repeat == Repeat::Fork && session.log.rng.chance(0.5) {
        session.log.out.push_str("{\"type\":\"continued-in\",\"continuedInSessionId\":\"");
        let next = copies::next_session(&session.log.session);
        session.log.out.push_str(&next);
        session.log.out.push_str("\"}\n");
    }
    session.save();
    session.sink.live(&session.path, session.log.now);
    match repeat {
        Repeat::Never => (),
        Repeat::Resume => go_on(session, &text, true),
        Repeat::Fork => go_on(session, &text, false),
        Repeat::Compact => copies::compact(session, &text),
    }
}

/// Continues a copy of the session under a new id.
fn go_on(mut session: Session, text: &str, retime: bool) {
    let old = session.log.session.clone();
    let new = copies::next_session(&old);
    session.log.wait(3_600_000, 90_000_000);
    let start = retime.then_some(session.log.now);
    let part = if retime { text.len() } else { text.len() * session.log.rng.range(55, 96) / 100 };
    (session.log.out, session.log.parent) = copies::history(text, part, &old, &new, start);
    session.sink.copied += session.log.out.len() as u64;
    session.log.lines = session.log.out.lines().count();
    session.path = session.path.replace(&old, &new);
    session.log.background = !retime && session.log.rng.chance(0.5);
    session.log.session = new;
    session.target = session.log.out.len() + session.log.rng.log_range(20_000, 300_000);
    while session.size() < session.target {
        session.turn();
    }
    session.closing();
    session.save();
    session.sink.live(&session.path, session.log.now);
}
