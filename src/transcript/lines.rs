//! Reads the lines of a transcript, starting at an offset. The only code that opens transcripts, always read-only.
//!
//! Lines are raw bytes and are not parsed here. Memory use is bounded for any file: a line longer than [`LINE_CAP`] is
//! skipped and reported with its first bytes. Only the bytes present when the file was opened are read; later additions
//! are left to the next run.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::fault::{self, Op};
use crate::transcript::discover::{Stat, stat_of};

/// The length of the longest line that is read whole.
pub const LINE_CAP: usize = 64 << 20;
/// The number of bytes kept of an oversized line, to identify it.
pub const HEAD_OF_OVERSIZED: usize = 4096;
/// The number of bytes hashed at each end of the part that was read.
const END_BYTES: usize = 4096;
/// The number of bytes read at a time.
const BUFFER: usize = 256 << 10;

/// An open transcript.
#[derive(Debug)]
pub struct Transcript {
    file: File,
    /// The state of the file when it was opened.
    pub stat: Stat,
}

/// One line, without its newline.
#[derive(Debug)]
pub struct Line<'a> {
    /// The offset of its first byte in the file.
    pub offset: u64,
    /// The offset of the next line in the file.
    pub end: u64,
    /// Its bytes; only the first [`HEAD_OF_OVERSIZED`] if it is `oversized`.
    pub bytes: &'a [u8],
    /// Its bytes with the newline; only the last few thousand if it is `oversized`.
    pub with_newline: &'a [u8],
    /// True if it ends with a newline. The last line of a file that is being written may be incomplete.
    pub terminated: bool,
    /// True if it is longer than [`LINE_CAP`] and was not read whole.
    pub oversized: bool,
    /// The checksum of all bytes of the file up to `end`. It does not depend on how they are split into lines.
    pub checksum: u32,
}

impl Transcript {
    /// Opens a regular file for reading. Does not follow links and does not block on pipes.
    pub fn open(path: &Path) -> io::Result<Self> {
        fault::point(Op::Read)?;
        let file = open_regular(path)?;
        let stat = stat_of(&file.metadata()?);
        Ok(Self { file, stat })
    }

    /// Reads both ends of the first `length` bytes of the file.
    pub fn ends(&mut self, length: u64) -> io::Result<Ends> {
        let size = length.min(END_BYTES as u64);
        Ok(Ends { head: self.read_range(0, size)?, tail: self.read_range(length - size, size)? })
    }

    fn read_range(&mut self, start: u64, size: u64) -> io::Result<Vec<u8>> {
        fault::point(Op::Read)?;
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
        self.file.seek(SeekFrom::Start(start))?;
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads and discards the whole file, to check that it is readable.
    pub fn check_readable(&mut self) -> io::Result<()> {
        fault::point(Op::Read)?;
        self.file.seek(SeekFrom::Start(0))?;
        let read = io::copy(&mut Read::by_ref(&mut self.file).take(self.stat.size), &mut io::sink())?;
        if read < self.stat.size { Err(truncated_error()) } else { Ok(()) }
    }

    /// Returns the checksum of the first `length` bytes.
    pub fn checksum(&mut self, length: u64) -> io::Result<u32> {
        self.file.seek(SeekFrom::Start(0))?;
        let mut buffer = vec![0; BUFFER];
        let mut left = length;
        let mut checksum = 0;
        while left > 0 {
            let want = usize::try_from(left).unwrap_or(BUFFER).min(BUFFER);
            self.file.read_exact(&mut buffer[..want])?;
            checksum = extend_checksum(checksum, &buffer[..want]);
            left -= want as u64;
        }
        Ok(checksum)
    }

    /// Reads lines starting at `offset`, where `checksum` is that of all earlier bytes.
    ///
    /// An unterminated last line may still be being written. `usable` returns how many of its bytes to return.
    pub fn lines(&mut self, offset: u64, checksum: u32, usable: fn(&[u8]) -> usize) -> io::Result<Lines<'_>> {
        self.file.seek(SeekFrom::Start(offset))?;
        let left = self.stat.size.saturating_sub(offset);
        Ok(Lines {
            file: &mut self.file,
            left,
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            offset,
            checksum,
            head: Vec::new(),
            oversized_tail: Vec::new(),
            usable,
            stop: None,
        })
    }

