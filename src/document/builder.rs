//! Builds documents from the events of a file: assigns the role and the kind, and matches results with their calls.

mod user;
mod assistant;

use std::borrow::Cow;
use std::collections::HashSet;

use crate::document::ansi;
use crate::document::clean;
use crate::document::tags::{self, Markup};
use crate::document::{Document, FileState, Kind, MessageKey, Role, TEXT_CAP, Totals, normal_path};
use crate::transcript::discover::SourceKind;
use crate::transcript::{AgentDescription, Block, Body, Event, ParsedRecord, TitleBy};
use user::{Speaker, beginning};

/// The number of lines without a document that are remembered, because later lines may name them as parent. Measured:
/// the distance is 1.
const PASSED_KEPT: usize = 16;
/// Maximum number of files recorded for one document. Any further ones are found only as words of the text.
const FILES_KEPT: usize = 1000;

/// The position of a record in its file.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Byte offset in the file.
    pub offset: u64,
    /// Line, counted from 1.
    pub line: u64,
}

/// The id given to a subagent whose id is missing.
const UNKNOWN_AGENT: &str = "unknown";

/// Access to the messages in subagents' own transcripts.
pub trait OwnTranscripts: std::fmt::Debug + Sync {
    /// Reports whether the transcript of a session's subagent contains a message.
    fn hold(&self, session: &str, agent: &str, uuid: &str) -> bool;
}

/// Folds the lines of one file into documents.
#[derive(Debug)]
pub struct Builder<'s> {
    kind: SourceKind,
    session: &'s str,
    agent: Option<&'s str>,
    /// The state so far; kept between runs.
    pub state: FileState,
    /// The subagents' own transcripts.
    agents: Option<&'s dyn OwnTranscripts>,
    /// Sessions erased with `unspool forget`.
    forgotten: Option<&'s HashSet<String>>,
    /// Finished documents that have not been handed out yet.
    out: Vec<Document>,
    /// The number of the next document within the current record.
    part: u32,
    /// Set if a prompt on the current line has been counted.
    counted: bool,
    /// The place in [`FileState::inline_agents`] of the subagent that wrote the current line.
    inline: Option<usize>,
}

impl<'s> Builder<'s> {
    /// Creates a builder that continues where `state` left off.
    pub fn new(kind: SourceKind, session: &'s str, agent: Option<&'s str>, state: FileState) -> Self {
        Self {
            kind,
            session,
            agent,
            state,
            agents: None,
            forgotten: None,
            out: Vec::new(),
            part: 0,
            counted: false,
            inline: None,
        }
    }

    /// Sets what to leave out: messages in a parent's file that the subagent's own transcript also contains, and
    /// everything of the `forgotten` sessions.
    #[must_use]
    pub fn knowing(mut self, agents: &'s dyn OwnTranscripts, forgotten: &'s HashSet<String>) -> Self {
        self.agents = Some(agents);
        self.forgotten = Some(forgotten);
        self
    }

    /// Processes one record, or a line that could not be read as one.
    pub fn take(&mut self, place: Place, reading: ParsedRecord<'_>) {
        (self.part, self.counted) = (0, false);
        match reading {
            ParsedRecord::Event(event) => self.event(place, *event),
            ParsedRecord::Bad { reason, text } => {
                self.state.bad += 1;
                let document = Document { kind: Kind::Bad, problem: Some(reason), ..Document::default() };
                self.push(place, document, &text);
            }
        }
    }

    /// Processes a line that was too long to read.
    pub fn oversized(&mut self, place: Place, length: u64, head: &[u8]) {
        self.part = 0;
        self.state.oversized += 1;
        let problem = Some(format!("line of {length} bytes is too long; only its start is kept"));
        let text = String::from_utf8_lossy(head);
        self.push(place, Document { kind: Kind::Oversized, problem, ..Document::default() }, &text);
    }

