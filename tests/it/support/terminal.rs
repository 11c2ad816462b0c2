//! Runs the real binary, or a shell, in a pseudo terminal with a terminal emulator, as a person would see it.
//!
//! Nothing here waits for a fixed time: a test names what the screen must show, and there is a time limit after which it
//! fails with the screen in the message. On drop, everything that was started in the terminal is ended.

use std::io::{Read as _, Write};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::env::Env;

/// Time limit of everything that a test waits for: a guard against hanging, not a measurement.
const GUARD: Duration = Duration::from_secs(30);

pub(crate) const ENTER: &str = "\r";
pub(crate) const ESC: &str = "\x1b";
pub(crate) const TAB: &str = "\t";
pub(crate) const DOWN: &str = "\x1b[B";

/// A key pressed with Ctrl: `ctrl('r')`.
pub(crate) fn ctrl(letter: char) -> String {
    char::from(letter.to_ascii_uppercase() as u8 & 0x1f).to_string()
}

/// A pseudo terminal with a program in it.
pub(crate) struct Terminal {
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    /// The session that the program leads; a process that stays in it has been left behind.
    session: i32,
    shared: Arc<Shared>,
    reader: Option<JoinHandle<()>>,
}

/// What the reading thread has seen.
struct Shared {
    seen: Mutex<Seen>,
    changed: Condvar,
}

struct Seen {
    parser: vt100::Parser<Answers>,
    raw: Vec<u8>,
    /// Nothing more can come: all programs have closed the terminal.
    is_closed: bool,
}

/// Answers the questions that programs ask a terminal.
struct Answers {
    keyboard: Arc<Mutex<Box<dyn Write + Send>>>,
}

impl vt100::Callbacks for Answers {
    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        first: Option<u8>,
        _: Option<u8>,
        params: &[&[u16]],
        last: char,
    ) {
        let answer = match (first, params, last) {
            (None, [[6]], 'n') => {
                let (row, column) = screen.cursor_position();
                format!("\x1b[{};{}R", row + 1, column + 1)
            }
            (None, _, 'c') => "\x1b[?62;22c".to_string(),
            _ => return,
        };
        // A program that has gone needs no answer.
        let _ = lock(&self.keyboard).write_all(answer.as_bytes());
    }
}

/// A copy of the screen.
pub(crate) struct Screen(vt100::Screen);

impl Screen {
    /// The rows, without blanks at their end.
    pub(crate) fn rows(&self) -> Vec<String> {
        let (_, columns) = self.0.size();
        self.0.rows(0, columns.get()).map(|row| row.trim_end().to_string()).collect()
    }

    pub(crate) fn text(&self) -> String {
        self.rows().join("\n")
    }

    pub(crate) fn has(&self, text: &str) -> bool {
        self.rows().iter().any(|row| row.contains(text))
    }

    /// The number of the first row with a text.
    pub(crate) fn row_of(&self, text: &str) -> Option<usize> {
        self.rows().iter().position(|row| row.contains(text))
    }

    /// Row and column of the cursor, or none if it is hidden.
    pub(crate) fn cursor(&self) -> Option<(u16, u16)> {
        (!self.0.hide_cursor()).then(|| self.0.cursor_position())
    }

    /// Reports whether a program draws on the second screen, so that the first one comes back later.
    pub(crate) fn is_alternate(&self) -> bool {
        self.0.alternate_screen()
    }

    /// Every text that is marked in some way, from the top: with the style that `is_marked` looks for.
    pub(crate) fn marked(&self, is_marked: impl Fn(&vt100::Cell) -> bool) -> Vec<String> {
        let (rows, columns) = self.0.size();
        let mut found: Vec<String> = Vec::new();
        for row in 0..rows.get() {
            let mut is_open = false;
            for cell in (0..columns.get()).filter_map(|column| self.0.cell(row, column)) {
                if cell.is_wide_continuation() {
                    continue;
                }
                if is_marked(cell) && cell.has_contents() {
                    match found.last_mut().filter(|_| is_open) {
                        Some(text) => text.push_str(cell.contents()),
                        None => found.push(cell.contents().to_string()),
                    }
                    is_open = true;
                } else {
                    is_open = false;
                }
            }
        }
        found
    }

