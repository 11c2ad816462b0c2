//! `unspool completions`: shell completion scripts.

use clap::{Args, ValueEnum};
use clap_complete::generate;

use crate::cli::shells::Shell;
use crate::exit_code;
use crate::out::{self, Color};

/// Print a completion script for a shell
///
/// `unspool init SHELL` prints the same script and a key binding for the picker.
///
/// bash: unspool completions bash > ~/.local/share/bash-completion/completions/unspool
/// zsh: unspool completions zsh > _unspool, in a folder of your fpath
/// fish: unspool completions fish > ~/.config/fish/completions/unspool.fish
/// nu: unspool completions nu | save unspool.nu, then `source` that file
/// PowerShell: unspool completions powershell >> $PROFILE
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct CompletionsArgs {
    /// bash, zsh, fish, nu, powershell or elvish
    #[arg(value_enum, value_name = "SHELL", hide_possible_values = true)]
    shell: Completed,
}

/// A shell with completions.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Completed {
    Bash,
    Zsh,
    Fish,
    #[value(alias = "nushell")]
    Nu,
    #[value(name = "powershell", alias = "pwsh")]
    PowerShell,
    Elvish,
}

pub(crate) fn run(command: clap::Command, args: &CompletionsArgs) -> anyhow::Result<u8> {
    let script = written(command, args.shell);
    out::print(Color::Never, |out| out.write_all(&script))?;
    Ok(exit_code::OK)
}

/// Returns the completion script for a shell.
pub(crate) fn script(command: clap::Command, shell: Shell) -> Vec<u8> {
    let shell = match shell {
        Shell::Zsh => Completed::Zsh,
        Shell::Bash => Completed::Bash,
        Shell::Fish => Completed::Fish,
        Shell::Nu => Completed::Nu,
        Shell::PowerShell => Completed::PowerShell,
    };
    written(command, shell)
}

fn written(mut command: clap::Command, shell: Completed) -> Vec<u8> {
    let mut script = Vec::new();
    let usual = match shell {
        Completed::Bash => clap_complete::Shell::Bash,
        Completed::Zsh => clap_complete::Shell::Zsh,
        Completed::Fish => clap_complete::Shell::Fish,
        Completed::PowerShell => clap_complete::Shell::PowerShell,
        Completed::Elvish => clap_complete::Shell::Elvish,
        Completed::Nu => {
            generate(clap_complete_nushell::Nushell, &mut command, "unspool", &mut script);
            return script;
        }
    };
    generate(usual, &mut command, "unspool", &mut script);
    script
}
