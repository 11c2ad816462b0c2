//! Copies of conversation lines under another session, as resuming, forking and compaction make them.

use super::json;
use super::session::Session;

/// The id of the session that continues this one: the same digits, turned around.
pub(crate) fn next_session(id: &str) -> String {
    let turned: String = id[24..].chars().rev().collect();
    format!("{}{turned}", &id[..24])
}

/// Chain lines of a text, without damaged ones.
fn chain(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| {
        line.contains("\"parentUuid\":") && line.ends_with('}') && !line.contains("}{\"type\":\"summary\"")
    })
}

/// The lines up to `length`, moved to another session; with a start they get new times.
pub(crate) fn history(text: &str, length: usize, old: &str, new: &str, start: Option<i64>) -> (String, Option<String>) {
    let mut out = String::with_capacity(length);
    let mut last = None;
    for (at, line) in chain(text).enumerate() {
        if out.len() >= length {
            break;
        }
        let line = line.replace(old, new);
        match start {
            Some(start) => out.push_str(&retimed(&line, start + at as i64)),
            None => out.push_str(&line),
        }
        out.push('\n');
        last = uuid_of(&line);
    }
    (out, last)
}

const UUID: &str = ",\"uuid\":\"";
const TIME: &str = "\",\"timestamp\":\"";

fn uuid_of(line: &str) -> Option<String> {
    let at = line.find(UUID)? + UUID.len();
    line.get(at..at + 36).map(String::from)
}

/// The line with its own timestamp replaced.
fn retimed(line: &str, time: i64) -> String {
    match line.find(TIME).map(|at| at + TIME.len()) {
        Some(at) => [&line[..at], &json::iso(time), &line[at + 24..]].concat(),
        None => line.into(),
    }
}

/// The agent that sums up a conversation: its file repeats the whole of it.
pub(crate) fn compact(mut session: Session, text: &str) {
    let mut agent = String::from("acompact-");
    json::hex(&mut session.log.rng, 6, &mut agent);
    let mark = format!("\"isSidechain\":true,\"agentId\":\"{agent}\"");
    let mut out = String::with_capacity(text.len() + text.len() / 20);
    for line in chain(text).filter(|line| !line.contains("\"type\":\"progress\"")) {
        out.push_str(&line.replacen("\"isSidechain\":false", &mark, 1));
        out.push('\n');
    }
    session.path = format!("{}/{}/subagents/agent-{agent}.jsonl", session.ink.names.dir, session.log.session);
    session.sink.copied += out.len() as u64;
    session.log.out = out;
    session.log.agent = Some(agent);
    session.log.sidechain = true;
    session.log.notes.clear();
    session.log.damage_rate = 0.0;
    session.log.user("Your task is to write a detailed summary of the conversation so far.", |_| ());
    let report = session.report();
    session.say(format!("<analysis>\n{report}\n</analysis>"), "\"end_turn\"");
    session.save();
}
