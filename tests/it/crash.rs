//! The real binary, broken off at each of its operations: killed, stopped while files change, out of space, with
//! errors from the disk, and in panic. After each, the index is sound; one plain run makes it equal to the oracle.
//!
//! By default the telling points are tried: the first and the last operation of each kind. `UNSPOOL_LONG=1` tries all.

#![expect(clippy::zombie_processes, reason = "helpers that stop a child wait for it")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::oracle::{Kept, World, Wrong, is_long};
use crate::util::Ran;

/// A point of a run, as `UNSPOOL_FAULT=record:` writes it; see `src/fault.rs`.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) letter: char,
    pub(crate) path: PathBuf,
    pub(crate) more: Vec<u8>,
}

/// Something to be done that can be broken off, and what was there before.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) before: Kept,
    pub(crate) args: &'static [&'static str],
    /// When its runs commit, if not as usual; added to every fault.
    batch: &'static str,
}

/// Makes the scene of a name.
pub(crate) fn scene(name: &str) -> Scene {
    let world = World::new();
    let mut args: &[&str] = &["index", "--confirm"];
    let mut batch = "";
    match name {
        "first" => base(&world),
        "many commits" => {
            base(&world);
            world.append(0, &[0, 1, 2, 3, 4, 5, 6, 0]);
            batch = ",batch:600";
        }
        "append" => {
            settled(&world);
            world.append(0, &[0, 2]);
            world.append(1, &[1]);
            world.append(3, &[0]);
        }
        "rewrite" => {
            settled(&world);
            world.change(0, |bytes| {
                let end = bytes.iter().position(|byte| *byte == b'\n').expect("a line");
                bytes.truncate(end + 1);
            });
            world.append(0, &[0, 5]);
            let moved = world.file(1);
            fs::rename(&moved, world.project("b").join(moved.file_name().expect("a name"))).expect("moved");
        }
        "merge" => {
            settled(&world);
            for _ in 0..4 {
                world.append(0, &[0]);
                world.index().expect("indexed");
            }
            world.append(1, &[0]);
        }
        "many segments" => {
            world.append(0, &[0; 6]);
            world.append(1, &[0; 2]);
            world.append(2, &[0; 6]);
            for file in 2..7 {
                world.append(file, &[0]);
                world.index().expect("indexed");
            }
            world.change(0, Vec::clear);
            world.append(0, &[0]);
        }
        "rebuild" | "damage" => {
            settled(&world);
            fs::remove_file(world.file(2)).expect("removed");
            world.index().expect("indexed");
            world.append(0, &[0]);
            if name == "damage" {
                damage(&world);
            } else {
                args = &["index", "--rebuild"];
            }
        }
        name => panic!("no scene {name}"),
    }
    let before = world.keep();
    Scene { world, before, args, batch }
}

pub(crate) const SCENES: [&str; 7] = ["first", "many commits", "append", "rewrite", "merge", "rebuild", "damage"];

fn base(world: &World) {
    world.append(0, &[0, 1, 2, 4, 7, 5]);
    world.append(1, &[0, 3, 6]);
    world.append(2, &[0, 1]);
}

fn settled(world: &World) {
    base(world);
    world.index().expect("indexed");
}

/// Breaks the list of fields: the index cannot be opened, its documents can still be read.
fn damage(world: &World) {
    let folder = world.store(&world.data_dir()).directory();
    let meta = folder.join("meta.json");
    let text = fs::read_to_string(&meta).expect("read");
    assert!(text.contains("\"branch\""), "{text}");
    fs::write(&meta, text.replace("\"branch\"", "\"brunch\"")).expect("written");
}

impl Scene {
    /// Begins anew.
    pub(crate) fn restore(&self) {
        self.world.restore(&self.before);
    }

    /// Runs the binary with a fault.
    pub(crate) fn run(&self, fault: &str) -> Ran {
        self.world.run(&format!("{fault}{}", self.batch), self.args)
    }

    /// All points of a run that nothing happens to.
    pub(crate) fn points(&self) -> Vec<Point> {
        self.restore();
        let file = self.world.path().join("points");
        let _ = fs::remove_file(&file);
        let ran = self.run(&format!("record:{}", file.display()));
        assert!(matches!(ran.code, 0 | 3), "{} {}", ran.code, ran.stderr);
        parse(&fs::read(&file).expect("recorded"))
    }

    /// The points to try.
    fn numbers(&self) -> Vec<usize> {
        let points = self.points();
        if is_long() { (1..=points.len() + 1).collect() } else { telling(&points) }
    }

