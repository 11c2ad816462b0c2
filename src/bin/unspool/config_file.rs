//! Reads and edits the configuration file. An invalid file is an error that shows the position; an unknown key is a
//! warning.

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml_edit::{Document, Item, Table};
use unspool::archive::stats::{Price, Prices};
use unspool::error::{Error, ErrorKind, Result};

use crate::out::Color;

/// All keys with their descriptions, in the order of the template and of `unspool config`.
pub(crate) const KEYS: [(&str, &str); 5] = [
    ("roots", "folders to search for sessions, instead of ~/.claude; --root and UNSPOOL_ROOTS override it"),
    ("index_dir", "where the index is kept; --index-dir and UNSPOOL_INDEX_DIR override it"),
    ("color", "when to use colours: auto, always, never; --color and NO_COLOR override it"),
    ("pager", "the pager for long output on a terminal; UNSPOOL_PAGER overrides it, and it overrides PAGER"),
    ("limit", "number of sessions a search shows; -n overrides it"),
];
/// The key of the table of prices.
pub(crate) const PRICES: &str = "prices";
/// The key of the table of keys of the terminal UI.
pub(crate) const UI_KEYS: &str = "keys";
/// The key that switches the mouse on or off in the terminal UI.
pub(crate) const MOUSE: &str = "mouse";
/// The key of the background of the terminal.
pub(crate) const BACKGROUND: &str = "background";
/// The key of further arguments of `claude`.
pub(crate) const RESUME_ARGS: &str = "resume_args";
/// The keys of a price.
const PRICE_KEYS: [&str; 5] = ["input", "output", "cache_write", "cache_write_1h", "cache_read"];

/// The file that `unspool config init` writes.
pub(crate) const TEMPLATE: &str = include_str!("config.toml");

/// The contents of the file. Every setting is optional.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) roots: Option<Vec<PathBuf>>,
    pub(crate) index_dir: Option<PathBuf>,
    pub(crate) color: Option<Color>,
    pub(crate) pager: Option<String>,
    pub(crate) limit: Option<usize>,
    pub(crate) prices: Prices,
    /// Keys of the terminal UI, by the name of the action.
    pub(crate) keys: Vec<(String, String)>,
    /// True if the terminal UI uses the mouse.
    pub(crate) mouse: Option<bool>,
    /// True if the terminal has a light background.
    pub(crate) is_light: Option<bool>,
    /// Further arguments of `claude`, to resume a session.
    pub(crate) resume_args: Vec<String>,
    /// The models whose prices the file sets.
    pub(crate) priced: Vec<String>,
    /// Problems that are not errors.
    pub(crate) warnings: Vec<String>,
}

/// An error in the file, and its position.
struct Fault {
    span: Option<Range<usize>>,
    what: String,
}

