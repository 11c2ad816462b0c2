//! The [`Backend`] trait: answers requests. Today that is the embedded index; a remote engine could implement it too.

use crate::archive::conversation::ConversationAnswer;
use crate::archive::history::FileAnswer;
use crate::archive::outline::OutlineAnswer;
use crate::archive::request::{
    Context, ConversationRequest, FileRequest, OutlineRequest, SearchRequest, SessionsRequest,
};
use crate::archive::search::SearchAnswer;
use crate::archive::sessions::SessionsAnswer;
use crate::archive::status::Status;
use crate::error::Result;

/// Answers requests. No method needs the whole index in memory.
pub trait Backend: Send + Sync {
    /// Finds sessions and messages.
    fn search(&self, request: &SearchRequest, context: &Context) -> Result<SearchAnswer>;
    /// Lists sessions.
    fn sessions(&self, request: &SessionsRequest, context: &Context) -> Result<SessionsAnswer>;
    /// Opens a conversation.
    fn conversation(&self, request: &ConversationRequest, context: &Context) -> Result<ConversationAnswer>;
    /// Outlines a conversation.
    fn outline(&self, request: &OutlineRequest) -> Result<OutlineAnswer>;
    /// Answers a question about a file.
    fn file(&self, request: &FileRequest, context: &Context) -> Result<FileAnswer>;
    /// Reports the state of the index.
    fn status(&self) -> Result<Status>;
}
