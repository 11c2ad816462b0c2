//! Writes the whole corpus: one project after another until the size is reached.

use super::code;
use super::eras;
use super::family::Family;
use super::names::Names;
use super::rng::Rng;
use super::sink::Sink;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Increment when the output for the same parameters changes.
const VERSION: usize = 2;

/// The file with the parameters of the corpus on its first line, and the newest sessions on the others.
pub(crate) const MARKER: &str = ".corpus";

/// What to generate.
pub(crate) struct Options {
    pub out: PathBuf,
    pub size: u64,
    pub seed: u64,
}

impl Options {
    fn marker(&self) -> String {
        format!("unspool-corpus version={VERSION} seed={} size={}", self.seed, self.size)
    }
}

/// Writes the corpus unless it already exists. Returns true if it was written.
pub(crate) fn generate(options: &Options) -> Result<bool> {
    if present(options)? {
        return Ok(false);
    }
    let mut sink = Sink::new(&options.out)?;
    let mut large = Large::new(options);
    for number in 0.. {
        if sink.total >= options.size {
            break;
        }
        project(options, number, &mut sink, &mut large);
    }
    let live = sink.finish()?;
    fs::write(options.out.join(MARKER), format!("{}\n{}\n", options.marker(), live.join("\n")))?;
    Ok(true)
}

/// Returns true if the same corpus exists. Fails if the directory contains anything else.
fn present(options: &Options) -> Result<bool> {
    match fs::read_to_string(options.out.join(MARKER)) {
        Ok(text) if text.lines().next() == Some(&options.marker()) => Ok(true),
        Ok(text) => Err(refuse(&options.out, text.lines().next().unwrap_or("other parameters"))),
        Err(_) if is_empty(&options.out)? => Ok(false),
        Err(_) => Err(refuse(&options.out, "files that are not a corpus")),
    }
}

fn refuse(out: &Path, what: &str) -> Error {
    Error::other(format!("{} already holds {what}; choose another directory", out.display()))
}

fn is_empty(out: &Path) -> Result<bool> {
    match fs::read_dir(out) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// Plans the few sessions of 20 to 100 MB in a corpus of a gigabyte or more.
struct Large {
    rng: Rng,
    next: u64,
}

impl Large {
    fn new(options: &Options) -> Self {
        let next = if options.size >= 1_000_000_000 { 100_000_000 } else { u64::MAX };
        Self { rng: Rng::new(&[options.seed, 77]), next }
    }

    fn size(&mut self, written: u64) -> Option<usize> {
        if written < self.next {
            return None;
        }
        self.next += 400_000_000;
        Some(self.rng.log_range(20_000_000, 100_000_000))
    }
}

fn project(options: &Options, number: usize, sink: &mut Sink, large: &mut Large) {
    let mut rng = Rng::new(&[options.seed, 1, number as u64]);
    let names = Names::new(&mut rng, number);
    let mut files = code::tree(&mut rng, &names);
    let centre = eras::centre(options.seed, number);
    let sessions = rng.log_range(3, 45);
    let mut family = Family { rng, names: &names, files: &mut files, sink, leaves: Vec::new() };
    for _ in 0..sessions {
        let left = options.size.saturating_sub(family.sink.total) as usize;
        if left == 0 {
            break;
        }
        let era = eras::near(&mut family.rng, centre);
        let size = family.size().min(left);
        let size = large.size(family.sink.total).unwrap_or(size);
        family.write(era, size);
    }
}
