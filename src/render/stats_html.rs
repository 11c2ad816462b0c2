//! Renders statistics as one HTML page: no scripts, no external resources, charts as inline SVG with tooltips.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use jiff::ToSpan as _;
use jiff::civil::Date;

use crate::archive::stats::{Figures, Group, PRICES_OF, Stats, WEEKDAYS};
use crate::render::charts::{Shades, duration, short};
use crate::render::terminal::stats::{monday_of, money, name_of, next_week, percent, weight};
use crate::render::terminal::style::{Screen, thousands};
use crate::untrusted::{Untrusted, one_line};

const STYLE: &str = include_str!("page.css");
/// The maximum number of rows in a table.
const ROWS: usize = 20;
/// The number of colours for models. Further models share the last one.
const COLOURS: usize = 6;
/// From this many days on, charts show weeks.
const MOST_DAYS: usize = 70;

/// Writes the HTML page.
pub fn html(out: &mut dyn Write, stats: &Stats, screen: &Screen) -> io::Result<()> {
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>unspool: where time and tokens went</title>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<style>\n{STYLE}</style></head><body>\n\
         <h1>Where time and tokens went</h1>\n"
    )?;
    if let Some((first, last)) = stats.span {
        let days = stats.days.len();
        writeln!(out, "<p>{first} to {last}, {days} active days, {} sessions</p>", thousands(stats.sessions))?;
    }
    for part in [
        tiles(stats),
        calendar(stats),
        over_time(stats),
        groups("Models", "Model", &stats.models, |group| name_of(&group.key)),
        groups("Projects", "Project", &stats.projects, |group| folder(screen, &group.key)),
        groups("Sessions", "Session", &stats.by_session, session_name),
        tools(stats),
        files(stats, screen),
        week(stats),
    ] {
        out.write_all(part.as_bytes())?;
    }
    let unpriced = stats.total.unpriced;
    let without = if unpriced > 0 {
        format!(" {} tokens are from models without a known price.", short(unpriced))
    } else {
        String::new()
    };
    writeln!(
        out,
        "<p class=\"note\">Costs are estimated from the API price list of {PRICES_OF}; subscriptions are billed \
         differently.{without} Each API message counts once, even if several files contain it. Made by unspool {}.</p>\n</body></html>",
        env!("CARGO_PKG_VERSION")
    )
}

fn tiles(stats: &Stats) -> String {
    let total = &stats.total;
    let tokens = &total.tokens;
    let rate = tokens.hit_rate().map_or(String::new(), |rate| format!("{:.1} %", rate * 100.0));
    let turns = &stats.turns;
    let tiles = [
        (short(tokens.total()), format!("tokens, {} of them output", short(tokens.output))),
        (money(total), "estimated cost".to_string()),
        (rate, "of the input from the cache".to_string()),
        (thousands(total.prompts), format!("prompts, {} responses", thousands(total.responses))),
        (thousands(total.tool_calls), format!("tool calls, {} failed", percent(total.tool_errors, total.tool_calls))),
        (duration(turns.median), format!("median turn; 90 % within {}", duration(turns.p90))),
    ];
    let mut html = String::from("<div class=\"tiles\">");
    for (value, name) in tiles {
        let _ = write!(html, "<div class=\"tile\"><b>{}</b><span>{}</span></div>", escape(&value), escape(&name));
    }
    html + "</div>\n"
}

/// Draws a calendar of the last year, one column per week.
fn calendar(stats: &Stats) -> String {
    let Some((first, last)) = stats.span else { return String::new() };
    let from = monday_of(last.checked_sub(52.weeks()).unwrap_or(first));
    let value = |figures: &Figures| figures.responses.max(figures.prompts);
    let shades = Shades::of(stats.days.values().map(value));
    let mut cells = String::new();
    let mut date = from;
    while date <= last {
        let days = from.until(date).map_or(0, |span| span.get_days());
        let (x, y) = (32 + days / 7 * 14, 18 + days % 7 * 14);
        let figures = stats.days.get(&date).copied().unwrap_or_default();
        let level = shades.level(value(&figures));
        if date.day() == 1 {
            let _ = write!(cells, "<text x=\"{x}\" y=\"11\">{}</text>", date.strftime("%b"));
        }
        let _ = write!(
            cells,
            "<rect class=\"s{level}\" x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\" rx=\"2\"><title>{date}: {} prompts, {} \
             responses, {} tokens, {}</title></rect>",
            figures.prompts,
            figures.responses,
            short(figures.tokens.total()),
            money(&figures)
        );
        let Ok(next) = date.tomorrow() else { break };
        date = next;
    }
    for (place, name) in WEEKDAYS.iter().enumerate().step_by(2) {
        let _ = write!(cells, "<text x=\"0\" y=\"{}\">{name}</text>", 28 + place * 14);
    }
    format!(
        "<h2>Responses per day</h2>\n<div class=\"scroll\"><svg viewBox=\"0 0 800 118\" role=\"img\" aria-label=\"Calendar of responses\">{cells}</svg></div>\n"
    )
}

