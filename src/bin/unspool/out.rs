//! Output: answers on stdout, notes and errors on stderr.

use std::io::{self, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::AutoStream;
use anyhow::Context as _;
use unicode_width::UnicodeWidthStr as _;
use unspool::error::Error;
use unspool::render::json;
use unspool::untrusted::{for_terminal, one_line};

use crate::exit_code::{FAILED, OK, code_of};

/// The use of colours in output.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR or a similar variable says otherwise.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Returns the name, as in `--color`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        }
    }
}

/// Writes to stdout through a buffer, with or without colours. A closed pipe is not an error.
pub(crate) fn print(color: Color, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    write_all(&rendered(color, write)?)
}

/// Returns the colour choice for stdout, or for a pager that writes to it.
pub(crate) fn choice(color: Color) -> anstream::ColorChoice {
    match color {
        Color::Auto => AutoStream::choice(&io::stdout()),
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    }
}

/// Returns the output as bytes, without printing it.
pub(crate) fn rendered(color: Color, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<Vec<u8>> {
    let mut buffer = AutoStream::new(Vec::new(), choice(color));
    write(&mut buffer).context("cannot write the answer")?;
    Ok(buffer.into_inner())
}

/// Fails if stdout is closed.
pub(crate) fn expect_stdout() -> anyhow::Result<()> {
    if !crate::oneshot::stdout_was_closed() {
        return Ok(());
    }
    let closed = io::Error::other("it is closed");
    Err(Error::io("write to", std::path::Path::new("standard output"), closed).into())
}

/// Writes bytes to stdout unchanged. A closed pipe is not an error.
pub(crate) fn write_all(bytes: &[u8]) -> anyhow::Result<()> {
    if !bytes.is_empty() {
        expect_stdout()?;
    }
    let mut stdout = io::stdout().lock();
    ended(stdout.write_all(bytes).and_then(|()| stdout.flush()))
}

/// Converts the result of writing an answer. A closed pipe is not an error. An error of our own that occurred while the
/// answer was produced is returned unchanged.
pub(crate) fn ended(written: io::Result<()>) -> anyhow::Result<()> {
    match written {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(match error.downcast::<Error>() {
            Ok(ours) => ours.into(),
            Err(error) => Error::io("write to", std::path::Path::new("standard output"), error).into(),
        }),
    }
}

static SILENT: AtomicBool = AtomicBool::new(false);
static JSON_ERRORS: AtomicBool = AtomicBool::new(false);

/// Makes all further errors JSON, like the answer would have been.
pub(crate) fn speak_json() {
    JSON_ERRORS.store(true, Ordering::Relaxed);
}

/// Suppresses all further notes.
pub(crate) fn hush() {
    SILENT.store(true, Ordering::Relaxed);
}

/// Prints a note on stderr.
pub(crate) fn note(text: &str) {
    if SILENT.load(Ordering::Relaxed) {
        return;
    }
    let _ = writeln!(io::stderr().lock(), "unspool: {}", one_line(text));
}

/// Prints a text on one line, with marks under a part of it.
fn point(text: &str, part: std::ops::Range<usize>) {
    let shown = |text: &str| for_terminal(text).replace(['\n', '\t', '\r'], " ");
    let (before, under) = (shown(&text[..part.start]), shown(&text[part.clone()]));
    let blank = " ".repeat(before.width());
    let marks = "^".repeat(under.width().max(1));
    let mut stderr = io::stderr().lock();
    let _ = writeln!(stderr, "  {before}{under}{}", shown(&text[part.end..]));
    let _ = writeln!(stderr, "  {blank}{marks}");
}

/// Reports whether stdout is a terminal.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Reports whether a person will read the answer: on a terminal, or in a pipe with colours, as for `less -R` or fzf.
pub(crate) fn is_for_people(color: Color) -> bool {
    is_terminal() || choice(color) != anstream::ColorChoice::Never
}

/// Prints help or a usage error from clap, and a hint. A usage error is made safe for a terminal, because it repeats
/// text that was typed or pasted.
pub(crate) fn usage(error: &clap::Error, hint: Option<&str>) -> anyhow::Result<u8> {
    if !error.use_stderr() {
        error.print().or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })?;
        return Ok(OK);
    }
    let text = error.render().to_string();
    if JSON_ERRORS.load(Ordering::Relaxed) {
        let message = text.lines().next().unwrap_or_default();
        let _ = json::error(&mut io::stderr().lock(), message.trim_start_matches("error: "), hint, FAILED);
        return Ok(FAILED);
    }
    let _ = write!(io::stderr().lock(), "unspool: {}", for_terminal(&text));
    hint.into_iter().for_each(|hint| note(&format!("hint: {hint}")));
    Ok(FAILED)
}

/// Reports that the program itself failed, and returns the exit code for it.
pub(crate) fn own_failure() -> u8 {
    note("error: unspool crashed; what was indexed so far is kept");
    note("hint: run it again with RUST_BACKTRACE=1 and report the output");
    FAILED
}

/// Reports whether stderr is a terminal.
pub(crate) fn notes_are_seen() -> bool {
    io::stderr().is_terminal()
}

/// Prints an error and its hint, and returns the exit code for it.
pub(crate) fn explain(error: &anyhow::Error) -> u8 {
    let known = error.downcast_ref::<Error>();
    if JSON_ERRORS.load(Ordering::Relaxed) {
        let hint = known.and_then(Error::hint_text);
        let _ = json::error(&mut io::stderr().lock(), &sentence(error), hint, code_of(error));
        return code_of(error);
    }
    note(&format!("error: {}", sentence(error)));
    if let Some((text, part)) = known.and_then(Error::part) {
        point(text, part);
    }
    if let Some(hint) = known.and_then(Error::hint_text) {
        note(&format!("hint: {hint}"));
    }
    code_of(error)
}

/// Returns the error as one sentence. Our own errors include their cause.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    error.downcast_ref::<Error>().map_or_else(|| format!("{error:#}"), ToString::to_string)
}
