//! Shows a conversation on a terminal: speakers, messages as Markdown, tool calls folded to one line each.

use std::collections::HashSet;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr as _;

use crate::archive::conversation::{Agent, Message, Piece};
use crate::document::{Kind, MessageKey, PAUSE, Role};
use crate::render::line_diff::{Mark, diff};
use crate::render::markdown::{Line, markdown, plain};
use crate::render::message::{Body, Call, Homes, call, is_interruption, who};
use crate::render::terminal::sessions::short_model;
use crate::render::terminal::style::{ADDED, REMOVED, Screen, count, cut};
use crate::tokenize::analyze;
use crate::untrusted::{for_terminal, one_line};

const DIM: Style = Style::new().dimmed();
const PERSON: Style = AnsiColor::Green.on_default().bold();
const MODEL: Style = AnsiColor::Cyan.on_default().bold();
const TOOL: Style = AnsiColor::Magenta.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const MARK: Style = AnsiColor::Yellow.on_default().bold().underline();

/// The number of lines shown of a change when tool calls are folded.
const CHANGE_LINES: usize = 12;
/// The maximum width of prose. Wider lines are hard to read.
const WIDEST: usize = 110;

/// The level of detail for tool calls.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Tools {
    /// One line per call with its result, and file changes as diffs.
    #[default]
    Folded,
    /// Calls and results in full.
    Full,
    /// One line per call.
    Calls,
    /// No tool calls.
    None,
}

/// Prints a conversation, piece by piece.
#[derive(Debug)]
pub struct ConversationPrinter<'s> {
    screen: &'s Screen,
    /// The level of detail for tool calls.
    pub tools: Tools,
    /// Home folders to shorten.
    pub homes: Homes,
    /// Terms to highlight.
    pub marked: HashSet<String>,
    /// The UUID of the message to mark with an arrow.
    pub pointed: Option<String>,
    /// Set to show text that Claude Code itself inserted.
    pub meta: bool,
    indent: usize,
    speaker: Option<(&'static str, Option<MessageKey>)>,
    day: String,
    time: Option<i64>,
    model: Option<String>,
}

impl<'s> ConversationPrinter<'s> {
    /// Creates a printer with default options.
    pub fn new(screen: &'s Screen) -> Self {
        Self {
            screen,
            tools: Tools::default(),
            homes: Homes::default(),
            marked: HashSet::new(),
            pointed: None,
            meta: false,
            indent: 0,
            speaker: None,
            day: String::new(),
            time: None,
            model: None,
        }
    }

    /// Sets the indentation of the following pieces, in columns. Used for subagents.
    pub fn set_indent(&mut self, indent: usize) {
        if self.indent != indent {
            self.indent = indent;
            self.speaker = None;
        }
    }

    /// Prints a piece.
    pub fn piece(&mut self, out: &mut dyn Write, piece: &Piece) -> io::Result<()> {
        match piece {
            Piece::Message(document) => self.message(out, document),
            Piece::ToolCall { call: document, result, agent } => {
                if self.tools == Tools::None {
                    return Ok(());
                }
                let shown = call(&self.homes, document, result.as_ref(), agent.as_ref());
                self.header(out, document, false)?;
                self.call(out, &shown)
            }
            Piece::FoldedSubagent { messages } => {
                self.aside(out, &format!("subagent: {}", count(*messages, "message")))
            }
            Piece::Abandoned { messages, from } => {
                let what = count(*messages, "message");
                self.aside(out, &format!("abandoned branch: {what}, from line {from} (--branches shows it)"))
            }
            Piece::Earlier { messages } => self.aside(out, &format!("{} before this", count(*messages, "message"))),
            Piece::Later { messages } => self.aside(out, &format!("{} after this", count(*messages, "message"))),
            Piece::NewStart => self.aside(out, "new conversation"),
        }
    }

