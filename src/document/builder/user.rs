//! Builds documents from user lines and queued prompts. Such a line may contain a prompt, a command, command output,
//! or text inserted by Claude Code; this file decides which, and who wrote it.

use std::borrow::Cow;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::document::builder::{Builder, Place, joined};
use crate::document::clean;
use crate::document::tags::{self, BESIDE, Markup, Parted};
use crate::document::{Document, Kind, Role, TEXT_CAP};
use crate::redact::redact;
use crate::transcript::discover::SourceKind;
use crate::transcript::{Block, Event};

/// Texts longer than this, in bytes, are cleaned piece by piece.
const HUGE: usize = 4 << 20;
/// The number of characters of a prompt that are kept as a name for its session.
const PROMPT_KEPT: usize = 200;
/// The number of bytes of a prompt that are searched for secrets: enough for the longest secret that begins in the
/// kept part.
const PROMPT_SEEN: usize = 32 << 10;
/// The number of prompts remembered by their beginnings. Measured: `last-prompt` usually repeats one of the last 4.
const RECENT_PROMPTS_KEPT: usize = 32;
/// The number of characters, without white space, that identify the beginning of a prompt. Claude Code cuts it at 200
/// characters, including white space.
const BEGINNING: usize = 100;

/// The fields of a user line that show who sent it.
pub(super) struct Speaker<'a> {
    pub(super) origin: Option<&'a str>,
    pub(super) meta: bool,
    pub(super) compact: bool,
}

/// The first message in a text, with its role and kind.
struct Message<'t> {
    role: Role,
    kind: Kind,
    words: Cow<'t, str>,
    /// The text after it, which is another message.
    rest: &'t str,
}

/// Hash of a text in a session. Ignores white space at both ends.
pub(super) fn text_hash(session: &str, words: &str) -> u64 {
    xxh3_64_with_seed(words.trim().as_bytes(), xxh3_64_with_seed(session.as_bytes(), 0))
}

/// Returns the beginning of a prompt, for use as a title. Secrets are redacted before it is cut, as for all titles:
/// half a secret no longer matches any rule.
pub(super) fn beginning(words: &str) -> String {
    let seen = &words[..words.floor_char_boundary(PROMPT_SEEN)];
    redact(seen).split_whitespace().collect::<Vec<_>>().join(" ").chars().take(PROMPT_KEPT).collect()
}

/// Hash of the beginning of a prompt. Ignores white space and the position at which the prompt was cut.
fn beginning_hash(words: &str) -> u64 {
    let seen = &words[..words.floor_char_boundary(PROMPT_SEEN)];
    let letters = seen.chars().filter(|c| !c.is_whitespace() && *c != '…');
    xxh3_64(letters.take(BEGINNING).collect::<String>().as_bytes())
}