    /// Processes a piece of a plain-text file, which has no records.
    pub fn spilled(&mut self, offset: u64, part: u32, text: &str) {
        self.part = part;
        let document = Document { role: Role::Tool, kind: Kind::Output, ..Document::default() };
        self.push(Place { offset, line: 0 }, document, &clean::clean_result(None, text));
    }

    /// Processes the description file next to a subagent's transcript.
    pub fn describe(&mut self, description: AgentDescription) {
        self.state.description = description.description;
        self.state.agent_type = description.kind;
    }

    /// Returns the documents made since the last call.
    pub fn documents(&mut self) -> Vec<Document> {
        std::mem::take(&mut self.out)
    }

    /// The document that makes the session's title searchable. It is rebuilt whenever the state changes.
    pub fn title(&self) -> Option<Document> {
        let text = self.state.title().filter(|_| !self.is_forgotten(&self.blank().session))?.to_string();
        let role = if self.kind == SourceKind::Agent { Role::Subagent } else { Role::Assistant };
        Some(Document { role, kind: Kind::Title, timestamp: self.state.last, text, ..self.blank() })
    }

    /// The session id: given by the file name, or else by its lines.
    fn session(&self) -> String {
        let named = if self.session.is_empty() { self.state.session.as_deref().unwrap_or("") } else { self.session };
        named.to_string()
    }

    /// An empty document with the fields that apply to the whole file at this point.
    fn blank(&self) -> Document {
        Document {
            session: self.session(),
            agent: self.agent.map(str::to_string),
            project: self.state.project.clone(),
            cwd: self.state.cwd.clone(),
            branch: self.state.branch.clone(),
            ..Document::default()
        }
    }

    /// Processes one event.
    fn event(&mut self, place: Place, mut event: Event<'_>) {
        self.learn(&event);
        self.follow(place, &event);
        self.inline = self.inline_agent(&event);
        self.unknown_keys(place, &mut event);
        let body = std::mem::take(&mut event.body);
        match body {
            Body::User { blocks, origin, meta, compact, .. } => {
                let speaker = Speaker { origin: origin.as_deref(), meta, compact };
                self.user(place, &mut event, blocks, &speaker);
            }
            Body::Assistant { blocks, message, model, usage, error } => {
                let named = model.as_deref().filter(|model| *model != "<synthetic>");
                let counted = [usage.input, usage.cache_write, usage.cache_read, usage.output];
                self.totals().answer(message.as_deref(), named, counted);
                let base = Document {
                    message: message.as_deref().map(MessageKey::of),
                    model: model.map(Cow::into_owned).filter(|model| model != "<synthetic>"),
                    error,
                    ..self.base(&event)
                };
                let start = self.out.len();
                self.assistant(place, &event, &base, blocks);
                self.count(start, base, usage);
            }
            Body::System { subtype, text } => self.system(place, &event, subtype.as_deref(), &text),
            Body::Queued { text, origin } => self.queued(place, &event, &text, origin.as_deref()),
            Body::Attachment { kind, text, file } => {
                let files = file.map(|file| self.normal(&file)).into_iter().collect();
                let text = clean::clean_result(Some(&kind), &text);
                let tool = Some(kind.into_owned());
                self.push(place, Document { kind: Kind::Attachment, files, tool, ..self.base(&event) }, &text);
            }
            Body::Title { by, text } => {
                self.set_title(by, &text);
                if by == TitleBy::LastPrompt {
                    self.last_prompt(place, &event, &text);
                }
            }
            Body::Summary { text, leaf } => {
                self.state.summary = Some(beginning(&text));
                let base = Document {
                    role: Role::Assistant,
                    kind: Kind::Title,
                    title_leaf: leaf.map(Cow::into_owned),
                    ..self.base(&event)
                };
                self.push(place, base, &text);
            }
            Body::Link { url, text } => {
                let base = Document {
                    role: Role::Assistant,
                    kind: Kind::Link,
                    url: Some(url.to_string()),
                    ..self.base(&event)
                };
                self.push(place, base, &format!("{text} {url}"));
            }
            Body::Snapshot { files } if !files.is_empty() => {
                let text = files.join("\n");
                let files = files.iter().take(FILES_KEPT).map(|file| self.normal(file)).collect();
                self.push(place, Document { kind: Kind::Snapshot, files, ..self.base(&event) }, &text);
            }
            Body::Snapshot { .. } => self.pass(&event, "file-history-snapshot"),
            Body::Continued { session } => self.state.continued_in = Some(session.into_owned()),
            Body::Moved { cwd } => self.state.cwd = Some(cwd.into_owned()),
            Body::AgentMessage { agent, event: inner } => {
                self.remember(&event);
                self.agent_message(place, &event, agent, *inner);
            }
            Body::Silent(kind) => self.pass(&event, &kind),
            Body::Unknown { kind, text } => {
                self.state.unknown += 1;
                let tool = Some(kind.into_owned()).filter(|kind| !kind.is_empty());
                self.push(place, Document { kind: Kind::Unknown, tool, ..self.base(&event) }, &text);
            }
        }
    }

