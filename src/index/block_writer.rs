//! Writes the texts of a segment as [`Blocks`](super::blocks::Blocks) and tantivy read them.
//!
//! tantivy's own writer takes a new context for each block. And a block that it has packed can only be unpacked as a whole,
//! though mostly one text of it is wanted. Here each is packed in pieces, one on top of the other, at no cost in size: to
//! have a text, only what comes before it has to be unpacked. Behind the block stands where its pieces end, in a frame that
//! zstd passes over, so that for everybody else it is a block like any other.

use std::io::{self, Write as _};

use tantivy::directory::{TerminatingWrite as _, WritePtr};
use zstd::zstd_safe::{
    CCtx, CParameter, InBuffer, OutBuffer, ResetDirective, SafeResult, compress_bound, get_error_name,
};

use super::blocks::{FOOTER, Listed, PASSED_OVER, VERSION, ZSTD};

/// How hard zstd tries; the next step takes twice as long for four percent less.
pub(super) const LEVEL: i32 = 3;
/// A piece ends with the text with which it is so long. Half as long, it would take more room.
const PIECE: usize = 32 << 10;
/// So many entries of a table of contents are one of the next coarser one.
const GROUP: usize = 8;

/// A store being written; see the module's text.
pub(super) struct BlockWriter {
    out: WritePtr,
    /// How much of it is written.
    written: usize,
    /// How long a block is to be.
    length: usize,
    /// How many documents are in the blocks that are written.
    documents: u64,
    /// The block at hand: its documents, where each of them begins, and where its pieces end.
    block: Vec<u8>,
    starts: Vec<u32>,
    pieces: Vec<Piece>,
    /// The last block, packed.
    packed: Vec<u8>,
    context: CCtx<'static>,
    contents: Contents,
}

/// The end of a piece: so much of its block comes before it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Piece {
    documents: usize,
    bytes: usize,
}

impl BlockWriter {
    /// Begins a store whose blocks are about so long.
    pub(super) fn begin(out: WritePtr, length: usize) -> io::Result<Self> {
        let mut context = CCtx::try_create().ok_or(io::ErrorKind::OutOfMemory)?;
        told(context.set_parameter(CParameter::CompressionLevel(LEVEL)))?;
        Ok(Self {
            out,
            written: 0,
            length,
            block: Vec::new(),
            starts: Vec::new(),
            pieces: Vec::new(),
            documents: 0,
            packed: Vec::new(),
            context,
            contents: Contents::default(),
        })
    }

    /// Stores the next document.
    pub(super) fn store(&mut self, document: &[u8]) -> io::Result<()> {
        self.starts.push(u32::try_from(self.block.len()).map_err(io::Error::other)?);
        self.block.extend_from_slice(document);
        let begun = self.pieces.last().map_or(0, |piece| piece.bytes);
        if self.block.len() - begun >= PIECE {
            self.pieces.push(Piece { documents: self.starts.len(), bytes: self.block.len() });
        }
        let full = self.block.len() + self.starts.len() * size_of::<u64>() > self.length;
        if full { self.write_block() } else { Ok(()) }
    }

    fn write_block(&mut self) -> io::Result<()> {
        if self.starts.is_empty() {
            return Ok(());
        }
        let documents = self.starts.len();
        // Where the documents begin belongs to the last piece.
        self.pieces.pop_if(|last| last.documents == documents);
        self.block.extend(self.starts.iter().flat_map(|start| start.to_le_bytes()));
        self.block.extend((documents as u32).to_le_bytes());
        self.pieces.push(Piece { documents, bytes: self.block.len() });
        self.pack()?;
        self.out.write_all(&self.packed)?;
        let (docs, bytes) = (self.documents + documents as u64, self.written + self.packed.len());
        self.contents.push(0, Listed { docs: self.documents..docs, bytes: self.written..bytes });
        (self.documents, self.written) = (docs, bytes);
        self.block.clear();
        self.starts.clear();
        self.pieces.clear();
        Ok(())
    }

