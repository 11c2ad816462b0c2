//! What people say, and all else that stands in user lines: who speaks, and what it is.

use std::borrow::Cow;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::document::builder::{Builder, Place, joined};
use crate::document::clean;
use crate::document::tags::{self, BESIDE, Markup, Parted};
use crate::document::{Document, Kind, Role, TEXT_CAP};
use crate::redact::redact;
use crate::transcript::discover::SourceKind;
use crate::transcript::{Block, Event};

/// Texts longer than this are cleaned piece by piece.
const HUGE: usize = 4 << 20;
/// How much of a prompt is kept to name a session after.
const PROMPT_KEPT: usize = 200;
/// How much of it is looked at for secrets, in bytes: as long as the longest that begins in what is kept.
const PROMPT_SEEN: usize = 32 << 10;
/// How many prompts are remembered by their beginnings. Measured: `last-prompt` repeats one of the last 4, as a rule.
const SAID_KEPT: usize = 32;
/// How many letters tell the beginning of a prompt. Claude Code cuts it at 200 characters, white space included.
const BEGINNING: usize = 100;

/// What a user line says about who sent it.
pub(super) struct Speaker<'a> {
    pub(super) origin: Option<&'a str>,
    pub(super) meta: bool,
    pub(super) compact: bool,
}

/// What was said, by whom, and the text behind it, which is something else.
struct Said<'t> {
    role: Role,
    kind: Kind,
    words: Cow<'t, str>,
    rest: &'t str,
}

/// Fingerprint of words said in a session, blind to white space at the ends.
pub(super) fn text_hash(session: &str, words: &str) -> u64 {
    xxh3_64_with_seed(words.trim().as_bytes(), xxh3_64_with_seed(session.as_bytes(), 0))
}

/// The first line or so of a prompt. Secrets are masked before it is cut, as for all that stands in for a title: half a
/// secret looks like none.
pub(super) fn beginning(words: &str) -> String {
    let seen = &words[..words.floor_char_boundary(PROMPT_SEEN)];
    redact(seen).split_whitespace().collect::<Vec<_>>().join(" ").chars().take(PROMPT_KEPT).collect()
}

