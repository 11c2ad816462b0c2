//! Fault catalogue, section E: upgrades, and an index in a state that no run leaves it in. E2 is in `loops.rs`, E11 in
//! `config.rs`.
//!
//! Of E9, a checkpoint that cannot be decoded is not tested here, since no public call writes one; that test would
//! belong next to `Reader::checkpoint`, in `src/index/read/mod.rs`. E5 and E9 change the index through the library,
//! which has no other way to write it than the program has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use unspool::document::Builder;
use unspool::index::{Checkpoint, IndexFolder, RunSize, Writer};
use unspool::transcript::discover::Root;

use crate::support::env::Env;
use crate::support::transcript::{session, user_line};

/// One name per session. Its lines contain the name followed by a number.
const NAMES: [&str; 8] = ["alpaca", "badger", "caiman", "dugong", "egret", "ferret", "gibbon", "heron"];
const NUMBERS: [&str; 4] = ["one", "two", "three", "four"];
/// The number of sessions, counted from the end, that are only in the index.
const GONE: usize = 2;

/// The contents of the files in a folder, by name.
type Files = BTreeMap<String, Vec<u8>>;
/// Exit codes of searches, with their hits.
type Answers = Vec<(i32, Vec<String>)>;

#[test]
fn e1_schema_changed() {
    let env = library();
    let (current, older) = make_older(&env);
    let foreign = env.index_dir().join("index-1-00000000-deadbeef");
    std::fs::create_dir(&foreign).expect("made");
    let answer = env.run(&["search", "--no-refresh", NAMES[0]]);
    assert_eq!(answer.code, 4, "an index with another schema is not read: {}", answer.stderr);
    env.heal();
    assert!(current.is_dir() && !older.is_dir(), "the new index must replace the old one");
    assert!(foreign.is_dir(), "an index for other roots must be left alone");
    assert_eq!(missing(&env, NAMES.len()), [""; 0]);
}

/// The index in `fixtures/index-1` was written by the first program with format 1, and its transcripts no longer exist.
/// Whatever the current format, its whole content is carried over, and forgotten sessions stay forgotten.
#[test]
fn e1_an_index_of_format_1_is_carried_over() {
    let env = Env::new();
    env.index();
    let (current, older) = make_older(&env);
    std::fs::remove_dir_all(&older).expect("removed");
    std::fs::create_dir(&older).expect("made");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/index-1");
    for (name, bytes) in files(&fixture) {
        std::fs::write(older.join(name), bytes).expect("written");
    }
    env.heal();
    assert!(current.is_dir() && !older.is_dir(), "the new index must replace the old one");
    let status: Value = serde_json::from_str(&env.run(&["status", "--json"]).stdout).expect("JSON");
    let counts = ["documents", "sessions", "agents", "sessions_only_in_index"].map(|name| status[name].as_u64());
    assert_eq!(counts, [87, 4, 5, 4].map(Some), "{status}");
    for (query, hits) in [
        ("\"numbat-abort\" role:subagent", 1),
        ("\"cassowaryflow\"", 1),
        ("\"capybarapath\"", 1),
        ("\"historyonlystoatling\"", 1),
        ("parseRetryAfter kind:prompt", 2),
        ("\"PostingBatch\"", 0),
    ] {
        assert_eq!(env.count(query), hits, "{query}");
    }
    let shown = env.run(&["show", "--no-refresh", "05000001"]);
    assert!(
        shown.stdout.contains("Retry-After") && shown.stdout.contains("10 messages, 6 tools, 1 file, 2 agents"),
        "{}",
        shown.stdout
    );
    let changed = env.run(&["file", "--no-refresh", "token.rs"]);
    assert!(changed.code == 0 && changed.stdout.contains("05000001"), "{} {}", changed.stdout, changed.stderr);
}

/// The old index is removed only when the new one is in place. Here the new one cannot be built at first.
#[test]
fn e1_schema_changed_and_the_first_run_fails() {
    let env = library();
    let (current, older) = make_older(&env);
    let in_the_way = current.with_extension("new");
    std::fs::write(&in_the_way, "").expect("written");
    let before = files(&older);
    assert_eq!(env.run(&["index"]).code, 2);
    assert!(!current.is_dir());
    assert_eq!(files(&older), before);
    std::fs::remove_file(&in_the_way).expect("removed");
    env.heal();
    assert_eq!(missing(&env, NAMES.len()), [""; 0]);
}

