//! A seeded generator of Claude Code session files that resemble measured ones. Nothing in them is real.
//!
//! `generate.rs` is the program. Tests can include this module by its path and use `plan`, `grow` or single parts.

// A test that includes this module uses only some of it.
#![allow(dead_code)]

pub(crate) mod agents;
pub(crate) mod around;
pub(crate) mod cjk;
pub(crate) mod code;
pub(crate) mod copies;
pub(crate) mod eras;
pub(crate) mod facts;
pub(crate) mod family;
pub(crate) mod grow;
pub(crate) mod ink;
pub(crate) mod json;
pub(crate) mod log;
pub(crate) mod lookups;
pub(crate) mod names;
pub(crate) mod output;
pub(crate) mod phrases;
pub(crate) mod plan;
pub(crate) mod rng;
pub(crate) mod running;
pub(crate) mod session;
pub(crate) mod sink;
pub(crate) mod templates;
pub(crate) mod tools;
pub(crate) mod topics;
pub(crate) mod words;
