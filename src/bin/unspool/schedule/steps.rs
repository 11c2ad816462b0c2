//! The steps of a change to a scheduler: files to write or remove, programs to run. A dry run shows the same list that
//! a real run carries out, so the two cannot differ.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use unspool::error::{Error, ErrorKind};

use crate::atomic_write;
use crate::schedule::tools;

/// One step of a change.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Step {
    /// Write a text to a file.
    Write { path: PathBuf, text: String },
    /// Write a backup of data that is about to be replaced.
    Keep { path: PathBuf, bytes: Vec<u8> },
    /// Remove a file.
    Remove { path: PathBuf },
    /// Run a program.
    Run { program: PathBuf, args: Vec<String>, input: Option<Vec<u8>>, failure: Failure },
}

/// The meaning of a failure of a program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Failure {
    /// The change has failed.
    Matters,
    /// There was nothing to do.
    Ignored,
    /// It may succeed if tried again.
    Again,
}

impl Step {
    pub(crate) fn run(program: &std::path::Path, args: &[&str], failure: Failure) -> Self {
        let args = args.iter().map(ToString::to_string).collect();
        Self::Run { program: program.to_path_buf(), args, input: None, failure }
    }

    /// Shows the step for a dry run.
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

    /// Carries out the step.
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
    let output = tools::run(program, args, input)?;
    if output.ok() || failure == Failure::Ignored {
        return Ok(());
    }
    if tries > 1 {
        std::thread::sleep(Duration::from_millis(200));
        return run(program, args, input, failure, tries - 1);
    }
    let code = output.code.map_or("a signal".to_string(), |code| format!("code {code}"));
    let message = format!("`{}` ended with {code}: {}", command_line(program, args), output.stderr);
    Err(Error::new(ErrorKind::Other, message.trim_end_matches(": ")))
}

fn command_line(program: &std::path::Path, args: &[String]) -> String {
    let words = std::iter::once(program.to_string_lossy().into_owned()).chain(args.iter().cloned());
    words.map(|word| crate::schedule::quoting::shell(&word)).collect::<Vec<_>>().join(" ")
}
