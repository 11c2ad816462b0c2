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
//! # What we do not build ourselves, and what we do
//!
//! Code that replaces what a library does has to buy something that a user notices. "Real" is a sample of 49 MB of real
//! sessions, "1 GB" the corpus of `scripts/corpus`; all figures are from one machine with two cores.
//!
//! | part | decision | figures |
//! |---|---|---|
//! | own segment writer | deleted, tantivy's `IndexWriter` | 1 GB: 10 → 16 CPU-seconds once per build; 1,800 lines |
//! | own store reader and writer | deleted, tantivy's `StoreReader` | search on 1 GB: 1.07 to 1.16 × (4 queries, median of 60); 830 lines |
//! | texts as deltas of earlier ones, metadata packed into bytes | deleted, JSON | real index 8.6 → 9.5 MB, with the smaller blocks of the next row |
//! | store blocks of 160 KB | 64 KB | real index 9.25 → 9.53 MB; a search decompresses one block per hit: 14.8 → 11.8 ms CPU |
//! | a merge at the end of a build | only above 3 segments, one at a time | 1 GB: 15 → 16 CPU-seconds, search 7.4 → 6.0 ms |
//! | one permit per document on its way to the index | one per batch of 1 MB | 1 GB: 21.6 → 16.5 CPU-seconds |
//! | CPU pinning, `mallopt`, `malloc_trim` | deleted | within noise; memory is bounded by fewer threads and smaller segments instead |
//! | a thread for each segment that compresses stored text | off | 8 GB: peak memory 437 → 334 MB, 312 with one merge at a time, 269 with smaller segments |
//! | closing the index after a one-shot search | left to the system | up to 1 ms of 9 |
//! | tantivy's hidden `delete_query` | a term that names exactly what is deleted | |
//! | 42 lenient serde visitors | one, `event::lenient` | parsing 794 → 801 MB/s; 89 lines |
//! | four glob dialects | `globset`, in `query::glob` | no exponential backtracking |
//! | edit distance | `strsim` | |
//! | cron evaluator | `cronexpr` | launchd takes numbers and lists only; 174 lines |
//! | Windows task scheduler | deleted, `schedule install` prints the command | could not be tested; 185 lines |
//! | clap run up to four times | one pass over clap's own list of options, one parse | 0.25 ms more, no guessing by trial |
//! | seeded bugs in the program | deleted, the tests doctor what the harness sees | 81 lines |
//! | byte-exact edits of `settings.json` (`settings::spans`) | kept | the CST of `jsonc-parser` does not restore 4 of the 10 files of our tests |
//! | `SafeDirectory` and what is around it | kept | tantivy alone can lose a commit in a power cut; the crash tests show it |
//! | spelling, word forms, shell commands, HTML of `stats` | kept | they are features, not plumbing |
//!
//! The full index is limited by reading: parsing real sessions costs about 0.4 of what tantivy needs for the documents in
//! them, because only a fifth of the bytes is text. A reader at the speed of bare serde would bring that to 0.15.

pub mod fault;
pub mod error;
pub mod untrusted;
pub mod dates;
pub mod units;
pub mod redact;
pub mod transcript;
pub mod document;
pub mod tokenize;
pub mod query;
pub mod index;
pub mod update;
pub mod archive;
pub mod render;
