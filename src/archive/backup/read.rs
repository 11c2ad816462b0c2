//! Reads a backup frame by frame, and finds out which parts of it are damaged.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use xxhash_rust::xxh3::xxh3_64;

use crate::archive::backup::format::{End, Header, Line, NAME, VERSION, is_counted};
use crate::archive::backup::write::hex;
use crate::document::Document;
use crate::error::{Error, ErrorKind, Problem, Result};
use crate::index::{Checkpoint, FileKey};

/// The first bytes of a zstd frame.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Maximum size of a frame. Damage must not make us allocate any amount of memory.
const MAX_FRAME: u64 = 2 << 30;

/// A file or document of a backup, in order.
pub(super) enum Item {
    File(Box<Checkpoint>),
    Document(Box<Document>),
}

/// The result of reading a whole backup.
#[derive(Debug)]
pub(super) struct BackupContents {
    pub(super) path: PathBuf,
    /// The first line, unless it is damaged.
    pub(super) header: Option<Header>,
    /// The last line, with the figures that were found, not those that it contains.
    pub(super) found: End,
    /// Damaged parts. Empty if the backup is intact.
    pub(super) damage: Vec<Problem>,
}

impl BackupContents {
    /// Returns an error that names the first damaged part, if there is one.
    pub(super) fn require_intact(&self, hint: &str) -> Result<()> {
        let Some(first) = self.damage.first() else { return Ok(()) };
        let message = format!("the backup {} is damaged: {}", self.path.display(), first.reason);
        Err(Error::new(ErrorKind::Damaged, message).hint(hint))
    }
}

/// Reads a backup and passes every intact file and document to `visit`. A file that continues in another frame is
/// passed again if its documents cannot be attributed otherwise.
pub(super) fn read(path: &Path, visit: &mut dyn FnMut(Item) -> Result<()>) -> Result<BackupContents> {
    let failed = |error| Error::io("read", path, error);
    let mut frames = Frames::open(path).map_err(failed)?;
    let mut lines = Lines::new(path);
    let mut was_intact = true;
    while let Some(frame) = frames.next().map_err(failed)? {
        match &frame {
            Ok(bytes) => lines.take(bytes, visit)?,
            Err(error) if was_intact => {
                lines.damaged(format!("it cannot be decompressed after line {} ({error})", lines.number));
            }
            // Still the same damage: its bytes may look like the start of a frame.
            Err(_) => {}
        }
        was_intact = frame.is_ok();
        if lines.header.is_none() && lines.damage.is_empty() {
            break;
        }
    }
    lines.finish()
}

/// The frames of a file.
struct Frames {
    file: BufReader<File>,
}

impl Frames {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        Ok(Self { file: BufReader::with_capacity(128 << 10, file) })
    }

    /// Returns the contents of the next frame, or why they are damaged. The outer error is about the disk.
    fn next(&mut self) -> io::Result<Option<io::Result<Vec<u8>>>> {
        if self.file.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let start = self.file.stream_position()?;
        let mut bytes = Vec::new();
        let read = zstd::stream::read::Decoder::with_buffer(&mut self.file).and_then(|decoder| {
            let mut decoder = decoder.single_frame().take(MAX_FRAME);
            decoder.read_to_end(&mut bytes)?;
            if decoder.limit() == 0 { Err(io::Error::other("it is too large")) } else { Ok(()) }
        });
        if let Err(error) = read {
            self.file.seek(SeekFrom::Start(start + 1))?;
            self.skip_to_frame()?;
            return Ok(Some(Err(error)));
        }
        Ok(Some(Ok(bytes)))
    }

    /// Moves to the next bytes that look like a frame, or to the end.
    fn skip_to_frame(&mut self) -> io::Result<()> {
        let mut last = [0; 4];
        loop {
            let buffer = self.file.fill_buf()?;
            let Some(byte) = buffer.first().copied() else { return Ok(()) };
            last = [last[1], last[2], last[3], byte];
            self.file.consume(1);
            if last == MAGIC {
                return self.file.seek_relative(-4);
            }
        }
    }
}

/// Checks the lines of a backup while they are read.
struct Lines<'a> {
    path: &'a Path,
    /// Number of lines read.
    number: u64,
    hash: Sha256,
    header: Option<Header>,
    end: Option<End>,
    found: End,
    current: Option<FileKey>,
    damage: Vec<Problem>,
}

impl<'a> Lines<'a> {
    fn new(path: &'a Path) -> Self {
        let (hash, found) = (Sha256::new(), End::default());
        Self { path, number: 0, hash, header: None, end: None, found, current: None, damage: Vec::new() }
    }

    /// Reports whether the lines so far may be those of a backup.
    fn is_backup(&self) -> bool {
        self.header.is_some() || !self.damage.is_empty()
    }

    fn damaged(&mut self, reason: String) {
        // What follows may belong to another file.
        self.current = None;
        self.damage.push(Problem { path: self.path.to_path_buf(), line: Some(self.number + 1), reason });
    }

