//! Salvages a damaged index from its store files alone.
//!
//! Everything known about a document or a checkpoint is in its stored entry, and each entry has its own checksum. So
//! only entries in damaged blocks are lost, even if every other file of the index is missing. The index is scanned once
//! to learn which files it contains, and in which blocks. Documents are then read per file.
//!
//! Store files also contain deleted entries. The file of deletions numbers the entries of a segment, so it is used as
//! long as no block is missing before an entry. Without it, deleted entries cannot be distinguished from others and are
//! kept, but no document twice.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tantivy::directory::OwnedBytes;
use tantivy::fastfield::AliveBitSet;

use crate::document::{Document, Kind};
use crate::error::{Error, Result};
use crate::index::checkpoint::Checkpoint;
use crate::index::disk::directory::{META, is_segment_file};
use crate::index::file_key::FileKey;
use crate::index::read::Reader;
use crate::index::read::catalog::CatalogEntry;
use crate::index::store::blocks::{Block, StoreFile};

/// A file that an index to copy from has read.
#[derive(Clone, Debug)]
pub struct OldFile {
    /// The key under which its documents are found.
    pub key: FileKey,
    /// Its checkpoint. `None` if it was lost and nothing else names the file.
    pub checkpoint: Option<Checkpoint>,
    /// Number of documents before any damage, without copies of subagents' messages. `None` if it is unknown.
    pub documents: Option<u64>,
}

/// The readable contents of a damaged index.
pub(in crate::index) struct Salvage {
    segments: Vec<Segment>,
    blocks: Vec<BlockAt>,
    files: BTreeMap<FileKey, Found>,
    /// The files of the index according to its columns. `None` if they cannot be read either, or are not needed.
    catalog: Option<Vec<CatalogEntry>>,
    /// Set if some entries are missing.
    lost_entries: bool,
    /// Set if the files of deletions contradict the checkpoints.
    ignores_deletions: bool,
    /// The block read last, by its number. Neighbouring documents are often read together.
    last_block: RefCell<Option<(usize, Block)>>,
}

/// The store file of a segment, and the entries of it that are not deleted.
struct Segment {
    store: PathBuf,
    alive: Option<AliveBitSet>,
}

/// The place of a block.
struct BlockAt {
    segment: usize,
    offset: u64,
    /// The number of its first entry in the segment, if no entry before it is missing.
    first: Option<u32>,
}

/// The entries of one file.
#[derive(Default)]
struct Found {
    /// The blocks with its documents.
    blocks: Vec<usize>,
    /// The newest checkpoint that is not deleted.
    checkpoint: Option<Checkpoint>,
    /// The newest checkpoint, deleted or not.
    any_checkpoint: Option<Checkpoint>,
    /// Number of documents that are not deleted, counted as checkpoints count them.
    documents: u64,
    /// Set if it has documents that are not deleted.
    has_documents: bool,
}

/// An entry found by the scan of a segment.
struct Seen {
    key: FileKey,
    block: usize,
    /// Its number in the segment, if it is known.
    number: Option<u32>,
    what: What,
}

enum What {
    Checkpoint(Box<Checkpoint>),
    /// A document; set if checkpoints count it.
    Document(bool),
}

impl std::fmt::Debug for Salvage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Salvage({} files in {} blocks)", self.files.len(), self.blocks.len())
    }
}

impl Salvage {
    /// Scans the store files in a folder.
    pub(in crate::index) fn open(path: &Path) -> Result<Self> {
        let listing = Listing::of(path).map_err(|error| Error::io("list", path, error))?;
        let mut salvage = Self {
            segments: Vec::new(),
            blocks: Vec::new(),
            files: BTreeMap::new(),
            catalog: None,
            lost_entries: false,
            ignores_deletions: false,
            last_block: RefCell::default(),
        };
        for id in listing.segments() {
            let store = path.join(format!("{id}.store"));
            salvage.scan(store, listing.deletions(path, &id));
        }
        // If the deletions contradict the checkpoints, they are ignored.
        salvage.ignores_deletions = !salvage.lost_entries && !salvage.matches_checkpoints();
        if salvage.lost_entries {
            salvage.catalog = Reader::open_without_stores(path).and_then(|reader| reader.catalog()).ok();
        }
        Ok(salvage)
    }

