//! The corpus generator: writes a synthetic session tree for benchmarks and tests, or lets one grow.
//!
//! `scripts/corpus` builds and runs it, and documents the usage.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that reports what it wrote")]

#[path = "mod.rs"]
mod corpus;

use corpus::grow::{Growth, grow};
use corpus::plan::{Options, generate};
use std::process::ExitCode;
use std::str::FromStr;

fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let done = if args.first().is_some_and(|arg| arg == "grow") {
        args.remove(0);
        run_grow(args)
    } else {
        run_generate(args)
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("corpus: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run_generate(mut args: Vec<String>) -> Result<(), String> {
    let size = option(&mut args, "--size")?.unwrap_or_else(|| String::from("1G"));
    let seed = number(&mut args, "--seed")?.unwrap_or(1);
    let options = Options { size: bytes(&size)?, seed, out: target(args)?.into() };
    let made = generate(&options).map_err(|error| error.to_string())?;
    eprintln!("corpus: {} {}", options.out.display(), if made { "written" } else { "is there already" });
    Ok(())
}

fn run_grow(mut args: Vec<String>) -> Result<(), String> {
    let lines = number(&mut args, "--lines")?.unwrap_or(1);
    let files = number(&mut args, "--files")?.unwrap_or(1);
    let step = number(&mut args, "--step")?;
    let torn = flag(&mut args, "--torn");
    let growth = Growth { lines, files, step, torn, out: target(args)?.into() };
    for token in grow(&growth).map_err(|error| error.to_string())? {
        println!("{}\t{}", token.path, token.word);
    }
    Ok(())
}

/// Removes `name value` from the arguments and returns the value.
fn option(args: &mut Vec<String>, name: &str) -> Result<Option<String>, String> {
    let Some(at) = args.iter().position(|arg| arg == name) else { return Ok(None) };
    args.remove(at);
    if at < args.len() { Ok(Some(args.remove(at))) } else { Err(format!("{name} needs a value")) }
}

fn number<T: FromStr>(args: &mut Vec<String>, name: &str) -> Result<Option<T>, String> {
    let value = option(args, name)?;
    value.map(|text| text.parse().map_err(|_| format!("{name} needs a number, not {text}"))).transpose()
}

fn flag(args: &mut Vec<String>, name: &str) -> bool {
    let before = args.len();
    args.retain(|arg| arg != name);
    args.len() < before
}

/// Returns the only argument that is left.
fn target(args: Vec<String>) -> Result<String, String> {
    match <[String; 1]>::try_from(args) {
        Ok([out]) => Ok(out),
        Err(args) => Err(format!("expected one directory, got {}: {args:?}", args.len())),
    }
}

/// Parses a size such as 200M or 1G.
fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(['K', 'M', 'G']);
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        _ => return Err(format!("cannot read the size {text}")),
    };
    let count: f64 = digits.parse().map_err(|_| format!("cannot read the size {text}"))?;
    Ok((count * unit as f64) as u64)
}
