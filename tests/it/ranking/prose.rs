//! Questions in people's own words, written by hand: paraphrases share hardly a word with the message they mean, topics
//! share some, and near quotes (one word dropped, swapped or replaced) guard the first ranking.
//!
//! Each line: corpus, class, query, ids of the sessions, ids of the messages.

use super::Wanted;

/// Questions about the seeded corpus and the fixtures.
const OWN: &str = include_str!("prose.tsv");
/// Questions about a sample of real sessions, which is not part of the repository.
const REAL: &str = include_str!("prose_real.tsv");

/// Returns the questions about a corpus.
pub(super) fn about(corpus: &str) -> Vec<Wanted> {
    let lines = OWN.lines().chain(REAL.lines()).map(|line| line.split('\t').collect::<Vec<_>>());
    lines.filter(|fields| fields[0] == corpus).map(|fields| wanted(&fields)).collect()
}

fn wanted(fields: &[&'static str]) -> Wanted {
    let [_, class, query, sessions, messages] = fields else { panic!("five fields: {fields:?}") };
    let ids = |ids: &str| ids.split(',').filter(|id| !id.is_empty()).map(str::to_string).collect();
    Wanted { class, query: (*query).to_string(), sessions: ids(sessions), messages: ids(messages) }
}
