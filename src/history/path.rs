//! Which files are meant by what the user typed. Pure.

use std::collections::BTreeSet;

use crate::document::normal_path;
use crate::index::{Spelling, escaped};

/// A way to understand a path, and the files it stands for.
#[derive(Clone, Debug)]
pub(super) enum Wanted {
    /// One path, and everything below it, in each of its spellings.
    Whole(Vec<String>),
    /// The tail of a path, and everything below it.
    Tail(String),
    /// A pattern.
    Glob(String),
}

/// Where the user is.
#[derive(Clone, Debug, Default)]
pub struct Here {
    /// The folder the command runs in.
    pub cwd: String,
    /// The user's home.
    pub home: Option<String>,
}

/// The ways to understand a path, the closest first.
pub(super) fn readings(text: &str, here: &Here) -> Vec<Wanted> {
    let path = normal_path(text, None);
    let is_absolute = is_absolute(&path);
    if path.contains(['*', '?', '[']) {
        let near = normal_path(text, Some(&here.cwd));
        return if is_absolute { vec![Wanted::Glob(path)] } else { vec![Wanted::Glob(near), Wanted::Glob(path)] };
    }
    let whole = normal_path(text, Some(&here.cwd));
    let mut spellings = vec![whole.clone()];
    if let Some(home) = &here.home {
        spellings.extend(
            whole.strip_prefix(home.as_str()).filter(|rest| rest.starts_with('/')).map(|rest| format!("~{rest}")),
        );
        spellings.extend(whole.strip_prefix("~/").map(|rest| format!("{home}/{rest}")));
    }
    let mut readings = vec![Wanted::Whole(spellings)];
    let tail = path.trim_start_matches("../");
    if !is_absolute && !tail.is_empty() && tail != "." && tail != ".." {
        readings.push(Wanted::Tail(tail.to_string()));
    }
    readings
}

fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '~']) || path.as_bytes().get(1) == Some(&b':')
}

impl Wanted {
    /// How to find it in the index.
    pub(super) fn spellings(&self) -> Vec<Spelling> {
        let both = |path: &str| [Spelling::Exact(path.to_lowercase()), Spelling::Below(path.to_lowercase())];
        match self {
            Self::Whole(paths) => paths.iter().flat_map(|path| both(path)).collect(),
            Self::Tail(tail) => both(tail).into(),
            Self::Glob(pattern) => vec![Spelling::Pattern(regex_of(&pattern.to_lowercase()))],
        }
    }

    /// Whether a path is meant.
    pub(super) fn matches(&self, path: &str) -> bool {
        let path = path.to_lowercase();
        let below =
            |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        match self {
            Self::Whole(paths) => paths.iter().any(|whole| below(&whole.to_lowercase())),
            Self::Tail(tail) => {
                let tail = format!("/{}", tail.to_lowercase());
                format!("/{path}/").contains(&format!("{tail}/"))
            }
            Self::Glob(pattern) => {
                let pattern = pattern.to_lowercase();
                let mut tails = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
                if is_absolute(&pattern) {
                    glob(pattern.as_bytes(), path.as_bytes())
                } else {
                    tails.any(|at| glob(pattern.as_bytes(), &path.as_bytes()[at..]))
                }
            }
        }
    }

    /// Whether a path is the one that is meant, rather than one below it.
    pub(super) fn names(&self, path: &str) -> bool {
        let path = path.to_lowercase();
        match self {
            Self::Whole(paths) => paths.iter().any(|whole| whole.to_lowercase() == path),
            Self::Tail(tail) => format!("/{path}").ends_with(&format!("/{}", tail.to_lowercase())),
            Self::Glob(_) => true,
        }
    }

    /// The name to look for in what was said; a pattern has none.
    pub(super) fn name(&self) -> Option<String> {
        match self {
            Self::Whole(paths) => paths.first().cloned(),
            Self::Tail(tail) => Some(tail.clone()),
            Self::Glob(_) => None,
        }
    }

    /// The file that a text names, if it is this one: by its whole path, or by the part of it below the folder the
    /// words were said in.
    pub(super) fn named_in(&self, text: &str, cwd: Option<&str>) -> Option<String> {
        match self {
            Self::Whole(paths) => {
                let below = |path: &str| {
                    let folder = normal_path(cwd?, None);
                    let rest = path.strip_prefix(&folder)?.strip_prefix('/')?.to_string();
                    Some(rest)
                };
                let is_named =
                    |path: &String| stands_in(text, path) || below(path).is_some_and(|rest| stands_in(text, &rest));
                paths.iter().find(|path| is_named(path)).cloned()
            }
            Self::Tail(tail) => stands_in(text, tail).then(|| tail.clone()),
            Self::Glob(_) => None,
        }
    }

    /// Keeps the files that are spelled just as the user typed them, if there are any.
    pub(super) fn prefer_exact(&self, files: &mut BTreeSet<String>) {
        let is_exact = |file: &String| match self {
            Self::Whole(paths) => paths.iter().any(|path| below_exactly(file, path)),
            Self::Tail(tail) => format!("/{file}/").contains(&format!("/{tail}/")),
            Self::Glob(_) => true,
        };
        if files.iter().any(is_exact) {
            files.retain(|file| is_exact(file) || folds_case(file));
        }
    }
}

