//! What is stored of each document, and by which ids it is found.

pub(in crate::index) mod ids;
pub(in crate::index) mod sealed;
