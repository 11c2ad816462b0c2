//! Counts the rows of the index in two passes. The first finds where each message was recorded first; the second counts
//! tool calls and the lengths of turns.

use std::collections::{BTreeMap, HashMap};

use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::archive::stats::{
    Figures, FileFigures, Group, Price, Prices, Request, Stats, Tokens, ToolFigures, Turns, weekday_place,
};
use crate::archive::title::own_title;
use crate::document::{Kind, Role};
use crate::error::Result;
use crate::index::{FileKey, HashMap64, HashSet64, Names, Reader, Row, RowAt};
use crate::query::{Filter, Test};

/// Identifies one record of a line that several files may contain; the least is counted. The time decides, then the
/// conversation itself comes before the copy that a subagent was given. The rest does not depend on where files are.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Origin {
    time: i64,
    is_copy: bool,
    session: u64,
    file: FileKey,
}

impl Origin {
    fn of(row: &Row) -> Self {
        let is_copy = row.is_duplicate || row.role == Role::Subagent;
        Self { time: row.time.unwrap_or(i64::MAX), is_copy, session: row.session, file: row.file }
    }
}

/// Counts everything that matches a request. Names up to `files_named` files.
pub(super) fn count(reader: &Reader, request: &Request, files_named: usize) -> Result<Stats> {
    let (filter, range) = TimeRange::split_from(&request.filter);
    let rows = reader.rows(&filter)?;
    let mut names = Names::default();
    let mut first = FirstPass { without_tokens: request.asks_pieces(), ..FirstPass::default() };
    rows.each(true, &mut names, &mut |row| first.add_row(row))?;
    first.finish(range);
    let mut second = SecondPass::new(&first, range);
    rows.each(false, &mut names, &mut |row| second.add_row(row))?;
    let mut counter = Counter::new(&request.zone, &request.prices, &names);
    first.messages.values().for_each(|message| counter.message(message));
    first.prompts.iter().for_each(|prompt| counter.prompt(prompt));
    second.calls.iter().for_each(|call| counter.call(call));
    let mut stats = counter.stats;
    stats.sessions = counter.sessions.len() as u64;
    stats.span = stats.days.keys().next().copied().zip(stats.days.keys().next_back().copied());
    (stats.models, stats.model_days) = models(counter.models, &names);
    stats.projects = costliest_first(
        counter
            .projects
            .into_iter()
            .map(|(name, figures)| Group::new(name.map(|name| names.get(name)).unwrap_or_default(), figures)),
    );
    stats.by_session = sessions(reader, counter.sessions)?;
    stats.tools = tools(&second.calls, &names);
    stats.files = files(reader, second.edited, files_named)?;
    stats.turns = turns(second.turns);
    Ok(stats)
}

/// The time range to count. It applies to the first record of each message, so that a later copy never counts.
#[derive(Clone, Copy, Debug)]
struct TimeRange {
    since: i64,
    until: i64,
}

impl TimeRange {
    /// Splits a filter into the other conditions and its time range.
    fn split_from(filter: &Filter) -> (Filter, Self) {
        let mut range = Self { since: i64::MIN, until: i64::MAX };
        let mut rest = filter.clone();
        rest.conditions.retain(|condition| {
            match condition.test {
                Test::Since(at) if !condition.negated => range.since = range.since.max(at),
                Test::Until(at) if !condition.negated => range.until = range.until.min(at),
                _ => return true,
            }
            false
        });
        (rest, range)
    }

    /// Reports whether a time is in the range. An unknown time is in the range only if the range has no bounds.
    fn contains(self, time: Option<i64>) -> bool {
        match time {
            Some(time) => self.since <= time && time <= self.until,
            None => self.since == i64::MIN && self.until == i64::MAX,
        }
    }
}

/// API messages and prompts, each once.
#[derive(Debug, Default)]
struct FirstPass {
    without_tokens: bool,
    /// API messages by key.
    messages: HashMap64<Message>,
    prompts: Vec<Prompt>,
    /// Prompts from the queue. Most of them are also recorded as plain prompts.
    queued: Vec<Prompt>,
    /// Hashes of the texts of plain prompts.
    texts: HashSet64,
    /// The first record of each line, by group.
    origins: HashMap64<Origin>,
}

/// An API message.
#[derive(Clone, Debug)]
struct Message {
    origin: Origin,
    time: Option<i64>,
    session: u64,
    project: Option<u32>,
    model: Option<u32>,
    tokens: Tokens,
}

