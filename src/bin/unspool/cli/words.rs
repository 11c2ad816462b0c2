//! Which words of a command line are options, and which are what is looked for: `oauth -github`, `git push --force`.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Arg, Command};

use super::resume::quoted;

/// Options of every command that are not in the list of arguments.
const ALWAYS: [&str; 4] = ["-h", "--help", "-V", "--version"];
/// A slip in an option is told from a word by at most so many letters, the second number being for long ones.
const SLIPS: (usize, usize) = (1, 2);
const LONG: usize = 8;

/// Makes words of what begins with a dash but is no option of a search, by a blank in front: clap takes no such thing
/// for an option. What stands behind `--` is left alone.
pub(super) fn apart(command: &Command, args: Vec<OsString>, is_valid: impl Fn(&str) -> bool) -> Vec<OsString> {
    let known: Vec<&Arg> = command.get_subcommands().chain([command]).flat_map(Command::get_arguments).collect();
    let mut words = Vec::new();
    let mut rest = args.into_iter();
    while let Some(arg) = rest.next() {
        let text = arg.to_string_lossy().into_owned();
        if text == "--" {
            words.push(arg);
            break;
        }
        match option(&known, &text, &is_valid) {
            Reading::Option => words.push(arg),
            Reading::Needs => words.extend([arg].into_iter().chain(rest.next())),
            Reading::Word => words.push(marked(&text)),
        }
    }
    words.extend(rest);
    words
}

/// A word that begins with a dash, marked as being no option.
pub(super) fn marked(word: &str) -> OsString {
    format!(" {word}").into()
}

/// The words as they were typed.
pub(super) fn joined(words: &[String]) -> String {
    let unmarked = |word: &String| match word.strip_prefix(' ') {
        Some(rest) if rest.starts_with('-') => rest.to_string(),
        _ => word.clone(),
    };
    words.iter().map(unmarked).collect::<Vec<_>>().join(" ")
}

/// Whether a word may be read as an option by clap though it is none: `-python` is no project called `ython`.
pub(super) fn is_ambiguous(word: &OsString) -> bool {
    word.to_string_lossy().strip_prefix("-p").is_some_and(|rest| !rest.is_empty() && !rest.starts_with('='))
}

enum Reading {
    Option,
    /// An option; the next word is its value.
    Needs,
    Word,
}

fn option(known: &[&Arg], text: &str, is_valid: &impl Fn(&str) -> bool) -> Reading {
    if ALWAYS.contains(&text) || !text.starts_with('-') || text == "-" {
        return Reading::Option;
    }
    match text.strip_prefix("--") {
        Some(long) => long_option(known, long),
        None => cluster(known, text, is_valid),
    }
}

fn long_option(known: &[&Arg], text: &str) -> Reading {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    let names = |arg: &Arg| {
        let aliases = arg.get_all_aliases().unwrap_or_default();
        arg.get_long().into_iter().chain(aliases).map(str::to_string).collect::<Vec<_>>()
    };
    if let Some(arg) = known.iter().find(|arg| names(arg).iter().any(|one| one == name)) {
        return if needs_value(arg) && value.is_none() { Reading::Needs } else { Reading::Option };
    }
    let slips = if name.len() < LONG { SLIPS.0 } else { SLIPS.1 };
    let is_slip = |one: &String| strsim::osa_distance(one, name) <= slips;
    // clap will say which option was meant.
    if known.iter().any(|arg| names(arg).iter().any(is_slip)) { Reading::Option } else { Reading::Word }
}

/// Short options in one word, the last perhaps with a number behind it: `-lc`, `-n5`.
fn cluster(known: &[&Arg], text: &str, is_valid: &impl Fn(&str) -> bool) -> Reading {
    for (at, letter) in text.char_indices().skip(1) {
        let Some(arg) = known.iter().find(|arg| arg.get_short() == Some(letter)) else { return Reading::Word };
        if needs_value(arg) {
            let value = &text[at + letter.len_utf8()..];
            let is_value = value.starts_with('=') || value.parse::<usize>().is_ok();
            return match value.is_empty() {
                true => Reading::Needs,
                false if is_value => Reading::Option,
                false => Reading::Word,
            };
        }
    }
    // Flags that cannot go together were not meant as flags: `-cli`.
    if text.len() == 2 || is_valid(text) { Reading::Option } else { Reading::Word }
}

fn needs_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

/// What to say to somebody who meant to search, with a command as the first word: `unspool file not found`.
pub(super) fn search_instead(words: &[OsString], error: &clap::Error) -> Option<String> {
    let is_about_words = matches!(error.kind(), ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand);
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let is_text = words.len() > 1 && words[0] != "search" && !words.iter().any(|word| word.starts_with('-'));
    let quoted = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    (is_about_words && is_text).then(|| format!("to search for these words: unspool search {quoted}"))
}
