//! Compares two texts line by line.

use similar::{Algorithm, DiffTag, capture_diff_slices};

/// The change to a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Mark {
    Same,
    Removed,
    Added,
}

impl Mark {
    /// The sign before the line in a patch.
    pub(super) fn sign(self) -> char {
        match self {
            Self::Same => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

/// The maximum number of line comparisons. More would take too long.
const EFFORT: usize = 1 << 20;

/// Returns the lines of both texts in order, each marked as same, removed or added.
pub(super) fn diff<'t>(old: &'t str, new: &'t str) -> Vec<(Mark, &'t str)> {
    let (old, new): (Vec<&str>, Vec<&str>) = (lines(old), lines(new));
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let same = |lines: &[&'t str]| lines.iter().map(|line| (Mark::Same, *line)).collect::<Vec<_>>();
    [same(&old[..head]), middle(a, b), same(&old[old.len() - tail..])].concat()
}

fn lines(text: &str) -> Vec<&str> {
    if text.is_empty() { Vec::new() } else { text.strip_suffix('\n').unwrap_or(text).split('\n').collect() }
}

/// Compares the lines between the common beginning and the common end. If that would take too long, marks all of them
/// as removed or added.
fn middle<'t>(a: &[&'t str], b: &[&'t str]) -> Vec<(Mark, &'t str)> {
    let mut out = Vec::with_capacity(a.len() + b.len());
    if a.len().saturating_mul(b.len()) > EFFORT {
        out.extend(a.iter().map(|line| (Mark::Removed, *line)));
        out.extend(b.iter().map(|line| (Mark::Added, *line)));
        return out;
    }
    for op in capture_diff_slices(Algorithm::Myers, a, b) {
        let (old, new) = (&a[op.old_range()], &b[op.new_range()]);
        if op.tag() == DiffTag::Equal {
            out.extend(old.iter().map(|line| (Mark::Same, *line)));
        } else {
            out.extend(old.iter().map(|line| (Mark::Removed, *line)));
            out.extend(new.iter().map(|line| (Mark::Added, *line)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(old: &str, new: &str) -> String {
        diff(old, new).into_iter().map(|(mark, line)| format!("{}{line}", mark.sign())).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn lines_are_compared() {
        assert_eq!(show("a\nb\nc", "a\nx\nc"), " a|-b|+x| c");
        assert_eq!(show("", "a\nb\n"), "+a|+b");
        assert_eq!(show("a\nb\nc\nd", "b\nc\ne\nd"), "-a| b| c|+e| d");
        assert_eq!(show("same", "same"), " same");
    }
}
