//! Full-text search over everything you and Claude Code ever said or did.
//!
//! This is the library. Front ends call [`archive::Archive`]; the command line in `src/bin/unspool/` is one of them. The
//! modules below are in the order in which data flows through them:
//!
//! | module | does |
//! |---|---|
//! | [`fault`] | injects faults for the tests; does nothing in a release |
//! | [`error`], [`untrusted`], [`dates`], [`units`] | errors; text made safe for a terminal; dates that people type; numbers that people read |
//! | [`json_edit`] | edits a JSON file without changing any other byte of it |
//! | [`redact`] | masks secrets |
//! | [`transcript`] | Claude Code's files: where they are, their lines, their JSON keys, its settings |
//! | [`document`] | events of a file → documents: what is searchable, under which role, kind, tool, path and time |
//! | [`tokenize`], [`query`] | text → terms; a typed query → what to search for |
//! | [`index`] | documents and checkpoints in tantivy, reading and ranking them; the only folder that names tantivy |
//! | [`update`] | **the pipeline**: discover → plan → read lines → events → documents → index |
//! | [`archive`] | **the façade**: search, sessions, conversations, file history, statistics, upkeep |
//! | [`render`] | answers for a terminal, as compact text for agents, as Markdown, HTML, CSV and JSON |
//!
//! A module names only modules above it, in every folder; `tests/it/layers.rs` checks this.
//!
//! # What always holds
//!
//! - The library never prints, and never reads the environment, the home folder or the clock.
//! - Transcripts are never written, renamed or removed.
//! - A line that cannot be read never stops a file. It becomes a document that says so.
//! - A folder that cannot be listed never makes anything look deleted.
//! - What was read and the record of it are in the same commit, so they agree even after a power failure.
//! - Readers never open a writer, and work on a read-only folder. If they find damage, they set a flag, and the next writer
//!   checks the index before it adds to it.
//! - An index can be rebuilt at any time. It also contains sessions whose transcripts Claude Code has deleted, so a new
//!   index is built next to the old one and takes those over.
//! - Each stored document is complete, so that it can be recovered from the document store alone.
//! - Documents are never deleted by uuid: removing one file cannot remove a message that another file still contains. The
//!   same uuid in several files is one hit in a search.
//!
//! # What we build ourselves
//!
//! Our own code in place of a library's has to buy something that a user notices. "Real" is a sample of 49 MB of real
//! sessions, "1 GB" the corpus of `scripts/corpus`. All figures are from one machine with two cores.
//!
//! | part | decision | figures |
//! |---|---|---|
//! | own segment writer | deleted; tantivy's `IndexWriter` | 1 GB: 10 → 16 CPU-seconds once per build; 1,800 lines |
//! | own store reader and writer | deleted; tantivy's `StoreReader` | search on 1 GB: 1.03 to 1.11 × (5 queries, median of 60); 830 lines |
//! | texts as deltas, metadata packed into bytes | deleted; JSON with readable keys | real index 8.6 → 9.6 MB, with the smaller blocks of the next row |
//! | store blocks of 160 KB | 64 KB | real index 9.25 → 9.53 MB; a search decompresses one block per hit: 14.8 → 11.8 ms CPU |
//! | a merge at the end of a build | only above 3 segments, one at a time, into at least 2 | 1 GB: a query of five words takes 14.2 ms with one segment, 11.1 with two |
//! | merges of any size | bounded by documents and by distinct words | 1 GB of random words: peak memory 1.3 GB → 271 MB |
//! | one permit per document on its way to the index | one per batch of 1 MB | 1 GB: 21.6 → 16.5 CPU-seconds |
//! | CPU pinning, `mallopt`, `malloc_trim` | deleted | within noise; memory is bounded by fewer threads and smaller segments instead |
//! | a thread for each segment that compresses stored text | off | 8 GB: peak memory 437 → 334 MB, 312 with one merge at a time, 269 with smaller segments |
//! | closing the index after a one-shot search | left to the system | up to 1 ms of 9 |
//! | tantivy's hidden `delete_query` | a term that names exactly what is deleted | |
//! | 42 lenient serde visitors | one, in `transcript::lenient` | parsing 794 → 801 MB/s; 89 lines |
//! | four glob dialects | `globset`, in `query::glob` | no exponential backtracking |
//! | edit distance | `strsim` | |
//! | cron evaluator | `cronexpr` | launchd takes numbers and lists only; 174 lines |
//! | Windows task scheduler | deleted; `schedule install` prints the command | could not be tested; 185 lines |
//! | clap run up to four times | one pass over clap's own list of options, one parse | 0.25 ms more, no guessing by trial |
//! | JSON Schema by hand, and copies of each type for JSON | `schemars` and `serde` on the answers themselves | 250 lines |
//! | seeded bugs in the program | deleted; the tests alter what the harness observes | 81 lines |
//! | byte-exact edits of `settings.json` | kept | the CST of `jsonc-parser` does not restore 4 of the 10 files of our tests |
//! | `SafeDirectory` and what is around it | kept | tantivy alone can lose a commit in a power failure; the crash tests show it |
//! | spelling, word forms, shell commands, HTML of `stats` | kept | they are features, not plumbing |
//!
//! Reading limits the full index: parsing real sessions costs about 0.4 of what tantivy needs for the documents in them,
//! because only a fifth of the bytes is text. A reader at the speed of bare serde would bring that to 0.15.

pub mod fault;
pub mod error;
pub mod untrusted;
pub mod dates;
pub mod units;
pub mod json_edit;
pub mod redact;
pub mod transcript;
pub mod document;
pub mod tokenize;
pub mod query;
pub mod index;
pub mod update;
pub mod archive;
pub mod render;
