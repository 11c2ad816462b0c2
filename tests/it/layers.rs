//! The order of the `mod` lines in `lib.rs` is the direction of use: a module names only modules above it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[test]
fn modules_name_only_modules_above_them() {
    let order = modules();
    for (place, module) in order.iter().enumerate() {
        for (file, text) in sources(module) {
            for other in used(&text) {
                let Some(at) = order.iter().position(|name| *name == other) else {
                    panic!("{file} uses crate::{other}, which lib.rs does not name")
                };
                assert!(at <= place, "{file}: `{module}` uses `{other}`, which stands below it in lib.rs");
            }
        }
    }
}

#[test]
fn each_foreign_thing_is_known_in_one_place() {
    let rules: [(&str, &[&str]); 4] =
        [("tantivy::", &["index"]), ("std::env::var", &[]), ("SystemTime::now", &[]), ("parentUuid", &["event"])];
    for module in modules() {
        for (file, text) in sources(&module) {
            for (needle, allowed) in rules {
                let found = code(&text).contains(needle);
                assert!(!found || allowed.contains(&module.as_str()), "{file} names `{needle}`");
            }
        }
    }
}

fn modules() -> Vec<String> {
    let text = fs::read_to_string(root().join("lib.rs")).expect("lib.rs");
    let named = text.lines().filter_map(|line| line.strip_prefix("pub mod ").or_else(|| line.strip_prefix("mod ")));
    named.map(|name| name.trim_end_matches(';').to_string()).collect()
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))
}

/// The files of a module, by name.
fn sources(module: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let file = root().join(format!("{module}.rs"));
    let mut waiting = vec![file, root().join(module)];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(path).expect("listed").map(|entry| entry.expect("entry").path()));
        } else if path.is_file() {
            found.insert(path.display().to_string(), fs::read_to_string(&path).expect("read"));
        }
    }
    assert!(!found.is_empty(), "no source of {module}");
    found
}

/// Everything but tests, and comments.
fn code(text: &str) -> String {
    let before_tests = text.split("#[cfg(test)]").next().unwrap_or_default();
    before_tests.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn used(text: &str) -> Vec<String> {
    let code = code(text);
    let mentions = code.split("crate::").skip(1);
    let names =
        mentions.map(|rest| rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect::<String>());
    names.filter(|name| !name.is_empty()).collect()
}
