//! The terminal: raw mode, the alternate screen, and giving both back, also after a panic or a signal.
//!
//! The UI draws on /dev/tty, so that stdout stays free for an answer.

use std::io::{self, BufWriter, Write as _};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event,
};
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::crossterm::{cursor, execute};

#[cfg(unix)]
type Output = std::fs::File;
#[cfg(not(unix))]
type Output = io::Stderr;

pub(crate) type Screen = Terminal<CrosstermBackend<BufWriter<Output>>>;

/// The terminal in use by the UI. Dropping it gives the terminal back.
pub(crate) struct Tty {
    pub(crate) screen: Screen,
    mouse: bool,
}

/// Opens what the UI draws on.
#[cfg(unix)]
fn output() -> io::Result<Output> {
    Ok(fs_err::OpenOptions::new().read(true).write(true).open("/dev/tty")?.into_parts().0)
}

#[cfg(not(unix))]
fn output() -> io::Result<Output> {
    Ok(io::stderr())
}

impl Tty {
    /// Takes the terminal.
    pub(crate) fn open(mouse: bool) -> io::Result<Self> {
        let output = output()?;
        #[cfg(unix)]
        crate::oneshot::guard_terminal(&output);
        let screen = Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(1 << 16, output)))?;
        let mut tty = Self { screen, mouse };
        tty.enter()?;
        Ok(tty)
    }

    /// Turns on raw mode and the alternate screen.
    pub(crate) fn enter(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        let out = self.screen.backend_mut();
        execute!(out, EnterAlternateScreen, EnableBracketedPaste, cursor::Hide)?;
        if self.mouse {
            execute!(out, EnableMouseCapture)?;
        }
        // `clear` would ask the terminal on stdout for its cursor, which a picker's caller reads.
        let size = self.screen.size()?;
        self.screen.resize(size.into())
    }

    /// Gives the terminal back, as it was before.
    pub(crate) fn leave(&mut self) {
        let out = self.screen.backend_mut();
        if self.mouse {
            let _ = execute!(out, DisableMouseCapture);
        }
        let _ = execute!(out, DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
        let _ = disable_raw_mode();
    }

    /// Stops this process until the shell continues it.
    #[cfg(unix)]
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        self.leave();
        let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP);
        self.enter()
    }

    #[cfg(not(unix))]
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Sends bytes to the terminal: a text for its clipboard.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let out = self.screen.backend_mut();
        out.write_all(bytes)?;
        io::Write::flush(out)
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Starts the thread that reads keys. It sends all pending keys together, and waits until the UI asks for more, so that it
/// never takes a key that belongs to an editor.
pub(crate) fn read_events(deliver: impl Fn(io::Result<Vec<Event>>) -> bool + Send + 'static) -> Sender<()> {
    let (more, wanted): (Sender<()>, Receiver<()>) = channel();
    std::thread::spawn(move || {
        while wanted.recv().is_ok() {
            let batch = batch();
            let is_over = batch.is_err();
            if !deliver(batch) || is_over {
                return;
            }
        }
    });
    more
}

fn batch() -> io::Result<Vec<Event>> {
    let mut events = vec![event::read()?];
    while events.len() < 256 && event::poll(Duration::ZERO)? {
        events.push(event::read()?);
    }
    Ok(events)
}

/// Calls back on signals that end this process.
#[cfg(unix)]
pub(crate) fn on_signals(stop: impl Fn(i32) + Send + 'static) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGTERM, SIGHUP, SIGINT]) {
        std::thread::spawn(move || signals.forever().for_each(stop));
    }
}

#[cfg(not(unix))]
pub(crate) fn on_signals(_: impl Fn(i32) + Send + 'static) {}