    /// What must hold after whatever happened.
    pub(crate) fn survives(&self, what: &str) -> Result<(), Wrong> {
        let say = |wrong: Wrong| format!("{what}: {wrong}");
        self.world.index().map_err(say)?;
        self.world.whole(&self.world.data_dir()).map_err(say)?;
        let kept = self.world.gone(&self.world.data_dir()).len();
        let must = usize::from(self.is_rebuild()) * 2;
        if kept < must {
            return Err(format!("{what}: {kept} texts of a deleted session are left of {must}"));
        }
        Ok(())
    }

    /// Whether a session is there that only the index still holds.
    pub(crate) fn is_rebuild(&self) -> bool {
        !self.world.file(2).is_file()
    }

    /// Kills the binary at each point.
    pub(crate) fn kill_at_each(&self) -> Result<usize, Wrong> {
        let numbers = self.numbers();
        for number in &numbers {
            self.restore();
            let ran = self.run(&format!("kill@{number}"));
            let what = format!("killed at {number} ({})", ran.code);
            self.sound(&what)?;
            self.survives(&what)?;
        }
        Ok(numbers.len())
    }

    /// Sound, unless it was damaged before and is still to be rebuilt.
    fn sound(&self, what: &str) -> Result<(), Wrong> {
        match self.world.sound(&self.world.data_dir()) {
            Err(wrong) if self.is_rebuild() && wrong.contains("damaged") => Ok(()),
            sound => sound.map_err(|wrong| format!("{what}: {wrong}")),
        }
    }

    /// Lets each point fail, once or from there on. A run that says it went well has done all there was to do.
    fn fail_at_each(&self, kind: &str, lasting: &str, codes: &[i32]) -> Result<usize, Wrong> {
        let numbers = self.numbers();
        for number in &numbers {
            self.restore();
            let ran = self.run(&format!("{kind}@{number}{lasting}"));
            let what = format!("{kind} at {number}{lasting} ({}): {}", ran.code, ran.stderr.trim());
            if !codes.contains(&ran.code) {
                return Err(what);
            }
            if ran.code == 0 {
                self.world.whole(&self.world.data_dir()).map_err(|wrong| format!("{what}: {wrong}"))?;
            }
            self.sound(&what)?;
            self.survives(&what)?;
        }
        Ok(numbers.len())
    }

    /// Kills the binary between its deletions and its commit, and lets it do the same work again, as a timer would.
    /// In between, `meanwhile` is given the file of deletions that the killed run may have left.
    pub(crate) fn is_not_wedged(&self, meanwhile: impl Fn(&Path)) -> Result<(), Wrong> {
        let points = self.points();
        let deleted = points.iter().position(|point| point.path.extension().is_some_and(|end| end == "del"));
        let deleted = deleted.expect("a file of deletions");
        for number in deleted + 2..points.len() + 1 {
            self.restore();
            assert_eq!(self.run(&format!("kill@{number}")).code, -1);
            self.sound("killed")?;
            meanwhile(&points[deleted].path);
            let ran = self.run("batch:999999999");
            if !matches!(ran.code, 0 | 3) {
                return Err(format!("wedged by a kill at {number}: {}", ran.stderr));
            }
            self.survives("the second run")?;
        }
        Ok(())
    }

    /// Stops the binary at each read of a transcript, and at its last operation, and lets `change` change files before
    /// it goes on.
    pub(crate) fn change_at_each(&self, change: impl Fn(&World)) -> Result<usize, Wrong> {
        let points = self.points();
        let read = |number: &usize| is_long() || points[number - 1].letter == 'i' || *number == points.len();
        let numbers: Vec<usize> = (1..=points.len()).filter(read).collect();
        for number in &numbers {
            self.restore();
            self.world.remember();
            let fault = format!("stop@{number}{}", self.batch);
            let mut command = self.world.command(&fault, self.args);
            let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
            let pid = Pid::from_child(&child);
            let code = and_meanwhile(pid, || {
                change(&self.world);
                self.world.remember();
            });
            let what = format!("changed at {number} ({code:?})");
            self.sound(&what)?;
            self.survives(&what)?;
        }
        Ok(numbers.len())
    }
}

/// Waits for a process; does something if it stops on its way. Gives its exit code.
pub(crate) fn and_meanwhile(pid: Pid, happen: impl Fn()) -> Option<i32> {
    loop {
        let (_, status) = waitpid(Some(pid), WaitOptions::UNTRACED).expect("waited").expect("a state");
        if !status.stopped() {
            return status.exit_status();
        }
        happen();
        kill_process(pid, Signal::CONT).expect("continued");
    }
}

