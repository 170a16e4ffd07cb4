//! The steps of a save between which a crash can come.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use tempfile::{NamedTempFile, PathPersistError, TempPath};

use crate::directory_sync;

/// The disk operations of a save, in this order. Tests replace them and examine the disk after each step.
pub(super) trait Disk: Send + Sync {
    /// Fills the temporary file.
    fn write(&self, file: &mut NamedTempFile, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    /// Syncs the file's content, so that it survives a loss of power.
    fn sync(&self, file: &NamedTempFile) -> io::Result<()> {
        file.as_file().sync_all()
    }

    /// Gives the file its name, unless the name is in use.
    fn rename(&self, temporary: TempPath, path: &Path) -> io::Result<()> {
        temporary.persist_noclobber(path).or_else(|refused| rename_plainly(refused, path))
    }

    /// Syncs the file's name, so that it survives a loss of power.
    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        directory_sync::sync_directory(directory)
    }
}

/// The operating system's disk.
#[derive(Clone, Copy, Debug)]
pub(super) struct RealDisk;

impl Disk for RealDisk {}

/// Renames a file where the file system can neither link nor rename without replacing, such as some network
/// and virtual machine shares. Two processes that save there at once may replace each other's file.
fn rename_plainly(refused: PathPersistError, path: &Path) -> io::Result<()> {
    // The error kind depends on the file system.
    if !matches!(refused.error.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied) {
        return Err(refused.error);
    }
    if path.symlink_metadata().is_ok() {
        return Err(ErrorKind::AlreadyExists.into());
    }
    refused.path.persist(path).map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::fs;

    use super::*;

    fn refused(folder: &Path, kind: ErrorKind) -> io::Result<PathPersistError> {
        let mut file = NamedTempFile::new_in(folder)?;
        file.write_all(b"new")?;
        Ok(PathPersistError { error: kind.into(), path: file.into_temp_path() })
    }

    #[test]
    fn a_file_system_that_cannot_refuse_to_replace_can_hold_histories() -> Result<(), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        for (name, kind) in [("a", ErrorKind::Unsupported), ("b", ErrorKind::PermissionDenied)] {
            let path = folder.path().join(name);
            rename_plainly(refused(folder.path(), kind)?, &path)?;
            assert_eq!(fs::read(&path)?, b"new");
            fs::write(&path, "old")?;
            let taken = rename_plainly(refused(folder.path(), kind)?, &path);
            assert_eq!(taken.map_err(|error| error.kind()), Err(ErrorKind::AlreadyExists));
            assert_eq!(fs::read(&path)?, b"old");
        }
        let full = rename_plainly(refused(folder.path(), ErrorKind::StorageFull)?, &folder.path().join("c"));
        assert_eq!(full.map_err(|error| error.kind()), Err(ErrorKind::StorageFull));
        assert_eq!(fs::read_dir(folder.path())?.count(), 2, "what was refused is gone");
        Ok(())
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_system_that_cannot_sync_directories_can_hold_histories() -> io::Result<()> {
        let cannot = Path::new("/proc");
        assert!(fs::File::open(cannot)?.sync_all().is_err());
        RealDisk.sync_directory(cannot)
    }
}
