//! The lock that lets only one process at a time write an index.
//!
//! The kernel releases it when the process ends, so a leftover lock file means nothing. Its text only says which
//! process holds the lock.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::fault::{self, Op};

/// The lock, held until dropped.
#[derive(Debug)]
pub(in crate::index) struct WriteLock {
    _file: File,
}

impl WriteLock {
    /// Takes the lock, waiting up to `wait` if another process holds it.
    pub(in crate::index) fn take(path: &Path, wait: Duration) -> Result<Self> {
        let open = fault::point(Op::Lock(path))
            .and_then(|()| fs_err::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path));
        let mut file = open.map_err(|error| Error::io("open the lock", path, error))?.into_parts().0;
        let deadline = Instant::now() + wait;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(std::fs::TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(std::fs::TryLockError::WouldBlock) => return Err(busy(path)),
                Err(std::fs::TryLockError::Error(error)) => {
                    let hint = "this file system may not support locks; put the index elsewhere with --index-dir";
                    return Err(Error::io("lock", path, error).hint(hint));
                }
            }
        }
        sign(&mut file);
        Ok(Self { _file: file })
    }

    /// Describes the process that holds the lock, if there is one.
    pub(in crate::index) fn holder(path: &Path) -> Option<String> {
        let file = File::open(path).ok()?;
        match file.try_lock_shared() {
            Err(std::fs::TryLockError::WouldBlock) => Some(signature(path)),
            _ => None,
        }
    }
}

/// Writes our process id into the file, for the messages of other processes. Failure does not matter.
fn sign(file: &mut File) {
    let _ = file.set_len(0);
    let _ = file.rewind();
    let _ = write!(file, "pid {}", std::process::id());
}

/// Describes the process whose id is in the lock file.
fn signature(path: &Path) -> String {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(200).read_to_string(&mut text));
    match read {
        Ok(_) if text.starts_with("pid ") => {
            let signed = fs_err::metadata(path).and_then(|meta| meta.modified()).ok();
            let since =
                signed.and_then(|time| jiff::Timestamp::try_from(time).ok()).map(|time| format!(", since {time:.0}"));
            text.chars().filter(|c| !c.is_control()).collect::<String>() + &since.unwrap_or_default()
        }
        _ => "another process".to_string(),
    }
}

/// Asks the kernel which process holds a lock on a file. Some file systems (btrfs, overlay) list another device than
/// `stat` reports, so the inode alone decides if no lock on the exact device is listed.
pub(in crate::index) fn holder_of(path: &Path) -> Option<String> {
    let stat = crate::transcript::discover::stat_of(&fs_err::metadata(path).ok()?);
    let locks = fs_err::read_to_string("/proc/locks").ok()?;
    let fields = locks.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let holders = fields.filter(|fields| fields.get(1) == Some(&"FLOCK")).filter_map(|fields| {
        let (device, inode) = fields.get(5)?.rsplit_once(':')?;
        let same_inode = inode == stat.ino.to_string();
        same_inode.then(|| (device == device_of(stat.dev), format!("pid {}", fields[4])))
    });
    holders.max_by_key(|(same_device, _)| *same_device).map(|(_, pid)| pid)
}

/// Formats a device as in `/proc/locks`.
fn device_of(dev: u64) -> String {
    let major = (dev >> 8) & 0xfff | (dev >> 32) & !0xfff;
    let minor = dev & 0xff | (dev >> 12) & !0xff;
    format!("{major:02x}:{minor:02x}")
}

fn busy(path: &Path) -> Error {
    let message = format!("an index run is already in progress ({})", signature(path));
    Error::new(ErrorKind::Busy, message)
        .hint("wait for it to finish, or use --wait SECONDS; search works in the meantime")
}

/// The path of the lock file for a set of roots.
pub(in crate::index) fn lock_path(data_dir: &Path, roots_key: &str) -> PathBuf {
    data_dir.join(format!(".unspool-{roots_key}.lock"))
}
