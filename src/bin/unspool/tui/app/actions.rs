//! What each action of the key table does.

use super::*;
use unspool::archive::request::{FileQuestion, FileRequest};

impl App {
    /// Carries out an action.
    pub(crate) fn act(&mut self, what: KeyAction) {
        match what {
            KeyAction::Quit => self.effects.push(Effect::Quit(130)),
            KeyAction::Help => self.overlay = Some(Overlay::Help(0)),
            KeyAction::Suspend => self.effects.push(Effect::Suspend),
            KeyAction::Reload => self.reload(),
            _ => match self.place() {
                Place::Search => self.act_in_search(what),
                Place::Conversation => self.act_in_conversation(what),
                Place::File => self.act_in_file(what),
            },
        }
    }

    fn act_in_search(&mut self, what: KeyAction) {
        match what {
            KeyAction::Up => self.select(self.selected.saturating_sub(1)),
            KeyAction::Down => self.select(self.selected + 1),
            KeyAction::PageUp => self.select(self.selected.saturating_sub(5)),
            KeyAction::PageDown => self.select(self.selected + 5),
            KeyAction::Open => self.enter(),
            KeyAction::Back => self.clear_or_leave(),
            KeyAction::Scope if !self.names.is_empty() => self.complete(),
            KeyAction::Scope | KeyAction::ScopeBack => self.turn_scope(what == KeyAction::Scope),
            KeyAction::Order => {
                self.order = match self.order {
                    Sort::Relevance => Sort::Newest,
                    Sort::Newest => Sort::Oldest,
                    Sort::Oldest => Sort::Relevance,
                };
                self.search();
            }
            KeyAction::Filter => self.show_filters(),
            KeyAction::Mine => {
                let query = self.input.value();
                let query = match query.contains("role:human") {
                    true => query.replace("role:human", "").trim().to_string(),
                    false => format!("{} role:human", query.trim_end()),
                };
                self.set_query(query);
            }
            KeyAction::DropFilter => self.drop_last_filter(),
            KeyAction::Offer(number) => self.take_offer(number),
            KeyAction::Actions => self.show_menu(),
            KeyAction::Correct => self.correct(),
            KeyAction::Preview => {
                self.preview_place = match self.preview_place {
                    PreviewPlace::Auto => PreviewPlace::Below,
                    PreviewPlace::Below => PreviewPlace::Off,
                    PreviewPlace::Off => PreviewPlace::Auto,
                };
            }
            KeyAction::PreviewUp | KeyAction::PreviewDown => {
                if let Some(preview) = &mut self.preview {
                    preview.scroll(if what == KeyAction::PreviewUp { -3 } else { 3 });
                }
            }
            KeyAction::NextHit | KeyAction::PreviousHit => self.walk(what == KeyAction::NextHit, true),
            KeyAction::Earlier => self.recall(true),
            KeyAction::Later => self.recall(false),
            _ => self.act_on_session(what),
        }
    }

    fn clear_or_leave(&mut self) {
        if self.input.value().is_empty() {
            self.effects.push(Effect::Quit(if self.setup.pick.is_some() { 130 } else { 0 }));
        } else {
            self.set_query(String::new());
        }
    }

    /// Opens the selected session at the hit that the preview shows, or returns it.
    pub(super) fn enter(&mut self) {
        if self.is_searching {
            self.enters = true;
            return;
        }
        if self.setup.pick.is_some() {
            return self.print_id();
        }
        self.effects.push(Effect::Remember);
        let is_current = self.current_preview().is_some();
        match self.preview.take().filter(|_| is_current) {
            Some(preview) => self.open = vec![preview],
            None => self.open_selected(Pane::Conversation),
        }
    }

    fn print_id(&mut self) {
        let Some(entry) = self.entries.get(self.selected) else { return };
        let wants_message = self.setup.pick == Some(true);
        let message = entry.hits.first().and_then(|hit| hit.uuid.as_ref()).filter(|_| wants_message);
        let id = match (self.open.last().or(self.current_preview()), wants_message) {
            (Some(viewer), true) => message_id(viewer).unwrap_or_else(|| entry.id().to_string()),
            _ => message.map_or_else(|| entry.id().to_string(), |id| id.raw().to_string()),
        };
        self.effects.push(Effect::Print(id));
    }

