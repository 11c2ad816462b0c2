//! `unspool backup` and `unspool restore`: the same sessions before and after, whatever happens to the file.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::env::{Env, Ran};
use crate::support::transcript::{long_text, prompt_history_line, session, user_line};

/// A word that only one session contains.
fn word(word: &str, number: u32) -> String {
    format!("{word}{}", char::from_u32(96 + number).expect("a letter"))
}

fn file_of(number: u32) -> String {
    format!("-home-u-x/{}.jsonl", session(number))
}

/// A home with these sessions, of which the transcripts of `gone` are deleted. Everything is indexed.
fn home(sessions: &[u32], gone: &[u32]) -> Env {
    let env = Env::new();
    for number in sessions {
        let lines = (0..5).map(|line| {
            user_line(&session(*number), number * 100 + line, &format!("{} {line}", word("pelican", *number)))
        });
        env.write(file_of(*number), lines.collect::<String>());
    }
    env.index();
    gone.iter().for_each(|number| delete(&env, *number));
    confirm(&env);
    env
}

fn delete(env: &Env, number: u32) {
    std::fs::remove_file(env.file(file_of(number))).expect("removed");
}

/// Indexes, and accepts that all files may be gone.
fn confirm(env: &Env) {
    let ran = env.run(&["index", "--confirm"]);
    assert!(matches!(ran.code, 0 | 3), "{}", ran.stderr);
}

fn backup_file(env: &Env) -> PathBuf {
    env.path().join("backup.jsonl.zst")
}

fn backup(env: &Env, more: &[&str]) -> Ran {
    let file = backup_file(env);
    env.run(&[&["backup", file.to_str().expect("UTF-8")], more].concat())
}

fn restore(env: &Env, file: &Path, more: &[&str]) -> Ran {
    env.run(&[&["restore", file.to_str().expect("UTF-8")], more].concat())
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {} {}", ran.stdout, ran.stderr))
}

