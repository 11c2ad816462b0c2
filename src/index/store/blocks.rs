//! Reads the compressed blocks of a store file without tantivy, so that damage in one block loses only that block.
//!
//! tantivy finds blocks by a list at the end of the file. If the file was truncated, the list is lost and so is
//! everything else. But each block is a zstd frame, and each frame begins with the same four bytes.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use memchr::memmem;
use tantivy::directory::OwnedBytes;

use crate::index::store::stored_document::Sealed;

/// The first bytes of a zstd frame.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// tantivy writes the decompressed size of a block before it.
const SIZE_BYTES: u64 = 4;
/// Largest block that is decompressed, in bytes. No message that Claude Code writes is as large.
const MAX_BLOCK: u64 = 512 << 20;
/// The same, as the power of two that zstd checks before it allocates memory.
const MAX_WINDOW_LOG: u32 = 29;
/// Bytes searched at first: the next block usually begins right after the last one.
const NEAR: usize = 64;
/// Bytes searched at a time after that.
const WINDOW: usize = 256 << 10;
/// The last bytes of every file that tantivy has finished.
const END: [u8; 4] = 1337_u32.to_le_bytes();

/// A store file, open for salvage.
pub(in crate::index) struct StoreFile {
    file: File,
}

/// A block that was found in a store file.
pub(in crate::index) struct Block {
    /// The offset of the block in the file.
    pub(in crate::index) offset: u64,
    /// The offset from which to search for the next block.
    pub(in crate::index) next: u64,
    /// Set if every entry of the block was found.
    pub(in crate::index) is_whole: bool,
    /// The intact entries, in order.
    pub(in crate::index) entries: Vec<Sealed>,
}

impl Block {
    /// Reports whether nothing is missing between the offset where the last block ended and this one.
    pub(in crate::index) fn follows(&self, last: u64) -> bool {
        self.offset == last + SIZE_BYTES
    }
}

impl StoreFile {
    /// Opens a file.
    pub(in crate::index) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(path)? })
    }

    /// Reports whether the end of the file is missing.
    pub(in crate::index) fn is_cut_off(&mut self) -> bool {
        let mut end = [0; END.len()];
        let read = self.file.seek(SeekFrom::End(-(END.len() as i64))).and_then(|_| self.file.read_exact(&mut end));
        read.is_err() || end != END
    }

    /// Returns the first block at or after an offset.
    pub(in crate::index) fn block_after(&mut self, offset: u64) -> io::Result<Option<Block>> {
        match self.find_magic(offset)? {
            Some(offset) => self.block_at(offset).map(Some),
            None => Ok(None),
        }
    }

    /// Reads the block at an offset. Of a damaged block, returns the entries that are intact.
    pub(in crate::index) fn block_at(&mut self, offset: u64) -> io::Result<Block> {
        self.file.seek(SeekFrom::Start(offset))?;
        let mut decoder = zstd::Decoder::with_buffer(BufReader::new(&self.file))?.single_frame();
        decoder.window_log_max(MAX_WINDOW_LOG)?;
        let mut bytes = Vec::new();
        let is_read = decoder.by_ref().take(MAX_BLOCK).read_to_end(&mut bytes).is_ok();
        let end = decoder.finish().stream_position()?;
        let count = bytes.last_chunk().map(|count| u32::from_le_bytes(*count) as usize);
        let entries = Sealed::find_all(&OwnedBytes::new(bytes));
        let is_whole = is_read && count == Some(entries.len());
        // The length of a damaged block may be wrong, so the next one may begin anywhere after its first bytes.
        let next = if is_whole { end } else { offset + MAGIC.len() as u64 };
        Ok(Block { offset, next, is_whole, entries })
    }

    fn find_magic(&mut self, from: u64) -> io::Result<Option<u64>> {
        let (mut start, mut size) = (from, NEAR);
        loop {
            self.file.seek(SeekFrom::Start(start))?;
            let mut bytes = Vec::with_capacity(size);
            (&self.file).take(size as u64).read_to_end(&mut bytes)?;
            if let Some(at) = memmem::find(&bytes, &MAGIC) {
                return Ok(Some(start + at as u64));
            }
            if bytes.len() < size {
                return Ok(None);
            }
            // The bytes may be cut in two by the end of the window.
            start += (size - (MAGIC.len() - 1)) as u64;
            size = WINDOW;
        }
    }
}