/// Returns the days or weeks on the time axis, and the name of the unit.
fn periods(stats: &Stats) -> (Vec<(Date, Date)>, &'static str) {
    let Some((first, last)) = stats.span else { return (Vec::new(), "day") };
    let days = first.until(last).map_or(0, |span| span.get_days());
    let by_day = usize::try_from(days).unwrap_or(0) < MOST_DAYS;
    let next = |date: Date| if by_day { date.tomorrow().ok() } else { next_week(date) };
    let start = if by_day { first } else { monday_of(first) };
    let starts = std::iter::successors(Some(start), |date| next(*date)).take_while(|date| *date <= last);
    (starts.map(|date| (date, next(date).unwrap_or(date))).collect(), if by_day { "day" } else { "week" })
}

/// Draws the tokens of each model and the total cost over time.
fn over_time(stats: &Stats) -> String {
    let (periods, unit) = periods(stats);
    let sum = |days: &BTreeMap<Date, u64>, (from, to): (Date, Date)| {
        days.range(from..to).map(|(_, value)| value).sum::<u64>()
    };
    let mut series: Vec<(String, Vec<u64>)> = Vec::new();
    for (group, days) in stats.models.iter().zip(&stats.model_days) {
        let values: Vec<u64> = periods.iter().map(|period| sum(days, *period)).collect();
        if series.len() < COLOURS {
            series.push((name_of(&group.key), values));
        } else if let Some((name, others)) = series.last_mut() {
            *name = "other models".to_string();
            others.iter_mut().zip(values).for_each(|(other, value)| *other += value);
        }
    }
    let names: Vec<String> = periods
        .iter()
        .map(|(from, _)| if unit == "day" { from.to_string() } else { format!("week of {from}") })
        .collect();
    let costs: Vec<u64> =
        periods.iter().map(|(from, to)| stats.days.range(*from..*to).map(|(_, figures)| figures.cost).sum()).collect();
    let mut html = format!("<h2>Tokens per {unit}, by model</h2>\n<div class=\"legend\">");
    for (place, (name, _)) in series.iter().enumerate() {
        let _ = write!(
            html,
            "<span><svg viewBox=\"0 0 11 11\" aria-hidden=\"true\"><rect class=\"m{place}\" width=\"11\" height=\"11\" rx=\"2\"/></svg>{}</span>",
            escape(name)
        );
    }
    html.push_str("</div>\n");
    html.push_str(&stacked(&series, &names, &|value| short(value)));
    let _ = writeln!(html, "<h2>Cost per {unit}</h2>");
    let cost = |value: u64| money(&Figures { cost: value, ..Figures::default() });
    html + &stacked(&[("cost".to_string(), costs)], &names, &cost)
}

/// Draws stacked columns of one or several series.
fn stacked(series: &[(String, Vec<u64>)], names: &[String], show: &dyn Fn(u64) -> String) -> String {
    const WIDTH: f64 = 900.0;
    const HEIGHT: f64 = 180.0;
    let sums: Vec<u64> =
        (0..names.len()).map(|at| series.iter().filter_map(|(_, values)| values.get(at)).sum()).collect();
    let most = sums.iter().copied().max().unwrap_or(0).max(1);
    let step = WIDTH / names.len().max(1) as f64;
    let wide = (step - if step > 5.0 { 2.0 } else { 0.5 }).clamp(0.5, 40.0);
    let mut svg = String::new();
    for (share, y) in [(most, 10.0), (most / 2, 10.0 + HEIGHT / 2.0), (0, 10.0 + HEIGHT)] {
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"60\" x2=\"960\" y1=\"{y}\" y2=\"{y}\"/><text x=\"54\" y=\"{}\" text-anchor=\"end\">{}</text>",
            y + 4.0,
            escape(&show(share))
        );
    }
    for (at, name) in names.iter().enumerate() {
        let x = 60.0 + at as f64 * step;
        let mut top = 10.0 + HEIGHT;
        for (place, (label, values)) in series.iter().enumerate() {
            let value = values.get(at).copied().unwrap_or(0);
            if value == 0 {
                continue;
            }
            let high = value as f64 / most as f64 * HEIGHT;
            top -= high;
            let class = if series.len() > 1 { format!("m{place}") } else { "bar".to_string() };
            let _ = write!(
                svg,
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\"><title>{}: {} {}</title></rect>",
                escape(name),
                escape(&show(value)),
                escape(label)
            );
        }
    }
    for at in [0, names.len() / 2, names.len().saturating_sub(1)] {
        if let Some(name) = names.get(at) {
            let anchor = if at == 0 {
                "start"
            } else if at + 1 == names.len() {
                "end"
            } else {
                "middle"
            };
            let x = match anchor {
                "start" => 60.0,
                "end" => 960.0,
                _ => 60.0 + (at as f64 + 0.5) * step,
            };
            let day = name.strip_prefix("week of ").unwrap_or(name);
            let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{day}</text>", 26.0 + HEIGHT);
        }
    }
    format!("<div class=\"scroll\"><svg viewBox=\"0 0 970 212\" role=\"img\">{svg}</svg></div>\n")
}