    fn turn_scope(&mut self, forward: bool) {
        let project = self.entries.get(self.selected).map(|entry| entry.info.project.raw().to_string());
        self.scope = match (self.scope, forward) {
            (Scope::All, true) | (Scope::Project, false) => Scope::Here,
            (Scope::Here, true) | (Scope::All, false) => Scope::Project,
            _ => Scope::All,
        };
        if self.scope == Scope::Project && self.project.is_none() {
            self.project = project.filter(|project| !project.is_empty());
            if self.project.is_none() {
                self.scope = if forward { Scope::All } else { Scope::Here };
            }
        }
        if self.scope == Scope::All {
            self.project = None;
        }
        self.typed();
    }

    /// Replaces the last word of the query by the first completion.
    fn complete(&mut self) {
        let Some(name) = self.names.first().map(|name| name.name.line()) else { return };
        let query = self.input.value().to_string();
        let Some((_, typed)) = completed(&query) else { return };
        let name = if name.contains(' ') { format!("\"{name}\"") } else { name };
        let kept = query.len() - typed.len();
        self.set_query(format!("{}{name} ", &query[..kept]));
    }

    fn show_filters(&mut self) {
        let texts = [
            ("project:", "a project"),
            ("role:human", "only what I typed"),
            ("role:assistant", "only what Claude said"),
            ("kind:thinking", "only reasoning"),
            ("tool:Bash", "only commands and their output"),
            ("tool:Edit", "only changes of files"),
            ("tool:", "a tool"),
            ("file:", "a file"),
            ("branch:", "a git branch"),
            ("model:", "a model"),
            ("since:1d", "since yesterday"),
            ("since:7d", "in the last week"),
            ("since:30d", "in the last month"),
            ("until:", "not after a date"),
            ("is:error", "only failures"),
        ];
        let item = |(text, what): (&str, &str)| (format!("{text:<16} {what}"), Choice::Add(text.to_string()));
        let items = texts.into_iter().map(item).collect();
        self.overlay = Some(Overlay::List { title: "Add a filter".to_string(), items, at: 0 });
    }

    fn recall(&mut self, earlier: bool) {
        let at = match (self.history_at, earlier) {
            (None, true) => 0,
            (Some(at), true) => at + 1,
            (Some(at), false) => at.saturating_sub(1),
            (None, false) => return,
        };
        if let Some(query) = self.history.iter().rev().nth(at).cloned() {
            self.set_query(query);
            self.history_at = Some(at);
        }
    }

    fn act_in_conversation(&mut self, what: KeyAction) {
        let Some(viewer) = self.open.last_mut() else { return };
        let page = isize::try_from(self.view_area.height.max(2)).unwrap_or(20) - 1;
        match what {
            KeyAction::Down => viewer.scroll(1),
            KeyAction::Up => viewer.scroll(-1),
            KeyAction::HalfDown => viewer.scroll(page / 2),
            KeyAction::HalfUp => viewer.scroll(-page / 2),
            KeyAction::PageDown => viewer.scroll(page),
            KeyAction::PageUp => viewer.scroll(-page),
            KeyAction::Top => viewer.go_to_top(),
            KeyAction::End => viewer.go_to_end(),
            KeyAction::NextPrompt | KeyAction::PreviousPrompt => {
                viewer.jump(what == KeyAction::NextPrompt, |sort| sort == BlockSort::Prompt);
            }
            KeyAction::NextBlock | KeyAction::PreviousBlock => {
                viewer.jump(what == KeyAction::NextBlock, |_| true);
            }
            KeyAction::Fold => match viewer.foldable() {
                Some(block) => self.fold(block),
                None => self.status_line = Some("nothing to fold here".to_string()),
            },
            KeyAction::Whole => viewer.read_whole(),
            KeyAction::Tools => {
                self.detail = match viewer.layout.tools {
                    Detail::None => Detail::Lines,
                    Detail::Lines => Detail::Full,
                    Detail::Full => Detail::None,
                };
                let tools = self.detail;
                viewer.set_layout(|layout| layout.tools = tools);
            }
            KeyAction::Thinking => viewer.set_layout(|layout| layout.thinking = !layout.thinking),
            KeyAction::Meta => viewer.set_layout(|layout| layout.meta = !layout.meta),
            KeyAction::Facts => viewer.set_layout(|layout| layout.facts = !layout.facts),
            KeyAction::Wrap => viewer.set_layout(|layout| layout.unwrapped = !layout.unwrapped),
            KeyAction::Left => viewer.sideways(-8),
            KeyAction::Right => viewer.sideways(8),
            KeyAction::NextHit | KeyAction::PreviousHit => self.walk(what == KeyAction::NextHit, false),
            KeyAction::Back => {
                self.open.pop();
                if self.open.is_empty() {
                    self.find = None;
                    self.follow = false;
                    self.open_selected(Pane::Preview);
                }
            }
            KeyAction::Find => {
                let query = self.find.clone().unwrap_or_else(|| self.input.value().to_string());
                self.overlay = Some(Overlay::Find(Input::new(query)));
            }
            _ => self.go_elsewhere(what),
        }
    }