    /// Reads up to `most` bytes at `offset`, for files without lines (spilled outputs).
    pub fn read_up_to(&mut self, offset: u64, most: usize) -> io::Result<Vec<u8>> {
        fault::point(Op::Read)?;
        self.file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        let most = (most as u64).min(self.stat.size.saturating_sub(offset));
        Read::by_ref(&mut self.file).take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// The bytes at both ends of the part of a file that was read. They identify the file after it has grown.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Ends {
    /// Appends the bytes that were read next.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = END_BYTES - self.head.len();
        self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if bytes.len() >= END_BYTES {
            self.tail.clear();
        }
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(END_BYTES)..]);
        // Trimming only occasionally keeps this linear.
        if self.tail.len() > 4 * END_BYTES {
            self.trim();
        }
    }

    /// Returns the hashes of both ends.
    pub fn fingerprint(&mut self) -> (u64, u64) {
        self.trim();
        (xxh3_64(&self.head), xxh3_64(&self.tail))
    }

    fn trim(&mut self) {
        let extra = self.tail.len().saturating_sub(END_BYTES);
        self.tail.drain(..extra);
    }
}

fn truncated_error() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter while being read")
}

/// Reads a small file, up to `most` bytes.
pub fn read_small(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(unix)]
fn open_regular(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    require_regular(file)
}

#[cfg(not(unix))]
fn open_regular(path: &Path) -> io::Result<File> {
    require_regular(File::open(path)?)
}

/// Fails if the open file is not a regular file.
fn require_regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

/// The lines of a transcript, read one at a time into a shared buffer.
pub struct Lines<'a> {
    file: &'a mut File,
    /// Bytes of the file not yet in the buffer.
    left: u64,
    buffer: Vec<u8>,
    /// The position of the next line in the buffer.
    start: usize,
    /// The number of bytes after `start` that are known to contain no newline.
    scanned: usize,
    /// The offset of the next line in the file.
    offset: u64,
    checksum: u32,
    /// The first bytes of the last oversized line.
    head: Vec<u8>,
    /// The last bytes of the last oversized line.
    oversized_tail: Vec<u8>,
    usable: fn(&[u8]) -> usize,
    stop: Option<&'a dyn Fn() -> bool>,
}

impl std::fmt::Debug for Lines<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lines(at {})", self.offset)
    }
}

impl<'a> Lines<'a> {
    /// Makes reading fail with `Interrupted` as soon as `stop` returns true. A single line can be arbitrarily long.
    #[must_use]
    pub fn stopping(mut self, stop: &'a dyn Fn() -> bool) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Returns the next line, or `None` at the end. (Not an `Iterator` because the line borrows the buffer.)
    #[expect(clippy::should_implement_trait, reason = "a lending iterator cannot be an Iterator")]
    pub fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            let found = self.find_newline();
            if found.unwrap_or(self.buffer.len() - self.start) > LINE_CAP {
                return self.skip_oversized().map(Some);
            }
            if let Some(length) = found {
                return Ok(Some(self.take_line(length, true)));
            }
            if !self.fill()? {
                let usable = (self.usable)(&self.buffer[self.start..]);
                return Ok((usable > 0).then(|| self.take_line(usable, false)));
            }
        }
    }

    fn find_newline(&mut self) -> Option<usize> {
        let unscanned = &self.buffer[self.start + self.scanned..];
        let found = memchr::memchr(b'\n', unscanned).map(|at| self.scanned + at);
        self.scanned = if found.is_some() { 0 } else { self.buffer.len() - self.start };
        found
    }

    fn take_line(&mut self, length: usize, terminated: bool) -> Line<'_> {
        let offset = self.offset;
        let whole = length + usize::from(terminated);
        let from = self.start;
        self.start += whole;
        self.scanned = 0;
        self.offset += whole as u64;
        self.checksum = extend_checksum(self.checksum, &self.buffer[from..from + whole]);
        let with_newline = &self.buffer[from..from + whole];
        let bytes = &with_newline[..length];
        Line { offset, end: self.offset, bytes, with_newline, terminated, oversized: false, checksum: self.checksum }
    }

    /// Appends more of the file to the buffer. Returns false at the end of the file.
    fn fill(&mut self) -> io::Result<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        if self.stop.is_some_and(|stop| stop()) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        fault::point(Op::Read)?;
        self.make_room();
        let used = self.buffer.len();
        let want =
            BUFFER.max(used / 2).min(LINE_CAP + BUFFER - used).min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.buffer.reserve_exact(want);
        let got = Read::by_ref(self.file).take(want as u64).read_to_end(&mut self.buffer)? as u64;
        if got == 0 {
            return Err(truncated_error());
        }
        self.left -= got;
        Ok(true)
    }

    /// Moves the unread bytes to the front of the buffer, and frees the memory that a huge line needed.
    fn make_room(&mut self) {
        self.buffer.drain(..self.start);
        self.start = 0;
        if self.buffer.capacity() > 4 * BUFFER && self.buffer.len() < BUFFER {
            self.buffer.shrink_to(2 * BUFFER);
        }
    }

    /// Skips a line that is too long, keeping its first and last bytes.
    fn skip_oversized(&mut self) -> io::Result<Line<'_>> {
        let offset = self.offset;
        self.head = self.buffer[self.start..self.start + HEAD_OF_OVERSIZED].to_vec();
        let mut terminated = false;
        let mut ends = Ends::default();
        while !terminated {
            let unread = &self.buffer[self.start..];
            let newline = memchr::memchr(b'\n', unread);
            let take = newline.map_or(unread.len(), |at| at + 1);
            ends.push(&unread[..take]);
            self.checksum = extend_checksum(self.checksum, &unread[..take]);
            self.start += take;
            self.offset += take as u64;
            terminated = newline.is_some();
            if !terminated {
                self.buffer.clear();
                self.start = 0;
                if !self.fill()? {
                    break;
                }
            }
        }
        self.scanned = 0;
        ends.trim();
        self.oversized_tail = ends.tail;
        let (bytes, with_newline) = (&self.head[..], &self.oversized_tail[..]);
        Ok(Line { offset, end: self.offset, bytes, with_newline, terminated, oversized: true, checksum: self.checksum })
    }
}