    /// Packs a block: its length, what zstd makes of it, and where the pieces end in both.
    fn pack(&mut self) -> io::Result<()> {
        let length = self.block.len();
        self.packed.clear();
        self.packed.extend(u32::try_from(length).map_err(io::Error::other)?.to_le_bytes());
        // Each piece may take a few bytes more than all of them in one.
        self.packed.reserve(compress_bound(length) + self.pieces.len() * 64);
        told(self.context.reset(ResetDirective::SessionOnly))?;
        told(self.context.set_pledged_src_size(Some(length as u64)))?;
        let first = self.packed.len();
        let mut out = OutBuffer::around_pos(&mut self.packed, first);
        let mut ends = Vec::with_capacity(self.pieces.len());
        let mut start = 0;
        for (number, piece) in self.pieces.iter().enumerate() {
            let mut input = InBuffer::around(&self.block[start..piece.bytes]);
            while input.pos() < piece.bytes - start {
                told(self.context.compress_stream(&mut out, &mut input))?;
            }
            let is_last = number + 1 == self.pieces.len();
            let end = |context: &mut CCtx<'_>, out: &mut OutBuffer<'_, _>| {
                if is_last { context.end_stream(out) } else { context.flush_stream(out) }
            };
            while told(end(&mut self.context, &mut out))? > 0 {}
            ends.push(out.pos() - first);
            start = piece.bytes;
        }
        self.put_pieces(&ends);
        Ok(())
    }

    fn put_pieces(&mut self, ends: &[usize]) {
        let mut table = Vec::new();
        let mut before = (Piece::default(), 0);
        for (piece, end) in self.pieces.iter().zip(ends) {
            put_number(&mut table, piece.documents - before.0.documents);
            put_number(&mut table, piece.bytes - before.0.bytes);
            put_number(&mut table, end - before.1);
            before = (*piece, *end);
        }
        let length = table.len() as u32;
        self.packed.extend(PASSED_OVER);
        self.packed.extend((length + size_of::<u32>() as u32).to_le_bytes());
        self.packed.extend(table);
        self.packed.extend(length.to_le_bytes());
    }

    /// Writes what is left, and the table of contents.
    pub(super) fn end(mut self) -> io::Result<()> {
        self.write_block()?;
        self.out.write_all(&self.contents.end())?;
        let mut footer = [0; FOOTER];
        footer[..4].copy_from_slice(&VERSION.to_le_bytes());
        footer[4..12].copy_from_slice(&(self.written as u64).to_le_bytes());
        footer[12] = ZSTD;
        self.out.write_all(&footer)?;
        self.out.terminate()
    }
}

/// A table of contents: the finest layer first, until it is written.
#[derive(Default)]
struct Contents {
    layers: Vec<Layer>,
}

#[derive(Default)]
struct Layer {
    written: Vec<u8>,
    group: Vec<Listed>,
}

impl Contents {
    fn push(&mut self, layer: usize, listed: Listed) {
        if self.layers.len() == layer {
            self.layers.push(Layer::default());
        }
        self.layers[layer].group.push(listed);
        if self.layers[layer].group.len() == GROUP
            && let Some(group) = self.layers[layer].end_group()
        {
            self.push(layer + 1, group);
        }
    }

    /// Ends all groups: how many layers there are, where each of them ends, and the layers, the coarsest first.
    fn end(mut self) -> Vec<u8> {
        let mut rest = None;
        for layer in &mut self.layers {
            layer.group.extend(rest);
            rest = layer.end_group();
        }
        let mut out = Vec::new();
        put_number(&mut out, self.layers.len());
        let mut end = 0;
        for layer in self.layers.iter().rev() {
            end += layer.written.len();
            put_number(&mut out, end);
        }
        self.layers.iter().rev().for_each(|layer| out.extend_from_slice(&layer.written));
        out
    }
}

impl Layer {
    /// Writes a group, and says what the next layer has to say of it.
    fn end_group(&mut self) -> Option<Listed> {
        let (first, last) = (self.group.first()?, self.group.last()?);
        let docs = first.docs.start..last.docs.end;
        let begun = self.written.len();
        put_number(&mut self.written, self.group.len());
        put_number(&mut self.written, docs.start as usize);
        put_number(&mut self.written, first.bytes.start);
        for Listed { docs, bytes } in self.group.drain(..) {
            put_number(&mut self.written, (docs.end - docs.start) as usize);
            put_number(&mut self.written, bytes.end - bytes.start);
        }
        Some(Listed { docs, bytes: begun..self.written.len() })
    }
}

/// Writes a number as tantivy does: seven bits to a byte, the lowest first; the last has the highest bit set.
pub(super) fn put_number(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(number as u8 & 0x7f);
        number >>= 7;
    }
    out.push(number as u8 | 0x80);
}

fn told(done: SafeResult) -> io::Result<usize> {
    done.map_err(|code| io::Error::other(get_error_name(code)))
}
