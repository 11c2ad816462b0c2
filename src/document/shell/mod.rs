//! Which files a shell command changes, as far as the command itself shows it. Pure, and never a guess: what hangs
//! on a pattern, an unknown variable or the output of another command is left out.

mod split;

use std::collections::HashMap;

use crate::document::clean::normal_path;
use crate::document::shell::split::{Part, Piece, Simple, Word, split};

/// What a command does to one file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Touch {
    /// The file, in normal spelling; it may be a folder.
    pub path: String,
    /// What happens to it.
    pub effect: FileEffect,
}

/// What happens to a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FileEffect {
    /// It gets new contents; given where the command holds them.
    Write(Option<String>),
    /// Something is put behind its contents.
    Append(Option<String>),
    /// Some of its contents change.
    Change,
    /// It gets its contents back from version control.
    Restore,
    /// It becomes a copy of another file.
    Copy {
        /// The other file.
        from: String,
    },
    /// It gets another name.
    RenameTo {
        /// The new name, where it is known.
        to: Option<String>,
    },
    /// It comes to be by another file's getting its name.
    RenameFrom {
        /// The old name.
        from: String,
    },
    /// It is deleted.
    Delete,
}

/// Whether a tool runs commands of this shell.
pub fn is_shell(tool: &str) -> bool {
    tool == "Bash"
}

/// Says which files a command changes, in order. `cwd` is where it runs.
pub fn touched(command: &str, cwd: Option<&str>) -> Vec<Touch> {
    let mut shell = Shell { cwd: cwd.map(|cwd| normal_path(cwd, None)), ..Shell::default() };
    for piece in split(command) {
        match piece {
            Piece::Open => shell.outer.push(shell.cwd.clone()),
            Piece::Close => {
                if let Some(cwd) = shell.outer.pop() {
                    shell.cwd = cwd;
                }
            }
            Piece::Command(simple) => shell.run(&simple),
        }
    }
    shell.done
}

/// What is known while reading a command line from left to right.
#[derive(Default)]
struct Shell {
    /// The folder it is in, unless only the shell knows.
    cwd: Option<String>,
    /// The folders of the shells around this one.
    outer: Vec<Option<String>>,
    /// Variables set on the way.
    variables: HashMap<String, String>,
    done: Vec<Touch>,
}

/// Words that may stand before a command.
const LEADS: [&str; 12] = ["sudo", "command", "nohup", "time", "then", "do", "else", "if", "while", "!", "{", "exec"];

impl Shell {
    fn run(&mut self, simple: &Simple) {
        let mut words: &[Word] = &simple.words;
        while let [first, rest @ ..] = words {
            match first.literal() {
                Some(lead) if LEADS.contains(&lead) => words = rest,
                Some("export" | "local" | "declare" | "readonly" | "env") => words = rest,
                Some("timeout") => words = rest.get(1..).unwrap_or_default(),
                _ if self.assigns(first) => words = rest,
                _ => break,
            }
        }
        for redirect in simple.redirects.iter().filter(|redirect| redirect.stdout) {
            let text = || self.said(words, simple.heredoc.as_ref());
            if let Some(path) = self.path(&redirect.target) {
                let effect = if redirect.append { FileEffect::Append(text()) } else { FileEffect::Write(text()) };
                self.note(path, effect);
            }
        }
        let Some((name, arguments)) = words.split_first() else { return };
        match name.literal().map(|name| name.rsplit('/').next().unwrap_or(name)) {
            Some("cd" | "pushd") => self.change_folder(arguments),
            Some("popd") => self.cwd = None,
            Some("for" | "read" | "unset") => self.forget(arguments),
            Some("mv") => self.moved(arguments),
            Some("cp") => self.copied(arguments),
            Some("rm" | "unlink") => self.each(operands(arguments, &[]), &FileEffect::Delete),
            Some("sed") => self.sed(arguments),
            Some("perl") => self.perl(arguments),
            Some("tee") => self.tee(arguments, simple.heredoc.as_ref()),
            Some("patch") => self.patch(arguments, simple.heredoc.as_ref()),
            Some("git") => self.git(arguments, simple.heredoc.as_ref()),
            _ => {}
        }
    }