/// A prompt.
#[derive(Clone, Copy, Debug)]
struct Prompt {
    origin: Origin,
    group: u64,
    text_hash: u64,
    time: Option<i64>,
    session: u64,
    project: Option<u32>,
    /// True for a slash command. It starts a turn but does not count as a prompt.
    is_command: bool,
}

impl FirstPass {
    fn add_row(&mut self, row: &Row) {
        let origin = Origin::of(row);
        self.message(row, origin);
        if is_counted(row) {
            let first = self.origins.entry(row.group).or_insert(origin);
            *first = origin.min(*first);
        }
        if matches!(row.role, Role::Human | Role::Programmatic) && !row.continued {
            let prompt = Prompt {
                origin,
                group: row.group,
                text_hash: row.text_hash,
                time: row.time,
                session: row.session,
                project: row.project,
                is_command: row.kind == Kind::Command,
            };
            match row.kind {
                Kind::Prompt | Kind::Command if !row.is_duplicate => {
                    self.texts.insert(row.text_hash);
                    self.prompts.push(prompt);
                }
                Kind::Queued => self.queued.push(prompt),
                _ => {}
            }
        }
    }

    /// Adds the API message that a row is part of.
    fn message(&mut self, row: &Row, origin: Origin) {
        let Some(spent) = row.spent.filter(|_| !self.without_tokens) else { return };
        let [input, cache_write, cache_read, output, cache_hour] = spent.tokens;
        let tokens = Tokens { input, cache_write, cache_hour, cache_read, output };
        let (session, project, model) = (row.session, row.project, row.model);
        let message = Message { origin, time: row.time, session, project, model, tokens };
        self.messages.entry(spent.message).and_modify(|known| known.merge(&message)).or_insert(message);
    }

    /// Removes copies, adds prompts that were only in the queue, and removes everything outside the time range.
    fn finish(&mut self, range: TimeRange) {
        let origins = &self.origins;
        self.prompts.retain(|prompt| origins.get(&prompt.group) == Some(&prompt.origin));
        let mut seen = HashSet64::default();
        self.prompts.retain(|prompt| seen.insert(prompt.group));
        self.queued.sort_unstable_by_key(|prompt| (prompt.origin, prompt.group));
        let only_queued: Vec<Prompt> =
            self.queued.drain(..).filter(|prompt| self.texts.insert(prompt.text_hash)).collect();
        self.prompts.extend(only_queued);
        self.prompts.retain(|prompt| range.contains(prompt.time));
        self.messages.retain(|_, message| range.contains(message.time));
    }
}

impl Message {
    /// Merges two records of one message. While it is streamed its counts may disagree; those of the record with the most
    /// output count, as a whole.
    fn merge(&mut self, other: &Self) {
        let order = |tokens: &Tokens| (tokens.output, tokens.total(), tokens.cache_write);
        if order(&other.tokens) > order(&self.tokens) {
            self.tokens = other.tokens;
        }
        let model = self.model.or(other.model);
        if other.origin < self.origin {
            let tokens = self.tokens;
            *self = Self { tokens, ..other.clone() };
        }
        self.model = self.model.or(model);
    }
}

/// Reports whether a row is of a kind that counts once, in however many files it is recorded.
fn is_counted(row: &Row) -> bool {
    matches!(row.kind, Kind::Prompt | Kind::Command | Kind::ToolUse | Kind::ToolResult)
}

/// Tool calls, edited files and turns.
#[derive(Debug)]
struct SecondPass<'s> {
    first: &'s FirstPass,
    range: TimeRange,
    calls: Vec<Call>,
    /// By edited file: the number of edits, and the row of the first one.
    edited: HashMap64<(u64, Option<RowAt>)>,
    /// By the key of a transcript: the start and the last activity of each turn.
    turns: HashMap64<Vec<(i64, i64)>>,
}

/// A tool call or its result.
#[derive(Clone, Copy, Debug)]
struct Call {
    tool: Option<u32>,
    is_result: bool,
    error: bool,
    time: Option<i64>,
    session: u64,
    project: Option<u32>,
}

impl<'s> SecondPass<'s> {
    fn new(first: &'s FirstPass, range: TimeRange) -> Self {
        let mut turns: HashMap64<Vec<(i64, i64)>> = HashMap64::default();
        for prompt in &first.prompts {
            if let Some(time) = prompt.time {
                turns.entry(prompt.origin.file.number()).or_default().push((time, time));
            }
        }
        turns.values_mut().for_each(|turns| turns.sort_unstable());
        Self { first, range, calls: Vec::new(), edited: HashMap64::default(), turns }
    }

