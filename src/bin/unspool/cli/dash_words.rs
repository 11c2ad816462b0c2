//! Distinguishes options from search words that start with a dash: `oauth -github`, `git push --force`.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Arg, Command};

use unspool::archive::quoted;

/// Options of all commands that are not in clap's list of arguments.
const ALWAYS: [&str; 4] = ["-h", "--help", "-V", "--version"];
/// The maximum edit distance at which a word counts as a misspelled option, for short and for long options.
const TYPOS: (usize, usize) = (1, 2);
/// The minimum length of a long option.
const LONG: usize = 8;

/// Marks words that start with a dash but are not options of a search with a leading blank, so that clap does not read
/// them as options. Words after `--` are unchanged. `search` is only called if a word starts with a dash.
pub(super) fn apart(args: Vec<OsString>, search: impl FnOnce() -> Command) -> Vec<OsString> {
    if !args.iter().any(|arg| arg.as_encoded_bytes().starts_with(b"-")) {
        return args;
    }
    let search = search();
    let mut words = Vec::new();
    let mut rest = args.into_iter();
    while let Some(arg) = rest.next() {
        let text = arg.to_string_lossy().into_owned();
        if text == "--" {
            words.push(arg);
            break;
        }
        match reading(&search, &text) {
            WordKind::Option => words.push(arg),
            WordKind::Needs => words.extend([arg].into_iter().chain(rest.next())),
            WordKind::Word => words.push(marked(&text)),
        }
    }
    words.extend(rest);
    words
}

/// Marks a word that starts with a dash as not an option.
pub(super) fn marked(word: &str) -> OsString {
    format!(" {word}").into()
}

/// Joins words, without their marks.
pub(super) fn joined(words: &[String]) -> String {
    let unmarked = |word: &String| match word.strip_prefix(' ') {
        Some(rest) if rest.starts_with('-') => rest.to_string(),
        _ => word.clone(),
    };
    words.iter().map(unmarked).collect::<Vec<_>>().join(" ")
}

enum WordKind {
    Option,
    /// An option; the next word is its value.
    Needs,
    Word,
}

fn reading(search: &Command, text: &str) -> WordKind {
    if ALWAYS.contains(&text) || !text.starts_with('-') || text == "-" {
        return WordKind::Option;
    }
    match text.strip_prefix("--") {
        Some(long) => long_option(search, long),
        None => cluster(search, &text[1..]),
    }
}

fn long_option(search: &Command, text: &str) -> WordKind {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    let has_name = |arg: &&Arg, matches: &dyn Fn(&str) -> bool| {
        let aliases = arg.get_all_aliases().unwrap_or_default();
        arg.get_long().into_iter().chain(aliases).any(matches)
    };
    if let Some(arg) = search.get_arguments().find(|arg| has_name(arg, &|option| option == name)) {
        return if needs_value(arg) && value.is_none() { WordKind::Needs } else { WordKind::Option };
    }
    let typos = if name.len() < LONG { TYPOS.0 } else { TYPOS.1 };
    // clap reports a misspelled option, with a suggestion.
    let is_typo =
        search.get_arguments().any(|arg| has_name(&arg, &|option| strsim::osa_distance(option, name) <= typos));
    if is_typo { WordKind::Option } else { WordKind::Word }
}

/// Reads a cluster of short options; the last may be followed by a number: `lc`, `n5`.
fn cluster(search: &Command, letters: &str) -> WordKind {
    let mut flags: Vec<&Arg> = Vec::new();
    for (at, letter) in letters.char_indices() {
        let Some(arg) = search.get_arguments().find(|arg| arg.get_short() == Some(letter)) else {
            return WordKind::Word;
        };
        if needs_value(arg) {
            let value = &letters[at + letter.len_utf8()..];
            let is_value = value.starts_with('=') || value.parse::<usize>().is_ok();
            return match value.is_empty() {
                true => WordKind::Needs,
                false if is_value => WordKind::Option,
                false => WordKind::Word,
            };
        }
        flags.push(arg);
    }
    // Flags that conflict or are repeated were not meant as flags: `-cli`, `-ll`.
    let excludes = |flag: &Arg, other: &Arg| flag == other || search.get_arg_conflicts_with(flag).contains(&other);
    let clash = flags
        .iter()
        .enumerate()
        .any(|(at, flag)| flags[at + 1..].iter().any(|other| excludes(flag, other) || excludes(other, flag)));
    if clash { WordKind::Word } else { WordKind::Option }
}

fn needs_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

/// Returns a hint for a search whose first word is the name of a command: `unspool file not found`.
pub(super) fn search_instead(words: &[OsString], error: &clap::Error) -> Option<String> {
    let is_about_words = matches!(error.kind(), ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand);
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let is_text = words.len() > 1 && words[0] != "search" && !words.iter().any(|word| word.starts_with('-'));
    let quoted = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    (is_about_words && is_text).then(|| format!("to search for these words: unspool search {quoted}"))
}