    fn take(&mut self, frame: &[u8], visit: &mut dyn FnMut(Item) -> Result<()>) -> Result<()> {
        for bytes in frame.split_inclusive(|byte| *byte == b'\n') {
            self.number += 1;
            match serde_json::from_slice::<Line>(bytes) {
                Ok(Line::End(end)) if self.is_backup() => {
                    self.end = Some(end);
                    continue;
                }
                Ok(line) if self.end.is_none() => self.line(line, visit)?,
                Ok(_) => self.damaged(format!("line {} comes after the last line", self.number)),
                Err(_) if !self.is_backup() => return Ok(()),
                Err(error) => {
                    // The file that the documents belong to is known, unless its own line is damaged.
                    let current = self.current.filter(|_| bytes.starts_with(b"{\"document\""));
                    self.damaged(format!("line {} cannot be read ({error})", self.number));
                    self.current = current;
                }
            }
            self.hash.update(bytes);
        }
        Ok(())
    }

    fn line(&mut self, line: Line, visit: &mut dyn FnMut(Item) -> Result<()>) -> Result<()> {
        match line {
            Line::Header(header) if self.header.is_none() => {
                check_version(self.path, &header)?;
                self.header = Some(header);
            }
            Line::File(checkpoint) if self.is_backup() => {
                let key = checkpoint.key();
                if self.current.replace(key) != Some(key) {
                    self.found.files += 1;
                    visit(Item::File(checkpoint))?;
                }
            }
            Line::Document(document) if self.current.is_some() => {
                self.found.documents += 1;
                visit(Item::Document(Box::new(document.into_document())))?;
            }
            _ => self.damaged(format!("line {} is out of place", self.number)),
        }
        Ok(())
    }

    fn finish(mut self) -> Result<BackupContents> {
        self.found.sha256 = hex(&self.hash.clone().finalize());
        let header = self.header.take();
        if header.is_none() && self.found.files == 0 {
            let message = format!("{} is not a backup by unspool, or its beginning is damaged", self.path.display());
            return Err(Error::new(ErrorKind::Other, message).hint("choose another file; nothing was changed"));
        }
        match self.end.take() {
            None => self.damaged(format!("it is truncated after line {}", self.number)),
            Some(end) if self.damage.is_empty() && end != self.found => {
                self.damaged(format!("the lines before line {} do not match its checksum", self.number));
            }
            Some(_) => {}
        }
        Ok(BackupContents { path: self.path.to_path_buf(), header, found: self.found, damage: self.damage })
    }
}

fn check_version(path: &Path, header: &Header) -> Result<()> {
    if header.format != NAME {
        let message = format!("{} is not a backup by unspool", path.display());
        return Err(Error::new(ErrorKind::Other, message).hint("choose another file; nothing was changed"));
    }
    if header.version > VERSION {
        let message =
            format!("the backup {} was made by a newer version of unspool ({})", path.display(), header.program);
        return Err(Error::new(ErrorKind::Unusable, message).hint("install that version"));
    }
    Ok(())
}

/// A file of a backup, without its documents.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Hash of the file's line.
    pub(super) hash: u64,
    pub(super) session: String,
    pub(super) forgotten: bool,
    /// Number of documents.
    pub(super) documents: u64,
    /// Number of documents, as checkpoints count them.
    pub(super) counted: u64,
}

/// The contents of a backup.
#[derive(Debug)]
pub(super) struct Survey {
    pub(super) reading: BackupContents,
    pub(super) files: BTreeMap<FileKey, Entry>,
    /// Set if it contains documents of sessions that were forgotten since.
    pub(super) has_forgotten: bool,
}

/// Reads a whole backup to find out what it contains. Documents of the `forgotten` sessions do not count.
pub(super) fn survey(path: &Path, forgotten: &HashSet<String>) -> Result<Survey> {
    let mut files: BTreeMap<FileKey, Entry> = BTreeMap::new();
    let mut current = None;
    let mut has_forgotten = false;
    let reading = read(path, &mut |item| {
        match item {
            Item::File(checkpoint) => {
                current = Some(checkpoint.key());
                files.entry(checkpoint.key()).or_insert_with(|| Entry {
                    hash: hash_of(&checkpoint),
                    session: checkpoint.session_id().to_string(),
                    forgotten: checkpoint.forgotten,
                    documents: 0,
                    counted: 0,
                });
            }
            Item::Document(document) if forgotten.contains(&document.session) => has_forgotten = true,
            Item::Document(document) => {
                if let Some(entry) = current.and_then(|key| files.get_mut(&key)) {
                    entry.documents += 1;
                    entry.counted += u64::from(is_counted(&document));
                }
            }
        }
        Ok(())
    })?;
    Ok(Survey { reading, files, has_forgotten })
}

/// Returns a hash of everything known about a file.
pub(super) fn hash_of(checkpoint: &Checkpoint) -> u64 {
    xxh3_64(&serde_json::to_vec(checkpoint).unwrap_or_default())
}