    fn add_row(&mut self, row: &Row) {
        self.extend_turn(row);
        let is_call = matches!(row.kind, Kind::ToolUse | Kind::ToolResult);
        if row.continued || !is_call || !self.range.contains(row.time) {
            return;
        }
        let origin = Origin::of(row);
        if self.first.origins.get(&row.group) != Some(&origin) {
            return;
        }
        let is_result = row.kind == Kind::ToolResult;
        let (time, session, project) = (row.time, row.session, row.project);
        self.calls.push(Call { tool: row.tool, is_result, error: row.error && is_result, time, session, project });
        if let Some(file) = row.edited {
            let known = self.edited.entry(file).or_insert((0, row.at));
            known.0 += 1;
        }
    }

    /// Extends the turn that a row belongs to.
    fn extend_turn(&mut self, row: &Row) {
        let is_work = matches!(row.kind, Kind::Text | Kind::Thinking | Kind::ToolUse | Kind::ToolResult);
        let Some(time) = row.time.filter(|_| is_work) else { return };
        let Some(turns) = self.turns.get_mut(&row.file.number()) else { return };
        let after = turns.partition_point(|(begin, _)| *begin <= time);
        if let Some(turn) = after.checked_sub(1).and_then(|at| turns.get_mut(at)) {
            turn.1 = turn.1.max(time);
        }
    }
}

/// Adds up the totals, and the figures by day, hour, model, project and session.
struct Counter<'t> {
    clock: Clock<'t>,
    /// Prices already looked up, by model.
    prices: HashMap<Option<u32>, Option<Price>>,
    known_prices: &'t Prices,
    names: &'t Names,
    stats: Stats,
    models: HashMap<Option<u32>, (Figures, BTreeMap<Date, u64>)>,
    projects: HashMap<Option<u32>, Figures>,
    sessions: HashMap64<Figures>,
}

impl<'t> Counter<'t> {
    fn new(zone: &'t TimeZone, prices: &'t Prices, names: &'t Names) -> Self {
        Self {
            clock: Clock { zone, known: HashMap::new() },
            prices: HashMap::new(),
            known_prices: prices,
            names,
            stats: Stats::default(),
            models: HashMap::new(),
            projects: HashMap::new(),
            sessions: HashMap64::default(),
        }
    }

    fn message(&mut self, message: &Message) {
        let price = self.price(message.model);
        let figures = Figures {
            responses: 1,
            tokens: message.tokens,
            cost: price.map_or(0, |price| price.of(&message.tokens)),
            unpriced: if price.is_none() { message.tokens.total() } else { 0 },
            ..Figures::default()
        };
        let date = self.add(&figures, message.time, message.project);
        let model = self.models.entry(message.model).or_default();
        model.0.add(&figures);
        if let Some(date) = date {
            *model.1.entry(date).or_default() += message.tokens.total();
        }
        self.session(message.session, &figures);
    }

    fn prompt(&mut self, prompt: &Prompt) {
        if !prompt.is_command {
            let figures = Figures { prompts: 1, ..Figures::default() };
            self.add(&figures, prompt.time, prompt.project);
            self.session(prompt.session, &figures);
        }
    }

    fn call(&mut self, call: &Call) {
        let figures = Figures {
            tool_calls: u64::from(!call.is_result),
            tool_errors: u64::from(call.error),
            ..Figures::default()
        };
        if !figures.is_empty() {
            self.add(&figures, call.time, call.project);
            if let Some(session) = self.sessions.get_mut(&call.session) {
                session.add(&figures);
            }
        }
    }

    /// Adds counts (messages, tokens, cost) to the totals of everything, of their project, and of their day and hour.
    /// Returns their date.
    fn add(&mut self, figures: &Figures, time: Option<i64>, project: Option<u32>) -> Option<Date> {
        self.stats.total.add(figures);
        self.projects.entry(project).or_default().add(figures);
        let (date, hour) = self.clock.read(time?)?;
        self.stats.days.entry(date).or_default().add(figures);
        self.stats.hours[hour].add(figures);
        let weekday = weekday_place(date.weekday());
        self.stats.weekdays[weekday].add(figures);
        self.stats.week[weekday][hour] += figures.prompts;
        Some(date)
    }

    fn session(&mut self, session: u64, figures: &Figures) {
        self.sessions.entry(session).or_default().add(figures);
    }

    fn price(&mut self, model: Option<u32>) -> Option<Price> {
        let (prices, names) = (self.known_prices, self.names);
        *self.prices.entry(model).or_insert_with(|| prices.find(names.get(model?)))
    }
}

/// Converts times to local days and hours. Asks the time zone only once for each quarter of an hour, since all zone
/// offsets are multiples of that.
struct Clock<'z> {
    zone: &'z TimeZone,
    known: HashMap<i64, Option<(Date, usize)>>,
}

