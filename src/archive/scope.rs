//! Turns typed filters into conditions: relative folders, `here`, and the running session.

use std::path::{Path, PathBuf};

use crate::archive::request::{Context, Filters};
use crate::error::Result;
use crate::query::{Condition, Filter, Test};

/// Returns the filter that typed filters mean for a caller.
pub(super) fn filter(filters: &Filters, context: &Context) -> Result<Filter> {
    let around = context.surroundings();
    let mut conditions = Vec::new();
    let lists = [
        ("role", &filters.role),
        ("kind", &filters.kind),
        ("tool", &filters.tool),
        ("file", &filters.file),
        ("project", &filters.project),
        ("cwd", &filters.cwd),
        ("session", &filters.session),
        ("branch", &filters.branch),
        ("model", &filters.model),
    ];
    for (field, values) in lists {
        for value in values {
            let value = if field == "cwd" { folder(value, around.folder.as_deref()) } else { value.clone() };
            conditions.push(Condition::parse(field, &value, &around)?);
        }
    }
    for (field, value) in [("since", &filters.since), ("until", &filters.until)] {
        if let Some(value) = value {
            conditions.push(Condition::parse(field, value, &around)?);
        }
    }
    if filters.here {
        conditions.push(Test::Here(here(Path::new(around.folder.as_deref().unwrap_or(".")))).into());
    }
    if filters.errors {
        conditions.push(Test::Error.into());
    }
    if let Some(wanted) = filters.agents {
        conditions.push(Condition { negated: !wanted, ..Condition::from(Test::Agent) });
    }
    let current = context.running_session.clone().filter(|_| !filters.include_current);
    let without_session = current.filter(|id| !names_session(&conditions, id));
    Ok(Filter { meta: false, without_session, conditions })
}

/// Returns a folder as its whole path if it exists relative to the current one, and otherwise as it was typed.
fn folder(value: &str, current: Option<&str>) -> String {
    let there = current.map(|current| Path::new(current).join(value)).filter(|path| path.is_dir());
    there.map_or_else(|| value.to_string(), |path| path.to_string_lossy().into_owned())
}

/// Reports whether conditions ask for this very session.
pub(super) fn names_session(conditions: &[Condition], id: &str) -> bool {
    let id = id.to_lowercase();
    let names = |one: &Condition| matches!(&one.test, Test::Session(named) if id.starts_with(&named.to_lowercase()));
    conditions.iter().any(|one| !one.negated && names(one))
}

/// Returns a folder, and if it is in a repository, the top of that and of all its worktrees.
fn here(folder: &Path) -> Vec<String> {
    let mut found = vec![folder.to_path_buf()];
    if let Some(top) = folder.ancestors().find(|dir| fs_err::metadata(dir.join(".git")).is_ok()) {
        found.push(top.to_path_buf());
        let git = git_dir(top);
        // The worktrees of a repository know each other through the folder of the main one.
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

/// Returns the folder with a repository's own files. In a worktree, `.git` is a file that names it.
fn git_dir(top: &Path) -> PathBuf {
    let own = top.join(".git");
    match fs_err::read_to_string(&own) {
        Ok(text) => text.trim().strip_prefix("gitdir: ").map_or(own, |named| top.join(named)),
        Err(_) => own,
    }
}
