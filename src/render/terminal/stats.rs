//! Shows statistics on a terminal: a summary on one screen, or a table by day, project, model and so on.

use std::io::{self, Write};

use jiff::ToSpan as _;
use jiff::civil::Date;
use unicode_width::UnicodeWidthStr as _;

use crate::archive::stats::{By, Figures, Group, PRICES_OF, Stats, Tokens, WEEKDAYS};
use crate::render::charts::{Shades, bar, duration, shade, short, sparkline, squeezed};
use crate::render::terminal::style::{DIM, PERSON, Screen, TITLE, count, cut, pad, thousands};
use crate::untrusted::Untrusted;

/// The number of models, projects, tools and files in the summary.
const SHOWN: usize = 5;
/// The maximum number of weeks in the calendar.
const WEEKS: usize = 53;
/// The minimum width for numbers with all digits.
const WIDE: usize = 110;

impl Screen {
    /// Shows the summary on one screen.
    pub fn stats(&self, out: &mut dyn Write, stats: &Stats) -> io::Result<()> {
        self.summary(out, stats)?;
        self.models(out, stats)?;
        self.projects(out, stats)?;
        self.tools_and_files(out, stats)?;
        self.calendar(out, stats)?;
        self.patterns(out, stats)
    }

    fn summary(&self, out: &mut dyn Write, stats: &Stats) -> io::Result<()> {
        let Figures { prompts, responses, tool_calls, tool_errors, tokens, .. } = stats.total;
        let row = |out: &mut dyn Write, name: &str, value: String| writeln!(out, "{DIM}{name:<9}{DIM:#} {value}");
        if let Some((first, last)) = stats.span {
            let today = self.today().unwrap_or(last);
            let (longest, current) = stats.streaks(today);
            let streak = match (longest, current) {
                (..2, _) => String::new(),
                (_, 0 | 1) => format!(", longest streak {longest}"),
                _ => format!(", longest streak {longest}, current streak {current}"),
            };
            row(out, "time", format!("{first} to {last}, {}{streak}", count(stats.days.len(), "active day")))?;
        }
        let sessions = count(as_usize(stats.sessions), "session");
        row(
            out,
            "activity",
            format!("{} in {sessions}, {}", count(as_usize(prompts), "prompt"), count(as_usize(responses), "response")),
        )?;
        let failed =
            if tool_errors > 0 { format!(", {} failed", percent(tool_errors, tool_calls)) } else { String::new() };
        row(out, "tools", format!("{}{failed}", count(as_usize(tool_calls), "tool call")))?;
        if stats.turns.count > 0 {
            let (median, most) = (duration(stats.turns.median), duration(stats.turns.p90));
            row(out, "turns", format!("median {median}, 90 % within {most}"))?;
        }
        row(out, "tokens", format!("{TITLE}{}{TITLE:#}  {DIM}{}{DIM:#}", short(tokens.total()), parts(&tokens)))?;
        if let Some(rate) = tokens.hit_rate() {
            row(out, "cache", format!("{:.1} % of the input came from the cache", rate * 100.0))?;
        }
        row(out, "cost", format!("{TITLE}{}{TITLE:#}  {DIM}{}{DIM:#}", money(&stats.total), self.cost_note(stats)))
    }

    fn cost_note(&self, stats: &Stats) -> String {
        let unpriced = stats.total.unpriced;
        let without = if unpriced > 0 { format!("; {} tokens unpriced", short(unpriced)) } else { String::new() };
        format!("estimated from API prices of {PRICES_OF}{without}")
    }

