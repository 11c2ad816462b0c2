//! What an answer says of a file and its session at a glance. It is in a column, beside the checkpoint it is made from:
//! to unpack checkpoints for it took an eighth of the time of a search.

use std::cmp::Reverse;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::index::file_key::{FileKey, kind_of, path_of};
use crate::redact::redact;
use crate::transcript::discover::SourceKind;

/// Longer texts are cut here, in bytes: a value of a column must stay below 64 KB, and of this much less is shown.
const TEXT_CAP: usize = 1000;

/// A file and its session at a glance.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct FileSummary {
    pub(super) path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) path_hex: Option<String>,
    pub(super) kind: u8,
    /// Since when the file is no longer there, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone_since: Option<i64>,
    /// The best name it has for its session, or the last prompt, which Claude Code shows in place of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What may stand in place of a name that no file gives: the first prompt, the first command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stand_in: Option<String>,
    /// What a subagent was sent to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The first folder named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The last git branch named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Earliest time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<i64>,
    /// Latest time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<i64>,
    /// How many lines were read.
    pub(super) lines: u64,
}

impl FileSummary {
    /// Where the file is, or was.
    pub fn path(&self) -> PathBuf {
        path_of(&self.path, self.path_hex.as_deref())
    }

    /// The file's key.
    pub fn key(&self) -> FileKey {
        FileKey::of(&self.path())
    }

    /// What the file holds.
    pub fn source_kind(&self) -> SourceKind {
        kind_of(self.kind)
    }

    /// Whether it says nothing of its session: it is empty, its only line is half written, or it only has backups of files.
    pub fn is_silent(&self) -> bool {
        self.name.is_none() && self.stand_in.is_none() && self.first.is_none() && self.project.is_none()
    }

    /// How far back it stands among the cards of a session: the first speaks for it. Its own transcript does, if there is
    /// anything in it; of two, one that is there before one that is gone, then the one that goes on longer. Where there is
    /// none, a file with a name before one with a prompt, and that before one with neither, then the earliest. Where they
    /// are in the index has no say: that depends on the order in which they were read.
    pub fn rank(&self) -> impl Ord + use<> {
        let is_main = self.source_kind() == SourceKind::Session && !self.is_silent();
        let is_gone = is_main && self.gone_since.is_some();
        let end = if is_main { (self.last, self.lines) } else { Default::default() };
        let is_blank = |text: &Option<String>| text.as_deref().is_none_or(|text| text.trim().is_empty());
        let namelessness = u8::from(is_blank(&self.name)) + u8::from(is_blank(&self.name) && is_blank(&self.stand_in));
        (!is_main, is_gone, Reverse(end), namelessness, self.first.unwrap_or(i64::MAX), self.path())
    }
}

/// A text as a card has it. Secrets are masked before it is cut: half a secret looks like none.
pub(super) fn brief(text: &str) -> String {
    cut(&redact(text))
}

/// A name as a card has it.
pub(super) fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_CAP)].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_card_is_too_large_for_a_column() {
        let worst = brief(&"\u{1}".repeat(10_000));
        let text = || Some(worst.clone());
        let summary = FileSummary {
            path: "\u{1}".repeat(4096),
            path_hex: Some("f".repeat(8192)),
            name: text(),
            stand_in: text(),
            description: text(),
            project: text(),
            branch: text(),
            ..FileSummary::default()
        };
        assert!(serde_json::to_string(&summary).expect("JSON").len() < 65_500);
    }

    #[test]
    fn secrets_are_masked_before_texts_are_cut() {
        let token = format!("ghp_{}", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0fG2hJ4");
        let text = format!("{}{token}", "word ".repeat(198));
        let brief = brief(&text);
        assert!(brief.len() <= TEXT_CAP && !brief.contains("ghp_"), "{brief}");
    }
}