/// The lines of a backup, read without unspool.
fn lines(file: &Path) -> Vec<Value> {
    let mut text = String::new();
    let packed = std::fs::File::open(file).expect("opened");
    zstd::stream::read::Decoder::new(packed).expect("zstd").read_to_string(&mut text).expect("unpacked");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The sessions of the files in a backup.
fn sessions_in(file: &Path) -> Vec<String> {
    let lines = lines(file);
    let files = lines.iter().filter(|line| line.get("file").is_some());
    let mut found: Vec<String> =
        files.map(|line| line["file"]["session"].as_str().expect("text").to_string()).collect();
    found.sort();
    found
}

fn remove_index(env: &Env) {
    std::fs::remove_dir_all(env.index_dir()).expect("removed");
}

/// Everything that can be seen of the sessions in the index.
fn seen(env: &Env, queries: &[&str]) -> BTreeMap<String, String> {
    let mut seen = BTreeMap::new();
    let mut see = |args: &[&str]| {
        let ran = env.run(args);
        assert!(matches!(ran.code, 0 | 1), "{args:?}: {} {}", ran.code, ran.stderr);
        // Scores depend on deleted entries that no merge has removed yet.
        let varying = r#""elapsed_ms":[0-9.]+|"score":.*?"factors":\{.*?\}"#;
        let varying = regex::Regex::new(varying).expect("valid");
        seen.insert(args.join(" "), varying.replace_all(&ran.stdout, "").into_owned());
        ran.stdout
    };
    let sessions = see(&["sessions", "--no-refresh", "--json", "-n", "1000"]);
    let ids = sessions.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let ids: Vec<String> = ids.filter_map(|line| Some(line["session_id"].as_str()?.to_string())).collect();
    assert!(!ids.is_empty(), "{sessions}");
    for id in &ids {
        see(&["show", "--no-refresh", id]);
        see(&["export", "--no-refresh", "-o", "-", id]);
        see(&["export", "--no-refresh", "-o", "-", "--format", "json", id]);
    }
    for query in queries {
        see(&["search", "--no-refresh", "--json", "--messages", "-n", "1000", "--sort", "oldest", query]);
    }
    see(&["stats", "--no-refresh", "--json"]);
    seen
}

#[track_caller]
fn assert_same(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) {
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    for (what, text) in before {
        let differing = text.lines().zip(after[what].lines()).find(|(before, after)| before != after);
        assert_eq!(differing, None, "{what}");
        assert_eq!(text.len(), after[what].len(), "{what}");
    }
}

/// Every kind of line, subagents, spilled outputs, titles and the prompt history.
#[test]
fn a_lost_index_comes_back_from_a_backup() {
    let env = Env::with_fixtures("home");
    env.index();
    std::fs::remove_dir_all(env.claude().join("projects")).expect("removed");
    std::fs::create_dir(env.claude().join("projects")).expect("made");
    confirm(&env);
    let queries = ["the", "error", "role:tool a", "is:agent a"];
    let before = seen(&env, &queries);
    let answer = json(&backup(&env, &["--json"]));
    assert_eq!((&answer["written"], &answer["problems"]), (&Value::Bool(true), &serde_json::json!([])), "{answer}");
    remove_index(&env);
    let restored = restore(&env, &backup_file(&env), &["--json"]);
    assert_eq!(restored.code, 0, "{}", restored.stderr);
    assert_eq!(json(&restored)["files"], answer["files"]);
    env.verify();
    assert_same(&before, &seen(&env, &queries));
    // Once more changes nothing, not even a byte of the index.
    let stamp = || std::fs::read(env.index_folder().join("meta.json")).expect("read");
    let committed = stamp();
    let again = restore(&env, &backup_file(&env), &[]);
    assert_eq!(
        (again.code, again.stdout.as_str()),
        (0, "nothing to restore: the index has everything in this backup\n")
    );
    assert_eq!(stamp(), committed);
    // And the backup of the restored index is the same.
    assert!(backup(&env, &[]).stdout.starts_with("nothing new: "));
    env.heal();
}

#[test]
fn a_backup_can_be_read_without_unspool() {
    let env = home(&[1, 2, 3], &[1, 3]);
    assert_eq!(backup(&env, &[]).code, 0);
    let mode = std::fs::metadata(backup_file(&env)).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let lines = lines(&backup_file(&env));
    let header = &lines[0]["header"];
    assert_eq!(
        (&header["format"], &header["version"], &header["files"]),
        (&"unspool-backup".into(), &1.into(), &2.into())
    );
    assert_eq!(header["created"], "2026-11-16T12:00:00.000Z");
    assert_eq!(header["roots"][0], env.claude().to_str().expect("UTF-8"));
    assert_eq!(lines[1]["file"]["path"], env.file(file_of(1)).to_str().expect("UTF-8"));
    assert_eq!(lines[2]["document"]["text"], "pelicana 0");
    assert_eq!(lines[2]["document"]["meta"]["session"], session(1));
    let end = &lines.last().expect("a line")["end"];
    assert_eq!((&end["files"], &end["documents"]), (&2.into(), &10.into()));
    assert_eq!(sessions_in(&backup_file(&env)), [session(1), session(3)]);
    // With --all, also those whose transcripts exist.
    assert_eq!(backup(&env, &["--all"]).code, 0);
    assert_eq!(sessions_in(&backup_file(&env)), [session(1), session(2), session(3)]);
}

#[test]
fn a_backup_without_anything_new_is_left_alone() {
    let env = home(&[1, 2, 3], &[1]);
    assert!(backup(&env, &[]).stdout.starts_with("wrote "));
    let bytes = std::fs::read(backup_file(&env)).expect("read");
    let again = backup(&env, &[]);
    assert!(again.stdout.starts_with("nothing new: ") && again.code == 0, "{}", again.stdout);
    assert_eq!(json(&backup(&env, &["--json"]))["written"], false);
    assert_eq!(std::fs::read(backup_file(&env)).expect("read"), bytes);
    delete(&env, 2);
    let more = json(&backup(&env, &["--json"]));
    assert_eq!((&more["written"], &more["changed"], &more["files"]), (&true.into(), &1.into(), &2.into()));
}

#[test]
fn what_only_the_old_backup_has_is_kept() {
    let env = home(&[1, 2, 3], &[1, 2]);
    backup(&env, &[]);
    remove_index(&env);
    delete(&env, 3);
    env.write(file_of(4), user_line(&session(4), 400, "walrus"));
    env.index();
    delete(&env, 4);
    confirm(&env);
    let merged = json(&backup(&env, &["--json"]));
    assert_eq!((&merged["files"], &merged["kept"]), (&3.into(), &2.into()), "{merged}");
    assert_eq!(sessions_in(&backup_file(&env)), [session(1), session(2), session(4)]);
    assert_eq!(restore(&env, &backup_file(&env), &[]).code, 0);
    assert_eq!((env.count("pelicana"), env.count("pelicanb"), env.count("walrus")), (5, 5, 1));
    env.heal();
}

#[test]
fn forgotten_sessions_are_removed_and_stay_forgotten() {
    let env = home(&[1, 2, 3], &[1, 2]);
    let history = [1, 2].map(|number| prompt_history_line(&session(number), &word("typed", number))).concat();
    std::fs::write(env.claude().join("history.jsonl"), history).expect("written");
    confirm(&env);
    std::fs::remove_file(env.claude().join("history.jsonl")).expect("removed");
    confirm(&env);
    backup(&env, &[]);
    let with_both = env.path().join("old.zst");
    std::fs::copy(backup_file(&env), &with_both).expect("copied");
    assert_eq!(env.run(&["forget", &session(1), "--yes"]).code, 0);
    let answer = json(&backup(&env, &["--json"]));
    assert_eq!((&answer["written"], &answer["removed"]), (&true.into(), &1.into()), "{answer}");
    let text = lines(&backup_file(&env)).iter().map(ToString::to_string).collect::<String>();
    assert!(!text.contains("pelicana") && !text.contains("typeda"), "every word must be gone");
    assert!(text.contains("pelicanb") && text.contains("typedb"));
    // Into an index that has forgotten it, from a backup that has not.
    let ran = restore(&env, &with_both, &[]);
    assert!(ran.stdout.contains("left out 1 transcript of sessions that were forgotten"), "{}", ran.stdout);
    assert_eq!((env.count("pelicana"), env.count("typeda")), (0, 0));
    // Into a new index, from a backup that has.
    remove_index(&env);
    env.index();
    assert_eq!(restore(&env, &backup_file(&env), &[]).code, 0);
    assert_eq!((env.count("pelicana"), env.count("pelicanb"), env.count("typedb")), (0, 5, 1));
    assert_eq!(restore(&env, &with_both, &[]).code, 0);
    assert_eq!(env.count("pelicana"), 0, "it is forgotten here too now");
    env.write(file_of(1), user_line(&session(1), 100, "pelicana again"));
    env.heal();
    assert_eq!(env.count("pelicana"), 0);
}

#[test]
fn sessions_whose_transcripts_exist_are_not_changed() {
    let env = home(&[1, 2, 3], &[3]);
    backup(&env, &["--all"]);
    env.append(file_of(1), user_line(&session(1), 150, "pelicana later"));
    // Moved to another project.
    let moved = env.file(format!("-home-u-y/{}.jsonl", session(2)));
    std::fs::rename(env.file(file_of(2)), moved).expect("moved");
    env.index();
    let before = seen(&env, &["pelicana", "pelicanb", "pelicanc"]);
    let ran = restore(&env, &backup_file(&env), &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "nothing to restore: the index has everything in this backup\n"));
    assert_same(&before, &seen(&env, &["pelicana", "pelicanb", "pelicanc"]));
}

