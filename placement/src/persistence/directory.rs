//! History files in a directory of any file system.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use super::disk::{Disk, RealDisk};
use super::store::{HistoryStore, StoreAction, StoreError, StoredFile};

const TEMPORARY_PREFIX: &str = ".rolehistory-";
const TEMPORARY_SUFFIX: &str = ".tmp";
const TEMPORARY_RANDOM: usize = 8;

/// A directory of history files. The first write creates it, so a service that never ran leaves no trace.
#[derive(Clone, Debug)]
pub struct DirectoryStore {
    inner: Directory<RealDisk>,
}

impl DirectoryStore {
    /// Creates a store for this directory without touching the disk.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { inner: Directory { path: directory.into(), disk: RealDisk } }
    }

    /// Returns the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }
}

impl HistoryStore for DirectoryStore {
    fn list(&self) -> Result<Vec<StoredFile>, StoreError> {
        self.inner.list()
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        self.inner.read(name)
    }

    fn write_atomically(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.inner.write_atomically(name, bytes)
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.inner.delete(name)
    }

    fn sweep(&self) -> Result<usize, StoreError> {
        self.inner.sweep()
    }
}

/// The directory on any disk.
#[derive(Clone, Debug)]
pub(super) struct Directory<D> {
    pub(super) path: PathBuf,
    pub(super) disk: D,
}

impl<D: Disk> HistoryStore for Directory<D> {
    fn list(&self) -> Result<Vec<StoredFile>, StoreError> {
        let listed = files_in(&self.path).map_err(|source| self.failed(StoreAction::List, source))?;
        Ok(listed.into_iter().filter(|file| !is_temporary(&file.name)).collect())
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        fs::read(self.file(name)?).map_err(|source| failed_at(StoreAction::Read, name, source))
    }

    fn write_atomically(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.file(name)?;
        let failed = |source| StoreError::Io { action: StoreAction::Write, what: name.to_owned(), source };
        if path.try_exists().map_err(failed)? {
            return Err(StoreError::Exists { name: name.to_owned() });
        }
        self.make().map_err(|source| self.failed(StoreAction::Write, source))?;
        let temporary = self.fill(bytes).map_err(failed)?;
        // Only this step can detect that the name is in use.
        self.disk.rename(temporary, &path).map_err(|source| failed_at(StoreAction::Write, name, source))?;
        self.disk.sync_directory(&self.path).map_err(failed)
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        fs::remove_file(self.file(name)?).map_err(|source| failed_at(StoreAction::Delete, name, source))
    }

    fn sweep(&self) -> Result<usize, StoreError> {
        let swept = |source| self.failed(StoreAction::Sweep, source);
        let mut count = 0;
        for file in files_in(&self.path).map_err(swept)? {
            if is_temporary(&file.name) {
                fs::remove_file(self.path.join(&file.name)).map_err(swept)?;
                count += 1;
            }
        }
        Ok(count)
    }
}

impl<D: Disk> Directory<D> {
    /// Writes and syncs a temporary file with this content.
    fn fill(&self, bytes: &[u8]) -> io::Result<TempPath> {
        let mut file = temporary_in(&self.path)?;
        self.disk.write(&mut file, bytes)?;
        self.disk.sync(&file)?;
        Ok(file.into_temp_path())
    }

    /// Creates the directory and its parents. Syncs the parents, without which new directories may not
    /// last.
    fn make(&self) -> io::Result<()> {
        let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let missing: Vec<&Path> = self.path.ancestors().take_while(is_missing).collect();
        fs::create_dir_all(&self.path)?;
        for parent in missing.into_iter().filter_map(Path::parent) {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            self.disk.sync_directory(parent)?;
        }
        Ok(())
    }

    fn file(&self, name: &str) -> Result<PathBuf, StoreError> {
        let is_plain = Path::new(name).file_name().is_some_and(|plain| plain == name) && !is_temporary(name);
        if is_plain { Ok(self.path.join(name)) } else { Err(StoreError::BadName { name: name.to_owned() }) }
    }

    fn failed(&self, action: StoreAction, source: io::Error) -> StoreError {
        StoreError::Io { action, what: self.path.display().to_string(), source }
    }
}

fn failed_at(action: StoreAction, name: &str, source: io::Error) -> StoreError {
    let name = name.to_owned();
    match (action, source.kind()) {
        (StoreAction::Write, io::ErrorKind::AlreadyExists) => StoreError::Exists { name },
        (StoreAction::Read | StoreAction::Delete, io::ErrorKind::NotFound) => StoreError::Missing { name },
        _ => StoreError::Io { action, what: name, source },
    }
}

/// Returns the plain files of a directory; none if it does not exist. Skips names that are not UTF-8: no
/// history has one.
fn files_in(directory: &Path) -> io::Result<Vec<StoredFile>> {
    let listed = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed?,
    };
    let mut files = Vec::new();
    for entry in listed {
        let entry = entry?;
        let metadata = match fs::metadata(entry.path()) {
            // Another process deleted it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            // A broken or circular link must not hide the histories beside it.
            Err(_) if entry.file_type().is_ok_and(|kind| kind.is_symlink()) => continue,
            metadata => metadata?,
        };
        if let (true, Ok(name)) = (metadata.is_file(), entry.file_name().into_string()) {
            files.push(StoredFile { name, bytes: metadata.len() });
        }
    }
    Ok(files)
}

fn temporary_in(directory: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY_PREFIX).suffix(TEMPORARY_SUFFIX).rand_bytes(TEMPORARY_RANDOM);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The mode of any new file; the user's umask applies.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(directory)
}

/// Returns whether the name is one of our temporary files, which an unfinished save may have left.
fn is_temporary(name: &str) -> bool {
    let random = name.strip_prefix(TEMPORARY_PREFIX).and_then(|rest| rest.strip_suffix(TEMPORARY_SUFFIX));
    random.is_some_and(|random| {
        random.len() == TEMPORARY_RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests;
