//! Incremental indexing: any sequence of changes, indexed in any number of runs, gives the same index as one full run.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use proptest::prelude::*;
use unspool::document::{Document, FileState};
use unspool::index::IndexFolder;
use unspool::transcript::discover::Root;
use unspool::update::{Unwatched, UpdateOptions, update};

use crate::support::transcript::{long_text, session, user_line, uuid};

/// A change of one of a few files, or an index run.
#[derive(Clone, Debug)]
enum Op {
    Append { file: usize, lines: Vec<usize> },
    AppendHalf { file: usize },
    Complete { file: usize },
    EndWithoutNewline { file: usize },
    Truncate { file: usize, keep: usize },
    ChangeInPlace { file: usize },
    Replace { file: usize, lines: Vec<usize> },
    Move { file: usize },
    Delete { file: usize },
    Touch { file: usize },
    Describe { file: usize },
    Index,
    IndexOne { file: usize },
}

const FILES: usize = 5;

fn op() -> impl Strategy<Value = Op> {
    let file = 0..FILES;
    let lines = || prop::collection::vec(0..LINE_KINDS, 1..6);
    prop_oneof![
        4 => (file.clone(), lines()).prop_map(|(file, lines)| Op::Append { file, lines }),
        1 => file.clone().prop_map(|file| Op::AppendHalf { file }),
        1 => file.clone().prop_map(|file| Op::Complete { file }),
        1 => file.clone().prop_map(|file| Op::EndWithoutNewline { file }),
        1 => (file.clone(), 0..4_usize).prop_map(|(file, keep)| Op::Truncate { file, keep }),
        1 => file.clone().prop_map(|file| Op::ChangeInPlace { file }),
        1 => (file.clone(), lines()).prop_map(|(file, lines)| Op::Replace { file, lines }),
        1 => file.clone().prop_map(|file| Op::Move { file }),
        1 => file.clone().prop_map(|file| Op::Delete { file }),
        1 => file.clone().prop_map(|file| Op::Touch { file }),
        1 => file.clone().prop_map(|file| Op::Describe { file }),
        // A run for one file, whether that file has changed or not.
        3 => file.prop_map(|file| Op::IndexOne { file }),
        5 => Just(Op::Index),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn many_runs_equal_one(ops in prop::collection::vec(op(), 4..40)) {
        let world = World::new();
        world.play(&ops);
    }
}

/// Few cases by default, many with `UNSPOOL_LONG=1`.
#[expect(clippy::disallowed_methods, reason = "a switch for the person who runs the tests")]
fn cases() -> u32 {
    if std::env::var_os("UNSPOOL_LONG").is_some() { 2000 } else { 24 }
}

/// A root folder with a few files, and an index that is updated now and then.
struct World {
    dir: tempfile::TempDir,
}

/// The content of the index for one file.
type Indexed = (u64, u64, FileState, Vec<Document>);

impl World {
    fn new() -> Self {
        // In memory if possible: this tests what is read, not what survives a power cut.
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("temporary folder");
        let world = Self { dir };
        for place in world.places(OWN_AGENT) {
            fs::create_dir_all(place.parent().expect("a folder")).expect("made");
        }
        world
    }

    fn roots(&self) -> Vec<Root> {
        vec![Root { path: self.dir.path().join("root"), required: true }]
    }

    fn index(&self, name: &str) {
        self.index_only(name, Vec::new());
    }

    fn index_only(&self, name: &str, only: Vec<PathBuf>) {
        let store = IndexFolder::new(&self.dir.path().join(name), &self.roots());
        let wait = Duration::from_secs(10);
        let options = UpdateOptions { now: 1, confirm: true, wait, only, ..UpdateOptions::default() };
        update(&store, &self.roots(), &options, &Unwatched).expect("indexed");
    }

    /// The content of an index, for files that exist.
    fn indexed(&self, name: &str) -> BTreeMap<PathBuf, Indexed> {
        let store = IndexFolder::new(&self.dir.path().join(name), &self.roots());
        let reader = store.read().expect("readable").expect("there");
        let files = reader.checkpoints().expect("checkpoints").into_iter().filter(|file| file.gone_since.is_none());
        let indexed = files.map(|file| {
            let documents = reader.documents_of(file.key()).expect("documents");
            (file.path(), (file.offset, file.lines, file.state.clone(), documents))
        });
        indexed.collect()
    }

    fn play(&self, ops: &[Op]) {
        for (step, op) in ops.iter().enumerate() {
            self.apply(op, u32::try_from(step).expect("small"));
        }
        self.index("many");
        self.index("one");
        let (many, one) = (self.indexed("many"), self.indexed("one"));
        assert_eq!(many.keys().collect::<Vec<_>>(), one.keys().collect::<Vec<_>>());
        for (path, indexed) in many {
            assert_eq!(indexed, one[&path], "{}", path.display());
        }
    }

    fn apply(&self, op: &Op, step: u32) {
        match op {
            Op::Index => self.index("many"),
            Op::IndexOne { file } => self.index_only("many", self.find(*file).into_iter().collect()),
            Op::Append { file, lines } => {
                self.write(*file, step, |text| text.extend(lines_of_kinds(lines, *file, step)));
            }
            Op::AppendHalf { file } => self.write(*file, step, |text| text.extend(halves(*file, step).0)),
            // The rest of an unfinished line, or a new line.
            Op::Complete { file } => self.write(*file, step, |text| {
                let (half, rest) = halves(*file, step.saturating_sub(1));
                text.extend(if text.ends_with(&half) { rest } else { lines_of_kinds(&[1], *file, step) });
            }),
            Op::EndWithoutNewline { file } => self.write(*file, step, |text| {
                text.extend(lines_of_kinds(&[0], *file, step));
                text.pop();
            }),
            Op::Truncate { file, keep } => self.write(*file, step, |text| {
                let end = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(*keep).map(|(at, _)| at + 1);
                text.truncate(end.unwrap_or(text.len()));
            }),
            Op::ChangeInPlace { file } => self.write(*file, step, |text| {
                if let Some(at) = text.windows(5).position(|word| word == b"words") {
                    text[at..at + 5].copy_from_slice(b"sword");
                }
            }),
            Op::Replace { file, lines } => {
                let _ = self.find(*file).map(fs::remove_file);
                self.write(*file, step, |text| *text = lines_of_kinds(lines, *file, step));
            }
            Op::Move { file } => {
                let places = self.places(*file);
                if let Some(at) = places.iter().position(|path| path.is_file()) {
                    let to = (at + 1 + step as usize % (places.len() - 1)) % places.len();
                    fs::rename(&places[at], &places[to]).expect("moved");
                }
            }
            Op::Delete { file } => {
                let _ = self.find(*file).map(fs::remove_file);
            }
            Op::Touch { file } => self.write(*file, step, |_| {}),
            Op::Describe { file } => {
                if let Some(path) = self.find(*file).filter(|_| *file >= OWN_AGENT) {
                    let meta = path.with_extension("meta.json");
                    match step % 4 {
                        0 => drop(fs::remove_file(meta)),
                        1 => fs::write(meta, "no description").expect("written"),
                        _ => fs::write(meta, format!(r#"{{"agentType":"x","description":"described {step}"}}"#))
                            .expect("written"),
                    }
                }
            }
        }
    }

    fn project(&self, name: &str) -> PathBuf {
        self.dir.path().join("root/projects").join(name)
    }

    /// The possible paths of a file: in one of the projects; that of a subagent also with another session.
    fn places(&self, file: usize) -> Vec<PathBuf> {
        let (own, other) = (name(file), name(file).replace(&session(0), &session(1)));
        let names = if file == OWN_AGENT { vec![own, other] } else { vec![own] };
        let places = names.iter().flat_map(|name| ["a", "b"].map(|project| self.project(project).join(name)));
        places.collect()
    }

    fn find(&self, file: usize) -> Option<PathBuf> {
        self.places(file).into_iter().find(|path| path.is_file())
    }

    /// Changes a file in place, and gives it a time of its own: the clock is too coarse for a test.
    fn write(&self, file: usize, step: u32, change: impl FnOnce(&mut Vec<u8>)) {
        let path = self.find(file).unwrap_or_else(|| self.project("a").join(name(file)));
        let mut text = fs::read(&path).unwrap_or_default();
        change(&mut text);
        write_over(&path, &text);
        let time = UNIX_EPOCH + Duration::from_secs(1_700_000_000 + u64::from(step));
        File::options().append(true).open(&path).expect("opened").set_modified(time).expect("time set");
    }
}

/// A line in two parts. If a parent may have seen it, the first part contains its id.
fn halves(file: usize, step: u32) -> (Vec<u8>, Vec<u8>) {
    let line = lines_of_kinds(&[if file == OWN_AGENT { 13 } else { 0 }], file, step);
    let at = if file == OWN_AGENT { line.len() - 4 } else { line.len() / 2 };
    (line[..at].to_vec(), line[at..].to_vec())
}

/// Overwrites a file in place, without creating a new inode.
fn write_over(path: &Path, text: &[u8]) {
    use std::io::Write as _;
    let mut file = File::options().write(true).create(true).truncate(true).open(path).expect("opened");
    file.write_all(text).expect("written");
}

/// The last files belong to subagents: one in the folder of its session, one in that of the project.
const OWN_AGENT: usize = FILES - 2;
const AGENT: usize = FILES - 1;

fn name(file: usize) -> String {
    match file {
        AGENT => "agent-a0b1c2d.jsonl".to_string(),
        OWN_AGENT => format!("{}/subagents/agent-{SEEN}.jsonl", session(0)),
        _ => format!("{}.jsonl", session(u32::try_from(file).expect("small"))),
    }
}

/// The subagent of which its parent saw something.
const SEEN: &str = "a9e8d7c";
const LINE_KINDS: usize = 15;

/// Lines of these kinds, each with a text that occurs nowhere else.
fn lines_of_kinds(kinds: &[usize], file: usize, step: u32) -> Vec<u8> {
    let session = session(if file == OWN_AGENT { 0 } else { u32::try_from(file).expect("small") });
    let mut text = String::new();
    for (at, kind) in kinds.iter().enumerate() {
        let number = step * 100 + u32::try_from(at).expect("small");
        let id = uuid(number + 1_000_000 * u32::try_from(file).expect("small"));
        let before = uuid(number.wrapping_sub(1));
        let prompt = format!("words of step{step} line{at}");
        text += &match kind {
            0 => user_line(&session, number, &prompt),
            11 => user_line(&session, number, &format!("{prompt}\n{}", long_text(number))),
            1 => {
                format!(
                    r#"{{"type":"assistant","uuid":"{id}","parentUuid":"{before}","cwd":"/w/x","sessionId":"{session}","timestamp":"2026-10-02T00:00:00.000Z","message":{{"id":"m{step}","model":"opus","content":[{{"type":"tool_use","id":"t{step}","name":"Read","input":{{"file_path":"src/f{at}.rs"}}}}],"usage":{{"input_tokens":3}}}}}}"#
                ) + "\n"
            }
            2 => {
                format!(
                    r#"{{"type":"user","uuid":"{id}","parentUuid":"{before}","sessionId":"{session}","message":{{"content":[{{"type":"tool_result","tool_use_id":"t{}","content":"result {prompt}"}}]}}}}"#,
                    step.saturating_sub(1)
                ) + "\n"
            }
            3 => {
                format!(
                    r#"{{"type":"queue-operation","operation":"enqueue","timestamp":"2026-10-03T00:00:00.000Z","sessionId":"{session}","content":"queued {prompt}"}}"#
                ) + "\n"
            }
            4 => format!(r#"{{"type":"custom-title","customTitle":"title {step}","sessionId":"{session}"}}"#) + "\n",
            5 => {
                format!(
                    r#"{{"type":"progress","uuid":"{id}","parentUuid":"{before}","data":{{"type":"bash_progress"}},"timestamp":"2026-10-04T00:00:00.000Z"}}"#
                ) + "\n"
            }
            6 => {
                format!(
                    r#"{{"type":"progress","uuid":"{id}","data":{{"type":"agent_progress","agentId":"zzz{step}","message":{{"type":"assistant","uuid":"in{id}","message":{{"content":[{{"type":"text","text":"seen {prompt}"}}]}}}}}}}}"#
                ) + "\n"
            }
            // A message of a subagent, in its own transcript and as its parent sees it.
            13 | 14 => {
                let message = match number % 7 {
                    5 => r#"{"type":"assistant","message":{"content":[{"type":"text","text":"said without an id"}]}}"#.to_string(),
                    // Braces are missing: not a record.
                    6 => r#"{"type":"assistant","uuid":"said1","message":{"content":[{"type":"text","text":"said badly"}]}"#.to_string(),
                    3 => format!(
                        r#"{{"type":"assistant","uuid":"said3","sessionId":"{session}","message":{{"content":[{{"type":"tool_use","id":"s1","name":"Read","input":{{"file_path":"/w/x/s.rs"}}}}]}}}}"#
                    ),
                    4 => format!(
                        r#"{{"type":"user","uuid":"said4","sessionId":"{session}","message":{{"content":[{{"type":"tool_result","tool_use_id":"s1","content":"read it"}}]}}}}"#
                    ),
                    other => format!(
                        r#"{{"type":"assistant","uuid":"said{other}","sessionId":"{session}","message":{{"content":[{{"type":"text","text":"said {other}"}}]}}}}"#
                    ),
                };
                let seen = format!(
                    r#"{{"type":"progress","uuid":"{id}","data":{{"type":"agent_progress","agentId":"{SEEN}","message":{message}}}}}"#
                );
                (if file < OWN_AGENT { seen } else { message }) + "\n"
            }
            7 => format!("garbage {prompt}\n"),
            8 => "\n".to_string(),
            9 => format!(r#"{{"type":"summary","summary":"sum {prompt}","leafUuid":"{before}"}}"#) + "\n",
            10 => format!(r#"{{"type":"novel","uuid":"{id}","note":"unknown {prompt}"}}"#) + "\n",
            _ => {
                format!(
                    r#"{{"type":"user","uuid":"{id}","message":{{"content":"a \ud83d {prompt}"}}}}{{"type":"ai-title","aiTitle":"model {step}"}}"#
                ) + "\n"
            }
        };
    }
    text.into_bytes()
}
