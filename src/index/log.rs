//! What words a segment has, in the order in which they came: a row of numbers, most of it in a file without a name.
//!
//! A document has six parts, each with an end mark: the words of its text, whose places follow from their order, and terms
//! that stand at its beginning; the same of its paths; other terms that stand at the beginning; and terms that stand
//! elsewhere, with their place.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::disk;
use crate::fault::{self, Op};

/// So much is kept in memory. Little in a debug build, so that the tests see it written out.
const KEPT: usize = if cfg!(debug_assertions) { 4 << 10 } else { 2 << 20 };

/// Stands for the number of a term where there is none.
pub(super) const GAP: u32 = u32::MAX;

/// The end of a part.
const END: u32 = 0;
/// What is noted of a place without a word.
const NONE: u32 = GAP.wrapping_add(FIRST);
/// The number of a term has this added.
const FIRST: u32 = 2;

/// A row of numbers; see the module's text.
#[derive(Debug)]
pub(super) struct Log {
    /// Where a file for it may be made.
    folder: PathBuf,
    /// What was written out, and how long each piece of it is; a piece holds whole documents.
    file: Option<File>,
    pieces: Vec<usize>,
    /// What came since.
    recent: Vec<u8>,
    /// Terms that stand at the beginning and elsewhere, and are yet to be noted.
    pinned: Vec<u32>,
    elsewhere: Vec<(u32, u32)>,
}

impl Log {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            file: None,
            pieces: Vec::new(),
            recent: Vec::new(),
            pinned: Vec::new(),
            elsewhere: Vec::new(),
        }
    }

    /// Notes the next words; [`GAP`] is a place without one.
    pub(super) fn words(&mut self, numbers: &[u32]) {
        self.recent.reserve(numbers.len() * 4);
        numbers.iter().for_each(|number| put(&mut self.recent, number.wrapping_add(FIRST)));
    }

    /// Ends the words of the text, or those of the paths.
    pub(super) fn end_words(&mut self) {
        put(&mut self.recent, END);
        self.put_pinned();
    }

    fn put_pinned(&mut self) {
        for number in self.pinned.drain(..) {
            put(&mut self.recent, number + FIRST);
        }
        put(&mut self.recent, END);
    }

    /// Notes terms that stand at the beginning.
    pub(super) fn pin_all(&mut self, numbers: &[u32]) {
        self.pinned.extend_from_slice(numbers);
    }

    /// Notes a term at a place that does not follow from its order.
    #[inline]
    pub(super) fn pin(&mut self, number: u32, position: u32) {
        if position == 0 { self.pinned.push(number) } else { self.elsewhere.push((number, position)) }
    }

    /// Ends a document.
    pub(super) fn end_document(&mut self) -> io::Result<()> {
        self.put_pinned();
        for (number, position) in self.elsewhere.drain(..) {
            put(&mut self.recent, number + FIRST);
            put(&mut self.recent, position);
        }
        put(&mut self.recent, END);
        if self.recent.len() < KEPT { Ok(()) } else { self.write_out() }
    }

    fn write_out(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(disk::nameless_file(&self.folder)?),
        };
        fault::point(Op::Scratch)?;
        file.write_all(&self.recent)?;
        self.pieces.push(self.recent.len());
        self.recent.clear();
        Ok(())
    }

    /// Gives every term, in the order of documents: its number, the document and its place, counted through all of them.
    /// `starts` has the place at which each document begins.
    pub(super) fn each(&mut self, starts: &[u32], mut each: impl FnMut(u32, u32, u32)) -> io::Result<()> {
        let mut document = 0;
        if let Some(file) = &mut self.file {
            file.seek(SeekFrom::Start(0))?;
            let mut piece = Vec::new();
            for length in &self.pieces {
                piece.resize(*length, 0);
                file.read_exact(&mut piece)?;
                walk(&piece, starts, &mut document, &mut each);
            }
        }
        walk(&self.recent, starts, &mut document, &mut each);
        Ok(())
    }
}

/// Walks over whole documents.
#[inline(always)]
fn walk(bytes: &[u8], starts: &[u32], document: &mut u32, each: &mut impl FnMut(u32, u32, u32)) {
    let mut at = 0;
    while at < bytes.len() {
        let start = starts[*document as usize];
        for _ in ["text", "paths"] {
            let mut place = start;
            loop {
                match take(bytes, &mut at) {
                    END => break,
                    NONE => {}
                    code => each(code - FIRST, *document, place),
                }
                place += 1;
            }
            pinned(bytes, &mut at, |number| each(number, *document, start));
        }
        pinned(bytes, &mut at, |number| each(number, *document, start));
        loop {
            match take(bytes, &mut at) {
                END => break,
                code => each(code - FIRST, *document, start + take(bytes, &mut at)),
            }
        }
        *document += 1;
    }
}

#[inline(always)]
fn pinned(bytes: &[u8], at: &mut usize, mut each: impl FnMut(u32)) {
    loop {
        match take(bytes, at) {
            END => break,
            code => each(code - FIRST),
        }
    }
}

/// Most numbers take two bytes, those from 2¹⁵ four: how many can nearly always be foreseen, which saves more time than
/// bytes would.
#[inline(always)]
fn put(out: &mut Vec<u8>, code: u32) {
    if code < LONG {
        out.extend_from_slice(&(code as u16).to_le_bytes());
    } else {
        out.extend_from_slice(&(code & (LONG - 1) | LONG | (code & !(LONG - 1)) << 1).to_le_bytes());
    }
}

/// The bit of the first two bytes that tells of two more.
const LONG: u32 = 1 << 15;

/// Reads a number.
#[inline(always)]
fn take(bytes: &[u8], at: &mut usize) -> u32 {
    let half = |at: usize| u32::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let low = half(*at);
    *at += 2;
    if low < LONG {
        return low;
    }
    let high = half(*at);
    *at += 2;
    high << 15 | low & (LONG - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_comes_back() {
        let folder = tempfile::tempdir().expect("folder");
        let mut log = Log::new(folder.path());
        let (mut starts, mut expected) = (vec![0_u32], Vec::new());
        for document in 0..3_000_u32 {
            let start = starts[document as usize];
            for one in 0..document % 7 {
                let number = (one * 7919 + document * document) % (1 << 24);
                if one == 3 {
                    log.words(&[GAP]);
                } else {
                    log.words(&[number]);
                    expected.push((number, document, start + one));
                }
            }
            log.pin(document + 2, 0);
            expected.push((document + 2, document, start));
            log.end_words();
            log.words(&[document, document + 4]);
            log.pin_all(&[document + 3]);
            log.end_words();
            let noted = [(document, 0), (document + 4, 1), (document + 3, 0)];
            expected.extend(noted.map(|(number, place)| (number, document, start + place)));
            log.pin(document + 1, 0);
            log.pin(1 << 28, 5);
            expected.extend([(document + 1, document, start), (1 << 28, document, start + 5)]);
            log.end_document().expect("noted");
            starts.push(start + 8);
        }
        assert!(log.file.is_some(), "nothing was written out");
        for _ in 0..2 {
            let mut found = Vec::new();
            log.each(&starts, |number, document, place| found.push((number, document, place))).expect("read");
            assert_eq!(found, expected);
        }
        assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 0, "the file has no name");
    }
}
