//! Resolves options, environment variables, the configuration file and defaults into one [`Config`].
//!
//! This is the only place that reads the environment, the home folder and the clock.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use unspool::archive::Local;
use unspool::archive::request::Context;
use unspool::error::{Error, ErrorKind};
use unspool::render::terminal::style::Screen;
use unspool::transcript::discover::Root;

use crate::clients::Places;
use crate::config_file::Settings;
use crate::out::{self, Color};

/// Options of all commands.
#[derive(Args, Clone, Debug)]
pub(crate) struct Global {
    /// Search for sessions in this folder instead of ~/.claude; can be repeated
    #[arg(long, global = true, value_name = "DIR", help_heading = "Where")]
    pub(crate) root: Vec<PathBuf>,

    /// Keep the index in this folder [env: UNSPOOL_INDEX_DIR]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Where")]
    pub(crate) index_dir: Option<PathBuf>,

    /// When to use colours: auto, always, never
    ///
    /// With always, a pipe gets the same output as a terminal, for `less -R` and fzf. CLICOLOR_FORCE=1 does the same.
    #[arg(long, global = true, value_enum, value_name = "WHEN", hide_possible_values = true, help_heading = "Output")]
    pub(crate) color: Option<Color>,
}

/// The settings and surroundings of a command.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) roots: Vec<Root>,
    /// The index.
    pub(crate) local: Arc<Local>,
    pub(crate) color: Color,
    /// The pager for long output on a terminal.
    pub(crate) pager: String,
    /// The default number of sessions a search shows.
    pub(crate) limit: usize,
    /// The path of the configuration file, which may not exist.
    pub(crate) file: PathBuf,
    /// The contents of the configuration file.
    pub(crate) settings: Settings,
    /// The origins of roots, index folder, colour, pager and limit.
    origins: [&'static str; 5],
    data_dir: PathBuf,
}

const FLAG: &str = "option";
const FILE: &str = "file";
const BUILT_IN: &str = "built in";
/// The number of sessions a search shows.
const LIMIT: usize = 10;

impl Config {
    pub(crate) fn new(global: &Global) -> anyhow::Result<Self> {
        let file = file()?;
        let settings = Settings::load(&file, home().as_deref())?;
        settings.warnings.iter().for_each(|warning| out::note(&format!("{}: {warning}", file.display())));
        let (roots, roots_from) = roots(&global.root, &settings)?;
        let (data_dir, dir_from) = data_dir(global.index_dir.as_deref(), &settings)?;
        let (color, color_from) = color(global.color, &settings);
        let limit = settings.limit.unwrap_or(LIMIT);
        let limit_from = if settings.limit.is_some() { FILE } else { BUILT_IN };
        let local = Arc::new(Local::new(roots, &data_dir));
        let roots = local.roots().to_vec();
        let (pager, pager_from) = pager(&settings);
        let origins = [roots_from, dir_from, color_from, pager_from, limit_from];
        Ok(Self { roots, local, color, pager, limit, file, settings, origins, data_dir })
    }

    /// Returns the value of a setting, and where it comes from.
    pub(crate) fn setting(&self, key: &str) -> (String, String) {
        let [roots, dir, color, pager, limit] = self.origins;
        let paths = |roots: &[Root]| {
            roots.iter().map(|root| root.path.to_string_lossy().into_owned()).collect::<Vec<_>>().join(", ")
        };
        let (value, from) = match key {
            "roots" => (paths(&self.roots), roots),
            "index_dir" => (self.data_dir.to_string_lossy().into_owned(), dir),
            "color" => (self.color.name().to_string(), color),
            "pager" => (self.pager.clone(), pager),
            _ => (self.limit.to_string(), limit),
        };
        (value, from.to_string())
    }

    /// Reports whether the configuration file exists.
    pub(crate) fn file_is_there(&self) -> bool {
        self.file.try_exists().unwrap_or(false)
    }

    /// Returns the facts about the caller that requests depend on.
    pub(crate) fn context(&self) -> Context {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let claude_dir = var("CLAUDE_CONFIG_DIR").map(PathBuf::from).or_else(|| Some(home()?.join(".claude")));
        Context {
            now: jiff::Timestamp::from_millisecond(now()).unwrap_or_default().to_zoned(zone()),
            folder: std::env::current_dir().ok().map(text),
            home: home().map(text),
            running_session: var("CLAUDE_CODE_SESSION_ID").map(|id| id.to_string_lossy().into_owned()),
            claude_dir: claude_dir.map(text),
        }
    }

