//! Statistics: time, tokens and cost of everything in the index. Reads only its columns.
//!
//! An API message counts once, however many lines and files record it, with the numbers of the line that reports the
//! most output. A prompt, a tool call and its result count once, where they were recorded first. So what Claude Code
//! copies when a session is resumed, forked or compacted never counts twice.

mod count;

use std::collections::BTreeMap;

use jiff::civil::{Date, Weekday};
use serde::Serialize;

use crate::archive::filters;
use crate::archive::note::Note;
pub use crate::archive::prices::{Long, PRICES_OF, Price, Prices};
use crate::archive::request::{Context, StatsRequest};
use crate::archive::search::unknown_name;
pub use crate::archive::tokens::Tokens;
use crate::error::Result;
use crate::index::Reader;
use crate::query::{Filter, Test};
use crate::untrusted::Untrusted;

/// An interpreted request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The messages to count. Its time range applies to the first record of each message.
    pub filter: Filter,
    /// The time zone of days and hours.
    pub zone: jiff::tz::TimeZone,
    /// The prices of tokens.
    pub prices: Prices,
}

impl Request {
    /// Reports whether the filter selects parts of messages: by tool, by role, by file. Tokens are then not counted,
    /// because they are only recorded for whole messages.
    pub(crate) fn asks_pieces(&self) -> bool {
        let is_piece =
            |test: &Test| matches!(test, Test::Role(_) | Test::Kind(_) | Test::Tool(_) | Test::File(_) | Test::Error);
        self.filter.conditions.iter().any(|condition| is_piece(&condition.test))
    }
}

/// The figures of a group: a day, a project, a model, everything.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Figures {
    /// The number of prompts by a person or a program.
    pub prompts: u64,
    /// The number of API messages of the model.
    pub responses: u64,
    /// The number of tool calls.
    pub tool_calls: u64,
    /// The number of tool calls that failed.
    pub tool_errors: u64,
    /// Tokens.
    pub tokens: Tokens,
    /// The cost of the tokens by the price list, in billionths of a US dollar. Tokens without a price are left out. An
    /// integer, because its sum does not depend on the order.
    pub cost: u64,
    /// The number of tokens of models without a price.
    pub unpriced: u64,
}

/// One group and its figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// Its name: `2026-11-16`, `2026-W47`, `2026-11`, a path, a session's id, a model, an hour, a day of the week.
    pub key: Untrusted,
    /// For a session: its title.
    pub title: Option<Untrusted>,
    /// For a session: the folder it was started in.
    pub project: Option<Untrusted>,
    /// The figures.
    pub figures: Figures,
}

/// The ways to group figures.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum By {
    /// The day.
    Day,
    /// The week, from Monday.
    Week,
    /// The month.
    Month,
    /// The folder the session was started in.
    Project,
    /// The session.
    Session,
    /// The model.
    Model,
    /// The hour of the day.
    Hour,
    /// The day of the week.
    Weekday,
    /// The tool. Only its calls count.
    Tool,
}

impl By {
    /// All ways to group, with the names that users type and see.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Model, "model"),
        (Self::Day, "day"),
        (Self::Week, "week"),
        (Self::Month, "month"),
        (Self::Project, "project"),
        (Self::Session, "session"),
        (Self::Hour, "hour"),
        (Self::Weekday, "weekday"),
        (Self::Tool, "tool"),
    ];

    /// Returns the name that users type and see.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(by, _)| *by == self).map_or("", |(_, name)| name)
    }
}

/// A tool and its number of calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolFigures {
    /// The tool.
    pub name: Untrusted,
    /// The number of calls.
    pub calls: u64,
    /// The number of calls that failed.
    pub errors: u64,
}

/// A file and its number of changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileFigures {
    /// The file.
    pub path: Untrusted,
    /// The number of calls that changed it.
    pub edits: u64,
}