    /// The modes that a program must undo before it ends: mouse and bracketed paste.
    pub(crate) fn has_modes_left(&self) -> bool {
        self.0.mouse_protocol_mode() != vt100::MouseProtocolMode::None || self.0.bracketed_paste()
    }
}

impl Terminal {
    /// Starts the binary in a terminal of the given columns and rows.
    pub(crate) fn start(env: &Env, (columns, rows): (u16, u16), args: &[&str]) -> Self {
        let mut command = env.command();
        command.args(args).env("TERM", "xterm-256color").env_remove("COLUMNS");
        Self::run(&command, (columns, rows))
    }

    /// Starts any command; it gets only the environment that was set for it.
    pub(crate) fn run(command: &Command, (columns, rows): (u16, u16)) -> Self {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a terminal");
        let mut builder = CommandBuilder::new(command.get_program());
        builder.args(command.get_args());
        builder.env_clear();
        command.get_envs().for_each(|(name, value)| value.into_iter().for_each(|value| builder.env(name, value)));
        builder.cwd(command.get_current_dir().expect("a folder"));
        let child = pair.slave.spawn_command(builder).expect("started");
        drop(pair.slave);
        let session = i32::try_from(child.process_id().expect("running")).expect("a pid");
        let keyboard = Arc::new(Mutex::new(pair.master.take_writer().expect("a keyboard")));
        let parser = vt100::Parser::new_with_callbacks(
            rows.try_into().expect("rows"),
            columns.try_into().expect("columns"),
            0,
            Answers { keyboard },
        );
        let seen = Mutex::new(Seen { parser, raw: Vec::new(), is_closed: false });
        let shared = Arc::new(Shared { seen, changed: Condvar::new() });
        let reader = Some(read_in_background(&*pair.master, &shared));
        Self { master: pair.master, child, session, shared, reader }
    }

    /// Starts the binary in a terminal that is closed once it has shown a text. Returns how the binary ended.
    pub(crate) fn lost(env: &Env, args: &[&str], text: &str) -> ExitStatus {
        let pair =
            native_pty_system().openpty(PtySize { rows: 40, cols: 120, ..PtySize::default() }).expect("a terminal");
        let mut builder = CommandBuilder::new(env!("CARGO_BIN_EXE_unspool"));
        builder.args(args);
        builder.env_clear();
        let command = env.command();
        command.get_envs().for_each(|(name, value)| value.into_iter().for_each(|value| builder.env(name, value)));
        builder.env("TERM", "xterm-256color");
        builder.cwd(env.path());
        let mut child = pair.slave.spawn_command(builder).expect("started");
        drop(pair.slave);
        let mut output = pair.master.try_clone_reader().expect("an output");
        let (mut seen, mut buffer) = (Vec::new(), [0; 4096]);
        while memchr::memmem::find(&seen, text.as_bytes()).is_none() {
            let count = output.read(&mut buffer).expect("read");
            assert!(count > 0, "ended too soon: {}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&buffer[..count]);
        }
        drop((output, pair.master));
        let deadline = Instant::now() + GUARD;
        loop {
            if let Some(status) = child.try_wait().expect("waited") {
                return status;
            }
            assert!(Instant::now() < deadline, "the program has not ended");
            // A pause between two looks; how long it is does not matter.
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Types a text, or presses keys.
    pub(crate) fn keys(&self, keys: impl AsRef<str>) -> &Self {
        let keyboard = Arc::clone(&self.seen().parser.callbacks().keyboard);
        lock(&keyboard).write_all(keys.as_ref().as_bytes()).expect("typed");
        self
    }

    /// Clicks on a cell; both numbers count from 0.
    pub(crate) fn click(&self, column: usize, row: usize) -> &Self {
        let (x, y) = (column + 1, row + 1);
        self.keys(format!("\x1b[<0;{x};{y}M\x1b[<0;{x};{y}m"))
    }

    /// Turns the wheel above a cell by one step.
    pub(crate) fn wheel(&self, down: bool, column: usize, row: usize) -> &Self {
        self.keys(format!("\x1b[<{};{};{}M", if down { 65 } else { 64 }, column + 1, row + 1))
    }

    pub(crate) fn screen(&self) -> Screen {
        Screen(self.seen().parser.screen().clone())
    }

    /// Everything that was sent to the terminal.
    pub(crate) fn raw(&self) -> Vec<u8> {
        self.seen().raw.clone()
    }

    /// Waits until the screen shows a text.
    pub(crate) fn shows(&self, text: &str) -> Screen {
        self.wait(&format!("the screen shows {text:?}"), |screen| screen.has(text))
    }

    /// Waits until the screen no longer shows a text.
    pub(crate) fn hides(&self, text: &str) -> Screen {
        self.wait(&format!("the screen no longer shows {text:?}"), |screen| !screen.has(text))
    }

    /// Waits until the screen is as described.
    pub(crate) fn wait(&self, what: &str, is_so: impl Fn(&Screen) -> bool) -> Screen {
        let deadline = Instant::now() + GUARD;
        let mut seen = self.seen();
        loop {
            let screen = Screen(seen.parser.screen().clone());
            if is_so(&screen) {
                return screen;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !seen.is_closed, "waited in vain until {what}:\n{}", screen.text());
            seen = self.shared.changed.wait_timeout(seen, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until the program has sent a text, shown or not.
    pub(crate) fn sends(&self, text: &str) {
        let deadline = Instant::now() + GUARD;
        let mut seen = self.seen();
        while memchr::memmem::find(&seen.raw, text.as_bytes()).is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !seen.is_closed, "waited in vain for {text:?}");
            seen = self.shared.changed.wait_timeout(seen, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Changes the size of the terminal; the program is told by a signal.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let mut seen = self.seen();
        let screen = seen.parser.screen_mut();
        screen.set_size(rows.try_into().expect("rows"), columns.try_into().expect("columns"));
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        self.master.resize(size).expect("resized");
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.session).expect("a pid"), signal).expect("sent");
    }

    /// The processor time that the program has used, in ticks of a hundredth of a second.
    pub(crate) fn ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.session)).expect("running");
        let fields = stat.rsplit(')').next().expect("fields").split_whitespace();
        fields.skip(11).take(2).map(|field| field.parse::<u64>().expect("a number")).sum()
    }

    /// The memory of the program, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.session)).expect("running");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
        peak.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
    }

