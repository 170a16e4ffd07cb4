//! A crash at any point of a save leaves the old history or the new one, whole.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;

use tempfile::{TempDir, TempPath};

use super::super::load::load_and_purge;
use super::super::save::save_now;
use super::super::{HistoryEntry, HistoryFile};
use super::*;

type TestResult = Result<(), Box<dyn Error>>;

/// A disk that copies the directory at each point at which a crash could come. The copy lacks what a loss
/// of power could destroy.
struct CrashingDisk {
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    images: Vec<(String, TempDir)>,
    is_synced: bool,
    is_directory_synced: bool,
}

/// The part of an unsynced file that a file system may have kept.
#[derive(Clone, Copy)]
enum Kept {
    All,
    Nothing,
    Zeros,
}

impl CrashingDisk {
    /// Copies the directory, with only the kept part of the file at `unsynced`.
    fn image(&self, point: &str, unsynced: &Path, kept: Kept) -> io::Result<()> {
        let image = tempfile::tempdir()?;
        for file in files_in(&self.folder)? {
            let path = self.folder.join(&file.name);
            let mut bytes = fs::read(&path)?;
            if path == unsynced {
                match kept {
                    Kept::All => {}
                    Kept::Nothing => bytes.clear(),
                    Kept::Zeros => bytes.fill(0),
                }
            }
            fs::write(image.path().join(file.name), bytes)?;
        }
        self.state.lock().map_err(|_| io::Error::other("poisoned"))?.images.push((point.to_owned(), image));
        Ok(())
    }

    fn images(&self, point: &str, unsynced: &Path) -> io::Result<()> {
        for kept in [Kept::All, Kept::Nothing, Kept::Zeros] {
            self.image(point, unsynced, kept)?;
        }
        Ok(())
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> io::Result<T> {
        self.state.lock().map(|mut state| change(&mut state)).map_err(|_| io::Error::other("poisoned"))
    }
}

impl Disk for &CrashingDisk {
    fn write(&self, file: &mut NamedTempFile, bytes: &[u8]) -> io::Result<()> {
        for (index, byte) in bytes.iter().enumerate() {
            self.image(&format!("before byte {index}"), file.path(), Kept::All)?;
            file.write_all(&[*byte])?;
        }
        self.images("before the file is synced", file.path())
    }

    fn sync(&self, file: &NamedTempFile) -> io::Result<()> {
        self.with(|state| state.is_synced = true)?;
        self.image("before the file has its name", file.path(), Kept::All)
    }

    fn rename(&self, temporary: TempPath, path: &Path) -> io::Result<()> {
        RealDisk.rename(temporary, path)?;
        // A name may reach the disk before the content does, unless the content is synced.
        if self.with(|state| state.is_synced)? {
            return self.image("before the directory is synced", path, Kept::All);
        }
        self.images("with a name and perhaps no content", path)
    }

    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        self.with(|state| state.is_directory_synced = true)
    }
}

fn history(saved_ms: u64) -> HistoryFile {
    let entry = HistoryEntry { host: "n1".into(), role: 1, is_active: true, last_used_ms: saved_ms };
    HistoryFile { saved_ms, roles: 2, mapping: [("echo".to_owned(), 1)].into(), entries: vec![entry] }
}

#[test]
fn a_crash_anywhere_in_a_save_leaves_a_whole_history() -> TestResult {
    let folder = tempfile::tempdir()?;
    let (old, new) = (history(1), history(2));
    save_now(&DirectoryStore::new(folder.path()), &old)?;
    let disk = CrashingDisk { folder: folder.path().to_owned(), state: Mutex::default() };
    let saved = save_now(&Directory { path: folder.path().to_owned(), disk: &disk }, &new)?;
    let state = disk.state.into_inner().map_err(|_| "poisoned")?;
    assert!(state.is_synced && state.is_directory_synced);
    assert_eq!(state.images.len() as u64, saved.bytes + 5);
    for (index, (point, image)) in state.images.iter().enumerate() {
        let has_name = index + 1 == state.images.len();
        let store = DirectoryStore::new(image.path());
        let (report, purge) = load_and_purge(&store);
        let loaded = report.loaded.ok_or_else(|| format!("nothing is left of a crash {point}"))?;
        assert_eq!(&loaded.history.file, if has_name { &new } else { &old }, "{point}");
        assert!(report.skipped.is_empty() && loaded.history.warnings.is_empty(), "{point}");
        assert!(purge.is_some_and(|purge| purge.is_ok_and(|purge| purge.failed.is_empty())), "{point}");
        assert_eq!(files_in(image.path())?.len(), 1, "{point}: what the crash left is swept");
        // Real syncs are slow, and the exact length of the leftover does not matter to the next save.
        if index as u64 >= saved.bytes {
            save_now(&store, &history(3))?;
        }
    }
    Ok(())
}

#[test]
fn a_save_that_fails_leaves_nothing_behind() -> TestResult {
    struct FullDisk;
    impl Disk for FullDisk {
        fn write(&self, file: &mut NamedTempFile, bytes: &[u8]) -> io::Result<()> {
            file.write_all(&bytes[..bytes.len() / 2])?;
            Err(io::ErrorKind::StorageFull.into())
        }
    }
    let folder = tempfile::tempdir()?;
    assert!(save_now(&Directory { path: folder.path().to_owned(), disk: FullDisk }, &history(1)).is_err());
    assert!(files_in(folder.path())?.is_empty());
    Ok(())
}

#[test]
fn a_directory_that_is_new_is_synced_into_those_above() -> TestResult {
    #[derive(Default)]
    struct Synced(Mutex<Vec<PathBuf>>);
    impl Disk for &Synced {
        fn sync_directory(&self, directory: &Path) -> io::Result<()> {
            self.0.lock().map_err(|_| io::Error::other("poisoned"))?.push(directory.to_owned());
            Ok(())
        }
    }
    let folder = tempfile::tempdir()?;
    let (top, path) = (folder.path().to_owned(), folder.path().join("a/b"));
    let synced = Synced::default();
    save_now(&Directory { path: path.clone(), disk: &synced }, &history(1))?;
    let expected = [top.join("a"), top, path];
    assert_eq!(synced.0.into_inner().map_err(|_| "poisoned")?, expected);
    Ok(())
}
