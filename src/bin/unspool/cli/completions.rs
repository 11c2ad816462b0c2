//! `unspool completions`: shell completion scripts.

use clap::Args;
use clap_complete::Shell;

use crate::exit_code;
use crate::out::{self, Color};

/// Print a completion script for a shell
///
/// bash: unspool completions bash > ~/.local/share/bash-completion/completions/unspool
/// zsh: unspool completions zsh > _unspool, in a folder of your fpath
/// fish: unspool completions fish > ~/.config/fish/completions/unspool.fish
/// PowerShell: unspool completions powershell >> $PROFILE
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct CompletionsArgs {
    /// bash, zsh, fish, powershell or elvish
    #[arg(value_enum, value_name = "SHELL", hide_possible_values = true)]
    shell: Shell,
}

pub(crate) fn run(mut command: clap::Command, args: &CompletionsArgs) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "unspool", &mut script);
    out::print(Color::Never, |out| out.write_all(&script))?;
    Ok(exit_code::OK)
}
