//! The flags that narrow a search down, shared by all commands that look for something.

use std::path::{Path, PathBuf};

use clap::Args;
use unspool::query::{Condition, Filter, Test};

use crate::config::{self, Config};

/// What may be found. Several values of one flag are alternatives; different flags must all hold.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Filters (also in the query: role:human, since:2d, -tool:Bash)")]
pub(crate) struct FilterArgs {
    /// Who speaks: human, assistant, tool, subagent, programmatic, meta
    #[arg(long, value_name = "ROLE")]
    role: Vec<String>,

    /// What it is: prompt, text, thinking, tool_use, tool_result, command, title, …
    #[arg(long, value_name = "KIND")]
    kind: Vec<String>,

    /// The tool, or else a part of its name
    #[arg(long, value_name = "TOOL")]
    tool: Vec<String>,

    /// A file it is about: a path, the end of one, a folder, a glob
    #[arg(long, value_name = "PATH|GLOB")]
    file: Vec<String>,

    /// The project: its name, a part of it, or its path
    #[arg(long, short, value_name = "NAME|PATH")]
    project: Vec<String>,

    /// Only what was said in the current repository, its worktrees, or the current folder and below
    #[arg(long)]
    here: bool,

    /// The folder it was said in, or one above: a path, or the end of one
    #[arg(long, value_name = "DIR")]
    cwd: Vec<String>,

    /// The session: its id, or the beginning of it
    #[arg(long, value_name = "ID")]
    session: Vec<String>,

    /// The git branch, or else a part of its name
    #[arg(long, value_name = "BRANCH")]
    branch: Vec<String>,

    /// The model, or else a part of its name
    #[arg(long, value_name = "MODEL")]
    model: Vec<String>,

    /// Not before: 2d, yesterday, last monday, 2026-03, …
    #[arg(long, visible_alias = "after", value_name = "DATE", allow_hyphen_values = true)]
    since: Option<String>,

    /// Not after; includes all of the day, month or year that is named
    #[arg(long, visible_alias = "before", value_name = "DATE", allow_hyphen_values = true)]
    until: Option<String>,

    /// Only what reports a failure
    #[arg(long)]
    errors: bool,

    /// Only what subagents said and did
    #[arg(long, conflicts_with = "no_agents")]
    agents: bool,

    /// Nothing of what subagents said and did
    #[arg(long)]
    no_agents: bool,

    /// Also the Claude Code session this command runs in; --session with its id does the same
    #[arg(long)]
    include_current: bool,
}

impl FilterArgs {
    /// The flags that say by themselves what is wanted.
    pub(crate) const NAMES: [&str; 15] = [
        "role",
        "kind",
        "tool",
        "file",
        "project",
        "here",
        "cwd",
        "session",
        "branch",
        "model",
        "since",
        "until",
        "errors",
        "agents",
        "no_agents",
    ];

    /// The filter these flags stand for.
    pub(crate) fn filter(&self, config: &Config) -> anyhow::Result<Filter> {
        let around = config.surroundings();
        let mut conditions = Vec::new();
        let dates = [("since", &self.since), ("until", &self.until)];
        let lists = [
            ("role", &self.role),
            ("kind", &self.kind),
            ("tool", &self.tool),
            ("file", &self.file),
            ("project", &self.project),
            ("cwd", &self.cwd),
            ("session", &self.session),
            ("branch", &self.branch),
            ("model", &self.model),
        ];
        for (field, values) in lists {
            for value in values {
                let value = if field == "cwd" { folder(value, around.folder.as_deref()) } else { value.clone() };
                conditions.push(Condition::parse(field, &value, &around)?);
            }
        }
        for (field, value) in dates {
            if let Some(value) = value {
                conditions.push(Condition::parse(field, value, &around)?);
            }
        }
        if self.here {
            conditions.push(Test::Here(here(Path::new(around.folder.as_deref().unwrap_or(".")))).into());
        }
        if self.errors {
            conditions.push(Test::Error.into());
        }
        if self.agents || self.no_agents {
            conditions.push(Condition { negated: self.no_agents, ..Condition::from(Test::Agent) });
        }
        let current = config::var("CLAUDE_CODE_SESSION_ID").filter(|_| !self.include_current);
        let current = current.map(|id| id.to_string_lossy().into_owned());
        let without_session = current.filter(|id| !names_session(&conditions, id));
        Ok(Filter { meta: false, without_session, conditions })
    }
}

/// A folder that is there as seen from the current one is meant by its whole path; any other stays as it was typed.
fn folder(value: &str, current: Option<&str>) -> String {
    let there = current.map(|current| Path::new(current).join(value)).filter(|path| path.is_dir());
    there.map_or_else(|| value.to_string(), |path| path.to_string_lossy().into_owned())
}

/// Whether somebody asks for just this session.
pub(crate) fn names_session(conditions: &[Condition], id: &str) -> bool {
    let id = id.to_lowercase();
    let names = |one: &Condition| matches!(&one.test, Test::Session(named) if id.starts_with(&named.to_lowercase()));
    conditions.iter().any(|one| !one.negated && names(one))
}

/// The folder, or if it is in a repository, the top of that and of all its worktrees.
fn here(folder: &Path) -> Vec<String> {
    let mut found = vec![folder.to_path_buf()];
    if let Some(top) = folder.ancestors().find(|dir| fs_err::metadata(dir.join(".git")).is_ok()) {
        found.push(top.to_path_buf());
        let git = git_dir(top);
        // The worktrees of a repository know one another through its own folder.
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

/// The folder with a repository's own files; a worktree has a file there that names it.
fn git_dir(top: &Path) -> PathBuf {
    let own = top.join(".git");
    match fs_err::read_to_string(&own) {
        Ok(text) => text.trim().strip_prefix("gitdir: ").map_or(own, |named| top.join(named)),
        Err(_) => own,
    }
}
