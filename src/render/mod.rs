//! Renders answers as terminal text, compact text for agents, Markdown, HTML, JSON and CSV.

mod line_diff;
mod markdown;
mod message;
pub mod json;
pub mod charts;
pub mod stats_json;
pub mod terminal;
pub mod stats_html;
pub mod export;
pub mod agent;
pub mod blocks;

pub use message::Homes;
