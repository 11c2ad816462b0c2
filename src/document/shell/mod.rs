//! Finds the files that a shell command changes, without running it. Pure.
//!
//! Never guesses: anything that depends on a glob, an unknown variable or the output of another command is left out.

mod split;
mod formatters;
mod reach;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use crate::document::clean::normal_path;
pub(super) use crate::document::shell::reach::Reach;
use crate::document::shell::split::{Part, Piece, SimpleCommand, Word, split};

/// The effect of a command on one file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Touch {
    /// The normalized path of the file. It may be a folder.
    pub path: String,
    /// The effect on the file.
    pub effect: FileEffect,
}

/// A change to a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FileEffect {
    /// Overwritten. Has the new contents if the command contains them.
    Write(Option<String>),
    /// Appended to. Has the appended text if the command contains it.
    Append(Option<String>),
    /// Changed in part.
    Change,
    /// Restored from version control.
    Restore,
    /// Replaced by a copy of another file.
    Copy {
        /// The other file.
        from: String,
    },
    /// Renamed to another path.
    RenameTo {
        /// The new path, if it is known.
        to: Option<String>,
    },
    /// Created by renaming another file.
    RenameFrom {
        /// The old path.
        from: String,
    },
    /// Deleted.
    Delete,
}

/// Reports whether a tool runs Bash commands.
pub fn is_shell(tool: &str) -> bool {
    tool == "Bash"
}

/// Returns the files that a command changes, in order. `cwd` is the folder it runs in.
pub fn touched(command: &str, cwd: Option<&str>) -> Vec<Touch> {
    Shell::after(command, cwd).touches
}

/// Returns the files and folders in which a command may change files that it does not name, or whose change depends on
/// their contents: formatters, version control, scripts. `cwd` is the folder it runs in.
pub fn may_change(command: &str, cwd: Option<&str>) -> Vec<Reach> {
    Shell::after(command, cwd).reaches
}

/// The state of a simulated shell while it reads a command line from left to right.
#[derive(Default)]
struct Shell {
    /// The working directory, if it is known.
    cwd: Option<String>,
    /// The working directories of the enclosing shells.
    outer: Vec<Option<String>>,
    /// Variables assigned so far whose values are known.
    variables: HashMap<String, String>,
    /// Variables of loops, which have several values.
    loops: HashSet<String>,
    touches: Vec<Touch>,
    reaches: Vec<Reach>,
}

/// Words that may precede a command.
const COMMAND_PREFIXES: [&str; 12] =
    ["sudo", "command", "nohup", "time", "then", "do", "else", "if", "while", "!", "{", "exec"];

impl Shell {
    /// Returns the state after a command line.
    fn after(command: &str, cwd: Option<&str>) -> Self {
        let mut shell = Self { cwd: cwd.map(|cwd| normal_path(cwd, None)), ..Self::default() };
        shell.run_line(command);
        shell
    }

    /// Records the effects of a command line.
    fn run_line(&mut self, command: &str) {
        for piece in split(command) {
            match piece {
                Piece::Open => self.outer.push(self.cwd.clone()),
                Piece::Close => {
                    if let Some(cwd) = self.outer.pop() {
                        self.cwd = cwd;
                    }
                }
                Piece::Command(simple) => self.run(&simple),
            }
        }
    }

