//! Reading text files.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a file cannot be read as text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}: {problem}", place(path, *.line))]
pub struct TextError {
    path: PathBuf,
    /// The line, from 1, if the error concerns a line.
    pub line: Option<u64>,
    /// The problem.
    pub problem: String,
}

fn place(path: &Path, line: Option<u64>) -> String {
    line.map_or_else(|| path.display().to_string(), |line| format!("{}:{line}", path.display()))
}

/// Reads a whole text file.
///
/// # Errors
/// When it cannot be read, is longer than `bytes_max`, or is not UTF-8.
pub fn read_text(path: &Path, bytes_max: u64) -> Result<String, TextError> {
    let wrong = |line: Option<u64>, problem: String| TextError { path: path.to_owned(), line, problem };
    let mut bytes = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes));
    read.map_err(|error| wrong(None, error.to_string()))?;
    if bytes.len() as u64 > bytes_max {
        return Err(wrong(None, format!("is longer than {bytes_max} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        wrong(Some(line as u64), "is not UTF-8 text".to_owned())
    })
}
