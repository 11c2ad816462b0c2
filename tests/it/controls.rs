//! Shows that the harnesses can fail. Each gets what the program would leave behind without one of its safeguards, and
//! must object. The program itself has no wrong code for this: a recording loses its syncs, or the disk is changed
//! behind the program's back. That the harnesses are content otherwise is shown by the tests that use them.

use std::fs;
use std::path::Path;

use crate::crash::{Point, Scene, scene};
use crate::oracle::{World, Wrong};
use crate::simulate::{cut_power, effort};

/// Checks that a harness has objected, and to the right thing.
fn objects<T>(found: Result<T, Wrong>, what: &str) {
    match found {
        Err(wrong) => assert!(wrong.contains(what), "the harness objects to something else: {wrong}"),
        Ok(_) => panic!("the harness has not noticed"),
    }
}

#[test]
fn power_cuts_tell_a_missing_sync_of_the_folder() {
    let scene = scene("append");
    let mut points = scene.points();
    let is_put = |point: &Point| point.letter == 'p' && point.path.ends_with("meta.json");
    let mut is_published = false;
    points.retain(|point| {
        let is_dropped = is_published && point.letter == 'S';
        is_published = is_put(point) || is_published && !is_dropped;
        !is_dropped
    });
    objects(cut_power(&scene, &points, &effort()), "power cut");
}

#[test]
fn power_cuts_tell_a_missing_sync_of_files() {
    let scene = scene("append");
    let mut points = scene.points();
    points.retain(|point| point.letter != 's');
    objects(cut_power(&scene, &points, &effort()), "power cut");
}

/// A folder in the place of the file that the killed run has left: no cleaning removes it.
#[test]
fn kills_tell_a_missing_cleaning() {
    let stay = |left: &Path| {
        fs::remove_file(left).expect("left by the killed run");
        fs::create_dir_all(left.join("stays")).expect("made");
    };
    objects(scene("rewrite").is_not_wedged(stay), "wedged");
}

/// The checkpoint was made of a file as long as this one, with nothing but blank lines after the first.
#[test]
fn kills_tell_a_checkpoint_before_its_documents() {
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
    scene.before = world.keep();
    objects(scene.kill_at_each(), "the index holds");
}

/// A change that leaves length and time as they are: the checkpoint has them of the file as it is after the change.
#[test]
fn changes_tell_a_stat_after_the_reading() {
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
    objects(scene("append").change_at_each(change), "the index holds");
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|part| part == word)
}

/// The standard library's lines end at the first one that is not UTF-8: only what is before it was read.
#[test]
fn oracle_tells_lines_read_by_the_standard_library() {
    let Scene { world, .. } = &scene("first");
    let path = world.file(0);
    let bytes = fs::read(&path).expect("read");
    let valid = std::str::from_utf8(&bytes).expect_err("a line that is not UTF-8").valid_up_to();
    let end = bytes[..valid].iter().rposition(|byte| *byte == b'\n').expect("a line") + 1;
    fs::write(&path, &bytes[..end]).expect("written");
    world.index().expect("indexed");
    fs::write(&path, bytes).expect("written");
    objects(world.whole(&world.data_dir()), "instead of");
}
