//! The files of an index: written safely, locked, cleaned up after a crash, marked when damaged.

pub(in crate::index) mod fs;
pub(in crate::index) mod lock;
pub(in crate::index) mod directory;
pub(in crate::index) mod damage_flag;
pub(in crate::index) mod cleanup;
