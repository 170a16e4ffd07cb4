//! Deletes history files that newer ones have replaced.

use std::num::NonZeroUsize;

use thiserror::Error;

use super::load::readable;
use super::name::history_name_ms;
use super::store::{HistoryStore, StoreError, StoredFile};

/// The result of a purge. Files that could not be deleted do no harm.
#[derive(Debug, Default)]
pub struct PurgeReport {
    /// The names of the deleted files, the oldest first.
    pub deleted: Vec<String>,
    /// The files that could not be deleted, and why.
    pub failed: Vec<(String, StoreError)>,
}

/// Why a purge deleted nothing.
#[derive(Debug, Error)]
pub enum PurgeError {
    /// The file to keep does not exist.
    #[error("the history file {name} to keep does not exist; nothing was deleted")]
    Missing {
        /// The file.
        name: String,
    },
    /// No file is to be kept.
    #[error("0 history files are to be kept: it has to be at least 1")]
    KeepsNone,
    /// The files cannot be listed.
    #[error("history files cannot be purged: {0}")]
    List(#[source] StoreError),
}

/// Deletes the history files saved before this one, empty and broken ones included (Slider role history,
/// "Persistence"). Files whose names do not have the form of [`history_name`](super::history_name) stay.
///
/// # Errors
/// If there is no file of this name, or files cannot be listed.
pub fn purge_before(store: &dyn HistoryStore, name: &str) -> Result<PurgeReport, PurgeError> {
    let files = newest_first(store).map_err(PurgeError::List)?;
    let Some(kept) = files.iter().position(|file| file.name == name) else {
        return Err(PurgeError::Missing { name: name.to_owned() });
    };
    Ok(delete(store, files.iter().skip(kept + 1)))
}

/// Deletes all history files but the newest `keep`, not counting empty ones. Always keeps the newest
/// readable file, newer empty files, and files whose names do not have the form of
/// [`history_name`](super::history_name).
///
/// # Errors
/// If `keep` is 0, or files cannot be listed.
pub fn keep_last(store: &dyn HistoryStore, keep: usize) -> Result<PurgeReport, PurgeError> {
    let keep = NonZeroUsize::new(keep).ok_or(PurgeError::KeepsNone)?;
    keep_last_with(store, keep, None)
}

/// Does the same, with a file that is known to be readable.
pub(super) fn keep_last_with(
    store: &dyn HistoryStore,
    keep: NonZeroUsize,
    known: Option<&str>,
) -> Result<PurgeReport, PurgeError> {
    let files = newest_first(store).map_err(PurgeError::List)?;
    let mut filled = files.iter().enumerate().filter(|(_, file)| file.bytes > 0);
    let Some((last_kept, _)) = filled.nth(keep.get() - 1) else {
        return Ok(PurgeReport::default());
    };
    let is_readable = |file: &&StoredFile| known == Some(file.name.as_str()) || readable(store, file).is_ok();
    let (kept, old) = files.split_at(last_kept + 1);
    if kept.iter().any(|file| is_readable(&file)) {
        return Ok(delete(store, old.iter()));
    }
    let spared = old.iter().find(is_readable);
    Ok(delete(store, old.iter().filter(|file| Some(*file) != spared)))
}

/// Returns the files with names that a save makes, newest first.
pub(super) fn newest_first(store: &dyn HistoryStore) -> Result<Vec<StoredFile>, StoreError> {
    let mut files = store.list()?;
    files.retain(|file| history_name_ms(&file.name).is_some());
    files.sort_unstable_by(|one, other| other.name.cmp(&one.name));
    Ok(files)
}

/// Deletes the oldest files first, so that an interrupted purge leaves the newest.
fn delete<'a>(
    store: &dyn HistoryStore,
    newest_first: impl DoubleEndedIterator<Item = &'a StoredFile>,
) -> PurgeReport {
    let mut report = PurgeReport::default();
    for file in newest_first.rev() {
        match store.delete(&file.name) {
            Ok(()) => report.deleted.push(file.name.clone()),
            // Another process purges too.
            Err(StoreError::Missing { .. }) => {}
            Err(error) => report.failed.push((file.name.clone(), error)),
        }
    }
    report
}