impl Clock<'_> {
    fn read(&mut self, time: i64) -> Option<(Date, usize)> {
        const QUARTER: i64 = 15 * 60 * 1000;
        *self.known.entry(time.div_euclid(QUARTER)).or_insert_with(|| {
            let zoned = jiff::Timestamp::from_millisecond(time).ok()?.to_zoned(self.zone.clone());
            Some((zoned.date(), usize::try_from(zoned.hour()).ok()?))
        })
    }
}

/// Sorts groups by cost, highest first. Groups with equal cost are sorted by tokens.
fn costliest_first(groups: impl Iterator<Item = Group>) -> Vec<Group> {
    let mut groups: Vec<Group> = groups.collect();
    groups.sort_by(|a, b| by_cost(&a.figures, &b.figures).then_with(|| a.key.cmp(&b.key)));
    groups
}

fn by_cost(a: &Figures, b: &Figures) -> std::cmp::Ordering {
    let volume = |figures: &Figures| (figures.tokens.total(), figures.prompts);
    b.cost.cmp(&a.cost).then_with(|| volume(b).cmp(&volume(a)))
}

type ModelFigures = HashMap<Option<u32>, (Figures, BTreeMap<Date, u64>)>;

fn models(models: ModelFigures, names: &Names) -> (Vec<Group>, Vec<BTreeMap<Date, u64>>) {
    let named = models.into_iter().map(|(name, (figures, days))| {
        (Group::new(name.map(|name| names.get(name)).unwrap_or_default(), figures), days)
    });
    let mut sorted: Vec<(Group, BTreeMap<Date, u64>)> = named.collect();
    sorted.sort_by(|(a, _), (b, _)| by_cost(&a.figures, &b.figures).then_with(|| a.key.cmp(&b.key)));
    sorted.into_iter().unzip()
}

/// Returns the figures of sessions, with their titles and projects.
fn sessions(reader: &Reader, sessions: HashMap64<Figures>) -> Result<Vec<Group>> {
    let summaries = reader.session_summaries()?;
    let groups = sessions.into_iter().map(|(session, figures)| {
        let Some((id, summary)) = summaries.get(&session) else { return Group::new("", figures) };
        let mut group = Group::new(id.as_str(), figures);
        group.title = own_title(summary).map(Into::into);
        group.project = summary.project.as_deref().map(Into::into);
        group
    });
    Ok(costliest_first(groups))
}

fn tools(calls: &[Call], names: &Names) -> Vec<ToolFigures> {
    let mut tools: BTreeMap<&str, ToolFigures> = BTreeMap::new();
    for call in calls {
        let name = call.tool.map(|tool| names.get(tool)).unwrap_or_default();
        let tool = tools.entry(name).or_insert_with(|| ToolFigures { name: name.into(), calls: 0, errors: 0 });
        tool.calls += u64::from(!call.is_result);
        tool.errors += u64::from(call.error);
    }
    let mut tools: Vec<ToolFigures> = tools.into_values().collect();
    tools.retain(|tool| tool.calls > 0);
    tools.sort_by_key(|tool| std::cmp::Reverse(tool.calls));
    tools
}

/// Returns the `named` files that were edited most.
fn files(reader: &Reader, edited: HashMap64<(u64, Option<RowAt>)>, named: usize) -> Result<Vec<FileFigures>> {
    let mut most: Vec<(u64, u64, Option<RowAt>)> =
        edited.into_iter().map(|(file, (edits, at))| (edits, file, at)).collect();
    most.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut files = Vec::new();
    for (edits, _, at) in most.into_iter().take(named) {
        if let Some(path) =
            at.map(|at| reader.document_at(at)).transpose()?.and_then(|document| document.files.first().cloned())
        {
            files.push(FileFigures { path: path.into(), edits });
        }
    }
    files.sort_by(|a, b| b.edits.cmp(&a.edits).then_with(|| a.path.cmp(&b.path)));
    Ok(files)
}

/// Returns the distribution of the lengths of turns. Turns without an answer do not count.
fn turns(turns: HashMap64<Vec<(i64, i64)>>) -> Turns {
    let mut lengths: Vec<i64> =
        turns.into_values().flatten().map(|(begin, end)| end - begin).filter(|length| *length > 0).collect();
    lengths.sort_unstable();
    let quantile = |share: f64| {
        let rank = (lengths.len() as f64 * share).ceil() as usize;
        lengths.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    };
    Turns { count: lengths.len() as u64, median: quantile(0.5), p90: quantile(0.9), longest: quantile(1.0) }
}