    fn models(&self, out: &mut dyn Write, stats: &Stats) -> io::Result<()> {
        let (first, last) = match stats.span {
            Some(span) if !stats.models.is_empty() => span,
            _ => return Ok(()),
        };
        let columns = self.width.saturating_sub(66).clamp(8, 40);
        let rows = stats.models.iter().zip(&stats.model_days).take(SHOWN + 1).map(|(group, days)| {
            let line = sparkline(&squeezed(&by_week(days, first, last), columns), self.ascii);
            let Figures { responses, tokens, .. } = group.figures;
            vec![
                name_of(&group.key),
                thousands(responses),
                short(tokens.total()),
                short(tokens.output),
                money(&group.figures),
                line,
            ]
        });
        let rest = stats.models.len().saturating_sub(SHOWN + 1);
        let head = ["model", "responses", "tokens", "output", "cost", "over time"];
        self.table(out, &head, "lrrrrl", &rows.collect::<Vec<_>>(), rest)
    }

    fn projects(&self, out: &mut dyn Write, stats: &Stats) -> io::Result<()> {
        let most = stats.projects.first().map_or(0, |group| weight(&group.figures));
        let room = self.width.saturating_sub(66).clamp(8, 40);
        let rows = stats.projects.iter().take(SHOWN).map(|group| {
            let Figures { prompts, tokens, .. } = group.figures;
            let bar = bar(weight(&group.figures), most, room, self.ascii);
            let project = tail(&self.folder(&group.key), 28);
            vec![project, thousands(prompts), short(tokens.total()), short(tokens.output), money(&group.figures), bar]
        });
        let head = ["project", "prompts", "tokens", "output", "cost", ""];
        let rest = stats.projects.len().saturating_sub(SHOWN);
        self.table(out, &head, "lrrrrl", &rows.collect::<Vec<_>>(), rest)
    }

    fn tools_and_files(&self, out: &mut dyn Write, stats: &Stats) -> io::Result<()> {
        let most = stats.tools.first().map_or(0, |tool| tool.calls);
        let room = self.width.saturating_sub(56).clamp(8, 40);
        let rows = stats.tools.iter().take(SHOWN).map(|tool| {
            let bar = bar(tool.calls, most, room, self.ascii);
            vec![cut(&name_of(&tool.name), 28), thousands(tool.calls), percent(tool.errors, tool.calls), bar]
        });
        let rest = stats.tools.len().saturating_sub(SHOWN);
        self.table(out, &["tool", "calls", "failed", ""], "lrrl", &rows.collect::<Vec<_>>(), rest)?;
        let rows = stats.files.iter().take(SHOWN);
        let rows =
            rows.map(|file| vec![tail(&self.folder(&file.path), self.width.saturating_sub(10)), thousands(file.edits)]);
        self.table(out, &["most edited file", "edits"], "lr", &rows.collect::<Vec<_>>(), 0)
    }

    /// Shows a calendar of up to a year, one column per week.
    fn calendar(&self, out: &mut dyn Write, stats: &Stats) -> io::Result<()> {
        let Some((first, last)) = stats.span else { return Ok(()) };
        let weeks = WEEKS.min(self.width.saturating_sub(6));
        let from = last.checked_sub(((weeks - 1) as i64).weeks()).unwrap_or(first).max(first);
        let mondays: Vec<Date> = std::iter::successors(Some(monday_of(from)), |monday| next_week(*monday))
            .take_while(|monday| *monday <= last)
            .collect();
        let value = |date: Date| stats.days.get(&date).map_or(0, |figures| figures.responses.max(figures.prompts));
        let shades = Shades::of(stats.days.values().map(|figures| figures.responses.max(figures.prompts)));
        writeln!(out, "\n{DIM}{:<5}{}{DIM:#}", "", months(&mondays))?;
        for (place, name) in WEEKDAYS.iter().enumerate() {
            write!(out, "{DIM}{name:<5}{DIM:#}")?;
            for monday in &mondays {
                let date = monday.checked_add((place as i64).days()).unwrap_or(*monday);
                if date < first || date > last {
                    write!(out, " ")?;
                } else {
                    let level = shades.level(value(date));
                    let style = if level == 0 { DIM } else { PERSON };
                    write!(out, "{style}{}{style:#}", shade(level, self.ascii))?;
                }
            }
            writeln!(out)?;
        }
        let legend: String = (0..5).map(|level| shade(level, self.ascii)).collect();
        writeln!(out, "{DIM}     responses per day, less {legend} more{DIM:#}")
    }

