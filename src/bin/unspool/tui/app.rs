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
use crate::tui::list::{Entry, completed, filters};
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

/// Where the preview is.
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

/// The position to open a conversation at.
#[derive(Clone, Debug)]
pub(crate) enum OpenAt {
    Hit(Box<Hit>),
    Number(usize),
    Start,
    Block(usize),
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
    pub(crate) said: Option<String>,
    pub(crate) freshness: String,
    pub(crate) news: bool,
    pub(crate) follow: bool,
    /// Set to read messages abandoned by a rewind.
    abandoned: bool,
    find: Option<String>,
    detail: Detail,
    pub(crate) history: Vec<String>,
    history_at: Option<usize>,
    number: u64,
    searching: u64,
    opening: Option<(u64, Pane, OpenAt)>,
    /// Steps to further hits that were asked for while the next one was being opened. Negative ones go back.
    steps: isize,
    naming: u64,
    filing: u64,
    pub(crate) asks: Vec<(u64, Ask)>,
    pub(crate) effects: Vec<Effect>,
    /// The entry on each row of the list, and where the list and the conversation are.
    pub(crate) rows: Vec<usize>,
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
            said: None,
            freshness: String::new(),
            news: false,
            follow: false,
            abandoned: false,
            find: None,
            detail: Detail::Lines,
            history,
            history_at: None,
            number: 0,
            searching: 0,
            opening: None,
            steps: 0,
            naming: 0,
            filing: 0,
            asks: Vec::new(),
            effects: Vec::new(),
            rows: Vec::new(),
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
        let ask = if self.input.value().trim().is_empty() {
            let limit = Some(self.limit.max(200));
            Ask::Latest(Box::new(SessionsRequest { filters: self.scoped(), limit, ..SessionsRequest::default() }))
        } else {
            Ask::Search(Box::new(self.request()))
        };
        self.searching = self.ask(ask);
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

    /// Opens the selected session, or shows it in the preview.
    fn open_selected(&mut self, into: Pane) {
        let Some(entry) = self.entries.get(self.selected) else {
            self.preview = None;
            return;
        };
        let (id, at) = match entry.hits.first() {
            Some(hit) => {
                let agent = hit.agent.as_ref().map(|agent| agent.raw().to_string());
                (agent.unwrap_or_else(|| entry.id().to_string()), OpenAt::Hit(Box::new(hit.clone())))
            }
            None => (entry.id().to_string(), OpenAt::Start),
        };
        self.open_id(id, into, at);
    }

    fn open_id(&mut self, id: String, into: Pane, at: OpenAt) {
        let search = (!self.request().text.unwrap_or_default().trim().is_empty()).then(|| Box::new(self.request()));
        let open = ReadingRequest { id, meta: false, abandoned: self.abandoned, reveal: self.setup.reveal };
        let number = self.ask(Ask::Open { open, search });
        self.opening = Some((number, into, at));
        self.steps = 0;
    }

    fn layout(&self, width: usize) -> Layout {
        let homes = self.setup.screen.home.clone().into_iter().collect();
        Layout {
            width,
            tools: self.detail,
            thinking: false,
            meta: false,
            facts: false,
            unwrapped: false,
            homes: Homes(homes),
            screen: self.setup.screen.clone(),
        }
    }