    fn message(&mut self, out: &mut dyn Write, document: &Message) -> io::Result<()> {
        if document.role == Role::Meta && !self.meta && !is_interruption(document) && !is_problem(document) {
            return Ok(());
        }
        if matches!(document.kind, Kind::ToolResult | Kind::Output) && self.tools == Tools::None {
            return Ok(());
        }
        let shown_text = self.homes.shorten(&document.text);
        let text = for_terminal(&shown_text);
        let room = self.room();
        match document.kind {
            Kind::Thinking => {
                self.header(out, document, true)?;
                self.lines(out, plain(&text, DIM.italic(), room.saturating_sub(2)), "┊ ")?;
            }
            Kind::Text | Kind::Recap => {
                self.header(out, document, true)?;
                self.lines(out, markdown(&text, room), "")?;
            }
            Kind::Compaction => {
                self.aside(out, "the conversation was compacted here; its summary:")?;
                self.speaker = None;
                self.first_lines(out, markdown(&text, room), "")?;
            }
            Kind::ToolResult | Kind::Output => {
                self.header(out, document, true)?;
                self.first_lines(out, plain(&text, DIM, room), "")?;
            }
            Kind::Bad | Kind::Oversized => {
                let problem = document.problem.as_deref().unwrap_or("cannot be read");
                self.aside(out, &format!("line {}: {}", document.line, one_line(problem)))?;
            }
            _ if is_interruption(document) => self.aside(out, text.trim_matches(['[', ']', '\n', ' ']))?,
            _ => {
                self.header(out, document, true)?;
                self.lines(out, plain(&text, Style::new(), room), "")?;
            }
        }
        Ok(())
    }

    /// Writes the speaker, once per message. A tool call by the same speaker gets no header of its own.
    fn header(&mut self, out: &mut dyn Write, document: &Message, is_text: bool) -> io::Result<()> {
        self.passing_time(out, document)?;
        let name = if document.kind == Kind::ToolUse { "claude" } else { who(document) };
        let name = if document.agent.is_some() && name == "claude" { "agent" } else { name };
        let id = document.message.or(document.uuid.as_deref().map(MessageKey::of));
        let continues = match &self.speaker {
            Some((speaker, before)) => *speaker == name && (!is_text || *before == id),
            None => false,
        };
        if continues {
            if is_text && self.speaker.is_some() {
                writeln!(out)?;
            }
            self.speaker = Some((name, id));
            return Ok(());
        }
        let style = match document.role {
            Role::Human | Role::Programmatic => PERSON,
            Role::Meta => DIM,
            _ => MODEL,
        };
        let mut facts = Vec::new();
        facts.extend(document.timestamp.map(|time| self.screen.clock(time)));
        if document.model.is_some() && document.model != self.model {
            self.model.clone_from(&document.model);
            facts.extend(document.model.as_deref().map(|model| short_model(&one_line(model))));
        }
        if document.kind == Kind::Queued {
            facts.push("queued".to_string());
        }
        if document.error {
            facts.push("failed".to_string());
        }
        let pointer = self.pointed.is_some() && self.pointed == document.uuid;
        writeln!(out)?;
        let lead = " ".repeat(self.indent);
        let arrow = if pointer { format!("{MARK}▶{MARK:#} ") } else { String::new() };
        writeln!(out, "{lead}{arrow}{style}{name}{style:#}  {DIM}{}{DIM:#}", facts.join(" · "))?;
        self.speaker = Some((name, id));
        Ok(())
    }

    /// Writes a separator at the start of a new day and after a long pause.
    fn passing_time(&mut self, out: &mut dyn Write, document: &Message) -> io::Result<()> {
        let Some(time) = document.timestamp else { return Ok(()) };
        let day = self.screen.day(time);
        let pause = self.time.map_or(0, |before| time - before);
        if day != self.day {
            let later = if pause > PAUSE { format!(", {} later", self.screen.span(pause)) } else { String::new() };
            self.rule(out, &format!("{day}{later}"))?;
            self.day = day;
            self.speaker = None;
        } else if pause > PAUSE {
            self.rule(out, &format!("{} later", self.screen.span(pause)))?;
            self.speaker = None;
        }
        self.time = self.time.max(Some(time));
        Ok(())
    }