    /// Shows prompts by hour and by weekday.
    fn patterns(&self, out: &mut dyn Write, stats: &Stats) -> io::Result<()> {
        let hours = stats.hours.map(|figures| figures.prompts);
        let days = stats.weekdays.map(|figures| figures.prompts);
        let Some(busiest) = hours.iter().max().filter(|most| **most > 0) else { return Ok(()) };
        let hour = hours.iter().position(|prompts| prompts == busiest).unwrap_or(0);
        let wide: Vec<u64> = hours.iter().flat_map(|value| [*value, *value]).collect();
        writeln!(
            out,
            "\n{DIM}prompts by hour{DIM:#}   {}  {DIM}most at {hour}:00{DIM:#}",
            sparkline(&wide, self.ascii)
        )?;
        writeln!(out, "{DIM}{:<18}0           6           12          18{DIM:#}", "")?;
        let line = sparkline(&days, self.ascii);
        let named = WEEKDAYS.iter().zip(line.chars()).map(|(name, column)| format!("{name} {column}{column}"));
        writeln!(out, "{DIM}prompts by day{DIM:#}    {}", named.collect::<Vec<_>>().join("  "))
    }

    /// Shows a table with one row per group.
    pub fn groups(&self, out: &mut dyn Write, stats: &Stats, by: By, limit: usize) -> io::Result<()> {
        if by == By::Tool {
            return self.by_tool(out, stats, limit);
        }
        let mut groups = stats.groups(by);
        let is_time = matches!(by, By::Day | By::Week | By::Month);
        let rest = groups.len().saturating_sub(limit);
        if is_time {
            groups.drain(..rest);
        } else {
            groups.truncate(limit);
        }
        let mut head = vec!["prompts", "resp.", "input", "cache w", "cache r", "output", "cost"];
        let all = groups.iter().map(|group| &group.figures).chain([&stats.total]);
        let mut rows: Vec<Vec<String>> = all.map(|figures| self.cells(figures)).collect();
        if by == By::Model {
            // Prompts are not counted by model.
            head.remove(0);
            rows.iter_mut().for_each(|row| drop(row.remove(0)));
        }
        let taken: usize = (0..head.len()).map(|column| 2 + widest(&head, &rows, column)).sum();
        let names: Vec<String> = groups.iter().map(|group| self.group_name(group, by)).collect();
        let longest = names.iter().map(|name| name.width()).chain([by.name().len()]).max().unwrap_or(0);
        let room = self.width.saturating_sub(taken).clamp(14, 60).min(longest);
        let spare = self.width.saturating_sub(taken + room + 2).min(40);
        let most = groups.iter().map(|group| weight(&group.figures)).max().unwrap_or(0);
        let fit = if by == By::Project { tail } else { cut };
        for (at, row) in rows.iter_mut().enumerate() {
            row.insert(0, names.get(at).map_or("total".to_string(), |name| fit(name, room)));
            let figures = groups.get(at).filter(|_| spare >= 4).map(|group| weight(&group.figures));
            row.push(figures.map(|value| bar(value, most, spare, self.ascii)).unwrap_or_default());
        }
        if !is_time && rest > 0 {
            rows.insert(groups.len(), vec![format!("… {} more", thousands(rest as u64))]);
        }
        head.insert(0, by.name());
        head.push("");
        if is_time && rest > 0 {
            writeln!(out, "{DIM}… {}{DIM:#}", count(rest, &format!("earlier {}", by.name())))?;
        }
        let align = format!("l{}l", "r".repeat(head.len() - 2));
        self.table(out, &head, &align, &rows, 0)?;
        writeln!(out, "{DIM}cost: {}{DIM:#}", self.cost_note(stats))
    }

