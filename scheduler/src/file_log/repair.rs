//! Repair: a damaged log ends in front of its damage, and the rest is kept beside it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::disk::{self, DiskFile};
use super::folder::Folder;
use super::{COMPACTOR_LOCK, FileLogError, LOCK, io_error};
use crate::log::{LogEnd, LogError, LogReader};

/// The name of the file with the rest before it is whole.
const UNFINISHED: &str = "damaged.unfinished";
/// The bytes that are compared at a time.
const COMPARED_BYTES: u64 = 1 << 16;

/// A log that was cut off in front of its damage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repaired {
    /// The end of the repaired log.
    pub end: LogEnd,
    /// The file with the bytes that were cut off.
    pub cut_off: PathBuf,
    /// The number of these bytes.
    pub bytes: u64,
}

/// Cuts off a log at its first group that is not whole, and keeps the rest in a file `damaged-<position>.bin` beside
/// it. If an earlier repair kept other bytes under that name, the file is `damaged-<position>-<number>.bin`. Changes
/// that were announced may be lost. `None` if all groups are whole; then nothing is changed.
///
/// # Errors
/// If a writer or a compaction has the log, a segment is missing, no group is whole, or the file system fails. The log
/// is then as before, or, after a failure of the file system, partly cut off. Another call completes the repair.
pub fn repair(folder: impl AsRef<Path>) -> Result<Option<Repaired>, FileLogError> {
    let folder = Folder::existing(folder.as_ref())?;
    let _locks = (folder.lock(LOCK)?, folder.lock(COMPACTOR_LOCK)?);
    folder.check_order()?;
    if folder.files()?.is_empty() {
        return Err(folder.no_log());
    }
    let Err(damage) = read_all(folder.read(u64::MAX)?) else { return Ok(None) };
    let (LogError::Torn { at, .. } | LogError::Damaged { at, .. }) = damage else {
        return Err(damage.into());
    };
    let end = read_all(folder.read(u64::MAX)?.take(at))?;
    if end.last == 0 {
        return Err(damage.into());
    }
    let (cut_off, bytes) = keep(&folder, at)?;
    folder.cut(at)?;
    Ok(Some(Repaired { end, cut_off, bytes }))
}

/// The end of a log without damage.
fn read_all(log: impl Read) -> Result<LogEnd, LogError> {
    let mut reader = LogReader::new(log)?;
    while reader.next_change()?.is_some() {}
    Ok(reader.end())
}

/// Keeps the bytes behind a position in a file, and returns the file and its length. An interrupted repair may have
/// kept these bytes, and cut off a part of them. The file of a repair that was completed has other bytes.
fn keep(folder: &Folder, at: u64) -> Result<(PathBuf, u64), FileLogError> {
    let mut number = 1;
    loop {
        let cut_off = folder.file(&match number {
            1 => format!("damaged-{at:020}.bin"),
            _ => format!("damaged-{at:020}-{number}.bin"),
        });
        if !cut_off.try_exists().map_err(io_error(&cut_off))? {
            let bytes = copy(rest(folder, at)?, folder, &cut_off).map_err(io_error(&cut_off))?;
            return Ok((cut_off, bytes));
        }
        if begins_with(&cut_off, rest(folder, at)?).map_err(io_error(&cut_off))? {
            let kept = folder.sync().and_then(|()| cut_off.metadata());
            let bytes = kept.map_err(io_error(&cut_off))?.len();
            return Ok((cut_off, bytes));
        }
        number += 1;
    }
}

/// The bytes of the log behind a position.
fn rest(folder: &Folder, at: u64) -> Result<impl Read + use<>, FileLogError> {
    let mut log = folder.read(u64::MAX)?;
    io::copy(&mut (&mut log).take(at), &mut io::sink()).map_err(io_error(folder.root()))?;
    Ok(log)
}

/// Copies the bytes to a new file, whole or not at all, and returns their number.
fn copy(mut bytes: impl Read, folder: &Folder, cut_off: &Path) -> io::Result<u64> {
    let unfinished = folder.file(UNFINISHED);
    let mut file = DiskFile::create(&unfinished)?;
    let length = io::copy(&mut bytes, &mut file)?;
    file.sync_all()?;
    disk::rename(&unfinished, cut_off)?;
    folder.sync()?;
    Ok(length)
}

/// Whether the file begins with these bytes.
fn begins_with(path: &Path, mut bytes: impl Read) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let (mut wanted, mut found) = (Vec::new(), Vec::new());
    loop {
        wanted.clear();
        found.clear();
        if (&mut bytes).take(COMPARED_BYTES).read_to_end(&mut wanted)? == 0 {
            return Ok(true);
        }
        (&mut file).take(wanted.len() as u64).read_to_end(&mut found)?;
        if wanted != found {
            return Ok(false);
        }
    }
}
