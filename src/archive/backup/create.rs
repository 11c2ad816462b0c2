//! Writes a backup: what only the index has, and what only the old backup has.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::archive::backup::format::{End, Header, NAME, VERSION, is_derived};
use crate::archive::backup::read::{Item, Survey, hash_of, read, survey};
use crate::archive::backup::write::{BackupWriter, beside, set_time, sync_parent};
use crate::archive::serialize::timestamp;
use crate::error::{Error, ErrorKind, Problem, Result};
use crate::fault::{self, Op};
use crate::index::{Checkpoint, FileKey, Reader};

/// Options of a backup.
#[derive(Clone, Debug, Default)]
pub struct BackupOptions {
    /// The current time, in milliseconds since 1970.
    pub now: i64,
    /// Include sessions whose transcripts still exist.
    pub all: bool,
    /// The roots of the index, for the header.
    pub roots: Vec<String>,
}

/// The result of a backup.
#[derive(Debug, Default, Serialize)]
pub struct Backup {
    /// The backup.
    pub path: PathBuf,
    /// Set if a new file was written. Otherwise the old one contains everything already.
    pub written: bool,
    /// Number of files in the backup that are not forgotten.
    pub files: usize,
    /// Number of files that are new in it, or have changed.
    pub changed: usize,
    /// Number of files that only the old backup contained, or contained more of. They are kept.
    pub kept: usize,
    /// Number of files that were removed from it, because their sessions were forgotten.
    pub removed: usize,
    /// Number of forgotten sessions that it lists.
    pub forgotten: usize,
    /// Number of documents.
    pub documents: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Damage found in the old backup, which is kept under another name.
    pub problems: Vec<Problem>,
}

/// The contents of a new backup.
#[derive(Debug, Default)]
struct Plan {
    /// Files to copy from the index, sorted by path.
    from_index: Vec<Checkpoint>,
    /// Files to copy from the old backup.
    from_old: HashSet<FileKey>,
    /// Number of files whose contents differ from the old backup.
    changed: usize,
    /// Number of files of the old backup to leave out.
    removed: usize,
    forgotten: HashSet<String>,
}

/// Writes a backup, unless the existing one contains everything already.
pub(crate) fn create(reader: &Reader, path: &Path, options: &BackupOptions) -> Result<Backup> {
    let path = &target_of(path)?;
    let forgotten = reader.forgotten_sessions()?;
    let old = match path.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        _ => Some(survey(path, &forgotten)?),
    };
    if let Some(old) = old.as_ref().filter(|old| old.reading.header.is_none()) {
        old.reading.require_intact("move it away, or choose another file; nothing was changed")?;
    }
    let plan = Plan::new(reader, old.as_ref(), forgotten, options.all)?;
    let is_intact = old.as_ref().is_some_and(|old| old.reading.damage.is_empty() && !old.has_forgotten);
    let mut backup = plan.summary(path);
    if is_intact && plan.changed == 0 && plan.removed == 0 {
        touch(path, options.now)?;
        backup.documents = old.map(|old| old.reading.found.documents).unwrap_or_default();
        backup.bytes = size_of(path);
        return Ok(backup);
    }
    let mut writer = BackupWriter::create(path, &plan.header(options))?;
    plan.write(reader, path, &mut writer)?;
    let end = writer.finish(options.now)?;
    check(writer.path(), &end)?;
    if let Some(old) = old.filter(|old| !old.reading.damage.is_empty()) {
        backup.problems = old.reading.damage;
        let kept = keep_damaged(path)?;
        let reason = format!("the damaged backup is kept as {}", kept.display());
        backup.problems.push(Problem::with_path(path, reason));
    }
    writer.rename(path)?;
    Ok(Backup { written: true, documents: end.documents, bytes: size_of(path), ..backup })
}

impl Plan {
    fn new(reader: &Reader, old: Option<&Survey>, forgotten: HashSet<String>, all: bool) -> Result<Self> {
        let mut plan = Self { forgotten, ..Self::default() };
        let mut known = HashSet::new();
        for file in reader.checkpoints()? {
            let key = file.key();
            let before = old.and_then(|old| old.files.get(&key));
            known.insert(key);
            if !(all || file.gone_since.is_some() || file.forgotten || before.is_some()) {
                continue;
            }
            let is_more_complete = before.is_some_and(|before| before.counted > file.state.documents);
            if is_more_complete && file.gone_since.is_some() && !file.forgotten {
                // The index has lost some of its documents.
                plan.from_old.insert(key);
                continue;
            }
            let is_same =
                before.is_some_and(|before| before.hash == hash_of(&file) && before.counted == file.state.documents);
            plan.changed += usize::from(!is_same);
            plan.removed += usize::from(file.forgotten && before.is_some_and(|before| !before.forgotten));
            plan.from_index.push(file);
        }
        for (key, entry) in old.iter().flat_map(|old| &old.files).filter(|(key, _)| !known.contains(key)) {
            if entry.forgotten || !plan.forgotten.contains(&entry.session) {
                plan.from_old.insert(*key);
            } else {
                plan.removed += 1;
            }
        }
        plan.from_index.sort_by_cached_key(Checkpoint::path);
        Ok(plan)
    }

