//! How the process uses the machine: few threads, and memory that is kept once it was had.

/// More threads than this do not help a search.
const THREADS: usize = 4;

/// The threads that the work of a search is shared among. The one that starts them is the first of them, so that nothing has
/// to be handed over. The others keep off its core: in a virtual machine Linux takes a core that sleeps for one that was
/// taken away, wakes them where their work comes from, and so both wait for each other.
pub(crate) struct Threads {
    core: usize,
}

impl Threads {
    /// Starts them. Left to itself rayon would ask for quotas first, which takes half a millisecond.
    pub(crate) fn start() -> Self {
        let core = cores::current();
        let threads = rayon::ThreadPoolBuilder::new().num_threads(cores::count().clamp(1, THREADS));
        // Were there threads already, they would do.
        let _ = threads.use_current_thread().start_handler(move |_| cores::keep_off(core)).build_global();
        Self { core }
    }

    /// Shares some work among them. Threads that are started meanwhile would all be on one core.
    pub(crate) fn share<T>(&self, work: impl FnOnce() -> T) -> T {
        let all = cores::keep_to(self.core);
        let done = work();
        cores::allow(all);
        done
    }
}

#[cfg(target_os = "linux")]
mod cores {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

    pub(super) fn count() -> usize {
        sched_getaffinity(None).map_or(super::THREADS, |all| all.count() as usize)
    }

    pub(super) fn current() -> usize {
        sched_getcpu().min(CpuSet::MAX_CPU - 1)
    }

    /// Makes this thread run elsewhere, if there is elsewhere.
    pub(super) fn keep_off(core: usize) {
        let Ok(mut others) = sched_getaffinity(None) else { return };
        others.unset(core);
        allow(Some(others).filter(|others| others.count() > 0));
    }

    /// Makes this thread run there only; gives back where it was allowed to.
    pub(super) fn keep_to(core: usize) -> Option<CpuSet> {
        let all = sched_getaffinity(None).ok().filter(|all| all.is_set(core))?;
        let mut one = CpuSet::new();
        one.set(core);
        allow(Some(one));
        Some(all)
    }

    /// It is as well if it is refused: these are hints.
    pub(super) fn allow(cores: Option<CpuSet>) {
        let _ = cores.map(|cores| sched_setaffinity(None, &cores));
    }
}

#[cfg(not(target_os = "linux"))]
mod cores {
    pub(super) fn count() -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    pub(super) fn current() -> usize {
        0
    }

    pub(super) fn keep_off(_: usize) {}

    pub(super) fn keep_to(_: usize) -> Option<()> {
        None
    }

    pub(super) fn allow(_: Option<()>) {}
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
