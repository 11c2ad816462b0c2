//! Patches: each change of a file as hunks.

use similar::TextDiff;

use crate::archive::history::timeline::StepCollector;
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
}
