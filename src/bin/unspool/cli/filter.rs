//! Filter options, shared by all commands that search.

use clap::Args;
use unspool::archive::request::Filters;

/// Filter options. Several values of one option are alternatives; different options must all match.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Filters (also in the query: role:human, since:2d, -tool:Bash)")]
pub(crate) struct FilterArgs {
    /// Speaker: human, assistant, tool, subagent, programmatic, meta
    #[arg(long, value_name = "ROLE")]
    role: Vec<String>,

    /// Kind of message: prompt, text, thinking, tool_use, tool_result, command, title, …
    #[arg(long, value_name = "KIND")]
    kind: Vec<String>,

    /// Tool, by name or part of it
    #[arg(long, value_name = "TOOL")]
    tool: Vec<String>,

    /// File involved: a path, the end of a path, a folder or a glob
    #[arg(long, value_name = "PATH|GLOB")]
    file: Vec<String>,

    /// Project, by name, part of it, or path
    #[arg(long, short, value_name = "NAME|PATH")]
    project: Vec<String>,

    /// Only messages from the current repository and its worktrees, or from the current folder and below
    #[arg(long)]
    here: bool,

    /// Working directory or a parent of it: a path, or the end of a path
    #[arg(long, value_name = "DIR")]
    cwd: Vec<String>,

    /// Session, by id or the start of it
    #[arg(long, value_name = "ID")]
    session: Vec<String>,

    /// Git branch, by name or part of it
    #[arg(long, value_name = "BRANCH")]
    branch: Vec<String>,

    /// Model, by name or part of it
    #[arg(long, value_name = "MODEL")]
    model: Vec<String>,

    /// Not before this date: 2d, yesterday, last monday, 2026-03, …
    #[arg(long, visible_alias = "after", value_name = "DATE", allow_hyphen_values = true)]
    since: Option<String>,

    /// Not after this date; includes the whole day, month or year given
    #[arg(long, visible_alias = "before", value_name = "DATE", allow_hyphen_values = true)]
    until: Option<String>,

    /// Only messages that report an error
    #[arg(long)]
    errors: bool,

    /// Only messages of subagents
    #[arg(long, conflicts_with = "no_agents")]
    agents: bool,

    /// No messages of subagents
    #[arg(long)]
    no_agents: bool,

    /// Include the Claude Code session that runs this command; --session with its id does too
    #[arg(long)]
    include_current: bool,
}

impl FilterArgs {
    /// The options that are enough for a search without a query.
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

    /// Reports whether the calling session is included.
    pub(crate) fn include_current(&self) -> bool {
        self.include_current
    }

    /// Returns the filters as typed.
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
