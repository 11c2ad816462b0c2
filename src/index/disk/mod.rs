//! The files of an index on disk: safe writes, locks, cleanup after a crash, and the damage flag.

pub(in crate::index) mod fs;
pub(in crate::index) mod lock;
pub(in crate::index) mod directory;
pub(in crate::index) mod damage_flag;
pub(in crate::index) mod cleanup;