    /// Returns the folder that contains the index.
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.data_dir.clone()
    }

    /// Returns the options that make another process use the same roots and index, wherever it is started. The default
    /// roots are left out: either of them may be missing, and `--root` requires a folder that exists.
    pub(crate) fn carried(&self) -> Vec<OsString> {
        let named = self.roots.iter().filter(|root| root.required);
        let roots = named.flat_map(|root| ["--root".into(), root.path.clone().into_os_string()]);
        roots.chain(["--index-dir".into(), self.data_dir().into_os_string()]).collect()
    }

    /// Returns the same options, without the index folder if it is the default one.
    pub(crate) fn carried_if_named(&self) -> Vec<OsString> {
        let mut args = self.carried();
        if !["option", "UNSPOOL_INDEX_DIR"].contains(&self.origins[1]) {
            args.truncate(args.len() - 2);
        }
        args
    }

    /// Returns the path of Claude Code's settings file in each root that exists.
    pub(crate) fn settings_files(&self) -> Vec<PathBuf> {
        let folder = |root: &Root| match root.path.file_name() {
            Some(name) if name == "projects" => root.path.parent().map(Path::to_path_buf),
            _ => Some(root.path.clone()),
        };
        let existing = self.roots.iter().filter_map(folder).filter(|folder| folder.is_dir());
        existing.map(|folder| folder.join("settings.json")).collect()
    }

    pub(crate) fn screen(&self) -> Screen {
        Screen {
            width: width(),
            now: now(),
            zone: zone(),
            home: home().map(|home| home.to_string_lossy().into_owned()),
            ascii: is_ascii(),
        }
    }
}

/// Returns the facts about a caller at the present time, for a server that knows them since it started.
pub(crate) fn at_now(context: &Context) -> Context {
    let zone = context.now.time_zone().clone();
    let now = jiff::Timestamp::from_millisecond(now()).unwrap_or_default().to_zoned(zone);
    Context { now, ..context.clone() }
}

/// Returns the path of the configuration file: `UNSPOOL_CONFIG`, else `unspool/config.toml` in the system's folder for
/// configuration files.
pub(crate) fn file() -> anyhow::Result<PathBuf> {
    if let Some(file) = var("UNSPOOL_CONFIG") {
        return Ok(std::path::absolute(file)?);
    }
    if let Some(dir) = var("XDG_CONFIG_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute()) {
        return Ok(dir.join("unspool/config.toml"));
    }
    let dirs = directories::ProjectDirs::from("dev", "unspool", "unspool").filter(|_| home().is_some());
    // Without a home folder there is no file. Whoever needs the home folder reports the error.
    Ok(dirs.map_or_else(PathBuf::new, |dirs| dirs.config_dir().join("config.toml")))
}

/// Returns the colour setting: from `--color`, else the environment, else the file.
fn color(given: Option<Color>, settings: &Settings) -> (Color, &'static str) {
    let variable = ["NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR"].into_iter().find(|name| var(name).is_some());
    match (given, variable, settings.color) {
        (Some(color), ..) => (color, FLAG),
        (None, Some(name), _) => (Color::Auto, name),
        (None, None, Some(color)) => (color, FILE),
        (None, None, None) => (Color::Auto, BUILT_IN),
    }
}

/// The default pager. It stops only if the output does not fit on the screen.
const PAGER: &str = "less -FRX";

/// Returns the pager: from `UNSPOOL_PAGER`, else the file, else `PAGER`.
fn pager(settings: &Settings) -> (String, &'static str) {
    let variable = |name| var(name).map(|pager| (pager.to_string_lossy().into_owned(), name));
    variable("UNSPOOL_PAGER")
        .or_else(|| settings.pager.clone().map(|pager| (pager, FILE)))
        .or_else(|| variable("PAGER"))
        .unwrap_or_else(|| (PAGER.to_string(), BUILT_IN))
}