    /// Records the effects of one simple command.
    fn run(&mut self, simple: &SimpleCommand) {
        let mut words: &[Word] = &simple.words;
        while let [first, rest @ ..] = words {
            match first.literal() {
                Some(word) if COMMAND_PREFIXES.contains(&word) => words = rest,
                Some("export" | "local" | "declare" | "readonly" | "env") => words = rest,
                Some("timeout") => words = rest.get(1..).unwrap_or_default(),
                _ if self.assign(first) => words = rest,
                _ => break,
            }
        }
        for redirect in simple.redirects.iter().filter(|redirect| redirect.stdout) {
            let text = || self.printed_text(words, simple.heredoc.as_ref());
            if let Some(path) = self.path(&redirect.target) {
                let effect = if redirect.append { FileEffect::Append(text()) } else { FileEffect::Write(text()) };
                self.record(path, effect);
            } else {
                self.reach_expanded(&redirect.target);
            }
        }
        let Some((name, arguments)) = words.split_first() else { return };
        match name.literal().map(|name| name.rsplit('/').next().unwrap_or(name)) {
            Some("cd" | "pushd") => self.change_folder(arguments),
            Some("popd") => self.cwd = None,
            Some("unset") => self.unset(arguments),
            Some("for" | "read") => {
                self.unset(arguments);
                self.loops.extend(arguments.iter().filter_map(Word::literal).map(str::to_string));
            }
            Some("mv") => self.mv(arguments),
            Some("cp") => self.cp(arguments),
            Some("rm" | "unlink") => self.record_each(operands(arguments, &[]), &FileEffect::Delete),
            Some("sed") => self.sed(arguments),
            Some("perl") => self.perl(arguments),
            Some("tee") => self.tee(arguments, simple.heredoc.as_ref()),
            Some("patch") => self.patch(arguments, simple.heredoc.as_ref()),
            Some("git") => self.git(arguments, simple.heredoc.as_ref()),
            Some("dd") => self.dd(arguments),
            Some("truncate") => self.record_each(operands(arguments, &["-s", "-r"]), &FileEffect::Change),
            Some("sponge") => self.record_each(operands(arguments, &[]), &FileEffect::Write(None)),
            Some("install") => self.cp(&without_values(arguments, &["-m", "-o", "-g"])),
            _ => {}
        }
        self.record_possible_changes(words, simple);
    }

