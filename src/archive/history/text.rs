//! The contents of a file, line by line, with the author of each line. Pure.
//!
//! Contents are split at newlines, so a file that ends in a newline has an empty last line. A line is unknown if only
//! other parts of the file were ever recorded.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use similar::{Algorithm, DiffOp};

use crate::transcript::{Edit, Hunk};

/// The author of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum By {
    /// Not recorded: the line is older than the first record of the file.
    Nobody,
    /// This step of the history.
    Step(usize),
    /// An unrecorded change, found by this step.
    Outside(usize),
}

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    /// Its text, or `None` if it is unknown.
    pub(super) text: Option<Arc<str>>,
    pub(super) by: By,
    /// True if something may have changed or moved it since it was last recorded.
    pub(super) doubtful: bool,
}

impl Line {
    fn new(text: Option<&str>, by: By) -> Self {
        Self { text: text.map(Arc::from), by, doubtful: false }
    }
}

/// The contents of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Text {
    pub(super) lines: Arc<Vec<Line>>,
}

/// The reason why an edit could not be applied.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Miss {
    /// The text to replace was not found.
    Absent,
    /// The text to replace was found more than once.
    Ambiguous,
}

impl Text {
    /// Returns contents whose lines all have one author.
    pub(super) fn of(contents: &str, by: By) -> Self {
        Self::from(contents.split('\n').map(|text| Line::new(Some(text), by)).collect())
    }

    /// Returns contents with only the number of lines known.
    pub(super) fn unknown(lines: usize) -> Self {
        Self::from(vec![Line::new(None, By::Nobody); lines])
    }

    /// Returns the same lines, all of them doubtful or none.
    pub(super) fn doubted(&self, doubtful: bool) -> Self {
        if self.lines.iter().all(|line| line.doubtful == doubtful) {
            return self.clone();
        }
        Self::from(self.lines.iter().map(|line| Line { doubtful, ..line.clone() }).collect())
    }

    /// Reports whether the lines and their authors are the same, whether doubtful or not.
    pub(super) fn has_same_lines(&self, other: &Self) -> bool {
        self.doubted(false) == other.doubted(false)
    }

    /// Returns the ranges of lines that are known and not doubtful. Leaves out the empty line after the last newline.
    pub(super) fn certain_runs(&self) -> Vec<Range<usize>> {
        runs(self.visible(), |line| line.text.is_some() && !line.doubtful)
    }

    /// Returns the lines without the empty one after the last newline.
    pub(super) fn visible(&self) -> &[Line] {
        match self.lines.split_last() {
            Some((last, lines)) if last.text.as_deref() == Some("") => lines,
            _ => &self.lines,
        }
    }

    fn from(lines: Vec<Line>) -> Self {
        Self { lines: Arc::new(lines) }
    }

    /// Returns the contents, if all lines are known.
    pub(super) fn contents(&self) -> Option<String> {
        let texts: Option<Vec<&str>> = self.lines.iter().map(|line| line.text.as_deref()).collect();
        Some(texts?.join("\n"))
    }

    /// Reports whether all lines are known.
    pub(super) fn is_whole(&self) -> bool {
        self.lines.iter().all(|line| line.text.is_some())
    }

    /// Reports whether all lines are known and none is doubtful.
    pub(super) fn is_certain(&self) -> bool {
        self.lines.iter().all(|line| line.text.is_some() && !line.doubtful)
    }

    /// Reports whether every line ends with CRLF.
    pub(super) fn is_crlf(&self) -> bool {
        let Some((_, lines)) = self.lines.split_last() else { return false };
        !lines.is_empty() && lines.iter().all(|line| line.text.as_ref().is_some_and(|text| text.ends_with('\r')))
    }