/// Returns the roots: from `--root`, else `UNSPOOL_ROOTS`, else the file, else `CLAUDE_CONFIG_DIR`, else the defaults.
fn roots(given: &[PathBuf], settings: &Settings) -> anyhow::Result<(Vec<Root>, &'static str)> {
    let named = |paths: Vec<PathBuf>| paths.into_iter().map(|path| (path, true)).collect::<Vec<_>>();
    let (found, from) = if !given.is_empty() {
        (named(given.to_vec()), FLAG)
    } else if let Some(list) = var("UNSPOOL_ROOTS") {
        let paths = std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect();
        (named(paths), "UNSPOOL_ROOTS")
    } else if let Some(paths) = settings.roots.clone().filter(|paths| !paths.is_empty()) {
        (named(paths), FILE)
    } else if let Some(list) = var("CLAUDE_CONFIG_DIR") {
        let list = list.to_string_lossy();
        let paths = list.split(',').map(|path| PathBuf::from(path.trim()));
        (named(paths.filter(|path| !path.as_os_str().is_empty()).collect()), "CLAUDE_CONFIG_DIR")
    } else {
        let home = home().ok_or_else(|| no_home("--root or CLAUDE_CONFIG_DIR"))?;
        (vec![(home.join(".claude"), false), (home.join(".config/claude"), false)], BUILT_IN)
    };
    let mut roots = BTreeSet::new();
    for (path, required) in found {
        roots.insert(Root { path: std::path::absolute(path)?, required });
    }
    Ok((roots.into_iter().collect(), from))
}

fn data_dir(given: Option<&Path>, settings: &Settings) -> anyhow::Result<(PathBuf, &'static str)> {
    let named = given.map(|dir| (dir.to_path_buf(), FLAG));
    let named = named.or_else(|| var("UNSPOOL_INDEX_DIR").map(|dir| (dir.into(), "UNSPOOL_INDEX_DIR")));
    if let Some((dir, from)) = named.or_else(|| settings.index_dir.clone().map(|dir| (dir, FILE))) {
        return Ok((std::path::absolute(dir)?, from));
    }
    // XDG_DATA_HOME is used on every system. A relative path is ignored, as its specification says.
    if let Some(dir) = var("XDG_DATA_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute()) {
        return Ok((dir.join("unspool"), "XDG_DATA_HOME"));
    }
    let dirs = directories::ProjectDirs::from("dev", "unspool", "unspool").filter(|_| home().is_some());
    let dirs = dirs.ok_or_else(|| no_home("--index-dir or UNSPOOL_INDEX_DIR"))?;
    Ok((dirs.data_local_dir().to_path_buf(), BUILT_IN))
}

fn no_home(instead: &str) -> Error {
    Error::new(ErrorKind::Usage, "cannot find your home folder (HOME is not set)").hint(format!("set {instead}"))
}