    fn rule(&self, out: &mut dyn Write, text: &str) -> io::Result<()> {
        let rest = self.room().saturating_sub(text.width() + 4);
        writeln!(out, "\n{}{DIM}── {text} {}{DIM:#}", " ".repeat(self.indent), "─".repeat(rest))
    }

    /// Writes a remark that is not part of the conversation.
    fn aside(&mut self, out: &mut dyn Write, text: &str) -> io::Result<()> {
        self.speaker = None;
        writeln!(out, "\n{}{DIM}· {text}{DIM:#}", " ".repeat(self.indent))
    }

    fn call(&mut self, out: &mut dyn Write, call: &Call<'_>) -> io::Result<()> {
        let room = self.screen.width.saturating_sub(self.indent + 4).max(30);
        let tool = cut(&one_line(&call.tool), 32);
        let result = call.result.as_ref().filter(|_| self.tools == Tools::Folded);
        let gist = match (&call.body, result) {
            (Body::Changes(changes), Some(result)) if !result.failed => extent(changes),
            (_, result) => result.map(|result| one_line(&result.gist())).unwrap_or_default(),
        };
        let for_gist = if gist.is_empty() { 0 } else { (gist.width() + 3).min(room / 2) };
        let summary = cut(&one_line(&call.summary), room.saturating_sub(tool.width() + 2 + for_gist).max(12));
        let left = room.saturating_sub(tool.width() + 2 + summary.width() + 3);
        let style = if result.is_some_and(|result| result.failed) { BAD } else { DIM };
        write!(out, "{}{TOOL}▸ {tool}{TOOL:#} ", " ".repeat(self.indent + 2))?;
        self.marked(out, &[(Style::new(), summary)])?;
        if !gist.is_empty() {
            write!(out, " {style}→ ")?;
            self.marked(out, &[(style, cut(&gist, left))])?;
            write!(out, "{style:#}")?;
        }
        writeln!(out)?;
        self.call_body(out, call)?;
        if let Some(result) = call.result.as_ref().filter(|_| self.tools == Tools::Full) {
            let style = if result.failed { BAD } else { DIM };
            let text = for_terminal(result.text.trim_end());
            self.lines(out, plain(&text, style, self.room().saturating_sub(4)), "  │ ")?;
        }
        match &call.agent {
            Some(agent) => self.agent_line(out, agent),
            None => Ok(()),
        }
    }

    fn call_body(&self, out: &mut dyn Write, call: &Call<'_>) -> io::Result<()> {
        let room = self.room().saturating_sub(4);
        match &call.body {
            Body::Changes(changes) if self.tools != Tools::Calls => {
                self.first_lines(out, changes.iter().flat_map(|(old, new)| changed_lines(old, new)), "    ")
            }
            Body::Text(text) if self.tools == Tools::Full && text.contains('\n') => {
                self.lines(out, plain(&for_terminal(text), Style::new(), room), "    ")
            }
            Body::Prose(text) if self.tools == Tools::Full => {
                self.lines(out, markdown(&for_terminal(text), room), "    ")
            }
            _ => Ok(()),
        }
    }

    /// Writes lines. Unless all tool output was asked for, writes only the first few and the number of the others.
    fn first_lines(&self, out: &mut dyn Write, lines: impl IntoIterator<Item = Line>, lead: &str) -> io::Result<()> {
        let mut lines = lines.into_iter();
        let most = if self.tools == Tools::Full { usize::MAX } else { CHANGE_LINES };
        self.lines(out, lines.by_ref().take(most), lead)?;
        match lines.count() {
            0 => Ok(()),
            more => {
                let lead = " ".repeat(self.indent + 4);
                writeln!(out, "{lead}{DIM}… {} (--tools full shows them){DIM:#}", count(more, "more line"))
            }
        }
    }