    /// Returns contents with the line ends of this file. Tools record LF even if the file has CRLF.
    pub(super) fn in_its_ends<'c>(&self, contents: &'c str) -> Cow<'c, str> {
        with_ends(contents, contents.contains('\r') || !self.is_crlf())
    }

    /// Reports whether every known line is the same in these contents.
    pub(super) fn agrees_with(&self, contents: &str) -> bool {
        let mut others = contents.split('\n');
        let same = self
            .lines
            .iter()
            .all(|line| others.next().is_some_and(|other| line.text.as_deref().is_none_or(|text| text == other)));
        same && others.next().is_none()
    }

    /// Returns new contents for the file. Unchanged lines keep their author; the others get `by`.
    pub(super) fn become_contents(&self, contents: &str, by: By) -> Self {
        let new: Vec<Option<&str>> = contents.split('\n').map(Some).collect();
        Self::from(merged(&self.lines, &new, by))
    }

    /// Applies an edit the way Claude Code's edit tool does.
    pub(super) fn edited(&self, edit: &Edit, by: By) -> Result<Self, Miss> {
        // Tools see and write LF, even if the file has CRLF.
        let is_plain = !self.is_crlf() || edit.old.contains('\r');
        let (old, new) = (with_ends(&edit.old, is_plain), with_ends(&edit.new, is_plain));
        let (old, new) = (old.as_ref(), new.as_ref());
        if old.is_empty() {
            return if self.is_empty() { Ok(Self::of(new, by)) } else { Err(Miss::Ambiguous) };
        }
        // Removing a text at the end of a line also removes the line end.
        let with_end = format!("{old}{}", if is_plain { "\n" } else { "\r\n" });
        let takes_end = new.is_empty() && !old.ends_with('\n') && !self.places(&with_end).is_empty();
        let old = if takes_end { with_end.as_str() } else { old };
        let places = self.places(old);
        match places.len() {
            0 => return Err(Miss::Absent),
            1 => {}
            _ if edit.all => {}
            _ => return Err(Miss::Ambiguous),
        }
        let mut lines = (*self.lines).clone();
        for (line, column) in places.into_iter().rev() {
            replace(&mut lines, line, column, old, new, by);
        }
        Ok(Self::from(lines))
    }

    /// Appends a text, if all lines are known.
    pub(super) fn appended(&self, text: &str, by: By) -> Option<Self> {
        let mut contents = self.contents()?;
        contents.push_str(text);
        Some(self.become_contents(&contents, by))
    }

    fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.text.as_deref() == Some(""))
    }

    /// Returns the same lines without the carriage returns at their ends.
    pub(super) fn without_returns(&self) -> Self {
        let bare = |line: &Line| {
            let text = line.text.as_ref().map(|text| text.trim_end_matches('\r').into());
            Line { text, ..line.clone() }
        };
        if self.lines.iter().any(|line| line.text.as_ref().is_some_and(|text| text.ends_with('\r'))) {
            return Self::from(self.lines.iter().map(bare).collect());
        }
        self.clone()
    }

    /// Finds all occurrences of a text in the known lines. Returns the line and the byte in it of each.
    fn places(&self, text: &str) -> Vec<(usize, usize)> {
        let mut places = Vec::new();
        for run in self.known_runs() {
            let joined: Vec<&str> = self.lines[run.clone()].iter().filter_map(|line| line.text.as_deref()).collect();
            let joined = joined.join("\n");
            let mut line = run.start;
            let mut line_start = 0;
            for (at, _) in joined.match_indices(text) {
                let skipped = &joined[line_start..at];
                line += skipped.matches('\n').count();
                line_start = skipped.rfind('\n').map_or(line_start, |end| line_start + end + 1);
                places.push((line, at - line_start));
            }
        }
        places
    }

    /// Returns the ranges of known lines.
    pub(super) fn known_runs(&self) -> Vec<Range<usize>> {
        runs(&self.lines, |line| line.text.is_some())
    }

    /// Returns the ranges of unknown lines.
    pub(super) fn holes(&self) -> Vec<Range<usize>> {
        runs(&self.lines, |line| line.text.is_none())
    }

    /// Applies a patch to unknown lines, by its line numbers. An added line is known only if one of the edits contains
    /// the whole line.
    pub(super) fn patched(&self, hunks: &[Hunk], edits: &[Edit], by: By) -> Option<Self> {
        let mut lines = (*self.lines).clone();
        for hunk in hunks.iter().rev() {
            let mut at = usize::try_from(hunk.old_start).ok()?.checked_sub(1)?;
            for text in &hunk.lines {
                match text.as_bytes().first() {
                    Some(b'+') => {
                        let text = whole_line(edits, &text[1..]);
                        lines.insert(at.min(lines.len()), Line::new(text.as_deref(), by));
                        at += 1;
                    }
                    Some(b'-') if at < lines.len() => {
                        lines.remove(at);
                    }
                    Some(b' ') if at < lines.len() => at += 1,
                    Some(b'\\') => {}
                    _ => return None,
                }
            }
        }
        Some(Self::from(lines))
    }

    /// Adds lines that were read, from line `start` of a file with `total` lines (0 if unknown). Also returns true if
    /// they contradict what was known.
    ///
    /// If lines were added or removed elsewhere, the lines that were read are found again by their contents. The lines
    /// that were not read keep their text and their author, but are doubtful.
    pub(super) fn seen(&self, start: usize, total: usize, read: &[&str], step: usize) -> (Self, bool) {
        let total = if total == 0 { self.lines.len() } else { total };
        let from = start.saturating_sub(1);
        if total == self.lines.len() && self.fits(from, read) {
            let mut lines = (*self.lines).clone();
            lines.splice(from..from + read.len(), self.read_as(from..from + read.len(), read, step));
            return (Self::from(lines), false);
        }
        let place = self.place_of(from, total, read);
        let unknown = |count: usize| vec![Line::new(None, By::Outside(step)); count];
        let mut lines = self.doubted(true).lines[..place.start].to_vec();
        // Where lines were added above is unknown. Lines removed above are kept, because it is unknown which ones they were.
        lines.extend(unknown(from.saturating_sub(place.start)));
        lines.extend(self.read_as(place.clone(), read, step));
        let rest = &self.doubted(true).lines[place.end..];
        lines.extend(unknown(total.saturating_sub(from + read.len() + rest.len())));
        lines.extend_from_slice(rest);
        (Self::from(lines), true)
    }

    /// Returns the lines of a range as they were read. Those that are the same keep their author.
    fn read_as(&self, place: Range<usize>, read: &[&str], step: usize) -> Vec<Line> {
        let old = &self.lines[place.clone()];
        if self.fits(place.start, read) && old.len() == read.len() {
            return old.iter().zip(read).map(|(line, text)| Line::new(Some(text), line.by)).collect();
        }
        let new: Vec<Option<&str>> = read.iter().copied().map(Some).collect();
        merged(old, &new, By::Outside(step)).into_iter().map(|line| Line { doubtful: false, ..line }).collect()
    }

    /// Reports whether nothing known contradicts these lines at an index.
    fn fits(&self, at: usize, read: &[&str]) -> bool {
        let old = at.checked_add(read.len()).and_then(|end| self.lines.get(at..end));
        old.is_some_and(|old| {
            old.iter().zip(read).all(|(line, text)| line.text.as_deref().is_none_or(|known| known == *text))
        })
    }

    /// Returns the range of lines that became the lines that were read, which are now at index `from` of a file with
    /// `total` lines.
    fn place_of(&self, from: usize, total: usize, read: &[&str]) -> Range<usize> {
        let length = self.lines.len();
        let at = |start: usize| start.min(length)..(start + read.len()).min(length);
        // All changes are below the lines that were read, or above them.
        let above = (from + length).checked_sub(total);
        if let Some(start) = [Some(from), above].into_iter().flatten().find(|start| self.fits(*start, read)) {
            return at(start);
        }
        let anchors = self.anchors(read);
        let (Some(first), Some(last)) = (anchors.first(), anchors.last()) else { return at(from) };
        let start = first.0.saturating_sub(first.1);
        let end = (last.0 + read.len() - last.1).min(length);
        start..end.max(start)
    }

    /// Pairs the lines that were read with known lines of the same text: those that occur once in both, in the same
    /// order. Returns the indexes of each pair.
    fn anchors(&self, read: &[&str]) -> Vec<(usize, usize)> {
        let known = unique(self.lines.iter().map(|line| line.text.as_deref()));
        let shown = unique(read.iter().map(|text| Some(*text)));
        let mut pairs: Vec<(usize, usize)> =
            shown.iter().filter_map(|(text, at)| known.get(text).map(|place| (*place, *at))).collect();
        pairs.sort_unstable_by_key(|(_, at)| *at);
        longest_rising(&pairs)
    }
}

