//! The fuzz targets: functions that must not panic, hang or break their guarantees, whatever bytes they are given.

use unspool::dates::{self, Edge};
use unspool::document::{Builder, Document, FileState, Place, normal_path};
use unspool::index::Checkpoint;
use unspool::query::glob::{self, Glob};
use unspool::query::names;
use unspool::query::{Query, QueryContext};
use unspool::redact;
use unspool::transcript::discover::SourceKind;
use unspool::transcript::{self, ParsedRecord};
use unspool::untrusted::{for_terminal, is_dangerous, one_line};

/// The name of a target, and its function.
pub(crate) type Target = (&'static str, fn(&[u8]));

/// All targets.
pub(crate) const TARGETS: [Target; 9] = [
    ("line", line),
    ("document", document),
    ("checkpoint", checkpoint),
    ("query", query),
    ("date", date),
    ("terminal", terminal),
    ("path", path),
    ("glob", pattern),
    ("secret", secret),
];

/// Every record of a line starts within the line, and the reason for a bad one is a short line.
fn line(bytes: &[u8]) {
    let each = &mut |at: usize, reading: ParsedRecord<'_>| {
        assert!(at <= bytes.len(), "a record at {at} of {}", bytes.len());
        if let ParsedRecord::Bad { reason, .. } = reading {
            assert!(!reason.contains('\n') && reason.len() < 300, "{reason:?}");
        }
    };
    transcript::read_line(bytes, each);
    transcript::read_history_line(bytes, each);
    let whole = transcript::whole_records(bytes);
    assert!(whole <= bytes.len());
    // Complete records stay complete, whatever is appended to them.
    let more = [&bytes[..whole], b"{\"type\":\"us"].concat();
    assert!(whole == 0 || transcript::whole_records(&more) >= whole, "{whole}");
    let _ = transcript::read_agent_meta(bytes);
}

/// The same lines give the same documents, even if the state is saved and loaded after each line.
fn document(bytes: &[u8]) {
    let kinds = [SourceKind::Session, SourceKind::Agent, SourceKind::History];
    for kind in kinds {
        let (once, state) = folded(kind, bytes, false);
        let (twice, kept) = folded(kind, bytes, true);
        assert_eq!(once, twice);
        assert_eq!(state, kept);
        let own = once.iter().filter(|document| document.seen_via_agent.is_none()).count();
        assert_eq!(own as u64, state.documents);
        for document in &once {
            let written = serde_json::to_string(document).expect("written");
            let read: Document = serde_json::from_str(&written).expect("read");
            assert_eq!((read.offset, read.line, read.part), (document.offset, document.line, document.part));
        }
    }
}

fn folded(kind: SourceKind, bytes: &[u8], in_pieces: bool) -> (Vec<Document>, FileState) {
    let mut state = FileState::default();
    let mut documents = Vec::new();
    let mut builder = Builder::new(kind, "session", None, state);
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        transcript::read_line(line, &mut |at, reading| {
            builder.take(Place { offset: at as u64, line: number }, reading);
        });
        documents.extend(builder.documents());
        if in_pieces {
            let kept = serde_json::to_string(&builder.state).expect("written");
            builder = Builder::new(kind, "session", None, serde_json::from_str(&kept).expect("read"));
        }
    }
    let _ = builder.title();
    state = builder.state.clone();
    (documents, state)
}

/// A checkpoint survives being written and read again.
fn checkpoint(bytes: &[u8]) {
    let Ok(read) = serde_json::from_slice::<Checkpoint>(bytes) else { return };
    let _ = (read.path(), read.key(), read.session_id().len(), read.agent_id().map(str::len), read.stat());
    let _ = (read.is_outdated(), read.source_kind(), read.state.title().map(str::len));
    let written = serde_json::to_string(&read).expect("written");
    let again: Checkpoint = serde_json::from_str(&written).expect("read again");
    assert_eq!(again, read);
    let _ = read.clone().gone(1);
    let _ = read.forgotten();
}

