//! draft
pub mod error;
pub mod untrusted;
pub mod discover;
pub mod lines;
mod json;
pub mod event;
pub mod document;
pub mod analysis;
pub mod query;
pub mod index;
pub mod update;
pub mod snippet;
pub mod search;
pub mod upkeep;
pub mod render;