    /// Takes in `NAME=value`; says whether it was one.
    fn assigns(&mut self, word: &Word) -> bool {
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

    fn forget(&mut self, names: &[Word]) {
        for name in names.iter().filter_map(Word::literal) {
            self.variables.remove(name);
        }
    }

    /// The text of a word, if it is known.
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

    /// The file a word names, if that is known.
    fn path(&self, word: &Word) -> Option<String> {
        self.resolved(&self.text(word)?)
    }

    fn resolved(&self, text: &str) -> Option<String> {
        let windows = self.cwd.as_ref().is_some_and(|cwd| cwd.as_bytes().get(1) == Some(&b':'));
        let text = if windows { drive_of_git_bash(text) } else { text.to_string() };
        let is_absolute = text.starts_with(['/', '~']) || text.as_bytes().get(1) == Some(&b':');
        if text.is_empty() || text.starts_with("/dev/") || (!is_absolute && self.cwd.is_none()) {
            return None;
        }
        Some(normal_path(&text, self.cwd.as_deref()))
    }

    fn note(&mut self, path: String, effect: FileEffect) {
        let touch = Touch { path, effect };
        if !self.done.contains(&touch) {
            self.done.push(touch);
        }
    }

    fn each(&mut self, files: Vec<&Word>, effect: &FileEffect) {
        for path in files.into_iter().filter_map(|word| self.path(word)).collect::<Vec<_>>() {
            self.note(path, effect.clone());
        }
    }

    fn change_folder(&mut self, arguments: &[Word]) {
        self.cwd = match operands(arguments, &[]).first() {
            None => Some("~".to_string()),
            Some(word) if word.literal() == Some("-") => None,
            Some(word) => self.path(word),
        };
    }

    /// What a command prints into a file, where it says so itself.
    fn said(&self, words: &[Word], heredoc: Option<&Word>) -> Option<String> {
        let (name, arguments) = words.split_first()?;
        match name.literal()? {
            "cat" if arguments.is_empty() => self.text(heredoc?),
            "echo" if arguments.first().and_then(Word::literal).is_none_or(|first| !first.starts_with('-')) => {
                let said: Option<Vec<String>> = arguments.iter().map(|word| self.text(word)).collect();
                // Some shells read escapes here, others do not.
                said.map(|said| said.join(" ") + "\n").filter(|said| !said.contains('\\'))
            }
            ":" | "true" => Some(String::new()),
            _ => None,
        }
    }

    /// Where each of several files goes: to a new name, or into a folder.
    fn destinations(&self, arguments: &[Word]) -> Vec<(String, Option<String>)> {
        let files = operands(arguments, &["-t", "-S"]);
        let Some((target, sources)) = files.split_last() else { return Vec::new() };
        let into = self.text(target);
        let mut pairs = Vec::new();
        for from in sources.iter().filter_map(|source| self.path(source)) {
            let name = from.rsplit('/').next().unwrap_or_default();
            let is_folder = |into: &str| sources.len() > 1 || into.ends_with(['/', '.']);
            let to = into.as_deref().and_then(|into| match into {
                folder if is_folder(folder) => self.resolved(&format!("{folder}/{name}")),
                // A name without an ending may be a folder that is there already.
                plain if has_ending(plain) || !has_ending(name) => self.resolved(plain),
                _ => None,
            });
            pairs.push((from, to));
        }
        pairs
    }

    fn moved(&mut self, arguments: &[Word]) {
        for (from, to) in self.destinations(arguments) {
            self.note(from.clone(), FileEffect::RenameTo { to: to.clone() });
            if let Some(to) = to {
                self.note(to, FileEffect::RenameFrom { from });
            }
        }
    }

    fn copied(&mut self, arguments: &[Word]) {
        for (from, to) in self.destinations(arguments) {
            if let Some(to) = to {
                self.note(to, FileEffect::Copy { from });
            }
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
        // The way of BSD: an ending, possibly empty, as a word of its own.
        if options.iter().any(|option| option == "-i") && files.first().and_then(|word| word.literal()) == Some("") {
            files.remove(0);
        }
        let files = files.into_iter().skip(usize::from(!has_script)).collect();
        self.each(files, &FileEffect::Change);
    }

    fn perl(&mut self, arguments: &[Word]) {
        let options: Vec<&str> =
            arguments.iter().filter_map(Word::literal).take_while(|word| word.starts_with('-')).collect();
        let in_place = options
            .iter()
            .any(|option| option.starts_with("-i") || option.starts_with("-pi") || option.starts_with("-0pi"));
        if in_place {
            let takes_script: Vec<&str> = options.iter().copied().filter(|option| option.ends_with('e')).collect();
            self.each(operands(arguments, &takes_script), &FileEffect::Change);
        }
    }

    fn tee(&mut self, arguments: &[Word], heredoc: Option<&Word>) {
        let appends = arguments.iter().filter_map(Word::literal).any(|word| matches!(word, "-a" | "--append"));
        let text = heredoc.and_then(|text| self.text(text));
        let effect = if appends { FileEffect::Append(text) } else { FileEffect::Write(text) };
        self.each(operands(arguments, &[]), &effect);
    }

    fn patch(&mut self, arguments: &[Word], heredoc: Option<&Word>) {
        let files = operands(arguments, &["-i", "-d", "-o", "-B", "-F", "-p"]);
        match files.first() {
            Some(file) => self.each(vec![file], &FileEffect::Change),
            None => {
                let strip =
                    arguments.iter().filter_map(Word::literal).find_map(|word| word.strip_prefix("-p")?.parse().ok());
                self.patched(heredoc, strip.unwrap_or(0));
            }
        }
    }

    /// The files named in the text of a patch.
    fn patched(&mut self, patch: Option<&Word>, strip: usize) {
        let Some(text) = patch.and_then(|text| self.text(text)) else { return };
        for line in text.lines().filter_map(|line| line.strip_prefix("+++ ")) {
            let name = line.split('\t').next().unwrap_or(line).trim();
            let path = name.splitn(strip + 1, '/').nth(strip).filter(|_| name != "/dev/null");
            if let Some(path) = path.and_then(|path| self.resolved(path)) {
                self.note(path, FileEffect::Change);
            }
        }
    }

    fn git(&mut self, arguments: &[Word], heredoc: Option<&Word>) {
        let mut arguments = arguments;
        let before = self.cwd.clone();
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
                Some("mv") => self.moved(rest),
                Some("rm") if !has(&["--cached"]) => self.each(operands(rest, &[]), &FileEffect::Delete),
                Some("checkout") => self.checkout(rest),
                Some("restore") if !has(&["--staged", "-S"]) || has(&["--worktree", "-W"]) => {
                    self.each(operands(rest, &["-s", "--source"]), &FileEffect::Restore);
                }
                Some("apply") => self.patched(heredoc, 1),
                _ => {}
            }
        }
        self.cwd = before;
    }

