//! Writes answers for people and for programs, to whatever `Write` it is given; never to stdout by itself.

pub mod blame;
pub mod history;
pub mod charts;
pub mod figures;
pub mod hits;
pub mod conversation;
mod diff;
pub mod export;
mod html;
pub mod json;
pub mod page;
pub mod stats;
mod markdown;
mod piece;
pub mod sessions;
pub mod text;

pub use piece::Veil;