    /// Scans one store file.
    fn scan(&mut self, store: PathBuf, mut alive: Option<AliveBitSet>) {
        let mut seen = Vec::new();
        let number = self.segments.len();
        let count = StoreFile::open(&store).and_then(|mut file| self.scan_blocks(&mut file, number, &mut seen));
        let count = count.ok().flatten();
        self.lost_entries |= count.is_none();
        if count.is_some() && alive.as_ref().map(|alive| alive.bitset().max_value()) != count {
            // These deletions belong to another segment.
            alive = None;
        }
        for entry in seen {
            let is_alive = is_alive(alive.as_ref(), entry.number);
            self.files.entry(entry.key).or_default().add(entry, is_alive);
        }
        self.segments.push(Segment { store, alive });
    }

    /// Finds the entries of a store file. Returns their number if none is missing.
    fn scan_blocks(&mut self, file: &mut StoreFile, segment: usize, seen: &mut Vec<Seen>) -> io::Result<Option<u32>> {
        let (mut last, mut count) = (0, Some(0_u32));
        while let Some(block) = file.block_after(last)? {
            count = count.filter(|_| block.is_whole && block.follows(last));
            let at = self.blocks.len();
            self.blocks.push(BlockAt { segment, offset: block.offset, first: count });
            for (index, entry) in (0..).zip(&block.entries) {
                let Some((key, is_checkpoint)) = entry.head() else { continue };
                let what = match is_checkpoint {
                    true => entry.checkpoint().ok().map(|checkpoint| What::Checkpoint(Box::new(checkpoint))),
                    false => entry.document().ok().map(|document| What::Document(is_counted(&document))),
                };
                let number = count.map(|first| first + index);
                seen.extend(what.map(|what| Seen { key, block: at, number, what }));
            }
            count = count.map(|count| count + block.entries.len() as u32);
            last = block.next;
        }
        Ok(count.filter(|_| !file.is_cut_off()))
    }

    /// Reports whether the entries that are not deleted agree with the checkpoints: in every commit they do.
    fn matches_checkpoints(&self) -> bool {
        self.files.values().all(|file| match &file.checkpoint {
            Some(checkpoint) => checkpoint.forgotten || checkpoint.state.documents == file.documents,
            None => !file.has_documents,
        })
    }

    /// Returns all files, sorted by path. Those without a checkpoint come last.
    pub(in crate::index) fn files(&self) -> Vec<OldFile> {
        let catalog: HashMap<FileKey, &CatalogEntry> =
            self.catalog.iter().flatten().map(|entry| (entry.key, entry)).collect();
        let is_needed = |file: &Found| self.checkpoint_in(file).is_some() || self.has_documents(file);
        let found = self.files.iter().filter(|(_, file)| is_needed(file)).map(|(key, _)| *key);
        let keys: BTreeSet<FileKey> = found.chain(catalog.keys().copied()).collect();
        let mut files: Vec<OldFile> =
            keys.into_iter().map(|key| self.describe_file(key, catalog.get(&key).copied())).collect();
        let path_of = |file: &OldFile| file.checkpoint.as_ref().map(Checkpoint::path);
        files.sort_by_cached_key(|file| (file.checkpoint.is_none(), path_of(file)));
        files
    }

    /// Describes one file: by its checkpoint, by an older one that was deleted, or by what the columns say.
    fn describe_file(&self, key: FileKey, cataloged: Option<&CatalogEntry>) -> OldFile {
        let scanned = self.files.get(&key);
        if let Some(checkpoint) = scanned.and_then(|file| self.checkpoint_in(file)) {
            let documents = Some(checkpoint.state.documents);
            return OldFile { key, checkpoint: Some(checkpoint.clone()), documents };
        }
        let older = scanned.and_then(|file| file.any_checkpoint.clone());
        let summarized = || cataloged.map(|entry| Checkpoint::from_summary(&entry.summary, &entry.session));
        let mut checkpoint = older.or_else(summarized);
        if let (Some(checkpoint), Some(entry)) = (&mut checkpoint, cataloged) {
            checkpoint.gone_since = entry.summary.gone_since;
        }
        if cataloged.is_some_and(|entry| entry.is_forgotten) {
            checkpoint = checkpoint.map(Checkpoint::forgotten);
        }
        OldFile { key, checkpoint, documents: cataloged.map(|entry| entry.documents) }
    }