    /// `git checkout` takes a branch or files; files for certain only behind `--`, or with an ending.
    fn checkout(&mut self, arguments: &[Word]) {
        let dashes = arguments.iter().position(|word| word.literal() == Some("--"));
        let files: Vec<&Word> = match dashes {
            Some(at) => arguments[at + 1..].iter().collect(),
            None if arguments.iter().filter_map(Word::literal).any(|word| matches!(word, "-b" | "-B" | "--orphan")) => {
                Vec::new()
            }
            None => operands(arguments, &[])
                .into_iter()
                .filter(|word| word.literal().is_some_and(|text| has_ending(text) || text == "."))
                .collect(),
        };
        self.each(files, &FileEffect::Restore);
    }
}

/// The words that are no options; some options take the next word with them.
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
            // Keywords and braces that end a construct stand where files do.
            Some("}" | "done" | "fi") => {}
            _ => found.push(word),
        }
    }
    found
}

/// Whether a name has an ending of letters, such as `.rs`.
fn has_ending(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| ending.starts_with(|c: char| c.is_ascii_alphabetic()) && ending.len() <= 12)
}

/// Git's shell on Windows writes `/d/work` for `D:\work`.
fn drive_of_git_bash(path: &str) -> String {
    let bytes = path.as_bytes();
    match bytes {
        [b'/', drive, b'/', ..] if drive.is_ascii_alphabetic() => format!("{}:{}", char::from(*drive), &path[2..]),
        _ => path.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(command: &str, cwd: &str) -> String {
        let show = |touch: Touch| match touch.effect {
            FileEffect::Write(Some(text)) => format!("write {} {text:?}", touch.path),
            FileEffect::Append(Some(text)) => format!("append {} {text:?}", touch.path),
            FileEffect::Write(None) => format!("write {}", touch.path),
            FileEffect::Append(None) => format!("append {}", touch.path),
            FileEffect::Change => format!("change {}", touch.path),
            FileEffect::Restore => format!("restore {}", touch.path),
            FileEffect::Delete => format!("delete {}", touch.path),
            FileEffect::Copy { from } => format!("copy {from} {}", touch.path),
            FileEffect::RenameTo { to } => format!("rename {} {}", touch.path, to.unwrap_or("?".into())),
            FileEffect::RenameFrom { .. } => String::new(),
        };
        let shown: Vec<String> =
            touched(command, Some(cwd)).into_iter().map(show).filter(|text| !text.is_empty()).collect();
        shown.join("; ")
    }

    #[test]
    fn commands_show_what_they_change() {
        for (command, expected) in [
            ("ls -l; cat a.rs | grep x > /dev/null 2>&1", ""),
            ("cargo test 2>&1 | tail -5", ""),
            ("echo hi > a.txt", "write /w/a.txt \"hi\\n\""),
            ("echo \"a b\" 'c' >> log/a.txt", "append /w/log/a.txt \"a b c\\n\""),
            ("echo -n hi > a.txt", "write /w/a.txt"),
            ("printf x >|a.txt", "write /w/a.txt"),
            ("make > out.log 2> err.log", "write /w/out.log"),
            ("make &> all.log", "write /w/all.log"),
            ("> empty.txt", "write /w/empty.txt"),
            (
                "cat > 'my file.md' <<'EOF'\nit's $HOME\n\tx\nEOF\nrm b.md",
                "write /w/my file.md \"it's $HOME\\n\\tx\\n\"; delete /w/b.md",
            ),
            ("cat <<EOF > a\nplain\nEOF", "write /w/a \"plain\\n\""),
            ("cat <<EOF > a\nnot $plain\nEOF", "write /w/a"),
            ("cat > a <<-X && rm b\n\t\tone\n\tX\necho", "write /w/a \"one\\n\"; delete /w/b"),
            ("cat <<'A' | tee x.txt\nhey\nA", "write /w/x.txt"),
            ("tee -a x.txt y.txt <<'A'\nhey\nA", "append /w/x.txt \"hey\\n\"; append /w/y.txt \"hey\\n\""),
            ("mv a.rs b.rs", "rename /w/a.rs /w/b.rs"),
            ("mv -f a.rs src/", "rename /w/a.rs /w/src/a.rs"),
            ("mv a.rs b.rs lib", "rename /w/a.rs /w/lib/a.rs; rename /w/b.rs /w/lib/b.rs"),
            ("mv a.rs lib", "rename /w/a.rs ?"),
            ("mv ../x.rs .", "rename /x.rs /w/x.rs"),
            ("mv old new", "rename /w/old /w/new"),
            ("cp a.rs b.rs && cp -r x.md /tmp/", "copy /w/a.rs /w/b.rs; copy /w/x.md /tmp/x.md"),
            ("rm -rf build src/old.rs -- -x", "delete /w/build; delete /w/src/old.rs; delete /w/-x"),
            ("rm *.tmp \"$F\" $(ls) a[0].c keep.c", "delete /w/keep.c"),
            ("rm {a,b}.c", ""),
            ("sed -i 's/a/b/' x.rs y.rs", "change /w/x.rs; change /w/y.rs"),
            ("sed -i '' 's/a/b/' x.rs", "change /w/x.rs"),
            ("sed -i.bak -e 's/a/b/' -e 's/c/d/' x.rs", "change /w/x.rs"),
            ("sed -n '1,3p' x.rs", ""),
            ("sed -Ei \"s/a/b/\" x.rs", "change /w/x.rs"),
            ("perl -pi -e 's/a/b/' x.rs", "change /w/x.rs"),
            ("git mv a.rs b.rs", "rename /w/a.rs /w/b.rs"),
            ("git rm -q a.rs; git rm --cached b.rs", "delete /w/a.rs"),
            ("git checkout main", ""),
            ("git checkout fix/some-thing", ""),
            ("git checkout -b v1.rs", ""),
            ("git checkout HEAD~1 -- a.rs b", "restore /w/a.rs; restore /w/b"),
            ("git checkout src/a.rs", "restore /w/src/a.rs"),
            ("git restore --staged a.rs; git restore a.rs", "restore /w/a.rs"),
            ("git restore --source HEAD~2 a.rs", "restore /w/a.rs"),
            ("git -C /p checkout -- a.rs; rm b", "restore /p/a.rs; delete /w/b"),
            ("patch src/a.rs < fix.patch", "change /w/src/a.rs"),
            ("patch -p1 <<'E'\n--- a/src/x.rs\n+++ b/src/x.rs\t2026\n@@\nE", "change /w/src/x.rs"),
            ("cd sub && rm a; (cd /q && rm b); rm c", "delete /w/sub/a; delete /q/b; delete /w/sub/c"),
            ("cd \"$X\" && rm a /abs/b", "delete /abs/b"),
            ("cd ~ && rm a", "delete ~/a"),
            ("D=/tmp/s; rm \"$D/a\" ${D}/b $E/c", "delete /tmp/s/a; delete /tmp/s/b"),
            ("for f in a b; do rm $f; done", ""),
            ("f=1; for f in a b; do rm $f; done", ""),
            ("if true; then rm a; fi", "delete /w/a"),
            ("FOO=1 BAR=2 sudo rm a", "delete /w/a"),
            ("rm a # and > b", "delete /w/a"),
            ("echo 'rm a > b'", ""),
            ("echo \"a > b; rm c\"", ""),
            ("grep -rn \"x => y\" src && echo ok", ""),
            ("git commit -m \"$(cat <<'EOF'\ndon't > touch (this\nEOF\n)\" && rm a", "delete /w/a"),
            ("python - <<'EOF' > out.json\nopen('z','w') > 3\nEOF\n", "write /w/out.json"),
            ("diff <(sort a) <(sort b) > d.txt", "write /w/d.txt"),
            ("rm a\\ b.txt \\\n  c.txt", "delete /w/a b.txt; delete /w/c.txt"),
            ("test -f x && mv 'ä ö.txt' \"ü.txt\"", "rename /w/ä ö.txt /w/ü.txt"),
            ("mkdir -p a/b; touch c", ""),
            ("npx prettier --write a.ts", ""),
            ("rm 'unclosed", "delete /w/unclosed"),
            ("cat > a <<'EOF'\nno end", "write /w/a \"no end\\n\""),
        ] {
            assert_eq!(shown(command, "/w"), expected, "{command}");
        }
    }

    #[test]
    fn windows_paths_have_one_spelling() {
        assert_eq!(
            shown("rm /d/omp/a.go D:\\\\omp\\\\b.go ../c.go", "D:\\omp"),
            "delete d:/omp/a.go; delete d:/omp/b.go; delete d:/c.go"
        );
    }
}
