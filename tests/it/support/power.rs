//! A model of a disk that loses power. Every operation of a real run is recorded. From the recording we work out what a
//! power cut at each of them may leave, write it out as a folder, and open it with the real library.
//!
//! The model promises less than any file system does: bytes are safe only after their file was synced, a name only
//! after its folder was. An unsynced step may be lost, in any order. Unsynced bytes are complete, cut short, or zeros.
//! A rename is one step, as everywhere.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use crate::support::is_long;
use crate::support::scene::{Point, Scene};
use crate::support::world::Mismatch;

/// The target of a name.
#[derive(Clone, Copy, Debug)]
enum Node {
    File(usize),
    Folder(usize),
}

#[derive(Clone, Debug, Default)]
struct File {
    bytes: Vec<u8>,
    synced: bool,
}

/// The names in a folder: those that are synced, and the changes since.
#[derive(Clone, Debug, Default)]
struct Folder {
    safe: BTreeMap<String, Node>,
    since: Vec<(usize, Change)>,
}

/// A step that is either done or not.
#[derive(Clone, Debug)]
enum Change {
    Link(String, Node),
    Unlink(String),
    Rename(String, String),
    Exchange(String, String),
}

#[derive(Clone, Debug)]
struct Disk {
    files: Vec<File>,
    folders: Vec<Folder>,
    steps: usize,
}

/// The unsynced steps that are lost.
#[derive(Clone, Copy, Debug)]
enum Loss {
    /// None: only the process is killed.
    Nothing,
    /// All after a step.
    After(usize),
    /// A random choice, by this seed.
    Any(u64),
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<String, Node>) {
        match self {
            Self::Link(name, node) => {
                names.insert(name.clone(), *node);
            }
            Self::Unlink(name) => {
                names.remove(name);
            }
            Self::Rename(from, to) => {
                if let Some(node) = names.remove(from) {
                    names.insert(to.clone(), node);
                }
            }
            Self::Exchange(first, second) => {
                if let (Some(a), Some(b)) = (names.remove(first), names.remove(second)) {
                    names.insert(first.clone(), b);
                    names.insert(second.clone(), a);
                }
            }
        }
    }
}

impl Folder {
    fn now(&self) -> BTreeMap<String, Node> {
        self.after(|_| true)
    }

    fn after(&self, happened: impl Fn(usize) -> bool) -> BTreeMap<String, Node> {
        let mut names = self.safe.clone();
        self.since.iter().filter(|(step, _)| happened(*step)).for_each(|(_, change)| change.apply(&mut names));
        names
    }
}

impl Disk {
    /// A disk with everything below a folder, all of it synced.
    fn load(path: &Path) -> Self {
        let mut disk = Self { files: Vec::new(), folders: vec![Folder::default()], steps: 0 };
        let data = disk.load_folder(path);
        if path.is_dir() {
            disk.folders[0].safe.insert("data".to_string(), data);
        }
        disk
    }

    fn load_folder(&mut self, path: &Path) -> Node {
        let mut safe = BTreeMap::new();
        for entry in fs::read_dir(path).into_iter().flatten().map(|entry| entry.expect("entry")) {
            let node = if entry.path().is_dir() {
                self.load_folder(&entry.path())
            } else {
                self.files.push(File { bytes: fs::read(entry.path()).expect("read"), synced: true });
                Node::File(self.files.len() - 1)
            };
            safe.insert(entry.file_name().to_string_lossy().into_owned(), node);
        }
        self.folders.push(Folder { safe, since: Vec::new() });
        Node::Folder(self.folders.len() - 1)
    }

    /// The folder that contains a path, and its name there.
    fn place(&self, path: &Path) -> (usize, String) {
        let names: Vec<String> = path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        let (name, above) = names.split_last().expect("a name");
        let mut folder = 0;
        for name in above {
            match self.folders[folder].now().get(name) {
                Some(Node::Folder(below)) => folder = *below,
                other => panic!("{} is not a folder: {other:?}", path.display()),
            }
        }
        (folder, name.clone())
    }

    fn change(&mut self, folder: usize, change: Change) {
        self.steps += 1;
        let step = self.steps;
        self.folders[folder].since.push((step, change));
    }

    fn link(&mut self, path: &Path, node: Node) {
        let (folder, name) = self.place(path);
        self.change(folder, Change::Link(name, node));
    }

    fn file(&mut self, path: &Path) -> &mut File {
        let (folder, name) = self.place(path);
        match self.folders[folder].now().get(&name) {
            Some(Node::File(file)) => &mut self.files[*file],
            other => panic!("{} is not a file: {other:?}", path.display()),
        }
    }

    /// Does what a recorded operation does.
    fn act(&mut self, point: &Point, world: &Path) {
        let inside = |path: &Path| path.strip_prefix(world).map(Path::to_path_buf).unwrap_or_default();
        let path = inside(&point.path);
        let other = || inside(Path::new(std::str::from_utf8(&point.more).expect("a path")));
        match point.letter {
            'd' => {
                self.folders.push(Folder::default());
                self.link(&path, Node::Folder(self.folders.len() - 1));
            }
            'c' | 'p' => {
                self.files.push(File { bytes: point.more.clone(), synced: point.letter == 'p' });
                self.link(&path, Node::File(self.files.len() - 1));
            }
            'w' => {
                let file = self.file(&path);
                file.bytes.extend(&point.more);
                file.synced = false;
            }
            's' => self.file(&path).synced = true,
            'r' | 'R' => {
                let (folder, name) = self.place(&path);
                self.change(folder, Change::Unlink(name));
            }
            'm' | 'x' => {
                let ((folder, from), (target, to)) = (self.place(&path), self.place(&other()));
                assert_eq!(folder, target, "only names in one folder are exchanged");
                let change = if point.letter == 'm' { Change::Rename(from, to) } else { Change::Exchange(from, to) };
                self.change(folder, change);
            }
            'S' if path.as_os_str().is_empty() => self.sync(0),
            'S' => {
                let (folder, name) = self.place(&path);
                if let Some(Node::Folder(folder)) = self.folders[folder].now().get(&name) {
                    self.sync(*folder);
                }
            }
            // Reads and locks change nothing.
            _ => {}
        }
    }

