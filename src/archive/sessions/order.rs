//! The orders of the list of sessions.

use crate::archive::request::Order;
use crate::archive::sessions::Session;

/// Sorts sessions. Equal ones keep their order.
pub(super) fn sort(sessions: &mut [Session], order: Order) {
    let most_first = |number: u64| std::cmp::Reverse(number);
    match order {
        Order::Newest => sessions.sort_by_key(|session| std::cmp::Reverse(session.last)),
        Order::Started => sessions.sort_by_key(|session| std::cmp::Reverse(session.first)),
        Order::Length => sessions.sort_by_key(|session| std::cmp::Reverse(session.length_ms)),
        Order::Prompts => sessions.sort_by_key(|session| most_first(session.prompts)),
        Order::Messages => sessions.sort_by_key(|session| most_first(session.messages)),
        Order::Tools => sessions.sort_by_key(|session| most_first(session.tool_uses)),
        Order::Files => sessions.sort_by_key(|session| most_first(session.files_changed as u64)),
        Order::Agents => sessions.sort_by_key(|session| most_first(session.agents.len() as u64)),
        Order::Tokens => sessions.sort_by_key(|session| most_first(session.all_tokens())),
        Order::Size => sessions.sort_by_key(|session| most_first(session.size)),
        Order::Title => sessions.sort_by_key(|session| session.title.raw().to_lowercase()),
        Order::Project => sessions.sort_by_key(|session| session.project.raw().to_lowercase()),
    }
}