impl Settings {
    /// Reads the file. A missing file is empty.
    pub(crate) fn load(path: &Path, home: Option<&Path>) -> Result<Self> {
        let text = match fs_err::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(Error::io("read the configuration", path, error)),
        };
        check_owner(path)?;
        Self::read(&text, path, home).map_err(|fault| broken(path, &text, &fault))
    }

    fn read(text: &str, path: &Path, home: Option<&Path>) -> std::result::Result<Self, Fault> {
        let document = Document::parse(text)
            .map_err(|error| Fault { span: error.span(), what: error.message().replace('\n', ", ") })?;
        let mut settings = Self::default();
        let folder = path.parent().unwrap_or(Path::new(""));
        let resolve = |text: &str| match (text.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => folder.join(text),
        };
        for (key, item) in document.iter() {
            match key {
                "roots" => {
                    let list = item.as_array().ok_or_else(|| wrong(item, "a list of folders"))?;
                    let folders = list.iter().map(|item| item.as_str().filter(|text| !text.is_empty()).map(resolve));
                    settings.roots =
                        Some(folders.collect::<Option<_>>().ok_or_else(|| wrong(item, "a list of folders"))?);
                }
                "index_dir" => settings.index_dir = Some(resolve(text_of(item, "a folder")?)),
                "color" => settings.color = Some(color_of(item)?),
                "pager" => settings.pager = Some(text_of(item, "a command")?.to_string()),
                "limit" => settings.limit = Some(count_of(item)?),
                PRICES => settings.read_prices(item)?,
                UI_KEYS => settings.read_keys(item)?,
                MOUSE => {
                    settings.mouse = Some(item.as_bool().ok_or_else(|| wrong(item, "true or false"))?);
                }
                BACKGROUND => {
                    let wanted = "light or dark";
                    settings.is_light = match text_of(item, wanted)? {
                        "light" => Some(true),
                        "dark" => Some(false),
                        _ => return Err(wrong(item, wanted)),
                    };
                }
                RESUME_ARGS => {
                    let list = item.as_array().ok_or_else(|| wrong(item, "a list of arguments"))?;
                    let args = list.iter().map(|item| item.as_str().map(str::to_string));
                    settings.resume_args =
                        args.collect::<Option<_>>().ok_or_else(|| wrong(item, "a list of arguments"))?;
                }
                unknown => settings.warnings.push(unknown_key(unknown, known_keys())),
            }
        }
        Ok(settings)
    }

    fn read_keys(&mut self, item: &Item) -> std::result::Result<(), Fault> {
        let actions = item.as_table_like().ok_or_else(|| wrong(item, "a table of actions"))?;
        for (action, item) in actions.iter() {
            self.keys
                .push((action.to_string(), text_of(item, "a key, or several with blanks between them")?.to_string()));
        }
        Ok(())
    }

    fn read_prices(&mut self, item: &Item) -> std::result::Result<(), Fault> {
        let models = item.as_table_like().ok_or_else(|| wrong(item, "a table of models"))?;
        for (model, item) in models.iter() {
            let table = item.as_table_like().ok_or_else(|| wrong(item, "a table with input and output"))?;
            let mut found: [Option<f64>; PRICE_KEYS.len()] = [None; PRICE_KEYS.len()];
            for (key, item) in table.iter() {
                match PRICE_KEYS.iter().position(|known| *known == key) {
                    Some(at) => found[at] = Some(dollars_of(item)?),
                    None => self.warnings.push(unknown_key(key, PRICE_KEYS.into_iter())),
                }
            }
            let [input, output, write, hour, read] = found;
            let (Some(input), Some(output)) = (input, output) else {
                return Err(wrong(item, "a table with both input and output, in dollars per million tokens"));
            };
            let usual = Price::usual(input, output);
            let price = Price {
                cache_write: write.unwrap_or(usual.cache_write),
                cache_hour: hour.unwrap_or(usual.cache_hour),
                cache_read: read.unwrap_or(usual.cache_read),
                ..usual
            };
            self.prices.set(model, price);
            self.priced.push(model.to_string());
        }
        Ok(())
    }
}

/// Returns all keys that a file may contain.
pub(crate) fn known_keys() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|(key, _)| *key).chain([PRICES, UI_KEYS, MOUSE, BACKGROUND, RESUME_ARGS])
}

/// Sets a key in the text of a file, and leaves everything else unchanged, including comments.
pub(crate) fn with_key(text: &str, path: &Path, key: &str, value: &str) -> Result<String> {
    let mut document: toml_edit::DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        let fault = Fault { span: error.span(), what: error.message().replace('\n', ", ") };
        broken(path, text, &fault)
    })?;
    let new = match key {
        "roots" => {
            let folders: toml_edit::Array =
                value.split(',').map(str::trim).filter(|folder| !folder.is_empty()).collect();
            toml_edit::value(folders)
        }
        RESUME_ARGS => toml_edit::value(value.split_whitespace().collect::<toml_edit::Array>()),
        "limit" => {
            let number: i64 = value.parse().map_err(|_| usage(format!("limit must be a number, not {value:?}")))?;
            toml_edit::value(number)
        }
        MOUSE => {
            let is_on: bool =
                value.parse().map_err(|_| usage(format!("mouse must be true or false, not {value:?}")))?;
            toml_edit::value(is_on)
        }
        _ => toml_edit::value(value),
    };
    set(document.as_table_mut(), key, new);
    let text = document.to_string();
    // Check that the result is valid before it is written.
    Settings::read(&text, path, None).map_err(|fault| usage(format!("{key} = {value}: {}", fault.what)))?;
    Ok(text)
}