/// A backup of 30 sessions and several frames.
fn large_home() -> Env {
    let env = Env::new();
    for number in 0..30 {
        let line =
            |line| user_line(&session(number), number * 1000 + line, &format!("osprey{number} {}", long_text(line)));
        env.write(file_of(number), (0..40).map(line).collect::<String>());
    }
    env.index();
    (0..30).for_each(|number| delete(&env, number));
    confirm(&env);
    assert_eq!(backup(&env, &[]).code, 0);
    env
}

#[test]
fn every_damage_is_noticed_and_the_rest_can_be_restored() {
    let env = large_home();
    let bytes = std::fs::read(backup_file(&env)).expect("read");
    let all = 30 * 40;
    let damaged = env.path().join("damaged.zst");
    let cuts = [1, 10, 2, 3].map(|part| bytes[..bytes.len() - bytes.len() / 4 / part].to_vec());
    let flips = (0..12).map(|step| {
        let mut flipped = bytes.clone();
        flipped[step * (bytes.len() - 1) / 11] ^= 0x10;
        flipped
    });
    let mut most = 0;
    for (number, bytes) in cuts.into_iter().chain(flips).chain([bytes[..bytes.len() - 1].to_vec()]).enumerate() {
        remove_index(&env);
        std::fs::write(&damaged, &bytes).expect("written");
        let refused = restore(&env, &damaged, &[]);
        assert_eq!((refused.code, refused.stdout.as_str()), (4, ""), "{number}: {}", refused.stderr);
        assert!(refused.stderr.contains("damaged") && refused.stderr.contains("line"), "{}", refused.stderr);
        assert!(refused.stderr.contains("--partial"), "{}", refused.stderr);
        assert_eq!(env.count("osprey0 OR osprey29"), 0, "nothing must be restored");
        let partial = restore(&env, &damaged, &["--partial", "--json"]);
        assert_eq!(partial.code, 3, "{number}: {} {}", partial.stdout, partial.stderr);
        let answer = json(&partial);
        let documents = answer["documents"].as_u64().expect("a number");
        most = most.max(documents);
        assert!(documents <= all && !answer["problems"].as_array().expect("a list").is_empty(), "{answer}");
        let losses = env.status()["losses"].as_array().map_or(0, Vec::len);
        assert_eq!(losses, answer["losses"].as_array().expect("a list").len());
        env.heal();
        if number == 0 {
            // What was lost can be restored from an intact backup.
            assert!(documents < all, "{documents}");
            assert_eq!(restore(&env, &backup_file(&env), &[]).code, 0);
            assert_eq!(json(&env.run(&["status", "--json"]))["documents"], all);
            env.heal();
        }
    }
    assert_eq!(most, all, "damage to the last line loses nothing");
}

