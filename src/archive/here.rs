//! The scope "here": a folder, and the repository with all its worktrees if it is in one.

use std::path::{Path, PathBuf};

/// Returns a folder. If it is in a repository, also returns the top folders of the repository and all its worktrees.
pub(super) fn here(folder: &Path) -> Vec<String> {
    let mut found = vec![folder.to_path_buf()];
    if let Some(top) = folder.ancestors().find(|dir| fs_err::metadata(dir.join(".git")).is_ok()) {
        found.push(top.to_path_buf());
        let git = git_dir(top);
        // The `.git` folder of the main worktree lists all the others.
        let common = git.ancestors().find(|dir| dir.file_name().is_some_and(|name| name == ".git")).unwrap_or(&git);
        found.extend(common.parent().map(Path::to_path_buf));
        let worktrees = fs_err::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
        for worktree in worktrees {
            let gitdir = fs_err::read_to_string(worktree.path().join("gitdir")).unwrap_or_default();
            found.extend(Path::new(gitdir.trim()).parent().map(Path::to_path_buf));
        }
    }
    let mut names: Vec<String> = found.iter().map(|path| path.to_string_lossy().replace('\\', "/")).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| !name.is_empty());
    names
}

/// Returns the git folder of a worktree. `.git` is either that folder or a file that contains its path.
fn git_dir(top: &Path) -> PathBuf {
    let own = top.join(".git");
    match fs_err::read_to_string(&own) {
        Ok(text) => text.trim().strip_prefix("gitdir: ").map_or(own, |path| top.join(path)),
        Err(_) => own,
    }
}
