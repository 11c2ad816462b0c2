//! A line diff of two texts.

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

/// Keeps the longest common subsequence. If finding it would take too long, marks all lines as removed or added.
fn middle<'t>(a: &[&'t str], b: &[&'t str]) -> Vec<(Mark, &'t str)> {
    let mut out = Vec::with_capacity(a.len() + b.len());
    if a.len().saturating_mul(b.len()) > EFFORT {
        out.extend(a.iter().map(|line| (Mark::Removed, *line)));
        out.extend(b.iter().map(|line| (Mark::Added, *line)));
        return out;
    }
    let wide = b.len() + 1;
    let mut common = vec![0u32; (a.len() + 1) * wide];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i * wide + j] = if a[i] == b[j] {
                common[(i + 1) * wide + j + 1] + 1
            } else {
                common[(i + 1) * wide + j].max(common[i * wide + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            out.push((Mark::Same, a[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < a.len() && (j == b.len() || common[(i + 1) * wide + j] >= common[i * wide + j + 1]) {
            out.push((Mark::Removed, a[i]));
            i += 1;
        } else {
            out.push((Mark::Added, b[j]));
            j += 1;
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
