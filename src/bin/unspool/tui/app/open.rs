//! Opens conversations: at a hit, at a place, and along the walk from hit to hit.

use super::*;
use unspool::archive::occurrences::HitPlace;

impl App {
    /// Opens the selected session, or shows it in the preview.
    pub(super) fn open_selected(&mut self, into: Pane) {
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

    pub(super) fn open_id(&mut self, id: String, into: Pane, at: OpenAt) {
        self.open(id, into, at, false);
    }

    /// Opens a conversation, with all its messages if `complete` is set.
    fn open(&mut self, id: String, into: Pane, at: OpenAt, complete: bool) {
        let search = (!self.request().text.unwrap_or_default().trim().is_empty()).then(|| Box::new(self.request()));
        let open = ReadingRequest { id, complete, reveal: self.setup.reveal };
        let number = self.ask(Ask::Open { open, search });
        self.opening = Some((number, into, at));
        self.steps = 0;
    }

    /// Reads the open conversation again.
    pub(super) fn read_again(&mut self, at: OpenAt) {
        if let Some(viewer) = self.open.last() {
            let (id, complete) = (viewer.reading.target.id().to_string(), viewer.reading.is_complete);
            self.open(id, Pane::Again, at, complete);
        }
    }

    /// Shows or hides the messages that are left out by default.
    pub(super) fn toggle_left_out(&mut self) {
        if let Some(viewer) = self.open.last() {
            let (id, complete) = (viewer.reading.target.id().to_string(), !viewer.reading.is_complete);
            self.status_line = Some(if complete { "nothing is left out now" } else { "folded again" }.to_string());
            self.open(id, Pane::Again, OpenAt::Same, complete);
        }
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

    pub(super) fn take_open(&mut self, number: u64, opened: Result<(Arc<OpenConversation>, Option<Arc<Occurrences>>)>) {
        let Some((_, into, at)) = self.opening.take_if(|(asked, ..)| *asked == number) else { return };
        let (reading, found) = match opened {
            Ok(opened) => opened,
            Err(error) => return self.cannot_open(into, &at, &one_line(&error.to_string())),
        };
        // A hit in a message that is left out by default.
        if let OpenAt::Hit(hit) = &at
            && !reading.is_complete
            && hit.kind.name() != "title"
            && reading.block_of(hit.line, hit.kind).is_none()
        {
            return self.open(reading.target.id().to_string(), into, at, true);
        }
        let layout = match (into, self.open.last()) {
            (Pane::Again | Pane::Above, Some(viewer)) => viewer.layout.clone(),
            _ => self.layout(usize::from(self.view_area.width.max(40)) - 2),
        };
        let mut viewer = Viewer::new(reading, found, layout, self.setup.theme);
        let is_step = matches!(at, OpenAt::Number(_));
        place(&mut viewer, at, self.open.last());
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

    /// Says why a conversation cannot be opened. A walk goes on after it.
    fn cannot_open(&mut self, into: Pane, at: &OpenAt, why: &str) {
        self.status_line = Some(why.to_string());
        let viewer = if into == Pane::Preview { self.preview.as_mut() } else { self.open.last_mut() };
        if let (OpenAt::Number(hit), Some(viewer)) = (at, viewer) {
            viewer.hit = Some(*hit);
        }
    }

    /// Walks to the next hit, also into another conversation of the session.
    pub(super) fn walk(&mut self, forward: bool, in_preview: bool) {
        if let Some((_, into, OpenAt::Number(_))) = &self.opening
            && (*into == Pane::Preview) == in_preview
        {
            self.steps += if forward { 1 } else { -1 };
            return;
        }
        let viewer = if in_preview { self.preview.as_mut() } else { self.open.last_mut() };
        let Some(viewer) = viewer else { return };
        let session = viewer.reading.target.session.clone();
        let (next, begins_again) = viewer.walk(forward);
        if begins_again {
            self.status_line = Some(format!("continued at the {} hit", if forward { "first" } else { "last" }));
        }
        match next {
            NextHit::Here => {}
            NextHit::Nowhere => self.status_line = Some("no hit here; / searches".to_string()),
            NextHit::Elsewhere { hit, agent, is_left_out } => {
                let into = if in_preview { Pane::Preview } else { Pane::Again };
                self.open(agent.unwrap_or(session), into, OpenAt::Number(hit), is_left_out);
            }
        }
    }

    /// Returns the preview, if it shows the selected session and not an earlier one.
    pub(super) fn current_preview(&self) -> Option<&Viewer> {
        let is_pending = self.opening.as_ref().is_some_and(|(_, into, _)| *into == Pane::Preview);
        let selected = self.entries.get(self.selected)?;
        self.preview.as_ref().filter(|viewer| !is_pending && viewer.reading.target.session == selected.id())
    }
}

/// Moves a new conversation to the place where it is to be opened. `old` is the conversation that was open before.
fn place(viewer: &mut Viewer, at: OpenAt, old: Option<&Viewer>) {
    match at {
        OpenAt::Hit(hit) => {
            let reading = viewer.reading.clone();
            let is_it = |place| matches!(place, HitPlace::Block(block) if reading.is_in(block, hit.line, hit.kind));
            if let Some(number) = viewer.hit_at(is_it) {
                viewer.show_hit(number);
            } else if let Some(block) = reading.block_of(hit.line, hit.kind) {
                viewer.show_block(block, 0);
            } else if let Some(title) = viewer.hit_at(|place| place == HitPlace::Title) {
                viewer.show_hit(title);
            } else {
                viewer.walk(true);
            }
        }
        OpenAt::Number(number) => viewer.show_hit(number),
        OpenAt::Find(from) => {
            let is_after = |place| matches!(place, HitPlace::Block(block) if block >= from);
            let first = viewer.hit_at(is_after).or_else(|| viewer.hit_at(|place| matches!(place, HitPlace::Block(_))));
            match first {
                Some(hit) => viewer.show_hit(hit),
                None => viewer.go_to(from.min(viewer.reading.blocks.len().saturating_sub(1))),
            }
        }
        OpenAt::Start => {
            if let Some(start) = viewer.reading.start {
                viewer.show_block(start, 0);
            }
        }
        OpenAt::Same => {
            let Some(old) = old else { return };
            viewer.continue_from(old);
            // Whoever is at the end wants to see what is new there.
            if old.is_at_end() && viewer.reading.blocks.len() > old.reading.blocks.len() {
                viewer.go_to_end();
            }
        }
        OpenAt::Sent { agent, time } => {
            let blocks = &viewer.reading.blocks;
            let number = viewer.reading.agents.iter().position(|other| other.id == agent);
            let call = blocks.iter().position(|block| block.sent.is_some() && block.sent == number);
            // Without a call that is known to have started it, the last thing that happened before it.
            let to = call.unwrap_or_else(|| viewer.reading.last_block_before(time));
            viewer.go_to(to);
        }
        OpenAt::End => {
            old.into_iter().for_each(|old| viewer.continue_from(old));
            viewer.go_to_end();
        }
    }
}