    fn header(&self, options: &BackupOptions) -> Header {
        Header {
            format: NAME.to_string(),
            version: VERSION,
            program: env!("CARGO_PKG_VERSION").to_string(),
            created: timestamp(options.now),
            roots: options.roots.clone(),
            files: (self.from_index.len() + self.from_old.len()) as u64,
        }
    }

    fn summary(&self, path: &Path) -> Backup {
        let is_content = |file: &&Checkpoint| !file.forgotten;
        Backup {
            path: path.to_path_buf(),
            files: self.from_index.iter().filter(is_content).count() + self.from_old.len(),
            changed: self.changed,
            kept: self.from_old.len(),
            removed: self.removed,
            forgotten: self.forgotten.len(),
            ..Backup::default()
        }
    }

    /// Copies everything into the new backup.
    fn write(&self, reader: &Reader, old: &Path, writer: &mut BackupWriter) -> Result<()> {
        for file in &self.from_index {
            writer.file(file)?;
            if file.forgotten {
                continue;
            }
            reader.each_document_of(file.key(), &mut |document| {
                let is_wanted = !is_derived(&document) && !self.forgotten.contains(&document.session);
                if is_wanted { writer.document(&document) } else { Ok(()) }
            })?;
        }
        if self.from_old.is_empty() {
            return Ok(());
        }
        let (mut current, mut is_wanted) = (None, false);
        read(old, &mut |item| match item {
            Item::File(checkpoint) => {
                let key = checkpoint.key();
                is_wanted = self.from_old.contains(&key);
                let is_new = current.replace(key) != Some(key);
                if is_wanted && is_new { writer.file(&checkpoint) } else { Ok(()) }
            }
            Item::Document(document) if is_wanted && !self.forgotten.contains(&document.session) => {
                writer.document(&document)
            }
            Item::Document(_) => Ok(()),
        })?;
        Ok(())
    }
}

/// Reads a new backup back, and compares it with what was written.
fn check(path: &Path, written: &End) -> Result<()> {
    let reading = read(path, &mut |_| Ok(()))?;
    reading.require_intact("check the disk; the old backup was not changed")?;
    if reading.found != *written {
        let message = format!("the new backup {} does not contain what was written to it", path.display());
        return Err(Error::new(ErrorKind::Other, message).hint("check the disk; the old backup was not changed"));
    }
    Ok(())
}

/// Returns the file that a path names, after following links, so that a rename does not replace a link.
fn target_of(path: &Path) -> Result<PathBuf> {
    if path.is_dir() {
        let message = format!("cannot write the backup {}: it is a folder", path.display());
        return Err(Error::new(ErrorKind::Usage, message).hint("name a file in it"));
    }
    match fs_err::canonicalize(path) {
        Ok(path) => Ok(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(path.to_path_buf()),
        Err(error) => Err(Error::io("open", path, error)),
    }
}

/// Notes that a backup is up to date: the time of the file decides when the next one is due.
fn touch(path: &Path, now: i64) -> Result<()> {
    let file = std::fs::File::options().append(true).open(path);
    file.and_then(|file| set_time(&file, now)).map_err(|error| Error::io("set the time of", path, error))
}

/// Gives a damaged backup a second name, so that nothing in it is lost when the new one replaces it.
fn keep_damaged(path: &Path) -> Result<PathBuf> {
    let mut number = 1;
    let failed = |error| Error::io("keep the damaged backup", path, error);
    loop {
        let suffix = if number == 1 { ".damaged".to_string() } else { format!(".damaged-{number}") };
        let name = beside(path, &suffix);
        fault::point(Op::Create(&name)).map_err(failed)?;
        let linked = fs_err::hard_link(path, &name);
        match linked {
            Ok(()) => return sync_parent(path).map(|()| name).map_err(failed),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
            // Some file systems have no links.
            Err(_) => return fs_err::copy(path, &name).map(|_| name).map_err(failed),
        }
    }
}

fn size_of(path: &Path) -> u64 {
    fs_err::metadata(path).map(|meta| meta.len()).unwrap_or_default()
}
