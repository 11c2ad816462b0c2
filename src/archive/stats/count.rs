//! The two passes over the rows: who said what first, then what follows from it.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::archive::stats::{
    Figures, FileFigures, Group, Price, Prices, Request, Stats, Tokens, ToolFigures, Turns, weekday_place,
};
use crate::document::{Kind, Role};
use crate::error::Result;
use crate::index::{FileKey, FileSummary, Names, Reader, Row, RowAt};
use crate::query::{Filter, Test};

/// Where a line was said first: at the earliest time, in the file with the smallest key.
type Origin = (i64, FileKey);

pub(super) fn count(reader: &Reader, request: &Request, files_named: usize) -> Result<Stats> {
    let (filter, stretch) = Stretch::of(&request.filter);
    let mut names = Names::default();
    let mut said = Said { without_tokens: request.asks_pieces(), ..Said::default() };
    reader.each_row(&filter, &mut names, &mut |row| said.take(row))?;
    said.settle(stretch);
    let mut work = Work::new(&said, stretch);
    reader.each_row(&filter, &mut names, &mut |row| work.take(row))?;
    let mut tally = Counter::new(&request.zone, &request.prices, &names);
    said.messages.values().for_each(|message| tally.message(message));
    said.prompts.iter().for_each(|prompt| tally.prompt(prompt));
    work.calls.iter().for_each(|call| tally.call(call));
    let mut stats = tally.stats;
    stats.sessions = tally.sessions.len() as u64;
    stats.span = stats.days.keys().next().copied().zip(stats.days.keys().next_back().copied());
    (stats.models, stats.model_days) = models(tally.models, &names);
    stats.projects = dearest_first(
        tally
            .projects
            .into_iter()
            .map(|(name, figures)| Group::new(name.map(|name| names.get(name)).unwrap_or_default(), figures)),
    );
    stats.by_session = sessions(reader, tally.sessions)?;
    stats.tools = tools(&work.calls, &names);
    stats.files = files(reader, work.edited, files_named)?;
    stats.turns = turns(work.turns);
    Ok(stats)
}

/// The stretch of time that counts, told by when a thing was said first, so that a later copy never counts again.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    since: i64,
    until: i64,
}

impl Stretch {
    /// Takes the bounds of time out of a filter.
    fn of(filter: &Filter) -> (Filter, Self) {
        let mut stretch = Self { since: i64::MIN, until: i64::MAX };
        let mut rest = filter.clone();
        rest.conditions.retain(|condition| {
            match condition.test {
                Test::Since(at) if !condition.negated => stretch.since = stretch.since.max(at),
                Test::Until(at) if !condition.negated => stretch.until = stretch.until.min(at),
                _ => return true,
            }
            false
        });
        (rest, stretch)
    }

    fn holds(self, time: Option<i64>) -> bool {
        match time {
            Some(time) => self.since <= time && time <= self.until,
            None => self.since == i64::MIN && self.until == i64::MAX,
        }
    }
}

/// What was said, each thing once.
#[derive(Debug, Default)]
struct Said {
    without_tokens: bool,
    messages: HashMap<u64, Message>,
    prompts: Vec<Prompt>,
    /// Prompts that waited in the queue; most of them stand elsewhere too.
    queued: Vec<Prompt>,
    spoken: HashSet<u64>,
    origins: HashMap<u64, Origin>,
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
    /// A slash command opens a turn, yet is no prompt.
    is_command: bool,
}

