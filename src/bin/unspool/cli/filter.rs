//! The flags that narrow a search down, shared by all commands that look for something.

use clap::Args;
use unspool::archive::request::Filters;

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

    /// Returns the filters as they were typed.
    pub(crate) fn filters(&self) -> Filters {
        let agents = match (self.agents, self.no_agents) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        Filters {
            role: self.role.clone(),
            kind: self.kind.clone(),
            tool: self.tool.clone(),
            file: self.file.clone(),
            project: self.project.clone(),
            here: self.here,
            cwd: self.cwd.clone(),
            session: self.session.clone(),
            branch: self.branch.clone(),
            model: self.model.clone(),
            since: self.since.clone(),
            until: self.until.clone(),
            errors: self.errors,
            agents,
            include_current: self.include_current,
        }
    }
}
