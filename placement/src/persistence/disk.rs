//! The steps of a save that a crash can come between.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tempfile::{NamedTempFile, TempPath};

/// What a save does to a disk, in this order. Tests put another one in its place and look at what each step leaves.
pub(super) trait Disk: Send + Sync {
    /// Fills the temporary file.
    fn write(&self, file: &mut NamedTempFile, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    /// Returns when the file's content survives a loss of power.
    fn sync(&self, file: &NamedTempFile) -> io::Result<()> {
        file.as_file().sync_all()
    }

    /// Gives the file its name unless another has it.
    fn rename(&self, temporary: TempPath, path: &Path) -> io::Result<()> {
        temporary.persist_noclobber(path).map_err(io::Error::from)
    }

    /// Returns when the file's name survives a loss of power.
    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        // Elsewhere a directory cannot be opened, and the file system sees to it.
        if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
    }
}

/// The one there is.
#[derive(Clone, Copy, Debug)]
pub(super) struct RealDisk;

impl Disk for RealDisk {}
