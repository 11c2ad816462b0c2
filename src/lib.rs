//! Full-text search over everything you and Claude Code ever said or did.
//!
//! This is the library; the command line is in `src/bin/unspool/`. A transcript's way through it is the order of
//! the modules below:
//!
//! | module | does |
//! |---|---|
//! | [`fault`] | faults on purpose, for the tests; nothing in a release |
//! | [`error`], [`untrusted`], [`redact`] | what can go wrong; text made safe, and rid of secrets, before it is shown |
//! | [`discover`] | roots → files to index; the only walk over directories |
//! | [`lines`] | file + offset → lines; the only code that opens transcripts |
//! | [`event`] | line → event; the only code that knows Claude Code's JSON keys |
//! | [`settings`] | Claude Code's settings and hooks; the only code that knows the keys of `settings.json` |
//! | [`document`] | events of a file → documents: what is searchable, under which role, kind, tool, path, time |
//! | [`analysis`], [`query`] | text → terms; what the user typed → what is looked for |
//! | [`index`] | documents and checkpoints in tantivy, and finding them; the only folder that names tantivy |
//! | [`update`] | **the pipeline**: discover → plan → lines → event → document → index |
//! | [`snippet`], [`search`], [`stats`], [`upkeep`] | answers: hits in their sessions; figures; status, verify, prune, forget |
//! | [`retention`] | what Claude Code is about to delete, and whether the index has it |
//! | [`history`] | who created, changed, read a file; its contents at any time; who wrote which line |
//! | [`conversation`], [`sessions`] | a transcript as the conversation that happened; all sessions at a glance |
//! | [`render`] | answers as text and as JSON |
//!
//! A module names only modules above it; `tests/it/layers.rs` holds us to it.
//!
//! # What always holds
//!
//! - The library never prints, never reads the environment or the home folder, never asks what time it is.
//! - No transcript is ever written, renamed or removed.
//! - A line that cannot be read never stops a file; it becomes a document that says so.
//! - A folder that cannot be listed never makes anything look deleted.
//! - What was read and the record of it are one commit: they cannot disagree, whenever the power goes.
//! - Readers never open a writer, and work on a folder they may only read. Damage they meet they mark, so that the next
//!   writer checks the index before it adds to it.
//! - An index can be rebuilt at any time. As it also holds sessions whose transcript Claude Code has deleted, a
//!   rebuild happens beside it and takes those over.
//! - Each stored document is complete by itself, so that it can be salvaged from the document store alone.
//! - Documents are never deleted by uuid: removing one file cannot remove a message that another still holds.
//!   The same uuid in several files is one hit when searching.
//!
//! # Where this differs from the first sketch
//!
//! `event`, `document` and `update` are folders, as each turned out to hold two or three ideas (the shape of the
//! JSON and the ladder of repairs; words and the fold; the plan, one file, taking over). `analysis` stands apart from
//! `index`, so that indexing, queries and highlights share one pure function. `upkeep` answers questions about the
//! index itself.

pub mod fault;
pub mod error;
pub mod untrusted;
pub mod dates;
pub mod redact;
pub mod discover;
pub mod lines;
mod json;
pub mod event;
pub mod settings;
pub mod document;
pub mod analysis;
pub mod query;
pub mod index;
pub mod update;
pub mod conversation;
pub mod snippet;
pub mod search;
pub mod history;
pub mod stats;
pub mod sessions;
pub mod upkeep;
pub mod retention;
pub mod render;
