//! How the process uses the machine: few threads, and memory that is kept once it was had.

/// More threads than this do not help a search.
const THREADS: usize = 4;

/// Starts the threads that the work of a search is shared among; this one is the first of them, so that nothing has to be
/// handed over. Left to itself rayon would ask for quotas first, which takes half a millisecond.
pub(crate) fn start_threads() {
    // Were there threads already, they would do.
    let threads = rayon::ThreadPoolBuilder::new().num_threads(cores().clamp(1, THREADS));
    let _ = threads.use_current_thread().build_global();
}

#[cfg(target_os = "linux")]
fn cores() -> usize {
    rustix::thread::sched_getaffinity(None).map_or(THREADS, |set| set.count() as usize)
}

#[cfg(not(target_os = "linux"))]
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Keeps freed memory for whatever is needed next, for a process that ends soon: a page that is got anew from the system
/// costs about as much as unpacking what goes into it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "mallopt has no safe form; it touches nothing that is in use")]
pub(crate) fn keep_memory() {
    const LARGE: i32 = 64 << 20;
    // Not one pool of memory for all threads: they would wait for one another while they walk through the folders.
    let options = [(libc::M_MMAP_THRESHOLD, LARGE), (libc::M_TRIM_THRESHOLD, LARGE), (libc::M_TOP_PAD, 1 << 20)];
    for (option, value) in options {
        // SAFETY: may be called at any time.
        unsafe { libc::mallopt(option, value) };
    }
}

/// Other systems do that by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn keep_memory() {}
