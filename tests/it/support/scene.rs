//! Scenes: runs of the real binary that can be interrupted at each of their operations, by a kill, an error or a change
//! of files. After each, the index must be sound, and one plain run must make it equal to the oracle.

#![expect(clippy::zombie_processes, reason = "helpers that stop a child wait for it")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::Pid;

use crate::support::env::Ran;
use crate::support::is_long;
use crate::support::process::at_each_stop;
use crate::support::world::{Mismatch, Snapshot, World};

/// An operation of a run, as recorded by `UNSPOOL_FAULT=record:`; see `src/fault.rs`.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) letter: char,
    pub(crate) path: PathBuf,
    pub(crate) more: Vec<u8>,
}

/// A run that can be interrupted, and the state before it.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) before: Snapshot,
    pub(crate) args: &'static [&'static str],
    /// The size of a batch, if not the usual one; added to every fault.
    batch: &'static str,
}

/// Prepares the scene with this name.
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
            indexed_base(&world);
            world.append(0, &[0, 2]);
            world.append(1, &[1]);
            world.append(3, &[0]);
        }
        "rewrite" => {
            indexed_base(&world);
            world.change(0, |bytes| {
                let end = bytes.iter().position(|byte| *byte == b'\n').expect("a line");
                bytes.truncate(end + 1);
            });
            world.append(0, &[0, 5]);
            let moved = world.file(1);
            fs::rename(&moved, world.project("b").join(moved.file_name().expect("a name"))).expect("moved");
        }
        "merge" => {
            indexed_base(&world);
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
            indexed_base(&world);
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
    let before = world.snapshot();
    Scene { world, before, args, batch }
}

pub(crate) const SCENES: [&str; 7] = ["first", "many commits", "append", "rewrite", "merge", "rebuild", "damage"];

fn base(world: &World) {
    world.append(0, &[0, 1, 2, 4, 7, 5]);
    world.append(1, &[0, 3, 6]);
    world.append(2, &[0, 1]);
}

fn indexed_base(world: &World) {
    base(world);
    world.index().expect("indexed");
}

/// Breaks the list of fields: the index cannot be opened, but its documents can still be read.
fn damage(world: &World) {
    let folder = world.index_in(&world.data_dir()).directory();
    let meta = folder.join("meta.json");
    let text = fs::read_to_string(&meta).expect("read");
    assert!(text.contains("\"branch\""), "{text}");
    fs::write(&meta, text.replace("\"branch\"", "\"brunch\"")).expect("written");
}

impl Scene {
    /// Goes back to the state before the run.
    pub(crate) fn restore(&self) {
        self.world.restore(&self.before);
    }

    /// Runs the binary with a fault injected.
    pub(crate) fn run(&self, fault: &str) -> Ran {
        self.world.run(&format!("{fault}{}", self.batch), self.args)
    }

    /// All operations of an undisturbed run.
    pub(crate) fn points(&self) -> Vec<Point> {
        self.restore();
        let file = self.world.path().join("points");
        let _ = fs::remove_file(&file);
        let ran = self.run(&format!("record:{}", file.display()));
        assert!(matches!(ran.code, 0 | 3), "{} {}", ran.code, ran.stderr);
        parse(&fs::read(&file).expect("recorded"))
    }

    /// The numbers of the operations to try.
    fn numbers(&self) -> Vec<usize> {
        let points = self.points();
        if is_long() { (1..=points.len() + 1).collect() } else { representative(&points) }
    }

    /// Checks what must be true after any fault.
    pub(crate) fn survives(&self, what: &str) -> Result<(), Mismatch> {
        let describe = |mismatch: Mismatch| format!("{what}: {mismatch}");
        self.world.index().map_err(describe)?;
        self.world.whole(&self.world.data_dir()).map_err(describe)?;
        let kept = self.world.gone(&self.world.data_dir()).len();
        let expected = usize::from(self.is_rebuild()) * 2;
        if kept < expected {
            return Err(format!("{what}: {kept} texts of a deleted session are left of {expected}"));
        }
        Ok(())
    }

    /// Reports whether the scene has a session that only the index still contains.
    pub(crate) fn is_rebuild(&self) -> bool {
        !self.world.file(2).is_file()
    }

    /// Kills the binary at each operation.
    pub(crate) fn kill_at_each(&self) -> Result<usize, Mismatch> {
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

    /// Checks that the index is sound, unless it was damaged before and has not been rebuilt yet.
    fn sound(&self, what: &str) -> Result<(), Mismatch> {
        match self.world.sound(&self.world.data_dir()) {
            Err(mismatch) if self.is_rebuild() && mismatch.contains("damaged") => Ok(()),
            sound => sound.map_err(|mismatch| format!("{what}: {mismatch}")),
        }
    }

    /// Lets each operation fail, once or from there on. A run that reports success must have done all its work.
    pub(crate) fn fail_at_each(&self, kind: &str, lasting: &str, codes: &[i32]) -> Result<usize, Mismatch> {
        let numbers = self.numbers();
        for number in &numbers {
            self.restore();
            let ran = self.run(&format!("{kind}@{number}{lasting}"));
            let what = format!("{kind} at {number}{lasting} ({}): {}", ran.code, ran.stderr.trim());
            if !codes.contains(&ran.code) {
                return Err(what);
            }
            if ran.code == 0 {
                self.world.whole(&self.world.data_dir()).map_err(|mismatch| format!("{what}: {mismatch}"))?;
            }
            self.sound(&what)?;
            self.survives(&what)?;
        }
        Ok(numbers.len())
    }

    /// Kills the binary between its deletions and its commit, and repeats the same run, as a timer would. In between,
    /// `meanwhile` gets the deletion file that the killed run may have left.
    pub(crate) fn is_not_wedged(&self, meanwhile: impl Fn(&Path)) -> Result<(), Mismatch> {
        let points = self.points();
        let deleted = points.iter().position(|point| point.path.extension().is_some_and(|end| end == "del"));
        let deleted = deleted.expect("a deletion file");
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

    /// Stops the binary at each read of a transcript, and at its last operation. Then `change` changes files, and the
    /// binary continues.
    pub(crate) fn change_at_each(&self, change: impl Fn(&World)) -> Result<usize, Mismatch> {
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
            let code = at_each_stop(pid, || {
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

/// The first and the last operation of each kind, and the end.
fn representative(points: &[Point]) -> Vec<usize> {
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