    /// Writes the id, title and activity of a subagent.
    pub fn agent_line(&self, out: &mut dyn Write, agent: &Agent) -> io::Result<()> {
        let what =
            format!("{}, {}", count(agent.answers as usize, "answer"), count(agent.tool_uses as usize, "tool call"));
        let title = cut(&one_line(&self.homes.shorten(&agent.title)), 60);
        let lead = " ".repeat(self.indent + 4);
        writeln!(out, "{lead}{DIM}↳ agent {} · {title} · {what}{DIM:#}", one_line(&agent.id))
    }

    fn room(&self) -> usize {
        (self.screen.width.saturating_sub(self.indent + 2)).clamp(20, WIDEST)
    }

    fn lines(&self, out: &mut dyn Write, lines: impl IntoIterator<Item = Line>, lead: &str) -> io::Result<()> {
        for line in lines {
            if line.is_empty() && lead.is_empty() {
                writeln!(out)?;
                continue;
            }
            write!(out, "{}{DIM}{lead}{DIM:#}", " ".repeat(self.indent + 2))?;
            self.marked(out, &line)?;
            writeln!(out)?;
        }
        Ok(())
    }

    /// Writes a line with the search terms highlighted.
    fn marked(&self, out: &mut dyn Write, line: &[(Style, String)]) -> io::Result<()> {
        let mut found: Vec<(usize, usize)> = Vec::new();
        if !self.marked.is_empty() {
            let whole: String = line.iter().map(|(_, text)| text.as_str()).collect();
            analyze(&whole, &mut |term| {
                if self.marked.contains(term.text) {
                    found.push((term.from, term.to));
                }
            });
        }
        let mut at = 0;
        for (style, text) in line {
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let inside = found.iter().find(|(from, to)| (*from..*to).contains(&at));
                let next = found.iter().map(|(from, _)| *from).filter(|from| *from > at).min().unwrap_or(usize::MAX);
                let stop = inside.map_or(next, |(_, to)| *to).min(at + rest.len());
                let (piece, after) = rest.split_at(stop - at);
                let style = if inside.is_some() { MARK } else { *style };
                write!(out, "{style}{piece}{style:#}")?;
                at = stop;
                rest = after;
            }
        }
        Ok(())
    }
}

fn is_problem(document: &Message) -> bool {
    matches!(document.kind, Kind::Bad | Kind::Oversized)
}

/// Returns the number of lines added and removed, such as `+2 −1`.
fn extent(changes: &[(String, String)]) -> String {
    let lines = changes.iter().flat_map(|(old, new)| diff(old, new)).collect::<Vec<_>>();
    let number = |wanted| lines.iter().filter(|(mark, _)| *mark == wanted).count();
    format!("+{} −{}", number(Mark::Added), number(Mark::Removed))
}

/// Returns the lines removed and added by a change, with two lines of context.
fn changed_lines(old: &str, new: &str) -> Vec<Line> {
    let lines = diff(old, new);
    let near =
        |at: usize| lines[at.saturating_sub(2)..(at + 3).min(lines.len())].iter().any(|(mark, _)| *mark != Mark::Same);
    let shown = lines.iter().enumerate().filter(|(at, (mark, _))| *mark != Mark::Same || near(*at));
    let line = |(mark, text): &(Mark, &str)| {
        let text = for_terminal(&text.replace('\t', "    ")).into_owned();
        match mark {
            Mark::Same => vec![(DIM, format!("  {text}"))],
            Mark::Removed => vec![(REMOVED, format!("- {text}"))],
            Mark::Added => vec![(ADDED, format!("+ {text}"))],
        }
    };
    shown.map(|(_, found)| line(found)).collect()
}
