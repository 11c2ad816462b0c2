//! The MCP clients that unspool can be added to: where each keeps its list of servers, and in which form.

mod json;
mod toml;

use std::path::{Path, PathBuf};

use unspool::error::Result;

use crate::shared_file::Entry;

/// The name of our server in the lists of all clients.
pub(crate) const NAME: &str = "unspool";

/// A client.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
pub(crate) enum Client {
    /// Claude Code
    Claude,
    /// Claude Desktop (macOS and Windows)
    ClaudeDesktop,
    /// Codex CLI
    Codex,
    /// Cursor
    Cursor,
    /// Gemini CLI
    Gemini,
    /// Visual Studio Code
    Vscode,
    /// Windsurf
    Windsurf,
}

/// The folders in which clients keep their files.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) home: PathBuf,
    /// The system's folder for the settings of programs.
    pub(crate) settings: PathBuf,
    /// The value of `CLAUDE_CONFIG_DIR`.
    pub(crate) claude: Option<PathBuf>,
    /// The value of `CODEX_HOME`.
    pub(crate) codex: Option<PathBuf>,
}

/// A program with its arguments, as a client starts it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Server {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
}

impl Server {
    /// Reports whether this is unspool's own server, also one with other options or in another place.
    fn is_ours(&self) -> bool {
        let name = self.program.rsplit(['/', '\\']).next().unwrap_or_default();
        name.trim_end_matches(".exe") == "unspool" && self.args.last().is_some_and(|last| last == "mcp")
    }
}

/// The state of a list of servers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum State {
    /// It has no server of this name.
    Absent,
    /// It has our server.
    Ours(Server),
    /// It has another server of this name.
    Foreign,
}

/// The entry of our server in a client's list. `server` is not needed to remove it.
pub(crate) trait List: Entry {
    /// Returns the state of a list.
    fn state(&self, text: &str) -> Result<State>;
}

impl Client {
    pub(crate) const ALL: [Self; 7] =
        [Self::Claude, Self::ClaudeDesktop, Self::Codex, Self::Cursor, Self::Gemini, Self::Vscode, Self::Windsurf];

    /// Returns the name that users type and see.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Codex => "codex",
            Self::Cursor => "cursor",
            Self::Gemini => "gemini",
            Self::Vscode => "vscode",
            Self::Windsurf => "windsurf",
        }
    }

    /// Returns the file with the user's servers. Returns `None` if the client does not exist on this system.
    pub(crate) fn file(self, places: &Places) -> Option<PathBuf> {
        let home = &places.home;
        Some(match self {
            Self::Claude => places.claude.as_ref().unwrap_or(home).join(".claude.json"),
            Self::ClaudeDesktop if cfg!(any(windows, target_os = "macos")) => {
                places.settings.join("Claude/claude_desktop_config.json")
            }
            Self::ClaudeDesktop => return None,
            Self::Codex => places.codex.clone().unwrap_or_else(|| home.join(".codex")).join("config.toml"),
            Self::Cursor => home.join(".cursor/mcp.json"),
            Self::Gemini => home.join(".gemini/settings.json"),
            Self::Vscode => places.settings.join("Code/User/mcp.json"),
            Self::Windsurf => home.join(".codeium/windsurf/mcp_config.json"),
        })
    }

    /// Reports whether the client has been used on this machine.
    pub(crate) fn is_here(self, places: &Places) -> bool {
        let Some(file) = self.file(places) else { return false };
        match self {
            Self::Claude => file.is_file() || places.home.join(".claude").is_dir(),
            _ => file.parent().is_some_and(Path::is_dir),
        }
    }

    /// Returns the entry for our server in the client's file.
    pub(crate) fn list(self, server: Server) -> Box<dyn List> {
        match self {
            Self::Codex => Box::new(toml::TomlList { server }),
            Self::Vscode => Box::new(json::JsonList { key: "servers", is_typed: true, server }),
            Self::Claude => Box::new(json::JsonList { key: "mcpServers", is_typed: true, server }),
            _ => Box::new(json::JsonList { key: "mcpServers", is_typed: false, server }),
        }
    }
}
