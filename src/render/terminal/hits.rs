//! Renders search results: grouped by session on a terminal, one line per hit in a pipe.

use std::io::{self, Write};

use anstyle::Style;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::archive::search::{Hit, NearbyMessage, SearchAnswer, SessionHits, Suggestion};
use crate::archive::{Note, SessionInfo, timestamp};
use crate::document::{Kind, Role};
use crate::render::terminal::style::{
    BAD, DIM, MARK, MODEL, PERSON, Screen, TITLE, TOOL, count, cut, cut_width, fitted, pad, thousands, wrapped,
};
use crate::untrusted::{Untrusted, for_terminal, one_line};

/// Explains the second ranking.
const BY_SAID: &str = "No hit contains the question nearly word for word; ranked by what people and Claude said.";
/// The widths of the speaker and time columns.
const WHO_WIDTH: usize = 10;
const WHEN_WIDTH: usize = 12;
/// The minimum widths of a title and of a text.
const LEAST_TITLE: usize = 20;
const LEAST_TEXT: usize = 24;
/// A screen narrower than this has no time column.
const NARROW: usize = 2 + WHO_WIDTH + 1 + WHEN_WIDTH + 2 + LEAST_TEXT + 9;
/// The minimum width of a note. A shorter one is left out.
const LEAST_NOTE: usize = 10;

/// Information to show besides the hits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras {
    /// Set to explain the score of each hit.
    pub explain: bool,
    /// The time taken, in milliseconds.
    pub elapsed_ms: f64,
}

/// A line of a block: a hit, or a message near one.
#[derive(Clone, Copy)]
enum Entry<'a> {
    Hit(&'a Hit),
    Near(&'a NearbyMessage),
}

impl Entry<'_> {
    fn uuid(&self) -> Option<&Untrusted> {
        match self {
            Self::Hit(hit) => hit.uuid.as_ref(),
            Self::Near(near) => near.uuid.as_ref(),
        }
    }

    fn time(&self) -> Option<i64> {
        match self {
            Self::Hit(hit) => hit.timestamp,
            Self::Near(near) => near.timestamp,
        }
    }
}

/// Returns hits with the messages around them, best first. Blocks that overlap are merged in the order of time, as grep
/// does.
fn blocks(hits: &[Hit]) -> Vec<Vec<Entry<'_>>> {
    let mut blocks: Vec<Vec<Entry<'_>>> = Vec::new();
    for hit in hits {
        let (before, after) = (hit.before.iter().map(Entry::Near), hit.after.iter().map(Entry::Near));
        let block: Vec<Entry<'_>> = before.chain([Entry::Hit(hit)]).chain(after).collect();
        let is_same = |a: &Entry<'_>, b: &Entry<'_>| a.uuid().is_some() && a.uuid() == b.uuid();
        let overlaps = |known: &&mut Vec<Entry<'_>>| known.iter().any(|a| block.iter().any(|b| is_same(a, b)));
        let Some(known) = blocks.iter_mut().find(overlaps) else {
            blocks.push(block);
            continue;
        };
        for entry in block {
            match known.iter().position(|other| is_same(other, &entry)) {
                // A hit is shown as a hit, even if it is near another one.
                Some(at) if matches!(entry, Entry::Hit(_)) => known[at] = entry,
                Some(_) => {}
                None => known.push(entry),
            }
        }
        known.sort_by_key(Entry::time);
    }
    blocks
}

impl Screen {
    fn entry(&self, out: &mut dyn Write, entry: Entry<'_>, extras: Extras) -> io::Result<()> {
        match entry {
            Entry::Near(near) => self.near_line(out, near),
            Entry::Hit(hit) => {
                self.hit_line(out, hit)?;
                if extras.explain { writeln!(out, "    {DIM}{}{DIM:#}", why(hit)) } else { Ok(()) }
            }
        }
    }

