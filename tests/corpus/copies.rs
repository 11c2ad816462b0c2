//! Copies of conversation lines in other files, as resuming, forking and compaction create them.

use super::json;
use super::session::Session;

/// Returns the id of the session that continues this one: the last 12 digits are reversed.
pub(crate) fn next_session(id: &str) -> String {
    let turned: String = id[24..].chars().rev().collect();
    format!("{}{turned}", &id[..24])
}

/// Returns the lines of the conversation chain, without damaged ones.
fn chain(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| {
        line.contains("\"parentUuid\":") && line.ends_with('}') && !line.contains("}{\"type\":\"summary\"")
    })
}

/// Copies about `length` bytes of lines to another session. With `start`, the copies get new times.
///
/// Returns the copies and the uuid of the last one.
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

/// Returns the line with its own timestamp replaced.
fn retimed(line: &str, time: i64) -> String {
    match line.find(TIME).map(|at| at + TIME.len()) {
        Some(at) => [&line[..at], &json::iso(time), &line[at + 24..]].concat(),
        None => line.into(),
    }
}

/// Writes the file of the agent that summarizes a conversation. The file repeats the whole conversation.
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
