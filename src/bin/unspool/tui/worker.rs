//! The thread that asks the archive. The newest question of each sort is answered; older ones are dropped.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use unspool::archive::request::{Context, FileRequest, NamesRequest, ReadingRequest, SearchRequest, SessionsRequest};
use unspool::archive::{
    Archive, FileAnswer, NameCount, Note, Occurrences, OpenConversation, SearchAnswer, SessionsAnswer,
};
use unspool::error::{Error, ErrorKind, Result};

use crate::watch;

/// The minimum time between two looks for new messages because files have changed.
const BETWEEN_CHECKS: Duration = Duration::from_secs(4);

/// A question. Its number is in the answer.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Search(Box<SearchRequest>),
    Latest(Box<SessionsRequest>),
    /// Open a conversation, with all hits of a search if there is one.
    Open {
        open: ReadingRequest,
        search: Option<Box<SearchRequest>>,
    },
    Names(NamesRequest),
    File(Box<FileRequest>),
}

/// An answer.
pub(crate) enum Answer {
    Search(Result<Box<SearchAnswer>>, Duration),
    Latest(Result<SessionsAnswer>),
    Open(Result<(Arc<OpenConversation>, Option<Arc<Occurrences>>)>),
    Names(Vec<NameCount>),
    File(Result<Box<FileAnswer>>),
    /// The check for new messages ended, or the first index grows. `new` is set if the index has changed: to the number
    /// of new messages, which is 0 if there is only new output.
    Fresh {
        is_done: bool,
        new: Option<usize>,
        text: String,
    },
}

impl Ask {
    fn sort(&self) -> u8 {
        match self {
            Self::Search(_) | Self::Latest(_) => 0,
            Self::Open { .. } => 1,
            Self::Names(_) => 2,
            Self::File(_) => 3,
        }
    }
}

/// Sends questions to the worker.
pub(crate) struct Worker {
    questions: Sender<(u64, Ask)>,
    checks: Sender<()>,
}

impl Worker {
    /// Starts the thread for questions, the one that looks for new messages, and the one that waits for changes of
    /// files.
    pub(crate) fn start(
        archive: Arc<Archive>,
        context: impl Fn() -> Context + Send + Sync + 'static,
        deliver: impl Fn(u64, Answer) + Send + Sync + 'static,
    ) -> Self {
        let (questions, asked) = channel();
        let (checks, wanted) = channel();
        let (deliver, context) = (Arc::new(deliver), Arc::new(context));
        let (to, asking) = (deliver.clone(), archive.clone());
        std::thread::spawn(move || serve(&asking, &asked, &*context, &*to));
        let changed = checks.clone();
        let roots = archive.local().roots().to_vec();
        std::thread::spawn(move || watch::notice_changes(&roots, BETWEEN_CHECKS, || changed.send(()).is_ok()));
        std::thread::spawn(move || check_for_news(&archive, &wanted, &*deliver));
        Self { questions, checks }
    }

    pub(crate) fn ask(&self, number: u64, question: Ask) {
        let _ = self.questions.send((number, question));
    }

    /// Looks for new messages.
    pub(crate) fn check(&self) {
        let _ = self.checks.send(());
    }
}

fn serve(
    archive: &Archive,
    asked: &Receiver<(u64, Ask)>,
    context: &dyn Fn() -> Context,
    deliver: &dyn Fn(u64, Answer),
) {
    let mut waiting: VecDeque<(u64, Ask)> = VecDeque::new();
    loop {
        if waiting.is_empty() {
            let Ok(question) = asked.recv() else { return };
            waiting.push_back(question);
        }
        waiting.extend(asked.try_iter());
        // The newest of each sort; searches first.
        let mut newest: Vec<(u64, Ask)> = Vec::new();
        for (number, ask) in waiting.drain(..) {
            newest.retain(|(_, other)| other.sort() != ask.sort());
            newest.push((number, ask));
        }
        newest.sort_by_key(|(_, ask)| ask.sort());
        let mut rest = VecDeque::from(newest);
        if let Some((number, ask)) = rest.pop_front() {
            deliver(number, answer(archive, ask, &context()));
        }
        waiting = rest;
    }
}

pub(crate) fn answer(archive: &Archive, ask: Ask, context: &Context) -> Answer {
    match ask {
        Ask::Search(request) => {
            let start = Instant::now();
            Answer::Search(guarded(|| archive.search(&request, context).map(Box::new)), start.elapsed())
        }
        Ask::Latest(request) => Answer::Latest(guarded(|| archive.sessions(&request, context))),
        Ask::Open { open, search } => Answer::Open(guarded(|| {
            let reading = Arc::new(archive.reading(&open)?);
            // A search that is not valid marks nothing, but the conversation opens.
            let found = search.and_then(|search| archive.occurrences(&reading, &search, context).ok());
            Ok((reading, found.map(Arc::new)))
        })),
        Ask::Names(request) => Answer::Names(guarded(|| archive.names(&request)).unwrap_or_default()),
        Ask::File(request) => Answer::File(guarded(|| archive.file(&request, context).map(Box::new))),
    }
}