/// Returns the index of each text that occurs exactly once and is more than a brace.
fn unique<'t>(texts: impl Iterator<Item = Option<&'t str>>) -> HashMap<&'t str, usize> {
    let mut found: HashMap<&str, Option<usize>> = HashMap::new();
    for (at, text) in texts.enumerate() {
        if let Some(text) = text.filter(|text| text.trim().len() > 1) {
            found.entry(text).and_modify(|place| *place = None).or_insert(Some(at));
        }
    }
    found.into_iter().filter_map(|(text, at)| Some((text, at?))).collect()
}

/// Returns the longest part of a list in which the first numbers rise.
fn longest_rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length, the index of the smallest last number; and for each pair, the one before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].0 < pair.0);
        before.push(length.checked_sub(1).map(|length| ends[length]));
        if length == ends.len() { ends.push(at) } else { ends[length] = at }
    }
    let mut rising = Vec::new();
    let mut next = ends.last().copied();
    while let Some(at) = next {
        rising.push(pairs[at]);
        next = before[at];
    }
    rising.reverse();
    rising
}

/// Returns a text with CRLF line ends, or unchanged if `is_plain`.
fn with_ends(text: &str, is_plain: bool) -> Cow<'_, str> {
    if is_plain { Cow::Borrowed(text) } else { Cow::Owned(text.replace('\n', "\r\n")) }
}

