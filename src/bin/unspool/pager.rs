//! Streams long answers to the user's pager if stdout is a terminal, otherwise to stdout.

use std::io::{self, BufWriter, Write};
use std::process::{Child, Command, Stdio};

use anstream::AutoStream;
use anyhow::Context as _;

use crate::config::Config;
use crate::out;

/// Writes to the pager, or to stdout. A closed pipe or a missing pager is not an error.
pub(crate) fn print(config: &Config, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let mut child = if out::is_terminal() { start(&config.pager) } else { None };
    let sink: Box<dyn Write> = match child.as_mut().and_then(|child| child.stdin.take()) {
        Some(stdin) => Box::new(BufWriter::with_capacity(64 << 10, stdin)),
        None => Box::new(BufWriter::with_capacity(64 << 10, io::stdout().lock())),
    };
    out::expect_stdout()?;
    let mut stream = AutoStream::new(sink, out::choice(config.color));
    let written = write(&mut stream).and_then(|()| stream.flush());
    drop(stream);
    if let Some(mut child) = child {
        child.wait().context("the pager failed")?;
    }
    out::ended(written)
}

/// Starts the pager, unless it is empty or `cat`.
fn start(pager: &str) -> Option<Child> {
    if matches!(pager.trim(), "" | "cat") {
        return None;
    }
    let (shell, option) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    // A shell runs it, because it may contain options. If the program does not exist (127), `cat` prints the answer.
    let command = if cfg!(windows) { pager.to_string() } else { format!("{pager} || [ $? -ne 127 ] || cat") };
    let child = Command::new(shell).args([option, &command]).stdin(Stdio::piped()).spawn().ok()?;
    // While the pager has the terminal, Ctrl-C is for the pager only.
    let _ = ctrlc::set_handler(|| {});
    Some(child)
}
