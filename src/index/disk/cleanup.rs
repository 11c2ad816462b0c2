//! What runs leave behind that were killed or ran out of space: temporary files, and files of segments that no commit
//! names. tantivy clears such files away when a writer is opened; but the run that failed for want of space is the one
//! that has to give it back, and the next one may have nothing to write.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::index::disk::directory::{META, is_segment_file};
use crate::index::disk::fs;
use crate::index::disk::fs::is_side_file;

/// The segments that a commit names, each with the stamp of its deletions.
pub(in crate::index) type Named = HashMap<String, Option<u64>>;

/// Removes everything that the last commit of an index does not name.
pub(in crate::index) fn clear(path: &Path, index: &mut tantivy::Index) {
    let _ = sweep(path);
    let Ok(metas) = index.load_metas() else { return };
    let segments = metas.segments.iter();
    let named: Named = segments.map(|segment| (segment.id().uuid_string(), segment.delete_opstamp())).collect();
    let Ok(names) = names(path) else { return };
    let living: HashSet<_> = names.into_iter().filter(|name| !is_unnamed(name, &named)).map(Into::into).collect();
    let _ = index.directory_mut().garbage_collect(|| living);
}

/// Reports whether a folder contains anything that a writer would remove. Costs one listing.
pub(in crate::index) fn has_leftovers(path: &Path, named: &Named) -> bool {
    let is_leftover = |name: &str| is_temporary(name) || is_unnamed(name, named);
    names(path).is_ok_and(|names| names.iter().any(|name| is_leftover(name)))
}

/// Returns the files in a folder that neither we nor tantivy have made. They are left alone.
pub(in crate::index) fn strangers(path: &Path) -> Vec<PathBuf> {
    let is_known = |name: &str| is_side_file(name) || is_segment_file(name) || name == META;
    let mut names = names(path).unwrap_or_default();
    names.retain(|name| !is_known(name));
    names.sort_unstable();
    names.into_iter().map(|name| path.join(name)).collect()
}

/// Removes temporary files, which tantivy never collects, and its list of files, which an older version of this program
/// left.
pub(in crate::index) fn sweep(path: &Path) -> io::Result<()> {
    for name in names(path)?.iter().filter(|name| is_temporary(name)) {
        let _ = fs::remove_file(&path.join(name));
    }
    Ok(())
}

fn names(path: &Path) -> io::Result<Vec<String>> {
    let entries = fs_err::read_dir(path)?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

fn is_temporary(name: &str) -> bool {
    name.len() == 10 && name.starts_with(".tmp") || name == ".managed.json"
}

/// Whether it is a file of a segment that is not named, or the deletions of one as they were once.
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
    fn only_what_no_commit_names_is_litter() {
        let [one, other] = ["0123456789abcdef0123456789abcdef", "f123456789abcdef0123456789abcdef"];
        let named = Named::from([(one.to_string(), Some(7))]);
        for (name, is_litter) in [
            (format!("{one}.store"), false),
            (format!("{one}.7.del"), false),
            (format!("{one}.6.del"), true),
            (format!("{other}.store"), true),
            (format!("{other}.7.del"), true),
            ("meta.json".to_string(), false),
            ("notes.txt".to_string(), false),
        ] {
            assert_eq!(is_unnamed(&name, &named), is_litter, "{name}");
        }
    }
}
