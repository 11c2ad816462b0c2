//! Notes: what an answer has to explain, with one wording for all front ends.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::untrusted::one_line;
use crate::update::Lag;

/// A remark about an answer, shown next to it.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum Note {
    /// A name in a filter matches nothing in the index.
    UnknownName {
        /// The field: `project`, `tool`.
        field: String,
        /// The name as typed.
        name: String,
        /// Known names that are similar.
        nearest: Vec<String>,
    },
    /// A word occurs nowhere, so another one was searched for.
    Corrected {
        /// The word as typed.
        word: String,
        /// The word that was searched for.
        meant: String,
    },
    /// No word of the query occurs anywhere, or a name in it does not. Hits for similar words or for the others would
    /// not be hits for the query.
    UnknownWord {
        /// A word of the query.
        word: String,
        /// Similar words that do occur, the most likely first.
        similar: Vec<String>,
    },
    /// The names in the query occur, but not in the best hits for it, which are therefore not shown.
    AbsentNames {
        /// The names.
        names: Vec<String>,
    },
    /// The best hits lack most of the significant words, so they may be about something else.
    HardlyAMatch {
        /// The number of significant words that they contain.
        found: usize,
        /// The number of significant words in the query.
        of: usize,
    },
    /// No message contains all words of the query.
    SomeWords {
        /// The words that the best hit does not contain.
        missing: Vec<String>,
    },
    /// Nothing matched the query as typed, so its operators were treated as plain words.
    AsPlainWords,
    /// Nothing contains the identifier as typed, only parts of it.
    PartsOnly {
        /// The query.
        query: String,
    },
    /// The query is a long text. Only its most significant words were searched for.
    LongText {
        /// The number of these words.
        words: usize,
    },
    /// Only text that Claude Code itself added was found.
    OnlyMeta,
    /// There were too many messages to check, so there may be more hits.
    Incomplete,
    /// Nothing was found.
    Nothing {
        /// The query.
        query: String,
    },
    /// No file matches a filter that was treated as a glob.
    ReadAsPattern {
        /// The glob.
        pattern: String,
    },
    /// No message of the session matches a query.
    NothingInSession {
        /// The query.
        query: String,
    },
    /// No recorded session did something with a file.
    NothingAboutFile {
        /// The file as typed.
        path: String,
        /// The verb: `changed`, `mentioned`, `touched`.
        verb: String,
    },
    /// The contents of a file at that time are not recorded.
    NothingRecorded {
        /// The file as typed.
        path: String,
    },
    /// No session matches the filters, or there are no sessions at all.
    NoSessions {
        /// True if there were filters.
        filtered: bool,
    },
    /// The filters select parts of messages, so tokens are not counted.
    WithoutTokens,
    /// No message matches, so there is nothing to count.
    NothingToCount,
    /// The session continues in another one.
    ContinuedIn {
        /// The id of the other session.
        session: String,
    },
    /// The index is not up to date.
    Behind(Lag),
    /// The search for new messages timed out.
    NotChecked,
    /// There is no index yet. It is being built in the background.
    BuildingIndex,
    /// A folder with transcripts does not exist.
    MissingRoot {
        /// The folder.
        path: String,
        /// True if there is an index to answer from.
        has_index: bool,
    },
    /// The index is empty.
    EmptyIndex,
    /// There is no index yet. All sessions are read now.
    FirstIndex,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownName { field, name, nearest } => {
                write!(f, "no {field} matches {name:?}")?;
                if nearest.is_empty() { Ok(()) } else { write!(f, "; similar: {}", nearest.join(", ")) }
            }
            Self::Corrected { word, meant } => write!(f, "no match for {word}; searching for {meant} instead"),
            Self::UnknownWord { word, similar } => {
                write!(f, "nothing contains {word}")?;
                if similar.is_empty() { Ok(()) } else { write!(f, "; similar words: {}", similar.join(", ")) }
            }
            Self::AbsentNames { names } => write!(f, "the best matches do not contain {}", names.join(", ")),
            Self::HardlyAMatch { found, of } => {
                write!(
                    f,
                    "hardly a match: the best hit contains {found} of {of} words, and may be about something else"
                )
            }
            Self::SomeWords { missing } => {
                write!(f, "no message contains all of these words; missing: {}", missing.join(", "))
            }
            Self::AsPlainWords => write!(f, "no exact match; searching for the words instead"),
            Self::PartsOnly { query } => write!(f, "nothing contains {query} as typed; showing partial matches"),
            Self::LongText { words } => write!(f, "long query; searching for its {words} most significant words"),
            Self::OnlyMeta => write!(f, "found only in text that Claude Code added (hooks, reminders, skills)"),
            Self::Incomplete => {
                write!(f, "too many messages to check; there may be more hits (add a word or a filter)")
            }
            Self::Nothing { query } if query.is_empty() => write!(f, "nothing found"),
            Self::Nothing { query } => write!(f, "nothing found for {query}"),
            Self::ReadAsPattern { pattern } => write!(f, "{pattern} was treated as a glob"),
            Self::NothingInSession { query } => write!(f, "nothing in this session matches {query}"),
            Self::NothingAboutFile { path, verb } => write!(f, "no recorded session {verb} {path}"),
            Self::NothingRecorded { path } => write!(f, "the contents of {path} at that time are not recorded"),
            Self::NoSessions { filtered: true } => write!(f, "no session matches"),
            Self::NoSessions { filtered: false } => write!(f, "there are no sessions"),
            Self::WithoutTokens => write!(f, "this filter selects parts of messages, so tokens are not counted"),
            Self::NothingToCount => write!(f, "nothing to count: no message matches"),
            Self::ContinuedIn { session } => {
                write!(f, "this session continues in {}; you may want to resume that one", one_line(session))
            }
            Self::Behind(lag) => {
                write!(f, "the index is {lag}; results may be incomplete (`unspool index` brings it up to date)")
            }
            Self::NotChecked => {
                write!(f, "timed out looking for new messages; results may be incomplete")
            }
            Self::BuildingIndex => write!(f, "there is no index yet; it is being built now, so try again in a minute"),
            Self::MissingRoot { path, has_index: true } => {
                write!(f, "folder {path} does not exist; using the existing index")
            }
            Self::MissingRoot { path, has_index: false } => write!(f, "folder {path} does not exist"),
            Self::EmptyIndex => write!(f, "the index is empty; `unspool index` reads all sessions"),
            Self::FirstIndex => write!(f, "there is no index yet; reading all sessions once"),
        }
    }
}
