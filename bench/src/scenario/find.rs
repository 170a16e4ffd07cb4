//! Scenario files in folders.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Folders that are passed over unless they are named themselves: scenarios of what does not exist yet.
const PASSED_OVER: &str = "todo";
/// Folders within folders; a circle of links ends here.
const DEPTH_MAX: usize = 16;

/// The file itself, or every `.yaml` and `.yml` file below the folder, in alphabetical order. Folders called `todo`
/// below it are passed over.
///
/// # Errors
/// When something cannot be read.
pub fn find_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        // That it is there is for the reader to say, which names it.
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
