//! Random sequences of changes to files, index runs, and crashes during runs, checked against the oracle: any number of
//! runs gives the same index as a single one. Few and short by default, many with `UNSPOOL_LONG=1`.

use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use proptest::prelude::*;

use crate::support::is_long;
use crate::support::oracle::{KINDS, expected, line_of_kind};
use crate::support::world::World;

const FILES: usize = 4;

#[derive(Clone, Debug)]
enum Step {
    Append { file: usize, kinds: Vec<usize> },
    Half { file: usize },
    Finish { file: usize },
    NoNewline { file: usize, kind: usize },
    Truncate { file: usize, keep: usize },
    SameSize { file: usize },
    Replace { file: usize, kinds: Vec<usize> },
    Rename { file: usize },
    Move { file: usize },
    Delete { file: usize },
    BackInTime { file: usize },
    SecondName { file: usize },
    Index,
    Crash { point: u32, batch: u32 },
    Fail { point: u32, lasting: bool },
}

fn step() -> impl Strategy<Value = Step> {
    let file = || 0..FILES;
    let kinds = || prop::collection::vec(0..KINDS, 1..5);
    prop_oneof![
        6 => (file(), kinds()).prop_map(|(file, kinds)| Step::Append { file, kinds }),
        2 => file().prop_map(|file| Step::Half { file }),
        2 => file().prop_map(|file| Step::Finish { file }),
        2 => (file(), 0..KINDS).prop_map(|(file, kind)| Step::NoNewline { file, kind }),
        1 => (file(), 0..4_usize).prop_map(|(file, keep)| Step::Truncate { file, keep }),
        2 => file().prop_map(|file| Step::SameSize { file }),
        1 => (file(), kinds()).prop_map(|(file, kinds)| Step::Replace { file, kinds }),
        1 => file().prop_map(|file| Step::Rename { file }),
        1 => file().prop_map(|file| Step::Move { file }),
        1 => file().prop_map(|file| Step::Delete { file }),
        1 => file().prop_map(|file| Step::BackInTime { file }),
        1 => file().prop_map(|file| Step::SecondName { file }),
        4 => Just(Step::Index),
        3 => (1..160_u32, 1..2000_u32).prop_map(|(point, batch)| Step::Crash { point, batch }),
        1 => (1..160_u32, any::<bool>()).prop_map(|(point, lasting)| Step::Fail { point, lasting }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if is_long() { 2500 } else { 24 },
        max_shrink_iters: 100,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_sequence_of_runs_equals_one_run(steps in prop::collection::vec(step(), 4..50)) {
        let world = World::new();
        if let Err(mismatch) = play(&world, &steps) {
            prop_assert!(false, "{mismatch}");
        }
    }
}

/// Takes the steps. The index must be sound after each of them, and complete at the end.
fn play(world: &World, steps: &[Step]) -> Result<(), String> {
    for step in steps {
        apply(world, step)?;
    }
    world.heals()?;
    world.index_into(&world.path().join("once"))?;
    world.whole(&world.path().join("once"))
}

fn apply(world: &World, step: &Step) -> Result<(), String> {
    match step {
        Step::Append { file, kinds } => world.append(*file, kinds),
        Step::Half { file } => world.change(*file, |bytes| {
            let line = line_of_kind(0, *file, world.tick());
            bytes.extend(&line[..line.len() / 2]);
        }),
        Step::Finish { file } => world.change(*file, |bytes| complete_last_line(bytes, *file)),
        Step::NoNewline { file, kind } => world.change(*file, |bytes| {
            bytes.extend(line_of_kind(*kind, *file, world.tick()));
            bytes.pop();
        }),
        Step::Truncate { file, keep } => world.change(*file, |bytes| {
            let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
            let end = ends.take(*keep).last().unwrap_or(0);
            bytes.truncate(end);
        }),
        Step::SameSize { file } => world.change(*file, |bytes| {
            if let Some(at) = bytes.windows(5).position(|word| word == b"words") {
                bytes[at..at + 5].copy_from_slice(b"sword");
            }
        }),
        Step::Replace { file, kinds } => {
            let path = world.file(*file);
            let beside = world.path().join("beside");
            let bytes: Vec<u8> = kinds.iter().flat_map(|kind| line_of_kind(*kind, *file, world.tick())).collect();
            fs::write(&beside, bytes).expect("written");
            world.stamp(&beside);
            fs::rename(beside, path).expect("replaced");
        }
        Step::Rename { file } => rename(world, *file, FILES + *file),
        Step::Move { file } => {
            let path = world.file(*file);
            let other = if path.starts_with(world.project("a")) { "b" } else { "a" };
            let target = world.project(other).join(path.file_name().expect("a name"));
            if path.is_file() {
                fs::rename(path, target).expect("moved");
            }
        }
        Step::Delete { file } => {
            let _ = fs::remove_file(world.file(*file));
        }
        Step::BackInTime { file } => {
            let time = UNIX_EPOCH + Duration::from_secs(1_000_000_000 + u64::from(world.tick()));
            if let Ok(opened) = fs::File::options().append(true).open(world.file(*file)) {
                opened.set_modified(time).expect("time set");
            }
        }
        Step::SecondName { file } => {
            let path = world.file(*file);
            if path.is_file() {
                let _ = fs::hard_link(path, world.project("b").join(format!("link-{file}.jsonl")));
            }
        }
        Step::Index => {
            world.index()?;
            world.whole(&world.data_dir())?;
        }
        Step::Crash { point, batch } => {
            world.run(&format!("kill@{point},batch:{batch}"), &["index", "--confirm"]);
            world.sound(&world.data_dir())?;
        }
        Step::Fail { point, lasting } => {
            let from_then_on = if *lasting { "+" } else { "" };
            world.run(&format!("enospc@{point}{from_then_on}"), &["index", "--confirm"]);
            world.sound(&world.data_dir())?;
        }
    }
    Ok(())
}

/// Completes an unfinished line at the end, if there is one.
fn complete_last_line(bytes: &mut Vec<u8>, file: usize) {
    let start = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let half = bytes[start..].to_vec();
    let is_completion = |line: &Vec<u8>| !half.is_empty() && line.starts_with(&half) && line.len() / 2 == half.len();
    if let Some(line) = (0..2000).map(|number| line_of_kind(0, file, number)).find(is_completion) {
        bytes.truncate(start);
        bytes.extend(line);
    }
}

fn rename(world: &World, file: usize, name: usize) {
    let (from, to) = (world.file(file), world.file(name));
    if from.is_file() && !to.is_file() {
        fs::rename(from, to).expect("renamed");
    } else if to.is_file() && !from.is_file() {
        fs::rename(to, from).expect("renamed back");
    }
}

/// The oracle itself, on bytes with an obvious reading.
#[test]
fn oracle_reads_the_obvious() {
    let text = br#"garbage one

{"type":"user","message":{"content":"two"}}
{"type":"user","message":{"content":"three"}}{"type":"user","message":{"cont"#;
    let found: Vec<(u64, String)> = expected(text).into_iter().collect();
    assert_eq!(found, [(0, "garbage one".into()), (13, "two".into()), (57, "three".into())]);
}

/// All kinds of lines, in one run.
#[test]
fn index_equals_the_oracle() {
    let world = World::new();
    for file in 0..3 {
        world.append(file, &[0, 1, 2, 3, 4, 5, 6, 7, 0]);
    }
    assert_eq!(world.heals(), Ok(()));
}
