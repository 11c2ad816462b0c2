//! For programs: JSON Lines with a version number. These types are the contract; answers may change, these may
//! only grow.

use std::collections::BTreeSet;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

use crate::archive::search::{Around, Response, SessionHits, Suggestion};
use crate::archive::upkeep::{Status, Verdict};
use crate::untrusted::{Untrusted, is_dangerous};
use crate::update::{Lag, Report};

/// The version of all JSON output.
pub const SCHEMA: u32 = 1;

/// The contract of a search as JSON Schema.
pub const SEARCH_SCHEMA: &str = include_str!("schema.json");

#[derive(Serialize)]
struct HitLine<'a> {
    schema: u32,
    r#type: &'static str,
    uuid: Option<&'a str>,
    session_id: &'a str,
    also_in: Vec<&'a str>,
    agent_id: Option<&'a str>,
    path: String,
    offset: u64,
    line: u64,
    timestamp: Option<String>,
    role: &'static str,
    kind: &'static str,
    tool: Option<&'a str>,
    files: Vec<&'a str>,
    project: Option<&'a str>,
    cwd: Option<&'a str>,
    branch: Option<&'a str>,
    model: Option<&'a str>,
    error: bool,
    title: &'a str,
    source_missing: bool,
    score: f32,
    factors: Option<FactorsPart>,
    snippet: SnippetPart<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before: Vec<NearPart<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after: Vec<NearPart<'a>>,
    resume: Option<String>,
}

/// What a score is made of.
#[derive(Serialize)]
struct FactorsPart {
    words: f32,
    kind: f32,
    coverage: f32,
    verbatim: f32,
    age: f32,
}

/// A message near a hit.
#[derive(Serialize)]
struct NearPart<'a> {
    uuid: Option<&'a str>,
    timestamp: Option<String>,
    role: &'static str,
    kind: &'static str,
    tool: Option<&'a str>,
    text: &'a str,
    result: Option<&'a str>,
}

#[derive(Serialize)]
struct SnippetPart<'a> {
    text: &'a str,
    ranges: Vec<[usize; 2]>,
}

#[derive(Serialize)]
struct SummaryLine<'a> {
    schema: u32,
    r#type: &'static str,
    hits: usize,
    sessions: usize,
    shown_hits: usize,
    shown_sessions: usize,
    only_meta: bool,
    scattered: bool,
    loosened: bool,
    thinned: bool,
    incomplete: bool,
    corrections: Vec<CorrectionPart<'a>>,
    unknown_names: Vec<UnknownPart<'a>>,
    suggestions: Vec<SuggestionPart<'a>>,
    next_cursor: Option<String>,
    elapsed_ms: f64,
    behind: Option<Behind>,
}

/// A word that is nowhere, and what was looked for instead.
#[derive(Serialize)]
struct CorrectionPart<'a> {
    word: &'a str,
    meant: &'a str,
}

/// A name in a filter that means nothing.
#[derive(Serialize)]
struct UnknownPart<'a> {
    field: &'static str,
    name: &'a str,
    nearest: &'a [String],
}

/// Something else to try, which gives hits.
#[derive(Serialize)]
struct SuggestionPart<'a> {
    change: &'a str,
    query: Option<&'a str>,
    drop: &'a [&'static str],
    add: Option<&'static str>,
    hits: usize,
}

/// How far the index that answered is behind.
#[derive(Serialize)]
struct Behind {
    files: usize,
    bytes: u64,
}

