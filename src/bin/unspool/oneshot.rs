//! Work below the level of Rust's runtime: a SIGBUS handler, for an index file that is truncated while it is mapped,
//! and a check of stdout before the runtime replaces a closed one.

use std::sync::atomic::{AtomicBool, Ordering};

static STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Reports whether stdout was closed when the program started. The runtime then opens /dev/null for it, and writes
/// would seem to succeed.
pub(crate) fn stdout_was_closed() -> bool {
    STDOUT_CLOSED.load(Ordering::Relaxed)
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
mod before_main {
    use std::sync::atomic::Ordering;

    extern "C" fn check_stdout() {
        let stdout = rustix::io::fcntl_getfd(rustix::stdio::stdout());
        super::STDOUT_CLOSED.store(stdout == Err(rustix::io::Errno::BADF), Ordering::Relaxed);
    }

    #[used]
    #[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
    #[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
    #[expect(
        unsafe_code,
        reason = "the only way to be called before the runtime; the function does not need the runtime"
    )]
    static CHECK_STDOUT: extern "C" fn() = check_stdout;
}

/// On SIGBUS, prints one line that the index is damaged and exits with the code for it, instead of dying silently.
#[cfg(unix)]
#[expect(unsafe_code, reason = "a signal handler may only call async-signal-safe functions: write and _exit are")]
pub(crate) fn expect_damage() {
    // The handler cannot set the damage flag, so a run that finds nothing wrong needs `--rebuild`.
    const MESSAGE: &[u8] =
        b"unspool: error: the index is damaged: one of its files was truncated; run `unspool index`, \
        and if this happens again, `unspool index --rebuild`\n";
    let handler = || {
        give_terminal_back();
        let _ = rustix::io::write(rustix::stdio::stderr(), MESSAGE);
        signal_hook::low_level::exit(i32::from(crate::exit_code::UNUSABLE));
    };
    // SAFETY: the handler neither allocates nor locks.
    let _ = unsafe { signal_hook::low_level::register(signal_hook::consts::SIGBUS, handler) };
}

/// The terminal that the UI draws on and its state before, for the handler of SIGBUS.
#[cfg(unix)]
static TERMINAL: std::sync::OnceLock<(std::os::fd::OwnedFd, rustix::termios::Termios)> = std::sync::OnceLock::new();

/// Remembers the state of a terminal before the UI changes it, so that a handler can restore it.
#[cfg(unix)]
pub(crate) fn guard_terminal(terminal: &std::fs::File) {
    if let (Ok(fd), Ok(state)) = (rustix::io::dup(terminal), rustix::termios::tcgetattr(terminal)) {
        let _ = TERMINAL.set((fd, state));
    }
}

/// Ends the UI's use of the terminal. Safe in a signal: it only writes and sets the state of the terminal.
#[cfg(unix)]
pub(crate) fn give_terminal_back() {
    const LEAVE: &[u8] = b"\x1b[?1006l\x1b[?1015l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?2004l\x1b[?1049l\x1b[?25h";
    if let Some((fd, state)) = TERMINAL.get() {
        let _ = rustix::io::write(fd, LEAVE);
        let _ = rustix::termios::tcsetattr(fd, rustix::termios::OptionalActions::Now, state);
    }
}

/// Does nothing: there is no SIGBUS.
#[cfg(not(unix))]
pub(crate) fn expect_damage() {}

/// Turns core files off: they would contain transcripts.
#[cfg(unix)]
pub(crate) fn leave_no_core() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = Rlimit { current: Some(0), maximum: getrlimit(Resource::Core).maximum };
    let _ = setrlimit(Resource::Core, limit);
}

/// Does nothing on systems without core files.
#[cfg(not(unix))]
pub(crate) fn leave_no_core() {}

/// Makes a write beyond the limit for the size of files fail, instead of killing the process: it is like a full disk.
#[cfg(unix)]
#[expect(unsafe_code, reason = "a handler that does nothing is safe in a signal")]
pub(crate) fn expect_file_limit() {
    // SAFETY: the handler does nothing.
    let _ = unsafe { signal_hook::low_level::register(signal_hook::consts::SIGXFSZ, || {}) };
}

/// Does nothing on systems without such a limit.
#[cfg(not(unix))]
pub(crate) fn expect_file_limit() {}
