//! Finds the folders and files that a command may change without naming each file, or without certainly changing it:
//! formatters, version control, scripts, and editing commands whose files only a running shell knows. Pure.

use crate::document::shell::formatters::{after_runner, formatter, has, is_format_task, is_rewriter, names_formatting};
use crate::document::shell::split::{Part, SimpleCommand, Word};
use crate::document::shell::{Shell, has_extension, operands};

/// A place in which a command may change files.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Reach {
    /// The normalized path of a file, or of a folder with everything below it.
    path: String,
    /// The extensions of the files that may be changed. Any file if empty.
    extensions: Vec<String>,
    /// The text of a script. Only files that it names may be changed, by their path or below `path`.
    script: Option<String>,
}

impl Reach {
    /// Reports whether the command may change a file.
    pub fn includes(&self, file: &str) -> bool {
        let name = file.rsplit('/').next().unwrap_or(file);
        let is_inside = file
            .strip_prefix(self.path.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || self.path.ends_with('/'));
        if let Some(script) = &self.script {
            return names_file(script, name) && (is_inside || script.contains(file) || script.contains("../"));
        }
        // An entry may also be a whole name, such as `Cargo.toml`.
        let has_extension = |extension: &String| {
            name.strip_suffix(extension).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        is_inside && (self.extensions.is_empty() || self.extensions.iter().any(has_extension))
    }
}

/// Reports whether a text contains a file name that is not part of a longer name.
fn names_file(text: &str, name: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    text.match_indices(name).any(|(at, _)| {
        !text[..at].ends_with(is_name) && !text[at + name.len()..].starts_with(|c| c != '.' && is_name(c))
    })
}

/// Interpreters that run a script from the command line or from a here-document.
const INTERPRETERS: [&str; 9] = ["python", "python3", "node", "ruby", "perl", "deno", "bun", "php", "tsx"];
/// Programs that may change the files they are given: editors, and tools that rewrite code.
const EDITORS: [&str; 20] = [
    "ed",
    "ex",
    "vi",
    "vim",
    "nvim",
    "nano",
    "emacs",
    "ln",
    "sd",
    "dos2unix",
    "unix2dos",
    "jscodeshift",
    "codemod",
    "comby",
    "ast-grep",
    "sg",
    "autoflake",
    "pyupgrade",
    "gsed",
    "csplit",
];
/// Commands of PowerShell that change the files they are given.
const CMDLETS: [&str; 9] = [
    "Add-Content",
    "Clear-Content",
    "Copy-Item",
    "Move-Item",
    "New-Item",
    "Out-File",
    "Remove-Item",
    "Rename-Item",
    "Set-Content",
];
/// Programs that write to the file that one of these options names, or to all files with an option such as `-i`.
const WITH_OPTION: [(&str, &[&str]); 11] = [
    ("iconv", &["-o", "--output"]),
    ("xmllint", &["-o", "--output"]),
    ("curl", &["-o", "--output"]),
    ("wget", &["-O", "--output-document"]),
    ("sort", &["-o", "--output"]),
    ("pandoc", &["-o", "--output"]),
    ("openssl", &["-out"]),
    ("awk", &["-i", "--in-place"]),
    ("gawk", &["-i", "--in-place"]),
    ("jq", &["-i", "--in-place"]),
    ("yq", &["-i", "--in-place", "--inplace"]),
];
/// Shells and interpreters whose first operand is a script.
const SHELLS: [&str; 3] = ["bash", "sh", "zsh"];
/// Texts in a script that writes files.
const WRITES: [&str; 16] = [
    "'w'",
    "\"w\"",
    "'a'",
    "\"a\"",
    "'r+'",
    "\"r+\"",
    "'wb'",
    "\"wb\"",
    "write_text",
    "write_bytes",
    "writeFile",
    "appendFile",
    "File.write",
    "file_put_contents",
    "Deno.write",
    "Bun.write",
];

impl Shell {
    /// Records the places in which a command may change files.
    pub(super) fn record_possible_changes(&mut self, words: &[Word], simple: &SimpleCommand) {
        let words = after_runner(words);
        let Some((name, arguments)) = words.split_first() else { return };
        let Some(name) = name.literal().map(|name| name.rsplit('/').next().unwrap_or(name)) else { return };
        match name {
            "git" => self.git_reach(arguments, simple),
            "find" => self.find_reach(arguments),
            "xargs" => {
                let command = operands(arguments, &["-n", "-P", "-I", "-L", "-d"]);
                let at = command.first().and_then(|first| position(arguments, first));
                self.record_possible_changes(
                    at.map(|at| &arguments[at..]).unwrap_or_default(),
                    &SimpleCommand::default(),
                );
            }
            "sed" | "perl" if edits_in_place(name, arguments) => self.reach_unnamed(arguments),
            "cp" if has(arguments, &["-r", "-R", "-a", "-rf", "--recursive"]) => self.reach_target(arguments),
            "mv" | "cp" | "rm" => self.move_reach(name, arguments),
            "hg" | "svn" | "jj" | "sl" => self.version_control_reach(arguments),
            "fd" | "fdfind" | "parallel" => {
                let command =
                    if name == "parallel" { Some(arguments) } else { after_option(arguments, &["-x", "-X", "--exec"]) };
                let command =
                    command.and_then(|words| words.split_first().map(|(first, rest)| (first.literal(), rest)));
                if let Some((Some(program), rest)) = command
                    && (edits_in_place(program, rest) || formatter(program, rest).is_some())
                {
                    self.reach_folder(None);
                }
            }
            "rsync" => self.reach_target(arguments),
            "tar" if first_has(arguments, 'x') => self.reach_folder(option_value(arguments, "-C")),
            "unzip" if !has(arguments, &["-l", "-t", "-v", "-p", "-Z"]) => {
                self.reach_folder(option_value(arguments, "-d"));
            }
            "patch" if has(arguments, &["--dry-run"]) => {}
            "patch" if simple.heredoc.is_none() && operands(arguments, &["-i", "-d"]).is_empty() => {
                self.reach_folder(option_value(arguments, "-d"));
            }
            "bash" | "sh" | "zsh" if has(arguments, &["-c", "-lc"]) => {
                let script = operands(arguments, &[]).first().and_then(|script| self.text(script));
                if let Some(script) = script {
                    self.outer.push(self.cwd.clone());
                    self.run_line(&script);
                    self.cwd = self.outer.pop().flatten();
                }
            }
            _ => self.format_reach(name, arguments),
        }
        if INTERPRETERS.contains(&name) {
            self.script_reach(name == "perl", arguments, simple.heredoc.as_ref());
        }
        self.named_reach(words, name, arguments);
    }

