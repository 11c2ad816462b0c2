//! Renders answers as compact text for agents: MCP tools and `--format agent`. Pure: an answer and a budget in characters in,
//! text out.
//!
//! Quoted history is framed by a prefix: every line of it begins with `| `, and no line of ours does. A frame of two
//! delimiters can be closed by a text that contains the second one, and a random delimiter makes answers differ from
//! call to call. A prefix cannot be closed, because a text has no way to begin a line without it: all line breaks but
//! `\n` are made visible, and names outside the frame are on one line and in quotes unless they are plain.

mod budget;
mod place;
mod search;
mod conversation;
mod outline;
mod history;
mod sessions;
pub mod recall;

pub use budget::{FEWEST, Next, View};
pub use conversation::{ConversationPart, Tools};