/// Fingerprint of the beginning of a prompt, blind to white space, and to where it was cut.
fn beginning_print(words: &str) -> u64 {
    let seen = &words[..words.floor_char_boundary(PROMPT_SEEN)];
    let letters = seen.chars().filter(|c| !c.is_whitespace() && *c != '…');
    xxh3_64(letters.take(BEGINNING).collect::<String>().as_bytes())
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
                Block::Text(text) if text.len() > HUGE => clean::pieces(&text, TEXT_CAP)
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
        let Parted { words, beside } = tags::parted(text, &BESIDE);
        let clean = clean::clean_prompt(words);
        let mut rest: &str = &clean;
        let mut made = false;
        while !rest.trim().is_empty() {
            let said = self.classify(event, rest, speaker);
            made |= self.said(place, event, &said, rest);
            rest = said.rest;
        }
        let base = self.base(event);
        beside.into_iter().fold(made, |made, block| self.beside(place, base.clone(), block) | made)
    }

    /// Takes in what was said; `text` is that with its tags.
    fn said(&mut self, place: Place, event: &Event<'_>, said: &Said<'_>, text: &str) -> bool {
        if said.words.trim().is_empty() {
            // Nothing but tags: not what anybody said, yet not to be lost.
            let base = Document { role: Role::Meta, kind: Kind::Notice, ..self.base(event) };
            return self.push(place, base, text[..text.len() - said.rest.len()].trim());
        }
        let mut document = Document { role: said.role, kind: said.kind, ..self.base(event) };
        if said.kind == Kind::Prompt {
            self.note_prompt(&mut document, &said.words);
        }
        if said.kind == Kind::Command {
            self.note_said(&said.words);
            self.state.first_command.get_or_insert_with(|| beginning(&said.words));
        }
        let made = self.push(place, document, &said.words);
        let announced = tags::announced(text).filter(|_| said.kind == Kind::Command);
        announced.map_or(made, |words| {
            let base = Document { role: Role::Meta, kind: Kind::Notice, ..self.base(event) };
            self.push(place, base, words) | made
        })
    }

    /// Takes in what Claude Code put beside a prompt: a reminder, or what was open or selected in the editor. The queue
    /// has it too, so that it is told by its words.
    fn beside(&mut self, place: Place, base: Document, (tag, text): (&str, &str)) -> bool {
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

    /// Tells a person's words from all else that stands in user lines.
    fn classify<'t>(&self, event: &Event<'_>, text: &'t str, speaker: &Speaker<'_>) -> Said<'t> {
        let all = |role, kind| Said { role, kind, words: Cow::Borrowed(text), rest: "" };
        let is_summary =
            speaker.compact || text.starts_with("This session is being continued from a previous conversation");
        if is_summary {
            return all(Role::Assistant, Kind::Compaction);
        }
        let voice = self.voice(event);
        if let Some((markup, words, rest)) = tags::markup(text) {
            let (role, kind) = match markup {
                Markup::Command => (voice, Kind::Command),
                Markup::Output => (Role::Tool, Kind::Output),
                Markup::Peer => (Role::Subagent, Kind::Prompt),
                Markup::Machine => (Role::Meta, Kind::Notice),
            };
            return Said { role, kind, words: Cow::Owned(words), rest };
        }
        let is_warmup = self.kind == SourceKind::Agent && text.trim() == "Warmup";
        if speaker.meta || is_warmup {
            return all(Role::Meta, Kind::Notice);
        }
        let role = match speaker.origin {
            None | Some("human" | "voice-call") => voice,
            Some("peer" | "coordinator") => Role::Subagent,
            Some(_) => Role::Meta,
        };
        all(role, if role == Role::Meta { Kind::Notice } else { Kind::Prompt })
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
        let print = text_hash(&document.session, words);
        document.text_hash = Some(print);
        if self.kind == SourceKind::Agent && !self.state.prompted {
            document.is_duplicate = true;
            self.state.tally.sent_by = Some(print);
        }
        self.state.prompted = true;
        if !std::mem::replace(&mut self.counted, true) {
            if document.role == Role::Human {
                self.state.tally.prompt(print);
            }
            self.state.prompts += u64::from(matches!(document.role, Role::Human | Role::Programmatic));
        }
        self.note_said(words);
        self.state.first_prompt.get_or_insert_with(|| beginning(words));
    }

    /// Remembers how a prompt begins, for `last-prompt`, which repeats it.
    fn note_said(&mut self, words: &str) {
        let print = beginning_print(words);
        if !self.state.said.contains(&print) {
            self.state.said.push_back(print);
        }
        if self.state.said.len() > SAID_KEPT {
            self.state.said.pop_front();
        }
    }

    /// The prompt that Claude Code keeps as a stand-in for a title: the beginning of one that was made, as a rule in
    /// this file, but it may be the only one that is left.
    pub(super) fn last_prompt(&mut self, place: Place, event: &Event<'_>, text: &str) {
        if self.state.said.contains(&beginning_print(text)) {
            return self.pass(event, "last-prompt");
        }
        self.note_said(text);
        let text_hash = Some(text_hash(&self.session(), text));
        let document =
            Document { role: self.voice(event), kind: Kind::Queued, is_duplicate: true, text_hash, ..self.base(event) };
        self.push(place, document, &clean::clean_prompt(text));
    }

    /// A prompt that came through the queue, or stands in the history: often a copy, sometimes the only one.
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
        let mut made = false;
        while !rest.trim().is_empty() {
            let said = self.classify(event, rest, &speaker);
            made |= self.waited(place, base.clone(), &said);
            rest = said.rest;
        }
        made = beside.into_iter().fold(made, |made, block| self.beside(place, base.clone(), block) | made);
        if !made {
            self.pass(event, "queue/empty");
        }
    }

    /// Takes in what waited in the queue, or stands in the history.
    fn waited(&mut self, place: Place, base: Document, said: &Said<'_>) -> bool {
        let kind = match said.kind {
            _ if self.kind == SourceKind::History => Kind::History,
            Kind::Prompt => Kind::Queued,
            other => other,
        };
        let print = text_hash(&base.session, &said.words);
        if kind == Kind::Queued {
            self.note_said(&said.words);
        }
        if kind == Kind::Queued && said.role == Role::Human {
            self.state.tally.queued(print);
        }
        self.push(place, Document { role: said.role, kind, text_hash: Some(print), ..base }, &said.words)
    }
}
