//! The plugin for Claude Code: a folder with an MCP server, a skill and hooks, which is a part of this program.

use std::path::{Path, PathBuf};

use serde_json::Value;
use unspool::error::{Error, ErrorKind};

use crate::atomic_write;

/// A file of the plugin: its path in the folder, and its contents.
type PluginFile = (&'static str, Vec<u8>);

const MANIFEST: (&str, &str) = (".claude-plugin/plugin.json", include_str!("assets/plugin.json"));
const SERVERS: (&str, &str) = (".mcp.json", include_str!("assets/mcp.json"));
const HOOKS: (&str, &str) = ("hooks/hooks.json", include_str!("assets/hooks.json"));
const SKILL: (&str, &str) = ("skills/search-history/SKILL.md", include_str!("assets/SKILL.md"));
const README: (&str, &str) = ("README.md", include_str!("assets/README.md"));

/// The plugin, set up to run one program with fixed options.
#[derive(Debug)]
pub(crate) struct Plugin {
    files: Vec<PluginFile>,
}

impl Plugin {
    /// Returns the plugin that starts `program` with these options before the command.
    pub(crate) fn new(program: &str, options: &[String]) -> Result<Self, Error> {
        let mut manifest = parse(MANIFEST.1)?;
        if let Some(version) = manifest.get_mut("version") {
            *version = env!("CARGO_PKG_VERSION").into();
        }
        let mut files = vec![(MANIFEST.0, written(&manifest)?)];
        for (path, text) in [SERVERS, HOOKS] {
            let mut value = parse(text)?;
            set_program(&mut value, program, options);
            files.push((path, written(&value)?));
        }
        files.extend([SKILL, README].map(|(path, text)| (path, text.as_bytes().to_vec())));
        Ok(Self { files })
    }

    /// Reports whether a folder contains exactly these files with these contents. Other files are not looked at.
    pub(crate) fn is_in(&self, folder: &Path) -> bool {
        self.files.iter().all(|(path, bytes)| fs_err::read(folder.join(path)).is_ok_and(|found| found == *bytes))
    }

    /// Writes the folder. Fails if another plugin is in it.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), Error> {
        expect_own(folder)?;
        self.files.iter().try_for_each(|(path, bytes)| atomic_write::replace(&folder.join(path), bytes))
    }

    /// Returns the paths of the files in a folder.
    pub(crate) fn paths(&self, folder: &Path) -> Vec<PathBuf> {
        self.files.iter().map(|(path, _)| folder.join(path)).collect()
    }

    /// Removes the files of the plugin from a folder, and the folders that become empty.
    pub(crate) fn remove(&self, folder: &Path) -> Result<(), Error> {
        expect_own(folder)?;
        for path in self.paths(folder) {
            match fs_err::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io("remove", &path, error));
                }
                _ => {}
            }
            // A folder with files of other origin is not empty and stays.
            path.ancestors().skip(1).take_while(|above| above.starts_with(folder)).for_each(|above| {
                let _ = fs_err::remove_dir(above);
            });
        }
        Ok(())
    }
}

/// Reports whether a folder contains a plugin of ours, of any version.
pub(crate) fn is_ours(folder: &Path) -> bool {
    let manifest = fs_err::read_to_string(folder.join(MANIFEST.0)).ok();
    let manifest = manifest.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    manifest.is_some_and(|manifest| manifest.get("name").is_some_and(|name| name == "unspool"))
}

/// Fails if a folder contains anything and is not a plugin of ours.
fn expect_own(folder: &Path) -> Result<(), Error> {
    let is_empty = fs_err::read_dir(folder).map_or(true, |mut entries| entries.next().is_none());
    if is_empty || is_ours(folder) {
        return Ok(());
    }
    let message = format!("{} contains something else", folder.display());
    Err(Error::new(ErrorKind::Usage, message).hint("choose another folder; nothing was changed"))
}

/// Makes every command of a plugin file start `program` with `options`.
fn set_program(value: &mut Value, program: &str, options: &[String]) {
    match value {
        Value::Object(members) => {
            if members.get("command").is_some_and(|command| command == "unspool") {
                members.insert("command".to_string(), program.into());
                if let Some(Value::Array(args)) = members.get_mut("args") {
                    args.splice(0..0, options.iter().map(|word| Value::from(word.as_str())));
                }
            }
            members.values_mut().for_each(|value| set_program(value, program, options));
        }
        Value::Array(elements) => elements.iter_mut().for_each(|value| set_program(value, program, options)),
        _ => {}
    }
}

fn parse(text: &str) -> Result<Value, Error> {
    serde_json::from_str(text).map_err(|error| Error::new(ErrorKind::Other, error.to_string()))
}

fn written(value: &Value) -> Result<Vec<u8>, Error> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Error::new(ErrorKind::Other, error.to_string()))?;
    Ok((text + "\n").into_bytes())
}