    fn checkpoint_in<'f>(&self, file: &'f Found) -> Option<&'f Checkpoint> {
        if self.ignores_deletions { file.any_checkpoint.as_ref() } else { file.checkpoint.as_ref() }
    }

    fn has_documents(&self, file: &Found) -> bool {
        if self.ignores_deletions { !file.blocks.is_empty() } else { file.has_documents }
    }

    /// Returns all intact documents of a file, in order.
    pub(in crate::index) fn documents_of(&self, key: FileKey) -> Result<Vec<Document>> {
        let mut documents = Vec::new();
        let blocks = self.files.get(&key).map(|file| file.blocks.as_slice()).unwrap_or_default();
        for number in blocks {
            self.read_block(*number, key, &mut documents)?;
        }
        documents.sort_by_key(|document| (document.line, document.offset, document.part));
        let mut seen = HashSet::new();
        documents
            .retain(|document| seen.insert((document.line, document.offset, document.part, document.uuid.clone())));
        Ok(documents)
    }

    /// Adds the documents of a file in one block.
    fn read_block(&self, number: usize, key: FileKey, documents: &mut Vec<Document>) -> Result<()> {
        let at = &self.blocks[number];
        let segment = &self.segments[at.segment];
        let alive = segment.alive.as_ref().filter(|_| !self.ignores_deletions);
        let mut last_block = self.last_block.borrow_mut();
        if last_block.as_ref().is_none_or(|(last, _)| *last != number) {
            let read = StoreFile::open(&segment.store).and_then(|mut store| store.block_at(at.offset));
            *last_block = Some((number, read.map_err(|error| Error::io("read", &segment.store, error))?));
        }
        let entries = last_block.iter().flat_map(|(_, block)| &block.entries);
        for (index, entry) in (0..).zip(entries) {
            if entry.head() == Some((key, false)) && is_alive(alive, at.first.map(|first| first + index)) {
                documents.extend(entry.document());
            }
        }
        Ok(())
    }

    /// Returns the sessions that the user removed from the index for good, from every checkpoint and the columns.
    pub(in crate::index) fn forgotten_sessions(&self) -> HashSet<String> {
        let checkpoints = self.files.values().filter_map(|file| file.any_checkpoint.as_ref());
        let stored = checkpoints.filter(|checkpoint| checkpoint.forgotten).map(Checkpoint::session_id);
        let listed =
            self.catalog.iter().flatten().filter(|entry| entry.is_forgotten).map(|entry| entry.session.as_str());
        stored.chain(listed).filter(|session| !session.is_empty()).map(str::to_string).collect()
    }

    /// Reports whether files may be lost without a trace of their names.
    pub(in crate::index) fn has_unnamed_losses(&self) -> bool {
        self.lost_entries && self.catalog.is_none()
    }
}

impl Found {
    fn add(&mut self, entry: Seen, is_alive: bool) {
        match entry.what {
            What::Checkpoint(checkpoint) => {
                if is_alive {
                    keep_newest(&mut self.checkpoint, &checkpoint);
                }
                keep_newest(&mut self.any_checkpoint, &checkpoint);
            }
            What::Document(is_counted) => {
                self.has_documents |= is_alive;
                self.documents += u64::from(is_counted && is_alive);
                if self.blocks.last() != Some(&entry.block) {
                    self.blocks.push(entry.block);
                }
            }
        }
    }
}

