//! Writes answers for people and for programs, to whatever `Write` it is given; never to stdout by itself.

pub mod history;
pub mod hits;
pub mod json;
pub mod text;