/// Whether a text holds a path that is not just a piece of a longer name.
fn stands_in(text: &str, path: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.match_indices(path).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let mut after = text[at + path.len()..].chars();
        let next = after.next();
        let goes_on = next == Some('.') && after.next().is_some_and(is_name);
        !before.is_some_and(is_name) && !next.is_some_and(is_name) && !goes_on
    })
}

fn below_exactly(file: &str, folder: &str) -> bool {
    file.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether upper and lower case are one in a path: so on Windows.
pub(super) fn folds_case(path: &str) -> bool {
    path.as_bytes().get(1) == Some(&b':')
}

/// What tells a file from all others.
pub(super) fn identity(path: &str) -> String {
    if folds_case(path) { path.to_lowercase() } else { path.to_string() }
}

/// The folders above a path, the nearest first.
pub(super) fn folders_above(path: &str) -> Vec<String> {
    let ends = path.rmatch_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
    ends.map(|at| path[..at].to_string()).collect()
}

/// A pattern as a regular expression: `*` and `?` stay within a folder, `**` does not.
fn regex_of(pattern: &str) -> String {
    let mut regex = String::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("**/") {
            regex.push_str("(.*/)?");
            rest = after;
            continue;
        }
        if let Some(after) = rest.strip_prefix("**") {
            regex.push_str(".*");
            rest = after;
            continue;
        }
        rest = &rest[first.len_utf8()..];
        match (first, rest.find(']')) {
            ('*', _) => regex.push_str("[^/]*"),
            ('?', _) => regex.push_str("[^/]"),
            ('[', Some(end)) => {
                let set =
                    rest[..end].strip_prefix('!').map_or_else(|| rest[..end].to_string(), |set| format!("^{set}"));
                regex.push_str(&format!("[{}]", set.replace('\\', "\\\\").replace('[', "\\[").replace('&', "\\&")));
                rest = &rest[end + 1..];
            }
            (other, _) => regex.push_str(&escaped(other.encode_utf8(&mut [0; 4]))),
        }
    }
    regex
}

/// Matches a pattern from end to end.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    match pattern {
        [] => text.is_empty(),
        [b'*', b'*', b'/', rest @ ..] => {
            let mut starts = std::iter::once(0)
                .chain(text.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at + 1));
            starts.any(|at| glob(rest, &text[at..]))
        }
        [b'*', b'*', rest @ ..] => (0..=text.len()).any(|at| glob(rest, &text[at..])),
        [b'*', rest @ ..] => {
            let end = text.iter().position(|byte| *byte == b'/').unwrap_or(text.len());
            (0..=end).any(|at| glob(rest, &text[at..]))
        }
        [b'?', rest @ ..] => text.split_first().is_some_and(|(first, text)| *first != b'/' && glob(rest, text)),
        [b'[', rest @ ..] if rest.contains(&b']') => {
            let end = rest.iter().position(|byte| *byte == b']').unwrap_or(0);
            let (negated, set) = rest[..end].strip_prefix(b"!").map_or((false, &rest[..end]), |set| (true, set));
            text.split_first()
                .is_some_and(|(first, text)| in_set(set, *first) != negated && glob(&rest[end + 1..], text))
        }
        [byte, rest @ ..] => text.split_first().is_some_and(|(first, text)| first == byte && glob(rest, text)),
    }
}

fn in_set(set: &[u8], byte: u8) -> bool {
    match set {
        [from, b'-', to, rest @ ..] => (*from..=*to).contains(&byte) || in_set(rest, byte),
        [one, rest @ ..] => *one == byte || in_set(rest, byte),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> Here {
        Here { cwd: "/home/u/p".into(), home: Some("/home/u".into()) }
    }

    #[test]
    fn paths_are_understood_in_order() {
        for (typed, path, nth) in [
            ("src/a.rs", "/home/u/p/src/a.rs", Some(0)),
            ("./src/a.rs", "/home/u/p/src/a.rs", Some(0)),
            ("src/a.rs", "/other/src/a.rs", Some(1)),
            ("a.rs", "/x/a.rs", Some(1)),
            ("a.rs", "/x/ba.rs", None),
            ("src", "/home/u/p/src/deep/a.rs", Some(0)),
            ("src", "/q/src/deep/a.rs", Some(1)),
            ("/home/u/notes.md", "~/notes.md", Some(0)),
            ("~/notes.md", "/home/u/notes.md", Some(0)),
            ("D:\\Work\\X.cs", "d:/work/x.cs", Some(0)),
            ("x.CS", "d:/work/X.cs", Some(1)),
            ("*.rs", "/home/u/p/a.rs", Some(0)),
            ("*.rs", "/home/u/p/src/a.rs", Some(1)),
            ("src/**/*.ts", "/w/src/a/b/c.ts", Some(1)),
            ("/w/*/[a-c]?.ts", "/w/src/bx.ts", Some(0)),
            ("/w/*/[!a-c]?.ts", "/w/src/bx.ts", None),
            ("/w", "/wide/x", None),
        ] {
            let found = readings(typed, &here()).iter().position(|wanted| wanted.matches(path));
            assert_eq!(found, nth, "{typed} {path}");
        }
    }

    #[test]
    fn patterns_become_expressions() {
        for (pattern, regex) in [
            ("*.rs", r"[^/]*\.rs"),
            ("src/**/a?.ts", r"src/(.*/)?a[^/]\.ts"),
            ("a[!0-9].c", r"a[^0-9]\.c"),
            ("a[0", r"a\[0"),
        ] {
            assert_eq!(regex_of(pattern), regex);
        }
    }
}
