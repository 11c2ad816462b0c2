//! Controls: shows that the test harnesses can fail. Each harness gets what the program would leave without one of its
//! safeguards, and must object. The program has no broken mode for this: the syncs are removed from a recording, or
//! files are changed from outside. The tests that use the harnesses show that they pass otherwise.

use std::fs;
use std::path::Path;

use crate::support::power::{cut_power, effort};
use crate::support::scene::{Point, Scene, scene};
use crate::support::world::{Mismatch, World};

/// Checks that a harness has objected, and for the right reason.
fn assert_objects<T>(found: Result<T, Mismatch>, what: &str) {
    match found {
        Err(mismatch) => assert!(mismatch.contains(what), "the harness objects to something else: {mismatch}"),
        Ok(_) => panic!("the harness did not notice"),
    }
}

#[test]
fn power_cuts_reveal_a_missing_sync_of_the_folder() {
    let scene = scene("append");
    let mut points = scene.points();
    let is_put = |point: &Point| point.letter == 'p' && point.path.ends_with("meta.json");
    let mut is_published = false;
    points.retain(|point| {
        let is_dropped = is_published && point.letter == 'S';
        is_published = is_put(point) || is_published && !is_dropped;
        !is_dropped
    });
    assert_objects(cut_power(&scene, &points, &effort()), "power cut");
}

#[test]
fn power_cuts_reveal_a_missing_sync_of_files() {
    let scene = scene("append");
    let mut points = scene.points();
    points.retain(|point| point.letter != 's');
    assert_objects(cut_power(&scene, &points, &effort()), "power cut");
}

/// The file that the killed run left is replaced by a folder, which no cleanup removes.
#[test]
fn kills_reveal_a_missing_cleanup() {
    let stay = |left: &Path| {
        fs::remove_file(left).expect("left by the killed run");
        fs::create_dir_all(left.join("stays")).expect("made");
    };
    assert_objects(scene("rewrite").is_not_wedged(stay), "wedged");
}

/// The checkpoint is that of a file of the same length with only blank lines after the first.
#[test]
fn kills_reveal_a_checkpoint_before_its_documents() {
    let mut scene = scene("append");
    let world = &scene.world;
    let path = world.file(0);
    let bytes = fs::read(&path).expect("read");
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let mut blank = lines.next().expect("a line").to_vec();
    blank.resize(bytes.len(), b'\n');
    fs::write(&path, blank).expect("written");
    world.index_into(&world.data_dir()).expect("indexed");
    fs::write(&path, bytes).expect("written");
    scene.before = world.snapshot();
    assert_objects(scene.kill_at_each(), "the index contains");
}

/// A change that keeps length and time, so that the checkpoint matches the file as it is after the change.
#[test]
fn changes_reveal_a_stat_after_the_reading() {
    let change = |world: &World| {
        let path = world.file(0);
        let time = fs::metadata(&path).and_then(|file| file.modified()).expect("a time");
        let mut text = fs::read(&path).expect("read");
        let (from, to) = if find(&text, b"words").is_some() { (b"words", b"sword") } else { (b"sword", b"words") };
        while let Some(at) = find(&text, from) {
            text[at..at + to.len()].copy_from_slice(to);
        }
        fs::write(&path, text).expect("written");
        fs::File::options().append(true).open(&path).expect("opened").set_modified(time).expect("time set");
    };
    assert_objects(scene("append").change_at_each(change), "the index contains");
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|part| part == word)
}

/// `BufRead::lines` fails at the first line that is not UTF-8, so only the lines before it would be read.
#[test]
fn oracle_reveals_lines_read_by_the_standard_library() {
    let Scene { world, .. } = &scene("first");
    let path = world.file(0);
    let bytes = fs::read(&path).expect("read");
    let valid = std::str::from_utf8(&bytes).expect_err("a line that is not UTF-8").valid_up_to();
    let end = bytes[..valid].iter().rposition(|byte| *byte == b'\n').expect("a line") + 1;
    fs::write(&path, &bytes[..end]).expect("written");
    world.index().expect("indexed");
    fs::write(&path, bytes).expect("written");
    assert_objects(world.whole(&world.data_dir()), "instead of");
}