    /// Executes `NAME=value`. Reports whether the word is an assignment.
    fn assign(&mut self, word: &Word) -> bool {
        let Some(Part::Literal(first)) = word.0.first() else { return false };
        let Some((name, start)) = first.split_once('=') else { return false };
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return false;
        }
        let mut value = Word(vec![Part::Literal(start.to_string())]);
        value.0.extend_from_slice(&word.0[1..]);
        match self.text(&value) {
            Some(value) => self.variables.insert(name.to_string(), value),
            None => self.variables.remove(name),
        };
        true
    }

    /// Removes variables whose values are no longer known.
    fn unset(&mut self, names: &[Word]) {
        for name in names.iter().filter_map(Word::literal) {
            self.variables.remove(name);
            self.loops.remove(name);
        }
    }

    /// Expands a word, if all its parts are known.
    fn text(&self, word: &Word) -> Option<String> {
        let mut text = String::new();
        for part in &word.0 {
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Variable(name) if name == "HOME" => text.push('~'),
                Part::Variable(name) if name == "PWD" => text.push_str(self.cwd.as_ref()?),
                Part::Variable(name) => text.push_str(self.variables.get(name)?),
                Part::Unknown => return None,
            }
        }
        Some(text)
    }

    /// Returns the path of the file that a word names, if it is known.
    fn path(&self, word: &Word) -> Option<String> {
        self.resolve(&self.text(word)?)
    }

    /// Normalizes a path. Returns `None` for devices, and for relative paths in an unknown folder.
    fn resolve(&self, text: &str) -> Option<String> {
        let windows = self.cwd.as_ref().is_some_and(|cwd| cwd.as_bytes().get(1) == Some(&b':'));
        let text = if windows { from_git_bash(text) } else { text.to_string() };
        let is_absolute = text.starts_with(['/', '~']) || text.as_bytes().get(1) == Some(&b':');
        if text.is_empty() || text.starts_with("/dev/") || (!is_absolute && self.cwd.is_none()) {
            return None;
        }
        Some(normal_path(&text, self.cwd.as_deref()))
    }

    /// Records an effect, once.
    fn record(&mut self, path: String, effect: FileEffect) {
        let touch = Touch { path, effect };
        if !self.touches.contains(&touch) {
            self.touches.push(touch);
        }
    }

    /// Records the same effect for each of the files whose paths are known.
    fn record_each(&mut self, files: Vec<&Word>, effect: &FileEffect) {
        for path in files.into_iter().filter_map(|word| self.path(word)).collect::<Vec<_>>() {
            self.record(path, effect.clone());
        }
    }

    fn change_folder(&mut self, arguments: &[Word]) {
        self.cwd = match operands(arguments, &[]).first() {
            None => Some("~".to_string()),
            Some(word) if word.literal() == Some("-") => None,
            Some(word) => self.path(word),
        };
    }

    /// Returns the standard output of a command, if the command line alone determines it.
    fn printed_text(&self, words: &[Word], heredoc: Option<&Word>) -> Option<String> {
        let (name, arguments) = words.split_first()?;
        match name.literal()? {
            "cat" if arguments.is_empty() => self.text(heredoc?),
            "echo" if arguments.first().and_then(Word::literal).is_none_or(|first| !first.starts_with('-')) => {
                let texts: Option<Vec<String>> = arguments.iter().map(|word| self.text(word)).collect();
                // Some shells interpret escapes in `echo`, others do not.
                texts.map(|texts| texts.join(" ") + "\n").filter(|text| !text.contains('\\'))
            }
            ":" | "true" => Some(String::new()),
            _ => None,
        }
    }

    /// Pairs each source of `mv` or `cp` with its destination: a new name, or a path in a folder. The destination is
    /// `None` if it is not known.
    fn destinations(&self, arguments: &[Word]) -> Vec<(String, Option<String>)> {
        let files = operands(arguments, &["-t", "-S"]);
        let Some((target, sources)) = files.split_last() else { return Vec::new() };
        let into = self.text(target);
        let mut pairs = Vec::new();
        for from in sources.iter().filter_map(|source| self.path(source)) {
            let name = from.rsplit('/').next().unwrap_or_default();
            let is_folder = |into: &str| sources.len() > 1 || into.ends_with(['/', '.']);
            let to = into.as_deref().and_then(|into| match into {
                folder if is_folder(folder) => self.resolve(&format!("{folder}/{name}")),
                // A target without an extension may be an existing folder.
                plain if has_extension(plain) || !has_extension(name) => self.resolve(plain),
                _ => None,
            });
            pairs.push((from, to));
        }
        pairs
    }

    fn mv(&mut self, arguments: &[Word]) {
        for (from, to) in self.destinations(arguments) {
            self.record(from.clone(), FileEffect::RenameTo { to: to.clone() });
            if let Some(to) = to {
                self.record(to, FileEffect::RenameFrom { from });
            }
        }
    }

    fn cp(&mut self, arguments: &[Word]) {
        for (from, to) in self.destinations(arguments) {
            if let Some(to) = to {
                self.record(to, FileEffect::Copy { from });
            }
        }
    }

    fn dd(&mut self, arguments: &[Word]) {
        let target = arguments.iter().filter_map(Word::literal).find_map(|word| word.strip_prefix("of="));
        if let Some(path) = target.and_then(|target| self.resolve(target)) {
            self.record(path, FileEffect::Write(None));
        }
    }

    fn sed(&mut self, arguments: &[Word]) {
        let option = |word: &Word| word.literal().filter(|word| word.starts_with('-')).map(str::to_string);
        let options: Vec<String> = arguments.iter().filter_map(option).collect();
        let in_place =
            |option: &String| option.starts_with("--in-place") || (!option.starts_with("--") && option.contains('i'));
        if !options.iter().any(in_place) {
            return;
        }
        let has_script = options.iter().any(|option| {
            matches!(option.as_str(), "-e" | "-f") || option.starts_with("--expression") || option.starts_with("--file")
        });
        let mut files = operands(arguments, &["-e", "-f"]);
        // BSD sed takes the backup suffix, possibly empty, as a separate word.
        if options.iter().any(|option| option == "-i") && files.first().and_then(|word| word.literal()) == Some("") {
            files.remove(0);
        }
        let files = files.into_iter().skip(usize::from(!has_script)).collect();
        self.record_each(files, &FileEffect::Change);
    }

    fn perl(&mut self, arguments: &[Word]) {
        let options: Vec<&str> =
            arguments.iter().filter_map(Word::literal).take_while(|word| word.starts_with('-')).collect();
        let in_place = options
            .iter()
            .any(|option| option.starts_with("-i") || option.starts_with("-pi") || option.starts_with("-0pi"));
        if in_place {
            let takes_script: Vec<&str> = options.iter().copied().filter(|option| option.ends_with('e')).collect();
            self.record_each(operands(arguments, &takes_script), &FileEffect::Change);
        }
    }

    fn tee(&mut self, arguments: &[Word], heredoc: Option<&Word>) {
        let appends = arguments.iter().filter_map(Word::literal).any(|word| matches!(word, "-a" | "--append"));
        let text = heredoc.and_then(|text| self.text(text));
        let effect = if appends { FileEffect::Append(text) } else { FileEffect::Write(text) };
        self.record_each(operands(arguments, &[]), &effect);
    }

    fn patch(&mut self, arguments: &[Word], heredoc: Option<&Word>) {
        let files = operands(arguments, &["-i", "-d", "-o", "-B", "-F", "-p"]);
        match files.first() {
            Some(file) => self.record_each(vec![file], &FileEffect::Change),
            None => {
                let strip =
                    arguments.iter().filter_map(Word::literal).find_map(|word| word.strip_prefix("-p")?.parse().ok());
                self.apply_patch(heredoc, strip.unwrap_or(0));
            }
        }
    }

    /// Records the files named in the text of a patch. `strip` is the number of leading path components to remove.
    fn apply_patch(&mut self, patch: Option<&Word>, strip: usize) {
        let Some(text) = patch.and_then(|text| self.text(text)) else { return };
        for line in text.lines().filter_map(|line| line.strip_prefix("+++ ")) {
            let name = line.split('\t').next().unwrap_or(line).trim();
            let path = name.splitn(strip + 1, '/').nth(strip).filter(|_| name != "/dev/null");
            if let Some(path) = path.and_then(|path| self.resolve(path)) {
                self.record(path, FileEffect::Change);
            }
        }
    }

    fn git(&mut self, arguments: &[Word], heredoc: Option<&Word>) {
        let mut arguments = arguments;
        let saved_cwd = self.cwd.clone();
        while let [option, value, rest @ ..] = arguments {
            match option.literal() {
                Some("-C") => self.cwd = self.path(value),
                Some("-c") => {}
                _ => break,
            }
            arguments = rest;
        }
        if let Some((name, rest)) = arguments.split_first() {
            let has = |wanted: &[&str]| rest.iter().filter_map(Word::literal).any(|word| wanted.contains(&word));
            match name.literal() {
                Some("mv") => self.mv(rest),
                Some("rm") if !has(&["--cached"]) => self.record_each(operands(rest, &[]), &FileEffect::Delete),
                Some("checkout") => self.checkout(rest),
                Some("restore") if !has(&["--staged", "-S"]) || has(&["--worktree", "-W"]) => {
                    self.record_each(operands(rest, &["-s", "--source"]), &FileEffect::Restore);
                }
                Some("apply") => self.apply_patch(heredoc, 1),
                _ => {}
            }
        }
        self.cwd = saved_cwd;
    }

    /// Records the files of a `git checkout`. Its arguments may be a branch instead. Only those after `--`, or with an
    /// extension, are certainly files.
    fn checkout(&mut self, arguments: &[Word]) {
        let dashes = arguments.iter().position(|word| word.literal() == Some("--"));
        let files: Vec<&Word> = match dashes {
            Some(at) => arguments[at + 1..].iter().collect(),
            None if arguments.iter().filter_map(Word::literal).any(|word| matches!(word, "-b" | "-B" | "--orphan")) => {
                Vec::new()
            }
            None => operands(arguments, &[])
                .into_iter()
                .filter(|word| word.literal().is_some_and(|text| has_extension(text) || text == "."))
                .collect(),
        };
        self.record_each(files, &FileEffect::Restore);
    }
}