    /// Returns the table cells of a group.
    fn cells(&self, figures: &Figures) -> Vec<String> {
        let number = |value: u64| if self.width >= WIDE { thousands(value) } else { short(value) };
        let Tokens { input, cache_write, cache_read, output, .. } = figures.tokens;
        let mut row = vec![thousands(figures.prompts), thousands(figures.responses)];
        row.extend([input, cache_write, cache_read, output].map(number));
        row.push(money(figures));
        row
    }

    fn by_tool(&self, out: &mut dyn Write, stats: &Stats, limit: usize) -> io::Result<()> {
        let most = stats.tools.first().map_or(0, |tool| tool.calls);
        let room = self.width.saturating_sub(66).clamp(4, 40);
        let rows = stats.tools.iter().take(limit).map(|tool| {
            let name = cut(&name_of(&tool.name), 40);
            let failed = percent(tool.errors, tool.calls);
            vec![name, thousands(tool.calls), thousands(tool.errors), failed, bar(tool.calls, most, room, self.ascii)]
        });
        let rest = stats.tools.len().saturating_sub(limit);
        self.table(out, &["tool", "calls", "failed", "", ""], "lrrrl", &rows.collect::<Vec<_>>(), rest)
    }

    fn group_name(&self, group: &Group, by: By) -> String {
        match by {
            By::Project => self.folder(&group.key),
            By::Session => {
                let id: String = group.key.line().chars().take(8).collect();
                format!("{id} {}", group.title.as_ref().map(Untrusted::line).unwrap_or_default())
            }
            By::Hour => format!("{}:00", group.key.line()),
            _ => name_of(&group.key),
        }
    }

    /// Writes a table with a header. Each column is as wide as its widest cell. `align` has one letter for each column,
    /// `r` for right. `rest` is the number of rows left out.
    fn table(
        &self,
        out: &mut dyn Write,
        head: &[&str],
        align: &str,
        rows: &[Vec<String>],
        rest: usize,
    ) -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let width = |column: usize| widest(head, rows, column);
        let aligned = |cells: &[String]| {
            let padded = cells.iter().zip(align.chars()).enumerate().map(|(column, (cell, align))| match align {
                'r' => format!("{}{cell}", " ".repeat(width(column).saturating_sub(cell.width()))),
                _ => pad(cell, width(column)),
            });
            padded.collect::<Vec<_>>().join("  ").trim_end().to_string()
        };
        let head: Vec<String> = head.iter().map(ToString::to_string).collect();
        writeln!(out, "\n{DIM}{}{DIM:#}", aligned(&head))?;
        for row in rows {
            writeln!(out, "{}", aligned(row))?;
        }
        if rest > 0 {
            writeln!(out, "{DIM}… and {} more{DIM:#}", thousands(rest as u64))?;
        }
        Ok(())
    }

    /// Returns a path with `~` for the user's home, or `(unknown)` if it is empty.
    fn folder(&self, path: &Untrusted) -> String {
        if path.is_empty() { "(unknown)".to_string() } else { self.path(std::path::Path::new(path.raw())) }
    }

    fn today(&self) -> Option<Date> {
        jiff::Timestamp::from_millisecond(self.now).ok().map(|now| now.to_zoned(self.zone.clone()).date())
    }
}

/// Returns the width of the widest cell in a column.
fn widest(head: &[&str], rows: &[Vec<String>], column: usize) -> usize {
    let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width());
    cells.chain(head.get(column).map(|name| name.width())).max().unwrap_or(0)
}

/// Returns the value that bars show: the cost of a group, or its tokens if it has no price.
pub(in crate::render) fn weight(figures: &Figures) -> u64 {
    if figures.cost > 0 { figures.cost } else { figures.tokens.total() }
}

/// Returns the Monday of the week that contains a day.
pub(in crate::render) fn monday_of(date: Date) -> Date {
    date.checked_sub(i64::from(date.weekday().to_monday_zero_offset()).days()).unwrap_or(date)
}

/// Returns the same day a week later.
pub(in crate::render) fn next_week(date: Date) -> Option<Date> {
    date.checked_add(1.week()).ok()
}