#[test]
fn a_damaged_backup_is_kept_and_its_intact_parts_are_merged() {
    let env = large_home();
    let mut bytes = std::fs::read(backup_file(&env)).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(backup_file(&env), &bytes).expect("written");
    let ran = backup(&env, &["--json"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert_eq!(json(&ran)["files"], 30, "the index has everything");
    let kept = env.path().join("backup.jsonl.zst.damaged");
    assert_eq!(std::fs::read(kept).expect("kept"), bytes);
    assert_eq!(sessions_in(&backup_file(&env)).len(), 30 + lines(&backup_file(&env)).len() - 1 - 30 * 41 - 1);
    assert_eq!(backup(&env, &[]).code, 0);
    // Without the index, what is left of it.
    std::fs::write(backup_file(&env), &bytes).expect("written");
    remove_index(&env);
    let ran = backup(&env, &["--json"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let merged = json(&ran);
    assert!(merged["kept"].as_u64().expect("a number") > 10, "{merged}");
    assert!(env.path().join("backup.jsonl.zst.damaged-2").is_file());
    assert_eq!(restore(&env, &backup_file(&env), &[]).code, 0);
    env.heal();
}

#[test]
fn other_files_are_not_overwritten() {
    let env = home(&[1, 2, 3], &[1]);
    let packed = zstd::stream::encode_all(&b"{\"not\":\"ours\"}\n"[..], 3).expect("packed");
    for (number, bytes) in [&b"my notes\n"[..], b"", &packed, b"\x28\xb5\x2f\xfd"].iter().enumerate() {
        std::fs::write(backup_file(&env), bytes).expect("written");
        for ran in [backup(&env, &[]), restore(&env, &backup_file(&env), &["--partial"])] {
            assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{number}: {}", ran.stderr);
            assert!(ran.stderr.contains("is not a backup by unspool"), "{}", ran.stderr);
        }
        assert_eq!(&std::fs::read(backup_file(&env)).expect("read"), bytes);
    }
    std::fs::remove_file(backup_file(&env)).expect("removed");
    let ran = restore(&env, &backup_file(&env), &[]);
    assert!(ran.code == 2 && ran.stderr.contains("backup.jsonl.zst"), "{}", ran.stderr);
    let folder = env.path().to_string_lossy().into_owned();
    assert_eq!(env.run(&["backup", &folder]).code, 2);
    let inside = env.index_folder().join("x.zst");
    let ran = env.run(&["backup", inside.to_str().expect("UTF-8")]);
    assert!(ran.code == 2 && ran.stderr.contains("in the folder of the index"), "{}", ran.stderr);
}

/// Killed or failing at every operation: the backup is either the old one or the new one.
#[test]
fn an_interrupted_backup_leaves_the_old_one() {
    let env = home(&[1, 2, 3, 4], &[1]);
    backup(&env, &[]);
    let old = std::fs::read(backup_file(&env)).expect("read");
    delete(&env, 2);
    confirm(&env);
    let file = backup_file(&env);
    for fault in ["kill", "enospc"] {
        for point in 1.. {
            std::fs::write(&file, &old).expect("written");
            let mut command = env.command();
            command.env("UNSPOOL_FAULT", format!("{fault}@{point}")).args(["backup", "--no-refresh"]).arg(&file);
            let ran = Ran::from(command.output().expect("ran"));
            let sessions = sessions_in(&file);
            if ran.code == 0 {
                assert_eq!(sessions, [session(1), session(2)]);
                assert!(point > 5, "{point}");
                break;
            }
            assert!(
                sessions == [session(1), session(2)] || std::fs::read(&file).expect("read") == old,
                "{fault}@{point}"
            );
            if fault == "enospc" {
                assert!(ran.code == 6 && !file.with_extension("zst.new").is_file(), "{}", ran.stderr);
            }
        }
        assert!(!file.with_extension("zst.new").is_file(), "the next run must remove what is left");
    }
}

#[test]
fn an_interrupted_restore_changes_nothing() {
    let env = home(&[1, 2, 3], &[1, 2]);
    backup(&env, &[]);
    remove_index(&env);
    env.index();
    for point in (1..).step_by(7) {
        let mut command = env.command();
        command.env("UNSPOOL_FAULT", format!("kill@{point}")).arg("restore").arg(backup_file(&env));
        let ran = Ran::from(command.output().expect("ran"));
        let found = env.count("pelicana") + env.count("pelicanb");
        assert!(found == 10 || found == 0 && ran.code != 0, "{point}: {found}");
        if found == 10 {
            break;
        }
    }
    assert_eq!(restore(&env, &backup_file(&env), &[]).code, 0);
    env.heal();
    assert_eq!(env.count("pelicana") + env.count("pelicanb"), 10);
}

/// An index that has lost messages does not take them from the backup as well.
#[test]
fn the_more_complete_version_is_kept() {
    let env = large_home();
    let whole = std::fs::read(backup_file(&env)).expect("read");
    let damaged = env.path().join("damaged.zst");
    std::fs::write(&damaged, &whole[..whole.len() / 2]).expect("written");
    remove_index(&env);
    let partial = json(&restore(&env, &damaged, &["--partial", "--json"]));
    assert!(!partial["losses"].as_array().expect("a list").is_empty(), "{partial}");
    let answer = json(&backup(&env, &["--json"]));
    assert_eq!((&answer["files"], &answer["documents"]), (&30.into(), &(30 * 40).into()), "{answer}");
    assert_eq!(restore(&env, &backup_file(&env), &[]).code, 0);
    assert_eq!(json(&env.run(&["status", "--json"]))["documents"], 30 * 40);
    env.heal();
}
