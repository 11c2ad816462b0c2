//! Damage to every kind of index file. Whatever is damaged, `verify` notices it, and the next run repairs the index
//! without losing a message of a deleted transcript, unless the stored text itself is damaged. Then the loss is
//! reported, and nothing else is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use unspool::index::{IndexFolder, Loss};
use unspool::transcript::discover::Root;

use crate::support::env::Env;
use crate::support::transcript::{session, user_line};

/// Sessions whose transcripts are deleted, so that only the index has them.
const VANISHED: [u32; 4] = [1, 2, 3, 4];
/// A session whose transcript still exists.
const PRESENT: u32 = 5;
/// A session that the user removed for good, although its transcript still exists.
const FORGOTTEN: u32 = 6;
/// Messages per session at first; one more is appended later.
const MESSAGES: u32 = 8;
/// Words per message. Several messages fill a block of stored text.
const WORDS: u32 = 3000;

const KINDS: [&str; 8] = ["meta.json", "store", "idx", "pos", "term", "fast", "fieldnorm", "del"];
const DAMAGES: [&str; 6] = ["truncate", "remove", "flip", "scramble", "zero", "swap"];

/// The contents of the files in a folder, by name.
type Files = BTreeMap<String, Vec<u8>>;

/// An index with several segments, deletions, and sessions that only it has.
struct Library {
    env: Env,
    folder: PathBuf,
    pristine: Files,
    /// The texts of vanished sessions.
    texts: BTreeSet<String>,
}

impl Library {
    fn new() -> Self {
        let env = Env::new();
        for pair in [[1, 2], [3, 4], [PRESENT, FORGOTTEN]] {
            for number in pair {
                env.write(path_of(number), (0..MESSAGES).map(|line| message(number, line)).collect::<String>());
            }
            env.index();
        }
        assert_eq!(env.run(&["forget", "--yes", &session(FORGOTTEN)]).code, 0);
        for number in VANISHED {
            env.append(path_of(number), message(number, MESSAGES));
            env.index();
        }
        for number in VANISHED {
            std::fs::remove_file(env.file(path_of(number))).expect("removed");
        }
        assert_eq!(env.run(&["index", "--confirm"]).code, 0);
        let folder = env.index_folder();
        let mut library = Self { pristine: files(&folder), folder, texts: BTreeSet::new(), env };
        library.texts = library.kept();
        assert_eq!(library.texts.len(), VANISHED.len() * (MESSAGES as usize + 1));
        library
    }

    fn index(&self) -> IndexFolder {
        let home = self.env.path().join("home");
        let roots = [".claude", ".config/claude"].map(|name| Root { path: home.join(name), required: false });
        IndexFolder::new(&self.env.index_dir(), &roots)
    }

    /// Restores the index, without anything next to it.
    fn restore(&self) {
        std::fs::remove_dir_all(self.env.index_dir()).expect("removed");
        std::fs::create_dir_all(&self.folder).expect("made");
        for (name, bytes) in &self.pristine {
            std::fs::write(self.folder.join(name), bytes).expect("written");
        }
    }

    /// The texts that the index contains of vanished sessions. A forgotten session must not be among its files.
    fn kept(&self) -> BTreeSet<String> {
        let reader = self.index().read().expect("readable").expect("an index");
        let mut texts = BTreeSet::new();
        for file in reader.checkpoints().expect("checkpoints") {
            let documents = reader.documents_of(file.key()).expect("documents");
            let is_forgotten = documents.iter().any(|document| document.session == session(FORGOTTEN));
            assert!(!is_forgotten, "a forgotten session came back");
            if file.gone_since.is_some() {
                texts.extend(documents.into_iter().map(|document| document.text));
            }
        }
        texts
    }

    /// The largest files of a kind, the largest first.
    fn of_kind(&self, kind: &str) -> Vec<&String> {
        let mut found: Vec<_> = self.pristine.iter().filter(|(name, _)| name.ends_with(kind)).collect();
        found.sort_by_key(|(_, bytes)| std::cmp::Reverse(bytes.len()));
        found.into_iter().map(|(name, _)| name).collect()
    }