/// Writes the answer of a search: a line for each hit, and a last one that sums up.
pub fn search(
    out: &mut dyn Write,
    response: &Response,
    suggestions: &[Suggestion],
    elapsed_ms: f64,
    behind: Option<Lag>,
) -> io::Result<()> {
    let mut shown = 0;
    for session in &response.sessions {
        for index in 0..session.hits.len() {
            line(out, &hit_line(session, index))?;
            shown += 1;
        }
    }
    let behind = behind.map(|lag| Behind { files: lag.files, bytes: lag.bytes });
    line(
        out,
        &SummaryLine {
            schema: SCHEMA,
            r#type: "summary",
            hits: response.total_hits,
            sessions: response.total_sessions,
            shown_hits: shown,
            // In a flat answer a session comes again with each of its hits.
            shown_sessions: response.sessions.iter().map(|one| &one.session.id).collect::<BTreeSet<_>>().len(),
            only_meta: response.only_meta,
            scattered: response.scattered,
            loosened: response.loosened,
            thinned: response.thinned,
            incomplete: response.incomplete,
            corrections: response.corrections.iter().map(|(word, meant)| CorrectionPart { word, meant }).collect(),
            unknown_names: response
                .unknown
                .iter()
                .map(|one| UnknownPart { field: one.field, name: &one.wanted, nearest: &one.nearest })
                .collect(),
            suggestions: suggestions
                .iter()
                .map(|one| SuggestionPart {
                    change: &one.change,
                    query: one.query.as_deref(),
                    drop: &one.drop,
                    add: one.add,
                    hits: one.hits,
                })
                .collect(),
            next_cursor: response.next.map(|cursor| cursor.to_string()),
            elapsed_ms,
            behind,
        },
    )
}

fn hit_line(session: &SessionHits, index: usize) -> HitLine<'_> {
    let hit = &session.hits[index];
    HitLine {
        schema: SCHEMA,
        r#type: "hit",
        uuid: hit.uuid.as_ref().map(Untrusted::raw),
        session_id: session.session.id.raw(),
        also_in: hit.also_in.iter().map(Untrusted::raw).collect(),
        agent_id: hit.agent.as_ref().map(Untrusted::raw),
        path: hit.path.to_string_lossy().into_owned(),
        offset: hit.offset,
        line: hit.line,
        timestamp: hit.timestamp.map(timestamp),
        role: hit.role.name(),
        kind: hit.kind.name(),
        tool: hit.tool.as_ref().map(Untrusted::raw),
        files: hit.files.iter().map(Untrusted::raw).collect(),
        project: hit.project.as_ref().map(Untrusted::raw),
        cwd: hit.cwd.as_ref().map(Untrusted::raw),
        branch: hit.branch.as_ref().map(Untrusted::raw),
        model: hit.model.as_ref().map(Untrusted::raw),
        error: hit.error,
        title: session.session.title.raw(),
        source_missing: hit.gone,
        score: hit.score,
        snippet: SnippetPart {
            text: &hit.snippet.text,
            ranges: hit.snippet.ranges.iter().map(|(from, to)| [*from, *to]).collect(),
        },
        factors: hit.factors.map(|factors| FactorsPart {
            words: factors.words,
            kind: factors.kind,
            coverage: factors.coverage,
            verbatim: factors.verbatim,
            age: factors.age,
        }),
        before: hit.before.iter().map(near_part).collect(),
        after: hit.after.iter().map(near_part).collect(),
        resume: session.session.can_be_resumed().then(|| format!("unspool resume {}", session.session.id.raw())),
    }
}

fn near_part(near: &Around) -> NearPart<'_> {
    NearPart {
        uuid: near.uuid.as_ref().map(Untrusted::raw),
        timestamp: near.timestamp.map(timestamp),
        role: near.role.name(),
        kind: near.kind.name(),
        tool: near.tool.as_ref().map(Untrusted::raw),
        text: near.text.raw(),
        result: near.result.as_ref().map(Untrusted::raw),
    }
}

#[derive(Serialize)]
struct ErrorLine<'a> {
    schema: u32,
    r#type: &'static str,
    message: &'a str,
    hint: Option<&'a str>,
    exit_code: u8,
}

