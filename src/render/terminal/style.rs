//! Styles and layout helpers for the terminal, and the screens of `status`, `index` and `verify`.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::archive::status::Status;
use crate::archive::verify::Verdict;
use crate::error::Problem;
pub use crate::units::{bytes, count, thousands};
use crate::untrusted::{Untrusted, one_line};
use crate::update::{Lag, Report};

/// Display settings: the terminal, the time and the home folder.
#[derive(Clone, Debug)]
pub struct Screen {
    /// The width in columns.
    pub width: usize,
    /// The current time, in milliseconds since 1970.
    pub now: i64,
    /// The time zone.
    pub zone: jiff::tz::TimeZone,
    /// The user's home, shown as `~`.
    pub home: Option<String>,
    /// Set if the terminal can only show ASCII. Charts then use ASCII characters.
    pub ascii: bool,
}

pub(in crate::render) const TITLE: Style = Style::new().bold();
pub(in crate::render) const DIM: Style = Style::new().dimmed();
pub(in crate::render) const MARK: Style = AnsiColor::Yellow.on_default().bold();
pub(in crate::render) const PERSON: Style = AnsiColor::Green.on_default();
pub(in crate::render) const MODEL: Style = AnsiColor::Cyan.on_default();
pub(in crate::render) const TOOL: Style = AnsiColor::Magenta.on_default();
pub(in crate::render) const ADDED: Style = AnsiColor::Green.on_default();
pub(in crate::render) const REMOVED: Style = AnsiColor::Red.on_default();
pub(in crate::render) const BAD: Style = AnsiColor::Red.on_default();

impl Screen {
    /// Returns the last folder of a project's path, or `~` for the home folder.
    pub fn project(&self, project: &Untrusted) -> String {
        let line = project.line();
        let name = line.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or_default();
        if self.home.as_deref() == Some(project.raw()) { "~".to_string() } else { cut(name, 32) }
    }

    /// Returns a path, with `~` for the user's home.
    pub fn path(&self, path: &std::path::Path) -> String {
        let shown = Untrusted::path(path).line();
        match self.home.as_deref().and_then(|home| shown.strip_prefix(home)).filter(|rest| rest.starts_with('/')) {
            Some(rest) => format!("~{rest}"),
            None => shown,
        }
    }

    /// Formats a past time relative to now, in the largest unit that fits.
    pub fn age(&self, time: i64) -> String {
        let seconds = (self.now - time).max(0) / 1000;
        let (number, unit) = match seconds {
            0..60 => return "just now".to_string(),
            60..3600 => (seconds / 60, "minute"),
            3600..86_400 => (seconds / 3600, "hour"),
            86_400..2_592_000 => (seconds / 86_400, "day"),
            2_592_000..31_536_000 => (seconds / 2_592_000, "month"),
            _ => (seconds / 31_536_000, "year"),
        };
        format!("{} ago", count(usize::try_from(number).unwrap_or(0), unit))
    }

    /// Formats a time: only the time of day if it is today, with the date otherwise.
    pub fn moment(&self, time: i64) -> String {
        let zoned = |ms| jiff::Timestamp::from_millisecond(ms).map(|time| time.to_zoned(self.zone.clone()));
        let (Ok(time), Ok(now)) = (zoned(time), zoned(self.now)) else { return String::new() };
        if time.date() == now.date() {
            time.strftime("%H:%M").to_string()
        } else if time.year() == now.year() {
            time.strftime("%b %e %H:%M").to_string()
        } else {
            time.strftime("%Y-%m-%d").to_string()
        }
    }

    /// Writes a name and a value.
    pub fn row(&self, out: &mut dyn Write, name: &str, value: &str) -> io::Result<()> {
        writeln!(out, "{DIM}{name:<12}{DIM:#} {}", one_line(value))
    }

    /// Formats the day of a time.
    pub(in crate::render) fn day(&self, time: i64) -> String {
        let zoned = jiff::Timestamp::from_millisecond(time).map(|time| time.to_zoned(self.zone.clone()));
        zoned.map(|time| time.strftime("%a %Y-%m-%d").to_string()).unwrap_or_default()
    }

