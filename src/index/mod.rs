//! The full-text index. Only this folder uses tantivy.
//!
//! From the bottom up: files on disk (`disk`), the fields (`schema`), stored documents (`store`), reading,
//! ranking, writing, and the index folder as a whole. A module may only use modules above it in this list:

mod hash_map;
mod disk;
mod errors;
mod tokenizer;
mod file_key;
mod file_summary;
mod checkpoint;
mod schema;
mod store;
mod open;
mod read;
mod rank;
mod write;
mod losses;
mod salvage;
mod predecessor;
mod folder;

pub use checkpoint::{Checkpoint, Known, PARSER_VERSION};
pub use file_key::FileKey;
pub use file_summary::{FileSummary, brief};
pub use folder::{IndexFolder, LockedFolder, WatchLock};
pub(crate) use hash_map::{HashMap64, HashSet64};
pub use losses::Loss;
pub use predecessor::Predecessor;
pub use rank::collect::RawHit;
pub use rank::corrections::{Corrections, Meant};
pub use rank::fetch::HitSpot;
pub use rank::{Factors, Ranked, Search, Sort};
pub use read::by_file::{About, PromptPlace, Spelling};
pub use read::filter::Listed;
pub use read::outline::{Spot, Step};
pub use read::rows::{MessageRow, Names, Row, RowAt, Spent};
pub use read::sessions::SessionFiles;
pub use read::unknown_names::UnknownName;
pub use read::{Reader, Size};
pub use salvage::OldFile;
pub use write::{RunSize, Writer};
