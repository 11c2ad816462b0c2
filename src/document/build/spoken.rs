//! What people say, and all else that stands in user lines: who speaks, and what it is.

use std::borrow::Cow;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{Builder, Place, joined};
use crate::discover::SourceKind;
use crate::document::words::{self, Markup};
use crate::document::{Document, Kind, Role, TEXT_CAP};
use crate::event::{Block, Event};
use crate::redact::redact;

/// Texts longer than this are cleaned piece by piece.
const HUGE: usize = 4 << 20;
/// How much of a prompt is kept to name a session after.
const PROMPT_KEPT: usize = 200;
/// How much of it is looked at for secrets, in bytes: as long as the longest that begins in what is kept.
const PROMPT_SEEN: usize = 32 << 10;

/// What a user line says about who sent it.
pub(super) struct Speaker<'a> {
    pub(super) origin: Option<&'a str>,
    pub(super) meta: bool,
    pub(super) compact: bool,
}

/// Fingerprint of words said in a session, blind to white space at the ends.
pub(super) fn twin(session: &str, words: &str) -> u64 {
    xxh3_64_with_seed(words.trim().as_bytes(), xxh3_64_with_seed(session.as_bytes(), 0))
}

/// The first line or so of a prompt. Secrets are masked before it is cut, as for all that stands in for a title: half a
/// secret looks like none.
pub(super) fn beginning(words: &str) -> String {
    let seen = &words[..words.floor_char_boundary(PROMPT_SEEN)];
    redact(seen).split_whitespace().collect::<Vec<_>>().join(" ").chars().take(PROMPT_KEPT).collect()
}

impl Builder<'_> {
    pub(super) fn user(&mut self, place: Place, event: &mut Event<'_>, blocks: Vec<Block<'_>>, speaker: &Speaker<'_>) {
        let mut made = false;
        if blocks.iter().filter(|block| matches!(block, Block::ToolResult { .. })).count() > 1 {
            // Of several answers nobody can say whose record it is.
            event.trace = None;
        }
        let event = &*event;
        for block in joined(blocks) {
            made |= match block {
                // Cleaning copies; a huge text is cleaned piece by piece, so that it is never there three times.
                Block::Text(text) if text.len() > HUGE => words::pieces(&text, TEXT_CAP)
                    .into_iter()
                    .fold(false, |made, piece| self.user_text(place, event, piece, speaker) | made),
                Block::Text(text) => self.user_text(place, event, &text, speaker),
                other => self.block(place, event, &self.base(event), other),
            };
        }
        if !made {
            self.pass(event, "user/empty");
        }
    }

    fn user_text(&mut self, place: Place, event: &Event<'_>, text: &str, speaker: &Speaker<'_>) -> bool {
        let prompt = words::clean_prompt(text);
        let (role, kind, words) = self.classify(event, &prompt, speaker);
        if words.trim().is_empty() {
            // Nothing but a reminder: not what anybody said, yet not to be lost.
            let base = Document { role: Role::Meta, kind: Kind::Notice, ..self.base(event) };
            return self.push(place, base, text);
        }
        let mut document = Document { role, kind, ..self.base(event) };
        if kind == Kind::Prompt {
            self.note_prompt(&mut document, &words);
        }
        if kind == Kind::Command && self.state.first_command.is_none() {
            self.state.first_command = Some(beginning(&words));
        }
        self.push(place, document, &words)
    }

    /// Tells a person's words from all else that stands in user lines.
    fn classify<'t>(&self, event: &Event<'_>, text: &'t str, speaker: &Speaker<'_>) -> (Role, Kind, Cow<'t, str>) {
        let is_summary =
            speaker.compact || text.starts_with("This session is being continued from a previous conversation");
        if is_summary {
            return (Role::Assistant, Kind::Compaction, Cow::Borrowed(text));
        }
        let voice = self.voice(event);
        match words::markup(text) {
            Some((Markup::Command, words)) => return (voice, Kind::Command, Cow::Owned(words)),
            Some((Markup::Output, words)) => return (Role::Tool, Kind::Output, Cow::Owned(words)),
            Some((Markup::Peer, words)) => return (Role::Subagent, Kind::Prompt, Cow::Owned(words)),
            Some((Markup::Machine, words)) => return (Role::Meta, Kind::Notice, Cow::Owned(words)),
            None => {}
        }
        let is_warmup = self.kind == SourceKind::Agent && text.trim() == "Warmup";
        if speaker.meta || is_warmup {
            return (Role::Meta, Kind::Notice, Cow::Borrowed(text));
        }
        let role = match speaker.origin {
            None | Some("human" | "voice-call") => voice,
            Some("peer" | "coordinator") => Role::Subagent,
            Some(_) => Role::Meta,
        };
        let kind = if role == Role::Meta { Kind::Notice } else { Kind::Prompt };
        (role, kind, Cow::Borrowed(text))
    }

    /// Who types in this file.
    pub(super) fn voice(&self, event: &Event<'_>) -> Role {
        if self.kind == SourceKind::Agent || event.sidechain {
            return Role::Subagent;
        }
        match event.entrypoint.as_deref().or(self.state.entrypoint.as_deref()) {
            Some(entrypoint) if entrypoint.starts_with("sdk-") => Role::Programmatic,
            _ => Role::Human,
        }
    }

    fn note_prompt(&mut self, document: &mut Document, words: &str) {
        let print = twin(&document.session, words);
        document.twin = Some(print);
        if self.kind == SourceKind::Agent && !self.state.prompted {
            document.echo = true;
            self.state.tally.sent_by = Some(print);
        }
        if document.role == Role::Human {
            self.state.tally.prompt(print);
        }
        self.state.prompted = true;
        self.state.prompts += u64::from(matches!(document.role, Role::Human | Role::Programmatic));
        if self.state.first_prompt.is_none() {
            self.state.first_prompt = Some(beginning(words));
        }
    }

    /// A prompt that came through the queue, or stands in the history: often a copy, sometimes the only one.
    pub(super) fn queued(&mut self, place: Place, event: &Event<'_>, text: &str, origin: Option<&str>) {
        let speaker = Speaker { origin, meta: false, compact: false };
        let prompt = words::clean_prompt(text);
        let (role, kind, words) = self.classify(event, &prompt, &speaker);
        let is_history = self.kind == SourceKind::History;
        let kind = match kind {
            _ if is_history => Kind::History,
            Kind::Prompt => Kind::Queued,
            other => other,
        };
        let mut document = Document { role, kind, echo: true, ..self.base(event) };
        if is_history {
            document.session = event.session.as_ref().map(ToString::to_string).unwrap_or_default();
            if self.forgotten.is_some_and(|forgotten| forgotten.contains(&document.session)) {
                return;
            }
            document.project.clone_from(&document.cwd);
        }
        let print = twin(&document.session, &words);
        document.twin = Some(print);
        if document.kind == Kind::Queued && document.role == Role::Human && !words.trim().is_empty() {
            self.state.tally.queued(print);
        }
        if !self.push(place, document, &words) {
            self.pass(event, "queue/empty");
        }
    }
}
