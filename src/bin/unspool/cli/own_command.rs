//! The command with which another program starts unspool.

use unspool::error::{Error, ErrorKind};

use crate::config::{self, Config};
use crate::schedule::Tools;

/// Returns the program and its arguments for a command. The environment of the other program may differ from ours, so the
/// arguments include the options for roots and index.
pub(super) fn own_command(config: &Config, command: &str) -> anyhow::Result<(String, Vec<String>)> {
    let program = Tools::new(config::path_folders(), None).stable_name_of(&std::env::current_exe()?);
    crate::cli::schedule::warn_of_passing_place(&program);
    let mut words = Vec::new();
    for word in std::iter::once(program.into_os_string()).chain(config.carried_if_named()) {
        words.push(word.into_string().map_err(|word| {
            Error::new(ErrorKind::Usage, format!("\"{}\" is not valid UTF-8", word.to_string_lossy()))
                .hint("use a folder with a simpler name, for example through a symbolic link")
        })?);
    }
    words.push(command.to_string());
    Ok((words.remove(0), words))
}
