//! Fuzzy matching of names as people type them: projects, tools, branches, models. Pure.

use crate::query::glob::Glob;

/// The way names are compared.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Naming {
    /// As paths. People usually type the last component.
    Path,
    /// As plain names.
    Plain,
}

/// Returns the known names that `wanted` means.
///
/// Tries one kind of match after the other, and returns the names of the first kind that matches any: equal, equal last
/// component, end of the path, part of it, letters in the same order, and finally typos.
pub fn pick<'n>(wanted: &str, known: &'n [String], naming: Naming) -> Vec<&'n str> {
    let wanted = wanted.trim().trim_end_matches('/').to_lowercase();
    if wanted.is_empty() {
        return Vec::new();
    }
    if wanted.contains(['*', '?']) {
        let glob = Glob::crossing(&wanted);
        // A pattern without a slash applies to the last component.
        let target = |name: &'n str| if wanted.contains('/') { name } else { last(name) };
        return known.iter().map(String::as_str).filter(|name| glob.matches(&target(name).to_lowercase())).collect();
    }
    let tests: &[fn(&str, &str) -> bool] = match naming {
        Naming::Path => &[
            |wanted, name| name == wanted,
            |wanted, name| last(name) == wanted,
            |wanted, name| name.ends_with(&format!("/{wanted}")),
            |wanted, name| encoded(name) == wanted,
            |wanted, name| name.split('/').any(|part| part == wanted) || name.starts_with(&format!("{wanted}/")),
            |wanted, name| last(name).contains(wanted),
            |wanted, name| squeezed(last(name)).contains(&squeezed(wanted)),
            |wanted, name| name.contains(wanted),
            |wanted, name| wanted.len() > 2 && is_subsequence(wanted, last(name)),
            |wanted, name| is_similar(wanted, last(name)),
        ],
        Naming::Plain => &[
            |wanted, name| name == wanted,
            |wanted, name| name.rsplit("__").next() == Some(wanted),
            |wanted, name| name.contains(wanted),
            |wanted, name| squeezed(name).contains(&squeezed(wanted)),
            |wanted, name| is_similar(wanted, name),
        ],
    };
    for test in tests {
        let found: Vec<&str> =
            known.iter().map(String::as_str).filter(|name| test(&wanted, &name.to_lowercase())).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// Returns the known names most similar to an unknown one, as suggestions.
pub fn nearest<'n>(wanted: &str, known: &'n [String], naming: Naming) -> Vec<&'n str> {
    let wanted = wanted.to_lowercase();
    let tail = |name: &'n str| if naming == Naming::Path { last(name) } else { name };
    let mut ranked: Vec<(usize, &str)> =
        known.iter().map(|name| (distance(&wanted, &tail(name).to_lowercase()), name.as_str())).collect();
    ranked.sort_unstable();
    ranked.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Returns the last component of a path.
fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Encodes the path of a project the way Claude Code names its folder.
fn encoded(path: &str) -> String {
    path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// Removes everything except letters and digits.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Reports whether a name contains all characters of `wanted` in the same order.
fn is_subsequence(wanted: &str, name: &str) -> bool {
    let mut rest = name.chars();
    wanted.chars().all(|c| rest.any(|other| other == c))
}

/// Reports whether two names differ only by a typo or two. Short names must match exactly.
fn is_similar(wanted: &str, name: &str) -> bool {
    let allowed = match wanted.chars().count() {
        0..4 => 0,
        4..8 => 1,
        _ => 2,
    };
    allowed > 0 && distance(wanted, name) <= allowed
}

/// Returns the number of letters to insert, remove, change or swap to turn one word into the other. Only the first 64
/// characters count, because the work grows with the product of the lengths.
pub fn distance(a: &str, b: &str) -> usize {
    const MAX_CHARS: usize = 64;
    let cut = |text: &str| text.char_indices().nth(MAX_CHARS).map_or(text.len(), |(at, _)| at);
    strsim::osa_distance(&a[..cut(a)], &b[..cut(b)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_are_found_as_people_type_them() {
        let known: Vec<String> = [
            "/home/u/work/payments-api",
            "/home/u/work/payments-web",
            "/home/u/api",
            "/home/u/work/MapMaker",
            "d:/src/Tool Box",
            "/home/u/api/worktrees/fix",
        ]
        .map(String::from)
        .to_vec();
        for (wanted, found) in [
            ("api", &["/home/u/api"][..]),
            ("/home/u/api", &["/home/u/api"]),
            ("work/payments-api", &["/home/u/work/payments-api"]),
            ("payments", &["/home/u/work/payments-api", "/home/u/work/payments-web"]),
            ("mapmaker", &["/home/u/work/MapMaker"]),
            ("map-maker", &["/home/u/work/MapMaker"]),
            ("toolbox", &["d:/src/Tool Box"]),
            ("-home-u-work-mapmaker", &["/home/u/work/MapMaker"]),
            ("pymtapi", &["/home/u/work/payments-api"]),
            ("mapmakre", &["/home/u/work/MapMaker"]),
            ("payments-*", &["/home/u/work/payments-api", "/home/u/work/payments-web"]),
            ("*/work/*", &["/home/u/work/payments-api", "/home/u/work/payments-web", "/home/u/work/MapMaker"]),
            ("zebra", &[]),
            ("", &[]),
        ] {
            assert_eq!(pick(wanted, &known, Naming::Path), found, "{wanted}");
        }
    }

    #[test]
    fn tools_and_models_are_found_by_part() {
        let known: Vec<String> =
            ["Bash", "BashOutput", "mcp__github__search_code", "claude-opus-4-5"].map(String::from).to_vec();
        for (wanted, found) in [
            ("bash", &["Bash"][..]),
            ("search_code", &["mcp__github__search_code"]),
            ("github", &["mcp__github__search_code"]),
            ("opus", &["claude-opus-4-5"]),
            ("bahs", &["Bash"]),
            ("Bash*", &["Bash", "BashOutput"]),
        ] {
            assert_eq!(pick(wanted, &known, Naming::Plain), found, "{wanted}");
        }
        assert_eq!(nearest("basch", &known, Naming::Plain)[0], "Bash");
    }

    #[test]
    fn distance_counts_typos() {
        for (a, b, expected) in [("retry", "retry", 0), ("retyr", "retry", 1), ("rety", "retry", 1), ("abc", "", 3)] {
            assert_eq!(distance(a, b), expected);
        }
    }
}