    /// Adds the text under unknown keys as a document of its own.
    fn unknown_keys(&mut self, place: Place, event: &mut Event<'_>) {
        let words = std::mem::take(&mut event.unknown);
        if !words.is_empty() {
            self.state.unknown += 1;
            self.push(place, Document { kind: Kind::Unknown, ..self.base(event) }, &words);
        }
    }

    /// Updates the state with the facts that a line contains about its session.
    fn learn(&mut self, event: &Event<'_>) {
        let state = &mut self.state;
        let update = |slot: &mut Option<String>, value: &Option<Cow<'_, str>>| {
            if let Some(value) = value
                && slot.as_deref() != Some(value)
            {
                *slot = Some(value.to_string());
            }
        };
        if state.session.is_none() {
            update(&mut state.session, &event.session);
        }
        if state.project.is_none() {
            update(&mut state.project, &event.cwd);
        }
        update(&mut state.cwd, &event.cwd);
        update(&mut state.branch, &event.branch);
        update(&mut state.entrypoint, &event.entrypoint);
        update(&mut state.version, &event.version);
        state.totals.background |= event.background;
        if let Some(time) = event.timestamp {
            state.totals.time(state.last, time);
            state.first = Some(state.first.map_or(time, |first| first.min(time)));
            state.last = Some(state.last.map_or(time, |last| last.max(time)));
            state.previous = Some(time);
        }
        if let Some((session, _)) = &event.copy_of {
            state.forked_from = Some(session.to_string());
        }
    }

    /// Follows the conversation of this file, for rewinds. A subagent's lines in its parent's file are a separate
    /// conversation and are skipped.
    fn follow(&mut self, place: Place, event: &Event<'_>) {
        let Some(uuid) = event.uuid.as_deref().filter(|_| !event.sidechain || self.kind == SourceKind::Agent) else {
            return;
        };
        let is_turn = match &event.body {
            Body::User { blocks, .. } => !blocks.iter().any(|block| matches!(block, Block::ToolResult { .. })),
            _ => false,
        };
        self.state.totals.follow(place.line, uuid, event.parent.as_deref(), is_turn);
    }

    /// Returns the subagent of a line whose messages are in this file and that has no file of its own.
    fn inline_agent(&mut self, event: &Event<'_>) -> Option<usize> {
        let is_inline = event.sidechain && event.agent.is_none() && self.kind == SourceKind::Session;
        let uuid = event.uuid.as_deref().filter(|_| is_inline)?;
        Some(self.state.inline_agents.follow(uuid, event.parent.as_deref(), event.timestamp))
    }

    /// The totals that the current line counts for: those of the file, or those of a subagent in it.
    fn totals(&mut self) -> &mut Totals {
        match self.inline.and_then(|place| self.state.inline_agents.agents.get_mut(place)) {
            Some(agent) => &mut agent.totals,
            None => &mut self.state.totals,
        }
    }

    /// An empty document with the fields that apply to the whole line.
    fn base(&self, event: &Event<'_>) -> Document {
        Document {
            uuid: event.uuid.as_ref().map(ToString::to_string),
            parent: self.ancestor(event.parent.as_deref()),
            agent: self.agent.or(event.agent.as_deref()).map(str::to_string),
            cwd: event.cwd.as_ref().map(ToString::to_string).or_else(|| self.state.cwd.clone()),
            branch: event.branch.as_ref().map(ToString::to_string).or_else(|| self.state.branch.clone()),
            // A line without a time was written at about the time of the previous line.
            timestamp: event.timestamp.or(self.state.previous),
            copied_from: event.copy_of.as_ref().map(|(_, message)| message.to_string()),
            ..self.blank()
        }
    }

    /// Returns the nearest line at or before `parent` that is a document.
    fn ancestor(&self, parent: Option<&str>) -> Option<String> {
        let parent = parent?;
        match self.state.passed.iter().rev().find(|(uuid, _)| uuid == parent) {
            Some((_, ancestor)) => ancestor.clone(),
            None => Some(parent.to_string()),
        }
    }

    /// Counts and remembers a line that makes no document.
    fn pass(&mut self, event: &Event<'_>, kind: &str) {
        *self.state.skipped_types.entry(kind.to_string()).or_default() += 1;
        self.remember(event);
    }

    /// Remembers the parent of a line that makes no document, so that later lines can be attached to that parent.
    fn remember(&mut self, event: &Event<'_>) {
        let Some(uuid) = &event.uuid else { return };
        let ancestor = self.ancestor(event.parent.as_deref());
        self.state.passed.push_back((uuid.to_string(), ancestor));
        if self.state.passed.len() > PASSED_KEPT {
            self.state.passed.pop_front();
        }
    }

    /// Processes a system line, which may contain commands and their output.
    fn system(&mut self, place: Place, event: &Event<'_>, subtype: Option<&str>, text: &str) {
        let text = ansi::strip_ansi(text);
        let mut rest: &str = &text;
        while !rest.trim().is_empty() {
            let whole_text = |role, kind| (role, kind, Cow::Borrowed(rest), "");
            let (role, kind, words, after) = match (subtype, tags::markup(rest)) {
                (Some("away_summary"), _) => whole_text(Role::Assistant, Kind::Recap),
                (Some("voice_call_talk"), _) => whole_text(self.voice(event), Kind::Prompt),
                (_, Some((Markup::Command, words, after))) => {
                    (self.voice(event), Kind::Command, Cow::Owned(words), after)
                }
                (_, Some((Markup::Output, words, after))) => (Role::Tool, Kind::Output, Cow::Owned(words), after),
                _ => whole_text(Role::Meta, Kind::Notice),
            };
            let tool = subtype.map(str::to_string);
            self.push(place, Document { role, kind, tool, ..self.base(event) }, &words);
            rest = after;
        }
    }

    /// Stores a title of the session. An empty one removes the title.
    fn set_title(&mut self, by: TitleBy, text: &str) {
        let slot = match by {
            TitleBy::User => &mut self.state.custom_title,
            TitleBy::Model => &mut self.state.ai_title,
            TitleBy::AgentName => &mut self.state.agent_name,
            TitleBy::LastPrompt => &mut self.state.last_prompt,
        };
        if slot.as_deref() != Some(text) {
            *slot = Some(text.to_string()).filter(|text| !text.is_empty());
        }
    }

    /// Processes a subagent's message in its parent's file. If the subagent's own transcript contains it, that is the
    /// better copy.
    fn agent_message<'e>(
        &mut self,
        place: Place,
        outer: &Event<'_>,
        agent: Option<Cow<'e, str>>,
        mut inner: Event<'e>,
    ) {
        let agent = agent.or(inner.agent.take()).unwrap_or(Cow::Borrowed(UNKNOWN_AGENT));
        let session = self.session();
        if !self.state.subagents_seen.contains(agent.as_ref()) {
            self.state.subagents_seen.insert(agent.to_string());
        }
        let lookup = self.agents.zip(inner.uuid.as_deref());
        let is_in_own_transcript = lookup.is_some_and(|(agents, uuid)| agents.hold(&session, &agent, uuid));
        // The message must not change the state: it is dropped once the subagent's own transcript appears, and a
        // subagent's prompt must not name this session. Only its open calls are kept, to match later results.
        let calls = std::mem::take(&mut self.state.calls);
        let saved_state = self.state.clone();
        self.state.calls = calls;
        inner.sidechain = true;
        inner.timestamp = inner.timestamp.or(outer.timestamp);
        inner.agent = Some(agent.clone());
        let start = self.out.len();
        match std::mem::take(&mut inner.body) {
            Body::User { blocks, origin, meta, compact, .. } => {
                self.user(place, &mut inner, blocks, &Speaker { origin: origin.as_deref(), meta, compact });
            }
            Body::Assistant { blocks, .. } => self.assistant(place, &inner, &self.base(&inner), blocks),
            _ => {}
        }
        let calls = std::mem::take(&mut self.state.calls);
        self.state = FileState { calls, ..saved_state };
        if is_in_own_transcript {
            self.out.truncate(start);
        }
        for document in &mut self.out[start..] {
            document.seen_via_agent = Some(agent.to_string());
        }
    }

    /// Reports whether a session was erased with `unspool forget`.
    ///
    /// Checked for each document, because the session of a subagent's file may be known only from its lines.
    fn is_forgotten(&self, session: &str) -> bool {
        self.forgotten.is_some_and(|forgotten| forgotten.contains(session))
    }

    /// Normalizes the path of a file in the current working directory.
    fn normal(&self, file: &str) -> String {
        normal_path(file, self.state.cwd.as_deref())
    }

    /// Adds a document, or several for a long text. Reports whether there was anything to add.
    fn push(&mut self, place: Place, mut document: Document, text: &str) -> bool {
        if self.is_forgotten(&document.session) {
            return true;
        }
        let is_problem = matches!(document.kind, Kind::Bad | Kind::Oversized);
        if text.trim().is_empty() && !is_problem {
            return false;
        }
        if document.session.is_empty() && self.kind != SourceKind::History {
            document.session = self.session();
        }
        let text = &clean::fold_base64(text);
        (document.offset, document.line) = (place.offset, place.line);
        document.timestamp = document.timestamp.or(self.state.previous);
        let pieces = clean::pieces(text, TEXT_CAP);
        if let Some((last, others)) = pieces.split_last() {
            for piece in others {
                self.push_piece(document.clone(), piece);
                // Only the first piece has the arguments.
                document.input = None;
                document.continued = true;
            }
            self.push_piece(document, last);
        }
        true
    }

    fn push_piece(&mut self, mut document: Document, text: &str) {
        document.text = text.to_string();
        document.has_input = document.input.is_some();
        document.part = self.part;
        self.out.push(document);
        self.part += 1;
        self.state.documents += 1;
    }
}

/// Joins adjacent text blocks: they are one message.
fn joined(blocks: Vec<Block<'_>>) -> Vec<Block<'_>> {
    let mut joined: Vec<Block<'_>> = Vec::with_capacity(blocks.len().min(16));
    for block in blocks {
        match (joined.last_mut(), block) {
            (Some(Block::Text(before)), Block::Text(text)) => {
                let before = before.to_mut();
                before.push('\n');
                before.push_str(&text);
            }
            (_, block) => joined.push(block),
        }
    }
    joined
}
