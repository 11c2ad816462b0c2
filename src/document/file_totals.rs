//! Per-file totals, counted while the file is read: prompts, answers, tokens, pauses, changed files, and the lines
//! abandoned by a rewind.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// A gap between lines longer than this, in milliseconds, counts as a pause: the user left and came back.
pub const PAUSE: i64 = 3_600_000;
/// The number of recent answers remembered, because one answer can span several lines. Measured: those lines are a
/// few lines apart.
const ANSWERS_KEPT: usize = 32;
/// The number of queued prompts remembered until they appear again as prompts.
const QUEUED_KEPT: usize = 32;
/// The number of turns remembered as possible targets of a rewind.
pub(super) const TURNS_KEPT: usize = 200;
/// The maximum number of changed files counted; any further ones are ignored.
const CHANGED_KEPT: usize = 1000;

/// The totals of one file.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Totals {
    /// Prompts by a human, including those that were only ever queued.
    pub human: u64,
    /// Answers of the API. Each counts once, regardless of how many lines it takes.
    pub answers: u64,
    /// Tool calls, without a subagent's calls that only appear in its parent's file.
    pub calls: u64,
    /// The number of pauses longer than [`PAUSE`].
    pub pauses: u64,
    /// The total length of these pauses, in milliseconds.
    pub paused: i64,
    /// Answers by model.
    pub models: BTreeMap<String, u64>,
    /// Tokens: input, cache write, cache read, output. Each answer counts once, with the numbers of its last line.
    pub tokens: [u64; 4],
    /// Hashes of the paths of the files that were changed.
    pub changed: BTreeSet<u64>,
    /// Set if the session ran in the background.
    pub background: bool,
    /// Text hash of a subagent's first prompt. The tool call that started the subagent has the same hash.
    pub sent_by: Option<u64>,
    /// Ranges of lines abandoned by a rewind: the first line, and the one after the last.
    pub abandoned: Vec<(u64, u64)>,
    /// The last answers: hash of the message id, and the tokens counted for it.
    recent: VecDeque<(u64, [u64; 4])>,
    /// Text hashes of queued prompts that have not appeared as prompts yet.
    queued: VecDeque<u64>,
    /// The last turns: hash of the parent's id, and the line.
    pub(super) turns: VecDeque<(u64, u64)>,
    /// Hash of the id of the last line.
    pub(super) tip: u64,
}

impl Totals {
    /// Records the time of a line. `last` is the latest time before it.
    pub(super) fn time(&mut self, last: Option<i64>, time: i64) {
        if let Some(pause) = last.map(|last| time.saturating_sub(last)).filter(|pause| *pause > PAUSE) {
            self.pauses += 1;
            self.paused = self.paused.saturating_add(pause);
        }
    }

    /// Records one line of an answer. Every line of an answer repeats the token counts, and while it is streamed they may
    /// disagree. Those of the line with the most output count, as a whole.
    pub(super) fn answer(&mut self, message: Option<&str>, model: Option<&str>, usage: [u64; 4]) {
        let id = message.map_or(0, hash_of);
        if let Some((_, counted)) = self.recent.iter_mut().find(|(known, _)| *known == id && id != 0) {
            let ([.., output], [.., known]) = (usage, *counted);
            if output < known {
                return;
            }
            let previous = std::mem::replace(counted, usage);
            for (total, (new, old)) in self.tokens.iter_mut().zip(usage.into_iter().zip(previous)) {
                *total = total.saturating_sub(old).saturating_add(new);
            }
            return;
        }
        self.answers += 1;
        self.tokens.iter_mut().zip(usage).for_each(|(total, new)| *total = total.saturating_add(new));
        if let Some(model) = model {
            *self.models.entry(model.to_string()).or_default() += 1;
        }
        push_bounded(&mut self.recent, (id, usage), ANSWERS_KEPT);
    }

    /// Records a prompt by a human. One that was queued first has already been counted.
    pub(super) fn prompt(&mut self, text_hash: u64) {
        match self.queued.iter().position(|known| *known == text_hash) {
            Some(at) => drop(self.queued.remove(at)),
            None => self.human += 1,
        }
    }

    /// Records a queued prompt by a human. The queue may list the same prompt twice.
    pub(super) fn queued(&mut self, text_hash: u64) {
        if !self.queued.contains(&text_hash) {
            self.human += 1;
            push_bounded(&mut self.queued, text_hash, QUEUED_KEPT);
        }
    }

    /// Records that a file was changed.
    pub(super) fn changed(&mut self, path: &str) {
        if self.changed.len() < CHANGED_KEPT {
            self.changed.insert(hash_of(path));
        }
    }
}

/// Appends an item to a queue of at most `limit` items, dropping the oldest.
pub(super) fn push_bounded<T>(queue: &mut VecDeque<T>, item: T, limit: usize) {
    queue.push_back(item);
    if queue.len() > limit {
        queue.pop_front();
    }
}

pub(super) fn hash_of(text: &str) -> u64 {
    xxh3_64(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_an_answer_count_once() {
        let mut totals = Totals::default();
        totals.answer(Some("m1"), Some("opus"), [10, 0, 5, 1]);
        totals.answer(Some("m2"), Some("opus"), [1, 0, 0, 1]);
        totals.answer(Some("m1"), Some("opus"), [10, 0, 5, 9]);
        totals.answer(None, None, [0; 4]);
        assert_eq!((totals.answers, totals.tokens), (3, [11, 0, 5, 10]));
        assert_eq!(totals.models, BTreeMap::from([("opus".to_string(), 2)]));
    }

    #[test]
    fn a_queued_prompt_counts_once() {
        let mut totals = Totals::default();
        totals.queued(7);
        totals.queued(7);
        totals.prompt(7);
        totals.prompt(8);
        totals.queued(9);
        assert_eq!(totals.human, 3);
    }

    #[test]
    fn pauses_are_counted_from_the_latest_line() {
        let mut totals = Totals::default();
        for (last, time) in [(None, 0), (Some(0), PAUSE), (Some(PAUSE), 2 * PAUSE + 1), (Some(9 * PAUSE), 4 * PAUSE)] {
            totals.time(last, time);
        }
        assert_eq!((totals.pauses, totals.paused), (1, PAUSE + 1));
    }
}
