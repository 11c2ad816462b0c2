//! The texts of a segment as tantivy's store keeps them: packed in blocks, with a table of contents in layers behind them.
//!
//! tantivy's own reader takes a new context and new memory for each block that it unpacks, and fills that with zeros first,
//! which together takes a third as long again as unpacking. Here each thread has its own, and keeps what it unpacked last. No
//! number that stands in the file is believed before it is compared with what is there.

use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use tantivy::DocId;
use tantivy::HasLen as _;
use tantivy::directory::{FileSlice, OwnedBytes};
use zstd::bulk::Decompressor;
use zstd::zstd_safe::get_frame_content_size;

/// What stands at the end of a store: version, length of the blocks, packing, and room for more.
const FOOTER: usize = 28;
/// The only version that was ever written.
const VERSION: u32 = 2;
/// tantivy's number for zstd.
const ZSTD: u8 = 4;
/// The memory of a larger block is given back.
const LARGE: usize = 4 << 20;
/// No block is larger than this: it ends with the text that makes it longer than a few hundred kilobytes.
const LARGEST: usize = 1 << 30;

/// The store of a segment; see the module's text.
#[derive(Debug)]
pub(super) struct Blocks {
    /// Tells it from others, among what threads keep.
    number: u64,
    data: FileSlice,
    /// The table of contents, the coarsest layer first; the last tells of blocks, each other of places in the next.
    layers: Vec<OwnedBytes>,
}

/// What a document is read for. A thread keeps the last block of each: new memory costs about as much as unpacking what goes
/// into it, so there is a second piece of it only where texts are patches of others.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// Itself.
    Itself,
    /// Another that is a patch of it.
    Patched,
}

/// What a table of contents says of one block.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Listed {
    docs: Range<u64>,
    bytes: Range<usize>,
}

impl Blocks {
    /// Opens a store.
    pub(super) fn open(store: &FileSlice) -> io::Result<Self> {
        static OPENED: AtomicU64 = AtomicU64::new(1);
        let body = store.len().checked_sub(FOOTER).ok_or_else(damaged)?;
        let footer = store.slice_from(body).read_bytes()?;
        let (version, rest) = footer.split_first_chunk().ok_or_else(damaged)?;
        let (length, rest) = rest.split_first_chunk().ok_or_else(damaged)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged())?;
        if u32::from_le_bytes(*version) != VERSION || rest.first() != Some(&ZSTD) || length > body {
            return Err(damaged());
        }
        let contents = store.slice(length..body).read_bytes()?;
        let layers = layers(&contents).ok_or_else(damaged)?;
        Ok(Self { number: OPENED.fetch_add(1, Ordering::Relaxed), data: store.slice_to(length), layers })
    }

    /// What is stored of a document, which is read for the sake of `what`.
    pub(super) fn document(&self, doc: DocId, what: What) -> io::Result<Vec<u8>> {
        let listed = self.find(u64::from(doc)).ok_or_else(damaged)?;
        let place = usize::try_from(u64::from(doc) - listed.docs.start).map_err(|_| damaged())?;
        UNPACKED.with_borrow_mut(|unpacked| {
            let block = unpacked.block((self.number, listed.bytes.start), what, || {
                let is_there = listed.bytes.end <= self.data.len();
                if is_there { self.data.slice(listed.bytes.clone()).read_bytes() } else { Err(damaged()) }
            })?;
            range_in(block, place).and_then(|range| block.get(range)).map(<[u8]>::to_vec).ok_or_else(damaged)
        })
    }

    /// The block of a document.
    fn find(&self, doc: u64) -> Option<Listed> {
        let mut found = Listed { docs: 0..0, bytes: 0..0 };
        for layer in &self.layers {
            found = Contents::new(layer.get(found.bytes.start..)?).find(|one| one.docs.end > doc)?;
        }
        (found.docs.contains(&doc)).then_some(found)
    }
}

/// Takes a table of contents apart: how many layers there are, where each of them ends, and the layers.
fn layers(contents: &OwnedBytes) -> Option<Vec<OwnedBytes>> {
    let mut rest = contents.as_slice();
    let count = number(&mut rest)?;
    let ends: Vec<usize> = (0..count).map(|_| usize::try_from(number(&mut rest)?).ok()).collect::<Option<_>>()?;
    let first = contents.len() - rest.len();
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let layer = |(start, end): (usize, usize)| {
        let range = first + start..first.checked_add(end)?;
        (start <= end && range.end <= contents.len()).then(|| contents.slice(range))
    };
    starts.zip(ends.iter().copied()).map(layer).collect()
}

/// Walks over a layer of a table of contents: entries come in groups, of which each says where it begins.
struct Contents<'a> {
    rest: &'a [u8],
    /// How many entries are left of the group.
    left: u64,
    doc: u64,
    byte: u64,
}

impl<'a> Contents<'a> {
    fn new(rest: &'a [u8]) -> Self {
        Self { rest, left: 0, doc: 0, byte: 0 }
    }
}

impl Iterator for Contents<'_> {
    type Item = Listed;

    fn next(&mut self) -> Option<Listed> {
        if self.left == 0 {
            self.left = number(&mut self.rest)?;
            (self.doc, self.byte) = (number(&mut self.rest)?, number(&mut self.rest)?);
        }
        self.left = self.left.checked_sub(1)?;
        let (doc, byte) = (self.doc, self.byte);
        self.doc = doc.checked_add(number(&mut self.rest)?)?;
        self.byte = byte.checked_add(number(&mut self.rest)?)?;
        Some(Listed { docs: doc..self.doc, bytes: usize::try_from(byte).ok()?..usize::try_from(self.byte).ok()? })
    }
}

