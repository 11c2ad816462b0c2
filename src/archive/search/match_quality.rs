//! The quality of a match: how much of a query the best hits contain.

use schemars::JsonSchema;
use serde::Serialize;

use crate::archive::search::Found;

/// The part of a query that the best hits contain.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// Nothing was found.
    #[default]
    None,
    /// No message contains all words.
    Some,
    /// A message contains all words, after some of them were corrected.
    Corrected,
    /// A message contains all words.
    All,
}

impl Found {
    /// Returns how much of the query the best hits contain.
    pub(super) fn match_quality(&self) -> Match {
        match self {
            _ if self.total_hits == 0 => Match::None,
            _ if !self.missing.is_empty() => Match::Some,
            _ if !self.corrections.is_empty() => Match::Corrected,
            _ => Match::All,
        }
    }
}