    /// Formats the time of day.
    pub(in crate::render) fn clock(&self, time: i64) -> String {
        let zoned = jiff::Timestamp::from_millisecond(time).map(|time| time.to_zoned(self.zone.clone()));
        zoned.map(|time| time.strftime("%H:%M").to_string()).unwrap_or_default()
    }

    /// Formats a duration in its largest unit.
    pub(in crate::render) fn span(&self, ms: i64) -> String {
        let ago = self.age(self.now.saturating_sub(ms));
        ago.strip_suffix(" ago").unwrap_or(&ago).to_string()
    }

    /// Shows the status of an index.
    pub fn status(
        &self,
        out: &mut dyn Write,
        index: &std::path::Path,
        roots: &[String],
        status: &Status,
    ) -> io::Result<()> {
        let row = |out: &mut dyn Write, name: &str, value: String| writeln!(out, "{DIM}{name:<12}{DIM:#} {value}");
        row(out, "index", self.path(index))?;
        row(out, "roots", roots.iter().map(|root| one_line(root)).collect::<Vec<_>>().join(", "))?;
        let size = &status.size;
        let share = if status.source_bytes > 0 {
            format!(", {:.1} % of the transcript size", 100.0 * size.bytes as f64 / status.source_bytes as f64)
        } else {
            String::new()
        };
        row(out, "size", format!("{} in {}{share}", bytes(size.bytes), count(size.segments, "segment")))?;
        row(
            out,
            "contents",
            format!(
                "{} from {}, {}, {}",
                count(size.documents as usize, "document"),
                count(status.sessions, "session"),
                count(status.agents, "subagent"),
                count(status.spills, "spilled output")
            ),
        )?;
        if status.gone_sessions > 0 {
            row(
                out,
                "kept",
                format!("{} whose transcript Claude Code has deleted", count(status.gone_sessions, "session")),
            )?;
        }
        let lag = if status.lag == Lag::default() { "up to date".to_string() } else { status.lag.to_string() };
        row(out, "state", lag)?;
        let problems = status.problems.len();
        row(
            out,
            "problems",
            if problems == 0 {
                "none".to_string()
            } else {
                format!("{problems} (`unspool status --problems` lists them)")
            },
        )
    }

    /// Lists problems, one per line.
    pub fn problems(&self, out: &mut dyn Write, problems: &[Problem]) -> io::Result<()> {
        for problem in problems {
            let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
            writeln!(out, "{}{line}: {BAD}{}{BAD:#}", self.path(&problem.path), one_line(&problem.reason))?;
        }
        Ok(())
    }

    /// Shows the report of an index run.
    pub fn report(&self, out: &mut dyn Write, report: &Report, seconds: f64) -> io::Result<()> {
        let mut parts = Vec::new();
        for (number, what) in [
            (report.new, "new"),
            (report.grown, "grown"),
            (report.rewritten, "changed"),
            (report.moved, "moved"),
            (report.gone, "deleted by Claude Code and kept"),
            (report.failed, "failed"),
            (report.unchanged, "unchanged"),
        ] {
            if number > 0 {
                parts.push(format!("{} {what}", thousands(number as u64)));
            }
        }
        if let Some(why) = report.rebuilt.as_deref().filter(|_| !report.interrupted) {
            writeln!(out, "built a new index: {}", one_line(why))?;
        }
        let parts = if parts.is_empty() { "no files found".to_string() } else { parts.join(", ") };
        let files = count(report.files, "file");
        if report.interrupted && report.rebuilt.is_some() {
            writeln!(out, "interrupted before the new index was complete; it was discarded")?;
            return self.problems(out, &report.problems);
        }
        if report.interrupted {
            let done = report.new + report.grown + report.rewritten + report.moved + report.failed + report.unchanged;
            write!(out, "interrupted after {} of {files} ({parts})", thousands(done as u64))?;
        } else {
            write!(out, "indexed {files} ({parts})")?;
        }
        let documents = count(report.documents as usize, "document");
        write!(out, ": {documents} from {} in {seconds:.1} s", bytes(report.bytes))?;
        if report.interrupted {
            write!(out, "; the next run continues from there")?;
        }
        if report.carried > 0 {
            write!(out, "; {} copied from the old index", count(report.carried as usize, "document"))?;
        }
        writeln!(out)?;
        let bad = report.bad + report.oversized;
        if bad > 0 {
            let (what, them) = if bad == 1 { ("a record", "it") } else { ("records", "them") };
            let lines = count(bad as usize, "line");
            writeln!(out, "{lines} could not be read as {what}; `unspool status --problems` lists {them}")?;
        }
        self.problems(out, &report.problems)
    }

