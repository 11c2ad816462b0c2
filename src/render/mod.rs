//! Renders answers as terminal text, Markdown, HTML, JSON and CSV.

mod diff;
mod markdown;
mod message;
pub mod json;
pub mod charts;
pub mod stats_json;
pub mod terminal;
pub mod stats_html;
pub mod export;
pub mod blocks;

pub use message::Homes;
