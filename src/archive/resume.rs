//! The command that resumes a session in Claude Code, or the reason why that is impossible.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::archive::request::Context;
use crate::archive::sessions::Session;
use crate::error::{Error, ErrorKind, Result};
use crate::transcript::layout::{encoded_folder, root_of};

/// The command that resumes a session.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct ResumeCommand {
    /// The folder to run it in.
    pub folder: PathBuf,
    /// The value of `CLAUDE_CONFIG_DIR`, if the transcript is not in the usual place.
    pub config_dir: Option<PathBuf>,
    /// The arguments of `claude`.
    pub args: Vec<String>,
}

/// The syntax of a shell: how it quotes words and joins commands.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ShellSyntax {
    /// sh, bash, zsh and other shells like them.
    #[default]
    Posix,
    /// fish.
    Fish,
    /// Nushell.
    Nu,
    /// PowerShell 5 and later.
    PowerShell,
}

impl ResumeCommand {
    /// Returns the command as it is typed in a shell such as sh.
    pub fn shell(&self) -> String {
        self.typed(ShellSyntax::Posix)
    }

    /// Returns the command as it is typed in a shell.
    pub fn typed(&self, syntax: ShellSyntax) -> String {
        let folder = syntax.quoted(&self.folder.to_string_lossy());
        let dir = self.config_dir.as_ref().map(|dir| syntax.quoted(&dir.to_string_lossy()));
        let dir = dir.map(|dir| match syntax {
            ShellSyntax::Posix | ShellSyntax::Fish | ShellSyntax::Nu => format!("CLAUDE_CONFIG_DIR={dir} "),
            ShellSyntax::PowerShell => format!("$env:CLAUDE_CONFIG_DIR = {dir}; "),
        });
        let args: Vec<String> = self.args.iter().map(|arg| syntax.quoted(arg)).collect();
        let claude = format!("{}claude {}", dir.unwrap_or_default(), args.join(" "));
        match syntax {
            ShellSyntax::Posix | ShellSyntax::Fish => format!("cd {folder} && {claude}"),
            ShellSyntax::Nu | ShellSyntax::PowerShell => format!("cd {folder}; {claude}"),
        }
    }
}

impl ShellSyntax {
    /// Quotes a word, if it needs that.
    fn quoted(self, word: &str) -> String {
        match self {
            Self::Posix => quoted(word),
            _ if is_plain(word) => word.to_string(),
            Self::Fish => format!("'{}'", word.replace('\\', "\\\\").replace('\'', "\\'")),
            Self::Nu if word.contains('\'') => {
                format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
            }
            Self::Nu => format!("'{word}'"),
            Self::PowerShell => format!("'{}'", word.replace('\'', "''")),
        }
    }
}

/// Returns the command for a session, or an error that says why it cannot be resumed.
pub(super) fn command(session: &Session, fork: bool, context: &Context) -> Result<ResumeCommand> {
    let id = session.id.raw();
    let keep = format!("`unspool show {id}` shows the session, `unspool export {id}` writes it to a file");
    let impossible = |what: String| Error::new(ErrorKind::NotFound, what);
    if session.history_only {
        return Err(impossible(format!("session {id} cannot be resumed: only its prompts are left")).hint(keep));
    }
    if session.agents_only && !session.gone {
        let what = format!("session {id} cannot be resumed: only its subagents are known, not its own transcript");
        return Err(impossible(what).hint(keep));
    }
    if session.gone || !matches!(session.path.try_exists(), Ok(true)) {
        let what = format!("session {id} cannot be resumed: Claude Code has deleted its transcript");
        return Err(impossible(what).hint(keep));
    }
    let folder = folder_of(session);
    if folder.as_os_str().is_empty() {
        return Err(impossible(format!("session {id} cannot be resumed: its folder is unknown")).hint(keep));
    }
    if !folder.is_dir() {
        let what = format!("session {id} cannot be resumed: its folder no longer exists: {}", folder.display());
        return Err(
            impossible(what).hint(format!("recreate the folder (Claude Code finds sessions by folder); {keep}"))
        );
    }
    let mut args = vec!["--resume".to_string(), id.to_string()];
    if fork {
        args.push("--fork-session".to_string());
    }
    let usual = context.claude_dir.as_deref().map(Path::new);
    let config_dir = root_of(&session.path).filter(|root| usual != Some(root));
    Ok(ResumeCommand { folder, config_dir, args })
}

/// Returns the folder after which Claude Code named the transcript's folder. Only there does it find the session.
fn folder_of(session: &Session) -> PathBuf {
    let name = session.path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let folders = [session.cwd.raw(), session.project.raw()];
    let matching = folders.into_iter().find(|folder| name.as_deref() == Some(&encoded_folder(folder)));
    PathBuf::from(matching.unwrap_or(session.project.raw()))
}

/// Quotes a word for a shell such as sh, if it needs that.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./~:@%+=,".contains(c);
    if !word.is_empty() && !word.starts_with('~') && word.chars().all(is_plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Reports whether a word needs quotes in no shell.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted() {
        assert_eq!(quoted("/home/u/x"), "/home/u/x");
        assert_eq!(quoted("/my docs/it's"), "'/my docs/it'\\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn each_shell_gets_its_own_command() {
        let command = |folder: &str, config_dir: Option<&str>| ResumeCommand {
            folder: PathBuf::from(folder),
            config_dir: config_dir.map(PathBuf::from),
            args: vec!["--resume".into(), "0500".into()],
        };
        use ShellSyntax::{Fish, Nu, Posix, PowerShell};
        for (syntax, folder, config_dir, expected) in [
            (Posix, "/home/u/x", None, "cd /home/u/x && claude --resume 0500"),
            (Posix, "/it's", Some("/my docs"), r"cd '/it'\''s' && CLAUDE_CONFIG_DIR='/my docs' claude --resume 0500"),
            (Fish, "/it's a\\b", Some("/x"), r"cd '/it\'s a\\b' && CLAUDE_CONFIG_DIR=/x claude --resume 0500"),
            (Nu, "/my docs", Some("/a b"), "cd '/my docs'; CLAUDE_CONFIG_DIR='/a b' claude --resume 0500"),
            (Nu, "/it's \"so\"", None, r#"cd "/it's \"so\""; claude --resume 0500"#),
            (
                PowerShell,
                r"C:\it's",
                Some("D:/x"),
                r"cd 'C:\it''s'; $env:CLAUDE_CONFIG_DIR = 'D:/x'; claude --resume 0500",
            ),
        ] {
            assert_eq!(command(folder, config_dir).typed(syntax), expected);
        }
    }
}
