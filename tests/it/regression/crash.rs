//! Bugs after a crash, or during a concurrent rebuild.

use crate::support::env::Env;
use crate::support::scene::scene;
use crate::support::world::World;

/// After a kill that followed a commit in the middle of a file, the rest of the file was taken for read and never was.
#[test]
fn the_rest_of_a_file_is_read_after_a_kill_between_commits() {
    let world = World::new();
    world.append(0, &[0; 20]);
    for point in 20..90 {
        let _ = std::fs::remove_dir_all(world.data_dir());
        world.run(&format!("kill@{point},batch:1"), &["index"]);
        assert_eq!(world.sound(&world.data_dir()), Ok(()));
        assert_eq!(world.heals(), Ok(()), "killed at {point}");
    }
}

/// After a power cut tantivy's list of files may be older than the files. A deletion file missing from that list
/// blocked every later run. There is no such list any more, but such a file can still be left behind.
#[test]
fn a_deletion_file_that_no_commit_names_is_not_in_the_way() {
    let scene = scene("rewrite");
    let points = scene.points();
    let deletions =
        points.iter().position(|point| point.letter == 's' && point.path.to_string_lossy().ends_with(".del"));
    scene.restore();
    assert_eq!(scene.run(&format!("kill@{}", deletions.expect("deletions") + 2)).code, -1);
    let folder = scene.world.index_in(&scene.world.data_dir()).directory();
    let is_left = std::fs::read_dir(folder)
        .expect("listed")
        .flatten()
        .any(|entry| entry.file_name().to_string_lossy().ends_with(".del"));
    assert!(is_left, "no deletion file");
    assert_eq!(scene.survives("a deletion file that no commit names"), Ok(()));
}

/// After a kill between a commit and the merge that follows it, tantivy gives the first deletion of the next run the
/// number of that commit. The merge, now in the middle of that run, took the deletion for done in segments from which
/// that commit had deleted something, and deleted texts stayed searchable.
#[test]
fn the_first_deletion_after_a_kill_before_a_merge_counts() {
    let scene = scene("many segments");
    let points = scene.points();
    let committed = points.iter().position(|point| point.path.ends_with("meta.json")).expect("a commit");
    let (changed, segments) = (scene.world.file(1), |world: &World| {
        let status = world.run("", &["status", "--json"]).stdout;
        serde_json::from_str::<serde_json::Value>(&status).expect("JSON")["segments"].as_u64()
    });
    let (bytes, time) =
        (std::fs::read(&changed).expect("read"), changed.metadata().and_then(|meta| meta.modified()).expect("a time"));
    let mut many = 0;
    for number in committed..=points.len() {
        scene.restore();
        scene.run(&format!("kill@{number}"));
        many += usize::from(segments(&scene.world).is_some_and(|segments| segments > 5));
        scene.world.change(1, Vec::clear);
        scene.world.append(1, &[0]);
        assert_eq!(scene.world.index(), Ok(()));
        assert_eq!(scene.world.whole(&scene.world.data_dir()), Ok(()), "killed at {number}");
        std::fs::write(&changed, &bytes).expect("written");
        std::fs::File::options()
            .append(true)
            .open(&changed)
            .and_then(|file| file.set_modified(time))
            .expect("time set");
    }
    assert!(many > 0, "no kill left segments to be merged");
}

/// A search that opened the index at the moment when a new one replaced it called it damaged.
#[test]
fn an_index_replaced_while_it_is_opened_is_not_called_damaged() {
    use unspool::error::{Error, ErrorKind};
    let dir = tempfile::tempdir().expect("temporary folder");
    let store = unspool::index::IndexFolder::new(dir.path(), &[]);
    std::fs::create_dir_all(store.directory()).expect("made");
    let replaced = std::cell::Cell::new(0);
    let read = |times: u32| {
        replaced.set(0);
        store.retry_if_replaced(|| {
            if replaced.get() == times {
                return Ok(times);
            }
            replaced.set(replaced.get() + 1);
            let state = format!("{times} {}", replaced.get());
            std::fs::write(store.directory().join("meta.json"), state).expect("written");
            Err(Error::new(ErrorKind::Damaged, "a file is missing"))
        })
    };
    for times in [0, 1, 7] {
        assert_eq!(read(times).expect("read in the end"), times);
    }
    let damaged =
        store.retry_if_replaced(|| -> unspool::error::Result<()> { Err(Error::new(ErrorKind::Damaged, "it is")) });
    assert_eq!(damaged.expect_err("nothing replaced it").kind, ErrorKind::Damaged);
}

/// A search in an index into which nothing was read, for example after a killed first run, only said that nothing
/// matches.
#[test]
fn a_search_in_an_empty_index_says_that_it_is_empty() {
    let env = Env::new();
    env.index();
    let ran = env.run(&["search", "--no-refresh", "numbat"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("the index is empty"), "{}", ran.stderr);
}
