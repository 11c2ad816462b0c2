//! Finds and runs programs of the system. They are looked for in the folders of the system, never in `PATH`, where
//! anything that changes the environment could put another program. They are run by their full path, never through a
//! shell.

use std::ffi::OsStr;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use unspool::error::{Error, ErrorKind};

/// The maximum run time of a program.
const PATIENCE: Duration = Duration::from_secs(30);

/// The folders in which systems have their schedulers. NixOS and Guix have their own.
const SYSTEM_FOLDERS: [&str; 9] = [
    "/usr/bin",
    "/bin",
    "/usr/sbin",
    "/sbin",
    "/run/wrappers/bin",
    "/run/current-system/sw/bin",
    "/run/privileged/bin",
    "/run/current-system/profile/bin",
    "/usr/local/bin",
];

/// Finds programs of the system, and unspool itself.
#[derive(Clone, Debug)]
pub(crate) struct Tools {
    /// The folders of the system.
    system: Vec<PathBuf>,
    /// The folders of `PATH`, in which only unspool itself is looked for.
    path: Vec<PathBuf>,
}

/// The output and exit code of a program.
#[derive(Debug)]
pub(crate) struct Output {
    /// The exit code, or `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Output {
    pub(crate) fn ok(&self) -> bool {
        self.code == Some(0)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

impl Tools {
    /// Finds unspool itself in the folders of `path`, and programs of the system in `fake`, or else in the system's own
    /// folders. Folders that another user can write to are left out.
    pub(crate) fn new(path: Vec<PathBuf>, fake: Option<Vec<PathBuf>>) -> Self {
        let system = fake.unwrap_or_else(|| SYSTEM_FOLDERS.map(PathBuf::from).to_vec());
        let trusted = |folders: Vec<PathBuf>| folders.into_iter().filter(|folder| is_trusted(folder)).collect();
        Self { system: trusted(system), path: trusted(path) }
    }

    /// Returns the full path of a program, if it is found.
    pub(crate) fn find(&self, name: &str) -> Option<PathBuf> {
        find_in(&self.system, name)
    }

    /// Returns the full path of a program that users install for themselves, if it is found in `PATH`.
    pub(crate) fn find_in_path(&self, name: &str) -> Option<PathBuf> {
        find_in(&self.path, name)
    }

    /// Returns the full path of a required program.
    pub(crate) fn need(&self, name: &str) -> Result<PathBuf, Error> {
        self.find(name).ok_or_else(|| {
            Error::new(ErrorKind::Usage, format!("cannot find the program {name} in /usr/bin or another system folder"))
                .hint("install it, or choose another scheduler with --backend")
        })
    }

    /// Returns the path in `PATH` that leads to this program. It stays valid when a package manager installs a new
    /// version.
    pub(crate) fn stable_name_of(&self, program: &Path) -> PathBuf {
        let real = fs_err::canonicalize(program).unwrap_or_else(|_| program.to_path_buf());
        let name = program.file_name().unwrap_or(OsStr::new("unspool"));
        let mut named = self.path.iter().flat_map(|folder| [folder.join("unspool"), folder.join(name)]);
        named.find(|path| fs_err::canonicalize(path).is_ok_and(|path| path == real)).unwrap_or(program.to_path_buf())
    }
}

fn find_in(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    let names = [name.to_string(), format!("{name}.exe")];
    let names = if cfg!(windows) { &names[..] } else { &names[..1] };
    let mut places = folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name)));
    places.find(|path| is_program(path))
}

/// Runs a program to its end and collects its output.
pub(crate) fn run(program: &Path, args: &[String], input: Option<&[u8]>) -> Result<Output, Error> {
    let failed = |error| Error::io("run", program, error);
    let mut command = Command::new(program);
    command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.spawn().map_err(failed)?;
    let (mut stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        let stdout = scope.spawn(|| read_all(stdout));
        let stderr = scope.spawn(|| read_all(stderr));
        if let (Some(stdin), Some(input)) = (stdin.as_mut(), input) {
            // A program that does not read all of its input reports that with its exit code.
            let _ = stdin.write_all(input);
        }
        drop(stdin);
        let code = wait(&mut child, program)?;
        let stderr = stderr.join().unwrap_or_default();
        Ok(Output {
            code,
            stdout: stdout.join().unwrap_or_default(),
            stderr: String::from_utf8_lossy(&stderr).trim().to_string(),
        })
    })
}

fn read_all(from: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        let _ = from.read_to_end(&mut bytes);
    }
    bytes
}

fn wait(child: &mut Child, program: &Path) -> Result<Option<i32>, Error> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.code()),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                let message = format!("{} did not finish within {} s", program.display(), PATIENCE.as_secs());
                return Err(Error::new(ErrorKind::Other, message));
            }
            Err(error) => return Err(Error::io("wait for", program, error)),
        }
    }
}

/// Reports whether only root and the current user can write to a folder.
#[cfg(unix)]
fn is_trusted(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let me = rustix::process::getuid().as_raw();
    let Ok(meta) = fs_err::metadata(folder) else { return false };
    folder.is_absolute() && meta.is_dir() && meta.mode() & 0o022 == 0 && (meta.uid() == 0 || meta.uid() == me)
}

#[cfg(not(unix))]
fn is_trusted(folder: &Path) -> bool {
    folder.is_absolute() && folder.is_dir()
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs_err::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}
