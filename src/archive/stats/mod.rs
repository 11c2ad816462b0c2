//! Where time and tokens went: figures over everything the index holds, from its columns alone.
//!
//! An API message counts once, however many lines and files tell of it, at the most that any of them says; a prompt,
//! a tool call and its result count once, where they were first said. What Claude Code copies when a session is
//! resumed, forked or compacted therefore never counts twice.

mod count;

use std::collections::BTreeMap;

use jiff::civil::{Date, Weekday};

use crate::archive::note::Note;
pub use crate::archive::prices::{Long, PRICES_OF, Price, Prices, Tokens};
use crate::archive::request::{Context, StatsRequest};
use crate::archive::scope;
use crate::archive::search::unknown_name;
use crate::error::Result;
use crate::index::Reader;
use crate::query::{Filter, Test};
use crate::untrusted::Untrusted;

/// What to count, interpreted.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// What counts. Bounds of time are those of when a thing was said first; where pieces of messages are asked for,
    /// see [`Request::asks_pieces`], tokens are left out.
    pub filter: Filter,
    /// The zone by whose clock days and hours are told.
    pub zone: jiff::tz::TimeZone,
    /// What tokens cost.
    pub prices: Prices,
}

impl Request {
    /// Whether it asks for some pieces of messages only: those of a tool, a role, about a file. Tokens are told of
    /// whole messages, so they cannot be split that way.
    pub(crate) fn asks_pieces(&self) -> bool {
        let is_piece =
            |test: &Test| matches!(test, Test::Role(_) | Test::Kind(_) | Test::Tool(_) | Test::File(_) | Test::Error);
        self.filter.conditions.iter().any(|condition| is_piece(&condition.test))
    }
}

/// The figures of a group: a day, a project, a model, everything.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Figures {
    /// Prompts by a person or a program.
    pub prompts: u64,
    /// API messages of the model.
    pub responses: u64,
    /// Calls of tools.
    pub tool_calls: u64,
    /// Calls that failed.
    pub tool_errors: u64,
    /// Tokens.
    pub tokens: Tokens,
    /// What the tokens cost by the price list, in billionths of a US dollar, as far as it has prices for them.
    /// (Whole numbers, as their sum does not depend on the order.)
    pub cost: u64,
    /// Tokens of models without a price.
    pub unpriced: u64,
}

/// One group and its figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What it is: `2026-11-16`, `2026-W47`, `2026-11`, a path, a session's id, a model, an hour, a day of the week.
    pub key: Untrusted,
    /// Of a session: what it is called.
    pub title: Option<Untrusted>,
    /// Of a session: the folder it was started in.
    pub project: Option<Untrusted>,
    /// The figures.
    pub figures: Figures,
}

/// By what to group.
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
    /// The tool; only its calls count.
    Tool,
}

impl By {
    /// All ways to group, with the words users know them by.
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

    /// The word users know it by.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(by, _)| *by == self).map_or("", |(_, name)| name)
    }
}

/// A tool and how often it was called.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolFigures {
    /// The tool.
    pub name: Untrusted,
    /// How often it was called.
    pub calls: u64,
    /// How often it answered with a failure.
    pub errors: u64,
}

/// A file and how often it was changed.
#[derive(Clone, Debug, PartialEq)]
pub struct FileFigures {
    /// The file.
    pub path: Untrusted,
    /// Calls that changed it.
    pub edits: u64,
}

/// How long it took from a prompt to the last answer to it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Turns {
    /// Prompts that were answered.
    pub count: u64,
    /// Half of them took no longer, in milliseconds.
    pub median: i64,
    /// Nine of ten took no longer.
    pub p90: i64,
    /// The longest.
    pub longest: i64,
}

/// The figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Everything together.
    pub total: Figures,
    /// Sessions in which anything was said.
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
    /// By model, the dearest first.
    pub models: Vec<Group>,
    /// All tokens of each model by day, in the order of `models`.
    pub model_days: Vec<BTreeMap<Date, u64>>,
    /// By project, the dearest first.
    pub projects: Vec<Group>,
    /// By session, the dearest first.
    pub by_session: Vec<Group>,
    /// By tool, the most called first.
    pub tools: Vec<ToolFigures>,
    /// The files that were changed most.
    pub files: Vec<FileFigures>,
    /// How long answers took.
    pub turns: Turns,
}