/// A query is either parsed or rejected.
fn query(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let around = QueryContext { folder: Some("/w/x".into()), home: Some("/home/u".into()), ..QueryContext::default() };
    let queries = [
        Query::parse(&text, &around),
        Query::plain(&text),
        Query::literal(&text, true),
        Query::literal(&text, false),
        Query::quoted(&text),
    ];
    for query in queries {
        match query {
            Ok(query) => {
                assert!(query.terms().count() <= 1024 && query.sequence().len() <= 1024);
                let _ = (query.prefixes(), query.has_words(), query.patterns().count());
                query.patterns().for_each(|pattern| _ = pattern.matches("a text to look in, 1 2 3").count());
            }
            Err(error) => assert!(error.to_string().len() < 20_000),
        }
    }
}

/// A date is either parsed or rejected, and its start is not after its end.
fn date(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let now: jiff::Zoned = "2026-11-16T12:00:00+01:00[Europe/Berlin]".parse().expect("a time");
    let (since, until) = (dates::parse(&text, &now, Edge::Since), dates::parse(&text, &now, Edge::Until));
    assert_eq!(since.is_ok(), until.is_ok(), "{text:?}");
    if let (Ok(since), Ok(until)) = (since, until) {
        assert!(since <= until, "{text:?}: {since} {until}");
    }
}

/// The result contains nothing that a terminal interprets, and a second pass does not change it.
fn terminal(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let safe = for_terminal(&text);
    assert!(safe.chars().all(|c| !is_dangerous(c) || c == '\u{200d}'), "{safe:?}");
    assert_eq!(for_terminal(&safe), safe);
    let line = one_line(&text);
    assert!(!line.contains(['\n', '\t', '\r']) && !line.contains("  "), "{line:?}");
    assert_eq!(one_line(&line), line);
}

/// A normalized path contains no redundant parts.
fn path(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (cwd, path) = text.split_once('\n').unwrap_or(("", &text));
    for cwd in [None, Some(cwd), Some("/w/x")] {
        let normal = normal_path(path, cwd);
        assert!(!normal.contains("//") && !normal.contains("/./") && !normal.ends_with("/."), "{normal:?}");
        if normal.starts_with('/') {
            assert!(!normal.split('/').any(|part| part == ".."), "{normal:?}");
        }
    }
}

/// Any text is a valid pattern. It matches itself if it has no wildcards, and everything if it is a star.
fn pattern(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (pattern, name) = text.split_once('\n').unwrap_or(("*", &text));
    for glob in [Glob::new(pattern), Glob::crossing(pattern)] {
        let _ = (glob.matches(name), glob.matches_tail(name));
        assert!(glob::is_pattern(pattern) || glob.matches(pattern));
    }
    assert!(Glob::crossing("*").matches(name));
    let known: Vec<String> = name.split(' ').take(20).map(str::to_string).collect();
    let short: String = pattern.chars().take(60).collect();
    for naming in [names::Naming::Path, names::Naming::Plain] {
        let _ = (names::pick(&short, &known, naming), names::nearest(&short, &known, naming));
    }
}

/// Secrets are within the text and do not overlap. Redaction changes the text if and only if it contains secrets.
fn secret(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let found = redact::secrets(&text);
    let mut end = 0;
    for secret in &found {
        assert!(secret.range.start >= end && !secret.range.is_empty(), "{found:?}");
        assert!(text.get(secret.range.clone()).is_some(), "{found:?}");
        end = secret.range.end;
    }
    let safe = redact::redact(&text);
    assert_eq!(found.is_empty(), safe == text, "{safe:?}");
    let mut marks = vec![(0, text.len().min(1)), (text.len(), text.len())];
    marks.retain(|(from, to)| text.is_char_boundary(*from) && text.is_char_boundary(*to));
    let marked = redact::redact_marked(&text, &mut marks);
    assert_eq!(marked, safe);
    assert!(marks.iter().all(|(from, to)| marked.get(*from..*to).is_some()), "{marks:?}");
}
