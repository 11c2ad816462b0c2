//! The progress bar of an index run, and the Ctrl-C handler.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use unspool::render::terminal::style::thousands;
use unspool::update::Watch;

static STOPPED: AtomicBool = AtomicBool::new(false);

/// Makes Ctrl-C stop the run at the next line and keep what is done. A second Ctrl-C exits immediately.
pub(crate) fn stop_on_signals() {
    let _ = ctrlc::set_handler(|| {
        if STOPPED.swap(true, Ordering::SeqCst) {
            #[expect(clippy::exit, reason = "the user asked twice; the index stays at its last commit")]
            std::process::exit(i32::from(crate::exit_code::INTERRUPTED));
        }
    });
}

/// Shows the progress of an index run on stderr, if that is a terminal.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: OnceLock<ProgressBar>,
    quiet: bool,
    files: AtomicUsize,
    of_files: AtomicUsize,
    documents: AtomicU64,
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            bar: OnceLock::new(),
            quiet,
            files: AtomicUsize::new(0),
            of_files: AtomicUsize::new(0),
            documents: AtomicU64::new(0),
        }
    }

    fn update_message(&self) {
        if let Some(bar) = self.bar.get() {
            let (files, of) = (self.files.load(Ordering::Relaxed), self.of_files.load(Ordering::Relaxed));
            let documents = self.documents.load(Ordering::Relaxed);
            bar.set_message(format!(
                "{} of {} files, {} documents",
                thousands(files as u64),
                thousands(of as u64),
                thousands(documents)
            ));
        }
    }

    /// Removes the bar.
    pub(crate) fn clear(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

impl Watch for Progress {
    fn planned(&self, files: usize, bytes: u64) {
        self.of_files.store(files, Ordering::Relaxed);
        if self.quiet {
            return;
        }
        let bar = ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr_with_hz(10));
        let style = ProgressStyle::with_template("{bar:28} {bytes}/{total_bytes} {bytes_per_sec} {eta} left · {msg}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        let _ = self.bar.set(bar);
    }

    fn read(&self, bytes: u64) {
        if let Some(bar) = self.bar.get() {
            bar.inc(bytes);
        }
    }

    fn documents(&self, documents: u64) {
        self.documents.fetch_add(documents, Ordering::Relaxed);
    }

    fn file_done(&self) {
        self.files.fetch_add(1, Ordering::Relaxed);
        self.update_message();
    }

    fn finishing(&self) {
        if let Some(bar) = self.bar.get() {
            bar.set_message("writing to disk");
        }
    }

    fn stopped(&self) -> bool {
        STOPPED.load(Ordering::Relaxed)
    }
}