    /// Damages a file. Returns false if there is no other file to swap it with.
    fn damage(&self, name: &str, how: &str) -> bool {
        let path = self.folder.join(name);
        let mut bytes = self.pristine[name].clone();
        let middle = bytes.len() / 2;
        match how {
            "truncate" => bytes.truncate(middle),
            "remove" => {
                std::fs::remove_file(path).expect("removed");
                return true;
            }
            "flip" => bytes[middle] ^= 0x10,
            "scramble" => bytes.iter_mut().skip(middle).take(64).for_each(|byte| *byte = byte.wrapping_mul(7) ^ 0x5a),
            "zero" => bytes.fill(0),
            _ => {
                let kind = name.rsplit('.').next().unwrap_or_default();
                let is_other = |other: &&String| kind != "json" && self.pristine[*other] != bytes;
                let Some(other) = self.of_kind(kind).into_iter().rfind(is_other) else { return false };
                std::fs::write(self.folder.join(other), &bytes).expect("written");
                bytes.clone_from(&self.pristine[other]);
            }
        }
        std::fs::write(path, bytes).expect("written");
        true
    }

    /// Checks an index after it was repaired. Returns the number of messages that are lost.
    fn lost(&self, code: i32, losses: &[Loss], what: &str) -> usize {
        let kept = self.kept();
        let lost = self.texts.difference(&kept).count();
        assert!(kept.is_subset(&self.texts), "{what}: a text came from nowhere");
        let reported: u64 = losses.iter().filter_map(|loss| loss.lost).sum();
        assert_eq!(lost as u64, reported, "{what}: {losses:?}");
        assert_eq!(lost > 0, code == 3, "{what}: exit {code}, {losses:?}");
        self.env.verify();
        lost
    }
}

fn path_of(number: u32) -> String {
    format!("-home-u-x/{}.jsonl", session(number))
}

/// A line with a text of its own that does not compress well.
fn message(number: u32, line: u32) -> String {
    let mut state = u64::from(number * 100 + line + 1);
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{:x}", state >> 40)
    };
    let text: Vec<String> = (0..WORDS).map(|_| word()).collect();
    user_line(&session(number), number * 100 + line, &text.join(" "))
}

fn files(folder: &Path) -> Files {
    let entries = std::fs::read_dir(folder).expect("listed").map(|entry| entry.expect("entry").path());
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    entries.map(|path| (name(&path), std::fs::read(&path).expect("read"))).collect()
}

/// Every kind of file with every kind of damage.
#[test]
fn only_messages_in_damaged_blocks_are_lost() {
    let library = Library::new();
    let segments = library.of_kind("store").len();
    assert!(segments > 1, "{segments} segments");
    for kind in KINDS {
        let victims: Vec<String> = library.of_kind(kind).into_iter().cloned().collect();
        assert!(!victims.is_empty(), "no {kind} file");
        let victim = &victims[0];
        for how in DAMAGES {
            library.restore();
            if !library.damage(victim, how) {
                continue;
            }
            let what = format!("{how} {kind}");
            let verdict = library.env.run(&["verify"]);
            assert!(matches!(verdict.code, 3 | 4), "{what}: verify {} {}", verdict.code, verdict.stdout);
            let ran = library.env.index();
            let losses = library.index().losses();
            let lost = library.lost(ran.code, &losses, &what);
            assert!(lost == 0 || kind == "store", "{what}: {lost} lost");
            if matches!(how, "flip" | "scramble") {
                assert!(lost <= 6, "{what}: {lost} lost, more than a block contains");
            }
            assert_eq!(library.env.index().code, 0, "{what}: the next run has nothing to report");
        }
    }
}

