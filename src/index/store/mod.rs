//! Stored documents: their bytes, and the ids that find them.

pub(in crate::index) mod ids;
pub(in crate::index) mod sealed;