    /// Folds or unfolds a block.
    pub(super) fn fold(&mut self, block: usize) {
        let Some(viewer) = self.open.last_mut() else { return };
        if viewer.is_left_out(block) {
            self.toggle_left_out();
        } else if viewer.can_fold(block) {
            viewer.fold(block);
        }
    }

    /// Carries out an action that leads to another conversation or screen.
    fn go_elsewhere(&mut self, what: KeyAction) {
        let Some(viewer) = self.open.last() else { return };
        let session = viewer.reading.target.session.clone();
        match what {
            KeyAction::Outline => {
                let (current, prompts) = (viewer.current(), viewer.outline());
                let at = prompts.iter().rposition(|(block, _)| *block <= current).unwrap_or(0);
                let items = prompts.into_iter().map(|(block, text)| (text, Choice::Block(block))).collect();
                self.overlay = Some(Overlay::List { title: "Prompts".to_string(), items, at });
            }
            KeyAction::Agents if viewer.reading.session.agents.is_empty() => {
                self.status_line = Some("this session has no subagents".to_string());
            }
            KeyAction::Agents => {
                let item = |agent: &unspool::archive::sessions::SubAgent| {
                    let text = format!("{} · {} tool calls", agent.title.line(), agent.tool_uses);
                    (text, Choice::Agent(agent.id.raw().to_string()))
                };
                let items = viewer.reading.session.agents.iter().map(item).collect();
                self.overlay = Some(Overlay::List { title: "Subagents".to_string(), items, at: 0 });
            }
            KeyAction::Parent => match viewer.reading.target.agent.clone() {
                Some(agent) => {
                    let time = viewer.reading.blocks.iter().find_map(|block| block.time);
                    self.open_id(session, Pane::Again, OpenAt::Sent { agent, time });
                }
                None => self.status_line = Some("this is the main conversation".to_string()),
            },
            KeyAction::LeftOut => self.toggle_left_out(),
            KeyAction::Follow => {
                self.follow = !self.follow;
                let state =
                    if self.follow { "following; new messages appear at the end" } else { "no longer following" };
                self.status_line = Some(state.to_string());
                if self.follow {
                    self.effects.push(Effect::Check);
                    self.read_again(OpenAt::End);
                }
            }
            KeyAction::NextSession | KeyAction::PreviousSession => {
                let to =
                    if what == KeyAction::NextSession { self.selected + 1 } else { self.selected.saturating_sub(1) };
                if to < self.entries.len() && to != self.selected {
                    self.selected = to;
                    self.open_selected(Pane::Conversation);
                }
            }
            KeyAction::File => self.open_file(),
            _ => self.act_on_session(what),
        }
    }

    fn open_file(&mut self) {
        let Some(viewer) = self.open.last() else { return };
        let files = match viewer.text(viewer.current()).map(|text| text.piece) {
            Some(Piece::ToolCall { call, .. }) => call.files,
            Some(Piece::Message(message)) => message.files,
            _ => Vec::new(),
        };
        match files.first() {
            Some(path) => self.show_file(path.raw().to_string()),
            None => self.status_line = Some("no file here; move to a call that reads or changes one".to_string()),
        }
    }

    fn show_file(&mut self, path: String) {
        self.file = Some(FileView::new(path.clone(), self.setup.theme, self.setup.screen.clone()));
        let question = FileQuestion::Actions { reads: false, mentions: false, unconfirmed: false, diff: true };
        self.ask_file(path, question);
    }

    fn ask_file(&mut self, path: String, question: FileQuestion) {
        let request = FileRequest { path, question, filters: Filters::default(), reveal: self.setup.reveal };
        self.filing = self.ask(Ask::File(Box::new(request)));
    }