impl Said {
    fn take(&mut self, row: &Row) {
        let origin = (row.time.unwrap_or(i64::MAX), row.file);
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
                    self.spoken.insert(row.text_hash);
                    self.prompts.push(prompt);
                }
                Kind::Queued => self.queued.push(prompt),
                _ => {}
            }
        }
    }

    fn message(&mut self, row: &Row, origin: Origin) {
        let Some(spent) = row.spent.filter(|_| !self.without_tokens) else { return };
        let [input, cache_write, cache_read, output, cache_hour] = spent.tokens;
        let tokens = Tokens { input, cache_write, cache_hour, cache_read, output };
        let (session, project, model) = (row.session, row.project, row.model);
        let told = Message { origin, time: row.time, session, project, model, tokens };
        self.messages.entry(spent.message).and_modify(|known| known.merge(&told)).or_insert(told);
    }

    /// Drops copies and what was said at other times, and takes in what was said in the queue only.
    fn settle(&mut self, stretch: Stretch) {
        let origins = &self.origins;
        self.prompts.retain(|prompt| origins.get(&prompt.group) == Some(&prompt.origin));
        let mut once = HashSet::new();
        self.prompts.retain(|prompt| once.insert(prompt.group));
        self.queued.sort_unstable_by_key(|prompt| (prompt.origin, prompt.group));
        let waited: Vec<Prompt> = self.queued.drain(..).filter(|prompt| self.spoken.insert(prompt.text_hash)).collect();
        self.prompts.extend(waited);
        self.prompts.retain(|prompt| stretch.holds(prompt.time));
        self.messages.retain(|_, message| stretch.holds(message.time));
    }
}

impl Message {
    /// Joins what two lines tell of one message: while it is streamed its counts only grow.
    fn merge(&mut self, other: &Self) {
        let (mine, more) = (&mut self.tokens, &other.tokens);
        mine.input = mine.input.max(more.input);
        mine.cache_write = mine.cache_write.max(more.cache_write);
        mine.cache_hour = mine.cache_hour.max(more.cache_hour);
        mine.cache_read = mine.cache_read.max(more.cache_read);
        mine.output = mine.output.max(more.output);
        let model = self.model.or(other.model);
        if other.origin < self.origin {
            let tokens = self.tokens;
            *self = Self { tokens, ..other.clone() };
        }
        self.model = self.model.or(model);
    }
}

/// Whether a row is one of those that may stand in several files and count once.
fn is_counted(row: &Row) -> bool {
    matches!(row.kind, Kind::Prompt | Kind::Command | Kind::ToolUse | Kind::ToolResult)
}

/// What tools did, and how long it took.
#[derive(Debug)]
struct Work<'s> {
    said: &'s Said,
    stretch: Stretch,
    calls: Vec<Call>,
    edited: HashMap<u64, (u64, Option<RowAt>)>,
    /// By file: when a turn began, and when it was last worked on.
    turns: HashMap<FileKey, Vec<(i64, i64)>>,
}

/// A call of a tool, or its result.
#[derive(Clone, Copy, Debug)]
struct Call {
    tool: Option<u32>,
    is_result: bool,
    error: bool,
    time: Option<i64>,
    session: u64,
    project: Option<u32>,
}

impl<'s> Work<'s> {
    fn new(said: &'s Said, stretch: Stretch) -> Self {
        let mut turns: HashMap<FileKey, Vec<(i64, i64)>> = HashMap::new();
        for prompt in &said.prompts {
            if let Some(time) = prompt.time {
                turns.entry(prompt.origin.1).or_default().push((time, time));
            }
        }
        turns.values_mut().for_each(|turns| turns.sort_unstable());
        Self { said, stretch, calls: Vec::new(), edited: HashMap::new(), turns }
    }

    fn take(&mut self, row: &Row) {
        self.turn(row);
        let is_call = matches!(row.kind, Kind::ToolUse | Kind::ToolResult);
        if row.continued || !is_call || !self.stretch.holds(row.time) {
            return;
        }
        let origin = (row.time.unwrap_or(i64::MAX), row.file);
        if self.said.origins.get(&row.group) != Some(&origin) {
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

    /// Notes that a turn went on.
    fn turn(&mut self, row: &Row) {
        let is_work = matches!(row.kind, Kind::Text | Kind::Thinking | Kind::ToolUse | Kind::ToolResult);
        let Some(time) = row.time.filter(|_| is_work) else { return };
        let Some(turns) = self.turns.get_mut(&row.file) else { return };
        let after = turns.partition_point(|(begin, _)| *begin <= time);
        if let Some(turn) = after.checked_sub(1).and_then(|at| turns.get_mut(at)) {
            turn.1 = turn.1.max(time);
        }
    }
}

/// Adds everything up, by everything.
struct Counter<'t> {
    clock: Clock<'t>,
    prices: HashMap<Option<u32>, Option<Price>>,
    known_prices: &'t Prices,
    names: &'t Names,
    stats: Stats,
    models: HashMap<Option<u32>, (Figures, BTreeMap<Date, u64>)>,
    projects: HashMap<Option<u32>, Figures>,
    sessions: HashMap<u64, (Figures, FileKey)>,
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
            sessions: HashMap::new(),
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
        self.session(message.session, message.origin.1, &figures);
    }

