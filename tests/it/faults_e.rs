//! Section E of the fault catalogue: upgrades, and an index in a state that no run leaves it in.
//!
//! Left out: E11, as there is no configuration file yet; of E9, a checkpoint that cannot be decoded, as no public
//! call writes one (it belongs beside `Reader::checkpoint`, in `src/index/reader.rs`). E5 and E9 reach into the
//! index through the library, which has no other way to write it than the program has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use unspool::document::Builder;
use unspool::index::{Checkpoint, IndexFolder, RunSize, Writer};
use unspool::transcript::discover::Root;

use crate::util::{Env, session, user_line};

/// One name for each session; its lines hold the name with a number behind it.
const NAMES: [&str; 8] = ["alpaca", "badger", "caiman", "dugong", "egret", "ferret", "gibbon", "heron"];
const NUMBERS: [&str; 4] = ["one", "two", "three", "four"];
/// How many of the sessions, from the end, are only in the index.
const GONE: usize = 2;

/// The bytes of a folder's files, by name.
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
    assert_eq!(answer.code, 4, "an index of another shape is not read: {}", answer.stderr);
    env.heal();
    assert!(current.is_dir() && !older.is_dir(), "the new one is there and the old one gone");
    assert!(foreign.is_dir(), "an index for other roots is none of our business");
    assert_eq!(missing(&env, NAMES.len()), [""; 0]);
}

