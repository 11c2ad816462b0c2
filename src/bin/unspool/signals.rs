//! The one signal that needs a handler of our own: a file of the index that is cut short while it is mapped.

/// Says in one line that the index is damaged and ends with the exit code for it, instead of a silent death.
#[cfg(unix)]
#[expect(unsafe_code, reason = "a handler may only call what is safe in a signal: write and _exit are")]
pub(crate) fn expect_damage() {
    const MESSAGE: &[u8] = b"unspool: error: the index is damaged: a file of it was cut short; run `unspool index`\n";
    let handler = || {
        let _ = rustix::io::write(rustix::stdio::stderr(), MESSAGE);
        signal_hook::low_level::exit(i32::from(crate::out::UNUSABLE));
    };
    // SAFETY: the handler neither allocates nor locks.
    let _ = unsafe { signal_hook::low_level::register(signal_hook::consts::SIGBUS, handler) };
}

/// Nothing to do where there is no such signal.
#[cfg(not(unix))]
pub(crate) fn expect_damage() {}