/// Turns a panic into an error, so that the UI can go on.
fn guarded<T>(ask: impl FnOnce() -> Result<T>) -> Result<T> {
    let failed = |_| Err(Error::new(ErrorKind::Other, "unspool failed to answer this; please report it"));
    catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(failed)
}

/// The number of messages that are shown, and the commit of the index that contains them.
struct Shown {
    archive: Arc<Archive>,
    stamp: Option<Vec<u8>>,
    messages: u64,
}

impl Shown {
    fn of(archive: Arc<Archive>) -> Self {
        let mut shown = Self { archive, stamp: None, messages: 0 };
        shown.advance();
        shown
    }

    /// Looks at the index again. Returns the number of new messages if it has changed.
    fn advance(&mut self) -> Option<usize> {
        let stamp = self.archive.local().folder().stamp();
        if stamp == self.stamp {
            return None;
        }
        self.stamp = stamp;
        let before = std::mem::replace(&mut self.messages, messages(&self.archive));
        Some(usize::try_from(self.messages.saturating_sub(before)).unwrap_or(0))
    }
}

/// Returns the number of prompts, answers and calls in the index.
fn messages(archive: &Archive) -> u64 {
    let request = NamesRequest { field: "kind".into(), typed: String::new(), limit: Some(usize::MAX) };
    let kinds = guarded(|| archive.names(&request)).unwrap_or_default();
    let is_counted = |kind: &&NameCount| ["prompt", "command", "text", "tool_use"].contains(&kind.name.raw());
    kinds.iter().filter(is_counted).map(|kind| kind.count).sum()
}

/// Brings the index up to date when asked to. While the first index is built, what is there can be searched.
fn check_for_news(archive: &Arc<Archive>, wanted: &Receiver<()>, deliver: &dyn Fn(u64, Answer)) {
    let mut shown = Shown::of(archive.clone());
    while wanted.recv().is_ok() {
        while wanted.try_recv().is_ok() {}
        let has_index = guarded(|| archive.reopen(&mut |_| ())).is_ok() && shown.stamp.is_some();
        if !has_index {
            build_first(&mut shown, deliver);
            continue;
        }
        let note = Mutex::new(String::new());
        let mut report = |said: Note| {
            if let Ok(mut note) = note.lock() {
                *note = match said {
                    Note::Behind(lag) => format!("index: {lag}"),
                    other => other.to_string(),
                };
            }
        };
        let failed = guarded(|| archive.freshen(&mut report)).err().map(|error| error.to_string());
        let text = failed.unwrap_or_else(|| note.into_inner().unwrap_or_else(PoisonError::into_inner));
        deliver(0, Answer::Fresh { is_done: true, new: shown.advance(), text });
    }
}

/// Builds the first index in a child process, and shows what it has committed every second.
fn build_first(shown: &mut Shown, deliver: &dyn Fn(u64, Answer)) {
    let (done, ended) = channel();
    let archive = shown.archive.clone();
    let building = archive.clone();
    std::thread::spawn(move || {
        let _ = done.send(guarded(|| building.freshen(&mut |_| ())).err().map(|error| error.to_string()));
    });
    let start = Instant::now();
    loop {
        let end = ended.recv_timeout(Duration::from_secs(1));
        let _ = guarded(|| archive.reopen(&mut |_| ()));
        let new = shown.advance();
        if let Ok(error) = end {
            deliver(0, Answer::Fresh { is_done: true, new: new.or(Some(0)), text: error.unwrap_or_default() });
            return;
        }
        let text = archive.status().ok().map_or_else(
            || "reading all sessions for the first time".to_string(),
            |status| progress(status.source_bytes, status.lag.bytes, start.elapsed()),
        );
        deliver(0, Answer::Fresh { is_done: false, new, text });
    }
}

/// Returns how much was read, and how long the rest takes.
fn progress(read: u64, left: u64, elapsed: Duration) -> String {
    if read == 0 {
        return "first index: reading".to_string();
    }
    if left == 0 {
        return "first index: almost done".to_string();
    }
    let share = read * 100 / (read + left).max(1);
    let rest = elapsed.as_secs() * left / read.max(1);
    format!("first index: {share} %, about {rest} s left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_says_how_much_was_read_and_how_long_the_rest_takes() {
        for (read, left, expected) in [
            (0, 100, "first index: reading"),
            (25, 75, "first index: 25 %, about 30 s left"),
            (100, 0, "first index: almost done"),
        ] {
            assert_eq!(progress(read, left, Duration::from_secs(10)), expected);
        }
    }
}
