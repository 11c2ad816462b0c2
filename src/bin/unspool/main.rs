//! The command-line program: parses arguments, runs a command, and turns the result into a message and an exit code.

mod exit_code;
mod oneshot;
mod out;
mod atomic_write;
mod shared_file;
mod claim;
mod clients;
mod plugin;
mod config_file;
mod config;
mod pager;
mod progress;
mod schedule;
mod watch;
mod agent;
mod refresh;
mod mcp;
mod tui;
mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    config::be_private();
    config::quiet_panics();
    oneshot::expect_damage();
    oneshot::leave_no_core();
    oneshot::expect_file_limit();
    match std::panic::catch_unwind(|| config::arm_faults().and_then(|()| cli::run())) {
        Ok(Ok(code)) => ExitCode::from(code),
        Ok(Err(error)) => ExitCode::from(out::explain(&error)),
        Err(_) => ExitCode::from(out::own_failure()),
    }
}
