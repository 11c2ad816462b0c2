//! All integration tests, in one binary: one file for each subject.

mod util;

// The shape of the source tree itself.
mod layers;
// Secrets that must not be shown, and clean lines that must.
mod redact;
// What the commands print, as a user sees it.
mod commands;
// Searching: the query language, filters, context, paging.
mod search;
// The list of sessions, one session shown, resumed, exported.
mod export;
mod sessions;
mod show;
// How well ranking finds what is known to be there.
#[path = "../corpus/mod.rs"]
mod corpus;
mod ranking;
// Words that must not be lost, whatever stands around them.
mod kept;
// Every fixture, and what must be found in it.
mod fixtures;
// Reading only what is new: any number of runs equals one.
mod incremental;
// The fault catalogue, one test for each case, named after its id.
mod faults_a;
mod faults_b;
mod faults_d;
mod faults_e;
// What the index must hold, by a reader of its own; walks and crashes against it.
mod oracle;
mod walk;
mod crash;
mod simulate;
mod controls;
mod loops;
mod limits;
// Text that wants to do harm, and what the program does to the system, seen from outside.
mod hostile;
mod audit;
// Targets that get any bytes.
#[path = "../fuzz/mod.rs"]
mod fuzz;
// Figures, against a slow count over the raw files.
mod stats;
// The configuration file.
mod config;
// Help, manual pages and completions.
mod docs;
// Always current: regular runs, the hook, the watch.
mod schedule;
mod hook;
mod watch;
mod retention;
// The history of a file: its actions, its contents, its lines.
mod history;
// One test for each bug, named after it.
mod regression;