    /// The state of the program as the kernel names it: `T` is stopped, `S` sleeps.
    pub(crate) fn state(&self) -> char {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.session)).expect("running");
        stat.rsplit(") ").next().and_then(|rest| rest.chars().next()).expect("a state")
    }

    /// Waits for the end of the program. Everything it wrote is then on the screen.
    pub(crate) fn ends(&mut self) -> ExitStatus {
        let deadline = Instant::now() + GUARD;
        loop {
            if let Some(status) = self.child.try_wait().expect("waited") {
                self.read_rest(deadline);
                return status;
            }
            let shows = self.screen().text();
            assert!(Instant::now() < deadline, "the program has not ended:\n{shows}");
            // A pause between two looks; how long it is does not matter.
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until what was written has been read, or until nothing can come any more.
    fn read_rest(&self, deadline: Instant) {
        let mut seen = self.seen();
        while !seen.is_closed && self.left_behind().is_empty() && Instant::now() < deadline {
            seen = self.shared.changed.wait_timeout(seen, GUARD / 100).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The processes that still run in this terminal, besides the program itself.
    pub(crate) fn left_behind(&self) -> Vec<i32> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| *pid != self.session && session_of(*pid) == Some(self.session)).collect()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        lock(&self.shared.seen)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for pid in self.left_behind() {
            let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::KILL));
        }
        // All of them have closed the terminal now, which ends the thread.
        let _ = self.reader.take().map(JoinHandle::join);
    }
}

fn read_in_background(master: &dyn MasterPty, shared: &Arc<Shared>) -> JoinHandle<()> {
    let mut output = master.try_clone_reader().expect("an output");
    let shared = Arc::clone(shared);
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = output.read(&mut buffer).unwrap_or(0);
            let mut seen = lock(&shared.seen);
            seen.is_closed = count == 0;
            seen.raw.extend_from_slice(&buffer[..count]);
            seen.parser.process(&buffer[..count]);
            drop(seen);
            shared.changed.notify_all();
            if count == 0 {
                return;
            }
        }
    })
}

fn session_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(')').next()?.split_whitespace().nth(3)?.parse().ok()
}

/// A test that fails must not hide its reason behind a poisoned lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
