//! Decides which messages of a conversation are read and which are folded, before any text is read.

use std::collections::HashSet;

use crate::archive::conversation::piece::Piece;
use crate::document::{Kind, Role};
use crate::index::Step;

/// The parts of a conversation to show.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scope {
    /// Include text that Claude Code itself inserted.
    pub(super) meta: bool,
    /// Include messages abandoned by a rewind.
    pub(super) abandoned: bool,
    /// Include messages of subagents.
    pub(super) inner: bool,
    /// Begin this many messages before the place asked for; 0 for the beginning of the conversation.
    pub(super) before: usize,
    /// End this many messages after it; 0 for the end of the conversation.
    pub(super) after: usize,
    /// Begin with this line.
    pub(super) from: Option<u64>,
    /// Show secrets.
    pub(super) reveal: bool,
}

/// A message to read, or a placeholder for folded messages.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one at a time, and most are the large one")]
pub(super) enum Planned {
    Read(Step),
    Fold(Piece),
}

/// Decides which messages of a conversation are shown.
pub(super) struct Plan {
    pub(super) scope: Scope,
    /// Hashes of the prompts that were sent. A queued prompt with the same text is not shown again.
    pub(super) said: HashSet<u64>,
    /// Ranges of lines that were abandoned by a rewind.
    pub(super) abandoned: Vec<(u64, u64)>,
    pub(super) steps: Vec<Planned>,
}

impl Plan {
    /// Adds messages, and folds abandoned ones and those of subagents.
    pub(super) fn take(&mut self, steps: &[Step]) {
        let mut open: Option<u64> = None;
        for step in steps.iter().filter(|step| self.is_shown(step)).copied().collect::<Vec<_>>() {
            let abandoned =
                self.abandoned.iter().find(|(from, to)| (*from..*to).contains(&step.line)).map(|(from, _)| *from);
            match abandoned.filter(|_| !self.scope.abandoned) {
                Some(from) if open == Some(from) => self.count_folded(&step),
                Some(from) => {
                    open = Some(from);
                    self.steps.push(Planned::Fold(Piece::Abandoned { messages: 0, from }));
                    self.count_folded(&step);
                }
                None if step.role == Role::Subagent && !self.scope.inner => self.fold_inner(),
                None => self.steps.push(Planned::Read(step)),
            }
        }
    }

    fn is_shown(&self, step: &Step) -> bool {
        match step.kind {
            Kind::Title | Kind::Snapshot => false,
            Kind::Queued => !self.said.contains(&step.text_hash),
            Kind::Attachment | Kind::Unknown => self.scope.meta,
            _ => true,
        }
    }

    /// Counts a message in the fold of abandoned messages that is open.
    fn count_folded(&mut self, step: &Step) {
        if let Some(Planned::Fold(Piece::Abandoned { messages, .. })) = self.steps.last_mut() {
            *messages += usize::from(is_message(step));
        }
    }

    /// Counts a message of a subagent in a fold, which may be new.
    fn fold_inner(&mut self) {
        match self.steps.last_mut() {
            Some(Planned::Fold(Piece::FoldedSubagent { messages })) => *messages += 1,
            _ => self.steps.push(Planned::Fold(Piece::FoldedSubagent { messages: 1 })),
        }
    }

    /// Folds messages that are too far from the line asked for.
    pub(super) fn cut(&mut self, around: Option<u64>) {
        let Some(line) = around else { return };
        let is_near = |planned: &Planned| matches!(planned, Planned::Read(step) if step.line >= line);
        let at = self.steps.iter().position(is_near).unwrap_or(self.steps.len());
        if self.scope.after > 0 {
            let end = self.nth_message(at..self.steps.len(), self.scope.after + 1);
            let messages = self.messages(end..self.steps.len());
            self.steps.truncate(end);
            if messages > 0 {
                self.steps.push(Planned::Fold(Piece::Later { messages }));
            }
        }
        if self.scope.before > 0 {
            let before: Vec<usize> =
                (0..at).rev().filter(|at| self.is_message_at(*at)).take(self.scope.before).collect();
            let begin = before.last().copied().unwrap_or(at);
            let messages = self.messages(0..begin);
            if messages > 0 {
                self.steps.splice(..begin, [Planned::Fold(Piece::Earlier { messages })]);
            }
        }
    }

    /// Leaves out what is before a line, except for a number of documents directly before it, and counts the messages.
    pub(super) fn skip_to(&mut self, line: u64, kept: usize) {
        let is_near = |planned: &Planned| matches!(planned, Planned::Read(step) if step.line >= line);
        let at = self.steps.iter().position(is_near).unwrap_or(self.steps.len());
        let messages = self.messages(0..at);
        self.steps.drain(..at.saturating_sub(kept));
        if messages > 0 {
            self.steps.insert(0, Planned::Fold(Piece::Earlier { messages }));
        }
    }

    /// Returns the lines of all messages, in order.
    pub(super) fn lines(&self) -> Vec<u64> {
        let line = |planned: &Planned| match planned {
            Planned::Read(step) if is_message(step) => Some(step.line),
            _ => None,
        };
        let mut lines: Vec<u64> = self.steps.iter().filter_map(line).collect();
        lines.dedup();
        lines
    }

    /// Returns the index of the nth message in a range, counted from 0, or the end of the range.
    fn nth_message(&self, range: std::ops::Range<usize>, number: usize) -> usize {
        let end = range.end;
        range.filter(|at| self.is_message_at(*at)).nth(number).unwrap_or(end)
    }

    /// Returns the number of messages in a range.
    fn messages(&self, range: std::ops::Range<usize>) -> usize {
        range.filter(|at| self.is_message_at(*at)).count()
    }

    fn is_message_at(&self, at: usize) -> bool {
        matches!(self.steps.get(at), Some(Planned::Read(step)) if is_message(step))
    }
}

/// Reports whether a step counts as a message. Results and reasoning do not.
fn is_message(step: &Step) -> bool {
    matches!(step.kind, Kind::Prompt | Kind::Queued | Kind::Command | Kind::Text | Kind::ToolUse | Kind::History)
}
