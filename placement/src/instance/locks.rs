//! Read and write locks on an instance's definition (`slider.md` F21).
//!
//! A lock is a file that its holder creates and removes. If the holder dies, the file stays until another
//! client calls [`DefinitionLocks::take_from`]. There may be one writer or any number of readers. After
//! creating its file, a taker looks for locks of the other kind. If there is one, it removes its own file. A
//! reader and a writer that come at the same moment may both fail, but they never both hold a lock.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::storage::{self, StorageError};

const WRITE: &str = "writelock";
const READ: &str = "readlock";

/// The access that a lock gives its holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockKind {
    /// No other holder writes meanwhile.
    Read,
    /// No other holder reads or writes meanwhile.
    Write,
}

/// The locks of one folder.
#[derive(Clone, Debug)]
pub struct DefinitionLocks {
    folder: PathBuf,
}

/// A held lock, released on drop.
#[derive(Debug)]
pub struct HeldLock {
    path: PathBuf,
    owner: String,
}

/// The holder of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// Its access.
    pub kind: LockKind,
    /// The lock file.
    pub path: PathBuf,
    /// The holder's name.
    pub owner: String,
}

/// Why a lock was not given.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LockError {
    /// Another holder has a lock that excludes it.
    #[error("`{owner}` holds {}; remove the file if that owner no longer runs", path.display())]
    Held {
        /// The other lock's file.
        path: PathBuf,
        /// Its holder.
        owner: String,
    },
    /// The folder cannot be written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl DefinitionLocks {
    /// The locks of an instance's folder.
    #[must_use]
    pub fn of(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Takes a lock. `owner` identifies the holder, so that others can find out whether it still lives.
    ///
    /// # Errors
    /// If another holder excludes it. This does not wait.
    pub fn take(&self, kind: LockKind, owner: &str) -> Result<HeldLock, LockError> {
        let lock = self.create(kind, owner)?;
        self.confirm(kind)?;
        Ok(lock)
    }

    /// Step one: creates the lock file; no other holder has it.
    fn create(&self, kind: LockKind, owner: &str) -> Result<HeldLock, LockError> {
        let wrong = |path: &Path, error: &io::Error| StorageError::new(path, error);
        let mut file = storage::temporary(&self.folder)?;
        file.write_all(owner.as_bytes()).map_err(|error| wrong(file.path(), &error))?;
        for number in 1_u64.. {
            let path = self.folder.join(file_name(kind, number));
            // Links the complete file under a free name, so that the owner's name is in it from the start.
            match file.persist_noclobber(&path) {
                Ok(_) => return Ok(HeldLock { path, owner: owner.to_owned() }),
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => file = error.file,
                Err(error) => return Err(wrong(&path, &error.error).into()),
            }
            if kind == LockKind::Write {
                return Err(held(path));
            }
        }
        Err(held(self.folder.join(READ)))
    }

    /// Step two: checks that no other lock excludes it.
    fn confirm(&self, kind: LockKind) -> Result<(), LockError> {
        let other = if kind == LockKind::Write { LockKind::Read } else { LockKind::Write };
        let holders = self.files()?.into_iter();
        match holders.map(|(_, path)| path).find(|path| kind_of(path) == Some(other)) {
            None => Ok(()),
            Some(path) => Err(held(path)),
        }
    }

    fn files(&self) -> Result<Vec<(LockKind, PathBuf)>, StorageError> {
        let wrong = |error: io::Error| StorageError::new(&self.folder, &error);
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(wrong)? {
            let path = entry.map_err(wrong)?.path();
            files.extend(kind_of(&path).map(|kind| (kind, path)));
        }
        files.sort();
        Ok(files)
    }

    /// Returns the present holders.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn holders(&self) -> Result<Vec<LockHolder>, StorageError> {
        let files = self.files()?.into_iter();
        Ok(files.map(|(kind, path)| LockHolder { kind, owner: owner_of(&path), path }).collect())
    }

    /// Removes every lock of an owner that no longer lives. Returns their number.
    ///
    /// # Errors
    /// If a lock cannot be removed.
    pub fn take_from(&self, owner: &str) -> Result<usize, StorageError> {
        let mut count = 0;
        for holder in self.holders()?.into_iter().filter(|holder| holder.owner == owner) {
            fs::remove_file(&holder.path).map_err(|error| StorageError::new(&holder.path, &error))?;
            count += 1;
        }
        Ok(count)
    }
}

/// The first read lock has the shipped name.
fn file_name(kind: LockKind, number: u64) -> String {
    match (kind, number) {
        (LockKind::Write, _) => WRITE.to_owned(),
        (LockKind::Read, 1) => READ.to_owned(),
        (LockKind::Read, number) => format!("{READ}.{number}"),
    }
}

fn kind_of(path: &Path) -> Option<LockKind> {
    let name = path.file_name()?.to_str()?;
    let is_read = name == READ || name.strip_prefix(READ).is_some_and(|rest| rest.starts_with('.'));
    if is_read { Some(LockKind::Read) } else { (name == WRITE).then_some(LockKind::Write) }
}

fn held(path: PathBuf) -> LockError {
    LockError::Held { owner: owner_of(&path), path }
}

fn owner_of(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|_| "a holder that is gone".to_owned())
}

impl HeldLock {
    /// Keeps the drop from removing a file: the lock went with its folder, and a new file of its name is
    /// another lock.
    pub(crate) fn gone(mut self) {
        self.path = PathBuf::new();
    }
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        // The file may be gone with its folder, or removed because the owner was thought dead.
        if fs::read_to_string(&self.path).is_ok_and(|owner| owner == self.owner) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
#[path = "locks/tests.rs"]
mod tests;