fn groups(title: &str, head: &str, groups: &[Group], name: impl Fn(&Group) -> String) -> String {
    if groups.is_empty() {
        return String::new();
    }
    let most = groups.iter().map(|group| weight(&group.figures)).max().unwrap_or(0);
    let columns = ["Prompts", "Responses", "Input", "Cache write", "Cache read", "Output", "Cost"];
    // Prompts are not counted by model.
    let from = usize::from(head == "Model");
    let mut rows = String::new();
    for group in groups.iter().take(ROWS) {
        let figures = &group.figures;
        let tokens = &figures.tokens;
        let cells = [
            thousands(figures.prompts),
            thousands(figures.responses),
            short(tokens.input),
            short(tokens.cache_write),
            short(tokens.cache_read),
            short(tokens.output),
            money(figures),
        ];
        let _ = write!(rows, "<tr><td class=\"k\">{}</td>", escape(&name(group)));
        for cell in &cells[from..] {
            let _ = write!(rows, "<td class=\"n\">{}</td>", escape(cell));
        }
        let _ = writeln!(rows, "<td class=\"b\">{}</td></tr>", bar(weight(figures), most));
    }
    table(title, head, &columns[from..], &rows, groups.len())
}

fn tools(stats: &Stats) -> String {
    let most = stats.tools.first().map_or(0, |tool| tool.calls);
    let mut rows = String::new();
    for tool in stats.tools.iter().take(ROWS) {
        let _ = writeln!(
            rows,
            "<tr><td class=\"k\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"b\">{}</td></tr>",
            escape(&name_of(&tool.name)),
            thousands(tool.calls),
            thousands(tool.errors),
            percent(tool.errors, tool.calls),
            bar(tool.calls, most)
        );
    }
    table("Tools", "Tool", &["Calls", "Failed", "Failure rate"], &rows, stats.tools.len())
}

fn files(stats: &Stats, screen: &Screen) -> String {
    let most = stats.files.first().map_or(0, |file| file.edits);
    let mut rows = String::new();
    for file in stats.files.iter().take(ROWS) {
        let _ = writeln!(
            rows,
            "<tr><td class=\"k\">{}</td><td class=\"n\">{}</td><td class=\"b\">{}</td></tr>",
            escape(&folder(screen, &file.path)),
            thousands(file.edits),
            bar(file.edits, most)
        );
    }
    table("Most edited files", "File", &["Edits"], &rows, 0)
}

/// Returns a table of the first rows, with a note if `total` is more than it shows. Empty without rows.
fn table(title: &str, head: &str, columns: &[&str], rows: &str, total: usize) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let heads: String = columns.iter().map(|name| format!("<th class=\"n\">{name}</th>")).collect();
    let more = if total > ROWS {
        format!("<p class=\"note\">and {} more</p>\n", thousands((total - ROWS) as u64))
    } else {
        String::new()
    };
    format!(
        "<h2>{title}</h2>\n<div class=\"scroll\"><table><thead><tr><th>{head}</th>{heads}<th></th></tr></thead><tbody>\n{rows}</tbody></table></div>\n{more}"
    )
}

/// Draws a heat map of prompts by weekday and hour.
fn week(stats: &Stats) -> String {
    let shades = Shades::of(stats.week.iter().flatten().copied());
    let mut cells = String::new();
    for hour in (0..24).step_by(3) {
        let _ = write!(cells, "<text x=\"{}\" y=\"11\">{hour}:00</text>", 36 + hour * 24);
    }
    for (day, hours) in stats.week.iter().enumerate() {
        let _ = write!(cells, "<text x=\"0\" y=\"{}\">{}</text>", 31 + day * 20, WEEKDAYS[day]);
        for (hour, prompts) in hours.iter().enumerate() {
            let _ = write!(
                cells,
                "<rect class=\"s{}\" x=\"{}\" y=\"{}\" width=\"22\" height=\"18\" rx=\"3\"><title>{} {hour}:00: {prompts} prompts</title></rect>",
                shades.level(*prompts),
                36 + hour * 24,
                18 + day * 20,
                WEEKDAYS[day]
            );
        }
    }
    format!(
        "<h2>Prompts by hour and weekday</h2>\n<div class=\"scroll\"><svg viewBox=\"0 0 620 160\" role=\"img\">{cells}</svg></div>\n"
    )
}

fn bar(value: u64, most: u64) -> String {
    let width = 100.0 * value as f64 / most.max(1) as f64;
    format!(
        "<svg viewBox=\"0 0 100 12\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"bar\" width=\"{width:.1}\" height=\"12\"/></svg>"
    )
}

fn session_name(group: &Group) -> String {
    let id: String = group.key.line().chars().take(8).collect();
    let title = group.title.as_ref().map(Untrusted::line).unwrap_or_default();
    format!("{id} {}", crate::render::terminal::style::cut(&title, 70))
}

fn folder(screen: &Screen, path: &Untrusted) -> String {
    if path.is_empty() { "(unknown)".to_string() } else { screen.path(std::path::Path::new(path.raw())) }
}

/// Escapes text for HTML, inside and outside of attributes.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}
