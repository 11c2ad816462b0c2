//! Renders sessions as a list for people, tab-separated lines, JSON or CSV.

use std::io::{self, Write};

use anstyle::Style;
use unicode_width::UnicodeWidthStr as _;

use crate::archive::sessions::{Relation, Session, SubAgent};
use crate::archive::timestamp;
use crate::render::json;
use crate::render::terminal::style::{Screen, bytes, count, cut, fitted, pad, wrapped};
use crate::untrusted::Untrusted;

const TITLE: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

impl Screen {
    /// Lists sessions, two lines each; with `tree`, their subagents below them.
    pub fn sessions(&self, out: &mut dyn Write, sessions: &[Session], tree: bool) -> io::Result<()> {
        for session in sessions {
            let id: String = session.id.line().chars().take(8).collect();
            let place = vec![self.project(&session.project), session.branch.line()];
            let place = fitted(place, Vec::new(), (self.width / 2).saturating_sub(4));
            let room = self.width.saturating_sub(id.len() + place.width() + 4).max(20);
            let title = cut(&title_of(session), room);
            writeln!(out, "{DIM}{id}{DIM:#}  {TITLE}{}{TITLE:#}  {DIM}{place}{DIM:#}", pad(&title, room))?;
            for line in wrapped(&self.session_facts(session), self.width.saturating_sub(10)) {
                writeln!(out, "          {DIM}{line}{DIM:#}")?;
            }
            if tree {
                session.agents.iter().try_for_each(|agent| self.agent(out, agent))?;
            }
        }
        Ok(())
    }

    fn agent(&self, out: &mut dyn Write, agent: &SubAgent) -> io::Result<()> {
        let mut facts = vec![count(agent.answers as usize, "answer"), count(agent.tool_uses as usize, "tool call")];
        let total: u64 = agent.tokens.iter().sum();
        if total > 0 {
            facts.push(format!("{} tokens", short(total)));
        }
        facts.extend(Some(agent.kind.line()).filter(|kind| !kind.is_empty()));
        let facts = facts.join(" · ");
        let id = cut(&agent.id.line(), 24);
        let room = self.width.saturating_sub(14 + id.width() + 2 + facts.width() + 2).max(16);
        writeln!(out, "          {DIM}└ {id}{DIM:#}  {}  {DIM}{facts}{DIM:#}", cut(&agent.title.line(), room))
    }

    /// Returns the facts about a session besides its title.
    pub(in crate::render) fn session_facts(&self, session: &Session) -> Vec<String> {
        let mut facts = Vec::new();
        facts.extend(session.first.map(|first| self.when(first)));
        let length = session.length_ms;
        if length >= 60_000 {
            facts.push(brief(length));
        }
        if session.pauses > 0 {
            let times = if session.pauses == 1 { "once".to_string() } else { format!("{} times", session.pauses) };
            facts.push(format!("resumed {times}"));
        }
        let mut counts = vec![count(session.prompts as usize, "prompt"), count(session.messages as usize, "message")];
        let some =
            [(session.tool_uses as usize, "tool"), (session.files_changed, "file"), (session.agents.len(), "agent")];
        counts.extend(some.into_iter().filter(|(number, _)| *number > 0).map(|(number, noun)| count(number, noun)));
        facts.push(counts.join(", "));
        facts.extend(session.models.iter().take(3).map(|model| short_model(&model.line())));
        let tokens = session.all_tokens();
        if tokens > 0 {
            facts.push(format!("{} tokens", short(tokens)));
        }
        if session.size > 0 {
            facts.push(bytes(session.size));
        }
        facts.extend(marks(session));
        facts
    }

    /// Writes the heading of a conversation.
    pub fn session_head(&self, out: &mut dyn Write, session: &Session) -> io::Result<()> {
        writeln!(out, "{TITLE}{}{TITLE:#}", cut(&title_of(session), self.width))?;
        let mut place = vec![self.path(std::path::Path::new(session.project.raw())), session.branch.line()];
        place.push(session.id.line());
        place.retain(|part| !part.is_empty());
        let facts = self.session_facts(session);
        for line in wrapped(&place, self.width).into_iter().chain(wrapped(&facts, self.width)) {
            writeln!(out, "{DIM}{line}{DIM:#}")?;
        }
        Ok(())
    }

    /// Formats a time as date, hour and minute.
    fn when(&self, time: i64) -> String {
        let zoned = jiff::Timestamp::from_millisecond(time).map(|time| time.to_zoned(self.zone.clone()));
        zoned.map(|time| time.strftime("%Y-%m-%d %H:%M").to_string()).unwrap_or_default()
    }
}

fn title_of(session: &Session) -> String {
    if session.title.is_empty() { "(untitled)".to_string() } else { session.title.line() }
}

