//! Finds, reads and parses Claude Code's files. The only code that knows their locations and JSON keys.
//!
//! [`discover`] finds the files, [`lines`] reads them line by line, and each line is parsed into an [`Event`].

pub mod layout;
pub mod discover;
pub mod lines;
pub(crate) mod json;
mod ignored_keys;
mod lenient;
mod event;
mod block;
mod known_keys;
mod file_record;
mod repair;
mod parse;
mod tool_call;
mod tool_names;
pub mod settings;

pub use event::{AgentDescription, Block, Body, Event, TitleBy, Trace, Usage};
pub use file_record::{
    Hunk, Record, SavedCopy, numbered_lines, read_changed_lines, read_record, read_saved_copies, text_fingerprint,
};
pub use parse::{read_agent_meta, read_history_line, read_line};
pub use repair::{ParsedRecord, whole_records};
pub use tool_call::{Call, Edit, read_call};
pub use tool_names::{Action, action};
