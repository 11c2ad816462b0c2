//! Fault catalogue, section C: power cuts (C5, C6), on the model of a disk in `support/power.rs`. `loops.rs` has C4,
//! which cuts the power of a real file system.

use crate::support::is_long;
use crate::support::power::{cut_power, effort};
use crate::support::scene::{SCENES, scene};

fn survives_power_cuts(names: &[&str]) -> usize {
    let survive = |name: &&str| {
        let scene = scene(name);
        cut_power(&scene, &scene.points(), &effort()).unwrap_or_else(|mismatch| panic!("{name}: {mismatch}"))
    };
    names.iter().map(survive).sum()
}

#[test]
fn c5_power_cut_at_each_operation() {
    let images = survives_power_cuts(&SCENES[..5]);
    let least = if is_long() { 10_000 } else { 200 };
    assert!(images >= least, "only {images} images");
}

#[test]
fn c6_power_cut_while_a_new_index_replaces_the_old() {
    let images = survives_power_cuts(&SCENES[5..]);
    // The number depends on which thread comes first.
    let least = if is_long() { 1_500 } else { 60 };
    assert!(images >= least, "only {images} images");
}
