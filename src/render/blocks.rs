//! Lays out the blocks of a conversation as styled lines of a given width, for front ends that scroll. Everything in the
//! lines is safe for a terminal.

use unicode_width::UnicodeWidthStr as _;

use crate::archive::conversation::{BlockText, Message, Piece};
use crate::archive::timestamp;
use crate::document::{Kind, Role};
use crate::render::line_diff::{Mark, diff};
use crate::render::markdown::{Line as Styled, broken, markdown, plain};
use crate::render::message::{Body, Call, Homes, call, is_interruption, who};
use crate::render::terminal::sessions::short_model;
use crate::render::terminal::style::{ADDED, BAD, DIM, MODEL, PERSON, REMOVED, Screen, TOOL, count, cut, thousands};
use crate::untrusted::{for_terminal, one_line};

pub use anstyle::{AnsiColor, Color, Effects, Style};

/// A line of styled text.
pub type Line = Vec<(Style, String)>;

/// Lines of an open block that are shown at most. More would make scrolling slow.
const MOST_LINES: usize = 20_000;
/// Lines of a file change that are shown while it is folded.
const CHANGE_LINES: usize = 12;
/// Maximum width of prose. Wider lines are hard to read.
const WIDEST: usize = 110;

/// The level of detail for tool calls.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Detail {
    /// No tool calls.
    None,
    /// One line for each call.
    #[default]
    Lines,
    /// Calls and results in full.
    Full,
}

/// The way in which blocks are laid out.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The width in columns.
    pub width: usize,
    /// The level of detail for tool calls.
    pub tools: Detail,
    /// Set to show reasoning.
    pub thinking: bool,
    /// Set to show text that Claude Code inserted.
    pub meta: bool,
    /// Set to show the time, tokens and model of each message.
    pub facts: bool,
    /// Set to keep long lines as they are.
    pub unwrapped: bool,
    /// Home folders to shorten.
    pub homes: Homes,
    /// The time and the zone.
    pub screen: Screen,
}

/// Reports whether a block can be folded and unfolded.
pub fn can_fold(text: &BlockText) -> bool {
    match &text.piece {
        Piece::ToolCall { .. } => true,
        Piece::Message(message) => {
            matches!(message.kind, Kind::Thinking | Kind::ToolResult | Kind::Output | Kind::Compaction)
        }
        _ => false,
    }
}

impl Layout {
    /// Returns the lines of a block. `open` overrides whether it is folded. `continues` means that the block before it
    /// has the same speaker, so that the speaker is not named again.
    pub fn lines(&self, text: &BlockText, open: Option<bool>, continues: bool) -> Vec<Line> {
        let mut lines = match &text.piece {
            Piece::Message(message) => self.message(message, text, open, continues),
            Piece::ToolCall { call: message, result, agent } => {
                if self.tools == Detail::None && open.is_none() {
                    return Vec::new();
                }
                let shown = call(&self.homes, message, result.as_ref(), agent.as_ref());
                self.call(message, &shown, open.unwrap_or(self.tools == Detail::Full), text)
            }
            Piece::FoldedSubagent { messages } => {
                aside(&format!("subagent: {} (a shows them)", count(*messages, "message")))
            }
            Piece::Abandoned { messages, .. } => {
                aside(&format!("abandoned branch: {} (a shows them)", count(*messages, "message")))
            }
            Piece::Earlier { messages } => aside(&format!("{} before this", count(*messages, "message"))),
            Piece::Later { messages } => aside(&format!("{} after this", count(*messages, "message"))),
            Piece::NewStart => Vec::new(),
        };
        if !self.unwrapped {
            lines = lines.into_iter().flat_map(|line| broken(line, self.width)).collect();
        }
        if text.begins_late && lines.len() > 1 {
            lines.insert(1, vec![(DIM, "    … the beginning of a very long text is left out; O shows it".to_string())]);
        }
        if lines.len() > MOST_LINES {
            let more = lines.len() - MOST_LINES;
            lines.truncate(MOST_LINES);
            lines.push(vec![(
                DIM,
                format!("    … {} more lines (E opens the transcript in your editor)", thousands(more as u64)),
            )]);
        } else if text.is_cut && lines.len() > 1 {
            lines.push(vec![(DIM, "    … a very long text; O shows the rest".to_string())]);
        }
        lines
    }

