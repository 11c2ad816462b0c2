//! The state of the UI, and how events and answers change it. Questions and effects are collected and carried out by the
//! loop, so that the state can be tested without a terminal.

use std::sync::Arc;

use ratatui::layout::Rect;
use tui_input::Input;
use unspool::archive::conversation::{BlockSort, Piece};
use unspool::archive::request::{Filters, NamesRequest, ReadingRequest, SearchRequest, SessionsRequest, Sort};
use unspool::archive::search::{Hit, Suggestion};
use unspool::archive::{NameCount, Occurrences, OpenConversation};
use unspool::error::Result;
use unspool::render::Homes;
use unspool::render::blocks::{Detail, Layout};
use unspool::render::terminal::style::Screen;
use unspool::untrusted::one_line;

use crate::tui::file::FileView;
use crate::tui::keys::{KeyAction, Keys, Place};
use crate::tui::list::{Entry, completed};
use crate::tui::overlay::{Choice, Overlay};
use crate::tui::theme::Theme;
use crate::tui::viewer::{NextHit, Viewer};
use crate::tui::worker::{Answer, Ask};

/// Sessions that a search shows at first.
const FIRST_LIMIT: usize = 30;
/// Hits of each session in the list.
const PER_SESSION: usize = 3;
/// Queries that are remembered.
const REMEMBERED: usize = 500;

/// The sessions to search.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Scope {
    Here,
    Project,
    #[default]
    All,
}

/// The place of the preview.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum PreviewPlace {
    Auto,
    Below,
    Off,
}

/// Something to do outside the state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    Quit(u8),
    Print(String),
    Resume { id: String, fork: bool },
    Copy { what: String, text: String },
    CopyCommand(String),
    Edit { path: std::path::PathBuf, line: u64 },
    Export(String),
    Suspend,
    Check,
    Remember,
}

/// The part of a list that the next one keeps.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Keep {
    #[default]
    Nothing,
    /// The selected session.
    Selection,
    /// The selected session, on its row of the screen.
    Row,
}

/// The position to open a conversation at.
#[derive(Clone, Debug)]
pub(crate) enum OpenAt {
    Hit(Box<Hit>),
    Number(usize),
    Start,
    /// The first hit from a block on.
    Find(usize),
    /// The place of the same conversation that was open before.
    Same,
    /// The call that started a subagent.
    Sent {
        agent: String,
        time: Option<i64>,
    },
    End,
}

/// The pane that a conversation is opened in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Pane {
    Preview,
    Conversation,
    /// Another conversation above the current one.
    Above,
    /// The same conversation, read again.
    Again,
}

/// The settings that do not change.
pub(crate) struct Setup {
    pub(crate) keys: Keys,
    pub(crate) theme: Theme,
    pub(crate) screen: Screen,
    pub(crate) filters: Filters,
    pub(crate) reveal: bool,
    /// Set if the UI is to return a session, or a message if true.
    pub(crate) pick: Option<bool>,
}

/// The state of the UI.
pub(crate) struct App {
    pub(crate) setup: Setup,
    pub(crate) input: Input,
    pub(crate) scope: Scope,
    project: Option<String>,
    pub(crate) order: Sort,
    pub(crate) entries: Vec<Entry>,
    pub(crate) selected: usize,
    pub(crate) top: usize,
    limit: usize,
    /// Hits and sessions that were found, and the time it took.
    pub(crate) found: Option<(usize, usize, f64)>,
    pub(crate) notes: Vec<String>,
    pub(crate) suggestions: Vec<Suggestion>,
    pub(crate) query_error: Option<String>,
    pub(crate) names: Vec<NameCount>,
    pub(crate) preview: Option<Viewer>,
    pub(crate) preview_place: PreviewPlace,
    /// The open conversations, the newest last.
    pub(crate) open: Vec<Viewer>,
    pub(crate) file: Option<FileView>,
    pub(crate) overlay: Option<Overlay>,
    /// A sentence about the last action.
    pub(crate) status_line: Option<String>,
    pub(crate) freshness: String,
    /// The number of new messages that are not shown yet.
    news: Option<usize>,
    /// Set once a key was pressed or the first look for new messages has ended. From then on only keys change the list.
    is_settled: bool,
    /// Set if a key asked for new messages.
    wants_news: bool,
    /// The part of the list that the next one keeps.
    keep: Keep,
    pub(crate) follow: bool,
    find: Option<String>,
    detail: Detail,
    pub(crate) history: Vec<String>,
    history_at: Option<usize>,
    number: u64,
    searching: u64,
    /// Set while the answer to what was typed last is missing.
    is_searching: bool,
    /// Set if Enter was pressed before that answer came.
    enters: bool,
    opening: Option<(u64, Pane, OpenAt)>,
    /// Steps to further hits that were asked for while the next one was being opened. Negative ones go back.
    steps: isize,
    naming: u64,
    filing: u64,
    pub(crate) asks: Vec<(u64, Ask)>,
    pub(crate) effects: Vec<Effect>,
    /// The entry on each row of the list, and where the list and the conversation are.
    pub(crate) rows: Vec<usize>,
    /// Places to click on, and what a click there does.
    pub(crate) clicks: Vec<(Rect, KeyAction)>,
    pub(crate) list_area: Rect,
    pub(crate) view_area: Rect,
}