    /// Records a place, once.
    fn add_reach(&mut self, path: Option<String>, extensions: &[String]) {
        let Some(path) = path else { return };
        let reach = Reach { path, extensions: extensions.to_vec(), script: None };
        if !self.reaches.contains(&reach) {
            self.reaches.push(reach);
        }
    }

    /// Records everything below a folder, or below the working directory.
    fn reach_folder(&mut self, folder: Option<&Word>) {
        let folder = match folder {
            Some(word) => self.path(word),
            None => self.cwd.clone(),
        };
        self.add_reach(folder, &[]);
    }

    /// Records the last operand.
    fn reach_target(&mut self, arguments: &[Word]) {
        let target = operands(arguments, &["-e", "--exclude"]).last().and_then(|target| self.path(target));
        self.add_reach(target, &[]);
    }

    /// Records the operands that only a running shell can expand: a glob, or the variable of a loop.
    fn reach_unnamed(&mut self, arguments: &[Word]) {
        let files = operands(arguments, &["-e", "-f"]);
        if files.len() < 2 {
            // The files come from xargs or find.
            return self.reach_folder(None);
        }
        for word in files.into_iter().skip(1) {
            if self.path(word).is_none() {
                let (folder, extensions) = self.glob_of(word);
                self.add_reach(folder, &extensions);
            }
        }
    }

    /// Returns the folder and the extension of the files that a glob may match.
    fn glob_of(&self, word: &Word) -> (Option<String>, Vec<String>) {
        let start = match word.0.first() {
            Some(Part::Literal(start)) => start.rsplit_once('/').map_or("", |(folder, _)| folder),
            _ => "",
        };
        let end = match word.0.as_slice() {
            [_, .., Part::Literal(end)] => end.rsplit_once('.').map(|(_, extension)| extension.to_string()),
            _ => None,
        };
        let folder = if start.is_empty() { self.cwd.clone() } else { self.resolve(start) };
        (folder, end.filter(|end| end.chars().all(char::is_alphanumeric)).into_iter().collect())
    }

