//! A transcript as a conversation: in order, each tool call with its result, abandoned branches folded.
//!
//! The order and the folds are known before any text is read, so the first screen appears at once, however long the
//! session is. The rest is read while it is shown.

mod message;
mod piece;
mod target;
mod plan;
mod pieces;
mod open;
pub(crate) mod reading;

use std::sync::Arc;

use crate::archive::note::Note;
use crate::archive::request::{Context, ConversationRequest, Filters, SearchRequest};
use crate::archive::search::search;
use crate::archive::sessions::Session;
use crate::error::{Error, ErrorKind, Result};
use crate::index::Reader;
use crate::query::Query;
use crate::untrusted::Untrusted;
pub use message::Message;
pub(super) use open::places;
use open::{Conversation, Nested};
pub use piece::{Agent, Piece, Turn};
use plan::Scope;
pub use reading::{Block, BlockSort, BlockText, Extent, OpenConversation};
pub(crate) use target::resolve;
pub use target::{SHORTEST_ID, Target};

/// The answer to a request for a conversation. Its turns are read while they are shown, so the first screen appears at
/// once, however long the session is.
pub struct ConversationAnswer {
    /// The session.
    pub session: Session,
    /// The session, subagent and message that the request means.
    pub target: Target,
    /// The subagents, where the session has no transcript of its own.
    pub agents: Vec<Agent>,
    /// The words of the query, as the index knows them.
    pub marked: Vec<String>,
    /// Notes about the conversation.
    pub notes: Vec<Note>,
    /// The line of the message that was asked for.
    pub place: Option<u64>,
    /// The lines of all messages, in order. Results and reasoning do not count as messages.
    pub lines: Vec<u64>,
    /// The turns, in order.
    pub turns: Box<dyn Iterator<Item = Result<Turn>> + Send>,
}

impl std::fmt::Debug for ConversationAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConversationAnswer").field("target", &self.target).finish_non_exhaustive()
    }
}

/// Messages to show before the one that was asked for.
const BEFORE: usize = 10;

/// Opens a conversation.
pub(crate) fn answer(
    reader: &Arc<Reader>,
    request: &ConversationRequest,
    context: &Context,
) -> Result<ConversationAnswer> {
    let mut notes = Vec::new();
    let mut target = resolve(reader, &request.id)?;
    if let Some(around) = &request.around {
        let message = resolve(reader, around)?;
        target = Target { uuid: message.uuid, agent: message.agent, ..target };
    }
    let mut marked = Vec::new();
    if let Some(text) = &request.query {
        let query = Query::parse(text, &context.query_context())?;
        marked = query.terms().map(str::to_string).collect();
        match best_hit(reader, &target, text, context)? {
            Some(hit) => target = hit,
            None => notes.push(Note::NothingInSession { query: query.text }),
        }
    }
    let conversation = Conversation::open(reader, &target)?;
    let place = target.uuid.as_deref().map(|uuid| conversation.place_of(uuid)).transpose()?.flatten();
    if let Some(around) = request.around.as_ref().filter(|_| place.is_none()) {
        let what = format!("{around:?} is not a message of {:?}", request.id);
        return Err(Error::new(ErrorKind::Usage, what));
    }
    let (before, after) = request.context.map_or((BEFORE, 0), |around| (around.max(1), around.max(1)));
    let scope = Scope {
        meta: request.meta,
        abandoned: request.abandoned,
        inner: request.agents,
        before,
        after,
        from: request.from,
        reveal: request.reveal,
    };
    let lines = conversation.plan(scope).lines();
    let agents = if conversation.file.is_none() { conversation.agents().collect() } else { Vec::new() };
    let turns = Box::new(Nested::new(&conversation, place, scope));
    let session = Session::find(reader, &target.session)?;
    Ok(ConversationAnswer { session, target, agents, marked, notes, place, lines, turns })
}

/// Returns the message in a session that best matches a query.
fn best_hit(reader: &Reader, target: &Target, query: &str, context: &Context) -> Result<Option<Target>> {
    let request = SearchRequest {
        text: Some(query.to_string()),
        filters: Filters { session: vec![target.session.clone()], include_current: true, ..Filters::default() },
        limit: Some(50),
        messages: true,
        ..SearchRequest::default()
    };
    let found = search(reader, &request, context)?;
    let raw = |text: &Option<Untrusted>| text.as_ref().map(|text| text.raw().to_string());
    let hits = found.sessions.iter().flat_map(|session| &session.hits);
    let fits = |agent: &Option<String>| target.agent.is_none() || *agent == target.agent;
    let targets = hits.map(|hit| (raw(&hit.agent), raw(&hit.uuid)));
    let best = targets.into_iter().find(|(agent, uuid)| uuid.is_some() && fits(agent));
    Ok(best.map(|(agent, uuid)| Target { session: target.session.clone(), agent, uuid }))
}