    fn prompt(&mut self, prompt: &Prompt) {
        if !prompt.is_command {
            let figures = Figures { prompts: 1, ..Figures::default() };
            self.add(&figures, prompt.time, prompt.project);
            self.session(prompt.session, prompt.origin.1, &figures);
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
                session.0.add(&figures);
            }
        }
    }

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

    fn session(&mut self, session: u64, file: FileKey, figures: &Figures) {
        let known = self.sessions.entry(session).or_insert((Figures::default(), file));
        known.0.add(figures);
        known.1 = known.1.min(file);
    }

    fn price(&mut self, model: Option<u32>) -> Option<Price> {
        let (prices, names) = (self.known_prices, self.names);
        *self.prices.entry(model).or_insert_with(|| prices.find(names.get(model?)))
    }
}

/// Tells the day and the hour; asks the zone once for each quarter of an hour, which is as fine as zones are.
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

/// The dearest first; where nothing has a price, the one with the most tokens.
fn dearest_first(groups: impl Iterator<Item = Group>) -> Vec<Group> {
    let mut groups: Vec<Group> = groups.collect();
    groups.sort_by(|a, b| by_cost(&a.figures, &b.figures).then_with(|| a.key.cmp(&b.key)));
    groups
}

fn by_cost(a: &Figures, b: &Figures) -> std::cmp::Ordering {
    let rest = |figures: &Figures| (figures.tokens.total(), figures.prompts);
    b.cost.cmp(&a.cost).then_with(|| rest(b).cmp(&rest(a)))
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

fn sessions(reader: &Reader, sessions: HashMap<u64, (Figures, FileKey)>) -> Result<Vec<Group>> {
    let files = reader.checkpoints()?;
    let ids: HashMap<FileKey, &str> = files.iter().map(|file| (file.key(), file.session_id())).collect();
    let mut summaries: HashMap<&str, FileSummary> = HashMap::new();
    for file in &files {
        let summary = file.summary();
        match summaries.entry(file.session_id()) {
            Entry::Vacant(slot) => {
                slot.insert(summary);
            }
            Entry::Occupied(mut known) if summary.rank() < known.get().rank() => {
                known.insert(summary);
            }
            Entry::Occupied(_) => {}
        }
    }
    let mut groups = Vec::with_capacity(sessions.len());
    for (figures, file) in sessions.into_values() {
        let id = ids.get(&file).copied().unwrap_or_default();
        let mut group = Group::new(id, figures);
        if let Some(summary) = summaries.get(id) {
            group.title = summary.name.as_deref().or(summary.stand_in.as_deref()).map(Into::into);
            group.project = summary.project.as_deref().map(Into::into);
        }
        groups.push(group);
    }
    Ok(dearest_first(groups.into_iter()))
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

fn files(reader: &Reader, edited: HashMap<u64, (u64, Option<RowAt>)>, named: usize) -> Result<Vec<FileFigures>> {
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

fn turns(turns: HashMap<FileKey, Vec<(i64, i64)>>) -> Turns {
    let mut lengths: Vec<i64> =
        turns.into_values().flatten().map(|(begin, end)| end - begin).filter(|length| *length > 0).collect();
    lengths.sort_unstable();
    let at = |share: f64| {
        let place = (lengths.len() as f64 * share).ceil() as usize;
        lengths.get(place.saturating_sub(1)).copied().unwrap_or_default()
    };
    Turns { count: lengths.len() as u64, median: at(0.5), p90: at(0.9), longest: at(1.0) }
}
