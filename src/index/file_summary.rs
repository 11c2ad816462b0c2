//! Summary of a file and its session, shown with each search result.
//!
//! It is derived from the checkpoint, but stored as a column of its own: decompressing checkpoints cost an eighth of
//! each search.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::index::file_key::{FileKey, kind_of, path_of};
use crate::redact::redact;
use crate::transcript::discover::SourceKind;

/// Longest text in a summary, in bytes. A column value must stay below 64 KB, and far less than this is shown.
const TEXT_CAP: usize = 1000;
/// Most types of skipped lines in a summary, and the longest name of one, in characters.
const MAX_TYPES: usize = 24;
const TYPE_CAP: usize = 40;

/// Summary of a file and its session.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct FileSummary {
    pub(super) path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) path_hex: Option<String>,
    pub(super) kind: u8,
    /// Time since which the file no longer exists, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone_since: Option<i64>,
    /// The best session title in the file, or else the last prompt, which Claude Code shows instead of a title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Fallback if no file gives the session a title: the first prompt, the first command, or the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_name: Option<String>,
    /// The task that a subagent was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The first folder named in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The last git branch named in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Earliest time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<i64>,
    /// Latest time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<i64>,
    /// Number of lines read.
    pub(super) lines: u64,
    /// Number of bytes read.
    #[serde(skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// Number of lines that were skipped or unknown, by type. Only the first few types of a file.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped_types: BTreeMap<String, u64>,
    /// Number of lines of an unknown type.
    #[serde(skip_serializing_if = "is_zero")]
    pub unknown: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl FileSummary {
    /// The path of the file, even if the file no longer exists.
    pub fn path(&self) -> PathBuf {
        path_of(&self.path, self.path_hex.as_deref())
    }

    /// The file's key.
    pub fn key(&self) -> FileKey {
        FileKey::of(&self.path())
    }

    /// The kind of content in the file.
    pub fn source_kind(&self) -> SourceKind {
        kind_of(self.kind)
    }

    /// Reports whether the file says nothing about its session: it is empty, its only line is incomplete, or it only
    /// has backups of files.
    pub fn is_silent(&self) -> bool {
        self.name.is_none() && self.fallback_name.is_none() && self.first.is_none() && self.project.is_none()
    }

    /// Sort key among the summaries of a session; the smallest one represents the session.
    ///
    /// The session's own transcript comes first, unless it says nothing. Of two, one that still exists comes first,
    /// then the one that continues longer. Without such a transcript, a file with a title comes before one with only a
    /// prompt, and that before one with neither; then the earliest comes first. The position in the index plays no
    /// part: it depends on the order in which files were read.
    pub fn rank(&self) -> impl Ord + use<> {
        let is_main = self.source_kind() == SourceKind::Session && !self.is_silent();
        let is_gone = is_main && self.gone_since.is_some();
        let end = if is_main { (self.last, self.lines) } else { Default::default() };
        let is_blank = |text: &Option<String>| text.as_deref().is_none_or(|text| text.trim().is_empty());
        let missing_names =
            u8::from(is_blank(&self.name)) + u8::from(is_blank(&self.name) && is_blank(&self.fallback_name));
        (!is_main, is_gone, Reverse(end), missing_names, self.first.unwrap_or(i64::MAX), self.path())
    }
}

/// Shortens a text for a summary. Redacts before truncating: half a secret no longer matches any rule.
pub fn brief(text: &str) -> String {
    cut(&redact(text))
}

/// Returns the counts by type for a summary: the first types, with short names in ASCII.
pub(super) fn first_types(counts: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_/. ".contains(c);
    let short = |kind: &str| kind.chars().take(TYPE_CAP).map(|c| if is_plain(c) { c } else { '?' }).collect();
    counts.iter().take(MAX_TYPES).map(|(kind, count)| (short(kind), *count)).collect()
}

/// Truncates a name for a summary.
pub(super) fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_CAP)].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_summary_is_too_large_for_a_column() {
        let worst = brief(&"\u{1}".repeat(10_000));
        let text = || Some(worst.clone());
        let summary = FileSummary {
            path: "\u{1}".repeat(4096),
            path_hex: Some("f".repeat(8192)),
            name: text(),
            fallback_name: text(),
            description: text(),
            project: text(),
            branch: text(),
            skipped_types: first_types(&(0..100).map(|number| (format!("{number}{worst}"), u64::MAX)).collect()),
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
