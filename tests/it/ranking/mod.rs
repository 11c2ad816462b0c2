//! Quality of ranking: known items, searched for in many ways, and the place at which they are found.
//!
//! Queries are drawn from a seeded corpus (a session first, then something in it); some are written by hand for the
//! fixtures. Every message that contains the drawn text counts as a right answer. The figures are kept in
//! `figures.txt`, which must match exactly, so that every change of ranking is visible as a change of that file.
//! `UNSPOOL_BLESS=1 cargo test ranking` rewrites it.

mod draw;
mod fixtures;
mod prose;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use unspool::archive::request::{Context, SearchRequest};
use unspool::archive::{Archive, Local, NoRunner, SearchAnswer};
use unspool::document::Document;
use unspool::index::IndexFolder;
use unspool::transcript::discover::Root;

use crate::corpus::plan::{Options, generate};
use crate::support::env::Env;
use crate::support::figures::compare;

const SIZE: u64 = 24_000_000;
const SEED: u64 = 11;
/// The number of queries of each class over the seeded corpus and over the sample of real sessions.
const EACH: usize = 24;
const EACH_REAL: usize = 60;
const HEADING: &str = "Session and message: success@1, success@5, MRR@10; the share without any answer.\n";
/// 2026-11-16.
const NOW: i64 = 1_794_787_200_000;

/// An item to search for.
pub(crate) struct Wanted {
    class: &'static str,
    query: String,
    /// The sessions that contain it, by the beginning of their ids.
    sessions: BTreeSet<String>,
    /// The messages that contain it; not checked if empty.
    messages: BTreeSet<String>,
}

/// The ranks of the first right session and the first right message, from 1.
#[derive(Clone, Copy, Default)]
struct Place {
    session: Option<usize>,
    message: Option<usize>,
    is_empty: bool,
}

#[test]
fn ranking_is_as_recorded() {
    let mut shown = String::from(HEADING);
    let env = Env::new();
    let root = env.path().join("corpus");
    generate(&Options { out: root.clone(), size: SIZE, seed: SEED }).expect("a corpus");
    let archive = index(&env, &root);
    report(&mut shown, "seeded corpus", &archive, &drawn(&env, &root));
    report(&mut shown, "seeded corpus, prose", &archive, &prose::about("generated"));
    let home = Env::with_fixtures("home");
    let archive = index(&home, &home.claude());
    report(&mut shown, "fixtures", &archive, &fixtures::all());
    report(&mut shown, "fixtures, prose", &archive, &prose::about("fixtures"));
    compare(&shown, "ranking/figures.txt");
}

/// `UNSPOOL_REAL_SAMPLE=DIR cargo test --test it real_sample -- --ignored`, with the unpacked sample in DIR.
#[test]
#[ignore = "needs the sample of real sessions, which is not part of the repository"]
fn ranking_of_the_real_sample_is_as_recorded() {
    let root = PathBuf::from(variable("UNSPOOL_REAL_SAMPLE").expect("UNSPOOL_REAL_SAMPLE is set"));
    let env = Env::new();
    let mut shown = String::from(HEADING);
    let archive = index(&env, &root);
    report(&mut shown, "real sample", &archive, &draw::all(&documents(&env, &root), EACH_REAL));
    report(&mut shown, "real sample, prose", &archive, &prose::about("real sample"));
    compare(&shown, "ranking/figures_real.txt");
}

/// Draws queries from the seeded corpus, enough of each class.
fn drawn(env: &Env, root: &Path) -> Vec<Wanted> {
    let all = draw::all(&documents(env, root), EACH);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    all.iter().for_each(|wanted| *counts.entry(wanted.class).or_default() += 1);
    assert!(counts.values().all(|count| *count >= EACH / 2), "too few queries: {counts:?}");
    all
}

fn index(env: &Env, root: &Path) -> Archive {
    let ran = env.run(&["index", "--root", root.to_str().expect("a path")]);
    assert!(matches!(ran.code, 0 | 3), "{}", ran.stderr);
    Archive::new(Local::new(roots(root), &env.index_dir()).into(), Box::new(NoRunner))
}

