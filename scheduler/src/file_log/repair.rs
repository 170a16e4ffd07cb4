//! Repair: a damaged log ends in front of its damage, and the rest is kept beside it.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::disk::{self, DiskFile};
use super::folder::Folder;
use super::{COMPACTOR_LOCK, FileLogError, LOCK, io_error};
use crate::log::{LogEnd, LogError, LogReader};

/// The name of the file with the rest before it is whole.
const UNFINISHED: &str = "damaged.unfinished";

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
/// it. Changes that were announced may be lost. `None` if all groups are whole; then nothing is changed.
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
    let cut_off = folder.file(&format!("damaged-{at:020}.bin"));
    let bytes = keep(&folder, at, &cut_off)?;
    folder.cut(at).map_err(io_error(&cut_off))?;
    Ok(Some(Repaired { end, cut_off, bytes }))
}

/// The end of a log without damage.
fn read_all(log: impl Read) -> Result<LogEnd, LogError> {
    let mut reader = LogReader::new(log)?;
    while reader.next_change()?.is_some() {}
    Ok(reader.end())
}

/// Copies the bytes behind a position to a new file, whole or not at all, and returns their number. Keeps the file of
/// an interrupted repair, which may have cut off a part of these bytes.
fn keep(folder: &Folder, at: u64, cut_off: &Path) -> Result<u64, FileLogError> {
    if let Ok(kept) = fs::metadata(cut_off) {
        folder.sync().map_err(io_error(cut_off))?;
        return Ok(kept.len());
    }
    let unfinished = folder.file(UNFINISHED);
    let mut log = folder.read(u64::MAX)?;
    let mut copy = || {
        io::copy(&mut (&mut log).take(at), &mut io::sink())?;
        let mut file = DiskFile::create(&unfinished)?;
        let bytes = io::copy(&mut log, &mut file)?;
        file.sync_all()?;
        disk::rename(&unfinished, cut_off)?;
        folder.sync()?;
        Ok(bytes)
    };
    copy().map_err(io_error(cut_off))
}