    /// Shows search results, grouped by session.
    pub fn search(&self, out: &mut dyn Write, response: &SearchAnswer, extras: Extras) -> io::Result<()> {
        if extras.explain && response.by_said {
            writeln!(out, "{DIM}{BY_SAID}{DIM:#}\n")?;
        }
        for session in &response.sessions {
            self.session_line(out, &session.session)?;
            for (at, block) in blocks(&session.hits).iter().enumerate() {
                if at > 0 && block.len() > 1 {
                    writeln!(out, "  {DIM}--{DIM:#}")?;
                }
                block.iter().try_for_each(|entry| self.entry(out, *entry, extras))?;
            }
            let more = session.total - session.hits.len();
            if more > 0 {
                writeln!(
                    out,
                    "  {DIM}… and {} more {}{DIM:#}",
                    thousands(more as u64),
                    if more == 1 { "hit" } else { "hits" }
                )?;
            }
            writeln!(out)?;
        }
        let hits = count(response.total_hits, "hit");
        let sessions = count(response.total_sessions, "session");
        let some = if response.notes.contains(&Note::Incomplete) { "at least " } else { "" };
        let mut facts = vec![format!("{some}{hits} in {sessions} ({:.0} ms)", extras.elapsed_ms)];
        facts.extend(response.next.as_ref().map(|cursor| format!("next: --cursor {cursor}")));
        facts.extend(resume(response));
        wrapped(&facts, self.width).iter().try_for_each(|line| writeln!(out, "{DIM}{line}{DIM:#}"))
    }

    pub(in crate::render) fn session_line(&self, out: &mut dyn Write, session: &SessionInfo) -> io::Result<()> {
        let names = vec![self.project(&session.project), session.branch.line()];
        let mut facts = vec![session.last.map(|last| self.age(last)).unwrap_or_default(), short(&session.id)];
        if session.history_only {
            facts.push("only its prompts are left".to_string());
        } else if session.gone {
            facts.push("transcript deleted".to_string());
        } else if session.agents_only {
            facts.push("subagents only".to_string());
        }
        let title = if session.title.is_empty() { "(untitled)".to_string() } else { session.title.line() };
        let rest = self.width.saturating_sub(LEAST_TITLE + 2);
        if fitted(Vec::new(), facts.clone(), rest).width() > rest {
            writeln!(out, "{TITLE}{}{TITLE:#}", cut(&title, self.width))?;
            return wrapped(&facts, self.width - 2).iter().try_for_each(|line| writeln!(out, "  {DIM}{line}{DIM:#}"));
        }
        let facts = fitted(names, facts, rest);
        let room = self.width.saturating_sub(facts.width() + 2).max(LEAST_TITLE);
        writeln!(out, "{TITLE}{}{TITLE:#}  {DIM}{facts}{DIM:#}", cut(&title, room))
    }

    /// Writes a message near a hit, dimmed.
    fn near_line(&self, out: &mut dyn Write, near: &NearbyMessage) -> io::Result<()> {
        let (who, _) = who(near.role, near.kind, near.tool.as_ref());
        let when = self.when_column(near.timestamp);
        let room = self.width.saturating_sub(2 + WHO_WIDTH + 1 + when.width()).max(LEAST_TEXT);
        let result = near.result.as_ref().map(|result| format!(" → {}", result.line())).unwrap_or_default();
        let text = match result.is_empty() {
            true => cut(&near.text.line(), room),
            false => format!("{}{}", cut(&near.text.line(), room / 2), cut(&result, room - room / 2)),
        };
        writeln!(out, "  {DIM}{} {when}{text}{DIM:#}", pad(&who, WHO_WIDTH))
    }

    /// Returns the padded time column, or nothing on a narrow screen.
    fn when_column(&self, time: Option<i64>) -> String {
        let when = time.map(|time| self.moment(time)).unwrap_or_default();
        if self.width < NARROW { String::new() } else { format!("{}  ", pad(&when, WHEN_WIDTH)) }
    }

