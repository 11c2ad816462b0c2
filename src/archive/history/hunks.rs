//! Patches: each change of a file as hunks, with exact lines and line numbers if the whole file is known before and
//! after it.

use similar::TextDiff;

use crate::archive::history::FileAction;
use crate::archive::history::recover::Replayed;
use crate::archive::history::replay::Version;
use crate::archive::history::timeline::{Origin, StepCollector};
use crate::archive::history::tool_calls::{FileTouch, ToolCall};
use crate::document::FileEffect;
use crate::error::Result;
use crate::transcript::{Call, Hunk};

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// Returns the change that a call made to a file: as recorded in its transcript, or else as its arguments describe it.
pub(super) fn change(collector: &mut StepCollector<'_>, tool_call: &ToolCall, touch: &FileTouch) -> Result<Vec<Hunk>> {
    let asked = match (&tool_call.asked, &touch.effect) {
        (_, Some(FileEffect::Write(Some(text)) | FileEffect::Append(Some(text)))) => hunks("", text),
        (Call::Write(text), _) => hunks("", text),
        (Call::Edits(edits), _) => edits.iter().flat_map(|edit| hunks(&edit.old, &edit.new)).collect(),
        _ => Vec::new(),
    };
    let recorded = match &tool_call.result {
        Some((key, result))
            if touch.effect.is_none() && result.trace.as_ref().is_some_and(|trace| trace.counts.is_some()) =>
        {
            collector.record(*key, result)?.map(|record| record.patch).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    Ok(if recorded.is_empty() { asked } else { recorded })
}

impl Replayed {
    /// Returns the change that a call made as a patch of the whole file, if the contents before and after it are known.
    pub(super) fn patch_by(&self, tool_call: &ToolCall, touch: &FileTouch) -> Option<Vec<Hunk>> {
        let is_own =
            |version: &Version| !version.found && !version.possible && !self.timeline.steps[version.step].of_other;
        let is_by = |version: &Version| match &self.timeline.origins[version.step] {
            Origin::ToolCall(other) => {
                let (call, asked) = (&other.0.call, &tool_call.call);
                (&call.uuid, &call.tool_use, &other.1.effect) == (&asked.uuid, &asked.tool_use, &touch.effect)
            }
            _ => false,
        };
        let at = self.versions.iter().position(|version| is_own(version) && is_by(version))?;
        let is_of_file = |version: &&Version| !self.timeline.steps[version.step].of_other;
        let before = match self.versions[..at].iter().rev().find(is_of_file) {
            Some(version) => contents_of(version)?,
            None if touch.what == FileAction::Create => String::new(),
            None => return None,
        };
        let after = contents_of(&self.versions[at])?;
        Some(patch(&before, &after))
    }
}

/// Returns the contents of a version, if they are known. A file that was deleted has none.
fn contents_of(version: &Version) -> Option<String> {
    if version.state.deleted { Some(String::new()) } else { version.state.text.as_ref()?.contents() }
}

/// Returns the difference between the contents of a file before and after a change.
fn patch(old: &str, new: &str) -> Vec<Hunk> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let difference = TextDiff::from_slices(&old, &new);
    let mut hunks = Vec::new();
    for ops in difference.grouped_ops(CONTEXT) {
        let (Some(first), Some(last)) = (ops.first(), ops.last()) else { continue };
        let old_range = first.old_range().start..last.old_range().end;
        let new_range = first.new_range().start..last.new_range().end;
        let mut lines = Vec::new();
        for change in ops.iter().flat_map(|op| difference.iter_changes(op)) {
            let text = change.value();
            lines.push(format!("{}{}", change.tag(), text.strip_suffix('\n').unwrap_or(text)));
            if !text.ends_with('\n') {
                lines.push("\\ No newline at end of file".to_string());
            }
        }
        // An empty range starts at the line before it.
        let start = |range: &std::ops::Range<usize>| (range.start + usize::from(!range.is_empty())) as u64;
        hunks.push(Hunk {
            old_start: start(&old_range),
            old_lines: old_range.len() as u64,
            new_start: start(&new_range),
            new_lines: new_range.len() as u64,
            lines,
        });
    }
    hunks
}

/// Returns the difference between two texts. The hunks have no line numbers, because the position of the texts in the
/// file is not known.
fn hunks(old: &str, new: &str) -> Vec<Hunk> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let difference = TextDiff::from_slices(&old, &new);
    let groups = difference.grouped_ops(CONTEXT);
    let hunk = |ops: Vec<similar::DiffOp>| {
        let changes = ops.iter().flat_map(|op| difference.iter_changes(op));
        Hunk { lines: changes.map(|change| format!("{}{}", change.tag(), change.value())).collect(), ..Hunk::default() }
    };
    groups.into_iter().map(hunk).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_patches() {
        let lines: Vec<String> = hunks("a\nb\nc", "a\nx\nc").into_iter().flat_map(|hunk| hunk.lines).collect();
        assert_eq!(lines, [" a", "-b", "+x", " c"]);
        assert_eq!(hunks("", "n\n")[0].lines, ["+n"]);
    }

    #[test]
    fn patches_have_line_numbers_and_keep_missing_newlines() {
        for (old, new, expected) in [
            ("", "a\nb\n", "-0,0 +1,2 +a|+b"),
            ("a\n", "", "-1,1 +0,0 -a"),
            ("a\n", "a", "-1,1 +1,1 -a|+a|\\ No newline at end of file"),
            ("1\n2\n3\n4\n5\n", "1\n2\n3\n4\n\tx\n5\n", "-2,4 +2,5  2| 3| 4|+\tx| 5"),
            ("a\n", "a\n", ""),
        ] {
            let shown = |hunk: &Hunk| {
                let Hunk { old_start, old_lines, new_start, new_lines, lines } = hunk;
                format!("-{old_start},{old_lines} +{new_start},{new_lines} {}", lines.join("|"))
            };
            let patches: Vec<String> = patch(old, new).iter().map(shown).collect();
            assert_eq!(patches.join("; "), expected, "{old:?} {new:?}");
        }
    }
}