/// Returns the ranges of consecutive lines for which `wanted` is true.
fn runs(lines: &[Line], wanted: impl Fn(&Line) -> bool) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| wanted(line)) {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

/// Replaces the text `old`, which starts at byte `column` of line `first`.
fn replace(lines: &mut Vec<Line>, first: usize, column: usize, old: &str, new: &str, by: By) {
    let last = first + old.matches('\n').count();
    let region: Vec<&str> = lines[first..=last].iter().filter_map(|line| line.text.as_deref()).collect();
    let mut text = region.join("\n");
    text.replace_range(column..column + old.len(), new);
    let new: Vec<Option<&str>> = text.split('\n').map(Some).collect();
    let changed = merged(&lines[first..=last], &new, by);
    lines.splice(first..=last, changed);
}

/// Returns the new lines. Those that did not change keep the author of the old line; the others get `by`.
fn merged(old: &[Line], new: &[Option<&str>], by: By) -> Vec<Line> {
    let texts: Vec<Option<&str>> = old.iter().map(|line| line.text.as_deref()).collect();
    let mut lines = Vec::with_capacity(new.len());
    for op in diff(&texts, new) {
        match op {
            DiffOp::Equal { old_index, len, .. } => lines.extend_from_slice(&old[old_index..old_index + len]),
            DiffOp::Insert { new_index, new_len, .. } | DiffOp::Replace { new_index, new_len, .. } => {
                let added = new[new_index..new_index + new_len].iter();
                lines.extend(added.map(|text| Line::new(*text, by)));
            }
            DiffOp::Delete { .. } => {}
        }
    }
    lines
}

/// Returns the operations that turn one list of lines into another.
pub(super) fn diff(old: &[Option<&str>], new: &[Option<&str>]) -> Vec<DiffOp> {
    similar::capture_diff_slices(Algorithm::Myers, old, new)
}

/// Returns the line of an edit's new text that a line of a patch shows. The first and last lines of the new text do not
/// count, as they may be incomplete. Tabs match two spaces, because patches may show them so.
fn whole_line(edits: &[Edit], shown: &str) -> Option<String> {
    edits.iter().find_map(|edit| {
        let lines: Vec<&str> = edit.new.split('\n').collect();
        let inner = lines.get(1..lines.len().saturating_sub(1)).unwrap_or_default();
        let is_shown = |line: &str| line.replace('\t', "  ") == shown.replace('\t', "  ");
        inner.iter().find(|line| is_shown(line)).map(ToString::to_string)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(old: &str, new: &str, all: bool) -> Edit {
        Edit { old: old.into(), new: new.into(), all }
    }

    fn shown(text: &Text) -> String {
        let line = |line: &Line| {
            let by = match line.by {
                By::Nobody => "-".to_string(),
                By::Step(step) => step.to_string(),
                By::Outside(step) => format!("<{step}"),
            };
            format!("{by}:{}", line.text.as_deref().unwrap_or("?"))
        };
        text.lines.iter().map(line).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn edits_keep_the_authors_of_other_lines() {
        let text = Text::of("a\nb\nc\nb\n", By::Nobody);
        for (old, new, all, expected) in [
            ("c", "x", false, Ok("-:a -:b 1:x -:b -:")),
            ("a\nb\nc", "a\nb2\nc", false, Ok("-:a 1:b2 -:c -:b -:")),
            ("c\nb", "c\nnew\nb", false, Ok("-:a -:b -:c 1:new -:b -:")),
            ("b", "x", true, Ok("-:a 1:x -:c 1:x -:")),
            ("b", "x", false, Err(Miss::Ambiguous)),
            ("z", "x", false, Err(Miss::Absent)),
            ("c", "", false, Ok("-:a -:b -:b -:")),
            ("a\n", "", false, Ok("-:b -:c -:b -:")),
            ("b\n", "", true, Ok("-:a -:c -:")),
            ("a\nb\nc", "", false, Ok("-:b -:")),
        ] {
            let edited = text.edited(&edit(old, new, all), By::Step(1)).map(|text| shown(&text));
            assert_eq!(edited, expected.map(str::to_string), "{old:?} {new:?}");
        }
    }

    #[test]
    fn crlf_is_kept() {
        let text = Text::of("a\r\nb\r\nc\r\n", By::Nobody);
        let edited = text.edited(&edit("a\nb", "x\ny\nz", false), By::Step(1)).expect("made");
        assert_eq!(edited.contents().as_deref(), Some("x\r\ny\r\nz\r\nc\r\n"));
        let edited = text.edited(&edit("b", "", false), By::Step(1)).expect("made");
        assert_eq!(edited.contents().as_deref(), Some("a\r\nc\r\n"));
        assert_eq!(text.in_its_ends("q\n"), "q\r\n");
    }

    #[test]
    fn contents_are_reproduced_exactly() {
        for contents in ["", "a", "a\n", "a\r\nb\r\n", "\u{feff}a\n\n", "\n\n"] {
            assert_eq!(Text::of(contents, By::Nobody).contents().as_deref(), Some(contents));
        }
    }

    #[test]
    fn partial_reads_fill_holes_and_reveal_changes() {
        let unknown = Text::unknown(5);
        let (text, conflict) = unknown.seen(2, 5, &["b", "c"], 1);
        assert_eq!((shown(&text).as_str(), conflict), ("-:? -:b -:c -:? -:?", false));
        let (text, _) = text.seen(1, 5, &["a"], 2);
        let edited = text.edited(&edit("b", "x\ny", false), By::Step(3)).expect("made");
        assert_eq!(shown(&edited), "-:a 3:x 3:y -:c -:? -:?");
        let (changed, conflict) = edited.seen(2, 6, &["z"], 4);
        assert_eq!((shown(&changed).as_str(), conflict), ("-:a <4:z 3:y -:c -:? -:?", true));
        let (longer, conflict) = edited.seen(4, 8, &["c"], 5);
        assert_eq!((shown(&longer).as_str(), conflict), ("-:a 3:x 3:y -:c <5:? <5:? -:? -:?", true));
    }

    /// Three lines were inserted above, and five lines further down were read. The other lines keep their authors.
    #[test]
    fn lines_that_were_not_read_keep_their_authors() {
        let numbered = |from: usize, to: usize| (from..=to).map(|at| format!("line {at}")).collect::<Vec<_>>();
        let text = Text::of(&numbered(1, 20).join("\n"), By::Step(1));
        let read = numbered(10, 14);
        let read: Vec<&str> = read.iter().map(String::as_str).collect();
        for (start, total, read, expected) in [
            (13, 23, read.clone(), "<2:? 3, 1: 20"),
            (7, 17, read.clone(), "1: 20"),
            (10, 18, read.clone(), "1: 20"),
            (11, 21, vec!["line 10", "new one", "line 12", "line 13", "line 14"], "<2:? 1, <2: 1, 1: 19"),
        ] {
            let (seen, conflict) = text.seen(start, total, &read, 2);
            let count = |wanted: &dyn Fn(&Line) -> bool| seen.lines.iter().filter(|line| wanted(line)).count();
            let counts = [
                ("<2:?", count(&|line| line.by == By::Outside(2) && line.text.is_none())),
                ("<2:", count(&|line| line.by == By::Outside(2) && line.text.is_some())),
                ("1:", count(&|line| line.by == By::Step(1))),
            ];
            let counts: Vec<String> =
                counts.iter().filter(|(_, count)| *count > 0).map(|(name, count)| format!("{name} {count}")).collect();
            assert_eq!((counts.join(", ").as_str(), conflict), (expected, true), "{start} {total}");
            assert_eq!(count(&|line| !line.doubtful && line.text.is_some()), 5, "only the lines read are certain");
        }
    }
}
