//! What a file's conversation amounts to, counted while it is read: prompts, answers, tokens, pauses, what was
//! changed, and which of its lines were left behind by a rewind.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// A pause longer than this, in milliseconds, means that somebody came back.
pub const PAUSE: i64 = 3_600_000;
/// How many answers are remembered, for lines that bring more of them. Measured: they are a few lines apart.
const ANSWERS_KEPT: usize = 32;
/// How many queued prompts are remembered, until they come again as prompts.
const QUEUED_KEPT: usize = 32;
/// How many turns are remembered that a rewind may go back to.
const TURNS_KEPT: usize = 200;
/// More changed files than this are not told apart.
const CHANGED_KEPT: usize = 1000;

/// The figures of one file.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Tally {
    /// Prompts by a human, those included that only stood in the queue.
    pub human: u64,
    /// Answers of the API, however many lines each takes.
    pub answers: u64,
    /// Calls of tools, without what a subagent was only seen to call.
    pub calls: u64,
    /// Pauses of more than an hour.
    pub pauses: u64,
    /// How long these pauses were together, in milliseconds.
    pub paused: i64,
    /// Answers by model.
    pub models: BTreeMap<String, u64>,
    /// Tokens: input, cache write, cache read, output; each answer once, as its last line has them.
    pub tokens: [u64; 4],
    /// Fingerprints of the files that were changed.
    pub changed: BTreeSet<u64>,
    /// Whether it ran in the background.
    pub background: bool,
    /// Fingerprint of a subagent's first prompt: the call that sent it has the same.
    pub sent_by: Option<u64>,
    /// Lines left behind by a rewind: the first, and the one after the last.
    pub abandoned: Vec<(u64, u64)>,
    recent: VecDeque<(u64, [u64; 4])>,
    queued: VecDeque<u64>,
    turns: VecDeque<(u64, u64)>,
    tip: u64,
}

impl Tally {
    /// Notes the time of a line; `last` is the latest before it.
    pub(super) fn time(&mut self, last: Option<i64>, time: i64) {
        if let Some(pause) = last.map(|last| time.saturating_sub(last)).filter(|pause| *pause > PAUSE) {
            self.pauses += 1;
            self.paused = self.paused.saturating_add(pause);
        }
    }

    /// Notes a line of an answer. Its tokens stand on each of its lines; those of the last one count.
    pub(super) fn answer(&mut self, message: Option<&str>, model: Option<&str>, usage: [u64; 4]) {
        let id = message.map_or(0, print);
        if let Some((_, before)) = self.recent.iter_mut().find(|(known, _)| *known == id && id != 0) {
            let before = std::mem::replace(before, usage);
            for (total, (new, old)) in self.tokens.iter_mut().zip(usage.into_iter().zip(before)) {
                *total = total.saturating_sub(old).saturating_add(new);
            }
            return;
        }
        self.answers += 1;
        self.tokens.iter_mut().zip(usage).for_each(|(total, new)| *total = total.saturating_add(new));
        if let Some(model) = model {
            *self.models.entry(model.to_string()).or_default() += 1;
        }
        keep(&mut self.recent, (id, usage), ANSWERS_KEPT);
    }

    /// Notes a prompt by a human; one that waited in the queue was counted there.
    pub(super) fn prompt(&mut self, text_hash: u64) {
        match self.queued.iter().position(|known| *known == text_hash) {
            Some(at) => drop(self.queued.remove(at)),
            None => self.human += 1,
        }
    }

    /// Notes a prompt by a human in the queue, which may stand there twice.
    pub(super) fn queued(&mut self, text_hash: u64) {
        if !self.queued.contains(&text_hash) {
            self.human += 1;
            keep(&mut self.queued, text_hash, QUEUED_KEPT);
        }
    }

    /// Notes that a file was changed.
    pub(super) fn changed(&mut self, path: &str) {
        if self.changed.len() < CHANGED_KEPT {
            self.changed.insert(print(path));
        }
    }

    /// Follows the conversation from line to line. A turn that follows the same line as an earlier turn takes its
    /// place: what stands between them was left behind.
    pub(super) fn follow(&mut self, line: u64, uuid: &str, parent: Option<&str>, is_turn: bool) {
        let parent = parent.map_or(0, print);
        if is_turn {
            let again =
                self.turns.iter().rposition(|(before, _)| *before == parent && parent != 0 && parent != self.tip);
            if let Some(at) = again {
                self.abandoned.push((self.turns[at].1, line));
                self.turns.truncate(at);
            }
            keep(&mut self.turns, (parent, line), TURNS_KEPT);
        }
        self.tip = print(uuid);
    }
}

fn keep<T>(queue: &mut VecDeque<T>, item: T, most: usize) {
    queue.push_back(item);
    if queue.len() > most {
        queue.pop_front();
    }
}

fn print(text: &str) -> u64 {
    xxh3_64(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_an_answer_count_once() {
        let mut tally = Tally::default();
        tally.answer(Some("m1"), Some("opus"), [10, 0, 5, 1]);
        tally.answer(Some("m2"), Some("opus"), [1, 0, 0, 1]);
        tally.answer(Some("m1"), Some("opus"), [10, 0, 5, 9]);
        tally.answer(None, None, [0; 4]);
        assert_eq!((tally.answers, tally.tokens), (3, [11, 0, 5, 10]));
        assert_eq!(tally.models, BTreeMap::from([("opus".to_string(), 2)]));
    }

    #[test]
    fn a_queued_prompt_counts_once() {
        let mut tally = Tally::default();
        tally.queued(7);
        tally.queued(7);
        tally.prompt(7);
        tally.prompt(8);
        tally.queued(9);
        assert_eq!(tally.human, 3);
    }

    #[test]
    fn a_rewind_leaves_lines_behind() {
        let mut tally = Tally::default();
        tally.follow(1, "a", None, true);
        tally.follow(2, "b", Some("a"), false);
        tally.follow(3, "c", Some("b"), true);
        tally.follow(4, "d", Some("c"), false);
        tally.follow(5, "e", Some("b"), true);
        tally.follow(6, "f", Some("e"), false);
        tally.follow(7, "g", Some("f"), true);
        assert_eq!(tally.abandoned, [(3, 5)]);
    }

    #[test]
    fn pauses_are_counted_from_the_latest_line() {
        let mut tally = Tally::default();
        for (last, time) in [(None, 0), (Some(0), PAUSE), (Some(PAUSE), 2 * PAUSE + 1), (Some(9 * PAUSE), 4 * PAUSE)] {
            tally.time(last, time);
        }
        assert_eq!((tally.pauses, tally.paused), (1, PAUSE + 1));
    }
}