    fn git_reach(&mut self, arguments: &[Word], simple: &SimpleCommand) {
        let mut arguments = arguments;
        let mut folder = self.cwd.clone();
        while let [option, value, rest @ ..] = arguments {
            match option.literal() {
                Some("-C") => folder = self.path(value),
                Some("-c") => {}
                _ => break,
            }
            arguments = rest;
        }
        let Some((name, rest)) = arguments.split_first() else { return };
        let first = rest.first().and_then(Word::literal).unwrap_or_default();
        let changes = match name.literal().unwrap_or_default() {
            "stash" => !matches!(first, "list" | "show" | "drop" | "clear" | "branch" | "create" | "store"),
            "reset" => has(rest, &["--hard", "--merge", "--keep"]),
            "pull" | "merge" | "rebase" | "cherry-pick" | "revert" | "am" => {
                !has(rest, &["--abort", "--help"]) || first == "--abort"
            }
            "apply" => simple.heredoc.is_none() && !has(rest, &["--check", "--stat", "--cached", "--numstat"]),
            "clean" => !has(rest, &["-n", "--dry-run"]) && rest.iter().any(|word| is_flag(word, 'f')),
            "read-tree" => rest.iter().any(|word| is_flag(word, 'u')),
            "checkout-index" | "clang-format" | "filter-branch" | "sparse-checkout" => true,
            "bisect" => !matches!(first, "log" | "view" | "visualize"),
            "switch" => !has(rest, &["-c", "-C", "--create"]),
            "checkout" => {
                let files = has(rest, &["--"]) || first == "." || first.contains('.');
                let only_new_branch = has(rest, &["-b", "-B", "--orphan"]) && operands(rest, &["-b", "-B"]).is_empty();
                !(files || only_new_branch)
            }
            _ => false,
        };
        if changes {
            self.add_reach(folder, &[]);
        }
    }

    /// Records the working directory if another version control system may change files in it.
    fn version_control_reach(&mut self, arguments: &[Word]) {
        const CHANGES: [&str; 24] = [
            "abandon", "backout", "checkout", "co", "edit", "goto", "graft", "import", "merge", "new", "next", "patch",
            "prev", "pull", "rebase", "restore", "revert", "shelve", "squash", "switch", "undo", "unshelve", "up",
            "update",
        ];
        let subcommand = operands(arguments, &[]).first().and_then(|word| word.literal()).unwrap_or_default();
        if CHANGES.contains(&subcommand) {
            self.reach_folder(None);
        }
    }

    /// Records the folders of a `find` that edits or deletes what it finds.
    fn find_reach(&mut self, arguments: &[Word]) {
        let command = arguments.iter().position(|word| matches!(word.literal(), Some("-exec" | "-execdir" | "-ok")));
        let command = command.map(|at| after_runner(&arguments[at + 1..])).unwrap_or_default();
        let (name, rest) =
            command.split_first().map_or(("", command), |(name, rest)| (name.literal().unwrap_or(""), rest));
        let changes = has(arguments, &["-delete"])
            || matches!(name, "rm" | "mv" | "cp" | "bash" | "sh" | "tee" | "truncate")
            || edits_in_place(name, rest)
            || formatter(name, rest).is_some();
        if !changes {
            return;
        }
        let pattern = arguments.iter().position(|word| matches!(word.literal(), Some("-name" | "-iname")));
        let pattern = pattern.and_then(|at| arguments.get(at + 1)).and_then(Word::literal);
        let extension: Vec<String> = pattern
            .and_then(|pattern| pattern.rsplit_once("*."))
            .map(|(_, extension)| extension.to_string())
            .filter(|extension| extension.chars().all(char::is_alphanumeric))
            .into_iter()
            .collect();
        let is_option = |word: &Word| word.literal().is_some_and(|word| word.starts_with(['-', '(', '!']));
        let folders: Vec<&Word> = arguments.iter().take_while(|word| !is_option(word)).collect();
        if folders.is_empty() {
            return self.add_reach(self.cwd.clone(), &extension);
        }
        for folder in folders {
            self.add_reach(self.path(folder), &extension);
        }
    }

