//! Renders a part of a conversation, with the position where the next part starts.

use std::borrow::Cow;

use crate::archive::ConversationAnswer;
use crate::archive::conversation::{Message, Piece};
use crate::document::{Kind, Role};
use crate::error::Result;
use crate::render::agent::budget::{Page, View, count, cut, quoted};
use crate::render::agent::place::{place, speaker, title};
use crate::render::message::{Body, Homes, call, is_interruption};
use crate::untrusted::Untrusted;

/// Characters at the end of a cut text that are not used.
const CUT_MARGIN: usize = 4096;
/// Characters of a tool call on one line.
const CALL_LENGTH: usize = 240;
/// A message that does not fit is cut if there is at least this much room. Otherwise it begins the next page.
const ROOM_TO_CUT: usize = 800;

/// The level of detail for tool calls.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Tools {
    /// Nothing.
    None,
    /// One line for each call.
    #[default]
    Lines,
    /// Calls, results and reasoning in full.
    Full,
}

/// The part of a conversation to show.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConversationPart {
    /// The level of detail for tool calls.
    pub tools: Tools,
    /// The first line of the transcript.
    pub from: u64,
    /// Characters of that line that were shown already.
    pub skip: usize,
    /// The last line of the transcript.
    pub to: Option<u64>,
}

/// A message, rendered.
struct Block {
    line: u64,
    /// The line above it, if it is a message.
    head: String,
    /// Its text, safe for the frame.
    body: String,
}

impl View {
    /// Renders a conversation from `reading.from` on. The turns of the answer must begin there.
    pub fn conversation(&self, answer: ConversationAnswer, reading: ConversationPart) -> Result<String> {
        let mut page = Page::new(self, &self.conversation_head(&answer, reading));
        page.put(&title(self, &answer.session.title));
        let (lines, turns) = (answer.lines, answer.turns);
        let (mut line, mut shown) = (0, 0);
        let mut is_first = true;
        for turn in turns {
            let turn = turn?;
            let needed = reading.skip + page.left() + 1;
            let Some(block) = self.block(&turn.piece, reading.tools, line, needed) else { continue };
            if block.line < reading.from {
                continue;
            }
            if reading.to.is_some_and(|to| block.line > to) {
                return Ok(page.finish("end of this range", &[]));
            }
            if block.line != line {
                (line, shown) = (block.line, 0);
            }
            let length = block.body.chars().count();
            let wanted = if line == reading.from { reading.skip } else { 0 };
            let skip = wanted.saturating_sub(shown);
            if skip > length {
                shown += length + 1;
                continue;
            }
            // More than fits is never needed, and a message may be very large.
            let rest: String = block.body.chars().skip(skip).take(page.left() + 1).collect();
            let head = if skip > 0 { format!("{} (continued)", block.head) } else { block.head };
            if page.put(&format!("{head}\n{}", if rest.is_empty() { String::new() } else { quoted(&rest) })) {
                (shown, is_first) = (shown + length + 1, false);
                continue;
            }
            let mut taken = 0;
            if (is_first || page.left() > ROOM_TO_CUT) && page.line(&head) {
                taken = page.quote_part(&rest);
            }
            let next = (line, shown + skip + taken);
            let after = lines.len() - lines.partition_point(|other| *other < line);
            let last = format!("{}, from line {line}", count(after, "more message"));
            let changes = [("from", next.0.into()), ("skip", next.1.into())];
            return Ok(page.finish(&last, &changes));
        }
        Ok(page.finish("end of the conversation", &[]))
    }

    fn conversation_head(&self, answer: &ConversationAnswer, reading: ConversationPart) -> Vec<String> {
        let session = &answer.session;
        let place = place(self, &session.project, &session.branch, (session.first, session.last));
        let mut head = vec![format!("session {} · {place}", self.name(&session.id))];
        if let Some(agent) = &answer.target.agent {
            head.push(format!("this is subagent {} of that session", self.name(&Untrusted::from(agent.as_str()))));
        }
        let before = answer.lines.partition_point(|line| *line < reading.from);
        let resumable = match session {
            session if session.history_only => " · only its prompts are known",
            session if session.gone => " · resumable: false, transcript deleted",
            _ => "",
        };
        let total = count(answer.lines.len(), "message");
        head.push(format!("{total} · {before} before this part · #N is the line in the transcript{resumable}"));
        head.extend(answer.notes.iter().map(|note| format!("note: {note}")));
        head
    }

