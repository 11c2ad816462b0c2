//! Adds an entry of ours to a settings file of another program, and removes it again.
//!
//! The file belongs to its user: nothing but our entry changes. A backup of the file before our entry was added is kept
//! next to it, and removing the entry restores that file byte for byte unless it was changed since.

use std::path::{Path, PathBuf};

use unspool::error::{Error, ErrorKind, Result};

use crate::atomic_write;

/// An entry of ours in the text of a file.
pub(crate) trait Entry {
    /// Returns the text with the entry. An empty text counts as a new file.
    fn with(&self, text: &str) -> Result<String>;
    /// Returns the text without the entry.
    fn without(&self, text: &str) -> Result<String>;
    /// Reports whether the text has such an entry.
    fn is_in(&self, text: &str) -> Result<bool>;
    /// Reports whether `before` is the original text, without our entry.
    fn is_original(&self, before: &str, text: &str) -> bool;
    /// Returns what is left of a file that contains only our entry when the entry is removed.
    fn blank(&self) -> &'static str;
}

/// A way to change an entry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Change {
    Add,
    Remove,
}

/// A change to a file that is planned but not made yet.
#[derive(Debug)]
pub(crate) struct Planned {
    path: PathBuf,
    old: String,
    pub(crate) new: String,
}

/// Plans a change. Returns `None` if the file is as it should be.
pub(crate) fn plan(path: &Path, entry: &dyn Entry, change: Change) -> anyhow::Result<Option<Planned>> {
    let old = read(path)?;
    // The change starts from the file without our entry, so that no trace of an old entry is left.
    let base = original(path, entry, &old)?.unwrap_or_else(|| old.clone());
    let new = match change {
        Change::Add => entry.with(&base),
        Change::Remove if base.trim().is_empty() => Ok(base.clone()),
        Change::Remove => entry.without(&base),
    };
    let new = new.map_err(|error| named(path, &error))?;
    Ok((new != old).then(|| Planned { path: path.to_path_buf(), old, new }))
}

impl Planned {
    /// Replaces the file and keeps a backup: of the file before our entry was added, if possible. A file that unspool
    /// created is removed together with the entry.
    pub(crate) fn carry_out(&self, entry: &dyn Entry) -> anyhow::Result<()> {
        let Self { path, old, new } = self;
        let backup = backup_of(path);
        if read(path)? != *old {
            return Err(Error::new(
                ErrorKind::Other,
                format!("{} was just changed by another program", path.display()),
            )
            .hint("try again")
            .into());
        }
        let before = backup.is_file().then(|| read(&backup)).transpose()?;
        let has_original = original(path, entry, old)?.is_some();
        let is_made_by_us =
            new == entry.blank() && before.as_ref().is_none_or(|before| entry.is_in(before).unwrap_or(false));
        if !has_original && is_made_by_us {
            return Ok(fs_err::remove_file(path)?);
        }
        let exists = path.try_exists()?;
        if exists && (!has_original || new.trim().is_empty() || !entry.is_in(new)?) {
            atomic_write::replace(&backup, old.as_bytes())?;
        } else if !exists && before.is_some_and(|before| before.trim().is_empty()) {
            // A later removal would restore it by mistake.
            fs_err::remove_file(&backup)?;
        }
        Ok(atomic_write::replace(path, new.as_bytes())?)
    }
}

/// Returns the original text of a file, without our entry, if the backup contains it.
fn original(path: &Path, entry: &dyn Entry, text: &str) -> anyhow::Result<Option<String>> {
    let backup = backup_of(path);
    let before = backup.is_file().then(|| read(&backup)).transpose()?;
    Ok(before.filter(|before| entry.is_original(before, text)))
}

/// Returns the path of the backup of a file.
fn backup_of(path: &Path) -> PathBuf {
    let mut backup = path.as_os_str().to_os_string();
    backup.push(".unspool-backup");
    PathBuf::from(backup)
}

/// Returns the text of a file, or an empty text if it does not exist.
pub(crate) fn read(path: &Path) -> anyhow::Result<String> {
    match fs_err::read(path) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|error| {
            let why = format!("cannot read {}: {error}", path.display());
            Error::new(ErrorKind::Other, why).hint("fix the file; nothing was changed").into()
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Error::io("read", path, error).into()),
    }
}

/// Adds the name of a file to an error about its text.
pub(crate) fn named(path: &Path, error: &Error) -> Error {
    Error::new(error.kind, format!("{}: {error}", path.display())).hint(error.hint_text().unwrap_or_default())
}