/// Where a document is in its block: at the end stand the beginnings of all, and how many they are.
fn range_in(block: &[u8], place: usize) -> Option<Range<usize>> {
    const WIDTH: usize = size_of::<u32>();
    let (rest, count) = block.split_last_chunk()?;
    let count = u32::from_le_bytes(*count) as usize;
    let end = rest.len().checked_sub(count.checked_mul(WIDTH)?)?;
    let starts = rest[end..].as_chunks::<WIDTH>().0;
    let start = |place: usize| starts.get(place).map(|start| u32::from_le_bytes(*start) as usize);
    let range = start(place)?..start(place + 1).unwrap_or(end);
    (range.start <= range.end && range.end <= end).then_some(range)
}

thread_local! {
    static UNPACKED: RefCell<Unpacked> = RefCell::default();
}

/// What a thread unpacks with, and what it unpacked last, by what that was for.
#[derive(Default)]
struct Unpacked {
    context: Option<Decompressor<'static>>,
    kept: [(Key, Vec<u8>); 2],
}

/// The number of a store, and where a block of it begins.
type Key = (u64, usize);

impl Unpacked {
    /// A block, from memory or from what is `packed`.
    fn block(&mut self, key: Key, what: What, packed: impl FnOnce() -> io::Result<OwnedBytes>) -> io::Result<&[u8]> {
        if let Some(at) = self.kept.iter().position(|(known, _)| *known == key) {
            return Ok(&self.kept[at].1);
        }
        let (known, block) = &mut self.kept[what as usize];
        *known = Key::default();
        if block.capacity() > LARGE {
            *block = Vec::new();
        }
        let context = match &mut self.context {
            Some(context) => context,
            None => self.context.insert(Decompressor::new()?),
        };
        unpack(context, &packed()?, block)?;
        *known = key;
        Ok(block)
    }
}

/// Unpacks a block: its length, and what zstd made of it, which has the length too.
fn unpack(context: &mut Decompressor<'_>, packed: &[u8], block: &mut Vec<u8>) -> io::Result<()> {
    let (length, frame) = packed.split_first_chunk().ok_or_else(damaged)?;
    let length = u32::from_le_bytes(*length) as usize;
    if get_frame_content_size(frame).ok().flatten() != Some(length as u64) || length > LARGEST {
        return Err(damaged());
    }
    block.clear();
    block.try_reserve_exact(length).map_err(|_| damaged())?;
    let unpacked = context.decompress_to_buffer(frame, block)?;
    if unpacked == length { Ok(()) } else { Err(damaged()) }
}

/// Reads a number as tantivy writes it: seven bits to a byte, the lowest first; the last has its highest bit set.
pub(super) fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 != 0 {
            return Some(number);
        }
    }
    None
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "what is kept of the texts is damaged")
}

#[cfg(test)]
mod tests {
    use tantivy::Directory as _;
    use tantivy::directory::RamDirectory;
    use tantivy::store::{Compressor, StoreReader, StoreWriter, ZstdCompressor};

    use super::*;

    /// A store of documents of all lengths, in blocks of about 300 bytes: enough for a table of contents in layers.
    fn store(documents: u32) -> Vec<u8> {
        let directory = RamDirectory::create();
        let out = directory.open_write("store".as_ref()).expect("begun");
        let packing = Compressor::Zstd(ZstdCompressor { compression_level: Some(3) });
        let mut writer = StoreWriter::new(out, packing, 300, false).expect("begun");
        for number in 0..documents {
            writer.store_bytes(&document(number)).expect("written");
        }
        writer.close().expect("written");
        directory.open_read("store".as_ref()).expect("there").read_bytes().expect("read").to_vec()
    }

    fn document(number: u32) -> Vec<u8> {
        // Now and then one that fills several blocks, and nothing at all.
        let length = if number.is_multiple_of(97) { 5_000 } else { number % 61 };
        (0..length).map(|at| (number.wrapping_mul(2_654_435_761) >> (at % 24)) as u8).collect()
    }

    fn opened(store: Vec<u8>) -> io::Result<Blocks> {
        Blocks::open(&FileSlice::from(store))
    }

    #[test]
    fn documents_come_back_as_tantivy_reads_them() {
        let bytes = store(3_000);
        let (ours, other) = (opened(bytes.clone()).expect("opened"), opened(store(500)).expect("opened"));
        assert!(ours.layers.len() > 2, "{}", ours.layers.len());
        let theirs = StoreReader::open(FileSlice::from(bytes), 1).expect("opened");
        let what = |doc: u32| if doc.is_multiple_of(3) { What::Patched } else { What::Itself };
        // Back and forth, and in turn with another store whose blocks begin at the same places.
        for doc in (0..3_000).rev().step_by(7).chain(0..3_000) {
            let read = ours.document(doc, what(doc)).expect("read");
            assert_eq!(read, theirs.get_document_bytes(doc).expect("read").as_slice(), "{doc}");
            assert_eq!(read, document(doc));
            if doc < 500 {
                assert_eq!(other.document(doc, what(doc)).expect("read"), document(doc));
            }
        }
        assert!([3_000, u32::MAX].into_iter().all(|doc| ours.document(doc, What::Itself).is_err()));
    }

    #[test]
    fn damage_is_an_error() {
        let bytes = store(60);
        for at in 0..bytes.len() {
            for bit in [0, 3, 7] {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                // What cannot be noticed here has a checksum of its own; nothing may panic or ask for all memory.
                if let Ok(blocks) = opened(damaged) {
                    (0..70).for_each(|doc| drop(blocks.document(doc, What::Itself)));
                }
            }
        }
        for length in 0..bytes.len() {
            if let Ok(blocks) = opened(bytes[..length].to_vec()) {
                (0..70).for_each(|doc| drop(blocks.document(doc, What::Itself)));
            }
        }
    }
}
