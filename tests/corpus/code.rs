//! Source files and the edits made to them.

use super::ink::Ink;
use super::names::{Code, Names};
use super::rng::Rng;
use super::templates as t;

/// Appends one function, type or test in the language of the project.
pub(crate) fn function(ink: &mut Ink, out: &mut String) {
    let list = match ink.names.code {
        Code::Rust => t::RUST,
        Code::TypeScript => t::TYPESCRIPT,
        Code::Python => t::PYTHON,
        Code::Go => t::GO,
    };
    let template = *ink.rng.pick(list);
    ink.fill(out, template);
}

/// Returns a file of about the given size, in the format that the path implies.
pub(crate) fn file(ink: &mut Ink, path: &str, size: usize) -> String {
    let mut out = String::with_capacity(size + 1024);
    if path.ends_with(".md") {
        ink.fill(&mut out, "# %w %t %o\n\n");
        ink.markdown(&mut out, size);
        return out;
    }
    if path.ends_with(".yml") {
        while out.len() < size.min(6000) {
            let template = *ink.rng.pick(t::YAML);
            ink.fill(&mut out, template);
        }
        return out;
    }
    ink.fill(&mut out, head(ink.names.code));
    while out.len() < size {
        function(ink, &mut out);
    }
    out
}

fn head(code: Code) -> &'static str {
    match code {
        Code::Rust => t::RUST_HEAD,
        Code::TypeScript => t::TYPESCRIPT_HEAD,
        Code::Python => t::PYTHON_HEAD,
        Code::Go => t::GO_HEAD,
    }
}

/// Returns the texts of a project's files, in the order of its paths.
pub(crate) fn tree(rng: &mut Rng, names: &Names) -> Vec<String> {
    let mut ink = Ink::new(rng.clone(), names, None);
    let sizes: Vec<usize> = names.paths.iter().map(|_| rng.quantile(FILE_SIZES)).collect();
    let write = |(path, size): (&String, usize)| {
        ink.new_words();
        file(&mut ink, path, size)
    };
    names.paths.iter().zip(sizes).map(write).collect()
}

const FILE_SIZES: &[(f64, f64)] = &[
    (0.0, 400.0),
    (0.25, 2_000.0),
    (0.5, 4_000.0),
    (0.75, 9_500.0),
    (0.9, 19_000.0),
    (0.99, 80_000.0),
    (1.0, 120_000.0),
];

/// A replacement of some lines of a file.
pub(crate) struct Edit {
    pub old: String,
    pub new: String,
    /// The number of the first replaced line, counted from one.
    pub line: usize,
    /// Byte offset of the first replaced line.
    pub start: usize,
}

/// Chooses lines of `text` and writes their replacement. Does not change the text itself.
pub(crate) fn edit(ink: &mut Ink, text: &str) -> Edit {
    // Edits cluster in real files; here they do so near the beginning.
    let start = line_start(text, (ink.rng.unit().powi(3) * text.len() as f64) as usize);
    let mut end = start;
    for _ in 0..ink.rng.log_range(1, 36) {
        end += text[end..].find('\n').map_or(text.len() - end, |at| at + 1);
    }
    let old = text[start..end].to_string();
    let line = text.as_bytes()[..start].iter().filter(|b| **b == b'\n').count() + 1;
    Edit { new: rewrite(ink, &old, text.len()), old, line, start }
}

/// Returns the start of the line that contains `at`.
fn line_start(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().rposition(|b| *b == b'\n').map_or(0, |newline| newline + 1)
}

/// Returns the same lines with some inserted or dropped. Large files shrink.
fn rewrite(ink: &mut Ink, old: &str, total: usize) -> String {
    let inserts = t::INSERTS[Code::ALL.iter().position(|c| *c == ink.names.code).unwrap_or(0)];
    let drop = if total > 90_000 { 0.5 } else { 0.12 };
    let mut new = String::new();
    for line in old.split_inclusive('\n') {
        if ink.rng.chance(0.3) {
            let template = *ink.rng.pick(inserts);
            ink.fill(&mut new, template);
        }
        if !ink.rng.chance(drop) {
            new.push_str(line);
        }
    }
    if new.is_empty() || new == old {
        ink.fill(&mut new, inserts[0]);
    }
    new
}
