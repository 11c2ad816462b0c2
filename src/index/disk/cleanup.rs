//! Removes files left over by runs that were killed or ran out of space: temporary files, and files of segments that no
//! commit names.
//!
//! tantivy removes such files when a writer is opened. That is too late: a run that failed for lack of space must free
//! it itself, because the next run may have nothing to write.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::index::disk::directory::{META, is_segment_file};
use crate::index::disk::fs;
use crate::index::disk::fs::is_side_file;

/// The segments named by a commit, each with the opstamp of its deletions.
pub(in crate::index) type Named = HashMap<String, Option<u64>>;

/// Removes all files that the last commit of an index does not name.
pub(in crate::index) fn clear(path: &Path, index: &mut tantivy::Index) {
    let _ = sweep(path);
    let Ok(metas) = index.load_metas() else { return };
    let segments = metas.segments.iter();
    let named: Named = segments.map(|segment| (segment.id().uuid_string(), segment.delete_opstamp())).collect();
    let Ok(files) = file_names(path) else { return };
    let in_use: HashSet<_> = files.into_iter().filter(|name| !is_unnamed(name, &named)).map(Into::into).collect();
    let _ = index.directory_mut().garbage_collect(|| in_use);
}

/// Reports whether a folder contains files that a writer would remove. Costs one directory listing.
pub(in crate::index) fn has_leftovers(path: &Path, named: &Named) -> bool {
    let is_leftover = |name: &str| is_temporary(name) || is_unnamed(name, named);
    file_names(path).is_ok_and(|names| names.iter().any(|name| is_leftover(name)))
}

/// Returns the files in a folder that neither unspool nor tantivy created. They are never removed.
pub(in crate::index) fn strangers(path: &Path) -> Vec<PathBuf> {
    let is_known = |name: &str| is_side_file(name) || is_segment_file(name) || name == META;
    let mut names = file_names(path).unwrap_or_default();
    names.retain(|name| !is_known(name));
    names.sort_unstable();
    names.into_iter().map(|name| path.join(name)).collect()
}

/// Removes temporary files, which tantivy never collects, and tantivy's file list, which an older version of unspool
/// left in the folder.
pub(in crate::index) fn sweep(path: &Path) -> io::Result<()> {
    for name in file_names(path)?.iter().filter(|name| is_temporary(name)) {
        let _ = fs::remove_file(&path.join(name));
    }
    Ok(())
}

fn file_names(path: &Path) -> io::Result<Vec<String>> {
    let entries = fs_err::read_dir(path)?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

fn is_temporary(name: &str) -> bool {
    name.len() == 10 && name.starts_with(".tmp") || name == ".managed.json"
}

/// Reports whether a file belongs to a segment that the commit does not name, or contains outdated deletions of one
/// that it does.
fn is_unnamed(name: &str, named: &Named) -> bool {
    let Some((id, rest)) = name.split_once('.').filter(|_| is_segment_file(name)) else { return false };
    match (named.get(id), rest.strip_suffix(".del")) {
        (None, _) => true,
        (Some(stamp), Some(deletions)) => stamp.map(|stamp| stamp.to_string()).as_deref() != Some(deletions),
        (Some(_), None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_no_commit_names_are_leftovers() {
        let [named_id, other_id] = ["0123456789abcdef0123456789abcdef", "f123456789abcdef0123456789abcdef"];
        let named = Named::from([(named_id.to_string(), Some(7))]);
        for (name, is_leftover) in [
            (format!("{named_id}.store"), false),
            (format!("{named_id}.7.del"), false),
            (format!("{named_id}.6.del"), true),
            (format!("{other_id}.store"), true),
            (format!("{other_id}.7.del"), true),
            ("meta.json".to_string(), false),
            ("notes.txt".to_string(), false),
        ] {
            assert_eq!(is_unnamed(&name, &named), is_leftover, "{name}");
        }
    }
}