/// Writes what went wrong.
pub fn error(out: &mut dyn Write, message: &str, hint: Option<&str>, exit_code: u8) -> io::Result<()> {
    line(out, &ErrorLine { schema: SCHEMA, r#type: "error", message, hint, exit_code })
}

#[derive(Serialize)]
struct ReportLine<'a> {
    schema: u32,
    r#type: &'static str,
    files: usize,
    unchanged: usize,
    new: usize,
    grown: usize,
    rewritten: usize,
    moved: usize,
    gone: usize,
    failed: usize,
    documents: u64,
    carried: u64,
    bytes: u64,
    text_bytes: u64,
    bad_lines: u64,
    oversized_lines: u64,
    unknown_lines: u64,
    interrupted: bool,
    rebuilt: Option<&'a str>,
    seconds: f64,
    problems: Vec<ProblemPart>,
}

#[derive(Serialize)]
struct ProblemPart {
    path: String,
    line: Option<u64>,
    reason: String,
}

/// Writes what an index run has done.
pub fn report(out: &mut dyn Write, report: &Report, seconds: f64) -> io::Result<()> {
    line(
        out,
        &ReportLine {
            schema: SCHEMA,
            r#type: "index",
            files: report.files,
            unchanged: report.unchanged,
            new: report.new,
            grown: report.grown,
            rewritten: report.rewritten,
            moved: report.moved,
            gone: report.gone,
            failed: report.failed,
            documents: report.documents,
            carried: report.carried,
            bytes: report.bytes,
            text_bytes: report.text_bytes,
            bad_lines: report.bad,
            oversized_lines: report.oversized,
            unknown_lines: report.unknown,
            interrupted: report.interrupted,
            rebuilt: report.rebuilt.as_deref(),
            seconds,
            problems: problems(&report.problems),
        },
    )
}

#[derive(Serialize)]
struct StatusLine<'a> {
    schema: u32,
    r#type: &'static str,
    index: String,
    bytes: u64,
    documents: u64,
    segments: usize,
    sessions: usize,
    agents: usize,
    spilled_outputs: usize,
    sessions_only_in_index: usize,
    source_bytes: u64,
    behind: Behind,
    unknown_lines: u64,
    problems: Vec<ProblemPart>,
    #[serde(flatten)]
    more: &'a serde_json::Map<String, serde_json::Value>,
}

/// Writes how an index is, and what more a front end knows.
pub fn status(
    out: &mut dyn Write,
    index: &std::path::Path,
    status: &Status,
    more: &serde_json::Map<String, serde_json::Value>,
) -> io::Result<()> {
    line(
        out,
        &StatusLine {
            schema: SCHEMA,
            r#type: "status",
            index: index.to_string_lossy().into_owned(),
            bytes: status.size.bytes,
            documents: status.size.documents,
            segments: status.size.segments,
            sessions: status.sessions,
            agents: status.agents,
            spilled_outputs: status.spills,
            sessions_only_in_index: status.gone_sessions,
            source_bytes: status.source_bytes,
            behind: Behind { files: status.lag.files, bytes: status.lag.bytes },
            unknown_lines: status.unknown,
            problems: problems(&status.problems),
            more,
        },
    )
}

#[derive(Serialize)]
struct VerdictLine {
    schema: u32,
    r#type: &'static str,
    files: usize,
    documents: u64,
    problems: Vec<ProblemPart>,
}

/// Writes what a check found.
pub fn verdict(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let (files, documents) = (verdict.files, verdict.documents);
    line(
        out,
        &VerdictLine { schema: SCHEMA, r#type: "verify", files, documents, problems: problems(&verdict.problems) },
    )
}

fn problems(problems: &[crate::error::Problem]) -> Vec<ProblemPart> {
    let part = |problem: &crate::error::Problem| ProblemPart {
        path: problem.path.to_string_lossy().into_owned(),
        line: problem.line,
        reason: problem.reason.clone(),
    };
    problems.iter().map(part).collect()
}

/// A time as RFC 3339.
pub fn timestamp(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map(|time| format!("{time:.3}")).unwrap_or_default()
}

/// Writes one line of JSON in which no character can move a cursor or hide a word.
pub(super) fn line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, Safe);
    value.serialize(&mut serializer)?;
    out.write_all(b"\n")
}

/// Escapes what plain JSON lets through: DEL, C1, bidirectional and invisible characters.
struct Safe;

impl Formatter for Safe {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_dangerous(*c)) {
            writer.write_all(&rest.as_bytes()[..at])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = &rest[at + c.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dangerous_characters_are_escaped_and_come_back() {
        let text = "a\u{1b}\u{7f}\u{9b}\u{202e}\u{200b}\u{e0041}\n\"é日";
        let mut out = Vec::new();
        line(&mut out, &text).expect("written");
        let written = String::from_utf8(out).expect("UTF-8");
        assert!(!written.trim_end().chars().any(|c| is_dangerous(c) || c == '\n'), "{written:?}");
        assert_eq!(serde_json::from_str::<String>(&written).expect("JSON"), text);
    }
}
