//! The terminal UI. A module uses only those above it:
//!
//! | module | does |
//! |---|---|
//! | `keys` | the one table of keys |
//! | `theme` | styles, and text cut to its place |
//! | `terminal` | takes the terminal and gives it back; reads keys |
//! | `clipboard` | copies text |
//! | `worker` | the threads that ask the archive and look for new messages |
//! | `viewer` | a conversation on a part of the screen |
//! | `list` | the list of sessions; filters in a query |
//! | `overlay` | windows above a screen |
//! | `file` | the File screen |
//! | `app` | the state, and how events and answers change it |
//! | `draw` | the state on the screen |
//!
//! The loop here waits for an event or an answer, takes all that have arrived, and then draws once.

mod keys;
mod theme;
mod terminal;
mod clipboard;
mod worker;
mod viewer;
mod list;
mod overlay;
mod file;
mod app;
mod draw;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use ratatui::crossterm::event::Event;
use unspool::archive::request::{ConversationRequest, Filters};
use unspool::archive::{Archive, ResumeCommand};
use unspool::error::{Error, ErrorKind};
use unspool::fault;
use unspool::render::Homes;
use unspool::render::export::{Export, Form};
use unspool::untrusted::one_line;

use crate::atomic_write;
use crate::config::{self, Config};
use crate::out;
use app::{App, Effect, Setup};
use keys::Keys;
pub(crate) use keys::manual;
use list::as_typed;
use terminal::Tty;
use theme::Theme;
use worker::{Answer, Worker};

/// The time between two looks for new messages while a session is followed.
const FOLLOW_EVERY: Duration = Duration::from_secs(2);

/// The exit code after the terminal is gone, as after SIGHUP.
const HUNG_UP: u8 = 129;

/// The options of the UI.
pub(crate) struct Options {
    pub(crate) query: String,
    pub(crate) filters: Filters,
    pub(crate) reveal: bool,
    pub(crate) mouse: bool,
    /// Set to return a session, or with true a message.
    pub(crate) pick: Option<bool>,
    pub(crate) claude: Option<PathBuf>,
}

/// The result of the UI.
pub(crate) enum Ended {
    Quit(u8),
    Print(String),
    Resume { claude: PathBuf, command: ResumeCommand },
}

/// Something that happened.
enum Message {
    Events(std::io::Result<Vec<Event>>),
    Answer(u64, Box<Answer>),
    Signal(i32),
}

/// Runs the UI until it is left.
pub(crate) fn run(config: &Config, archive: Archive, options: Options) -> anyhow::Result<Ended> {
    let _ = archive.reopen(&mut |_| ());
    let archive = Arc::new(archive);
    let (send, receive) = channel();
    let (to, signals, context) = (send.clone(), send.clone(), config.context());
    let worker = Worker::start(
        archive.clone(),
        move || unspool::archive::request::Context { now: now_in(&context), ..context.clone() },
        move |number, answer| drop(to.send(Message::Answer(number, Box::new(answer)))),
    );
    let mut tty = Tty::open(options.mouse)
        .map_err(|error| Error::new(ErrorKind::Other, format!("cannot use the terminal: {error}")))?;
    terminal::on_signals(move |signal| drop(signals.send(Message::Signal(signal))));
    let more = terminal::read_events(move |events| send.send(Message::Events(events)).is_ok());
    let setup = Setup {
        keys: Keys::new(&config.settings.keys),
        theme: Theme {
            colors: out::choice(config.color) != anstream::ColorChoice::Never
                || options.pick.is_some() && config::var("NO_COLOR").is_none(),
            light: config::is_light(&config.settings),
        },
        screen: config.screen(),
        filters: Filters {
            here: options.filters.here,
            include_current: options.filters.include_current,
            ..Filters::default()
        },
        reveal: options.reveal,
        pick: options.pick,
    };
    let history = fs_err::read_to_string(history_file(config)).unwrap_or_default();
    let query = [options.query.as_str(), &as_typed(&options.filters)].join(" ").trim().to_string();
    let app = App::new(setup, query, history.lines().map(str::to_string).collect());
    worker.check();
    let _ = more.send(());
    Loop { config, archive, options, worker, app, more, checked: false }.run(&mut tty, &receive)
}

/// Returns the time now, in the zone of the context.
fn now_in(context: &unspool::archive::request::Context) -> jiff::Zoned {
    let now = jiff::Timestamp::from_millisecond(config::now()).unwrap_or_default();
    now.to_zoned(context.now.time_zone().clone())
}

struct Loop<'c> {
    config: &'c Config,
    archive: Arc<Archive>,
    options: Options,
    worker: Worker,
    app: App,
    more: Sender<()>,
    /// Set while the worker looks for new messages.
    checked: bool,
}