    fn hit_line(&self, out: &mut dyn Write, hit: &Hit) -> io::Result<()> {
        let (who, style) = who(hit.role, hit.kind, hit.tool.as_ref());
        let when = self.when_column(hit.timestamp);
        let lead = 2 + WHO_WIDTH + 1 + when.width();
        write!(out, "  {style}{}{style:#} ", pad(&who, WHO_WIDTH))?;
        if !when.is_empty() {
            write!(out, "{DIM}{when}{DIM:#}")?;
        }
        let mut notes = String::new();
        if hit.weak {
            notes.push_str(" [weak]");
        }
        if hit.error {
            notes.push_str(" [failed]");
        }
        if let Some(title) = hit.agent_title.as_ref().filter(|_| hit.agent.is_some()) {
            notes.push_str(&format!(" [agent: {}]", cut(&title.line(), 30)));
        }
        if !hit.also_in.is_empty() {
            let ids: Vec<String> = hit.also_in.iter().take(3).map(|id| id.line().chars().take(8).collect()).collect();
            let dots = if hit.also_in.len() > 3 { ", …" } else { "" };
            notes.push_str(&format!(" [also in {}{dots}]", ids.join(", ")));
        }
        let beside = self.width.saturating_sub(lead + LEAST_TEXT);
        notes = if notes.width() > beside && beside < LEAST_NOTE { String::new() } else { cut(&notes, beside) };
        let room = self.width.saturating_sub(lead + notes.width()).max(LEAST_TEXT);
        self.marked(out, hit, room)?;
        if notes.is_empty() { writeln!(out) } else { writeln!(out, "{DIM}{notes}{DIM:#}") }
    }

    /// Writes a snippet with its matches highlighted, cut to `room` columns.
    fn marked(&self, out: &mut dyn Write, hit: &Hit, room: usize) -> io::Result<()> {
        let snippet = &hit.snippet;
        let mut room = room.saturating_sub(2);
        let (from, cut_before) =
            first_shown(&snippet.text, snippet.ranges.first().map_or(0, |range| range.0), room, snippet.cut_before);
        if cut_before {
            write!(out, "…")?;
        }
        let mut at = from;
        let stops = snippet
            .ranges
            .iter()
            .filter(|range| range.1 > from)
            .flat_map(|(start, end)| [((*start).max(from), false), (*end, true)]);
        for (stop, is_mark) in stops.chain([(snippet.text.len(), false)]) {
            let piece = for_terminal(&snippet.text[at..stop]);
            let shown = cut_width(&piece, room);
            room -= shown.width();
            if is_mark {
                write!(out, "{MARK}{shown}{MARK:#}")?;
            } else {
                write!(out, "{shown}")?;
            }
            if shown.len() < piece.len() {
                return write!(out, "…");
            }
            at = stop;
        }
        if snippet.cut_after { write!(out, "…") } else { Ok(()) }
    }
}

/// Writes one tab-separated line per hit, for pipes: session, time, speaker, project and the whole snippet.
pub fn plain(out: &mut dyn Write, response: &SearchAnswer) -> io::Result<()> {
    for SessionHits { session, hits, .. } in &response.sessions {
        for hit in hits {
            let time = hit.timestamp.map(timestamp).unwrap_or_default();
            let project = hit.project.as_ref().map(Untrusted::line).unwrap_or_default();
            writeln!(
                out,
                "{}\t{time}\t{}\t{project}\t{}",
                session.id.line(),
                who(hit.role, hit.kind, hit.tool.as_ref()).0,
                one_line(&hit.snippet.text)
            )?;
        }
    }
    Ok(())
}

/// Writes one entry per session: its id, its number of hits, or the paths of its files. Paths are written byte for byte
/// for programs, and made safe for a terminal for people.
pub fn sessions(
    out: &mut dyn Write,
    response: &SearchAnswer,
    what: Listing,
    end: u8,
    for_people: bool,
) -> io::Result<()> {
    let mut paths = std::collections::BTreeSet::new();
    for SessionHits { session, hits, total } in &response.sessions {
        match what {
            Listing::Ids => write!(out, "{}", session.id.line())?,
            Listing::Counts => write!(out, "{}\t{total}", session.id.line())?,
            Listing::Paths => {
                for hit in hits.iter().filter(|hit| !hit.gone && paths.insert(hit.path.clone())) {
                    match for_people {
                        true => write!(out, "{}", Untrusted::path(&hit.path).line())?,
                        false => write_path(out, &hit.path)?,
                    }
                    out.write_all(&[end])?;
                }
                continue;
            }
        }
        out.write_all(&[end])?;
    }
    Ok(())
}

