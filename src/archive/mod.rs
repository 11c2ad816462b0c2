//! The façade for all front ends: every request to the index goes through an [`Archive`].
//!
//! An [`Archive`] opens the index, brings it up to date through a [`Runner`] and answers. All answers come from the
//! commit that was the newest at the last call of [`Archive::freshen`] or [`Archive::reopen`]. Both are cheap if
//! nothing is new. The types in [`request`] are requests as they were typed. Answers are plain values that can be
//! serialized. Remarks about an answer are [`Note`]s. A process can keep an archive for as long as it runs.
//!
//! ```no_run
//! use unspool::archive::request::{Context, SearchRequest};
//! use unspool::archive::{Archive, Local, NoRunner};
//! use unspool::transcript::discover::Root;
//!
//! # fn main() -> Result<(), unspool::error::Error> {
//! let root = Root { path: "/home/dana/.claude".into(), required: true };
//! let local = Local::new(vec![root], std::path::Path::new("/home/dana/.local/share/unspool"));
//! let archive = Archive::new(local.into(), Box::new(NoRunner));
//! let request = SearchRequest { text: Some("retry after".into()), ..SearchRequest::default() };
//! let answer = archive.search(&request, &Context::default())?;
//! println!("{} hits", answer.total_hits);
//! # Ok(())
//! # }
//! ```

mod tokens;
mod prices;
pub mod request;
mod note;
mod serialize;
pub(crate) mod snippet;
mod here;
mod filters;
mod title;
mod session_info;
mod tool_pairs;
mod closing;
pub mod search;
pub mod sessions;
mod resume;
pub mod conversation;
pub mod outline;
pub mod occurrences;
pub mod names;
pub mod history;
pub mod recall;
pub mod stats;
pub mod status;
pub mod verify;
pub mod removal;
pub mod expiring_sessions;
pub mod backup;
mod backend;
mod local;
mod runner;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::error::Result;
use crate::update::{Lag, lag};
pub use backend::Backend;
pub use conversation::{ConversationAnswer, OpenConversation};
pub use history::FileAnswer;
pub use local::Local;
pub use names::NameCount;
pub use note::Note;
pub use occurrences::Occurrences;
pub use outline::OutlineAnswer;
pub use recall::{LastChange, RecentSession};
use request::{
    Context, ConversationRequest, FileRequest, NamesRequest, OutlineRequest, ReadingRequest, SearchRequest,
    SessionsRequest, StatsRequest,
};
pub use resume::{ResumeCommand, ShellSyntax, quoted};
pub use runner::{NoRunner, Runner, ThreadRunner};
pub use search::SearchAnswer;
pub use serialize::timestamp;
pub use session_info::SessionInfo;
pub use sessions::SessionsAnswer;
pub use stats::StatsAnswer;

/// Maximum number of new bytes to index before an answer.
const CHEAP: u64 = 64 << 20;
/// Maximum time that an answer waits for the index.
const PATIENCE: Duration = Duration::from_secs(3);

/// The index of all transcripts on this machine, with everything that front ends can ask of it.
pub struct Archive {
    local: Arc<Local>,
    backend: Arc<dyn Backend>,
    runner: Box<dyn Runner>,
    /// The lag of the index after the last attempt to freshen it.
    behind: Mutex<Option<Lag>>,
}

impl std::fmt::Debug for Archive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Archive").field("local", &self.local).finish_non_exhaustive()
    }
}

impl Archive {
    /// Answers from the index on this machine. Opens nothing yet.
    pub fn new(local: Arc<Local>, runner: Box<dyn Runner>) -> Self {
        Self { backend: local.clone(), local, runner, behind: Mutex::default() }
    }

    /// Returns the index on this machine.
    pub fn local(&self) -> &Local {
        &self.local
    }

    /// Brings the index up to date, unless that would take long. Reports notes before the slow parts.
    pub fn freshen(&self, report: &mut dyn FnMut(Note)) -> Result<()> {
        let Some(reader) = self.local.reopen()? else { return self.build_first(report) };
        self.missing_roots(true, report);
        let (behind, _) = lag(&reader, self.local.roots())?;
        self.catch_up(behind, PATIENCE, report)
    }

    /// Builds the first index.
    fn build_first(&self, report: &mut dyn FnMut(Note)) -> Result<()> {
        report(Note::FirstIndex);
        self.missing_roots(false, report);
        self.runner.run_first()?;
        self.local.reopen().map(|_| ())
    }

    /// Brings an index up to date that is this far behind, unless that would take long.
    fn catch_up(&self, behind: Lag, patience: Duration, report: &mut dyn FnMut(Note)) -> Result<()> {
        let is_current = behind == Lag::default() || behind.bytes <= CHEAP && self.runner.run(patience)?;
        if !is_current {
            report(Note::Behind(behind));
        } else if behind != Lag::default() {
            self.local.reopen()?;
        }
        *self.behind.lock().unwrap_or_else(PoisonError::into_inner) = Some(behind).filter(|_| !is_current);
        Ok(())
    }

    /// Brings the index up to date, but spends only a limited time on it, including the search for what is new. What is
    /// not done then continues in the background. For servers, which must answer soon.
    pub fn freshen_within(&self, patience: Duration, report: &mut dyn FnMut(Note)) -> Result<()> {
        let start = std::time::Instant::now();
        let Some(reader) = self.local.reopen()? else {
            self.missing_roots(false, report);
            let is_done = self.runner.run(patience)?;
            self.local.reopen()?;
            report(if is_done { Note::FirstIndex } else { Note::BuildingIndex });
            return Ok(());
        };
        self.missing_roots(true, report);
        let (sender, found) = std::sync::mpsc::channel();
        let roots = self.local.roots().to_vec();
        // Sending fails if nobody waits any more.
        std::thread::spawn(move || sender.send(lag(&reader, &roots).map(|(behind, _)| behind)));
        match found.recv_timeout(patience) {
            Ok(behind) => self.catch_up(behind?, patience.saturating_sub(start.elapsed()), report),
            Err(_) => {
                report(Note::NotChecked);
                Ok(())
            }
        }
    }

