//! A seeded generator of Claude Code session files that resemble measured ones; nothing in them is real.
//!
//! `generate.rs` is the program around it; tests may include this module by its path and use `plan`,
//! `grow` or single parts.

// A test that includes this module uses only some of it.
#![allow(dead_code)]

pub mod agents;
pub mod around;
pub mod cjk;
pub mod code;
pub mod copies;
pub mod eras;
pub mod facts;
pub mod family;
pub mod grow;
pub mod ink;
pub mod json;
pub mod log;
pub mod lookups;
pub mod names;
pub mod output;
pub mod phrases;
pub mod plan;
pub mod rng;
pub mod running;
pub mod session;
pub mod sink;
pub mod templates;
pub mod tools;
pub mod topics;
pub mod words;