/// The times from a prompt to the last answer to it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Turns {
    /// The number of prompts that were answered.
    pub count: u64,
    /// The median, in milliseconds.
    pub median: i64,
    /// The 90th percentile, in milliseconds.
    pub p90: i64,
    /// The longest, in milliseconds.
    pub longest: i64,
}

/// The figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stats {
    /// The total.
    pub total: Figures,
    /// The number of sessions with any message.
    pub sessions: u64,
    /// The first and the last day.
    pub span: Option<(Date, Date)>,
    /// By day.
    pub days: BTreeMap<Date, Figures>,
    /// By hour of the day.
    pub hours: [Figures; 24],
    /// By day of the week, from Monday.
    pub weekdays: [Figures; 7],
    /// Prompts by day of the week, from Monday, and hour.
    pub week: [[u64; 24]; 7],
    /// By model, most expensive first.
    pub models: Vec<Group>,
    /// The number of all tokens of each model by day, in the order of `models`.
    pub model_days: Vec<BTreeMap<Date, u64>>,
    /// By project, most expensive first.
    pub projects: Vec<Group>,
    /// By session, most expensive first.
    pub by_session: Vec<Group>,
    /// By tool, most calls first.
    pub tools: Vec<ToolFigures>,
    /// The files with the most changes.
    pub files: Vec<FileFigures>,
    /// The times that answers took.
    pub turns: Turns,
}

/// Maximum number of files in [`Stats::files`].
const FILES_NAMED: usize = 50;

/// The answer to a request for statistics.
#[derive(Clone, Debug, Serialize)]
pub struct StatsAnswer {
    /// The figures.
    pub stats: Stats,
    /// Remarks about the figures.
    pub notes: Vec<Note>,
}

/// Counts the messages that match a request.
pub(crate) fn answer(reader: &Reader, request: &StatsRequest, context: &Context) -> Result<StatsAnswer> {
    let mut filter = filters::filter(&request.filters, context)?;
    // Other requests leave out the running session; its cost counts too.
    filter.without_session = None;
    let mut notes: Vec<Note> = reader.unknown_names(&filter)?.into_iter().map(unknown_name).collect();
    let request = Request { filter, zone: context.now.time_zone().clone(), prices: request.prices.clone() };
    if request.asks_pieces() {
        notes.push(Note::WithoutTokens);
    }
    let stats = count::count(reader, &request, FILES_NAMED)?;
    if stats.total.is_empty() {
        notes.push(Note::NothingToCount);
    }
    Ok(StatsAnswer { stats, notes })
}

impl Stats {
    /// Returns the groups: times in chronological order, others by cost, highest first. Empty for tools, which have
    /// figures of their own.
    pub fn groups(&self, by: By) -> Vec<Group> {
        match by {
            By::Day => self.by_date(|date| date.to_string()),
            By::Week => self.by_date(week_of),
            By::Month => self.by_date(|date| date.strftime("%Y-%m").to_string()),
            By::Hour => groups_of(self.hours.iter().enumerate().map(|(hour, figures)| (format!("{hour:02}"), figures))),
            By::Weekday => groups_of(WEEKDAYS.iter().map(ToString::to_string).zip(&self.weekdays)),
            By::Project => self.projects.clone(),
            By::Session => self.by_session.clone(),
            By::Model => self.models.clone(),
            By::Tool => Vec::new(),
        }
    }

    /// Groups consecutive days with the same key.
    fn by_date(&self, key: impl Fn(Date) -> String) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for (date, figures) in &self.days {
            let key = key(*date);
            match groups.last_mut().filter(|group| group.key.raw() == key) {
                Some(group) => group.figures.add(figures),
                None => groups.push(Group::new(key, *figures)),
            }
        }
        groups
    }

    /// Returns the lengths of the longest and the current streak of days with messages. The current streak ends today
    /// or yesterday.
    pub fn streaks(&self, today: Date) -> (usize, usize) {
        let (mut longest, mut run) = (0, 0);
        let mut before: Option<Date> = None;
        for date in self.days.keys() {
            let follows = before.and_then(|before| before.tomorrow().ok()) == Some(*date);
            run = if follows { run + 1 } else { 1 };
            longest = longest.max(run);
            before = Some(*date);
        }
        let is_current = before.is_some_and(|last| last == today || last.tomorrow().ok() == Some(today));
        (longest, if is_current { run } else { 0 })
    }
}