/// Keeps the checkpoint that covers most of the file. A file that was forgotten stays forgotten.
fn keep_newest(kept: &mut Option<Checkpoint>, other: &Checkpoint) {
    // Of two that are otherwise equal, the later one says that the file no longer exists.
    let rank = |checkpoint: &Checkpoint| {
        (checkpoint.forgotten, checkpoint.offset, checkpoint.state.documents, checkpoint.gone_since)
    };
    if kept.as_ref().is_none_or(|kept| rank(other) > rank(kept)) {
        *kept = Some(other.clone());
    }
}

/// Reports whether an entry is not deleted, as far as its number is known.
fn is_alive(alive: Option<&AliveBitSet>, number: Option<u32>) -> bool {
    match (alive, number) {
        (Some(alive), Some(number)) => number >= alive.bitset().max_value() || alive.is_alive(number),
        _ => true,
    }
}

/// Reports whether checkpoints count a document: it is not a copy of a subagent's message, nor the title of a session.
fn is_counted(document: &Document) -> bool {
    document.seen_via_agent.is_none() && !(document.kind == Kind::Title && document.line == 0)
}

/// The files of segments in a folder.
struct Listing {
    names: Vec<String>,
    /// The segments that `meta.json` names, with the number of their deletions. `None` if it cannot be relied on.
    named: Option<Vec<(String, Option<u64>)>>,
}

impl Listing {
    fn of(path: &Path) -> io::Result<Self> {
        let entries = fs_err::read_dir(path)?.flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let names: Vec<String> = names.filter(|name| is_segment_file(name)).collect();
        let exists = |id: &str| names.iter().any(|name| name.starts_with(id));
        let named = named_segments(path).filter(|named| named.iter().all(|(id, _)| exists(id)));
        Ok(Self { names, named })
    }

    /// The ids of the segments.
    fn segments(&self) -> BTreeSet<String> {
        match &self.named {
            Some(named) => named.iter().map(|(id, _)| id.clone()).collect(),
            None => self.names.iter().filter_map(|name| Some(name.split_once('.')?.0.to_string())).collect(),
        }
    }

    /// Returns the entries of a segment that are not deleted, if a file of deletions can be read.
    fn deletions(&self, path: &Path, id: &str) -> Option<AliveBitSet> {
        let named = self.named.iter().flatten().find(|(named, _)| named == id).map(|(_, number)| *number);
        if let Some(number) = named {
            let alive = read_deletions(&path.join(format!("{id}.{}.del", number?)));
            if alive.is_some() {
                return alive;
            }
        }
        let number_of = |name: &String| name.strip_prefix(id)?.strip_prefix('.')?.strip_suffix(".del")?.parse().ok();
        let mut numbers: Vec<u64> = self.names.iter().filter_map(number_of).collect();
        numbers.sort_unstable();
        numbers.into_iter().rev().find_map(|number| read_deletions(&path.join(format!("{id}.{number}.del"))))
    }
}

/// Returns the segments that `meta.json` names, if it can be read.
fn named_segments(path: &Path) -> Option<Vec<(String, Option<u64>)>> {
    let meta: Value = serde_json::from_slice(&std::fs::read(path.join(META)).ok()?).ok()?;
    let named = meta["segments"].as_array()?.iter();
    named
        .map(|segment| Some((segment["segment_id"].as_str()?.replace('-', ""), segment["deletes"]["opstamp"].as_u64())))
        .collect()
}

/// Reads a file of deletions: a bit for each entry, then a checksum in tantivy's footer. `None` if it is damaged.
fn read_deletions(path: &Path) -> Option<AliveBitSet> {
    let mut bytes = std::fs::read(path).ok()?;
    let end = bytes.len().checked_sub(8)?;
    let length = u32::from_le_bytes(*bytes[end..].first_chunk()?) as usize;
    let start = end.checked_sub(length)?;
    let footer: Value = serde_json::from_slice(&bytes[start..end]).ok()?;
    bytes.truncate(start);
    let is_intact = footer["crc"] == crc32fast::hash(&bytes);
    let (count, bits) = bytes.split_first_chunk()?;
    let is_long_enough = bits.len() % 8 == 0 && bits.len() * 8 >= u32::from_le_bytes(*count) as usize;
    (is_intact && is_long_enough).then(|| AliveBitSet::open(OwnedBytes::new(bytes)))
}
