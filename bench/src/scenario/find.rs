//! Scenario files in folders.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Folders that are skipped unless they are named themselves: scenarios of missing features.
const PASSED_OVER: &str = "todo";
/// The deepest nesting of folders; it ends a cycle of links.
const DEPTH_MAX: usize = 16;

/// The file itself, or every `.yaml` and `.yml` file below the folder, in alphabetical order. Folders called `todo`
/// below it are skipped.
///
/// # Errors
/// When a file or folder cannot be read.
pub fn find_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        // The reader reports a missing file by name.
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    collect(path, DEPTH_MAX, &mut files)?;
    Ok(files)
}

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    entries.sort();
    for path in entries {
        let is_passed_over = path.file_name().is_some_and(|name| name == PASSED_OVER);
        if path.is_dir() && !is_passed_over && depth > 0 {
            collect(&path, depth - 1, files)?;
        } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            files.push(path);
        }
    }
    Ok(())
}
