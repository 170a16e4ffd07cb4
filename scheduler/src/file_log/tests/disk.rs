//! A disk that keeps at a power cut all synced operations, and by chance some others.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// An operation that changes the disk.
#[derive(Clone, Debug)]
pub(in super::super) enum Step {
    MakeFolder(PathBuf),
    Create(PathBuf),
    Write(PathBuf, Vec<u8>),
    Cut(PathBuf, u64),
    Sync(PathBuf),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    SyncFolder(PathBuf),
}

thread_local! {
    static STEPS: RefCell<Vec<Step>> = const { RefCell::new(Vec::new()) };
}

pub(in super::super) fn record(step: Step) {
    STEPS.with_borrow_mut(|steps| steps.push(step));
}

/// The number of steps that this thread recorded.
pub(super) fn recorded() -> usize {
    STEPS.with_borrow(Vec::len)
}

/// The operations that a power cut leaves of those that were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Luck {
    Nothing,
    Everything,
    /// By chance, and of a write perhaps only the beginning.
    Some(u64),
}

impl Luck {
    /// A number below `bound`, which stands for everything.
    fn draw(&mut self, bound: usize) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Everything => bound - 1,
            Self::Some(seed) => {
                *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (*seed >> 33) as usize % bound
            }
        }
    }

    fn keeps(&mut self) -> bool {
        self.draw(2) == 1
    }
}

#[derive(Clone, Debug)]
enum Edit {
    Write(usize, Vec<u8>),
    Length(usize),
}

/// The contents of a file. Its names are kept apart.
#[derive(Clone, Debug, Default)]
struct Contents {
    length: usize,
    synced: Vec<u8>,
    unsynced: Vec<Edit>,
}

impl Contents {
    fn edit(&mut self, edit: Edit) {
        self.length = match &edit {
            Edit::Write(at, bytes) => self.length.max(at + bytes.len()),
            Edit::Length(length) => *length,
        };
        self.unsynced.push(edit);
    }

    fn after(&self, luck: &mut Luck) -> Vec<u8> {
        let mut bytes = self.synced.clone();
        for edit in &self.unsynced {
            match edit {
                Edit::Length(length) if luck.keeps() => bytes.resize(*length, 0),
                Edit::Write(at, written) if luck.keeps() => {
                    let kept = if luck.keeps() { written.len() } else { luck.draw(written.len() + 1) };
                    bytes.resize(bytes.len().max(at + kept), 0);
                    bytes[*at..at + kept].copy_from_slice(&written[..kept]);
                }
                _ => {}
            }
        }
        bytes
    }
}

/// The object with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Folder,
    File(usize),
}

type Names = BTreeMap<PathBuf, Entry>;
/// Names that change together.
type Change = Vec<(PathBuf, Option<Entry>)>;

#[derive(Clone, Debug)]
pub(super) struct Disk {
    root: PathBuf,
    files: Vec<Contents>,
    now: Names,
    synced: Names,
    unsynced: Vec<Change>,
}

impl Disk {
    /// A disk on which all below this folder is synced. Recording begins.
    pub(super) fn of(root: &Path) -> Self {
        let (files, now, unsynced) = (Vec::new(), Names::new(), Vec::new());
        let mut disk = Self { root: root.to_owned(), files, now, synced: Names::new(), unsynced };
        disk.add(root);
        disk.synced = disk.now.clone();
        STEPS.take();
        disk
    }

    fn add(&mut self, folder: &Path) {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = self.name(&path);
            if path.is_dir() {
                self.now.insert(name, Entry::Folder);
                self.add(&path);
            } else {
                let synced = fs::read(&path).unwrap();
                self.now.insert(name, Entry::File(self.files.len()));
                self.files.push(Contents { length: synced.len(), synced, unsynced: Vec::new() });
            }
        }
    }

    fn name(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap().to_owned()
    }

    /// Makes the steps recorded since the last call, and gives the disk before each of them and at the end.
    pub(super) fn run_recorded(&mut self) -> Vec<Self> {
        let mut disks = vec![self.clone()];
        for step in STEPS.take() {
            self.run(step);
            disks.push(self.clone());
        }
        disks
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::MakeFolder(path) => self.change([(path, Some(Entry::Folder))]),
            Step::Create(path) if self.now.contains_key(&self.name(&path)) => {
                self.file(&path).edit(Edit::Length(0));
            }
            Step::Create(path) => {
                self.change([(path, Some(Entry::File(self.files.len())))]);
                self.files.push(Contents::default());
            }
            Step::Write(path, bytes) => {
                let file = self.file(&path);
                file.edit(Edit::Write(file.length, bytes));
            }
            Step::Cut(path, bytes) => self.file(&path).edit(Edit::Length(bytes as usize)),
            Step::Sync(path) => {
                let file = self.file(&path);
                file.synced = file.after(&mut Luck::Everything);
                file.unsynced.clear();
            }
            Step::Rename(from, to) => {
                let entry = self.now[&self.name(&from)];
                self.change([(from, None), (to, Some(entry))]);
            }
            Step::Remove(path) => self.change([(path, None)]),
            Step::SyncFolder(path) => self.sync_folder(&self.name(&path)),
        }
    }

    fn file(&mut self, path: &Path) -> &mut Contents {
        let Entry::File(file) = self.now[&self.name(path)] else { panic!("{} is a folder", path.display()) };
        &mut self.files[file]
    }

    fn change<const N: usize>(&mut self, change: [(PathBuf, Option<Entry>); N]) {
        let change = change.map(|(path, entry)| (self.name(&path), entry)).to_vec();
        apply(&mut self.now, &change);
        self.unsynced.push(change);
    }

    fn sync_folder(&mut self, folder: &Path) {
        let unsynced = std::mem::take(&mut self.unsynced);
        let is_of = |change: &Change| change[0].0.parent() == Some(folder);
        let (synced, unsynced): (Vec<_>, Vec<_>) = unsynced.into_iter().partition(is_of);
        self.unsynced = unsynced;
        synced.iter().for_each(|change| apply(&mut self.synced, change));
    }

    /// The disk after a power cut, in a folder of its own.
    pub(super) fn after_power_cut(&self, mut luck: Luck) -> TempDir {
        let mut names = self.synced.clone();
        self.unsynced.iter().filter(|_| luck.keeps()).for_each(|change| apply(&mut names, change));
        let left = tempfile::tempdir().unwrap();
        for (name, entry) in &names {
            let path = left.path().join(name);
            match entry {
                // The contents of a folder without a name are lost.
                _ if !path.parent().unwrap().exists() => {}
                Entry::Folder => fs::create_dir(path).unwrap(),
                Entry::File(file) => fs::write(path, self.files[*file].after(&mut luck)).unwrap(),
            }
        }
        left
    }

    /// The disk when the process was killed: nothing is lost, and nothing more is synced. Recording begins.
    pub(super) fn after_kill(&self) -> (TempDir, Self) {
        let left = self.after_power_cut(Luck::Everything);
        STEPS.take();
        let disk = Self { root: left.path().to_owned(), ..self.clone() };
        (left, disk)
    }
}

fn apply(names: &mut Names, change: &Change) {
    for (name, entry) in change {
        match entry {
            Some(entry) => names.insert(name.clone(), *entry),
            None => names.remove(name),
        };
    }
}
