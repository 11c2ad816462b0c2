//! What has to be done below the level of Rust's runtime: a handler for the one signal that needs one, a file of the
//! index that is cut short while it is mapped; and a look at stdout before the runtime puts something in its place.

use std::sync::atomic::{AtomicBool, Ordering};

static STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether there was no stdout when the program was started. The runtime then opens /dev/null for it, and everything
/// would seem to be written.
pub(crate) fn stdout_was_closed() -> bool {
    STDOUT_CLOSED.load(Ordering::Relaxed)
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
mod before_main {
    use std::sync::atomic::Ordering;

    extern "C" fn look() {
        let stdout = rustix::io::fcntl_getfd(rustix::stdio::stdout());
        super::STDOUT_CLOSED.store(stdout == Err(rustix::io::Errno::BADF), Ordering::Relaxed);
    }

    #[used]
    #[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
    #[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
    #[expect(unsafe_code, reason = "the only way to be called before the runtime; the function needs nothing of it")]
    static LOOK: extern "C" fn() = look;
}

/// Says in one line that the index is damaged and ends with the exit code for it, instead of a silent death.
#[cfg(unix)]
#[expect(unsafe_code, reason = "a handler may only call what is safe in a signal: write and _exit are")]
pub(crate) fn expect_damage() {
    // No mark is left for the next run here; one that sees nothing wrong needs to be told.
    const MESSAGE: &[u8] = b"unspool: error: the index is damaged: a file of it was cut short; run `unspool index`, \
        and should this come again, `unspool index --rebuild`\n";
    let handler = || {
        let _ = rustix::io::write(rustix::stdio::stderr(), MESSAGE);
        signal_hook::low_level::exit(i32::from(crate::exit_code::UNUSABLE));
    };
    // SAFETY: the handler neither allocates nor locks.
    let _ = unsafe { signal_hook::low_level::register(signal_hook::consts::SIGBUS, handler) };
}

/// Nothing to do where there is no such signal.
#[cfg(not(unix))]
pub(crate) fn expect_damage() {}
