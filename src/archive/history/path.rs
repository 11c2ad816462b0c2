//! Finds the files that a path typed by the user may mean. Pure.

use std::collections::BTreeSet;

use crate::document::normal_path;
use crate::index::Spelling;
use crate::query::glob::{Glob, is_pattern};

/// One reading of a typed path, which matches some files.
#[derive(Clone, Debug)]
pub(super) enum PathPattern {
    /// One path and everything below it. Contains all its spellings.
    Whole(Vec<String>),
    /// The tail of a path and everything below it.
    Tail(String),
    /// A pattern for a whole path.
    Glob(Glob),
    /// A pattern for the tail of a path.
    TailGlob(Glob),
}

/// The user's location, for relative paths and `~`.
#[derive(Clone, Debug, Default)]
pub(super) struct Here {
    /// The current folder.
    pub(super) cwd: String,
    /// The home folder.
    pub(super) home: Option<String>,
}

/// Returns the patterns that a typed path may mean, the most literal first.
pub(super) fn path_patterns(text: &str, here: &Here) -> Vec<PathPattern> {
    let path = normal_path(text, None);
    let is_absolute = is_absolute(&path);
    let whole = normal_path(text, Some(&here.cwd));
    let mut spellings = vec![whole.clone()];
    if let Some(home) = &here.home {
        spellings.extend(
            whole.strip_prefix(home.as_str()).filter(|rest| rest.starts_with('/')).map(|rest| format!("~{rest}")),
        );
        spellings.extend(whole.strip_prefix("~/").map(|rest| format!("{home}/{rest}")));
    }
    let mut path_patterns = vec![PathPattern::Whole(spellings)];
    let tail = path.trim_start_matches("../");
    if !is_absolute && !tail.is_empty() && tail != "." && tail != ".." {
        path_patterns.push(PathPattern::Tail(tail.to_string()));
    }
    // A file with this very name comes before the files that match it as a pattern: `app/[slug]/page.tsx`.
    if is_pattern(&path) {
        let glob = |path: &str| Glob::new(&path.to_lowercase());
        path_patterns.push(PathPattern::Glob(glob(&normal_path(text, Some(&here.cwd)))));
        path_patterns.extend((!is_absolute).then(|| PathPattern::TailGlob(glob(&path))));
    }
    path_patterns
}

fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '~']) || path.as_bytes().get(1) == Some(&b':')
}

impl PathPattern {
    /// Returns the spellings to look up in the index.
    pub(super) fn spellings(&self) -> Vec<Spelling> {
        let both = |path: &str| [Spelling::Exact(path.to_lowercase()), Spelling::Below(path.to_lowercase())];
        match self {
            Self::Whole(paths) => paths.iter().flat_map(|path| both(path)).collect(),
            Self::Tail(tail) => both(tail).into(),
            Self::Glob(glob) | Self::TailGlob(glob) => vec![Spelling::Pattern(glob.expression().to_string())],
        }
    }

    /// Reports whether a path matches.
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
            Self::Glob(glob) => glob.matches(&path),
            Self::TailGlob(glob) => glob.matches_tail(&path),
        }
    }

    /// Reports whether a path itself is named, and not only a folder above it.
    pub(super) fn names(&self, path: &str) -> bool {
        let path = path.to_lowercase();
        match self {
            Self::Whole(paths) => paths.iter().any(|whole| whole.to_lowercase() == path),
            Self::Tail(tail) => format!("/{path}").ends_with(&format!("/{}", tail.to_lowercase())),
            Self::Glob(_) | Self::TailGlob(_) => true,
        }
    }

    /// Returns the name to look for in messages. A pattern has none.
    pub(super) fn name(&self) -> Option<String> {
        match self {
            Self::Whole(paths) => paths.first().cloned(),
            Self::Tail(tail) => Some(tail.clone()),
            Self::Glob(_) | Self::TailGlob(_) => None,
        }
    }

    /// Returns this file if a text names it, by its full path or by its path relative to `cwd`.
    pub(super) fn named_in(&self, text: &str, cwd: Option<&str>) -> Option<String> {
        match self {
            Self::Whole(paths) => {
                let below = |path: &str| {
                    let folder = normal_path(cwd?, None);
                    let rest = path.strip_prefix(&folder)?.strip_prefix('/')?.to_string();
                    Some(rest)
                };
                let is_named = |path: &String| {
                    contains_path(text, path) || below(path).is_some_and(|rest| contains_path(text, &rest))
                };
                paths.iter().find(|path| is_named(path)).cloned()
            }
            Self::Tail(tail) => contains_path(text, tail).then(|| tail.clone()),
            Self::Glob(_) | Self::TailGlob(_) => None,
        }
    }

    /// Removes files that differ from the typed path in case, if any file has the same case. Windows paths stay.
    pub(super) fn prefer_exact(&self, files: &mut BTreeSet<String>) {
        let is_exact = |file: &String| match self {
            Self::Whole(paths) => paths.iter().any(|path| below_exactly(file, path)),
            Self::Tail(tail) => format!("/{file}/").contains(&format!("/{tail}/")),
            Self::Glob(_) | Self::TailGlob(_) => true,
        };
        if files.iter().any(is_exact) {
            files.retain(|file| is_exact(file) || folds_case(file));
        }
    }
}

/// Reports whether a text contains a path that is not part of a longer name.
fn contains_path(text: &str, path: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.match_indices(path).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let mut after = text[at + path.len()..].chars();
        let next = after.next();
        let has_more_extension = next == Some('.') && after.next().is_some_and(is_name);
        !before.is_some_and(is_name) && !next.is_some_and(is_name) && !has_more_extension
    })
}

/// Reports whether a file is a folder or below it, in the same case.
fn below_exactly(file: &str, folder: &str) -> bool {
    file.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Reports whether a path ignores case. Windows paths, which begin with a drive, do.
pub(super) fn folds_case(path: &str) -> bool {
    path.as_bytes().get(1) == Some(&b':')
}

/// Returns a key that is the same for all spellings of a path that mean the same file.
pub(super) fn identity(path: &str) -> String {
    if folds_case(path) { path.to_lowercase() } else { path.to_string() }
}

/// Returns the folders above a path, the nearest first.
pub(super) fn folders_above(path: &str) -> Vec<String> {
    let ends = path.rmatch_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
    ends.map(|at| path[..at].to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> Here {
        Here { cwd: "/home/u/p".into(), home: Some("/home/u".into()) }
    }

    #[test]
    fn readings_are_tried_in_order() {
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
            ("*.rs", "/home/u/p/a.rs", Some(2)),
            ("*.rs", "/home/u/p/src/a.rs", Some(3)),
            ("src/**/*.ts", "/w/src/a/b/c.ts", Some(3)),
            ("/w/*/[a-c]?.ts", "/w/src/bx.ts", Some(1)),
            ("app/[a]/x.ts", "/home/u/p/app/[a]/x.ts", Some(0)),
            ("app/[a]/x.ts", "/home/u/p/app/a/x.ts", Some(2)),
            ("/w/*/[!a-c]?.ts", "/w/src/bx.ts", None),
            ("/w", "/wide/x", None),
        ] {
            let found = path_patterns(typed, &here()).iter().position(|pattern| pattern.matches(path));
            assert_eq!(found, nth, "{typed} {path}");
        }
    }
}
