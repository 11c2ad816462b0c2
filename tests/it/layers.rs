//! The order of the `mod` lines in `lib.rs`, `main.rs` and every `mod.rs` is the direction of use: a module names only
//! modules above it. So there is no cycle between files anywhere.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Everything a file may name is above it in the list of its folder. Types of `mod.rs` itself are free to its children.
#[test]
fn modules_name_only_modules_above_them() {
    let mut wrong = Vec::new();
    for face in faces() {
        let folder = Folder::read(&face);
        for (place, module) in folder.modules.iter().enumerate() {
            for (file, text) in folder.sources(module) {
                for other in folder.used_in(&text) {
                    let Some(at) = folder.modules.iter().position(|name| *name == other) else { continue };
                    if at > place {
                        wrong.push(format!("{}: `{module}` uses `{other}`, which is below it", short(&file)));
                    }
                }
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_foreign_thing_is_known_in_one_place() {
    let rules: [(&str, &str); 4] =
        [("tantivy::", "index"), ("std::env::var", "bin"), ("SystemTime::now", "bin"), ("parentUuid", "transcript")];
    for file in rust_files(&root()) {
        let text = code(&fs::read_to_string(&file).expect("read"));
        for (needle, allowed) in rules {
            let is_allowed = file.starts_with(root().join(allowed));
            assert!(is_allowed || !text.contains(needle), "{} names `{needle}`", short(&file));
        }
    }
}

/// Front ends ask the façade. What is below it may change without them.
#[test]
fn the_program_names_nothing_below_the_archive() {
    for file in rust_files(&root().join("bin")) {
        let text = code(&fs::read_to_string(&file).expect("read"));
        for module in ["index", "query", "document", "tokenize", "redact"] {
            assert!(!text.contains(&format!("unspool::{module}")), "{} names `{module}`", short(&file));
        }
    }
}

/// A folder of modules, and what its face says of them.
struct Folder {
    dir: PathBuf,
    /// The path in the crate: `crate::index::`.
    path: String,
    /// In the order of their `mod` lines.
    modules: Vec<String>,
    /// Names that the face exports from its modules.
    exported: BTreeMap<String, String>,
}

impl Folder {
    fn read(face: &Path) -> Self {
        let text = code(&fs::read_to_string(face).expect("read"));
        let is_root = face.ends_with("lib.rs") || face.ends_with("main.rs");
        let stem = face.file_stem().expect("a name").to_string_lossy().into_owned();
        let parent = face.parent().expect("a folder");
        let dir = if is_root || stem == "mod" { parent.to_path_buf() } else { parent.join(stem) };
        let crate_dir = if dir.starts_with(root().join("bin")) { root().join("bin/unspool") } else { root() };
        let inner = dir.strip_prefix(crate_dir).expect("in the crate");
        let path: String = inner.components().map(|one| format!("{}::", one.as_os_str().to_string_lossy())).collect();
        let is_mod = |line: &str| line.strip_suffix(';').and_then(|line| Some(line.rsplit_once("mod ")?.1.to_string()));
        let modules: Vec<String> = text
            .lines()
            .filter(|line| !line.starts_with(' '))
            .filter_map(is_mod)
            .filter(|name| is_name(name))
            .collect();
        Self { exported: exported(&text), dir, path: format!("crate::{path}"), modules }
    }

    fn sources(&self, module: &str) -> Vec<(PathBuf, String)> {
        let mut files = rust_files(&self.dir.join(module));
        files.push(self.dir.join(format!("{module}.rs")));
        let files = files.into_iter().filter(|file| file.is_file());
        files.map(|file| (file.clone(), code(&fs::read_to_string(&file).expect("read")))).collect()
    }

    /// Returns the modules of this folder that a text names, also by what the face exports of them.
    fn used_in(&self, text: &str) -> Vec<String> {
        let mentions = text.split(&self.path).skip(1);
        let mut found = Vec::new();
        for rest in mentions {
            let names = match rest.strip_prefix('{') {
                Some(group) => group.split('}').next().unwrap_or_default().split(',').map(first_name).collect(),
                None => vec![first_name(rest)],
            };
            found.extend(names.into_iter().map(|name| self.exported.get(&name).cloned().unwrap_or(name)));
        }
        found
    }
}

/// Returns the names that `pub use` lines take from modules of the same folder.
fn exported(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for statement in text.split(';').map(str::trim) {
        let Some((head, path)) = statement.split_once("use ") else { continue };
        if !head.lines().last().unwrap_or_default().starts_with("pub") || path.starts_with("crate::") {
            continue;
        }
        let module = first_name(path);
        let names = path.split('{').nth(1).map_or(path.rsplit("::").next().unwrap_or_default(), |names| names);
        for name in names.trim_end_matches('}').split(',') {
            found.insert(first_name(name), module.clone());
        }
    }
    found
}

fn first_name(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Returns every file that lists modules.
fn faces() -> Vec<PathBuf> {
    let lists = |file: &PathBuf| {
        let text = code(&fs::read_to_string(file).expect("read"));
        text.lines().any(|line| !line.starts_with(' ') && line.contains("mod ") && line.ends_with(';'))
    };
    rust_files(&root()).into_iter().filter(lists).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn short(file: &Path) -> String {
    file.strip_prefix(root()).unwrap_or(file).display().to_string()
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(path).expect("listed").map(|entry| entry.expect("entry").path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// Returns everything but tests and comments.
fn code(text: &str) -> String {
    let before_tests = text.split("#[cfg(test)]").next().unwrap_or_default();
    before_tests.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}