    fn message(&self, message: &Message, text: &BlockText, open: Option<bool>, continues: bool) -> Vec<Line> {
        let is_problem = matches!(message.kind, Kind::Bad | Kind::Oversized);
        if message.role == Role::Meta && !self.meta && !is_interruption(message) && !is_problem && open.is_none() {
            return Vec::new();
        }
        let safe = self.homes.shorten(&message.text);
        let safe = for_terminal(&safe);
        let room = self.room();
        match message.kind {
            Kind::Thinking => {
                if !open.unwrap_or(self.thinking) {
                    let first = safe.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                    let line = cut(&format!("thinking: {}", one_line(first)), self.width.saturating_sub(5));
                    return if open.is_none() && self.tools == Detail::None {
                        Vec::new()
                    } else {
                        vec![vec![(DIM, format!("  ▸ {line}"))]]
                    };
                }
                let lines = plain(&safe, DIM.italic(), room.saturating_sub(2));
                self.framed(lines, "  ┊ ", self.header(message, text, false))
            }
            Kind::ToolResult | Kind::Output => {
                if self.tools == Detail::None && open.is_none() {
                    return Vec::new();
                }
                self.result(message, &safe, open.unwrap_or(self.tools == Detail::Full))
            }
            Kind::Compaction => {
                let mut lines = aside("the conversation was compacted here; its summary:");
                let all = self.framed(markdown(&safe, room), "  ", Vec::new());
                let most = if open == Some(true) { usize::MAX } else { CHANGE_LINES };
                lines.extend(first(all, most));
                lines
            }
            Kind::Bad | Kind::Oversized => {
                let problem = message.problem.as_deref().unwrap_or("cannot be read");
                aside(&format!("line {}: {}", message.line, one_line(problem)))
            }
            _ if is_interruption(message) => aside(safe.trim_matches(['[', ']', '\n', ' '])),
            Kind::Text | Kind::Recap => self.framed(markdown(&safe, room), "  ", self.header(message, text, continues)),
            _ => {
                let width = if self.unwrapped { usize::MAX / 2 } else { room };
                let head = self.header(message, text, false);
                self.framed(plain(&safe, Style::new(), width), "│ ", head)
            }
        }
    }

    /// Returns lines with something before each, after a header.
    fn framed(&self, lines: impl IntoIterator<Item = Styled>, lead: &str, head: Vec<Line>) -> Vec<Line> {
        let lead_style = if lead.trim().is_empty() { Style::new() } else { DIM };
        let framed = lines.into_iter().take(MOST_LINES * 2).map(|line| {
            let mut whole = vec![(lead_style, lead.to_string())];
            whole.extend(line);
            whole
        });
        head.into_iter().chain(framed).collect()
    }

    /// Returns the line with the speaker, after an empty one. Only the empty one if the speaker is the same.
    fn header(&self, message: &Message, text: &BlockText, continues: bool) -> Vec<Line> {
        let facts = self.facts_of(message, text);
        if continues && facts.is_empty() {
            return vec![Vec::new()];
        }
        let name = who(message);
        let style = match message.role {
            Role::Human | Role::Programmatic => PERSON.bold(),
            Role::Meta => DIM,
            _ => MODEL.bold(),
        };
        let mut line = vec![(style, name.to_string())];
        line.extend(message.timestamp.map(|time| (DIM, format!("  {}", self.screen.moment(time)))));
        if message.kind == Kind::Queued {
            line.push((DIM, " · queued".to_string()));
        }
        line.extend((!facts.is_empty()).then(|| (DIM, format!(" · {facts}"))));
        vec![Vec::new(), line]
    }

    /// Returns the line that names a speaker, for a tool call that is the first thing it does.
    pub fn turn(&self, role: Role, time: Option<i64>) -> Vec<Line> {
        let name = if role == Role::Subagent { "agent" } else { "claude" };
        let time = time.map(|time| (DIM, format!("  {}", self.screen.moment(time))));
        vec![Vec::new(), std::iter::once((MODEL.bold(), name.to_string())).chain(time).collect()]
    }

    fn facts_of(&self, message: &Message, text: &BlockText) -> String {
        if !self.facts {
            return String::new();
        }
        let mut facts = Vec::new();
        facts.extend(message.model.as_deref().map(|model| short_model(&one_line(model))));
        facts.extend(message.timestamp.map(timestamp));
        if let Some([input, write, read, output]) = text.tokens {
            let input = thousands(input + write + read);
            facts.push(format!("{input} tokens in, {} out", thousands(output)));
        }
        facts.join(" · ")
    }

