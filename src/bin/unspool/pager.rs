//! Long answers on a terminal go through the user's pager; everywhere else they are just printed.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use anyhow::Context as _;

use crate::config::Config;
use crate::out;

/// What shows long answers unless the user says otherwise: stops only if the answer does not fit the screen.
pub(crate) const DEFAULT: &str = "less -FRX";

/// Writes to the pager if a person is looking, else as [`out::print`] does. A pager that is left early, or that
/// cannot be started, is no failure.
pub(crate) fn print(config: &Config, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let pager = &config.pager;
    if !out::is_terminal() || pager.trim() == "cat" {
        return out::print(config.color, write);
    }
    let text = out::rendered(config.color, write)?;
    let Ok(mut child) = command(pager).stdin(Stdio::piped()).spawn() else {
        return out::write_all(&text);
    };
    // While the pager has the terminal, an interrupt is for it alone.
    let _ = ctrlc::set_handler(|| {});
    if let Some(mut stdin) = child.stdin.take() {
        match stdin.write_all(&text) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                return Err(error).context("cannot write to the pager");
            }
            _ => {}
        }
    }
    // 127 is how a shell says that there is no such program.
    match child.wait()?.code() {
        Some(127) => out::write_all(&text),
        _ => Ok(()),
    }
}

/// The setting may hold options, so a shell reads it.
fn command(pager: &str) -> Command {
    let (shell, option) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut command = Command::new(shell);
    command.args([option, pager]);
    command
}
