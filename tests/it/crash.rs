//! Fault catalogue, section C: crashes. The real binary is interrupted at each of its operations: killed, stopped while
//! files change, out of space, with disk errors, and with panics. After each, the index is sound, and one plain run
//! makes it equal to the oracle. Also repeats B4, B5, D1, D5 and D6 at every operation. `loops.rs` and `simulate.rs`
//! have the rest of section C.
//!
//! By default only the first and the last operation of each kind are tried. `UNSPOOL_LONG=1` tries all.

use crate::support::scene::{Scene, scene};
use crate::support::world::{Mismatch, World};

fn in_scenes(names: &[&str], test: impl Fn(&Scene) -> Result<usize, Mismatch>) {
    for name in names {
        let scene = scene(name);
        if let Err(mismatch) = test(&scene) {
            panic!("{name}: {mismatch}");
        }
    }
}

#[test]
fn c1_kill_at_each_operation_of_a_first_run() {
    in_scenes(&["first", "many commits"], Scene::kill_at_each);
}

#[test]
fn c1_kill_at_each_operation_of_a_later_run() {
    in_scenes(&["append", "merge"], Scene::kill_at_each);
}

/// Also C8: the old text is found until the new one is.
#[test]
fn c1_c8_kill_at_each_operation_of_a_rewrite() {
    in_scenes(&["rewrite"], Scene::kill_at_each);
}

/// Also C11: the next run after a crash rebuilds a damaged index.
#[test]
fn c1_c6_kill_at_each_operation_of_a_rebuild() {
    in_scenes(&["rebuild", "damage"], Scene::kill_at_each);
}

/// The deletions are written, `meta.json` is not. The next commit would use the same file name again.
#[test]
fn c2_kill_between_deletions_and_meta_json() {
    let scene = scene("rewrite");
    assert_eq!(scene.is_not_wedged(|_| {}), Ok(()));
}

#[test]
fn c10_c11_panic_at_each_operation() {
    let codes = [0, 2, 3, 4, 6, -1];
    in_scenes(&["first", "rewrite"], |scene| scene.fail_at_each("panic", "", &codes));
}

#[test]
fn d1_disk_full_at_each_operation() {
    in_scenes(&["append", "merge"], |scene| scene.fail_at_each("enospc", "", &[0, 3, 6]));
    in_scenes(&["rewrite", "rebuild"], |scene| scene.fail_at_each("enospc", "+", &[0, 3, 6]));
}

#[test]
fn d5_d6_disk_errors_at_each_operation() {
    in_scenes(&["first", "append"], |scene| scene.fail_at_each("eio", "", &[0, 2, 3, 4]));
    in_scenes(&["rebuild"], |scene| scene.fail_at_each("eio", "+", &[0, 2, 3, 4]));
}

#[test]
fn b4_b5_files_change_at_each_operation() {
    let grow = |world: &World| {
        world.append(0, &[0]);
        world.append(1, &[1]);
    };
    in_scenes(&["append", "rewrite"], |scene| scene.change_at_each(grow));
}

/// A bug of ours in one line: the line is kept and reported, the others are read.
#[test]
fn c10_panic_while_a_line_is_parsed() {
    let scene = scene("first");
    for number in 1..12 {
        scene.restore();
        let ran = scene.run(&format!("line@{number}"));
        assert_eq!((ran.code, ran.stderr.as_str()), (3, ""), "{}", ran.stdout);
        let reader = scene.world.index_in(&scene.world.data_dir()).read().expect("readable").expect("there");
        let failed = reader.documents_of_kind(unspool::document::Kind::Bad).expect("documents");
        let is_ours = |problem: &Option<String>| problem.as_ref().is_some_and(|text| text.contains("unspool failed"));
        let failed = failed.iter().filter(|(_, document)| is_ours(&document.problem)).count();
        assert_eq!(failed, 1, "line {number}");
        assert_eq!(reader.checkpoints().expect("checkpoints").len(), 3);
    }
}
