//! Backups: sessions whose transcripts are gone, in one file that can be read without unspool.
//!
//! A backup is zstd-compressed JSON Lines. `zstdcat FILE | less` shows it. Each line is an object with one key, which
//! names its type:
//!
//! | line | contains |
//! |---|---|
//! | `{"header":{…}}` | the first line: the name and version of the format, when and by what it was written, the roots, and the number of files |
//! | `{"file":{…}}` | a transcript: its path, its session, how far it was read, what is known about it; `"forgotten":true` if the user erased the session for good |
//! | `{"document":{"text":"…","meta":{…}}}` | a message of that transcript, in order. For a tool call, the text contains the arguments as JSON |
//! | `{"end":{…}}` | the last line: the number of files and documents, and the SHA-256 of all lines before it (`zstdcat FILE \| head -n -1 \| sha256sum`) |
//!
//! The file consists of many zstd frames, each with a checksum, and each frame after the first begins with a `file`
//! line. A file that continues in another frame has its line there again. So damage to one frame affects no other.
//!
//! A new backup is written next to the old one, synced, read back as a whole, and only then renamed. It contains what
//! the index has, and what only the old backup has.

mod format;
mod write;
mod read;
mod create;
mod restore;

pub(super) use create::create;
pub use create::{Backup, BackupOptions};
pub(super) use restore::restore;
pub use restore::{RestoreOptions, Restored};
