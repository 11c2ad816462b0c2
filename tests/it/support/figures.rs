//! Figures that are measured by a test and committed, so that every change of them is visible in a file.

use std::path::Path;

/// Compares figures with a file of `tests/it`. `UNSPOOL_BLESS=1` writes the file instead.
#[expect(clippy::disallowed_methods, reason = "a switch of the tests")]
pub(crate) fn compare(shown: &str, file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(file);
    if std::env::var_os("UNSPOOL_BLESS").is_some() {
        std::fs::write(&path, shown).expect("written");
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(recorded == shown, "{file} has changed; UNSPOOL_BLESS=1 records it. Now:\n{shown}");
}
