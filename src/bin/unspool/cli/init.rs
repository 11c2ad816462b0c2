//! `unspool init`: completions and a key binding for a shell.

use clap::Args;
use unspool::error::{Error, ErrorKind};

use crate::cli::completions;
use crate::cli::keys::{Key, Press};
use crate::cli::shells::Shell;
use crate::exit_code;
use crate::out::{self, Color};

/// Print completions and a key binding for your shell
///
/// The key opens `unspool pick`, with the words on the prompt line as the query. The command that resumes the chosen
/// session is then on the prompt line, and you decide whether to run it. Without a choice, the line does not change.
///
/// zsh: eval "$(unspool init zsh)", at the end of ~/.zshrc
/// bash: eval "$(unspool init bash)", at the end of ~/.bashrc
/// fish: unspool init fish | source, in ~/.config/fish/config.fish
/// nu: unspool init nu | save --force ($nu.default-config-dir | path join unspool.nu), then `source unspool.nu` in
///     config.nu
/// PowerShell: unspool init powershell | Out-String | Invoke-Expression, in $PROFILE
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct InitArgs {
    /// zsh, bash, fish, nu or powershell
    #[arg(value_enum, value_name = "SHELL", hide_possible_values = true)]
    shell: Shell,

    /// The key, such as alt-i, ctrl-g, f5 or `ctrl-x u`; `none` leaves the key binding out
    #[arg(long, value_name = "KEY", default_value = "alt-i")]
    key: Key,
}

/// The code that each shell runs after the completions. The words in capitals are filled in.
const ZSH: &str = include_str!("../shell/pick.zsh");
const BASH: &str = include_str!("../shell/pick.bash");
const FISH: &str = include_str!("../shell/pick.fish");
const NU: &str = include_str!("../shell/pick.nu");
const POWERSHELL: &str = include_str!("../shell/pick.ps1");

pub(crate) fn run(command: clap::Command, args: &InitArgs) -> anyhow::Result<u8> {
    let binding = binding(args.shell, &args.key)?;
    let completions = String::from_utf8_lossy(&completions::script(command, args.shell)).into_owned();
    let completions = match args.shell {
        // Before `compinit`, zsh has no completions to add to.
        Shell::Zsh => format!("if (( $+functions[compdef] )); then\n{completions}\nfi\n"),
        _ => completions,
    };
    out::print(Color::Never, |out| write!(out, "{completions}{binding}"))?;
    Ok(exit_code::OK)
}

/// Returns the script that binds the key.
fn binding(shell: Shell, key: &Key) -> Result<String, Error> {
    let Some(first) = key.0.first() else { return Ok(String::new()) };
    let sequence = |write: fn(&Press) -> String| key.0.iter().map(write).collect::<Vec<_>>();
    let script = match shell {
        Shell::Zsh => ZSH.replace("SEQUENCE", &sequence(Press::in_zsh).concat()),
        Shell::Bash => BASH.replace("SEQUENCE", &sequence(Press::in_readline).concat()),
        Shell::Fish => FISH.replace("SEQUENCE", &sequence(Press::in_fish).concat()),
        Shell::Nu if key.0.len() > 1 => {
            let error = Error::new(ErrorKind::Usage, format!("nu cannot bind two keys in a row: {key}"));
            return Err(error.hint("choose one key, such as alt-i"));
        }
        Shell::Nu => NU.replace("MODIFIER", first.modifier_in_nu()).replace("KEYCODE", &first.keycode_in_nu()),
        Shell::PowerShell => POWERSHELL.replace("SEQUENCE", &sequence(Press::in_powershell).join(",")),
    };
    Ok(script.replace("KEYS", &key.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shell_gets_the_key_in_its_own_notation() {
        for (key, shell, expected) in [
            ("alt-i", Shell::Zsh, r"'^[i'"),
            ("ctrl-x u", Shell::Zsh, r"'^Xu'"),
            ("f5", Shell::Zsh, r"'^[[15~'"),
            ("alt-i", Shell::Bash, r#"'"\ei": _unspool_pick'"#),
            ("ctrl-x ctrl-u", Shell::Bash, r#""\C-x\C-u""#),
            ("f1", Shell::Bash, r#""\eOP""#),
            ("alt-i", Shell::Fish, r"bind -M insert \ei _"),
            ("ctrl-x u", Shell::Fish, r"bind \cxu _"),
            ("f12", Shell::Fish, r"bind \e\[24~ _"),
            ("alt-i", Shell::Nu, "modifier: alt\n    keycode: char_i\n"),
            ("f5", Shell::Nu, "modifier: none\n    keycode: f5\n"),
            ("alt-i", Shell::PowerShell, "-Chord 'Alt+i' "),
            ("ctrl-x u", Shell::PowerShell, "-Chord 'Ctrl+x,u' "),
        ] {
            let script = binding(shell, &key.parse().expect(key)).expect(key);
            assert!(script.contains(expected), "{key} {shell:?}: {script}");
            assert!(script.contains(&format!("# {key}: opens")), "{key} {shell:?}: {script}");
            let left: Vec<&str> =
                ["SEQUENCE", "KEYS", "MODIFIER", "KEYCODE"].into_iter().filter(|word| script.contains(word)).collect();
            assert!(left.is_empty(), "{key} {shell:?}: {left:?}");
        }
    }

    #[test]
    fn there_may_be_no_key_and_nu_takes_only_one() {
        let none: Key = "none".parse().expect("a key");
        assert_eq!(binding(Shell::Zsh, &none).expect("a script"), "");
        assert!(binding(Shell::Nu, &"ctrl-x u".parse().expect("a key")).is_err());
    }
}
