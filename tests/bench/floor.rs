//! Floors for `scripts/bench`: how fast a part of the work can be when nothing else is done.
//!
//! - `floor tantivy ROOT DIR`  documents of ROOT, made beforehand and held in memory, into an index in DIR
//! - `floor commit DIR N`       N commits of one document each by tantivy alone into the index that lies in DIR: one
//!   line of seconds for each
//! - `floor resident ROOT DIR N`  N searches by one process that keeps the archive in DIR open; reads queries from stdin
//!   and prints the times and the memory as JSON
//! - `floor text ROOT`         the text of every document, as JSON Lines, for other search engines

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use unspool::archive::request::{Context, SearchRequest};
use unspool::archive::{Archive, Local, NoRunner};
use unspool::document::{Builder, Document, FileState, Place};
use unspool::index::{FileKey, IndexFolder, RunSize, Writer};
use unspool::transcript;
use unspool::transcript::discover::{Root, Source, SourceKind, discover};
use unspool::transcript::lines::Transcript;

/// The documents of a file, until a thread takes them.
type Waiting = std::sync::Mutex<Option<(FileKey, Vec<Document>)>>;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["tantivy", root, dir] => tantivy(&roots(root), Path::new(dir)),
        ["commit", dir, count] => commit(Path::new(dir), count.parse()?),
        ["resident", root, dir, count] => resident(&roots(root), Path::new(dir), count.parse()?),
        ["text", root] => text(&roots(root)),
        _ => Err("usage: floor tantivy ROOT DIR | commit DIR N | resident ROOT DIR N | text ROOT".into()),
    }
}

fn roots(root: &str) -> Vec<Root> {
    vec![Root { path: PathBuf::from(root), required: true }]
}

/// Times searches in a process that keeps the archive open.
fn resident(roots: &[Root], dir: &Path, count: usize) -> Result<()> {
    let queries: Vec<String> = std::io::stdin().lines().collect::<std::io::Result<_>>()?;
    let archive = Archive::new(Local::new(roots.to_vec(), dir).into(), Box::new(NoRunner));
    let (mut times, mut memory_begin) = (Vec::with_capacity(count), 0);
    for (number, query) in queries.iter().cycle().take(count).enumerate() {
        let start = Instant::now();
        let request = SearchRequest { text: Some(query.clone()), ..SearchRequest::default() };
        archive.search(&request, &Context::default())?;
        times.push(start.elapsed().as_secs_f64() * 1000.0);
        if number == count / 10 {
            memory_begin = memory()?;
        }
    }
    times.sort_by(f64::total_cmp);
    let share = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default();
    let measured = serde_json::json!({
        "p50_ms": share(50), "p95_ms": share(95), "p99_ms": share(99), "rss_begin": memory_begin, "rss_end": memory()?,
    });
    writeln!(std::io::stdout(), "{measured}")?;
    Ok(())
}

/// Returns the private memory of this process in KiB. Pages of the index are not counted, because the system shares and
/// reclaims them.
fn memory() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).ok_or("no RssAnon")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// Times the index alone.
fn tantivy(roots: &[Root], dir: &Path) -> Result<()> {
    let made: Vec<(FileKey, Vec<Document>)> = discover(roots)
        .sources
        .iter()
        .map(|source| Ok((FileKey::of(&source.path), documents(source)?)))
        .collect::<Result<_>>()?;
    let count: usize = made.iter().map(|(_, documents)| documents.len()).sum();
    let made: Vec<Waiting> = made.into_iter().map(|one| std::sync::Mutex::new(Some(one))).collect();
    let store = IndexFolder::new(dir, roots);
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let writer = store.lock(Duration::from_secs(5))?.write(RunSize::Large)?;
    feed(&writer, &made)?;
    writer.end()?;
    report(count, start, cpu)
}

/// Hands files over from as many threads as there are cores.
fn feed(writer: &Writer, made: &[Waiting]) -> Result<()> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<()> {
        while let Some(one) = made.get(next.fetch_add(1, Ordering::Relaxed)) {
            let taken = one.lock().map_err(|_| "poisoned")?.take();
            if let Some((key, documents)) = taken {
                writer.add(key, documents)?;
            }
        }
        Ok(())
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
    })
}

/// Times bare commits of one document, as tantivy makes them by itself.
#[expect(clippy::disallowed_methods, reason = "the bare commit is what is measured")]
fn commit(dir: &Path, count: u32) -> Result<()> {
    let index = tantivy::Index::open_in_dir(dir)?;
    index.tokenizers().register("unspool_words", tantivy::tokenizer::SimpleTokenizer::default());
    let body = index.schema().get_field("body")?;
    let mut writer = index.writer_with_num_threads(1, 16 << 20)?;
    writer.set_merge_policy(Box::new(tantivy::indexer::NoMergePolicy));
    for number in 0..count {
        let start = Instant::now();
        writer.add_document(tantivy::doc!(body => format!("bare commit {number}")))?;
        writer.commit()?;
        writeln!(std::io::stdout(), "{}", start.elapsed().as_secs_f64())?;
    }
    Ok(())
}

/// Writes the text of every document.
fn text(roots: &[Root]) -> Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout());
    for source in discover(roots).sources {
        for document in documents(&source)? {
            serde_json::to_writer(&mut out, &(&document.session, document.kind.name(), &document.text))?;
            out.write_all(b"\n")?;
        }
    }
    Ok(out.flush()?)
}

/// Every document of a file, as `unspool index` makes them.
fn documents(source: &Source) -> Result<Vec<Document>> {
    let mut transcript = Transcript::open(&source.path)?;
    let mut builder = Builder::new(source.kind, &source.session, source.agent.as_deref(), FileState::default());
    let mut made = Vec::new();
    if source.kind == SourceKind::Spill {
        let bytes = transcript.read_up_to(0, usize::MAX)?;
        builder.spilled(0, 0, &String::from_utf8_lossy(&bytes));
    } else {
        let mut lines = transcript.lines(0, 0, transcript::whole_records)?;
        let mut line_number = 0;
        while let Some(line) = lines.next()? {
            line_number += 1;
            let offset = line.offset;
            let mut each = |at: usize, reading: transcript::ParsedRecord<'_>| {
                builder.take(Place { offset: offset + at as u64, line: line_number }, reading);
            };
            if source.kind == SourceKind::History {
                transcript::read_history_line(line.bytes, &mut each);
            } else {
                transcript::read_line(line.bytes, &mut each);
            }
        }
    }
    made.append(&mut builder.documents());
    Ok(made)
}

fn report(documents: usize, start: Instant, cpu: f64) -> Result<()> {
    let (wall, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    writeln!(std::io::stdout(), r#"{{"documents":{documents},"wall":{wall:.3},"cpu":{cpu:.3}}}"#)?;
    Ok(())
}

/// Seconds of processor time this process has used, by the kernel's count.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}
