//! Stored documents: their bytes, the ids that find them, and the blocks of a damaged store file.

pub(in crate::index) mod ids;
pub(in crate::index) mod stored_document;
pub(in crate::index) mod blocks;