    fn call(&self, message: &Message, call: &Call<'_>, open: bool, text: &BlockText) -> Vec<Line> {
        let room = self.width.saturating_sub(4).max(20);
        let tool = cut(&one_line(&call.tool), 32);
        let result = call.result.as_ref();
        let gist = match (&call.body, result) {
            (Body::Changes(changes), Some(result)) if !result.failed => extent(changes),
            (_, result) => result.map(|result| one_line(&result.gist())).unwrap_or_default(),
        };
        let for_gist = if gist.is_empty() { 0 } else { (gist.width() + 3).min(room / 2) };
        let summary = cut(&one_line(&call.summary), room.saturating_sub(tool.width() + 3 + for_gist).max(8));
        let left = room.saturating_sub(tool.width() + 3 + summary.width() + 3);
        let failed = result.is_some_and(|result| result.failed);
        let sign = if open { "▾" } else { "▸" };
        let mut head = vec![(TOOL, format!("  {sign} {tool} ")), (Style::new(), summary)];
        if !gist.is_empty() && left > 3 {
            head.push((if failed { BAD } else { DIM }, format!(" → {}", cut(&gist, left))));
        }
        let mut lines = vec![head];
        let facts = self.facts_of(message, text);
        lines.extend((!facts.is_empty()).then(|| vec![(DIM, format!("    {facts}"))]));
        self.body(&mut lines, call, open);
        if let Some(result) = result.filter(|_| open) {
            let style = if result.failed { BAD } else { DIM };
            let width = if self.unwrapped { usize::MAX / 2 } else { room.saturating_sub(4) };
            let safe = for_terminal(result.text.trim_end());
            lines.extend(self.framed(plain(&safe, style, width), "    │ ", Vec::new()));
        }
        if let Some(agent) = &call.agent {
            let what = format!(
                "{}, {}",
                count(agent.answers as usize, "answer"),
                count(agent.tool_uses as usize, "tool call")
            );
            let title =
                cut(&one_line(&self.homes.shorten(&agent.title)), room.saturating_sub(what.width() + 14).max(10));
            lines.push(vec![(DIM, "    ↳ agent ".to_string()), (MODEL, title), (DIM, format!(" · {what}"))]);
        }
        lines
    }

    fn body(&self, lines: &mut Vec<Line>, call: &Call<'_>, open: bool) {
        let room = self.width.saturating_sub(8).max(20);
        let all: Vec<Line> = match &call.body {
            Body::Changes(changes) => {
                let changed = changes.iter().flat_map(|(old, new)| changed_lines(old, new, room));
                self.framed(changed, "    ", Vec::new())
            }
            Body::Text(text) if open => self.framed(plain(&for_terminal(text), Style::new(), room), "    ", Vec::new()),
            Body::Prose(text) if open => {
                self.framed(markdown(&for_terminal(text), room.min(WIDEST)), "    ", Vec::new())
            }
            _ => Vec::new(),
        };
        lines.extend(first(all, if open { usize::MAX } else { CHANGE_LINES }));
    }

    fn result(&self, message: &Message, safe: &str, open: bool) -> Vec<Line> {
        let room = self.width.saturating_sub(6).max(20);
        let style = if message.error { BAD } else { DIM };
        let tool = message.tool.as_deref().map(|tool| format!("{} ", cut(&one_line(tool), 32))).unwrap_or_default();
        let number = safe.trim().lines().count();
        let has_words = |line: &&str| line.chars().any(char::is_alphanumeric);
        let gist = safe.lines().map(str::trim).find(has_words).unwrap_or("no output");
        let gist = if number > 1 { format!("{number} lines: {gist}") } else { gist.to_string() };
        let sign = if open { "▾" } else { "▸" };
        let left = room.saturating_sub(tool.width() + 4);
        let mut lines =
            vec![vec![(TOOL, format!("  {sign} {tool}")), (style, format!("→ {}", cut(&one_line(&gist), left)))]];
        if open {
            let width = if self.unwrapped { usize::MAX / 2 } else { room.saturating_sub(2) };
            lines.extend(self.framed(plain(safe.trim_end(), style, width), "    │ ", Vec::new()));
        }
        lines
    }

    fn room(&self) -> usize {
        self.width.saturating_sub(3).clamp(20, WIDEST)
    }
}

fn aside(text: &str) -> Vec<Line> {
    vec![Vec::new(), vec![(DIM, format!("  · {text}"))]]
}

/// Returns the first lines, and a line with the number of the others.
fn first(mut lines: Vec<Line>, most: usize) -> Vec<Line> {
    if lines.len() > most {
        let more = lines.len() - most;
        lines.truncate(most);
        lines.push(vec![(DIM, format!("    … {} (o shows them)", count(more, "more line")))]);
    }
    lines
}

/// Returns the number of lines added and removed, such as `+2 −1`.
fn extent(changes: &[(String, String)]) -> String {
    let lines = changes.iter().flat_map(|(old, new)| diff(old, new)).collect::<Vec<_>>();
    let number = |wanted| lines.iter().filter(|(mark, _)| *mark == wanted).count();
    format!("+{} −{}", number(Mark::Added), number(Mark::Removed))
}

/// Returns the lines removed and added by a change, with two lines of context, wrapped.
pub fn changed_lines(old: &str, new: &str, width: usize) -> Vec<Line> {
    let lines = diff(old, new);
    let near =
        |at: usize| lines[at.saturating_sub(2)..(at + 3).min(lines.len())].iter().any(|(mark, _)| *mark != Mark::Same);
    let shown = lines.iter().enumerate().filter(|(at, (mark, _))| *mark != Mark::Same || near(*at));
    let line = |(_, (mark, text)): (usize, &(Mark, &str))| {
        let text = for_terminal(&text.replace('\t', "    ")).into_owned();
        let style = match mark {
            Mark::Same => DIM,
            Mark::Removed => REMOVED,
            Mark::Added => ADDED,
        };
        plain(&format!("{} {text}", mark.sign()), style, width).collect::<Vec<_>>()
    };
    shown.flat_map(line).collect()
}
