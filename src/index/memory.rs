//! Memory that was freed and is not needed again soon.

/// Gives freed memory back to the system. glibc keeps what many small pieces were taken from, and the merges at the
/// end of a large run would come on top of it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "malloc_trim has no safe form; it touches nothing that is in use")]
pub(super) fn give_back() {
    // SAFETY: may be called at any time, from any thread.
    unsafe { libc::malloc_trim(0) };
}

/// Takes large pieces of memory from the system one by one, so that each goes back to it as soon as it is free.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "mallopt has no safe form; it touches nothing that is in use")]
pub(super) fn take_apart() {
    const LARGE: i32 = 8 << 20;
    // SAFETY: may be called at any time.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
}

/// Other systems do that by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn take_apart() {}

/// Other systems do that by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn give_back() {}