/// Returns notes about anything unusual in a session.
pub(in crate::render) fn marks(session: &Session) -> Vec<String> {
    let id = |id: &Untrusted| id.line().chars().take(8).collect::<String>();
    let mut marks = Vec::new();
    if session.history_only {
        marks.push("only its prompts are left".to_string());
    } else if session.gone {
        marks.push("transcript deleted".to_string());
    } else if session.agents_only {
        marks.push("subagents only".to_string());
    }
    marks.extend(session.background.then(|| "in the background".to_string()));
    let shares = |other: &Untrusted| {
        let shared = session.shared.iter().find(|shared| shared.session == *other);
        shared.map(|shared| format!(" ({} shared)", count(shared.messages as usize, "message"))).unwrap_or_default()
    };
    marks.extend(session.forked_from.as_ref().map(|from| format!("forked from {}{}", id(from), shares(from))));
    marks.extend(session.continues.as_ref().map(|before| format!("continues {}{}", id(before), shares(before))));
    marks.extend(session.continued_in.as_ref().map(|after| format!("continued in {}{}", id(after), shares(after))));
    let named = [&session.forked_from, &session.continues, &session.continued_in];
    let mut others = session.shared.iter().filter(|shared| !named.contains(&&Some(shared.session.clone()))).peekable();
    if let Some(fork) = others.next_if(|shared| shared.relation == Relation::ForkedInto) {
        marks.push(format!("forked into {}{}", id(&fork.session), shares(&fork.session)));
    }
    let others = others.count();
    if others > 0 {
        marks.push(format!("shares messages with {}", count(others, "other session")));
    }
    marks
}

/// Formats a duration in its one or two largest units.
fn brief(ms: i64) -> String {
    let minutes = ms / 60_000;
    match minutes {
        0..60 => format!("{minutes} min"),
        60..1440 => format!("{} h {} min", minutes / 60, minutes % 60),
        _ => format!("{} d {} h", minutes / 1440, minutes / 60 % 24),
    }
}

/// Formats a number with few digits.
pub(in crate::render) fn short(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..1_000_000 => format!("{}k", number / 1000),
        1_000_000..1_000_000_000 => format!("{:.1}M", number as f64 / 1e6),
        _ => format!("{:.1}B", number as f64 / 1e9),
    }
}

/// Returns the name of a model without `claude-` and the date.
pub(in crate::render) fn short_model(model: &str) -> String {
    let name = model.strip_prefix("claude-").unwrap_or(model);
    let date = name.rsplit('-').next().filter(|part| part.len() == 8 && part.bytes().all(|byte| byte.is_ascii_digit()));
    cut(date.map_or(name, |date| &name[..name.len() - date.len() - 1]), 24)
}

/// Writes one tab-separated line per session, for pipes: id, last time, project, branch, prompts, messages and title.
pub fn plain(out: &mut dyn Write, sessions: &[Session]) -> io::Result<()> {
    for session in sessions {
        let last = session.last.map(timestamp).unwrap_or_default();
        let (id, project, branch) = (session.id.line(), session.project.line(), session.branch.line());
        let (prompts, messages) = (session.prompts, session.messages);
        writeln!(out, "{id}\t{last}\t{project}\t{branch}\t{prompts}\t{messages}\t{}", session.title.line())?;
    }
    Ok(())
}

/// Writes one line of JSON per session.
pub fn json(out: &mut dyn Write, sessions: &[Session]) -> io::Result<()> {
    sessions.iter().try_for_each(|session| json::typed(out, "session", session))
}

/// The columns of the CSV output.
const COLUMNS: &str = "session_id,title,project,branch,started,ended,length_ms,resumptions,idle_ms,prompts,messages,\
                       tool_uses,files_changed,agents,models,input_tokens,cache_write_tokens,cache_read_tokens,\
                       output_tokens,bytes,source_missing,background,forked_from,continues,continued_in";

/// Writes sessions as CSV. Tokens include those of subagents.
pub fn csv(out: &mut dyn Write, sessions: &[Session]) -> io::Result<()> {
    writeln!(out, "{COLUMNS}")?;
    for session in sessions {
        let id = |id: &Option<Untrusted>| id.as_ref().map(Untrusted::line).unwrap_or_default();
        let models: Vec<String> = session.models.iter().map(Untrusted::line).collect();
        let mut cells = vec![session.id.line(), session.title.line(), session.project.line(), session.branch.line()];
        cells.extend([session.first, session.last].map(|time| time.map(timestamp).unwrap_or_default()));
        cells.extend([session.length_ms.to_string(), session.pauses.to_string(), session.paused.to_string()]);
        cells.extend([session.prompts, session.messages, session.tool_uses].map(|number| number.to_string()));
        cells.extend([session.files_changed, session.agents.len()].map(|number| number.to_string()));
        cells.push(models.join(" "));
        cells.extend(session.tokens.iter().zip(session.agent_tokens).map(|(own, agents)| (own + agents).to_string()));
        cells.extend([session.size.to_string(), session.gone.to_string(), session.background.to_string()]);
        cells.extend([id(&session.forked_from), id(&session.continues), id(&session.continued_in)]);
        let row: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
        writeln!(out, "{}", row.join(","))?;
    }
    Ok(())
}

/// Returns a CSV cell, quoted if necessary. A leading apostrophe keeps a spreadsheet from reading it as a formula.
fn quoted(cell: &str) -> String {
    let guarded = if cell.starts_with(['=', '+', '-', '@']) { format!("'{cell}") } else { cell.to_string() };
    if guarded.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", guarded.replace('"', "\"\"")) } else { guarded }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_cells_are_never_formulas() {
        for (cell, written) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("=1+1", "'=1+1"),
            ("-5", "'-5"),
        ] {
            assert_eq!(quoted(cell), written);
        }
    }

    #[test]
    fn short_models_have_no_prefix_and_no_date() {
        assert_eq!(short_model("claude-opus-4-1-20250805"), "opus-4-1");
        assert_eq!(short_model("glm-4.6"), "glm-4.6");
    }
}