    /// Takes an answer. Older ones than the last question of their sort are dropped.
    pub(crate) fn take(&mut self, number: u64, answer: Answer) {
        match answer {
            Answer::Search(found, elapsed) if number == self.searching => match found {
                Ok(found) => {
                    self.query_error = None;
                    self.found = Some((found.total_hits, found.total_sessions, elapsed.as_secs_f64() * 1000.0));
                    self.notes = found.notes.iter().map(|note| one_line(&note.to_string())).collect();
                    self.suggestions = found.suggestions;
                    self.list(found.sessions.into_iter().map(Entry::of_hits).collect());
                }
                Err(error) => self.query_error = Some(one_line(&error.to_string())),
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
            Answer::Fresh { is_done, changed, text } => self.take_news(is_done, changed, &text),
            _ => {}
        }
    }

    /// Shows a new list, and keeps the selected session if it is still there and more of the same list was asked for.
    fn list(&mut self, entries: Vec<Entry>) {
        let is_longer = entries.len() > self.entries.len()
            && self.entries.iter().zip(&entries).all(|(old, new)| old.id() == new.id());
        self.entries = entries;
        if !is_longer {
            self.selected = 0;
            self.top = 0;
        }
        self.preview = None;
        self.open_selected(Pane::Preview);
    }

    /// Shows completions, unless the name is complete.
    fn take_names(&mut self, names: Vec<NameCount>) {
        let typed = completed(self.input.value()).map(|(_, typed)| typed.to_lowercase());
        let is_complete = names.iter().any(|name| Some(name.name.line().to_lowercase()) == typed);
        self.names = if is_complete { Vec::new() } else { names };
    }

    fn take_open(&mut self, number: u64, opened: Result<(Arc<OpenConversation>, Option<Arc<Occurrences>>)>) {
        let Some((_, into, at)) = self.opening.take_if(|(asked, ..)| *asked == number) else { return };
        let (reading, found) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                self.said = Some(one_line(&error.to_string()));
                return;
            }
        };
        let layout = match (into, self.open.last()) {
            (Pane::Again | Pane::Above, Some(viewer)) => viewer.layout.clone(),
            _ => self.layout(usize::from(self.view_area.width.max(40)) - 2),
        };
        let mut viewer = Viewer::new(reading, found, layout, self.setup.theme);
        let is_step = matches!(at, OpenAt::Number(_));
        place(&mut viewer, at);
        match into {
            Pane::Preview => self.preview = Some(viewer),
            Pane::Conversation => self.open = vec![viewer],
            Pane::Above => self.open.push(viewer),
            Pane::Again => {
                self.open.pop();
                self.open.push(viewer);
            }
        }
        let steps = std::mem::take(&mut self.steps);
        for _ in 0..if is_step { steps.unsigned_abs() } else { 0 } {
            self.walk(steps > 0, into == Pane::Preview);
        }
    }

    fn take_news(&mut self, is_done: bool, changed: bool, text: &str) {
        self.freshness = one_line(text);
        if !changed {
            return;
        }
        let is_untouched = self.open.is_empty() && self.selected == 0 && self.overlay.is_none();
        if !is_done || self.entries.is_empty() || is_untouched && self.input.value().is_empty() {
            if self.open.is_empty() {
                self.search();
            }
        } else if self.follow && self.open.last().is_some_and(Viewer::is_at_end) {
            self.read_again(OpenAt::End);
        } else {
            self.news = true;
        }
    }

    fn read_again(&mut self, at: OpenAt) {
        if let Some(viewer) = self.open.last() {
            let target = &viewer.reading.target;
            let id = target.agent.clone().unwrap_or_else(|| target.session.clone());
            self.open_id(id, Pane::Again, at);
        }
    }

    fn select(&mut self, entry: usize) {
        let last = self.entries.len().saturating_sub(1);
        let entry = entry.min(last);
        if entry != self.selected {
            self.selected = entry;
            self.open_selected(Pane::Preview);
        }
        let is_more = self.found.is_some_and(|(_, sessions, _)| sessions > self.entries.len());
        if entry == last && is_more {
            self.limit *= 2;
            self.searching = {
                let request = self.request();
                self.ask(Ask::Search(Box::new(request)))
            };
        }
    }
}

/// Moves a new conversation to the place where it is to be opened.
fn place(viewer: &mut Viewer, at: OpenAt) {
    match at {
        OpenAt::Hit(hit) => {
            if let Some(block) = viewer.reading.block_of_line(hit.line, hit.kind) {
                let found = viewer.found.clone();
                let is_it =
                    |other: &unspool::archive::occurrences::Occurrence| other.block_in(&viewer.reading) == Some(block);
                viewer.hit = found.and_then(|found| found.hits.iter().position(is_it));
                viewer.show_block(block);
            }
            // A hit in a title has no block.
            if viewer.hit.is_none() && hit.kind.name() == "title" {
                viewer.show_first_hit();
            }
        }
        OpenAt::Number(number) => drop(viewer.show_hit(number)),
        OpenAt::Block(block) => {
            let found = viewer.found.clone();
            let is_after = |hit: &unspool::archive::occurrences::Occurrence| {
                hit.block_in(&viewer.reading).is_some_and(|at| at >= block)
            };
            match found.and_then(|found| found.hits.iter().position(is_after)) {
                Some(hit) => drop(viewer.show_hit(hit)),
                None => match viewer.walk(true) {
                    NextHit::Here(_) => {}
                    _ => viewer.go_to(block.min(viewer.reading.blocks.len().saturating_sub(1))),
                },
            }
        }
        OpenAt::Start => {
            if let Some(start) = viewer.reading.start {
                viewer.show_block(start);
            }
        }
        OpenAt::Sent { agent, time } => {
            let blocks = &viewer.reading.blocks;
            let number = viewer.reading.agents.iter().position(|other| other.id == agent);
            let call = blocks.iter().position(|block| block.sent.is_some() && block.sent == number);
            // Without a call that is known to have started it, the last thing that happened before it.
            let before = || blocks.iter().rposition(|block| block.time.is_some() && block.time <= time);
            let to = call.or_else(before).unwrap_or(0);
            viewer.go_to(to);
        }
        OpenAt::End => viewer.go_to_end(),
    }
}

mod actions;
mod input;