fn set(table: &mut Table, key: &str, new: Item) {
    match table.get_mut(key) {
        Some(item) => *item = new,
        None => drop(table.insert(key, new)),
    }
}

fn usage(message: String) -> Error {
    Error::new(ErrorKind::Usage, message)
}

/// Returns the message for an unknown key, with a suggestion.
pub(crate) fn unknown_key(key: &str, known: impl Iterator<Item = &'static str>) -> String {
    let near = known.map(|known| (strsim::jaro_winkler(key, known), known)).max_by(|a, b| a.0.total_cmp(&b.0));
    match near.filter(|(similarity, _)| *similarity > 0.7) {
        Some((_, near)) => format!("unknown key {key:?}; did you mean {near:?}?"),
        None => format!("unknown key {key:?}"),
    }
}

fn wrong(item: &Item, wanted: &str) -> Fault {
    Fault { span: item.span(), what: format!("this must be {wanted}") }
}

fn text_of<'i>(item: &'i Item, wanted: &str) -> std::result::Result<&'i str, Fault> {
    item.as_str().filter(|text| !text.is_empty()).ok_or_else(|| wrong(item, wanted))
}

fn color_of(item: &Item) -> std::result::Result<Color, Fault> {
    let wanted = "auto, always or never";
    let text = text_of(item, wanted)?;
    <Color as clap::ValueEnum>::from_str(text, false).map_err(|_| wrong(item, wanted))
}

fn count_of(item: &Item) -> std::result::Result<usize, Fault> {
    let number = item.as_integer().and_then(|number| usize::try_from(number).ok());
    number.filter(|number| *number > 0).ok_or_else(|| wrong(item, "a number of at least 1"))
}

fn dollars_of(item: &Item) -> std::result::Result<f64, Fault> {
    let number = item.as_float().or_else(|| item.as_integer().map(|number| number as f64));
    number
        .filter(|number| number.is_finite() && *number >= 0.0)
        .ok_or_else(|| wrong(item, "a price in dollars per million tokens"))
}

/// Returns the error for a fault, with the line it is in.
fn broken(path: &Path, text: &str, fault: &Fault) -> Error {
    let name = path.display();
    let hint = "fix it, or set UNSPOOL_CONFIG to another file";
    let Some(span) = &fault.span else {
        return usage(format!("cannot read the configuration {name}: {}", fault.what)).hint(hint);
    };
    let start = text.floor_char_boundary(span.start.min(text.len()));
    let from = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line = text[..start].matches('\n').count() + 1;
    let column = text[from..start].chars().count() + 1;
    let shown = text[from..].lines().next().unwrap_or_default();
    let end = text.floor_char_boundary(span.end.min(from + shown.len()).max(start));
    usage(format!("{name}, line {line}, column {column}: {}", fault.what))
        .about(shown, (start - from).min(shown.len())..(end - from).min(shown.len()))
        .hint(hint)
}

/// Refuses a file that anyone can write to.
#[cfg(unix)]
fn check_owner(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let meta = fs_err::metadata(path).map_err(|error| Error::io("read the configuration", path, error))?;
    if meta.is_file() && meta.permissions().mode() & 0o002 != 0 {
        return Err(usage(format!("anyone can write to the configuration {}", path.display()))
            .hint(format!("run `chmod o-w {}`", path.display())));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_owner(_: &Path) -> Result<()> {
    Ok(())
}
