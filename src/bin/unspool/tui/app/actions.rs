//! What each action of the key table does.

use super::*;
use unspool::archive::request::{FileQuestion, FileRequest};

impl App {
    /// Carries out an action.
    pub(crate) fn act(&mut self, what: Do) {
        match what {
            Do::Quit => self.effects.push(Effect::Quit(130)),
            Do::Help => self.overlay = Some(Overlay::Help(0)),
            Do::Suspend => self.effects.push(Effect::Suspend),
            Do::Reload => self.reload(),
            _ => match self.place() {
                Place::Search => self.act_in_search(what),
                Place::Conversation => self.act_in_conversation(what),
                Place::File => self.act_in_file(what),
            },
        }
    }

    fn reload(&mut self) {
        self.effects.push(Effect::Check);
        self.news = false;
        match self.open.last() {
            Some(viewer) => {
                let at = if viewer.is_at_end() { At::End } else { At::Block(viewer.current()) };
                self.read_again(at);
            }
            None => self.search(),
        }
    }

    fn act_in_search(&mut self, what: Do) {
        match what {
            Do::Up => self.select(self.selected.saturating_sub(1)),
            Do::Down => self.select(self.selected + 1),
            Do::PageUp => self.select(self.selected.saturating_sub(5)),
            Do::PageDown => self.select(self.selected + 5),
            Do::Open => self.enter(),
            Do::Back => self.clear_or_leave(),
            Do::Scope if !self.names.is_empty() => self.complete(),
            Do::Scope | Do::ScopeBack => self.turn_scope(what == Do::Scope),
            Do::Order => {
                self.order = match self.order {
                    Sort::Relevance => Sort::Newest,
                    Sort::Newest => Sort::Oldest,
                    Sort::Oldest => Sort::Relevance,
                };
                self.search();
            }
            Do::Filter => self.show_filters(),
            Do::Mine => {
                let query = self.input.value();
                let query = match query.contains("role:human") {
                    true => query.replace("role:human", "").trim().to_string(),
                    false => format!("{} role:human", query.trim_end()),
                };
                self.set_query(query);
            }
            Do::DropFilter => {
                let query = self.input.value().to_string();
                if let Some(range) = filters(&query).pop() {
                    let kept = format!("{}{}", &query[..range.start], &query[range.end..]);
                    self.set_query(kept.split_whitespace().collect::<Vec<_>>().join(" "));
                }
            }
            Do::Correct => self.correct(),
            Do::Preview => {
                self.preview_place = match self.preview_place {
                    PreviewPlace::Auto => PreviewPlace::Below,
                    PreviewPlace::Below => PreviewPlace::Off,
                    PreviewPlace::Off => PreviewPlace::Auto,
                };
            }
            Do::PreviewUp | Do::PreviewDown => {
                if let Some(preview) = &mut self.preview {
                    preview.scroll(if what == Do::PreviewUp { -3 } else { 3 });
                }
            }
            Do::NextHit | Do::PreviousHit => self.walk(what == Do::NextHit, true),
            Do::Earlier => self.recall(true),
            Do::Later => self.recall(false),
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
    fn enter(&mut self) {
        if self.setup.pick.is_some() {
            return self.print_id();
        }
        self.effects.push(Effect::Remember);
        match self.preview.take() {
            Some(preview) => self.open = vec![preview],
            None => self.open_selected(Into::Conversation),
        }
    }

    fn print_id(&mut self) {
        let Some(entry) = self.entries.get(self.selected) else { return };
        let wants_message = self.setup.pick == Some(true);
        let message = entry.hits.first().and_then(|hit| hit.uuid.as_ref()).filter(|_| wants_message);
        let id = match (self.open.last().or(self.preview.as_ref()), wants_message) {
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

    /// Takes the first suggestion.
    fn correct(&mut self) {
        let Some(query) = self.suggestions.iter().find_map(|suggestion| suggestion.query.clone()) else {
            self.said = Some("there is no suggestion".to_string());
            return;
        };
        self.set_query(query);
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

    /// Walks to the next hit, also into another conversation of the session.
    pub(super) fn walk(&mut self, forward: bool, in_preview: bool) {
        if let Some((_, into, At::Number(_))) = &self.opening
            && (*into == Into::Preview) == in_preview
        {
            self.steps += if forward { 1 } else { -1 };
            return;
        }
        let viewer = if in_preview { self.preview.as_mut() } else { self.open.last_mut() };
        let Some(viewer) = viewer else { return };
        let session = viewer.reading.target.session.clone();
        match viewer.walk(forward) {
            Way::Here(true) => self.said = Some("the walk begins again".to_string()),
            Way::Here(false) => {}
            Way::Nowhere => self.said = Some("no hit here; / searches".to_string()),
            Way::Elsewhere(number, agent) => {
                let into = if in_preview { Into::Preview } else { Into::Again };
                self.open_id(agent.unwrap_or(session), into, At::Number(number));
            }
        }
    }

    fn act_in_conversation(&mut self, what: Do) {
        let Some(viewer) = self.open.last_mut() else { return };
        let page = isize::try_from(self.view_area.height.max(2)).unwrap_or(20) - 1;
        match what {
            Do::Down => viewer.scroll(1),
            Do::Up => viewer.scroll(-1),
            Do::HalfDown => viewer.scroll(page / 2),
            Do::HalfUp => viewer.scroll(-page / 2),
            Do::PageDown => viewer.scroll(page),
            Do::PageUp => viewer.scroll(-page),
            Do::Top => viewer.go_to_top(),
            Do::End => viewer.go_to_end(),
            Do::NextPrompt | Do::PreviousPrompt => {
                viewer.jump(what == Do::NextPrompt, |sort| sort == BlockSort::Prompt);
            }
            Do::NextBlock | Do::PreviousBlock => {
                viewer.jump(what == Do::NextBlock, |_| true);
            }
            Do::Fold => match viewer.foldable() {
                Some(block) => viewer.fold(block),
                None => self.said = Some("nothing to fold here".to_string()),
            },
            Do::Whole => viewer.read_whole(),
            Do::Tools => {
                self.detail = match viewer.layout.tools {
                    Detail::None => Detail::Lines,
                    Detail::Lines => Detail::Full,
                    Detail::Full => Detail::None,
                };
                let tools = self.detail;
                viewer.set_layout(|layout| layout.tools = tools);
            }
            Do::Thinking => viewer.set_layout(|layout| layout.thinking = !layout.thinking),
            Do::Meta => viewer.set_layout(|layout| layout.meta = !layout.meta),
            Do::Facts => viewer.set_layout(|layout| layout.facts = !layout.facts),
            Do::Wrap => viewer.set_layout(|layout| layout.unwrapped = !layout.unwrapped),
            Do::Left => viewer.sideways(-8),
            Do::Right => viewer.sideways(8),
            Do::NextHit | Do::PreviousHit => self.walk(what == Do::NextHit, false),
            Do::Back => {
                self.open.pop();
                if self.open.is_empty() {
                    self.find = None;
                    self.follow = false;
                    self.open_selected(Into::Preview);
                }
            }
            Do::Find => {
                let query = self.find.clone().unwrap_or_else(|| self.input.value().to_string());
                self.overlay = Some(Overlay::Find(Input::new(query)));
            }
            _ => self.go_elsewhere(what),
        }
    }

    /// Carries out an action that leads to another conversation or screen.
    fn go_elsewhere(&mut self, what: Do) {
        let Some(viewer) = self.open.last() else { return };
        let session = viewer.reading.target.session.clone();
        match what {
            Do::Outline => {
                let (current, prompts) = (viewer.current(), viewer.outline());
                let at = prompts.iter().rposition(|(block, _)| *block <= current).unwrap_or(0);
                let items = prompts.into_iter().map(|(block, text)| (text, Choice::Block(block))).collect();
                self.overlay = Some(Overlay::List { title: "Prompts".to_string(), items, at });
            }
            Do::Agents if viewer.reading.session.agents.is_empty() => {
                self.said = Some("this session has no subagents".to_string());
            }
            Do::Agents => {
                let item = |agent: &unspool::archive::sessions::SubAgent| {
                    let text = format!("{} · {} tool calls", agent.title.line(), agent.tool_uses);
                    (text, Choice::Agent(agent.id.raw().to_string()))
                };
                let items = viewer.reading.session.agents.iter().map(item).collect();
                self.overlay = Some(Overlay::List { title: "Subagents".to_string(), items, at: 0 });
            }
            Do::Parent => match viewer.reading.target.agent.clone() {
                Some(agent) => {
                    let time = viewer.reading.blocks.iter().find_map(|block| block.time);
                    self.open_id(session, Into::Again, At::Sent { agent, time });
                }
                None => self.said = Some("this is the main conversation".to_string()),
            },
            Do::Abandoned => {
                self.abandoned = !self.abandoned;
                let at = At::Block(viewer.current());
                self.read_again(at);
            }
            Do::Follow => {
                self.follow = !self.follow;
                let state =
                    if self.follow { "following; new messages appear at the end" } else { "no longer following" };
                self.said = Some(state.to_string());
                if self.follow {
                    self.effects.push(Effect::Check);
                    self.read_again(At::End);
                }
            }
            Do::NextSession | Do::PreviousSession => {
                let to = if what == Do::NextSession { self.selected + 1 } else { self.selected.saturating_sub(1) };
                if to < self.entries.len() && to != self.selected {
                    self.selected = to;
                    self.open_selected(Into::Conversation);
                }
            }
            Do::File => self.open_file(),
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
            None => self.said = Some("no file here; move to a call that reads or changes one".to_string()),
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

    fn act_in_file(&mut self, what: Do) {
        let page = isize::try_from(self.view_area.height.max(2)).unwrap_or(20) - 1;
        let Some(file) = &mut self.file else { return };
        match what {
            Do::Down => file.scroll(1),
            Do::Up => file.scroll(-1),
            Do::PageDown => file.scroll(page),
            Do::PageUp => file.scroll(-page),
            Do::Top => file.scroll(isize::MIN / 2),
            Do::End => file.scroll(isize::MAX / 2),
            Do::Back => self.file = None,
            Do::Versions => {
                let path = file.path.clone();
                self.ask_file(path, FileQuestion::Versions);
            }
            Do::Blame => {
                let path = file.path.clone();
                match fs_err::read_to_string(&path) {
                    Ok(contents) => self.ask_file(path, FileQuestion::Blame { contents }),
                    Err(error) => self.said = Some(one_line(&error.to_string())),
                }
            }
            Do::Open => {
                if let Some(id) = file.target() {
                    self.file = None;
                    self.open_id(id, Into::Above, At::Start);
                }
            }
            _ => {}
        }
    }

    /// Carries out an action on the selected session, or on the one that is open.
    fn act_on_session(&mut self, what: Do) {
        let open = self.open.last().map(|viewer| viewer.reading.target.session.clone());
        let Some(id) = open.or_else(|| self.entries.get(self.selected).map(|entry| entry.id().to_string())) else {
            return;
        };
        let viewer = self.open.last();
        let copied = |what: &str, text: String| Effect::Copy { what: what.to_string(), text };
        let effect = match what {
            Do::Resume => Effect::Resume { id, fork: false },
            Do::Fork => Effect::Resume { id, fork: true },
            Do::CopyCommand => Effect::CopyCommand(id),
            Do::CopyId => match viewer.and_then(message_id) {
                Some(id) => copied("the id of the message", id),
                None => copied("the id", id),
            },
            Do::CopyMessage | Do::CopyMarkdown => {
                let Some(text) = viewer.and_then(|viewer| copied_text(viewer, what == Do::CopyMarkdown)) else {
                    return;
                };
                copied(if what == Do::CopyMarkdown { "the message as Markdown" } else { "the message" }, text)
            }
            Do::PrintId => return self.print_id(),
            Do::Export => Effect::Export(id),
            Do::Edit => {
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
