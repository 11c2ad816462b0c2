//! Helpers that several test files share. Test files import from here, and never from each other.

// A sealed home to run the binary in.
pub(crate) mod env;
pub(crate) mod mcp_client;
// Measured figures that are committed.
pub(crate) mod figures;
// Lines of transcripts.
pub(crate) mod transcript;
// Commands with a time limit, traced, or stopped halfway.
pub(crate) mod process;
// Mounts, other users and memory limits.
pub(crate) mod privileges;
// The binary in a terminal, as a person sees it.
pub(crate) mod terminal;
// A slow reader that shares no code with the program, and a world of files in which the index is compared with it.
pub(crate) mod oracle;
pub(crate) mod world;
// Runs that are interrupted at each of their operations, and a model of a disk that loses power.
pub(crate) mod scene;
pub(crate) mod power;

/// Reports whether the long tests were asked for, with `UNSPOOL_LONG=1`.
#[expect(clippy::disallowed_methods, reason = "a switch for the person who runs the tests")]
pub(crate) fn is_long() -> bool {
    std::env::var_os("UNSPOOL_LONG").is_some()
}