impl Loop<'_> {
    fn run(mut self, tty: &mut Tty, receive: &Receiver<Message>) -> anyhow::Result<Ended> {
        loop {
            self.send_questions();
            if tty.screen.draw(|frame| draw::draw(&mut self.app, frame)).is_err() {
                return Ok(Ended::Quit(HUNG_UP));
            }
            // Without anything to do, the process sleeps here.
            let first = match self.app.follow {
                true => receive.recv_timeout(FOLLOW_EVERY).ok(),
                false => receive.recv().ok(),
            };
            if first.is_none() && self.app.follow && !self.checked {
                self.checked = true;
                self.worker.check();
            }
            for message in first.into_iter().chain(receive.try_iter()) {
                if let Some(ended) = self.take(message, tty)? {
                    return Ok(ended);
                }
            }
        }
    }

    fn send_questions(&mut self) {
        for (number, ask) in self.app.asks.drain(..) {
            self.worker.ask(number, ask);
        }
    }

    fn take(&mut self, message: Message, tty: &mut Tty) -> anyhow::Result<Option<Ended>> {
        match message {
            Message::Signal(signal) => return Ok(Some(Ended::Quit(u8::try_from(128 + signal).unwrap_or(130)))),
            Message::Answer(number, answer) => {
                self.checked &= !matches!(*answer, Answer::Fresh { is_done: true, .. });
                self.app.take(number, *answer);
            }
            Message::Events(Err(_)) => return Ok(Some(Ended::Quit(HUNG_UP))),
            Message::Events(Ok(events)) => {
                for event in &events {
                    fault::event();
                    self.app.event(event);
                    let effects = std::mem::take(&mut self.app.effects);
                    for effect in effects {
                        if let Some(ended) = self.carry_out(effect, tty)? {
                            return Ok(Some(ended));
                        }
                    }
                }
                let _ = self.more.send(());
            }
        }
        Ok(None)
    }

    fn carry_out(&mut self, effect: Effect, tty: &mut Tty) -> anyhow::Result<Option<Ended>> {
        match effect {
            Effect::Quit(code) => return Ok(Some(Ended::Quit(code))),
            Effect::Print(id) => return Ok(Some(Ended::Print(id))),
            Effect::Suspend => tty.suspend().map_err(|error| lost(&error))?,
            Effect::Check => self.worker.check(),
            Effect::Remember => {
                self.app.remember();
                let lines = self.app.history.join("\n");
                let _ = atomic_write::replace(&history_file(self.config), lines.as_bytes());
            }
            Effect::Copy { what, text } => self.app.status_line = Some(clipboard::copy(tty, &what, &text)),
            Effect::CopyCommand(id) => self.copy_command(&id, tty),
            Effect::Export(id) => self.app.status_line = Some(self.export(&id).unwrap_or_else(|error| said(&error))),
            Effect::Edit { path, line } => self.edit(&path, line, tty)?,
            Effect::Resume { id, fork } => return Ok(self.resume(&id, fork)),
        }
        Ok(None)
    }

    fn copy_command(&mut self, id: &str, tty: &mut Tty) {
        self.app.status_line = Some(match self.archive.resume(id, false, &self.config.context()) {
            Ok((command, _)) => clipboard::copy(tty, "the command that resumes the session", &command.shell()),
            Err(error) => one_line(&error.to_string()),
        });
    }

    /// Returns what is needed to resume a session. If that is impossible, says why and copies nothing.
    fn resume(&mut self, id: &str, fork: bool) -> Option<Ended> {
        match (self.archive.resume(id, fork, &self.config.context()), &self.options.claude) {
            (Ok((command, _)), Some(claude)) => return Some(Ended::Resume { claude: claude.clone(), command }),
            (Ok((command, _)), None) => {
                let command = one_line(&command.shell());
                self.app.status_line = Some(format!("`claude` is not in your PATH; the command is: {command}"));
            }
            (Err(error), _) => self.app.status_line = Some(one_line(&error.to_string())),
        }
        None
    }

    /// Writes the session as Markdown to the current folder. Never replaces a file.
    fn export(&self, id: &str) -> anyhow::Result<String> {
        let request =
            ConversationRequest { id: id.to_string(), reveal: self.options.reveal, ..ConversationRequest::default() };
        let answer = self.archive.conversation(&request, &self.config.context())?;
        let (screen, session) = (self.config.screen(), answer.session.clone());
        let homes = Homes(screen.home.clone().into_iter().collect());
        let tools = unspool::render::terminal::conversation::Tools::default();
        let export = Export { screen: &screen, session: &session, homes, tools, form: Form::Markdown };
        let mut bytes = Vec::new();
        export.write(&mut bytes, answer.turns)?;
        let name: String = id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(8).collect();
        let path = PathBuf::from(format!("session-{name}.md"));
        let mut file = fs_err::OpenOptions::new().write(true).create_new(true).open(&path)?;
        std::io::Write::write_all(&mut file, &bytes)?;
        Ok(format!("wrote {}", path.display()))
    }

    /// Opens the transcript in the user's editor, at a line.
    fn edit(&mut self, path: &std::path::Path, line: u64, tty: &mut Tty) -> anyhow::Result<()> {
        if !path.is_file() {
            self.app.status_line = Some("Claude Code has deleted the transcript; e exports the session".to_string());
            return Ok(());
        }
        tty.leave();
        let editor = config::editor();
        let mut words = editor.split_whitespace();
        let mut command = std::process::Command::new(words.next().unwrap_or("vi"));
        let status = command.args(words).arg(format!("+{line}")).arg(path).status();
        tty.enter().map_err(|error| lost(&error))?;
        if let Err(error) = status {
            self.app.status_line = Some(one_line(&format!("cannot run {editor}: {error}")));
        }
        Ok(())
    }
}

fn said(error: &anyhow::Error) -> String {
    one_line(&out::sentence(error))
}

/// Returns the error for a terminal that is gone.
fn lost(error: &std::io::Error) -> anyhow::Error {
    Error::new(ErrorKind::Other, format!("the terminal is gone: {error}")).into()
}

fn history_file(config: &Config) -> PathBuf {
    config.data_dir().join("queries")
}

#[cfg(test)]
mod tests;
