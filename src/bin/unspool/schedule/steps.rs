//! What a change to a scheduler consists of: files to write or remove, programs to run. The same list is shown by a
//! dry run and carried out by a real one, so the two cannot differ.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use unspool::error::{Error, ErrorKind};

use crate::atomic_write;
use crate::schedule::tools;

/// One thing to do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Step {
    /// Put a text in a file.
    Write { path: PathBuf, text: String },
    /// Put bytes aside that are about to be replaced.
    Keep { path: PathBuf, bytes: Vec<u8> },
    /// Remove a file.
    Remove { path: PathBuf },
    /// Run a program.
    Run { program: PathBuf, args: Vec<String>, input: Option<Vec<u8>>, failure: Failure },
}

/// What it means when a program fails.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Failure {
    /// The change has failed.
    Matters,
    /// There was nothing to do for it.
    Ignored,
    /// It may work in a moment.
    Again,
}

impl Step {
    pub(crate) fn run(program: &std::path::Path, args: &[&str], failure: Failure) -> Self {
        let args = args.iter().map(ToString::to_string).collect();
        Self::Run { program: program.to_path_buf(), args, input: None, failure }
    }

    /// Shows the step as it would be carried out.
    pub(crate) fn show(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Write { path, text } => write!(out, "# write {}\n{text}", path.display()),
            Self::Keep { path, .. } => writeln!(out, "# keep a copy of the crontab in {}", path.display()),
            Self::Remove { path } => writeln!(out, "# remove {}", path.display()),
            Self::Run { program, args, input, .. } => {
                writeln!(out, "# run\n{}", command_line(program, args))?;
                match input {
                    Some(input) => write!(out, "# with the input\n{}", String::from_utf8_lossy(input)),
                    None => Ok(()),
                }
            }
        }
    }

    /// Does it.
    pub(crate) fn carry_out(&self) -> Result<(), Error> {
        match self {
            Self::Write { path, text } => atomic_write::replace(path, text.as_bytes()),
            Self::Keep { path, bytes } => atomic_write::replace(path, bytes),
            Self::Remove { path } => match fs_err::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path, error)),
                _ => Ok(()),
            },
            Self::Run { program, args, input, failure } => {
                let tries = if *failure == Failure::Again { 10 } else { 1 };
                run(program, args, input.as_deref(), *failure, tries)
            }
        }
    }
}

fn run(
    program: &std::path::Path,
    args: &[String],
    input: Option<&[u8]>,
    failure: Failure,
    tries: u32,
) -> Result<(), Error> {
    let said = tools::run(program, args, input)?;
    if said.ok() || failure == Failure::Ignored {
        return Ok(());
    }
    if tries > 1 {
        std::thread::sleep(Duration::from_millis(200));
        return run(program, args, input, failure, tries - 1);
    }
    let code = said.code.map_or("a signal".to_string(), |code| format!("code {code}"));
    let message = format!("`{}` ended with {code}: {}", command_line(program, args), said.stderr);
    Err(Error::new(ErrorKind::Other, message.trim_end_matches(": ")))
}

fn command_line(program: &std::path::Path, args: &[String]) -> String {
    let words = std::iter::once(program.to_string_lossy().into_owned()).chain(args.iter().cloned());
    words.map(|word| crate::schedule::quoting::shell(&word)).collect::<Vec<_>>().join(" ")
}
