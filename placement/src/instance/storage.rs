//! Changes to files in steps. A crash between two steps leaves a state that can be recognised.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::directory_sync::sync_directory;

/// A file or folder that could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}: {problem}", path.display())]
pub struct StorageError {
    /// The file or folder.
    pub path: PathBuf,
    /// The operating system's message.
    pub problem: String,
}

impl StorageError {
    pub(crate) fn new(path: &Path, error: &io::Error) -> Self {
        Self { path: path.to_owned(), problem: error.to_string() }
    }
}

/// One change. Only a rename is atomic; a crash may leave any other step half done.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Creates a folder and its parents if missing.
    MakeFolder(PathBuf),
    /// Writes a file that no reader uses yet.
    Write(PathBuf, Vec<u8>),
    /// Renames a file or folder; replaces a file of the new name.
    Rename(PathBuf, PathBuf),
    /// Syncs the names in a folder to disk.
    Sync(PathBuf),
    /// Removes a folder with its contents.
    RemoveFolder(PathBuf),
}

impl Step {
    fn path(&self) -> &Path {
        match self {
            Self::MakeFolder(path) | Self::Write(path, _) | Self::Sync(path) | Self::RemoveFolder(path) => {
                path
            }
            Self::Rename(_, to) => to,
        }
    }

    fn run(&self) -> io::Result<()> {
        match self {
            Self::MakeFolder(path) => fs::create_dir_all(path),
            Self::Write(path, bytes) => write_synced(path, bytes),
            Self::Rename(from, to) => fs::rename(from, to),
            Self::Sync(path) => sync_directory(path),
            Self::RemoveFolder(path) => match fs::remove_dir_all(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                removed => removed,
            },
        }
    }
}

/// Runs the steps up to the first that fails.
pub(crate) fn run(steps: &[Step]) -> Result<(), StorageError> {
    steps.iter().try_for_each(|step| step.run().map_err(|error| StorageError::new(step.path(), &error)))
}

/// Replaces one file atomically: it holds its old contents or all of `bytes`.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
    let wrong = |error: &io::Error| StorageError::new(path, error);
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = temporary(folder)?;
    file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(|error| wrong(&error))?;
    file.persist(path).map_err(|error| wrong(&error.error))?;
    run(&[Step::Sync(folder.to_owned())])
}

/// Creates a temporary file in `folder`.
pub(crate) fn temporary(folder: &Path) -> Result<tempfile::NamedTempFile, StorageError> {
    let file = tempfile::Builder::new().prefix(".part-").tempfile_in(folder);
    file.map_err(|error| StorageError::new(folder, &error))
}

/// Creates a temporary folder in `folder`; the caller removes it.
pub(crate) fn temporary_folder(folder: &Path) -> Result<PathBuf, StorageError> {
    let made = tempfile::Builder::new().prefix(".part-").tempdir_in(folder);
    made.map(tempfile::TempDir::keep).map_err(|error| StorageError::new(folder, &error))
}

/// Reads a file's text; `None` if the file does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<String>, StorageError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StorageError::new(path, &error)),
    }
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_system_that_cannot_sync_directories_can_hold_instances() {
        let cannot = Path::new("/proc");
        assert!(File::open(cannot).is_ok_and(|folder| folder.sync_all().is_err()));
        assert_eq!(run(&[Step::Sync(cannot.to_owned())]), Ok(()));
    }
}