    /// Shows the result of a check.
    pub fn verdict(&self, out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
        self.problems(out, &verdict.problems)?;
        let state =
            if verdict.problems.is_empty() { "ok".to_string() } else { count(verdict.problems.len(), "problem") };
        writeln!(
            out,
            "{state}: {} and {} checked",
            count(verdict.files, "file"),
            count(verdict.documents as usize, "document")
        )
    }
}

/// Cuts a text to a width, with an ellipsis at the cut.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width { text.to_string() } else { format!("{}…", cut_width(text, width.saturating_sub(1))) }
}

/// Joins names and facts with dots in one line. If they are too wide, cuts the widest name. If that is not enough,
/// drops the last name.
pub(in crate::render) fn fitted(mut names: Vec<String>, mut facts: Vec<String>, width: usize) -> String {
    names.retain(|name| !name.is_empty());
    facts.retain(|fact| !fact.is_empty());
    let wide = |all: &[String]| all.iter().map(|part| part.width() + 3).sum::<usize>();
    while wide(&names) + wide(&facts) > width + 3 {
        let excess = wide(&names) + wide(&facts) - width - 3;
        let Some(widest) = names.iter_mut().max_by_key(|name| name.width()) else { break };
        // A shorter name would say nothing.
        let room = widest.width().saturating_sub(excess).max(10);
        if room < widest.width() {
            *widest = cut(widest, room);
        } else {
            names.pop();
        }
    }
    names.append(&mut facts);
    names.join(" · ")
}

/// Joins facts with dots, over as many lines as necessary.
pub(in crate::render) fn wrapped(facts: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for fact in facts {
        match lines.last_mut().filter(|line| line.width() + 3 + fact.width() <= width) {
            Some(line) => {
                line.push_str(" · ");
                line.push_str(fact);
            }
            None => lines.push(fact.clone()),
        }
    }
    lines
}

pub(in crate::render) fn cut_width(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > width {
            return &text[..at];
        }
    }
    text
}

pub(in crate::render) fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_name_is_cut() {
        for (names, facts, width, expected) in [
            (&["shop", "main"][..], &["2 days ago"][..], 40, "shop · main · 2 days ago"),
            (&["shop", ""], &["2 days ago"], 40, "shop · 2 days ago"),
            (&["shop", "feature/a-very-long-name"], &["2 days ago"], 36, "shop · feature/a-very-… · 2 days ago"),
            (&["a-project-with-a-name", "a-branch-with-a-name"], &[], 23, "a-project… · a-branch-…"),
            (&["a-project-with-a-name", "a-branch-with-a-name"], &["deleted"], 24, "a-project… · deleted"),
            (&["shop", "main"], &["2 days ago"], 4, "2 days ago"),
        ] {
            let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
            assert_eq!(fitted(owned(names), owned(facts), width), expected);
        }
    }

    #[test]
    fn reports_say_how_far_a_run_got() {
        let screen = Screen { width: 80, now: 0, zone: jiff::tz::TimeZone::UTC, home: None, ascii: false };
        let report = Report { files: 140, new: 33, documents: 9, bytes: 2_000_000, ..Report::default() };
        let interrupted = Report { interrupted: true, bad: 1, ..report.clone() };
        let rebuilding = Report { interrupted: true, rebuilt: Some("requested".into()), ..report.clone() };
        for (report, expected) in [
            (
                Report { bad: 2, ..report },
                "indexed 140 files (33 new): 9 documents from 2.0 MB in 1.0 s\n2 lines could not be read as records; `unspool status --problems` lists them\n",
            ),
            (
                interrupted,
                "interrupted after 33 of 140 files (33 new): 9 documents from 2.0 MB in 1.0 s; the next run continues from there\n1 line could not be read as a record; `unspool status --problems` lists it\n",
            ),
            (rebuilding, "interrupted before the new index was complete; it was discarded\n"),
        ] {
            let mut out = Vec::new();
            screen.report(&mut out, &report, 1.0).expect("written");
            assert_eq!(String::from_utf8_lossy(&out), expected);
        }
    }
}