    /// Renders a piece, or returns `None` if it is hidden. `line` is the line of the previous piece. Of a longer body,
    /// at least the first `needed` characters are returned.
    fn block(&self, piece: &Piece, tools: Tools, line: u64, needed: usize) -> Option<Block> {
        match piece {
            Piece::Message(message) => self.message(message, tools, needed),
            Piece::ToolCall { .. } if tools == Tools::None => None,
            Piece::ToolCall { call: asked, result, agent } => {
                let shown = call(&self.homes, asked, result.as_ref(), agent.as_ref());
                let mut head = format!("{} · {}", self.message_head(asked), self.name(&shown.tool.as_str().into()));
                if let Some(agent) = agent {
                    head += &format!(" · started subagent {}", self.name(&agent.id.as_str().into()));
                }
                if shown.result.as_ref().is_some_and(|result| result.failed) {
                    head += " · failed";
                }
                let gist = shown.result.as_ref().map(|result| format!(" -> {}", result.gist())).unwrap_or_default();
                let body = match tools {
                    Tools::Full => {
                        let result = shown.result.as_ref().map(|result| format!("\n-> {}", result.text.trim()));
                        format!("{}{}", input(&shown.summary, &shown.body), result.unwrap_or_default())
                    }
                    _ => cut(&one(&format!("{}{gist}", shown.summary)), CALL_LENGTH),
                };
                Some(Block { line: asked.line, head, body: self.body(&body, needed) })
            }
            Piece::FoldedSubagent { messages } => Some(fold(line, *messages, "of subagents not shown")),
            Piece::Abandoned { messages, .. } => Some(fold(line, *messages, "on an abandoned branch not shown")),
            Piece::Earlier { .. } | Piece::Later { .. } | Piece::NewStart => None,
        }
    }

    fn message(&self, message: &Message, tools: Tools, needed: usize) -> Option<Block> {
        let is_output = matches!(message.kind, Kind::ToolResult | Kind::Output);
        let is_shown = match (message.kind, tools) {
            (_, Tools::None) if is_output => false,
            (Kind::Thinking, Tools::None | Tools::Lines) => false,
            _ => message.role != Role::Meta || is_interruption(message),
        };
        if !is_shown {
            return None;
        }
        let is_short = is_output && tools == Tools::Lines;
        let text = if is_short {
            Cow::Owned(cut(&one(&message.text), CALL_LENGTH))
        } else {
            Cow::Borrowed(message.text.as_str())
        };
        Some(Block { line: message.line, head: self.message_head(message), body: self.body(&text, needed) })
    }

    fn message_head(&self, message: &Message) -> String {
        let id = message.uuid.as_deref().map(|uuid| format!(" · {}", self.name(&uuid.into()))).unwrap_or_default();
        let who = if message.kind == Kind::ToolUse { "claude" } else { speaker(message.role, message.kind) };
        format!("#{} {who} · {}{id}", message.line, self.time(message.timestamp))
    }

    /// Returns a text without blank lines at both ends, safe for the frame. Of a longer text, at least the first
    /// `needed` characters are returned, so that a message of any size takes little memory.
    fn body(&self, text: &str, needed: usize) -> String {
        let text = text.trim_end().trim_start_matches('\n');
        let beginning = &text[..text.floor_char_boundary(needed.saturating_add(CUT_MARGIN).saturating_mul(16))];
        let safe = self.safe(beginning);
        // Near the cut, the name of a home folder may be incomplete.
        let is_enough = beginning.len() == text.len() || safe.chars().nth(needed.saturating_add(CUT_MARGIN)).is_some();
        if is_enough { safe } else { self.safe(text) }
    }
}

/// Returns the arguments of a call in full.
fn input(summary: &str, body: &Body) -> String {
    match body {
        Body::Nothing => summary.to_string(),
        Body::Text(text) | Body::Prose(text) if text.starts_with(summary) => text.clone(),
        Body::Text(text) | Body::Prose(text) => format!("{summary}\n{text}"),
        Body::Changes(changes) => {
            let lines =
                |sign: char, text: &str| -> String { text.lines().map(|line| format!("\n{sign}{line}")).collect() };
            let parts = changes.iter().map(|(old, new)| format!("{}{}", lines('-', old), lines('+', new)));
            format!("{summary}{}", parts.collect::<String>())
        }
    }
}

fn fold(line: u64, messages: usize, what: &str) -> Block {
    Block { line, head: format!("({} {what})", count(messages, "message")), body: String::new() }
}

/// Returns a text on one line.
fn one(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Homes {
    /// Returns the folders to shorten for a caller.
    pub fn of(home: Option<&str>) -> Self {
        Self(home.filter(|home| home.len() > 1).map(str::to_string).into_iter().collect())
    }
}