/// A plain run repairs what a search or a display could not read.
#[test]
fn damage_met_by_a_reader_is_repaired_by_a_plain_run() {
    let library = Library::new();
    let victim = library.of_kind("store")[0].clone();
    for how in ["flip", "scramble", "swap"] {
        library.restore();
        assert!(library.damage(&victim, how));
        let shown = VANISHED.map(|number| library.env.run(&["show", "--no-refresh", &session(number)]).code);
        assert!(shown.contains(&4), "{how}: {shown:?}");
        let ran = library.env.index();
        assert!(ran.stdout.contains("built a new index"), "{how}: {}", ran.stdout);
        let lost = library.lost(ran.code, &library.index().losses(), how);
        assert!(lost <= 6, "{how}: {lost}");
    }
}

/// The folders of damaged indexes that were moved aside.
fn set_aside(env: &Env) -> usize {
    let entries = std::fs::read_dir(env.index_dir()).expect("listed").map(|entry| entry.expect("entry").path());
    entries.filter(|path| path.to_string_lossy().contains(".damaged")).count()
}

/// A damaged index that contains something that was not copied is kept, until the user forgets or prunes a session.
/// Losses are shown until they are acknowledged.
#[test]
fn a_damaged_index_is_kept_until_everything_is_copied() {
    let library = Library::new();
    let (env, index) = (&library.env, library.index());
    library.restore();
    library.damage(library.of_kind("store")[0], "truncate");
    assert_eq!(env.index().code, 3);
    let losses = index.losses();
    assert!(!losses.is_empty() && losses.iter().all(|loss| loss.lost > Some(0) && loss.lost <= Some(loss.of)));
    for generation in [2, 2] {
        std::fs::write(library.folder.join("meta.json"), "").expect("written");
        assert_eq!(env.index().code, 0);
        assert_eq!(set_aside(env), generation, "the incomplete one, and the latest");
    }
    assert_eq!(env.run(&["index", "--rebuild"]).code, 0, "nothing new is lost");
    assert_eq!(index.losses(), losses);
    index.acknowledge_losses().expect("acknowledged");
    assert_eq!(index.losses(), []);
    assert_eq!(env.run(&["forget", "--yes", &session(PRESENT)]).code, 0);
    assert_eq!(set_aside(env), 0);
    env.verify();
}

/// A requested rebuild of a damaged index does not remove it either.
#[test]
fn a_rebuild_keeps_what_it_cannot_copy() {
    let library = Library::new();
    library.restore();
    library.damage(library.of_kind("store")[0], "scramble");
    let ran = library.env.run(&["index", "--rebuild"]);
    let lost = library.lost(ran.code, &library.index().losses(), "rebuild");
    assert!(lost > 0 && set_aside(&library.env) == 1, "{lost}");
}

/// Documents whose checkpoints are lost, and whose transcripts nothing names, are kept where Claude Code would have
/// kept them.
#[test]
fn documents_without_a_checkpoint_are_kept() {
    let library = Library::new();
    let stores = library.of_kind("store");
    // The last run has only marked files as deleted, so the smallest store has all checkpoints.
    let checkpoints = stores.last().expect("a store").split_once('.').expect("a name").0;
    library.restore();
    for name in library.pristine.keys().filter(|name| name.starts_with(checkpoints)) {
        std::fs::remove_file(library.folder.join(name)).expect("removed");
    }
    std::fs::remove_file(library.folder.join("meta.json")).expect("removed");
    let ran = library.env.run(&["index", "--confirm"]);
    assert_eq!(library.texts.difference(&library.kept()).count(), 0, "{}", ran.stdout);
    library.env.verify();
}

/// Even if nothing in the index says so any more, a forgotten session stays forgotten.
#[test]
fn a_forgotten_session_does_not_come_back_from_a_ruin() {
    let library = Library::new();
    for name in library.pristine.keys().filter(|name| !name.starts_with('.')) {
        std::fs::write(library.folder.join(name), "").expect("written");
    }
    for run in 0..3 {
        let ran = library.env.index();
        assert_eq!(ran.code, if run == 0 { 3 } else { 0 }, "{}", ran.stdout);
        assert_eq!(library.kept().len(), 0);
    }
    assert!(!library.index().losses().is_empty());
}