impl App {
    pub(crate) fn new(setup: Setup, query: String, history: Vec<String>) -> Self {
        let scope = if setup.filters.here { Scope::Here } else { Scope::All };
        let mut app = Self {
            setup,
            input: Input::new(query),
            scope,
            project: None,
            order: Sort::Relevance,
            entries: Vec::new(),
            selected: 0,
            top: 0,
            limit: FIRST_LIMIT,
            found: None,
            notes: Vec::new(),
            suggestions: Vec::new(),
            query_error: None,
            names: Vec::new(),
            preview: None,
            preview_place: PreviewPlace::Auto,
            open: Vec::new(),
            file: None,
            overlay: None,
            status_line: None,
            freshness: String::new(),
            news: None,
            is_settled: false,
            wants_news: false,
            keep: Keep::Nothing,
            follow: false,
            find: None,
            detail: Detail::Lines,
            history,
            history_at: None,
            number: 0,
            searching: 0,
            is_searching: false,
            enters: false,
            opening: None,
            steps: 0,
            naming: 0,
            filing: 0,
            asks: Vec::new(),
            effects: Vec::new(),
            rows: Vec::new(),
            clicks: Vec::new(),
            list_area: Rect::default(),
            view_area: Rect::default(),
        };
        app.search();
        app
    }

    pub(crate) fn place(&self) -> Place {
        match (&self.file, self.open.is_empty()) {
            (Some(_), _) => Place::File,
            (None, false) => Place::Conversation,
            (None, true) => Place::Search,
        }
    }

    fn ask(&mut self, ask: Ask) -> u64 {
        self.number += 1;
        self.asks.push((self.number, ask));
        self.number
    }

    /// Returns the filters of the request, with the scope.
    fn scoped(&self) -> Filters {
        let mut filters = Filters { here: self.scope == Scope::Here, ..self.setup.filters.clone() };
        if let (Scope::Project, Some(project)) = (self.scope, &self.project) {
            filters.project = vec![project.clone()];
        }
        filters
    }

    fn request(&self) -> SearchRequest {
        let text = self.find.clone().unwrap_or_else(|| self.input.value().to_string());
        SearchRequest {
            text: Some(text),
            filters: self.scoped(),
            limit: Some(self.limit),
            per_session: Some(PER_SESSION),
            sort: self.order,
            suggest: true,
            reveal: self.setup.reveal,
            ..SearchRequest::default()
        }
    }

    /// Asks for the sessions that match what is typed.
    pub(crate) fn search(&mut self) {
        self.find = None;
        self.keep = Keep::Nothing;
        let ask = if self.input.value().trim().is_empty() {
            let limit = Some(self.limit.max(200));
            Ask::Latest(Box::new(SessionsRequest { filters: self.scoped(), limit, ..SessionsRequest::default() }))
        } else {
            Ask::Search(Box::new(self.request()))
        };
        self.searching = self.ask(ask);
        (self.is_searching, self.enters) = (true, false);
        match completed(self.input.value()) {
            Some((field, typed)) => {
                let request = NamesRequest { field: field.into(), typed: typed.into(), limit: Some(8) };
                self.naming = self.ask(Ask::Names(request));
            }
            None => self.names.clear(),
        }
    }

    fn typed(&mut self) {
        self.limit = FIRST_LIMIT;
        self.history_at = None;
        self.search();
    }

    fn set_query(&mut self, query: String) {
        self.input = Input::new(query);
        self.typed();
    }

    /// Takes an answer. Older ones than the last question of their sort are dropped.
    pub(crate) fn take(&mut self, number: u64, answer: Answer) {
        if matches!(answer, Answer::Search(..) | Answer::Latest(_)) && number == self.searching {
            self.is_searching = false;
        }
        match answer {
            Answer::Search(found, elapsed) if number == self.searching => match found {
                Ok(found) => {
                    self.query_error = None;
                    self.found = Some((found.total_hits, found.total_sessions, elapsed.as_secs_f64() * 1000.0));
                    self.notes = found.notes.iter().map(|note| one_line(&note.to_string())).collect();
                    self.suggestions = found.suggestions;
                    self.list(found.sessions.into_iter().map(Entry::of_hits).collect());
                }
                Err(error) => {
                    self.enters = false;
                    self.query_error = Some(one_line(&error.to_string()));
                }
            },
            Answer::Latest(Ok(found)) if number == self.searching => {
                self.query_error = None;
                self.found = None;
                self.notes = found.notes.iter().map(|note| one_line(&note.to_string())).collect();
                self.suggestions.clear();
                self.list(found.sessions.iter().map(Entry::of_session).collect());
            }
            Answer::Latest(Err(error)) if number == self.searching => {
                self.notes = vec![one_line(&error.to_string())];
                self.list(Vec::new());
            }
            Answer::Open(opened) => self.take_open(number, opened),
            Answer::Names(names) if number == self.naming => self.take_names(names),
            Answer::File(answer) if number == self.filing => {
                if let Some(file) = &mut self.file {
                    file.take(answer);
                }
            }
            Answer::Fresh { is_done, new, text } => self.take_news(is_done, new, &text),
            _ => {}
        }
    }

    /// Shows completions, unless the name is complete.
    fn take_names(&mut self, names: Vec<NameCount>) {
        let typed = completed(self.input.value()).map(|(_, typed)| typed.to_lowercase());
        let is_complete = names.iter().any(|name| Some(name.name.line().to_lowercase()) == typed);
        self.names = if is_complete { Vec::new() } else { names };
    }
}

mod actions;
mod input;
mod news;
mod offers;
mod open;

pub(crate) use offers::Offer;
