//! Answers to questions about what is in the index.

pub mod conversation;
pub mod search;
pub mod history;
pub mod stats;
pub mod sessions;
pub mod upkeep;
pub mod retention;