    fn sync(&mut self, folder: usize) {
        let now = self.folders[folder].now();
        self.folders[folder] = Folder { safe: now, since: Vec::new() };
    }

    /// The steps that a power cut may lose.
    fn unsafe_steps(&self) -> Vec<usize> {
        let mut steps: Vec<usize> =
            self.folders.iter().flat_map(|folder| &folder.since).map(|(step, _)| *step).collect();
        steps.sort_unstable();
        steps
    }

    /// Writes out what is left.
    fn lay_out(&self, loss: Loss, target: &Path) {
        let _ = fs::remove_dir_all(target);
        self.lay_out_folder(0, loss, target);
    }

    fn lay_out_folder(&self, folder: usize, loss: Loss, target: &Path) {
        fs::DirBuilder::new().mode(0o700).create(target).expect("made");
        let names = self.folders[folder].after(|step| match loss {
            Loss::Nothing => true,
            Loss::After(last) => step <= last,
            Loss::Any(seed) => mixed(seed ^ step as u64).is_multiple_of(2),
        });
        for (name, node) in names {
            let target = target.join(name);
            match node {
                Node::Folder(below) => self.lay_out_folder(below, loss, &target),
                Node::File(file) => fs::write(target, self.left_of(file, loss)).expect("written"),
            }
        }
    }

    /// The bytes that are left of a file.
    fn left_of(&self, file: usize, loss: Loss) -> Vec<u8> {
        let File { bytes, synced } = &self.files[file];
        let tear = match loss {
            Loss::Nothing => 3,
            _ if *synced => 3,
            Loss::After(last) => mixed(last as u64 + file as u64) % 4,
            Loss::Any(seed) => mixed(seed + file as u64) % 4,
        };
        match tear {
            0 => Vec::new(),
            1 => bytes[..bytes.len() / 2].to_vec(),
            2 => vec![0; bytes.len()],
            _ => bytes.clone(),
        }
    }
}

/// A number that looks random (the mixer of splitmix64).
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// The thoroughness of a test.
pub(crate) struct Effort {
    /// The power is cut at every n-th operation.
    stride: usize,
    /// The number of random losses that are tried at each cut.
    random: u64,
    /// Every n-th image is also healed.
    heal: usize,
}

/// Cuts the power at the operations of a run and checks what is left. Returns the number of disk images checked.
pub(crate) fn cut_power(scene: &Scene, points: &[Point], effort: &Effort) -> Result<usize, Mismatch> {
    let world = scene.world.path();
    let mut disk = Disk::load(&scene.before.folder);
    let target = world.join("image");
    let mut images = 0_usize;
    for number in 0..=points.len() {
        let is_end = number == points.len();
        let changes = number > 0 && !matches!(points[number - 1].letter, 'l' | 'k' | 'i');
        if changes && (is_end || number.is_multiple_of(effort.stride)) {
            for loss in losses(&disk, number, effort) {
                images += 1;
                disk.lay_out(loss, &target);
                let what = || format!("power cut before point {} of {} ({loss:?})", number + 1, points.len());
                let heal = is_end || images.is_multiple_of(effort.heal);
                check_image(scene, &target.join("data"), is_end, heal)
                    .map_err(|mismatch| format!("{}: {mismatch}", what()))?;
            }
        }
        if let Some(point) = points.get(number) {
            disk.act(point, world);
        }
    }
    Ok(images)
}

fn losses(disk: &Disk, number: usize, effort: &Effort) -> Vec<Loss> {
    let steps = disk.unsafe_steps();
    let first = steps.first().map_or(0, |step| step - 1);
    let mut losses = vec![Loss::Nothing, Loss::After(first)];
    losses.extend(steps.iter().map(|step| Loss::After(*step)).take(if is_long() { 50 } else { 2 }));
    losses.extend((0..effort.random).map(|random| Loss::Any(mixed(number as u64 * 1000 + random))));
    losses
}

/// Checks that an image opens, that its content agrees with its checkpoints, and that a plain run makes it complete.
/// After the end of the run it must be complete as it is.
fn check_image(scene: &Scene, data: &Path, is_end: bool, heal: bool) -> Result<(), Mismatch> {
    match scene.world.sound(data) {
        Err(mismatch) if scene.is_rebuild() && !is_end && mismatch.contains("damaged") => {}
        sound => sound?,
    }
    if is_end {
        scene.world.whole(data)?;
    }
    if heal {
        scene.world.index_into(data)?;
        scene.world.whole(data)?;
        let kept = scene.world.gone(data).len();
        if scene.is_rebuild() && kept < 2 {
            return Err(format!("{kept} texts of a deleted session are left of 2"));
        }
    }
    Ok(())
}

pub(crate) fn effort() -> Effort {
    if is_long() { Effort { stride: 1, random: 16, heal: 2 } } else { Effort { stride: 5, random: 2, heal: 8 } }
}
