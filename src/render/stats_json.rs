//! Renders statistics as JSON or CSV.

use std::io::{self, Write};

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use crate::archive::stats::{By, Figures, Group, PRICES_OF, Stats, Tokens, ToolFigures};
use crate::render::json::{SCHEMA, line};
use crate::untrusted::{Untrusted, one_line};

#[derive(Serialize)]
struct StatsLine<'a> {
    schema: u32,
    r#type: &'static str,
    from: Option<String>,
    to: Option<String>,
    sessions: u64,
    #[serde(flatten)]
    figures: FiguresPart,
    prices_of: &'static str,
    turns: TurnsPart,
    files: Vec<FilePart<'a>>,
    by: ByPart<'a>,
}

#[derive(Serialize)]
struct FiguresPart {
    tokens: TokensPart,
    cache_write_1h: u64,
    cache_hit_rate: Option<f64>,
    cost_usd: Option<f64>,
    unpriced_tokens: u64,
    prompts: u64,
    responses: u64,
    tool_calls: u64,
    tool_errors: u64,
}

#[derive(Serialize)]
struct TokensPart {
    input: u64,
    cache_write: u64,
    cache_read: u64,
    output: u64,
}

#[derive(Serialize)]
struct TurnsPart {
    count: u64,
    median_seconds: f64,
    p90_seconds: f64,
    longest_seconds: f64,
}

#[derive(Serialize)]
struct FilePart<'a> {
    path: &'a str,
    edits: u64,
}

#[derive(Serialize)]
struct ToolPart<'a> {
    key: &'a str,
    calls: u64,
    errors: u64,
    error_rate: Option<f64>,
}

#[derive(Serialize)]
struct GroupPart {
    key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    #[serde(flatten)]
    figures: FiguresPart,
}

/// All groupings, or only the requested one.
struct ByPart<'a> {
    stats: &'a Stats,
    only: Option<By>,
}

impl Serialize for ByPart<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let wanted = By::ALL.into_iter().filter(|(by, _)| self.only.is_none_or(|only| only == *by));
        let mut map = to.serialize_map(None)?;
        for (by, name) in wanted {
            if by == By::Tool {
                map.serialize_entry(name, &self.stats.tools.iter().map(tool).collect::<Vec<_>>())?;
            } else {
                map.serialize_entry(name, &self.stats.groups(by).into_iter().map(group).collect::<Vec<_>>())?;
            }
        }
        map.end()
    }
}

/// Writes the statistics as one JSON object. With `by`, only that grouping is included.
pub fn json(out: &mut dyn Write, stats: &Stats, by: Option<By>) -> io::Result<()> {
    let seconds = |ms: i64| ms as f64 / 1000.0;
    let turns = stats.turns;
    line(
        out,
        &StatsLine {
            schema: SCHEMA,
            r#type: "stats",
            from: stats.span.map(|(first, _)| first.to_string()),
            to: stats.span.map(|(_, last)| last.to_string()),
            sessions: stats.sessions,
            figures: figures(&stats.total),
            prices_of: PRICES_OF,
            turns: TurnsPart {
                count: turns.count,
                median_seconds: seconds(turns.median),
                p90_seconds: seconds(turns.p90),
                longest_seconds: seconds(turns.longest),
            },
            files: stats.files.iter().map(|file| FilePart { path: file.path.raw(), edits: file.edits }).collect(),
            by: ByPart { stats, only: by },
        },
    )
}

fn figures(figures: &Figures) -> FiguresPart {
    let Tokens { input, cache_write, cache_hour, cache_read, output } = figures.tokens;
    // An unknown cost is null, not 0.
    let is_unknown = figures.cost == 0 && figures.unpriced > 0;
    FiguresPart {
        tokens: TokensPart { input, cache_write, cache_read, output },
        cache_write_1h: cache_hour,
        cache_hit_rate: figures.tokens.hit_rate(),
        cost_usd: (!is_unknown).then(|| figures.dollars()),
        unpriced_tokens: figures.unpriced,
        prompts: figures.prompts,
        responses: figures.responses,
        tool_calls: figures.tool_calls,
        tool_errors: figures.tool_errors,
    }
}

fn group(group: Group) -> GroupPart {
    let text = |text: Untrusted| text.raw().to_string();
    GroupPart {
        key: text(group.key),
        title: group.title.map(text),
        project: group.project.map(text),
        figures: figures(&group.figures),
    }
}

fn tool(tool: &ToolFigures) -> ToolPart<'_> {
    let ToolFigures { name, calls, errors } = tool;
    let error_rate = (*calls > 0).then(|| *errors as f64 / *calls as f64);
    ToolPart { key: name.raw(), calls: *calls, errors: *errors, error_rate }
}

/// Writes one CSV row per group.
pub fn csv(out: &mut dyn Write, stats: &Stats, by: By) -> io::Result<()> {
    if by == By::Tool {
        writeln!(out, "tool,calls,errors")?;
        for tool in &stats.tools {
            writeln!(out, "{},{},{}", field(tool.name.raw()), tool.calls, tool.errors)?;
        }
        return Ok(());
    }
    let more = if by == By::Session { "title,project," } else { "" };
    writeln!(
        out,
        "{},{more}prompts,responses,tool_calls,tool_errors,input,cache_write,cache_read,output,cost_usd,unpriced_tokens",
        by.name()
    )?;
    for Group { key, title, project, figures } in stats.groups(by) {
        write!(out, "{},", field(key.raw()))?;
        if by == By::Session {
            let text = |text: Option<Untrusted>| text.map(|text| field(&text.line())).unwrap_or_default();
            write!(out, "{},{},", text(title), text(project))?;
        }
        let Figures { prompts, responses, tool_calls, tool_errors, tokens, .. } = figures;
        let Tokens { input, cache_write, cache_read, output, .. } = tokens;
        writeln!(
            out,
            "{prompts},{responses},{tool_calls},{tool_errors},{input},{cache_write},{cache_read},{output},{:.6},{}",
            figures.dollars(),
            figures.unpriced
        )?;
    }
    Ok(())
}

/// Returns a CSV field, quoted if necessary. A field that starts like a formula gets a leading apostrophe, because a
/// spreadsheet would evaluate it.
fn field(text: &str) -> String {
    let text = one_line(text);
    let text = if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text };
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_fields_are_quoted_if_necessary() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("=1+1", "'=1+1"),
            ("two\nlines", "two lines"),
        ] {
            assert_eq!(field(text), expected);
        }
    }
}