#[test]
fn e3_index_of_a_newer_program() {
    let env = library();
    let folder = only_index_folder(&env);
    let meta = folder.join("meta.json");
    let original = std::fs::read(&meta).expect("read");
    set_header(&env, "format", 99.into());
    set_header(&env, "program", "9.9.9".into());
    let before = files(&folder);
    for command in
        [&["search", NAMES[0]][..], &["search", "--no-refresh", NAMES[0]], &["index"], &["verify"], &["status"]]
    {
        let ran = env.run(command);
        assert_eq!(ran.code, 4, "{command:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("newer") && ran.stderr.contains("9.9.9"), "{command:?}: {}", ran.stderr);
    }
    assert_eq!(files(&folder), before);
    std::fs::write(&meta, original).expect("written");
    env.heal();
}

/// Files that an older parser has read are read again. Until then, the old documents are found.
#[test]
fn e5_parser_version_bumped() {
    let env = library();
    let before = answers(&env);
    change(&env, |writer, checkpoint| put(writer, &with_parser(checkpoint, 0), true));
    assert_same_hits(&env, &before);
    let report = env.index_json();
    let live = NAMES.len() - GONE;
    assert_eq!((&report["rewritten"], &report["unchanged"]), (&live.into(), &0.into()), "{report}");
    assert_same_hits(&env, &before);
    assert_eq!(env.index_json()["unchanged"], live);
    env.heal();
}

#[test]
fn e6_meta_json_empty() {
    repairs("meta.json", |_| Some(Vec::new()));
}

#[test]
fn e6_meta_json_truncated() {
    repairs("meta.json", |bytes| Some(bytes[..bytes.len() / 2].to_vec()));
}

#[test]
fn e6_meta_json_garbage() {
    repairs("meta.json", |_| Some(b"quagga { not JSON".to_vec()));
}

#[test]
fn e6_meta_json_missing() {
    repairs("meta.json", |_| None);
}

/// tantivy's list of files is made from the folder. A list left by an older version, in whatever state, is ignored, and
/// a run removes it.
#[test]
fn e6_managed_json_of_any_kind() {
    for text in ["", "[\"meta.js", "quagga { not JSON", "[]", "[\"0123456789abcdef0123456789abcdef.store\"]"] {
        let env = library();
        let list = only_index_folder(&env).join(".managed.json");
        assert!(!list.is_file(), "a list is kept");
        std::fs::write(&list, text).expect("written");
        assert_eq!(env.run(&["search", "--no-refresh", NAMES[0]]).code, 0, "{text}");
        assert_eq!(env.run(&["verify"]).code, 0, "{text}");
        assert_eq!(missing(&env, NAMES.len()), [""; 0], "{text}");
        std::fs::write(only_index_folder(&env).join("0123456789abcdef0123456789abcdef.store"), "left")
            .expect("written");
        let id = session(77);
        env.write(format!("-p/{id}.jsonl"), user_line(&id, 1, "one more"));
        env.index();
        assert!(!list.is_file(), "{text}: the list still exists");
        let left = files(&only_index_folder(&env));
        assert!(!left.contains_key("0123456789abcdef0123456789abcdef.store"), "{text}: {:?}", left.keys());
        env.heal();
    }
}

/// What only an unreadable index contained is lost, but never silently.
#[test]
fn e6_a_loss_is_reported() {
    let env = library();
    for (name, bytes) in files(&only_index_folder(&env)) {
        let is_store = name.ends_with(".store");
        let bytes = if is_store { vec![0; bytes.len()] } else { bytes };
        std::fs::write(only_index_folder(&env).join(name), bytes).expect("written");
    }
    let report = env.index_json();
    assert!(report["rebuilt"].is_string(), "{report}");
    let problems = report["problems"].as_array().expect("a list");
    assert!(problems.iter().any(|problem| problem.to_string().contains("lost")), "{report}");
    env.heal();
}

#[test]
fn e7_segment_file_missing() {
    for extension in ["term", "idx", "pos", "store", "fast", "fieldnorm", "del"] {
        let env = library();
        let folder = only_index_folder(&env);
        let victim = files(&folder).into_keys().find(|name| name.ends_with(&format!(".{extension}")));
        std::fs::remove_file(folder.join(victim.expect(extension))).expect("removed");
        let ran = env.run(&["search", "--no-refresh", NAMES[0]]);
        assert_eq!(ran.code, 4, "{extension}: {}", ran.stderr);
        let report = env.index_json();
        assert!(report["rebuilt"].is_string(), "{extension}: {report}");
        assert_eq!(missing(&env, NAMES.len() - GONE), [""; 0], "{extension}");
        env.heal();
    }
}

#[test]
fn e7_unknown_files_are_left_alone() {
    let env = library();
    let folder = only_index_folder(&env);
    let extras = ["notes.txt", ".DS_Store", "meta.json.bak"];
    // A file with the name of a segment can only be left from a crash.
    let left_over = "0123456789abcdef0123456789abcdef.idx";
    for extra in extras.into_iter().chain([left_over]) {
        std::fs::write(folder.join(extra), "extra").expect("written");
    }
    let before = answers(&env);
    let problems = env.problems().join("\n");
    for (extra, is_reported) in [("notes.txt", true), (".DS_Store", false), ("meta.json.bak", true), (left_over, false)]
    {
        assert_eq!(problems.contains(extra), is_reported, "{extra}: {problems}");
    }
    env.append(path_of(0), user_line(&session(0), 900, "a line more"));
    env.heal();
    assert_same_hits(&env, &before);
    let kept = files(&folder);
    assert!(extras.iter().all(|extra| kept.get(*extra).is_some_and(|bytes| bytes == b"extra")));
    assert!(!kept.contains_key(left_over));
}

/// Either `verify` finds the damage, or the damage changes no answer.
#[test]
fn e8_damage_is_found_by_verify() {
    let env = library();
    let pristine = Pristine::of(&env);
    let before = answers(&env);
    let mut wrong = Vec::new();
    for damage in pristine.damages() {
        pristine.restore(&env, Some(&damage));
        let verdict = env.run(&["verify"]);
        let after = answers(&env);
        let is_found = matches!(verdict.code, 3 | 4);
        let is_harmless = verdict.code == 0 && after == before;
        // A search that cannot answer must say so; a signal (-1) is not an answer.
        let is_honest = after.iter().all(|(code, _)| matches!(code, 0 | 1 | 4));
        if !(is_found || is_harmless) || !is_honest {
            wrong.push(format!("{}: verify {}, same answers {}", damage.name, verdict.code, after == before));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A plain run repairs what it notices. What only `verify` notices, after a run that succeeded, is repaired by
/// following its advice.
#[test]
fn e8_damage_is_repaired() {
    let env = library();
    let pristine = Pristine::of(&env);
    let mut wrong = Vec::new();
    for damage in pristine.damages() {
        pristine.restore(&env, Some(&damage));
        let mut index = env.run(&["index"]);
        if env.run(&["verify"]).code != 0 {
            index = env.run(&["index", "--rebuild"]);
        }
        let verdict = env.run(&["verify", "--deep"]);
        let lost = if verdict.code == 0 { missing(&env, NAMES.len() - GONE).len() } else { 0 };
        if !matches!(index.code, 0 | 3) || verdict.code != 0 || lost > 0 {
            wrong.push(format!(
                "{}: index {}, verify {}, {lost} words lost: {}",
                damage.name, index.code, verdict.code, index.stderr
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Our own header with a schema that is not ours is damage, not the index of another program.
#[test]
fn e8_schema_damaged() {
    let env = library();
    let meta = only_index_folder(&env).join("meta.json");
    let text = std::fs::read_to_string(&meta).expect("read");
    std::fs::write(&meta, text.replace("\"body\"", "\"bodx\"")).expect("written");
    assert_eq!(env.run(&["search", "--no-refresh", NAMES[0]]).code, 4);
    env.heal();
    assert_eq!(missing(&env, NAMES.len() - GONE), [""; 0]);
}

/// After a run that did not finish, nothing is written before every file was compared with its checksum.
#[test]
fn e8_unclean_end_and_new_lines() {
    let env = library();
    set_header(&env, "clean", false.into());
    flip_a_bit(&env, ".pos");
    env.append(path_of(0), user_line(&session(0), 900, "a line more"));
    let report = env.index_json();
    assert!(report["rebuilt"].is_string(), "{report}");
    // Positions are not needed to carry over what is only in the index.
    assert_eq!(missing(&env, NAMES.len()), [""; 0]);
    env.heal();
}

/// The same with nothing to write: a search must not answer wrongly after an unclean end.
#[test]
fn e8_unclean_end_and_nothing_new() {
    let env = library();
    set_header(&env, "clean", false.into());
    flip_a_bit(&env, ".pos");
    env.heal();
    assert_eq!(missing(&env, NAMES.len()), [""; 0]);
}

/// The advice of `verify` after it found damage.
#[test]
fn e8_the_advice_of_verify_helps() {
    let env = library();
    flip_a_bit(&env, ".store");
    let verdict = env.run(&["verify"]);
    assert_eq!(verdict.code, 4, "{}", verdict.stderr);
    assert!(verdict.stderr.contains("run `unspool index`"), "{}", verdict.stderr);
    let report = env.index_json();
    assert!(report["rebuilt"].is_string(), "{report}");
    env.heal();
}

/// The next run repairs what a search could not read, whether it has new lines to add or not.
#[test]
fn e8_damage_found_by_a_search_is_repaired() {
    for has_more in [false, true] {
        let env = library();
        overwrite_middle(&env, ".store");
        let ran = env.run(&["search", "--no-refresh", "-n", "100", &all_words()]);
        assert_eq!(ran.code, 4, "{} {}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains("run `unspool index`:"), "{}", ran.stderr);
        if has_more {
            env.append(path_of(0), user_line(&session(0), 900, "a line more"));
        }
        let report = env.index_json();
        assert!(report["rebuilt"].is_string(), "{report}");
        assert_eq!(missing(&env, NAMES.len() - GONE), [""; 0]);
        env.heal();
    }
}

/// Damage that no longer exists costs one check: nothing is rebuilt, and the next run has nothing to do.
#[test]
fn e8_damage_that_disappeared_by_itself() {
    let env = library();
    let pristine = Pristine::of(&env);
    overwrite_middle(&env, ".store");
    assert_eq!(env.run(&["verify"]).code, 4);
    let marks = || files(&only_index_folder(&env)).into_keys().filter(|name| name == ".damage-met").count();
    assert_eq!(marks(), 1);
    pristine
        .files
        .iter()
        .for_each(|(name, bytes)| std::fs::write(pristine.folder.join(name), bytes).expect("repaired"));
    let report = env.index_json();
    assert!(report["rebuilt"].is_null(), "{report}");
    assert_eq!(marks(), 0);
    env.verify();
}

#[test]
fn e9_checkpoint_missing() {
    let env = library();
    let before = answers(&env);
    change(&env, |writer, checkpoint| {
        if checkpoint.gone_since.is_none() {
            writer.forget_checkpoint(checkpoint.key()).expect("forgotten");
        }
    });
    let ran = env.run(&["verify"]);
    assert!(ran.code != 0 && ran.stdout.contains("its files account for"), "{} {}", ran.stdout, ran.stderr);
    let report = env.index_json();
    assert_eq!(report["new"], NAMES.len() - GONE, "{report}");
    assert_same_hits(&env, &before);
    env.heal();
}

#[test]
fn e9_checkpoint_duplicated() {
    let env = library();
    let before = answers(&env);
    change(&env, |writer, checkpoint| put(writer, checkpoint, false));
    assert_same_hits(&env, &before);
    env.index();
    assert_same_hits(&env, &before);
    env.heal();
}

/// Two contradicting checkpoints: one of them says that less was read.
#[test]
fn e9_checkpoint_duplicated_and_older() {
    let env = library();
    let before = answers(&env);
    change(&env, |writer, checkpoint| {
        if checkpoint.gone_since.is_none() {
            let mut older = checkpoint.clone();
            (older.offset, older.lines) = (0, 0);
            put(writer, &older, false);
        }
    });
    env.heal();
    assert_same_hits(&env, &before);
}

/// Sessions whose source is deleted survive a change of schema, and a requested rebuild.
#[test]
fn e10_vanished_sessions_survive_a_rebuild() {
    let env = library();
    let (_, older) = make_older(&env);
    std::fs::remove_file(env.file(path_of(0))).expect("removed");
    let report = env.index_json();
    // The lines of each session, and its title.
    assert_eq!(report["carried"], (GONE + 1) * (NUMBERS.len() + 1), "{report}");
    assert!(!older.is_dir());
    assert_eq!(missing(&env, NAMES.len()), [""; 0]);
    assert_eq!(env.run(&["index", "--rebuild"]).code, 0);
    assert_eq!(missing(&env, NAMES.len()), [""; 0]);
    let hit = env.hits(&word(0, 0)).remove(0);
    assert_eq!((&hit["source_missing"], &hit["title"]), (&true.into(), &title(0).into()), "{hit}");
    env.heal();
}

/// Forgotten sessions are not carried over to the new index.
#[test]
fn e10_forgotten_sessions_stay_forgotten() {
    let env = library();
    assert_eq!(env.run(&["forget", "--yes", &session(1)]).code, 0);
    make_older(&env);
    env.heal();
    assert_eq!(missing(&env, NAMES.len()), NUMBERS.map(|number| format!("{}{number}", NAMES[1])));
}

#[test]
fn e12_index_of_another_program() {
    let env = library();
    let folder = only_index_folder(&env);
    let own = folder.with_extension("own");
    std::fs::rename(&folder, &own).expect("renamed");
    std::fs::create_dir(&folder).expect("made");
    let text = r#"{"name":"title","type":"text","options":{"indexing":{"record":"position","fieldnorms":true,"tokenizer":"default"},"stored":true,"fast":false}}"#;
    // With a compression that this program can read, and with one that it cannot.
    for compression in ["none", "lz4"] {
        let settings = format!(r#"{{"docstore_compression":"{compression}","docstore_blocksize":16384}}"#);
        let meta = format!(r#"{{"index_settings":{settings},"segments":[],"schema":[{text}],"opstamp":0}}"#);
        std::fs::write(folder.join("meta.json"), meta).expect("written");
        std::fs::write(folder.join(".managed.json"), r#"["meta.json"]"#).expect("written");
        let before = files(&folder);
        for command in
            [&["search", NAMES[0]][..], &["search", "--no-refresh", NAMES[0]], &["index"], &["verify"], &["status"]]
        {
            let ran = env.run(command);
            assert_eq!(ran.code, 4, "{compression} {command:?}: {}", ran.stderr);
            assert!(ran.stderr.contains("did not create"), "{compression} {command:?}: {}", ran.stderr);
        }
        assert_eq!(without_locks(files(&folder)), before);
    }
    std::fs::remove_dir_all(&folder).expect("removed");
    std::fs::rename(&own, &folder).expect("renamed");
    env.heal();
    assert_eq!(missing(&env, NAMES.len()), [""; 0]);
}

/// Eight sessions of four lines, indexed in three runs, so that there are several segments and deleted documents. The
/// source of the last two is deleted.
fn library() -> Env {
    let env = Env::new();
    for at in 0..NAMES.len() {
        let name =
            format!(r#"{{"type":"custom-title","customTitle":"{}","sessionId":"{}"}}"#, title(at), session(id_of(at)));
        let lines: String = (0..3).map(|line| line_of(at, line)).collect();
        env.write(path_of(at), lines + &name + "\n");
    }
    env.index();
    for at in 0..NAMES.len() {
        env.append(path_of(at), line_of(at, 3));
    }
    env.index();
    for at in NAMES.len() - GONE..NAMES.len() {
        std::fs::remove_file(env.file(path_of(at))).expect("removed");
    }
    env.index();
    assert_eq!(missing(&env, NAMES.len()), [""; 0]);
    env
}

fn id_of(at: usize) -> u32 {
    u32::try_from(at).expect("small")
}

fn path_of(at: usize) -> PathBuf {
    Path::new("-home-u-x").join(session(id_of(at))).with_extension("jsonl")
}

fn word(at: usize, line: usize) -> String {
    format!("{}{}", NAMES[at], NUMBERS[line])
}

fn title(at: usize) -> String {
    format!("About the {}", NAMES[at])
}

fn line_of(at: usize, line: usize) -> String {
    let number = id_of(at * NUMBERS.len() + line);
    user_line(&session(id_of(at)), number, &format!("here {} was seen near the river", word(at, line)))
}

/// The words of the first `sessions` sessions that are not found exactly once.
fn missing(env: &Env, sessions: usize) -> Vec<String> {
    let hits = env.hits(&all_words());
    let times = |word: &String| hits.iter().filter(|hit| hit.to_string().contains(word.as_str())).count();
    let words = (0..sessions).flat_map(|at| (0..NUMBERS.len()).map(move |line| word(at, line)));
    words.filter(|word| times(word) != 1).collect()
}

fn all_words() -> String {
    (0..NAMES.len()).flat_map(|at| (0..NUMBERS.len()).map(move |line| word(at, line))).collect::<Vec<_>>().join(" ")
}

/// The answers to searches for words, a phrase and a title: exit code and hits in order.
fn answers(env: &Env) -> Answers {
    let queries = [all_words(), "\"was seen near the river\"".to_string(), "\"About the\"".to_string()];
    let ask = |query: &String| env.run(&["search", "--no-refresh", "--json", "--messages", "-n", "1000", query]);
    queries.iter().map(ask).map(|ran| (ran.code, ran.stdout.lines().filter_map(hit).collect())).collect()
}

/// A hit on one line, its score last; none for the summary, which contains the time.
fn hit(line: &str) -> Option<String> {
    let hit: Value = serde_json::from_str(line).expect("JSON");
    let parts = [&hit["session_id"], &hit["line"], &hit["kind"], &hit["title"], &hit["snippet"]["text"], &hit["score"]];
    (hit["type"] == "hit").then(|| parts.map(Value::to_string).join(" "))
}

/// Checks that searches have the same hits, in any order: scores depend on the distribution of documents over segments.
fn assert_same_hits(env: &Env, before: &Answers) {
    let unordered = |answers: &Answers| -> Answers {
        let unscored = |hit: &String| hit.rsplit_once(' ').map(|(hit, _)| hit.to_string()).unwrap_or_default();
        let mut answers: Answers =
            answers.iter().map(|(code, hits)| (*code, hits.iter().map(unscored).collect())).collect();
        answers.iter_mut().for_each(|(_, hits)| hits.sort());
        answers
    };
    for (before, after) in unordered(before).into_iter().zip(unordered(&answers(env))) {
        let lost: Vec<&String> = before.1.iter().filter(|hit| !after.1.contains(hit)).collect();
        let new: Vec<&String> = after.1.iter().filter(|hit| !before.1.contains(hit)).collect();
        assert!(
            before == after,
            "exit {}, {} hits, then {}; lost {lost:#?} new {new:#?}",
            after.0,
            before.1.len(),
            after.1.len()
        );
    }
}

/// A new version has put its index in place, and was killed before the older index was removed.
#[test]
fn e10_an_older_index_left_by_a_kill_is_removed() {
    let env = Env::new();
    let [id, other] = [1, 2].map(session);
    env.write(format!("-p/{id}.jsonl"), user_line(&id, 1, "a secret quoll"));
    env.write(format!("-p/{other}.jsonl"), user_line(&other, 2, "stays"));
    env.index();
    let (current, older) = make_older(&env);
    let kept = files(&older);
    for is_whole in [true, false] {
        env.index();
        std::fs::create_dir(&older).expect("made");
        for (name, bytes) in kept.iter().filter(|(name, _)| is_whole || *name != "meta.json") {
            std::fs::write(older.join(name), bytes).expect("written");
        }
        let back = std::fs::File::options().write(true).open(older.join("meta.json")).ok();
        back.into_iter().for_each(|file| file.set_modified(std::time::UNIX_EPOCH).expect("set"));
        env.heal();
        assert!(!older.is_dir() && current.is_dir());
        assert_eq!((env.count("quoll"), env.count("stays")), (1, 1));
    }
}

/// The folder of the index; there must be exactly one.
fn only_index_folder(env: &Env) -> PathBuf {
    let entries = std::fs::read_dir(env.index_dir()).expect("listed").map(|entry| entry.expect("entry").path());
    let mut folders = entries.filter(|path| path.is_dir());
    let folder = folders.next().expect("an index");
    assert_eq!(folders.next(), None, "one index only");
    folder
}

/// Renames the index to the name that an older program would use. Returns the current name and the older one.
fn make_older(env: &Env) -> (PathBuf, PathBuf) {
    let current = only_index_folder(env);
    let name = current.file_name().and_then(|name| name.to_str()).expect("a name");
    let parts: Vec<&str> = name.split('-').collect();
    let older = env.index_dir().join(format!("index-1-00000000-{}", parts[3]));
    std::fs::rename(&current, &older).expect("renamed");
    (current, older)
}

fn files(folder: &Path) -> Files {
    let entries = std::fs::read_dir(folder).expect("listed").map(|entry| entry.expect("entry").path());
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    entries.map(|path| (name(&path), std::fs::read(&path).expect("read"))).collect()
}

/// Changes a field in the header of the last commit.
fn set_header(env: &Env, key: &str, value: Value) {
    let path = only_index_folder(env).join("meta.json");
    let mut meta: Value = serde_json::from_slice(&std::fs::read(&path).expect("read")).expect("JSON");
    let mut header: Value = serde_json::from_str(meta["payload"].as_str().expect("a payload")).expect("JSON");
    header[key] = value;
    meta["payload"] = header.to_string().into();
    std::fs::write(path, meta.to_string()).expect("written");
}

/// Flips a bit of the largest file with this ending, in its content rather than in its structure.
fn flip_a_bit(env: &Env, ending: &str) {
    let folder = only_index_folder(env);
    let of_kind = files(&folder).into_iter().filter(|(name, _)| name.ends_with(ending));
    let (name, mut bytes) = of_kind.max_by_key(|(_, bytes)| bytes.len()).expect("a file");
    bytes[20] ^= 1;
    std::fs::write(folder.join(name), bytes).expect("written");
}

/// Overwrites a part of the largest file with this ending.
fn overwrite_middle(env: &Env, ending: &str) {
    let folder = only_index_folder(env);
    let of_kind = files(&folder).into_iter().filter(|(name, _)| name.ends_with(ending));
    let (name, mut bytes) = of_kind.max_by_key(|(_, bytes)| bytes.len()).expect("a file");
    let middle = bytes.len() / 2;
    let start = middle.saturating_sub(256);
    bytes[start..middle].fill(0x5a);
    std::fs::write(folder.join(name), bytes).expect("written");
}

/// Removes empty lock files, which readers may leave.
fn without_locks(mut files: Files) -> Files {
    files.retain(|name, bytes| !(name.ends_with(".lock") && bytes.is_empty()));
    files
}

/// Damages the file that names all the others. A search reports it briefly, and a plain run repairs it.
fn repairs(name: &str, damage: impl Fn(&[u8]) -> Option<Vec<u8>>) {
    let env = library();
    let file = only_index_folder(&env).join(name);
    match damage(&std::fs::read(&file).expect("read")) {
        Some(bytes) => std::fs::write(&file, bytes).expect("written"),
        None => std::fs::remove_file(&file).expect("removed"),
    }
    let ran = env.run(&["search", "--no-refresh", NAMES[0]]);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    let is_dumped = ["quagga", "segment_id", ".store"].iter().any(|part| ran.stderr.contains(part));
    assert!(!is_dumped && ran.stderr.lines().count() <= 2, "the file is in the message: {}", ran.stderr);
    env.index();
    assert_eq!(missing(&env, NAMES.len() - GONE), [""; 0]);
    env.heal();
}

/// Opens the index as the program does and changes it by hand, once for each checkpoint.
fn change(env: &Env, mut each: impl FnMut(&Writer, &Checkpoint)) {
    let home = env.path().join("home");
    let roots = [".claude", ".config/claude"].map(|name| Root { path: home.join(name), required: false });
    let store = IndexFolder::new(&env.index_dir(), &roots);
    let checkpoints = store.read().expect("read").expect("an index").checkpoints().expect("checkpoints");
    assert_eq!(checkpoints.len(), NAMES.len());
    let locked = store.lock(Duration::from_secs(5)).expect("locked");
    let writer = locked.write(RunSize::Small).expect("a writer");
    checkpoints.iter().for_each(|checkpoint| each(&writer, checkpoint));
    writer.end().expect("committed");
}

/// Writes a checkpoint that replaces the existing one, or is added to it.
fn put(writer: &Writer, checkpoint: &Checkpoint, replaces: bool) {
    let title = Builder::new(checkpoint.source_kind(), checkpoint.session_id(), None, checkpoint.state.clone()).title();
    writer.checkpoint(checkpoint, title.filter(|_| replaces), replaces).expect("written");
}

/// A checkpoint as a program with another parser version would have written it.
fn with_parser(checkpoint: &Checkpoint, parser: u32) -> Checkpoint {
    let mut fields = serde_json::to_value(checkpoint).expect("JSON");
    fields["parser"] = parser.into();
    serde_json::from_value(fields).expect("a checkpoint")
}

/// An intact index, to be restored after each damage.
struct Pristine {
    folder: PathBuf,
    files: Files,
}

/// A damaged file.
struct Damage {
    name: String,
    file: String,
    bytes: Vec<u8>,
}

impl Pristine {
    fn of(env: &Env) -> Self {
        let folder = only_index_folder(env);
        let files = files(&folder);
        Self { folder, files }
    }

    /// Restores all files except for one damage.
    fn restore(&self, env: &Env, damage: Option<&Damage>) {
        std::fs::remove_dir_all(env.index_dir()).expect("removed");
        std::fs::create_dir_all(&self.folder).expect("made");
        for (name, bytes) in &self.files {
            let bytes = damage.filter(|damage| damage.file == *name).map_or(bytes, |damage| &damage.bytes);
            std::fs::write(self.folder.join(name), bytes).expect("written");
        }
    }

    /// Sixty damages, the same in every run. tantivy chooses random file names, so files are sorted by type and size.
    fn damages(&self) -> Vec<Damage> {
        let mut random = Random(0x5eed);
        let mut whole: Vec<(&String, &Vec<u8>)> = self.files.iter().filter(|(_, bytes)| !bytes.is_empty()).collect();
        whole.sort_by_key(|(name, bytes)| (name.rsplit('.').next(), bytes.len()));
        (0..60).map(|case| damage(case, whole[random.below(whole.len())], &mut random)).collect()
    }
}

fn damage(case: usize, (file, whole): (&String, &Vec<u8>), random: &mut Random) -> Damage {
    let mut bytes = whole.clone();
    let at = random.below(bytes.len());
    let what = match case % 3 {
        0 => {
            bytes[at] ^= 1 << random.below(8);
            "a bit flipped"
        }
        1 => {
            let end = bytes.len().min(at + 512);
            bytes[at..end].fill(0);
            "zeroes"
        }
        _ => {
            bytes.truncate(at);
            "cut off"
        }
    };
    Damage { name: format!("{case}: {what} at {at} of {} in {file}", whole.len()), file: file.clone(), bytes }
}

/// Pseudo-random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        // The constants of Knuth's MMIX; the high bits are the random ones.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % u64::try_from(limit).expect("fits")).expect("fits")
    }
}

/// Temporary files of tantivy that a kill has left are removed; files with a similar name stay.
#[test]
fn e7_temporary_files_are_removed() {
    let env = library();
    let folder = only_index_folder(&env);
    for name in [".tmpAb3dE6", ".tmp-of-mine"] {
        std::fs::write(folder.join(name), "half of something").expect("written");
    }
    env.append(path_of(0), user_line(&session(0), 900, "a line more"));
    env.heal();
    assert!(!folder.join(".tmpAb3dE6").is_file() && folder.join(".tmp-of-mine").is_file());
}

/// Pruned sessions are also removed from a damaged index that was set aside.
#[test]
fn e10_pruned_sessions_are_removed_from_an_index_set_aside() {
    let env = library();
    let aside = || {
        let entries = std::fs::read_dir(env.index_dir()).expect("listed").map(|entry| entry.expect("entry").path());
        entries.filter(|path| path.to_string_lossy().ends_with(".damaged")).count()
    };
    let meta = only_index_folder(&env).join("meta.json");
    let text = std::fs::read_to_string(&meta).expect("read");
    std::fs::write(&meta, text.replace("\"branch\"", "\"brunch\"")).expect("written");
    assert!(env.index_json()["rebuilt"].is_string());
    assert_eq!(aside(), 1, "one generation is kept");
    std::fs::remove_file(env.file(path_of(0))).expect("removed");
    env.index();
    assert_eq!(env.run(&["prune", "--yes"]).code, 0);
    assert_eq!((aside(), env.count(&word(0, 0))), (0, 0));
    env.heal();
}

/// A forgotten session does not come back through the hook, from another folder, or with a new subagent.
#[test]
fn e10_forgotten_sessions_do_not_come_back_by_another_way() {
    let env = library();
    assert_eq!(env.run(&["forget", "--yes", &session(0)]).code, 0);
    env.append(path_of(0), user_line(&session(0), 900, "ezehnback"));
    let path = env.file(path_of(0));
    let ran = env.run(&["index", "--file", path.to_str().expect("a path")]);
    assert_eq!((ran.code, env.count("ezehnback")), (0, 0), "reported by the hook: {}", ran.stderr);
    std::fs::rename(&path, env.file(format!("-elsewhere/{}.jsonl", session(0)))).expect("moved");
    env.write(format!("-elsewhere/{}/subagents/agent-a1.jsonl", session(0)), user_line(&session(0), 901, "ezehnback"));
    env.index();
    assert_eq!((env.count("ezehnback"), env.count(&word(0, 0))), (0, 0), "moved, or with a new subagent");
    env.heal();
}

/// `verify` compares the number of documents in a checkpoint with the documents.
#[test]
fn e9_checkpoint_that_counts_wrongly() {
    let env = library();
    change(&env, |writer, checkpoint| {
        let mut wrong = checkpoint.clone();
        wrong.state.documents += 1;
        put(writer, &wrong, true);
    });
    let ran = env.run(&["verify"]);
    assert_eq!(ran.code, 3, "{}", ran.stdout);
    assert!(ran.stdout.contains("instead of"), "{}", ran.stdout);
}

/// The next run removes what a killed rebuild has left next to the index, even if it has nothing to write.
#[test]
fn e10_nothing_is_left_next_to_the_index() {
    let env = library();
    let folder = only_index_folder(&env);
    for (mark, has_more) in [(".new", false), (".new", true), (".old", false), (".old", true)] {
        let beside = PathBuf::from(format!("{}{mark}", folder.display()));
        std::fs::create_dir(&beside).expect("made");
        for name in files(&folder).into_keys() {
            std::fs::copy(folder.join(&name), beside.join(&name)).expect("copied");
        }
        if has_more {
            env.append(path_of(0), user_line(&session(0), 900, "a line more"));
        }
        env.heal();
        assert!(!beside.is_dir(), "{mark} still exists");
    }
    // Killed between the two renames of a swap: only the old index exists.
    std::fs::rename(&folder, format!("{}.old", folder.display())).expect("renamed");
    env.heal();
    assert_eq!((only_index_folder(&env), missing(&env, NAMES.len())), (folder, vec![]));
}

/// The prompts of a forgotten session do not come back through the prompt history.
#[test]
fn e10_prompts_of_forgotten_sessions_stay_forgotten() {
    let env = library();
    let history = env.claude().join("history.jsonl");
    let prompt = |text: &str| {
        let id = session(0);
        format!(
            r#"{{"display":"{text}","pastedContents":{{}},"timestamp":1790000000000,"project":"/home/u/x","sessionId":"{id}"}}"#
        ) + "\n"
    };
    std::fs::write(&history, prompt("ezehnfirst")).expect("written");
    env.index();
    assert_eq!(env.run(&["forget", "--yes", &session(0)]).code, 0);
    std::fs::write(&history, prompt("ezehnfirst") + &prompt("ezehnsecond")).expect("written");
    assert_eq!(env.index_json()["documents"], 0, "nothing of it is indexed again");
    assert_eq!((env.count("ezehnfirst"), env.count("ezehnsecond")), (0, 0));
    assert_eq!(env.run(&["index", "--rebuild"]).code, 0);
    assert_eq!((env.count("ezehnfirst"), env.count("ezehnsecond")), (0, 0));
    env.heal();
}