    fn format_reach(&mut self, name: &str, arguments: &[Word]) {
        let Some(formatter) = formatter(name, arguments) else { return self.rewrite_reach(name, arguments) };
        let extensions: Vec<String> = formatter.extensions.iter().map(ToString::to_string).collect();
        let with_value =
            ["--edition", "--config", "-c", "--config-path", "--manifest-path", "-p", "--package", "--select"];
        // Subcommands such as `format` are operands, too, but not paths.
        let is_word = |word: &str| formatter.needs.iter().any(|need| need.split('|').any(|need| need == word));
        let is_path = |word: &&Word| {
            word.literal()
                .is_none_or(|word| !is_word(word) && !matches!(word, "check" | "run" | "format" | "fmt" | "lint"))
        };
        let takes_paths =
            !matches!(name, "cargo" | "go" | "npm" | "pnpm" | "yarn" | "make" | "mix" | "dotnet" | "pre-commit");
        let paths: Vec<&Word> = operands(arguments, &with_value).into_iter().filter(is_path).collect();
        if paths.is_empty() || !takes_paths {
            return self.add_reach(self.cwd.clone(), &extensions);
        }
        for word in paths {
            match self.path(word).filter(|_| word.literal().is_none_or(|word| !word.contains('*'))) {
                // A file is formatted whatever its name, but in a folder only those of the right kind.
                Some(path) => {
                    let is_file = has_extension(&path);
                    self.add_reach(Some(path), if is_file { &[] } else { &extensions });
                }
                // A quoted glob is expanded by the formatter.
                None => {
                    let text = word.literal().unwrap_or_default();
                    let folder =
                        text.split('*').next().and_then(|start| start.rsplit_once('/')).map(|(folder, _)| folder);
                    let folder = folder.map_or_else(|| self.glob_of(word).0, |folder| self.resolve(folder));
                    self.add_reach(folder, &extensions);
                }
            }
        }
    }

    /// Records the paths passed to a program that rewrites files, or the working directory if there are none.
    fn rewrite_reach(&mut self, name: &str, arguments: &[Word]) {
        if is_format_task(name, arguments) {
            return self.reach_folder(None);
        }
        if !is_rewriter(name, arguments) {
            return;
        }
        let is_path =
            |word: &&Word| word.literal().is_none_or(|word| word.contains(['/', '.']) || !names_formatting(word));
        let paths: Vec<&Word> = operands(arguments, &[]).into_iter().filter(is_path).collect();
        if paths.is_empty() {
            return self.reach_folder(None);
        }
        for word in paths {
            match self.path(word) {
                Some(path) => self.add_reach(Some(path), &[]),
                None => {
                    let (folder, extensions) = self.glob_of(word);
                    self.add_reach(folder, &extensions);
                }
            }
        }
    }

    /// Records the files of a word that only a running shell can expand: a glob, braces, or the variable of a loop.
    /// Other variables and substitutions may stand for anything and are left out.
    pub(super) fn reach_expanded(&mut self, word: &Word) {
        if self.path(word).is_some() {
            return;
        }
        let is_loop = |part: &Part| matches!(part, Part::Variable(name) if self.loops.contains(name));
        let is_glob = match word.0.as_slice() {
            [Part::Literal(start), ..] => !start.is_empty(),
            [Part::Unknown, .., Part::Literal(end)] => has_extension(end),
            _ => false,
        };
        if is_glob || word.0.iter().any(is_loop) {
            let (folder, extensions) = self.glob_of(word);
            self.add_reach(folder, &extensions);
        }
    }

    /// Records the paths that `mv`, `cp` and `rm` may change but that cannot be known: globs, variables, and a target
    /// that may be a folder.
    fn move_reach(&mut self, name: &str, arguments: &[Word]) {
        let files = operands(arguments, &["-t", "-S"]);
        let Some((target, sources)) = files.split_last() else { return };
        for word in if name == "cp" { &files[files.len() - 1..] } else { &files[..] } {
            self.reach_expanded(word);
        }
        let folder = self.text(target).filter(|_| name != "rm");
        let Some(folder) = folder.as_deref().map(|folder| folder.trim_end_matches('/')) else { return };
        for source in sources {
            match self.path(source) {
                // The target may be a folder.
                Some(from) if !has_extension(folder) => {
                    let inside = format!("{folder}/{}", from.rsplit('/').next().unwrap_or_default());
                    let path = self.resolve(&inside);
                    self.add_reach(path, &[]);
                }
                Some(_) => {}
                None => {
                    let (_, extensions) = self.glob_of(source);
                    let path = self.resolve(folder);
                    self.add_reach(path, &extensions);
                }
            }
        }
    }