/// The entry to list for each session.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Listing {
    /// Its id.
    Ids,
    /// The transcripts that contain its hits, if they still exist.
    Paths,
    /// Its id and the number of its hits.
    Counts,
}

/// Writes a path byte for byte, for programs.
#[cfg(unix)]
fn write_path(out: &mut dyn Write, path: &std::path::Path) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    out.write_all(path.as_os_str().as_bytes())
}

#[cfg(not(unix))]
fn write_path(out: &mut dyn Write, path: &std::path::Path) -> io::Result<()> {
    write!(out, "{}", path.display())
}

/// Formats a suggestion as one line.
pub fn suggestion(suggestion: &Suggestion) -> String {
    let query = suggestion.query.as_ref().map(|query| format!(": {query}")).unwrap_or_default();
    format!("{}{query} ({})", suggestion.change, count(suggestion.hits, "hit"))
}

/// Returns the command that resumes a session. It is shown once, because each session shows its id next to its title.
fn resume(response: &SearchAnswer) -> Option<String> {
    let sessions = response.sessions.iter().map(|found| &found.session);
    let mut ids: Vec<String> =
        sessions.filter(|session| session.can_be_resumed()).map(|session| short(&session.id)).collect();
    ids.dedup();
    let id = match ids.as_slice() {
        [] => return None,
        [only] => only,
        _ => "ID",
    };
    Some(format!("unspool resume {id}"))
}

/// Explains the score of a hit.
fn why(hit: &Hit) -> String {
    match hit.factors {
        Some(f) => {
            let said = if f.said == 1.0 { String::new() } else { format!(" × said {:.3}", f.said) };
            format!(
                "score {:.2} = words {:.2} × title {:.1} × lift {:.2} × kind {:.2} × coverage {:.2} × verbatim {:.1} × age {:.2}{said}",
                hit.score, f.words, f.title, f.lift, f.kind, f.coverage, f.verbatim, f.age
            )
        }
        None => format!("score {:.2}, not rescored", hit.score),
    }
}

fn short(id: &Untrusted) -> String {
    id.line().chars().take(8).collect()
}

/// Returns a short name for the speaker, and its style.
pub(in crate::render) fn who(role: Role, kind: Kind, tool: Option<&Untrusted>) -> (String, Style) {
    let tool = || tool.map(|tool| cut(&tool.line(), WHO_WIDTH));
    match (role, kind) {
        (_, Kind::Title) => ("title".into(), TITLE),
        (_, Kind::Compaction) => ("summary".into(), MODEL),
        (_, Kind::Recap) => ("recap".into(), MODEL),
        (_, Kind::Bad | Kind::Oversized) => ("bad line".into(), BAD),
        (_, Kind::Link) => ("link".into(), MODEL),
        (Role::Human, _) => ("you".into(), PERSON),
        (Role::Programmatic, _) => ("program".into(), PERSON),
        (Role::Assistant, Kind::Thinking) => ("thinking".into(), DIM),
        (Role::Assistant, _) => ("claude".into(), MODEL),
        (Role::Subagent, _) => ("agent".into(), MODEL),
        (Role::Tool, Kind::ToolResult) => {
            (tool().map_or("result".into(), |tool| cut(&format!("{tool} →"), WHO_WIDTH)), TOOL)
        }
        (Role::Tool, Kind::Output) => ("output".into(), TOOL),
        (Role::Tool, _) => (tool().unwrap_or("tool".into()), TOOL),
        (Role::Meta, _) => ("meta".into(), DIM),
    }
}

/// Returns the offset to start at so that the first match is visible, and whether text before it is cut.
fn first_shown(text: &str, mark: usize, room: usize, cut_before: bool) -> (usize, bool) {
    if text[..mark].width() < room * 2 / 3 {
        return (0, cut_before);
    }
    let mut from = mark;
    let mut width = 0;
    for (at, c) in text[..mark].char_indices().rev() {
        width += c.width().unwrap_or(0);
        if width > room / 3 {
            break;
        }
        from = at;
    }
    (from, true)
}