/// Returns the folders in which MCP clients keep their files.
pub(crate) fn client_places() -> anyhow::Result<Places> {
    let home = home().ok_or_else(|| no_home("HOME"))?;
    let settings = match var("APPDATA").filter(|_| cfg!(windows)) {
        Some(folder) => folder.into(),
        None if cfg!(target_os = "macos") => home.join("Library/Application Support"),
        None => settings_dir(&home),
    };
    let absolute = |name| var(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    Ok(Places { settings, claude: absolute("CLAUDE_CONFIG_DIR"), codex: absolute("CODEX_HOME"), home })
}

/// Returns the folders in `PATH`.
pub(crate) fn path_folders() -> Vec<PathBuf> {
    var("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}

/// Returns the folders with the fake schedulers of a test, from `UNSPOOL_TOOLS`. Release builds do not read it.
pub(crate) fn fake_tools() -> Option<Vec<PathBuf>> {
    let folders = if cfg!(debug_assertions) { var("UNSPOOL_TOOLS") } else { None };
    folders.map(|folders| std::env::split_paths(&folders).collect())
}

/// Returns the reason why no UI can start here, if there is one.
pub(crate) fn why_no_ui() -> Option<&'static str> {
    use std::io::IsTerminal as _;
    if var("CLAUDECODE").is_some() {
        return Some("this runs inside Claude Code");
    }
    if var("TERM").is_none_or(|term| term == "dumb") && cfg!(unix) {
        return Some("this terminal is not supported (TERM)");
    }
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    (!is_terminal).then_some("this is not a terminal")
}

/// Returns the reason why a picker cannot draw, if there is one. Its answer goes to stdout, which is usually a pipe.
pub(crate) fn why_no_picker() -> Option<&'static str> {
    use std::io::IsTerminal as _;
    match why_no_ui() {
        Some("this is not a terminal") if std::io::stderr().is_terminal() => None,
        Some("this is not a terminal") if fs_err::OpenOptions::new().write(true).open("/dev/tty").is_ok() => None,
        other => other,
    }
}

/// Reports whether the terminal has a light background: as the file says, or the terminal itself in COLORFGBG.
pub(crate) fn is_light(settings: &Settings) -> bool {
    let reported = || Some(matches!(var("COLORFGBG")?.to_str()?.rsplit(';').next()?, "7" | "15"));
    settings.is_light.or_else(reported).unwrap_or(false)
}

/// Returns the user's editor.
pub(crate) fn editor() -> String {
    let named = ["VISUAL", "EDITOR"].into_iter().find_map(var);
    named.map_or_else(|| "vi".to_string(), |editor| editor.to_string_lossy().into_owned())
}

/// Returns the folder of the user's settings, as systemd finds it.
pub(crate) fn settings_dir(home: &Path) -> PathBuf {
    let named = var("XDG_CONFIG_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
    named.unwrap_or_else(|| home.join(".config"))
}

/// Returns the variables a scheduled run needs, except those that [`Config::carried`] turns into options.
pub(crate) fn carried_variables() -> Vec<(OsString, OsString)> {
    let excluded = ["UNSPOOL_ROOTS", "UNSPOOL_INDEX_DIR", "UNSPOOL_NOW", "UNSPOOL_FAULT", "UNSPOOL_TOOLS"];
    let is_ours = |name: &str| name == "CLAUDE_CONFIG_DIR" || name.starts_with("UNSPOOL_");
    let mut found: Vec<_> = std::env::vars_os()
        .filter(|(name, value)| {
            let name = name.to_string_lossy();
            is_ours(&name) && !excluded.contains(&name.as_ref()) && !value.is_empty()
        })
        .collect();
    found.sort();
    found
}

pub(crate) fn home() -> Option<PathBuf> {
    let home = var("HOME").or_else(|| var("USERPROFILE"))?;
    Some(PathBuf::from(home)).filter(|home| home.is_absolute())
}

/// Returns the value of an environment variable, unless it is unset or empty.
#[expect(clippy::disallowed_methods, reason = "this is the only place that reads the environment")]
pub(crate) fn var(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns the time in milliseconds since 1970. Tests set it with `UNSPOOL_NOW`.
#[expect(clippy::disallowed_methods, reason = "this is the only place that reads the clock")]
pub(crate) fn now() -> i64 {
    let fixed = var("UNSPOOL_NOW").and_then(|now| now.to_str()?.parse::<jiff::Timestamp>().ok());
    match fixed {
        Some(now) => now.as_millisecond(),
        None => std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(0)),
    }
}

/// Returns the local time zone. It is read from the system's file if there is one, because finding its name means
/// listing all time zones, which takes longer than a search.
fn zone() -> jiff::tz::TimeZone {
    let local = || fs_err::read("/etc/localtime").ok().and_then(|data| jiff::tz::TimeZone::tzif("", &data).ok());
    match var("TZ") {
        None => local().unwrap_or_else(jiff::tz::TimeZone::system),
        Some(_) => jiff::tz::TimeZone::system(),
    }
}

/// Reports whether a locale is set and is not a UTF-8 locale.
fn is_ascii() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(var);
    locale.is_some_and(|locale| {
        let locale = locale.to_string_lossy().to_lowercase();
        !locale.contains("utf-8") && !locale.contains("utf8")
    })
}

/// Returns the width of the terminal. `COLUMNS` overrides it, as in other programs.
fn width() -> usize {
    let named = var("COLUMNS").and_then(|columns| columns.to_str()?.parse::<usize>().ok());
    let width = named.or_else(terminal_width).unwrap_or(100);
    width.clamp(40, 400)
}

#[cfg(unix)]
fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

#[cfg(not(unix))]
fn terminal_width() -> Option<usize> {
    None
}

/// Makes every file that this process creates readable by its owner only.
pub(crate) fn be_private() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
}

/// Suppresses panic messages. A panic while reading a damaged index is caught and reported as an error instead.
pub(crate) fn quiet_panics() {
    if var("RUST_BACKTRACE").is_none() {
        std::panic::set_hook(Box::new(|_| {}));
    }
}

/// Arms the faults that a test requests with `UNSPOOL_FAULT`. Release builds have none.
pub(crate) fn arm_faults() -> anyhow::Result<()> {
    #[cfg(debug_assertions)]
    if let Some(plan) = var("UNSPOOL_FAULT") {
        unspool::fault::arm(&plan.to_string_lossy()).map_err(anyhow::Error::msg)?;
    }
    Ok(())
}