    /// Records the files that are given to an editor, or to a script whose contents are not known.
    fn named_reach(&mut self, words: &[Word], name: &str, arguments: &[Word]) {
        let command = words.first().and_then(Word::literal).unwrap_or_default();
        let is_own_script = command.contains('/') && matches!(extension(name), None | Some("sh" | "py" | "js" | "rb"));
        let is_option = |(program, options): &(&str, &[&str])| *program == name && has(arguments, options);
        let is_cmdlet = CMDLETS.iter().any(|cmdlet| cmdlet.eq_ignore_ascii_case(name));
        let files = if EDITORS.contains(&name) || is_cmdlet || WITH_OPTION.iter().any(is_option) || is_own_script {
            arguments
        } else if INTERPRETERS.contains(&name) || SHELLS.contains(&name) {
            let script = operands(arguments, &[]).first().and_then(|first| position(arguments, first));
            let is_inline =
                |word: &Word| word.literal().is_some_and(|word| word.starts_with('-') && word.ends_with('e'));
            let only_reads = |script: &str| !WRITES.iter().any(|text| script.contains(text)) && !script.contains('>');
            let reads = arguments.iter().any(is_inline)
                && script.and_then(|at| arguments[at].literal()).is_some_and(only_reads);
            script.filter(|_| !reads).map(|at| &arguments[at + 1..]).unwrap_or_default()
        } else {
            &[]
        };
        for word in files {
            let is_file = word.literal().is_some_and(|word| !word.starts_with('-') && has_extension(word));
            if is_file {
                self.add_reach(self.path(word), &[]);
            }
        }
    }

    /// Records the files that a script on the command line or in a here-document names, if it writes files.
    fn script_reach(&mut self, is_perl: bool, arguments: &[Word], heredoc: Option<&Word>) {
        let inline = ["-c", "-e", "--eval", "eval"].iter().find_map(|option| option_value(arguments, option));
        let Some(script) = inline.or(heredoc).and_then(|word| self.text(word)) else { return };
        if WRITES.iter().any(|text| script.contains(text))
            || (is_perl && script.contains("open") && script.contains('>'))
        {
            let path = self.cwd.clone().unwrap_or_else(|| "/".to_string());
            self.reaches.push(Reach { path, script: Some(script), ..Reach::default() });
        }
    }
}

/// Reports whether `sed` or `perl` edits files in place.
fn edits_in_place(name: &str, arguments: &[Word]) -> bool {
    matches!(name, "sed" | "perl")
        && arguments
            .iter()
            .filter_map(Word::literal)
            .take_while(|word| word.starts_with('-'))
            .any(|option| option.starts_with("--in-place") || (!option.starts_with("--") && option.contains('i')))
}

/// Returns the place of a word among the words it is one of.
fn position(words: &[Word], wanted: &Word) -> Option<usize> {
    words.iter().position(|word| std::ptr::eq(word, wanted))
}

/// Returns the extension of a file name.
fn extension(name: &str) -> Option<&str> {
    name.rsplit_once('.').map(|(_, extension)| extension)
}

/// Reports whether a word is a group of short options that contains `flag`.
fn is_flag(word: &Word, flag: char) -> bool {
    word.literal().is_some_and(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(flag))
}

/// Reports whether the first word, with or without a dash, contains `flag`.
fn first_has(words: &[Word], flag: char) -> bool {
    words.first().and_then(Word::literal).is_some_and(|word| !word.starts_with("--") && word.contains(flag))
}

/// Returns the words after the first of some options.
fn after_option<'w>(words: &'w [Word], options: &[&str]) -> Option<&'w [Word]> {
    let at = words.iter().position(|word| word.literal().is_some_and(|word| options.contains(&word)))?;
    words.get(at + 1..)
}

/// Returns the word after an option.
fn option_value<'w>(words: &'w [Word], option: &str) -> Option<&'w Word> {
    let at = words.iter().position(|word| word.literal() == Some(option))?;
    words.get(at + 1)
}