fn roots(root: &Path) -> Vec<Root> {
    vec![Root { path: root.to_path_buf(), required: true }]
}

fn documents(env: &Env, root: &Path) -> Vec<Document> {
    let reader = IndexFolder::new(&env.index_dir(), &roots(root)).read().expect("readable").expect("an index");
    let files = reader.checkpoints().expect("checkpoints");
    files.iter().flat_map(|file| reader.documents_of(file.key()).expect("documents")).collect()
}

fn report(shown: &mut String, title: &str, archive: &Archive, all: &[Wanted]) {
    let mut classes: BTreeMap<&str, Vec<(&Wanted, Place)>> = BTreeMap::new();
    for wanted in all {
        classes.entry(wanted.class).or_default().push((wanted, place(archive, wanted)));
    }
    writeln!(shown, "\n== {title}: {} queries", all.len()).expect("written");
    for (class, asked) in &classes {
        let sessions = figures(asked.iter().map(|(_, place)| place.session));
        let with_messages = asked.iter().filter(|(wanted, _)| !wanted.messages.is_empty());
        let messages = figures(with_messages.map(|(_, place)| place.message));
        let empty = asked.iter().filter(|(_, place)| place.is_empty).count() as f64 / asked.len() as f64;
        writeln!(shown, "{class:<16} {:>3}  {sessions}  {messages}  {empty:.3}", asked.len()).expect("written");
    }
    for (wanted, place) in classes.values().flatten().filter(|(_, place)| place.session != Some(1)) {
        let rank = place.session.map_or("none".to_string(), |rank| rank.to_string());
        let query = wanted.query.split_whitespace().collect::<Vec<_>>().join(" ");
        writeln!(shown, "  {rank:>4}  {}: {}", wanted.class, query.chars().take(90).collect::<String>())
            .expect("written");
    }
}

fn figures(places: impl Iterator<Item = Option<usize>>) -> String {
    let places: Vec<Option<usize>> = places.collect();
    if places.is_empty() {
        return format!("{:>5} {:>5} {:>5}", "-", "-", "-");
    }
    let count = places.len() as f64;
    let within = |rank: usize| places.iter().flatten().filter(|place| **place <= rank).count() as f64 / count;
    let reciprocal: f64 = places.iter().flatten().map(|place| 1.0 / *place as f64).sum();
    format!("{:.3} {:.3} {:.3}", within(1), within(5), reciprocal / count)
}

fn place(archive: &Archive, wanted: &Wanted) -> Place {
    let sessions = ask(archive, &wanted.query, false);
    let is_right = |id: &str| wanted.sessions.iter().any(|session| id.starts_with(session.as_str()));
    let session = sessions.sessions.iter().position(|found| {
        is_right(found.session.id.raw()) || found.hits[0].also_in.iter().any(|other| is_right(other.raw()))
    });
    let message = if wanted.messages.is_empty() { None } else { message(&ask(archive, &wanted.query, true), wanted) };
    Place { session: session.map(|at| at + 1), message: message.map(|at| at + 1), is_empty: sessions.total_hits == 0 }
}

fn message(answer: &SearchAnswer, wanted: &Wanted) -> Option<usize> {
    answer
        .sessions
        .iter()
        .position(|found| found.hits[0].uuid.as_ref().is_some_and(|uuid| wanted.messages.contains(uuid.raw())))
}

fn ask(archive: &Archive, text: &str, flat: bool) -> SearchAnswer {
    let request = SearchRequest {
        text: Some(text.to_string()),
        per_session: Some(1),
        messages: flat,
        ..SearchRequest::default()
    };
    let now = jiff::Timestamp::from_millisecond(NOW).expect("a time").to_zoned(jiff::tz::TimeZone::UTC);
    archive.search(&request, &Context { now, ..Context::default() }).expect("an answer")
}

#[expect(clippy::disallowed_methods, reason = "switches of this test")]
fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}