/// The days of the week, from Monday.
pub const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// Returns the ISO 8601 week of a day.
fn week_of(date: Date) -> String {
    let week = date.iso_week_date();
    format!("{:04}-W{:02}", week.year(), week.week())
}

fn groups_of<'f>(groups: impl Iterator<Item = (String, &'f Figures)>) -> Vec<Group> {
    groups.map(|(key, figures)| Group::new(key, *figures)).collect()
}

impl Group {
    fn new(key: impl Into<Untrusted>, figures: Figures) -> Self {
        Self { key: key.into(), title: None, project: None, figures }
    }
}

impl Figures {
    /// Adds the figures of another group.
    pub fn add(&mut self, more: &Self) {
        self.prompts += more.prompts;
        self.responses += more.responses;
        self.tool_calls += more.tool_calls;
        self.tool_errors += more.tool_errors;
        self.tokens.add(&more.tokens);
        self.cost += more.cost;
        self.unpriced += more.unpriced;
    }

    /// Returns the cost in US dollars.
    pub fn dollars(&self) -> f64 {
        self.cost as f64 / 1e9
    }

    /// Reports whether all figures are zero.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Returns the index of a day in the week; Monday is 0.
fn weekday_place(day: Weekday) -> usize {
    usize::try_from(day.to_monday_zero_offset()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_days(days: &[(i16, i8, i8)]) -> Stats {
        let figures = Figures { prompts: 1, ..Figures::default() };
        let days = days.iter().map(|(y, m, d)| (jiff::civil::date(*y, *m, *d), figures)).collect();
        Stats { days, ..Stats::default() }
    }

    #[test]
    fn weeks_begin_on_monday_and_years_with_their_first_thursday() {
        let keys = |stats: &Stats, by| {
            let groups = stats.groups(by);
            groups.iter().map(|group| (group.key.raw().to_string(), group.figures.prompts)).collect::<Vec<_>>()
        };
        let stats = with_days(&[(2026, 11, 15), (2026, 11, 16), (2026, 12, 31), (2027, 1, 1)]);
        let owned = |keys: &[(&str, u64)]| keys.iter().map(|(key, n)| (key.to_string(), *n)).collect::<Vec<_>>();
        assert_eq!(keys(&stats, By::Week), owned(&[("2026-W46", 1), ("2026-W47", 1), ("2026-W53", 2)]));
        assert_eq!(keys(&stats, By::Month), owned(&[("2026-11", 2), ("2026-12", 1), ("2027-01", 1)]));
    }

    #[test]
    fn streaks_end_yesterday_at_the_latest() {
        let stats = with_days(&[(2026, 11, 1), (2026, 11, 2), (2026, 11, 3), (2026, 11, 9), (2026, 11, 10)]);
        assert_eq!(stats.streaks(jiff::civil::date(2026, 11, 10)), (3, 2));
        assert_eq!(stats.streaks(jiff::civil::date(2026, 11, 11)), (3, 2));
        assert_eq!(stats.streaks(jiff::civil::date(2026, 11, 12)), (3, 0));
        assert_eq!(Stats::default().streaks(jiff::civil::date(2026, 11, 12)), (0, 0));
    }

    #[test]
    fn the_hit_rate_is_of_all_input() {
        let tokens = Tokens { input: 10, cache_write: 30, cache_read: 60, output: 5, cache_hour: 30 };
        assert_eq!((tokens.read_in(), tokens.total(), tokens.hit_rate()), (100, 105, Some(0.6)));
        assert_eq!(Tokens::default().hit_rate(), None);
    }
}