/// The index in `fixtures/index-1` was written by the first program with format 1, and its transcripts are gone. Whatever
/// the format is by now, everything in it is taken over, and what was forgotten stays forgotten.
#[test]
fn e1_an_index_of_format_1_is_taken_over() {
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
    assert!(current.is_dir() && !older.is_dir(), "the new one is there and the old one gone");
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

/// The old index goes only when the new one is in place: here the new one cannot be built at first.
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
    let folder = index_folder(&env);
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

/// Files read by an older program are read again; until then, what it made of them is found.
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

/// tantivy's list of files is made from what stands in the folder; one left by an older version, in whatever state,
/// is not looked at, and a run removes it.
#[test]
fn e6_managed_json_of_any_kind() {
    for text in ["", "[\"meta.js", "quagga { not JSON", "[]", "[\"0123456789abcdef0123456789abcdef.store\"]"] {
        let env = library();
        let list = index_folder(&env).join(".managed.json");
        assert!(!list.is_file(), "a list is kept");
        std::fs::write(&list, text).expect("written");
        assert_eq!(env.run(&["search", "--no-refresh", NAMES[0]]).code, 0, "{text}");
        assert_eq!(env.run(&["verify"]).code, 0, "{text}");
        assert_eq!(missing(&env, NAMES.len()), [""; 0], "{text}");
        std::fs::write(index_folder(&env).join("0123456789abcdef0123456789abcdef.store"), "left").expect("written");
        let id = session(77);
        env.write(format!("-p/{id}.jsonl"), user_line(&id, 1, "one more"));
        env.index();
        assert!(!list.is_file(), "{text}: the list is still there");
        let left = files(&index_folder(&env));
        assert!(!left.contains_key("0123456789abcdef0123456789abcdef.store"), "{text}: {:?}", left.keys());
        env.heal();
    }
}

/// What only an unreadable index held is lost; nothing is ever lost without a word.
#[test]
fn e6_a_loss_is_told() {
    let env = library();
    std::fs::write(index_folder(&env).join("meta.json"), "").expect("written");
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
        let folder = index_folder(&env);
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
    let folder = index_folder(&env);
    let extras = ["notes.txt", ".DS_Store", "meta.json.bak"];
    // A file with the name of a segment can only be what a crash has left.
    let left_over = "0123456789abcdef0123456789abcdef.idx";
    for extra in extras.into_iter().chain([left_over]) {
        std::fs::write(folder.join(extra), "extra").expect("written");
    }
    let before = answers(&env);
    let told = env.problems().join("\n");
    for (extra, is_told) in [("notes.txt", true), (".DS_Store", false), ("meta.json.bak", true), (left_over, false)] {
        assert_eq!(told.contains(extra), is_told, "{extra}: {told}");
    }
    env.append(path_of(0), user_line(&session(0), 900, "a line more"));
    env.heal();
    assert_same_hits(&env, &before);
    let kept = files(&folder);
    assert!(extras.iter().all(|extra| kept.get(*extra).is_some_and(|bytes| bytes == b"extra")));
    assert!(!kept.contains_key(left_over));
}

/// Either `verify` finds a damage, or it changes no answer.
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
        // An answer that could not be given says so; a signal (-1) is never an answer.
        let is_honest = after.iter().all(|(code, _)| matches!(code, 0 | 1 | 4));
        if !(is_found || is_harmless) || !is_honest {
            wrong.push(format!("{}: verify {}, same answers {}", damage.name, verdict.code, after == before));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A plain run mends what it notices; what only `verify` notices, after a run that ended well, is mended as it says.
#[test]
fn e8_damage_is_healed() {
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

/// Our own header stands beside a schema that is not ours: that is damage, not the index of another program.
#[test]
fn e8_schema_damaged() {
    let env = library();
    let meta = index_folder(&env).join("meta.json");
    let text = std::fs::read_to_string(&meta).expect("read");
    std::fs::write(&meta, text.replace("\"body\"", "\"bodx\"")).expect("written");
    assert_eq!(env.run(&["search", "--no-refresh", NAMES[0]]).code, 4);
    env.heal();
    assert_eq!(missing(&env, NAMES.len() - GONE), [""; 0]);
}

/// After a run that was cut short, nothing is written before every file is compared with its checksum.
#[test]
fn e8_unclean_end_and_new_lines() {
    let env = library();
    set_header(&env, "clean", false.into());
    flip_a_bit(&env, ".pos");
    env.append(path_of(0), user_line(&session(0), 900, "a line more"));
    let report = env.index_json();
    assert!(report["rebuilt"].is_string(), "{report}");
    // Positions are not needed to take over what is only in the index.
    assert_eq!(missing(&env, NAMES.len()), [""; 0]);
    env.heal();
}

/// The same with nothing to write: a search must not be wrong after an unclean end.
#[test]
fn e8_unclean_end_and_nothing_new() {
    let env = library();
    set_header(&env, "clean", false.into());
    flip_a_bit(&env, ".pos");
    env.heal();
    assert_eq!(missing(&env, NAMES.len()), [""; 0]);
}

/// A damage that `verify` found, and what its hint says to do about it.
#[test]
fn e8_hint_of_verify_helps() {
    let env = library();
    flip_a_bit(&env, ".store");
    let verdict = env.run(&["verify"]);
    assert_eq!(verdict.code, 4, "{}", verdict.stderr);
    assert!(verdict.stderr.contains("run `unspool index`"), "{}", verdict.stderr);
    let report = env.index_json();
    assert!(report["rebuilt"].is_string(), "{report}");
    env.heal();
}

/// What a search could not read, the next run mends, though it has nothing to add; one with something to add mends it
/// first.
#[test]
fn e8_damage_that_a_search_met_is_healed() {
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

/// A damage that is there no more costs one check: nothing is built anew, and the next run has nothing to do.
#[test]
fn e8_damage_that_went_away_by_itself() {
    let env = library();
    let pristine = Pristine::of(&env);
    overwrite_middle(&env, ".store");
    assert_eq!(env.run(&["verify"]).code, 4);
    let marks = || files(&index_folder(&env)).into_keys().filter(|name| name == ".damage-met").count();
    assert_eq!(marks(), 1);
    pristine.files.iter().for_each(|(name, bytes)| std::fs::write(pristine.folder.join(name), bytes).expect("mended"));
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

/// Two that contradict each other: one of them says that less was read.
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

/// Sessions whose source is gone outlive a change of shape, and a rebuild that was asked for.
#[test]
fn e10_vanished_sessions_survive_a_rebuild() {
    let env = library();
    let (_, older) = make_older(&env);
    std::fs::remove_file(env.file(path_of(0))).expect("removed");
    let report = env.index_json();
    // The lines of each, and its title.
    assert_eq!(report["carried"], (GONE + 1) * (NUMBERS.len() + 1), "{report}");
    assert!(!older.is_dir());
    assert_eq!(missing(&env, NAMES.len()), [""; 0]);
    assert_eq!(env.run(&["index", "--rebuild"]).code, 0);
    assert_eq!(missing(&env, NAMES.len()), [""; 0]);
    let hit = env.hits(&word(0, 0)).remove(0);
    assert_eq!((&hit["source_missing"], &hit["title"]), (&true.into(), &title(0).into()), "{hit}");
    env.heal();
}

/// What the user wants nothing of stays out of the new index.
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
    let folder = index_folder(&env);
    let own = folder.with_extension("own");
    std::fs::rename(&folder, &own).expect("renamed");
    std::fs::create_dir(&folder).expect("made");
    let text = r#"{"name":"title","type":"text","options":{"indexing":{"record":"position","fieldnorms":true,"tokenizer":"default"},"stored":true,"fast":false}}"#;
    // Packed in a way that this program can read, and in one that it cannot.
    for packing in ["none", "lz4"] {
        let settings = format!(r#"{{"docstore_compression":"{packing}","docstore_blocksize":16384}}"#);
        let meta = format!(r#"{{"index_settings":{settings},"segments":[],"schema":[{text}],"opstamp":0}}"#);
        std::fs::write(folder.join("meta.json"), meta).expect("written");
        std::fs::write(folder.join(".managed.json"), r#"["meta.json"]"#).expect("written");
        let before = files(&folder);
        for command in
            [&["search", NAMES[0]][..], &["search", "--no-refresh", NAMES[0]], &["index"], &["verify"], &["status"]]
        {
            let ran = env.run(command);
            assert_eq!(ran.code, 4, "{packing} {command:?}: {}", ran.stderr);
            assert!(ran.stderr.contains("did not make"), "{packing} {command:?}: {}", ran.stderr);
        }
        assert_eq!(without_locks(files(&folder)), before);
    }
    std::fs::remove_dir_all(&folder).expect("removed");
    std::fs::rename(&own, &folder).expect("renamed");
    env.heal();
    assert_eq!(missing(&env, NAMES.len()), [""; 0]);
}

/// Eight sessions of four lines, read in three runs, so that there are several segments and deleted documents; the
/// last two have no source any more.
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

/// The words of the first so many sessions that are not found exactly once.
fn missing(env: &Env, sessions: usize) -> Vec<String> {
    let hits = env.hits(&all_words());
    let times = |word: &String| hits.iter().filter(|hit| hit.to_string().contains(word.as_str())).count();
    let words = (0..sessions).flat_map(|at| (0..NUMBERS.len()).map(move |line| word(at, line)));
    words.filter(|word| times(word) != 1).collect()
}

fn all_words() -> String {
    (0..NAMES.len()).flat_map(|at| (0..NUMBERS.len()).map(move |line| word(at, line))).collect::<Vec<_>>().join(" ")
}

/// What searches answer: by words, by a phrase, by a title; each with its exit code, the hits in order.
fn answers(env: &Env) -> Answers {
    let queries = [all_words(), "\"was seen near the river\"".to_string(), "\"About the\"".to_string()];
    let ask = |query: &String| env.run(&["search", "--no-refresh", "--json", "--messages", "-n", "1000", query]);
    queries.iter().map(ask).map(|ran| (ran.code, ran.stdout.lines().filter_map(hit).collect())).collect()
}

/// A hit in one line, its score last; none for the summary, which tells the time.
fn hit(line: &str) -> Option<String> {
    let hit: Value = serde_json::from_str(line).expect("JSON");
    let parts = [&hit["session_id"], &hit["line"], &hit["kind"], &hit["title"], &hit["snippet"]["text"], &hit["score"]];
    (hit["type"] == "hit").then(|| parts.map(Value::to_string).join(" "))
}

/// The same hits, in whatever order: scores depend on how documents are spread over segments.
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

/// A new version has put its index in place of the older one, and was killed before that was removed.
#[test]
fn e10_an_older_index_that_was_left_is_removed() {
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

/// The folder of the index; there must be one.
fn index_folder(env: &Env) -> PathBuf {
    let entries = std::fs::read_dir(env.index_dir()).expect("listed").map(|entry| entry.expect("entry").path());
    let mut folders = entries.filter(|path| path.is_dir());
    let folder = folders.next().expect("an index");
    assert_eq!(folders.next(), None, "one index only");
    folder
}

/// Renames the index to what an older program would have called it. Gives the new name and the old one.
fn make_older(env: &Env) -> (PathBuf, PathBuf) {
    let current = index_folder(env);
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

/// Changes what the last commit says of itself.
fn set_header(env: &Env, key: &str, value: Value) {
    let path = index_folder(env).join("meta.json");
    let mut meta: Value = serde_json::from_slice(&std::fs::read(&path).expect("read")).expect("JSON");
    let mut header: Value = serde_json::from_str(meta["payload"].as_str().expect("a payload")).expect("JSON");
    header[key] = value;
    meta["payload"] = header.to_string().into();
    std::fs::write(path, meta.to_string()).expect("written");
}

/// Changes one bit of the largest file with this ending, in what it holds rather than in how that is laid out.
fn flip_a_bit(env: &Env, ending: &str) {
    let folder = index_folder(env);
    let of_kind = files(&folder).into_iter().filter(|(name, _)| name.ends_with(ending));
    let (name, mut bytes) = of_kind.max_by_key(|(_, bytes)| bytes.len()).expect("a file");
    bytes[20] ^= 1;
    std::fs::write(folder.join(name), bytes).expect("written");
}

/// Writes over a part of the largest file with this ending.
fn overwrite_middle(env: &Env, ending: &str) {
    let folder = index_folder(env);
    let of_kind = files(&folder).into_iter().filter(|(name, _)| name.ends_with(ending));
    let (name, mut bytes) = of_kind.max_by_key(|(_, bytes)| bytes.len()).expect("a file");
    let middle = bytes.len() / 2;
    let start = middle.saturating_sub(256);
    bytes[start..middle].fill(0x5a);
    std::fs::write(folder.join(name), bytes).expect("written");
}

/// Readers may leave the empty file by which they lock.
fn without_locks(mut files: Files) -> Files {
    files.retain(|name, bytes| !(name.ends_with(".lock") && bytes.is_empty()));
    files
}

/// Damages the file that names all others: search says so in a few words, and a plain run mends it.
fn repairs(name: &str, damage: impl Fn(&[u8]) -> Option<Vec<u8>>) {
    let env = library();
    let file = index_folder(&env).join(name);
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

/// Writes a checkpoint, in the place of the one there is or beside it.
fn put(writer: &Writer, checkpoint: &Checkpoint, replaces: bool) {
    let title = Builder::new(checkpoint.source_kind(), checkpoint.session_id(), None, checkpoint.state.clone()).title();
    writer.checkpoint(checkpoint, title.filter(|_| replaces), replaces).expect("written");
}

/// A checkpoint as a program with another reading would have written it.
fn with_parser(checkpoint: &Checkpoint, parser: u32) -> Checkpoint {
    let mut fields = serde_json::to_value(checkpoint).expect("JSON");
    fields["parser"] = parser.into();
    serde_json::from_value(fields).expect("a checkpoint")
}

/// A whole index, to be put back after each damage.
struct Pristine {
    folder: PathBuf,
    files: Files,
}

/// One file with something wrong in it.
struct Damage {
    name: String,
    file: String,
    bytes: Vec<u8>,
}

impl Pristine {
    fn of(env: &Env) -> Self {
        let folder = index_folder(env);
        let files = files(&folder);
        Self { folder, files }
    }

    /// Puts everything as it was, but for one damage.
    fn restore(&self, env: &Env, damage: Option<&Damage>) {
        std::fs::remove_dir_all(env.index_dir()).expect("removed");
        std::fs::create_dir_all(&self.folder).expect("made");
        for (name, bytes) in &self.files {
            let bytes = damage.filter(|damage| damage.file == *name).map_or(bytes, |damage| &damage.bytes);
            std::fs::write(self.folder.join(name), bytes).expect("written");
        }
    }

    /// Sixty damages, the same in every run: tantivy draws the names of its files by lot, so they go by sort and size.
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

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        // The constants of Knuth's MMIX; the high bits are the good ones.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % u64::try_from(limit).expect("fits")).expect("fits")
    }
}

/// tantivy's temporary files, which a kill has left, go; what only looks a little like them stays.
#[test]
fn e7_temporary_files_are_swept() {
    let env = library();
    let folder = index_folder(&env);
    for name in [".tmpAb3dE6", ".tmp-of-mine"] {
        std::fs::write(folder.join(name), "half of something").expect("written");
    }
    env.append(path_of(0), user_line(&session(0), 900, "a line more"));
    env.heal();
    assert!(!folder.join(".tmpAb3dE6").is_file() && folder.join(".tmp-of-mine").is_file());
}

/// What is pruned is not left in an index that was put aside either.
#[test]
fn e10_pruned_sessions_are_gone_from_what_was_put_aside() {
    let env = library();
    let aside = || {
        let entries = std::fs::read_dir(env.index_dir()).expect("listed").map(|entry| entry.expect("entry").path());
        entries.filter(|path| path.to_string_lossy().ends_with(".damaged")).count()
    };
    let meta = index_folder(&env).join("meta.json");
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

/// A forgotten session stays away, whether the hook tells of it, it turns up elsewhere, or a subagent of it is new.
#[test]
fn e10_forgotten_sessions_do_not_come_back_by_another_way() {
    let env = library();
    assert_eq!(env.run(&["forget", "--yes", &session(0)]).code, 0);
    env.append(path_of(0), user_line(&session(0), 900, "ezehnback"));
    let path = env.file(path_of(0));
    let ran = env.run(&["index", "--file", path.to_str().expect("a path")]);
    assert_eq!((ran.code, env.count("ezehnback")), (0, 0), "told of by the hook: {}", ran.stderr);
    std::fs::rename(&path, env.file(format!("-elsewhere/{}.jsonl", session(0)))).expect("moved");
    env.write(format!("-elsewhere/{}/subagents/agent-a1.jsonl", session(0)), user_line(&session(0), 901, "ezehnback"));
    env.index();
    assert_eq!((env.count("ezehnback"), env.count(&word(0, 0))), (0, 0), "moved, or with a new subagent");
    env.heal();
}

/// What a checkpoint says of its documents is compared with them.
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
    assert!(ran.stdout.contains("should hold"), "{}", ran.stdout);
}

/// What a killed rebuild has left beside the index goes with the next run, also if that has nothing to write.
#[test]
fn e10_nothing_is_left_beside_the_index() {
    let env = library();
    let folder = index_folder(&env);
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
        assert!(!beside.is_dir(), "{mark} is still there");
    }
    // Cut between the two renames of a swap: the old one is all there is.
    std::fs::rename(&folder, format!("{}.old", folder.display())).expect("renamed");
    env.heal();
    assert_eq!((index_folder(&env), missing(&env, NAMES.len())), (folder, vec![]));
}

/// Nor do its prompts come back by way of the history.
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
    assert_eq!(env.index_json()["documents"], 0, "not a word of it is taken in again");
    assert_eq!((env.count("ezehnfirst"), env.count("ezehnsecond")), (0, 0));
    assert_eq!(env.run(&["index", "--rebuild"]).code, 0);
    assert_eq!((env.count("ezehnfirst"), env.count("ezehnsecond")), (0, 0));
    env.heal();
}
