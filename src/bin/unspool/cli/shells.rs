//! The shells whose prompt line this program can write to.

use clap::ValueEnum;
use unspool::archive::ShellSyntax;

/// A shell.
#[expect(clippy::enum_variant_names, reason = "the name of that shell")]
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Shell {
    Zsh,
    Bash,
    Fish,
    #[value(alias = "nushell")]
    Nu,
    #[value(name = "powershell", alias = "pwsh")]
    PowerShell,
}

impl Shell {
    /// Returns how the shell quotes words and joins commands.
    pub(crate) fn syntax(self) -> ShellSyntax {
        match self {
            Self::Zsh | Self::Bash => ShellSyntax::Posix,
            Self::Fish => ShellSyntax::Fish,
            Self::Nu => ShellSyntax::Nu,
            Self::PowerShell => ShellSyntax::PowerShell,
        }
    }
}
