//! Changes of a file as patches: coloured for a terminal, or plain in the form that `git apply` accepts.

use std::io::{self, Write};

use crate::archive::history::{Action, FileAction, FileActions};
use crate::archive::timestamp;
use crate::render::terminal::style::{ADDED, MODEL, REMOVED};
use crate::transcript::Hunk;
use crate::untrusted::for_terminal;

/// Writes a change as a patch.
pub(in crate::render) fn patch(out: &mut dyn Write, hunks: &[Hunk]) -> io::Result<()> {
    for hunk in hunks {
        if hunk.old_start + hunk.new_start > 0 {
            let Hunk { old_start, old_lines, new_start, new_lines, .. } = hunk;
            writeln!(out, "{MODEL}@@ -{old_start},{old_lines} +{new_start},{new_lines} @@{MODEL:#}")?;
        } else {
            writeln!(out, "{MODEL}@@{MODEL:#}")?;
        }
        for line in &hunk.lines {
            let shown = for_terminal(line);
            match line.as_bytes().first() {
                Some(b'+') => writeln!(out, "{ADDED}{shown}{ADDED:#}")?,
                Some(b'-') => writeln!(out, "{REMOVED}{shown}{REMOVED:#}")?,
                _ => writeln!(out, "{shown}")?,
            }
        }
    }
    Ok(())
}

/// Writes each change as a patch that `git apply` and `patch -p1` accept, for pipes. The oldest comes first. Paths are
/// relative to `folder` or else to the session's project. Changes that are not known exactly are comments.
pub fn patches_plain(out: &mut dyn Write, files: &[FileActions], folder: Option<&str>) -> io::Result<()> {
    for action in files.iter().flat_map(|file| file.actions.iter().rev()) {
        let when = action.time.map(timestamp).unwrap_or_default();
        writeln!(out, "# {} {when} session {}", action.what.name(), action.session.id.line())?;
        if action.exact {
            exact_patch(out, action, folder)?;
        } else if !matches!(action.what, FileAction::Read | FileAction::Mention) {
            writeln!(out, "# {}: not all lines of the file are known, so this is not a patch", action.path.line())?;
            let mut shown = Vec::new();
            patch(&mut shown, &action.change)?;
            let shown = anstream::adapter::strip_str(&String::from_utf8_lossy(&shown)).to_string();
            shown.lines().try_for_each(|line| writeln!(out, "# {line}"))?;
        }
    }
    Ok(())
}

fn exact_patch(out: &mut dyn Write, action: &Action, folder: Option<&str>) -> io::Result<()> {
    let path = relative(action, folder);
    // A tab ends a name with spaces.
    let end = if path.contains(' ') { "\t" } else { "" };
    let is_deleted = action.change.iter().all(|hunk| hunk.new_lines == 0)
        && matches!(action.what, FileAction::Delete | FileAction::Rename);
    let is_created = !is_deleted
        && action.change.iter().all(|hunk| hunk.old_lines == 0 && hunk.old_start == 0)
        && matches!(action.what, FileAction::Create | FileAction::Rename | FileAction::Overwrite);
    if action.change.is_empty() && action.what != FileAction::Create {
        return Ok(());
    }
    writeln!(out, "diff --git a/{path} b/{path}")?;
    let (old, new) = match (is_created, is_deleted) {
        (true, _) => ("/dev/null".to_string(), format!("b/{path}{end}")),
        (_, true) => (format!("a/{path}{end}"), "/dev/null".to_string()),
        _ => (format!("a/{path}{end}"), format!("b/{path}{end}")),
    };
    if is_created {
        writeln!(out, "new file mode 100644")?;
    } else if is_deleted {
        writeln!(out, "deleted file mode 100644")?;
    }
    if !action.change.is_empty() {
        writeln!(out, "--- {old}\n+++ {new}")?;
    }
    for Hunk { old_start, old_lines, new_start, new_lines, lines } in &action.change {
        writeln!(out, "@@ -{old_start},{old_lines} +{new_start},{new_lines} @@")?;
        lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    Ok(())
}

/// Returns the path of a file in a patch.
fn relative(action: &Action, folder: Option<&str>) -> String {
    let path = action.path.raw();
    let below = |folder: &str| path.strip_prefix(folder.trim_end_matches('/'))?.strip_prefix('/').map(str::to_string);
    let place = folder.and_then(below).or_else(|| below(action.session.project.raw()));
    place.unwrap_or_else(|| path.trim_start_matches('/').to_string()).replace(['\n', '\r'], " ")
}