impl Builder<'_> {
    /// Processes a user line.
    pub(super) fn user(&mut self, place: Place, event: &mut Event<'_>, blocks: Vec<Block<'_>>, speaker: &Speaker<'_>) {
        let mut made_document = false;
        if blocks.iter().filter(|block| matches!(block, Block::ToolResult { .. })).count() > 1 {
            // With several results, it is unknown to which one the record belongs.
            event.trace = None;
        }
        let event = &*event;
        for block in joined(blocks) {
            made_document |= match block {
                // Cleaning copies the text. Cleaning a huge text in pieces avoids three copies of it in memory.
                Block::Text(text) if text.len() > HUGE => clean::pieces(&text, TEXT_CAP)
                    .into_iter()
                    .fold(false, |made, piece| self.user_text(place, event, piece, speaker) | made),
                Block::Text(text) => self.user_text(place, event, &text, speaker),
                other => self.block(place, event, &self.base(event), other),
            };
        }
        if !made_document {
            self.pass(event, "user/empty");
        }
    }

    /// Processes a text block of a user line. Reports whether it adds a document.
    fn user_text(&mut self, place: Place, event: &Event<'_>, text: &str, speaker: &Speaker<'_>) -> bool {
        let Parted { words, beside } = tags::parted(text, &BESIDE);
        let clean = clean::clean_prompt(words);
        let mut rest: &str = &clean;
        let mut made_document = false;
        while !rest.trim().is_empty() {
            let message = self.classify(event, rest, speaker);
            made_document |= self.message(place, event, &message, rest);
            rest = message.rest;
        }
        let base = self.base(event);
        beside.into_iter().fold(made_document, |made, block| self.add_inserted_block(place, base.clone(), block) | made)
    }

    /// Adds a document for a message. `text` is the original text, with its tags.
    fn message(&mut self, place: Place, event: &Event<'_>, message: &Message<'_>, text: &str) -> bool {
        if message.words.trim().is_empty() {
            // Nothing but tags: not a message, but kept as a notice so that nothing is lost.
            let base = Document { role: Role::Meta, kind: Kind::Notice, ..self.base(event) };
            return self.push(place, base, text[..text.len() - message.rest.len()].trim());
        }
        let mut document = Document { role: message.role, kind: message.kind, ..self.base(event) };
        if message.kind == Kind::Prompt {
            self.record_prompt(&mut document, &message.words);
        }
        if message.kind == Kind::Command {
            self.remember_beginning(&message.words);
            self.state.first_command.get_or_insert_with(|| beginning(&message.words));
        }
        let made_document = self.push(place, document, &message.words);
        let announced = tags::announced(text).filter(|_| message.kind == Kind::Command);
        announced.map_or(made_document, |words| {
            let base = Document { role: Role::Meta, kind: Kind::Notice, ..self.base(event) };
            self.push(place, base, words) | made_document
        })
    }

    /// Adds a document for a block that Claude Code put before or after a prompt: a reminder, or the file open or
    /// selected in the editor. The queue repeats these blocks, so they get a text hash to detect duplicates.
    fn add_inserted_block(&mut self, place: Place, base: Document, (tag, text): (&str, &str)) -> bool {
        let text = clean::clean_prompt(text);
        let document = match tag {
            tags::REMINDER => Document { role: Role::Meta, kind: Kind::Notice, ..base },
            _ => Document {
                role: Role::Meta,
                kind: Kind::Attachment,
                tool: Some(tag.to_string()),
                files: tags::named_file(&text).map(|file| self.normal(file)).into_iter().collect(),
                ..base
            },
        };
        let text_hash = Some(text_hash(&document.session, &text));
        self.push(place, Document { text_hash, ..document }, &text)
    }

    /// Splits off the first message of a text in a user line, and determines its role and kind.
    fn classify<'t>(&self, event: &Event<'_>, text: &'t str, speaker: &Speaker<'_>) -> Message<'t> {
        let whole_text = |role, kind| Message { role, kind, words: Cow::Borrowed(text), rest: "" };
        let is_summary =
            speaker.compact || text.starts_with("This session is being continued from a previous conversation");
        if is_summary {
            return whole_text(Role::Assistant, Kind::Compaction);
        }
        let voice = self.voice(event);
        if let Some((markup, words, rest)) = tags::markup(text) {
            let (role, kind) = match markup {
                Markup::Command => (voice, Kind::Command),
                Markup::Output => (Role::Tool, Kind::Output),
                Markup::Peer => (Role::Subagent, Kind::Prompt),
                Markup::Machine => (Role::Meta, Kind::Notice),
            };
            return Message { role, kind, words: Cow::Owned(words), rest };
        }
        let is_warmup = self.kind == SourceKind::Agent && text.trim() == "Warmup";
        if speaker.meta || is_warmup {
            return whole_text(Role::Meta, Kind::Notice);
        }
        let role = match speaker.origin {
            None | Some("human" | "voice-call") => voice,
            Some("peer" | "coordinator") => Role::Subagent,
            Some(_) => Role::Meta,
        };
        whole_text(role, if role == Role::Meta { Kind::Notice } else { Kind::Prompt })
    }

    /// The role of a prompt typed on this line.
    pub(super) fn voice(&self, event: &Event<'_>) -> Role {
        if self.kind == SourceKind::Agent || event.sidechain {
            return Role::Subagent;
        }
        match event.entrypoint.as_deref().or(self.state.entrypoint.as_deref()) {
            Some(entrypoint) if entrypoint.starts_with("sdk-") => Role::Programmatic,
            _ => Role::Human,
        }
    }

    /// Counts a prompt, and sets the hash of its document.
    fn record_prompt(&mut self, document: &mut Document, words: &str) {
        let hash = text_hash(&document.session, words);
        document.text_hash = Some(hash);
        if self.kind == SourceKind::Agent && !self.state.prompted {
            document.is_duplicate = true;
            self.state.totals.sent_by = Some(hash);
        }
        self.state.prompted = true;
        if let Some(agent) = self.inline.and_then(|place| self.state.inline_agents.agents.get_mut(place))
            && agent.title.is_empty()
        {
            agent.title = beginning(words);
        }
        if !std::mem::replace(&mut self.counted, true) {
            if document.role == Role::Human {
                self.state.totals.prompt(hash);
            }
            self.state.prompts += u64::from(matches!(document.role, Role::Human | Role::Programmatic));
        }
        self.remember_beginning(words);
        self.state.first_prompt.get_or_insert_with(|| beginning(words));
    }

    /// Remembers the beginning of a prompt, because `last-prompt` lines repeat it.
    fn remember_beginning(&mut self, words: &str) {
        let hash = beginning_hash(words);
        if !self.state.recent_prompts.contains(&hash) {
            self.state.recent_prompts.push_back(hash);
        }
        if self.state.recent_prompts.len() > RECENT_PROMPTS_KEPT {
            self.state.recent_prompts.pop_front();
        }
    }

    /// Processes a `last-prompt` line: the beginning of a prompt, which Claude Code uses in place of a title. It
    /// usually repeats a prompt of this file, but it may be the only remaining copy.
    pub(super) fn last_prompt(&mut self, place: Place, event: &Event<'_>, text: &str) {
        if self.state.recent_prompts.contains(&beginning_hash(text)) {
            return self.pass(event, "last-prompt");
        }
        self.remember_beginning(text);
        let text_hash = Some(text_hash(&self.session(), text));
        let document =
            Document { role: self.voice(event), kind: Kind::Queued, is_duplicate: true, text_hash, ..self.base(event) };
        self.push(place, document, &clean::clean_prompt(text));
    }

    /// Processes a prompt from the queue or the prompt history: often a copy, sometimes the only one.
    pub(super) fn queued(&mut self, place: Place, event: &Event<'_>, text: &str, origin: Option<&str>) {
        let speaker = Speaker { origin, meta: false, compact: false };
        let Parted { words, beside } = tags::parted(text, &BESIDE);
        let mut base = Document { is_duplicate: true, ..self.base(event) };
        if self.kind == SourceKind::History {
            base.session = event.session.as_ref().map(ToString::to_string).unwrap_or_default();
            base.project.clone_from(&base.cwd);
        }
        let clean = clean::clean_prompt(words);
        let mut rest: &str = &clean;
        let mut made_document = false;
        while !rest.trim().is_empty() {
            let message = self.classify(event, rest, &speaker);
            made_document |= self.queued_message(place, base.clone(), &message);
            rest = message.rest;
        }
        made_document = beside
            .into_iter()
            .fold(made_document, |made, block| self.add_inserted_block(place, base.clone(), block) | made);
        if !made_document {
            self.pass(event, "queue/empty");
        }
    }

    /// Adds a document for a message from the queue or the prompt history.
    fn queued_message(&mut self, place: Place, base: Document, message: &Message<'_>) -> bool {
        let kind = match message.kind {
            _ if self.kind == SourceKind::History => Kind::History,
            Kind::Prompt if is_slash_command(&message.words) => Kind::Command,
            Kind::Prompt => Kind::Queued,
            other => other,
        };
        let hash = text_hash(&base.session, &message.words);
        if kind == Kind::Queued {
            self.remember_beginning(&message.words);
        }
        if kind == Kind::Queued && message.role == Role::Human {
            self.state.totals.queued(hash);
        }
        self.push(place, Document { role: message.role, kind, text_hash: Some(hash), ..base }, &message.words)
    }
}

/// Reports whether a queued text is only a slash command such as `/clear`, and not a path.
fn is_slash_command(text: &str) -> bool {
    let name = text.trim().strip_prefix('/').unwrap_or_default();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':');
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_name)
}
