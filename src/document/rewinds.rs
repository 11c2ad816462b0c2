//! Finds the lines that a rewind abandoned: a turn whose parent an earlier turn has replaces that turn.

use crate::document::file_totals::{TURNS_KEPT, Totals, hash_of, push_bounded};

impl Totals {
    /// Follows the conversation from line to line. A turn with the same parent as an earlier turn replaces it; the
    /// lines between them were abandoned.
    pub(super) fn follow(&mut self, line: u64, uuid: &str, parent: Option<&str>, is_turn: bool) {
        let parent = parent.map_or(0, hash_of);
        if is_turn {
            let replaced =
                self.turns.iter().rposition(|(before, _)| *before == parent && parent != 0 && parent != self.tip);
            if let Some(at) = replaced {
                self.abandoned.push((self.turns[at].1, line));
                self.turns.truncate(at);
            }
            push_bounded(&mut self.turns, (parent, line), TURNS_KEPT);
        }
        self.tip = hash_of(uuid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rewind_abandons_lines() {
        let mut totals = Totals::default();
        totals.follow(1, "a", None, true);
        totals.follow(2, "b", Some("a"), false);
        totals.follow(3, "c", Some("b"), true);
        totals.follow(4, "d", Some("c"), false);
        totals.follow(5, "e", Some("b"), true);
        totals.follow(6, "f", Some("e"), false);
        totals.follow(7, "g", Some("f"), true);
        assert_eq!(totals.abandoned, [(3, 5)]);
    }
}
