//! Subagents whose messages are in the file of their session. Claude Code 1 wrote no files for them, and gave them no id.
//!
//! The chain of parents identifies each of them, because several may run at the same time.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::document::file_totals::Totals;

/// The number of recent lines that are remembered, to find the subagent of the next one.
const LINES_KEPT: usize = 64;
/// The maximum number of subagents of one file. The last one also counts the messages of any further ones.
const AGENTS_KEPT: usize = 1000;

/// A subagent whose messages are in the file of its session.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct InlineAgent {
    /// The id of its first message.
    pub first_message: String,
    /// The beginning of its first prompt.
    pub title: String,
    /// The time of its first message.
    pub first: Option<i64>,
    /// The time of its last message.
    pub last: Option<i64>,
    /// Its totals.
    pub totals: Totals,
}

/// All subagents whose messages are in one file.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct InlineAgents {
    /// The subagents, in the order of their first messages.
    pub agents: Vec<InlineAgent>,
    /// Recent lines: the hash of the id, and the subagent.
    lines: VecDeque<(u64, usize)>,
}

impl InlineAgents {
    /// Reports whether there are none.
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }

    /// Finds the subagent of a line, or adds one if the line does not continue any. Returns its place in `agents`.
    pub(super) fn follow(&mut self, uuid: &str, parent: Option<&str>, time: Option<i64>) -> usize {
        let parent = parent.map(hash_of);
        let known = self.lines.iter().rev().find(|(line, _)| Some(*line) == parent).map(|(_, agent)| *agent);
        let place = known.unwrap_or_else(|| self.begin(uuid));
        let agent = &mut self.agents[place];
        agent.first = agent.first.into_iter().chain(time).min();
        agent.last = agent.last.into_iter().chain(time).max();
        self.lines.push_back((hash_of(uuid), place));
        if self.lines.len() > LINES_KEPT {
            self.lines.pop_front();
        }
        place
    }

    fn begin(&mut self, uuid: &str) -> usize {
        if self.agents.len() < AGENTS_KEPT {
            self.agents.push(InlineAgent { first_message: uuid.to_string(), ..InlineAgent::default() });
        }
        self.agents.len() - 1
    }
}

fn hash_of(id: &str) -> u64 {
    xxh3_64(id.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_tell_parallel_subagents_apart() {
        let mut inline = InlineAgents::default();
        let lines =
            [("a1", None, 0), ("b1", None, 1), ("a2", Some("a1"), 0), ("b2", Some("b1"), 1), ("a3", Some("a2"), 0)];
        for (time, (uuid, parent, expected)) in (0..).zip(lines) {
            assert_eq!(inline.follow(uuid, parent, Some(time)), expected, "{uuid}");
        }
        let shown = |agent: &InlineAgent| (agent.first_message.clone(), agent.first, agent.last);
        let expected = [("a1".to_string(), Some(0), Some(4)), ("b1".to_string(), Some(1), Some(3))];
        assert_eq!(inline.agents.iter().map(shown).collect::<Vec<_>>(), expected);
    }
}
