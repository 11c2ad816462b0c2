//! The texts of a segment as tantivy's store keeps them: packed in blocks, with a table of contents in layers behind them.
//!
//! tantivy's own reader takes a new context and new memory for each block that it unpacks, and fills that with zeros first,
//! which together takes a third as long again as unpacking. Here each thread has its own, and keeps what it unpacked last. Of
//! a block that [`BlockWriter`](super::block_writer::BlockWriter) has written, only the pieces up to what is wanted are
//! unpacked. No number that stands in the file is believed before it is compared with what is there.

use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use tantivy::DocId;
use tantivy::HasLen as _;
use tantivy::directory::{FileSlice, OwnedBytes};
use zstd::bulk::Decompressor;
use zstd::zstd_safe::{MAGICNUMBER, get_frame_content_size};

/// What stands at the end of a store: version, length of the blocks, packing, and room for more.
pub(super) const FOOTER: usize = 28;
/// The only version that was ever written.
pub(super) const VERSION: u32 = 2;
/// tantivy's number for zstd.
pub(super) const ZSTD: u8 = 4;
/// How tantivy marks bytes among the values of a document; nothing else is stored.
pub(super) const BYTES: u8 = 4;
/// With this begins what zstd passes over. It could hold anything; with us, where the pieces of a block end.
pub(super) const PASSED_OVER: [u8; 4] = 0x184D_2A55_u32.to_le_bytes();
/// Memory for blocks is taken in multiples of this.
const ROUND: usize = 256 << 10;
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
pub(super) struct Listed {
    pub(super) docs: Range<u64>,
    pub(super) bytes: Range<usize>,
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
        let key = (self.number, listed.bytes.start);
        if listed.bytes.end > self.data.len() {
            return Err(damaged());
        }
        let packed = self.data.slice(listed.bytes).read_bytes()?;
        let (length, frames) = packed.split_first_chunk().ok_or_else(damaged)?;
        let length = u32::from_le_bytes(*length) as usize;
        let piece = Piece::holding(place, frames).filter(|piece| piece.bytes.end < length);
        UNPACKED.with_borrow_mut(|unpacked| {
            let block = unpacked.block(key, what, frames, length, piece.as_ref())?;
            let found = match piece {
                Some(piece) if block.len() < length => piece.find(block, place),
                _ => range_in(block, place),
            };
            found.and_then(|range| block.get(range)).map(<[u8]>::to_vec).ok_or_else(damaged)
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

/// A piece of a block.
#[derive(Clone, Debug)]
struct Piece {
    /// How many documents come before it.
    first: usize,
    /// Where it is in the block.
    bytes: Range<usize>,
    /// Where it ends in what is packed.
    packed: usize,
}

impl Piece {
    /// The piece in which a document is; none if the block is not packed in pieces.
    fn holding(place: usize, frames: &[u8]) -> Option<Self> {
        let mut piece = Self { first: 0, bytes: 0..0, packed: 0 };
        let mut table = table_of(frames)?;
        loop {
            let mut next = || usize::try_from(number(&mut table)?).ok();
            let (documents, bytes, packed) = (next()?, next()?, next()?);
            piece.bytes.end = piece.bytes.start.checked_add(bytes)?;
            piece.packed = piece.packed.checked_add(packed)?;
            if place - piece.first < documents {
                return Some(piece);
            }
            (piece.first, piece.bytes.start) = (piece.first + documents, piece.bytes.end);
        }
    }

    /// Where a document is in a block that is unpacked up to the end of this piece.
    fn find(&self, block: &[u8], place: usize) -> Option<Range<usize>> {
        let mut rest = block.get(self.bytes.clone())?;
        let end = self.bytes.end;
        for _ in self.first..place {
            pass_over(&mut rest)?;
        }
        let start = end - rest.len();
        pass_over(&mut rest)?;
        Some(start..end - rest.len())
    }
}

/// Where the pieces end, behind what is packed: of each how many documents it has, how long it is, and how long packed.
fn table_of(frames: &[u8]) -> Option<&[u8]> {
    let (rest, length) = frames.split_last_chunk()?;
    let (rest, table) = rest.split_at_checked(rest.len().checked_sub(u32::from_le_bytes(*length) as usize)?)?;
    let (rest, inside) = rest.split_last_chunk()?;
    let is_table = rest.ends_with(&PASSED_OVER) && u32::from_le_bytes(*inside) as usize == table.len() + length.len();
    is_table.then_some(table)
}

/// Goes to the end of a document: how many values, then of each the field, the type, the length and the bytes.
fn pass_over(rest: &mut &[u8]) -> Option<()> {
    for _ in 0..number(rest)? {
        let (_, behind) = rest.split_first_chunk::<4>()?;
        *rest = behind.strip_prefix(&[BYTES])?;
        let length = usize::try_from(number(rest)?).ok()?;
        *rest = rest.get(length..)?;
    }
    Some(())
}

thread_local! {
    static UNPACKED: RefCell<Unpacked> = RefCell::default();
}

/// What a thread unpacks with, and what it unpacked last, by what that was for.
#[derive(Default)]
struct Unpacked {
    context: Option<Decompressor<'static>>,
    kept: [(Key, Vec<u8>); 2],
    /// The first pieces of a block, still packed.
    cut: Vec<u8>,
}

/// The number of a store, and where a block of it begins.
type Key = (u64, usize);

impl Unpacked {
    /// A block, from memory or from what is packed, as a whole or at least as far as a piece of it.
    fn block(&mut self, key: Key, what: What, frames: &[u8], length: usize, to: Option<&Piece>) -> io::Result<&[u8]> {
        let wanted = to.map_or(length, |piece| piece.bytes.end);
        let known = self.kept.iter().position(|(known, _)| *known == key);
        if let Some(at) = known.filter(|at| self.kept[*at].1.len() >= wanted) {
            return Ok(&self.kept[at].1);
        }
        // Whoever comes back for more of a block will want still more.
        let to = to.filter(|_| known.is_none());
        let (kept, block) = &mut self.kept[known.unwrap_or(what as usize)];
        *kept = Key::default();
        if block.capacity() > LARGE {
            *block = Vec::new();
        }
        let context = match &mut self.context {
            Some(context) => context,
            None => self.context.insert(Decompressor::new()?),
        };
        match to.filter(|piece| cut_behind(piece, frames, &mut self.cut).is_some()) {
            Some(piece) => unpack(context, &self.cut, piece.bytes.end, block)?,
            None => unpack(context, frames, length, block)?,
        }
        *kept = key;
        Ok(block)
    }
}

/// Unpacks what zstd made of something of this length.
fn unpack(context: &mut Decompressor<'_>, frames: &[u8], length: usize, block: &mut Vec<u8>) -> io::Result<()> {
    if get_frame_content_size(frames).ok().flatten() != Some(length as u64) || length > LARGEST {
        return Err(damaged());
    }
    block.clear();
    // Blocks are of about the same length: taken a little larger, the memory does for the next ones too.
    block.try_reserve_exact(length.next_multiple_of(ROUND)).map_err(|_| damaged())?;
    let unpacked = context.decompress_to_buffer(frames, block)?;
    if unpacked == length { Ok(()) } else { Err(damaged()) }
}

/// Makes a frame of the beginning of one, if that is as simple as those that we write. It is a row of parts, each of which says
/// how long it is, and whether it is the last; before it stands how long all of them are, unpacked.
fn cut_behind(piece: &Piece, frame: &[u8], cut: &mut Vec<u8>) -> Option<()> {
    const MAGIC: [u8; 4] = MAGICNUMBER.to_le_bytes();
    /// There is no window, and the length has four bytes.
    const KIND: u8 = 0b1010_0000;
    let kind = frame.strip_prefix(&MAGIC)?.first()?;
    // Ours have no window either, unless they are huge, no dictionary and no checksum.
    let width = [1, 2, 4, 8][usize::from(kind >> 6)];
    let first = MAGIC.len() + 1 + width;
    if kind & 0b0011_1111 != 0b0010_0000 {
        return None;
    }
    cut.clear();
    cut.extend(MAGIC);
    cut.push(KIND);
    cut.extend(u32::try_from(piece.bytes.end).ok()?.to_le_bytes());
    let header = cut.len();
    cut.extend_from_slice(frame.get(first..piece.packed)?);
    let mut at = header;
    loop {
        let [a, b, c] = *cut.get(at..)?.first_chunk()?;
        let said = u32::from_le_bytes([a, b, c, 0]);
        // One byte that is repeated stands there once.
        let length = if said & 0b110 == 0b010 { 1 } else { said as usize >> 3 };
        let next = at + 3 + length;
        if next == cut.len() {
            cut[at] |= 1;
            return Some(());
        }
        at = next;
    }
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
    use tantivy::directory::{RamDirectory, WritePtr};
    use tantivy::store::{Compressor, StoreReader, StoreWriter, ZstdCompressor};

    use super::super::block_writer::{BlockWriter, put_number};
    use super::*;

    /// A store of documents of all lengths, in blocks of about 300 bytes: enough for a table of contents in layers.
    fn store(documents: u32) -> Vec<u8> {
        written(|out| {
            let packing = Compressor::Zstd(ZstdCompressor { compression_level: Some(3) });
            let mut writer = StoreWriter::new(out, packing, 300, false)?;
            (0..documents).try_for_each(|number| writer.store_bytes(&document(number)))?;
            writer.close()
        })
    }

    /// The same, as we write it, in blocks of this length.
    fn our_store(documents: u32, length: usize) -> Vec<u8> {
        written(|out| {
            let mut writer = BlockWriter::begin(out, length)?;
            (0..documents).try_for_each(|number| writer.store(&document(number)))?;
            writer.end()
        })
    }

    fn written(write: impl FnOnce(WritePtr) -> io::Result<()>) -> Vec<u8> {
        let directory = RamDirectory::create();
        write(directory.open_write("store".as_ref()).expect("begun")).expect("written");
        directory.open_read("store".as_ref()).expect("there").read_bytes().expect("read").to_vec()
    }

    /// A document with one value; now and then a value that fills several blocks, and nothing at all.
    fn document(number: u32) -> Vec<u8> {
        let length = if number.is_multiple_of(97) { 5_000 } else { number % 61 };
        let mut document = vec![0x81, 9, 0, 0, 0, BYTES];
        put_number(&mut document, length as usize);
        document.extend((0..length).map(|at| (number.wrapping_mul(2_654_435_761) >> (at % 24)) as u8));
        document
    }

    fn opened(store: Vec<u8>) -> io::Result<Blocks> {
        Blocks::open(&FileSlice::from(store))
    }

    #[test]
    fn documents_come_back_as_tantivy_reads_them() {
        const ALL: u32 = 3_000;
        let other = opened(store(500)).expect("opened");
        for (bytes, layers) in [(store(ALL), 3), (our_store(ALL, 300), 3), (our_store(ALL, 100 << 10), 1)] {
            let ours = opened(bytes.clone()).expect("opened");
            assert!(ours.layers.len() >= layers, "{}", ours.layers.len());
            let theirs = StoreReader::open(FileSlice::from(bytes), 1).expect("opened");
            let what = |doc: u32| if doc.is_multiple_of(3) { What::Patched } else { What::Itself };
            // Back and forth, here and there, and in turn with another store whose blocks begin at the same places.
            let here_and_there = (0..ALL).map(|doc| doc.wrapping_mul(769) % ALL);
            for doc in (0..ALL).rev().step_by(7).chain(here_and_there).chain(0..ALL) {
                let read = ours.document(doc, what(doc)).expect("read");
                assert_eq!(read, theirs.get_document_bytes(doc).expect("read").as_slice(), "{doc}");
                assert_eq!(read, document(doc));
                if doc < 500 {
                    assert_eq!(other.document(doc, what(doc)).expect("read"), document(doc));
                }
            }
            assert!([ALL, u32::MAX].into_iter().all(|doc| ours.document(doc, What::Itself).is_err()));
        }
    }

    /// How much is unpacked to have a document, and of how long a block.
    fn unpacked_for(blocks: &Blocks, doc: DocId) -> (usize, usize) {
        let listed = blocks.find(doc.into()).expect("listed");
        let packed = blocks.data.slice(listed.bytes).read_bytes().expect("read");
        assert_eq!(blocks.document(doc, What::Itself).expect("read"), document(doc));
        let length = u32::from_le_bytes(*packed.first_chunk().expect("there")) as usize;
        (UNPACKED.with_borrow(|unpacked| unpacked.kept[0].1.len()), length)
    }

    #[test]
    fn no_more_is_unpacked_than_comes_before() {
        let blocks = opened(our_store(3_000, 160 << 10)).expect("opened");
        let last = blocks.find(0).expect("listed").docs.end as DocId - 1;
        let (first, length) = unpacked_for(&blocks, 0);
        assert!(first < length / 3 && length > 100 << 10, "{first} of {length}");
        // Whoever comes back has all of it.
        assert_eq!(unpacked_for(&blocks, last / 2), (length, length));
        // In another block, again only what is needed.
        assert!(unpacked_for(&blocks, last + 1).0 < length / 3);
        let (middle, _) = unpacked_for(&blocks, last / 2);
        assert!((length / 4..length * 3 / 4).contains(&middle), "{middle} of {length}");
        // One that is there already needs nothing.
        assert_eq!(unpacked_for(&blocks, 1), (middle, length));
        assert_eq!(unpacked_for(&blocks, last), (length, length));
        // Those of tantivy are whole or nothing.
        let (whole, length) = unpacked_for(&opened(store(100)).expect("opened"), 0);
        assert_eq!(whole, length);
    }

    #[test]
    fn damage_is_an_error() {
        for bytes in [store(60), our_store(60, 300), our_store(60, 1 << 20)] {
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

    #[test]
    fn a_piece_is_cut_off_only_where_it_ends() {
        let blocks = opened(our_store(3_000, 160 << 10)).expect("opened");
        let packed = blocks.data.slice(blocks.find(0).expect("listed").bytes).read_bytes().expect("read");
        let frames = &packed[4..];
        let piece = Piece::holding(0, frames).expect("in pieces");
        let mut cut = Vec::new();
        for packed in 0..frames.len() {
            let is_end = cut_behind(&Piece { packed, ..piece.clone() }, frames, &mut cut).is_some();
            assert!(!is_end || packed >= piece.packed, "{packed}");
        }
        assert!(cut_behind(&piece, frames, &mut cut).is_some());
        // One with a checksum is not as simple as ours.
        let mut other = frames.to_vec();
        other[4] |= 1 << 2;
        assert!(cut_behind(&piece, &other, &mut cut).is_none());
    }
}
