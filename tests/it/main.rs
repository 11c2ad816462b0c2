//! All integration tests, in one binary. Nearly all of them run the real program in a sealed home.
//!
//! Read `support/env.rs` first, then `commands.rs`. The fault catalogue is in `faults.tsv`: each case has an id such as
//! A3, and the tests for it begin with that id. `scripts/faults` runs them and prints the catalogue with the results.
//! `UNSPOOL_LONG=1` makes the long tests thorough.

// Shared helpers: the sealed home, transcripts, processes, the oracle. Test files import from here only.
mod support;

// The commands, as a user sees them.
mod commands;
mod search;
mod sessions;
mod show;
mod export;
// The history of a file: its changes, contents and lines.
mod history;
// Figures, compared with a slow count over the raw files.
mod stats;
mod config;
// Help, manual pages and completions.
mod docs;
// The library as another program uses it.
mod library;
// Shells with the key binding of `unspool init`.
mod prompt;
// The terminal UI, driven by keys.
mod tui;
// Whole screens, compared with snapshots.
mod screens;

// Keeping the index current: regular runs, the hook of Claude Code, the watch; and what Claude Code will delete.
mod schedule;
mod hook;
// For agents: the plugin, the entry in the lists of MCP clients, and reminders from the index.
mod plugin;
mod mcp_install;
mod recall;
mod watch;
mod retention;
mod backup;
// Answers for agents.
mod mcp;
mod agent_benchmark;

// Reading transcripts: every fixture with what must be found in it, and words that must not be lost.
mod fixtures;
mod kept;
// Any number of runs gives the same index as one.
mod incremental;
// The quality of ranking, on a generated corpus.
#[path = "../corpus/mod.rs"]
mod corpus;
mod ranking;
// Masking of secrets.
mod redact;
// The right index, the right file, the right figures, no secrets: what people cannot check themselves.
mod trust;

// The fault catalogue. Section A: bad input, and inputs of gigabytes.
mod bad_input;
mod limits;
// Section B: concurrent runs, and files that change while they are read.
mod concurrency;
// Section C: crashes at every operation, crashes of the real process, power cuts on a model of a disk.
mod crash;
mod loops;
mod simulate;
// Section D: no space, no memory, no permission.
mod resources;
// Section E: upgrades, and a damaged index.
mod upgrade;
mod damage;
// Section F: hostile text, and the system calls of the program.
mod hostile;
mod audit;
// Random sequences of changes and crashes, compared with the oracle.
mod walk;
// Shows that the harnesses of the tests above can fail.
mod controls;
// Functions that must accept any bytes.
#[path = "../fuzz/mod.rs"]
mod fuzz;

// One test for each bug that was found.
mod regression;
// The order of the modules in `src`.
mod layers;