    fn act_in_file(&mut self, what: KeyAction) {
        let page = isize::try_from(self.view_area.height.max(2)).unwrap_or(20) - 1;
        let Some(file) = &mut self.file else { return };
        match what {
            KeyAction::Down => file.step(1),
            KeyAction::Up => file.step(-1),
            KeyAction::PageDown => file.step(page),
            KeyAction::PageUp => file.step(-page),
            KeyAction::Top => file.step(isize::MIN / 2),
            KeyAction::End => file.step(isize::MAX / 2),
            KeyAction::Back => self.file = None,
            KeyAction::Versions => {
                let path = file.path.clone();
                self.ask_file(path, FileQuestion::Versions);
            }
            KeyAction::Blame => {
                let path = file.path.clone();
                match fs_err::read_to_string(&path) {
                    Ok(contents) => self.ask_file(path, FileQuestion::Blame { contents }),
                    Err(error) => self.status_line = Some(one_line(&error.to_string())),
                }
            }
            KeyAction::CopyCommand => match file.command() {
                Some(text) => self.effects.push(Effect::Copy { what: "the command".to_string(), text }),
                None => self.status_line = Some("no version here; v lists them".to_string()),
            },
            KeyAction::Open => {
                if let Some(id) = file.target() {
                    self.file = None;
                    self.open_id(id, Pane::Above, OpenAt::Start);
                }
            }
            _ => {}
        }
    }

    /// Carries out an action on the selected session, or on the one that is open.
    fn act_on_session(&mut self, what: KeyAction) {
        let open = self.open.last().map(|viewer| viewer.reading.target.session.clone());
        let Some(id) = open.or_else(|| self.entries.get(self.selected).map(|entry| entry.id().to_string())) else {
            return;
        };
        let viewer = self.open.last();
        let copied = |what: &str, text: String| Effect::Copy { what: what.to_string(), text };
        let effect = match what {
            KeyAction::Resume => Effect::Resume { id, fork: false },
            KeyAction::Fork => Effect::Resume { id, fork: true },
            KeyAction::CopyCommand => Effect::CopyCommand(id),
            KeyAction::CopyId => match viewer.and_then(message_id) {
                Some(id) => copied("the id of the message", id),
                None => copied("the id", id),
            },
            KeyAction::CopyMessage | KeyAction::CopyMarkdown => {
                let Some(text) = viewer.and_then(|viewer| copied_text(viewer, what == KeyAction::CopyMarkdown)) else {
                    return;
                };
                copied(if what == KeyAction::CopyMarkdown { "the message as Markdown" } else { "the message" }, text)
            }
            KeyAction::PrintId => return self.print_id(),
            KeyAction::Export => Effect::Export(id),
            KeyAction::Edit => {
                let Some(viewer) = viewer else { return };
                let line = viewer.reading.blocks.get(viewer.current()).map_or(1, |block| block.line);
                Effect::Edit { path: viewer.reading.session.path.clone(), line }
            }
            _ => return,
        };
        self.effects.push(effect);
    }

    /// Adds the query to the remembered ones.
    pub(crate) fn remember(&mut self) {
        let query = self.input.value().trim().to_string();
        if !query.is_empty() {
            self.history.retain(|other| *other != query);
            self.history.push(query);
            let more = self.history.len().saturating_sub(REMEMBERED);
            self.history.drain(..more);
        }
    }
}

/// Returns the id of the current message.
fn message_id(viewer: &Viewer) -> Option<String> {
    match viewer.text(viewer.current())?.piece {
        Piece::Message(message) => message.uuid,
        Piece::ToolCall { call, .. } => call.uuid,
        _ => None,
    }
}

/// Returns the text of the current message, as plain text or as Markdown.
fn copied_text(viewer: &Viewer, as_markdown: bool) -> Option<String> {
    let fence = |text: &str| if as_markdown { format!("```\n{}\n```", text.trim_end()) } else { text.to_string() };
    match viewer.text(viewer.current())?.piece {
        Piece::Message(message) if as_markdown => Some(format!("**{}**\n\n{}\n", message.role.name(), message.text)),
        Piece::Message(message) => Some(message.text),
        Piece::ToolCall { call, result, .. } => {
            let result = result.map(|result| fence(&result.text)).unwrap_or_default();
            Some(format!("{}\n\n{result}", fence(&call.text)))
        }
        _ => None,
    }
}
