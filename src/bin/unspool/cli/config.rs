//! `unspool config`: shows settings and their origins, and edits the configuration file.

use clap::{Args, Subcommand};
use unspool::error::{Error, ErrorKind};
use unspool::untrusted::one_line;

use crate::config::{self, Config, Global};
use crate::config_file::{self, KEYS, PRICES, TEMPLATE};
use crate::exit_code;
use crate::out::{self, Color};

/// Show or change the configuration
///
/// Without a command, shows every setting, its value and where it comes from. Options override environment variables,
/// those override the file, and the file overrides the defaults.
#[derive(Args, Debug)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: Option<ConfigCommand>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Print the path of the file, even if it does not exist
    Path,
    /// Write a file that explains every setting; never replaces an existing file
    Init,
    /// Print the value of a setting
    Get {
        /// roots, index_dir, color, pager or limit
        key: String,
    },
    /// Write a setting to the file, and leave the rest unchanged
    Set {
        /// roots, index_dir, color, pager or limit
        key: String,
        /// New value; separate several folders with commas
        value: String,
    },
}

pub(crate) fn run(global: &Global, args: &ConfigArgs) -> anyhow::Result<u8> {
    match &args.command {
        None => show(&Config::new(global)?, args.json)?,
        Some(ConfigCommand::Path) => {
            let path = config::file()?;
            out::print(Color::Auto, |out| writeln!(out, "{}", one_line(&path.to_string_lossy())))?;
        }
        Some(ConfigCommand::Init) => init()?,
        Some(ConfigCommand::Get { key }) => get(&Config::new(global)?, key)?,
        Some(ConfigCommand::Set { key, value }) => set(key, value)?,
    }
    Ok(exit_code::OK)
}

fn show(config: &Config, json: bool) -> anyhow::Result<()> {
    let rows: Vec<(&str, String, String)> = KEYS
        .iter()
        .map(|(key, _)| {
            let (value, origin) = config.setting(key);
            (*key, value, origin)
        })
        .collect();
    let file = config.file.to_string_lossy().into_owned();
    if json {
        let setting = |(key, value, origin): &(&str, String, String)| serde_json::json!({"key": key, "value": value, "from": origin});
        let settings: Vec<_> = rows.iter().map(setting).collect();
        let object = serde_json::json!({"schema": unspool::render::json::SCHEMA, "type": "config", "file": file,
            "settings": settings, "prices": config.settings.priced});
        return out::print(config.color, |out| writeln!(out, "{object}"));
    }
    let screen = config.screen();
    out::print(config.color, |out| {
        let missing = if config.file_is_there() { "" } else { "  (does not exist; `unspool config init` writes it)" };
        writeln!(out, "{:<10} {}{missing}", "file", screen.path(&config.file))?;
        let short = |path: &str| screen.path(std::path::Path::new(path));
        let shown = |value: &str| value.split(", ").map(short).collect::<Vec<_>>().join(", ");
        let width = rows.iter().map(|(_, value, _)| shown(value).chars().count()).max().unwrap_or(0);
        for (key, value, origin) in &rows {
            writeln!(out, "{key:<10} {:<width$}  {}", shown(value), one_line(origin))?;
        }
        match config.settings.priced.as_slice() {
            [] => {
                writeln!(out, "{PRICES:<10} {:<width$}  built in", format!("of {}", unspool::archive::stats::PRICES_OF))
            }
            own => writeln!(out, "{PRICES:<10} {:<width$}  file, and built in", one_line(&own.join(", "))),
        }
    })
}

fn get(config: &Config, key: &str) -> anyhow::Result<()> {
    let key = known(key)?;
    let (value, _) = config.setting(key);
    out::print(config.color, |out| writeln!(out, "{}", one_line(&value)))
}

fn init() -> anyhow::Result<()> {
    let path = config::file()?;
    if path.try_exists().unwrap_or(true) {
        return Err(Error::new(ErrorKind::Usage, format!("the configuration already exists: {}", path.display()))
            .hint("edit it, or change one setting with `unspool config set`")
            .into());
    }
    write(&path, TEMPLATE)?;
    out::note(&format!("wrote {}", path.display()));
    Ok(())
}

fn set(key: &str, value: &str) -> anyhow::Result<()> {
    let key = known(key)?;
    let path = config::file()?;
    let before = match fs_err::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        read => read.map_err(|error| Error::io("read the configuration", &path, error))?,
    };
    write(&path, &config_file::with_key(&before, &path, key, value)?)?;
    out::note(&format!("wrote {}", path.display()));
    Ok(())
}

/// Writes the file atomically.
fn write(path: &std::path::Path, text: &str) -> anyhow::Result<()> {
    let failed = |error| Error::io("write the configuration", path, error);
    if let Some(folder) = path.parent() {
        fs_err::create_dir_all(folder).map_err(failed)?;
    }
    let temporary = path.with_extension("toml.new");
    fs_err::write(&temporary, text).map_err(failed)?;
    fs_err::rename(&temporary, path).map_err(failed)?;
    Ok(())
}

fn known(key: &str) -> anyhow::Result<&'static str> {
    let found = KEYS.iter().map(|(known, _)| *known).find(|known| *known == key);
    if key == PRICES {
        return Err(Error::new(ErrorKind::Usage, "prices are a table; edit the file")
            .hint("`unspool config path` prints its path")
            .into());
    }
    Ok(found.ok_or_else(|| Error::new(ErrorKind::Usage, config_file::unknown_key(key, config_file::known_keys())))?)
}
