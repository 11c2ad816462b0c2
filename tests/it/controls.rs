//! Whether the harnesses can fail: each is shown a safeguard left out (see `Bug` in `src/fault.rs`) and must object.

use crate::crash::{Scene, scene};
use crate::oracle::Wrong;
use crate::simulate::{cut_power, effort};

/// The harness objects to the bug. That it is content without one is shown by the tests that use it.
fn tells(name: &str, bug: &str, harness: impl Fn(&Scene) -> Result<(), Wrong>) {
    let objection = harness(&scene(name, bug));
    assert!(objection.is_err(), "the harness has missed {bug}");
}

#[test]
fn power_cuts_tell_a_missing_sync_of_the_folder() {
    tells("append", "NoFolderSync", |scene| cut_power(scene, &effort()).map(|_| ()));
}

#[test]
fn power_cuts_tell_a_missing_sync_of_files() {
    tells("append", "NoFileSync", |scene| cut_power(scene, &effort()).map(|_| ()));
}

#[test]
fn kills_tell_a_missing_cleaning() {
    tells("rewrite", "NoCleaning", Scene::is_not_wedged);
}

#[test]
fn kills_tell_a_checkpoint_before_its_documents() {
    tells("append", "CheckpointFirst", |scene| scene.kill_at_each().map(|_| ()));
}

#[test]
fn changes_tell_a_stat_after_the_reading() {
    tells("append", "StatAfterRead", |scene| scene.change_at_each().map(|_| ()));
}

#[test]
fn oracle_tells_lines_read_by_the_standard_library() {
    tells("first", "StdLines", |scene| {
        scene.restore();
        scene.run("batch:999999999");
        scene.world.whole(&scene.world.data_dir())
    });
}