/// The first and the last point of each kind, and the end.
fn telling(points: &[Point]) -> Vec<usize> {
    let mut kinds: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (at, point) in points.iter().enumerate() {
        let name = point.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kind = name.rsplit('.').next().unwrap_or_default().to_string();
        let kind = if point.letter == 'S' { String::new() } else { kind };
        kinds.entry(format!("{}{kind}", point.letter)).and_modify(|seen| seen.1 = at + 1).or_insert((at + 1, at + 1));
    }
    let mut numbers: Vec<usize> = kinds.into_values().flat_map(|(first, last)| [first, last]).collect();
    numbers.push(points.len() + 1);
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

pub(crate) fn parse(mut bytes: &[u8]) -> Vec<Point> {
    fn part<'b>(bytes: &mut &'b [u8]) -> &'b [u8] {
        let (length, rest) = bytes.split_at(4);
        let length = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
        let (part, rest) = rest.split_at(length);
        *bytes = rest;
        part
    }
    let mut points = Vec::new();
    while let Some((letter, rest)) = bytes.split_first() {
        bytes = rest;
        let path = PathBuf::from(String::from_utf8_lossy(part(&mut bytes)).into_owned());
        let more = part(&mut bytes).to_vec();
        points.push(Point { letter: char::from(*letter), path, more });
    }
    points
}

fn in_all(names: &[&str], test: impl Fn(&Scene) -> Result<usize, Wrong>) {
    for name in names {
        let scene = scene(name);
        if let Err(wrong) = test(&scene) {
            panic!("{name}: {wrong}");
        }
    }
}

#[test]
fn c1_kill_at_each_operation_of_a_first_run() {
    in_all(&["first", "many commits"], Scene::kill_at_each);
}

#[test]
fn c1_kill_at_each_operation_of_a_later_run() {
    in_all(&["append", "merge"], Scene::kill_at_each);
}

/// Also C8: the old text is there until the new one is.
#[test]
fn c1_c8_kill_at_each_operation_of_a_rewrite() {
    in_all(&["rewrite"], Scene::kill_at_each);
}

/// Also C11: the next run after a crash rebuilds what is damaged.
#[test]
fn c1_c6_kill_at_each_operation_of_a_rebuild() {
    in_all(&["rebuild", "damage"], Scene::kill_at_each);
}

/// The wedge: deletions written, `meta.json` not. The next commit would use the name of the same file again.
#[test]
fn c2_kill_between_deletions_and_meta_json() {
    let scene = scene("rewrite");
    assert_eq!(scene.is_not_wedged(|_| {}), Ok(()));
}

#[test]
fn c10_c11_panic_at_each_operation() {
    let codes = [0, 2, 3, 4, 6, -1];
    in_all(&["first", "rewrite"], |scene| scene.fail_at_each("panic", "", &codes));
}

#[test]
fn d1_disk_full_at_each_operation() {
    in_all(&["append", "merge"], |scene| scene.fail_at_each("enospc", "", &[0, 3, 6]));
    in_all(&["rewrite", "rebuild"], |scene| scene.fail_at_each("enospc", "+", &[0, 3, 6]));
}

#[test]
fn d5_d6_errors_of_the_disk_at_each_operation() {
    in_all(&["first", "append"], |scene| scene.fail_at_each("eio", "", &[0, 2, 3, 4]));
    in_all(&["rebuild"], |scene| scene.fail_at_each("eio", "+", &[0, 2, 3, 4]));
}

#[test]
fn b4_b5_files_change_at_each_operation() {
    let grow = |world: &World| {
        world.append(0, &[0]);
        world.append(1, &[1]);
    };
    in_all(&["append", "rewrite"], |scene| scene.change_at_each(grow));
}

/// A failure of our own in a line: the line is kept and named, the others are read.
#[test]
fn c10_panic_while_a_line_is_taken_apart() {
    let scene = scene("first");
    for number in 1..12 {
        scene.restore();
        let ran = scene.run(&format!("line@{number}"));
        assert_eq!((ran.code, ran.stderr.as_str()), (3, ""), "{}", ran.stdout);
        let reader = scene.world.store(&scene.world.data_dir()).read().expect("readable").expect("there");
        let failed = reader.documents_of_kind(unspool::document::Kind::Bad).expect("documents");
        let ours = |note: &Option<String>| note.as_ref().is_some_and(|note| note.contains("unspool failed"));
        let failed = failed.iter().filter(|(_, document)| ours(&document.problem)).count();
        assert_eq!(failed, 1, "line {number}");
        assert_eq!(reader.checkpoints().expect("checkpoints").len(), 3);
    }
}
