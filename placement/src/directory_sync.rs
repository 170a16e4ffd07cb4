//! Syncs directories.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Syncs the names in a directory: a new or renamed file survives a loss of power only if its name does.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    // Other systems cannot open a directory; their file systems keep names safe.
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(directory)?.sync_all() {
        // Some file systems cannot sync directories. The file exists, so a retry would not help.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}