/// Sums days by week, from the first week to the last, including empty ones.
pub(in crate::render) fn by_week(days: &std::collections::BTreeMap<Date, u64>, first: Date, last: Date) -> Vec<u64> {
    let mondays = std::iter::successors(Some(monday_of(first)), |monday| next_week(*monday));
    let week = |monday: Date| days.range(monday..next_week(monday).unwrap_or(monday)).map(|(_, value)| value).sum();
    mondays.take_while(|monday| *monday <= last).map(week).collect()
}

/// Returns a line with the name of each month above the week in which it starts. `mondays` has one date for each
/// column. The first column gets a name only if no month starts soon after it.
fn months(mondays: &[Date]) -> String {
    let mut line = String::new();
    for (place, monday) in mondays.iter().enumerate() {
        let starts = place == 0 || monday.day() <= 7;
        if starts
            && line.width() <= place
            && (place > 0 || mondays.get(1..3).is_none_or(|next| next.iter().all(|next| next.day() > 7)))
        {
            line.push_str(&" ".repeat(place - line.width()));
            line.push_str(&format!("{} ", monday.strftime("%b")));
        }
    }
    line.trim_end().to_string()
}

/// Lists the tokens by type.
pub(in crate::render) fn parts(tokens: &Tokens) -> String {
    let Tokens { input, cache_write, cache_read, output, .. } = *tokens;
    format!(
        "input {} · cache write {} · cache read {} · output {}",
        short(input),
        short(cache_write),
        short(cache_read),
        short(output)
    )
}

/// Formats the cost of a group. An unknown cost is a question mark, never 0.
pub(in crate::render) fn money(figures: &Figures) -> String {
    let dollars = figures.dollars();
    let mark = if figures.unpriced > 0 { "+?" } else { "" };
    match dollars {
        _ if figures.cost == 0 && figures.unpriced > 0 => "?".to_string(),
        0.0 => "$0".to_string(),
        ..0.005 => format!("<$0.01{mark}"),
        ..1000.0 => format!("${dollars:.2}{mark}"),
        _ => format!("${}{mark}", thousands(dollars.round() as u64)),
    }
}

/// Formats a share in percent, or nothing if the whole is 0.
pub(in crate::render) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return String::new();
    }
    format!("{:.1} %", 100.0 * part as f64 / whole as f64)
}

pub(in crate::render) fn name_of(name: &Untrusted) -> String {
    if name.is_empty() { "(unknown)".to_string() } else { name.line() }
}

/// Cuts a path at its start, because its end says more.
fn tail(path: &str, width: usize) -> String {
    if path.width() <= width {
        return path.to_string();
    }
    let mut kept = String::new();
    for c in path.chars().rev() {
        if kept.width() + 2 > width {
            break;
        }
        kept.insert(0, c);
    }
    match kept.find('/').filter(|at| *at < kept.len() / 2) {
        Some(at) => format!("…{}", &kept[at..]),
        None => format!("…{kept}"),
    }
}

fn as_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_costs_are_never_zero() {
        let cost = |cost, unpriced| money(&Figures { cost, unpriced, ..Figures::default() });
        assert_eq!(cost(0, 0), "$0");
        assert_eq!(cost(0, 5), "?");
        assert_eq!(cost(1_234_000_000, 0), "$1.23");
        assert_eq!(cost(1_234_000_000, 5), "$1.23+?");
        assert_eq!(cost(1_234_560_000_000, 0), "$1,235");
    }

    #[test]
    fn paths_are_cut_at_the_start() {
        assert_eq!(tail("/home/u/work/shop", 40), "/home/u/work/shop");
        assert_eq!(tail("/home/u/work/shopfront", 16), "…/work/shopfront");
        assert_eq!(tail("averyveryverylongname", 8), "…ongname");
    }

    #[test]
    fn months_are_above_their_weeks() {
        let mondays: Vec<Date> =
            std::iter::successors(Some(jiff::civil::date(2026, 1, 5)), |date| next_week(*date)).take(12).collect();
        assert_eq!(months(&mondays), "Jan Feb Mar");
    }
}