    /// Opens the newest commit of the index, without looking for new messages. Reports notes about the index.
    pub fn reopen(&self, report: &mut dyn FnMut(Note)) -> Result<()> {
        if let Some(reader) = self.local.reopen()? {
            self.missing_roots(true, report);
            if reader.is_blank() {
                report(Note::EmptyIndex);
            }
        }
        Ok(())
    }

    /// Reports folders with transcripts that do not exist. One of the default folders is enough.
    fn missing_roots(&self, has_index: bool, report: &mut dyn FnMut(Note)) {
        let missing = |path: &Path| matches!(path.try_exists(), Ok(false));
        let roots = self.local.roots();
        let all_missing = roots.iter().all(|root| missing(&root.path));
        for root in roots.iter().filter(|root| (root.required || all_missing) && missing(&root.path)) {
            report(Note::MissingRoot { path: root.path.display().to_string(), has_index });
        }
    }

    /// Returns the time of the newest message in the index.
    pub fn newest(&self) -> Result<Option<i64>> {
        Ok(self.local.reader()?.sessions_by_end()?.first().and_then(|files| files.last))
    }

    /// Finds sessions and messages.
    pub fn search(&self, request: &SearchRequest, context: &Context) -> Result<SearchAnswer> {
        let answer = self.backend.search(request, context)?;
        Ok(SearchAnswer { behind: *self.behind.lock().unwrap_or_else(PoisonError::into_inner), ..answer })
    }

    /// Brings the index up to date like [`Self::freshen`], and finds sessions and messages. Looks for new messages
    /// while it searches, and searches again if there are some.
    pub fn freshen_and_search(
        &self,
        request: &SearchRequest,
        context: &Context,
        report: &mut dyn FnMut(Note),
    ) -> Result<SearchAnswer> {
        let Some(reader) = self.local.reopen()? else {
            self.build_first(report)?;
            return self.search(request, context);
        };
        self.missing_roots(true, report);
        let (lag, answer) = rayon::join(|| lag(&reader, self.local.roots()), || self.search(request, context));
        let (behind, _) = lag?;
        if behind == Lag::default() {
            return answer;
        }
        self.catch_up(behind, PATIENCE, report)?;
        self.search(request, context)
    }

    /// Lists sessions.
    pub fn sessions(&self, request: &SessionsRequest, context: &Context) -> Result<SessionsAnswer> {
        self.backend.sessions(request, context)
    }

    /// Opens a conversation.
    pub fn conversation(&self, request: &ConversationRequest, context: &Context) -> Result<ConversationAnswer> {
        self.backend.conversation(request, context)
    }

    /// Lists the prompts of a session or subagent, each with its result.
    pub fn outline(&self, request: &OutlineRequest) -> Result<OutlineAnswer> {
        self.backend.outline(request)
    }

    /// Opens a conversation whose blocks can be read in any order.
    pub fn reading(&self, request: &ReadingRequest) -> Result<OpenConversation> {
        conversation::reading::open(&self.local.reader()?, request)
    }

    /// Finds all hits of a search in the session of a conversation, in order. They belong to the same commit as the
    /// conversation.
    pub fn occurrences(
        &self,
        reading: &OpenConversation,
        request: &SearchRequest,
        context: &Context,
    ) -> Result<Occurrences> {
        occurrences::find(reading, request, context)
    }

    /// Returns the names that a filter can have, those of most sessions or messages first.
    pub fn names(&self, request: &NamesRequest) -> Result<Vec<NameCount>> {
        names::answer(&*self.local.reader()?, request)
    }

    /// Answers a question about a file: its changes, the authors of its lines, or its earlier contents.
    pub fn file(&self, request: &FileRequest, context: &Context) -> Result<FileAnswer> {
        self.backend.file(request, context)
    }

    /// Returns the last sessions of the caller's repository or folder, newest first.
    pub fn recent(&self, context: &Context) -> Result<Vec<RecentSession>> {
        recall::recent(&*self.local.reader()?, context)
    }

    /// Returns the last change of a file by another session. `path` is absolute.
    pub fn last_change(&self, path: &str, context: &Context) -> Result<Option<LastChange>> {
        recall::last_change(&*self.local.reader()?, path, context)
    }

    /// Reports the state of the index.
    pub fn status(&self) -> Result<status::Status> {
        self.backend.status()
    }

    /// Returns statistics on usage and cost.
    pub fn stats(&self, request: &StatsRequest, context: &Context) -> Result<StatsAnswer> {
        stats::answer(&*self.local.reader()?, request, context)
    }

    /// Returns the command that resumes a session in Claude Code, or an error that says why that is impossible. `id` is
    /// the id of a session, or of a message or subagent in it.
    pub fn resume(&self, id: &str, fork: bool, context: &Context) -> Result<(ResumeCommand, Vec<Note>)> {
        let reader = self.local.reader()?;
        let target = conversation::resolve(&reader, id)?;
        let session = sessions::Session::find(&reader, &target.session)?;
        let notes = session.continued_in.iter().map(|next| Note::ContinuedIn { session: next.line() }).collect();
        resume::command(&session, fork, context).map(|command| (command, notes))
    }
}
