//! Loads the history that a service starts with: the newest readable one.

use std::cmp::Reverse;

use thiserror::Error;

use super::name::{history_name_ms, is_history_name};
use super::purge::{PurgeError, PurgeReport, purge_before};
use super::read::{ReadHistory, read_history};
use super::read_error::ReadHistoryError;
use super::store::{HistoryStore, StoreError, StoredFile};

/// The history found at the start of a service. No problem here stops the start: a service can start
/// without history.
#[derive(Debug, Default)]
pub struct LoadReport {
    /// The history to start with, if there is one.
    pub loaded: Option<LoadedHistory>,
    /// The files tried before it, in order.
    pub skipped: Vec<SkippedFile>,
    /// Why the files could not be listed.
    pub listing_error: Option<StoreError>,
}

/// A history and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedHistory {
    /// The file's name.
    pub name: String,
    /// Its content.
    pub history: ReadHistory,
}

/// A file that was skipped.
#[derive(Debug)]
pub struct SkippedFile {
    /// Its name.
    pub name: String,
    /// The reason.
    pub reason: SkipReason,
}

/// Why a file was skipped.
#[derive(Debug, Error)]
pub enum SkipReason {
    /// It is empty, which a crash can cause.
    #[error("the file is empty")]
    Empty,
    /// The store could not read it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It contains no readable history.
    #[error(transparent)]
    Content(#[from] ReadHistoryError),
}

/// Finds the newest readable history by file name (Slider placement, "Placement History"). Files whose name
/// has another form than [`history_name`](super::history_name), such as copies, come last.
#[must_use]
pub fn load_newest(store: &dyn HistoryStore) -> LoadReport {
    let mut report = LoadReport::default();
    let mut files = match store.list() {
        Ok(files) => files,
        Err(error) => return LoadReport { listing_error: Some(error), ..report },
    };
    files.retain(|file| is_history_name(&file.name));
    files.sort_unstable_by_key(|file| Reverse((history_name_ms(&file.name), file.name.clone())));
    for file in files {
        match readable(store, &file) {
            Ok(history) => {
                report.loaded = Some(LoadedHistory { name: file.name, history });
                break;
            }
            Err(reason) => report.skipped.push(SkippedFile { name: file.name, reason }),
        }
    }
    report
}

/// Finds the newest readable history, then deletes older files and temporary ones. Newer unreadable files
/// stay for diagnosis. Call it only while no save runs. The purge is `None` without a history to keep; its
/// outcome does not matter for the start.
pub fn load_and_purge(store: &dyn HistoryStore) -> (LoadReport, Option<Result<PurgeReport, PurgeError>>) {
    let report = load_newest(store);
    let loaded = report.loaded.as_ref().filter(|loaded| history_name_ms(&loaded.name).is_some());
    let purge = loaded.map(|loaded| {
        let mut purged = purge_before(store, &loaded.name)?;
        if let Err(error) = store.sweep() {
            purged.failed.push(("temporary files".to_owned(), error));
        }
        Ok(purged)
    });
    (report, purge)
}

pub(super) fn readable(store: &dyn HistoryStore, file: &StoredFile) -> Result<ReadHistory, SkipReason> {
    if file.bytes == 0 {
        return Err(SkipReason::Empty);
    }
    Ok(read_history(&store.read(&file.name)?)?)
}