/// How many files are named.
const FILES_NAMED: usize = 50;

/// Figures, and what has to be said about them.
#[derive(Clone, Debug)]
pub struct StatsAnswer {
    /// The figures.
    pub stats: Stats,
    /// What has to be said about them.
    pub notes: Vec<Note>,
}

/// Counts everything.
pub(crate) fn answer(reader: &Reader, request: &StatsRequest, context: &Context) -> Result<StatsAnswer> {
    let mut filter = scope::filter(&request.filters, context)?;
    // The running session counts too.
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
    /// The groups, in the order in which people want to see them: times as they passed, all else the dearest first.
    /// Tools have figures of their own.
    pub fn groups(&self, by: By) -> Vec<Group> {
        match by {
            By::Day => self.by_date(|date| date.to_string()),
            By::Week => self.by_date(week_of),
            By::Month => self.by_date(|date| date.strftime("%Y-%m").to_string()),
            By::Hour => fixed(self.hours.iter().enumerate().map(|(hour, figures)| (format!("{hour:02}"), figures))),
            By::Weekday => fixed(WEEKDAYS.iter().map(ToString::to_string).zip(&self.weekdays)),
            By::Project => self.projects.clone(),
            By::Session => self.by_session.clone(),
            By::Model => self.models.clone(),
            By::Tool => Vec::new(),
        }
    }

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

    /// How many days in a row something was said: the longest time, and up to `today`.
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

/// The week of a day, as ISO 8601 writes it.
fn week_of(date: Date) -> String {
    let week = date.iso_week_date();
    format!("{:04}-W{:02}", week.year(), week.week())
}

fn fixed<'f>(groups: impl Iterator<Item = (String, &'f Figures)>) -> Vec<Group> {
    groups.map(|(key, figures)| Group::new(key, *figures)).collect()
}

impl Group {
    fn new(key: impl Into<Untrusted>, figures: Figures) -> Self {
        Self { key: key.into(), title: None, project: None, figures }
    }
}

impl Figures {
    /// Adds another group.
    pub fn add(&mut self, more: &Self) {
        self.prompts += more.prompts;
        self.responses += more.responses;
        self.tool_calls += more.tool_calls;
        self.tool_errors += more.tool_errors;
        self.tokens.add(&more.tokens);
        self.cost += more.cost;
        self.unpriced += more.unpriced;
    }

    /// What the tokens cost, in US dollars.
    pub fn dollars(&self) -> f64 {
        self.cost as f64 / 1e9
    }

    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The place of a day in the week, from Monday.
fn weekday_place(day: Weekday) -> usize {
    usize::try_from(day.to_monday_zero_offset()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(days: &[(i16, i8, i8)]) -> Stats {
        let one = Figures { prompts: 1, ..Figures::default() };
        Stats { days: days.iter().map(|(y, m, d)| (jiff::civil::date(*y, *m, *d), one)).collect(), ..Stats::default() }
    }

    #[test]
    fn weeks_begin_on_monday_and_years_with_their_first_thursday() {
        let keys = |stats: &Stats, by| {
            let groups = stats.groups(by);
            groups.iter().map(|group| (group.key.raw().to_string(), group.figures.prompts)).collect::<Vec<_>>()
        };
        let stats = on(&[(2026, 11, 15), (2026, 11, 16), (2026, 12, 31), (2027, 1, 1)]);
        let owned = |keys: &[(&str, u64)]| keys.iter().map(|(key, n)| (key.to_string(), *n)).collect::<Vec<_>>();
        assert_eq!(keys(&stats, By::Week), owned(&[("2026-W46", 1), ("2026-W47", 1), ("2026-W53", 2)]));
        assert_eq!(keys(&stats, By::Month), owned(&[("2026-11", 2), ("2026-12", 1), ("2027-01", 1)]));
    }

    #[test]
    fn streaks_end_yesterday_at_the_latest() {
        let stats = on(&[(2026, 11, 1), (2026, 11, 2), (2026, 11, 3), (2026, 11, 9), (2026, 11, 10)]);
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
