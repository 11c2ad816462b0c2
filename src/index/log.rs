//! What words a segment has, in the order in which they came: a row of numbers, most of it in a file without a name.
//!
//! A document has six parts, each with an end mark: the words of its text, whose places follow from their order, and terms
//! that stand at its beginning; the same of its paths; other terms that stand at the beginning; and terms that stand
//! elsewhere, with their place.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::disk;
use crate::fault::{self, Op};

/// So much is kept in memory. Little in a debug build, so that the tests see it written out.
const KEPT: usize = if cfg!(debug_assertions) { 4 << 10 } else { 2 << 20 };

/// The end of a part.
const END: u32 = 0;
/// A place without a word.
const GAP: u32 = 1;
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
    /// The last of these pieces.
    before: Vec<u8>,
    /// What came since.
    recent: Vec<u8>,
    /// How much was written out.
    written: usize,
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
            before: Vec::new(),
            recent: Vec::new(),
            written: 0,
            pinned: Vec::new(),
            elsewhere: Vec::new(),
        }
    }

    /// Notes the next word.
    #[inline]
    pub(super) fn word(&mut self, number: u32) {
        put(&mut self.recent, number + FIRST);
    }

    /// Notes a place without a word.
    pub(super) fn gap(&mut self) {
        put(&mut self.recent, GAP);
    }

    /// How long it is.
    pub(super) fn length(&self) -> usize {
        self.written + self.recent.len()
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

    /// Notes again what was noted from one end of words to another. It must be [at hand](Self::has).
    pub(super) fn repeat(&mut self, noted: Range<usize>) {
        match noted.start.checked_sub(self.written) {
            Some(start) => self.recent.extend_from_within(start..start + noted.len()),
            None => {
                let start = noted.start + self.before.len() - self.written;
                self.recent.extend_from_slice(&self.before[start..start + noted.len()]);
            }
        }
    }

    /// Whether what was noted there is at hand.
    pub(super) fn has(&self, start: usize) -> bool {
        start + self.before.len() >= self.written
    }

    /// Notes a term at a place that does not follow from its order.
    #[inline]
    pub(super) fn pin(&mut self, number: u32, position: u32) {
        if position == 0 { self.pinned.push(number) } else { self.elsewhere.push((number, position)) }
    }

    /// Ends a document. Says whether something that was at hand is no more.
    pub(super) fn end_document(&mut self) -> io::Result<bool> {
        self.put_pinned();
        for (number, position) in self.elsewhere.drain(..) {
            put(&mut self.recent, number + FIRST);
            put(&mut self.recent, position);
        }
        put(&mut self.recent, END);
        if self.recent.len() < KEPT { Ok(false) } else { self.write_out().map(|()| true) }
    }

    fn write_out(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(disk::nameless_file(&self.folder)?),
        };
        fault::point(Op::Scratch)?;
        file.write_all(&self.recent)?;
        self.pieces.push(self.recent.len());
        self.written += self.recent.len();
        std::mem::swap(&mut self.before, &mut self.recent);
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
                    GAP => {}
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

#[inline]
fn put(out: &mut Vec<u8>, code: u32) {
    match code {
        0..0x80 => out.push(code as u8),
        0x80..0x4000 => out.extend([code as u8 | 0x80, (code >> 7) as u8]),
        0x4000..0x20_0000 => out.extend([code as u8 | 0x80, (code >> 7) as u8 | 0x80, (code >> 14) as u8]),
        _ => super::numbers::put(out, u64::from(code)),
    }
}

/// Reads a number.
#[inline(always)]
pub(super) fn take(bytes: &[u8], at: &mut usize) -> u32 {
    let mut code = 0;
    for shift in (0..u32::BITS).step_by(7) {
        let byte = bytes[*at];
        *at += 1;
        code |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_comes_back() {
        let folder = tempfile::tempdir().expect("folder");
        let mut log = Log::new(folder.path());
        let (mut starts, mut expected) = (vec![0_u32], Vec::new());
        let (mut noted, mut repeated) = ((0, 0..0), 0);
        for document in 0..3_000_u32 {
            let start = starts[document as usize];
            for one in 0..document % 7 {
                let number = (one * 7919 + document * document) % (1 << 24);
                if one == 3 {
                    log.gap();
                } else {
                    log.word(number);
                    expected.push((number, document, start + one));
                }
            }
            log.pin(document + 2, 0);
            expected.push((document + 2, document, start));
            log.end_words();
            let from = log.length();
            if document % 3 == 0 {
                log.word(document);
                log.pin(document + 3, 0);
                log.end_words();
                noted = (document, from..log.length());
            } else if log.has(noted.1.start) {
                log.repeat(noted.1.clone());
                repeated += 1;
            } else {
                log.end_words();
            }
            if log.length() > from + 2 {
                expected.extend([(noted.0, document, start), (noted.0 + 3, document, start)]);
            }
            log.pin(document + 1, 0);
            log.pin(1 << 28, 5);
            expected.extend([(document + 1, document, start), (1 << 28, document, start + 5)]);
            log.end_document().expect("noted");
            starts.push(start + 8);
        }
        assert!(log.file.is_some(), "nothing was written out");
        assert!(repeated > 1_900, "{repeated}");
        for _ in 0..2 {
            let mut found = Vec::new();
            log.each(&starts, |number, document, place| found.push((number, document, place))).expect("read");
            assert_eq!(found, expected);
        }
        assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 0, "the file has no name");
    }
}
