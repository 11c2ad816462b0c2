//! Renders answers as text for a terminal.

pub mod style;
pub mod sessions;
pub mod hits;
pub mod conversation;
pub mod patch;
pub mod history;
pub mod blame;
pub mod stats;