/// Returns the words that are not options. The options in `with_value` take the next word as their value.
fn operands<'w>(words: &'w [Word], with_value: &[&str]) -> Vec<&'w Word> {
    let mut found = Vec::new();
    let mut only_operands = false;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.literal() {
            Some("--") if !only_operands => only_operands = true,
            Some(option) if !only_operands && option.len() > 1 && option.starts_with('-') => {
                if with_value.contains(&option) {
                    words.next();
                }
            }
            // Keywords and braces that end a construct can appear among the operands.
            Some("}" | "done" | "fi") => {}
            _ => found.push(word),
        }
    }
    found
}

/// Returns the words without the options in `with_value` and their values.
fn without_values(words: &[Word], with_value: &[&str]) -> Vec<Word> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word.literal().is_some_and(|option| with_value.contains(&option)) {
            words.next();
        } else {
            kept.push(word.clone());
        }
    }
    kept
}

/// Reports whether a path has an extension that starts with a letter, such as `.rs`.
fn has_extension(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    extension.is_some_and(|text| text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.len() <= 12)
}

/// Converts a path of Git Bash on Windows: `/d/work` means `D:\work`.
fn from_git_bash(path: &str) -> String {
    let bytes = path.as_bytes();
    match bytes {
        [b'/', drive, b'/', ..] if drive.is_ascii_alphabetic() => format!("{}:{}", char::from(*drive), &path[2..]),
        _ => path.to_string(),
    }
}
