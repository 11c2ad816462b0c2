//! Answers Claude Code's events with a reminder from the index: `unspool hook --recall`.
//!
//! Claude Code waits for the answer. So there is a deadline, and nothing is printed without a certain match. The
//! index is only read.

use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant, SystemTime};

use unspool::archive::{Archive, NoRunner};
use unspool::render::agent::recall;
use unspool::transcript::settings::event::{self, Event};
use xxhash_rust::xxh3::xxh3_64;

use crate::config::{Config, Global};
use crate::out;

/// The maximum time between the event and the answer.
const DEADLINE: Duration = Duration::from_millis(150);
/// The folder next to the index that remembers which files were mentioned in which session.
const MENTIONED: &str = "recall";
/// A session without a mention for this long has probably ended.
const FORGET: Duration = Duration::from_secs(7 * 24 * 3600);

/// Prints the answer to an event, if there is one in time.
pub(super) fn answer(global: &Global, event: Event, start: Instant) -> Option<()> {
    let (send, answer) = mpsc::channel();
    let global = global.clone();
    std::thread::spawn(move || {
        let reminder = Config::new(&global).ok().and_then(|config| reminder(&config, &event));
        let _ = send.send(reminder.map(|text| event::answer(&event, &text)));
    });
    let text = answer.recv_timeout(DEADLINE.saturating_sub(start.elapsed())).ok()??;
    out::write_all(text.as_bytes()).ok()
}

/// Returns the reminder for an event. Returns `None` if there is nothing certain to say, or if it was said already.
fn reminder(config: &Config, event: &Event) -> Option<String> {
    config.local.folder().stamp()?;
    let archive = Archive::new(config.local.clone(), Box::new(NoRunner));
    archive.reopen(&mut |_| {}).ok()?;
    let context = unspool::archive::request::Context {
        folder: event.cwd.clone(),
        running_session: Some(event.session_id.clone()),
        ..config.context()
    };
    match event.name.as_str() {
        "SessionStart" if matches!(event.source.as_deref(), None | Some("startup" | "clear")) => {
            forget_old_sessions(&config.local.folder().beside(MENTIONED));
            Some(recall::recent(&archive.recent(&context).ok()?, &config.screen()))
        }
        "PreToolUse" => {
            let path = Path::new(event.cwd.as_deref().unwrap_or("/")).join(event.file()?);
            let path = path.to_str()?;
            let change = archive.last_change(path, &context).ok()?;
            let is_first = mention(config, &event.session_id, path)?;
            change.filter(|_| is_first).map(|change| recall::last_change(&change, &config.screen()))
        }
        _ => None,
    }
    .filter(|text| !text.is_empty())
}

/// Remembers that a file was mentioned in a session. Returns false if it was mentioned before, `None` if that cannot be
/// remembered.
fn mention(config: &Config, session: &str, path: &str) -> Option<bool> {
    let name = |text: &str| format!("{:016x}", xxh3_64(text.as_bytes()));
    let folder = config.local.folder().beside(MENTIONED).join(name(session));
    fs_err::create_dir_all(&folder).ok()?;
    match fs_err::OpenOptions::new().write(true).create_new(true).open(folder.join(name(path))) {
        Ok(_) => Some(true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Some(false),
        Err(_) => None,
    }
}

/// Removes what is remembered of sessions that have ended.
fn forget_old_sessions(folder: &Path) {
    let Ok(sessions) = fs_err::read_dir(folder) else { return };
    for session in sessions.flatten() {
        let modified = session.metadata().and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        if modified.elapsed().is_ok_and(|age| age > FORGET) {
            let _ = fs_err::remove_dir_all(session.path());
        }
    }
}
