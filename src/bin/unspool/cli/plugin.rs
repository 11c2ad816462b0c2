//! `unspool plugin`: the plugin for Claude Code.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use unspool::error::{Error, ErrorKind};

use crate::cli::own_command::own_command;
use crate::config::Config;
use crate::exit_code;
use crate::out;
use crate::plugin::{self, Plugin};

/// Install the plugin for Claude Code: MCP server, skill and hooks
#[derive(Args, Debug)]
pub(crate) struct PluginArgs {
    #[command(subcommand)]
    command: PluginCommand,
}

#[derive(Debug, Subcommand)]
enum PluginCommand {
    /// Write the plugin to a folder next to the index and print its path
    ///
    /// Use it as `claude --plugin-dir "$(unspool plugin path)"`, or in a marketplace source of type `command`.
    Path,
    /// Write the plugin to skills/unspool in Claude Code's folder, where Claude Code finds it by itself
    Install(ChangeArgs),
    /// Remove it from there
    Uninstall(ChangeArgs),
}

#[derive(Args, Debug)]
struct ChangeArgs {
    /// Use this folder for the plugin
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// Only show the files that would be written or removed
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(config: &Config, args: &PluginArgs) -> anyhow::Result<u8> {
    match &args.command {
        PluginCommand::Path => path(config),
        PluginCommand::Install(args) => install(config, args),
        PluginCommand::Uninstall(args) => uninstall(config, args),
    }
}

fn plugin(config: &Config) -> anyhow::Result<Plugin> {
    let (program, mut options) = own_command(config, "mcp")?;
    options.pop();
    Ok(Plugin::new(&program, &options)?)
}

fn path(config: &Config) -> anyhow::Result<u8> {
    let plugin = plugin(config)?;
    let folder = config.local.folder().beside("plugin").join("unspool");
    if !plugin.is_in(&folder) {
        plugin.write(&folder)?;
    }
    out::print(config.color, |out| writeln!(out, "{}", folder.display()))?;
    Ok(exit_code::OK)
}

fn install(config: &Config, args: &ChangeArgs) -> anyhow::Result<u8> {
    let plugin = plugin(config)?;
    for folder in folders(config, args)? {
        let shown = config.screen().path(&folder);
        if plugin.is_in(&folder) {
            out::print(config.color, |out| writeln!(out, "already in {shown}"))?;
        } else if args.dry_run {
            out::print(config.color, |out| {
                plugin.paths(&folder).iter().try_for_each(|path| writeln!(out, "# write {}", path.display()))
            })?;
        } else {
            plugin.write(&folder)?;
            out::print(config.color, |out| writeln!(out, "installed in {shown}; start Claude Code again to load it"))?;
        }
    }
    Ok(exit_code::OK)
}

fn uninstall(config: &Config, args: &ChangeArgs) -> anyhow::Result<u8> {
    let plugin = Plugin::new("unspool", &[])?;
    for folder in folders(config, args)? {
        let shown = config.screen().path(&folder);
        if !plugin::is_ours(&folder) {
            out::print(config.color, |out| writeln!(out, "not in {shown}"))?;
        } else if args.dry_run {
            out::print(config.color, |out| {
                plugin.paths(&folder).iter().try_for_each(|path| writeln!(out, "# remove {}", path.display()))
            })?;
        } else {
            plugin.remove(&folder)?;
            out::print(config.color, |out| writeln!(out, "removed from {shown}"))?;
        }
    }
    Ok(exit_code::OK)
}

/// Returns the folders for the plugin: the one given, or one in each of Claude Code's folders.
fn folders(config: &Config, args: &ChangeArgs) -> anyhow::Result<Vec<PathBuf>> {
    if let Some(dir) = &args.dir {
        return Ok(vec![std::path::absolute(dir)?]);
    }
    let found: Vec<PathBuf> =
        config.settings_files().iter().map(|file| file.with_file_name("skills").join("unspool")).collect();
    if found.is_empty() {
        let message = "cannot find Claude Code's folder";
        return Err(Error::new(ErrorKind::Usage, message)
            .hint("specify it with --root, or a folder with --dir")
            .into());
    }
    Ok(found)
}
