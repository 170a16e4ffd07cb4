//! Saves a history to a new file.

use thiserror::Error;

use super::HistoryFile;
use super::name::{history_name, history_name_ms};
use super::purge::newest_first;
use super::store::{HistoryStore, StoreError};
use super::write::{WriteHistoryError, write_history};

/// The most names that a save tries. A name can be in use by a simultaneous save or by something other
/// than a file. The limit ends a save on a store that rejects every name.
const NAMES_TRIED: u32 = 1_000;

/// A file that a save wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedHistory {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

/// Why a history was not saved.
#[derive(Debug, Error)]
pub enum SaveError {
    /// It cannot be written in the format.
    #[error(transparent)]
    Content(#[from] WriteHistoryError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file already has the last possible name.
    #[error("no file name comes after {name}: delete this file; no save creates this name")]
    NoName {
        /// The file.
        name: String,
    },
}

/// Saves the history to a new file, which is durable when this returns. The file name is the time of
/// saving. If a file has this name or a later one, because the clock stands or went back, the name follows
/// the latest. So the last save has the last name, and no save replaces another.
///
/// # Errors
/// If the history does not fit the format, the store fails, or 1,000 names in a row are in use. Earlier
/// saves are unchanged.
pub fn save_now(store: &dyn HistoryStore, history: &HistoryFile) -> Result<SavedHistory, SaveError> {
    let mut bytes = Vec::new();
    write_history(history, &mut bytes)?;
    let mut least_ms = history.saved_ms;
    let mut names_left = NAMES_TRIED;
    loop {
        names_left -= 1;
        let name_ms = next_name_ms(store, least_ms)?;
        let name = history_name(name_ms);
        match store.write_atomically(&name, &bytes) {
            Ok(()) => return Ok(SavedHistory { name, bytes: bytes.len() as u64 }),
            // A simultaneous save has the name, or something that is not a file.
            Err(StoreError::Exists { .. }) if names_left > 0 => least_ms = after(name_ms)?,
            Err(error) => return Err(error.into()),
        }
    }
}

fn next_name_ms(store: &dyn HistoryStore, least_ms: u64) -> Result<u64, SaveError> {
    let files = newest_first(store)?;
    let newest_ms = files.first().and_then(|newest| history_name_ms(&newest.name));
    newest_ms.map_or(Ok(least_ms), |newest_ms| Ok(least_ms.max(after(newest_ms)?)))
}

fn after(name_ms: u64) -> Result<u64, SaveError> {
    name_ms.checked_add(1).ok_or_else(|| SaveError::NoName { name: history_name(name_ms) })
}
