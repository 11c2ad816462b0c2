//! What leaves the program: text on stdout, messages on stderr, and the exit code.

use std::io::{self, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::AutoStream;
use anyhow::Context as _;
use unicode_width::UnicodeWidthStr as _;
use unspool::error::Error;
use unspool::render::json;
use unspool::untrusted::{for_terminal, one_line};

use crate::exit_code::{FAILED, OK, code_of};

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR and the like say otherwise.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// The word users know it by.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        }
    }
}

/// Writes to stdout through a buffer, with or without colours. A reader that has gone away is no failure.
pub(crate) fn print(color: Color, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    write_all(&rendered(color, write)?)
}

/// Whether to colour what goes to stdout, or to a pager that stands before it.
pub(crate) fn choice(color: Color) -> anstream::ColorChoice {
    match color {
        Color::Auto => AutoStream::choice(&io::stdout()),
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    }
}

/// What would be printed, as bytes.
pub(crate) fn rendered(color: Color, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<Vec<u8>> {
    let mut buffer = AutoStream::new(Vec::new(), choice(color));
    write(&mut buffer).context("cannot write the answer")?;
    Ok(buffer.into_inner())
}

/// Fails where nothing can be said.
pub(crate) fn expect_stdout() -> anyhow::Result<()> {
    if !crate::oneshot::stdout_was_closed() {
        return Ok(());
    }
    let closed = io::Error::other("it is closed");
    Err(Error::io("write to", std::path::Path::new("standard output"), closed).into())
}

/// Writes bytes to stdout just as they are. A reader that has gone away is no failure.
pub(crate) fn write_all(bytes: &[u8]) -> anyhow::Result<()> {
    if !bytes.is_empty() {
        expect_stdout()?;
    }
    let mut stdout = io::stdout().lock();
    ended(stdout.write_all(bytes).and_then(|()| stdout.flush()))
}

/// What came of writing an answer. A reader that has gone away is no failure; an error of our own that came up while
/// the answer was made stays what it is.
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

static HUSHED: AtomicBool = AtomicBool::new(false);
static FOR_PROGRAMS: AtomicBool = AtomicBool::new(false);

/// From now on errors are JSON, as the answer would have been.
pub(crate) fn speak_json() {
    FOR_PROGRAMS.store(true, Ordering::Relaxed);
}

/// From now on nothing is said beside the answer.
pub(crate) fn hush() {
    HUSHED.store(true, Ordering::Relaxed);
}

/// Says something beside the answer.
pub(crate) fn note(text: &str) {
    if HUSHED.load(Ordering::Relaxed) {
        return;
    }
    let _ = writeln!(io::stderr().lock(), "unspool: {}", one_line(text));
}

/// Shows a text on one line, with marks under a part of it.
fn point(text: &str, part: std::ops::Range<usize>) {
    let shown = |text: &str| for_terminal(text).replace(['\n', '\t', '\r'], " ");
    let (before, under) = (shown(&text[..part.start]), shown(&text[part.clone()]));
    let blank = " ".repeat(before.width());
    let marks = "^".repeat(under.width().max(1));
    let mut stderr = io::stderr().lock();
    let _ = writeln!(stderr, "  {before}{under}{}", shown(&text[part.end..]));
    let _ = writeln!(stderr, "  {blank}{marks}");
}

/// Whether a person is looking at stdout.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether a person will read the answer: on a terminal, or behind a pipe for which colours were asked, as by
/// `less -R` or fzf.
pub(crate) fn is_for_people(color: Color) -> bool {
    is_terminal() || choice(color) != anstream::ColorChoice::Never
}

/// Prints what clap has to say: help as it is, a complaint without what a terminal would obey, as it repeats what was
/// typed, or pasted, and what else may have been meant.
pub(crate) fn usage(error: &clap::Error, hint: Option<&str>) -> anyhow::Result<u8> {
    if !error.use_stderr() {
        error.print().or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })?;
        return Ok(OK);
    }
    let text = error.render().to_string();
    if FOR_PROGRAMS.load(Ordering::Relaxed) {
        let message = text.lines().next().unwrap_or_default();
        let _ = json::error(&mut io::stderr().lock(), message.trim_start_matches("error: "), hint, FAILED);
        return Ok(FAILED);
    }
    let _ = write!(io::stderr().lock(), "unspool: {}", for_terminal(&text));
    hint.into_iter().for_each(|hint| note(&format!("hint: {hint}")));
    Ok(FAILED)
}

/// Says that the program itself has failed; gives the exit code for it.
pub(crate) fn own_failure() -> u8 {
    note("error: unspool itself has failed; what was committed before is safe");
    note("hint: run it again with RUST_BACKTRACE=1 and report what it prints");
    FAILED
}

/// Whether a person is looking at stderr.
pub(crate) fn notes_are_seen() -> bool {
    io::stderr().is_terminal()
}

/// Says what went wrong and what to do next; gives the exit code for it.
pub(crate) fn explain(error: &anyhow::Error) -> u8 {
    let known = error.downcast_ref::<Error>();
    if FOR_PROGRAMS.load(Ordering::Relaxed) {
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

/// What went wrong, in one sentence. Our own errors name their cause themselves.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    error.downcast_ref::<Error>().map_or_else(|| format!("{error:#}"), ToString::to_string)
}