/// Returns `checksum` extended by `bytes`.
fn extend_checksum(checksum: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(checksum);
    hasher.update(bytes);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], from: u64) -> Vec<(u64, u64, String, bool)> {
        let dir = tempfile::tempdir().expect("temporary folder");
        let path = dir.path().join("t.jsonl");
        fs_err::write(&path, bytes).expect("written");
        let mut transcript = Transcript::open(&path).expect("opened");
        let mut lines = transcript.lines(from, 0, <[u8]>::len).expect("seek");
        let mut all = Vec::new();
        while let Some(line) = lines.next().expect("read") {
            all.push((line.offset, line.end, String::from_utf8_lossy(line.bytes).into_owned(), line.terminated));
        }
        all
    }

    #[test]
    fn lines_have_offsets() {
        assert_eq!(read(b"", 0), vec![]);
        assert_eq!(
            read(b"a\n\nbc\nd", 0),
            vec![
                (0, 2, "a".into(), true),
                (2, 3, String::new(), true),
                (3, 6, "bc".into(), true),
                (6, 7, "d".into(), false),
            ]
        );
        assert_eq!(read(b"a\n\nbc\nd", 3), vec![(3, 6, "bc".into(), true), (6, 7, "d".into(), false)]);
    }

    #[test]
    fn lines_longer_than_the_buffer_are_whole() {
        let long = "x".repeat(3 * BUFFER + 17);
        let text = format!("{long}\nshort\n");
        let lines = read(text.as_bytes(), 0);
        assert_eq!(lines[0].2, long);
        assert_eq!(lines[1], (long.len() as u64 + 1, long.len() as u64 + 7, "short".into(), true));
    }

    #[test]
    fn lines_over_the_cap_are_skipped() {
        let mut text = b"HEAD".to_vec();
        text.resize(LINE_CAP + 3 * BUFFER, b'y');
        let length = text.len() as u64;
        text.extend_from_slice(b"\nnext\n");
        let lines = read(&text, 0);
        assert_eq!(lines.len(), 2);
        assert!(lines[0].2.starts_with("HEADyyy") && lines[0].2.len() == HEAD_OF_OVERSIZED);
        assert_eq!((lines[0].0, lines[0].1, lines[0].3), (0, length + 1, true));
        assert_eq!(lines[1], (length + 1, length + 6, "next".into(), true));
    }

    #[test]
    fn checksum_does_not_depend_on_the_start_offset() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let path = dir.path().join("t.jsonl");
        fs_err::write(&path, b"one\ntwo\nthree\n").expect("written");
        let mut transcript = Transcript::open(&path).expect("opened");
        let mut checksums = Vec::new();
        let mut lines = transcript.lines(0, 0, <[u8]>::len).expect("seek");
        while let Some(line) = lines.next().expect("read") {
            checksums.push((line.end, line.checksum));
        }
        let (offset, checksum) = checksums[0];
        let mut lines = transcript.lines(offset, checksum, <[u8]>::len).expect("seek");
        let line = lines.next().expect("read").expect("second line");
        assert_eq!((line.end, line.checksum), checksums[1]);
    }
}
